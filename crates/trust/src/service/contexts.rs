//! What is done about security contexts: issue, renew, amend, cancel, validate
//! (WS-SecureConversation 1.4, 3 to 6; WS-Trust 1.4, 7).
//!
//! The one rule: the context that a request names must be the one whose key signed the request;
//! only to be told whether a context is good, its owner's name is enough.

use jiff::Timestamp;
use soapstone_wss::{ContextName, ContextOwner, SecurityContext};

use super::keys::NewKey;
use super::{Effect, FindContext, Outcome, Requester, SecurityTokenService, lifetime};
use crate::fault::Refusal;
use crate::identifier;
use crate::message::{
    ContextReference, Lifetime, RequestSecurityToken, RequestSecurityTokenResponse, SecurityToken,
    TokenStatus, between, later,
};
use crate::version::{Operation, TrustVersion};

impl SecurityTokenService {
    /// A new context for whoever is shown to have sent the request.
    pub(super) fn issue(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        let is_nobody = matches!(requester.owner, ContextOwner::Anonymous);
        if is_nobody && !self.rules.anonymous || requester.has_idle_token() {
            return Err(Refusal::NotAuthenticated);
        }
        check_size(&requester.owner)?;
        let expires = within(&requester.owner, self.end(request.lifetime, now)?, now);
        if expires <= now {
            // The token is over, though by no more than the clocks may differ.
            return Err(Refusal::NotAuthenticated);
        }
        let key = self.new_key(request, requester, self.rules.key_size)?;
        let context = SecurityContext {
            version: request.version.conversation(),
            identifier: identifier::uuid_urn(),
            instance: None,
            secret: key.key.clone(),
            created: now,
            expires,
            owner: requester.owner.clone(),
        };
        let outcome = described(request, &context, now, Some(key));
        Ok(Outcome {
            effect: Some(Effect::Store(context)),
            ..outcome
        })
    }

    /// A new instance of a context, with a new key and a later end (WS-SecureConversation 1.4, 5).
    pub(super) fn renew(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        contexts: &FindContext<'_>,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        let owned = self.owned(request, requester, Operation::Renew, contexts)?;
        let old = match &owned {
            Some(owned) => owned,
            None => proven(request, requester, Operation::Renew)?,
        };
        if old.expires <= now {
            return Err(Refusal::ContextExpired {
                name: old.name(),
                expired: old.expires,
            });
        }
        let owner = match &requester.owner {
            // Another ticket or assertion has an end of its own.
            again @ (ContextOwner::Kerberos { .. } | ContextOwner::Subject(_))
                if is_same(again, &old.owner) =>
            {
                again
            }
            _ => &old.owner,
        };
        check_size(owner)?;
        let mut expires = within(owner, self.end(request.lifetime, now)?, now);
        let shown =
            matches!(old.owner, ContextOwner::Anonymous) || is_same(&requester.owner, &old.owner);
        let created = match (shown, self.rules.renewal_by_key_alone) {
            (true, _) => now,
            (false, None) => return Err(Refusal::NotAuthenticated),
            (false, Some(limit)) => {
                let until = later(old.created, limit);
                if until <= now {
                    let name = old.name();
                    return Err(Refusal::RenewalsExhausted { name, limit });
                }
                expires = expires.min(until);
                old.created
            }
        };
        if expires <= now {
            return Err(Refusal::NotAuthenticated);
        }
        let key = self.new_key(request, requester, old.secret.len() as u32 * 8)?;
        let context = SecurityContext {
            instance: Some(identifier::uuid_urn()),
            secret: key.key.clone(),
            created,
            expires,
            owner: owner.clone(),
            ..old.clone()
        };
        let grace = self.rules.grace.min(between(now, old.expires));
        let outcome = described(request, &context, now, Some(key));
        Ok(Outcome {
            effect: Some(Effect::Replace { context, grace }),
            ..outcome
        })
    }

    /// The context that a request names, if the rules content themselves with its owner and the
    /// request is its owner's, although its key did not sign the request.
    fn owned(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        operation: Operation,
        contexts: &FindContext<'_>,
    ) -> Result<Option<SecurityContext>, Refusal> {
        if !self.rules.owner_alone || requester.context.is_some() {
            return Ok(None);
        }
        let name = named(request, operation)?;
        let found = contexts(name).map_err(|error| Refusal::ContextsUnavailable {
            problem: error.problem,
        })?;
        Ok(found.filter(|context| {
            is_named(context, name, request.version) && is_same(&context.owner, &requester.owner)
        }))
    }

    /// More claims for a context: here, an owner for one that has none (WS-SecureConversation 1.4,
    /// 4).
    pub(super) fn amend(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        if request.entropy.is_some() {
            // The key stays as it is.
            return Err(Refusal::NotUnderstood {
                element: format!("{{{}}}Entropy", request.version.namespace()),
            });
        }
        let old = requester
            .context
            .as_ref()
            .filter(|context| context.version == request.version.conversation())
            .ok_or(Refusal::ContextNotProven { name: None })?;
        if old.expires <= now {
            return Err(Refusal::ContextExpired {
                name: old.name(),
                expired: old.expires,
            });
        }
        if requester.has_idle_token() {
            return Err(Refusal::NotAuthenticated);
        }
        let owner = match (&old.owner, &requester.owner) {
            (_, ContextOwner::Anonymous) => return Err(Refusal::NotAuthenticated),
            (ContextOwner::Anonymous, owner) => owner.clone(),
            (owner, other) if is_same(owner, other) => other.clone(),
            _ => return Err(Refusal::ContextNotYours { name: old.name() }),
        };
        check_size(&owner)?;
        let expires = within(&owner, old.expires, now);
        if expires <= now {
            return Err(Refusal::NotAuthenticated);
        }
        let context = SecurityContext {
            expires,
            owner,
            ..old.clone()
        };
        let outcome = described(request, &context, now, None);
        Ok(Outcome {
            effect: Some(Effect::Amend {
                before: old.clone(),
                after: context,
            }),
            ..outcome
        })
    }

    /// The end of a context (WS-SecureConversation 1.4, 6).
    pub(super) fn cancel(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        contexts: &FindContext<'_>,
    ) -> Result<Outcome, Refusal> {
        let owned = self.owned(request, requester, Operation::Cancel, contexts)?;
        let context = match &owned {
            Some(owned) => owned,
            None => proven(request, requester, Operation::Cancel)?,
        };
        let mut answer = RequestSecurityTokenResponse::new(request.version);
        answer.context.clone_from(&request.context);
        answer.cancelled = true;
        Ok(Outcome {
            effect: Some(Effect::Cancel {
                identifier: context.identifier.clone(),
            }),
            ..Outcome::of(answer)
        })
    }

    /// Whether a context is good (WS-Trust 1.4, 7). Who neither holds its key nor owns it is told
    /// the same as of one that does not exist.
    pub(super) fn validate(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        contexts: &FindContext<'_>,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        let version = request.version;
        let status_type = version.status_token_type();
        if let Some(other) = request.token_type.as_ref().filter(|it| **it != status_type) {
            return Err(Refusal::TokenTypeNotOffered {
                found: other.clone(),
            });
        }
        let name = named(request, Operation::Validate)?;
        let nobody = matches!(requester.owner, ContextOwner::Anonymous);
        if nobody && requester.context.is_none() {
            return Err(Refusal::NotAuthenticated);
        }
        let is_named = |context: &SecurityContext| is_named(context, name, version);
        let held = requester
            .context
            .as_ref()
            .filter(|context| is_named(context));
        let end = match held {
            Some(context) => Some(context.expires),
            None => contexts(name)
                .map_err(|error| Refusal::ContextsUnavailable {
                    problem: error.problem,
                })?
                .filter(|context| is_named(context) && is_same(&context.owner, &requester.owner))
                .map(|context| context.expires),
        };
        let mut answer = RequestSecurityTokenResponse::new(version);
        answer.context.clone_from(&request.context);
        answer.token_type = Some(status_type);
        answer.status = Some(match end {
            Some(end) if end > now => TokenStatus::Valid,
            _ => TokenStatus::Invalid,
        });
        Ok(Outcome::of(answer))
    }

    /// When a context ends that is wanted for `lifetime`.
    fn end(&self, lifetime: Option<Lifetime>, now: Timestamp) -> Result<Timestamp, Refusal> {
        let rules = &self.rules;
        let granted = (rules.lifetime, rules.longest_lifetime);
        lifetime::end(lifetime, granted, rules.skew, now)
    }
}

/// Most bytes of what an assertion says of the owner of a context: a store counts contexts, and not
/// how long their owners are.
const MOST_OF_OWNER: usize = 16 * 1024;

fn check_size(owner: &ContextOwner) -> Result<(), Refusal> {
    let found = match owner {
        ContextOwner::Subject(owner) => owner.size(),
        _ => 0,
    };
    match found <= MOST_OF_OWNER {
        true => Ok(()),
        false => Err(Refusal::OwnerTooLarge {
            found,
            most: MOST_OF_OWNER,
        }),
    }
}

/// When a context of this owner ends: no later than his certificate, his ticket, his assertion or
/// the certificate of who vouched for him, which would not begin another one then.
fn within(owner: &ContextOwner, expires: Timestamp, now: Timestamp) -> Timestamp {
    match owner {
        // Where it is over already, the rules of trust do not ask for times.
        ContextOwner::Certificate(certificate) if certificate.not_after() > now => {
            expires.min(certificate.not_after())
        }
        ContextOwner::Kerberos { ends, .. } => expires.min(*ends),
        ContextOwner::Subject(owner) => {
            let attester = owner.attester.as_ref().map(|one| one.ends);
            let attester = attester.filter(|end| *end > now);
            expires.min(owner.ends).min(attester.unwrap_or(expires))
        }
        _ => expires,
    }
}

/// The answer that describes a context, and its key if that is new.
fn described(
    request: &RequestSecurityToken,
    context: &SecurityContext,
    now: Timestamp,
    key: Option<NewKey>,
) -> Outcome {
    let version = request.version;
    let conversation = version.conversation();
    let id = format!("sct-{}", identifier::uuid());
    let mut answer = RequestSecurityTokenResponse::new(version);
    answer.context.clone_from(&request.context);
    answer.token_type = Some(conversation.token_type().to_owned());
    answer.applies_to.clone_from(&request.applies_to);
    answer.attached = Some(ContextReference::Token {
        version: conversation,
        id: id.clone(),
    });
    answer.unattached = Some(ContextReference::Context(context.name()));
    answer.token = Some(SecurityToken::Context {
        name: context.name(),
        id: Some(id),
    });
    answer.lifetime = Some(Lifetime::new(now, context.expires));
    let mut confidential = false;
    if let Some(key) = key {
        answer.proof = key.proof;
        answer.entropy = key.entropy;
        answer.key_size = Some(key.bits);
        confidential = key.confidential;
    }
    Outcome {
        confidential,
        ..Outcome::of(answer)
    }
}

/// The context that a request names.
fn named(request: &RequestSecurityToken, operation: Operation) -> Result<&ContextName, Refusal> {
    match &request.target {
        Some(ContextReference::Context(name)) => Ok(name),
        _ => Err(Refusal::TargetMissing { operation }),
    }
}

/// The context that a request names, if its key signed the request and nobody else than its owner
/// was shown to have sent it.
fn proven<'r>(
    request: &RequestSecurityToken,
    requester: &'r Requester,
    operation: Operation,
) -> Result<&'r SecurityContext, Refusal> {
    let name = named(request, operation)?;
    let context = requester
        .context
        .as_ref()
        .filter(|context| is_named(context, name, request.version))
        .ok_or_else(|| Refusal::ContextNotProven {
            name: Some(name.clone()),
        })?;
    let nobody = |owner: &ContextOwner| matches!(owner, ContextOwner::Anonymous);
    if nobody(&context.owner)
        || nobody(&requester.owner)
        || is_same(&context.owner, &requester.owner)
    {
        return Ok(context);
    }
    Err(Refusal::ContextNotYours {
        name: context.name(),
    })
}

/// Whether `name`, in a request of `version`, is the name of `context`. Without an instance, any
/// instance is meant.
fn is_named(context: &SecurityContext, name: &ContextName, version: TrustVersion) -> bool {
    context.version == version.conversation()
        && context.version == name.version
        && context.identifier == name.identifier
        && (name.instance.is_none() || name.instance == context.instance)
}

/// Whether both are the same somebody. Nobody is not.
pub(crate) fn is_same(one: &ContextOwner, other: &ContextOwner) -> bool {
    match (one, other) {
        (ContextOwner::Certificate(one), ContextOwner::Certificate(other)) => {
            one.der() == other.der()
        }
        (ContextOwner::User(one), ContextOwner::User(other))
        | (
            ContextOwner::Kerberos { client: one, .. },
            ContextOwner::Kerberos { client: other, .. },
        ) => one == other,
        (ContextOwner::Subject(one), ContextOwner::Subject(other)) => one.is_same(other),
        _ => false,
    }
}
