//! The report in Markdown: what the page says, without plots and single lines.
//!
//! The rule kept here: the same sentences and tables as in the page.

use std::fmt::Write as _;

use super::front::{self, Front};
use super::table::{self, Cell, Kind, Table};
use super::{Report, Run, absent, manifest, words};
use crate::study::Study;

/// The report.
pub(super) fn text(report: &Report<'_>) -> String {
    // Writing to a String does not fail.
    let mut text = String::from("# Studies of message security, run again\n");
    if let Some(noise) = front::noise(report.runs) {
        let _ = write!(text, "\n**{}**\n", plain(&noise));
    }
    if let Some(absent) = absent::told(report) {
        let _ = write!(text, "\n{}\n", plain(&absent));
    }
    for front in report.fronts() {
        text.push_str(&of_front(&front));
    }
    if let Some(claims) = table::claims(report) {
        let _ = write!(
            text,
            "\n## Headline claims\n\nRepeat them with `{}`.\n\n{}\nFloor: {}\n",
            words::REPEAT_CLAIMS,
            table(&claims),
            words::FLOOR
        );
    }
    let mut told = (None, None);
    for shown in &report.shown {
        let (study, experiment) = (shown.study, shown.experiment);
        if told.0 != Some(study.name) {
            let _ = match &study.paper {
                Some(paper) => write!(
                    text,
                    "\n## {}\n\n{}: *{}*. {}, {}. It measured {}.\n",
                    study.name,
                    plain(paper.authors),
                    plain(paper.title),
                    plain(paper.published),
                    paper.year,
                    plain(paper.stack)
                ),
                None => {
                    let [title, about] = words::own(study);
                    write!(text, "\n## {title}\n\n{about}\n")
                }
            };
            concluded(&mut text, report, study);
        }
        if told != (Some(study.name), Some(experiment.number)) {
            let _ = write!(
                text,
                "\n### Experiment {}: {}\n\nRepeat it with `{}`.\n",
                experiment.number,
                experiment.question,
                study.command(experiment.number)
            );
        }
        told = (Some(study.name), Some(experiment.number));
        let caption = words::sentence(shown.figure.caption);
        let _ = write!(
            text,
            "\n#### {}\n\n{}.\n\n",
            shown.figure.shown_in,
            plain(&caption)
        );
        if !shown.series.is_empty() {
            text.push_str(&table(&table::values(shown)));
        }
        let sentences = table::sentences(shown);
        for sentence in sentences.verdicts.iter().chain(&sentences.notes) {
            let _ = write!(text, "\n{}\n", plain(sentence));
        }
        if let Some(held) = table::held(shown) {
            let _ = write!(text, "\nWhat held:\n\n{}", table(&held));
        }
        for it in &shown.left_out {
            let _ = write!(
                text,
                "\nLeft out: {} on {}: {}\n",
                it.arms.join(", "),
                it.stack,
                plain(it.why)
            );
        }
    }
    runs(&mut text, report.runs);
    text
}

/// What calls cost, and what to choose.
pub(super) fn of_front(front: &Front) -> String {
    let mut text = format!("\n## {}\n\n", front.title);
    for sentence in &front.choices {
        let _ = write!(text, "{}\n\n", plain(sentence));
    }
    text.push_str(&table(&front.costs));
    let _ = write!(text, "\n{}\n", plain(&front.note));
    text
}

/// What the paper concludes, and what it only draws.
fn concluded(text: &mut String, report: &Report<'_>, study: &Study) {
    let Some(conclusions) = table::conclusions(report, study) else {
        return;
    };
    text.push_str("\n### What it concludes\n\n");
    for sentence in table::counted(report, study) {
        let _ = write!(text, "{}\n\n", plain(&sentence));
    }
    text.push_str(&table(&conclusions));
    if let Some(sentence) = table::drawn(study) {
        let _ = write!(text, "\n{}\n", plain(&sentence));
    }
}

fn runs(text: &mut String, runs: &[Run]) {
    text.push_str("\n## Machine and runs\n");
    for run in runs {
        let _ = write!(text, "\n### {}\n", plain(&run.name));
        for it in absent::of(run) {
            let _ = write!(text, "\nAbsent: {}: {}\n", it.stack, plain(&it.absent));
        }
        text.push('\n');
        match &run.manifest {
            Some(manifest) => {
                for (name, value) in manifest::entries(manifest) {
                    let _ = writeln!(text, "- {}: {}", plain(&name), plain(&value));
                }
            }
            None => {
                let _ = writeln!(text, "{}", manifest::NONE);
            }
        }
    }
}

fn table(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&mut table.head.iter().map(cell));
    let kinds = table.rows.first().into_iter().flatten();
    text += &line(&mut kinds.map(|cell| match cell.kind {
        Kind::Number => "--:".to_owned(),
        _ => "---".to_owned(),
    }));
    for row in &table.rows {
        text += &line(&mut row.iter().map(cell));
    }
    text
}

fn cell(cell: &Cell) -> String {
    if cell.small.is_empty() {
        plain(&cell.text)
    } else {
        format!("{} ({})", plain(&cell.text), plain(&cell.small))
    }
}

/// Without what Markdown would read as its own.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '|' | '*' | '_' | '`' | '<' | '[' | '\\') {
            plain.push('\\');
        }
        plain.push(if character == '\n' { ' ' } else { character });
    }
    plain
}
