//! Published studies, run again: what they measured, what they reported, and what calls cost here
//! and on other stacks.
//!
//! A [`Study`] is data: the paper, its experiments, the points of each, the figures that show them,
//! and what the paper reported. What is [selected](select) of them is [run](fn@run) on a [`Bench`],
//! which whoever knows services and gateways puts up, and becomes [`Record`]s, one line of JSON
//! each.
//!
//! The rule kept here: what a paper reported is written down with the place in the paper where it
//! stands, or not at all.

mod bench;
mod call;
mod conclusion;
mod condition;
mod design;
mod figure;
mod floor;
mod line;
mod order;
mod point;
mod providers;
mod run;
mod select;
mod setup;
mod weight;

pub use crate::statistics::Figures;
pub use bench::{Bench, NoCall, Sizes};
pub use call::{Call, Operation, Sensor, Source, Stack, Step};
pub(crate) use conclusion::GOAL;
pub use conclusion::{Asks, Conclusion, Grows, Measure, Of};
pub use condition::{Condition, Link, Outages, Round};
pub use design::{Design, NoDesign};
pub use figure::{
    Claim, Estimate, Experiment, Factor, Figure, Finding, Gamble, Level, Paper, Shows, Study,
};
pub use line::{Absent, Done, LeftOut, Line, LineError, Quantity, Record, read, whole};
pub use order::Order;
pub use point::{Arm, OwnCalls, Point, Procedure, Scale, Scope};
pub use providers::{ProvidersRound, Trial};
pub use run::{Event, Progress, WARM_UP_CALLS, run};
pub use select::{Nothing, Options, Selection, Task, needs, select, why_nothing};
pub use setup::{Form, Proof, Setup, Transport};
