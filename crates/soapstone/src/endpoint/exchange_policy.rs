//! What both sides do: from a preset with the file's changes, or from a WS-Policy.
//!
//! A policy file says which parts and algorithms; what it leaves open (freshness, actor, limits,
//! weak algorithms with a date) is the endpoint file's in both cases. The one rule: what a policy
//! file decides cannot be changed beside it.

use soapstone_policy::{
    CompileOptions, Conversation, ExchangePolicies, ExchangePolicy, IssuedToken, OperationExchange,
    PolicyDocument, PolicyLimits, Selection, SignatureReading, TransportRequirement,
};
use soapstone_trust::Operation;
use soapstone_wss::{
    Binding, ConversationVersion, KeyReference, Mechanism, PasswordKind, Policy, Recipient,
};

use super::answer_actions::AnswerActions;
use super::compiler::Compiler;
use super::freshness::freshness_alone;
use super::http_basic::HttpBasic;
use super::kerberos_policy::rests_on_connection;
use super::remarks::{Remark, named};
use super::role::Role;
use super::saml::needs_connection;
use crate::config::{
    LoadedFile, Located, MayBeEmpty, Place, SecuritySource, UsernameTokenConfig, read_beside,
};

/// The policies of an endpoint, written from the client's view.
pub(super) struct EndpointPolicies {
    /// One, or those of the operations of a port.
    pub(super) exchanges: Vec<Exchange>,
    /// Which operation has which of them; none where there is one.
    pub(super) operations: Vec<OperationExchange>,
    /// What a policy's WSDL says of the actions of answers.
    pub(super) answer_actions: AnswerActions,
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
            }],
            operations: Vec::new(),
            answer_actions: AnswerActions::default(),
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

impl TokenDemands {
    /// Those of a conversation with all exchange policies that share it (WS-SecurityPolicy 1.3,
    /// 5.4.7 and 10).
    fn of(conversation: &Conversation, exchanges: &[ExchangePolicy]) -> Self {
        let possible = |operation: &Operation| match operation {
            Operation::Cancel => conversation.may_cancel,
            Operation::Renew => conversation.may_renew,
            Operation::Amend => conversation.may_amend,
            _ => true,
        };
        let bootstrap = conversation.bootstrap.as_deref();
        let trust = || {
            let all = exchanges.iter().chain(bootstrap);
            all.filter_map(|exchange| exchange.trust.as_ref())
        };
        Self {
            operations: Operation::ALL.into_iter().filter(possible).collect(),
            client_entropy: trust().any(|trust| trust.client_entropy),
            applies_to: trust().any(|trust| trust.applies_to),
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
            let bootstrap = agreed.bootstrap.iter();
            let exchanges = agreed.exchanges.iter();
            let policies = bootstrap
                .flat_map(|bootstrap| [&bootstrap.request, &bootstrap.response])
                .chain(exchanges.flat_map(|exchange| [&exchange.request, &exchange.response]));
            self.refuse_forms_of_nothing(&policies.collect::<Vec<_>>());
        }
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

    fn by_policy(&mut self, file: &LoadedFile, role: Role) -> Option<EndpointPolicies> {
        self.refuse_what_the_policy_decides();
        let choice = &self.config.security.policy_choice;
        let selection = Selection {
            service: choice.service.clone(),
            port: choice.port.clone(),
            operation: choice.operation.clone(),
        };
        let options = CompileOptions {
            signatures: if choice.sha256_signatures {
                SignatureReading::Sha256
            } else {
                SignatureReading::Letter
            },
            custom_suite: self.custom_suite(),
            ignored: choice
                .ignored
                .iter()
                .map(|name| named(&name.value))
                .collect(),
            unproven_users: self.allows_unproven_users(),
        };
        let source = file.bytes.expose().clone();
        let limits = PolicyLimits::default();
        let resolver = |uri: &str| read_beside(&file.path, uri, limits.document);
        let mut unattached = Vec::new();
        let exchanges = PolicyDocument::parse_with(source, &limits, &resolver)
            .map_err(|error| error.to_string())
            .and_then(|document| {
                unattached = document.unattached();
                let exchanges = document.agreements(&selection, &options);
                let messages = document.operation_messages(&selection);
                let address = document.address(&selection);
                exchanges
                    .and_then(|exchanges| Ok((exchanges, messages?, address?)))
                    .map_err(|error| error.to_string())
            });
        let (exchanges, operations, messages, address) = match exchanges {
            Ok((ExchangePolicies::One(exchange), messages, address)) => {
                (vec![*exchange], Vec::new(), messages, address)
            }
            Ok((ExchangePolicies::ByOperation(table), messages, address)) => {
                (table.agreements, table.operations, messages, address)
            }
            Err(problem) => {
                let message = format!("{}: {problem}", file.path.display());
                self.report_with_hint(
                    file.place,
                    message,
                    "`soapstone policy FILE` explains what a policy demands and what is not supported",
                );
                return None;
            }
        };
        let remarks = self.remarks(&exchanges, &unattached, file, role);
        let http_basic = self.http_basic(&exchanges, file.place, role);
        let agreed = self.by_exchanges(exchanges, operations, file.place, role)?;
        self.refuse_empty_policies(&agreed, file);
        Some(EndpointPolicies {
            answer_actions: AnswerActions::of(&messages),
            address,
            private_transport: agreed.private_transport || http_basic.is_some(),
            http_basic,
            remarks,
            ..agreed
        })
    }

    /// Reports a policy that protects no requests, or none of some operations: the description of a
    /// service without its security, perhaps. Such a policy is written by nobody who wants it,
    /// unless the file says so.
    fn refuse_empty_policies(&mut self, agreed: &EndpointPolicies, file: &LoadedFile) {
        const HINT: &str = "name the file that has the policy; policy_may_be_empty = true accepts messages without protection, as mechanism = \"none\" does";
        let is_empty = |exchange: &Exchange| exchange.request.demands_nothing();
        let by_connection = agreed.private_transport;
        let config = self.config;
        let allowed = &config.security.policy_choice.may_be_empty;
        let empty = agreed.operations.iter().filter(|operation| {
            !by_connection
                && agreed
                    .exchanges
                    .get(operation.agreement)
                    .is_some_and(is_empty)
        });
        let empty: Vec<&str> = empty.map(|operation| operation.name.as_str()).collect();
        let path = file.path.display();
        match allowed {
            MayBeEmpty::Everything => {}
            _ if !by_connection && agreed.exchanges.iter().all(is_empty) => {
                let message = format!("{path}: the policy demands nothing of requests");
                self.report_with_hint(file.place, message, HINT);
            }
            MayBeEmpty::Nothing if empty.is_empty() => {}
            MayBeEmpty::Nothing => {
                let message = format!(
                    "{path}: the policy demands nothing of requests for {}, and protects other operations",
                    in_words(&empty)
                );
                let hint = format!(
                    "attach a policy to them, or accept them without protection: policy_may_be_empty = [\"{}\"]",
                    empty.join("\", \"")
                );
                self.report_with_hint(file.place, message, hint);
            }
            MayBeEmpty::Operations(names) => {
                let others = empty
                    .iter()
                    .filter(|name| names.iter().all(|it| it.value != **name));
                let others: Vec<&str> = others.copied().collect();
                if !others.is_empty() {
                    let message = format!(
                        "{path}: the policy demands nothing of requests for {}, which `policy_may_be_empty` does not name",
                        in_words(&others)
                    );
                    let hint = "attach a policy to them, or name them in `policy_may_be_empty`";
                    self.report_with_hint(file.place, message, hint);
                }
                let needless = names
                    .iter()
                    .filter(|name| !empty.contains(&name.value.as_str()));
                for name in needless.map(|name| name.place).collect::<Vec<_>>() {
                    self.report_with_hint(
                        name,
                        "`policy_may_be_empty` must name operations that the policy leaves without protection, found another text",
                        "leave it out",
                    );
                }
            }
        }
    }

    /// `exchanges` are those of `operations`, or the only one. Their conversations begin alike.
    fn by_exchanges(
        &mut self,
        exchanges: Vec<ExchangePolicy>,
        operations: Vec<OperationExchange>,
        place: Place,
        role: Role,
    ) -> Option<EndpointPolicies> {
        let transports: Vec<TransportRequirement> = exchanges
            .iter()
            .flat_map(|exchange| {
                let conversation = exchange.conversation.as_ref();
                let bootstrap =
                    conversation.and_then(|conversation| conversation.bootstrap.as_ref());
                let bootstrap = bootstrap.and_then(|bootstrap| bootstrap.transport);
                [exchange.transport, bootstrap]
            })
            .flatten()
            .collect();
        let conversation = exchanges
            .first()
            .and_then(|exchange| exchange.conversation.clone());
        let bootstrap = match conversation {
            None => None,
            Some(conversation) => {
                let demands = TokenDemands::of(&conversation, &exchanges);
                let Some(bootstrap) = conversation.bootstrap else {
                    self.report(
                        place,
                        "the policy wants a security context and does not say how it is made: `sp:BootstrapPolicy` is missing",
                    );
                    return None;
                };
                Some(Bootstrap {
                    request: self.settled(bootstrap.request),
                    response: self.settled(bootstrap.response),
                    version: conversation.version,
                    demands,
                })
            }
        };
        let mut mechanisms = exchanges
            .iter()
            .map(|exchange| mechanism_of(&exchange.request));
        let mechanism = mechanisms.next()?;
        let mechanism = if mechanisms.all(|other| other == mechanism) {
            mechanism
        } else {
            BY_OPERATION
        };
        let issued = exchanges
            .iter()
            .find_map(|exchange| exchange.issued.clone());
        let exchanges = exchanges.into_iter().map(|exchange| {
            let response = self.settled(exchange.response);
            Exchange {
                request: self.settled(exchange.request),
                response: self.with_timestamp_of_answers(response, role),
                addressing: exchange.addressing || self.writes_addressing(role),
            }
        });
        Some(EndpointPolicies {
            exchanges: exchanges.collect(),
            operations,
            answer_actions: AnswerActions::default(),
            address: None,
            bootstrap,
            mechanism,
            private_transport: !transports.is_empty(),
            client_certificate: transports
                .iter()
                .any(|transport| transport.client_certificate),
            http_basic: None,
            issued,
            remarks: Vec::new(),
        })
    }

    /// Whether the file has addressing headers written into requests, whatever a policy says.
    fn writes_addressing(&self, role: Role) -> bool {
        let leave = matches!(role, Role::Client | Role::Secure);
        leave && self.config.security.addressing.is_some()
    }

    /// A policy from a file, with what the endpoint file says about every policy.
    fn settled(&mut self, mut policy: Policy) -> Policy {
        if let Some(timestamp) = &self.config.security.timestamp {
            if policy.header.timestamp.is_none() && policy.has_security() {
                policy.header.timestamp = freshness_alone(&timestamp.value);
            }
            if let Some(wanted) = policy.header.timestamp {
                let ttl = timestamp.value.ttl.unwrap_or(wanted.ttl);
                let skew = timestamp.value.skew.unwrap_or(wanted.skew);
                policy.set_freshness(ttl, skew);
            }
        }
        policy.suite = self.with_algorithms(policy.suite);
        policy.same_endorser = self.config.security.policy_choice.same_endorser;
        self.settle(&mut policy);
        policy
    }

    fn refuse_what_the_policy_decides(&mut self) {
        let security = &self.config.security;
        let beside = [
            ("suite", security.suite.as_ref().map(|suite| suite.place)),
            (
                "key_reference",
                security
                    .key_reference
                    .as_ref()
                    .map(|reference| reference.place),
            ),
            (
                "signature.key_reference",
                place_of(&security.signature.key_reference),
            ),
            (
                "encryption.key_reference",
                place_of(&security.encryption.key_reference),
            ),
            (
                "password",
                security
                    .password
                    .as_ref()
                    .filter(|password| password.value != PasswordKind::Absent)
                    .map(|password| password.place),
            ),
            (
                "password_keys.derived",
                security
                    .password_keys
                    .as_ref()
                    .and_then(|keys| keys.derived.as_ref())
                    .map(|derived| derived.place),
            ),
            (
                "nonce",
                token_item(security.username_token.as_ref(), |it| it.nonce.as_ref()),
            ),
            (
                "created",
                token_item(security.username_token.as_ref(), |it| it.created.as_ref()),
            ),
            ("signed", first_place(security.signed.as_deref())),
            ("encrypted", first_place(security.encrypted.as_deref())),
        ];
        let answers = self.config.answers.iter();
        let of_answers = answers.flat_map(|answers| {
            let mechanism = answers.protection.as_ref().map(|given| given.place);
            std::iter::once(("mechanism", mechanism)).chain(answers.of_keys())
        });
        for (key, place) in beside.into_iter().chain(of_answers) {
            if let Some(place) = place {
                self.report_with_hint(
                    place,
                    format!("`{key}` is given beside a policy file, which decides it"),
                    "change the policy, or use a mechanism",
                );
            }
        }
    }
}

fn place_of<T>(given: &Option<Located<T>>) -> Option<Place> {
    given.as_ref().map(|given| given.place)
}

/// Names of operations, a few of them.
fn in_words(names: &[&str]) -> String {
    const MOST: usize = 5;
    let more = match names.len().saturating_sub(MOST) {
        0 => "",
        _ => " and others",
    };
    let names = &names[..names.len().min(MOST)];
    format!("`{}`{more}", names.join("`, `"))
}

/// In the place of a mechanism, where operations have different ones.
const BY_OPERATION: &str = "by-operation";

fn token_item(
    given: Option<&UsernameTokenConfig>,
    item: fn(&UsernameTokenConfig) -> Option<&Located<bool>>,
) -> Option<Place> {
    given.and_then(item).map(|item| item.place)
}

fn first_place<T>(parts: Option<&[crate::config::Located<T>]>) -> Option<Place> {
    parts?.first().map(|part| part.place)
}

/// The same policy in answers that name a context without carrying its token.
fn naming_from_outside(mut policy: Policy) -> Policy {
    policy.binding.name_keys(KeyReference::KeyName);
    policy
}

/// The preset that a policy resembles most, for metrics and reports.
fn mechanism_of(policy: &Policy) -> &'static str {
    let order = policy.order();
    let mechanism = match (policy.signature(), policy.encryption()) {
        _ if policy.uses_context() => Mechanism::SecureConversation,
        (Some(_), Some(_)) if order == soapstone_wss::ProtectionOrder::EncryptBeforeSigning => {
            Mechanism::EncryptSign
        }
        (Some(_), Some(_)) => Mechanism::SignEncrypt,
        (Some(_), None) => Mechanism::Sign,
        (None, Some(_)) => Mechanism::Encrypt,
        (None, None) if policy.username().is_some() => Mechanism::Username,
        (None, None) => Mechanism::None,
    };
    mechanism.name()
}
