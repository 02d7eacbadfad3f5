//! Interim answers (1xx) that come before an answer: counted, and bounded.
//!
//! RFC 9110 section 15.2 allows any number of them, and HTTP clients skip them. A gateway of SOAP
//! needs none: it asks for no `100 Continue`, and passes no hints on.
//!
//! The rule kept here: a backend that goes on with interim answers is not read any further.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use http::HeaderMap;

/// Most interim answers to one request.
///
/// Servers send a `100 Continue`, and one or two `103 Early Hints`.
const MOST_HEADS: u32 = 8;

/// Most bytes of fields in all interim answers to one request: several times the head that common
/// servers send at most (8 kB).
const MOST_BYTES: usize = 64 * 1024;

/// The interim answers to the request that a connection has in hand.
#[derive(Debug, Default)]
pub(super) struct InterimAnswers {
    heads: AtomicU32,
    bytes: AtomicUsize,
    too_many: AtomicBool,
}

impl InterimAnswers {
    /// Forgets those of the request before.
    pub(super) fn begin(&self) {
        self.heads.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.too_many.store(false, Ordering::Relaxed);
    }

    /// Counts one.
    pub(super) fn count(&self, fields: &HeaderMap) {
        let bytes: usize = fields
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
            .sum();
        let heads = self.heads.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if heads > MOST_HEADS || bytes > MOST_BYTES {
            self.too_many.store(true, Ordering::Relaxed);
        }
    }

    /// Whether there were more than may be.
    pub(super) fn are_too_many(&self) -> bool {
        self.too_many.load(Ordering::Relaxed)
    }

    /// Keeps a connection from being read once there were too many.
    ///
    /// # Errors
    ///
    /// When there were.
    pub(super) fn may_go_on(&self) -> io::Result<()> {
        if self.are_too_many() {
            let why = "too many interim answers";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    fn fields(length: usize) -> HeaderMap {
        let value = HeaderValue::try_from("x".repeat(length)).expect("a value");
        HeaderMap::from_iter([(header::LINK, value)])
    }

    #[test]
    fn eight_interim_answers_may_be_and_the_ninth_is_too_many() {
        let interim = InterimAnswers::default();
        for _ in 0..MOST_HEADS {
            interim.count(&HeaderMap::new());
        }
        assert!(!interim.are_too_many());
        interim.count(&HeaderMap::new());
        assert!(interim.are_too_many());
        interim.begin();
        assert!(!interim.are_too_many());
    }

    #[test]
    fn interim_answers_may_have_so_many_bytes_together() {
        let interim = InterimAnswers::default();
        interim.count(&fields(MOST_BYTES / 2));
        assert!(!interim.are_too_many());
        interim.count(&fields(MOST_BYTES / 2));
        let refused = interim.may_go_on().expect_err("there were too many");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }
}
