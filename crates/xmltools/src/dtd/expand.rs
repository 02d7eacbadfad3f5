//! Rewrites a document by its DTD: entities expanded, attributes defaulted and normalized, the DTD
//! itself left out.
//!
//! The text is walked once, markup by markup; a general entity opens a frame on top of the text
//! that references it. What needs no change is copied byte by byte, so that the output keeps the
//! quoting and spacing of the source.
//!
//! The one rule kept here: what is written parses back to the characters that the references meant.
//! A carriage return or a `]]>` that replacement brings about is written as a reference, and markup
//! cannot begin in one entity and end in another.

use std::rc::Rc;

use super::entities::{
    Budget, Declarations, DeclaredId, Literal, Reference, Resolve, reference, undeclared,
};
use super::error::{DtdError, Place};
use super::grammar;
use super::source::{decode, found, is_space, name_length, place};
use soapstone_xml::Limits;

/// A document without DTD that means what the document with it meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flattened {
    /// The document in UTF-8, without XML declaration and DTD. Its well-formedness beyond what
    /// expansion needs (matching tags, unique attributes, namespaces) is for the scanner to
    /// judge.
    pub document: Vec<u8>,
    /// The attributes of type `ID`, in the order of their declarations.
    pub ids: Vec<DeclaredId>,
}

/// Flattens the document in `octets`; see [`super::flatten`].
pub(super) fn document(
    octets: &[u8],
    limits: &Limits,
    resolve: Resolve<'_>,
) -> Result<Flattened, DtdError> {
    let decoded = decode(octets, "")?;
    let text: Rc<str> = Rc::from(decoded.text);
    let mut expansion = Expansion {
        frame: Frame {
            entity: Rc::from(""),
            text: text.clone(),
            at: decoded.start,
            floor: 0,
        },
        outer: Vec::new(),
        depth: 0,
        rooted: false,
        typed: false,
        standalone: decoded.standalone,
        output: Vec::with_capacity(text.len()),
        declarations: Declarations::default(),
        budget: Budget::new(limits),
        resolve,
    };
    expansion.run()?;
    Ok(Flattened {
        document: expansion.output,
        ids: expansion.declarations.ids,
    })
}

/// A text that is being expanded.
struct Frame {
    /// `&name;`, or empty for the document.
    entity: Rc<str>,
    text: Rc<str>,
    at: usize,
    /// Elements open where this text begins: it must not close them.
    floor: usize,
}

struct Expansion<'e> {
    frame: Frame,
    outer: Vec<Frame>,
    depth: usize,
    /// The root element has begun.
    rooted: bool,
    /// The document type declaration has been read.
    typed: bool,
    standalone: bool,
    output: Vec<u8>,
    declarations: Declarations,
    budget: Budget<'e>,
    resolve: Resolve<'e>,
}

impl Expansion<'_> {
    fn run(&mut self) -> Result<(), DtdError> {
        loop {
            let text = self.frame.text.clone();
            let rest = &text[self.frame.at..];
            let stop = rest.find(['<', '&']).unwrap_or(rest.len());
            self.characters(&rest[..stop])?;
            self.frame.at += stop;
            let rest = &rest[stop..];
            if rest.is_empty() {
                if self.depth != self.frame.floor {
                    return Err(DtdError::Unbalanced { place: self.here() });
                }
                match self.outer.pop() {
                    Some(outer) => self.frame = outer,
                    None => return Ok(()),
                }
            } else if rest.starts_with('&') {
                self.reference(rest)?;
            } else if rest.starts_with("<!--") {
                self.verbatim(rest, "-->")?;
            } else if rest.starts_with("<?") {
                self.verbatim(rest, "?>")?;
            } else if rest.starts_with("<![CDATA[") && self.depth > 0 {
                self.cdata(rest)?;
            } else if rest.starts_with("<!DOCTYPE") && !self.typed && !self.rooted {
                self.typed = true;
                self.frame.at = grammar::document_type(
                    &text,
                    self.frame.at,
                    self.standalone,
                    &mut self.declarations,
                    &mut self.budget,
                    self.resolve,
                )?;
            } else if rest.starts_with("</") {
                self.end_tag(rest)?;
            } else {
                self.start_tag(rest)?;
            }
        }
    }

    /// Character data without references; outside the root element, white space only (XML 1.0
    /// production 27, `Misc`).
    ///
    /// What follows the DTD comes first once it is left out: there a byte order mark would change
    /// its meaning.
    fn characters(&mut self, text: &str) -> Result<(), DtdError> {
        if self.depth == 0 {
            let stray = leading_space(text);
            if stray < text.len() {
                let wanted = "only markup and white space outside the root element";
                return Err(self.unexpected_at(stray, wanted));
            }
        }
        if let Some(offset) = text.find("]]>") {
            let place = place(&self.frame.entity, &self.frame.text, self.frame.at + offset);
            return Err(DtdError::Syntax {
                place,
                expected: "no `]]>` in character data",
                found: "`]]>`".to_owned(),
            });
        }
        for piece in text.split_inclusive(['>', '\r']) {
            // The brackets may come from another entity than the `>`: together they would be
            // refused.
            let (kept, last) =
                piece.split_at(piece.len() - usize::from(piece.ends_with(['>', '\r'])));
            self.output.extend_from_slice(kept.as_bytes());
            match last {
                "\r" => self.output.extend_from_slice(b"&#13;"),
                ">" if self.output.ends_with(b"]]") => self.output.extend_from_slice(b"&gt;"),
                _ => self.output.extend_from_slice(last.as_bytes()),
            }
        }
        Ok(())
    }

    fn reference(&mut self, rest: &str) -> Result<(), DtdError> {
        let wrong = "a reference to a character or an entity";
        let (kind, length) = reference(rest).ok_or_else(|| self.unexpected(wrong))?;
        let written = &rest[..length];
        if self.depth == 0 {
            return Err(self.unexpected("the root element"));
        }
        let Reference::Entity(name) = kind else {
            self.output.extend_from_slice(written.as_bytes());
            self.frame.at += length;
            return Ok(());
        };
        let Some(entity) = self.declarations.general.get(name).cloned() else {
            return Err(undeclared(self.here(), written));
        };
        if *self.frame.entity == *written
            || self.outer.iter().any(|frame| *frame.entity == *written)
        {
            return Err(DtdError::Recursive {
                place: self.here(),
                reference: written.to_owned(),
            });
        }
        let depth = self.outer.len() + 1;
        self.budget
            .reference(depth)
            .map_err(|passed| passed.at(self.here()))?;
        let (frame, budget) = (&self.frame, &mut self.budget);
        let here = || place(&frame.entity, &frame.text, frame.at);
        let opened = self
            .declarations
            .open(&entity, written, self.resolve, budget, here)?;
        self.frame.at += length;
        let inner = Frame {
            entity: Rc::from(written),
            text: opened.text,
            at: opened.start,
            floor: self.depth,
        };
        self.outer.push(std::mem::replace(&mut self.frame, inner));
        Ok(())
    }

    /// A comment or processing instruction.
    fn verbatim(&mut self, rest: &str, end: &'static str) -> Result<(), DtdError> {
        let length = rest.find(end).ok_or_else(|| self.unexpected(end))? + end.len();
        let markup = &rest[..length];
        if is_xml_instruction(markup) {
            // With the DTD left out it could come first, and be read as the declaration.
            return Err(
                self.unexpected("no target `xml` but in a declaration at the very beginning")
            );
        }
        if markup.contains('\r') {
            // It could only be written as a line end, which is another character.
            return Err(DtdError::Syntax {
                place: self.here(),
                expected: "no carriage return in a comment or processing instruction",
                found: "`&#13;`".to_owned(),
            });
        }
        self.output.extend_from_slice(markup.as_bytes());
        self.frame.at += length;
        Ok(())
    }

    fn cdata(&mut self, rest: &str) -> Result<(), DtdError> {
        let length = rest.find("]]>").ok_or_else(|| self.unexpected("]]>"))? + "]]>".len();
        for (index, piece) in rest[..length].split('\r').enumerate() {
            if index > 0 {
                self.output.extend_from_slice(b"]]>&#13;<![CDATA[");
            }
            self.output.extend_from_slice(piece.as_bytes());
        }
        self.frame.at += length;
        Ok(())
    }

    fn end_tag(&mut self, rest: &str) -> Result<(), DtdError> {
        let length = rest.find('>').ok_or_else(|| self.unexpected("`>`"))? + 1;
        if self.depth <= self.frame.floor {
            return Err(DtdError::Unbalanced { place: self.here() });
        }
        self.depth -= 1;
        write_markup(&rest[..length], &mut self.output);
        self.frame.at += length;
        Ok(())
    }

    /// A start tag or empty-element tag: attributes are normalized by their type and completed by
    /// their defaults.
    fn start_tag(&mut self, rest: &str) -> Result<(), DtdError> {
        let name_end = 1 + name_length(&rest[1..]);
        if name_end == 1 {
            return Err(self.unexpected("a tag, comment, processing instruction or character data"));
        }
        let element = &rest[1..name_end];
        let declared = self.declarations.attributes.get(element);
        let mut present: Vec<&str> = Vec::new();
        self.output.extend_from_slice(&rest.as_bytes()[..name_end]);
        let mut at = name_end;
        loop {
            let spaced = at + leading_space(&rest[at..]);
            let rest_of_tag = &rest[spaced..];
            if rest_of_tag.starts_with(['>', '/']) {
                for declaration in declared.into_iter().flatten() {
                    if let Some(default) = declaration
                        .default
                        .as_deref()
                        .filter(|_| !present.contains(&&*declaration.name))
                    {
                        self.budget
                            .replaced(default.len() + declaration.name.len())
                            .map_err(|passed| passed.at(self.here()))?;
                        write_attribute(&declaration.name, default, &mut self.output);
                    }
                }
                let end = if rest_of_tag.starts_with('>') {
                    ">"
                } else {
                    "/>"
                };
                if !rest_of_tag.starts_with(end) {
                    return Err(self.unexpected_at(spaced, "`/>`"));
                }
                write_markup(&rest[at..spaced + end.len()], &mut self.output);
                self.frame.at += spaced + end.len();
                self.rooted = true;
                self.depth += usize::from(end == ">");
                return Ok(());
            }
            let length = name_length(rest_of_tag);
            if length == 0 || spaced == at {
                return Err(self.unexpected_at(spaced, "white space and an attribute, `>` or `/>`"));
            }
            let name = &rest_of_tag[..length];
            let equals = spaced + length + leading_space(&rest_of_tag[length..]);
            if !rest[equals..].starts_with('=') {
                return Err(self.unexpected_at(equals, "`=`"));
            }
            let quoted = equals + 1 + leading_space(&rest[equals + 1..]);
            let Some(quote) = rest[quoted..]
                .chars()
                .next()
                .filter(|quote| matches!(quote, '"' | '\''))
            else {
                return Err(self.unexpected_at(quoted, "a quoted value"));
            };
            let Some(length) = rest[quoted + 1..].find(quote) else {
                return Err(self.unexpected_at(quoted, "a value with its closing quote"));
            };
            let raw = &rest[quoted + 1..quoted + 1 + length];
            let end = quoted + length + 2;
            let tokenized = self
                .declarations
                .attribute(element, name)
                .is_some_and(|declaration| declaration.tokenized);
            let offset = self.frame.at + quoted + 1;
            let literal = Literal {
                entity: &self.frame.entity,
                text: &self.frame.text,
                offset,
                raw,
            };
            let value = self
                .declarations
                .normalize(&literal, tokenized, &mut self.budget)?;
            if tokenized || raw.contains('\r') || has_entity(raw) {
                write_attribute(name, &value, &mut self.output);
            } else {
                write_markup(&rest[at..end], &mut self.output);
            }
            present.push(name);
            self.budget
                .attributes(present.len())
                .map_err(|passed| passed.at(self.here()))?;
            at = end;
        }
    }

    fn here(&self) -> Place {
        place(&self.frame.entity, &self.frame.text, self.frame.at)
    }

    fn unexpected(&self, expected: &'static str) -> DtdError {
        self.unexpected_at(0, expected)
    }

    /// An error `offset` bytes from where the frame stands.
    fn unexpected_at(&self, offset: usize, expected: &'static str) -> DtdError {
        let Frame {
            entity, text, at, ..
        } = &self.frame;
        DtdError::Syntax {
            place: place(entity, text, at + offset),
            expected,
            found: found(text, at + offset),
        }
    }
}

/// A processing instruction with the target that is reserved for declarations (XML 1.0 production
/// 17, `PITarget`).
fn is_xml_instruction(markup: &str) -> bool {
    markup
        .strip_prefix("<?")
        .is_some_and(|rest| rest[..name_length(rest)].eq_ignore_ascii_case("xml"))
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}

/// A reference to an entity that needs a declaration.
fn has_entity(raw: &str) -> bool {
    raw.match_indices('&')
        .any(|(at, _)| matches!(reference(&raw[at..]), Some((Reference::Entity(_), _))))
}

/// Writes a piece of a tag as it is. A carriage return in its white space, which came by a
/// reference, would be read as a line end.
fn write_markup(piece: &str, output: &mut Vec<u8>) {
    let octets = piece.bytes();
    output.extend(octets.map(|octet| if octet == b'\r' { b' ' } else { octet }));
}

/// Writes ` name="value"` so that it parses back to `value`.
fn write_attribute(name: &str, value: &str, output: &mut Vec<u8>) {
    output.push(b' ');
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b"=\"");
    for octet in value.bytes() {
        match octet {
            b'&' => output.extend_from_slice(b"&amp;"),
            b'<' => output.extend_from_slice(b"&lt;"),
            b'"' => output.extend_from_slice(b"&quot;"),
            b'\t' => output.extend_from_slice(b"&#9;"),
            b'\n' => output.extend_from_slice(b"&#10;"),
            b'\r' => output.extend_from_slice(b"&#13;"),
            _ => output.push(octet),
        }
    }
    output.push(b'"');
}
