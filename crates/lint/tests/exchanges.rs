//! Requests and answers are paired, and an answer is held against its request.

use soapstone_lint::{
    Choice, Conformance, Evidence, Level, PairedBy, Pairing, Profile, Profiles, Verdict,
    exchange_rules, lint,
};
use soapstone_testkit::processor_time;
use soapstone_trust::addressing::reply_relation;
use soapstone_xml::{Buffers, Document, ParseOptions};

const REQUEST: &str = include_str!("samples/exchange-request.xml");
const ANSWER: &str = include_str!("samples/exchange-answer.xml");

/// The messages are no packages, so that its rules are about none of them.
const PROFILE: Profile = Profile::Swa;

fn evidence(name: &str, source: &str) -> Evidence {
    let choice = Choice::Of(Profiles::of(PROFILE));
    Evidence {
        name: name.to_owned(),
        digest: String::new(),
        bytes: source.len(),
        report: lint(source.as_bytes().to_vec(), &choice, &|_| None).expect("an envelope"),
    }
}

fn conformance(messages: &[&str], pairing: Pairing) -> Conformance {
    let traffic: Vec<Evidence> = messages
        .iter()
        .enumerate()
        .map(|(at, source)| evidence(&format!("{at}.xml"), source))
        .collect();
    Conformance::of(PROFILE, &traffic).with_exchanges(&traffic, pairing)
}

/// The rules that the only exchange breaks, and those that remark on it.
#[track_caller]
fn broken(messages: &[&str], pairing: Pairing) -> Vec<&'static str> {
    let conformance = conformance(messages, pairing);
    let [exchange] = conformance.exchanges.as_slice() else {
        panic!("{:?}", conformance.exchanges);
    };
    let rules = exchange.rules.iter();
    rules
        .filter(|(rule, verdict, _)| match rule.level {
            Level::Remark => *verdict == Verdict::Remarked,
            _ => *verdict == Verdict::Broken,
        })
        .map(|(rule, ..)| rule.id)
        .collect()
}

const IN_ORDER: Pairing = Pairing {
    in_order: true,
    confirmed: false,
};

/// Rule, what is replaced in the answer, and by what.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "exchange-relates",
        "<a:RelatesTo>urn:uuid:1</a:RelatesTo>",
        "<a:RelatesTo>urn:uuid:9</a:RelatesTo>",
    ),
    (
        "exchange-relates",
        "<a:RelatesTo>urn:uuid:1</a:RelatesTo>",
        "",
    ),
    ("exchange-action", "<a:Action>urn:booksOfAll</a:Action>", ""),
    ("exchange-action-own", "urn:booksOfAll", "urn:getBooks"),
    (
        "exchange-confirmed",
        "<wsse11:SignatureConfirmation wsu:Id=\"C2\" Value=\"QkJC\"/>",
        "<wsse11:SignatureConfirmation wsu:Id=\"C2\" Value=\"QUFB\"/>",
    ),
    (
        "exchange-confirms-others",
        "<wsse11:SignatureConfirmation wsu:Id=\"C2\"",
        "<wsse11:SignatureConfirmation wsu:Id=\"C3\" Value=\"WFhY\"/><wsse11:SignatureConfirmation wsu:Id=\"C2\"",
    ),
    (
        "exchange-confirmation-signed",
        "<ds:Reference URI=\"#C2\">",
        "<ds:Reference URI=\"#none\">",
    ),
    (
        "exchange-signed",
        "<ds:Reference URI=\"#B\">",
        "<ds:Reference URI=\"#none\">",
    ),
    ("exchange-encrypted", "xenc:EncryptedData>", "xenc:Other>"),
    ("exchange-algorithms", "xmlenc#sha256", "xmldsig#sha1"),
    (
        "exchange-algorithms",
        "xmlenc11#aes256-gcm",
        "xmlenc#aes256-cbc",
    ),
];

#[test]
fn each_rule_about_exchanges_is_found_where_an_answer_breaks_it() {
    assert_eq!(broken(&[REQUEST, ANSWER], IN_ORDER), Vec::<&str>::new());
    let mut seen = Vec::new();
    for (rule, from, to) in CHANGES {
        assert!(ANSWER.contains(from), "{rule}: {from}");
        let answer = match *rule {
            "exchange-encrypted" => ANSWER
                .replace("xenc:EncryptedData Id", "xenc:Other Id")
                .replace(from, to),
            "exchange-confirms-others" => ANSWER.replacen(from, to, 1).replacen(
                "<ds:Reference URI=\"#C2\">",
                "<ds:Reference URI=\"#C3\"/><ds:Reference URI=\"#C2\">",
                1,
            ),
            _ => ANSWER.replacen(from, to, 1),
        };
        assert_eq!(broken(&[REQUEST, &answer], IN_ORDER), [*rule], "{to}");
        seen.push(*rule);
    }
    for rule in exchange_rules() {
        assert!(seen.contains(&rule.id), "{}", rule.id);
    }
}

#[test]
fn an_answer_finds_its_request_by_id_by_confirmation_or_by_the_order_that_is_told() {
    let other = REQUEST
        .replace("urn:uuid:1", "urn:uuid:2")
        .replace("QUFB", "Q0ND")
        .replace("QkJC", "RERE");
    let by = |messages: &[&str], pairing| {
        let conformance = conformance(messages, pairing);
        let exchanges = conformance.exchanges.iter();
        let pairs: Vec<_> = exchanges
            .map(|one| (one.request.clone(), one.answer.clone(), one.by))
            .collect();
        (pairs, conformance.unpaired)
    };
    let pair = |request: &str, answer: &str, by| (request.to_owned(), answer.to_owned(), by);
    let free = Pairing::default();
    // The answer stands in front of its request, and another request is nearer.
    let found = by(&[ANSWER, &other, REQUEST], free);
    let expected = pair("2.xml", "0.xml", PairedBy::MessageId);
    assert_eq!(found, (vec![expected], Vec::new()));
    let unrelated = ANSWER.replace("<a:RelatesTo>urn:uuid:1</a:RelatesTo>", "");
    let found = by(&[&other, REQUEST, &unrelated], free);
    let expected = pair("1.xml", "2.xml", PairedBy::Confirmation);
    assert_eq!(found, (vec![expected], Vec::new()));
    let found = by(&[&other, ANSWER], free);
    assert_eq!(found, (Vec::new(), vec!["1.xml".to_owned()]));
    let found = by(&[&other, ANSWER, REQUEST], IN_ORDER);
    let expected = pair("0.xml", "1.xml", PairedBy::Order);
    assert_eq!(found, (vec![expected], vec!["2.xml".to_owned()]));
}

/// The answer to another request, told to be that of this one: each link is broken.
#[test]
fn an_answer_to_another_request_breaks_every_link() {
    let other = REQUEST
        .replace("urn:uuid:1", "urn:uuid:2")
        .replace("QUFB", "Q0ND")
        .replace("QkJC", "RERE");
    let expected = [
        "exchange-relates",
        "exchange-confirmed",
        "exchange-confirms-others",
    ];
    assert_eq!(broken(&[&other, ANSWER], IN_ORDER), expected);
}

#[test]
fn confirmations_are_missed_where_they_are_demanded_alone() {
    let start = ANSWER.find("<wsse11:SignatureConfirmation").expect("one");
    let end = ANSWER.find("<ds:Signature>").expect("a signature");
    let without = format!("{}{}", &ANSWER[..start], &ANSWER[end..]);
    assert_eq!(broken(&[REQUEST, &without], IN_ORDER), Vec::<&str>::new());
    let demanded = Pairing {
        confirmed: true,
        ..IN_ORDER
    };
    let expected = ["exchange-confirmed"];
    assert_eq!(broken(&[REQUEST, &without], demanded), expected);
    // A request without a signature is confirmed by one confirmation without a value.
    let start = REQUEST.find("<ds:Signature>").expect("a signature");
    let end = REQUEST.find("</wsse:Security>").expect("the header's end");
    let plain = format!("{}{}", &REQUEST[..start], &REQUEST[end..]);
    assert_eq!(broken(&[&plain, &without], demanded), expected);
    let said = without.replace(
        "<ds:Signature>",
        "<wsse11:SignatureConfirmation wsu:Id=\"C1\"/><ds:Signature>",
    );
    assert_eq!(broken(&[&plain, &said], demanded), Vec::<&str>::new());
}

fn without(source: &str, from: &str, to: &str) -> String {
    let start = source.find(from).expect("the start");
    let end = source.find(to).expect("the end");
    format!("{}{}", &source[..start], &source[end..])
}

const CBC: (&str, &str) = ("xmlenc11#aes256-gcm", "xmlenc#aes256-cbc");

/// Weak algorithms are told of a kind that both messages use, and never of what is not seen.
#[test]
fn algorithms_are_compared_where_both_messages_show_some_of_their_kind() {
    let answer = ANSWER.replacen(CBC.0, CBC.1, 1);
    let signed = without(REQUEST, "<xenc:EncryptedData", "</s:Body>");
    assert_eq!(broken(&[&signed, &answer], IN_ORDER), Vec::<&str>::new());
    let encrypted = without(REQUEST, "<ds:Signature>", "</wsse:Security>");
    let sha1 =
        without(ANSWER, "<wsse11:Sig", "<ds:Signature>").replace("xmlenc#sha256", "xmldsig#sha1");
    assert_eq!(broken(&[&encrypted, &sha1], IN_ORDER), Vec::<&str>::new());
    let expected = ["exchange-algorithms"];
    assert_eq!(broken(&[REQUEST, &answer], IN_ORDER), expected);
    let hidden = REQUEST.replacen(
        "</wsse:Security>",
        "<xenc:EncryptedData/></wsse:Security>",
        1,
    );
    assert_eq!(broken(&[&hidden, &answer], IN_ORDER), Vec::<&str>::new());
}

/// The policy that signs and encrypts requests alone is common, and no clause is against it.
#[test]
fn an_answer_with_less_protection_is_remarked_on_and_breaks_nothing() {
    let plain = without(ANSWER, "<wsse:Security>", "</s:Header>").replace("xenc:", "b:");
    let plain = plain.replacen("<s:Body ", "<s:Body xmlns:b=\"urn:b\" ", 1);
    let expected = ["exchange-signed", "exchange-encrypted"];
    assert_eq!(broken(&[REQUEST, &plain], IN_ORDER), expected);
    let conformance = conformance(&[REQUEST, &plain], IN_ORDER);
    assert!(conformance.holds());
    assert_eq!(conformance.count(Verdict::Remarked), 2);
    let text = conformance.markdown("Made now.");
    let row = "| 0.xml | 1.xml | order of the documents |  | exchange-signed, exchange-encrypted |";
    assert!(text.contains(row), "{text}");
}

/// Which message is the reply to another is decided as the engine decides it.
#[test]
fn a_relation_is_a_reply_where_the_engine_says_so() {
    let (v10, august) = (
        "http://www.w3.org/2005/08/addressing",
        "http://schemas.xmlsoap.org/ws/2004/08/addressing",
    );
    let kinds = [
        ("", [true, true]),
        (
            "RelationshipType=\"http://www.w3.org/2005/08/addressing/reply\"",
            [true, false],
        ),
        ("RelationshipType=\"urn:other\"", [false, false]),
        ("RelationshipType=\"\"", [false, false]),
        ("RelationshipType=\"a:Reply\"", [false, true]),
        ("RelationshipType=\"wsu:Reply\"", [false, false]),
        ("RelationshipType=\"Reply\"", [false, false]),
    ];
    for (kind, expected) in kinds {
        for (namespace, expected) in [v10, august].into_iter().zip(expected) {
            let relation = format!("<a:RelatesTo {kind}>urn:uuid:1</a:RelatesTo>");
            let answer = without(ANSWER, "<wsse11:Sig", "<ds:Signature>")
                .replacen("<a:RelatesTo>urn:uuid:1</a:RelatesTo>", &relation, 1)
                .replacen(v10, namespace, 1);
            let source = answer.clone().into_bytes();
            let read = Document::parse(source, &ParseOptions::default(), &mut Buffers::new());
            let read = read.expect("a document");
            let mut blocks = read.elements_named(namespace, "RelatesTo");
            let block = blocks.next().expect("a relation");
            assert_eq!(
                reply_relation(block).is_some(),
                expected,
                "{kind} {namespace}"
            );
            let found = conformance(&[REQUEST, &answer], Pairing::default());
            assert_eq!(
                found.exchanges.len(),
                usize::from(expected),
                "{kind} {namespace}"
            );
        }
    }
}

/// WS-Addressing Core, 3.1: there is a word for the message that has no id.
#[test]
fn the_answer_to_a_request_without_an_id_may_relate_to_the_unspecified_message() {
    let request = REQUEST.replacen("<a:MessageID>urn:uuid:1</a:MessageID>", "", 1);
    let unspecified = ANSWER.replacen(
        ">urn:uuid:1<",
        ">http://www.w3.org/2005/08/addressing/unspecified<",
        1,
    );
    assert_eq!(
        broken(&[&request, &unspecified], IN_ORDER),
        Vec::<&str>::new()
    );
    assert_eq!(broken(&[&request, ANSWER], IN_ORDER), ["exchange-relates"]);
    assert_eq!(
        broken(&[REQUEST, &unspecified], IN_ORDER),
        ["exchange-relates"]
    );
}

/// A block in cipher text may be the one that is missed.
#[test]
fn encrypted_header_blocks_are_not_called_missing() {
    let headers = "<a:Action>urn:booksOfAll</a:Action><a:RelatesTo>urn:uuid:1</a:RelatesTo>";
    let id = "<a:MessageID>urn:uuid:1</a:MessageID>";
    for hidden in ["<wsse11:EncryptedHeader/>", "<xenc:EncryptedData/>"] {
        let answer = ANSWER.replacen(headers, hidden, 1);
        assert_eq!(broken(&[REQUEST, &answer], IN_ORDER), Vec::<&str>::new());
        let request = REQUEST.replacen(id, hidden, 1);
        assert_eq!(broken(&[&request, ANSWER], IN_ORDER), Vec::<&str>::new());
    }
    let answer = ANSWER.replacen(headers, "", 1);
    let expected = ["exchange-relates", "exchange-action"];
    assert_eq!(broken(&[REQUEST, &answer], IN_ORDER), expected);
}

/// The faults of a gateway have no Header: it may not have got as far as that of the request.
#[test]
fn a_fault_without_a_header_owes_no_relation_no_action_and_no_confirmation() {
    let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.w3.org/2005/08/addressing\">\
        <s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";
    let demanded = Pairing {
        confirmed: true,
        ..IN_ORDER
    };
    assert_eq!(broken(&[REQUEST, fault], demanded), Vec::<&str>::new());
    // With addressing headers it relates, and what is signed confirms.
    let addressed = fault.replacen(
        "<s:Body>",
        "<s:Header><a:Action>urn:a</a:Action></s:Header><s:Body>",
        1,
    );
    assert_eq!(
        broken(&[REQUEST, &addressed], demanded),
        ["exchange-relates"]
    );
    let signed = without(ANSWER, "<wsse11:Sig", "<ds:Signature>").replacen(
        "<xenc:EncryptedData Id=\"D\">",
        "<s:Fault/><xenc:EncryptedData Id=\"D\">",
        1,
    );
    assert_eq!(
        broken(&[REQUEST, &signed], demanded),
        ["exchange-confirmed"]
    );
}

/// Each part of the Body may be called encrypted, and each header may be one of security.
#[test]
fn many_security_headers_and_much_encrypted_data_take_linear_work() {
    let with = |many: usize| {
        let headers = format!("{}<wsse:Security>", "<wsse:Security/>".repeat(many));
        let body = format!("{}</s:Body>", "<xenc:EncryptedData/>".repeat(many));
        let message = REQUEST.replacen("<wsse:Security>", &headers, 1);
        let message = message.replacen("</s:Body>", &body, 1);
        processor_time(|| broken(&[&message, ANSWER], IN_ORDER)).1
    };
    let (few, many) = (with(4_000), with(16_000));
    assert!(many < few * 10, "{few:?} and {many:?}");
}

/// A fault may be plain, and a signature in cipher text is neither there nor missing.
#[test]
fn plain_faults_and_hidden_signatures_are_not_called_weaker() {
    let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.w3.org/2005/08/addressing\">\
        <s:Header><a:Action>http://www.w3.org/2005/08/addressing/soap/fault</a:Action><a:RelatesTo>urn:uuid:1</a:RelatesTo></s:Header>\
        <s:Body><s:Fault><faultcode>s:Server</faultcode><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";
    assert_eq!(broken(&[REQUEST, fault], IN_ORDER), Vec::<&str>::new());
    let start = ANSWER.find("<ds:Signature>").expect("a signature");
    let end = ANSWER.find("</wsse:Security>").expect("the header's end");
    let hidden = format!(
        "{}<xenc:EncryptedData/>{}",
        &ANSWER[..start],
        &ANSWER[end..]
    );
    assert_eq!(broken(&[REQUEST, &hidden], IN_ORDER), Vec::<&str>::new());
}

#[test]
fn the_report_lists_exchanges_and_their_rules() {
    let weak = ANSWER.replacen("xmlenc#sha256", "xmldsig#sha1", 1);
    let conformance = conformance(&[REQUEST, &weak], Pairing::default());
    assert!(conformance.holds());
    let text = conformance.markdown("Made now.");
    let row = "| 0.xml | 1.xml | message id |  | exchange-algorithms |";
    assert!(text.contains(row), "{text}");
    let json = conformance.json();
    assert_eq!(json["exchanges"][0]["paired_by"], "message id");
    let rules = json["rules"].as_array().expect("rules");
    let rule = rules
        .iter()
        .find(|one| one["rule"] == "exchange-algorithms");
    let rule = rule.expect("the rule");
    assert_eq!(rule["verdict"], "remark");
    let place = "1.xml to 0.xml: `http://www.w3.org/2001/04/xmldsig#sha1`";
    assert_eq!(rule["places"][0], place);
    let other = ANSWER.replacen("urn:uuid:1", "urn:uuid:9", 1);
    assert!(!self::conformance(&[REQUEST, &other], IN_ORDER).holds());
    // Without an exchange nothing is said of exchanges.
    let alone = self::conformance(&[REQUEST], Pairing::default());
    assert!(!alone.markdown("Made now.").contains("exchange-"));
}
