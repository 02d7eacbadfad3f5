//! `soapstone conform`: verdicts on every rule of a profile.

mod common;
#[path = "common/endpoints.rs"]
mod endpoints;

use common::{Folder, SOAP11, envelope, key};
use endpoints::Endpoint;

fn folder() -> Folder {
    let folder = Folder::new();
    let suite = "suite = \"Basic256Sha256\"";
    Endpoint::client("sign", suite).write(&folder, "client.toml");
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o signed.xml")
        .succeeds();
    assert!(key("ca.cert.pem").ends_with("ca.cert.pem"));
    folder
}

fn verdict<'r>(report: &'r serde_json::Value, rule: &str) -> &'r serde_json::Value {
    let rules = report["rules"].as_array().expect("rules");
    let found = rules.iter().find(|it| it["rule"] == rule);
    &found.unwrap_or_else(|| panic!("{rule}"))["verdict"]
}

#[test]
fn our_own_message_keeps_every_rule_that_is_about_it() {
    let folder = folder();
    let run = folder.run("conform bsp signed.xml --json").succeeds();
    let report = run.json();
    assert_eq!(report["holds"], true);
    assert_eq!(report["documents"][0]["name"], "signed.xml");
    assert_eq!(
        report["documents"][0]["sha256"].as_str().map(str::len),
        Some(64)
    );
    // A Timestamp is there, no REL token is.
    assert_eq!(verdict(&report, "R3203"), "pass");
    assert_eq!(verdict(&report, "R6301"), "not applicable");
    let text = folder.run("conform bsp signed.xml").succeeds();
    assert!(
        text.text()
            .starts_with("# Conformance to WS-I Basic Security Profile 1.1\n")
    );
    assert!(
        text.text().contains("**No rule is broken.**"),
        "{}",
        text.text()
    );
}

#[test]
fn a_broken_rule_is_told_with_its_places_in_every_document() {
    let folder = folder();
    let signed = folder.read("signed.xml");
    let start = signed.find("<wsu:Created>").expect("a Timestamp");
    let end = signed.find("</wsu:Created>").expect("its end") + "</wsu:Created>".len();
    let broken = format!("{}{}", &signed[..start], &signed[end..]);
    folder.write("broken.xml", broken);
    let run = folder
        .run("conform bsp signed.xml broken.xml --json -o report.json")
        .refuses_somehow();
    assert_eq!(run.text(), "");
    let report: serde_json::Value =
        serde_json::from_str(&folder.read("report.json")).expect("JSON");
    assert_eq!(report["holds"], false);
    assert_eq!(verdict(&report, "R3203"), "FAIL");
    let rules = report["rules"].as_array().expect("rules");
    let rule = rules
        .iter()
        .find(|it| it["rule"] == "R3203")
        .expect("the rule");
    let place = rule["places"][0].as_str().expect("a place");
    assert!(place.starts_with("broken.xml:1:"), "{place}");
    // All that an auditor asks for.
    let breach = &rule["breaches"][0];
    assert_eq!(breach["place"], place);
    assert_eq!(breach["element"], "wsu:Timestamp");
    assert_eq!(breach["expected"], "one wsu:Created");
    assert_eq!(breach["found"], "0");
    assert_eq!(rule["clause"], "WSS 1.1.1, 10");
    assert!(rule["to_do"].as_str().is_some_and(|it| it.ends_with('.')));
    let documents = report["documents"].as_array().expect("documents");
    assert_eq!(documents[0]["bytes"], signed.len());
    assert!(signed.contains(documents[0]["created"].as_str().expect("a moment")));
    assert_eq!(documents[1]["created"], serde_json::Value::Null);
    let version = format!("soapstone {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(report["program"], version);
    assert!(
        report["made_at"]
            .as_str()
            .is_some_and(|it| it.ends_with('Z'))
    );
    let not_judged = report["not_judged"].as_array().expect("rules");
    assert!(not_judged.iter().any(|it| it["rule"] == "R3212"));
    let text = folder
        .run("conform bsp signed.xml broken.xml")
        .refuses_somehow();
    let row = format!(
        "| R3203 | WSS 1.1.1, 10 | {place} | wsu:Timestamp | one wsu:Created | 0 | Write one wsu:Created in the Timestamp. |"
    );
    assert!(text.text().contains(&row), "{}", text.text());
    assert!(text.text().contains("## Rules without a verdict"));
    folder.write("no.xml", "<a/>");
    folder
        .run("conform bsp signed.xml no.xml")
        .fails("no.xml: expected a SOAP envelope");
    folder
        .run("conform other signed.xml")
        .fails("no profile is called `other`");
}

#[test]
fn an_answer_is_held_against_its_request() {
    let folder = folder();
    folder
        .run("secure --config client.toml plain.xml -o answer.xml")
        .succeeds();
    // Both are signed alike, and nobody demands confirmations.
    let run = folder.run("conform bsp signed.xml answer.xml --in-order --json");
    let report = run.succeeds().json();
    assert_eq!(report["exchanges"][0]["answer"], "answer.xml");
    assert_eq!(verdict(&report, "exchange-signed"), "pass");
    assert_eq!(verdict(&report, "exchange-confirmed"), "not applicable");
    let run = folder.run("conform bsp signed.xml answer.xml --in-order --confirmed");
    let text = run.refuses_somehow().text().to_owned();
    let row = "| signed.xml | answer.xml | order of the documents | exchange-confirmed |  |";
    assert!(text.contains(row), "{text}");
    // A description between them is not counted, and a request at the end has no answer.
    folder.write(
        "service.wsdl",
        "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" targetNamespace=\"urn:t\"/>",
    );
    folder.write("last.xml", folder.read("signed.xml"));
    let files = "signed.xml service.wsdl answer.xml last.xml";
    let run = folder.run(&format!("conform bsp {files} --in-order --json"));
    let report = run.succeeds().json();
    assert_eq!(report["exchanges"][0]["answer"], "answer.xml");
    assert_eq!(report["unpaired"], serde_json::json!(["last.xml"]));
    // Without the order nothing pairs them.
    let run = folder.run("conform bsp signed.xml answer.xml --json");
    assert_eq!(run.succeeds().json()["exchanges"], serde_json::json!([]));
}

/// A rule that was not looked for in all of a description is not called kept.
#[test]
fn what_is_not_looked_at_is_no_pass() {
    let folder = Folder::new();
    let service = |parts: usize| {
        let message = (0..parts).map(|at| format!("<part name=\"p{at}\" element=\"t:e\"/>"));
        let message: String = message.collect();
        format!(
            "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:s=\"http://schemas.xmlsoap.org/wsdl/soap/\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\">\
             <message name=\"m\">{message}</message><portType name=\"P\"><operation name=\"o\"><input message=\"t:m\"/></operation></portType>\
             <binding name=\"B\" type=\"t:P\"><s:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>\
             <operation name=\"o\"><input><s:body parts=\"p0\" use=\"literal\"/></input></operation></binding></definitions>"
        )
    };
    // Both leave parts unbound (R2209), and that is seen of the small one alone.
    folder.write("small.wsdl", service(2));
    let run = folder.run("conform bp11 small.wsdl --json");
    assert_eq!(verdict(&run.json(), "R2209"), "FAIL");
    folder.write("large.wsdl", service(1 << 16));
    let run = folder.run("conform bp11 large.wsdl --json");
    let report = run.json();
    assert_eq!(run.status, 2);
    assert_eq!(report["holds"], false);
    assert_eq!(verdict(&report, "wsdl-not-looked-at"), "remark");
    for rule in ["R2209", "R2204", "R2710"] {
        assert_eq!(verdict(&report, rule), "not looked at", "{rule}");
    }
    // All operations are held against the port type.
    assert_eq!(verdict(&report, "R2718"), "pass");
    let text = folder.run("conform bp11 large.wsdl");
    let text = String::from_utf8_lossy(&text.out).into_owned();
    assert!(text.contains("not all was looked at"), "{text}");
}
