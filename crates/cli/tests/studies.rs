//! `soapstone lab`: studies run again, and the report of what came of it.

mod common;

use common::Folder;
use serde_json::{Value, json};

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn studies_are_listed_with_what_was_published_and_what_is_measured() {
    let list = Folder::new().run("lab list").succeeds();
    for part in [
        "mchale2012: G. McHale, J. O'Raw, K. Curran: WS-I* compliant web service SOAP message security performance.",
        "; on Apache CXF 2.3\n",
        "\n  mchale2012/2: What does the algorithm suite change?\n",
        "\n    mchale2012/2/figures-9-10/books/100/requests/750\n",
        "\n    mchale2012/4/table-1-figure-14/books/2493/source/sqlite\n",
    ] {
        assert!(
            list.text().contains(part),
            "{part} is not in\n{}",
            list.text()
        );
    }
}

/// Arms at each place with the lines of a quantity.
fn told<'l>(lines: &'l [Value], quantity: &str) -> Vec<(&'l str, &'l str, &'l Value)> {
    let text = |value: &'l Value| value.as_str().expect("a text");
    lines
        .iter()
        .filter(|line| line["quantity"] == quantity)
        .map(|line| {
            let source = text(&line["at"]["source"]);
            (source, text(&line["arm"]), &line["figures"])
        })
        .collect()
}

#[test]
fn a_study_is_run_with_books_from_memory_and_from_a_database_and_reported() {
    let folder = Folder::new();
    let run = folder
        .run("lab run mchale2012/4 --quick --filter books/1 --json")
        .succeeds();
    let lines = lines(run.text());
    let mut arms: Vec<_> = told(&lines, "time")
        .into_iter()
        .map(|(source, arm, figures)| {
            let number = |name: &str| figures[name].as_f64().expect("a number");
            assert_eq!(figures["n"], 3);
            assert!(0.0 < number("best") && number("best") <= number("median"));
            (source, arm)
        })
        .collect();
    arms.sort_unstable();
    let expected: Vec<_> = ["memory", "sqlite"]
        .into_iter()
        .flat_map(|source| {
            ["direct", "none", "sign-encrypt/Basic256"].map(|mechanism| (source, mechanism))
        })
        .collect();
    assert_eq!(arms, expected);
    let sizes = told(&lines, "size")
        .into_iter()
        .zip(told(&lines, "secured"));
    for ((_, arm, plain), (_, _, secured)) in sizes {
        let grew = secured["best"].as_f64() > plain["best"].as_f64();
        assert_eq!(grew, arm == "sign-encrypt/Basic256", "{arm}");
    }
    let floors = told(&lines, "floor");
    assert_eq!(floors.len(), 2, "{floors:?}");

    folder.write("lines.jsonl", run.text());
    folder
        .run("lab report lines.jsonl --markdown -o report.md")
        .succeeds();
    let report = folder.read("report.md");
    for part in [
        "### Experiment 4: ",
        "Repeat it with `soapstone lab run mchale2012/4`.",
        "\n| sign-encrypt/Basic256, sqlite | ",
    ] {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
}

#[test]
fn a_run_that_was_killed_goes_on_in_its_folder_after_the_last_whole_point() {
    let folder = Folder::new();
    let run = "lab run mchale2012/4 --quick --filter books/1 --keep kept";
    folder.run(run).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    assert_eq!(manifest["subjects"], json!(["mchale2012/4"]));
    assert_eq!(
        (&manifest["scale"], &manifest["seed"]),
        (&json!("quick"), &json!(2012))
    );
    assert!(
        manifest["machine"]["processors"].as_u64() > Some(0),
        "{manifest}"
    );

    let all = folder.read("kept/lines.jsonl");
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    let points = |text: &str| {
        let done = self::lines(text)
            .into_iter()
            .filter(|line| line["done"].is_string());
        done.map(|line| line["done"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(points(&all).len(), 2);
    let first = lines
        .iter()
        .position(|line| line.contains("\"done\""))
        .expect("a point")
        + 1;
    // Killed while it wrote the second line of the second point.
    let left = lines[..=first].concat() + &lines[first + 1][..40];
    folder.write("kept/lines.jsonl", left);
    let again = folder.run(run).succeeds();
    let now = folder.read("kept/lines.jsonl");
    assert!(now.starts_with(&lines[..first].concat()), "{now}");
    assert_eq!(points(&now), points(&all));
    assert_eq!(self::lines(&now).len(), lines.len());
    assert!(
        again.text().contains("\nbooks 1, source memory")
            && again.text().contains("\nbooks 1, source sqlite"),
        "{}",
        again.text()
    );
    // All is measured: nothing is run, and all is told.
    assert_eq!(folder.run(run).succeeds().out, again.out);
    assert_eq!(folder.read("kept/lines.jsonl"), now);
    folder
        .run("lab run mchale2012/4 --quick --filter books/2493 --keep kept")
        .fails("manifest.json: is of another run");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let folder = Folder::new();
    let mut child = folder
        .command()
        .args(["lab", "run", "mchale2012/1", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut output = BufReader::new(child.stdout.take().expect("standard output"));
    let mut first = String::new();
    output.read_line(&mut first).expect("a line");
    let told = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(told.success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the other lines");
    let mut said = String::new();
    let mut errors = child.stderr.take().expect("standard error");
    errors.read_to_string(&mut said).expect("what it said");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert_eq!(said, "soapstone: stopped before the end\n");
    let lines = lines(&(first + &rest));
    let points = lines.iter().filter(|line| line["done"].is_string());
    assert!((1..11).contains(&points.count()), "not all: {lines:?}");
    let last = lines.last().expect("a line");
    assert!(last["done"].is_string(), "whole points only: {last}");
}

#[test]
fn what_cannot_be_run_or_reported_is_told() {
    let folder = Folder::new();
    folder
        .run("lab run mchale2013")
        .fails("expected engine, growth, conversations, all or a study (mchale2012");
    folder
        .run("lab run mchale2012/first")
        .fails("expected the number of an experiment after the /");
    folder
        .run("lab run mchale2012/5")
        .fails("expected an experiment of mchale2012 (1, 2, 3, 4), found 5");
    folder
        .run("lab run mchale2012/3 --experiment 3")
        .fails("the experiment is named twice");
    folder
        .run("lab run mchale2012/1 --filter books/3")
        .fails("no point of a study has all of these segments in its name");
    folder
        .run("lab run mchale2012/4 --database sqlite:a.db --database sqlite:b.db")
        .fails("expected one database of a kind, found more of sqlite");
    folder.run("lab run conversations").fails("--config <FILE>");

    folder.run("lab report").fails("not one line was read");
    folder.write("engine.jsonl", "\n{\"stack\":\"soapstone\"}\n");
    folder
        .run("lab report engine.jsonl")
        .fails("engine.jsonl: line 2 is no measurement of a study: missing field");
}
