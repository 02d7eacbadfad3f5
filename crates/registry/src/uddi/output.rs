//! Writes elements.
//!
//! The rule kept here: all text is escaped, and what XML cannot hold is replaced.

use soapstone_xml::escape;

/// Elements that are being written. All of them are in the namespace of the last root.
#[derive(Default)]
pub(super) struct Output(String);

impl Output {
    /// Opens an element that declares its namespace for all in it.
    pub(super) fn root(&mut self, namespace: &str, name: &str, attributes: &[(&str, &str)]) {
        self.start(name, Some(namespace), attributes);
    }

    /// Opens an element.
    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.start(name, None, attributes);
    }

    fn start(&mut self, name: &str, namespace: Option<&str>, attributes: &[(&str, &str)]) {
        self.0.push('<');
        self.0.push_str(name);
        for (attribute, value) in namespace.map(|uri| ("xmlns", uri)).iter().chain(attributes) {
            self.0.push(' ');
            self.0.push_str(attribute);
            self.0.push_str("=\"");
            self.0.push_str(&escape::value_of(value));
            self.0.push('"');
        }
        self.0.push('>');
    }

    /// Closes an element.
    pub(super) fn close(&mut self, name: &str) {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
    }

    /// An element with text.
    pub(super) fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.start(name, None, attributes);
        self.0.push_str(&escape::text_of(text));
        self.close(name);
    }

    /// How many bytes were written.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What was written.
    pub(super) fn done(self) -> String {
        self.0
    }
}
