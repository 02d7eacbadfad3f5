//! The security token service: one verified request in, one answer out.
//!
//! It issues, renews, amends, cancels and validates security contexts, and issues, renews, cancels
//! and validates SAML assertions. Which kinds of tokens there
//! are is decided in one place ([`TokenKind`]), so that another kind is another arm there and not
//! another service.
//!
//! The one rule: what is done about a context, its key must have signed for, and whoever
//! established it must not be somebody else (WS-SecureConversation 1.4, 4 to 6). A name alone moves
//! nothing.

mod assertions;
mod contexts;
mod keys;
mod lifetime;
mod requester;
mod rules;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_wss::{ContextName, SamlVersion, SecurityContext};
use soapstone_xml::{Document, Element};

use crate::fault::{BatchProblem, Refusal, TrustFault};
use crate::message::{
    ContextReference, RequestSecurityToken, RequestSecurityTokenResponse, Requests, Responses,
    only_child,
};
use crate::version::{Action, Operation, RequestType, TrustVersion};

pub use assertions::{
    ACTOR_CLAIM, AssertionRules, ClaimDialect, Delegation, DelegationForm, ForeignSubjects,
    GrantedAttribute, Parties, TRANSIENT_NAMES, TargetService, takes_symmetric_keys,
};
pub(crate) use contexts::is_same;
pub(crate) use keys::shortest_entropy;
pub use requester::{Requester, RequesterToken};
pub use rules::ServiceRules;

/// The contexts of the host cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextsUnavailable {
    /// Why.
    pub problem: String,
}

impl fmt::Display for ContextsUnavailable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.problem)
    }
}

impl std::error::Error for ContextsUnavailable {}

/// How the service looks up a context of this endpoint: to validate it, and to renew or cancel it
/// for its owner.
pub type FindContext<'f> =
    dyn Fn(&ContextName) -> Result<Option<SecurityContext>, ContextsUnavailable> + 'f;

/// How the service asks whether an assertion that it issued was cancelled: by issuer and id.
pub type FindCancelled<'f> = dyn Fn(&str, &str) -> Result<bool, ContextsUnavailable> + 'f;

/// What the host remembers of the tokens of this endpoint.
#[derive(Clone, Copy)]
pub struct Records<'r> {
    /// Its contexts.
    pub contexts: &'r FindContext<'r>,
    /// Its assertions that were cancelled.
    pub cancelled: &'r FindCancelled<'r>,
}

impl<'r> Records<'r> {
    /// Those of a host whose assertions cannot be cancelled.
    #[must_use]
    pub fn of_contexts(contexts: &'r FindContext<'r>) -> Self {
        Self {
            contexts,
            cancelled: &not_cancelled,
        }
    }
}

fn not_cancelled(_: &str, _: &str) -> Result<bool, ContextsUnavailable> {
    Ok(false)
}

/// What the host has to remember, before it sends the answer. If it cannot, the answer must not be
/// sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// A new context.
    Store(SecurityContext),
    /// A new instance of a context with a new key. Messages under way may still use the old one for
    /// `grace`.
    Replace {
        /// The new instance.
        context: SecurityContext,
        /// How long the old one is still accepted; no longer than it would have lived.
        grace: Duration,
    },
    /// The same instance with the same key has an owner now; if it is still there as it was, and
    /// not if it was cancelled or renewed meanwhile.
    Amend {
        /// As it was.
        before: SecurityContext,
        /// As it is to be.
        after: SecurityContext,
    },
    /// The context is over, with all its instances. The answer is still secured with it.
    Cancel {
        /// Its identifier.
        identifier: String,
    },
    /// The assertion is over before its end. It has to be known as such from now on.
    CancelAssertion {
        /// Its issuer.
        issuer: String,
        /// Its id.
        id: String,
        /// When nobody believes it any more anyway.
        until: Timestamp,
        /// Who cancelled it: kind and name of the requester, or the issuer that he is a subject
        /// of. Each has a share of what is remembered.
        requester: String,
    },
}

/// The answer to a request.
#[non_exhaustive]
pub struct Answer {
    /// Version of the answer.
    pub version: TrustVersion,
    /// Value of `wsa:Action`.
    pub action: String,
    /// What goes into the `soap:Body`, in canonical form.
    pub body: Vec<u8>,
    /// What the host has to remember. Nothing for a validation.
    pub effects: Vec<Effect>,
    /// The assertions that it holds.
    pub issued: Vec<Issued>,
    /// The body holds key material in the clear: it must be encrypted, or travel over TLS.
    pub confidential: bool,
}

impl fmt::Debug for Answer {
    /// Without the body, which may hold a key.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Answer")
            .field("version", &self.version)
            .field("action", &self.action)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("effects", &self.effects)
            .field("issued", &self.issued)
            .field("confidential", &self.confidential)
            .finish()
    }
}

/// An assertion that was issued, for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Issued {
    /// `issued`, `renewed` or `cancelled`.
    pub what: &'static str,
    /// Its id.
    pub id: String,
    /// Whether it confirms its bearer: whoever is given it for its id may be taken for its
    /// subject.
    pub is_bearers: bool,
    /// Whom it is about.
    pub subject: String,
    /// The domain of that name, where it is another issuer's.
    pub domain: Option<String>,
    /// Who asked for it.
    pub requester: String,
    /// For whom it is.
    pub audience: String,
}

/// One answer before it is written, with what it changes.
struct Outcome {
    answer: RequestSecurityTokenResponse,
    effect: Option<Effect>,
    issued: Option<Issued>,
    confidential: bool,
}

impl Outcome {
    /// An answer that changes nothing, and that everybody may read.
    const fn of(answer: RequestSecurityTokenResponse) -> Self {
        Self {
            answer,
            effect: None,
            issued: None,
            confidential: false,
        }
    }
}

/// The kinds of tokens that are issued.
enum TokenKind {
    /// `wsc:SecurityContextToken`.
    SecurityContext,
    /// `saml:Assertion` of a version.
    Assertion(SamlVersion),
}

impl TokenKind {
    /// The kind that a request is about. One that names none gets what this service has.
    fn of(request: &RequestSecurityToken, rules: &ServiceRules) -> Result<Self, Refusal> {
        let context_type = request.version.conversation().token_type();
        let assertions = rules.assertions.as_deref();
        let offered = match request.token_type.as_deref() {
            None if rules.contexts => Some(Self::SecurityContext),
            None => assertions.and_then(|rules| {
                let first = rules.versions.first();
                first.copied().map(Self::Assertion)
            }),
            Some(token_type) if token_type == context_type => {
                rules.contexts.then_some(Self::SecurityContext)
            }
            Some(token_type) => SamlVersion::from_token_type(token_type).and_then(|version| {
                let rules = assertions?;
                let is_offered = rules.versions.contains(&version);
                is_offered.then_some(Self::Assertion(version))
            }),
        };
        offered.ok_or_else(|| Refusal::TokenTypeNotOffered {
            found: request.token_type.clone().unwrap_or_default(),
        })
    }
}

/// A security token service for one endpoint.
///
/// ```
/// use jiff::Timestamp;
/// use soapstone_trust::{ClientRules, Effect, PendingIssue, Records, Requester};
/// use soapstone_trust::{SecurityTokenService, ServiceRules};
/// use soapstone_wss::ContextOwner;
/// use soapstone_xml::{Buffers, Document, ParseOptions};
///
/// let now = Timestamp::now();
/// let (pending, request) = PendingIssue::issue(&ClientRules::default(), None, now);
///
/// // Secured, sent, opened, verified: the service has the request's Body and knows its sender.
/// let body = [b"<Body>".as_slice(), &request.body, b"</Body>"].concat();
/// let body = Document::parse(body, &ParseOptions::default(), &mut Buffers::new())?;
/// let service = SecurityTokenService::new(ServiceRules::default());
/// let owner = ContextOwner::User("alice".to_owned());
/// let signers = Vec::new();
/// let requester = Requester {
///     owner, token: None, context: None, confidential: true, signers, mixed: false, idle: false,
/// };
/// let action = Some(&*request.action);
/// let records = Records::of_contexts(&|_| Ok(None));
/// let answer = service.answer(body.root(), action, &requester, records, now)?;
/// let [Effect::Store(theirs)] = &answer.effects[..] else { panic!("a context") };
///
/// // And back.
/// let body = [b"<Body>".as_slice(), &answer.body, b"</Body>"].concat();
/// let body = Document::parse(body, &ParseOptions::default(), &mut Buffers::new())?;
/// let ours = pending.accept(body.root(), ContextOwner::Anonymous, now)?;
/// assert_eq!(ours.identifier, theirs.identifier);
/// assert_eq!(ours.secret.expose(), theirs.secret.expose());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SecurityTokenService {
    rules: ServiceRules,
}

impl SecurityTokenService {
    /// A service with these rules.
    #[must_use]
    pub fn new(rules: ServiceRules) -> Self {
        Self { rules }
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &ServiceRules {
        &self.rules
    }

    /// Answers the request in `body`, the `soap:Body` of a verified message.
    ///
    /// `action` is the verified `wsa:Action` (or the `SOAPAction` of a message without addressing
    /// headers), by which the host chose the policy that the message was verified with; it must
    /// ask for the same thing as the request.
    ///
    /// # Errors
    /// [`TrustFault`]: nothing has changed then.
    pub fn answer(
        &self,
        body: Element<'_>,
        action: Option<&str>,
        requester: &Requester,
        records: Records<'_>,
        now: Timestamp,
    ) -> Result<Answer, TrustFault> {
        // Until the version is known, the current one has to do.
        let mut version = TrustVersion::V13;
        let mut respond = || {
            let element = only_child(body, "one request in the `soap:Body`")?;
            version = TrustVersion::from_namespace(element.namespace()).unwrap_or(version);
            if requester.is_nobody() && !self.rules.contexts {
                // Strangers are told one thing, whatever they ask.
                return Err(Refusal::NotAuthenticated);
            }
            if !self.rules.versions.contains(&version) {
                return Err(Refusal::VersionNotOffered { version });
            }
            let requests = Requests::read(element)?;
            let (batch, requests) = match requests {
                Requests::One(request) => (false, vec![*request]),
                Requests::Collection(requests) => (true, requests),
            };
            let request_type = self.one_type(&requests, batch)?;
            let action = self.matching(action, request_type, version)?;
            self.respond(&requests, action, requester, body.document(), records, now)
        };
        respond().map_err(|refusal| TrustFault { version, refusal })
    }

    /// The type that all requests have (WS-Trust 1.4, 4.2.1).
    fn one_type(
        &self,
        requests: &[RequestSecurityToken],
        batch: bool,
    ) -> Result<RequestType, Refusal> {
        let problem = |problem| Err(Refusal::Batch { problem });
        let limit = self.rules.batch;
        let (Some(first), found) = (requests.first(), requests.len()) else {
            return problem(BatchProblem::Size { found: 0, limit });
        };
        if batch && !(2..=limit).contains(&found) {
            return problem(BatchProblem::Size { found, limit });
        }
        for request in requests {
            let request_type = request.request_type;
            if request_type.batch != batch || request_type != first.request_type {
                return problem(BatchProblem::RequestType {
                    found: request_type.uri(request.version),
                });
            }
        }
        Ok(first.request_type)
    }

    /// The action that goes with a request: the one of the message if it asks for the same, or the
    /// usual one.
    fn matching(
        &self,
        action: Option<&str>,
        request_type: RequestType,
        version: TrustVersion,
    ) -> Result<Action, Refusal> {
        let RequestType { operation, batch } = request_type;
        let Some(uri) = action else {
            return Ok(Action {
                version,
                operation,
                context: self.rules.contexts && !batch && operation != Operation::Validate,
                batch,
            });
        };
        let asked = Action::from_uri(uri).filter(|asked| {
            // Amending is asked for by the action alone.
            let same = asked.operation == operation
                || (asked.operation, operation) == (Operation::Amend, Operation::Issue);
            same && asked.version == version && asked.batch == batch
        });
        asked.ok_or_else(|| Refusal::ActionMismatch {
            action: uri.chars().take(200).collect(),
            request_type: request_type.uri(version),
        })
    }

    fn respond(
        &self,
        requests: &[RequestSecurityToken],
        action: Action,
        requester: &Requester,
        document: &Document,
        records: Records<'_>,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        let mut issued = Vec::new();
        let mut answers = Vec::with_capacity(requests.len());
        let mut effects = Vec::with_capacity(requests.len());
        let mut confidential = false;
        for request in requests {
            let outcome = self.one(request, action, requester, document, records, now)?;
            answers.push(outcome.answer);
            effects.extend(outcome.effect);
            issued.extend(outcome.issued);
            confidential |= outcome.confidential;
        }
        let version = action.version;
        let collection = action.context || action.batch || action.operation == Operation::Issue;
        let responses = match answers.pop() {
            Some(answer) if answers.is_empty() && (version != TrustVersion::V13 || !collection) => {
                Responses::One(Box::new(answer))
            }
            last => {
                answers.extend(last);
                Responses::Collection(answers)
            }
        };
        let mut body = Vec::with_capacity(2048);
        responses.write(&mut body);
        Ok(Answer {
            version,
            action: action.answer_uri(),
            body,
            effects,
            issued,
            confidential,
        })
    }

    fn one(
        &self,
        request: &RequestSecurityToken,
        action: Action,
        requester: &Requester,
        document: &Document,
        records: Records<'_>,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        let contexts = records.contexts;
        self.check_understood(request)?;
        if !self.rules.operations.contains(&action.operation) {
            return Err(Refusal::OperationNotOffered {
                operation: action.operation,
            });
        }
        let about = |version| {
            let wanted = (action.operation, version);
            self.about_assertion(request, requester, (document, records), wanted, now)
        };
        if action.operation == Operation::Validate {
            let names_context = matches!(request.target, Some(ContextReference::Context(_)));
            return match self.rules.assertions {
                Some(_) if !names_context => about(SamlVersion::V20),
                _ if !self.rules.contexts => Err(Refusal::OperationNotOffered {
                    operation: action.operation,
                }),
                _ => self.validate(request, requester, contexts, now),
            };
        }
        match TokenKind::of(request, &self.rules)? {
            // Each would have to be signed with the key of its context, and a message is signed
            // with one. Assertions are in the request.
            TokenKind::SecurityContext if action.batch && action.operation != Operation::Issue => {
                Err(Refusal::RequestTypeNotOffered {
                    found: request.request_type.uri(request.version),
                })
            }
            TokenKind::SecurityContext => {
                if let Some(element) = request.about_assertions() {
                    return Err(Refusal::NotUnderstood { element });
                }
                match action.operation {
                    Operation::Renew => self.renew(request, requester, contexts, now),
                    Operation::Amend => self.amend(request, requester, now),
                    Operation::Cancel => self.cancel(request, requester, contexts),
                    _ => self.issue(request, requester, now),
                }
            }
            TokenKind::Assertion(_) if action.context => Err(Refusal::ActionMismatch {
                action: action.request_uri(),
                request_type: request.request_type.uri(request.version),
            }),
            TokenKind::Assertion(version) => about(version),
        }
    }

    /// Nothing may be asked for that is silently not done (WS-Trust 1.4, 3.1).
    fn check_understood(&self, request: &RequestSecurityToken) -> Result<(), Refusal> {
        if let Some(element) = request.not_understood.first() {
            return Err(Refusal::NotUnderstood {
                element: element.clone(),
            });
        }
        if request.participants.is_some() {
            // Nobody but the two parties can use a security context.
            return Err(Refusal::NotUnderstood {
                element: format!("{{{}}}Participants", request.version.namespace()),
            });
        }
        match &request.applies_to {
            None if self.rules.applies_to_required
                && request.request_type.operation == Operation::Issue =>
            {
                Err(Refusal::ScopeMissing)
            }
            Some(applies_to)
                if !self.rules.scopes.is_empty()
                    && !self.rules.scopes.contains(&applies_to.address) =>
            {
                Err(Refusal::ScopeNotOffered {
                    address: applies_to.address.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}
