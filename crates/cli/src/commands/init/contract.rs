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
    CompileOptions, ExchangePolicies, ExchangePolicy, PolicyDocument, PolicyLimits, SampleCall,
    SampleCalls, Selection,
};
use soapstone::wss::{AssertionProtection, KeyBinding, Policy, SoapVersion};
use soapstone_gateway::{NotABackend, Unfetched, backend_url, fetch_document};
use tokio::runtime::Runtime;

use super::foreign::Foreign;
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
    /// Where the service is, or why a gateway cannot send there.
    pub(super) address: Option<Result<Uri, NotABackend>>,
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
        let documents = Documents::of(named, limits.document)?;
        let bytes = documents.first()?;
        let resolve = |uri: &str| documents.beside(uri);
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
            ExchangePolicies::One(agreement) => vec![*agreement],
            ExchangePolicies::ByOperation(table) => table.agreements,
        };
        let address = document
            .address(&selection)
            .map_err(|error| failed(&error))?;
        let address = address.map(|address| backend_url(&address));
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
                files: copies(named, bytes.clone(), documents.found())?,
            }),
        };
        // A WSDL whose requests cannot be made is one that can be used.
        let calls = SampleCalls::read(bytes, &resolve, Some(&chosen)).ok();
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

/// A WSDL and what it refers to: each document is read once.
struct Documents<'s> {
    source: Source<'s>,
    /// Bytes that a document may have.
    most: usize,
    /// By what they are called there; nothing, where there is none.
    beside: RefCell<Vec<(String, Option<Vec<u8>>)>>,
}

/// Where documents come from.
enum Source<'s> {
    File(&'s Path),
    Url(&'s str, Runtime),
}

impl<'s> Documents<'s> {
    fn of(named: &'s str, most: usize) -> Result<Self, Failure> {
        let is_url = ["http://", "https://"].iter().any(|scheme| {
            let start = named.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        let source = if is_url {
            Source::Url(named, runtime::multi_threaded()?)
        } else if named.is_empty() {
            return Err(Failure::new(
                "--wsdl: expected a file or a URL, found nothing",
            ));
        } else {
            Source::File(Path::new(named))
        };
        Ok(Self {
            source,
            most,
            beside: RefCell::default(),
        })
    }

    /// The WSDL itself.
    fn first(&self) -> Result<Vec<u8>, Failure> {
        match &self.source {
            Source::File(path) => files::read_at_most(Some(path), self.most),
            Source::Url(url, runtime) => fetched(runtime, url, self.most)
                .map_err(|problem| Failure::new(format_args!("{url}: {problem}"))),
        }
    }

    /// A document that the WSDL names: by a relative path beside a file, from the same server
    /// otherwise. Other servers are not asked.
    fn beside(&self, uri: &str) -> Option<Vec<u8>> {
        let known = |(known, _): &&(String, _)| known == uri;
        if let Some((_, document)) = self.beside.borrow().iter().find(known) {
            return document.clone();
        }
        let document = match &self.source {
            Source::File(path) => read_beside(path, uri, self.most),
            Source::Url(url, runtime) => {
                same_server(url, uri).and_then(|url| fetched(runtime, &url, self.most).ok())
            }
        };
        let entry = (uri.to_owned(), document.clone());
        self.beside.borrow_mut().push(entry);
        document
    }

    /// All that were read beside the WSDL so far.
    fn found(&self) -> Vec<(String, Vec<u8>)> {
        let documents = self.beside.borrow();
        let found = documents.iter();
        found
            .filter_map(|(uri, document)| Some((uri.clone(), document.clone()?)))
            .collect()
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

fn fetched(runtime: &Runtime, url: &str, most: usize) -> Result<Vec<u8>, Unfetched> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    runtime.block_on(fetch_document(url, PATIENCE, most))
}

/// The files of a policy, as they are called in the folder.
fn copies(
    named: &str,
    wsdl: Vec<u8>,
    beside: Vec<(String, Vec<u8>)>,
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = vec![(WSDL.to_owned(), wsdl)];
    for (uri, bytes) in beside {
        let mut parts = Path::new(&uri)
            .components()
            .filter(|part| *part != Component::CurDir);
        let name = match (parts.next(), parts.next()) {
            (Some(Component::Normal(name)), None) => name.to_str(),
            _ => None,
        };
        let Some(name) = name.filter(|_| !uri.contains(['?', ':'])) else {
            return Err(cannot_copy(named, &uri));
        };
        // One file may have several references.
        let (_, references) = files.split_at(1);
        if !references.iter().any(|(known, _)| known == name) {
            files.push((name.to_owned(), bytes));
        }
    }
    Ok(files)
}

/// That a document of the policy has a name that no file of the folder can have, or that another
/// file has.
pub(super) fn cannot_copy(named: &str, uri: &str) -> Failure {
    let message = format!("{named}: its policy is in {uri}, which the folder cannot have");
    Failure::new(message).with_hint("put both into one folder, and name the file as no other one")
}

/// The keys and users that agreements take.
fn uses(agreements: &[ExchangePolicy]) -> Result<Uses, String> {
    let bootstraps = agreements.iter().filter_map(|agreement| {
        let conversation = agreement.conversation.as_ref()?;
        conversation.bootstrap.as_deref()
    });
    let mut uses = Uses::default();
    for agreement in agreements.iter().chain(bootstraps) {
        let ExchangePolicy {
            request, response, ..
        } = agreement;
        for policy in [request, response] {
            uses.binds_keys |= policy.lets_choose_keys();
            if policy.uses(KeyBinding::Shared) {
                return Err("its policy demands a key that both sides share, which only the parties can provide".to_owned());
            }
        }
        let foreign = Foreign::of(agreement);
        if let (Some(known), Some(other)) = (uses.foreign, foreign)
            && known != other
        {
            return Err(
                "its operations demand tokens of several kinds that only the parties can provide"
                    .to_owned(),
            );
        }
        uses.foreign = uses.foreign.or(foreign);
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
        let deciphers_key = matches!(
            foreign,
            Some(Foreign::Assertion {
                is_symmetric: true,
                ..
            })
        );
        uses.service_decrypts |= deciphers_key;
        uses.service_decrypts |= encrypted_to(request).is_some_and(|key| wrapped.contains(&key))
            || request.uses(KeyBinding::SessionKey);
        let to_client = encrypted_to(response) == Some(KeyBinding::Certificate);
        uses.client_decrypts |= to_client;
        uses.answers_unknown |= to_client && !by_certificate(request);
        uses.users |= request.username().is_some()
            || request.uses(KeyBinding::Password)
            || agreement.http_basic.is_some();
        uses.requests_named |= request.names_certificates();
        uses.answers_named |= response.names_certificates();
        // Nothing but the connection hides some assertions, and the user of HTTP.
        let assertion = request.assertion();
        uses.tls |= agreement.http_basic.is_some()
            || assertion.is_some_and(|it| it.protection == AssertionProtection::Connection);
        if let Some(bootstrap) = &agreement.conversation
            && let Some(bootstrap) = &bootstrap.bootstrap
        {
            uses.anonymous |= bootstrap.request.shows_nobody();
        }
        if let Some(transport) = agreement.transport {
            uses.tls = true;
            uses.tls_client |= transport.client_certificate;
        }
    }
    Ok(uses)
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
