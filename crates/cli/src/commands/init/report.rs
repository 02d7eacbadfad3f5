//! What is said when all is written: what each file is for, and what to type next.
//!
//! The rule kept here: commands can be pasted into a shell as they stand, whatever the folder and
//! the service are called.

use std::fmt::Write as _;
use std::path::Path;

use super::Plan;

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
        let _ = write!(
            text,
            "\nYour service answers at {}. Put a call of it into request.xml. ",
            plan.backend
        );
    } else {
        text.push('\n');
    }
    let _ = write!(
        text,
        "A plain call through both gateways:\n\n  {} {}\n",
        curl("", "request.xml"),
        word(&plan.client_url())
    );
    let trust = if plan.needs_tls() {
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
            curl(trust, "-")
        );
    }
    let _ = write!(
        text,
        "\nA plain call to the gateway before the service is refused, and its log says why:\n\n  {} {service}\n\n\
         docs/protect-a-service.md and docs/call-a-secured-service.md go on from here.\n",
        curl(trust, "request.xml")
    );
    text
}

fn curl(options: &str, data: &str) -> String {
    format!("curl -s {options}-H 'Content-Type: text/xml' --data-binary @{data}")
}

/// A word of a shell: quoted, if it has something that shells look at.
fn word(text: &str) -> std::borrow::Cow<'_, str> {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "/:._-+,@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''")).into()
    }
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
