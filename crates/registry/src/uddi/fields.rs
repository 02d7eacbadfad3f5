//! Reads an element: its attributes and its children, each of which is asked for.
//!
//! The rule kept here: what nothing asked for is refused.

use soapstone_xml::{Element, XML_NAMESPACE};

use crate::model::Text;
use crate::refusal::Refusal;

/// An element that is being read.
pub(super) struct Fields<'d> {
    namespace: &'d str,
    attributes: Vec<(String, String)>,
    children: Vec<Element<'d>>,
}

impl<'d> Fields<'d> {
    /// Begins with an element. Its children are in its own namespace.
    pub(super) fn of(element: Element<'d>) -> Self {
        let attributes = element.attributes().map(|it| {
            let name = match it.namespace() {
                "" => it.local().to_owned(),
                XML_NAMESPACE => format!("xml:{}", it.local()),
                other => format!("{{{other}}}{}", it.local()),
            };
            (name, it.value().into_owned())
        });
        Self {
            namespace: element.namespace(),
            attributes: attributes.collect(),
            children: element.children().collect(),
        }
    }

    /// Takes an attribute.
    pub(super) fn attribute(&mut self, name: &str) -> Option<String> {
        let at = self.attributes.iter().position(|(it, _)| it == name)?;
        Some(self.attributes.swap_remove(at).1)
    }

    /// Takes an attribute that may be absent, and is empty then.
    pub(super) fn word(&mut self, name: &str) -> String {
        self.attribute(name).unwrap_or_default()
    }

    /// Takes a number.
    pub(super) fn number<N: std::str::FromStr>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<N>, Refusal> {
        let wrong = |_| Refusal::Value {
            part: name,
            expected: "a number",
        };
        let text = self.attribute(name);
        text.map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// Takes all children of a name.
    pub(super) fn all(&mut self, name: &str) -> Vec<Element<'d>> {
        let namespace = self.namespace;
        let taken = self.children.extract_if(.., |it| it.is(namespace, name));
        taken.collect()
    }

    /// Takes the child of a name, if there is one.
    pub(super) fn one(&mut self, name: &'static str) -> Result<Option<Element<'d>>, Refusal> {
        let mut all = self.all(name).into_iter();
        match (all.next(), all.next()) {
            (found, None) => Ok(found),
            _ => Err(Refusal::Missing { part: name }),
        }
    }

    /// Takes the children of a name, in a child of another name that only holds these.
    pub(super) fn listed(
        &mut self,
        list: &'static str,
        name: &str,
    ) -> Result<Vec<Element<'d>>, Refusal> {
        let Some(list) = self.one(list)? else {
            return Ok(Vec::new());
        };
        let mut fields = Fields::of(list);
        let items = fields.all(name);
        fields.finish()?;
        Ok(items)
    }

    /// Takes the texts of all children of a name.
    pub(super) fn texts(&mut self, name: &'static str) -> Result<Vec<Text>, Refusal> {
        let read = |element| {
            let mut fields = Fields::of(element);
            let lang = fields.attribute("xml:lang");
            fields.finish()?;
            let text = simple(element, name)?;
            Ok(Text { lang, text })
        };
        self.all(name).into_iter().map(read).collect()
    }

    /// Takes the plain texts of all children of a name.
    pub(super) fn strings(&mut self, name: &'static str) -> Result<Vec<String>, Refusal> {
        let all = self.all(name).into_iter();
        all.map(|element| simple(element, name)).collect()
    }

    /// That everything was asked for.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        let child = self.children.first().map(|it| it.qualified_name());
        let attribute = self.attributes.first().map(|(name, _)| name.as_str());
        match child.or(attribute) {
            None => Ok(()),
            Some(found) => Err(Refusal::Unsupported {
                found: found.chars().take(100).collect(),
            }),
        }
    }
}

/// The text of an element that holds nothing else.
pub(super) fn simple(element: Element<'_>, part: &'static str) -> Result<String, Refusal> {
    let expected = "text alone";
    let text = element.text_strict();
    let text = text.ok_or(Refusal::Value { part, expected })?;
    Ok(text.trim().to_owned())
}
