//! The last messages that were refused, sealed, for `soapstone explain --gateway`.
//!
//! The rule kept here: a message is kept as it arrived, and nothing of it is deciphered. What is
//! done with it depends on its bytes alone, so that its time tells nothing of the refusal.

mod clear;
mod form;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};
use soapstone::crypto::{CryptoError, SymmetricKey, base64, sealed_storage};
use soapstone::mime::Package;

use crate::config::direction::Direction;
use crate::config::record::RecordConfig;
use crate::wire::budget::{MemoryBudget, Reservation};

pub(crate) use form::Form;

/// The messages that are kept.
#[derive(Debug)]
pub(crate) struct Records {
    config: RecordConfig,
    key: SymmetricKey,
    /// Differs from one process to the next; with a number behind it, names a record.
    process: String,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The number of the next one.
    next: u64,
    /// Bytes of all of them.
    bytes: usize,
    /// Shared with whoever reads one: nothing is copied or deciphered while others wait.
    records: VecDeque<Arc<Record>>,
}

/// A message that was refused.
#[derive(Debug)]
struct Record {
    id: String,
    time: Timestamp,
    refused: Refused,
    bytes: usize,
    /// The message, sealed for its id; or why it is not kept.
    content: Result<Vec<u8>, &'static str>,
}

/// What is known of a message that was refused.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) route: String,
    pub(crate) request: String,
    pub(crate) direction: Direction,
    pub(crate) reason: &'static str,
    pub(crate) cause: &'static str,
}

/// A copy of a message in hand, as it arrived.
#[derive(Debug)]
pub(crate) struct MessageCopy {
    length: usize,
    bytes: Result<Vec<u8>, &'static str>,
    _room: Option<Reservation>,
}

impl MessageCopy {
    /// How the message is written, as far as it was copied.
    pub(crate) fn form(&self) -> Form {
        self.bytes.as_deref().map(form_of).unwrap_or_default()
    }
}

/// How a message is written: of a package, that of its root.
fn form_of(message: &[u8]) -> Form {
    match Package::read(message) {
        Ok(None) => Form::of(message),
        Ok(Some(package)) => Form::of(package.root.content),
        Err(_) => Form::default(),
    }
}

impl Records {
    /// None, as yet.
    ///
    /// # Errors
    /// If the system has no random bytes for a key.
    pub(crate) fn new(config: RecordConfig, process: &str) -> Result<Self, CryptoError> {
        let key = match &config.seal_key {
            Some(key) => key.clone(),
            None => SymmetricKey::generate(sealed_storage::KEY_LENGTH)?,
        };
        Ok(Self {
            config,
            key,
            process: process.to_owned(),
            kept: Mutex::default(),
        })
    }

    /// Whether messages are given out sealed, for those who have the key of the configuration.
    pub(crate) fn gives_sealed(&self) -> bool {
        self.config.seal_key.is_some()
    }

    /// Whether messages are told to an asker at that address: sealed to all, otherwise on this host
    /// alone.
    pub(crate) fn are_for(&self, peer: IpAddr) -> bool {
        self.gives_sealed() || peer.to_canonical().is_loopback()
    }

    /// Whether messages can be explained here to an asker at that address: none that is sealed with
    /// a key of the configuration, and to askers on this host alone.
    pub(crate) fn are_explained_for(&self, peer: IpAddr) -> bool {
        !self.gives_sealed() && self.are_for(peer)
    }

    /// A copy of a message, which takes room of all messages in hand. That of a package is a file
    /// that begins with a header; `package` is its `Content-Type`.
    pub(crate) fn copy(
        &self,
        message: &[u8],
        package: Option<&str>,
        budget: &Arc<MemoryBudget>,
    ) -> MessageCopy {
        let header = package.map(|content_type| {
            format!("MIME-Version: 1.0\r\nContent-Type: {content_type}\r\n\r\n")
        });
        let header = header.unwrap_or_default();
        let length = header.len() + message.len();
        let without = |why| MessageCopy {
            length,
            bytes: Err(why),
            _room: None,
        };
        if length > self.config.largest {
            return without("it is larger than `record.largest`");
        }
        let mut room = budget.reserve();
        match room.grow(length as u64) {
            true => MessageCopy {
                length,
                bytes: Ok([header.as_bytes(), message].concat()),
                _room: Some(room),
            },
            false => without("there was no room for a copy of it"),
        }
    }

    /// Keeps a message that was refused, and returns the id of its record. The oldest make room.
    pub(crate) fn add(&self, message: MessageCopy, refused: Refused) -> String {
        let id = {
            let mut kept = self.kept();
            kept.next += 1;
            format!("{}-r{:x}", self.process, kept.next)
        };
        let content = message.bytes.and_then(|bytes| self.sealed(&id, &bytes));
        let record = Arc::new(Record {
            id: id.clone(),
            time: Timestamp::now(),
            refused,
            bytes: message.length,
            content,
        });
        let mut kept = self.kept();
        kept.bytes += record.size();
        kept.records.push_back(record);
        while kept.records.len() > self.config.refused || kept.bytes > self.config.room {
            let Some(oldest) = kept.records.pop_front() else {
                break;
            };
            kept.bytes -= oldest.size();
        }
        id
    }

    fn sealed(&self, id: &str, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        // Looked at whatever the configuration says: the time depends on the bytes alone.
        let is_clear = clear::holds_content(bytes);
        if is_clear && !self.config.plaintext {
            return Err("it holds content in the clear, and `record.plaintext` is not set");
        }
        sealed_storage::seal(&self.key, id.as_bytes(), bytes)
            .map_err(|_| "the key of the process has sealed as much as it may")
    }

    /// All records, without their messages, the last one first.
    pub(crate) fn list(&self) -> Value {
        let records: Vec<Arc<Record>> = self.kept().records.iter().rev().cloned().collect();
        records.iter().map(|record| record.fields()).collect()
    }

    /// A record with its message, in base64.
    pub(crate) fn find(&self, id: &str) -> Option<Value> {
        let record = self.record(id)?;
        let mut fields = record.fields();
        if let Ok(sealed) = &record.content {
            let message = match self.gives_sealed() {
                true => base64::encode(sealed),
                false => {
                    let opened = sealed_storage::open(&self.key, id.as_bytes(), sealed).ok()?;
                    base64::encode(opened.expose())
                }
            };
            fields["sealed"] = self.gives_sealed().into();
            fields["message"] = message.into();
        }
        Some(fields)
    }

    /// The message of a record as it arrived, and when it was refused; `None` if there is no such
    /// record.
    ///
    /// # Errors
    /// Why the message is not told.
    pub(crate) fn message(&self, id: &str) -> Option<Result<(Timestamp, Vec<u8>), &'static str>> {
        let record = self.record(id)?;
        let sealed = match (&record.content, self.gives_sealed()) {
            (Err(why), _) => return Some(Err(why)),
            (Ok(_), true) => return Some(Err("it is sealed with `record.seal_key`")),
            (Ok(sealed), false) => sealed,
        };
        let opened = sealed_storage::open(&self.key, id.as_bytes(), sealed).ok()?;
        Some(Ok((record.time, opened.expose().clone())))
    }

    fn record(&self, id: &str) -> Option<Arc<Record>> {
        let kept = self.kept();
        kept.records.iter().find(|record| record.id == id).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// Bytes that it takes.
    fn size(&self) -> usize {
        let Refused { route, request, .. } = &self.refused;
        let names = self.id.len() + route.len() + request.len();
        names + self.content.as_ref().map_or(0, Vec::len) + size_of::<Self>()
    }

    fn fields(&self) -> Value {
        let mut fields = json!({
            "id": self.id,
            "time": self.time.to_string(),
            "route": self.refused.route,
            "request": self.refused.request,
            "direction": self.refused.direction.name(),
            "reason": self.refused.reason,
            "cause": self.refused.cause,
            "bytes": self.bytes,
        });
        if let Err(why) = self.content {
            fields["not_kept"] = why.into();
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEALED: &[u8] = br#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><x:EncryptedData xmlns:x="http://www.w3.org/2001/04/xmlenc#"/></s:Body></s:Envelope>"#;
    const CLEAR: &[u8] = br#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><a>secret</a></s:Body></s:Envelope>"#;

    fn config() -> RecordConfig {
        RecordConfig {
            refused: 3,
            room: 1 << 20,
            largest: 4096,
            plaintext: false,
            seal_key: None,
        }
    }

    fn refused() -> Refused {
        Refused {
            route: "/echo".to_owned(),
            request: "one".to_owned(),
            direction: Direction::Inbound,
            reason: "decryption-failed",
            cause: "digest-mismatch",
        }
    }

    fn added(records: &Records, message: &[u8]) -> String {
        let copy = records.copy(message, None, &MemoryBudget::new(1 << 20));
        records.add(copy, refused())
    }

    #[test]
    fn the_last_ones_are_kept_within_their_room() {
        let records = Records::new(config(), "p").expect("a key");
        let ids: Vec<String> = (0..5).map(|_| added(&records, SEALED)).collect();
        assert_eq!(records.find(&ids[1]), None);
        let record = records.find(&ids[4]).expect("the last one");
        assert_eq!(record["message"], base64::encode(SEALED));
        assert_eq!(record["sealed"], false);
        assert_eq!(record["direction"], "inbound");
        assert_eq!(records.list().as_array().map(Vec::len), Some(3));
        let small = RecordConfig {
            room: 2 * (SEALED.len() + 28 + size_of::<Record>() + 32),
            ..config()
        };
        let records = Records::new(small, "p").expect("a key");
        (0..5).for_each(|_| drop(added(&records, SEALED)));
        assert_eq!(records.list().as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn content_in_the_clear_is_kept_only_where_the_file_says_so() {
        let records = Records::new(config(), "p").expect("a key");
        let record = records.find(&added(&records, CLEAR)).expect("its record");
        assert_eq!(record.get("message"), None);
        let why = "it holds content in the clear, and `record.plaintext` is not set";
        assert_eq!(record["not_kept"], why);
        let said = RecordConfig {
            plaintext: true,
            ..config()
        };
        let records = Records::new(said, "p").expect("a key");
        let record = records.find(&added(&records, CLEAR)).expect("its record");
        assert_eq!(record["message"], base64::encode(CLEAR));
        // In memory it is sealed all the same.
        let kept = records.kept();
        let sealed = kept.records[0].content.as_ref().expect("a message");
        assert!(!sealed.windows(6).any(|six| six == b"secret"));
    }

    #[test]
    fn a_key_of_the_configuration_opens_what_is_given_out() {
        let key = SymmetricKey::new(vec![7; 32]).expect("a key");
        let sealing = RecordConfig {
            seal_key: Some(key.clone()),
            ..config()
        };
        let records = Records::new(sealing, "p").expect("a key");
        let id = added(&records, SEALED);
        let record = records.find(&id).expect("its record");
        assert_eq!(record["sealed"], true);
        let message = record["message"].as_str().expect("base64");
        let sealed = base64::decode_xml_to_vec(message.as_bytes()).expect("base64");
        let opened = sealed_storage::open(&key, id.as_bytes(), &sealed).expect("the key");
        assert_eq!(opened.expose(), SEALED);
        let told = records.message(&id).expect("its record");
        assert_eq!(told, Err("it is sealed with `record.seal_key`"));
    }

    #[test]
    fn messages_are_explained_on_this_host_and_where_they_are_not_sealed() {
        let (here, elsewhere) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([10, 0, 0, 1]));
        let records = Records::new(config(), "p").expect("a key");
        assert!(records.are_explained_for(here) && !records.are_explained_for(elsewhere));
        let sealing = RecordConfig {
            seal_key: SymmetricKey::new(vec![7; 32]).ok(),
            ..config()
        };
        let records = Records::new(sealing, "p").expect("a key");
        assert!(!records.are_explained_for(here) && !records.are_explained_for(elsewhere));
    }

    #[test]
    fn a_large_message_and_one_without_room_are_not_kept() {
        let records = Records::new(config(), "p").expect("a key");
        let large = records
            .find(&added(&records, &[b'x'; 4097]))
            .expect("a record");
        assert_eq!(large["not_kept"], "it is larger than `record.largest`");
        assert_eq!(large["bytes"], 4097);
        let budget = MemoryBudget::new(10);
        let copy = records.copy(SEALED, None, &budget);
        assert_eq!(budget.taken(), 0);
        let id = records.add(copy, refused());
        let record = records.find(&id).expect("a record");
        assert_eq!(record["not_kept"], "there was no room for a copy of it");
    }
}
