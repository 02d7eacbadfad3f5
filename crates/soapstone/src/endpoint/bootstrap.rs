//! How the conversations of an endpoint begin.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{HolderName, TrustStore};
use soapstone_trust::{ClientRules, Operation, SecurityTokenService};
use soapstone_wss::{
    AssertedOwner, AssertionIssuer, Attester, InboundPlan, KeyBinding, OutboundPlan, Part, Policy,
};

/// How contexts are made at an endpoint.
#[derive(Debug)]
pub struct Conversation {
    pub(super) bootstrap_inbound: InboundPlan,
    pub(super) bootstrap_outbound: OutboundPlan,
    /// Of requests that a context endorses and that are secured as the bootstrap's are besides.
    pub(super) renewal_inbound: Option<InboundPlan>,
    /// The issuers whose assertions may begin one.
    pub(super) issuers: Arc<[AssertionIssuer]>,
    /// Who may vouch for the subjects of assertions.
    pub(super) attesters: Vec<HolderName>,
    /// Whose certificates are believed.
    pub(super) trust: Option<Arc<TrustStore>>,
    /// For a client: the end of the assertion that begins one.
    pub(super) assertion_end: Option<Timestamp>,
    /// For a service: what it grants.
    pub(super) service: SecurityTokenService,
    /// For a client: what it asks for.
    pub(super) client: ClientRules,
    /// What is done about contexts, as far as the policy does not rule it out.
    pub(super) operations: Vec<Operation>,
}

impl Conversation {
    /// Whether this is done about contexts: a policy can rule out that they are cancelled, renewed
    /// or amended (WS-SecurityPolicy 1.3, 5.4.7).
    pub fn has(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Whether the issuer of an assertion may begin one, and whoever vouched for its subject. A
    /// context is kept beyond a reload, and the rules are those of today.
    pub(super) fn accepts(&self, owner: &AssertedOwner) -> bool {
        let vouched = owner.attester.as_ref();
        vouched.is_none_or(|attester| self.knows(attester)) && self.knows_issuer(owner)
    }

    /// Whether somebody may still vouch, and is still believed.
    fn knows(&self, attester: &Attester) -> bool {
        let (Some(name), Some(trust)) = (attester.certificate.name(), &self.trust) else {
            return false;
        };
        let issuer = attester.certificate.issuer_name();
        let mut attesters = self.attesters.iter();
        attesters.any(|one| one.is(&name, issuer.as_ref()))
            && attester.certificate.may_be_known_to(trust)
    }

    /// Whether the issuer is still named, and still has the certificate by which it signed.
    fn knows_issuer(&self, owner: &AssertedOwner) -> bool {
        let mut issuers = self.issuers.iter();
        let issuer = issuers.find(|issuer| issuer.name == owner.issuer);
        issuer.is_some_and(|issuer| match (&issuer.trust, &owner.signed_by) {
            (Some(trust), Some(certificate)) => certificate.may_be_known_to(trust),
            (None, None) => true,
            _ => false,
        })
    }

    /// The plans of messages that begin one: of those that leave, and of those that arrive.
    pub fn bootstrap(&self) -> (&OutboundPlan, &InboundPlan) {
        (&self.bootstrap_outbound, &self.bootstrap_inbound)
    }

    /// Whether the messages that begin it hide what both sides contribute to its key. Where they do
    /// not, they need TLS.
    pub fn hides_its_keys(&self) -> bool {
        encrypts_body_afresh(self.bootstrap_outbound.policy())
            && encrypts_body_afresh(self.bootstrap_inbound.policy())
    }
}

/// Whether answers under a policy hide their Body by a key that is not a security context's.
pub(super) fn encrypts_body_afresh(policy: &Policy) -> bool {
    policy.encryption().is_some_and(|encryption| {
        let body = encryption
            .parts
            .iter()
            .any(|wanted| wanted.part == Part::Body);
        body && encryption.key != KeyBinding::Context
    })
}
