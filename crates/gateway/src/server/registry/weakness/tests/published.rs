//! Mechanisms, as gateways publish and agree on them.

use soapstone_testkit::Folder;
use soapstone_testkit::keys::RSA;

use super::*;
use crate::config::Config;
use crate::config::published::{PublishedPolicy, Subject};

/// The description of a service behind a gateway, and the endpoint of a client that agreed on
/// the same mechanism.
fn published(mechanism: &str, of_service: &str, of_client: &str) -> Option<String> {
    let folder = Folder::with_keys(RSA, &["service", "client"]);
    let side = |own: &str, peer: &str, more: &str| {
        format!(
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
             security = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256+RsaSha256\"{more} }}\n"
        )
    };
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/service\"\nbackend = \"http://127.0.0.1:1/\"\n\
         publish_policy = true\n[routes.inbound]\n{}[[routes]]\npath = \"/client\"\n\
         backend = \"http://127.0.0.1:2/\"\n[routes.outbound]\n{}",
        side("service", "client", of_service),
        side("client", "service", of_client)
    );
    let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let inbound = config.routes[0].inbound.as_ref().expect("it faces clients");
    let Some(PublishedPolicy::Policies {
        attached,
        namespace,
    }) = &inbound.published
    else {
        panic!("it has policies");
    };
    let refer = |subject: Subject| {
        let of_subject = attached.iter().filter(|it| it.subject == subject);
        let references = of_subject.map(|it| {
            format!(
                "<wsp:PolicyReference xmlns:wsp=\"{namespace}\" URI=\"#{}\"/>",
                it.id
            )
        });
        references.collect::<String>()
    };
    let elements: String = attached.iter().map(|it| it.element.as_str()).collect();
    let (of_binding, of_message) = (refer(Subject::Endpoint), refer(Subject::Message));
    let described = format!(
        "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\" \
         xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\">{elements}<w:binding name=\"b\" type=\"t:T\">{of_binding}\
         <soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/><w:operation name=\"echo\">\
         <w:input>{of_message}</w:input><w:output>{of_message}</w:output></w:operation></w:binding></w:definitions>"
    );
    let described = policies(described.into_bytes()).expect("it compiles");
    let outbound = config.routes[1].outbound.as_ref().expect("it calls");
    weakness(&outbound.endpoint, &described)
}

/// Nobody is guilty who serves what was agreed on.
#[test]
fn a_mechanism_is_no_weaker_than_itself_as_it_is_published() {
    for mechanism in [
        "sign",
        "encrypt",
        "sign-encrypt",
        "encrypt-sign",
        "secure-conversation",
    ] {
        assert_eq!(published(mechanism, "", ""), None, "{mechanism}");
    }
    let header = ", signed = [\"Body\", \"{urn:a}To\", \"Timestamp\"]";
    assert_eq!(published("sign", header, header), None);
    assert_eq!(published("sign", header, ""), None);
    let found = published("sign", "", header).expect("it is weaker");
    assert!(
        found.starts_with("requests: ") && found.contains("To"),
        "{found}"
    );
}
