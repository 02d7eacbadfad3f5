//! What can go wrong between us and one server, sorted by what to do about it.

use std::fmt;

use redis::{RedisError, ServerError, Value};
use soapstone::config::ServerAddress;

/// One exchange that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The slot lives elsewhere: from now on, or, when `once`, for this request only.
    Elsewhere { address: ServerAddress, once: bool },
    /// It will pass: a server that is starting, or is no primary any more. Look again and repeat.
    Passing(String),
    /// The connection carried so many answers, and then no more.
    Broken { problem: String, answers: usize },
    /// The server refuses, and will again.
    Refused(String),
    /// The server does not let this node in, or not do what it asks for.
    Denied(String),
    /// It was written, and too few replicas have it.
    Uncopied,
    /// The server has no memory left.
    Full,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { address, .. } => {
                write!(out, "what was asked for is at {address}")
            }
            Self::Passing(problem)
            | Self::Broken { problem, .. }
            | Self::Refused(problem)
            | Self::Denied(problem) => out.write_str(problem),
            Self::Uncopied => out.write_str("too few replicas have the write"),
            Self::Full => out.write_str("no memory is left"),
        }
    }
}

impl Failure {
    /// A failure on the way, after so many answers. A server that is no Redis answers what cannot
    /// be parsed.
    pub(super) fn on_the_way(error: &RedisError, answers: usize) -> Self {
        Self::Broken {
            problem: if error.is_timeout() {
                "no answer in time".to_owned()
            } else {
                error.to_string()
            },
            answers,
        }
    }

    /// A server's error in the place of an answer. `asked` is the host to take where it names none.
    pub(super) fn answered(error: &ServerError, asked: &ServerAddress) -> Self {
        let details = error.details().unwrap_or_default();
        let text = || format!("{} {details}", error.code()).trim_end().to_owned();
        match error.code() {
            code @ ("MOVED" | "ASK") => match redirection(details, asked) {
                Some(address) => Self::Elsewhere {
                    address,
                    once: code == "ASK",
                },
                None => Self::Refused(text()),
            },
            "READONLY" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS"
            | "BUSY" => Self::Passing(text()),
            "OOM" => Self::Full,
            "WRONGPASS" | "NOAUTH" | "NOPERM" => Self::Denied(text()),
            // What a script may not do is told without a code of its own.
            _ if details.contains("user executing the script") => Self::Denied(text()),
            _ => Self::Refused(text()),
        }
    }

    /// An answer of another form than the question has.
    pub(super) fn unexpected(question: &str, answer: &Value) -> Self {
        let kind = match answer {
            Value::Nil => "nothing",
            Value::Int(_) => "a number",
            Value::BulkString(_) | Value::SimpleString(_) | Value::Okay => "a string",
            Value::Array(_) => "a list",
            _ => "something else",
        };
        Self::Refused(format!("{question} was answered by {kind}"))
    }
}

/// `3999 127.0.0.1:6381`; the host may be missing, and is then the one that was asked.
fn redirection(details: &str, asked: &ServerAddress) -> Option<ServerAddress> {
    let (_, address) = details.split_once(' ')?;
    let (host, port) = address.trim().rsplit_once(':')?;
    Some(ServerAddress {
        host: match host {
            "" | "?" => asked.host.clone(),
            host => host.to_owned(),
        },
        port: port.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Redis 7.0 tells it, and as 7.2 does.
    #[test]
    fn what_a_script_may_not_do_is_denied() {
        let asked = ServerAddress {
            host: "a".to_owned(),
            port: 1,
        };
        for line in [
            "-ERR The user executing the script can't run this command or subcommand script: 8b, on @user_script:7.\r\n",
            "-NOPERM ACL failure in script: User soapstone has no permissions to run the 'hmget' command\r\n",
        ] {
            let answer = redis::parse_redis_value(line.as_bytes()).expect("an answer");
            let Value::ServerError(error) = answer else {
                panic!("{answer:?}");
            };
            let failure = Failure::answered(&error, &asked);
            assert!(matches!(failure, Failure::Denied(_)), "{failure:?}");
        }
    }

    #[test]
    fn a_redirection_without_a_host_stays_at_the_host_that_was_asked() {
        let asked = ServerAddress {
            host: "a".to_owned(),
            port: 1,
        };
        let found = |details| redirection(details, &asked).map(|found| (found.host, found.port));
        assert_eq!(found("3999 b:6381"), Some(("b".to_owned(), 6381)));
        assert_eq!(found("3999 :6381"), Some(("a".to_owned(), 6381)));
        assert_eq!(found("3999 ::1:6381"), Some(("::1".to_owned(), 6381)));
        assert_eq!(found("3999"), None);
    }
}
