//! An endpoint: one peer's security in both directions, ready to be run.
//!
//! It is the host that the plans ask: it knows the users, the clock that was configured, and what to remember. Everything here is
//! synchronous; a server calls it on a pool of its own.

mod addressing;
mod agreed;
mod agreement;
mod compile;
mod conversation;
mod handshake;
mod keys;

use std::path::Path;

use jiff::Timestamp;
use soapstone_crypto::SecretBytes;
use soapstone_trust::addressing::Addressing;
use soapstone_wss::{
    Envelope, Evidence, Facts, InboundPlan, Lookups, OutboundPlan, Outgoing, Receipt, Rejected,
    SecureError, Secured, SecurityContext, SoapVersion, Verified,
};
use soapstone_xml::{Buffers, Limits};

use crate::config::{ConversationsConfig, EndpointConfig, Environment, Problems, ReplayConfig};
use crate::conversation::{ContextStore, NoContexts};
use crate::replay::{ReplayCache, ReplayError};

pub use agreement::preset_agreement;
pub use conversation::{Arrived, Conversation, ReadRequest, ReceiveError, TokenAnswer, TokenDone};
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
    inbound: Option<InboundPlan>,
    outbound: Option<OutboundPlan>,
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
    addressing: bool,
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
            inbound,
            outbound,
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
            addressing: false,
        }
    }

    /// Whether its policy leaves protection to TLS: messages of other connections must not be accepted or sent.
    pub fn needs_tls(&self) -> bool {
        self.private_transport
    }

    /// Whether its policy wants clients to show a certificate while the connection is made (`sp:RequireClientCertificate`).
    pub fn needs_client_certificate(&self) -> bool {
        self.client_certificate
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

    /// Whether messages pass through this endpoint as they are, in both directions.
    pub fn is_plain(&self) -> bool {
        let inbound = self
            .inbound
            .as_ref()
            .is_none_or(|plan| !plan.policy().has_security());
        let outbound = self
            .outbound
            .as_ref()
            .is_none_or(|plan| !plan.policy().has_security());
        inbound && outbound
    }

    /// The plan for messages that arrive.
    pub fn inbound(&self) -> Option<&InboundPlan> {
        self.inbound.as_ref()
    }

    /// The plan for messages that leave.
    pub fn outbound(&self) -> Option<&OutboundPlan> {
        self.outbound.as_ref()
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
        let plan = self.inbound_plan();
        let now = self.clock(now);
        let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
        observer.ended(Step::Parse);
        let facts = self.facts(&plan.peek(&envelope), request, memory, now)?;
        self.proven(plan, envelope, &facts, memory, now, buffers, observer)
    }

    fn inbound_plan(&self) -> &InboundPlan {
        self.inbound
            .as_ref()
            .expect("an endpoint that opens has an inbound plan")
    }

    fn outbound_plan(&self) -> &OutboundPlan {
        self.outbound
            .as_ref()
            .expect("an endpoint that secures has an outbound plan")
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

    /// Opens a message with a plan, and asks the replay cache.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that a verdict depends on"
    )]
    fn proven(
        &self,
        plan: &InboundPlan,
        envelope: Envelope,
        facts: &Facts,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Verified<Envelope>, Rejected> {
        let opened = plan.open(envelope, facts, now, buffers)?;
        observer.ended(Step::Open);
        let first_seen =
            memory
                .replay
                .first_seen(opened.marks(), now)
                .map_err(|error| match error {
                    ReplayError::Seen => Rejected::Replayed,
                    other => Rejected::ReplayUnknown {
                        problem: other.to_string(),
                    },
                })?;
        let verified = opened.admit(first_seen)?;
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
        let verified = self.verify(bytes, request, memory, now, buffers, observer)?;
        self.rebuilt(verified, buffers, observer)
    }

    /// Secures a plain message.
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
        let plan = self.outbound_plan();
        let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
        observer.ended(Step::Parse);
        let secured = plan.secure(envelope, outgoing, self.clock(now), buffers)?;
        observer.ended(Step::Secure);
        Ok(secured)
    }
}

impl Endpoint {
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
        })
    }
}
