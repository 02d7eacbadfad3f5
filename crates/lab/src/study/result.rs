//! What came of one way at one point of a series, as one line of JSON.
//!
//! The rule kept here: an impact is printed with the plain calls that it compares with, taken in the same repetitions.

use serde::Serialize;
use soapstone::wss::{Mechanism, Tuning};

use super::{Load, Reported, Series, Sizes, Way};
use crate::measurement::{self, Figures, Measurement, Samples};

/// One line. Times are of one call: where a repetition is of several requests, their total by their number.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What every stack is measured in.
    #[serde(flatten)]
    pub measurement: Measurement,
    /// The study.
    pub study: &'static str,
    /// The number of the experiment.
    pub experiment: u8,
    /// The figures or tables of the paper.
    pub shown_in: &'static str,
    /// Where the books come from: `memory`, or a database.
    pub source: String,
    /// Calls in a repetition.
    pub requests: u32,
    /// The best repetition.
    pub best_us: f64,
    /// The first response, which is in no other figure. With a conversation it took the handshake, too.
    pub first_us: f64,
    /// Best time by the best time of plain calls through the same gateways, in percent: what the paper calls impact.
    pub impact_percent: f64,
    /// The same of medians.
    pub impact_of_medians_percent: f64,
    /// Best time by the best time of calls without gateways, in percent.
    pub impact_over_direct_percent: f64,
    /// The least and the largest impact that the paper reported, in percent.
    pub reported_percent: Option<[f64; 2]>,
}

/// What was gathered of one way at one point.
pub(super) struct Gathered {
    pub(super) way: Way,
    pub(super) sizes: Sizes,
    /// Microseconds.
    pub(super) first: f64,
    /// Microseconds of a call, one for each repetition.
    pub(super) repetitions: Vec<f64>,
}

/// Where it was gathered.
pub(super) struct Place<'p> {
    pub(super) study: &'static str,
    pub(super) experiment: u8,
    pub(super) series: &'p Series,
    pub(super) source: String,
    pub(super) load: Load,
}

/// Lines for all the ways at one point.
pub(super) fn outcomes(place: &Place<'_>, gathered: Vec<Gathered>) -> Vec<Outcome> {
    let measured: Vec<_> = gathered
        .into_iter()
        .map(|gathered| {
            let figures = gathered
                .repetitions
                .iter()
                .copied()
                .collect::<Samples>()
                .figures();
            (gathered, figures)
        })
        .collect();
    let of = |way: Way| {
        let found = measured.iter().find(|(gathered, _)| gathered.way == way);
        found.map(|(_, figures)| *figures)
    };
    let (plain, direct) = (of(Way::PLAIN), of(Way::Direct));
    let percent = |time: f64, beside: Option<f64>| beside.map_or(f64::NAN, |it| time / it * 100.0);
    measured
        .iter()
        .map(|(gathered, figures)| Outcome {
            measurement: measurement(gathered, figures, place.load.books),
            study: place.study,
            experiment: place.experiment,
            shown_in: place.series.shown_in,
            source: place.source.clone(),
            requests: place.load.requests,
            best_us: figures.best,
            first_us: gathered.first,
            impact_percent: percent(figures.best, plain.map(|plain| plain.best)),
            impact_of_medians_percent: percent(figures.median, plain.map(|plain| plain.median)),
            impact_over_direct_percent: percent(figures.best, direct.map(|direct| direct.best)),
            reported_percent: reported(place.series.reported, gathered.way),
        })
        .collect()
}

fn measurement(gathered: &Gathered, figures: &Figures, books: u32) -> Measurement {
    Measurement {
        stack: "soapstone",
        op: "roundtrip",
        mechanism: gathered.way.name(),
        suite: gathered.way.suite().to_owned(),
        binding: match gathered.way {
            Way::Through {
                mechanism: Mechanism::SecureConversation,
                ..
            } => "context",
            Way::Through { mechanism, .. } if mechanism.signs() || mechanism.encrypts() => {
                "certificate"
            }
            _ => "",
        },
        payload: "books",
        items: books as usize,
        bytes: gathered.sizes.plain,
        secured_bytes: gathered.sizes.secured,
        clients: 1,
        n: figures.n,
        mean_us: figures.mean,
        median_us: figures.median,
        p95_us: figures.p95,
        stdev_us: figures.stdev,
        per_s: 1e6 / figures.median,
        tuning: measurement::Tuning {
            canonical_runs: Tuning::default().canonical_runs,
        },
    }
}

fn reported(all: &[Reported], way: Way) -> Option<[f64; 2]> {
    let Way::Through { mechanism, .. } = way else {
        return None;
    };
    let found = all
        .iter()
        .find(|reported| reported.mechanism == mechanism)?;
    Some([found.least * 100.0, found.most * 100.0])
}
