//! Which servers are believed over TLS: backends, and the stores that nodes share.
//!
//! A server is believed by a path to an authority, as everywhere. It is also believed if the file
//! of authorities holds the very certificate that it shows, which is what `openssl req -x509`
//! makes: one that is self-signed, and says that it is an authority. And it is believed if its
//! certificate is pinned. The rule kept here: its name, its dates and its purposes are checked
//! whenever it is not pinned, and its dates even then.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use soapstone::crypto::{Certificate, KeyPurpose, TrustError};

use crate::tls_revocation::TlsRevocation;

/// Which servers are believed.
#[derive(Debug)]
pub struct ServerTrust {
    /// `None` if there is no authority.
    paths: Option<Arc<WebPkiServerVerifier>>,
    /// The certificates of the file of authorities, which servers may show themselves.
    named: Vec<CertificateDer<'static>>,
    pinned: Vec<CertificateDer<'static>>,
    /// What is asked about revocation; nobody where there is nothing.
    revocation: Option<Arc<TlsRevocation>>,
    provider: Arc<CryptoProvider>,
}

impl ServerTrust {
    /// Servers under these authorities, which are named in a file.
    ///
    /// # Errors
    ///
    /// What is wrong with one of them.
    pub fn named(
        provider: &Arc<CryptoProvider>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for authority in &authorities {
            roots
                .add(authority.clone())
                .map_err(|error| format!("an authority cannot be used: {error}"))?;
        }
        Self::under(provider, roots, authorities)
    }

    /// Servers under the system's authorities. A system without authorities trusts no server;
    /// connecting then says so.
    ///
    /// # Errors
    ///
    /// If the TLS library takes none of them.
    pub fn of_the_system(provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Self::under(provider, roots, Vec::new())
    }

    /// Servers with these very certificates, and no others.
    #[must_use]
    pub fn pinned(
        provider: &Arc<CryptoProvider>,
        certificates: Vec<CertificateDer<'static>>,
    ) -> Self {
        Self {
            paths: None,
            named: Vec::new(),
            pinned: certificates,
            revocation: None,
            provider: Arc::clone(provider),
        }
    }

    /// Believes servers with these very certificates, too.
    #[must_use]
    pub fn or_pinned(mut self, certificates: Vec<CertificateDer<'static>>) -> Self {
        self.pinned.extend(certificates);
        self
    }

    /// Asks whether servers' certificates were revoked, too. Sessions must not be resumed then: a
    /// resumed one shows no certificate.
    #[must_use]
    pub fn asking(mut self, revocation: Option<Arc<TlsRevocation>>) -> Self {
        self.revocation = revocation;
        self
    }

    fn under(
        provider: &Arc<CryptoProvider>,
        roots: RootCertStore,
        named: Vec<CertificateDer<'static>>,
    ) -> Result<Self, String> {
        let paths = if roots.is_empty() {
            None
        } else {
            let builder =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
            Some(builder.build().map_err(|error| error.to_string())?)
        };
        Ok(Self {
            paths,
            named,
            pinned: Vec::new(),
            revocation: None,
            provider: Arc::clone(provider),
        })
    }
}

impl ServerTrust {
    /// Whether a server is believed, whatever was revoked.
    fn believe(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pinned.contains(server) {
            check_dates(&read(server)?, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        if self.named.contains(server) {
            check_named(server, "serverAuth", now)?;
            verify_server_name(&ParsedCertificate::try_from(server)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        if let Ok(certificate) = Certificate::from_der(server)
            && certificate.is_authority()
        {
            return Err(refused(Unsuitable::Authority {
                subject: certificate.subject_name().to_string(),
            }));
        }
        match &self.paths {
            Some(paths) => {
                paths.verify_server_cert(server, intermediates, name, ocsp_response, now)
            }
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }
}

impl ServerCertVerifier for ServerTrust {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let believed = self.believe(server, intermediates, name, ocsp_response, now)?;
        if let Some(revocation) = &self.revocation {
            revocation.check(server, intermediates, ocsp_response, now)?;
        }
        Ok(believed)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Checks a certificate that a file of authorities holds, and that its owner shows: its dates, and
/// that it is for such a purpose, as RFC 5280 calls it in 4.2.1.12, if it names any.
///
/// # Errors
///
/// What it is not good for.
pub fn check_named(
    shown: &CertificateDer<'_>,
    purpose: &str,
    now: UnixTime,
) -> Result<(), rustls::Error> {
    let certificate = read(shown)?;
    check_dates(&certificate, now)?;
    let serves = |known: &KeyPurpose| known.is_any() || known.to_string() == purpose;
    match certificate.extended_key_usage() {
        Some(usage) if !usage.purposes.iter().any(serves) => {
            Err(CertificateError::InvalidPurpose.into())
        }
        _ => Ok(()),
    }
}

fn read(server: &CertificateDer<'_>) -> Result<Certificate, rustls::Error> {
    Certificate::from_der(server).map_err(|_| CertificateError::BadEncoding.into())
}

fn check_dates(certificate: &Certificate, now: UnixTime) -> Result<(), rustls::Error> {
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < certificate.not_before().as_second() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > certificate.not_after().as_second() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

/// What the TLS library has no words for.
#[derive(Debug)]
enum Unsuitable {
    Authority { subject: String },
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authority { subject } => write!(
                out,
                "its certificate (`{subject}`) is that of an authority: name that certificate itself in `ca`, or pin it"
            ),
        }
    }
}

impl Error for Unsuitable {}

fn refused(why: Unsuitable) -> rustls::Error {
    CertificateError::Other(OtherError(Arc::new(why))).into()
}

/// Why there is no connection, in words for operators: those of the TLS library are names of its
/// types where a certificate is refused.
#[must_use]
pub fn describe(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let Some(rustls::Error::InvalidCertificate(refused)) = inner else {
        return error.to_string();
    };
    match refused {
        CertificateError::Other(OtherError(why))
            if why.is::<Unsuitable>() || why.is::<TrustError>() =>
        {
            why.to_string()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is issued by no authority that is trusted, and is not pinned"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate is expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is for other purposes than servers (extended key usage)".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate is for another name ({refused})")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use soapstone::crypto::issue::{self, Template, Validity};
    use soapstone::crypto::{Identity, PrivateKey};
    use soapstone_testkit::keys::P256;
    use soapstone_testkit::moment;

    const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
    const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

    fn now() -> jiff::Timestamp {
        moment("2026-11-25T12:00:00Z")
    }

    /// A self-signed authority for `localhost`, as `openssl req -x509` makes it, valid for 30 days;
    /// `purpose` is an extended key usage.
    fn self_signed(purpose: Option<&[u8]>) -> Identity {
        let mut template = Template::new("CN=backend", Validity::days(now(), 30))
            .unwrap()
            .with_alternative_names(["localhost"])
            .for_authority();
        if let Some(oid) = purpose {
            let length = oid.len() as u8;
            let list = [&[0x30, length + 2, 6, length], oid].concat();
            template = template.with_extension(&[0x55, 0x1d, 37], false, &list);
        }
        let key = PrivateKey::generate(P256).unwrap();
        issue::self_signed(key, &template).unwrap()
    }

    fn der(identity: &Identity) -> CertificateDer<'static> {
        CertificateDer::from(identity.certificate().der().to_vec())
    }

    fn provider() -> Arc<CryptoProvider> {
        Arc::new(rustls::crypto::aws_lc_rs::default_provider())
    }

    /// What an operator reads of a server that shows this certificate, so many days from now.
    fn outcome(trust: &ServerTrust, server: &Identity, name: &str, days: i64) -> String {
        let moment = now().as_second() + days * 86_400;
        let moment = UnixTime::since_unix_epoch(std::time::Duration::from_secs(moment as u64));
        let name = ServerName::try_from(name).unwrap();
        match trust.verify_server_cert(&der(server), &[], &name, &[], moment) {
            Ok(_) => "believed".to_owned(),
            Err(error) => describe(&io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    #[test]
    fn a_self_signed_certificate_that_is_named_is_checked_as_any_other() {
        let own = self_signed(None);
        let trust = |one: &Identity| ServerTrust::named(&provider(), vec![der(one)]).unwrap();
        assert_eq!(outcome(&trust(&own), &own, "localhost", 0), "believed");
        let other_name = outcome(&trust(&own), &own, "elsewhere", 0);
        assert!(
            other_name.starts_with("its certificate is for another name ("),
            "{other_name}"
        );
        assert_eq!(
            outcome(&trust(&own), &own, "localhost", 31),
            "its certificate is expired"
        );
        assert_eq!(
            outcome(&trust(&own), &own, "localhost", -1),
            "its certificate is not valid yet"
        );
        let for_clients = self_signed(Some(CLIENT_AUTH));
        assert_eq!(
            outcome(&trust(&for_clients), &for_clients, "localhost", 0),
            "its certificate is for other purposes than servers (extended key usage)"
        );
        let for_servers = self_signed(Some(SERVER_AUTH));
        assert_eq!(
            outcome(&trust(&for_servers), &for_servers, "localhost", 0),
            "believed"
        );
        assert_eq!(
            outcome(&trust(&own), &for_servers, "localhost", 0),
            "its certificate (`CN=backend`) is that of an authority: name that certificate itself in `ca`, or pin it"
        );
    }

    #[test]
    fn a_pinned_certificate_is_believed_under_any_name_as_long_as_it_is_valid() {
        let (own, other) = (self_signed(Some(CLIENT_AUTH)), self_signed(None));
        let trust = ServerTrust::pinned(&provider(), vec![der(&own)]);
        assert_eq!(outcome(&trust, &own, "elsewhere", 0), "believed");
        assert_eq!(
            outcome(&trust, &own, "localhost", 31),
            "its certificate is expired"
        );
        assert!(outcome(&trust, &other, "localhost", 0).contains("is that of an authority"));
        let authority = issue::authority("CN=ca", P256, Validity::days(now(), 30)).unwrap();
        let template = Template::new("CN=leaf", Validity::days(now(), 30)).unwrap();
        let leaf = issue::identity(&authority, P256, &template).unwrap();
        assert_eq!(
            outcome(&trust, &leaf, "localhost", 0),
            "its certificate is issued by no authority that is trusted, and is not pinned"
        );
        let trust = ServerTrust::named(&provider(), vec![der(&authority)])
            .unwrap()
            .or_pinned(vec![der(&other)]);
        assert_eq!(outcome(&trust, &other, "elsewhere", 0), "believed");
    }
}
