//! Nothing goes that a later node refers to.
use super::*;

/// Attack: what a later node needs stands in the header that a node takes out.
#[test]
fn nothing_is_taken_out_that_a_later_node_refers_to() {
    let nodes = Nodes::new();
    let route_for_next = route(" s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"");
    let for_first = format!(
        "security = {{ mechanism = \"sign\", {SUITE}, actor = \"next\", signed = [\"Timestamp\", \"{{urn:hop}}route\"] }}\n"
    );
    let reads = format!(
        "role = \"next\"\nsecurity = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"{{urn:hop}}route\"] }}\n"
    );
    let once = nodes
        .sent(&for_first, with_header(SOAP11, &route_for_next, HELLO))
        .expect("it is secured");
    nodes
        .passed("first", &reads, &once)
        .expect("the first node");
    for covered in ["{urn:hop}route", SECURITY] {
        let for_service = format!(
            "security = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"Body\", \"{covered}\"] }}\n"
        );
        let twice = nodes
            .sent(&for_service, once.clone())
            .expect("it is secured");
        let refused = nodes.passed("first", &reads, &twice).expect_err(covered);
        assert_eq!(
            refused,
            Rejected::SignatureWouldBreak {
                element: covered.to_owned()
            }
        );
    }
    // A key that the header of another node names.
    let for_service = format!("security = {{ mechanism = \"sign\", {SUITE} }}\n");
    let twice = nodes.sent(&for_service, once).expect("it is secured");
    let all = headers(&twice);
    let token = |header: &str| {
        block(
            header,
            "<wsse:BinarySecurityToken",
            "</wsse:BinarySecurityToken>",
        )
        .to_owned()
    };
    let id = |header: &str| {
        let token = token(header);
        let id = token.split("wsu:Id=\"").nth(1).expect("an id");
        id.split('"').next().expect("its end").to_owned()
    };
    let shared = twice.replacen(&token(all[0]), "", 1).replacen(
        &format!("URI=\"#{}\"", id(all[0])),
        &format!("URI=\"#{}\"", id(all[1])),
        1,
    );
    let refused = nodes
        .passed("first", &reads, &shared)
        .expect_err("the key would be gone");
    assert_eq!(refused.name(), "signature-would-break", "{refused}");
}

/// Attack: as above, and the reference is written in another form than `#id` (XML-DSig 4.4.3.2), or
/// is another element than `ds:Reference`.
#[test]
fn a_reference_to_what_is_taken_out_is_found_in_every_form() {
    let nodes = Nodes::new();
    let reads = format!(
        "role = \"next\"\nsecurity = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"{{urn:hop}}route\"] }}\n"
    );
    let for_first = format!(
        "security = {{ mechanism = \"sign\", {SUITE}, actor = \"next\", signed = [\"Timestamp\", \"{{urn:hop}}route\"] }}\n"
    );
    let to_next = route(" s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"");
    let once = nodes
        .sent(&for_first, with_header(SOAP11, &to_next, HELLO))
        .expect("it is secured");
    let for_service = format!("security = {{ mechanism = \"sign\", {SUITE} }}\n");
    let twice = nodes.sent(&for_service, once).expect("it is secured");
    nodes
        .passed("first", &reads, &twice)
        .expect("nothing refers to what is taken out");
    let is_for_next = |header: &&&str| header.contains("s:actor=");
    let all = headers(&twice);
    let of_first = all.iter().find(is_for_next).expect("a header");
    let of_service = all.iter().find(|header| !is_for_next(header));
    let of_service = of_service.expect("a header");
    let id = |tag: &str| id_of(tag).to_owned();
    let body = id(block(&twice, "<s:Body", ">"));
    let route = id(block(&twice, "<h:route", ">"));
    let changed = |from: &str, to: &str| {
        assert!(of_service.contains(from), "{from} in {of_service}");
        twice.replacen(of_service, &of_service.replacen(from, to, 1), 1)
    };
    let reference = format!("URI=\"#{body}\"");
    for (form, element) in [
        (format!("#xpointer(id('{route}'))"), "{urn:hop}route"),
        (
            format!("#xpointer(id(&quot;{route}&quot;))"),
            "{urn:hop}route",
        ),
        (format!("#xpointer(id( '{route}' ))"), "{urn:hop}route"),
        (format!(" #{route} "), "{urn:hop}route"),
        (String::new(), &format!("{{{SOAP11}}}Envelope")),
        ("#xpointer(/)".to_owned(), &format!("{{{SOAP11}}}Envelope")),
    ] {
        let refused = nodes
            .passed(
                "first",
                &reads,
                &changed(&reference, &format!("URI=\"{form}\"")),
            )
            .expect_err(&form);
        let element = element.to_owned();
        assert_eq!(refused, Rejected::SignatureWouldBreak { element }, "{form}");
    }
    let token = id(block(of_first, "<wsse:BinarySecurityToken", ">"));
    let named = block(
        of_service,
        "<wsse:SecurityTokenReference",
        "</wsse:SecurityTokenReference>",
    );
    let wsse = SECURITY.split(['{', '}']).nth(1).expect("a namespace");
    for naming in [
        format!("<ds:RetrievalMethod URI=\"#{token}\"/>"),
        format!(
            "<d:KeyInfoReference xmlns:d=\"http://www.w3.org/2009/xmldsig11#\" URI=\"#{token}\"/>"
        ),
        format!(
            "<wsse:SecurityTokenReference><wsse:KeyIdentifier>\n{token}</wsse:KeyIdentifier></wsse:SecurityTokenReference>"
        ),
        format!(
            "<x:CipherReference xmlns:x=\"http://www.w3.org/2001/04/xmlenc#\" URI=\"#{token}\"/>"
        ),
    ] {
        let refused = nodes
            .passed("first", &reads, &changed(named, &naming))
            .expect_err(&naming);
        let element = format!("{{{wsse}}}BinarySecurityToken");
        assert_eq!(
            refused,
            Rejected::SignatureWouldBreak { element },
            "{naming}"
        );
    }
}

/// Attack: references that nobody has signed have a node digest the message again and again.
#[test]
fn what_other_headers_cover_is_digested_within_a_bound() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let reinserting =
        first().replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    let id = id_of(block(&sent, "<s:Body", ">"));
    let of_service = headers(&sent)[2];
    let start = format!("<ds:Reference URI=\"#{id}\"");
    let reference = block(of_service, &start, "</ds:Reference>");
    let padding = format!("<!-- {} --></s:Body>", "x".repeat(100_000));
    let with = |references: usize| {
        let stranger = format!(
            "<t:token xmlns:t=\"urn:t\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">{}</t:token></s:Header>",
            reference.repeat(references)
        );
        sent.replacen("</s:Header>", &stranger, 1)
            .replacen("</s:Body>", &padding, 1)
    };
    for references in [0, 2] {
        nodes
            .passed("first", &reinserting, &with(references))
            .expect("it is a few");
    }
    let message = with(8);
    let refused = nodes
        .passed("first", &reinserting, &message)
        .expect_err("it is as much work as they like");
    assert_eq!(
        refused,
        Rejected::TooMany {
            what: "bytes that references of other nodes cover",
            limit: 4 * message.len(),
        }
    );
    nodes
        .passed("first", &first(), &message)
        .expect("nothing is put back");
}
