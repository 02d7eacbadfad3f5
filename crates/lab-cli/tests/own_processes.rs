//! `soapstone lab run STUDY --own-processes`: services and gateways in processes of their own.
#![cfg(target_os = "linux")]

#[path = "../../cli/tests/common/mod.rs"]
mod common;
#[path = "../../cli/tests/common/server.rs"]
mod server;

use std::time::{Duration, Instant};

use common::Folder;
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// The words that a process was started with; none, if it has ended.
fn words_of(process: &str) -> String {
    let words = std::fs::read_to_string(format!("/proc/{process}/cmdline"));
    words.unwrap_or_default().replace('\0', " ")
}

/// The processes that this one has started for services and gateways.
fn apart(parent: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let processes = names.map(|name| name.to_string_lossy().into_owned());
    let is_child = |process: &String| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        status.is_ok_and(|status| status.contains(&format!("\nPPid:\t{parent}\n")))
    };
    let children = processes.filter(is_child);
    children
        .filter(|process| words_of(process).contains(" lab apart "))
        .collect()
}

#[test]
fn services_and_gateways_have_processes_of_their_own_where_that_is_asked_for() {
    let folder = Folder::new();
    let words =
        "lab run mchale2012/2 --quick --filter requests/10 --json --own-processes --keep kept";
    let run = folder.run(words).succeeds();
    let lines = lines(run.text());
    // The conversations of arms begin anew with each repetition: the gateway is told so, and its
    // next call shakes hands.
    let figures = |arm: &str, quantity: &str| {
        let is_it = |line: &&Value| line["arm"] == arm && line["quantity"] == quantity;
        let line = lines.iter().find(is_it);
        line.unwrap_or_else(|| panic!("no {quantity} of {arm}: {lines:?}"))["figures"].clone()
    };
    let arm = "secure-conversation/Basic256";
    assert!(figures(arm, "time")["best"].as_f64() > figures("none", "time")["best"].as_f64());
    assert!(figures(arm, "secured")["best"].as_f64() > figures("none", "secured")["best"].as_f64());
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    assert_eq!(manifest["own_processes"], true);
    folder
        .run(&words.replace(" --own-processes", ""))
        .fails("is of another run");
}

#[test]
fn they_end_with_the_run_however_it_ends() {
    let folder = Folder::new();
    let words = "lab run mchale2012/3 --quick --filter figures-12-13 --json --own-processes";
    let mut run = server::Server::start(&folder, words, "\"done\"");
    let processes = apart(run.id());
    let started = processes.iter().map(|process| words_of(process));
    let started: Vec<String> = started.collect();
    let of = |words: &str| started.iter().filter(|it| it.contains(words)).count();
    assert_eq!(
        (of(" apart services "), of(" apart gateway ")),
        (1, 2),
        "{started:?}"
    );
    assert_eq!(run.stop("-KILL"), None, "it was killed");
    let given_up = Instant::now() + Duration::from_secs(20);
    while processes
        .iter()
        .any(|process| words_of(process).contains(" lab apart "))
    {
        assert!(
            Instant::now() < given_up,
            "they are still there: {started:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
