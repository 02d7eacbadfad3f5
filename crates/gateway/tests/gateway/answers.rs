//! Answers of a service that pass through the hands of somebody on the way: their heads, which
//! nothing proves, and how long they may take.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::Running;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{
    Answer, Backend, ENVELOPE, ENVELOPE_12, Folder, exchange, get, post, post_as, reason, send,
    silent_backend, soon,
};

/// The tables of a side, for a mechanism.
fn tables(us: &str, peer: &str, mechanism: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         security = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256\" }}\n"
    )
}

/// A gateway that secures requests to a backend; `more` are keys of its route.
async fn client(folder: &Folder, backend: SocketAddr, mechanism: &str, more: &str) -> Running {
    let side = tables("client", "server", mechanism);
    folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{more}\n\
             [routes.outbound]\n{side}"
        ))
        .await
}

async fn service(folder: &Folder, backend: &Backend, mechanism: &str) -> Running {
    let side = tables("server", "client", mechanism);
    folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
             [routes.inbound]\n{side}",
            backend.address
        ))
        .await
}

/// Reads a request with a length from a connection: its head and its body.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<(String, Bytes)> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.split_once("content-length: ").map_or(0, |(_, rest)| {
                let digits = rest.split("\r\n").next().unwrap_or_default();
                digits.parse().expect("a length")
            });
            let begins = head.len() + 4;
            if read.len() >= begins + length {
                return Some((head.to_owned(), Bytes::from(read.split_off(begins))));
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

/// Somebody who passes requests on to a service, and in the place of its answer gives what `given`
/// makes of it, byte for byte.
pub(crate) async fn on_the_way(
    service: SocketAddr,
    given: impl Fn(&Answer) -> String + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let given = Arc::new(given);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let given = Arc::clone(&given);
            tokio::spawn(async move {
                let Some((head, body)) = read_request(&mut stream).await else {
                    return;
                };
                let mut request = post("/echo", body);
                for line in head.lines().skip(1) {
                    let (name, value) = line.split_once(": ").expect("a field");
                    if ["content-type", "soapaction"].contains(&name.to_ascii_lowercase().as_str())
                    {
                        let name: http::HeaderName = name.parse().expect("a name");
                        request
                            .headers_mut()
                            .insert(name, value.parse().expect("a value"));
                    }
                }
                let answer = send(service, request).await;
                // Whoever asked may have gone.
                let _ = stream.write_all(given(&answer).as_bytes()).await;
            });
        }
    });
    address
}

/// An answer under another head: a status line, and fields.
pub(crate) fn under(answer: &Answer, status: &str, fields: &str) -> String {
    let media_type = answer.headers["content-type"].to_str().expect("text");
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\nconnection: close\r\n{fields}\
         content-length: {}\r\n\r\n{}",
        answer.body.len(),
        answer.body
    )
}

async fn failures(gateway: &Running, reason: &str) -> bool {
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let line = format!("soapstone_failures_total{{route=\"/echo\",reason=\"{reason}\"}} 1");
    metrics.lines().any(|found| found == line)
}

/// The names of all fields of an answer, in alphabetical order.
fn names(answer: &Answer) -> Vec<&str> {
    let mut names: Vec<&str> = answer.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    names
}

const FIELDS: &str = "set-cookie: session=evil\r\nalt-svc: h2=\"127.0.0.1:9\"\r\n\
    strict-transport-security: max-age=99999999\r\naccess-control-allow-origin: *\r\n\
    location: http://127.0.0.1:9/\r\nwww-authenticate: Basic realm=\"x\"\r\nrefresh: 0; url=/evil\r\n\
    server-timing: a\r\nlink: </evil>\r\nclear-site-data: \"*\"\r\nretry-after: 9999\r\netag: \"e\"\r\n\
    x-request-id: evil\r\nvia: 1.1 evil\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: evil\r\n\
    content-location: /evil\r\ncache-control: max-age=99999999\r\nage: 1\r\nx-evil: 1\r\n";

/// Case attacks/03.
#[tokio::test]
async fn no_field_of_an_unproven_head_reaches_the_client() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "sign-encrypt").await;
    let way = on_the_way(service.address(), |answer| under(answer, "200 OK", FIELDS)).await;
    let client = client(&folder, way, "sign-encrypt", "").await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body.contains(">hello<"), "{}", answer.body);
    let ours = ["content-length", "content-type", "date", "x-request-id"];
    assert_eq!(names(&answer), ours);
    assert_ne!(answer.headers["x-request-id"], "evil");
    let year = answer.headers["date"].to_str().expect("text");
    assert!(!year.contains("1970"), "{year}");
}

/// The phrase of a status line, a parameter of the media type and trailers are of the head, too.
#[tokio::test]
async fn no_phrase_parameter_or_trailer_of_an_unproven_answer_reaches_the_client() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "sign").await;
    let way = on_the_way(service.address(), |answer| {
        format!(
            "HTTP/1.1 200 Evil\r\ncontent-type: text/xml; start-info=evil\r\nconnection: close\r\n\
             trailer: set-cookie\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{}\r\n\
             0\r\nset-cookie: evil=1\r\n\r\n",
            answer.body.len(),
            answer.body
        )
    })
    .await;
    let client = client(&folder, way, "sign", "").await;
    let mut stream = TcpStream::connect(client.address())
        .await
        .expect("it listens");
    let request = format!(
        "POST /echo HTTP/1.1\r\nhost: g\r\nte: trailers\r\nconnection: te\r\ncontent-type: text/xml\r\n\
         content-length: {}\r\n\r\n{ENVELOPE}",
        ENVELOPE.len()
    );
    let answer = exchange(&mut stream, request.as_bytes(), |text| {
        text.ends_with("</s:Envelope>")
    });
    let answer = soon("an answer", answer).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(!answer.to_lowercase().contains("evil"), "{answer}");
}

/// Case attacks/03: a client that follows a redirection sends its plain request there.
#[tokio::test]
async fn an_answer_that_leads_elsewhere_or_asks_for_a_password_is_a_fault() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "sign-encrypt").await;
    for (status, reason) in [
        ("301 Moved Permanently", "backend-redirect"),
        ("302 Found", "backend-redirect"),
        ("303 See Other", "backend-redirect"),
        ("307 Temporary Redirect", "backend-redirect"),
        ("308 Permanent Redirect", "backend-redirect"),
        ("401 Unauthorized", "backend-challenge"),
        ("407 Proxy Authentication Required", "backend-challenge"),
        ("201 Created", "backend-status"),
        ("204 No Content", "backend-status"),
        ("404 Not Found", "backend-status"),
        ("429 Too Many Requests", "backend-status"),
        ("502 Bad Gateway", "backend-status"),
        ("503 Service Unavailable", "backend-status"),
        ("504 Gateway Timeout", "backend-status"),
    ] {
        let way = on_the_way(service.address(), move |answer| {
            under(answer, status, FIELDS)
        })
        .await;
        let client = client(&folder, way, "sign-encrypt", "").await;
        let answer = send(client.address(), post("/echo", ENVELOPE)).await;
        // Two statuses are said again, in words and fields of our own.
        let said_again = match &status[..3] {
            "503" => Some(StatusCode::SERVICE_UNAVAILABLE),
            "504" => Some(StatusCode::GATEWAY_TIMEOUT),
            _ => None,
        };
        let expected = said_again.unwrap_or(StatusCode::BAD_GATEWAY);
        assert_eq!(answer.status, expected, "{status}");
        assert!(
            !answer.body.contains(">hello<"),
            "{status}: {}",
            answer.body
        );
        let mut ours = vec!["content-length", "content-type", "date"];
        if expected == StatusCode::SERVICE_UNAVAILABLE {
            ours.push("retry-after");
            assert_eq!(answer.headers["retry-after"], "1");
        }
        ours.push("x-request-id");
        assert_eq!(names(&answer), ours, "{status}");
        assert!(failures(&client, reason).await, "{status}: {reason}");
    }
}

/// Whatever status it travels under: SOAP 1.1, 6.2; SOAP 1.2 part 2, table 20.
#[tokio::test]
async fn the_status_and_the_media_type_say_what_was_proven() {
    let folder = Folder::with_keys();
    let fault_11 =
        "<s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring></s:Fault>";
    let fault_12 = "<s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code><s:Reason>\
                    <s:Text xml:lang=\"en\">no</s:Text></s:Reason></s:Fault>";
    let hello = "<e:echo xmlns:e=\"urn:echo\">hello</e:echo>";
    let (type_11, type_12) = (
        "text/xml; charset=utf-8",
        "application/soap+xml; charset=utf-8",
    );
    let swapped = |answer: &Answer| {
        let said = answer.headers["content-type"].to_str().expect("text");
        if said.starts_with("text/xml") {
            "application/soap+xml"
        } else {
            "text/xml"
        }
    };
    for (envelope, media_type, given, expected) in [
        (
            ENVELOPE.to_owned(),
            type_11,
            "500 Internal Server Error",
            200,
        ),
        (ENVELOPE.to_owned(), type_11, "202 Accepted", 200),
        (ENVELOPE.replace(hello, fault_11), type_11, "200 OK", 500),
        (
            ENVELOPE.replace(hello, fault_11),
            type_11,
            "400 Bad Request",
            500,
        ),
        (ENVELOPE_12.to_owned(), type_12, "400 Bad Request", 200),
        (ENVELOPE_12.replace(hello, fault_12), type_12, "200 OK", 400),
    ] {
        // A service that answers so, whatever it is asked.
        let (body, said) = (envelope.clone(), media_type);
        let backend = Backend::answering(move |_| {
            let mut response = Response::new(Full::new(Bytes::from(body.clone())));
            let headers = response.headers_mut();
            headers.insert("content-type", said.parse().expect("a value"));
            response
        })
        .await;
        let service = service(&folder, &backend, "sign").await;
        let way = on_the_way(service.address(), move |answer| {
            under(answer, given, "").replace(
                answer.headers["content-type"].to_str().expect("text"),
                swapped(answer),
            )
        })
        .await;
        let client = client(&folder, way, "sign", "").await;
        let plain = if media_type == type_11 {
            ENVELOPE
        } else {
            ENVELOPE_12
        };
        let request = post_as("/echo", media_type, plain);
        let answer = send(client.address(), request).await;
        assert_eq!(answer.status, expected, "{given}: {}", answer.body);
        assert_eq!(answer.headers["content-type"], media_type, "{given}");
    }
}

/// WS-I Basic Profile 1.1, R2727. Anybody on the way can take an answer away; he says nothing else
/// by it.
#[tokio::test]
async fn an_empty_answer_is_202_and_an_empty_fault_is_none() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "sign").await;
    for (status, expected) in [
        ("200 OK", StatusCode::ACCEPTED),
        ("202 Accepted", StatusCode::ACCEPTED),
        ("400 Bad Request", StatusCode::BAD_GATEWAY),
        ("500 Internal Server Error", StatusCode::BAD_GATEWAY),
    ] {
        let way = on_the_way(service.address(), move |_| {
            format!("HTTP/1.1 {status}\r\n{FIELDS}connection: close\r\ncontent-length: 0\r\n\r\n")
        })
        .await;
        let client = client(&folder, way, "sign", "").await;
        let answer = send(client.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, expected, "{status}");
        assert!(!answer.headers.contains_key("set-cookie"), "{status}");
    }
}

/// A bridge secures what it has opened: its own client is told no more of the head.
#[tokio::test]
async fn no_field_of_an_unproven_head_crosses_a_bridge() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "sign-encrypt").await;
    let way = on_the_way(service.address(), |answer| {
        under(answer, "500 Internal Server Error", FIELDS)
    })
    .await;
    let bridge = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{way}/echo\"\n\
             [routes.inbound]\n{}[routes.outbound]\n{}",
            tables("server", "client", "sign"),
            tables("client", "server", "sign-encrypt")
        ))
        .await;
    let watched = on_the_way(bridge.address(), |answer| {
        let given = names(answer).join(" ");
        assert_eq!(given, "content-length content-type date x-request-id");
        under(answer, &answer.status.to_string(), "")
    })
    .await;
    let client = client(&folder, watched, "sign", "").await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

#[tokio::test]
async fn a_handshake_that_is_led_elsewhere_goes_nowhere() {
    let folder = Folder::with_keys();
    let (elsewhere, mut accepted) = silent_backend().await;
    let backend = Backend::answering(move |_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        let location = format!("http://{elsewhere}/");
        let headers = response.headers_mut();
        headers.insert("location", location.parse().expect("a value"));
        headers.insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let client = client(&folder, backend.address, "secure-conversation", "").await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert!(!answer.headers.contains_key("location"));
    assert!(failures(&client, "handshake-answer").await);
    assert!(accepted.try_recv().is_err(), "nobody follows");
}

const DESCRIPTION: &str = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\"/>";

/// The answer to a question for a description that a backend answers with this head.
async fn described(status: &str, body: &str) -> (Running, Answer) {
    let folder = Folder::with_keys();
    let (address, mut accepted) = silent_backend().await;
    let client = client(&folder, address, "sign", "").await;
    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), get("/echo?wsdl"))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/xml\r\n{FIELDS}content-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream
                .write_all(answer.as_bytes())
                .await
                .expect("the gateway reads");
        }
    );
    (client, answer)
}

#[tokio::test]
async fn a_description_by_way_of_an_outbound_route_brings_no_field_and_leads_nowhere() {
    let (_, answer) = described("200 Evil", DESCRIPTION).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(names(&answer), ["content-length", "content-type", "date"]);
    for (status, reason) in [
        ("302 Found", "backend-redirect"),
        ("401 Unauthorized", "backend-challenge"),
        ("404 Not Found", "backend-status"),
        ("202 Accepted", "backend-status"),
    ] {
        let (client, answer) = described(status, "").await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{status}");
        let ours = ["content-length", "content-type", "date", "x-request-id"];
        assert_eq!(names(&answer), ours, "{status}");
        assert!(failures(&client, reason).await, "{status}: {reason}");
    }
}

/// The addresses in the other description would be whatever its author wants.
#[tokio::test]
async fn a_description_by_way_of_an_outbound_route_takes_none_in_from_elsewhere() {
    let taking = |import: &str| DESCRIPTION.replace("/>", &format!(">{import}</w:definitions>"));
    let elsewhere =
        taking("<w:import namespace=\"urn:a\" location=\"http://evil.example/a.wsdl\"/>");
    let (client, answer) = described("200 OK", &elsewhere).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    assert!(failures(&client, "backend-description").await);
    let here = taking("<w:import namespace=\"urn:a\" location=\"?wsdl=2\"/>");
    let (_, answer) = described("200 OK", &here).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Sends the head of an answer, and its body when it is told to.
async fn in_two_pieces(stream: &mut TcpStream, body: &str, go_on: impl Future<Output = ()>) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the gateway reads");
    go_on.await;
    // The gateway may have given up.
    let _ = stream.write_all(body.as_bytes()).await;
}

/// Case attacks/06.
#[tokio::test]
async fn the_time_of_a_route_bounds_the_whole_answer() {
    let folder = Folder::with_keys();
    for (mechanism, request) in [
        ("sign", post("/echo", ENVELOPE)),
        ("secure-conversation", post("/echo", ENVELOPE)),
        ("sign", get("/echo?wsdl")),
    ] {
        let (address, mut accepted) = silent_backend().await;
        let short = "timeouts = { response = \"100ms\" }";
        let client = client(&folder, address, mechanism, short).await;
        let way = async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            in_two_pieces(&mut stream, DESCRIPTION, std::future::pending()).await;
        };
        let asked = soon("an answer", send(client.address(), request));
        let answer = tokio::select! {
            answer = asked => answer,
            () = way => unreachable!("it goes on for ever"),
        };
        let (status, told) = (answer.status, reason(&answer.body));
        let late = "The service behind this gateway did not answer in time";
        assert_eq!((status, told), (StatusCode::GATEWAY_TIMEOUT, late));
    }
}

/// Case attacks/06.
#[tokio::test]
async fn a_route_may_give_an_answer_more_time_than_the_gateway_does() {
    let folder = Folder::with_keys();
    let (address, mut accepted) = silent_backend().await;
    let client = folder
        .gateway(&format!(
            "LISTEN\ntimeouts = {{ response = \"50ms\" }}\n[[routes]]\npath = \"/echo\"\n\
             backend = \"http://{address}/echo\"\ntimeouts = {{ response = \"60s\" }}\n\
             [routes.outbound]\n{}",
            tables("client", "server", "sign")
        ))
        .await;
    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), get("/echo?wsdl"))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            let pause = tokio::time::sleep(std::time::Duration::from_millis(300));
            in_two_pieces(&mut stream, DESCRIPTION, pause).await;
        }
    );
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);

    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), post("/echo", ENVELOPE))),
        async {
            let mut stream = match accepted.try_recv() {
                Ok(stream) => stream,
                Err(_) => accepted.recv().await.expect("the gateway connects"),
            };
            read_request(&mut stream).await.expect("it asks");
            let pause = tokio::time::sleep(std::time::Duration::from_millis(300));
            in_two_pieces(&mut stream, ENVELOPE, pause).await;
        }
    );
    // It came in time, and proves nothing.
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
}

/// What comes of a request to a backend that answers with these bytes; and whether it could go on
/// writing `and_then` without end.
async fn flooded(folder: &Folder, begins: String, and_then: Option<String>) -> (Running, Answer) {
    let (address, mut accepted) = silent_backend().await;
    let client = client(folder, address, "none", "").await;
    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), post("/echo", ENVELOPE))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            stream
                .write_all(begins.as_bytes())
                .await
                .expect("the gateway reads");
            if let Some(more) = and_then {
                let end = async { while stream.write_all(more.as_bytes()).await.is_ok() {} };
                soon("the end of the connection", end).await;
            }
        }
    );
    (client, answer)
}

/// RFC 9110, 15.2. Case attacks/08.
#[tokio::test]
async fn a_few_interim_answers_are_skipped_and_more_are_a_fault() {
    let folder = Folder::with_keys();
    let early = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let end = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n{ENVELOPE}",
        ENVELOPE.len()
    );
    let (_, answer) = flooded(&folder, format!("{}{end}", early.repeat(8)), None).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, ENVELOPE)
    );
    assert!(!answer.headers.contains_key("link"));

    let long = format!(
        "HTTP/1.1 103 Early Hints\r\nlink: {}\r\n\r\n",
        "a".repeat(40_000)
    );
    for begins in [early.repeat(9), long.repeat(2)] {
        let (client, answer) = flooded(&folder, format!("{begins}{end}"), None).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(failures(&client, "backend-interim").await);
    }
}

/// Case attacks/08: it kept a processor busy, and the time of the route did not end it.
#[tokio::test]
async fn interim_answers_without_end_are_read_to_no_end() {
    let folder = Folder::with_keys();
    let early = format!(
        "HTTP/1.1 103 Early Hints\r\n{}\r\n",
        "link: <x>\r\n".repeat(80)
    );
    for hint in [
        early.as_str(),
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 199 x\r\n\r\n",
    ] {
        let more = hint.repeat(100);
        let (client, answer) = flooded(&folder, String::new(), Some(more)).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(failures(&client, "backend-interim").await, "{hint}");
    }
}
