//! What partners really send and expect: the cases of clients and sectors beside the vectors
//! directory, each with the outcome that is expected of it, and the tests of its kind.
//!
//! A case is one example of a kind. The rule kept here: every folder of cases has its line in the
//! table, and every test that a line names is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::{ForgetfulReplayCache, Memory, OpenedMessage, Opener, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::keys::RSA;

/// A folder of cases, what is expected of its files, and tests of its kind: a file of the
/// repository and a function in it.
struct Case {
    folder: &'static str,
    /// None, where a server is needed: its tests start one.
    holds: Option<fn(&Files<'_>)>,
    tests: &'static [(&'static str, &'static str)],
}

const CLIENTS: [Case; 14] = [
    Case {
        folder: "clients/01-node-soap-message",
        holds: Some(node_soap),
        tests: &[(
            LIBRARIES,
            "ids_without_a_namespace_are_ids_where_they_are_named",
        )],
    },
    Case {
        folder: "clients/02-id-without-namespace",
        holds: Some(ids_without_namespace),
        tests: &[(
            LIBRARIES,
            "ids_without_a_namespace_are_ids_where_they_are_named",
        )],
    },
    Case {
        folder: "clients/03-enveloped-signature-transform",
        holds: Some(enveloped),
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
        holds: Some(text_without_nonce),
        tests: &[
            (USERS, "nonce_and_time_are_left_out_where_the_file_says_so"),
            (USERS, "under_a_policy_tokens_have_what_it_demands"),
        ],
    },
    Case {
        folder: "clients/07-old-user-name-tokens",
        holds: Some(old_tokens),
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
        holds: Some(mismatches),
        tests: &[(
            "crates/explain/tests/causes/main.rs",
            "the_true_cause_is_told_first",
        )],
    },
    Case {
        folder: "clients/09-str-transform-of-named-certificate",
        holds: Some(str_transforms),
        tests: &[
            (
                "crates/soapstone/tests/references.rs",
                "tokens_are_signed_through_their_references_where_that_is_wanted",
            ),
            (
                REFERENCES,
                "a_signature_covers_its_token_through_every_reference",
            ),
        ],
    },
    Case {
        folder: "clients/10-issuer-name-with-a-comma",
        holds: Some(quoted_issuer),
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
        holds: Some(demanded_headers),
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
        holds: Some(foreign_assertions),
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
        holds: Some(chain),
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
        holds: Some(bdew),
        tests: &[(
            "crates/soapstone/tests/references.rs",
            "signature_and_encryption_are_named_and_derived_apart",
        )],
    },
    Case {
        folder: "sectors/06-saml-bearer-on-tls",
        holds: None,
        tests: &[(ASSERTIONS, "a_bearers_assertion_is_accepted_over_tls")],
    },
    Case {
        folder: "sectors/07-saml-holder-of-key",
        holds: None,
        tests: &[(
            ASSERTIONS,
            "the_holder_of_an_assertions_key_is_accepted_and_a_thief_is_not",
        )],
    },
    Case {
        folder: "sectors/08-saml-sender-vouches",
        holds: None,
        tests: &[(ASSERTIONS, "an_attester_is_accepted_and_a_stranger_is_not")],
    },
    Case {
        folder: "sectors/09-skew-without-timestamp",
        holds: Some(slow_clock),
        tests: &[(USERS, "ttl_and_skew_hold_without_a_timestamp")],
    },
    Case {
        folder: "sectors/10-peer-clock-offset",
        holds: Some(clock_of_a_peer),
        tests: &[(
            "crates/soapstone/tests/peer_clock.rs",
            "times_are_written_and_read_by_the_peers_clock",
        )],
    },
    Case {
        folder: "sectors/11-raw-x509data-sender",
        holds: Some(raw_certificate),
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
        holds: Some(several_suites),
        tests: &[(
            "crates/policy/tests/policies/notices.rs",
            "of_several_suites_in_one_assertion_the_first_that_is_known_is_taken_and_told",
        )],
    },
    Case {
        folder: "sectors/14-thumbprint-of-a-token-in-the-message",
        holds: Some(named_token),
        tests: &[(REFERENCES, "a_name_means_a_token_of_the_message")],
    },
    Case {
        folder: "sectors/15-unsigned-business-header",
        holds: Some(business_header),
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
const ASSERTIONS: &str = "crates/soapstone/tests/assertions.rs";
const CARRIED: &str = "crates/gateway/tests/gateway/attached/carried.rs";

/// The files of a case.
struct Files<'a>(&'a Path);

impl Files<'_> {
    fn text(&self, name: &str) -> String {
        let path = self.0.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// An endpoint of a file's text with more keys in its last table, which is `[security]`.
    fn endpoint<P: Fixed>(&self, text: &str, more: &str) -> Result<Endpoint<P>, Problems> {
        let text = format!("{text}\n{more}\n");
        let file = self.0.join("endpoint.toml");
        let config = EndpointConfig::from_text(&text, &file, &|_| None);
        config.and_then(|config| Endpoint::from_config(&config))
    }

    fn made<P: Fixed>(&self, text: &str, more: &str) -> Endpoint<P> {
        let made = self.endpoint(text, more);
        made.unwrap_or_else(|problems| panic!("{}: {more}\n{problems}", self.0.display()))
    }

    fn opened(&self, file: &str, more: &str, message: &str) -> Result<OpenedMessage, &'static str> {
        self.read(file, more, self.text(message))
    }

    fn read(&self, file: &str, more: &str, text: String) -> Result<OpenedMessage, &'static str> {
        let opener: Opener = self.made(&self.text(file), more);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = opener.open(text.into_bytes(), memory);
        opened.map_err(|rejected| rejected.name())
    }

    /// What an endpoint with more keys says of a message.
    fn verdict(&self, file: &str, more: &str, message: &str) -> &'static str {
        self.opened(file, more, message)
            .map_or_else(|refused| refused, |_| "accepted")
    }

    fn secured(&self, text: &str, more: &str, message: &str) -> String {
        let securer: Securer = self.made(text, more);
        let secured = securer.secure(self.text(message).into_bytes());
        String::from_utf8(secured.expect("it is secured").bytes).expect("text")
    }
}

fn node_soap(files: &Files<'_>) {
    let refused = files.verdict("open.toml", "", "message.xml");
    assert_eq!(refused, "reference-not-found");
    let opened = files.opened("open.toml", "ids = [\"Id\"]", "message.xml");
    assert!(opened.is_ok(), "{opened:?}");
}

fn ids_without_namespace(files: &Files<'_>) {
    let ids = "ids = [\"Id\", \"ID\"]";
    for (message, expected) in [
        ("body-Id.xml", "accepted"),
        ("body-ID.xml", "accepted"),
        ("must-be-refused.xml", "duplicate-id"),
    ] {
        assert_eq!(files.verdict("open.toml", ids, message), expected);
        assert_ne!(files.verdict("open.toml", "", message), "accepted");
    }
}

fn enveloped(files: &Files<'_>) {
    assert_eq!(files.verdict("open.toml", "", "message.xml"), "accepted");
    let changed = files
        .text("message.xml")
        .replace("</soap:Body>", " </soap:Body>");
    assert!(files.read("open.toml", "", changed).is_err());
}

fn text_without_nonce(files: &Files<'_>) {
    let bare = "username_token = { nonce = false, created = false }";
    let secured = files.secured(&files.text("user.toml"), bare, "request.xml");
    assert!(secured.contains("<wsse:Username>alice<"), "{secured}");
    let by_policy = "users = [{ name = \"alice\", password = \"secret\" }]\n[security]\npolicy = \"p-ut-only.xml\"";
    let under_policy = files.secured(by_policy, "", "request.xml");
    for secured in [secured, under_policy] {
        assert!(!secured.contains("Nonce"), "{secured}");
        assert!(!secured.contains("Created"), "{secured}");
    }
}

fn old_tokens(files: &Files<'_>) {
    for (file, message, accepting, refused) in [
        ("text.toml", "ut-2002.xml", "2002/07", "security-of-draft"),
        (
            "text.toml",
            "ut-qname-text.xml",
            "qualified-types",
            "password-kind-not-allowed",
        ),
        (
            "digest.toml",
            "ut-qname-digest.xml",
            "qualified-types",
            "password-kind-not-allowed",
        ),
    ] {
        assert_eq!(files.verdict(file, "", message), refused, "{message}");
        let more = format!("username_token = {{ accept = [\"{accepting}\"] }}");
        assert_eq!(files.verdict(file, &more, message), "accepted", "{message}");
    }
}

/// Each of these messages is refused: whichever mistake its sender made.
fn mismatches(files: &Files<'_>) {
    let names = fs::read_dir(files.0).expect("the case");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let messages = names.filter(|name| name.to_string_lossy().ends_with(".xml"));
    let mut count = 0;
    for message in messages {
        let message = message.to_string_lossy();
        let verdict = files.verdict("open.toml", "", &message);
        let known = ["digest-mismatch", "signature-mismatch"].contains(&verdict);
        assert!(known, "{message}: {verdict}");
        count += 1;
    }
    assert_eq!(count, 11);
}

fn str_transforms(files: &Files<'_>) {
    for message in ["issuer-serial.xml", "ski.xml", "embedded-x509.xml"] {
        assert_eq!(
            files.verdict("open.toml", "", message),
            "accepted",
            "{message}"
        );
    }
}

fn quoted_issuer(files: &Files<'_>) {
    let quoted = "encryption = { key_reference = \"issuer-serial-quoted\" }";
    let secured = files.secured(&files.text("encrypt.toml"), quoted, "request.xml");
    assert!(
        secured.contains("O=\"Acme Trust, Inc.\"") || secured.contains("O=&quot;Acme Trust, Inc."),
        "{secured}"
    );
    let usual = files.secured(&files.text("encrypt.toml"), "", "request.xml");
    assert!(usual.contains("O=Acme Trust\\, Inc."), "{usual}");
}

fn demanded_headers(files: &Files<'_>) {
    // What the policy wants is written: wsa:To with the address of the description.
    let secured = files.secured(&files.text("tax.toml"), "", "request.xml");
    for expected in [
        ">https://127.0.0.1:28443/Tax.svc</wsa:To>",
        "</wsa:Action>",
        "</wsa:MessageID>",
    ] {
        assert!(secured.contains(expected), "{expected}\n{secured}");
    }
    // Without a word of it, nothing is left out in silence.
    let by_mechanism = "[identity]\nkey = \"../keys/client.key.pem\"\ncertificate = \"../keys/client.cert.pem\"\n\
        [security]\nmechanism = \"sign\"\nsigned = [\"Body\", \"{http://www.w3.org/2005/08/addressing}MessageID\"]";
    let securer: Securer = files.made(by_mechanism, "");
    let refused = securer.secure(files.text("request.xml").into_bytes());
    assert!(refused.is_err(), "{refused:?}");
}

fn foreign_assertions(files: &Files<'_>) {
    let folder = Folder::with_keys(RSA, &["client", "service"]);
    let file = |policy: &str| {
        let [key, own, peer, ca] = ["client.key", "client.cert", "service.cert", "ca.cert"]
            .map(|name| folder.path(format!("{name}.pem")).display().to_string());
        format!(
            "identity = {{ key = \"{key}\", certificate = \"{own}\" }}\npeer = {{ certificate = \"{peer}\" }}\n\
             trust = {{ anchors = [\"{ca}\"] }}\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
             [security]\npolicy = \"{policy}\""
        )
    };
    let carbon =
        "ignore_assertions = [\"{http://www.wso2.org/products/carbon/security}CarbonSecConfig\"]";
    for (policy, more) in [
        ("http-basic.xml", ""),
        ("mtom.xml", ""),
        ("wso2.xml", carbon),
    ] {
        let made: Result<Securer, _> = files.endpoint(&file(policy), more);
        made.map(drop)
            .unwrap_or_else(|problems| panic!("{policy}: {problems}"));
    }
    let refused: Result<Securer, _> = files.endpoint(&file("wso2.xml"), "");
    let refused = refused.expect_err("a problem").to_string();
    assert!(refused.contains("CarbonSecConfig"), "{refused}");
}

fn chain(files: &Files<'_>) {
    let send = files.text("send.toml");
    let leaf_alone = files.secured(&send, "", "plain.xml");
    let refused = files.read("receive.toml", "", leaf_alone).map(drop);
    assert_eq!(refused, Err("untrusted"));
    let path = files.secured(&send, "key_reference = \"pki-path\"", "plain.xml");
    assert!(path.contains("#X509PKIPathv1"), "{path}");
    let accepted = files.read("receive.toml", "", path).map(drop);
    assert_eq!(accepted, Ok(()));
}

fn bdew(files: &Files<'_>) {
    let send = files.text("send.toml");
    let rest: Vec<&str> = send
        .lines()
        .filter(|line| !line.starts_with("key_reference"))
        .collect();
    let apart = "signature = { key_reference = \"pki-path\" }\n\
                 encryption = { key_reference = \"x509-ski\", derivation_info = \"\" }";
    let secured = files.secured(&rest.join("\n"), apart, "plain.xml");
    for expected in [
        "#X509PKIPathv1\"",
        "<xenc:RecipientKeyInfo><ds:X509Data><ds:X509SKI>",
        "AlgorithmID=\"\" PartyUInfo=\"\" PartyVInfo=\"\"",
    ] {
        assert!(secured.contains(expected), "{expected}\n{secured}");
    }
}

fn slow_clock(files: &Files<'_>) {
    let message = files.text("user-slow-clock.xml");
    let file = files.text("receive.toml");
    let lenient = file.replace("skew = \"2h\"", "required = false, skew = \"2h\"");
    let strict = file.replace("{ skew = \"2h\" }", "false");
    for (text, expected) in [
        (lenient, Ok(())),
        (strict, Err("timestamp-expired")),
        (file, Err("timestamp-missing")),
    ] {
        let opener: Opener = files.made(&text, "");
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = opener.open(message.clone().into_bytes(), memory);
        let found = opened.map(drop).map_err(|rejected| rejected.name());
        assert_eq!(found, expected, "{text}");
    }
}

fn clock_of_a_peer(files: &Files<'_>) {
    let send = files.text("send.toml");
    let secured = files.secured(&send, "clock = { offset = \"-1h\" }", "plain.xml");
    let (_, created) = secured.split_once("<wsu:Created>").expect("a time");
    let (created, _) = created.split_once('<').expect("its end");
    let created: jiff::Timestamp = created.parse().expect("a time");
    let behind = jiff::Timestamp::now().duration_since(created).as_secs();
    assert!((3600..3900).contains(&behind), "{behind} s");
}

fn raw_certificate(files: &Files<'_>) {
    let secured = files.secured(&files.text("send.toml"), "", "plain.xml");
    let expected = "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>";
    assert!(secured.contains(expected), "{secured}");
    assert!(!secured.contains("BinarySecurityToken"), "{secured}");
}

fn several_suites(files: &Files<'_>) {
    let folder = Folder::with_keys(RSA, &["client"]);
    let [key, own, ca] = ["client.key", "client.cert", "ca.cert"]
        .map(|name| folder.path(format!("{name}.pem")).display().to_string());
    let text = format!(
        "identity = {{ key = \"{key}\", certificate = \"{own}\" }}\ntrust = {{ anchors = [\"{ca}\"] }}\n\
         [security]\npolicy = \"service.wsdl\""
    );
    let securer: Securer = files.made(&text, "sha256_suites = \"letter\"");
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let secured = securer.secure(plain).expect("it is secured");
    let secured = String::from_utf8(secured.bytes).expect("text");
    assert!(secured.contains("xmldsig#rsa-sha1\""), "{secured}");
}

fn named_token(files: &Files<'_>) {
    assert_eq!(
        files.verdict("receive.toml", "", "thumbprint.xml"),
        "accepted"
    );
    // The token in the message is found, and trusted as any other.
    let pinned = "subjects = [\"CN=nobody\"]\n[security]";
    let text = files.text("receive.toml").replace("[security]", pinned);
    let opener: Opener = files.made(&text, "");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = opener.open(files.text("thumbprint.xml").into_bytes(), memory);
    let refused = refused.map(drop).map_err(|rejected| rejected.name());
    assert_eq!(refused, Err("subject-not-allowed"));
}

fn business_header(files: &Files<'_>) {
    const ROUTING: &str = "{urn:example:app}Routing";
    let strict = files.opened("receive.toml", "", "message.xml");
    let strict = strict.expect("it is accepted");
    assert_eq!(strict.evidence.dropped, [ROUTING]);
    assert!(!String::from_utf8_lossy(&strict.bytes).contains("Routing"));
    let more = format!("unsigned = [\"{ROUTING}\"]");
    let named = files.opened("receive.toml", &more, "message.xml");
    let named = named.expect("it is accepted");
    assert_eq!(named.evidence.unproven, [ROUTING]);
    assert!(String::from_utf8_lossy(&named.bytes).contains("Routing"));
}

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
            assert!(text.contains(&format!("fn {test}(")), "{file}: {test}");
        }
    }
}
