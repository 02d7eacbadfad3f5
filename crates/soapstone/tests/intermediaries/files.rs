//! Endpoint files that nodes cannot keep.
use super::*;

#[test]
fn files_that_nodes_cannot_keep_are_refused() {
    let nodes = Nodes::new();
    let sign = format!("security = {{ mechanism = \"sign\", {SUITE} }}\n");
    let problem = |result: Result<(), Problems>| result.expect_err("a problem").to_string();
    let opens = |text: &str| problem(nodes.opener("first", text).map(drop));
    let secures = |text: &str| problem(nodes.securer("client", text).map(drop));
    let none = "role = \"urn:a\"\nsecurity = { mechanism = \"none\" }\n";
    let recipient = |more: &str| format!("{sign}[[recipients]]\n{more}");
    let for_hop = "actor = \"urn:hop\"\nmechanism = \"sign\"\n";
    for (told, expected) in [
        (
            opens(none),
            "an intermediary that demands nothing proves nothing",
        ),
        (
            opens(&format!("role = \"hop\"\n{sign}")),
            "`role` must be the URI of a node on the way or \"next\", found another text",
        ),
        (
            opens(&format!(
                "role = \"http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver\"\n{sign}"
            )),
            "`role` must be the URI of a node on the way or \"next\", found that of the last node",
        ),
        (
            opens(&format!("reinsert = true\n{sign}")),
            "`reinsert` is given without `role`, and a last node passes nothing on",
        ),
        (
            opens(&format!(
                "role = \"urn:a\"\nanswers = {{ mechanism = \"plain\" }}\n{sign}"
            )),
            "`answers` of a node on the way says what is for this node, and nothing is signed or encrypted for it",
        ),
        (
            opens(&format!(
                "role = \"urn:a\"\nanswers = {{ signed = [\"Body\"] }}\n{sign}"
            )),
            "`answers` of a node on the way says what is for this node, and nothing is signed or encrypted for it",
        ),
        (
            opens(&format!(
                "role = \"urn:a\"\nanswers = {{ mechanism = \"sign\", unsecured_faults = \"all\" }}\n{sign}"
            )),
            "`unsecured_faults` is of answers that leave a service or reach a client, and a node on the way only reads them",
        ),
        (
            opens(&format!(
                "role = \"urn:a\"\nanswers = {{ mechanism = \"sign\", role = \"elsewhere\" }}\n{sign}"
            )),
            "`role` must be the URI of a node on the way or \"next\", found another text",
        ),
        (
            opens(&format!(
                "answers = {{ trust = {{ anchors = [\"ca.cert.pem\"] }} }}\n{sign}"
            )),
            "`trust` of `answers` is for a node on the way, which reads messages of both sides",
        ),
        (
            opens(&format!("answers = {{ role = \"urn:a\" }}\n{sign}")),
            "`role` of `answers` is for a node on the way, which reads messages of both sides",
        ),
        (
            opens(&format!(
                "role = \"urn:a\"\n{}",
                sign.replace(" }", ", actor = \"urn:b\" }")
            )),
            "both `role` and `actor` are given",
        ),
        (
            opens(&format!(
                "role = \"urn:a\"\ninner = {{ requests = \"{{urn:a}}b\" }}\n{sign}"
            )),
            "`inner` is of the last node, and an intermediary opens no Body for it",
        ),
        (
            secures(&format!("role = \"urn:a\"\n{sign}")),
            "`role` is given, and this endpoint sends messages that nobody sent to it",
        ),
        (
            opens(&recipient(for_hop)),
            "`recipients` is for requests that leave, and this endpoint is where they end",
        ),
        (
            secures(&recipient(&format!("{for_hop}[[recipients]]\n{for_hop}"))),
            "two recipients have one actor: neither could tell which header is its own",
        ),
        (
            secures(&recipient(&format!(
                "{}[[recipients]]\n{}",
                for_hop.replace("urn:hop", "next"),
                for_hop.replace("urn:hop", "http://schemas.xmlsoap.org/soap/actor/next")
            ))),
            "two recipients have one actor: neither could tell which header is its own",
        ),
        (
            secures(&recipient(for_hop).replacen(" }", ", actor = \"urn:hop\" }", 1)),
            "a recipient has the actor of this endpoint",
        ),
        (
            secures(&recipient("mechanism = \"sign\"\n")),
            "`actor` is missing in [recipients]",
        ),
        (
            secures(&recipient("actor = \"urn:hop\"\n")),
            "`mechanism` is missing in [recipients]",
        ),
        (
            secures(&recipient(&for_hop.replace("sign\"", "encrypt\""))),
            "needed to encrypt",
        ),
    ] {
        assert!(told.contains(expected), "expected {expected}\nfound {told}");
    }
}
