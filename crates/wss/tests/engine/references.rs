//! How messages name certificates, and which certificate each name means (SOAP Message Security
//! 1.1.1, 7; X.509 Token Profile 1.1.1, 3.2; XML-Signature 1.1, 4.5).

mod covered;
mod paths;
mod quoted_issuers;
mod spellings;

use std::sync::Arc;

use soapstone_crypto::issue::{self, Template};
use soapstone_crypto::{Certificate, Curve, Identity, KeyKind, TrustRules, TrustStore, base64};
use soapstone_testkit::keys;
use soapstone_wss::names::{
    BASE64_BINARY, STR_TRANSFORM, THUMBPRINT_SHA1, WSSE, WSSE11, WSU, X509_PKI_PATH_V1, X509_SKI,
    X509_V3,
};
use soapstone_wss::{
    KeyReference, Keys, Layout, Mechanism, OutboundPlan, Part, PlanProblem, Policy, Rejected,
};

use crate::support::Adjust as _;
use crate::support::*;

const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";

/// Every way to name a certificate.
fn all() -> impl Iterator<Item = KeyReference> {
    let ways = KeyReference::ALL.into_iter();
    ways.filter(|way| way.names_certificates())
}

fn signing_by(reference: KeyReference) -> Policy {
    with(&policy(Mechanism::Sign, "Basic128GCM"), |policy| {
        policy.name_signing_key(reference);
    })
}

/// A receiver that knows the authority, and no certificate of the sender.
fn by_anchor_alone() -> Keys {
    Keys {
        peer: None,
        ..service_keys()
    }
}

fn open_by_anchor(policy: &Policy, message: &str) -> Result<String, Rejected> {
    let opened = open_with(policy, by_anchor_alone(), &facts(), message, now())?;
    let certificate = opened.evidence().signatures[0].certificate().unwrap();
    Ok(certificate.subject().to_owned())
}

/// The text of the first element of this name, tags included.
fn cut<'m>(message: &'m str, name: &str) -> &'m str {
    let start = message.find(&format!("<{name}")).unwrap();
    let end = format!("</{name}>");
    let length = message[start..].find(&end).unwrap() + end.len();
    &message[start..start + length]
}

fn client() -> &'static Certificate {
    PARTIES.client.certificate()
}

fn stranger() -> &'static Certificate {
    PARTIES.stranger.certificate()
}

fn reference(content: &str) -> String {
    format!(
        "<wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\">{content}</wsse:SecurityTokenReference>"
    )
}

fn key_identifier(value_type: &str, octets: &[u8]) -> String {
    let value = base64::encode(octets);
    reference(&format!(
        "<wsse:KeyIdentifier EncodingType=\"{BASE64_BINARY}\" ValueType=\"{value_type}\">{value}</wsse:KeyIdentifier>"
    ))
}

fn issuer_serial(certificate: &Certificate) -> String {
    format!(
        "<ds:X509IssuerSerial><ds:X509IssuerName>{}</ds:X509IssuerName>\
         <ds:X509SerialNumber>{}</ds:X509SerialNumber></ds:X509IssuerSerial>",
        certificate.issuer(),
        certificate.serial_decimal()
    )
}

fn ski(certificate: &Certificate) -> String {
    let value = base64::encode(certificate.ski());
    format!("<ds:X509SKI>{value}</ds:X509SKI>")
}

fn embedded(certificate: &Certificate) -> String {
    let value = base64::encode(certificate.der());
    format!("<ds:X509Certificate>{value}</ds:X509Certificate>")
}

fn x509_data(content: &str) -> String {
    format!("<ds:X509Data>{content}</ds:X509Data>")
}

fn key_value(certificate: &Certificate) -> String {
    let mut written = Vec::new();
    soapstone_xmlsec::write::key_value(certificate.public_key(), &mut written);
    String::from_utf8(written).unwrap()
}

/// The names that a certificate has, each as what stands in a `ds:KeyInfo`.
fn names_of(certificate: &Certificate) -> Vec<String> {
    vec![
        key_identifier(THUMBPRINT_SHA1, &certificate.thumbprint_sha1()),
        key_identifier(X509_SKI, certificate.ski()),
        reference(&x509_data(&issuer_serial(certificate))),
        x509_data(&issuer_serial(certificate)),
        x509_data(&ski(certificate)),
        x509_data(&format!(
            "<ds:X509SubjectName>{}</ds:X509SubjectName>",
            certificate.subject()
        )),
        format!("<ds:KeyName>{}</ds:KeyName>", certificate.subject()),
        key_value(certificate),
    ]
}

/// A message with a token, whose signature names its key in another way.
fn naming(named: &str) -> String {
    let message = secure(&signing_by(KeyReference::Direct), PLAIN);
    let info = cut(&message, "ds:KeyInfo");
    message.replacen(info, &format!("<ds:KeyInfo>{named}</ds:KeyInfo>"), 1)
}

/// The message with the token behind the signature.
fn token_behind(message: &str) -> String {
    let message = declaring(message);
    let token = cut(&message, "wsse:BinarySecurityToken").to_owned();
    let rest = message.replacen(&token, "", 1);
    rest.replacen("</wsse:Security>", &format!("{token}</wsse:Security>"), 1)
}

/// The message with one more token, of a stranger.
fn with_token_of(certificate: &Certificate, message: &str) -> String {
    let message = declaring(message);
    let token = cut(&message, "wsse:BinarySecurityToken").to_owned();
    let other = token
        .replace(
            &base64::encode(client().der()),
            &base64::encode(certificate.der()),
        )
        .replace("wsu:Id=\"", "wsu:Id=\"other-");
    message.replacen(&token, &format!("{token}{other}"), 1)
}

#[test]
fn every_form_is_written_and_read_in_both_versions_of_soap() {
    for reference in all() {
        for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
            for suite in ["Basic256GCM", "Basic128GCMEcdhEs"] {
                let mut policy = policy(mechanism, suite);
                policy.name_signing_key(reference);
                policy.name_encrypting_key(reference);
                for version in [SOAP11, SOAP12] {
                    let plain = PLAIN.replace(SOAP11, version);
                    let message = secure(&policy, &plain);
                    let opened = open(&policy, &message).unwrap_or_else(|refused| {
                        panic!("{reference:?} {mechanism} {suite}: {refused}\n{message}")
                    });
                    assert!(forwarded(&opened).contains("Grüße"));
                }
            }
        }
    }
}

#[test]
fn signature_and_encryption_name_their_keys_apart() {
    let apart = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.name_signing_key(KeyReference::PkiPath);
        policy.name_encrypting_key(KeyReference::X509Ski);
    });
    let message = secure(&apart, PLAIN);
    assert!(cut(&message, "ds:Signature").contains(X509_PKI_PATH_V1));
    let key = cut(&message, "xenc:EncryptedKey");
    let named = x509_data(&ski(PARTIES.service.certificate()));
    assert!(
        key.contains(&format!("xmldsig#\">{named}</ds:KeyInfo>")),
        "{key}"
    );
    open(&apart, &message).unwrap();
}

/// The forms that stand in no `wsse:SecurityTokenReference` are what their specification has.
#[test]
fn raw_forms_are_written_without_a_reference_around_them() {
    for (way, expected) in [
        (KeyReference::X509Data, x509_data(&embedded(client()))),
        (KeyReference::X509Ski, x509_data(&ski(client()))),
        (
            KeyReference::X509IssuerSerial,
            x509_data(&issuer_serial(client())),
        ),
        (KeyReference::KeyValue, key_value(client())),
    ] {
        let message = secure(&signing_by(way), PLAIN);
        let info = format!("<ds:KeyInfo>{expected}</ds:KeyInfo>");
        assert!(message.contains(&info), "{way:?}: {message}");
        assert!(!message.contains("BinarySecurityToken"), "{way:?}");
    }
}

/// .NET takes no backslash in a name (CryptographicException: "invalid X500 name attribute key").
#[test]
fn issuer_names_with_a_comma_are_quoted_for_net() {
    let authority = keys::authority("CN=ca,O=Acme Trust\\, Inc.");
    let mut client = client_keys();
    let identity = leaf(&authority, "CN=client", keys::validity());
    client.identity = Some(Arc::new(identity));
    for (way, expected) in [
        (
            KeyReference::IssuerSerial,
            ">CN=ca,O=Acme Trust\\, Inc.</ds:X509IssuerName>",
        ),
        (
            KeyReference::IssuerSerialQuoted,
            ">CN=ca, O=\"Acme Trust, Inc.\"</ds:X509IssuerName>",
        ),
    ] {
        let policy = signing_by(way);
        let secured = secure_with(&policy, client.clone(), PLAIN, None);
        let message = String::from_utf8(secured.bytes).unwrap();
        assert!(message.contains(expected), "{message}");
        let known = client.identity.as_ref().unwrap().certificate().clone();
        let mut rules = TrustRules::default();
        rules.pinned.push(known);
        let keys = Keys {
            trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
            ..service_keys()
        };
        open_with(&policy, keys, &facts(), &message, now()).unwrap();
    }
}

/// SOAP Message Security 1.1.1, 7.3: a name identifies a token, also one that is in the message,
/// and also one behind what names it.
#[test]
fn a_name_means_a_token_of_the_message() {
    let lax = signing_by(KeyReference::Direct);
    let strict = with(&lax, |policy| policy.header.layout = Layout::Strict);
    for named in names_of(client()) {
        let message = naming(&named);
        assert_eq!(
            open_by_anchor(&lax, &message).as_deref(),
            Ok("CN=client"),
            "{named}"
        );
        open_by_anchor(&strict, &message).unwrap();
        let behind = token_behind(&message);
        assert_eq!(
            open_by_anchor(&lax, &behind).as_deref(),
            Ok("CN=client"),
            "{named}"
        );
        let refused = open_by_anchor(&strict, &behind).unwrap_err();
        assert_eq!(refused.name(), "layout-violated");
    }
}

/// The token is the signature's, and is covered where tokens are to be.
#[test]
fn a_token_that_is_named_is_to_be_covered() {
    let protecting = with(&signing_by(KeyReference::Direct), |policy| {
        policy.parts.signed.push(Part::Token);
    });
    for named in names_of(client()) {
        let refused = open(&protecting, &naming(&named)).unwrap_err();
        assert_eq!(refused, Rejected::Unsigned { part: Part::Token });
    }
}

/// Anybody can put a token into a header, and name it.
#[test]
fn a_token_of_the_message_is_not_trusted_for_being_there() {
    let policy = signing_by(KeyReference::Direct);
    let keys = Keys {
        identity: Some(Arc::clone(&PARTIES.stranger)),
        ..client_keys()
    };
    let secured = secure_with(&policy, keys, PLAIN, None);
    let message = String::from_utf8(secured.bytes).unwrap();
    let info = cut(&message, "ds:KeyInfo").to_owned();
    for named in names_of(stranger()) {
        let named = format!("<ds:KeyInfo>{named}</ds:KeyInfo>");
        let message = message.replacen(&info, &named, 1);
        assert_eq!(
            open_by_anchor(&policy, &message).unwrap_err().name(),
            "untrusted"
        );
    }
}

/// A token elsewhere than in the `wsse:Security` header is none (McIntosh and Austel 2005).
#[test]
fn a_token_in_the_body_is_not_named() {
    let message = naming(&key_identifier(
        THUMBPRINT_SHA1,
        &client().thumbprint_sha1(),
    ));
    let token = cut(&message, "wsse:BinarySecurityToken").to_owned();
    let declared = declaring(&message);
    let inside = declared.replacen(&token, "", 1).replacen(
        "<e:empty",
        &format!(
            "{}<e:empty",
            token.replacen(
                "<wsse:BinarySecurityToken",
                &format!("<wsse:BinarySecurityToken xmlns:wsse=\"{WSSE}\""),
                1
            )
        ),
        1,
    );
    let refused = open_by_anchor(&signing_by(KeyReference::Direct), &inside).unwrap_err();
    assert_eq!(refused.name(), "key-not-found");
}

/// Two certificates with one name: whichever a receiver takes, another one takes the other.
#[test]
fn a_name_of_two_keys_means_none() {
    let policy = signing_by(KeyReference::Direct);
    assert_eq!(client().subject(), stranger().subject());
    for named in [
        "<ds:KeyName>CN=client</ds:KeyName>".to_owned(),
        x509_data("<ds:X509SubjectName>CN=client</ds:X509SubjectName>"),
    ] {
        let message = naming(&named);
        open_by_anchor(&policy, &message).unwrap();
        // One certificate in two tokens is one key.
        open_by_anchor(&policy, &with_token_of(client(), &message)).unwrap();
        let two = with_token_of(stranger(), &message);
        let refused = open_by_anchor(&policy, &two).unwrap_err();
        assert_eq!(refused.name(), "key-ambiguous", "{named}");
        // A token, and a certificate that the receiver knows.
        let mut rules = trust_rules();
        rules.pinned.push(stranger().clone());
        let keys = Keys {
            trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
            ..service_keys()
        };
        let refused = open_with(&policy, keys, &facts(), &message, now()).unwrap_err();
        assert_eq!(refused.name(), "key-ambiguous", "{named}");
    }
    // A name that tells them apart means one of them.
    let thumbprint = key_identifier(THUMBPRINT_SHA1, &client().thumbprint_sha1());
    let two = with_token_of(stranger(), &naming(&thumbprint));
    open_by_anchor(&policy, &two).unwrap();
}

/// .NET and signxml write the public key beside the certificate, and names beside both.
#[test]
fn certificate_and_names_beside_each_other_mean_one_key() {
    let policy = signing_by(KeyReference::Direct);
    let cert = embedded(client());
    let all = format!("{}{}{cert}", issuer_serial(client()), ski(client()));
    for named in [
        key_value(client()) + &x509_data(&cert),
        x509_data(&cert) + &key_value(client()),
        x509_data(&all),
        x509_data(&all) + &key_value(client()),
        x509_data(&cert) + &x509_data(&cert),
        // Templates of xmlsec.
        "<ds:KeyName>client</ds:KeyName>".to_owned() + &x509_data(&cert),
        x509_data(&cert) + "<ds:KeyName>CN=client</ds:KeyName>",
    ] {
        assert_eq!(
            open_by_anchor(&policy, &naming(&named)).as_deref(),
            Ok("CN=client"),
            "{named}"
        );
    }
    // CVE-2024-6001 and its kind: one receiver takes the key, another one the certificate.
    for (confused, name) in [
        (key_value(stranger()) + &x509_data(&cert), "key-ambiguous"),
        // One receiver takes the name, another one the certificate; or there is nothing but names.
        (
            "<ds:KeyName>service</ds:KeyName>".to_owned() + &x509_data(&cert),
            "key-ambiguous",
        ),
        ("<ds:KeyName>client</ds:KeyName>".repeat(2), "malformed"),
        (
            x509_data(&cert) + &x509_data(&embedded(stranger())),
            "key-ambiguous",
        ),
        (
            x509_data(&(issuer_serial(stranger()) + &cert)),
            "key-ambiguous",
        ),
        (x509_data(&(ski(stranger()) + &cert)), "key-ambiguous"),
        (
            x509_data(&(issuer_serial(client()) + &ski(stranger()))),
            "key-not-found",
        ),
        (
            key_value(client()) + &key_value(stranger()),
            "key-not-found",
        ),
        (
            x509_data(&cert) + &key_identifier(X509_SKI, client().ski()),
            "malformed",
        ),
        (x509_data(&cert.repeat(9)), "malformed"),
    ] {
        let refused = open_by_anchor(&policy, &naming(&confused)).unwrap_err();
        assert_eq!(refused.name(), name, "{refused} for {confused}");
    }
}

/// A public key that is written out is worth what its certificate is worth.
#[test]
fn a_public_key_alone_is_nobodys() {
    let policy = signing_by(KeyReference::KeyValue);
    let message = secure(&policy, PLAIN);
    open(&policy, &message).unwrap();
    let refused = open_by_anchor(&policy, &message).unwrap_err();
    assert_eq!(refused.name(), "key-not-found");
}

/// Keys that have no `ds:KeyValue` are written as DER (XML-Signature 1.1, 4.5.9).
#[test]
fn public_keys_of_every_kind_are_written_out() {
    for (kind, suite) in [
        (KeyKind::Ec(Curve::P256), "Basic128GCMEcdhEs"),
        (KeyKind::Ed25519, "Basic128GCMX25519"),
    ] {
        let mut policy = policy(Mechanism::Sign, suite);
        policy.name_signing_key(KeyReference::KeyValue);
        let message = secure(&policy, PLAIN);
        let expected = match kind {
            KeyKind::Ed25519 => "dsig11:DEREncodedKeyValue",
            _ => "dsig11:ECKeyValue",
        };
        assert!(cut(&message, "ds:KeyInfo").contains(expected));
        open(&policy, &message).unwrap();
    }
}

/// Shapes of public reports: SoapUI and WSS4J (the certificate as a key identifier), Oracle WSM
/// (attributes of the reference), wse-php (tokens in lines, references without a type), WSE 2.
#[test]
fn references_as_other_stacks_write_them_are_read_or_refused_by_name() {
    let policy = signing_by(KeyReference::Direct);
    let direct = secure(&policy, PLAIN);
    let info = cut(&direct, "ds:KeyInfo").to_owned();
    let uri = info.split("URI=\"").nth(1).unwrap();
    let uri = uri.split('"').next().unwrap();
    let value = base64::encode(client().der());
    let lines: Vec<&str> = value
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let in_lines = direct.replacen(&value, &format!("\n{}\n", lines.join("\r\n")), 1);
    let without_type = |message: &str| {
        let untyped = format!("<wsse:Reference URI=\"{uri}\"></wsse:Reference>");
        message.replacen(
            &info,
            &format!("<ds:KeyInfo Id=\"KI\">{}</ds:KeyInfo>", reference(&untyped)),
            1,
        )
    };
    let attributes = format!(
        "<wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\" xmlns:wsse11=\"{WSSE11}\" \
         wsu:Id=\"STR\" wsse:Usage=\"urn:sign\" wsse11:TokenType=\"{X509_V3}\">\
         <wsse:Reference URI=\"{uri}\" ValueType=\"{X509_V3}\"/></wsse:SecurityTokenReference>"
    );
    for message in [
        naming(&key_identifier(X509_V3, client().der())),
        without_type(&direct),
        without_type(&in_lines),
        direct.replacen(
            &info,
            &format!("<ds:KeyInfo Id=\"KI\">{attributes}</ds:KeyInfo>"),
            1,
        ),
    ] {
        assert_eq!(
            open_by_anchor(&policy, &message).as_deref(),
            Ok("CN=client"),
            "{message}"
        );
    }
    let token = cut(&direct, "wsse:BinarySecurityToken").to_owned();
    for (message, name) in [
        (
            direct.replacen(
                &token,
                &token.replace(BASE64_BINARY, "wsse:Base64Binary"),
                1,
            ),
            "token-unsupported",
        ),
        (
            direct.replacen(&token, &token.replace(X509_V3, "wsse:X509v3"), 1),
            "token-unsupported",
        ),
        (
            direct.replacen(
                "</ds:KeyInfo>",
                "<ds:MgmtData>x</ds:MgmtData></ds:KeyInfo>",
                1,
            ),
            "malformed",
        ),
    ] {
        let refused = open_by_anchor(&policy, &message).unwrap_err();
        assert_eq!(refused.name(), name, "{message}");
    }
}
