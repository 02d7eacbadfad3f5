//! Messages broken in one known way each: the true cause is told first, and proven.

mod cases;
mod hypotheses;
#[path = "../support/kinds.rs"]
mod kinds;
mod references;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
mod values;

use soapstone::crypto::{SignatureAlgorithm, hexadecimal};
use soapstone_explain::Severity;

use cases::Cases;
use support::{
    PLAIN, Signer, as_it_is, first_causes, known, private_key, secured, signed, told_with,
    with_value,
};

fn all(cases: &mut Cases) {
    references::digests(cases);
    references::forms(cases);
    references::afterwards(cases);
    values::values(cases);
    values::pss(cases);
    values::ecdsa(cases);
    values::hmac(cases);
    secrets::encrypted(cases);
    secrets::users(cases);
}

#[test]
fn the_true_cause_is_told_first() {
    let mut cases = Cases::default();
    all(&mut cases);
    let count = cases.0.len();
    assert!(count >= 60, "{count} messages");
    let mut missed = Vec::new();
    let likely = ["other-key", "password"];
    for case in cases.0 {
        let told = told_with(&case.message, case.known);
        let causes = first_causes(&told);
        let is_likely = likely.contains(&case.kinds[0]);
        let true_causes = causes
            .iter()
            .filter(|cause| cause.kinds == case.kinds && cause.certain != is_likely);
        // `ds:SignedInfo` changes with a digest in it that was changed.
        let fits = match case.kinds[0] {
            "digest-value-changed" => true_causes.count() >= 1,
            _ => true_causes.count() == causes.len() && !causes.is_empty(),
        };
        if !fits {
            missed.push(format!(
                "{}: expected {:?}, found {causes:#?}",
                case.name, case.kinds
            ));
        }
    }
    assert!(
        missed.len() * 20 <= count,
        "{} of {count} missed: {}",
        missed.len(),
        missed.join("\n")
    );
    for miss in missed {
        println!("{miss}");
    }
}

/// Messages that other people's senders broke: the file, the kind, and the parts that it explains.
const REPORTED: [(&str, &str, usize); 11] = [
    ("01-pretty", "white-space", 3),
    ("02-inclusive", "canonicalization", 1),
    ("03-prefixlist", "prefix-list", 1),
    ("04-signedinfo-prefixlist", "prefix-list", 1),
    ("05-gt", "escaping", 1),
    ("06-noid", "before-id", 1),
    ("07-otherkey", "other-key", 1),
    ("08-crlf", "line-ends", 1),
    ("11-ts", "timestamp-changed", 1),
    ("12-si-inclusive", "canonicalization", 1),
    ("13-envelope-prefix", "prefix-declaration", 1),
];

/// They stand beside the vectors directory.
#[test]
fn the_causes_of_reported_mismatches_are_told_first() {
    let Some(cases) = soapstone_testkit::cases_of_partners() else {
        soapstone_testkit::without_cases_of_partners(REPORTED.len());
        return;
    };
    let folder = cases.join("clients/08-cause-of-a-mismatch");
    assert!(folder.is_dir(), "{} is not there", folder.display());
    for (file, kind, parts) in REPORTED {
        let message = std::fs::read(folder.join(format!("{file}.xml"))).expect("a message");
        let options = soapstone_explain::Options {
            now: Some("2026-11-25T12:01:00Z".parse().expect("a moment")),
            ..soapstone_explain::Options::default()
        };
        let told = soapstone_explain::explain(message, &options).expect("an explanation");
        let kinds: Vec<&[&str]> = first_causes(&told)
            .iter()
            .map(|cause| cause.kinds.as_slice())
            .collect();
        assert_eq!(kinds, vec![[kind].as_slice(); parts], "{file}");
    }
}

#[test]
fn a_message_as_it_was_made_has_no_error() {
    let told = support::told(&signed());
    assert_eq!(told.findings, []);
    assert_eq!(told.signatures.len(), 1);
    assert!(
        told.sketch.contains("mechanism = \"sign\""),
        "{}",
        told.sketch
    );
}

/// A signature of the application in the Body, which nothing in the message makes.
const OF_THE_APPLICATION: &str = "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:SignedInfo>\
<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>\
<ds:SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256\"/><ds:Reference URI=\"\"><ds:Transforms>\
<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"/></ds:Transforms>\
<ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><ds:DigestValue>QUJDRA==</ds:DigestValue>\
</ds:Reference></ds:SignedInfo><ds:SignatureValue>QUJDRA==</ds:SignatureValue></ds:Signature>";

/// No endpoint judges it, and its document may be another than the message.
#[test]
fn a_signature_of_the_application_is_no_error_beside_that_of_the_header() {
    let plain = PLAIN.replacen("<inner ", &format!("{OF_THE_APPLICATION}<inner "), 1);
    let told = support::told(&secured("client", support::RSA, &plain));
    assert!(!told.is_refused(), "{:#?}", told.findings);
    let (places, others): (Vec<_>, Vec<_>) = told
        .findings
        .iter()
        .map(|finding| {
            (
                finding.severity,
                finding.place.contains("content of the Body"),
            )
        })
        .partition(|found| *found == (Severity::Note, true));
    assert!(!places.is_empty());
    assert_eq!(others, []);
    // Where it is the only one, it is the one that is asked about.
    assert!(support::told(&plain).is_refused());
}

/// SAML Token Profile 1.1.1, 3.4 and 3.5: a `KeyIdentifier` with the id.
#[test]
fn an_assertion_that_is_named_by_its_id_is_dereferenced() {
    for file in [
        "wss4j-1.1-sender-vouches",
        "wss4j-2.0-sender-vouches",
        "saml-sv",
    ] {
        let path = format!(
            "{}/../soapstone/tests/assertions/{file}.xml",
            env!("CARGO_MANIFEST_DIR")
        );
        let message = std::fs::read(path).expect("a message");
        let told = soapstone_explain::explain(message, &soapstone_explain::Options::default());
        let told = told.expect("an explanation");
        let by_id = told.signatures.iter().flat_map(|one| &one.references);
        let by_id: Vec<_> = by_id
            .filter(|one| one.transforms.iter().any(|name| name.contains("STR")))
            .map(|one| (one.element.as_str(), one.state))
            .collect();
        assert_eq!(by_id.len(), 1, "{file}: {by_id:?}");
        assert!(by_id[0].0.ends_with("Assertion"), "{file}: {by_id:?}");
        assert_eq!(by_id[0].1, soapstone_explain::State::Matches, "{file}");
    }
}

/// Keys of RSA beside that of the signer make longer values, which says nothing of an ECDSA value.
#[test]
fn the_length_of_an_ecdsa_value_is_not_held_against_keys_of_rsa() {
    let lines = "[security]\nmechanism = \"sign\"\nalgorithms = { signature = [\"ecdsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }";
    let key = private_key("p384");
    let by_another = |octets: &[u8]| {
        let value = key.sign(SignatureAlgorithm::EcdsaSha256, octets);
        value.expect("a signature")[..64].to_vec()
    };
    let message = with_value(&secured("p256", lines, PLAIN), by_another, &as_it_is);
    let known = soapstone_explain::Known {
        certificates: vec![("the peer's".to_owned(), support::certificate("server"))],
        ..known()
    };
    let told = told_with(message.as_bytes(), known);
    let causes: Vec<_> = told.causes().collect();
    assert_eq!(causes.len(), 1, "{causes:#?}");
    assert_eq!(causes[0].kinds, ["other-key"]);
    assert!(!causes[0].says.contains("bytes"), "{causes:#?}");
}

#[test]
fn an_old_message_has_a_clock_for_its_cause() {
    let message = signed();
    let options = soapstone_explain::Options {
        now: Some("2026-11-21T18:02:29Z".parse().expect("a moment")),
        ..soapstone_explain::Options::default()
    };
    let told = soapstone_explain::explain(message.into_bytes(), &options).expect("an explanation");
    assert_eq!(told.findings[0].kind, "timestamp-expired");
    assert_eq!(told.findings[0].severity, Severity::Warning);
    assert_eq!(told.findings[0].causes[0].kinds, ["clock"]);
}

#[test]
fn a_session_key_of_the_good_message_is_recognized() {
    use soapstone::xmlsec::enc::{EncryptedKey, OpeningKey};
    let good = secured(
        "client",
        "[security]\nmechanism = \"encrypt\"\nalgorithms = { key_transport = [\"rsa-oaep-mgf1p\"], data = [\"aes128-gcm\"] }",
        PLAIN,
    );
    let read = support::document(&good);
    let key = read
        .elements_named("http://www.w3.org/2001/04/xmlenc#", "EncryptedKey")
        .next()
        .expect("a session key");
    let key = EncryptedKey::parse(&read, key.id(), 16).expect("a session key");
    let key = key
        .open(OpeningKey::Private(&private_key("server")), Some(16))
        .expect("a session key");
    let lines = format!(
        "shared_key = {{ hex = \"{}\" }}\n[security]\nmechanism = \"sign\"\nkey_reference = \"key-name\"\n\
         algorithms = {{ signature = [\"hmac-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }}",
        hexadecimal::encode(values::SECRET)
    );
    let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
    let message = with_value(
        &secured("", &lines, PLAIN),
        |octets| signer.sign(octets),
        &as_it_is,
    );
    let options = soapstone_explain::Options {
        known: known(),
        against: Some(good.as_bytes()),
        ..soapstone_explain::Options::default()
    };
    let told =
        soapstone_explain::explain(message.clone().into_bytes(), &options).expect("an explanation");
    assert_eq!(first_causes(&told)[0].kinds, ["key-of-another-message"]);
    // An answer is rightly signed with the session key of its request.
    let options = soapstone_explain::Options {
        known: known(),
        request: Some(good.as_bytes()),
        ..soapstone_explain::Options::default()
    };
    let told = soapstone_explain::explain(message.into_bytes(), &options).expect("an explanation");
    assert_eq!(told.findings, []);
}

/// What is told where nothing proves a cause.
#[test]
fn what_no_known_mistake_explains_is_told_to_be_likely() {
    let message = signed();
    let value = |text: &str| {
        let at = text.find("<ds:DigestValue>").expect("a value") + "<ds:DigestValue>".len();
        let end = text[at..].find('<').expect("its end");
        text[at..at + end].to_owned()
    };
    let other_info = |_: &_, _, form: &str| form.replace("xmldsig#", "other#").into_bytes();
    let rsa = Signer::client();
    for (kind, broken) in [
        (
            "content-changed",
            message.replace(">deep<", ">deep and changed<"),
        ),
        ("digest-length", message.replace(&value(&message), "QUJD")),
        (
            "signed-info-changed",
            with_value(&message, |octets| rsa.sign(octets), &other_info),
        ),
        (
            "key-kind",
            message.replace(
                "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
                "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
            ),
        ),
    ] {
        assert_ne!(broken, message, "{kind}");
        let told = support::told(&broken);
        let causes = told.findings.iter().flat_map(|finding| &finding.causes);
        let found = causes.clone().find(|cause| cause.kinds == [kind]);
        assert!(
            found.is_some_and(|cause| !cause.certain),
            "{kind}: {:#?}",
            causes.collect::<Vec<_>>()
        );
    }
}
