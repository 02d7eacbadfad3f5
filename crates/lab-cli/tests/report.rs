//! `soapstone lab report`: from kept runs to a page.

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::Folder;

/// A line of a pretended run.
fn line(arm: &str, time: f64) -> String {
    let n = format!(
        r#""n":1,"best":{time},"mean":{time},"median":{time},"p95":{time},"p99":{time},"worst":{time},"stdev":0.0"#
    );
    format!(
        r#"{{"study":"mchale2012","experiment":1,"shown_in":"figures-5-6","at":{{"books":"2500"}},"stack":"soapstone","arm":"{arm}","quantity":"time","figures":{{{n},"mean_interval":[{time},{time}],"median_interval":[{time},{time}]}},"samples":[{time}]}}
"#
    )
}

fn keep(folder: &Folder, name: &str, began: &str, secured: f64) {
    folder.write(
        &format!("{name}/manifest.json"),
        format!(r#"{{"began":"{began}","machine":{{"processors":2}}}}"#),
    );
    let lines = line("none", 1_000.0) + &line("sign-encrypt/Basic256", secured);
    folder.write(&format!("{name}/lines.jsonl"), &lines);
}

#[test]
fn a_page_is_made_of_the_runs_in_lab_results_with_plots_and_values_beside_it() {
    let folder = Folder::new();
    keep(&folder, "lab-results/b", "2026-11-20T10:00:00Z", 9_000.0);
    keep(&folder, "lab-results/a", "2026-11-21T10:00:00Z", 1_500.0);
    let told = folder.run("lab report").succeeds();
    assert!(
        told.text()
            .contains("report.html, and 2 files of plots and values in report-files"),
        "{}",
        told.text()
    );
    let page = folder.read("report.html");
    assert!(
        page.contains("<td class=\"number\">150</td>"),
        "the later run counts: {page}"
    );
    assert!(
        page.contains("2026-11-21T10:00:00Z")
            && page.contains("href=\"report-files/mchale2012-1-figures-5-6.svg\"")
    );
    assert!(
        folder
            .read("report-files/mchale2012-1-figures-5-6.svg")
            .contains("</svg>")
    );
    let csv = folder.read("report-files/mchale2012-1-figures-5-6.csv");
    assert!(csv.contains("mchale2012,1,figures-5-6,soapstone,sign-encrypt/Basic256,2500,150,150,150,%,1,,1000,1500,\"section 4.1, text, figures 5 and 6, range, percentage\""), "{csv}");
}

#[test]
fn runs_can_be_named_and_the_page_written_elsewhere_or_as_markdown() {
    let folder = Folder::new();
    keep(&folder, "one", "2026-11-20T10:00:00Z", 2_000.0);
    folder.run("lab report one -o two.html").succeeds();
    assert!(
        folder
            .read("two.html")
            .contains("two-files/mchale2012-1-figures-5-6.csv")
    );
    let markdown = folder
        .run("lab report one/lines.jsonl --markdown")
        .succeeds();
    assert!(
        markdown
            .text()
            .contains("| sign-encrypt/Basic256 (paper 1,000 to 1,500) | 200 |"),
        "{}",
        markdown.text()
    );
    let page = folder.run("lab report one -o -").succeeds();
    assert!(page.text().starts_with("<!DOCTYPE html>"));
}

#[test]
fn half_a_line_at_the_end_of_a_run_that_was_killed_is_left_out() {
    let folder = Folder::new();
    let lines = line("none", 1_000.0)
        + &line("sign-encrypt/Basic256", 3_000.0)
        + r#"{"study":"mchale2012","exper"#;
    folder.write("lines.jsonl", &lines);
    let markdown = folder.run("lab report lines.jsonl --markdown").succeeds();
    assert!(
        markdown
            .text()
            .contains("| sign-encrypt/Basic256 (paper 1,000 to 1,500) | 300 |"),
        "{}",
        markdown.text()
    );
}

#[test]
fn what_cannot_be_reported_is_told() {
    let folder = Folder::new();
    folder
        .run("lab report")
        .fails("there is no folder lab-results");
    folder
        .run("lab report nowhere")
        .fails("nowhere: cannot be read");
    folder.write("broken/manifest.json", "{");
    folder.write("broken/lines.jsonl", line("none", 1.0));
    folder.run("lab report broken").fails("manifest.json");
    folder.write("empty.jsonl", "\n");
    folder
        .run("lab report empty.jsonl")
        .fails("not one line was read");
}

/// A line of a pretended run of the architecture: calls that were lost when a provider was killed.
fn lost(calls: f64) -> String {
    let figures = format!(
        r#""n":2,"best":{calls},"mean":{calls},"median":{calls},"p95":{calls},"p99":{calls},"worst":{calls},"stdev":0.0,"mean_interval":[{calls},{calls}],"median_interval":[{calls},{calls}]"#
    );
    format!(
        r#"{{"study":"wsarch","experiment":3,"shown_in":"killed","at":{{"clients":"6"}},"stack":"soapstone","arm":"bridge","quantity":"lost","figures":{{{figures}}},"samples":[{calls},{calls}]}}
"#
    )
}

#[test]
fn a_bar_stands_beside_its_figure_and_one_that_is_missed_is_a_failure() {
    let folder = Folder::new();
    folder.write("met/lines.jsonl", lost(0.0));
    let told = folder.run("lab report met --bars").succeeds();
    let row = |text: &str| {
        let row = text
            .lines()
            .find(|line| line.contains("no idempotent call is lost"));
        row.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let met = row(told.text());
    for part in ["wsarch/3", "soapstone", "0 calls", "met"] {
        assert!(met.contains(part), "{met}");
    }
    // A bar of an experiment that was not run is neither met nor missed.
    let other = told.text();
    let other = other
        .lines()
        .find(|line| line.contains("below its security needs"));
    assert!(
        other.is_some_and(|line| line.ends_with("not measured")),
        "{other:?}"
    );
    folder.write("missed/lines.jsonl", lost(3.0));
    let told = folder.run("lab report missed --bars");
    let told = told.fails("1 of 17 bars are missed");
    assert!(row(told.text()).ends_with("missed"), "{}", told.text());
    folder.write("another/lines.jsonl", line("none", 1_000.0));
    let told = folder.run("lab report another --bars");
    told.fails("no bar was measured");
}
