//! Keys that encrypt and are derived from the session key of a message whose sender signs with a
//! private key (WS-SecurityPolicy 1.3, 7.5 and 5.3: `RequireDerivedKeys` of a `RecipientToken`).
//! What signs is never derived: anybody can wrap a session key.

use soapstone_crypto::SignatureAlgorithm;
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, Facts, KeyBinding, KeyReference, Keys,
    Layout, Mechanism, Part, Policy, ProtectionOrder, Recipient, Rejected,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, derived, refused, text};
use crate::derivations::{cut, encrypted_key, id};
use crate::support::{
    Adjust as _, PLAIN, client_keys, declaring, facts, forwarded, now, open_with, policy,
    secure_with, service_keys, with,
};

const FORMS: [DerivedKeyForm; 2] = [DerivedKeyForm::Explicit, DerivedKeyForm::Implied];

fn deriving(mechanism: Mechanism, form: DerivedKeyForm) -> Policy {
    let mut policy = policy(mechanism, "Basic256");
    policy.set_derived_keys(derived(ConversationVersion::V13, form));
    policy
}

fn request() -> Policy {
    deriving(Mechanism::SignEncrypt, DerivedKeyForm::Explicit)
}

fn undivided(policy: &Policy) -> Policy {
    with(policy, |policy| policy.set_derived_keys(None))
}

fn sent(policy: &Policy) -> String {
    text(&secure_with(policy, client_keys(), PLAIN, None))
}

fn token(message: &str) -> &str {
    cut(message, "<wsc:DerivedKeyToken", "</wsc:DerivedKeyToken>")
}

/// In the place of `from`, once.
fn changed(message: &str, from: &str, to: &str) -> String {
    assert_eq!(message.matches(from).count(), 1, "{from}");
    message.replace(from, to)
}

fn opened(policy: &Policy, keys: Keys, facts: &Facts, message: &str) -> Result<String, Rejected> {
    let opened = open_with(policy, keys, facts, message, now());
    opened
        .map(|verified| forwarded(&verified))
        .map_err(|refused| refused.cause().clone())
}

#[test]
fn what_is_enciphered_with_a_derived_key_opens_in_either_order_and_form() {
    for mechanism in [
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
        Mechanism::Encrypt,
    ] {
        for (form, version) in FORMS
            .map(|form| ConversationVersion::ALL.map(|version| (form, version)))
            .concat()
        {
            let mut policy = deriving(mechanism, form);
            policy.set_derived_keys(derived(version, form));
            policy.header.layout = Layout::Strict;
            let message = sent(&policy);
            let tokens = message.matches("<wsc:DerivedKeyToken").count();
            assert_eq!(tokens, usize::from(form == DerivedKeyForm::Explicit));
            assert!(!encrypted_key(&message).contains("DataReference"));
            assert!(!message.contains("hello") && !message.contains("mehr"));
            let plain = opened(&policy, service_keys(), &facts(), &message).unwrap();
            assert!(plain.contains("mehr"), "{mechanism:?} {form:?}");
        }
    }
}

/// The signature is encrypted, too, in either order; and the token of the signature is the
/// certificate, not the wrapped key.
#[test]
fn a_hidden_signature_covers_its_certificate_and_opens() {
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        let mut policy = request();
        policy.set_order(order);
        policy.parts.signed.push(Part::Token);
        let signed = sent(&policy);
        let key = id(encrypted_key(&signed)).to_owned();
        let references = cut(&signed, "<ds:SignedInfo", "</ds:SignedInfo>");
        assert!(!references.contains(&key));
        assert!(references.contains("-cert\""));
        let hidden = EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(hidden);
        let message = sent(&policy);
        assert!(!message.contains("<ds:SignedInfo"));
        opened(&policy, service_keys(), &facts(), &message).unwrap();
    }
}

#[test]
fn an_answer_is_enciphered_for_whoever_signed_the_request() {
    let policy = request();
    let opened_request =
        open_with(&policy, service_keys(), &facts(), &sent(&policy), now()).unwrap();
    let (_, receipt) = opened_request.finish(&mut Buffers::default());
    let mut response = policy.clone();
    response.set_recipient(Recipient::Requester);
    let nobody = Keys {
        peer: None,
        ..service_keys()
    };
    let answer = text(&secure_with(&response, nobody, PLAIN, Some(&receipt)));
    assert!(token(&answer).contains(&format!("URI=\"#{}\"", id(encrypted_key(&answer)))));
    opened(&response, client_keys(), &facts(), &answer).unwrap();
}

/// Of a key that the request carried the answer says nothing new: it is for its sender alone, and
/// wrapped to nobody.
#[test]
fn an_answer_under_a_key_that_it_does_not_carry_is_not_found() {
    let policy = request();
    let secured = secure_with(&policy, client_keys(), PLAIN, None);
    let opened_request =
        open_with(&policy, service_keys(), &facts(), &text(&secured), now()).unwrap();
    let (_, receipt) = opened_request.finish(&mut Buffers::default());
    let mut under_request = policy.clone();
    under_request.encrypt_under_request();
    let answer = text(&secure_with(
        &under_request,
        service_keys(),
        PLAIN,
        Some(&receipt),
    ));
    let after = Facts {
        request: Some(secured.receipt),
        ..facts()
    };
    let refused = opened(&policy, client_keys(), &after, &answer).unwrap_err();
    assert_eq!(refused.name(), "key-not-found");
}

/// A message with the session key as it is, whatever stands beside it (downgrade).
#[test]
fn the_session_key_does_not_encipher_itself() {
    for form in FORMS {
        let policy = deriving(Mechanism::SignEncrypt, form);
        let plain = sent(&undivided(&policy));
        let refusal = |message: &str| refused(&policy, &facts(), message);
        assert_eq!(refusal(&plain), Rejected::KeyNotDerived);
        // The list that says so stands by itself.
        let list = cut(&plain, "<xenc:ReferenceList", "</xenc:ReferenceList>");
        let apart = changed(&plain, list, "");
        let declared = list.replace(
            "<xenc:ReferenceList",
            "<xenc:ReferenceList xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"",
        );
        let apart = changed(
            &apart,
            "</xenc:EncryptedKey>",
            &format!("</xenc:EncryptedKey>{declared}"),
        );
        assert_eq!(refusal(&apart), Rejected::KeyNotDerived);
        // A derived key token is there, and nothing uses it.
        let other = sent(&request());
        let idle = token(&other).replace(id(encrypted_key(&other)), id(encrypted_key(&plain)));
        for message in [&plain, &apart] {
            let accompanied = declaring(&message.replace(
                "</xenc:EncryptedKey>",
                &format!("</xenc:EncryptedKey>{idle}"),
            ));
            assert_eq!(refusal(&accompanied), Rejected::KeyNotDerived);
        }
    }
}

/// The list of a wrapped key deciphers with that key before anybody asks what the cipher text
/// names.
#[test]
fn a_wrapped_key_that_lists_what_a_derived_key_enciphers_is_refused() {
    for key in [KeyBinding::Certificate, KeyBinding::SessionKey] {
        let mut policy = bound(
            Mechanism::SignEncrypt,
            "Basic256",
            key,
            KeyReference::Thumbprint,
        );
        policy.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
        let message = sent(&policy);
        let list = cut(&message, "<xenc:ReferenceList", "</xenc:ReferenceList>");
        let listed = changed(
            &changed(&message, list, ""),
            "</xenc:EncryptedKey>",
            &format!("{list}</xenc:EncryptedKey>"),
        );
        assert_eq!(refused(&policy, &facts(), &listed), Rejected::KeyNotDerived);
    }
}

#[test]
fn a_derived_key_that_no_plan_wants_is_refused() {
    for (form, expected) in [
        (DerivedKeyForm::Explicit, "element-unexpected"),
        (DerivedKeyForm::Implied, "token-unsupported"),
    ] {
        let policy = deriving(Mechanism::SignEncrypt, form);
        let message = sent(&policy);
        let refused = refused(&undivided(&policy), &facts(), &message);
        assert_eq!(refused.name(), expected);
    }
}

#[test]
fn a_derived_key_token_that_nothing_uses_changes_nothing() {
    let policy = request();
    let message = sent(&policy);
    let other = sent(&policy);
    let idle = token(&other).to_owned();
    let accompanied = changed(
        &message,
        "</wsc:DerivedKeyToken>",
        &format!("</wsc:DerivedKeyToken>{idle}"),
    );
    let plain = opened(&policy, service_keys(), &facts(), &message).unwrap();
    assert_eq!(
        opened(&policy, service_keys(), &facts(), &accompanied).unwrap(),
        plain
    );
    let many: String = (0..16)
        .map(|number| idle.replace(id(&idle), &format!("idle-{number}")))
        .collect();
    let many = changed(
        &message,
        "</wsc:DerivedKeyToken>",
        &format!("</wsc:DerivedKeyToken>{many}"),
    );
    assert_eq!(refused(&policy, &facts(), &many).name(), "too-many");
}

#[test]
fn a_derived_key_token_before_its_key_is_for_lax_layouts() {
    let mut policy = request();
    let message = sent(&policy);
    let token = token(&message).to_owned();
    let key = encrypted_key(&message).to_owned();
    let before = changed(
        &changed(&message, &token, ""),
        &key,
        &format!("{token}{key}"),
    );
    opened(&policy, service_keys(), &facts(), &before).unwrap();
    policy.header.layout = Layout::Strict;
    assert_eq!(
        refused(&policy, &facts(), &before),
        Rejected::LayoutViolated {
            problem: "expected tokens before what uses them in `wsse:Security`"
        }
    );
    // What is deciphered before the key is there has none.
    let list = cut(&message, "<xenc:ReferenceList", "</xenc:ReferenceList>");
    let early = changed(&changed(&message, list, ""), &key, &format!("{list}{key}"));
    let refused = refused(&policy, &facts(), &early);
    assert_eq!(refused.name(), "key-not-found");
    let told = format!("no key answers to the token `#{}`, ", id(&key));
    assert_eq!(
        refused.to_string(),
        told + "which stands behind what uses it"
    );
    assert_eq!(
        refused.hint(),
        Some("have the peer write the token in front of what uses it")
    );
}

#[test]
fn a_key_that_is_derived_from_what_is_no_session_key_of_ours_is_refused() {
    let policy = request();
    let message = sent(&policy);
    let key = id(encrypted_key(&message));
    let derived_key = token(&message);
    let misled = |from: &str| changed(&message, derived_key, &derived_key.replace(key, from));
    for other in [
        id(derived_key),
        id(cut(&message, "<wsu:Timestamp", ">")),
        id(cut(&message, "<wsse:BinarySecurityToken", ">")),
        "nowhere",
    ] {
        assert_eq!(
            refused(&policy, &facts(), &misled(other)).name(),
            "key-not-found"
        );
    }
    // What somebody else sent to us has another key.
    let others = sent(&policy);
    let exchanged = changed(
        &message,
        encrypted_key(&message),
        &encrypted_key(&others).replace(id(encrypted_key(&others)), key),
    );
    assert_eq!(
        refused(&policy, &facts(), &exchanged).name(),
        "decryption-failed"
    );
    // What is wrapped to somebody else is not ours to open.
    let to_client = Keys {
        peer: client_keys().identity.map(|own| own.certificate().clone()),
        ..client_keys()
    };
    let foreign = text(&secure_with(&policy, to_client, PLAIN, None));
    assert_eq!(refused(&policy, &facts(), &foreign).name(), "key-not-found");
}

/// No signature covers wrapped keys: beside the sender's, anybody can put his own, with what he
/// enciphers.
#[test]
fn all_keys_are_derived_from_one_session_key() {
    let policy = deriving(Mechanism::Encrypt, DerivedKeyForm::Explicit);
    let message = sent(&policy);
    let mut of_header = policy.clone();
    of_header.parts.encrypted = vec![EncryptedPart::customary(Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    })];
    let other = sent(&of_header);
    let to = cut(
        &other,
        "<wsse11:EncryptedHeader",
        "</wsse11:EncryptedHeader>",
    );
    let keys = cut(&other, "<xenc:EncryptedKey", "</xenc:ReferenceList>");
    let security = "</wsse:Security>";
    let mixed = changed(&message, security, &format!("{keys}{security}{to}"));
    assert_eq!(
        refused(&policy, &facts(), &mixed),
        Rejected::KeyMisused {
            problem: "one message is secured with two session keys".to_owned()
        }
    );
    // Where keys are not derived, each key is asked for what it lists, as before.
    let message = sent(&undivided(&policy));
    let other = sent(&undivided(&of_header));
    let to = cut(
        &other,
        "<wsse11:EncryptedHeader",
        "</wsse11:EncryptedHeader>",
    );
    let key = encrypted_key(&other);
    let mixed = changed(&message, security, &format!("{key}{security}{to}"));
    let refused = refused(&undivided(&policy), &facts(), &mixed);
    // Whoever puts a second key behind a captured one makes work that depends on whether the first
    // cipher text could be read.
    assert_eq!(refused.name(), "too-many", "{refused}");
}

#[test]
fn derivations_that_were_changed_give_other_keys_and_absurd_ones_none() {
    let policy = request();
    let message = sent(&policy);
    let offset = "<wsc:Offset>0</wsc:Offset>";
    let length = "<wsc:Length>32</wsc:Length>";
    for (from, to, expected) in [
        (offset, "<wsc:Offset>16</wsc:Offset>", "decryption-failed"),
        (
            offset,
            "<wsc:Generation>1</wsc:Generation>",
            "decryption-failed",
        ),
        (length, "<wsc:Label>x</wsc:Label>", "decryption-failed"),
        (offset, "<wsc:Offset>4065</wsc:Offset>", "malformed"),
        (offset, "<wsc:Offset>99999999999</wsc:Offset>", "malformed"),
        (
            offset,
            "<wsc:Generation>999999999</wsc:Generation>",
            "malformed",
        ),
        (length, "<wsc:Length>8</wsc:Length>", "malformed"),
        (length, "<wsc:Length>65</wsc:Length>", "malformed"),
        (length, "<wsc:Length>0</wsc:Length>", "malformed"),
    ] {
        let other = changed(&message, from, to);
        assert_eq!(refused(&policy, &facts(), &other).name(), expected, "{to}");
    }
    let nonce = cut(&message, "<wsc:Nonce>", "</wsc:Nonce>");
    for (to, expected) in [
        (
            "<wsc:Nonce>AAAAAAAAAAAAAAAAAAAAAA==</wsc:Nonce>",
            "decryption-failed",
        ),
        ("<wsc:Nonce></wsc:Nonce>", "malformed"),
        ("", "malformed"),
        (
            &format!("<wsc:Nonce>{}</wsc:Nonce>", "A".repeat(256)),
            "malformed",
        ),
    ] {
        let other = changed(&message, nonce, to);
        assert_eq!(refused(&policy, &facts(), &other).name(), expected, "{to}");
    }
    // A key of another length than the algorithm's is none for it.
    let short = changed(&message, length, "<wsc:Length>16</wsc:Length>");
    let refused = refused(&policy, &facts(), &short);
    assert_eq!(refused.name(), "malformed");
}

/// Some stacks wrap a key for the receiver and sign with what they derive from that. Anybody can.
#[test]
fn a_signature_with_a_derived_key_is_none_of_a_certificate() {
    let policy = request();
    let mut forged = bound(
        Mechanism::SignEncrypt,
        "Basic256",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    forged.set_derived_keys(policy.derived_keys());
    let message = sent(&forged);
    assert_eq!(
        refused(&policy, &facts(), &message).name(),
        "algorithm-not-allowed"
    );
    // Even where somebody counts HMAC among the algorithms of certificates.
    let mut careless = policy;
    let signature = &mut careless.suite.signature;
    signature.push(SignatureAlgorithm::HmacSha1);
    for careless in [undivided(&careless), careless] {
        let forged = with(&forged, |policy| {
            policy.set_derived_keys(careless.derived_keys())
        });
        assert_eq!(
            refused(&careless, &facts(), &sent(&forged)),
            Rejected::KeyMisused {
                problem: "expected a signature with a certificate's private key, found one with a symmetric key"
                    .to_owned()
            }
        );
    }
}
