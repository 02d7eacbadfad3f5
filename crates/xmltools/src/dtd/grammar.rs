//! Reads the declarations of a DTD: internal subset, external subset, parameter entities (XML 1.0
//! sections 2.8, 3.2–3.4, 4).
//!
//! The one rule kept here: what a frame opens it closes. A declaration, a conditional section or a
//! literal that begins in one entity and ends in another is refused.

use std::rc::Rc;

use super::entities::{
    AttributeDeclaration, Budget, Declarations, DeclaredId, Entity, Literal, Reference, Resolve,
    reference, undeclared,
};
use super::error::DtdError;
use super::reader::{Frame, Reader};
use super::source::{found, is_space, name_length, place, token_length};
use soapstone_xml::base;

/// Reads the document type declaration at `at` (its `<!DOCTYPE`) and everything it refers to.
/// Returns where it ends.
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
    let mut reader = Reader {
        frame: document,
        outer: Vec::new(),
        declarations,
        budget,
        resolve,
        standalone,
    };
    reader.space("white space")?;
    reader.name("the name of the root element")?;
    let spaced = reader.skip_space()?;
    let mut external = None;
    if spaced && (reader.starts("SYSTEM") || reader.starts("PUBLIC")) {
        external = reader.external_id(false)?;
        reader.skip_space()?;
    }
    if reader.eat("[") {
        reader.subset()?;
        reader.expect("]")?;
        reader.skip_space()?;
    }
    reader.expect(">")?;
    let end = reader.frame.at;
    if let Some(system_id) = external.filter(|_| !standalone) {
        let (text, start) = reader.declarations.load(&system_id, reader.resolve)?;
        reader
            .budget
            .replaced(text.len())
            .map_err(|passed| passed.at(reader.here()))?;
        reader.frame = Frame {
            entity: system_id.clone(),
            text,
            at: start,
            base: system_id,
            external: true,
            sections: 0,
        };
        reader.subset()?;
        if !reader.frame.rest().is_empty() {
            return Err(reader.unexpected("a declaration"));
        }
    }
    Ok(end)
}

impl Reader<'_, '_> {
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
                self.through("--")?;
                self.expect(">")?;
            } else if self.eat("<?") {
                self.name("the target of a processing instruction")?;
                if !self.starts("?>") && !self.frame.rest().starts_with(is_space) {
                    return Err(self.unexpected("white space or `?>`"));
                }
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
        // `% name` declares a parameter entity; `%name;` would be a reference and was replaced by
        // `space`.
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

    /// An `EntityValue`: characters and parameter entities are replaced, general entities stay
    /// references (section 4.5).
    fn entity_value(&mut self) -> Result<String, DtdError> {
        let raw = self.quoted("an entity value")?;
        let (entity, external) = (self.frame.entity.clone(), self.frame.external);
        let mut value = String::with_capacity(raw.len());
        self.replace_in_value(&raw, &entity, external, &mut Vec::new(), &mut value)?;
        Ok(value)
    }

    /// Recursion is bounded by [`DEPTH`](super::entities::DEPTH) through the budget.
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

    /// A content model says nothing that matters here: it is checked and forgotten (XML 1.0 section
    /// 3.2).
    fn element_declaration(&mut self) -> Result<(), DtdError> {
        self.space("white space")?;
        self.name("the element's name")?;
        self.space("white space")?;
        if self.eat("EMPTY") || self.eat("ANY") {
            return Ok(());
        }
        if !self.eat("(") {
            return Err(self.unexpected("a content model"));
        }
        self.skip_space()?;
        if self.eat("#PCDATA") {
            return self.mixed_content();
        }
        // The separator of each parenthesis that is open, once it is known.
        let mut open = vec![None];
        loop {
            self.skip_space()?;
            if self.eat("(") {
                open.push(None);
                continue;
            }
            self.name("the name of an element")?;
            self.occurrence();
            loop {
                self.skip_space()?;
                if !self.eat(")") {
                    break;
                }
                open.pop();
                self.occurrence();
                if open.is_empty() {
                    return Ok(());
                }
            }
            let separator = if self.starts("|") { "|" } else { "," };
            if open
                .last()
                .copied()
                .flatten()
                .is_some_and(|other| other != separator)
            {
                return Err(self.unexpected("the separator used before, or `)`"));
            }
            self.expect(separator)?;
            if let Some(last) = open.last_mut() {
                *last = Some(separator);
            }
        }
    }

    /// The rest of `(#PCDATA | a | b)*`.
    fn mixed_content(&mut self) -> Result<(), DtdError> {
        let mut names = false;
        loop {
            self.skip_space()?;
            if self.eat(")") {
                return if self.eat("*") || !names {
                    Ok(())
                } else {
                    Err(self.unexpected("*"))
                };
            }
            self.expect("|")?;
            self.skip_space()?;
            self.name("the name of an element")?;
            names = true;
        }
    }

    fn occurrence(&mut self) {
        let _ = self.eat("?") || self.eat("*") || self.eat("+");
    }

    /// `SYSTEM "…"` or `PUBLIC "…" "…"`; returns the system identifier, resolved. A notation may
    /// leave it out.
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
}

#[derive(Clone, Copy, PartialEq)]
enum AttributeType {
    Character,
    Id,
    Tokens,
}
