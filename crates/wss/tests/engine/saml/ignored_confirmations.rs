//! Confirmations of which a policy ignores something by name (SAML Core 2.0, 2.4.1.2).

use soapstone_wss::{
    ConfirmationPart, Facts, IGNORED_CONFIRMATION, Rejected, Retirement, SamlVersion,
};

use super::issuing::*;

/// A message of a bearer whose confirmation says this.
fn data(attributes: &str) -> String {
    let data = format!("<saml:SubjectConfirmationData {attributes}/>");
    let draft = Draft {
        confirmation: confirmation(SamlVersion::V20, "bearer", &data),
        ..Draft::bearer(SamlVersion::V20)
    };
    message(&draft.signed())
}

#[test]
fn what_nothing_is_compared_with_is_ignored_by_name_and_counted() {
    let (address, request) = (
        data("Address=\"192.0.2.1\""),
        data("InResponseTo=\"_request\""),
    );
    let both = data("Address=\"192.0.2.1\" InResponseTo=\"_request\"");
    let every = [ConfirmationPart::Address, ConfirmationPart::InResponseTo];
    for ignored in [&every[..1], &every[1..], &every] {
        let policy = adjusted(&by_connection(), |accepted| {
            accepted.ignored_confirmation = ignored.to_vec();
        });
        for (sent, said) in [
            (&address, &every[..1]),
            (&request, &every[1..]),
            (&both, &every),
        ] {
            let opened = open_as(&policy, sent, &Facts::default());
            match said.iter().all(|part| ignored.contains(part)) {
                true => {
                    let opened = opened.unwrap();
                    assert_eq!(opened.evidence().weak, [IGNORED_CONFIRMATION]);
                }
                false => assert_eq!(opened.unwrap_err().name(), "assertion-unconfirmed"),
            }
        }
        // Nothing else is weak.
        let plain = data("");
        let opened = open_as(&policy, &plain, &Facts::default()).unwrap();
        assert_eq!(opened.evidence().weak, Vec::<&str>::new());
    }
    // Everything else is compared as ever.
    let mut policy = adjusted(&by_connection(), |accepted| {
        accepted.ignored_confirmation = every.to_vec();
    });
    for (more, problem) in [
        (
            "Recipient=\"https://other.example/in\"",
            "its `Recipient` is `https://other.example/in`",
        ),
        (
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"saml:Other\"",
            "it says data of another type",
        ),
    ] {
        let sent = data(&format!(
            "Address=\"192.0.2.1\" InResponseTo=\"_request\" {more}"
        ));
        let refused = open_as(&policy, &sent, &Facts::default()).unwrap_err();
        let problem = problem.to_owned();
        assert_eq!(refused, Rejected::AssertionUnconfirmed { problem });
    }
    // It has an end.
    policy.retirements.push(Retirement {
        algorithm: IGNORED_CONFIRMATION.to_owned(),
        from: moment(),
    });
    let refused = open_as(&policy, &both, &Facts::default()).unwrap_err();
    assert_eq!(
        refused,
        Rejected::AlgorithmRetired {
            algorithm: IGNORED_CONFIRMATION,
            since: moment()
        }
    );
    // Another confirmation, which says nothing of the way, is enough before and after.
    let by_data = |data: &str| confirmation(SamlVersion::V20, "bearer", data);
    let draft = Draft {
        confirmation: format!(
            "{}{}",
            by_data("<saml:SubjectConfirmationData Address=\"192.0.2.1\"/>"),
            by_data("<saml:SubjectConfirmationData/>")
        ),
        ..Draft::bearer(SamlVersion::V20)
    };
    let opened = open_as(&policy, &message(&draft.signed()), &Facts::default()).unwrap();
    assert_eq!(opened.evidence().weak, Vec::<&str>::new());
    // SAML 1.1 has neither, and what its data says is not known.
    let said = "<saml:SubjectConfirmationData>192.0.2.1</saml:SubjectConfirmationData>";
    let draft = Draft {
        confirmation: confirmation(SamlVersion::V11, "bearer", said),
        ..Draft::bearer(SamlVersion::V11)
    };
    let old = adjusted(&policy, |accepted| {
        accepted.versions = vec![SamlVersion::V11]
    });
    let refused = open_as(&old, &message(&draft.signed()), &Facts::default()).unwrap_err();
    let problem = "it says `SubjectConfirmationData`".to_owned();
    assert_eq!(refused, Rejected::AssertionUnconfirmed { problem });
}
