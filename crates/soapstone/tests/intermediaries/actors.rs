//! For which node a header or a block is, and what moving or renaming it does.
use super::*;

/// SOAP 1.1, 4.2.2; SOAP 1.2 part 1, 2.7.2 and 5.2.4.
#[test]
fn header_blocks_for_a_node_are_taken_out_by_it() {
    let nodes = Nodes::new();
    let next = |soap: &str| match soap {
        SOAP11 => " s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"",
        _ => " s:role=\"http://www.w3.org/2003/05/soap-envelope/role/next\"",
    };
    for soap in [SOAP11, SOAP12] {
        let other = |more: &str| format!("<o:other xmlns:o=\"urn:o\"{}{more}/>", next(soap));
        let message = |more: &str| {
            let header = route(next(soap)) + &price("") + &other(more);
            nodes
                .sent(&client(), with_header(soap, &header, HELLO))
                .expect("it is secured")
        };
        let passed = nodes
            .passed("first", &first(), &message(""))
            .expect("the first node");
        assert_eq!(
            passed.passed.evidence().taken_out,
            [SECURITY, "{urn:hop}route", "{urn:o}other"]
        );
        let left = text(&passed);
        assert!(
            !left.contains("EncryptedHeader") && !left.contains("urn:o"),
            "{left}"
        );
        let refused = nodes.passed("first", &first(), &message(" s:mustUnderstand=\"1\""));
        let header = "{urn:o}other".to_owned();
        assert_eq!(
            refused.expect_err("nobody understands it"),
            Rejected::HeaderNotUnderstood { header }
        );
        // What nobody processed goes on where its sender says so, which SOAP 1.1 cannot.
        let relayed = nodes.passed("first", &first(), &message(" s:relay=\"true\""));
        let left = text(&relayed.expect("the first node"));
        assert_eq!(left.contains("urn:o"), soap == SOAP12, "{left}");
        // The second node has nothing to do with blocks for others.
        let header = route("") + &price("") + "<o:other xmlns:o=\"urn:o\" s:mustUnderstand=\"1\"/>";
        let sent = nodes
            .sent(&client(), with_header(soap, &header, HELLO))
            .expect("it is secured");
        let passed = nodes
            .passed("first", &first(), &sent)
            .expect("the first node");
        assert!(text(&passed).contains("urn:o"));
    }
}

/// Attack: a header that is addressed to several nodes, by two attributes, or by two headers of
/// which a node could read either.
#[test]
fn a_header_for_several_nodes_is_read_by_none_of_them() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let at_first = text(
        &nodes
            .passed("first", &first(), &sent)
            .expect("the first node"),
    );
    // Every node is the next one: a header for `next` beside that for `urn:second` is for it, too.
    let refused = nodes
        .passed("second", &second(), &sent)
        .expect_err("two headers are for it");
    assert_eq!(refused, Rejected::SecurityDuplicated);
    let of = |actor: &str| at_first.replacen("s:actor=\"urn:second\"", actor, 1);
    for (actor, found) in [
        ("s:actor=\"urn:second urn:other\"", "urn:second urn:other"),
        (
            "s:actor=\"urn:other\" x:role=\"urn:second\" xmlns:x=\"http://www.w3.org/2003/05/soap-envelope\"",
            "urn:other",
        ),
        ("actor=\"urn:second\" s:actor=\"urn:other\"", "urn:other"),
    ] {
        let refused = nodes
            .passed("second", &second(), &of(actor))
            .expect_err(actor);
        let actor = Some(found.to_owned());
        assert_eq!(refused, Rejected::SecurityForOthers { actor });
    }
    // The last node is the next one as well, and must not pass over what it must understand.
    let to_next = of("s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"");
    let header = SECURITY.to_owned();
    let refused = nodes
        .opened(&service(), &to_next)
        .expect_err("it is for this node");
    assert_eq!(refused, Rejected::HeaderNotUnderstood { header });
}

/// Attack: two headers for one actor (SOAP Message Security 1.1.1, 5), of which nodes might read
/// different ones.
#[test]
fn two_headers_for_one_actor_are_refused_whoever_that_is() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let security = |actor: &str| {
        let wsse = SECURITY.split(['{', '}']).nth(1).expect("a namespace");
        format!("<w:Security xmlns:w=\"{wsse}\"{actor}/></s:Header>")
    };
    for actor in [
        "",
        " s:actor=\"\"",
        " s:actor=\"urn:second\"",
        " s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"",
    ] {
        let twice = sent.replacen("</s:Header>", &security(actor), 1);
        let refused = nodes.passed("first", &first(), &twice).expect_err(actor);
        assert_eq!(refused, Rejected::SecurityDuplicated, "{actor}");
    }
    // One more for a node that is nobody's business is.
    let other = sent.replacen("</s:Header>", &security(" s:actor=\"urn:third\""), 1);
    nodes.passed("first", &first(), &other).expect("it goes on");
}

/// Attack: an actor is taken away, or changed, so that another node reads the header.
#[test]
fn a_header_whose_actor_was_changed_is_accepted_by_nobody() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let at_first = text(
        &nodes
            .passed("first", &first(), &sent)
            .expect("the first node"),
    );
    let own = " s:actor=\"urn:second\"";
    let removed = at_first.replacen(own, "", 1);
    assert_eq!(
        nodes
            .passed("second", &second(), &removed)
            .expect_err("none for it"),
        Rejected::SecurityDuplicated
    );
    assert_eq!(
        nodes.opened(&service(), &removed).expect_err("two"),
        Rejected::SecurityDuplicated
    );
    let relabelled = at_first.replacen(own, " s:actor=\"urn:third\"", 1);
    assert_eq!(
        nodes
            .passed("second", &second(), &relabelled)
            .expect_err("none"),
        Rejected::SecurityForOthers {
            actor: Some("urn:third".to_owned())
        }
    );
    // The two headers that are left, each with the actor of the other.
    let all = headers(&at_first);
    let exchanged = at_first
        .replacen(all[0], &all[0].replacen(own, "", 1), 1)
        .replacen(
            all[1],
            &all[1].replacen("<wsse:Security ", &format!("<wsse:Security{own} "), 1),
            1,
        );
    let part = "{urn:hop}price".parse::<Part>().expect("a part");
    let refused = nodes
        .passed("second", &second(), &exchanged)
        .expect_err("another's header");
    assert!(
        matches!(&refused, Rejected::Unsigned { part: found } if *found == part)
            || refused.name() == "element-unexpected",
        "{refused}"
    );
    let refused = nodes
        .opened(&service(), &exchanged)
        .expect_err("another's header");
    assert!(
        matches!(
            refused,
            Rejected::Unsigned { .. } | Rejected::Unencrypted { .. }
        ),
        "{refused}"
    );
    // A block that is for the first node, readdressed on its way.
    let header = route(" s:actor=\"urn:second\"") + &price("");
    let refused = nodes.sent(&client(), with_header(SOAP11, &header, HELLO));
    refused.expect("a later node reads it");
    let header = route("") + &price(" s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"");
    let refused = nodes.sent(&client(), with_header(SOAP11, &header, HELLO));
    let actor = "http://schemas.xmlsoap.org/soap/actor/next".to_owned();
    assert_eq!(
        refused.expect_err("the first node takes it out"),
        SecureError::TakenOutBefore { part, actor }
    );
}

/// Attack: signature wrapping (McIntosh and Austel 2005) at a node: the signed block is put where
/// nobody looks, and another one in its place.
#[test]
fn a_part_that_was_moved_is_proven_to_no_node() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let at_first = text(
        &nodes
            .passed("first", &first(), &sent)
            .expect("the first node"),
    );
    let signed = block(&at_first, "<h:price", "</h:price>").to_owned();
    let forged = price("");
    let part = "{urn:hop}price".parse::<Part>().expect("a part");
    let moved = at_first.replacen(&signed, &forged, 1);
    for (place, there) in [
        ("</s:Body>", format!("{signed}</s:Body>")),
        (
            "</s:Header>",
            format!("<w:wrapper xmlns:w=\"urn:w\">{signed}</w:wrapper></s:Header>"),
        ),
    ] {
        let wrapped = moved.replacen(place, &there, 1);
        let refused = nodes
            .passed("second", &second(), &wrapped)
            .expect_err(place);
        assert_eq!(
            refused,
            Rejected::Unsigned { part: part.clone() },
            "{place}"
        );
    }
    // And beside the signed one.
    let beside = at_first.replacen(&signed, &(signed.clone() + &forged), 1);
    let refused = nodes
        .passed("second", &second(), &beside)
        .expect_err("a second price");
    assert_eq!(refused, Rejected::Unsigned { part: part.clone() });
    // Only taken out, it would be missed by nobody who does not ask for it.
    let gone = at_first.replacen(&signed, "", 1);
    let refused = nodes
        .passed("second", &second(), &gone)
        .expect_err("its reference leads nowhere");
    assert!(matches!(refused, Rejected::Signature(_)), "{refused}");
}

/// Attack: a part that the last node takes for its sender's, and that was signed for, or by, a node
/// on the way.
#[test]
fn a_signature_for_a_node_or_by_one_proves_nothing_to_the_last_one() {
    let nodes = Nodes::new();
    // The client signs the Body for the second node alone.
    let weak = format!(
        "security = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\"] }}\n\
         [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\n"
    );
    let sent = nodes.sent(&weak, plain(SOAP11)).expect("it is secured");
    let signed = format!("security = {{ mechanism = \"sign\", {SUITE} }}\n");
    let refused = nodes
        .opened(&signed, &sent)
        .expect_err("the Body is signed for another node");
    assert_eq!(refused, Rejected::Unsigned { part: Part::Body });
    // And a node that reads one signed for the last node.
    let end_alone = format!(
        "security = {{ mechanism = \"sign\", {SUITE} }}\n\
         [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\"]\n"
    );
    let sent = nodes
        .sent(&end_alone, plain(SOAP11))
        .expect("it is secured");
    let wants_body =
        format!("role = \"urn:second\"\nsecurity = {{ mechanism = \"sign\", {SUITE} }}\n");
    let refused = nodes
        .passed("second", &wants_body, &sent)
        .expect_err("it is signed for the service");
    assert_eq!(refused, Rejected::Unsigned { part: Part::Body });
    // A node that takes the client's header away and signs itself is known by its certificate.
    let only = nodes.passed(
        "second",
        &wants_body.replace("sign\", ", "sign\", signed = [\"Timestamp\"], "),
        &sent,
    );
    let stripped = text(&only.expect("the second node"));
    let stripped = stripped.replacen(headers(&stripped)[0], "", 1);
    let refused = nodes
        .opened(&signed, &stripped)
        .expect_err("the header is gone");
    assert_eq!(refused, Rejected::SecurityMissing);
    let forging = nodes.securer("second", &signed).expect("a node");
    let forged = forging
        .secure(stripped.into_bytes())
        .expect("it is secured")
        .bytes;
    let forged = String::from_utf8(forged).expect("text");
    let of_client = nodes.trusting(&signed, "CN=client");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = of_client
        .open(forged.into_bytes(), memory)
        .expect_err("another signer");
    assert_eq!(refused.cause().name(), "subject-not-allowed", "{refused}");
}
