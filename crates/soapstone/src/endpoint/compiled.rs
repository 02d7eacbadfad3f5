//! A compiled endpoint: what all roles have in common.
//!
//! The one rule: it is made once from a file or from plans, and no message changes it.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::key::CipherUsage;
use soapstone_crypto::trust::OnlineRevocation;
use soapstone_crypto::{PrivateKey, SecretBytes};
use soapstone_mime::LARGEST_PACKAGE;
use soapstone_wss::{
    Attachment, Envelope, EnvelopeError, Evidence, InboundPlan, KerberosSession, Message,
    OutboundPlan, Part, Policy, Rejected, SharedKey,
};
use soapstone_xml::{Buffers, Limits};

use soapstone_trust::SecurityTokenService;

use super::answer_actions::AnswerActions;
use super::answers::Answers;
use super::bootstrap::{Conversation, encrypts_body_afresh};
use super::demands::Demands;
use super::expiring_file::ExpiringFile;
use super::http_basic::HttpBasic;
use super::inner::Inner;
use super::kerberos::Kerberos;
use super::known_clock::KnownClock;
use super::operations::Operations;
use super::packages::Packages;
use super::plans::{Directions, Plans};
use super::references::{AssertionFetcher, References};
use super::reflection_guard::{ReflectionGuard, Sent};
use super::remark::Remark;
use super::request_actions::RequestActions;
use super::request_headers::RequestHeaders;
use super::token_service::TokenService;
use crate::config::{ConversationsConfig, ReplayConfig, ReplayStoreConfig};

/// A compiled endpoint. What it can do follows from the directions of its role, `P`:
/// [`Service`](super::Service), [`Client`](super::Client), [`Opener`](super::Opener) and
/// [`Securer`](super::Securer) are endpoints.
#[derive(Debug)]
pub struct Endpoint<P> {
    /// One, or those of the operations of a port.
    pub(super) plans: Vec<Plans<P>>,
    /// Which operation has which exchange policy, where there are several.
    pub(super) operations: Option<Operations>,
    /// The actions of answers, as far as a WSDL says them.
    pub(super) answer_actions: AnswerActions,
    /// Those of requests that are labelled.
    pub(super) request_actions: RequestActions,
    /// What answers prove less than requests.
    pub(super) answers: Answers,
    /// How addressing headers are written into requests.
    pub(super) request_headers: RequestHeaders,
    /// What the file demands beside its policy.
    pub(super) demands: Demands,
    /// Elements of the Body that are signed by themselves.
    pub(super) inner: Inner,
    pub(super) limits: Limits,
    /// Most bytes of the attachments of a message together.
    pub(super) attachment_bytes: usize,
    /// What a gateway does with packages.
    pub(super) packages: Packages,
    /// Attributes without a namespace that are ids in messages that arrive.
    pub(super) ids: Vec<&'static str>,
    pub(super) users: Vec<(String, SecretBytes)>,
    /// What has assertions that messages only name.
    pub(super) references: Option<Arc<References>>,
    /// What accepts or makes Kerberos tokens.
    pub(super) kerberos: Option<Arc<Kerberos>>,
    /// Whether a message is refused whose assertion a token service cancelled.
    pub(super) refuses_cancelled: bool,
    /// What makes the assertions of requests.
    pub(super) token_service: Option<Box<TokenService>>,
    pub(super) replay: Option<ReplayConfig>,
    pub(super) conversations: Option<ConversationsConfig>,
    pub(super) time: Option<Timestamp>,
    pub(super) peer_clock: KnownClock,
    /// What is done to messages that leave for nodes on their way, in the order in which these are
    /// reached.
    pub(super) recipients: Vec<OutboundPlan>,
    /// What is done for nodes on the way of answers.
    pub(super) answer_recipients: Vec<OutboundPlan>,
    /// Of a node on the way, what reads its header in answers.
    pub(super) reader_of_answers: Option<Box<Endpoint<InboundPlan>>>,
    pub(super) mechanism: &'static str,
    pub(super) suite: String,
    pub(super) scope: String,
    pub(super) conversation: Option<Conversation>,
    /// What answers all requests, if the endpoint is a token service.
    pub(super) sts: Option<SecurityTokenService>,
    pub(super) private_transport: bool,
    pub(super) client_certificate: bool,
    /// The user and the password of HTTP of requests that leave.
    pub(super) http_basic: Option<HttpBasic>,
    /// What an operator must know of the policy.
    pub(super) remarks: Vec<Remark>,
    pub(super) dated: Vec<ExpiringFile>,
    pub(super) online: Vec<Arc<OnlineRevocation>>,
    /// What comes back to us, if it comes.
    pub(super) sent: Arc<Sent>,
    /// What it may come back to as well: other endpoints of the process.
    pub(super) all_sent: ReflectionGuard,
}

impl<P: Directions> Endpoint<P> {
    /// Assembles an endpoint from plans: for applications that have no file.
    pub(super) fn assembled(directions: P, limits: Limits) -> Self {
        let (sent, all_sent) = ReflectionGuard::alone(None);
        Self {
            plans: vec![Plans::new(directions, false)],
            operations: None,
            answer_actions: AnswerActions::default(),
            request_actions: RequestActions::default(),
            answers: Answers::default(),
            request_headers: RequestHeaders::default(),
            demands: Demands::default(),
            inner: Inner::default(),
            limits,
            attachment_bytes: LARGEST_PACKAGE,
            packages: Packages::default(),
            ids: Vec::new(),
            users: Vec::new(),
            references: None,
            kerberos: None,
            refuses_cancelled: false,
            token_service: None,
            replay: None,
            conversations: None,
            time: None,
            peer_clock: KnownClock::default(),
            recipients: Vec::new(),
            answer_recipients: Vec::new(),
            reader_of_answers: None,
            mechanism: "policy",
            suite: String::new(),
            scope: String::new(),
            conversation: None,
            sts: None,
            private_transport: false,
            client_certificate: false,
            http_basic: None,
            remarks: Vec::new(),
            dated: Vec::new(),
            online: Vec::new(),
            sent,
            all_sent,
        }
    }

    /// Knows what any endpoint of the process has sent that shares the same, so that nothing of it
    /// comes back as the peer's word to another endpoint, or after a change of configuration that
    /// renames or moves this one. It is for endpoints of one role.
    pub fn share_sent(&mut self, process: &ReflectionGuard) {
        process.join(&self.sent);
        self.all_sent = process.clone();
    }

    /// Goes on with what a predecessor has sent in this process, so that nothing of it comes back
    /// as the peer's word after a change of configuration, and with what its shared key has
    /// enciphered, if it has the same key.
    pub fn keep_memory_of(&mut self, predecessor: &Self) {
        self.sent = Arc::clone(&predecessor.sent);
        self.all_sent = predecessor.all_sent.clone();
        self.follow_clock(predecessor);
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
        let mut plans = self.plans.iter();
        plans.find_map(|plans| plans.outbound()?.shared_key())
    }

    /// A message that arrives, as XML.
    pub(super) fn parse(
        &self,
        message: Message,
        buffers: &mut Buffers,
    ) -> Result<Envelope, EnvelopeError> {
        let envelope = Envelope::parse_with(message.root, &self.limits, &self.ids, buffers)?;
        self.attached(envelope, message.parts)
    }

    /// An envelope with the attachments of its message.
    pub(super) fn attached(
        &self,
        envelope: Envelope,
        parts: Vec<Attachment>,
    ) -> Result<Envelope, EnvelopeError> {
        match parts.is_empty() {
            true => Ok(envelope),
            false => envelope.with_attachments(parts, self.attachment_bytes),
        }
    }

    /// Whether a gateway takes packages for it: its file says what is done to attachments, and it
    /// is no node on the way.
    pub fn takes_packages(&self) -> bool {
        self.packages.are_taken() && !self.is_intermediary()
    }

    /// Whether a message that was opened has an attachment that nothing covers. Where the message
    /// has a signature of its own, each attachment has to be signed; otherwise encryption does. A
    /// message that proves nothing itself, and whose protection is left to TLS, leaves that of its
    /// attachments to TLS as well.
    ///
    /// # Errors
    /// [`AttachmentProblem::Uncovered`](soapstone_wss::AttachmentProblem::Uncovered) of the first
    /// one, unless the file has such attachments passed on.
    pub fn has_uncovered_part(&self, evidence: &Evidence) -> Result<bool, Rejected> {
        self.packages
            .have_uncovered_part(evidence, self.needs_tls())
    }

    /// Whether its policy leaves protection to TLS: messages of other connections must not be
    /// accepted or sent.
    pub fn needs_tls(&self) -> bool {
        self.private_transport
    }

    /// The value of the `Authorization` field that the policy demands of requests that leave, if
    /// the file names the user.
    pub fn http_authorization(&self) -> Option<&str> {
        self.http_basic.as_ref()?.authorization()
    }

    /// Whether the messages that begin its conversations show nobody, and nobody unknown may begin
    /// one: then each of them is refused.
    pub fn begins_for_nobody(&self) -> bool {
        let anonymous = self.conversations.as_ref().is_some_and(|it| it.anonymous);
        let begun = self.conversation.as_ref();
        !anonymous && begun.is_some_and(|it| it.bootstrap_inbound.policy().shows_nobody())
    }

    /// Whether its policy wants clients to show a certificate while the connection is made
    /// (`sp:RequireClientCertificate`).
    pub fn needs_client_certificate(&self) -> bool {
        self.client_certificate
    }

    /// The certificates and revocation lists that its file names, ours and those of others: each
    /// once for each use.
    pub fn dated(&self) -> &[ExpiringFile] {
        &self.dated
    }

    /// What asks whether certificates were revoked: whoever can ask others attaches a cache to
    /// each, and brings it the answers. Without a cache nobody has answered.
    pub fn online_revocation(&self) -> &[Arc<OnlineRevocation>] {
        &self.online
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

    /// Attributes without a namespace that are ids in messages that arrive, beside the standard
    /// ones.
    pub fn ids(&self) -> &[&'static str] {
        &self.ids
    }

    /// The names of the elements by which requests are told apart, where operations have policies
    /// of their own: `{namespace}name`.
    pub fn operation_names(&self) -> impl Iterator<Item = &str> {
        let operations = self.operations.iter();
        operations.flat_map(|operations| operations.contents())
    }

    /// Most bytes of a message with its attachments, as a package. What base64 adds to them is
    /// counted in, and the headers of parts are.
    pub fn largest_package(&self) -> usize {
        let attached = self.attachment_bytes.saturating_mul(2);
        let together = self.limits.message.saturating_add(attached);
        together.min(LARGEST_PACKAGE).max(self.limits.message)
    }

    /// Whether it matters what is said of a request's action beside the message
    /// ([`ReadRequest::about`](super::ReadRequest::about)): where operations have policies of their
    /// own, or where that has to be `wsa:Action`.
    pub fn asks_for_actions(&self) -> bool {
        self.operations.is_some() || self.compares_actions()
    }

    /// Whether what HTTP says of a request's action has to be its `wsa:Action`.
    pub fn compares_actions(&self) -> bool {
        self.demands.compare_actions()
    }

    /// Whether every message will do, in both directions.
    pub fn demands_nothing(&self) -> bool {
        self.policies().all(Policy::demands_nothing) && !self.inner.is_used()
    }

    /// Whether messages that arrive must have an element of the Body signed by itself.
    pub fn verifies_inner(&self) -> bool {
        self.inner.verifies()
    }

    /// Whether messages that arrive must have an element of the Body encrypted by itself.
    pub fn deciphers_inner(&self) -> bool {
        self.inner.deciphers()
    }

    /// Whether messages pass through this endpoint as they are, in both directions: nothing is
    /// demanded of them, no addressing headers are written or taken out on behalf of peers, and
    /// requests get no user of HTTP.
    pub fn is_plain(&self) -> bool {
        self.demands_nothing()
            && self.http_authorization().is_none()
            && !self.plans.iter().any(|plans| plans.addressing)
    }

    /// Operations whose requests nothing protects, neither the messages nor the connection,
    /// although others of their port are protected.
    pub fn unprotected_operations(&self) -> impl Iterator<Item = &str> {
        let table = self.operations.iter().filter(|_| !self.private_transport);
        table.flat_map(|table| {
            table.names_of(|exchange| {
                let request = self.plans[exchange].of_requests(table.serves());
                request.is_none_or(|policy| !policy.has_security())
            })
        })
    }

    /// The plans for messages that arrive: one, or one for each exchange policy of its operations.
    pub fn inbound(&self) -> impl Iterator<Item = &InboundPlan> {
        self.plans.iter().filter_map(Plans::inbound)
    }

    /// The plans for messages that leave: one, or one for each exchange policy of its operations.
    pub fn outbound(&self) -> impl Iterator<Item = &OutboundPlan> {
        self.plans.iter().filter_map(Plans::outbound)
    }

    /// Whether no message that arrives takes an operation of a key pair. Of an endpoint with
    /// conversations: no message within one.
    pub fn opens_lightly(&self) -> bool {
        !self.inner.verifies()
            && !self.inner.deciphers()
            && self.inbound().all(|plan| !plan.policy().uses_key_pair())
            && self.goes_on_lightly()
    }

    /// Whether no message that leaves takes an operation of a key pair. Of an endpoint with
    /// conversations: no message within one.
    pub fn secures_lightly(&self) -> bool {
        !self.inner.signs()
            && !self.inner.encrypts()
            && self.outbound().all(|plan| !plan.policy().uses_key_pair())
            && self.goes_on_lightly()
    }

    /// Whether nothing that is done for nodes on the way takes an operation of a key pair.
    fn goes_on_lightly(&self) -> bool {
        let mut recipients = self.recipients.iter().chain(&self.answer_recipients);
        recipients.all(|plan| !plan.policy().uses_key_pair())
    }

    /// Whether it passes messages on to other nodes, and is not their last one.
    pub fn is_intermediary(&self) -> bool {
        self.inbound().any(InboundPlan::passes_on)
    }

    /// Whether every message that arrives has that part signed, where it has the part.
    pub fn demands_signed(&self, part: &Part) -> bool {
        let mut plans = self.inbound().map(InboundPlan::policy);
        plans.all(|policy| {
            let signature = policy.signature();
            signature.is_some_and(|signature| signature.parts.contains(part))
        })
    }

    /// Of a node on the way, what reads its header in answers; `None`, where they pass it as they
    /// come.
    pub fn reader_of_answers(&self) -> Option<&Endpoint<InboundPlan>> {
        self.reader_of_answers.as_deref()
    }

    /// Whether messages that are secured have Kerberos tokens, so that a KDC may be asked.
    pub fn asks_for_tickets(&self) -> bool {
        self.kerberos.as_deref().is_some_and(Kerberos::initiates)
    }

    /// Whether messages that arrive have Kerberos tokens, which are accepted with a file of keys.
    pub fn accepts_tickets(&self) -> bool {
        self.kerberos.is_some() && !self.asks_for_tickets()
    }

    /// Whether messages that arrive may name assertions that stand elsewhere.
    pub fn fetches_assertions(&self) -> bool {
        self.references.is_some()
    }

    /// The same endpoint, whose host fetches the assertions that messages name. Without it such
    /// messages are refused. It is called before the endpoint is used.
    #[must_use]
    pub fn fetching_with(mut self, fetcher: Arc<dyn AssertionFetcher>) -> Self {
        let references = self.references.take().and_then(Arc::into_inner);
        self.references = references.map(|it| Arc::new(it.fetched_with(fetcher)));
        self
    }

    /// Forgets the Kerberos session of a request (`Receipt::kerberos`) that the service may not
    /// know. If later requests would name that session, the next one carries a token.
    ///
    /// A request that was lost or refused leaves such a session behind.
    pub fn forget_kerberos_session(&self, session: &KerberosSession) {
        if let Some(kerberos) = &self.kerberos {
            kerberos.forget(&session.sha1);
        }
    }

    /// Whether a private key is held elsewhere, so that operations with it may wait.
    pub fn waits_for_keys(&self) -> bool {
        let bootstrap = self.conversation.iter();
        let inbound = bootstrap.clone().map(|one| &one.bootstrap_inbound);
        let outbound = bootstrap.map(|one| &one.bootstrap_outbound);
        self.inner.waits_for_keys()
            || self
                .reader_of_answers()
                .is_some_and(Endpoint::waits_for_keys)
            || self.issuing_key().is_some_and(PrivateKey::is_external)
            || self
                .inbound()
                .chain(inbound)
                .any(InboundPlan::waits_for_keys)
            || self
                .outbound()
                .chain(outbound)
                .chain(&self.recipients)
                .chain(&self.answer_recipients)
                .any(OutboundPlan::waits_for_keys)
    }

    /// Whether it is a token service, which answers all requests itself.
    pub fn is_token_service(&self) -> bool {
        self.sts.is_some()
    }

    /// Whether it is a token service that cancels assertions.
    pub fn cancels_assertions(&self) -> bool {
        let rules = self.sts.as_ref().map(SecurityTokenService::rules);
        let rules = rules.and_then(|rules| rules.assertions.as_ref());
        rules.is_some_and(|rules| rules.cancellable)
    }

    /// Whether it refuses messages whose assertion a token service cancelled.
    pub fn refuses_cancelled(&self) -> bool {
        self.refuses_cancelled
    }

    /// Whether replay marks, and what was cancelled, end with the process.
    pub fn forgets_at_its_end(&self) -> bool {
        let store = self.replay.as_ref().map(|replay| &replay.store);
        matches!(store, None | Some(ReplayStoreConfig::Memory))
    }

    /// The key that signs the assertions of a token service.
    fn issuing_key(&self) -> Option<&PrivateKey> {
        let service = self.sts.as_ref()?;
        let rules = service.rules().assertions.as_ref()?;
        Some(rules.identity.key())
    }

    /// Whether its answers hide their Body.
    pub fn hides_answers(&self) -> bool {
        self.outbound()
            .all(|plan| encrypts_body_afresh(plan.policy()))
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

    /// How conversations begin here, if the endpoint has them.
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversation.as_ref()
    }
}
