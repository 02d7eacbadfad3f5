//! `soapstone demo --broker`: a registry, providers, a broker and clients, each as it is deployed.

#[path = "../../cli/tests/common/mod.rs"]
mod common;
#[path = "../../cli/tests/common/server.rs"]
mod server;
#[path = "broker/trace.rs"]
mod trace;

use common::{Folder, build_registry};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn clients_are_served_as_they_need_while_providers_are_slow_die_and_lie() {
    build_registry();
    let folder = Folder::new();
    let run = folder.run("demo --broker --json --count 24").succeeds();
    let lines = lines(run.text());
    let parts = ["all run", "provider-1 slowed", "provider-2 killed"];
    for part in parts {
        for client in ["reader", "shop", "bank"] {
            let of = |line: &&Value| line["part"] == part && line["client"] == client;
            let of: Vec<&Value> = lines.iter().filter(of).collect();
            let sum = |field: &str| -> u64 { of.iter().filter_map(|it| it[field].as_u64()).sum() };
            assert_eq!(sum("served") + sum("failed"), 24, "{of:?}");
            assert!(sum("served") > 0, "{of:?}");
            for line in of.iter().filter(|it| it["served"] != 0) {
                assert_eq!(line["meets_needs"], true, "{line}");
            }
        }
    }
    // Nobody but the one with keys on P-256 has the strength that the bank asks for.
    let of_bank = |line: &&Value| line["client"] == "bank" && line["served"] != 0;
    assert!(
        lines
            .iter()
            .filter(of_bank)
            .all(|it| it["provider"] == "provider-3"),
        "{lines:?}"
    );
    let provider = |name: &str| {
        let mut told = lines.iter();
        let found = told.find(|it| it["fate"].is_string() && it["provider"] == name);
        found.unwrap_or_else(|| panic!("{name} is not in {lines:?}"))
    };
    assert_eq!(provider("provider-2")["usable"], false);
    assert_eq!(provider("provider-3")["usable"], true);
    let liar = provider("provider-4");
    assert_eq!(liar["answered"], 0, "{liar}");
    assert!(liar["failed"].as_u64() > Some(0), "{liar}");
    assert_eq!(liar["usable"], false, "{liar}");
    let end = lines.last().expect("the verdict");
    assert_eq!(end["broken"], Value::Array(Vec::new()));
    assert_eq!(end["lost"], end["lost_by_the_liar"]);
    // Each call of three parts and three clients, and those of them that were served as needed.
    let met = lines.iter().filter(|it| it["meets_needs"] == true);
    let met: u64 = met.filter_map(|it| it["served"].as_u64()).sum();
    assert_eq!((&end["calls"], &end["met"]), (&216.into(), &met.into()));
    assert_eq!(met + end["lost"].as_u64().expect("a number"), 216, "{end}");
    assert!(met * 100 >= 216 * 95, "{end}");
    assert!(end["seconds"].as_f64() > Some(0.0), "{end}");
    let shown = folder.run("demo --broker --count 4").succeeds();
    for part in [
        "Who was served by whom, and why the broker chose so:",
        "does not encrypt its answers",
        "No call was served below its needs.",
        "Calls served as their clients need: ",
        " of 36 (",
        "The demo took ",
    ] {
        assert!(shown.text().contains(part), "{}", shown.text());
    }
    folder
        .run("demo --broker --keep")
        .fails("cannot be used with");
}

#[test]
fn mixed_clients_are_served_by_mixed_providers_as_they_need_in_the_lab() {
    build_registry();
    let folder = Folder::new();
    let run = folder.run("lab run wsarch/4 --quick --json --keep kept");
    let lines = lines(run.succeeds().text());
    let of = |quantity: &str| {
        let mut lines = lines.iter();
        let line = lines.find(|it| it["arm"] == "bridge" && it["quantity"] == quantity);
        line.unwrap_or_else(|| panic!("no {quantity}: {lines:?}"))["figures"].clone()
    };
    for quantity in ["below", "lost"] {
        assert_eq!(of(quantity)["worst"], 0.0, "{quantity}");
    }
    assert!(of("met")["n"].as_u64() >= Some(2));
    // The time of calls is told of each class, too.
    for class in ["reader", "shop", "bank"] {
        let arm = format!("bridge/{class}");
        let is_it = |line: &&Value| line["arm"] == arm.as_str() && line["quantity"] == "time";
        let of_class = lines.iter().find(is_it).expect("the time of a class");
        let calls = of_class["figures"]["n"].as_u64();
        assert_eq!(calls.map(|it| 3 * it), of("time")["n"].as_u64(), "{class}");
    }
    folder.run("lab report kept -o report.html").succeeds();
    let page = folder.read("report.html");
    for told in [
        "no call is served below its security needs",
        "soapstone lab run wsarch/4",
    ] {
        assert!(page.to_lowercase().contains(told), "{told}");
    }
}

#[test]
fn as_many_violations_of_an_agreement_are_recorded_as_are_made() {
    build_registry();
    let folder = Folder::new();
    let run = folder.run("lab run wsarch/6 --quick --json --keep kept");
    let lines = lines(run.succeeds().text());
    let of = |quantity: &str| {
        let mut lines = lines.iter();
        let line = lines.find(|line| line["quantity"] == quantity);
        line.unwrap_or_else(|| panic!("no {quantity}: {lines:?}"))["figures"].clone()
    };
    assert_eq!(of("violations")["best"], 2.0);
    assert_eq!(of("unrecorded")["worst"], 0.0);
}
