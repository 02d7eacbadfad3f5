//! A run of everything: samples are pretended of each figure of each study.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use soapstone_lab::report::Run;
use soapstone_lab::studies;
use soapstone_lab::study::{Experiment, Figure, Gamble, Shows, Study};

use super::read::{Chance, line};
use super::recomputed::{SAMPLES, glance, lines, samples};
use super::{page_of, run};

/// Everything that is pretended of every study, as one run.
pub(super) fn everything() -> Vec<Run> {
    vec![run("one", &lines_of_everything())]
}

fn lines_of_everything() -> Vec<Value> {
    let mut chance = Chance(0x1234_5678_9abc_def1);
    let mut all = Vec::new();
    for study in studies::ALL {
        for experiment in study.experiments {
            for figure in experiment.figures {
                let raw = samples(study, experiment, figure, &mut chance);
                all.extend(lines(study, experiment, figure, &raw));
                if let Shows::Drawn { from, .. } = figure.shows {
                    let from = study.figure(experiment.number, from).expect("its lines");
                    all.extend(of_deployments(study, experiment, from, &mut chance));
                }
                if let Shows::Modelled {
                    model, baseline, ..
                } = figure.shows
                {
                    let arms = (&model, baseline);
                    all.extend(of_gamble(study, experiment, figure, arms, &mut chance));
                }
            }
        }
    }
    all.push(json!({"stack": "gsoap", "absent": "no compiler"}));
    all
}

/// What deployments take, for what is drawn from it: totals that grow with messages, and the time
/// of later ones.
fn of_deployments(
    study: &Study,
    experiment: &Experiment,
    from: &Figure,
    chance: &mut Chance,
) -> Vec<Value> {
    let mut all = Vec::new();
    let mut costs: BTreeMap<(String, String), [f64; 2]> = BTreeMap::new();
    for (place, _) in samples(study, experiment, from, chance).into_keys() {
        let Some(messages) = place
            .2
            .get("messages")
            .and_then(|it| it.parse::<f64>().ok())
        else {
            continue;
        };
        let (stack, arm, at) = place;
        let costs = costs.entry((stack.clone(), arm.clone()));
        let [start, each] = *costs.or_insert_with(|| [2e4 * chance.share(), 4e3 * chance.share()]);
        let of = (study.name, experiment.number, from.shown_in);
        // As many deployments as there are samples, each with all of its messages.
        let later = SAMPLES * (messages as usize - 1);
        for (quantity, count, middle) in [
            ("total", SAMPLES, start + each * messages),
            ("first", SAMPLES, start),
            ("later", later, each),
        ] {
            if count > 0 {
                let samples = chance.samples(count, middle, 0.05);
                all.push(line(of, &json!(at), (&stack, &arm), quantity, &samples));
            }
        }
    }
    all
}

/// What a gamble takes that costs less the more messages are canonical, and the parts of its model.
fn of_gamble(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    (model, baseline): (&Gamble, &str),
    chance: &mut Chance,
) -> Vec<Value> {
    let mut all = Vec::new();
    for point in (experiment.points)(&glance()) {
        let costs = if point.shown_in == model.parts {
            [(model.canonicalization, 200.0), (model.rest, 800.0)]
        } else if point.shown_in == figure.shown_in {
            let canonical: f64 = point.at[figure.x].parse().expect("a share");
            // As much as the baseline, where 60 % are canonical.
            [(model.arm, 1_600.0 - 10.0 * canonical), (baseline, 1_000.0)]
        } else {
            continue;
        };
        let of = (study.name, experiment.number, point.shown_in);
        for (arm, middle) in costs {
            let samples = chance.samples(SAMPLES, middle, 0.05);
            let at = json!(point.at);
            all.push(line(of, &at, ("soapstone", arm), "processor", &samples));
        }
    }
    all
}

/// The page of everything, and its lines, where tests keep their files.
pub(super) fn files_of_everything(name: &str) -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lines = lines_of_everything();
    let page = page_of(&[run("one", &lines)]);
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let contents = [("jsonl", text.join("\n")), ("html", page)];
    contents.map(|(ending, contents)| {
        let path = folder.join(format!("{name}.{ending}"));
        std::fs::write(&path, contents).expect("a file");
        path
    })
}

#[test]
fn a_page_of_every_figure_to_look_at_is_written_where_tests_keep_their_files() {
    let [_, page] = files_of_everything("every-figure");
    let page = std::fs::read_to_string(page).expect("the page");
    let figures = studies::ALL.iter().flat_map(|it| it.experiments);
    for figure in figures.flat_map(|it| it.figures) {
        let article = format!("-{}\">", figure.shown_in);
        assert!(page.contains(&article), "{}", figure.shown_in);
    }
}
