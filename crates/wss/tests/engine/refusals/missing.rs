//! Messages that lack what the plan demands of their header, or have it beside what was meant.

use soapstone_wss::{
    Binding, EncryptedPart, KerberosForm, KerberosPolicy, Mechanism, Part, Policy, Rejected,
    SupportingToken,
};

use super::{cut, refuse, sign};
use crate::support::*;

/// A policy that wants a token about the sender, too.
fn wanting(policy: &Policy, token: SupportingToken) -> Policy {
    with(policy, |policy| policy.supporting.push(token))
}

fn user_token() -> SupportingToken {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    SupportingToken::Username(policy.username().unwrap().clone())
}

fn ticket() -> SupportingToken {
    SupportingToken::Kerberos(KerberosPolicy {
        form: KerberosForm::Gss,
        carried: true,
        by_identifier: false,
    })
}

/// In the clear it is missed before anything is deciphered; where cipher text of the header could
/// hold it, afterwards.
#[test]
fn a_message_without_the_token_about_its_sender_is_refused() {
    let users = policy(Mechanism::Username, "Basic128GCM");
    let message = secure(&users, PLAIN);
    let without = message.replacen(cut(&message, "wsse:UsernameToken"), "", 1);
    assert_eq!(refuse(&users, &without), Rejected::UsernameMissing);
    let hiding = with(&policy(Mechanism::SignEncrypt, "Basic128GCM"), |policy| {
        let signature = EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(signature);
    });
    for sent in [sign(), hiding] {
        let message = secure(&sent, PLAIN);
        assert!(open(&sent, &message).is_ok());
        let wanted = wanting(&sent, user_token());
        assert_eq!(refuse(&wanted, &message), Rejected::UsernameMissing);
    }
    // A ticket is shown behind a connection that protects it.
    let connected = with(&users, |policy| policy.binding = Binding::Transport);
    assert!(open(&connected, &message).is_ok());
    let wanted = wanting(&connected, ticket());
    assert_eq!(refuse(&wanted, &message), Rejected::KerberosMissing);
}

/// XML-Enc 1.1, 2.1.2: content is all that an element holds. What stands beside the cipher text was
/// in no cipher text.
#[test]
fn a_body_of_which_a_part_is_encrypted_is_not_encrypted() {
    let encrypt = policy(Mechanism::Encrypt, "Basic128GCM");
    let message = secure(&encrypt, PLAIN);
    assert!(open(&encrypt, &message).is_ok());
    for beside in ["<added/>", "added"] {
        let end = "</soap:Body>";
        let changed = message.replacen(end, &format!("{beside}{end}"), 1);
        assert_ne!(changed, message);
        let part = Part::Body;
        assert_eq!(refuse(&encrypt, &changed), Rejected::Unencrypted { part });
    }
}
