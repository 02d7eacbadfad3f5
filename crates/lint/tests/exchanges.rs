//! Requests and answers are paired, and an answer is held against its request.

use soapstone_lint::{
    Choice, Conformance, Evidence, PairedBy, Pairing, Profile, Profiles, Verdict, exchange_rules,
    lint,
};

const REQUEST: &str = include_str!("samples/exchange-request.xml");
const ANSWER: &str = include_str!("samples/exchange-answer.xml");

fn evidence(name: &str, source: &str) -> Evidence {
    let choice = Choice::Of(Profiles::of(Profile::Bsp));
    Evidence {
        name: name.to_owned(),
        digest: String::new(),
        report: lint(source.as_bytes().to_vec(), &choice, &|_| None).expect("an envelope"),
    }
}

fn conformance(messages: &[&str], pairing: Pairing) -> Conformance {
    let traffic: Vec<Evidence> = messages
        .iter()
        .enumerate()
        .map(|(at, source)| evidence(&format!("{at}.xml"), source))
        .collect();
    Conformance::of(Profile::Bsp, &traffic).with_exchanges(&traffic, pairing)
}

/// The rules that the only exchange breaks.
#[track_caller]
fn broken(messages: &[&str], pairing: Pairing) -> Vec<&'static str> {
    let conformance = conformance(messages, pairing);
    let [exchange] = conformance.exchanges.as_slice() else {
        panic!("{:?}", conformance.exchanges);
    };
    let rules = exchange.rules.iter();
    rules
        .filter(|(_, verdict, _)| *verdict == Verdict::Broken)
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
        (pairs, conformance.without_request)
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
    assert!(!conformance.holds());
    let text = conformance.markdown("Made now.");
    let row = "| 0.xml | 1.xml | message id | exchange-algorithms |";
    assert!(text.contains(row), "{text}");
    let json = conformance.json();
    assert_eq!(json["exchanges"][0]["paired_by"], "message id");
    let rules = json["rules"].as_array().expect("rules");
    let rule = rules
        .iter()
        .find(|one| one["rule"] == "exchange-algorithms");
    let rule = rule.expect("the rule");
    assert_eq!(rule["verdict"], "FAIL");
    let place = "1.xml to 0.xml: `http://www.w3.org/2001/04/xmldsig#sha1`";
    assert_eq!(rule["places"][0], place);
    // Without an exchange nothing is said of exchanges.
    let alone = self::conformance(&[REQUEST], Pairing::default());
    assert!(!alone.markdown("Made now.").contains("exchange-"));
}
