//! Keys, certificates and authorities, each made once in a process.
//!
//! Keys for RSA take long to make. Tests that need several keys need different ones, not new ones:
//! a key is known by who it belongs to and by its kind.
//!
//! The rule kept here: the same name and kind is the same key, another name another key.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::{Curve, Identity, KeyKind, PrivateKey, TrustRules, TrustStore};

use crate::Folder;

/// The kind of most keys.
pub const RSA: KeyKind = KeyKind::Rsa { bits: 2048 };
/// Keys that sign, agree, and are made at once.
pub const P256: KeyKind = KeyKind::Ec(Curve::P256);

/// The name of the authority that issues [`identity`].
pub const AUTHORITY: &str = "CN=ca";

/// Values that are made once for each key, while other values can be made.
struct Once<K, V>(OnceLock<Mutex<HashMap<K, Arc<OnceLock<V>>>>>);

impl<K: Clone + Debug + Eq + Hash, V: Clone> Once<K, V> {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let all = self.0.get_or_init(Mutex::default);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        let value = Arc::clone(all.entry(key).or_default());
        drop(all);
        value.get_or_init(make).clone()
    }
}

/// A private key of a kind, for tests that need one alone.
///
/// # Panics
/// If keys of the kind cannot be made.
pub fn key(kind: KeyKind) -> PrivateKey {
    key_of("", kind)
}

/// The private key of a kind that belongs to somebody.
///
/// # Panics
/// If keys of the kind cannot be made.
pub fn key_of(owner: &str, kind: KeyKind) -> PrivateKey {
    static KEYS: Once<(String, KeyKind), PrivateKey> = Once::new();
    KEYS.get((owner.to_owned(), kind), || {
        PrivateKey::generate(kind).unwrap_or_else(|error| panic!("{kind}: {error}"))
    })
}

/// Thirty days from now.
pub fn validity() -> Validity {
    Validity::days(Timestamp::now(), 30)
}

/// What the certificate of a subject says: valid for thirty days, also for a server at this host.
///
/// # Panics
/// If the subject is no distinguished name.
pub fn template(subject: &str) -> Template {
    let template = Template::new(subject, validity());
    let template = template.unwrap_or_else(|error| panic!("{subject}: {error}"));
    template.with_alternative_names(["localhost", "127.0.0.1"])
}

/// The authority of a name, with a key of [`P256`].
///
/// # Panics
/// If the name is no distinguished name.
pub fn authority(subject: &str) -> Arc<Identity> {
    static AUTHORITIES: Once<String, Arc<Identity>> = Once::new();
    AUTHORITIES.get(subject.to_owned(), || {
        let made = issue::authority(subject, P256, validity());
        Arc::new(made.unwrap_or_else(|error| panic!("{subject}: {error}")))
    })
}

/// The identity of a subject, issued by [`AUTHORITY`].
///
/// # Panics
/// If the subject is no distinguished name.
pub fn identity(subject: &str, kind: KeyKind) -> Arc<Identity> {
    identity_by(AUTHORITY, subject, kind)
}

/// The identity of a subject, issued by an authority.
///
/// # Panics
/// If a name is no distinguished name.
pub fn identity_by(issuer: &str, subject: &str, kind: KeyKind) -> Arc<Identity> {
    static IDENTITIES: Once<(String, String, KeyKind), Arc<Identity>> = Once::new();
    let names = (issuer.to_owned(), subject.to_owned(), kind);
    IDENTITIES.get(names, || {
        let made = issue::identity(&authority(issuer), kind, &template(subject));
        Arc::new(made.unwrap_or_else(|error| panic!("{subject}: {error}")))
    })
}

/// Rules that trust what [`AUTHORITY`] issues.
pub fn trust_rules() -> TrustRules {
    let mut rules = TrustRules::default();
    rules
        .anchors
        .push(authority(AUTHORITY).certificate().clone());
    rules
}

/// Trust in what [`AUTHORITY`] issues.
///
/// # Panics
/// If the rules are refused.
pub fn trust() -> Arc<TrustStore> {
    let store = TrustStore::new(trust_rules());
    Arc::new(store.unwrap_or_else(|error| panic!("{error}")))
}

impl Folder {
    /// A folder with `ca.cert.pem` of [`AUTHORITY`], and `NAME.cert.pem` and `NAME.key.pem` of
    /// `CN=NAME` for each name.
    ///
    /// # Panics
    /// If a file cannot be written.
    pub fn with_keys(kind: KeyKind, names: &[&str]) -> Self {
        let folder = Self::new();
        folder.write("ca.cert.pem", authority(AUTHORITY).certificates_to_pem());
        for name in names {
            folder.write_identity(name, &identity(&format!("CN={name}"), kind));
        }
        folder
    }

    /// Writes `NAME.cert.pem` and `NAME.key.pem`, as `soapstone keys new` names them.
    ///
    /// # Panics
    /// If a file cannot be written.
    pub fn write_identity(&self, name: &str, identity: &Identity) {
        self.write(format!("{name}.cert.pem"), identity.certificates_to_pem());
        let key = identity.key_to_pem(None);
        let key = key.unwrap_or_else(|error| panic!("{name}: {error}"));
        self.write(format!("{name}.key.pem"), key.expose());
    }
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::TrustError;

    use super::*;

    #[test]
    fn a_key_is_made_once_for_each_owner_and_kind() {
        let of = |owner| key_of(owner, P256).public_key().clone();
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("other"));
    }

    #[test]
    fn identities_are_trusted_by_their_authority_alone() {
        let now = Timestamp::now();
        let own = identity("CN=client", P256);
        assert_eq!(trust().check(own.certificate(), &[], now), Ok(()));
        let other = identity_by("CN=other", "CN=client", P256);
        assert_ne!(own.certificate().der(), other.certificate().der());
        let subject = "CN=client".to_owned();
        let refused = trust().check(other.certificate(), &[], now);
        assert_eq!(refused, Err(TrustError::Untrusted { subject }));
    }
}
