//! `[tls]` and `tls` of a route: TLS towards clients and towards backends.
//!
//! The rule kept here: TLS 1.2 and 1.3 with the provider's safe defaults, and a peer's certificate
//! is always checked; there is no switch that turns the check off.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use soapstone::config::{
    Document, LoadedFile, Place, Problem, RevocationConfig, Table, TlsFiles, TlsKey,
};
use soapstone::crypto::trust::OnlineRevocation;
use soapstone::endpoint::ExpiringFile;
use soapstone_store::server_trust::ServerTrust;
use soapstone_store::tls_revocation::{RulesError, TlsRevocation};

use super::client_trust::ClientTrust;
use super::tls_identity::{Identity, certificates};
use super::tls_turns::Turns;

/// What a handshake with a client takes.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(crate) rules: Arc<ServerConfig>,
    pub(crate) turns: Turns,
}

/// TLS as clients find it: what `[tls]` of a gateway or of a registry says.
pub struct ServerTls {
    pub(crate) answering: Answering,
    /// Whether a client can show a certificate.
    pub(crate) asks_for_certificate: bool,
    /// Whether a client must show a certificate.
    pub(crate) demands_certificate: bool,
    /// Whose certificates clients can show.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    /// Those that clients are shown.
    pub(crate) certificates: Vec<ExpiringFile>,
    /// What asks whether the certificates of clients were revoked.
    pub(crate) revocation: Option<Arc<TlsRevocation>>,
}

impl ServerTls {
    /// Whether a client must show a certificate.
    pub fn demands_certificate(&self) -> bool {
        self.demands_certificate
    }
}

/// TLS towards a backend.
#[derive(Clone)]
pub(crate) struct ClientTls {
    pub(crate) config: Arc<ClientConfig>,
    /// Whose turn it is to show our certificate.
    pub(crate) turns: Turns,
    pub(crate) server_name: ServerName<'static>,
    /// Those that the backend is shown.
    pub(crate) certificates: Vec<ExpiringFile>,
    /// What asks whether the backend's certificate was revoked.
    pub(crate) revocation: Option<Arc<TlsRevocation>>,
}

impl ClientTls {
    /// What of it asks: a cache is to be attached.
    pub(crate) fn online(&self) -> Option<&Arc<OnlineRevocation>> {
        self.revocation.as_ref()?.online()
    }
}

/// Reads `[tls]`: `certificate`, `key` or `pkcs11`, and `client_ca` with `client_auth` and
/// `revocation` for mutual TLS.
///
/// `None` when something is wrong, which is reported to the table's document.
pub fn read_server(mut table: Table<'_>) -> Option<ServerTls> {
    let (certificate_hint, key_hint) = (
        "name a PEM file with the certificate and its chain",
        "name a PEM file with the certificate's private key",
    );
    for (key, is_there, hint) in [
        ("certificate", table.has("certificate"), certificate_hint),
        ("key", TlsKey::is_named(&table), key_hint),
    ] {
        if !is_there {
            table.missing(key, hint);
        }
    }
    let certificate = table.file("certificate");
    let key = TlsKey::read(&mut table);
    let client_ca = table.files("client_ca");
    let required = table.choice("client_auth", &[("required", true), ("optional", false)]);
    if let (Some(required), None) = (&required, &client_ca) {
        let hint =
            "name the certificates that issue your clients' certificates: client_ca = [\"ca.pem\"]";
        table.report_with_hint(required.place, "`client_auth` needs `client_ca`", hint);
    }
    let asks_for_certificate = client_ca.is_some();
    let demands_certificate =
        asks_for_certificate && required.as_ref().is_none_or(|required| required.value);
    let identity = Identity::read(table.document(), certificate, key);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let revocation = table.table("revocation").map(RevocationConfig::read);
    if let (Some(revocation), None) = (&revocation, &client_ca) {
        table.report(
            revocation.place,
            "`revocation` is about the certificates of clients, and there is no `client_ca`",
        );
    }
    let verifier = client_ca.map(|files| {
        let is_optional = required.is_some_and(|required| !required.value);
        client_verifier(&table, &files, is_optional, revocation.as_ref(), &provider)
    });
    let place = table.place();
    let file = table.document().file().to_path_buf();
    let document = table.document();
    table.finish();
    let mut identity = identity?;
    let certificates = std::mem::take(&mut identity.certificates);
    let turns = identity.turns.clone();
    let verifier = match verifier {
        Some(verifier) => Some(verifier?),
        None => None,
    };
    let asked = verifier.as_ref().and_then(|(_, asked)| asked.clone());
    let authorities = verifier
        .as_ref()
        .map(|(trust, _)| trust.authorities().to_vec());
    let built = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            let builder = match verifier {
                Some((verifier, _)) => builder.with_client_cert_verifier(verifier),
                None => builder.with_no_client_auth(),
            };
            Ok(builder.with_cert_resolver(identity.certified(&provider)?))
        });
    match built {
        Ok(mut config) => {
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            if asked.is_some() {
                // A client that resumes a session shows no certificate: one that was revoked since
                // would go on.
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            Some(ServerTls {
                answering: Answering {
                    rules: Arc::new(config),
                    turns,
                },
                asks_for_certificate,
                demands_certificate,
                authorities: authorities.unwrap_or_default(),
                certificates,
                revocation: asked,
            })
        }
        Err(error) => {
            document.report(
                Problem::new(
                    &file,
                    place,
                    format!("the certificate and the key cannot be used: {error}"),
                )
                .with_hint(
                    "the key must be the one that the file's first certificate was issued for",
                ),
            );
            None
        }
    }
}

/// What verifies clients, and what of it asks about revocation.
type ClientVerifier = (Arc<ClientTrust>, Option<Arc<TlsRevocation>>);

/// Whom `client_ca` lets in. `None` when something is wrong, which is reported.
fn client_verifier(
    table: &Table<'_>,
    files: &[LoadedFile],
    is_optional: bool,
    revocation: Option<&RevocationConfig>,
    provider: &Arc<CryptoProvider>,
) -> Option<ClientVerifier> {
    let place = table.place_of("client_ca").unwrap_or_default();
    let (roots, named) = roots_of(table.document(), files, place)?;
    let roots = Arc::new(roots);
    let mut builder = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider));
    if is_optional {
        builder = builder.allow_unauthenticated();
    }
    let paths = builder
        .build()
        .map_err(|error| table.report(place, format!("`client_ca` cannot be used: {error}")))
        .ok()?;
    let asked = revocation.map(|revocation| {
        let asked = TlsRevocation::new(revocation.rules(), &named, &[]);
        asked.map_err(|why| report_rules(table.document(), revocation, &why))
    });
    let asked = match asked {
        Some(asked) => Some(Arc::new(asked.ok()?)),
        None => None,
    };
    let trust = ClientTrust::new(paths, named, asked.clone());
    Some((Arc::new(trust), asked))
}

fn report_rules(document: &Document<'_>, revocation: &RevocationConfig, why: &RulesError) {
    let problem = Problem::new(document.file(), revocation.place, why.to_string());
    document.report(match why {
        RulesError::Unaskable { .. } => problem.with_hint(
            "name the issuer's certificate, too, or accept certificates unasked: fail = \"soft\"",
        ),
        _ => problem,
    });
}

/// Reads a route's `tls` table for a backend behind `https`: `ca` (the system's when absent),
/// `pinned`, `revocation`, `certificate` and `key` or `pkcs11` (mutual TLS), and `server_name` (the
/// URL's host when absent). Without a table everything is as absent.
pub(crate) fn read_client(
    table: Option<Table<'_>>,
    host: &str,
    report: &dyn Fn(String),
) -> Option<ClientTls> {
    match table {
        None => client(None, host, report),
        Some(table) => {
            let document = table.document();
            let files = TlsFiles::read(table)?;
            client(Some((document, &files)), host, report)
        }
    }
}

/// TLS towards a server, with the files of a table.
pub(crate) fn client(
    files: Option<(&Document<'_>, &TlsFiles)>,
    host: &str,
    report: &dyn Fn(String),
) -> Option<ClientTls> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions();
    let builder = builder
        .map_err(|error| report(format!("TLS cannot be used: {error}")))
        .ok()?;
    let (trust, identity, name) = match files {
        None => (
            believed(ServerTrust::of_the_system(&provider), None),
            None,
            None,
        ),
        Some((document, files)) => {
            let trust = server_trust(document, files, &provider)?;
            let (certificate, key) = (files.certificate.clone(), files.key.clone());
            let identity = Identity::read(document, certificate, key);
            if files.names_certificate && identity.is_none() {
                return None;
            }
            let name = files.server_name.as_ref();
            (trust, identity, name.map(|name| name.value.clone()))
        }
    };
    let (trust, revocation) = trust
        .map_err(|error| report(format!("the backend's TLS cannot be checked: {error}")))
        .ok()?;
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let config = match identity {
        None => Ok((builder.with_no_client_auth(), Vec::new(), Turns::default())),
        Some(mut identity) => {
            let certificates = std::mem::take(&mut identity.certificates);
            let turns = identity.turns.clone();
            let shown = identity.certified(&provider);
            shown.map(|shown| {
                let config = builder.with_client_cert_resolver(shown);
                (config, certificates, turns)
            })
        }
    };
    let (mut config, certificates, turns) = config
        .map_err(|error| report(format!("the client certificate cannot be used: {error}")))
        .ok()?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if revocation.is_some() {
        // A server that resumes a session shows no certificate.
        config.resumption = Resumption::disabled();
    }
    let name = name.unwrap_or_else(|| host.to_owned());
    match ServerName::try_from(name) {
        Ok(server_name) => Some(ClientTls {
            config: Arc::new(config),
            turns,
            server_name,
            certificates,
            revocation,
        }),
        Err(_) => {
            report(
                "the backend's name must be a host name or an address, found neither".to_owned(),
            );
            None
        }
    }
}

/// The authorities of files, and their certificates as they are.
fn roots_of(
    document: &Document<'_>,
    files: &[LoadedFile],
    place: Place,
) -> Option<(RootCertStore, Vec<CertificateDer<'static>>)> {
    let (mut roots, mut named) = (RootCertStore::empty(), Vec::new());
    for file in files {
        for certificate in certificates(document, file)? {
            named.push(certificate.clone());
            if let Err(error) = roots.add(certificate) {
                let message = format!(
                    "a certificate of {} cannot be an anchor: {error}",
                    file.path.display()
                );
                document.report(Problem::new(document.file(), place, message));
                return None;
            }
        }
    }
    Some((roots, named))
}

/// Whom a backend must be, and what asks about revocation.
type Believed = (ServerTrust, Option<Arc<TlsRevocation>>);

fn believed(
    trust: Result<ServerTrust, String>,
    revocation: Option<TlsRevocation>,
) -> Result<Believed, String> {
    let revocation = revocation.map(Arc::new);
    Ok((trust?.asking(revocation.clone()), revocation))
}

/// `ca`, `pinned` and `revocation` of a route's `tls`: the system's authorities where neither of
/// the first two is there, and nobody but the pinned where only they are.
fn server_trust(
    document: &Document<'_>,
    files: &TlsFiles,
    provider: &Arc<CryptoProvider>,
) -> Option<Result<Believed, String>> {
    let read = |files: &Vec<LoadedFile>| {
        let found = files.iter().map(|file| certificates(document, file));
        let found: Option<Vec<_>> = found.collect();
        found.map(|found| found.concat())
    };
    let authorities = match &files.ca {
        Some(files) => Some(read(files)?),
        None => None,
    };
    let pinned = match &files.pinned {
        Some(files) => Some(read(files)?),
        None => None,
    };
    let revocation = match &files.revocation {
        Some(asked) => {
            let (rules, pins) = (asked.rules(), pinned.as_deref().unwrap_or_default());
            let made = match (&authorities, &pinned) {
                (None, None) => TlsRevocation::under_the_system(rules),
                _ => {
                    let authorities = authorities.as_deref().unwrap_or_default();
                    TlsRevocation::new(rules, authorities, pins)
                }
            };
            let made = made.map_err(|why| report_rules(document, asked, &why));
            Some(made.ok()?)
        }
        None => None,
    };
    let trust = match (authorities, pinned) {
        (None, None) => ServerTrust::of_the_system(provider),
        (None, Some(pinned)) => Ok(ServerTrust::pinned(provider, pinned)),
        (Some(authorities), pinned) => ServerTrust::named(provider, authorities)
            .map(|trust| trust.or_pinned(pinned.unwrap_or_default())),
    };
    Some(believed(trust, revocation))
}

#[cfg(test)]
impl Answering {
    /// With a key that somebody holds who does so many operations at once.
    pub(crate) fn with_held(own: &soapstone::crypto::Identity, sessions: usize) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let identity = Identity::held(own, sessions);
        let turns = identity.turns.clone();
        let shown = identity.certified(&provider).expect("it can be used");
        let rules = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("it has them")
            .with_no_client_auth()
            .with_cert_resolver(shown);
        let rules = Arc::new(rules);
        Self { rules, turns }
    }
}
