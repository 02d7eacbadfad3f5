//! Binary tokens (WSS 1.1.1, 6.3).

use crate::findings::{Findings, quoted};
use crate::message::{Message, token_named};
use crate::names::BASE64;

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for token in &message.binary_tokens {
        match token.attribute("", "EncodingType") {
            None => findings.add("R3029", *token, "an EncodingType", "none"),
            Some(encoding) if encoding != BASE64 => {
                findings.add(
                    "R3030",
                    *token,
                    quoted(Some(BASE64)),
                    quoted(Some(&encoding)),
                );
            }
            Some(_) => {}
        }
        match token.attribute("", "ValueType") {
            None => findings.add("R3031", *token, "a ValueType", "none"),
            Some(value) if token_named(&value).is_none() => {
                let expected = "a ValueType of a token profile";
                findings.add("R3032", *token, expected, quoted(Some(&value)));
            }
            Some(_) => {}
        }
    }
}
