//! What a client does: it secures its requests itself, and opens the answers.
//!
//! The rule kept here: an answer counts only if it is opened and says what was asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use soapstone::endpoint::{self, Call as Work, Memory};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::Outgoing;
use soapstone::xml::Buffers;
use soapstone_services::{SoapVersion, requests};

use super::cast::Customer;
use crate::failure::Failure;
use crate::testbed::architecture::{EC, SERVICE, write};
use crate::testbed::{Client, Scratch};

/// A client.
pub(crate) struct Caller {
    endpoint: endpoint::Client,
    buffers: Mutex<Buffers>,
    client: Client,
    url: String,
    header: String,
}

impl Caller {
    /// One that calls the broker at this URL.
    pub(crate) fn new(
        scratch: &Scratch,
        customer: &Customer,
        url: &str,
    ) -> Result<Arc<Self>, Failure> {
        scratch.issue_as(customer.name, EC)?;
        let file = write(scratch, customer.name, &customer.file())?;
        let endpoint = endpoint::Client::from_file(&file, &|name| std::env::var(name).ok());
        Ok(Arc::new(Self {
            endpoint: endpoint.map_err(Failure::new)?,
            buffers: Mutex::default(),
            client: Client::new(),
            url: url.to_owned(),
            header: customer.header(),
        }))
    }

    /// Calls once with words that only this call has: how long it took.
    pub(crate) async fn call(&self, words: &str) -> Result<Duration, Failure> {
        let plain = requests::echo(SoapVersion::Soap11, words);
        let plain = plain.replacen("<soap:Body>", &format!("{}<soap:Body>", self.header), 1);
        let begun = Instant::now();
        let (message, receipt) = {
            let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
            let mut work = Work::new(Timestamp::now(), &mut buffers);
            let outgoing = Outgoing::default();
            let secured = self
                .endpoint
                .secure_with(plain.into_bytes(), outgoing, &mut work);
            let secured = secured.map_err(Failure::new)?;
            (Bytes::from(secured.bytes), secured.receipt)
        };
        let soap = (SoapVersion::Soap11, SERVICE.soap_action());
        let answer = self.client.post(&self.url, soap, message).await?;
        let took = begun.elapsed();
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let mut work = Work::new(Timestamp::now(), &mut buffers);
        let opened = self
            .endpoint
            .open_with(answer.to_vec(), receipt, memory, &mut work);
        let opened = opened.map_err(Failure::new)?;
        let text = String::from_utf8_lossy(&opened.bytes);
        match text.contains(&format!(">{words}<")) {
            true => Ok(took),
            false => Err(Failure::new(format_args!(
                "the answer of {} is not what was asked: {text}",
                self.url
            ))),
        }
    }
}
