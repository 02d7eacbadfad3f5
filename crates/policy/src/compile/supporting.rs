//! Supporting tokens of requests: users, and certificates, security contexts and users that endorse
//! (WS-SecurityPolicy 1.3, 8).
//!
//! Over a transport binding the connection signs and encrypts them; in a message binding the
//! message's own signature and key do.

use soapstone_wss::{
    self as wss, AssertionProtection, EncryptedPart, EndorsingKey, EndorsingToken, HolderUse,
    KeyReference, Part, PasswordKeyPolicy, PasswordKind, Policy, ProtectionOrder, Recipient,
    SupportingToken, UsernamePolicy,
};

use super::message::{Message, missing};
use super::parts::{add_elements, add_signed};
use super::security_header::refuse_endorsed;
use super::tokens::{
    TOKEN_INSIDE, assertion, derived_keys, has_proof_key, has_public_key, items, kerberos,
    password, refused, user_with_key, why_not,
};
use crate::problem::{PolicyProblem, ProblemKind};
use crate::requirements::{Binding, Requirements, SupportingTokens, Token, TokenKind};

/// Why there is no fourth endorsing token.
const MOST_ENDORSEMENTS: &str = "a message has three endorsing signatures at most";

/// Why the key of a user does not endorse beside that of a conversation.
const ONE_SECRET: &str = "one symmetric key endorses";

/// Why there is no second security context.
const ONE_CONVERSATION: &str = "a message belongs to one conversation";

/// Supporting tokens of answers alone: only requests have such tokens here.
pub(super) fn refuse_of_answers(
    request: &Requirements,
    response: &Requirements,
    problems: &mut Vec<PolicyProblem>,
) {
    for supporting in &response.supporting {
        let of_both = request
            .supporting
            .iter()
            .any(|other| other.place == supporting.place);
        if !of_both {
            problems.push(PolicyProblem::at(
                &supporting.name,
                &supporting.place,
                ProblemKind::NotSupported {
                    reason: "supporting tokens are those of requests",
                },
            ));
        }
    }
}

/// Whether a certificate endorses messages.
fn is_endorsed_by_certificate(requirements: &Requirements) -> bool {
    let by_certificate = |token: &Token| token.kind.is_certificate();
    let mut supporting = requirements.supporting.iter();
    supporting.any(|one| one.kind.endorsing && one.tokens.iter().any(by_certificate))
}

/// Whether nothing but the certificate of the client shows the key of an issued token's holder.
pub(super) fn shows_holder_by_connection(requirements: &Requirements) -> bool {
    let mut supporting = requirements.supporting.iter();
    let is_held =
        supporting.any(|one| !one.kind.endorsing && one.tokens.iter().any(has_public_key));
    is_held && !is_endorsed_by_certificate(requirements)
}

impl Message<'_> {
    /// What supporting tokens add to the policy of a request.
    pub(super) fn supporting(&self, policy: &mut Policy, problems: &mut Vec<PolicyProblem>) {
        for supporting in &self.requirements.supporting {
            let binding = self.requirements.binding.as_ref().map(Binding::properties);
            let kind = supporting.kind;
            if binding.is_none() && (kind.signed || kind.encrypted || kind.endorsing) {
                problems.push(missing(&supporting.name, &supporting.place, "a binding"));
                continue;
            }
            let suite = binding.and_then(|properties| properties.suite.as_ref());
            let own = supporting.suite.as_ref();
            if own.is_some_and(|own| suite.is_none_or(|suite| !suite.says_the_same(own))) {
                problems.push(PolicyProblem::at(
                    &supporting.name,
                    &supporting.place,
                    ProblemKind::NotSupported {
                        reason: "its algorithm suite is not that of the binding",
                    },
                ));
            }
            for token in &supporting.tokens {
                match &token.kind {
                    TokenKind::Username { .. } if !supporting.kind.endorsing => {
                        self.user(supporting, token, policy, problems);
                    }
                    TokenKind::Username { .. } => {
                        self.endorse_by_user(supporting, token, policy, problems);
                    }
                    kind if kind.is_certificate() && supporting.kind.endorsing => {
                        self.endorse(supporting, token, policy, problems);
                    }
                    kind if kind.is_context() && supporting.kind.endorsing => {
                        self.endorse_by_context(supporting, token, policy, problems);
                    }
                    TokenKind::Kerberos { .. } => {
                        self.kerberos(supporting, token, policy, problems);
                    }
                    kind if kind.is_assertion() && supporting.kind.endorsing => {
                        self.endorse_by_holder(supporting, token, policy, problems);
                    }
                    kind if kind.is_assertion() => {
                        self.assertion(supporting, token, policy, problems);
                    }
                    TokenKind::X509 { .. } => {
                        let reason =
                            "a certificate that signs nothing proves nothing: let it endorse";
                        problems.push(refused(token, reason));
                    }
                    TokenKind::KeyValue { .. } => {
                        let reason = "a key that signs nothing proves nothing: let it endorse";
                        problems.push(refused(token, reason));
                    }
                    _ => problems.push(refused(token, why_not(token))),
                }
            }
        }
    }

    fn user(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        self.no_parts_of_its_own(supporting, problems);
        if !token.inclusion.in_requests() {
            let reason = "a UsernameToken that is not in requests cannot be checked";
            problems.push(refused(token, reason));
        }
        let Some(password) = password(token, problems) else {
            return;
        };
        if policy.username().is_some() || policy.password_keys().is_some() {
            problems.push(refused(token, "a message has one user"));
            return;
        }
        let is_vouched = self.protects_messages() && supporting.kind.signed;
        let is_allowed = is_vouched || self.options.unproven_users;
        if password == PasswordKind::Absent && !is_allowed {
            let reason =
                "a user without a password proves nothing; `password = \"none\"` accepts it";
            problems.push(refused(token, reason));
            return;
        }
        let (nonce, created) = items(token, password);
        policy.set_username(Some(UsernamePolicy {
            nonce,
            created,
            ..UsernamePolicy::with_passwords(vec![password])
        }));
        if !self.protects_messages() {
            return;
        }
        // Where it is signed, the message's signature covers it already. A password in the clear is
        // a secret, whether the policy says so (as 1.1 cannot) or not.
        if supporting.kind.encrypted || password == PasswordKind::Text {
            self.encrypt_too(policy, problems);
            let token = EncryptedPart::customary(Part::UsernameToken);
            policy.parts.encrypted.push(token);
        }
    }

    /// An assertion about the sender, whose key is not that of the message.
    fn assertion(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        self.no_parts_of_its_own(supporting, problems);
        let protection = match policy.signature() {
            Some(_) => AssertionProtection::Signature,
            None => AssertionProtection::Connection,
        };
        let holder = HolderUse::Beside;
        let Some(wanted) = assertion(token, holder, protection, policy, problems) else {
            return;
        };
        if has_public_key(token) && !self.shows_holder() {
            let reason =
                "nothing shows the key of its holder: let it endorse, or a certificate beside it";
            problems.push(refused(token, reason));
            return;
        }
        policy.supporting.push(SupportingToken::Assertion(wanted));
        self.protect_assertion(supporting, policy, problems);
    }

    /// Whether a certificate of requests can be for the key of an assertion's holder: one that
    /// signs or endorses, or that of the client.
    fn shows_holder(&self) -> bool {
        let initiator = match &self.requirements.binding {
            Some(Binding::Asymmetric(binding)) => binding.initiator_signature.as_ref(),
            _ => None,
        };
        let by_connection = matches!(self.requirements.binding, Some(Binding::Transport(_)));
        by_connection
            || initiator.is_some_and(|token| token.kind.is_certificate())
            || is_endorsed_by_certificate(self.requirements)
    }

    /// An assertion whose holder endorses the message.
    fn endorse_by_holder(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        if policy.endorsing().next().is_some() {
            problems.push(refused(token, "the holder of an assertion endorses alone"));
            return;
        }
        let encrypts_first = policy.order() == ProtectionOrder::EncryptBeforeSigning;
        if supporting.kind.encrypted && encrypts_first {
            let reason = "an assertion whose holder endorses is deciphered before his signature is verified: leave sp:EncryptBeforeSigning out";
            problems.push(refused(token, reason));
            return;
        }
        let protection = match self.protects_messages() {
            true => AssertionProtection::Signature,
            false => AssertionProtection::Connection,
        };
        let holder = HolderUse::Endorses;
        let Some(wanted) = assertion(token, holder, protection, policy, problems) else {
            return;
        };
        let reference = self.name(token, problems);
        let endorsing = match has_proof_key(token) {
            true => {
                let properties = self.requirements.binding.as_ref().map(Binding::properties);
                let suite = properties.and_then(|properties| properties.suite.as_ref());
                EndorsingToken::by(EndorsingKey::Assertion {
                    by_place: reference == KeyReference::Direct,
                    derived_keys: derived_keys(token, suite),
                })
            }
            false => EndorsingToken::by_certificate(reference),
        };
        policy.supporting.push(SupportingToken::Assertion(wanted));
        self.endorse_with(supporting, token, endorsing, policy, problems);
        self.protect_assertion(supporting, policy, problems);
    }

    /// Has the message's signature cover the assertion, and the key of the binding encrypt it, as
    /// the assertion of supporting tokens says. Over a connection there is nothing to do.
    fn protect_assertion(
        &self,
        supporting: &SupportingTokens,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        if !self.protects_messages() {
            return;
        }
        if supporting.kind.signed && !policy.parts.signed.contains(&Part::Assertion) {
            policy.parts.signed.push(Part::Assertion);
        }
        if supporting.kind.encrypted {
            self.encrypt_too(policy, problems);
            let assertion = EncryptedPart::customary(Part::Assertion);
            policy.parts.encrypted.push(assertion);
        }
    }

    /// Says with which key tokens are encrypted where the policy names no encrypted parts.
    fn encrypt_too(&self, policy: &mut Policy, problems: &mut Vec<PolicyProblem>) {
        if let (Some(Binding::Asymmetric(binding)), wss::Binding::Asymmetric(keys)) =
            (&self.requirements.binding, &mut policy.binding)
            && keys.encryption.is_none()
        {
            let properties = &binding.properties;
            let token = binding.recipient_encryption.as_ref();
            let token = self.present(token, properties, "sp:RecipientToken", problems);
            keys.encryption =
                token.map(|token| self.wrapped_to(token, properties, Recipient::Peer, problems));
        }
    }

    fn endorse(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        if !self.certificate(token, problems) {
            return;
        }
        // Keys that are to be derived are those that a certificate's key encrypts (5.3), and its
        // own private key signs here: there is nothing to derive.
        let reference = self.name(token, problems);
        let endorsing = EndorsingToken::by_certificate(reference);
        self.endorse_with(supporting, token, endorsing, policy, problems);
    }

    /// Has a token endorse with its key, and with what the assertion and the binding demand of it
    /// besides.
    fn endorse_with(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        endorsing: EndorsingToken,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let mut parts = Vec::new();
        self.own_parts(supporting, &mut parts, problems);
        let properties = self.requirements.binding.as_ref().map(Binding::properties);
        // The connection signs and encrypts whatever there is.
        let messages = self.protects_messages();
        let endorsing = EndorsingToken {
            parts,
            covers_token: properties.is_some_and(|properties| properties.protect_tokens),
            // An assertion is a part of the message by itself, and protected as one.
            signed: messages && supporting.kind.signed && !token.kind.is_assertion(),
            encrypted: messages && supporting.kind.encrypted && !token.kind.is_assertion(),
            ..endorsing
        };
        if messages {
            self.endorse_message(supporting, token, endorsing, policy, problems);
        } else {
            self.endorse_timestamp(supporting, token, endorsing, policy, problems);
        }
    }

    /// The key of the conversation signs the message's signature or, where the connection protects
    /// the message, its Timestamp: every request says by it whose it is.
    fn endorse_by_context(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let binding = self.requirements.binding.as_ref();
        let properties = binding.map(Binding::properties);
        let carried = self.carries(token);
        if policy.uses_context() {
            problems.push(refused(token, ONE_CONVERSATION));
            return;
        }
        let hides_name =
            properties.is_some_and(|properties| properties.encrypt_signature) && !carried;
        if self.protects_messages() && (supporting.kind.encrypted || hides_name) {
            let reason = "a context is looked up before anything is deciphered: what names it cannot be encrypted";
            problems.push(refused(token, reason));
            return;
        }
        let suite = properties.and_then(|properties| properties.suite.as_ref());
        let endorsing = EndorsingToken::by_context(carried, derived_keys(token, suite));
        self.endorse_with(supporting, token, endorsing, policy, problems);
    }

    /// A Kerberos token whose key endorses, or which says who sends over a connection that protects
    /// the message.
    fn kerberos(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let Some(wanted) = kerberos(token, self.carries(token), problems) else {
            return;
        };
        let kind = supporting.kind;
        let reason = match self.protects_messages() {
            _ if policy.kerberos().is_some() || policy.uses_context() => {
                "a message has one Kerberos token, and belongs to no conversation beside it"
            }
            true if !kind.endorsing => {
                "a Kerberos token whose key does nothing is tied to no message: let it endorse"
            }
            true if kind.encrypted => {
                "a Kerberos token is accepted before anything is deciphered: it cannot be encrypted"
            }
            _ if kind.endorsing => {
                let properties = self.requirements.binding.as_ref().map(Binding::properties);
                let suite = properties.and_then(|properties| properties.suite.as_ref());
                let endorsing = EndorsingToken::by(EndorsingKey::Kerberos {
                    token: wanted,
                    derived_keys: derived_keys(token, suite),
                });
                self.endorse_with(supporting, token, endorsing, policy, problems);
                return;
            }
            _ if token.derived_keys.is_some() => {
                "a Kerberos token whose key does nothing has no use for derived keys: let it endorse"
            }
            _ => {
                self.no_parts_of_its_own(supporting, problems);
                policy.supporting.push(SupportingToken::Kerberos(wanted));
                return;
            }
        };
        problems.push(refused(token, reason));
    }

    /// A key from the password of the user endorses (UsernameToken Profile 1.1.1, 4).
    fn endorse_by_user(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        if !user_with_key(token, problems) {
            return;
        }
        if policy.username().is_some() || policy.password_keys().is_some() {
            problems.push(refused(token, "a message has one user"));
            return;
        }
        if policy.uses_context() || policy.kerberos().is_some() {
            problems.push(refused(token, ONE_SECRET));
            return;
        }
        let properties = self.requirements.binding.as_ref().map(Binding::properties);
        let suite = properties.and_then(|properties| properties.suite.as_ref());
        let endorsing = EndorsingToken::by(EndorsingKey::Password {
            keys: PasswordKeyPolicy::default(),
            derived_keys: derived_keys(token, suite),
        });
        self.endorse_with(supporting, token, endorsing, policy, problems);
    }

    /// Where the connection protects the message there is no signature to endorse: each token signs
    /// the Timestamp (8.3, 8.4) and what is named in particular. The first of them makes the
    /// message's signature or, where there is one, the security context.
    fn endorse_timestamp(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        endorsing: EndorsingToken,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let properties = self.requirements.binding.as_ref().map(Binding::properties);
        let has_suite = properties.is_some_and(|properties| properties.suite.is_some());
        for (is_there, what) in [
            (policy.header.timestamp.is_some(), "sp:IncludeTimestamp"),
            (has_suite, "sp:AlgorithmSuite"),
        ] {
            if !is_there {
                problems.push(missing(&supporting.name, &supporting.place, what));
                return;
            }
        }
        let before = policy.endorsing().count();
        // As many as in a message binding, which has one more to endorse.
        if before > 0 && before + 1 >= policy.limits.signatures {
            problems.push(refused(token, MOST_ENDORSEMENTS));
            return;
        }
        match endorsing.key {
            EndorsingKey::Context { .. }
            | EndorsingKey::Password { .. }
            | EndorsingKey::Kerberos { .. }
            | EndorsingKey::Assertion { .. } => {
                let first = SupportingToken::Endorsing(endorsing);
                policy.supporting.insert(0, first);
            }
            EndorsingKey::Certificate(_) => policy.endorse_with(endorsing),
        }
    }

    /// What a token signs in particular (8.3).
    fn own_parts(
        &self,
        supporting: &SupportingTokens,
        parts: &mut Vec<Part>,
        problems: &mut Vec<PolicyProblem>,
    ) {
        for demand in &supporting.signed_parts {
            add_signed(demand, parts);
        }
        add_elements(&supporting.signed_elements, parts);
        refuse_endorsed(
            &supporting.signed_elements,
            !self.protects_messages(),
            problems,
        );
    }

    /// The token signs the message's signature (8.3), as does every other one that the policy
    /// names. That signature covers the token where it is signed (8.4), and the message's key
    /// encrypts it where it is encrypted (8.7, 8.8): "when they appear in the
    /// wsse:SecurityHeader", so one that messages only name is neither, and one that a peer
    /// sends nevertheless must be.
    fn endorse_message(
        &self,
        supporting: &SupportingTokens,
        token: &Token,
        endorsing: EndorsingToken,
        policy: &mut Policy,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let kind = supporting.kind;
        // Beside the one that they endorse.
        if policy.endorsing().count() + 1 >= policy.limits.signatures {
            problems.push(refused(token, MOST_ENDORSEMENTS));
            return;
        }
        let reference = endorsing.key.reference();
        let is_inside = reference.holds_certificate() || reference.is_written_out();
        if is_inside && (kind.signed || kind.encrypted) {
            problems.push(refused(token, TOKEN_INSIDE));
            return;
        }
        if policy.signature().is_none() {
            problems.push(missing(
                &supporting.name,
                &supporting.place,
                "sp:SignedParts or sp:IncludeTimestamp",
            ));
            return;
        }
        policy.endorse_with(endorsing);
        if kind.encrypted {
            self.encrypt_too(policy, problems);
        }
    }

    /// A token without a key that is to sign parts.
    fn no_parts_of_its_own(
        &self,
        supporting: &SupportingTokens,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let parts = supporting
            .signed_parts
            .iter()
            .map(|one| (&one.name, &one.place));
        let elements = supporting
            .signed_elements
            .iter()
            .map(|one| (&one.name, &one.place));
        for (name, place) in parts.chain(elements) {
            problems.push(PolicyProblem::at(
                name,
                place,
                ProblemKind::NotSupported {
                    reason: "a token without a key signs no parts",
                },
            ));
        }
    }
}
