//! Published studies, run again: what they measured, what they reported, and what calls cost here.
//!
//! A [`Study`] is data: the paper, its experiments, the calls that each is made of, and the figures that the paper reported. It is
//! [run](fn@run) on a [`Bench`], which whoever knows services and gateways puts up.
//!
//! The rule kept here: what a paper reported is written down with the place in the paper where it stands, or not at all.

mod bench;
pub mod report;
mod result;
mod run;

pub use bench::{Bench, Call, Sizes, Source, Way};
pub use result::Outcome;
pub use run::{Event, Options, Progress, Repetitions, points, routes, run, whole_points};

use soapstone::wss::Mechanism;

/// A study.
#[derive(Debug)]
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it was published.
    pub paper: Paper,
    /// What was measured, in the paper's order.
    pub experiments: &'static [Experiment],
}

/// Where a study was published.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its title.
    pub title: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// Journal, volume, number and page.
    pub published: &'static str,
    /// When.
    pub year: u16,
    /// What it measured.
    pub stack: &'static str,
}

/// An experiment: one question, asked in one or more series.
#[derive(Debug)]
pub struct Experiment {
    /// Its number.
    pub number: u8,
    /// What it asks.
    pub question: &'static str,
    /// What is called.
    pub series: &'static [Series],
}

/// Calls that one figure or table of the paper compares.
#[derive(Debug)]
pub struct Series {
    /// The figures or tables, such as `figures-5-6`.
    pub shown_in: &'static str,
    /// The ways that are compared, besides [`Way::Direct`] and [`Way::PLAIN`], which always are.
    pub secured: &'static [Way],
    /// Where books come from.
    pub sources: Sources,
    /// How many calls for how many books.
    pub loads: &'static [Load],
    /// What the paper reported.
    pub reported: &'static [Reported],
}

/// Where the books of a series come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// From memory.
    Memory,
    /// From memory, and from each database that there is.
    MemoryAndDatabases,
}

/// So many calls for so many books each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Calls whose times are added up to one repetition.
    pub requests: u32,
    /// Books in each answer.
    pub books: u32,
}

impl Load {
    /// A single call.
    pub const fn once(books: u32) -> Self {
        Self { requests: 1, books }
    }
}

/// An impact that the paper reported: time of secured calls as a multiple of the time of plain ones.
#[derive(Clone, Copy, Debug)]
pub struct Reported {
    /// Of which mechanism.
    pub mechanism: Mechanism,
    /// The smallest multiple.
    pub least: f64,
    /// The largest multiple.
    pub most: f64,
}

impl Study {
    /// Its series in the paper's order, each with its experiment.
    pub fn series(&self) -> impl Iterator<Item = (&'static Experiment, &'static Series)> {
        self.experiments.iter().flat_map(|experiment| {
            experiment
                .series
                .iter()
                .map(move |series| (experiment, series))
        })
    }
}

impl Reported {
    /// Least and largest impact in percent.
    fn percent(&self) -> [f64; 2] {
        [self.least * 100.0, self.most * 100.0]
    }
}

/// The ways that are compared in a series, the plain ones first.
fn ways(series: &Series) -> impl Iterator<Item = Way> + '_ {
    [Way::Direct, Way::PLAIN]
        .into_iter()
        .chain(series.secured.iter().copied())
}
