//! Everything encrypted in the vectors: what can be opened opens to the exact plaintext, the rest
//! is refused.

mod common;

use common::{Setting, refused_for, run};
use soapstone_crypto::base64;
use soapstone_testkit::Case;
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};
use soapstone_xmltools::generic::{Session, decrypt};

#[test]
fn everything_encrypted_in_the_vectors_has_its_outcome() {
    run("enc-decrypt", check);
}

fn check(case: &Case) -> Result<(), String> {
    let (keys, options, mut files) = case.setting();
    let input = case.input();
    let result = decrypt(&input, &mut Session::new(&keys, &options, &mut files));
    let problems = if files.problems.is_empty() {
        String::new()
    } else {
        format!(" ({})", files.problems.join("; "))
    };
    match (case.outcome(), result) {
        ("valid", Ok(decrypted)) => {
            let expected = &case.value["expected"];
            let mut plaintext = case.read(expected["plaintext_file"].as_str().unwrap());
            if expected["plaintext_file_encoding"].as_str() == Some("base64") {
                plaintext = base64::decode_xml_to_vec(&plaintext).unwrap();
            }
            let same = match expected["compare"].as_str() {
                Some("bytes") => decrypted.octets == plaintext,
                Some("document") => canonical(&decrypted.octets)? == canonical(&plaintext)?,
                other => return Err(format!("unknown comparison {other:?}")),
            };
            if same {
                Ok(())
            } else {
                Err(format!(
                    "another plaintext: {}",
                    String::from_utf8_lossy(&decrypted.octets[..decrypted.octets.len().min(300)])
                ))
            }
        }
        ("valid", Err(error)) => Err(format!("{error}{problems}")),
        ("invalid", Err(error)) => refused_for(case, &error),
        ("invalid", Ok(_)) => Err("opens although it must not".to_owned()),
        (other, _) => Err(format!("unknown outcome {other}")),
    }
}

fn canonical(octets: &[u8]) -> Result<Vec<u8>, String> {
    let flattened =
        soapstone_xmltools::dtd::flatten(octets, &soapstone_xml::Limits::default(), &mut |_| None)
            .map_err(|error| error.to_string())?;
    let document = Document::parse(
        flattened.document,
        &ParseOptions::default(),
        &mut Buffers::default(),
    )
    .map_err(|error| error.to_string())?;
    let options = C14nOptions::new(Canonicalization::Inclusive10WithComments);
    let mut canonical = Vec::new();
    canonicalize(
        &document,
        Apex::Document,
        &options,
        &mut C14nScratch::default(),
        &mut canonical,
    )
    .map_err(|error| error.to_string())?;
    Ok(canonical)
}
