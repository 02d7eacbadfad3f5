//! Which of several backends serves a call.
//!
//! A [`Pool`] has the backends of one service. It is told what becomes of calls and of health
//! checks, and decides from that which backend the next call goes to. Each decision comes with its
//! [`Reason`].
//!
//! ```text
//! call ─▶ choose ─▶ Choice { member, reason } ─▶ the host sends it ─▶ ended(member, outcome)
//!                └▶ Refusal                                        └▶ retry? ─▶ choose again
//! ```
//!
//! ```
//! use std::time::{Duration, Instant};
//! use soapstone_broker::{Ask, Dice, Outcome, Pool, Settings, Terms};
//!
//! let now = Instant::now();
//! let members = ["one", "two"].map(|name| (name.to_owned(), Terms::default()));
//! let pool = Pool::new(Settings::default(), members, Dice::new(7));
//! let choice = pool.choose(&Ask::default(), now).unwrap();
//! pool.ended(choice, Outcome::answered(Duration::from_millis(3)), now);
//! assert_eq!(pool.status(now)[choice.member.index()].answered, 1);
//! ```
//!
//! The rule kept here: facts in, decision and reason out. There is no socket, clock or thread; the
//! moment and the seed of chance come from the host.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod affinity;
mod agreement;
mod bucket;
mod candidate;
mod claims;
mod dice;
mod needs;
mod outcome;
mod performance;
mod pool;
mod rate;
mod reason;
mod record;
mod retry;
mod security;
mod settings;
mod status;
mod verdict;

pub use affinity::Affinity;
pub use agreement::{
    Admission, Agreement, AgreementEvent, AgreementStatus, AgreementTerms, Asked, Class,
    ClientTerms, Excess, Exclusion, Moment, Obligation, ProviderStatus, ProviderTerms,
    ResponseTime, Served, ServedCounts, Share, Standing, Validity, Violation, Window, admit,
    admit_by,
};
pub use bucket::Bucket;
pub use claims::{Claim, Claims};
pub use dice::Dice;
pub use needs::{Needs, Property};
pub use outcome::{Change, Failed, Outcome};
pub use performance::Operation;
pub use pool::{Ask, Choice, MemberId, Pool};
pub use rate::Rate;
pub use reason::{Reason, Refusal};
pub use retry::{NoRetry, Repeatable};
pub use security::{Given, Level, SecurityIndex, Shortfall};
pub use settings::{Checks, Ejection, FailureShare, Selection, Settings, Terms};
pub use status::{MemberStatus, State};
pub use verdict::{Prospect, Verdict};
