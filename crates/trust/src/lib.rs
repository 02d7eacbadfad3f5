//! WS-Trust 1.3, 1.4 and February 2005, and the token requests of WS-SecureConversation.
//!
//! * [`message`](RequestSecurityToken): requests, answers and collections, read from elements and
//!   written as bytes;
//! * [`addressing`]: the headers that say what a message is about and which one it answers;
//! * [`SecurityTokenService`]: one verified request in, one answer out, and what the host has to
//!   remember ([`Effect`]);
//! * [`PendingIssue`], [`PendingCancel`], [`PendingValidate`]: the client's side of the same
//!   exchange;
//! * [`PendingToken`]: the same for an assertion of SAML, to be shown to another service;
//! * [`TokenCache`]: which context a client uses with which endpoint, and when it is time to renew
//!   it.
//!
//! No socket, file, clock, thread or global: time is handed in, contexts are looked up by the host,
//! and messages arrive verified. The one rule: names and keys of a context are made here, from
//! randomness of both sides, and a request never chooses them alone.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

pub mod addressing;
mod cache;
mod client;
mod fault;
mod identifier;
mod message;
mod service;
#[cfg(test)]
mod testing;
mod version;

pub use cache::{Cached, TokenCache};
pub use client::{
    ClientRules, Contribution, MOST_TOKENS, OnBehalf, PendingCancel, PendingIssue, PendingToken,
    PendingTokenCancel, PendingTokens, PendingValidate, ProofRules, TokenKey, TokenRules,
    TrustError, TrustRequest, WantedClaims,
};
pub use fault::{BatchProblem, Refusal, TrustFault, TrustFaultCode, blames_token};
pub use message::{
    AppliesTo, ContextReference, Entropy, Foreign, Lifetime, MessageError, Participants,
    ProofToken, RequestSecurityToken, RequestSecurityTokenResponse, RequestedClaim,
    RequestedClaims, Requests, Responses, SecurityToken, TokenStatus,
};
pub use service::{
    ACTOR_CLAIM, Answer, AssertionRules, ClaimDialect, ContextsUnavailable, Delegation,
    DelegationForm, Effect, FindCancelled, FindContext, ForeignSubjects, GrantedAttribute, Issued,
    Parties, Records, Requester, RequesterToken, SecurityTokenService, ServiceRules,
    TRANSIENT_NAMES, TargetService, takes_symmetric_keys,
};
pub use version::{Action, ComputedKey, KeyType, Operation, RequestType, SecretType, TrustVersion};
