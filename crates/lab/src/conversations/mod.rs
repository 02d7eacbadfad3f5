//! Conversations under load: many clients, each with a security context of its own, call Echo
//! through whatever stands before the service, while somebody breaks things.
//!
//! ```text
//! begin N contexts
//!   ─▶ call at a steady rate; now and then repeat an accepted message or change the context
//!   ─▶ audit, when all is calm again: a call with every context, every kept message again
//! ```
//!
//! The rule kept here: what is claimed was seen. A conversation counts as kept when it was answered
//! after everything else; a message as refused when a fault said so; and what the service received
//! twice, only the service can tell, so it is run here, too.

mod caller;
mod record;
mod service;

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use jiff::Timestamp;
use soapstone::endpoint::Client;
use soapstone::replay::ReplayCache;
use soapstone::wss::SecurityContext;
use soapstone::xml::Buffers;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

pub use record::{Counts, Disturbance, Latencies, Lost, Outcome, Replays, Resent, Second};
pub use service::Delivered;

use caller::{Answer, Caller, Failed};
use record::Record;
use service::CountingEcho;

/// What to run.
#[derive(Clone)]
pub struct Options {
    /// The clients' side: role `Client`, mechanism `secure-conversation`, or a policy with one.
    pub endpoint: Arc<Client>,
    /// Remembers answers.
    pub replay: Arc<dyn ReplayCache>,
    /// Where Echo is: `http://…`.
    pub url: Uri,
    /// How many conversations are held.
    pub conversations: usize,
    /// How long calls are made. Zero: contexts are made and left behind, idle.
    pub load: Duration,
    /// Calls a second, of all conversations together.
    pub rate: u32,
    /// Most calls at once, and so most connections.
    pub connections: usize,
    /// Each so many calls, an accepted message is sent again: at once and at the end.
    pub replay_every: u32,
    /// Each so many calls, a conversation goes on with a new context. Those before are tried again
    /// at the end.
    pub begin_every: u32,
    /// How long an answer may take.
    pub patience: Duration,
    /// Where the service that is called is to be run, to count what it receives; it runs elsewhere
    /// when there is none.
    pub service: Option<SocketAddr>,
}

/// Why there was no load.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConversationsError {
    /// The endpoint has no conversations.
    NoConversation,
    /// The service to be called cannot be run.
    Service {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A context could not be made before anything was broken.
    Handshake {
        /// Where.
        url: Uri,
        /// Why.
        problem: String,
    },
}

impl fmt::Display for ConversationsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConversation => out.write_str("the endpoint has no conversations"),
            Self::Service { address, source } => {
                write!(out, "Echo cannot be served at {address}: {source}")
            }
            Self::Handshake { url, problem } => {
                write!(out, "no conversation began at {url}: {problem}")
            }
        }
    }
}

impl std::error::Error for ConversationsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Service { source, .. } => Some(source),
            Self::NoConversation | Self::Handshake { .. } => None,
        }
    }
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Contexts are being made.
    Handshakes,
    /// Calls are being made.
    Load,
    /// Conversations and messages are looked at once more.
    Audit,
}

impl Phase {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshakes => "handshakes",
            Self::Load => "load",
            Self::Audit => "audit",
        }
    }
}

/// How long a conversation is tried in the audit before it counts as lost.
const LAST_CHANCE: Duration = Duration::from_secs(20);
/// How long a client waits before it tries again after a failure in the audit.
const PAUSE: Duration = Duration::from_millis(250);

/// Runs it. `begins` is told when each phase begins, for those who break things meanwhile.
///
/// # Errors
/// When nothing could be begun; what fails later is in the [`Outcome`].
// Boxed, so that HTTP is compiled with this crate and not into each that calls it.
pub fn run(
    options: Options,
    begins: &mut dyn FnMut(Phase),
) -> Pin<Box<dyn Future<Output = Result<Outcome, ConversationsError>> + '_>> {
    Box::pin(run_all(options, begins))
}

async fn run_all(
    options: Options,
    begins: &mut dyn FnMut(Phase),
) -> Result<Outcome, ConversationsError> {
    if options.endpoint.conversation().is_none() {
        return Err(ConversationsError::NoConversation);
    }
    let service = match options.service {
        Some(address) => Some(
            CountingEcho::start(address)
                .await
                .map_err(|source| ConversationsError::Service { address, source })?,
        ),
        None => None,
    };
    let run = Arc::new(Run {
        caller: Caller::new(&options),
        turns: Semaphore::new(options.connections),
        record: Mutex::new(Record::default()),
        options,
    });
    begins(Phase::Handshakes);
    let contexts = run.establish().await?;
    if run.options.load.is_zero() {
        return Ok(run.record().outcome(&run.options, None));
    }
    begins(Phase::Load);
    run.record().load_begins();
    let conversations = run.load(contexts).await;
    begins(Phase::Audit);
    run.record().load_ended();
    run.audit(conversations).await;
    let delivered = service.as_ref().map(CountingEcho::delivered);
    Ok(run.record().outcome(&run.options, delivered))
}

/// What all tasks share.
struct Run {
    options: Options,
    caller: Caller,
    /// Whoever calls has one of them.
    turns: Semaphore,
    record: Mutex<Record>,
}

/// One client.
struct Conversation {
    number: usize,
    context: SecurityContext,
    /// Contexts that it had before.
    former: Vec<SecurityContext>,
    /// Calls made.
    calls: u32,
    /// Messages to be sent again.
    kept: Vec<Kept>,
    buffers: Buffers,
}

/// A message that was sent.
struct Kept {
    bytes: Bytes,
    /// Whether it is known to have been accepted. If not, it may be, once.
    accepted: bool,
}

impl Run {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all contexts, several at once.
    async fn establish(self: &Arc<Self>) -> Result<Vec<SecurityContext>, ConversationsError> {
        let mut handshakes = JoinSet::new();
        let mut contexts = Vec::with_capacity(self.options.conversations);
        for _ in 0..self.options.conversations {
            if handshakes.len() >= self.options.connections
                && let Some(done) = handshakes.join_next().await
            {
                contexts.push(granted(done, &self.options.url)?);
            }
            let run = Arc::clone(self);
            handshakes.spawn(async move { run.handshake(&mut Buffers::default()).await });
        }
        while let Some(done) = handshakes.join_next().await {
            contexts.push(granted(done, &self.options.url)?);
        }
        Ok(contexts)
    }

    async fn handshake(&self, buffers: &mut Buffers) -> Result<SecurityContext, Failed> {
        let begun = Instant::now();
        let context = self.caller.begin(buffers).await;
        self.record().handshake(&context, begun.elapsed());
        context
    }

    /// Calls at the rate until the time is over; each conversation has its turn in the same order
    /// each round.
    async fn load(self: &Arc<Self>, contexts: Vec<SecurityContext>) -> Vec<Conversation> {
        let begun = Instant::now();
        let round = Duration::from_secs(1) * u32::try_from(contexts.len()).unwrap_or(u32::MAX)
            / self.options.rate.max(1);
        let mut clients = JoinSet::new();
        let all = contexts.len() as f64;
        for (number, context) in contexts.into_iter().enumerate() {
            let run = Arc::clone(self);
            let first = begun + round.mul_f64(number as f64 / all);
            clients.spawn(async move {
                let mut conversation = Conversation {
                    number,
                    context,
                    former: Vec::new(),
                    calls: 0,
                    kept: Vec::new(),
                    buffers: Buffers::default(),
                };
                let mut rounds = tokio::time::interval_at(first, round);
                rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
                loop {
                    rounds.tick().await;
                    if begun.elapsed() >= run.options.load {
                        return conversation;
                    }
                    run.call(&mut conversation).await;
                    run.go_on(&mut conversation).await;
                }
            });
        }
        clients.join_all().await
    }

    /// One call, and now and then the same message again.
    async fn call(&self, conversation: &mut Conversation) {
        let sampled = conversation
            .calls
            .is_multiple_of(self.options.replay_every.max(1));
        let Some((bytes, answer)) = self.once(conversation).await else {
            return;
        };
        match answer {
            Ok(()) if sampled => {
                conversation.kept.push(Kept {
                    bytes: bytes.clone(),
                    accepted: true,
                });
                self.replay(bytes).await;
            }
            Err(failed) if failed.is_uncertain() => conversation.kept.push(Kept {
                bytes,
                accepted: false,
            }),
            _ => {}
        }
    }

    /// Now and then, a new context: so that some are always young when something dies.
    /// Conversations take turns in that.
    async fn go_on(&self, conversation: &mut Conversation) {
        let turn = conversation.number + conversation.calls as usize;
        if !turn.is_multiple_of(self.options.begin_every.max(1) as usize) {
            return;
        }
        let Ok(_turn) = self.turns.acquire().await else {
            return;
        };
        if let Ok(context) = self.handshake(&mut conversation.buffers).await {
            let before = std::mem::replace(&mut conversation.context, context);
            conversation.former.push(before);
        }
    }

    /// One call, recorded. The message is handed back with what became of it; nothing, if there was
    /// none to send.
    async fn once(&self, conversation: &mut Conversation) -> Option<(Bytes, Result<(), Failed>)> {
        let Ok(_turn) = self.turns.acquire().await else {
            return None;
        };
        conversation.calls += 1;
        let text = format!(
            "call {} of conversation {}",
            conversation.calls, conversation.number
        );
        let (context, buffers) = (&conversation.context, &mut conversation.buffers);
        let (bytes, receipt) = match self.caller.secure(&text, context, buffers) {
            Ok(secured) => secured,
            Err(failed) => {
                self.record().call(&Err(failed), Duration::ZERO);
                return None;
            }
        };
        let begun = Instant::now();
        let answer = self
            .caller
            .call(bytes.clone(), &text, receipt, buffers)
            .await;
        self.record().call(&answer, begun.elapsed());
        if let Err(Failed::ContextGone { code }) = &answer {
            self.record()
                .lost(conversation.number, &conversation.context, code);
            if let Ok(context) = self.handshake(&mut conversation.buffers).await {
                conversation.context = context;
            }
        }
        Some((bytes, answer))
    }

    /// Sends an accepted message once more.
    async fn replay(&self, bytes: Bytes) {
        if let Some(answer) = self.again(bytes).await {
            self.record().replayed(&answer);
        }
    }

    async fn again(&self, bytes: Bytes) -> Option<Answer> {
        let _turn = self.turns.acquire().await.ok()?;
        Some(self.caller.resend(bytes).await)
    }

    /// When all is calm again: each conversation calls once more with each context that it has had,
    /// and each kept message is sent again.
    async fn audit(self: &Arc<Self>, conversations: Vec<Conversation>) {
        let mut clients = JoinSet::new();
        for mut conversation in conversations {
            let run = Arc::clone(self);
            clients.spawn(async move {
                for context in std::mem::take(&mut conversation.former) {
                    let current = std::mem::replace(&mut conversation.context, context);
                    run.is_alive(&mut conversation).await;
                    conversation.context = current;
                }
                run.is_alive(&mut conversation).await;
                for kept in conversation.kept {
                    run.resend(kept).await;
                }
            });
        }
        clients.join_all().await;
    }

    /// Calls until there is an answer; a conversation that has none for too long, or that cannot
    /// even be called, is lost.
    async fn is_alive(&self, conversation: &mut Conversation) {
        let begun = Instant::now();
        loop {
            let reason = match self.once(conversation).await {
                // A context that is gone was recorded, and replaced.
                Some((_, Ok(()) | Err(Failed::ContextGone { .. }))) => return,
                Some((_, Err(_))) if begun.elapsed() <= LAST_CHANCE => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Some((_, Err(failed))) => failed.kind(),
                None => "no call can be secured with it".to_owned(),
            };
            self.record()
                .lost(conversation.number, &conversation.context, &reason);
            return;
        }
    }

    /// Sends a kept message again; one that may have been accepted is accepted now at the latest,
    /// and not again.
    async fn resend(&self, kept: Kept) {
        if !kept.accepted {
            let Some(answer) = self.again(kept.bytes.clone()).await else {
                return;
            };
            self.record().resent(&answer);
            if !matches!(answer, Answer::Accepted) {
                return;
            }
        }
        self.replay(kept.bytes).await;
    }
}

fn granted(
    done: Result<Result<SecurityContext, Failed>, tokio::task::JoinError>,
    url: &Uri,
) -> Result<SecurityContext, ConversationsError> {
    let problem = match done {
        Ok(Ok(context)) => return Ok(context),
        Ok(Err(failed)) => failed.to_string(),
        Err(error) => error.to_string(),
    };
    Err(ConversationsError::Handshake {
        url: url.clone(),
        problem,
    })
}

/// Seconds since 1970, for laying a run beside what others did meanwhile.
fn clock() -> f64 {
    Timestamp::now().as_microsecond() as f64 / 1e6
}
