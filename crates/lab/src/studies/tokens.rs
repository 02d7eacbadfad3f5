//! Ways that differ in the token whose key protects messages, for studies that compare tokens.
//!
//! All of them sign and encrypt with one suite, so that what differs is the token: how it is
//! written, how the receiver comes to believe it, and whether a private key has to work. The rule
//! kept here: every way leads through the same gateways, beside the same issuers.

use soapstone::wss::Mechanism;

use crate::study::{Arm, Operation, Proof, Scope, Setup, Stack};

/// The suite of all of them: one of today, whose HMAC is with SHA-256.
const SUITE: &str = "Basic128GCM";

/// Without security.
pub(super) const PLAIN: Setup = Setup::PLAIN.beside_issuers();
/// A certificate for each side.
pub(super) const X509: Setup = of(Proof::Usual);
/// A key that both sides hold.
pub(super) const HMAC: Setup = of(Proof::SharedKey);
/// A password of which keys are made.
pub(super) const PASSWORD: Setup = of(Proof::PasswordKey);
/// A Kerberos token in each request.
pub(super) const KERBEROS: Setup = of(Proof::Kerberos);
/// A Kerberos token in the first request.
pub(super) const KERBEROS_ONCE: Setup = of(Proof::KerberosOnce);
/// An assertion that names the sender's certificate.
pub(super) const HOLDER: Setup = of(Proof::SamlHolder);
/// An assertion of whoever bears it, signed with the message.
pub(super) const BEARER: Setup = of(Proof::SamlBearer);
/// An assertion from a token service.
pub(super) const ISSUED: Setup = of(Proof::SamlIssued);
/// An assertion that the receiver has fetched.
pub(super) const REFERENCE: Setup = of(Proof::SamlReference);
/// An assertion that the receiver fetches for each request.
pub(super) const REFERENCE_COLD: Setup = of(Proof::SamlReferenceCold);
/// A conversation.
pub(super) const CONVERSATION: Setup =
    Setup::secured(Mechanism::SecureConversation, SUITE).beside_issuers();

const fn of(proof: Proof) -> Setup {
    Setup::secured(Mechanism::SignEncrypt, SUITE)
        .by(proof)
        .beside_issuers()
}

/// Arms for these ways, on our stack: programs of others have no issuers beside them.
pub(super) fn arms(scope: &Scope, setups: &[Setup], operation: Operation) -> Vec<Arm> {
    let setups = setups
        .iter()
        .filter(|_| scope.stacks.contains(&Stack::Soapstone));
    setups
        .map(|setup| Arm::new(Stack::Soapstone, *setup, operation))
        .collect()
}
