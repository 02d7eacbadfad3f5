//! What was signed, held against what arrived, byte for byte.
//!
//! The rule kept here: the bytes of both sides are compared, and nothing is guessed.

use serde_json::Value;

use super::{reference_file, signed_info_file};
use crate::model::{Arrived, Explanation, SignatureFound};
use crate::reference::ends;

/// Bytes that are shown from the first one that differs on, and before it.
const SHOWN: usize = 60;
const BEFORE: usize = 20;

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
            same: false,
            says: "nothing was signed when it was sent".to_owned(),
        });
    }
    for (at, signature) in signatures.iter().enumerate() {
        let number = at + 1;
        let place = format!("signature {number}");
        let id = signature["id"].as_str();
        let mut arrived = told.signatures.iter().zip(1..);
        let Some((found, as_number)) = arrived.find(|(one, _)| one.id.as_deref() == id) else {
            compared.push(Arrived {
                place,
                same: false,
                says: "it did not arrive, or it is still encrypted".to_owned(),
            });
            continue;
        };
        let bytes = (
            file(&signed_info_file(number)),
            dumped(told, &signed_info_file(as_number)),
        );
        compared.push(bytewise(format!("{place}, ds:SignedInfo"), bytes));
        for (at, reference) in list(signature, "references").iter().enumerate() {
            let sent = file(&reference_file(number, at + 1));
            let arrived = |at: usize| dumped(told, &reference_file(as_number, at));
            compared.push(compare_reference(
                &place,
                (reference, sent),
                found,
                &arrived,
            ));
        }
    }
    compared
}

fn compare_reference(
    signature: &str,
    (sent, bytes): (&Value, Option<Vec<u8>>),
    found: &SignatureFound,
    arrived: &dyn Fn(usize) -> Option<Vec<u8>>,
) -> Arrived {
    let text = |field: &str| sent[field].as_str().unwrap_or_default();
    let (uri, element) = (text("uri"), text("element"));
    let place = format!("{signature}, reference `{uri}` (`{element}`)");
    let Some(at) = found.references.iter().position(|one| one.uri == uri) else {
        let says = "the signature that arrived has no such reference".to_owned();
        return Arrived {
            place,
            same: false,
            says,
        };
    };
    let mut compared = bytewise(place, (bytes, arrived(at + 1)));
    let digest = text("digest");
    let expected = &found.references[at].expected;
    if !digest.is_empty() && digest != expected {
        compared.same = false;
        compared.says += &format!("; the digest that was sent is {digest}, and {expected} arrived");
    }
    compared
}

/// Compares the bytes that were sent with those that arrived.
fn bytewise(place: String, (sent, arrived): (Option<Vec<u8>>, Option<Vec<u8>>)) -> Arrived {
    let (same, says) = match (sent, arrived) {
        (Some(sent), Some(arrived)) if sent == arrived => (
            true,
            format!("all {} bytes are those that were signed", sent.len()),
        ),
        (Some(sent), Some(arrived)) => {
            let mut pairs = sent.iter().zip(&arrived);
            let first = pairs.position(|(one, other)| one != other);
            let first = first.unwrap_or_else(|| sent.len().min(arrived.len()));
            let says = format!(
                "{} bytes were signed and {} arrived; the first one that differs is byte {}: sent `{}`, arrived `{}`",
                sent.len(),
                arrived.len(),
                first + 1,
                around(&sent, first),
                around(&arrived, first)
            );
            (false, says)
        }
        (None, _) => (false, "the folder has no file of its bytes".to_owned()),
        (_, None) => (
            false,
            "its bytes are not there: it leads to nothing, or to cipher text that no key opens"
                .to_owned(),
        ),
    };
    Arrived { place, same, says }
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
