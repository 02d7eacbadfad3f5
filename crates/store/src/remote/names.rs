//! Which addresses a server's name has.
//!
//! The system's resolver cannot be told to hurry: where no name server answers, it takes many
//! seconds. So it is asked on a thread of its own, and whoever needs the answer waits for it until
//! his own deadline.
//!
//! The rule kept here: however many wait, one question about a name is under way, so that a dead
//! name server costs one thread a name.

use std::collections::HashMap;
use std::fmt;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use soapstone::config::ServerAddress;

/// What the system's resolver does.
type Resolver = dyn Fn(&str) -> Result<Vec<IpAddr>, Error> + Send + Sync;

/// Looks up names, for all servers of a store.
#[derive(Clone)]
pub(super) struct Names {
    resolver: Arc<Resolver>,
    asked: Arc<Mutex<HashMap<String, Arc<Question>>>>,
}

/// A question that is under way, or was.
#[derive(Default)]
struct Question {
    answer: Mutex<Option<Answer>>,
    answered: Condvar,
}

type Answer = Result<Vec<IpAddr>, String>;

impl Names {
    /// Names as the system resolves them.
    pub(super) fn of_the_system() -> Self {
        Self::resolved_by(|host| {
            let found = (host, 0).to_socket_addrs()?;
            Ok(found.map(|place| place.ip()).collect())
        })
    }

    fn resolved_by(
        resolver: impl Fn(&str) -> Result<Vec<IpAddr>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            resolver: Arc::new(resolver),
            asked: Arc::default(),
        }
    }

    /// Where a server is reached, in the order in which to try. An address in place of a name is
    /// not looked up.
    ///
    /// # Errors
    ///
    /// There is no such name, or no answer until the deadline.
    pub(super) fn places(
        &self,
        address: &ServerAddress,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, Error> {
        let found = match address.host.parse() {
            Ok(literal) => vec![literal],
            Err(_) => self.ask(&address.host)?.wait(&address.host, deadline)?,
        };
        if found.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, "the host has no address"));
        }
        let places = found.into_iter().map(|ip| (ip, address.port).into());
        Ok(places.collect())
    }

    /// The question about a name that is under way, or a new one.
    fn ask(&self, host: &str) -> Result<Arc<Question>, Error> {
        let mut asked = self.asked();
        if let Some(question) = asked.get(host) {
            return Ok(Arc::clone(question));
        }
        let question = Arc::new(Question::default());
        let (names, name, answered) = (self.clone(), host.to_owned(), Arc::clone(&question));
        thread::Builder::new()
            .name("lookup".to_owned())
            .spawn(move || {
                let answer = (names.resolver)(&name);
                // Whoever asks from here on asks anew.
                names.asked().remove(&name);
                answered.answer(answer.map_err(|error| error.to_string()));
            })?;
        asked.insert(host.to_owned(), Arc::clone(&question));
        Ok(question)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<String, Arc<Question>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} names being looked up", self.asked().len())
    }
}

impl Question {
    fn answer(&self, answer: Answer) {
        *self.slot() = Some(answer);
        self.answered.notify_all();
    }

    fn wait(&self, host: &str, deadline: Instant) -> Result<Vec<IpAddr>, Error> {
        let left = deadline.saturating_duration_since(Instant::now());
        let (answer, _) = self
            .answered
            .wait_timeout_while(self.slot(), left, |answer| answer.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        match &*answer {
            Some(Ok(found)) => Ok(found.clone()),
            Some(Err(problem)) => Err(Error::other(problem.clone())),
            None => {
                // No timeout of the server, who has not been asked anything yet.
                let problem = format!("the address of {host} was not found in time");
                Err(Error::other(problem))
            }
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Answer>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn server(host: &str) -> ServerAddress {
        ServerAddress {
            host: host.to_owned(),
            port: 6379,
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn who_waits_for_a_name_waits_until_his_deadline() {
        let (release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let names = Names::resolved_by(move |_| {
            let _ = held.lock().unwrap().recv();
            Ok(vec![HOME])
        });
        let begun = Instant::now();
        let refused = names.places(&server("redis.example"), soon()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the address of redis.example was not found in time"
        );
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_millis(45), "{waited:?}");
        assert!(waited < Duration::from_secs(10), "{waited:?}");

        // The one who comes later has the answer to the question that the first one asked.
        drop(release);
        let found = names.places(&server("redis.example"), late()).unwrap();
        assert_eq!(found, [SocketAddr::new(HOME, 6379)]);
    }

    #[test]
    fn one_question_about_a_name_is_under_way_however_many_ask() {
        let (release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let names = Names::resolved_by(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = held.lock().unwrap().recv();
            Ok(vec![HOME])
        });
        for _ in 0..20 {
            let refused = names.places(&server("redis.example"), Instant::now());
            assert!(refused.unwrap_err().to_string().contains("in time"));
        }
        drop(release);
        names.places(&server("redis.example"), late()).unwrap();
        assert!(asked.load(Ordering::SeqCst) <= 2, "{asked:?}");
    }

    #[test]
    fn a_name_is_asked_for_anew_after_its_answer() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let names = Names::resolved_by(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Error::new(ErrorKind::NotFound, "no such name")),
            _ => Ok(vec![HOME]),
        });
        let refused = names.places(&server("redis.example"), late()).unwrap_err();
        assert_eq!(refused.to_string(), "no such name");
        assert!(names.places(&server("redis.example"), late()).is_ok());
    }

    #[test]
    fn addresses_are_not_looked_up_and_names_without_any_are_told() {
        let names = Names::resolved_by(|host| match host {
            "nowhere.example" => Ok(Vec::new()),
            _ => panic!("{host} was looked up"),
        });
        for literal in ["127.0.0.1", "::1"] {
            let found = names.places(&server(literal), Instant::now()).unwrap();
            assert_eq!(found[0].ip().to_string(), literal);
        }
        let refused = names.places(&server("nowhere.example"), late());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
