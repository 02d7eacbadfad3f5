//! What each backend of a route is worth to a request with given needs, as JSON: both indices with
//! their parts, and why it would be chosen or not.
//!
//! The rule kept here: it is the broker that judges, with what it knows now. Asking changes
//! nothing.

use serde_json::{Map, Value, json};
use soapstone_broker::{MemberStatus, Needs, Property, Prospect, State, Verdict};

use super::backends::member;
use super::registry::Discovered;
use crate::config::needs::ClassMember;
use crate::route::balancer::Balancer;
use crate::route::serving::Serving;

/// What is asked: `route=/books&sender=CN%3Dclient&property=integrity&bits=112`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Question {
    /// The path of the one route that is meant.
    route: Option<String>,
    /// The proven sender, whose class adds needs.
    sender: Option<String>,
    /// What the request needs besides.
    needs: Needs,
}

impl Question {
    /// Reads the query of a URL.
    ///
    /// # Errors
    /// What of it is not understood.
    pub(super) fn read(query: &str) -> Result<Self, &'static str> {
        let mut question = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value).ok_or("expected UTF-8 with %XX in the query")?;
            match name {
                "route" => question.route = Some(value),
                "sender" => question.sender = Some(value),
                "property" => {
                    let property = Property::named(&value).ok_or("`property` is not known")?;
                    question.needs.properties.push(property);
                }
                "bits" => {
                    let bits = value.parse();
                    question.needs.bits = bits.map_err(|_| "`bits` must be a number")?;
                }
                _ => return Err("known in the query: route, sender, property, bits"),
            }
        }
        question.needs.properties.sort_unstable();
        question.needs.properties.dedup();
        Ok(question)
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' => b' ',
            octet => octet,
        });
    }
    String::from_utf8(octets).ok()
}

/// The candidates of each route that is meant, as text.
pub(super) fn candidates(serving: &Serving, discovered: &Discovered, asked: &Question) -> String {
    let routes = of_routes(serving, discovered, asked);
    format!("{:#}\n", json!({ "routes": routes }))
}

/// The candidates of each route that is meant.
pub(super) fn of_routes(
    serving: &Serving,
    discovered: &Discovered,
    asked: &Question,
) -> Vec<Value> {
    let routes = serving.routes.iter().filter_map(|route| {
        let is_meant = |path: &String| *path == route.path() || *path == route.name;
        let balancer = route.balancer.as_ref()?;
        if !asked.route.as_ref().is_none_or(is_meant) {
            return None;
        }
        let urls = route.upstreams().map(|upstream| upstream.url.to_string());
        let sender = asked.sender.as_deref();
        let is_sender = |member: &ClassMember| sender.is_some_and(|it| member.is_meant_by(it));
        let needs = balancer.rules.needs_of(is_sender);
        let needs = needs.and(&asked.needs);
        let source = balancer.source.as_ref();
        let mut shown = of_route(balancer, urls, &needs);
        shown["route"] = json!(route.name);
        shown["source"] = json!(source.map(|source| discovered.status(source)));
        Some(shown)
    });
    routes.collect()
}

fn of_route(balancer: &Balancer, urls: impl Iterator<Item = String>, needs: &Needs) -> Value {
    let verdicts = balancer.verdicts_for(needs);
    let known = balancer.status().into_iter().zip(verdicts).zip(urls);
    let shown = known.map(|((status, verdict), url)| {
        let mut shown = member(&status, &url);
        let shortfalls: Vec<String> = verdict.shortfalls.iter().map(ToString::to_string).collect();
        shown["eligible"] = json!(verdict.prospect.is_eligible());
        shown["why"] = json!(why(&status, &verdict));
        shown["covers"] = json!(verdict.shortfalls.is_empty());
        shown["shortfalls"] = json!(shortfalls);
        shown["security_index"] = json!(verdict.security);
        shown["security"] = parts(&verdict);
        shown["algorithms"] = json!(verdict.given.algorithms);
        shown["encrypted"] = json!(verdict.given.encrypted);
        shown["predicted_ms"] = json!(verdict.time.map(|time| time.as_secs_f64() * 1e3));
        shown["seen_ms"] = json!(verdict.seen.map(|time| time.as_secs_f64() * 1e3));
        shown["in_time"] = json!(verdict.in_time);
        shown
    });
    let shown: Vec<Value> = shown.collect();
    let properties = needs.properties.iter();
    let properties: Vec<&str> = properties.map(|property| property.name()).collect();
    json!({
        "selection": balancer.pool.settings().selection.name(),
        "needs": {
            "properties": properties,
            "bits": needs.bits,
            "refused": needs.refused_algorithms,
            "encrypted": needs.encrypted,
            "time_ms": needs.time.map(|time| time.as_millis() as u64),
            "availability": needs.availability,
        },
        "candidates": shown,
    })
}

/// Each property that the policy gives, with its level and strength.
fn parts(verdict: &Verdict) -> Value {
    let parts = Property::ALL.into_iter().map(|property| {
        let given = verdict.given.of(property);
        let part = json!({ "level": given.level.name(), "bits": given.bits });
        (property.name().to_owned(), part)
    });
    Value::Object(parts.collect::<Map<String, Value>>())
}

/// Why a backend may be chosen now, or not.
fn why(status: &MemberStatus, verdict: &Verdict) -> String {
    let left = match verdict.state {
        State::Ejected { left } => left.as_millis(),
        _ => 0,
    };
    let why = match verdict.prospect {
        Prospect::May => "it may be chosen",
        Prospect::Late => {
            "it may be chosen: it is not known to answer as fast and as often as needed, and no other is"
        }
        Prospect::LastResort => match left {
            0 => "it may be chosen as the last resort: a call on trial is in hand",
            _ => {
                return format!(
                    "it may be chosen as the last resort: it is ejected for another {left} ms"
                );
            }
        },
        Prospect::Uncovered => {
            let shortfalls = verdict.shortfalls.iter().map(ToString::to_string);
            let shortfalls: Vec<String> = shortfalls.collect();
            return format!("it does not cover the needs: {}", shortfalls.join("; "));
        }
        Prospect::Down => "its health checks fail",
        Prospect::Full => {
            let limit = status.limit.unwrap_or(status.in_hand);
            return format!("its limit of {limit} calls is in hand");
        }
        Prospect::Ejected => return format!("it is ejected for another {left} ms"),
        Prospect::OnTrial => "it was ejected, and a call on trial is in hand",
        Prospect::OthersFirst => "it is there for others, which can take calls",
        Prospect::OthersInTime => {
            "others are known to answer as fast and as often as needed, or nearer to it"
        }
    };
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_told_to_be_wrong() {
        let read = Question::read("route=%2Fbooks&sender=CN%3Da+b&property=integrity&bits=112");
        let expected = Question {
            route: Some("/books".to_owned()),
            sender: Some("CN=a b".to_owned()),
            needs: Needs {
                properties: vec![Property::Integrity],
                bits: 112,
                ..Needs::nothing()
            },
        };
        assert_eq!(read, Ok(expected));
        assert_eq!(Question::read(""), Ok(Question::default()));
        for (query, expected) in [
            ("bits=many", "`bits` must be a number"),
            ("property=cheap", "`property` is not known"),
            (
                "cost=1",
                "known in the query: route, sender, property, bits",
            ),
            ("sender=%4", "expected UTF-8 with %XX in the query"),
            ("sender=%ff", "expected UTF-8 with %XX in the query"),
        ] {
            assert_eq!(Question::read(query), Err(expected), "{query}");
        }
    }
}
