//! The audit trail: a line of JSON for each message, with who sent it, what it was about and what
//! became of it.
//!
//! It has a file of its own, since it is kept for longer than the log and read by others. The file
//! is opened anew on `SIGHUP`, so that it can be moved away.
//!
//! The rule kept here: who sent a message is told only where it was proven, and nothing that a
//! message holds is told but names.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value};
use soapstone::endpoint::OpenedMessage;
use soapstone_registry::calls::Outcome;

use crate::observe::log::{Beginning, Lines};
use crate::route::roles::Proven;

/// Most bytes of lines that wait to be written: some twenty thousand, ten seconds of a gateway that
/// answers two thousand messages a second.
const MOST_WAITING: usize = 8 << 20;

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    lines: Lines,
}

impl Audit {
    /// Opens the file, which is created when it is absent.
    ///
    /// # Errors
    ///
    /// When it cannot be opened for writing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let tell = |lines| {
            tracing::error!(
                lines,
                "lines of the audit trail were lost: they could not be written"
            );
        };
        Ok(Self {
            path: path.to_path_buf(),
            lines: Lines::to(append(path)?, MOST_WAITING, tell)?,
        })
    }

    /// Writes to the file that has the name now.
    pub(crate) fn reopen(&self) {
        match append(&self.path) {
            Ok(file) => self.lines.reopen(file),
            Err(error) => tracing::error!(
                %error,
                file = %self.path.display(),
                "the audit trail could not be opened anew; it goes on in its former file"
            ),
        }
    }

    /// How many lines were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lines.lost()
    }

    /// How many bytes wait to be written.
    pub(crate) fn waiting(&self) -> usize {
        self.lines.waiting()
    }

    /// Waits for the last lines.
    pub(crate) fn flush(&self) {
        self.lines.flush(crate::observe::log::LAST_LINES);
    }

    /// Writes what became of a message.
    pub(crate) fn write(&self, line: &Line<'_>) {
        let mut text = Value::Object(line.fields()).to_string();
        text.push('\n');
        self.lines.push(text.as_bytes());
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Who sent a message, as it was proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    /// `user`, `kerberos` or `certificate`; of a request for a token, and of a conversation that
    /// an assertion began, `assertion`, too.
    pub(crate) by: &'static str,
    /// The user's name, the principal, or the subject of certificate or assertion.
    pub(crate) name: String,
    /// The issuer of an assertion, in whose domain the name is.
    pub(crate) domain: Option<String>,
}

impl Sender {
    /// Who sent a message that was opened: the subject of its conversation, if roles go by him; its
    /// user, its Kerberos client, or else its signer.
    pub(crate) fn of(opened: &OpenedMessage, proven: &Proven) -> Option<Self> {
        if let Proven::Subject(owner) = proven {
            return Some(Self {
                by: "assertion",
                name: owner.subject.value.clone(),
                domain: Some(owner.subject.domain(&owner.issuer).to_owned()),
            });
        }
        if let Some(user) = &opened.evidence.user {
            return Some(Self {
                by: "user",
                name: user.clone(),
                domain: None,
            });
        }
        if let Some(client) = opened.evidence.kerberos_client() {
            return Some(Self {
                by: "kerberos",
                name: client.to_owned(),
                domain: None,
            });
        }
        let signer = opened.receipt.signer.as_ref()?;
        Some(Self {
            by: "certificate",
            name: signer.subject().to_owned(),
            domain: None,
        })
    }
}

/// An assertion that was issued, or cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IssuedAssertion {
    pub(crate) id: String,
    pub(crate) is_cancelled: bool,
    pub(crate) subject: String,
    /// The domain of the subject's name, where it is another issuer's.
    pub(crate) domain: Option<String>,
    pub(crate) audience: String,
}

impl IssuedAssertion {
    fn value(&self) -> Value {
        let domain = self.domain.as_ref().map(|domain| ("domain", domain));
        let fields = [("id", &self.id), ("subject", &self.subject)];
        let fields = fields.into_iter().chain(domain);
        let fields = fields.chain([("audience", &self.audience)]);
        let fields = fields.map(|(name, value)| (name.to_owned(), value.as_str().into()));
        let cancelled = self.is_cancelled.then_some(true);
        let cancelled = cancelled.map(|it| ("cancelled".to_owned(), it.into()));
        Value::Object(fields.chain(cancelled).collect())
    }
}

/// What is found out about a message on its way.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) sender: Option<Sender>,
    /// Subject of the certificate that signed an element of the Body by itself.
    pub(crate) document_signer: Option<String>,
    /// Subject of our certificate that an element of the Body was encrypted for by itself.
    pub(crate) document_recipient: Option<String>,
    pub(crate) operation: Option<String>,
    /// The id of the assertion that a token service made for it.
    pub(crate) issued_assertion: Option<String>,
    /// The assertions that a token service issued.
    pub(crate) assertions: Vec<IssuedAssertion>,
    /// The name of the backend that it went to last, and why that one, where there are several.
    pub(crate) backend: Option<(String, &'static str)>,
    /// The agreement that it is under.
    pub(crate) agreement: Option<String>,
    /// Its class, where requests have one.
    pub(crate) class: Option<&'static str>,
    /// Whether its security was refused, and the stable name of why, or of why it failed.
    pub(crate) refused: bool,
    pub(crate) reason: Option<&'static str>,
    pub(crate) request_bytes: Option<u64>,
    pub(crate) response_bytes: Option<u64>,
}

impl Found {
    /// What became of it.
    pub(crate) fn outcome(&self) -> Outcome {
        match (self.refused, self.reason) {
            (true, _) => Outcome::Refused,
            (false, Some(_)) => Outcome::Failed,
            (false, None) => Outcome::Accepted,
        }
    }
}

/// The same while others add to it.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Found>);

impl Notes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a message.
pub(crate) struct Line<'l> {
    pub(crate) route: &'l str,
    pub(crate) request: Option<&'l str>,
    pub(crate) trace: Option<&'l str>,
    pub(crate) client: std::net::IpAddr,
    pub(crate) status: StatusCode,
    pub(crate) microseconds: u64,
    pub(crate) found: &'l Found,
}

impl Line<'_> {
    fn fields(&self) -> Map<String, Value> {
        let found = self.found;
        let sender = found.sender.as_ref();
        let operation = found.operation.as_ref();
        let backend = found.backend.as_ref();
        let assertions: Vec<Value> = found
            .assertions
            .iter()
            .map(IssuedAssertion::value)
            .collect();
        let assertions = (!assertions.is_empty()).then_some(Value::Array(assertions));
        let fields: [(&str, Option<Value>); 22] = [
            ("time", Some(Timestamp::now().to_string().into())),
            ("route", Some(self.route.into())),
            ("request", self.request.map(Value::from)),
            ("trace", self.trace.map(Value::from)),
            ("client", Some(self.client.to_string().into())),
            ("sender", sender.map(|sender| sender.name.as_str().into())),
            (
                "sender_domain",
                sender.and_then(|sender| sender.domain.as_deref().map(Value::from)),
            ),
            ("proven_by", sender.map(|sender| sender.by.into())),
            (
                "document_signer",
                found.document_signer.as_deref().map(Value::from),
            ),
            (
                "document_recipient",
                found.document_recipient.as_deref().map(Value::from),
            ),
            (
                "operation",
                operation.map(|operation| Beginning(operation).to_string().into()),
            ),
            (
                "issued_assertion",
                found.issued_assertion.as_deref().map(Value::from),
            ),
            ("assertions", assertions),
            ("backend", backend.map(|(name, _)| name.as_str().into())),
            ("chosen", backend.map(|(_, reason)| (*reason).into())),
            ("agreement", found.agreement.as_deref().map(Value::from)),
            ("verdict", Some(found.outcome().name().into())),
            ("reason", found.reason.map(Value::from)),
            ("status", Some(self.status.as_u16().into())),
            ("request_bytes", found.request_bytes.map(Value::from)),
            ("response_bytes", found.response_bytes.map(Value::from)),
            ("microseconds", Some(self.microseconds.into())),
        ];
        let said = fields.into_iter();
        said.filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use soapstone::crypto::SymmetricKey;
    use soapstone::wss::{
        AssertedOwner, ContextOwner, ConversationVersion, Evidence, NameIdentifier, Receipt,
        SecurityContext, SoapVersion,
    };
    use soapstone_testkit::keys;

    use super::*;

    /// The trail names whom roles go by: in a conversation of alice, whoever signs a message of it.
    #[test]
    fn the_sender_of_a_message_is_the_one_whom_roles_go_by() {
        let mut subject = NameIdentifier::default();
        subject.value = "alice".to_owned();
        let owner = Arc::new(AssertedOwner {
            issuer: "https://idp.example".to_owned(),
            signed_by: None,
            subject,
            id: "_a1".to_owned(),
            ends: Timestamp::UNIX_EPOCH,
            attributes: Vec::new(),
            attester: None,
        });
        let gateway = keys::identity("CN=gateway", keys::RSA);
        let gateway = gateway.certificate().clone();
        let receipt = Receipt {
            signer: Some(gateway.clone()),
            context: Some(SecurityContext {
                version: ConversationVersion::V13,
                identifier: "urn:uuid:one".to_owned(),
                instance: None,
                secret: SymmetricKey::new(vec![7; 32]).expect("a key"),
                created: Timestamp::UNIX_EPOCH,
                expires: Timestamp::UNIX_EPOCH,
                owner: ContextOwner::Subject(Arc::clone(&owner)),
            }),
            ..Receipt::default()
        };
        let opened = OpenedMessage {
            bytes: Vec::new(),
            parts: Vec::new(),
            version: SoapVersion::V12,
            fault: None,
            evidence: Evidence::default(),
            receipt,
            addressing: None,
            action: None,
            addressed: None,
        };
        let told = |proven: Proven| {
            let sender = Sender::of(&opened, &proven).expect("somebody");
            (sender.by, sender.name, sender.domain)
        };
        let domain = Some("https://idp.example".to_owned());
        let alice = ("assertion", "alice".to_owned(), domain);
        assert_eq!(told(Proven::Subject(owner)), alice);
        let signer = ("certificate", "CN=gateway".to_owned(), None);
        assert_eq!(told(Proven::Certificate(gateway)), signer);
    }
}
