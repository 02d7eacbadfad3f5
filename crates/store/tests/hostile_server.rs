//! A server of replay marks that is no friend: slow, endless, and answering something else than it
//! was asked.

mod servers;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use servers::{Node, at, context, mark, node};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::replay::{ReplayCache, ReplayError};

/// Listens, and has each connection served on a thread of its own.
fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Greets as a primary with nothing to evict, and says the same to every question after that.
fn answering(answer: &'static str) -> u16 {
    listen(move |mut stream| {
        let memory = "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
        let stats = "evicted_keys:0\r\n";
        let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let greeting = format!("*1\r\n$6\r\nmaster\r\n{}{}", text(memory), text(stats));
        let mut question = [0; 4096];
        let mut next = greeting.as_str();
        while stream.read(&mut question).is_ok_and(|octets| octets > 0) {
            if stream.write_all(next.as_bytes()).is_err() {
                return;
            }
            next = answer;
        }
    })
}

fn node_at(port: u16, timeout: &str) -> Node {
    node(
        &format!("url = \"redis://127.0.0.1:{port}\"\ntimeout = \"{timeout}\""),
        "",
    )
}

fn refusal(node: &Node) -> String {
    match node.replay.first_seen(&[mark(1, 300)], at(0)) {
        Err(ReplayError::Unavailable { problem }) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_that_trickles_in_ends_with_its_time() {
    let port = listen(|mut stream| {
        let mut next = b"$1000\r\n".iter().chain(std::iter::repeat(&b'x'));
        while stream.write_all(&[*next.next().expect("no end")]).is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let node = node_at(port, "200ms");
    let start = Instant::now();
    let problem = format!("the store of replay marks: 127.0.0.1:{port}: no answer in time");
    assert_eq!(refusal(&node), problem);
    // A thousand bytes would have taken fifty seconds.
    assert!(start.elapsed() < Duration::from_secs(25));
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let port = listen(|mut stream| {
        let mut next: &[u8] = b"$4000000000\r\n";
        while stream.write_all(next).is_ok() {
            next = &[b'x'; 65_536];
        }
    });
    let node = node_at(port, "20s");
    let problem = format!(
        "the store of replay marks: 127.0.0.1:{port}: more than 4194304 bytes in its answers"
    );
    assert_eq!(refusal(&node), problem);
}

#[test]
fn answers_to_other_questions_admit_nothing() {
    let deep: &str = Box::leak("*1\r\n".repeat(5000).into_boxed_str());
    for answer in [
        "+OK\r\n",
        ":2\r\n",
        ":-1\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "$1\r\n1\r\n",
        "*1\r\n:1\r\n",
        "*9223372036854775807\r\n:1\r\n",
        "$9223372036854775807\r\n",
        "-MOVED 1 127.0.0.1:1\r\n",
        "-ASK 1 127.0.0.1:1\r\n",
        "-NOSCRIPT no\r\n",
        "%1\r\n:1\r\n:1\r\n",
        ">1\r\n+message\r\n",
        "#t\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        deep,
    ] {
        let node = node_at(answering(answer), "300ms");
        refusal(&node);
        let found = node.contexts.find("/", &context(1, 0).name(), at(0));
        let none = matches!(
            found,
            Ok(None)
                | Err(StoreUnavailable::Refused { .. }
                    | StoreUnavailable::Unreachable { .. }
                    | StoreUnavailable::Unreadable { .. })
        );
        assert!(
            none,
            "{found:?} after {:?}",
            &answer[..answer.len().min(30)]
        );
    }
}
