//! Header fields on their way through a proxy.
//!
//! The rule kept here: what concerns one connection stays on it (RFC 9110 section 7.6.1); everything else passes on.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// Names one request in the logs of everybody whom it passes.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The fields that concern one connection only (RFC 9110 section 7.6.1), besides those that `Connection` names.
static HOP_BY_HOP: [HeaderName; 10] = [
    header::CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    HTTP2_SETTINGS,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes the fields that concern one connection only. Most messages have none, and looking is cheaper than removing.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if !headers.keys().any(|name| HOP_BY_HOP.contains(name)) {
        return;
    }
    if let Some(connection) = headers.remove(header::CONNECTION) {
        for name in connection.to_str().unwrap_or_default().split(',') {
            if let Ok(name) = HeaderName::try_from(name.trim()) {
                headers.remove(name);
            }
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// What a connection from a client adds to each of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Forwarded {
    address: HeaderValue,
    scheme: HeaderValue,
}

impl Forwarded {
    /// For a client at that address.
    pub(crate) fn new(address: std::net::IpAddr, through_tls: bool) -> Self {
        let address = HeaderValue::try_from(address.to_string());
        Self {
            address: address.unwrap_or(HeaderValue::from_static("unknown")),
            scheme: HeaderValue::from_static(if through_tls { "https" } else { "http" }),
        }
    }

    /// `http` or `https`.
    pub(crate) fn scheme(&self) -> &str {
        self.scheme.to_str().unwrap_or("http")
    }

    /// Sets `Host` to the backend's, and says in `X-Forwarded-*` what it was and who asks. A `X-Forwarded-For` that came with the
    /// request is kept, with the client behind it.
    pub(crate) fn apply(&self, headers: &mut HeaderMap, backend_authority: &HeaderValue) {
        let asked = headers.insert(header::HOST, backend_authority.clone());
        if let Some(host) = asked
            && !headers.contains_key(X_FORWARDED_HOST)
        {
            headers.insert(X_FORWARDED_HOST, host);
        }
        let chain = match headers.get(X_FORWARDED_FOR) {
            None => self.address.clone(),
            Some(before) => {
                let chain = [before.as_bytes(), b", ", self.address.as_bytes()].concat();
                HeaderValue::from_bytes(&chain).unwrap_or_else(|_| self.address.clone())
            }
        };
        headers.insert(X_FORWARDED_FOR, chain);
        if !headers.contains_key(X_FORWARDED_PROTO) {
            headers.insert(X_FORWARDED_PROTO, self.scheme.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_and_what_connection_names_stay_on_the_connection() {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONNECTION,
            HeaderValue::from_static("Upgrade, HTTP2-Settings, X-Mine"),
        );
        headers.insert(header::UPGRADE, HeaderValue::from_static("h2c"));
        headers.insert(HTTP2_SETTINGS, HeaderValue::from_static("AAEAAEAA"));
        headers.insert("x-mine", HeaderValue::from_static("1"));
        headers.insert("soapaction", HeaderValue::from_static("\"urn:echo\""));
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["soapaction"], "\"urn:echo\"");
    }

    #[test]
    fn a_client_joins_the_chain_of_those_before_it() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("gateway:8443"));
        headers.insert(X_FORWARDED_FOR, HeaderValue::from_static("192.0.2.7"));
        let forwarded = Forwarded::new("127.0.0.1".parse().expect("an address"), true);
        forwarded.apply(&mut headers, &HeaderValue::from_static("backend:9000"));
        assert_eq!(headers[header::HOST], "backend:9000");
        assert_eq!(headers[X_FORWARDED_HOST], "gateway:8443");
        assert_eq!(headers[X_FORWARDED_FOR], "192.0.2.7, 127.0.0.1");
        assert_eq!(headers[X_FORWARDED_PROTO], "https");
    }
}
