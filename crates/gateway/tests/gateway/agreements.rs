//! Two gateways whose keys are agreed on (XML-Enc 1.1 section 5.6): exchanges, answers to clients
//! that nobody knew, and conversations, without one RSA key but the authority's.

use soapstone::crypto::KeyKind;
use soapstone_testkit::keys::{self, P256};

use crate::support::{Backend, ENVELOPE, Folder, post, send};

/// A folder with keys that sign, `client` and `server`, and keys that agree, `client-reads` and
/// `server-reads`.
fn folder(signing: KeyKind, agreeing: KeyKind) -> Folder {
    let folder = Folder::with_keys();
    for name in ["client", "server"] {
        folder.write_identity(name, &keys::identity(&format!("CN={name}"), signing));
        let reads = format!("{name}-reads");
        folder.write_identity(&reads, &keys::identity(&format!("CN={reads}"), agreeing));
    }
    folder
}

fn identity(name: &str, reads: bool) -> String {
    let decryption = if reads {
        format!(
            ", decryption = {{ key = \"{name}-reads.key.pem\", certificate = \"{name}-reads.cert.pem\" }}"
        )
    } else {
        String::new()
    };
    format!(
        "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\"{decryption} }}"
    )
}

/// Whether the answer to a call through both comes back as it was sent.
async fn call(folder: &Folder, client: &str, server: &str) {
    let backend = Backend::echo().await;
    let route = |to: std::net::SocketAddr, side: &str, tables: &str| {
        format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{to}/echo\"\n[routes.{side}]\n{tables}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n"
        )
    };
    let service = folder
        .gateway(&route(backend.address, "inbound", server))
        .await;
    let calling = folder
        .gateway(&route(service.address(), "outbound", client))
        .await;
    // A conversation is begun by the first call and goes on with the second.
    for _ in 0..2 {
        let answer = send(calling.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.contains(">hello<"), "{}", answer.body);
    }
}

#[tokio::test]
async fn one_key_signs_and_agrees_and_answers_go_to_whoever_signed_the_request() {
    let folder = folder(P256, P256);
    for mechanism in ["sign-encrypt", "encrypt-sign", "secure-conversation"] {
        let security =
            format!("security = {{ mechanism = \"{mechanism}\", suite = \"Basic128GCMEcdhEs\" }}");
        let client = format!(
            "{}\npeer = {{ certificate = \"server.cert.pem\" }}\n{security}",
            identity("client", false)
        );
        let server = format!("{}\n{security}", identity("server", false));
        call(&folder, &client, &server).await;
    }
}

/// eDelivery AS4 2.0: Ed25519 signs, X25519 agrees.
#[tokio::test]
async fn one_key_signs_and_another_agrees() {
    let folder = folder(KeyKind::Ed25519, KeyKind::X25519);
    for mechanism in ["sign-encrypt", "encrypt-sign", "secure-conversation"] {
        let security =
            format!("security = {{ mechanism = \"{mechanism}\", suite = \"Basic128GCMX25519\" }}");
        // The client's certificate for encryption is known, or answers are under the key of the
        // request.
        for known in [true, false] {
            let client = format!(
                "{}\npeer = {{ certificate = \"server-reads.cert.pem\" }}\n{security}",
                identity("client", known)
            );
            let peer = match known {
                true => "peer = { certificate = \"client-reads.cert.pem\" }",
                false => "",
            };
            let server = format!("{}\n{peer}\n{security}", identity("server", true));
            call(&folder, &client, &server).await;
        }
    }
}
