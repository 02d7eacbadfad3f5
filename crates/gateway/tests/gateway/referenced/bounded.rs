//! How much is asked, waited for and kept, and which files promise what cannot be kept.

use super::*;

/// Amplification: strangers make the gateway ask so often, and no more.
#[tokio::test]
async fn questions_in_a_second_are_bounded() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let text = file(backend.address, &quoted(&authority.url()), "");
    let text = text.replace(
        "timeout = \"2s\"",
        "timeout = \"2s\"\nper_second = 1\nat_once = 1",
    );
    let gateway = folder.gateway(&text).await;
    let messages = (0..20).map(|at| {
        let reference = reference(&format!("{}?ID=_{at}", authority.url()));
        let gateway = &gateway;
        async move { asked(gateway, &reference).await.status }
    });
    let began = std::time::Instant::now();
    for one in messages {
        assert_eq!(one.await, StatusCode::INTERNAL_SERVER_ERROR);
    }
    let seconds = usize::try_from(began.elapsed().as_secs()).expect("a few");
    assert!(
        authority.times() <= seconds + 2,
        "{} in {seconds} s",
        authority.times()
    );
}

/// An authority that hangs or is away ends with a refusal, whose reason the operator has. It may
/// come back.
#[tokio::test]
async fn an_authority_that_is_away_or_slow_stops_nobody_for_long() {
    let folder = folder();
    let backend = Backend::echo().await;
    let (silent, _accepted) = silent_backend().await;
    let slow = format!("https://localhost:{}/a", silent.port());
    let away = format!("https://localhost:{}/a", free_address().port());
    let authority = Authority::with(&folder, bearer()).await;
    let all = format!("\"{slow}\", \"{away}\", \"{}\"", authority.url());
    let text = file(backend.address, &all, "").replace("timeout = \"2s\"", "timeout = \"200ms\"");
    let gateway = folder.gateway(&text).await;
    for url in [&slow, &away] {
        let answer = asked(&gateway, &named(url)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{url}");
    }
    assert!(gateway.metrics().contains("assertion-unavailable"));
    let text = text.replace("200ms", "10s");
    gateway.reload(folder.config(&text));
    let answer = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Each message that waits has a thread: those above the bound are refused at once.
#[tokio::test]
async fn few_messages_wait_for_one_question() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::start(&folder, |_, _| {
        std::thread::sleep(Duration::from_millis(1_500));
        found(bearer())
    });
    let authority = authority.await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    let reference = named(&authority.url());
    let (address, message) = (gateway.address(), message(&reference));
    let mut messages = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let message = message.clone();
        messages.spawn(async move {
            let stream = connect(address, b"http/1.1", false).await;
            let sent = send_over(stream.expect("a handshake"), post("/echo", message));
            sent.await.expect("an answer").status
        });
    }
    let answers = messages.join_all().await;
    let accepted = answers.iter().filter(|status| **status == StatusCode::OK);
    let accepted = accepted.count();
    // The one that asks, and those that may wait; a late one finds it kept.
    assert!((1..40).contains(&accepted), "{accepted} of 40");
    assert_eq!(authority.times(), 1);
}

/// A message chooses the place below an entry, and fills nothing by that.
#[tokio::test]
async fn one_assertion_is_kept_for_few_places() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let below = format!("https://localhost:{}/below/", authority.address.port());
    let gateway = gateway(&folder, &backend, &quoted(&below), "").await;
    let ask = async |place: usize| {
        let answer = asked(&gateway, &named(&format!("{below}{place}"))).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    };
    for place in 0..6 {
        ask(place).await;
    }
    assert_eq!(authority.times(), 6);
    for place in 0..6 {
        ask(place).await;
    }
    assert!(authority.times() >= 8, "{}", authority.times());
}

/// Messages that name one assertion at once wait for one question.
#[tokio::test]
async fn one_question_serves_all_who_wait() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::start(&folder, |_, _| {
        std::thread::sleep(Duration::from_millis(300));
        found(bearer())
    });
    let authority = authority.await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    let reference = named(&authority.url());
    let (a, b, c) = tokio::join!(
        asked(&gateway, &reference),
        asked(&gateway, &reference),
        asked(&gateway, &reference)
    );
    for answer in [a, b, c] {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    assert_eq!(authority.times(), 1);
}

/// Without the table nothing is fetched, and a second reference has nothing fetched for it.
#[tokio::test]
async fn nothing_is_fetched_unasked() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let text = file(backend.address, &quoted(&authority.url()), "");
    let begin = text
        .find("[routes.inbound.saml.by_reference]")
        .expect("the table");
    let end = text
        .find("[routes.inbound.security]")
        .expect("the next table");
    let off = folder
        .gateway(&format!("{}{}", &text[..begin], &text[end..]))
        .await;
    let answer = asked(&off, &named(&authority.url())).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 0);
    let on = folder.gateway(&text).await;
    let both = format!(
        "{}{}",
        named(&authority.url()),
        reference(&format!("{}?ID=_second", authority.url()))
    );
    let beside = format!("{}{}", named(&authority.url()), bearer());
    let of_11 = binding(&authority.url(), ID);
    for (never, times) in [(beside, 0), (of_11, 0), (both, 1)] {
        let answer = asked(&on, &never).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(authority.times(), times, "{never}");
    }
    assert!(backend.seen.try_recv().is_err());
}

/// The id of a bearer's assertion is a password: the operator is told at the start.
#[test]
fn a_bearer_by_reference_is_warned_of() {
    let folder = folder();
    for (more, expected) in [
        ("", &["bearer-by-reference"][..]),
        ("confirmation = [\"holder-of-key\"]", &[]),
    ] {
        let text = file(free_address(), "\"https://idp.example/a\"", more);
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let warnings = config.warnings().into_iter().map(|warning| warning.name);
        let warnings: Vec<_> = warnings.filter(|name| *name != "readable-secret").collect();
        assert_eq!(warnings, expected, "{more}");
    }
}

#[test]
fn files_that_could_not_keep_their_word_are_refused() {
    let folder = folder();
    let backend = free_address();
    let said = |authorities: &str, more: &str| {
        let text = file(backend, authorities, more).replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let good = "\"https://idp.example/a\"";
    assert_eq!(said(good, ""), "");
    for (authorities, more, part) in [
        (good, "forward = true", "`forward` passes on"),
        (good, "encrypted = true", "in the clear"),
        (good, "protection = \"signature\"", "signature"),
        ("", "", "authorities"),
        ("\"http://idp.example/a\"", "", "https"),
        ("\"https://idp.example\"", "", "a path"),
        (good, "confirmation = [\"bearer\"]", "`allow_bearer = true`"),
    ] {
        let problems = said(authorities, more);
        assert!(problems.contains(part), "{more}: {problems}");
    }
    let changed = |authorities: &str, from: &str, to: &str| {
        let text = file(backend, authorities, "").replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let text = text.replace(from, to);
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let ca = "ca = [\"ca.cert.pem\"]";
    let named = format!("{ca}, server_name = \"idp.example\"");
    let tls = |to: &str| format!("tls = {{ {to} }}\n[routes.inbound.security]");
    let of_authorities = tls(ca);
    let both = format!("{good}, \"https://other.example/a\"");
    assert_eq!(changed(good, &of_authorities, &tls(&named)), "");
    for (authorities, from, to, part) in [
        (&*both, &*of_authorities, tls(&named), "`server_name` is"),
        (
            good,
            &of_authorities,
            tls(&format!("{ca}, revocation = {{ ocsp = true }}")),
            "revocation",
        ),
        (good, "\"2s\"", "\"31s\"".to_owned(), "at most 30 s"),
        (
            good,
            "\"2s\"",
            "\"2s\"\nsize = \"1MiB\"\ncapacity = 1025".to_owned(),
            "`size` times `capacity`",
        ),
        (
            good,
            "confirmation = [\"bearer\"]",
            "confirmation = [\"holder-of-key\"]".to_owned(),
            "`allow_bearer` is for bearers",
        ),
    ] {
        let problems = changed(authorities, from, &to);
        assert!(problems.contains(part), "{to}: {problems}");
    }
}
