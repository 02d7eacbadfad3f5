//! A client that secures a message by an endpoint file: an attacker, or a user with a certificate.
//!
//! The rule kept here: the library makes the message, as it does for any client. Only the plain
//! request is the sender's own.

use std::fmt;

use bytes::Bytes;
use http::StatusCode;
use jiff::Timestamp;
use soapstone::endpoint::{self, Call, Memory};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::Outgoing;
use soapstone::xml::{Buffers, Document, ParseOptions};
use soapstone_services::SoapVersion;

use crate::failure::Failure;
use crate::testbed::architecture::write;
use crate::testbed::{Client, Scratch};

/// An answer.
pub(super) enum Answer {
    /// The plain message.
    Given(Vec<u8>),
    /// A fault.
    Refused(Fault),
}

/// The words of a refusal, as its sender reads them.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) code: String,
    pub(super) words: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            status,
            code,
            words,
        } = self;
        write!(out, "{} {code}: {words}", status.as_u16())
    }
}

impl Fault {
    /// The fault of an answer that is no success.
    pub(super) fn of(status: StatusCode, body: &[u8]) -> Result<Self, Failure> {
        let options = ParseOptions::default();
        let document = Document::parse(body.to_vec(), &options, &mut Buffers::default());
        let document = document.map_err(Failure::new)?;
        let text = |name: &str| {
            let mut elements = document.root().descendants();
            let found = elements.find(|it| it.is("", name));
            found.map(|it| it.text().into_owned())
        };
        match (text("faultcode"), text("faultstring")) {
            (Some(code), Some(words)) => Ok(Self {
                status,
                code,
                words,
            }),
            _ => Err(Failure::new(format_args!(
                "expected a fault with status {status}"
            ))),
        }
    }
}

/// Secures a message by an endpoint file, sends it, and opens the answer.
///
/// # Errors
/// It cannot be secured or sent, or what comes back is neither an answer for this endpoint nor a
/// fault.
pub(super) async fn send(
    scratch: &Scratch,
    client: &Client,
    (name, text): (&str, &str),
    (url, action): (&str, &str),
    plain: String,
) -> Result<Answer, Failure> {
    let file = write(scratch, name, text)?;
    let endpoint = endpoint::Client::from_file(&file, &|name| std::env::var(name).ok());
    let endpoint = endpoint.map_err(Failure::new)?;
    let mut buffers = Buffers::default();
    let secured = endpoint.secure_with(
        plain.into_bytes(),
        Outgoing::default(),
        &mut Call::new(Timestamp::now(), &mut buffers),
    );
    let secured = secured.map_err(Failure::new)?;
    let soap = (SoapVersion::Soap11, action);
    let (status, body) = client.ask(url, soap, Bytes::from(secured.bytes)).await?;
    if !status.is_success() {
        return Fault::of(status, &body).map(Answer::Refused);
    }
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = endpoint.open_with(
        body.to_vec(),
        secured.receipt,
        memory,
        &mut Call::new(Timestamp::now(), &mut buffers),
    );
    Ok(Answer::Given(opened.map_err(Failure::new)?.bytes))
}
