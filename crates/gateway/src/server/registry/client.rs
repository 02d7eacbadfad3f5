//! Signed requests to the registry.
//!
//! The rule kept here: an answer counts only if the registry signed it, and each has its end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use soapstone::Memory;
use soapstone::endpoint::{Calling, Endpoint};
use soapstone::wss::{Envelope, Rejected, SecureError, SoapVersion};
use soapstone::xml::{Buffers, Element, Limits};
use soapstone_registry::{Answer, Refusal, Request, uddi};
use soapstone_store::{Contexts, Replay, StoreError, Stores};
use tokio::sync::Mutex;

use crate::config::registry::RegistrySpec;
use crate::wire::backend::{Backend, BackendTimeouts};
use crate::wire::errand::{Errand, Undone};
use crate::wire::memory::MessageMemory;

/// How long a registry may take.
const TIMEOUTS: BackendTimeouts = BackendTimeouts {
    connect: Duration::from_secs(2),
    response: Duration::from_secs(5),
    // A registry closes what is idle for ten seconds.
    idle: Duration::from_secs(5),
};

/// Largest answer: a thousand providers with their figures have some 2 MB.
const LARGEST: u64 = 8 << 20;

/// What speaks to a registry.
pub(crate) struct RegistryClient {
    endpoint: Endpoint<Calling>,
    replay: Replay,
    contexts: Contexts,
    errand: Errand,
    /// Whose services the routes are.
    pub(super) business: Option<String>,
    pub(super) period: Duration,
    /// Held while the gateway says how it is: the last word is that it takes no calls.
    pub(super) saying: Mutex<()>,
    /// Held while the gateway tells of calls: each batch is told by one task.
    pub(super) logging: Mutex<()>,
    /// Whether the registry knew the entries of the gateway at the last report.
    pub(super) is_known: AtomicBool,
}

/// Why a registry did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum AskError {
    /// The request could not be secured.
    Unsecured(SecureError),
    /// There is no answer.
    Undone(Undone),
    /// The answer is not proven to be the registry's.
    Rejected(Rejected),
    /// The registry refuses.
    Refused {
        /// The code of UDDI.
        code: String,
        /// What it says.
        said: String,
    },
    /// The answer is none of a registry.
    Answer(Refusal),
    /// The answer is one to another request.
    Other,
    /// The registry knows more providers than it answers.
    Truncated,
    /// A thread ended in disorder.
    Ended,
}

impl fmt::Display for AskError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsecured(error) => write!(out, "the request cannot be secured: {error}"),
            Self::Undone(why) => why.fmt(out),
            Self::Rejected(why) => write!(out, "the answer is not proven: {why}"),
            Self::Refused { code, said } => write!(out, "the registry refuses: {code}: {said}"),
            Self::Answer(why) => write!(out, "the answer is not understood: {why}"),
            Self::Other => out.write_str("the answer is one to another request"),
            Self::Truncated => out.write_str("the answer leaves providers out: name owners"),
            Self::Ended => out.write_str("the work on a message ended in disorder"),
        }
    }
}

impl AskError {
    /// Whether the same request may be done the next time: the registry could not keep it, or had
    /// begun after it was made.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Refused { code, .. } => matches!(code.as_str(), "E_fatalError" | "E_invalidTime"),
            _ => true,
        }
    }

    /// Whether the registry does not know an entry any more.
    pub(super) fn is_unknown_key(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "E_invalidKeyPassed")
    }
}

impl RegistryClient {
    /// `None` when the URL has no host.
    ///
    /// # Errors
    ///
    /// When a store cannot be opened any more.
    pub(crate) fn new(
        spec: RegistrySpec,
        memory: MessageMemory,
    ) -> Result<Option<Arc<Self>>, StoreError> {
        let stores = Stores::default();
        let endpoint = spec.client.endpoint;
        let replay = stores.replay(endpoint.replay())?;
        let contexts = stores.contexts(endpoint.conversations())?;
        let backend = Backend::new(&spec.url, spec.tls, TIMEOUTS);
        Ok(backend.map(|backend| {
            Arc::new(Self {
                endpoint,
                replay,
                contexts,
                errand: Errand {
                    backend,
                    memory,
                    limit: LARGEST,
                    authorization: None,
                },
                business: spec.business,
                period: spec.period,
                saying: Mutex::new(()),
                logging: Mutex::new(()),
                is_known: AtomicBool::new(false),
            })
        }))
    }

    /// Asks the registry.
    ///
    /// # Errors
    ///
    /// Why there is no answer that counts.
    pub(crate) async fn ask(self: &Arc<Self>, request: &Request) -> Result<Answer, AskError> {
        let soap = SoapVersion::V11.namespace();
        let body = uddi::write_request(request);
        let envelope = format!(
            "<soap:Envelope xmlns:soap=\"{soap}\"><soap:Body>{body}</soap:Body></soap:Envelope>"
        );
        let this = Arc::clone(self);
        let secured =
            tokio::task::spawn_blocking(move || this.endpoint.secure(envelope.into_bytes()));
        let secured = secured.await.map_err(|_| AskError::Ended)?;
        let secured = secured.map_err(AskError::Unsecured)?;
        let asked = self.errand.ask(SoapVersion::V11, "", secured.bytes);
        let (_, answer) = asked.await.map_err(AskError::Undone)?;
        let this = Arc::clone(self);
        let receipt = secured.receipt;
        let opened = tokio::task::spawn_blocking(move || {
            let memory = Memory {
                replay: &this.replay,
                contexts: &this.contexts,
            };
            this.endpoint.open(answer, receipt, memory)
        });
        let opened = opened.await.map_err(|_| AskError::Ended)?;
        read(opened.map_err(AskError::Rejected)?.bytes)
    }
}

fn read(bytes: Vec<u8>) -> Result<Answer, AskError> {
    let envelope = Envelope::parse(bytes, &Limits::default(), &mut Buffers::default());
    let envelope = envelope.map_err(|_| AskError::Answer(Refusal::Missing { part: "envelope" }))?;
    let soap = envelope.version().namespace();
    let fault = envelope
        .body()
        .first_child()
        .filter(|it| it.is(soap, "Fault"));
    let Some(fault) = fault else {
        return uddi::read_answer(envelope.body()).map_err(AskError::Answer);
    };
    let detail = fault
        .child("", "detail")
        .or_else(|| fault.child(soap, "Detail"));
    let refused = detail.and_then(|detail: Element<'_>| uddi::read_refusal(detail));
    let (code, said) = refused.unwrap_or_else(|| ("fault".to_owned(), String::new()));
    Err(AskError::Refused { code, said })
}
