//! Whether an assertion holds here and now, and how long a use of it is remembered.
//!
//! The one rule: the memory of a use ends when the assertion does, and not before.

use jiff::Timestamp;

use super::assertion::Assertion;
use super::conditions::Life;
use super::policy::AssertionPolicy;
use crate::digest;
use crate::freshness::later;
use crate::marks::End;
use crate::rejected::Rejected;

impl Assertion {
    /// Whether the assertion holds here and now.
    pub(crate) fn check_conditions(
        &self,
        policy: &AssertionPolicy,
        now: Timestamp,
    ) -> Result<(), Rejected> {
        self.check_life(policy, now)?;
        self.conditions.check_audience(&policy.audiences)
    }

    /// Whether it holds now, wherever that is.
    pub(super) fn check_life(
        &self,
        policy: &AssertionPolicy,
        now: Timestamp,
    ) -> Result<(), Rejected> {
        let skew = policy.skew;
        // SAML Core 2.0, 2.3.3: it was not made in the future.
        let made = Life {
            begin: Some(self.issued),
            end: Some(self.end(policy)),
        };
        made.check(skew, now)?;
        self.conditions.life.check(skew, now)
    }

    /// When the assertion ends: as it says, or by its age.
    pub(super) fn end(&self, policy: &AssertionPolicy) -> Timestamp {
        self.stated_end()
            .unwrap_or_else(|| later(self.issued, policy.most_age))
    }

    /// When the assertion ends, where it says so.
    pub(super) fn stated_end(&self) -> Option<Timestamp> {
        let ends = [self.conditions.life.end, self.session_end];
        ends.into_iter().flatten().min()
    }

    /// What is remembered of an assertion that is for one use, and until when.
    pub(crate) fn use_mark(&self, policy: &AssertionPolicy) -> Option<([u8; 32], Timestamp, End)> {
        let once = self.conditions.once || policy.once;
        once.then(|| {
            let (issuer, id) = (self.issuer.as_bytes(), self.id.as_bytes());
            let key = digest::mark([b"assertion".as_slice(), issuer, id]);
            // The issuer signs when it ends.
            (key, later(self.end(policy), policy.skew), End::Proven)
        })
    }
}
