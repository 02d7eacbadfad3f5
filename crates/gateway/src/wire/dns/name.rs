//! Names as messages of DNS have them (RFC 1035, section 4.1.4).
//!
//! The rule kept here: each name has an end, for a pointer leads backwards, and a turn without a
//! pointer makes the name longer.

use crate::config::dns_name::{DnsName, LONGEST, is_character};

/// Reads the name at that place of a message, and moves the place behind it. `None` where there is
/// no name.
pub(super) fn read(message: &[u8], at: &mut usize) -> Option<DnsName> {
    let mut text = String::new();
    let mut place = *at;
    let mut behind = None;
    loop {
        let length = *message.get(place)?;
        match length {
            0 => {
                *at = behind.unwrap_or(place + 1);
                return match text.is_empty() {
                    true => Some(DnsName::root()),
                    false => DnsName::parse(&text),
                };
            }
            1..=63 => {
                let begin = place + 1;
                place = begin + usize::from(length);
                let label = message.get(begin..place)?;
                if !label.iter().copied().all(is_character) {
                    return None;
                }
                if !text.is_empty() {
                    text.push('.');
                }
                text.extend(label.iter().copied().map(char::from));
                if text.len() > LONGEST {
                    return None;
                }
            }
            192..=255 => {
                let low = *message.get(place + 1)?;
                let target = usize::from(length & 0x3F) << 8 | usize::from(low);
                if target >= place {
                    return None;
                }
                behind.get_or_insert(place + 2);
                place = target;
            }
            _ => return None,
        }
    }
}

/// Appends a name to a message.
pub(super) fn write(name: &DnsName, message: &mut Vec<u8>) {
    for label in name.labels() {
        // A label has 63 bytes at most.
        message.push(u8::try_from(label.len()).unwrap_or(63));
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &[u8], mut at: usize) -> Option<(String, usize)> {
        let name = read(message, &mut at)?;
        Some((name.to_string(), at))
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let name = DnsName::parse("_Books._tcp.Example.com.").expect("a name");
        assert_eq!(name.to_string(), "_books._tcp.example.com");
        let mut message = vec![7, 7];
        write(&name, &mut message);
        let end = message.len();
        assert_eq!(text(&message, 2), Some((name.to_string(), end)));
    }

    /// What a label may not hold, what never ends, what goes beyond the message (RFC 9267, section
    /// 2).
    #[test]
    fn what_is_no_name_is_none() {
        // "a" at 0, then a pointer to it.
        let pointed = [1, b'a', 0, 1, b'B', 192, 0];
        assert_eq!(text(&pointed, 3), Some(("b.a".to_owned(), 7)));
        for (wrong, at) in [
            // To itself, forwards, and beyond the end.
            (&[192, 0][..], 0),
            (&[192, 2, 1, b'a', 0], 0),
            (&[1, b'a', 192, 9], 0),
            // In a ring with a label in it: each turn makes the name longer.
            (&[1, b'a', 192, 0], 0),
            // Characters that steer a terminal, and a dot within a label.
            (&[1, 27, 0], 0),
            (&[1, b'.', 0], 0),
            // Cut off, and of a kind that nobody uses.
            (&[3, b'a', b'b'], 0),
            (&[1, b'a'], 0),
            (&[64, b'a', 0], 0),
            (&[192], 0),
        ] {
            assert_eq!(text(wrong, at), None, "{wrong:?}");
        }
    }
}
