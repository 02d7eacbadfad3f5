//! ExchangePolicies in words, for people who are to trust them.
//!
//! The one rule: everything that the plan demands is said, and nothing else.

use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, EndorsingToken, Extent, KeyBinding,
    KeyReference, Layout, Part, PasswordKind, Policy, ProtectionOrder, Recipient,
};

use crate::compile::{ExchangePolicy, headers_in_words};
use crate::requirements::TrustVersion;

impl ExchangePolicy {
    /// What the exchange policy demands, one sentence per line, without line ends.
    pub fn in_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.demands_nothing() {
            words.push("Messages need no protection.".to_owned());
        }
        if let Some(transport) = &self.transport {
            words.push(
                if transport.client_certificate {
                    "The connection is TLS, and the client proves a certificate while it is made."
                } else {
                    "The connection is TLS."
                }
                .to_owned(),
            );
        }
        if self.http_basic.is_some() {
            words.push("Requests carry a user and a password of HTTP (Basic).".to_owned());
        }
        if self.addressing {
            words.push("Messages carry WS-Addressing headers.".to_owned());
        }
        if let Some(conversation) = &self.conversation {
            let version = version_name(conversation.version);
            let protects =
                !self.request.is_by_connection() && self.request.uses(KeyBinding::Context);
            let done = if protects {
                "every message is protected with it"
            } else {
                "it signs for every request"
            };
            words.push(match &conversation.bootstrap {
                Some(_) => format!(
                    "Messages belong to a conversation ({version}): client and service agree on a key first, and {done}."
                ),
                None => format!(
                    "Messages belong to a conversation ({version}) whose key both sides have already."
                ),
            });
            for (allowed, what) in [
                (conversation.may_renew, "renew"),
                (conversation.may_amend, "amend"),
                (conversation.may_cancel, "cancel"),
            ] {
                if !allowed {
                    words.push(format!("The client must not {what} the conversation."));
                }
            }
        }
        if let Some(trust) = &self.trust {
            let version = match trust.version {
                TrustVersion::February2005 => "of February 2005",
                TrustVersion::V13 => "1.3",
            };
            let mut sentence = format!("Tokens are made by WS-Trust {version}");
            let entropy = match (trust.client_entropy, trust.server_entropy) {
                (true, true) => " from random bytes of both sides",
                (true, false) => " from random bytes of the client",
                (false, true) => " from random bytes of the service",
                (false, false) => "",
            };
            sentence.push_str(entropy);
            sentence.push('.');
            words.push(sentence);
        }
        words
    }
}

/// What one message must do, one sentence per line: the plan of [`Policy`] in words.
pub fn message_in_words(policy: &Policy) -> Vec<String> {
    let mut words = Vec::new();
    if !policy.has_security() {
        words.push("Nothing is signed or encrypted.".to_owned());
    } else {
        // TLS and a user's name take none of the suite's.
        let algorithms = algorithms(policy);
        if !algorithms.is_empty() {
            words.push(format!("Algorithms: {} ({algorithms}).", policy.suite.name));
        }
    }
    if let Some(timestamp) = policy.header.timestamp {
        let verb = if timestamp.required {
            "has"
        } else {
            "may have"
        };
        words.push(format!(
            "It {verb} a Timestamp, at most {} s old.",
            timestamp.ttl.as_secs()
        ));
    }
    if let Some(username) = policy.username() {
        let kinds: Vec<&str> = username
            .passwords
            .iter()
            .map(|kind| match kind {
                PasswordKind::Text => "a password",
                PasswordKind::Digest => "a password digest",
                PasswordKind::Absent => "no password",
            })
            .collect();
        words.push(format!("It names a user with {}.", kinds.join(" or ")));
    }
    if policy.kerberos().is_some() {
        words.push("A Kerberos token says who sends.".to_owned());
    }
    if let Some(signature) = policy.signature() {
        let parts = parts_in_words(signature.parts.iter().map(|part| (part, None)));
        let tokens = endorsing_tokens(policy, |endorsing| endorsing.signed);
        words.push(format!(
            "Signed with {}: {}.",
            key_in_words(signature.key, signature.reference, None),
            listed([parts].into_iter().chain(tokens))
        ));
    }
    if let Some(encryption) = policy.encryption() {
        let signing = policy.signature().map(|signature| signature.key);
        let key = if signing == Some(encryption.key) && encryption.key != KeyBinding::Certificate {
            "the same key".to_owned()
        } else {
            key_in_words(
                encryption.key,
                encryption.reference,
                Some(encryption.recipient),
            )
        };
        let parts = encryption
            .parts
            .iter()
            .map(|wanted| (&wanted.part, Some(wanted.extent)));
        let parts = parts_in_words(parts);
        let tokens = endorsing_tokens(policy, |endorsing| endorsing.encrypted);
        words.push(format!(
            "Encrypted with {key}: {}.",
            listed([parts].into_iter().chain(tokens))
        ));
    }
    // An answer may have nothing that its keys would protect.
    let protects = policy.signature().is_some() || policy.encryption().is_some();
    if let Some(derived) = policy.derived_keys().as_ref().filter(|_| protects) {
        words.push(match policy.signature().map(|signature| signature.key) {
            Some(KeyBinding::Certificate) => format!(
                "{}; nothing is derived from the private key that signs.",
                derivation_in_words(derived, "What encrypts is")
            ),
            None => format!("{}.", derivation_in_words(derived, "What encrypts is")),
            Some(_) => signature_derivation_in_words(derived, "Keys are"),
        });
    }
    words.extend(endorsements_in_words(policy));
    if policy.header.signature_confirmation {
        words.push("It confirms the signatures of its request.".to_owned());
    }
    if policy.signature().is_some() && policy.encryption().is_some() {
        words.push(
            match policy.order() {
                ProtectionOrder::SignBeforeEncrypting => "It is signed first, then encrypted.",
                ProtectionOrder::EncryptBeforeSigning => "It is encrypted first, then signed.",
            }
            .to_owned(),
        );
    }
    if policy.parts.only_entire_headers_and_body && policy.signature().is_some() {
        words.push(
            "Signatures cover header blocks and the Body as a whole, not parts of them.".to_owned(),
        );
    }
    let layout = match policy.header.layout {
        Layout::Lax => None,
        Layout::Strict => Some("Tokens stand before they are used."),
        Layout::LaxTimestampFirst => Some("The Timestamp is first in the Security header."),
        Layout::LaxTimestampLast => Some("The Timestamp is last in the Security header."),
    };
    if policy.has_security() {
        words.extend(layout.map(str::to_owned));
    }
    if !policy.parts.required.is_empty() {
        words.push(format!(
            "It must have: {}.",
            parts_in_words(policy.parts.required.iter().map(|part| (part, None)))
        ));
    }
    words
}

/// How keys are derived.
fn derivation_in_words(derived: &DerivedKeyPolicy, keys_are: &str) -> String {
    let form = match derived.form {
        DerivedKeyForm::Explicit => "tokens of their own",
        DerivedKeyForm::Implied => "their references",
    };
    let alone = if derived.exclusive {
        " and nowhere else"
    } else {
        ""
    };
    format!(
        "{keys_are} derived from that key ({}), and described in {form}{alone}",
        version_name(derived.version)
    )
}

/// The same, where one of them signs.
fn signature_derivation_in_words(derived: &DerivedKeyPolicy, keys_are: &str) -> String {
    format!(
        "{}; signature keys have {} bytes.",
        derivation_in_words(derived, keys_are),
        derived.signature_length
    )
}

/// Who endorses the message's signature, or its Timestamp, and what each of them covers.
fn endorsements_in_words(policy: &Policy) -> Vec<String> {
    let mut words = Vec::new();
    let over_timestamp = policy.is_by_connection() && policy.endorsing_beside().next().is_some();
    let several = over_timestamp || policy.endorsing_beside().count() > 1;
    if several {
        let keys = if policy.same_endorser {
            "maybe with one key"
        } else {
            "each with a key of its own"
        };
        let count = policy.endorsing_beside().count();
        words.push(if over_timestamp {
            format!(
                "The Timestamp is endorsed by {} signatures, {keys}.",
                count + 1
            )
        } else {
            format!("The signature is endorsed by {count} others, {keys}.")
        });
    }
    for (index, endorsing) in policy.endorsing_beside().enumerate() {
        let covers = if endorsing.covers_token {
            ", which it covers itself,"
        } else {
            ""
        };
        let named = reference_in_words(endorsing.key.reference());
        let signature = endorsing_signature(policy, index);
        let by_secret = endorsing.key.kind() != KeyBinding::Certificate;
        words.push(match (several, by_secret) {
            (true, false) => format!("The certificate of {signature}{covers} is {named}."),
            (false, false) => format!(
                "The signature is endorsed by a second one: the sender's certificate{covers} is {named}."
            ),
            (_, true) => {
                let key = key_in_words(endorsing.key.kind(), endorsing.key.reference(), None);
                let made = match several {
                    true => format!("{} is", capitalized(&signature)),
                    false => "The signature is endorsed by a second one,".to_owned(),
                };
                format!("{made} made with {key}{}.", covers.trim_end_matches(','))
            }
        });
        if let Some(derived) = &endorsing.key.derived_keys() {
            words.push(signature_derivation_in_words(derived, "Its key is"));
        }
        if !endorsing.parts.is_empty() {
            let parts = parts_in_words(endorsing.parts.iter().map(|part| (part, None)));
            words.push(format!(
                "{} covers besides: {parts}.",
                capitalized(&signature)
            ));
        }
    }
    words
}

/// The tokens of endorsing signatures to which something is done.
fn endorsing_tokens(
    policy: &Policy,
    is_meant: impl Fn(&EndorsingToken) -> bool,
) -> impl Iterator<Item = String> {
    let endorsing = policy.endorsing_beside().enumerate();
    endorsing
        .filter(move |(_, endorsing)| is_meant(endorsing))
        .map(|(index, _)| format!("the token of {}'s key", endorsing_signature(policy, index)))
}

/// One of the endorsing signatures, by its place among them if there are several. Over a Timestamp
/// the message's own is the first.
fn endorsing_signature(policy: &Policy, index: usize) -> String {
    const PLACES: [&str; 3] = ["first", "second", "third"];
    let before = usize::from(policy.is_by_connection());
    match (
        policy.endorsing_beside().count() + before,
        PLACES.get(index + before),
    ) {
        (..=1, _) => "the endorsing signature".to_owned(),
        (_, Some(place)) => format!("the {place} endorsing signature"),
        (_, None) => format!("endorsing signature {}", index + before + 1),
    }
}

/// What there is of several lists, in one.
fn listed(lists: impl Iterator<Item = String>) -> String {
    let lists: Vec<String> = lists.filter(|list| !list.is_empty()).collect();
    lists.join("; ")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The algorithms that messages use, by their short names.
pub(crate) fn algorithms(policy: &Policy) -> String {
    let suite = &policy.suite;
    let mut names: Vec<String> = Vec::new();
    let signs = policy.signature().map(|signature| signature.key);
    if let Some(key) = signs {
        let endorses =
            |with: KeyBinding| policy.endorsing_beside().any(|one| one.key.kind() == with);
        let symmetric = key != KeyBinding::Certificate;
        let by_secret = policy.endorsing_beside().any(|one| one.key.is_secret());
        if symmetric || by_secret {
            names.extend(
                suite
                    .symmetric_signature
                    .iter()
                    .map(|one| one.short_name().to_owned()),
            );
        }
        if !symmetric || endorses(KeyBinding::Certificate) {
            names.extend(
                suite
                    .signature
                    .iter()
                    .map(|one| one.short_name().to_owned()),
            );
        }
        names.extend(suite.digest.iter().map(|one| one.short_name().to_owned()));
    }
    let wraps = [signs, policy.encryption().map(|encryption| encryption.key)]
        .into_iter()
        .flatten()
        .any(|key| key == KeyBinding::SessionKey)
        || policy
            .encryption()
            .is_some_and(|encryption| encryption.key == KeyBinding::Certificate);
    if wraps {
        names.extend(
            suite
                .key_transport
                .iter()
                .map(|one| one.algorithm.short_name().to_owned()),
        );
        names.extend(suite.key_agreement.iter().map(|one| {
            let (agreement, derivation, wrap) = (one.algorithm, one.derivation, one.wrap);
            format!("{agreement} with {derivation} ({}) and {wrap}", one.digest)
        }));
    }
    if policy.encryption().is_some() {
        names.extend(suite.data.iter().map(|one| one.short_name().to_owned()));
    }
    names.join(", ")
}

fn key_in_words(key: KeyBinding, reference: KeyReference, recipient: Option<Recipient>) -> String {
    match key {
        KeyBinding::Certificate => {
            let named = reference_in_words(reference);
            match recipient {
                None => format!("the key of the sender's certificate, which is {named}"),
                Some(Recipient::Peer) => {
                    format!("a fresh key, wrapped to the receiver's certificate, which is {named}")
                }
                Some(Recipient::Requester) => format!(
                    "a fresh key, wrapped to the certificate that signed the request, which is {named}"
                ),
                Some(Recipient::Holder) => format!(
                    "a fresh key, wrapped to the certificate that signed the request, which is named by the request's assertion, or else is {named}"
                ),
            }
        }
        KeyBinding::Shared => "the shared key".to_owned(),
        KeyBinding::RequestKey => "the key that the request carried".to_owned(),
        KeyBinding::SessionKey => format!(
            "a fresh key, wrapped to the receiver's certificate, which is {}",
            reference_in_words(reference)
        ),
        KeyBinding::Kerberos => match reference {
            KeyReference::Direct => {
                "the session key of the Kerberos token, which is in the message".to_owned()
            }
            _ => "the session key of the Kerberos token, which is named by its SHA-1".to_owned(),
        },
        KeyBinding::Context => match reference {
            KeyReference::Direct => {
                "the key of the conversation, whose token is in the message".to_owned()
            }
            _ => "the key of the conversation".to_owned(),
        },
        KeyBinding::Assertion => match reference {
            KeyReference::Direct => {
                "the symmetric key of the assertion's holder, whose assertion is in the message"
                    .to_owned()
            }
            _ => "the symmetric key of the assertion's holder, named by the assertion's id"
                .to_owned(),
        },
        KeyBinding::Password => {
            "a key from the password of a user, whose token is in the message".to_owned()
        }
    }
}

fn reference_in_words(reference: KeyReference) -> &'static str {
    match reference {
        KeyReference::Direct => "in the message",
        KeyReference::PkiPath => "in the message, with its path to an authority",
        KeyReference::SubjectKeyIdentifier | KeyReference::X509Ski => {
            "named by its subject key identifier"
        }
        KeyReference::Thumbprint => "named by its thumbprint",
        KeyReference::IssuerSerial
        | KeyReference::IssuerSerialQuoted
        | KeyReference::X509IssuerSerial => "named by issuer and serial number",
        KeyReference::IssuerSerialAndCertificate | KeyReference::X509IssuerSerialAndCertificate => {
            "inside of `ds:X509Data`, beside its issuer and serial number"
        }
        KeyReference::Embedded => "inside the reference to it",
        KeyReference::KeyName => "named",
        KeyReference::X509Data => "inside of `ds:X509Data`",
        KeyReference::KeyValue => "named by its public key",
        KeyReference::RsaKeyValue => "named by its public key, which is one of RSA",
        KeyReference::EncryptedKeySha1 => "named by its SHA-1",
    }
}

/// Parts in words; header blocks that follow each other in one namespace are told together.
fn parts_in_words<'p>(parts: impl Iterator<Item = (&'p Part, Option<Extent>)>) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut headers: Option<(&str, Vec<&str>)> = None;
    let told = |headers: Option<(&str, Vec<&str>)>, words: &mut Vec<String>| {
        if let Some((namespace, names)) = headers {
            let noun = if names.len() == 1 {
                "header"
            } else {
                "headers"
            };
            words.push(format!("the {noun} {} of {namespace}", names.join(", ")));
        }
    };
    for (part, extent) in parts {
        match part {
            Part::Header { namespace, local } if extent != Some(Extent::Content) => {
                match &mut headers {
                    Some((known, names)) if *known == namespace => names.push(local),
                    _ => told(headers.replace((namespace, vec![local])), &mut words),
                }
            }
            _ => {
                told(headers.take(), &mut words);
                let part = part_in_words(part);
                words.push(match extent {
                    Some(Extent::Content) => format!("the content of {part}"),
                    _ => part,
                });
            }
        }
    }
    told(headers, &mut words);
    words.join("; ")
}

fn part_in_words(part: &Part) -> String {
    match part {
        Part::Body => "the Body".to_owned(),
        Part::Timestamp => "the Timestamp".to_owned(),
        Part::Signature => "the signature".to_owned(),
        Part::UsernameToken => "the UsernameToken".to_owned(),
        Part::Assertion => "the assertion".to_owned(),
        Part::Token => "the token of the signature's key".to_owned(),
        Part::EndorsingToken => "the token of an endorsing signature's key".to_owned(),
        Part::SignatureConfirmation => "the signature confirmations".to_owned(),
        Part::Header { namespace, local } => format!("the header {local} of {namespace}"),
        Part::Path(path) => {
            headers_in_words(path).unwrap_or_else(|| format!("the elements {path}"))
        }
        other => other.to_string(),
    }
}

fn version_name(version: ConversationVersion) -> &'static str {
    match version {
        ConversationVersion::February2005 => "WS-SecureConversation of February 2005",
        ConversationVersion::V13 => "WS-SecureConversation 1.3",
    }
}
