//! Assertions that a token service makes: asked for, kept, renewed, and refused where they are not
//! what was asked for.

mod conversations;
mod doubted;
mod files;
mod judged;
mod named;
mod proof;
mod renewed;
mod several;
mod users;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone::config::EndpointConfig;
use soapstone::endpoint::Arrived;
use soapstone::wss::{SamlVersion, SoapVersion};
use soapstone::{Memory, Service};
use soapstone_gateway::{Config, Running};
use soapstone_store::MemoryReplay;
use soapstone_testkit::assertion::{Assertion, ISSUER, Made};
use soapstone_testkit::envelope::SOAP12;
use soapstone_testkit::keys;

use crate::conversations::metric;
use crate::support::{
    Answer, Backend, ENVELOPE, Folder, Nobody, Said, Seen, post, reason, send, silent_backend, soon,
};

const AUDIENCE: &str = "https://books.example";
const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";

pub(crate) const ISSUED: &str =
    "soapstone_token_requests_total{route=\"/echo\",outcome=\"issued\"}";
const FAILED: &str = "soapstone_token_requests_total{route=\"/echo\",outcome=\"failed\"}";

/// The keys of everybody: the token service is `server`, and signs assertions as `idp`.
pub(crate) fn folder() -> Folder {
    let folder = Folder::with_keys();
    folder.write_identity("idp", &keys::identity("CN=idp", keys::RSA));
    folder
}

/// A server behind an endpoint with these tables. What it answers is made of the plain request and
/// of who sent it.
async fn behind(
    folder: &Folder,
    tables: &str,
    soap: SoapVersion,
    answer: impl Fn(&str, &str) -> String + Send + Sync + 'static,
) -> Backend {
    let config = EndpointConfig::from_text(tables, &folder.path("service.toml"), &|_| None);
    let service = config.and_then(|config| Service::from_config(&config));
    let service = service.unwrap_or_else(|problems| panic!("{problems}"));
    let replay = MemoryReplay::new(1000);
    let media_type = match soap {
        SoapVersion::V11 => "text/xml; charset=utf-8",
        SoapVersion::V12 => "application/soap+xml; charset=utf-8",
    };
    Backend::answering(move |seen: &Seen| {
        let memory = Memory::without_conversations(&replay);
        let arrived = service.receive(seen.body.to_vec(), memory);
        let (status, body) = match arrived {
            Ok(Arrived::Message(opened)) => {
                let assertion = opened.evidence.assertion.as_ref();
                let sender = assertion.map_or_else(String::new, |found| {
                    let method = found.confirmed.map_or("nothing", |method| method.name());
                    let version = found.assertion.version.name();
                    format!("{} by {method} in {version}", found.assertion.subject.value)
                });
                let plain = String::from_utf8(opened.bytes).expect("text");
                let answer = answer(&plain, &sender);
                match service.answer(answer.into_bytes(), &opened.receipt) {
                    Ok(secured) => (StatusCode::OK, secured.bytes),
                    Err(error) => (StatusCode::BAD_GATEWAY, error.to_string().into_bytes()),
                }
            }
            Ok(Arrived::Answered(_)) => (StatusCode::BAD_GATEWAY, b"a context".to_vec()),
            Err(error) => (StatusCode::BAD_GATEWAY, error.to_string().into_bytes()),
        };
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", media_type.parse().expect("a value"));
        response
    })
    .await
}

/// A token service that answers as the function says: of the context of the request, its plain
/// text, and how many there were before.
pub(crate) struct Sts {
    pub(crate) backend: Backend,
    asked: Arc<AtomicU32>,
}

impl Sts {
    async fn granting(
        folder: &Folder,
        grant: impl Fn(&str, &str, u32) -> String + Send + Sync + 'static,
    ) -> Self {
        let tables = "identity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\n\
             trust = { anchors = [\"ca.cert.pem\"] }\nsecurity = { mechanism = \"sign-encrypt\" }\n";
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let backend = behind(folder, tables, SoapVersion::V12, move |plain, _| {
            let before = count.fetch_add(1, Ordering::Relaxed);
            let (_, rest) = plain.split_once("Context=\"").expect("a context");
            let (context, _) = rest.split_once('"').expect("its end");
            let body = grant(context, plain, before);
            format!("<s:Envelope xmlns:s=\"{SOAP12}\"><s:Body>{body}</s:Body></s:Envelope>")
        });
        Self {
            backend: backend.await,
            asked,
        }
    }

    /// One that grants what it is asked for, each with an id of its own.
    pub(crate) async fn honest(folder: &Folder, is_20: bool, held: bool) -> Self {
        Self::making(folder, is_20, held, Made::default()).await
    }

    /// The same with assertions that are made like this.
    async fn making(folder: &Folder, is_20: bool, held: bool, made: Made<'static>) -> Self {
        Self::granting(folder, move |context, _, before| {
            let id = format!("_{before}");
            let made = Made { id: &id, ..made };
            answer(context, is_20, &token(is_20, held, &made))
        })
        .await
    }

    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

fn token(is_20: bool, held: bool, made: &Made<'_>) -> String {
    let client = keys::identity("CN=client", keys::RSA);
    let assertion = Assertion {
        is_20,
        method: if held { "holder-of-key" } else { "bearer" },
        holder: held.then(|| client.certificate()),
        audience: Some(AUDIENCE),
        attributes: &[("role", "reader")],
    };
    assertion.made("alice", &keys::identity("CN=idp", keys::RSA), made)
}

fn answer(context: &str, is_20: bool, token: &str) -> String {
    let version = match is_20 {
        true => SamlVersion::V20,
        false => SamlVersion::V11,
    };
    format!(
        "<wst:RequestSecurityTokenResponseCollection xmlns:wst=\"{WST}\">\
         <wst:RequestSecurityTokenResponse Context=\"{context}\"><wst:TokenType>{}</wst:TokenType>\
         <wst:RequestedSecurityToken>{token}</wst:RequestedSecurityToken>\
         </wst:RequestSecurityTokenResponse></wst:RequestSecurityTokenResponseCollection>",
        version.token_type()
    )
}

/// The service that gets assertions. It notes whose each is.
async fn service(folder: &Folder, confirmation: &str) -> (Backend, Arc<Mutex<Vec<String>>>) {
    let tables = format!(
        "identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\" }}\n\
         [saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"{confirmation}\"]\nversions = [\"2.0\", \"1.1\"]\n\
         issuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n"
    );
    noting_senders(folder, &tables).await
}

/// A service with these tables, which notes who sent each message that it accepted.
async fn noting_senders(folder: &Folder, tables: &str) -> (Backend, Arc<Mutex<Vec<String>>>) {
    let senders = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&senders);
    let backend = behind(folder, tables, SoapVersion::V11, move |_, sender| {
        noted
            .lock()
            .expect("nobody panicked")
            .push(sender.to_owned());
        ENVELOPE.to_owned()
    });
    (backend.await, senders)
}

/// The file of a gateway that asks that token service.
pub(crate) fn file(backend: SocketAddr, sts: SocketAddr, confirmation: &str, more: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.outbound]\nidentity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\" }}\n\
         [routes.outbound.saml]\nconfirmation = [\"{confirmation}\"]\n\
         issuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n\
         [routes.outbound.saml.token_service]\nurl = \"http://{sts}/issue\"\napplies_to = \"{AUDIENCE}\"\n{more}\n\
         [routes.outbound.saml.token_service.endpoint]\n\
         identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
         peer = {{ certificate = \"server.cert.pem\" }}\ntrust = {{ pinned = [\"server.cert.pem\"] }}\n\
         security = {{ mechanism = \"sign-encrypt\" }}\n"
    )
}

async fn ask(gateway: &Running) -> Answer {
    send(gateway.address(), post("/echo", ENVELOPE)).await
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_shown_until_it_ends() {
    for (is_20, version) in [(true, "2.0"), (false, "1.1")] {
        for (held, confirmation) in [(false, "bearer"), (true, "holder-of-key")] {
            let folder = folder();
            let (backend, senders) = service(&folder, confirmation).await;
            let sts = Sts::honest(&folder, is_20, held).await;
            let more = format!("version = \"{version}\"");
            let text = file(backend.address, sts.backend.address, confirmation, &more);
            let gateway = folder.gateway(&text).await;
            for _ in 0..3 {
                let answer = ask(&gateway).await;
                assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            }
            let expected = format!("alice by {confirmation} in {version}");
            assert_eq!(*senders.lock().unwrap(), vec![expected; 3]);
            assert_eq!(sts.asked(), 1);
            assert_eq!(metric(&gateway, ISSUED).await, 1);
        }
    }
}

#[tokio::test]
async fn requests_that_come_together_wait_for_one_question() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let sts = Sts::honest(&folder, true, false).await;
    let text = file(backend.address, sts.backend.address, "bearer", "");
    let gateway = folder.gateway(&text).await;
    let answers = futures_join((0..6).map(|_| ask(&gateway))).await;
    assert!(answers.iter().all(|one| one.status == StatusCode::OK));
    assert_eq!(sts.asked(), 1);
}

/// All of them at once.
async fn futures_join<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut ready = true;
        for (one, output) in &mut all {
            if output.is_none() {
                match one.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => ready = false,
                }
            }
        }
        match ready {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    all.into_iter().filter_map(|(_, output)| output).collect()
}

/// SAML Core 2.0, 2.5.1.5; SAML Core 1.1, 2.3.2.1.4: such a token is for one message.
#[tokio::test]
async fn a_token_for_one_use_is_never_kept() {
    for is_20 in [true, false] {
        let folder = folder();
        let (backend, senders) = service(&folder, "bearer").await;
        let made = Made {
            once: true,
            ..Made::default()
        };
        let sts = Sts::making(&folder, is_20, false, made).await;
        let more = format!("version = \"{}\"", if is_20 { "2.0" } else { "1.1" });
        let text = file(backend.address, sts.backend.address, "bearer", &more);
        let gateway = folder.gateway(&text).await;
        // Together, so that some wait for the question of another one; then one after the other.
        let answers = futures_join((0..4).map(|_| ask(&gateway))).await;
        for answer in answers {
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        for _ in 0..2 {
            assert_eq!(ask(&gateway).await.status, StatusCode::OK);
        }
        assert_eq!(senders.lock().unwrap().len(), 6);
        assert_eq!(sts.asked(), 6);
    }
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let made = Made {
        end: 4,
        ..Made::default()
    };
    let sts = Sts::making(&folder, true, false, made).await;
    let text = file(backend.address, sts.backend.address, "bearer", "");
    let gateway = folder.gateway(&text).await;
    let renewed = async {
        while sts.asked() < 3 {
            let answer = ask(&gateway).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("the third token", renewed).await;
}

#[tokio::test]
async fn a_token_service_that_hangs_keeps_nobody_waiting_for_ever() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (mut backend, _) = service(&folder, "bearer").await;
    let (sts, _accepted) = silent_backend().await;
    let text = file(backend.address, sts, "bearer", "").replace(
        "[routes.outbound]",
        "timeouts = { response = \"300ms\" }\n[routes.outbound]",
    );
    let gateway = folder.gateway(&text).await;
    let answer = soon("an answer", ask(&gateway)).await;
    assert_eq!(
        answer.status,
        StatusCode::GATEWAY_TIMEOUT,
        "{}",
        answer.body
    );
    assert!(backend.seen.try_recv().is_err());
    assert!(said.to_string().contains("token service away"), "{said}");
}

#[tokio::test]
async fn tokens_go_on_while_the_token_service_is_away() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (backend, senders) = service(&folder, "bearer").await;
    // A token that is due for renewal at once, of a service that answers once.
    let sts = Sts::granting(&folder, |context, _, before| {
        let made = Made {
            end: 20,
            ..Made::default()
        };
        match before {
            0 => answer(context, true, &token(true, false, &made)),
            _ => "<nothing/>".to_owned(),
        }
    })
    .await;
    let text = file(backend.address, sts.backend.address, "bearer", "");
    let gateway = folder.gateway(&text).await;
    let renewal = async {
        while sts.asked() < 3 {
            assert_eq!(ask(&gateway).await.status, StatusCode::OK);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("two renewals that fail", renewal).await;
    assert!(said.to_string().contains("at_hand_until"), "{said}");
    // After a failure nobody asks for a moment.
    assert!(senders.lock().unwrap().len() > sts.asked() as usize);
    let nobody = Nobody::new();
    let text = file(backend.address, nobody.address, "bearer", "");
    let gateway = folder.gateway(&text).await;
    for _ in 0..20 {
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
        assert!(!answer.body.contains("token"), "{}", answer.body);
    }
    assert!(metric(&gateway, FAILED).await < 20);
    assert!(said.to_string().contains("token service away"), "{said}");
}

/// Each user gets the token that was made for this user, and nobody gets one without a user.
#[tokio::test]
async fn a_users_assertion_is_exchanged_for_a_token_of_the_user() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let (mut backend, senders) = service(&folder, "bearer").await;
    let sts = Sts::granting(&folder, |context, plain, before| {
        let (_, rest) = plain.split_once("<wst:OnBehalfOf>").expect("a user");
        let (_, rest) = rest.split_once("<saml:NameID>").expect("a name");
        let (user, _) = rest.split_once('<').expect("its end");
        let assertion = Assertion {
            is_20: true,
            method: "bearer",
            holder: None,
            audience: Some(AUDIENCE),
            attributes: &[],
        };
        let id = format!("_{before}");
        let made = Made {
            id: &id,
            ..Made::default()
        };
        let idp = keys::identity("CN=idp", keys::RSA);
        answer(context, true, &assertion.made(user, &idp, &made))
    })
    .await;
    let more = "user = \"on-behalf-of\"\ncapacity = 1";
    let text = file(backend.address, sts.backend.address, "bearer", more);
    let gateway = folder.gateway(&text).await;
    let of = |user: &str| {
        let assertion = Assertion {
            is_20: true,
            method: "bearer",
            holder: None,
            audience: Some("https://gateway.example"),
            attributes: &[],
        };
        let idp = keys::identity("CN=idp", keys::RSA);
        let block = assertion.about(user, &idp);
        ENVELOPE.replacen(
            "<s:Body>",
            &format!("<s:Header>{block}</s:Header><s:Body>"),
            1,
        )
    };
    // One place: the second user takes it, and the first asks again.
    let (alice, bob) = (of("alice"), of("bob"));
    for (request, asked) in [(&alice, 1), (&alice, 1), (&bob, 2), (&bob, 2), (&alice, 3)] {
        let answer = send(gateway.address(), post("/echo", request.clone())).await;
        assert_eq!(answer.status, StatusCode::OK, "{}\n{said}", answer.body);
        assert_eq!(sts.asked(), asked);
        let seen = backend.seen.recv().await.expect("a request");
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        assert!(!body.contains("https://gateway.example"), "{body}");
    }
    let whose = |user: &str| format!("{user} by bearer in 2.0");
    let expected = ["alice", "alice", "bob", "bob", "alice"].map(whose);
    assert_eq!(*senders.lock().unwrap(), expected);
    let answer = ask(&gateway).await;
    assert_eq!(
        answer.status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "{}",
        answer.body
    );
    assert!(answer.body.contains("soap:Client") || answer.body.contains("Client"));
    assert_eq!(sts.asked(), 3);
    assert!(
        said.to_string()
            .contains("no assertion of a user in the request"),
        "{said}"
    );
}
