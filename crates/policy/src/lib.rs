//! WS-Policy and WS-SecurityPolicy: what a WSDL or a policy file demands of messages, compiled into
//! plans.
//!
//! ```text
//! bytes ─ PolicyDocument::parse ─▶ PolicyDocument     policies, references, what is attached where
//!       ─ normalize ─▶ NormalPolicy             the alternatives; merge, intersect
//!       ─ Requirements::read ─▶ Requirements    assertions of WS-SecurityPolicy as types
//!       ─ compile ─▶ ExchangePolicy             soapstone_wss::Policy of request and response
//!       ─ agreements ─▶ ExchangePolicies        one for all messages, or one for each operation
//!       ─ ExchangePolicy::write ─▶ WrittenPolicy  the way back: it compiles to the same
//! ```
//!
//! ```
//! use soapstone_policy::{CompileOptions, PolicyDocument, PolicyLimits, Selection};
//!
//! let wsdl = include_bytes!("../examples/books.wsdl").to_vec();
//! let document = PolicyDocument::parse(wsdl, &PolicyLimits::default())?;
//! let agreement = document.agreement(&Selection::default(), &CompileOptions::default())?;
//! assert_eq!(agreement.request.suite.name, "Basic256Sha256");
//! assert!(agreement.request.signature().is_some());
//! # Ok::<(), soapstone_policy::ExchangePolicyError>(())
//! ```
//!
//! WS-Policy 1.2 and 1.5, WS-SecurityPolicy 1.1, 1.2 and 1.3, WSDL 1.1. No file and no socket:
//! documents that others refer to are asked for by a callback. The one rule: an assertion is obeyed
//! or refused, naming it and its place; none is passed over.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod algebra;
mod alternative;
mod compile;
mod document;
mod emit;
mod error;
mod explain;
mod limits;
mod misplaced;
mod names;
mod node;
mod normal;
mod notice;
mod operation;
mod problem;
pub mod requirements;
mod sample;
mod unattached;
mod write;
mod wsdl;

pub use algebra::IntersectionMode;
pub use alternative::{Alternative, Assertion, NormalPolicy};
pub use compile::{
    CompileOptions, Conversation, ExchangePolicies, ExchangePolicy, ExchangePolicyError,
    OperationExchange, OperationTable, Selection, SignatureReading, TransportRequirement, compile,
    covers,
};
pub use document::{PolicyDocument, Resolver};
pub use emit::{Unwritable, WrittenPolicy};
pub use error::PolicyError;
pub use explain::message_in_words;
pub use limits::PolicyLimits;
pub use names::{Name, PolicyVersion, SecurityPolicyVersion};
pub use node::{Attribute, Node, Place};
pub use notice::{Notice, NoticeKind};
pub use operation::{BodyContent, OperationMessages};
pub use problem::{PolicyProblem, ProblemKind};
pub use requirements::{IssuedKey, IssuedToken, Requirements};
pub use sample::{SampleCall, SampleCalls, SampleError};
pub use wsdl::{FaultDemands, MessageKind, PolicySubject, SubjectAlternative};
