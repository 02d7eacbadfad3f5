//! The algorithms of a signature, compared with those of the plan.
//!
//! The one rule: what the suite does not list is refused before any key is touched.

use soapstone_xml::{Canonicalization, Element};
use soapstone_xmlsec::dsig::{CanonicalizationMethod, Signature, Transform};

use super::message::Message;
use crate::names::{DS, WSSE};
use crate::rejected::{AlgorithmUse, Rejected};

impl Message<'_> {
    /// Refuses what the suite does not list, before any key is touched.
    pub(super) fn check_algorithms(
        &self,
        signature: &Signature,
        by_secret: bool,
    ) -> Result<(), Rejected> {
        let suite = &self.demands().suite;
        let family = signature.method.family();
        let allowed = self.demands().signature_algorithms(family, by_secret);
        if !allowed.contains(&signature.method) {
            return Err(not_allowed(
                AlgorithmUse::Signature,
                signature.method.uri(),
                allowed.iter().map(|one| one.short_name()),
            ));
        }
        self.check_canonicalization(&signature.canonicalization)?;
        for reference in &signature.references {
            if !suite.digest.contains(&reference.digest_method) {
                let allowed = suite.digest.iter().map(|one| one.short_name());
                return Err(not_allowed(
                    AlgorithmUse::Digest,
                    reference.digest_method.uri(),
                    allowed,
                ));
            }
            for transform in reference.transforms.iter() {
                match transform {
                    Transform::Canonicalization(method) => self.check_canonicalization(method)?,
                    // One that is not written as it should be has its own refusal, when it is
                    // executed.
                    Transform::Other { node, .. } => {
                        if let Ok(method) = dereferenced_form(self.element(*node)) {
                            self.check_canonicalization(&method)?;
                        }
                    }
                    _ => {}
                }
            }
            // Without a canonicalization the reference would be digested in inclusive form
            // (XML-DSig 4.4.3.2).
            let canonicalized = reference
                .transforms
                .iter()
                .any(|transform| !matches!(transform, Transform::Enveloped));
            if !canonicalized {
                self.check_canonicalization(&CanonicalizationMethod::new(
                    Canonicalization::Inclusive10,
                ))?;
            }
        }
        Ok(())
    }

    fn check_canonicalization(&self, found: &CanonicalizationMethod) -> Result<(), Rejected> {
        let allowed = &self.demands().suite.canonicalization;
        if allowed.contains(&found.method) {
            return Ok(());
        }
        Err(not_allowed(
            AlgorithmUse::Canonicalization,
            found.method.uri(),
            allowed.iter().map(|one| one.uri()),
        ))
    }
}

/// The refusal of an algorithm, with what would have been accepted.
pub(crate) fn not_allowed(
    purpose: AlgorithmUse,
    found: &str,
    allowed: impl Iterator<Item = &'static str>,
) -> Rejected {
    Rejected::AlgorithmNotAllowed {
        purpose,
        found: found.to_owned(),
        allowed: allowed.collect::<Vec<_>>().join(", "),
    }
}

/// The canonical form that the STR Dereference Transform gives a token.
pub(super) fn dereferenced_form(transform: Element<'_>) -> Result<CanonicalizationMethod, String> {
    let method = transform
        .child(WSSE, "TransformationParameters")
        .and_then(|parameters| parameters.child(DS, "CanonicalizationMethod"))
        .ok_or_else(|| {
            "expected a CanonicalizationMethod in TransformationParameters".to_owned()
        })?;
    CanonicalizationMethod::parse(method).map_err(|error| error.to_string())
}
