//! `wst:UseKey` (WS-Trust 1.4, 9.2): the public key that a token is to name.
//!
//! The one rule: a key is read here, and its possession is proven elsewhere. Every client
//! can write a foreign certificate into a request.

use soapstone_crypto::{Certificate, PublicKey, base64};
use soapstone_wss::names::{DS, WSSE};
use soapstone_xml::Element;
use soapstone_xmlsec::keyinfo::{
    KeyInfoError, KeySource, KeyValue, X509Data, der_encoded_key_value, sources,
};

use super::read::{MessageError, only_child};

/// Most children of a `ds:KeyInfo` and of a `ds:X509Data`.
const SOURCES_LIMIT: usize = 8;

/// Longest certificate in base64, bytes: chains of the vectors have certificates below 4 kB.
const LONGEST_CERTIFICATE: usize = 64 * 1024;

/// Reads the one key inside `wst:UseKey`.
pub(super) fn read(element: Element<'_>) -> Result<PublicKey, MessageError> {
    let expected = "one `ds:KeyInfo`, certificate or reference to one";
    let inside = only_child(element, expected)?;
    let unreadable = || MessageError::value(element, "one public key", None);
    if inside.is(DS, "KeyInfo") {
        let found = sources(inside, SOURCES_LIMIT).map_err(|_| unreadable())?;
        let mut keys = Vec::with_capacity(found.len());
        for source in found {
            keys.push(
                key_of(inside, &source)
                    .ok()
                    .flatten()
                    .ok_or_else(unreadable)?,
            );
        }
        let first = keys.first().cloned().ok_or_else(unreadable)?;
        return match keys.iter().all(|other| *other == first) {
            true => Ok(first),
            false => Err(unreadable()),
        };
    }
    let token = match inside.is(WSSE, "SecurityTokenReference") {
        true => referred(inside)?.ok_or_else(unreadable)?,
        false => inside,
    };
    if !token.is(WSSE, "BinarySecurityToken") {
        return Err(MessageError::unexpected(expected, token));
    }
    certificate(token)
        .map(|certificate| certificate.public_key().clone())
        .ok_or_else(unreadable)
}

fn key_of(info: Element<'_>, source: &KeySource) -> Result<Option<PublicKey>, KeyInfoError> {
    let document = info.document();
    Ok(match source {
        KeySource::X509Data(node) => {
            let data = X509Data::parse(document.element(*node), SOURCES_LIMIT)?;
            // The holder's own comes first; the others lead to an authority.
            let first = data.certificates.first();
            first.map(|certificate| certificate.public_key().clone())
        }
        KeySource::KeyValue(node) => {
            KeyValue::parse(document.element(*node))?.map(KeyValue::into_public_key)
        }
        KeySource::DerEncodedKeyValue(node) => {
            Some(der_encoded_key_value(document.element(*node))?)
        }
        _ => None,
    })
}

/// The token of this message that a reference names by its id.
fn referred(reference: Element<'_>) -> Result<Option<Element<'_>>, MessageError> {
    let inside = only_child(reference, "one `wsse:Reference`")?;
    if !inside.is(WSSE, "Reference") {
        return Err(MessageError::unexpected("one `wsse:Reference`", inside));
    }
    let document = inside.document();
    let uri = inside.attribute("", "URI");
    let id = uri.as_deref().and_then(|uri| uri.strip_prefix('#'));
    let node = id.and_then(|id| document.by_id(id).ok().flatten());
    Ok(node.map(|node| document.element(node)))
}

fn certificate(token: Element<'_>) -> Option<Certificate> {
    let text = token.text_strict()?;
    if text.len() > LONGEST_CERTIFICATE {
        return None;
    }
    let mut der = Vec::with_capacity(text.len());
    base64::decode_xml(text.as_bytes(), &mut der).ok()?;
    Certificate::from_der(&der).ok()
}
