//! Keys that are derived from a session key (WS-SecurityPolicy 1.3, 5.3 and 7.4:
//! `RequireDerivedKeys` of a `ProtectionToken`): what is derived from another key, or in another
//! way, is not the sender's.

use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, Facts, KeyBinding, KeyReference,
    Mechanism, Policy, Receipt, Rejected, Secured,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, derived, refused, text};
use crate::support::{
    Adjust as _, PLAIN, client_keys, facts, now, open_with, secure_with, service_keys, with,
};

fn request(form: DerivedKeyForm) -> Policy {
    deriving(KeyBinding::SessionKey, KeyReference::Thumbprint, form)
}

fn response(form: DerivedKeyForm) -> Policy {
    deriving(KeyBinding::RequestKey, KeyReference::EncryptedKeySha1, form)
}

fn deriving(key: KeyBinding, reference: KeyReference, form: DerivedKeyForm) -> Policy {
    let mut policy = bound(Mechanism::SignEncrypt, "Basic256GCM", key, reference);
    policy.set_derived_keys(derived(ConversationVersion::V13, form));
    policy
}

fn sent(policy: &Policy) -> Secured {
    secure_with(policy, client_keys(), PLAIN, None)
}

/// The part of a message from one text to the end of another.
pub(crate) fn cut<'m>(message: &'m str, from: &str, to: &str) -> &'m str {
    let start = message
        .find(from)
        .unwrap_or_else(|| panic!("no {from} in {message}"));
    let end = start + message[start..].find(to).unwrap() + to.len();
    &message[start..end]
}

/// The derived key token that signs, and the one that encrypts.
fn tokens(message: &str) -> [&str; 2] {
    let end = "</wsc:DerivedKeyToken>";
    let first = cut(message, "<wsc:DerivedKeyToken", end);
    let behind = message.find(first).unwrap() + first.len();
    let second = cut(&message[behind..], "<wsc:DerivedKeyToken", end);
    assert!(first.contains("-dk-sig\"") && second.contains("-dk-enc\""));
    [first, second]
}

pub(crate) fn encrypted_key(message: &str) -> &str {
    cut(message, "<xenc:EncryptedKey", "</xenc:EncryptedKey>")
}

pub(crate) fn id(element: &str) -> &str {
    let start = element.find("Id=\"").unwrap() + 4;
    &element[start..start + element[start..].find('"').unwrap()]
}

/// Anybody has the service's certificate, and can wrap a key of his own to it: with that he could
/// sign what somebody else enciphered.
#[test]
fn a_key_that_is_derived_from_another_session_key_is_refused() {
    let policy = request(DerivedKeyForm::Explicit);
    let (message, other) = (text(&sent(&policy)), text(&sent(&policy)));
    let key = encrypted_key(&message);
    let foreign = encrypted_key(&other);
    let two_keys = message.replace(key, &format!("{foreign}{key}"));
    let misled = |token: &str| {
        let misled = token.replace(id(key), id(foreign));
        assert_ne!(misled, token);
        refused(&policy, &facts(), &two_keys.replace(token, &misled))
    };
    let [signing, encrypting] = tokens(&message);
    assert_eq!(misled(signing).name(), "signature-mismatch");
    assert_eq!(
        misled(encrypting),
        Rejected::KeyMisused {
            problem: "one message is secured with two session keys".to_owned()
        }
    );
    // Both from his own key, as the whole of his own message: what the first sender said is not in
    // it.
    let of_his_own = message.replace(key, foreign).replace(id(key), id(foreign));
    let refused = refused(&policy, &facts(), &of_his_own);
    assert_eq!(refused.name(), "signature-mismatch");
}

/// WS-SecureConversation 1.4, 7.1: a derivation is of a key, and only of one that the plan knows.
#[test]
fn a_key_that_is_derived_from_another_token_is_not_found() {
    let policy = request(DerivedKeyForm::Explicit);
    let message = text(&sent(&policy));
    let [signing, encrypting] = tokens(&message);
    let key = id(encrypted_key(&message));
    for (token, foreign) in [
        (signing, id(encrypting)),
        (encrypting, id(signing)),
        (signing, id(cut(&message, "<wsu:Timestamp", ">"))),
        (signing, "nowhere"),
    ] {
        let misled = message.replace(token, &token.replace(key, foreign));
        assert_ne!(misled, message);
        assert_eq!(refused(&policy, &facts(), &misled).name(), "key-not-found");
    }
}

#[test]
fn derivations_that_were_changed_or_exchanged_give_other_keys() {
    let policy = request(DerivedKeyForm::Explicit);
    let message = text(&sent(&policy));
    let [signing, encrypting] = tokens(&message);
    let nonce = |token| cut(token, "<wsc:Nonce>", "</wsc:Nonce>");
    let offset = |token: &str| token.replace("<wsc:Offset>0<", "<wsc:Offset>16<");
    let length = |token: &str| token.replace("<wsc:Length>24<", "<wsc:Length>32<");
    let label = |token: &str| token.replace("<wsc:Nonce>", "<wsc:Label>x</wsc:Label><wsc:Nonce>");
    for (expected, token, other) in [
        ("signature-mismatch", signing, offset(signing)),
        ("signature-mismatch", signing, length(signing)),
        ("signature-mismatch", signing, label(signing)),
        (
            "signature-mismatch",
            signing,
            signing.replace(nonce(signing), nonce(encrypting)),
        ),
        ("decryption-failed", encrypting, offset(encrypting)),
        ("decryption-failed", encrypting, label(encrypting)),
        (
            "decryption-failed",
            encrypting,
            encrypting.replace(nonce(encrypting), nonce(signing)),
        ),
    ] {
        assert_ne!(other, token);
        let changed = message.replace(token, &other);
        assert_eq!(refused(&policy, &facts(), &changed).name(), expected);
    }
    let [signs, encrypts] = [signing, encrypting].map(|token| format!("URI=\"#{}\"", id(token)));
    let exchanged = message
        .replace(&signs, "held")
        .replace(&encrypts, &signs)
        .replace("held", &encrypts);
    let refused = refused(&policy, &facts(), &exchanged);
    assert_eq!(refused.name(), "signature-mismatch");
}

/// A request and what is needed to answer it.
fn asked(form: DerivedKeyForm) -> (Secured, Receipt) {
    let policy = request(form);
    let secured = sent(&policy);
    let opened = open_with(&policy, service_keys(), &facts(), &text(&secured), now()).unwrap();
    let (_, receipt) = opened.finish(&mut Buffers::default());
    (secured, receipt)
}

/// The answer to one request is none to another, and none that anybody could make.
#[test]
fn an_answer_is_derived_from_the_key_of_its_request() {
    for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
        let (first, receipt) = asked(form);
        let (second, _) = asked(form);
        let policy = response(form);
        let answer = text(&secure_with(&policy, service_keys(), PLAIN, Some(&receipt)));
        let after = |request: Secured| Facts {
            request: Some(request.receipt),
            ..facts()
        };
        let (first, second) = (after(first), after(second));
        let opened = |facts: &Facts, answer: &str| {
            let opened = open_with(&policy, client_keys(), facts, answer, now());
            opened.map(drop).map_err(|refused| refused.cause().name())
        };
        assert_eq!(opened(&first, &answer), Ok(()));
        assert_eq!(opened(&second, &answer), Err("key-not-found"));
        assert_eq!(opened(&facts(), &answer), Err("key-not-found"));
        // A key in the answer itself proves nothing of who answers.
        let mut keys = service_keys();
        keys.peer = Some(client_keys().identity.unwrap().certificate().clone());
        let fresh = text(&secure_with(&request(form), keys, PLAIN, None));
        assert_eq!(opened(&first, &fresh), Err("element-unexpected"));
    }
}

/// A message with keys that were not derived, or of which one was not (downgrade).
#[test]
fn neither_key_is_used_as_it_is() {
    for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
        let policy = request(form);
        let plain = with(&policy, |policy| policy.set_derived_keys(None));
        let message = text(&sent(&plain));
        assert_eq!(
            refused(&policy, &facts(), &message),
            Rejected::KeyNotDerived
        );
        let signed = with(&plain, |policy| policy.unencrypt());
        let message = text(&sent(&signed));
        assert_eq!(
            refused(&policy, &facts(), &message),
            Rejected::KeyNotDerived
        );
    }
}

/// WS-SecurityPolicy 1.3, 5.3: `RequireExplicitDerivedKeys` and `RequireImpliedDerivedKeys`.
#[test]
fn the_form_that_a_policy_demands_is_the_one_that_is_accepted() {
    let forms = [DerivedKeyForm::Explicit, DerivedKeyForm::Implied];
    for (wanted, found) in forms
        .map(|wanted| forms.map(|found| (wanted, found)))
        .concat()
    {
        let message = text(&sent(&request(found)));
        let either = request(wanted);
        let exclusive = with(&either, |policy| {
            let derived = policy.derived_keys().map(|derived| DerivedKeyPolicy {
                exclusive: true,
                ..derived
            });
            policy.set_derived_keys(derived);
        });
        let opened = |policy: &Policy| {
            open_with(policy, service_keys(), &facts(), &message, now())
                .map(drop)
                .map_err(|refused| refused.cause().name())
        };
        assert_eq!(opened(&either), Ok(()));
        let expected = if wanted == found {
            Ok(())
        } else {
            Err("token-unsupported")
        };
        assert_eq!(opened(&exclusive), expected);
    }
}
