//! The work that one message may still ask for.
//!
//! The one rule: what is counted here is counted before the work is done.

use soapstone_crypto::DataEncryption;

use crate::evidence::CipherKey;
use crate::limits::SecurityLimits;
use crate::rejected::Rejected;

/// What a message has asked for, beside its limits.
pub(super) struct Budget {
    limits: SecurityLimits,
    signatures: usize,
    encrypted_keys: usize,
    tokens: usize,
    references: usize,
    confirmations: usize,
    /// Of the message as it came.
    message_bytes: usize,
    /// Bytes of cipher text that were deciphered without a verified signature.
    deciphered_bytes: usize,
    /// Bytes that references of other nodes cover, and that were digested.
    digested_bytes: usize,
    /// The one key that deciphers cipher text without authentication.
    deciphers_unauthenticated: Option<CipherKey>,
    /// A signature in the clear verified. It is made with a key that strangers do not have, or
    /// with the one session key that deciphers.
    pub(super) is_authenticated: bool,
}

/// Counts one more of something.
fn count(counted: &mut usize, limit: usize, what: &'static str) -> Result<(), Rejected> {
    if *counted == limit {
        return Err(Rejected::TooMany { what, limit });
    }
    *counted += 1;
    Ok(())
}

impl Budget {
    pub(super) fn new(limits: SecurityLimits, message_bytes: usize) -> Self {
        Self {
            limits,
            signatures: 0,
            encrypted_keys: 0,
            tokens: 0,
            references: 0,
            confirmations: 0,
            message_bytes,
            deciphered_bytes: 0,
            digested_bytes: 0,
            deciphers_unauthenticated: None,
            is_authenticated: false,
        }
    }

    pub(super) fn signature(&mut self) -> Result<(), Rejected> {
        count(&mut self.signatures, self.limits.signatures, "signatures")
    }

    pub(super) fn encrypted_key(&mut self) -> Result<(), Rejected> {
        let what = "`xenc:EncryptedKey`";
        count(&mut self.encrypted_keys, self.limits.encrypted_keys, what)
    }

    pub(super) fn token(&mut self) -> Result<(), Rejected> {
        count(&mut self.tokens, self.limits.tokens, "security tokens")
    }

    /// There is one for each signature of the request.
    pub(super) fn confirmation(&mut self) -> Result<(), Rejected> {
        let what = "`wsse11:SignatureConfirmation`";
        count(&mut self.confirmations, self.limits.signatures, what)
    }

    pub(super) fn references(&mut self, more: usize) -> Result<(), Rejected> {
        self.references += more;
        let limit = self.limits.references;
        if self.references > limit {
            Err(Rejected::TooMany {
                what: "references",
                limit,
            })
        } else {
            Ok(())
        }
    }

    /// Bounds what a stranger can have digested by references that nobody here verifies.
    pub(super) fn digest_of_others(&mut self, bytes: usize) -> Result<(), Rejected> {
        self.digested_bytes += bytes;
        // Each of a few nodes may have the whole Body signed.
        let limit = self.message_bytes.saturating_mul(4);
        if self.digested_bytes > limit {
            return Err(Rejected::TooMany {
                what: "bytes that references of other nodes cover",
                limit,
            });
        }
        Ok(())
    }

    /// Bounds what a stranger can have deciphered: under CBC with one key, and without a verified
    /// signature no more than twice the bytes that the message has. Otherwise the sender of one
    /// captured cipher text chooses how much work follows it.
    pub(super) fn decryption(
        &mut self,
        method: DataEncryption,
        key: CipherKey,
        bytes: usize,
    ) -> Result<(), Rejected> {
        if !method.is_authenticated() {
            let first = *self.deciphers_unauthenticated.get_or_insert(key);
            if first != key {
                return Err(Rejected::TooMany {
                    what: "keys that decipher cipher text without authentication",
                    limit: 1,
                });
            }
        }
        if self.is_authenticated {
            return Ok(());
        }
        self.deciphered_bytes += bytes;
        // Twice: cipher text may be inside of cipher text.
        let limit = self.message_bytes.saturating_mul(2);
        if self.deciphered_bytes > limit {
            return Err(Rejected::TooMany {
                what: "bytes of cipher text before anything is authenticated",
                limit,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SecurityLimits = SecurityLimits {
        references: 6,
        signatures: 2,
        encrypted_keys: 3,
        tokens: 4,
        header: 1_000,
        failed_openings: 1,
        failed_openings_of_context: 1,
    };

    fn too_many(what: &'static str, limit: usize) -> Result<(), Rejected> {
        Err(Rejected::TooMany { what, limit })
    }

    #[test]
    fn each_limit_is_accepted_and_one_more_is_refused() {
        type Counted = fn(&mut Budget) -> Result<(), Rejected>;
        let cases: [(Counted, &str, usize); 5] = [
            (Budget::signature, "signatures", 2),
            (Budget::encrypted_key, "`xenc:EncryptedKey`", 3),
            (Budget::token, "security tokens", 4),
            (Budget::confirmation, "`wsse11:SignatureConfirmation`", 2),
            (|budget| budget.references(1), "references", 6),
        ];
        for (counted, what, limit) in cases {
            let mut budget = Budget::new(LIMITS, 100);
            for _ in 0..limit {
                assert_eq!(counted(&mut budget), Ok(()), "{what}");
            }
            assert_eq!(counted(&mut budget), too_many(what, limit));
        }
    }

    #[test]
    fn what_references_of_other_nodes_cover_is_four_times_the_message_at_most() {
        let mut budget = Budget::new(LIMITS, 100);
        assert_eq!(budget.digest_of_others(150), Ok(()));
        assert_eq!(budget.digest_of_others(250), Ok(()));
        let what = "bytes that references of other nodes cover";
        assert_eq!(budget.digest_of_others(1), too_many(what, 400));
    }

    #[test]
    fn a_stranger_has_twice_the_message_deciphered_at_most() {
        let (method, key) = (DataEncryption::Aes128Gcm, CipherKey::Known);
        let mut budget = Budget::new(LIMITS, 100);
        assert_eq!(budget.decryption(method, key, 80), Ok(()));
        assert_eq!(budget.decryption(method, key, 120), Ok(()));
        let what = "bytes of cipher text before anything is authenticated";
        assert_eq!(budget.decryption(method, key, 1), too_many(what, 200));
        // Whoever signs may have more in cipher text of cipher text.
        budget.is_authenticated = true;
        assert_eq!(budget.decryption(method, key, 1_000), Ok(()));
    }

    #[test]
    fn one_key_deciphers_without_authentication_and_several_with_it() {
        let what = "keys that decipher cipher text without authentication";
        let (one, other) = (CipherKey::Known, CipherKey::Assertion);
        for is_authenticated in [false, true] {
            let mut budget = Budget::new(LIMITS, 100);
            budget.is_authenticated = is_authenticated;
            let (gcm, cbc) = (DataEncryption::Aes128Gcm, DataEncryption::Aes128Cbc);
            assert_eq!(budget.decryption(gcm, other, 1), Ok(()));
            assert_eq!(budget.decryption(cbc, one, 1), Ok(()));
            assert_eq!(budget.decryption(cbc, one, 1), Ok(()));
            assert_eq!(budget.decryption(cbc, other, 1), too_many(what, 1));
        }
    }
}
