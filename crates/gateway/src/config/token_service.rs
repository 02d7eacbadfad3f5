//! `token_service` of an endpoint's `saml`: the server that is asked, and the endpoint that faces
//! it.
//!
//! The rule kept here: nothing runs yet. The assertions that are kept begin when the route is
//! built.

use http::Uri;
use soapstone::config::{Document, EndpointConfig, Problem};
use soapstone::endpoint::{Calling, TokenRequests, TokenService};

use super::endpoint::{EndpointSpec, checked};
use super::tls::{self, ClientTls};
use super::url::{address, without_brackets};

/// The token service of one endpoint.
pub(crate) struct TokenServiceSpec {
    /// The endpoint that faces it.
    pub(crate) side: EndpointSpec<Calling>,
    /// What is asked for.
    pub(crate) requests: TokenRequests,
    /// Where.
    pub(crate) url: Uri,
    /// TLS, where that is behind https.
    pub(crate) tls: Option<ClientTls>,
}

/// Checks the token service of an endpoint that was compiled. `None` when something is wrong, which
/// is reported.
pub(super) fn read_token_service(
    document: &Document<'_>,
    config: &EndpointConfig,
    service: TokenService,
    scope: &str,
) -> Option<Box<TokenServiceSpec>> {
    let table = config.token_service.as_ref()?;
    let place = table.url.as_ref().map_or(table.place, |url| url.place);
    let report = |message: String| {
        document.report(Problem::new(document.file(), place, message));
    };
    let TokenService { endpoint, requests } = service;
    let url = match address(requests.url()) {
        Ok(url) => url,
        Err(error) => {
            report(format!("`url` {error}"));
            return None;
        }
    };
    let is_https = url.scheme_str() == Some("https");
    let tls = match (is_https, requests.tls()) {
        (false, None) => None,
        (false, Some(files)) => {
            let message = "`tls` is for a token service behind https, and this one is behind http";
            document.report(Problem::new(document.file(), files.place, message));
            return None;
        }
        (true, files) => {
            let host = without_brackets(url.host().unwrap_or_default());
            let files = files.map(|files| (document, files));
            Some(tls::client(files, host, &report)?)
        }
    };
    // Its conversations and marks are not those of the route.
    let scope = format!("{scope} token service");
    let endpoint = Some(endpoint.with_scope(scope));
    let own = table.endpoint.as_deref()?;
    let side = checked(document, own, endpoint, is_https, None)?;
    if side.asks_a_device() {
        let place = own.security.clock.as_ref().map_or(place, |it| it.place);
        let message = "`clock` has from = \"onvif\", and a token service is no device";
        let problem = own.problem(place, message);
        document.report(problem.with_hint("for example from = \"date\""));
    }
    Some(Box::new(TokenServiceSpec {
        side,
        requests,
        url,
        tls,
    }))
}
