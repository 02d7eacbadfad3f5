//! Which tunings pay, by the rules of van Engelen and Zhang.
//!
//! The rule kept here: a tuning is advised only where its condition was said to hold, and the
//! condition is told with it.

use soapstone::wss::Mechanism;

use super::{Means, Workload};
use crate::study::Proof;

/// From which share of signed elements that come again on remembering them is advised: at none it
/// gains nothing, and at all of them it is more than twice as fast on average (figure 4).
const REPEATED: f64 = 0.5;
/// The least message whose elements are worth remembering: each has a reference of some 300 bytes
/// beside it, which is processed whatever is remembered.
const LARGE: f64 = 1_000.0;
/// The share of canonicalization in the cost of a message (c in the paper's cost model).
const CANONICALIZATION: f64 = 0.12;

/// The tunings of an endpoint, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tunings {
    /// Digests of signed elements that come again are remembered.
    pub digest_cache: bool,
    /// Digests of elements that are signed again are remembered.
    pub prehash: bool,
    /// A sentence for each.
    pub why: Vec<String>,
}

impl Tunings {
    /// For messages of a workload under these means.
    pub fn of(means: &Means, workload: &Workload) -> Self {
        let mut tunings = Self::default();
        let by_session = means.mechanism == Mechanism::SecureConversation
            || !matches!(
                means.proof,
                Proof::Usual | Proof::SamlHolder | Proof::SamlBearer
            );
        let large = workload.request.bytes.max(workload.response.bytes) >= LARGE;
        let percent = |share: f64| (share * 100.0).round();
        if let Some(repeated) = workload.repeated.filter(|_| means.mechanism.signs()) {
            let pays = repeated >= REPEATED && large && !by_session;
            tunings.digest_cache = pays;
            tunings.prehash = repeated >= REPEATED && large;
            let why = match (repeated >= REPEATED, large, by_session) {
                (false, ..) => "less than half of signed elements come again",
                (_, false, _) => "messages below 1 kB have little to digest",
                (.., true) => {
                    "signers by session keys are not told apart, so prehash only, on the side that signs"
                }
                _ => "signed elements must keep their ids",
            };
            tunings.why.push(format!(
                "digest_cache {}, prehash {}, as {} % of signed elements come again: {why}.",
                on(tunings.digest_cache),
                on(tunings.prehash),
                percent(repeated)
            ));
        }
        if let Some(canonical) = workload.canonical.filter(|_| means.mechanism.signs()) {
            let bar = 1.0 - CANONICALIZATION;
            let told = if canonical >= bar {
                "would pay where canonical_runs is off; canonical_runs, the default, gains as much without the gamble"
            } else {
                "would not pay"
            };
            tunings.why.push(format!(
                "on_demand off: it {told}. α is {} % and 1 − c {} %, with c = {} % as van Engelen and Zhang measured.",
                percent(canonical),
                percent(bar),
                percent(CANONICALIZATION)
            ));
        }
        tunings
    }

    /// The key of an endpoint's table, with its line; nothing, where the defaults are best.
    pub(super) fn line(&self) -> String {
        let keys = [
            (self.digest_cache, "digest_cache = true"),
            (self.prehash, "prehash = true"),
        ];
        let keys = keys.iter().filter(|it| it.0).map(|it| it.1);
        let keys: Vec<&str> = keys.collect();
        match keys.as_slice() {
            [] => String::new(),
            keys => format!("tuning = {{ {} }}\n", keys.join(", ")),
        }
    }
}

fn on(is: bool) -> &'static str {
    if is { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::Message;

    fn tunings(mechanism: Mechanism, bytes: f64, repeated: f64, canonical: f64) -> Tunings {
        let means = Means {
            proof: Proof::Usual,
            tls: false,
            mechanism,
            suite: "Basic128GCM".to_owned(),
        };
        let message = Message::of_bytes(bytes);
        let workload = Workload {
            request: message,
            response: message,
            repeated: Some(repeated),
            canonical: Some(canonical),
            ..Workload::default()
        };
        Tunings::of(&means, &workload)
    }

    #[test]
    fn elements_are_remembered_where_they_are_large_and_mostly_come_again() {
        let both = |it: Tunings| (it.digest_cache, it.prehash);
        let sign = |bytes, repeated| both(tunings(Mechanism::Sign, bytes, repeated, 0.0));
        assert_eq!(sign(20_000.0, 0.5), (true, true));
        assert_eq!(sign(20_000.0, 0.49), (false, false));
        assert_eq!(sign(500.0, 1.0), (false, false));
        let session = tunings(Mechanism::SecureConversation, 20_000.0, 1.0, 0.0);
        assert_eq!(both(session), (false, true));
        let unsigned = tunings(Mechanism::Encrypt, 20_000.0, 1.0, 1.0);
        assert_eq!(unsigned, Tunings::default());
    }

    #[test]
    fn on_demand_pays_from_where_canonical_messages_are_all_but_the_share_of_canonicalization() {
        let told = |canonical| {
            let mut why = tunings(Mechanism::Sign, 20_000.0, 0.0, canonical).why;
            why.pop().expect("a sentence")
        };
        assert!(told(0.88).starts_with("on_demand off: it would pay where canonical_runs is off;"));
        assert!(
            told(0.87).starts_with("on_demand off: it would not pay. α is 87 % and 1 − c 88 %")
        );
    }
}
