//! Which assertions are fetched, believed and kept.

use super::*;

/// SAML Bindings 2.0, 3.7.
#[tokio::test]
async fn a_named_assertion_is_fetched_once_and_kept() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    for _ in 0..3 {
        let answer = asked(&gateway, &named(&authority.url())).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        assert_eq!(seen.headers["x-subject"], "alice");
    }
    let paths = authority.asked.lock().expect("no panic").clone();
    assert_eq!(paths, [format!("/assertions?ID={ID}")]);
    // What is kept goes on while the authority is away.
    let url = authority.url();
    drop(authority);
    let answer = asked(&gateway, &named(&url)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// SAML Bindings 1.1, 3.1, and SAML Core 1.1, 3.2.
#[tokio::test]
async fn an_authority_of_saml_11_is_asked_in_its_protocol() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::start(&folder, |_, request| {
        let id = request.split("RequestID=\"").nth(1);
        let id = id
            .and_then(|rest| rest.split('"').next())
            .unwrap_or_default();
        assert!(
            request.contains(&format!(">{ID}</saml:AssertionIDReference>")),
            "{request}"
        );
        found(response(
            id,
            "samlp:Success",
            &assertion(false, false, &Made::default()),
        ))
    });
    let authority = authority.await;
    let gateway = gateway(
        &folder,
        &backend,
        &quoted(&authority.url()),
        "versions = [\"1.1\"]",
    )
    .await;
    for _ in 0..2 {
        let answer = asked(&gateway, &binding(&authority.url(), ID)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        assert_eq!(seen.headers["x-subject"], "alice");
    }
    assert_eq!(authority.times(), 1);
}

/// SAML Token Profile 1.1.1, 3.5.1: the holder's key was shown by the connection.
#[tokio::test]
async fn a_named_assertion_wants_its_holder_as_one_that_is_carried() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, assertion(true, true, &Made::default())).await;
    let more = "confirmation = [\"holder-of-key\"]";
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), more).await;
    let answer = asked_by(&gateway, &named(&authority.url()), true).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let other = keys::identity("CN=other", keys::RSA);
    let stolen = Assertion {
        is_20: true,
        method: "holder-of-key",
        holder: Some(other.certificate()),
        audience: Some(AUDIENCE),
        attributes: &[],
    };
    let idp = keys::identity("CN=idp", keys::RSA);
    let authority = Authority::with(&folder, stolen.about("alice", &idp)).await;
    let gateway = folder
        .gateway(&file(backend.address, &quoted(&authority.url()), more))
        .await;
    let answer = asked_by(&gateway, &named(&authority.url()), true).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 1);
}

/// Server-side request forgery (CWE-918): no address of a message is asked that the file does not
/// have.
#[tokio::test]
async fn no_message_leads_to_another_address() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let port = authority.address.port();
    let below = format!("https://localhost:{port}/below/");
    let both = format!("\"{}\", \"{below}\"", authority.url());
    let gateway = gateway(&folder, &backend, &both, "").await;
    for base in [
        format!("https://127.0.0.1:{port}/assertions"),
        format!("https://LOCALHOST:{port}/assertions"),
        format!("https://localhost.evil.example:{port}/assertions"),
        format!("https://localhost:{port}@evil.example/assertions"),
        format!("https://evil.example/https://localhost:{port}/assertions"),
        format!("https://localhost:{port}/assertions/more"),
        format!("https://localhost:{port}/assertionsmore"),
        format!("https://localhost:{port}/"),
        format!("http://localhost:{port}/assertions"),
        format!("file:///localhost:{port}/assertions"),
        format!("{below}../admin"),
        format!("{below}%2e%2e/admin"),
        format!("{below}..;/admin"),
        format!("https://localhost:{port}1/assertions"),
    ] {
        let answer = asked(&gateway, &named(&base)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{base}");
    }
    assert_eq!(authority.times(), 0);
    assert!(backend.seen.try_recv().is_err());
    let answer = asked(&gateway, &named(&format!("{below}a"))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Whatever comes is judged as an assertion that the message carries, and is the one that was
/// named. The peer is told one thing of all of it, and nothing is asked for again at once.
#[tokio::test]
async fn what_is_not_the_named_assertion_lets_nobody_in() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let other = Made {
        id: "_other",
        ..Made::default()
    };
    let ended = Made {
        begin: -900,
        end: -600,
        ..Made::default()
    };
    let good = bearer();
    let strangers = Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some(AUDIENCE),
        attributes: &[],
    };
    let strangers = strangers.about("alice", &keys::identity("CN=other", keys::RSA));
    let two = format!("<two>{good}{}</two>", assertion(true, false, &other));
    // The id that was named stands around another assertion (assertion swap).
    let swapped = format!("<x ID=\"{ID}\">{}</x>", assertion(true, false, &other));
    let documents = [
        assertion(true, false, &other),
        assertion(true, false, &ended),
        assertion(false, false, &Made::default()),
        good.replace("alice", "admin"),
        strangers,
        two,
        swapped,
        good.replacen("ID=\"_assertion\"", "ID=\"_evil\"", 1),
        format!("<!DOCTYPE a [<!ENTITY b \"c\">]>{good}"),
        format!("{good}<!--{}-->", "x".repeat(200 << 10)),
        response("_a", "samlp:Success", &good),
        "<a/>".to_owned(),
        String::new(),
    ];
    let mut told = Vec::new();
    for (at, document) in documents.into_iter().enumerate() {
        let authority = Authority::with(&folder, document).await;
        let gateway = folder
            .gateway(&file(backend.address, &quoted(&authority.url()), ""))
            .await;
        for _ in 0..3 {
            let answer = asked(&gateway, &named(&authority.url())).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{at}");
            told.push(reason(&answer.body).to_owned());
        }
        assert_eq!(authority.times(), 1, "{at}");
        assert!(gateway.metrics().contains("assertion-unavailable"), "{at}");
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(backend.seen.try_recv().is_err());
}

/// A redirection, a failure and an answer to another request of SAML 1.1 give nothing.
#[tokio::test]
async fn no_answer_leads_elsewhere() {
    let folder = folder();
    let backend = Backend::echo().await;
    let elsewhere = Authority::with(&folder, bearer()).await;
    let to = format!("{}?ID={ID}", elsewhere.url());
    for status in [
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::NOT_FOUND,
    ] {
        let to = to.clone();
        let authority = Authority::start(&folder, move |_, _| answered(status, &to)).await;
        // Both are allowed: it is the redirection that is refused.
        let both = format!("\"{}\", \"{}\"", authority.url(), elsewhere.url());
        let gateway = folder.gateway(&file(backend.address, &both, "")).await;
        let answer = asked(&gateway, &named(&authority.url())).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!((authority.times(), elsewhere.times()), (1, 0));
    }
    for (right_id, code) in [
        (false, "samlp:Success"),
        (true, "samlp:Responder"),
        (true, "Success"),
    ] {
        let authority = Authority::start(&folder, move |_, request| {
            let id = request.split("RequestID=\"").nth(1);
            let id = id
                .and_then(|rest| rest.split('"').next())
                .filter(|_| right_id);
            let assertion = assertion(false, false, &Made::default());
            found(response(id.unwrap_or("_before"), code, &assertion))
        });
        let authority = authority.await;
        let text = file(
            backend.address,
            &quoted(&authority.url()),
            "versions = [\"1.1\"]",
        );
        let gateway = folder.gateway(&text).await;
        let answer = asked(&gateway, &binding(&authority.url(), ID)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{code}");
    }
}

/// SAML Core 2.0, 2.5.1.5: an assertion for one use is not kept, and is used once.
#[tokio::test]
async fn an_assertion_for_one_use_is_accepted_once() {
    let folder = folder();
    let backend = Backend::echo().await;
    let once = Made {
        once: true,
        ..Made::default()
    };
    let authority = Authority::with(&folder, assertion(true, false, &once)).await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    let first = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    let second = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(second.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 2);
}

/// What is kept is kept until it ends. Afterwards it is asked for, and has ended.
#[tokio::test]
async fn no_assertion_is_kept_after_its_end() {
    let folder = folder();
    let backend = Backend::echo().await;
    let short = Made {
        end: 3,
        ..Made::default()
    };
    let authority = Authority::with(&folder, assertion(true, false, &short)).await;
    let gateway = gateway(
        &folder,
        &backend,
        &quoted(&authority.url()),
        "skew = \"1s\"",
    )
    .await;
    let first = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let late = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(late.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 2);
}

/// What one route has fetched, and its issuers vouch for, is unknown to another route.
#[tokio::test]
async fn routes_share_no_assertions() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let url = authority.url();
    let other = inbound(&quoted(&url), "").replace("https://idp.example", "https://other.example");
    let text = format!(
        "{}[[routes]]\npath = \"/other\"\nbackend = \"http://{}/echo\"\n{other}",
        file(backend.address, &quoted(&url), ""),
        backend.address
    );
    let gateway = folder.gateway(&text).await;
    let answer = asked(&gateway, &named(&url)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let request = post("/other", message(&named(&url)));
    let answer = send_over(stream.expect("a handshake"), request).await;
    let status = answer.expect("an answer").status;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 2);
}
