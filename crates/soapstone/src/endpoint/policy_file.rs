//! The policies of both sides, from a WS-Policy in a file.
//!
//! The rule kept here: what a policy file decides cannot be changed beside it, and a policy that
//! protects nothing is refused unless the endpoint file lets it be empty.

use soapstone_policy::{
    CompileOptions, Conversation, ExchangePolicies, ExchangePolicy, OperationExchange,
    PolicyDocument, PolicyLimits, Selection, SignatureReading, TransportRequirement,
};
use soapstone_trust::Operation;
use soapstone_trust::addressing::AddressingVersion;
use soapstone_wss::{Mechanism, PasswordKind, Policy, ProtectionOrder};

use super::answer_actions::AnswerActions;
use super::compiler::Compiler;
use super::exchange_policy::{Bootstrap, EndpointPolicies, Exchange, TokenDemands};
use super::freshness::freshness_alone;
use super::remarks::named;
use super::request_actions::RequestActions;
use super::role::Role;
use crate::config::{LoadedFile, Located, MayBeEmpty, Place, UsernameTokenConfig, read_beside};

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
    /// The policies that a file holds, with what the endpoint file says about every policy.
    pub(super) fn by_policy(&mut self, file: &LoadedFile, role: Role) -> Option<EndpointPolicies> {
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
            request_actions: RequestActions::of(&messages),
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
        let mut issued = exchanges
            .iter()
            .find_map(|exchange| exchange.issued.clone());
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
                issued = issued.or(bootstrap.issued);
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
        let exchanges = exchanges.into_iter().map(|exchange| {
            let response = self.settled(exchange.response);
            Exchange {
                request: self.settled(exchange.request),
                response: self.with_timestamp_of_answers(response, role),
                addressing: exchange.addressing || self.writes_addressing(role),
                asserted_addressing: exchange.addressing.then_some(
                    match exchange.addressing_2004 {
                        true => AddressingVersion::August2004,
                        false => AddressingVersion::V10,
                    },
                ),
            }
        });
        Some(EndpointPolicies {
            exchanges: exchanges.collect(),
            operations,
            answer_actions: AnswerActions::default(),
            request_actions: RequestActions::default(),
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

fn first_place<T>(parts: Option<&[Located<T>]>) -> Option<Place> {
    parts?.first().map(|part| part.place)
}

/// The preset that a policy resembles most, for metrics and reports.
fn mechanism_of(policy: &Policy) -> &'static str {
    let order = policy.order();
    let mechanism = match (policy.signature(), policy.encryption()) {
        _ if policy.uses_context() => Mechanism::SecureConversation,
        (Some(_), Some(_)) if order == ProtectionOrder::EncryptBeforeSigning => {
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
