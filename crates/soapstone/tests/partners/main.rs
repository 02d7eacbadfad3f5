//! What partners really send and expect: the cases of clients and sectors beside the vectors
//! directory, each with the outcome that is expected of it, and the tests of its kind.
//!
//! A case is one example of a kind. The rule kept here: every folder of cases has its line in the
//! table, and every test that a line names is there.

mod outcomes;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use outcomes::Files;

/// A folder of cases, what is expected of its files, and tests of its kind: a file of the
/// repository and a function in it.
struct Case {
    folder: &'static str,
    /// None, where another party must answer: its tests start a server, or compute keys.
    holds: Option<fn(&Files<'_>)>,
    tests: &'static [(&'static str, &'static str)],
}

const CLIENTS: [Case; 14] = [
    Case {
        folder: "clients/01-node-soap-message",
        holds: Some(outcomes::node_soap),
        tests: &[(
            LIBRARIES,
            "ids_without_a_namespace_are_ids_where_they_are_named",
        )],
    },
    Case {
        folder: "clients/02-id-without-namespace",
        holds: Some(outcomes::ids_without_namespace),
        tests: &[(
            LIBRARIES,
            "ids_without_a_namespace_are_ids_where_they_are_named",
        )],
    },
    Case {
        folder: "clients/03-enveloped-signature-transform",
        holds: Some(outcomes::enveloped),
        tests: &[(
            LIBRARIES,
            "enveloped_signature_among_the_transforms_of_a_part_takes_nothing_out",
        )],
    },
    Case {
        folder: "clients/04-answers-protected-otherwise",
        holds: None,
        tests: &[
            (
                WEAKER,
                "plain_answers_to_signed_requests_reach_the_client_and_are_counted",
            ),
            (
                "crates/soapstone/tests/answers.rs",
                "plain_answers_and_those_with_a_timestamp_are_accepted_where_the_file_says_so",
            ),
        ],
    },
    Case {
        folder: "clients/05-fault-text-lost",
        holds: None,
        tests: &[
            (WEAKER, "an_operator_reads_what_an_unsecured_fault_says"),
            (
                WEAKER,
                "a_client_is_told_as_much_of_an_unsecured_fault_as_the_operator_chose",
            ),
        ],
    },
    Case {
        folder: "clients/06-password-text-without-nonce",
        holds: Some(outcomes::text_without_nonce),
        tests: &[
            (USERS, "nonce_and_time_are_left_out_where_the_file_says_so"),
            (USERS, "under_a_policy_tokens_have_what_it_demands"),
        ],
    },
    Case {
        folder: "clients/07-old-user-name-tokens",
        holds: Some(outcomes::old_tokens),
        tests: &[
            (
                USERS,
                "types_that_are_qualified_names_are_accepted_where_the_file_says_so",
            ),
            (
                USERS,
                "tokens_of_the_draft_of_2002_are_accepted_where_the_file_says_so",
            ),
        ],
    },
    Case {
        folder: "clients/08-cause-of-a-mismatch",
        holds: Some(outcomes::mismatches),
        tests: &[(
            "crates/explain/tests/causes/main.rs",
            "the_true_cause_is_told_first",
        )],
    },
    Case {
        folder: "clients/09-str-transform-of-named-certificate",
        holds: Some(outcomes::str_transforms),
        tests: &[
            (
                "crates/soapstone/tests/references.rs",
                "tokens_are_signed_through_their_references_where_that_is_wanted",
            ),
            (
                "crates/wss/tests/engine/references/covered.rs",
                "a_signature_covers_its_token_through_every_reference",
            ),
        ],
    },
    Case {
        folder: "clients/10-issuer-name-with-a-comma",
        holds: Some(outcomes::quoted_issuer),
        tests: &[(REFERENCES, "issuer_names_with_a_comma_are_quoted_for_net")],
    },
    Case {
        folder: "clients/11-to-of-the-addressing-headers",
        holds: None,
        tests: &[
            (
                "crates/soapstone/tests/request_headers.rs",
                "a_request_is_for_the_requested_url_or_else_the_address_of_the_description",
            ),
            (
                "crates/gateway/tests/gateway/request_headers.rs",
                "a_request_is_for_the_url_that_it_goes_to_unless_the_file_says_another",
            ),
        ],
    },
    Case {
        folder: "clients/12-secure-without-demanded-headers",
        holds: Some(outcomes::demanded_headers),
        tests: &[(
            "crates/soapstone/tests/request_headers.rs",
            "an_addressing_header_that_is_named_is_signed_or_securing_fails",
        )],
    },
    Case {
        folder: "clients/13-self-signed-backend",
        holds: None,
        tests: &[(
            "crates/gateway/tests/gateway/tls.rs",
            "a_backend_with_a_self_signed_certificate_is_reached_if_it_is_named_or_pinned",
        )],
    },
    Case {
        folder: "clients/14-assertions-beside-the-security-policy",
        holds: Some(outcomes::foreign_assertions),
        tests: &[(
            "crates/soapstone/tests/policies.rs",
            "foreign_assertions_are_left_out_by_name_and_warned_of",
        )],
    },
];

const SECTORS: [Case; 15] = [
    Case {
        folder: "sectors/01-answers-not-secured",
        holds: None,
        tests: &[(
            WEAKER,
            "plain_answers_to_signed_requests_reach_the_client_and_are_counted",
        )],
    },
    Case {
        folder: "sectors/02-chain-not-sent",
        holds: Some(outcomes::chain),
        tests: &[(
            "crates/policy/tests/policies/agreements.rs",
            "a_token_that_is_a_path_is_sent_as_one",
        )],
    },
    Case {
        folder: "sectors/03-as4-attachments",
        holds: None,
        tests: &[(
            CARRIED,
            "a_package_and_its_answer_travel_through_two_gateways",
        )],
    },
    Case {
        folder: "sectors/04-as4-2.0-attachments",
        holds: None,
        tests: &[(
            CARRIED,
            "a_package_and_its_answer_travel_through_two_gateways",
        )],
    },
    Case {
        folder: "sectors/05-bdew-sender",
        holds: Some(outcomes::bdew),
        tests: &[(
            "crates/soapstone/tests/references.rs",
            "signature_and_encryption_are_named_and_derived_apart",
        )],
    },
    Case {
        folder: "sectors/06-saml-bearer-on-tls",
        holds: Some(outcomes::bearer),
        tests: &[(ASSERTIONS, "a_bearers_assertion_is_accepted_over_tls")],
    },
    Case {
        folder: "sectors/07-saml-holder-of-key",
        holds: Some(outcomes::holder_of_key),
        tests: &[(
            ASSERTIONS,
            "the_holder_of_an_assertions_key_is_accepted_and_a_thief_is_not",
        )],
    },
    Case {
        folder: "sectors/08-saml-sender-vouches",
        holds: Some(outcomes::sender_vouches),
        tests: &[(ASSERTIONS, "an_attester_is_accepted_and_a_stranger_is_not")],
    },
    Case {
        folder: "sectors/09-skew-without-timestamp",
        holds: Some(outcomes::slow_clock),
        tests: &[(USERS, "ttl_and_skew_hold_without_a_timestamp")],
    },
    Case {
        folder: "sectors/10-peer-clock-offset",
        holds: Some(outcomes::clock_of_a_peer),
        tests: &[(
            "crates/soapstone/tests/peer_clock.rs",
            "times_are_written_and_read_by_the_peers_clock",
        )],
    },
    Case {
        folder: "sectors/11-raw-x509data-sender",
        holds: Some(outcomes::raw_certificate),
        tests: &[(
            "crates/soapstone/tests/sosi.rs",
            "a_client_writes_the_certificate_without_a_reference_to_a_token",
        )],
    },
    Case {
        // MTOM is no part of what is read: it is refused by name.
        folder: "sectors/12-mtom",
        holds: None,
        tests: &[(CARRIED, "mtom_is_refused_by_name")],
    },
    Case {
        folder: "sectors/13-suites-in-one-assertion",
        holds: Some(outcomes::several_suites),
        tests: &[(
            "crates/policy/tests/policies/notices.rs",
            "of_several_suites_in_one_assertion_the_first_that_is_known_is_taken_and_told",
        )],
    },
    Case {
        folder: "sectors/14-thumbprint-of-a-token-in-the-message",
        holds: Some(outcomes::named_token),
        tests: &[(REFERENCES, "a_name_means_a_token_of_the_message")],
    },
    Case {
        folder: "sectors/15-unsigned-business-header",
        holds: Some(outcomes::business_header),
        tests: &[(
            "crates/soapstone/tests/unsigned.rs",
            "a_named_block_is_passed_on_as_what_nothing_proves",
        )],
    },
];

const REFERENCES: &str = "crates/wss/tests/engine/references.rs";
const LIBRARIES: &str = "crates/wss/tests/engine/libraries.rs";
const WEAKER: &str = "crates/gateway/tests/gateway/weaker_answers.rs";
const USERS: &str = "crates/soapstone/tests/usernames.rs";
const ASSERTIONS: &str = "crates/soapstone/tests/assertions/recorded.rs";
const CARRIED: &str = "crates/gateway/tests/gateway/attached/carried.rs";

fn all() -> impl Iterator<Item = &'static Case> {
    const ALL: [&[Case]; 2] = [&CLIENTS, &SECTORS];
    ALL.into_iter().flatten()
}

#[test]
fn every_case_has_its_expected_outcome() {
    let Some(cases) = soapstone_testkit::cases_of_partners() else {
        soapstone_testkit::without_cases_of_partners(all().count());
        return;
    };
    for case in all() {
        let folder = cases.join(case.folder);
        assert!(folder.is_dir(), "{} is not there", case.folder);
        if let Some(holds) = case.holds {
            println!("{}", case.folder);
            holds(&Files(&folder));
        }
    }
}

#[test]
fn every_folder_of_cases_is_in_the_table() {
    let Some(cases) = soapstone_testkit::cases_of_partners() else {
        return;
    };
    let mut there = BTreeSet::new();
    for kind in ["clients", "sectors"] {
        for entry in fs::read_dir(cases.join(kind)).expect("the cases") {
            let name = entry.expect("an entry").file_name();
            let name = name.to_string_lossy();
            if name.starts_with(|first: char| first.is_ascii_digit()) {
                there.insert(format!("{kind}/{name}"));
            }
        }
    }
    let named: BTreeSet<String> = all().map(|case| case.folder.to_owned()).collect();
    assert_eq!(there, named);
}

#[test]
fn every_test_that_the_table_names_is_there() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for case in all() {
        let is_shown = case.holds.is_some() || !case.tests.is_empty();
        assert!(is_shown, "{}: nothing shows it", case.folder);
        for (file, test) in case.tests {
            let text = fs::read_to_string(repository.join(file));
            let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
            let (before, _) = text
                .split_once(&format!("fn {test}("))
                .unwrap_or_else(|| panic!("{file}: {test}"));
            let (_, attributes) = before.rsplit_once("\n\n").unwrap_or(("", before));
            let is_test = ["test]", "test("].iter().any(|it| attributes.contains(it));
            let runs = is_test && !attributes.contains("#[ignore");
            assert!(runs, "{file}: {test} is no test, or is ignored");
        }
    }
}
