//! Media types with their parameters (RFC 2045, 5.1).
//!
//! The rule kept here: a value that does not follow the grammar has no reading. Comments, which no
//! SOAP stack writes, are left out of it.

/// A media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaType {
    /// `type/subtype` in small letters.
    essence: String,
    /// Names in small letters, each once, and values.
    parameters: Vec<(String, String)>,
}

/// Most parameters of a media type.
const MOST_PARAMETERS: usize = 32;

impl MediaType {
    /// Reads the value of a `Content-Type`; `None` where it does not follow the grammar.
    pub fn parse(text: &str) -> Option<Self> {
        let (essence, parameters) = with_parameters(text)?;
        let (kind, subtype) = essence.split_once('/')?;
        let is_type = is_token(kind) && is_token(subtype);
        is_type.then_some(Self {
            essence,
            parameters,
        })
    }

    /// Whether it is this type, in small letters.
    pub fn is(&self, essence: &str) -> bool {
        self.essence == essence
    }

    /// Whether its content is XML (RFC 7303, 4.2).
    pub fn is_xml(&self) -> bool {
        matches!(self.essence.as_str(), "text/xml" | "application/xml")
            || self.essence.ends_with("+xml")
    }

    /// `type/subtype` in small letters.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// Its parameters: names in small letters, and values.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let parameters = self.parameters.iter();
        parameters.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A value with parameters: what stands in front of them, in small letters, and each parameter.
/// Names are in small letters, each once.
pub(crate) fn with_parameters(text: &str) -> Option<(String, Vec<(String, String)>)> {
    let end = text.find(';').unwrap_or(text.len());
    let essence = text[..end].trim().to_ascii_lowercase();
    let mut parameters: Vec<(String, String)> = Vec::new();
    let mut rest = &text[end..];
    while let Some(behind) = rest.strip_prefix(';') {
        let behind = behind.trim_start();
        // A semicolon at the end, which many write.
        if behind.is_empty() && !parameters.is_empty() {
            rest = behind;
            break;
        }
        let (name, behind) = behind.split_once('=')?;
        let name = name.trim().to_ascii_lowercase();
        let (value, behind) = value_of(behind.trim_start())?;
        let is_new = !parameters.iter().any(|(known, _)| *known == name);
        if !is_token(&name) || !is_new || parameters.len() == MOST_PARAMETERS {
            return None;
        }
        parameters.push((name, value));
        rest = behind.trim_start();
    }
    rest.is_empty().then_some((essence, parameters))
}

/// A value, quoted or not, and what stands behind it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
        let (value, behind) = text.split_at(end);
        return is_token(value).then(|| (value.to_owned(), behind));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[place + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// Whether a text is a `token` (RFC 2045, 5.1).
pub(crate) fn is_token(text: &str) -> bool {
    let is_special = |byte: u8| b"()<>@,;:\\\"/[]?=".contains(&byte);
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !is_special(byte))
}

#[cfg(test)]
mod tests {
    use super::MediaType;

    #[test]
    fn a_type_is_read_with_its_parameters() {
        let text =
            "Multipart/Related; type=\"application/soap+xml\"; Start=\"<a\\\"b@x>\" ;boundary=b-1;";
        let read = MediaType::parse(text).expect("a media type");
        assert!(read.is("multipart/related"));
        assert_eq!(read.parameter("type"), Some("application/soap+xml"));
        assert_eq!(read.parameter("start"), Some("<a\"b@x>"));
        assert_eq!(read.parameter("boundary"), Some("b-1"));
        assert_eq!(read.parameter("charset"), None);
    }

    #[test]
    fn a_value_beside_the_grammar_has_no_reading() {
        for text in [
            "",
            "text",
            "/xml",
            "text/",
            "text/xml/x",
            "text/xml;",
            "text/xml; charset",
            "text/xml; charset=",
            "text/xml; charset=a b",
            "text/xml; charset=\"a",
            "text/xml; charset=\"a\" x",
            "text/xml; a=1; A=2",
            "text/xml (a remark)",
            "text/xml; type=application/soap+xml",
        ] {
            assert_eq!(MediaType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_number_of_parameters_is_bounded() {
        let with = |count: usize| {
            let parameters = (0..count).map(|number| format!("; p{number}=1"));
            MediaType::parse(&format!("text/xml{}", parameters.collect::<String>()))
        };
        assert!(with(32).is_some());
        assert_eq!(with(33), None);
    }
}
