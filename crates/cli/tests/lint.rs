//! `soapstone lint`: what people and programs read, and how it ends.

mod common;

use common::{Folder, SOAP11, envelope};
use serde_json::Value;

/// A Timestamp without a creation time, in the fourth line.
const BROKEN: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"\n \
    xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"\n \
    xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">\
    <s:Header><wsse:Security>\n  <wsu:Timestamp/>\n</wsse:Security></s:Header><s:Body/></s:Envelope>";

/// The same with a password whose digest has more digits of a second than some read.
fn warned() -> String {
    BROKEN.replace(
        "<wsu:Timestamp/>",
        "<wsu:Timestamp><wsu:Created>2026-01-31T12:00:00.123456Z</wsu:Created></wsu:Timestamp>",
    )
}

/// A request whose addressing headers have an action (WS-Addressing Core, 3.2).
fn addressed(soap: &str) -> String {
    let to = "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">";
    let action = to.replace("To", "Action") + "urn:books:order</a:Action>" + to;
    envelope(soap).replace(to, &action)
}

#[test]
fn a_message_that_keeps_the_rules_ends_with_exit_code_0() {
    let folder = Folder::new();
    folder.write("plain.xml", addressed(SOAP11));
    let run = folder.run("lint plain.xml").succeeds();
    assert_eq!(run.text(), "");
    assert_eq!(run.err, "soapstone: nothing found in 1 file\n");
}

#[test]
fn a_finding_has_its_place_its_rule_and_what_to_do() {
    let folder = Folder::new();
    folder.write("broken.xml", BROKEN);
    let run = folder.run("lint broken.xml");
    assert_eq!(run.status, 2);
    assert_eq!(
        String::from_utf8_lossy(&run.out),
        "broken.xml:4:3: error: R3203 (bsp MUST) <wsu:Timestamp>\n\
         \x20 rule:     A Timestamp says when it was made, once.\n\
         \x20 expected: one wsu:Created\n\
         \x20 found:    0\n\
         \x20 to do:    Write one wsu:Created in the Timestamp.\n"
    );
    assert_eq!(run.err, "soapstone: 1 error, 0 warnings in 1 of 1 file\n");
}

#[test]
fn standard_input_is_read_and_called_stdin() {
    let folder = Folder::new();
    let run = folder.run_words(&["lint", "-"], BROKEN.as_bytes());
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.starts_with("stdin:4:3: error: R3203 "), "{text}");
}

#[test]
fn fail_on_says_which_findings_count() {
    let folder = Folder::new();
    folder
        .write("error.xml", BROKEN)
        .write("warning.xml", warned());
    for (words, status) in [
        ("lint error.xml", 2),
        ("lint --fail-on error error.xml", 2),
        ("lint --fail-on never error.xml", 0),
        ("lint warning.xml", 2),
        ("lint --fail-on error warning.xml", 0),
        ("lint --fail-on error warning.xml error.xml", 2),
    ] {
        assert_eq!(folder.run(words).status, status, "{words}");
    }
}

#[test]
fn profiles_are_chosen_by_name() {
    let folder = Folder::new();
    folder.write("broken.xml", BROKEN);
    assert_eq!(folder.run("lint --profile bp11 broken.xml").status, 0);
    assert_eq!(folder.run("lint --profile bp11,bsp broken.xml").status, 2);
    let run = folder.run("lint --profile digikoppeling broken.xml");
    assert!(
        String::from_utf8_lossy(&run.out).contains(": WB002 "),
        "{run:?}"
    );
    let run = folder.run("lint --profile as4 broken.xml");
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(
        text.contains(": error: eb-messaging (as4 MUST) <s:Header>"),
        "{run:?}"
    );
    folder
        .run("lint --profile bsp2 broken.xml")
        .fails("no profile is called `bsp2`; there are bsp, bp11, bp12, bp20, policy, digikoppeling, as4, edelivery, swa");
}

#[test]
fn a_package_is_looked_at_with_its_parts() {
    let folder = Folder::new();
    let package = format!(
        "Content-Type: multipart/related; boundary=b; type=\"text/xml\"\n\n--b\nContent-Type: text/xml\n\
         Content-ID: <root@x>\n\n{BROKEN}\n--b\nContent-ID: <a>\n\n\n--b--\n"
    );
    folder
        .write("package.mime", &package)
        .write("cut.mime", package.replace("--b--", ""));
    let run = folder.run("lint package.mime");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    for expected in [
        "package.mime:10:3: error: R3203 (bsp MUST) <wsu:Timestamp>\n",
        "package.mime:13:1: error: swa-content-id (swa MUST) <Content-ID>\n",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    let run = folder.run("lint cut.mime");
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("expected `--b--` as the last line"),
        "{run:?}"
    );
}

#[test]
fn a_file_that_is_no_message_makes_the_exit_code_1_and_the_others_are_looked_at() {
    let folder = Folder::new();
    folder
        .write("text.xml", "hello")
        .write("other.xml", "<html/>")
        .write("dtd.xml", "<!DOCTYPE a><a/>")
        .write("broken.xml", BROKEN);
    let run = folder.run("lint text.xml other.xml dtd.xml nowhere.xml broken.xml");
    assert_eq!(run.status, 1);
    for expected in [
        "soapstone: text.xml: ",
        "soapstone: other.xml: expected a SOAP envelope, a WSDL 1.1 or a policy, found `html` without a namespace",
        "soapstone: dtd.xml: document type declarations are refused",
        "soapstone: nowhere.xml: cannot be read",
        "soapstone: 1 error, 0 warnings in 1 of 1 file",
    ] {
        assert!(
            run.err.contains(expected),
            "{expected} is not in\n{}",
            run.err
        );
    }
}

#[test]
fn json_tells_every_finding_with_its_rule() {
    let folder = Folder::new();
    folder
        .write("broken.xml", BROKEN)
        .write("plain.xml", addressed(SOAP11));
    let run = folder.run("lint --json broken.xml plain.xml");
    assert_eq!(run.status, 2);
    let all: Value = serde_json::from_slice(&run.out).expect("JSON");
    assert_eq!(all[0]["file"], "broken.xml");
    assert_eq!(all[0]["errors"], 1);
    assert_eq!(all[0]["profiles"], serde_json::json!(["bsp", "bp12"]));
    assert_eq!(all[0]["findings"][0]["rule"], "R3203");
    assert_eq!(all[0]["findings"][0]["line"], 4);
    assert_eq!(all[0]["findings"][0]["severity"], "error");
    assert_eq!(all[1]["findings"], serde_json::json!([]));
}

#[test]
fn sarif_has_one_run_with_rules_and_places() {
    let folder = Folder::new();
    folder.write("broken file.xml", BROKEN);
    let run = folder.run_words(&["lint", "--sarif", "broken file.xml"], b"");
    assert_eq!(run.status, 2);
    let log: Value = serde_json::from_slice(&run.out).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "R3203");
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "R3203");
    assert_eq!(result["ruleIndex"], 0);
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "broken%20file.xml");
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 4, "startColumn": 3})
    );
}

#[test]
fn a_message_that_secure_makes_keeps_the_rules() {
    let folder = Folder::new();
    folder
        .write(
            "client.toml",
            "users = [{ name = \"alice\", password = \"secret\" }]\n[security]\nmechanism = \"username\"\n",
        )
        .write("plain.xml", addressed(SOAP11));
    let secured = folder
        .run("secure --config client.toml plain.xml")
        .succeeds();
    let run = folder.run_words(&["lint", "-"], &secured.out);
    assert_eq!(
        (run.status, String::from_utf8_lossy(&run.out).as_ref()),
        (0, "")
    );
}

#[cfg(unix)]
#[test]
fn the_exit_code_tells_of_findings_whether_anybody_reads_them_or_not() {
    let folder = Folder::new();
    folder.write("broken.xml", BROKEN);
    for words in [
        "lint broken.xml",
        "lint --json broken.xml",
        "lint --sarif broken.xml",
    ] {
        assert_eq!(folder.run_unread(words).status, 2, "{words}");
    }
}

#[test]
fn the_rules_are_printed_without_a_file() {
    let folder = Folder::new();
    let rules = folder.run("lint --rules").succeeds();
    assert!(
        rules
            .text()
            .contains("\n| R3203 | bsp | MUST | error | `wsu:Timestamp` |")
    );
    folder.run("lint").fails("<FILE>...");
    folder
        .run("lint --rules a.xml")
        .fails("cannot be used with");
}
