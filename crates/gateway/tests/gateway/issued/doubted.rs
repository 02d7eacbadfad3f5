//! Assertions that a backend seems to refuse: how often the token service is asked for others, and
//! which one is shown meanwhile.

use std::time::Duration;

use soapstone_testkit::envelope::SOAP11;
use tokio::sync::Notify;

use super::conversations::{ESTABLISHED, beginning, service};
use super::*;
use crate::conversations::between::{
    Says, asks_for_context, before, context_unknown, fault as unsecured,
};

const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

/// The file of a gateway whose assertions name the public key that it has.
fn text(backend: SocketAddr, sts: SocketAddr) -> String {
    beginning(backend, sts, "key = \"public-key\"")
}

/// A fault with this code.
fn fault(code: &str) -> Response<Full<Bytes>> {
    unsecured(&format!(
        "<faultcode xmlns:w=\"{WSSE}\" xmlns:u=\"{WSU}\" xmlns:t=\"{WST}\">{code}</faultcode><faultstring>no</faultstring>"
    ))
}

/// What a request for a context is answered.
type Answers = Box<dyn Fn() -> Response<Full<Bytes>> + Send + Sync>;

/// Something before a service that answers requests for contexts.
struct Refusing {
    address: SocketAddr,
    /// How many it has answered.
    refused: Arc<AtomicU32>,
}

impl Refusing {
    /// It answers the first ones so, as many as there are to be.
    async fn first(
        most: u32,
        to: SocketAddr,
        answer: impl Fn() -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        let refused = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&refused);
        let address = before(to, move |head, _| {
            match asks_for_context(head) && count.load(Ordering::Relaxed) < most {
                true => {
                    count.fetch_add(1, Ordering::Relaxed);
                    Says::Answer(answer())
                }
                false => Says::Nothing,
            }
        });
        Self {
            address: address.await,
            refused,
        }
    }

    fn refused(&self) -> u32 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Sends requests until one is answered.
async fn answered(gateway: &Running) {
    let answered = async {
        while ask(gateway).await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("an answer of the service", answered).await;
}

/// One question follows the first refusal, and none the others.
#[tokio::test]
async fn an_assertion_that_is_refused_for_a_moment_costs_one_question() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let sts = Sts::honest(&folder, true, true).await;
    let way = Refusing::first(4, service.address(), || fault("w:FailedAuthentication")).await;
    let gateway = folder
        .gateway(&text(way.address, sts.backend.address))
        .await;
    answered(&gateway).await;
    assert_eq!((way.refused(), sts.asked()), (4, 2));
    // Nor does a refusal that comes after a success.
    gateway.end_conversations().await;
    way.refused.store(2, Ordering::Relaxed);
    answered(&gateway).await;
    assert_eq!((way.refused(), sts.asked()), (4, 2));
    assert_eq!(metric(&gateway, ESTABLISHED).await, 2);
}

/// What else an answer may be says nothing of the assertion.
#[tokio::test]
async fn what_does_not_blame_the_assertion_has_no_other_one_asked_for() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let claiming = || {
        let text = format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\" xmlns:w=\"{WSSE}\"><s:Header><w:Security><w:BinarySecurityToken/></w:Security>\
             </s:Header><s:Body><s:Fault><faultcode>w:FailedAuthentication</faultcode><faultstring>no</faultstring></s:Fault>\
             </s:Body></s:Envelope>"
        );
        let mut response = fault("w:FailedAuthentication");
        *response.body_mut() = Full::new(Bytes::from(text));
        response
    };
    let answering = |status: StatusCode| {
        move || {
            let mut response = fault("w:FailedAuthentication");
            *response.status_mut() = status;
            response
        }
    };
    let coded = |code: &'static str| move || fault(code);
    let empty = || {
        let mut response = fault("w:FailedAuthentication");
        let text = format!("<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body/></s:Envelope>");
        *response.body_mut() = Full::new(Bytes::from(text));
        response
    };
    let others: [(&str, Answers); 11] = [
        ("Server", Box::new(coded("s:Server"))),
        ("Client", Box::new(coded("s:Client"))),
        ("VersionMismatch", Box::new(coded("s:VersionMismatch"))),
        (
            "UnsupportedAlgorithm",
            Box::new(coded("w:UnsupportedAlgorithm")),
        ),
        ("MessageExpired", Box::new(coded("u:MessageExpired"))),
        ("BadRequest", Box::new(coded("t:BadRequest"))),
        ("a code of nobody", Box::new(coded("FailedAuthentication"))),
        ("claimed security", Box::new(claiming)),
        ("502", Box::new(answering(StatusCode::BAD_GATEWAY))),
        ("503", Box::new(answering(StatusCode::SERVICE_UNAVAILABLE))),
        ("no fault", Box::new(empty)),
    ];
    for (what, answers) in others {
        let sts = Sts::honest(&folder, true, true).await;
        let way = Refusing::first(2, service.address(), answers).await;
        let gateway = folder
            .gateway(&text(way.address, sts.backend.address))
            .await;
        answered(&gateway).await;
        assert_eq!((way.refused(), sts.asked()), (2, 1), "{what}");
    }
}

/// A service says so in an answer that it secures.
#[tokio::test]
async fn a_proven_fault_has_another_assertion_asked_for() {
    let (said, _listening) = Said::listen();
    let folder = folder();
    let tables = format!(
        "identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\" }}\n\
         [saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\n\
         issuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n"
    );
    let service = behind(&folder, &tables, SoapVersion::V11, |_, _| {
        format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body><s:Fault>\
             <faultcode xmlns:t=\"{WST}\">t:FailedAuthentication</faultcode><faultstring>no</faultstring>\
             </s:Fault></s:Body></s:Envelope>"
        )
    })
    .await;
    let sts = Sts::honest(&folder, true, true).await;
    let gateway = folder
        .gateway(&text(service.address, sts.backend.address))
        .await;
    let proven = "no context was granted: the service refused: wst:FailedAuthentication";
    let refused = async {
        while said.times(proven) < 4 {
            ask(&gateway).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("four refusals", refused).await;
    assert_eq!(sts.asked(), 2, "{said}");
}

/// The assertion is that of all backends of the route.
#[tokio::test]
async fn a_backend_that_refuses_takes_the_assertion_from_no_other() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let sts = Sts::honest(&folder, true, true).await;
    let refusing = || fault("w:InvalidSecurityToken");
    let way = Refusing::first(u32::MAX, service.address(), refusing).await;
    let text = text(service.address(), sts.backend.address);
    let (_, tables) = text.split_once("[routes.outbound]").expect("the tables");
    let member = |name: &str, address: SocketAddr| {
        format!("[[routes.backends]]\nname = \"{name}\"\nurl = \"http://{address}/echo\"\n")
    };
    let gateway = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\n{}{}[routes.balance]\nselection = \"round-robin\"\nejection = false\n\
             [routes.outbound]{tables}",
            member("one", way.address),
            member("other", service.address())
        ))
        .await;
    let refused = async {
        while way.refused() < 6 {
            ask(&gateway).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("six refusals", refused).await;
    assert_eq!(sts.asked(), 2);
    assert_eq!(metric(&gateway, ESTABLISHED).await, 1);
    // The other one's next conversation begins with what is at hand.
    gateway.end_conversations().await;
    answered(&gateway).await;
    assert_eq!(metric(&gateway, ESTABLISHED).await, 2);
    assert_eq!(sts.asked(), 2);
}

/// A doubted assertion is not renewed: the same with a later end would be refused as well.
#[tokio::test]
async fn another_assertion_is_asked_for_anew() {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let kinds = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&kinds);
    let sts = Sts::granting(&folder, move |context, plain, before| {
        let types = format!("<wst:RequestType>{WST}/");
        let (_, kind) = plain.split_once(&types).expect("a type");
        let (kind, _) = kind.split_once('<').expect("its end");
        noted.lock().expect("nobody panicked").push(kind.to_owned());
        let made = Made {
            id: &format!("_{before}"),
            ..Made::default()
        };
        answer(context, true, &token(true, true, &made))
    })
    .await;
    let way = Refusing::first(2, service.address(), || fault("w:InvalidSecurityToken")).await;
    let more = "key = \"public-key\"\nrenew = true";
    let text = beginning(way.address, sts.backend.address, more);
    let gateway = folder.gateway(&text).await;
    answered(&gateway).await;
    assert_eq!(*kinds.lock().unwrap(), ["Issue", "Issue"]);
}

/// A token service that gives no other assertion, or never answers, stops no conversation.
#[tokio::test]
async fn an_assertion_is_shown_again_where_there_is_no_other() {
    for hangs in [false, true] {
        let folder = folder();
        let (service, _backend) = service(&folder, "").await;
        let sts = Sts::granting(&folder, |context, _, before| match before {
            0 => answer(context, true, &token(true, true, &Made::default())),
            _ => "<nothing/>".to_owned(),
        })
        .await;
        let arrived = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&arrived);
        let to_sts = before(sts.backend.address, move |_, _| {
            match count.fetch_add(1, Ordering::Relaxed) > 0 && hangs {
                true => Says::Later(Arc::new(Notify::new())),
                false => Says::Nothing,
            }
        });
        let way = Refusing::first(3, service.address(), || fault("w:FailedCheck")).await;
        let gateway = folder.gateway(&text(way.address, to_sts.await)).await;
        answered(&gateway).await;
        assert_eq!(way.refused(), 3, "{hangs}");
        assert_eq!(arrived.load(Ordering::Relaxed), 2, "{hangs}");
        assert_eq!(metric(&gateway, ESTABLISHED).await, 1);
    }
}

/// The service says that it has lost the context, while the token service is asked what could
/// follow it. What comes of the question is not that context.
#[tokio::test]
async fn a_context_that_was_lost_meanwhile_is_used_by_nobody() {
    for fails in [false, true] {
        lost_meanwhile(fails).await;
    }
}

/// Where the question fails, another context begins with the assertion at hand.
async fn lost_meanwhile(fails: bool) {
    let folder = folder();
    let (service, _backend) = service(&folder, "").await;
    let end = std::sync::OnceLock::new();
    let sts = Sts::granting(&folder, move |context, _, before| {
        if fails && before > 0 {
            return "<nothing/>".to_owned();
        }
        let now = jiff::Timestamp::now().as_second();
        let made = Made {
            id: &format!("_{before}"),
            end: end.get_or_init(|| now + 8) - now,
            ..Made::default()
        };
        answer(context, true, &token(true, true, &made))
    })
    .await;
    let (arrived, moment) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (count, later) = (Arc::clone(&arrived), Arc::clone(&moment));
    let to_sts = before(sts.backend.address, move |_, _| {
        match count.fetch_add(1, Ordering::Relaxed) {
            1 => Says::Later(Arc::clone(&later)),
            _ => Says::Nothing,
        }
    });
    // It loses the first context when the second question has arrived.
    let (asked, handshakes) = (Arc::clone(&arrived), Arc::new(AtomicU32::new(0)));
    let begun = Arc::clone(&handshakes);
    let way = before(service.address(), move |head, _| {
        if asks_for_context(head) {
            begun.fetch_add(1, Ordering::Relaxed);
            return Says::Nothing;
        }
        let is_lost = asked.load(Ordering::Relaxed) > 1 && begun.load(Ordering::Relaxed) < 2;
        match is_lost {
            true => {
                moment.notify_one();
                Says::Answer(context_unknown())
            }
            false => Says::Nothing,
        }
    });
    let gateway = folder.gateway(&text(way.await, to_sts.await)).await;
    let begun = async {
        while handshakes.load(Ordering::Relaxed) < 2 {
            let answer = ask(&gateway).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon("another context", begun).await;
}
