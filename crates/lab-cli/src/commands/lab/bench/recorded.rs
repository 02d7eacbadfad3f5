//! An agreement whose provider breaks it now and then, and the violations that its gateway records.
//!
//! The rule kept here: a record counts if it verifies with all records before it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone_gateway::verify_records;
use soapstone_lab::study::Trial;

use crate::failure::Failure;
use crate::files;
use crate::testbed::Scratch;
use crate::testbed::architecture::{SERVICE, write};

/// Whose key signs the records.
const SIGNER: &str = "broker-rsa";
/// The records, in the scratch folder.
const RECORDS: &str = "violations.xml";
/// In which time the provider has to answer, ms: calls without a delay take a small part of it.
const PROMISED: u64 = 1_000;
/// How long records may take that a thread of the gateway signs and writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The records of a gateway, as far as they are known.
pub(super) struct Recorded {
    folder: PathBuf,
    table: String,
    known: u32,
}

impl Recorded {
    /// How late answers are that break the agreement, ms.
    pub(super) const LATE: u64 = PROMISED + 300;

    /// Writes the agreement.
    pub(super) fn agreed(scratch: &Scratch) -> Result<Self, Failure> {
        let agreement = format!(
            "service = \"{}\"\nuntil = 2999-01-01\nwindow = {{ calls = {} }}\n[client]\nsubject = \"CN=client\"\n\
             [provider]\ntime = \"{PROMISED}ms\"\nquantile = \"90%\"\n",
            SERVICE.path(),
            Trial::WINDOW
        );
        write(scratch, "agreed", &agreement)?;
        Ok(Self {
            folder: scratch.folder().to_owned(),
            table: format!(
                "[agreements]\nfiles = [\"agreed.toml\"]\nrecords = \"{RECORDS}\"\n\
                 identity = {{ key = \"{SIGNER}.key.pem\", certificate = \"{SIGNER}.cert.pem\" }}\n"
            ),
            known: 0,
        })
    }

    /// `[agreements]` of the gateway between client and provider.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    /// How many records there are that were not there before: so many are waited for.
    pub(super) async fn further(&mut self, expected: u32) -> Result<u32, Failure> {
        let given_up = Instant::now() + PATIENCE;
        loop {
            let found = self.count()?.saturating_sub(self.known);
            if found >= expected || Instant::now() > given_up {
                self.known += found;
                return Ok(found);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How many records the file has. The last line may be half written.
    fn count(&self) -> Result<u32, Failure> {
        let file = self.folder.join(RECORDS);
        let mut bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(why) => return Err(Failure::file(&file, why)),
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole.map_or(0, |end| end + 1));
        let certificate = files::read(Some(&self.folder.join(format!("{SIGNER}.cert.pem"))))?;
        let certificates = Certificate::from_file_contents(&certificate).map_err(Failure::new)?;
        let mut rules = TrustRules::default();
        rules.pinned.extend(certificates.into_iter().take(1));
        let trust = TrustStore::new(rules).map_err(Failure::new)?;
        let (records, _) = verify_records(&bytes, trust).map_err(Failure::new)?;
        u32::try_from(records.len()).map_err(Failure::new)
    }
}
