//! Whose assertion renews a conversation.

use jiff::Timestamp;
use soapstone::cancellations::cancel;
use soapstone::wss::SoapVersion;
use soapstone_testkit::assertion::{ID, ISSUER, Made};

use super::{BORNE, owner_of};

/// Whoever has another assertion neither renews the context nor learns of it.
#[test]
fn the_subject_alone_renews_its_conversation() {
    let folder = BORNE.folder();
    let sides = BORNE.sides(&folder, &Made::default(), "");
    let soap = SoapVersion::V12;
    let (ours, theirs) = sides.begun(soap);
    for (subject, made) in [
        ("bob", Made::default()),
        (
            "alice",
            Made {
                qualifiers: " NameQualifier=\"https://elsewhere.example\"",
                ..Made::default()
            },
        ),
        (
            "alice",
            Made {
                qualifiers: " Format=\"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress\"",
                ..Made::default()
            },
        ),
    ] {
        let other = BORNE.client(&folder, subject, &made);
        let stolen = BORNE.asked(&other, Some(&ours), soap).expect("a request");
        let refused = sides.refusal(stolen.bytes);
        assert_eq!(refused, Some("context-not-proven"), "{subject}");
    }
    // Another assertion of the same subject has an end of its own.
    let made = Made {
        id: "_later",
        end: 1200,
        ..Made::default()
    };
    let again = BORNE.client(&folder, "alice", &made);
    let handshake = BORNE.asked(&again, Some(&ours), soap).expect("a request");
    let renewed = sides.concluded(&again, handshake);
    assert!(renewed.expires > theirs.expires && renewed.instance != ours.instance);
}

/// A context whose messages are refused is as good as none, for who shows another assertion, too.
#[test]
fn another_assertion_does_not_bring_back_what_a_cancelled_one_began() {
    let folder = BORNE.folder();
    let sides = BORNE.sides(&folder, &Made::default(), "refuse_cancelled = true\n");
    let soap = SoapVersion::V12;
    let (ours, theirs) = sides.begun(soap);
    let (now, ends) = (Timestamp::now(), owner_of(&theirs).ends);
    cancel(&sides.replay, (ISSUER, ID), "alice", ends, now).expect("room");
    let made = Made {
        id: "_later",
        ..Made::default()
    };
    let again = BORNE.client(&folder, "alice", &made);
    let renewal = BORNE.asked(&again, Some(&ours), soap).expect("a request");
    let refused = sides.refusal(renewal.bytes);
    assert_eq!(refused, Some("context-not-proven"));
}
