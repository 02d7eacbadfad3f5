//! Canonical escaping (C14N 1.0 section 2.3) for generated XML.
//!
//! The rule: what is written through these functions is already in canonical form.

/// Appends character data: `&`, `<`, `>` and CR become references.
pub fn text(text: &str, output: &mut Vec<u8>) {
    escape(text.as_bytes(), output, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}

/// Appends an attribute value, without its quotes: `&`, `<`, `"`, TAB, LF and CR become references.
pub fn attribute(value: &str, output: &mut Vec<u8>) {
    escape(value.as_bytes(), output, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#x9;"),
        b'\n' => Some("&#xA;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}

#[inline]
fn escape(bytes: &[u8], output: &mut Vec<u8>, reference: impl Fn(u8) -> Option<&'static str>) {
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if let Some(reference) = reference(byte) {
            output.extend_from_slice(&bytes[copied..at]);
            output.extend_from_slice(reference.as_bytes());
            copied = at + 1;
        }
    }
    output.extend_from_slice(&bytes[copied..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_escapes_what_c14n_names_and_nothing_else() {
        let mut output = Vec::new();
        text("a&b<c>d\re\"f\t\n", &mut output);
        assert_eq!(output, b"a&amp;b&lt;c&gt;d&#xD;e\"f\t\n");
    }

    #[test]
    fn attribute_values_escape_what_c14n_names_and_nothing_else() {
        let mut output = Vec::new();
        attribute("a&b<c>d\re\"f\t\n'", &mut output);
        assert_eq!(output, b"a&amp;b&lt;c>d&#xD;e&quot;f&#x9;&#xA;'");
    }
}
