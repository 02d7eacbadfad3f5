//! What providers report of themselves, as the choice among them takes it.
//!
//! The rule kept here: a report counts for the backend of its owner alone. No owner tells how the
//! provider of another one does, and none hides what that one reports.

use std::time::Duration;

use soapstone_broker::{Claim, Claims, Operation};
use soapstone_registry::{Figures, OTHER, Provider, State, Times};

use super::owners::AccessPoints;
use crate::config::source::SourceSpec;
use crate::route::serving::Serving;

/// Longest time that is taken from a report: a call takes no day.
const LONGEST: f64 = 86_400_000.0;

/// Tells the balancers of a source what its providers report.
pub(super) fn told(serving: &Serving, source: &SourceSpec, found: &[Provider]) {
    let access_points = AccessPoints::of(found);
    let claimed: Vec<(&Provider, Claims)> = found
        .iter()
        .filter(|provider| access_points.is_alone(provider))
        .filter_map(|provider| Some((provider, claims(provider)?)))
        .collect();
    for route in serving.routes.iter() {
        let balancer = route.balancer.as_ref();
        let Some(balancer) = balancer.filter(|it| it.source.as_ref() == Some(source)) else {
            continue;
        };
        balancer.source_answered();
        let leads = |it: &Provider| balancer.id_of(&it.access_point, &it.owner);
        for (provider, claims) in &claimed {
            let own = access_points.own_backend(provider, leads);
            let doubted = own.and_then(|own| balancer.reported(own, claims));
            if let (Some(it), Some(agreements)) = (doubted, &serving.agreements) {
                agreements.doubted(&route.name, &it.backend, it.seen, it.claimed);
            }
        }
    }
}

/// What a provider that reports says of its times.
fn claims(provider: &Provider) -> Option<Claims> {
    if provider.state != State::Active {
        return None;
    }
    let Figures {
        service,
        operations,
        ..
    } = provider.figures.as_ref()?;
    let operations = operations.iter().filter(|it| it.name != OTHER);
    let operations = operations.filter_map(|operation| {
        let name = Operation::of(operation.name.as_bytes());
        Some((name, claim(operation.service)?))
    });
    Some(Claims {
        taken: provider.taken?,
        all: claim(*service),
        operations: operations.collect(),
    })
}

/// What is said of times; `None` where there were no calls.
fn claim(times: Times) -> Option<Claim> {
    let time = |milliseconds: f64| Duration::from_secs_f64(milliseconds.clamp(0.0, LONGEST) / 1e3);
    let is_said = times.mean > 0.0 || times.p95 > 0.0;
    is_said.then(|| Claim {
        mean: time(times.mean),
        p95: time(times.p95),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// One that has reported.
    fn provider(access_point: &str, owner: &str) -> Provider {
        Provider {
            age: Some(100),
            taken: Some(7),
            figures: Some(Figures {
                service: Times {
                    mean: 2.5,
                    p50: 2.0,
                    p95: 9.0,
                },
                operations: vec![
                    soapstone_registry::Operation {
                        name: "{urn:b}get".to_owned(),
                        service: Times {
                            mean: 1.0,
                            p50: 1.0,
                            p95: 2.0,
                        },
                        ..Default::default()
                    },
                    soapstone_registry::Operation {
                        name: "{urn:b}never".to_owned(),
                        ..Default::default()
                    },
                    soapstone_registry::Operation {
                        name: OTHER.to_owned(),
                        service: Times {
                            mean: 70.0,
                            p50: 70.0,
                            p95: 70.0,
                        },
                        ..Default::default()
                    },
                ],
                ..Figures::default()
            }),
            ..testing::provider(access_point, owner)
        }
    }

    #[test]
    fn a_report_says_what_calls_took_and_nothing_of_those_that_were_none() {
        let own = provider("http://a/", "CN=p1");
        let claim = |mean, p95| Claim {
            mean: Duration::from_micros(mean),
            p95: Duration::from_micros(p95),
        };
        let expected = Claims {
            taken: 7,
            all: Some(claim(2_500, 9_000)),
            operations: vec![(Operation::of(b"{urn:b}get"), claim(1_000, 2_000))],
        };
        assert_eq!(claims(&own), Some(expected));
    }

    /// Of a provider that has not reported in time the registry has its last figures.
    #[test]
    fn a_report_that_is_late_says_nothing() {
        for state in [State::Inactive, State::Withdrawn, State::Unmonitored] {
            let own = Provider {
                state,
                ..provider("http://a/", "CN=p1")
            };
            assert_eq!(claims(&own), None, "{state:?}");
        }
    }

    /// Owners choose their access points. One that says that of another owner reports for a backend
    /// of its own, and the reports of the other one count as before.
    #[test]
    fn no_owner_reports_for_the_provider_of_another_one_or_hides_its_reports() {
        let (own, other) = (
            provider("http://a/", "CN=p1"),
            provider("http://a/", "CN=p2"),
        );
        // The name of a host is the same in any case.
        let shouted = provider("HTTP://A/", "CN=p2");
        for other in [other, shouted] {
            let both = [own.clone(), other.clone()];
            let access_points = AccessPoints::of(&both);
            let apart = |it: &Provider| Some(it.owner.subject.clone());
            for one in &both {
                assert!(access_points.is_alone(one));
                let backend = access_points.own_backend(one, apart);
                assert_eq!(backend.as_ref(), Some(&one.owner.subject));
            }
        }
        // An owner with two entries for one access point contradicts itself.
        let mut again = own.clone();
        again.binding_key = "uddi:again".to_owned();
        let both = [own, again];
        let access_points = AccessPoints::of(&both);
        assert!(both.iter().all(|it| !access_points.is_alone(it)));
    }

    #[test]
    fn a_time_of_a_report_has_its_bounds() {
        for (said, expected) in [(f64::MAX, 86_400.0), (-1.0, 0.0), (250.0, 0.25)] {
            let times = Times {
                mean: said,
                p50: said,
                p95: 1.0,
            };
            let claim = claim(times).expect("it is said");
            assert_eq!(claim.mean, Duration::from_secs_f64(expected));
        }
        assert_eq!(claim(Times::default()), None);
    }
}
