//! Reads the declarations of a DTD: internal subset, external subset, parameter entities (XML 1.0 sections 2.8, 3.2–3.4, 4).
//!
//! A parameter-entity reference opens a frame on top of the text that references it, padded by a space on either side
//! (section 4.4.8), so that no token spans two frames.
//!
//! The one rule kept here: what a frame opens it closes. A declaration, a conditional section or a literal that begins in one
//! entity and ends in another is refused.

use std::rc::Rc;

use super::entities::{
    AttributeDeclaration, Budget, Declarations, Entity, Literal, Reference, Resolve, reference,
    undeclared,
};
use super::source::{found, is_space, name_length, place, token_length};
use super::{DeclaredId, DtdError, Place};
use crate::nodes::base;

/// A text that is being read.
struct Frame {
    /// For messages and against recursion: `%name;`, the system identifier, or empty for the document.
    entity: Rc<str>,
    text: Rc<str>,
    at: usize,
    /// What system identifiers in it are relative to.
    base: Rc<str>,
    /// References to parameter entities may stand inside its declarations (not so in the internal subset).
    external: bool,
    /// Included conditional sections that are open.
    sections: u32,
}

impl Frame {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
}

/// Reads one DTD into its [`Declarations`].
struct Grammar<'g, 'l> {
    /// The text that comes next, and below it the texts that reference it.
    frame: Frame,
    outer: Vec<Frame>,
    declarations: &'g mut Declarations,
    budget: &'g mut Budget<'l>,
    resolve: Resolve<'g>,
    standalone: bool,
}

/// Reads the document type declaration at `at` (its `<!DOCTYPE`) and everything it refers to. Returns where it ends.
pub(super) fn document_type(
    text: &Rc<str>,
    at: usize,
    standalone: bool,
    declarations: &mut Declarations,
    budget: &mut Budget<'_>,
    resolve: Resolve<'_>,
) -> Result<usize, DtdError> {
    let nowhere: Rc<str> = Rc::from("");
    let document = Frame {
        entity: nowhere.clone(),
        text: text.clone(),
        at: at + "<!DOCTYPE".len(),
        base: nowhere,
        external: false,
        sections: 0,
    };
    let mut grammar = Grammar {
        frame: document,
        outer: Vec::new(),
        declarations,
        budget,
        resolve,
        standalone,
    };
    grammar.space("white space")?;
    grammar.name("the name of the root element")?;
    let spaced = grammar.skip_space()?;
    let mut external = None;
    if spaced && (grammar.starts("SYSTEM") || grammar.starts("PUBLIC")) {
        external = grammar.external_id(false)?;
        grammar.skip_space()?;
    }
    if grammar.eat("[") {
        grammar.subset()?;
        grammar.expect("]")?;
        grammar.skip_space()?;
    }
    grammar.expect(">")?;
    let end = grammar.frame.at;
    if let Some(system_id) = external.filter(|_| !standalone) {
        let (text, start) = grammar.declarations.load(&system_id, grammar.resolve)?;
        grammar
            .budget
            .replaced(text.len())
            .map_err(|passed| passed.at(grammar.here()))?;
        grammar.frame = Frame {
            entity: system_id.clone(),
            text,
            at: start,
            base: system_id,
            external: true,
            sections: 0,
        };
        grammar.subset()?;
        if !grammar.frame.rest().is_empty() {
            return Err(grammar.unexpected("a declaration"));
        }
    }
    Ok(end)
}

impl Grammar<'_, '_> {
    /// Reads declarations until the first frame ends or shows the `]` of the internal subset.
    fn subset(&mut self) -> Result<(), DtdError> {
        loop {
            let skipped = self.frame.rest().trim_start_matches(is_space).len();
            let frame = &mut self.frame;
            frame.at = frame.text.len() - skipped;
            if skipped == 0 {
                if frame.sections > 0 {
                    return Err(DtdError::Unbalanced { place: self.here() });
                }
                if !self.leave() {
                    return Ok(());
                }
            } else if self.starts("%") {
                self.parameter_reference()?;
            } else if self.outer.is_empty() && self.starts("]") && !self.starts("]]>") {
                return Ok(());
            } else if self.eat("]]>") {
                if self.frame.sections == 0 {
                    return Err(DtdError::Unbalanced { place: self.here() });
                }
                self.frame.sections -= 1;
            } else if self.eat("<!--") {
                self.through("-->")?;
            } else if self.eat("<?") {
                self.through("?>")?;
            } else if self.starts("<![") && self.frame.external {
                self.section()?;
            } else {
                let depth = self.outer.len();
                self.declaration()?;
                self.skip_space()?;
                self.expect(">")?;
                if self.outer.len() != depth {
                    return Err(DtdError::Unbalanced { place: self.here() });
                }
            }
        }
    }

    fn declaration(&mut self) -> Result<(), DtdError> {
        if self.eat("<!ENTITY") {
            self.entity_declaration()
        } else if self.eat("<!ATTLIST") {
            self.attribute_list()
        } else if self.eat("<!ELEMENT") {
            self.element_declaration()
        } else if self.eat("<!NOTATION") {
            self.space("white space")?;
            self.name("the notation's name")?;
            self.space("white space")?;
            self.external_id(true)?;
            Ok(())
        } else {
            Err(self.unexpected("a declaration"))
        }
    }

    /// `<![INCLUDE[` or `<![IGNORE[ … ]]>` (XML 1.0 section 3.4).
    fn section(&mut self) -> Result<(), DtdError> {
        self.expect("<![")?;
        let depth = self.outer.len();
        self.skip_space()?;
        let included = self.eat("INCLUDE");
        if !included && !self.eat("IGNORE") {
            return Err(self.unexpected("`INCLUDE` or `IGNORE`"));
        }
        self.skip_space()?;
        self.expect("[")?;
        if self.outer.len() != depth {
            return Err(DtdError::Unbalanced { place: self.here() });
        }
        if included {
            self.frame.sections += 1;
            return Ok(());
        }
        let mut open = 1;
        while open > 0 {
            let rest = self.frame.rest();
            let stop = rest
                .find("]]>")
                .ok_or_else(|| self.unexpected_at_end("`]]>`"))?;
            match rest[..stop].find("<![") {
                Some(inner) => {
                    open += 1;
                    self.frame.at += inner + 3;
                }
                None => {
                    open -= 1;
                    self.frame.at += stop + 3;
                }
            }
        }
        Ok(())
    }

    fn entity_declaration(&mut self) -> Result<(), DtdError> {
        self.space("white space")?;
        // `% name` declares a parameter entity; `%name;` would be a reference and was replaced by `space`.
        let parameter = self.eat("%");
        if parameter {
            self.space("white space")?;
        }
        let name = self.name("the entity's name")?;
        self.space("white space")?;
        let entity = if self.starts("SYSTEM") || self.starts("PUBLIC") {
            let system_id = self
                .external_id(false)?
                .ok_or_else(|| self.unexpected("a system identifier"))?;
            let spaced = self.skip_space()?;
            if !parameter && spaced && self.eat("NDATA") {
                self.space("white space")?;
                self.name("the notation's name")?;
                Entity::Unparsed
            } else {
                Entity::External(system_id)
            }
        } else {
            Entity::Internal(Rc::from(self.entity_value()?))
        };
        self.count_declaration()?;
        let entities = if parameter {
            &mut self.declarations.parameter
        } else {
            &mut self.declarations.general
        };
        // The first declaration binds (XML 1.0 section 4.2).
        entities.entry(name).or_insert(entity);
        Ok(())
    }

    /// An `EntityValue`: characters and parameter entities are replaced, general entities stay references (section 4.5).
    fn entity_value(&mut self) -> Result<String, DtdError> {
        let raw = self.quoted("an entity value")?;
        let (entity, external) = (self.frame.entity.clone(), self.frame.external);
        let mut value = String::with_capacity(raw.len());
        self.replace_in_value(&raw, &entity, external, &mut Vec::new(), &mut value)?;
        Ok(value)
    }

    /// Recursion is bounded by [`super::DEPTH`] through the budget.
    fn replace_in_value(
        &mut self,
        raw: &str,
        entity: &str,
        external: bool,
        open: &mut Vec<Rc<str>>,
        value: &mut String,
    ) -> Result<(), DtdError> {
        let mut rest = raw;
        while let Some(stop) = rest.find(['&', '%']) {
            value.push_str(&rest[..stop]);
            let at = raw.len() - rest.len() + stop;
            rest = &rest[stop..];
            let wrong = |expected| DtdError::Syntax {
                place: place(entity, raw, at),
                expected,
                found: found(raw, at),
            };
            if rest.starts_with('&') {
                let (kind, length) = reference(rest)
                    .ok_or_else(|| wrong("a reference to a character or an entity"))?;
                match kind {
                    Reference::Character(character) if rest.starts_with("&#") => {
                        value.push(character)
                    }
                    _ => value.push_str(&rest[..length]),
                }
                rest = &rest[length..];
                continue;
            }
            if !external {
                return Err(DtdError::Forbidden {
                    place: place(entity, raw, at),
                    reference: rest.chars().take(16).collect(),
                    constraint: "PEs in Internal Subset",
                });
            }
            let length = 1 + name_length(&rest[1..]);
            if length == 1 || !rest[length..].starts_with(';') {
                return Err(wrong("a reference to a parameter entity"));
            }
            let written = &rest[..=length];
            let here = || place(entity, raw, at);
            let declared = self.declarations.parameter.get(&rest[1..length]).cloned();
            let declared = declared.ok_or_else(|| undeclared(here(), written))?;
            if open.iter().any(|name| **name == *written) || self.is_open(written) {
                return Err(DtdError::Recursive {
                    place: here(),
                    reference: written.to_owned(),
                });
            }
            self.budget
                .reference(self.outer.len() + open.len() + 1)
                .map_err(|passed| passed.at(here()))?;
            let opened =
                self.declarations
                    .open(&declared, written, self.resolve, self.budget, here)?;
            open.push(Rc::from(written));
            self.replace_in_value(&opened.text[opened.start..], written, external, open, value)?;
            open.pop();
            rest = &rest[written.len()..];
        }
        value.push_str(rest);
        Ok(())
    }

    fn attribute_list(&mut self) -> Result<(), DtdError> {
        self.space("white space")?;
        let element = self.name("the element's name")?;
        loop {
            let spaced = self.skip_space()?;
            if self.starts(">") {
                return Ok(());
            }
            if !spaced {
                return Err(self.unexpected("white space or `>`"));
            }
            let name = self.name("an attribute's name")?;
            self.space("white space")?;
            let kind = self.attribute_type()?;
            self.space("white space")?;
            let default = self.attribute_default(kind != AttributeType::Character)?;
            self.count_declaration()?;
            let declared = self
                .declarations
                .attributes
                .entry(element.clone())
                .or_default();
            // The first declaration binds (XML 1.0 section 3.3).
            if declared.iter().any(|other| other.name == name) {
                continue;
            }
            if let Err(passed) = self.budget.attributes(declared.len() + 1) {
                return Err(passed.at(self.here()));
            }
            if kind == AttributeType::Id {
                self.declarations.ids.push(DeclaredId {
                    element: element.to_string(),
                    attribute: name.to_string(),
                });
            }
            declared.push(AttributeDeclaration {
                name,
                tokenized: kind != AttributeType::Character,
                default,
            });
        }
    }

    fn attribute_type(&mut self) -> Result<AttributeType, DtdError> {
        const EXPECTED: &str = "an attribute type";
        if self.eat("(") {
            self.choices(false)?;
            return Ok(AttributeType::Tokens);
        }
        let word = &self.frame.rest()[..token_length(self.frame.rest())];
        let kind = match word {
            "CDATA" => AttributeType::Character,
            "ID" => AttributeType::Id,
            "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" | "NMTOKEN" | "NMTOKENS" | "NOTATION" => {
                AttributeType::Tokens
            }
            _ => return Err(self.unexpected(EXPECTED)),
        };
        let (length, notation) = (word.len(), word == "NOTATION");
        self.frame.at += length;
        if notation {
            self.space("white space")?;
            self.expect("(")?;
            self.choices(true)?;
        }
        Ok(kind)
    }

    /// The rest of `(a | b | c)`.
    fn choices(&mut self, names: bool) -> Result<(), DtdError> {
        loop {
            self.skip_space()?;
            let rest = self.frame.rest();
            let length = if names {
                name_length(rest)
            } else {
                token_length(rest)
            };
            if length == 0 {
                return Err(self.unexpected("a name token"));
            }
            self.frame.at += length;
            self.skip_space()?;
            if self.eat(")") {
                return Ok(());
            }
            self.expect("|")?;
        }
    }

    fn attribute_default(&mut self, tokenized: bool) -> Result<Option<Rc<str>>, DtdError> {
        if self.eat("#REQUIRED") || self.eat("#IMPLIED") {
            return Ok(None);
        }
        if self.eat("#FIXED") {
            self.space("white space")?;
        }
        let start = self.frame.at + 1;
        let raw = self.quoted("a default value")?;
        let (entity, text) = (self.frame.entity.clone(), self.frame.text.clone());
        let literal = Literal {
            entity: &entity,
            text: &text,
            offset: start,
            raw: &raw,
        };
        Ok(Some(Rc::from(self.declarations.normalize(
            &literal,
            tokenized,
            self.budget,
        )?)))
    }

    /// A content model says nothing that matters here: read over, its parentheses balanced (XML 1.0 section 3.2).
    fn element_declaration(&mut self) -> Result<(), DtdError> {
        self.space("white space")?;
        self.name("the element's name")?;
        self.space("white space")?;
        let mut open = 0_u32;
        loop {
            self.skip_space()?;
            let rest = self.frame.rest();
            let length = match rest.bytes().next() {
                Some(b'>') if open == 0 => return Ok(()),
                Some(b'(') => {
                    open += 1;
                    1
                }
                Some(b')') if open > 0 => {
                    open -= 1;
                    1
                }
                Some(b'|' | b',' | b'?' | b'*' | b'+') => 1,
                Some(b'#') => 1 + name_length(&rest[1..]),
                _ => name_length(rest),
            };
            if length == 0 {
                return Err(self.unexpected("a content model"));
            }
            self.frame.at += length;
        }
    }

    /// `SYSTEM "…"` or `PUBLIC "…" "…"`; returns the system identifier, resolved. A notation may leave it out.
    fn external_id(&mut self, notation: bool) -> Result<Option<Rc<str>>, DtdError> {
        let public = self.eat("PUBLIC");
        if !public {
            self.expect("SYSTEM")?;
        }
        self.space("white space")?;
        let mut identifier = self.quoted("a quoted identifier")?;
        if public {
            let spaced = self.skip_space()?;
            if notation && !self.starts("\"") && !self.starts("'") {
                return Ok(None);
            }
            if !spaced {
                return Err(self.unexpected("white space"));
            }
            identifier = self.quoted("a system identifier")?;
        }
        Ok(Some(Rc::from(base::join(&self.frame.base, &identifier))))
    }

    /// A quoted literal, which ends in the frame where it begins.
    fn quoted(&mut self, expected: &'static str) -> Result<String, DtdError> {
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
    fn through(&mut self, end: &'static str) -> Result<(), DtdError> {
        let length = self
            .frame
            .rest()
            .find(end)
            .ok_or_else(|| self.unexpected_at_end("the end of a comment or instruction"))?;
        self.frame.at += length + end.len();
        Ok(())
    }

    /// White space, or the edge of a parameter entity, which counts as such.
    fn space(&mut self, expected: &'static str) -> Result<(), DtdError> {
        if self.skip_space()? {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Skips white space inside a declaration, entering and leaving parameter entities. Tells whether there was any.
    fn skip_space(&mut self) -> Result<bool, DtdError> {
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
    fn parameter_reference(&mut self) -> Result<(), DtdError> {
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

    fn name(&mut self, expected: &'static str) -> Result<Rc<str>, DtdError> {
        let rest = self.frame.rest();
        let length = name_length(rest);
        if length == 0 {
            return Err(self.unexpected(expected));
        }
        let name = Rc::from(&rest[..length]);
        self.frame.at += length;
        Ok(name)
    }

    fn starts(&self, with: &str) -> bool {
        self.frame.rest().starts_with(with)
    }

    fn eat(&mut self, token: &str) -> bool {
        let there = self.starts(token);
        if there {
            self.frame.at += token.len();
        }
        there
    }

    fn expect(&mut self, token: &'static str) -> Result<(), DtdError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.unexpected(token))
        }
    }

    /// Goes back to the text that referenced this one; `false` when there is none.
    fn leave(&mut self) -> bool {
        match self.outer.pop() {
            Some(frame) => {
                self.frame = frame;
                true
            }
            None => false,
        }
    }

    fn is_open(&self, reference: &str) -> bool {
        *self.frame.entity == *reference
            || self.outer.iter().any(|frame| *frame.entity == *reference)
    }

    fn count_declaration(&mut self) -> Result<(), DtdError> {
        self.budget
            .declaration()
            .map_err(|passed| passed.at(self.here()))
    }

    fn here(&self) -> Place {
        let frame = &self.frame;
        place(&frame.entity, &frame.text, frame.at)
    }

    fn unexpected(&self, expected: &'static str) -> DtdError {
        let frame = &self.frame;
        DtdError::Syntax {
            place: self.here(),
            expected,
            found: found(&frame.text, frame.at),
        }
    }

    /// `expected` is missing from here to the end of the entity.
    fn unexpected_at_end(&self, expected: &'static str) -> DtdError {
        DtdError::Syntax {
            place: self.here(),
            expected,
            found: "the end of the entity".to_owned(),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum AttributeType {
    Character,
    Id,
    Tokens,
}
