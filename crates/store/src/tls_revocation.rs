//! Whether the certificates that peers of TLS show were revoked.
//!
//! It is asked after everything else about a certificate has been decided, by the same rules and
//! from the same cache as about certificates of messages. The rule kept here: a handshake reads
//! what is known and never waits; a certificate about which nobody can be asked is refused where
//! an answer is demanded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, OtherError};
use soapstone::crypto::trust::{OnlineRevocation, RevocationRules};
use soapstone::crypto::{Certificate, TrustRules, TrustStore};

/// How long a connection goes by what was known when its certificates were checked: as long as
/// checks of messages do.
const HOLDS_AT_MOST: Duration = Duration::from_secs(3_600);

/// What was known of revocation when the certificates of a connection were checked. Connections
/// stay open for longer than certificates stay good.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    generation: u64,
    at: Instant,
}

impl Checked {
    /// What is known now. To be taken before the check.
    #[must_use]
    pub fn now(online: &OnlineRevocation) -> Self {
        Self {
            generation: online.generation(),
            at: Instant::now(),
        }
    }

    /// Whether nothing was learnt since that could change the mind of a check.
    #[must_use]
    pub fn still_holds(self, online: &OnlineRevocation) -> bool {
        self.generation == online.generation() && self.at.elapsed() < HOLDS_AT_MOST
    }
}

/// What is asked about the certificates of peers.
#[derive(Debug)]
pub struct TlsRevocation(TrustStore);

impl TlsRevocation {
    /// Asks by these rules about certificates under these authorities, and about those that are
    /// pinned.
    ///
    /// # Errors
    ///
    /// A certificate that cannot be used; or one that is believed as it is, and about which nobody
    /// can be asked though the rules demand an answer.
    pub fn new(
        rules: RevocationRules,
        authorities: &[CertificateDer<'_>],
        pinned: &[CertificateDer<'_>],
    ) -> Result<Self, String> {
        let read = |ders: &[CertificateDer<'_>]| {
            let read = ders.iter().map(|der| Certificate::from_der(der));
            let read: Result<Vec<_>, _> = read.collect();
            read.map_err(|error| error.to_string())
        };
        Self::of(rules, read(authorities)?, read(pinned)?)
    }

    /// Asks by these rules about certificates under the system's authorities.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn under_the_system(rules: RevocationRules) -> Result<Self, String> {
        let found = rustls_native_certs::load_native_certs().certs;
        let found = found
            .iter()
            .filter_map(|der| Certificate::from_der(der).ok());
        // One that cannot be an anchor here is one that no path of TLS leads to either.
        let usable = |one: &Certificate| {
            let mut alone = TrustRules::default();
            alone.anchors = vec![one.clone()];
            TrustStore::new(alone).is_ok()
        };
        Self::of(rules, found.filter(usable).collect(), Vec::new())
    }

    fn of(
        rules: RevocationRules,
        anchors: Vec<Certificate>,
        pinned: Vec<Certificate>,
    ) -> Result<Self, String> {
        let mut trust = TrustRules::default();
        trust.anchors = anchors;
        trust.pinned = pinned;
        trust.revocation = Some(rules);
        let store = TrustStore::new(trust).map_err(|error| error.to_string())?;
        if let Some(one) = store.unaskable().next() {
            return Err(format!(
                "nobody can be asked whether `{}` was revoked: its issuer is not among the certificates that are named",
                one.subject_name()
            ));
        }
        Ok(Self(store))
    }

    /// What of it asks: a cache is to be attached.
    #[must_use]
    pub fn online(&self) -> Option<&Arc<OnlineRevocation>> {
        self.0.online_revocation()
    }

    /// Checks a certificate that was found good otherwise. `stapled` is the answer of a responder
    /// that came with it, empty where none did.
    ///
    /// # Errors
    ///
    /// It was revoked, or it is not known whether it was and the rules demand an answer.
    pub fn check(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let bad = |_| rustls::Error::from(CertificateError::BadEncoding);
        let shown = Certificate::from_der(shown).map_err(bad)?;
        let readable = intermediates.iter();
        let readable = readable.filter_map(|der| Certificate::from_der(der).ok());
        let readable: Vec<Certificate> = readable.collect();
        let second = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let now = Timestamp::from_second(second).unwrap_or(Timestamp::MAX);
        let checked = self.0.check_revoked(&shown, &readable, stapled, now);
        // The TLS library's own words for it would tell the peer more than a refusal.
        checked.map_err(|error| CertificateError::Other(OtherError(Arc::new(error))).into())
    }
}
