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
pub(crate) fn compare(confirmed: &[Option<Vec<u8>>], sent: &[Vec<u8>]) -> Result<(), Rejected> {
    if confirmed.is_empty() {
        return Err(Rejected::ConfirmationMissing);
    }
    let unknown = confirmed
        .iter()
        .flatten()
        .any(|value| !sent.contains(value));
    let complete = sent
        .iter()
        .all(|value| confirmed.iter().flatten().any(|found| found == value));
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
        let (one, two) = (vec![1], vec![2]);
        let some = |value: &Vec<u8>| Some(value.clone());
        let sent = [one.clone(), two.clone()];
        assert_eq!(compare(&[some(&two), some(&one)], &sent), Ok(()));
        assert_eq!(compare(&[None], &[]), Ok(()));
        let mismatch = Err(Rejected::ConfirmationMismatch);
        assert_eq!(compare(&[some(&one)], &sent), mismatch);
        assert_eq!(
            compare(&[some(&one), some(&two), some(&vec![3])], &sent),
            mismatch
        );
        assert_eq!(compare(&[None], &sent), mismatch);
        assert_eq!(compare(&[None, some(&one), some(&two)], &sent), mismatch);
        assert_eq!(compare(&[some(&one)], &[]), mismatch);
        assert_eq!(compare(&[], &[]), Err(Rejected::ConfirmationMissing));
    }
}
