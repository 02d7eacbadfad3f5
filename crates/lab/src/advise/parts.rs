//! Time and bytes that add up to a call, with how far the time may be off.

use super::workload::Message;
use super::{Cost, Fit, Model};
use crate::measurement::Measurement;
use crate::statistics::mean_interval;

/// Time and bytes that add up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub(super) time: f64,
    pub(super) error: f64,
    pub(super) octets: f64,
}

impl Parts {
    /// What was measured as a whole. The median is off by as much as the mean of as many would be,
    /// with 95 % confidence.
    pub(super) fn of(measured: &Measurement) -> Self {
        let interval = mean_interval(measured.n, measured.mean_us, measured.stdev_us);
        Self {
            time: measured.median_us,
            error: (interval[1] - interval[0]) / 2.0,
            octets: measured.secured_bytes as f64,
        }
    }

    pub(super) fn add(&mut self, model: &Model, message: Message) {
        self.add_share(model, None, 1.0, message);
    }

    /// Adds a message of which a share is encrypted: the fixed part, and of what grows with the
    /// message that share, and the rest as without encryption.
    pub(super) fn add_share(
        &mut self,
        model: &Model,
        unencrypted: Option<&Model>,
        share: f64,
        message: Message,
    ) {
        let of = |fit: &Fit, other: Option<&Fit>| {
            let grown = |cost: Cost| cost.of(message.bytes, message.elements) - cost.fixed;
            let whole = grown(fit.cost);
            let without = other.map_or(whole, |it| grown(it.cost).min(whole));
            fit.cost.fixed + without + share * (whole - without)
        };
        let secured = (Some(&model.secure), unencrypted.map(|it| &it.secure));
        let opened = (
            model.open.as_ref(),
            unencrypted.and_then(|it| it.open.as_ref()),
        );
        for (fit, other) in [secured, opened] {
            let Some(fit) = fit else { continue };
            let time = of(fit, other);
            self.time += time;
            self.error += time * fit.error();
        }
        self.octets += of(&model.octets, unencrypted.map(|it| &it.octets));
    }
}
