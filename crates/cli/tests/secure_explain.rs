//! `soapstone secure --explain`, and `soapstone explain --sent`: what is told of a message that is
//! secured, that no secret is among it, and that it is compared with what arrives.

mod common;

use common::{Folder, SOAP11, envelope};
use serde_json::Value;

/// What the Body says, and what must be told nowhere where it is encrypted.
const TEXT: &str = "levné";

/// Keys, endpoint files, and a plain message.
fn prepared(mechanism: &str) -> Folder {
    let folder = Folder::new();
    folder.run("keys new ca --ca").succeeds();
    folder.run("keys new client --signed-by ca").succeeds();
    folder.run("keys new server --signed-by ca").succeeds();
    let security =
        format!("[security]\nmechanism = \"{mechanism}\"\nsuite = \"Basic256Sha256+RsaSha256\"\n");
    let own = |name: &str| {
        format!("identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n")
    };
    let peer = "peer = { certificate = \"server.cert.pem\" }\n";
    let trust = "trust = { anchors = [\"ca.cert.pem\"] }\n";
    let (peer, identity) = match mechanism {
        "sign" => ("", String::new()),
        _ => (peer, own("server")),
    };
    folder.write("client.toml", [&own("client"), peer, &security].concat());
    folder.write("server.toml", [&identity, trust, &security].concat());
    folder.write("plain.xml", envelope(SOAP11));
    folder
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn the_tree_is_on_standard_output_and_the_message_where_it_is_wanted() {
    let folder = prepared("sign");
    let run = folder
        .run("secure --config client.toml plain.xml -o good.xml --explain")
        .succeeds();
    let text = run.text();
    for one in [
        "plain.xml: secured with one security header\n",
        "\nSecurity header, in order\n  wsu:Timestamp `",
        "\n  wsse:BinarySecurityToken `",
        "; the signature names it as its key\n",
        "\nKeys\n  signature: the private key of ",
        "\n  rsa-sha256 over ds:SignedInfo by exc-c14n, ",
        "` to `soap:Body`, as the endpoint file has `Body` signed\n    transforms: exc-c14n\n    sha256 ",
        TEXT,
    ] {
        assert!(text.contains(one), "{one}: {text}");
    }
    assert!(!text.contains("<soap:Envelope"), "{text}");
    folder.run("open --config server.toml good.xml").succeeds();
    let alone = folder.run("secure --config client.toml plain.xml --explain");
    let alone = alone.succeeds();
    assert!(!alone.text().contains("</soap:Envelope>"));
}

#[test]
fn what_is_not_explained_is_written_as_before() {
    let folder = prepared("sign");
    let run = folder
        .run("secure --config client.toml plain.xml")
        .succeeds();
    assert!(run.text().ends_with("</soap:Envelope>"), "{}", run.text());
    for words in ["--json", "--dump sent"] {
        let run = folder.run(&format!("secure --config client.toml plain.xml {words}"));
        assert_eq!(run.status, 1, "{words}");
        assert!(!folder.exists("sent"));
    }
}

#[test]
fn json_has_the_fields_of_the_guide() {
    let folder = prepared("sign-encrypt");
    let run = folder
        .run("secure --config client.toml plain.xml -o good.xml --explain --json")
        .succeeds();
    let told = json(&run.out);
    assert_eq!(told["file"], "plain.xml");
    let header = &told["headers"][0];
    assert_eq!(header["items"][0]["name"], "wsu:Timestamp");
    assert_eq!(header["tokens"][0]["element"], "wsse:BinarySecurityToken");
    assert_eq!(header["keys"][0]["usage"], "signature");
    assert_eq!(header["encryption"][0]["element"], "soap:Body");
    assert_eq!(header["encryption"][0]["extent"], "content");
    let wrapped = header["wrapped"][0]["recipient"].as_str().expect("a name");
    assert!(wrapped.contains("server"), "{wrapped}");
    let signature = &header["signatures"][0];
    assert_eq!(signature["number"], 1);
    let references = signature["references"].as_array().expect("a list");
    let message = folder.read("good.xml");
    for one in references {
        // Digests of an encrypted part stand in the message, as its signature does.
        let digest = one["digest"].as_str().expect("base64");
        let has_digest = message.contains(&format!(">{digest}</"));
        assert!(has_digest, "{digest}: {message}");
        assert_eq!(one["secret"], one["element"] == "soap:Body");
    }
}

/// Nothing that the message has encrypted is told, and no password. Whoever wants it says so.
#[test]
fn what_is_encrypted_is_told_nowhere_but_in_the_files_that_are_asked_for() {
    let folder = prepared("sign-encrypt");
    for more in ["", " --json", " --dump sent"] {
        let command = "secure --config client.toml plain.xml -o good.xml --explain";
        let run = folder.run(&format!("{command}{more}")).succeeds();
        let text = run.text();
        assert!(
            !text.contains(TEXT) && !text.contains("very secret"),
            "{text}"
        );
        assert!(!text.contains("tajn"), "{text}");
    }
    let tree = folder.read("sent/secured.json");
    assert!(
        !tree.contains("tajn") && !tree.contains("very secret"),
        "{tree}"
    );
    let files = std::fs::read_dir(folder.path("sent")).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name());
    let mut contents = names.map(|name| folder.read(&format!("sent/{}", name.display())));
    assert!(
        contents.any(|text| text.contains(TEXT)),
        "nobody could compare it"
    );
}

#[cfg(unix)]
#[test]
fn what_is_dumped_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = prepared("sign-encrypt");
    folder
        .run("secure --config client.toml plain.xml -o good.xml --explain --dump sent")
        .succeeds();
    for file in std::fs::read_dir(folder.path("sent")).expect("a folder") {
        let file = file.expect("a file");
        let mode = file.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
    }
}

/// Commands that write into the folder `to`.
const DUMPING: [&str; 2] = [
    "secure --config client.toml plain.xml --explain --dump to",
    "explain --dump to good.xml",
];

fn with_a_message() -> Folder {
    let folder = prepared("sign");
    folder
        .run("secure --config client.toml plain.xml -o good.xml")
        .succeeds();
    folder
}

#[cfg(unix)]
#[test]
fn a_folder_of_plaintext_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    for command in DUMPING {
        let folder = with_a_message();
        let command = command.replace("dump to", "dump new/to");
        folder.run(&command).succeeds();
        let about = std::fs::metadata(folder.path("new/to")).expect("a folder");
        assert_eq!(about.permissions().mode() & 0o777, 0o700);
        // Whoever may write into a folder may have bytes written elsewhere.
        for (mode, status) in [(0o755, 0), (0o775, 1), (0o1777, 1)] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path("new/to"), mode).expect("it is ours");
            let run = folder.run(&command);
            assert_eq!(run.status, status, "{}", run.err);
        }
    }
}

/// Whose mode keeps all others out may still change it: its owner reads what is written.
#[cfg(unix)]
#[test]
fn a_folder_and_a_file_of_another_user_are_refused() {
    use std::os::unix::fs::{MetadataExt, chown};
    const OTHER: u32 = 12_345;
    for command in DUMPING {
        let folder = with_a_message();
        std::fs::create_dir(folder.path("to")).expect("a folder");
        folder.write("to/signature-1-reference-2.c14n", "kept");
        let own = std::fs::metadata(folder.path("to"))
            .expect("it is there")
            .uid();
        // The superuser alone gives files away. The folder of all programs is that user's.
        if chown(folder.path("to"), Some(OTHER), None).is_err() {
            let run = folder.run(&command.replace("dump to", "dump /usr"));
            assert_eq!(run.status, 1, "{command}");
            let said = format!("must belong to the user with number {own}, found 0");
            assert!(run.err.contains(&said), "{}", run.err);
            continue;
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path("to"), mode).expect("it was ours");
        let said = format!("must belong to the user with number {own}, found {OTHER}");
        let refused = || {
            let run = folder.run(command);
            assert_eq!(run.status, 1, "{command}");
            assert!(run.err.contains(&said), "{}", run.err);
            assert_eq!(folder.read("to/signature-1-reference-2.c14n"), "kept");
            assert!(!folder.exists("to/signature-1-signed-info.c14n"));
        };
        refused();
        chown(folder.path("to"), Some(own), None).expect("it is given back");
        chown(
            folder.path("to/signature-1-reference-2.c14n"),
            Some(OTHER),
            None,
        )
        .expect("as before");
        refused();
    }
}

#[cfg(unix)]
#[test]
fn a_link_and_what_is_no_file_are_refused_and_not_written_to() {
    use std::os::unix::fs::symlink;
    for command in DUMPING {
        let folder = with_a_message();
        std::fs::create_dir(folder.path("to")).expect("a folder");
        folder.write("elsewhere", "kept");
        let name = "to/signature-1-reference-2.c14n";
        // To a file that is there, and to one that is not.
        for target in ["../elsewhere", "../nowhere"] {
            symlink(target, folder.path(name)).expect("a link");
            let run = folder.run(command);
            assert_eq!(run.status, 1, "{command}");
            assert!(run.err.contains("is a link"), "{}", run.err);
            assert_eq!(folder.read("elsewhere"), "kept");
            assert!(!folder.exists("nowhere"));
            assert!(!folder.exists("to/signature-1-signed-info.c14n"));
            std::fs::remove_file(folder.path(name)).expect("it is ours");
        }
        let socket = std::os::unix::net::UnixListener::bind(folder.path(name));
        let run = folder.run(command);
        assert_eq!(run.status, 1, "{command}");
        assert!(run.err.contains("is a pipe or a device"), "{}", run.err);
        drop(socket);
        // The folder itself.
        symlink("to", folder.path("link")).expect("a link");
        for link in ["link", "link/"] {
            let run = folder.run(&command.replace("dump to", &format!("dump {link}")));
            assert_eq!(run.status, 1, "{command}");
            assert!(run.err.contains("is a link"), "{}", run.err);
        }
    }
}

#[test]
fn a_folder_has_the_files_of_one_message() {
    for command in DUMPING {
        let folder = with_a_message();
        let old = [
            "signature-1-reference-7.c14n",
            "signature-2-signed-info.c14n",
        ];
        let other = ["signature-1.c14n", "signature-x-reference-1.c14n", "notes"];
        std::fs::create_dir(folder.path("to")).expect("a folder");
        for name in old.iter().chain(&other) {
            folder.write(&format!("to/{name}"), "old");
        }
        folder.run(command).succeeds();
        for name in old {
            assert!(!folder.exists(&format!("to/{name}")), "{command}: {name}");
        }
        for name in other {
            assert_eq!(folder.read(&format!("to/{name}")), "old", "{command}");
        }
        assert!(folder.exists("to/signature-1-reference-2.c14n"));
        // Again.
        folder.run(command).succeeds();
    }
    let folder = with_a_message();
    folder.run(DUMPING[0]).succeeds();
    let sent = folder.read("to/signature-1-signed-info.c14n");
    let run = folder.run(DUMPING[1]);
    assert_eq!(run.status, 1, "what was sent is there");
    assert!(run.err.contains("says what was sent"), "{}", run.err);
    assert_eq!(folder.read("to/signature-1-signed-info.c14n"), sent);
}

/// Sender and receiver write the same bytes under the same names.
#[test]
fn the_files_of_the_sender_are_those_of_the_receiver() {
    for mechanism in ["sign", "sign-encrypt", "encrypt-sign"] {
        let folder = prepared(mechanism);
        folder
            .run("secure --config client.toml plain.xml -o good.xml --explain --dump sent")
            .succeeds();
        folder
            .run("explain --config server.toml --dump arrived good.xml")
            .succeeds();
        let mut compared = 0;
        for file in std::fs::read_dir(folder.path("arrived")).expect("a folder") {
            let name = file.expect("a file").file_name();
            let read = |side: &str| folder.read(&format!("{side}/{}", name.display()));
            assert_eq!(read("sent"), read("arrived"), "{mechanism}");
            compared += 1;
        }
        assert_eq!(compared, 3, "{mechanism}");
        let run = folder
            .run("explain --config server.toml --sent sent good.xml")
            .succeeds();
        let text = run.text();
        assert_eq!(text.matches("\n  same: signature 1, ").count(), 3, "{text}");
        assert!(!text.contains("DIFFERS"), "{text}");
    }
}

/// Who has no key of the receiver is told no plaintext of a message that he sees, and no difference
/// that is none.
#[test]
fn without_the_receivers_key_nothing_that_is_encrypted_is_shown() {
    let folder = prepared("sign-encrypt");
    folder
        .run("secure --config client.toml plain.xml -o good.xml --explain --dump sent")
        .succeeds();
    assert!(
        folder
            .read("sent/signature-1-reference-2.c14n")
            .contains(TEXT)
    );
    for more in ["", " --json"] {
        let run = folder.run(&format!("explain --sent sent good.xml{more}"));
        let text = String::from_utf8_lossy(&run.out).into_owned();
        let leaked = ["tajn", TEXT, "<b:price>"];
        let leaked = leaked.iter().find(|words| text.contains(**words));
        assert_eq!(leaked, None, "{text}");
        assert_eq!(run.status, 0, "{text}");
    }
    let text = folder.run("explain --sent sent good.xml").succeeds();
    let text = text.text();
    assert_eq!(text.matches("\n  same: ").count(), 2, "{text}");
    assert!(!text.contains("DIFFERS: "), "{text}");
    let unknown =
        "(`soap:Body`): not compared, as it holds cipher text that no key opens, or is it";
    assert!(text.contains(unknown), "{text}");
    let told = json(&folder.run("explain --json --sent sent good.xml").out);
    let body = &told["arrived"][2];
    assert!(
        body["says"].is_string() && body.get("same").is_none(),
        "{body}"
    );
}

#[test]
fn the_first_byte_that_was_changed_on_the_way_is_told() {
    let folder = prepared("sign");
    folder
        .run("secure --config client.toml plain.xml -o good.xml --explain --dump sent")
        .succeeds();
    let good = folder.read("good.xml");
    folder.write("changed.xml", good.replace("<b:price>100", "<b:price>900"));
    let run = folder.run("explain --sent sent changed.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    let body = folder.read("sent/signature-1-reference-2.c14n");
    let place = body.find("<b:price>100").expect("the price") + "<b:price>".len() + 1;
    let differs = format!("the first one that differs is byte {place}: sent `");
    assert!(text.contains(&differs), "{differs}: {text}");
    assert!(text.contains("<b:price>900"), "{text}");
    let told = json(&folder.run("explain --json --sent sent changed.xml").out);
    let arrived = told["arrived"].as_array().expect("a list");
    let same: Vec<bool> = arrived
        .iter()
        .filter_map(|one| one["same"].as_bool())
        .collect();
    assert_eq!(same, [true, true, false]);
    // A message that is another one has none of the signatures.
    folder
        .run("secure --config client.toml plain.xml -o other.xml")
        .succeeds();
    folder.run("explain other.xml").succeeds();
    let run = folder.run("explain --sent sent other.xml");
    assert_eq!(run.status, 2, "something differs from what was sent");
    let text = String::from_utf8_lossy(&run.out);
    let differs = "DIFFERS: signature 1: it did not arrive";
    assert!(text.contains(differs), "{text}");
    let run = folder.run("explain --sent nowhere good.xml");
    assert_eq!(run.status, 1);
}

/// A folder that nothing was written into has no message to compare with.
#[test]
fn a_folder_without_what_was_sent_is_told_with_what_writes_one() {
    let folder = with_a_message();
    folder.write("broken/secured.json", "{");
    for (name, says) in [("nowhere", "cannot be read"), ("broken", "EOF")] {
        let run = folder.run(&format!("explain --sent {name} good.xml"));
        assert_eq!(run.status, 1, "{name}");
        for part in [says, "secured.json", "--explain --dump FOLDER"] {
            assert!(run.err.contains(part), "{part} is not in\n{}", run.err);
        }
    }
}
