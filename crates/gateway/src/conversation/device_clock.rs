//! The clock of a device that speaks ONVIF: it is asked before the first request, and again by and
//! by.
//!
//! ```text
//! request ─▶ asked within a minute? ── yes ─▶ goes on
//!                                   ├─ no ──▶ goes on, and the device is asked meanwhile
//!                                   └─ never ▶ waits for the first answer, or for its failure
//! ```
//!
//! The rule kept here: a device that does not answer refuses no request. What was known of its
//! clock stays, within the bound of the endpoint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{StatusCode, Uri};
use jiff::{SignedDuration, Timestamp};
use soapstone::config::ClockSource;
use soapstone::endpoint::{DEVICE_TIME_ACTION, device_time_in, device_time_request};
use soapstone::wss::SoapVersion;
use tokio::sync::Mutex as Turn;
use tokio::time::Instant;

use crate::observe::log::Beginning;
use crate::scheduling::background::Background;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::wire::errand::{Errand, demand_soap};

/// How long an answer is new: clocks are set, and requests fail until that is known.
const NEW: Duration = Duration::from_secs(60);
/// How long a device is left alone that did not answer.
const PAUSE: Duration = Duration::from_secs(10);
/// How long a device may take. Requests wait for the first answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest answer, in bytes: one has a few lines.
const LARGEST_ANSWER: u64 = 64 << 10;
/// Half of the second that the answer leaves out.
const HALF_A_SECOND: SignedDuration = SignedDuration::from_millis(500);

/// What asks one device.
pub(crate) struct DeviceClock {
    route: String,
    endpoint: Arc<OutboundEndpoint>,
    errand: Errand,
    /// The path of the device management service.
    device: Uri,
    background: Arc<Background>,
    /// When it is asked next; `None` before the first time.
    due: Mutex<Option<Instant>>,
    /// Why it does not tell its clock, as the log has it.
    told: Mutex<Option<&'static str>>,
    /// Whose turn it is to ask.
    turn: Arc<Turn<()>>,
}

impl DeviceClock {
    /// What asks the device behind an endpoint; `None` where the endpoint learns its clock
    /// otherwise, or not at all.
    pub(crate) fn of(
        route: &str,
        endpoint: &Arc<OutboundEndpoint>,
        errand: &Errand,
        background: &Arc<Background>,
    ) -> Option<Arc<Self>> {
        let Some(ClockSource::Onvif { device }) = endpoint.endpoint.learns_clock_from() else {
            return None;
        };
        Some(Arc::new(Self {
            route: route.to_owned(),
            endpoint: Arc::clone(endpoint),
            errand: Errand {
                limit: errand.limit.min(LARGEST_ANSWER),
                // The operation is for everybody.
                authorization: None,
                ..errand.clone()
            },
            device: device.parse().ok()?,
            background: Arc::clone(background),
            due: Mutex::default(),
            told: Mutex::default(),
            turn: Arc::default(),
        }))
    }

    /// Whether requests need not wait for the device. Where its answer is old, it is asked
    /// meanwhile.
    pub(crate) fn is_at_hand(self: &Arc<Self>) -> bool {
        let Some(due) = *self.due() else {
            return false;
        };
        if due <= Instant::now()
            && let Ok(turn) = Arc::clone(&self.turn).try_lock_owned()
        {
            let clock = Arc::clone(self);
            self.background.spawn(async move {
                clock.ask().await;
                drop(turn);
            });
        }
        true
    }

    /// Waits until the device was asked once.
    pub(crate) async fn wait(&self) {
        let _turn = self.turn.lock().await;
        if self.due().is_none() {
            self.ask().await;
        }
    }

    fn due(&self) -> MutexGuard<'_, Option<Instant>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, and learns from the answer as far as the endpoint believes it.
    async fn ask(&self) {
        let asked = tokio::time::timeout(PATIENCE, self.moment()).await;
        let asked = asked.unwrap_or_else(|_| {
            let why = "its answer was not complete in time";
            Err((why, format!("more than {} s", PATIENCE.as_secs())))
        });
        let learnt = asked.and_then(|(theirs, ours)| {
            let learnt = self.endpoint.endpoint.learn_clock(theirs, ours);
            learnt.map_err(|found| {
                let detail = format!(
                    "the clock is ahead by {} s, and at most {} s are believed",
                    found.ahead.as_secs(),
                    found.limit.as_secs()
                );
                ("it is off by more than is believed", detail)
            })
        });
        let next = match learnt {
            Ok(()) => {
                if self.turns_to(None) {
                    tracing::info!(route = self.route, device = %self.device, "the device tells its clock again");
                }
                NEW
            }
            Err((why, detail)) => {
                if self.turns_to(Some(why)) {
                    tracing::warn!(
                        route = self.route,
                        device = %self.device,
                        why,
                        detail = Beginning(&detail).to_string(),
                        "the device does not tell its clock; what was known stays"
                    );
                }
                PAUSE
            }
        };
        *self.due() = Some(Instant::now() + next);
    }

    /// Whether this is another outcome than that of the last time.
    fn turns_to(&self, why: Option<&'static str>) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *told, why) != why
    }

    /// A moment of the device's clock, and the same of ours.
    ///
    /// # Errors
    /// Why there is none: in a few words that stay the same, and in detail.
    async fn moment(&self) -> Result<(Timestamp, Timestamp), (&'static str, String)> {
        let question = device_time_request();
        let mut request = self
            .errand
            .request(SoapVersion::V12, DEVICE_TIME_ACTION, question);
        *request.uri_mut() = self.device.clone();
        let sent = Timestamp::now();
        let exchanged = self.errand.exchange(request).await;
        let (head, answer) =
            exchanged.map_err(|undone| ("it gave no answer", undone.to_string()))?;
        let ours = Timestamp::now();
        if head.status != StatusCode::OK {
            let detail = format!("it answered {}", head.status);
            return Err(("it refused to answer", detail));
        }
        demand_soap(&head).map_err(|undone| ("its answer is no SOAP", undone.to_string()))?;
        let theirs = device_time_in(&answer)
            .and_then(|moment| moment.checked_add(HALF_A_SECOND).ok())
            .ok_or_else(|| {
                let detail = "its answer says no UTCDateTime, or two of them";
                ("its answer says no time", detail.to_owned())
            })?;
        // The answer was made at some moment between.
        let between = sent.checked_add(ours.duration_since(sent) / 2);
        Ok((theirs, between.unwrap_or(ours)))
    }
}
