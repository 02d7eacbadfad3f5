//! Whether certificates were revoked: asked of `openssl ocsp` as a live responder, and of servers
//! that mean harm. No request waits for any of them.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use soapstone::crypto::issue::{self, Validity};
use soapstone::crypto::trust::RevocationListFacts;
use soapstone_gateway::Running;
use soapstone_testkit::keys;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::secured::{client, secured};
use crate::support::{
    Backend, ENVELOPE, Folder, Said, get, post, reason, send, silent_backend, soon,
};

/// `OCSPSigning` as the one extended key usage, in DER.
const OCSP_SIGNING: [u8; 12] = [0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 9];
const EXTENDED_KEY_USAGE: [u8; 3] = [0x55, 0x1d, 37];

/// A gateway's file that asks by these rules; `hosts` may be asked.
fn file(backend: &Backend, hosts: &str, more: &str, rules: &str) -> String {
    format!(
        "LISTEN\nrevocation = {{ hosts = [{hosts}]{more} }}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
         [routes.inbound]\nidentity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         peer = {{ certificate = \"client.cert.pem\" }}\n\
         security = {{ mechanism = \"sign\", suite = \"Basic256Sha256\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], revocation = {{ {rules} }} }}\n",
        backend.address
    )
}

/// What a signed request is answered.
async fn status(gateway: &Running, folder: &Folder) -> StatusCode {
    let request = post("/echo", secured(folder, "sign"));
    soon("an answer", send(gateway.address(), request))
        .await
        .status
}

/// Sends requests until one is answered like this.
async fn answered(gateway: &Running, folder: &Folder, expected: StatusCode) {
    // A responder may be slow where the machine has much to do.
    for _ in 0..200 {
        if status(gateway, folder).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let metrics = gateway.metrics();
    let told = metrics
        .lines()
        .filter(|line| line.starts_with("soapstone_revocation"));
    let told: Vec<&str> = told.collect();
    panic!("no request was answered {expected}: {told:#?}");
}

/// Waits until a metric has that line.
pub(crate) async fn told(gateway: &Running, line: &str) {
    soon(line, async {
        while !gateway.metrics().lines().any(|told| told == line) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

pub(crate) fn outcome(kind: &str, outcome: &str) -> String {
    format!("soapstone_revocation_questions_total{{kind=\"{kind}\",outcome=\"{outcome}\"}} 1")
}

/// What a responder answers from: `index.txt`, with the certificate of that name, and an identity
/// of its own.
pub(crate) fn write_responder(folder: &Folder, name: &str, state: char) {
    let purpose =
        keys::template("CN=responder").with_extension(&EXTENDED_KEY_USAGE, false, &OCSP_SIGNING);
    let authority = keys::authority(keys::AUTHORITY);
    let responder = issue::identity(&authority, keys::P256, &purpose).expect("a certificate");
    folder.write_identity("responder", &responder);
    let read = Command::new("openssl")
        .args(["x509", "-noout", "-serial", "-in"])
        .arg(folder.path(format!("{name}.cert.pem")))
        .output()
        .expect("openssl runs");
    let serial = String::from_utf8(read.stdout).expect("text");
    let serial = serial
        .trim()
        .strip_prefix("serial=")
        .expect("a serial number");
    let revoked = if state == 'R' {
        "260101000000Z,keyCompromise"
    } else {
        ""
    };
    let line = format!("{state}\t391231235959Z\t{revoked}\t{serial}\tunknown\t/CN={name}\n");
    folder.write("index.txt", line);
}

/// `openssl ocsp`, which answers for the authority of the folder.
pub(crate) struct Responder {
    process: Child,
    pub(crate) address: String,
    /// Read by nobody any more, and open for as long as it runs.
    _said: BufReader<ChildStdout>,
}

impl Drop for Responder {
    fn drop(&mut self) {
        // It may have ended already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Responder {
    /// Starts it with the certificate of `client`, valid (`V`) or revoked (`R`).
    pub(crate) fn start(folder: &Folder, state: char) -> Self {
        Self::about(folder, "client", state)
    }

    /// Starts it with the certificate of that name.
    pub(crate) fn about(folder: &Folder, name: &str, state: char) -> Self {
        write_responder(folder, name, state);
        let mut process = Command::new("openssl")
            .args(["ocsp", "-nmin", "60", "-port", "0", "-index"])
            .arg(folder.path("index.txt"))
            .arg("-CA")
            .arg(folder.path("ca.cert.pem"))
            .arg("-rsigner")
            .arg(folder.path("responder.cert.pem"))
            .arg("-rkey")
            .arg(folder.path("responder.key.pem"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl runs");
        // A connection that says nothing would occupy it: it tells itself when it listens.
        let mut said = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let port = line.split_whitespace().nth(1);
        let port = port.and_then(|address| address.rsplit_once(':'));
        let (_, port) = port.expect("an address");
        Self {
            process,
            address: format!("127.0.0.1:{port}"),
            _said: said,
        }
    }

    pub(crate) fn rules(&self) -> String {
        format!("responder = \"http://{}/\"", self.address)
    }

    pub(crate) fn host(&self) -> String {
        format!("\"{}\"", self.address)
    }
}

#[tokio::test]
async fn a_live_responder_is_asked_in_the_background_and_its_answer_survives_a_restart() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let responder = Responder::start(&folder, 'V');
    std::fs::create_dir(folder.path("kept")).expect("a folder");
    let text = file(
        &backend,
        &responder.host(),
        ", cache = \"kept\"",
        &responder.rules(),
    );
    let gateway = folder.gateway(&text).await;
    let first = post("/echo", secured(&folder, "sign"));
    let first = send(gateway.address(), first).await;
    assert_eq!(first.status, StatusCode::INTERNAL_SERVER_ERROR);
    let refused = reason(&first.body).to_owned();
    answered(&gateway, &folder, StatusCode::OK).await;
    told(&gateway, &outcome("ocsp", "good")).await;
    let good = "soapstone_revocation_certificates{status=\"good\"} 1";
    told(&gateway, good).await;
    let address = responder.address.clone();
    drop(responder);
    drop(gateway);
    let again = folder.gateway(&text).await;
    assert_eq!(
        status(&again, &folder).await,
        StatusCode::OK,
        "the first request"
    );
    let stranger = send(again.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(stranger.status, StatusCode::INTERNAL_SERVER_ERROR);
    for secret in ["revo", "OCSP", address.as_str()] {
        assert!(
            !refused.contains(secret),
            "peers are told nothing: {refused}"
        );
    }
}

#[tokio::test]
async fn where_the_nonce_is_demanded_a_kept_answer_counts_for_nothing_after_a_restart() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let responder = Responder::start(&folder, 'V');
    std::fs::create_dir(folder.path("kept")).expect("a folder");
    let rules = format!("{}, nonce = \"required\"", responder.rules());
    let kept = ", cache = \"kept\"";
    let text = file(&backend, &responder.host(), kept, &rules);
    let gateway = folder.gateway(&text).await;
    answered(&gateway, &folder, StatusCode::OK).await;
    drop(gateway);
    let again = folder.gateway(&text).await;
    let first = status(&again, &folder).await;
    assert_eq!(first, StatusCode::INTERNAL_SERVER_ERROR);
    answered(&again, &folder, StatusCode::OK).await;
}

#[tokio::test]
async fn a_certificate_that_a_live_responder_calls_revoked_is_refused_for_good() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let responder = Responder::start(&folder, 'R');
    let rules = format!(
        "{}, nonce = \"required\", fail = \"soft\"",
        responder.rules()
    );
    let (said, _listening) = Said::listen();
    let gateway = folder
        .gateway(&file(&backend, &responder.host(), "", &rules))
        .await;
    assert_eq!(status(&gateway, &folder).await, StatusCode::OK, "soft fail");
    told(&gateway, "soapstone_revocation_soft_fails_total 1").await;
    answered(&gateway, &folder, StatusCode::INTERNAL_SERVER_ERROR).await;
    assert_eq!(said.caused("certificate-revoked"), 1, "{said}");
    told(&gateway, &outcome("ocsp", "revoked")).await;
    // A reload forgets nothing.
    gateway.reload(folder.config(&file(&backend, &responder.host(), "", &rules)));
    let after = status(&gateway, &folder).await;
    assert_eq!(after, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn a_host_that_the_configuration_does_not_name_is_never_asked() {
    let folder = Folder::new();
    let access = |url: &str| {
        let mut uri = vec![0x86, u8::try_from(url.len()).expect("a short URL")];
        uri.extend(url.as_bytes());
        let method = [6, 8, 0x2b, 6, 1, 5, 5, 7, 0x30, 1];
        let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("a short one");
        let inner = [&method[..], &uri].concat();
        let inner = [&[0x30, length(&inner)][..], &inner].concat();
        [&[0x30, length(&inner)][..], &inner].concat()
    };
    let authority = keys::authority(keys::AUTHORITY);
    folder.write("ca.cert.pem", authority.certificates_to_pem());
    folder.write_identity("server", &keys::identity("CN=server", keys::RSA));
    let mut other = Backend::echo().await;
    let url = format!("http://{}/", other.address);
    let oid = [0x2b, 6, 1, 5, 5, 7, 1, 1];
    let template = keys::template("CN=client").with_extension(&oid, false, &access(&url));
    let sender = issue::identity(&authority, keys::RSA, &template).expect("a certificate");
    folder.write_identity("client", &sender);
    let backend = Backend::echo().await;
    let text = file(
        &backend,
        "\"ocsp.example.com\", \"127.0.0.1\"",
        "",
        "fail = \"soft\"",
    );
    let gateway = folder.gateway(&text).await;
    assert_eq!(status(&gateway, &folder).await, StatusCode::OK);
    told(&gateway, &outcome("ocsp", "host-not-allowed")).await;
    assert!(other.seen.try_recv().is_err(), "127.0.0.1 is port 80 alone");
}

#[tokio::test]
async fn a_responder_that_hangs_holds_no_request_and_is_given_up() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let (hanging, mut accepted) = silent_backend().await;
    let rules = format!("responder = \"http://{hanging}/\", fail = \"soft\"");
    let hosts = format!("\"{hanging}\"");
    let gateway = folder
        .gateway(&file(&backend, &hosts, ", timeout = \"2s\"", &rules))
        .await;
    assert_eq!(status(&gateway, &folder).await, StatusCode::OK);
    let held = soon("the question", accepted.recv()).await;
    assert!(held.is_some());
    assert_eq!(
        status(&gateway, &folder).await,
        StatusCode::OK,
        "while it hangs"
    );
    told(&gateway, &outcome("ocsp", "unanswered")).await;
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.ok();
            let chunk = format!("10000\r\n{}\r\n", "0".repeat(0x1_0000));
            while stream.write_all(chunk.as_bytes()).await.is_ok() {}
        }
    });
    let rules = format!("crl_urls = [\"http://{address}/ca.crl\"], ocsp = false, crl = false");
    let text = file(
        &backend,
        &format!("\"{address}\""),
        ", list = \"1MB\"",
        &rules,
    );
    let gateway = folder.gateway(&text).await;
    told(&gateway, &outcome("crl", "too-large")).await;
    let refused = status(&gateway, &folder).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn a_redirection_is_not_followed_not_even_to_a_host_that_may_be_asked() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let mut target = Backend::echo().await;
    let location = format!("http://{}/", target.address);
    let redirecting = Backend::answering(move |_| {
        let mut response = Response::new(Full::new(Bytes::new()));
        *response.status_mut() = StatusCode::FOUND;
        let location = location.parse().expect("a value");
        response.headers_mut().insert("location", location);
        response
    })
    .await;
    let rules = format!("responder = \"http://{}/\"", redirecting.address);
    let hosts = format!("\"{}\", \"{}\"", redirecting.address, target.address);
    let gateway = folder.gateway(&file(&backend, &hosts, "", &rules)).await;
    let refused = status(&gateway, &folder).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
    told(&gateway, &outcome("ocsp", "status")).await;
    assert!(target.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_compressed_list_is_refused_before_it_is_read() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let packing = Backend::answering(|_| {
        let mut response = Response::new(Full::new(Bytes::from_static(b"0")));
        let packed = "gzip".parse().expect("a value");
        response.headers_mut().insert("content-encoding", packed);
        response
    })
    .await;
    let address = packing.address;
    let rules = format!("crl_urls = [\"http://{address}/ca.crl\"], ocsp = false");
    let gateway = folder
        .gateway(&file(&backend, &format!("\"{address}\""), "", &rules))
        .await;
    told(&gateway, &outcome("crl", "encoded")).await;
}

#[tokio::test]
async fn a_list_that_the_configuration_names_is_there_before_the_first_request() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let authority = keys::authority(keys::AUTHORITY);
    let validity = Validity::days(Timestamp::now(), 7);
    let list = issue::revocation_list(&authority, [], validity).expect("a list");
    RevocationListFacts::of(&list).expect("it can be read");
    let publisher =
        Backend::answering(move |_| Response::new(Full::new(Bytes::from(list.clone())))).await;
    let address = publisher.address;
    let rules = format!("crl_urls = [\"http://{address}/ca.crl\"], ocsp = false");
    let gateway = folder
        .gateway(&file(&backend, &format!("\"{address}\""), "", &rules))
        .await;
    told(&gateway, "soapstone_revocation_lists{state=\"fresh\"} 1").await;
    assert_eq!(status(&gateway, &folder).await, StatusCode::OK);
}

#[tokio::test]
async fn a_host_that_hangs_takes_no_room_from_other_hosts() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let (hanging, mut accepted) = silent_backend().await;
    let authority = keys::authority(keys::AUTHORITY);
    let validity = Validity::days(Timestamp::now(), 7);
    let list = issue::revocation_list(&authority, [], validity).expect("a list");
    let publisher =
        Backend::answering(move |_| Response::new(Full::new(Bytes::from(list.clone())))).await;
    let address = publisher.address;
    let urls = (0..60).map(|number| format!("\"http://{hanging}/{number}.crl\""));
    let urls: Vec<String> = urls.collect();
    let rules = format!(
        "crl_urls = [{}, \"http://{address}/ca.crl\"], ocsp = false",
        urls.join(", ")
    );
    let hosts = format!("\"{hanging}\", \"{address}\"");
    let text = file(&backend, &hosts, ", timeout = \"1h\"", &rules);
    let gateway = folder.gateway(&text).await;
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(soon("a question that hangs", accepted.recv()).await);
    }
    told(&gateway, "soapstone_revocation_lists{state=\"fresh\"} 1").await;
    assert_eq!(status(&gateway, &folder).await, StatusCode::OK);
    assert!(accepted.try_recv().is_err(), "8 at once for one host");
    drop(held);
}

#[tokio::test]
async fn more_lists_than_there_is_room_for_are_told() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let (silent, _accepted) = silent_backend().await;
    let urls = (0..65).map(|number| format!("\"http://{silent}/{number}.crl\""));
    let urls: Vec<String> = urls.collect();
    let rules = format!("crl_urls = [{}], ocsp = false", urls.join(", "));
    let text = file(&backend, &format!("\"{silent}\""), "", &rules);
    let gateway = folder.gateway(&text).await;
    told(&gateway, &outcome("crl", "no-room")).await;
}

#[tokio::test]
async fn asking_needs_hosts_that_may_be_asked() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let problems = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let file = folder.path("gateway.toml");
        let config = soapstone_gateway::Config::from_text(&text, &file, &|_| None);
        config.map(drop).unwrap_err().to_string()
    };
    let rules = "responder = \"http://ocsp.example.com/\"";
    let text = file(&backend, "\"ocsp.example.com\"", "", rules);
    let line = text.lines().nth(1).expect("it has lines").to_owned();
    let without = problems(&text.replace(&line, ""));
    assert!(without.contains("and no host may be asked"), "{without}");
    let other = problems(&text.replace("[\"ocsp.example.com\"]", "[\"example.com\"]"));
    assert!(
        other.contains("names a host in `revocation` that may not be asked"),
        "{other}"
    );
}

/// Partners come and go as files of a folder.
#[tokio::test]
async fn certificates_of_a_folder_are_believed_for_as_long_as_they_are_in_it() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let partners = folder.path("partners");
    std::fs::create_dir(&partners).expect("a folder");
    let copy = |name: &str, to: &str| {
        std::fs::copy(folder.path(name), partners.join(to)).expect("it is there");
    };
    copy("server.cert.pem", "server.pem");
    std::fs::write(partners.join("README"), "not a certificate").expect("it is ours");
    std::fs::write(partners.join(".hidden.pem"), "nor this").expect("it is ours");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        client("sign")
            .replace("client", "server")
            .replace("anchors = [\"ca.cert.pem\"]", "pinned = \"partners\"")
            .replace(
                "peer = { certificate = \"server.cert.pem\" }",
                "peer = { certificate = \"client.cert.pem\" }"
            )
    );
    let gateway = folder.gateway(&text).await;
    let refused = status(&gateway, &folder).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
    let named = folder.config(&text).files();
    assert!(
        named.contains(&partners),
        "the folder is watched: {named:?}"
    );
    copy("client.cert.pem", "client.CRT");
    gateway.reload(folder.config(&text));
    assert_eq!(status(&gateway, &folder).await, StatusCode::OK);
    std::fs::remove_file(partners.join("client.CRT")).expect("it is there");
    gateway.reload(folder.config(&text));
    let refused = status(&gateway, &folder).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
    let metrics = send(gateway.address(), get("/metrics")).await;
    assert_eq!(metrics.status, StatusCode::OK);
}
