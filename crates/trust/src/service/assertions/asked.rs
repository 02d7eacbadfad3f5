//! A request about assertions, with the facts that it is judged by.
//!
//! The one rule: a token of the request is read when its issuer is proven, and never before.

use jiff::Timestamp;
use soapstone_wss::{Assertion, AssertionAttribute, ContextOwner};
use soapstone_xml::{Document, Element};

use super::rules::{AssertionRules, Party};
use super::statement::Authentication;
use crate::fault::Refusal;
use crate::message::RequestSecurityToken;
use crate::service::{Records, Requester, RequesterToken, SecurityTokenService};

/// The attribute that names who acts for the subject, the last one first.
pub const ACTOR_CLAIM: &str = "http://schemas.xmlsoap.org/ws/2009/09/identity/claims/actor";

/// Whom an assertion is to be about.
pub(super) struct Subject {
    pub(super) party: Party,
    pub(super) authenticated: Timestamp,
    pub(super) authentication: Authentication,
    /// When what proves the subject ends.
    pub(super) ends: Option<Timestamp>,
    /// Who acts for the subject, the last one first.
    pub(super) actors: Vec<String>,
}

/// A request about assertions.
pub(super) struct AssertionRequest<'r> {
    pub(super) service: &'r SecurityTokenService,
    pub(super) rules: &'r AssertionRules,
    pub(super) request: &'r RequestSecurityToken,
    pub(super) requester: &'r Requester,
    pub(super) document: &'r Document,
    pub(super) records: Records<'r>,
    pub(super) now: Timestamp,
}

impl AssertionRequest<'_> {
    /// An assertion of the request, proven to be its issuer's, and not cancelled.
    pub(super) fn verified(&self, element: Element<'_>) -> Result<Assertion, Refusal> {
        let assertion = self.signed(element)?;
        match self.is_cancelled(&assertion)? {
            false => Ok(assertion),
            true => Err(Refusal::TokenRejected {
                problem: "it was cancelled".to_owned(),
            }),
        }
    }

    /// An assertion of the request, proven to be its issuer's, whether or not it was cancelled.
    pub(super) fn signed(&self, element: Element<'_>) -> Result<Assertion, Refusal> {
        let rules = self.rules;
        let verified = Assertion::verify(element, &rules.issuers, &rules.policy, self.now);
        let assertion = verified.map_err(|rejected| Refusal::TokenRejected {
            problem: rejected.to_string(),
        })?;
        if assertion.issuer == rules.issuer && !rules.issued(&assertion) {
            return Err(Refusal::TokenRejected {
                problem: "another key signed it in the name of this service".to_owned(),
            });
        }
        Ok(assertion)
    }

    /// Whether the requester has a token of another's that it acts with: an assertion that names
    /// actors. Its subject did not ask, and the actor's right is for what the assertion is for.
    pub(super) fn is_actor(&self) -> bool {
        match &self.requester.token {
            Some(RequesterToken::Assertion {
                assertion: shown, ..
            }) => !actors(shown).is_empty(),
            _ => false,
        }
    }

    /// Who asks, if that was shown by a token that says so without a reservation.
    pub(super) fn party(&self) -> Result<Party, Refusal> {
        let rejected = |problem: &str| Refusal::TokenRejected {
            problem: problem.to_owned(),
        };
        if let Some(RequesterToken::Assertion {
            assertion: shown, ..
        }) = &self.requester.token
        {
            if self.is_cancelled(shown)? {
                return Err(rejected("it was cancelled"));
            }
            if shown.limits_proxies() || shown.is_for_one_use() {
                return Err(rejected(
                    "its issuer restricts the assertions that are made from it",
                ));
            }
        }
        Party::of(self.requester, self.rules).ok_or(Refusal::NotAuthenticated)
    }

    /// When what shows the requester ends: a certificate or an assertion would not ask any more
    /// then.
    pub(super) fn end_of_owner(&self) -> Option<Timestamp> {
        match &self.requester.owner {
            ContextOwner::Certificate(certificate) => Some(certificate.not_after()),
            _ => self.requester.token_end(&self.rules.policy),
        }
    }

    /// The requester as the subject of its own assertion.
    pub(super) fn oneself(&self, party: &Party) -> Subject {
        let subject = Subject {
            authenticated: self.now,
            authentication: match party {
                Party::User(_) => Authentication::Password,
                Party::Kerberos(_) => Authentication::Kerberos,
                _ => Authentication::Certificate,
            },
            ends: self.end_of_owner(),
            actors: Vec::new(),
            party: party.clone(),
        };
        match &self.requester.token {
            Some(RequesterToken::Assertion {
                assertion: shown, ..
            }) => Subject {
                authenticated: shown.authenticated.unwrap_or(shown.issued),
                authentication: Authentication::Unspecified,
                // What others say of actors is their word.
                actors: match self.rules.issued(shown) {
                    true => actors(shown),
                    false => Vec::new(),
                },
                ..subject
            },
            _ => subject,
        }
    }
}

/// Whether an attribute has this URI as its name.
pub(super) fn is_named(attribute: &AssertionAttribute, uri: &str) -> bool {
    let of_11 = || {
        let namespace = attribute.format.as_deref().unwrap_or_default();
        uri.rsplit_once('/') == Some((namespace, &attribute.name))
    };
    attribute.name == uri || of_11()
}

/// Who acts for the subject of an assertion already.
pub(super) fn actors(presented: &Assertion) -> Vec<String> {
    let attributes = presented.attributes.iter();
    let named = attributes.filter(|attribute| is_named(attribute, ACTOR_CLAIM));
    named
        .flat_map(|attribute| attribute.values.iter().cloned())
        .collect()
}
