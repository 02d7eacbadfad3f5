//! `inbound` and `outbound` of a route, read and compiled.
//!
//! The rule kept here: nothing runs yet. Whatever the endpoint will remember begins when the route
//! is built.

use std::sync::Arc;

use soapstone::config::{
    Certifiers, ClockSource, Document, EndpointConfig, Located, Place, SecuritySource, StsConfig,
    Table, TrustConfig, Warning,
};
use soapstone::crypto::trust::OnlineRevocation;
use soapstone::endpoint::{Directions, Endpoint, ExpiringFile, Fixed};
use soapstone::policy::TransportRequirement;
use soapstone_store::{Contexts, Replay, StoreError, Stores};

use super::authorities::{AuthoritySpec, read_authorities};
use super::published::{Publication, PublishedPolicy};
use super::token_service::{TokenServiceSpec, read_token_service};

/// What is said of a route with a policy that demands nothing.
pub(super) const NO_DEMANDS: &str = "the policy demands nothing of messages";

/// One endpoint of a route.
pub(crate) struct EndpointSpec<P> {
    /// Whether everybody with a certificate of its authorities may sign.
    pub(super) trusts_anybody: bool,
    /// Who may have issued certificates that its `trust` believes.
    pub(super) certifiers: Certifiers,
    pub(crate) endpoint: Endpoint<P>,
    /// What clients are told of the policy.
    pub(crate) published: Option<PublishedPolicy>,
    /// What the operator should know of it: why clients are told nothing, or how they must read
    /// it.
    pub(crate) remark: Option<String>,
    /// A policy was named, and nothing in it demands anything: the description of a service
    /// without its security, perhaps.
    pub(super) without_demands: bool,
    /// What makes the assertions of its requests.
    pub(crate) token_service: Option<Box<TokenServiceSpec>>,
    /// Who has the assertions that messages only name.
    pub(crate) authorities: Vec<AuthoritySpec>,
}

impl<P: Directions> EndpointSpec<P> {
    /// Whether it has conversations that begin with messages which everybody on the way can read.
    pub(super) fn shows_its_keys(&self) -> bool {
        let conversation = self.endpoint.conversation();
        conversation.is_some_and(|conversation| !conversation.hides_its_keys())
    }

    /// Whether a device is asked for its clock.
    pub(super) fn asks_a_device(&self) -> bool {
        matches!(
            self.endpoint.learns_clock_from(),
            Some(ClockSource::Onvif { .. })
        )
    }

    /// Whether it wants a proof of messages that arrive that `identity` tells: an assertion, or an
    /// inner protection.
    pub(super) fn proves_an_identity(&self) -> bool {
        let mut inbound = self.endpoint.inbound();
        self.endpoint.verifies_inner()
            || self.endpoint.deciphers_inner()
            || inbound.any(|plan| plan.policy().assertion().is_some())
    }
}

/// What is the same of an endpoint that faces clients and of one that faces a backend.
pub(crate) trait SideSpec {
    /// Name of the mechanism, for metrics and people.
    fn mechanism(&self) -> &'static str;

    /// Name of the suite; empty where there is none.
    fn suite(&self) -> &str;

    /// See [`EndpointSpec::without_demands`].
    fn is_without_demands(&self) -> bool;

    /// See [`Endpoint::unprotected_operations`].
    fn unprotected_operations(&self) -> Vec<&str>;

    /// See [`Endpoint::dated`].
    fn dated(&self) -> &[ExpiringFile];

    /// What of it asks whether certificates were revoked.
    fn online_revocation(&self) -> &[Arc<OnlineRevocation>];
    /// Opens its stores, each of which may fail.
    fn open(&self, stores: &Stores) -> (Result<Replay, StoreError>, Result<Contexts, StoreError>);
}

impl<P: Directions> SideSpec for EndpointSpec<P> {
    fn mechanism(&self) -> &'static str {
        self.endpoint.mechanism()
    }

    fn suite(&self) -> &str {
        self.endpoint.suite()
    }

    fn is_without_demands(&self) -> bool {
        self.without_demands
    }

    fn unprotected_operations(&self) -> Vec<&str> {
        self.endpoint.unprotected_operations().collect()
    }

    fn dated(&self) -> &[ExpiringFile] {
        self.endpoint.dated()
    }

    fn online_revocation(&self) -> &[Arc<OnlineRevocation>] {
        self.endpoint.online_revocation()
    }

    fn open(&self, stores: &Stores) -> (Result<Replay, StoreError>, Result<Contexts, StoreError>) {
        let replay = stores.replay(self.endpoint.replay());
        (replay, stores.contexts(self.endpoint.conversations()))
    }
}

/// Whether clients are told of a policy, and what else they are told.
#[derive(Debug)]
pub(super) struct Publishing {
    /// `publish_policy`.
    pub(super) wanted: Option<Located<bool>>,
    /// What clients find when they connect, where that is TLS.
    pub(super) transport: Option<TransportRequirement>,
}

/// Reports what only TLS would protect, of an endpoint without it.
fn refuse_without_tls<P: Directions>(
    document: &Document<'_>,
    config: &EndpointConfig,
    endpoint: &Endpoint<P>,
) {
    if let (true, Some(answers)) = (endpoint.answers_need_tls(), &config.answers) {
        let place = answers.protection.as_ref().map(|given| given.place);
        let faults = answers.unsecured_faults.as_ref().map(|given| given.place);
        let problem = config.problem(
            place.or(faults).unwrap_or(answers.place),
            "answers prove less than requests, and no TLS protects them: everybody on the way could write them",
        );
        document.report(problem.with_hint(
            "use TLS; or accept it, for a network that you trust: answers = { …, without_tls = true }",
        ));
    }
    let judges_times = || {
        let mut plans = endpoint.inbound();
        plans.any(|plan| plan.policy().has_security())
    };
    if let Some(clock) = &config.security.clock
        && endpoint.learns_clock_from().is_some()
        && judges_times()
    {
        let problem = config.problem(
            clock.place,
            "a clock is learnt without TLS, and answers are judged by it: whoever is on the way could set it",
        );
        document.report(problem.with_hint("name the backend's https address, or say how far the clock is off: clock = { offset = \"-37s\" }"));
    }
}

/// Reads `inbound` or `outbound` of a route, and compiles it. Its stores are opened to see whether
/// they can be, and closed again. `through_tls` says whether its messages come or go over TLS.
/// `sts` is the token service that it is. `None` when something is wrong, which is reported.
pub(super) fn read_endpoint<P: Fixed>(
    table: Table<'_>,
    scope: &str,
    through_tls: bool,
    publishing: Option<&Publishing>,
    sts: Option<StsConfig>,
) -> Option<EndpointSpec<P>> {
    let document = table.document();
    let mut config = EndpointConfig::read(table)?;
    config.sts = sts;
    let mut endpoint = match Endpoint::<P>::from_config(&config) {
        Ok(endpoint) => Some(endpoint.with_scope(scope)),
        Err(problems) => {
            problems
                .0
                .into_iter()
                .for_each(|problem| document.report(problem));
            None
        }
    };
    let token_service = endpoint.as_mut().and_then(Endpoint::take_token_service);
    let token_service = match token_service {
        Some(service) => Some(read_token_service(document, &config, service, scope)?),
        None => None,
    };
    let authorities = read_authorities(document, &config)?;
    let spec = checked(document, &config, endpoint, through_tls, publishing)?;
    Some(EndpointSpec {
        token_service,
        authorities,
        ..spec
    })
}

/// Checks what a gateway minds of an endpoint that was compiled, as its file says; `None` where it
/// could not be. See [`read_endpoint`].
pub(super) fn checked<P: Directions>(
    document: &Document<'_>,
    config: &EndpointConfig,
    endpoint: Option<Endpoint<P>>,
    through_tls: bool,
    publishing: Option<&Publishing>,
) -> Option<EndpointSpec<P>> {
    if let Some(time) = &config.security.time {
        // It would hold for every message from now on: none would ever expire, and what others send
        // would soon be too new.
        document.report(
            config
                .problem(
                    time.place,
                    "`time` is for single messages, and would stop the clock of a gateway",
                )
                .with_hint(
                    "leave it out; `soapstone open` and `soapstone secure` take it for recorded messages",
                ),
        );
    }
    let endpoint = endpoint?;
    if endpoint.lacks_users() && !config.has("users") {
        document.report(
            config
                .problem(
                    config.security.source.place,
                    "a user with a password is needed to check a `UsernameToken`",
                )
                .with_hint("say whom we know: users = [{ name = \"…\", password_env = \"…\" }]"),
        );
    }
    if !through_tls {
        refuse_without_tls(document, config, &endpoint);
    }
    let (replay, conversations) = (&config.security.replay, &config.security.conversations);
    let unusable = |place: Option<Place>, error: StoreError| {
        document.report(config.problem(place.unwrap_or(config.place), error.to_string()));
    };
    let stores = Stores::default();
    let replay = stores
        .replay(endpoint.replay())
        .map(drop)
        .map_err(|error| unusable(replay.as_ref().map(|replay| replay.place), error));
    let contexts = stores
        .contexts(endpoint.conversations())
        .map(drop)
        .map_err(|error| unusable(conversations.as_ref().map(|table| table.place), error));
    let wanted = publishing.and_then(|publishing| publishing.wanted.as_ref());
    let told = match publishing.filter(|_| wanted.is_none_or(|wanted| wanted.value)) {
        Some(publishing) => PublishedPolicy::of(config, publishing.transport),
        None => Ok(Publication::default()),
    };
    if let (Err(reason), Some(wanted)) = (&told, wanted) {
        document.report(
            config
                .problem(
                    wanted.place,
                    format!("the policy cannot be published: {reason}"),
                )
                .with_hint("without `publish_policy` the description is served without a policy"),
        );
    }
    let (published, remark) = match told {
        Ok(Publication { published, note }) => (published, note.map(str::to_owned)),
        Err(reason) => (
            None,
            Some(format!("`?wsdl` carries no security policy: {reason}")),
        ),
    };
    let by_policy = matches!(config.security.source.value, SecuritySource::Policy(_));
    let without_demands = by_policy && endpoint.demands_nothing() && !endpoint.needs_tls();
    for risk in endpoint.risks(config, through_tls) {
        document.warn(risk);
    }
    let open: Vec<&str> = endpoint.unprotected_operations().collect();
    if without_demands || !open.is_empty() {
        let message = match without_demands {
            true => NO_DEMANDS.to_owned(),
            false => format!(
                "the policy demands nothing of requests for {}",
                open.join(", ")
            ),
        };
        let problem = config.problem(config.security.source.place, message);
        document.warn(Warning {
            name: "without-protection",
            problem: problem.with_hint("attach a policy to them, unless everybody may call them"),
        });
    }
    // What is wrong with a store has been reported.
    replay.and(contexts).ok()?;
    let trusts_anybody = config
        .trust
        .as_ref()
        .is_some_and(|trust| !trust.anchors.is_empty() && trust.subjects.is_empty());
    let certifiers = config.trust.as_ref().map(TrustConfig::certifiers);
    Some(EndpointSpec {
        trusts_anybody,
        certifiers: certifiers.unwrap_or_default(),
        endpoint,
        published,
        remark,
        without_demands,
        token_service: None,
        authorities: Vec::new(),
    })
}
