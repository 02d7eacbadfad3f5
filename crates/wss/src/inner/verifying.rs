//! Inner signatures of messages that arrive.

use jiff::Timestamp;
use soapstone_crypto::{DigestAlgorithm, SignatureAlgorithm, SignatureFamily, TrustStore};
use soapstone_xml::{Canonicalization, Content, Document, Element};
use soapstone_xmlsec::dsig::{NoExtension, Reference, Scratch, Signature, Target, Transform};

use super::{ID_ATTRIBUTES, InnerElement, refuse_retired, signatures};
use crate::envelope::Envelope;
use crate::enveloped;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::suite::Retirement;

/// What an inner signature must be.
#[derive(Debug)]
pub struct InnerVerification {
    /// What it signs.
    pub element: InnerElement,
    /// Whose it may be: apart from who may sign messages.
    pub trust: TrustStore,
    /// Signature algorithms that are accepted.
    pub signature: Vec<SignatureAlgorithm>,
    /// Digest algorithms that are accepted.
    pub digest: Vec<DigestAlgorithm>,
    /// Weak ones that are refused from a day on, although they are listed.
    pub retirements: Vec<Retirement>,
}

/// An inner signature that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerEvidence {
    /// Expanded name of the element that it signs, or that holds the signed document.
    pub element: String,
    /// Subject of the certificate that it was made with.
    pub subject: String,
    /// Issuer of that certificate.
    pub issuer: String,
    /// Serial number of that certificate, in decimal.
    pub serial: String,
    /// Short names of weak algorithms that it uses and the endpoint allows.
    pub weak: Vec<&'static str>,
}

impl InnerVerification {
    /// Verifies the inner signature of a message. `None` of an answer that is a fault: it has none.
    ///
    /// To be called with a message that is otherwise proven, for what becomes known of it is in the
    /// clear then.
    ///
    /// # Errors
    /// [`Rejected::InnerSignature`] where the form is another one, and what is wrong with the
    /// algorithms, the certificate, the value or the digest.
    pub fn verify(
        &self,
        envelope: &Envelope,
        now: Timestamp,
    ) -> Result<Option<InnerEvidence>, Rejected> {
        let found = self.element.find(envelope);
        let Some(element) = found.map_err(|problem| self.refused(problem))? else {
            return Ok(None);
        };
        let evidence = match self.element.encoded {
            false => self.verify_document(envelope.document(), element, now)?,
            true => {
                let decoded = self.element.decoded(element, &envelope.options);
                let document = decoded.map_err(|problem| self.refused(problem))?;
                self.verify_document(&document, document.root(), now)?
            }
        };
        Ok(Some(evidence))
    }

    /// Whether the element is still the one of its name, now that cipher text that it covers, or
    /// that stands beside it, is deciphered.
    ///
    /// # Errors
    /// [`Rejected::InnerSignature`] where there is another one.
    pub fn confirm(&self, envelope: &Envelope) -> Result<(), Rejected> {
        let found = self.element.find(envelope);
        found.map(|_| ()).map_err(|problem| self.refused(problem))
    }

    fn verify_document(
        &self,
        document: &Document,
        element: Element<'_>,
        now: Timestamp,
    ) -> Result<InnerEvidence, Rejected> {
        let mut found = signatures(element);
        let (Some(node), None) = (found.next(), found.next()) else {
            let count = signatures(element).count();
            return Err(self.refused(format!(
                "expected one `ds:Signature` among its children, found {count}"
            )));
        };
        let signature = Signature::parse(document, node.id(), &enveloped::rules())?;
        let reference = self.check_form(document, element, &signature)?;
        if self.element.encoded {
            self.refuse_unsigned_content(document, reference.uri.as_deref() == Some(""))?;
        }
        let used = [
            (signature.method.is_weak(), signature.method.short_name()),
            (
                reference.digest_method.is_weak(),
                reference.digest_method.short_name(),
            ),
        ];
        refuse_retired(&self.retirements, used, now)?;
        let mut scratch = Scratch::default();
        let unreadable = |problem: &str| self.refused(format!("its `ds:KeyInfo`: {problem}"));
        let (signer, _) = enveloped::check_signer(
            document,
            &signature,
            &self.trust,
            now,
            &mut scratch,
            unreadable,
        )?;
        // The whole document has what stands around its root as well.
        let target = match reference.uri.as_deref() {
            Some("") => Target::Document { comments: false },
            _ => Target::Element {
                node: element.id(),
                comments: false,
            },
        };
        reference.verify(document, target, &mut NoExtension, &mut scratch)?;
        let weak = used.into_iter().filter(|(is_weak, _)| *is_weak);
        Ok(InnerEvidence {
            element: self.element.to_string(),
            subject: signer.subject().to_owned(),
            issuer: signer.issuer().to_owned(),
            serial: signer.serial_decimal().to_owned(),
            weak: weak.map(|(_, name)| name).collect(),
        })
    }

    /// Refuses what the signature of a document does not cover and its reader may see: comments,
    /// and instructions beside the root, unless the whole document is signed.
    fn refuse_unsigned_content(&self, document: &Document, whole: bool) -> Result<(), Rejected> {
        let root = document.root();
        let mut all = std::iter::once(root).chain(root.descendants());
        let is_comment = |content: Content<'_>| matches!(content, Content::Comment(_));
        let is_unsigned = |content: Content<'_>| match content {
            Content::ProcessingInstruction { .. } => !whole,
            content => is_comment(content),
        };
        if all.any(|element| element.contents().any(is_comment))
            || document.contents().any(is_unsigned)
        {
            return Err(self.refused("expected no comments in the document, and nothing beside its root that is not signed"));
        }
        Ok(())
    }

    /// Whether the signature is one over this element alone, in the form of an enveloped signature.
    fn check_form<'s>(
        &self,
        document: &Document,
        element: Element<'_>,
        signature: &'s Signature,
    ) -> Result<&'s Reference, Rejected> {
        let not_allowed =
            |purpose, found: &str, allowed: Vec<&str>| Rejected::AlgorithmNotAllowed {
                purpose,
                found: found.to_owned(),
                allowed: allowed.join(", "),
            };
        let method = signature.method;
        if method.family() == SignatureFamily::Hmac || !self.signature.contains(&method) {
            let allowed = self.signature.iter().map(|one| one.short_name());
            let purpose = AlgorithmUse::Signature;
            return Err(not_allowed(purpose, method.uri(), allowed.collect()));
        }
        let [reference] = &signature.references[..] else {
            let count = signature.references.len();
            return Err(self.refused(format!("expected one reference, found {count}")));
        };
        let digest = reference.digest_method;
        if !self.digest.contains(&digest) {
            let allowed = self.digest.iter().map(|one| one.short_name());
            let purpose = AlgorithmUse::Digest;
            return Err(not_allowed(purpose, digest.uri(), allowed.collect()));
        }
        let drops_comments = |transform: &Transform| {
            matches!(
                transform,
                Transform::Canonicalization(form) if matches!(
                    form.method,
                    Canonicalization::Exclusive | Canonicalization::Inclusive10 | Canonicalization::Inclusive11
                )
            )
        };
        let is_usual = match &*reference.transforms {
            [Transform::Enveloped] => true,
            [Transform::Enveloped, last] => drops_comments(last),
            _ => false,
        };
        if !is_usual {
            return Err(self.refused(
                "expected the transforms enveloped-signature and, behind it, at most one canonicalization without comments",
            ));
        }
        self.check_target(document, element, reference)?;
        if !signature.objects.is_empty() {
            return Err(self.refused("expected no `ds:Object` in it"));
        }
        Ok(reference)
    }

    /// Whether the reference names this element, and no other one could be meant.
    fn check_target(
        &self,
        document: &Document,
        element: Element<'_>,
        reference: &Reference,
    ) -> Result<(), Rejected> {
        let uri = reference.uri.as_deref();
        if uri == Some("") && self.element.encoded {
            return Ok(());
        }
        let named = uri
            .and_then(|uri| uri.strip_prefix('#'))
            .filter(|id| !id.is_empty());
        let Some(id) = named else {
            return Err(self.refused(match self.element.encoded {
                true => "expected a reference to the document (`\"\"`) or to the id of its root",
                false => "expected a reference to the id of the element",
            }));
        };
        let has_id = |element: Element<'_>| {
            let mut ids = ID_ATTRIBUTES.iter();
            let is_named = |(namespace, local): &(&str, &str)| {
                element.attribute(namespace, local).as_deref() == Some(id)
            };
            ids.any(is_named)
        };
        if !has_id(element) {
            return Err(self.refused("expected a reference to the id of the element"));
        }
        let root = document.root();
        let others = std::iter::once(root).chain(root.descendants());
        let named = others.filter(|other| has_id(*other)).count();
        // An id of another kind (`wsu:Id`) would be the same name as well.
        let known = document.by_id(id);
        let is_other = !matches!(known, Ok(None)) && known != Ok(Some(element.id()));
        if named != 1 || is_other {
            return Err(
                self.refused("expected an id that one element has, found another one with it")
            );
        }
        Ok(())
    }

    fn refused(&self, problem: impl Into<String>) -> Rejected {
        Rejected::InnerSignature {
            element: self.element.to_string(),
            problem: problem.into(),
        }
    }
}
