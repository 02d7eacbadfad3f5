//! A run of what the user gave, his calls or his factors: where its lines go, and what is told of
//! them.
//!
//! The rule kept here: what is told comes from the lines that were kept.

use std::path::PathBuf;

use soapstone_lab::report::Report;
use soapstone_lab::study::{Selection, Study};

use super::report;
use super::study::{self, Own, StudyArguments};
use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;

/// Where lines and a page of such a run go, and which cores its clients have.
#[derive(Debug, clap::Args)]
pub(super) struct OwnRunArguments {
    /// One line of JSON for each measurement
    #[arg(long)]
    json: bool,
    /// Keep lines and a manifest in this folder instead of a new one in lab-results; a run that
    /// was stopped goes on where it was
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Write a page with plots here, as `soapstone lab report` does
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Cores for the clients; services and gateways have the others, and 0 lets everything run on
    /// all. One in four, if nothing is said
    #[arg(long, value_name = "N")]
    client_cores: Option<usize>,
}

/// What of a study is run.
pub(super) struct Chosen<'a> {
    pub(super) study: &'static Study,
    /// Only this experiment.
    pub(super) experiment: Option<u8>,
    /// Segments that names of points must have.
    pub(super) filter: &'a [String],
}

impl OwnRunArguments {
    /// Runs it, prints `told` of its report, and writes the page that is wanted.
    ///
    /// # Errors
    /// An answer is wrong, or something cannot be written.
    pub(super) fn run(
        &self,
        chosen: Chosen<'_>,
        own: &Own,
        log: LogArguments,
        told: impl Fn(&Report<'_>) -> Option<String>,
    ) -> Result<(), Failure> {
        let Chosen {
            study,
            experiment,
            filter,
        } = chosen;
        let folder = study::Run {
            selections: vec![Selection {
                study,
                experiment: None,
            }],
            arguments: &StudyArguments::of_own_calls(
                experiment,
                self.keep.clone(),
                self.client_cores,
            ),
            filter,
            quick: false,
            json: self.json,
            log,
            own,
        }
        .start()?;
        let runs = report::runs(&[folder])?;
        let report = Report::of(&[study], &runs);
        if let Some(told) = told(&report).filter(|_| !self.json) {
            files::print(told)?;
        }
        match &self.output {
            Some(page) => report::write(&report, page),
            None => Ok(()),
        }
    }
}
