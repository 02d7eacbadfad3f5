//! `[agreements]`: what clients and providers owe each other, a file for each agreement, and where
//! violations are recorded.
//!
//! The rule kept here: an agreement is about a route that can keep it. What could not be proven,
//! measured or met at run time is reported when the file is read.

mod file;
mod fit;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone::config::{Problem, StoreConfig, Table, WhenUnavailable};
use soapstone::crypto::{HolderName, Identity};
use soapstone_broker::AgreementTerms;

pub(super) use self::file::known_keys;
use self::file::{Read, read_file};
use self::fit::{demand_route, name_as_found, warn_of_others, warn_of_validity};
use super::route::RouteSpec;

/// Most agreements of a gateway: each request compares its client with those of all of its route.
const MOST_AGREEMENTS: usize = 1000;

/// `[agreements]`.
#[derive(Clone)]
pub(crate) struct AgreementsSpec {
    pub(crate) agreements: Vec<AgreementSpec>,
    /// The file of violation records.
    pub(crate) records: PathBuf,
    /// Whose key signs them.
    pub(crate) identity: Arc<Identity>,
    /// Where requests are counted together with those at other gateways, and what is done while
    /// that does not answer.
    pub(crate) store: Option<(Box<StoreConfig>, WhenUnavailable)>,
}

/// One agreement.
#[derive(Clone, Debug)]
pub(crate) struct AgreementSpec {
    pub(crate) client: HolderName,
    /// Who signs the provider's answers.
    pub(crate) provider: Option<HolderName>,
    pub(crate) terms: AgreementTerms,
}

/// Reads `[agreements]` and the files that it names. What is wrong has been reported where there is
/// nothing.
pub(super) fn read_agreements(
    root: &mut Table<'_>,
    routes: &[RouteSpec],
) -> Option<AgreementsSpec> {
    let mut table = root.table("agreements")?;
    let place = table.place();
    const FILES: &str = "say which: files = [\"gold.toml\"]";
    let files = table.files("files");
    if !table.has("files") {
        table.missing("files", FILES);
    } else if table.is_empty_list("files") {
        table.report_with_hint(place, "`files` names no agreement", FILES);
    }
    let records = table.path("records");
    if !table.has("records") {
        table.missing(
            "records",
            "say where violations go: records = \"violations.xml\"",
        );
    }
    const IDENTITY: &str = "say whose key signs records: identity = { key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }";
    if !table.has("identity") {
        table.missing("identity", IDENTITY);
    }
    let identity = table.table("identity").and_then(read_identity);
    let store = read_store(&mut table);
    let outer = table.document();
    table.finish();
    let is_shared = matches!(store, Some(Some(_)));
    let files = files?;
    if files.len() > MOST_AGREEMENTS {
        let message = format!("`files` has at most {MOST_AGREEMENTS} entries");
        outer.root().report(place, message);
        return None;
    }
    let wanted = files.len();
    let mut read: Vec<Read> = Vec::with_capacity(wanted);
    for file in files {
        let Some(agreement) = read_file(outer, &file) else {
            continue;
        };
        let name = &agreement.terms.name;
        let same = |other: &&Read| other.terms.name == *name;
        if let Some(other) = read.iter().find(same) {
            let message = format!("the agreement {} has the same `name`", other.file.display());
            outer.report(Problem::new(
                &agreement.file,
                agreement.places.name,
                message,
            ));
        }
        read.push(agreement);
    }
    for agreement in &read {
        demand_route(outer, agreement, routes);
        if !is_shared {
            warn_of_others(outer, agreement, routes);
        }
        warn_of_validity(outer, agreement, Timestamp::now());
    }
    for agreement in &mut read {
        name_as_found(&mut agreement.terms, routes);
    }
    let agreements = read.into_iter().map(|read| AgreementSpec {
        client: read.client.name,
        provider: read.provider.map(|it| it.name),
        terms: read.terms,
    });
    let agreements: Vec<AgreementSpec> = agreements.collect();
    (agreements.len() == wanted).then_some(AgreementsSpec {
        agreements,
        records: records?.value,
        identity: Arc::new(identity?),
        store: match store {
            // What is wrong with it has been reported.
            Some(store) => Some(store?),
            None => None,
        },
    })
}

/// Reads where requests are counted together, if they are.
fn read_store(table: &mut Table<'_>) -> Option<Option<(Box<StoreConfig>, WhenUnavailable)>> {
    let choices = [
        ("refuse", WhenUnavailable::Refuse),
        ("accept", WhenUnavailable::Accept),
    ];
    let when_unavailable = table.choice("when_unavailable", &choices);
    if let (Some(when_unavailable), false) = (&when_unavailable, table.has("store")) {
        table.report_with_hint(
            when_unavailable.place,
            "`when_unavailable` is about a `store`, and there is none",
            "name the Redis that the gateways share: store = { url = \"redis://127.0.0.1:6379\" }",
        );
    }
    let when_unavailable = when_unavailable.map(|it| it.value).unwrap_or_default();
    let store = table.table("store").map(StoreConfig::read)?;
    Some(store.map(|store| (Box::new(store), when_unavailable)))
}

fn read_identity(mut table: Table<'_>) -> Option<Identity> {
    for (key, hint) in [
        ("key", "name a PEM file with the private key"),
        ("certificate", "name a PEM file with its certificate"),
    ] {
        if !table.has(key) {
            table.missing(key, hint);
        }
    }
    let key = table.secret_file("key");
    let certificate = table.file("certificate");
    let password = table.secret("password", "password_env", "password_file");
    let (document, place) = (table.document(), table.place());
    table.finish();
    let password = password.as_ref().map(|it| it.value.expose().as_str());
    let identity =
        Identity::from_file_contents(key?.bytes.expose(), certificate?.bytes.expose(), password);
    let unusable = |error| {
        let message = format!("`identity` cannot be used: {error}");
        document.root().report(place, message);
    };
    identity.map_err(unusable).ok()
}
