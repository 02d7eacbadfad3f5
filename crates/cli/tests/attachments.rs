//! `soapstone secure` and `soapstone open` with messages that have attachments.

mod common;
#[path = "common/endpoints.rs"]
mod endpoints;

use common::{Folder, SOAP11, SOAP12, envelope, key};
use endpoints::Endpoint;

/// A package with two attachments, as a file.
fn package(soap: &str, kind: &str) -> String {
    let envelope = envelope(soap);
    format!(
        "MIME-Version: 1.0\r\nContent-Type: multipart/related; type=\"{kind}\"; start=\"<root@x>\"; boundary=b\r\n\r\n\
         --b\r\nContent-Type: {kind}; charset=utf-8\r\nContent-ID: <root@x>\r\n\r\n{envelope}\r\n\
         --b\r\nContent-Type: application/xml\r\nContent-ID: <order@x>\r\n\r\n<o  b='2' a='1'/>\r\n\
         --b\r\nContent-Type: application/pdf\r\nContent-ID: <plan@x>\r\nContent-Transfer-Encoding: base64\r\n\r\n\
         c2VjcmV0IHBsYW5z\r\n--b--\r\n"
    )
}

fn endpoints(folder: &Folder, mechanism: &'static str, security: &str) {
    Endpoint::client(mechanism, security).write(folder, "client.toml");
    Endpoint::server(mechanism, security).write(folder, "server.toml");
}

/// A signed package `secured.mime`, and the files of both ends.
fn secured(more: &str) -> Folder {
    let folder = Folder::new();
    endpoints(&folder, "sign", more);
    folder.write("plain.mime", package(SOAP11, "text/xml"));
    folder
        .run("secure --config client.toml plain.mime -o secured.mime")
        .succeeds();
    folder
}

#[test]
fn a_package_is_secured_and_opened_in_both_versions_of_soap() {
    let folder = Folder::new();
    for (soap, kind) in [(SOAP11, "text/xml"), (SOAP12, "application/soap+xml")] {
        for mechanism in ["none", "sign", "encrypt", "sign-encrypt"] {
            endpoints(&folder, mechanism, "");
            folder.write("plain.mime", package(soap, kind));
            folder
                .run("secure --config client.toml plain.mime -o secured.mime")
                .succeeds();
            let told = folder
                .run("open --config server.toml secured.mime --json -o opened.mime")
                .succeeds()
                .json();
            assert_eq!(told["outcome"], "accepted");
            for one in told["attachments"].as_array().expect("attachments") {
                let signed = mechanism.contains("sign");
                assert_eq!(
                    one["signed"].as_str(),
                    signed.then_some("content"),
                    "{told}"
                );
                let encrypted = mechanism.contains("encrypt");
                assert_eq!(one["encrypted"].as_str(), encrypted.then_some("content"));
            }
            // The plan stays in the clear where nothing encrypts it, and is bytes otherwise.
            let opened = folder.read("opened.mime");
            assert!(opened.contains("secret plans"), "{opened}");
            assert!(opened.contains(&format!("type=\"{kind}\"")), "{opened}");
            let order = match mechanism.contains("sign") {
                true => "<o a=\"1\" b=\"2\"></o>",
                false => "<o  b='2' a='1'/>",
            };
            assert!(opened.contains(order), "{opened}");
        }
    }
}

#[test]
fn a_package_is_explained_with_the_digests_of_its_parts() {
    let folder = secured("");
    let run = folder.run("explain --config server.toml --json secured.mime");
    let told = run.succeeds().json();
    let references = told["signatures"][0]["references"].as_array();
    let of_parts = references.expect("references").iter();
    let of_parts = of_parts.filter(|one| one["element"] == "attachment");
    assert_eq!(of_parts.count(), 2, "{told}");
    let secured = folder.read("secured.mime");
    folder.write(
        "changed.mime",
        secured.replace("secret plans", "other plans!"),
    );
    let run = folder.run("explain --config server.toml changed.mime");
    let text = run.refuses_somehow().text().to_owned();
    assert!(text.contains("that of the attachment is"), "{text}");
}

#[test]
fn a_package_that_was_changed_is_refused_by_name() {
    let folder = secured("");
    let secured = folder.read("secured.mime");
    let boundary = secured
        .split("boundary=\"")
        .nth(1)
        .and_then(|it| it.split('"').next());
    let end = format!("--{}--", boundary.expect("a boundary"));
    let added = "Content-Type: text/plain\r\nContent-ID: <more@x>\r\n\r\nmore\r\n";
    let start = end.trim_end_matches("--");
    for (changed, reason) in [
        (
            secured.replace("secret plans", "public plans"),
            "digest-mismatch",
        ),
        (
            secured.replace("<plan@x>", "<plot@x>"),
            "attachment-missing",
        ),
        (
            secured.replace("<order@x>", "<plan@x>"),
            "package-malformed",
        ),
        (secured.replace(&end, ""), "package-malformed"),
        (
            secured.replace(&end, &format!("{start}\r\n{added}{end}")),
            "attachment-unsigned",
        ),
    ] {
        assert_ne!(changed, secured);
        folder.write("changed.mime", changed);
        let command = "open --config server.toml changed.mime -o opened.mime";
        folder.run(command).refuses(reason);
        let told = folder.run("open --config server.toml changed.mime --json");
        let told = told.json();
        assert_eq!(told["reason"], reason);
        assert!(!folder.exists("opened.mime"));
    }
}

#[test]
fn attachments_are_bounded_by_the_endpoint_file() {
    let folder = Folder::new();
    endpoints(&folder, "none", "");
    let text = folder.read("server.toml") + "[limits]\nattachments = \"20B\"\n";
    folder.write("server.toml", text);
    folder.write("plain.mime", package(SOAP11, "text/xml"));
    folder
        .run("open --config server.toml plain.mime")
        .refuses("too-large");
}

#[test]
fn unsigned_attachments_are_taken_where_the_file_says_so() {
    let folder = secured("attachments = { signed = \"none\" }");
    let told = folder
        .run("open --config server.toml secured.mime --json")
        .succeeds()
        .json();
    assert!(told["attachments"][0].get("signed").is_none(), "{told}");
    endpoints(&folder, "sign", "");
    folder
        .run("open --config server.toml secured.mime")
        .refuses("attachment-unsigned");
}

#[test]
fn protection_that_no_key_gives_is_a_problem_of_the_file() {
    let folder = Folder::new();
    endpoints(&folder, "encrypt", "attachments = { signed = \"content\" }");
    folder
        .run("secure --config client.toml -")
        .fails("`attachments.signed` is given, and no key signs messages");
    endpoints(
        &folder,
        "encrypt-sign",
        "attachments = { encrypted = \"content\" }",
    );
    folder
        .run("secure --config client.toml -")
        .fails("attachments are signed before they are encrypted");
}
