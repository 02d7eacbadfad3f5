//! The page: one file of HTML with its style in it, that asks for nothing from anywhere.
//!
//! The rule kept here: whatever comes from a line, a manifest or a file name is escaped.

use std::fmt::Write as _;

use soapstone::xml::escape::value_of as escape;

use super::plot;
use super::shown::Shown;
use super::table::{self, Cell, Kind, Table};
use super::{Report, Run, absent, front, manifest, words};
use crate::study::Study;

const STYLE: &str = include_str!("page.css");

/// The page of a report.
pub(super) fn page(report: &Report<'_>, attachments: &str) -> String {
    let mut html = String::new();
    let h = &mut html;
    // Writing to a String does not fail.
    let _ = write!(
        h,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>What message security costs</title>\n<style>{}{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>What message security costs</h1>\n\
         <p>Published studies of WS-Security, run again on Soapstone and on other stacks. Every number on this page comes from a line of \
         the runs named below, or from the paper.</p>\n",
        plot::STYLE
    );
    if let Some(noise) = front::noise(report.runs) {
        let _ = writeln!(h, "<p class=\"noise\" role=\"note\">{}</p>", escape(&noise));
    }
    if let Some(absent) = absent::told(report) {
        let _ = writeln!(h, "<p class=\"absent\">{}</p>", escape(&absent));
    }
    contents(h, report);
    h.push_str("</header>\n<main>\n");
    for front in report.fronts() {
        let _ = writeln!(h, "<section id=\"{}\">\n<h2>{}</h2>", front.id, front.title);
        for sentence in &front.choices {
            let _ = writeln!(h, "<p class=\"verdict\">{}</p>", escape(sentence));
        }
        write_table(h, &front.costs, "costs");
        let _ = writeln!(
            h,
            "<p class=\"note\">{}</p>\n</section>",
            escape(&front.note)
        );
    }
    if let Some(claims) = table::claims(report) {
        let _ = writeln!(
            h,
            "<section id=\"claims\">\n<h2>Headline claims</h2>\n<p class=\"repeat\">Repeat them: <code>{}</code></p>",
            words::REPEAT_CLAIMS
        );
        write_table(h, &claims, "claims");
        let _ = writeln!(
            h,
            "<p class=\"note\"><b>Floor</b>: {}</p>\n</section>",
            escape(words::FLOOR)
        );
    }
    studies(h, report, attachments);
    machine(h, report.runs);
    reading(h);
    h.push_str("</main>\n</body>\n</html>\n");
    html
}

fn contents(h: &mut String, report: &Report<'_>) {
    h.push_str("<nav aria-label=\"Contents\"><ul>");
    if !report.headlines.is_empty() {
        h.push_str("<li><a href=\"#claims\">Headline claims</a></li>");
    }
    let mut last = "";
    for shown in &report.shown {
        let name = shown.study.name;
        if name != last {
            let title = words::short_title(shown.study);
            let _ = write!(
                h,
                "<li><a href=\"#{}\">{}</a></li>",
                escape(name),
                escape(&title)
            );
        }
        last = name;
    }
    h.push_str("<li><a href=\"#machine\">Machine</a></li><li><a href=\"#reading\">How to read it</a></li></ul></nav>\n");
}

fn studies(h: &mut String, report: &Report<'_>, attachments: &str) {
    let mut told: Option<(&str, u8)> = None;
    for shown in &report.shown {
        let (study, experiment) = (shown.study, shown.experiment);
        if told.map(|it| it.0) != Some(study.name) {
            if told.is_some() {
                h.push_str("</section>\n</section>\n");
            }
            let [title, about] = match &study.paper {
                Some(paper) => [
                    paper.title.to_owned(),
                    format!(
                        "{}, {}. {}. It measured {}.",
                        paper.authors,
                        paper.year,
                        words::sentence(paper.published),
                        paper.stack
                    ),
                ],
                None => words::own(study).map(str::to_owned),
            };
            let _ = writeln!(
                h,
                "<section id=\"{}\" class=\"study\">\n<h2>{}</h2>\n<p class=\"paper\">{}</p>",
                escape(study.name),
                escape(&title),
                escape(&about)
            );
            concluded(h, report, study);
        } else if told != Some((study.name, experiment.number)) {
            h.push_str("</section>\n");
        }
        if told != Some((study.name, experiment.number)) {
            let _ = write!(
                h,
                "<section class=\"experiment\">\n<h3><span>{}</span> {}</h3>\n<p class=\"repeat\">Repeat it: <code>{}</code></p>\n",
                experiment.number,
                escape(experiment.question),
                escape(&study.command(experiment.number))
            );
        }
        told = Some((study.name, experiment.number));
        figure(h, shown, attachments);
    }
    if told.is_some() {
        h.push_str("</section>\n</section>\n");
    }
}

/// What the paper concludes, and what it only draws.
fn concluded(h: &mut String, report: &Report<'_>, study: &Study) {
    let Some(table) = table::conclusions(report, study) else {
        return;
    };
    let _ = writeln!(
        h,
        "<section id=\"{}-conclusions\" class=\"experiment\">\n<h3>What it concludes</h3>",
        escape(study.name)
    );
    for sentence in table::counted(report, study) {
        let _ = writeln!(h, "<p class=\"verdict\">{}</p>", escape(&sentence));
    }
    write_table(h, &table, "conclusions");
    if let Some(sentence) = table::drawn(study) {
        let _ = writeln!(h, "<p class=\"note\">{}</p>", escape(&sentence));
    }
    h.push_str("</section>\n");
}

fn figure(h: &mut String, shown: &Shown<'_>, attachments: &str) {
    let figure = shown.figure;
    let _ = writeln!(
        h,
        "<article id=\"{}\">\n<h4>{}</h4>",
        escape(&shown.file_name()),
        escape(&words::sentence(figure.caption))
    );
    if shown.study.paper.is_some() {
        let _ = writeln!(
            h,
            "<p class=\"place\">{}</p>",
            escape(&words::sentence(&words::places(figure.shown_in)))
        );
    }
    let drawings = plot::WIDTHS.map(|(width, class)| plot::draw(shown, width, class));
    if drawings.iter().any(Option::is_some) {
        h.push_str("<figure>");
        for drawing in drawings.into_iter().flatten() {
            h.push_str(&drawing);
        }
        h.push_str("</figure>\n");
    }
    let sentences = table::sentences(shown);
    for (class, sentences) in [("verdict", sentences.verdicts), ("note", sentences.notes)] {
        for sentence in sentences {
            let _ = writeln!(h, "<p class=\"{class}\">{}</p>", escape(&sentence));
        }
    }
    if !shown.series.is_empty() {
        write_table(h, &table::values(shown), "values");
    }
    if let Some(held) = table::held(shown) {
        h.push_str("<details open><summary>What held</summary>\n");
        write_table(h, &held, "held");
        h.push_str("</details>\n");
    }
    if !shown.lines.is_empty() {
        let _ = writeln!(
            h,
            "<details><summary>All {} lines</summary>",
            shown.lines.len()
        );
        write_table(h, &table::figures(shown), "lines");
        h.push_str("</details>\n");
    }
    if !shown.left_out.is_empty() {
        h.push_str("<ul class=\"left-out\">");
        for it in &shown.left_out {
            let _ = write!(
                h,
                "<li>Left out: {} on {}: {}</li>",
                escape(&it.arms.join(", ")),
                it.stack,
                escape(it.why)
            );
        }
        h.push_str("</ul>\n");
    }
    let name = shown.file_name();
    let folder = escape(attachments);
    h.push_str("<p class=\"files\">");
    if plot::file(shown).is_some() {
        let _ = write!(h, "<a href=\"{folder}/{name}.svg\">SVG</a> ");
    }
    let _ = write!(
        h,
        "<a href=\"{folder}/{name}.csv\">CSV</a></p>\n</article>\n"
    );
}

fn write_table(h: &mut String, table: &Table, class: &str) {
    let _ = write!(
        h,
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>"
    );
    let first = table.rows.first();
    for (place, head) in table.head.iter().enumerate() {
        let cell = first.and_then(|row| row.get(place));
        let class = match cell.map(|it| it.kind) {
            Some(Kind::Number) => " class=\"number\"",
            _ => "",
        };
        let _ = write!(h, "<th scope=\"col\"{class}>{}</th>", inner(head));
    }
    h.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        h.push_str("<tr>");
        for cell in row {
            write_cell(h, cell);
        }
        h.push_str("</tr>\n");
    }
    h.push_str("</tbody></table></div>\n");
}

fn write_cell(h: &mut String, cell: &Cell) {
    let (begin, end) = match cell.kind {
        Kind::Name => ("<th scope=\"row\">", "</th>"),
        Kind::Number => ("<td class=\"number\">", "</td>"),
        Kind::Good => ("<td class=\"good\">", "</td>"),
        Kind::Bad => ("<td class=\"bad\">", "</td>"),
        Kind::Text => ("<td>", "</td>"),
    };
    h.push_str(begin);
    h.push_str(&inner(cell));
    h.push_str(end);
}

fn inner(cell: &Cell) -> String {
    let mut inner = escape(&cell.text);
    if !cell.small.is_empty() {
        let _ = write!(inner, "<small>{}</small>", escape(&cell.small));
    }
    inner
}

fn machine(h: &mut String, runs: &[Run]) {
    h.push_str("<section id=\"machine\">\n<h2>Machine and runs</h2>\n");
    for run in runs {
        let _ = writeln!(h, "<h3>{}</h3>", escape(&run.name));
        for it in absent::of(run) {
            let _ = writeln!(
                h,
                "<p class=\"absent\">Absent: {}: {}</p>",
                it.stack,
                escape(&it.absent)
            );
        }
        match &run.manifest {
            Some(manifest) => {
                h.push_str(
                    "<div class=\"scroll\" tabindex=\"0\"><table class=\"manifest\"><tbody>",
                );
                for (name, value) in manifest::entries(manifest) {
                    let _ = write!(
                        h,
                        "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                        escape(&name),
                        escape(&value)
                    );
                }
                h.push_str("</tbody></table></div>\n");
            }
            None => {
                let _ = writeln!(h, "<p>{}</p>", manifest::NONE);
            }
        }
    }
    h.push_str("</section>\n");
}

fn reading(h: &mut String) {
    h.push_str(
        "<section id=\"reading\">\n<h2>How to read it</h2>\n<dl>\
         <dt>Whiskers</dt><dd>95 % confidence intervals: of means by Student’s t, of medians by the bootstrap (of fewer than six samples \
         at most their range, which is too narrow), of ratios from those of both parts, on the logarithmic scale. Where a study keeps the best of its repetitions, from the best to the median.</dd>\
         <dt>Diamonds, bands</dt><dd>What the paper reported; a band, where it says it of the whole figure.</dd>\
         <dt>Conclusions</dt><dd><i>Holds</i> and <i>reversed</i> only where 95 % intervals are apart; where they overlap, or where one sample has \
         none, values are <i>not told apart</i>. <i>Less</i> and <i>more</i> say that a value is outside of the paper’s range. In small print the \
         ratio, share or place that was found, and at how many points.</dd>\
         <dt>Impact</dt><dd>The value in percent of the plain call’s at the same point on the same stack: 100 % is no cost at all.</dd>\
         <dt>Increment</dt><dd>By how many percent it is more than the plain call’s: 0 % is no cost at all.</dd>\
         <dt>Overhead</dt><dd>How much of it is more than the plain call’s, in percent of itself: 0 % is no cost at all, 100 % nothing but \
         cost.</dd>\
         <dt>none, direct</dt><dd>On Soapstone, <i>none</i> goes through both gateways without security, <i>direct</i> past them. Other stacks \
         have no gateways.</dd>\
         <dt>Absent</dt><dd>A stack that a run was to measure and that could not be started; what nobody asked for is –.</dd>\
         <dt>Outliers</dt><dd>None is dropped: the column <i>worst</i> shows the largest sample.</dd>\
         <dt>Several runs</dt><dd>Of a point that several runs measured on the same stack, the last run counts; what is compared with each other \
         on one stack always comes from one run.</dd></dl>\n</section>\n",
    );
}
