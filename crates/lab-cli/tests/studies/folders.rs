//! The folders of runs: what they keep, and how a run goes on that ended early.

use serde_json::{Value, json};

use crate::common::Folder;
use crate::lines;
#[cfg(unix)]
use crate::server::Server;

/// The names of the points that are done, in their order.
fn points(lines: &[Value]) -> Vec<String> {
    let done = lines.iter().filter_map(|line| line["done"].as_str());
    done.map(str::to_owned).collect()
}

#[test]
fn a_folder_keeps_one_run_and_half_a_point_is_measured_again() {
    let folder = Folder::new();
    let run =
        "lab run mchale2012/4 --quick --filter books/1 --keep kept --database sqlite:books.db";
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
    // Of the program, whatever folder it is run in; of the program's file, where sources were
    // changed or are in no repository.
    let revision = manifest["revision"].as_str().expect("a revision");
    let (commit, program) = revision.split_once("program-").unwrap_or((revision, ""));
    let hexadecimal = |text: &str| text.bytes().all(|octet| octet.is_ascii_hexdigit());
    assert!(
        hexadecimal(commit.trim_end_matches('+')) && hexadecimal(program),
        "{revision}"
    );
    assert_eq!(program.len(), if commit.len() == 40 { 0 } else { 16 });

    let all = folder.read("kept/lines.jsonl");
    let whole: Vec<&str> = all.split_inclusive('\n').collect();
    assert_eq!(points(&lines(&all)).len(), 2);
    let first = whole.iter().position(|line| line.contains("\"done\""));
    let first = first.expect("a point") + 1;
    // As if it had been killed while it wrote the second line of the second point.
    let left = whole[..=first].concat() + &whole[first + 1][..40];
    folder.write("kept/lines.jsonl", left);
    let again = folder.run(run).succeeds();
    let now = folder.read("kept/lines.jsonl");
    assert!(now.starts_with(&whole[..first].concat()), "{now}");
    assert_eq!(points(&lines(&now)), points(&lines(&all)));
    assert_eq!(lines(&now).len(), whole.len());
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
        .run(&run.replace("books/1", "books/2493"))
        .fails("manifest.json: is of another run");
}

/// The folders of runs that were kept without naming one.
fn kept(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("lab-results")).expect("results");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| format!("lab-results/{}", name.to_string_lossy()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn a_run_that_was_killed_goes_on_where_it_was_and_a_run_that_ended_is_not_overwritten() {
    let folder = Folder::new();
    let words = "lab run mchale2012/3 --quick --filter figures-12-13 --json";
    let mut run = Server::start(&folder, words, "\"done\"");
    assert!(run.said.contains("\"quantity\""), "{}", run.said);
    assert_eq!(run.stop("-KILL"), None, "it was killed");
    let [of_the_run] = kept(&folder).try_into().expect("one folder");
    let file = format!("{of_the_run}/lines.jsonl");
    let before = folder.read(&file);
    let done = points(&lines(&before[..=before.rfind('\n').expect("a line")]));
    assert!((1..4).contains(&done.len()), "{done:?}");

    let run = folder.run(words).succeeds();
    assert!(run.err.contains("going on in lab-results/"), "{}", run.err);
    assert_eq!(kept(&folder), std::slice::from_ref(&of_the_run));
    let after = lines(&folder.read(&file));
    let mut all = points(&after);
    assert_eq!(all[..done.len()], done, "what was measured stays as it is");
    assert_eq!(
        points(&lines(run.text())),
        all[done.len()..],
        "and is not measured again"
    );
    all.sort();
    let expected =
        [200, 400, 50, 600].map(|books| format!("mchale2012/3/figures-12-13/books/{books}"));
    assert_eq!(all, expected);

    let ended = folder.read(&file);
    let one = format!("{words} --filter books/50");
    for _ in 0..2 {
        folder.run(&one).succeeds();
    }
    assert_eq!(kept(&folder).len(), 3, "each run that ended has a folder");
    assert_eq!(folder.read(&file), ended);

    let [_, second, third] = kept(&folder).try_into().expect("three folders");
    let compared = folder
        .run(&format!("lab compare {second} {third}"))
        .succeeds();
    assert!(
        compared
            .text()
            .contains("mchale2012/3/figures-12-13/books/50  soapstone  sign-encrypt/Basic256")
            && compared.text().contains("Only A has 0 lines, only B 0."),
        "{}",
        compared.text()
    );
    let sizes = folder
        .run(&format!("lab compare {second} {third} --json"))
        .succeeds();
    let sizes: Vec<Value> = lines(sizes.text())
        .into_iter()
        .filter(|line| line["quantity"] == "size")
        .collect();
    assert_eq!(sizes.len(), 4);
    for size in sizes {
        assert_eq!(
            (&size["ratio"], &size["verdict"]),
            (&json!(1.0), &json!("same"))
        );
    }
    let other = folder.run("lab run mchale2012/1 --quick --filter books/1 --keep other");
    other.succeeds();
    folder
        .run(&format!("lab compare {second} other"))
        .fails("the runs have no line in common");
    folder.write("empty.jsonl", "");
    folder
        .run(&format!("lab compare {second} empty.jsonl"))
        .fails("empty.jsonl: expected lines of a run, found none");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let folder = Folder::new();
    let mut child = folder
        .command_with(&[
            "lab",
            "run",
            "mchale2012/3",
            "--json",
            "--filter",
            "figures-12-13",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // The service, keys and gateways are there, and the first point is being measured.
    let mut errors = BufReader::new(child.stderr.take().expect("standard error"));
    let mut said = String::new();
    errors.read_line(&mut said).expect("a line");
    assert!(said.starts_with("keeping lines in lab-results/"), "{said}");
    let told = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(told.success());
    said.clear();
    errors.read_to_string(&mut said).expect("what it said");
    let mut output = String::new();
    let mut lines_of = child.stdout.take().expect("standard output");
    lines_of.read_to_string(&mut output).expect("its lines");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let [folder_of_the_run] = kept(&folder).try_into().expect("one folder");
    // The paper's algorithms are risks, of which gateways warn that have started by then. They have
    // nothing else to say.
    let log = format!("{folder_of_the_run}/said.log");
    let warnings = folder.read(&log);
    for warning in warnings.lines() {
        let is_of_the_paper = [" name=\"weak-algorithm\" ", " name=\"cbc\" "]
            .iter()
            .any(|name| warning.contains(name));
        assert!(is_of_the_paper, "{warnings}");
    }
    let place = match warnings.as_str() {
        "" => String::new(),
        _ => format!("what gateways and stacks said meanwhile is in {log}\n"),
    };
    assert_eq!(
        said,
        format!(
            "{place}soapstone: stopped before the end\nhint: the same command goes on from there\n"
        )
    );
    let file = folder.read(&format!("{folder_of_the_run}/lines.jsonl"));
    assert_eq!(file, output, "what was told was kept, and nothing else");
    let last = lines(&file).pop();
    assert!(last.is_none_or(|last| last["done"].is_string()), "{file}");
}
