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
        "\n    mchale2012/2/figures-9-10/memory/books/100/requests/750\n",
        "\n    mchale2012/4/table-1-figure-14/sqlite/books/2493\n",
    ] {
        assert!(
            list.text().contains(part),
            "{part} is not in\n{}",
            list.text()
        );
    }
}

#[test]
fn a_study_is_run_with_books_from_memory_and_from_a_database_and_reported() {
    let folder = Folder::new();
    let run = folder
        .run("lab run mchale2012/4 --quick --filter books/1 --json")
        .succeeds();
    let lines = lines(run.text());
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["source"].clone(), line["mechanism"].clone()))
        .collect();
    let expected: Vec<_> = ["memory", "sqlite"]
        .into_iter()
        .flat_map(|source| {
            ["direct", "none", "sign-encrypt"].map(|mechanism| (json!(source), json!(mechanism)))
        })
        .collect();
    assert_eq!(told, expected);
    for line in &lines {
        assert_eq!(
            (&line["study"], &line["experiment"], &line["n"], &line["op"]),
            (
                &json!("mchale2012"),
                &json!(4),
                &json!(3),
                &json!("roundtrip")
            )
        );
        let secured = line["mechanism"] == "sign-encrypt";
        let grew = line["secured_bytes"].as_u64() > line["bytes"].as_u64();
        assert_eq!(grew, secured, "{line}");
        let best = line["best_us"].as_f64().expect("a time");
        assert!(
            best > 0.0 && best <= line["median_us"].as_f64().expect("a time"),
            "{line}"
        );
        let impact = line["impact_percent"].as_f64().expect("an impact");
        assert!(!secured || impact > 100.0, "{line}");
        assert!(line["mechanism"] != "none" || impact == 100.0, "{line}");
    }

    folder.write("lines.jsonl", run.text());
    folder.run("lab report lines.jsonl -o report.md").succeeds();
    let report = folder.read("report.md");
    for part in [
        "### Experiment 4: ",
        "`soapstone lab run mchale2012/4`",
        "\n| sqlite | 1 | 1 | sign-encrypt | Basic256 | 3 | ",
    ] {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
}

#[test]
fn conversations_stand_beside_single_messages_and_beside_the_paper() {
    let run = Folder::new()
        .run("lab run mchale2012 --experiment 3 --quick --filter books/5")
        .succeeds();
    let row = |mechanism: &str| {
        let row = run.text().lines().find(|line| line.contains(mechanism));
        row.unwrap_or_else(|| panic!("{mechanism} is not in\n{}", run.text()))
            .to_owned()
    };
    assert!(
        run.text().starts_with("mchale2012/3, figure-11: "),
        "{}",
        run.text()
    );
    for (mechanism, paper) in [
        ("sign-encrypt", " 1300 %"),
        ("secure-conversation", " 450 %"),
    ] {
        let row = row(mechanism);
        // A fiftieth of the paper's 1,000 requests.
        assert!(
            row.starts_with("memory      5        20  ") && row.ends_with(paper),
            "{row}"
        );
    }
    assert!(
        row("direct").ends_with("  -"),
        "the paper has no such figure"
    );
}

#[test]
fn a_run_that_was_killed_goes_on_in_its_folder_after_the_last_whole_point() {
    let folder = Folder::new();
    let run = "lab run mchale2012/4 --quick --filter books/1 --keep kept";
    folder.run(run).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    assert_eq!(manifest["study"], "mchale2012");
    assert_eq!(manifest["repetitions"]["of_calls"], 3);
    assert!(
        manifest["machine"]["processors"].as_u64() > Some(0),
        "{manifest}"
    );

    let all = folder.read("kept/lines.jsonl");
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 6);
    // Killed while it wrote the fifth line.
    let left = lines[..4].concat() + &lines[4][..40];
    folder.write("kept/lines.jsonl", left);
    let again = folder.run(run).succeeds();
    let now = folder.read("kept/lines.jsonl");
    assert!(now.starts_with(&lines[..3].concat()), "{now}");
    let told: Vec<_> = self::lines(&now)
        .iter()
        .map(|line| format!("{} {}", line["source"], line["mechanism"]).replace('"', ""))
        .collect();
    assert_eq!(
        told[3..],
        ["sqlite direct", "sqlite none", "sqlite sign-encrypt"]
    );
    assert!(
        again.text().contains("\nmemory      1") && again.text().contains("\nsqlite      1"),
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
    assert!(
        lines.len().is_multiple_of(3) && lines.len() < 33,
        "whole points, not all: {lines:?}"
    );
}

#[test]
fn what_cannot_be_run_or_reported_is_told() {
    let folder = Folder::new();
    folder
        .run("lab run mchale2013")
        .fails("expected engine, growth, conversations or a study (mchale2012)");
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
        .fails("no point of the study has all of these segments in its name");
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
