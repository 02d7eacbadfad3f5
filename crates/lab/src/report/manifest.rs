//! What stands in the manifest of a run, line by line.
//!
//! The rule kept here: nothing of it is left out, as nobody knows beforehand what explains a
//! difference.

/// What is said of a run without one.
pub(super) const NONE: &str = "It has no manifest: where and when it was measured is not known.";

/// What stands in it: names and values, in its order.
pub(super) fn entries(manifest: &serde_json::Value) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    flatten("", manifest, &mut entries);
    entries
}

/// The leaves of a manifest, each with the names on the way to it.
fn flatten(name: &str, value: &serde_json::Value, entries: &mut Vec<(String, String)>) {
    use serde_json::Value;
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = match name {
                    "" => field.replace('_', " "),
                    name => format!("{name}, {}", field.replace('_', " ")),
                };
                flatten(&name, value, entries);
            }
        }
        Value::Array(items) if items.iter().all(|it| !it.is_object() && !it.is_array()) => {
            let items: Vec<String> = items.iter().map(leaf).collect();
            entries.push((name.to_owned(), items.join(", ")));
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                flatten(&format!("{name} {}", place + 1), item, entries);
            }
        }
        leaf_value => entries.push((name.to_owned(), leaf(leaf_value))),
    }
}

fn leaf(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leaves_of_a_manifest_are_told_with_the_names_on_the_way() {
        let manifest = serde_json::json!({"machine": {"cores": 2, "load_average": [0.5, 1.0]}, "stacks": [{"name": "<cxf>"}], "seed": null});
        let entries = entries(&manifest);
        let told: Vec<String> = entries
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            told,
            [
                "machine, cores=2",
                "machine, load average=0.5, 1.0",
                "seed=–",
                "stacks 1, name=<cxf>"
            ]
        );
    }
}
