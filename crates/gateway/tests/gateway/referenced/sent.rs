//! Gateways that name the assertion of their requests, before gateways that fetch it.

use super::*;
use crate::support::send;

/// The gateway before the backend: the holder of a fetched assertion's key signs.
fn receiving(backend: SocketAddr, authority: &str, versions: &str, more: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.identity]\nsubject = \"X-Subject\"\n[routes.inbound]\n\
         identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         peer = {{ certificate = \"client.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\" }}\n\
         [routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\n\
         versions = [{versions}]\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }}]\n\
         [routes.inbound.saml.by_reference]\nauthorities = [\"{authority}\"]\n\
         timeout = \"2s\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n{more}\n"
    )
}

/// The gateway for clients, with these lines in `saml`.
fn sending(inbound: SocketAddr, saml: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{inbound}/echo\"\n\
         [routes.outbound]\nidentity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
         peer = {{ certificate = \"server.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=server\"] }}\n\
         security = {{ mechanism = \"sign-encrypt\" }}\n\
         [routes.outbound.saml]\nassertion = \"assertion.xml\"\n{saml}\n"
    )
}

fn naming(authority: &str) -> String {
    format!(
        "confirmation = [\"holder-of-key\"]\nsend_by_reference = {{ authority = \"{authority}\" }}"
    )
}

/// An authority that answers as its version has it.
async fn authority_of(folder: &Folder, is_20: bool, document: String) -> Authority {
    Authority::start(folder, move |_, request| {
        if is_20 {
            return found(document.clone());
        }
        let id = request.split("RequestID=\"").nth(1);
        let id = id.and_then(|rest| rest.split('"').next());
        found(response(id.unwrap_or_default(), "samlp:Success", &document))
    })
    .await
}

/// SAML Token Profile 1.1.1, 3.3: what one gateway names, the other one fetches, and keeps.
#[tokio::test]
async fn a_gateway_fetches_what_another_one_names() {
    for (is_20, version) in [(true, "\"2.0\""), (false, "\"1.1\"")] {
        for (more, times) in [("", 1), ("capacity = 0", 3)] {
            let folder = folder();
            let mut backend = Backend::echo().await;
            let document = assertion(is_20, true, &Made::default());
            folder.write("assertion.xml", &document);
            let authority = authority_of(&folder, is_20, document).await;
            let url = authority.url();
            let inbound = receiving(backend.address, &url, version, more);
            let inbound = folder.gateway(&inbound).await;
            let outbound = folder
                .gateway(&sending(inbound.address(), &naming(&url)))
                .await;
            for _ in 0..3 {
                let answer = send(outbound.address(), post("/echo", plain())).await;
                assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
                let seen = backend.seen.recv().await.expect("a request");
                assert_eq!(seen.headers["x-subject"], "alice");
            }
            assert_eq!(authority.times(), times, "{version} {more}");
        }
    }
}

/// Whoever knows the name of a holder's assertion has not its key.
#[tokio::test]
async fn a_name_without_the_key_lets_nobody_in() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let document = assertion(true, true, &Made::default());
    folder.write("assertion.xml", &document);
    let authority = authority_of(&folder, true, document).await;
    let url = authority.url();
    let inbound = receiving(backend.address, &url, "\"2.0\"", "");
    let inbound = folder.gateway(&inbound).await;
    let thief = keys::identity("CN=thief", keys::RSA);
    folder.write_identity("thief", &thief);
    let holder = "certificate = \"client.cert.pem\" }\npeer";
    let text = sending(inbound.address(), &naming(&url));
    let text = text.replace(
        &format!("key = \"client.key.pem\", {holder}"),
        "key = \"thief.key.pem\", certificate = \"thief.cert.pem\" }\npeer",
    );
    // His own gateway has an assertion of that name that is about him.
    let own = Assertion {
        is_20: true,
        method: "holder-of-key",
        holder: Some(thief.certificate()),
        audience: Some(AUDIENCE),
        attributes: &[],
    };
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write("assertion.xml", own.about("alice", &idp));
    let outbound = folder.gateway(&text).await;
    let answer = send(outbound.address(), post("/echo", plain())).await;
    assert_ne!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(authority.times(), 1);
    let told = inbound.metrics();
    assert!(told.contains("signature-mismatch"), "{told}");
    assert!(backend.seen.try_recv().is_err());
}

/// What could not be proven of an assertion that is named is refused when the file is read.
#[test]
fn files_that_name_assertions_in_vain_are_refused() {
    let folder = folder();
    let document = assertion(true, true, &Made::default());
    folder.write("assertion.xml", document);
    let said = |text: String| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let good = naming("https://idp.example/a");
    let sent = |saml: String| said(sending(free_address(), &saml));
    assert_eq!(sent(good.clone()), "");
    let bearers = |more: &str| {
        let bearers = good.replace("holder-of-key", "bearer");
        bearers.replace("/a\"", &format!("/a\"{more}"))
    };
    for (saml, part) in [
        (bearers(""), "`send_by_reference` wants holder-of-key"),
        (
            bearers(", allow_bearer = true"),
            "a signature over the name of an assertion",
        ),
        (
            good.replace("/a\"", "/a\", allow_bearer = true"),
            "`allow_bearer` is for bearers",
        ),
        (good.replace("https:", "http:"), "`authority` must be"),
        (good.replace("/a\"", "/a?ID=b\""), "`authority` must be"),
        (
            good.replace("authority = \"https://idp.example/a\"", ""),
            "`authority` is missing",
        ),
        (format!("{good}\nencrypted = true"), "nothing enciphers it"),
    ] {
        let problems = sent(saml.clone());
        assert!(problems.contains(part), "{saml}: {problems}");
    }
    let inbound = receiving(free_address(), "https://idp.example/a", "\"2.0\"", "");
    let inbound = inbound.replace(
        "versions = [\"2.0\"]",
        "send_by_reference = { authority = \"https://idp.example/a\" }",
    );
    let problems = said(inbound);
    assert!(
        problems.contains("`send_by_reference` is for requests that are sent"),
        "{problems}"
    );
    // What the assertion says counts, and not what the file accepts.
    folder.write("assertion.xml", assertion(true, false, &Made::default()));
    let problems = sent(good.clone());
    let expected = "expected confirmation by holder-of-key alone, found bearer";
    assert!(problems.contains(expected), "{problems}");
    let odd = Made {
        id: &"a".repeat(129),
        ..Made::default()
    };
    folder.write("assertion.xml", assertion(true, true, &odd));
    let problems = sent(good);
    assert!(problems.contains("expected an id"), "{problems}");
}

fn plain() -> String {
    envelope::with_body("<a/>")
}
