//! Questions for users: whose assertion a request brings, how many are asked at once, and what one
//! user's trouble is to another.

use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;

const ATTRIBUTES: &[(&str, &str)] = &[("role", "reader")];

/// Passes connections on to a server, and breaks off that many before.
async fn passing_on(listener: TcpListener, to: SocketAddr, mut broken: u32) {
    while let Ok((mut stream, _)) = listener.accept().await {
        if let Some(left) = broken.checked_sub(1) {
            broken = left;
            continue;
        }
        tokio::spawn(async move {
            let mut to = TcpStream::connect(to).await.expect("it listens");
            tokio::io::copy_bidirectional(&mut stream, &mut to).await
        });
    }
}

/// A token service that grants each user a token of that user, and mallory none.
pub(super) async fn granting_users(folder: &Folder) -> Sts {
    Sts::granting(folder, |context, plain, before| {
        let (_, rest) = plain.split_once("<wst:OnBehalfOf>").expect("a user");
        let (_, rest) = rest.split_once("<saml:NameID>").expect("a name");
        let (user, _) = rest.split_once('<').expect("its end");
        if user == "mallory" {
            return "<nothing/>".to_owned();
        }
        let id = format!("_{before}");
        let made = Made {
            id: &id,
            ..Made::default()
        };
        answer(context, true, &assertion(AUDIENCE, ATTRIBUTES, user, &made))
    })
    .await
}

fn assertion(audience: &str, attributes: &[(&str, &str)], user: &str, made: &Made<'_>) -> String {
    let assertion = Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some(audience),
        attributes,
    };
    assertion.made(user, &keys::identity("CN=idp", keys::RSA), made)
}

/// A plain request with that assertion.
fn with(block: &str) -> String {
    let header = format!("<s:Header>{block}</s:Header><s:Body>");
    ENVELOPE.replacen("<s:Body>", &header, 1)
}

/// A plain request of a user.
pub(super) fn of(user: &str, made: &Made<'_>) -> String {
    with(&assertion(
        "https://gateway.example",
        ATTRIBUTES,
        user,
        made,
    ))
}

fn on_behalf(backend: SocketAddr, sts: SocketAddr, more: &str) -> String {
    let more = format!("user = \"on-behalf-of\"\n{more}");
    file(backend, sts, "bearer", &more)
}

pub(super) async fn call(gateway: &Running, request: &str) -> Answer {
    send(gateway.address(), post("/echo", request.to_owned())).await
}

/// The request is refused, for too much is under way.
async fn is_busy(gateway: &Running, request: &str) {
    let answer = call(gateway, request).await;
    let status = StatusCode::SERVICE_UNAVAILABLE;
    assert_eq!(answer.status, status, "{}", answer.body);
}

/// SAML Core 2.0, 2.5.1.2: an assertion whose conditions have ended is not valid any more.
#[tokio::test]
async fn a_user_whose_assertion_has_ended_is_asked_for_no_more() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (mut backend, _) = service(&folder, "bearer").await;
    let sts = granting_users(&folder).await;
    let text = on_behalf(backend.address, sts.backend.address, "");
    let gateway = folder.gateway(&text).await;
    let ended = Made {
        begin: -900,
        end: -1,
        ..Made::default()
    };
    let answer = call(&gateway, &of("alice", &ended)).await;
    assert_eq!(
        answer.status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "{}",
        answer.body
    );
    assert_eq!(sts.asked(), 0);
    assert!(backend.seen.try_recv().is_err());
    assert!(said.to_string().contains("it ended at"), "{said}");
    // A token of ten minutes is kept no longer than the assertion that it was granted for.
    let short = Made {
        end: 3,
        ..Made::default()
    };
    let request = of("alice", &short);
    let answer = call(&gateway, &request).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let refused = async {
        while call(&gateway, &request).await.status == StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    soon("the end of the user's assertion", refused).await;
}

/// SAML Core 2.0, 2.5.1.5: whether the assertion was used already is for the token service to say.
#[tokio::test]
async fn nothing_is_kept_for_an_assertion_for_one_use() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let sts = granting_users(&folder).await;
    let text = on_behalf(backend.address, sts.backend.address, "");
    let gateway = folder.gateway(&text).await;
    let once = Made {
        once: true,
        ..Made::default()
    };
    let request = of("alice", &once);
    for asked in 1..4 {
        let answer = call(&gateway, &request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert_eq!(sts.asked(), asked);
    }
}

#[tokio::test]
async fn a_users_assertion_that_is_too_large_is_not_shown_to_the_token_service() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let sts = granting_users(&folder).await;
    let text = on_behalf(backend.address, sts.backend.address, "");
    let gateway = folder.gateway(&text).await;
    for (size, status) in [
        (200 << 10, StatusCode::OK),
        (256 << 10, StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        let long = "x".repeat(size);
        let attributes = [("role", long.as_str())];
        let audience = "https://gateway.example";
        let block = assertion(audience, &attributes, "alice", &Made::default());
        let answer = call(&gateway, &with(&block)).await;
        assert_eq!(answer.status, status, "{}\n{said}", answer.body);
        assert_eq!(sts.asked(), 1);
    }
    assert!(said.to_string().contains("at most 262144 bytes"), "{said}");
}

/// Each question holds an assertion and a connection, whether or not its client still waits.
#[tokio::test]
async fn where_all_places_have_a_question_under_way_no_other_begins() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let (sts, mut accepted) = silent_backend().await;
    let text = on_behalf(backend.address, sts, "capacity = 1").replace(
        "[routes.outbound]",
        "timeouts = { response = \"5s\" }\n[routes.outbound]",
    );
    let gateway = folder.gateway(&text).await;
    let address = gateway.address();
    let request = of("alice", &Made::default());
    let first = tokio::spawn(async move { send(address, post("/echo", request)).await });
    let _connection = soon("the first question", accepted.recv()).await;
    is_busy(&gateway, &of("bob", &Made::default())).await;
    assert!(accepted.try_recv().is_err());
    first.abort();
}

/// Each request with an assertion for one use asks for itself, with no place among what is kept.
#[tokio::test]
async fn sixty_four_questions_are_asked_at_once_and_no_more() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let (sts, mut accepted) = silent_backend().await;
    let gateway = folder.gateway(&on_behalf(backend.address, sts, "")).await;
    let address = gateway.address();
    let once = Made {
        once: true,
        ..Made::default()
    };
    let request = of("alice", &once);
    let mut waiting = tokio::task::JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..64 {
        waiting.spawn(send(address, post("/echo", request.clone())));
        connections.push(soon("a question", accepted.recv()).await);
    }
    for more in [request, of("bob", &Made::default())] {
        is_busy(&gateway, &more).await;
    }
    assert!(accepted.try_recv().is_err());
}

/// A user can bring an assertion at which the token service breaks off. Others have none of it.
#[tokio::test]
async fn a_question_that_breaks_off_is_of_its_user_alone() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let sts = granting_users(&folder).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let front = listener.local_addr().expect("it is bound");
    tokio::spawn(passing_on(listener, sts.backend.address, 4));
    let text = on_behalf(backend.address, front, "");
    let gateway = folder.gateway(&text).await;
    let (mallory, alice) = (
        of("mallory", &Made::default()),
        of("alice", &Made::default()),
    );
    let broken = async {
        while metric(&gateway, FAILED).await < 4 {
            let answer = call(&gateway, &mallory).await;
            assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("four questions that break off", broken).await;
    let answer = call(&gateway, &alice).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// The token service does not answer the handshake of TLS: nobody is connected.
#[tokio::test]
async fn one_user_tries_whether_a_token_service_is_there_again() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let (sts, mut accepted) = silent_backend().await;
    let text = on_behalf(backend.address, sts, "tls = { ca = \"ca.cert.pem\" }")
        .replace(&format!("http://{sts}"), &format!("https://{sts}"))
        .replace(
            "[routes.outbound]",
            "timeouts = { connect = \"1s\" }\n[routes.outbound]",
        );
    let gateway = folder.gateway(&text).await;
    let users = ["alice", "bob", "carol", "dave", "erin", "frank"];
    let requests = users.map(|user| of(user, &Made::default()));
    let answer = call(&gateway, &requests[0]).await;
    assert_eq!(
        answer.status,
        StatusCode::GATEWAY_TIMEOUT,
        "{}",
        answer.body
    );
    let _first = soon("the first connection", accepted.recv()).await;
    // Until the first pause is over.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let answers = futures_join(requests.iter().map(|one| call(&gateway, one))).await;
    for answer in answers {
        assert_eq!(
            answer.status,
            StatusCode::GATEWAY_TIMEOUT,
            "{}",
            answer.body
        );
    }
    let mut tried = Vec::new();
    while let Ok(connection) = accepted.try_recv() {
        tried.push(connection);
    }
    assert!(tried.len() < users.len(), "{}", tried.len());
}

/// A refusal is an answer: whoever is asked next finds the token service there.
#[tokio::test]
async fn a_token_service_that_refuses_a_user_is_there_for_others() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let sts = granting_users(&folder).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(any).expect("a free port");
    let front = socket.local_addr().expect("it is bound");
    let gateway = folder.gateway(&on_behalf(backend.address, front, "")).await;
    let answer = call(&gateway, &of("bob", &Made::default())).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    let listener = socket.listen(16).expect("the port is bound");
    tokio::spawn(passing_on(listener, sts.backend.address, 0));
    let mallory = of("mallory", &Made::default());
    let refused = async {
        while sts.asked() == 0 {
            let answer = call(&gateway, &mallory).await;
            assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("a refusal", refused).await;
    let answer = call(&gateway, &of("alice", &Made::default())).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}
