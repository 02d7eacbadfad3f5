//! One document of one URL: over HTTP, with bounds in time and size.
//!
//! The rule kept here: one URL is asked. An answer that points elsewhere is a failure.

use std::fmt;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use tokio::time::Instant;

use crate::config::tls::{self, ClientTls};
use crate::config::url::without_brackets;
use crate::wire::backend::{Backend, BackendError, BackendTimeouts};
use crate::wire::body::Upload;

/// Why nothing was fetched.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfetched {
    /// It is no URL that can be asked.
    Url {
        /// Why not.
        why: String,
    },
    /// There was no answer.
    Unanswered {
        /// Why not.
        why: String,
    },
    /// The answer is no success; a redirection is none.
    Status(StatusCode),
    /// The answer is compressed: its size could not be bounded beforehand.
    Encoded,
    /// The answer is too large, or broke off.
    Body {
        /// Bytes that an answer may have.
        limit: u64,
    },
    /// The answer was not complete in time.
    Late,
}

impl Unfetched {
    /// Stable name, for metrics and logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Url { .. } => "url",
            Self::Unanswered { .. } => "unanswered",
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
            Self::Unanswered { why } => out.write_str(why),
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

impl std::error::Error for Unfetched {}

/// What is posted, in the place of a `GET`.
pub(crate) struct Question {
    pub(crate) body: Vec<u8>,
    pub(crate) media: &'static str,
    /// Whether it is a message of SOAP 1.1. Its header names an action, and faults come with
    /// status 500 (SOAP 1.1, 6.1.1 and 6.2).
    pub(crate) is_soap: bool,
}

/// What a SOAP message was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoapAnswer {
    /// The content: with status 500 a fault, or whatever a server says of its failure.
    pub content: Vec<u8>,
    /// 200 or 500.
    pub status: StatusCode,
}

/// Fetches the document of an `http` or `https` URL, with the authorities of the system. It must be
/// complete within `patience`, and has at most `limit` bytes.
///
/// # Errors
/// Why nothing was fetched.
pub async fn fetch_document(
    url: &str,
    patience: Duration,
    limit: u64,
) -> Result<Vec<u8>, Unfetched> {
    fetch(&address(url)?, None, patience, limit).await
}

/// Posts a SOAP 1.1 message to an `http` or `https` URL, and gives back what is answered with
/// status 200, or with 500, which faults have. Its `SOAPAction` is empty: what is meant is in the
/// message. The same bounds hold.
///
/// # Errors
/// Why there is no such answer.
pub async fn post_soap(
    url: &str,
    message: Vec<u8>,
    patience: Duration,
    limit: u64,
) -> Result<SoapAnswer, Unfetched> {
    let question = Question {
        body: message,
        media: "text/xml; charset=utf-8",
        is_soap: true,
    };
    ask(&address(url)?, Some(question), patience, limit).await
}

/// The URL, if it can be asked.
pub(crate) fn address(url: &str) -> Result<Uri, Unfetched> {
    let uri: Uri = url.parse().map_err(|error| unusable(&error))?;
    if uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Err(unusable(&"it has a user"));
    }
    match uri.scheme_str() {
        Some("http" | "https") => Ok(uri),
        _ => Err(unusable(&"it must begin with http: or https:")),
    }
}

fn unusable(why: &dyn fmt::Display) -> Unfetched {
    Unfetched::Url {
        why: why.to_string(),
    }
}

/// Asks that URL, with a question or for what is there.
pub(crate) async fn fetch(
    uri: &Uri,
    question: Option<Question>,
    patience: Duration,
    limit: u64,
) -> Result<Vec<u8>, Unfetched> {
    let answer = ask(uri, question, patience, limit).await;
    answer.map(|answer| answer.content)
}

/// Asks that URL, over these connections: with TLS where it is `https`.
pub(crate) async fn fetch_over(
    uri: &Uri,
    tls: Option<ClientTls>,
    question: Option<Question>,
    patience: Duration,
    limit: u64,
) -> Result<Vec<u8>, Unfetched> {
    let answer = ask_over(uri, tls, question, patience, limit).await;
    answer.map(|answer| answer.content)
}

async fn ask(
    uri: &Uri,
    question: Option<Question>,
    patience: Duration,
    limit: u64,
) -> Result<SoapAnswer, Unfetched> {
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
    ask_over(uri, tls, question, patience, limit).await
}

async fn ask_over(
    uri: &Uri,
    tls: Option<ClientTls>,
    question: Option<Question>,
    patience: Duration,
    limit: u64,
) -> Result<SoapAnswer, Unfetched> {
    let began = Instant::now();
    let timeouts = BackendTimeouts {
        connect: patience,
        response: patience,
        idle: patience,
    };
    let backend = Backend::new(uri, tls, timeouts).ok_or_else(|| unusable(&"it has no host"))?;
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let target = target.parse().map_err(|error| unusable(&error))?;
    let is_soap = question.as_ref().is_some_and(|question| question.is_soap);
    let (method, media, body) = match question {
        Some(Question { body, media, .. }) => (Method::POST, Some(media), body),
        None => (Method::GET, None, Vec::new()),
    };
    let mut sent = Request::new(Upload::whole(body));
    *sent.method_mut() = method;
    *sent.uri_mut() = target;
    let headers = sent.headers_mut();
    headers.insert(header::HOST, backend.authority().clone());
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if let Some(media) = media {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    }
    if is_soap {
        headers.insert("soapaction", HeaderValue::from_static("\"\""));
    }
    let whole = async {
        let response = backend.send(sent, began).await;
        let unanswered = |error: BackendError| Unfetched::Unanswered {
            why: error.to_string(),
        };
        let (head, body) = response.map_err(unanswered)?.into_parts();
        let is_fault = is_soap && head.status == StatusCode::INTERNAL_SERVER_ERROR;
        if head.status != StatusCode::OK && !is_fault {
            return Err(Unfetched::Status(head.status));
        }
        if head.headers.contains_key(header::CONTENT_ENCODING) {
            return Err(Unfetched::Encoded);
        }
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let read = Limited::new(body, most).collect().await;
        let body = read.map_err(|_| Unfetched::Body { limit })?;
        Ok(SoapAnswer {
            content: body.to_bytes().to_vec(),
            status: head.status,
        })
    };
    let ended = tokio::time::timeout_at(began + patience, whole).await;
    ended.unwrap_or(Err(Unfetched::Late))
}
