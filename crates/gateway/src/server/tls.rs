//! The TLS handshake with a client.
//!
//! The rule kept here: a client that speaks plain HTTP learns why it is not served.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::tls::{Answering, ServerTls};
use crate::config::tls_turns::Turns;

/// What a client gets that speaks HTTP without TLS.
const PLAIN_HTTP: &str = "this port speaks TLS, and the request came as plain HTTP: use https://";

/// Most bytes of a plain request that are read before its connection is closed, so that the client
/// reads the answer.
const DRAINED: u64 = 64 * 1024;

/// The handshakes of a listener.
#[derive(Clone)]
pub struct Handshakes {
    acceptor: TlsAcceptor,
    turns: Turns,
}

impl From<Answering> for Handshakes {
    fn from(answering: Answering) -> Self {
        Self {
            acceptor: TlsAcceptor::from(answering.rules),
            turns: answering.turns,
        }
    }
}

impl Handshakes {
    /// Those of what `[tls]` says, for a listener that speaks HTTP/1.1 alone. No session of another
    /// one is resumed.
    pub fn new(tls: &ServerTls) -> Self {
        let mut rules = rustls::ServerConfig::clone(&tls.answering.rules);
        rules.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self::from(Answering {
            rules: Arc::new(rules),
            turns: tls.answering.turns.clone(),
        })
    }

    /// Shakes hands with a client, which may take as long as it likes. One that speaks plain HTTP
    /// is told so in HTTP.
    ///
    /// # Errors
    /// Why there is no TLS.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let mut first = [0];
        let read = stream.peek(&mut first).await?;
        // A record of TLS begins with its type, 20 to 24; a request begins with a method, which all
        // have capital letters.
        if read == 0 || !first[0].is_ascii_uppercase() {
            return self.turns.take(self.acceptor.accept(stream)).await;
        }
        Err(tell_plain(stream).await?)
    }
}

/// Tells a client in HTTP that TLS is spoken here: the error for us.
async fn tell_plain(mut stream: TcpStream) -> io::Result<io::Error> {
    let length = PLAIN_HTTP.len() + 1;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{PLAIN_HTTP}\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut (&mut stream).take(DRAINED), &mut tokio::io::sink()).await?;
    Ok(io::Error::new(io::ErrorKind::InvalidData, PLAIN_HTTP))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::mpsc;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use rustls::pki_types::CertificateDer;
    use rustls::{ClientConfig, RootCertStore};
    use soapstone::crypto::{
        ExternalKey, ExternalKeyError, Identity, PrivateKey, RsaPadding, SecretBytes,
        SignatureAlgorithm,
    };
    use soapstone_testkit::keys;
    use tokio::net::TcpListener;
    use tokio::runtime::{Builder, Runtime};
    use tokio_rustls::TlsConnector;

    use super::*;

    /// A token that says nothing until it is told to refuse.
    #[derive(Default)]
    struct Silent {
        state: Mutex<Asked>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct Asked {
        now: usize,
        most: usize,
        times: usize,
        refuses: bool,
    }

    impl Silent {
        /// Whether so many ask it before long.
        fn is_asked_by(&self, number: usize) -> bool {
            let state = self.state.lock().unwrap();
            let patience = Duration::from_secs(20);
            let is_missing = |asked: &mut Asked| asked.now < number;
            let waited = self
                .changed
                .wait_timeout_while(state, patience, is_missing)
                .unwrap();
            !waited.1.timed_out()
        }

        fn refuse(&self) {
            self.state.lock().unwrap().refuses = true;
            self.changed.notify_all();
        }
    }

    impl ExternalKey for Silent {
        fn sign(&self, _: SignatureAlgorithm, _: &[u8]) -> Result<Vec<u8>, ExternalKeyError> {
            let mut state = self.state.lock().unwrap();
            state.now += 1;
            state.times += 1;
            state.most = state.most.max(state.now);
            self.changed.notify_all();
            let is_silent = |asked: &mut Asked| !asked.refuses;
            let mut state = self.changed.wait_while(state, is_silent).unwrap();
            state.now -= 1;
            Err(ExternalKeyError::Refused)
        }

        fn decrypt(&self, _: RsaPadding<'_>, _: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
            Err(ExternalKeyError::Refused)
        }

        fn agree(&self, _: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
            Err(ExternalKeyError::Refused)
        }
    }

    /// Handshakes with a key that this token holds, one operation at a time.
    fn handshakes(token: &Arc<Silent>) -> Handshakes {
        let known = keys::identity("CN=localhost", keys::P256);
        let certificate = known.certificate().clone();
        let holder = Arc::clone(token) as Arc<dyn ExternalKey>;
        let key = PrivateKey::external(certificate.public_key().clone(), holder);
        let own = Identity::new(key, certificate, Vec::new()).expect("its own");
        Handshakes::from(Answering::with_held(&own, 1))
    }

    /// Clients that want to shake hands at this address.
    fn clients(runtime: &Runtime, address: SocketAddr, number: usize) {
        let mut roots = RootCertStore::empty();
        let authority = keys::authority(keys::AUTHORITY);
        roots.add_parsable_certificates([CertificateDer::from(authority.certificate().der())]);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("it has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        for _ in 0..number {
            let connector = connector.clone();
            runtime.spawn(async move {
                let stream = TcpStream::connect(address).await.expect("it listens");
                let name = "localhost".try_into().expect("a name");
                let _ = connector.connect(name, stream).await;
            });
        }
    }

    const CLIENTS: usize = 12;

    /// As many threads as a runtime may have: one that works, and two for those that hold one.
    #[test]
    fn handshakes_that_wait_for_a_token_leave_threads_to_others() {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(2)
            .enable_all()
            .build()
            .expect("threads");
        let elsewhere = Builder::new_multi_thread().enable_all().build();
        let elsewhere = elsewhere.expect("threads");
        let token = Arc::<Silent>::default();
        let handshakes = handshakes(&token);
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = runtime.block_on(listening).expect("an address");
        clients(&elsewhere, listener.local_addr().expect("one"), CLIENTS);
        let (ended, is_ended) = mpsc::channel();
        let (begun, are_begun) = mpsc::channel();
        runtime.spawn(async move {
            for _ in 0..CLIENTS {
                let (stream, _) = listener.accept().await.expect("a client");
                let (handshakes, ended) = (handshakes.clone(), ended.clone());
                tokio::spawn(async move {
                    let made = handshakes.accept(stream).await;
                    ended.send(made.is_ok()).expect("it is heard");
                });
            }
            begun.send(()).expect("it is heard");
        });
        // Nothing is judged before the token speaks: the runtime does not end without it.
        let is_asked = token.is_asked_by(2);
        let goes_on = are_begun.recv_timeout(Duration::from_secs(20));
        let (said, is_said) = mpsc::channel();
        runtime.spawn(async move { said.send(()) });
        let others_go_on = is_said.recv_timeout(Duration::from_secs(20));
        token.refuse();
        assert!(is_asked, "two wait for the token");
        goes_on.expect("all clients are accepted meanwhile");
        others_go_on.expect("who has nothing to do with the token goes on");
        for _ in 0..CLIENTS {
            let made = is_ended.recv_timeout(Duration::from_secs(20));
            assert_eq!(made, Ok(false), "the token refuses each");
        }
        let asked = token.state.lock().unwrap();
        assert_eq!((asked.times, asked.most), (CLIENTS, 2));
    }
}
