//! Names of subjects and issuers, as certificates or people write them.
//!
//! The rule kept here: names are compared by what they mean (RFC 5280, section 7.1), and never as
//! text. A text that is no name is itself alone.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};
use soapstone_crypto::{DistinguishedName, NameStyle};

/// A distinguished name, with the text that it was written as.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct WrittenName {
    text: String,
    /// Names that are one have one such text. `None` where the text is no name.
    folded: Option<String>,
}

impl WrittenName {
    /// A text, whether it is a name or not.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let folded = read(&text).map(|name| name.folded());
        Self { text, folded }
    }

    /// Whether it is a name at all. That of nobody, without attributes, is none.
    pub fn is_name(&self) -> bool {
        self.folded.is_some()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As certificates are read, where it is a name.
    pub fn to_rfc2253(&self) -> String {
        let name = read(&self.text);
        name.map_or_else(|| self.text.clone(), |it| it.to_text(NameStyle::Rfc2253))
    }

    fn key(&self) -> Result<&str, &str> {
        self.folded.as_deref().ok_or(&self.text)
    }
}

/// Reads the name of somebody.
fn read(text: &str) -> Option<DistinguishedName> {
    let name = DistinguishedName::parse(text).ok()?;
    (!name.is_empty()).then_some(name)
}

impl PartialEq for WrittenName {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for WrittenName {}

impl Ord for WrittenName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for WrittenName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<String> for WrittenName {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<WrittenName> for String {
    fn from(name: WrittenName) -> Self {
        name.text
    }
}

impl fmt::Display for WrittenName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_however_it_is_written() {
        let name = WrittenName::new("CN=p1,O=Acme");
        for text in [
            "cn = P1; o=acme",
            "O=Acme, CN=p1",
            "CN=\"p1\",2.5.4.10=Acme",
        ] {
            let same = WrittenName::new(text);
            assert_eq!(name, same);
            assert_eq!(name.cmp(&same), Ordering::Equal);
            assert_eq!(same.as_str(), text);
            assert_eq!(serde_json::to_value(&same).expect("JSON"), text);
        }
        assert_ne!(name, WrittenName::new("CN=p1"));
        assert_eq!(WrittenName::new("cn= p1").to_rfc2253(), "CN=p1");
    }

    #[test]
    fn a_text_that_is_no_name_is_itself_alone() {
        for text in ["p1", "", "*", "CN=p1,"] {
            let other = WrittenName::new(text);
            assert!(!other.is_name(), "{text}");
            assert_eq!(other, WrittenName::new(text));
            assert_ne!(other, WrittenName::new("CN=p1"));
        }
        assert_ne!(WrittenName::new("p1"), WrittenName::new("P1"));
        // Not even the text by which names are compared.
        let folded = DistinguishedName::parse("CN=p1").expect("a name").folded();
        assert_ne!(WrittenName::new(folded), WrittenName::new("CN=p1"));
    }
}
