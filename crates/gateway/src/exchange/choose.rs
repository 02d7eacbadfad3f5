//! The second step of a request: where it goes, and in which conversation.
//!
//! A route has one upstream, so that the conversation alone is to be chosen, or several backends to
//! choose from. A token service has none.
//!
//! The rule kept here: the backend is asked for nothing before the request is admitted.

use std::sync::Arc;

use http::Response;
use soapstone::wss::{FaultCode, SoapVersion};
use soapstone::xml::{Buffers, Limits};
use soapstone_broker::{Class, Needs, Refusal, Repeatable};
use tokio::time::Instant;

use super::attempt::{affinity, cause_of, client_key, failure_in, failure_in_token, operation_of};
use super::context::Exchange;
use super::open::Opened;
use super::reporter::Reporter;
use super::requirements;
use crate::config::needs::ClassMember;
use crate::conversation::context::{ContextLease, OutboundContext};
use crate::conversation::handshake;
use crate::issued::entries::{Granted, User};
use crate::issued::failed as token;
use crate::issued::tokens::IssuedTokens;
use crate::observe::audit::Sender;
use crate::route::agreements::UnderAgreement;
use crate::route::balancer::{Attempt, Balancer, Wanted};
use crate::route::roles::Proven;
use crate::route::upstream::{Said, Upstream};
use crate::wire::fault::Cause;
use crate::wire::reply::Reply;

/// Where the requests of a route may go.
#[derive(Clone)]
pub(super) enum Destination {
    One(Arc<Upstream>),
    /// A token service answers all requests.
    Nowhere,
    Several {
        balancer: Arc<Balancer>,
        /// What the calls of the client's address have in common.
        client: Vec<u8>,
        /// What the client says that the request is about.
        action: Option<String>,
        /// Whether it comes in a package.
        is_package: bool,
        /// Bounds that the request was read with.
        limits: Limits,
        /// The class of requests without an agreement, where there are agreements.
        class: Option<Class>,
    },
}

/// Where a request goes.
pub(super) struct Chosen {
    pub(super) upstream: Arc<Upstream>,
    /// The context of the conversation with it, where there are conversations.
    pub(super) context: Option<ContextLease>,
    /// The assertion that a token service made, where requests show one.
    pub(super) token: Option<Arc<Granted>>,
    /// The attempt at one of several backends.
    pub(super) attempt: Option<Box<Attempt>>,
}

/// Where a request would go, and why it does not go there at once.
pub(super) enum Unready {
    /// This upstream is a device that was never asked for its clock.
    NeedsClock {
        upstream: Arc<Upstream>,
        attempt: Option<Box<Attempt>>,
    },
    /// The conversation with this upstream has no context.
    NeedsContext {
        upstream: Arc<Upstream>,
        attempt: Option<Box<Attempt>>,
    },
    /// There is no assertion to show to this upstream.
    NeedsToken {
        upstream: Arc<Upstream>,
        attempt: Option<Box<Attempt>>,
    },
    /// No backend can take it.
    Refused(Refusal),
    /// The route has no backend.
    NoBackend,
    /// What it says of its needs is not understood.
    Unclear(&'static str),
}

impl Destination {
    /// Of a request on that route.
    pub(super) fn of(exchange: &Exchange<'_>, said: &Said) -> Self {
        match &exchange.route.balancer {
            None => match &exchange.route.upstream {
                Some(upstream) => Self::One(Arc::clone(upstream)),
                None => Self::Nowhere,
            },
            Some(balancer) => Self::Several {
                balancer: Arc::clone(balancer),
                client: client_key(exchange.connection),
                action: said.action.clone(),
                is_package: said.packing.is_some(),
                limits: exchange.route.limits(),
                class: exchange.serving.agreements.as_ref().and_then(|agreements| {
                    let has_classes = agreements.are_about(&exchange.route.name);
                    has_classes.then(Class::default)
                }),
            },
        }
    }
}

/// Whether a member of a class sent a request, as the audit trail has it or as roles do.
fn sent(opened: &Opened, member: &ClassMember) -> bool {
    let by_name = |sender: &Sender| match sender.by {
        "certificate" => opened
            .receipt
            .signer
            .as_ref()
            .is_some_and(|it| member.has(it)),
        _ => member.is_named(&sender.name),
    };
    let by_role = match &opened.proven {
        Proven::User(name) | Proven::Kerberos(name) => member.is_named(name),
        Proven::Certificate(certificate) => member.has(certificate),
        Proven::Subject(_) | Proven::Nobody => false,
    };
    by_role || opened.sender.as_ref().is_some_and(by_name)
}

/// The choice as far as it can be made without waiting.
pub(super) fn at_once(destination: Destination, opened: &mut Opened) -> Result<Chosen, Unready> {
    let (upstream, attempt) = match destination {
        Destination::One(upstream) => (upstream, None),
        Destination::Nowhere => return Err(Unready::NoBackend),
        Destination::Several {
            balancer,
            client,
            action,
            is_package,
            limits,
            class,
        } => {
            let mut needs = Needs::nothing();
            if balancer.rules.requirements {
                let read = match &opened.addressed {
                    Some(blocks) => requirements::of_blocks(blocks, opened.version, &limits),
                    None => requirements::take(&mut opened.octets, &limits),
                };
                needs = read.map_err(Unready::Unclear)?;
            }
            let is_sender = |member: &ClassMember| sent(opened, member);
            let mut needs = balancer.rules.needs_of(is_sender).and(&needs);
            if let Some(agreement) = &opened.agreement {
                needs = needs.and(agreement.needs());
            }
            let agreement = opened.agreement.take();
            let wanted = Wanted {
                affinity: affinity(balancer.rules.sticky, &client, opened),
                needs,
                operation: operation_of(opened.operation.as_deref().or(action.as_deref())),
                class: agreement.as_ref().map(UnderAgreement::class).or(class),
                agreement,
                is_package,
            };
            let attempt = balancer.choose(wanted).map_err(Unready::Refused)?;
            (Arc::clone(attempt.upstream()), Some(attempt))
        }
    };
    if let Some(clock) = &upstream.device_clock
        && !clock.is_at_hand()
    {
        return Err(Unready::NeedsClock { upstream, attempt });
    }
    let context = match &upstream.conversation {
        None => None,
        Some(conversation) => match conversation.at_hand(opened.version) {
            Some(context) => Some(context),
            None => return Err(Unready::NeedsContext { upstream, attempt }),
        },
    };
    let token = match upstream.tokens_of_requests() {
        None => None,
        Some(tokens) => {
            let user = user_of(&upstream, tokens, &opened.octets).ok();
            match user.and_then(|user| tokens.at_hand(user.as_ref())) {
                Some(token) => Some(token),
                None => return Err(Unready::NeedsToken { upstream, attempt }),
            }
        }
    };
    Ok(Chosen {
        upstream,
        context,
        token,
        attempt,
    })
}

/// The user whom an assertion is to be for.
fn user_of(
    upstream: &Upstream,
    tokens: &IssuedTokens,
    octets: &[u8],
) -> Result<Option<Arc<User>>, Arc<token::Failed>> {
    let endpoint = upstream.endpoint.as_ref();
    let limits = endpoint.map_or_else(Limits::default, |it| it.endpoint.limits().clone());
    let user = tokens.user_of(octets, &limits, &mut Buffers::default());
    user.map_err(|error| Arc::new(token::Failed::User(error)))
}

/// The same, after what it takes.
///
/// # Errors
///
/// The answer, where there is no backend or no context.
pub(super) async fn after_waiting(
    reporter: &Reporter<'_>,
    unready: Unready,
    version: SoapVersion,
    octets: &[u8],
) -> Result<Chosen, Response<Reply>> {
    match unready {
        Unready::NeedsClock { upstream, attempt }
        | Unready::NeedsContext { upstream, attempt }
        | Unready::NeedsToken { upstream, attempt } => {
            after_handshake(reporter, upstream, attempt, version, octets).await
        }
        Unready::Refused(refusal) => Err(refused(reporter, version, refusal)),
        Unready::NoBackend => {
            let detail = "the route is a token service and has no backend".to_owned();
            Err(reporter.fail(version, Cause::Internal, "no-backend", detail))
        }
        Unready::Unclear(why) => {
            let detail = format!("`qos:Requirements` is not understood: {why}");
            Err(reporter.fail(version, Cause::NeedsUnclear, "needs-unclear", detail))
        }
    }
}

/// What a request shows to its upstream: a context, an assertion, or neither.
type Shown = (Option<ContextLease>, Option<Arc<Granted>>);

/// Why a request has nothing to show to its upstream.
struct Lacking {
    cause: Cause,
    reason: &'static str,
    detail: String,
    /// How the backend failed, if another one may not.
    failed: Option<soapstone_broker::Failed>,
    /// Whether its token service is what failed.
    is_of_tokens: bool,
}

impl Lacking {
    /// The same for a backend with that token service. Where every backend needs it, none is to
    /// blame.
    fn with(self, tokens: Option<&Arc<IssuedTokens>>, attempt: Option<&Attempt>) -> Self {
        let Some(tokens) = tokens.filter(|_| self.is_of_tokens) else {
            return self;
        };
        let failed = self.failed;
        let is_left = attempt.is_some_and(|attempt| attempt.may_do_without(tokens));
        Self {
            failed: failed.filter(|_| is_left),
            ..self
        }
    }
}

/// The choice of that upstream, after the handshake that its conversation needs, or with the
/// assertion that requests show to it. A device is asked for its clock before. Where there are
/// several backends and the handshake fails, or the token service of this one, another one is
/// chosen. `octets` are the request's.
///
/// # Errors
///
/// The answer, where there is no context, or no assertion.
pub(super) async fn after_handshake(
    reporter: &Reporter<'_>,
    mut upstream: Arc<Upstream>,
    mut attempt: Option<Box<Attempt>>,
    version: SoapVersion,
    octets: &[u8],
) -> Result<Chosen, Response<Reply>> {
    loop {
        if let Some(clock) = &upstream.device_clock {
            clock.wait().await;
        }
        let shown = match (&upstream.conversation, upstream.tokens_of_requests()) {
            (Some(conversation), _) => context_of(reporter, conversation, version).await,
            (None, Some(tokens)) => token_of(reporter, &upstream, tokens, octets).await,
            (None, None) => Ok((None, None)),
        };
        let lacking = match shown {
            Ok((context, token)) => {
                return Ok(Chosen {
                    upstream,
                    context,
                    token,
                    attempt,
                });
            }
            Err(lacking) => lacking.with(upstream.tokens.as_ref(), attempt.as_deref()),
        };
        // Nothing of the request has left.
        let next = match (attempt.take(), lacking.failed) {
            (Some(mut tried), Some(how)) => {
                if lacking.is_of_tokens {
                    tried.lacks_from_others();
                }
                tried.another(how, Repeatable::Unsent).ok()
            }
            _ => None,
        };
        let Some(next) = next else {
            return Err(reporter.fail(version, lacking.cause, lacking.reason, lacking.detail));
        };
        upstream = Arc::clone(next.upstream());
        attempt = Some(next);
    }
}

/// The context of a conversation with an upstream, after a handshake where none is at hand.
async fn context_of(
    reporter: &Reporter<'_>,
    conversation: &Arc<OutboundContext>,
    version: SoapVersion,
) -> Result<Shown, Lacking> {
    let begun = Instant::now();
    let obtained = conversation.obtain(version).await;
    reporter.exchange.record("handshake", begun);
    let context = obtained.map_err(|failed| Lacking {
        cause: match &failed {
            failed if failed.is_busy() => Cause::Busy,
            failed if failed.is_timeout() => Cause::GatewayTimeout,
            _ => Cause::BadGateway,
        },
        reason: failed.name(),
        detail: failed.to_string(),
        failed: failure_in(&failed),
        is_of_tokens: matches!(&*failed, handshake::Failed::Token(_)),
    })?;
    Ok((Some(context), None))
}

/// The assertion that a request shows to that upstream, asked for where it is not at hand.
async fn token_of(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    tokens: &Arc<IssuedTokens>,
    octets: &[u8],
) -> Result<Shown, Lacking> {
    let begun = Instant::now();
    let obtained = match user_of(upstream, tokens, octets) {
        Ok(user) => tokens.obtain(user).await,
        Err(failed) => Err(failed),
    };
    reporter.exchange.record("token", begun);
    let token = obtained.map_err(|failed| Lacking {
        cause: match &*failed {
            token::Failed::User(_) => Cause::Refused(FaultCode::Sender),
            failed if failed.is_busy() => Cause::Busy,
            failed if failed.is_timeout() => Cause::GatewayTimeout,
            _ => Cause::BadGateway,
        },
        reason: failed.name(),
        detail: failed.to_string(),
        failed: failure_in_token(&failed, tokens.are_for_users()),
        is_of_tokens: true,
    })?;
    Ok((None, Some(token)))
}

/// Answers for a request that no backend can take.
pub(super) fn refused(
    reporter: &Reporter<'_>,
    version: SoapVersion,
    refusal: Refusal,
) -> Response<Reply> {
    let cause = cause_of(refusal);
    reporter.fail(version, cause, refusal.name(), refusal.to_string())
}
