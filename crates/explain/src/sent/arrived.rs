//! What was signed, held against what arrived, byte for byte.
//!
//! The rule kept here: the bytes of both sides are compared, and nothing is guessed. Of what the
//! message has encrypted no byte is told.

use serde_json::Value;

use super::{reference_file, signed_info_file};
use crate::model::{Arrived, Explanation, SignatureFound};
use crate::reference::ends;

/// Bytes that are shown from the first one that differs on, and before it.
const SHOWN: usize = 60;
const BEFORE: usize = 20;

/// Told where nothing can be compared without the receiver's key.
const CIPHER_TEXT: &str = "not compared, as it holds cipher text that no key opens, or is it";

/// Compares what [`Sent`](super::Sent) wrote of a message, as JSON and as files, with a message
/// that arrived and was explained with its [`dumps`](Explanation::dumps). `file` reads one of the
/// files.
#[must_use]
pub fn compare(
    sent: &Value,
    file: &dyn Fn(&str) -> Option<Vec<u8>>,
    told: &Explanation,
) -> Vec<Arrived> {
    let headers = list(sent, "headers").iter();
    let mut signatures: Vec<&Value> = headers.flat_map(|one| list(one, "signatures")).collect();
    signatures.sort_by_key(|one| one["number"].as_u64());
    let mut compared = Vec::new();
    if signatures.is_empty() {
        compared.push(Arrived {
            place: "the message".to_owned(),
            same: Some(told.signatures.is_empty()),
            says: "nothing was signed when it was sent".to_owned(),
        });
    }
    for (at, signature) in signatures.iter().enumerate() {
        let number = at + 1;
        let place = format!("signature {number}");
        let id = signature["id"].as_str();
        let mut arrived = told.signatures.iter().zip(1..);
        let Some((found, as_number)) = arrived.find(|(one, _)| one.id.as_deref() == id) else {
            let (same, says) = match is_secret(signature) && told.holds_cipher_text() {
                true => (None, CIPHER_TEXT),
                false => (Some(false), "it did not arrive"),
            };
            let says = says.to_owned();
            compared.push(Arrived { place, same, says });
            continue;
        };
        let sides = Sides {
            sent: file(&signed_info_file(number)),
            arrived: dumped(told, &signed_info_file(as_number)),
            is_secret: is_secret(signature),
            may_be_cipher_text: false,
        };
        compared.push(sides.compare(format!("{place}, ds:SignedInfo")));
        for (at, reference) in list(signature, "references").iter().enumerate() {
            let number = (number, as_number);
            compared.push(compare_reference(
                number,
                (at, reference),
                found,
                file,
                told,
            ));
        }
    }
    compared
}

/// Compares the reference at a place of a signature, of which the numbers of both sides are given.
fn compare_reference(
    (number, as_number): (usize, usize),
    (at, sent): (usize, &Value),
    found: &SignatureFound,
    file: &dyn Fn(&str) -> Option<Vec<u8>>,
    told: &Explanation,
) -> Arrived {
    let text = |field: &str| sent[field].as_str().unwrap_or_default();
    let (uri, element) = (text("uri"), text("element"));
    // That of a reference that is encrypted itself is not told.
    let is_nameless = uri.is_empty() && is_secret(sent);
    let (place, arrived) = match is_nameless {
        true => (
            format!("signature {number}, reference {} (`{element}`)", at + 1),
            Some(at).filter(|at| *at < found.references.len()),
        ),
        false => (
            format!("signature {number}, reference `{uri}` (`{element}`)"),
            found.references.iter().position(|one| one.uri == uri),
        ),
    };
    let Some(as_at) = arrived else {
        return Arrived {
            place,
            same: Some(false),
            says: "the signature that arrived has no such reference".to_owned(),
        };
    };
    let sides = Sides {
        sent: file(&reference_file(number, at + 1)),
        arrived: dumped(told, &reference_file(as_number, as_at + 1)),
        is_secret: is_secret(sent),
        may_be_cipher_text: is_secret(sent) && told.holds_cipher_text(),
    };
    let is_attachment = uri.starts_with("cid:");
    let mut compared = sides.among(is_attachment).compare(place);
    let digest = text("digest");
    let expected = &found.references[as_at].expected;
    if !digest.is_empty() && digest != expected {
        compared.same = Some(false);
        compared.says += &format!("; the digest that was sent is {digest}, and {expected} arrived");
    }
    compared
}

/// Bytes as they were sent and as they arrived.
struct Sides {
    sent: Option<Vec<u8>>,
    arrived: Option<Vec<u8>>,
    /// Whether only the receiver may read them.
    is_secret: bool,
    /// Whether cipher text may stand in the place of what was sent.
    may_be_cipher_text: bool,
}

impl Sides {
    /// Cipher text of an element says that it is. That of an attachment is any bytes.
    fn among(mut self, is_attachment: bool) -> Self {
        if let (Some(sent), Some(arrived)) = (&self.sent, &self.arrived) {
            let is_more = || cipher_texts(arrived) > cipher_texts(sent);
            self.may_be_cipher_text &= is_attachment || is_more();
        }
        self
    }

    fn compare(self, place: String) -> Arrived {
        let (same, says) = match (&self.sent, &self.arrived) {
            (Some(sent), Some(arrived)) if sent == arrived => {
                let says = format!("all {} bytes are those that were signed", sent.len());
                (Some(true), says)
            }
            (Some(_), _) if self.may_be_cipher_text => (None, CIPHER_TEXT.to_owned()),
            (Some(sent), Some(arrived)) => (Some(false), self.first_difference(sent, arrived)),
            (None, _) => (
                Some(false),
                "the folder has no file of its bytes".to_owned(),
            ),
            (_, None) => (
                Some(false),
                "its bytes are not there: it leads to nothing".to_owned(),
            ),
        };
        Arrived { place, same, says }
    }

    /// Tells the first byte that differs, with those around it where anybody may read them.
    fn first_difference(&self, sent: &[u8], arrived: &[u8]) -> String {
        let mut pairs = sent.iter().zip(arrived);
        let first = pairs.position(|(one, other)| one != other);
        let first = first.unwrap_or_else(|| sent.len().min(arrived.len()));
        let (signed, came) = (sent.len(), arrived.len());
        let mut says = format!(
            "{signed} bytes were signed and {came} arrived; the first one that differs is byte {}",
            first + 1
        );
        says += &match self.is_secret {
            true => ", and none is shown, as the message has them encrypted".to_owned(),
            false => format!(
                ": sent `{}`, arrived `{}`",
                around(sent, first),
                around(arrived, first)
            ),
        };
        says
    }
}

impl Explanation {
    /// Whether the message has cipher text that no key opened.
    fn holds_cipher_text(&self) -> bool {
        let mut encryption = self.encryption.iter();
        encryption.any(|one| one.kind == "EncryptedData" && !one.opened)
    }
}

/// Whether only the receiver may read it. What does not say so is not shown.
fn is_secret(sent: &Value) -> bool {
    sent["secret"].as_bool().unwrap_or(true)
}

/// How many elements of canonical XML are cipher text: each `<` begins a tag.
fn cipher_texts(canonical: &[u8]) -> usize {
    let tags = canonical.split(|byte| *byte == b'<').skip(1);
    let starts = tags.filter(|tag| !tag.starts_with(b"/"));
    let name = |tag: &[u8]| -> bool {
        let end = tag.iter().position(|byte| matches!(byte, b' ' | b'>'));
        let name = &tag[..end.unwrap_or(tag.len())];
        name.rsplit(|byte| *byte == b':').next() == Some(b"EncryptedData")
    };
    starts.filter(|tag| name(tag)).count()
}

/// The bytes around a place, as text.
fn around(bytes: &[u8], place: usize) -> String {
    let end = bytes.len().min(place + SHOWN);
    ends(&bytes[place.saturating_sub(BEFORE)..end]).0
}

fn dumped(told: &Explanation, name: &str) -> Option<Vec<u8>> {
    let mut dumps = told.dumps.iter();
    dumps
        .find(|(one, _)| one == name)
        .map(|(_, bytes)| bytes.clone())
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(sent: &str, arrived: &str, is_secret: bool, may_be_cipher_text: bool) -> Arrived {
        let sides = Sides {
            sent: Some(sent.into()),
            arrived: Some(arrived.into()),
            is_secret,
            may_be_cipher_text,
        };
        sides.among(false).compare("here".to_owned())
    }

    #[test]
    fn no_byte_is_shown_of_what_only_the_receiver_may_read() {
        let (sent, arrived) = ("<a>tajne one</a>", "<a>tajne two</a>");
        let told = compared(sent, arrived, false, false);
        assert_eq!(told.same, Some(false));
        assert!(told.says.contains("tajne one"), "{}", told.says);
        let told = compared(sent, arrived, true, false);
        assert_eq!(told.same, Some(false));
        assert!(!told.says.contains("tajne"), "{}", told.says);
        let place = "16 bytes were signed and 16 arrived; the first one that differs is byte 10,";
        assert!(told.says.starts_with(place), "{}", told.says);
    }

    #[test]
    fn cipher_text_that_no_key_opens_is_no_difference() {
        let cipher = "<a><x:EncryptedData xmlns:x=\"urn:x\"><b></b></x:EncryptedData></a>";
        assert_eq!(cipher_texts(cipher.as_bytes()), 1);
        assert_eq!(cipher_texts(b"<a b=\"EncryptedData\">EncryptedData</a>"), 0);
        assert_eq!(cipher_texts(b"<EncryptedData></EncryptedData>"), 1);
        assert_eq!(compared("<a>one</a>", cipher, true, true).same, None);
        // It was signed as it is, and something else of it was changed.
        let changed = cipher.replace("<b>", "<b>1");
        let told = compared(cipher, &changed, true, true);
        assert_eq!(told.same, Some(false));
        let told = compared("<a>one</a>", "<a>two</a>", true, true);
        assert_eq!(told.same, Some(false));
    }

    #[test]
    fn what_does_not_say_that_anybody_may_read_it_is_not_shown() {
        for (told, expected) in [
            ("{\"secret\":false}", false),
            ("{\"secret\":1}", true),
            ("{}", true),
        ] {
            let told: Value = serde_json::from_str(told).unwrap();
            assert_eq!(is_secret(&told), expected, "{told}");
        }
    }
}
