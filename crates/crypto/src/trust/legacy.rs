//! Paths for certificates that the strict validator does not take, by OpenSSL.
//!
//! Version 1 end entities, end entities that claim to be authorities, and signatures with SHA-1,
//! MD5 or DSA are common in old installations and in test suites. This way is taken only when the
//! rules allow it.

use jiff::Timestamp;
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::{X509VerifyFlags, X509VerifyParam};
use openssl::x509::{X509, X509StoreContext};

use super::error::TrustError;
use super::store::TrustStore;
use crate::certificate::Certificate;
use crate::error::{CryptoError, OrLibrary};

/// What OpenSSL found: the path it built, or the error and the certificate it is about.
enum Outcome {
    Path(Vec<Vec<u8>>),
    Failure {
        code: i32,
        reason: String,
        culprit: Option<Vec<u8>>,
    },
}

impl TrustStore {
    /// The path from `certificate` to an anchor, both included.
    pub(super) fn legacy_path(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<Vec<Certificate>, TrustError> {
        let invalid = |reason: String| TrustError::InvalidPath {
            subject: certificate.subject_name().to_string(),
            reason,
        };
        let outcome = self
            .ask_openssl(certificate, intermediates, now)
            .map_err(|error| invalid(error.to_string()))?;
        let candidates = || {
            [certificate]
                .into_iter()
                .chain(intermediates)
                .chain(&self.rules.intermediates)
                .chain(&self.rules.anchors)
        };
        let known = |der: &[u8]| candidates().find(|candidate| candidate.der() == der);
        match outcome {
            Outcome::Path(path) => Ok(path.iter().filter_map(|der| known(der)).cloned().collect()),
            Outcome::Failure {
                code,
                reason,
                culprit,
            } => {
                let culprit = culprit.and_then(|der| known(&der)).unwrap_or(certificate);
                let subject = culprit.subject_name().to_string();
                Err(match code {
                    UNABLE_TO_GET_ISSUER_CERT
                    | DEPTH_ZERO_SELF_SIGNED
                    | SELF_SIGNED_IN_CHAIN
                    | UNABLE_TO_GET_ISSUER_LOCALLY
                    | UNABLE_TO_VERIFY_LEAF => TrustError::Untrusted {
                        subject: certificate.subject_name().to_string(),
                    },
                    NOT_YET_VALID => TrustError::NotYetValid {
                        subject,
                        until: culprit.not_before(),
                    },
                    HAS_EXPIRED => TrustError::Expired {
                        subject,
                        since: culprit.not_after(),
                    },
                    _ => invalid(reason),
                })
            }
        }
    }

    fn ask_openssl(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<Outcome, CryptoError> {
        let failed = "preparing the certificates for OpenSSL";
        let read = |certificate: &Certificate| X509::from_der(certificate.der()).or_library(failed);
        let mut parameters = X509VerifyParam::new().or_library(failed)?;
        // An anchor need not be self-signed, here as with the strict validator.
        let mut flags = X509VerifyFlags::PARTIAL_CHAIN;
        if self.rules.ignore_validity {
            flags |= X509VerifyFlags::NO_CHECK_TIME;
        } else {
            parameters.set_time(now.as_second());
        }
        parameters.set_flags(flags).or_library(failed)?;
        // Level 0: sizes are checked by the rules, and old algorithms are why this way is taken.
        parameters.set_auth_level(0);
        let mut builder = X509StoreBuilder::new().or_library(failed)?;
        for anchor in &self.rules.anchors {
            builder.add_cert(read(anchor)?).or_library(failed)?;
        }
        builder.set_param(&parameters).or_library(failed)?;
        let store = builder.build();
        let mut chain = Stack::new().or_library(failed)?;
        for intermediate in intermediates.iter().chain(&self.rules.intermediates) {
            chain.push(read(intermediate)?).or_library(failed)?;
        }
        let target = read(certificate)?;
        X509StoreContext::new()
            .or_library(failed)?
            .init(&store, &target, &chain, |context| {
                if context.verify_cert()? {
                    let path = context.chain().into_iter().flatten();
                    return path
                        .map(|step| step.to_der())
                        .collect::<Result<_, _>>()
                        .map(Outcome::Path);
                }
                let error = context.error();
                Ok(Outcome::Failure {
                    code: error.as_raw(),
                    reason: error.error_string().to_owned(),
                    culprit: context
                        .current_cert()
                        .map(|culprit| culprit.to_der())
                        .transpose()?,
                })
            })
            .or_library("building a certificate path")
    }
}

/// Codes of `X509_STORE_CTX_get_error`.
const UNABLE_TO_GET_ISSUER_CERT: i32 = 2;
const NOT_YET_VALID: i32 = 9;
const HAS_EXPIRED: i32 = 10;
const DEPTH_ZERO_SELF_SIGNED: i32 = 18;
const SELF_SIGNED_IN_CHAIN: i32 = 19;
const UNABLE_TO_GET_ISSUER_LOCALLY: i32 = 20;
const UNABLE_TO_VERIFY_LEAF: i32 = 21;
