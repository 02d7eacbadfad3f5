//! What is sent back to its sender: who secures a message knows the marks under which it would
//! arrive again.

use std::time::Duration;

use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, End, Facts, InboundPlan, KeyBinding,
    KeyReference, Keys, Mechanism, Part, Policy, Receipt, ReplayKey, Secured,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, context, derived, knowing, text, within};
use crate::support::{
    Adjust as _, PLAIN, client_keys, envelope, facts, now, open_with, policy, secure_with,
    service_keys,
};

const MECHANISMS: [Mechanism; 4] = [
    Mechanism::Sign,
    Mechanism::Encrypt,
    Mechanism::SignEncrypt,
    Mechanism::EncryptSign,
];

const FORMS: [Option<DerivedKeyForm>; 3] = [
    None,
    Some(DerivedKeyForm::Explicit),
    Some(DerivedKeyForm::Implied),
];

/// A policy with one kind of key for everything.
fn under(
    mechanism: Mechanism,
    key: KeyBinding,
    reference: KeyReference,
    form: Option<DerivedKeyForm>,
) -> Policy {
    let mut policy = bound(mechanism, "Basic256", key, reference);
    policy.set_derived_keys(form.and_then(|form| derived(ConversationVersion::V13, form)));
    policy
}

/// The marks under which a message arrives.
fn found(policy: &Policy, keys: Keys, facts: &Facts, message: &str) -> Vec<ReplayKey> {
    let plan = InboundPlan::compile(policy.clone(), keys).unwrap();
    let opened = plan.open_unmarked(envelope(message), facts, now(), &mut Buffers::default());
    let opened = opened.unwrap_or_else(|error| panic!("{error}\n{message}"));
    opened.marks().to_vec()
}

/// Asserts that the sender knows exactly the marks that were found, for as long as they are
/// remembered.
fn assert_known(said: &Receipt, found: &[ReplayKey], case: &str) {
    let keys = |marks: &[ReplayKey]| marks.iter().map(|mark| mark.key).collect::<Vec<_>>();
    assert!(!found.is_empty(), "{case}");
    assert_eq!(keys(&said.marks), keys(found), "{case}");
    for (said, found) in said.marks.iter().zip(found) {
        let apart = said.until.duration_since(found.until).unsigned_abs();
        // A receiver to whom nobody proves the end adds the skew: it may be created that late.
        let most = match found.end {
            End::Proven => Duration::from_secs(5),
            End::Counted => Duration::from_secs(65),
        };
        assert!(apart < most, "{case}: {apart:?}");
    }
}

#[test]
fn who_secures_under_a_key_of_both_sides_knows_the_marks_that_its_receiver_finds() {
    for mechanism in MECHANISMS {
        for form in FORMS {
            let case = format!("{mechanism} {form:?}");
            let shared = under(
                mechanism,
                KeyBinding::Shared,
                KeyReference::EncryptedKeySha1,
                form,
            );
            let secured = secure_with(&shared, client_keys(), PLAIN, None);
            // Our own plan finds them as well: that is how a message looks that comes back.
            for keys in [service_keys(), client_keys()] {
                let found = found(&shared, keys, &facts(), &text(&secured));
                assert_known(&secured.receipt, &found, &case);
            }

            for reference in [KeyReference::Direct, KeyReference::EncryptedKeySha1] {
                let policy = under(mechanism, KeyBinding::Context, reference, form);
                let context = context(ConversationVersion::V13);
                let secured = within(&policy, &context);
                let found = found(
                    &policy,
                    service_keys(),
                    &knowing(&[&context]),
                    &text(&secured),
                );
                assert_known(&secured.receipt, &found, &case);
            }
        }
    }
}

/// A request under a session key that its answer uses again, the answer, and what the request left
/// behind.
fn exchanged(
    request: &Policy,
    keys: Keys,
    mechanism: Mechanism,
    form: Option<DerivedKeyForm>,
) -> (Secured, Policy, Secured) {
    let secured = secure_with(request, keys, PLAIN, None);
    let opened = open_with(request, service_keys(), &facts(), &text(&secured), now()).unwrap();
    let (_, receipt) = opened.finish(&mut Buffers::default());
    let response = under(
        mechanism,
        KeyBinding::RequestKey,
        KeyReference::EncryptedKeySha1,
        form,
    );
    let answer = secure_with(&response, service_keys(), PLAIN, Some(&receipt));
    (secured, response, answer)
}

#[test]
fn both_ends_of_a_session_key_know_the_marks_that_the_other_finds() {
    for mechanism in MECHANISMS {
        for form in FORMS {
            let case = format!("{mechanism} {form:?}");
            let request = under(
                mechanism,
                KeyBinding::SessionKey,
                KeyReference::Thumbprint,
                form,
            );
            let (secured, response, answer) = exchanged(&request, client_keys(), mechanism, form);
            if mechanism != Mechanism::Encrypt {
                // Where nothing is signed, the receiver of a request goes by its wrapped key, which
                // it is to see only once anyway.
                let found = found(&request, service_keys(), &facts(), &text(&secured));
                assert_known(&secured.receipt, &found, &case);
            }
            let facts = Facts {
                request: Some(secured.receipt),
                ..facts()
            };
            let found = found(&response, client_keys(), &facts, &text(&answer));
            assert_known(&answer.receipt, &found, &case);
        }
    }
}

/// The request as a stranger sends it back: without the wrapped key, which the client cannot
/// unwrap, and under the name that answers have for it.
fn made_an_answer(request: &str, receipt: &Receipt) -> String {
    let start = request.find("<xenc:EncryptedKey").unwrap();
    let end = request.find("</xenc:EncryptedKey>").unwrap() + "</xenc:EncryptedKey>".len();
    let lists = request[start..end]
        .find("<xenc:ReferenceList")
        .map(|at| &request[start + at..end - "</xenc:EncryptedKey>".len()])
        .unwrap_or_default()
        .replace(
            "<xenc:ReferenceList",
            &format!(
                "<xenc:ReferenceList xmlns:xenc=\"{}\"",
                soapstone_wss::names::XENC
            ),
        );
    let name = soapstone_crypto::base64::encode(&receipt.session_keys[0].0);
    let by_name = format!(
        "<wsse:SecurityTokenReference xmlns:wsse=\"{}\"><wsse:KeyIdentifier EncodingType=\"{}#Base64Binary\" ValueType=\"{}#EncryptedKeySHA1\">{name}\
         </wsse:KeyIdentifier></wsse:SecurityTokenReference>",
        soapstone_wss::names::WSSE,
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0",
        "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1",
    );
    let mut answer = format!("{}{lists}{}", &request[..start], &request[end..]);
    let mut from = 0;
    while let Some(at) = answer[from..].find("<wsse:SecurityTokenReference") {
        let at = from + at;
        let end = "</wsse:SecurityTokenReference>";
        let end = at + answer[at..].find(end).unwrap() + end.len();
        answer.replace_range(at..end, &by_name);
        from = at + by_name.len();
    }
    answer
}

#[test]
fn a_request_that_is_made_to_look_like_the_answer_under_its_session_key_has_known_marks() {
    let nobody = Keys {
        identity: None,
        ..client_keys()
    };
    for (mechanism, key) in [
        (Mechanism::Sign, KeyBinding::SessionKey),
        (Mechanism::SignEncrypt, KeyBinding::SessionKey),
        (Mechanism::Encrypt, KeyBinding::SessionKey),
        (Mechanism::Encrypt, KeyBinding::Certificate),
    ] {
        let request = under(mechanism, key, KeyReference::Thumbprint, None);
        let (secured, response, _) = exchanged(&request, nobody.clone(), mechanism, None);
        let back = made_an_answer(&text(&secured), &secured.receipt);
        let said = Receipt {
            marks: secured.receipt.marks.clone(),
            ..Receipt::default()
        };
        let facts = Facts {
            request: Some(secured.receipt),
            ..facts()
        };
        let found = found(&response, nobody.clone(), &facts, &back);
        assert_known(&said, &found, &format!("{mechanism} {key:?}"));
    }
}

#[test]
fn there_is_nothing_to_know_of_what_certificates_secure() {
    for mechanism in MECHANISMS {
        let secured = secure_with(
            &policy(mechanism, "Basic256GCM"),
            client_keys(),
            PLAIN,
            None,
        );
        assert!(secured.receipt.marks.is_empty(), "{mechanism}");
    }
}

#[test]
fn all_cipher_text_of_a_message_that_is_only_encrypted_is_known_that_inside_of_other_cipher_text_too()
 {
    let mut encrypt = under(
        Mechanism::Encrypt,
        KeyBinding::Shared,
        KeyReference::EncryptedKeySha1,
        None,
    );
    let parts = &mut encrypt.parts.encrypted;
    let inner = EncryptedPart::customary(Part::Id("inner".to_owned()));
    let header = "{http://www.w3.org/2005/08/addressing}To".parse().unwrap();
    parts.splice(0..0, [inner, EncryptedPart::customary(header)]);
    let id = format!(
        "<e:text xmlns:u=\"{}\" u:Id=\"inner\" ",
        soapstone_wss::names::WSU
    );
    let plain = PLAIN.replace("<e:text ", &id);
    let secured = secure_with(&encrypt, client_keys(), &plain, None);
    let mut found = found(&encrypt, service_keys(), &facts(), &text(&secured));
    assert_eq!(found.len(), 3);
    let mut said = secured.receipt;
    for marks in [&mut found, &mut said.marks] {
        marks.sort_unstable_by_key(|mark| mark.key);
    }
    assert_known(&said, &found, "three");
}
