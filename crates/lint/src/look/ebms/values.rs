//! The forms of values in headers of ebMS: ids of messages and URIs.

/// Whether a text is a `msg-id` of RFC 2822 (3.6.4) without its angle brackets.
pub(super) fn is_message_id(text: &str) -> bool {
    // A quoted left side may hold an @; a literal right side may not.
    let Some((left, right)) = text.rsplit_once('@') else {
        return false;
    };
    let left = is_dot_atom(left) || is_enclosed(left, '"', '"');
    left && (is_dot_atom(right) || is_enclosed(right, '[', ']'))
}

/// Whether a text is a `dot-atom-text` of RFC 2822 (3.2.4).
fn is_dot_atom(text: &str) -> bool {
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    text.split('.')
        .all(|atom| !atom.is_empty() && atom.bytes().all(is_atom))
}

/// Whether a text is a `no-fold-quote` or a `no-fold-literal` of RFC 2822 (3.6.4).
fn is_enclosed(text: &str, open: char, close: char) -> bool {
    let inner = text
        .strip_prefix(open)
        .and_then(|inner| inner.strip_suffix(close));
    let Some(inner) = inner else {
        return false;
    };
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        let is_plain = character.is_ascii_graphic() && character != open && character != close;
        match character {
            '\\' if characters.next().is_some_and(|next| next.is_ascii()) => {}
            '\\' => return false,
            _ if is_plain => {}
            _ => return false,
        }
    }
    true
}

/// Whether a text has the form of a URI (RFC 3986, 3): a scheme, and characters that may follow.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.bytes();
    let is_scheme = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let may_follow = |byte: u8| byte.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&byte);
    is_scheme && !rest.is_empty() && rest.bytes().all(may_follow)
}

/// The bytes of a text with its percent signs undone (RFC 3986, 2.1).
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match digits {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{is_message_id, is_uri, unescaped};

    #[test]
    fn ids_of_messages_have_two_parts() {
        for id in [
            "6f1a@sender.example",
            "UUID-1@sender.example.com",
            "a.b+c@x",
            "\"a@b\"@x",
            "\"a\\\"b\"@x",
            "a@[127.0.0.1]",
        ] {
            assert!(is_message_id(id), "{id}");
        }
        for id in [
            "",
            "6f1a",
            "@x",
            "a@",
            "a b@x",
            "a@b@c",
            ".a@x",
            "a.@x",
            "a..b@x",
            "<a@x>",
            "ä@x",
            "\"a@x",
            "\"\\\"@x",
            "\"a\\ä\"@x",
            "a@[b",
        ] {
            assert!(!is_message_id(id), "{id}");
        }
    }

    #[test]
    fn uris_have_a_scheme() {
        for uri in ["http://x.example/a#b", "urn:a", "uri:x.example", "cid:a@b"] {
            assert!(is_uri(uri), "{uri}");
        }
        for text in [
            "",
            "a",
            "x.example",
            ":a",
            "1a:b",
            "urn:",
            "urn:a b",
            "a_b:c",
            "urn:<a>",
        ] {
            assert!(!is_uri(text), "{text}");
        }
    }

    #[test]
    fn percent_signs_are_undone_where_two_digits_follow() {
        assert_eq!(unescaped("a%2Bb%4"), b"a+b%4");
        assert_eq!(unescaped("%zz%+1%"), b"%zz%+1%");
    }
}
