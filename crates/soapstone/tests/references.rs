//! Endpoint files that say how messages name keys: what is written then, and that it is read.

use std::sync::Arc;

use soapstone::config::EndpointConfig;
use soapstone::crypto::issue::{self, Template};
use soapstone::crypto::{Identity, KeyKind};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::KeyReference;
use soapstone::{Memory, Opener, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::keys::{self, P256, RSA};

const PLAIN: &str = "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body><echo/></s:Body></s:Envelope>";

/// Certificates that are a step away from the authority, each with the chain of its own.
fn folder(kind: KeyKind) -> Folder {
    let folder = Folder::new();
    let root = keys::authority("CN=root");
    let between = Template::new("CN=between", keys::validity()).unwrap();
    let between = issue::identity(&root, kind, &between.for_authority()).unwrap();
    for name in ["client", "service"] {
        let subject = Template::new(&format!("CN={name}"), keys::validity()).unwrap();
        let identity = Arc::new(issue::identity(&between, kind, &subject).unwrap());
        assert_eq!(identity.chain().len(), 1);
        let chain = identity.certificates_to_pem();
        folder.write(format!("{name}.chain.pem"), chain);
        folder.write_identity(name, &identity);
    }
    folder.write("root.pem", Identity::certificate(&root).to_pem());
    folder
}

fn config(folder: &Folder, text: &str) -> EndpointConfig {
    let file = folder.write("endpoint.toml", text);
    EndpointConfig::from_text(text, &file, &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn secure(folder: &Folder, security: &str) -> String {
    let text = format!(
        "identity = {{ key = \"client.key.pem\", certificate = \"client.chain.pem\" }}\n\
         peer = {{ certificate = \"service.cert.pem\" }}\n[security]\n{security}\n"
    );
    let securer = Securer::from_config(&config(folder, &text))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let secured = securer.secure(PLAIN.as_bytes().to_vec()).unwrap();
    String::from_utf8(secured.bytes).unwrap()
}

/// What a receiver says that knows the root alone.
fn open(folder: &Folder, security: &str, message: &str) -> Result<(), &'static str> {
    let text = format!(
        "identity = {{ key = \"service.key.pem\", certificate = \"service.cert.pem\" }}\n\
         trust = {{ anchors = [\"root.pem\"] }}\n[security]\n{security}\n"
    );
    let opener =
        Opener::from_config(&config(folder, &text)).unwrap_or_else(|problems| panic!("{problems}"));
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = opener.open(message.as_bytes().to_vec(), memory);
    opened.map(drop).map_err(|refused| refused.name())
}

/// BDEW AS4-Profil 1.1, 2.2.6.2.1, 2.2.6.2.2 and 2.3.4.3: a path signs, an identifier names the
/// recipient, and nothing is digested behind the secret that was agreed on.
#[test]
fn signature_and_encryption_are_named_and_derived_apart() {
    let folder = folder(P256);
    let algorithms = "algorithms = { signature = [\"ecdsa-sha256\"], digest = [\"sha256\"], key_agreement = [\"ecdh-es\"], key_derivation = [\"concat-kdf\"], key_wrap = [\"kw-aes128\"], data = [\"aes128-gcm\"] }";
    let common = format!(
        "mechanism = \"sign-encrypt\"\ntimestamp = false\nsigned = [\"Body\"]\n{algorithms}"
    );
    let message = secure(
        &folder,
        &format!(
            "{common}\nsignature = {{ key_reference = \"pki-path\" }}\n\
             encryption = {{ key_reference = \"x509-ski\", derivation_info = \"\" }}"
        ),
    );
    for expected in [
        "#X509PKIPathv1\"></wsse:Reference>",
        "<xenc:RecipientKeyInfo><ds:X509Data><ds:X509SKI>",
        "<xenc11:ConcatKDFParams AlgorithmID=\"\" PartyUInfo=\"\" PartyVInfo=\"\">",
    ] {
        assert!(message.contains(expected), "{expected}\n{message}");
    }
    assert_eq!(open(&folder, &common, &message), Ok(()));
    for (info, written) in [
        ("derivation_info = \"00\"", "AlgorithmID=\"0000\""),
        ("derivation_info = \"c0FFee\"", "AlgorithmID=\"00C0FFEE\""),
    ] {
        let message = secure(
            &folder,
            &format!("{common}\nencryption = {{ {info} }}\nkey_reference = \"pki-path\""),
        );
        assert!(message.contains(written), "{message}");
        assert_eq!(open(&folder, &common, &message), Ok(()));
    }
}

#[test]
fn tokens_are_signed_through_their_references_where_that_is_wanted() {
    let folder = folder(RSA);
    let common = "mechanism = \"sign\"\nsigned = [\"Body\", \"Timestamp\", \"Token\"]";
    for (naming, by_reference) in [
        ("signature = { key_reference = \"pki-path\" }", false),
        (
            "signature = { key_reference = \"pki-path\", str_transform = true }",
            true,
        ),
    ] {
        let message = secure(&folder, &format!("{common}\n{naming}"));
        assert_eq!(
            message.contains("#STR-Transform"),
            by_reference,
            "{message}"
        );
        assert_eq!(open(&folder, common, &message), Ok(()));
    }
    // What the message does not have is covered no other way.
    let message = secure(
        &folder,
        &format!("{common}\nkey_reference = \"thumbprint\""),
    );
    assert!(message.contains("#STR-Transform"));
    assert_eq!(open(&folder, common, &message), Err("key-not-found"));
}

/// Two names of one key in one `ds:X509Data`: a receiver finds that they agree.
#[test]
fn a_certificate_stands_beside_its_issuer_and_serial_number() {
    let folder = folder(RSA);
    for (reference, start) in [
        (
            "issuer-serial-certificate",
            "<ds:KeyInfo><wsse:SecurityTokenReference><ds:X509Data><ds:X509IssuerSerial>",
        ),
        (
            "x509-issuer-serial-certificate",
            "<ds:KeyInfo><ds:X509Data><ds:X509IssuerSerial>",
        ),
    ] {
        let naming = format!("mechanism = \"sign\"\nkey_reference = \"{reference}\"");
        let message = secure(&folder, &naming);
        let both = "</ds:X509IssuerSerial><ds:X509Certificate>";
        assert!(
            message.contains(start) && message.contains(both),
            "{message}"
        );
        // The certificate of the authority in between is not in the message.
        let anchors = "mechanism = \"sign\"";
        assert_eq!(open(&folder, anchors, &message), Err("untrusted"));
        // Of two names that differ, receivers would take two keys.
        let serial = "<ds:X509SerialNumber>";
        let other = message.replacen(serial, "<ds:X509SerialNumber>1", 1);
        assert_eq!(open(&folder, anchors, &other), Err("key-ambiguous"));
    }
}

/// What partners compare of our messages, and what receivers read either way.
#[test]
fn forms_that_a_file_asks_for_are_written_beside_a_signature_and_cipher_text() {
    let folder = folder(RSA);
    let common = "mechanism = \"sign-encrypt\"\nsuite = \"Basic256\"\nkey_reference = \"pki-path\"";
    let plain = secure(&folder, common);
    assert!(!plain.contains("PrefixList") && plain.contains("#sha1\"></ds:DigestMethod></xenc:"));
    let forms = format!(
        "{common}\nsignature = {{ inclusive_prefixes = true }}\nencryption = {{ implied_digest = true }}"
    );
    let message = secure(&folder, &forms);
    assert_eq!(message.matches(" PrefixList=\"").count(), 2, "{message}");
    assert!(
        message.contains("rsa-oaep-mgf1p\"></xenc:EncryptionMethod>"),
        "{message}"
    );
    for reader in [common, forms.as_str()] {
        assert_eq!(open(&folder, reader, &message), Ok(()));
        assert_eq!(open(&folder, reader, &plain), Ok(()));
    }
}

/// A key that is not there has no name.
#[test]
fn a_name_for_a_key_that_is_not_used_is_a_mistake() {
    let folder = folder(RSA);
    let problems = |security: &str| {
        let text = format!(
            "identity = {{ key = \"client.key.pem\", certificate = \"client.chain.pem\" }}\n\
             peer = {{ certificate = \"service.cert.pem\" }}\n[security]\n{security}\n"
        );
        match Securer::from_config(&config(&folder, &text)) {
            Ok(_) => panic!("it compiles: {security}"),
            Err(problems) => problems.to_string(),
        }
    };
    for (security, problem) in [
        (
            "mechanism = \"sign\"\nencryption = { key_reference = \"ski\" }",
            "`encryption.key_reference` names a key that encrypts, and there is none",
        ),
        (
            "mechanism = \"encrypt\"\nsignature = { key_reference = \"ski\" }",
            "`signature.key_reference` names a key that signs, and there is none",
        ),
        (
            "mechanism = \"encrypt\"\nsignature = { inclusive_prefixes = true }",
            "endpoint.toml:5:36: `signature.inclusive_prefixes` is given, and nothing signs messages",
        ),
        (
            "mechanism = \"encrypt\"\nsignature = { str_transform = true }",
            "`signature.str_transform` is given, and nothing signs messages",
        ),
        (
            "mechanism = \"sign\"\nencryption = { implied_digest = true, encrypted_header = false }",
            "`encryption.implied_digest` is given, and nothing encrypts messages",
        ),
        (
            "mechanism = \"sign\"\nencryption = { implied_digest = true, encrypted_header = false }",
            "`encryption.encrypted_header` is given, and nothing encrypts messages",
        ),
        (
            "mechanism = \"sign\"\nencryption = { derivation_info = \"00\" }",
            "`encryption.derivation_info` is given, and nothing encrypts messages",
        ),
        (
            "mechanism = \"sign\"\nsignature = { key_reference = \"encrypted-key-sha1\" }",
            "endpoint.toml:5:31: key reference `encrypted-key-sha1` names a symmetric key",
        ),
        (
            "mechanism = \"sign\"\nsigned = [\"Body\", \"Token\"]\nsignature = { key_reference = \"x509-data\" }",
            "endpoint.toml:6:31: key reference `x509-data` is no `wsse:SecurityTokenReference`",
        ),
    ] {
        let found = problems(security);
        assert!(found.contains(problem), "{found}");
    }
}

/// A key that both sides hold has no certificate. A name of one would be written as another name.
#[test]
fn a_shared_key_has_no_name_of_a_certificate_and_one_name_alone() {
    let folder = Folder::new();
    let compiled = |security: &str| {
        let text = format!(
            "shared_key = {{ name = \"both\", hex = \"{}\" }}\n[security]\nmechanism = \"sign-encrypt\"\nsuite = \"Basic256GCM\"\n{security}\n",
            "5a".repeat(32)
        );
        Securer::from_config(&config(&folder, &text)).map_err(|problems| problems.to_string())
    };
    for (security, written) in [
        ("", "<ds:KeyName>both</ds:KeyName>"),
        (
            "key_reference = \"key-name\"",
            "<ds:KeyName>both</ds:KeyName>",
        ),
        (
            "key_reference = \"encrypted-key-sha1\"",
            "#EncryptedKeySHA1\"",
        ),
        (
            "signature = { key_reference = \"encrypted-key-sha1\" }\nencryption = { key_reference = \"encrypted-key-sha1\" }",
            "#EncryptedKeySHA1\"",
        ),
    ] {
        let securer = compiled(security).unwrap_or_else(|problems| panic!("{problems}"));
        let secured = securer.secure(PLAIN.as_bytes().to_vec()).unwrap();
        let secured = String::from_utf8(secured.bytes).unwrap();
        assert_eq!(secured.matches(written).count(), 2, "{written}\n{secured}");
    }
    for reference in KeyReference::ALL {
        if ["key-name", "encrypted-key-sha1"].contains(&reference.name()) {
            continue;
        }
        for (table, key) in [
            ("", "key_reference"),
            ("signature", "signature.key_reference"),
            ("encryption", "encryption.key_reference"),
        ] {
            let name = reference.name();
            let security = match table {
                "" => format!("key_reference = \"{name}\""),
                table => format!("{table} = {{ key_reference = \"{name}\" }}"),
            };
            let problem = format!(
                "`{key}` must name the key that both sides hold, found `{name}`, which names a certificate"
            );
            let found = compiled(&security).map(drop).expect_err(&security);
            assert!(found.contains("endpoint.toml:5:"), "{found}");
            assert!(found.contains(&problem), "{found}");
        }
    }
    let apart = "signature = { key_reference = \"key-name\" }\nencryption = { key_reference = \"encrypted-key-sha1\" }";
    let found = compiled(apart).map(drop).expect_err("two names");
    assert!(
        found.contains("`encryption.key_reference` must be that of the signature, `key-name`, found `encrypted-key-sha1`: one key signs and encrypts"),
        "{found}"
    );
}
