//! What was done to secure a message, as a tree that a person reads, and as JSON.
//!
//! The rule kept here: what comes from the message cannot forge a line or a colour of a terminal.

use std::fmt::{Result, Write};

use super::{Sent, SentHeader, SentReference, SentSignature};
use crate::report::line;

/// What was done, as one JSON value.
#[must_use]
pub fn sent_json(file: &str, sent: &Sent) -> serde_json::Value {
    // Strings, numbers and lists always have a JSON form.
    let mut value = serde_json::to_value(sent).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("file".to_owned(), file.into());
    }
    value
}

/// What was done, as a tree that a person reads.
#[must_use]
pub fn sent_text(file: &str, sent: &Sent) -> String {
    let mut out = String::new();
    // Nothing fails when text is written to memory.
    let _ = write(file, sent, &mut out);
    out
}

fn write(file: &str, sent: &Sent, out: &mut String) -> Result {
    let file = line(file);
    match sent.headers.len() {
        0 => writeln!(
            out,
            "{file}: no security header, as the endpoint file wants none"
        )?,
        1 => writeln!(out, "{file}: secured with one security header")?,
        count => writeln!(
            out,
            "{file}: secured with {count} security headers, in the order in which they were made"
        )?,
    }
    for header in &sent.headers {
        items(header, out)?;
        written(header, out)?;
        keys(header, out)?;
        for one in &header.signatures {
            signature(one, out)?;
        }
        encryption(header, out)?;
    }
    Ok(())
}

fn items(header: &SentHeader, out: &mut String) -> Result {
    let actor = header.actor.as_deref();
    let actor = actor.map(|actor| format!(" for `{}`", line(actor)));
    writeln!(
        out,
        "\nSecurity header{}, in order",
        actor.unwrap_or_default()
    )?;
    for item in &header.items {
        let id = item.id.as_deref().map(|id| format!(" `{}`", line(id)));
        writeln!(out, "  {}{}", line(&item.name), id.unwrap_or_default())?;
    }
    Ok(())
}

/// What stands in the header and is neither a key nor a signature.
fn written(header: &SentHeader, out: &mut String) -> Result {
    if header.timestamp.is_none() && header.tokens.is_empty() && header.confirmed.is_none() {
        return Ok(());
    }
    writeln!(out, "\nTimes and tokens")?;
    if let Some(timestamp) = &header.timestamp {
        let (created, expires) = (&timestamp.created, &timestamp.expires);
        writeln!(
            out,
            "  wsu:Timestamp `{}`: {created} to {expires}",
            line(&timestamp.id)
        )?;
    }
    if let Some(confirmed) = header.confirmed {
        writeln!(
            out,
            "  wsse11:SignatureConfirmation: {confirmed} signatures of the request"
        )?;
    }
    for token in &header.tokens {
        let id = token.id.as_deref().map(|id| format!(" `{}`", line(id)));
        let (id, says) = (id.unwrap_or_default(), line(&token.says));
        writeln!(out, "  {}{id}: {says}; {}", token.element, token.why)?;
    }
    Ok(())
}

fn keys(header: &SentHeader, out: &mut String) -> Result {
    if header.keys.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nKeys")?;
    for key in &header.keys {
        let (origin, named) = (line(&key.origin), line(&key.named_by));
        if key.secret {
            writeln!(out, "  {}: {origin}", key.usage)?;
            continue;
        }
        writeln!(out, "  {}: {origin}, named by {named}", key.usage)?;
        if let Some(derived) = &key.derived {
            writeln!(
                out,
                "    derived from that of {}, as the {} says",
                line(&derived.from),
                derived.said_by
            )?;
            let (label, nonce) = (line(&derived.label), &derived.nonce);
            writeln!(
                out,
                "    label `{label}`, nonce {nonce}, {} bytes",
                derived.length
            )?;
        }
    }
    for one in &header.wrapped {
        let (recipient, named) = (line(&one.recipient), line(&one.named_by));
        writeln!(
            out,
            "  wrapped for {recipient}, named by {named}, as `{}`",
            line(&one.id)
        )?;
        writeln!(out, "    {}; SHA-1 {}", one.algorithm, one.sha1)?;
    }
    Ok(())
}

fn signature(one: &SentSignature, out: &mut String) -> Result {
    writeln!(out, "\nSignature {} `{}`", one.number, line(&one.id))?;
    writeln!(
        out,
        "  {} over ds:SignedInfo by exc-c14n, {} bytes",
        one.algorithm, one.bytes
    )?;
    let (named, key) = (line(&one.named_by), line(&one.key));
    match named == key {
        // Neither is told.
        true => writeln!(out, "  key {key}")?,
        false => writeln!(out, "  key named by {named}: {key}")?,
    }
    match one.secret {
        true => writeln!(
            out,
            "  value not shown, as the message has the signature encrypted"
        )?,
        false => writeln!(out, "  value {}", one.value)?,
    }
    one.references
        .iter()
        .try_for_each(|one| reference(one, out))
}

fn reference(one: &SentReference, out: &mut String) -> Result {
    let part = one.part.as_deref();
    let part = part.map(|part| format!(", as the endpoint file has `{}` signed", line(part)));
    let uri = match one.uri.as_str() {
        "" if one.secret => String::new(),
        uri => format!(" `{}`", line(uri)),
    };
    writeln!(
        out,
        "  reference{uri} to `{}`{}",
        line(&one.element),
        part.unwrap_or_default()
    )?;
    writeln!(out, "    transforms: {}", line(&one.transforms.join(", ")))?;
    match one.digest.as_str() {
        "" => writeln!(out, "    {} not shown", one.algorithm)?,
        digest => writeln!(out, "    {} {digest}", one.algorithm)?,
    }
    if one.secret {
        return writeln!(
            out,
            "    {} canonical bytes, not shown: only the receiver may read them (--dump writes them)",
            one.bytes
        );
    }
    writeln!(
        out,
        "    {} canonical bytes: {}",
        one.bytes,
        line(&one.first)
    )?;
    match one.bytes > one.first.len() {
        true => writeln!(out, "      … {}", line(&one.last)),
        false => Ok(()),
    }
}

fn encryption(header: &SentHeader, out: &mut String) -> Result {
    if header.encryption.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nEncryption")?;
    for one in &header.encryption {
        let (element, id) = (line(&one.element), line(&one.id));
        let named = line(&one.named_by);
        writeln!(
            out,
            "  {} of `{element}` by {}, as `{id}`; key named by {named}",
            one.extent, one.algorithm
        )?;
    }
    Ok(())
}
