//! What stacks must be able to do: `sp:Wss10`, `sp:Wss11`, `sp:Trust10`, `sp:Trust13`
//! (WS-SecurityPolicy 1.3, 9 and 10).

use std::sync::Arc;

use super::reading::{is_security, nested, not_supported, refuse_beside};
use crate::alternative::Assertion;
use crate::names::Name;
use crate::node::Place;
use crate::problem::{PolicyProblem, ProblemKind};

/// `sp:Wss10` or `sp:Wss11`: how messages may name tokens.
#[derive(Clone, Debug)]
pub struct Wss {
    /// Whether it is `sp:Wss11`.
    pub version_11: bool,
    /// `sp:MustSupportRefKeyIdentifier`.
    pub key_identifier: bool,
    /// `sp:MustSupportRefIssuerSerial`.
    pub issuer_serial: bool,
    /// `sp:MustSupportRefExternalURI`.
    pub external_uri: bool,
    /// `sp:MustSupportRefEmbeddedToken`.
    pub embedded_token: bool,
    /// `sp:MustSupportRefThumbprint`.
    pub thumbprint: bool,
    /// `sp:MustSupportRefEncryptedKey`.
    pub encrypted_key: bool,
    /// `sp:RequireSignatureConfirmation`: answers repeat the signatures of their requests.
    pub signature_confirmation: bool,
    /// The assertion: of two, the one that asks for confirmations.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
}

impl Wss {
    pub(super) fn read(assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) -> Self {
        let mut read = Self {
            version_11: &*assertion.name().local == "Wss11",
            key_identifier: false,
            issuer_serial: false,
            external_uri: false,
            embedded_token: false,
            thumbprint: false,
            encrypted_key: false,
            signature_confirmation: false,
            name: assertion.name().clone(),
            place: assertion.place().clone(),
        };
        refuse_beside(assertion, problems);
        for inner in nested(assertion) {
            if !is_security(inner, problems) {
                continue;
            }
            let flag = match &*inner.name().local {
                "MustSupportRefKeyIdentifier" => &mut read.key_identifier,
                "MustSupportRefIssuerSerial" => &mut read.issuer_serial,
                "MustSupportRefExternalURI" => &mut read.external_uri,
                "MustSupportRefEmbeddedToken" => &mut read.embedded_token,
                "MustSupportRefThumbprint" if read.version_11 => &mut read.thumbprint,
                "MustSupportRefEncryptedKey" if read.version_11 => &mut read.encrypted_key,
                "RequireSignatureConfirmation" if read.version_11 => {
                    &mut read.signature_confirmation
                }
                _ => {
                    problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                    continue;
                }
            };
            *flag = true;
        }
        read
    }

    /// Both assertions together.
    pub(super) fn add(&mut self, other: Self) {
        self.version_11 |= other.version_11;
        self.key_identifier |= other.key_identifier;
        self.issuer_serial |= other.issuer_serial;
        self.external_uri |= other.external_uri;
        self.embedded_token |= other.embedded_token;
        self.thumbprint |= other.thumbprint;
        self.encrypted_key |= other.encrypted_key;
        if other.signature_confirmation && !self.signature_confirmation {
            self.signature_confirmation = true;
            (self.name, self.place) = (other.name, other.place);
        }
    }
}

/// Which WS-Trust a policy speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustVersion {
    /// `sp:Trust10`: February 2005.
    February2005,
    /// `sp:Trust13`: 1.3 and 1.4.
    V13,
}

/// `sp:Trust10` or `sp:Trust13`.
#[derive(Clone, Debug)]
pub struct Trust {
    /// Which one.
    pub version: TrustVersion,
    /// `sp:RequireClientEntropy`.
    pub client_entropy: bool,
    /// `sp:RequireServerEntropy`.
    pub server_entropy: bool,
    /// `sp:MustSupportIssuedTokens`.
    pub issued_tokens: bool,
    /// `sp:RequireAppliesTo`.
    pub applies_to: bool,
    /// Where it stands.
    pub place: Place,
}

impl Trust {
    pub(super) fn read(assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) -> Self {
        let mut read = Self {
            version: match &*assertion.name().local {
                "Trust10" => TrustVersion::February2005,
                _ => TrustVersion::V13,
            },
            client_entropy: false,
            server_entropy: false,
            issued_tokens: false,
            applies_to: false,
            place: assertion.place().clone(),
        };
        refuse_beside(assertion, problems);
        for inner in nested(assertion) {
            if !is_security(inner, problems) {
                continue;
            }
            let flag = match &*inner.name().local {
                "RequireClientEntropy" => &mut read.client_entropy,
                "RequireServerEntropy" => &mut read.server_entropy,
                "MustSupportIssuedTokens" => &mut read.issued_tokens,
                "RequireAppliesTo" => &mut read.applies_to,
                "RequireRequestSecurityTokenCollection" => {
                    problems.push(not_supported(inner, "tokens are asked for one by one"));
                    continue;
                }
                "MustSupportClientChallenge"
                | "MustSupportServerChallenge"
                | "MustSupportInteractiveChallenge" => {
                    problems.push(not_supported(inner, "challenges are not answered"));
                    continue;
                }
                // Which policies an AppliesTo may be scoped by (1.3, 10.2): it is not read here.
                "ScopePolicy15" => continue,
                _ => {
                    problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                    continue;
                }
            };
            *flag = true;
        }
        read
    }

    /// Both assertions together; the newer version counts.
    pub(super) fn add(&mut self, other: Self) {
        if other.version == TrustVersion::V13 {
            self.version = TrustVersion::V13;
        }
        self.client_entropy |= other.client_entropy;
        self.server_entropy |= other.server_entropy;
        self.issued_tokens |= other.issued_tokens;
        self.applies_to |= other.applies_to;
    }
}
