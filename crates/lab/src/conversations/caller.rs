//! The clients' side of one call: secures, posts, opens, compares.
//!
//! The rule kept here: an answer counts only when it verifies and says what was asked; a fault is
//! only believed to say no.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use soapstone::conversation::NoContexts;
use soapstone::endpoint::{self, Call, Calling, Handshakes, Memory, says_context_is_gone};
use soapstone::replay::ReplayCache;
use soapstone::wss::{Envelope, Outgoing, Receipt, SecurityContext, SoapVersion};
use soapstone::xml::{Buffers, Limits};
use soapstone_services::{Service, requests};

use super::Options;

/// Largest answer, bytes.
const LARGEST: usize = 1 << 20;

/// Calls on behalf of all conversations.
pub(super) struct Caller {
    endpoint: Arc<endpoint::Client>,
    replay: Arc<dyn ReplayCache>,
    url: Uri,
    patience: Duration,
    http: Client<HttpConnector, Full<Bytes>>,
}

/// Why a call was not answered as it should be.
#[derive(Debug)]
pub(super) enum Failed {
    /// Nobody accepts connections, and what the system says of that.
    Connect(String),
    /// The connection ended before the answer did.
    Broken,
    /// No answer in time.
    Timeout,
    /// An answer that is no SOAP message.
    Http(StatusCode),
    /// A fault that is not secured, with its code.
    Fault(String),
    /// A fault that says that the context is not known.
    ContextGone {
        /// Its code.
        code: String,
    },
    /// Ours: the request could not be secured, or the answer is not acceptable.
    Unacceptable(String),
    /// The answer says something else.
    Wrong,
}

impl Failed {
    /// A name to count it under.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Connect(_) => "connect".to_owned(),
            Self::Broken => "broken".to_owned(),
            Self::Timeout => "timeout".to_owned(),
            Self::Http(status) => format!("http {}", status.as_u16()),
            Self::Fault(code) | Self::ContextGone { code } => format!("fault {code}"),
            Self::Unacceptable(_) => "unacceptable".to_owned(),
            Self::Wrong => "wrong".to_owned(),
        }
    }

    /// Whether the service may have received the message.
    pub(super) fn is_uncertain(&self) -> bool {
        match self {
            Self::Broken | Self::Timeout | Self::Http(_) => true,
            Self::Fault(code) => code == "Server",
            Self::Connect(_) | Self::ContextGone { .. } | Self::Unacceptable(_) | Self::Wrong => {
                false
            }
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unacceptable(problem) => out.write_str(problem),
            Self::Connect(cause) => write!(out, "nobody accepts connections: {cause}"),
            Self::Broken => out.write_str("the connection ended before the answer did"),
            Self::Timeout => out.write_str("no answer in time"),
            other => out.write_str(&other.kind()),
        }
    }
}

/// What became of a message that was sent again.
#[derive(Debug)]
pub(super) enum Answer {
    /// It was answered, and not by a refusal.
    Accepted,
    /// A fault, with its code.
    Refused(String),
    /// Nobody said anything about it.
    Nothing(Failed),
}

impl Caller {
    pub(super) fn new(options: &Options) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            endpoint: Arc::clone(&options.endpoint),
            replay: Arc::clone(&options.replay),
            url: options.url.clone(),
            patience: options.patience,
            http: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(options.connections)
                .build(connector),
        }
    }

    /// Begins a conversation.
    pub(super) async fn begin(&self, buffers: &mut Buffers) -> Result<SecurityContext, Failed> {
        let ours = |problem: &dyn fmt::Display| Failed::Unacceptable(problem.to_string());
        let url = self.url.to_string();
        let handshakes = self.handshakes()?;
        let mut call = Call::new(Timestamp::now(), buffers);
        let mut handshake = handshakes
            .begin(&url, SoapVersion::V11, &mut call)
            .map_err(|error| ours(&error))?;
        let action = handshake.action.clone();
        let request = Bytes::from(std::mem::take(&mut handshake.bytes));
        let (status, answer) = self.post(request, &action).await?;
        if !status.is_success() {
            return Err(refusal(status, &answer));
        }
        let mut call = Call::new(Timestamp::now(), buffers);
        handshakes
            .conclude(handshake, answer.into(), self.memory(), &mut call)
            .map_err(|error| ours(&error))
    }

    /// What begins conversations. A run does not begin without it.
    fn handshakes(&self) -> Result<Handshakes<'_, Calling>, Failed> {
        let none = || Failed::Unacceptable("the endpoint has no conversations".to_owned());
        self.endpoint.handshakes().ok_or_else(none)
    }

    /// A call of Echo in a conversation, ready to be posted, and what its answer is opened with.
    pub(super) fn secure(
        &self,
        text: &str,
        context: &SecurityContext,
        buffers: &mut Buffers,
    ) -> Result<(Bytes, Receipt), Failed> {
        let plain = requests::echo(soapstone_services::SoapVersion::Soap11, text).into_bytes();
        let outgoing = Outgoing::within(context);
        let mut call = Call::new(Timestamp::now(), buffers);
        self.endpoint
            .secure_with(plain, outgoing, &mut call)
            .map(|secured| (Bytes::from(secured.bytes), secured.receipt))
            .map_err(|error| Failed::Unacceptable(error.to_string()))
    }

    /// Posts a call, and verifies that its answer is secured in the same conversation and says the
    /// same text.
    pub(super) async fn call(
        &self,
        request: Bytes,
        text: &str,
        receipt: Receipt,
        buffers: &mut Buffers,
    ) -> Result<(), Failed> {
        let (status, answer) = self.post(request, Service::Echo.soap_action()).await?;
        if !status.is_success() {
            return Err(refusal(status, &answer));
        }
        let mut call = Call::new(Timestamp::now(), buffers);
        let opened = self
            .endpoint
            .open_with(Vec::from(answer), receipt, self.memory(), &mut call)
            .map_err(|rejected| Failed::Unacceptable(rejected.to_string()))?;
        match echoed(opened.bytes, buffers) {
            Some(said) if said == text => Ok(()),
            _ => Err(Failed::Wrong),
        }
    }

    /// Posts a message that was sent before. A SOAP message that is no fault in clear counts as
    /// accepted, whatever it says.
    pub(super) async fn resend(&self, request: Bytes) -> Answer {
        let (status, answer) = match self.post(request, Service::Echo.soap_action()).await {
            Ok(answer) => answer,
            Err(failed) => return Answer::Nothing(failed),
        };
        match refusal(status, &answer) {
            Failed::Fault(code) if code == "Server" => Answer::Nothing(Failed::Fault(code)),
            Failed::Fault(code) | Failed::ContextGone { code } => Answer::Refused(code),
            _ if is_soap(&answer) => Answer::Accepted,
            nothing => Answer::Nothing(nothing),
        }
    }

    fn memory(&self) -> Memory<'_> {
        Memory {
            replay: self.replay.as_ref(),
            contexts: &NoContexts,
        }
    }

    async fn post(&self, body: Bytes, action: &str) -> Result<(StatusCode, Bytes), Failed> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.url.clone())
            .header(header::CONTENT_TYPE, "text/xml; charset=utf-8")
            .header("SOAPAction", format!("\"{action}\""))
            .body(Full::new(body))
            .map_err(|error| Failed::Unacceptable(error.to_string()))?;
        let exchange = async {
            let response = self.http.request(request).await.map_err(|error| {
                if error.is_connect() {
                    Failed::Connect(cause(&error))
                } else {
                    Failed::Broken
                }
            })?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|_| Failed::Broken)?;
            Ok((status, body.to_bytes()))
        };
        tokio::time::timeout(self.patience, exchange)
            .await
            .unwrap_or(Err(Failed::Timeout))
    }
}

/// What is at the bottom of an error: the words of the system.
fn cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// What an answer says that is no success.
fn refusal(status: StatusCode, answer: &Bytes) -> Failed {
    match fault_code(answer) {
        Some(code) if says_context_is_gone(answer) => Failed::ContextGone { code },
        Some(code) => Failed::Fault(code),
        None => Failed::Http(status),
    }
}

fn is_soap(bytes: &Bytes) -> bool {
    Envelope::parse(bytes.to_vec(), &Limits::default(), &mut Buffers::default()).is_ok()
}

/// The local part of the code of a SOAP 1.1 fault (SOAP 1.1, 4.4).
fn fault_code(bytes: &Bytes) -> Option<String> {
    let limits = Limits::default();
    let envelope = Envelope::parse(bytes.to_vec(), &limits, &mut Buffers::default()).ok()?;
    let fault = envelope.body().first_child()?;
    let code = fault.child("", "faultcode")?.text_strict()?;
    let code = code.trim();
    Some(code.rsplit(':').next().unwrap_or(code).to_owned())
}

/// The text in an answer of Echo, or in a request for one.
pub(super) fn echoed(bytes: Vec<u8>, buffers: &mut Buffers) -> Option<String> {
    let envelope = Envelope::parse(bytes, &Limits::default(), buffers).ok()?;
    let text = envelope.body().first_child()?.first_child()?;
    let text = text.text_strict().map(|text| text.into_owned());
    envelope.recycle(buffers);
    text
}
