//! How the messages of a policy name certificates: of who signs, and to whom keys are wrapped.
//!
//! The rule kept here: a name is that of a certificate alone. Other keys have names of their own.

use super::Policy;
use crate::binding::{AsymmetricBinding, Binding, KeyBinding, KeyReference};

impl Policy {
    /// How messages name the certificate of their own signature, if it is made with one.
    pub(crate) fn certificate_reference(&self) -> Option<KeyReference> {
        let (key, reference, _) = self.signing_key()?;
        (key == KeyBinding::Certificate).then_some(reference)
    }

    /// Whether a certificate that signs is named in messages, and not in them: a receiver must have
    /// it.
    pub fn names_certificates(&self) -> bool {
        let is_named = |kind: KeyBinding, reference: KeyReference| {
            let is_there = reference.has_token() || reference.holds_certificate();
            kind == KeyBinding::Certificate && !is_there && !reference.is_written_out()
        };
        let signature = self.signing_key();
        let mut endorsing = self.endorsing();
        signature.is_some_and(|(kind, reference, _)| is_named(kind, reference))
            || endorsing.any(|token| is_named(token.key.kind(), token.key.reference()))
    }

    /// Whether messages that we make carry our certificate although nothing is signed with it: so
    /// that the peer can answer under it (WS-SecurityPolicy 1.3, 5.1.1).
    pub fn introduces_certificate(&self) -> bool {
        let carries =
            |binding: &AsymmetricBinding| binding.signature.is_some_and(KeyReference::has_token);
        self.parts.signed.is_empty()
            && matches!(&self.binding, Binding::Asymmetric(binding) if carries(binding))
    }

    /// How messages of which nothing is signed carry our certificate.
    pub(crate) fn introducing_reference(&self) -> KeyReference {
        let reference = match &self.binding {
            Binding::Asymmetric(binding) => binding.signature,
            _ => None,
        };
        reference.unwrap_or(KeyReference::Direct)
    }

    /// Whether a signature that covers the token of its certificate does so through this reference
    /// to it.
    pub(crate) fn dereferences(&self, reference: KeyReference) -> bool {
        reference.is_dereferenced() && (self.parts.tokens_by_reference || !reference.has_token())
    }

    /// How messages name the certificate that session keys are wrapped to: the one of a symmetric
    /// binding that signs, even if it encrypts nothing. The name of any other key says nothing of
    /// it.
    pub(crate) fn unwrapping_reference(&self) -> Option<KeyReference> {
        let is_wrapped =
            |key: KeyBinding| matches!(key, KeyBinding::Certificate | KeyBinding::SessionKey);
        let signature = self.signature();
        let signature = signature.filter(|one| one.key == KeyBinding::SessionKey);
        let encryption = || self.encryption().filter(|one| is_wrapped(one.key));
        let encryption = || encryption().map(|one| one.reference);
        signature.map(|one| one.reference).or_else(encryption)
    }
}
