//! The console: one page for operators, read-only.
//!
//! ```text
//! /console          the page; its style and its script beside it, nothing from elsewhere
//! /console/state    what is known now, as JSON
//! /console/explained/ID   why a recorded message was refused, as text
//! /console/events   the same as server-sent events: now, and whenever something changes
//! ```
//!
//! The rule kept here: the page shows what the metrics and the log tell anyway, and what is said by
//! strangers is text in it, never markup.

mod events;
mod explained;
mod state;

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode, header};

use super::admission::Asker;
use super::state::State;
use crate::wire::reply::Reply;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page may load and run (Content Security Policy, level 3).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is known now, and whenever something changes, to somebody who may see it.
pub(super) fn events(state: &Arc<State>, asker: Asker) -> Response<Reply> {
    let body = events::answer(state, asker);
    answered(StatusCode::OK, "text/event-stream", body)
}

/// Answers any other path of the console; `None` if it is none of its paths.
pub(crate) async fn answer(state: &State, path: &str, peer: IpAddr) -> Option<Response<Reply>> {
    if let Some(id) = path.strip_prefix("/console/explained/") {
        let (status, text) = explained::told(state, id, peer).await;
        return Some(page(status, "text/plain; charset=utf-8", text));
    }
    let (media_type, body) = match path {
        "/" | "/console" => ("text/html; charset=utf-8", PAGE.to_owned()),
        "/console/page.css" => ("text/css; charset=utf-8", STYLE.to_owned()),
        "/console/page.js" => ("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "/console/state" => ("application/json", state::now(state, peer).to_string()),
        _ => return None,
    };
    Some(page(StatusCode::OK, media_type, body))
}

fn page(status: StatusCode, media_type: &'static str, body: String) -> Response<Reply> {
    answered(status, media_type, Reply::whole(body))
}

/// An answer that loads nothing, and that nobody keeps.
fn answered(status: StatusCode, media_type: &'static str, body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
