//! Messages on their way over nodes to their end.
use std::collections::BTreeSet;

use super::*;

#[test]
fn a_message_reaches_its_end_over_two_nodes_as_its_sender_made_it() {
    let nodes = Nodes::new();
    for soap in [SOAP11, SOAP12] {
        let sent = nodes.sent(&client(), plain(soap)).expect("it is secured");
        let all = headers(&sent);
        assert_eq!(all.len(), 3, "{sent}");
        let next = match soap {
            SOAP11 => "s:actor=\"http://schemas.xmlsoap.org/soap/actor/next\"",
            _ => "s:role=\"http://www.w3.org/2003/05/soap-envelope/role/next\"",
        };
        assert!(all[0].contains(next), "{}", all[0]);
        assert!(all[1].contains("urn:second\""), "{}", all[1]);
        assert!(!sent.contains("north"), "{sent}");

        let at_first = nodes
            .passed("first", &first(), &sent)
            .expect("the first node");
        let signed: Vec<&str> = at_first
            .passed
            .blocks()
            .iter()
            .map(|block| {
                at_first
                    .passed
                    .envelope()
                    .document()
                    .element(*block)
                    .local()
            })
            .collect();
        assert_eq!(signed, ["route"]);
        // The rest is nobody's word here.
        let unproven = &at_first.passed.evidence().unproven;
        let names = [
            SECURITY,
            "{urn:hop}price",
            "{urn:o}other",
            &format!("{{{soap}}}Body"),
        ];
        assert_eq!(unproven, &names.map(str::to_owned));
        let at_first = text(&at_first);
        // Nothing but the header of this node is gone.
        assert_eq!(at_first, sent.replacen(all[0], "", 1));

        let at_second = nodes
            .passed("second", &second(), &at_first)
            .expect("the second node");
        let at_second = text(&at_second);
        assert_eq!(at_second, at_first.replacen(all[1], "", 1));

        let opened = nodes.opened(&service(), &at_second).expect("the service");
        assert!(opened.contains("hello</e:echo>"), "{opened}");
    }
}

#[test]
fn each_recipient_has_a_key_of_its_own() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let values = |header: &str| -> Vec<String> {
        let keys = header.split("<xenc:EncryptedKey").skip(1);
        keys.map(|key| block(key, "<xenc:CipherValue>", "</xenc:CipherValue>").to_owned())
            .collect()
    };
    let all = headers(&sent);
    let (of_first, of_service) = (values(all[0]), values(all[2]));
    assert_eq!((of_first.len(), of_service.len()), (1, 1));
    assert_ne!(of_first, of_service);
    // And the service's key does not open what is for the first node.
    let refused = nodes
        .passed("service", &first(), &sent)
        .expect_err("another's key");
    assert_eq!(refused.name(), "key-not-found", "{refused}");
}

/// SOAP Message Security 1.1.1, 5: each header is for the node that it is addressed to. So a node
/// holds no key of the last one, and its own opens nothing of other nodes.
#[test]
fn a_key_that_both_sides_hold_is_of_one_recipient() {
    let nodes = Nodes::new();
    let shared = |name: &str, octet: &str| {
        let hex = octet.repeat(32);
        format!("shared_key = {{ name = \"{name}\", hex = \"{hex}\" }}\n")
    };
    let protects = format!("mechanism = \"sign-encrypt\", {SUITE}");
    let node = |key: &str| {
        format!(
            "role = \"next\"\n{key}security = {{ {protects}, signed = [\"Timestamp\", \"{{urn:hop}}route\"], \
             encrypted = [\"{{urn:hop}}route\"] }}\n"
        )
    };
    let service = shared("end", "5c") + &format!("security = {{ {protects} }}\n");
    let client = format!(
        "{service}[[recipients]]\nactor = \"next\"\n{}mechanism = \"sign-encrypt\"\n\
         signed = [\"Timestamp\", \"{{urn:hop}}route\"]\nencrypted = [\"{{urn:hop}}route\"]\n\
         [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"{{urn:hop}}price\"]\n",
        shared("node", "5a"),
    );
    let sent = nodes.sent(&client, plain(SOAP11)).expect("it is secured");
    let names = |header: &&str| {
        let names = header.split("<ds:KeyName>").skip(1);
        let names = names.map(|rest| rest.split('<').next().unwrap_or_default().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let names: Vec<Vec<String>> = headers(&sent)
        .iter()
        .map(|header| names(header).into_iter().collect())
        .collect();
    assert_eq!(names, [vec!["node"], vec![], vec!["end"]], "{sent}");
    for (key, expected) in [
        (shared("node", "5c"), "signature-mismatch"),
        (shared("end", "5c"), "key-not-found"),
    ] {
        let refused = nodes.passed("first", &node(&key), &sent);
        let refused = refused.map(|_| ()).expect_err("another key");
        assert_eq!(refused.name(), expected);
    }
    let at_first = nodes.passed("first", &node(&shared("node", "5a")), &sent);
    let at_first = text(&at_first.expect("the first node"));
    let at_second = nodes.passed("second", &second(), &at_first);
    let at_second = text(&at_second.expect("the second node"));
    let opened = nodes.opened(&service, &at_second).expect("the service");
    assert!(opened.contains("hello</e:echo>"), "{opened}");
}

/// A node changes what is not its own, or nothing that is signed.
#[test]
fn what_nodes_do_on_the_way_is_noticed_at_the_end_where_it_matters() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let at_first = text(
        &nodes
            .passed("first", &first(), &sent)
            .expect("the first node"),
    );
    let at_second = text(
        &nodes
            .passed("second", &second(), &at_first)
            .expect("the second node"),
    );
    let changed = at_second.replacen("<xenc:CipherValue>", "<xenc:CipherValue>AAAA", 1);
    nodes
        .opened(&service(), &changed)
        .expect_err("it was changed");
    let stripped = at_second.replacen(headers(&at_second)[0], "", 1);
    assert_eq!(
        nodes.opened(&service(), &stripped).expect_err("no header"),
        Rejected::SecurityMissing
    );
    // Outside of signed parts a node may write as it likes.
    let indented = at_second
        .replacen("<s:Header>", "<s:Header>\n\n", 1)
        .replacen("'urn:o'", "\"urn:o\"", 1);
    nodes
        .opened(&service(), &indented)
        .expect("nothing signed was changed");
}

#[test]
fn an_intermediary_keeps_no_message_and_a_last_node_passes_none_on() {
    let nodes = Nodes::new();
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let memory = || Memory::without_conversations(&ForgetfulReplayCache);
    let node = nodes.opener("first", &first()).expect("a node");
    assert!(node.is_intermediary());
    let refused = node
        .open(sent.clone().into_bytes(), memory())
        .expect_err("it is not the last");
    assert_eq!(refused.cause(), &Rejected::NotTheReceiver);
    let at_first = text(&passed(&node, &sent).expect("the first node"));
    let service = nodes.opener("service", &service()).expect("a service");
    let refused = passed(&service, &at_first).map(|passed| text(&passed));
    assert_eq!(
        refused.expect_err("it is the last"),
        Rejected::NotTheReceiver
    );
}

#[test]
fn a_node_adds_headers_for_the_next_ones() {
    let nodes = Nodes::new();
    let adding = first()
        + "[[recipients]]\nactor = \"urn:third\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"Body\"]\n";
    let sent = nodes.sent(&client(), plain(SOAP11)).expect("it is secured");
    let passed = nodes
        .passed("first", &adding, &sent)
        .expect("the first node");
    let left = text(&passed);
    assert_eq!(headers(&left).len(), 3, "{left}");
    let third = format!("role = \"urn:third\"\nsecurity = {{ mechanism = \"sign\", {SUITE} }}\n");
    let third = nodes
        .passed("second", &third, &left)
        .expect("the third node");
    let second = nodes
        .passed("second", &second(), &text(&third))
        .expect("the second node");
    nodes
        .opened(&service(), &text(&second))
        .expect("the service");
}
