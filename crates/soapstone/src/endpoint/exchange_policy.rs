//! What both sides do: from a preset with the file's changes, or from a WS-Policy.
//!
//! A policy file says which parts and algorithms; what it leaves open (freshness, actor, limits,
//! weak algorithms with a date) is the endpoint file's in both cases. The one rule: what a policy
//! file decides cannot be changed beside it.

use soapstone_policy::{IssuedToken, OperationExchange};
use soapstone_trust::Operation;
use soapstone_trust::addressing::AddressingVersion;
use soapstone_wss::{Binding, ConversationVersion, KeyReference, Mechanism, Policy, Recipient};

use super::answer_actions::AnswerActions;
use super::compiler::Compiler;
use super::http_basic::HttpBasic;
use super::kerberos_policy::rests_on_connection;
use super::remark::Remark;
use super::request_actions::RequestActions;
use super::role::Role;
use super::saml::needs_connection;
use crate::config::SecuritySource;

/// The policies of an endpoint, written from the client's view.
pub(super) struct EndpointPolicies {
    /// One, or those of the operations of a port.
    pub(super) exchanges: Vec<Exchange>,
    /// Which operation has which of them; none where there is one.
    pub(super) operations: Vec<OperationExchange>,
    /// What a policy's WSDL says of the actions of answers.
    pub(super) answer_actions: AnswerActions,
    /// What it says of the actions of requests.
    pub(super) request_actions: RequestActions,
    /// The address of the service, if a policy's WSDL says it.
    pub(super) address: Option<String>,
    /// How conversations begin, if messages belong to them.
    pub(super) bootstrap: Option<Bootstrap>,
    /// Name of the mechanism in metrics and reports.
    pub(super) mechanism: &'static str,
    /// The connection has to be TLS.
    pub(super) private_transport: bool,
    /// The client shows a certificate while the connection is made.
    pub(super) client_certificate: bool,
    /// Requests that leave carry a user and a password of HTTP.
    pub(super) http_basic: Option<HttpBasic>,
    /// What the policy says of the token that another service issues.
    pub(super) issued: Option<IssuedToken>,
    /// What an operator must know of the policy.
    pub(super) remarks: Vec<Remark>,
}

/// The policies of requests and of their responses.
pub(super) struct Exchange {
    pub(super) request: Policy,
    pub(super) response: Policy,
    /// Messages carry addressing headers.
    pub(super) addressing: bool,
    /// The version of these headers that an assertion of a policy asks for.
    pub(super) asserted_addressing: Option<AddressingVersion>,
}

impl EndpointPolicies {
    /// The same of all messages, by a preset.
    fn by_preset(
        mechanism: Mechanism,
        request: Policy,
        response: Policy,
        bootstrap: Option<Bootstrap>,
        addressing: bool,
    ) -> Self {
        let mut first = bootstrap.iter().map(|bootstrap| &bootstrap.request);
        let private_transport = needs_connection(&request)
            || rests_on_connection(&request)
            || first.any(needs_connection);
        let by_kerberos = request.kerberos().is_some();
        let has_assertion = request.assertion().is_some();
        Self {
            exchanges: vec![Exchange {
                request,
                response,
                addressing,
                asserted_addressing: None,
            }],
            operations: Vec::new(),
            answer_actions: AnswerActions::default(),
            request_actions: RequestActions::default(),
            address: None,
            bootstrap,
            mechanism: match mechanism {
                Mechanism::None if has_assertion => "saml",
                Mechanism::None if by_kerberos => "kerberos",
                mechanism => mechanism.name(),
            },
            private_transport,
            client_certificate: false,
            http_basic: None,
            issued: None,
            remarks: Vec::new(),
        }
    }
}

/// The policies of the messages that make, renew and cancel contexts.
pub(super) struct Bootstrap {
    pub(super) request: Policy,
    pub(super) response: Policy,
    pub(super) version: ConversationVersion,
    pub(super) demands: TokenDemands,
}

/// What a policy says of requests for tokens, beside how they are protected.
pub(super) struct TokenDemands {
    /// What may be done about contexts.
    pub(super) operations: Vec<Operation>,
    /// `sp:RequireClientEntropy`.
    pub(super) client_entropy: bool,
    /// `sp:RequireAppliesTo`.
    pub(super) applies_to: bool,
}

impl Default for TokenDemands {
    fn default() -> Self {
        Self {
            operations: Operation::ALL.to_vec(),
            client_entropy: false,
            applies_to: false,
        }
    }
}

impl Compiler<'_> {
    pub(super) fn agreed(&mut self, role: Role) -> Option<EndpointPolicies> {
        let source = &self.config.security.source;
        let mut agreed = match &source.value {
            SecuritySource::Mechanism(mechanism) => self.preset(*mechanism, role),
            SecuritySource::Policy(file) => self.by_policy(file, role),
        }?;
        if let SecuritySource::Policy(_) = &source.value {
            self.fill_assertions(&mut agreed, role);
            self.fill_tickets(&agreed);
        }
        let bootstrap = agreed.bootstrap.iter();
        let exchanges = agreed.exchanges.iter();
        let policies = bootstrap
            .flat_map(|bootstrap| [&bootstrap.request, &bootstrap.response])
            .chain(exchanges.flat_map(|exchange| [&exchange.request, &exchange.response]));
        let policies: Vec<&Policy> = policies.collect();
        if let SecuritySource::Policy(_) = &source.value {
            self.refuse_forms_of_nothing(&policies);
        }
        self.refuse_needless_risks(&policies);
        let responder = match role {
            // Many clients: each is answered with its own certificate.
            Role::Service => self.config.peer.is_none(),
            _ => false,
        };
        let exchange = matches!(role, Role::Service | Role::Client);
        let bootstrap = agreed.bootstrap.iter_mut();
        let exchanges = agreed.exchanges.iter_mut();
        let policies = bootstrap
            .flat_map(|bootstrap| [&mut bootstrap.request, &mut bootstrap.response])
            .chain(exchanges.flat_map(|exchange| [&mut exchange.request, &mut exchange.response]));
        for policy in policies {
            policy.refuse_own_signatures = exchange;
            if responder {
                policy.binding.wrap_to(Recipient::Requester);
            }
        }
        Some(agreed)
    }

    /// Says of the Kerberos tokens that a policy file wants what the file has of them.
    fn fill_tickets(&mut self, agreed: &EndpointPolicies) {
        let mut wanted = false;
        for exchange in &agreed.exchanges {
            self.fill_kerberos(&exchange.request);
            wanted |= exchange.request.kerberos().is_some();
        }
        if let Some(bootstrap) = &agreed.bootstrap
            && bootstrap.request.kerberos().is_some()
        {
            self.fill_kerberos(&bootstrap.request);
            wanted = true;
            self.refuse_bootstrap_by_name();
        }
        if let (Some(config), false) = (&self.config.kerberos, wanted) {
            self.refuse_needless_kerberos(config.place);
        }
    }

    /// Fills in the assertions that a policy file wants.
    fn fill_assertions(&mut self, agreed: &mut EndpointPolicies, role: Role) {
        let saml = self.config.saml.as_ref().map(|saml| saml.place);
        let requests = agreed.exchanges.iter_mut().map(|one| &mut one.request);
        let mut has_assertion = false;
        for request in requests {
            self.fill_assertion(request, role);
            has_assertion |= request.assertion().is_some();
            agreed.private_transport |= needs_connection(request);
        }
        if let Some(bootstrap) = &mut agreed.bootstrap {
            self.fill_assertion(&mut bootstrap.request, role);
            has_assertion |= bootstrap.request.assertion().is_some();
            agreed.private_transport |= needs_connection(&bootstrap.request);
            self.check_beginning_assertion(&bootstrap.request);
        }
        if let (Some(place), false) = (saml, has_assertion) {
            self.refuse_needless_assertion(place);
        }
    }

    /// A preset with the changes that the file makes.
    pub(super) fn preset(&mut self, mechanism: Mechanism, role: Role) -> Option<EndpointPolicies> {
        let suite = self.suite()?;
        let has_certificate = match role {
            // Where no key signs and decrypts as well, a client without a key of its own for that
            // has none to answer to.
            Role::Client => self.config.identity.as_ref().is_some_and(|identity| {
                !identity.decryption.is_empty() || suite.wraps_to_signers() || !mechanism.signs()
            }),
            _ => self.config.peer.is_some(),
        };
        let mut request = self.policy(mechanism, suite.clone());
        if mechanism != Mechanism::SecureConversation {
            self.add_assertion(&mut request, role);
            self.add_kerberos(&mut request, mechanism);
        }
        let response = match &self.config.intermediary {
            // Answers pass as they come.
            Some(_) => Mechanism::None.policy(suite.clone()),
            None => self.answer_policy(&request, mechanism, has_certificate, role)?,
        };
        self.refuse_forms_of_nothing(&[&request, &response]);
        let addressing = self.writes_addressing(role);
        if mechanism != Mechanism::SecureConversation {
            return Some(EndpointPolicies::by_preset(
                mechanism, request, response, None, addressing,
            ));
        }
        let conversations = self.config.security.conversations.as_ref();
        let wanted = conversations.and_then(|conversations| conversations.bootstrap.as_ref());
        let version = conversations
            .and_then(|conversations| conversations.version.as_ref())
            .map_or(ConversationVersion::V13, |version| version.value);
        let bootstrap = wanted.map_or(Mechanism::SignEncrypt, |wanted| wanted.value);
        let mut first = self.policy(bootstrap, suite);
        self.add_kerberos(&mut first, bootstrap);
        self.refuse_bootstrap_by_name();
        self.add_assertion(&mut first, role);
        self.check_beginning_assertion(&first);
        let answer = self.response(&first, has_certificate, role);
        let in_version = |mut policy: Policy| {
            if let Binding::Symmetric(binding) = &mut policy.binding
                && let Some(derived) = &mut binding.derived_keys
            {
                derived.version = version;
            }
            policy
        };
        Some(EndpointPolicies::by_preset(
            mechanism,
            in_version(request),
            // The client knows its context: answers name it without repeating its token.
            in_version(match response.uses_context() {
                true => naming_from_outside(response),
                false => response,
            }),
            Some(Bootstrap {
                request: first,
                response: answer,
                version,
                demands: TokenDemands::default(),
            }),
            addressing,
        ))
    }

    /// Whether the file has addressing headers written into requests, whatever a policy says.
    pub(super) fn writes_addressing(&self, role: Role) -> bool {
        let leave = matches!(role, Role::Client | Role::Secure);
        leave && self.config.security.addressing.is_some()
    }
}

/// The same policy in answers that name a context without carrying its token.
fn naming_from_outside(mut policy: Policy) -> Policy {
    policy.binding.name_keys(KeyReference::KeyName);
    policy
}
