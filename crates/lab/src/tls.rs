//! A connection under TLS in memory: what its records cost, without a network.
//!
//! The rule kept here: it is established before anything is measured, as connections are that stay
//! open.

use std::io::{Read, Write};
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Curve, KeyKind};

/// Who speaks with whom, and what each believes.
pub(crate) struct Parties {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// Both ends of a connection.
pub(crate) struct Connection {
    client: ClientConnection,
    server: ServerConnection,
    wire: Vec<u8>,
    received: Vec<u8>,
    handshake: usize,
}

impl Parties {
    /// A server with a certificate for a key of this kind, and a client that believes it.
    pub(crate) fn new(kind: KeyKind) -> Self {
        let validity = Validity::days(Timestamp::now(), 2);
        let authority =
            issue::authority("CN=Soapstone Lab CA", kind, validity).expect("an authority");
        let template = Template::new("CN=localhost", validity)
            .expect("a subject")
            .with_alternative_names(["localhost"]);
        let identity = issue::identity(&authority, kind, &template).expect("a certificate");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = vec![CertificateDer::from(identity.certificate().der().to_vec())];
        let key = PrivateKeyDer::try_from(
            identity
                .key()
                .to_pkcs8_der()
                .expect("a key that can be written")
                .expose()
                .to_vec(),
        )
        .expect("a key");
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("they belong together");
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from(authority.certificate().der().to_vec()))
            .expect("a certificate of an authority");
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // Each connection begins with a whole handshake: nothing is remembered of an earlier one.
        client.resumption = rustls::client::Resumption::disabled();
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
        }
    }
}

impl Connection {
    /// Establishes one with TLS 1.3 and certificates of P-256.
    pub(crate) fn new() -> Self {
        Self::between(&Parties::new(KeyKind::Ec(Curve::P256)))
    }

    /// Establishes one with TLS 1.3.
    pub(crate) fn between(parties: &Parties) -> Self {
        let name = ServerName::try_from("localhost").expect("a name");
        let (client, server) = (Arc::clone(&parties.client), Arc::clone(&parties.server));
        let mut connection = Self {
            client: ClientConnection::new(client, name).expect("a client"),
            server: ServerConnection::new(server).expect("a server"),
            wire: Vec::new(),
            received: Vec::new(),
            handshake: 0,
        };
        while connection.client.is_handshaking() || connection.server.is_handshaking() {
            connection.exchange();
        }
        connection
    }

    /// Passes on what both sides have to say.
    fn exchange(&mut self) {
        self.wire.clear();
        while self.client.wants_write() {
            self.client.write_tls(&mut self.wire).expect("memory");
        }
        self.handshake += self.wire.len();
        take(&mut self.wire.as_slice(), |octets| {
            let read = self.server.read_tls(octets);
            self.server.process_new_packets().expect("good records");
            read
        });
        self.wire.clear();
        while self.server.wants_write() {
            self.server.write_tls(&mut self.wire).expect("memory");
        }
        self.handshake += self.wire.len();
        take(&mut self.wire.as_slice(), |octets| {
            let read = self.client.read_tls(octets);
            self.client.process_new_packets().expect("good records");
            read
        });
    }

    /// Bytes that travelled until it was established.
    pub(crate) fn handshake(&self) -> usize {
        self.handshake
    }

    /// Carries bytes from client to server, and says how many travelled.
    pub(crate) fn carry(&mut self, octets: &[u8]) -> usize {
        let mut travelled = 0;
        self.received.clear();
        self.received.resize(octets.len(), 0);
        let mut at = 0;
        // A connection buffers a bounded amount at a time.
        for piece in octets.chunks(16 << 10) {
            self.client.writer().write_all(piece).expect("memory");
            self.wire.clear();
            while self.client.wants_write() {
                self.client.write_tls(&mut self.wire).expect("memory");
            }
            travelled += self.wire.len();
            take(&mut self.wire.as_slice(), |octets| {
                let read = self.server.read_tls(octets);
                self.server.process_new_packets().expect("good records");
                read
            });
            let end = at + piece.len();
            self.server
                .reader()
                .read_exact(&mut self.received[at..end])
                .expect("what was sent");
            at = end;
        }
        travelled
    }
}

/// Has all bytes read.
fn take(octets: &mut &[u8], mut read: impl FnMut(&mut &[u8]) -> std::io::Result<usize>) {
    while !octets.is_empty() {
        read(octets).expect("memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_come_out_as_they_went_in_and_travel_enciphered() {
        let mut connection = Connection::new();
        let octets: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        connection.carry(&octets);
        assert!(connection.received == octets);
        assert!(
            !connection
                .wire
                .windows(64)
                .any(|window| window == &octets[..64])
        );
        connection.carry(b"again");
        assert_eq!(connection.received, b"again");
    }
}
