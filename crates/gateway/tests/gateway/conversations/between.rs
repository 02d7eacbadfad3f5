//! Two things on the way between a client's gateway and a service: a door, and an eavesdropper that
//! takes the words out of a service's mouth.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

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
    use http_body_util::BodyExt;
    use hyper_util::rt::TokioIo;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let last = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&last);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            let service = hyper::service::service_fn(
                move |request: http::Request<hyper::body::Incoming>| {
                    let kept = Arc::clone(&kept);
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await?.to_bytes();
                        let asks = head.headers.get("soapaction").is_some_and(|action| {
                            action.to_str().unwrap_or_default().contains("/RST/SCT")
                        });
                        if !asks {
                            *kept.lock().expect("no panic") =
                                String::from_utf8_lossy(&body).into_owned();
                        }
                        let passes = match lets {
                            Lets::Handshakes => asks,
                            Lets::Soap11 => head.headers["content-type"]
                                .to_str()
                                .is_ok_and(|media| media.starts_with("text/xml")),
                            Lets::Everything => true,
                        };
                        if passes {
                            let answer =
                                send(to, http::Request::from_parts(head, Full::new(body))).await;
                            let mut response = Response::new(Full::new(Bytes::from(answer.body)));
                            *response.status_mut() = answer.status;
                            response
                                .headers_mut()
                                .insert("content-type", answer.headers["content-type"].clone());
                            return Ok::<_, hyper::Error>(response);
                        }
                        let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
                         <faultcode xmlns:c=\"http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512\">c:BadContextToken</faultcode>\
                         <faultstring>unknown</faultstring></s:Fault></s:Body></s:Envelope>";
                        let mut response = Response::new(Full::new(Bytes::from(fault)));
                        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                        response
                            .headers_mut()
                            .insert("content-type", "text/xml".parse().expect("a value"));
                        Ok(response)
                    }
                },
            );
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    Between { address, last }
}
