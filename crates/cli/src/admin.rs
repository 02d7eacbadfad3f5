//! Answers of admin listeners: those of gateways, and of the log of calls of a registry.
//!
//! The rule kept here: one request to the address that was named, and no redirect is followed. The
//! server of `https` is always checked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use soapstone_store::server_trust::ServerTrust;

use crate::failure::Failure;
use crate::files;

/// How long a listener may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the longest answer: the largest message in base64, and its fields.
const LARGEST: u64 = 16 << 20;

/// Bytes of the largest file with a certificate or a key.
const LARGEST_FILE: usize = 1 << 20;

/// What a listener is shown, and whom it must be: names of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'f> {
    /// The token of the listener.
    pub token: Option<&'f Path>,
    /// The certificate that is shown to a listener of TLS, and its chain, in PEM.
    pub certificate: Option<&'f Path>,
    /// The private key of the certificate, in PEM without a password.
    pub key: Option<&'f Path>,
    /// The authorities, or the very certificate, of a listener of TLS; the system's authorities
    /// without it.
    pub authorities: Option<&'f Path>,
}

/// The options of commands that ask the admin listener of a gateway. The option with its address
/// has the id [`ADDRESS`].
#[derive(Debug, Default, clap::Args)]
pub(crate) struct AdminOptions {
    /// File with the token of the gateway's `admin`
    #[arg(long, value_name = "FILE", requires = ADDRESS)]
    token_file: Option<PathBuf>,
    /// File with the certificate that is shown to the gateway's `admin`, and its chain, in PEM
    #[arg(long, value_name = "FILE", requires_all = [ADDRESS, "key"])]
    cert: Option<PathBuf>,
    /// File with the private key of --cert, in PEM without a password
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// File with the authorities, or the very certificate, of the gateway's `admin`; the system's
    /// authorities without it
    #[arg(long, value_name = "FILE", requires = ADDRESS)]
    ca: Option<PathBuf>,
}

/// The id of the option that names the address of an admin listener.
pub(crate) const ADDRESS: &str = "admin-address";

impl AdminOptions {
    /// What these options say.
    pub(crate) fn credentials(&self) -> Credentials<'_> {
        Credentials {
            token: self.token_file.as_deref(),
            certificate: self.cert.as_deref(),
            key: self.key.as_deref(),
            authorities: self.ca.as_deref(),
        }
    }
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

/// The body of an answer with status 200 to a request for that path.
///
/// # Errors
/// [`Failure`] when there is no such answer, or when files of the credentials cannot be read.
pub fn get(gateway: &str, path: &str, shown: Credentials<'_>) -> Result<Vec<u8>, Failure> {
    let uri: Option<Uri> = gateway.parse().ok();
    let is_known = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let uri = uri.filter(|uri| is_known(uri) && uri.host().is_some());
    let Some(uri) = uri else {
        let message = format!("`{gateway}` is no address of an admin listener");
        return Err(Failure::new(message).with_hint("for example http://127.0.0.1:9901"));
    };
    let is_tls = uri.scheme_str() == Some("https");
    if !is_tls && (shown.certificate.is_some() || shown.authorities.is_some()) {
        let message = format!("`{gateway}` speaks no TLS, and certificates are named");
        return Err(Failure::new(message).with_hint("name the listener with https://"));
    }
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let failed = |error: std::io::Error| Failure::new(format_args!("{gateway}: {error}"));
    // HTTP/1.0: the answer ends with the connection, and is in one piece.
    let authorization = shown.token.map(authorization);
    let authorization = authorization.transpose()?.unwrap_or_default();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{authorization}\r\n");
    let tls = is_tls.then(|| tls(gateway, bare, shown)).transpose()?;
    let stream = TcpStream::connect((bare, port)).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let answer = match tls {
        Some(tls) => exchanged(StreamOwned::new(tls, stream), &request),
        None => exchanged(stream, &request),
    };
    body(gateway, answer.map_err(failed)?)
}

/// Sends a request, and reads its answer to the end.
fn exchanged(mut stream: impl Read + Write, request: &str) -> std::io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer)?;
    Ok(answer)
}

/// TLS towards a listener: it has that name, and an authority that is known.
fn tls(gateway: &str, host: &str, shown: Credentials<'_>) -> Result<ClientConnection, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::new(format_args!("{gateway}: {why}"));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let trust = match shown.authorities {
        Some(file) => ServerTrust::named(&provider, certificates(file)?),
        None => ServerTrust::of_the_system(&provider),
    };
    let trust = trust.map_err(|why| failed(&why))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| failed(&why))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let config = match (shown.certificate, shown.key) {
        (Some(certificate), Some(file)) => {
            let bytes = files::read_at_most(Some(file), LARGEST_FILE)?;
            let key = PrivateKeyDer::from_pem_slice(&bytes);
            let hint = "openssl pkey -in KEY -out NEWKEY writes one";
            let expected = "expected a private key in PEM without a password";
            let key = key.map_err(|_| Failure::file(file, expected).with_hint(hint))?;
            let made = builder.with_client_auth_cert(certificates(certificate)?, key);
            made.map_err(|why| Failure::file(certificate, why))?
        }
        _ => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|why| failed(&why))?;
    ClientConnection::new(Arc::new(config), name).map_err(|why| failed(&why))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let bytes = files::read_at_most(Some(file), LARGEST_FILE)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(Failure::file(file, "expected certificates in PEM")),
    }
}

/// The body of an answer with status 200.
fn body(gateway: &str, mut answer: Vec<u8>) -> Result<Vec<u8>, Failure> {
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
