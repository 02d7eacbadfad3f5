//! The report: one page of HTML, from the lines that runs of studies left.
//!
//! First what a call costs and what to choose, then, in the order of the studies: the headline
//! claims, conclusions, each experiment's question, its plots and tables with the paper's values
//! beside ours, what held, and the command that repeats it. The rule kept here: every number comes
//! from a line or from the paper, and so the same lines make the same page, byte for byte.

mod absent;
mod bars;
mod claims;
mod conclusions;
mod counted;
mod csv;
mod designed;
mod findings;
mod front;
mod manifest;
mod markdown;
mod model;
mod number;
mod own;
mod page;
mod plot;
mod shown;
mod table;
mod values;
mod words;

use crate::studies;
use crate::study::{Record, Study};
pub use bars::{Bar, Reached};
use claims::Headline;
use conclusions::Judged;
use shown::Shown;

/// What one run left.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it is called: the name of its folder or file.
    pub name: String,
    /// Its lines, those of whole points and others.
    pub records: Vec<Record>,
    /// What stands in its manifest: machine, versions, load, seed.
    pub manifest: Option<serde_json::Value>,
}

/// A report.
pub struct Report<'r> {
    runs: &'r [Run],
    shown: Vec<Shown<'r>>,
    headlines: Vec<(Headline, usize)>,
    judged: Vec<Judged>,
}

/// A file beside the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub contents: String,
}

impl<'r> Report<'r> {
    /// The report of these runs, oldest first: of a point that several runs measured on the same
    /// stack, the last one's lines count.
    pub fn of(studies: &[&'static Study], runs: &'r [Run]) -> Self {
        let mut shown = Vec::new();
        let mut headlines = Vec::new();
        for study in studies {
            for experiment in study.experiments {
                for figure in experiment.figures {
                    let Some(of) = Shown::of(study, experiment, figure, runs) else {
                        continue;
                    };
                    for claim in study.claims {
                        let is_of_it = claim.experiment == experiment.number
                            && claim.shown_in == figure.shown_in;
                        if is_of_it {
                            headlines.push((claims::headline(claim, &of), shown.len()));
                        }
                    }
                    shown.push(of);
                }
            }
        }
        let asked = studies
            .iter()
            .filter(|study| conclusions::is_asked(study, runs));
        let judged = asked.flat_map(|study| conclusions::judged(study, runs));
        Self {
            runs,
            shown,
            headlines,
            judged: judged.collect(),
        }
    }

    /// Whether no line is of any figure.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// What calls cost, and what to choose: of the papers' experiments, and of the user's own
    /// calls.
    fn fronts(&self) -> impl Iterator<Item = front::Front> {
        let own = own::front(self.runs);
        front::front(self).into_iter().chain(own)
    }

    /// What the user's own calls cost, and what to choose for them, in Markdown; `None`, if no run
    /// has any.
    pub fn own_choice(&self) -> Option<String> {
        own::front(self.runs).map(|front| markdown::of_front(&front))
    }

    /// The shares of the variation that the user's own factors explain, as lines of text; `None`,
    /// if no run has a design of which every combination was measured.
    pub fn own_factors(&self) -> Option<String> {
        let mut shown = self.shown.iter();
        let shown = shown.find(|it| it.study.name == studies::DESIGN.name)?;
        (!shown.series.is_empty()).then(|| designed::text(shown))
    }

    /// Our own goals, each beside what was measured. One of a study of which these runs have no
    /// line is left out.
    pub fn bars(&self) -> Vec<Bar> {
        bars::bars(self.judged.iter())
    }

    /// The page. `attachments` is the folder beside it that has the [files](Self::attachments), as
    /// a relative path.
    pub fn html(&self, attachments: &str) -> String {
        page::page(self, attachments)
    }

    /// The tables in Markdown, without plots.
    pub fn markdown(&self) -> String {
        markdown::text(self)
    }

    /// Every plot as SVG, and the values of every figure as CSV.
    pub fn attachments(&self) -> Vec<Attachment> {
        let mut files = Vec::new();
        for shown in &self.shown {
            let name = shown.file_name();
            if let Some(contents) = plot::file(shown) {
                files.push(Attachment {
                    name: format!("{name}.svg"),
                    contents,
                });
            }
            files.push(Attachment {
                name: format!("{name}.csv"),
                contents: csv::file(shown),
            });
        }
        files
    }
}
