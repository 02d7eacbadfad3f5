//! An assertion that messages carry: made by somebody else, and sent as it is.
//!
//! The one rule: nothing in it changes. Its issuer's signature holds in every message.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, SymmetricKey};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, NodeId, ParseOptions,
    canonicalize,
};

use super::assertion::Assertion;
use super::reference::IdDigest;
use super::subject::HolderKey;
use super::version::{ConfirmationMethod, SamlVersion};
use crate::facts::HeldAssertion;
use crate::proof::ProofKey;
use crate::rejected::Rejected;

/// Takes the default namespace around an element back.
const UNDECLARED: &[u8] = b" xmlns=\"\"";

/// An assertion to send.
#[derive(Clone)]
pub struct AssertionToken {
    version: SamlVersion,
    is_id_card: bool,
    id: String,
    /// With every namespace that is in scope.
    written: Vec<u8>,
    /// Where [`UNDECLARED`] is in that, if it is.
    undeclares_at: Option<usize>,
    /// As it is digested.
    digested: Vec<u8>,
    certificate: Option<Certificate>,
    issuer: String,
    subject: String,
    /// How it may be confirmed.
    methods: Vec<ConfirmationMethod>,
    ends: Option<Timestamp>,
    once: bool,
    /// Whether the assertion has a symmetric key of its holder, for its receiver.
    wraps_key: bool,
    /// That key.
    proof: Option<SymmetricKey>,
}

impl fmt::Debug for AssertionToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever has a bearer's assertion is the bearer, and whoever has its id may fetch it.
        out.debug_struct("AssertionToken")
            .field("version", &self.version)
            .field("id", &format_args!("{}", IdDigest(&self.id)))
            .finish_non_exhaustive()
    }
}

impl AssertionToken {
    /// Reads a document that is an assertion.
    ///
    /// # Errors
    /// It is no assertion, or one that no receiver would accept.
    pub fn parse(document: Vec<u8>) -> Result<Self, Rejected> {
        let options = ParseOptions::default();
        let document = Document::parse(document, &options, &mut Buffers::default());
        let document = document.map_err(|error| Rejected::Malformed {
            element: "saml:Assertion",
            problem: error.to_string(),
        })?;
        Self::of(&document, document.root().id())
    }

    /// An assertion of a message.
    pub(crate) fn of(document: &Document, node: NodeId) -> Result<Self, Rejected> {
        let assertion = Assertion::read(document.element(node))?;
        let form = |method| {
            let mut bytes = Vec::new();
            let options = C14nOptions {
                inherited_attributes: false,
                ..C14nOptions::new(method)
            };
            canonicalize(
                document,
                Apex::Element(node),
                &options,
                &mut C14nScratch::default(),
                &mut bytes,
            )
            .map_err(Rejected::Canonicalization)?;
            Ok::<_, Rejected>(bytes)
        };
        let mut written = form(Canonicalization::Inclusive10)?;
        let has_default = document.element(node).namespace_of("").is_some();
        let name_end = document.element(node).qualified_name().len() + 1;
        let undeclares_at = (!has_default).then_some(name_end);
        if !has_default {
            // The envelope around may declare one.
            written.splice(name_end..name_end, UNDECLARED.iter().copied());
        }
        Ok(Self {
            version: assertion.version,
            is_id_card: assertion.is_id_card,
            certificate: assertion.holder_certificate().cloned(),
            wraps_key: assertion.wraps_key(),
            proof: None,
            methods: assertion.methods().collect(),
            ends: assertion.stated_end(),
            once: assertion.conditions.once,
            id: assertion.id,
            issuer: assertion.issuer,
            subject: assertion.subject.value,
            written,
            undeclares_at,
            digested: form(Canonicalization::Exclusive)?,
        })
    }

    /// The version.
    pub fn version(&self) -> SamlVersion {
        self.version
    }

    /// Whether it is an ID card of DGWS.
    pub fn is_id_card(&self) -> bool {
        self.is_id_card
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether messages may name it that accept these methods, and say no more than its id. Who
    /// confirms it by another one, such as a bearer, would need nothing but that.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_named(&self, accepted: &[ConfirmationMethod]) -> Result<(), String> {
        let names = |methods: &[ConfirmationMethod]| {
            let names: Vec<_> = methods.iter().map(|method| method.name()).collect();
            names.join(", ")
        };
        let is_other = |method: &ConfirmationMethod| !accepted.contains(method);
        if self.methods.is_empty() || self.methods.iter().any(is_other) {
            let found = match &self.methods[..] {
                [] => "none that is known".to_owned(),
                methods => names(methods),
            };
            return Err(format!(
                "messages name the assertion by its id: expected confirmation by {} alone, found {found}",
                names(accepted)
            ));
        }
        Ok(())
    }

    /// When it ends, where it says so.
    pub fn ends(&self) -> Option<Timestamp> {
        self.ends
    }

    /// Whether it is for one use (SAML Core 2.0, 2.5.1.5; SAML Core 1.1, 2.3.2.1.4).
    pub fn is_for_one_use(&self) -> bool {
        self.once
    }

    /// The certificate of the holder's key, where the assertion has it.
    pub fn holder(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Whether the assertion has a symmetric key of its holder, which its receiver can decipher.
    pub fn wraps_key(&self) -> bool {
        self.wraps_key
    }

    /// The assertion with the symmetric key of its holder, as its issuer gave it beside the
    /// assertion.
    #[must_use]
    pub fn with_proof_key(self, key: SymmetricKey) -> Self {
        Self {
            proof: Some(key),
            ..self
        }
    }

    /// The symmetric key of its holder, as messages have it.
    pub(crate) fn proof_key(&self) -> Option<ProofKey> {
        let key = self.proof.clone()?;
        Some(ProofKey {
            version: self.version,
            id: self.id.clone(),
            issuer: self.issuer.clone(),
            subject: self.subject.clone(),
            key,
        })
    }

    /// Its name and the certificate of its holder, where it names one.
    pub(crate) fn held(&self) -> Option<HeldAssertion> {
        let certificate = self.certificate.clone()?;
        Some(HeldAssertion {
            version: self.version,
            id: self.id.clone(),
            certificate,
        })
    }

    /// As it stands in a message, whatever the default namespace around it.
    pub fn written(&self) -> &[u8] {
        &self.written
    }

    /// As it stands in a message with this default namespace around it. Where there is none, none
    /// is taken back: by the STR Dereference Transform Metro digests other bytes of an assertion
    /// that has `xmlns=""` itself.
    pub fn written_beneath(&self, default: &str) -> Cow<'_, [u8]> {
        match self.undeclares_at.filter(|_| default.is_empty()) {
            None => Cow::Borrowed(&self.written),
            Some(at) => {
                let (name, rest) = self.written.split_at(at);
                Cow::Owned([name, &rest[UNDECLARED.len()..]].concat())
            }
        }
    }

    /// In exclusive canonical form.
    pub(crate) fn digested(&self) -> &[u8] {
        &self.digested
    }
}

impl Assertion {
    /// Whether a holder's key is symmetric, and enciphered for the receiver.
    fn wraps_key(&self) -> bool {
        let mut keys = self.confirmations.iter().flat_map(|one| &one.keys);
        keys.any(|key| matches!(key, HolderKey::Wrapped(_)))
    }

    /// The certificate of the holder's key, where the issuer names one.
    fn holder_certificate(&self) -> Option<&Certificate> {
        let confirmations = self.confirmations.iter();
        let by_key = confirmations.filter(|one| one.method == ConfirmationMethod::HolderOfKey);
        by_key.flat_map(|one| &one.keys).find_map(|key| match key {
            HolderKey::Public(_, certificate) => certificate.as_ref(),
            HolderKey::Wrapped(_) => None,
        })
    }
}
