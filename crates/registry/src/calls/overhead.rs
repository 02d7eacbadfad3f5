//! The overhead of the architecture, computed from records of calls.
//!
//! A broker and a provider tell of the same call under the same name of the request. Together they
//! tell where all of its time went:
//!
//! ```text
//! broker    total = choice + security + backend + other
//! provider                              total = security + backend + other
//! network   = the broker's backend - the provider's total
//! service   = the provider's backend
//! ```
//!
//! The rule kept here: a part that was not measured is left out, and is never zero. Calls count
//! that were answered at the first attempt.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Call, Outcome};

/// The overhead by service and provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overhead {
    /// The calls that were looked at.
    pub calls: u64,
    /// Whether there are more, which are older.
    pub truncated: bool,
    /// Each service and provider.
    pub groups: Vec<Group>,
}

/// The calls of one service at one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The service, or the route where there is no name of a service.
    pub service: String,
    /// The provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Who told of the calls.
    pub basis: Basis,
    /// The calls.
    pub calls: u64,
    /// All of their time.
    pub total: PartTimes,
    /// The share of all that is not the service, where the service was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
    /// Where the time went.
    pub parts: Vec<(Part, PartTimes)>,
}

/// Who told of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Broker and provider, each of the same calls.
    Both,
    /// The broker alone.
    Broker,
    /// The provider alone.
    Provider,
}

impl Basis {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Broker => "broker",
            Self::Provider => "provider",
        }
    }
}

/// Where time of a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The choice of a backend.
    Choice,
    /// Security steps of the gateways.
    Security,
    /// The way between broker and provider.
    Network,
    /// The service alone.
    Service,
    /// Behind the broker: network, provider and service together.
    Beyond,
    /// The rest of the gateways: reading bodies, waiting for workers, handshakes.
    Other,
}

impl Part {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Choice => "choice",
            Self::Security => "security",
            Self::Network => "network",
            Self::Service => "service",
            Self::Beyond => "beyond",
            Self::Other => "other",
        }
    }
}

/// Times of a part, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartTimes {
    /// The mean.
    pub mean: f64,
    /// Half of the calls take no longer.
    pub p50: u64,
    /// Of a hundred calls, 95 take no longer.
    pub p95: u64,
    /// The share of all time of the calls, from 0 to 1.
    pub share: f64,
}

/// All time of a call, and the parts of it.
type Split = (u64, Vec<(Part, u64)>);

/// The calls of one service and provider as they are sorted.
#[derive(Default)]
struct Sorted<'c> {
    both: Vec<(&'c Call, &'c Call)>,
    broker: Vec<&'c Call>,
    provider: Vec<&'c Call>,
}

/// Computes the overhead from records. `truncated` says that there are more.
pub fn overhead(calls: &[Call], truncated: bool) -> Overhead {
    let looked_at = calls.len() as u64;
    let counted = |call: &&Call| call.outcome == Outcome::Accepted && call.attempts <= 1;
    let calls: Vec<&Call> = calls.iter().filter(counted).collect();
    let (at_providers, at_brokers): (Vec<&Call>, Vec<&Call>) =
        calls.into_iter().partition(|call| !call.is_of_broker());
    let by_request = unique(&at_providers);
    let is_broker_unique = unique(&at_brokers);
    let mut joined = BTreeSet::new();
    let mut groups: BTreeMap<_, Sorted<'_>> = BTreeMap::new();
    for broker in at_brokers {
        let name = broker.request.as_deref();
        let provider = name.and_then(|name| {
            is_broker_unique.get(name)?;
            by_request.get(name).copied()
        });
        // A client may choose the name of its request: times that contradict each other are of two
        // calls.
        let provider = provider.filter(|provider| provider.total <= broker.backend);
        match provider {
            Some(provider) => {
                joined.extend(name);
                let group = groups.entry(key(provider)).or_default();
                group.both.push((broker, provider));
            }
            None => groups.entry(key(broker)).or_default().broker.push(broker),
        }
    }
    for provider in at_providers {
        let is_joined = provider
            .request
            .as_deref()
            .is_some_and(|it| joined.contains(it));
        if !is_joined {
            groups
                .entry(key(provider))
                .or_default()
                .provider
                .push(provider);
        }
    }
    let groups = groups.into_iter().map(|(key, sorted)| sorted.group(key));
    Overhead {
        calls: looked_at,
        truncated,
        groups: groups.collect(),
    }
}

/// Calls by the name of their request, where one call alone has it.
fn unique<'c>(calls: &[&'c Call]) -> BTreeMap<&'c str, &'c Call> {
    let mut found: BTreeMap<&str, Option<&Call>> = BTreeMap::new();
    for call in calls {
        if let Some(name) = call.request.as_deref() {
            let known = found.entry(name);
            known.and_modify(|it| *it = None).or_insert(Some(call));
        }
    }
    let found = found.into_iter();
    found
        .filter_map(|(name, call)| Some((name, call?)))
        .collect()
}

fn key(call: &Call) -> (String, Option<String>) {
    let service = call.service.as_ref().unwrap_or(&call.route);
    (service.clone(), call.provider.clone())
}

impl Sorted<'_> {
    /// What most is known of: calls of which both told, or else the broker, or else the provider.
    fn group(self, (service, provider): (String, Option<String>)) -> Group {
        let (basis, splits): (Basis, Vec<Split>) = if !self.both.is_empty() {
            let splits = self
                .both
                .iter()
                .map(|(broker, provider)| both(broker, provider));
            (Basis::Both, splits.collect())
        } else if !self.broker.is_empty() {
            let splits = self.broker.iter().map(|call| {
                let parts = [
                    (Part::Choice, call.choice),
                    (Part::Security, call.security),
                    (Part::Beyond, call.backend),
                ];
                split(call.total, &parts)
            });
            (Basis::Broker, splits.collect())
        } else {
            let splits = self.provider.iter().map(|call| {
                let parts = [
                    (Part::Security, call.security),
                    (Part::Service, call.backend),
                ];
                split(call.total, &parts)
            });
            (Basis::Provider, splits.collect())
        };
        let totals: Vec<u64> = splits.iter().map(|(total, _)| *total).collect();
        let all: u64 = totals.iter().sum();
        let mut parts: BTreeMap<Part, Vec<u64>> = BTreeMap::new();
        for (part, time) in splits.into_iter().flat_map(|(_, parts)| parts) {
            parts.entry(part).or_default().push(time);
        }
        let parts = parts
            .into_iter()
            .map(|(part, times)| (part, PartTimes::of(times, all)));
        let parts: Vec<(Part, PartTimes)> = parts.collect();
        let service_share = parts.iter().find(|(part, _)| *part == Part::Service);
        Group {
            service,
            provider,
            basis,
            calls: totals.len() as u64,
            overhead: service_share.map(|(_, times)| 1.0 - times.share),
            total: PartTimes::of(totals, all),
            parts,
        }
    }
}

fn both(broker: &Call, provider: &Call) -> Split {
    let parts = [
        (Part::Choice, broker.choice),
        (Part::Security, broker.security + provider.security),
        (Part::Network, broker.backend - provider.total),
        (Part::Service, provider.backend),
    ];
    split(broker.total, &parts)
}

/// The parts with the rest of the time.
fn split(total: u64, parts: &[(Part, u64)]) -> Split {
    let known: u64 = parts.iter().map(|(_, time)| time).sum();
    // Steps that run while another waits may be longer than all of it together.
    let other = (Part::Other, total.saturating_sub(known));
    (total, parts.iter().copied().chain([other]).collect())
}

impl PartTimes {
    fn of(mut times: Vec<u64>, all: u64) -> Self {
        times.sort_unstable();
        let sum: u64 = times.iter().sum();
        let share = |of: u64| if of == 0 { 0.0 } else { sum as f64 / of as f64 };
        Self {
            mean: share(times.len() as u64),
            p50: percentile(&times, 50),
            p95: percentile(&times, 95),
            share: share(all),
        }
    }
}

/// The time that so many percent of the calls do not exceed (nearest rank).
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(request: &str, total: u64, backend: u64) -> Call {
        Call {
            request: Some(request.to_owned()),
            route: "/books".to_owned(),
            service: Some("Books".to_owned()),
            provider: Some("http://p1/".to_owned()),
            chosen: Some("turn".to_owned()),
            total,
            backend,
            security: 20,
            choice: 10,
            attempts: 1,
            ..Call::default()
        }
    }

    fn provider(request: &str, total: u64, backend: u64) -> Call {
        Call {
            binding_key: Some("uddi:p1".to_owned()),
            chosen: None,
            choice: 0,
            ..broker(request, total, backend)
        }
    }

    fn share(group: &Group, part: Part) -> Option<f64> {
        let found = group.parts.iter().find(|(it, _)| *it == part);
        found.map(|(_, times)| times.share)
    }

    #[test]
    fn all_time_of_a_call_of_which_both_tell_is_in_one_part() {
        let calls = [broker("a", 200, 150), provider("a", 120, 90)];
        let [group] = &overhead(&calls, false).groups[..] else {
            panic!("one group");
        };
        assert_eq!((group.basis, group.calls), (Basis::Both, 1));
        assert_eq!(group.total.p50, 200);
        let parts = [
            (Part::Choice, 0.05),
            (Part::Security, 0.2),
            (Part::Network, 0.15),
            (Part::Service, 0.45),
            (Part::Other, 0.15),
        ];
        for (part, expected) in parts {
            assert_eq!(share(group, part), Some(expected), "{part:?}");
        }
        assert_eq!(share(group, Part::Beyond), None);
        assert_eq!(group.overhead, Some(0.55));
    }

    /// The file of a broker may name its backends, and owners of policies stand in their names.
    #[test]
    fn a_broker_may_have_another_name_for_a_provider() {
        let named = Call {
            provider: Some("http://p1/ (CN=p1)".to_owned()),
            ..broker("a", 200, 150)
        };
        let [group] = &overhead(&[named, provider("a", 120, 90)], false).groups[..] else {
            panic!("one group");
        };
        assert_eq!(group.basis, Basis::Both);
        assert_eq!(group.provider.as_deref(), Some("http://p1/"));
    }

    #[test]
    fn what_one_side_alone_tells_leaves_out_what_it_does_not_know() {
        let [group] = &overhead(&[broker("a", 200, 150)], false).groups[..] else {
            panic!("one group");
        };
        assert_eq!((group.basis, group.overhead), (Basis::Broker, None));
        assert_eq!(share(group, Part::Beyond), Some(0.75));
        assert_eq!(share(group, Part::Network), None);
        let [group] = &overhead(&[provider("a", 100, 80)], false).groups[..] else {
            panic!("one group");
        };
        assert_eq!(
            (group.basis, group.overhead),
            (Basis::Provider, Some(1.0 - 0.8))
        );
        assert_eq!(share(group, Part::Choice), None);
    }

    /// A client chooses the names of its requests, and may choose that of another call.
    #[test]
    fn a_name_that_two_calls_have_joins_none() {
        let twice = [
            broker("a", 200, 150),
            provider("a", 120, 90),
            provider("a", 10, 5),
        ];
        let longer = [broker("a", 200, 150), provider("a", 151, 90)];
        for calls in [&twice[..], &longer] {
            let [group] = &overhead(calls, false).groups[..] else {
                panic!("one group");
            };
            assert_eq!((group.basis, group.calls), (Basis::Broker, 1));
        }
    }

    #[test]
    fn calls_that_failed_or_were_sent_twice_do_not_count() {
        let failed = Call {
            outcome: Outcome::Failed,
            ..broker("a", 1, 1)
        };
        let retried = Call {
            attempts: 2,
            ..broker("b", 1, 1)
        };
        let expected = Overhead {
            calls: 2,
            truncated: true,
            groups: Vec::new(),
        };
        assert_eq!(overhead(&[failed, retried], true), expected);
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let times: Vec<u64> = (1..=20).collect();
        let times = PartTimes::of(times, 420);
        assert_eq!((times.p50, times.p95), (10, 19));
        assert_eq!((times.mean, times.share), (10.5, 0.5));
        assert_eq!(percentile(&[], 95), 0);
        assert_eq!(percentile(&[7], 50), 7);
    }
}
