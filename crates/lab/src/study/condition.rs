//! Conditions that the service's side is put under: little memory, little of a processor, a poor
//! network.
//!
//! The rule kept here: a condition is about the side of the service, or about the way to it;
//! whoever measures is never put under one.

use std::fmt;
use std::time::Duration;

/// What is short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// The memory of what opens requests and secures answers.
    Memory {
        /// How much it may have, MiB.
        mebibytes: u32,
    },
    /// The processor of what opens requests and secures answers.
    Processor {
        /// How much of one it may have, percent.
        percent: u32,
    },
    /// The network between the client's side and the service's.
    Network(Link),
}

/// What the network between both sides is like, each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Kilobits that it carries in a second; as many as there are, if none is said.
    pub kilobits: Option<u32>,
    /// How long a packet travels.
    pub delay: Duration,
    /// The share of packets that are lost, from 0 to 1.
    pub loss: f64,
    /// When it carries nothing.
    pub outages: Option<Outages>,
    /// How often every connection is reset, as by a firewall that forgets them; never, if nothing
    /// is said.
    pub resets: Option<Duration>,
}

/// Times in which a network carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outages {
    /// From the beginning of one to the beginning of the next.
    pub every: Duration,
    /// How long each lasts.
    pub lasting: Duration,
}

impl Link {
    /// One without limits.
    pub const PERFECT: Self = Self {
        kilobits: None,
        delay: Duration::ZERO,
        loss: 0.0,
        outages: None,
        resets: None,
    };
}

/// Calls of clients at once, under a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The time of each.
    pub times: Vec<Duration>,
    /// How long all of them took together.
    pub lasted: Duration,
    /// The most memory that the limited process has held since it began, bytes; none, if the
    /// system does not tell.
    pub memory: Option<u64>,
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { mebibytes } => write!(out, "{mebibytes} MiB of memory"),
            Self::Processor { percent } => write!(out, "{percent} % of a processor"),
            Self::Network(link) => link.fmt(out),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(kilobits) = self.kilobits {
            parts.push(format!("{kilobits} kbit/s"));
        }
        if !self.delay.is_zero() {
            parts.push(format!("{} ms each way", self.delay.as_millis()));
        }
        if self.loss > 0.0 {
            parts.push(format!("{} % lost", self.loss * 100.0));
        }
        if let Some(Outages { every, lasting }) = self.outages {
            parts.push(format!(
                "gone for {} of {} ms",
                lasting.as_millis(),
                every.as_millis()
            ));
        }
        if let Some(every) = self.resets {
            parts.push(format!("connections reset every {} ms", every.as_millis()));
        }
        if parts.is_empty() {
            parts.push("a network without limits".to_owned());
        }
        out.write_str(&parts.join(", "))
    }
}
