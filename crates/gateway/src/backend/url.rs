//! Where a backend is: the URL that a route has as its `backend`.
//!
//! The rule kept here: what is accepted has a scheme that we speak, a host, and no query, since requests bring their own.

use std::fmt;

use http::Uri;

/// Reads the URL of a backend, as `backend` of a route has it.
///
/// # Errors
/// The text is not an `http` or `https` URL with a host and without a query.
///
/// ```
/// use soapstone_gateway::backend_url;
///
/// assert_eq!(backend_url("http://127.0.0.1:9000/books").unwrap().path(), "/books");
/// assert!(backend_url("127.0.0.1:9000/books").is_err());
/// ```
pub fn backend_url(text: &str) -> Result<Uri, NotABackend> {
    match text.parse::<Uri>() {
        Ok(uri)
            if matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some()
                && uri.query().is_none() =>
        {
            Ok(uri)
        }
        _ => Err(NotABackend {
            found: text.to_owned(),
        }),
    }
}

/// A text that is not the URL of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotABackend {
    /// The text.
    pub found: String,
}

impl fmt::Display for NotABackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "must be an http or https URL without a query, found \"{}\"",
            self.found
        )
    }
}

impl std::error::Error for NotABackend {}
