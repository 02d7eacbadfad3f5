//! Metrics of routes with several backends, and of what was chosen among these.
//!
//! The rule kept here: they are for operators. Names of backends are mostly their addresses.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use soapstone_broker::{MemberStatus, Reason, State};

use super::RouteMetrics;
use super::text::{COUNTER, Exposition, GAUGE, Samples, escape, route_label};

/// Route, and what is known of each of its backends.
type Balanced = [(String, Vec<MemberStatus>)];

/// Writes them.
pub(super) fn expose(balanced: &Balanced, routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    of_members(balanced, out);
    of_choices(balanced, routes, out);
}

fn of_members(balanced: &Balanced, out: &mut Exposition) {
    fn each<T: std::fmt::Display>(
        balanced: &Balanced,
        samples: &mut Samples<'_>,
        value: impl Fn(&MemberStatus) -> Option<T>,
    ) {
        for (route, members) in balanced {
            for member in members {
                if let Some(value) = value(member) {
                    samples.sample(&member_labels(route, member), value);
                }
            }
        }
    }
    let help = "Whether a backend gets requests, where a route has several.";
    let mut samples = out.family(("soapstone_balanced_usable", GAUGE, help));
    each(balanced, &mut samples, |it| {
        Some(u8::from(it.state.is_usable()))
    });
    let help = "The state of a backend, where a route has several: 1 for the one it is in.";
    let mut samples = out.family(("soapstone_balanced_state", GAUGE, help));
    for (route, members) in balanced {
        for (member, state) in members
            .iter()
            .flat_map(|it| State::NAMES.map(|state| (it, state)))
        {
            let labels = format!("{},state=\"{state}\"", member_labels(route, member));
            samples.sample(&labels, u8::from(member.state.name() == state));
        }
    }
    let help = "Requests that a backend has in hand, where a route has several.";
    let mut samples = out.family(("soapstone_balanced_in_hand", GAUGE, help));
    each(balanced, &mut samples, |it| Some(it.in_hand));
    let help = "Most requests that a backend may have in hand.";
    let mut samples = out.family(("soapstone_balanced_in_hand_limit", GAUGE, help));
    each(balanced, &mut samples, |it| it.limit);
    let help = "Mean time of the last answers of a backend, where a route has several.";
    let mut samples = out.family(("soapstone_balanced_mean_seconds", GAUGE, help));
    each(balanced, &mut samples, |it| Some(it.mean?.as_secs_f64()));
    let help = "Requests that a backend answered, where a route has several.";
    let mut samples = out.family(("soapstone_balanced_answered_total", COUNTER, help));
    each(balanced, &mut samples, |it| Some(it.answered));
    let help = "Requests that a backend failed, where a route has several.";
    let mut samples = out.family(("soapstone_balanced_failed_total", COUNTER, help));
    each(balanced, &mut samples, |it| Some(it.failed));
    let help = "How often a backend was ejected because it failed requests.";
    let mut samples = out.family(("soapstone_balanced_ejections_total", COUNTER, help));
    each(balanced, &mut samples, |it| Some(it.ejections));
    let help = "Mean time of its calls as a backend reports it to the registry, while that counts.";
    let mut samples = out.family(("soapstone_balanced_claimed_seconds", GAUGE, help));
    each(balanced, &mut samples, |it| Some(it.claimed?.as_secs_f64()));
    let help = "Whether reports of a backend count for nothing, since its calls took much longer.";
    let mut samples = out.family(("soapstone_balanced_doubted", GAUGE, help));
    each(balanced, &mut samples, |it| Some(u8::from(it.doubted)));
    let help = "Reports of a backend that its calls contradicted.";
    let family = ("soapstone_balanced_contradictions_total", COUNTER, help);
    let mut samples = out.family(family);
    each(balanced, &mut samples, |it| Some(it.contradictions));
}

fn member_labels(route: &str, member: &MemberStatus) -> String {
    format!(
        "{},backend=\"{}\"",
        route_label(route),
        escape(&member.name)
    )
}

fn of_choices(balanced: &Balanced, routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    let is_balanced = |route: &RouteMetrics| {
        let mut names = balanced.iter().map(|(name, _)| name.as_str());
        names.any(|name| name == route.route)
    };
    let help = "Choices among several backends, by reason.";
    out.family(("soapstone_choices_total", COUNTER, help))
        .counts(routes, "reason", |route| {
            let counts = Reason::NAMES.iter().zip(&route.choices);
            counts
                .filter(|_| is_balanced(route))
                .map(|(reason, count)| {
                    let count = count.load(Ordering::Relaxed);
                    (route.label(), (*reason).to_owned(), count)
                })
                .collect()
        });
    let help = "Requests that went to another backend, by how the one before failed.";
    out.family(("soapstone_retries_total", COUNTER, help))
        .counts(routes, "failed", |route| {
            let entries = route.retries.entries().into_iter();
            entries
                .map(|(failed, count)| (route.label(), failed.to_owned(), count))
                .collect()
        });
}
