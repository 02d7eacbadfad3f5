//! Policies written out in normal form, as XML that reads back.
//!
//! The one rule: prefixes stay as they were written, because values such as XPath expressions are
//! written with them.

use std::collections::BTreeMap;

use soapstone_xml::escape;

use crate::alternative::{Alternative, Assertion, NormalPolicy};
use crate::names::{PolicyVersion, XML};
use crate::node::Node;

impl NormalPolicy {
    /// The policy in normal form (WS-Policy 1.5, 4.1), indented by two blanks.
    pub fn to_xml(&self) -> String {
        let mut writer = Writer {
            out: String::new(),
            version: self.version,
        };
        let mut scope = Declared::new();
        scope.insert("wsp".to_owned(), self.version.namespace().to_owned());
        writer.line(
            0,
            &format!("<wsp:Policy xmlns:wsp=\"{}\">", self.version.namespace()),
        );
        if self.alternatives.is_empty() {
            writer.line(1, "<wsp:ExactlyOne/>");
        } else {
            writer.line(1, "<wsp:ExactlyOne>");
            for alternative in &self.alternatives {
                writer.alternative(2, alternative, &scope);
            }
            writer.line(1, "</wsp:ExactlyOne>");
        }
        writer.line(0, "</wsp:Policy>");
        writer.out
    }
}

/// Prefixes declared around a place.
type Declared = BTreeMap<String, String>;

struct Writer {
    out: String,
    version: PolicyVersion,
}

impl Writer {
    fn line(&mut self, depth: usize, text: &str) {
        self.out.extend(std::iter::repeat_n("  ", depth));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn alternative(&mut self, depth: usize, alternative: &Alternative, scope: &Declared) {
        if alternative.assertions.is_empty() {
            return self.line(depth, "<wsp:All/>");
        }
        self.line(depth, "<wsp:All>");
        for assertion in &alternative.assertions {
            self.assertion(depth + 1, assertion, scope);
        }
        self.line(depth, "</wsp:All>");
    }

    fn assertion(&mut self, depth: usize, assertion: &Assertion, scope: &Declared) {
        let mut scope = scope.clone();
        let (name, start) = self.start_tag(assertion.node(), &mut scope);
        let mut parameters = assertion.parameters().peekable();
        let text = assertion.node().text.trim();
        if parameters.peek().is_none() && assertion.nested().is_none() {
            return self.leaf(depth, &name, &start, text);
        }
        self.line(depth, &format!("{start}>"));
        if !text.is_empty() {
            self.line(depth + 1, &escape::text_of(text));
        }
        for parameter in parameters {
            self.node(depth + 1, parameter, &scope);
        }
        if let Some(nested) = assertion.nested() {
            self.line(depth + 1, "<wsp:Policy>");
            self.line(depth + 2, "<wsp:ExactlyOne>");
            self.alternative(depth + 3, nested, &scope);
            self.line(depth + 2, "</wsp:ExactlyOne>");
            self.line(depth + 1, "</wsp:Policy>");
        }
        self.line(depth, &format!("</{name}>"));
    }

    fn node(&mut self, depth: usize, node: &Node, scope: &Declared) {
        let mut scope = scope.clone();
        let (name, start) = self.start_tag(node, &mut scope);
        let text = node.text.trim();
        if node.children.is_empty() {
            return self.leaf(depth, &name, &start, text);
        }
        self.line(depth, &format!("{start}>"));
        if !text.is_empty() {
            self.line(depth + 1, &escape::text_of(text));
        }
        for child in &node.children {
            self.node(depth + 1, child, &scope);
        }
        self.line(depth, &format!("</{name}>"));
    }

    fn leaf(&mut self, depth: usize, name: &str, start: &str, text: &str) {
        if text.is_empty() {
            self.line(depth, &format!("{start}/>"));
        } else {
            self.line(
                depth,
                &format!("{start}>{}</{name}>", escape::text_of(text)),
            );
        }
    }

    /// The qualified name of an element, and its start tag without the end of it.
    fn start_tag(&self, node: &Node, scope: &mut Declared) -> (String, String) {
        let mut declarations = String::new();
        let mut declare = |prefix: &str, uri: &str, scope: &mut Declared| {
            if scope.get(prefix).map_or("", String::as_str) == uri {
                return;
            }
            let mut value = Vec::new();
            escape::attribute(uri, &mut value);
            let value = String::from_utf8_lossy(&value);
            if prefix.is_empty() {
                declarations.push_str(&format!(" xmlns=\"{value}\""));
            } else {
                declarations.push_str(&format!(" xmlns:{prefix}=\"{value}\""));
            }
            scope.insert(prefix.to_owned(), uri.to_owned());
        };
        // `wsp` is what this writer writes operators with.
        let taken = node.prefix.is_empty() && node.name.namespace.is_empty();
        let prefix = match &*node.prefix {
            "wsp" if &*node.name.namespace != self.version.namespace() => "wsp-other",
            prefix => prefix,
        };
        if !taken || scope.contains_key("") {
            declare(prefix, &node.name.namespace, scope);
        }
        let mut attributes = String::new();
        for attribute in &node.attributes {
            if attribute.name.policy_version().is_some() && &*attribute.name.local == "Optional" {
                continue;
            }
            let mut value = Vec::new();
            escape::attribute(&attribute.value, &mut value);
            let value = String::from_utf8_lossy(&value);
            let prefix = match &*attribute.prefix {
                _ if attribute.name.policy_version() == Some(self.version) => "wsp",
                "wsp" if attribute.name.policy_version().is_none() => "wsp-other",
                prefix => prefix,
            };
            if prefix.is_empty() {
                attributes.push_str(&format!(" {}=\"{value}\"", attribute.name.local));
            } else {
                if &*attribute.name.namespace != XML {
                    declare(prefix, &attribute.name.namespace, scope);
                }
                attributes.push_str(&format!(" {prefix}:{}=\"{value}\"", attribute.name.local));
            }
            for used in prefixes_in(&attribute.value) {
                if let Some(uri) = node.namespace_of(used).filter(|_| used != "wsp") {
                    declare(used, uri, scope);
                }
            }
        }
        for used in prefixes_in(&node.text) {
            if let Some(uri) = node.namespace_of(used).filter(|_| used != "wsp") {
                declare(used, uri, scope);
            }
        }
        let name = match prefix {
            "" => node.name.local.to_string(),
            prefix => format!("{prefix}:{}", node.name.local),
        };
        (name.clone(), format!("<{name}{declarations}{attributes}"))
    }
}

/// Whatever stands before a colon in a value: perhaps a prefix.
fn prefixes_in(value: &str) -> impl Iterator<Item = &str> {
    value.match_indices(':').filter_map(|(at, _)| {
        let before = &value[..at];
        let start = before
            .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .map_or(0, |place| {
                place + before[place..].chars().next().map_or(1, char::len_utf8)
            });
        Some(&before[start..]).filter(|prefix| !prefix.is_empty())
    })
}
