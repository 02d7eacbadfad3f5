//! Kerberos sessions: what is secured opens, in every form, and a token that is not that of the
//! message opens nothing. The host has accepted the tokens here; what they hold is for no one.

use jiff::Timestamp;
use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    Binding, EndorsingKey, EndorsingToken, Facts, KerberosForm, KerberosName, KerberosPolicy,
    KerberosSession, KeyBinding, KeyReference, Mechanism, OutboundPlan, Outgoing, Policy, Rejected,
    SecureError, Secured, Signer, TimestampPolicy, kerberos_sha1,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, context, derived, knowing, refused, text};
use crate::support::{
    Adjust as _, PLAIN, client_keys, envelope, facts, forwarded, now, open_with, policy,
    secure_with, service_keys, with,
};
use soapstone_wss::{ConversationVersion, DerivedKeyForm, InboundPlan};

fn session(token: &[u8], secret: u8) -> KerberosSession {
    KerberosSession {
        sha1: kerberos_sha1(token),
        token: Some(token.to_vec()),
        key: SymmetricKey::new(vec![secret; 32]).unwrap(),
        client: "alice@EXAMPLE.COM".to_owned(),
        expires: now() + std::time::Duration::from_secs(600),
        authenticator: Some([secret; 32]),
        authenticator_ends: now() + std::time::Duration::from_secs(3600),
    }
}

fn kerberos(mechanism: Mechanism) -> Policy {
    kerberos_by(mechanism, "Basic256")
}

fn kerberos_by(mechanism: Mechanism, suite: &str) -> Policy {
    bound(mechanism, suite, KeyBinding::Kerberos, KeyReference::Direct)
}

fn accepted(session: &KerberosSession) -> Facts {
    Facts {
        kerberos: Some(session.clone()),
        ..facts()
    }
}

fn with_session(
    policy: &Policy,
    session: &KerberosSession,
    at: Timestamp,
) -> Result<Secured, SecureError> {
    let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
    let outgoing = Outgoing {
        kerberos: Some(session),
        ..Outgoing::default()
    };
    plan.secure(envelope(PLAIN), outgoing, at, &mut Buffers::default())
}

/// The session's key is as long as that of its ticket, whatever the suite enciphers with in CBC.
#[test]
fn a_key_that_is_longer_than_the_ciphers_is_cut_on_both_sides() {
    let alice = session(b"a token", 7);
    for suite in ["Basic128", "Basic192", "Basic256"] {
        for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
            let policy = kerberos_by(mechanism, suite);
            let sent = with_session(&policy, &alice, now()).unwrap();
            let keys = service_keys();
            let opened = open_with(&policy, keys, &accepted(&alice), &text(&sent), now());
            let opened = opened.unwrap_or_else(|error| panic!("{mechanism} {suite}: {error}"));
            assert!(forwarded(&opened).contains("Grüße"));
        }
    }
}

#[test]
fn a_session_protects_requests_and_answers_in_every_form() {
    let alice = session(b"a token", 7);
    for mechanism in [
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        for form in [
            None,
            Some(DerivedKeyForm::Explicit),
            Some(DerivedKeyForm::Implied),
        ] {
            let mut policy = kerberos(mechanism);
            policy.set_derived_keys(form.and_then(|form| derived(ConversationVersion::V13, form)));
            for carried in [true, false] {
                let mut alice = alice.clone();
                alice.token = alice.token.filter(|_| carried);
                let sent = with_session(&policy, &alice, now()).unwrap();
                assert_eq!(text(&sent).contains("BinarySecurityToken"), carried);
                let opened = open_with(
                    &policy,
                    service_keys(),
                    &accepted(&alice),
                    &text(&sent),
                    now(),
                );
                let opened = opened.unwrap_or_else(|error| panic!("{mechanism} {form:?}: {error}"));
                assert_eq!(opened.evidence().kerberos_end, Some(alice.expires));
                assert!(forwarded(&opened).contains("Grüße"));
                let (_, receipt) = opened.finish(&mut Buffers::default());
                let answer = secure_with(&policy, service_keys(), PLAIN, Some(&receipt));
                let request = Facts {
                    request: Some(sent.receipt),
                    ..facts()
                };
                open_with(&policy, client_keys(), &request, &text(&answer), now())
                    .unwrap_or_else(|error| panic!("answer {mechanism} {form:?}: {error}"));
            }
        }
    }
}

#[test]
fn the_token_is_looked_up_and_a_name_only_without_one() {
    let policy = kerberos(Mechanism::Sign);
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let mut alice = session(b"a token", 7);
    let sent = with_session(&policy, &alice, now()).unwrap();
    let found = plan.peek(&envelope(&text(&sent))).kerberos;
    assert!(
        matches!(&found, Some(KerberosName::Token { bytes, .. }) if bytes == b"a token"),
        "{found:?}"
    );
    alice.token = None;
    let sent = with_session(&policy, &alice, now()).unwrap();
    let found = plan.peek(&envelope(&text(&sent))).kerberos;
    assert_eq!(found, Some(KerberosName::Sha1(alice.sha1)));
}

#[test]
fn a_session_of_another_token_opens_nothing() {
    let policy = kerberos(Mechanism::Sign);
    let (alice, bob) = (session(b"a token", 7), session(b"another", 8));
    let sent = text(&with_session(&policy, &alice, now()).unwrap());
    assert_eq!(refused(&policy, &facts(), &sent), Rejected::KerberosUnknown);
    assert_eq!(
        refused(&policy, &accepted(&bob), &sent),
        Rejected::KerberosUnknown
    );
    // The same token under another key: no one knows the key but the two sides.
    let impostor = KerberosSession {
        key: bob.key.clone(),
        ..alice.clone()
    };
    let reason = refused(&policy, &accepted(&impostor), &sent);
    assert!(matches!(reason, Rejected::Signature(_)), "{reason:?}");
    // A session that the host found by name proves no token: its authenticator was not shown.
    let by_name = KerberosSession {
        authenticator: None,
        ..alice.clone()
    };
    assert_eq!(
        refused(&policy, &accepted(&by_name), &sent),
        Rejected::KerberosUnknown
    );
}

#[test]
fn a_session_ends_with_its_ticket_on_both_sides() {
    let policy = kerberos(Mechanism::Sign);
    let alice = session(b"a token", 7);
    let sent = text(&with_session(&policy, &alice, now()).unwrap());
    let expired = now();
    let ended = KerberosSession {
        expires: expired,
        ..alice
    };
    let ended_at = |at| {
        let opened = open_with(&policy, service_keys(), &accepted(&ended), &sent, at);
        opened.map(drop)
    };
    let moment = std::time::Duration::from_nanos(1);
    assert_eq!(ended_at(expired - moment), Ok(()));
    let over = Err(Rejected::KerberosExpired { expired });
    assert_eq!(ended_at(expired), over);
    let unsent = with_session(&policy, &ended, now()).map(drop);
    assert_eq!(
        unsent.unwrap_err().to_string(),
        SecureError::KerberosExpired { expired }.to_string()
    );
}

#[test]
fn contexts_and_kerberos_sessions_are_not_taken_for_each_other() {
    let alice = session(b"a token", 7);
    let context = context(ConversationVersion::V13);
    let by_context = bound(
        Mechanism::Sign,
        "Basic256",
        KeyBinding::Context,
        KeyReference::Direct,
    );
    let of_kerberos = text(&with_session(&kerberos(Mechanism::Sign), &alice, now()).unwrap());
    let of_context = text(&crate::conversations::within(&by_context, &context));
    let both = Facts {
        kerberos: Some(alice),
        ..knowing(&[&context])
    };
    let reason = refused(&by_context, &both, &of_kerberos);
    assert!(
        matches!(reason, Rejected::ElementUnexpected { .. }),
        "{reason:?}"
    );
    let reason = refused(&kerberos(Mechanism::Sign), &both, &of_context);
    assert!(
        matches!(reason, Rejected::ElementUnexpected { .. }),
        "{reason:?}"
    );
}

#[test]
fn an_answer_is_secured_with_the_session_of_its_request() {
    let policy = kerberos(Mechanism::Sign);
    let (alice, bob) = (session(b"a token", 7), session(b"another", 8));
    let sent = with_session(&policy, &alice, now()).unwrap();
    let answer = KerberosSession { token: None, ..bob };
    let of_bob = text(&with_session(&policy, &answer, now()).unwrap());
    let request = Facts {
        request: Some(sent.receipt),
        kerberos: Some(answer),
        ..facts()
    };
    let reason = open_with(&policy, client_keys(), &request, &of_bob, now()).unwrap_err();
    assert_eq!(*reason.cause(), Rejected::KerberosUnknown);
}

/// WS-SecurityPolicy 1.3, 8.3: the session's key signs the Timestamp behind a connection, or the
/// signature of whoever sends.
#[test]
fn a_session_endorses_whether_its_token_is_carried_or_named() {
    let alice = session(b"a token", 7);
    let transport = with(&policy(Mechanism::None, "Basic256"), |policy| {
        policy.binding = Binding::Transport;
        policy.header.timestamp = Some(TimestampPolicy::default());
    });
    for plain in [transport, policy(Mechanism::Sign, "Basic256")] {
        for carried in [true, false] {
            let token = KerberosPolicy {
                form: KerberosForm::Gss,
                carried,
                by_identifier: false,
            };
            let key = EndorsingKey::Kerberos {
                token,
                derived_keys: None,
            };
            let endorsed = with(&plain, |policy| {
                policy.endorse_with(EndorsingToken {
                    key,
                    ..EndorsingToken::by_certificate(KeyReference::Direct)
                });
            });
            let sent = text(&with_session(&endorsed, &alice, now()).unwrap());
            assert_eq!(sent.contains("<wsse:BinarySecurityToken"), {
                carried || plain.binding != Binding::Transport
            });
            let facts = accepted(&alice);
            let opened = open_with(&endorsed, service_keys(), &facts, &sent, now()).unwrap();
            let signatures = &opened.evidence().signatures;
            let is_alices = |signer: &Signer| matches!(signer, Signer::Kerberos(client) if *client == alice.client);
            assert!(signatures.iter().any(|one| is_alices(&one.signer)));
            let alone = refused(
                &endorsed,
                &facts,
                &text(&secure_with(&plain, client_keys(), PLAIN, None)),
            );
            assert!(
                matches!(
                    alone,
                    Rejected::SignatureMissing | Rejected::EndorsementMissing
                ),
                "{alone}"
            );
        }
    }
}
