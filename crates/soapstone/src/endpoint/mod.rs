//! An endpoint: one peer's security in both directions, ready to be run.
//!
//! It is the host that the plans ask: it knows the users, the clock that was configured, and what
//! to remember. No call waits for anything but a store. Calls that end in `_in` do not wait either:
//! they work in a [`Workspace`], and whoever drives them decides where a store is asked.

mod addressing;
mod agreed;
mod agreement;
mod asking;
mod compile;
mod conversation;
mod dated;
mod demands;
mod fault;
mod handshake;
mod keys;
mod messages;
mod opening;
mod operations;
mod relation;
mod renewal;
mod risks;
mod sent;
mod suites;
mod token_key;
mod token_rules;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::SecretBytes;
use soapstone_crypto::key::CipherUsage;
use soapstone_trust::addressing::Addressing;
use soapstone_wss::{Evidence, InboundPlan, OutboundPlan, Policy, Receipt, SharedKey, SoapVersion};
use soapstone_xml::Limits;

use crate::config::{
    ConversationsConfig, Document, EndpointConfig, Environment, Problems, ReplayConfig,
};
use crate::conversation::{ContextStore, NoContexts};
use crate::replay::ReplayCache;
use addressing::AnswerActions;
use demands::Demands;
use operations::Operations;
use sent::Sent;
pub use sent::SentMessages;

pub use agreement::preset_agreement;
pub use asking::{Progress, Question, Work, Workspace};
pub use conversation::{Arrived, Conversation, ReadRequest, ReceiveError, TokenAnswer, TokenDone};
pub use dated::{Dated, DatedUse};
pub use fault::Blame;
pub use handshake::{Handshake, HandshakeError, says_context_is_gone};

/// What an endpoint is there for, which decides the plans it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Secures single messages (`soapstone secure`).
    Secure,
    /// Opens single messages (`soapstone open`).
    Open,
    /// Opens requests and secures their responses: stands before a service.
    Service,
    /// Secures requests and opens their responses: stands behind a client.
    Client,
}

/// A compiled endpoint.
#[derive(Debug)]
pub struct Endpoint {
    /// One, or those of the operations of a port.
    agreements: Vec<Plans>,
    /// Which operation has which agreement, where there are several.
    operations: Option<Operations>,
    /// The actions of answers, as far as a WSDL says them.
    answer_actions: AnswerActions,
    /// What the file demands beside its policy.
    demands: Demands,
    limits: Limits,
    users: Vec<(String, SecretBytes)>,
    replay: Option<ReplayConfig>,
    conversations: Option<ConversationsConfig>,
    time: Option<Timestamp>,
    mechanism: &'static str,
    suite: String,
    scope: String,
    conversation: Option<Conversation>,
    private_transport: bool,
    client_certificate: bool,
    dated: Vec<Dated>,
    /// What comes back to us, if it comes.
    sent: Arc<Sent>,
    /// What it may come back to as well: other endpoints of the process.
    all_sent: SentMessages,
}

/// The plans of both directions that belong together.
#[derive(Debug)]
struct Plans {
    inbound: Option<InboundPlan>,
    outbound: Option<OutboundPlan>,
    /// Messages carry addressing headers.
    addressing: bool,
    /// Answers that arrive prove by `wsa:RelatesTo` which request they are to, if that has a
    /// `wsa:MessageID`.
    relates: bool,
}

impl Plans {
    fn new(inbound: Option<InboundPlan>, outbound: Option<OutboundPlan>, addressing: bool) -> Self {
        Self {
            relates: relation::is_demanded(inbound.as_ref(), addressing),
            inbound,
            outbound,
            addressing,
        }
    }

    fn inbound(&self) -> &InboundPlan {
        self.inbound
            .as_ref()
            .expect("an endpoint that opens has an inbound plan")
    }

    /// The policy of requests, which arrive at a service and leave from a client.
    fn of_requests(&self, serves: bool) -> Option<&Policy> {
        if serves {
            self.inbound.as_ref().map(InboundPlan::policy)
        } else {
            self.outbound.as_ref().map(OutboundPlan::policy)
        }
    }

    fn outbound(&self) -> &OutboundPlan {
        self.outbound
            .as_ref()
            .expect("an endpoint that secures has an outbound plan")
    }
}

/// A message that was accepted.
#[derive(Debug)]
pub struct OpenedMessage {
    /// The plain envelope, rebuilt from what the plan covers.
    pub bytes: Vec<u8>,
    /// Its version.
    pub version: SoapVersion,
    /// Whom it blames, if it is a SOAP fault.
    pub fault: Option<Blame>,
    /// What was proven.
    pub evidence: Evidence,
    /// What the answer needs.
    pub receipt: Receipt,
    /// Addressing headers of the request, where the policy asks for them: they are not passed on,
    /// and the answer refers to them ([`Endpoint::label_answer`]).
    pub addressing: Option<Box<Addressing>>,
    /// `wsa:Action` of a request whose addressing headers are taken out, if it would have been
    /// passed on: where the plan wants signatures, only a signed one would.
    pub action: Option<String>,
}

/// A step of opening or securing, for those who measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Bytes to envelope.
    Parse,
    /// The store of security contexts.
    Contexts,
    /// Times, users and the values of signatures, before anything is deciphered.
    Authenticate,
    /// The replay cache.
    Replay,
    /// Decryption, digests, and the comparison with the plan.
    Open,
    /// Writing the message that is passed on.
    Forward,
    /// Signing and encrypting.
    Secure,
}

impl Step {
    /// Name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Contexts => "contexts",
            Self::Authenticate => "authenticate",
            Self::Replay => "replay",
            Self::Open => "open",
            Self::Forward => "forward",
            Self::Secure => "secure",
        }
    }
}

/// Told when a step has ended. `()` listens to nothing.
pub trait StepObserver: Send {
    /// `step` has ended.
    fn ended(&mut self, step: Step);
}

impl StepObserver for () {
    fn ended(&mut self, _: Step) {}
}

/// What an endpoint asks about messages before and beside the one at hand.
#[derive(Clone, Copy)]
pub struct Memory<'m> {
    /// Remembers messages.
    pub replay: &'m dyn ReplayCache,
    /// Remembers conversations.
    pub contexts: &'m dyn ContextStore,
}

impl<'m> Memory<'m> {
    /// A memory for messages that belong to no conversation.
    pub fn without_conversations(replay: &'m dyn ReplayCache) -> Self {
        Self {
            replay,
            contexts: &NoContexts,
        }
    }
}

impl Endpoint {
    /// Loads and compiles an endpoint file.
    ///
    /// # Errors
    /// Everything that is wrong with the file, and with what it asks for.
    pub fn load(file: &Path, role: Role, environment: &Environment<'_>) -> Result<Self, Problems> {
        let document = Document::load(file, environment)?;
        let config = EndpointConfig::read(document.root());
        // Of a file with syntax errors it is not known what it asks for.
        let config = config.filter(|_| document.is_well_formed());
        let endpoint = config.and_then(|config| {
            let compiled = Self::compile(&config, role);
            let report = |problems: Problems| {
                let problems = problems.0.into_iter();
                problems.for_each(|problem| document.report(problem));
            };
            compiled.map_err(report).ok()
        });
        document.finish(endpoint)
    }

    /// Compiles an endpoint that was read.
    ///
    /// # Errors
    /// Everything that is wrong with what it asks for.
    pub fn compile(config: &EndpointConfig, role: Role) -> Result<Self, Problems> {
        compile::compile(config, role)
    }

    /// Assembles an endpoint from plans: for applications that have no file.
    pub fn from_plans(
        inbound: Option<InboundPlan>,
        outbound: Option<OutboundPlan>,
        limits: Limits,
    ) -> Self {
        let (sent, all_sent) = SentMessages::alone(None);
        Self {
            agreements: vec![Plans::new(inbound, outbound, false)],
            operations: None,
            answer_actions: AnswerActions::default(),
            demands: Demands::default(),
            limits,
            users: Vec::new(),
            replay: None,
            conversations: None,
            time: None,
            mechanism: "policy",
            suite: String::new(),
            scope: String::new(),
            conversation: None,
            private_transport: false,
            client_certificate: false,
            dated: Vec::new(),
            sent,
            all_sent,
        }
    }

    /// Knows what any endpoint of the process has sent that shares the same, so that nothing of it
    /// comes back as the peer's word to another endpoint, or after a change of configuration that
    /// renames or moves this one. It is for endpoints of one role.
    pub fn share_sent(&mut self, process: &SentMessages) {
        process.join(&self.sent);
        self.all_sent = process.clone();
    }

    /// Goes on with what a predecessor has sent in this process, so that nothing of it comes back
    /// as the peer's word after a change of configuration, and with what its shared key has
    /// enciphered, if it has the same key.
    pub fn keep_memory_of(&mut self, predecessor: &Self) {
        self.sent = Arc::clone(&predecessor.sent);
        self.all_sent = predecessor.all_sent.clone();
        if let (Some(new), Some(old)) = (self.shared_key(), predecessor.shared_key())
            && new.encrypting.is_same_as(&old.encrypting)
        {
            new.encrypting.count_as_used(old.encrypting.usage());
        }
    }

    /// How much its shared key has enciphered in this process, if it has one.
    pub fn shared_key_usage(&self) -> Option<CipherUsage> {
        self.shared_key().map(|key| key.encrypting.usage())
    }

    fn shared_key(&self) -> Option<&SharedKey> {
        let mut plans = self.agreements.iter();
        plans.find_map(|plans| plans.outbound.as_ref()?.shared_key())
    }

    /// Whether its policy leaves protection to TLS: messages of other connections must not be
    /// accepted or sent.
    pub fn needs_tls(&self) -> bool {
        self.private_transport
    }

    /// Whether its policy wants clients to show a certificate while the connection is made
    /// (`sp:RequireClientCertificate`).
    pub fn needs_client_certificate(&self) -> bool {
        self.client_certificate
    }

    /// The certificates and revocation lists that its file names, ours and those of others: each
    /// once for each use.
    pub fn dated(&self) -> &[Dated] {
        &self.dated
    }

    /// Names the endpoint: the conversations of one name are not those of another.
    #[must_use]
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = scope.into();
        self
    }

    /// The name that its conversations belong to.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Adds a user whose `UsernameToken` is accepted.
    #[must_use]
    pub fn with_user(mut self, name: impl Into<String>, password: SecretBytes) -> Self {
        self.users.push((name.into(), password));
        self
    }

    /// Whether it demands a user and knows none, so that no message can be accepted.
    pub fn lacks_users(&self) -> bool {
        let bootstrap = self
            .conversation
            .as_ref()
            .map(|conversation| &conversation.bootstrap_inbound);
        self.users.is_empty()
            && self
                .inbound()
                .chain(bootstrap)
                .any(|plan| plan.policy().username().is_some())
    }

    /// Name of the mechanism, for metrics and reports.
    pub fn mechanism(&self) -> &'static str {
        self.mechanism
    }

    /// Name of the suite; empty where there is none.
    pub fn suite(&self) -> &str {
        &self.suite
    }

    /// Where replay marks are to be kept.
    pub fn replay(&self) -> Option<&ReplayConfig> {
        self.replay.as_ref()
    }

    /// Where security contexts are to be kept.
    pub fn conversations(&self) -> Option<&ConversationsConfig> {
        self.conversations.as_ref()
    }

    /// Bounds on messages.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it matters what is said of a request's action beside the message
    /// ([`ReadRequest::about`]): where operations have policies of their own, or where that has
    /// to be `wsa:Action`.
    pub fn asks_for_actions(&self) -> bool {
        self.operations.is_some() || self.compares_actions()
    }

    /// Whether what HTTP says of a request's action has to be its `wsa:Action`.
    pub fn compares_actions(&self) -> bool {
        self.demands.compare_actions()
    }

    /// Whether every message will do, in both directions.
    pub fn demands_nothing(&self) -> bool {
        self.policies().all(Policy::demands_nothing)
    }

    /// Whether messages pass through this endpoint as they are, in both directions: nothing is
    /// demanded of them, and no addressing headers are written or taken out on behalf of peers.
    pub fn is_plain(&self) -> bool {
        self.demands_nothing() && !self.agreements.iter().any(|agreement| agreement.addressing)
    }

    /// Operations whose requests nothing protects, neither the messages nor the connection,
    /// although others of their port are protected.
    pub fn unprotected_operations(&self) -> impl Iterator<Item = &str> {
        let table = self.operations.iter().filter(|_| !self.private_transport);
        table.flat_map(|table| {
            table.names_of(|agreement| {
                let request = self.agreements[agreement].of_requests(table.serves());
                request.is_none_or(|policy| !policy.has_security())
            })
        })
    }

    /// The plans for messages that arrive: one, or one for each agreement of its operations.
    pub fn inbound(&self) -> impl Iterator<Item = &InboundPlan> {
        self.agreements
            .iter()
            .filter_map(|agreement| agreement.inbound.as_ref())
    }

    /// The plans for messages that leave: one, or one for each agreement of its operations.
    pub fn outbound(&self) -> impl Iterator<Item = &OutboundPlan> {
        self.agreements
            .iter()
            .filter_map(|agreement| agreement.outbound.as_ref())
    }

    /// Whether no message that arrives takes an operation of a key pair. Of an endpoint with
    /// conversations: no message within one.
    pub fn opens_lightly(&self) -> bool {
        self.inbound().all(|plan| !plan.policy().uses_key_pair())
    }

    /// Whether no message that leaves takes an operation of a key pair. Of an endpoint with
    /// conversations: no message within one.
    pub fn secures_lightly(&self) -> bool {
        self.outbound().all(|plan| !plan.policy().uses_key_pair())
    }

    /// The policies of all plans.
    fn policies(&self) -> impl Iterator<Item = &Policy> {
        let inbound = self.inbound().map(InboundPlan::policy);
        inbound.chain(self.outbound().map(OutboundPlan::policy))
    }

    /// The present: `now`, or the time that the file says to pretend it is.
    pub fn clock(&self, now: Timestamp) -> Timestamp {
        self.time.unwrap_or(now)
    }
}
