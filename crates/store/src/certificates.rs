//! The certificates of those who own conversations, at rest.
//!
//! A certificate that was read takes some 7 kB, its bytes one. So bytes are kept, one copy for
//! all conversations of an owner, and of what was read as much as a bounded number of busy owners
//! need; an owner who comes back after a while has his certificate read again.
//!
//! The rule kept here: what is taken up is what was laid down, byte for byte.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use soapstone::crypto::Certificate;

/// Most certificates that stay read: some 7 MB of them.
const BUSY: usize = 1024;

/// The certificates of a store of conversations.
#[derive(Debug, Default)]
pub(crate) struct Certificates {
    known: Mutex<Known>,
    /// Those that were read, the earliest first.
    busy: Mutex<VecDeque<Weak<Resting>>>,
}

#[derive(Debug, Default)]
struct Known {
    by_thumbprint: HashMap<[u8; 32], Weak<Resting>>,
    /// How many there may be before those that nobody uses are dropped.
    bound: usize,
}

/// A certificate at rest.
#[derive(Debug)]
pub(crate) struct Resting {
    der: Box<[u8]>,
    read: Mutex<Option<Certificate>>,
}

impl Certificates {
    /// Keeps a certificate's bytes.
    pub(crate) fn lay_down(&self, certificate: &Certificate) -> Arc<Resting> {
        let thumbprint = certificate.thumbprint_sha256();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(resting) = known.by_thumbprint.get(&thumbprint).and_then(Weak::upgrade) {
            return resting;
        }
        if known.by_thumbprint.len() >= known.bound {
            known
                .by_thumbprint
                .retain(|_, resting| resting.strong_count() > 0);
            known.bound = 64.max(2 * known.by_thumbprint.len());
        }
        let resting = Arc::new(Resting {
            der: certificate.der().into(),
            read: Mutex::default(),
        });
        known
            .by_thumbprint
            .insert(thumbprint, Arc::downgrade(&resting));
        resting
    }

    /// The certificate, read if need be. `None` if it cannot be read any more, which would be a
    /// bug: it was read before it was laid down.
    pub(crate) fn take_up(&self, resting: &Arc<Resting>) -> Option<Certificate> {
        let mut read = resting.read();
        if let Some(certificate) = &*read {
            return Some(certificate.clone());
        }
        let certificate = Certificate::from_der(&resting.der).ok()?;
        *read = Some(certificate.clone());
        drop(read);
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.push_back(Arc::downgrade(resting));
        let earliest = (busy.len() > BUSY).then(|| busy.pop_front()).flatten();
        drop(busy);
        if let Some(earliest) = earliest.and_then(|earliest| earliest.upgrade()) {
            *earliest.read() = None;
        }
        Some(certificate)
    }
}

impl Resting {
    fn read(&self) -> MutexGuard<'_, Option<Certificate>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use soapstone::crypto::issue::{self, Template, Validity};
    use soapstone_testkit::keys;

    use super::*;

    fn certificates(count: usize) -> Vec<Certificate> {
        let key = keys::key(keys::P256);
        (0..count)
            .map(|number| {
                let validity = Validity::days(Timestamp::UNIX_EPOCH, 1);
                let template = Template::new(&format!("CN={number}"), validity);
                let identity = issue::self_signed(key.clone(), &template.expect("a template"));
                identity.expect("a certificate").certificate().clone()
            })
            .collect()
    }

    #[test]
    fn equal_certificates_rest_once_and_are_forgotten_with_their_last_user() {
        let certificates = Certificates::default();
        for made in self::certificates(200) {
            let (one, other) = (certificates.lay_down(&made), certificates.lay_down(&made));
            assert!(Arc::ptr_eq(&one, &other));
            let taken = certificates.take_up(&one).expect("it is one");
            assert_eq!(taken.der(), made.der());
        }
        let known = certificates.known.lock().expect("nobody panics");
        assert!(known.by_thumbprint.len() <= 64);
    }

    #[test]
    fn no_more_than_a_bounded_number_stays_read() {
        let certificates = Certificates::default();
        let resting: Vec<Arc<Resting>> = self::certificates(BUSY + 10)
            .iter()
            .map(|certificate| certificates.lay_down(certificate))
            .collect();
        for resting in &resting {
            certificates.take_up(resting).expect("it is one");
        }
        let read = resting
            .iter()
            .filter(|resting| resting.read().is_some())
            .count();
        assert_eq!(read, BUSY);
        assert!(resting[0].read().is_none());
        let again = certificates.take_up(&resting[0]).expect("it is one");
        assert_eq!(again.subject(), "CN=0");
    }
}
