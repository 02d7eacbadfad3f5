//! Asks the authorities that a file names for assertions which messages only name.
//!
//! The rule kept here: the address of the errand is asked, over TLS, with the server's name
//! checked. A redirection is a failure. No log has the id: with it, one may be taken for the
//! subject.

use http::Uri;
use soapstone::endpoint::{AssertionErrand, AssertionFetcher};

use crate::config::authorities::AuthoritySpec;
use crate::wire::fetch::{self, Question};

/// The authorities of one endpoint.
#[derive(Debug)]
pub(crate) struct Authorities(Vec<AuthoritySpec>);

impl Authorities {
    pub(crate) fn new(authorities: Vec<AuthoritySpec>) -> Self {
        Self(authorities)
    }

    fn asked(&self, errand: AssertionErrand) -> Result<Vec<u8>, String> {
        let told = |error: fetch::Unfetched| error.to_string();
        let uri = fetch::address(&errand.url).map_err(told)?;
        let mut authorities = self.0.iter();
        let authority = authorities
            .find(|authority| is_at(&uri, &authority.server))
            .ok_or("no authority is at that address")?;
        let question = errand.message.map(|body| Question {
            body,
            media: "text/xml; charset=utf-8",
            is_soap: true,
        });
        // Questions are asked on threads of the runtime that may wait.
        let runtime = tokio::runtime::Handle::try_current();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let tls = Some(authority.tls.clone());
        let asked = fetch::fetch_over(&uri, tls, question, errand.patience, errand.limit);
        runtime.block_on(asked).map_err(told)
    }
}

impl AssertionFetcher for Authorities {
    fn fetch(&self, errand: AssertionErrand) -> Result<Vec<u8>, String> {
        let asked = errand.described.clone();
        let fetched = self.asked(errand);
        match &fetched {
            Ok(answer) => {
                let bytes = answer.len();
                tracing::info!(asked, bytes, "an authority answered for an assertion");
            }
            Err(error) => tracing::warn!(asked, error, "an authority gave no assertion"),
        }
        fetched
    }
}

/// Whether an address is one of https at that host and port.
fn is_at(uri: &Uri, server: &str) -> bool {
    let found = uri.authority().map(http::uri::Authority::as_str);
    uri.scheme_str() == Some("https") && found == Some(server)
}
