//! What a WSDL says of a service: where it is, what its messages look like, and what its policy
//! demands of keys and users.
//!
//! The rule kept here: a demand that the files could not meet is told before anything is written.

use std::cell::RefCell;
use std::path::{Component, Path};
use std::time::Duration;

use http::Uri;
use soapstone::config::read_beside;
use soapstone::policy::{
    Agreement, Agreements, CompileOptions, PolicyDocument, PolicyLimits, SampleCall, SampleCalls,
    Selection,
};
use soapstone::wss::{KeyBinding, Policy, SoapVersion};
use soapstone_gateway::{backend_url, fetch_document};

use super::uses::Uses;
use crate::failure::Failure;
use crate::files;
use crate::runtime;

/// What the WSDL is called in the folder.
pub(super) const WSDL: &str = "service.wsdl";

/// How long a server may take for a document.
const PATIENCE: Duration = Duration::from_secs(30);

/// A WSDL, as far as files are made from it.
pub(super) struct Contract {
    /// Where the service is.
    pub(super) address: Option<Uri>,
    /// What its policy demands, if it has one.
    pub(super) policy: Option<AgreedPolicy>,
    /// A call of an operation.
    pub(super) call: Option<SampleCall>,
}

/// The policy of a port, and the files that say it.
pub(super) struct AgreedPolicy {
    /// The WSDL, and the files beside it that it refers to: names and contents.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// The port, where the WSDL has several.
    pub(super) port: Option<String>,
    /// Keys and users that it takes.
    pub(super) uses: Uses,
}

impl Contract {
    /// Reads a WSDL: a file, or what an `http` or `https` URL gives.
    ///
    /// # Errors
    /// [`Failure`] if it cannot be read, has no such port, or demands what the files could not
    /// meet.
    pub(super) fn read(named: &str, port: Option<&str>) -> Result<Self, Failure> {
        let limits = PolicyLimits::default();
        let source = Source::of(named)?;
        let bytes = source.read(limits.document)?;
        let beside = RefCell::new(Vec::new());
        let resolve = |uri: &str| {
            let found = source.beside(uri, limits.document)?;
            beside.borrow_mut().push((uri.to_owned(), found.clone()));
            Some(found)
        };
        let failed = |error: &dyn std::fmt::Display| Failure::new(format_args!("{named}: {error}"));
        let document = PolicyDocument::parse_with(bytes.clone(), &limits, &resolve)
            .map_err(|error| failed(&error))?;
        let subjects = document.subjects().map_err(|error| failed(&error))?;
        let is_meant =
            |name: &Option<String>| port.is_none_or(|port| name.as_deref() == Some(port));
        let ports = subjects.iter().filter(|subject| subject.soap.is_some());
        let ports = ports.filter(|subject| is_meant(&subject.port));
        let mut names: Vec<&String> = ports.filter_map(|subject| subject.port.as_ref()).collect();
        names.dedup();
        let Some(first) = names.first() else {
            let known = subjects
                .iter()
                .filter_map(|subject| subject.port.as_deref());
            let mut known: Vec<&str> = known.collect();
            known.dedup();
            let problem = match port {
                Some(port) => format!("no SOAP port is called {port}"),
                None => "it has no port over SOAP".to_owned(),
            };
            let failure = failed(&problem);
            return Err(match known.as_slice() {
                [] => failure,
                known => failure.with_hint(format!("its ports: {}", known.join(", "))),
            });
        };
        let chosen = (*first).clone();
        let selection = Selection {
            port: Some(chosen.clone()),
            ..Selection::default()
        };
        let agreements = document.agreements(&selection, &CompileOptions::default());
        let agreements = match agreements.map_err(|error| failed(&error))? {
            Agreements::One(agreement) => vec![*agreement],
            Agreements::ByOperation(table) => table.agreements,
        };
        let address = document
            .address(&selection)
            .map_err(|error| failed(&error))?;
        let address = address.and_then(|address| backend_url(&address).ok());
        let is_protected = agreements
            .iter()
            .any(|agreement| !agreement.request.demands_nothing() || agreement.transport.is_some());
        let policy = match is_protected {
            false => None,
            true => Some(AgreedPolicy {
                uses: uses(&agreements).map_err(|problem| {
                    failed(&problem)
                        .with_hint("write the endpoint file by hand: docs/configure-from-a-wsdl.md")
                })?,
                port: (names.len() > 1 || port.is_some()).then_some(chosen.clone()),
                files: copies(named, bytes.clone(), beside.into_inner())?,
            }),
        };
        let ours = |uri: &str| source.beside(uri, limits.document);
        // A WSDL whose requests cannot be made is one that can be used.
        let calls = SampleCalls::read(bytes, &ours, Some(&chosen)).ok();
        let call = calls.and_then(|calls| {
            let mut made = calls.operations().iter();
            let first = calls.operations().first();
            made.find(|call| call.request.is_ok()).or(first).cloned()
        });
        Ok(Self {
            address,
            policy,
            call,
        })
    }

    /// The call, if a request could be made.
    pub(super) fn made(&self) -> Option<&SampleCall> {
        self.call.as_ref().filter(|call| call.request.is_ok())
    }

    /// The version of SOAP that its service speaks.
    pub(super) fn version(&self) -> SoapVersion {
        self.call.as_ref().map_or(SoapVersion::V11, |it| it.version)
    }
}

/// Where documents come from.
enum Source<'s> {
    File(&'s Path),
    Url(&'s str),
}

impl<'s> Source<'s> {
    fn of(named: &'s str) -> Result<Self, Failure> {
        let is_url = ["http://", "https://"].iter().any(|scheme| {
            let start = named.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        if is_url {
            return Ok(Self::Url(named));
        }
        if named.is_empty() {
            return Err(Failure::new(
                "--wsdl: expected a file or a URL, found nothing",
            ));
        }
        Ok(Self::File(Path::new(named)))
    }

    fn read(&self, most: usize) -> Result<Vec<u8>, Failure> {
        match self {
            Self::File(path) => files::read_at_most(Some(path), most),
            Self::Url(url) => {
                fetched(url, most).map_err(|problem| Failure::new(format_args!("{url}: {problem}")))
            }
        }
    }

    /// A document that the first one names: by a relative path beside a file, from the same server
    /// otherwise. Other servers are not asked.
    fn beside(&self, uri: &str, most: usize) -> Option<Vec<u8>> {
        match self {
            Self::File(path) => read_beside(path, uri, most),
            Self::Url(url) => fetched(&same_server(url, uri)?, most).ok(),
        }
    }
}

/// The URL of a document that another one names, if the same server has it.
fn same_server(base: &str, reference: &str) -> Option<String> {
    let base: Uri = base.parse().ok()?;
    let origin = format!("{}://{}", base.scheme_str()?, base.authority()?);
    if reference.contains("://") {
        let named: Uri = reference.parse().ok()?;
        let same = named.scheme() == base.scheme() && named.authority() == base.authority();
        return same.then(|| reference.to_owned());
    }
    if reference.starts_with("//") {
        return None;
    }
    if reference.starts_with('/') {
        return Some(format!("{origin}{reference}"));
    }
    if reference.starts_with('?') {
        return Some(format!("{origin}{}{reference}", base.path()));
    }
    let folder = base
        .path()
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    Some(format!("{origin}{folder}/{reference}"))
}

fn fetched(url: &str, most: usize) -> Result<Vec<u8>, String> {
    let runtime = runtime::multi_threaded().map_err(|failure| failure.to_string())?;
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let document = runtime.block_on(fetch_document(url, PATIENCE, most));
    document.map_err(|problem| problem.to_string())
}

/// The files of a policy, as they are called in the folder.
fn copies(
    named: &str,
    wsdl: Vec<u8>,
    beside: Vec<(String, Vec<u8>)>,
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = vec![(WSDL.to_owned(), wsdl)];
    for (uri, bytes) in beside {
        let mut parts = Path::new(&uri).components();
        let is_name = matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(_)), None)
        );
        if !is_name || uri.contains(['?', ':']) {
            let message = format!("{named}: its policy is in {uri}, which the folder cannot have");
            return Err(
                Failure::new(message).with_hint("put both into one folder, and name the file")
            );
        }
        if !files.iter().any(|(known, _)| *known == uri) {
            files.push((uri, bytes));
        }
    }
    Ok(files)
}

/// The keys and users that agreements take.
fn uses(agreements: &[Agreement]) -> Result<Uses, String> {
    let bootstraps = agreements.iter().filter_map(|agreement| {
        let conversation = agreement.conversation.as_ref()?;
        conversation.bootstrap.as_deref()
    });
    let mut uses = Uses::default();
    for agreement in agreements.iter().chain(bootstraps) {
        let Agreement {
            request, response, ..
        } = agreement;
        for policy in [request, response] {
            refuse_tokens(policy)?;
        }
        if let Some(conversation) = &agreement.conversation {
            if conversation.bootstrap.is_none() {
                return Err(
                    "both sides of its conversations must have a context already".to_owned(),
                );
            }
            uses.converses = true;
        }
        let by_certificate = |policy: &Policy| {
            policy.signs_with() == Some(KeyBinding::Certificate)
                || policy
                    .endorsing()
                    .any(|token| token.key.kind() == KeyBinding::Certificate)
        };
        let encrypted_to = |policy: &Policy| policy.encryption().map(|encryption| encryption.key);
        uses.client_signs |= by_certificate(request);
        uses.service_signs |= by_certificate(response);
        let wrapped = [KeyBinding::Certificate, KeyBinding::SessionKey];
        uses.service_decrypts |= encrypted_to(request).is_some_and(|key| wrapped.contains(&key))
            || request.uses(KeyBinding::SessionKey);
        let to_client = encrypted_to(response) == Some(KeyBinding::Certificate);
        uses.client_decrypts |= to_client;
        uses.answers_unknown |= to_client && !by_certificate(request);
        uses.users |= request.username().is_some()
            || request.uses(KeyBinding::Password)
            || agreement.http_basic.is_some();
        if let Some(transport) = agreement.transport {
            uses.tls = true;
            uses.tls_client |= transport.client_certificate;
        }
    }
    Ok(uses)
}

/// Refuses tokens that somebody else must make.
fn refuse_tokens(policy: &Policy) -> Result<(), String> {
    let what = if policy.assertion().is_some() {
        "a SAML assertion"
    } else if policy.kerberos().is_some() {
        "a Kerberos token"
    } else if policy.uses(KeyBinding::Shared) {
        "a key that both sides share"
    } else {
        return Ok(());
    };
    Err(format!(
        "its policy demands {what}, which only the parties can provide"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_from_the_same_server_alone() {
        let of = |reference| same_server("http://a.example:81/x/s?wsdl", reference);
        let same = |path: &str| Some(format!("http://a.example:81{path}"));
        assert_eq!(of("one.xsd"), same("/x/one.xsd"));
        assert_eq!(of("?xsd=1"), same("/x/s?xsd=1"));
        assert_eq!(of("/y/one.xsd"), same("/y/one.xsd"));
        assert_eq!(of("http://a.example:81/z"), same("/z"));
        for other in [
            "http://b.example/z",
            "https://a.example:81/z",
            "//b.example/z",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
