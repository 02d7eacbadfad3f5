//! Ways that differ in the token whose key protects messages, for studies that compare tokens.
//!
//! All of them sign and encrypt with one suite, so that what differs is the token: how it is
//! written, how the receiver comes to believe it, and whether a private key has to work. The rule
//! kept here: every way leads through the same gateways, beside the same issuers.

use soapstone::wss::Mechanism;

use crate::study::{Arm, Operation, Proof, Scope, Stack, Way};

/// The suite of all of them: one of today, whose HMAC is with SHA-256.
const SUITE: &str = "Basic128GCM";

/// Without security.
pub(super) const PLAIN: Way = Way::PLAIN.beside_issuers();
/// A certificate for each side.
pub(super) const X509: Way = of(Proof::Usual);
/// A key that both sides hold.
pub(super) const HMAC: Way = of(Proof::SharedKey);
/// A password of which keys are made.
pub(super) const PASSWORD: Way = of(Proof::PasswordKey);
/// A Kerberos token in each request.
pub(super) const KERBEROS: Way = of(Proof::Kerberos);
/// A Kerberos token in the first request.
pub(super) const KERBEROS_ONCE: Way = of(Proof::KerberosOnce);
/// An assertion that names the sender's certificate.
pub(super) const HOLDER: Way = of(Proof::SamlHolder);
/// An assertion of whoever bears it, signed with the message.
pub(super) const BEARER: Way = of(Proof::SamlBearer);
/// An assertion from a token service.
pub(super) const ISSUED: Way = of(Proof::SamlIssued);
/// An assertion that the receiver has fetched.
pub(super) const REFERENCE: Way = of(Proof::SamlReference);
/// An assertion that the receiver fetches for each request.
pub(super) const REFERENCE_COLD: Way = of(Proof::SamlReferenceCold);
/// A conversation.
pub(super) const CONVERSATION: Way =
    Way::secured(Mechanism::SecureConversation, SUITE).beside_issuers();

const fn of(proof: Proof) -> Way {
    Way::secured(Mechanism::SignEncrypt, SUITE)
        .by(proof)
        .beside_issuers()
}

/// Arms for these ways, on our stack: programs of others have no issuers beside them.
pub(super) fn arms(scope: &Scope, ways: &[Way], operation: Operation) -> Vec<Arm> {
    let ways = ways
        .iter()
        .filter(|_| scope.stacks.contains(&Stack::Soapstone));
    ways.map(|way| Arm::new(Stack::Soapstone, *way, operation))
        .collect()
}
