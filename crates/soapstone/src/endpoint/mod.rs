//! An endpoint: one peer's security in both directions, ready to be run.
//!
//! It is the host that the plans ask: it knows the users, the clock that was configured, and what to remember. Everything here is
//! synchronous; a server calls it on a pool of its own.

mod addressing;
mod agreed;
mod agreement;
mod compile;
mod conversation;
mod dated;
mod handshake;
mod keys;
mod operations;
mod renewal;
mod sent;
mod suites;
mod token_rules;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::SecretBytes;
use soapstone_trust::addressing::Addressing;
use soapstone_wss::{
    Envelope, Evidence, Facts, InboundPlan, Lookups, OutboundPlan, Outgoing, Part, Policy, Receipt,
    Rejected, SecureError, Secured, SecurityContext, SoapVersion, Verified,
};
use soapstone_xml::{Buffers, Limits, NodeId};

use crate::config::{ConversationsConfig, EndpointConfig, Environment, Problems, ReplayConfig};
use crate::conversation::{ContextStore, NoContexts};
use crate::replay::{ReplayCache, ReplayError};
use operations::{Expected, Operations, carries_token_request};
use sent::{Known, Sent};

pub use agreement::preset_agreement;
pub use conversation::{Arrived, Conversation, ReadRequest, ReceiveError, TokenAnswer, TokenDone};
pub use dated::{Dated, DatedUse};
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
}

/// The plans of both directions that belong together.
#[derive(Debug)]
struct Plans {
    inbound: Option<InboundPlan>,
    outbound: Option<OutboundPlan>,
    /// Messages carry addressing headers.
    addressing: bool,
}

impl Plans {
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
    /// What was proven.
    pub evidence: Evidence,
    /// What the answer needs.
    pub receipt: Receipt,
    /// Addressing headers of the request, where the policy asks for them: they are not passed on, and the answer refers to them
    /// ([`Endpoint::label_answer`]).
    pub addressing: Option<Box<Addressing>>,
    /// `wsa:Action` of a request whose addressing headers are taken out, if it would have been passed on: where the plan wants signatures, only a
    /// signed one would.
    pub action: Option<String>,
}

/// A step of opening or securing, for those who measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Bytes to envelope.
    Parse,
    /// The cryptography and the comparison with the plan.
    Open,
    /// The replay cache.
    Replay,
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
            Self::Open => "open",
            Self::Replay => "replay",
            Self::Forward => "forward",
            Self::Secure => "secure",
        }
    }
}

/// Told when a step has ended. `()` listens to nothing.
pub trait StepObserver {
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
        Self::compile(&EndpointConfig::load(file, environment)?, role)
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
        Self {
            agreements: vec![Plans {
                inbound,
                outbound,
                addressing: false,
            }],
            operations: None,
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
            sent: Arc::new(Sent::new(None)),
        }
    }

    /// Goes on with what a predecessor has sent in this process, so that nothing of it comes back as the peer's word after a change of
    /// configuration.
    pub fn keep_memory_of(&mut self, predecessor: &Self) {
        self.sent = Arc::clone(&predecessor.sent);
    }

    /// Whether its policy leaves protection to TLS: messages of other connections must not be accepted or sent.
    pub fn needs_tls(&self) -> bool {
        self.private_transport
    }

    /// Whether its policy wants clients to show a certificate while the connection is made (`sp:RequireClientCertificate`).
    pub fn needs_client_certificate(&self) -> bool {
        self.client_certificate
    }

    /// The certificates and revocation lists that its file names, ours and those of others: each once for each use.
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
                .any(|plan| plan.policy().username.is_some())
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

    /// Whether its operations have policies of their own, so that it matters what a request says of which one it is for.
    pub fn tells_operations_apart(&self) -> bool {
        self.operations.is_some()
    }

    /// Whether every message will do, in both directions.
    pub fn demands_nothing(&self) -> bool {
        self.policies().all(Policy::demands_nothing)
    }

    /// Whether messages pass through this endpoint as they are, in both directions: nothing is demanded of them, and no addressing headers are
    /// written or taken out on behalf of peers.
    pub fn is_plain(&self) -> bool {
        self.demands_nothing() && !self.agreements.iter().any(|agreement| agreement.addressing)
    }

    /// Operations whose requests nothing protects, neither the messages nor the connection, although others of their port are protected.
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

    /// Whether no message that arrives takes an operation of a key pair. Of an endpoint with conversations: no message within one.
    pub fn opens_lightly(&self) -> bool {
        self.inbound().all(|plan| !plan.policy().uses_key_pair())
    }

    /// Whether no message that leaves takes an operation of a key pair. Of an endpoint with conversations: no message within one.
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

    /// Verifies a message: parses, looks up, decrypts, verifies, compares, asks the replay cache.
    ///
    /// `request` is what our own request left behind, where this message is its answer.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn verify(
        &self,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Verified<Envelope>, Rejected> {
        self.verified(bytes, request, memory, now, buffers, observer)
            .map(|(verified, _)| verified)
    }

    /// A message that was verified, and the agreement that it was verified by.
    fn verified(
        &self,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<(Verified<Envelope>, &Plans), Rejected> {
        let now = self.clock(now);
        let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
        observer.ended(Step::Parse);
        let (agreement, expected) = match &self.operations {
            Some(operations) if !operations.serves() => self.expect_answer(request.as_ref())?,
            _ => self.expect_request(&envelope, &[], false)?,
        };
        let plan = agreement.inbound();
        let facts = self.facts(&plan.peek(&envelope), request, memory, now)?;
        let verified = self.proven(
            plan, expected, envelope, &facts, memory, now, buffers, observer,
        )?;
        Ok((verified, agreement))
    }

    /// By which agreement a request is to be opened, and as what. `actions` is what was said beside it.
    fn expect_request(
        &self,
        envelope: &Envelope,
        actions: &[String],
        in_conversation: bool,
    ) -> Result<(&Plans, Expected), Rejected> {
        let Some(operations) = &self.operations else {
            return Ok((&self.agreements[0], Expected::Anything));
        };
        let expected = operations.expect_request(envelope, actions, in_conversation)?;
        let agreement = match &expected {
            Expected::Request { agreement, .. } => &self.agreements[*agreement],
            _ => self.for_tokens(),
        };
        Ok((agreement, expected))
    }

    /// By which agreement the answer to a request is to be opened, and as what.
    fn expect_answer(&self, request: Option<&Receipt>) -> Result<(&Plans, Expected), Rejected> {
        let answered = request.map(|receipt| receipt.operations.clone());
        let operations = answered.unwrap_or_default();
        match self.agreed(&operations) {
            Some(agreement) => Ok((agreement, Expected::Answer { operations })),
            None => Err(Rejected::OperationUnclear {
                problem: NO_REQUEST,
            }),
        }
    }

    /// The agreement of operations that are treated alike; `None` of no operations.
    fn agreed(&self, operations: &[usize]) -> Option<&Plans> {
        let table = self.operations.as_ref()?;
        self.agreements.get(table.agreement_of(operations)?)
    }

    /// By which agreement a message is to be secured, and which operations it may be of.
    fn leaving(
        &self,
        envelope: &Envelope,
        outgoing: Outgoing<'_>,
    ) -> Result<(&Plans, Vec<usize>), SecureError> {
        let Some(table) = &self.operations else {
            return Ok((&self.agreements[0], Vec::new()));
        };
        let operations = match (table.serves(), outgoing.answers) {
            (false, _) => table.of_plain(envelope, outgoing.action)?,
            (true, Some(receipt)) => receipt.operations.clone(),
            (true, None) => Vec::new(),
        };
        match self.agreed(&operations) {
            Some(agreement) => Ok((agreement, operations)),
            None => Err(SecureError::OperationUnclear {
                problem: NO_REQUEST,
            }),
        }
    }

    /// The agreement of requests for tokens in a conversation: that of the first operation whose requests have a signed Body.
    fn for_tokens(&self) -> &Plans {
        let serves = self.operations.as_ref().is_none_or(Operations::serves);
        let signs_body = |agreement: &&Plans| {
            agreement
                .of_requests(serves)
                .and_then(|policy| policy.signature.as_ref())
                .is_some_and(|signature| signature.parts.contains(&Part::Body))
        };
        self.agreements
            .iter()
            .find(signs_body)
            .unwrap_or(&self.agreements[0])
    }

    /// What a plan asks for about a message, as far as this endpoint knows.
    fn facts(
        &self,
        lookups: &Lookups,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
    ) -> Result<Facts, Rejected> {
        let passwords = self
            .users
            .iter()
            .filter(|(name, _)| lookups.hidden_user || lookups.users.contains(name))
            .map(|(name, password)| (name.clone(), password.duplicate()))
            .collect();
        Ok(Facts {
            passwords,
            contexts: self.contexts(lookups, memory.contexts, now)?,
            request,
            ..Facts::default()
        })
    }

    /// Remembers a message that `plan` has secured and that is about to be sent, if it could be taken for the peer's.
    fn note_sent(&self, plan: &OutboundPlan, receipt: &Receipt, now: Timestamp) {
        if receipt.marks.is_empty() {
            return;
        }
        let skew = |policy: &Policy| policy.timestamp.unwrap_or_default().skew;
        let bootstrap = self.conversation.iter().map(|one| &one.bootstrap_inbound);
        let opening = self.inbound().chain(bootstrap);
        // An endpoint that opens nothing has nothing to fear.
        if let Some(longest) = opening.map(|plan| skew(plan.policy())).max() {
            let longer = longest.saturating_sub(skew(plan.policy()));
            self.sent.remember(&receipt.marks, longer, now);
        }
    }

    /// Opens a message with a plan, asks whether it is what it was taken for and nothing that was sent from here, and then the replay cache.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that a verdict depends on"
    )]
    fn proven(
        &self,
        plan: &InboundPlan,
        expected: Expected,
        envelope: Envelope,
        facts: &Facts,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Verified<Envelope>, Rejected> {
        let opened = plan.open(envelope, facts, now, buffers)?;
        let operations = match &self.operations {
            Some(table) => opened.examine(|envelope| table.confirm(envelope, expected))?,
            None => Vec::new(),
        };
        match self.sent.known(opened.marks(), now) {
            Known::Foreign => {}
            Known::Sent => return Err(opened.refused(Rejected::Reflected)),
            Known::Forgotten => {
                let problem = "the clock was set back: whether the message was sent from here is not known any more".to_owned();
                return Err(opened.refused(Rejected::ReplayUnknown { problem }));
            }
        }
        observer.ended(Step::Open);
        let first_seen = memory
            .replay
            .first_seen(opened.marks(), now)
            .map_err(|error| {
                opened.refused(match error {
                    ReplayError::Seen => Rejected::Replayed,
                    other => Rejected::ReplayUnknown {
                        problem: other.to_string(),
                    },
                })
            })?;
        let mut verified = opened.admit(first_seen)?;
        verified.note_operations(operations);
        observer.ended(Step::Replay);
        Ok(verified)
    }

    /// The contexts that a message names, as far as this endpoint has them.
    fn contexts(
        &self,
        lookups: &Lookups,
        contexts: &dyn ContextStore,
        now: Timestamp,
    ) -> Result<Vec<SecurityContext>, Rejected> {
        let found = lookups.contexts.iter().map(|name| {
            contexts
                .find(&self.scope, name, now)
                .map_err(|error| Rejected::ContextsUnavailable {
                    problem: error.to_string(),
                })
        });
        found.filter_map(Result::transpose).collect()
    }

    /// Opens a message: [verifies](Self::verify) it, and rebuilds it from what was proven.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn open(
        &self,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        let (verified, agreement) =
            self.verified(bytes, request, memory, now, buffers, observer)?;
        agreement.rebuilt(verified, buffers, observer)
    }

    /// Secures a plain message of an application. In a conversation it is no request for a token, which would be obeyed as our own.
    ///
    /// # Errors
    /// Why the message cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no outbound direction.
    pub fn secure(
        &self,
        bytes: Vec<u8>,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Secured, SecureError> {
        let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
        observer.ended(Step::Parse);
        let is_request = outgoing.answers.is_none();
        if is_request && self.conversation.is_some() && carries_token_request(&envelope) {
            return Err(SecureError::TokenRequest);
        }
        let (agreement, operations) = self.leaving(&envelope, outgoing)?;
        let plan = agreement.outbound();
        let now = self.clock(now);
        let mut secured = plan.secure(envelope, outgoing, now, buffers)?;
        self.note_sent(plan, &secured.receipt, now);
        secured.receipt.operations = operations;
        observer.ended(Step::Secure);
        Ok(secured)
    }
}

/// What answers depend on is not there.
const NO_REQUEST: &str = "the request that it answers is not known";

impl Plans {
    /// A message that is passed on, rebuilt from what was proven.
    fn rebuilt(
        &self,
        mut verified: Verified<Envelope>,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        let version = verified.envelope().version();
        let addressing = self
            .addressing
            .then(|| addressing::of(verified.envelope()))
            .flatten()
            .map(Box::new);
        let action = addressing.as_deref().and_then(|read| {
            let document = verified.envelope().document();
            let mut passed = verified.blocks().iter();
            let is_action = |block: &NodeId| {
                let block = document.element(*block);
                block.is(read.version.namespace(), "Action")
            };
            passed.any(is_action).then(|| read.action.clone())
        });
        if self.addressing {
            verified.drop_blocks(addressing::is_block);
        }
        let mut forwarded = buffers.take(verified.envelope().document().bytes().len());
        verified.forward(&mut forwarded, buffers)?;
        let (evidence, receipt) = verified.finish(buffers);
        observer.ended(Step::Forward);
        Ok(OpenedMessage {
            bytes: forwarded,
            version,
            evidence,
            receipt,
            addressing,
            action,
        })
    }
}
