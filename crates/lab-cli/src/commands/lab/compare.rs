//! `soapstone lab compare A B`: two runs, line by line.
//!
//! The rule kept here: what only one of them has is counted, so that nobody takes a part for the
//! whole.

use std::io::IsTerminal;
use std::path::PathBuf;

use serde_json::json;
use soapstone_lab::compare::{Compared, Comparison, Verdict, compare};
use soapstone_lab::study::Record;

use super::report;
use crate::failure::Failure;
use crate::files;
use crate::table::{Align, Table};

/// Arguments of `soapstone lab compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXAMPLES)]
pub struct CompareArguments {
    /// A folder that a run was kept in, or a file of lines that it printed with --json
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The run that is compared with it
    #[arg(value_name = "B")]
    second: PathBuf,
    /// One line of JSON for each comparison
    #[arg(long)]
    json: bool,
    /// Only lines that differ: whose intervals lie apart, or whose sizes do
    #[arg(long)]
    apart: bool,
}

/// Compares two runs.
///
/// # Errors
/// A run cannot be read, or they have no line in common.
pub(super) fn run(arguments: &CompareArguments) -> Result<(), Failure> {
    let read = |path: &PathBuf| -> Result<Vec<Record>, Failure> {
        let runs = report::runs(std::slice::from_ref(path))?;
        let records: Vec<Record> = runs.into_iter().flat_map(|run| run.records).collect();
        if records.is_empty() {
            return Err(Failure::file(path, "expected lines of a run, found none")
                .with_hint("name a folder that a run was kept in, such as lab-results/…"));
        }
        Ok(records)
    };
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let comparison = compare(&first, &second);
    if comparison.lines.is_empty() {
        return Err(Failure::new("the runs have no line in common"));
    }
    let shown: Vec<&Compared<'_>> = comparison
        .lines
        .iter()
        .filter(|it| !arguments.apart || it.verdict().is_apart())
        .collect();
    files::print(if arguments.json {
        shown.iter().map(|it| line(it)).collect()
    } else {
        table(&shown, &comparison)
    })
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Less => "less",
        Verdict::Overlap => "overlap",
        Verdict::More => "more",
        Verdict::Same => "same",
        Verdict::OneSample => "one sample",
    }
}

fn line(compared: &Compared<'_>) -> String {
    let (first, second) = (compared.first, compared.second);
    let line = json!({
        "study": first.study, "experiment": first.experiment, "shown_in": first.shown_in, "at": first.at,
        "stack": first.stack, "arm": first.arm, "quantity": first.quantity,
        "first": first.figures, "second": second.figures,
        "ratio": compared.ratio(), "interval": compared.interval(), "verdict": name(compared.verdict()),
    });
    format!("{line}\n")
}

fn table(shown: &[&Compared<'_>], comparison: &Comparison<'_>) -> String {
    let mut table = Table::new([
        ("at", Align::Left),
        ("stack", Align::Left),
        ("arm", Align::Left),
        ("quantity", Align::Left),
        ("median A", Align::Right),
        ("median B", Align::Right),
        ("B / A", Align::Right),
        ("interval", Align::Right),
        ("B is", Align::Left),
    ]);
    for compared in shown {
        let (first, second) = (compared.first, compared.second);
        let mut place = format!("{}/{}/{}", first.study, first.experiment, first.shown_in);
        for (axis, value) in &first.at {
            place.push_str(&format!("/{axis}/{value}"));
        }
        let [low, high] = compared.interval();
        table.row([
            place,
            first.stack.to_string(),
            first.arm.clone(),
            first.quantity.name().to_owned(),
            format!("{:.1}", first.figures.median),
            format!("{:.1}", second.figures.median),
            format!("{:.3}", compared.ratio()),
            format!("{low:.3} to {high:.3}"),
            name(compared.verdict()).to_owned(),
        ]);
    }
    let count = |verdict| {
        let lines = comparison.lines.iter();
        lines.filter(|it| it.verdict() == verdict).count()
    };
    format!(
        "{}\nOf {} lines in both runs B is less in {} and more in {}; in {} the 95 % intervals of the medians overlap, in {} sizes are the \
         same,\nand {} have one sample on a side, which shows no difference.\n\
         Only A has {} lines, only B {}. Times are in microseconds, sizes in bytes.\n",
        table.emphasized(std::io::stdout().is_terminal()),
        comparison.lines.len(),
        count(Verdict::Less),
        count(Verdict::More),
        count(Verdict::Overlap),
        count(Verdict::Same),
        count(Verdict::OneSample),
        comparison.only_first,
        comparison.only_second,
    )
}
