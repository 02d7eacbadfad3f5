//! A connection under TLS in memory: what its records cost, without a network.
//!
//! The rule kept here: it is established before anything is measured, as connections are that stay open.

use std::io::{Read, Write};
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Curve, KeyKind};

/// Both ends.
pub(super) struct Connection {
    client: ClientConnection,
    server: ServerConnection,
    wire: Vec<u8>,
    received: Vec<u8>,
}

impl Connection {
    /// Establishes one with TLS 1.3 and certificates of P-256.
    pub(super) fn new() -> Self {
        let kind = KeyKind::Ec(Curve::P256);
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
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        let mut connection = Self {
            client: ClientConnection::new(Arc::new(client), name).expect("a client"),
            server: ServerConnection::new(Arc::new(server)).expect("a server"),
            wire: Vec::new(),
            received: Vec::new(),
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
        take(&mut self.wire.as_slice(), |octets| {
            let read = self.server.read_tls(octets);
            self.server.process_new_packets().expect("good records");
            read
        });
        self.wire.clear();
        while self.server.wants_write() {
            self.server.write_tls(&mut self.wire).expect("memory");
        }
        take(&mut self.wire.as_slice(), |octets| {
            let read = self.client.read_tls(octets);
            self.client.process_new_packets().expect("good records");
            read
        });
    }

    /// Carries octets from client to server.
    pub(super) fn carry(&mut self, octets: &[u8]) {
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
    }
}

/// Has all octets read.
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
