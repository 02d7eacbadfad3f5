//! Characters and names of XML 1.0, 5th edition: a seam, too, for readers of more than the scanner
//! reads.
//!
//! The rule: productions are written as the specification writes them; speed comes from asking only
//! where it matters.

/// Production 2, `Char`.
#[must_use]
pub fn is_char(c: char) -> bool {
    matches!(c, '\u{9}' | '\u{A}' | '\u{D}' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

/// Production 4, `NameStartChar`, without the colon.
#[must_use]
pub fn is_name_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | 'a'..='z' | '_'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}'
        | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// Production 4a, `NameChar`, without the colon.
#[must_use]
pub fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// Production 3, `S`, of one byte.
#[inline]
#[must_use]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const NAME_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.';
        byte += 1;
    }
    table
};

/// The end of the NCName that starts at `start`, or `None` if there is none.
#[inline]
#[must_use]
pub fn ncname_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = *bytes.get(start)?;
    let mut at = start;
    if first.is_ascii_alphabetic() || first == b'_' {
        at += 1;
    } else {
        let c = text.get(start..)?.chars().next()?;
        if c.is_ascii() || !is_name_start(c) {
            return None;
        }
        at += c.len_utf8();
    }
    loop {
        while at < bytes.len() && NAME_BYTE[bytes[at] as usize] {
            at += 1;
        }
        if at == bytes.len() || bytes[at].is_ascii() {
            return Some(at);
        }
        match text[at..].chars().next() {
            Some(c) if is_name_char(c) => at += c.len_utf8(),
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_where_the_production_ends() {
        assert_eq!(ncname_end("abc-d.e1_ x", 0), Some(9));
        assert_eq!(ncname_end("ns:local", 0), Some(2));
        assert_eq!(ncname_end("élan>", 0), Some(5));
        assert_eq!(ncname_end("a\u{300}b×", 0), Some(4));
        assert_eq!(ncname_end("-a", 0), None);
        assert_eq!(ncname_end("1a", 0), None);
        assert_eq!(ncname_end("×", 0), None);
        assert_eq!(ncname_end("", 0), None);
        assert_eq!(ncname_end("\u{10000}", 0), Some(4));
    }
}
