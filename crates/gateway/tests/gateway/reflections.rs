//! Messages under a key that both sides hold, sent back by somebody on the way: none is taken for
//! the other side's.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use soapstone_gateway::Running;
use tokio::net::TcpListener;

use crate::support::{Answer, Backend, ENVELOPE, Folder, Said, post, reason, send};

/// Somebody on the way to a service, who passes requests on and keeps copies, or sends them back.
struct Way {
    address: SocketAddr,
    sends_back: Arc<AtomicBool>,
    /// The last answer that passed.
    answer: Arc<Mutex<String>>,
}

impl Way {
    async fn to(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (sends_back, answer) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new(String::new())),
        );
        let (back, kept) = (Arc::clone(&sends_back), Arc::clone(&answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (back, kept) = (Arc::clone(&back), Arc::clone(&kept));
                let passing = service_fn(move |request: Request<Incoming>| {
                    let (back, kept) = (Arc::clone(&back), Arc::clone(&kept));
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await?.to_bytes();
                        let media_type = head.headers["content-type"].clone();
                        let mut response = if back.load(Ordering::Relaxed) {
                            Response::new(Full::new(body))
                        } else {
                            let request = Request::from_parts(head, Full::new(body));
                            let Answer { status, body, .. } = send(service, request).await;
                            kept.lock().expect("nobody panicked").clone_from(&body);
                            let mut response = Response::new(Full::new(Bytes::from(body)));
                            *response.status_mut() = status;
                            response
                        };
                        response.headers_mut().insert("content-type", media_type);
                        Ok::<_, hyper::Error>(response)
                    }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), passing),
                );
            }
        });
        Self {
            address,
            sends_back,
            answer,
        }
    }
}

/// Two gateways with somebody on the way between them, and a backend that answers with its request.
struct Scene {
    folder: Folder,
    backend: Backend,
    service: Running,
    service_file: String,
    way: Way,
    client: Running,
    mechanism: String,
}

/// The tables of an endpoint with a shared key.
fn shared(mechanism: &str, suite: &str) -> String {
    format!(
        "shared_key = {{ hex = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\" }}\n\
         security = {{ mechanism = \"{mechanism}\", suite = \"{suite}\", key_reference = \"key-name\" }}\n"
    )
}

/// The tables of an endpoint that converses.
fn conversing(us: &str, peer: &str, suite: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\npeer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"secure-conversation\", suite = \"{suite}\" }}\n"
    )
}

impl Scene {
    async fn set(mechanism: &str, suite: &str) -> Self {
        let folder = Folder::with_keys();
        let backend = Backend::echo().await;
        let [at_service, at_client] = if mechanism == "secure-conversation" {
            [
                conversing("server", "client", suite),
                conversing("client", "server", suite),
            ]
        } else {
            [shared(mechanism, suite), shared(mechanism, suite)]
        };
        let route = |to: SocketAddr, side: &str, tables: &str| {
            format!(
                "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{to}/echo\"\n[routes.{side}]\n{tables}"
            )
        };
        let service_file = route(backend.address, "inbound", &at_service);
        let service = folder.gateway(&service_file).await;
        let way = Way::to(service.address()).await;
        let client = folder
            .gateway(&route(way.address, "outbound", &at_client))
            .await;
        Self {
            folder,
            backend,
            service,
            service_file,
            way,
            client,
            mechanism: mechanism.to_owned(),
        }
    }

    async fn call(&self) -> Answer {
        send(self.client.address(), post("/echo", ENVELOPE)).await
    }

    async fn called(&mut self) {
        let answer = self.call().await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        self.backend.seen.recv().await.expect("it arrived");
    }

    /// Sends the last answer to the service, as if it were a request.
    async fn answer_as_request(&self) -> Answer {
        let copied = self.way.answer.lock().expect("nobody panicked").clone();
        send(self.service.address(), post("/echo", copied)).await
    }

    /// How many messages a gateway has refused because they came back.
    async fn reflected(&self, gateway: &Running, direction: &str) -> u64 {
        let line = format!(
            "soapstone_refusals_total{{route=\"/echo\",direction=\"{direction}\",mechanism=\"{}\",reason=\"reflected\"}} ",
            self.mechanism
        );
        let metrics = gateway.metrics();
        let count = metrics.lines().find_map(|found| found.strip_prefix(&line));
        count.map_or(0, |count| count.parse().expect("a count"))
    }
}

const UNDER_ONE_KEY: [(&str, &str); 7] = [
    ("sign", "Basic256GCM"),
    ("encrypt", "Basic256GCM"),
    ("sign-encrypt", "Basic256GCM"),
    ("sign-encrypt", "Basic256Sha256"),
    ("encrypt-sign", "Basic256GCM"),
    ("secure-conversation", "Basic256GCM"),
    ("secure-conversation", "Basic256Sha256"),
];

#[tokio::test]
async fn a_request_that_is_sent_back_is_no_answer() {
    for (mechanism, suite) in UNDER_ONE_KEY {
        let mut scene = Scene::set(mechanism, suite).await;
        scene.called().await;
        scene.way.sends_back.store(true, Ordering::Relaxed);
        let (said, listening) = Said::listen();
        let answer = scene.call().await;
        drop(listening);
        let case = format!("{mechanism} {suite}: {}", answer.body);
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{case}");
        assert_eq!(said.caused("reflected"), 1, "{case}, {said}");
        assert!(!answer.body.contains(">hello<"), "{case}");
        assert_eq!(
            scene.reflected(&scene.client, "outbound").await,
            1,
            "{case}"
        );
        assert!(scene.backend.seen.try_recv().is_err(), "{case}");
        scene.way.sends_back.store(false, Ordering::Relaxed);
        scene.called().await;
    }
}

#[tokio::test]
async fn an_answer_that_is_sent_back_is_no_request() {
    for (mechanism, suite) in UNDER_ONE_KEY {
        let mut scene = Scene::set(mechanism, suite).await;
        scene.called().await;
        let (said, listening) = Said::listen();
        let answer = scene.answer_as_request().await;
        drop(listening);
        let case = format!("{mechanism} {suite}: {}", answer.body);
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{case}");
        assert_eq!(said.caused("reflected"), 1, "{case}, {said}");
        assert!(answer.body.contains("InvalidSecurityToken"), "{case}");
        let told = "An invalid security token was provided";
        assert_eq!(reason(&answer.body), told, "{case}");
        assert_eq!(
            scene.reflected(&scene.service, "inbound").await,
            1,
            "{case}"
        );
        assert!(scene.backend.seen.try_recv().is_err(), "{case}");
        scene.called().await;
    }
}

#[tokio::test]
async fn what_was_sent_is_remembered_over_a_reload() {
    for (mechanism, suite) in [
        ("sign", "Basic256GCM"),
        ("secure-conversation", "Basic256GCM"),
    ] {
        let mut scene = Scene::set(mechanism, suite).await;
        scene.called().await;
        scene
            .service
            .reload(scene.folder.config(&scene.service_file));
        let answer = scene.answer_as_request().await;
        let case = format!("{mechanism}: {}", answer.body);
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{case}");
        assert_eq!(
            scene.reflected(&scene.service, "inbound").await,
            1,
            "{case}"
        );
        assert!(scene.backend.seen.try_recv().is_err(), "{case}");
    }
}

/// As `attacks/reload-replay` does with marks: what was sent belongs to the process, and not to the
/// name of a route.
#[tokio::test]
async fn no_reload_and_no_other_route_takes_what_was_sent_for_a_request() {
    let renamed = |file: &str| file.replace("path = ", "name = \"other\"\npath = ");
    let moved = |file: &str| file.replace("path = \"/echo\"", "path = \"/other\"");
    let unprotected = |file: &str| {
        let (route, _) = file.split_once("[routes.inbound]").expect("it is there");
        route.to_owned()
    };
    let second = |file: &str| format!("{file}{}", moved(file).replace("LISTEN\n", ""));
    type Change<'c> = &'c dyn Fn(&str) -> String;
    let changes: [(&str, &[Change<'_>], &str); 5] = [
        ("renamed", &[&renamed], "/echo"),
        ("moved", &[&moved], "/other"),
        ("moved and back", &[&moved, &str::to_owned], "/echo"),
        (
            "unprotected and back",
            &[&unprotected, &str::to_owned],
            "/echo",
        ),
        ("beside another", &[&second], "/other"),
    ];
    for (name, reloads, path) in changes {
        let mut scene = Scene::set("sign", "Basic256GCM").await;
        scene.called().await;
        for change in reloads {
            let file = change(&scene.service_file);
            scene.service.reload(scene.folder.config(&file));
        }
        let copied = scene.way.answer.lock().expect("nobody panicked").clone();
        let answer = send(scene.service.address(), post(path, copied)).await;
        let metrics = scene.service.metrics();
        let reflected = metrics
            .lines()
            .filter(|line| line.contains("reason=\"reflected\"") && line.ends_with(" 1"));
        assert_eq!(reflected.count(), 1, "{name}: {}", answer.body);
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{name}");
        assert!(scene.backend.seen.try_recv().is_err(), "{name}");
    }
}
