//! A token service that is a process of its own is stopped and started again: what was granted goes
//! on, what ended is not used, and new assertions come as soon as it is back.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use common::{Folder, SOAP11, envelope, key};
use server::{Server, backend, free_port, post};

const AUDIENCE: &str = "https://books.example/books";
const ISSUER: &str = "https://sts.example";

/// Three gateways: one that is a token service, one before a service, and one behind a client.
struct Federation {
    folder: Folder,
    sts: u16,
    client: u16,
    admin: u16,
}

impl Federation {
    fn new(backend: SocketAddr) -> Self {
        let folder = Folder::new();
        let [sts, service, client, admin] = [(); 4].map(|()| free_port());
        let anchors = format!("trust = {{ anchors = [\"{}\"] }}\n", key("ca.cert.pem"));
        let sign_encrypt = "security = { mechanism = \"sign-encrypt\" }\n";
        let issuers = format!(
            "issuers = [{{ name = \"{ISSUER}\", pinned = [\"{}\"] }}]\n",
            key("p384.cert.pem")
        );
        folder.write(
            "sts.toml",
            format!(
                "listen = \"127.0.0.1:{sts}\"\n[[routes]]\npath = \"/sts\"\n[routes.inbound]\n{}{}{anchors}{sign_encrypt}\
                 [routes.sts]\nissuer = \"{ISSUER}\"\n{}key_types = [\"bearer\", \"public-key\"]\n\
                 shortest_lifetime = \"1s\"\nlongest_lifetime = \"1h\"\nservices = [{{ address = \"{AUDIENCE}\" }}]\n",
                identity("server"),
                peer("client"),
                identity("p384"),
            ),
        );
        // The service would accept for long what ended: the client's gateway does not send it.
        folder.write(
            "service.toml",
            format!(
                "listen = \"127.0.0.1:{service}\"\n[[routes]]\npath = \"/books\"\nbackend = \"http://{backend}/\"\n\
                 [routes.inbound]\n{}{anchors}security = {{ mechanism = \"sign\" }}\n\
                 [routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\nversions = [\"2.0\"]\n\
                 skew = \"10m\"\n{issuers}",
                identity("server"),
            ),
        );
        let route = |path: &str, lifetime: &str| {
            format!(
                "[[routes]]\npath = \"/{path}\"\nbackend = \"http://127.0.0.1:{service}/books\"\n\
                 [routes.outbound]\n{}{anchors}security = {{ mechanism = \"sign\" }}\n\
                 [routes.outbound.saml]\nconfirmation = [\"holder-of-key\"]\n{issuers}\
                 [routes.outbound.saml.token_service]\nurl = \"http://127.0.0.1:{sts}/sts\"\napplies_to = \"{AUDIENCE}\"\n\
                 lifetime = \"{lifetime}\"\n[routes.outbound.saml.token_service.endpoint]\n{}{}{anchors}{sign_encrypt}",
                identity("client"),
                identity("client"),
                peer("server"),
            )
        };
        let routes = ["kept", "later"].map(|path| route(path, "30m")).concat();
        let routes = routes + &route("short", "2s");
        folder.write(
            "client.toml",
            format!("listen = \"127.0.0.1:{client}\"\nadmin = \"127.0.0.1:{admin}\"\n{routes}"),
        );
        Self {
            folder,
            sts,
            client,
            admin,
        }
    }

    fn start(&self, name: &str) -> Server {
        let words = format!("gateway --config {name}.toml");
        Server::start(&self.folder, &words, "gateway at")
    }

    /// The answer to a plain request on a route.
    fn ask(&self, path: &str) -> String {
        post(
            &format!("http://127.0.0.1:{}/{path}", self.client),
            &envelope(SOAP11),
        )
    }

    #[track_caller]
    fn is_served(&self, path: &str) {
        let answer = self.ask(path);
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("urn:books"),
            "{path}: {answer}"
        );
    }

    /// Asks until the answer has a status.
    #[track_caller]
    fn becomes(&self, path: &str, status: &str) -> String {
        let begun = Instant::now();
        loop {
            let answer = self.ask(path);
            if answer.starts_with(&format!("HTTP/1.1 {status}")) {
                return answer;
            }
            // No bound on speed: a test that cannot succeed has to end.
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{path}: {answer}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// How many assertions a route was granted.
    fn granted(&self, path: &str) -> u64 {
        let text = server::get(&format!("http://127.0.0.1:{}/metrics", self.admin));
        let name =
            format!("soapstone_token_requests_total{{route=\"/{path}\",outcome=\"issued\"}} ");
        let count = text.lines().find_map(|line| line.strip_prefix(&name));
        count.map_or(0, |count| count.parse().expect("a number"))
    }
}

fn identity(name: &str) -> String {
    format!(
        "identity = {{ key = \"{}\", certificate = \"{}\" }}\n",
        key(&format!("{name}.key.pem")),
        key(&format!("{name}.cert.pem"))
    )
}

fn peer(name: &str) -> String {
    format!(
        "peer = {{ certificate = \"{}\" }}\n",
        key(&format!("{name}.cert.pem"))
    )
}

#[test]
fn granted_assertions_go_on_without_their_token_service_and_new_ones_come_when_it_is_back() {
    let federation = Federation::new(backend());
    let _service = federation.start("service");
    let _client = federation.start("client");
    let mut sts = federation.start("sts");
    federation.is_served("kept");
    federation.is_served("short");
    assert_eq!(federation.granted("kept"), 1);

    assert_eq!(sts.stop("-TERM"), Some(0));
    let port = federation.sts;
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    // Granted before: it goes on, and nobody is asked.
    federation.is_served("kept");
    // Never granted, and ended: the request is refused, and its client is told of no token service.
    for path in ["later", "short"] {
        let refused = federation.becomes(path, "502");
        assert!(!refused.contains("sts"), "{refused}");
        assert!(!refused.contains("urn:books"), "{refused}");
    }
    federation.is_served("kept");
    let before = federation.granted("short");

    let mut sts = federation.start("sts");
    for path in ["later", "short"] {
        federation.becomes(path, "200");
    }
    assert_eq!(federation.granted("later"), 1);
    assert!(federation.granted("short") > before);
    // The new process did not make this one, and its receiver asks nobody.
    federation.is_served("kept");
    assert_eq!(federation.granted("kept"), 1);
    assert_eq!(sts.stop("-TERM"), Some(0));
}
