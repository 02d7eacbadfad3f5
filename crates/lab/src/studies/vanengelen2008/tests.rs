//! Every experiment in memory hands out what its figures show, and the tunings do what they are
//! there for.

use super::*;
use crate::study::{Design, Line, OwnCalls, Scale, Scope, Stack};

fn scope() -> Scope {
    Scope {
        scale: Scale::Quick,
        stacks: vec![Stack::Soapstone],
        databases: Vec::new(),
        own: OwnCalls::default(),
        design: Design::default(),
    }
}

/// The lines of the points of an experiment that `wanted` lets through.
fn lines(experiment: u8, wanted: impl Fn(&Point) -> bool) -> Vec<(Point, Vec<Line>)> {
    let scope = scope();
    let experiment = STUDY
        .experiments
        .iter()
        .find(|one| one.number == experiment)
        .expect("the experiment");
    let points = (experiment.points)(&scope).into_iter().filter(wanted);
    points
        .map(|point| {
            let Procedure::Own(measure) = point.procedure else {
                panic!("measured in memory");
            };
            let mut lines = Vec::new();
            measure(&point, &scope, &mut |line| lines.push(line));
            (point, lines)
        })
        .collect()
}

/// The best: what else the machine does makes it no better.
fn best(lines: &[Line], arm: &str) -> f64 {
    let line = lines.iter().find(|line| line.arm == arm);
    line.unwrap_or_else(|| panic!("an arm {arm}")).figures.best
}

#[test]
fn every_point_belongs_to_a_figure_and_every_claim_to_a_point() {
    for experiment in STUDY.experiments {
        for scale in [Scale::Quick, Scale::Full] {
            let points = (experiment.points)(&Scope { scale, ..scope() });
            for figure in experiment.figures {
                assert!(
                    points
                        .iter()
                        .any(|point| point.shown_in == figure.lines_of()),
                    "{}",
                    figure.shown_in
                );
            }
            for point in &points {
                assert!(STUDY.figure(experiment.number, point.shown_in).is_some());
            }
            for claim in STUDY.claims {
                if claim.experiment == experiment.number {
                    let figure = STUDY.figure(claim.experiment, claim.shown_in);
                    let lines = figure.expect("the claim's figure").lines_of();
                    let fits = |point: &&Point| {
                        let mut at = claim.at.iter();
                        point.shown_in == lines
                            && at.all(|(axis, value)| {
                                point.at.get(axis).is_some_and(|found| found == value)
                            })
                    };
                    assert_eq!(points.iter().filter(fits).count(), 1, "{}", claim.says);
                }
            }
        }
    }
}

#[test]
fn every_proof_is_broken_down_into_the_operations_that_it_takes() {
    for (point, lines) in lines(2, |point| point.shown_in == "figure-3") {
        let proof = point.at["proof"].as_str();
        let has = |arm: &str| lines.iter().any(|line| line.arm == arm);
        for always in ["xml-send", "xml-receive", "tcp", "https"] {
            assert!(has(always), "{proof}: {always}");
        }
        let signs_body = proof.contains("sha");
        let signs = signs_body || proof.ends_with("-signed");
        for operation in ["c14n-in", "digest-out", "digest-in", "sign", "verify"] {
            assert_eq!(has(operation), signs, "{proof}: {operation}");
        }
        // A token is written in canonical form.
        assert_eq!(has("c14n-out"), signs_body, "{proof}");
        let names = proof.starts_with("username");
        for operation in ["username-sign", "username-check"] {
            assert_eq!(has(operation), names, "{proof}: {operation}");
        }
        if proof == "rsa-sha1" {
            assert!(best(&lines, "sign") > 2.0 * best(&lines, "verify"));
        }
    }
}

#[test]
fn the_cache_and_the_ways_to_send_are_measured_on_all_their_arms() {
    let small = |point: &Point| point.at.get("elements").is_some_and(|count| count == "100");
    for (_, lines) in lines(3, |point| small(point) && point.shown_in == "figure-4") {
        let arms: Vec<&str> = lines.iter().map(|line| line.arm.as_str()).collect();
        assert_eq!(
            arms,
            [
                "none",
                "body",
                "elements",
                "made",
                "cache-0",
                "cache-25",
                "cache-50",
                "cache-75",
                "cache-100"
            ]
        );
        assert!(best(&lines, "none") < best(&lines, "elements"));
        assert!(best(&lines, "cache-100") < best(&lines, "made"));
        assert!(best(&lines, "cache-100") < best(&lines, "cache-0"));
    }
    for (_, lines) in lines(4, |point| small(point) && point.shown_in == "figure-5") {
        assert_eq!(lines.len(), 6);
        assert!(best(&lines, "streaming-prehashed") < best(&lines, "two-pass"));
        assert!(best(&lines, "none") < best(&lines, "streaming-prehashed"));
    }
}

/// Most rounds that a comparison of times takes.
const ROUNDS: usize = 8;

#[test]
fn the_gamble_costs_more_where_it_is_lost_and_less_where_it_is_won() {
    let measured = |wanted: &'static str| {
        let points = lines(5, |point| {
            point
                .at
                .get("canonical")
                .is_some_and(|share| share == wanted)
                && point.at["signed"] == "body"
        });
        let [(_, lines)] = points.as_slice() else {
            panic!("one point");
        };
        [best(lines, "on-demand"), best(lines, "always")]
    };
    // Other work on the machine makes times longer and never shorter: a few rounds find the best.
    let mut shortest = [[f64::INFINITY; 2]; 2];
    for _ in 0..ROUNDS {
        for (kept, share) in shortest.iter_mut().zip(["0", "100"]) {
            let times = measured(share);
            *kept = [kept[0].min(times[0]), kept[1].min(times[1])];
        }
        let [lost, won] = shortest.map(|[on_demand, always]| on_demand / always);
        if lost > won {
            return;
        }
    }
    panic!("{shortest:?}");
}

#[test]
fn canonicalization_is_told_from_the_rest_on_both_ways() {
    let small = |point: &Point| {
        point.shown_in == "figure-6"
            && point.at["elements"] == "100"
            && point.at["signed"] == "body"
    };
    for (_, lines) in lines(5, small) {
        assert_eq!(lines.len(), 8);
        assert!(lines.iter().all(|line| line.figures.best > 0.0));
        assert!(best(&lines, "c14n-in/runs") < best(&lines, "c14n-in/anew"));
    }
}

#[test]
fn every_combination_is_measured_beside_the_dearest_and_beside_tls() {
    let experiment = STUDY.experiment(6).expect("the experiment");
    // Three ways to send at each point.
    assert_eq!(3 * (experiment.points)(&scope()).len(), 81);
    let one_of_each_signature =
        |point: &Point| point.at["cache"] == "50" && point.at["canonicalizing"] == "on-demand";
    let measured = lines(6, one_of_each_signature);
    assert_eq!(measured.len(), 3);
    for (point, lines) in measured {
        let arms: Vec<&str> = lines.iter().map(|line| line.arm.as_str()).collect();
        assert_eq!(
            arms,
            [
                "two-pass",
                "prehashed",
                "streaming-prehashed",
                "dearest-of-its-kind",
                "dearest",
                "none",
                "tls"
            ]
        );
        assert!(
            best(&lines, "none") < best(&lines, "two-pass"),
            "{:?}",
            point.at
        );
    }
}
