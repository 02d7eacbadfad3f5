//! `soapstone broker explain --admin`: the candidates of a gateway that runs, as it knows them now.
//!
//! The rule kept here: the gateway judges. Whatever text it tells is shown on one line, without
//! control characters.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::Value;
use soapstone_gateway::broker::Property;

use super::Arguments;
use crate::admin;
use crate::failure::{Failure, REFUSED};
use crate::files;

/// Shows what the gateway with that admin listener answers.
///
/// # Errors
/// When it does not answer, or nothing can be printed.
pub(super) fn run(admin: &str, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let admin = admin.trim_end_matches('/');
    let body = admin::get(admin, &path(arguments), arguments.shown.credentials())?;
    let unreadable = || {
        let what = "the answer is no JSON of a gateway's admin listener";
        Failure::new(format_args!("{admin}: {what}"))
    };
    let answer: Value = serde_json::from_slice(&body).map_err(|_| unreadable())?;
    let routes = answer["routes"].as_array().ok_or_else(unreadable)?;
    if routes.is_empty() {
        let message = match &arguments.route {
            Some(path) => format!("no route {path} of {admin} has several backends"),
            None => format!("no route of {admin} has several backends"),
        };
        return Err(Failure::new(message).with_hint("give one `backends = [...]`"));
    }
    files::print(match arguments.json {
        true => format!("{answer:#}\n"),
        false => routes.iter().map(as_text).collect(),
    })?;
    let is_served = |route: &Value| {
        let mut candidates = list(route, "candidates");
        candidates.any(|candidate| candidate["eligible"] == true)
    };
    Ok(match routes.iter().all(is_served) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(REFUSED),
    })
}

/// What the listener is asked for.
fn path(arguments: &Arguments) -> String {
    let mut query: Vec<String> = Vec::new();
    for (name, value) in [("route", &arguments.route), ("sender", &arguments.sender)] {
        if let Some(value) = value {
            query.push(format!("{name}={}", encoded(value)));
        }
    }
    let properties = arguments.property.iter();
    query.extend(properties.map(|property| format!("property={property}")));
    query.push(format!("bits={}", arguments.bits));
    format!("/candidates?{}", query.join("&"))
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(octet));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(encoded, "%{octet:02X}")),
        }
    }
    encoded
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

/// The text of a value: providers of a registry choose some of it.
fn word(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    text.replace(char::is_control, "?")
}

fn words(value: &Value, key: &str) -> Vec<String> {
    list(value, key).map(word).collect()
}

fn milliseconds(value: &Value) -> String {
    value
        .as_f64()
        .map_or_else(|| "not known".to_owned(), |time| format!("{time:.1} ms"))
}

// Writing to a string cannot fail.
fn as_text(route: &Value) -> String {
    let mut text = String::new();
    let (name, selection) = (word(&route["route"]), word(&route["selection"]));
    let _ = writeln!(text, "route {name} ({selection})");
    let _ = writeln!(text, "needs: {}", in_words(&route["needs"]));
    let source = &route["source"];
    if !source.is_null() {
        let kind = match source.get("srv") {
            Some(_) => "DNS",
            None => "registry",
        };
        let stale = match source["stale"] == true {
            true => "away: what is shown was known before",
            false => "answers",
        };
        let _ = writeln!(text, "{kind}: {stale}");
    }
    for candidate in list(route, "candidates") {
        add_candidate(&mut text, candidate);
    }
    text
}

fn add_candidate(text: &mut String, candidate: &Value) {
    let (name, url) = (word(&candidate["name"]), word(&candidate["url"]));
    let _ = writeln!(text, "backend {name} -> {url}");
    let eligible = match candidate["eligible"] == true {
        true => "eligible",
        false => "not eligible",
    };
    let _ = writeln!(text, "  {eligible}: {}", word(&candidate["why"]));
    let index = candidate["security_index"].as_f64().unwrap_or(0.0);
    let _ = writeln!(text, "  security index {index:.0}: {}", given(candidate));
    let _ = writeln!(
        text,
        "  performance index {}: seen {}, mean of answers {}, claimed {}{}",
        milliseconds(&candidate["predicted_ms"]),
        milliseconds(&candidate["seen_ms"]),
        milliseconds(&candidate["mean_ms"]),
        milliseconds(&candidate["claimed_ms"]),
        match candidate["doubted"] == true {
            true => " (doubted: calls took much longer)",
            false => "",
        }
    );
    let limit = match &candidate["limit"] {
        Value::Null => String::new(),
        limit => format!(" of {}", word(limit)),
    };
    let _ = writeln!(
        text,
        "  {}: {}{limit} in hand, {} answered, {} failed, {} ejections, availability {} %, weight {}{}",
        word(&candidate["state"]),
        word(&candidate["in_hand"]),
        word(&candidate["answered"]),
        word(&candidate["failed"]),
        word(&candidate["ejections"]),
        word(&candidate["availability_percent"]),
        word(&candidate["weight"]),
        match candidate["backup"] == true {
            true => ", backup",
            false => "",
        }
    );
}

fn given(candidate: &Value) -> String {
    let each = Property::ALL.into_iter().filter_map(|property| {
        let part = &candidate["security"][property.name()];
        let (bits, level) = (word(&part["bits"]), word(&part["level"]));
        (part["level"] != "none").then(|| format!("{property} {bits} ({level})"))
    });
    let mut each: Vec<String> = each.collect();
    if each.is_empty() {
        each.push("nothing".to_owned());
    }
    let algorithms = words(candidate, "algorithms");
    if !algorithms.is_empty() {
        each.push(format!("with {}", algorithms.join(" ")));
    }
    let encrypted = words(candidate, "encrypted");
    if !encrypted.is_empty() {
        each.push(format!("encrypts {}", encrypted.join(" ")));
    }
    each.join(", ")
}

fn in_words(needs: &Value) -> String {
    let mut each = words(needs, "properties");
    if needs["bits"].as_u64().is_some_and(|bits| bits > 0) {
        each.push(format!("{} bits", needs["bits"]));
    }
    each.extend(words(needs, "refused").iter().map(|it| format!("no {it}")));
    let encrypted = words(needs, "encrypted");
    each.extend(encrypted.iter().map(|part| format!("{part} encrypted")));
    if let Some(time) = needs["time_ms"].as_u64() {
        each.push(format!("an answer within {time} ms"));
    }
    if needs["availability"]
        .as_u64()
        .is_some_and(|share| share > 0)
    {
        each.push(format!("{} % of answers", needs["availability"]));
    }
    match each.is_empty() {
        true => "nothing".to_owned(),
        false => each.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_strangers_stays_on_its_line() {
        let candidate = serde_json::json!({ "name": "a\nb\u{1b}[2J", "url": "http://h/" });
        let mut text = String::new();
        add_candidate(&mut text, &candidate);
        assert!(text.starts_with("backend a?b?[2J -> http://h/\n"), "{text}");
        assert_eq!(encoded("/a b&é"), "%2Fa%20b%26%C3%A9");
    }
}
