//! Where a backend is: the URL that a route has as its `backend`.
//!
//! The rule kept here: what is accepted has a scheme that we speak, a host, no query, since
//! requests bring their own, and no user with a password: nothing here would use it, and addresses
//! are shown to everybody.

use std::fmt;

use http::Uri;

/// Reads the URL of a backend, as `backend` of a route has it.
///
/// # Errors
/// The text is not an `http` or `https` URL with a host, without a query and without a user.
///
/// ```
/// use soapstone_gateway::backend_url;
///
/// assert_eq!(backend_url("http://127.0.0.1:9000/books").unwrap().path(), "/books");
/// assert!(backend_url("127.0.0.1:9000/books").is_err());
/// ```
pub fn backend_url(text: &str) -> Result<Uri, NotABackend> {
    address(text)
}

/// An `http` or `https` URL with a host, without a query and without a user.
pub(crate) fn address(text: &str) -> Result<Uri, NotABackend> {
    let not = |found| Err(NotABackend { found });
    if !text.contains("://") {
        return not("a text without http:// or https://");
    }
    let Ok(uri) = text.parse::<Uri>() else {
        return not("a text that is no URL");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return not("a URL of another scheme");
    }
    let Some(authority) = uri.authority() else {
        return not("a URL without a host");
    };
    if authority.as_str().contains('@') {
        return not("a URL with a user");
    }
    if uri.query().is_some() {
        return not("a URL with a query");
    }
    Ok(uri)
}

/// A text that is not the URL of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotABackend {
    /// What it is instead. The text itself may hold a password.
    pub found: &'static str,
}

impl fmt::Display for NotABackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "must be an http or https URL without a query and without a user, found {}",
            self.found
        )
    }
}

impl std::error::Error for NotABackend {}

/// The host of a URL as names of TLS and addresses have it: IPv6 without brackets.
pub(crate) fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for (text, found) in [
            ("http://user:secret@a/p", "a URL with a user"),
            ("https://secret@a", "a URL with a user"),
            ("http://user:sec@ret@a/", "a URL with a user"),
            ("http://a b/secret", "a text that is no URL"),
            ("user:secret@a/p", "a text without http:// or https://"),
            ("ftp://secret/p", "a URL of another scheme"),
            ("http://a/p?secret", "a URL with a query"),
            ("http://", "a text that is no URL"),
        ] {
            let error = backend_url(text).expect_err(text);
            assert_eq!(error.found, found, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(backend_url("http://a/p@q").is_ok());
    }
}
