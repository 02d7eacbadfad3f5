//! `soapstone policy`: policies explained, refused, normalized, intersected and merged.

mod common;

use common::{Folder, key};

const HEAD: &str = "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702'>";

/// A policy with an asymmetric binding; `more` stands beside it.
fn policy(suite: &str, more: &str) -> String {
    let token = |role: &str, inclusion: &str| {
        format!(
            "<sp:{role}><wsp:Policy><sp:X509Token sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/{inclusion}'>\
             <wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token></wsp:Policy></sp:{role}>"
        )
    };
    format!(
        "{HEAD}<sp:AsymmetricBinding><wsp:Policy>{}{}<sp:AlgorithmSuite><wsp:Policy><sp:{suite}/></wsp:Policy></sp:AlgorithmSuite>\
         <sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>\n{more}</wsp:Policy>",
        token("InitiatorToken", "AlwaysToRecipient"),
        token("RecipientToken", "Never"),
    )
}

const RIGHTS: &str =
    "<sp:SupportingTokens><wsp:Policy><sp:RelToken/></wsp:Policy></sp:SupportingTokens>";

/// A WSDL with one port, whose binding has the policy of another file.
const WSDL: &str = "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' \
    xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>\
    <binding name='B' type='t:T'><wsp:PolicyReference URI='policy.xml'/><operation name='add'><input/><output/></operation>\
    <operation name='get'><input/><output/></operation></binding>\
    <service name='S'><port name='Books' binding='t:B'><soap:address location='http://localhost/books'/></port></service></definitions>";

#[test]
fn a_supported_policy_is_told_in_words() {
    let folder = Folder::new();
    folder.write("policy.xml", policy("Basic256Sha256", ""));
    let told = folder.run("policy policy.xml").succeeds();
    for words in [
        "Request:",
        "Algorithms: Basic256Sha256 (rsa-sha1, sha256).",
        "Signed with the key of the sender's certificate, which is in the message: the Body; the Timestamp.",
        "Response:",
    ] {
        assert!(told.text().contains(words), "{words}\n{}", told.text());
    }
    let other = folder
        .run("policy policy.xml --sha256-signatures")
        .succeeds();
    assert!(other.text().contains("(rsa-sha256, sha256)"));
}

#[test]
fn what_an_endpoint_s_description_imports_is_found_beside_the_description() {
    let folder = Folder::new();
    folder.write("wsdl/service.wsdl", WSDL);
    folder.write("wsdl/policy.xml", policy("Basic256Sha256", ""));
    folder.write(
        "endpoint.toml",
        "[security]\npolicy = \"wsdl/service.wsdl\"\npolicy_subject = { operation = \"get\" }\n",
    );
    let told = folder.run("policy endpoint.toml").succeeds();
    let directly = folder
        .run("policy wsdl/service.wsdl --operation get")
        .succeeds();
    assert!(told.text().contains("Algorithms: Basic256Sha256"));
    assert_eq!(
        told.text().replace("endpoint.toml", "wsdl/service.wsdl"),
        directly.text()
    );
}

#[test]
fn what_is_not_supported_is_named_with_its_place_and_exit_code_2() {
    let folder = Folder::new();
    folder.write("policy.xml", policy("Basic256", RIGHTS));
    let run = folder.run("policy policy.xml");
    assert_eq!(run.status, 2);
    assert!(
        run.err.contains(
            "refused (policy-not-supported): `sp:RelToken` is not supported: rights expressions are not supported (at line 2 column 34)"
        ),
        "{}",
        run.err
    );
    assert!(run.err.contains("unsupported: sp:RelToken"), "{}", run.err);
    assert!(String::from_utf8_lossy(&run.out).contains("Not supported:"));
}

#[test]
fn a_wsdl_is_told_by_port_with_operations_that_agree_together() {
    let folder = Folder::new();
    folder
        .write("policy.xml", policy("Basic128", ""))
        .write("books.wsdl", WSDL);
    let told = folder.run("policy books.wsdl").succeeds();
    assert!(
        told.text()
            .starts_with("port Books: add, get (http://localhost/books)\n"),
        "{}",
        told.text()
    );
    let missing = folder.run("policy books.wsdl --port Films");
    assert_eq!(missing.status, 1);
    assert!(
        missing.err.contains("service S, port Books, operation add"),
        "{}",
        missing.err
    );
}

#[test]
fn json_has_the_plans_of_request_and_response() {
    let folder = Folder::new();
    folder.write("policy.xml", policy("Basic128", ""));
    let run = folder.run("policy policy.xml --json").succeeds();
    let found = run.json();
    let subject = &found[0];
    assert_eq!(subject["outcome"], "supported");
    assert_eq!(subject["request"]["suite"], "Basic128");
    assert_eq!(subject["request"]["signature"]["key"], "certificate");
    assert_eq!(subject["request"]["signature"]["reference"], "direct");
    assert_eq!(
        subject["response"]["signature"]["reference"],
        "issuer-serial"
    );
    assert_eq!(
        subject["request"]["signature"]["parts"][1]["part"],
        "Timestamp"
    );
    folder.write("policy.xml", policy("Basic128", RIGHTS));
    let run = folder.run("policy policy.xml --json");
    assert_eq!(run.status, 2);
    let found = run.json();
    assert_eq!(found[0]["outcome"], "not-supported");
    assert_eq!(found[0]["problems"][0]["assertion"], "RelToken");
    assert_eq!(found[0]["problems"][0]["line"], 2);
}

#[test]
fn policies_are_normalized_intersected_and_merged() {
    let folder = Folder::new();
    folder
        .write(
            "either.xml",
            format!("{HEAD}<a xmlns='urn:a'/><b xmlns='urn:a' wsp:Optional='true'/></wsp:Policy>"),
        )
        .write(
            "plain.xml",
            format!("{HEAD}<a xmlns='urn:a'/></wsp:Policy>"),
        )
        .write(
            "other.xml",
            format!("{HEAD}<c xmlns='urn:a'/></wsp:Policy>"),
        );
    let normal = folder.run("policy either.xml --normalize").succeeds();
    assert_eq!(normal.text().matches("<wsp:All>").count(), 2);
    // What is written is a policy again.
    folder.write("normal.xml", normal.text());
    let again = folder.run("policy normal.xml --normalize").succeeds();
    assert_eq!(again.text(), normal.text());
    let both = folder
        .run("policy either.xml --intersect plain.xml --json")
        .succeeds();
    let found = both.json();
    assert_eq!(
        found["alternatives"],
        serde_json::json!([["{urn:a}a", "{urn:a}a"]])
    );
    let none = folder
        .run("policy either.xml --intersect other.xml")
        .succeeds();
    assert!(none.text().contains("<wsp:ExactlyOne/>"), "{}", none.text());
    let merged = folder.run("policy either.xml --merge other.xml").succeeds();
    assert_eq!(merged.text().matches("<c xmlns=\"urn:a\"/>").count(), 2);
}

#[test]
fn a_document_that_is_no_policy_or_too_much_of_one_fails() {
    let folder = Folder::new();
    folder.write("page.html", "<html/>");
    let run = folder.run("policy page.html");
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("expected `wsp:Policy` or a WSDL 1.1"),
        "{}",
        run.err
    );
    let bomb: String = (0..40)
        .map(|number| format!("<a{number} xmlns='urn:a' wsp:Optional='true'/>"))
        .collect();
    folder.write("bomb.xml", format!("{HEAD}{bomb}</wsp:Policy>"));
    let bomb = folder.run("policy bomb.xml").refuses("policy-not-usable");
    assert!(
        bomb.err.contains("more than 4096 alternatives"),
        "{}",
        bomb.err
    );
    let absolute = WSDL.replace("policy.xml", "/etc/hostname");
    folder.write("books.wsdl", absolute);
    let missed = folder.run("policy books.wsdl").refuses("policy-not-usable");
    assert!(missed.err.contains("`/etc/hostname`"), "{}", missed.err);
    folder.write("none.xml", format!("{HEAD}<wsp:ExactlyOne/></wsp:Policy>"));
    let nothing = folder.run("policy none.xml").refuses("policy-not-usable");
    assert!(
        nothing.err.contains("allows no messages"),
        "{}",
        nothing.err
    );
}

#[test]
fn an_endpoint_file_is_written_as_the_policy_that_it_demands() {
    let folder = Folder::new();
    folder.write(
        "endpoint.toml",
        "[security]\nmechanism = \"sign-encrypt\"\nsuite = \"Basic256Sha256+RsaSha256\"\n",
    );
    let told = folder.run("policy endpoint.toml").succeeds();
    for words in [
        "Algorithms: Basic256Sha256 (rsa-sha256, sha256, rsa-oaep-mgf1p, aes256-cbc).",
        "Signed with the key of the sender's certificate, which is in the message: the Body; the Timestamp.",
        "It is signed first, then encrypted.",
    ] {
        assert!(told.text().contains(words), "{words}\n{}", told.text());
    }
    let normal = folder.run("policy endpoint.toml --normalize").succeeds();
    assert!(
        normal.text().contains("<sp:Basic256Sha256/>"),
        "{}",
        normal.text()
    );
    // What was written is read like any other policy, and says the same if its suite is read as it
    // is meant.
    folder.write("policy.xml", normal.text());
    let again = folder
        .run("policy policy.xml --sha256-signatures")
        .succeeds();
    assert_eq!(again.text(), told.text());
    let letter = folder.run("policy policy.xml").succeeds();
    assert_ne!(letter.text(), told.text());
}

#[test]
fn an_endpoint_file_that_no_policy_can_say_is_refused_with_what_could_be_said() {
    let folder = Folder::new();
    folder.write(
        "endpoint.toml",
        "[security]\nmechanism = \"sign-encrypt\"\n",
    );
    let run = folder.run("policy endpoint.toml --normalize");
    assert_eq!(run.status, 2, "{}", run.err);
    for words in [
        "refused (policy-not-sayable): WS-SecurityPolicy has no name for the suite of rsa-sha256, sha256, rsa-oaep, aes256-gcm",
        "`Basic256Sha256+RsaSha256`",
    ] {
        assert!(run.err.contains(words), "{words}\n{}", run.err);
    }
    assert!(run.out.is_empty());
}

#[test]
fn an_endpoint_file_with_a_policy_is_told_by_that_policy() {
    let folder = Folder::new();
    folder
        .write("policy.xml", policy("Basic256Sha256", ""))
        .write(
            "endpoint.toml",
            "[security]\npolicy = \"policy.xml\"\nsha256_suites = \"sha256\"\n",
        );
    let told = folder.run("policy endpoint.toml").succeeds();
    let itself = folder
        .run("policy policy.xml --sha256-signatures")
        .succeeds();
    assert_eq!(told.text(), itself.text());
}

#[test]
fn a_gateways_file_is_told_route_by_route() {
    let folder = Folder::new();
    folder.write(
        "gateway.toml",
        format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/books\"\nbackend = \"http://127.0.0.1:9/books\"\n[routes.inbound]\n\
             identity = {{ key = \"{}\", certificate = \"{}\" }}\ntrust = {{ anchors = [\"{}\"] }}\n\
             security = {{ mechanism = \"sign\", suite = \"Basic256Sha256\" }}\n\
             [[routes]]\npath = \"/plain\"\nbackend = \"http://127.0.0.1:9/plain\"\n",
            key("server.key.pem"),
            key("server.cert.pem"),
            key("ca.cert.pem")
        ),
    );
    let told = folder.run("policy gateway.toml").succeeds();
    let lines: Vec<&str> = told.text().lines().collect();
    assert_eq!(lines[0], "route /books -> http://127.0.0.1:9/books");
    assert_eq!(lines[1], "  Clients: sign Basic256Sha256");
    assert_eq!(lines[2], "    Requests:");
    assert!(told.text().contains("\n    Answers:\n"), "{}", told.text());
    let plain = "route /plain -> http://127.0.0.1:9/plain\n  Clients: messages pass as they are.\n  Backend: messages pass as they are.\n";
    assert!(told.text().ends_with(plain), "{}", told.text());
    folder.write("gateway.toml", "[[routes]]\npath = 1\n");
    folder.run("policy gateway.toml").fails("gateway.toml:");
}

/// `cases/sectors/13` and `cases/clients/14`.
#[test]
fn what_was_chosen_or_is_without_effect_is_told() {
    let folder = Folder::new();
    let mtom = "<m:MTOM xmlns:m='http://www.w3.org/2007/08/soap12-mtom-policy'/>";
    folder.write(
        "policy.xml",
        policy("Basic128Rsa15/><sp:TripleDesRsa15", mtom),
    );
    let forgotten = "<wsp:Policy xml:id='forgotten'/><binding ";
    folder.write("service.wsdl", WSDL.replacen("<binding ", forgotten, 1));
    let told = folder.run("policy service.wsdl").succeeds();
    for words in [
        "`sp:AlgorithmSuite` lists several suites, of which messages have one: `Basic128Rsa15` is used, not `TripleDesRsa15` (at ",
        "`{http://www.w3.org/2007/08/soap12-mtom-policy}MTOM` asks for MTOM: messages are sent and read as XML alone, which peers that insist on it refuse (at ",
        "Attached to nothing, so that no message has it: forgotten (at line 1 column ",
    ] {
        assert!(told.text().contains(words), "{words}\n{}", told.text());
    }
    let json = folder.run("policy service.wsdl --json").succeeds();
    assert!(json.text().contains("\"notices\""), "{}", json.text());
}
