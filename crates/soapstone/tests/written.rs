//! What presets demand, written as WS-SecurityPolicy: read again, it is the same.

use std::collections::HashSet;
use std::path::Path;

use soapstone::config::EndpointConfig;
use soapstone::endpoint::preset_exchange_policy;
use soapstone_policy::{
    CompileOptions, ExchangePolicy, PolicyDocument, PolicyLimits, Selection, SignatureReading,
    TransportRequirement, Unwritable, WrittenPolicy,
};
use soapstone_wss::{
    AsymmetricBinding, Binding, EncryptionToken, KeyBinding, KeyReference, Mechanism, Part, Policy,
    Presence, Recipient, SUITE_NAMES, SymmetricBinding, SymmetricToken, TimestampPolicy,
};

/// The parts of a `[security]` table beside the mechanism, and tables beside it.
fn agreement(mechanism: Mechanism, security: &str, more: &str) -> ExchangePolicy {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded/keys");
    let text = format!("{more}\n[security]\nmechanism = \"{mechanism}\"\n{security}\n");
    let config = EndpointConfig::from_text(&text, &keys.join("endpoint.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    preset_exchange_policy(&config)
        .unwrap_or_else(|problems| panic!("{text}\n{problems}"))
        .expect("it is a preset")
}

fn read(source: String, signatures: SignatureReading) -> ExchangePolicy {
    let options = CompileOptions {
        signatures,
        ..CompileOptions::default()
    };
    PolicyDocument::parse(source.clone().into_bytes(), &PolicyLimits::default())
        .map(|document| document.agreement(&Selection::default(), &options))
        .unwrap_or_else(|error| panic!("{source}\n{error}"))
        .unwrap_or_else(|error| panic!("{source}\n{error}"))
}

/// A description with a binding for each version of SOAP that has the policy attached as a gateway
/// attaches it.
fn described(written: &WrittenPolicy) -> String {
    let wsp = written.version().namespace();
    let reference = |id| format!("<p:PolicyReference URI='#{id}'/>");
    let parts = written.messages_xml("parts");
    let on_messages = parts.as_ref().map_or(String::new(), |_| reference("parts"));
    let binding = |version: &str| {
        format!(
            "<binding name='B{version}' type='t:T'>{}<soap{version}:binding transport='http://schemas.xmlsoap.org/soap/http'/>\
             <operation name='a'><input>{on_messages}</input><output>{on_messages}</output></operation></binding>",
            reference("whole")
        )
    };
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' xmlns:p='{wsp}' \
         xmlns:soap11='http://schemas.xmlsoap.org/wsdl/soap/' xmlns:soap12='http://schemas.xmlsoap.org/wsdl/soap12/'>{}{}\
         <portType name='T'><operation name='a'><input/><output/></operation></portType>{}{}\
         <service name='S'><port name='P11' binding='t:B11'/><port name='P12' binding='t:B12'/></service></definitions>",
        written.endpoint_xml("whole"),
        parts.unwrap_or_default(),
        binding("11"),
        binding("12"),
    )
}

/// Everything of an agreement that a peer could notice, whatever fields there are: what is left out
/// is named here.
fn demands(agreement: &ExchangePolicy) -> String {
    let conversation = agreement.conversation.as_ref().map(|conversation| {
        let bootstrap = conversation.bootstrap.as_ref();
        (
            conversation.version,
            bootstrap.map(|bootstrap| demands(bootstrap)),
            conversation.may_cancel,
            conversation.may_amend,
            conversation.may_renew,
        )
    });
    let messages = [&agreement.request, &agreement.response].map(noticed);
    format!(
        "{messages:?} {:?} {conversation:?} {}",
        agreement.transport, agreement.addressing
    )
}

fn noticed(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    // One that is not demanded is checked where it is there, with or without a policy for it.
    policy.header.timestamp = policy
        .header
        .timestamp
        .filter(|timestamp| timestamp.required)
        .map(|_| TimestampPolicy::default());
    policy.refuse_own_signatures = false;
    // What tokens have beyond what is demanded is a matter of who makes them. A digest has both.
    if let Some(username) = policy.username_mut() {
        for presence in [&mut username.nonce, &mut username.created] {
            if *presence == Presence::Sent {
                *presence = Presence::Absent;
            }
        }
    }
    let signs = policy.signature().map(|signature| signature.key);
    policy.parts.signed.sort();
    // Policies name no order of references.
    policy.parts.in_order = false;
    policy
        .parts
        .encrypted
        .sort_by_key(|wanted| wanted.part.clone());
    // Whose certificate an answer is for is a matter of keys.
    policy.binding.wrap_to(Recipient::Peer);
    let encrypts = policy.encryption().is_some();
    match &mut policy.binding {
        Binding::Symmetric(SymmetricBinding {
            key: SymmetricToken::Session(reference),
            derived_keys,
            order,
        }) if signs.is_none() => {
            policy.binding = Binding::Asymmetric(AsymmetricBinding {
                signature: None,
                encryption: encrypts.then_some(EncryptionToken {
                    derived_keys: *derived_keys,
                    ..EncryptionToken::wrapped(*reference)
                }),
                order: *order,
            });
        }
        // A certificate that nothing is done with is none.
        Binding::Asymmetric(keys) => {
            let is_there = signs.is_some() || keys.signature == Some(KeyReference::Direct);
            keys.signature = keys.signature.filter(|_| is_there);
            keys.encryption = keys.encryption.filter(|_| encrypts);
        }
        // Where nothing is signed, everything is passed on anyway.
        Binding::Transport if signs.is_none() => policy.binding = Binding::None,
        _ => {}
    }
    let encrypts = policy.encryption().map(|encryption| encryption.key);
    let suite = &mut policy.suite;
    suite.name.clear();
    if signs != Some(KeyBinding::Certificate) {
        suite.signature.clear();
    }
    if signs.is_none_or(|key| key == KeyBinding::Certificate) {
        suite.symmetric_signature.clear();
    }
    if signs.is_none() {
        suite.digest.clear();
        suite.canonicalization.clear();
    }
    if encrypts.is_none() {
        suite.data.clear();
    }
    if encrypts != Some(KeyBinding::Certificate) {
        suite.key_transport.clear();
        suite.key_agreement.clear();
    }
    policy
}

/// Writes, reads in both forms, compares; what was written.
fn there_and_back(agreement: &ExchangePolicy, case: &str) -> WrittenPolicy {
    let written = agreement
        .write()
        .unwrap_or_else(|problems| panic!("{case}: {problems:?}"));
    let forms = [written.to_xml(), described(&written)];
    // A document with nothing in it has no port with a policy, and is the same in both forms.
    for form in forms {
        let again = read(form.clone(), written.signatures());
        assert_eq!(demands(&again), demands(agreement), "{case}\n{form}");
    }
    written
}

const PEER: &str = "[peer]\ncertificate = \"server.cert.pem\"";

/// Every suite with a name, as endpoint files say it, and whether messages that sign, or encrypt,
/// can be told of it.
fn suites() -> Vec<(String, bool, bool)> {
    let mut suites = Vec::new();
    for name in SUITE_NAMES {
        let classic = !name.contains("GCM");
        // No name has the signatures of elliptic curves.
        let by_rsa = !name.ends_with("EcdhEs") && !name.ends_with("X25519");
        suites.push((format!("suite = \"{name}\""), by_rsa, classic));
        let both = classic && name.contains("Sha256");
        // By the letter no name has SHA-1 digests under SHA-256 signatures.
        suites.push((
            format!("suite = \"{name}+RsaSha256\""),
            both || !classic,
            classic,
        ));
    }
    for data in ["aes128-gcm", "aes192-gcm", "aes256-gcm"] {
        for (digest, transport) in [
            ("sha1", "rsa-oaep-mgf1p"),
            ("sha1", "rsa-1_5"),
            ("sha256", "rsa-1_5"),
        ] {
            for hash in ["sha1", "sha256"] {
                suites.push((
                    format!(
                        "algorithms = {{ signature = [\"rsa-{hash}\", \"hmac-{hash}\"], digest = [\"{digest}\"], data = [\"{data}\"], \
                         key_transport = [\"{transport}\"] }}"
                    ),
                    hash == "sha1" || digest == "sha256",
                    true,
                ));
            }
        }
    }
    suites
}

#[test]
fn every_preset_with_every_suite_that_has_a_name_is_read_as_it_was_meant() {
    let mut written = 0;
    for mechanism in Mechanism::ALL {
        for (suite, signing, encrypting) in suites() {
            for peer in ["", PEER] {
                let case = format!("{mechanism} {suite} {peer}");
                let agreement = agreement(mechanism, &suite, peer);
                let can_be_said = match (mechanism.signs(), mechanism.encrypts()) {
                    (true, true) => signing && encrypting,
                    (true, false) => signing,
                    (false, true) => encrypting,
                    (false, false) => true,
                };
                if can_be_said {
                    there_and_back(&agreement, &case);
                    written += 1;
                } else {
                    let problems = agreement.write().expect_err(&case);
                    let is_suite =
                        |problem: &Unwritable| matches!(problem, Unwritable::Suite { .. });
                    assert!(problems.iter().all(is_suite), "{case}: {problems:?}");
                }
            }
        }
    }
    assert!(written > 400, "{written}");
}

#[test]
fn presets_that_demand_different_things_are_written_differently() {
    let mut seen = HashSet::new();
    let mut read_again = HashSet::new();
    let suites = [
        "Basic256",
        "Basic128",
        "Basic256Rsa15",
        "Basic256Sha256",
        "TripleDes",
    ];
    for mechanism in Mechanism::ALL.into_iter().filter(|one| one.encrypts()) {
        for suite in suites {
            let case = format!("{mechanism} {suite}");
            // Who only encrypts makes no digest.
            if mechanism == Mechanism::Encrypt && suite == "Basic256Sha256" {
                continue;
            }
            let agreement = agreement(mechanism, &format!("suite = \"{suite}\""), PEER);
            let written = there_and_back(&agreement, &case);
            let again = read(written.to_xml(), written.signatures());
            assert!(seen.insert(written.to_xml()), "{case}");
            assert!(read_again.insert(demands(&again)), "{case}");
        }
    }
    // The two readings of one name are told apart by what is said beside the policy.
    let letter = agreement(Mechanism::Sign, "suite = \"Basic256Sha256\"", "").write();
    let sha256 = agreement(Mechanism::Sign, "suite = \"Basic256Sha256+RsaSha256\"", "").write();
    let (letter, sha256) = (letter.unwrap(), sha256.unwrap());
    assert_eq!(letter.to_xml(), sha256.to_xml());
    assert_eq!(letter.signatures(), SignatureReading::Letter);
    assert_eq!(sha256.signatures(), SignatureReading::Sha256);
}

#[test]
fn parts_references_users_and_timestamps_are_read_as_they_were_meant() {
    let addressing = "{http://www.w3.org/2005/08/addressing}To";
    for (mechanism, security) in [
        (Mechanism::Sign, format!("signed = [\"Body\", \"Timestamp\", \"{addressing}\", \"{{}}plain\"]")),
        (Mechanism::Sign, "signed = [\"Body\", \"Timestamp\", \"Token\"]".to_owned()),
        (Mechanism::Sign, "timestamp = false".to_owned()),
        (Mechanism::Sign, "timestamp = { ttl = \"1m\" }".to_owned()),
        (Mechanism::SignEncrypt, format!("encrypted = [\"Body\", \"Signature\", \"{addressing}\"]")),
        (Mechanism::SignEncrypt, "signed = [\"Timestamp\"]".to_owned()),
        (Mechanism::EncryptSign, format!("signed = [\"Body\", \"Timestamp\", \"{addressing}\"]")),
        (Mechanism::Username, "password = \"text\"".to_owned()),
        (Mechanism::Username, "signed = [\"Body\", \"UsernameToken\"]\ntimestamp = false".to_owned()),
        (Mechanism::Username, "signed = [\"Body\", \"Timestamp\"]\ntimestamp = true".to_owned()),
        (Mechanism::Username, "encrypted = [\"Body\", \"UsernameToken\"]\npassword = \"text\"".to_owned()),
        (
            Mechanism::Username,
            "signed = [\"Body\", \"Timestamp\", \"UsernameToken\"]\nencrypted = [\"Body\", \"UsernameToken\"]\ntimestamp = true\n\
             password = \"text\"".to_owned(),
        ),
        (Mechanism::SecureConversation, "conversations = { version = \"2005-02\" }".to_owned()),
        (Mechanism::SecureConversation, "conversations = { bootstrap = \"encrypt-sign\" }".to_owned()),
        (Mechanism::SecureConversation, format!("signed = [\"Body\", \"Timestamp\", \"{addressing}\"]")),
    ] {
        for peer in ["", PEER] {
            let security = format!("suite = \"Basic128\"\n{security}");
            let case = format!("{mechanism} {security} {peer}");
            let written = there_and_back(&agreement(mechanism, &security, peer), &case);
            assert!(!written.to_xml().contains("wsp:All/"), "{case}");
        }
    }
    let references = [
        "direct",
        "ski",
        "thumbprint",
        "issuer-serial",
        "embedded",
        "key-value",
    ];
    for reference in references {
        for mechanism in [
            Mechanism::Sign,
            Mechanism::Encrypt,
            Mechanism::SignEncrypt,
            Mechanism::EncryptSign,
        ] {
            for peer in ["", PEER] {
                let security = format!("suite = \"Basic256\"\nkey_reference = \"{reference}\"");
                let case = format!("{mechanism} {reference} {peer}");
                let written = there_and_back(&agreement(mechanism, &security, peer), &case);
                let is_written_out = written.to_xml().contains("<sp:KeyValueToken ");
                assert_eq!(is_written_out, reference == "key-value", "{case}");
                // Keys of any kind: the file says nothing of it.
                assert!(!written.to_xml().contains("RsaKeyValue"), "{case}");
            }
        }
    }
}

#[test]
fn a_user_on_tls_has_a_transport_binding() {
    for (security, timestamp) in [
        ("", false),
        ("password = \"text\"", false),
        ("timestamp = true", true),
    ] {
        for client_certificate in [false, true] {
            let mut agreement = agreement(Mechanism::Username, security, "");
            agreement.transport = Some(TransportRequirement { client_certificate });
            let written = there_and_back(&agreement, security).to_xml();
            assert!(written.contains("<sp:TransportBinding>"), "{written}");
            assert!(written.contains("<sp:SignedSupportingTokens>"), "{written}");
            assert_eq!(written.contains("IncludeTimestamp"), timestamp, "{written}");
        }
    }
}

/// WS-SecurityPolicy 1.3, 5.4.11. There was no such token when the older conversations were.
#[test]
fn a_key_that_is_written_out_begins_conversations_of_the_later_version_alone() {
    let security = "suite = \"Basic256\"\nkey_reference = \"key-value\"";
    for (version, can_be_said) in [("1.3", true), ("2005-02", false)] {
        let more = format!("suite = \"Basic256\"\nconversations = {{ version = \"{version}\" }}");
        let mut conversing = agreement(Mechanism::SecureConversation, &more, PEER);
        let conversation = conversing.conversation.as_mut().expect("it is one");
        let first = agreement(Mechanism::SignEncrypt, security, PEER);
        conversation.bootstrap = Some(Box::new(first));
        if can_be_said {
            let written = there_and_back(&conversing, version).to_xml();
            assert!(written.contains("<sp:KeyValueToken "), "{written}");
            continue;
        }
        let reference = KeyReference::KeyValue;
        assert_eq!(
            conversing.write().expect_err(version),
            [Unwritable::Reference { reference }]
        );
    }
}

/// WS-SecurityPolicy 1.3, 5.4.1.
#[test]
fn a_nonce_and_a_time_that_are_demanded_of_users_are_written() {
    for (nonce, created) in [(true, true), (true, false), (false, true)] {
        let mut agreement = agreement(Mechanism::Username, "password = \"text\"", "");
        let username = agreement.request.username_mut().expect("it has users");
        let demanded = |is_demanded| match is_demanded {
            true => Presence::Demanded,
            false => Presence::Sent,
        };
        (username.nonce, username.created) = (demanded(nonce), demanded(created));
        let written = there_and_back(&agreement, "items").to_xml();
        assert_eq!(written.contains("<sp13:Nonce "), nonce, "{written}");
        assert_eq!(written.contains("<sp13:Created "), created, "{written}");
    }
}

#[test]
fn a_conversation_that_a_user_begins_on_tls_is_read_as_it_was_meant() {
    let security = "suite = \"Basic256\"\nconversations = { bootstrap = \"username\" }";
    let mut agreement = agreement(Mechanism::SecureConversation, security, "");
    let conversation = agreement.conversation.as_mut().expect("it is one");
    let bootstrap = conversation.bootstrap.as_mut().expect("it begins");
    bootstrap.transport = Some(TransportRequirement {
        client_certificate: false,
    });
    let written = there_and_back(&agreement, security).to_xml();
    assert!(written.contains("<sp:TransportBinding>"), "{written}");
}

#[test]
fn none_is_a_policy_without_assertions() {
    let agreement = agreement(Mechanism::None, "", "");
    assert!(agreement.demands_nothing());
    let written = there_and_back(&agreement, "none").to_xml();
    assert!(written.contains("<wsp:All></wsp:All>"), "{written}");
}

fn problems(mechanism: Mechanism, security: &str, more: &str) -> Vec<Unwritable> {
    let security = format!("suite = \"Basic256\"\n{security}");
    agreement(mechanism, &security, more)
        .write()
        .expect_err(&security)
}

#[test]
fn what_no_assertion_says_is_a_reason_and_no_weaker_policy() {
    let part = |text: &str| text.parse::<Part>().expect("it is a part");
    let shared =
        "[shared_key]\nhex = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"";
    for (mechanism, security, more, expected) in [
        (
            Mechanism::Sign,
            "signed = [\"#one\", \"Timestamp\"]",
            "",
            Unwritable::Signed { part: part("#one") },
        ),
        (
            Mechanism::Encrypt,
            "encrypted = [\"#one\"]",
            "",
            Unwritable::Encrypted { part: part("#one") },
        ),
        (
            Mechanism::Encrypt,
            "encrypted = [\"Body\", \"content:{urn:a}b\"]",
            "",
            Unwritable::Encrypted {
                part: part("{urn:a}b"),
            },
        ),
        (Mechanism::SignEncrypt, "", shared, Unwritable::SharedKey),
        (
            Mechanism::Sign,
            "signed = [\"Body\"]",
            "",
            Unwritable::Timestamp,
        ),
        (
            Mechanism::Encrypt,
            "timestamp = true",
            "",
            Unwritable::Timestamp,
        ),
        (
            Mechanism::Username,
            "timestamp = true",
            "",
            Unwritable::Timestamp,
        ),
        (
            Mechanism::Username,
            "signed = [\"Body\", \"Timestamp\"]",
            "",
            Unwritable::Timestamp,
        ),
        (
            Mechanism::Sign,
            "key_reference = \"key-name\"",
            "",
            Unwritable::Reference {
                reference: KeyReference::KeyName,
            },
        ),
        (
            Mechanism::Sign,
            "actor = \"urn:them\"",
            "",
            Unwritable::Actor {
                actor: "urn:them".to_owned(),
            },
        ),
        (
            Mechanism::Username,
            "signed = [\"Body\"]\npassword = \"text\"\ntimestamp = false",
            "",
            Unwritable::ClearPassword,
        ),
        (
            Mechanism::SecureConversation,
            "conversations = { bootstrap = \"sign\" }",
            "",
            Unwritable::Bootstrap,
        ),
        (
            Mechanism::SecureConversation,
            "conversations = { bootstrap = \"username\" }",
            "",
            Unwritable::Bootstrap,
        ),
    ] {
        assert_eq!(
            problems(mechanism, security, more),
            [expected],
            "{mechanism} {security}"
        );
    }
}

/// CXF's `Basic256GCM` signs with SHA-1 and wraps keys with SHA-1: to publish the default suite
/// under that name would be a downgrade.
#[test]
fn the_default_suite_is_not_published_under_the_name_of_a_weaker_one() {
    let default = agreement(Mechanism::SignEncrypt, "", "");
    assert_eq!(default.request.suite.name, "Basic256GCM");
    let problems = default.write().expect_err("it has no name");
    let [problem @ Unwritable::Suite { instead, .. }] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!(
        instead,
        &["Basic256Sha256+RsaSha256", "Basic256Sha256", "Basic256"]
    );
    assert_eq!(
        problem.to_string(),
        "WS-SecurityPolicy has no name for the suite of rsa-sha256, sha256, rsa-oaep, aes256-gcm; suites that have a name: \
         `Basic256Sha256+RsaSha256`, `Basic256Sha256`, `Basic256`"
    );
    for name in instead {
        let suite = format!("suite = \"{name}\"");
        there_and_back(&agreement(Mechanism::SignEncrypt, &suite, ""), name);
    }
}

/// A policy without `sp:IncludeTimestamp` forbids them (WS-SecurityPolicy 1.3, 6.2), and CXF
/// refuses them.
#[test]
fn an_answer_has_a_timestamp_only_where_one_is_demanded_or_signed() {
    for (mechanism, security, expected) in [
        (Mechanism::Username, "", false),
        (Mechanism::Encrypt, "", false),
        (Mechanism::Encrypt, "timestamp = true", true),
        (Mechanism::Username, "signed = [\"Timestamp\"]", true),
        (Mechanism::Sign, "", true),
        (Mechanism::SecureConversation, "", true),
    ] {
        let agreement = agreement(mechanism, security, "");
        let found = agreement.response.header.timestamp.is_some();
        assert_eq!(found, expected, "{mechanism} {security}");
    }
}
