//! `soapstone lab`: studies run again, and the report of what came of it.

mod conditions;
mod folders;
mod listed;
mod measured;

#[path = "../../../cli/tests/common/mod.rs"]
mod common;
#[cfg(unix)]
#[path = "../../../cli/tests/common/server.rs"]
mod server;

use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// What each arm has of a quantity: its samples, or why there are none.
fn measured_or_left_out(lines: &[Value], arm: &str, quantity: &str) -> Result<Vec<f64>, String> {
    let of = |line: &&Value| line["arm"] == arm;
    if let Some(line) = lines
        .iter()
        .filter(of)
        .find(|it| it["left_out"].is_string())
    {
        return Err(line["left_out"].to_string());
    }
    let mut lines = lines.iter().filter(of);
    let line = lines.find(|line| line["quantity"] == quantity);
    let line = line.unwrap_or_else(|| panic!("no {quantity} of {arm}"));
    let samples = line["samples"].as_array().expect("samples").iter();
    Ok(samples.filter_map(Value::as_f64).collect())
}
