//! Which clients are believed by their certificates over TLS.
//!
//! A client is believed by a path to an authority of `client_ca`, and also if that holds the very
//! certificate that the client shows, which is what `openssl req -x509` makes: one that is
//! self-signed, and says that it is an authority. The same is believed of backends
//! (`soapstone_store::server_trust`). The rule kept here: a client proves its key, and its dates
//! and purposes are checked either way; where revocation is asked about, that is checked last.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use soapstone_store::server_trust::check_named;
use soapstone_store::tls_revocation::TlsRevocation;

/// Which clients are believed.
#[derive(Debug)]
pub(crate) struct ClientTrust {
    paths: Arc<dyn ClientCertVerifier>,
    /// The certificates of `client_ca`, which clients may show themselves.
    named: Vec<CertificateDer<'static>>,
    /// What is asked about revocation; nobody where there is nothing.
    revocation: Option<Arc<TlsRevocation>>,
}

impl ClientTrust {
    /// Clients under authorities, and those that show one of the authorities' certificates.
    pub(crate) fn new(
        paths: Arc<dyn ClientCertVerifier>,
        named: Vec<CertificateDer<'static>>,
        revocation: Option<Arc<TlsRevocation>>,
    ) -> Self {
        Self {
            paths,
            named,
            revocation,
        }
    }

    /// The certificates of `client_ca`.
    pub(crate) fn authorities(&self) -> &[CertificateDer<'static>] {
        &self.named
    }
}

impl ClientCertVerifier for ClientTrust {
    fn offer_client_auth(&self) -> bool {
        self.paths.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.paths.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.paths.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        client: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = if self.named.contains(client) {
            check_named(client, "clientAuth", now)?;
            ClientCertVerified::assertion()
        } else {
            self.paths.verify_client_cert(client, intermediates, now)?
        };
        if let Some(revocation) = &self.revocation {
            // A client staples nothing: the server never asks it to.
            revocation.check(client, intermediates, &[], now)?;
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.paths
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.paths
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.paths.supported_verify_schemes()
    }
}
