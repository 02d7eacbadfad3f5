//! Conversations of an endpoint: a service makes contexts for its clients, a client asks for one.
//!
//! A message that names a security context is opened with the plan of the conversation, any other
//! one with the plan of the bootstrap. What the bootstrap secured may only ask for a token: an
//! application's message must come in a conversation, so that nobody can step down from the one to
//! the other.

use std::cell::RefCell;

use jiff::Timestamp;
use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_trust::{
    Answer, ContextsUnavailable, Effect, Issued, Records, Requester, SecurityTokenService,
    TrustFault,
};
use soapstone_wss::{
    ContextName, ContextOwner, Envelope, IdDigest, Message, OutboundPlan, Outgoing, Rejected,
    SecureError, SecurityContext, Verified,
};
use soapstone_xml::{Buffers, Element};

use super::addressing_headers::{envelope_of, of as addressing_of};
use super::arrived::{Arrived, ReadRequest, ReceiveError, TokenAnswer, TokenDone};
use super::arriving::Arriving;
use super::asking::{Store, Workspace};
use super::bootstrap::encrypts_body_afresh;
use super::compiled::Endpoint;
use super::opened::OpenedMessage;
use super::operations::{Expected, holds_token_request};
use super::plans::{Opens, Secures};
use super::step::{Step, StepObserver};
use crate::cancellations;
use crate::conversation::{ContextStore, StoreUnavailable};
use crate::replay::ReplayError;

impl<P: Opens + Secures> Endpoint<P> {
    /// A request at a service that was read. Nothing of it is proven yet.
    pub(super) fn read_from(
        &self,
        message: Message,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<ReadRequest, Rejected> {
        let envelope = self.parse(message, buffers)?;
        // Operations share their conversations, so that any exchange policy knows how they are
        // named.
        let lookups = self.for_tokens().opening().peek(&envelope);
        observer.ended(Step::Parse);
        Ok(ReadRequest {
            envelope,
            lookups,
            actions: Vec::new(),
            over_tls: false,
            client_certificate: None,
        })
    }

    /// What becomes of a request at a service: an application's message is rebuilt from what was
    /// proven, a request for a token is answered.
    pub(super) async fn received(
        &self,
        request: Box<ReadRequest>,
        workspace: &Workspace,
        allows: &(dyn Fn(&TokenAnswer) -> bool + Sync),
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        let now = self.clock(now);
        let in_conversation = request.names_context();
        let ReadRequest {
            envelope,
            lookups,
            actions,
            over_tls: private_transport,
            client_certificate,
        } = *request;
        // A request outside of conversations, at an endpoint that has them, is opened by the
        // bootstrap's plan.
        let bootstrap = self.conversation.as_ref().filter(|_| !in_conversation);
        // And one within them that shows besides who asks, by that plan and the context's key.
        let renewal = self.conversation.as_ref().filter(|_| in_conversation);
        let renewal = renewal.and_then(|conversation| conversation.renewal(&envelope));
        let asks_only = bootstrap.is_some() || renewal.is_some();
        let (plans, expected) = match asks_only {
            true => (&self.plans[0], Expected::Anything),
            false => self.expect_request(&envelope, &actions, in_conversation)?,
        };
        let plan = match (renewal, bootstrap) {
            (Some(renewal), _) => renewal,
            (None, Some(conversation)) => &conversation.bootstrap_inbound,
            (None, None) => plans.opening(),
        };
        let lookups = if std::ptr::eq(plan, self.for_tokens().opening()) {
            lookups
        } else {
            plan.peek(&envelope)
        };
        let mut facts = self.facts(&lookups, None, workspace, now, observer).await?;
        let shown = client_certificate.filter(|_| plan.policy().assertion().is_some());
        facts.client_certificate = shown.map(|shown| (*shown).clone());
        let arriving = Arriving {
            expected,
            said: Some(&actions),
        };
        let judged = self
            .proven(plan, arriving, envelope, &facts, workspace, now, observer)
            .await?;
        if plan.passes_on() {
            let message = self.passed_on(judged, workspace, now, observer)?;
            let opened = OpenedMessage::passed_on(message, &mut workspace.buffers())?;
            return Ok(Arrived::Message(Box::new(opened)));
        }
        let verified = judged.admit()?;
        let contexts = &facts.contexts;
        if let Some(service) = &self.sts {
            // Whatever it is, it goes no further than here.
            let requester = Requester::of(&verified, contexts, private_transport);
            let answering = self.token_answer(
                service,
                verified,
                &requester,
                plans.securing(),
                private_transport,
                workspace,
                allows,
                now,
                observer,
            );
            let answered = Box::pin(answering).await;
            observer.ended(Step::Secure);
            return answered.map(Arrived::Answered);
        }
        let token_request = self
            .conversation
            .as_ref()
            .filter(|_| holds_token_request(verified.envelope()));
        let Some(conversation) = token_request else {
            if asks_only {
                return Err(Rejected::NotInConversation.into());
            }
            let opened = plans.rebuilt(verified, &mut workspace.buffers(), observer)?;
            return Ok(Arrived::Message(opened));
        };
        let requester = Requester::of(&verified, contexts, private_transport);
        let response = if asks_only {
            &conversation.bootstrap_outbound
        } else {
            plans.securing()
        };
        let answering = self.token_answer(
            &conversation.service,
            verified,
            &requester,
            response,
            private_transport,
            workspace,
            allows,
            now,
            observer,
        );
        let answered = Box::pin(answering).await;
        observer.ended(Step::Secure);
        answered.map(Arrived::Answered)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "everything that an answer depends on"
    )]
    async fn token_answer(
        &self,
        service: &SecurityTokenService,
        verified: Verified<Envelope>,
        requester: &Requester,
        response: &OutboundPlan,
        private_transport: bool,
        workspace: &Workspace,
        allows: &(dyn Fn(&TokenAnswer) -> bool + Sync),
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<TokenAnswer, ReceiveError> {
        let version = verified.envelope().version();
        let addressing = addressing_of(verified.envelope());
        let mut told = TokenAnswer {
            bytes: Vec::new(),
            version,
            action: String::new(),
            requester: Box::new(requester.owner.clone()),
            token: requester.token.clone(),
            operation: operation_of(verified.envelope()),
            of_assertions: service.rules().assertions.is_some(),
            done: Vec::new(),
            refused: None,
        };
        let outcome = self.answered(service, &verified, requester, workspace, now);
        let outcome = outcome.await;
        let (_, receipt) = verified.finish(&mut workspace.buffers());
        // One answer, whatever the token service says, and before anything of it is done.
        if !allows(&told) {
            return Err(ReceiveError::NotAllowed);
        }
        let mut answer = match outcome {
            Ok(answer) => answer,
            Err(fault) => return Ok(refused(told, addressing.as_ref(), fault)),
        };
        // A new key must not be protected by the key that it replaces (WS-SecureConversation 1.4,
        // 5), and by nothing even less.
        let hidden = private_transport || encrypts_body_afresh(response.policy());
        if answer.confidential && !hidden {
            return Err(ReceiveError::WouldExpose);
        }
        let effects = std::mem::take(&mut answer.effects);
        if !effects.is_empty() {
            let carried = self.carry_out(effects, workspace, now).await;
            observer.ended(Step::Contexts);
            told.done = carried.done;
            if let Some(rejected) = carried.failed {
                let ended = answer.issued.into_iter();
                let ended = ended.filter(|issued| carried.cancelled.contains(&issued.id));
                told.done.extend(ended.map(assertion_done));
                return Err(after(told, rejected.into()));
            }
        }
        told.done
            .extend(answer.issued.drain(..).map(assertion_done));
        let headers = addressing.map(|request| request.answer(answer.action.clone()));
        let plain = envelope_of(version, headers.as_ref(), &answer.body);
        let buffers = &mut workspace.buffers();
        let envelope = Envelope::parse(plain, self.limits(), buffers).map_err(SecureError::from);
        let secured = envelope.and_then(|envelope| {
            let outgoing = Outgoing {
                clock: self.peer_clock(),
                ..Outgoing::answer(&receipt)
            };
            response.secure(envelope, outgoing, now, buffers)
        });
        let secured = match secured {
            Ok(secured) => secured,
            Err(error) => return Err(unsent(told, error)),
        };
        self.note_sent(response, &secured.receipt, now);
        let recipients = self.on_the_way(false);
        let onward = self.secured_onward(recipients, secured.bytes, now, buffers, observer);
        match onward {
            Ok(bytes) => told.bytes = bytes,
            Err(error) => return Err(unsent(told, error)),
        }
        told.action = answer.action;
        Ok(told)
    }

    /// What the token service answers. It asks for a context, or whether an assertion was
    /// cancelled, by calling back; what it asks for is looked up, and then it is asked once more.
    ///
    /// Of assertions it is told at first that they hold. The store says of all of them at once
    /// whether that is so, and if it is, the answer stands: a batch is signed once.
    async fn answered(
        &self,
        service: &SecurityTokenService,
        verified: &Verified<Envelope>,
        requester: &Requester,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Answer, TrustFault> {
        let action = verified_action(verified);
        let action = action.as_deref();
        let mut known = Known::default();
        loop {
            let body = verified.envelope().body();
            match judged(service, body, action, requester, &known, now) {
                Judged::Final(outcome) => return outcome,
                Judged::IfTheyHold(names, outcome) => {
                    let count = names.len();
                    let asked = names.clone();
                    let found = workspace.ask(Store::Replay, move |memory| {
                        let said = asked.iter().map(|(issuer, id)| {
                            let name = (issuer.as_str(), id.as_str());
                            cancellations::is_cancelled(memory.replay, name, now).map_err(unknown)
                        });
                        said.collect::<Vec<_>>()
                    });
                    let found = found.await;
                    let hold = found.iter().all(|found| *found == Ok(false));
                    if hold && found.len() == count {
                        return outcome;
                    }
                    known.cancelled.extend(names.into_iter().zip(found));
                }
                Judged::Lacks(name) => {
                    let found = self.contexts(vec![name.clone()], workspace, now).await;
                    let found = match found {
                        Ok(mut found) => Ok(found.pop()),
                        // It is as good as none.
                        Err(Rejected::AssertionCancelled) => Ok(None),
                        Err(Rejected::ContextsUnavailable { problem }) => Err(unknown(problem)),
                        Err(error) => Err(unknown(error)),
                    };
                    known.contexts.push((name, found));
                }
            }
        }
    }

    /// Does what the answer promises, before it is sent: up to what fails.
    async fn carry_out(
        &self,
        effects: Vec<Effect>,
        workspace: &Workspace,
        now: Timestamp,
    ) -> CarriedOut {
        let mut carried = CarriedOut::default();
        let cancels = |effect: &Effect| matches!(effect, Effect::CancelAssertion { .. });
        let (cancelled, effects): (Vec<_>, Vec<_>) = effects.into_iter().partition(cancels);
        for effect in cancelled {
            let Effect::CancelAssertion {
                issuer,
                id,
                until,
                requester,
            } = effect
            else {
                continue;
            };
            let name = id.clone();
            let remembered = workspace.ask(Store::Replay, move |memory| {
                let name = (issuer.as_str(), name.as_str());
                cancellations::cancel(memory.replay, name, &requester, until, now)
            });
            let failed = match remembered.await {
                Ok(()) => {
                    carried.cancelled.push(id);
                    continue;
                }
                Err(ReplayError::ShareUsed { share }) => Rejected::CancellationsUsed { share },
                Err(error) => Rejected::ReplayUnknown {
                    problem: error.to_string(),
                },
            };
            carried.failed = Some(failed);
            return carried;
        }
        if effects.is_empty() {
            return carried;
        }
        let scope = self.scope.clone();
        let done = workspace.ask(Store::Contexts, move |memory| {
            let mut done = Vec::with_capacity(effects.len());
            for effect in &effects {
                match carry_out(effect, &scope, memory.contexts, now) {
                    Ok(one) => done.push(one),
                    Err(failed) => return (done, Some(failed)),
                }
            }
            (done, None)
        });
        (carried.done, carried.failed) = done.await;
        carried
    }
}

/// What of an answer's promises is in force.
#[derive(Debug, Default)]
struct CarriedOut {
    /// About contexts.
    done: Vec<TokenDone>,
    /// The ids of assertions that were cancelled.
    cancelled: Vec<String>,
    /// Why the rest is not.
    failed: Option<Rejected>,
}

/// What became of an assertion. Whoever has the id of a bearer's may be given the assertion.
fn assertion_done(issued: Issued) -> TokenDone {
    TokenDone {
        what: issued.what,
        identifier: match issued.is_bearers {
            true => IdDigest(&issued.id).to_string(),
            false => issued.id,
        },
        owner: Some(issued.subject),
        domain: issued.domain,
        audience: Some(issued.audience),
    }
}

/// The failure of a request for tokens, with what is in force nevertheless.
fn after(told: TokenAnswer, error: ReceiveError) -> ReceiveError {
    match told.done.is_empty() {
        true => error,
        false => ReceiveError::AfterTokens {
            told: Box::new(told),
            error: Box::new(error),
        },
    }
}

/// The failure of an answer that cannot be sent: nobody has the assertions that it issued.
fn unsent(mut told: TokenAnswer, error: SecureError) -> ReceiveError {
    told.done
        .retain(|done| done.audience.is_none() || done.what == "cancelled");
    after(told, ReceiveError::Unsecurable(error))
}

/// What a store has under a name.
type Found = Result<Option<SecurityContext>, ContextsUnavailable>;

/// What the stores have said so far.
#[derive(Default)]
struct Known {
    contexts: Vec<(ContextName, Found)>,
    /// Whether assertions were cancelled, by issuer and id.
    cancelled: Vec<((String, String), Result<bool, ContextsUnavailable>)>,
}

/// What a token service says by what is known.
enum Judged {
    /// Its answer.
    Final(Result<Answer, TrustFault>),
    /// Its answer, if no assertion of these was cancelled, by issuer and id.
    IfTheyHold(Vec<(String, String)>, Result<Answer, TrustFault>),
    /// It asks for a context first.
    Lacks(ContextName),
}

fn unknown(error: impl ToString) -> ContextsUnavailable {
    ContextsUnavailable {
        problem: error.to_string(),
    }
}

/// What the token service answers, or what it asks for and that is not known yet.
fn judged(
    service: &SecurityTokenService,
    body: Element<'_>,
    action: Option<&str>,
    requester: &Requester,
    known: &Known,
    now: Timestamp,
) -> Judged {
    let lacks = RefCell::new(None);
    let supposed = RefCell::new(Vec::new());
    let contexts = |name: &ContextName| {
        let mut known = known.contexts.iter();
        match known.find(|(known, _)| known == name) {
            Some((_, found)) => found.clone(),
            None => {
                lacks.replace(Some(name.clone()));
                Err(unknown("it is to be looked up"))
            }
        }
    };
    let cancelled = |issuer: &str, id: &str| {
        let mut known = known.cancelled.iter();
        match known.find(|(known, _)| known.0 == issuer && known.1 == id) {
            Some((_, found)) => found.clone(),
            None => {
                let name = (issuer.to_owned(), id.to_owned());
                let mut supposed = supposed.borrow_mut();
                if !supposed.contains(&name) {
                    supposed.push(name);
                }
                Ok(false)
            }
        }
    };
    let records = Records {
        contexts: &contexts,
        cancelled: &cancelled,
    };
    let outcome = service.answer(body, action, requester, records, now);
    match (lacks.take(), supposed.take()) {
        (Some(name), _) => Judged::Lacks(name),
        (None, names) if names.is_empty() => Judged::Final(outcome),
        (None, names) => Judged::IfTheyHold(names, outcome),
    }
}

fn carry_out(
    effect: &Effect,
    scope: &str,
    contexts: &dyn ContextStore,
    now: Timestamp,
) -> Result<TokenDone, Rejected> {
    let (what, identifier, owner) = match effect {
        Effect::Store(context) => {
            contexts.insert(scope, context).map_err(unavailable)?;
            ("issued", &context.identifier, Some(&context.owner))
        }
        Effect::Replace { context, grace } => {
            let there = contexts.renew(scope, context, *grace, now);
            known(there.map_err(unavailable)?, context)?;
            ("renewed", &context.identifier, Some(&context.owner))
        }
        Effect::Amend { before, after } => {
            let there = contexts.amend(scope, before, after);
            known(there.map_err(unavailable)?, after)?;
            ("amended", &after.identifier, Some(&after.owner))
        }
        Effect::Cancel { identifier } => {
            contexts.cancel(scope, identifier).map_err(unavailable)?;
            ("cancelled", identifier, None)
        }
        _ => {
            return Err(Rejected::ContextsUnavailable {
                problem: "the token service asks for something that this endpoint cannot do"
                    .to_owned(),
            });
        }
    };
    let (owner, domain) = match owner {
        Some(ContextOwner::Subject(owner)) => {
            let domain = owner.subject.domain(&owner.issuer).to_owned();
            (Some(owner.subject.value.clone()), Some(domain))
        }
        owner => (owner.map(ToString::to_string), None),
    };
    Ok(TokenDone {
        what,
        identifier: identifier.clone(),
        owner,
        domain,
        audience: None,
    })
}

fn unavailable(error: StoreUnavailable) -> Rejected {
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

/// The same answer with a fault.
fn refused(answer: TokenAnswer, request: Option<&Addressing>, fault: TrustFault) -> TokenAnswer {
    let version = answer.version;
    let mut body = Vec::new();
    fault.code().write(fault.version, version, &mut body);
    let action = request.map_or(String::new(), |request| {
        request.version.fault_action().to_owned()
    });
    let headers = request.map(|request| request.answer(action.clone()));
    TokenAnswer {
        bytes: envelope_of(version, headers.as_ref(), &body),
        action,
        refused: Some(Box::new(fault)),
        ..answer
    }
}

/// The one element of a Body: `{namespace}local`, and its local name.
fn operation_of(envelope: &Envelope) -> (String, String) {
    let request = envelope.body().first_child();
    request.map_or_else(Default::default, |request| {
        let (namespace, local) = (request.namespace(), request.local());
        (format!("{{{namespace}}}{local}"), local.to_owned())
    })
}

#[cfg(test)]
mod tests;
