//! Messages that other programs' libraries signed (lxml and libxmlsec1, Apache WSS4J), with
//! throw-away keys. The clock of each endpoint stands still.

use soapstone::Opener;
use soapstone::wss::{ConfirmationMethod, Envelope, Rejected, Verified};

use super::{accepting, memory, messages};

/// An opener of an endpoint file with this text.
fn opener(text: &str) -> Opener {
    let file = messages().join("endpoint.toml");
    let config = soapstone::config::EndpointConfig::from_text(text, &file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    Opener::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
}

fn open(text: &str, message: &str) -> Result<Verified<Envelope>, Rejected> {
    let message = std::fs::read(messages().join(message)).expect("a message");
    opener(text).verify(message, memory())
}

#[track_caller]
fn confirmed(verified: &Verified<Envelope>, expected: ConfirmationMethod) {
    let found = verified
        .evidence()
        .assertion
        .as_ref()
        .expect("an assertion");
    assert_eq!(found.assertion.subject.value, "alice");
    assert_eq!(found.confirmed, Some(expected));
}

/// Case 06: IHE XUA, Swiss EPR.
#[test]
fn a_bearers_assertion_is_accepted_over_tls() {
    let text = accepting("bearer", "none", "");
    let verified = open(&text, "saml-bearer.xml").unwrap();
    confirmed(&verified, ConfirmationMethod::Bearer);
    assert!(opener(&text).needs_tls());
    assert_eq!(opener(&text).mechanism(), "saml");
}

/// Case 07: the signature names the assertion, and is made with the key in it.
#[test]
fn the_holder_of_an_assertions_key_is_accepted_and_a_thief_is_not() {
    let text = accepting("holder-of-key", "sign", "");
    let verified = open(&text, "saml-hok.xml").unwrap();
    confirmed(&verified, ConfirmationMethod::HolderOfKey);
    assert!(!opener(&text).needs_tls());
    let algorithms = "algorithms = { signature = [\"rsa-sha256\", \"ecdsa-sha256\"], \
                      digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }\n";
    let refused = open(&(text + algorithms), "saml-hok-stolen.xml").unwrap_err();
    assert_eq!(refused.name(), "key-misused");
}

/// Case 08: the signature covers the assertion by the STR transform.
#[test]
fn an_attester_is_accepted_and_a_stranger_is_not() {
    let trusting = |attester: &str| {
        let more = format!("attesters = [\"{attester}\"]");
        accepting("sender-vouches", "sign", &more) + "[trust]\nanchors = [\"ca.pem\"]\n"
    };
    let verified = open(&trusting("CN=client"), "saml-sv.xml").unwrap();
    confirmed(&verified, ConfirmationMethod::SenderVouches);
    let refused = open(&trusting("CN=gateway"), "saml-sv.xml").unwrap_err();
    assert_eq!(refused.name(), "assertion-unconfirmed");
}

/// Apache WSS4J 2.4.3 with OpenSAML 3.4.6. Attesters' signatures cover the assertion by an
/// STR-Transform.
#[test]
fn assertions_of_wss4j_are_accepted() {
    for (version, name, confirmation) in [
        ("2.0", "holder-of-key", ConfirmationMethod::HolderOfKey),
        ("1.1", "holder-of-key", ConfirmationMethod::HolderOfKey),
        ("2.0", "sender-vouches", ConfirmationMethod::SenderVouches),
        ("1.1", "sender-vouches", ConfirmationMethod::SenderVouches),
    ] {
        let vouching = match confirmation {
            ConfirmationMethod::SenderVouches => "attesters = [\"CN=gateway\"]\n",
            _ => "",
        };
        let text = accepting(
            name,
            "sign",
            &format!("versions = [\"{version}\"]\n{vouching}"),
        )
        .replace("server.cert.pem", "wss4j-idp.cert.pem")
        .replace("2026-11-25T16:01:00Z", "2026-11-26T07:03:00Z");
        let text = match vouching {
            "" => text,
            _ => format!("{text}[trust]\npinned = [\"wss4j-gateway.cert.pem\"]\n"),
        };
        let message = format!("wss4j-{version}-{name}.xml");
        let verified = open(&text, &message).unwrap_or_else(|it| panic!("{message}: {it}"));
        confirmed(&verified, confirmation);
    }
}
