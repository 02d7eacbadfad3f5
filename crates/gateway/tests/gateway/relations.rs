//! Answers that somebody on the way gives to other requests than they are to.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::Running;

use crate::answers::{on_the_way, under};
use crate::support::{Answer, Backend, ENVELOPE, Folder, Said, post, send};

/// The tables of a side; `security` is its last one.
fn tables(us: &str, peer: &str, security: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         security = {{ {security} }}\n"
    )
}

fn route(backend: SocketAddr, side: &str, tables: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.{side}]\n{tables}"
    )
}

async fn service(folder: &Folder, backend: &Backend, security: &str) -> Running {
    let side = tables("server", "client", security);
    let file = route(backend.address, "inbound", &side);
    folder.gateway(&file).await
}

async fn client(folder: &Folder, service: SocketAddr, security: &str) -> Running {
    let side = tables("client", "server", security);
    folder.gateway(&route(service, "outbound", &side)).await
}

/// Somebody on the way who lets so many exchanges pass, withholds the answer to the next one, and
/// gives it to the one behind that.
async fn mixing_up(service: SocketAddr, passes: usize) -> SocketAddr {
    let (count, kept) = (AtomicUsize::new(0), Mutex::new(None));
    on_the_way(service, move |answer| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let status = answer.status.to_string();
        if number < passes {
            return under(answer, &status, "");
        }
        let mut kept = kept.lock().expect("no test panics here");
        if number == passes {
            *kept = Some(under(answer, "200 OK", ""));
            return under(answer, "503 Service Unavailable", "");
        }
        kept.take().unwrap_or_else(|| under(answer, &status, ""))
    })
    .await
}

/// Asks for an echo of `said`, with a message id of the client's own if it has one.
async fn ask(client: &Running, said: &str, message_id: Option<&str>) -> Answer {
    let header = message_id.map_or(String::new(), |id| {
        format!(
            "<s:Header><a:MessageID xmlns:a=\"http://www.w3.org/2005/08/addressing\">{id}\
             </a:MessageID></s:Header>"
        )
    });
    let plain = ENVELOPE
        .replace(">hello<", &format!(">{said}<"))
        .replace("<s:Body>", &format!("{header}<s:Body>"));
    send(client.address(), post("/echo", plain)).await
}

/// How many answers were refused because they were to other requests, as the log has it. `named` is
/// what metrics name the reason: it is hidden where something of the answer was deciphered before.
fn assert_refused(client: &Running, log: &Said, named: &str, count: usize) {
    assert_eq!(log.caused("answer-to-another-request"), count, "{log}");
    let metrics = client.metrics();
    let refusals = |line: &&str| line.starts_with("soapstone_refusals_total{");
    let refusals: Vec<&str> = metrics.lines().filter(refusals).collect();
    let is_it = |line: &&&str| line.ends_with(&format!("reason=\"{named}\"}} {count}"));
    assert_eq!(refusals.len(), count, "{refusals:?}");
    assert_eq!(refusals.iter().filter(is_it).count(), count, "{refusals:?}");
}

/// Echoes, and relates the echo to the message by the id that arrives with it.
async fn relating() -> Backend {
    Backend::answering(|seen| {
        let text = String::from_utf8_lossy(&seen.body).replace("MessageID", "RelatesTo");
        let mut response = Response::new(Full::new(Bytes::from(text)));
        let media_type = seen.headers["content-type"].clone();
        response.headers_mut().insert("content-type", media_type);
        response
    })
    .await
}

/// Case attacks/04. `signed` says which headers are to be.
fn addressing_policy(signed: &str) -> String {
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let token = |role: &str, inclusion: &str| {
        format!(
            "<sp:{role}><wsp:Policy><sp:X509Token sp:IncludeToken=\"{sp}/IncludeToken/{inclusion}\">\
             <wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token></wsp:Policy></sp:{role}>"
        )
    };
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\">\
         <wsam:Addressing xmlns:wsam=\"http://www.w3.org/2007/05/addressing/metadata\"><wsp:Policy/></wsam:Addressing>\
         <sp:AsymmetricBinding><wsp:Policy>{}{}<sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy>\
         </sp:AlgorithmSuite><sp:IncludeTimestamp/><sp:OnlySignEntireHeadersAndBody/></wsp:Policy></sp:AsymmetricBinding>\
         <sp:SignedParts><sp:Body/>{signed}</sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>",
        token("InitiatorToken", "AlwaysToRecipient"),
        token("RecipientToken", "Never"),
    )
}

const ALL_ADDRESSING: &str = "<sp:Header Namespace=\"http://www.w3.org/2005/08/addressing\"/>";

/// WS-Addressing 1.0 Core, 3.4: the gateway wrote the id that the answer has to name.
#[tokio::test]
async fn an_answer_to_another_request_of_the_gateways_is_refused() {
    let folder = Folder::with_keys();
    folder.write("policy.xml", addressing_policy(ALL_ADDRESSING));
    let security = "policy = \"policy.xml\", sha256_suites = \"sha256\"";
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, security).await;
    let way = mixing_up(service.address(), 1).await;
    let (log, _listening) = Said::listen();
    let client = client(&folder, way, security).await;
    for (said, message_id, status) in [
        ("zero", None, StatusCode::OK),
        ("one", None, StatusCode::SERVICE_UNAVAILABLE),
        ("two", None, StatusCode::BAD_GATEWAY),
        ("three", None, StatusCode::OK),
    ] {
        let answer = ask(&client, said, message_id).await;
        assert_eq!(answer.status, status, "{said}: {}", answer.body);
        assert_eq!(
            answer.body.contains(said),
            status == StatusCode::OK,
            "{said}"
        );
    }
    assert_refused(&client, &log, "decryption-failed", 1);
}

/// Within one conversation every answer is under the same key.
#[tokio::test]
async fn an_answer_to_another_request_of_a_conversation_is_refused() {
    let folder = Folder::with_keys();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for cell in [
        "secure-conversation-Basic256",
        "secure-conversation-of-2005",
    ] {
        let wsdl = root.join(format!("interop/recorded/cxf/{cell}/service.wsdl"));
        let security = format!("policy = \"{}\"", wsdl.display());
        let backend = Backend::echo().await;
        let service = service(&folder, &backend, &security).await;
        // The handshake is the first exchange.
        let way = mixing_up(service.address(), 1).await;
        let (log, _listening) = Said::listen();
        let client = client(&folder, way, &security).await;
        for (said, status) in [
            ("one", StatusCode::SERVICE_UNAVAILABLE),
            ("two", StatusCode::BAD_GATEWAY),
            ("three", StatusCode::OK),
        ] {
            let answer = ask(&client, said, None).await;
            assert_eq!(answer.status, status, "{cell}, {said}: {}", answer.body);
        }
        assert_refused(&client, &log, "decryption-failed", 1);
    }
}

/// The mechanism `sign` with these headers signed, as its configuration names them.
fn signing(headers: &[&str]) -> String {
    let headers: String = headers
        .iter()
        .map(|name| format!(", \"{{http://www.w3.org/2005/08/addressing}}{name}\""))
        .collect();
    format!(
        "mechanism = \"sign\", suite = \"Basic256Sha256\", signed = [\"Body\", \"Timestamp\"{headers}]"
    )
}

/// The id is the client's own; a mechanism demands what it names.
#[tokio::test]
async fn an_answer_to_another_request_of_the_clients_is_refused_under_a_mechanism() {
    let folder = Folder::with_keys();
    let security = signing(&["MessageID", "RelatesTo"]);
    let backend = relating().await;
    let service = service(&folder, &backend, &security).await;
    let way = mixing_up(service.address(), 1).await;
    let (log, _listening) = Said::listen();
    let client = client(&folder, way, &security).await;
    for (said, status) in [
        ("zero", StatusCode::OK),
        ("one", StatusCode::SERVICE_UNAVAILABLE),
        ("two", StatusCode::BAD_GATEWAY),
        ("three", StatusCode::OK),
    ] {
        let answer = ask(&client, said, Some(&format!("urn:{said}"))).await;
        assert_eq!(answer.status, status, "{said}: {}", answer.body);
    }
    assert_refused(&client, &log, "answer-to-another-request", 1);
}

#[tokio::test]
async fn an_answer_that_proves_no_relation_is_refused_where_one_is_demanded() {
    let folder = Folder::with_keys();
    folder.write("body.xml", addressing_policy(""));
    let policy = |name: &str| format!("policy = \"{name}\", sha256_suites = \"sha256\"");
    let (named, unnamed) = (
        signing(&["MessageID", "RelatesTo"]),
        signing(&["MessageID"]),
    );
    // Its echo has no relation, and the gateway of a mechanism writes none.
    let silent = Backend::echo().await;
    for (security, message_id, status) in [
        (&named, Some("urn:one"), StatusCode::BAD_GATEWAY),
        // The id is named, and a request without one is not secured.
        (&signing(&["RelatesTo"]), None, StatusCode::OK),
        (&unnamed, Some("urn:one"), StatusCode::OK),
        (&policy("body.xml"), None, StatusCode::OK),
    ] {
        let service = service(&folder, &silent, security).await;
        let (log, _listening) = Said::listen();
        let client = client(&folder, service.address(), security).await;
        let answer = ask(&client, "said", message_id).await;
        assert_eq!(answer.status, status, "{security}: {}", answer.body);
        let refused = usize::from(status != StatusCode::OK);
        assert_refused(&client, &log, "answer-to-another-request", refused);
    }
}
