//! The log of calls for operators, as JSON: `/calls`, and `/calls/overhead`.
//!
//! The rule kept here: the log says who called what. It is read on an address of its own, with its
//! token, or on this machine alone.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode, header};
use soapstone_gateway::AdminAccess;
use soapstone_registry::calls::{Call, CallPage, CallQuery, Outcome, overhead};

use crate::answer::{Reply, decoded, reply, text};
use crate::shared::Shared;

/// Calls of a page, where none says how many.
const PAGE: usize = 100;
/// Most calls of a page.
pub(crate) const LARGEST_PAGE: usize = 1_000;
/// Most calls that the overhead is computed from: the last ones.
const MEASURED: usize = 20_000;
/// How often calls are deleted that are too old.
const EXPIRING: Duration = Duration::from_secs(60);

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    query: CallQuery,
    limit: Option<usize>,
}

/// Answers a request of an operator.
pub(crate) async fn answer<B>(
    shared: Arc<Shared>,
    access: Arc<AdminAccess>,
    request: Request<B>,
) -> Reply {
    if request.uri().path() == "/healthz" {
        return text(StatusCode::OK, "ok");
    }
    if !access.admits(request.headers().get(header::AUTHORIZATION)) {
        let why = "the token of the log of calls is needed: Authorization: Bearer …";
        let mut refused = text(StatusCode::UNAUTHORIZED, why);
        let challenge = HeaderValue::from_static("Basic realm=\"soapstone\", charset=\"UTF-8\"");
        let headers = refused.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
        return refused;
    }
    if request.method() != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here");
    }
    let asked = match asked(request.uri().query().unwrap_or_default()) {
        Ok(asked) => asked,
        Err(expected) => return text(StatusCode::BAD_REQUEST, expected),
    };
    let answered = match request.uri().path() {
        "/calls" => page(&shared, asked).await,
        "/calls/overhead" => measured(&shared, &asked.query).await,
        _ => {
            let why = "known here: /calls, /calls/overhead";
            return text(StatusCode::NOT_FOUND, why);
        }
    };
    match answered {
        Some(json) => reply(
            StatusCode::OK,
            HeaderValue::from_static("application/json"),
            json,
        ),
        None => text(
            StatusCode::SERVICE_UNAVAILABLE,
            "the log could not be read: ask for less",
        ),
    }
}

async fn page(shared: &Shared, asked: Asked) -> Option<String> {
    let limit = asked.limit.unwrap_or(PAGE);
    // One more tells whether there are more.
    let mut calls = shared.calls(&asked.query, limit + 1).await?;
    let has_more = calls.len() > limit;
    calls.truncate(limit);
    let last = calls.last().map(|last| last.id);
    let page = CallPage {
        calls,
        before: last.filter(|_| has_more),
    };
    serde_json::to_string(&page).ok()
}

async fn measured(shared: &Shared, query: &CallQuery) -> Option<String> {
    let mut calls = shared.calls(query, MEASURED + 1).await?;
    let truncated = calls.len() > MEASURED;
    calls.truncate(MEASURED);
    let calls: Vec<Call> = calls.into_iter().map(|entry| entry.call).collect();
    let measured = tokio::task::spawn_blocking(move || overhead(&calls, truncated));
    serde_json::to_string(&measured.await.ok()?).ok()
}

/// What a query asks for.
///
/// # Errors
///
/// What is expected in the place of the first part that is wrong.
fn asked(query: &str) -> Result<Asked, String> {
    let mut asked = Asked {
        query: CallQuery::default(),
        limit: None,
    };
    let wanted = &mut asked.query;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let parts = pair.split_once('=');
        let (name, value) =
            parts.ok_or_else(|| format!("{pair}: expected a name, = and a value"))?;
        // Databases do not hold all control characters.
        let value = decoded(value).filter(|value| !value.contains(char::is_control));
        let value =
            value.ok_or_else(|| format!("{name}: expected a text without control characters"))?;
        let number = || {
            let number = value.parse::<i64>();
            number.map_err(|_| format!("{name}: expected a whole number, found another text"))
        };
        match name {
            "service" => wanted.service = Some(value),
            "provider" => wanted.provider = Some(value),
            "operation" => wanted.operation = Some(value),
            "client" => wanted.client = Some(value),
            "owner" => wanted.owner = Some(value),
            "outcome" => {
                let known = Outcome::named(&value);
                let expected = || "outcome: expected accepted, refused or failed".to_owned();
                wanted.outcome = Some(known.ok_or_else(expected)?);
            }
            "since" => wanted.since = Some(number()?),
            "until" => wanted.until = Some(number()?),
            "before" => wanted.before = Some(number()?),
            "limit" => {
                let limit = value.parse().ok();
                let limit = limit.filter(|it| (1..=LARGEST_PAGE).contains(it));
                let expected = || format!("limit: expected a number from 1 to {LARGEST_PAGE}");
                asked.limit = Some(limit.ok_or_else(expected)?);
            }
            _ => {
                return Err(
                    "expected service=, provider=, operation=, client=, owner=, outcome=, since=, \
                     until=, before= or limit=, found another name"
                        .to_owned(),
                );
            }
        }
    }
    Ok(asked)
}

/// Deletes calls that are too old, for as long as the registry serves.
pub(crate) async fn expire(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(EXPIRING).await;
        shared.expire().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_what_is_known_and_bounds_its_page() {
        let found = asked(
            "service=Books&provider=http%3A%2F%2Fp1&outcome=refused&since=-5&before=7&limit=1000",
        );
        let query = CallQuery {
            service: Some("Books".to_owned()),
            provider: Some("http://p1".to_owned()),
            outcome: Some(Outcome::Refused),
            since: Some(-5),
            before: Some(7),
            ..CallQuery::default()
        };
        let limit = Some(1000);
        assert_eq!(found, Ok(Asked { query, limit }));
        for (wrong, expected) in [
            ("limit=0", "limit: expected a number from 1 to 1000"),
            ("limit=1001", "limit: expected a number from 1 to 1000"),
            (
                "outcome=good",
                "outcome: expected accepted, refused or failed",
            ),
            ("since=yesterday", "since: expected a whole number"),
            ("client=%00", "client: expected a text without control"),
            ("body=x", "found another name"),
            ("service", "service: expected a name, = and a value"),
        ] {
            let told = asked(wrong).expect_err("it is wrong");
            assert!(told.contains(expected), "{wrong}: {told}");
        }
    }
}
