//! From what an endpoint file says to plans.
//!
//! Names become algorithms, files become keys, and policies become plans. Whatever is wrong with
//! any of them is reported together, each with its place in the file.

use std::path::Path;
use std::sync::Arc;

use soapstone_crypto::HolderName;
use soapstone_mime::LARGEST_PACKAGE;
use soapstone_trust::SecurityTokenService;
use soapstone_wss::{
    AsymmetricBinding, Binding, EncryptionKey, EncryptionToken, InboundPlan, KeyBinding, Keys,
    OrderedItem, OutboundPlan, Part, PasswordKind, Policy, Recipient, SymmetricBinding,
    SymmetricToken,
};
use soapstone_xml::Limits;

use super::bootstrap::Conversation;
use super::compiled::Endpoint;
use super::compiler::{Compiler, compiled};
use super::exchange_policy::{Bootstrap, EndpointPolicies, Exchange};
use super::kerberos_policy::without_kerberos;
use super::nodes::LastNode;
use super::operations::Operations;
use super::packages::Packages;
use super::plans::{Directions, Fixed, Plans};
use super::reflection_guard::ReflectionGuard;
use super::renewal::renewing;
use super::role::Role;
use super::saml::without_assertion;
use super::token_rules::token_rules;
use crate::config::{Document, EndpointConfig, Environment, Located, Place, Problems};

impl<P: Fixed> Endpoint<P> {
    /// Loads and compiles an endpoint file.
    ///
    /// # Errors
    /// Everything that is wrong with the file, and with what it asks for.
    pub fn from_file(file: &Path, environment: &Environment<'_>) -> Result<Self, Problems> {
        load(file, P::ROLE, environment)
    }

    /// Compiles an endpoint file that was read.
    ///
    /// # Errors
    /// Everything that is wrong with what it asks for.
    pub fn from_config(config: &EndpointConfig) -> Result<Self, Problems> {
        compile(config, P::ROLE)
    }
}

/// Loads and compiles an endpoint file.
pub(super) fn load<P: Directions>(
    file: &Path,
    role: Role,
    environment: &Environment<'_>,
) -> Result<Endpoint<P>, Problems> {
    let document = Document::load(file, environment)?;
    let config = EndpointConfig::read(document.root());
    // Of a file with syntax errors it is not known what it asks for.
    let config = config.filter(|_| document.is_well_formed());
    let endpoint = config.and_then(|config| {
        let report = |problems: Problems| {
            let problems = problems.0.into_iter();
            problems.for_each(|problem| document.report(problem));
        };
        compile(&config, role).map_err(report).ok()
    });
    document.finish(endpoint)
}

/// Compiles an endpoint that was read.
pub(super) fn compile<P: Directions>(
    config: &EndpointConfig,
    role: Role,
) -> Result<Endpoint<P>, Problems> {
    compiled(config, |compiler| compiler.endpoint(role))
}

impl Compiler<'_> {
    pub(super) fn endpoint<P: Directions>(&mut self, role: Role) -> Option<Endpoint<P>> {
        let agreed = self.agreed(role);
        let keys = self.keys();
        let limits = self.limits();
        let attachment_bytes = self.attachment_bytes();
        let users = self.users();
        let kerberos = self.config.kerberos.as_ref();
        let kerberos = match kerberos.filter(|_| agreed.is_some()) {
            Some(config) => Some(Arc::new(self.kerberos(config, role)?)),
            None => None,
        };
        let agreed = agreed?;
        let references = self.references(&agreed.exchanges, &keys, role);
        self.refuse_users_without_passwords(&agreed);
        self.check_password_keys(&agreed);
        let token_service = self.token_service(&agreed, role);
        let last = LastNode::of(&agreed);
        let addressing = self.addressing_version(&agreed, role);
        let conversation = match agreed.bootstrap {
            Some(bootstrap) => {
                let bits = self.secret_bits(&agreed.exchanges)?;
                let first = agreed.exchanges.first();
                let renewing = first.and_then(|first| renewing(&bootstrap.request, &first.request));
                Some(self.conversation(bootstrap, renewing, bits, &keys, role)?)
            }
            None => None,
        };
        let suite = common_suite(&agreed.exchanges);
        let demands = self.demands(role, &agreed.exchanges);
        let answers = self.answers(&agreed.exchanges);
        self.refuse_needless_unsigned(&agreed.exchanges);
        self.refuse_needless_order(&agreed.exchanges);
        self.check_intermediary(role);
        let recipients = self.recipients(last.requests, last.addressing, &keys, role);
        let answer_recipients = self.answer_recipients(last.answers, last.addressing, &keys, role);
        let request_headers = self.request_headers(role, addressing, agreed.address.clone());
        let inner = self.inner(role, conversation.is_some(), &keys);
        let sts = self.sts(conversation.is_some(), &agreed.exchanges, &keys);
        let refuses_cancelled = self.refuses_cancelled(role);
        let peer_clock = self.peer_clock(role, &agreed.exchanges);
        let operations = (!agreed.operations.is_empty()).then(|| {
            let requests: Vec<bool> = agreed
                .exchanges
                .iter()
                .map(|exchange| exchange.request.encryption().is_some() || inner.hides_requests())
                .collect();
            let encrypts = |exchange: usize| requests[exchange];
            let serves = role != Role::Client && role != Role::Secure;
            Operations::new(agreed.operations, encrypts, serves)
        });
        let plans: Vec<Option<Plans<P>>> = agreed
            .exchanges
            .into_iter()
            .map(|mut exchange| {
                self.demand_headers_of_requests(&mut exchange, role);
                self.plans(exchange, &keys, role)
            })
            .collect();
        self.remark_on_key_usage(&keys, &plans);
        let reader_of_answers = self.reader_of_answers()?;
        let mut remarks = agreed.remarks;
        remarks.append(&mut self.remarks);
        let replay = self.config.security.replay.as_ref();
        let (sent, all_sent) = ReflectionGuard::alone(replay.and_then(|replay| replay.capacity));
        Some(Endpoint {
            plans: plans.into_iter().collect::<Option<_>>()?,
            operations,
            answer_actions: agreed.answer_actions,
            request_actions: agreed.request_actions,
            answers,
            request_headers,
            demands,
            inner,
            limits,
            attachment_bytes,
            packages: Packages::of(self.config.security.attachments.as_ref()),
            ids: self.config.security.ids.clone(),
            users,
            references,
            kerberos,
            refuses_cancelled,
            token_service,
            replay: self.config.security.replay.clone(),
            conversations: self.config.security.conversations.clone(),
            time: self.config.security.time.as_ref().map(|time| time.value),
            peer_clock,
            recipients: recipients?,
            answer_recipients: answer_recipients?,
            reader_of_answers,
            mechanism: agreed.mechanism,
            suite,
            scope: String::new(),
            conversation,
            sts,
            private_transport: agreed.private_transport,
            client_certificate: agreed.client_certificate,
            http_basic: agreed.http_basic,
            remarks,
            dated: std::mem::take(&mut self.dated),
            online: std::mem::take(&mut self.online),
            sent,
            all_sent,
        })
    }

    /// Reports header blocks that may be unsigned, where no signature keeps any from being passed
    /// on.
    fn refuse_needless_unsigned(&mut self, exchanges: &[Exchange]) {
        let Some(first) = self.config.security.unsigned.first() else {
            return;
        };
        let policies = || exchanges.iter().flat_map(|it| [&it.request, &it.response]);
        if !policies().any(Policy::proves_parts) {
            self.report_with_hint(
                first.place,
                "`unsigned` names header blocks, and no signature keeps any from being passed on",
                "leave it out",
            );
        }
    }

    /// Reports items of `header_order` that neither requests nor answers have. Operations share the
    /// order, and an item that one of them has is enough.
    fn refuse_needless_order(&mut self, exchanges: &[Exchange]) {
        let Some(order) = &self.config.security.header_order else {
            return;
        };
        let policies = || exchanges.iter().flat_map(|it| [&it.request, &it.response]);
        let is_written = |item: OrderedItem| {
            let mut ordered = policies().filter(|policy| !policy.header.order.is_empty());
            ordered.any(|policy| policy.writes_item(item))
        };
        let needless = order.value.iter().filter(|item| !is_written(**item));
        let needless: Vec<OrderedItem> = needless.copied().collect();
        let has: Vec<&str> = OrderedItem::ALL
            .into_iter()
            .filter(|item| is_written(*item))
            .map(OrderedItem::name)
            .collect();
        let expected = match has.is_empty() {
            true => "messages have none".to_owned(),
            false => format!("messages have {}", has.join(", ")),
        };
        let place = order.place;
        for item in needless {
            let message = format!(
                "`header_order` must name items that messages have, found `{}`: {expected}",
                item.name()
            );
            self.report_with_hint(place, message, "leave it out");
        }
    }

    /// Reports users without a password, where messages prove one.
    fn refuse_users_without_passwords(&mut self, agreed: &EndpointPolicies) {
        let bootstrap = agreed.bootstrap.iter().map(|bootstrap| &bootstrap.request);
        let exchanges = agreed.exchanges.iter().map(|exchange| &exchange.request);
        let mut users = exchanges.chain(bootstrap).filter_map(Policy::username);
        let proves = |kind: &PasswordKind| *kind != PasswordKind::Absent;
        if !users.any(|username| username.passwords.iter().any(proves)) {
            return;
        }
        for user in self
            .config
            .users
            .iter()
            .filter(|user| user.password.is_none())
        {
            self.report_with_hint(
                user.place,
                "`password` is missing in [users]",
                "give password_env, password_file or password",
            );
        }
    }

    /// The plans of an exchange, as the role needs them. What is wrong with them is reported.
    fn plans<P: Directions>(
        &mut self,
        exchange: Exchange,
        keys: &Keys,
        role: Role,
    ) -> Option<Plans<P>> {
        let place = self.config.security.source.place;
        let Exchange {
            request,
            response,
            addressing,
            ..
        } = exchange;
        let (inbound, outbound) = match role {
            Role::Secure => (None, Some(request)),
            Role::Open => (Some(request), None),
            Role::Service => (Some(request), Some(response)),
            Role::Client => (Some(response), Some(request)),
        };
        let inbound =
            inbound.and_then(|policy| self.plan(InboundPlan::compile(policy, keys.clone()), place));
        let outbound = outbound
            .and_then(|policy| self.plan(OutboundPlan::compile(policy, keys.clone()), place));
        let directions = P::of(inbound, outbound)?;
        Some(Plans::new(directions, addressing))
    }

    /// Bits of a context's secret, which all exchanges of a conversation use.
    fn secret_bits(&mut self, exchanges: &[Exchange]) -> Option<Option<u32>> {
        let mut bits = exchanges.iter().filter_map(secret_bits);
        let first = bits.next();
        if bits.all(|other| Some(other) == first) {
            return Some(first);
        }
        let place = self.config.security.source.place;
        self.report_with_hint(
            place,
            "operations share a security context, and want keys of different lengths from it",
            "name the operation that is meant: policy_subject = { operation = \"…\" }",
        );
        None
    }

    fn conversation(
        &mut self,
        bootstrap: Bootstrap,
        renewing: Option<Policy>,
        bits: Option<u32>,
        keys: &Keys,
        role: Role,
    ) -> Option<Conversation> {
        let place = self.config.security.source.place;
        if matches!(role, Role::Secure | Role::Open) {
            self.report_with_hint(
                place,
                "a conversation takes more than one message",
                "use it in a gateway; for single messages, name another mechanism",
            );
            return None;
        }
        let (inbound, outbound) = match role {
            Role::Client => (bootstrap.response, bootstrap.request),
            _ => (bootstrap.request, bootstrap.response),
        };
        let begins = |policy: &Policy| policy.assertion().is_some();
        let issuers = match begins(&inbound) {
            true => Arc::clone(&keys.issuers),
            false => Arc::default(),
        };
        let attesters = inbound.assertion().map(|wanted| {
            let attesters = wanted.attesters.iter();
            let names = attesters.map(|text| HolderName::parse(text).ok());
            names.flatten().collect()
        });
        let assertion = keys.assertion.as_ref().filter(|_| begins(&outbound));
        let assertion_end = assertion.and_then(|assertion| assertion.ends());
        let bootstrap_inbound = self.plan(InboundPlan::compile(inbound, keys.clone()), place);
        let bootstrap_outbound = self.plan(OutboundPlan::compile(outbound, keys.clone()), place);
        // Where that cannot be, nobody is told: what bootstrap and conversation lack is told of
        // them.
        let renewal_inbound = renewing
            .filter(|_| role == Role::Service)
            .and_then(|policy| InboundPlan::compile(policy, keys.clone()).ok());
        let config = self.config.security.conversations.as_ref();
        let wanted = config.and_then(|config| config.key_size.as_ref());
        if let (Some(bits), Some(wanted)) = (bits, wanted)
            && wanted.value != bits
        {
            let message = format!(
                "expected `key_size = {bits}`, as the suite encrypts with the context's key itself, found {}",
                wanted.value
            );
            self.report(wanted.place, message);
            return None;
        }
        let (service, client) =
            token_rules(config, bootstrap.version, bootstrap.demands, bits, keys);
        let operations = service.operations.clone();
        Some(Conversation {
            bootstrap_inbound: bootstrap_inbound?,
            bootstrap_outbound: bootstrap_outbound?,
            renewal_inbound,
            issuers,
            attesters: attesters.unwrap_or_default(),
            trust: keys.trust.clone(),
            assertion_end,
            service: SecurityTokenService::new(service),
            client,
            operations,
        })
    }

    /// The policy of answers: the same protection, without a password, and with the keys that are
    /// there for the way back.
    pub(super) fn response(
        &mut self,
        request: &Policy,
        has_certificate: bool,
        role: Role,
    ) -> Policy {
        self.answering(request, request.clone(), has_certificate, role)
    }

    /// A policy of answers to such requests: without a password, and with the keys that are there
    /// for the way back.
    pub(super) fn answering(
        &mut self,
        request: &Policy,
        mut policy: Policy,
        has_certificate: bool,
        role: Role,
    ) -> Policy {
        policy.set_username(None);
        without_assertion(&mut policy);
        without_kerberos(&mut policy);
        let signs = policy.signature().is_some();
        // A Timestamp that is neither signed nor demanded binds nobody, and a policy without one
        // forbids it (WS-SecurityPolicy 1.3, 6.2).
        if !policy.parts.signed.contains(&Part::Timestamp) {
            let timestamp = policy.header.timestamp;
            policy.header.timestamp =
                timestamp.filter(|timestamp| timestamp.required || !timestamp.sent);
        }
        let of_user = |part: &Part| *part == Part::UsernameToken;
        policy.parts.signed.retain(|part| !of_user(part));
        policy.parts.encrypted.retain(|one| !of_user(&one.part));
        let answers = matches!(role, Role::Service | Role::Client);
        if answers && signs && policy.parts.signed.is_empty() {
            self.report_with_hint(
                self.config.security.source.place,
                "a signature is to be made, and nothing for it to cover: the user is in requests alone",
                "sign the Body, or the Timestamp",
            );
        }
        let Binding::Asymmetric(keys) = policy.binding else {
            return policy;
        };
        let by_certificate = policy.encryption().is_some();
        if by_certificate && !has_certificate {
            let signer = request.signs_with() == Some(KeyBinding::Certificate);
            if signer && policy.suite.wraps_to_signers() {
                policy.binding.wrap_to(Recipient::Requester);
            } else if request.encryption().is_some() || !answers {
                policy.binding = under_request(keys);
            } else {
                self.report_with_hint(
                    self.config.security.source.place,
                    "answers are encrypted, and requests bring neither a certificate nor a session key to encrypt with",
                    "name whom answers are encrypted to, peer = { certificate = \"….cert.pem\" }; or sign or encrypt requests",
                );
            }
        }
        policy
    }

    /// Most bytes of the attachments of a message together.
    fn attachment_bytes(&mut self) -> usize {
        let Some(given) = &self.config.limits.attachments else {
            return LARGEST_PACKAGE;
        };
        match usize::try_from(given.value) {
            Ok(bytes) if bytes <= LARGEST_PACKAGE => bytes,
            _ => {
                let message = format!("`attachments` must be {LARGEST_PACKAGE} bytes at most");
                self.report(given.place, message);
                LARGEST_PACKAGE
            }
        }
    }

    fn limits(&mut self) -> Limits {
        let config = &self.config.limits;
        let mut limits = Limits::default();
        fn set<T: TryFrom<u64>>(
            field: &mut T,
            value: &Option<Located<u64>>,
        ) -> Option<(Place, u64)> {
            let value = value.as_ref()?;
            match T::try_from(value.value) {
                Ok(fits) => *field = fits,
                Err(_) => return Some((value.place, value.value)),
            }
            None
        }
        let too_large = [
            set(&mut limits.depth, &config.depth),
            set(&mut limits.attributes, &config.attributes),
            set(&mut limits.message, &config.message),
            set(&mut limits.elements, &config.elements),
            set(&mut limits.ids, &config.ids),
            set(&mut limits.name, &config.name),
            set(&mut limits.namespaces, &config.namespaces),
        ];
        for (place, value) in too_large.into_iter().flatten() {
            self.report(place, format!("{value} is more than this limit can be"));
        }
        limits
    }
}

/// The same keys for answers to a client without a certificate: the session key of its request
/// encrypts.
fn under_request(keys: AsymmetricBinding) -> Binding {
    let derived_keys = keys
        .encryption
        .and_then(|encryption| encryption.derived_keys);
    match keys.signature {
        Some(_) => Binding::Asymmetric(AsymmetricBinding {
            encryption: Some(EncryptionToken {
                key: EncryptionKey::Request,
                derived_keys,
            }),
            ..keys
        }),
        None => Binding::Symmetric(SymmetricBinding {
            key: SymmetricToken::Request,
            derived_keys,
            order: keys.order,
        }),
    }
}

/// The suite of all exchanges that are protected; empty where there are several, or none.
fn common_suite(exchanges: &[Exchange]) -> String {
    let mut suites = exchanges
        .iter()
        .filter(|exchange| exchange.request.has_security())
        .map(|exchange| exchange.request.suite.name.as_str());
    let first = suites.next().unwrap_or_default();
    if suites.all(|other| other == first) {
        first.to_owned()
    } else {
        String::new()
    }
}

/// Bits of a context's secret that encrypts as it is: as many as the suite's data encryption wants.
/// Keys that are derived come from a secret of any length, and one of any length signs.
fn secret_bits(exchange: &Exchange) -> Option<u32> {
    let encrypting = [&exchange.request, &exchange.response]
        .into_iter()
        .filter(|policy| {
            let encryption = policy.encryption();
            encryption.is_some_and(|encryption| encryption.key == KeyBinding::Context)
        });
    let mut undivided = encrypting.filter(|policy| policy.derived_keys().is_none());
    let octets = undivided.next()?.suite.data.first()?.key_length();
    u32::try_from(octets * 8).ok()
}
