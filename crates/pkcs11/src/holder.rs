//! The side of a key in a token that callers see: it hands operations to the workers and waits.
//!
//! The rule kept here: a wait ends at the deadline, and where all workers are held by a silent
//! token no wait begins.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use soapstone_crypto::{
    ExternalKey, ExternalKeyError, PublicKey, RsaPadding, SecretBytes, SignatureAlgorithm,
};

use crate::error::{Problem, TokenError};
use crate::location::KeyLocation;
use crate::module::Module;
use crate::session::{Failure, Operation, Outcome, Uses};
use crate::worker::{self, Job, Progress};

/// Operations that may wait for each session.
const WAITING: usize = 64;

/// No number of answers.
const NEVER: u64 = u64::MAX;

/// A private key in a token.
pub(crate) struct Holder {
    /// `None` when the holder is dropped.
    jobs: Option<SyncSender<Job>>,
    /// Closed when the last worker has ended.
    ended: Mutex<Receiver<()>>,
    location: Arc<KeyLocation>,
    progress: Arc<Progress>,
    /// The number of answers at which somebody waited in vain; [`NEVER`] at first.
    silent_at: AtomicU64,
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
        let progress = Arc::<Progress>::default();
        let (ending, ended) = mpsc::sync_channel(0);
        for number in 0..sessions {
            let (place, module) = (Arc::clone(&location), Arc::clone(&module));
            let (waiting, progress) = (Arc::clone(&waiting), Arc::clone(&progress));
            let ending = ending.clone();
            std::thread::Builder::new()
                .name(format!("pkcs11-{number}"))
                .spawn(move || {
                    worker::serve(&place, &module, &waiting, &progress);
                    drop(ending);
                })
                .map_err(|error| {
                    let reason = format!("no thread for a session: {error}");
                    TokenError::new(&location, Problem::Failed { reason })
                })?;
        }
        let coordinate = public
            .ec_components()
            .map_or(0, |(curve, _)| curve.coordinate_length());
        Ok(Self {
            jobs: Some(jobs),
            ended: Mutex::new(ended),
            location,
            progress,
            silent_at: AtomicU64::new(NEVER),
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
            Err(
                Failure::Lost(problem) | Failure::LostOver(problem) | Failure::Unusable(problem),
            ) => Err(self.error(problem)),
        }
    }

    fn run(&self, operation: Operation) -> Result<Outcome, Failure> {
        let timeout = self.location.timeout;
        let answers = self.progress.answers.load(Ordering::Relaxed);
        if self.is_silent(answers) {
            return Err(Problem::Held.into());
        }
        let (answer, answered) = mpsc::sync_channel(1);
        let job = Job {
            operation,
            deadline: Instant::now() + timeout,
            answer,
        };
        let sent = self.jobs.as_ref().map(|jobs| jobs.try_send(job));
        if !matches!(sent, Some(Ok(()))) {
            return Err(Problem::Busy.into());
        }
        match answered.recv_timeout(timeout) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.silent_at.store(answers, Ordering::Relaxed);
                Err(Problem::Silent { timeout }.into())
            }
        }
    }

    /// Whether all workers are in the module, somebody has waited for one in vain, and none has
    /// come back since. After so many answers.
    fn is_silent(&self, answers: u64) -> bool {
        let inside = self.progress.inside.load(Ordering::Relaxed);
        inside >= self.location.sessions.max(1) && self.silent_at.load(Ordering::Relaxed) == answers
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
            Failure::Lost(problem) | Failure::LostOver(problem) | Failure::Unusable(problem) => {
                ExternalKeyError::Unavailable {
                    reason: self.error(problem).to_string(),
                }
            }
        }
    }
}

impl Drop for Holder {
    /// Waits until the workers have closed their sessions: a process that ends takes the module
    /// away from under them. A token that is silent is not waited for.
    fn drop(&mut self) {
        self.jobs = None;
        let answers = self.progress.answers.load(Ordering::Relaxed);
        if !self.is_silent(answers) {
            let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
            let _ = ended.recv_timeout(self.location.timeout);
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
