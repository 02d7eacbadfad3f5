//! Requesters of a token service that an assertion shows: a bearer over TLS, and the holder of its
//! key.

use http::StatusCode;
use serde_json::Value;
use soapstone_gateway::{Config, Running};

use crate::support::{Folder, Said, post, send_over, soon};
use crate::tls::connect;
use crate::token_services::{
    AUDIENCE, SIGNER, STS, USER, accepted, ask, assertion, folder, request, services,
};

/// The token service as the audience of assertions.
const SELF: &str = "https://sts.example/exchange";

/// Token services that know users and signers, and two more that know assertions of the first ones.
fn exchanging() -> String {
    let own = format!("{{ address = \"{SELF}\", audience = \"https://sts.example\" }}");
    let table = STS.replace(
        "{ address = \"https://front.example\" }",
        &format!("{{ address = \"https://front.example\" }}, {own}"),
    );
    let saml = |confirmation: &str| {
        format!(
            "[routes.inbound.saml]\naudience = [\"https://sts.example\"]\nconfirmation = [\"{confirmation}\"]\n\
             issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n"
        )
    };
    format!(
        "{}[[routes]]\nname = \"bearers\"\npath = \"/bearers\"\n{table}[routes.inbound]\nsecurity = {{ mechanism = \"none\" }}\n{}\
         [[routes]]\nname = \"holders\"\npath = \"/holders\"\n{table}[routes.inbound]\n\
         identity = {{ key = \"sts.key.pem\", certificate = \"sts.cert.pem\" }}\nsecurity = {{ mechanism = \"sign\" }}\n{}",
        services("").replace(STS, &table),
        saml("bearer"),
        saml("holder-of-key")
    )
}

/// A message with an assertion in its header, and nothing else that shows its sender.
fn shown(token: &str, message: &str) -> Vec<u8> {
    let wsse = soapstone::wss::names::WSSE;
    let header = format!(
        "<s:Header><wsse:Security xmlns:wsse=\"{wsse}\">{token}</wsse:Security></s:Header><s:Body>"
    );
    let with = message.replacen("<s:Body>", &header, 1);
    assert_ne!(with, message);
    with.into_bytes()
}

/// A message that the holder of the client's key signs.
fn held(folder: &Folder, token: &str, message: &str) -> Vec<u8> {
    std::fs::write(folder.path("shown.xml"), token).expect("it is written");
    let sender = format!(
        "saml = {{ assertion = \"shown.xml\", confirmation = [\"holder-of-key\"] }}\n{}",
        SIGNER
    );
    folder.secured(&sender, message)
}

/// Assertions for the token service: of a user, and of the holder of a key.
async fn own(folder: &Folder, gateway: &Running) -> (String, String) {
    let of_user = folder.secured(USER, &request("Issue", SELF, "Bearer", ""));
    let of_user = ask(gateway, "/users", of_user).await;
    let of_holder = folder.secured(SIGNER, &request("Issue", SELF, "PublicKey", ""));
    let of_holder = ask(gateway, "/signers", of_holder).await;
    (assertion(&of_user), assertion(&of_holder))
}

#[tokio::test]
async fn the_subject_of_an_assertion_gets_one_for_another_service() {
    let folder = folder();
    let audited = exchanging().replacen(
        "LISTEN\n",
        "LISTEN\naudit = { file = \"audit.jsonl\" }\n",
        1,
    );
    let gateway = folder.gateway(&audited).await;
    let (of_user, of_holder) = own(&folder, &gateway).await;
    let message = shown(&of_user, &request("Issue", AUDIENCE, "Bearer", ""));
    let answer = ask(&gateway, "/bearers", message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let file = folder.path("audit.jsonl");
    let line = soon("the line", async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let found = text.lines().find(|line| line.contains("\"bearers\""));
            if let Some(found) = found.filter(|_| text.ends_with('\n')) {
                return found.to_owned();
            }
            tokio::task::yield_now().await;
        }
    });
    let line: Value = serde_json::from_str(&line.await).expect("JSON");
    assert_eq!(line["sender"], "alice");
    assert_eq!(line["sender_domain"], "https://sts.example");
    let token = assertion(&answer);
    let message = shown(&token, &soapstone_testkit::envelope::with_body("<a/>"));
    assert_eq!(accepted(&folder, "none", "bearer", message).await, "alice");
    let wanted = request("Issue", AUDIENCE, "PublicKey", "");
    let message = held(&folder, &of_holder, &wanted);
    let answer = ask(&gateway, "/holders", message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let token = assertion(&answer);
    let message = held(&folder, &token, crate::support::ENVELOPE);
    let subject = accepted(&folder, "sign", "holder-of-key", message).await;
    assert_eq!(subject, "CN=client");
}

/// A thief of an assertion, whoever found one that is for somebody else, and a downgrade from the
/// key to the bearer.
#[tokio::test]
async fn an_assertion_that_shows_nobody_gets_nothing() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let gateway = folder.gateway(&exchanging()).await;
    let (of_user, of_holder) = own(&folder, &gateway).await;
    let wanted = request("Issue", AUDIENCE, "Bearer", "");
    let elsewhere = folder.secured(USER, &request("Issue", AUDIENCE, "Bearer", ""));
    let elsewhere = assertion(&ask(&gateway, "/users", elsewhere).await);
    let forged = of_user.replace(">alice<", ">bob<");
    for (path, message, cause) in [
        ("/bearers", shown(&elsewhere, &wanted), "audience-mismatch"),
        ("/bearers", shown(&forged, &wanted), "digest-mismatch"),
        (
            "/bearers",
            shown(&of_holder, &wanted),
            "assertion-unconfirmed",
        ),
        ("/bearers", wanted.clone().into_bytes(), "security-missing"),
        ("/holders", shown(&of_holder, &wanted), "timestamp-missing"),
    ] {
        let before = said.caused(cause);
        let answer = ask(&gateway, path, message).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        assert_eq!(said.caused(cause), before + 1, "{cause}\n{said}");
    }
    // Another request under the signature of the holder.
    let held_by = |message: &str| held(&folder, &of_holder, message);
    let signed = String::from_utf8(held_by(&wanted)).expect("text");
    let changed = signed.replace(AUDIENCE, "https://front.example");
    assert_ne!(changed, signed);
    let before = said.caused("digest-mismatch");
    let answer = ask(&gateway, "/holders", changed.into_bytes()).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("digest-mismatch"), before + 1, "{said}");
    // A copy of a request.
    let once = held_by(&wanted);
    assert_eq!(
        ask(&gateway, "/holders", once.clone()).await.status,
        StatusCode::OK
    );
    let copy = ask(&gateway, "/holders", once).await;
    assert_eq!(copy.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("replayed"), 1, "{said}");
}

#[test]
fn files_whose_assertions_show_nobody_are_refused() {
    let folder = folder();
    let told = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let right = exchanging();
    assert_eq!(told(&right), "");
    let holder = "confirmation = [\"holder-of-key\"]";
    let vouches = "confirmation = [\"sender-vouches\"]\nattesters = [\"CN=client\"]";
    for (to, expected) in [
        (
            vouches,
            "whoever may vouch could ask a token service for anybody",
        ),
        (
            "confirmation = [\"bearer\"]",
            "does not show who asks a token service",
        ),
    ] {
        let told = told(&right.replacen(holder, to, 1));
        assert!(told.contains(expected), "{to}: {told}");
    }
    let audience = "audience = [\"https://sts.example\"]\nconfirmation";
    let pinned = "name = \"https://sts.example\", pinned = [\"sts.cert.pem\"]";
    let own_name = "for assertions in its own name";
    let anchored =
        "name = \"https://sts.example\", anchors = [\"ca.cert.pem\"], subjects = [\"CN=sts\"]";
    let several = "name = \"https://sts.example\", pinned = [\"sts.cert.pem\", \"evil.cert.pem\"]";
    for (from, to, expected) in [
        (pinned, anchored, own_name),
        (pinned, &pinned.replace("sts.cert", "evil.cert"), own_name),
        (pinned, several, own_name),
        (
            audience,
            "audience = []\nconfirmation",
            "expected the name of the token service in `audience`, found none",
        ),
        (
            audience,
            "audience = [\"https://sts.example\", \"https://books.example/books\"]\nconfirmation",
            "one of `services` has this audience",
        ),
    ] {
        assert!(right.contains(from), "{from}");
        let told = told(&right.replacen(from, to, 1));
        assert!(told.contains(expected), "{to}: {told}");
    }
}

/// A policy whose holders endorse over TLS: their keys sign the Timestamp, and `more`.
fn endorsing(more: &str) -> String {
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\"><sp:TransportBinding><wsp:Policy>\
         <sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy/></sp:HttpsToken></wsp:Policy></sp:TransportToken>\
         <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
         </wsp:Policy></sp:TransportBinding><sp:EndorsingSupportingTokens><wsp:Policy>\
         <sp:SamlToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\"><wsp:Policy><sp:WssSamlV20Token11/></wsp:Policy></sp:SamlToken>\
         {more}</wsp:Policy></sp:EndorsingSupportingTokens></wsp:Policy>"
    )
}

/// The token services, of which that for holders has such a policy.
fn endorsed(folder: &Folder, more: &str) -> String {
    folder.write("policy.xml", endorsing(more));
    let file = exchanging().replacen(
        "identity = { key = \"sts.key.pem\", certificate = \"sts.cert.pem\" }\nsecurity = { mechanism = \"sign\" }\n[routes.inbound.saml]",
        "security = { policy = \"policy.xml\" }\n[routes.inbound.saml]",
        1,
    );
    assert!(file.contains("policy.xml"), "{file}");
    file
}

const ENDORSER: &str = "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
     security = { policy = \"policy.xml\" }\nsaml = { assertion = \"shown.xml\", confirmation = [\"holder-of-key\"] }\n";

/// The connection has the same key then as the assertion, and no other Body comes over it.
#[tokio::test]
async fn a_holder_whose_key_made_the_connection_asks() {
    let folder = folder();
    let file = endorsed(&folder, "");
    let gateway = folder.gateway(&file).await;
    let (_, of_holder) = own(&folder, &gateway).await;
    std::fs::write(folder.path("shown.xml"), &of_holder).expect("it is written");
    let mutual = "key = \"server.key.pem\", client_ca = \"ca.cert.pem\" }";
    let mutual = file.replacen("key = \"server.key.pem\" }", mutual, 1);
    let gateway = folder.gateway(&mutual).await;
    let stream = connect(gateway.address(), b"http/1.1", true).await;
    let message = folder.secured(ENDORSER, &request("Issue", AUDIENCE, "PublicKey", ""));
    let sent = send_over(stream.expect("a handshake"), post("/holders", message));
    let answer = sent.await.expect("an answer");
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Who got a message over TLS has its header, and could show it before a request of his own. The
/// holder's key signs the Body, or made the connection.
#[tokio::test]
async fn what_a_holder_signed_beside_the_body_asks_for_nothing() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let wanted = request("Issue", AUDIENCE, "PublicKey", "");
    let other = request("Issue", "https://front.example", "PublicKey", "");
    for (more, is_asked) in [
        ("", false),
        ("<sp:SignedParts><sp:Body/></sp:SignedParts>", true),
    ] {
        let gateway = folder.gateway(&endorsed(&folder, more)).await;
        let (_, of_holder) = own(&folder, &gateway).await;
        std::fs::write(folder.path("shown.xml"), &of_holder).expect("it is written");
        let message = String::from_utf8(folder.secured(ENDORSER, &wanted)).expect("text");
        let body = |text: &str| {
            text[text.find("<wst:RequestSecurityToken").expect("it")
                ..text.find("</wst:RequestSecurityToken>").expect("its end")]
                .to_owned()
        };
        let moved = message.replace(&body(&message), &body(&other));
        assert_ne!(moved, message);
        let before = said.to_string().matches("FailedAuthentication").count();
        let answer = ask(&gateway, "/holders", moved.into_bytes()).await;
        assert_eq!(
            answer.status,
            StatusCode::INTERNAL_SERVER_ERROR,
            "{}",
            answer.body
        );
        assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        let after = said.to_string().matches("FailedAuthentication").count();
        assert_eq!(after > before, !is_asked, "{said}");
        let again = folder.secured(ENDORSER, &wanted);
        let answer = ask(&gateway, "/holders", again).await;
        assert_eq!(answer.status == StatusCode::OK, is_asked, "{}", answer.body);
    }
}

const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

/// A right that names the issuer of its actors. The partner's front acts for our alice and renews
/// what it got; without the right it does neither.
#[tokio::test]
async fn the_front_of_a_partner_acts_where_a_rule_names_its_issuer() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let partner = soapstone_testkit::assertion::ISSUER;
    let strict = exchanging()
        .replace(
            "issuers = [{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }]\n",
            &format!(
                "issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}, {{ name = \"{partner}\", pinned = [\"evil.cert.pem\"] }}]\n"
            ),
        )
        .replace("longest_lifetime", "renewable = \"8h\"\nlongest_lifetime");
    // The other routes know no assertion of a requester.
    let at = strict.find("name = \"bearers\"").expect("a route");
    let (others, exchange) = strict.split_at(at);
    let right = format!(
        "actors = {{ subjects = [{{ issuer = \"{partner}\", names = [\"front\"] }}] }}, renew = true"
    );
    let exchange = exchange.replace("actors = { certificates = [\"CN=client\"] }", &right);
    let allowing = [others, &exchange].concat();
    assert_ne!(allowing, strict);
    let made = |id: &str| {
        let assertion = soapstone_testkit::assertion::Assertion {
            is_20: true,
            method: "bearer",
            holder: None,
            audience: Some("https://sts.example"),
            attributes: &[],
        };
        let made = soapstone_testkit::assertion::Made {
            id,
            ..Default::default()
        };
        let idp = soapstone_testkit::keys::identity("CN=evil", soapstone_testkit::keys::RSA);
        assertion.made("front", &idp, &made)
    };
    for (file, is_allowed) in [(&strict, false), (&allowing, true)] {
        let gateway = folder.gateway(file).await;
        let front = "https://front.example";
        let of_user = folder.secured(USER, &request("Issue", front, "Bearer", ""));
        let of_user = assertion(&ask(&gateway, "/users", of_user).await);
        let wst14 = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";
        let act_as = format!("<wst14:ActAs xmlns:wst14=\"{wst14}\">{of_user}</wst14:ActAs>");
        let wanted = request("Issue", AUDIENCE, "Bearer", &act_as);
        let answer = ask(&gateway, "/bearers", shown(&made("_one"), &wanted)).await;
        assert_eq!(
            answer.status == StatusCode::OK,
            is_allowed,
            "{}",
            answer.body
        );
        if !is_allowed {
            let actor = format!("`subject {partner} {UNSPECIFIED} front`");
            assert_eq!(
                said.times(&format!("no delegation allows {actor}")),
                1,
                "{said}"
            );
            continue;
        }
        let token = assertion(&answer);
        let actor = format!(">subject {partner} {UNSPECIFIED} front<");
        assert!(token.contains(&actor), "{token}");
        let renew = crate::cancelled::targeted("Renew", &token);
        let answer = ask(&gateway, "/bearers", shown(&made("_two"), &renew)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let message = shown(
            &assertion(&answer),
            &soapstone_testkit::envelope::with_body("<a/>"),
        );
        assert_eq!(accepted(&folder, "none", "bearer", message).await, "alice");
    }
}
