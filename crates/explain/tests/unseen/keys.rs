//! One mistake each in what signs: values, shared and derived keys, assertions, session keys,
//! password digests.

use soapstone::crypto::{
    DigestAlgorithm, PHash, SignatureAlgorithm, SymmetricKey, base64, digest, hexadecimal,
};
use soapstone::xml::Canonicalization;
use soapstone::xmlsec::enc::{EncryptedKey, OpeningKey};
use soapstone_explain::Known;

use crate::cases::{Cases, SECRET, Sender, inclusive, lines, of_soap12, rich};
use crate::support::{
    self, PLAIN, Signer, as_it_is, certificate, document, form, known, private_key, replaced_value,
    secured, signed_anew, value, with_value,
};

fn decoded(message: &str) -> Vec<u8> {
    base64::decode_xml_to_vec(value(message).as_bytes()).expect("base64")
}

/// An RSA message whose value begins with a zero.
fn with_zero() -> String {
    for number in 0..4000 {
        let plain = rich().replace("deep", &format!("deep {number}"));
        let message = secured("client", support::RSA, &plain);
        if decoded(&message)[0] == 0 {
            return message;
        }
    }
    panic!("no value begins with a zero");
}

fn der(value: &[u8]) -> Vec<u8> {
    let integer = |number: &[u8]| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let mut digits = number[zeros..].to_vec();
        if digits[0] >= 0x80 {
            digits.insert(0, 0);
        }
        let length = u8::try_from(digits.len()).expect("short");
        [&[0x02, length], digits.as_slice()].concat()
    };
    let (r, s) = value.split_at(value.len() / 2);
    let inside = [integer(r), integer(s)].concat();
    let length = u8::try_from(inside.len()).expect("short");
    [&[0x30, length], inside.as_slice()].concat()
}

pub(crate) fn values(cases: &mut Cases) {
    let message = support::signed();
    let bytes = decoded(&message);
    let mut add = |name, kinds, message: String| {
        cases.add(name, kinds, message, Known::default());
    };
    let kind = "signature-encoding";
    let again = |bytes: &[u8]| replaced_value(&message, &base64::encode(bytes));
    let zero = with_zero();
    let cut = base64::encode(&decoded(&zero)[1..]);
    add("a zero in front cut off", kind, replaced_value(&zero, &cut));
    add(
        "a zero in front",
        kind,
        again(&[&[0], bytes.as_slice()].concat()),
    );
    let spaced = value(&message).replace('+', " ");
    assert_ne!(spaced, value(&message));
    add(
        "plus signs read as spaces",
        kind,
        replaced_value(&message, &spaced),
    );
    let key = private_key("client");
    let by = |method, bytes: &[u8]| key.sign(method, bytes).expect("a signature");
    add(
        "SHA-384 under the name of SHA-256",
        "other-hash",
        with_value(
            &message,
            |it| by(SignatureAlgorithm::RsaSha384, it),
            &as_it_is,
        ),
    );
    let ec = |number: usize| Sender::new(number, &rich());
    let (p256, p384) = (ec(1).message, ec(4).message);
    let ec256 = decoded(&p256);
    add(
        "r and s in reverse",
        kind,
        replaced_value(
            &p256,
            &base64::encode(
                &ec256
                    .chunks(32)
                    .flat_map(|number| number.iter().rev().copied())
                    .collect::<Vec<u8>>(),
            ),
        ),
    );
    add(
        "P-384 in DER",
        kind,
        replaced_value(&p384, &base64::encode(&der(&decoded(&p384)))),
    );
    let url = base64::encode(&ec256).replace('+', "-").replace('/', "_");
    let url = url.trim_end_matches('=');
    add("ECDSA in base64url", kind, replaced_value(&p256, url));
    let p384_key = private_key("p384");
    add(
        "P-384 with SHA-256 under the name of SHA-384",
        "other-hash",
        with_value(
            &p384,
            |it| {
                p384_key
                    .sign(SignatureAlgorithm::EcdsaSha256, it)
                    .expect("a signature")
            },
            &as_it_is,
        ),
    );
    let mut with_peer = |name, kinds, message: String| {
        let known = Known {
            certificates: vec![("`peer`".to_owned(), certificate("p384"))],
            ..Known::default()
        };
        cases.add(name, kinds, message, known);
    };
    let p384_key = private_key("p384");
    with_peer(
        "ECDSA: a certificate that is not named",
        "other-certificate",
        with_value(
            &p256,
            |it| {
                p384_key
                    .sign(SignatureAlgorithm::EcdsaSha256, it)
                    .expect("a signature")
            },
            &as_it_is,
        ),
    );
}

pub(crate) fn shared(cases: &mut Cases) {
    let hashed = |algorithm| {
        let bytes = digest(algorithm, SECRET).expect("a digest");
        bytes.as_ref().to_vec()
    };
    let wide: Vec<u8> = std::str::from_utf8(SECRET)
        .expect("text")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let reversed: Vec<u8> = SECRET.iter().rev().copied().collect();
    let unpadded = base64::encode(SECRET).trim_end_matches('=').to_owned();
    for (name, kinds, key) in [
        ("HMAC: UTF-16", "key-as-text", wide),
        ("HMAC: the key cut", "key-cut", SECRET[..16].to_vec()),
        ("HMAC: the key in reverse", "key-as-text", reversed),
        (
            "HMAC: base64 without padding",
            "key-in-base64",
            unpadded.into_bytes(),
        ),
        (
            "HMAC: the MD5 of the key",
            "key-hashed",
            hashed(DigestAlgorithm::Md5),
        ),
        (
            "HMAC: the SHA-512 of the key",
            "key-hashed",
            hashed(DigestAlgorithm::Sha512),
        ),
        (
            "HMAC: a line end behind the key",
            "key-as-text",
            [SECRET, b"\n"].concat(),
        ),
        (
            "HMAC: hexadecimal in capitals",
            "key-in-hexadecimal",
            hexadecimal::encode(SECRET).to_uppercase().into_bytes(),
        ),
    ] {
        let sender = Sender::sharing(&of_soap12(&rich()));
        let key = SymmetricKey::new(key).expect("a key");
        let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
        let message = with_value(&sender.message, |bytes| signer.sign(bytes), &as_it_is);
        cases.add(name, kinds, message, sender.known());
    }
    let sender = Sender::sharing(&rich());
    let bytes = decoded(&sender.message);
    let cut = replaced_value(&sender.message, &base64::encode(&bytes[..12]));
    cases.add("HMAC cut to 96 bits", "hmac-truncated", cut, sender.known());
    let text = hexadecimal::encode(&bytes);
    let text = replaced_value(&sender.message, &text);
    cases.add(
        "HMAC in hexadecimal",
        "signature-encoding",
        text,
        sender.known(),
    );
}

/// The elements of a message that a session key and a derived key need, and the session key.
fn session() -> (String, Vec<u8>) {
    let good = secured(
        "client",
        "[security]\nmechanism = \"encrypt\"\nalgorithms = { key_transport = [\"rsa-oaep-mgf1p\"], data = [\"aes256-gcm\"] }",
        PLAIN,
    );
    let read = document(&good);
    let element = read
        .elements_named("http://www.w3.org/2001/04/xmlenc#", "EncryptedKey")
        .next()
        .expect("a session key");
    let key = EncryptedKey::parse(&read, element.id(), 16).expect("a session key");
    let secret = key
        .open(OpeningKey::Private(&private_key("server")), Some(32))
        .expect("a session key");
    let cipher = element
        .descendants()
        .find(|inside| inside.local() == "CipherValue")
        .expect("cipher text")
        .text()
        .into_owned();
    let key = format!(
        "<xenc:EncryptedKey xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" Id=\"EK\"><xenc:EncryptionMethod \
         Algorithm=\"http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p\"/><xenc:CipherData><xenc:CipherValue>{cipher}</xenc:CipherValue>\
         </xenc:CipherData></xenc:EncryptedKey>"
    );
    (key, secret.expose().to_vec())
}

const NONCES: [&str; 2] = ["AAECAwQFBgcICQoLDA0ODw==", "Dw4NDAsKCQgHBgUEAwIBAA=="];

fn derived_token(id: &str, nonce: &str) -> String {
    format!(
        "<wsc:DerivedKeyToken xmlns:wsc=\"http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512\" \
         xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" wsu:Id=\"{id}\">\
         <wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
         <wsse:Reference URI=\"#EK\"/></wsse:SecurityTokenReference><wsc:Offset>0</wsc:Offset><wsc:Length>32</wsc:Length>\
         <wsc:Nonce>{nonce}</wsc:Nonce></wsc:DerivedKeyToken>"
    )
}

/// A message that names the key `uri` of its header, signed with another key.
struct Session {
    message: String,
    secret: Vec<u8>,
}

impl Session {
    fn new(uri: &str) -> Self {
        let (key, secret) = session();
        let sender = Sender::sharing(&of_soap12(&rich()));
        let message = sender.message;
        let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
        let end = message.find("</ds:KeyInfo>").expect("a KeyInfo");
        let info = format!(
            "<ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
             <wsse:Reference URI=\"{uri}\"/></wsse:SecurityTokenReference>"
        );
        let message = format!("{}{info}{}", &message[..start], &message[end..]);
        let tokens = derived_token("DK1", NONCES[0]) + &derived_token("DK2", NONCES[1]);
        let message =
            message.replacen("<ds:Signature ", &format!("{key}{tokens}<ds:Signature "), 1);
        assert!(message.contains("DK2"), "{message}");
        Self { message, secret }
    }

    fn signed(&self, key: &[u8]) -> String {
        self.signed_over(key, &as_it_is)
    }

    fn signed_over(&self, key: &[u8], how: support::Digested<'_>) -> String {
        let key = SymmetricKey::new(key.to_vec()).expect("a key");
        let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
        with_value(&self.message, |bytes| signer.sign(bytes), how)
    }

    fn derived(&self, hash: PHash, seed: &[&[u8]; 2], offset: usize) -> Vec<u8> {
        let key = hash.derive(&self.secret, seed, offset, 32);
        key.expect("a key").expose().clone()
    }
}

const LABEL: &[u8] = b"WS-SecureConversationWS-SecureConversation";

fn nonce(number: usize) -> Vec<u8> {
    base64::decode_xml_to_vec(NONCES[number].as_bytes()).expect("base64")
}

pub(crate) fn derived(cases: &mut Cases) {
    let (of_key, of_session) = (Session::new("#DK1"), Session::new("#EK"));
    let (first, second) = (nonce(0), nonce(1));
    let derive = |hash, seed: [&[u8]; 2], offset| of_key.derived(hash, &seed, offset);
    let mut add = |name, kinds, message| cases.add(name, kinds, message, known());
    let kind = "derived-otherwise";
    let mut by = |name, kinds, key: Vec<u8>| add(name, kinds, of_key.signed(&key));
    by(
        "derived by P_SHA256",
        kind,
        derive(PHash::SHA256, [LABEL, &first], 0),
    );
    by(
        "derived with the nonce first",
        kind,
        derive(PHash::SHA1, [&first, LABEL], 0),
    );
    by(
        "derived from byte 32 on",
        kind,
        derive(PHash::SHA1, [LABEL, &first], 32),
    );
    by(
        "derived without a label",
        kind,
        derive(PHash::SHA1, [b"", &first], 0),
    );
    let text = base64::encode(&of_key.secret);
    let of_text = PHash::SHA1.derive(text.as_bytes(), &[LABEL, &first], 0, 32);
    let of_text = of_text.expect("a key").expose().clone();
    by("derived from the text of the secret", kind, of_text);
    by(
        "the session key, and not the derived one",
        "other-secret",
        of_key.secret.clone(),
    );
    by(
        "the other derived key",
        "other-secret",
        derive(PHash::SHA1, [LABEL, &second], 0),
    );
    let key = of_session.derived(PHash::SHA1, &[LABEL, &first], 0);
    add(
        "the derived key, and not the session key",
        "other-secret",
        of_session.signed(&key),
    );
    let key = of_key.derived(PHash::SHA1, &[LABEL, &first], 0);
    add(
        "derived: SignedInfo inclusive",
        "canonicalization",
        of_key.signed_over(&key, &|read, node, _| inclusive(read, node).into_bytes()),
    );
    add(
        "a session key: SignedInfo indented",
        "white-space",
        of_session.signed_over(&of_session.secret, &|_, _, form| {
            crate::cases::indented(form, "  ", "\n").into_bytes()
        }),
    );
}

/// A message that a key of a user's password signs, and how it is signed with another one.
fn of_password(key: &[u8]) -> String {
    let sender = Sender::sharing(&of_soap12(&rich()));
    let message = sender.message;
    let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
    let end = message.find("</ds:KeyInfo>").expect("a KeyInfo");
    let info = "<ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
        <wsse:Reference URI=\"#UT\"/></wsse:SecurityTokenReference>";
    let token = format!(
        "<wsse:UsernameToken xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
         xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
         xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\" wsu:Id=\"UT\"><wsse:Username>alice</wsse:Username>\
         <wsse11:Salt>{SALT}</wsse11:Salt><wsse11:Iteration>1200</wsse11:Iteration></wsse:UsernameToken>"
    );
    let message = format!("{}{info}{}", &message[..start], &message[end..]);
    let message = message.replacen("<ds:Signature ", &format!("{token}<ds:Signature "), 1);
    let key = SymmetricKey::new(key.to_vec()).expect("a key");
    let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
    with_value(&message, |bytes| signer.sign(bytes), &as_it_is)
}

const SALT: &str = "AQIDBAUGBwgJCgsMDQ4PEA==";

/// SHA-1 again and again (UsernameToken Profile 1.1.1, 4).
fn password_key(salt: &[u8], iterations: usize) -> Vec<u8> {
    let mut bytes = [b"secret", salt].concat();
    for _ in 0..iterations {
        let digest = digest(DigestAlgorithm::Sha1, &bytes).expect("a digest");
        bytes = digest.as_ref().to_vec();
    }
    bytes
}

fn knows_alice() -> Known {
    Known {
        passwords: vec![(
            "alice".to_owned(),
            soapstone::crypto::SecretBytes::new(b"secret".to_vec()),
        )],
        ..Known::default()
    }
}

pub(crate) fn passwords(cases: &mut Cases) {
    let salt: Vec<u8> = (1..=16).collect();
    let kind = "derived-otherwise";
    let mut add = |name, kinds, key: Vec<u8>| {
        cases.add(name, kinds, of_password(&key), knows_alice());
    };
    add(
        "the text of a salt",
        kind,
        password_key(SALT.as_bytes(), 1200),
    );
    add("one iteration less", kind, password_key(&salt, 1199));
    add("1000 iterations", kind, password_key(&salt, 1000));
    add("the password as the key", kind, b"secret".to_vec());
    add(
        "the key of another password",
        "other-key",
        password_key(b"another salt", 1200),
    );
}

/// A message that the holder of an assertion's key signs.
fn held(version_20: bool) -> String {
    let (name, id, assertion) = match version_20 {
        true => (
            "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLID",
            "_a20",
            "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"_a20\" Version=\"2.0\"><saml:Subject><saml:SubjectConfirmation \
             Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\"><saml:SubjectConfirmationData>{info}</saml:SubjectConfirmationData>\
             </saml:SubjectConfirmation></saml:Subject></saml:Assertion>",
        ),
        false => (
            "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#SAMLAssertionID",
            "_a11",
            "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:1.0:assertion\" AssertionID=\"_a11\" MajorVersion=\"1\" MinorVersion=\"1\">\
             <saml:AuthenticationStatement><saml:Subject><saml:SubjectConfirmation><saml:ConfirmationMethod>urn:oasis:names:tc:SAML:1.0:cm:holder-of-key\
             </saml:ConfirmationMethod>{info}</saml:SubjectConfirmation></saml:Subject></saml:AuthenticationStatement></saml:Assertion>",
        ),
    };
    let der = base64::encode(certificate("client").der());
    let info = format!(
        "<ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    );
    let assertion = assertion.replace("{info}", &info);
    let message = Sender::new(0, &rich()).message;
    let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
    let end = message.find("</ds:KeyInfo>").expect("a KeyInfo");
    let reference = format!(
        "<ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
         <wsse:KeyIdentifier ValueType=\"{name}\">{id}</wsse:KeyIdentifier></wsse:SecurityTokenReference>"
    );
    let message = format!("{}{reference}{}", &message[..start], &message[end..]);
    message.replacen("<ds:Signature ", &format!("{assertion}<ds:Signature "), 1)
}

/// A message whose signature covers the signer's token through a reference to it (SOAP Message
/// Security 1.1.1, 8.3). The digest is that of what `how` makes of the token's exclusive form.
fn by_reference(how: &dyn Fn(&str) -> String) -> String {
    let lines = lines("rsa-sha256").replace("\"Timestamp\",", "\"Timestamp\", \"Token\",");
    let message = secured("client", &lines, &of_soap12(&rich()));
    let token = |read: &soapstone::xml::Document| {
        let mut all = read.root().descendants();
        let token = all.find(|element| element.local() == "BinarySecurityToken");
        token.expect("a token").id()
    };
    let read = document(&message);
    let namespace =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let id = read.element(token(&read)).attribute(namespace, "Id");
    let id = id.expect("an id").into_owned();
    let start = message
        .find(&format!("<ds:Reference URI=\"#{id}\">"))
        .expect("a reference");
    let (from, to) = ("<ds:Transforms>", "</ds:Transforms>");
    let from = start + message[start..].find(from).expect("transforms");
    let to = from + message[from..].find(to).expect("transforms");
    let transform = "<ds:Transforms><ds:Transform Algorithm=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform\">\
        <wsse:TransformationParameters xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
        <ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/></wsse:TransformationParameters></ds:Transform>";
    let message = format!(
        "{}<ds:Reference URI=\"#STR\">{transform}{}",
        &message[..start],
        &message[to..]
    );
    let named = "<wsse:SecurityTokenReference";
    let with_id = format!("{named} xmlns:wsu=\"{namespace}\" wsu:Id=\"STR\"");
    let message = message.replacen(named, &with_id, 1);
    let digested: support::Digested<'_> = &|read, _, _| {
        let form = form(read, token(read), Canonicalization::Exclusive, &[], &[]);
        how(std::str::from_utf8(&form).expect("UTF-8")).into_bytes()
    };
    let parts = [("SecurityTokenReference", digested)];
    signed_anew(&message, &Signer::client(), &parts, &as_it_is)
}

/// As it should be: the default namespace is declared.
fn token_as_it_is(form: &str) -> String {
    form.replacen(
        "<wsse:BinarySecurityToken",
        "<wsse:BinarySecurityToken xmlns=\"\"",
        1,
    )
}

pub(crate) fn tokens(cases: &mut Cases) {
    let client = || Signer::client();
    let server = private_key("server");
    let by_server = |bytes: &[u8]| {
        server
            .sign(SignatureAlgorithm::RsaSha256, bytes)
            .expect("a signature")
    };
    let peer = || Known {
        certificates: vec![("`peer`".to_owned(), certificate("server"))],
        ..Known::default()
    };
    for (version_20, name) in [(true, "2.0"), (false, "1.1")] {
        let good = held(version_20);
        let mut add = |what: &str, kinds, message, known| {
            cases.add(&format!("SAML {name}: {what}"), kinds, message, known);
        };
        add(
            "another holder",
            "other-certificate",
            with_value(&good, by_server, &as_it_is),
            peer(),
        );
        add(
            "a key of nobody",
            "other-key",
            with_value(&good, by_server, &as_it_is),
            Known::default(),
        );
        add(
            "SignedInfo inclusive",
            "canonicalization",
            with_value(&good, |bytes| client().sign(bytes), &|read, node, _| {
                inclusive(read, node).into_bytes()
            }),
            Known::default(),
        );
        add(
            "the Body with CR LF",
            "line-ends",
            signed_anew(
                &good,
                &client(),
                &[("Body", &|_, _, form: &str| {
                    form.replace('\n', "&#xD;\n").into_bytes()
                })],
                &as_it_is,
            ),
            Known::default(),
        );
    }
    let mut add = |name, kinds, message| cases.add(name, kinds, message, Known::default());
    let good = by_reference(&token_as_it_is);
    let reference = [("SecurityTokenReference", &as_it_is as support::Digested<'_>)];
    add(
        "STR transform: the reference itself",
        "str-transform",
        signed_anew(&good, &client(), &reference, &as_it_is),
    );
    add(
        "STR transform: no default namespace",
        "prefix-declaration",
        by_reference(&str::to_owned),
    );
    add(
        "STR transform: base64 in lines of 64",
        "base64-white-space",
        by_reference(&|form| {
            let form = token_as_it_is(form);
            let start = form.find('>').expect("a tag") + 1;
            let end = form.find("</").expect("a tag");
            let text = form.as_bytes()[start..end].chunks(64);
            let text: Vec<&str> = text
                .map(|line| std::str::from_utf8(line).expect("text"))
                .collect();
            format!("{}{}{}", &form[..start], text.join("\n"), &form[end..])
        }),
    );
}

/// Good messages of this file, each with what the reader's side knows.
pub(crate) fn good() -> Vec<(&'static str, String, Known)> {
    let of_key = Session::new("#DK1");
    let key = of_key.derived(PHash::SHA1, &[LABEL, &nonce(0)], 0);
    let of_session = Session::new("#EK");
    let by_session = of_session.signed(&of_session.secret);
    vec![
        ("a derived key", of_key.signed(&key), known()),
        ("a session key", by_session, known()),
        (
            "a key of a password",
            of_password(&password_key(&(1..=16).collect::<Vec<u8>>(), 1200)),
            knows_alice(),
        ),
        ("SAML 2.0", held(true), Known::default()),
        ("SAML 1.1", held(false), Known::default()),
        (
            "a signed token",
            by_reference(&token_as_it_is),
            Known::default(),
        ),
    ]
}

pub(crate) fn encrypted(cases: &mut Cases) {
    let of = |mechanism: &str, more: &str| {
        secured(
            "client",
            &format!(
                "[security]\nmechanism = \"{mechanism}\"\nalgorithms = {{ signature = [\"rsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"], data = [\"aes128-gcm\"], {more} }}"
            ),
            &rich(),
        )
    };
    let mut add = |name, kinds, message: String| cases.add(name, kinds, message, known());
    let wide =
        "key_transport = [\"rsa-oaep\"], oaep_digest = [\"sha256\"], oaep_mgf = [\"sha256\"]";
    let good = of("encrypt", wide);
    let start = good.find("<xenc:EncryptionMethod ").expect("a method");
    let end = good.find("</xenc:EncryptionMethod>").expect("a method");
    let inside = start + good[start..].find('>').expect("a tag") + 1;
    add(
        "OAEP whose digest and mask are not named",
        "key-transport",
        format!("{}{}", &good[..inside], &good[end..]),
    );
    let usual = "key_transport = [\"rsa-oaep-mgf1p\"]";
    let good = of("encrypt", usual);
    add(
        "GCM under the name of CBC",
        "data-cipher",
        good.replace(
            "http://www.w3.org/2009/xmlenc11#aes128-gcm",
            "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
        ),
    );
    // The first to be undone stands first: the key has to come before the signature.
    for (mechanism, name) in [
        ("sign-encrypt", "signed first, and the header says last"),
        ("encrypt-sign", "signed last, and the header says first"),
    ] {
        let good = of(mechanism, usual);
        let part = |name: &str| {
            let start = good.find(&format!("<{name}")).expect("a part");
            let end = good.find(&format!("</{name}>")).expect("a part") + name.len() + 3;
            good[start..end].to_owned()
        };
        let (key, signature) = (part("xenc:EncryptedKey"), part("ds:Signature"));
        let swapped = match mechanism {
            "sign-encrypt" => good
                .replace(&signature, "")
                .replace(&key, &format!("{signature}{key}")),
            _ => good
                .replace(&key, "")
                .replace(&signature, &format!("{key}{signature}")),
        };
        assert_ne!(good, swapped);
        add(name, "other-order", swapped);
    }
    let good = of("sign-encrypt", usual);
    add(
        "sign-encrypt: SignedInfo inclusive",
        "canonicalization",
        with_value(
            &good,
            |bytes| Signer::client().sign(bytes),
            &|read, node, _| inclusive(read, node).into_bytes(),
        ),
    );
}

pub(crate) fn users(cases: &mut Cases) {
    const NONCE: &str = "8u3v9Sv2ATrSVRnjm8n5Aw==";
    const CREATED: &str = "2026-11-21T16:02:29Z";
    const PASSWORD: &[u8] = b"Pa55 w\xc3\xb6rd";
    let bytes = base64::decode_xml_to_vec(NONCE.as_bytes()).expect("base64");
    let hashed = |algorithm, pieces: &[&[u8]]| {
        let bytes = digest(algorithm, &pieces.concat()).expect("a digest");
        bytes.as_ref().to_vec()
    };
    let sha1 = |pieces: &[&[u8]]| hashed(DigestAlgorithm::Sha1, pieces);
    let message = |kind: &str, password: &str| {
        of_soap12(&format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header><wsse:Security \
             xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
             xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\"><wsse:UsernameToken>\
             <wsse:Username>alice</wsse:Username><wsse:Password Type=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#{kind}\">{password}</wsse:Password>\
             <wsse:Nonce>{NONCE}</wsse:Nonce><wsu:Created>{CREATED}</wsu:Created></wsse:UsernameToken></wsse:Security></s:Header><s:Body/></s:Envelope>"
        ))
    };
    let known = || Known {
        passwords: vec![(
            "alice".to_owned(),
            soapstone::crypto::SecretBytes::new(PASSWORD.to_vec()),
        )],
        ..Known::default()
    };
    let mut add = |name, kinds, digest: Vec<u8>| {
        let message = message("PasswordDigest", &base64::encode(&digest));
        cases.add(name, kinds, message, known());
    };
    let kind = "username-digest";
    let md5 = hexadecimal::encode(&hashed(DigestAlgorithm::Md5, &[PASSWORD]));
    let sha256 = hexadecimal::encode(&hashed(DigestAlgorithm::Sha256, &[PASSWORD]));
    let created = CREATED.as_bytes();
    add(
        "the MD5 of the password",
        kind,
        sha1(&[&bytes, created, md5.as_bytes()]),
    );
    add(
        "the SHA-256 of the password",
        kind,
        sha1(&[&bytes, created, sha256.as_bytes()]),
    );
    add(
        "a line end behind the password",
        kind,
        sha1(&[&bytes, created, PASSWORD, b"\n"]),
    );
    add(
        "the password in Latin-1",
        kind,
        sha1(&[&bytes, created, b"Pa55 w\xf6rd"]),
    );
    add(
        "the zone by number",
        kind,
        sha1(&[&bytes, b"2026-11-21T16:02:29+00:00", PASSWORD]),
    );
    add(
        "milliseconds",
        kind,
        sha1(&[&bytes, b"2026-11-21T16:02:29.000Z", PASSWORD]),
    );
    add(
        "the user in front",
        kind,
        sha1(&[&bytes, created, b"alice", PASSWORD]),
    );
    let text = hexadecimal::encode(&bytes);
    add(
        "the nonce in hexadecimal",
        kind,
        sha1(&[text.as_bytes(), created, PASSWORD]),
    );
    add("Created first", kind, sha1(&[created, &bytes, PASSWORD]));
    let right = sha1(&[&bytes, created, PASSWORD]);
    let url = base64::encode(&right).replace('+', "-").replace('/', "_");
    let url = message("PasswordDigest", url.trim_end_matches('='));
    cases.add("a digest in base64url", "digest-encoding", url, known());
    let capitals = String::from_utf8_lossy(PASSWORD).to_uppercase();
    for (name, text) in [
        ("the password in base64", base64::encode(PASSWORD)),
        ("the password in capitals", capitals),
    ] {
        let message = message("PasswordText", &text);
        cases.add(name, "password-kind", message, known());
    }
    let text = base64::encode(&sha1(&[PASSWORD]));
    cases.add(
        "a hashed password as text",
        "password-kind",
        message("PasswordText", &text),
        known(),
    );
}
