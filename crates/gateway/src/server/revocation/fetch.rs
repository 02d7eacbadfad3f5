//! One question to a responder, or one list: over HTTP, with bounds in time and size.
//!
//! The rule kept here: one URL is asked, which the configuration allows. An answer that points
//! elsewhere is a failure.

use std::fmt;

use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use tokio::time::Instant;

use crate::config::revocation::RevocationConfig;
use crate::config::tls;
use crate::config::url::without_brackets;
use crate::wire::backend::{Backend, BackendError, BackendTimeouts};
use crate::wire::body::Upload;

/// Why nothing was fetched.
#[derive(Debug)]
pub(super) enum Unfetched {
    /// It is no URL that can be asked.
    Url { why: String },
    /// The configuration does not name the host.
    Host,
    /// There was no answer.
    Unanswered(BackendError),
    /// The answer is no success; a redirection is none.
    Status(StatusCode),
    /// The answer is compressed: its size could not be bounded beforehand.
    Encoded,
    /// The answer is too large, or broke off.
    Body { limit: u64 },
    /// The answer was not complete in time.
    Late,
}

impl Unfetched {
    /// Stable name, for metrics and logs.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Url { .. } => "url",
            Self::Host => "host-not-allowed",
            Self::Unanswered(_) => "unanswered",
            Self::Status(_) => "status",
            Self::Encoded => "encoded",
            Self::Body { .. } => "too-large",
            Self::Late => "late",
        }
    }
}

impl fmt::Display for Unfetched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { why } => write!(out, "the URL cannot be asked: {why}"),
            Self::Host => out.write_str("`hosts` of [revocation] does not name the host"),
            Self::Unanswered(error) => write!(out, "{error}"),
            Self::Status(status) if status.is_redirection() => {
                write!(
                    out,
                    "it answered {status}, and redirections are not followed"
                )
            }
            Self::Status(status) => write!(out, "it answered {status}"),
            Self::Encoded => out.write_str("the answer is compressed, which nobody asked for"),
            Self::Body { limit } => {
                write!(out, "the answer broke off, or has more than {limit} bytes")
            }
            Self::Late => out.write_str("the answer was not complete in time"),
        }
    }
}

/// Asks that URL: a responder, with a request, or for a list.
pub(super) async fn fetch(
    config: &RevocationConfig,
    url: &str,
    request: Option<Vec<u8>>,
    limit: u64,
) -> Result<Vec<u8>, Unfetched> {
    let began = Instant::now();
    let unusable = |why: &dyn fmt::Display| Unfetched::Url {
        why: why.to_string(),
    };
    let uri: Uri = url.parse().map_err(|error| unusable(&error))?;
    if uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Err(unusable(&"it has a user"));
    }
    if config.allowed_host(&uri).is_none() {
        return Err(Unfetched::Host);
    }
    let tls = match uri.scheme_str() {
        Some("https") => {
            let host = without_brackets(uri.host().unwrap_or_default());
            let problem = std::cell::RefCell::new(String::new());
            let report = |message| *problem.borrow_mut() = message;
            let tls = tls::read_client(None, host, &report);
            Some(tls.ok_or_else(|| unusable(&problem.borrow()))?)
        }
        _ => None,
    };
    let timeouts = BackendTimeouts {
        connect: config.timeout,
        response: config.timeout,
        idle: config.timeout,
    };
    let backend = Backend::new(&uri, tls, timeouts).ok_or_else(|| unusable(&"it has no host"))?;
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let target = target.parse().map_err(|error| unusable(&error))?;
    let is_question = request.is_some();
    let mut sent = Request::new(Upload::whole(request.unwrap_or_default()));
    *sent.method_mut() = if is_question {
        Method::POST
    } else {
        Method::GET
    };
    *sent.uri_mut() = target;
    let headers = sent.headers_mut();
    headers.insert(header::HOST, backend.authority().clone());
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if is_question {
        // RFC 6960 appendix A.1.
        let media = HeaderValue::from_static("application/ocsp-request");
        headers.insert(header::CONTENT_TYPE, media);
    }
    let whole = async {
        let response = backend.send(sent, began).await;
        let (head, body) = response.map_err(Unfetched::Unanswered)?.into_parts();
        if head.status != StatusCode::OK {
            return Err(Unfetched::Status(head.status));
        }
        if head.headers.contains_key(header::CONTENT_ENCODING) {
            return Err(Unfetched::Encoded);
        }
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let read = Limited::new(body, most).collect().await;
        let body = read.map_err(|_| Unfetched::Body { limit })?;
        Ok(body.to_bytes().to_vec())
    };
    let ended = tokio::time::timeout_at(began + config.timeout, whole).await;
    ended.unwrap_or(Err(Unfetched::Late))
}
