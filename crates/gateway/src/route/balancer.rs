//! The upstreams of a route with several backends, and the choice among them.
//!
//! The decision is the broker's ([`Pool`]). Here are the upstreams that it decides about, the
//! clock, the log and the counters.
//!
//! The rule kept here: whatever becomes of a request, its attempt ends once, and its backend is
//! told of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use soapstone::wss::Envelope;
use soapstone::xml::{Buffers, Limits};
use soapstone_broker::{
    Affinity, Ask, Change, Choice, Claims, Class, Failed, MemberId, MemberStatus, Needs, NoRetry,
    Operation, Outcome, Pool, Reason, Refusal, Repeatable, SecurityIndex, Served, Verdict,
};
use soapstone_registry::Owner;
use tokio::time::Instant;

use super::agreements::{AnswerEvidence, UnderAgreement};
use super::upstream::Upstream;
use crate::config::balance::Rules;
use crate::config::direction::Direction;
use crate::config::security_index::weak_among;
use crate::config::source::SourceSpec;
use crate::config::url::backend_url;
use crate::issued::tokens::IssuedTokens;
use crate::observe::changes::Changes;
use crate::observe::metrics::RouteMetrics;
use crate::observe::traces::ToldChoice;
use crate::wire::backend::Backend;

/// Several backends of one route.
pub(crate) struct Balancer {
    pub(crate) pool: Pool,
    /// Those of the pool's members, in their order.
    pub(crate) members: Vec<BalancedMember>,
    pub(crate) rules: Rules,
    /// Where the backends come from, if it is not the file.
    pub(crate) source: Option<SourceSpec>,
    /// When that last answered.
    pub(crate) answered: Mutex<Option<Instant>>,
    pub(crate) metrics: Arc<RouteMetrics>,
    /// Who is told when the state of a backend changes.
    pub(crate) changes: Changes,
}

/// One backend of several.
pub(crate) struct BalancedMember {
    pub(crate) upstream: Arc<Upstream>,
    /// Who owns it in the registry that knows it.
    pub(crate) owner: Option<Owner>,
    /// The same backend as health checks ask it, where there are some.
    pub(crate) checked: Option<Arc<Backend>>,
    /// Whether the policy that its provider registered has answers signed. Those that follow it
    /// share it.
    registers_signatures: Arc<AtomicBool>,
    /// What it and its clients assure each other, where messages pass as they come.
    pub(crate) assured: Option<SecurityIndex>,
    /// The weak algorithms that it permits.
    weak: Vec<&'static str>,
}

impl BalancedMember {
    /// One of whose registered policy nothing is known yet.
    pub(super) fn new(upstream: Arc<Upstream>, checked: Option<Arc<Backend>>) -> Self {
        Self {
            upstream,
            owner: None,
            checked,
            registers_signatures: Arc::default(),
            assured: None,
            weak: Vec::new(),
        }
    }

    /// The same with what it and its clients assure each other.
    pub(super) fn assuring(mut self, assured: Option<SecurityIndex>) -> Self {
        let algorithms = assured.as_ref().map(|it| &it.algorithms[..]);
        self.weak = weak_among(algorithms.unwrap_or_default());
        self.assured = assured;
        self
    }

    /// The same backend as before: what is known of its registered policy stays known.
    pub(super) fn follow(&mut self, former: &Self) {
        self.registers_signatures = Arc::clone(&former.registers_signatures);
    }

    /// The policy that its provider registered has answers signed, or not.
    pub(crate) fn registered_signatures(&self, signs: bool) {
        self.registers_signatures.store(signs, Ordering::Relaxed);
    }
}

/// A backend that is slower than it reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubted {
    pub(crate) backend: String,
    /// What its calls took, in the mean.
    pub(crate) seen: Duration,
    /// What it reports of such calls.
    pub(crate) claimed: Duration,
}

/// What a request wants of its backend.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// The calls that it belongs to, where these stay together.
    pub(crate) affinity: Option<Affinity>,
    pub(crate) needs: Needs,
    /// What its time is predicted by.
    pub(crate) operation: Option<Operation>,
    /// The agreement that it is under.
    pub(crate) agreement: Option<UnderAgreement>,
    /// Its class, where requests have one.
    pub(crate) class: Option<Class>,
    /// Whether it is a package, which some backends of a route may not take.
    pub(crate) is_package: bool,
}

/// Why a request goes to no other backend.
pub(crate) enum NoOther {
    /// It must not be sent again.
    Retry(NoRetry),
    /// No other backend can take it.
    Refused(Refusal),
}

impl std::fmt::Display for NoOther {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Retry(why) => why.fmt(out),
            Self::Refused(why) => why.fmt(out),
        }
    }
}

impl Balancer {
    /// Chooses a backend for a request.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn choose(self: &Arc<Self>, wanted: Wanted) -> Result<Box<Attempt>, Refusal> {
        self.attempt(wanted, Vec::new())
    }

    fn attempt(
        self: &Arc<Self>,
        wanted: Wanted,
        tried: Vec<MemberId>,
    ) -> Result<Box<Attempt>, Refusal> {
        let now = Instant::now();
        let standing = |agreement: &UnderAgreement| {
            let ids = self.pool.ids();
            let standing = |id| agreement.standing(self.pool.name(id), now);
            ids.map(standing).collect::<Vec<_>>()
        };
        let standings = wanted.agreement.as_ref().map(standing);
        let takes = |id: &MemberId| self.members[id.index()].upstream.takes_packages();
        let barred: Vec<MemberId> = match wanted.is_package {
            true => self.pool.ids().filter(|id| !takes(id)).collect(),
            false => Vec::new(),
        };
        let ask = Ask {
            affinity: wanted.affinity,
            tried: &tried,
            barred: &barred,
            needs: Some(&wanted.needs),
            operation: wanted.operation,
            standings: standings.as_deref().unwrap_or_default(),
            class: wanted.class,
        };
        let choice = self.pool.choose(&ask, now.into_std())?;
        let choosing = now.elapsed();
        self.metrics.chosen(choice.reason);
        tracing::debug!(
            route = self.metrics.route(),
            backend = self.pool.name(choice.member),
            reason = %choice.reason,
            "backend chosen"
        );
        Ok(Box::new(Attempt {
            balancer: Arc::clone(self),
            choice,
            chosen: now + choosing,
            choosing,
            wanted,
            tried,
            paid: None,
            outcome: Outcome::Abandoned,
            sent: None,
            weakness: None,
            is_of_others: false,
        }))
    }

    /// Whether the operation of a request may be done twice: what its Body holds is named.
    pub(crate) fn is_idempotent(&self, octets: &[u8]) -> bool {
        if self.rules.idempotent.is_empty() {
            return false;
        }
        let limits = Limits::default();
        let parsed = Envelope::parse(octets.to_vec(), &limits, &mut Buffers::default());
        let Ok(envelope) = parsed else {
            return false;
        };
        let mut held = envelope.body().children();
        let (Some(operation), None) = (held.next(), held.next()) else {
            return false;
        };
        self.rules.idempotent.iter().any(|name| {
            let namespace = name.namespace.as_deref();
            name.local == operation.local()
                && namespace.is_none_or(|uri| uri == operation.namespace())
        })
    }

    /// What is known of each backend now.
    pub(crate) fn status(&self) -> Vec<MemberStatus> {
        self.pool.status(Instant::now().into_std())
    }

    /// What each backend is worth to a request that needs what the route does.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts_for(&self.rules.needs)
    }

    /// What each backend is worth to a request with those needs.
    pub(crate) fn verdicts_for(&self, needs: &Needs) -> Vec<Verdict> {
        let ask = Ask {
            needs: Some(needs),
            ..Ask::default()
        };
        self.pool.explain(&ask, Instant::now().into_std())
    }

    /// A report came of a backend. Returns what its calls contradicted, where they did so often
    /// enough to be a matter of its agreements.
    pub(crate) fn reported(&self, member: MemberId, claims: &Claims) -> Option<Doubted> {
        let now = Instant::now().into_std();
        let changed = self.pool.reported(member, claims, now);
        self.tell(member, changed);
        match changed {
            Some(Change::Doubted { seen, claimed } | Change::StillDoubted { seen, claimed }) => {
                Some(Doubted {
                    backend: self.pool.name(member).to_owned(),
                    seen,
                    claimed,
                })
            }
            _ => None,
        }
    }

    /// The backend of the provider with that access point and owner.
    pub(crate) fn id_of(&self, access_point: &str, owner: &Owner) -> Option<MemberId> {
        let url = backend_url(access_point).ok()?;
        let mut ids = self.pool.ids().zip(&self.members);
        let is_own = |member: &BalancedMember| {
            member.upstream.url == url && member.owner.as_ref() == Some(owner)
        };
        let own = ids.find(|(_, member)| is_own(member));
        own.map(|(id, _)| id)
    }

    /// The backend with that name.
    pub(crate) fn named(&self, name: &str) -> Option<&BalancedMember> {
        let id = self.pool.ids().find(|id| self.pool.name(*id) == name)?;
        self.members.get(id.index())
    }

    /// The source of the backends has answered.
    pub(crate) fn source_answered(&self) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered = Some(Instant::now());
    }

    /// When it last did.
    pub(super) fn answered(&self) -> Option<Instant> {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A health check has come to its end.
    pub(crate) fn checked(&self, member: MemberId, healthy: bool) {
        let changed = self
            .pool
            .checked(member, healthy, Instant::now().into_std());
        self.tell(member, changed);
    }

    fn tell(&self, member: MemberId, changed: Option<Change>) {
        let (route, backend) = (self.metrics.route(), self.pool.name(member));
        match changed {
            None => {}
            Some(change @ (Change::Ejected { .. } | Change::Down | Change::Doubted { .. })) => {
                tracing::warn!(route, backend, "{change}");
            }
            Some(change @ (Change::Returned | Change::Up | Change::Believed)) => {
                tracing::info!(route, backend, "{change}");
            }
            // It comes again and again while the backend lies: its first word was a warning.
            Some(change @ Change::StillDoubted { .. }) => {
                tracing::debug!(route, backend, "{change}");
                return;
            }
        }
        if changed.is_some() {
            self.changes.tell();
        }
    }
}

/// A request in the hand of one backend. Dropped without a word of its outcome, it says nothing of
/// the backend: the client has gone.
pub(crate) struct Attempt {
    balancer: Arc<Balancer>,
    choice: Choice,
    /// When the choice was made.
    chosen: Instant,
    /// How long it took.
    choosing: Duration,
    wanted: Wanted,
    /// Where it was before.
    tried: Vec<MemberId>,
    /// As what the budget of repetitions allowed it after these, until it leaves.
    paid: Option<Repeatable>,
    outcome: Outcome,
    /// When it left, while its agreement waits for the backend.
    sent: Option<Instant>,
    /// In what the answer was weaker than agreed.
    weakness: Option<String>,
    /// The failure is that of somebody whom the backend's provider does not answer for.
    is_of_others: bool,
}

impl Attempt {
    /// Where the request goes.
    pub(crate) fn upstream(&self) -> &Arc<Upstream> {
        &self.balancer.members[self.choice.member.index()].upstream
    }

    /// Whether a backend of the route has an endpoint that secures requests for it.
    pub(crate) fn may_be_secured(&self) -> bool {
        let mut members = self.balancer.members.iter();
        members.any(|member| member.upstream.endpoint.is_some())
    }

    /// Whether there is another backend that could take the request, now or later, and has not had
    /// it.
    pub(crate) fn has_another(&self) -> bool {
        let balancer = &self.balancer;
        let takes = |id: MemberId| balancer.members[id.index()].upstream.takes_packages();
        let is_left = |id| id != self.choice.member && !self.tried.contains(&id);
        let mut ids = balancer.pool.ids();
        ids.any(|id| is_left(id) && (!self.wanted.is_package || takes(id)))
    }

    /// Whether there is a backend that needs no assertion of the same place.
    pub(crate) fn may_do_without(&self, tokens: &Arc<IssuedTokens>) -> bool {
        let mut members = self.balancer.members.iter();
        members.any(|member| {
            let others = member.upstream.tokens.as_ref();
            !others.is_some_and(|others| Arc::ptr_eq(others, tokens))
        })
    }

    /// The backend's name.
    pub(crate) fn backend(&self) -> &str {
        self.balancer.pool.name(self.choice.member)
    }

    /// The name of the agreement that the request is under.
    pub(crate) fn agreement(&self) -> Option<&str> {
        self.wanted.agreement.as_ref().map(UnderAgreement::name)
    }

    /// The class of the request, where requests have one.
    pub(crate) fn class(&self) -> Option<&'static str> {
        self.wanted.class.map(Class::name)
    }

    /// How long the choice took.
    pub(crate) fn choosing(&self) -> Duration {
        self.choosing
    }

    /// What a trace tells of the choice.
    pub(crate) fn told(&self) -> ToldChoice {
        let answered = self.balancer.answered();
        ToldChoice {
            begun: self.chosen - self.choosing,
            ended: self.chosen,
            known: self.balancer.members.len(),
            covering: self.choice.covering,
            reason: self.choice.reason.name(),
            age: answered.map(|answered| self.chosen.saturating_duration_since(answered)),
        }
    }

    /// Why it goes there.
    pub(crate) fn reason(&self) -> Reason {
        self.choice.reason
    }

    /// Whether the operation of a request may be done twice.
    pub(crate) fn is_idempotent(&self, octets: &[u8]) -> bool {
        self.balancer.is_idempotent(octets)
    }

    /// The backend answered, after that time. It has the request in hand until this is dropped.
    pub(crate) fn answered(&mut self, took: Duration) {
        let operation = self.wanted.operation;
        self.outcome = Outcome::Answered { took, operation };
    }

    /// The backend failed.
    pub(crate) fn failed(&mut self, failed: Failed) {
        self.outcome = Outcome::Failed(failed);
    }

    /// The request leaves.
    pub(crate) fn leaves(&mut self) {
        // Nobody here sees whether it uses them.
        for algorithm in &self.balancer.members[self.choice.member.index()].weak {
            let metrics = &self.balancer.metrics;
            metrics.weak_algorithm(Direction::Outbound, algorithm);
        }
        self.sent = Some(Instant::now());
        self.paid = None;
    }

    /// It came to an end that says nothing of the backend.
    pub(crate) fn excuse(&mut self) {
        self.sent = None;
        self.outcome = Outcome::Abandoned;
    }

    /// Whether the answer was right is not known, and another backend may give one of which it is.
    /// That is no violation: an agreement is told what was measured.
    pub(crate) fn unknown(&mut self) {
        self.failed(Failed::Unproven);
        self.wanted.agreement = None;
    }

    /// What the backend cannot be served without is not to be had, and somebody else gives it: a
    /// token service. That is no violation, either.
    pub(crate) fn lacks_from_others(&mut self) {
        self.is_of_others = true;
    }

    /// The answer was refused, for that reason.
    pub(crate) fn unproven(&mut self, reason: &str) {
        self.failed(Failed::Unproven);
        self.weakness = Some(format!("an answer that is refused: {reason}"));
    }

    /// The answer was let through, and this was proven of it.
    pub(crate) fn proved(&mut self, evidence: &AnswerEvidence) {
        let agreement = self.wanted.agreement.as_ref();
        let member = &self.balancer.members[self.choice.member.index()];
        let signs = member.registers_signatures.load(Ordering::Relaxed);
        self.weakness = agreement.and_then(|agreement| agreement.weakness(evidence, signs));
    }

    /// What became of it, as its agreement sees it.
    fn served(&self) -> Option<Served<'_>> {
        if self.is_of_others {
            return None;
        }
        match (&self.weakness, self.outcome) {
            (Some(why), Outcome::Answered { took, .. }) => {
                let took = Some(took);
                Some(Served::Weak { why, took })
            }
            (Some(why), _) => Some(Served::Weak { why, took: None }),
            (None, Outcome::Answered { took, .. }) => Some(Served::Answered(took)),
            (None, Outcome::Failed(_)) => Some(Served::Failed),
            (None, Outcome::Abandoned) => self.sent.map(|sent| Served::Left(sent.elapsed())),
        }
    }

    /// The same request at another backend, where the first one failed and it may go there.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(crate) fn another(
        mut self: Box<Self>,
        failed: Failed,
        repeatable: Repeatable,
    ) -> Result<Box<Self>, NoOther> {
        self.failed(failed);
        let balancer = Arc::clone(&self.balancer);
        let mut tried = std::mem::take(&mut self.tried);
        tried.push(self.choice.member);
        let wanted = self.wanted.clone();
        let from = self.choice.member;
        // What was paid for this attempt pays for the next one, where it has not left.
        let carried = self.paid.take();
        // What it learnt counts for the next choice.
        drop(self);
        let allowed = balancer.pool.retry(failed, repeatable, tried.len());
        let paid = carried.or(allowed.is_ok().then_some(repeatable));
        let mut next = allowed
            .map_err(NoOther::Retry)
            .and_then(|()| balancer.attempt(wanted, tried).map_err(NoOther::Refused));
        match (&mut next, paid) {
            (Ok(next), paid) => next.paid = paid,
            (Err(_), Some(paid)) => balancer.pool.refund(paid),
            (Err(_), None) => {}
        }
        let (route, backend) = (balancer.metrics.route(), balancer.pool.name(from));
        match &next {
            Ok(next) => {
                balancer.metrics.retried(failed.name());
                let to = next.backend();
                tracing::info!(
                    route,
                    backend,
                    failed = failed.name(),
                    to,
                    "the request goes to another backend"
                );
            }
            Err(why) => tracing::debug!(
                route,
                backend,
                failed = failed.name(),
                %why,
                "the request goes to no other backend"
            ),
        }
        next
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let now = Instant::now().into_std();
        let pool = &self.balancer.pool;
        if let Some(unsent) = self.paid {
            pool.refund(unsent);
        }
        let changed = pool.ended(self.choice, self.outcome, now);
        self.balancer.tell(self.choice.member, changed);
        if let (Some(agreement), Some(served)) = (&self.wanted.agreement, self.served()) {
            agreement.ended(self.backend(), served);
        }
    }
}
