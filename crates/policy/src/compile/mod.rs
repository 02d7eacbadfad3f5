//! Compiling: the requirements of one alternative become the plans' policies of request and
//! response.
//!
//! The one rule: whatever cannot be demanded of messages is a problem that names its assertion; a
//! policy is never compiled to less than it says.

mod message;
mod options;
mod parts;
mod security_header;
mod select;
mod supporting;
mod table;
mod tokens;

use soapstone_wss::{ConversationVersion, KeyBinding, Policy};

pub use options::{CompileOptions, SignatureReading};
pub use parts::covers;
pub(crate) use parts::headers_in_words;
pub use select::{ExchangePolicyError, Selection};
pub use table::{ExchangePolicies, OperationExchange, OperationTable};

use crate::alternative::Alternative;
use crate::names::Name;
use crate::node::Place;
use crate::notice::{Notice, NoticeKind};
use crate::problem::{PolicyProblem, ProblemKind};
use crate::requirements::{
    Binding, IssuedToken, Requirements, Token, TokenKind, Trust, TrustVersion,
};
use crate::wsdl::SubjectAlternative;
use message::{Direction, Message};

/// What both sides do, from a policy. Written from the client's view: a service opens by `request`
/// and secures by `response`, a client the other way round.
#[derive(Clone, Debug)]
pub struct ExchangePolicy {
    /// Of messages to the service.
    pub request: Policy,
    /// Of messages to the client.
    pub response: Policy,
    /// The connection is TLS, and what it must prove.
    pub transport: Option<TransportRequirement>,
    /// Messages belong to a conversation.
    pub conversation: Option<Conversation>,
    /// Which WS-Trust makes tokens, and what it must do.
    pub trust: Option<Trust>,
    /// Messages carry WS-Addressing headers.
    pub addressing: bool,
    /// Those headers are of WS-Addressing of August 2004; otherwise they are of 1.0.
    pub addressing_2004: bool,
    /// Requests carry an assertion that is issued by another service, on request.
    pub issued: Option<IssuedToken>,
    /// Requests carry a user and a password of HTTP (RFC 7617): the assertion that demands it.
    pub http_basic: Option<(Name, Place)>,
    /// Assertions that say nothing about messages.
    pub passed_over: Vec<(Name, Place)>,
    /// What an operator must know of assertions that are obeyed, or left out by permission.
    pub notices: Vec<Notice>,
}

/// What a transport binding wants of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportRequirement {
    /// The client proves a certificate while the connection is made.
    pub client_certificate: bool,
}

/// How the security context of a conversation comes about.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Version of its tokens, and of the WS-Trust that goes with it.
    pub version: ConversationVersion,
    /// How the messages are protected that make, renew and cancel it; `None`: both sides have the
    /// context already.
    pub bootstrap: Option<Box<ExchangePolicy>>,
    /// The client may cancel the context.
    pub may_cancel: bool,
    /// The client may amend the context.
    pub may_amend: bool,
    /// The client may renew the context.
    pub may_renew: bool,
}

impl TransportRequirement {
    /// What both want.
    fn and(self, other: Self) -> Self {
        Self {
            client_certificate: self.client_certificate || other.client_certificate,
        }
    }
}

impl ExchangePolicy {
    /// Whether nothing is demanded of messages at all, nor of their connection.
    pub fn demands_nothing(&self) -> bool {
        self.transport.is_none()
            && self.conversation.is_none()
            && self.request.demands_nothing()
            && self.response.demands_nothing()
    }

    /// What two agreements share if they treat messages alike.
    pub(crate) fn terms(&self) -> Terms<'_> {
        let trust = self.trust.as_ref();
        Terms {
            request: &self.request,
            response: &self.response,
            transport: self.transport,
            conversation: self.conversation.as_ref().map(Conversation::terms),
            trust: trust.map(|trust| TrustTerms {
                version: trust.version,
                client_entropy: trust.client_entropy,
                server_entropy: trust.server_entropy,
                applies_to: trust.applies_to,
            }),
            addressing: self.addressing,
            addressing_2004: self.addressing_2004,
            http_basic: self.http_basic.is_some(),
            issued: self.issued.as_ref(),
        }
    }
}

/// How messages are treated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Terms<'a> {
    request: &'a Policy,
    response: &'a Policy,
    transport: Option<TransportRequirement>,
    conversation: Option<ConversationTerms<'a>>,
    trust: Option<TrustTerms>,
    addressing: bool,
    addressing_2004: bool,
    http_basic: bool,
    issued: Option<&'a IssuedToken>,
}

/// How contexts come about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConversationTerms<'a> {
    version: ConversationVersion,
    bootstrap: Option<Box<Terms<'a>>>,
    may_cancel: bool,
    may_amend: bool,
    may_renew: bool,
}

/// How tokens are asked for.
#[derive(Debug, PartialEq, Eq)]
struct TrustTerms {
    version: TrustVersion,
    client_entropy: bool,
    server_entropy: bool,
    applies_to: bool,
}

impl Conversation {
    /// What two conversations share if their contexts come about alike, so that one context does
    /// for both.
    pub(crate) fn terms(&self) -> ConversationTerms<'_> {
        let bootstrap = self.bootstrap.as_ref();
        ConversationTerms {
            version: self.version,
            bootstrap: bootstrap.map(|bootstrap| Box::new(bootstrap.terms())),
            may_cancel: self.may_cancel,
            may_amend: self.may_amend,
            may_renew: self.may_renew,
        }
    }
}

/// Compiles one alternative.
///
/// # Errors
/// Every problem found, in the order of their places; each names an assertion and where it stands.
pub fn compile(
    alternative: &SubjectAlternative,
    options: &CompileOptions,
) -> Result<ExchangePolicy, Vec<PolicyProblem>> {
    let mut problems = Vec::new();
    let mut ignored = Vec::new();
    let mut read = |written: &Alternative| {
        let written = written.without(&options.ignored, &mut ignored);
        Requirements::read(&written, &mut problems)
    };
    let request = read(&alternative.request);
    let response = read(&alternative.response);
    let agreement = agree(&request, &response, options, Depth::Outer, &mut problems);
    problems.sort_by(|left, right| {
        (&left.place, &left.assertion).cmp(&(&right.place, &right.assertion))
    });
    // What both directions have in common was read for both.
    problems.dedup();
    match agreement {
        Some(mut agreement) if problems.is_empty() => {
            let ignored = ignored.iter();
            let notices =
                ignored.map(|(name, place)| Notice::new(name, place, NoticeKind::Ignored));
            agreement.notices.extend(notices);
            let notices = std::mem::take(&mut agreement.notices);
            agreement.notices = in_order(notices);
            Ok(agreement)
        }
        _ => Err(problems),
    }
}

/// Notices by their places, each once: both directions read what they have in common.
fn in_order(mut notices: Vec<Notice>) -> Vec<Notice> {
    notices.sort_by(|left, right| {
        (&left.place, &left.assertion).cmp(&(&right.place, &right.assertion))
    });
    notices.dedup();
    notices
}

/// Whether a policy is that of messages, or of the messages that make their conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Outer,
    Bootstrap,
}

fn agree(
    request: &Requirements,
    response: &Requirements,
    options: &CompileOptions,
    depth: Depth,
    problems: &mut Vec<PolicyProblem>,
) -> Option<ExchangePolicy> {
    let before = problems.len();
    // Both messages travel on one connection.
    let transport = [request, response]
        .into_iter()
        .filter_map(|message| transport(message, problems))
        .reduce(TransportRequirement::and);
    let conversation = conversation(request, options, depth, problems);
    refuse_other_conversation(request, response, problems);
    supporting::refuse_of_answers(request, response, problems);
    tokens::refuse_of_answers(request, response, problems);
    let there = Message {
        requirements: request,
        options,
        direction: Direction::Request,
    }
    .policy(problems);
    let back = Message {
        requirements: response,
        options,
        direction: Direction::Response {
            signed_request: there.signature().is_some(),
        },
    }
    .policy(problems);
    // Of what cannot be done, nothing else is asked.
    if problems.len() == before && !request.is_incomplete() && !response.is_incomplete() {
        if back.uses(KeyBinding::RequestKey)
            && !there.uses(KeyBinding::SessionKey)
            && let Some(binding) = response.binding.as_ref().map(Binding::properties)
        {
            let what = "signed or encrypted parts of requests, whose key protects answers";
            problems.push(message::missing(&binding.name, &binding.place, what));
        }
        if depth == Depth::Bootstrap {
            message::check_bootstrap(request, &there, problems);
        }
    }
    let http_basic = [request, response].into_iter().find_map(http_basic);
    let mut notices: Vec<Notice> = [&request.notices, &response.notices]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if let Some(bootstrap) = conversation.as_ref().and_then(|it| it.bootstrap.as_ref()) {
        notices.extend(bootstrap.notices.iter().cloned());
    }
    if let Some((name, place)) = &http_basic {
        notices.push(Notice::new(name, place, NoticeKind::HttpBasic));
    }
    let issued = tokens::issued(request);
    if let Some((token, _)) = issued.filter(|(_, issued)| issued.asks_for_claims()) {
        notices.push(Notice::new(&token.name, &token.place, NoticeKind::Claims));
    }
    (problems.len() == before).then(|| ExchangePolicy {
        request: there,
        response: back,
        transport,
        conversation,
        trust: request.trust.clone(),
        addressing: request.addressing,
        addressing_2004: request.addressing_2004,
        issued: issued.map(|(_, issued)| issued.clone()),
        http_basic,
        passed_over: request.passed_over.clone(),
        notices,
    })
}

/// The assertion in `sp:HttpsToken` (WS-SecurityPolicy 1.3, 5.4.10).
const HTTP_BASIC: &str = "HttpBasicAuthentication";

/// The assertion that demands a user and a password of HTTP.
fn http_basic(requirements: &Requirements) -> Option<(Name, Place)> {
    let of_token = match &requirements.binding {
        Some(Binding::Transport(binding)) => match binding.token.as_ref().map(|it| &it.kind) {
            Some(TokenKind::Https { authentication, .. }) => authentication.as_ref(),
            _ => None,
        },
        _ => None,
    };
    let found = of_token.or(requirements.http_basic.as_ref());
    found.cloned()
}

/// WS-SecurityPolicy 1.3, 7.3.
fn transport(
    requirements: &Requirements,
    problems: &mut Vec<PolicyProblem>,
) -> Option<TransportRequirement> {
    let Some(Binding::Transport(binding)) = &requirements.binding else {
        return None;
    };
    let Some(token) = &binding.token else {
        let properties = &binding.properties;
        if !properties.incomplete {
            let what = "sp:TransportToken";
            problems.push(message::missing(&properties.name, &properties.place, what));
        }
        return None;
    };
    match &token.kind {
        TokenKind::Https {
            client_certificate,
            authentication,
        } => {
            if let Some((name, place)) = authentication
                && &*name.local != HTTP_BASIC
            {
                problems.push(PolicyProblem::at(
                    name,
                    place,
                    ProblemKind::NotSupported {
                        reason: "of the ways in which HTTP authenticates users, only Basic is supported",
                    },
                ));
            }
            if token.issuer.is_some() {
                problems.push(tokens::refused(token, tokens::ISSUERS));
            }
            Some(TransportRequirement {
                client_certificate: *client_certificate
                    || supporting::shows_holder_by_connection(requirements),
            })
        }
        TokenKind::Issued(_) => Some(TransportRequirement {
            client_certificate: tokens::shows_certificate(token),
        }),
        _ => {
            problems.push(tokens::refused(token, "the transport is HTTPS"));
            None
        }
    }
}

/// The token of a security context that protects messages, or endorses them.
fn context(requirements: &Requirements) -> Option<&Token> {
    let of_binding = match requirements.binding.as_ref()? {
        Binding::Symmetric(binding) => binding.signature.as_ref().or(binding.encryption.as_ref()),
        _ => None,
    };
    let supporting = requirements.supporting.iter();
    let endorsing = supporting
        .filter(|supporting| supporting.kind.endorsing)
        .flat_map(|supporting| &supporting.tokens);
    let mut tokens = of_binding.into_iter().chain(endorsing);
    tokens.find(|token| token.kind.is_context())
}

/// Answers belong to the conversation of their requests. Policies of single messages may say
/// otherwise (WS-SecurityPolicy 1.3, 3 has bindings for both): what they say of how it begins would
/// be left out.
fn refuse_other_conversation(
    request: &Requirements,
    response: &Requirements,
    problems: &mut Vec<PolicyProblem>,
) {
    let binding = |requirements: &Requirements| {
        let binding = requirements.binding.as_ref();
        binding.map(|binding| binding.canonical().to_owned())
    };
    if let Some(token) = context(response)
        && binding(request) != binding(response)
    {
        let with = "the binding of its requests";
        problems.push(PolicyProblem::at(
            &token.name,
            &token.place,
            ProblemKind::Conflict { with },
        ));
    }
}

/// The conversation that messages belong to, if their policy has a context as its token.
fn conversation(
    requirements: &Requirements,
    options: &CompileOptions,
    depth: Depth,
    problems: &mut Vec<PolicyProblem>,
) -> Option<Conversation> {
    let token = context(requirements)?;
    if depth == Depth::Bootstrap {
        let reason = "a conversation is made by messages outside of conversations";
        problems.push(tokens::refused(token, reason));
        return None;
    }
    let conversation = match &token.kind {
        TokenKind::SecurityContext { version } => Conversation {
            version: *version,
            bootstrap: None,
            may_cancel: true,
            may_amend: true,
            may_renew: true,
        },
        TokenKind::SecureConversation {
            version,
            bootstrap,
            must_not_cancel,
            must_not_amend,
            must_not_renew,
        } => {
            let bootstrap = match bootstrap {
                Some(bootstrap) if bootstrap.binding.is_none() => {
                    let what = "a binding in sp:BootstrapPolicy";
                    problems.push(message::missing(&token.name, &token.place, what));
                    None
                }
                Some(bootstrap) => {
                    let bootstrap = with_body(bootstrap);
                    let agreement =
                        agree(&bootstrap, &bootstrap, options, Depth::Bootstrap, problems)?;
                    Some(Box::new(agreement))
                }
                None => {
                    problems.push(missing_bootstrap(token));
                    None
                }
            };
            Conversation {
                version: *version,
                bootstrap,
                may_cancel: !must_not_cancel,
                may_amend: !must_not_amend,
                may_renew: !must_not_renew,
            }
        }
        _ => return None,
    };
    if token.issuer.is_some() {
        let reason = "contexts are made by the service itself, not by an issuer";
        problems.push(tokens::refused(token, reason));
    }
    Some(conversation)
}

/// The messages that make a conversation carry its secrets: where their policy names no parts at
/// all, their Body is signed and encrypted, as stacks that write such policies do it.
fn with_body(bootstrap: &Requirements) -> Requirements {
    let mut bootstrap = bootstrap.clone();
    let silent = bootstrap.signed_parts.is_empty()
        && bootstrap.encrypted_parts.is_empty()
        && bootstrap.element_lists().all(|(list, _)| list.is_empty());
    if let (true, Some(binding)) = (silent, &bootstrap.binding) {
        let body = binding.properties().body();
        bootstrap.signed_parts.push(body.clone());
        bootstrap.encrypted_parts.push(body);
    }
    bootstrap
}

fn missing_bootstrap(token: &Token) -> PolicyProblem {
    PolicyProblem::at(
        &token.name,
        &token.place,
        ProblemKind::Missing {
            what: "sp:BootstrapPolicy",
        },
    )
}
