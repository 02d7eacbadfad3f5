//! Whether the certificates that peers of TLS show were revoked.
//!
//! It is asked after everything else about a certificate has been decided, by the same rules and
//! from the same cache as about certificates of messages. The rule kept here: a handshake reads
//! what is known and never waits; a certificate about which nobody can be asked is refused where
//! an answer is demanded.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, OtherError};
use soapstone::crypto::trust::{OnlineRevocation, RevocationRules};
use soapstone::crypto::{Certificate, TrustRules, TrustStore};

/// How long a connection goes by what was known when its certificates were checked: as long as
/// checks of messages do.
const HOLDS_AT_MOST: Duration = Duration::from_secs(3_600);

/// The certificates that a peer showed while a connection was made, its own first. Connections stay
/// open for longer than certificates stay good.
#[derive(Debug)]
pub struct Shown {
    chain: Vec<CertificateDer<'static>>,
    checked: Mutex<Option<Checked>>,
}

/// What was known of revocation when the certificates of a connection were checked.
#[derive(Debug)]
struct Checked {
    /// The rules of whoever checked them. It is not kept alive, and none has its address for as
    /// long as this is here.
    by: Weak<OnlineRevocation>,
    generation: u64,
    at: Instant,
    /// Up to when the answers hold that it goes by.
    until: Timestamp,
}

impl Checked {
    /// Whether nothing came since that could change the mind of a check: no news, no other rules
    /// and no end of an answer.
    fn still_holds(&self, online: &Arc<OnlineRevocation>) -> bool {
        Weak::as_ptr(&self.by) == Arc::as_ptr(online)
            && self.generation == online.generation()
            && self.at.elapsed() < HOLDS_AT_MOST
            && Timestamp::now() <= self.until
    }
}

impl Shown {
    /// Those of a connection that was just made.
    #[must_use]
    pub fn new(chain: &[CertificateDer<'_>]) -> Self {
        let chain = chain.iter().map(|one| one.clone().into_owned());
        Self {
            chain: chain.collect(),
            checked: Mutex::default(),
        }
    }

    /// Whether they are still good by what is known of revocation now, and by these rules, which
    /// may be others than those that the connection was made by. Nothing is computed where nothing
    /// came since the last check.
    ///
    /// # Errors
    ///
    /// They are not.
    pub fn check(&self, revocation: &TlsRevocation) -> Result<(), rustls::Error> {
        let Some(online) = revocation.online() else {
            return Ok(());
        };
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked().as_ref().is_some_and(|it| it.still_holds(online)) {
            return Ok(());
        }
        // What is learnt during the check counts as new.
        let (generation, at) = (online.generation(), Instant::now());
        let until = match self.chain.split_first() {
            Some((own, others)) => revocation.check(own, others, &[], UnixTime::now())?,
            None => Timestamp::MAX,
        };
        *checked() = Some(Checked {
            by: Arc::downgrade(online),
            generation,
            at,
            until,
        });
        Ok(())
    }
}

/// Why nothing can be asked by some rules.
#[derive(Debug)]
#[non_exhaustive]
pub enum RulesError {
    /// A certificate cannot be used.
    Unusable(String),
    /// Nobody can be asked about a certificate that is believed as it is, and the rules demand an
    /// answer.
    Unaskable {
        /// Whose it is.
        subject: String,
    },
}

impl fmt::Display for RulesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => {
                write!(out, "a certificate cannot be asked about: {why}")
            }
            Self::Unaskable { subject } => write!(
                out,
                "nobody can be asked whether `{subject}` was revoked: its issuer is not among the certificates that are named"
            ),
        }
    }
}

impl std::error::Error for RulesError {}

/// What is asked about the certificates of peers.
#[derive(Debug)]
pub struct TlsRevocation(TrustStore);

impl TlsRevocation {
    /// Asks by these rules about certificates under these authorities, and about those that are
    /// pinned.
    ///
    /// # Errors
    ///
    /// [`RulesError`]: a certificate that cannot be used, or one that nobody can be asked about.
    pub fn new(
        rules: RevocationRules,
        authorities: &[CertificateDer<'_>],
        pinned: &[CertificateDer<'_>],
    ) -> Result<Self, RulesError> {
        let read = |ders: &[CertificateDer<'_>]| {
            let read = ders.iter().map(|der| Certificate::from_der(der));
            let read: Result<Vec<_>, _> = read.collect();
            read.map_err(|error| RulesError::Unusable(error.to_string()))
        };
        Self::of(rules, read(authorities)?, read(pinned)?)
    }

    /// Asks by these rules about certificates under the system's authorities.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn under_the_system(rules: RevocationRules) -> Result<Self, RulesError> {
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
    ) -> Result<Self, RulesError> {
        let mut trust = TrustRules::default();
        trust.anchors = anchors;
        trust.pinned = pinned;
        trust.revocation = Some(rules);
        let store = TrustStore::new(trust);
        let store = store.map_err(|error| RulesError::Unusable(error.to_string()))?;
        if let Some(one) = store.unaskable().next() {
            return Err(RulesError::Unaskable {
                subject: one.subject_name().to_string(),
            });
        }
        Ok(Self(store))
    }

    /// What of it asks: a cache is to be attached.
    #[must_use]
    pub fn online(&self) -> Option<&Arc<OnlineRevocation>> {
        self.0.online_revocation()
    }

    /// Checks a certificate that was found good otherwise. `stapled` is the answer of a responder
    /// that came with it, empty where none did. Returns the moment up to which the answers hold
    /// that this goes by.
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
    ) -> Result<Timestamp, rustls::Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use soapstone::crypto::issue::{self, Template, Validity};
    use soapstone_testkit::keys::P256;

    fn der(certificate: &Certificate) -> CertificateDer<'static> {
        CertificateDer::from(certificate.der().to_vec())
    }

    #[test]
    fn rules_that_cannot_be_kept_say_what_is_missing() {
        let validity = Validity::days(Timestamp::now(), 30);
        let authority = issue::authority("CN=ca", P256, validity).unwrap();
        let template = Template::new("CN=leaf", validity).unwrap();
        let leaf = issue::identity(&authority, P256, &template).unwrap();
        let leaf = [der(leaf.certificate())];
        let made = |pinned: &[CertificateDer<'_>]| {
            TlsRevocation::new(RevocationRules::default(), &[], pinned)
        };
        let unaskable = made(&leaf).unwrap_err();
        assert!(
            matches!(&unaskable, RulesError::Unaskable { subject } if subject == "CN=leaf"),
            "{unaskable}"
        );
        let unusable = made(&[CertificateDer::from(vec![0])]).unwrap_err();
        assert!(matches!(unusable, RulesError::Unusable(_)), "{unusable}");
    }

    /// A reload brings rules that demand more, or none that the certificate is under.
    #[test]
    fn whoever_was_accepted_by_other_rules_is_checked_again() {
        let validity = Validity::days(Timestamp::now(), 30);
        let ca = |name: &str| issue::authority(name, P256, validity).unwrap();
        let (authority, other) = (ca("CN=ca"), ca("CN=other"));
        let template = Template::new("CN=leaf", validity).unwrap();
        let leaf = issue::identity(&authority, P256, &template).unwrap();
        let shown = Shown::new(&[der(leaf.certificate())]);
        let rules = |authority: &soapstone::crypto::Identity, accept_unanswered| {
            let mut rules = RevocationRules::default();
            rules.accept_unanswered = accept_unanswered;
            TlsRevocation::new(rules, &[der(authority.certificate())], &[]).unwrap()
        };
        let soft = rules(&authority, true);
        for _ in 0..2 {
            assert!(shown.check(&soft).is_ok());
        }
        assert!(shown.check(&rules(&authority, false)).is_err());
        assert!(shown.check(&rules(&other, true)).is_err());
        assert!(shown.check(&soft).is_ok());
    }
}
