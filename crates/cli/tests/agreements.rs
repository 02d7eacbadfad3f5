//! `soapstone agreements verify`: the records of a gateway, as the other party reads them.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use common::{Folder, SOAP11, envelope, key};
use server::{Server, free_port, post};

/// A folder with the records of a gateway whose provider answered none of three requests.
fn recorded() -> Folder {
    let folder = Folder::new();
    let sides = |own: &str, other: &str| {
        format!(
            "identity = {{ key = \"{}\", certificate = \"{}\" }}\npeer = {{ certificate = \"{}\" }}\n\
             trust = {{ anchors = [\"{}\"] }}\nsecurity = {{ mechanism = \"sign\" }}\n",
            key(&format!("{own}.key.pem")),
            key(&format!("{own}.cert.pem")),
            key(&format!("{other}.cert.pem")),
            key("ca.cert.pem")
        )
    };
    let port = free_port();
    folder.write("client.toml", sides("client", "server"));
    folder.write(
        "gold.toml",
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 1 }\n\
         [client]\nsubject = \"CN=client\"\n\
         [provider]\navailability = \"100%\"\npenalty = \"1 EUR\"\n",
    );
    folder.write(
        "gateway.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\n[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
             identity = {{ key = \"{}\", certificate = \"{}\" }}\n[[routes]]\npath = \"/echo\"\n\
             backends = [{{ url = \"http://127.0.0.1:9/echo\" }}]\n[routes.inbound]\n{}",
            key("server.key.pem"),
            key("server.cert.pem"),
            sides("server", "client")
        ),
    );
    let mut gateway = Server::start(&folder, "gateway --config gateway.toml", "gateway at");
    folder.write("plain.xml", envelope(SOAP11));
    for _ in 0..3 {
        let secured = folder
            .run("secure --config client.toml plain.xml")
            .succeeds();
        let response = post(&format!("http://127.0.0.1:{port}/echo"), secured.text());
        assert!(response.starts_with("HTTP/1.1 50"), "{response}");
    }
    assert_eq!(gateway.stop("-TERM"), Some(0));
    folder
}

#[test]
fn records_verify_and_changed_ones_end_with_exit_code_2() {
    let folder = recorded();
    let verify = format!(
        "agreements verify violations.xml --certificate {}",
        key("server.cert.pem")
    );
    let shown = folder.run(&verify).succeeds();
    let lines: Vec<&str> = shown.text().lines().collect();
    assert_eq!(lines.len(), 4, "{}", shown.text());
    let told = "agreement gold of CN=client: provider availability: promised 100% answered, \
                measured 0% answered (1 of 1 calls)";
    assert!(lines[0].ends_with(told), "{}", lines[0]);
    let head = lines[3].strip_prefix("3 records verify; the last is ");
    let head = head.expect("the last line").to_owned();

    let json = folder.run(&format!("{verify} --json")).succeeds();
    let json: serde_json::Value = serde_json::from_slice(&json.out).expect("it is JSON");
    assert_eq!(json["verified"], true);
    assert_eq!(json["records"][2]["Penalty"], "1 EUR");
    assert_eq!(json["records"][2]["signer"], "CN=server");

    folder.run(&format!("{verify} --head {head}")).succeeds();
    let records = folder.read("violations.xml");
    let lines: Vec<&str> = records.lines().collect();
    // Cut off at the end, which only the head shows.
    folder.write("violations.xml", format!("{}\n{}\n", lines[0], lines[1]));
    folder.run(&verify).succeeds();
    let cut = folder.run(&format!("{verify} --head {head}"));
    assert_eq!(cut.status, 2);
    assert_eq!(
        cut.text(),
        "violations.xml:2: the record 3 with this digest is not there: the file ends with 2\n"
    );
    // A gateway that has recorded nothing says where its chain ends, too.
    folder.run(&format!("{verify} --head 0:")).succeeds();
    folder.write("violations.xml", "");
    folder.run(&format!("{verify} --head 0:")).succeeds();
    // Taken out.
    folder.write("violations.xml", format!("{}\n{}\n", lines[0], lines[2]));
    let removed = folder.run(&verify);
    assert_eq!(removed.status, 2);
    assert_eq!(
        removed.text(),
        "violations.xml:2: expected the record 2, found 3\n"
    );
    // Signed by somebody else.
    folder.write("violations.xml", records);
    let other = format!(
        "agreements verify violations.xml --certificate {}",
        key("client.cert.pem")
    );
    let other = folder.run(&other);
    assert_eq!(other.status, 2);
    assert!(
        other
            .text()
            .starts_with("violations.xml:1: the signature is not accepted: "),
        "{}",
        other.text()
    );
}
