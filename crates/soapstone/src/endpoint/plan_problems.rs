//! Why a plan cannot be made, told where the endpoint file can be changed.
//!
//! The rule kept here: a problem has the place of the key that it is about, where there is one.

use soapstone_wss::{KeyField, PlanProblem};

use super::compiler::Compiler;
use crate::config::{Place, SecuritySource};

/// The table that keys are given in, and how.
fn where_it_stands(field: KeyField) -> (&'static str, &'static str) {
    match field {
        KeyField::Identity => (
            "identity",
            "say who we are: identity = { key = \"….key.pem\", certificate = \"….cert.pem\" }",
        ),
        KeyField::Peer => (
            "peer",
            "say whom to encrypt to: peer = { certificate = \"….cert.pem\" }",
        ),
        KeyField::Trust => (
            "trust",
            "say whom to trust: trust = { anchors = [\"ca.cert.pem\"] }, or pinned = [\"….cert.pem\"]",
        ),
        KeyField::Issuers => (
            "saml",
            "say whose assertions are accepted: saml = { issuers = [{ name = \"https://…\", pinned = [\"….cert.pem\"] }], … }",
        ),
        KeyField::Shared => (
            "shared_key",
            "give the key that both sides hold: shared_key = { file = \"….key.bin\" }",
        ),
        KeyField::User => (
            "users",
            "say who we are: users = [{ name = \"…\", password_env = \"…\" }]",
        ),
    }
}

/// What to do about a certificate to which no session key can be encrypted.
fn what_would_fit(field: KeyField) -> &'static str {
    match field {
        KeyField::Peer => {
            "name the peer's certificate for encryption, or a suite that fits its key: Basic256GCM for RSA, Basic256GCMEcdhEs for P-256, \
             Basic256GCMX25519 for X25519"
        }
        _ => {
            "where another key decrypts than the one that signs, name it: identity = { …, decryption = { key = \"….key.pem\", \
             certificate = \"….cert.pem\" } }"
        }
    }
}

impl Compiler<'_> {
    /// What to do about a key of ours that no signature algorithm fits.
    fn what_signs(&self) -> &'static str {
        let security = &self.config.security;
        match (&security.source.value, &security.algorithms) {
            (SecuritySource::Policy(_), _) | (_, Some(_)) => {
                "name an algorithm that fits the key in `algorithms.signature`, such as ecdsa-sha256 or ed25519; or take an RSA key"
            }
            (SecuritySource::Mechanism(_), None) => {
                "name a suite that fits the key: suite = \"Basic256GCMEcdhEs\" for P-256, \"Basic256GCMX25519\" for Ed25519; without `suite` it is Basic256GCM, for RSA"
            }
        }
    }

    /// A plan that can be made; of another one every problem is reported.
    pub(super) fn plan<P>(&mut self, plan: Result<P, Vec<PlanProblem>>, place: Place) -> Option<P> {
        match plan {
            Ok(plan) => Some(plan),
            Err(problems) => {
                for problem in problems {
                    if let PlanProblem::RecipientDoesNotFit { field, .. } = &problem {
                        let hint = what_would_fit(*field);
                        self.report_with_hint(place, problem.to_string(), hint);
                        continue;
                    }
                    if let PlanProblem::KeyDoesNotFit { .. } = &problem {
                        let hint = self.what_signs();
                        self.report_with_hint(place, problem.to_string(), hint);
                        continue;
                    }
                    if let PlanProblem::Endorsers { .. } = &problem {
                        let hint = "name them in the order of the policy: identity = { …, endorsing = [{ key = \"….key.pem\", certificate = \"….cert.pem\" }, …] }; \
                                    or accept one key for all of them: same_endorser = true";
                        self.report_with_hint(place, problem.to_string(), hint);
                        continue;
                    }
                    if let PlanProblem::Reference { reference, .. } = &problem {
                        let security = &self.config.security;
                        let named = [
                            &security.signature.key_reference,
                            &security.encryption.key_reference,
                            &security.key_reference,
                        ];
                        let mut named = named.into_iter().flatten();
                        let named = named.find(|named| named.value == *reference);
                        let place = named.map_or(place, |named| named.place);
                        self.report(place, problem.to_string());
                        continue;
                    }
                    if let PlanProblem::HeaderOrder { .. }
                    | PlanProblem::HeaderOrderUnfit { .. }
                    | PlanProblem::ItemRepeated { .. } = &problem
                    {
                        let order = self.config.security.header_order.as_ref();
                        let place = order.map_or(place, |order| order.place);
                        self.report(place, problem.to_string());
                        continue;
                    }
                    let PlanProblem::KeyMissing { field, .. } = problem else {
                        self.report(place, problem.to_string());
                        continue;
                    };
                    let (table, hint) = where_it_stands(field);
                    // One that is there and cannot be used was complained about already.
                    if !self.config.has(table) {
                        self.report_with_hint(place, problem.to_string(), hint);
                    }
                }
                None
            }
        }
    }
}
