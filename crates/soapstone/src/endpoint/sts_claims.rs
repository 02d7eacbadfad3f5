//! What a token service says of subjects, and what claims of requests ask for (WS-Trust 1.4, 9.3).
//!
//! The rule kept here: a claim is one that some assertion can have.

use soapstone_trust::{ACTOR_CLAIM, ClaimDialect, GrantedAttribute};

use super::compiler::Compiler;
use crate::config::{Located, StsConfig};

/// What the names of identity claims begin with.
const CLAIMS: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/";

/// The URI of a claim that a file names.
fn uri_of(claim: &Located<String>) -> String {
    match claim.value.contains(':') {
        true => claim.value.clone(),
        false => format!("{CLAIMS}{}", claim.value),
    }
}

impl Compiler<'_> {
    /// What assertions say of their subjects.
    pub(super) fn granted_attributes(&mut self, config: &StsConfig) -> Vec<GrantedAttribute> {
        let mut attributes = Vec::with_capacity(config.attributes.len());
        for attribute in &config.attributes {
            self.check_format(attribute.subjects.format.as_ref());
            let claim = &attribute.claim;
            let uri = uri_of(claim);
            if uri == ACTOR_CLAIM {
                self.report(
                    claim.place,
                    "this claim names who acts for a subject, which the service alone says",
                );
            }
            let values = attribute.values.iter();
            attributes.push(GrantedAttribute {
                subjects: self.parties(&attribute.subjects),
                claim: uri,
                values: values.map(|value| value.value.clone()).collect(),
            });
        }
        attributes
    }

    /// What the claims of other dialects ask for.
    pub(super) fn claim_dialects(
        &mut self,
        config: &StsConfig,
        attributes: &[GrantedAttribute],
    ) -> Vec<ClaimDialect> {
        let mut dialects: Vec<ClaimDialect> = Vec::with_capacity(config.dialects.len());
        for dialect in &config.dialects {
            let uri = &dialect.dialect;
            let of_identity = CLAIMS.starts_with(uri.value.as_str());
            if of_identity || dialects.iter().any(|known| known.dialect == uri.value) {
                self.report_with_hint(
                    uri.place,
                    "a dialect of claims is there twice, or is that of identity claims, which means itself",
                    "name each other dialect once",
                );
            }
            let mut claims: Vec<(String, String)> = Vec::with_capacity(dialect.claims.len());
            for (name, claim) in &dialect.claims {
                let asked = uri_of(claim);
                if !attributes.iter().any(|known| known.claim == asked) {
                    self.report_with_hint(
                        claim.place,
                        "no attribute has this claim",
                        "name a claim of `attributes`",
                    );
                }
                if claims.iter().any(|(known, _)| *known == name.value) {
                    self.report(name.place, "a name of the dialect is there twice");
                }
                claims.push((name.value.clone(), asked));
            }
            dialects.push(ClaimDialect {
                dialect: uri.value.clone(),
                claims,
            });
        }
        dialects
    }
}
