//! The report says what the lines say: its tables are recomputed here from the raw lines, by other
//! code.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use soapstone_lab::report::{Report, Run};
use soapstone_lab::statistics::Figures;
use soapstone_lab::studies;
use soapstone_lab::study::{self, Study};

mod absent;
#[path = "../common/csv.rs"]
mod csv;
mod digits;
mod estimates;
mod everything;
mod findings;
mod front;
mod guide;
mod headlines;
mod model;
mod read;
mod recomputed;
mod slowed;
mod stacked;
mod written;

use read::{between, close, number, table};

/// Times of seven calls around a middle, microseconds.
fn samples(middle: f64) -> Vec<f64> {
    [1.04, 0.97, 1.0, 1.01, 0.985, 1.25, 1.03]
        .iter()
        .map(|share| share * middle)
        .collect()
}

/// A line of McHale et al.
fn line(
    experiment: u8,
    shown_in: &str,
    at: &Value,
    stack: &str,
    arm: &str,
    quantity: &str,
    samples: &[f64],
) -> Value {
    let figure = ("mchale2012", experiment, shown_in);
    read::line(figure, at, (stack, arm), quantity, samples)
}

/// Lines of a pretended run of McHale et al., whose secured calls on our stack take `slower` times
/// as long.
fn lines(slower: f64) -> Vec<Value> {
    let mut all = Vec::new();
    let stacks = [("soapstone", 1.0), ("cxf", 6.0)];
    for (stack, factor) in stacks {
        let slower = if stack == "soapstone" { slower } else { 1.0 };
        for books in [1, 2_500, 5_000, 10_000, 25_000] {
            let plain = factor * (300.0 + 0.5 * f64::from(books));
            let secured = (plain + factor * (2_500.0 + 0.6 * f64::from(books))) * slower;
            let at = json!({"books": books.to_string()});
            let mut add = |arm: &str, quantity: &str, middle: f64| {
                all.push(line(
                    1,
                    "figures-5-6",
                    &at,
                    stack,
                    arm,
                    quantity,
                    &samples(middle),
                ));
            };
            add("none", "time", plain);
            add("sign-encrypt/Basic256", "time", secured);
            add("sign-encrypt/Basic256", "first", 2.0 * secured);
            add(
                "sign-encrypt/Basic256",
                "secured",
                f64::from(books) * 400.0 + 9_000.0,
            );
            if stack == "soapstone" {
                add("direct", "time", plain / 2.0);
                add("sign-encrypt/Basic256", "floor", 2_400.0);
            }
        }
        for (load, books) in [("1000x5", 5.0), ("750x100", 100.0), ("10x15000", 15_000.0)] {
            let at = json!({"load": load});
            let plain = factor * (300.0 + 0.5 * books);
            for (arm, each) in [
                ("none", 0.0),
                ("sign-encrypt/Basic256", 2_500.0),
                ("secure-conversation/Basic256", 400.0),
            ] {
                let time = plain * if each > 0.0 { 1.3 * slower } else { 1.0 } + each * factor;
                all.push(line(
                    3,
                    "figure-11",
                    &at,
                    stack,
                    arm,
                    "time",
                    &samples(time),
                ));
            }
        }
        for source in ["memory", "sqlite"] {
            for books in [1, 2_493, 5_034, 20_000] {
                let at = json!({"books": books.to_string(), "source": source});
                let plain = factor
                    * (300.0 + 0.5 * f64::from(books))
                    * if source == "sqlite" { 2.0 } else { 1.0 };
                for (arm, time) in [
                    ("none", plain),
                    (
                        "sign-encrypt/Basic256",
                        plain * 1.2 + 2_500.0 * factor * slower,
                    ),
                ] {
                    all.push(line(
                        4,
                        "table-1-figure-14",
                        &at,
                        stack,
                        arm,
                        "time",
                        &samples(time),
                    ));
                }
            }
        }
    }
    all.push(json!({
        "study": "mchale2012", "experiment": 1, "shown_in": "figures-5-6", "at": {"books": "1"}, "stack": "gsoap",
        "arm": "sign-encrypt/Basic256", "left_out": format!("no <Basic256> & no books: {}", "x".repeat(200)),
    }));
    all
}

fn run(name: &str, lines: &[Value]) -> Run {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    Run {
        name: name.to_owned(),
        records: study::read(&text.join("\n")).expect("lines of a study"),
        manifest: Some(json!({"machine": {"processor": "<b>Test</b>", "cores": 2}, "seed": 7})),
    }
}

fn mchale() -> &'static Study {
    studies::named("mchale2012").expect("the study")
}

/// The page of all studies.
fn page_of(runs: &[Run]) -> String {
    Report::of(studies::ALL, runs).html("report-files")
}

fn page(runs: &[Run]) -> String {
    Report::of(&[mchale()], runs).html("report-files")
}

/// Samples of a quantity, straight from the raw lines.
type Raw = BTreeMap<(String, String, String, String), Vec<f64>>;

fn raw(lines: &[Value], shown_in: &str, axis: &str, quantity: &str) -> Raw {
    let mut raw = Raw::new();
    for line in lines
        .iter()
        .filter(|it| it["shown_in"] == shown_in && it["quantity"] == quantity)
    {
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let source = text(&line["at"]["source"]);
        let samples = line["samples"].as_array().expect("samples");
        let samples = samples
            .iter()
            .map(|it| it.as_f64().expect("a number"))
            .collect();
        raw.insert(
            (
                text(&line["at"][axis]),
                source,
                text(&line["stack"]),
                text(&line["arm"]),
            ),
            samples,
        );
    }
    raw
}

fn best(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn impacts_in_the_tables_are_those_of_the_raw_lines() {
    let lines = lines(1.0);
    let page = page(&[run("one", &lines)]);
    for (number, shown_in, axis) in [
        (1, "figures-5-6", "books"),
        (3, "figure-11", "load"),
        (4, "table-1-figure-14", "books"),
    ] {
        let raw = raw(&lines, shown_in, axis, "time");
        let rows = table(&page, &format!("mchale2012-{number}-{shown_in}"), "values");
        // Rows are series or places along the axis, whichever are more.
        let mut told = 0;
        for row in &rows[1..] {
            for (head, cell) in rows[0].iter().zip(row).skip(1) {
                let (x, series) = if row[0].contains(" · ") {
                    (head, &row[0])
                } else {
                    (&row[0], head)
                };
                let (named, stack) = series.split_once(" · ").expect("an arm and a stack");
                let (arm, source) = named.split_once(", ").unwrap_or((named, ""));
                let key = |arm: &str| {
                    (
                        x.replace(',', ""),
                        source.to_owned(),
                        stack.to_owned(),
                        arm.to_owned(),
                    )
                };
                if cell == "–" {
                    assert_eq!(raw.get(&key(arm)), None);
                    continue;
                }
                close(
                    cell,
                    100.0 * best(&raw[&key(arm)]) / best(&raw[&key("none")]),
                );
                told += 1;
            }
        }
        assert_eq!(told, raw.len(), "{shown_in}");
    }
}

#[test]
fn every_line_is_in_a_table_with_figures_that_its_samples_have() {
    let lines = lines(1.0);
    let page = page(&[run("one", &lines)]);
    for quantity in ["time", "first", "secured", "floor"] {
        let raw = raw(&lines, "figures-5-6", "books", quantity);
        let word = match quantity {
            "time" => "time of a call",
            "first" => "time of the first call",
            "secured" => "bytes as they travel",
            _ => "time of private keys, digests and ciphers alone",
        };
        let rows = table(&page, "mchale2012-1-figures-5-6", "lines");
        let mut of = rows.iter().filter(|row| row[3] == word);
        assert_eq!(rows[0][..4], ["books", "arm", "stack", "quantity"]);
        assert_eq!(of.clone().count(), raw.len(), "{quantity}");
        assert!(of.all(|row| {
            let mut samples = raw[&(
                row[0].clone(),
                String::new(),
                row[2].clone(),
                row[1].clone(),
            )]
                .clone();
            samples.sort_by(f64::total_cmp);
            let unit = match row[14].as_str() {
                "ms" | "kB" => 1e3,
                "s" | "MB" => 1e6,
                _ => 1.0,
            };
            let n = samples.len() as f64;
            let mean = samples.iter().sum::<f64>() / n;
            let deviation =
                (samples.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
            // t of 6 degrees of freedom.
            let half = 2.4469 * deviation / n.sqrt();
            assert_eq!(row[4], "7");
            for (cell, expected) in [
                (5, samples[0]),
                (6, samples[3]),
                (8, mean),
                (10, deviation),
                (11, 1.959_964 * deviation / n.sqrt()),
                (13, samples[6]),
            ] {
                close(&row[cell], expected / unit);
            }
            let (least, most) = row[9].split_once(" to ").expect("an interval");
            close(least, (mean - half) / unit);
            close(most, (mean + half) / unit);
            true
        }));
    }
}

#[test]
fn slower_code_changes_the_report() {
    let (before, after) = (
        page(&[run("one", &lines(1.0))]),
        page(&[run("one", &lines(2.5))]),
    );
    assert_eq!(
        before,
        page(&[run("one", &lines(1.0))]),
        "the same lines make the same page"
    );
    let claims = |page: &str| between(page, "<table class=\"claims\">", "</table>").to_owned();
    assert_ne!(claims(&before), claims(&after));
    let impact = |page: &str| {
        let rows = table(page, "mchale2012-1-figures-5-6", "values");
        let series = "sign-encrypt/Basic256 · soapstone";
        let column = rows[0]
            .iter()
            .position(|it| it == series)
            .expect("a column");
        number(&rows[5][column])
    };
    assert!(impact(&after) > 2.0 * impact(&before));
    let plot = |page: &str| between(page, "<figure>", "</figure>").to_owned();
    assert_ne!(plot(&before), plot(&after));
}

#[test]
fn no_increment_lies_below_minus_100_percent_however_wide_samples_spread() {
    let at = json!({"clients": "5"});
    let figure = ("rodrigues2011", 1, "tables-2-5");
    let arm = "sign/TripleDesRsa15/rsa1024";
    // Student's t of two degrees of freedom makes the interval of this mean reach far below zero.
    let all = [
        ("none", [90.0, 100.0, 110.0]),
        (arm, [10.0, 100.0, 1_000.0]),
    ];
    let lines =
        all.map(|(arm, samples)| read::line(figure, &at, ("soapstone", arm), "time", &samples));
    let rows = read::values(&[run("one", &lines)], "rodrigues2011-1-tables-2-5");
    let row = rows.iter().find(|it| it["arm"] == arm).expect("a row");
    let [least, most] = ["least", "most"].map(|it| row[it].parse::<f64>().expect("a number"));
    assert_eq!(least, -100.0);
    assert!(most > 270.0, "{most}");
}

#[test]
fn the_last_run_of_a_point_counts() {
    let (first, second) = (lines(2.0), lines(1.0));
    let both = [run("one", &first), run("two", &second)];
    let alone = [run("two", &second)];
    let values = |page: &str| table(page, "mchale2012-1-figures-5-6", "values");
    assert_eq!(values(&page(&both)), values(&page(&alone)));
    // Of a stack that the last run has not, the first one's.
    let ours: Vec<Value> = second
        .iter()
        .filter(|it| it["stack"] == "soapstone")
        .cloned()
        .collect();
    let both = [run("one", &lines(1.0)), run("two", &ours)];
    assert_eq!(values(&page(&both)), values(&page(&alone)));
}

#[test]
fn plots_have_marks_labels_titles_and_the_paper_s_values() {
    let runs = [run("one", &lines(1.0))];
    let report = Report::of(&[mchale()], &runs);
    let files = report.attachments();
    assert_eq!(
        files.iter().filter(|it| it.name.ends_with(".csv")).count(),
        4
    );
    let plots: Vec<_> = files
        .iter()
        .filter(|it| it.name.ends_with(".svg"))
        .collect();
    assert_eq!(plots.len(), 4);
    for plot in plots {
        let svg = &plot.contents;
        let series = svg.matches("<g class=\"point\">").count();
        let gain = plot.name.contains("gain");
        let (least, title) = if gain {
            (2, "best time of a call: that of sign-encrypt/Basic256, ×")
        } else {
            (6, "best time of a call, % of none")
        };
        assert!(series >= least, "{}: {series} marks", plot.name);
        assert_eq!(
            series,
            svg.matches("<g class=\"point\"><title>").count(),
            "{}",
            plot.name
        );
        assert!(
            svg.contains("class=\"title\"") && svg.contains(title),
            "{}",
            plot.name
        );
        assert!(svg.contains("sign-encrypt/Basic256"), "{}", plot.name);
        assert!(
            svg.starts_with("<?xml") && svg.contains("<style>") && !svg.contains("NaN"),
            "{}",
            plot.name
        );
    }
    let first = &files[0].contents;
    assert!(
        first.contains("paper: sign-encrypt")
            && first.contains("figures 5 and 6, range, percentage: 1,000 to 1,500 %")
            && first.contains("class=\"band "),
        "{first}"
    );
    assert!(
        first.contains("class=\"line c0 d0\"") && first.contains("class=\"line c1 d1\""),
        "stacks differ in more than colour: {first}"
    );
}

#[test]
fn values_are_in_csv_with_all_their_digits() {
    let lines = lines(1.0);
    let runs = [run("one", &lines)];
    let files = Report::of(&[mchale()], &runs).attachments();
    let csv = &files
        .iter()
        .find(|it| it.name == "mchale2012-1-figures-5-6.csv")
        .expect("a file")
        .contents;
    let head = csv.lines().next().expect("a head");
    assert_eq!(
        head,
        "study,experiment,figure,stack,arm,books,value,least,most,unit,n,floor,paper_least,paper_most,paper_place"
    );
    let raw = raw(&lines, "figures-5-6", "books", "time");
    let mut rows = 0;
    for row in csv.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let of = |arm: &str| {
            best(
                &raw[&(
                    cells[5].to_owned(),
                    String::new(),
                    cells[3].to_owned(),
                    arm.to_owned(),
                )],
            )
        };
        let value: f64 = cells[6].parse().expect("a number");
        assert!((value - 100.0 * of(cells[4]) / of("none")).abs() < 1e-9);
        rows += 1;
    }
    assert_eq!(rows, raw.len());
}

#[test]
fn what_lines_and_manifests_say_is_escaped() {
    let page = page(&[run("<script>alert(1)</script>", &lines(1.0))]);
    assert!(!page.contains("<script>") && !page.contains("<b>Test"));
    assert!(page.contains("&lt;b&gt;Test&lt;/b&gt;"));
    assert!(
        page.contains(
            "Left out: sign-encrypt/Basic256 on gsoap: no &lt;Basic256&gt; &amp; no books"
        )
    );
}

#[test]
fn the_page_asks_for_nothing_from_anywhere() {
    let page = page(&[run("one", &lines(1.0))]);
    for reference in ["src=", "@import", "url(", "<link rel=\"stylesheet"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(
        !page
            .replace("http://www.w3.org/2000/svg", "")
            .contains("http:"),
        "a link to somewhere"
    );
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn markdown_has_the_same_values() {
    let runs = [run("one", &lines(1.0))];
    let markdown = Report::of(&[mchale()], &runs).markdown();
    for part in [
        "\n## Headline claims\n\nRepeat them with `soapstone lab run all --claims`.\n",
        "\n## mchale2012\n\nG. McHale, J. O'Raw, K. Curran: *WS-I\\* compliant",
        "\n### Experiment 1: What does signing",
        "`soapstone lab run mchale2012/1`",
        "237 %",
        "\nOn cxf, what the paper reports",
        "\nLeft out: sign-encrypt/Basic256 on gsoap: no \\<Basic256> & no books: xxx",
    ] {
        assert!(markdown.contains(part), "{part} is not in\n{markdown}");
    }
    assert!(!markdown.contains("Experiment 2"));
}

#[test]
fn markdown_has_the_manifest_of_each_run() {
    let unknown = Run {
        manifest: None,
        ..run("two", &lines(1.0))
    };
    let runs = [run("one", &lines(1.0)), unknown];
    let markdown = Report::of(&[mchale()], &runs).markdown();
    let (_, section) = markdown
        .split_once("\n## Machine and runs\n")
        .expect("a section");
    assert!(
        section.contains(
            "\n### one\n\n- machine, cores: 2\n- machine, processor: \\<b>Test\\</b>\n- seed: 7\n"
        ) && section.ends_with(
            "\n### two\n\nIt has no manifest: where and when it was measured is not known.\n"
        ),
        "{section}"
    );
}

#[test]
fn nothing_measured_makes_an_empty_report() {
    let runs = [run("one", &[])];
    assert!(Report::of(&[mchale()], &runs).is_empty());
}

#[test]
fn a_page_to_look_at_is_written_where_tests_keep_their_files() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let page = page(&[run("pretended", &lines(1.0))]);
    std::fs::write(folder.join("report.html"), &page).expect("the page");
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn a_design_of_factors_is_allocated_to_where_its_variation_comes_from() {
    // Effects whose squares are the shares that Rodrigues et al. report, an interaction of 5 %, and
    // errors of 8 %.
    let (encryption, clients, signature, both, error) = (
        58_f64.sqrt(),
        22_f64.sqrt(),
        7_f64.sqrt(),
        5_f64.sqrt(),
        8_f64.sqrt(),
    );
    let mut lines = Vec::new();
    for (count, c) in [("5", -1.0), ("10", 1.0)] {
        for (mechanism, e, s) in [
            ("none", -1.0, -1.0),
            ("encrypt", 1.0, -1.0),
            ("sign", -1.0, 1.0),
            ("sign-encrypt", 1.0, 1.0),
        ] {
            let arm = if mechanism == "none" {
                "none".to_owned()
            } else {
                format!("{mechanism}/TripleDesRsa15/rsa1024")
            };
            let mean = 1_000.0 + encryption * e + clients * c + signature * s + both * e * s;
            let samples = [mean - error, mean + error];
            lines.push(json!({
                "study": "rodrigues2011", "experiment": 2, "shown_in": "figure-9", "at": {"clients": count}, "stack": "soapstone",
                "arm": arm, "quantity": "time", "figures": Figures::of(&samples).expect("figures"), "samples": samples,
            }));
        }
    }
    let rodrigues = studies::named("rodrigues2011").expect("the study");
    let runs = [run("one", &lines)];
    let page = Report::of(&[rodrigues], &runs).html("files");
    let rows = table(&page, "rodrigues2011-2-figure-9", "values");
    let told: Vec<(&str, f64)> = rows[1..]
        .iter()
        .map(|row| (row[0].as_str(), number(&row[1]).round()))
        .collect();
    let expected = [
        ("encryption", 58.0),
        ("signature", 7.0),
        ("encryption × signature", 5.0),
        ("clients", 22.0),
        ("encryption × clients", 0.0),
        ("signature × clients", 0.0),
        ("encryption × signature × clients", 0.0),
        ("errors", 8.0),
    ];
    assert_eq!(told, expected);
    // A combination that was not measured leaves no design.
    let runs = [run("one", &lines[1..])];
    let page = Report::of(&[rodrigues], &runs).html("files");
    assert!(!page.contains("class=\"values\""));
}
