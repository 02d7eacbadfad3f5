//! Policies with `sp:IssuedToken` at endpoints: a proof key that endorses, and a token of the
//! transport. The assertions come from files, as a token service would make them.

#[path = "support/arrived.rs"]
mod arrived;

use std::sync::Arc;

use soapstone::config::EndpointConfig;
use soapstone::crypto::{Certificate, base64};
use soapstone::wss::{ConfirmationMethod, Rejected};
use soapstone::xml::Buffers;
use soapstone::{Call, Client, ForgetfulReplayCache, Memory, Securer, Service};
use soapstone_testkit::assertion::Assertion;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::{Folder, keys};

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";

/// A policy with these assertions.
fn policy(assertions: &str) -> String {
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\">{assertions}</wsp:Policy>"
    )
}

fn nest(name: &str, content: &str) -> String {
    format!("<sp:{name}><wsp:Policy>{content}</wsp:Policy></sp:{name}>")
}

fn token(name: &str, inclusion: &str, template: &str, inner: &str) -> String {
    format!(
        "<sp:{name} sp:IncludeToken=\"{SP}/IncludeToken/{inclusion}\">{template}<wsp:Policy>{inner}</wsp:Policy></sp:{name}>"
    )
}

/// A token of this kind of key.
fn issued(key: &str, inner: &str) -> String {
    let template = format!(
        "<sp:RequestSecurityTokenTemplate xmlns:t=\"{WST}\"><t:KeyType>{WST}/{key}</t:KeyType></sp:RequestSecurityTokenTemplate>"
    );
    token("IssuedToken", "AlwaysToRecipient", &template, inner)
}

const SUITE: &str = "<sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>";
const PARTS: &str =
    "<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
const SECURITY: &str = "[security]\npolicy = \"policy.xml\"\nsha256_suites = \"sha256\"\n\
     algorithms = { key_transport = [\"rsa-oaep\"] }\n";

/// Policies that the symmetric key of an issued token endorses, by the kind of their binding.
fn endorsed() -> [(&'static str, String); 3] {
    let x509 = |inclusion| token("X509Token", inclusion, "", "<sp:WssX509V3Token10/>");
    let https = nest(
        "TransportToken",
        "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>",
    );
    let (initiator, recipient) = (
        nest("InitiatorToken", &x509("AlwaysToRecipient")),
        nest("RecipientToken", &x509("Never")),
    );
    let protection = nest("ProtectionToken", &x509("Never"));
    let plain = nest("EndorsingSupportingTokens", &issued("SymmetricKey", ""));
    let derived = issued("SymmetricKey", "<sp:RequireDerivedKeys/>");
    let derived = nest("EndorsingSupportingTokens", &derived);
    let transport = nest("TransportBinding", &format!("{https}{SUITE}"));
    let asymmetric = nest(
        "AsymmetricBinding",
        &format!("{initiator}{recipient}{SUITE}"),
    );
    let symmetric = nest(
        "SymmetricBinding",
        &format!("{protection}{SUITE}<sp:EncryptSignature/>"),
    );
    [
        ("transport", policy(&format!("{transport}{plain}"))),
        ("asymmetric", policy(&format!("{asymmetric}{PARTS}{plain}"))),
        ("symmetric", policy(&format!("{symmetric}{PARTS}{derived}"))),
    ]
}

/// A folder with the keys of a service and of its client, and the client's assertion: with the
/// key that is in `alice.key.txt`, with the client's certificate, or with no key.
fn folder(key: &str) -> Folder {
    let folder = Folder::with_keys(keys::RSA, &["service", "client", "thief"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    folder.write("alice.saml.xml", assertion(key, "CN=idp"));
    folder.write("alice.key.txt", base64::encode(&[7; 32]));
    folder
}

fn assertion(key: &str, issuer: &str) -> String {
    let client = keys::identity("CN=client", keys::RSA);
    let assertion = Assertion {
        is_20: true,
        method: match key {
            "Bearer" => "bearer",
            _ => "holder-of-key",
        },
        holder: (key == "PublicKey").then_some(client.certificate()),
        audience: Some("https://service.example"),
        attributes: &[],
    };
    let idp = keys::identity(issuer, keys::RSA);
    match key {
        "SymmetricKey" => {
            let service = keys::identity("CN=service", keys::RSA);
            assertion.proving("alice", &idp, service.certificate(), &[7; 32])
        }
        _ => assertion.about("alice", &idp),
    }
}

const CLIENT: &str = "[saml]\nassertion = \"alice.saml.xml\"\nconfirmation = [\"holder-of-key\"]\n";
const KEY: &str = "proof_key_file = \"alice.key.txt\"\n";
const CLIENT_KEYS: &str = "[identity]\nkey = \"client.key.pem\"\ncertificate = \"client.cert.pem\"\n\
     [peer]\ncertificate = \"service.cert.pem\"\n[trust]\npinned = [\"service.cert.pem\"]\n";
const SERVICE: &str = "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"holder-of-key\"]\n\
     issuers = [{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }]\n\
     [identity]\nkey = \"service.key.pem\"\ncertificate = \"service.cert.pem\"\n\
     [trust]\npinned = [\"client.cert.pem\", \"thief.cert.pem\"]\n";

fn config(folder: &Folder, text: &str) -> EndpointConfig {
    let path = folder.path("endpoint.toml");
    EndpointConfig::from_text(text, &path, &|_| None).unwrap_or_else(|it| panic!("{it}"))
}

fn client(folder: &Folder, text: &str) -> Client {
    let config = config(folder, text);
    Client::from_config(&config).unwrap_or_else(|it| panic!("{it}"))
}

fn service(folder: &Folder, text: &str) -> Service {
    let config = config(folder, text);
    Service::from_config(&config).unwrap_or_else(|it| panic!("{it}"))
}

/// What the service makes of a request that came over TLS, by a client that showed this
/// certificate.
fn received(
    service: &Service,
    message: Vec<u8>,
    shown: Option<&Certificate>,
) -> Result<soapstone::OpenedMessage, Rejected> {
    let mut buffers = Buffers::default();
    let mut call = Call::new(jiff::Timestamp::now(), &mut buffers);
    let request = service.read(message, &mut call).expect("a message");
    let request = request.over_tls().shown(shown.cloned().map(Arc::new));
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    arrived::message(service.receive_with(request, memory, &mut call))
}

/// WS-SecurityPolicy 1.3, 8.3; WS-Trust 1.4, 4.4.
#[test]
fn the_proof_key_of_an_issued_token_endorses_at_endpoints() {
    let folder = folder("SymmetricKey");
    for (name, policy) in endorsed() {
        folder.write("policy.xml", policy);
        let client = client(&folder, &format!("{CLIENT}{KEY}{CLIENT_KEYS}{SECURITY}"));
        let service = service(&folder, &format!("{SERVICE}{SECURITY}"));
        for soap in [SOAP11, SOAP12] {
            let plain = with_header(soap, "", HELLO).into_bytes();
            let secured = client.secure(plain.clone()).unwrap();
            let opened = received(&service, secured.bytes, None)
                .unwrap_or_else(|refused| panic!("{name}: {refused}"));
            let found = opened.evidence.assertion.as_ref().expect("an assertion");
            assert_eq!(found.assertion.subject.value, "alice");
            assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
            let answer = service.answer(plain, &opened.receipt).unwrap();
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            client
                .open(answer.bytes, secured.receipt, memory)
                .unwrap_or_else(|it| panic!("{name}: {it}"));
        }
    }
}

#[test]
fn an_endorsement_by_anything_but_the_proof_key_is_refused_at_endpoints() {
    let plain = || with_header(SOAP11, "", HELLO).into_bytes();
    for (name, policy) in endorsed() {
        let folder = folder("SymmetricKey");
        folder.write("policy.xml", policy);
        let service = service(&folder, &format!("{SERVICE}{SECURITY}"));
        let sent = || {
            let config = config(&folder, &format!("{CLIENT}{KEY}{CLIENT_KEYS}{SECURITY}"));
            let securer = Securer::from_config(&config).unwrap_or_else(|it| panic!("{it}"));
            securer.secure(plain()).unwrap().bytes
        };
        folder.write("alice.key.txt", base64::encode(&[8; 32]));
        let refused = received(&service, sent(), None).unwrap_err();
        // Behind cipher text there is one failure.
        let expected = match name {
            "symmetric" => "decryption-failed",
            _ => "signature-mismatch",
        };
        assert_eq!(refused.name(), expected, "{name}: a thief");
        folder.write("alice.key.txt", base64::encode(&[7; 32]));
        folder.write("alice.saml.xml", assertion("SymmetricKey", "CN=thief"));
        let refused = received(&service, sent(), None).unwrap_err();
        assert_eq!(refused.to_string(), FORGED, "{name}: another issuer");
    }
    // Whoever sends needs the key beside the assertion.
    let folder = folder("SymmetricKey");
    for (_, policy) in endorsed() {
        folder.write("policy.xml", policy);
        let config = config(&folder, &format!("{CLIENT}{CLIENT_KEYS}{SECURITY}"));
        let told = Client::from_config(&config).unwrap_err().to_string();
        assert!(told.contains("`proof_key` is missing"), "{told}");
    }
}

/// An assertion that another one than its issuer signed.
const FORGED: &str = "the signature value does not verify (rsa-sha256)";

fn of_transport(key: &str) -> String {
    let token = nest("TransportToken", &issued(key, ""));
    policy(&nest("TransportBinding", &format!("{token}{SUITE}")))
}

/// WS-SecurityPolicy 1.3, 7.3: the certificate of the client has the key that the token names.
#[test]
fn an_issued_token_of_the_transport_is_shown_by_the_clients_certificate() {
    let folder = folder("PublicKey");
    folder.write("policy.xml", of_transport("PublicKey"));
    let client = client(&folder, &format!("{CLIENT}{CLIENT_KEYS}{SECURITY}"));
    let service = service(&folder, &format!("{SERVICE}{SECURITY}"));
    assert!(service.needs_tls() && service.needs_client_certificate());
    let certificate = |name: &str| keys::identity(name, keys::RSA).certificate().clone();
    for soap in [SOAP11, SOAP12] {
        let plain = with_header(soap, "", HELLO).into_bytes();
        let secured = client.secure(plain.clone()).unwrap();
        let owner = certificate("CN=client");
        let opened = received(&service, secured.bytes.clone(), Some(&owner)).unwrap();
        let found = opened.evidence.assertion.as_ref().expect("an assertion");
        assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
        let answer = service.answer(plain, &opened.receipt).unwrap();
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        client.open(answer.bytes, secured.receipt, memory).unwrap();
        let second = client.secure(with_header(soap, "", HELLO).into_bytes());
        let second = second.unwrap().bytes;
        let thief = certificate("CN=thief");
        for shown in [None, Some(&thief)] {
            let refused = received(&service, second.clone(), shown).unwrap_err();
            assert_eq!(refused.name(), "assertion-unconfirmed", "{refused}");
        }
    }
    // A bearer's assertion of the same issuer, and one of another issuer.
    let plain = || with_header(SOAP11, "", HELLO).into_bytes();
    let owner = certificate("CN=client");
    for (assertion, expected) in [
        (
            assertion("Bearer", "CN=idp"),
            "nothing confirms the subject of the assertion: the method bearer is not accepted",
        ),
        (assertion("PublicKey", "CN=thief"), FORGED),
    ] {
        folder.write("alice.saml.xml", assertion);
        let client = self::client(&folder, &format!("{CLIENT}{CLIENT_KEYS}{SECURITY}"));
        let message = client.secure(plain()).unwrap().bytes;
        let refused = received(&service, message, Some(&owner)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    // The file makes no bearer of a holder.
    let bearers = SERVICE.replace("holder-of-key", "bearer");
    let config = config(&folder, &format!("{bearers}{SECURITY}"));
    let told = Service::from_config(&config).unwrap_err().to_string();
    assert!(told.contains("show its key by the connection"), "{told}");
}

/// WS-SecurityPolicy 1.3, 7.3 and 8.3: beside the token of the transport a certificate endorses.
/// The holder's key stands for neither of them by a signature.
#[test]
fn no_signature_stands_for_the_connection() {
    let folder = folder("PublicKey");
    let transport = nest("TransportToken", &issued("PublicKey", ""));
    let transport = nest("TransportBinding", &format!("{transport}{SUITE}"));
    let x509 = token(
        "X509Token",
        "AlwaysToRecipient",
        "",
        "<sp:WssX509V3Token10/>",
    );
    let by_certificate = nest("EndorsingSupportingTokens", &x509);
    folder.write(
        "policy.xml",
        policy(&format!("{transport}{by_certificate}")),
    );
    let service = service(&folder, &format!("{SERVICE}{SECURITY}"));
    let owner = keys::identity("CN=client", keys::RSA).certificate().clone();
    let other = keys::identity("CN=thief", keys::RSA).certificate().clone();
    let sent = |text: &str| {
        let secured = client(&folder, text).secure(with_header(SOAP11, "", HELLO).into_bytes());
        secured.unwrap().bytes
    };
    // A trusted certificate with the holder's key signs, and the connection is anybody's.
    let signed = sent(&format!("{CLIENT}{CLIENT_KEYS}{SECURITY}"));
    received(&service, signed.clone(), Some(&owner)).unwrap();
    for shown in [None, Some(&other)] {
        let refused = received(&service, signed.clone(), shown).unwrap_err();
        assert_eq!(refused.name(), "assertion-unconfirmed", "{refused}");
    }
    // The holder's key signs by the name of the assertion, and nothing is of a trusted certificate.
    let https = "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>";
    let https = nest("TransportToken", https);
    let https = nest("TransportBinding", &format!("{https}{SUITE}"));
    let by_holder = nest("EndorsingSupportingTokens", &issued("PublicKey", ""));
    folder.write("policy.xml", policy(&format!("{https}{by_holder}")));
    let named = sent(&format!("{CLIENT}{CLIENT_KEYS}{SECURITY}"));
    for shown in [Some(&owner), Some(&other)] {
        let refused = received(&service, named.clone(), shown).unwrap_err();
        assert_eq!(refused.name(), "key-misused", "{refused}");
    }
}

#[test]
fn an_issued_token_of_the_transport_may_be_a_bearers() {
    let folder = folder("Bearer");
    folder.write("policy.xml", of_transport("Bearer"));
    let bearers = |text: &str| text.replace("holder-of-key", "bearer");
    let client = client(
        &folder,
        &bearers(&format!("{CLIENT}{CLIENT_KEYS}{SECURITY}")),
    );
    let service = service(&folder, &bearers(&format!("{SERVICE}{SECURITY}")));
    assert!(service.needs_tls() && !service.needs_client_certificate());
    let secured = client.secure(with_header(SOAP12, "", HELLO).into_bytes());
    let opened = received(&service, secured.unwrap().bytes, None).unwrap();
    let found = opened.evidence.assertion.as_ref().expect("an assertion");
    assert_eq!(found.confirmed, Some(ConfirmationMethod::Bearer));
}
