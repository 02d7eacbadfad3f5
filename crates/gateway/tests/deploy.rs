//! The alert rules and the dashboard in `deploy/` ask for metrics that the gateway has.

use std::collections::BTreeSet;
use std::path::Path;

/// Every name of a metric in a text, without the endings of histograms.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(|character| !is_of_name(character));
    let names = words.filter(|word| word.starts_with("soapstone_") || word.starts_with("process_"));
    let ends = ["_bucket", "_sum", "_count"];
    let plain = |name: &str| {
        let end = ends.iter().find_map(|end| name.strip_suffix(end));
        end.unwrap_or(name).to_owned()
    };
    names.map(plain).collect()
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect("the file")
}

#[test]
fn alerts_and_dashboard_name_metrics_that_the_guide_has() {
    let known = metrics(&read("docs/watch-a-gateway.md"));
    for file in [
        "deploy/prometheus-rules.yaml",
        "deploy/grafana-dashboard.json",
    ] {
        let asked = metrics(&read(file));
        assert!(asked.len() > 10, "{file}: {asked:?}");
        let unknown: Vec<_> = asked.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_is_json_with_a_query_in_each_panel() {
    let dashboard: serde_json::Value =
        serde_json::from_str(&read("deploy/grafana-dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let targets = panel["targets"].as_array().expect("targets");
        assert!(!targets.is_empty(), "{}", panel["title"]);
        for target in targets {
            let query = target["expr"].as_str().expect("a query");
            let balance = |open: char, close: char| {
                query.matches(open).count() == query.matches(close).count()
            };
            assert!(balance('(', ')') && balance('{', '}'), "{query}");
        }
    }
}
