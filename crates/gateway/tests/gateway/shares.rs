//! What one client, one partner and one route may have.

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{
    Backend, ENVELOPE, Folder, exchange, gateway, gateway_before, post, reason, send, soon,
};

/// A connection from another address of this machine.
async fn from(last: u8, gateway: std::net::SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let address = std::net::SocketAddr::from(([127, 0, 0, last], 0));
    socket.bind(address).expect("all of 127.0.0.0/8 is ours");
    socket.connect(gateway).await.expect("it listens")
}

const REQUEST: &[u8] = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";

async fn answered(stream: &mut TcpStream) -> String {
    soon(
        "an answer",
        exchange(stream, REQUEST, |text| text.ends_with("hi")),
    )
    .await
}

#[tokio::test]
async fn one_address_gets_its_share_of_the_connections_and_others_the_rest() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(
        backend.address,
        "limits = { connections = 4, per_client = { connections = 2 } }",
    )
    .await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = from(2, gateway.address()).await;
        assert!(answered(&mut stream).await.starts_with("HTTP/1.1 200"));
        held.push(stream);
    }
    let mut third = from(2, gateway.address()).await;
    let mut end = Vec::new();
    let read = third.read_to_end(&mut end);
    assert_eq!(soon("the end", read).await.unwrap_or(0), 0);
    let mut other = from(3, gateway.address()).await;
    assert!(answered(&mut other).await.starts_with("HTTP/1.1 200"));
    // What is given back can be had again.
    drop(held);
    soon("room", async {
        loop {
            let mut again = from(2, gateway.address()).await;
            if again.write_all(REQUEST).await.is_ok()
                && again.read(&mut [0; 8]).await.unwrap_or(0) > 0
            {
                break;
            }
        }
    })
    .await;
}

const USERS: &str = "users = [{ name = \"alice\", password = \"secret\" }, { name = \"bob\", password = \"secret\" }]\n\
                     security = { mechanism = \"username\", password = \"text\" }\n";

/// A message of a user.
fn message_of(user: &str) -> String {
    let tables = USERS
        .replace("{ name = \"alice\", password = \"secret\" }, ", "")
        .replace("bob", user);
    let secured = Folder::new().secured(&tables, ENVELOPE);
    String::from_utf8(secured).expect("it is text")
}

fn protected(backend: &Backend, more: &str) -> String {
    format!(
        "LISTEN\n{more}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{USERS}",
        backend.address
    )
}

/// The case `attacks/room`: messages that do not come to their end held all of the room.
#[tokio::test]
async fn one_address_gets_its_share_of_the_room_and_others_are_served() {
    let backend = Backend::echo().await;
    let gateway = gateway(&protected(
        &backend,
        "limits = { buffered = \"64kB\", per_client = { buffered = \"32kB\" } }",
    ))
    .await;
    let mut held = Vec::new();
    let begun = format!(
        "POST /echo HTTP/1.1\r\nHost: g\r\nContent-Type: text/xml\r\nContent-Length: 12001\r\n\r\n{}",
        "x".repeat(12000)
    );
    for _ in 0..2 {
        let mut stream = from(2, gateway.address()).await;
        stream.write_all(begun.as_bytes()).await.expect("it reads");
        held.push(stream);
    }
    soon("both", async {
        while !gateway
            .metrics()
            .contains("soapstone_buffered_bytes 24000\n")
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut third = from(2, gateway.address()).await;
    let answer = exchange(&mut third, begun.as_bytes(), |text| {
        text.contains("Envelope>")
    })
    .await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let answer = send(gateway.address(), post("/echo", message_of("alice"))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

#[tokio::test]
async fn a_route_has_its_rate_and_says_when_the_next_request_may_come() {
    let mut backend = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{0}/echo\"\nrate = \"2/h\"\n\
         [[routes]]\npath = \"/free\"\nbackend = \"http://{0}/free\"\n",
        backend.address
    );
    let gateway = gateway(&text).await;
    for _ in 0..2 {
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::OK);
        backend.seen.recv().await.expect("it was passed on");
    }
    let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reason(&answer.body), "Too many requests; try again later");
    let wait: u64 = answer.headers["retry-after"]
        .to_str()
        .expect("text")
        .parse()
        .expect("seconds");
    assert!((1..=1800).contains(&wait), "{wait}");
    assert!(backend.seen.try_recv().is_err());
    let answer = send(gateway.address(), post("/free", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn a_client_has_its_rate_on_all_routes_together() {
    let backend = Backend::echo().await;
    let more = "limits = { per_client = { rate = \"1/h\" } }";
    let gateway = gateway_before(backend.address, more).await;
    let mut one = from(2, gateway.address()).await;
    assert!(answered(&mut one).await.starts_with("HTTP/1.1 200"));
    let answer = exchange(&mut one, REQUEST, |text| text.contains("Envelope>")).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    let mut other = from(3, gateway.address()).await;
    assert!(answered(&mut other).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_partner_has_its_rate_wherever_it_calls_from() {
    let mut backend = Backend::echo().await;
    let more = "limits = { per_partner = { rate = \"1/h\" } }";
    let gateway = gateway(&protected(&backend, more)).await;
    let ask = |user: &str| send(gateway.address(), post("/echo", message_of(user)));
    assert_eq!(ask("alice").await.status, StatusCode::OK);
    backend.seen.recv().await.expect("it was passed on");
    assert_eq!(ask("alice").await.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(backend.seen.try_recv().is_err());
    assert_eq!(ask("bob").await.status, StatusCode::OK);
}
