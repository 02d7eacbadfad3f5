//! A registry of services and their providers, as UDDI version 3 has it, with what monitors report.
//!
//! [`Request`] and [`Answer`] are the messages, each as SOAP body ([`uddi`]) and as JSON (`serde`).
//! [`Registry`] decides what a request may do:
//!
//! ```text
//! body ─▶ uddi::read_request ─▶ Request
//! Request ─▶ Registry::apply ─▶ Applied { answer, changes }
//! changes ─▶ the host keeps them ─▶ Registry::commit ─▶ the answer is sent
//! ```
//!
//! The rule kept here: facts in, answer and changes out. There is no socket, file, clock or thread;
//! who signed a request is proven by the host before it asks.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod answer;
pub mod calls;
pub mod ganglia;
mod model;
pub mod names;
mod refusal;
mod registry;
mod report;
mod request;
pub mod uddi;
mod written_name;

pub use answer::{Answer, Info, List, Provider, Providers, State};
pub use model::{
    BindingTemplate, BusinessEntity, BusinessService, KeyedReference, TModel, TModelInstance, Text,
};
pub use refusal::Refusal;
pub use registry::{
    Applied, Asked, Change, Entry, EntryKind, Limits, LoggedCalls, Owner, PublisherRule, Record,
    Registry, StoredReport,
};
pub use report::{Figures, Host, OTHER, Operation, Report, Times};
pub use request::{Find, Keys, ProviderQuery, Request};
pub use written_name::WrittenName;
