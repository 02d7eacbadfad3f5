//! The plans of both directions that belong together.

use soapstone_wss::{InboundPlan, OutboundPlan, Policy};

use super::relation;
/// The plans of both directions that belong together.
#[derive(Debug)]
pub(super) struct Plans {
    pub(super) inbound: Option<InboundPlan>,
    pub(super) outbound: Option<OutboundPlan>,
    /// Messages carry addressing headers.
    pub(super) addressing: bool,
    /// Answers that arrive prove by `wsa:RelatesTo` which request they are to, if that has a
    /// `wsa:MessageID`.
    pub(super) relates: bool,
}

impl Plans {
    pub(super) fn new(
        inbound: Option<InboundPlan>,
        outbound: Option<OutboundPlan>,
        addressing: bool,
    ) -> Self {
        Self {
            relates: relation::is_demanded(inbound.as_ref(), addressing),
            inbound,
            outbound,
            addressing,
        }
    }

    pub(super) fn inbound(&self) -> &InboundPlan {
        self.inbound
            .as_ref()
            .expect("an endpoint that opens has an inbound plan")
    }

    /// The policy of requests, which arrive at a service and leave from a client.
    pub(super) fn of_requests(&self, serves: bool) -> Option<&Policy> {
        if serves {
            self.inbound.as_ref().map(InboundPlan::policy)
        } else {
            self.outbound.as_ref().map(OutboundPlan::policy)
        }
    }

    pub(super) fn outbound(&self) -> &OutboundPlan {
        self.outbound
            .as_ref()
            .expect("an endpoint that secures has an outbound plan")
    }
}
