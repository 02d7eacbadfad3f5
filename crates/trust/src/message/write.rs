//! Elements written in canonical form: no empty-element tags, namespaces declared where they are
//! first used.
//!
//! The one rule: every text passes through the escaping of `soapstone-xml`; prefixes are constants
//! of this crate.

use soapstone_crypto::base64;
use soapstone_xml::escape;

/// Appends elements.
pub(crate) struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Writer<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    /// `<name` with its namespace declared, if one is given, and attributes in the order given;
    /// then what `content` writes.
    pub(crate) fn element(
        &mut self,
        name: &str,
        namespace: Option<&str>,
        attributes: &[(&str, &str)],
        content: impl FnOnce(&mut Self),
    ) {
        self.raw("<");
        self.raw(name);
        if let Some(namespace) = namespace {
            let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
            self.attribute(&format!("xmlns:{prefix}"), namespace);
        }
        for (attribute, value) in attributes {
            self.attribute(attribute, value);
        }
        self.raw(">");
        content(self);
        self.raw("</");
        self.raw(name);
        self.raw(">");
    }

    /// An element with text.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.element(name, None, &[], |writer| writer.escaped(text));
    }

    /// An element with text whose namespace is declared on it.
    pub(crate) fn text_in(&mut self, name: &str, namespace: &str, text: &str) {
        self.element(name, Some(namespace), &[], |writer| writer.escaped(text));
    }

    /// A message or a collection, with its `Context` attribute; `namespace` where it is not
    /// declared around it.
    pub(crate) fn message(
        &mut self,
        name: &str,
        namespace: Option<&str>,
        context: Option<&str>,
        content: impl FnOnce(&mut Self),
    ) {
        let attribute = context.map(|context| ("Context", context));
        self.element(name, namespace, attribute.as_slice(), content);
    }

    pub(crate) fn escaped(&mut self, text: &str) {
        escape::text(text, self.out);
    }

    pub(crate) fn base64(&mut self, octets: &[u8]) {
        base64::encode_into(octets, self.out);
    }

    /// Where it writes, for those who write canonical elements themselves.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.raw(" ");
        self.raw(name);
        self.raw("=\"");
        escape::attribute(value, self.out);
        self.raw("\"");
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
