//! Several backends behind a policy: conversations, requests that are secured anew, and answers
//! that prove nothing.

use http::StatusCode;

use super::{IDEMPOTENT, Manner, Member, call, file, metric, usable};
use crate::conversations;
use crate::secured;
use crate::support::{Backend, ENVELOPE, Folder, Nobody};

#[tokio::test]
async fn calls_of_one_conversation_stay_together() {
    let folder = Folder::with_keys();
    let members = [
        Member::new("a", Manner::Echoes).await,
        Member::new("b", Manner::Echoes).await,
        Member::new("c", Manner::Echoes).await,
    ];
    let backends: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    let inbound = conversations::tables("server", "client", "");
    let more = format!("[routes.balance]\nsticky = \"conversation\"\n[routes.inbound]\n{inbound}");
    let service = folder.gateway(&file(&backends, &more)).await;
    let outbound = conversations::tables("client", "server", "");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{outbound}",
        service.address()
    );
    let mut homes = Vec::new();
    for _ in 0..6 {
        let client = folder.gateway(&text).await;
        let before: Vec<u32> = members.iter().map(Member::requests).collect();
        for _ in 0..5 {
            let answer = call(&client).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        let served: Vec<u32> = (members.iter().zip(before))
            .map(|(member, before)| member.requests() - before)
            .collect();
        assert!(served.contains(&5), "{served:?}");
        homes.push(served);
    }
}

/// Each backend has a conversation of its own with the gateway.

#[tokio::test]
async fn a_conversation_with_a_backend_that_is_gone_is_replaced_by_another() {
    let folder = Folder::with_keys();
    let echo = [Backend::echo().await, Backend::echo().await];
    let one = conversations::service(&folder, &echo[0], "").await;
    let other = conversations::service(&folder, &echo[1], "").await;
    let outbound = conversations::tables("client", "server", "");
    let backends = [(one.address(), ""), (other.address(), "")];
    let more = format!(
        "[routes.balance]\nselection = \"round-robin\"\nidempotent = [\"echo\"]\n[routes.outbound]\n{outbound}"
    );
    let client = folder.gateway(&file(&backends, &more)).await;
    for _ in 0..4 {
        let answer = call(&client).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let established = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";
    assert_eq!(metric(&client, established).await, 2);
    drop(one);
    for _ in 0..10 {
        let answer = call(&client).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body.contains(">hello<"), "{}", answer.body);
    }
}

/// Backends that share what they remember would take the same message for a replay.

#[tokio::test]
async fn a_request_that_goes_to_another_backend_is_secured_anew() {
    let folder = Folder::with_keys();
    let members = [
        Member::new("a", Manner::Hangs).await,
        Member::new("b", Manner::Hangs).await,
    ];
    let backends: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    let outbound = secured::client("sign");
    let more = format!("{IDEMPOTENT}[routes.outbound]\n{outbound}");
    let gateway = folder.gateway(&file(&backends, &more)).await;
    let answer = call(&gateway).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let (first, second) = (members[0].bodies(), members[1].bodies());
    assert_eq!((first.len(), second.len()), (1, 1));
    let value = |body: &str| {
        let (_, after) = body.split_once("SignatureValue>").expect("it is signed");
        after.split_once('<').expect("it ends").0.to_owned()
    };
    assert_ne!(value(&first[0]), value(&second[0]));
}

/// What the next backend may need takes room; where none is left, nothing is kept.
#[tokio::test]
async fn a_request_that_may_go_to_another_backend_takes_room_twice() {
    let folder = Folder::with_keys();
    let members = [
        Member::new("a", Manner::Names).await,
        Member::new("b", Manner::Names).await,
    ];
    let all: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    let outbound = secured::client("sign");
    let more = format!("{IDEMPOTENT}[routes.outbound]\n{outbound}");
    for (backends, expected) in [
        // The answer of a backend proves nothing.
        (&all[..1], StatusCode::BAD_GATEWAY),
        (&all[..], StatusCode::SERVICE_UNAVAILABLE),
    ] {
        let room = ENVELOPE.len() + ENVELOPE.len() / 2;
        let limits = format!("LISTEN\nlimits = {{ buffered = {room} }}");
        let text = file(backends, &more).replace("LISTEN", &limits);
        let gateway = folder.gateway(&text).await;
        let answer = call(&gateway).await;
        assert_eq!(answer.status, expected, "{}", answer.body);
        assert_eq!(metric(&gateway, "soapstone_buffered_octets").await, 0);
    }
    assert_eq!(members[0].requests() + members[1].requests(), 1);
}

/// `mechanism = "none"` of a backend is its policy, and not the lack of one.
#[tokio::test]
async fn a_backend_that_is_said_to_get_messages_as_they_are_gets_them_so() {
    let folder = Folder::with_keys();
    let members = [
        Member::new("plain", Manner::Names).await,
        Member::new("signed", Manner::Names).await,
    ];
    let backends = [
        (
            members[0].address,
            "outbound = { security = { mechanism = \"none\" } }",
        ),
        (members[1].address, ""),
    ];
    let outbound = secured::client("sign");
    let more =
        format!("[routes.balance]\nselection = \"round-robin\"\n[routes.outbound]\n{outbound}");
    let gateway = folder.gateway(&file(&backends, &more)).await;
    let mut answers = [call(&gateway).await, call(&gateway).await];
    // The second one proves nothing.
    answers.sort_by_key(|answer| answer.status);
    let [plain, unproven] = answers;
    assert_eq!(
        (plain.status, plain.body.as_str()),
        (StatusCode::OK, "plain")
    );
    assert_eq!(unproven.status, StatusCode::BAD_GATEWAY);
    let is_signed = |member: &Member| -> Vec<bool> {
        let bodies = member.bodies();
        let bodies = bodies.iter().map(|body| body.contains("SignatureValue"));
        bodies.collect()
    };
    assert_eq!(members.each_ref().map(is_signed), [[false], [true]]);
}

/// A backend with an endpoint gets what that endpoint made, also where another one of the route
/// gets messages as they are.
#[tokio::test]
async fn a_request_as_it_came_is_secured_for_the_backend_that_it_goes_to_next() {
    let folder = Folder::with_keys();
    let member = Member::new("b", Manner::Names).await;
    let nobody = Nobody::new();
    let outbound = secured::client("sign");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\n[[routes.backends]]\nurl = \"http://{}/echo\"\n\
         [[routes.backends]]\nurl = \"http://{}/echo\"\n[routes.backends.outbound]\n{outbound}\
         [routes.balance]\nselection = \"round-robin\"\n",
        nobody.address, member.address
    );
    let gateway = folder.gateway(&text).await;
    for _ in 0..4 {
        // What this backend answers proves nothing.
        let answer = call(&gateway).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    }
    let bodies = member.bodies();
    assert!(bodies.len() > 1, "{}", bodies.len());
    for body in bodies {
        assert!(body.contains("SignatureValue"), "{body}");
    }
    let metrics = gateway.metrics();
    let mut retried = metrics
        .lines()
        .filter(|line| line.contains("retries_total{"));
    assert!(retried.any(|line| !line.ends_with(" 0")), "{metrics}");
}

#[tokio::test]
async fn a_secured_request_whose_backend_is_gone_goes_to_another_one() {
    let folder = Folder::with_keys();
    let echo = Backend::echo().await;
    let inbound = secured::service("sign-encrypt");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{inbound}",
        echo.address
    );
    let service = folder.gateway(&text).await;
    let nobody = Nobody::new();
    let backends = [(nobody.address, ""), (service.address(), "")];
    let outbound = secured::client("sign-encrypt");
    let more =
        format!("[routes.balance]\nselection = \"round-robin\"\n[routes.outbound]\n{outbound}");
    let gateway = folder.gateway(&file(&backends, &more)).await;
    for _ in 0..6 {
        let answer = call(&gateway).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body.contains(">hello<"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_backend_whose_answers_are_not_proven_is_ejected() {
    let folder = Folder::with_keys();
    let lying = Member::new("lying", Manner::Echoes).await;
    let echo = Backend::echo().await;
    let inbound = secured::service("sign");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{inbound}",
        echo.address
    );
    let honest = folder.gateway(&text).await;
    let backends = [(lying.address, ""), (honest.address(), "")];
    let outbound = secured::client("sign");
    let more = format!(
        "{IDEMPOTENT}selection = \"round-robin\"\nejection = {{ failures = 2, time = \"1h\", longest = \"1h\" }}\n[routes.outbound]\n{outbound}"
    );
    let gateway = folder.gateway(&file(&backends, &more)).await;
    let mut refused = 0;
    for _ in 0..12 {
        let answer = call(&gateway).await;
        refused += u32::from(answer.status != StatusCode::OK);
    }
    // What is refused is never tried elsewhere: the first backend may have obeyed it.
    assert_eq!((refused, lying.requests()), (2, 2));
    assert!(!usable(&gateway, &lying).await);
}
