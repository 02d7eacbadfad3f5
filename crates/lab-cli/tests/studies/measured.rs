//! What runs measure, and what their lines and reports say of it.

use serde_json::{Value, json};

use crate::common::Folder;
use crate::{lines, measured_or_left_out};

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
        .run("lab run mchale2012/4 --quick --filter books/1 --json --database sqlite:books.db")
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

    let parts = [
        "### Experiment 4: ",
        "Repeat it with `soapstone lab run mchale2012/4`.",
        "\n| sign-encrypt/Basic256, sqlite | ",
    ];
    folder.reports(run.text(), &parts);
}

#[test]
fn books_come_from_every_database_that_is_installed() {
    let words = "lab run mchale2012/4 --quick --filter books/1 --json --keep kept";
    let folder = Folder::new();
    let run = folder.run(words).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    let there = manifest["databases"].as_array().expect("a list");
    let lines = lines(run.text());
    for database in ["sqlite", "mysql", "postgres"] {
        let of = |line: &&Value| line["at"]["source"] == database;
        let of: Vec<Value> = lines.iter().filter(of).cloned().collect();
        let measured = measured_or_left_out(&of, "sign-encrypt/Basic256", "time");
        assert_eq!(there.contains(&json!(database)), measured.is_ok());
        if let Err(why) = measured {
            assert!(std::env::var_os("CI").is_none(), "{why}");
            assert!(why.contains("is not installed (package "), "{why}");
            assert!(run.err.contains(&format!("{database} is absent: ")));
        }
    }
}

#[test]
fn each_repetition_of_requests_in_a_conversation_begins_with_a_handshake() {
    let words =
        "lab run mchale2012/2 --quick --filter requests/10 --json --keep kept --log-level info";
    let folder = Folder::new();
    let run = folder.run(words).succeeds();
    let lines = lines(run.text());
    let of = |arm, quantity| measured_or_left_out(&lines, arm, quantity).expect("samples");
    let arm = "secure-conversation/Basic256";
    let (totals, means, firsts) = (of(arm, "total"), of(arm, "time"), of(arm, "first"));
    for (total, mean) in totals.iter().zip(&means) {
        assert!((total - mean * 10.0).abs() < 1e-3, "{total} {mean}");
    }
    assert_eq!((firsts.len(), of("none", "total").len()), (totals.len(), 3));
    // The gateway before the service tells of each context that it issues: one for all calls that
    // warm up, one for the call that is weighed, and one for each repetition.
    let said = folder.read("kept/said.log");
    let issued = said
        .lines()
        .filter(|line| line.contains("what=\"issued\"") && line.contains(arm));
    assert_eq!(issued.count(), totals.len() + 2);
}

#[test]
fn the_engine_is_measured_as_between_calls_and_the_lines_say_so() {
    let folder = Folder::new();
    let case =
        "lab run engine --quick --json --filter secure-conversation/Basic128GCM --filter echo/12";
    for (option, is_between_calls) in [("", false), (" --between-calls", true)] {
        let run = folder.run(&format!("{case}{option}")).succeeds();
        let said: Vec<_> = lines(run.text())
            .iter()
            .map(|line| (line["op"].clone(), line["between_calls"].clone()))
            .collect();
        let expected = ["secure", "open"].map(|op| (json!(op), json!(is_between_calls)));
        assert_eq!(said, expected);
    }
}

#[test]
fn a_client_that_opens_answers_itself_tells_both_spans_of_each_call() {
    let words = "lab run shopov2007/2 --quick --filter table-1-exchange/call/getTemperature --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in [
        "encrypt/Basic128Rsa15",
        "sign/Basic128Rsa15",
        "sign-encrypt/Basic128Rsa15",
    ] {
        let spans = |quantity| measured_or_left_out(&lines, arm, quantity).expect("times");
        let pairs: Vec<(f64, f64)> = spans("exchange").into_iter().zip(spans("opened")).collect();
        assert!(pairs.len() >= 3, "{arm}: {pairs:?}");
        assert!(pairs.iter().all(|it| it.0 < it.1), "{arm}: {pairs:?}");
    }
}

#[test]
fn tokens_of_users_are_signed_through_both_gateways() {
    let words = "lab run vanengelen2008/1 --quick --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in ["username-hmac/Basic256", "username-text-hmac/Basic256"] {
        measured_or_left_out(&lines, arm, "time").expect("times");
    }
}

#[test]
fn a_design_of_own_factors_says_what_each_of_them_explains() {
    let folder = Folder::new();
    let words = "lab design --factor encryption=off,on --factor clients=1,2 --factor operation=employee --repetitions 3 --requests 2";
    let dry = folder.run(&format!("{words} --dry-run")).succeeds();
    assert_eq!(
        dry.text(),
        "4 combinations, 3 times each: encryption=off clients=1; encryption=on clients=1; encryption=off clients=2; encryption=on clients=2\n"
    );
    let run = folder
        .run(&format!("{words} --keep kept -o page.html"))
        .succeeds();
    let told: Vec<&str> = run
        .text()
        .lines()
        .skip_while(|line| *line != "What the variation of mean times comes from:")
        .skip(1)
        .take(4)
        .collect();
    let share = |line: &&str| -> f64 {
        let before = line.split(" %").next().unwrap_or_default();
        let number = before.rsplit(' ').next().unwrap_or_default();
        number.parse().expect("a share")
    };
    let sum: f64 = told.iter().map(share).sum();
    assert!((sum - 100.0).abs() < 1.0, "{told:?}");
    for factor in ["encryption", "clients", "clients × encryption", "errors"] {
        let is_it = |line: &&&str| line.trim_start().starts_with(factor);
        assert!(told.iter().any(|line| is_it(&line)), "{factor}: {told:?}");
    }
    assert!(folder.read("page.html").contains("Your own factors"));
    // Another design is another run.
    folder
        .run(&format!(
            "{} --keep kept",
            words.replace("clients=1,2", "clients=1,3")
        ))
        .fails("is of another run");
    folder
        .run("lab design --factor keys=1,2")
        .fails("expected a factor (encryption, ");
}
