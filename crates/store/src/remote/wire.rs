//! The way to one server, in TCP or TLS: commands go out, answers come back.
//!
//! The client library bounds each piece that it reads by a time, and its connections with it: a
//! server that sends one byte now and then would be waited for without end, and one that never
//! stops would fill the memory.
//!
//! The rule kept here: whatever a server sends, and however slowly, an exchange ends by its
//! deadline and holds so many bytes at most. A token that signs the handshake has its timeout once
//! more.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Parser, RedisError, RedisResult, Value};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use soapstone::config::{ServerAddress, StoreTlsConfig, TlsKey, TokenKeyConfig};
use soapstone::crypto::{Certificate, CryptoError};
use soapstone::endpoint::token_key;

use super::names::Names;
use crate::held_key::{HINT, HeldKey, Within};
use crate::server_trust::ServerTrust;

/// Most bytes of the answers of one exchange. A sealed context has some 2 kB; the longest answer
/// is that to `CLUSTER SLOTS`, 200 bytes for each range of slots, of which there are a few in a
/// cluster, and 16,384 at most.
const MOST_OCTETS: usize = 4 << 20;

/// A connection.
pub(super) struct Wire {
    stream: Stream,
    parser: Parser,
}

enum Stream {
    Plain(Bounded),
    Tls(Box<StreamOwned<ClientConnection, Bounded>>),
}

/// A socket during one exchange.
struct Bounded {
    socket: TcpStream,
    deadline: Instant,
    /// How many bytes may still arrive.
    left: usize,
}

impl Wire {
    pub(super) fn connect(
        address: &ServerAddress,
        names: &Names,
        tls: Option<&Arc<ClientConfig>>,
        deadline: Instant,
    ) -> RedisResult<Self> {
        let mut problem = Error::from(ErrorKind::NotFound);
        for place in names.places(address, deadline)? {
            match TcpStream::connect_timeout(&place, remaining(deadline)?) {
                Ok(socket) => return Self::over(socket, address, tls, deadline),
                Err(error) => problem = error,
            }
        }
        Err(problem.into())
    }

    fn over(
        socket: TcpStream,
        address: &ServerAddress,
        tls: Option<&Arc<ClientConfig>>,
        deadline: Instant,
    ) -> RedisResult<Self> {
        socket.set_nodelay(true)?;
        let socket = Bounded {
            socket,
            deadline,
            left: MOST_OCTETS,
        };
        let stream = match tls {
            None => Stream::Plain(socket),
            Some(config) => {
                let name = ServerName::try_from(address.host.clone()).map_err(Error::other)?;
                let connection =
                    ClientConnection::new(Arc::clone(config), name).map_err(Error::other)?;
                Stream::Tls(Box::new(StreamOwned::new(connection, socket)))
            }
        };
        Ok(Self {
            stream,
            parser: Parser::new(),
        })
    }

    /// Sends commands and reads as many answers; with an error, how many came before it. A server's
    /// error is an answer.
    pub(super) fn converse(
        &mut self,
        packed: &[u8],
        count: usize,
        deadline: Instant,
    ) -> Result<Vec<Value>, (RedisError, usize)> {
        let bounded = match &mut self.stream {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => stream.get_mut(),
        };
        bounded.deadline = deadline;
        bounded.left = MOST_OCTETS;
        let sent = match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(packed),
            Stream::Tls(stream) => stream.write_all(packed).and_then(|()| stream.flush()),
        };
        sent.map_err(|error| (error.into(), 0))?;
        (0..count)
            .map(|answers| self.answer().map_err(|error| (error, answers)))
            .collect()
    }

    fn answer(&mut self) -> RedisResult<Value> {
        match &mut self.stream {
            Stream::Plain(socket) => self.parser.parse_value(socket),
            Stream::Tls(stream) => self.parser.parse_value(stream.as_mut()),
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, octets: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let problem = format!("more than {MOST_OCTETS} bytes in its answers");
            return Err(Error::new(ErrorKind::InvalidData, problem));
        }
        let most = octets.len().min(self.left);
        self.socket
            .set_read_timeout(Some(remaining(self.deadline)?))?;
        let read = self.socket.read(&mut octets[..most])?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Bounded {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.socket
            .set_write_timeout(Some(remaining(self.deadline)?))?;
        self.socket.write(octets)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.socket.flush()
    }
}

/// How long there is until the deadline.
fn remaining(deadline: Instant) -> std::io::Result<Duration> {
    deadline
        .checked_duration_since(Instant::now())
        .filter(|remaining| !remaining.is_zero())
        .ok_or_else(|| ErrorKind::TimedOut.into())
}

/// Whom to trust, and who we are. A token signs a handshake within `timeout`.
///
/// # Errors
///
/// What is wrong with the certificates or the key.
pub(super) fn tls_config(tls: &StoreTlsConfig, timeout: Duration) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut authorities = Vec::new();
    for file in &tls.ca {
        authorities.extend(certificates(file.bytes.expose())?);
    }
    let trust = if authorities.is_empty() {
        ServerTrust::of_the_system(&provider)?
    } else {
        ServerTrust::named(&provider, authorities)?
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let Some((certificate, key)) = &tls.identity else {
        return Ok(config.with_no_client_auth());
    };
    let chain = certificates(certificate.bytes.expose())?;
    let key = match key {
        TlsKey::File(file) => PrivateKeyDer::from_pem_slice(file.bytes.expose())
            .map_err(|error| format!("the private key cannot be read: {error}"))?,
        TlsKey::Token(token) => {
            let key = held(token, &chain, timeout)?;
            let shown = SingleCertAndKey::from(CertifiedKey::new(chain, Arc::new(key)));
            return Ok(config.with_client_cert_resolver(Arc::new(shown)));
        }
    };
    config
        .with_client_auth_cert(chain, key)
        .map_err(|error| format!("the certificate and its key cannot be used: {error}"))
}

/// The key of our certificate, in a token.
fn held(
    token: &TokenKeyConfig,
    chain: &[CertificateDer<'_>],
    timeout: Duration,
) -> Result<HeldKey, String> {
    let unread = |error: CryptoError| format!("a certificate cannot be read: {error}");
    let own = chain.first().map(|der| Certificate::from_der(der));
    let own = own.transpose().map_err(unread)?;
    let own = own.ok_or("expected certificates in PEM, found none")?;
    let key = token_key(token, &own).map_err(|problem| match problem.hint {
        Some(hint) => format!("{}\n  hint: {hint}", problem.message),
        None => problem.message,
    })?;
    HeldKey::new(key, Within(timeout)).map_err(|error| format!("{error}\n  hint: {HINT}"))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err("expected certificates in PEM, found none".to_owned()),
        Err(error) => Err(format!("a certificate cannot be read: {error}")),
    }
}
