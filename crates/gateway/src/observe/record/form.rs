//! How a refused message is written, and the likely cause that this points to: for the hint of its
//! line in the log.
//!
//! The rule kept here: one pass over the bytes, whatever the reason of the refusal. Nothing is
//! proven; `soapstone explain` proves.

/// How a message is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// White space with a line end between two tags.
    indented: bool,
    /// A carriage return, as a byte or as a reference.
    carriage_return: bool,
    /// UTF-8 that was taken for Latin-1 and encoded once more.
    encoded_twice: bool,
}

impl Form {
    pub(super) fn of(message: &[u8]) -> Self {
        let mut form = Self::default();
        // Since the last tag: nothing, white space, white space with a line end, or text.
        let (mut is_blank, mut has_line_end) = (false, false);
        for (place, byte) in message.iter().enumerate() {
            match byte {
                b'>' => (is_blank, has_line_end) = (true, false),
                b'<' => form.indented |= is_blank && has_line_end,
                b'\n' => has_line_end = true,
                b'\r' => form.carriage_return = true,
                b' ' | b'\t' => {}
                b'&' => {
                    is_blank = false;
                    form.carriage_return |= is_carriage_return(&message[place..]);
                }
                // The UTF-8 of `Ã` or `Â`, and of a character that continues in Latin-1.
                0xC3 => {
                    is_blank = false;
                    let next = message.get(place + 1..place + 4);
                    form.encoded_twice |= matches!(next, Some([0x82..=0x83, 0xC2, 0x80..=0xBF]));
                }
                _ => is_blank = false,
            }
        }
        form
    }

    /// What to look at first, after a refusal with this cause.
    pub(crate) fn hint(self, cause: &str) -> Option<&'static str> {
        if !matches!(cause, "digest-mismatch" | "signature-mismatch") {
            return None;
        }
        Some(match self {
            Self {
                encoded_twice: true,
                ..
            } => {
                "likely: text in UTF-8 was taken for Latin-1 and encoded once more, after it was signed"
            }
            Self {
                carriage_return: true,
                ..
            } => {
                "likely: line ends were written otherwise after the message was signed (it has carriage returns)"
            }
            Self { indented: true, .. } => {
                "likely: a proxy or a logger indented the message after it was signed (it has line ends between tags)"
            }
            _ => return None,
        })
    }
}

fn is_carriage_return(rest: &[u8]) -> bool {
    let references: [&[u8]; 3] = [b"&#xD;", b"&#xd;", b"&#13;"];
    references
        .iter()
        .any(|reference| rest.starts_with(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(message: &str) -> Option<&'static str> {
        Form::of(message.as_bytes()).hint("digest-mismatch")
    }

    #[test]
    fn the_form_points_to_a_likely_cause() {
        let begins = |message: &str, with: &str| {
            let hint = hint(message).expect("a hint");
            assert!(hint.contains(with), "{hint}");
        };
        begins("<a>\n  <b/></a>", "indented");
        begins("<a>x&#13;</a>", "line ends");
        begins("<a>x\r\n</a>", "line ends");
        begins("<a>ZÃ¼rich</a>", "Latin-1");
        assert_eq!(hint("<a><b>x\ny</b> <c>Zürich Ã</c></a>"), None);
    }

    #[test]
    fn other_refusals_have_their_own_hints() {
        let form = Form::of(b"<a>\n<b/></a>");
        assert_eq!(form.hint("timestamp-expired"), None);
        assert_eq!(form.hint("decryption-failed"), None);
    }
}
