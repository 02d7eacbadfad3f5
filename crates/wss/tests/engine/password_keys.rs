//! Keys that are derived from passwords (UsernameToken Profile 1.1.1, 4): messages under them, and
//! what somebody without the password makes of such messages.

mod tokens;

use std::sync::Arc;

use soapstone_crypto::{PasswordKey, SecretBytes, base64};
use soapstone_wss::{
    Binding, ConversationVersion, DerivedKeyForm, EndorsingKey, EndorsingToken, Envelope, Facts,
    FaultCode, FirstSeen, InboundPlan, KeyBinding, KeyReference, Keys, Mechanism, Operation,
    OperationObserver, OutboundPlan, Outgoing, Part, PasswordKeyPolicy, PasswordKind, PlanProblem,
    Policy, Receipt, Rejected, SecureError, Signer, SupportingToken, UsernamePolicy, Verified,
};
use soapstone_xml::{Buffers, Limits};

use crate::conversations::{bound, derived, text};
use crate::derivations::{cut, id};
use crate::support::{Adjust as _, *};

const FORMS: [Option<DerivedKeyForm>; 3] = [
    None,
    Some(DerivedKeyForm::Explicit),
    Some(DerivedKeyForm::Implied),
];

/// Messages under keys from passwords, whose signature covers the token.
fn by_password(mechanism: Mechanism, form: Option<DerivedKeyForm>) -> Policy {
    let suite = match form {
        None => "Basic128GCM",
        Some(_) => "Basic256GCM",
    };
    let mut policy = bound(mechanism, suite, KeyBinding::Password, KeyReference::Direct);
    policy.parts.signed.push(Part::Token);
    if let Some(form) = form {
        policy.set_derived_keys(derived(ConversationVersion::V13, form));
    }
    policy
}

fn signed() -> Policy {
    by_password(Mechanism::Sign, None)
}

/// The keys of a client that has nothing but a password.
fn password_alone() -> Keys {
    Keys {
        user: Some(user("alice")),
        ..Keys::default()
    }
}

fn sent(policy: &Policy) -> String {
    text(&secure_with(policy, password_alone(), PLAIN, None))
}

fn opened(policy: &Policy, message: &str) -> Result<Verified<Envelope>, Rejected> {
    open_with(policy, Keys::default(), &facts(), message, now())
}

fn knowing(users: &[(&str, &[u8])]) -> Facts {
    let known = users.iter();
    Facts {
        passwords: known
            .map(|(name, password)| ((*name).to_owned(), SecretBytes::copy_of(password)))
            .collect(),
        ..Facts::default()
    }
}

fn refused(policy: &Policy, message: &str) -> Rejected {
    match opened(policy, message) {
        Err(refused) => refused,
        Ok(verified) => panic!("accepted: {}", forwarded(&verified)),
    }
}

fn token(message: &str) -> &str {
    cut(message, "<wsse:UsernameToken", "</wsse:UsernameToken>")
}

fn salt(token: &str) -> &str {
    let salt = cut(token, "<wsse11:Salt", "</wsse11:Salt>");
    let start = salt.find('>').unwrap() + 1;
    &salt[start..salt.len() - "</wsse11:Salt>".len()]
}

fn salt_bytes(token: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    base64::decode_xml(salt(token).as_bytes(), &mut bytes).unwrap();
    bytes
}

fn misused(problem: &str) -> Rejected {
    Rejected::KeyMisused {
        problem: problem.to_owned(),
    }
}

fn malformed(problem: &str) -> Rejected {
    Rejected::Malformed {
        element: "wsse:UsernameToken",
        problem: problem.to_owned(),
    }
}

fn wrong_user() -> Rejected {
    Rejected::AuthenticationFailed {
        user: "alice".to_owned(),
    }
}

/// Counts the derivations of keys from passwords.
#[derive(Default)]
struct Derivations(usize);

impl OperationObserver for Derivations {
    fn ended(&mut self, operation: Operation) {
        self.0 += usize::from(operation == Operation::Username);
    }
}

/// How many keys are derived for a message, and why it is refused.
fn derivations(policy: &Policy, facts: &Facts, message: &str) -> (usize, Option<Rejected>) {
    let plan = InboundPlan::compile(policy.clone(), Keys::default()).unwrap();
    let mut buffers = Buffers::default();
    let bytes = message.as_bytes().to_vec();
    let envelope = Envelope::parse(bytes, &Limits::default(), &mut buffers).unwrap();
    let mut counted = Derivations::default();
    let refused = plan.authenticate(envelope, facts, now(), &mut buffers, &mut counted);
    let refused = refused.err();
    (counted.0, refused)
}

#[test]
fn messages_open_under_every_mechanism_and_every_derivation() {
    for mechanism in [
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        for form in FORMS {
            for signs_token in [true, false] {
                let mut policy = by_password(mechanism, form);
                if !signs_token {
                    policy.parts.signed.retain(|part| *part != Part::Token);
                }
                let what = format!("{mechanism} {form:?} {signs_token}");
                let message = sent(&policy);
                let verified =
                    opened(&policy, &message).unwrap_or_else(|it| panic!("{what}: {it}"));
                let evidence = verified.evidence();
                assert_eq!(evidence.user.as_deref(), Some("alice"), "{what}");
                assert!(evidence.user_is_sender(), "{what}");
                let signer = &evidence.signatures[0].signer;
                assert!(
                    matches!(signer, Signer::User(name) if name == "alice"),
                    "{what}"
                );
                assert!(forwarded(&verified).contains("Grüße &amp; mehr"), "{what}");
                // One token for each key; keys that are derived further have one in common.
                let encrypts_directly = form.is_none() && mechanism != Mechanism::Sign;
                let tokens = message.matches("<wsse:UsernameToken").count();
                assert_eq!(tokens, 1 + usize::from(encrypts_directly), "{what}");
                assert!(!message.contains("<wsse:Password"), "{what}");
                assert!(!message.contains("open sesame"), "{what}");
                assert_eq!(salt_bytes(token(&message))[0], 1, "{what}");
            }
        }
    }
}

#[test]
fn the_salt_of_the_key_that_encrypts_begins_with_two() {
    let message = sent(&by_password(Mechanism::SignEncrypt, None));
    let mut tokens = message.match_indices("<wsse:UsernameToken");
    let salts: Vec<Vec<u8>> = tokens
        .by_ref()
        .map(|(at, _)| salt_bytes(token(&message[at..])))
        .collect();
    assert_eq!([salts[0][0], salts[1][0]], [1, 2]);
    assert_ne!(salts[0][1..], salts[1][1..]);
    assert_ne!(salts[0], salt_bytes(token(&sent(&signed()))));
}

#[test]
fn an_answer_is_under_a_new_key_from_the_password_of_the_request() {
    for form in FORMS {
        let policy = by_password(Mechanism::SignEncrypt, form);
        let request = secure_with(&policy, password_alone(), PLAIN, None);
        let plan = InboundPlan::compile(policy.clone(), Keys::default()).unwrap();
        let mut buffers = Buffers::default();
        let facts = knowing(&[("bob", b"other"), ("alice", PASSWORD)]);
        let sent = text(&request);
        let opened = plan
            .open_unmarked(envelope(&sent), &facts, now(), &mut buffers)
            .unwrap();
        let first_seen = FirstSeen::assertion(opened.late_marks());
        let verified = opened.admit(first_seen).unwrap();
        let (_, receipt) = verified.finish(&mut Buffers::default());
        let answer = secure_with(&policy, Keys::default(), PLAIN, Some(&receipt));
        let answer = text(&answer);
        assert_ne!(salt(token(&answer)), salt(token(&sent)));
        let of_client = |user: &[u8]| Facts {
            request: Some(Receipt {
                user: request.receipt.user.clone(),
                ..Receipt::default()
            }),
            ..knowing(&[("alice", user)])
        };
        let open = |facts: &Facts| open_with(&policy, password_alone(), facts, &answer, now());
        assert_eq!(
            open(&of_client(PASSWORD))
                .unwrap()
                .evidence()
                .user
                .as_deref(),
            Some("alice")
        );
        // Another user of this client is not whom the request was of.
        let mut facts = of_client(PASSWORD);
        facts.request.as_mut().unwrap().user = Some(user("bob"));
        assert_eq!(
            open(&facts).unwrap_err(),
            misused("an answer is secured with the password of another user than its request")
        );
    }
}

/// The receiver of a message has its key as well, and could send it back.
#[test]
fn what_a_message_is_known_by_is_remembered_where_it_was_made() {
    for form in FORMS {
        let policy = by_password(Mechanism::SignEncrypt, form);
        let secured = secure_with(&policy, password_alone(), PLAIN, None);
        let plan = InboundPlan::compile(policy, Keys::default()).unwrap();
        let mut buffers = Buffers::default();
        let opened = plan.open_unmarked(envelope(&text(&secured)), &facts(), now(), &mut buffers);
        let opened = opened.unwrap();
        let known = |key| opened.marks().iter().any(|mark| mark.key == key);
        let sent = &secured.receipt.marks;
        assert!(
            !sent.is_empty() && sent.iter().all(|mark| known(mark.key)),
            "{form:?}"
        );
    }
}

#[test]
fn an_answer_to_nobody_is_not_secured() {
    let plan = OutboundPlan::compile(signed(), password_alone()).unwrap();
    let receipt = Receipt::default();
    let outgoing = Outgoing::answer(&receipt);
    let secured = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
    assert_eq!(secured.unwrap_err(), SecureError::UserMissing);
}

#[test]
fn unknown_users_and_wrong_passwords_are_not_told_apart_and_cost_one_derivation_each() {
    for form in FORMS {
        let policy = by_password(Mechanism::Sign, form);
        let message = sent(&policy);
        let known = knowing(&[("alice", PASSWORD)]);
        assert_eq!(derivations(&policy, &known, &message), (1, None));
        for facts in [
            knowing(&[("alice", b"guess")]),
            knowing(&[("bob", PASSWORD)]),
        ] {
            let (counted, refused) = derivations(&policy, &facts, &message);
            assert_eq!((counted, refused.as_ref()), (1, Some(&wrong_user())));
            assert_eq!(refused.unwrap().fault(), FaultCode::FailedAuthentication);
        }
    }
}

/// Otherwise everybody would be a user whose password was left out by mistake.
#[test]
fn a_user_whose_password_is_empty_has_none() {
    let nothing = soapstone_wss::User {
        name: "alice".to_owned(),
        password: SecretBytes::copy_of(b""),
    };
    let keys = Keys {
        user: Some(Arc::new(nothing)),
        ..Keys::default()
    };
    let message = text(&secure_with(&signed(), keys, PLAIN, None));
    let empty = knowing(&[("alice", b"")]);
    let found = derivations(&signed(), &empty, &message);
    assert_eq!(found, (1, Some(wrong_user())));
}

#[test]
fn a_changed_message_is_refused_as_a_wrong_password_is() {
    let message = sent(&signed());
    let digest = cut(&message, "<ds:DigestValue>", "</ds:DigestValue>");
    let first = &digest["<ds:DigestValue>".len()..][..1];
    let other = if first == "A" { "B" } else { "A" };
    let changed = digest.replacen(&format!(">{first}"), &format!(">{other}"), 1);
    assert_eq!(
        refused(&signed(), &message.replace(digest, &changed)),
        wrong_user()
    );
}

#[test]
fn an_iteration_bomb_costs_no_iteration() {
    let policy = signed();
    let message = sent(&policy);
    let with = |iterations: &str| {
        let written = ">10000</wsse11:Iteration>";
        assert!(message.contains(written));
        message.replace(written, &format!(">{iterations}</wsse11:Iteration>"))
    };
    let most = Rejected::TooMany {
        what: "iterations of a key from a password",
        limit: 10_000,
    };
    for bomb in ["10001", "4294967295", "4294967296", "18446744073709551616"] {
        let found = derivations(&policy, &facts(), &with(bomb));
        assert_eq!(found, (0, Some(most.clone())), "{bomb}");
    }
    for few in ["0", "1", "999"] {
        let expected = misused(&format!(
            "a key from a password takes at least 1000 iterations, found {few}"
        ));
        assert_eq!(
            derivations(&policy, &facts(), &with(few)),
            (0, Some(expected))
        );
    }
    for none in ["-1", "1e9", "0x10", ""] {
        let expected = malformed("expected a number in `Iteration`");
        assert_eq!(
            derivations(&policy, &facts(), &with(none)),
            (0, Some(expected))
        );
    }
}

#[test]
fn a_token_without_iterations_means_a_thousand() {
    let mut policy = signed();
    assert!(policy.bound_password_keys(PasswordKeyPolicy {
        iterations: 1000,
        ..PasswordKeyPolicy::default()
    }));
    policy.parts.signed.retain(|part| *part != Part::Token);
    let message = sent(&policy);
    let iterations = cut(&message, "<wsse11:Iteration", "</wsse11:Iteration>");
    let silent = message.replace(iterations, "");
    assert_eq!(
        opened(&policy, &silent).unwrap().evidence().user.as_deref(),
        Some("alice")
    );
    policy.bound_password_keys(PasswordKeyPolicy {
        least: 1001,
        ..PasswordKeyPolicy::default()
    });
    let few = "a key from a password takes at least 1001 iterations, found 1000";
    assert_eq!(refused(&policy, &silent), misused(few));
}

#[test]
fn more_tokens_buy_no_more_derivations() {
    let policy = by_password(Mechanism::SignEncrypt, None);
    let message = sent(&policy);
    let first = token(&message);
    let other = first.replace(id(first), "another");
    // One that nothing uses names a user who has proven nothing.
    let unused = message.replace(first, &format!("{first}{other}"));
    let unexpected = Rejected::ElementUnexpected {
        element: format!("{{{}}}UsernameToken", soapstone_wss::names::WSSE),
    };
    assert_eq!(refused(&policy, &unused), unexpected);
    // A second signature by the key of another token.
    let signature = cut(&message, "<ds:Signature ", "</ds:Signature>");
    let second = signature
        .replace(id(first), "another")
        .replace(id(signature), "second");
    let twice = unused.replace(signature, &format!("{signature}{second}"));
    let two = misused("one message has two keys from passwords for one use");
    assert_eq!(derivations(&policy, &facts(), &twice), (1, Some(two)));
}

/// Another key protects the message, or the connection does, and that of a user endorses it.
fn endorsed(form: Option<DerivedKeyForm>, by_connection: bool) -> Policy {
    let mut policy = match by_connection {
        true => {
            let mut policy = policy(Mechanism::None, "Basic256GCM");
            policy.binding = Binding::Transport;
            policy.header.timestamp = Some(Default::default());
            policy
        }
        false => {
            let key = KeyBinding::SessionKey;
            bound(
                Mechanism::SignEncrypt,
                "Basic256GCM",
                key,
                KeyReference::Thumbprint,
            )
        }
    };
    policy.endorse_with(EndorsingToken {
        signed: !by_connection,
        covers_token: true,
        ..EndorsingToken::by(EndorsingKey::Password {
            keys: PasswordKeyPolicy::default(),
            derived_keys: form.and_then(|form| derived(ConversationVersion::V13, form)),
        })
    });
    policy
}

#[test]
fn the_key_of_a_user_endorses_what_other_keys_or_the_connection_protect() {
    for form in FORMS {
        for by_connection in [false, true] {
            let what = format!("{form:?} {by_connection}");
            let policy = endorsed(form, by_connection);
            let message = secure(&policy, PLAIN);
            let verified = open(&policy, &message).unwrap_or_else(|it| panic!("{what}: {it}"));
            assert_eq!(verified.evidence().user.as_deref(), Some("alice"), "{what}");
            assert!(verified.evidence().user_is_sender(), "{what}");
            let guess = knowing(&[("alice", b"guess")]);
            let refused = open_with(&policy, service_keys(), &guess, &message, now());
            assert_eq!(refused.unwrap_err(), wrong_user(), "{what}");
        }
    }
}

/// Receivers that go through the header once decipher the token before they derive a key of it.
#[test]
fn the_key_of_an_encrypted_token_is_derived_behind_its_cipher_text() {
    let mut policy = endorsed(Some(DerivedKeyForm::Explicit), false);
    let places = |policy: &Policy| {
        let message = secure(policy, PLAIN);
        let key = message.find("-dk-end\"").expect("a derived key");
        (
            key,
            message.find("<xenc:EncryptedData").expect("cipher text"),
        )
    };
    let (key, cipher_text) = places(&policy);
    assert!(key < cipher_text);
    policy.token(0).encrypted = true;
    let (key, cipher_text) = places(&policy);
    assert!(key > cipher_text);
}

#[test]
fn the_token_of_a_user_who_endorses_may_be_encrypted() {
    for form in FORMS {
        let mut policy = endorsed(form, false);
        policy.token(0).encrypted = true;
        let message = secure(&policy, PLAIN);
        assert!(!message.contains("alice"), "{form:?}");
        let verified = open(&policy, &message).unwrap_or_else(|it| panic!("{form:?}: {it}"));
        assert_eq!(
            verified.evidence().user.as_deref(),
            Some("alice"),
            "{form:?}"
        );
        let guess = knowing(&[("alice", b"guess")]);
        let refused = open_with(&policy, service_keys(), &guess, &message, now());
        assert_eq!(refused.unwrap_err(), wrong_user(), "{form:?}");
    }
}

#[test]
fn nobody_endorses_in_the_place_of_the_user() {
    let policy = endorsed(None, false);
    // The certificate of a partner endorses.
    let other = with(&policy, |it| {
        it.endorse_by(vec![EndorsingToken::by_certificate(KeyReference::Direct)])
    });
    let reason = open(&policy, &secure(&other, PLAIN)).unwrap_err();
    assert!(
        matches!(
            reason,
            Rejected::AlgorithmNotAllowed { .. } | Rejected::EndorsementMissing
        ),
        "{reason:?}"
    );
    let none = with(&policy, |it| it.supporting.clear());
    assert_eq!(
        open(&policy, &secure(&none, PLAIN)).unwrap_err(),
        Rejected::EndorsementMissing
    );
}

#[test]
fn plans_refuse_what_no_key_from_a_password_can_do() {
    let problems = |policy: Policy| InboundPlan::compile(policy, Keys::default()).unwrap_err();
    let one = |problem| vec![PlanProblem::Combination { problem }];
    let mut long = by_password(Mechanism::SignEncrypt, None);
    long.suite = suite("Basic256GCM");
    assert_eq!(
        problems(long),
        one(
            "a key from a password has 20 bytes, and the suite's data encryption wants more: take a suite of AES-128, or derive keys from it"
        )
    );
    let mut unsigned = by_password(Mechanism::SignEncrypt, None);
    unsigned.parts.signed.clear();
    assert_eq!(
        problems(unsigned),
        one("a key from a password encrypts for a user whom a signature proves")
    );
    let mut two = signed();
    let plain = UsernamePolicy::with_passwords(vec![PasswordKind::Digest]);
    two.supporting.push(SupportingToken::Username(plain));
    assert_eq!(
        problems(two),
        one("a message has one user: its token holds a password, or keys are derived from it")
    );
    for (least, most, iterations) in [
        (0, 10, 10),
        (11, 10, 10),
        (1, 1_000_001, 10),
        (1, 10, 0),
        (1, 10, 1_000_001),
    ] {
        let mut policy = signed();
        policy.bound_password_keys(PasswordKeyPolicy {
            least,
            most,
            iterations,
        });
        assert_eq!(
            problems(policy),
            one(
                "the iterations of a key from a password are at least 1, at most 1000000, and the fewest are not more than the most"
            )
        );
    }
}

#[test]
fn the_key_that_signs_is_that_of_the_profile() {
    let policy = with(&signed(), |it| {
        it.parts.signed.retain(|part| *part != Part::Token)
    });
    let message = sent(&policy);
    let token = token(&message);
    let salt: [u8; 16] = salt_bytes(token).try_into().unwrap();
    let key = PasswordKey {
        salt,
        iterations: 10_000,
    };
    let key = key.derive(&SecretBytes::copy_of(PASSWORD)).unwrap();
    // The same key, shared: what it verifies is what the profile says.
    let shared = Arc::new(soapstone_wss::SharedKey {
        name: "derived".to_owned(),
        signing: key.clone(),
        encrypting: key,
    });
    let mut by_key = with_shared_key(self::policy(Mechanism::Sign, "Basic128GCM"));
    let ignored = (
        soapstone_wss::names::WSSE.to_owned(),
        "UsernameToken".to_owned(),
    );
    by_key.header.ignored.push(ignored);
    let info = cut(
        &message,
        "<wsse:SecurityTokenReference",
        "</wsse:SecurityTokenReference>",
    );
    let named = message.replace(info, "<ds:KeyName>derived</ds:KeyName>");
    let keys = Keys {
        shared: Some(shared),
        ..Keys::default()
    };
    let verified = open_with(&by_key, keys, &facts(), &named, now()).unwrap();
    assert!(forwarded(&verified).contains("Grüße &amp; mehr"));
}
