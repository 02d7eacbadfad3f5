//! One server: its connections, and what is asked of it before it is trusted with anything.
//!
//! A connection serves one caller at a time and lies idle in between. The rule kept here: an
//! exchange ends by its deadline, and a connection whose answers could be out of step with its
//! questions is never used again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::{Pipeline, Value};
use rustls::ClientConfig;
use soapstone::config::{ServerAddress, StoreLogin};

use crate::Breaker;

use super::eviction::{Eviction, LongestLife};
use super::failure::Failure;
use super::names::Names;
use super::wire::Wire;

/// Connections that may lie idle: half of the descriptors that a gateway keeps from its clients. At
/// 10 ms an exchange they serve 12,800 messages a second.
const MOST_IDLE: usize = 128;

/// What a server must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// It holds data and never drops any to make room.
    Holds,
    /// The same, and it must be the primary: a Sentinel said so, who may be behind the times.
    HoldsAsPrimary,
    /// It knows where the primary is.
    Knows,
}

/// One server.
#[derive(Debug)]
pub(super) struct Node {
    address: ServerAddress,
    names: Names,
    tls: Option<Arc<ClientConfig>>,
    login: StoreLogin,
    database: u32,
    duty: Duty,
    idle: Mutex<Idle>,
    pub(super) eviction: Eviction,
    /// In the way to the server itself.
    pub(super) reach: Breaker,
    /// In the way to what must be copied to its replicas.
    pub(super) copies: Breaker,
}

#[derive(Default)]
struct Idle(Vec<Wire>);

impl std::fmt::Debug for Idle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} connections", self.0.len())
    }
}

/// What all servers of a store have in common.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) names: Names,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) login: StoreLogin,
    pub(super) database: u32,
    pub(super) timeout: Duration,
    pub(super) life: LongestLife,
}

impl Node {
    /// A server that is not connected to yet.
    pub(super) fn new(address: ServerAddress, duty: Duty, access: &Access) -> Self {
        Self {
            address,
            names: access.names.clone(),
            tls: access.tls.clone(),
            login: access.login.clone(),
            database: access.database,
            duty,
            idle: Mutex::default(),
            eviction: Eviction::new(access.life.clone()),
            reach: Breaker::new(access.timeout),
            copies: Breaker::new(access.timeout),
        }
    }

    pub(super) fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Sends the commands and reads one answer to each. A server's error is an answer.
    pub(super) fn exchange(
        &self,
        commands: &Pipeline,
        deadline: Instant,
    ) -> Result<Vec<Value>, Failure> {
        let packed = commands.get_packed_pipeline();
        loop {
            let idle = self.idle().0.pop();
            let reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect(deadline)?,
            };
            match connection.converse(&packed, commands.len(), deadline) {
                Ok(answers) => {
                    let mut idle = self.idle();
                    if idle.0.len() < MOST_IDLE {
                        idle.0.push(connection);
                    }
                    return Ok(answers);
                }
                // The server closed it while it lay idle, and the others with it.
                Err((error, 0)) if reused && !error.is_timeout() => self.idle().0.clear(),
                Err((error, answers)) => return Err(Failure::on_the_way(&error, answers)),
            }
        }
    }

    /// Looks whether the server keeps what it is given.
    pub(super) fn look(&self, deadline: Instant) -> Result<(), Failure> {
        let mut questions = redis::pipe();
        Eviction::ask(&mut questions);
        let answers = self.exchange(&questions, deadline)?;
        self.learn(&answers)
    }

    /// Learns from the answers to a look.
    pub(super) fn learn(&self, answers: &[Value]) -> Result<(), Failure> {
        for answer in answers {
            if let Value::ServerError(error) = answer {
                return Err(Failure::answered(error, &self.address));
            }
        }
        match answers {
            [memory, stats] => self.eviction.learn(memory, stats, Instant::now()),
            _ => Err(Failure::unexpected("INFO", &Value::Nil)),
        }
    }

    /// Drops all idle connections: the server is not what it was.
    pub(super) fn disconnect(&self) {
        self.idle().0.clear();
    }

    fn connect(&self, deadline: Instant) -> Result<Wire, Failure> {
        let mut connection = Wire::connect(&self.address, &self.names, self.tls.as_ref(), deadline)
            .map_err(|error| Failure::on_the_way(&error, 0))?;
        let mut greeting = redis::pipe();
        if let Some(password) = &self.login.password {
            greeting.cmd("AUTH");
            if let Some(username) = &self.login.username {
                greeting.arg(username);
            }
            greeting.arg(password.expose());
        }
        let greeted = greeting.len();
        if self.duty != Duty::Knows {
            if self.database != 0 {
                greeting.cmd("SELECT").arg(self.database);
            }
            greeting.cmd("ROLE");
            Eviction::ask(&mut greeting);
        }
        if greeting.is_empty() {
            return Ok(connection);
        }
        let packed = greeting.get_packed_pipeline();
        let answers = connection
            .converse(&packed, greeting.len(), deadline)
            .map_err(|(error, _)| Failure::on_the_way(&error, 0))?;
        for (index, answer) in answers.iter().enumerate() {
            if let Value::ServerError(error) = answer {
                let failure = Failure::answered(error, &self.address);
                // Whatever is wrong with it, it is the name or the password that this node has.
                return Err(match failure {
                    Failure::Refused(problem) if index < greeted => Failure::Denied(problem),
                    failure => failure,
                });
            }
        }
        if let [.., role, memory, stats] = &answers[greeted.min(answers.len())..] {
            if self.duty == Duty::HoldsAsPrimary && !is_primary(role) {
                let problem = "no primary".to_owned();
                return Err(Failure::Passing(problem));
            }
            self.eviction.learn(memory, stats, Instant::now())?;
        }
        Ok(connection)
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_primary(role: &Value) -> bool {
    let Value::Array(role) = role else {
        return false;
    };
    matches!(role.first(), Some(Value::BulkString(role)) if role == b"master")
}
