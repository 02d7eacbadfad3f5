//! Modules: shared libraries that speak PKCS#11, each loaded and started once in a process.
//!
//! `C_Initialize` and `C_Finalize` are for the whole process, so modules are the one thing here
//! that is global. The rule kept here: a module is started anew only while no operation is in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use soapstone_crypto::{DigestAlgorithm, SecretBytes, digest};

use crate::error::Problem;

/// The least time between two restarts: a token that stays away costs other tokens of its module
/// their sessions no more often.
const BETWEEN_RESTARTS: Duration = Duration::from_secs(1);

/// A module of this process.
pub(crate) struct Module {
    path: PathBuf,
    cryptoki: RwLock<Option<Pkcs11>>,
    restarted: Mutex<Option<Instant>>,
    /// How often it was started anew. All sessions of an earlier start are gone.
    starts: AtomicU64,
    /// Held from the question whether a PIN was refused to the answer of the token.
    logging_in: Mutex<()>,
    /// Tokens and digests of PINs that they refused.
    refused: Mutex<Vec<(String, Vec<u8>)>>,
}

impl Module {
    /// The module of a path, not loaded yet if it is asked for the first time.
    pub(crate) fn of(path: &Path) -> Arc<Self> {
        static MODULES: Mutex<BTreeMap<PathBuf, Arc<Module>>> = Mutex::new(BTreeMap::new());
        let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
        let module = modules.entry(path.to_owned()).or_insert_with(|| {
            Arc::new(Self {
                path: path.to_owned(),
                cryptoki: RwLock::new(None),
                restarted: Mutex::default(),
                starts: AtomicU64::new(0),
                logging_in: Mutex::default(),
                refused: Mutex::default(),
            })
        });
        Arc::clone(module)
    }

    /// Does something with the module, which is loaded and started first where it is not.
    pub(crate) fn with<T>(&self, operation: impl FnOnce(&Pkcs11) -> T) -> Result<T, Problem> {
        loop {
            {
                let cryptoki = self.cryptoki.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(cryptoki) = cryptoki.as_ref() {
                    return Ok(operation(cryptoki));
                }
            }
            let mut cryptoki = self
                .cryptoki
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            if cryptoki.is_none() {
                *cryptoki = Some(self.load()?);
            }
        }
    }

    fn load(&self) -> Result<Pkcs11, Problem> {
        let cryptoki = Pkcs11::new(&self.path).map_err(|error| Problem::Module {
            reason: said(&error),
        })?;
        start(&cryptoki)?;
        Ok(cryptoki)
    }

    /// Starts the module anew, unless an operation is in it, it is not loaded, or it was started a
    /// moment ago. All its sessions are lost, those with other tokens too.
    pub(crate) fn restart(&self) {
        let mut restarted = self
            .restarted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if restarted.is_some_and(|moment| moment.elapsed() < BETWEEN_RESTARTS) {
            return;
        }
        *restarted = Some(Instant::now());
        if let Ok(cryptoki) = self.cryptoki.try_write()
            && let Some(cryptoki) = cryptoki.as_ref()
        {
            // A module that has lost its token may refuse the end. The start tells what is wrong,
            // and so does the next operation.
            let _ = cryptoki.clone().finalize();
            self.starts.fetch_add(1, Ordering::Relaxed);
            let _ = start(cryptoki);
        }
    }

    /// The present start. It does not change while an operation is [in the module](Self::with).
    pub(crate) fn start(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Waits for the others who log in.
    pub(crate) fn log_in(&self) -> MutexGuard<'_, ()> {
        self.logging_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the token has refused this PIN.
    pub(crate) fn has_refused(&self, token: &str, pin: &SecretBytes) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.contains(&(token.to_owned(), digested(pin)))
    }

    /// Notes that the token has refused this PIN.
    pub(crate) fn refuse(&self, token: &str, pin: &SecretBytes) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.push((token.to_owned(), digested(pin)));
    }
}

fn start(cryptoki: &Pkcs11) -> Result<(), Problem> {
    match cryptoki.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
        Err(error) => Err(Problem::Module {
            reason: said(&error),
        }),
    }
}

fn digested(pin: &SecretBytes) -> Vec<u8> {
    let digest = digest(DigestAlgorithm::Sha256, pin.expose());
    digest.map_or_else(|_| Vec::new(), |digest| digest.as_ref().to_vec())
}

/// What a module or the system says, in one line.
pub(crate) fn said(error: &Error) -> String {
    match error {
        Error::LibraryLoading(error) => error.to_string(),
        Error::Pkcs11(code, function) => format!("C_{function:?}: {code:?}"),
        other => other.to_string(),
    }
}
