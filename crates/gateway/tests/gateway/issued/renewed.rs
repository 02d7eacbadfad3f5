//! Assertions that are renewed, and cancelled when the gateway ends, where the file says so
//! (WS-Trust 1.4, 5 and 6).

use super::*;

/// What a token service is asked for, in order: `Issue`, `Renew` or `Cancel`, and the id of the
/// assertion in the request.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// What a text has between two others; nothing, where they are not there.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let found = text.split_once(before);
    let found = found.and_then(|(_, rest)| rest.split_once(after));
    found.map_or("", |(found, _)| found)
}

/// A token service that notes what it is asked for. It grants the ids `_0`, `_1` and so on, about
/// the subject that the function says of a kind of request, and refuses where that says none.
async fn noting(
    folder: &Folder,
    subject: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static,
) -> (Sts, Asked) {
    lasting(folder, subject, |_| 4).await
}

/// One that grants for so many seconds, by the kind of request.
async fn lasting(
    folder: &Folder,
    subject: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static,
    life: impl Fn(&str) -> i64 + Send + Sync + 'static,
) -> (Sts, Asked) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let sts = Sts::granting(folder, move |context, plain, before| {
        let types = format!("<wst:RequestType>{WST}/");
        let kind = between(plain, &types, "<");
        let id = between(plain, " ID=\"", "\"");
        // Not locked while it answers: the next question may come meanwhile.
        let note = (kind.to_owned(), id.to_owned());
        noted.lock().expect("nobody panicked").push(note);
        if kind == "Cancel" {
            return format!(
                "<wst:RequestSecurityTokenResponse xmlns:wst=\"{WST}\" Context=\"{context}\">\
                 <wst:RequestedTokenCancelled></wst:RequestedTokenCancelled></wst:RequestSecurityTokenResponse>"
            );
        }
        let Some(subject) = subject(kind) else {
            return "<nothing/>".to_owned();
        };
        let assertion = Assertion {
            is_20: true,
            method: "bearer",
            holder: None,
            audience: Some(AUDIENCE),
            attributes: &[("role", "reader")],
        };
        let made = Made {
            id: &format!("_{before}"),
            end: life(kind),
            ..Made::default()
        };
        let idp = keys::identity("CN=idp", keys::RSA);
        answer(context, true, &assertion.made(subject, &idp, &made))
    });
    (sts.await, asked)
}

/// A gateway between that token service and a service of its own.
struct Between {
    gateway: Running,
    /// Whose the assertions were that the service accepted.
    senders: Arc<Mutex<Vec<String>>>,
    _service: Backend,
}

impl Between {
    /// With these keys in its table of the token service. `edited` changes the rest of its file.
    async fn with(
        folder: &Folder,
        sts: &Sts,
        more: &str,
        edited: impl Fn(String) -> String,
    ) -> Self {
        let (service, senders) = service(folder, "bearer").await;
        let text = file(service.address, sts.backend.address, "bearer", more);
        Self {
            gateway: folder.gateway(&edited(text)).await,
            senders,
            _service: service,
        }
    }

    /// One that renews assertions.
    async fn renewing(folder: &Folder, sts: &Sts) -> Self {
        Self::with(folder, sts, "renew = true", |text| text).await
    }
}

/// Sends requests until the token service has noted so many questions.
async fn asked_for(gateway: &Running, asked: &Asked, times: usize) {
    let asked = async {
        while kinds(asked).len() < times {
            let answer = ask(gateway).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("the questions", asked).await;
}

fn kinds(asked: &Asked) -> Vec<String> {
    let asked = asked.lock().expect("nobody panicked");
    asked.iter().map(|(kind, _)| kind.clone()).collect()
}

#[tokio::test]
async fn an_assertion_about_ourselves_is_renewed_where_the_file_says_so() {
    let folder = folder();
    let (sts, asked) = noting(&folder, |_| Some("alice")).await;
    let between = Between::renewing(&folder, &sts).await;
    asked_for(&between.gateway, &asked, 3).await;
    let asked = asked.lock().expect("nobody panicked");
    let expected = [("Issue", ""), ("Renew", "_0"), ("Renew", "_1")];
    let expected = expected.map(|(kind, id)| (kind.to_owned(), id.to_owned()));
    assert_eq!(asked[..3], expected);
}

/// A token service may renew nothing, or not any more: then it is asked as before.
#[tokio::test]
async fn a_refused_renewal_is_followed_by_a_new_question() {
    let folder = folder();
    let issues = |kind: &str| (kind == "Issue").then_some("alice");
    let (sts, asked) = noting(&folder, issues).await;
    let between = Between::renewing(&folder, &sts).await;
    asked_for(&between.gateway, &asked, 4).await;
    assert_eq!(kinds(&asked)[..4], ["Issue", "Renew", "Issue", "Renew"]);
}

/// An answer that ends no later is no renewal, and another assertion is asked for at once: no
/// request waits until there is none.
#[tokio::test]
async fn a_renewal_that_ends_no_later_is_followed_by_a_new_question() {
    let folder = folder();
    let (sts, asked) = lasting(
        &folder,
        |_| Some("alice"),
        |kind| {
            // Until then the first one has ended.
            if kind == "Renew" { 2 } else { 6 }
        },
    )
    .await;
    let between = Between::renewing(&folder, &sts).await;
    asked_for(&between.gateway, &asked, 3).await;
    assert_eq!(kinds(&asked)[..3], ["Issue", "Renew", "Issue"]);
}

/// After a renewal that came to nothing, whatever the reason, no other one is tried.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_renewal_without_an_answer_is_followed_by_a_new_question() {
    let folder = folder();
    let (sts, asked) = noting(&folder, |kind| {
        if kind == "Renew" {
            // Longer than the gateway waits.
            std::thread::sleep(std::time::Duration::from_millis(900));
        }
        Some("alice")
    })
    .await;
    let hurried = |text: String| {
        text.replace(
            "[routes.outbound]",
            "timeouts = { response = \"300ms\" }\n[routes.outbound]",
        )
    };
    let between = Between::with(&folder, &sts, "renew = true", hurried).await;
    asked_for(&between.gateway, &asked, 3).await;
    assert_eq!(kinds(&asked)[..3], ["Issue", "Renew", "Issue"]);
}

/// WS-Trust 1.4, 5: all but the end stays. An answer about another subject would give our requests
/// the rights of that one.
#[tokio::test]
async fn a_renewal_about_another_subject_is_not_used() {
    let folder = folder();
    let swaps = |kind: &str| match kind {
        "Renew" => Some("mallory"),
        _ => Some("alice"),
    };
    let (sts, asked) = noting(&folder, swaps).await;
    let between = Between::renewing(&folder, &sts).await;
    asked_for(&between.gateway, &asked, 4).await;
    assert_eq!(kinds(&asked)[..3], ["Issue", "Renew", "Issue"]);
    let senders = between.senders.lock().expect("nobody panicked");
    assert!(
        senders.iter().all(|one| one.starts_with("alice ")),
        "{senders:?}"
    );
}

#[tokio::test]
async fn assertions_that_are_kept_are_cancelled_at_the_end_where_the_file_says_so() {
    for (more, expected) in [
        ("cancel = true", vec!["Issue", "Cancel", "Issue"]),
        ("", vec!["Issue"]),
    ] {
        let folder = folder();
        let (sts, asked) = noting(&folder, |_| Some("alice")).await;
        let between = Between::with(&folder, &sts, more, |text| text).await;
        let gateway = between.gateway;
        assert_eq!(ask(&gateway).await.status, StatusCode::OK);
        gateway.end_conversations().await;
        // One that is gone is not cancelled again, and whoever goes on gets another one.
        gateway.end_conversations().await;
        assert_eq!(ask(&gateway).await.status, StatusCode::OK);
        assert_eq!(kinds(&asked), expected, "{more}");
        if let Some((_, id)) = asked.lock().expect("nobody panicked").get(1) {
            assert_eq!(id, "_0");
        }
    }
}

#[test]
fn files_that_could_renew_nothing_or_would_show_an_assertion_are_refused() {
    let folder = folder();
    let nobody: SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let problems = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let both = "renew = true\ncancel = true";
    assert_eq!(problems(&file(nobody, nobody, "bearer", both)), "");
    let of_users = format!("{both}\nuser = \"on-behalf-of\"");
    let told = problems(&file(nobody, nobody, "bearer", &of_users));
    let expected = "the assertion of a user ends with the user's own, and is asked for with it";
    assert!(told.contains(expected), "{told}");
}
