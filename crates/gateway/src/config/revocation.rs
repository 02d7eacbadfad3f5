//! `[revocation]`: which hosts may be asked whether certificates were revoked, how long that may
//! take, and where answers are kept.
//!
//! The rule kept here: no host is asked that the file does not name. Certificates name addresses,
//! and whoever issues certificates could otherwise send the gateway anywhere.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use soapstone::config::{Located, Table};

use super::url::without_brackets;

/// How long a responder may take, or the fetching of a list, unless said otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest response of a responder, in bytes: it has a few certificates.
const LARGEST_RESPONSE: u64 = 64 << 10;
/// Largest list unless said otherwise.
const LARGEST_LIST: u64 = 16 << 20;

/// `[revocation]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevocationConfig {
    hosts: Vec<AllowedHost>,
    /// The folder that answers are kept in over a restart.
    pub(crate) folder: Option<PathBuf>,
    /// How long one question may take, from the connection to the last byte.
    pub(crate) timeout: Duration,
    pub(crate) largest_response: u64,
    pub(crate) largest_list: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowedHost {
    name: String,
    /// The one port; otherwise that of the scheme.
    port: Option<u16>,
}

impl AllowedHost {
    fn parse(text: &str) -> Option<Self> {
        // A host and a port is what a URL has between its slashes.
        let uri: Uri = format!("http://{text}/").parse().ok()?;
        let authority = uri.authority()?;
        let is_alone = authority.as_str() == text && !text.contains('@');
        let name = without_brackets(authority.host()).to_ascii_lowercase();
        let has_port = text.len() > authority.host().len();
        let port = authority.port_u16();
        (is_alone && !name.is_empty() && has_port == port.is_some()).then_some(Self { name, port })
    }
}

impl RevocationConfig {
    /// The host of a URL that may be asked, and its port.
    pub(crate) fn allowed_host(&self, url: &Uri) -> Option<(&str, u16)> {
        let usual = match url.scheme_str()? {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let host = without_brackets(url.host()?);
        let port = url.port_u16().unwrap_or(usual);
        let mut hosts = self.hosts.iter();
        let allowed = hosts.find(|allowed| {
            allowed.name.eq_ignore_ascii_case(host) && allowed.port.unwrap_or(usual) == port
        })?;
        Some((&allowed.name, port))
    }
}

/// Reads `[revocation]`. What is wrong with it has been reported where there is nothing.
pub(super) fn read_revocation(mut table: Table<'_>) -> Option<RevocationConfig> {
    const EXAMPLE: &str = "for example hosts = [\"ocsp.example.com\", \"crl.example.com:8080\"]";
    if !table.has("hosts") || table.is_empty_list("hosts") {
        table.missing("hosts", EXAMPLE);
    }
    let named = table.strings("hosts").unwrap_or_default();
    let parsed = |host: &Located<String>| {
        let allowed = AllowedHost::parse(&host.value);
        if allowed.is_none() {
            let message = "`hosts` must hold names of hosts, each with a port or without";
            table.report_with_hint(host.place, message, EXAMPLE);
        }
        allowed
    };
    let hosts: Vec<AllowedHost> = named.iter().filter_map(parsed).collect();
    let folder = table.path("cache");
    if let Some(folder) = &folder
        && !folder.value.is_dir()
    {
        let message = "`cache` names no folder that is there";
        table.report_with_hint(
            folder.place,
            message,
            "make the folder, for the gateway alone",
        );
    }
    let timeout = table.duration("timeout");
    let largest_response = table.size("response");
    let largest_list = table.size("list");
    table.finish();
    let size = |given: Option<Located<u64>>, usual| given.map_or(usual, |given| given.value);
    (!hosts.is_empty() && hosts.len() == named.len()).then(|| RevocationConfig {
        hosts,
        folder: folder.map(|folder| folder.value),
        timeout: timeout.map_or(TIMEOUT, |given| given.value),
        largest_response: size(largest_response, LARGEST_RESPONSE),
        largest_list: size(largest_list, LARGEST_LIST),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn allowing(hosts: &[&str]) -> RevocationConfig {
        RevocationConfig {
            hosts: hosts
                .iter()
                .map(|host| AllowedHost::parse(host).expect("a host"))
                .collect(),
            folder: None,
            timeout: TIMEOUT,
            largest_response: LARGEST_RESPONSE,
            largest_list: LARGEST_LIST,
        }
    }

    #[test]
    fn only_the_hosts_and_ports_that_are_named_may_be_asked() {
        let config = allowing(&["ocsp.example.com", "crl.example.com:8080", "[::1]:81"]);
        for (url, expected) in [
            ("http://ocsp.example.com/", true),
            ("http://OCSP.example.com:80/a", true),
            ("https://ocsp.example.com/", true),
            ("http://ocsp.example.com:8080/", false),
            ("http://crl.example.com/", false),
            ("http://crl.example.com:8080/ca.crl", true),
            ("http://[::1]:81/", true),
            ("http://ocsp.example.com.evil.example/", false),
            ("http://ocsp.example.com@evil.example/", false),
            ("http://evil.example/ocsp.example.com", false),
            ("http://127.0.0.1/", false),
            ("ftp://ocsp.example.com/", false),
        ] {
            let parsed = url.parse::<Uri>();
            let allowed = parsed.is_ok_and(|url| config.allowed_host(&url).is_some());
            assert_eq!(allowed, expected, "{url}");
        }
    }

    #[test]
    fn a_host_is_a_name_and_perhaps_a_port() {
        for text in [
            "",
            "http://a.example",
            "a.example/",
            "a@b.example",
            "a.example:",
            "a b",
        ] {
            assert_eq!(AllowedHost::parse(text), None, "{text}");
        }
    }
}
