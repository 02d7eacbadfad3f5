//! When the answer for a certificate holds.

use jiff::Timestamp;

use crate::certificate::Certificate;

/// When the answer for a certificate holds.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl Window {
    pub(super) fn of(certificate: &Certificate) -> Self {
        Self {
            from: certificate.not_before(),
            to: certificate.not_after(),
        }
    }

    pub(super) fn narrowed(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    pub(super) fn contains(self, now: Timestamp) -> bool {
        self.from <= now && now <= self.to
    }
}
