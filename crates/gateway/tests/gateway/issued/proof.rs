//! Assertions with a symmetric key, which a token service makes with us, and whose key protects the
//! messages that show them (WS-Trust 1.4, 4.4).

use soapstone::crypto::{DigestAlgorithm, KeyTransport, OaepParameters, base64};
use soapstone::trust::ComputedKey;

use super::*;

/// What a token service does to come to a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Of both parts.
    Computed,
    /// By itself, told in the clear or enciphered for the client.
    Told,
    Enciphered,
    /// It takes the client's.
    Taken,
}

fn secret(plain: &str, kind: &str) -> Vec<u8> {
    let start = format!("<wst:BinarySecret Type=\"{WST}/{kind}\">");
    let (_, rest) = plain.split_once(&start).expect("a secret");
    let mut secret = Vec::new();
    let (text, _) = rest.split_once('<').expect("its end");
    base64::decode(text.as_bytes(), &mut secret).expect("base64");
    secret
}

fn binary(kind: &str, octets: &[u8]) -> String {
    let value = base64::encode(octets);
    format!("<wst:BinarySecret Type=\"{WST}/{kind}\">{value}</wst:BinarySecret>")
}

fn enciphered(octets: &[u8]) -> String {
    let oaep = OaepParameters::new(DigestAlgorithm::Sha1, DigestAlgorithm::Sha1);
    let client = keys::identity("CN=client", keys::RSA);
    let algorithm = KeyTransport::RsaOaepMgf1p;
    let wrapped = client
        .certificate()
        .public_key()
        .wrap(algorithm, &oaep, octets);
    let value = base64::encode(&wrapped.expect("a wrapped key"));
    format!(
        "<x:EncryptedKey xmlns:x=\"http://www.w3.org/2001/04/xmlenc#\"><x:EncryptionMethod Algorithm=\"{}\"/>\
         <x:CipherData><x:CipherValue>{value}</x:CipherValue></x:CipherData></x:EncryptedKey>",
        algorithm.uri()
    )
}

/// An assertion with this key for the service.
fn proving(is_20: bool, key: &[u8]) -> String {
    let assertion = Assertion {
        is_20,
        method: "holder-of-key",
        holder: None,
        audience: Some(AUDIENCE),
        attributes: &[("role", "reader")],
    };
    let service = keys::identity("CN=server", keys::RSA);
    let idp = keys::identity("CN=idp", keys::RSA);
    assertion.proving("alice", &idp, service.certificate(), key)
}

/// The answer with a token that has `key`, and with what the client is told of the key.
fn telling(context: &str, is_20: bool, key: &[u8], proof: &str) -> String {
    let end = "</wst:RequestSecurityTokenResponse>";
    answer(context, is_20, &proving(is_20, key)).replacen(end, &format!("{proof}{end}"), 1)
}

fn computed(theirs: &[u8]) -> String {
    format!(
        "<wst:RequestedProofToken><wst:ComputedKey>{WST}/CK/PSHA1</wst:ComputedKey></wst:RequestedProofToken>\
         <wst:Entropy>{}</wst:Entropy>",
        binary("Nonce", theirs)
    )
}

fn told(key: &str) -> String {
    format!("<wst:RequestedProofToken>{key}</wst:RequestedProofToken>")
}

fn granted(way: Way, is_20: bool, context: &str, plain: &str) -> String {
    let theirs = [9; 32];
    match way {
        Way::Computed => {
            let ours = secret(plain, "Nonce");
            let key = ComputedKey::PSha1
                .compute(&ours, &theirs, 32)
                .expect("a key");
            telling(context, is_20, key.expose(), &computed(&theirs))
        }
        Way::Told => telling(
            context,
            is_20,
            &theirs,
            &told(&binary("SymmetricKey", &theirs)),
        ),
        Way::Enciphered => telling(context, is_20, &theirs, &told(&enciphered(&theirs))),
        Way::Taken => telling(context, is_20, &secret(plain, "SymmetricKey"), ""),
    }
}

/// The service whose messages are under the key of an assertion.
async fn service(folder: &Folder) -> (Backend, Arc<Mutex<Vec<String>>>) {
    let tables = format!(
        "identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\" }}\n\
         [saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\nholder_key = \"symmetric\"\n\
         versions = [\"2.0\", \"1.1\"]\nissuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n"
    );
    noting_senders(folder, &tables).await
}

/// The file of a gateway whose messages are under the key of an assertion.
fn symmetric(backend: SocketAddr, sts: SocketAddr, more: &str) -> String {
    file(backend, sts, "holder-of-key", more)
        .replacen(
            "[routes.outbound]\nidentity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
             trust = { anchors = [\"ca.cert.pem\"] }\nsecurity = { mechanism = \"sign\" }\n",
            "[routes.outbound]\nsecurity = { mechanism = \"sign-encrypt\" }\n",
            1,
        )
        .replacen(
            "[routes.outbound.saml]\n",
            "[routes.outbound.saml]\nholder_key = \"symmetric\"\n",
            1,
        )
}

/// A policy whose messages are under the symmetric key of an issued token, with so many bits.
fn key_of(bits: u32) -> String {
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\"><sp:SymmetricBinding><wsp:Policy>\
         <sp:ProtectionToken><wsp:Policy><sp:IssuedToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\">\
         <sp:RequestSecurityTokenTemplate xmlns:t=\"{WST}\"><t:KeyType>{WST}/SymmetricKey</t:KeyType>\
         <t:KeySize>{bits}</t:KeySize></sp:RequestSecurityTokenTemplate><wsp:Policy/></sp:IssuedToken></wsp:Policy></sp:ProtectionToken>\
         <sp:AlgorithmSuite><wsp:Policy><sp:Basic256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
         </wsp:Policy></sp:SymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>\
         <sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>"
    )
}

/// A policy whose messages certificates sign, and the symmetric key of an issued token endorses.
fn endorsed() -> String {
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let x509 = format!("<sp:X509Token sp:IncludeToken=\"{sp}/IncludeToken/Always\"/>");
    let x509 = |name: &str| format!("<sp:{name}><wsp:Policy>{x509}</wsp:Policy></sp:{name}>");
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\"><sp:AsymmetricBinding><wsp:Policy>{}{}\
         <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
         </wsp:Policy></sp:AsymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts><sp:EndorsingSupportingTokens><wsp:Policy>\
         <sp:IssuedToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\">\
         <sp:RequestSecurityTokenTemplate xmlns:t=\"{WST}\"><t:KeyType>{WST}/SymmetricKey</t:KeyType>\
         <t:KeySize>128</t:KeySize></sp:RequestSecurityTokenTemplate><wsp:Policy><sp:RequireDerivedKeys/></wsp:Policy></sp:IssuedToken>\
         </wsp:Policy></sp:EndorsingSupportingTokens></wsp:Policy>",
        x509("InitiatorToken"),
        x509("RecipientToken"),
    )
}

/// WS-SecurityPolicy 1.3, 8.3: the key is as long as the template says, and encrypts nothing.
#[tokio::test]
async fn the_key_of_an_assertion_that_a_token_service_made_endorses() {
    for (is_20, version) in [(true, "2.0"), (false, "1.1")] {
        let folder = folder();
        folder.write("policy.xml", endorsed());
        let by_policy = "security = { policy = \"policy.xml\", sha256_suites = \"sha256\", algorithms = { key_transport = [\"rsa-oaep\"] } }";
        let tables = format!(
            "identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\n{by_policy}\n\
             [saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\n\
             versions = [\"2.0\", \"1.1\"]\nissuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n"
        );
        let (mut backend, senders) = noting_senders(&folder, &tables).await;
        let sts = Sts::granting(&folder, move |context, plain, _| {
            let theirs = [9; 16];
            let ours = secret(plain, "Nonce");
            let key = ComputedKey::PSha1.compute(&ours, &theirs, 16);
            telling(
                context,
                is_20,
                key.expect("a key").expose(),
                &computed(&theirs),
            )
        });
        let sts = sts.await;
        let more = format!("version = \"{version}\"");
        let text = file(backend.address, sts.backend.address, "holder-of-key", &more).replacen(
            "security = { mechanism = \"sign\" }",
            by_policy,
            1,
        );
        let gateway = folder.gateway(&text).await;
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        assert!(body.contains("DerivedKeyToken") && body.contains("BinarySecurityToken"));
        let expected = format!("alice by holder-of-key in {version}");
        assert_eq!(*senders.lock().unwrap(), [expected]);
    }
}

#[tokio::test]
async fn messages_are_under_the_key_of_an_assertion_that_a_token_service_made() {
    for (way, entropy) in [
        (Way::Computed, ""),
        (Way::Computed, "entropy = \"both\"\nkey_size = 256"),
        (Way::Told, "entropy = \"token-service\""),
        (Way::Enciphered, "entropy = \"token-service\""),
        (Way::Taken, "entropy = \"client\""),
    ] {
        for (is_20, version) in [(true, "2.0"), (false, "1.1")] {
            let folder = folder();
            let (mut backend, senders) = service(&folder).await;
            let sts = Sts::granting(&folder, move |context, plain, _| {
                granted(way, is_20, context, plain)
            });
            let sts = sts.await;
            let more = format!("version = \"{version}\"\n{entropy}");
            let text = symmetric(backend.address, sts.backend.address, &more);
            let gateway = folder.gateway(&text).await;
            for _ in 0..2 {
                let answer = ask(&gateway).await;
                assert_eq!(answer.status, StatusCode::OK, "{way:?}: {}", answer.body);
                let seen = backend.seen.recv().await.expect("a request");
                let body = String::from_utf8_lossy(&seen.body).into_owned();
                assert!(body.contains("Assertion") && !body.contains("BinarySecurityToken"));
            }
            let expected = format!("alice by holder-of-key in {version}");
            assert_eq!(*senders.lock().unwrap(), vec![expected; 2], "{way:?}");
            assert_eq!(sts.asked(), 1);
        }
    }
}

/// What a token service, or somebody in its place, may answer. The client tells at once what was
/// not asked for. A key that is not the one of the assertion is told by the service, and no backend
/// gets a message under it.
#[tokio::test]
async fn a_key_that_is_not_the_one_of_the_assertion_opens_no_service() {
    type Grant = fn(&str, &str, u32) -> String;
    let attacks: [(&str, Grant, Option<&str>); 8] = [
        (
            "the entropy of somebody else",
            |context, plain, _| {
                let key = ComputedKey::PSha1.compute(&secret(plain, "Nonce"), &[9; 32], 32);
                telling(
                    context,
                    true,
                    key.expect("a key").expose(),
                    &computed(&[8; 32]),
                )
            },
            None,
        ),
        (
            "an assertion with another key",
            |context, _, _| telling(context, true, &[7; 32], &computed(&[9; 32])),
            None,
        ),
        (
            "our own entropy",
            |context, plain, _| {
                let ours = secret(plain, "Nonce");
                let key = ComputedKey::PSha1.compute(&ours, &ours, 32).expect("a key");
                telling(context, true, key.expose(), &computed(&ours))
            },
            Some("found our own sent back"),
        ),
        (
            "a key of the token service's alone",
            |context, _, _| {
                telling(
                    context,
                    true,
                    &[9; 32],
                    &told(&binary("SymmetricKey", &[9; 32])),
                )
            },
            Some("found one that is the service's alone"),
        ),
        (
            "a shorter key",
            |context, plain, _| {
                let key = ComputedKey::PSha1.compute(&secret(plain, "Nonce"), &[9; 16], 16);
                let proof = computed(&[9; 16]) + "<wst:KeySize>128</wst:KeySize>";
                telling(context, true, key.expect("a key").expose(), &proof)
            },
            Some("expected a key of 256 to 512 bits in whole bytes, found 128"),
        ),
        (
            "no word of the key",
            |context, _, _| telling(context, true, &[9; 32], ""),
            Some("expected one `wst:RequestedProofToken`, found none"),
        ),
        (
            "a bearer's token",
            |context, _, _| {
                let token = token(true, false, &Made::default());
                let end = "</wst:RequestSecurityTokenResponse>";
                let proof = computed(&[9; 32]);
                answer(context, true, &token).replacen(end, &format!("{proof}{end}"), 1)
            },
            Some("the method bearer was not asked for"),
        ),
        (
            "a token with our public key",
            |context, _, _| {
                let token = token(true, true, &Made::default());
                let end = "</wst:RequestSecurityTokenResponse>";
                let proof = computed(&[9; 32]);
                answer(context, true, &token).replacen(end, &format!("{proof}{end}"), 1)
            },
            Some("it has another key than one that is enciphered for its receiver"),
        ),
    ];
    for (name, grant, expected) in attacks {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let (mut backend, senders) = service(&folder).await;
        let sts = Sts::granting(&folder, grant).await;
        let text = symmetric(backend.address, sts.backend.address, "");
        let gateway = folder.gateway(&text).await;
        let answer = ask(&gateway).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_GATEWAY,
            "{name}: {}",
            answer.body
        );
        assert!(senders.lock().unwrap().is_empty(), "{name}");
        assert_eq!(
            backend.seen.try_recv().is_err(),
            expected.is_some(),
            "{name}"
        );
        if let Some(expected) = expected {
            let log = said.to_string();
            assert!(log.contains(expected), "{name}: {log}");
        }
    }
}

#[test]
fn files_that_would_lose_a_key_are_refused() {
    let folder = folder();
    let nobody: SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let problems = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let right = symmetric(nobody, nobody, "");
    assert_eq!(problems(&right), "");
    let readable = "everybody on the way could read an assertion, or its key, and use it";
    let needless = "is given, and the assertion has no symmetric key";
    let towards = "security = { mechanism = \"sign-encrypt\" }\n";
    let (head, tail) = right.split_at(right.rfind(towards).expect("the endpoint"));
    let signing = format!("{head}{}", tail.replace("sign-encrypt", "sign"));
    let cases = [
        (signing, readable),
        (
            symmetric(nobody, nobody, "key = \"public-key\""),
            "the assertion is asked for with another key or none",
        ),
        (
            symmetric(nobody, nobody, "key = \"bearer\""),
            "the assertion is asked for with another key or none",
        ),
        (
            file(nobody, nobody, "holder-of-key", "key = \"symmetric-key\""),
            "the assertion is asked for with a symmetric key, and messages are not under it",
        ),
        (
            symmetric(nobody, nobody, "key_size = 128"),
            "expected a key as long as the suite encrypts with, found 128 bits",
        ),
        (
            symmetric(nobody, nobody, "key_size = 260"),
            "`key_size` must be bits of whole bytes",
        ),
        (file(nobody, nobody, "bearer", "key_size = 256"), needless),
        (
            file(nobody, nobody, "bearer", "entropy = \"both\""),
            needless,
        ),
    ];
    for (bits, expected) in [
        (256, ""),
        (
            128,
            "expected a key as long as the suite encrypts with, found 128 bits in the `wst:KeySize` of the policy",
        ),
    ] {
        folder.write("policy.xml", key_of(bits));
        let text = right
            .replacen(
                "security = { mechanism = \"sign-encrypt\" }",
                "security = { policy = \"policy.xml\" }",
                1,
            )
            .replacen("holder_key = \"symmetric\"\n", "", 1);
        let told = problems(&text);
        assert!(told.contains(expected), "{expected}\n{told}");
        assert_eq!(told.is_empty(), expected.is_empty(), "{told}");
    }
    for (text, expected) in cases {
        let told = problems(&text);
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}
