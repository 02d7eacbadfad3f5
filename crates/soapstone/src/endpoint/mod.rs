//! An endpoint: one peer's security in both directions, ready to be run.
//!
//! It is the host that the plans ask: it knows the users, the clock that was configured, and what
//! to remember. No call waits for anything but a store. Calls that end in `_in` do not wait either:
//! they work in a [`Workspace`], and whoever drives them decides where a store is asked.

mod addressing;
mod addressing_headers;
mod agreed;
mod agreement;
mod answer_actions;
mod answers;
mod arrived;
mod arriving;
mod asking;
mod assurance;
mod bootstrap;
mod call;
mod changes;
mod client;
mod compile;
mod compiled;
mod compiler;
mod conversation;
mod dated;
mod demands;
mod explaining;
mod fault;
mod freshness;
mod handshake;
mod keys;
mod known_clock;
mod memory;
mod messages;
mod opened;
mod opener;
mod opening;
mod operations;
mod password_keys;
mod peer_clock;
mod plans;
mod relation;
mod renewal;
mod request_headers;
mod risks;
mod role;
mod saml;
mod securer;
mod sent;
mod service;
mod step;
mod suites;
mod token_key;
mod token_rules;
mod unsecured_fault;

pub use agreement::preset_agreement;
pub use arrived::{Arrived, ReadRequest, ReceiveError, TokenAnswer, TokenDone};
pub use asking::{Asking, Progress, Question, Stepped, Work, Workspace};
pub use bootstrap::Conversation;
pub use call::Call;
pub use client::Client;
pub use compiled::Endpoint;
pub use dated::{Dated, DatedUse};
pub use explaining::Explained;
pub use fault::Blame;
pub use handshake::{Handshake, HandshakeError, Handshakes, says_context_is_gone};
pub use known_clock::ClockTooFarOff;
pub use memory::Memory;
pub use opened::OpenedMessage;
pub use opener::Opener;
pub use peer_clock::said_to_be_made;
pub use plans::{Calling, Directions, Fixed, Opens, Secures, Serving};
pub use securer::Securer;
pub use sent::SentMessages;
pub use service::Service;
pub use step::{Step, StepObserver};
pub use unsecured_fault::UnsecuredFault;
