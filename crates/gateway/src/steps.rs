//! What an endpoint does with one message: the work of a crypto worker, timed step by step.
//!
//! The rule kept here: whatever it comes to, the message is consumed; what is left of it is what the endpoint let through.

use soapstone::endpoint::{Arrived, OpenedMessage, ReceiveError, Step, StepObserver};
use soapstone::wss::{Outgoing, Receipt, Rejected, SecureError, Secured};
use soapstone::xml::Buffers;
use tokio::time::Instant;

use crate::metrics::{self, RouteMetrics};
use crate::side::Side;

/// Why work on a message came to nothing.
pub(crate) enum Trouble {
    /// An endpoint refuses a message that came from outside.
    Refused {
        side: metrics::Side,
        rejected: Rejected,
        peer_fault: Option<String>,
    },
    /// An endpoint cannot secure a message.
    Unsecurable {
        side: metrics::Side,
        error: SecureError,
    },
    /// The answer to a request for a token would show its key.
    WouldExpose,
}

/// Counts the time of each step.
struct Timing<'t> {
    metrics: &'t RouteMetrics,
    side: metrics::Side,
    since: Instant,
}

impl<'t> Timing<'t> {
    fn new(metrics: &'t RouteMetrics, side: metrics::Side) -> Self {
        Self {
            metrics,
            side,
            since: Instant::now(),
        }
    }
}

impl StepObserver for Timing<'_> {
    fn ended(&mut self, step: Step) {
        let now = Instant::now();
        self.metrics.step(self.side, step, now - self.since);
        self.since = now;
    }
}

/// Opens a request, or answers it where it asks for a token.
pub(crate) fn receive(
    side: &Side,
    octets: Vec<u8>,
    private: bool,
    metrics: &RouteMetrics,
    buffers: &mut Buffers,
) -> Result<Arrived, Trouble> {
    let which = metrics::Side::Inbound;
    let mut timing = Timing::new(metrics, which);
    let now = jiff::Timestamp::now();
    let arrived = side
        .endpoint
        .receive(octets, private, side.memory(), now, buffers, &mut timing)
        .map_err(|error| match error {
            ReceiveError::Rejected(rejected) => refused(which, rejected),
            ReceiveError::Unsecurable(error) => Trouble::Unsecurable { side: which, error },
            ReceiveError::WouldExpose => Trouble::WouldExpose,
        })?;
    if let Arrived::Message(opened) = &arrived {
        count_weak(opened, which, metrics);
    }
    Ok(arrived)
}

/// Opens a response.
pub(crate) fn open(
    side: &Side,
    octets: Vec<u8>,
    request: Option<Receipt>,
    metrics: &RouteMetrics,
    buffers: &mut Buffers,
) -> Result<OpenedMessage, Trouble> {
    let which = metrics::Side::Outbound;
    let mut timing = Timing::new(metrics, which);
    let now = jiff::Timestamp::now();
    let opened = side
        .endpoint
        .open(octets, request, side.memory(), now, buffers, &mut timing)
        .map_err(|rejected| refused(which, rejected))?;
    count_weak(&opened, which, metrics);
    Ok(opened)
}

fn refused(side: metrics::Side, rejected: Rejected) -> Trouble {
    Trouble::Refused {
        side,
        rejected,
        peer_fault: None,
    }
}

fn count_weak(opened: &OpenedMessage, side: metrics::Side, metrics: &RouteMetrics) {
    for algorithm in &opened.evidence.weak {
        metrics.weak_algorithm(side, algorithm);
    }
}

/// Secures a message.
pub(crate) fn secure(
    side: &Side,
    which: metrics::Side,
    octets: Vec<u8>,
    outgoing: Outgoing<'_>,
    metrics: &RouteMetrics,
    buffers: &mut Buffers,
) -> Result<Secured, Trouble> {
    let mut timing = Timing::new(metrics, which);
    let now = jiff::Timestamp::now();
    side.endpoint
        .secure(octets, outgoing, now, buffers, &mut timing)
        .map_err(|error| Trouble::Unsecurable { side: which, error })
}
