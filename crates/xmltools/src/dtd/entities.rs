//! What a DTD declares, and the replacement of references to it.
//!
//! The one rule kept here: a replacement is charged to the [`Budget`] before it is made, and an
//! entity that is open cannot be opened again.

use std::collections::HashMap;
use std::rc::Rc;

use super::error::{DtdError, Place};
use super::source::{self, place};
use soapstone_xml::{Limits, chars};

/// Entities open inside each other. Hand-written DTDs nest parameter entities up to some ten levels
/// (DocBook, TEI).
const DEPTH: u16 = 32;

/// Entities and attributes declared in one DTD. The DTDs of DocBook and TEI declare some 7,000.
const DECLARATIONS: u32 = 20_000;

/// An attribute of type `ID`, both names as the DTD writes them (a DTD knows prefixes, not
/// namespaces).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeclaredId {
    /// The qualified name of the element type.
    pub element: String,
    /// The qualified name of the attribute.
    pub attribute: String,
}

/// Asks the caller for the bytes of an external entity by its resolved system identifier.
pub(super) type Resolve<'r> = &'r mut dyn FnMut(&str) -> Option<Vec<u8>>;

/// Everything that replacements have consumed so far.
pub(super) struct Budget<'l> {
    limits: &'l Limits,
    references: u32,
    replaced: usize,
    declarations: u32,
}

impl<'l> Budget<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        Budget {
            limits,
            references: 0,
            replaced: 0,
            declarations: 0,
        }
    }

    /// Charges one reference at nesting `depth`.
    pub(super) fn reference(&mut self, depth: usize) -> Result<(), Passed> {
        self.references += 1;
        if depth > usize::from(DEPTH) {
            return Err(Passed {
                limit: "entity depth",
                maximum: DEPTH.into(),
            });
        }
        if self.references > self.limits.entities {
            return Err(Passed {
                limit: "entities",
                maximum: self.limits.entities.into(),
            });
        }
        Ok(())
    }

    /// Charges `octets` of replacement text.
    pub(super) fn replaced(&mut self, octets: usize) -> Result<(), Passed> {
        self.replaced = self.replaced.saturating_add(octets);
        if self.replaced > self.limits.expansion {
            return Err(Passed {
                limit: "expansion",
                maximum: self.limits.expansion as u64,
            });
        }
        Ok(())
    }

    /// Charges one declaration.
    pub(super) fn declaration(&mut self) -> Result<(), Passed> {
        self.declarations += 1;
        if self.declarations > DECLARATIONS {
            return Err(Passed {
                limit: "declarations",
                maximum: DECLARATIONS.into(),
            });
        }
        Ok(())
    }

    /// Checks the number of attributes of one element type or start tag.
    pub(super) fn attributes(&self, count: usize) -> Result<(), Passed> {
        if count > usize::from(self.limits.attributes) {
            return Err(Passed {
                limit: "attributes",
                maximum: self.limits.attributes.into(),
            });
        }
        Ok(())
    }
}

/// A bound that was passed, before it is known where.
pub(super) struct Passed {
    limit: &'static str,
    maximum: u64,
}

impl Passed {
    pub(super) fn at(self, place: Place) -> DtdError {
        DtdError::Limit {
            place,
            limit: self.limit,
            maximum: self.maximum,
        }
    }
}

/// A declared entity.
#[derive(Clone)]
pub(super) enum Entity {
    /// Its replacement text is in the DTD.
    Internal(Rc<str>),
    /// A parsed entity outside, by its resolved system identifier.
    External(Rc<str>),
    /// An entity with a notation: only its name may be used, in an attribute.
    Unparsed,
}

/// Text of an entity, ready to be read.
pub(super) struct Opened {
    pub(super) text: Rc<str>,
    pub(super) start: usize,
    /// System identifier that further ones in it are relative to; `None` when it lies where it is
    /// referenced.
    pub(super) base: Option<Rc<str>>,
}

/// Type and default of an attribute.
pub(super) struct AttributeDeclaration {
    pub(super) name: Rc<str>,
    /// Any type but `CDATA`: leading, trailing and repeated spaces go (XML 1.0 section 3.3.3).
    pub(super) tokenized: bool,
    /// The default, normalized and with every entity expanded.
    pub(super) default: Option<Rc<str>>,
}

/// All that the DTD declares and that changes the document.
#[derive(Default)]
pub(super) struct Declarations {
    pub(super) general: HashMap<Rc<str>, Entity>,
    pub(super) parameter: HashMap<Rc<str>, Entity>,
    pub(super) attributes: HashMap<Rc<str>, Vec<AttributeDeclaration>>,
    pub(super) ids: Vec<DeclaredId>,
    /// External entities already asked for, by system identifier.
    loaded: HashMap<Rc<str>, (Rc<str>, usize)>,
}

impl Declarations {
    /// Opens the parsed entity that `reference` names, asking `resolve` for an external one the
    /// first time.
    pub(super) fn open(
        &mut self,
        entity: &Entity,
        reference: &str,
        resolve: Resolve<'_>,
        budget: &mut Budget<'_>,
        at: impl Fn() -> Place,
    ) -> Result<Opened, DtdError> {
        match entity {
            Entity::Internal(text) => {
                budget
                    .replaced(text.len())
                    .map_err(|passed| passed.at(at()))?;
                Ok(Opened {
                    text: text.clone(),
                    start: 0,
                    base: None,
                })
            }
            Entity::External(system_id) => {
                let (text, start) = self.load(system_id, resolve)?;
                budget
                    .replaced(text.len())
                    .map_err(|passed| passed.at(at()))?;
                Ok(Opened {
                    text,
                    start,
                    base: Some(system_id.clone()),
                })
            }
            Entity::Unparsed => Err(DtdError::Forbidden {
                place: at(),
                reference: reference.to_owned(),
                constraint: "Parsed Entity",
            }),
        }
    }

    /// The text of the external entity at `system_id` and where it begins.
    pub(super) fn load(
        &mut self,
        system_id: &Rc<str>,
        resolve: Resolve<'_>,
    ) -> Result<(Rc<str>, usize), DtdError> {
        if let Some(loaded) = self.loaded.get(system_id) {
            return Ok(loaded.clone());
        }
        let octets = resolve(system_id).ok_or_else(|| DtdError::Unresolved {
            system_id: system_id.to_string(),
        })?;
        let decoded = source::decode(&octets, system_id)?;
        let loaded = (Rc::from(decoded.text), decoded.start);
        self.loaded.insert(system_id.clone(), loaded.clone());
        Ok(loaded)
    }

    /// The declaration of `attribute` on `element`, both qualified names.
    pub(super) fn attribute(
        &self,
        element: &str,
        attribute: &str,
    ) -> Option<&AttributeDeclaration> {
        self.attributes
            .get(element)?
            .iter()
            .find(|declaration| &*declaration.name == attribute)
    }

    /// The value of an attribute: references replaced, then normalized by its type (XML 1.0 section
    /// 3.3.3).
    pub(super) fn normalize(
        &self,
        literal: &Literal<'_>,
        tokenized: bool,
        budget: &mut Budget<'_>,
    ) -> Result<String, DtdError> {
        let mut value = String::with_capacity(literal.raw.len());
        self.replace_in_attribute(literal, &mut Vec::new(), &mut value, budget)?;
        if tokenized {
            let mut tokens = String::with_capacity(value.len());
            for token in value.split(' ').filter(|token| !token.is_empty()) {
                if !tokens.is_empty() {
                    tokens.push(' ');
                }
                tokens.push_str(token);
            }
            value = tokens;
        }
        Ok(value)
    }

    /// Recursion is bounded by [`DEPTH`] through the budget.
    fn replace_in_attribute(
        &self,
        literal: &Literal<'_>,
        open: &mut Vec<Rc<str>>,
        value: &mut String,
        budget: &mut Budget<'_>,
    ) -> Result<(), DtdError> {
        let mut rest = literal.raw;
        while let Some(stop) = rest.find(['&', '<', '\t', '\n', '\r']) {
            value.push_str(&rest[..stop]);
            let at = literal.raw.len() - rest.len() + stop;
            rest = &rest[stop..];
            match rest.as_bytes()[0] {
                b'<' => {
                    return Err(DtdError::Syntax {
                        place: literal.place(at),
                        expected: "an attribute value without `<`",
                        found: "`<`".to_owned(),
                    });
                }
                b'&' => match reference(rest).ok_or_else(|| literal.no_reference(at))? {
                    (Reference::Character(character), length) => {
                        value.push(character);
                        rest = &rest[length..];
                    }
                    (Reference::Entity(name), length) => {
                        let here = || literal.place(at);
                        let entity = self
                            .general
                            .get(name)
                            .ok_or_else(|| undeclared(here(), &rest[..length]))?;
                        let Entity::Internal(text) = entity else {
                            return Err(DtdError::Forbidden {
                                place: here(),
                                reference: rest[..length].to_owned(),
                                constraint: "No External Entity References",
                            });
                        };
                        if open.iter().any(|other| &**other == name) {
                            return Err(DtdError::Recursive {
                                place: here(),
                                reference: rest[..length].to_owned(),
                            });
                        }
                        budget
                            .reference(open.len() + 1)
                            .map_err(|passed| passed.at(here()))?;
                        budget
                            .replaced(text.len())
                            .map_err(|passed| passed.at(here()))?;
                        open.push(Rc::from(name));
                        let inner = Literal {
                            entity: &rest[..length],
                            text,
                            offset: 0,
                            raw: text,
                        };
                        self.replace_in_attribute(&inner, open, value, budget)?;
                        open.pop();
                        rest = &rest[length..];
                    }
                },
                _ => {
                    value.push(' ');
                    rest = &rest[1..];
                }
            }
        }
        value.push_str(rest);
        Ok(())
    }
}

/// A quoted value and where it stands, for messages.
pub(super) struct Literal<'t> {
    pub(super) entity: &'t str,
    pub(super) text: &'t str,
    pub(super) offset: usize,
    pub(super) raw: &'t str,
}

impl Literal<'_> {
    fn place(&self, at: usize) -> Place {
        place(self.entity, self.text, self.offset + at)
    }

    fn no_reference(&self, at: usize) -> DtdError {
        DtdError::Syntax {
            place: self.place(at),
            expected: "a reference to a character or an entity",
            found: source::found(self.text, self.offset + at),
        }
    }
}

/// What follows an `&`.
pub(super) enum Reference<'t> {
    /// A character reference, or one of the five entities that need no declaration (XML 1.0 section
    /// 4.6).
    Character(char),
    /// A general entity.
    Entity(&'t str),
}

/// Reads the reference that `text` begins with, and its length.
pub(super) fn reference(text: &str) -> Option<(Reference<'_>, usize)> {
    let name = &text[1..text.find(';')?];
    let length = name.len() + 2;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => match name.strip_prefix('#') {
            Some(number) => {
                let (digits, radix) = number
                    .strip_prefix('x')
                    .map_or((number, 10), |digits| (digits, 16));
                let plain =
                    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                let code = plain.then(|| u32::from_str_radix(digits, radix).ok())??;
                char::from_u32(code).filter(|character| chars::is_char(*character))?
            }
            None if !name.is_empty() && source::name_length(name) == name.len() => {
                return Some((Reference::Entity(name), length));
            }
            None => return None,
        },
    };
    Some((Reference::Character(character), length))
}

pub(super) fn undeclared(place: Place, reference: &str) -> DtdError {
    DtdError::Undeclared {
        place,
        reference: reference.to_owned(),
    }
}
