//! What is said when all is written: what each file is for, and what to type next.
//!
//! The rule kept here: commands can be pasted into a shell as they stand, whatever the folder and
//! the service are called.

use std::fmt::Write as _;
use std::path::Path;

use soapstone::wss::SoapVersion;

use super::Plan;
use super::contract::Contract;

/// What was written, and the invitation to try it.
pub(super) fn text(folder: &Path, plan: &Plan, files: &[(&str, String)]) -> String {
    let here = folder == Path::new(".");
    let mut text = if here {
        "Written into this folder:\n\n".to_owned()
    } else {
        format!("Written into {}:\n\n", folder.display())
    };
    let width = files.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, what) in files {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {name:width$}  {what}");
    }
    if plan.uses.foreign.is_some() {
        text.push_str(
            "\nThe policy demands tokens that somebody else makes. Fill in what both gateway files mark with FILL IN.\n",
        );
    }
    if plan.uses.anonymous {
        text.push_str(
            "\nThe policy lets nobody be known who begins a conversation, so every call is refused. gateway.toml says with FILL IN how anybody may call.\n",
        );
    }
    text.push_str("\nNext, in that folder, each server in a terminal of its own:\n\n");
    if !here {
        let _ = writeln!(text, "  cd {}", word(&folder.to_string_lossy()));
    }
    if plan.calls_sample_services() {
        text.push_str("  soapstone services\n");
    }
    text.push_str(
        "  soapstone gateway --config gateway.toml --check\n\
         \x20 soapstone gateway --config gateway.toml\n\
         \x20 soapstone gateway --config client-gateway.toml\n",
    );
    if !plan.calls_sample_services() {
        let _ = write!(text, "\nYour service answers at {}. ", plan.backend);
        if plan.made().is_none() {
            text.push_str("Put a call of it into request.xml. ");
        }
    } else {
        text.push('\n');
    }
    let _ = write!(
        text,
        "A plain call through both gateways:\n\n  {} {}\n",
        curl(plan, "", "request.xml"),
        word(&plan.client_url())
    );
    let trust = if plan.uses.tls {
        "--cacert ca.cert.pem "
    } else {
        ""
    };
    let service = word(&plan.service_url()).into_owned();
    if plan.has_single_messages() {
        let _ = write!(
            text,
            "\nThe same without the second one:\n\n\
             \x20 soapstone secure --config client.toml request.xml |\n\
             \x20   {} {service} |\n\
             \x20   soapstone open --config answers.toml\n",
            curl(plan, trust, "-")
        );
    }
    let _ = write!(
        text,
        "\nA plain call to the gateway before the service is refused, and its log says why:\n\n  {} {service}\n\n\
         docs/protect-a-service.md and docs/call-a-secured-service.md go on from here.\n",
        curl(plan, trust, "request.xml")
    );
    text
}

fn curl(plan: &Plan, options: &str, data: &str) -> String {
    let contract = plan.contract.as_ref();
    let version = contract.map_or(SoapVersion::V11, Contract::version);
    let media = version.media_type();
    let call = contract.and_then(|contract| contract.call.as_ref());
    let action = call.and_then(|call| call.action.as_deref());
    let headers = match (action, version) {
        (None, _) => format!("-H 'Content-Type: {media}'"),
        (Some(action), SoapVersion::V11) => {
            let action = in_quotes(&format!("SOAPAction: \"{action}\""));
            format!("-H 'Content-Type: {media}' -H {action}")
        }
        (Some(action), SoapVersion::V12) => {
            let media = in_quotes(&format!("Content-Type: {media}; action=\"{action}\""));
            format!("-H {media}")
        }
    };
    format!("curl -s {options}{headers} --data-binary @{data}")
}

/// A word of a shell: quoted, if it has something that shells look at.
fn word(text: &str) -> std::borrow::Cow<'_, str> {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "/:._-+,@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        in_quotes(text).into()
    }
}

/// A text in quotes of a shell.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shells_look_at_is_quoted() {
        assert_eq!(
            word("http://127.0.0.1:8443/books"),
            "http://127.0.0.1:8443/books"
        );
        assert_eq!(word("my books"), "'my books'");
        assert_eq!(word("$(id)'s"), "'$(id)'\\''s'");
    }
}
