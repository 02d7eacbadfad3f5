//! Messages that were accepted under one configuration, sent again under others: none is accepted
//! twice in the life of a process.

use std::net::SocketAddr;

use http::StatusCode;
use soapstone_gateway::{Gateway, Running, StartError, StoreError};

use crate::secured::secured;
use crate::support::{Backend, ENVELOPE, Folder, post, send};

/// A route with a signed service, as the case `attacks/reload-replay` has it.
const SIGNED: &str = "[[routes]]\npath = \"/s\"\nbackend = \"BACKEND\"\n[routes.inbound]\n\
                      identity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\n\
                      peer = { certificate = \"client.cert.pem\" }\ntrust = { anchors = [\"ca.cert.pem\"] }\n\
                      security = { mechanism = \"sign\", suite = \"Basic256Sha256\" }\n";

/// The same without its endpoint.
fn unprotected() -> String {
    let (route, _) = SIGNED.split_once("[routes.inbound]").expect("it is there");
    route.to_owned()
}

/// The same with something else in its file.
fn with(what: &str, other: &str) -> String {
    assert!(SIGNED.contains(what), "{what}");
    SIGNED.replace(what, other)
}

struct Scene {
    folder: Folder,
    backend: Backend,
    gateway: Running,
}

impl Scene {
    async fn set(routes: &str) -> Self {
        let folder = Folder::with_keys();
        let backend = Backend::echo().await;
        let file = file(backend.address, routes);
        let gateway = folder.gateway(&file).await;
        Self {
            folder,
            backend,
            gateway,
        }
    }

    fn reload(&self, routes: &str) {
        let file = file(self.backend.address, routes);
        self.gateway.reload(self.folder.config(&file));
    }

    async fn send(&self, path: &str, message: &[u8]) -> StatusCode {
        let request = post(path, message.to_vec());
        send(self.gateway.address(), request).await.status
    }

    /// Whether a copy of a message is refused as one, and not for another reason.
    async fn refuses_copy(&self, path: &str, message: &[u8]) -> bool {
        let before = self.replayed().await;
        let status = self.send(path, message).await;
        status == StatusCode::INTERNAL_SERVER_ERROR && self.replayed().await == before + 1
    }

    async fn replayed(&self) -> u64 {
        let text = crate::secured::metrics(&self.gateway).await;
        let lines = text
            .lines()
            .filter(|line| line.contains("reason=\"replayed\""));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    }
}

fn file(backend: SocketAddr, routes: &str) -> String {
    let backend = format!("http://{backend}/s");
    format!("LISTEN\n{}", routes.replace("BACKEND", &backend))
}

/// Case `attacks/reload-replay`: marks belong to who signed and to the process, not to the name of
/// a route.
#[tokio::test]
async fn no_reload_lets_a_copy_in() {
    let inbound = |mechanism: &str| with("\"sign\"", &format!("\"{mechanism}\""));
    let replay = |replay: &str| {
        let replay = format!("\"sign\", replay = {{ {replay} }}");
        with("\"sign\"", &replay)
    };
    let second = |name: &str| format!("{SIGNED}{}", with("path = \"/s\"", name));
    let file = replay("store = \"file\", path = \"marks\"");
    let reloads: Vec<(&str, Vec<String>)> = vec![
        ("the same", vec![SIGNED.to_owned()]),
        ("renamed", vec![with("path", "name = \"other\"\npath")]),
        (
            "renamed and back",
            vec![with("path", "name = \"other\"\npath"), SIGNED.to_owned()],
        ),
        (
            "moved and back",
            vec![with("\"/s\"", "\"/t\""), SIGNED.to_owned()],
        ),
        (
            "unprotected and back",
            vec![unprotected(), SIGNED.to_owned()],
        ),
        ("none and back", vec![inbound("none"), SIGNED.to_owned()]),
        (
            "encrypted as well and back",
            vec![inbound("sign-encrypt"), SIGNED.to_owned()],
        ),
        (
            "other trust and back",
            vec![
                with(
                    "anchors = [\"ca.cert.pem\"]",
                    "pinned = [\"server.cert.pem\"]",
                ),
                SIGNED.to_owned(),
            ],
        ),
        (
            "pinned instead of trusted",
            vec![with(
                "anchors = [\"ca.cert.pem\"]",
                "pinned = [\"client.cert.pem\"]",
            )],
        ),
        (
            "other identity and back",
            vec![with("server", "client"), SIGNED.to_owned()],
        ),
        (
            "less room",
            vec![replay("store = \"memory\", capacity = 1")],
        ),
        (
            "more room",
            vec![replay("store = \"memory\", capacity = 2000000")],
        ),
        ("a file", vec![file.clone()]),
        ("a file and back", vec![file.clone(), SIGNED.to_owned()]),
        (
            "another file",
            vec![file.clone(), file.replace("marks", "others")],
        ),
        (
            "beside another",
            vec![
                second("path = \"/a\""),
                second("path = \"/z\""),
                SIGNED.to_owned(),
            ],
        ),
        (
            "many",
            vec![
                unprotected(),
                with("\"/s\"", "\"/t\""),
                file,
                inbound("none"),
                with("path", "name = \"other\"\npath"),
            ],
        ),
    ];
    for (name, reloads) in reloads {
        let scene = Scene::set(SIGNED).await;
        let message = secured(&scene.folder, "sign");
        assert_eq!(scene.send("/s", &message).await, StatusCode::OK, "{name}");
        assert!(scene.refuses_copy("/s", &message).await, "{name}");
        for reload in &reloads {
            scene.reload(reload);
        }
        assert!(scene.refuses_copy("/s", &message).await, "{name}");
        let next = secured(&scene.folder, "sign");
        let last = reloads.last().expect("there is one");
        if !last.contains("capacity = 1 ") {
            assert_eq!(scene.send("/s", &next).await, StatusCode::OK, "{name}");
        }
    }
}

/// A message that a route took in hand before a reload, and that ends after it.
#[tokio::test]
async fn a_message_that_was_accepted_under_a_file_is_a_copy_under_memory() {
    let file = with(
        "\"sign\"",
        "\"sign\", replay = { store = \"file\", path = \"marks\" }",
    );
    let scene = Scene::set(&file).await;
    let message = secured(&scene.folder, "sign");
    assert_eq!(scene.send("/s", &message).await, StatusCode::OK);
    scene.reload(SIGNED);
    assert!(scene.refuses_copy("/s", &message).await);
}

#[tokio::test]
async fn a_message_that_one_route_accepted_is_a_copy_for_the_others() {
    let other = with("\"/s\"", "\"/other\"");
    let scene = Scene::set(&format!("{SIGNED}{other}")).await;
    let message = secured(&scene.folder, "sign");
    assert_eq!(scene.send("/s", &message).await, StatusCode::OK);
    assert!(scene.refuses_copy("/other", &message).await);
    let next = secured(&scene.folder, "sign");
    assert_eq!(scene.send("/other", &next).await, StatusCode::OK);
    assert!(scene.refuses_copy("/s", &next).await);
}

/// The same route, which takes what others accepted.
fn by_route(route: &str) -> String {
    route.replace("\"sign\"", "\"sign\", replay = { scope = \"route\" }")
}

/// Two services that get the same signed content, as of stacks whose Timestamps have whole seconds
/// and that sign nothing else on TLS.
#[tokio::test]
async fn a_route_of_its_own_scope_takes_what_another_accepted_and_refuses_its_own_copies() {
    let other = with("\"/s\"", "\"/other\"");
    let routes = format!(
        "{}{}{}",
        by_route(SIGNED),
        by_route(&other),
        with("\"/s\"", "\"/strict\"")
    );
    let scene = Scene::set(&routes).await;
    for path in ["/s", "/other", "/strict"] {
        let message = secured(&scene.folder, "sign");
        assert_eq!(scene.send(path, &message).await, StatusCode::OK, "{path}");
        assert!(scene.refuses_copy(path, &message).await, "{path}");
        assert!(scene.refuses_copy("/strict", &message).await, "{path}");
        for again in ["/s", "/other"].into_iter().filter(|again| *again != path) {
            assert_eq!(scene.send(again, &message).await, StatusCode::OK, "{path}");
            assert!(scene.refuses_copy(again, &message).await, "{path}");
        }
        // Nothing of it is forgotten by a reload that changes nothing.
        scene.reload(&routes);
        for again in ["/s", "/other", "/strict"] {
            assert!(scene.refuses_copy(again, &message).await, "{path}, {again}");
        }
    }
}

/// As [`no_reload_lets_a_copy_in`], where routes have scopes of their own.
#[tokio::test]
async fn no_reload_lets_a_copy_in_where_routes_have_scopes() {
    let scoped = by_route(SIGNED);
    let other = by_route(&with("\"/s\"", "\"/other\""));
    let both = format!("{scoped}{other}");
    let named =
        |name: &str, route: &str| route.replace("path = ", &format!("name = \"{name}\"\npath = "));
    let swapped = format!("{}{}", named("/other", &scoped), named("/s", &other));
    let reloads: Vec<(&str, Vec<String>, &str)> = vec![
        (
            "renamed",
            vec![format!("{}{other}", named("new", &scoped))],
            "/s",
        ),
        (
            "renamed and back",
            vec![format!("{}{other}", named("new", &scoped)), both.clone()],
            "/s",
        ),
        (
            "moved",
            vec![format!("{}{other}", scoped.replace("\"/s\"", "\"/t\""))],
            "/t",
        ),
        (
            "moved under its name",
            vec![format!(
                "{}{other}",
                named("/s", &scoped.replace("\"/s\"", "\"/t\""))
            )],
            "/t",
        ),
        (
            "moved and back",
            vec![scoped.replace("\"/s\"", "\"/t\""), both.clone()],
            "/s",
        ),
        ("names swapped", vec![swapped.clone()], "/s"),
        ("names swapped and back", vec![swapped, both.clone()], "/s"),
        (
            "unprotected and back",
            vec![format!("{}{other}", unprotected()), both.clone()],
            "/s",
        ),
        ("removed and back", vec![other.clone(), both.clone()], "/s"),
        ("strict", vec![format!("{SIGNED}{other}")], "/s"),
        (
            "strict and back",
            vec![format!("{SIGNED}{other}"), both.clone()],
            "/s",
        ),
        (
            "beside a new one",
            vec![format!("{both}{}", scoped.replace("\"/s\"", "\"/new\""))],
            "/new",
        ),
    ];
    for (name, reloads, path) in reloads {
        let scene = Scene::set(&both).await;
        let message = secured(&scene.folder, "sign");
        assert_eq!(scene.send("/s", &message).await, StatusCode::OK, "{name}");
        for reload in &reloads {
            scene.reload(reload);
        }
        assert!(scene.refuses_copy(path, &message).await, "{name}");
        let next = secured(&scene.folder, "sign");
        assert_eq!(scene.send(path, &next).await, StatusCode::OK, "{name}");
        assert!(scene.refuses_copy(path, &next).await, "{name}");
    }
    // From strict to a scope: what it accepted before stays a copy.
    let scene = Scene::set(SIGNED).await;
    let message = secured(&scene.folder, "sign");
    assert_eq!(scene.send("/s", &message).await, StatusCode::OK);
    scene.reload(&scoped);
    assert!(scene.refuses_copy("/s", &message).await);
}

/// No partner fills the memory of the others: each route has room of its own.
#[tokio::test]
async fn a_route_whose_room_is_full_takes_none_of_another() {
    let small = with(
        "\"sign\"",
        "\"sign\", replay = { store = \"memory\", capacity = 1 }",
    );
    let other = with("\"/s\"", "\"/other\"");
    let scene = Scene::set(&format!("{small}{other}")).await;
    let send = async |path: &str| {
        let message = secured(&scene.folder, "sign");
        scene.send(path, &message).await
    };
    assert_eq!(send("/s").await, StatusCode::OK);
    assert_eq!(send("/s").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(send("/other").await, StatusCode::OK);
    // The room of a route is as full after a reload.
    scene.reload(&format!("{small}{other}"));
    assert_eq!(send("/s").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        scene.send("/other", ENVELOPE.as_bytes()).await,
        StatusCode::INTERNAL_SERVER_ERROR
    );
}

/// What could be opened while the file was read may be gone when the routes are built.
#[tokio::test]
async fn a_configuration_whose_store_is_gone_is_not_taken_into_use() {
    let scene = Scene::set(SIGNED).await;
    let routes = with(
        "\"sign\"",
        "\"sign\", replay = { store = \"file\", path = \"marks\" }",
    );
    let text = file(scene.backend.address, &routes);
    let read = || {
        let marks = scene.folder.path("marks");
        if marks.exists() {
            std::fs::remove_file(&marks).expect("it is ours");
        }
        let config = scene.folder.config(&text);
        std::fs::write(marks, "something else").expect("the folder is ours");
        config
    };
    scene.gateway.reload(read());
    let metrics = crate::secured::metrics(&scene.gateway).await;
    assert!(
        metrics.contains("soapstone_failed_reloads_total 1\n"),
        "{metrics}"
    );
    assert!(metrics.contains("soapstone_reloads_total 0\n"), "{metrics}");
    let message = secured(&scene.folder, "sign");
    assert_eq!(scene.send("/s", &message).await, StatusCode::OK);
    let error = Gateway::start(read()).await.map(drop);
    assert!(
        matches!(&error, Err(StartError::Store { route, source: StoreError::File { .. } }) if route == "/s"),
        "{error:?}"
    );
}
