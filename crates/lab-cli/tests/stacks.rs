//! `soapstone lab run --stack`: programs of other stacks, and what becomes of a run when they are
//! not what they should be.
#![cfg(unix)]

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use std::os::unix::fs::PermissionsExt;

use common::{Folder, Run};
use serde_json::Value;

/// A folder with a program of the stack `cxf`, which says what the script does.
fn with_program(script: &str) -> Folder {
    with_program_of("cxf", script)
}

fn with_program_of(stack: &str, script: &str) -> Folder {
    let folder = Folder::new();
    let file = format!("stacks/{stack}/run");
    std::fs::create_dir_all(folder.path(&format!("stacks/{stack}"))).expect("a folder");
    folder.write(&file, format!("#!/bin/sh\n{script}"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(&file), mode).expect("a program");
    folder
}

const READY: &str = r#"echo '{"ready":{"stack":"cxf","version":"4.2 on Java 17"}}'"#;

/// One that answers each line with what the cases of `case "$line" in` say.
fn answering(cases: &str) -> Folder {
    answering_as("cxf", cases)
}

fn answering_as(stack: &str, cases: &str) -> Folder {
    with_program_of(
        stack,
        &format!(
            "{READY}\nwhile read -r line; do echo \"$line\" >> asked; case \"$line\" in\n{cases}\nesac; done\n"
        ),
    )
}

const WEIGHED: &str = r#"*weigh*) echo '{"plain":100,"secured":300}';;"#;
const TIMED: &str = r#"*) echo '{"us":[250.5]}';;"#;

fn run(folder: &Folder, stacks: &str) -> Run {
    folder.run(&format!(
        "lab run mchale2012/1 --quick --filter figures-5-6 --filter books/1 --stacks stacks --json --stack {stacks}"
    ))
}

fn lines(run: &Run) -> Vec<Value> {
    let lines = run.text().lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// Stack, arm and why, of what was left out.
fn left_out(lines: &[Value]) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let left_out = lines.iter().filter(|line| line["left_out"].is_string());
    left_out
        .map(|line| {
            let it = (text(&line["stack"]), text(&line["arm"]));
            (it.0, it.1, text(&line["left_out"]))
        })
        .collect()
}

#[test]
fn a_program_is_measured_beside_our_gateways_and_what_it_cannot_do_is_left_out() {
    let folder = answering(&format!(
        "{WEIGHED}\n*sign-encrypt*) echo '{{\"unsupported\":\"no certificates\"}}';;\n{TIMED}"
    ));
    let run = run(&folder, "cxf,soapstone").succeeds();
    let lines = lines(&run);
    assert_eq!(
        left_out(&lines),
        [(
            "cxf".to_owned(),
            "sign-encrypt/Basic256".to_owned(),
            "no certificates".to_owned()
        )]
    );
    let of = |quantity: &str| {
        let mut lines = lines.iter();
        lines
            .find(|line| line["stack"] == "cxf" && line["quantity"] == quantity)
            .map(|line| line["figures"]["median"].clone())
    };
    assert_eq!(of("time"), Some(Value::from(250.5)));
    assert_eq!(of("secured"), Some(Value::from(300.0)));
    assert_eq!(
        of("floor"),
        None,
        "private keys were measured here, not there"
    );
    let ours = lines
        .iter()
        .filter(|line| line["stack"] == "soapstone" && line["quantity"] == "time");
    assert_eq!(ours.count(), 3);
    let asked = folder.read("asked");
    for part in [
        r#""operation":{"books":{"books":1}}"#,
        r#""mechanism":"sign-encrypt""#,
        r#""suite":"Basic256""#,
        r#""rsa_bits":2048"#,
        r#""transport":"http""#,
    ] {
        assert!(asked.contains(part), "{part} is not in\n{asked}");
    }
}

#[test]
fn the_version_of_a_program_is_in_the_manifest_and_another_version_is_another_run() {
    let folder = answering(&format!("{WEIGHED}\n{TIMED}"));
    let words = "lab run mchale2012/1 --quick --filter figures-5-6 --filter books/1 --stacks stacks --stack cxf --keep kept";
    folder.run(words).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    assert_eq!(manifest["stacks"]["cxf"], "4.2 on Java 17");
    let newer = folder.read("stacks/cxf/run").replace("4.2", "4.3");
    folder.write("stacks/cxf/run", newer);
    folder.run(words).fails("manifest.json: is of another run");
}

#[test]
fn a_stack_that_is_not_there_is_absent_and_the_others_are_measured() {
    let run_beside = run(&Folder::new(), "soapstone,cxf").succeeds();
    let why = "stacks/cxf/run: No such file";
    let said = &run_beside.err;
    assert!(
        said.starts_with("cxf is absent: ") && said.contains(why),
        "{said}"
    );
    let lines = lines(&run_beside);
    let told = lines[0]["absent"].as_str().expect("why it is absent");
    assert!(lines[0]["stack"] == "cxf" && told.contains(why), "{told}");
    let ours = lines.iter().filter(|line| line["quantity"] == "time");
    assert_eq!(ours.count(), 3);

    for (script, why) in [
        (
            r#"echo '{"absent":"there is no Java"}'; exit 1"#,
            "cxf is absent: there is no Java",
        ),
        ("exit 3", "it ended before it answered"),
        ("echo ready", "it said what is no answer"),
        (
            r#"echo '{"us":[1]}'; cat"#,
            "it did not say first whether it is ready",
        ),
    ] {
        let run = run(&with_program(script), "cxf,gsoap");
        assert!(run.err.contains(why), "{}", run.err);
        run.fails("none of the stacks to measure is there");
    }
}

#[test]
fn a_program_that_fails_takes_only_its_own_arms_out() {
    let why = |script: &str| {
        let run = run(&answering(script), "cxf").succeeds();
        let left_out = left_out(&lines(&run));
        let arms: Vec<_> = left_out.iter().map(|(_, arm, _)| arm.as_str()).collect();
        assert_eq!(arms, ["none", "sign-encrypt/Basic256"], "{script}");
        assert_eq!(left_out[0].2, left_out[1].2, "{script}");
        left_out[0].2.clone()
    };
    assert_eq!(
        why(r#"*) echo '{"failed":"a fault came back"}';;"#),
        "it failed: a fault came back"
    );
    let garbage = why("*) echo 'Exception in thread main';;");
    assert!(
        garbage.starts_with("cxf: it said what is no answer")
            && garbage.ends_with("Exception in thread main"),
        "{garbage}"
    );
    assert_eq!(why("*) exit 1;;"), "cxf: it ended before it answered");
    assert_eq!(
        why(r#"*) echo '{"plain":1,"secured":2}';;"#),
        "cxf: it answered something else than times"
    );
    assert_eq!(why(r#"*) echo '{"us":[]}';;"#), "cxf: it answered no time");
    assert!(why(r#"*) echo '{"us":[-5]}';;"#).starts_with("cxf: it answered what is no time"));
}

#[test]
fn what_a_program_says_beside_its_answers_is_kept_with_the_run_and_told_where_it_fails() {
    let folder = with_program(&format!(
        "echo building it >&2; sleep 1\n{READY}\nwhile read -r line; do echo 'no route to host' >&2\n\
         echo '{{\"failed\":\"no answer\"}}'; done\n"
    ));
    let words = "lab run mchale2012/1 --quick --filter figures-5-6 --filter books/1 --stacks stacks --stack cxf --keep kept";
    let run = folder.run(words).succeeds();
    assert!(run.err.starts_with("building it\n"), "{}", run.err);
    assert!(
        run.err
            .ends_with("what gateways and stacks said meanwhile is in kept/said.log\n"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("no route to host"), "{}", run.err);
    assert_eq!(folder.read("kept/said.log"), "no route to host\n".repeat(2));
    // All is measured: nothing fails, and nothing is said.
    let again = folder.run(words).succeeds();
    assert!(!again.err.contains("said.log"), "{}", again.err);
}

#[test]
fn a_program_that_dies_in_a_point_is_left_out_from_then_on() {
    // Answers what warms up, the first calls and the weighing, and dies in the turns.
    let folder = with_program(&format!(
        "{READY}\ncount=0\nwhile read -r line; do count=$((count + 1)); [ $count -gt 407 ] && exit 1\n\
         case \"$line\" in\n{WEIGHED}\n{TIMED}\nesac; done\n"
    ));
    let run = run(&folder, "cxf").succeeds();
    let lines = lines(&run);
    let left_out = left_out(&lines);
    assert!(!left_out.is_empty(), "{lines:?}");
    for (_, _, why) in &left_out {
        assert_eq!(why, "cxf: it ended before it answered");
    }
    for (_, arm, _) in &left_out {
        let measured = lines
            .iter()
            .any(|line| line["arm"] == **arm && line["figures"].is_object());
        assert!(!measured, "{arm} has half a measurement");
    }
}

#[test]
fn a_program_processes_messages_in_memory_beside_our_engine() {
    let folder = with_program_of(
        "wss4j",
        &format!(
            "{READY}\nwhile read -r line; do echo \"$line\" >> asked; echo '{{\"us\":[7.0,9.0]}}'; done\n"
        ),
    );
    let run = folder
        .run("lab run mchale2012/1 --quick --filter beyond-opening --filter books/1 --stacks stacks --json --stack soapstone,wss4j")
        .succeeds();
    let lines = lines(&run);
    let time = |stack: &str| {
        let mut lines = lines.iter();
        let line = lines.find(|line| line["stack"] == stack && line["quantity"] == "time");
        line.expect("a line")["figures"].clone()
    };
    assert_eq!(
        (&time("wss4j")["n"], &time("wss4j")["worst"]),
        // It answers each row with two times.
        (&4.into(), &9.0.into())
    );
    assert_eq!(time("soapstone")["n"], 10);
    let asked = folder.read("asked");
    for part in [
        r#""do":"open""#,
        r#""payload":"books""#,
        r#""items":1"#,
        // As many as tell what one takes, and then those that there is time for.
        r#""repetitions":2"#,
        r#""repetitions":8"#,
    ] {
        assert!(asked.contains(part), "{part} is not in\n{asked}");
    }
}

#[test]
fn the_heap_of_a_java_stack_is_limited_in_a_program_of_its_own() {
    for stack in ["cxf", "metro"] {
        heap_is_limited(stack);
    }
}

fn heap_is_limited(stack: &str) {
    let folder = answering_as(
        stack,
        &format!(
            "*together*) echo \"$_JAVA_OPTIONS\" >> heaps; echo '{{\"us\":[100.0,300.0]}}';;\n{WEIGHED}\n{TIMED}"
        ),
    );
    let words = format!(
        "lab run novakouski2010/7 --quick --filter figure-11/memory/64 --stacks stacks --json --stack {stack}"
    );
    let run = folder.run(&words).succeeds();
    let lines = lines(&run);
    let of = |quantity: &str| {
        let mut lines = lines.iter();
        let line = lines.find(|line| line["arm"] == "none" && line["quantity"] == quantity);
        line.map(|line| line["figures"]["mean"].clone())
    };
    assert_eq!(of("time"), Some(Value::from(200.0)));
    assert!(of("rate").is_some());
    let heaps = std::fs::read_to_string(folder.path("heaps")).expect("what it was told");
    // Three arms: a round before those that count, and two that do.
    assert_eq!(heaps, "-Xmx64m\n".repeat(9));
}
