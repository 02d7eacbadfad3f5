//! Who we are in TLS: a certificate with its chain, and what signs handshakes for it.
//!
//! The rule kept here: why a key in a token does not sign goes to our log, and to no peer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::Error;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use soapstone::config::{Document, LoadedFile, Problem, TlsKey, TokenKeyConfig};
use soapstone::crypto::{Certificate, CryptoError};
use soapstone::endpoint::{ExpiringFile, MaterialUse, token_key};
use soapstone_store::held_key::{HINT, Handshakes, HeldKey, Signing};
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
    HeldKey::new(key, Told::default())
        .map_err(|error| report(error, Some(HINT)))
        .ok()
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

/// Handshakes whose failures are told in our log.
#[derive(Debug, Default)]
struct Told(Mutex<Refusals>);

impl Handshakes for Told {
    fn sign(&self, signing: Signing) -> Result<Vec<u8>, CryptoError> {
        // A token takes its time, and other connections of this thread go on meanwhile. Only a
        // runtime of several threads can hand them on. `Turns` keep threads for it.
        let hands_on = Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        let signed = match hands_on {
            true => tokio::task::block_in_place(signing),
            false => signing(),
        };
        signed.inspect_err(|error| {
            let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(untold) = refusals.tell(Instant::now()) {
                tracing::warn!(%error, untold, "a private key in a token signed no TLS handshake");
            }
        })
    }
}

#[cfg(test)]
impl Identity {
    /// One whose key somebody holds who does so many operations at once. Nothing is tried.
    pub(super) fn held(own: &soapstone::crypto::Identity, sessions: usize) -> Self {
        let key = HeldKey::untried(own.key().clone(), Told::default());
        Self {
            chain: vec![CertificateDer::from(own.certificate().der().to_vec())],
            key: Key::Token(key),
            turns: Turns::of_token(sessions),
            certificates: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
