//! Endpoints whose private key is in a token of SoftHSM: the command line, and a gateway whose
//! token goes away and comes back.
//!
//! Where the programs are not installed these tests say so and pass, but not in continuous
//! integration.
#![cfg(unix)]

mod common;
#[path = "common/endpoints.rs"]
mod endpoints;
#[path = "common/redis.rs"]
mod redis;
#[path = "common/server.rs"]
mod server;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Folder, SOAP11, envelope, key};
use endpoints::Endpoint;
use redis::Redis;
use server::{Server, backend, free_port, post};

const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
const CLIENT: &str = "/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-client.so";
const PIN: &str = "83294";

/// A folder with a token that holds the key of `server`; `None`: the programs are not installed.
fn folder_with_token() -> Option<Folder> {
    if let Some(missing) = [MODULE, CLIENT]
        .iter()
        .find(|file| !Path::new(file).exists())
    {
        let text = format!("{missing} is not installed (packages softhsm2, p11-kit-modules)");
        assert!(std::env::var_os("CI").is_none(), "{text}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: {text}");
        return None;
    }
    let folder = Folder::new();
    folder.write("tokens/.keep", "");
    let settings = format!(
        "directories.tokendir = {}\nlog.level = ERROR\n",
        folder.path("tokens").display()
    );
    folder.write("softhsm2.conf", settings);
    let words = "--init-token --free --label gateway --so-pin 57721";
    softhsm(&folder, &words.split(' ').collect::<Vec<_>>());
    import(&folder, &key("server.key.pem"), "server", "01");
    Some(folder)
}

/// `softhsm2-util` with the token's PIN.
fn softhsm(folder: &Folder, words: &[&str]) {
    let output = Command::new("softhsm2-util")
        .args(words)
        .args(["--pin", PIN])
        .env("SOFTHSM2_CONF", folder.path("softhsm2.conf"))
        .output()
        .expect("softhsm2-util runs");
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// Puts the private key of a file into the token.
fn import(folder: &Folder, file: &str, label: &str, id: &str) {
    let words = [
        "--import", file, "--token", "gateway", "--label", label, "--id", id,
    ];
    softhsm(folder, &words);
}

/// The program in the folder, with the settings of the token and its PIN.
fn command(folder: &Folder, words: &str) -> Command {
    let mut command = folder.command_with(&words.split(' ').collect::<Vec<_>>());
    command
        .env("SOFTHSM2_CONF", folder.path("softhsm2.conf"))
        .env(
            "P11_KIT_SERVER_ADDRESS",
            format!("unix:path={}", folder.path("socket").display()),
        )
        .env("TOKEN_PIN", PIN);
    command
}

/// The tables of the service, whose key is in the token.
fn service(module: &str, key_name: &str, certificate: &str) -> String {
    service_with("sign-encrypt", module, key_name, certificate)
}

fn service_with(mechanism: &str, module: &str, key_name: &str, certificate: &str) -> String {
    format!(
        "identity = {{ pkcs11 = {{ module = \"{module}\", token = \"gateway\", key = \"{key_name}\", pin_env = \"TOKEN_PIN\" }}, \
         certificate = \"{}\" }}\npeer = {{ certificate = \"{}\" }}\ntrust = {{ anchors = [\"{}\"] }}\n\
         security = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256\" }}\n",
        key(&format!("{certificate}.cert.pem")),
        key("client.cert.pem"),
        key("ca.cert.pem")
    )
}

const SUITE: &str = "suite = \"Basic256Sha256\"";

/// A folder with a request for a service whose key is in a token, and the files of both sides.
fn folder_with_request() -> Option<Folder> {
    let folder = folder_with_token()?;
    folder.write("server.toml", service(MODULE, "server", "server"));
    Endpoint::client("sign-encrypt", SUITE).write(&folder, "client.toml");
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o request.xml")
        .succeeds();
    Some(folder)
}

#[test]
fn a_service_opens_and_secures_with_a_key_in_a_token() {
    let Some(folder) = folder_with_request() else {
        return;
    };
    let opened = command(&folder, "open --config server.toml request.xml").output();
    let opened = opened.expect("the program runs");
    assert!(opened.status.success(), "{opened:?}");
    assert!(String::from_utf8_lossy(&opened.stdout).contains("urn:books"));
    let secured = command(
        &folder,
        "secure --config server.toml plain.xml -o answer.xml",
    )
    .output();
    let secured = secured.expect("the program runs");
    assert!(secured.status.success(), "{secured:?}");
    folder
        .run("open --config client.toml answer.xml")
        .succeeds();
}

#[test]
fn a_message_for_a_key_in_a_token_is_explained_with_its_plaintext() {
    let Some(folder) = folder_with_request() else {
        return;
    };
    let explained = command(&folder, "explain --json --config server.toml request.xml").output();
    let explained = explained.expect("the program runs");
    assert!(explained.status.success(), "{explained:?}");
    let told: serde_json::Value = serde_json::from_slice(&explained.stdout).expect("JSON");
    assert_eq!(told["verdict"]["accepted"], true);
    // The Body was signed before it was encrypted.
    let references = told["signatures"][0]["references"].as_array();
    for reference in references.expect("a list") {
        assert_eq!(reference["state"], "matches", "{reference:#}");
    }
    for one in told["encryption"].as_array().expect("a list") {
        assert_eq!(one["opened"], true, "{one:#}");
    }
}

#[test]
fn what_is_wrong_with_a_key_in_a_token_is_told_with_its_place_and_without_the_pin() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    folder.write("plain.xml", envelope(SOAP11));
    for (key_name, certificate, told) in [
        (
            "absent",
            "server",
            "key `absent` in token `gateway` of `/usr/lib/softhsm/libsofthsm2.so`: the token has no such private key; it has `server`",
        ),
        (
            "server",
            "stranger",
            "key `server` in token `gateway` of `/usr/lib/softhsm/libsofthsm2.so`: the private key does not belong to the certificate",
        ),
    ] {
        folder.write("server.toml", service(MODULE, key_name, certificate));
        let ended = command(&folder, "open --config server.toml plain.xml").output();
        let ended = ended.expect("the program runs");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&format!("server.toml:1:23: {told}")),
            "{said}"
        );
        assert!(!said.contains(PIN), "{said}");
    }
}

/// `p11-kit server` with the token, which can be stopped.
struct TokenServer(Child);

impl TokenServer {
    fn start(folder: &Folder) -> Self {
        let socket = folder.path("socket");
        let child = Command::new("p11-kit")
            .args(["server", "--foreground", "--provider", MODULE, "--name"])
            .arg(&socket)
            .arg("pkcs11:token=gateway")
            .env("SOFTHSM2_CONF", folder.path("softhsm2.conf"))
            .stdout(Stdio::null())
            // It starts a process for each connection.
            .process_group(0)
            .spawn()
            .expect("p11-kit runs");
        while UnixStream::connect(&socket).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Self(child)
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
        killed.expect("kill runs");
        self.0.wait().ok();
    }
}

#[test]
fn a_gateway_whose_token_went_away_says_503_and_serves_when_the_token_is_back() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    let token = TokenServer::start(&folder);
    let backend = backend();
    let port = free_port();
    folder.write(
        "gateway.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n[routes.inbound]\n{}\
             [[routes]]\npath = \"/signed\"\nbackend = \"http://{backend}/echo\"\n[routes.inbound]\n{}",
            service(CLIENT, "server", "server"),
            service_with("sign", CLIENT, "server", "server")
        ),
    );
    Endpoint::client("sign-encrypt", SUITE).write(&folder, "echo.toml");
    Endpoint::client("sign", SUITE).write(&folder, "signed.toml");
    folder.write("plain.xml", envelope(SOAP11));
    let call_of = |route: &str| {
        folder
            .run(&format!(
                "secure --config {route}.toml plain.xml -o request.xml"
            ))
            .succeeds();
        let request = folder.read("request.xml");
        let answer = post(&format!("http://127.0.0.1:{port}/{route}"), &request);
        answer.lines().next().unwrap_or_default().to_owned()
    };
    let call = || call_of("echo");
    let mut start = command(&folder, "gateway --config gateway.toml");
    let _gateway = Server::start_command(start.stderr(Stdio::null()), "gateway at");
    assert!(call().starts_with("HTTP/1.1 200"));
    assert!(call_of("signed").starts_with("HTTP/1.1 200"));
    drop(token);
    assert!(call().starts_with("HTTP/1.1 503"));
    // The request is opened without the token, and its answer is not signed.
    assert!(call_of("signed").starts_with("HTTP/1.1 503"));
    let _token = TokenServer::start(&folder);
    // A module is started anew once in a second at most.
    loop {
        let answer = call();
        if answer.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Makes a certificate for this machine, whose key is in the token alone, and gives what a `tls`
/// table says of both.
fn shown(folder: &Folder, module: &str, kind: &str, id: &str) -> String {
    let authority = key("ca");
    folder
        .run(&format!(
            "keys new {kind} --kind {kind} --signed-by {authority} --san 127.0.0.1"
        ))
        .succeeds();
    let file = folder.path(&format!("{kind}.key.pem"));
    import(folder, file.to_str().expect("text"), kind, id);
    std::fs::remove_file(file).expect("it is there");
    format!(
        "certificate = \"{kind}.cert.pem\", pkcs11 = {{ module = \"{module}\", token = \"gateway\", key = \"{kind}\", pin_env = \"TOKEN_PIN\" }}"
    )
}

/// What openssl says of a handshake in which it shows a certificate of its own.
fn shake_hands(port: u16, version: &str) -> (bool, String) {
    let address = format!("127.0.0.1:{port}");
    let output = Command::new("openssl")
        .args(["s_client", "-brief", "-verify_return_error", version])
        .args(["-connect", &address, "-CAfile", &key("ca.cert.pem")])
        .args(["-cert", &key("client.cert.pem")])
        .args(["-key", &key("client.key.pem")])
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

#[test]
fn handshakes_of_tls_are_signed_in_a_token_at_both_ends() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    let (backend, authority) = (backend(), key("ca.cert.pem"));
    for (kind, id) in [
        ("rsa-2048", "02"),
        ("ec-p256", "03"),
        ("ec-p384", "04"),
        ("ed25519", "05"),
    ] {
        let shown = shown(&folder, MODULE, kind, id);
        let (port, hop) = (free_port(), free_port());
        folder.write(
            "gateway.toml",
            format!(
                "listen = \"127.0.0.1:{port}\"\ntls = {{ {shown}, client_ca = [\"{authority}\"] }}\n\
                 [[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n"
            ),
        );
        folder.write(
            "hop.toml",
            format!(
                "listen = \"127.0.0.1:{hop}\"\n[[routes]]\npath = \"/echo\"\n\
                 backend = \"https://127.0.0.1:{port}/echo\"\ntls = {{ ca = [\"{authority}\"], {shown} }}\n"
            ),
        );
        let start = |file: &str| {
            let mut start = command(&folder, &format!("gateway --config {file}"));
            Server::start_command(start.stderr(Stdio::null()), "gateway at")
        };
        let _running = [start("gateway.toml"), start("hop.toml")];
        let answer = post(&format!("http://127.0.0.1:{hop}/echo"), &envelope(SOAP11));
        assert!(answer.starts_with("HTTP/1.1 200"), "{kind}: {answer}");
        for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
            let (made, said) = shake_hands(port, version);
            assert!(made && said.contains("Verification: OK"), "{kind}: {said}");
            assert!(said.contains(name), "{kind}: {said}");
        }
    }
}

#[test]
fn without_its_token_a_gateway_makes_no_handshake_until_the_token_is_back() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    let shown = shown(&folder, CLIENT, "ec-p256", "02");
    let token = TokenServer::start(&folder);
    let (backend, port) = (backend(), free_port());
    folder.write(
        "gateway.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\ntls = {{ {shown} }}\n\
             [[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n"
        ),
    );
    let mut start = command(&folder, "gateway --config gateway.toml");
    let _gateway = Server::start_command(start.stderr(Stdio::null()), "gateway at");
    let (made, said) = shake_hands(port, "-tls1_3");
    assert!(made, "{said}");
    drop(token);
    let (made, said) = shake_hands(port, "-tls1_3");
    assert!(!made, "{said}");
    let _token = TokenServer::start(&folder);
    // A module is started anew once in a second at most.
    while !shake_hands(port, "-tls1_3").0 {
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_is_wrong_with_a_key_of_tls_in_a_token_is_told_with_its_place() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    let shown = shown(&folder, MODULE, "rsa-2048", "02");
    let told = |tls: &str| {
        folder.write(
            "gateway.toml",
            format!("listen = \"127.0.0.1:0\"\ntls = {{ {tls} }}\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:1/\"\n"),
        );
        let ended = command(&folder, "gateway --config gateway.toml --check").output();
        let ended = ended.expect("the program runs");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!said.contains(PIN), "{said}");
        (ended.status.code(), said)
    };
    assert_eq!(told(&shown).0, Some(0));
    let absent = shown.replace("key = \"rsa-2048\"", "key = \"absent\"");
    let other = shown.replace("rsa-2048.cert.pem", &key("stranger.cert.pem"));
    let both = format!("{shown}, key = \"{}\"", key("server.key.pem"));
    for (tls, expected) in [
        (absent, "the token has no such private key"),
        (other, "the private key does not belong to the certificate"),
        (both, "both `key` and `pkcs11` are given"),
    ] {
        let (status, said) = told(&tls);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("gateway.toml:2:"), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    // TLS 1.3 has no signatures of that curve (RFC 8446, 4.2.3).
    let brainpool = self::shown(&folder, MODULE, "ec-brainpool-p256", "03");
    let (status, said) = told(&brainpool);
    assert_eq!(status, Some(1), "{said}");
    let expected = "the key in the token signs no handshake of TLS 1.3: a handshake of TLS cannot be done with this key: found EC on brainpoolP256r1";
    assert!(said.contains(expected), "{said}");
}

/// RFC 8032: no digest is made outside of the token.
#[test]
fn messages_are_signed_with_an_ed25519_key_in_a_token() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    shown(&folder, MODULE, "ed25519", "02");
    let algorithms = "algorithms = { signature = [\"ed25519\"] }";
    let file = |keys: &str| {
        let authority = key("ca.cert.pem");
        format!(
            "{keys}\ntrust = {{ anchors = [\"{authority}\"] }}\nsecurity = {{ mechanism = \"sign\", {algorithms} }}\n"
        )
    };
    let pkcs11 = format!(
        "{{ module = \"{MODULE}\", token = \"gateway\", key = \"ed25519\", pin_env = \"TOKEN_PIN\" }}"
    );
    let identity =
        format!("identity = {{ pkcs11 = {pkcs11}, certificate = \"ed25519.cert.pem\" }}");
    folder.write("sender.toml", file(&identity));
    folder.write("receiver.toml", file(""));
    folder.write("plain.xml", envelope(SOAP11));
    let secured = command(
        &folder,
        "secure --config sender.toml plain.xml -o signed.xml",
    )
    .output();
    let secured = secured.expect("the program runs");
    assert!(secured.status.success(), "{secured:?}");
    assert!(folder.read("signed.xml").contains("#eddsa-ed25519\""));
    folder
        .run("open --config receiver.toml signed.xml")
        .succeeds();
}

/// TLS 1.3 has RSA-PSS alone (RFC 8446, 4.2.3), and a gateway cannot know what its peers have.
#[test]
fn a_token_without_rsa_pss_is_no_token_of_tls() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    let rsa = shown(&folder, MODULE, "rsa-2048", "02");
    let ec = shown(&folder, MODULE, "ec-p256", "03");
    let settings = folder.read("softhsm2.conf");
    let mechanisms = "slots.mechanisms = CKM_RSA_PKCS,CKM_RSA_PKCS_OAEP,CKM_ECDSA\n";
    folder.write("softhsm2.conf", settings + mechanisms);
    let checked = |tls: &str| {
        folder.write(
            "gateway.toml",
            format!("listen = \"127.0.0.1:0\"\ntls = {{ {tls} }}\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:1/\"\n"),
        );
        let ended = command(&folder, "gateway --config gateway.toml --check").output();
        let ended = ended.expect("the program runs");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code(), said)
    };
    let (status, said) = checked(&rsa);
    assert_eq!(status, Some(1), "{said}");
    for expected in [
        "gateway.toml:2:",
        "the key in the token signs no handshake of TLS 1.3: ",
        "the token cannot do rsa-pss-sha256 signatures",
        "a token with an RSA key needs RSA-PSS (CKM_RSA_PKCS_PSS)",
    ] {
        assert!(said.contains(expected), "expected {expected}\nfound {said}");
    }
    // Messages are signed with PKCS #1 v1.5, and keys on a curve need no RSA.
    folder.write(
        "server.toml",
        service_with("sign", MODULE, "server", "server"),
    );
    folder.write("plain.xml", envelope(SOAP11));
    let signed = command(&folder, "secure --config server.toml plain.xml").output();
    let signed = signed.expect("the program runs");
    assert!(signed.status.success(), "{signed:?}");
    assert_eq!(checked(&ec).0, Some(0));
}

#[test]
fn a_shared_store_is_shown_a_certificate_whose_key_is_in_a_token() {
    let Some(folder) = folder_with_token() else {
        return;
    };
    let authority = key("ca.cert.pem");
    folder
        .run(&format!(
            "keys new redis --signed-by {} --san 127.0.0.1",
            key("ca")
        ))
        .succeeds();
    let port = free_port();
    let file = |name: &str| folder.path(name).display().to_string();
    let options = [
        ["--port", "0"],
        ["--tls-port", &port.to_string()],
        ["--tls-cert-file", &file("redis.cert.pem")],
        ["--tls-key-file", &file("redis.key.pem")],
        ["--tls-ca-cert-file", &authority],
    ];
    let _server = Redis::start(port, options.as_flattened());
    let checked = |tls: &str| {
        folder.write(
            "gateway.toml",
            format!(
                "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9/\"\n\
                 [routes.inbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
                 store = {{ url = \"rediss://127.0.0.1:{port}\", timeout = \"30s\", tls = {{ ca = [\"{authority}\"]{tls} }} }}\n\
                 security = {{ mechanism = \"username\", replay = {{ store = \"redis\" }} }}\n"
            ),
        );
        let ended = command(&folder, "gateway --config gateway.toml --check --store").output();
        let ended = ended.expect("the program runs");
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!said.contains(PIN), "{said}");
        (ended.status.code(), said)
    };
    for (kind, id) in [("rsa-2048", "02"), ("ec-p256", "03"), ("ed25519", "04")] {
        let shown = shown(&folder, MODULE, kind, id);
        let (status, said) = checked(&format!(", {shown}"));
        assert_eq!(status, Some(0), "{kind}: {said}");
        assert!(said.contains("store: no problem found"), "{kind}: {said}");
        let absent = shown.replace(&format!("key = \"{kind}\""), "key = \"absent\"");
        let (status, said) = checked(&format!(", {absent}"));
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("the token has no such private key"), "{said}");
    }
    // The server wants a certificate.
    let (status, said) = checked("");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("CertificateRequired"), "{said}");
}
