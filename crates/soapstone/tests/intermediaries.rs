//! Messages on their way over two nodes: what each proves, what it takes out, and what it must
//! leave as it came.
//!
//! Cases `mission/intermediary` and section 4 of the mission: each attack is a test.

use soapstone::config::{EndpointConfig, Problems};
use soapstone::crypto::base64;
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Part, Rejected, SecureError};
use soapstone::xml::{Buffers, Document, ParseOptions};
use soapstone::xmlsec::dsig::{NoExtension, Reference, Rules, Scratch};
use soapstone::{ForgetfulReplayCache, Memory, Opener, PassedMessage, ReceiveError, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const NODES: [&str; 4] = ["client", "first", "second", "service"];
const SUITE: &str = "suite = \"Basic256GCM\"";
const SECURITY: &str =
    "{http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd}Security";

struct Nodes(Folder);

/// What the first node and the second read, and what the client does for both and for the service.
fn first() -> String {
    format!(
        "role = \"next\"\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, signed = [\"Timestamp\", \"{{urn:hop}}route\"], \
         encrypted = [\"{{urn:hop}}route\"] }}\n"
    )
}

fn second() -> String {
    format!(
        "role = \"urn:second\"\nsecurity = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"{{urn:hop}}price\"] }}\n"
    )
}

fn service() -> String {
    format!("security = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n")
}

fn client() -> String {
    format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n\
         [[recipients]]\nactor = \"next\"\npeer = {{ certificate = \"first.cert.pem\" }}\n\
         mechanism = \"sign-encrypt\"\nsigned = [\"Timestamp\", \"{{urn:hop}}route\"]\nencrypted = [\"{{urn:hop}}route\"]\n\
         [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"{{urn:hop}}price\"]\n"
    )
}

impl Nodes {
    fn new() -> Self {
        Self(Folder::with_keys(RSA, &NODES))
    }

    fn config(&self, name: &str, text: &str) -> Result<EndpointConfig, Problems> {
        let keys = format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\n"
        );
        EndpointConfig::from_text(&(keys + text), &self.0.path("endpoint.toml"), &|_| None)
    }

    fn securer(&self, name: &str, text: &str) -> Result<Securer, Problems> {
        self.config(name, text)
            .and_then(|config| Endpoint::from_config(&config))
    }

    fn opener(&self, name: &str, text: &str) -> Result<Opener, Problems> {
        self.config(name, text)
            .and_then(|config| Endpoint::from_config(&config))
    }

    /// A message that the client sends over both nodes.
    fn sent(&self, client: &str, plain: String) -> Result<String, SecureError> {
        let client = self.securer("client", client);
        let client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let secured = client.secure(plain.into_bytes())?;
        Ok(String::from_utf8(secured.bytes).expect("text"))
    }

    fn passed(&self, name: &str, text: &str, message: &str) -> Result<PassedMessage, Rejected> {
        let node = self.opener(name, text);
        let node = node.unwrap_or_else(|problems| panic!("{problems}"));
        passed(&node, message)
    }

    fn opened(&self, text: &str, message: &str) -> Result<String, Rejected> {
        let service = self.opener("service", text);
        let service = service.unwrap_or_else(|problems| panic!("{problems}"));
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = service.open(message.as_bytes().to_vec(), memory);
        let opened = opened.map_err(|rejected| rejected.cause().clone())?;
        Ok(String::from_utf8(opened.bytes).expect("text"))
    }
}

fn passed(node: &Opener, message: &str) -> Result<PassedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    match node.pass_on(message.as_bytes().to_vec(), memory) {
        Ok(passed) => Ok(passed),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected.cause().clone()),
        Err(error) => panic!("{error}"),
    }
}

fn text(passed: &PassedMessage) -> String {
    String::from_utf8(passed.bytes.clone()).expect("text")
}

fn route(attributes: &str) -> String {
    format!("<h:route xmlns:h=\"urn:hop\"{attributes}>north</h:route>")
}

fn price(attributes: &str) -> String {
    format!("<h:price xmlns:h=\"urn:hop\"{attributes}>7</h:price>")
}

/// A message for all of them, with white space, comments and instructions between its parts.
fn plain(soap: &str) -> String {
    let (route, price) = (route(""), price(""));
    let header = format!(
        "\n  <!-- kept -->{route}\t{price}<?kept as-is?>\r\n  <o:other xmlns:o='urn:o' o:b=\"2\"  a='1'/>"
    );
    with_header(soap, &header, &format!("\n\t{HELLO} "))
}

/// The block of the message that has this tag, with what it holds.
fn block<'m>(message: &'m str, start: &str, end: &str) -> &'m str {
    let from = message
        .find(start)
        .unwrap_or_else(|| panic!("{start} in {message}"));
    let to = message[from..].find(end).expect("its end") + end.len();
    &message[from..from + to]
}

/// The Security headers, in their order.
fn headers(message: &str) -> Vec<&str> {
    let starts = message.match_indices("<wsse:Security ").map(|(at, _)| at);
    starts
        .map(|at| block(&message[at..], "<wsse:Security ", "</wsse:Security>"))
        .collect()
}

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
    for actor in [
        "s:actor=\"urn:second urn:other\"",
        "s:actor=\"urn:other\" x:role=\"urn:second\" xmlns:x=\"http://www.w3.org/2003/05/soap-envelope\"",
        "actor=\"urn:second\" s:actor=\"urn:other\"",
    ] {
        let refused = nodes
            .passed("second", &second(), &of(actor))
            .expect_err(actor);
        assert_eq!(refused, Rejected::SecurityMissing, "{actor}");
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
        Rejected::SecurityMissing
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

impl Nodes {
    /// The service, which accepts what one subject signs.
    fn trusting(&self, security: &str, subject: &str) -> Opener {
        let text = format!(
            "identity = {{ key = \"service.key.pem\", certificate = \"service.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"{subject}\"] }}\n{security}"
        );
        let file = self.0.path("endpoint.toml");
        let config = EndpointConfig::from_text(&text, &file, &|_| None);
        let made = config.and_then(|config| Endpoint::from_config(&config));
        made.unwrap_or_else(|problems| panic!("{problems}"))
    }
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

/// The digest of what the one reference with this URI covers.
fn digest_of(message: &str, uri: &str) -> String {
    let document = Document::parse(
        message.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    );
    let document = document.expect("XML");
    let mut all = document.root().descendants();
    let element = all.find(|it| it.attribute("", "URI").as_deref() == Some(uri));
    let element = element.expect("a reference");
    let reference = Reference::parse(element, element.id(), &Rules::default());
    let reference = reference.expect("a reference");
    let target = reference.target(&document).expect("a target");
    let mut scratch = Scratch::default();
    let digested = reference.digested(&document, target, &mut NoExtension, &mut scratch);
    base64::encode(digested.expect("a digest").1.as_ref())
}

/// The id in a start tag.
fn id_of(tag: &str) -> &str {
    let id = tag.split("Id=\"").nth(1).expect("an id");
    id.split('"').next().expect("its end")
}

/// Attack: a comment in front of an encrypted header block looks like its start tag. What the
/// `EncryptedHeader` declares would be written into the comment.
#[test]
fn declarations_are_put_back_into_the_block_and_not_into_a_comment() {
    let nodes = Nodes::new();
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let before = "<!-- <h:route --><?h <h:route ?>\n";
    let wrapper = format!(
        "<w:wrapper xmlns:w=\"urn:w\" xmlns:h=\"urn:hop\" xmlns:u=\"{wsu}\" u:Id=\"w\">{before}<h:route u:Id=\"r\">north</h:route></w:wrapper>"
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
        &format!("xmlns:u=\"{wsu}\""),
        &format!("xmlns:w=\"{wsse11}\""),
    ] {
        assert_eq!(tag.matches(declared).count(), 1, "{declared} in {tag}");
    }
}

/// The message without the `EncryptedHeader` around its cipher text, as WSS 1.0 has it.
fn bare(message: &str) -> String {
    let holder = block(
        message,
        "<wsse11:EncryptedHeader",
        "</wsse11:EncryptedHeader>",
    );
    let data = block(holder, "<xenc:EncryptedData", "</xenc:EncryptedData>");
    message.replacen(holder, data, 1)
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
            "`answers` is given, and an intermediary passes answers on as they come",
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
