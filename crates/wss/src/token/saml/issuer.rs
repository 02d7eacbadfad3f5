//! Who may issue assertions, and whether the signature of an assertion is its issuer's.
//!
//! The one rule: an issuer has keys of its own. A certificate that may sign messages, or that may
//! sign for another issuer, signs nothing in the name of this one.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, SignatureFamily, TrustStore};
use soapstone_xml::{Canonicalization, Document};
use soapstone_xmlsec::dsig::{NoExtension, Scratch, Signature, Target, Transform};

use super::assertion::Assertion;
use super::id_card;
use super::policy::AssertionPolicy;
use super::reading::{excerpt, malformed};
use crate::enveloped;
use crate::rejected::{AlgorithmUse, Rejected};

/// Who may issue assertions, and with which keys.
#[derive(Debug)]
pub struct AssertionIssuer {
    /// `Issuer` of the assertions.
    pub name: String,
    /// The certificates that sign them. None, where nobody signs: then whoever vouches for the
    /// sender answers for the assertion, and signs it.
    pub trust: Option<TrustStore>,
}

/// What is known of an assertion whose issuer was judged.
pub(crate) struct Judged {
    /// The certificate by which its issuer signed it, with the SHA-256 of the certificate of the
    /// rules that vouches for it. None: somebody has to vouch for the assertion.
    pub(crate) signer: Option<(Certificate, [u8; 32])>,
    /// Short names of the weak algorithms that it was signed with.
    pub(crate) weak: Vec<&'static str>,
}

impl Assertion {
    /// Whether one of the issuers that are known made the assertion.
    pub(crate) fn check_issuer(
        &self,
        document: &Document,
        issuers: &[AssertionIssuer],
        policy: &AssertionPolicy,
        now: Timestamp,
    ) -> Result<Judged, Rejected> {
        let known = issuers.iter().find(|issuer| issuer.name == self.issuer);
        let issuer = known.ok_or_else(|| Rejected::IssuerUnknown {
            issuer: excerpt(&self.issuer),
        })?;
        let Some(trust) = &issuer.trust else {
            return match self.signature {
                // Nobody could tell whose it is.
                Some(_) => Err(Rejected::IssuerUnknown {
                    issuer: excerpt(&self.issuer),
                }),
                None => Ok(Judged {
                    signer: None,
                    weak: Vec::new(),
                }),
            };
        };
        let node = self.signature.ok_or(Rejected::AssertionUnsigned)?;
        let signature = Signature::parse(document, node, &enveloped::rules())?;
        self.check_form(document, &signature, policy)?;
        let mut scratch = Scratch::default();
        let unreadable = |problem: &str| malformed(format!("its signature: {problem}"));
        let signer =
            enveloped::check_signer(document, &signature, trust, now, &mut scratch, unreadable)?;
        let reference = &signature.references[0];
        let target = Target::Element {
            node: self.node,
            comments: false,
        };
        reference.verify(document, target, &mut NoExtension, &mut scratch)?;
        let used = [
            (signature.method.is_weak(), signature.method.short_name()),
            (
                reference.digest_method.is_weak(),
                reference.digest_method.short_name(),
            ),
        ];
        let weak = used.into_iter().filter(|(is_weak, _)| *is_weak);
        Ok(Judged {
            signer: Some(signer),
            weak: weak.map(|(_, name)| name).collect(),
        })
    }

    /// Whether the signature is one over this assertion alone, in the form that assertions have
    /// (SAML Core 2.0, 5.4.2 to 5.4.4; SAML Core 1.1, 5.4).
    fn check_form(
        &self,
        document: &Document,
        signature: &Signature,
        policy: &AssertionPolicy,
    ) -> Result<(), Rejected> {
        let not_allowed =
            |purpose, found: &str, allowed: Vec<&str>| Rejected::AlgorithmNotAllowed {
                purpose,
                found: found.to_owned(),
                allowed: allowed.join(", "),
            };
        let method = signature.method;
        if method.family() == SignatureFamily::Hmac || !policy.signature.contains(&method) {
            let allowed = policy.signature.iter().map(|one| one.short_name());
            let purpose = AlgorithmUse::Signature;
            return Err(not_allowed(purpose, method.uri(), allowed.collect()));
        }
        let [reference] = &signature.references[..] else {
            return Err(malformed("expected one reference in its signature"));
        };
        let digest = reference.digest_method;
        if !policy.digest.contains(&digest) {
            let allowed = policy.digest.iter().map(|one| one.short_name());
            let purpose = AlgorithmUse::Digest;
            return Err(not_allowed(purpose, digest.uri(), allowed.collect()));
        }
        let exclusive = Canonicalization::Exclusive;
        let canonicalizes = |transform: &Transform| matches!(transform, Transform::Canonicalization(form) if form.method == exclusive);
        let form = &signature.canonicalization;
        let is_usual = match &*reference.transforms {
            [Transform::Enveloped, last] => canonicalizes(last),
            _ => false,
        };
        if !is_usual || form.method != exclusive {
            return Err(malformed(
                "expected its signature to have the transforms enveloped-signature and exclusive canonicalization",
            ));
        }
        let by_id = reference
            .uri
            .as_deref()
            .and_then(|uri| uri.strip_prefix('#'));
        let is_found = match self.is_id_card {
            true => id_card::is_alone(document, &self.id),
            false => document.by_id(&self.id) == Ok(Some(self.node)),
        };
        if by_id != Some(self.id.as_str()) || !is_found {
            return Err(malformed("expected its signature to refer to its id"));
        }
        // What stands there belongs to nobody who reads assertions.
        if !signature.objects.is_empty() {
            return Err(malformed("expected no `ds:Object` in its signature"));
        }
        Ok(())
    }
}
