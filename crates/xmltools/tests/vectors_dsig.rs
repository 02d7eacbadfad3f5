//! Every signature of the vectors: valid ones verify, invalid ones are refused, and what was
//! digested is what the suites say was digested.

mod common;

use common::{Setting, refused_for, run};
use soapstone_testkit::Case;
use soapstone_xmltools::generic::{Session, verify};

/// Files that are not what their document says: damaged in their suite, or the input of an XSLT
/// transform.
const UNUSABLE_FILES: [&str; 5] = [
    "ie/baltimore/merlin-examples/merlin-xmldsig-fifteen/signature-enveloped-dsa-c14n-0.txt",
    "ie/baltimore/merlin-examples/merlin-xmldsig-fifteen/signature-enveloped-dsa-c14n-1.txt",
    "ie/baltimore/merlin-examples/merlin-xmldsig-fifteen/signature-enveloping-b64-dsa-c14n-0.txt",
    "ie/baltimore/merlin-examples/merlin-xmldsig-fifteen/signature-enveloping-dsa-c14n-1.txt",
    "ie/baltimore/merlin-examples/merlin-xmldsig-twenty-three/signature-c14n-7.txt",
];

#[test]
fn every_signature_of_the_vectors_has_its_outcome() {
    run("dsig-verify", check);
}

fn check(case: &Case) -> Result<(), String> {
    let (keys, options, mut files) = case.setting();
    let input = case.input();
    let result = verify(&input, &mut Session::new(&keys, &options, &mut files));
    let problems = if files.problems.is_empty() {
        String::new()
    } else {
        format!(" ({})", files.problems.join("; "))
    };
    match (case.outcome(), result) {
        ("valid", Ok(report)) => {
            // The files are the results of canonicalizations, that of SignedInfo among them, in
            // whatever order they were made.
            let octets: Vec<&[u8]> = report
                .references
                .iter()
                .chain(
                    report
                        .manifests
                        .iter()
                        .flat_map(|manifest| &manifest.references),
                )
                .filter_map(|reference| reference.octets.as_deref())
                .chain(report.signed_info.as_deref())
                .collect();
            for option in ["reference_octets", "digest_input"] {
                for file in case.listed(option) {
                    if !octets.contains(&case.read(file).as_slice())
                        && !UNUSABLE_FILES.contains(&file)
                    {
                        return Err(format!("no reference has the bytes of {file}"));
                    }
                }
            }
            Ok(())
        }
        ("valid", Err(error)) => Err(format!("{error}{problems}")),
        ("invalid", Err(error)) => refused_for(case, &error),
        ("invalid", Ok(_)) => Err("verifies although it must not".to_owned()),
        (other, _) => Err(format!("unknown outcome {other}")),
    }
}
