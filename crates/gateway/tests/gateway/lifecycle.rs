//! Beginning, changing and ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use soapstone_gateway::Gateway;

use crate::support::{
    Backend, ENVELOPE, config, exchange, gateway_before, get, post, request_in_flight, send,
    silent_backend, soon,
};

#[tokio::test]
async fn a_port_in_use_is_named_with_a_hint() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = taken.local_addr().expect("it is bound");
    let text = format!(
        "listen = \"{address}\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9\"\n"
    );
    let error = Gateway::start(config(&text))
        .await
        .expect_err("the port is taken");
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {address}: another program listens there")
    );
    assert_eq!(error.hint(), Some("stop it, or choose another port"));
}

#[tokio::test]
async fn a_request_in_hand_is_finished_before_the_gateway_ends() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "").await;
    let gateway_address = gateway.address();
    let client = tokio::spawn(async move { send(gateway_address, post("/echo", ENVELOPE)).await });
    let mut at_backend = soon("the request", accepted.recv())
        .await
        .expect("the gateway connects");
    let ending = tokio::spawn(gateway.shutdown());
    // The listener is gone as soon as the gateway drains.
    soon("the end of the listener", async {
        while TcpStream::connect(gateway_address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!ending.is_finished());
    at_backend
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        .await
        .expect("the gateway reads");
    let answer = soon("the answer", client).await.expect("no panic");
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, "done")
    );
    assert_eq!(soon("the end", ending).await.expect("no panic"), 0);
}

#[tokio::test]
async fn what_is_not_finished_in_the_drain_time_is_dropped_and_counted() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "timeouts = { drain = \"50ms\" }").await;
    let _held = request_in_flight(&gateway, &mut accepted).await;
    assert_eq!(soon("the end", gateway.shutdown()).await, 1);
}

#[tokio::test]
async fn an_idle_connection_does_not_keep_the_gateway_from_ending() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";
    exchange(&mut client, request, |text| text.ends_with("hi")).await;
    assert_eq!(soon("the end", gateway.shutdown()).await, 0);
}

#[tokio::test]
async fn another_configuration_serves_the_next_request_of_an_open_connection() {
    let (one, other) = (Backend::echo().await, Backend::echo().await);
    let gateway = Arc::new(gateway_before(one.address, "").await);
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";
    exchange(&mut client, request, |text| text.ends_with("hi")).await;
    gateway.reload(config(&format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n",
        other.address
    )));
    exchange(&mut client, request, |text| text.ends_with("hi")).await;
    let (mut one, mut other) = (one, other);
    one.seen.recv().await.expect("the first request");
    other.seen.recv().await.expect("the second request");
    assert!(one.seen.try_recv().is_err());
}

/// The case `reliability/08`: both listeners were closed at once, so that nobody could learn that
/// the gateway would end.
/// The case `reliability/09`: what a burst of requests leaves behind.
#[tokio::test]
async fn connections_that_a_burst_made_are_closed_when_nobody_needs_them() {
    const BURST: usize = 40;
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "").await;
    let address = gateway.address();
    let clients: Vec<_> = (0..BURST)
        .map(|_| tokio::spawn(async move { send(address, post("/echo", ENVELOPE)).await }))
        .collect();
    let mut at_backend = Vec::new();
    for _ in 0..BURST {
        let connection = soon("a request", accepted.recv()).await;
        at_backend.push(connection.expect("the gateway connects"));
    }
    for connection in &mut at_backend {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
        connection.write_all(answer).await.expect("it is open");
    }
    for client in clients {
        assert_eq!(client.await.expect("no panic").body, "done");
    }
    // Half a minute passes at once.
    tokio::time::pause();
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(10)).await;
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
    let (closed, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    for mut connection in at_backend {
        let (closed, told) = (Arc::clone(&closed), Arc::clone(&told));
        tokio::spawn(async move {
            // The request that came is read to the end of the connection.
            let ended = connection.read_to_end(&mut Vec::new()).await;
            ended.expect("it is closed as it should be");
            closed.fetch_add(1, Ordering::Relaxed);
            told.notify_one();
        });
    }
    soon("the end of those that nobody needs", async {
        while closed.load(Ordering::Relaxed) < BURST - 32 {
            told.notified().await;
        }
    })
    .await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(closed.load(Ordering::Relaxed), BURST - 32);
}

#[tokio::test]
async fn a_gateway_that_will_end_says_so_serves_on_and_tells_of_its_drain() {
    let (address, mut accepted) = silent_backend().await;
    let backend = Backend::echo().await;
    let text = format!(
        "LISTEN\nadmin = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/\"\n\
         [[routes]]\npath = \"/slow\"\nbackend = \"http://{address}/\"\n",
        backend.address
    );
    let gateway = crate::support::gateway(&text).await;
    let (routes, admin) = (
        gateway.address(),
        gateway.admin_address().expect("it is configured"),
    );
    let ready = || async { send(admin, get("/readyz")).await };
    assert_eq!(ready().await.status, StatusCode::OK);
    gateway.announce_end();
    let told = ready().await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        told.body.starts_with("ready: false\ndraining: true\n"),
        "{}",
        told.body
    );
    let answer = send(routes, post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK);
    // Those of the probes.
    while accepted.try_recv().is_ok() {}
    let held = tokio::spawn(async move { send(routes, post("/slow", ENVELOPE)).await });
    let mut at_backend = soon("the request", accepted.recv())
        .await
        .expect("the gateway connects");
    let ending = tokio::spawn(gateway.shutdown());
    soon("the end of the listener", async {
        while TcpStream::connect(routes).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(send(admin, get("/healthz")).await.status, StatusCode::OK);
    assert_eq!(ready().await.status, StatusCode::SERVICE_UNAVAILABLE);
    at_backend
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        .await
        .expect("the gateway reads");
    assert_eq!(
        soon("the answer", held).await.expect("no panic").body,
        "done"
    );
    assert_eq!(soon("the end", ending).await.expect("no panic"), 0);
    assert!(TcpStream::connect(admin).await.is_err());
}

#[tokio::test]
async fn who_has_connected_before_the_end_gets_an_answer() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let address = gateway.address();
    let ending = tokio::spawn(gateway.shutdown());
    soon("the end of the listener", async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";
    let answer = soon("an answer", exchange(&mut client, request, |_| false)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.ends_with("hi"), "{answer}");
    assert_eq!(soon("the end", ending).await.expect("no panic"), 0);
}

#[tokio::test]
async fn a_socket_that_was_passed_has_to_be_named() {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    let text = "LISTEN\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9\"\n";
    let error = Gateway::start_on(config(text), vec![socket])
        .await
        .expect_err("it is not named");
    assert_eq!(
        error.to_string(),
        format!(
            "a socket that listens on {address} was passed, and neither `listen` nor `admin` is that address"
        )
    );
}

/// Calls over new connections until told to stop: how many there were, and which failed.
fn calls(
    address: std::net::SocketAddr,
    stop: Arc<std::sync::atomic::AtomicBool>,
) -> tokio::task::JoinHandle<(u32, Vec<String>)> {
    tokio::spawn(async move {
        let (mut made, mut failed) = (0, Vec::new());
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            made += 1;
            let call = async {
                let mut client = TcpStream::connect(address).await?;
                let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
                client.write_all(request).await?;
                let mut answer = String::new();
                tokio::io::AsyncReadExt::read_to_string(&mut client, &mut answer).await?;
                Ok::<_, std::io::Error>(answer)
            };
            match call.await {
                Ok(answer) if answer.starts_with("HTTP/1.1 200 OK") => {}
                Ok(answer) => failed.push(answer),
                Err(error) => failed.push(error.to_string()),
            }
        }
        (made, failed)
    })
}

/// Five times another gateway takes over while clients call over new connections.
async fn restarted(text: &str, socket: Option<std::net::TcpListener>) -> (u32, Vec<String>) {
    let passed = || {
        let socket = socket
            .as_ref()
            .map(|socket| socket.try_clone().expect("a descriptor"));
        socket.into_iter().collect::<Vec<_>>()
    };
    let start = || Gateway::start_on(config(text), passed());
    let mut gateway = start().await.expect("the port is free");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|_| calls(gateway.address(), Arc::clone(&stop)))
        .collect();
    for _ in 0..5 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let next = start().await.expect("the port is shared");
        let former = std::mem::replace(&mut gateway, next);
        assert_eq!(soon("the end", former.shutdown()).await, 0);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let (mut made, mut failed) = (0, Vec::new());
    for client in clients {
        let (calls, failures) = soon("the last answer", client).await.expect("no panic");
        made += calls;
        failed.extend(failures);
    }
    (made, failed)
}

fn before(address: std::net::SocketAddr, more: &str, backend: &Backend) -> String {
    format!(
        "listen = \"{address}\"\n{more}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/\"\n",
        backend.address
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_on_a_socket_that_a_supervisor_keeps_lose_no_connection() {
    let backend = Backend::echo().await;
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    let (made, failed) = restarted(&before(address, "", &backend), Some(socket)).await;
    assert_eq!(failed, Vec::<String>::new(), "of {made}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_on_a_shared_port_lose_no_connection() {
    let backend = Backend::echo().await;
    let address = crate::support::free_address();
    let text = before(address, "reuse_port = true", &backend);
    let (made, failed) = restarted(&text, None).await;
    assert_eq!(failed, Vec::<String>::new(), "of {made}");
}
