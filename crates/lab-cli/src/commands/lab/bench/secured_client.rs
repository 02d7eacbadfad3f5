//! A client that secures its requests and opens the answers itself, as the clients of the papers
//! did: the engine in front of the gateway of the services, without a gateway for clients.
//!
//! The rule kept here: both spans begin when the secured request is sent, and end before the answer
//! is compared with what is right.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use soapstone::endpoint::{self, Call as Work, Memory};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{Mechanism, Outgoing};
use soapstone::xml::Buffers;
use soapstone_lab::study::{Call, NoCall, Stack};

use super::asked::Asked;
use super::own::OwnServices;
use super::routes::{layout, prefix, url};
use crate::failure::Failure;
use crate::testbed::{Client, Network, Scratch};

/// The client.
pub(super) struct SecuredClient {
    /// Nothing, where messages are not secured.
    endpoint: Option<endpoint::Client>,
    buffers: Mutex<Buffers>,
}

impl SecuredClient {
    /// The client of a call.
    pub(super) fn of(
        call: &Call,
        scratch: &Scratch,
        own: &OwnServices,
    ) -> Result<Self, NoCall<Failure>> {
        if call.setup.mechanism == Mechanism::SecureConversation {
            return Err(NoCall::LeftOut(
                "a conversation is begun by a gateway for clients".to_owned(),
            ));
        }
        let secures = call.stack == Stack::Soapstone
            && !call.setup.direct
            && call.setup.mechanism != Mechanism::None;
        let endpoint = if secures {
            let layout = layout("secured-client", &[*call], &[], own);
            let route = layout.routes.first();
            let route = route.ok_or_else(|| Failure::new("the call has no route"))?;
            let file = scratch.write_client(&layout, route)?;
            let endpoint = endpoint::Client::from_file(&file, &|name| std::env::var(name).ok());
            Some(endpoint.map_err(Failure::new)?)
        } else {
            None
        };
        Ok(Self {
            endpoint,
            buffers: Mutex::default(),
        })
    }

    /// Where its requests go: to the gateway before the services, where there are two.
    pub(super) fn url(
        &self,
        network: &Network,
        call: &Call,
        asked: &Asked,
        own: &OwnServices,
    ) -> Result<String, Failure> {
        if call.setup.direct || call.stack != Stack::Soapstone {
            return url(network, call, asked, "", own);
        }
        let (path, query) = (asked.path, &asked.query);
        let place = match network
            .inbound_tls()
            .filter(|_| call.setup.transport.is_tls())
        {
            Some(port) => format!("https://localhost:{port}"),
            None => format!("http://{}", network.inbound()),
        };
        Ok(format!("{place}{}{path}{query}", prefix(call)))
    }

    /// Posts the request, secured, and opens the answer: its plain message, and both spans.
    pub(super) async fn post(
        &self,
        client: &Client,
        url: &str,
        asked: &Asked,
    ) -> Result<(Bytes, [Duration; 2]), Failure> {
        let (message, securing) = match &self.endpoint {
            None => (asked.message.clone(), None),
            Some(endpoint) => {
                let plain = asked.message.to_vec();
                let mut buffers = self.buffers.lock().unwrap_or_else(|it| it.into_inner());
                let mut work = Work::new(Timestamp::now(), &mut buffers);
                let secured = endpoint.secure_with(plain, Outgoing::default(), &mut work);
                let secured = secured.map_err(Failure::new)?;
                let securing = Some((endpoint, secured.receipt));
                (Bytes::from(secured.bytes), securing)
            }
        };
        let soap = (asked.soap.0, asked.soap.1.as_str());
        let begun = Instant::now();
        let answer = client.post(url, soap, message).await?;
        let exchange = begun.elapsed();
        let Some((endpoint, receipt)) = securing else {
            return Ok((answer, [exchange, exchange]));
        };
        let mut buffers = self.buffers.lock().unwrap_or_else(|it| it.into_inner());
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let mut work = Work::new(Timestamp::now(), &mut buffers);
        let opened = endpoint.open_with(answer.to_vec(), receipt, memory, &mut work);
        let opened = opened.map_err(Failure::new)?;
        Ok((Bytes::from(opened.bytes), [exchange, begun.elapsed()]))
    }
}
