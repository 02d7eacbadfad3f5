//! TLS of the registry's addresses: who is heard, what a certificate of TLS is worth, and what a
//! reload changes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use soapstone::crypto::Identity;
use soapstone_testkit::{client_tls, keys};

use super::*;

const TLS: &str = "[tls]\ncertificate = \"registry.cert.pem\"\nkey = \"registry.key.pem\"\n";
const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

async fn begin(folder: &Folder, text: &str) -> Running {
    let config = config(folder, text).unwrap_or_else(|problems| panic!("{problems}"));
    start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A client of TLS, which may show a certificate.
fn trusting(shown: Option<&Identity>) -> Arc<ClientConfig> {
    Arc::new(client_tls(shown))
}

fn of(name: &str) -> Arc<Identity> {
    keys::identity(&format!("CN={name}"), P256)
}

/// An exchange through TLS: status and body, and the certificate that the registry showed.
fn through_tls(
    address: SocketAddr,
    tls: &Arc<ClientConfig>,
    request: &[u8],
) -> io::Result<(u16, Vec<u8>, Vec<u8>)> {
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::clone(tls), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let shown = stream.conn.peer_certificates().expect("it shows one")[0].to_vec();
    let text = String::from_utf8_lossy(&answer);
    let end = text
        .find("\r\n\r\n")
        .ok_or_else(|| io::Error::other("no head"))?;
    let status = text[9..12].parse().expect("a status");
    Ok((status, answer[end + 4..].to_vec(), shown))
}

fn soap(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /uddi HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// What a signed request comes to through TLS.
fn signed(address: SocketAddr, tls: &Arc<ClientConfig>, by: &Client, body: &str) -> (u16, String) {
    let secured = by.secure(envelope(body)).expect("it is secured");
    let answered = through_tls(address, tls, &soap(&secured.bytes));
    let (status, answer, _) = answered.unwrap_or_else(|error| panic!("{error}"));
    let cache = ForgetfulReplayCache;
    let memory = Memory::without_conversations(&cache);
    let opened = by.open(answer, secured.receipt, memory);
    let opened = opened.unwrap_or_else(|rejected| panic!("{status}: {rejected}"));
    (status, body_of(&opened.bytes))
}

#[tokio::test]
async fn both_addresses_speak_tls_and_plain_http_is_told_so() {
    let folder = folder();
    let running = begin(&folder, &format!("{SERVER}{TLS}")).await;
    let own = client(&folder, "p1");
    waiting(move || {
        let (signing, inquiry) = (running.address(), running.inquiry().expect("inquiries"));
        let anybody = trusting(None);
        let published = uddi::write_request(&business(HOME));
        let (status, body) = signed(signing, &anybody, &own, &published);
        assert_eq!(status, 200, "{body}");
        let get = b"GET /providers HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let (status, body, shown) = through_tls(inquiry, &anybody, get).expect("an answer");
        assert_eq!(status, 200);
        assert!(String::from_utf8_lossy(&body).contains(HOME));
        assert_eq!(shown, of("registry").certificate().der());
        for address in [signing, inquiry] {
            let (status, body) = exchange(address, GET);
            assert_eq!(status, 400);
            let body = String::from_utf8_lossy(&body);
            assert!(body.starts_with("this port speaks TLS"), "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn without_a_certificate_of_its_authorities_nobody_is_heard() {
    let folder = folder();
    let mutual = format!("{SERVER}{TLS}client_ca = [\"ca.cert.pem\"]\n");
    let running = begin(&folder, &mutual).await;
    waiting(move || {
        let stranger = keys::identity_by("CN=another authority", "CN=p1", P256);
        for address in [running.address(), running.inquiry().expect("inquiries")] {
            let (status, ..) = through_tls(address, &trusting(Some(&of("p1"))), GET)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(status, 200);
            // In TLS 1.3 a client learns only afterwards that its handshake was refused.
            for shown in [None, Some(&*stranger)] {
                let answered = through_tls(address, &trusting(shown), GET);
                let answered = answered.map(|(status, ..)| status);
                assert!(answered.is_err(), "{answered:?}");
            }
        }
        drop(running);
    })
    .await;
}

/// A certificate of TLS authorizes nothing: whoever signed a message owns what it writes.
#[tokio::test]
async fn a_certificate_of_tls_is_no_signature_and_makes_nobody_an_owner() {
    let folder = folder();
    let mutual = format!("{SERVER}{TLS}client_ca = [\"ca.cert.pem\"]\n");
    let running = begin(&folder, &mutual).await;
    let mallory = client(&folder, "mallory");
    waiting(move || {
        let address = running.address();
        let of_p1 = trusting(Some(&of("p1")));
        let published = uddi::write_request(&business(HOME));
        let unsigned = soap(&envelope(&published));
        let (status, answer, _) = through_tls(address, &of_p1, &unsigned).expect("an answer");
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, 500);
        assert!(answer.contains("wsse:InvalidSecurity"), "{answer}");
        let (status, body) = signed(address, &of_p1, &mallory, &published);
        assert_eq!(status, 200, "{body}");
        let get = b"GET /providers HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let inquiry = running.inquiry().expect("inquiries");
        let (_, body, _) = through_tls(inquiry, &of_p1, get).expect("an answer");
        let Answer::Providers(found) = serde_json::from_slice(&body).expect("JSON") else {
            panic!("providers");
        };
        assert_eq!(found.found[0].owner.subject.as_str(), "CN=mallory");
    })
    .await;
}

/// A handshake that never ends takes one connection of the address that it comes from, and none of
/// others'; it has its end with the time of a head.
#[tokio::test]
async fn whoever_never_shakes_hands_holds_up_no_other_connection() {
    let folder = folder();
    let running = begin(&folder, &format!("{SERVER}{TLS}")).await;
    let address = running.address();
    waiting(move || {
        // The first bytes of a handshake record that never goes on.
        let silent: Vec<TcpStream> = (0..63)
            .map(|_| {
                let mut stream = TcpStream::connect(address).expect("it listens");
                stream.write_all(&[22, 3, 1, 2]).expect("it is sent");
                stream
            })
            .collect();
        let (status, ..) = through_tls(address, &trusting(None), GET).expect("an answer");
        assert_eq!(status, 200);
        drop((silent, running));
    })
    .await;
}

/// Waits until something is so, which the test's own time limit bounds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let is_so = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        is_so()
    });
    assert!(is_so, "{what}");
}

/// A stolen key is replaced, an authority is not trusted any more, and a publisher loses its right,
/// without a restart. A session of TLS that an authority of before vouched for is not resumed.
#[tokio::test]
async fn what_the_files_say_anew_is_taken_into_use_and_what_is_wrong_is_not() {
    let folder = folder();
    let other = keys::authority("CN=another authority");
    folder.write("other.cert.pem", other.certificates_to_pem());
    let text = |server: &str, authority: &str, publisher: &str| {
        SERVER.replace("subject = \"*\"", &format!("subject = \"{publisher}\""))
            + &format!(
                "[tls]\ncertificate = \"{server}.cert.pem\"\nkey = \"{server}.key.pem\"\n\
                 client_ca = [\"{authority}.cert.pem\"]\n"
            )
    };
    let file = folder.write("registry.toml", text("registry", "ca", "*"));
    let config = Config::load(&file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let running = start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let (address, own) = (running.address(), client(&folder, "p1"));
    let changes = waiting(move || {
        let [former, next] = [
            trusting(Some(&of("p1"))),
            trusting(Some(&keys::identity_by(
                "CN=another authority",
                "CN=p1",
                P256,
            ))),
        ];
        let shown =
            |tls: &Arc<ClientConfig>| through_tls(address, tls, GET).map(|(.., shown)| shown).ok();
        let registry = Some(of("registry").certificate().der().to_vec());
        let replaced = Some(of("mallory").certificate().der().to_vec());
        let published = uddi::write_request(&business(HOME));
        let (status, body) = signed(address, &former, &own, &published);
        assert_eq!(status, 200, "{body}");
        assert_eq!(shown(&former), registry);
        // Without publishers it is no configuration.
        let wrong = text("mallory", "other", "p1");
        let wrong = wrong.replace("[[publishers]]\nsubject = \"p1\"\n", "");
        folder.write("registry.toml", wrong);
        for _ in 0..60 {
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(shown(&former), registry, "the former one stays in use");
        }
        folder.write("registry.toml", text("mallory", "other", "CN=mallory"));
        until("the next one is in use", || shown(&next) == replaced);
        assert_eq!(shown(&former), None, "its authority is not named any more");
        let (status, body) = signed(address, &next, &own, &published);
        assert_eq!(status, 500);
        assert!(body.contains("errCode=\"E_userMismatch\""), "{body}");
        folder
    });
    let _folder = tokio::select! {
        never = running.follow_files() => match never {},
        folder = changes => folder,
    };
    running.shutdown().await;
}

#[test]
fn what_is_wrong_with_tls_is_reported() {
    let folder = folder();
    let said = |text: &str| match config(&folder, text) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    };
    assert_eq!(said(&format!("{SERVER}{TLS}")), "");
    let without = TLS.replace("key = \"registry.key.pem\"\n", "");
    let found = said(&format!("{SERVER}{without}"));
    assert!(found.contains("`key` is missing"), "{found}");
    let asking = format!("{SERVER}{TLS}client_ca = [\"ca.cert.pem\"]\n[tls.revocation]\n");
    for rules in ["", "fail = \"soft\"\n", "fail = \"hard\"\n"] {
        let problems = config(&folder, &format!("{asking}{rules}"));
        let problems = problems.err().expect("a registry asks nobody");
        let problem = &problems.0[0];
        assert_eq!(
            problem.message,
            "`revocation` is for gateways: a registry asks nobody whether certificates were revoked"
        );
        assert_eq!((problems.0.len(), problem.line), (1, 16), "{problems}");
    }
    let other = TLS.replace("registry.key", "p1.key");
    let found = said(&format!("{SERVER}{other}"));
    let expected = "the certificate and the key cannot be used";
    assert!(found.contains(expected), "{found}");
}
