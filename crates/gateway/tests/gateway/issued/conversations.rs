//! Conversations that begin with the assertion of a token service (WS-SecureConversation 1.4, 3).

use super::*;

pub(super) const ESTABLISHED: &str =
    "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";

const UNESTABLISHED: &str = "soapstone_handshakes_total{route=\"/echo\",outcome=\"failed\"}";

/// A gateway whose conversations begin with an assertion, before a service.
pub(super) async fn service(folder: &Folder, more: &str) -> (Running, Backend) {
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
pub(super) fn beginning(backend: SocketAddr, sts: SocketAddr, more: &str) -> String {
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

/// A gateway that begins them with the service. Its assertions name the public key that it has.
pub(super) async fn gateway(folder: &Folder, service: &Running, sts: SocketAddr) -> Running {
    let text = beginning(service.address(), sts, "key = \"public-key\"");
    folder.gateway(&text).await
}

#[tokio::test]
async fn a_conversation_begins_with_the_assertion_of_a_token_service() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let sts = Sts::honest(&folder, true, true).await;
    let gateway = gateway(&folder, &service, sts.backend.address).await;
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
    let made = Made {
        once: true,
        ..Made::default()
    };
    let sts = Sts::making(&folder, true, true, made).await;
    let gateway = gateway(&folder, &service, sts.backend.address).await;
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
    let gateway = gateway(&folder, &service, nobody.address).await;
    for _ in 0..2 {
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(!answer.body.contains("token"), "{}", answer.body);
    }
    assert!(backend.seen.try_recv().is_err());
    assert!(said.to_string().contains("token-service-away"), "{said}");
}

/// In the pause after a question no handshake begins: each would fail of the same, and say so.
#[tokio::test]
async fn handshakes_pause_with_their_token_service() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let nobody = Nobody::new();
    let gateway = gateway(&folder, &service, nobody.address).await;
    for _ in 0..20 {
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    }
    let questions = metric(&gateway, FAILED).await;
    assert_eq!(metric(&gateway, UNESTABLISHED).await, questions);
    assert!(questions < 20, "{questions}");
}

/// A token service that accepts connections and never answers is not the backend that is slow.
#[tokio::test]
async fn a_token_service_that_hangs_is_not_blamed_on_backends() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let (sts, _accepted) = silent_backend().await;
    let text = beginning(service.address(), sts, "key = \"public-key\"");
    let hurried = "timeouts = { response = \"300ms\" }\n";
    let single = text.replace("[routes.outbound]", &format!("{hurried}[routes.outbound]"));
    let gateway = folder.gateway(&single).await;
    let answer = soon("an answer", ask(&gateway)).await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT, "{said}");
    assert!(said.to_string().contains("token service away"), "{said}");
    assert!(!said.to_string().contains("handshake-unfinished"), "{said}");
    // Another backend needs none of its assertions.
    let (_, tables) = text.split_once("[routes.outbound]").expect("the tables");
    let tables = tables.replace("[routes.outbound.", "[routes.backends.outbound.");
    let plain = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\n{hurried}\
         [[routes.backends]]\nname = \"one\"\nurl = \"http://{}/echo\"\n[routes.backends.outbound]{tables}\
         [[routes.backends]]\nname = \"other\"\nurl = \"http://{}/echo\"\n\
         [routes.backends.outbound]\nsecurity = {{ mechanism = \"none\" }}\n\
         [routes.balance]\nselection = \"round-robin\"\n",
        service.address(),
        plain.address
    );
    let gateway = folder.gateway(&text).await;
    for _ in 0..4 {
        let answer = soon("an answer", ask(&gateway)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}\n{said}", answer.body);
    }
    assert!(several::went_on(&gateway));
}

/// The ends of the contexts that were told, in their order.
fn ends(said: &Said) -> Vec<String> {
    let said = said.to_string();
    let lines = said.lines();
    let lines =
        lines.filter(|line| line.contains("the conversation with the backend has a context"));
    let ends = lines.filter_map(|line| line.split_once("expires=")?.1.split_once(' '));
    ends.map(|(end, _)| end.to_owned()).collect()
}

/// A context ends with its assertion: the next one begins with a later assertion.
#[tokio::test]
async fn each_early_renewal_of_a_conversation_gains_time() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let made = Made {
        end: 4,
        ..Made::default()
    };
    let sts = Sts::making(&folder, true, true, made).await;
    let gateway = gateway(&folder, &service, sts.backend.address).await;
    let renewed = async {
        while ends(&said).len() < 3 {
            let answer = ask(&gateway).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("the third context", renewed).await;
    let ends = ends(&said);
    assert!(ends.is_sorted_by(|one, next| one < next), "{ends:?}");
}

/// Whose context has no life left to gain is not renewed: the next one begins when it ends.
#[tokio::test]
async fn a_conversation_is_not_renewed_with_an_assertion_that_ends_with_it() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let end = std::sync::OnceLock::new();
    let sts = Sts::granting(&folder, move |context, _, before| {
        let id = format!("_{before}");
        let now = jiff::Timestamp::now().as_second();
        let made = Made {
            id: &id,
            end: end.get_or_init(|| now + 4) - now,
            ..Made::default()
        };
        match before {
            0 | 1 => answer(context, true, &token(true, true, &made)),
            _ => "<nothing/>".to_owned(),
        }
    })
    .await;
    let gateway = gateway(&folder, &service, sts.backend.address).await;
    let tried = async {
        while sts.asked() < 2 {
            assert_eq!(ask(&gateway).await.status, StatusCode::OK);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("the second question", tried).await;
    // Until the first one ends, when there is none to begin with.
    let over = async {
        while ask(&gateway).await.status == StatusCode::OK {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("the end", over).await;
    assert_eq!(ends(&said).len(), 1, "{said}");
}

/// The service may know no more who signed it: another one may do.
#[tokio::test]
async fn an_assertion_that_begins_no_conversation_is_followed_by_another() {
    let folder = folder();
    let former = keys::identity("CN=former", keys::RSA);
    folder.write_identity("former", &former);
    let (service, _backend) = service(&folder, "").await;
    let sts = Sts::granting(&folder, |context, _, before| {
        let client = keys::identity("CN=client", keys::RSA);
        let assertion = Assertion {
            is_20: true,
            method: "holder-of-key",
            holder: Some(client.certificate()),
            audience: Some(AUDIENCE),
            attributes: &[],
        };
        let id = format!("_{before}");
        let made = Made {
            id: &id,
            ..Made::default()
        };
        let signer = if before == 0 { "CN=former" } else { "CN=idp" };
        let signer = keys::identity(signer, keys::RSA);
        answer(context, true, &assertion.made("alice", &signer, &made))
    })
    .await;
    let text = beginning(
        service.address(),
        sts.backend.address,
        "key = \"public-key\"",
    );
    let both = "pinned = [\"former.cert.pem\", \"idp.cert.pem\"]";
    let text = text.replace("pinned = [\"idp.cert.pem\"]", both);
    let gateway = folder.gateway(&text).await;
    assert_eq!(ask(&gateway).await.status, StatusCode::BAD_GATEWAY);
    let begun = async {
        while ask(&gateway).await.status != StatusCode::OK {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    soon("a conversation", begun).await;
    assert_eq!(sts.asked(), 2);
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
