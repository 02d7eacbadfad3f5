//! Signatures over the token that a `wsse:SecurityTokenReference` means, where the message does not
//! have the token (SOAP Message Security 1.1.1, 8.3).

use std::sync::Arc;

use soapstone_crypto::{Certificate, KeyKind, TrustStore, base64};
use soapstone_wss::names::{
    BASE64_BINARY, DS, STR_TRANSFORM, THUMBPRINT_SHA1, WSSE, WSU, X509_SKI, X509_V3,
};
use soapstone_wss::{KeyReference, Keys, Mechanism, Part, Policy, Rejected};
use soapstone_xml::Canonicalization;

use crate::endorsers::signed_anew;
use crate::support::Adjust as _;
use crate::support::*;

const ID: &str = "str";

/// Messages that carry no token.
fn sign() -> Policy {
    with(&policy(Mechanism::Sign, "Basic128GCM"), |policy| {
        policy.name_signing_key(KeyReference::IssuerSerial);
    })
}

fn client() -> &'static Certificate {
    PARTIES.client.certificate()
}

fn key_identifier(value_type: &str, octets: &[u8]) -> String {
    let value = base64::encode(octets);
    format!(
        "<wsse:KeyIdentifier EncodingType=\"{BASE64_BINARY}\" ValueType=\"{value_type}\">{value}</wsse:KeyIdentifier>"
    )
}

fn thumbprint(certificate: &Certificate) -> String {
    key_identifier(THUMBPRINT_SHA1, &certificate.thumbprint_sha1())
}

fn issuer_serial(certificate: &Certificate) -> String {
    format!(
        "<ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>{}</ds:X509IssuerName>\
         <ds:X509SerialNumber>{}</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>",
        certificate.issuer(),
        certificate.serial_decimal()
    )
}

/// A `SecurityTokenReference` with an id.
fn reference(content: &str) -> String {
    format!(
        "<wsse:SecurityTokenReference xmlns:ds=\"{DS}\" xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\" wsu:Id=\"{ID}\">\
         {content}</wsse:SecurityTokenReference>"
    )
}

/// What is digested in the place of a reference to a certificate.
fn token(certificate: &Certificate) -> String {
    format!(
        "<wsse:BinarySecurityToken xmlns=\"\" xmlns:wsse=\"{WSSE}\" ValueType=\"{X509_V3}\">{}</wsse:BinarySecurityToken>",
        base64::encode(certificate.der())
    )
}

/// A `ds:Reference` to the `SecurityTokenReference`, with the digest of these bytes.
fn signed_reference(digested: &str) -> String {
    let algorithm = sign().suite.digest[0];
    let digest = soapstone_crypto::digest(algorithm, digested.as_bytes()).unwrap();
    format!(
        "<ds:Reference URI=\"#{ID}\"><ds:Transforms><ds:Transform Algorithm=\"{STR_TRANSFORM}\">\
         <wsse:TransformationParameters xmlns:wsse=\"{WSSE}\"><ds:CanonicalizationMethod Algorithm=\"{}\">\
         </ds:CanonicalizationMethod></wsse:TransformationParameters></ds:Transform></ds:Transforms>\
         <ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod><ds:DigestValue>{}</ds:DigestValue></ds:Reference>",
        Canonicalization::Exclusive.uri(),
        algorithm.uri(),
        base64::encode(digest.as_ref())
    )
}

/// The text of the first element of this name, tags included.
fn cut<'m>(message: &'m str, name: &str) -> &'m str {
    let start = message.find(&format!("<{name}")).unwrap();
    let end = format!("</{name}>");
    let length = message[start..].find(&end).unwrap() + end.len();
    &message[start..start + length]
}

/// The message with another `SignedInfo`, signed by the client.
fn signing(message: &str, change: impl FnOnce(&str) -> String) -> String {
    let signature = cut(message, "ds:Signature");
    let signed = signed_anew(signature, change, |octets| {
        let key = PARTIES.client.key();
        key.sign(sign().suite.signature[0], octets).unwrap()
    });
    message.replacen(signature, &signed, 1)
}

/// The message with one more reference in its signature.
fn covering(message: &str, digested: &str) -> String {
    let end = "</ds:Reference>";
    signing(message, |info| {
        info.replacen(end, &format!("{end}{}", signed_reference(digested)), 1)
    })
}

/// A message whose signature names its key with `named`, and covers the token that this means.
fn naming(policy: &Policy, named: &str, digested: &str) -> String {
    let message = secure(policy, PLAIN);
    let info = cut(&message, "ds:KeyInfo");
    let named = format!("<ds:KeyInfo>{named}</ds:KeyInfo>");
    covering(&message.replacen(info, &named, 1), digested)
}

/// A message with a reference in its Body, and a signature that covers the token that this means.
fn holding(policy: &Policy, content: &str, digested: &str) -> String {
    let plain = PLAIN.replace("<e:empty/>", &reference(content));
    covering(&secure(policy, &plain), digested)
}

#[track_caller]
fn refuse(policy: &Policy, message: &str) -> Rejected {
    open(policy, message).unwrap_err()
}

#[track_caller]
fn refuse_with(keys: Keys, message: &str) -> Rejected {
    open_with(&sign(), keys, &facts(), message, now()).unwrap_err()
}

/// A reference whose token cannot be had is a fault of the signature, whatever its digest.
#[track_caller]
fn assert_no_token(refused: &Rejected, problem: &str) {
    assert_eq!(refused.name(), "signature-invalid", "{refused}");
    let told = refused.to_string();
    assert!(told.contains(problem), "{told}");
}

#[test]
fn a_token_that_is_only_named_is_signed_as_the_token_it_would_be() {
    let certificate = base64::encode(client().der());
    for named in [
        issuer_serial(client()),
        thumbprint(client()),
        key_identifier(X509_SKI, client().ski()),
        key_identifier(X509_V3, client().der()),
        format!(
            "<ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data>"
        ),
        "<ds:KeyName>CN=client</ds:KeyName>".to_owned(),
    ] {
        let message = naming(&sign(), &reference(&named), &token(client()));
        if let Err(refused) = open(&sign(), &message) {
            panic!("{refused} for {named}");
        }
        let message = holding(&sign(), &named, &token(client()));
        if let Err(refused) = open(&sign(), &message) {
            panic!("{refused} for {named} in the Body");
        }
    }
}

/// The token has the prefix of the reference that it stands for.
#[test]
fn a_token_that_is_only_named_has_the_prefix_of_its_reference() {
    let named = reference(&thumbprint(client()));
    let other = |prefix: &str, text: &str| {
        let declared = text.replace("xmlns:wsse=", &format!("xmlns:{prefix}="));
        declared.replace("wsse:", &format!("{prefix}:"))
    };
    let message = naming(&sign(), &other("o", &named), &other("o", &token(client())));
    open(&sign(), &message).unwrap();
    let unprefixed = |text: &str| {
        let declared = text
            .replace(" xmlns=\"\"", "")
            .replace("xmlns:wsse=", "xmlns=");
        declared.replace("wsse:", "")
    };
    let message = naming(&sign(), &unprefixed(&named), &unprefixed(&token(client())));
    open(&sign(), &message).unwrap();
}

#[test]
fn a_token_that_is_only_named_has_one_form() {
    let right = token(client());
    let value = base64::encode(client().der());
    let (first, rest) = value.split_at(64);
    for other in [
        token(PARTIES.service.certificate()),
        reference(&thumbprint(client())),
        right.replace(" xmlns=\"\"", ""),
        right.replace(
            " ValueType",
            &format!(" EncodingType=\"{BASE64_BINARY}\" ValueType"),
        ),
        right.replace(&value, &format!("{first}\n{rest}")),
    ] {
        let message = naming(&sign(), &reference(&thumbprint(client())), &other);
        assert_eq!(refuse(&sign(), &message).name(), "digest-mismatch");
    }
}

/// What is signed is elsewhere: neither the reference, nor what holds it, nor a token of the same
/// certificate that the message has is covered.
#[test]
fn a_token_that_is_only_named_covers_no_node_of_the_message() {
    let named = reference(&thumbprint(client()));
    let message = naming(&sign(), &named, &token(client()));
    let verified = open(&sign(), &message).unwrap();
    let [signature] = &*verified.evidence().signatures else {
        panic!("expected one signature");
    };
    let plain = open(&sign(), &secure(&sign(), PLAIN)).unwrap();
    assert_eq!(
        signature.nodes.len(),
        plain.evidence().signatures[0].nodes.len()
    );

    let demanding = |part: &Part| with(&sign(), |policy| policy.parts.signed.push(part.clone()));
    let by_id = Part::Id(ID.to_owned());
    let refused = refuse(&demanding(&by_id), &message);
    assert_eq!(refused, Rejected::Unsigned { part: by_id });

    // The token that the signature's own reference means is covered, though it is no node.
    let carried = reference(&key_identifier(X509_V3, client().der()));
    let message = naming(&sign(), &carried, &token(client()));
    open(&demanding(&Part::Token), &message).unwrap();

    let direct = policy(Mechanism::Sign, "Basic128GCM");
    let message = holding(&direct, &thumbprint(client()), &token(client()));
    open(&direct, &message).unwrap();
    let protected = with(&direct, |policy| policy.parts.signed.push(Part::Token));
    let refused = refuse(&protected, &message);
    assert_eq!(refused, Rejected::Unsigned { part: Part::Token });
}

/// McIntosh and Austel, XML Signature Element Wrapping Attacks (2005): the signature covers neither
/// the reference in the Body nor the Body.
#[test]
fn a_body_that_holds_a_signed_reference_is_not_signed_by_it() {
    let only_time = with(&sign(), |policy| {
        policy.parts.signed = vec![Part::Timestamp]
    });
    let message = holding(&only_time, &thumbprint(client()), &token(client()));
    assert_eq!(
        refuse(&sign(), &message),
        Rejected::Unsigned { part: Part::Body }
    );
}

/// A signer may name any certificate, and carry it. A certificate that this side does not know is
/// no token.
#[test]
fn a_certificate_that_nobody_knows_is_no_token() {
    let stranger = PARTIES.stranger.certificate();
    let refused = refuse(
        &sign(),
        &holding(&sign(), &thumbprint(stranger), &token(stranger)),
    );
    assert_no_token(&refused, "no known certificate is the SHA-1 thumbprint");
    let carried = key_identifier(X509_V3, stranger.der());
    let refused = refuse(&sign(), &holding(&sign(), &carried, &token(stranger)));
    assert_no_token(&refused, "no known certificate is the certificate in");
    let key = key_identifier(
        "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKeySHA1",
        &[7; 20],
    );
    let refused = refuse(&sign(), &holding(&sign(), &key, &token(client())));
    assert_no_token(&refused, "no known certificate is the encrypted key");
}

/// The signer's own certificate is known by the trust in its issuer.
#[test]
fn the_certificate_of_the_signer_is_known() {
    let mut keys = service_keys();
    keys.peer = None;
    let carried = reference(&key_identifier(X509_V3, client().der()));
    let message = naming(&sign(), &carried, &token(client()));
    open_with(&sign(), keys, &facts(), &message, now()).unwrap();
}

#[test]
fn a_name_of_two_keys_is_no_token() {
    let mut rules = trust_rules();
    rules.pinned.push(PARTIES.stranger.certificate().clone());
    let shared = identity("CN=both of us", KeyKind::Rsa { bits: 2048 });
    rules.pinned.push(shared.certificate().clone());
    let keys = Keys {
        trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
        ..service_keys()
    };
    let message = holding(&sign(), &thumbprint(client()), &token(client()));
    open_with(&sign(), keys.clone(), &facts(), &message, now()).unwrap();
    for (name, certificate) in [
        ("CN=client", client()),
        ("both of us", shared.certificate()),
    ] {
        let named = format!("<ds:KeyName>{name}</ds:KeyName>");
        let message = holding(&sign(), &named, &token(certificate));
        let refused = refuse_with(keys.clone(), &message);
        assert_no_token(&refused, "expected one key, found several");
    }
}

/// Each such token is looked for among all certificates.
#[test]
fn tokens_that_are_only_named_count_as_tokens() {
    let once = holding(&sign(), &thumbprint(client()), &token(client()));
    let twice = covering(&once, &token(client()));
    let limited = |tokens| with(&sign(), |policy| policy.limits.tokens = tokens);
    open(&limited(2), &twice).unwrap();
    open(&limited(1), &once).unwrap();
    assert_eq!(
        refuse(&limited(1), &twice),
        Rejected::TooMany {
            what: "security tokens",
            limit: 1
        }
    );
}

/// A token inside of its reference is in the message: it is digested as it stands, and covered.
#[test]
fn an_embedded_token_is_covered_where_it_stands() {
    let embedded = format!(
        "<wsse:Embedded><wsse:BinarySecurityToken EncodingType=\"{BASE64_BINARY}\" ValueType=\"{X509_V3}\" wsu:Id=\"token\">{}</wsse:BinarySecurityToken></wsse:Embedded>",
        base64::encode(client().der())
    );
    let digested = embedded
        .replace("<wsse:Embedded>", "")
        .replace("</wsse:Embedded>", "")
        .replace(
            "<wsse:BinarySecurityToken",
            &format!(
                "<wsse:BinarySecurityToken xmlns=\"\" xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\""
            ),
        );
    let message = naming(&sign(), &reference(&embedded), &digested);
    let part = Part::Id("token".to_owned());
    let demanding = with(&sign(), |policy| policy.parts.signed.push(part));
    open(&demanding, &message).unwrap();
    let message = naming(&sign(), &reference(&embedded), &token(client()));
    assert_eq!(refuse(&sign(), &message).name(), "digest-mismatch");
}
