//! The outcome that is expected of the files of each case.

use std::fs;
use std::path::Path;

use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::{ForgetfulReplayCache, Memory, OpenedMessage, Opener, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::keys::RSA;

/// The files of a case.
pub(crate) struct Files<'a>(pub(crate) &'a Path);

impl Files<'_> {
    fn text(&self, name: &str) -> String {
        let path = self.0.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// An endpoint of a file's text with more keys in its last table, which is `[security]`.
    fn endpoint<P: Fixed>(&self, text: &str, more: &str) -> Result<Endpoint<P>, Problems> {
        let text = format!("{text}\n{more}\n");
        let file = self.0.join("endpoint.toml");
        let config = EndpointConfig::from_text(&text, &file, &|_| None);
        config.and_then(|config| Endpoint::from_config(&config))
    }

    fn made<P: Fixed>(&self, text: &str, more: &str) -> Endpoint<P> {
        let made = self.endpoint(text, more);
        made.unwrap_or_else(|problems| panic!("{}: {more}\n{problems}", self.0.display()))
    }

    fn opened(&self, file: &str, more: &str, message: &str) -> Result<OpenedMessage, &'static str> {
        self.read(file, more, self.text(message))
    }

    fn read(&self, file: &str, more: &str, text: String) -> Result<OpenedMessage, &'static str> {
        let opener: Opener = self.made(&self.text(file), more);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = opener.open(text.into_bytes(), memory);
        opened.map_err(|rejected| rejected.name())
    }

    /// What an endpoint with more keys says of a message.
    fn verdict(&self, file: &str, more: &str, message: &str) -> &'static str {
        self.opened(file, more, message)
            .map_or_else(|refused| refused, |_| "accepted")
    }

    fn secured(&self, text: &str, more: &str, message: &str) -> String {
        let securer: Securer = self.made(text, more);
        let secured = securer.secure(self.text(message).into_bytes());
        String::from_utf8(secured.expect("it is secured").bytes).expect("text")
    }
}

pub(crate) fn node_soap(files: &Files<'_>) {
    let refused = files.verdict("open.toml", "", "message.xml");
    assert_eq!(refused, "reference-not-found");
    let opened = files.opened("open.toml", "ids = [\"Id\"]", "message.xml");
    assert!(opened.is_ok(), "{opened:?}");
}

pub(crate) fn ids_without_namespace(files: &Files<'_>) {
    let ids = "ids = [\"Id\", \"ID\"]";
    for (message, expected) in [
        ("body-Id.xml", "accepted"),
        ("body-ID.xml", "accepted"),
        ("must-be-refused.xml", "duplicate-id"),
    ] {
        assert_eq!(files.verdict("open.toml", ids, message), expected);
        assert_ne!(files.verdict("open.toml", "", message), "accepted");
    }
}

pub(crate) fn enveloped(files: &Files<'_>) {
    assert_eq!(files.verdict("open.toml", "", "message.xml"), "accepted");
    let changed = files
        .text("message.xml")
        .replace("</soap:Body>", " </soap:Body>");
    assert!(files.read("open.toml", "", changed).is_err());
}

pub(crate) fn text_without_nonce(files: &Files<'_>) {
    let bare = "username_token = { nonce = false, created = false }";
    let secured = files.secured(&files.text("user.toml"), bare, "request.xml");
    assert!(secured.contains("<wsse:Username>alice<"), "{secured}");
    let by_policy = "users = [{ name = \"alice\", password = \"secret\" }]\n[security]\npolicy = \"p-ut-only.xml\"";
    let under_policy = files.secured(by_policy, "", "request.xml");
    for secured in [secured, under_policy] {
        assert!(!secured.contains("Nonce"), "{secured}");
        assert!(!secured.contains("Created"), "{secured}");
    }
}

pub(crate) fn old_tokens(files: &Files<'_>) {
    for (file, message, accepting, refused) in [
        ("text.toml", "ut-2002.xml", "2002/07", "security-of-draft"),
        (
            "text.toml",
            "ut-qname-text.xml",
            "qualified-types",
            "password-kind-not-allowed",
        ),
        (
            "digest.toml",
            "ut-qname-digest.xml",
            "qualified-types",
            "password-kind-not-allowed",
        ),
    ] {
        assert_eq!(files.verdict(file, "", message), refused, "{message}");
        let more = format!("username_token = {{ accept = [\"{accepting}\"] }}");
        assert_eq!(files.verdict(file, &more, message), "accepted", "{message}");
    }
}

/// Each of these messages is refused: whichever mistake its sender made.
pub(crate) fn mismatches(files: &Files<'_>) {
    let names = fs::read_dir(files.0).expect("the case");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let messages = names.filter(|name| name.to_string_lossy().ends_with(".xml"));
    let mut count = 0;
    for message in messages {
        let message = message.to_string_lossy();
        let verdict = files.verdict("open.toml", "", &message);
        let known = ["digest-mismatch", "signature-mismatch"].contains(&verdict);
        assert!(known, "{message}: {verdict}");
        count += 1;
    }
    assert_eq!(count, 11);
}

pub(crate) fn str_transforms(files: &Files<'_>) {
    for message in ["issuer-serial.xml", "ski.xml", "embedded-x509.xml"] {
        assert_eq!(
            files.verdict("open.toml", "", message),
            "accepted",
            "{message}"
        );
    }
}

pub(crate) fn quoted_issuer(files: &Files<'_>) {
    let quoted = "encryption = { key_reference = \"issuer-serial-quoted\" }";
    let secured = files.secured(&files.text("encrypt.toml"), quoted, "request.xml");
    assert!(
        secured.contains("O=\"Acme Trust, Inc.\"") || secured.contains("O=&quot;Acme Trust, Inc."),
        "{secured}"
    );
    let usual = files.secured(&files.text("encrypt.toml"), "", "request.xml");
    assert!(usual.contains("O=Acme Trust\\, Inc."), "{usual}");
}

pub(crate) fn demanded_headers(files: &Files<'_>) {
    // What the policy wants is written: wsa:To with the address of the description.
    let secured = files.secured(&files.text("tax.toml"), "", "request.xml");
    for expected in [
        ">https://127.0.0.1:28443/Tax.svc</wsa:To>",
        "</wsa:Action>",
        "</wsa:MessageID>",
    ] {
        assert!(secured.contains(expected), "{expected}\n{secured}");
    }
    // Without a word of it, nothing is left out in silence.
    let by_mechanism = "[identity]\nkey = \"../keys/client.key.pem\"\ncertificate = \"../keys/client.cert.pem\"\n\
        [security]\nmechanism = \"sign\"\nsigned = [\"Body\", \"{http://www.w3.org/2005/08/addressing}MessageID\"]";
    let securer: Securer = files.made(by_mechanism, "");
    let refused = securer.secure(files.text("request.xml").into_bytes());
    assert!(refused.is_err(), "{refused:?}");
}

pub(crate) fn foreign_assertions(files: &Files<'_>) {
    let folder = Folder::with_keys(RSA, &["client", "service"]);
    let file = |policy: &str| {
        let [key, own, peer, ca] = ["client.key", "client.cert", "service.cert", "ca.cert"]
            .map(|name| folder.path(format!("{name}.pem")).display().to_string());
        format!(
            "identity = {{ key = \"{key}\", certificate = \"{own}\" }}\npeer = {{ certificate = \"{peer}\" }}\n\
             trust = {{ anchors = [\"{ca}\"] }}\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
             [security]\npolicy = \"{policy}\""
        )
    };
    let carbon =
        "ignore_assertions = [\"{http://www.wso2.org/products/carbon/security}CarbonSecConfig\"]";
    for (policy, more) in [
        ("http-basic.xml", ""),
        ("mtom.xml", ""),
        ("wso2.xml", carbon),
    ] {
        let made: Result<Securer, _> = files.endpoint(&file(policy), more);
        made.map(drop)
            .unwrap_or_else(|problems| panic!("{policy}: {problems}"));
    }
    let refused: Result<Securer, _> = files.endpoint(&file("wso2.xml"), "");
    let refused = refused.expect_err("a problem").to_string();
    assert!(refused.contains("CarbonSecConfig"), "{refused}");
}

pub(crate) fn chain(files: &Files<'_>) {
    let send = files.text("send.toml");
    let leaf_alone = files.secured(&send, "", "plain.xml");
    let refused = files.read("receive.toml", "", leaf_alone).map(drop);
    assert_eq!(refused, Err("untrusted"));
    let path = files.secured(&send, "key_reference = \"pki-path\"", "plain.xml");
    assert!(path.contains("#X509PKIPathv1"), "{path}");
    let accepted = files.read("receive.toml", "", path).map(drop);
    assert_eq!(accepted, Ok(()));
}

pub(crate) fn bdew(files: &Files<'_>) {
    let send = files.text("send.toml");
    let rest: Vec<&str> = send
        .lines()
        .filter(|line| !line.starts_with("key_reference"))
        .collect();
    let apart = "signature = { key_reference = \"pki-path\" }\n\
                 encryption = { key_reference = \"x509-ski\", derivation_info = \"\" }";
    let secured = files.secured(&rest.join("\n"), apart, "plain.xml");
    for expected in [
        "#X509PKIPathv1\"",
        "<xenc:RecipientKeyInfo><ds:X509Data><ds:X509SKI>",
        "AlgorithmID=\"\" PartyUInfo=\"\" PartyVInfo=\"\"",
    ] {
        assert!(secured.contains(expected), "{expected}\n{secured}");
    }
}

/// What the last line of these files says in words.
fn accepting(confirmation: &str) -> String {
    format!(
        "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"{confirmation}\"]\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"server.cert.pem\"] }}]"
    )
}

/// TLS protects the message, which has no signature of its own.
pub(crate) fn bearer(files: &Files<'_>) {
    let text = files.text("receive.toml");
    let unsigned = text.replace("mechanism = \"sign\"", "mechanism = \"none\"");
    let opener: Opener = files.made(&unsigned, &accepting("bearer"));
    assert!(opener.needs_tls());
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = opener.open(files.text("saml-bearer.xml").into_bytes(), memory);
    assert!(opened.is_ok(), "{opened:?}");
    let signed = accepting("bearer");
    let refused = files.verdict("receive.toml", &signed, "saml-bearer.xml");
    assert_ne!(refused, "accepted");
}

pub(crate) fn holder_of_key(files: &Files<'_>) {
    let more = accepting("holder-of-key");
    let verdict = files.verdict("receive.toml", &more, "saml-hok.xml");
    assert_eq!(verdict, "accepted");
    // By its own algorithm as well: the key of the thief is not the one in the assertion.
    let text = files.text("receive.toml")
        + "algorithms = { signature = [\"rsa-sha256\", \"ecdsa-sha256\"], digest = [\"sha256\"], \
           canonicalization = [\"exc-c14n\"] }";
    let opener: Opener = files.made(&text, &more);
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = opener.open(files.text("saml-hok-stolen.xml").into_bytes(), memory);
    let refused = refused.map(drop).map_err(|rejected| rejected.name());
    assert_eq!(refused, Err("key-misused"));
}

pub(crate) fn sender_vouches(files: &Files<'_>) {
    let by = |attester: &str| {
        let more = accepting("sender-vouches") + &format!("\nattesters = [\"{attester}\"]");
        files.verdict("receive.toml", &more, "saml-sv.xml")
    };
    assert_eq!(by("CN=client"), "accepted");
    assert_ne!(by("CN=nobody"), "accepted");
}

pub(crate) fn slow_clock(files: &Files<'_>) {
    let message = files.text("user-slow-clock.xml");
    let file = files.text("receive.toml");
    let lenient = file.replace("skew = \"2h\"", "required = false, skew = \"2h\"");
    let strict = file.replace("{ skew = \"2h\" }", "false");
    for (text, expected) in [
        (lenient, Ok(())),
        (strict, Err("timestamp-expired")),
        (file, Err("timestamp-missing")),
    ] {
        let opener: Opener = files.made(&text, "");
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = opener.open(message.clone().into_bytes(), memory);
        let found = opened.map(drop).map_err(|rejected| rejected.name());
        assert_eq!(found, expected, "{text}");
    }
}

pub(crate) fn clock_of_a_peer(files: &Files<'_>) {
    let send = files.text("send.toml");
    let secured = files.secured(&send, "clock = { offset = \"-1h\" }", "plain.xml");
    let (_, created) = secured.split_once("<wsu:Created>").expect("a time");
    let (created, _) = created.split_once('<').expect("its end");
    let created: jiff::Timestamp = created.parse().expect("a time");
    let behind = jiff::Timestamp::now().duration_since(created).as_secs();
    assert!((3600..3900).contains(&behind), "{behind} s");
}

pub(crate) fn raw_certificate(files: &Files<'_>) {
    let secured = files.secured(&files.text("send.toml"), "", "plain.xml");
    let expected = "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>";
    assert!(secured.contains(expected), "{secured}");
    assert!(!secured.contains("BinarySecurityToken"), "{secured}");
}

pub(crate) fn several_suites(files: &Files<'_>) {
    let folder = Folder::with_keys(RSA, &["client"]);
    let [key, own, ca] = ["client.key", "client.cert", "ca.cert"]
        .map(|name| folder.path(format!("{name}.pem")).display().to_string());
    let text = format!(
        "identity = {{ key = \"{key}\", certificate = \"{own}\" }}\ntrust = {{ anchors = [\"{ca}\"] }}\n\
         [security]\npolicy = \"service.wsdl\""
    );
    let securer: Securer = files.made(&text, "sha256_suites = \"letter\"");
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let secured = securer.secure(plain).expect("it is secured");
    let secured = String::from_utf8(secured.bytes).expect("text");
    assert!(secured.contains("xmldsig#rsa-sha1\""), "{secured}");
}

pub(crate) fn named_token(files: &Files<'_>) {
    assert_eq!(
        files.verdict("receive.toml", "", "thumbprint.xml"),
        "accepted"
    );
    // The token in the message is found, and trusted as any other.
    let pinned = "subjects = [\"CN=nobody\"]\n[security]";
    let text = files.text("receive.toml").replace("[security]", pinned);
    let opener: Opener = files.made(&text, "");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = opener.open(files.text("thumbprint.xml").into_bytes(), memory);
    let refused = refused.map(drop).map_err(|rejected| rejected.name());
    assert_eq!(refused, Err("subject-not-allowed"));
}

pub(crate) fn business_header(files: &Files<'_>) {
    const ROUTING: &str = "{urn:example:app}Routing";
    let strict = files.opened("receive.toml", "", "message.xml");
    let strict = strict.expect("it is accepted");
    assert_eq!(strict.evidence.dropped, [ROUTING]);
    assert!(!String::from_utf8_lossy(&strict.bytes).contains("Routing"));
    let more = format!("unsigned = [\"{ROUTING}\"]");
    let named = files.opened("receive.toml", &more, "message.xml");
    let named = named.expect("it is accepted");
    assert_eq!(named.evidence.unproven, [ROUTING]);
    assert!(String::from_utf8_lossy(&named.bytes).contains("Routing"));
}
