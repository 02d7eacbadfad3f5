//! `[registry]`: the registry of services that the gateway registers in and reads; `provides` of a
//! route: what the gateway registers.
//!
//! The rule kept here: what is registered is what clients can call.

use std::time::Duration;

use http::Uri;
use soapstone::config::Table;
use soapstone::endpoint::Calling;

use super::endpoint::{EndpointSpec, read_endpoint};
use super::tls::{self, ClientTls};
use super::url::{backend_url, without_brackets};

/// How often a gateway reports unless said otherwise.
const PERIOD: Duration = Duration::from_secs(2);

/// `[registry]`.
pub(crate) struct RegistrySpec {
    pub(crate) url: Uri,
    /// Where it is behind https.
    pub(crate) tls: Option<ClientTls>,
    /// The endpoint that faces it.
    pub(crate) client: EndpointSpec<Calling>,
    /// Whose services the routes are, where some are registered.
    pub(crate) business: Option<String>,
    /// How often the gateway reports, and asks.
    pub(crate) period: Duration,
    /// Whether calls are told to the registry's log.
    pub(crate) calls: bool,
}

impl RegistrySpec {
    /// What a change is known by.
    pub(super) fn fingerprint(&self) -> String {
        let Self {
            url,
            business,
            period,
            calls,
            ..
        } = self;
        format!("{url} {business:?} {period:?} {calls}")
    }
}

/// Reads `[registry]`. What is wrong with it has been reported where there is nothing.
pub(super) fn read_registry(mut table: Table<'_>) -> Option<RegistrySpec> {
    const EXAMPLE: &str = "for example url = \"http://127.0.0.1:8700/uddi\"";
    let url = table.required_string("url", EXAMPLE);
    let url = url.and_then(|text| match backend_url(&text.value) {
        Ok(url) => Some(text.map(|_| url)),
        Err(error) => {
            table.report_with_hint(text.place, format!("`url` {error}"), EXAMPLE);
            None
        }
    });
    let is_secure = url.as_ref().map(|url| url.value.scheme_str()) == Some(Some("https"));
    let tls_place = table.place_of("tls");
    let tls_table = table.table("tls");
    if let (Some(place), Some(_), false) = (tls_place, &url, is_secure) {
        table.report(
            place,
            "`tls` is for a registry behind https, and this one is behind http",
        );
    }
    let tls = match &url {
        Some(url) if is_secure => {
            let host = without_brackets(url.value.host().unwrap_or_default());
            let report = |message| table.report(url.place, message);
            Some(tls::read_client(tls_table, host, &report))
        }
        _ => None,
    };
    let business = table.string("business");
    let period = table.duration("period");
    if let Some(period) = period
        .as_ref()
        .filter(|period| period.value.as_millis() < 100)
    {
        table.report(period.place, "`period` must be 100 ms at least");
    }
    let calls = table.boolean("calls").is_some_and(|given| given.value);
    const CLIENT: &str = "say with which certificate the gateway signs: [registry.client] with identity, peer, trust and security";
    if !table.has("client") {
        table.missing("client", CLIENT);
    }
    let client = table.table("client").and_then(|client| {
        let place = client.place();
        let client = read_endpoint::<Calling>(client, "registry", is_secure, None, None)?;
        if client.endpoint.conversation().is_some() {
            let message = "messages to a registry belong to no conversation";
            table.report_with_hint(
                place,
                message,
                "for example security = { mechanism = \"sign\" }",
            );
        }
        if client.asks_a_device() {
            let message = "`clock` has from = \"onvif\", and a registry is no device";
            table.report_with_hint(place, message, "for example from = \"date\"");
        }
        if client.trusts_anybody {
            let message = "whoever has a certificate of these authorities would be the registry";
            let hint = "name its subject, trust = { anchors = [...], subjects = [\"CN=registry\"] }, or pin its certificate";
            table.report_with_hint(place, message, hint);
        }
        Some(client)
    });
    table.finish();
    Some(RegistrySpec {
        url: url?.value,
        tls: match tls {
            // What is wrong with it has been reported.
            Some(tls) => Some(tls?),
            None => None,
        },
        client: client?,
        business: business.map(|business| business.value),
        period: period.map_or(PERIOD, |period| period.value),
        calls,
    })
}

/// `provides` of a route: what is registered of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProvidedSpec {
    /// The name of the service.
    pub(crate) service: String,
    /// Namespace and local name of its port type.
    pub(crate) port_type: Option<(String, String)>,
    /// Where clients call it.
    pub(crate) access_point: String,
    /// The agreements that are offered.
    pub(crate) agreements: Vec<String>,
}

/// Reads `provides` of the route at that path.
pub(super) fn read_provided(
    mut table: Table<'_>,
    path: &str,
    public_url: Option<&str>,
) -> Option<ProvidedSpec> {
    let place = table.place();
    let service = table.required_string("service", "for example service = \"Books\"");
    let port_type = table.string("port_type").and_then(|text| {
        let split = text
            .value
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        if split.is_none_or(|(_, local)| local.is_empty()) {
            let message = "`port_type` must be an expanded name";
            table.report_with_hint(
                text.place,
                message,
                "for example \"{urn:example:books}BooksPort\"",
            );
            return None;
        }
        split.map(|(namespace, local)| (namespace.to_owned(), local.to_owned()))
    });
    let access_point = table.string("access_point");
    let access_point = match (access_point, public_url) {
        (Some(given), _) => match backend_url(&given.value) {
            Ok(_) => Some(given.value),
            Err(error) => {
                table.report(given.place, format!("`access_point` {error}"));
                None
            }
        },
        (None, Some(public)) => Some(format!("{}{path}", public.trim_end_matches('/'))),
        (None, None) => {
            let message = "where clients call the route is not known";
            let hint = "give the gateway a `public_url`, or say access_point = \"https://…\"";
            table.report_with_hint(place, message, hint);
            None
        }
    };
    let agreements = table.strings("agreements").unwrap_or_default();
    table.finish();
    Some(ProvidedSpec {
        service: service?.value,
        port_type,
        access_point: access_point?,
        agreements: agreements.into_iter().map(|it| it.value).collect(),
    })
}
