//! Things on the way between a client's gateway and a service: a door, an eavesdropper that takes
//! the words out of a service's mouth, and anything else that answers in its place.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Response, StatusCode, request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use soapstone_testkit::envelope::SOAP11;
use tokio::sync::Notify;

use crate::support::send;

/// What stands before a service.
pub(super) trait Way {
    /// Where it is called.
    fn address(&self) -> SocketAddr;
}

/// The way to a service, which lets nobody through until it is open.
pub(super) struct Door {
    pub(super) address: SocketAddr,
    pub(super) open: Arc<AtomicBool>,
}

impl Door {
    pub(super) async fn closed(to: SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let open = Arc::new(AtomicBool::new(false));
        let is_open = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                if is_open.load(Ordering::SeqCst) {
                    tokio::spawn(async move {
                        let mut onward = tokio::net::TcpStream::connect(to).await?;
                        tokio::io::copy_bidirectional(&mut stream, &mut onward).await
                    });
                }
            }
        });
        Self { address, open }
    }
}

impl Way for Door {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Somebody before a service.
pub(super) struct Between {
    pub(super) address: SocketAddr,
    /// The last message of a conversation.
    pub(super) last: Arc<Mutex<String>>,
}

impl Way for Between {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

/// What somebody before a service lets through; of all else he says that its context is unknown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Lets {
    Handshakes,
    Soap11,
    Everything,
}

pub(super) async fn between(to: SocketAddr, lets: Lets) -> Between {
    let last = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&last);
    let address = before(to, move |head, body| {
        let asks = asks_for_context(head);
        if !asks {
            *kept.lock().expect("no panic") = String::from_utf8_lossy(body).into_owned();
        }
        let passes = match lets {
            Lets::Handshakes => asks,
            Lets::Soap11 => head.headers["content-type"]
                .to_str()
                .is_ok_and(|media| media.starts_with("text/xml")),
            Lets::Everything => true,
        };
        match passes {
            true => Says::Nothing,
            false => Says::Answer(context_unknown()),
        }
    });
    Between {
        address: address.await,
        last,
    }
}

/// What somebody before a service says to a request.
pub(crate) enum Says {
    /// It passes.
    Nothing,
    /// It passes when this comes.
    Later(Arc<Notify>),
    Answer(Response<Full<Bytes>>),
}

/// Whether a request of SOAP 1.1 asks for a context.
pub(crate) fn asks_for_context(head: &request::Parts) -> bool {
    let action = head.headers.get("soapaction");
    action.is_some_and(|action| action.to_str().unwrap_or_default().contains("/RST/SCT"))
}

/// What a service answers that has lost a context.
pub(crate) fn context_unknown() -> Response<Full<Bytes>> {
    let conversation = "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512";
    fault(&format!(
        "<faultcode xmlns:c=\"{conversation}\">c:BadContextToken</faultcode><faultstring>unknown</faultstring>"
    ))
}

/// A fault of SOAP 1.1 without security.
pub(crate) fn fault(content: &str) -> Response<Full<Bytes>> {
    let text = format!(
        "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body><s:Fault>{content}</s:Fault></s:Body></s:Envelope>"
    );
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let headers = response.headers_mut();
    headers.insert("content-type", "text/xml".parse().expect("a value"));
    response
}

/// Something before a service that says this to its requests.
pub(crate) async fn before(
    to: SocketAddr,
    says: impl Fn(&request::Parts, &Bytes) -> Says + Send + Sync + 'static,
) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let says = Arc::new(says);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let says = Arc::clone(&says);
            let service = service_fn(move |request: http::Request<Incoming>| {
                let says = Arc::clone(&says);
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await?.to_bytes();
                    match says(&head, &body) {
                        Says::Nothing => {}
                        Says::Later(moment) => moment.notified().await,
                        Says::Answer(response) => return Ok::<_, hyper::Error>(response),
                    }
                    let answer = send(to, http::Request::from_parts(head, Full::new(body))).await;
                    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
                    *response.status_mut() = answer.status;
                    response
                        .headers_mut()
                        .insert("content-type", answer.headers["content-type"].clone());
                    Ok(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}
