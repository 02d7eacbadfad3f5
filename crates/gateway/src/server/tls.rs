//! The TLS handshake with a client.
//!
//! The rule kept here: a client that speaks plain HTTP learns why it is not served.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::tls::ServerTls;

/// What a client gets that speaks HTTP without TLS.
const PLAIN_HTTP: &str = "this port speaks TLS, and the request came as plain HTTP: use https://";

/// Most bytes of a plain request that are read before its connection is closed, so that the client
/// reads the answer.
const DRAINED: u64 = 64 * 1024;

/// The handshakes of a listener that speaks HTTP/1.1 alone.
#[derive(Clone)]
pub struct Handshakes(TlsAcceptor);

impl Handshakes {
    /// Those of what `[tls]` says. No session of another one is resumed.
    pub fn new(tls: &ServerTls) -> Self {
        let mut config = rustls::ServerConfig::clone(&tls.config);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self(TlsAcceptor::from(Arc::new(config)))
    }

    /// Shakes hands with a client, which may take as long as it likes. One that speaks plain HTTP
    /// is told so in HTTP.
    ///
    /// # Errors
    /// Why there is no TLS.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        accept(&self.0, stream).await
    }
}

/// Shakes hands with a client. One that speaks plain HTTP is told so in HTTP.
///
/// # Errors
/// Why there is no TLS.
pub(crate) async fn accept(
    acceptor: &TlsAcceptor,
    mut stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    let read = stream.peek(&mut first).await?;
    // A record of TLS begins with its type, 20 to 24; a request begins with a method, which all
    // have capital letters.
    if read == 0 || !first[0].is_ascii_uppercase() {
        return acceptor.accept(stream).await;
    }
    let length = PLAIN_HTTP.len() + 1;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{PLAIN_HTTP}\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut (&mut stream).take(DRAINED), &mut tokio::io::sink()).await?;
    Err(io::Error::new(io::ErrorKind::InvalidData, PLAIN_HTTP))
}
