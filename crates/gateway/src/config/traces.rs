//! `[traces]`: which requests are recorded, and which collector gets their spans.
//!
//! The rule kept here: nothing is recorded unless the file names a collector.

use http::{HeaderValue, Uri};
use soapstone::config::Table;
use soapstone_broker::Rate;

use super::rate::read_rate;
use super::tls::{self, ClientTls};
use super::url::{backend_url, without_brackets};

/// Most requests that are recorded in a second unless said otherwise: some 1,000 spans.
const RECORDED: u64 = 100;

/// `[traces]`.
pub(crate) struct TracesConfig {
    /// Where spans are sent.
    pub(crate) collector: Uri,
    /// Where it is behind https.
    pub(crate) tls: Option<ClientTls>,
    /// What the collector lets us in for.
    pub(crate) authorization: Option<HeaderValue>,
    /// What the collector knows the gateway as.
    pub(crate) service: String,
    /// Of so many requests without a trace, one begins a trace that is recorded.
    pub(crate) one_in: u64,
    /// Most requests that are recorded in a time, whoever asks for it.
    pub(crate) rate: Rate,
}

/// Reads `[traces]`. What is wrong with it has been reported where there is nothing.
pub(super) fn read_traces(mut table: Table<'_>) -> Option<TracesConfig> {
    const EXAMPLE: &str = "for example collector = \"http://127.0.0.1:4318\"";
    let text = table.required_string("collector", EXAMPLE);
    let collector = text.and_then(|text| match backend_url(&text.value) {
        Ok(uri) => Some(text.map(|_| uri)),
        Err(error) => {
            table.report_with_hint(text.place, format!("`collector` {error}"), EXAMPLE);
            None
        }
    });
    let tls_place = table.place_of("tls");
    let tls_table = table.table("tls");
    let scheme = collector.as_ref().map(|found| found.value.scheme_str());
    let is_secure = scheme == Some(Some("https"));
    if let (Some(place), Some(_), false) = (tls_place, scheme, is_secure) {
        table.report(
            place,
            "`tls` is for a collector behind https, and this one is behind http",
        );
    }
    let tls = match &collector {
        Some(collector) if is_secure => {
            let host = without_brackets(collector.value.host().unwrap_or_default());
            let report = |message| table.report(collector.place, message);
            Some(tls::read_client(tls_table, host, &report))
        }
        _ => None,
    };
    let secret = table.secret("authorization", "authorization_env", "authorization_file");
    let authorization = secret.as_ref().and_then(|secret| {
        let value = HeaderValue::from_str(secret.value.expose());
        if value.is_err() {
            table.report_with_hint(
                secret.place,
                "`authorization` must be the value of a header, and this text cannot be one",
                "for example \"Bearer …\", in one line",
            );
        }
        let mut value = value.ok()?;
        value.set_sensitive(true);
        Some(value)
    });
    if let (Some(secret), Some(collector), false) = (&secret, &collector, is_secure) {
        let host = without_brackets(collector.value.host().unwrap_or_default());
        table
            .document()
            .warn_of_clear_secret(secret.place, "authorization", host);
    }
    let service = table.string("service");
    let one_in = table.integer("one_in", 1, 1_000_000_000);
    let has_rate = table.has("rate");
    let rate = read_rate(&mut table, "rate", "burst");
    let unless_said = || Rate::new(RECORDED, std::time::Duration::from_secs(1), RECORDED);
    table.finish();
    Some(TracesConfig {
        collector: collector?.value,
        tls: match tls {
            // What is wrong with it has been reported.
            Some(tls) => Some(tls?),
            None => None,
        },
        authorization: match secret {
            Some(_) => Some(authorization?),
            None => None,
        },
        service: service.map_or_else(|| "soapstone".to_owned(), |service| service.value),
        one_in: one_in.map_or(1, |one_in| one_in.value),
        rate: match has_rate {
            true => rate?,
            false => unless_said()?,
        },
    })
}
