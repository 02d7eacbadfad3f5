//! The plans of an endpoint, by the directions that its role has.
//!
//! The one rule: a direction that the type of an endpoint promises is there.

use std::fmt;

use soapstone_wss::{InboundPlan, OutboundPlan, Policy};

use super::relation;
use super::role::Role;

mod sealed {
    pub trait Sealed {}
}

/// The plans of one exchange policy, in the directions that a role has.
pub trait Directions: sealed::Sealed + fmt::Debug + Send + Sync + Sized + 'static {
    /// The plans of both directions as far as the role has them; `None` if one of its own is
    /// missing.
    #[doc(hidden)]
    fn of(inbound: Option<InboundPlan>, outbound: Option<OutboundPlan>) -> Option<Self>;

    /// The plan for messages that arrive, if the role has one.
    fn inbound(&self) -> Option<&InboundPlan>;

    /// The plan for messages that leave, if the role has one.
    fn outbound(&self) -> Option<&OutboundPlan>;
}

/// Directions that are those of one role.
pub trait Fixed: Directions {
    /// The role.
    #[doc(hidden)]
    const ROLE: Role;
}

/// Directions with messages that arrive.
pub trait Opens: Directions {
    /// The plan for messages that arrive.
    #[doc(hidden)]
    fn opening(&self) -> &InboundPlan;
}

/// Directions with messages that leave.
pub trait Secures: Directions {
    /// The plan for messages that leave.
    #[doc(hidden)]
    fn securing(&self) -> &OutboundPlan;
}

/// The plans of a service: requests arrive, and their answers leave.
#[derive(Debug)]
pub struct Serving {
    pub(super) requests: InboundPlan,
    pub(super) answers: OutboundPlan,
}

/// The plans of a client: requests leave, and their answers arrive.
#[derive(Debug)]
pub struct Calling {
    pub(super) requests: OutboundPlan,
    pub(super) answers: InboundPlan,
}

impl sealed::Sealed for Serving {}
impl sealed::Sealed for Calling {}
impl sealed::Sealed for InboundPlan {}
impl sealed::Sealed for OutboundPlan {}

impl Directions for Serving {
    fn of(inbound: Option<InboundPlan>, outbound: Option<OutboundPlan>) -> Option<Self> {
        Some(Self {
            requests: inbound?,
            answers: outbound?,
        })
    }

    fn inbound(&self) -> Option<&InboundPlan> {
        Some(&self.requests)
    }

    fn outbound(&self) -> Option<&OutboundPlan> {
        Some(&self.answers)
    }
}

impl Fixed for Serving {
    const ROLE: Role = Role::Service;
}

impl Opens for Serving {
    fn opening(&self) -> &InboundPlan {
        &self.requests
    }
}

impl Secures for Serving {
    fn securing(&self) -> &OutboundPlan {
        &self.answers
    }
}

impl Directions for Calling {
    fn of(inbound: Option<InboundPlan>, outbound: Option<OutboundPlan>) -> Option<Self> {
        Some(Self {
            requests: outbound?,
            answers: inbound?,
        })
    }

    fn inbound(&self) -> Option<&InboundPlan> {
        Some(&self.answers)
    }

    fn outbound(&self) -> Option<&OutboundPlan> {
        Some(&self.requests)
    }
}

impl Fixed for Calling {
    const ROLE: Role = Role::Client;
}

impl Opens for Calling {
    fn opening(&self) -> &InboundPlan {
        &self.answers
    }
}

impl Secures for Calling {
    fn securing(&self) -> &OutboundPlan {
        &self.requests
    }
}

impl Directions for InboundPlan {
    fn of(inbound: Option<InboundPlan>, _: Option<OutboundPlan>) -> Option<Self> {
        inbound
    }

    fn inbound(&self) -> Option<&InboundPlan> {
        Some(self)
    }

    fn outbound(&self) -> Option<&OutboundPlan> {
        None
    }
}

impl Fixed for InboundPlan {
    const ROLE: Role = Role::Open;
}

impl Opens for InboundPlan {
    fn opening(&self) -> &InboundPlan {
        self
    }
}

impl Directions for OutboundPlan {
    fn of(_: Option<InboundPlan>, outbound: Option<OutboundPlan>) -> Option<Self> {
        outbound
    }

    fn inbound(&self) -> Option<&InboundPlan> {
        None
    }

    fn outbound(&self) -> Option<&OutboundPlan> {
        Some(self)
    }
}

impl Fixed for OutboundPlan {
    const ROLE: Role = Role::Secure;
}

impl Secures for OutboundPlan {
    fn securing(&self) -> &OutboundPlan {
        self
    }
}

/// The plans of both directions that belong together.
#[derive(Debug)]
pub(super) struct Plans<P> {
    directions: P,
    /// Messages carry addressing headers.
    pub(super) addressing: bool,
    /// Answers that arrive prove by `wsa:RelatesTo` which request they are to, if that has a
    /// `wsa:MessageID`.
    pub(super) relates: bool,
}

impl<P: Directions> Plans<P> {
    pub(super) fn new(directions: P, addressing: bool) -> Self {
        Self {
            relates: relation::is_demanded(directions.inbound(), addressing),
            directions,
            addressing,
        }
    }

    /// The plan for messages that arrive, if the role has one.
    pub(super) fn inbound(&self) -> Option<&InboundPlan> {
        self.directions.inbound()
    }

    /// The plan for messages that leave, if the role has one.
    pub(super) fn outbound(&self) -> Option<&OutboundPlan> {
        self.directions.outbound()
    }

    /// The policy of requests, which arrive at a service and leave from a client.
    pub(super) fn of_requests(&self, serves: bool) -> Option<&Policy> {
        if serves {
            self.inbound().map(InboundPlan::policy)
        } else {
            self.outbound().map(OutboundPlan::policy)
        }
    }
}

impl<P: Opens> Plans<P> {
    pub(super) fn opening(&self) -> &InboundPlan {
        self.directions.opening()
    }
}

impl<P: Secures> Plans<P> {
    pub(super) fn securing(&self) -> &OutboundPlan {
        self.directions.securing()
    }
}
