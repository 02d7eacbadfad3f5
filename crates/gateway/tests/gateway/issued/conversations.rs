//! Conversations that begin with the assertion of a token service (WS-SecureConversation 1.4, 3).

use super::*;

const ESTABLISHED: &str = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";

/// A gateway whose conversations begin with an assertion, before a service.
async fn service(folder: &Folder, more: &str) -> (Running, Backend) {
    let backend = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
         [routes.inbound]\nidentity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         security = {{ mechanism = \"secure-conversation\", conversations = {{ bootstrap = \"sign-encrypt\" }} }}\n\
         [routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\n{more}\n\
         issuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n",
        backend.address
    );
    (folder.gateway(&text).await, backend)
}

/// The file of a gateway that begins them.
fn beginning(backend: SocketAddr, sts: SocketAddr, more: &str) -> String {
    let single = "trust = { anchors = [\"ca.cert.pem\"] }\nsecurity = { mechanism = \"sign\" }\n";
    let text = file(backend, sts, "holder-of-key", more);
    assert!(text.contains(single), "{text}");
    text.replacen(
        single,
        "trust = { pinned = [\"server.cert.pem\"] }\npeer = { certificate = \"server.cert.pem\" }\n\
         security = { mechanism = \"secure-conversation\", conversations = { bootstrap = \"sign-encrypt\" } }\n",
        1,
    )
}

#[tokio::test]
async fn a_conversation_begins_with_the_assertion_of_a_token_service() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let sts = Sts::honest(&folder, true, true).await;
    let text = beginning(
        service.address(),
        sts.backend.address,
        "key = \"public-key\"",
    );
    let gateway = folder.gateway(&text).await;
    for _ in 0..3 {
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    assert_eq!(sts.asked(), 1);
    assert_eq!(metric(&gateway, ISSUED).await, 1);
    assert_eq!(metric(&gateway, ESTABLISHED).await, 1);
    // The next conversation begins with the same, which is still good.
    gateway.end_conversations().await;
    assert_eq!(ask(&gateway).await.status, StatusCode::OK);
    assert_eq!(metric(&gateway, ESTABLISHED).await, 2);
    assert_eq!(sts.asked(), 1);
    // A conversation goes on without its token service.
    drop(sts);
    assert_eq!(ask(&gateway).await.status, StatusCode::OK);
}

/// SAML Core 2.0, 2.5.1.5.
#[tokio::test]
async fn an_assertion_for_one_use_of_a_token_service_begins_one_conversation() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let sts = Sts::granting(&folder, |context, _, before| {
        let id = format!("_{before}");
        let made = Made {
            id: &id,
            once: true,
            ..Made::default()
        };
        answer(context, true, &token(true, true, &made))
    })
    .await;
    let text = beginning(
        service.address(),
        sts.backend.address,
        "key = \"public-key\"",
    );
    let gateway = folder.gateway(&text).await;
    for conversation in 1..3 {
        for _ in 0..2 {
            let answer = ask(&gateway).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        assert_eq!(sts.asked(), conversation);
        gateway.end_conversations().await;
    }
}

#[tokio::test]
async fn no_conversation_begins_without_its_token_service() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (service, mut backend) = service(&folder, "").await;
    let nobody = Nobody::new();
    let text = beginning(service.address(), nobody.address, "key = \"public-key\"");
    let gateway = folder.gateway(&text).await;
    for _ in 0..2 {
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(!answer.body.contains("token"), "{}", answer.body);
    }
    assert!(backend.seen.try_recv().is_err());
    assert!(said.to_string().contains("token-service-away"), "{said}");
}

/// What is begun with one user's assertion would be every user's.
#[test]
fn a_conversation_is_begun_for_no_user() {
    let folder = folder();
    let nobody = Nobody::new().address;
    let text = beginning(
        nobody,
        nobody,
        "key = \"public-key\"\nuser = \"on-behalf-of\"",
    );
    let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    let told = read.err().map(|it| it.to_string()).unwrap_or_default();
    let expected = "`user` asks the token service for each user";
    assert!(told.contains(expected), "{told}");
}
