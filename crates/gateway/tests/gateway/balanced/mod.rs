//! Routes with several backends: who gets which request, and what becomes of requests that a
//! backend fails.

mod choice;
mod failures;
mod operated;
mod protected;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use soapstone_gateway::Running;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::conversations;
use crate::support::{Answer, ENVELOPE, gateway, post, send, soon};

/// What a member answers with.
#[derive(Clone, Copy)]
enum Manner {
    /// Its own name.
    Names,
    /// The request itself.
    Echoes,
    /// Nothing: the connection is closed once the request has arrived.
    Hangs,
}

/// A backend that counts its requests and can be killed.
struct Member {
    address: SocketAddr,
    requests: Arc<AtomicU32>,
    bodies: Arc<Mutex<Vec<String>>>,
    /// The status of its answers.
    status: Arc<AtomicU16>,
    /// The status of its answers to health checks.
    health: Arc<AtomicU16>,
    serving: JoinSet<()>,
}

impl Member {
    async fn new(name: &'static str, manner: Manner) -> Self {
        Self::with_delay(name, manner, Duration::ZERO).await
    }

    async fn with_delay(name: &'static str, manner: Manner, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::on(listener, name, manner, delay)
    }

    fn on(listener: TcpListener, name: &'static str, manner: Manner, delay: Duration) -> Self {
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(AtomicU32::new(0));
        let bodies = Arc::<Mutex<Vec<String>>>::default();
        let (status, health) = (Arc::new(AtomicU16::new(200)), Arc::new(AtomicU16::new(200)));
        let mut serving = JoinSet::new();
        let known = (
            Arc::clone(&requests),
            Arc::clone(&bodies),
            Arc::clone(&status),
            Arc::clone(&health),
        );
        serving.spawn(async move {
            // Dropped with this task: a killed member closes all of them.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let known = known.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let (requests, bodies, status, health) = known.clone();
                    async move {
                        if request.uri().path() == "/healthz" {
                            return Ok(answer(health.load(Ordering::Relaxed), Bytes::new()));
                        }
                        requests.fetch_add(1, Ordering::Relaxed);
                        let body = request.into_body().collect().await;
                        let body = body.map_err(|error| error.to_string())?.to_bytes();
                        let text = String::from_utf8_lossy(&body).into_owned();
                        bodies.lock().expect("no panic").push(text);
                        tokio::time::sleep(delay).await;
                        match manner {
                            Manner::Hangs => Err("the end".to_owned()),
                            Manner::Echoes => Ok(answer(status.load(Ordering::Relaxed), body)),
                            Manner::Names => {
                                Ok(answer(status.load(Ordering::Relaxed), name.into()))
                            }
                        }
                    }
                });
                let serving = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                connections.spawn(async move {
                    // A connection that hangs up ends with an error.
                    let _ = serving.await;
                });
            }
        });
        Self {
            address,
            requests,
            bodies,
            status,
            health,
            serving,
        }
    }

    fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().expect("no panic").clone()
    }

    /// Ends it with all of its connections.
    async fn kill(&mut self) {
        self.serving.shutdown().await;
    }
}

fn answer(status: u16, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    let media_type = http::HeaderValue::from_static("text/xml; charset=utf-8");
    response.headers_mut().insert("content-type", media_type);
    response
}

/// The file of a gateway with a route from `/echo` to these backends, each with more keys of its
/// own; and with more lines of the route.
fn file(backends: &[(SocketAddr, &str)], more: &str) -> String {
    let mut text = "LISTEN\n[[routes]]\npath = \"/echo\"\n".to_owned();
    for (address, keys) in backends {
        let keys = keys.replace(", ", "\n");
        writeln!(
            text,
            "[[routes.backends]]\nurl = \"http://{address}/echo\"\n{keys}"
        )
        .expect("a string takes it");
    }
    text.push_str(more);
    text
}

async fn balanced(members: &[&Member], more: &str) -> Running {
    let backends: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    gateway(&file(&backends, more)).await
}

async fn call(gateway: &Running) -> Answer {
    send(gateway.address(), post("/echo", ENVELOPE)).await
}

/// Who answers so many calls, one after the other.
async fn callees(gateway: &Running, calls: usize) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for _ in 0..calls {
        let answer = call(gateway).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        *found.entry(answer.body).or_insert(0) += 1;
    }
    found
}

fn counts<const N: usize>(of: [(&str, u32); N]) -> BTreeMap<String, u32> {
    of.map(|(name, count)| (name.to_owned(), count)).into()
}

/// The value of a line of a gateway's metrics; 0 where there is no such line.
async fn metric(gateway: &Running, line: &str) -> u64 {
    conversations::metric(gateway, line).await
}

fn of_member(name: &str, member: &Member) -> String {
    format!(
        "soapstone_balanced_{name}{{route=\"/echo\",backend=\"{}\"}}",
        member.address
    )
}

async fn usable(gateway: &Running, member: &Member) -> bool {
    metric(gateway, &of_member("usable", member)).await == 1
}

/// Waits until a backend gets calls, or gets none.
async fn becomes(gateway: &Running, member: &Member, expected: bool) {
    soon("the other state", async {
        while usable(gateway, member).await != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

const IDEMPOTENT: &str = "[routes.balance]\nidempotent = [\"{urn:echo}echo\", \"echo\"]\n";
