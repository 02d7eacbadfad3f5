//! An explanation as text for people, and as JSON.
//!
//! The rule kept here: what comes from the message cannot forge a line or a colour of a terminal.

use std::fmt::Write;

use crate::model::{Explanation, ReferenceFound, Severity, State, Verdict};

/// The explanation as one JSON value.
#[must_use]
pub fn json(file: &str, explanation: &Explanation) -> serde_json::Value {
    // Strings, numbers and lists always have a JSON form.
    let mut value = serde_json::to_value(explanation).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("file".to_owned(), file.into());
        fields.insert("refused".to_owned(), explanation.is_refused().into());
    }
    value
}

/// Text of the message on one line: control characters, other separators of lines, and marks that
/// turn the direction of writing (UAX #9) are escaped.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\u{2028}'
            | '\u{2029}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                out.extend(character.escape_unicode());
            }
            one if one.is_control() => out.extend(one.escape_unicode()),
            one => out.push(one),
        }
    }
    out
}

/// The explanation as a tree that a person reads: causes first, then all that was looked at.
#[must_use]
pub fn text(file: &str, explanation: &Explanation) -> String {
    let mut out = String::new();
    // Nothing fails when text is written to memory.
    let _ = write(file, explanation, &mut out);
    out
}

fn write(file: &str, told: &Explanation, out: &mut String) -> std::fmt::Result {
    let soap = match told.soap {
        "" => "no SOAP envelope".to_owned(),
        version => format!("SOAP {version}"),
    };
    writeln!(out, "{}: {soap}, {} bytes", line(file), told.bytes)?;
    if let Some(verdict) = &told.verdict {
        let reason = verdict
            .reason
            .as_deref()
            .map(|reason| format!(" ({reason})"))
            .unwrap_or_default();
        let word = if verdict.accepted {
            "accepted"
        } else {
            "refused"
        };
        writeln!(out, "\n{word}{reason}: {}", line(&verdict.says))?;
        if let Some(hint) = &verdict.hint {
            writeln!(out, "  hint: {}", line(hint))?;
        }
        demands(verdict, out)?;
        keys(verdict, out)?;
    }
    findings(told, out)?;
    if !told.header.is_empty() {
        writeln!(out, "\nSecurity header, in order")?;
        for item in &told.header {
            let id = item
                .id
                .as_deref()
                .map(|id| format!(" `{}`", line(id)))
                .unwrap_or_default();
            writeln!(
                out,
                "  line {}: {}{id} {}",
                item.line,
                line(&item.name),
                line(&item.says)
            )?;
        }
    }
    for certificate in &told.certificates {
        writeln!(out, "\nCertificate in {}", line(&certificate.place))?;
        writeln!(
            out,
            "  subject {}, issuer {}, serial number {}",
            line(&certificate.subject),
            line(&certificate.issuer),
            line(&certificate.serial)
        )?;
        writeln!(
            out,
            "  valid from {} to {}, key {}",
            certificate.not_before,
            certificate.not_after,
            line(&certificate.key)
        )?;
        writeln!(out, "  SHA-256 {}", certificate.thumbprint)?;
    }
    if !told.encryption.is_empty() {
        writeln!(out, "\nEncryption")?;
        for one in &told.encryption {
            writeln!(
                out,
                "  line {}: xenc:{} ({}): {}",
                one.line,
                one.kind,
                line(&one.algorithm),
                line(&one.says)
            )?;
        }
    }
    for (place, signature) in told.signatures.iter().enumerate() {
        writeln!(out, "\nSignature {} (line {})", place + 1, signature.line)?;
        writeln!(
            out,
            "  {} over ds:SignedInfo by {}",
            line(&signature.algorithm),
            line(&signature.canonicalization)
        )?;
        writeln!(
            out,
            "  key named by {}; checked with {}",
            line(&signature.key_reference),
            line(&signature.key)
        )?;
        writeln!(out, "  value {}", words(signature.value))?;
        if let Some(block) = &signature.block {
            writeln!(out, "  {}", line(block))?;
        }
        for one in &signature.references {
            reference(one, out)?;
        }
    }
    if !told.differences.is_empty() {
        writeln!(out, "\nDifferences from the good message")?;
        for difference in &told.differences {
            writeln!(out, "  {}", line(difference))?;
        }
    }
    if !told.arrived.is_empty() {
        writeln!(out, "\nCompared with what was sent")?;
        for one in &told.arrived {
            let word = match one.same {
                Some(true) => "same",
                Some(false) => "DIFFERS",
                None => "unknown",
            };
            writeln!(out, "  {word}: {}: {}", line(&one.place), line(&one.says))?;
        }
    }
    if !told.sketch.is_empty() {
        writeln!(
            out,
            "\nAn endpoint file that would open it, as far as it tells (nothing of this is proven)"
        )?;
        for row in told.sketch.lines() {
            writeln!(out, "  {}", line(row))?;
        }
    }
    if told.tried > 0 {
        let stopped = if told.stopped {
            "; the search stopped at its bound"
        } else {
            ""
        };
        writeln!(
            out,
            "\n{} forms of signed parts were tried{stopped}",
            told.tried
        )?;
    }
    Ok(())
}

/// The demands of the endpoint file, and how each compares.
fn demands(verdict: &Verdict, out: &mut String) -> std::fmt::Result {
    for one in &verdict.demands {
        let word = match (one.judged, one.met) {
            (false, _) => "not judged",
            (true, true) => "met",
            (true, false) => "NOT MET",
        };
        writeln!(out, "  {word}: {}: {}", line(&one.demand), line(&one.says))?;
    }
    Ok(())
}

/// The keys that the endpoint file's plan found, and whom it trusts.
fn keys(verdict: &Verdict, out: &mut String) -> std::fmt::Result {
    for one in &verdict.keys {
        let named = match one.named_by.as_str() {
            "" => String::new(),
            named => format!(", named by {}", line(named)),
        };
        writeln!(
            out,
            "  key of `{}` in line {}: {}{named}",
            line(&one.element),
            one.line,
            line(&one.holder)
        )?;
    }
    for one in &verdict.trust {
        let subject = line(&one.subject);
        match one.trusted {
            true => writeln!(out, "  trusted: {subject}")?,
            false => writeln!(out, "  NOT TRUSTED: {subject}: {}", line(&one.says))?,
        }
    }
    Ok(())
}

fn findings(told: &Explanation, out: &mut String) -> std::fmt::Result {
    let is_refused = told
        .verdict
        .as_ref()
        .is_some_and(|verdict| !verdict.accepted);
    match (told.findings.is_empty(), is_refused) {
        (true, false) => writeln!(out, "\nNothing wrong was found.")?,
        (true, true) => writeln!(
            out,
            "\nThe message is sound in itself; it is refused for the reason above."
        )?,
        (false, _) => {}
    }
    let mut sorted: Vec<_> = told.findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in sorted {
        let word = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        writeln!(out, "\n{word}: {} ({})", line(&finding.place), finding.kind)?;
        for cause in &finding.causes {
            let how = if cause.certain { "cause" } else { "likely" };
            writeln!(
                out,
                "  {how}: {} [{}]",
                line(&cause.says),
                cause.kinds.join(" + ")
            )?;
        }
        writeln!(out, "  {}", line(&finding.says))?;
    }
    Ok(())
}

fn words(state: State) -> &'static str {
    match state {
        State::Matches => "matches",
        State::Differs => "DIFFERS",
        State::NotChecked => "not checked",
    }
}

fn reference(one: &ReferenceFound, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "  reference `{}` to `{}`: digest {}",
        line(&one.uri),
        line(&one.element),
        words(one.state)
    )?;
    if !one.transforms.is_empty() {
        writeln!(out, "    transforms: {}", line(&one.transforms.join(", ")))?;
    }
    writeln!(
        out,
        "    {} in the message {}",
        line(&one.algorithm),
        line(&one.expected)
    )?;
    if one.state == State::NotChecked {
        return Ok(());
    }
    writeln!(
        out,
        "    {} computed       {}",
        line(&one.algorithm),
        one.computed
    )?;
    writeln!(
        out,
        "    {} canonical bytes: {}",
        one.bytes,
        line(&one.first)
    )?;
    if one.bytes > one.first.len() {
        writeln!(out, "      … {}", line(&one.last))?;
    }
    Ok(())
}
