//! The side of a client: tokens for a service, made with a ticket of the KDC.
//!
//! The library asks the KDC when it has no ticket, and no call of it can be given up. So a thread
//! calls it, and callers wait for the thread. The rule kept here: a caller waits no longer than the
//! timeout, and what nobody waits for any more is not begun.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use soapstone_crypto::SecretBytes;

use crate::acceptor::file_name;
use crate::ap_request::{ApRequest, Framing, in_framing};
use crate::enctype::Enctype;
use crate::error::KerberosError;
use crate::gss::{self, Established, Usage};
use crate::principal::Principal;

/// Where the tickets of a client come from.
#[derive(Clone, Debug)]
pub enum ClientCredential {
    /// A cache that something else fills, such as `kinit`.
    Cache(PathBuf),
    /// A file with the client's keys.
    Keytab {
        /// The file.
        file: PathBuf,
        /// The client.
        principal: Principal,
    },
}

/// For which service tokens are made, and with what.
#[derive(Clone, Debug)]
pub struct InitiatorRules {
    /// The service.
    pub service: Principal,
    /// The client.
    pub credential: ClientCredential,
    /// How tokens are framed.
    pub framing: Framing,
    /// The encryption types of tickets and session keys.
    pub enctypes: Vec<Enctype>,
    /// The longest that a caller waits.
    pub timeout: Duration,
}

impl InitiatorRules {
    /// The wait, unless said otherwise: beyond what a KDC takes, and below what clients wait.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
}

/// A token that was made.
#[derive(Debug)]
pub struct Initiated {
    /// The token, in the framing of the rules.
    pub token: Vec<u8>,
    /// The session key of both sides.
    pub key: SecretBytes,
    /// The type of that key.
    pub enctype: Enctype,
    /// When the ticket ends.
    pub ends: SystemTime,
}

/// A client that makes tokens for a service.
#[derive(Debug)]
pub struct Initiator {
    rules: InitiatorRules,
    jobs: Mutex<SyncSender<Job>>,
}

/// A token that somebody waits for.
struct Job {
    deadline: Instant,
    answer: SyncSender<Result<Initiated, KerberosError>>,
}

/// What the thread needs.
struct Work {
    client: Option<Principal>,
    service: Principal,
    cache: String,
    /// Held while the library uses the cache.
    turn: Arc<Mutex<()>>,
    keytab: Option<String>,
    framing: Framing,
    enctypes: Vec<Enctype>,
}

/// Most callers that wait for one thread. One token takes less than a millisecond with a ticket
/// that is there; without one, all callers wait for the KDC alike.
const MOST_WAITING: usize = 256;

impl Initiator {
    /// A client with these rules, and its thread. Tickets are asked for when the first token is.
    ///
    /// # Errors
    /// [`KerberosError`]: the library is not there, or a path is no text.
    pub fn new(rules: InitiatorRules) -> Result<Self, KerberosError> {
        gss::is_available()?;
        let (client, cache, keytab) = match &rules.credential {
            ClientCredential::Cache(path) => (None, file_name(path)?, None),
            ClientCredential::Keytab { file, principal } => {
                // A cache of our own: nothing of this client is for other programs. The next
                // initiator with these rules finds the tickets there.
                let (keytab, service) = (file_name(file)?, &rules.service);
                let cache = format!("MEMORY:soapstone {principal} {service} {keytab}");
                (Some(principal.clone()), cache, Some(keytab))
            }
        };
        let work = Work {
            client,
            service: rules.service.clone(),
            turn: turn(&cache),
            cache,
            keytab,
            framing: rules.framing,
            enctypes: rules.enctypes.clone(),
        };
        let (jobs, taken) = sync_channel(MOST_WAITING);
        let thread = std::thread::Builder::new().name("kerberos".to_owned());
        let started = thread.spawn(move || work.serve(&taken));
        // It ends when the initiator is dropped, once the library has come back.
        drop(started.map_err(|error| KerberosError::Library {
            call: "a thread for the library",
            problem: error.to_string(),
        })?);
        Ok(Self {
            rules,
            jobs: Mutex::new(jobs),
        })
    }

    /// The rules.
    pub const fn rules(&self) -> &InitiatorRules {
        &self.rules
    }

    /// Makes a token, and waits for it up to the timeout of the rules.
    ///
    /// # Errors
    /// Why there is none.
    pub fn initiate(&self) -> Result<Initiated, KerberosError> {
        let timeout = self.rules.timeout;
        let timed_out = KerberosError::TimedOut { after: timeout };
        let (answer, answered) = sync_channel(1);
        let deadline = Instant::now() + timeout;
        let sent = {
            let jobs = self.jobs.lock();
            let jobs = jobs.unwrap_or_else(PoisonError::into_inner);
            jobs.try_send(Job { deadline, answer })
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                return Err(KerberosError::Busy {
                    waiting: MOST_WAITING,
                });
            }
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        }
        match answered.recv_timeout(timeout) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Err(timed_out),
            // It was not begun, because its time was over.
            Err(RecvTimeoutError::Disconnected) => Err(timed_out),
        }
    }
}

/// Whose turn it is to use a cache. The library empties a cache in front of new tickets, and
/// another thread would find none. There is one for each cache of the process, which its memory
/// keeps.
fn turn(cache: &str) -> Arc<Mutex<()>> {
    static TURNS: Mutex<BTreeMap<String, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(turns.entry(cache.to_owned()).or_default())
}

fn ended() -> KerberosError {
    KerberosError::Library {
        call: "the thread for the library",
        problem: "it has ended".to_owned(),
    }
}

impl Work {
    /// Makes tokens until nobody can ask for one any more.
    fn serve(&self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if Instant::now() >= job.deadline {
                continue;
            }
            let token = self.token();
            drop(turn);
            // A caller that has gone needs no answer.
            let _ = job.answer.send(token);
        }
    }

    fn token(&self) -> Result<Initiated, KerberosError> {
        let usage = Usage::Initiate {
            cache: &self.cache,
            keytab: self.keytab.as_deref(),
        };
        let Established {
            token,
            key,
            enctype,
            ends,
            ..
        } = gss::initiate(self.client.as_ref(), &self.service, &usage)?;
        let request = ApRequest::parse(&token, Framing::Gss)?;
        let types = [
            ("the ticket", request.ticket),
            ("the authenticator", request.authenticator),
            ("the session key", enctype),
        ];
        for (what, found) in types {
            if !self.enctypes.contains(&found) {
                return Err(KerberosError::Enctype { what, found });
            }
        }
        Ok(Initiated {
            token: in_framing(&token, self.framing)?,
            key,
            enctype,
            ends,
        })
    }
}
