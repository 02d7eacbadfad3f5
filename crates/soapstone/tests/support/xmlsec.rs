//! Messages in the forms of others, which `xmlsec1` signs and verifies in a folder with keys.

#![allow(dead_code, reason = "each test program uses its part")]

use std::io::Write;
use std::process::{Command, Output};

use soapstone_testkit::Folder;

/// WS-Addressing: the submission of August 2004.
pub(crate) const WSA_2004: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
pub(crate) const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
pub(crate) const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

/// The algorithms of a signature and of its digests.
pub(crate) const SHA256: [&str; 2] = [
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    "http://www.w3.org/2001/04/xmlenc#sha256",
];
/// The same, of old.
pub(crate) const SHA1: [&str; 2] = [
    "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
    "http://www.w3.org/2000/09/xmldsig#sha1",
];

/// The document with the signature of `signer` where its template is. `None`: the program is not
/// installed, so that nothing is known about `form`.
pub(crate) fn signed(
    folder: &Folder,
    signer: &str,
    document: &str,
    options: &[&str],
    form: &str,
) -> Option<String> {
    let key = format!("{signer}.key.pem,{signer}.cert.pem");
    let signing = ["--sign", "--privkey-pem", &key];
    let Ok(output) = run(folder, document, &[&signing, options].concat()) else {
        let text =
            format!("`xmlsec1` is not installed, so nothing is known about the form of {form}");
        assert!(std::env::var_os("CI").is_none(), "{text}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: {text}");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// A stranger verifies what `signer` signed.
pub(crate) fn verify(folder: &Folder, signer: &str, document: &str, options: &[&str]) {
    let certificate = format!("{signer}.cert.pem");
    let verifying = ["--verify", "--pubkey-cert-pem", &certificate];
    let verified = run(folder, document, &[&verifying, options].concat());
    let verified = verified.expect("it ran before");
    assert!(verified.status.success(), "{verified:?}\n{document}");
}

fn run(folder: &Folder, document: &str, arguments: &[&str]) -> std::io::Result<Output> {
    folder.write("document.xml", document);
    Command::new("xmlsec1")
        .current_dir(folder.root())
        .args(arguments)
        .arg("document.xml")
        .output()
}
