//! Conversations of an endpoint: a service makes contexts for its clients, a client asks for one.
//!
//! A message that names a security context is opened with the plan of the conversation, any other
//! one with the plan of the bootstrap. What the bootstrap secured may only ask for a token: an
//! application's message must come in a conversation, so that nobody can step down from the one to
//! the other.

use jiff::Timestamp;
use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_trust::{
    Answer, ClientRules, ContextsUnavailable, Effect, Operation, Requester, SecurityTokenService,
    TrustFault,
};
use soapstone_wss::{
    ContextName, Envelope, InboundPlan, KeyBinding, Lookups, OutboundPlan, Outgoing, Part, Policy,
    Rejected, SecureError, SecurityContext, SoapVersion, Verified,
};
use soapstone_xml::Buffers;

use super::addressing::{self, envelope_of};
use super::messages::Arriving;
use super::operations::{Expected, holds_token_request};
use super::{Endpoint, Memory, OpenedMessage, Step, StepObserver};

/// How contexts are made at an endpoint.
#[derive(Debug)]
pub struct Conversation {
    pub(super) bootstrap_inbound: InboundPlan,
    pub(super) bootstrap_outbound: OutboundPlan,
    /// Of requests that a context endorses and that are secured as the bootstrap's are besides.
    pub(super) renewal_inbound: Option<InboundPlan>,
    /// For a service: what it grants.
    pub(super) service: SecurityTokenService,
    /// For a client: what it asks for.
    pub(super) client: ClientRules,
    /// What is done about contexts, as far as the policy does not rule it out.
    pub(super) operations: Vec<Operation>,
}

impl Conversation {
    /// Whether this is done about contexts: a policy can rule out that they are cancelled, renewed
    /// or amended (WS-SecurityPolicy 1.3, 5.4.7).
    pub fn has(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Whether the messages that begin it hide what both sides contribute to its key. Where they do
    /// not, they need TLS.
    pub fn hides_its_keys(&self) -> bool {
        encrypts_body_afresh(self.bootstrap_outbound.policy())
            && encrypts_body_afresh(self.bootstrap_inbound.policy())
    }
}

/// What arrived at a service.
#[derive(Debug)]
pub enum Arrived {
    /// A message for the application.
    Message(Box<OpenedMessage>),
    /// A request for a token, and its answer.
    Answered(TokenAnswer),
}

/// A request that was read and not yet opened.
#[derive(Debug)]
pub struct ReadRequest {
    envelope: Envelope,
    /// What the plan for requests for tokens asks for.
    lookups: Lookups,
    actions: Vec<String>,
}

impl ReadRequest {
    /// The same request, with what was said beside it of its operation: `SOAPAction`, the parameter
    /// `action` of its media type. Each of them has to be right.
    #[must_use]
    pub fn about(mut self, actions: Vec<String>) -> Self {
        self.actions = actions;
        self
    }

    /// Whether it names a security context, so that it is opened with the plan of the conversation
    /// and never with the bootstrap's.
    pub fn names_context(&self) -> bool {
        !self.lookups.contexts.is_empty()
    }
}

/// The answer to a request for a token, ready to be sent.
#[derive(Debug)]
pub struct TokenAnswer {
    /// The envelope: secured, or a fault.
    pub bytes: Vec<u8>,
    /// Its version.
    pub version: SoapVersion,
    /// `wsa:Action` of the answer.
    pub action: String,
    /// What was done, for logs and metrics.
    pub done: Vec<TokenDone>,
    /// Why the request was refused, if it was.
    pub refused: Option<TrustFault>,
}

/// What became of a context.
#[derive(Clone, Debug)]
pub struct TokenDone {
    /// `issued`, `renewed`, `amended` or `cancelled`.
    pub what: &'static str,
    /// Which.
    pub identifier: String,
    /// Whose; for a cancelled context nobody's any more.
    pub owner: Option<String>,
}

/// Why a message or a request for a token came to nothing.
#[derive(Debug)]
pub enum ReceiveError {
    /// The message is refused.
    Rejected(Rejected),
    /// The answer cannot be secured.
    Unsecurable(SecureError),
    /// The answer holds a key, and the policy of answers does not encrypt it.
    WouldExpose,
}

impl From<Rejected> for ReceiveError {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl Endpoint {
    /// How conversations begin here, if the endpoint has them.
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversation.as_ref()
    }

    /// Reads a request at a service, for [`receive_read`](Self::receive_read). Nothing of it is
    /// proven yet.
    ///
    /// # Errors
    /// It is no envelope, or passes a limit.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no inbound direction.
    pub fn read_request(
        &self,
        bytes: Vec<u8>,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<ReadRequest, Rejected> {
        let envelope = Envelope::parse(bytes, self.limits(), buffers)?;
        // Operations share their conversations, so that any agreement knows how they are named.
        let lookups = self.for_tokens().inbound().peek(&envelope);
        observer.ended(Step::Parse);
        Ok(ReadRequest {
            envelope,
            lookups,
            actions: Vec::new(),
        })
    }

    /// Opens a request at a service: an application's message is rebuilt from what was proven, a
    /// request for a token is answered.
    ///
    /// `private_transport` says that the message came over TLS, and that its answer goes back the
    /// same way. Where operations have policies of their own, what was said beside the message
    /// has to be heard as well: [read](Self::read_request) it, and say what it is
    /// [about](ReadRequest::about).
    ///
    /// # Errors
    /// Why the message is refused, or its answer cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no inbound direction.
    pub fn receive(
        &self,
        bytes: Vec<u8>,
        private_transport: bool,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        let request = self.read_request(bytes, buffers, observer)?;
        self.receive_read(request, private_transport, memory, now, buffers, observer)
    }

    /// [Receives](Self::receive) a request that was read before.
    ///
    /// # Errors
    /// Why the message is refused, or its answer cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no inbound direction.
    pub fn receive_read(
        &self,
        request: ReadRequest,
        private_transport: bool,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        let now = self.clock(now);
        let in_conversation = request.names_context();
        let ReadRequest {
            envelope,
            lookups,
            actions,
        } = request;
        // A request outside of conversations, at an endpoint that has them, is opened by the
        // bootstrap's plan.
        let bootstrap = self.conversation.as_ref().filter(|_| !in_conversation);
        // And one within them that shows besides who asks, by that plan and the context's key.
        let renewal = self.conversation.as_ref().filter(|_| in_conversation);
        let renewal = renewal.and_then(|conversation| conversation.renewal(&envelope));
        let asks_only = bootstrap.is_some() || renewal.is_some();
        let (agreement, expected) = match asks_only {
            true => (&self.agreements[0], Expected::Anything),
            false => self.expect_request(&envelope, &actions, in_conversation)?,
        };
        let plan = match (renewal, bootstrap) {
            (Some(renewal), _) => renewal,
            (None, Some(conversation)) => &conversation.bootstrap_inbound,
            (None, None) => agreement.inbound(),
        };
        let lookups = if std::ptr::eq(plan, self.for_tokens().inbound()) {
            lookups
        } else {
            plan.peek(&envelope)
        };
        let facts = self.facts(&lookups, None, memory, now)?;
        let contexts = facts.contexts.clone();
        let arriving = Arriving {
            expected,
            said: Some(&actions),
        };
        let verified = self.proven(
            plan, arriving, envelope, &facts, memory, now, buffers, observer,
        )?;
        let token_request = self
            .conversation
            .as_ref()
            .filter(|_| holds_token_request(verified.envelope()));
        let Some(conversation) = token_request else {
            if asks_only {
                return Err(Rejected::NotInConversation.into());
            }
            let opened = agreement.rebuilt(verified, buffers, observer)?;
            return Ok(Arrived::Message(Box::new(opened)));
        };
        let requester = Requester::of(&verified, &contexts, private_transport);
        let response = if asks_only {
            &conversation.bootstrap_outbound
        } else {
            agreement.outbound()
        };
        let answered = self.answer(
            &conversation.service,
            verified,
            &requester,
            response,
            private_transport,
            memory,
            now,
            buffers,
        );
        observer.ended(Step::Secure);
        answered.map(Arrived::Answered)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "everything that an answer depends on"
    )]
    fn answer(
        &self,
        service: &SecurityTokenService,
        verified: Verified<Envelope>,
        requester: &Requester,
        response: &OutboundPlan,
        private_transport: bool,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<TokenAnswer, ReceiveError> {
        let version = verified.envelope().version();
        let addressing = addressing::of(verified.envelope());
        let action = verified_action(&verified);
        let find = |name: &ContextName| {
            memory
                .contexts
                .find(self.scope(), name, now)
                .map_err(|error| ContextsUnavailable {
                    problem: error.to_string(),
                })
        };
        let body = verified.envelope().body();
        let outcome = service.answer(body, action.as_deref(), requester, &find, now);
        let (_, receipt) = verified.finish(buffers);
        let answer = match outcome {
            Ok(answer) => answer,
            Err(fault) => return Ok(refused(version, addressing.as_ref(), fault)),
        };
        // A new key must not be protected by the key that it replaces (WS-SecureConversation 1.4,
        // 5), and by nothing even less.
        let hidden = private_transport || encrypts_body_afresh(response.policy());
        if answer.confidential && !hidden {
            return Err(ReceiveError::WouldExpose);
        }
        let done = self.carry_out(&answer, memory, now)?;
        let headers = addressing.map(|request| request.answer(answer.action.clone()));
        let plain = envelope_of(version, headers.as_ref(), &answer.body);
        let envelope = Envelope::parse(plain, self.limits(), buffers).map_err(SecureError::from);
        let secured = envelope.and_then(|envelope| {
            response.secure(envelope, Outgoing::answer(&receipt), now, buffers)
        });
        let secured = secured.map_err(ReceiveError::Unsecurable)?;
        self.note_sent(response, &secured.receipt, now);
        Ok(TokenAnswer {
            bytes: secured.bytes,
            version,
            action: answer.action,
            done,
            refused: None,
        })
    }

    /// Does what the answer promises, before it is sent.
    fn carry_out(
        &self,
        answer: &Answer,
        memory: Memory<'_>,
        now: Timestamp,
    ) -> Result<Vec<TokenDone>, Rejected> {
        let contexts = memory.contexts;
        let mut done = Vec::with_capacity(answer.effects.len());
        for effect in &answer.effects {
            let (what, identifier, owner) = match effect {
                Effect::Store(context) => {
                    contexts
                        .insert(self.scope(), context)
                        .map_err(unavailable)?;
                    ("issued", &context.identifier, Some(&context.owner))
                }
                Effect::Replace { context, grace } => {
                    let there = contexts
                        .renew(self.scope(), context, *grace, now)
                        .map_err(unavailable)?;
                    known(there, context)?;
                    ("renewed", &context.identifier, Some(&context.owner))
                }
                Effect::Amend { before, after } => {
                    let there = contexts
                        .amend(self.scope(), before, after)
                        .map_err(unavailable)?;
                    known(there, after)?;
                    ("amended", &after.identifier, Some(&after.owner))
                }
                Effect::Cancel { identifier } => {
                    contexts
                        .cancel(self.scope(), identifier)
                        .map_err(unavailable)?;
                    ("cancelled", identifier, None)
                }
                _ => {
                    return Err(Rejected::ContextsUnavailable {
                        problem:
                            "the token service asks for something that this endpoint cannot do"
                                .to_owned(),
                    });
                }
            };
            done.push(TokenDone {
                what,
                identifier: identifier.clone(),
                owner: owner.map(ToString::to_string),
            });
        }
        Ok(done)
    }
}

fn unavailable(error: crate::conversation::StoreUnavailable) -> Rejected {
    Rejected::ContextsUnavailable {
        problem: error.to_string(),
    }
}

/// A context that was cancelled while it was being renewed or amended stays cancelled, and one that
/// was renewed stays renewed.
fn known(there: bool, context: &SecurityContext) -> Result<(), Rejected> {
    if there {
        return Ok(());
    }
    Err(Rejected::ContextUnknown {
        name: context.name(),
    })
}

/// Whether answers under a policy hide their Body by a key that is not a security context's.
fn encrypts_body_afresh(policy: &Policy) -> bool {
    policy.encryption().is_some_and(|encryption| {
        let body = encryption
            .parts
            .iter()
            .any(|wanted| wanted.part == Part::Body);
        body && encryption.key != KeyBinding::Context
    })
}

/// The action of a message, if it is among what was verified.
fn verified_action(verified: &Verified<Envelope>) -> Option<String> {
    let document = verified.envelope().document();
    let action = verified.blocks().iter().find_map(|block| {
        let block = document.element(*block);
        let is_action = block.local() == "Action"
            && AddressingVersion::from_namespace(block.namespace()).is_some();
        is_action.then(|| block.text_strict()).flatten()
    })?;
    Some(action.trim().to_owned())
}

fn refused(version: SoapVersion, request: Option<&Addressing>, fault: TrustFault) -> TokenAnswer {
    let mut body = Vec::new();
    fault.code().write(fault.version, version, &mut body);
    let action = request.map_or(String::new(), |request| {
        request.version.fault_action().to_owned()
    });
    let headers = request.map(|request| request.answer(action.clone()));
    TokenAnswer {
        bytes: envelope_of(version, headers.as_ref(), &body),
        version,
        action,
        done: Vec::new(),
        refused: Some(fault),
    }
}

#[cfg(test)]
mod tests;
