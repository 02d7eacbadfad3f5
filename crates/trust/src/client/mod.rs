//! The client's side: a request goes out, what it takes to judge the answer stays behind.
//!
//! The one rule: an answer is believed about what was asked for only. It names no other context,
//! gives no shorter key, and leaves our entropy out of no key, whoever sent it.

mod batch;
mod cancelled_token;
mod error;
mod keys;
mod rules;
mod token;

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::{SecretBytes, SymmetricKey};
use soapstone_wss::names::{SOAP11, SOAP12};
use soapstone_wss::{ContextName, ContextOwner, SecurityContext};
use soapstone_xml::Element;

use crate::fault::{TrustFaultCode, blames_token};
use crate::message::{
    AppliesTo, ContextReference, Entropy, Lifetime, RequestSecurityToken,
    RequestSecurityTokenResponse, Responses, SecurityToken, TokenStatus, later, only_child,
};
use crate::service::is_same;
use crate::version::{Action, KeyType, Operation, RequestType, SecretType, TrustVersion};

pub use batch::PendingTokens;
pub use cancelled_token::PendingTokenCancel;
pub use error::TrustError;
use keys::WantedKey;
pub use keys::{Contribution, ProofRules};
pub use rules::{ClientRules, MOST_TOKENS};
pub use token::{OnBehalf, PendingToken, TokenKey, TokenRules, WantedClaims};

/// A request to be secured and sent.
#[non_exhaustive]
pub struct TrustRequest {
    /// Value of `wsa:Action` (and of `SOAPAction`).
    pub action: String,
    /// What goes into the `soap:Body`, in canonical form.
    pub body: Vec<u8>,
    /// The body holds key material in the clear: it must be encrypted, or travel over TLS.
    pub confidential: bool,
}

impl TrustRequest {
    fn new(operation: Operation, request: &RequestSecurityToken) -> Self {
        let mut body = Vec::with_capacity(1024);
        request.write(&mut body);
        let action = Action {
            version: request.version,
            operation,
            context: operation != Operation::Validate,
            batch: false,
        };
        Self {
            action: action.request_uri(),
            body,
            confidential: request.entropy.is_some(),
        }
    }
}

impl fmt::Debug for TrustRequest {
    /// Without the body, which may hold entropy.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TrustRequest")
            .field("action", &self.action)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("confidential", &self.confidential)
            .finish()
    }
}

/// What an answer is to be about.
#[derive(Debug)]
enum Asked {
    New,
    Renewal(SecurityContext),
    Amendment(SecurityContext),
}

/// A request for a security context that is under way, with our part of its key.
#[derive(Debug)]
pub struct PendingIssue {
    rules: ClientRules,
    asked: Asked,
    entropy: Option<SecretBytes>,
    key_size: u32,
}

impl PendingIssue {
    /// Asks for a new context (WS-SecureConversation 1.4, 3), to be secured by the bootstrap
    /// policy.
    #[must_use]
    pub fn issue(
        rules: &ClientRules,
        applies_to: Option<AppliesTo>,
        now: Timestamp,
    ) -> (Self, TrustRequest) {
        let mut request =
            RequestSecurityToken::new(rules.version, RequestType::single(Operation::Issue));
        request.applies_to = applies_to;
        request.key_type = Some(KeyType::SymmetricKey);
        let key_size = rules.key_size();
        Self::with_key(rules, Asked::New, request, key_size, now)
    }

    /// Asks for a renewal of `context` (WS-SecureConversation 1.4, 5), to be secured by the
    /// bootstrap policy and signed with the key of the context too.
    #[must_use]
    pub fn renew(
        rules: &ClientRules,
        context: &SecurityContext,
        now: Timestamp,
    ) -> (Self, TrustRequest) {
        let version = TrustVersion::from(context.version);
        let mut request = RequestSecurityToken::new(version, RequestType::single(Operation::Renew));
        request.target = Some(ContextReference::Context(context.name()));
        let key_size = context.secret.len() as u32 * 8;
        let asked = Asked::Renewal(context.clone());
        let (pending, request) = Self::with_key(rules, asked, request, key_size, now);
        (pending, request)
    }

    /// Asks for our identity to be added to `context` (WS-SecureConversation 1.4, 4), to be secured
    /// by a policy that shows it and signed with the key of the context too.
    #[must_use]
    pub fn amend(rules: &ClientRules, context: &SecurityContext) -> (Self, TrustRequest) {
        let version = TrustVersion::from(context.version);
        let mut request = RequestSecurityToken::new(version, RequestType::single(Operation::Amend));
        request.token_type = Some(context.version.token_type().to_owned());
        let pending = Self {
            rules: ClientRules {
                version,
                ..rules.clone()
            },
            asked: Asked::Amendment(context.clone()),
            entropy: None,
            key_size: context.secret.len() as u32 * 8,
        };
        (pending, TrustRequest::new(Operation::Amend, &request))
    }

    fn with_key(
        rules: &ClientRules,
        asked: Asked,
        mut request: RequestSecurityToken,
        key_size: u32,
        now: Timestamp,
    ) -> (Self, TrustRequest) {
        let version = request.version;
        request.token_type = Some(version.conversation().token_type().to_owned());
        request.key_size = Some(key_size);
        request.lifetime = rules
            .lifetime
            .map(|lifetime| Lifetime::new(now, later(now, lifetime)));
        let entropy = rules
            .entropy
            .then(|| SecretBytes::random(key_size as usize / 8));
        if let Some(entropy) = &entropy {
            request.entropy = Some(Entropy::Secret {
                kind: Some(SecretType::Nonce),
                octets: entropy.duplicate(),
            });
            request.computed_key = Some(Ok(rules.computed_key));
        }
        let operation = request.request_type.operation;
        let pending = Self {
            rules: ClientRules {
                version,
                ..rules.clone()
            },
            asked,
            entropy,
            key_size,
        };
        (pending, TrustRequest::new(operation, &request))
    }

    /// Takes the context out of the answer in `body`, the `soap:Body` of a verified message that
    /// `peer` sent.
    ///
    /// # Errors
    /// [`TrustError`]. The context that was to be renewed is what it was.
    pub fn accept(
        self,
        body: Element<'_>,
        peer: ContextOwner,
        now: Timestamp,
    ) -> Result<SecurityContext, TrustError> {
        let answer = one_answer(body, self.rules.version)?;
        let name = self.name(&answer)?;
        check_references(&answer, &name)?;
        let secret = match &self.asked {
            Asked::Amendment(old) => match (&answer.proof, &answer.entropy) {
                (None, None) => old.secret.clone(),
                _ => return Err(TrustError::ProofUnexpected),
            },
            _ => self.key(&answer)?,
        };
        let assumed = match &self.asked {
            Asked::Amendment(old) => old.expires,
            _ => later(now, self.rules.assumed_lifetime),
        };
        let expires = self.end(answer.lifetime, assumed, now)?;
        let created = match &self.asked {
            Asked::New => now,
            Asked::Renewal(old) | Asked::Amendment(old) => {
                let changed = !matches!(old.owner, ContextOwner::Anonymous)
                    && !matches!(peer, ContextOwner::Anonymous)
                    && !is_same(&old.owner, &peer);
                if changed {
                    return Err(TrustError::PeerChanged);
                }
                old.created
            }
        };
        let owner = match self.asked {
            Asked::Renewal(old) | Asked::Amendment(old)
                if matches!(peer, ContextOwner::Anonymous) =>
            {
                old.owner
            }
            _ => peer,
        };
        Ok(SecurityContext {
            version: name.version,
            identifier: name.identifier,
            instance: name.instance,
            secret,
            created,
            expires,
            owner,
        })
    }

    /// The name in the token, which is the one that was asked for.
    fn name(&self, answer: &RequestSecurityTokenResponse) -> Result<ContextName, TrustError> {
        let version = self.rules.version.conversation();
        let missing = |found: Option<&str>| {
            Err(TrustError::TokenMissing {
                found: found.map(str::to_owned),
            })
        };
        if let Some(other) = answer.token_type.as_deref()
            && other != version.token_type()
        {
            return missing(Some(other));
        }
        let name = match &answer.token {
            Some(SecurityToken::Context { name, .. }) if name.version == version => name.clone(),
            Some(SecurityToken::Context { name, .. }) => {
                return missing(Some(name.version.token_type()));
            }
            Some(SecurityToken::Other(other)) => return missing(Some(&other.name)),
            None => return missing(None),
        };
        match &self.asked {
            Asked::New => Ok(name),
            Asked::Renewal(old) if old.identifier == name.identifier => {
                if name.instance.is_none() || name.instance == old.instance {
                    return Err(TrustError::InstanceUnchanged { name });
                }
                Ok(name)
            }
            Asked::Amendment(old) if old.name() == name => Ok(name),
            Asked::Renewal(old) | Asked::Amendment(old) => Err(TrustError::ContextMismatch {
                expected: old.name(),
                found: name.to_string(),
            }),
        }
    }

    /// The key.
    fn key(&self, answer: &RequestSecurityTokenResponse) -> Result<SymmetricKey, TrustError> {
        let wanted = WantedKey {
            minimum: self.key_size,
            computed_key: self.rules.computed_key,
            entropy: self.entropy.as_ref(),
            ours_alone: false,
            issuers_alone: self.rules.issuer_key_alone,
            decryption_key: self.rules.decryption_key.as_ref(),
        };
        wanted.of(answer)
    }

    /// When the token ends, as far as that is believed.
    fn end(
        &self,
        lifetime: Option<Lifetime>,
        assumed: Timestamp,
        now: Timestamp,
    ) -> Result<Timestamp, TrustError> {
        let lifetime = lifetime.unwrap_or_default();
        let created = lifetime.created.unwrap_or(now);
        let expires = lifetime.expires.unwrap_or(assumed);
        let good = created <= later(now, self.rules.skew) && created < expires && expires > now;
        match good {
            true => Ok(expires.min(later(now, self.rules.longest_lifetime))),
            false => Err(TrustError::LifetimeRefused { lifetime, now }),
        }
    }
}

/// A request to cancel a context that is under way.
#[derive(Debug)]
pub struct PendingCancel {
    version: TrustVersion,
}

impl PendingCancel {
    /// Asks for the end of `context` (WS-SecureConversation 1.4, 6), to be signed with its key.
    #[must_use]
    pub fn new(context: &SecurityContext) -> (Self, TrustRequest) {
        let version = TrustVersion::from(context.version);
        let request_type = RequestType::single(Operation::Cancel);
        let mut request = RequestSecurityToken::new(version, request_type);
        request.target = Some(ContextReference::Context(context.name()));
        let request = TrustRequest::new(Operation::Cancel, &request);
        (Self { version }, request)
    }

    /// Makes sure that the answer in `body`, the `soap:Body` of a verified message, says so.
    ///
    /// # Errors
    /// [`TrustError`]. The context is not to be used again, whatever the service says.
    pub fn accept(self, body: Element<'_>) -> Result<(), TrustError> {
        match one_answer(body, self.version)?.cancelled {
            true => Ok(()),
            false => Err(TrustError::NotCancelled),
        }
    }
}

/// A question whether a context is good that is under way.
#[derive(Debug)]
pub struct PendingValidate {
    version: TrustVersion,
}

impl PendingValidate {
    /// Asks about the context of this name (WS-Trust 1.4, 7), to be signed with its key or by its
    /// owner.
    #[must_use]
    pub fn new(name: ContextName) -> (Self, TrustRequest) {
        let version = TrustVersion::from(name.version);
        let request_type = RequestType::single(Operation::Validate);
        let mut request = RequestSecurityToken::new(version, request_type);
        request.token_type = Some(version.status_token_type());
        request.target = Some(ContextReference::Context(name));
        let request = TrustRequest::new(Operation::Validate, &request);
        (Self { version }, request)
    }

    /// What the answer in `body`, the `soap:Body` of a verified message, says.
    ///
    /// # Errors
    /// [`TrustError`] if it does not.
    pub fn accept(self, body: Element<'_>) -> Result<TokenStatus, TrustError> {
        let answer = one_answer(body, self.version)?;
        answer.status.ok_or(TrustError::StatusMissing)
    }
}

/// The one answer in a Body.
fn one_answer(
    body: Element<'_>,
    version: TrustVersion,
) -> Result<RequestSecurityTokenResponse, TrustError> {
    let mut answers = all_answers(body, version)?;
    let found = answers.len();
    match (answers.pop(), found) {
        (Some(answer), 1) => Ok(answer),
        _ => Err(TrustError::AnswerCount { found }),
    }
}

/// All answers in a Body, in their order.
fn all_answers(
    body: Element<'_>,
    version: TrustVersion,
) -> Result<Vec<RequestSecurityTokenResponse>, TrustError> {
    let element = only_child(body, "one answer in the `soap:Body`")?;
    if element.local() == "Fault" && [SOAP11, SOAP12].contains(&element.namespace()) {
        let code = TrustFaultCode::read(element).map(|(code, _)| code);
        return Err(TrustError::Fault {
            code,
            blames_token: blames_token(element),
        });
    }
    let answers = Responses::read(element)?.into_vec();
    for answer in &answers {
        if answer.version != version {
            return Err(TrustError::Version {
                found: answer.version,
            });
        }
        if let Some(element) = answer.not_understood.first() {
            return Err(TrustError::NotUnderstood {
                element: element.clone(),
            });
        }
    }
    Ok(answers)
}

/// The references in an answer lead to the token in it, and to nothing else (WS-Trust 1.4, 4.4.2).
fn check_references(
    answer: &RequestSecurityTokenResponse,
    name: &ContextName,
) -> Result<(), TrustError> {
    let id = match &answer.token {
        Some(SecurityToken::Context { id, .. }) => id.as_ref(),
        _ => None,
    };
    for reference in [&answer.attached, &answer.unattached].into_iter().flatten() {
        let fits = match reference {
            // Services leave the instance out, whose token says it.
            ContextReference::Context(other) => {
                other.version == name.version
                    && other.identifier == name.identifier
                    && (other.instance.is_none() || other.instance == name.instance)
            }
            ContextReference::Token { version, id: other } => {
                *version == name.version && Some(other) == id
            }
            ContextReference::Other(_) => false,
        };
        if !fits {
            return Err(TrustError::ContextMismatch {
                expected: name.clone(),
                found: reference.to_string(),
            });
        }
    }
    Ok(())
}
