//! Two parties with keys, and a message, for the tests of this crate.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use soapstone_crypto::{
    Curve, Identity, KeyKind, SecretBytes, SymmetricKey, TrustStore,
    issue::{self, Template, Validity},
};
use soapstone_testkit::keys;
use soapstone_wss::{
    AsymmetricBinding, Binding, ConversationVersion, DerivedKeyPolicy, ElementPath, EncryptionKey,
    EncryptionToken, EndorsingToken, Envelope, Facts, FirstSeen, InboundPlan, KerberosForm,
    KerberosPolicy, KeyBinding, KeyReference, Keys, Mechanism, OutboundPlan, Outgoing, Part,
    PasswordKeyPolicy, Policy, ProtectionOrder, Receipt, Recipient, Rejected, Secured, SharedKey,
    Suite, SupportingToken, SymmetricToken, User, Verified, names,
};
use soapstone_xml::{Buffers, Limits};

/// Everybody who takes part in the tests. Made once: keys take time.
pub(crate) struct Parties {
    pub(crate) authority: Arc<Identity>,
    pub(crate) client: Arc<Identity>,
    pub(crate) service: Arc<Identity>,
    pub(crate) stranger: Arc<Identity>,
    pub(crate) shared: Arc<SharedKey>,
}

pub(crate) static PARTIES: LazyLock<Parties> = LazyLock::new(|| {
    let key = SymmetricKey::generate(32).unwrap();
    Parties {
        authority: keys::authority(keys::AUTHORITY),
        client: keys::identity("CN=client", keys::RSA),
        service: keys::identity("CN=service", keys::RSA),
        stranger: keys::identity_by("CN=other ca", "CN=client", keys::RSA),
        shared: Arc::new(SharedKey {
            name: "both of us".to_owned(),
            signing: key.clone(),
            encrypting: key,
        }),
    }
});

/// A new key of the subject, certified for a time.
pub(crate) fn leaf(issuer: &Identity, subject: &str, validity: Validity) -> Identity {
    issue::identity(
        issuer,
        keys::RSA,
        &Template::new(subject, validity).unwrap(),
    )
    .unwrap()
}

/// The identity of a subject, whom the authority of the tests knows.
pub(crate) fn identity(subject: &str, kind: KeyKind) -> Arc<Identity> {
    keys::identity(subject, kind)
}

pub(crate) const PASSWORD: &[u8] = b"open sesame";

pub(crate) fn user(name: &str) -> Arc<User> {
    Arc::new(User {
        name: name.to_owned(),
        password: SecretBytes::copy_of(PASSWORD),
    })
}

pub(crate) fn client_keys() -> Keys {
    Keys {
        identity: Some(Arc::clone(&PARTIES.client)),
        decryption: Vec::new(),
        peer: Some(PARTIES.service.certificate().clone()),
        trust: Some(keys::trust()),
        shared: Some(Arc::clone(&PARTIES.shared)),
        user: Some(user("alice")),
        ..Keys::default()
    }
}

pub(crate) fn service_keys() -> Keys {
    Keys {
        identity: Some(Arc::clone(&PARTIES.service)),
        decryption: Vec::new(),
        peer: Some(PARTIES.client.certificate().clone()),
        trust: Some(keys::trust()),
        shared: Some(Arc::clone(&PARTIES.shared)),
        ..Keys::default()
    }
}

/// Two parties whose keys are for a suite without RSA.
pub(crate) struct Agreeing {
    client: Arc<Identity>,
    service: Arc<Identity>,
    /// What decrypts, where the key that signs cannot.
    client_decryption: Vec<Arc<Identity>>,
    service_decryption: Vec<Arc<Identity>>,
}

impl Agreeing {
    /// Keys that sign, and keys that decrypt if those that sign do not.
    pub(crate) fn new(signing: KeyKind, decrypting: Option<KeyKind>) -> Self {
        // New ones each time: a test sets two such pairs against each other.
        let make = |subject, kind| {
            let template = keys::template(subject);
            Arc::new(issue::identity(&PARTIES.authority, kind, &template).unwrap())
        };
        let decryption = |subject| -> Vec<_> {
            let kinds = decrypting.into_iter();
            kinds.map(|kind| make(subject, kind)).collect()
        };
        Self {
            client: make("CN=client", signing),
            service: make("CN=service", signing),
            client_decryption: decryption("CN=client\\, encryption"),
            service_decryption: decryption("CN=service\\, encryption"),
        }
    }

    /// Those of a suite's name.
    pub(crate) fn of(suite: &str) -> Option<&'static Self> {
        static P256: LazyLock<Agreeing> =
            LazyLock::new(|| Agreeing::new(KeyKind::Ec(Curve::P256), None));
        static CURVE25519: LazyLock<Agreeing> =
            LazyLock::new(|| Agreeing::new(KeyKind::Ed25519, Some(KeyKind::X25519)));
        if suite.ends_with("EcdhEs") {
            Some(&P256)
        } else if suite.ends_with("X25519") {
            Some(&CURVE25519)
        } else {
            None
        }
    }

    pub(crate) fn client_keys(&self) -> Keys {
        let peer = self.service_decryption.first().unwrap_or(&self.service);
        Keys {
            identity: Some(Arc::clone(&self.client)),
            decryption: self.client_decryption.clone(),
            peer: Some(peer.certificate().clone()),
            ..client_keys()
        }
    }

    pub(crate) fn service_keys(&self) -> Keys {
        let peer = self.client_decryption.first().unwrap_or(&self.client);
        let mut rules = trust_rules();
        rules.pinned.push(self.client.certificate().clone());
        Keys {
            identity: Some(Arc::clone(&self.service)),
            decryption: self.service_decryption.clone(),
            peer: Some(peer.certificate().clone()),
            trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
            ..service_keys()
        }
    }
}

pub(crate) use soapstone_testkit::keys::trust_rules;

pub(crate) fn suite(name: &str) -> Suite {
    Suite::named(name).unwrap()
}

/// The shared key for both signature and encryption.
pub(crate) fn with_shared_key(mut policy: Policy) -> Policy {
    policy.bind(KeyBinding::Shared, KeyReference::KeyName);
    policy
}

/// A symmetric key of a kind, and how messages name it.
pub(crate) fn symmetric_token(key: KeyBinding, reference: KeyReference) -> SymmetricToken {
    match key {
        KeyBinding::Shared => SymmetricToken::Shared(reference),
        KeyBinding::RequestKey => SymmetricToken::Request,
        KeyBinding::SessionKey => SymmetricToken::Session(reference),
        KeyBinding::Assertion => SymmetricToken::Assertion {
            by_place: reference == KeyReference::Direct,
        },
        KeyBinding::Context => SymmetricToken::Context {
            carried: reference == KeyReference::Direct,
        },
        KeyBinding::Kerberos => SymmetricToken::Kerberos(KerberosPolicy {
            form: KerberosForm::Gss,
            carried: reference == KeyReference::Direct,
            by_identifier: false,
        }),
        KeyBinding::Password => SymmetricToken::Password(PasswordKeyPolicy::default()),
        KeyBinding::Certificate => panic!("a certificate is no symmetric key"),
    }
}

/// A policy with a change.
pub(crate) fn with(policy: &Policy, change: impl FnOnce(&mut Policy)) -> Policy {
    let mut changed = policy.clone();
    change(&mut changed);
    changed
}

/// Changes to policies that tests make again and again.
pub(crate) trait Adjust {
    /// Protects messages with another key. Certificates stay what they are, with other names.
    fn bind(&mut self, key: KeyBinding, reference: KeyReference);
    fn set_order(&mut self, order: ProtectionOrder);
    fn set_derived_keys(&mut self, derived: Option<DerivedKeyPolicy>);
    fn set_recipient(&mut self, recipient: Recipient);
    fn name_signing_key(&mut self, reference: KeyReference);
    fn name_encrypting_key(&mut self, reference: KeyReference);
    /// Encrypts with the session key of the request, beside the certificate that signs.
    fn encrypt_under_request(&mut self);
    /// Signs nothing with the keys of the binding.
    fn unsign(&mut self);
    /// Encrypts nothing.
    fn unencrypt(&mut self);
    /// Endorses with these tokens alone.
    fn endorse_by(&mut self, tokens: Vec<EndorsingToken>);
    /// An endorsing token.
    fn token(&mut self, at: usize) -> &mut EndorsingToken;
}

fn asymmetric(policy: &mut Policy) -> &mut AsymmetricBinding {
    match &mut policy.binding {
        Binding::Asymmetric(binding) => binding,
        other => panic!("expected certificates, found {other:?}"),
    }
}

impl Adjust for Policy {
    fn bind(&mut self, key: KeyBinding, reference: KeyReference) {
        if key == KeyBinding::Certificate {
            let binding = asymmetric(self);
            binding.signature = binding.signature.map(|_| reference);
            binding.encryption = binding
                .encryption
                .map(|_| EncryptionToken::wrapped(reference));
            return;
        }
        self.protect_with(symmetric_token(key, reference));
    }

    fn set_order(&mut self, order: ProtectionOrder) {
        match &mut self.binding {
            Binding::Symmetric(binding) => binding.order = order,
            Binding::Asymmetric(binding) => binding.order = order,
            other => panic!("expected keys, found {other:?}"),
        }
    }

    fn set_derived_keys(&mut self, derived: Option<DerivedKeyPolicy>) {
        match &mut self.binding {
            Binding::Symmetric(binding) => binding.derived_keys = derived,
            Binding::Asymmetric(binding) => {
                binding.encryption.as_mut().unwrap().derived_keys = derived;
            }
            other => panic!("expected keys, found {other:?}"),
        }
    }

    fn set_recipient(&mut self, wanted: Recipient) {
        let encryption = asymmetric(self).encryption.as_mut().unwrap();
        let EncryptionKey::Certificate { recipient, .. } = &mut encryption.key else {
            panic!("expected a certificate, found {encryption:?}");
        };
        *recipient = wanted;
    }

    fn name_signing_key(&mut self, reference: KeyReference) {
        match &mut self.binding {
            Binding::Symmetric(binding) => {
                binding.key = symmetric_token(binding.key.kind(), reference);
            }
            Binding::Asymmetric(binding) => binding.signature = Some(reference),
            other => panic!("expected keys, found {other:?}"),
        }
    }

    fn name_encrypting_key(&mut self, named: KeyReference) {
        match &mut self.binding {
            Binding::Symmetric(binding) => {
                binding.key = symmetric_token(binding.key.kind(), named);
            }
            Binding::Asymmetric(binding) => {
                let encryption = binding.encryption.as_mut().unwrap();
                let EncryptionKey::Certificate { reference, .. } = &mut encryption.key else {
                    panic!("expected a certificate, found {encryption:?}");
                };
                *reference = named;
            }
            other => panic!("expected keys, found {other:?}"),
        }
    }

    fn encrypt_under_request(&mut self) {
        if self.signature().is_none() {
            return self.bind(KeyBinding::RequestKey, KeyReference::EncryptedKeySha1);
        }
        asymmetric(self).encryption.as_mut().unwrap().key = EncryptionKey::Request;
    }

    fn unsign(&mut self) {
        self.parts.signed.clear();
        if let Binding::Asymmetric(binding) = &mut self.binding {
            binding.signature = None;
        }
    }

    fn unencrypt(&mut self) {
        self.parts.encrypted.clear();
        if let Binding::Asymmetric(binding) = &mut self.binding {
            binding.encryption = None;
        }
    }

    fn endorse_by(&mut self, tokens: Vec<EndorsingToken>) {
        let is_user = |token: &SupportingToken| matches!(token, SupportingToken::Username(_));
        self.supporting.retain(is_user);
        let tokens = tokens.into_iter().map(SupportingToken::Endorsing);
        self.supporting.extend(tokens);
    }

    fn token(&mut self, at: usize) -> &mut EndorsingToken {
        self.endorsing_mut().nth(at).unwrap()
    }
}

pub(crate) const PLAIN: &str = concat!(
    r#"<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:a="http://www.w3.org/2005/08/addressing">"#,
    r#"<soap:Header><a:To>urn:service</a:To><a:Action soap:mustUnderstand="0">urn:echo</a:Action></soap:Header>"#,
    r#"<soap:Body><e:echo xmlns:e="urn:echo"><e:text kind='x' a:b="1">Grüße &amp; mehr</e:text><e:empty/></e:echo></soap:Body></soap:Envelope>"#
);

/// The plain message with another content of the Body.
pub(crate) fn saying(content: &str) -> String {
    let start = PLAIN.find("<e:echo").unwrap();
    let end = PLAIN.find("</soap:Body>").unwrap();
    [&PLAIN[..start], content, &PLAIN[end..]].concat()
}

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

pub(crate) fn envelope(text: &str) -> Envelope {
    Envelope::parse(
        text.as_bytes().to_vec(),
        &Limits::default(),
        &mut Buffers::default(),
    )
    .unwrap()
}

pub(crate) fn secure_with(
    policy: &Policy,
    keys: Keys,
    plain: &str,
    request: Option<&Receipt>,
) -> Secured {
    secure_at(policy, keys, plain, request, now())
}

pub(crate) fn secure_at(
    policy: &Policy,
    keys: Keys,
    plain: &str,
    request: Option<&Receipt>,
    now: Timestamp,
) -> Secured {
    let plan = OutboundPlan::compile(policy.clone(), keys).unwrap();
    let outgoing = Outgoing {
        answers: request,
        ..Outgoing::default()
    };
    plan.secure(envelope(plain), outgoing, now, &mut Buffers::default())
        .unwrap()
}

pub(crate) fn secure(policy: &Policy, plain: &str) -> String {
    let keys = match Agreeing::of(&policy.suite.name) {
        Some(agreeing) => agreeing.client_keys(),
        None => client_keys(),
    };
    String::from_utf8(secure_with(policy, keys, plain, None).bytes).unwrap()
}

/// The message with all prefixes of ours declared in its security headers, so that pieces of other
/// messages can be moved there.
pub(crate) fn declaring(message: &str) -> String {
    let mut headers = message.split("<wsse:Security ");
    let mut declaring = headers.next().unwrap().to_owned();
    for header in headers {
        declaring.push_str("<wsse:Security ");
        let start_tag = &header[..header.find('>').unwrap()];
        let wsc = ConversationVersion::V13.namespace();
        for (prefix, uri) in [("wsc", wsc), ("wsse11", names::WSSE11), ("wsu", names::WSU)] {
            let declaration = format!("xmlns:{prefix}=\"{uri}\"");
            if !start_tag.contains(&declaration) {
                declaring.push_str(&declaration);
                declaring.push(' ');
            }
        }
        declaring.push_str(header);
    }
    declaring
}

pub(crate) fn facts() -> Facts {
    Facts {
        passwords: vec![("alice".to_owned(), SecretBytes::copy_of(PASSWORD))],
        ..Facts::default()
    }
}

/// Opens a message; what is wrong with it is told as an operator is told.
pub(crate) fn open_with(
    policy: &Policy,
    keys: Keys,
    facts: &Facts,
    message: &str,
    now: Timestamp,
) -> Result<Verified<Envelope>, Rejected> {
    open_as_peer_with(policy, keys, facts, message, now)
        .map_err(|rejected| rejected.cause().clone())
}

/// Opens a message; what is wrong with it is told as a peer is told.
pub(crate) fn open_as_peer_with(
    policy: &Policy,
    keys: Keys,
    facts: &Facts,
    message: &str,
    now: Timestamp,
) -> Result<Verified<Envelope>, Rejected> {
    let plan = InboundPlan::compile(policy.clone(), keys).unwrap();
    let mut buffers = Buffers::default();
    let envelope = Envelope::parse(
        message.as_bytes().to_vec(),
        &Limits::default(),
        &mut buffers,
    )?;
    let opened = plan.open_unmarked(envelope, facts, now, &mut buffers)?;
    let first_seen = FirstSeen::assertion(opened.late_marks());
    opened.admit(first_seen)
}

pub(crate) fn open(policy: &Policy, message: &str) -> Result<Verified<Envelope>, Rejected> {
    open_with(policy, service_keys_for(policy), &facts(), message, now())
}

/// What a peer is told of a message that is refused.
#[track_caller]
pub(crate) fn told_to_peer(policy: &Policy, message: &str) -> Rejected {
    let keys = service_keys_for(policy);
    match open_as_peer_with(policy, keys, &facts(), message, now()) {
        Err(refused) => refused,
        Ok(verified) => panic!("accepted: {}", forwarded(&verified)),
    }
}

pub(crate) fn service_keys_for(policy: &Policy) -> Keys {
    match Agreeing::of(&policy.suite.name) {
        Some(agreeing) => agreeing.service_keys(),
        None => service_keys(),
    }
}

pub(crate) fn forwarded(verified: &Verified<Envelope>) -> String {
    let mut out = Vec::new();
    verified.forward(&mut out, &mut Buffers::new()).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn policy(mechanism: Mechanism, suite_name: &str) -> Policy {
    mechanism.policy(suite(suite_name))
}

/// Has the message's signature endorsed by a certificate.
pub(crate) fn endorse(
    policy: &mut Policy,
    reference: KeyReference,
    signed: bool,
    covers_token: bool,
) {
    policy.endorse_by(vec![EndorsingToken {
        covers_token,
        signed,
        ..EndorsingToken::by_certificate(reference)
    }]);
}

/// Has the tokens of endorsing signatures encrypted.
pub(crate) fn hide_endorsement(policy: &mut Policy) {
    for endorsing in policy.endorsing_mut() {
        endorsing.encrypted = true;
    }
}

/// A header block of WS-Addressing.
pub(crate) fn header(local: &str) -> Part {
    Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: local.to_owned(),
    }
}

/// The elements to which a path leads whose names have no prefix.
pub(crate) fn path(path: &str) -> Part {
    Part::Path(ElementPath::parse(path, |_| None).unwrap())
}

/// Signs these parts alone, in a header of its own, which no node reads.
pub(crate) fn aside(mut policy: Policy, signed: Vec<Part>) -> Policy {
    policy.header.actor = Some("urn:nobody".to_owned());
    policy.header.timestamp = None;
    policy.parts.signed = signed;
    policy
}

/// A message with the items of the header that no node reads in the other one, behind its own.
pub(crate) fn merged(message: &str) -> String {
    let (begin, end) = ("<wsse:Security ", "</wsse:Security>");
    let starts = message.match_indices(begin).map(|(start, _)| start);
    let headers = starts.map(|start| {
        let length = message[start..].find(end).unwrap() + end.len();
        &message[start..start + length]
    });
    let is_asides = |header: &&str| header[..header.find('>').unwrap()].contains("urn:nobody");
    let header = { headers }.find(is_asides).unwrap();
    let items = &header[header.find('>').unwrap() + 1..];
    message.replace(header, "").replace(end, items)
}
