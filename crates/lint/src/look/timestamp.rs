//! Timestamps (WSS 1.1.1, 10).

use crate::element::Element;

use crate::date_time::DateTime;
use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::WSU;

/// The rules of `wsu:Created` and of `wsu:Expires`.
struct OfTime {
    local: &'static str,
    fine: &'static str,
    leap: &'static str,
    typed: &'static str,
    zone: &'static str,
}

const TIMES: [OfTime; 2] = [
    OfTime {
        local: "Created",
        fine: "R3220",
        leap: "R3213",
        typed: "R3225",
        zone: "R3217",
    },
    OfTime {
        local: "Expires",
        fine: "R3229",
        leap: "R3215",
        typed: "R3226",
        zone: "R3223",
    },
];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for timestamp in &message.timestamps {
        look_at(*timestamp, findings);
    }
    for security in &message.security {
        let timestamps = security
            .children()
            .filter(|child| child.is(WSU, "Timestamp"));
        let timestamps: Vec<Element<'_>> = timestamps.collect();
        if let [_, second, ..] = timestamps.as_slice() {
            let found = timestamps.len().to_string();
            findings.add("R3227", *second, "one wsu:Timestamp in the header", found);
        }
    }
}

fn look_at(timestamp: Element<'_>, findings: &mut Findings) {
    let count = |local| {
        let named = timestamp.children().filter(|child| child.is(WSU, local));
        named.count()
    };
    let (created, expires) = (count("Created"), count("Expires"));
    if created != 1 {
        findings.add("R3203", timestamp, "one wsu:Created", created.to_string());
    }
    if expires > 1 {
        findings.add(
            "R3224",
            timestamp,
            "one wsu:Expires at most",
            expires.to_string(),
        );
    }
    let mut seen_created = false;
    for child in timestamp.children() {
        if child.is(WSU, "Created") {
            seen_created = true;
        } else if child.is(WSU, "Expires") {
            if !seen_created {
                let found = match created {
                    0 => "no wsu:Created",
                    _ => "wsu:Expires first",
                };
                findings.add("R3221", child, "wsu:Created in front of wsu:Expires", found);
            }
        } else {
            let found = child.qualified_name();
            findings.add(
                "R3222",
                child,
                "wsu:Created or wsu:Expires",
                quoted(Some(found)),
            );
        }
        let of_time = TIMES.iter().find(|time| child.is(WSU, time.local));
        if let Some(time) = of_time {
            look_at_time(child, time, findings);
        }
    }
}

fn look_at_time(element: Element<'_>, rules: &OfTime, findings: &mut Findings) {
    if let Some(value) = element.attribute("", "ValueType") {
        findings.add(rules.typed, element, "no ValueType", quoted(Some(&value)));
    }
    let text = element.text();
    let Some(time) = DateTime::read(text.trim()) else {
        let expected = "an xsd:dateTime in UTC, such as 2026-01-31T12:00:00Z";
        findings.add(rules.zone, element, expected, quoted(Some(&text)));
        return;
    };
    if time.zone != "Z" {
        findings.add(
            rules.zone,
            element,
            "a time in UTC that ends with Z",
            quoted(Some(&text)),
        );
    }
    if time.seconds >= 60 {
        findings.add(rules.leap, element, "seconds below 60", quoted(Some(&text)));
    }
    if time.fraction > 3 {
        let expected = "three digits of a second at most";
        findings.add(rules.fine, element, expected, quoted(Some(&text)));
    }
}
