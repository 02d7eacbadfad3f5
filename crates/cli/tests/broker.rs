//! `soapstone broker explain`: which backend covers what, for people and for programs.

mod common;

use common::{Folder, key};

/// A gateway in front of a plain backend and of one that wants signatures, weak ones unless told
/// otherwise.
fn file(suite: &str, balance: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/books\"\n\
         [[routes.backends]]\nname = \"plain\"\nurl = \"http://127.0.0.1:9001/books\"\n\
         [[routes.backends]]\nname = \"signed\"\nurl = \"http://127.0.0.1:9002/books\"\n\
         [routes.backends.outbound]\nidentity = {{ key = \"{}\", certificate = \"{}\" }}\n\
         trust = {{ anchors = [\"{}\"] }}\n\
         security = {{ mechanism = \"sign\", suite = \"{suite}\" }}\n{balance}",
        key("client.key.pem"),
        key("client.cert.pem"),
        key("ca.cert.pem")
    )
}

#[test]
fn each_backend_has_its_index_with_its_parts_and_where_it_falls_short() {
    let folder = Folder::new();
    let balance = "[routes.balance]\nneeds = { properties = [\"integrity\"] }\n";
    folder.write("g.toml", file("Basic256Sha256+RsaSha256", balance));
    let run = folder
        .run("broker explain --config g.toml --bits 112")
        .succeeds();
    assert_eq!(
        run.text(),
        "route /books (least-load)\n\
         needs: integrity, 112 bits\n\
         backend plain -> http://127.0.0.1:9001/books\n\
         \x20 does not cover the needs: no integrity\n\
         \x20 security index 0: nothing\n\
         \x20 time: not measured\n\
         backend signed -> http://127.0.0.1:9002/books\n\
         \x20 covers the needs\n\
         \x20 security index 112: authentication 112 (message), integrity 112 (message), freshness 112 (message), \
         non-repudiation 112 (message), end-to-end 112 (message), with rsa-sha256 sha256\n\
         \x20 time: not measured\n"
    );
}

#[test]
fn a_route_whose_needs_nobody_covers_ends_with_exit_code_2() {
    let folder = Folder::new();
    folder.write("g.toml", file("Basic256Sha256", ""));
    let run = folder.run("broker explain --config g.toml --property integrity --bits 112 --json");
    assert_eq!(run.status, 2);
    let read: serde_json::Value = serde_json::from_slice(&run.out).expect("it is JSON");
    let backend = &read["routes"][0]["backends"][1];
    assert_eq!(backend["covers"], false);
    assert_eq!(
        backend["shortfalls"],
        serde_json::json!(["integrity of 61 bits, needed 112"])
    );
    assert_eq!(backend["security"]["integrity"]["bits"], 61);
    assert_eq!(backend["security"]["confidentiality"]["level"], "none");
}

#[test]
fn a_file_without_several_backends_is_told() {
    let folder = Folder::new();
    let text =
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/a\"\nbackend = \"http://127.0.0.1:9\"\n";
    folder.write("g.toml", text);
    folder
        .run("broker explain --config g.toml")
        .fails("no route has several backends");
    folder
        .run("broker explain --config g.toml --property Integrity")
        .fails("known are authentication, integrity");
}
