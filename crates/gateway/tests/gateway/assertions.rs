//! SAML assertions at a gateway: confirmed by the connection, and told to the backend in a header
//! block and in header fields.

use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use soapstone::crypto::{
    Certificate, DigestAlgorithm, Identity, SignatureAlgorithm, base64, digest,
};
use soapstone::xml::Canonicalization;
use soapstone::xmlsec::write::{self, Apex, ReferenceParts, SignedInfoWriter, TransformParts};
use soapstone_gateway::Config;
use soapstone_testkit::{envelope, keys};

use crate::support::{Backend, Folder, post, send, send_over};
use crate::tls::connect;

const MUTUAL: &str = "tls = { certificate = \"server.cert.pem\", key = \"server.key.pem\", client_ca = \"ca.cert.pem\" }";

/// An assertion about somebody with the key of a certificate, signed by its issuer.
fn assertion(subject: &str, holder: &Certificate, issuer: &Identity) -> String {
    assertion_of("", subject, holder, issuer)
}

/// The same, and the subject's name has these attributes.
fn assertion_of(
    qualifiers: &str,
    subject: &str,
    holder: &Certificate,
    issuer: &Identity,
) -> String {
    let moment = |seconds: i64| {
        let now = Timestamp::now().as_second();
        Timestamp::from_second(now + seconds).expect("a moment")
    };
    let (begin, end) = (moment(-30), moment(600));
    let certificate = base64::encode(holder.der());
    let unsigned = format!(
        "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"_a\" IssueInstant=\"{begin}\" Version=\"2.0\"><saml:Issuer>https://idp.example</saml:Issuer><saml:Subject><saml:NameID{qualifiers}>{subject}</saml:NameID><saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\"><saml:SubjectConfirmationData><ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore=\"{begin}\" NotOnOrAfter=\"{end}\"><saml:AudienceRestriction><saml:Audience>https://books.example</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AttributeStatement><saml:Attribute Name=\"role\"><saml:AttributeValue>reader</saml:AttributeValue><saml:AttributeValue>Prüfer, Haupt</saml:AttributeValue></saml:Attribute></saml:AttributeStatement></saml:Assertion>"
    );
    let exclusive = Canonicalization::Exclusive;
    let (method, sha256) = (SignatureAlgorithm::RsaSha256, DigestAlgorithm::Sha256);
    let mut info = SignedInfoWriter::new(Vec::new(), Apex::PLAIN, exclusive, method, None);
    info.reference(&ReferenceParts {
        id: None,
        uri: Some("#_a"),
        kind: None,
        transforms: &[
            TransformParts::Enveloped,
            TransformParts::Canonicalization(exclusive, &[]),
        ],
        digest_method: sha256,
        digest: digest(sha256, unsigned.as_bytes())
            .expect("a digest")
            .as_ref(),
    });
    let info = info.finish();
    let value = issuer
        .key()
        .sign(method, info.octets())
        .expect("a signature");
    let mut signature = Vec::new();
    write::signature(None, &info, &value, None, &mut signature);
    let signature = String::from_utf8(signature).expect("text");
    let behind = "</saml:Issuer>";
    unsigned.replacen(behind, &format!("{behind}{signature}"), 1)
}

fn message(assertion: &str) -> String {
    let header = format!(
        "<wsse:Security xmlns:wsse=\"{}\">{assertion}</wsse:Security><x:id xmlns:x=\"urn:x\">{}</x:id>",
        soapstone::wss::names::WSSE,
        "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\"/>"
    );
    envelope::with_header(soapstone::wss::names::SOAP11, &header, "<a/>")
}

/// A request of a client that says of itself what it likes.
fn boasting(message: String) -> Request<Full<bytes::Bytes>> {
    let mut request = post("/echo", message);
    let headers = request.headers_mut();
    for name in ["x-subject", "x_subject", "x-role", "x-issuer"] {
        headers.append(name, HeaderValue::from_static("admin"));
    }
    headers.append(
        "connection",
        HeaderValue::from_static("x-subject, keep-alive"),
    );
    request
}

fn file(backend: std::net::SocketAddr, tls: &str) -> String {
    format!(
        "LISTEN\n{tls}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.identity]\nsubject = \"X-Subject\"\nissuer = \"X-Issuer\"\n\
         attributes = [{{ name = \"role\", header = \"X-Role\" }}]\n\
         [routes.inbound.saml]\naudience = [\"https://books.example\"]\nforward = true\n\
         confirmation = [\"holder-of-key\"]\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }}]\n\
         [routes.inbound.security]\nmechanism = \"none\"\n"
    )
}

/// What is said of a gateway's file in this folder.
fn config_problems(folder: &Folder, text: &str) -> String {
    let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    read.err().map(|it| it.to_string()).unwrap_or_default()
}

/// A client of TLS vouches by a certificate of the listener's authorities.
#[test]
fn an_attester_whom_two_authorities_may_know_is_named_with_its_issuer() {
    let folder = Folder::with_keys();
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write("idp.cert.pem", idp.certificates_to_pem());
    let other = keys::authority("CN=other");
    folder.write("other.cert.pem", other.certificates_to_pem());
    let backend = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let said = |attester: &str, client_ca: &str| {
        let tls = MUTUAL.replace("\"ca.cert.pem\"", client_ca);
        let vouched = format!("confirmation = [\"sender-vouches\"]\nattesters = [\"{attester}\"]");
        let text = file(backend, &tls).replace("confirmation = [\"holder-of-key\"]", &vouched);
        let trust = "[routes.inbound.trust]\nanchors = [\"ca.cert.pem\"]\n";
        config_problems(&folder, &format!("{text}{trust}"))
    };
    let expected = "`attesters` vouch over TLS here, and `client_ca` and `trust` believe several issuers, \
                    each of whom may issue the certificate of one\n    \
                    hint: say whose it is: attesters = [\"CN=gateway of CN=authority\"]";
    let both = "[\"ca.cert.pem\", \"other.cert.pem\"]";
    for (attester, client_ca, is_refused) in [
        ("CN=gateway", "\"ca.cert.pem\"", false),
        ("CN=gateway", both, true),
        ("CN=gateway", "\"other.cert.pem\"", true),
        ("CN=gateway of CN=ca", both, false),
    ] {
        let said = said(attester, client_ca);
        assert_eq!(
            said.contains(expected),
            is_refused,
            "{attester}, {client_ca}: {said}"
        );
        assert!(is_refused || said.is_empty(), "{said}");
    }
}

fn folder() -> Folder {
    let folder = Folder::with_keys();
    folder.write_identity("idp", &keys::identity("CN=idp", keys::RSA));
    folder
}

#[tokio::test]
async fn a_backend_is_told_who_holds_the_key_of_the_connection() {
    let mut backend = Backend::echo().await;
    let folder = folder();
    let gateway = folder.gateway(&file(backend.address, MUTUAL)).await;
    let idp = keys::identity("CN=idp", keys::RSA);
    let client = keys::identity("CN=client", keys::RSA);
    let right = message(&assertion("alice", client.certificate(), &idp));
    let stream = connect(gateway.address(), b"http/1.1", true).await;
    let stream = stream.expect("a handshake");
    let answer = send_over(stream, boasting(right)).await.expect("an answer");
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("a request");
    let said = |name: &str| -> Vec<String> {
        let all = seen.headers.get_all(name).iter();
        all.map(|value| value.to_str().expect("text").to_owned())
            .collect()
    };
    assert_eq!(said("x-subject"), ["alice"]);
    assert_eq!(said("x-issuer"), ["https://idp.example"]);
    assert_eq!(said("x-role"), ["reader", "Pr%C3%BCfer%2C%20Haupt"]);
    assert!(said("x_subject").is_empty());
    let body = String::from_utf8(seen.body.to_vec()).expect("text");
    assert!(body.contains("<saml:NameID>alice</saml:NameID>"), "{body}");
    assert!(
        !body.contains("urn:x"),
        "a block with another assertion: {body}"
    );
}

/// SAML Core 2.0, 2.2.2: a name is unique in its domain. A partner's user is not told as if he were
/// the issuer's own.
#[tokio::test]
async fn a_backend_is_told_of_no_subject_of_another_domain_without_the_domain() {
    let mut backend = Backend::echo().await;
    let folder = folder();
    let idp = keys::identity("CN=idp", keys::RSA);
    let client = keys::identity("CN=client", keys::RSA);
    let asked = "subject = \"X-Subject\"";
    let both = "subject = \"X-Subject\"\nsubject_domain = \"X-Domain\"";
    let (own, partner) = ("https://idp.example", "https://partner.example");
    for (fields, domain, subjects, domains) in [
        (asked, own, vec!["admin"], vec![]),
        (asked, partner, vec![], vec![]),
        (both, own, vec!["admin"], vec![]),
        (both, partner, vec!["admin"], vec![partner]),
    ] {
        let text = file(backend.address, MUTUAL).replace(asked, fields);
        let gateway = folder.gateway(&text).await;
        let qualified = format!(" NameQualifier=\"{domain}\"");
        let right = assertion_of(&qualified, "admin", client.certificate(), &idp);
        let stream = connect(gateway.address(), b"http/1.1", true).await;
        let stream = stream.expect("a handshake");
        let answer = send_over(stream, boasting(message(&right))).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        let said = |name: &str| -> Vec<&str> {
            let all = seen.headers.get_all(name).iter();
            all.map(|value| value.to_str().expect("text")).collect()
        };
        assert_eq!(said("x-subject"), subjects, "{domain}");
        assert_eq!(said("x-domain"), domains, "{domain}");
        assert_eq!(said("x-issuer"), [own]);
    }
}

#[tokio::test]
async fn an_assertion_of_another_key_reaches_no_backend() {
    let mut backend = Backend::echo().await;
    let folder = folder();
    let gateway = folder.gateway(&file(backend.address, MUTUAL)).await;
    let idp = keys::identity("CN=idp", keys::RSA);
    let other = keys::identity("CN=other", keys::RSA);
    // Another key than that of the connection; then a stranger's signature, and no certificate.
    let attacks = [(&idp, "InvalidSecurityToken"), (&other, "FailedCheck")];
    for (issuer, fault) in attacks {
        let holder = &other;
        let stolen = message(&assertion("alice", holder.certificate(), issuer));
        let stream = connect(gateway.address(), b"http/1.1", true).await;
        let stream = stream.expect("a handshake");
        let answer = send_over(stream, boasting(stolen))
            .await
            .expect("an answer");
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(answer.body.contains(fault), "{}", answer.body);
    }
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn assertions_by_the_connection_want_tls() {
    let mut backend = Backend::echo().await;
    let folder = folder();
    let gateway = folder.gateway(&file(backend.address, "")).await;
    let idp = keys::identity("CN=idp", keys::RSA);
    let right = message(&assertion("alice", idp.certificate(), &idp));
    let answer = send(gateway.address(), boasting(right)).await;
    assert_ne!(answer.status, StatusCode::OK);
    assert!(backend.seen.try_recv().is_err());
    let right = file(backend.address, MUTUAL);
    let changes = [
        (
            "subject = \"X-Subject\"",
            "subject = \"Authorization\"",
            "expected a field of the application",
        ),
        (
            "subject = \"X-Subject\"",
            "subject = \"X-Forwarded-For\"",
            "expected a field of the application",
        ),
        (
            "subject = \"X-Subject\"",
            "subject = \"X-Role\"",
            "a field is there for two things",
        ),
    ];
    for (from, to, expected) in changes {
        let told = config_problems(&folder, &right.replace(from, to));
        assert!(told.contains(expected), "{to}: {told}");
    }
    let plain = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\nidentity = {{ subject = \"X-Subject\" }}\n",
        backend.address
    );
    let told = config_problems(&folder, &plain);
    assert!(
        told.contains(
            "`identity` tells of assertions and of inner protection, and neither is asked for"
        ),
        "{told}"
    );
}

/// Roles go by what the assertion says, and never by the name in its holder's certificate: nobody
/// has checked that.
#[tokio::test]
async fn an_attribute_of_an_assertion_makes_a_member_and_the_name_of_its_holder_does_not() {
    let attribute = |issuer: &str, value: &str| {
        format!("attributes = [{{ issuer = \"{issuer}\", name = \"role\", value = \"{value}\" }}]")
    };
    for (members, expected) in [
        (attribute("https://idp.example", "reader"), StatusCode::OK),
        (
            attribute("https://idp.example", "writer"),
            StatusCode::FORBIDDEN,
        ),
        (
            attribute("https://other.example", "reader"),
            StatusCode::FORBIDDEN,
        ),
        (
            "subjects = [\"CN=client\"]".to_owned(),
            StatusCode::FORBIDDEN,
        ),
        ("users = [\"alice\"]".to_owned(), StatusCode::FORBIDDEN),
    ] {
        let backend = Backend::echo().await;
        let folder = folder();
        let roles = format!(
            "[[roles]]\nname = \"readers\"\nmembers = {{ {members} }}\nallow = [\"/echo:*\"]\n"
        );
        let text =
            file(backend.address, MUTUAL).replace("[[routes]]", &format!("{roles}[[routes]]"));
        let gateway = folder.gateway(&text).await;
        let idp = keys::identity("CN=idp", keys::RSA);
        let client = keys::identity("CN=client", keys::RSA);
        let right = message(&assertion("alice", client.certificate(), &idp));
        let stream = connect(gateway.address(), b"http/1.1", true).await;
        let stream = stream.expect("a handshake");
        let answer = send_over(stream, boasting(right)).await.expect("an answer");
        assert_eq!(answer.status, expected, "{members}: {}", answer.body);
    }
}
