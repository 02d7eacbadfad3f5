//! Where a backend is: the URL that a route has as its `backend`.
//!
//! The rule kept here: what is accepted has a scheme that we speak, a host, no query, since requests bring their own, and no user with a
//! password: nothing here would use it, and addresses are shown to everybody.

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
    address(text).ok_or_else(|| NotABackend {
        found: without_user(text),
    })
}

/// An `http` or `https` URL with a host, without a query and without a user.
pub(crate) fn address(text: &str) -> Option<Uri> {
    let uri = text.parse::<Uri>().ok()?;
    let fits = matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.query().is_none()
        && uri
            .authority()
            .is_some_and(|authority| !authority.as_str().contains('@'));
    fits.then_some(uri)
}

/// A text without what may be a password, even if it is no URL: `…` stands for everything up to the last `@`.
pub(crate) fn without_user(text: &str) -> String {
    let Some((secret, rest)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    let scheme = secret.find("://").map_or("", |end| &secret[..end + 3]);
    format!("{scheme}…@{rest}")
}

/// A text that is not the URL of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotABackend {
    /// The text, without what may be a password.
    pub found: String,
}

impl fmt::Display for NotABackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "must be an http or https URL without a query and without a user, found \"{}\"",
            self.found
        )
    }
}

impl std::error::Error for NotABackend {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for (text, found) in [
            ("http://user:secret@a/p", "http://…@a/p"),
            ("https://secret@a", "https://…@a"),
            ("http://user:sec@ret@a/", "http://…@a/"),
            ("user:secret@a/p", "…@a/p"),
            ("ftp://a/p", "ftp://a/p"),
        ] {
            let error = backend_url(text).expect_err(text);
            assert_eq!(error.found, found);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(backend_url("http://a/p@q").is_ok());
    }
}
