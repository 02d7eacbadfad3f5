//! `soapstone secure` and `soapstone open` under a policy whose operations demand different things.

mod common;

use common::{Folder, SOAP11, key};

const HEAD: &str = "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:bank' targetNamespace='urn:bank' \
    xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702' \
    xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>";

/// `Ask` is signed; `Pay` and `Move` are encrypted as well, the second one with a header that is
/// signed.
fn bank() -> String {
    let token = |role: &str, inclusion: &str| {
        format!(
            "<sp:{role}><wsp:Policy><sp:X509Token sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/{inclusion}'>\
             <wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token></wsp:Policy></sp:{role}>"
        )
    };
    let binding = format!(
        "<sp:AsymmetricBinding><wsp:Policy>{}{}<sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>\
         <sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>",
        token("InitiatorToken", "AlwaysToRecipient"),
        token("RecipientToken", "Never")
    );
    let encrypted = "<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
    let header =
        "<sp:SignedParts><sp:Header Name='Session' Namespace='urn:bank'/></sp:SignedParts>";
    let (mut messages, mut abstracts, mut bounds) = (String::new(), String::new(), String::new());
    for (name, more) in [
        ("Ask", String::new()),
        ("Pay", encrypted.to_owned()),
        ("Move", format!("{encrypted}{header}")),
    ] {
        messages.push_str(&format!(
            "<message name='{name}'><part name='p' element='t:{name}'/></message>"
        ));
        abstracts.push_str(&format!(
            "<operation name='{name}'><input message='t:{name}'/></operation>"
        ));
        bounds.push_str(&format!(
            "<operation name='{name}'><wsp:Policy>{binding}{more}</wsp:Policy><soap:operation soapAction='urn:bank:{name}'/>\
             <input><soap:body use='literal'/></input></operation>"
        ));
    }
    format!(
        "{HEAD}{messages}<portType name='Bank'>{abstracts}</portType><binding name='B' type='t:Bank'>\
         <soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>{bounds}</binding>\
         <service name='S'><port name='P' binding='t:B'><soap:address location='http://bank/'/></port></service></definitions>"
    )
}

/// Endpoint files of both sides: `client.toml` and `server.toml`, and one of each for `Pay` alone.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("bank.wsdl", bank());
    for (us, peer) in [("client", "server"), ("server", "client")] {
        for (suffix, subject) in [
            ("", ""),
            ("-pay", "policy_subject = { operation = \"Pay\" }\n"),
        ] {
            let text = format!(
                "[security]\npolicy = \"bank.wsdl\"\n{subject}[identity]\nkey = \"{}\"\ncertificate = \"{}\"\n[peer]\ncertificate = \"{}\"\n\
                 [trust]\nanchors = [\"{}\"]\n",
                key(&format!("{us}.key.pem")),
                key(&format!("{us}.cert.pem")),
                key(&format!("{peer}.cert.pem")),
                key("ca.cert.pem"),
            );
            folder.write(&format!("{us}{suffix}.toml"), text);
        }
    }
    for name in ["Ask", "Pay", "Steal"] {
        let text = format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body><b:{name} xmlns:b=\"urn:bank\">5</b:{name}></s:Body></s:Envelope>"
        );
        folder.write(&format!("{name}.xml"), text);
    }
    folder
}

#[test]
fn a_message_is_secured_and_opened_as_its_body_says() {
    let folder = folder();
    folder
        .run("secure --config client.toml Ask.xml -o secured.xml")
        .succeeds();
    let verdict = folder
        .run("open --config server.toml --json secured.xml")
        .succeeds()
        .json();
    assert_eq!(verdict["outcome"], "accepted");
    assert_eq!(verdict["encrypted"], serde_json::json!([]));
    folder
        .run("secure --config client.toml Pay.xml -o secured.xml")
        .succeeds();
    assert!(folder.read("secured.xml").contains("EncryptedData"));
}

#[test]
fn an_encrypted_message_needs_its_operation_named() {
    let folder = folder();
    folder
        .run("secure --config client.toml Pay.xml -o secured.xml")
        .succeeds();
    let refused = folder
        .run("open --config server.toml secured.xml")
        .refuses("operation-unclear");
    assert!(refused.err.contains("policy_subject"), "{}", refused.err);
    folder
        .run("open --config server-pay.toml secured.xml")
        .succeeds();
}

#[test]
fn a_message_of_no_operation_is_refused() {
    let folder = folder();
    folder
        .run("secure --config client.toml Steal.xml")
        .fails("expected an operation of the policy, found `{urn:bank}Steal`");
    folder
        .run("open --config server.toml Steal.xml")
        .refuses("operation-unknown");
}

#[test]
fn a_gateway_takes_such_a_policy() {
    let folder = folder();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/bank\"\nbackend = \"http://127.0.0.1:9\"\n[routes.inbound]\n\
         identity = {{ key = \"{}\", certificate = \"{}\" }}\ntrust = {{ anchors = [\"{}\"] }}\nsecurity = {{ policy = \"bank.wsdl\" }}\n",
        key("server.key.pem"),
        key("server.cert.pem"),
        key("ca.cert.pem"),
    );
    folder.write("gateway.toml", text);
    let told = folder
        .run("gateway --config gateway.toml --check")
        .succeeds();
    assert!(
        told.text().contains("inbound by-operation"),
        "{}",
        told.text()
    );
}
