//! Timestamps (WSS 1.1.1, 10).

use soapstone_xml::Element;

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
                let found = "wsu:Expires first";
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

/// The form of an `xsd:dateTime`.
struct DateTime<'t> {
    seconds: u8,
    /// Digits behind the point.
    fraction: usize,
    /// What follows the seconds.
    zone: &'t str,
}

impl<'t> DateTime<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let date = text.strip_prefix('-').unwrap_or(text);
        let (date, time) = date.split_once('T')?;
        let mut date = date.split('-');
        let (year, month, day) = (date.next()?, date.next()?, date.next()?);
        let in_range = |text: &str, low, high| {
            let value = two_digits(text)?;
            (low..=high).contains(&value).then_some(value)
        };
        let is_year = year.len() >= 4 && year.bytes().all(|byte| byte.is_ascii_digit());
        if !is_year || date.next().is_some() {
            return None;
        }
        in_range(month, 1, 12)?;
        in_range(day, 1, 31)?;
        let zone_at = time.find(['Z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(zone_at);
        let mut clock = clock.splitn(3, ':');
        in_range(clock.next()?, 0, 24)?;
        in_range(clock.next()?, 0, 59)?;
        let seconds = clock.next()?;
        let (seconds, fraction) = match seconds.split_once('.') {
            Some((_, "")) => return None,
            Some(split) => split,
            None => (seconds, ""),
        };
        let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = two_digits(seconds).filter(|_| is_number)?;
        Some(Self {
            seconds,
            fraction: fraction.len(),
            zone,
        })
    }
}

fn two_digits(text: &str) -> Option<u8> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
