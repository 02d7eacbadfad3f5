//! Endpoint files that allow short cipher text without its key signed.

use soapstone::config::{EndpointConfig, Problems};
use soapstone::wss::Rejected;
use soapstone::{Client, ForgetfulReplayCache, Memory, Opener, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{SOAP11, with_header};
use soapstone_testkit::keys::RSA;

const KEYS: &str = "identity = { key = \"both.key.pem\", certificate = \"both.cert.pem\" }\n\
    peer = { certificate = \"both.cert.pem\" }\ntrust = { pinned = [\"both.cert.pem\"] }\n";
const CBC: &str = "mechanism = \"encrypt-sign\"\nsuite = \"Basic256\"\n";
const ALLOW: &str = "allow_short_cipher_text = true\n";
const UNSIGNED: &str = "encryption = { sign_session_key = false }\n";

fn config(folder: &Folder, security: &str) -> Result<EndpointConfig, Problems> {
    let text = format!("{KEYS}[security]\n{security}");
    EndpointConfig::from_text(&text, &folder.path("endpoint.toml"), &|_| None)
}

fn risks(folder: &Folder, security: &str) -> Vec<&'static str> {
    let config = config(folder, security).expect("it is read");
    let client = Client::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"));
    let risks = client.risks(&config, true);
    risks.into_iter().map(|risk| risk.name).collect()
}

fn problems(folder: &Folder, security: &str) -> String {
    let config = config(folder, security);
    let client = config.and_then(|config| Client::from_config(&config));
    client.err().map_or_else(String::new, |it| it.to_string())
}

#[test]
fn short_cipher_text_is_allowed_by_name_and_warned_of() {
    let folder = Folder::with_keys(RSA, &["both"]);
    assert!(!risks(&folder, CBC).contains(&"short-cipher-text"));
    for risk in [ALLOW, UNSIGNED] {
        let allowed = format!("{CBC}{risk}");
        // One whose end is past does nothing any more.
        for (end, warns) in [("", true), ("2099-01-01", false), ("2020-01-01", true)] {
            let until = format!("allow_weak_until = {{ short-cipher-text = \"{end}\" }}\n");
            let until = if end.is_empty() { "" } else { &until };
            let risks = risks(&folder, &format!("{allowed}{until}"));
            assert_eq!(risks.contains(&"short-cipher-text"), warns, "{risk}{end}");
        }
    }
    for needless in [
        "mechanism = \"encrypt-sign\"\nsuite = \"Basic256GCM\"\n",
        "mechanism = \"sign-encrypt\"\nsuite = \"Basic256\"\n",
    ] {
        for (risk, problem) in [
            (ALLOW, "`allow_short_cipher_text` is for cipher text in CBC"),
            (
                UNSIGNED,
                "`encryption.sign_session_key` is for cipher text in CBC",
            ),
        ] {
            let told = problems(&folder, &format!("{needless}{risk}"));
            assert!(told.contains(problem), "{told}");
        }
        assert_eq!(problems(&folder, needless), "");
    }
}

/// Two endpoints that allow nothing understand each other. One that allows it takes what was sent
/// before, and sends with the key signed, so that either side is updated first. Another key sends
/// as before.
#[test]
fn an_endpoint_takes_short_cipher_text_with_its_key_signed_or_by_its_file() {
    let folder = Folder::with_keys(RSA, &["both"]);
    let allowed = format!("{CBC}{ALLOW}");
    let opened = |sender: &str, receiver: &str| {
        let config_of = |security: &str| config(&folder, security).expect("it is read");
        let securer = Securer::from_config(&config_of(sender)).expect("a sender");
        let opener = Opener::from_config(&config_of(receiver)).expect("a receiver");
        let plain = with_header(SOAP11, "", "<a/>").into_bytes();
        let secured = securer.secure(plain).expect("it is secured");
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let verified = opener.verify(secured.bytes, memory)?;
        Ok::<bool, Rejected>(verified.evidence().weak.contains(&"short-cipher-text"))
    };
    assert!(!opened(CBC, CBC).expect("its key is signed"));
    assert!(!opened(CBC, &allowed).expect("its key is signed"));
    assert!(!opened(&allowed, CBC).expect("its key is signed"));
    let unsigned = format!("{CBC}{UNSIGNED}");
    assert!(opened(&unsigned, &allowed).expect("it is allowed"));
    let refused = opened(&unsigned, CBC).expect_err("nobody signed its key");
    let told = refused.to_string();
    assert!(
        told.contains("a signature over the `xenc:EncryptedKey`"),
        "{told}"
    );
}
