//! Who we are in TLS: a certificate with its chain, and what signs handshakes for it.
//!
//! The rule kept here: a key in a token signs by the algorithms that it has shown to have. Why it
//! does not sign goes to our log, and to no peer.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{Error, SignatureScheme};
use soapstone::config::{Document, LoadedFile, Problem, TlsKey, TokenKeyConfig};
use soapstone::crypto::{
    Certificate, CryptoError, Curve, KeyKind, PrivateKey, SignatureAlgorithm, random,
};
use soapstone::endpoint::{ExpiringFile, MaterialUse, token_key};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::tls_turns::Turns;

/// What whoever connects, or is connected to, is shown.
pub(super) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: Key,
    /// Whose turn it is to have handshakes signed.
    pub(super) turns: Turns,
    /// The certificates, with their ends.
    pub(super) certificates: Vec<ExpiringFile>,
}

/// What signs handshakes.
enum Key {
    File(PrivateKeyDer<'static>),
    Token(HeldKey),
}

impl Identity {
    /// Reads `certificate`, and `key` or `pkcs11`. `None` when one is not there, or is wrong, which
    /// is reported.
    pub(super) fn read(
        document: &Document<'_>,
        certificate: Option<LoadedFile>,
        key: Option<TlsKey>,
    ) -> Option<Self> {
        let path = certificate.as_ref().map(|file| file.path.clone());
        let chain = certificate.and_then(|file| certificates(document, &file));
        let turns = match &key {
            Some(TlsKey::Token(token)) => Turns::of_token(token.sessions_at_once()),
            _ => Turns::default(),
        };
        let key = match key {
            Some(TlsKey::File(file)) => from_file(document, &file).map(Key::File),
            Some(TlsKey::Token(token)) => {
                let own = chain.as_ref().and_then(|chain| chain.first());
                own.and_then(|own| from_token(document, &token, own))
                    .map(Key::Token)
            }
            None => None,
        };
        let (path, chain) = (path?, chain?);
        // One that is not understood here is TLS's affair alone.
        let readable = chain
            .iter()
            .filter_map(|der| Certificate::from_der(der).ok());
        let certificates = readable
            .map(|certificate| ExpiringFile::certificate(MaterialUse::Tls, &path, &certificate))
            .collect();
        Some(Self {
            chain,
            key: key?,
            turns,
            certificates,
        })
    }

    /// What TLS takes of it. The error is one of a key in a file that cannot be used, or is not
    /// that of the certificate; a token has proven that.
    pub(super) fn certified(
        self,
        provider: &CryptoProvider,
    ) -> Result<Arc<SingleCertAndKey>, Error> {
        let certified = match self.key {
            Key::File(key) => CertifiedKey::from_der(self.chain, key, provider)?,
            Key::Token(key) => CertifiedKey::new(self.chain, Arc::new(key)),
        };
        Ok(Arc::new(SingleCertAndKey::from(certified)))
    }
}

/// The certificates of a file, one at least. What is wrong is reported.
pub(super) fn certificates(
    document: &Document<'_>,
    file: &LoadedFile,
) -> Option<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(file.bytes.expose()).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Some(certificates),
        _ => {
            let message = format!(
                "expected certificates in PEM, and {} has none",
                file.path.display()
            );
            document.report(Problem::new(document.file(), file.place, message));
            None
        }
    }
}

fn from_file(document: &Document<'_>, file: &LoadedFile) -> Option<PrivateKeyDer<'static>> {
    let read = PrivateKeyDer::from_pem_slice(file.bytes.expose());
    let told = |_| {
        let message = format!(
            "`key` must be a private key in PEM without a password, and {} is not",
            file.path.display()
        );
        let problem = Problem::new(document.file(), file.place, message);
        document.report(problem.with_hint("openssl pkey -in KEY -out NEWKEY writes one"));
    };
    read.map_err(told).ok()
}

fn from_token(
    document: &Document<'_>,
    token: &TokenKeyConfig,
    certificate: &CertificateDer<'_>,
) -> Option<HeldKey> {
    let report = |message: String, hint: Option<&str>| {
        let problem = Problem::new(document.file(), token.place, message);
        document.report(match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        });
    };
    let certificate = Certificate::from_der(certificate)
        .map_err(|error| report(format!("the certificate cannot be read: {error}"), None))
        .ok()?;
    let key = token_key(token, &certificate)
        .map_err(|problem| report(problem.message, problem.hint))
        .ok()?;
    HeldKey::new(key)
        .map_err(|error| {
            let hint = "keys for TLS are RSA, P-256, P-384 and P-521; a token with an RSA key needs RSA-PSS (CKM_RSA_PKCS_PSS)";
            report(format!("the key in the token signs no handshake of TLS 1.3: {error}"), Some(hint));
        })
        .ok()
}

/// A way to sign a handshake.
type Way = (SignatureScheme, SignatureAlgorithm);

/// Ways of RSA, the preferred first. Those of PKCS #1 v1.5 are of TLS 1.2 alone (RFC 8446, 4.2.3).
const RSA: [Way; 6] = [
    (
        SignatureScheme::RSA_PSS_SHA256,
        SignatureAlgorithm::RsaPssSha256,
    ),
    (
        SignatureScheme::RSA_PSS_SHA384,
        SignatureAlgorithm::RsaPssSha384,
    ),
    (
        SignatureScheme::RSA_PSS_SHA512,
        SignatureAlgorithm::RsaPssSha512,
    ),
    (
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureAlgorithm::RsaSha256,
    ),
    (
        SignatureScheme::RSA_PKCS1_SHA384,
        SignatureAlgorithm::RsaSha384,
    ),
    (
        SignatureScheme::RSA_PKCS1_SHA512,
        SignatureAlgorithm::RsaSha512,
    ),
];

/// The ways of a kind of key: a curve has one digest (RFC 8446, 4.2.3).
fn ways(kind: KeyKind) -> &'static [Way] {
    match kind {
        KeyKind::Rsa { .. } => &RSA,
        KeyKind::Ec(Curve::P256) => &[(
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureAlgorithm::EcdsaSha256,
        )],
        KeyKind::Ec(Curve::P384) => &[(
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureAlgorithm::EcdsaSha384,
        )],
        KeyKind::Ec(Curve::P521) => &[(
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureAlgorithm::EcdsaSha512,
        )],
        _ => &[],
    }
}

/// Whether handshakes of TLS 1.3 are signed in this way.
fn is_of_tls13(scheme: SignatureScheme) -> bool {
    !matches!(
        scheme,
        SignatureScheme::RSA_PKCS1_SHA256
            | SignatureScheme::RSA_PKCS1_SHA384
            | SignatureScheme::RSA_PKCS1_SHA512
    )
}

/// The pause between two warnings that a token signs nothing.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// What a token did not sign. Strangers decide how often it is asked, and not how much is logged.
#[derive(Debug, Default)]
struct Refusals {
    told: Option<Instant>,
    untold: u64,
}

impl Refusals {
    /// Counts one. The number of those before that were not told, where this one is to be told.
    fn tell(&mut self, now: Instant) -> Option<u64> {
        if let Some(told) = self.told
            && now.duration_since(told) < TOLD_EVERY
        {
            self.untold += 1;
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

/// A private key of TLS that is held elsewhere.
struct HeldKey {
    key: PrivateKey,
    ways: Vec<Way>,
    refusals: Arc<Mutex<Refusals>>,
}

impl HeldKey {
    /// A key, with the ways in which it signs: each is tried once. The error is that of the first
    /// one, where none is of TLS 1.3.
    fn new(key: PrivateKey) -> Result<Self, CryptoError> {
        let kind = key.kind();
        let message: [u8; 32] = random::bytes();
        let (mut signing, mut failed) = (Vec::new(), None);
        for way in ways(kind) {
            match key.sign(way.1, &message) {
                Ok(_) => signing.push(*way),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if signing.iter().any(|(scheme, _)| is_of_tls13(*scheme)) {
            return Ok(Self::signing(key, signing));
        }
        Err(failed.unwrap_or(CryptoError::WrongKey {
            operation: "a handshake of TLS",
            key: kind,
        }))
    }

    fn signing(key: PrivateKey, ways: Vec<Way>) -> Self {
        Self {
            key,
            ways,
            refusals: Arc::default(),
        }
    }
}

impl fmt::Debug for HeldKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HeldKey({})", self.key.kind())
    }
}

impl SigningKey for HeldKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let mut ways = self.ways.iter();
        let (scheme, algorithm) = ways.find(|(scheme, _)| offered.contains(scheme))?;
        Some(Box::new(HeldSigner {
            key: self.key.clone(),
            scheme: *scheme,
            algorithm: *algorithm,
            refusals: Arc::clone(&self.refusals),
        }))
    }

    fn algorithm(&self) -> rustls::SignatureAlgorithm {
        match self.key.kind() {
            KeyKind::Rsa { .. } => rustls::SignatureAlgorithm::RSA,
            _ => rustls::SignatureAlgorithm::ECDSA,
        }
    }
}

/// What signs one handshake.
struct HeldSigner {
    key: PrivateKey,
    scheme: SignatureScheme,
    algorithm: SignatureAlgorithm,
    refusals: Arc<Mutex<Refusals>>,
}

impl fmt::Debug for HeldSigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HeldSigner({:?})", self.scheme)
    }
}

impl Signer for HeldSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let sign = || self.key.sign_for_x509(self.algorithm, message);
        // A token takes its time, and other connections of this thread go on meanwhile. Only a
        // runtime of several threads can hand them on. `Turns` keep threads for it.
        let hands_on = Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        let signed = match hands_on {
            true => tokio::task::block_in_place(sign),
            false => sign(),
        };
        signed.map_err(|error| {
            let refusals = self.refusals.lock();
            let mut refusals = refusals.unwrap_or_else(PoisonError::into_inner);
            if let Some(untold) = refusals.tell(Instant::now()) {
                tracing::warn!(%error, untold, "a private key in a token signed no TLS handshake");
            }
            Error::General("the private key cannot be used now".to_owned())
        })
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

#[cfg(test)]
impl Identity {
    /// One whose key somebody holds who does so many operations at once. Nothing is tried.
    pub(super) fn held(own: &soapstone::crypto::Identity, sessions: usize) -> Self {
        let key = own.key().clone();
        let ways = ways(key.kind()).to_vec();
        Self {
            chain: vec![CertificateDer::from(own.certificate().der().to_vec())],
            key: Key::Token(HeldKey::signing(key, ways)),
            turns: Turns::of_token(sessions),
            certificates: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustls::server::WebPkiClientVerifier;
    use rustls::version::{TLS12, TLS13};
    use rustls::{
        ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
        SupportedProtocolVersion,
    };
    use soapstone_testkit::keys::{self, P256, RSA};

    use super::*;

    fn provider() -> Arc<CryptoProvider> {
        Arc::new(rustls::crypto::aws_lc_rs::default_provider())
    }

    fn roots() -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let authority = keys::authority(keys::AUTHORITY);
        roots.add_parsable_certificates([CertificateDer::from(authority.certificate().der())]);
        Arc::new(roots)
    }

    /// What TLS is shown of an identity whose key is held elsewhere, as far as TLS can tell.
    fn shown(identity: &soapstone::crypto::Identity) -> Arc<SingleCertAndKey> {
        let key = HeldKey::new(identity.key().clone()).expect("it signs");
        let identity = Identity {
            key: Key::Token(key),
            ..Identity::held(identity, 1)
        };
        identity.certified(&provider()).expect("it can be used")
    }

    /// Both ends of a handshake, each with a key of this kind.
    fn shake_hands(
        kind: KeyKind,
        version: &'static SupportedProtocolVersion,
    ) -> Result<(ClientConnection, ServerConnection), Error> {
        let verifier = WebPkiClientVerifier::builder_with_provider(roots(), provider());
        let server = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[version])?
            .with_client_cert_verifier(verifier.build().expect("it has roots"))
            .with_cert_resolver(shown(&keys::identity("CN=localhost", kind)));
        let client = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[version])?
            .with_root_certificates(roots())
            .with_client_cert_resolver(shown(&keys::identity("CN=client", kind)));
        let name = "localhost".try_into().expect("a name");
        let mut client = ClientConnection::new(Arc::new(client), name)?;
        let mut server = ServerConnection::new(Arc::new(server))?;
        while client.is_handshaking() || server.is_handshaking() {
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).expect("a vector takes it");
            let mut sent = &bytes[..];
            while !sent.is_empty() {
                server.read_tls(&mut sent).expect("a slice gives it");
                server.process_new_packets()?;
            }
            bytes.clear();
            server.write_tls(&mut bytes).expect("a vector takes it");
            let mut sent = &bytes[..];
            while !sent.is_empty() {
                client.read_tls(&mut sent).expect("a slice gives it");
                client.process_new_packets()?;
            }
        }
        Ok((client, server))
    }

    #[test]
    fn held_keys_of_each_kind_sign_for_both_ends_in_both_versions() {
        for kind in [
            RSA,
            P256,
            KeyKind::Ec(Curve::P384),
            KeyKind::Ec(Curve::P521),
        ] {
            for version in [&TLS12, &TLS13] {
                let (client, server) = shake_hands(kind, version)
                    .unwrap_or_else(|error| panic!("{kind} {version:?}: {error}"));
                assert_eq!(client.protocol_version(), Some(version.version));
                assert!(client.peer_certificates().is_some());
                assert!(server.peer_certificates().is_some(), "{kind} {version:?}");
            }
        }
    }

    #[test]
    fn strangers_do_not_decide_how_often_a_refusal_is_told() {
        let (mut refusals, begun) = (Refusals::default(), Instant::now());
        assert_eq!(refusals.tell(begun), Some(0));
        for _ in 0..1000 {
            assert_eq!(refusals.tell(begun), None);
        }
        assert_eq!(refusals.tell(begun + TOLD_EVERY), Some(1000));
        assert_eq!(refusals.tell(begun + TOLD_EVERY), None);
    }

    #[test]
    fn a_key_that_signs_no_handshake_is_no_key_of_tls() {
        for kind in [KeyKind::X25519, KeyKind::Ec(Curve::Brainpool256)] {
            let key = PrivateKey::generate(kind).expect("a key");
            assert_eq!(
                HeldKey::new(key).map(drop),
                Err(CryptoError::WrongKey {
                    operation: "a handshake of TLS",
                    key: kind
                })
            );
        }
    }
}
