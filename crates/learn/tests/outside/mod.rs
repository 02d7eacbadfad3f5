//! Messages that other projects published, with the keys of whoever receives them.

#![allow(dead_code, reason = "each test program uses its part")]

use jiff::SignedDuration;
use soapstone::crypto::{Certificate, base64};
use soapstone::wss::names::WSSE;
use soapstone::xml::{Buffers, Document, ParseOptions};
use soapstone_learn::KeyTables;
use soapstone_testkit::{Case, Folder};

/// The certificate of the signer that a message brings along, as somebody has it who pins it.
fn brought(message: &[u8]) -> Option<Certificate> {
    let options = ParseOptions::default();
    let document = Document::parse(message.to_vec(), &options, &mut Buffers::new()).ok()?;
    let token = document
        .root()
        .descendants()
        .find(|element| element.is(WSSE, "BinarySecurityToken"))?;
    let der = base64::decode_xml_to_vec(token.text().as_bytes()).ok()?;
    // The signer's comes first in a path that was read.
    let path = || Certificate::from_pki_path(&der).ok()?.into_iter().next();
    Certificate::from_der(&der).ok().or_else(path)
}

/// A message, and what its case says of keys.
pub(crate) struct Published {
    pub(crate) message: Vec<u8>,
    /// The tables of its receiver.
    pub(crate) receiver: KeyTables,
    /// The certificate of its signer, where that is known.
    pub(crate) signer: Option<Certificate>,
    /// The line with its users, if it has any.
    pub(crate) users: String,
}

/// Reads a case.
pub(crate) fn published(case: &Case, folder: &Folder) -> Published {
    let keys = case.value["keys"].as_array().cloned().unwrap_or_default();
    let (mut text, mut users) = (String::new(), String::new());
    let mut pinned = Vec::new();
    for key in &keys {
        let word = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
        match word("use").as_str() {
            "username" => users.push_str(&format!(
                "users = [{{ name = '{}', password = '{}' }}]\n",
                word("name"),
                word("password")
            )),
            "cert-pem" | "trusted-pem" => pinned.push(word("file")),
            "privkey-pem" => {
                let certificate = key["cert"].as_str().map(str::to_owned);
                let certificate = certificate.or_else(|| pinned.first().cloned());
                let certificate = certificate.unwrap_or_default();
                if !text.contains("identity") {
                    text.push_str(&format!(
                        "identity = {{ key = '{}', certificate = '{certificate}' }}\n",
                        word("file")
                    ));
                }
                pinned.push(certificate);
            }
            other => panic!("{}: {other}", case.id),
        }
    }
    let message = case.input();
    let known = match pinned.first() {
        Some(file) => Certificate::from_file_contents(&case.read(file))
            .expect("PEM")
            .pop(),
        None => brought(&message),
    };
    if let (true, Some(certificate)) = (pinned.is_empty(), &known) {
        folder.write("brought.pem", certificate.to_pem());
        pinned.push(folder.path("brought.pem").display().to_string());
    }
    if !pinned.is_empty() {
        text.push_str(&format!(
            "trust = {{ pinned = {pinned:?}, min_rsa_bits = 512, allow_sha1_certificates = true }}\n"
        ));
    }
    text.push_str(&users);
    let mut tables = KeyTables::of(&case.folder.join("learned.toml"), &text);
    // A message that does not say when it was made is tried while its certificate was valid.
    let says_when = String::from_utf8_lossy(&message).contains("Created>");
    if let (false, Some(certificate)) = (says_when, &known) {
        tables = tables.at(certificate.not_before() + SignedDuration::from_hours(24));
    }
    Published {
        message,
        receiver: tables,
        signer: known,
        users,
    }
}
