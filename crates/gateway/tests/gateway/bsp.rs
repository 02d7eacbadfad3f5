//! `bsp` of a route: messages that verify are judged by the Basic Security Profile 1.1.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};

use crate::secured::{client, metrics, secured, service};
use crate::support::{Answer, Backend, ENVELOPE, Folder, Said, post, send};

/// What the change of [`broken`] breaks.
const RULE: &str = "R3029";

fn text(backend: &Backend, bsp: &str, side: &str, tables: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n{bsp}\n[routes.{side}]\n{tables}",
        backend.address
    )
}

/// A secured message that still verifies: nothing signs how the certificate is encoded. R3029 wants
/// the attribute.
fn broken(message: Vec<u8>) -> String {
    let message = String::from_utf8(message).expect("it is UTF-8");
    let token = message.find("BinarySecurityToken").expect("a token");
    let begin = token
        + message[token..]
            .find(" EncodingType=\"")
            .expect("its encoding");
    let value = begin + " EncodingType=\"".len();
    let end = value + message[value..].find('"').expect("its end") + 1;
    format!("{}{}", &message[..begin], &message[end..])
}

/// The same, with another byte in the cipher text of the Body.
fn broken_and_tampered(message: Vec<u8>) -> String {
    let message = broken(message);
    let body = message.rfind("CipherValue>").expect("cipher text");
    let body = message[..body].rfind("CipherValue>").expect("its begin") + "CipherValue>".len();
    let place = body + 40;
    let other = match &message[place..=place] {
        "A" => "B",
        _ => "A",
    };
    format!("{}{other}{}", &message[..place], &message[place + 1..])
}

async fn asked(gateway: &Running, message: impl Into<Bytes>) -> Answer {
    send(gateway.address(), post("/echo", message)).await
}

fn count(mechanism: &str, direction: &str) -> String {
    format!(
        "soapstone_bsp_breaches_total{{route=\"/echo\",direction=\"{direction}\",mechanism=\"{mechanism}\",rule=\"{RULE}\"}} 1"
    )
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_goes_on_is_counted_or_is_refused() {
    let folder = Folder::with_keys();
    for (bsp, status, counted, refused) in [
        ("", StatusCode::OK, false, 0),
        ("bsp = \"warn\"", StatusCode::OK, true, 0),
        (
            "bsp = \"strict\"",
            StatusCode::INTERNAL_SERVER_ERROR,
            false,
            1,
        ),
    ] {
        let backend = Backend::echo().await;
        let (log, _listening) = Said::listen();
        let gateway = folder
            .gateway(&text(&backend, bsp, "inbound", &service("sign")))
            .await;
        let good = asked(&gateway, secured(&folder, "sign")).await;
        assert_eq!(good.status, StatusCode::OK, "{bsp}: {}", good.body);
        let answer = asked(&gateway, broken(secured(&folder, "sign"))).await;
        assert_eq!(answer.status, status, "{bsp}: {}", answer.body);
        // The rule is for the operator alone.
        assert!(!answer.body.contains(RULE), "{}", answer.body);
        let metrics = metrics(&gateway).await;
        assert_eq!(
            metrics.contains(&count("sign", "inbound")),
            counted,
            "{metrics}"
        );
        assert_eq!(log.caused("profile-broken"), refused, "{log}");
        let named = usize::from(counted) + refused;
        assert_eq!(log.times(RULE), named, "{bsp}: {log}");
    }
}

/// A secured message with a header of another receiver in front, which no signature covers. Its
/// references lead to the same elements again and again.
fn endless(message: Vec<u8>) -> String {
    const C14N: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
    let message = String::from_utf8(message).expect("it is UTF-8");
    let header = message.find(":Header").expect("a header");
    let place = header + message[header..].find('>').expect("its end") + 1;
    let reference = format!(
        "<d:Reference URI=\"#W\"><d:Transforms><d:Transform Algorithm=\"{C14N}\"/></d:Transforms></d:Reference>"
    );
    let block = format!(
        "<o:Security xmlns:o=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
         xmlns:v=\"http://schemas.xmlsoap.org/soap/envelope/\" v:actor=\"urn:other\" \
         xmlns:d=\"http://www.w3.org/2000/09/xmldsig#\"><d:Signature><d:SignedInfo>{}</d:SignedInfo>\
         </d:Signature><w Id=\"W\">{}</w></o:Security>",
        reference.repeat(500),
        "<b/>".repeat(30_000)
    );
    format!("{}{block}{}", &message[..place], &message[place..])
}

#[tokio::test]
async fn a_message_that_takes_too_much_work_is_counted_as_not_judged_or_is_refused() {
    let folder = Folder::with_keys();
    for (bsp, status, refused) in [
        ("bsp = \"warn\"", StatusCode::OK, 0),
        ("bsp = \"strict\"", StatusCode::INTERNAL_SERVER_ERROR, 1),
    ] {
        let backend = Backend::echo().await;
        let (log, _listening) = Said::listen();
        let gateway = folder
            .gateway(&text(&backend, bsp, "inbound", &service("sign")))
            .await;
        let answer = asked(&gateway, endless(secured(&folder, "sign"))).await;
        assert_eq!(answer.status, status, "{bsp}: {log}");
        let counted = metrics(&gateway).await.contains("rule=\"not-judged\"} 1");
        assert_eq!(counted, refused == 0, "{bsp}");
        assert_eq!(log.caused("profile-broken"), refused, "{log}");
        // A worker has a log of its own: the refusal alone is told here.
        assert_eq!(log.times("not-judged"), refused, "{bsp}: {log}");
    }
}

/// Jager and Somorovsky, How to Break XML Encryption, 2011: an answer that tells a message that was
/// deciphered from one that was not deciphers others.
#[tokio::test]
async fn a_breach_and_a_failed_decryption_get_one_answer_and_one_count() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let (log, _listening) = Said::listen();
    let mut told = Vec::new();
    for change in [broken, broken_and_tampered] {
        let tables = service("sign-encrypt");
        let gateway = folder
            .gateway(&text(&backend, "bsp = \"strict\"", "inbound", &tables))
            .await;
        let answer = asked(&gateway, change(secured(&folder, "sign-encrypt"))).await;
        let counts: Vec<String> = metrics(&gateway)
            .await
            .lines()
            .filter(|line| line.starts_with("soapstone_refus") || line.contains("_bsp_"))
            .map(str::to_owned)
            .collect();
        told.push((answer.status, answer.body, counts));
    }
    assert_eq!(log.caused("profile-broken"), 1, "{log}");
    assert_eq!(told[0], told[1]);
    assert!(told[0].1.contains("FailedCheck"), "{}", told[0].1);
}

#[tokio::test]
async fn a_message_that_does_not_verify_is_not_judged() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let (log, _listening) = Said::listen();
    let tables = service("sign");
    for bsp in ["bsp = \"warn\"", "bsp = \"strict\""] {
        let gateway = folder
            .gateway(&text(&backend, bsp, "inbound", &tables))
            .await;
        let forged = broken(secured(&folder, "sign")).replace("hello", "hallo");
        let answer = asked(&gateway, forged).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!metrics(&gateway).await.contains(RULE));
    }
    assert_eq!(log.times(RULE), 0, "{log}");
}

#[tokio::test]
async fn an_answer_of_the_backend_is_judged_as_well() {
    let folder = Folder::with_keys();
    for (bsp, status, counted) in [
        ("", StatusCode::OK, false),
        ("bsp = \"warn\"", StatusCode::OK, true),
        ("bsp = \"strict\"", StatusCode::BAD_GATEWAY, false),
    ] {
        let body = Bytes::from(broken(folder.secured(&service("sign"), ENVELOPE)));
        let backend = Backend::answering(move |_| {
            let mut response = Response::new(Full::new(body.clone()));
            let headers = response.headers_mut();
            headers.insert("content-type", "text/xml".parse().expect("a value"));
            response
        })
        .await;
        let (log, _listening) = Said::listen();
        let gateway = folder
            .gateway(&text(&backend, bsp, "outbound", &client("sign")))
            .await;
        let answer = asked(&gateway, ENVELOPE).await;
        assert_eq!(answer.status, status, "{bsp}: {} {log}", answer.body);
        assert!(!answer.body.contains(RULE), "{}", answer.body);
        let metrics = metrics(&gateway).await;
        assert_eq!(
            metrics.contains(&count("sign", "outbound")),
            counted,
            "{metrics}"
        );
        let refused = usize::from(status != StatusCode::OK);
        assert_eq!(log.caused("profile-broken"), refused, "{log}");
    }
}

#[test]
fn a_route_that_opens_nothing_cannot_judge() {
    let folder = Folder::with_keys();
    for side in [
        "",
        "[routes.inbound]\nsecurity = { mechanism = \"none\" }\n",
    ] {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/b\"\nbackend = \"http://127.0.0.1:9/b\"\nbsp = \"strict\"\n{side}"
        );
        let problems = Config::from_text(&text, &folder.path("g.toml"), &|_| None)
            .map(|_| ())
            .expect_err("nothing would be judged")
            .to_string();
        let expected =
            ":5:7: `bsp` judges messages that an endpoint opened, and the route opens none";
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn a_route_whose_backends_open_nothing_cannot_judge() {
    let folder = Folder::with_keys();
    let plain = "{ url = \"http://127.0.0.1:9/b\" }, { url = \"http://127.0.0.1:8/b\" }";
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/b\"\nbackends = [{plain}]\nbsp = \"warn\"\n"
    );
    let problems = Config::from_text(&text, &folder.path("g.toml"), &|_| None)
        .map(|_| ())
        .expect_err("nothing would be judged")
        .to_string();
    let expected = ":5:7: `bsp` judges messages that an endpoint opened, and the route opens none";
    assert!(problems.contains(expected), "{problems}");
}
