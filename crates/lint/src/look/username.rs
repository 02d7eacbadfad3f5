//! Username tokens (UsernameToken Profile 1.1).

use std::collections::HashSet;

use crate::element::Element;
use soapstone_crypto::base64;

use crate::findings::{Findings, quoted};
use crate::message::{Message, Target, Token};
use crate::names::{BASE64, DS, PASSWORD_DIGEST, USERNAME_TOKEN, WSSE, WSSE11, WSU, XENC};

/// Iterations below which a derived key is guessed too cheaply.
const FEWEST_ITERATIONS: u64 = 1000;

/// Bytes of a SHA-1.
const SHA1: usize = 20;

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for token in &message.usernames {
        look_at(*token, findings);
    }
    // Each token is judged once, at the first reference that derives a key from it.
    let mut derived = HashSet::new();
    for reference in &message.references {
        if reference.token != Some(Token::Username) {
            continue;
        }
        if let Some(direct) = reference.direct {
            let value = direct.attribute("", "ValueType");
            if value.as_deref() != Some(USERNAME_TOKEN) {
                let found = quoted(value.as_deref());
                findings.add("R4214", direct, quoted(Some(USERNAME_TOKEN)), found);
            }
        }
        if let Some(identifier) = reference.key_identifier {
            let found = "wsse:KeyIdentifier";
            findings.add("R4215", identifier, "a wsse:Reference", found);
        }
        if let Target::Inside(token) = reference.target
            && derives_a_key(reference.element)
            && derived.insert(token.id())
        {
            look_at_derivation(token, findings);
        }
    }
}

fn look_at(token: Element<'_>, findings: &mut Findings) {
    for (namespace, local, rule) in [
        (WSSE, "Password", "R4222"),
        (WSU, "Created", "R4223"),
        (WSSE, "Nonce", "R4225"),
    ] {
        let mut named = token.children().filter(|child| child.is(namespace, local));
        if let (Some(_), Some(second)) = (named.next(), named.next()) {
            findings.add(rule, second, format!("one {local} at most"), "a second one");
        }
    }
    for child in token.children() {
        if child.is(WSSE, "Password") {
            look_at_password(child, findings);
        } else if child.is(WSSE, "Nonce") {
            match child.attribute("", "EncodingType") {
                None => findings.add("R4220", child, "an EncodingType", "none"),
                Some(encoding) if encoding != BASE64 => {
                    findings.add(
                        "R4221",
                        child,
                        quoted(Some(BASE64)),
                        quoted(Some(&encoding)),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

fn look_at_password(password: Element<'_>, findings: &mut Findings) {
    match password.attribute("", "Type").as_deref() {
        None => findings.add("R4201", password, "a Type", "none"),
        Some(PASSWORD_DIGEST) => {
            // What it is, and not the value: a digest of a weak password gives the password away.
            let found = match base64::decode_xml_to_vec(password.text().as_bytes()) {
                Ok(digest) if digest.len() == SHA1 => return,
                Ok(digest) => format!("{} bytes", digest.len()),
                Err(_) => "no base64".to_owned(),
            };
            findings.add("R4212", password, "a SHA-1 of 20 bytes in base64", found);
        }
        Some(_) => {}
    }
}

/// Whether a key is derived from the token that a reference in a signature or an encrypted key
/// names.
fn derives_a_key(reference: Element<'_>) -> bool {
    let in_key_info = reference.parent().filter(|parent| parent.is(DS, "KeyInfo"));
    let user = in_key_info.and_then(|key_info| key_info.parent());
    user.is_some_and(|user| user.is(DS, "Signature") || user.is(XENC, "EncryptedKey"))
}

fn look_at_derivation(token: Element<'_>, findings: &mut Findings) {
    if token.child(WSSE11, "Salt").is_none() {
        findings.add("R4217", token, "a wsse11:Salt", "none");
    }
    let iteration = token.child(WSSE11, "Iteration");
    let text = iteration.map(|iteration| iteration.text());
    let count = text
        .as_deref()
        .and_then(|text| text.trim().parse::<u64>().ok());
    if count.is_none_or(|count| count < FEWEST_ITERATIONS) {
        let expected = "a wsse11:Iteration of 1000 or more";
        findings.add("R4218", token, expected, quoted(text.as_deref()));
    }
}
