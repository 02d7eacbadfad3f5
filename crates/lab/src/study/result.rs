//! What came of one way at one point of a series, as one line of JSON.
//!
//! The rule kept here: an impact is printed with the plain calls that it compares with, taken in the same repetitions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use soapstone::wss::{Mechanism, Tuning};

use super::{Load, Reported, Series, Sizes, Way};
use crate::measurement::{self, Figures, Measurement, Samples};

/// One line. Times are of one call: where a repetition is of several requests, their total by their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What every stack is measured in.
    #[serde(flatten)]
    pub measurement: Measurement,
    /// The study.
    pub study: Cow<'static, str>,
    /// The number of the experiment.
    pub experiment: u8,
    /// The figures or tables of the paper.
    pub shown_in: Cow<'static, str>,
    /// Where the books come from: `memory`, or a database.
    pub source: String,
    /// Calls in a repetition.
    pub requests: u32,
    /// The best repetition.
    pub best_us: f64,
    /// The first response at this point, which is in no other figure.
    pub first_us: f64,
    /// Best time by the best time of plain calls through the same gateways, in percent: what the paper calls impact.
    pub impact_percent: f64,
    /// The same of medians.
    pub impact_of_medians_percent: f64,
    /// Best time by the best time of calls without gateways, in percent.
    pub impact_over_direct_percent: f64,
    /// The impact if nothing but private keys cost anything: plain calls, and two signatures and two unwrapped keys of RSA-2048, as they
    /// took alone in the same run. Only where each message is signed and encrypted with certificates.
    pub floor_percent: Option<f64>,
    /// The least and the largest impact that the paper reported, in percent.
    pub reported_percent: Option<[f64; 2]>,
}

impl Outcome {
    /// Names of the columns of a table of outcomes, and whether they hold numbers.
    pub const COLUMNS: [(&'static str, bool); 13] = [
        ("source", false),
        ("books", true),
        ("requests", true),
        ("mechanism", false),
        ("suite", false),
        ("n", true),
        ("best ms", true),
        ("median ms", true),
        ("deviation", true),
        ("impact", true),
        ("of medians", true),
        ("floor", true),
        ("paper's impact", true),
    ];

    /// Its row in such a table.
    pub fn cells(&self) -> [String; 13] {
        let measurement = &self.measurement;
        let suite = match measurement.suite.as_str() {
            "" => "-",
            suite => suite,
        };
        let deviation = measurement.stdev_us / measurement.mean_us * 100.0;
        [
            self.source.clone(),
            measurement.items.to_string(),
            self.requests.to_string(),
            measurement.mechanism.to_string(),
            suite.to_owned(),
            measurement.n.to_string(),
            format!("{:.3}", self.best_us / 1e3),
            format!("{:.3}", measurement.median_us / 1e3),
            format!("{deviation:.0} %"),
            format!("{:.0} %", self.impact_percent),
            format!("{:.0} %", self.impact_of_medians_percent),
            self.floor_percent
                .map_or("-".to_owned(), |floor| format!("{floor:.0} %")),
            self.reported_percent.map_or("-".to_owned(), range),
        ]
    }
}

/// From the least to the most, in percent; one number, if they are the same as shown.
pub(super) fn range([least, most]: [f64; 2]) -> String {
    let (least, most) = (format!("{least:.0}"), format!("{most:.0}"));
    if least == most {
        format!("{least} %")
    } else {
        format!("{least} to {most} %")
    }
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
    /// Microseconds that private keys take for a message.
    pub(super) private_key: f64,
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
            study: place.study.into(),
            experiment: place.experiment,
            shown_in: place.series.shown_in.into(),
            source: place.source.clone(),
            requests: place.load.requests,
            best_us: figures.best,
            first_us: gathered.first,
            impact_percent: percent(figures.best, plain.map(|plain| plain.best)),
            impact_of_medians_percent: percent(figures.median, plain.map(|plain| plain.median)),
            impact_over_direct_percent: percent(figures.best, direct.map(|direct| direct.best)),
            floor_percent: plain
                .filter(|_| is_sign_encrypt(gathered.way))
                .map(|plain| (plain.best + 2.0 * place.private_key) / plain.best * 100.0),
            reported_percent: reported(place.series.reported, gathered.way),
        })
        .collect()
}

fn measurement(gathered: &Gathered, figures: &Figures, books: u32) -> Measurement {
    Measurement {
        stack: "soapstone".into(),
        op: "roundtrip".into(),
        mechanism: gathered.way.name().into(),
        suite: gathered.way.suite().to_owned(),
        binding: binding(gathered.way).into(),
        payload: "books".into(),
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

fn binding(way: Way) -> &'static str {
    match way {
        Way::Through {
            mechanism: Mechanism::SecureConversation,
            ..
        } => "context",
        Way::Through { mechanism, .. } if mechanism.signs() || mechanism.encrypts() => {
            "certificate"
        }
        _ => "",
    }
}

fn is_sign_encrypt(way: Way) -> bool {
    matches!(
        way,
        Way::Through {
            mechanism: Mechanism::SignEncrypt,
            ..
        }
    )
}

fn reported(all: &[Reported], way: Way) -> Option<[f64; 2]> {
    let Way::Through { mechanism, .. } = way else {
        return None;
    };
    let mut of_it = all.iter().filter(|it| it.mechanism == mechanism);
    of_it.next().map(Reported::percent)
}
