//! A message that a gateway refused and recorded, fetched from its admin listener.
//!
//! The rule kept here: what is shown is what the gateway kept.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use soapstone::crypto::{SymmetricKey, base64, hexadecimal, sealed_storage};

use crate::admin::{self, Credentials};
use crate::failure::Failure;
use crate::files;

/// A refused message.
pub(super) struct Recorded {
    pub(super) message: Vec<u8>,
    /// When it was refused.
    pub(super) time: Timestamp,
    /// Whether the endpoint that faces the backend refused it: an answer.
    pub(super) is_answer: bool,
}

/// Fetches the message of an id. `seal_key` is the file with the key of the gateway's `record`,
/// and `shown` what its `admin` is shown.
pub(super) fn fetch(
    gateway: &str,
    id: &str,
    seal_key: Option<&Path>,
    shown: Credentials<'_>,
) -> Result<Recorded, Failure> {
    let is_id = |one: char| one.is_ascii_alphanumeric() || one == '-';
    if id.is_empty() || !id.chars().all(is_id) {
        let hint =
            "a line of the log has it as `record`; `/refused` of the admin listener lists all";
        return Err(Failure::new(format_args!("`{id}` is no id of a record")).with_hint(hint));
    }
    let body = admin::get(gateway, &format!("/refused/{id}"), shown)?;
    let unreadable = |what: &str| Failure::new(format_args!("{gateway}: {what}"));
    let record: Value = serde_json::from_slice(&body)
        .map_err(|_| unreadable("the answer is no JSON of a gateway's admin listener"))?;
    let text = |field: &str| record.get(field).and_then(Value::as_str);
    if let Some(why) = text("not_kept") {
        let reason = text("cause").unwrap_or_default();
        let message = format!("the message of {id} ({reason}) was not kept: {why}");
        return Err(Failure::new(message));
    }
    let message = text("message").and_then(|text| base64::decode_xml_to_vec(text.as_bytes()).ok());
    let message = message.ok_or_else(|| unreadable("the answer holds no message"))?;
    let is_sealed = record.get("sealed") == Some(&Value::Bool(true));
    let message = match (is_sealed, seal_key) {
        (false, _) => message,
        (true, Some(file)) => opened(&message, id, file)?,
        (true, None) => {
            let failure = Failure::new("the message is sealed with the key of the gateway's file");
            return Err(failure.with_hint("name the file with the key: --seal-key FILE"));
        }
    };
    let time = text("time").and_then(|time| time.parse().ok());
    Ok(Recorded {
        message,
        time: time.ok_or_else(|| unreadable("the answer says no time"))?,
        is_answer: text("direction") == Some("outbound"),
    })
}

fn opened(sealed: &[u8], id: &str, file: &Path) -> Result<Vec<u8>, Failure> {
    let text = files::read_at_most(Some(file), 4096)?;
    let text = String::from_utf8_lossy(&text);
    let key = hexadecimal::decode(text.trim()).and_then(|bytes| SymmetricKey::new(bytes).ok());
    let key = key
        .filter(|key| key.len() == sealed_storage::KEY_LENGTH)
        .ok_or_else(|| Failure::file(file, "expected 64 hexadecimal digits"))?;
    let message = sealed_storage::open(&key, id.as_bytes(), sealed)
        .map_err(|_| Failure::file(file, "this is not the key that sealed the message"))?;
    Ok(message.expose().clone())
}
