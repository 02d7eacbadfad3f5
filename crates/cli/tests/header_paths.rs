//! `soapstone secure` and `soapstone open` under a policy whose paths lead into the Security
//! header, as those of WebSphere do.

mod common;

use common::{Folder, SOAP11, envelope, key};

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200512";
const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";

/// An asymmetric binding with a user; `paths` are what else is signed and encrypted.
fn policy(paths: &str) -> String {
    let nest = |name: &str, inner: &str| {
        format!("<sp:{name}><wsp:Policy>{inner}</wsp:Policy></sp:{name}>")
    };
    let token = |name: &str, inner: &str| {
        format!(
            "<sp:{name} sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'><wsp:Policy>{inner}</wsp:Policy></sp:{name}>"
        )
    };
    let certificate = token("X509Token", "<sp:WssX509V3Token10/>");
    let binding = [
        nest("InitiatorToken", &certificate),
        nest("RecipientToken", &certificate),
        nest("AlgorithmSuite", "<sp:Basic256/>"),
        "<sp:IncludeTimestamp/>".to_owned(),
    ];
    format!(
        "<wsp:Policy xmlns:wsp='http://schemas.xmlsoap.org/ws/2004/09/policy' xmlns:sp='{SP}' xmlns:s='{SOAP11}' xmlns:w='{WSSE}' \
         xmlns:d='http://www.w3.org/2000/09/xmldsig#'>{}{}<sp:SignedParts><sp:Body/></sp:SignedParts>{paths}</wsp:Policy>",
        nest("AsymmetricBinding", &binding.concat()),
        nest(
            "SupportingTokens",
            &token("UsernameToken", "<sp:HashPassword/>")
        ),
    )
}

fn elements(assertion: &str, last: &str) -> String {
    format!(
        "<sp:{assertion}><sp:XPath>/s:Envelope/s:Header/w:Security/{last}</sp:XPath></sp:{assertion}>"
    )
}

/// Endpoint files of both sides, for the policy with the paths and for the one without:
/// `client.toml`, `client-plain.toml`, and `server` likewise.
fn folder(paths: &str) -> Folder {
    let folder = Folder::new();
    folder.write("plain.xml", envelope(SOAP11));
    for (suffix, paths) in [("", paths), ("-plain", "")] {
        folder.write(&format!("policy{suffix}.xml"), policy(paths));
        for (us, peer) in [("client", "server"), ("server", "client")] {
            let text = format!(
                "users = [{{ name = \"alice\", password = \"secret\" }}]\n[security]\npolicy = \"policy{suffix}.xml\"\n[identity]\nkey = \"{}\"\n\
                 certificate = \"{}\"\n[peer]\ncertificate = \"{}\"\n[trust]\nanchors = [\"{}\"]\n",
                key(&format!("{us}.key.pem")),
                key(&format!("{us}.cert.pem")),
                key(&format!("{peer}.cert.pem")),
                key("ca.cert.pem"),
            );
            folder.write(&format!("{us}{suffix}.toml"), text);
        }
    }
    folder
}

/// WS-SecurityPolicy 1.3, 4.2.2.
#[test]
fn what_paths_select_in_the_header_that_a_sender_writes_is_encrypted() {
    let folder = folder(&format!(
        "{}{}{}",
        elements("SignedElements", "w:UsernameToken"),
        elements("EncryptedElements", "w:UsernameToken"),
        elements("EncryptedElements", "d:Signature")
    ));
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .succeeds();
    let secured = folder.read("secured.xml");
    for hidden in ["UsernameToken", "alice", "SignedInfo"] {
        assert!(!secured.contains(hidden), "{hidden}: {secured}");
    }
    folder
        .run("open --config server.toml secured.xml")
        .succeeds();
}

#[test]
fn a_message_without_what_the_paths_demand_is_refused() {
    for (paths, reason) in [
        (elements("SignedElements", "w:UsernameToken"), "unsigned"),
        (
            elements("EncryptedElements", "w:UsernameToken"),
            "unencrypted",
        ),
        (elements("EncryptedElements", "d:Signature"), "unencrypted"),
    ] {
        let folder = folder(&paths);
        folder
            .run("secure --config client-plain.toml plain.xml -o secured.xml")
            .succeeds();
        folder
            .run("open --config server.toml secured.xml")
            .refuses(reason);
    }
}
