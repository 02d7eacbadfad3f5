//! Signature confirmation: an answer repeats the signature values of its request, so that the
//! client knows which request was seen (SOAP Message Security 1.1.1, 8.5).

use soapstone_crypto::base64;
use soapstone_xml::Element;

use crate::names::{WSSE11, WSU};
use crate::rejected::Rejected;

/// One `wsse11:SignatureConfirmation` for each value; one without a value where the request was not
/// signed.
pub(crate) fn write(id: &str, values: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let element = |index: usize, value: Option<&[u8]>| {
        let mut out =
            format!("<wsse11:SignatureConfirmation xmlns:wsse11=\"{WSSE11}\" xmlns:wsu=\"{WSU}\"")
                .into_bytes();
        if let Some(value) = value {
            out.extend_from_slice(b" Value=\"");
            base64::encode_into(value, &mut out);
            out.push(b'"');
        }
        out.extend_from_slice(
            format!(" wsu:Id=\"{id}-confirm-{index}\"></wsse11:SignatureConfirmation>").as_bytes(),
        );
        out
    };
    if values.is_empty() {
        return vec![element(0, None)];
    }
    values
        .iter()
        .enumerate()
        .map(|(index, value)| element(index, Some(value)))
        .collect()
}

/// The value that an element confirms; `None` where it says that the request had no signature.
pub(crate) fn read(element: Element<'_>) -> Result<Option<Vec<u8>>, Rejected> {
    let Some(value) = element.attribute("", "Value") else {
        return Ok(None);
    };
    let mut octets = Vec::new();
    base64::decode_xml(value.as_bytes(), &mut octets).map_err(|_| Rejected::Malformed {
        element: "wsse11:SignatureConfirmation",
        problem: "expected base64 in `Value`".to_owned(),
    })?;
    Ok(Some(octets))
}

/// Compares what an answer confirms with what the request was signed with: all of it, and nothing
/// else.
pub(crate) fn compare(confirmed: &[Option<&[u8]>], sent: &[Vec<u8>]) -> Result<(), Rejected> {
    if confirmed.is_empty() {
        return Err(Rejected::ConfirmationMissing);
    }
    let unknown = confirmed
        .iter()
        .flatten()
        .any(|value| !sent.iter().any(|one| one == value));
    let complete = sent
        .iter()
        .all(|value| confirmed.iter().flatten().any(|found| value == found));
    let unsigned = confirmed.contains(&None);
    if unknown || !complete || (unsigned && (confirmed.len() > 1 || !sent.is_empty())) {
        return Err(Rejected::ConfirmationMismatch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_of_the_request_is_confirmed_and_no_other() {
        let (one, two, three) = (Some(&[1_u8][..]), Some(&[2_u8][..]), Some(&[3_u8][..]));
        let sent = [vec![1], vec![2]];
        assert_eq!(compare(&[two, one], &sent), Ok(()));
        assert_eq!(compare(&[None], &[]), Ok(()));
        let mismatch = Err(Rejected::ConfirmationMismatch);
        assert_eq!(compare(&[one], &sent), mismatch);
        assert_eq!(compare(&[one, two, three], &sent), mismatch);
        assert_eq!(compare(&[None], &sent), mismatch);
        assert_eq!(compare(&[None, one, two], &sent), mismatch);
        assert_eq!(compare(&[one], &[]), mismatch);
        assert_eq!(compare(&[], &[]), Err(Rejected::ConfirmationMissing));
    }
}
