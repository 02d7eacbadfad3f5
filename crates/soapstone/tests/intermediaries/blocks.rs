//! Which blocks a node takes out, and what it puts back of others.
use super::*;

const NEXT: &str = "http://schemas.xmlsoap.org/soap/actor/next";

/// What a client does for the second node alone.
fn for_second() -> String {
    format!(
        "security = {{ mechanism = \"sign\", {SUITE}, actor = \"urn:second\", \
         signed = [\"Timestamp\", \"{{urn:hop}}price\"] }}\n"
    )
}

/// SOAP 1.1, 4.2.2: every node is the next one, whatever else it is called.
#[test]
fn a_node_takes_out_what_is_for_its_name_and_for_the_next_one() {
    let nodes = Nodes::new();
    let blocks = format!(
        "<o:named xmlns:o=\"urn:o\" s:actor=\"urn:second\"/><o:next xmlns:o=\"urn:o\" s:actor=\"{NEXT}\"/>\
         <o:other xmlns:o=\"urn:o\" s:actor=\"urn:third\"/>"
    );
    let plain = with_header(SOAP11, &(blocks + &price("")), HELLO);
    let sent = nodes.sent(&for_second(), plain).expect("it is secured");
    let passed = nodes.passed("second", &second(), &sent);
    let passed = passed.expect("the second node");
    let mut taken_out = passed.passed.evidence().taken_out.clone();
    taken_out.sort_unstable();
    assert_eq!(taken_out, [SECURITY, "{urn:o}named", "{urn:o}next"]);
    assert!(text(&passed).contains("<o:other "), "{}", text(&passed));
}

/// Nobody signs for whom an `EncryptedHeader` is.
#[test]
fn a_block_is_for_whom_its_plaintext_says() {
    let nodes = Nodes::new();
    let actor = format!(" s:actor=\"{NEXT}\"");
    let plain = with_header(SOAP11, &(route(&actor) + &price("")), HELLO);
    let sent = nodes.sent(&client(), plain).expect("it is secured");
    let start = block(&sent, "<wsse11:EncryptedHeader", ">");
    let silent = start.replacen(&actor.replacen("s:", "soap:", 1), "", 1);
    assert_ne!(silent, start);
    let changed = sent.replacen(start, &silent, 1);
    for sent in [sent.clone(), changed] {
        let passed = nodes.passed("first", &first(), &sent);
        let passed = passed.expect("the first node");
        let taken_out = &passed.passed.evidence().taken_out;
        assert_eq!(taken_out, &[SECURITY, "{urn:hop}route"]);
    }
}

/// SOAP 1.1, 4.2.3: a block for this node that has to be understood, and is not. Its cipher text
/// says so, or its plaintext alone.
#[test]
fn a_block_that_is_not_understood_says_so_in_cipher_text_or_in_plaintext() {
    let nodes = Nodes::new();
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let encrypting = |text: String| text.replacen("{urn:hop}route\"] }", "#x\"] }", 1);
    let for_first = encrypting(first()).replacen(
        "role = \"next\"\nsecurity = {",
        "peer = { certificate = \"first.cert.pem\" }\nsecurity = { actor = \"next\",",
        1,
    );
    let unknown = format!(
        "<o:unknown xmlns:o=\"urn:o\" xmlns:u=\"{wsu}\" u:Id=\"x\" s:actor=\"{NEXT}\" s:mustUnderstand=\"1\"/>"
    );
    let plain = with_header(SOAP11, &(route("") + &unknown), HELLO);
    let sent = nodes.sent(&for_first, plain).expect("it is secured");
    let start = block(&sent, "<wsse11:EncryptedHeader", ">");
    let silent = start.replacen(" soap:mustUnderstand=\"1\"", "", 1);
    assert_ne!(silent, start);
    let header = "{urn:o}unknown".to_owned();
    for sent in [sent.clone(), sent.replacen(start, &silent, 1)] {
        let refused = nodes.passed("first", &encrypting(first()), &sent);
        let refused = refused.expect_err("nobody here knows it");
        let header = header.clone();
        assert_eq!(refused, Rejected::HeaderNotUnderstood { header });
    }
}

/// The content of a block is put back inside of it, in either order of protection: the node's own
/// signature over cipher text goes with its header.
#[test]
fn what_a_node_reads_of_a_block_is_put_back_inside_of_it() {
    let nodes = Nodes::new();
    for mechanism in ["sign-encrypt", "encrypt-sign"] {
        let reading = |role: &str| {
            format!(
                "{role}security = {{ mechanism = \"{mechanism}\", {SUITE}, \
                 signed = [\"Timestamp\", \"{{urn:hop}}route\"], encrypted = [\"content:{{urn:hop}}route\"]"
            )
        };
        let for_first = reading("peer = { certificate = \"first.cert.pem\" }\n");
        let for_first = format!("{for_first}, actor = \"next\" }}\n");
        let node = reading("role = \"next\"\nreinsert = true\n") + " }\n";
        let inside = "<h:route xmlns:h=\"urn:hop\"><h:way>north</h:way></h:route>";
        let plain = with_header(SOAP11, inside, HELLO);
        let sent = nodes.sent(&for_first, plain).expect("it is secured");
        assert!(!sent.contains("north"), "{sent}");
        let left = nodes.passed("first", &node, &sent);
        let left = text(&left.expect("the first node"));
        let put_back = block(&left, "<h:route", "</h:route>");
        assert!(
            put_back.ends_with("<h:way>north</h:way></h:route>"),
            "{left}"
        );
    }
}

/// What an application signs in the Body as a whole is its own affair.
#[test]
fn references_of_an_application_to_its_document_are_left_alone() {
    let nodes = Nodes::new();
    let body = format!(
        "<e:echo xmlns:e=\"urn:echo\"><ds:Reference xmlns:ds=\"{}\" URI=\"\"/></e:echo>",
        soapstone::xmlsec::namespaces::DSIG
    );
    let plain = with_header(SOAP11, &(route("") + &price("")), &body);
    let sent = nodes.sent(&for_second(), plain).expect("it is secured");
    let passed = nodes.passed("second", &second(), &sent);
    let passed = passed.expect("the second node");
    assert!(text(&passed).contains("URI=\"\""));
}
