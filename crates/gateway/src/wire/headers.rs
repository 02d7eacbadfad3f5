//! Header fields on their way through a proxy.
//!
//! The rule kept here: what concerns one connection stays on it (RFC 9110 section 7.6.1);
//! everything else passes on. Where a message can be read in two ways, it goes nowhere.

use std::net::IpAddr;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Version};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// Names one request in the logs of everybody whom it passes.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Names the header blocks of a message that nothing proves.
pub(crate) const X_SOAPSTONE_UNPROVEN: HeaderName = HeaderName::from_static("x-soapstone-unproven");

/// The fields that concern one connection only (RFC 9110 section 7.6.1), besides those that
/// `Connection` names.
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

/// Whether a field concerns one connection only, whatever `Connection` names. The length alone
/// tells most others from these.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(name.as_str().len(), 2 | 7 | 10 | 14 | 16..=19) && HOP_BY_HOP.contains(name)
}

/// Removes the fields that concern one connection only. Most messages have none, and looking is
/// cheaper than removing.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if !headers.keys().any(is_hop_by_hop) {
        return;
    }
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .into_iter()
        .flat_map(|connection| connection.as_bytes().split(|octet| *octet == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Fields that are set or judged here, besides those of one connection.
static OURS: [HeaderName; 8] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    X_FORWARDED_FOR,
    X_FORWARDED_PROTO,
    X_FORWARDED_HOST,
    X_REQUEST_ID,
    X_SOAPSTONE_UNPROVEN,
];

/// Names header blocks that nothing proves, where there are some. A field of that name that came
/// with the message says nothing.
pub(crate) fn mark_unproven(headers: &mut HeaderMap, names: &[String]) {
    headers.remove(X_SOAPSTONE_UNPROVEN);
    if names.is_empty() {
        return;
    }
    // Names of other scripts are bytes of UTF-8, as they may be (RFC 9110, 5.5).
    if let Ok(value) = HeaderValue::from_bytes(names.join(", ").as_bytes()) {
        headers.insert(X_SOAPSTONE_UNPROVEN, value);
    }
}

/// Removes the namesakes of fields that are set or judged here. CGI, and what has inherited its
/// environment (WSGI, Rack, PHP), does not tell `X_Forwarded_For` from `X-Forwarded-For` (RFC 3875
/// section 4.1.18; CVE-2015-0219).
pub(crate) fn remove_namesakes(headers: &mut HeaderMap) {
    let is_namesake = |name: &&HeaderName| {
        name.as_str().contains('_') && {
            let meant = name.as_str().replace('_', "-");
            let mut ours = HOP_BY_HOP.iter().chain(&OURS);
            ours.any(|known| known.as_str() == meant)
        }
    };
    let namesakes: Vec<HeaderName> = headers.keys().filter(is_namesake).cloned().collect();
    for name in namesakes {
        headers.remove(name);
    }
}

/// Whether a request authenticates the connection that it comes over, and not itself alone: what is
/// sent over that afterwards is taken for the same client's (RFC 4559 section 6; NTLM does the
/// same).
pub(crate) fn authenticates_connection(headers: &HeaderMap) -> bool {
    let schemes: [&[u8]; 2] = [b"negotiate", b"ntlm"];
    headers.get_all(header::AUTHORIZATION).iter().any(|value| {
        let scheme = value.as_bytes().split(|octet| *octet == b' ').next();
        let scheme = scheme.unwrap_or_default();
        schemes
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

/// Whether a body has another transfer coding than `chunked`, which is the only one that is undone
/// here. Its bytes would pass on without its name, since the name concerns one connection only.
pub(crate) fn has_unknown_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).into_iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings
        .next()
        .is_some_and(|first| !is_chunked(first) || codings.next().is_some())
}

/// Has `Host` name the host that a request is for. `false` if the request does not name it, or so
/// that it can be read in two ways: RFC 9112 section 3.2, RFC 9113 section 8.3.1.
pub(crate) fn settle_host<B>(request: &mut Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).into_iter();
    let (host, another) = (hosts.next(), hosts.next());
    if another.is_some() || !host.is_none_or(|host| is_host(host.as_bytes())) {
        return false;
    }
    let authority = request.uri().authority().map(|found| found.as_str());
    let agrees = match (request.version(), authority, host) {
        (Version::HTTP_11, _, None) => false,
        (Version::HTTP_2, Some(authority), Some(host)) => {
            host.as_bytes().eq_ignore_ascii_case(authority.as_bytes())
        }
        // Of a request in absolute form the field is not read (RFC 9112 section 3.2.2).
        _ => authority.is_none_or(|authority| is_host(authority.as_bytes())),
    };
    if let (true, Some(authority)) = (agrees, authority)
        && let Ok(host) = HeaderValue::from_str(authority)
    {
        request.headers_mut().insert(header::HOST, host);
    }
    agrees
}

/// Bytes of the longest name of a host (RFC 1035 section 2.3.4) and of a port. A description
/// repeats it with each of its addresses.
const LONGEST_HOST: usize = 255 + ":65535".len();

/// `uri-host [ ":" port ]` as far as its length and characters tell (RFC 3986 section 3.2.2): no
/// user, no path, no second one.
fn is_host(octets: &[u8]) -> bool {
    octets.len() <= LONGEST_HOST
        && octets
            .iter()
            .all(|octet| octet.is_ascii_alphanumeric() || b"-._~!$&'()*+;=:[]%".contains(octet))
}

/// Has a field that may come in several lines over HTTP/2 stand in one, as HTTP/1.1 wants it:
/// cookies are put together (RFC 9113 section 8.2.3), and of lengths, which are known to be the
/// same, one stays.
pub(crate) fn join_lines(headers: &mut HeaderMap) {
    if headers.get_all(header::COOKIE).iter().nth(1).is_some()
        && let Some(cookies) = joined(headers, &header::COOKIE, b"; ")
    {
        headers.insert(header::COOKIE, cookies);
    }
    if headers
        .get_all(header::CONTENT_LENGTH)
        .iter()
        .nth(1)
        .is_some()
        && let Some(length) = headers.get(header::CONTENT_LENGTH).cloned()
    {
        headers.insert(header::CONTENT_LENGTH, length);
    }
}

/// All lines of a field as one; `None` if there is none.
fn joined(headers: &HeaderMap, name: &HeaderName, separator: &[u8]) -> Option<HeaderValue> {
    let lines: Vec<&[u8]> = headers
        .get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if lines.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(&lines.join(separator)).ok()
}

/// What a connection from a client adds to each of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Forwarded {
    address: HeaderValue,
    scheme: HeaderValue,
    /// Both as an element of `Forwarded` (RFC 7239).
    element: HeaderValue,
}

impl Forwarded {
    /// For a client at that address.
    pub(crate) fn new(address: IpAddr, through_tls: bool) -> Self {
        let unknown = HeaderValue::from_static("unknown");
        let scheme = if through_tls { "https" } else { "http" };
        let element = match address {
            IpAddr::V4(address) => format!("for={address};proto={scheme}"),
            IpAddr::V6(address) => format!("for=\"[{address}]\";proto={scheme}"),
        };
        Self {
            address: HeaderValue::try_from(address.to_string()).unwrap_or(unknown.clone()),
            scheme: HeaderValue::from_static(scheme),
            element: HeaderValue::try_from(element).unwrap_or(unknown),
        }
    }

    /// `http` or `https`.
    pub(crate) fn scheme(&self) -> &str {
        self.scheme.to_str().unwrap_or("http")
    }

    /// Sets `Host` to the backend's, and says in `X-Forwarded-*` what it was and who asks. A
    /// `X-Forwarded-For` that came with the request is kept, with the client behind it, and so
    /// is a `Forwarded`, since whoever reads that one reads no other.
    pub(crate) fn apply(&self, headers: &mut HeaderMap, backend_authority: &HeaderValue) {
        let asked = headers.insert(header::HOST, backend_authority.clone());
        if let Some(host) = asked
            && !headers.contains_key(X_FORWARDED_HOST)
        {
            headers.insert(X_FORWARDED_HOST, host);
        }
        let chain = behind(joined(headers, &X_FORWARDED_FOR, b", "), &self.address);
        headers.insert(X_FORWARDED_FOR, chain);
        if let Some(before) = joined(headers, &header::FORWARDED, b", ") {
            headers.insert(header::FORWARDED, behind(Some(before), &self.element));
        }
        if !headers.contains_key(X_FORWARDED_PROTO) {
            headers.insert(X_FORWARDED_PROTO, self.scheme.clone());
        }
    }
}

/// A list with one more at its end.
fn behind(before: Option<HeaderValue>, last: &HeaderValue) -> HeaderValue {
    let chain = before.map(|before| [before.as_bytes(), b", ", last.as_bytes()].concat());
    chain
        .and_then(|chain| HeaderValue::from_bytes(&chain).ok())
        .unwrap_or_else(|| last.clone())
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
    fn every_field_of_a_connection_is_known_by_its_name() {
        for name in &HOP_BY_HOP {
            assert!(is_hop_by_hop(name), "{name}");
        }
        for name in [header::USER_AGENT, header::CONTENT_LENGTH, header::HOST] {
            assert!(!is_hop_by_hop(&name), "{name}");
        }
    }

    #[test]
    fn what_a_second_connection_field_names_stays_on_the_connection_too() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "x-one, , X-Two"),
            ("connection", "\u{e9}, x-three"),
            ("x-one", "1"),
            ("x-two", "2"),
            ("x-three", "3"),
            ("x-three", "once more"),
        ] {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
            headers.append(name, value);
        }
        remove_hop_by_hop(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
    }

    #[test]
    fn a_coding_beside_chunked_is_unknown() {
        for (codings, unknown) in [
            (&[][..], false),
            (&["chunked"], false),
            (&["Chunked"], false),
            (&["gzip, chunked"], true),
            (&["gzip", "chunked"], true),
            (&["chunked", "chunked"], true),
            (&["identity"], true),
        ] {
            let mut headers = HeaderMap::new();
            for coding in codings {
                headers.append(header::TRANSFER_ENCODING, HeaderValue::from_static(coding));
            }
            assert_eq!(has_unknown_coding(&headers), unknown, "{codings:?}");
        }
    }

    #[test]
    fn a_request_names_its_host_once() {
        use Version as V;
        for (version, uri, hosts, expected) in [
            (V::HTTP_11, "/", &["a:80"][..], Some("a:80")),
            (V::HTTP_11, "/", &[""], Some("")),
            (V::HTTP_11, "/", &["[::1]:80"], Some("[::1]:80")),
            (V::HTTP_11, "/", &[], None),
            (V::HTTP_11, "/", &["a", "a"], None),
            (V::HTTP_11, "/", &["a, b"], None),
            (V::HTTP_11, "/", &["a b/c"], None),
            (V::HTTP_11, "/", &["u@a"], None),
            (V::HTTP_11, "http://b/", &["a"], Some("b")),
            (V::HTTP_11, "http://u:p@b/", &["b"], None),
            (V::HTTP_10, "/", &[], Some("")),
            (V::HTTP_10, "/", &["a", "b"], None),
            (V::HTTP_2, "https://a/", &[], Some("a")),
            (V::HTTP_2, "https://a/", &["A"], Some("a")),
            (V::HTTP_2, "https://a/", &["b"], None),
            (V::HTTP_2, "https://u@a/", &[], None),
        ] {
            let mut request = Request::builder().version(version).uri(uri);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            let mut request = request.body(()).expect("a request");
            let settled = settle_host(&mut request);
            let host = request.headers().get(header::HOST);
            let host = host.map_or("", |host| host.to_str().expect("text"));
            assert_eq!(
                settled.then_some(host),
                expected,
                "{version:?} {uri} {hosts:?}"
            );
        }
    }

    #[test]
    fn lines_of_cookies_and_of_one_length_become_one() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("content-length", "7"),
            ("content-length", "7"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        join_lines(&mut headers);
        assert_eq!(headers.len(), 2);
        assert_eq!(headers[header::COOKIE], "a=1; b=2");
        assert_eq!(headers[header::CONTENT_LENGTH], "7");
    }

    #[test]
    fn a_client_stands_behind_everybody_whom_several_fields_name() {
        let mut headers = HeaderMap::new();
        for before in ["198.51.100.1", "192.0.2.7"] {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_static(before));
        }
        let forwarded = Forwarded::new("127.0.0.1".parse().expect("an address"), false);
        forwarded.apply(&mut headers, &HeaderValue::from_static("backend:9000"));
        let chain: Vec<_> = headers.get_all(X_FORWARDED_FOR).iter().collect();
        assert_eq!(chain, ["198.51.100.1, 192.0.2.7, 127.0.0.1"]);
    }

    #[test]
    fn a_client_does_not_hide_behind_the_other_field_that_says_who_asks() {
        let mut headers = HeaderMap::new();
        for before in ["for=198.51.100.1", "for=192.0.2.7;by=\"[::1]\""] {
            headers.append(header::FORWARDED, HeaderValue::from_static(before));
        }
        let forwarded = Forwarded::new("2001:db8::1".parse().expect("an address"), true);
        forwarded.apply(&mut headers, &HeaderValue::from_static("backend:9000"));
        let elements: Vec<_> = headers.get_all(header::FORWARDED).iter().collect();
        assert_eq!(
            elements,
            ["for=198.51.100.1, for=192.0.2.7;by=\"[::1]\", for=\"[2001:db8::1]\";proto=https"]
        );
        assert_eq!(headers[X_FORWARDED_FOR], "2001:db8::1");
    }

    /// CVE-2015-0219.
    #[test]
    fn namesakes_of_fields_that_are_set_or_judged_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for name in [
            "x_forwarded_for",
            "x-forwarded_for",
            "X_Request-Id",
            "content_type",
            "transfer_encoding",
            "x-forwarded-for",
            "x_other",
        ] {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            headers.append(name, HeaderValue::from_static("1"));
        }
        remove_namesakes(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["x-forwarded-for", "x_other"]);
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
