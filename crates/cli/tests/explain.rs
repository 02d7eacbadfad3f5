//! `soapstone explain`: what people and programs read, and how it ends.

mod common;

use common::{Folder, SOAP11, envelope};
use serde_json::Value;

/// Keys, endpoint files, and a signed message.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.run("keys new ca --ca").succeeds();
    folder.run("keys new client --signed-by ca").succeeds();
    folder.write(
        "client.toml",
        "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
         [security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n",
    );
    folder.write(
        "server.toml",
        "trust = { anchors = [\"ca.cert.pem\"] }\n\
         [security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n",
    );
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o good.xml")
        .succeeds();
    folder
}

/// The message with white space between its tags, as a proxy writes it.
fn indented(folder: &Folder) {
    let good = folder.read("good.xml");
    folder.write("indented.xml", good.replace("><", ">\n<"));
}

#[test]
fn a_good_message_ends_with_exit_code_0() {
    let folder = prepared();
    let run = folder.run("explain good.xml").succeeds();
    assert!(
        run.text().contains("\nNothing wrong was found.\n"),
        "{}",
        run.text()
    );
    let run = folder
        .run("explain --config server.toml good.xml")
        .succeeds();
    assert!(run.text().contains("\naccepted: "), "{}", run.text());
}

#[test]
fn the_cause_of_a_broken_message_is_named_with_its_proof() {
    let folder = prepared();
    indented(&folder);
    let run = folder.run("explain indented.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(
        text.contains("cause: with the white space between the tags left out (the message was indented after it was signed), the sha256 digest is the one in the message [white-space]"),
        "{text}"
    );
    let run = folder.run("explain --config server.toml indented.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(
        text.contains("\nrefused (digest-mismatch): ")
            || text.contains("\nrefused (signature-mismatch): "),
        "{text}"
    );
    assert!(
        text.contains("\n  not judged: `Body` signed: `ds:Signature` in line "),
        "{text}"
    );
    assert!(!text.contains("NOT MET"), "{text}");
}

#[test]
fn a_sound_message_that_is_refused_is_told_to_be_both() {
    let folder = prepared();
    // By the letter this suite signs with SHA-1.
    let by_letter = folder.read("server.toml").replace("+RsaSha256", "");
    folder.write("letter.toml", by_letter);
    let run = folder.run("explain --config letter.toml good.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(
        text.contains("\nrefused (algorithm-not-allowed): "),
        "{text}"
    );
    assert!(
        text.contains("\nThe message is sound in itself; it is refused for the reason above.\n"),
        "{text}"
    );
    assert!(!text.contains("Nothing wrong was found"), "{text}");
}

#[test]
fn json_has_the_fields_of_the_guide() {
    let folder = prepared();
    indented(&folder);
    let run = folder.run("explain --json --against good.xml indented.xml");
    assert_eq!(run.status, 2);
    let told: Value = serde_json::from_slice(&run.out).expect("JSON");
    assert_eq!(told["refused"], true);
    assert_eq!(told["file"], "indented.xml");
    assert_eq!(told["findings"][0]["kind"], "digest-mismatch");
    assert_eq!(told["findings"][0]["causes"][0]["kinds"][0], "white-space");
    assert_eq!(told["findings"][0]["causes"][0]["certain"], true);
    assert_eq!(told["signatures"][0]["references"][0]["state"], "differs");
    let differences = told["differences"].as_array().expect("a list");
    assert!(!differences.is_empty());
}

#[test]
fn canonical_bytes_are_written_where_they_are_wanted() {
    let folder = prepared();
    folder.run("explain --dump bytes good.xml").succeeds();
    let info = folder.read("bytes/signature-1-signed-info.c14n");
    assert!(info.starts_with("<ds:SignedInfo "), "{info}");
    assert!(folder.exists("bytes/signature-1-reference-1.c14n"));
}

#[test]
fn a_file_that_is_no_message_is_refused_with_what_was_done_to_it() {
    let folder = prepared();
    let good = folder.read("good.xml");
    folder.write("wrapped.xml", format!("HTTP/1.1 200 OK\r\n\r\n{good}"));
    let run = folder.run("explain wrapped.xml");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("inside of something else"), "{}", run.err);
    assert_eq!(folder.run("explain missing.xml").status, 1);
}

#[test]
fn what_is_no_xml_is_named_as_opening_names_it() {
    let folder = prepared();
    let good = folder.read("good.xml");
    let utf_16: Vec<u8> = good.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (bytes, found) in [
        (Vec::new(), "nothing: the message is empty"),
        (b"{\"a\": 1}".to_vec(), "JSON"),
        (utf_16, "UTF-16 without a byte order mark"),
        (b"\x1f\x8b\x08\x00".to_vec(), "compressed data (gzip)"),
        (
            b"<html><body>502<br></body></html>".to_vec(),
            "an HTML page",
        ),
    ] {
        folder.write("other", bytes);
        let open = folder.run("open --config server.toml other");
        let said = format!(
            "refused (not-an-envelope): expected a SOAP envelope, found {found}\nhint: have the peer send the envelope alone"
        );
        assert!(open.err.contains(&said), "{}", open.err);
        for command in ["explain other", "explain --config server.toml other"] {
            let run = folder.run(command);
            assert_eq!(run.status, 2, "{command}");
            assert!(run.err.contains(&said), "{command}: {}", run.err);
        }
    }
}

#[test]
fn a_request_that_is_not_the_one_that_is_answered_is_told() {
    let folder = prepared();
    let addressed = |block: &str| {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header>\
             <a:{block} xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:uuid:{}</a:{block}></s:Header><s:Body/></s:Envelope>",
            block.len()
        )
    };
    folder.write("request.xml", addressed("MessageID"));
    folder.write(
        "answer.xml",
        addressed("RelatesToOther").replace("RelatesToOther", "RelatesTo"),
    );
    let run = folder.run("explain --response-to request.xml answer.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.contains("(answer-to-another-request)"), "{text}");
}

#[test]
fn the_endpoint_file_that_is_sketched_opens_the_message() {
    let folder = prepared();
    let run = folder.run("explain --json good.xml").succeeds();
    let told: Value = serde_json::from_slice(&run.out).expect("JSON");
    folder.write("sketch.toml", told["sketch"].as_str().expect("a sketch"));
    folder
        .run("open --config sketch.toml good.xml -o opened.xml")
        .succeeds();
}

#[test]
fn demands_are_those_of_the_plan() {
    let folder = prepared();
    // Under this mechanism a Timestamp is checked where there is one, and not demanded.
    let user = |more: &str| {
        format!(
            "users = [{{ name = \"alice\", password = \"secret\" }}]\n\
             security = {{ mechanism = \"username\"{more} }}\n"
        )
    };
    folder.write("without.toml", user(", timestamp = false"));
    folder.write("checking.toml", user(""));
    folder.write("demanding.toml", user(", timestamp = true"));
    folder
        .run("secure --config without.toml plain.xml -o lax.xml")
        .succeeds();
    let run = folder
        .run("explain --config checking.toml lax.xml")
        .succeeds();
    assert!(!run.text().contains("wsu:Timestamp"), "{}", run.text());
    let run = folder.run("explain --config demanding.toml lax.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.contains("NOT MET: a wsu:Timestamp: "), "{text}");
}

#[test]
fn an_item_of_another_namespace_meets_no_demand() {
    let folder = prepared();
    let good = folder.read("good.xml");
    let start = good.find("<wsu:Timestamp").expect("a Timestamp");
    let end = good.find("</wsu:Timestamp>").expect("a Timestamp") + "</wsu:Timestamp>".len();
    let other = "<x:Timestamp xmlns:x=\"urn:other\"/>";
    let forged = format!("{}{other}{}", &good[..start], &good[end..]);
    folder.write("forged.xml", forged);
    let run = folder.run("explain --config server.toml forged.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.contains("NOT MET: a wsu:Timestamp: "), "{text}");
}

#[test]
fn keys_and_trust_of_the_endpoint_file_are_told() {
    let folder = prepared();
    let run = folder
        .run("explain --config server.toml good.xml")
        .succeeds();
    let text = run.text();
    assert!(
        text.contains("\n  key of `ds:Signature` in line 1: the holder of "),
        "{text}"
    );
    assert!(text.contains("\n  trusted: "), "{text}");
    folder.run("keys new other --ca").succeeds();
    folder.write(
        "other.toml",
        folder
            .read("server.toml")
            .replace("ca.cert.pem", "other.cert.pem"),
    );
    let run = folder.run("explain --json --config other.toml good.xml");
    assert_eq!(run.status, 2);
    let told: Value = serde_json::from_slice(&run.out).expect("JSON");
    assert_eq!(told["verdict"]["reason"], "untrusted");
    assert_eq!(told["verdict"]["trust"][0]["trusted"], false);
}

#[test]
fn skew_and_limits_are_those_of_the_endpoint_file() {
    let folder = prepared();
    let server = folder.read("server.toml");
    // Ten minutes after the message was made, and five after its end.
    let good = folder.read("good.xml");
    let created = good.split("<wsu:Created>").nth(1).expect("a moment");
    let created: jiff::Timestamp = created
        .split('<')
        .next()
        .unwrap_or_default()
        .parse()
        .expect("a moment");
    let later = created + jiff::SignedDuration::from_mins(10);
    let judged = |name: &str, more: &str| {
        folder.write(name, format!("{server}{more}time = \"{later}\"\n"));
        let run = folder.run(&format!("explain --json --config {name} good.xml"));
        let told: Value = serde_json::from_slice(&run.out).expect("JSON");
        let findings = told["findings"].as_array().expect("a list").clone();
        findings
            .iter()
            .any(|finding| finding["kind"] == "timestamp-expired")
    };
    assert!(judged("strict.toml", ""));
    let wide = "timestamp = { ttl = \"1h\", skew = \"10m\" }\n";
    assert!(!judged("wide.toml", wide));
    // What the endpoint does not read is told with the parser's own limits.
    folder.write(
        "shallow.toml",
        format!("limits = {{ depth = 3 }}\n{server}"),
    );
    let run = folder.run("explain --config shallow.toml good.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.contains("refused (too-deep): "), "{text}");
    assert!(text.contains("\nSignature 1 "), "{text}");
    // More than the parser reads by itself.
    let more = " ".repeat(9 << 20);
    folder.write(
        "large.xml",
        good.replacen("<soap:Body", &format!("{more}<soap:Body"), 1),
    );
    folder.write(
        "large.toml",
        format!("limits = {{ message = \"16MiB\" }}\n{server}"),
    );
    assert_eq!(folder.run("explain large.xml").status, 2);
    let run = folder.run("explain --json --config large.toml large.xml");
    let told: Value = serde_json::from_slice(&run.out).expect("JSON");
    assert_eq!(told["signatures"][0]["value"], "matches");
}

/// `ids` of the endpoint file names attributes of node-soap, xml-crypto and `SignedXml`.
#[test]
fn ids_are_those_of_the_endpoint_file() {
    let folder = prepared();
    let good = folder.read("good.xml");
    let (before, body) = good.split_once("<soap:Body").expect("a Body");
    let body = body.replacen(" wsu:Id=", " Id=", 1);
    folder.write("good.xml", format!("{before}<soap:Body{body}"));
    let kinds = |config: &str| -> Vec<String> {
        let run = folder.run(&format!("explain --json --config {config} good.xml"));
        let told: Value = serde_json::from_slice(&run.out).expect("JSON");
        let findings = told["findings"].as_array().expect("a list");
        let kinds = findings
            .iter()
            .filter_map(|finding| finding["kind"].as_str());
        kinds.map(str::to_owned).collect()
    };
    assert_eq!(kinds("server.toml"), ["id-attribute"]);
    let server = folder.read("server.toml");
    folder.write("ids.toml", format!("{server}ids = [\"Id\"]\n"));
    assert_eq!(kinds("ids.toml"), ["digest-mismatch"]);
}

#[test]
fn a_role_says_which_end_opens_the_message() {
    let folder = prepared();
    let config = "users = [{ name = \"alice\", password = \"secret\" }]\n\
        security = { mechanism = \"username\" }\n";
    folder.write("user.toml", config);
    folder
        .run("secure --config user.toml plain.xml -o user.xml")
        .succeeds();
    let judged = |role: &str| {
        let run = folder.run(&format!("explain --json --config user.toml{role} user.xml"));
        let told: Value = serde_json::from_slice(&run.out).expect("JSON");
        told["verdict"]["accepted"].as_bool().expect("a verdict")
    };
    assert!(judged(""));
    assert!(judged(" --role service"));
    // Answers carry no user.
    assert!(!judged(" --role client"));
}

/// `open` and the gateway refuse such a package, whatever the message proves that it stands for.
#[test]
fn a_package_of_mtom_is_refused_as_open_refuses_it() {
    let folder = prepared();
    let good = folder.read("good.xml");
    let kind = "application/xop+xml; type=\"text/xml\"";
    folder.write(
        "good.mime",
        format!(
            "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b; type=\"application/xop+xml\"\r\n\r\n\
             --b\r\nContent-Type: {kind}\r\nContent-ID: <root@x>\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{good}\r\n--b--\r\n"
        ),
    );
    let of = |command: &str| {
        let run = folder.run(&format!("{command} --json --config server.toml good.mime"));
        assert_eq!(run.status, 2, "{command}");
        serde_json::from_slice::<Value>(&run.out).expect("JSON")
    };
    let (opened, told) = (of("open"), of("explain"));
    assert_eq!(opened["reason"], "package-malformed");
    let verdict = &told["verdict"];
    assert_eq!(verdict["accepted"], false);
    assert_eq!(verdict["reason"], opened["reason"]);
    let says = verdict["says"].as_str().expect("a text");
    let meant = "of the message that it stands for: the message proves what";
    let reason = opened["message"].as_str().expect("a text");
    assert!(says.starts_with(reason) && says.contains(meant), "{says}");
    let package = &told["findings"][0];
    assert_eq!(package["kind"], "xop-package");
    assert_eq!(package["severity"], "error");
    // Without an endpoint file nobody refuses it.
    folder.run("explain good.mime").succeeds();
}
