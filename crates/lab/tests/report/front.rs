//! The first screen.

use serde_json::{Value, json};
use soapstone_lab::report::{Report, Run};
use soapstone_lab::studies;

use super::read::{between, line};
use super::{page_of, run};

/// Echoes whose time grows by so much for each thousand characters: arm, time of the smallest,
/// growth.
fn echoes(arms: &[(&str, f64, f64)]) -> Vec<Value> {
    let mut all = Vec::new();
    for (arm, start, each) in arms {
        for characters in [0.0, 30_000.0, 60_000.0] {
            let at = json!({"characters": characters.to_string()});
            let time = start + each * characters / 1e3;
            let samples = [0.99, 1.0, 1.0, 1.0, 1.01].map(|it| it * time);
            let figure = ("novakouski2010", 2, "figures-2-3-table-3");
            all.push(line(figure, &at, ("soapstone", arm), "time", &samples));
        }
    }
    all
}

fn costs(page: &str) -> Vec<Vec<String>> {
    let table = between(page, "<table class=\"costs\">", "</table>");
    let rows = table.split("<tr>").skip(2);
    let rows = rows.map(|row| {
        let cells = row.split("</td>").flat_map(|it| it.split("</th>"));
        let cells = cells.filter(|it| it.contains('>'));
        let text = |cell: &str| {
            let cell = cell.split_once('>').unwrap_or_default().1;
            cell.replace("<small>", " | ").replace("</small>", "")
        };
        cells.map(text).collect()
    });
    rows.collect()
}

#[test]
fn the_first_screen_tells_what_calls_cost_at_sizes_between_those_that_were_measured() {
    let lines = echoes(&[
        ("none", 1_000.0, 10.0),
        ("sign/Basic256", 2_000.0, 40.0),
        ("sign-encrypt/Basic256", 5_000.0, 50.0),
    ]);
    let rows = costs(&page_of(&[run("one", &lines)]));
    let told: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).collect())
        .collect();
    // 1,000 + 10 and 1,000 + 200 µs; nothing was measured at 1 MB.
    assert_eq!(told[0][2..5], ["1.01 ms", "1.20 ms", "–"]);
    assert_eq!(told[1][0], "signature");
    assert_eq!(told[1][2..5], ["2.04 ms | 2.02 ×", "2.80 ms | 2.33 ×", "–"]);
    assert_eq!(told[2][2..5], ["5.05 ms | 5.00 ×", "6.00 ms | 5.00 ×", "–"]);
}

#[test]
fn the_first_screen_says_what_to_use_for_20_kb_and_50_calls_a_conversation() {
    let mut lines = echoes(&[
        ("none", 1_000.0, 10.0),
        ("sign-encrypt/Basic256", 5_000.0, 50.0),
        ("encrypt-sign/Basic256", 5_010.0, 50.0),
        ("secure-conversation/Basic256", 2_000.0, 50.0),
    ]);
    let page = page_of(&[run("one", &lines)]);
    let said = between(&page, "<section id=\"costs\">", "</section>");
    assert!(
        said.contains("choose sign-encrypt, 6.00 ms a call")
            && said.contains("secure-conversation takes 3.00 ms once its handshake is done, which no run has measured"),
        "{said}"
    );
    let first = json!({"payload": "Echo-12"});
    let mut newcomer = |time: f64| {
        let figure = ("novakouski2010", 3, "figure-4-later");
        let of = ("soapstone", "secure-conversation/Basic256");
        lines.push(line(figure, &first, of, "newcomer", &[time; 3]));
        let page = page_of(&[run("one", &lines)]);
        let said = between(&page, "<section id=\"costs\">", "</section>");
        between(said, "<p class=\"verdict\">", "</p>").to_owned()
    };
    // A handshake of 50 ms is 1 ms of each of 50 calls.
    assert_eq!(
        newcomer(52_000.6),
        "For 20 kB requests, 50 a conversation, that must be signed and encrypted in the message: choose secure-conversation, 4.00 ms a \
         call, 3.33 × the plain call; sign-encrypt takes 6.00 ms, 1.50 × as long; encrypt-sign takes 6.01 ms, 1.50 × as long."
    );
    // One of 500 ms is 10 ms of each: what is left is told apart by less than its error.
    assert_eq!(
        newcomer(502_000.6),
        "For 20 kB requests, 50 a conversation, that must be signed and encrypted in the message: choose sign-encrypt, 6.00 ms a call, \
         5.00 × the plain call; encrypt-sign is as good within the error; secure-conversation takes 13.0 ms, 2.17 × as long."
    );
}

#[test]
fn a_run_without_echoes_has_no_first_screen_of_costs() {
    let page = page_of(&[run("one", &super::lines(1.0))]);
    assert!(!page.contains("id=\"costs\""));
}

#[test]
fn a_busy_machine_and_wide_controls_are_told_before_anything_else() {
    let lines = |spread: f64, stolen: f64| {
        let samples = [1.0, 1.0, 1.0, 1.0, spread].map(|it| 100.0 * it);
        let figure = ("novakouski2010", 1, "tables-1-2");
        let at = json!({"operation": "Echo"});
        let done = json!({"done": "one", "seconds": 2.0, "stolen": stolen});
        [
            line(figure, &at, ("soapstone", "none"), "time", &samples),
            done,
        ]
    };
    let stolen_from = |spread, load: &str, stolen| {
        let run = Run {
            manifest: Some(json!({"machine": {"processors": 2}, "load": load})),
            ..run("one", &lines(spread, stolen))
        };
        let runs = [run];
        let report = Report::of(studies::ALL, &runs);
        let page = report.html("files");
        let is_told = page.contains("class=\"noise\"");
        assert_eq!(
            is_told,
            report.markdown().contains("**The machine was noisy")
        );
        is_told.then(|| between(&page, "<p class=\"noise\" role=\"note\">", "</p>").to_owned())
    };
    let noisy = |spread, load: &str| stolen_from(spread, load, 0.01);
    assert_eq!(noisy(1.1, "0.10 0.20 0.30 1/99 1234"), None);
    let stolen = stolen_from(1.1, "0.10 0.20 0.30 1/99 1234", 0.125).expect("a banner");
    assert!(
        stolen.contains(
            "the hypervisor gave 12.5 % of the processors&#39; time to others while one went on"
        ),
        "{stolen}"
    );
    let busy = noisy(1.1, "3.50 1.00 0.50 4/99 1234").expect("a banner");
    assert!(busy.starts_with(
        "The machine was noisy: the load was 3.50 on 2 processors when one began. Trust"
    ));
    let wide = noisy(1.8, "0.10 0.20 0.30 1/99 1234").expect("a banner");
    assert!(
        wide.contains(
            "of half of the 1 plain calls the 95th percentile is 80.0 % or more above the median"
        ),
        "{wide}"
    );
}
