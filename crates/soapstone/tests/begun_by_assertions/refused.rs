//! Assertions that begin nothing: used, over or stolen.

use soapstone::Client;
use soapstone::endpoint::HandshakeError;
use soapstone::wss::{Rejected, SoapVersion};
use soapstone_testkit::assertion::Made;

use super::{BORNE, HELD, VOUCHED, endpoint};

/// SAML Core 2.0, 2.5.1.5: the second context would be another use of the assertion.
#[test]
fn an_assertion_for_one_use_begins_one_conversation() {
    for case in [HELD, BORNE, VOUCHED] {
        let folder = case.folder();
        let made = Made {
            once: true,
            ..Made::default()
        };
        let sides = case.sides(&folder, &made, "");
        sides.begun(SoapVersion::V11);
        let again = sides.asked(SoapVersion::V11);
        let again = sides.received(again).map(drop);
        assert_eq!(again, Err(Rejected::Replayed), "{}", case.method);
        assert_eq!(sides.contexts.contexts().len(), 1);
    }
}

/// The times of the assertion are over, though by less than clocks may differ: it would begin a
/// context that has ended.
#[test]
fn an_assertion_that_is_over_begins_nothing() {
    for (end, expected) in [(-1, None), (-6000, Some("assertion-expired"))] {
        let folder = BORNE.folder();
        let made = Made {
            begin: -7000,
            end,
            ..Made::default()
        };
        let sides = BORNE.sides(&folder, &made, "skew = \"1m\"\n");
        let request = sides.asked(SoapVersion::V11);
        match expected {
            None => {
                let refused = sides.refusal(request);
                assert_eq!(refused, Some("trust-not-authenticated"));
            }
            Some(name) => {
                let refused = sides.received(request).map(drop);
                assert_eq!(refused.map_err(|it| it.name()), Err(name));
            }
        }
        assert!(sides.contexts.contexts().is_empty());
    }
}

/// The thief has the assertion, and a key of his own.
#[test]
fn a_stolen_assertion_begins_nothing() {
    let folder = HELD.folder();
    let sides = HELD.sides(&folder, &Made::default(), "");
    let request = sides.asked(SoapVersion::V11);
    // Nor is the request another one's, secured for another service.
    let thiefs = HELD
        .client_text()
        .replace("alice.key.pem", "gateway.key.pem")
        .replace("alice.cert.pem", "gateway.cert.pem");
    let thief: Client = endpoint(&folder, &thiefs);
    let stolen = HELD.asked(&thief, None, SoapVersion::V11);
    assert!(
        matches!(stolen, Err(HandshakeError::Unsecurable(_))),
        "{stolen:?}"
    );
    // A message that another key signs, with the assertion of the first beside it.
    let vouching = VOUCHED.client_text().replace("alice.key", "gateway.key");
    let vouching = vouching.replace("alice.cert", "gateway.cert");
    let thief: Client = endpoint(&folder, &vouching);
    let forged = VOUCHED
        .asked(&thief, None, SoapVersion::V11)
        .expect("one")
        .bytes;
    let refused = sides.received(forged).map(drop);
    assert!(refused.is_err(), "{refused:?}");
    assert!(sides.contexts.contexts().is_empty());
    // And a copy of the request itself begins no second context.
    sides.answered(request.clone());
    let copy = sides.received(request).map(drop);
    assert_eq!(copy, Err(Rejected::Replayed));
    assert_eq!(sides.contexts.contexts().len(), 1);
}
