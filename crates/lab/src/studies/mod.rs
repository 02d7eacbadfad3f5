//! The studies, one module each, named after who published when.
//!
//! The rule kept here: a file holds what the paper did and reported; how it is run is
//! [`study`](crate::study)'s.

mod design;
mod in_memory;
mod mchale2012;
mod novakouski2010;
mod own;
mod rodrigues2011;
mod shopov2007;
mod tokens;
mod vanengelen2008;
mod wsarch;

pub use design::DESIGN;
pub use in_memory::InMemory;
pub use own::{CALLS_FIGURE, OWN, calls as own_calls};
pub use wsarch::WSARCH;

use crate::study::Study;

/// All of papers, by name.
pub const ALL: &[&Study] = &[
    &mchale2012::STUDY,
    &vanengelen2008::STUDY,
    &novakouski2010::STUDY,
    &shopov2007::STUDY,
    &rodrigues2011::STUDY,
];

/// All that are run by name: those of papers, and that of an architecture which a paper describes.
pub const BY_NAME: &[&Study] = &[
    &mchale2012::STUDY,
    &vanengelen2008::STUDY,
    &novakouski2010::STUDY,
    &shopov2007::STUDY,
    &rodrigues2011::STUDY,
    WSARCH,
];

/// Those of papers, those that are run by name alone, and those of the user's own calls and
/// factors.
pub const WITH_OWN: &[&Study] = &[
    &mchale2012::STUDY,
    &vanengelen2008::STUDY,
    &novakouski2010::STUDY,
    &shopov2007::STUDY,
    &rodrigues2011::STUDY,
    WSARCH,
    OWN,
    DESIGN,
];

/// The study of this name, those of the user's own included.
pub fn named(name: &str) -> Option<&'static Study> {
    WITH_OWN.iter().copied().find(|study| study.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::study::{Design, Level, Line, OwnCalls, Procedure, Scale, Scope, Shows, Stack};

    fn scope(scale: Scale) -> Scope {
        Scope {
            scale,
            stacks: vec![Stack::Soapstone],
            databases: vec!["sqlite".to_owned()],
            own: OwnCalls::default(),
            design: Design::default(),
        }
    }

    #[test]
    fn every_point_is_of_a_figure_with_its_axis_and_every_figure_has_points() {
        for study in ALL {
            for experiment in study.experiments {
                for scale in [Scale::Quick, Scale::Full] {
                    let points = (experiment.points)(&scope(scale));
                    for figure in experiment.figures {
                        let of = points.iter().filter(|it| it.shown_in == figure.lines_of());
                        assert!(of.count() > 0, "{}: {}", study.name, figure.shown_in);
                    }
                    for point in points {
                        let figure = study.figure(experiment.number, point.shown_in);
                        let figure = figure.expect("the point's figure");
                        let factors = matches!(figure.shows, Shows::Allocation { .. });
                        assert!(
                            factors || point.at.contains_key(figure.x),
                            "{}/{}: {:?} has no {}",
                            study.name,
                            experiment.number,
                            point.at,
                            figure.x
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn claims_name_an_arm_at_a_point_that_is_measured() {
        for study in ALL {
            for claim in study.claims {
                let experiment = study.experiment(claim.experiment).expect("the experiment");
                let figure = study.figure(claim.experiment, claim.shown_in);
                let lines = figure.expect("the claim's figure").lines_of();
                let holds = |scale| {
                    let points = (experiment.points)(&scope(scale));
                    points.iter().any(|point| {
                        point.shown_in == lines
                            && claim.at.iter().all(|(axis, value)| {
                                point.at.get(axis).is_some_and(|it| it == value)
                            })
                            && (point.arms.is_empty()
                                || point.arms.iter().any(|arm| arm.name == claim.arm))
                    })
                };
                assert!(holds(Scale::Quick), "{} at a glance", claim.says);
                assert!(holds(Scale::Full), "{}", claim.says);
            }
        }
    }

    #[test]
    fn what_a_headline_says_of_a_figure_of_the_paper_stands_among_its_values() {
        for study in ALL {
            for claim in study.claims {
                let figure = study.figure(claim.experiment, claim.shown_in);
                let figure = figure.expect("the claim's figure");
                let arm = claim.arm.split('/').next();
                let reported = study.reported(figure);
                let stands = reported.iter().any(|it| {
                    (Some(it.arm) == arm || it.arm == claim.arm)
                        && it.least <= claim.paper[1]
                        && claim.paper[0] <= it.most
                });
                assert!(
                    stands || !figure.is_of_the_paper(),
                    "{}: {}",
                    study.name,
                    claim.says
                );
            }
        }
    }

    #[test]
    fn conclusions_name_figures_and_arms_that_are_measured_at_points_that_there_are() {
        let mut all = 0;
        for study in ALL {
            for conclusion in study.conclusions {
                all += 1;
                let figure = study.figure(conclusion.experiment, conclusion.shown_in);
                let figure = figure.unwrap_or_else(|| panic!("{}", conclusion.says));
                let experiment = study.experiment(conclusion.experiment);
                let everybody = Scope {
                    stacks: Stack::ALL.to_vec(),
                    ..scope(Scale::Full)
                };
                let points = (experiment.expect("the experiment").points)(&everybody);
                let of = points.iter().filter(|it| it.shown_in == figure.lines_of());
                let of: Vec<_> = of.collect();
                assert!(!of.is_empty(), "{}", conclusion.says);
                // What measures by its own means says its arms as it goes; findings and factors
                // have names of their own.
                let named = of.iter().flat_map(|it| &it.arms).map(|it| it.name.as_str());
                let named: BTreeSet<&str> = named.collect();
                let is_found = matches!(figure.shows, Shows::Allocation { .. });
                if named.is_empty() || is_found {
                    continue;
                }
                for arm in conclusion.asks.names().iter().flat_map(|it| it.arms) {
                    let is_it = |name: &&str| name == arm || name.split('/').next() == Some(arm);
                    assert!(
                        named.iter().any(is_it),
                        "{}: {}: no {arm} among {named:?}",
                        study.name,
                        conclusion.says
                    );
                }
            }
        }
        assert!(all >= 60, "{all}");
    }

    #[test]
    fn what_is_drawn_from_another_figure_has_its_lines_and_a_model_its_arms() {
        for study in ALL {
            for experiment in study.experiments {
                for figure in experiment.figures {
                    let points = (experiment.points)(&scope(Scale::Full));
                    if let Shows::Drawn { from, .. } = figure.shows {
                        let from = study.figure(experiment.number, from);
                        assert!(from.is_some(), "{}", figure.shown_in);
                    }
                    if let Shows::Modelled { model, .. } = figure.shows {
                        let (axis, value) = model.at;
                        let mut of = points.iter().filter(|it| it.shown_in == model.parts);
                        let is_there = of.any(|it| it.at.get(axis).is_some_and(|it| it == value));
                        assert!(is_there, "{}", figure.shown_in);
                    }
                }
            }
        }
    }

    #[test]
    fn a_design_has_one_arm_for_each_combination_of_its_factors() {
        for study in ALL {
            for experiment in study.experiments {
                for figure in experiment.figures {
                    let Shows::Allocation { factors, .. } = figure.shows else {
                        continue;
                    };
                    let mut combinations = Vec::new();
                    for point in (experiment.points)(&scope(Scale::Quick)) {
                        for arm in &point.arms {
                            let levels = factors.iter().map(|factor| match factor.high {
                                Level::Arms(arms) => arms.contains(&arm.name.as_str()),
                                Level::At(axis, value) => {
                                    point.at.get(axis).is_some_and(|it| it == value)
                                }
                            });
                            combinations.push(levels.collect::<Vec<_>>());
                        }
                    }
                    let all = combinations.len();
                    combinations.sort();
                    combinations.dedup();
                    assert_eq!(
                        (combinations.len(), all),
                        (1 << factors.len(), 1 << factors.len())
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_shown_beside_a_baseline_is_measured_with_it_at_each_point() {
        for study in ALL {
            for experiment in study.experiments {
                for point in (experiment.points)(&scope(Scale::Full)) {
                    let figure = study.figure(experiment.number, point.shown_in);
                    if let Shows::Impact { baseline, .. }
                    | Shows::Increment { baseline, .. }
                    | Shows::Overhead { baseline, .. }
                    | Shows::Added { baseline, .. }
                    | Shows::Factor { baseline, .. } = figure.expect("the point's figure").shows
                        && !matches!(point.procedure, Procedure::Own(_))
                    {
                        let mut arms = point.arms.iter();
                        assert!(
                            arms.any(|arm| arm.name == baseline),
                            "{}/{}: no {baseline}",
                            study.name,
                            experiment.number
                        );
                    }
                }
            }
        }
    }

    /// Of those that measure policies and messages in memory; others take longer than a test may.
    #[test]
    fn what_is_measured_in_memory_has_lines_of_more_than_one_arm() {
        let scope = scope(Scale::Quick);
        for study in [&novakouski2010::STUDY, &shopov2007::STUDY] {
            for experiment in study.experiments {
                let mut figures = BTreeSet::new();
                for point in (experiment.points)(&scope) {
                    // One of each figure: they differ in size only.
                    if let Procedure::Own(measure) = point.procedure
                        && figures.insert(point.shown_in)
                    {
                        let mut lines: Vec<Line> = Vec::new();
                        measure(&point, &scope, &mut |line| lines.push(line));
                        let arms: BTreeSet<&str> =
                            lines.iter().map(|line| line.arm.as_str()).collect();
                        assert!(arms.len() > 1, "{}: {arms:?}", point.shown_in);
                        assert!(lines.iter().all(|line| line.figures.best > 0.0));
                    }
                }
            }
        }
    }
}
