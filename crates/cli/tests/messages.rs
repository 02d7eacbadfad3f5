//! `soapstone secure` and `soapstone open`: whatever is secured opens to the same message.

mod common;
#[path = "common/endpoints.rs"]
mod endpoints;

use common::{Folder, SOAP11, SOAP12, envelope, key};
use endpoints::Endpoint;

const MECHANISMS: [&str; 6] = [
    "none",
    "username",
    "sign",
    "encrypt",
    "sign-encrypt",
    "encrypt-sign",
];

/// Secures and opens, and expects the same body.
#[track_caller]
fn round_trip(
    folder: &Folder,
    client: &Endpoint,
    server: &Endpoint,
    message: &str,
) -> serde_json::Value {
    client.write(folder, "client.toml");
    server.write(folder, "server.toml");
    folder.write("plain.xml", message);
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .succeeds();
    let verdict = folder
        .run("open --config server.toml secured.xml --json -o opened.xml")
        .succeeds()
        .json();
    assert_eq!(verdict["outcome"], "accepted");
    assert_eq!(verdict["mechanism"], client.mechanism);
    let body = |file: &str| {
        let part = "xml c14n --algorithm exc-c14n --subtree {urn:books}order";
        folder.run(&format!("{part} {file}")).succeeds().out
    };
    assert_eq!(
        body("opened.xml"),
        body("plain.xml"),
        "{}",
        client.mechanism
    );
    let secured = folder.read("secured.xml");
    if client.mechanism.contains("encrypt") {
        assert!(!secured.contains("tajné"), "{secured}");
    }
    if client.mechanism.contains("sign") {
        assert_eq!(
            verdict["signatures"][0]["signer"]["subject"],
            format!("CN={}", client.own),
            "{verdict}"
        );
    }
    verdict
}

#[test]
fn every_mechanism_opens_what_it_secured_in_both_versions_of_soap() {
    let folder = Folder::new();
    for mechanism in MECHANISMS {
        for soap in [SOAP11, SOAP12] {
            let (client, server) = (
                Endpoint::client(mechanism, ""),
                Endpoint::server(mechanism, ""),
            );
            round_trip(&folder, &client, &server, &envelope(soap));
        }
    }
}

#[test]
fn every_suite_signs_and_encrypts() {
    let folder = Folder::new();
    for suite in soapstone::wss::SUITE_NAMES {
        let security = format!("suite = \"{suite}\"");
        // Who signs, and whose key decrypts.
        let (signer, reader, found) = if suite.ends_with("EcdhEs") {
            ("p256", "p256", "ecdh-es concat-kdf")
        } else if suite.ends_with("X25519") {
            ("ed25519", "x25519", "x25519 hkdf")
        } else {
            ("client", "server", "")
        };
        for mechanism in ["sign-encrypt", "encrypt-sign"] {
            let client = Endpoint {
                own: signer,
                peer: reader,
                ..Endpoint::client(mechanism, &security)
            };
            let server = Endpoint {
                decryption: Some(reader),
                ..Endpoint::server(mechanism, &security)
            };
            let verdict = round_trip(&folder, &client, &server, &envelope(SOAP11));
            assert_eq!(verdict["suite"], suite);
            let key = &verdict["keys"][0];
            if found.is_empty() {
                assert!(key["transport"].as_str().is_some(), "{verdict}");
            } else {
                let text = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
                assert_eq!(
                    format!("{} {}", text("agreement"), text("derivation")),
                    found
                );
            }
        }
    }
}

#[test]
fn every_key_reference_leads_to_its_certificate() {
    let folder = Folder::new();
    for reference in ["direct", "ski", "thumbprint", "issuer-serial", "embedded"] {
        let security = format!("key_reference = \"{reference}\"");
        for mechanism in ["sign", "sign-encrypt"] {
            let mut server = Endpoint::server(mechanism, &security);
            server
                .trust
                .push_str(&format!("\npinned = [\"{}\"]", key("client.cert.pem")));
            round_trip(
                &folder,
                &Endpoint::client(mechanism, &security),
                &server,
                &envelope(SOAP11),
            );
        }
    }
}

#[test]
fn elliptic_curves_sign() {
    let folder = Folder::new();
    for (name, algorithm) in [
        ("p256", "ecdsa-sha256"),
        ("p384", "ecdsa-sha384"),
        ("p521", "ecdsa-sha512"),
        ("ed25519", "ed25519"),
    ] {
        let security = format!(
            "algorithms = {{ signature = [\"{algorithm}\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }}"
        );
        let mut client = Endpoint::client("sign", &security);
        client.own = name;
        client.write(&folder, "client.toml");
        Endpoint::server("sign", &security).write(&folder, "server.toml");
        folder.write("plain.xml", envelope(SOAP11));
        folder
            .run("secure -c client.toml plain.xml -o secured.xml")
            .succeeds();
        let verdict = folder
            .run("open -c server.toml secured.xml --json")
            .succeeds()
            .json();
        assert_eq!(verdict["signatures"][0]["algorithm"], algorithm);
        assert_eq!(
            verdict["signatures"][0]["signer"]["subject"],
            format!("CN={name}")
        );
    }
}

#[test]
fn the_verdict_tells_what_was_signed_and_encrypted_and_by_whom() {
    let folder = Folder::new();
    let to = "{http://www.w3.org/2005/08/addressing}To";
    let security = format!("signed = [\"Body\", \"Timestamp\", \"{to}\"]");
    let (client, server) = (
        Endpoint::client("sign-encrypt", &security),
        Endpoint::server("sign-encrypt", &security),
    );
    let verdict = round_trip(&folder, &client, &server, &envelope(SOAP11));
    let signature = &verdict["signatures"][0];
    assert_eq!(signature["algorithm"], "rsa-sha256");
    assert_eq!(signature["signer"]["kind"], "certificate");
    assert_eq!(signature["signer"]["issuer"], "CN=CA,O=Tests");
    let parts: Vec<&str> = signature["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.as_str().unwrap())
        .collect();
    let body = format!("{{{SOAP11}}}Body");
    let timestamp = "{http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd}Timestamp";
    for part in [body.as_str(), timestamp, to] {
        assert!(parts.contains(&part), "{part} is not in {parts:?}");
    }
    let encrypted = &verdict["encrypted"][0];
    assert_eq!(
        (&encrypted["part"], &encrypted["extent"]),
        (&body.into(), &"content".into())
    );
    assert_eq!(encrypted["algorithm"], "aes256-gcm");
    assert!(
        verdict["timestamp"]["created"].is_string() && verdict["timestamp"]["expires"].is_string()
    );
    assert_eq!(verdict["dropped"].as_array().unwrap().len(), 0);
}

#[test]
fn headers_that_nobody_signed_are_dropped_and_weak_algorithms_are_told() {
    let folder = Folder::new();
    let security = "suite = \"Basic256\"";
    let (client, server) = (
        Endpoint::client("sign", security),
        Endpoint::server("sign", security),
    );
    let verdict = round_trip(&folder, &client, &server, &envelope(SOAP11));
    assert_eq!(
        verdict["dropped"][0],
        "{http://www.w3.org/2005/08/addressing}To"
    );
    assert!(!folder.read("opened.xml").contains("urn:books</a:To>"));
    assert!(
        verdict["weak"]
            .as_array()
            .unwrap()
            .contains(&"rsa-sha1".into()),
        "{verdict}"
    );
}

#[test]
fn a_user_is_told_by_name() {
    let folder = Folder::new();
    for form in ["digest", "text"] {
        let security = format!("password = \"{form}\"");
        let (client, server) = (
            Endpoint::client("username", &security),
            Endpoint::server("username", &security),
        );
        let verdict = round_trip(&folder, &client, &server, &envelope(SOAP11));
        assert_eq!(verdict["user"], "alice");
    }
}

#[test]
fn a_message_travels_from_standard_input_to_standard_output() {
    let folder = Folder::new();
    Endpoint::client("sign-encrypt", "").write(&folder, "client.toml");
    Endpoint::server("sign-encrypt", "").write(&folder, "server.toml");
    let secured = folder
        .run_words(
            &["secure", "--config", "client.toml"],
            envelope(SOAP12).as_bytes(),
        )
        .succeeds();
    let opened = folder
        .run_words(&["open", "--config", "server.toml", "-"], &secured.out)
        .succeeds();
    assert!(
        opened.text().contains("Přísně tajné &amp; levné"),
        "{}",
        opened.text()
    );
    assert!(!opened.text().contains("Security"), "{}", opened.text());
}

#[test]
fn keys_and_certificates_in_der_are_read_like_those_in_pem() {
    let folder = Folder::new();
    let openssl = |words: &str| {
        let run = std::process::Command::new("openssl")
            .args(words.split(' '))
            .current_dir(folder.path(""))
            .status();
        assert!(run.expect("building needs openssl").success(), "{words}");
    };
    openssl(&format!(
        "pkcs8 -topk8 -nocrypt -in {} -outform DER -out own.key.der",
        key("client.key.pem")
    ));
    openssl(&format!(
        "x509 -in {} -outform DER -out own.cert.der",
        key("client.cert.pem")
    ));
    let client = Endpoint::client("sign-encrypt", "").text();
    let client = client
        .replace(&key("client.key.pem"), "own.key.der")
        .replace(&key("client.cert.pem"), "own.cert.der");
    assert!(client.contains("own.key.der") && client.contains("own.cert.der"));
    folder.write("client.toml", client);
    Endpoint::server("sign-encrypt", "").write(&folder, "server.toml");
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .succeeds();
    folder
        .run("open --config server.toml secured.xml -o opened.xml")
        .succeeds();
}

/// Where there is no HTTP, what it says cannot be compared.
#[test]
fn a_demand_on_http_is_said_to_be_passed_over_for_a_single_message() {
    let folder = Folder::new();
    folder.write("plain.xml", envelope(SOAP11));
    let users = "[[users]]\nname = \"alice\"\npassword_env = \"ALICE_PASSWORD\"\n[security]\nmechanism = \"username\"\n";
    folder.write("client.toml", users);
    let demand = format!("{users}addressing = {{ soap_action = true, to = [\"urn:books\"] }}\n");
    folder.write("server.toml", &demand);
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .succeeds();
    let opened = folder
        .run("open --config server.toml secured.xml")
        .succeeds();
    assert!(
        opened.err.starts_with("note: `soap_action` compares"),
        "{}",
        opened.err
    );
    folder.write("server.toml", demand.replace("urn:books", "urn:accounts"));
    folder
        .run("open --config server.toml secured.xml")
        .refuses_somehow();
}

#[test]
fn what_is_no_xml_is_told_as_what_it_is() {
    let folder = Folder::new();
    folder.write("server.toml", "[security]\nmechanism = \"none\"\n");
    for (message, found) in [
        ("", "nothing: the message is empty"),
        ("{\"a\": 1}", "JSON"),
        ("<!doctype html><p>", "an HTML page"),
    ] {
        folder.write("message", message);
        let refused = folder
            .run("open --config server.toml message")
            .refuses("not-an-envelope");
        let expected = format!("expected a SOAP envelope, found {found}");
        assert!(refused.err.contains(&expected), "{}", refused.err);
    }
}

/// The policy of this profile asks for addressing headers.
#[test]
fn a_message_whose_address_nobody_says_has_a_remedy() {
    let folder = Folder::new();
    let config = |more: &str| {
        let (private, public) = (key("client.key.pem"), key("client.cert.pem"));
        format!(
            "identity = {{ key = \"{private}\", certificate = \"{public}\" }}\n[security]\nprofile = \"dian\"\n{more}"
        )
    };
    let to = "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:books</a:To>";
    folder.write("plain.xml", envelope(SOAP12).replace(to, ""));
    folder.write("client.toml", config(""));
    let secure = "secure --config client.toml plain.xml -o secured.xml";
    folder
        .run(secure)
        .fails("hint: say where messages go: addressing = { to = [\"https://…\"] } in [security]");
    let told = "addressing = { to = [\"https://books.example/\"] }\n";
    folder.write("client.toml", config(told));
    folder.run(secure).succeeds();
}
