//! The texts of a DTD as one stream of tokens: the subset itself and, on top of it, the parameter
//! entities it references.
//!
//! A reference opens a frame on top of the text that references it, padded by a space on either
//! side (XML 1.0 section 4.4.8), so that no token spans two frames.
//!
//! The one rule kept here: a token, a literal or a comment ends in the frame where it begins.

use std::rc::Rc;

use super::entities::{Budget, Declarations, Entity, Resolve, undeclared};
use super::error::{DtdError, Place};
use super::source::{found, is_space, name_length, place};

/// A text that is being read.
pub(super) struct Frame {
    /// For messages and against recursion: `%name;`, the system identifier, or empty for the
    /// document.
    pub(super) entity: Rc<str>,
    pub(super) text: Rc<str>,
    pub(super) at: usize,
    /// What system identifiers in it are relative to.
    pub(super) base: Rc<str>,
    /// References to parameter entities may stand inside its declarations (not so in the internal
    /// subset).
    pub(super) external: bool,
    /// Included conditional sections that are open.
    pub(super) sections: u32,
}

impl Frame {
    pub(super) fn rest(&self) -> &str {
        &self.text[self.at..]
    }
}

/// Reads one DTD into its [`Declarations`].
pub(super) struct Reader<'g, 'l> {
    /// The text that comes next, and below it the texts that reference it.
    pub(super) frame: Frame,
    pub(super) outer: Vec<Frame>,
    pub(super) declarations: &'g mut Declarations,
    pub(super) budget: &'g mut Budget<'l>,
    pub(super) resolve: Resolve<'g>,
    pub(super) standalone: bool,
}

impl Reader<'_, '_> {
    /// A quoted literal, which ends in the frame where it begins.
    pub(super) fn quoted(&mut self, expected: &'static str) -> Result<String, DtdError> {
        let rest = self.frame.rest();
        let Some(quote) = rest
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))
        else {
            return Err(self.unexpected(expected));
        };
        let length = rest[1..]
            .find(quote)
            .ok_or_else(|| self.unexpected_at_end("the closing quote"))?;
        let literal = rest[1..=length].to_owned();
        self.frame.at += length + 2;
        Ok(literal)
    }

    /// Reads over a comment or processing instruction up to and with `end`.
    pub(super) fn through(&mut self, end: &'static str) -> Result<(), DtdError> {
        let length = self
            .frame
            .rest()
            .find(end)
            .ok_or_else(|| self.unexpected_at_end("the end of a comment or instruction"))?;
        self.frame.at += length + end.len();
        Ok(())
    }

    /// White space, or the edge of a parameter entity, which counts as such.
    pub(super) fn space(&mut self, expected: &'static str) -> Result<(), DtdError> {
        if self.skip_space()? {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Skips white space inside a declaration, entering and leaving parameter entities. Tells
    /// whether there was any.
    pub(super) fn skip_space(&mut self) -> Result<bool, DtdError> {
        let mut any = false;
        loop {
            let frame = &mut self.frame;
            let left = frame.rest().trim_start_matches(is_space).len();
            any |= left < frame.text.len() - frame.at;
            frame.at = frame.text.len() - left;
            if left == 0 && self.leave() {
                any = true;
            } else if self.starts("%")
                && self.frame.external
                && name_length(&self.frame.rest()[1..]) > 0
            {
                self.parameter_reference()?;
                any = true;
            } else {
                return Ok(any);
            }
        }
    }

    /// Opens the parameter entity referenced at the `%` that comes next.
    pub(super) fn parameter_reference(&mut self) -> Result<(), DtdError> {
        let rest = self.frame.rest();
        let length = 1 + name_length(&rest[1..]);
        if length == 1 || !rest[length..].starts_with(';') {
            return Err(self.unexpected("a reference to a parameter entity"));
        }
        let written: Rc<str> = Rc::from(&rest[..=length]);
        let here = self.here();
        let declared = self
            .declarations
            .parameter
            .get(&written[1..length])
            .cloned();
        let declared = declared.ok_or_else(|| undeclared(here.clone(), &written))?;
        if self.is_open(&written) {
            return Err(DtdError::Recursive {
                place: here,
                reference: written.to_string(),
            });
        }
        self.budget
            .reference(self.outer.len() + 1)
            .map_err(|passed| passed.at(here.clone()))?;
        self.frame.at += written.len();
        if self.standalone && matches!(declared, Entity::External(_)) {
            return Ok(());
        }
        let opened =
            self.declarations
                .open(&declared, &written, self.resolve, self.budget, || {
                    here.clone()
                })?;
        let text = Rc::from(format!(" {} ", &opened.text[opened.start..]));
        let external = opened.base.is_some() || self.frame.external;
        let base = opened.base.unwrap_or_else(|| self.frame.base.clone());
        let inner = Frame {
            entity: written,
            text,
            at: 0,
            base,
            external,
            sections: 0,
        };
        self.outer.push(std::mem::replace(&mut self.frame, inner));
        Ok(())
    }

    pub(super) fn name(&mut self, expected: &'static str) -> Result<Rc<str>, DtdError> {
        let rest = self.frame.rest();
        let length = name_length(rest);
        if length == 0 {
            return Err(self.unexpected(expected));
        }
        let name = Rc::from(&rest[..length]);
        self.frame.at += length;
        Ok(name)
    }

    pub(super) fn starts(&self, with: &str) -> bool {
        self.frame.rest().starts_with(with)
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let there = self.starts(token);
        if there {
            self.frame.at += token.len();
        }
        there
    }

    pub(super) fn expect(&mut self, token: &'static str) -> Result<(), DtdError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.unexpected(token))
        }
    }

    /// Goes back to the text that referenced this one; `false` when there is none.
    pub(super) fn leave(&mut self) -> bool {
        match self.outer.pop() {
            Some(frame) => {
                self.frame = frame;
                true
            }
            None => false,
        }
    }

    pub(super) fn is_open(&self, reference: &str) -> bool {
        *self.frame.entity == *reference
            || self.outer.iter().any(|frame| *frame.entity == *reference)
    }

    pub(super) fn count_declaration(&mut self) -> Result<(), DtdError> {
        self.budget
            .declaration()
            .map_err(|passed| passed.at(self.here()))
    }

    pub(super) fn here(&self) -> Place {
        let frame = &self.frame;
        place(&frame.entity, &frame.text, frame.at)
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> DtdError {
        let frame = &self.frame;
        DtdError::Syntax {
            place: self.here(),
            expected,
            found: found(&frame.text, frame.at),
        }
    }

    /// `expected` is missing from here to the end of the entity.
    pub(super) fn unexpected_at_end(&self, expected: &'static str) -> DtdError {
        DtdError::Syntax {
            place: self.here(),
            expected,
            found: "the end of the entity".to_owned(),
        }
    }
}
