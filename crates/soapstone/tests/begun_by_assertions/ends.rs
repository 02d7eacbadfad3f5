//! When a conversation ends: with what confirmed its assertion, and with the rules of the day.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone::cancellations::cancel;
use soapstone::crypto::base64;
use soapstone::endpoint::{Call, Serving};
use soapstone::wss::{
    AssertionPolicy, ConfirmationMethod, IssuedAssertion, Rejected, SamlVersion, SoapVersion,
    WantedAssertion, WantedHolder,
};
use soapstone::xml::{Buffers, Document, ParseOptions};
use soapstone::{Arrived, Service};
use soapstone_testkit::assertion::{ID, ISSUER, Made};
use soapstone_testkit::keys;

use super::{BORNE, HELD, VOUCHED, endpoint, endpoints, owner_of};

/// SAML Core 2.0, 2.4.1.2: the confirmation ends before the assertion does.
#[test]
fn a_conversation_ends_with_the_confirmation_that_began_it() {
    let folder = BORNE.folder();
    let made = Made {
        confirmed: Some(120),
        ..Made::default()
    };
    let sides = BORNE.sides(&folder, &made, "");
    let (_, theirs) = sides.begun(SoapVersion::V12);
    assert!(theirs.expires < Timestamp::now() + jiff::SignedDuration::from_mins(3));
}

/// SAML Core 2.0, 2.4.1: each confirmation has a recipient, a key and an end of its own.
#[test]
fn the_end_of_another_confirmation_gives_a_conversation_no_life() {
    let moment = |seconds: i64| {
        let now = Timestamp::now().as_second();
        Timestamp::from_second(now + seconds).expect("a moment")
    };
    let to = |recipient: &str, end: Option<i64>| {
        let end = end.map(|end| format!(" NotOnOrAfter=\"{}\"", moment(end)));
        format!(
            "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\">\
             <saml:SubjectConfirmationData{} Recipient=\"{recipient}\"></saml:SubjectConfirmationData>\
             </saml:SubjectConfirmation>",
            end.unwrap_or_default()
        )
    };
    let by = |name: &str, end: Option<i64>| {
        let certificate = keys::identity(&format!("CN={name}"), keys::RSA);
        let certificate = base64::encode(certificate.certificate().der());
        let end = end.map(|end| format!(" NotOnOrAfter=\"{}\"", moment(end)));
        format!(
            "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\">\
             <saml:SubjectConfirmationData{}>\
             <ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{certificate}\
             </ds:X509Certificate></ds:X509Data></ds:KeyInfo></saml:SubjectConfirmationData></saml:SubjectConfirmation>",
            end.unwrap_or_default()
        )
    };
    let (us, others) = ("https://service.example/", "https://other.example/");
    let ours = [to(us, Some(120)), by("alice", Some(120))];
    let folder = BORNE.folder();
    let alice = keys::identity("CN=alice", keys::RSA);
    for end in [Some(500), None] {
        for (ours, other) in ours.iter().zip([to(others, end), by("gateway", end)]) {
            for both in [[ours, &other], [&other, ours]] {
                let both = both.map(String::as_str).concat();
                let made = Made {
                    confirmations: Some(&both),
                    ..Made::default()
                };
                let client = BORNE.client(&folder, "alice", &made);
                let text = BORNE.service_text(&format!("recipient = [\"{us}\"]\n"));
                let methods = "confirmation = [\"bearer\", \"holder-of-key\"]";
                let text = text.replace("confirmation = [\"bearer\"]", methods);
                let sides = BORNE.between(client, endpoint(&folder, &text));
                let request = sides.asked(SoapVersion::V12);
                let mut buffers = Buffers::default();
                let mut call = Call::new(Timestamp::now(), &mut buffers);
                let read = sides.service.read(request, &mut call).expect("it reads");
                let read = read.over_tls();
                let read = read.shown(Some(Arc::new(alice.certificate().clone())));
                let answer = sides.service.receive_with(read, sides.memory(), &mut call);
                let Ok(Arrived::Answered(answer)) = answer else {
                    panic!("{both}: {answer:?}");
                };
                assert!(answer.refused.is_none(), "{:?}", answer.refused);
                let context = sides.contexts.contexts().pop().expect("a context");
                let most = Timestamp::now() + jiff::SignedDuration::from_mins(3);
                assert!(context.expires < most, "{both}: {}", context.expires);
            }
        }
    }
}

/// A context is kept beyond a reload, and the rules are those of today.
#[test]
fn a_conversation_ends_when_its_assertion_is_cancelled_or_its_issuer_is_no_more() {
    let folder = HELD.folder();
    let sides = HELD.sides(&folder, &Made::default(), "refuse_cancelled = true\n");
    let soap = SoapVersion::V11;
    let (ours, theirs) = sides.begun(soap);
    let said = |service: &Service| sides.said_by(service, &ours, soap);
    assert_eq!(said(&sides.service), Ok(()));
    let other = HELD
        .service_text("")
        .replace(ISSUER, "https://other.example");
    let other: Service = endpoint(&folder, &other);
    assert!(matches!(said(&other), Err(Rejected::ContextUnknown { .. })));
    let now = Timestamp::now();
    let ends = owner_of(&theirs).ends;
    cancel(&sides.replay, (ISSUER, "_another"), "alice", ends, now).expect("room");
    assert_eq!(said(&sides.service), Ok(()));
    cancel(&sides.replay, (ISSUER, ID), "alice", ends, now).expect("room");
    assert_eq!(said(&sides.service), Err(Rejected::AssertionCancelled));
}

/// Whoever may not vouch any more could have named anybody.
#[test]
fn a_conversation_ends_when_nobody_may_vouch_any_more_who_did() {
    let folder = VOUCHED.folder();
    let sides = VOUCHED.sides(&folder, &Made::default(), "");
    let soap = SoapVersion::V11;
    let (ours, theirs) = sides.begun(soap);
    let attester = owner_of(&theirs).attester.as_ref().expect("an attester");
    assert_eq!(attester.certificate.subject, "CN=alice");
    let said = |attesters: &str| {
        let text = VOUCHED.service_text("");
        let text = text.replace("[\"CN=alice\", \"CN=gateway\"]", attesters);
        sides.said_by(&endpoint(&folder, &text), &ours, soap)
    };
    for attester in ["cn = alice", "cn = alice of CN=Ca"] {
        assert_eq!(said(&format!("[\"{attester}\"]")), Ok(()));
    }
    // Nor may a namesake of another authority.
    for attester in ["CN=gateway", "CN=alice of CN=other"] {
        let ended = said(&format!("[\"{attester}\"]"));
        let is_over = matches!(ended, Err(Rejected::ContextUnknown { .. }));
        assert!(is_over, "{attester}: {ended:?}");
    }
}

/// Which of two holders of one name may vouch, nobody knows.
#[test]
fn an_attester_without_an_issuer_is_refused_where_two_may_have_issued_its_certificate() {
    let folder = VOUCHED.folder();
    let other = keys::authority("CN=other");
    folder.write("other.cert.pem", other.certificates_to_pem());
    let namesake = keys::identity_by("CN=other", "CN=alice", keys::P256);
    folder.write("namesake.cert.pem", namesake.certificates_to_pem());
    let said = |trust: &str, attesters: &str| {
        let text = VOUCHED
            .service_text("")
            .replace("pinned = [\"alice.cert.pem\", \"gateway.cert.pem\"]", trust)
            .replace("\"CN=alice\", \"CN=gateway\"", attesters);
        endpoints::problems::<Serving>(&folder, &text)
    };
    let expected = "`attesters` has that of several certificates: `trust` believes 2 issuers, and each may issue one\n    \
                    hint: say whose it is: attesters = [\"CN=gateway of CN=authority\"]";
    let authorities = "anchors = [\"ca.cert.pem\", \"other.cert.pem\"]";
    let pinned = "pinned = [\"alice.cert.pem\", \"namesake.cert.pem\"]";
    for trust in [authorities, pinned] {
        let found = said(trust, "\"CN=alice\"");
        assert!(found.ends_with(expected), "{trust}: {found}");
        assert_eq!(said(trust, "\"CN=alice of CN=ca\""), "", "{trust}");
    }
    // The pinned namesake of one makes nobody else ambiguous.
    assert_eq!(said(pinned, "\"CN=gateway\""), "");
}

/// Whom `[trust]` knows no more vouches for nobody, in contexts of before as well.
#[test]
fn a_context_ends_with_the_trust_in_whoever_vouched() {
    let folder = VOUCHED.folder();
    let other = keys::authority("CN=other");
    folder.write("other.cert.pem", other.certificates_to_pem());
    let file = |trust: &str| {
        let known = "[trust]\npinned = [\"alice.cert.pem\", \"gateway.cert.pem\"]\n";
        let text = VOUCHED.service_text("");
        assert!(text.contains(known), "{text}");
        // Two authorities may certify one attester.
        let named = "\"CN=alice of CN=ca\", \"CN=gateway of CN=ca\"";
        text.replace(known, &format!("[trust]\n{trust}\n"))
            .replace("\"CN=alice\", \"CN=gateway\"", named)
    };
    let authority = "anchors = [\"ca.cert.pem\"]";
    let both = "anchors = [\"other.cert.pem\", \"ca.cert.pem\"]";
    let alice = format!("{authority}\nsubjects = [\"CN=alice\"]");
    let gateway = format!("{authority}\nsubjects = [\"CN=gateway\"]");
    let pinned = "pinned = [\"alice.cert.pem\"]";
    let elsewhere = "anchors = [\"other.cert.pem\"]";
    let another = "pinned = [\"gateway.cert.pem\"]";
    // A pinned certificate is no authority.
    let no_authority = "pinned = [\"ca.cert.pem\"]";
    let cases: [(&str, &[&str], &[&str]); 2] = [
        (
            authority,
            &[authority, both, &alice, pinned],
            &[elsewhere, &gateway, another, no_authority],
        ),
        // Nobody has looked for a path to the authority.
        (pinned, &[pinned], &[elsewhere, authority, another]),
    ];
    let soap = SoapVersion::V11;
    for (before, known, unknown) in cases {
        let client = VOUCHED.client(&folder, "alice", &Made::default());
        let sides = VOUCHED.between(client, endpoint(&folder, &file(before)));
        let (ours, _) = sides.begun(soap);
        let said = |trust: &str| sides.said_by(&endpoint(&folder, &file(trust)), &ours, soap);
        for trust in known {
            assert_eq!(said(trust), Ok(()), "{before}, then {trust}");
        }
        for trust in unknown {
            let ended = said(trust);
            let is_over = matches!(ended, Err(Rejected::ContextUnknown { .. }));
            assert!(is_over, "{before}, then {trust}: {ended:?}");
        }
    }
}

/// What another certificate signs in the name of the issuer begins nothing any more, and goes on
/// with nothing.
#[test]
fn a_context_ends_with_the_trust_in_the_certificate_of_its_issuer() {
    let folder = HELD.folder();
    let other = keys::authority("CN=other");
    folder.write("other.cert.pem", other.certificates_to_pem());
    let file = |keys: &str| {
        let text = HELD.service_text("");
        assert!(text.contains("pinned = [\"idp.cert.pem\"]"), "{text}");
        text.replace("pinned = [\"idp.cert.pem\"]", keys)
    };
    let pinned = "pinned = [\"idp.cert.pem\"]";
    let both = "pinned = [\"gateway.cert.pem\", \"idp.cert.pem\"]";
    let authority = "anchors = [\"ca.cert.pem\"], subjects = [\"CN=idp\"]";
    let elsewhere = "anchors = [\"other.cert.pem\"], subjects = [\"CN=idp\"]";
    let somebody = "anchors = [\"ca.cert.pem\"], subjects = [\"CN=gateway\"]";
    let another = "pinned = [\"gateway.cert.pem\"]";
    let cases: [(&str, &[&str], &[&str]); 2] = [
        (pinned, &[pinned, both], &[another, authority]),
        (
            authority,
            &[authority, both],
            &[another, elsewhere, somebody],
        ),
    ];
    // A reader finds the authority of a certificate that the signature has.
    let idp = keys::identity("CN=idp", keys::RSA);
    let key_info = format!(
        "</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>",
        base64::encode(idp.certificate().der())
    );
    let written = HELD.written("alice", &Made::default());
    let with_certificate = written.replacen("</ds:SignatureValue>", &key_info, 1);
    assert_ne!(with_certificate, written);
    folder.write("alice.saml.xml", with_certificate);
    let soap = SoapVersion::V11;
    for (before, known, unknown) in cases {
        let client = endpoint(&folder, &HELD.client_text());
        let sides = HELD.between(client, endpoint(&folder, &file(before)));
        let (ours, _) = sides.begun(soap);
        let said = |keys: &str| sides.said_by(&endpoint(&folder, &file(keys)), &ours, soap);
        for keys in known {
            assert_eq!(said(keys), Ok(()), "{before}, then {keys}");
        }
        for keys in unknown {
            let ended = said(keys);
            let is_over = matches!(ended, Err(Rejected::ContextUnknown { .. }));
            assert!(is_over, "{before}, then {keys}: {ended:?}");
        }
    }
}

/// The assertion of a token service is that of its request, and ends before the service says so.
#[test]
fn a_context_ends_for_its_client_with_the_assertion_that_a_token_service_made() {
    let folder = HELD.folder();
    let sides = HELD.sides(&folder, &Made::default(), "");
    let made = Made {
        id: "_issued",
        ..Made::default()
    };
    let text = HELD.written("alice", &made).into_bytes();
    let document = Document::parse(text, &ParseOptions::default(), &mut Buffers::default());
    let document = document.expect("a document");
    let alice = keys::identity("CN=alice", keys::RSA);
    let policy = AssertionPolicy {
        methods: vec![ConfirmationMethod::HolderOfKey],
        audiences: vec!["https://service.example".to_owned()],
        ..AssertionPolicy::default()
    };
    let wanted = WantedAssertion {
        version: SamlVersion::V20,
        holder: WantedHolder::Public(alice.certificate().public_key()),
        issuers: &[],
        policy: &policy,
    };
    let now = Timestamp::now();
    let issued = IssuedAssertion::judge(document.root(), wanted, now);
    let mut issued = issued.expect("what was wanted");
    issued.ends = now + jiff::SignedDuration::from_secs(60);
    let mut buffers = Buffers::default();
    let mut call = Call::new(now, &mut buffers);
    let handshakes = sides.client.handshakes().expect("it has conversations");
    let handshakes = handshakes.with_assertion(Some(&issued));
    let asked = handshakes.begin(HELD.to(), SoapVersion::V11, &mut call);
    let ours = sides.concluded(&sides.client, asked.expect("a request"));
    assert_eq!(ours.expires, issued.ends);
    let theirs = sides.contexts.contexts().pop().expect("a context");
    assert_eq!(owner_of(&theirs).id, "_issued");
    assert!(theirs.expires > ours.expires);
}
