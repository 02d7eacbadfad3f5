//! What is put back where cipher text was, and what is not.
use super::*;

#[test]
fn what_was_decrypted_is_put_back_where_the_file_says_so() {
    let nodes = Nodes::new();
    let both = client().replacen(
        &format!("mechanism = \"sign-encrypt\", {SUITE} }}\n[[rec"),
        &format!("mechanism = \"sign-encrypt\", {SUITE}, signed = [\"Body\", \"Timestamp\", \"{{urn:hop}}route\"] }}\n[[rec"),
        1,
    );
    let refused = nodes
        .securer("client", &both)
        .expect_err("the service could not read it");
    let text_of = refused.to_string();
    assert!(
        text_of.contains(
            "`{urn:hop}route` is encrypted for this node, and later ones read it or its signature"
        ),
        "{text_of}"
    );
    let both = both.replacen(
        "actor = \"next\"\n",
        "actor = \"next\"\nreinserts = true\n",
        1,
    );
    let sent = nodes.sent(&both, plain(SOAP12)).expect("it is secured");
    let strict = nodes
        .passed("first", &first(), &sent)
        .expect("it may keep the cipher text");
    assert!(text(&strict).contains("EncryptedHeader"));
    assert!(!text(&strict).contains("north"));
    let kept = nodes
        .passed("second", &second(), &text(&strict))
        .expect("the second node");
    // The service asks for a part that is still in cipher text.
    let ending = service().replacen(
        SUITE,
        &format!("{SUITE}, signed = [\"Body\", \"Timestamp\", \"{{urn:hop}}route\"]"),
        1,
    );
    let refused = nodes
        .opened(&ending, &text(&kept))
        .expect_err("the part is missing");
    assert!(matches!(refused, Rejected::Signature(_)), "{refused}");

    let reinserting =
        first().replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    let put_back = nodes
        .passed("first", &reinserting, &sent)
        .expect("the first node");
    let put_back = text(&put_back);
    assert!(put_back.contains(">north</h:route>"), "{put_back}");
    assert!(!put_back.contains("EncryptedHeader"), "{put_back}");
    let cipher = block(
        &sent,
        "<wsse11:EncryptedHeader",
        "</wsse11:EncryptedHeader>",
    );
    let (before, behind) = sent.split_once(cipher).expect("once");
    let expected_before = before.replacen(headers(&sent)[0], "", 1);
    assert!(put_back.starts_with(&expected_before), "{put_back}");
    assert!(put_back.ends_with(behind), "{put_back}");
    let next = nodes
        .passed("second", &second(), &put_back)
        .expect("the second node");
    let opened = nodes.opened(&ending, &text(&next)).expect("the service");
    assert!(opened.contains(">north</h:route>"), "{opened}");
}

/// Attack: plaintext is put back into what somebody has signed as cipher text, so that the
/// signature of the last node breaks, and it is told that the sender forged it.
#[test]
fn plaintext_is_not_put_back_into_what_is_signed_as_cipher_text() {
    let nodes = Nodes::new();
    // For the first node something in the Body is encrypted, and then the Body is signed for the
    // service.
    let for_first = format!(
        "peer = {{ certificate = \"first.cert.pem\" }}\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, actor = \"next\", \
         must_understand = false, signed = [\"Timestamp\", \"{{urn:hop}}route\"], encrypted = [\"#x\"] }}\n"
    );
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let body = format!(
        "<e:echo xmlns:e=\"urn:echo\"><e:in u:Id=\"x\" xmlns:u=\"{wsu}\">mid</e:in></e:echo>"
    );
    let plain = with_header(SOAP11, &route(""), &body);
    let for_service = format!("security = {{ mechanism = \"sign\", {SUITE} }}\n");
    let reads = first().replacen(
        "encrypted = [\"{urn:hop}route\"]",
        "encrypted = [\"#x\"]",
        1,
    );
    let reinserting = reads.replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    let once = nodes
        .sent(&for_first, plain.clone())
        .expect("it is secured");
    let twice = nodes.sent(&for_service, once).expect("it is secured");
    let kept = nodes
        .passed("first", &reads, &twice)
        .expect("nothing is changed");
    nodes
        .opened(&for_service, &text(&kept))
        .expect("its signature is whole");
    let refused = nodes
        .passed("first", &reinserting, &twice)
        .expect_err("it would break");
    let element = format!("{{{SOAP11}}}Body");
    assert_eq!(refused, Rejected::SignatureWouldBreak { element });
    // Signed first, the plaintext is what the service wants to see.
    let once = nodes.sent(&for_service, plain).expect("it is secured");
    let twice = nodes.sent(&for_first, once).expect("it is secured");
    let kept = nodes
        .passed("first", &reads, &twice)
        .expect("nothing is put back");
    let refused = nodes
        .opened(&for_service, &text(&kept))
        .expect_err("it is in cipher text");
    assert!(matches!(refused, Rejected::Signature(_)), "{refused}");
    let put_back = nodes
        .passed("first", &reinserting, &twice)
        .expect("the first node");
    let opened = nodes
        .opened(&for_service, &text(&put_back))
        .expect("its signature is whole");
    assert!(opened.contains(">mid</e:in>"), "{opened}");
}

/// Attack: a Security header for the last node comes to light when a node puts plaintext back.
#[test]
fn no_security_header_comes_out_of_cipher_text() {
    let nodes = Nodes::new();
    let wsse = SECURITY.split(['{', '}']).nth(1).expect("a namespace");
    let hidden = format!("<w:Security xmlns:w=\"{wsse}\"/>");
    let for_first = format!(
        "peer = {{ certificate = \"first.cert.pem\" }}\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, actor = \"next\", \
         signed = [\"Timestamp\", \"{{urn:hop}}route\"], encrypted = [\"{SECURITY}\"] }}\n"
    );
    let sent = nodes
        .sent(
            &for_first,
            with_header(SOAP11, &(hidden + &route("")), HELLO),
        )
        .expect("it is secured");
    let reads = first().replacen(
        "encrypted = [\"{urn:hop}route\"]",
        &format!("encrypted = [\"{SECURITY}\"]"),
        1,
    );
    nodes
        .passed("first", &reads, &sent)
        .expect("it stays in cipher text");
    let reinserting = reads.replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    let refused = nodes
        .passed("first", &reinserting, &sent)
        .expect_err("it would be read");
    assert_eq!(
        refused,
        Rejected::Malformed {
            element: "wsse11:EncryptedHeader",
            problem: "expected a header block that may be put back, found a `wsse:Security` header"
                .to_owned(),
        }
    );
}

/// Attack: as above, and the signature of another node covers comments as well (XML-DSig 4.4.3.3).
#[test]
fn plaintext_is_not_put_back_into_what_is_signed_with_its_comments() {
    let nodes = Nodes::new();
    let for_first = format!(
        "peer = {{ certificate = \"first.cert.pem\" }}\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, actor = \"next\", \
         must_understand = false, signed = [\"Timestamp\", \"{{urn:hop}}route\"], encrypted = [\"#x\"] }}\n"
    );
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let body = format!(
        "<e:echo xmlns:e=\"urn:echo\"><!-- signed --><e:in u:Id=\"x\" xmlns:u=\"{wsu}\">mid</e:in></e:echo>"
    );
    let once = nodes
        .sent(&for_first, with_header(SOAP11, &route(""), &body))
        .expect("it is secured");
    let for_service = format!("security = {{ mechanism = \"sign\", {SUITE} }}\n");
    let twice = nodes.sent(&for_service, once).expect("it is secured");
    let all = headers(&twice);
    let of_service = all.iter().find(|header| !header.contains("s:actor="));
    let of_service = of_service.expect("a header");
    let id = id_of(block(&twice, "<s:Body", ">"));
    let start = format!("<ds:Reference URI=\"#{id}\"");
    let reference = block(of_service, &start, "</ds:Reference>");
    let with_comments = reference
        .replacen(&format!("#{id}"), &format!("#xpointer(id('{id}'))"), 1)
        .replacen("xml-exc-c14n#", "xml-exc-c14n#WithComments", 1);
    let commented = twice.replacen(reference, &with_comments, 1);
    let old = block(&with_comments, "<ds:DigestValue>", "</ds:DigestValue>");
    let new = format!(
        "<ds:DigestValue>{}</ds:DigestValue>",
        digest_of(&commented, &format!("#xpointer(id('{id}'))"))
    );
    assert_ne!(old, new, "comments are digested");
    let commented = commented.replacen(&with_comments, &with_comments.replacen(old, &new, 1), 1);
    let reads = first().replacen(
        "encrypted = [\"{urn:hop}route\"]",
        "encrypted = [\"#x\"]",
        1,
    );
    let reinserting = reads.replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    nodes
        .passed("first", &reads, &commented)
        .expect("nothing is changed");
    let refused = nodes
        .passed("first", &reinserting, &commented)
        .expect_err("it would break");
    let element = format!("{{{SOAP11}}}Body");
    assert_eq!(refused, Rejected::SignatureWouldBreak { element });
}

/// Attack: a comment in front of an encrypted header block looks like its start tag. What the
/// `EncryptedHeader` declares would be written into the comment.
#[test]
fn declarations_are_put_back_into_the_block_and_not_into_a_comment() {
    let nodes = Nodes::new();
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let before = "<!-- <h:route --><!-- <x--><?h <h:route ?>\n";
    let wrapper = format!(
        "<w:wrapper xmlns:w=\"urn:w\" xmlns=\"urn:default\" xmlns:k=\"urn:around\" xmlns:h=\"urn:hop\" xmlns:u=\"{wsu}\" u:Id=\"w\">{before}<h:route xmlns:k=\"urn:own\" u:Id=\"r\">north</h:route></w:wrapper>"
    );
    let for_first = format!(
        "peer = {{ certificate = \"first.cert.pem\" }}\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, actor = \"next\", \
         signed = [\"Timestamp\", \"#r\"], encrypted = [\"content:#w\"] }}\n"
    );
    let sent = nodes
        .sent(&for_first, with_header(SOAP11, &wrapper, HELLO))
        .expect("it is secured");
    // What is in cipher text as content stands in an EncryptedHeader.
    let wsse11 = "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd";
    let start = block(&sent, "<w:wrapper", ">");
    let encrypted = start
        .replacen("w:wrapper", "w:EncryptedHeader", 1)
        .replacen("urn:w", wsse11, 1);
    let sent =
        sent.replacen(start, &encrypted, 1)
            .replacen("</w:wrapper>", "</w:EncryptedHeader>", 1);
    let reinserting =
        first().replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    let passed = nodes
        .passed("first", &reinserting, &sent)
        .expect("the first node");
    let left = text(&passed);
    let tag = block(&left, "\n<h:route ", ">");
    assert!(
        left.contains(&format!("{before}{}", tag.trim_start())),
        "{left}"
    );
    for declared in [
        "xmlns:h=\"urn:hop\"",
        "xmlns=\"urn:default\"",
        "xmlns:k=",
        &format!("xmlns:u=\"{wsu}\""),
        &format!("xmlns:w=\"{wsse11}\""),
    ] {
        assert_eq!(tag.matches(declared).count(), 1, "{declared} in {tag}");
    }
}

/// Attack: as for `no_security_header_comes_out_of_cipher_text`, and the cipher text itself is the
/// header block.
#[test]
fn no_security_header_takes_the_place_of_a_header_block() {
    let nodes = Nodes::new();
    let wsse = SECURITY.split(['{', '}']).nth(1).expect("a namespace");
    let for_first = format!(
        "peer = {{ certificate = \"first.cert.pem\" }}\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, actor = \"next\", \
         signed = [\"Timestamp\", \"{{urn:hop}}route\"], encrypted = [\"{SECURITY}\"] }}\n"
    );
    let reads = first().replacen(
        "encrypted = [\"{urn:hop}route\"]",
        &format!("encrypted = [\"{SECURITY}\"]"),
        1,
    );
    let reinserting = reads.replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    for actor in ["", " s:actor=\"urn:third\""] {
        let hidden = format!("<w:Security xmlns:w=\"{wsse}\"{actor}/>");
        let plain = with_header(SOAP11, &(hidden + &route("")), HELLO);
        let sent = nodes.sent(&for_first, plain).expect("it is secured");
        let sent = bare(&sent);
        let kept = nodes
            .passed("first", &reads, &sent)
            .expect("it stays in cipher text");
        assert!(!text(&kept).contains("w:Security"), "{}", text(&kept));
        let refused = nodes
            .passed("first", &reinserting, &sent)
            .expect_err("it would be read");
        assert_eq!(refused, Rejected::SecurityDuplicated, "{actor}");
    }
}

/// A block that the next node reads, and that stands in the header as cipher text.
#[test]
fn a_block_for_a_node_is_taken_out_as_the_cipher_text_that_it_was() {
    let nodes = Nodes::new();
    let to_next = route(" s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"");
    let plain = with_header(SOAP11, &(to_next + &price("")), HELLO);
    let sent = nodes.sent(&client(), plain).expect("it is secured");
    let sent = bare(&sent);
    let own = headers(&sent)[0];
    let cipher = block(
        sent.split(own).nth(1).expect("the rest"),
        "<xenc:EncryptedData",
        "</xenc:EncryptedData>",
    );
    let expected = sent.replacen(own, "", 1).replacen(cipher, "", 1);
    let reinserting =
        first().replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    for node in [first(), reinserting] {
        let passed = nodes.passed("first", &node, &sent).expect("it goes on");
        assert_eq!(
            passed.passed.evidence().taken_out,
            [SECURITY, "{urn:hop}route"]
        );
        assert_eq!(text(&passed), expected);
    }
}

/// Attack: cipher text that holds a block for the node and one for another node. Taking it out
/// would lose the other one, and putting it back would repeat the first.
#[test]
fn blocks_for_several_nodes_in_one_cipher_text_are_refused() {
    let nodes = Nodes::new();
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let reads = first().replacen(
        "encrypted = [\"{urn:hop}route",
        "encrypted = [\"{urn:hop}hidden",
        1,
    );
    let reinserting = reads.replacen("role = \"next\"\n", "role = \"next\"\nreinsert = true\n", 1);
    let sent = |of_route: &str, of_price: &str| {
        let wrapper = format!(
            "<w:wrapper xmlns:w=\"urn:w\" xmlns:u=\"{wsu}\" u:Id=\"w\">{}{}</w:wrapper>",
            route(&format!("{of_route} u:Id=\"r\" xmlns:u=\"{wsu}\"")),
            price(of_price)
        );
        let for_first = format!(
            "peer = {{ certificate = \"first.cert.pem\" }}\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, actor = \"next\", \
             signed = [\"Timestamp\", \"#r\"], encrypted = [\"content:#w\"] }}\n"
        );
        let sent = nodes
            .sent(&for_first, with_header(SOAP11, &wrapper, HELLO))
            .expect("it is secured");
        let start = block(&sent, "<w:wrapper", ">").to_owned();
        sent.replacen(&start, "", 1).replacen("</w:wrapper>", "", 1)
    };
    let to_next = " s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"";
    for node in [&reads, &reinserting] {
        let refused = nodes
            .passed("first", node, &sent(to_next, ""))
            .expect_err("one is for another node");
        assert_eq!(
            refused,
            Rejected::Malformed {
                element: "xenc:EncryptedData",
                problem:
                    "expected header blocks for this node alone in its cipher text, or for others alone"
                        .to_owned(),
            }
        );
        let passed = nodes
            .passed("first", node, &sent(to_next, to_next))
            .expect("both are for this node");
        assert!(
            !text(&passed).contains("EncryptedData"),
            "{}",
            text(&passed)
        );
        assert!(!text(&passed).contains("urn:hop"), "{}", text(&passed));
    }
    let passed = nodes
        .passed("first", &reinserting, &sent("", ""))
        .expect("both are for others");
    assert!(text(&passed).contains(&price("")), "{}", text(&passed));
}

/// Content for the end inside of content for a node: the node reads that it is cipher text, and
/// nothing else of it.
#[test]
fn content_that_is_encrypted_for_the_end_travels_inside_of_what_a_node_opens() {
    let nodes = Nodes::new();
    let client = format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n\
         [[recipients]]\nactor = \"next\"\npeer = {{ certificate = \"first.cert.pem\" }}\nreinserts = true\n\
         mechanism = \"sign-encrypt\"\nsigned = [\"Timestamp\", \"Body\"]\nencrypted = [\"Body\"]\n"
    );
    let node = format!(
        "role = \"next\"\nreinsert = true\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n"
    );
    for soap in [SOAP11, SOAP12] {
        let sent = nodes.sent(&client, plain(soap)).expect("it is secured");
        let other = nodes.sent(&client, plain(soap)).expect("it is secured");
        let left = text(&nodes.passed("first", &node, &sent).expect("the node"));
        let of_other = text(&nodes.passed("first", &node, &other).expect("the node"));
        assert!(!left.contains("hello"), "{left}");
        let opened = nodes.opened(&service(), &left).expect("the end");
        assert!(opened.contains("hello"), "{opened}");
        // A node that puts the content of another message there is found out by the end.
        let value = |message: &str| {
            let body = message.rfind("<xenc:CipherValue>").expect("cipher text");
            block(
                &message[body..],
                "<xenc:CipherValue>",
                "</xenc:CipherValue>",
            )
            .to_owned()
        };
        let forged = left.replace(&value(&left), &value(&of_other));
        assert_ne!(forged, left);
        nodes
            .opened(&service(), &forged)
            .expect_err("it is under another key");
        // One that keeps what it opened leaves the end nothing to read.
        let keeping = node.replace("reinsert = true\n", "");
        let kept = text(&nodes.passed("first", &keeping, &sent).expect("the node"));
        nodes
            .opened(&service(), &kept)
            .expect_err("it is still for the node");
    }
}
