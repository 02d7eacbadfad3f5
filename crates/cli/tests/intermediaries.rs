//! `soapstone open` at a node on the way: the message for the next node comes out.

mod common;

use common::{Folder, SOAP11, key};

const SECURITY: &str =
    "{http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd}Security";

fn file(name: &str, rest: &str) -> String {
    format!(
        "identity = {{ key = \"{}\", certificate = \"{}\" }}\ntrust = {{ anchors = [\"{}\"] }}\n{rest}",
        key(&format!("{name}.key.pem")),
        key(&format!("{name}.cert.pem")),
        key("ca.cert.pem")
    )
}

#[test]
fn a_node_on_the_way_writes_the_message_for_the_next_one() {
    let folder = Folder::new();
    let route = "<h:route xmlns:h=\"urn:hop\">north</h:route>";
    folder.write(
        "plain.xml",
        format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Header>\n{route} <!-- kept --></s:Header><s:Body><a xmlns=\"urn:a\"/></s:Body></s:Envelope>"
        ),
    );
    let client = "security = { mechanism = \"sign\" }\n[[recipients]]\nactor = \"next\"\nmechanism = \"sign\"\n\
         signed = [\"Timestamp\", \"{urn:hop}route\"]\n";
    let node = "role = \"next\"\nsecurity = { mechanism = \"sign\", signed = [\"Timestamp\", \"{urn:hop}route\"] }\n";
    folder.write("client.toml", file("client", client));
    folder.write("node.toml", file("server", node));
    folder.write(
        "service.toml",
        file("server", "security = { mechanism = \"sign\" }\n"),
    );
    folder
        .run("secure --config client.toml plain.xml -o sent.xml")
        .succeeds();
    let verdict = folder
        .run("open --config node.toml sent.xml --json -o next.xml")
        .succeeds()
        .json();
    assert_eq!(verdict["outcome"], "accepted");
    assert_eq!(verdict["taken_out"], serde_json::json!([SECURITY]));
    let body = format!("{{{SOAP11}}}Body");
    assert_eq!(verdict["unproven"], serde_json::json!([SECURITY, body]));
    let (sent, next) = (folder.read("sent.xml"), folder.read("next.xml"));
    let end = "</wsse:Security>";
    let start = sent.find("<wsse:Security ").expect("a header");
    let behind = start + sent[start..].find(end).expect("its end") + end.len();
    assert_eq!(next, sent[..start].to_owned() + &sent[behind..]);
    folder.run("open --config service.toml next.xml").succeeds();
    // The header of the node is still there, and has to be understood.
    folder
        .run("open --config service.toml sent.xml")
        .refuses("header-not-understood");
    folder
        .run("open --config node.toml next.xml")
        .refuses("security-missing");
}
