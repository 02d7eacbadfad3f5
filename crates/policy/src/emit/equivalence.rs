//! Whether two exchange policies demand the same of messages.
//!
//! What only one side decides does not count: freshness, limits, tuning, whose certificate answers
//! are encrypted for. Nor does the order in which parts are named. The one rule: whatever a peer
//! could see or be refused for does.

use soapstone_wss::{
    DerivedKeyPolicy, EndorsingToken, Extent, KerberosPolicy, KeyBinding, KeyReference, Layout,
    Part, PasswordKind, Policy, ProtectionOrder,
};

use super::suites::Algorithms;
use crate::compile::ExchangePolicy;

/// In what respect the second exchange policy is another one.
pub(super) fn first_difference(
    meant: &ExchangePolicy,
    read: &ExchangePolicy,
) -> Option<&'static str> {
    let message = |policy| Message::of(policy);
    if message(&meant.request) != message(&read.request) {
        return Some("the request");
    }
    if message(&meant.response) != message(&read.response) {
        return Some("the response");
    }
    if meant.transport != read.transport {
        return Some("the connection");
    }
    if meant.http_basic.is_some() != read.http_basic.is_some() {
        return Some("the user of HTTP");
    }
    if meant.addressing != read.addressing {
        return Some("the addressing headers");
    }
    let trust = meant.trust.as_ref().map(|trust| trust.version);
    if trust.is_some() && trust != read.trust.as_ref().map(|trust| trust.version) {
        return Some("the version of WS-Trust");
    }
    let (meant, read) = match (&meant.conversation, &read.conversation) {
        (None, None) => return None,
        (Some(meant), Some(read)) => (meant, read),
        _ => return Some("the conversation"),
    };
    let allowed = |conversation: &crate::Conversation| {
        (
            conversation.version,
            conversation.may_cancel,
            conversation.may_amend,
            conversation.may_renew,
        )
    };
    if allowed(meant) != allowed(read) {
        return Some("the conversation");
    }
    match (&meant.bootstrap, &read.bootstrap) {
        (None, None) => None,
        (Some(meant), Some(read)) => {
            first_difference(meant, read).map(|_| "how the conversation is made")
        }
        _ => Some("how the conversation is made"),
    }
}

/// What is demanded of one message.
#[derive(Debug, PartialEq, Eq)]
struct Message<'p> {
    algorithms: Algorithms<'p>,
    timestamp: bool,
    passwords: Option<&'p [PasswordKind]>,
    kerberos: Option<KerberosPolicy>,
    signature: Option<Protection<Part>>,
    encryption: Option<Protection<(&'p Part, bool)>>,
    order: ProtectionOrder,
    actor: Option<&'p str>,
    derived_keys: Option<DerivedKeyPolicy>,
    endorsing: Vec<&'p EndorsingToken>,
    include_certificate: bool,
    signature_confirmation: bool,
    required: Vec<&'p Part>,
    only_entire_headers_and_body: bool,
    transport_protected: bool,
    layout: Layout,
}

/// What is protected, and how its key is named.
#[derive(Debug, PartialEq, Eq)]
struct Protection<T> {
    parts: Vec<T>,
    key: KeyBinding,
    reference: KeyReference,
}

impl<'p> Message<'p> {
    fn of(policy: &'p Policy) -> Self {
        let signature = policy.signature().map(|signature| Protection {
            parts: sorted(signature.parts.iter().cloned()),
            key: signature.key,
            reference: reference(signature.key, signature.reference),
        });
        let encryption = policy.encryption().map(|encryption| {
            let parts = encryption
                .parts
                .iter()
                .map(|wanted| (&wanted.part, wanted.extent == Extent::Content));
            let key = match encryption.key {
                // A wrapped key that signs nothing: both make the same message.
                KeyBinding::SessionKey if signature.is_none() => KeyBinding::Certificate,
                key => key,
            };
            Protection {
                parts: sorted(parts),
                key,
                reference: reference(key, encryption.reference),
            }
        });
        Self {
            algorithms: Algorithms::of(&policy.suite, policy),
            // One that is not demanded is looked at where it is there, as it is without any demand.
            timestamp: policy
                .header
                .timestamp
                .is_some_and(|timestamp| timestamp.required),
            passwords: policy
                .username()
                .map(|username| username.passwords.as_slice()),
            kerberos: policy.kerberos(),
            signature,
            encryption,
            order: policy.order(),
            actor: policy.header.actor.as_deref(),
            derived_keys: policy.derived_keys(),
            endorsing: policy.endorsing().collect(),
            include_certificate: policy.introduces_certificate(),
            signature_confirmation: policy.header.signature_confirmation,
            required: sorted(policy.parts.required.iter()),
            only_entire_headers_and_body: policy.parts.only_entire_headers_and_body,
            transport_protected: policy.is_by_connection() && policy.signature().is_some(),
            layout: policy.header.layout,
        }
    }
}

/// How messages name a key, as far as there is a choice: the key of a request by its digest, a
/// context by its token or its identifier.
fn reference(key: KeyBinding, reference: KeyReference) -> KeyReference {
    match key {
        KeyBinding::RequestKey => KeyReference::EncryptedKeySha1,
        KeyBinding::Context if reference != KeyReference::Direct => KeyReference::KeyName,
        // How the issuer's name is spelled is no matter of policies.
        _ if reference == KeyReference::IssuerSerialQuoted => KeyReference::IssuerSerial,
        _ => reference,
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut sorted: Vec<T> = items.collect();
    sorted.sort();
    sorted.dedup();
    sorted
}
