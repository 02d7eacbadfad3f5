//! Answers of admin listeners: those of gateways, and of the log of calls of a registry.
//!
//! The rule kept here: one request to the address that was named, and no redirect is followed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use http::Uri;

use crate::failure::Failure;
use crate::files;

/// How long a listener may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the longest answer: the largest message in base64, and its fields.
const LARGEST: u64 = 16 << 20;

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

/// The body of an answer with status 200 to a request for that path. `token` is the file with the
/// token of the listener.
///
/// # Errors
/// [`Failure`] when there is no such answer.
pub fn get(gateway: &str, path: &str, token: Option<&Path>) -> Result<Vec<u8>, Failure> {
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
