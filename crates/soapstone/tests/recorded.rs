//! Messages that live peers made, recorded in `interop/recorded` by `interop/record`: each is
//! accepted at the moment of its recording, and holds the body that the peer was given.

#[path = "support/body.rs"]
mod body;
#[path = "support/moment.rs"]
mod moment;

use std::path::{Path, PathBuf};

use soapstone::wss::Rejected;
use soapstone::{ForgetfulReplayCache, Memory, Opener};

use body::body_content;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded")
}

/// Those of WSS4J and zeep, and those of wse-php in a folder of their own.
fn endpoint_files() -> Vec<PathBuf> {
    let folders = [folder(), folder().join("wse-php")];
    let mut files: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the recorded messages"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    files
}

/// Opens the message beside an endpoint file, some hours after it was recorded.
fn open(file: &Path, hours: i64) -> Result<Vec<u8>, Rejected> {
    let message =
        std::fs::read(file.with_extension("xml")).expect("the message beside its endpoint file");
    let opener: Opener = moment::endpoint(file, hours);
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = opener.open(message, memory)?;
    Ok(opened.bytes)
}

#[test]
fn every_recorded_message_is_accepted_with_the_body_that_its_peer_was_given() {
    let plain = ["soap11", "soap12"].map(|version| {
        let path = folder().join(format!("{version}.plain.xml"));
        body_content(std::fs::read(path).expect("the plain message"))
    });
    assert_eq!(plain[0], plain[1]);
    let files = endpoint_files();
    assert!(
        files.len() > 60,
        "expected the recorded matrix, found {} messages",
        files.len()
    );
    for file in files {
        match open(&file, 0) {
            Ok(opened) => assert_eq!(body_content(opened), plain[0], "{}", file.display()),
            Err(rejected) => panic!("{}: {rejected}", file.display()),
        }
    }
}

#[test]
fn every_recorded_message_is_refused_an_hour_later() {
    for file in endpoint_files() {
        let name = file.file_stem().expect("a name").to_string_lossy();
        if ["zeep_signature-body-only", "no_timestamp"].contains(&&*name) {
            continue; // it has no timestamp, and is recorded for that
        }
        let outcome = open(&file, 1).map_err(|rejected| rejected.cause().clone());
        assert!(
            matches!(outcome, Err(Rejected::TimestampExpired { .. })),
            "{name}: {outcome:?}"
        );
    }
}
