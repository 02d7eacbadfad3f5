//! Recipients whose headers are described by a policy of theirs.
use super::*;

const HEAD: &str = "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' \
    xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702'>";
const INCLUDE: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken";

fn nest(name: &str, inner: &str) -> String {
    format!("<sp:{name}><wsp:Policy>{inner}</wsp:Policy></sp:{name}>")
}

fn x509(inclusion: &str) -> String {
    format!(
        "<sp:X509Token sp:IncludeToken='{INCLUDE}/{inclusion}'><wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
    )
}

fn suite() -> String {
    nest("AlgorithmSuite", "<sp:Basic256Sha256/>")
}

/// A policy of certificates, with these parts.
fn asymmetric(parts: &str) -> String {
    let binding = [
        nest("InitiatorToken", &x509("AlwaysToRecipient")),
        nest("RecipientToken", &x509("AlwaysToInitiator")),
        suite(),
        "<sp:IncludeTimestamp/>".to_owned(),
    ];
    let binding = nest("AsymmetricBinding", &binding.concat());
    format!("{HEAD}{binding}{parts}</wsp:Policy>")
}

/// A policy with one symmetric token, which signs a block.
fn symmetric(token: &str) -> String {
    let binding = [nest("ProtectionToken", token), suite()].concat();
    format!(
        "{HEAD}{}{SIGNED}</wsp:Policy>",
        nest("SymmetricBinding", &binding)
    )
}

const SIGNED: &str =
    "<sp:SignedParts><sp:Header Name='route' Namespace='urn:hop'/></sp:SignedParts>";
const ENCRYPTED: &str =
    "<sp:EncryptedParts><sp:Header Name='route' Namespace='urn:hop'/></sp:EncryptedParts>";

/// What the first node reads: the same as its policy says.
fn first_by_suite() -> String {
    first().replace(SUITE, "suite = \"Basic256Sha256\"")
}

/// The client, whose first recipient has `keys`.
fn client_with(keys: &str) -> String {
    format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n\
         [[recipients]]\nactor = \"next\"\n{keys}"
    )
}

const FIRST: &str = "peer = { certificate = \"first.cert.pem\" }\n";
const BY_POLICY: &str = "policy = \"node.xml\"\n";

/// WS-SecurityPolicy 1.3, 4.1.1 and 4.2.1: parts are signed and encrypted as the node's policy
/// says, by its suite, and nothing of the last node's is said of it.
#[test]
fn a_node_gets_what_its_policy_says() {
    let nodes = Nodes::new();
    nodes
        .0
        .write("node.xml", asymmetric(&[SIGNED, ENCRYPTED].concat()));
    let client = client_with(&[FIRST, BY_POLICY].concat());
    for soap in [SOAP11, SOAP12] {
        let sent = nodes.sent(&client, plain(soap)).expect("it is secured");
        assert!(!sent.contains("north"), "{sent}");
        let all = headers(&sent);
        assert_eq!(all.len(), 2, "{sent}");
        let cipher = block(
            &sent,
            "<wsse11:EncryptedHeader",
            "</wsse11:EncryptedHeader>",
        );
        assert!(cipher.contains("#aes256-cbc\""), "{cipher}");
        assert!(all[0].contains("#rsa-sha1\""), "{}", all[0]);
        // The last node has the suite of the file.
        assert!(all[1].contains("#rsa-sha256\""), "{}", all[1]);
        let at_first = nodes.passed("first", &first_by_suite(), &sent);
        let at_first = at_first.unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(at_first.passed.blocks().len(), 1);
        let opened = nodes.opened(&service(), &text(&at_first));
        let opened = opened.expect("the service");
        assert!(opened.contains("hello</e:echo>"), "{opened}");
        // Another node's key opens nothing.
        let refused = nodes.passed("second", &first_by_suite(), &sent);
        let refused = refused.map(|_| ()).expect_err("another key");
        assert_eq!(refused.name(), "key-not-found");
    }
}

#[test]
fn algorithms_beside_the_policy_of_a_node_take_the_place_of_its_suite() {
    let nodes = Nodes::new();
    nodes.0.write("node.xml", asymmetric(SIGNED));
    let algorithms = "algorithms = { signature = [\"rsa-sha256\"], digest = [\"sha256\"] }\n";
    let client = client_with(&[FIRST, BY_POLICY, algorithms].concat());
    let sent = nodes.sent(&client, plain(SOAP11)).expect("it is secured");
    let header = headers(&sent)[0];
    assert!(header.contains("#rsa-sha256\""), "{header}");
    assert!(!header.contains("sha1\""), "{header}");
}

/// What a service demands of its clients' messages to it is not what it sends: the policy of
/// answers counts.
#[test]
fn a_node_on_the_way_of_answers_gets_what_its_policy_says_of_answers() {
    let nodes = Nodes::new();
    nodes.0.write("node.xml", asymmetric(SIGNED));
    let back = "[[answers.recipients]]\nactor = \"urn:second\"\npolicy = \"node.xml\"\n";
    let ends = answers::ends(&nodes, back).unwrap_or_else(|problems| panic!("{problems}"));
    let (answer, _) = answers::answered(&ends, plain(SOAP11)).expect("it is secured");
    let reads = "role = \"urn:second\"\nsecurity = { mechanism = \"sign\", suite = \"Basic256Sha256\", \
         signed = [\"Timestamp\", \"{urn:hop}route\"] }\n";
    nodes
        .passed("second", reads, &answer)
        .unwrap_or_else(|refused| panic!("{refused}"));
    let forged = answer.replace(">north<", ">south<");
    assert_ne!(forged, answer);
    let refused = nodes.passed("second", reads, &forged).map(|_| ());
    assert_eq!(
        refused.expect_err("it was changed").name(),
        "digest-mismatch"
    );
}

/// A header is all that a node on the way has of a message.
#[test]
fn a_policy_that_wants_more_than_a_header_is_refused_by_name() {
    let nodes = Nodes::new();
    let user = format!("<sp:UsernameToken sp:IncludeToken='{INCLUDE}/AlwaysToRecipient'/>");
    let https = nest("TransportToken", &nest("HttpsToken", ""));
    let over_tls = nest("TransportBinding", &[https, suite()].concat());
    let conversation = format!(
        "<sp:SecureConversationToken sp:IncludeToken='{INCLUDE}/AlwaysToRecipient'><wsp:Policy>{}</wsp:Policy></sp:SecureConversationToken>",
        nest(
            "BootstrapPolicy",
            &asymmetric(
                "<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>"
            ),
        )
    );
    let ticket = format!(
        "<sp:KerberosToken sp:IncludeToken='{INCLUDE}/Once'><wsp:Policy><sp:WssGssKerberosV5ApReqToken11/></wsp:Policy></sp:KerberosToken>"
    );
    let supporting =
        |token: &str| asymmetric(&[SIGNED, &nest("SignedSupportingTokens", token)].concat());
    let addressing =
        "<wsam:Addressing xmlns:wsam='http://www.w3.org/2007/05/addressing/metadata'/>";
    for (policy, wants) in [
        (
            format!("{HEAD}{over_tls}</wsp:Policy>"),
            "a protected connection",
        ),
        (supporting(&user), "a user"),
        (symmetric(&conversation), "a conversation"),
        (symmetric(&ticket), "a Kerberos ticket"),
        (
            asymmetric(&[SIGNED, addressing].concat()),
            "addressing headers",
        ),
    ] {
        nodes.0.write("node.xml", &policy);
        let made = nodes.securer("client", &client_with(&[FIRST, BY_POLICY].concat()));
        let told = made.map(|_| ()).expect_err("a problem").to_string();
        let expected = format!("found a policy that wants {wants}");
        assert!(
            told.contains(&expected),
            "expected {expected}\nfound {told}"
        );
        assert!(told.contains("node.xml"), "{told}");
    }
    // A request's session key is of nobody on the way back.
    nodes.0.write("node.xml", symmetric(&x509("Never")));
    let back = "[[answers.recipients]]\nactor = \"urn:second\"\npolicy = \"node.xml\"\n";
    let told = answers::ends(&nodes, back).map(|_| ());
    let told = told.expect_err("a problem").to_string();
    let expected = "found a policy that wants the key of the request";
    assert!(told.contains(expected), "{told}");
    // Nobody at the node knows the signatures of the request.
    let confirming = nest("Wss11", "<sp:RequireSignatureConfirmation/>");
    let confirming = asymmetric(&[SIGNED, &confirming].concat());
    nodes.0.write("node.xml", confirming);
    let told = answers::ends(&nodes, back).map(|_| ());
    let told = told.expect_err("a problem").to_string();
    let expected = "found a policy that wants confirmed signatures";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn keys_that_fit_no_recipient_are_refused() {
    let nodes = Nodes::new();
    nodes.0.write("node.xml", asymmetric(SIGNED));
    nodes.0.write("empty.xml", format!("{HEAD}</wsp:Policy>"));
    let hex = "5a".repeat(32);
    for (keys, expected) in [
        (
            "policy = \"node.xml\"\nmechanism = \"sign\"\n".to_owned(),
            "both `mechanism` and `policy` are given",
        ),
        (
            "mechanism = \"sign\"\npolicy_subject = { operation = \"Pay\" }\n".to_owned(),
            "`policy_subject` is given without `policy`, of which it speaks",
        ),
        (
            format!("{BY_POLICY}suite = \"Basic256\"\n"),
            "`suite` is given beside a policy file, which decides it",
        ),
        (
            format!("{BY_POLICY}signed = [\"Body\"]\n"),
            "`signed` is given beside a policy file, which decides it",
        ),
        (
            format!("{BY_POLICY}shared_key = {{ hex = \"{hex}\" }}\n"),
            "`shared_key` is given beside `policy`, and no token of a policy stands for a key that both sides hold",
        ),
        (
            format!("{BY_POLICY}policy_may_be_empty = true\n"),
            "`policy_may_be_empty` is given, and a node for which nothing is done is no recipient",
        ),
        (
            "policy = \"empty.xml\"\n".to_owned(),
            "the policy demands nothing of requests",
        ),
        (
            "mechanism = \"sign\"\nkerberos = { service = \"HTTP/node@EXAMPLE.COM\" }\n".to_owned(),
            "unknown key `kerberos` in [recipients]",
        ),
        // The certificate of the last node is none of another's.
        (
            format!("mechanism = \"encrypt\"\n{SUITE}\nencrypted = [\"{{urn:hop}}route\"]\n"),
            "say whom to encrypt to: peer = { certificate",
        ),
    ] {
        let told = nodes.securer("client", &client_with(&keys)).map(|_| ());
        let told = told.expect_err("a problem").to_string();
        assert!(told.contains(expected), "expected {expected}\nfound {told}");
    }
    let kerberos = "mechanism = \"sign\"\nkerberos = { service = \"HTTP/node@EXAMPLE.COM\" }\n";
    let told = nodes.securer("client", &client_with(kerberos)).map(|_| ());
    let told = told.expect_err("a problem").to_string();
    assert!(told.contains("tickets are for the last node"), "{told}");
}
