//! A message that a gateway refused and recorded, fetched from its admin listener.
//!
//! The rule kept here: one request to the address that was named, and no redirect is followed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use http::Uri;
use jiff::Timestamp;
use serde_json::Value;
use soapstone::crypto::{SymmetricKey, base64, bound, hexadecimal};

use crate::failure::Failure;
use crate::files;

/// How long the gateway may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the longest answer: the largest message in base64, and its fields.
const LARGEST: u64 = 16 << 20;

/// A refused message.
pub(super) struct Recorded {
    pub(super) message: Vec<u8>,
    /// When it was refused.
    pub(super) time: Timestamp,
    /// Whether the endpoint that faces the backend refused it: an answer.
    pub(super) is_answer: bool,
}

/// Fetches the message of an id. `seal_key` is the file with the key of the gateway's `record`,
/// and `token` the one with the token of its `admin`.
pub(super) fn fetch(
    gateway: &str,
    id: &str,
    seal_key: Option<&Path>,
    token: Option<&Path>,
) -> Result<Recorded, Failure> {
    let is_id = |one: char| one.is_ascii_alphanumeric() || one == '-';
    if id.is_empty() || !id.chars().all(is_id) {
        let hint =
            "a line of the log has it as `record`; `/refused` of the admin listener lists all";
        return Err(Failure::new(format_args!("`{id}` is no id of a record")).with_hint(hint));
    }
    let body = get(gateway, &format!("/refused/{id}"), token)?;
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
        .filter(|key| key.len() == bound::KEY_LENGTH)
        .ok_or_else(|| Failure::file(file, "expected 64 hexadecimal digits"))?;
    let message = bound::open(&key, id.as_bytes(), sealed)
        .map_err(|_| Failure::file(file, "this is not the key that sealed the message"))?;
    Ok(message.expose().clone())
}

/// The header that shows the token of a file.
fn authorization(file: &Path) -> Result<String, Failure> {
    let text = files::read_at_most(Some(file), 4096)?;
    let text = String::from_utf8_lossy(&text);
    let token = text.trim();
    if token.is_empty() || !token.chars().all(|one| one.is_ascii_graphic()) {
        return Err(Failure::file(file, "expected a token: one word of ASCII"));
    }
    Ok(format!("Authorization: Bearer {token}\r\n"))
}

/// The body of an answer with status 200.
fn get(gateway: &str, path: &str, token: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let uri: Option<Uri> = gateway.parse().ok();
    let uri = uri.filter(|uri| uri.scheme_str() == Some("http") && uri.host().is_some());
    let Some(uri) = uri else {
        let message = format!("`{gateway}` is no address of an admin listener");
        return Err(Failure::new(message).with_hint("for example http://127.0.0.1:9901"));
    };
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(80);
    let failed = |error: std::io::Error| Failure::new(format_args!("{gateway}: {error}"));
    let mut stream = TcpStream::connect((bare, port)).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    // HTTP/1.0: the answer ends with the connection, and is in one piece.
    let authorization = token.map(authorization).transpose()?.unwrap_or_default();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    let mut bounded = stream.take(LARGEST);
    bounded.read_to_end(&mut answer).map_err(failed)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else {
        return Err(Failure::new(format_args!(
            "{gateway}: the answer is no HTTP"
        )));
    };
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer);
    let status = head.split(' ').nth(1).unwrap_or_default();
    match status {
        "200" => Ok(body),
        "401" => {
            let failure = Failure::new(format_args!("{gateway} wants the token of its `admin`"));
            Err(failure.with_hint("name the file with the token: --token-file FILE"))
        }
        other => {
            let said = String::from_utf8_lossy(&body);
            let said: String = said.trim().chars().take(200).collect();
            Err(Failure::new(format_args!(
                "{gateway} answered {other}: {said}"
            )))
        }
    }
}
