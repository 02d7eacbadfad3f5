//! The policy of one message: request or response.

use soapstone_wss::{
    self as wss, AssertionProtection, EncryptedPart, EncryptionKey, EncryptionToken, Extent,
    HolderUse, KeyReference, Mechanism, Part, PasswordKeyPolicy, Policy, Recipient, Suite,
    SupportingToken, SymmetricToken, TimestampPolicy,
};

use super::options::{CompileOptions, SignatureReading};
use super::parts::add;
use super::tokens::{
    assertion, certificate, derived_keys, kerberos, reference, refused, shows_certificate,
    user_with_key,
};
use crate::names::Name;
use crate::node::Place;
use crate::problem::{PolicyProblem, ProblemKind};
use crate::requirements::{
    AlgorithmSuite, AsymmetricBinding, Binding, BindingProperties, Requirements, SymmetricBinding,
    Token, TokenKind, TransportBinding,
};

/// Of which message the policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the service.
    Request,
    /// To the client.
    Response {
        /// Whether the request says by its signature who asked.
        signed_request: bool,
    },
}

/// One message being compiled.
#[derive(Clone, Copy)]
pub(super) struct Message<'r> {
    pub(super) requirements: &'r Requirements,
    pub(super) options: &'r CompileOptions,
    pub(super) direction: Direction,
}

/// The suite of policies that need none: nothing is signed or encrypted with it.
const NO_SUITE: &str = "Basic256Sha256";

impl Message<'_> {
    pub(super) fn policy(&self, problems: &mut Vec<PolicyProblem>) -> Policy {
        let requirements = self.requirements;
        let mut policy = Mechanism::None.policy(self.suite(problems));
        policy.parts.required = requirements.required();
        if let Some(binding) = &requirements.binding {
            let properties = binding.properties();
            policy.header.layout = properties.layout;
            policy.header.timestamp = properties.include_timestamp.then(TimestampPolicy::default);
            policy.parts.only_entire_headers_and_body = properties.only_entire_headers_and_body;
        }
        let before = problems.len();
        match &requirements.binding {
            None => self.without_binding(problems),
            Some(Binding::Transport(binding)) => {
                policy.binding = wss::Binding::Transport;
                self.token_of_transport(binding, &mut policy, problems);
            }
            Some(Binding::Symmetric(binding)) => self.symmetric(binding, &mut policy, problems),
            Some(Binding::Asymmetric(binding)) => self.asymmetric(binding, &mut policy, problems),
        }
        let mut more = Vec::new();
        if self.is_request() {
            self.supporting(&mut policy, &mut more);
        }
        self.finish(&mut policy, &mut more);
        self.parts_of_header(&mut policy, &mut more);
        // Without a binding that can be done, everything that leans on it seems to miss something.
        if problems.len() > before || requirements.is_incomplete() {
            more.retain(|problem| !matches!(problem.kind, ProblemKind::Missing { .. }));
        }
        problems.append(&mut more);
        policy
    }

    fn is_request(&self) -> bool {
        self.direction == Direction::Request
    }

    /// Whether messages themselves are protected, not only their connection.
    pub(super) fn protects_messages(&self) -> bool {
        matches!(
            self.requirements.binding,
            Some(Binding::Symmetric(_) | Binding::Asymmetric(_))
        )
    }

    fn suite(&self, problems: &mut Vec<PolicyProblem>) -> Suite {
        let binding = self.requirements.binding.as_ref().map(Binding::properties);
        let named = binding.and_then(|properties| properties.suite.as_ref());
        if let (Some(properties), None, true) = (binding, named, self.protects_messages())
            && !properties.incomplete
        {
            problems.push(PolicyProblem::at(
                &properties.name,
                &properties.place,
                ProblemKind::Missing {
                    what: "sp:AlgorithmSuite",
                },
            ));
        }
        match named {
            Some(named) => {
                if let Some(custom) = &named.custom {
                    return self.custom_suite(named, custom, problems);
                }
                let suite = named.suite().clone();
                match self.options.signatures {
                    SignatureReading::Sha256 if named.has_sha256_reading() => {
                        suite.with_sha256_signatures()
                    }
                    _ => suite,
                }
            }
            None => Suite::named(NO_SUITE).unwrap_or_else(|| Suite::without_algorithms(NO_SUITE)),
        }
    }

    /// A suite whose algorithms the operator says.
    fn custom_suite(
        &self,
        named: &AlgorithmSuite,
        (name, place): &(Name, Place),
        problems: &mut Vec<PolicyProblem>,
    ) -> Suite {
        if let Some(suite) = &self.options.custom_suite {
            return suite.clone();
        }
        let reason = "its algorithms are in the configuration of CXF, and not in the policy: `algorithms` beside `policy` says them";
        let kind = ProblemKind::NotSupported { reason };
        problems.push(PolicyProblem::at(name, place, kind));
        named.suite().clone()
    }

    /// Parts that nothing says how to protect.
    fn without_binding(&self, problems: &mut Vec<PolicyProblem>) {
        let parts = self
            .requirements
            .protections()
            .filter(|(_, name)| *name != "RequiredParts")
            .flat_map(|(list, _)| list.iter().map(|demand| (&demand.name, &demand.place)));
        let elements = self
            .requirements
            .element_lists()
            .filter(|(_, name)| *name != "RequiredElements")
            .flat_map(|(list, _)| list.iter().map(|demand| (&demand.name, &demand.place)));
        for (name, place) in parts.chain(elements) {
            problems.push(missing(name, place, "a binding"));
        }
    }

    /// An issued token as the token of the transport (WS-SecurityPolicy 1.3, 7.3): requests carry
    /// it, and the connection shows whose it is. A holder's key is that of the client certificate;
    /// a bearer needs none.
    fn token_of_transport(
        &self,
        binding: &TransportBinding,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let token = binding.token.as_ref();
        let Some(token) = token.filter(|token| matches!(token.kind, TokenKind::Issued(_))) else {
            return;
        };
        if !self.is_request() {
            return;
        }
        let holder = match shows_certificate(token) {
            true => HolderUse::Connects,
            false => HolderUse::Beside,
        };
        let protection = AssertionProtection::Connection;
        let wanted = assertion(token, holder, protection, policy, problems);
        let wanted = wanted.map(SupportingToken::Assertion);
        policy.supporting.extend(wanted);
    }

    /// WS-SecurityPolicy 1.3, 7.4.
    fn symmetric(
        &self,
        binding: &SymmetricBinding,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let properties = &binding.properties;
        let (Some(signing), Some(encrypting)) = (&binding.signature, &binding.encryption) else {
            if !properties.incomplete {
                let what = "sp:ProtectionToken";
                problems.push(missing(&properties.name, &properties.place, what));
            }
            return;
        };
        if signing.place != encrypting.place {
            let reason = "one token both signs and encrypts: write sp:ProtectionToken";
            problems.push(refused(encrypting, reason));
            return;
        }
        let token = signing;
        let key = match &token.kind {
            kind if kind.is_context() => SymmetricToken::Context {
                carried: self.carries(token),
            },
            TokenKind::Kerberos { .. } => {
                let Some(kerberos) = kerberos(token, self.carries(token), problems) else {
                    return;
                };
                SymmetricToken::Kerberos(kerberos)
            }
            TokenKind::Saml { .. } | TokenKind::Issued(_) => SymmetricToken::Assertion {
                by_place: self.name(token, problems) == KeyReference::Direct,
            },
            TokenKind::Username { .. } => {
                if !user_with_key(token, problems) {
                    return;
                }
                SymmetricToken::Password(PasswordKeyPolicy::default())
            }
            _ => {
                if !self.certificate(token, problems) {
                    return;
                }
                match self.direction {
                    Direction::Request => SymmetricToken::Session(self.name(token, problems)),
                    Direction::Response { .. } => SymmetricToken::Request,
                }
            }
        };
        policy.binding = wss::Binding::Symmetric(wss::SymmetricBinding {
            key,
            derived_keys: derived_keys(token, properties.suite.as_ref()),
            order: properties.order,
        });
        self.sign(policy, properties);
        self.encrypt(policy, properties);
        match (key, self.direction) {
            (SymmetricToken::Password(_), _) => {
                refuse_encryption_by_password(token, policy, problems);
            }
            (SymmetricToken::Assertion { .. }, Direction::Request) => {
                self.have_holder_sign(token, policy, problems);
            }
            _ => {}
        }
    }

    /// WS-SecurityPolicy 1.3, 7.5.
    fn asymmetric(
        &self,
        binding: &AsymmetricBinding,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let properties = &binding.properties;
        let mut keys = wss::AsymmetricBinding {
            signature: None,
            encryption: None,
            order: properties.order,
        };
        let (signing, encrypting) = match self.direction {
            Direction::Request => (&binding.initiator_signature, &binding.recipient_encryption),
            Direction::Response { .. } => {
                (&binding.recipient_signature, &binding.initiator_encryption)
            }
        };
        let wanted = match self.direction {
            Direction::Request => ["sp:InitiatorToken", "sp:RecipientToken"],
            Direction::Response { .. } => ["sp:RecipientToken", "sp:InitiatorToken"],
        };
        let encrypts_too = match self.direction {
            Direction::Request => &binding.initiator_encryption,
            Direction::Response { .. } => &binding.recipient_encryption,
        };
        // A binding may have tokens that encrypt alone (7.5: one of its own for either purpose).
        let is_signed = !self.covered(properties).is_empty();
        let signing = (is_signed || signing.is_some())
            .then(|| self.present(signing.as_ref(), properties, wanted[0], problems))
            .flatten();
        if let Some(token) = signing {
            refuse_derived_signature(token, encrypts_too, problems);
            let named = self.name(token, problems);
            // Where it signs nothing, the message may carry it nevertheless (5.1.1).
            keys.signature = match is_signed {
                true => Some(named),
                false => self.carries(token).then_some(match named {
                    KeyReference::PkiPath => named,
                    _ => KeyReference::Direct,
                }),
            };
        }
        policy.binding = wss::Binding::Asymmetric(keys);
        if keys.signature.is_some() {
            self.sign(policy, properties);
        }
        let holder = signing.filter(|token| token.kind.is_assertion());
        if let (Some(token), Direction::Request) = (holder, self.direction) {
            self.have_holder_sign(token, policy, problems);
        }
        if self.requirements.encrypted().is_empty() && !properties.encrypt_signature {
            return;
        }
        if let Some(token) = self.present(encrypting.as_ref(), properties, wanted[1], problems) {
            let recipient = match self.direction {
                Direction::Response {
                    signed_request: true,
                } => Recipient::Requester,
                _ => Recipient::Peer,
            };
            keys.encryption = Some(self.wrapped_to(token, properties, recipient, problems));
            policy.binding = wss::Binding::Asymmetric(keys);
            self.encrypt(policy, properties);
        }
    }

    /// Has the holder of an assertion sign requests.
    fn have_holder_sign(
        &self,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let protection = AssertionProtection::Signature;
        let wanted = assertion(token, HolderUse::Signs, protection, policy, problems);
        let wanted = wanted.map(SupportingToken::Assertion);
        policy.supporting.extend(wanted);
    }

    /// A session key that is wrapped to the certificate of a token.
    pub(super) fn wrapped_to(
        &self,
        token: &Token,
        properties: &BindingProperties,
        recipient: Recipient,
        problems: &mut Vec<PolicyProblem>,
    ) -> EncryptionToken {
        // An answer has no assertion. It names that of its request, or else the certificate.
        let (reference, recipient) = match (token.kind.is_assertion(), recipient) {
            (true, Recipient::Requester) => (KeyReference::IssuerSerial, Recipient::Holder),
            (true, _) => (KeyReference::IssuerSerial, recipient),
            (false, _) => (self.name(token, problems), recipient),
        };
        EncryptionToken {
            key: EncryptionKey::Certificate {
                reference,
                recipient,
            },
            derived_keys: derived_keys(token, properties.suite.as_ref()),
        }
    }

    /// A certificate of an asymmetric binding.
    pub(super) fn present<'t>(
        &self,
        token: Option<&'t Token>,
        properties: &BindingProperties,
        what: &'static str,
        problems: &mut Vec<PolicyProblem>,
    ) -> Option<&'t Token> {
        let Some(token) = token else {
            if !properties.incomplete {
                problems.push(missing(&properties.name, &properties.place, what));
            }
            return None;
        };
        // The key of an assertion's holder signs requests, and answers are encrypted with it.
        let is_initiator = what == "sp:InitiatorToken";
        if is_initiator && token.kind.is_assertion() {
            return Some(token);
        }
        self.certificate(token, problems).then_some(token)
    }

    /// Checks that a token is a certificate, or the key of one, that the binding can protect as it
    /// says.
    pub(super) fn certificate(&self, token: &Token, problems: &mut Vec<PolicyProblem>) -> bool {
        let binding = self.requirements.binding.as_ref().map(Binding::properties);
        let protects = binding.is_some_and(|properties| properties.protect_tokens);
        if protects && matches!(token.kind, TokenKind::KeyValue { .. }) {
            let reason = "a key that is written out is no token that a signature could cover: leave sp:ProtectTokens out";
            problems.push(refused(token, reason));
            return false;
        }
        certificate(token, problems)
    }

    pub(super) fn name(&self, token: &Token, problems: &mut Vec<PolicyProblem>) -> KeyReference {
        let wss = self.requirements.wss.as_ref();
        reference(token, self.carries(token), wss, problems)
    }

    /// Whether this message carries the token itself. A key that is written out stands in the
    /// references to it, whatever its inclusion says.
    pub(super) fn carries(&self, token: &Token) -> bool {
        if matches!(token.kind, TokenKind::KeyValue { .. }) {
            return false;
        }
        match self.direction {
            Direction::Request => token.inclusion.in_requests(),
            Direction::Response { .. } => token.inclusion.in_responses(),
        }
    }

    /// What the message's signature covers beside its own token: nothing where there is none.
    fn covered(&self, properties: &BindingProperties) -> Vec<Part> {
        let mut parts = self.requirements.signed();
        if properties.include_timestamp {
            add(Part::Timestamp, &mut parts);
        }
        // A user may be all that is signed (8.2).
        if self.is_request() && self.requirements.signs_user() {
            add(Part::UsernameToken, &mut parts);
        }
        parts
    }

    fn sign(&self, policy: &mut Policy, properties: &BindingProperties) {
        let mut parts = self.covered(properties);
        if properties.protect_tokens && !parts.is_empty() {
            add(Part::Token, &mut parts);
        }
        policy.parts.signed = parts;
    }

    fn encrypt(&self, policy: &mut Policy, properties: &BindingProperties) {
        let mut parts = self.requirements.encrypted();
        if properties.encrypt_signature && policy.signature().is_some() {
            parts.push(EncryptedPart::customary(Part::Signature));
        }
        policy.parts.encrypted = parts;
    }

    /// What depends on everything before.
    fn finish(&self, policy: &mut Policy, problems: &mut Vec<PolicyProblem>) {
        if !self.is_request() {
            self.confirm(policy, problems);
        }
        let binding = self.requirements.binding.as_ref().map(Binding::properties);
        let suite = binding.and_then(|properties| properties.suite.as_ref());
        if let Some((name, place)) = suite.and_then(|suite| suite.inclusive.as_ref()) {
            problems.push(PolicyProblem::at(
                name,
                place,
                ProblemKind::NotSupported {
                    reason: "signatures are made in exclusive canonical form",
                },
            ));
        }
    }
}

/// Encryption that a key from a password does not do.
fn refuse_encryption_by_password(
    token: &Token,
    policy: &Policy,
    problems: &mut Vec<PolicyProblem>,
) {
    let Some(encryption) = policy.encryption() else {
        return;
    };
    if policy.signature().is_none() {
        let reason = "a key from a password encrypts for a user whom a signature proves: sign the Body, or include a Timestamp";
        problems.push(refused(token, reason));
    }
    if encryption.derived_keys.is_none() && !PasswordKeyPolicy::encrypts_by(&policy.suite) {
        let reason = "a key from a password has 20 bytes, and the suite's encryption wants more: demand derived keys, or a suite of AES-128";
        problems.push(refused(token, reason));
    }
}

/// Derived keys of a token that signs with its private key (WS-SecurityPolicy 1.3, 5.3): nothing is
/// derived from that, and a key derived from one that the sender wrapped for us proves nobody.
/// Where the token encrypts, too, that is what they are for; where it signs alone, there is nothing
/// else that they could be for.
fn refuse_derived_signature(
    token: &Token,
    encrypts_too: &Option<Token>,
    problems: &mut Vec<PolicyProblem>,
) {
    let both = encrypts_too.as_ref();
    if token.derived_keys.is_some() && both.is_none_or(|both| both.place != token.place) {
        let reason = "nothing is derived from the private key that signs, and other keys prove nobody: demand derived keys of the token that encrypts";
        problems.push(refused(token, reason));
    }
}

impl Message<'_> {
    /// WS-SecurityPolicy 1.3, 6.5: confirmations are signed, and encrypted where signatures are; or
    /// the connection protects them.
    fn confirm(&self, policy: &mut Policy, problems: &mut Vec<PolicyProblem>) {
        let wss = self.requirements.wss.as_ref();
        let Some(wss) = wss.filter(|wss| wss.signature_confirmation) else {
            return;
        };
        policy.header.signature_confirmation = true;
        if policy.signature().is_none() {
            let by_connection = matches!(self.requirements.binding, Some(Binding::Transport(_)));
            if !by_connection {
                let what = "sp:SignedParts or sp:IncludeTimestamp";
                problems.push(missing(&wss.name, &wss.place, what));
            }
            return;
        }
        add(Part::SignatureConfirmation, &mut policy.parts.signed);
        if policy.encrypts(&Part::Signature) {
            policy.parts.encrypted.push(EncryptedPart {
                part: Part::SignatureConfirmation,
                extent: Extent::Element,
            });
        }
    }
}

/// The messages that make a conversation carry secrets and must not be forged: their Body is signed
/// and encrypted, or TLS does both.
pub(super) fn check_bootstrap(
    requirements: &Requirements,
    request: &Policy,
    problems: &mut Vec<PolicyProblem>,
) {
    let Some(binding) = &requirements.binding else {
        return;
    };
    if matches!(binding, Binding::Transport(_)) {
        return;
    }
    let properties = binding.properties();
    let signed = request.signs(&Part::Body);
    let encrypted = request.encrypts(&Part::Body);
    for (there, what) in [
        (signed, "sp:SignedParts with sp:Body, for a bootstrap"),
        (encrypted, "sp:EncryptedParts with sp:Body, for a bootstrap"),
    ] {
        if !there {
            problems.push(missing(&properties.name, &properties.place, what));
        }
    }
}

pub(super) fn missing(name: &Name, place: &Place, what: &'static str) -> PolicyProblem {
    PolicyProblem::at(name, place, ProblemKind::Missing { what })
}
