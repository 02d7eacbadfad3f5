//! The nodes on the path of messages: what is done for those that come next, and what an
//! intermediary passes on.
//!
//! The one rule: a node never breaks what is for a later one. What would is refused, when a file is
//! loaded where that can be told, and else of the message.

use jiff::Timestamp;
use soapstone_wss::{
    EncryptedPart, Envelope, InboundPlan, Keys, Mechanism, OutboundPlan, Outgoing, Part, Policy,
    SecureError,
};
use soapstone_xml::Buffers;

use super::arrived::ReceiveError;
use super::asking::{Workspace, drive};
use super::call::{Call, make};
use super::compiled::Endpoint;
use super::compiler::Compiler;
use super::exchange_policy::EndpointPolicies;
use super::memory::Memory;
use super::opened::{OpenedMessage, PassedMessage};
use super::opening::Judged;
use super::plans::{Directions, Opens};
use super::recipient_policy::OnTheWay;
use super::role::Role;
use super::step::{Step, StepObserver};
use crate::config::{AnswerProtection, AnswersConfig, RecipientConfig, SecuritySource, is_next};

impl Endpoint<InboundPlan> {
    /// Opens what is for this node of a message, and has the rest go on as it came, with headers
    /// for the next nodes where the file names some.
    ///
    /// # Errors
    /// Why the message is refused, or cannot be secured for the next nodes.
    pub fn pass_on(
        &self,
        bytes: Vec<u8>,
        memory: Memory<'_>,
    ) -> Result<PassedMessage, ReceiveError> {
        make(|call| self.pass_on_with(bytes, memory, call))
    }

    /// [Passes](Self::pass_on) a message on in a tuned call.
    ///
    /// # Errors
    /// As [`pass_on`](Self::pass_on).
    pub fn pass_on_with(
        &self,
        bytes: Vec<u8>,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<PassedMessage, ReceiveError> {
        let now = call.now;
        let (buffers, mut observer) = call.parts();
        drive(memory, buffers, async |workspace| {
            self.passed(bytes, workspace, now, &mut observer).await
        })
    }

    /// [Passes](Self::pass_on) a message on in a workspace.
    ///
    /// # Errors
    /// As [`pass_on`](Self::pass_on).
    pub async fn pass_on_in(
        &self,
        workspace: &Workspace,
        bytes: Vec<u8>,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, ReceiveError> {
        let passed = self.passed(bytes, workspace, now, observer).await?;
        let buffers = &mut workspace.buffers();
        Ok(OpenedMessage::passed_on(passed, buffers)?)
    }

    async fn passed(
        &self,
        bytes: Vec<u8>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<PassedMessage, ReceiveError> {
        let judged = self.judged(bytes.into(), None, workspace, now, observer);
        let (judged, _) = judged.await?;
        self.passed_on(judged, workspace, now, observer)
    }
}

impl<P: Opens> Endpoint<P> {
    /// What an intermediary makes of a message that it has judged.
    pub(super) fn passed_on(
        &self,
        judged: Box<Judged>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<PassedMessage, ReceiveError> {
        let passed = judged.opened.pass_on(judged.late)?;
        let buffers = &mut workspace.buffers();
        let mut bytes = buffers.take(passed.envelope().document().bytes().len());
        passed.forward(&mut bytes);
        observer.ended(Step::Forward);
        let recipients = self.on_the_way(true);
        let bytes = self.secured_onward(recipients, bytes, now, buffers, observer);
        let bytes = bytes.map_err(ReceiveError::Unsecurable)?;
        Ok(PassedMessage { bytes, passed })
    }
}

impl<P: Directions> Endpoint<P> {
    /// The plans for the nodes on the way of requests, or of answers.
    pub(super) fn on_the_way(&self, are_requests: bool) -> &[OutboundPlan] {
        match are_requests {
            true => &self.recipients,
            false => &self.answer_recipients,
        }
    }

    /// A message with headers for the nodes on its way. What comes later on the way is done first:
    /// each node undoes the last step that is left.
    pub(super) fn secured_onward(
        &self,
        recipients: &[OutboundPlan],
        mut bytes: Vec<u8>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Vec<u8>, SecureError> {
        if recipients.is_empty() {
            return Ok(bytes);
        }
        let now = self.clock(now);
        for plan in recipients.iter().rev() {
            // It grew by what was done before.
            let mut limits = self.limits.clone();
            limits.message = limits.message.saturating_mul(2);
            let envelope = Envelope::parse(bytes, &limits, buffers)?;
            let outgoing = Outgoing {
                clock: self.peer_clock(),
                ..Outgoing::default()
            };
            let secured = match observer.securing() {
                Some(listener) => {
                    plan.secure_observed(envelope, outgoing, now, buffers, listener)?
                }
                None => plan.secure(envelope, outgoing, now, buffers)?,
            };
            self.note_sent(plan, &secured.receipt, now);
            bytes = secured.bytes;
        }
        observer.ended(Step::Secure);
        Ok(bytes)
    }
}

/// Whether the blocks that are protected for a node are still there when the message reaches
/// it: one that is addressed to an earlier node is taken out by that (SOAP 1.1, 4.2.2).
pub(super) fn check_addressees(
    envelope: &Envelope,
    plan: &OutboundPlan,
    recipients: &[OutboundPlan],
) -> Result<(), SecureError> {
    if recipients.is_empty() {
        return Ok(());
    }
    let last = std::iter::once((plan, recipients.len()));
    let others = recipients.iter().zip(0..);
    for (plan, place) in others.chain(last) {
        let policy = plan.policy();
        let encrypted = policy.encrypted_parts().iter().map(|one| &one.part);
        let signed = policy.signed_parts();
        for part in signed.iter().chain(encrypted) {
            let Part::Header { namespace, local } = part else {
                continue;
            };
            let blocks = envelope.header().into_iter().flat_map(|it| it.children());
            for block in blocks.filter(|block| block.is(namespace, local)) {
                let Some(actor) = envelope.actor_of(block) else {
                    continue;
                };
                let is_of = |plan: &OutboundPlan| {
                    let own = plan.policy().header.actor.as_deref();
                    own == Some(&*actor) || own.is_some_and(is_next) && is_next(&actor)
                };
                let at = recipients.iter().position(is_of);
                let at = at.or_else(|| is_of(plan).then_some(recipients.len()));
                if at.is_none_or(|at| at < place) {
                    return Err(SecureError::TakenOutBefore {
                        part: part.clone(),
                        actor: actor.into_owned(),
                    });
                }
            }
        }
    }
    Ok(())
}

/// What messages have for the last node: those of exchanges, and those that a conversation begins
/// with.
pub(super) struct LastNode {
    pub(super) requests: Vec<Policy>,
    pub(super) answers: Vec<Policy>,
    /// Whether all messages have addressing headers.
    pub(super) addressing: bool,
}

impl LastNode {
    pub(super) fn of(agreed: &EndpointPolicies) -> Self {
        let exchanges = agreed.exchanges.iter();
        let exchanges = exchanges.map(|one| (&one.request, &one.response));
        let bootstrap = agreed.bootstrap.iter();
        let all = exchanges.chain(bootstrap.map(|one| (&one.request, &one.response)));
        let (requests, answers) = all
            .map(|(request, answer)| (request.clone(), answer.clone()))
            .unzip();
        Self {
            requests,
            answers,
            addressing: agreed.exchanges.iter().all(|one| one.addressing),
        }
    }
}

impl Compiler<'_> {
    /// Reports what an intermediary cannot do.
    pub(super) fn check_intermediary(&mut self, role: Role) {
        let Some(config) = &self.config.intermediary else {
            return;
        };
        let place = config.role.place;
        if matches!(role, Role::Client | Role::Secure) {
            self.report_with_hint(
                place,
                "`role` is given, and this endpoint sends messages that nobody sent to it",
                "leave it out; the nodes on the way are named in `recipients`",
            );
        }
        if let Some(inner) = &self.config.inner {
            self.report_with_hint(
                inner.place,
                "`inner` is of the last node, and an intermediary opens no Body for it",
                "leave it out",
            );
        }
        let source = &self.config.security.source;
        let problem = match &source.value {
            SecuritySource::Policy(_) => "`policy` describes what the last node wants of messages",
            SecuritySource::Mechanism(Mechanism::SecureConversation) => {
                "an intermediary holds no conversations"
            }
            _ => return,
        };
        self.report_with_hint(
            source.place,
            problem,
            "name a mechanism for single messages, and the parts that are for this node",
        );
    }

    /// What reads the header of this node in answers that pass it, where they have one. `None` if
    /// the file is wrong about it.
    pub(super) fn reader_of_answers(&mut self) -> Option<Option<Box<Endpoint<InboundPlan>>>> {
        let Some(answers) = &self.config.passed_answers else {
            return Some(None);
        };
        let Some(AnswerProtection::Mechanism(mechanism)) =
            answers.protection.as_ref().map(|given| given.value)
        else {
            // It is reported.
            return None;
        };
        let mut config = self.config.clone();
        config.security = answers.instead_of(&self.config.security, mechanism);
        // What is said of requests alone.
        config.security.addressing = None;
        config.security.unsigned = Vec::new();
        config.security.ignore = Vec::new();
        config.security.password = None;
        config.security.password_keys = None;
        config.security.username_token = None;
        config.security.clock = None;
        config.users = Vec::new();
        config.recipients = Vec::new();
        config.kerberos = None;
        config.saml = None;
        config.passed_answers = None;
        if let (Some(node), Some(role)) = (&mut config.intermediary, &answers.role) {
            node.role = role.clone();
        }
        if answers.trust.is_some() {
            config.trust.clone_from(&answers.trust);
        }
        self.check_key_of_answers(answers);
        config.hold(answers.shared_key.clone());
        let made = self.instead_with(&config, |compiler| compiler.endpoint(Role::Open));
        let reader: Endpoint<InboundPlan> = made?;
        // It took what was noted of this file, too.
        self.dated.extend(reader.dated.iter().cloned());
        self.online.extend(reader.online.iter().cloned());
        Some(Some(Box::new(reader)))
    }

    /// Reports answers that would be proven by the key of requests. The client holds it, and a
    /// request that came back as an answer would verify.
    fn check_key_of_answers(&mut self, answers: &AnswersConfig) {
        let Some(of_requests) = &self.config.shared_key else {
            return;
        };
        let (place, message) = match &answers.shared_key {
            None if answers.trust.is_some() => return,
            None => (
                answers.place,
                "`answers` says nothing of who signs them, and the `shared_key` of requests is that of the client",
            ),
            Some(own) if own.key.expose() == of_requests.key.expose() => (
                own.place,
                "`shared_key` of `answers` is the key of requests: a request that comes back would be an answer",
            ),
            Some(_) => return,
        };
        let hint = "give the key that this node and the service hold: answers = { shared_key = { file = \"….key.bin\" }, … }; or say whose certificates are believed: answers = { trust = { … }, … }";
        self.report_with_hint(place, message, hint);
    }

    /// The plans for the nodes on the way of messages that leave. `last` is what requests have for
    /// the last node.
    pub(super) fn recipients(
        &mut self,
        last: Vec<Policy>,
        addressing: bool,
        keys: &Keys,
        role: Role,
    ) -> Option<Vec<OutboundPlan>> {
        let config = self.config;
        let Some(first) = config.recipients.first() else {
            return Some(Vec::new());
        };
        let leave = matches!(role, Role::Client | Role::Secure) || config.intermediary.is_some();
        if !leave {
            self.report_with_hint(
                first.place,
                "`recipients` is for requests that leave, and this endpoint is where they end",
                "leave it out, or say that it passes them on: role = \"next\"",
            );
        }
        // What passes has the headers that its sender gave it.
        let (last, addressing) = match config.intermediary {
            Some(_) => (Vec::new(), true),
            None => (last, addressing),
        };
        let messages = OnTheWay {
            are_requests: true,
            addressing,
        };
        self.nodes(&config.recipients, last, messages, keys)
    }

    /// The plans for the nodes on the way of answers. `last` is what these have for the last node.
    pub(super) fn answer_recipients(
        &mut self,
        last: Vec<Policy>,
        addressing: bool,
        keys: &Keys,
        role: Role,
    ) -> Option<Vec<OutboundPlan>> {
        let config = self.config;
        let recipients = config.answers.as_ref().map(|it| &it.recipients[..]);
        let recipients = recipients.unwrap_or_default();
        let Some(first) = recipients.first() else {
            return Some(Vec::new());
        };
        if role != Role::Service {
            self.report_with_hint(
                first.place,
                "`recipients` of `answers` is for answers that leave, and this endpoint sends none",
                "leave it out, or let it stand with the endpoint of the service",
            );
        }
        let messages = OnTheWay {
            are_requests: false,
            addressing,
        };
        self.nodes(recipients, last, messages, keys)
    }

    /// The plans for nodes on the way. `last` is what messages have for the last node.
    fn nodes(
        &mut self,
        recipients: &[RecipientConfig],
        last: Vec<Policy>,
        messages: OnTheWay,
        keys: &Keys,
    ) -> Option<Vec<OutboundPlan>> {
        let config = self.config;
        let own = config
            .intermediary
            .as_ref()
            .map(|it| it.role.value.as_str());
        let own = own.or(config.security.actor.as_ref().map(|it| it.value.as_str()));
        let mut policies = Vec::new();
        let mut plans = Vec::new();
        for recipient in recipients {
            let actor = recipient.actor.value.as_str();
            if own.is_some_and(|own| own == actor || is_next(own) && is_next(actor)) {
                self.report_with_hint(
                    recipient.actor.place,
                    "a recipient has the actor of this endpoint",
                    "give it an actor of its own",
                );
            }
            let (policy, plan) = self.recipient(recipient, messages, keys)?;
            policies.push(policy);
            plans.push(plan);
        }
        policies.extend(last);
        for (at, recipient) in recipients.iter().enumerate() {
            let (this, later) = (&policies[at], &policies[at + 1..]);
            if !recipient.reinserts
                && let Some(part) = lost(this, later)
            {
                let message = format!(
                    "`{part}` is encrypted for this node, and later ones read it or its signature"
                );
                self.report_with_hint(
                    recipient.place,
                    message,
                    "leave the part to one of them; or have that node put the plaintext back, and say so: reinserts = true",
                );
            }
        }
        Some(plans)
    }
}

/// A part that is in cipher text for one node, and that later nodes want to read.
fn lost<'p>(this: &'p Policy, later: &[Policy]) -> Option<&'p Part> {
    let is_of_message =
        |part: &&Part| matches!(part, Part::Body | Part::Header { .. } | Part::Id(_));
    let encrypted = this.encrypted_parts().iter();
    let mut encrypted = encrypted
        .map(|one: &EncryptedPart| &one.part)
        .filter(is_of_message);
    encrypted.find(|part| {
        later.iter().any(|policy| match part {
            // It may stand in whatever they protect.
            Part::Id(_) => policy.signature().is_some() || policy.encryption().is_some(),
            part => policy.signs(part) || policy.encrypts(part),
        })
    })
}
