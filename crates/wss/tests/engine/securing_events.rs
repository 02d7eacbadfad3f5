//! The events of securing: what a listener hears, that the receiver is told the same bytes, and
//! that no secret is among them.

use std::sync::Arc;

use soapstone_crypto::{base64, digest};
use soapstone_wss::{
    AssertionToken, CipherExtent, ConfirmationMethod, ConversationVersion, DerivedKeyForm,
    EncryptedPart, Envelope, Event, Facts, FirstSeen, InboundPlan, InclusivePrefixes, KeyBinding,
    KeyOrigin, KeyReference, KeyUsage, Keys, Mechanism, Operation, OperationObserver, OutboundPlan,
    Outgoing, Part, PasswordKind, Policy, ProtectionOrder, Receipt, SamlVersion, Secured,
    SecuringEvent, SupportingToken, TokenUse, Transformation, UsernamePolicy, WrittenToken,
};
use soapstone_xml::{Buffers, Limits};

use crate::conversations::derived;
use crate::saml::accepted::{by_holder, covering};
use crate::saml::hidden::hiding;
use crate::saml::issuing::{Draft, accepting, adjusted, client, with_assertion};
use crate::support::*;

/// A reference as one side tells it: its URI, the canonical bytes, and the digest.
type Digested = (String, Vec<u8>, Vec<u8>);

/// Writes down what it hears of securing.
#[derive(Default)]
pub(crate) struct Sender {
    operations: Vec<Operation>,
    references: Vec<Digested>,
    signed_infos: Vec<Vec<u8>>,
    /// What names the keys of signatures.
    named: Vec<String>,
    secret: Vec<String>,
    /// What the keys do whose holders only the receiver may know.
    secret_keys: Vec<KeyUsage>,
    /// Signatures whose values only the receiver may read.
    secret_values: usize,
    /// All that anybody may be told of elements and tokens.
    public: String,
    heard: Vec<String>,
    debug: String,
}

impl OperationObserver for Sender {
    fn ended(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    fn listens(&self) -> bool {
        true
    }

    fn made(&mut self, event: SecuringEvent<'_>) {
        self.debug += &format!("{event:?}\n");
        let heard = match event {
            SecuringEvent::Timestamp {
                created, expires, ..
            } => {
                assert!(created < expires);
                "a timestamp".to_owned()
            }
            SecuringEvent::Token {
                token,
                usage,
                is_secret,
                ..
            } => {
                if !is_secret {
                    self.public += &format!("{token:?}");
                }
                let token = match token {
                    WrittenToken::Certificate(certificate) => certificate.subject().to_owned(),
                    WrittenToken::Username { user } => user.to_owned(),
                    other => format!("{other:?}"),
                };
                format!("token {token}: {usage:?}, secret: {is_secret}")
            }
            SecuringEvent::Confirmation { values } => format!("{} confirmed", values.len()),
            SecuringEvent::Key {
                usage,
                origin,
                derived,
                is_secret,
                ..
            } => {
                if is_secret {
                    self.secret_keys.push(usage);
                }
                let origin = match origin {
                    KeyOrigin::Private(certificate) => certificate.subject().to_owned(),
                    other => format!("{other:?}"),
                };
                let derived = derived.map(|one| {
                    assert_eq!(one.label, soapstone_wss::DEFAULT_LABEL);
                    assert!(one.root.is_some(), "{one:?}");
                    format!(", derived: {:?} {} bytes", one.form, one.length)
                });
                format!("{usage:?} by {origin}{}", derived.unwrap_or_default())
            }
            SecuringEvent::KeyWrapped {
                recipient, named, ..
            } => {
                assert!(named.is_some());
                format!("wrapped for {}", recipient.subject())
            }
            SecuringEvent::Reference {
                uri,
                element,
                method,
                canonical,
                digest: told,
                is_secret,
                ..
            } => {
                let computed = digest(method, canonical).unwrap();
                assert_eq!(computed.as_ref(), told.as_ref(), "{element}");
                let one = (uri.to_owned(), canonical.to_vec(), told.as_ref().to_vec());
                self.references.push(one);
                match is_secret {
                    true => self.secret.push(element.to_owned()),
                    false => self.public += &String::from_utf8_lossy(canonical),
                }
                format!("digested {element}")
            }
            SecuringEvent::SignatureValue {
                named,
                signed_info,
                is_secret,
                ..
            } => {
                self.secret_values += usize::from(is_secret);
                self.signed_infos.push(signed_info.to_vec());
                self.named.push(named.unwrap().to_string());
                "signed".to_owned()
            }
            SecuringEvent::Encryption {
                element,
                extent,
                algorithm,
                named,
                ..
            } => {
                assert!(named.is_some());
                format!("{extent:?} of {element} by {}", algorithm.short_name())
            }
            SecuringEvent::Header { items, .. } => {
                let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
                names.join(" ")
            }
            other => panic!("expected an event that is known, found {other:?}"),
        };
        self.heard.push(heard);
    }
}

/// Writes down what it hears of opening.
#[derive(Default)]
struct Receiver {
    references: Vec<Digested>,
    signed_infos: Vec<Vec<u8>>,
    named: Vec<String>,
}

impl OperationObserver for Receiver {
    fn ended(&mut self, _: Operation) {}

    fn listens(&self) -> bool {
        true
    }

    fn found(&mut self, envelope: &Envelope, event: Event<'_>) {
        match event {
            Event::Reference {
                reference,
                canonical,
                computed,
                ..
            } => self.references.push((
                reference.uri.clone().unwrap_or_default(),
                canonical.unwrap_or_default().to_vec(),
                computed
                    .map(|one| one.as_ref().to_vec())
                    .unwrap_or_default(),
            )),
            Event::SignatureValue { signed_info, .. } => {
                self.signed_infos.push(signed_info.to_vec());
            }
            Event::KeyFound { user, named, .. } => {
                let is_signature = envelope.document().element(user).is_local("Signature");
                if let Some(named) = named.filter(|_| is_signature) {
                    self.named.push(named.to_string());
                }
            }
            _ => {}
        }
    }
}

fn secured(policy: &Policy, plain: &str) -> (Secured, Sender) {
    let keys = match Agreeing::of(&policy.suite.name) {
        Some(agreeing) => agreeing.client_keys(),
        None => client_keys(),
    };
    secured_with(policy, keys, plain, Outgoing::default())
}

fn secured_with(
    policy: &Policy,
    keys: Keys,
    plain: &str,
    outgoing: Outgoing<'_>,
) -> (Secured, Sender) {
    let plan = OutboundPlan::compile(policy.clone(), keys).unwrap();
    let (mut sender, mut buffers) = (Sender::default(), Buffers::default());
    let secured = plan.secure_observed(envelope(plain), outgoing, now(), &mut buffers, &mut sender);
    (secured.unwrap(), sender)
}

fn received(policy: &Policy, message: Vec<u8>) -> Receiver {
    received_with(policy, service_keys_for(policy), &facts(), message)
}

fn received_with(policy: &Policy, keys: Keys, facts: &Facts, message: Vec<u8>) -> Receiver {
    let plan = InboundPlan::compile(policy.clone(), keys).unwrap();
    let (mut buffers, mut receiver) = (Buffers::default(), Receiver::default());
    let envelope = Envelope::parse(message, &Limits::default(), &mut buffers).unwrap();
    let authentic = plan.authenticate(envelope, facts, now(), &mut buffers, &mut receiver);
    let authentic = authentic.unwrap();
    let first_seen = FirstSeen::assertion(authentic.marks());
    authentic.open(&first_seen, &mut buffers).unwrap();
    receiver
}

impl Sender {
    /// What the receiver of a message is told otherwise than its sender was, and what is told of it
    /// that nobody else can read in it.
    pub(crate) fn amiss(
        self,
        policy: &Policy,
        (keys, facts): (Keys, &Facts),
        message: &str,
    ) -> Option<String> {
        let receiver = received_with(policy, keys, facts, message.as_bytes().to_vec());
        let (sent, arrived) = (sorted(self.references), sorted(receiver.references));
        if sent != arrived {
            return Some(format!("sent {sent:?}, arrived {arrived:?}"));
        }
        let (sent, arrived) = (sorted(self.signed_infos), sorted(receiver.signed_infos));
        if sent != arrived {
            return Some(format!("sent {sent:?}, arrived {arrived:?}"));
        }
        let mut named = receiver.named.iter();
        if let Some(other) = named.find(|one| !self.named.contains(one)) {
            return Some(format!("{other} is not in {:?}", self.named));
        }
        // Of the Body, of a header block, and of a token.
        let texts = ["Grüße", "urn:service", "alice"];
        let mut leaked = texts.iter().filter(|text| self.public.contains(**text));
        if let Some(text) = leaked.find(|text| !message.contains(**text)) {
            return Some(format!("{text} is told, and is cipher text in the message"));
        }
        let password = std::str::from_utf8(PASSWORD).unwrap();
        self.public
            .contains(password)
            .then(|| "a password is told".to_owned())
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// Policies that sign in every way.
fn signing_policies() -> Vec<Policy> {
    let mut policies = Vec::new();
    for mechanism in [
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        let plain = policy(mechanism, "Basic256Sha256");
        for reference in KeyReference::ALL {
            if reference != KeyReference::EncryptedKeySha1 {
                policies.push(with(&plain, |one| one.name_signing_key(reference)));
            }
        }
        policies.push(with_shared_key(plain.clone()));
        policies.push(with(&plain, |one| {
            one.parts.signed.push(header("To"));
            one.parts.signed.push(Part::Token);
            one.parts.inclusive_prefixes = InclusivePrefixes::InScope;
        }));
        policies.push(with(&plain, |one| {
            endorse(one, KeyReference::Direct, true, true);
        }));
    }
    for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
        let symmetric = policy(Mechanism::SignEncrypt, "Basic256Sha256");
        policies.push(with(&symmetric, |one| {
            one.bind(KeyBinding::SessionKey, KeyReference::Thumbprint);
            one.set_derived_keys(derived(ConversationVersion::V13, form));
        }));
    }
    policies.push(with(
        &policy(Mechanism::SignEncrypt, "Basic256Sha256"),
        |one| {
            one.parts
                .encrypted
                .push(EncryptedPart::customary(Part::Signature));
        },
    ));
    policies
}

/// A partner's mismatch can be compared byte for byte only with the bytes that were signed.
#[test]
fn the_receiver_is_told_the_bytes_that_the_sender_was_told() {
    let policies = signing_policies();
    assert!(policies.len() > 50);
    for policy in policies {
        let (secured, sender) = secured(&policy, PLAIN);
        let message = String::from_utf8(secured.bytes.clone()).unwrap();
        let receiver = received(&policy, secured.bytes);
        assert!(!sender.references.is_empty(), "{message}");
        assert_eq!(
            sorted(sender.references),
            sorted(receiver.references),
            "{message}"
        );
        assert_eq!(sorted(sender.signed_infos), sorted(receiver.signed_infos));
        let named = sorted(sender.named);
        for one in &receiver.named {
            assert!(named.contains(one), "{one} is not in {named:?}: {message}");
        }
    }
}

#[test]
fn a_listener_hears_of_tokens_keys_digests_cipher_text_and_the_header() {
    let policy = policy(Mechanism::SignEncrypt, "Basic256Sha256");
    let (secured, sender) = secured(&policy, PLAIN);
    let expected = [
        "a timestamp",
        "token CN=client: Signature, secret: false",
        "Signature by CN=client",
        "digested wsu:Timestamp",
        "digested soap:Body",
        "signed",
        "Encryption by Session",
        "wrapped for CN=service",
        "wsu:Timestamp wsse:BinarySecurityToken xenc:EncryptedKey ds:Signature",
    ];
    for one in expected {
        assert!(
            sender.heard.iter().any(|it| it == one),
            "{one}: {:#?}",
            sender.heard
        );
    }
    let content = format!("{:?} of soap:Body by ", CipherExtent::Content);
    assert!(sender.heard.iter().any(|it| it.starts_with(&content)));
    let message = String::from_utf8(secured.bytes).unwrap();
    for (uri, _, digest) in &sender.references {
        assert!(message.contains(&format!("URI=\"{uri}\"")), "{uri}");
        assert!(message.contains(&base64::encode(digest)), "{uri}");
    }
    // The last event of a header.
    assert!(sender.heard.last().unwrap().starts_with("wsu:Timestamp "));
    let value = sender.heard.iter().position(|it| it == "signed").unwrap();
    let body = sender
        .heard
        .iter()
        .position(|it| it == "digested soap:Body")
        .unwrap();
    assert!(body < value);
}

#[test]
fn a_derived_key_is_told_by_what_it_is_derived_from_and_never_by_its_bytes() {
    for (form, listed) in [
        (DerivedKeyForm::Explicit, true),
        (DerivedKeyForm::Implied, false),
    ] {
        let policy = with(&policy(Mechanism::SignEncrypt, "Basic256Sha256"), |one| {
            one.bind(KeyBinding::Shared, KeyReference::EncryptedKeySha1);
            one.set_derived_keys(derived(ConversationVersion::V13, form));
        });
        let (_, sender) = secured(&policy, PLAIN);
        for usage in [KeyUsage::Signature, KeyUsage::Encryption] {
            let start = format!("{usage:?} by Shared(\"both of us\"), derived: {form:?} ");
            let has = sender.heard.iter().any(|it| it.starts_with(&start));
            assert!(has, "{start}: {:#?}", sender.heard);
        }
        let header = sender.heard.last().unwrap();
        assert_eq!(header.contains("wsc:DerivedKeyToken"), listed, "{header}");
    }
}

/// The bytes of keys, in the forms in which they could be written.
fn written(key: &[u8]) -> [String; 3] {
    [
        format!("{key:?}"),
        base64::encode(key),
        soapstone_crypto::hexadecimal::encode(key),
    ]
}

#[test]
fn no_event_has_a_key_or_a_password_by_itself() {
    let user = SupportingToken::Username(UsernamePolicy::with_passwords(vec![PasswordKind::Text]));
    for policy in signing_policies() {
        let policy = with(&with_shared_key(policy), |one| {
            one.supporting.push(user.clone());
        });
        let (_, sender) = secured(&policy, PLAIN);
        for secret in written(PARTIES.shared.signing.expose()) {
            assert!(!sender.debug.contains(&secret), "{}", sender.debug);
        }
        for secret in written(PASSWORD) {
            assert!(!sender.debug.contains(&secret), "{}", sender.debug);
        }
    }
}

#[test]
fn what_only_the_receiver_may_read_is_marked() {
    let text = "Grüße";
    let user = SupportingToken::Username(UsernamePolicy::with_passwords(vec![PasswordKind::Text]));
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        let policy = with(&policy(Mechanism::SignEncrypt, "Basic256Sha256"), |one| {
            one.set_order(order);
            one.supporting.push(user.clone());
            one.parts.signed.push(Part::UsernameToken);
            one.parts.signed.push(header("To"));
        });
        let (_, sender) = secured(&policy, PLAIN);
        let is_signed_first = order == ProtectionOrder::SignBeforeEncrypting;
        let readable = sender
            .references
            .iter()
            .filter(|(_, bytes, _)| String::from_utf8_lossy(bytes).contains(text));
        assert_eq!(readable.count(), usize::from(is_signed_first));
        let secret: Vec<&str> = sender.secret.iter().map(String::as_str).collect();
        match is_signed_first {
            true => assert_eq!(secret, ["wsse:UsernameToken", "soap:Body"]),
            // A password in the clear is a secret, too.
            false => assert!(!secret.contains(&"soap:Body"), "{secret:?}"),
        }
        assert!(!secret.contains(&"a:To") && !secret.contains(&"wsu:Timestamp"));
    }
    // A part inside of a signed one, and around one.
    let inside = with(&policy(Mechanism::Sign, "Basic256Sha256"), |one| {
        *one = policy(Mechanism::SignEncrypt, "Basic256Sha256");
        one.parts.encrypted = vec![EncryptedPart::customary(path("//text"))];
    });
    let plain = PLAIN.replace("e:text", "text");
    let (_, sender) = secured(&inside, &plain);
    assert_eq!(sender.secret, ["soap:Body"]);
}

fn encrypting(policy: &mut Policy, part: Part) {
    let part = EncryptedPart::customary(part);
    policy.parts.encrypted.push(part);
}

#[test]
fn signatures_tokens_and_confirmations_that_are_encrypted_are_marked() {
    let plain = policy(Mechanism::SignEncrypt, "Basic256Sha256");
    let policy = with(&plain, |one| {
        encrypting(one, Part::Signature);
        endorse(one, KeyReference::Direct, true, true);
        hide_endorsement(one);
    });
    let (_, sender) = secured(&policy, PLAIN);
    assert_eq!(sender.secret_values, 2);
    let both = [KeyUsage::Signature, KeyUsage::Endorsement];
    assert_eq!(sender.secret_keys, both);
    for element in ["ds:Signature", "wsse:BinarySecurityToken", "soap:Body"] {
        let is_secret = sender.secret.iter().any(|one| one == element);
        assert!(is_secret, "{element}: {:?}", sender.secret);
    }
    let token = "token CN=client: Endorsement, secret: true";
    assert!(
        sender.heard.iter().any(|one| one == token),
        "{:#?}",
        sender.heard
    );
    // Of a signature in the clear, the token alone.
    let policy = with(&plain, |one| {
        endorse(one, KeyReference::Direct, true, true);
        hide_endorsement(one);
    });
    let (_, sender) = secured(&policy, PLAIN);
    assert_eq!(sender.secret_keys, [KeyUsage::Endorsement]);
    assert_eq!(sender.secret_values, 0);

    let user = UsernamePolicy::with_passwords(vec![PasswordKind::Absent]);
    let policy = with(&plain, |one| {
        one.supporting.push(SupportingToken::Username(user.clone()));
        one.parts.signed.push(Part::UsernameToken);
        encrypting(one, Part::UsernameToken);
    });
    let (_, sender) = secured(&policy, PLAIN);
    assert!(sender.secret.iter().any(|one| one == "wsse:UsernameToken"));
    let token = "token alice: Authentication, secret: true";
    assert!(
        sender.heard.iter().any(|one| one == token),
        "{:#?}",
        sender.heard
    );

    let receipt = Receipt {
        signature_values: vec![b"a value".to_vec()],
        signer: Some(PARTIES.client.certificate().clone()),
        ..Receipt::default()
    };
    let policy = with(&plain, |one| {
        one.header.signature_confirmation = true;
        one.parts.signed.push(Part::SignatureConfirmation);
        encrypting(one, Part::Signature);
        encrypting(one, Part::SignatureConfirmation);
    });
    let outgoing = Outgoing::answer(&receipt);
    let (_, sender) = secured_with(&policy, service_keys(), PLAIN, outgoing);
    let confirmation = "wsse11:SignatureConfirmation";
    assert!(sender.secret.iter().any(|one| one == confirmation));
    assert!(sender.heard.iter().any(|one| one == "1 confirmed"));
}

/// With the key of the message, and in cipher text of its own.
#[test]
fn an_assertion_that_is_encrypted_is_marked() {
    let with_message = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |one| {
        one.parts.signed.push(Part::Assertion);
        encrypting(one, Part::Assertion);
    });
    let vouched = |policy: &Policy| {
        adjusted(policy, |accepted| {
            accepted.methods = vec![ConfirmationMethod::SenderVouches];
        })
    };
    let with_message = vouched(&with_assertion(with_message, accepting()));
    for (policy, is_secret) in [
        (with_message, true),
        (vouched(&hiding(&covering())), true),
        (vouched(&covering()), false),
    ] {
        let assertion = Draft::vouched(SamlVersion::V20).signed();
        let token = AssertionToken::parse(assertion.into_bytes()).unwrap();
        let keys = Keys {
            assertion: Some(Arc::new(token)),
            ..client_keys()
        };
        let (_, sender) = secured_with(&policy, keys, PLAIN, Outgoing::default());
        let is_assertion = |name: &String| name.ends_with(":Assertion") || name == "Assertion";
        assert_eq!(sender.secret.iter().any(is_assertion), is_secret);
        let token = format!(": Authentication, secret: {is_secret}");
        let told = sender
            .heard
            .iter()
            .find(|one| one.starts_with("token Assertion"));
        assert!(told.unwrap().ends_with(&token), "{told:?}");
        let of_assertion = |one: &&String| one.contains("Assertion by ");
        let encrypted = sender.heard.iter().filter(of_assertion).count();
        assert_eq!(encrypted, usize::from(is_secret), "{:#?}", sender.heard);
    }
}

/// Whoever has signed is named by his certificate, and that by the assertion.
#[test]
fn the_holder_of_an_assertion_that_is_encrypted_is_marked() {
    for (policy, is_secret) in [(hiding(&by_holder()), true), (by_holder(), false)] {
        let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
        let token = AssertionToken::parse(assertion.into_bytes()).unwrap();
        let keys = Keys {
            assertion: Some(Arc::new(token)),
            ..client_keys()
        };
        let (_, sender) = secured_with(&policy, keys, PLAIN, Outgoing::default());
        let secret: &[KeyUsage] = if is_secret {
            &[KeyUsage::Signature]
        } else {
            &[]
        };
        assert_eq!(sender.secret_keys, secret, "{:#?}", sender.heard);
        assert_eq!(sender.secret_values, 0);
    }
}

/// An observer that does not listen, and must hear of no event.
struct Deaf(Vec<Operation>);

impl OperationObserver for Deaf {
    fn ended(&mut self, operation: Operation) {
        self.0.push(operation);
    }

    fn made(&mut self, event: SecuringEvent<'_>) {
        panic!("expected no event, found {event:?}");
    }
}

#[test]
fn a_listener_changes_no_operation_and_without_one_no_event_is_made() {
    for policy in signing_policies() {
        let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
        let mut deaf = Deaf(Vec::new());
        let (outgoing, mut buffers) = (Outgoing::default(), Buffers::default());
        plan.secure_observed(envelope(PLAIN), outgoing, now(), &mut buffers, &mut deaf)
            .unwrap();
        let (_, sender) = secured(&policy, PLAIN);
        assert_eq!(sender.operations, deaf.0);
    }
}

#[test]
fn a_message_that_is_handed_over_in_pieces_is_told_like_one_in_one_piece() {
    let policy = policy(Mechanism::SignEncrypt, "Basic256Sha256");
    let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
    let (mut sender, mut message) = (Sender::default(), Vec::new());
    plan.secure_into(
        envelope(PLAIN),
        Outgoing::default(),
        now(),
        &mut Buffers::default(),
        &mut message,
        &mut sender,
    )
    .unwrap();
    let (_, whole) = secured(&policy, PLAIN);
    assert_eq!(sender.heard, whole.heard);
    let receiver = received(&policy, message);
    assert_eq!(sorted(sender.references), sorted(receiver.references));
}

#[test]
fn what_is_done_before_a_digest_is_told() {
    struct Transforms(Vec<String>);
    impl OperationObserver for Transforms {
        fn ended(&mut self, _: Operation) {}

        fn listens(&self) -> bool {
            true
        }

        fn made(&mut self, event: SecuringEvent<'_>) {
            match event {
                SecuringEvent::Reference {
                    part, transform, ..
                } => {
                    let part = part.map(ToString::to_string).unwrap_or_default();
                    self.0.push(match transform {
                        Transformation::Exclusive(prefixes) => {
                            format!("{part} {}", prefixes.join(","))
                        }
                        other => format!("{part} {other:?}"),
                    });
                }
                SecuringEvent::Token { usage, .. } => assert_eq!(usage, TokenUse::Signature),
                _ => {}
            }
        }
    }
    let policy = with(&policy(Mechanism::Sign, "Basic256Sha256"), |one| {
        one.parts.inclusive_prefixes = InclusivePrefixes::Listed(vec!["a".to_owned()]);
    });
    let plan = OutboundPlan::compile(policy, client_keys()).unwrap();
    let mut heard = Transforms(Vec::new());
    let (outgoing, mut buffers) = (Outgoing::default(), Buffers::default());
    plan.secure_observed(envelope(PLAIN), outgoing, now(), &mut buffers, &mut heard)
        .unwrap();
    assert_eq!(sorted(heard.0), ["Body a", "Timestamp a"]);
}
