//! One question to a responder, or one list.
//!
//! The rule kept here: one URL is asked, which the configuration allows.

use std::fmt;

use crate::config::revocation::RevocationConfig;
use crate::wire::fetch::{self, Question};

/// Why nothing was fetched.
#[derive(Debug)]
pub(super) enum Unfetched {
    /// The configuration does not name the host.
    Host,
    /// Nothing came from a host that it names.
    Failed(fetch::Unfetched),
}

impl Unfetched {
    /// Stable name, for metrics and logs.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Host => "host-not-allowed",
            Self::Failed(failed) => failed.name(),
        }
    }
}

impl fmt::Display for Unfetched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => out.write_str("`hosts` of [revocation] does not name the host"),
            Self::Failed(failed) => failed.fmt(out),
        }
    }
}

/// Asks that URL: a responder, with a request, or for a list.
pub(super) async fn fetch(
    config: &RevocationConfig,
    url: &str,
    request: Option<Vec<u8>>,
    limit: u64,
) -> Result<Vec<u8>, Unfetched> {
    let uri = fetch::address(url).map_err(Unfetched::Failed)?;
    if config.allowed_host(&uri).is_none() {
        return Err(Unfetched::Host);
    }
    // RFC 6960 appendix A.1.
    let question = request.map(|body| Question {
        body,
        media: "application/ocsp-request",
        is_soap: false,
    });
    let fetched = fetch::fetch(&uri, question, config.timeout, limit).await;
    fetched.map_err(Unfetched::Failed)
}
