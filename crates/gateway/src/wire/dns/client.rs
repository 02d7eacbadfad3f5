//! Asks servers of DNS, over UDP, and over TCP where an answer has no room in a datagram.
//!
//! The rule kept here: an answer comes from the server and port that were asked, with a number that
//! nobody can guess, from a port that is new for each question (RFC 5452, section 9.2).

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use soapstone::crypto::random;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::message::{DATAGRAM, Question, Record, Reply, read, write};

/// How long a server may take for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often each server is asked: a datagram gets lost now and then.
const ATTEMPTS: usize = 2;
/// The port of DNS.
const PORT: u16 = 53;
/// Servers of the system that count (resolv.conf(5)).
const MOST_SERVERS: usize = 3;

/// The code of a name that there is not.
const NO_SUCH_NAME: u8 = 3;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum DnsError {
    /// Nothing came in time, or it was none.
    Unanswered {
        /// Who was asked last.
        server: SocketAddr,
        /// What happened.
        source: io::Error,
    },
    /// A server could not or would not answer.
    Code {
        /// Who was asked last.
        server: SocketAddr,
        /// What it said (RFC 1035, section 4.1.1).
        code: u8,
    },
    /// There is nobody to ask.
    NoServer,
}

impl fmt::Display for DnsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered { server, source } => write!(out, "no answer of {server}: {source}"),
            Self::Code { server, code } => {
                let said = match code {
                    1 => "the question has a wrong form",
                    2 => "the server failed",
                    4 => "it does not know such questions",
                    5 => "it refuses to answer",
                    _ => "another failure",
                };
                write!(out, "{server} answers with code {code}: {said}")
            }
            Self::NoServer => out.write_str("no server of DNS is known"),
        }
    }
}

/// The servers that the system names, or the one of this machine where it names none.
pub(crate) fn servers_of_the_system() -> Vec<SocketAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    servers_in(&text)
}

fn servers_in(text: &str) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let address = words
            .next()
            .filter(|it| *it == "nameserver")
            .and(words.next())?;
        let address: IpAddr = address.parse().ok()?;
        Some(SocketAddr::new(address, PORT))
    });
    let mut named: Vec<SocketAddr> = named.take(MOST_SERVERS).collect();
    if named.is_empty() {
        named.push(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    }
    named
}

/// Asks the servers, one after the other, until one answers. Records that answer the question; none
/// where there are none of the name.
///
/// # Errors
/// Why nobody answered; the last one of several reasons.
pub(crate) async fn ask(
    servers: &[SocketAddr],
    question: &Question,
) -> Result<Vec<Record>, DnsError> {
    let mut failed = DnsError::NoServer;
    for server in servers.iter().cycle().take(servers.len() * ATTEMPTS) {
        match tokio::time::timeout(PATIENCE, exchange(*server, question)).await {
            Ok(Ok(reply)) => match reply.code {
                0 => return Ok(reply.answers(question)),
                NO_SUCH_NAME => return Ok(Vec::new()),
                code => {
                    let server = *server;
                    failed = DnsError::Code { server, code };
                }
            },
            Ok(Err(source)) => {
                let server = *server;
                failed = DnsError::Unanswered { server, source };
            }
            Err(_) => {
                let source = io::Error::new(io::ErrorKind::TimedOut, "it did not come in time");
                let server = *server;
                failed = DnsError::Unanswered { server, source };
            }
        }
    }
    Err(failed)
}

async fn exchange(server: SocketAddr, question: &Question) -> io::Result<Reply> {
    let number = u16::from_be_bytes(random::bytes());
    let reply = by_datagram(server, number, question).await?;
    match reply.is_truncated {
        true => by_stream(server, number, question).await,
        false => Ok(reply),
    }
}

async fn by_datagram(server: SocketAddr, number: u16, question: &Question) -> io::Result<Reply> {
    let unspecified = match server {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((unspecified, 0)).await?;
    // From then on nothing arrives from elsewhere.
    socket.connect(server).await?;
    socket.send(&write(number, question)).await?;
    let mut datagram = [0; DATAGRAM as usize];
    loop {
        let length = socket.recv(&mut datagram).await?;
        // What is no answer may be somebody's guess: the answer is waited for.
        if let Some(reply) = read(&datagram[..length], number, question) {
            return Ok(reply);
        }
    }
}

async fn by_stream(server: SocketAddr, number: u16, question: &Question) -> io::Result<Reply> {
    let asked = write(number, question);
    let mut stream = TcpStream::connect(server).await?;
    let mut message = Vec::with_capacity(asked.len() + 2);
    // A question has some 300 bytes at most.
    message.extend_from_slice(&u16::try_from(asked.len()).unwrap_or(u16::MAX).to_be_bytes());
    message.extend_from_slice(&asked);
    stream.write_all(&message).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await?;
    let reply = read(&answer, number, question).filter(|reply| !reply.is_truncated);
    let none = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "it is no answer to the question",
        )
    };
    reply.ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::super::message::{Data, Kind};
    use super::*;
    use crate::config::dns_name::DnsName;

    fn question() -> Question {
        let name = DnsName::parse("one.example.com").expect("a name");
        Question {
            name,
            kind: Kind::A,
        }
    }

    /// The answer to a question: an address of IPv4.
    fn answer(asked: &[u8], address: [u8; 4]) -> Vec<u8> {
        // Without the addition, which has eleven bytes.
        let mut message = asked[..asked.len() - 11].to_vec();
        message[2] |= 0x80;
        message[7] = 1;
        message[11] = 0;
        // A pointer to the name of the question.
        message.extend_from_slice(&[192, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        message.extend_from_slice(&address);
        message
    }

    fn coded(asked: &[u8], code: u8) -> Vec<u8> {
        let mut message = asked[..asked.len() - 11].to_vec();
        message[2] |= 0x80;
        message[3] = code;
        message[11] = 0;
        message
    }

    fn addresses(records: &[Record]) -> Vec<String> {
        let found = records.iter().map(|record| match &record.data {
            Data::Address(address) => address.to_string(),
            other => format!("{other:?}"),
        });
        found.collect()
    }

    /// A server that answers each question with the datagrams that are made of it.
    async fn server(
        answers: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> (SocketAddr, tokio::task::JoinHandle<()>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("it is bound");
        let serving = tokio::spawn(async move {
            let mut asked = [0; 512];
            loop {
                let (length, peer) = socket.recv_from(&mut asked).await.expect("a question");
                for answer in answers(&asked[..length]) {
                    socket.send_to(&answer, peer).await.expect("it is sent");
                }
            }
        });
        (address, serving)
    }

    /// Whoever guesses sends many answers before the true one (RFC 5452).
    #[tokio::test]
    async fn guesses_before_the_answer_are_passed_over() {
        let (address, serving) = server(|asked| {
            let guess = |change: &dyn Fn(&mut Vec<u8>)| {
                let mut guess = answer(asked, [203, 0, 113, 66]);
                change(&mut guess);
                guess
            };
            vec![
                guess(&|it| it[0] ^= 1),
                guess(&|it| it[1] ^= 1),
                // Another name in the question.
                guess(&|it| it[13] = b'x'),
                guess(&|it| it[2] &= 0x7F),
                b"".to_vec(),
                vec![0; 1232],
                answer(asked, [10, 0, 0, 1]),
            ]
        })
        .await;
        let found = ask(&[address], &question()).await.expect("an answer");
        assert_eq!(addresses(&found), ["10.0.0.1"]);
        serving.abort();
    }

    #[tokio::test]
    async fn numbers_of_questions_are_not_to_be_foreseen() {
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let (address, serving) = server(move |asked| {
            tell.send([asked[0], asked[1]]).expect("the test waits");
            vec![coded(asked, 3)]
        })
        .await;
        let mut numbers = std::collections::BTreeSet::new();
        for _ in 0..32 {
            ask(&[address], &question()).await.expect("an answer");
            numbers.insert(told.recv().await.expect("a question"));
        }
        assert!(numbers.len() > 24, "{numbers:?}");
        serving.abort();
    }

    #[tokio::test]
    async fn the_next_server_is_asked_where_one_fails() {
        let (failing, first) = server(|asked| vec![coded(asked, 2)]).await;
        let (well, second) = server(|asked| vec![answer(asked, [10, 0, 0, 1])]).await;
        let found = ask(&[failing, well], &question()).await.expect("an answer");
        assert_eq!(addresses(&found), ["10.0.0.1"]);
        let error = ask(&[failing], &question()).await.expect_err("it fails");
        let said = format!("{failing} answers with code 2: the server failed");
        assert_eq!(error.to_string(), said);
        first.abort();
        second.abort();
    }

    #[tokio::test]
    async fn a_name_that_there_is_not_has_no_records() {
        let (address, serving) = server(|asked| vec![coded(asked, 3)]).await;
        let found = ask(&[address], &question()).await.expect("an answer");
        assert_eq!(found, []);
        serving.abort();
    }

    /// Nobody answers: the wait has its end. The clock is the runtime's.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_given_up() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = silent.local_addr().expect("it is bound");
        let begun = tokio::time::Instant::now();
        let error = ask(&[address], &question()).await.expect_err("silence");
        let said = format!("no answer of {address}: it did not come in time");
        assert_eq!(error.to_string(), said);
        assert_eq!(begun.elapsed().as_secs(), 4);
    }

    #[tokio::test]
    async fn what_has_no_room_in_a_datagram_comes_by_a_stream() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let socket = UdpSocket::bind(address).await.expect("the same port");
        let serving = tokio::spawn(async move {
            let mut asked = [0; 512];
            let (length, peer) = socket.recv_from(&mut asked).await.expect("a question");
            let mut cut = coded(&asked[..length], 0);
            cut[2] |= 0x02;
            socket.send_to(&cut, peer).await.expect("it is sent");
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let length = stream.read_u16().await.expect("a length");
            let mut asked = vec![0; usize::from(length)];
            stream.read_exact(&mut asked).await.expect("a question");
            let answer = answer(&asked, [10, 0, 0, 1]);
            let length = u16::try_from(answer.len()).expect("a length");
            stream.write_u16(length).await.expect("it is sent");
            stream.write_all(&answer).await.expect("it is sent");
        });
        let found = ask(&[address], &question()).await.expect("an answer");
        assert_eq!(addresses(&found), ["10.0.0.1"]);
        serving.await.expect("it was asked so");
    }

    #[test]
    fn the_servers_of_the_system_are_three_at_most() {
        let text = "# nameserver 10.0.0.9\nsearch example.com\nnameserver 10.0.0.1\nnameserver ::1\n\
                    nameserver fe80::1%eth0\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n";
        let found: Vec<String> = servers_in(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.1:53", "[::1]:53", "10.0.0.2:53"]);
        assert_eq!(
            servers_in(""),
            ["127.0.0.1:53".parse().expect("an address")]
        );
    }
}
