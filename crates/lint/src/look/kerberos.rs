//! Kerberos tickets (Kerberos Token Profile 1.1).

use crate::findings::{Findings, quoted};
use crate::message::{Message, Target, Token, token_of};
use crate::names::{KERBEROS, KERBEROS_SHA1};

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for token in &message.binary_tokens {
        if token_of(*token) != Some(Token::Kerberos) {
            continue;
        }
        let value = token.attribute("", "ValueType");
        if value.as_deref() != Some(KERBEROS) {
            findings.add(
                "R6902",
                *token,
                quoted(Some(KERBEROS)),
                quoted(value.as_deref()),
            );
        }
    }
    for reference in &message.references {
        if reference.token != Some(Token::Kerberos) {
            continue;
        }
        let token_type = reference.token_type.as_deref();
        if token_type != Some(KERBEROS) {
            let found = quoted(token_type);
            findings.add("R6907", reference.element, quoted(Some(KERBEROS)), found);
        }
        match reference.key_identifier {
            Some(identifier) => {
                let value = identifier.attribute("", "ValueType");
                let is_known = value
                    .as_deref()
                    .is_some_and(|value| KERBEROS_SHA1.contains(&value));
                if !is_known {
                    let expected = quoted(Some(KERBEROS_SHA1[0]));
                    findings.add("R6906", identifier, expected, quoted(value.as_deref()));
                }
            }
            None if !matches!(reference.target, Target::Inside(_)) => {
                let expected = "a wsse:KeyIdentifier";
                findings.add("R6905", reference.element, expected, "none");
            }
            None => {}
        }
    }
}
