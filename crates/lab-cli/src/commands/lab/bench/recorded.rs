//! An agreement whose provider breaks it now and then, and the violations that its gateway records.
//!
//! The rule kept here: a record counts if it verifies with all records before it. What is missing
//! and what is too much are never set off against each other.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone_gateway::{VerifiedRecord, verify_records};
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
    known: usize,
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

    /// Whether a window begins now, as `/agreements` tells. What was recorded until then is known.
    pub(super) fn begins(&mut self, told: &Value) -> Result<bool, Failure> {
        let [open, found, written] = standing_of(told)?;
        if open != 0 || found != written {
            return Ok(false);
        }
        self.known = self.read()?.len();
        Ok(true)
    }

    /// How many violations of the window that has ended are not recorded, and how many records
    /// there are too many of it. `made` were made in it; `told` asks for `/agreements`.
    pub(super) async fn after_window(
        &mut self,
        made: u32,
        told: impl AsyncFn() -> Result<Value, Failure>,
    ) -> Result<u32, Failure> {
        settled(told, PATIENCE).await?;
        let records = self.read()?;
        let parts = records.iter().skip(self.known);
        let parts: Vec<_> = parts
            .map(|it| [it.part("Obligation"), it.part("Calls")])
            .collect();
        self.known = records.len();
        Ok(differing(made, &parts))
    }

    /// The records of the file. The last line may be half written.
    fn read(&self) -> Result<Vec<VerifiedRecord>, Failure> {
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
        Ok(records)
    }
}

/// How many of `made` late windows have no record, and how many records are too many. A record is
/// one of a late window if it says so: its obligation, and how many calls the window had.
fn differing(made: u32, records: &[[Option<&str>; 2]]) -> u32 {
    let calls = Trial::WINDOW.to_string();
    let expected = [Some("response-time"), Some(calls.as_str())];
    let mut left = made;
    let mut extra = 0;
    for record in records {
        match *record == expected && left > 0 {
            true => left -= 1,
            false => extra += 1,
        }
    }
    left + extra
}

/// Waits until no window is half full, and all violations that were found are written. It is looked
/// at twice: the last calls are counted after their answers.
async fn settled(
    told: impl AsyncFn() -> Result<Value, Failure>,
    patience: Duration,
) -> Result<(), Failure> {
    let given_up = Instant::now() + patience;
    let mut before = None;
    loop {
        let told = told().await?;
        let now = standing_of(&told)?;
        let [open, found, written] = now;
        if open == 0 && found == written && before == Some(now) {
            return Ok(());
        }
        if Instant::now() > given_up {
            return Err(Failure::new(format_args!(
                "a window of the agreement does not end, or its records are not written: {told}"
            )));
        }
        before = Some(now);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn standing_of(told: &Value) -> Result<[u64; 3], Failure> {
    standing(told)
        .ok_or_else(|| Failure::new(format_args!("/agreements tells something else: {told}")))
}

/// Calls of windows that are not full, violations that were found, and records that were written or
/// lost.
fn standing(told: &Value) -> Option<[u64; 3]> {
    let (mut open, mut found) = (0, 0);
    for agreement in told["agreements"].as_array()? {
        for backend in agreement["backends"].as_array()? {
            open += backend["window"]["calls"].as_u64()?;
        }
        for count in agreement["violations"].as_object()?.values() {
            found += count.as_u64()?;
        }
    }
    let records = &told["records"];
    let written = records["number"].as_u64()? + records["lost"].as_u64()?;
    Some([open, found, written])
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_violation_without_a_record_and_a_record_without_a_violation_both_count() {
        let right = [Some("response-time"), Some("10")];
        assert_eq!(differing(1, &[right]), 0);
        assert_eq!(differing(0, &[]), 0);
        assert_eq!(differing(1, &[]), 1);
        assert_eq!(differing(0, &[right]), 1);
        assert_eq!(differing(1, &[right, right]), 1);
        // A record of something else leaves the violation without one.
        assert_eq!(differing(1, &[[Some("availability"), Some("10")]]), 2);
        assert_eq!(differing(1, &[[Some("response-time"), Some("9")]]), 2);
    }

    fn told(open: u64, found: u64, written: u64) -> Value {
        json!({
            "agreements": [{
                "violations": { "response-time": found },
                "backends": [{ "window": { "calls": open } }],
            }],
            "records": { "number": written, "lost": 0 },
        })
    }

    #[tokio::test]
    async fn a_window_is_looked_at_when_it_has_ended_and_its_records_are_written() {
        let asked = Cell::new(0);
        let all = [told(9, 0, 0), told(0, 1, 0), told(0, 1, 1)];
        let next = async || {
            let at = asked.replace(asked.get() + 1);
            Ok(all[at.min(2)].clone())
        };
        settled(next, PATIENCE).await.expect("it has ended");
        assert_eq!(asked.get(), 4);
        for open in [told(9, 0, 0), told(0, 1, 0), json!({})] {
            let ended = settled(async || Ok(open.clone()), Duration::ZERO).await;
            ended.expect_err("it has not ended");
        }
    }
}
