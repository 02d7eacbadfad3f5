//! A private key of TLS that is held elsewhere, in a token for example.
//!
//! The rule kept here: a key signs by the algorithms that it has shown to have. Why it does not
//! sign is for our side alone, and no peer is told.

use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureScheme};
use soapstone::crypto::{CryptoError, Curve, KeyKind, PrivateKey, SignatureAlgorithm, random};

/// What to do about a key that signs no handshakes.
pub const HINT: &str = "keys for TLS are RSA, P-256, P-384, P-521 and Ed25519; a token with an RSA key needs RSA-PSS (CKM_RSA_PKCS_PSS)";

/// One signature of a handshake.
pub type Signing = Box<dyn FnOnce() -> Result<Vec<u8>, CryptoError> + Send>;

/// How handshakes are signed, while the holder of the key takes its time.
pub trait Handshakes: fmt::Debug + Send + Sync {
    /// Has a handshake signed.
    ///
    /// # Errors
    /// Those of the signature, and that it takes too long.
    fn sign(&self, signing: Signing) -> Result<Vec<u8>, CryptoError>;
}

/// Handshakes of threads that wait so long for a signature, and no longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within(pub(crate) Duration);

impl Handshakes for Within {
    fn sign(&self, signing: Signing) -> Result<Vec<u8>, CryptoError> {
        let (answer, answered) = mpsc::sync_channel(1);
        // The holder of the key has bounds of its own, so the thread ends.
        let begun = thread::Builder::new()
            .name("store-handshake".to_owned())
            .spawn(move || answer.send(signing()).ok());
        let unavailable = |reason: String| CryptoError::KeyUnavailable { reason };
        begun.map_err(|error| unavailable(format!("no thread for a signature: {error}")))?;
        let signed = answered.recv_timeout(self.0);
        signed.map_err(|_| unavailable(format!("no signature within {:?}", self.0)))?
    }
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
        // RFC 8446, 4.2.3, and RFC 8422, 5.10, for TLS 1.2.
        KeyKind::Ed25519 => &[(SignatureScheme::ED25519, SignatureAlgorithm::Ed25519)],
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

/// A private key of TLS that is held elsewhere.
pub struct HeldKey {
    key: PrivateKey,
    ways: Vec<Way>,
    handshakes: Arc<dyn Handshakes>,
}

impl HeldKey {
    /// A key, with the ways in which it signs: each is tried once.
    ///
    /// # Errors
    /// That it signs no handshake of TLS 1.3, and why the first way is none.
    pub fn new(key: PrivateKey, handshakes: impl Handshakes + 'static) -> Result<Self, String> {
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
            return Ok(Self {
                ways: signing,
                ..Self::untried(key, handshakes)
            });
        }
        let error = failed.unwrap_or(CryptoError::WrongKey {
            operation: "a handshake of TLS",
            key: kind,
        });
        Err(format!(
            "the key in the token signs no handshake of TLS 1.3: {error}"
        ))
    }

    /// A key that is believed to sign in all the ways of its kind.
    #[must_use]
    pub fn untried(key: PrivateKey, handshakes: impl Handshakes + 'static) -> Self {
        Self {
            ways: ways(key.kind()).to_vec(),
            key,
            handshakes: Arc::new(handshakes),
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
            handshakes: Arc::clone(&self.handshakes),
        }))
    }

    fn algorithm(&self) -> rustls::SignatureAlgorithm {
        match self.key.kind() {
            KeyKind::Rsa { .. } => rustls::SignatureAlgorithm::RSA,
            KeyKind::Ed25519 => rustls::SignatureAlgorithm::ED25519,
            _ => rustls::SignatureAlgorithm::ECDSA,
        }
    }
}

/// What signs one handshake.
struct HeldSigner {
    key: PrivateKey,
    scheme: SignatureScheme,
    algorithm: SignatureAlgorithm,
    handshakes: Arc<dyn Handshakes>,
}

impl fmt::Debug for HeldSigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HeldSigner({:?})", self.scheme)
    }
}

impl Signer for HeldSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let (key, algorithm, message) = (self.key.clone(), self.algorithm, message.to_vec());
        let signing = Box::new(move || key.sign_for_x509(algorithm, &message));
        self.handshakes
            .sign(signing)
            .map_err(|_| Error::General("the private key cannot be used now".to_owned()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::CryptoProvider;
    use rustls::pki_types::CertificateDer;
    use rustls::server::WebPkiClientVerifier;
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    use rustls::version::{TLS12, TLS13};
    use rustls::{
        ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
        SupportedProtocolVersion,
    };
    use soapstone_testkit::keys::{self, P256, RSA};

    use super::*;

    /// Longer than any test takes.
    const LONG: Within = Within(Duration::from_secs(600));

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
        let key = HeldKey::new(identity.key().clone(), LONG).expect("it signs");
        let chain = vec![CertificateDer::from(identity.certificate().der().to_vec())];
        Arc::new(SingleCertAndKey::from(CertifiedKey::new(
            chain,
            Arc::new(key),
        )))
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

    /// A token that hangs holds whoever asks a store no longer than the store may.
    #[test]
    fn a_signature_that_takes_too_long_is_none() {
        let (go_on, held) = mpsc::channel::<()>();
        let signing = Box::new(move || {
            held.recv().ok();
            Ok(Vec::new())
        });
        let told = Within(Duration::from_millis(1)).sign(signing);
        let reason = "no signature within 1ms".to_owned();
        assert_eq!(told, Err(CryptoError::KeyUnavailable { reason }));
        drop(go_on);
    }

    #[test]
    fn held_keys_of_each_kind_sign_for_both_ends_in_both_versions() {
        for kind in [
            RSA,
            P256,
            KeyKind::Ec(Curve::P384),
            KeyKind::Ec(Curve::P521),
            KeyKind::Ed25519,
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
    fn a_key_that_signs_no_handshake_is_no_key_of_tls() {
        for kind in [KeyKind::X25519, KeyKind::Ec(Curve::Brainpool256)] {
            let key = PrivateKey::generate(kind).expect("a key");
            let told = HeldKey::new(key, LONG).map(drop);
            let expected = "the key in the token signs no handshake of TLS 1.3: a handshake of TLS cannot be done with this key";
            let told = told.expect_err("it signs nothing");
            assert!(told.starts_with(expected), "{told}");
        }
    }
}
