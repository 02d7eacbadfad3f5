//! What messages under the keys of tokens take, by endpoints from files, as gateways run them.
//!
//! The library of Kerberos reads where its realm is from the environment. So a Kerberos token is
//! measured in a process of its own, which is of the realm. The rule kept here: a token that cannot
//! be measured here is told with its reason, and the others go on.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use soapstone::endpoint::{Client, Service};
use soapstone::wss::Mechanism;
use soapstone_lab::Payload;
use soapstone_lab::advise::{Source, TokenEnds, measure_token};
use soapstone_lab::measurement::Measurement;
use soapstone_lab::study::Proof;

use super::super::bench::StopSignal;
use super::EFFORT;
use crate::failure::Failure;
use crate::testbed::{Realm, Scratch, token_ends};

/// The suite of all tokens.
const SUITE: &str = "Basic128GCM";
/// What is done to messages under their keys.
const MECHANISM: Mechanism = Mechanism::SignEncrypt;

/// Measures the tokens of these sources but for shared keys, which the engine has.
///
/// # Errors
/// Endpoints cannot be made, or somebody wants to stop: the KDC has ended then.
pub(super) fn measure(
    scratch: &Scratch,
    sources: &[Source],
    wish: &StopSignal,
    emit: &mut dyn FnMut(&Measurement),
) -> Result<(), Failure> {
    for source in sources.iter().filter(|it| **it != Source::SharedKey) {
        wish.go_on()?;
        let realm = match source {
            Source::Kdc => match Realm::start(scratch) {
                Ok(realm) => Some(realm),
                Err(why) => {
                    // Ctrl-C ends the programs that make a realm, too.
                    wish.go_on()?;
                    // A message that cannot be shown does not stop a measurement.
                    let _ = writeln!(std::io::stderr(), "{source} is absent: {why}");
                    continue;
                }
            },
            _ => None,
        };
        for proof in source.tokens() {
            wish.go_on()?;
            let files = token_ends(scratch, *proof, MECHANISM, SUITE)?;
            let files = files.each_ref().map(|file| file.as_path());
            match &realm {
                Some(realm) => in_realm(realm, *proof, files)?.iter().for_each(&mut *emit),
                None => measure_token(&ends(*proof, files)?, &Payload::ALL, EFFORT, emit),
            }
        }
    }
    Ok(())
}

/// Measures a Kerberos token, and hands out lines of JSON: what runs in a process of the realm.
///
/// # Errors
/// The endpoints of the files cannot be made.
pub(in super::super) fn measure_apart(
    once: bool,
    files: [&Path; 2],
    emit: &mut dyn FnMut(&Measurement),
) -> Result<(), Failure> {
    let proof = match once {
        true => Proof::KerberosOnce,
        false => Proof::Kerberos,
    };
    measure_token(&ends(proof, files)?, &Payload::ALL, EFFORT, emit);
    Ok(())
}

fn ends(proof: Proof, [client, service]: [&Path; 2]) -> Result<TokenEnds, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    Ok(TokenEnds {
        proof,
        mechanism: MECHANISM,
        suite: SUITE.to_owned(),
        client: Client::from_file(client, &environment)?,
        service: Service::from_file(service, &environment)?,
    })
}

/// Measures in a process of the realm.
fn in_realm(
    realm: &Realm,
    proof: Proof,
    [client, service]: [&Path; 2],
) -> Result<Vec<Measurement>, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut command = Command::new(program);
    let words = ["lab", "apart", "kerberos"].map(OsStr::new);
    command.args(words).arg("--client").arg(client);
    command.arg("--service").arg(service);
    if proof == Proof::KerberosOnce {
        command.arg("--once");
    }
    let output = realm
        .of(&mut command)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.map_err(Failure::new)?;
    if !output.status.success() {
        return Err(Failure::new(
            "the process that was to measure Kerberos tokens failed",
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().map_err(Failure::new)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use soapstone_lab::measurement::Effort;

    use super::*;
    use crate::runtime;

    #[test]
    fn whoever_wants_to_stop_before_a_realm_starts_gets_none() {
        let scratch = Scratch::make("tokens-stopped").expect("a folder with keys");
        let runtime = runtime::multi_threaded().expect("threads");
        let wish = StopSignal::listen(&runtime);
        // It has listened from that moment on: the signal does not end the tests.
        let told = Command::new("kill")
            .args(["-TERM", &std::process::id().to_string()])
            .status();
        assert!(told.is_ok_and(|told| told.success()));
        let begun = std::time::Instant::now();
        while wish.go_on().is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is not told");
            std::thread::sleep(Duration::from_millis(5));
        }
        let measured = measure(&scratch, &[Source::Kdc], &wish, &mut |_| {});
        let stopped = measured.expect_err("somebody wants to stop").to_string();
        assert!(stopped.contains("stopped before the end"), "{stopped}");
        assert!(!scratch.folder().join("realm").exists());
    }

    #[test]
    fn each_token_without_a_realm_is_measured_in_two_lines_that_name_it() {
        let scratch = Scratch::make("tokens-test").expect("a folder with keys");
        let once = Effort {
            time: Duration::ZERO,
            least: 2,
            most: 2,
        };
        let mut told = Vec::new();
        for source in [Source::Passwords, Source::Issuer] {
            for proof in source.tokens() {
                let files = token_ends(&scratch, *proof, MECHANISM, SUITE).expect("files");
                let files = files.each_ref().map(|file| file.as_path());
                let ends = ends(*proof, files).expect("ends that compile");
                measure_token(&ends, &[Payload::Echo(12)], once, &mut |line| {
                    assert!(line.secured_bytes > line.bytes, "{line:?}");
                    told.push((line.binding.to_string(), line.op.to_string(), line.n));
                });
            }
        }
        let expected = ["password", "saml-holder", "saml-bearer"];
        let expected =
            expected.map(|it| ["secure", "open"].map(|op| (it.to_owned(), op.to_owned(), 2)));
        assert_eq!(told, expected.as_flattened());
    }
}
