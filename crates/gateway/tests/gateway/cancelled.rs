//! Assertions that are cancelled at a token service, and services that know it (WS-Trust 1.4, 6).

use http::StatusCode;
use serde_json::Value;
use soapstone_gateway::{Config, Running};
use soapstone_testkit::envelope;

use crate::support::{Answer, Backend, Said, get, send_over, soon};
use crate::tls::connect;
use crate::token_services::{
    AUDIENCE, USER, WST, ask, assertion, folder, id_of, request, services,
};

/// Token services that cancel, and services that accept their assertions: one that knows what was
/// cancelled, and one that does not ask.
fn gateway(backend: std::net::SocketAddr, more: &str) -> String {
    let table = services(more).replace("longest_lifetime", "cancellable = true\nlongest_lifetime");
    let service = |path: &str, more: &str| {
        format!(
            "[[routes]]\nname = \"{path}\"\npath = \"/{path}\"\nbackend = \"http://{backend}/echo\"\n[routes.inbound]\nsecurity = {{ mechanism = \"none\" }}\n\
             [routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"bearer\"]\n{more}\n\
             issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n"
        )
    };
    let (knowing, careless) = (
        service("knowing", "refuse_cancelled = true"),
        service("careless", ""),
    );
    let other = "users = [{ name = \"alice\", password = \"secret\" }";
    let users = format!("{other}, {{ name = \"bob\", password = \"guess\" }}");
    format!("{}{knowing}{careless}", table.replacen(other, &users, 1))
}

/// A message with an assertion that nothing else protects.
pub(crate) fn shown(token: &str) -> Vec<u8> {
    let wsse = soapstone::wss::names::WSSE;
    let header = format!("<wsse:Security xmlns:wsse=\"{wsse}\">{token}</wsse:Security>");
    envelope::with_header(soapstone::wss::names::SOAP11, &header, "<a/>").into_bytes()
}

/// A message that wants something done with an assertion.
pub(crate) fn targeted(operation: &str, token: &str) -> String {
    envelope::with_body(&format!(
        "<wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/{operation}</wst:RequestType>\
         <wst:{operation}Target>{token}</wst:{operation}Target></wst:RequestSecurityToken>"
    ))
}

struct Case {
    folder: crate::support::Folder,
    gateway: Running,
    backend: Backend,
}

impl Case {
    async fn new(more: &str) -> Self {
        let folder = folder();
        let backend = Backend::echo().await;
        let gateway = folder.gateway(&gateway(backend.address, more)).await;
        Self {
            folder,
            gateway,
            backend,
        }
    }

    async fn asked(&self, user: &str, message: &str) -> Answer {
        ask(&self.gateway, "/users", self.folder.secured(user, message)).await
    }

    async fn issued(&self) -> String {
        let answer = self
            .asked(USER, &request("Issue", AUDIENCE, "Bearer", ""))
            .await;
        assertion(&answer)
    }

    async fn status(&self, path: &str, token: &str) -> StatusCode {
        ask(&self.gateway, path, shown(token)).await.status
    }
}

#[tokio::test]
async fn a_service_of_the_process_refuses_what_was_cancelled() {
    let (said, _listening) = Said::listen();
    let case = Case::new("audit = { file = \"audit.jsonl\" }").await;
    let (token, other) = (case.issued().await, case.issued().await);
    assert_eq!(case.status("/knowing", &token).await, StatusCode::OK);
    let answer = case.asked(USER, &targeted("Cancel", &token)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(
        answer.body.contains("RequestedTokenCancelled"),
        "{}",
        answer.body
    );
    // Shown again, by whoever kept it.
    for _ in 0..2 {
        let refused = ask(&case.gateway, "/knowing", shown(&token)).await;
        assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            refused.body.contains("wsse:InvalidSecurityToken"),
            "{}",
            refused.body
        );
        assert!(!refused.body.contains("cancel"), "{}", refused.body);
    }
    assert_eq!(said.caused("assertion-cancelled"), 2, "{said}");
    assert_eq!(case.status("/knowing", &other).await, StatusCode::OK);
    assert_eq!(case.status("/careless", &token).await, StatusCode::OK);
    for (token, status) in [(&token, "/status/invalid<"), (&other, "/status/valid<")] {
        let answer = case.asked(USER, &targeted("Validate", token)).await;
        assert!(answer.body.contains(status), "{}", answer.body);
    }
    let text = soon("the line", async {
        loop {
            let text = std::fs::read_to_string(case.folder.path("audit.jsonl")).unwrap_or_default();
            if text.contains("\"cancelled\":true") && text.ends_with('\n') {
                return text;
            }
            tokio::task::yield_now().await;
        }
    });
    let text = text.await;
    // Whoever has the id of a bearer's assertion may be given the assertion.
    for token in [&token, &other] {
        assert!(!text.contains(id_of(token)), "{text}");
        let said = said.to_string();
        assert!(!said.contains(id_of(token)), "{said}");
    }
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let mut lines = lines.filter(|line: &Value| line["assertions"][0]["cancelled"] == true);
    let line = lines.next().expect("a line");
    assert_eq!(line["assertions"][0]["subject"], "alice");
    let id = line["assertions"][0]["id"].as_str().expect("text");
    assert!(id.starts_with("SHA-256 of "), "{id}");
    assert!(said.to_string().contains(id), "{said}");
    assert!(lines.next().is_none());
    let stream = connect(case.gateway.address(), b"http/1.1", false).await;
    let metrics = send_over(stream.expect("a handshake"), get("/metrics")).await;
    let metrics = metrics.expect("an answer").body;
    let line = "soapstone_assertions_total{route=\"users\",event=\"cancelled\"} 1";
    assert!(metrics.contains(line), "{metrics}");
}

/// Roles are asked before anything is done.
#[tokio::test]
async fn who_may_not_ask_a_token_service_cancels_nothing() {
    let case = Case::new("").await;
    let token = case.issued().await;
    let role = "audit = { file = \"audit.jsonl\" }\n\
        [[roles]]\nname = \"readers\"\nmembers = { anybody = true }\nallow = [\"knowing:*\"]\n\
        [[roles]]\nname = \"others\"\nmembers = { users = [\"bob\"] }\nallow = [\"*:*\"]\n";
    let text = gateway(case.backend.address, role);
    let strict = case.folder.gateway(&text).await;
    let message = |operation| case.folder.secured(USER, &targeted(operation, &token));
    for operation in ["Cancel", "Renew", "Validate"] {
        let answer = ask(&strict, "/users", message(operation)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    }
    let answer = ask(&strict, "/knowing", shown(&token)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let text = soon("the lines", async {
        loop {
            let text = std::fs::read_to_string(case.folder.path("audit.jsonl")).unwrap_or_default();
            if text.lines().count() == 4 && text.ends_with('\n') {
                return text;
            }
            tokio::task::yield_now().await;
        }
    });
    let text = text.await;
    assert_eq!(text.matches("\"not-allowed\"").count(), 3, "{text}");
    assert!(!text.contains("\"cancelled\""), "{text}");
}

/// Whoever sees an assertion could end it for its subject.
#[tokio::test]
async fn a_stranger_ends_nobodys_assertion() {
    let case = Case::new("").await;
    let token = case.issued().await;
    let bob = USER.replace("alice", "bob").replace("secret", "guess");
    let forged = token.replace(">alice<", ">bob<");
    for token in [&token, &forged] {
        let answer = case.asked(&bob, &targeted("Cancel", token)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            answer.body.contains("wst:FailedAuthentication"),
            "{}",
            answer.body
        );
    }
    assert_eq!(case.status("/knowing", &token).await, StatusCode::OK);
}

#[test]
fn files_that_forget_at_a_restart_what_was_cancelled_are_warned_of() {
    let folder = folder();
    let nobody = "127.0.0.1:9".parse().expect("an address");
    let names = |text: &str| -> Vec<(&'static str, String)> {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let warnings = config.expect("it is right").warnings().into_iter();
        let warnings = warnings.filter(|it| it.name.starts_with("cancelled-"));
        let told = warnings.map(|it| (it.name, it.problem.message));
        told.collect()
    };
    let right = gateway(nobody, "");
    let told = names(&right);
    assert_eq!(told.len(), 2, "{told:?}");
    for ((name, message), path) in told.iter().zip(["/users", "/signers"]) {
        assert_eq!(*name, "cancelled-until-restart");
        assert!(message.starts_with(&format!("route {path} ")), "{message}");
    }
    // Nobody in the file cancels, or only one who tells others.
    let store = "replay = { store = \"file\", path = \"marks\" }";
    let mut shared = right.clone();
    for mechanism in ["username", "sign"] {
        let security = format!("security = {{ mechanism = \"{mechanism}\"");
        shared = shared.replace(&security, &format!("{security}, {store}"));
    }
    for text in [right.replace("cancellable = true\n", ""), shared.clone()] {
        let told = names(&text);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, "cancelled-elsewhere");
        assert!(told[0].1.starts_with("route /knowing "), "{}", told[0].1);
    }
    let none = "security = { mechanism = \"none\"";
    let all = shared.replace(none, &format!("{none}, {store}"));
    assert_eq!(names(&all), []);
}

#[test]
fn files_that_would_forget_what_was_cancelled_are_refused() {
    let folder = folder();
    let nobody = "127.0.0.1:9".parse().expect("an address");
    let told = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let right = gateway(nobody, "");
    assert_eq!(told(&right), "");
    let flag = "refuse_cancelled = true";
    let late = told(&right.replace(flag, &format!("{flag}\nskew = \"6m\"")));
    assert!(late.contains("make `skew` five minutes at most"), "{late}");
    let outbound = told(&format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:9/echo\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
         [routes.outbound]\nsecurity = {{ mechanism = \"none\" }}\n\
         [routes.outbound.saml]\nconfirmation = [\"bearer\"]\nfrom_request = true\n{flag}\n"
    ));
    assert!(
        outbound.contains("is for those who accept assertions"),
        "{outbound}"
    );
}
