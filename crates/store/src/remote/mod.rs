//! A store that other nodes share: one server, a primary that Sentinels watch, or a cluster.
//!
//! Each operation is one script or one command on the keys of one slot, safe to repeat. It goes to
//! the slot's primary; when that is gone or is none any more, the primary is looked for anew and
//! asked again, until the deadline. The client library's own Sentinel and Cluster connections are
//! not used, because the time that they take to look for servers and to repeat is not bounded by
//! one deadline.
//!
//! The rule kept here: an operation has an end, whatever the servers do, and a write counts only
//! when as many replicas have it as was asked for.

mod eviction;
mod failure;
mod names;
mod node;
mod slots;
mod wire;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use redis::{Cmd, Value};
use soapstone::config::{ServerAddress, StoreConfig, StoreServers};
use soapstone::crypto::CryptoError;

use crate::Breaker;
use eviction::{Eviction, LongestLife, Look};
use failure::Failure;
use names::Names;
use node::{Access, Duty, Node};
use slots::Slots;

/// Between two looks at who the primary is.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Between two attempts at a server that says that it will be ready soon.
const REPEAT_PAUSE: Duration = Duration::from_millis(20);

/// Whether a command changes what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Writes,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The store is away, or its answer does not count because too few replicas have it.
    Unreachable(String),
    /// The store refuses.
    Refused(String),
    /// The store does not let this node in, or not do what it asks for.
    Denied(String),
    /// The store has no memory left.
    Full,
}

impl From<CryptoError> for Unanswered {
    fn from(error: CryptoError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(problem) | Self::Refused(problem) | Self::Denied(problem) => {
                out.write_str(problem)
            }
            Self::Full => out.write_str("the store has no memory left"),
        }
    }
}

/// The servers of a store, and the connections to them.
#[derive(Debug)]
pub(crate) struct Remote {
    access: Access,
    replicas: u32,
    layout: Layout,
    /// The servers that hold data, by address.
    nodes: Mutex<HashMap<ServerAddress, Arc<Node>>>,
    map: Mutex<Map>,
    /// Held by the one who looks for primaries.
    looking: Mutex<()>,
    /// In the way to those who know the primaries.
    look: Breaker<Unanswered>,
}

#[derive(Debug)]
enum Layout {
    Single(ServerAddress),
    Sentinel {
        sentinels: Vec<Node>,
        master: String,
    },
    Cluster {
        seeds: Vec<ServerAddress>,
    },
}

#[derive(Debug, Default)]
struct Map {
    slots: Slots,
    /// When it was last asked for.
    looked: Option<Instant>,
    /// Whether something in it was found to be wrong.
    doubtful: bool,
}

/// Whom to ask next.
enum Next {
    /// The primary, as far as it is known.
    Primary,
    /// The server that the one asked has named: for this question only, when it must be told that
    /// we were sent.
    At {
        address: ServerAddress,
        asking: bool,
    },
}

impl Remote {
    /// A store that is not connected to yet.
    ///
    /// # Errors
    ///
    /// What is wrong with the certificates or keys for TLS.
    pub(crate) fn new(config: &StoreConfig) -> Result<Self, String> {
        let tls = config.tls.as_ref();
        let tls = tls.map(|tls| wire::tls_config(tls, config.timeout));
        let tls = tls.transpose()?;
        let access = Access {
            names: Names::of_the_system(),
            tls: tls.map(Arc::new),
            login: config.login.clone(),
            database: config.database,
            timeout: config.timeout,
            life: LongestLife::default(),
        };
        let layout = match &config.servers {
            StoreServers::Single(address) => Layout::Single(address.clone()),
            StoreServers::Sentinel { sentinels, master } => {
                let access = Access {
                    login: config.sentinel_login.clone(),
                    ..access.clone()
                };
                let sentinels = sentinels
                    .iter()
                    .map(|address| Node::new(address.clone(), Duty::Knows, &access))
                    .collect();
                Layout::Sentinel {
                    sentinels,
                    master: master.clone(),
                }
            }
            StoreServers::Cluster { nodes } => Layout::Cluster {
                seeds: nodes.clone(),
            },
        };
        let mut map = Map::default();
        if let Layout::Single(address) = &layout {
            map.slots = Slots::all_at(address.clone());
        }
        Ok(Self {
            look: Breaker::new(access.timeout),
            access,
            replicas: config.replicas,
            layout,
            nodes: Mutex::default(),
            map: Mutex::new(map),
            looking: Mutex::default(),
        })
    }

    /// The slot of a key: keys of different slots cannot be part of one command.
    pub(crate) fn slot(&self, key: &str) -> u16 {
        match self.layout {
            Layout::Cluster { .. } => slots::slot_of(key),
            _ => 0,
        }
    }

    /// By when an operation that begins now has ended.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.access.timeout
    }

    /// Goes on with what is known of the servers of another store that are its own as well.
    pub(crate) fn know(&self, other: &Self) {
        let known: Vec<Arc<Node>> = {
            let nodes = other.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            nodes.values().map(Arc::clone).collect()
        };
        for node in known {
            self.node(node.address()).eviction.know(&node.eviction);
        }
    }

    /// Notes for how many milliseconds a mark is to be kept.
    pub(crate) fn note_life(&self, life: i64) {
        self.access.life.note(life);
    }

    /// Whether the store answers, and all its primaries keep what they are given.
    pub(crate) fn check(&self) -> Result<(), Unanswered> {
        let deadline = self.deadline();
        let ping = redis::cmd("PING");
        self.ask(0, &ping, Effect::Reads, deadline)?;
        let mut primaries: Vec<ServerAddress> = self.map().slots.primaries().cloned().collect();
        primaries.sort_by(|one, other| (&one.host, one.port).cmp(&(&other.host, other.port)));
        primaries.dedup();
        for address in primaries {
            let looked = self.node(&address).look(deadline);
            looked.map_err(|failure| {
                let problem = format!("{address}: {failure}");
                match failure {
                    Failure::Refused(_) => Unanswered::Refused(problem),
                    Failure::Denied(_) => Unanswered::Denied(problem),
                    _ => Unanswered::Unreachable(problem),
                }
            })?;
        }
        Ok(())
    }

    /// Asks the primary of a slot.
    pub(crate) fn ask(
        &self,
        slot: u16,
        command: &Cmd,
        effect: Effect,
        deadline: Instant,
    ) -> Result<Value, Unanswered> {
        let mut next = Next::Primary;
        while Instant::now() < deadline {
            let (address, asking) = match next {
                Next::Primary => (self.primary(slot, deadline)?, false),
                Next::At { address, asking } => (address, asking),
            };
            let node = self.node(&address);
            let now = Instant::now();
            node.reach.enter(now).map_err(Unanswered::Unreachable)?;
            if effect == Effect::Writes && self.replicas > 0 {
                node.copies.enter(now).map_err(Unanswered::Unreachable)?;
            }
            next = match self.attempt(&node, command, effect, asking, deadline) {
                Ok(answer) => {
                    node.reach.succeeded();
                    return Ok(answer);
                }
                Err(failure) => self.settle(&node, slot, failure, deadline)?,
            };
        }
        let problem = "no server could answer in time".to_owned();
        Err(Unanswered::Unreachable(problem))
    }

    /// Learns from a failure, and says what to try next.
    fn settle(
        &self,
        node: &Node,
        slot: u16,
        failure: Failure,
        deadline: Instant,
    ) -> Result<Next, Unanswered> {
        let address = node.address();
        let now = Instant::now();
        let away = |problem: &str| {
            let problem = format!("{address}: {problem}");
            node.reach.failed(problem.clone(), now);
            Err(Unanswered::Unreachable(problem))
        };
        if matches!(failure, Failure::Broken { .. } | Failure::Passing(_)) {
            // It is not what it was taken for.
            node.disconnect();
            self.map().doubtful = true;
        } else {
            node.reach.succeeded();
        }
        match failure {
            Failure::Broken { problem, .. } => away(&problem),
            Failure::Passing(problem)
                if deadline.saturating_duration_since(now) <= REPEAT_PAUSE =>
            {
                away(&problem)
            }
            Failure::Passing(_) => {
                std::thread::sleep(REPEAT_PAUSE);
                Ok(Next::Primary)
            }
            Failure::Elsewhere { .. } if !matches!(self.layout, Layout::Cluster { .. }) => {
                Err(Unanswered::Refused(format!(
                    "{address} belongs to a cluster, and is to be named in `nodes`"
                )))
            }
            Failure::Elsewhere {
                address,
                once: asking,
            } => {
                if !asking {
                    let mut map = self.map();
                    map.slots.moved(slot, address.clone());
                    map.doubtful = true;
                }
                Ok(Next::At { address, asking })
            }
            Failure::Uncopied => {
                let problem = format!(
                    "{address}: fewer than {} replicas have the write",
                    self.replicas
                );
                node.copies.failed(problem.clone(), now);
                Err(Unanswered::Unreachable(problem))
            }
            Failure::Refused(problem) => Err(Unanswered::Refused(format!("{address}: {problem}"))),
            Failure::Denied(problem) => Err(Unanswered::Denied(format!("{address}: {problem}"))),
            Failure::Full => Err(Unanswered::Full),
        }
    }

    fn attempt(
        &self,
        node: &Node,
        command: &Cmd,
        effect: Effect,
        asking: bool,
        deadline: Instant,
    ) -> Result<Value, Failure> {
        let look = match effect {
            Effect::Writes => node.eviction.look(Instant::now()),
            Effect::Reads => Look::No,
        };
        if look == Look::Before {
            node.look(deadline)?;
        }
        let mut commands = redis::pipe();
        if look == Look::Beside {
            Eviction::ask(&mut commands);
        }
        if asking {
            commands.cmd("ASKING");
        }
        commands.add_command(command.clone());
        let copies = effect == Effect::Writes && self.replicas > 0;
        if copies {
            // Servers look at their clock ten times a second only: half of what is left, so that
            // they say so before it has passed.
            let left = deadline.saturating_duration_since(Instant::now()) / 2;
            let milliseconds = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
            commands.cmd("WAIT").arg(self.replicas).arg(milliseconds);
        }
        let mut answers = match node.exchange(&commands, deadline) {
            Ok(answers) => answers,
            // The write was answered, and only how many replicas have it was not.
            Err(Failure::Broken { answers, .. }) if copies && answers + 1 == commands.len() => {
                return Err(Failure::Uncopied);
            }
            Err(failure) => return Err(failure),
        };
        if look == Look::Beside {
            let rest = answers.split_off(eviction::ANSWERS.min(answers.len()));
            node.learn(&answers)?;
            answers = rest;
        }
        let mut answers = answers.into_iter();
        if asking {
            answers.next();
        }
        let answer = match answers.next() {
            Some(Value::ServerError(error)) => {
                return Err(Failure::answered(&error, node.address()));
            }
            Some(answer) => answer,
            None => return Err(Failure::unexpected("the command", &Value::Nil)),
        };
        if copies {
            match answers.next() {
                Some(Value::Int(found)) if found >= i64::from(self.replicas) => {
                    node.copies.succeeded();
                }
                Some(Value::Int(_)) => return Err(Failure::Uncopied),
                Some(Value::ServerError(error)) => {
                    return Err(Failure::answered(&error, node.address()));
                }
                other => {
                    let other = other.unwrap_or(Value::Nil);
                    return Err(Failure::unexpected("WAIT", &other));
                }
            }
        }
        Ok(answer)
    }

    /// The primary of a slot, looked for if it is not known or no longer certain.
    fn primary(&self, slot: u16, deadline: Instant) -> Result<ServerAddress, Unanswered> {
        let known = {
            let map = self.map();
            let primary = map.slots.primary(slot).cloned();
            let fixed = matches!(self.layout, Layout::Single(_));
            let recent = map
                .looked
                .is_some_and(|looked| looked.elapsed() < LOOK_PAUSE);
            match primary {
                Some(primary) if fixed || !map.doubtful || recent => return Ok(primary),
                primary => primary,
            }
        };
        let _turn = match (self.looking.try_lock(), &known) {
            (Ok(turn), _) => turn,
            (Err(TryLockError::Poisoned(turn)), _) => turn.into_inner(),
            // Somebody else is looking: what was right until now may still be.
            (Err(TryLockError::WouldBlock), Some(known)) => return Ok(known.clone()),
            (Err(TryLockError::WouldBlock), None) => {
                self.looking.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        if known.is_none()
            && let Some(primary) = self.map().slots.primary(slot)
        {
            return Ok(primary.clone());
        }
        let found =
            self.look
                .enter(Instant::now())
                .and_then(|()| match self.find_primaries(deadline) {
                    Ok(slots) => {
                        self.look.succeeded();
                        Ok(slots)
                    }
                    Err(problem) => {
                        self.look.failed(problem.clone(), Instant::now());
                        Err(problem)
                    }
                });
        match found {
            Ok(slots) => {
                self.forget_others(&slots);
                let primary = slots.primary(slot).cloned();
                *self.map() = Map {
                    slots,
                    looked: Some(Instant::now()),
                    doubtful: false,
                };
                primary.ok_or_else(|| {
                    Unanswered::Unreachable("no server of the cluster has the slot".to_owned())
                })
            }
            Err(problem) => known.ok_or(problem),
        }
    }

    /// Asks those who should know, one after the other, each for its share of the time.
    fn find_primaries(&self, deadline: Instant) -> Result<Slots, Unanswered> {
        match &self.layout {
            Layout::Single(address) => Ok(Slots::all_at(address.clone())),
            Layout::Sentinel { sentinels, master } => {
                let mut question = redis::pipe();
                question
                    .cmd("SENTINEL")
                    .arg("GET-MASTER-ADDR-BY-NAME")
                    .arg(master);
                let read = |answer: &Value, _: &ServerAddress| match answer {
                    Value::Array(address) => match address.as_slice() {
                        [Value::BulkString(host), Value::BulkString(port)] => {
                            Some(Slots::all_at(ServerAddress {
                                host: String::from_utf8(host.clone()).ok()?,
                                port: std::str::from_utf8(port).ok()?.parse().ok()?,
                            }))
                        }
                        _ => None,
                    },
                    _ => None,
                };
                first_answer(sentinels.iter(), &question, read, deadline)
            }
            Layout::Cluster { seeds } => {
                let mut addresses: Vec<ServerAddress> = Vec::new();
                for address in self.map().slots.primaries().chain(seeds) {
                    if !addresses.contains(address) {
                        addresses.push(address.clone());
                    }
                }
                let nodes: Vec<_> = addresses.iter().map(|address| self.node(address)).collect();
                let mut question = redis::pipe();
                question.cmd("CLUSTER").arg("SLOTS");
                first_answer(
                    nodes.iter().map(Arc::as_ref),
                    &question,
                    Slots::read,
                    deadline,
                )
            }
        }
    }

    fn node(&self, address: &ServerAddress) -> Arc<Node> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = nodes.get(address) {
            return Arc::clone(node);
        }
        let duty = match self.layout {
            Layout::Sentinel { .. } => Duty::HoldsAsPrimary,
            _ => Duty::Holds,
        };
        let node = Arc::new(Node::new(address.clone(), duty, &self.access));
        nodes.insert(address.clone(), Arc::clone(&node));
        node
    }

    /// Drops servers that are neither primaries nor named in the configuration.
    fn forget_others(&self, slots: &Slots) {
        let seeds: &[ServerAddress] = match &self.layout {
            Layout::Cluster { seeds } => seeds,
            _ => &[],
        };
        self.nodes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|address, _| {
                seeds.contains(address) || slots.primaries().any(|primary| primary == address)
            });
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn first_answer<'n>(
    nodes: impl ExactSizeIterator<Item = &'n Node>,
    question: &redis::Pipeline,
    read: impl Fn(&Value, &ServerAddress) -> Option<Slots>,
    deadline: Instant,
) -> Result<Slots, Unanswered> {
    let mut left = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let unreachable = |problem: String| Unanswered::Unreachable(problem);
    let mut problem = unreachable("there is nobody to ask".to_owned());
    for node in nodes {
        let now = Instant::now();
        let share = deadline.saturating_duration_since(now) / left.max(1);
        left = left.saturating_sub(1);
        if let Err(known) = node.reach.enter(now) {
            problem = unreachable(known);
            continue;
        }
        let place = node.address();
        let answers = node.exchange(question, now + share);
        match answers.as_deref() {
            Ok([Value::ServerError(error)]) => {
                node.reach.succeeded();
                problem = match Failure::answered(error, place) {
                    Failure::Denied(denied) => Unanswered::Denied(format!("{place}: {denied}")),
                    failure => unreachable(format!("{place}: {failure}")),
                };
            }
            Ok([answer]) => {
                node.reach.succeeded();
                match read(answer, node.address()) {
                    Some(slots) => return Ok(slots),
                    None => problem = unreachable(format!("{place} knows no primary")),
                }
            }
            Ok(_) => problem = unreachable(format!("{place} answers out of step")),
            Err(Failure::Denied(denied)) => {
                // It answers; whoever asks for the primary does not ask again at once.
                node.reach.succeeded();
                problem = Unanswered::Denied(format!("{place}: {denied}"));
            }
            Err(failure) => {
                let failed = format!("{place}: {failure}");
                node.reach.failed(failed.clone(), Instant::now());
                problem = unreachable(failed);
            }
        }
    }
    Err(problem)
}
