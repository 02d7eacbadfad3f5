//! Explain: why a message does or does not verify.
//!
//! ```text
//! bytes ─ Document::parse ─▶ Document            strict; what cannot be read is explained as well
//!       ─ open ────────────▶ secrets, plain text with the keys of the reader's side
//!       ─ read ────────────▶ signatures          leniently: nothing stops at the first oddity
//!       ─ forms, changes ──▶ candidates          what senders and proxies do, alone and in twos
//!       ─ search ──────────▶ causes              the one whose bytes were signed, proven
//!       ─ Explanation ─────▶ text, JSON
//! ```
//!
//! It is a tool for operators and developers. What it tells must not reach a peer, so the gateway
//! does not depend on it (`deny-gateway.toml`). It asks no clock, no file and no network.
//!
//! ```
//! use soapstone_explain::{Options, explain};
//!
//! let message = br#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">
//!   <s:Body><a/></s:Body></s:Envelope>"#;
//! let explanation = explain(message.to_vec(), &Options::default())?;
//! assert_eq!(explanation.findings[0].kind, "not-secured");
//! # Ok::<(), soapstone_explain::ExplainError>(())
//! ```
//!
//! The rules of this crate: a cause is certain only where bytes prove it, and the work is bounded
//! by [`Options::work`].
#![forbid(unsafe_code)]

mod against;
mod analysis;
mod attached;
mod cause;
mod changes;
mod clock;
mod demands;
mod encoding;
mod engine_report;
mod forms;
mod header;
mod keys;
mod material;
mod model;
mod opened;
mod options;
mod password_keys;
mod read;
mod recipe;
mod reference;
mod report;
mod request;
mod search;
mod secrets;
mod sent;
mod signed_info;
mod sketch;
mod tokens;
mod unicode;
mod username;
mod value;
mod xop;

use std::fmt;

use soapstone_mime::{Message, Package, PackageError};
use soapstone_wss::EnvelopeError;
use soapstone_xml::{Buffers, Document, ParseError, ParseOptions};

pub use cause::Cause;
pub use demands::algorithms;
pub use engine_report::EngineReport;
pub use keys::Known;
pub use model::{
    Arrived, CertificateFound, Demand, EncryptionFound, Explanation, FINDINGS, Finding, ItemFound,
    KeyFound, ReferenceFound, Severity, SignatureFound, State, Trusted, Verdict,
};
pub use options::Options;
pub use report::{json, text};
pub use sent::{
    Sent, SentCipherText, SentDerivation, SentHeader, SentItem, SentKey, SentReference,
    SentSignature, SentTimestamp, SentToken, SentWrapping, compare, sent_json, sent_text,
};
pub use xop::of_mtom;

/// A message that cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainError {
    /// Why, as the engine says it.
    pub error: EnvelopeError,
    /// What was done to it, where that can be told.
    pub cause: Option<String>,
}

impl fmt::Display for ExplainError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(out)?;
        match &self.cause {
            Some(cause) => write!(out, "; {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ExplainError {}

/// Explains a message, alone or in a MIME package that is recorded with its header: then the
/// references to other parts have digests, too. Of a package of MTOM the message is explained that
/// it stands for.
///
/// # Errors
/// An [`ExplainError`] if it is no XML within the limits of the parser, and no package that can be
/// read in one way alone.
pub fn explain(source: Vec<u8>, options: &Options<'_>) -> Result<Explanation, ExplainError> {
    let parsing = options.parsing();
    let parse = |source: Vec<u8>| Document::parse(source, &parsing, &mut Buffers::new());
    if let Ok(Some(package)) = Package::read(&source)
        && xop::is_xop(&package)
    {
        return explain_mtom(package, source.len(), &parsing, options);
    }
    let message = match taken_apart(&source) {
        Ok(None) => Message::from(source),
        Ok(Some(apart)) => apart,
        Err(package) => {
            let apart = format!("as a package it cannot be taken apart: {package}");
            return match parse(source.clone()) {
                Ok(document) => Ok(analysis::analyze(&document, None, &[], options)),
                Err(error) => Err(ExplainError {
                    error: EnvelopeError::of_unread(&source, error),
                    cause: Some(match unreadable(&source, &parse) {
                        Some(cause) => format!("{cause}; {apart}"),
                        None => apart,
                    }),
                }),
            };
        }
    };
    let document = parse(message.root.clone()).map_err(|error| ExplainError {
        error: EnvelopeError::of_unread(&message.root, error),
        cause: unreadable(&message.root, &parse).map(str::to_owned),
    })?;
    Ok(analysis::analyze(&document, None, &message.parts, options))
}

/// Explains the message that a package of MTOM stands for.
fn explain_mtom(
    package: Package<'_>,
    size: usize,
    parsing: &ParseOptions,
    options: &Options<'_>,
) -> Result<Explanation, ExplainError> {
    let unread = |error| ExplainError { error, cause: None };
    let included = xop::read(package, size, parsing).map_err(|error| unread(error.into()))?;
    let root = included.message.root.clone();
    let document = Document::parse(root.clone(), parsing, &mut Buffers::new())
        .map_err(|error| unread(EnvelopeError::of_unread(&root, error)))?;
    let parts = &included.message.parts;
    let mut told = analysis::analyze(&document, Some(&included.as_sent), parts, options);
    included.tell(&mut told, options.engine.is_some());
    Ok(told)
}

/// The message of a package and its other parts; `None` of what begins without a header.
fn taken_apart(source: &[u8]) -> Result<Option<Message>, PackageError> {
    let Some(package) = Package::read(source)? else {
        return Ok(None);
    };
    package.into_message().map(Some)
}

/// What makes bytes unreadable that would be a message otherwise.
fn unreadable(
    source: &[u8],
    parse: &dyn Fn(Vec<u8>) -> Result<Document, ParseError>,
) -> Option<&'static str> {
    if std::str::from_utf8(source).is_err() {
        let text: String = source.iter().copied().map(char::from).collect();
        if parse(text.into_bytes()).is_ok() {
            return Some(
                "the bytes are ISO-8859-1 and not the encoding that is declared (UTF-8 if none is)",
            );
        }
    }
    let trimmed = source.trim_ascii();
    if trimmed.len() < source.len() && parse(trimmed.to_vec()).is_ok() {
        return Some("there is white space before the XML declaration");
    }
    let start = tokens::find(source, b"<")?;
    let end = source.iter().rposition(|byte| *byte == b'>')?;
    let inner = source.get(start..=end)?;
    (inner.len() < source.len() && parse(inner.to_vec()).is_ok()).then_some(
        "the message is inside of something else: HTTP headers or MIME boundaries, perhaps",
    )
}
