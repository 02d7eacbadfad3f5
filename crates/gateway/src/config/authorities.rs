//! `by_reference` of an endpoint's `saml`: the authorities that have assertions, and TLS towards
//! them.
//!
//! The rule kept here: each authority is asked with the name that its address has.

use std::fmt;

use http::Uri;
use soapstone::config::{Document, EndpointConfig, Problem};

use super::tls::{self, ClientTls};
use super::url::without_brackets;

/// An authority of assertions.
pub(crate) struct AuthoritySpec {
    /// Host and port, as the file has them.
    pub(crate) server: String,
    pub(crate) tls: ClientTls,
}

impl fmt::Debug for AuthoritySpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AuthoritySpec")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// The authorities that an endpoint asks, each once. `None` when something is wrong, which is
/// reported.
pub(super) fn read_authorities(
    document: &Document<'_>,
    config: &EndpointConfig,
) -> Option<Vec<AuthoritySpec>> {
    let saml = config.saml.as_ref();
    let Some(wanted) = saml.and_then(|saml| saml.by_reference.as_ref()) else {
        return Some(Vec::new());
    };
    let mut authorities: Vec<AuthoritySpec> = Vec::new();
    for address in &wanted.authorities {
        let report = |message: String| {
            document.report(Problem::new(document.file(), address.place, message));
        };
        let uri: Option<Uri> = address.value.parse().ok();
        let Some(server) = uri.as_ref().and_then(Uri::authority) else {
            report("`authorities` must hold addresses that can be asked".to_owned());
            return None;
        };
        let mut known = authorities.iter();
        if known.any(|known| known.server == server.as_str()) {
            continue;
        }
        let files = wanted.tls.as_ref().map(|files| (document, files));
        let tls = tls::client(files, without_brackets(server.host()), &report)?;
        authorities.push(AuthoritySpec {
            server: server.as_str().to_owned(),
            tls,
        });
    }
    let named = wanted.tls.as_ref().and_then(|tls| tls.server_name.as_ref());
    if let (Some(name), true) = (named, authorities.len() > 1) {
        let message = "`server_name` is the name of one server, and `authorities` has several";
        document.report(Problem::new(document.file(), name.place, message));
        return None;
    }
    Some(authorities)
}
