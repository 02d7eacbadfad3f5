//! The side of a key in a token that callers see: it hands operations to the workers and waits.
//!
//! The rule kept here: a wait ends at the deadline.

use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use soapstone_crypto::{
    ExternalKey, ExternalKeyError, PublicKey, RsaPadding, SecretBytes, SignatureAlgorithm,
};

use crate::KeyLocation;
use crate::error::{Problem, TokenError};
use crate::module::Module;
use crate::session::{Failure, Operation, Outcome, Uses};
use crate::worker::{self, Job};

/// Operations that may wait for each session.
const WAITING: usize = 64;

/// A private key in a token.
pub(crate) struct Holder {
    jobs: SyncSender<Job>,
    location: Arc<KeyLocation>,
    /// Bytes of a coordinate of the key's curve; 0 for RSA.
    coordinate: usize,
}

impl Holder {
    /// Starts the workers of the key with this public half. They end when the holder is dropped.
    pub(crate) fn start(location: KeyLocation, public: &PublicKey) -> Result<Self, TokenError> {
        let location = Arc::new(location);
        let module = Module::of(&location.module);
        let sessions = location.sessions.max(1);
        let (jobs, waiting) = mpsc::sync_channel(sessions * WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..sessions {
            let (place, module, waiting) = (
                Arc::clone(&location),
                Arc::clone(&module),
                Arc::clone(&waiting),
            );
            std::thread::Builder::new()
                .name(format!("pkcs11-{number}"))
                .spawn(move || worker::serve(&place, &module, &waiting))
                .map_err(|error| {
                    let reason = format!("no thread for a session: {error}");
                    TokenError::new(&location, Problem::Failed { reason })
                })?;
        }
        let coordinate = public
            .ec_components()
            .map_or(0, |(curve, _)| curve.coordinate_length());
        Ok(Self {
            jobs,
            location,
            coordinate,
        })
    }

    pub(crate) fn error(&self, problem: Problem) -> TokenError {
        TokenError::new(&self.location, problem)
    }

    /// What the key may be used for.
    pub(crate) fn uses(&self) -> Result<Uses, TokenError> {
        match self.run(Operation::Uses) {
            Ok(Outcome::Uses(uses)) => Ok(uses),
            Ok(Outcome::Bytes(_)) | Err(Failure::Refused) => Err(self.error(Problem::NoUse)),
            Err(Failure::Lost(problem) | Failure::Unusable(problem)) => Err(self.error(problem)),
        }
    }

    fn run(&self, operation: Operation) -> Result<Outcome, Failure> {
        let timeout = self.location.timeout;
        let (answer, answered) = mpsc::sync_channel(1);
        let job = Job {
            operation,
            deadline: Instant::now() + timeout,
            answer,
        };
        match self.jobs.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                return Err(Problem::Busy.into());
            }
        }
        match answered.recv_timeout(timeout) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(Problem::Silent { timeout }.into())
            }
        }
    }

    fn bytes(&self, operation: Operation) -> Result<SecretBytes, Failure> {
        match self.run(operation)? {
            Outcome::Bytes(bytes) => Ok(bytes),
            Outcome::Uses(_) => Err(Failure::Refused),
        }
    }

    /// A signature of a digest.
    pub(crate) fn signed(
        &self,
        algorithm: SignatureAlgorithm,
        digest: &[u8],
    ) -> Result<SecretBytes, Failure> {
        let digest = digest.to_vec();
        self.bytes(Operation::Sign(algorithm, digest, self.coordinate))
    }

    /// What a ciphertext holds.
    pub(crate) fn decrypted(
        &self,
        padding: RsaPadding<'_>,
        ciphertext: &[u8],
    ) -> Result<SecretBytes, Failure> {
        self.bytes(Operation::Decrypt(padding.into(), ciphertext.to_vec()))
    }

    /// The secret shared with the holder of a point.
    pub(crate) fn agreed(&self, point: &[u8]) -> Result<SecretBytes, Failure> {
        self.bytes(Operation::Agree(point.to_vec(), self.coordinate))
    }

    fn told(&self, failure: Failure) -> ExternalKeyError {
        match failure {
            Failure::Refused => ExternalKeyError::Refused,
            Failure::Lost(problem) | Failure::Unusable(problem) => ExternalKeyError::Unavailable {
                reason: self.error(problem).to_string(),
            },
        }
    }
}

impl ExternalKey for Holder {
    fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        input: &[u8],
    ) -> Result<Vec<u8>, ExternalKeyError> {
        let signed = self.signed(algorithm, input);
        let signed = signed.map_err(|failure| self.told(failure))?;
        Ok(signed.expose().clone())
    }

    fn decrypt(
        &self,
        padding: RsaPadding<'_>,
        ciphertext: &[u8],
    ) -> Result<SecretBytes, ExternalKeyError> {
        self.decrypted(padding, ciphertext)
            .map_err(|failure| self.told(failure))
    }

    fn agree(&self, other: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
        self.agreed(other).map_err(|failure| self.told(failure))
    }
}
