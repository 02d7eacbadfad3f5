//! Routes: which path leads to which backend, through which endpoints.
//!
//! The rule kept here: the longest path wins, a path matches whole segments only (`/books` serves
//! `/books/1`, not `/bookshop`), and none is served that a backend may read as the path of another
//! route, or of none: neither one that climbs (`/books/../admin`, `/books/..;/admin`,
//! `/books/..%2fadmin`), nor one that is spelled otherwise (`/%62ooks`, `/%2562ooks`, `/BOOKS`,
//! `//books`, `/books;v=1`) than the route that it means.

pub(crate) mod backend;
pub(crate) mod errand;
pub(crate) mod side;

use std::sync::Arc;

use http::Uri;
use http::uri::PathAndQuery;
use soapstone_store::Stores;
use tokio_rustls::TlsAcceptor;

use crate::config::rate::Rate;
use crate::config::validity::Placed;
use crate::config::{GatewayLimits, RouteConfig, Timeouts, WarmUp};
use crate::observe::metrics::RouteMetrics;
use crate::route::backend::{Backend, BackendTimeouts};
use crate::route::side::Side;
use crate::shares::Bucket;

/// One route in use.
pub(crate) struct Route {
    pub(crate) name: String,
    path: String,
    /// As a generous reader understands the path.
    reading: String,
    pub(crate) backend: Arc<Backend>,
    pub(crate) backend_url: Uri,
    /// The same as text.
    pub(crate) backend_address: Arc<str>,
    pub(crate) inbound: Option<Arc<Side>>,
    pub(crate) outbound: Option<Arc<Side>>,
    /// The policy leaves the protection of what clients send to TLS.
    pub(crate) needs_tls: bool,
    /// The policy wants clients to show a certificate while the connection is made.
    pub(crate) needs_client_certificate: bool,
    pub(crate) metrics: Arc<RouteMetrics>,
    /// How many requests may come in a time, and how many may still.
    pub(crate) rate: Option<(Rate, Bucket)>,
    /// What is sent before the gateway says that it is ready.
    pub(crate) warm_up: Option<Arc<WarmUp>>,
}

impl Route {
    /// Its endpoints.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Side> {
        [&self.inbound, &self.outbound]
            .into_iter()
            .filter_map(|side| side.as_deref())
    }

    /// Whether it leads from a path to a backend.
    pub(crate) fn is_at(&self, path: &str, backend: &Uri) -> bool {
        self.path == path && self.backend_url == *backend
    }

    /// Puts a configured route into use. Numbers of a route of the same name and mechanisms in
    /// `former` go on counting.
    pub(crate) fn new(
        config: RouteConfig,
        idle: std::time::Duration,
        former: &[Arc<RouteMetrics>],
    ) -> Option<Self> {
        let Timeouts {
            connect, response, ..
        } = config.timeouts;
        let timeouts = BackendTimeouts {
            connect,
            response,
            idle,
        };
        let backend = Backend::new(&config.backend, config.backend_tls, timeouts)?;
        let inbound = config.inbound.as_ref().map(|side| side.mechanism());
        let outbound = config.outbound.as_ref().map(|side| side.mechanism());
        let metrics = former
            .iter()
            .find(|metrics| metrics.is_for(&config.name, inbound, outbound))
            .map_or_else(
                || RouteMetrics::new(&config.name, inbound, outbound),
                Arc::clone,
            );
        let needs_tls = config
            .inbound
            .as_ref()
            .is_some_and(|side| side.endpoint.needs_tls());
        let needs_client_certificate = config
            .inbound
            .as_ref()
            .is_some_and(|side| side.endpoint.needs_client_certificate());
        let secures = |side: &Side| !side.endpoint.is_plain();
        Some(Self {
            name: config.name,
            reading: reading(&config.path).unwrap_or_else(|| config.path.clone()),
            path: config.path,
            backend,
            backend_address: config.backend.to_string().into(),
            backend_url: config.backend,
            inbound: config.inbound.filter(secures).map(Arc::new),
            outbound: config.outbound.filter(secures).map(Arc::new),
            needs_tls,
            needs_client_certificate,
            metrics,
            rate: config.rate.map(|rate| (rate, Bucket::default())),
            warm_up: config.warm_up.map(Arc::new),
        })
    }

    /// The path that clients use.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether messages pass as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.inbound.is_none() && self.outbound.is_none()
    }

    /// What to ask the backend for, in origin-form, when a client asks for `asked`.
    pub(crate) fn backend_target(&self, asked: &Uri) -> Uri {
        let rest = asked.path().get(self.path.len()..).unwrap_or_default();
        if self.path == self.backend.path() {
            // The same path on both sides: nothing to be put together.
            return match asked.path_and_query() {
                Some(same) => Uri::from(same.clone()),
                None => Uri::from_static("/"),
            };
        }
        let mut target = String::with_capacity(self.backend.path().len() + asked.path().len() + 16);
        target.push_str(self.backend.path().trim_end_matches('/'));
        if !rest.is_empty() && !rest.starts_with('/') {
            target.push('/');
        }
        target.push_str(rest);
        if target.is_empty() {
            target.push('/');
        }
        if let Some(query) = asked.query() {
            target.push('?');
            target.push_str(query);
        }
        PathAndQuery::try_from(target).map_or_else(|_| Uri::from_static("/"), Uri::from)
    }

    fn serves(&self, path: &str) -> bool {
        is_below(path, &self.path)
    }
}

/// Whether a path begins with all segments of another.
pub(crate) fn is_below(path: &str, base: &str) -> bool {
    match path.strip_prefix(base) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || base == "/",
        None => false,
    }
}

/// All routes of one configuration.
pub(crate) struct Routes {
    longest_first: Vec<Route>,
    /// All of their paths are spelled as they are read.
    plainly_spelled: bool,
}

impl Routes {
    pub(crate) fn new(mut routes: Vec<Route>) -> Self {
        routes.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
        Self {
            plainly_spelled: routes.iter().all(|route| route.path == route.reading),
            longest_first: routes,
        }
    }

    /// The route that serves a path.
    pub(crate) fn find(&self, path: &str) -> Option<&Route> {
        let found = self.longest_first.iter().find(|route| route.serves(path))?;
        if self.plainly_spelled && has_one_reading(path) {
            return Some(found);
        }
        let reading = reading(path)?;
        let meant = self
            .longest_first
            .iter()
            .filter(|route| is_below(&reading, &route.reading))
            .max_by_key(|route| route.reading.len())?;
        // Of routes that are read alike, the one that is spelled so.
        (found.reading == meant.reading).then_some(found)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.longest_first.iter()
    }
}

/// Whether everybody reads a path alike: nothing of it is encoded, a capital, a parameter, empty,
/// or a dot.
fn has_one_reading(path: &str) -> bool {
    let is_small = |octet: u8| octet.is_ascii() && !octet.is_ascii_uppercase();
    path.bytes().all(is_small)
        && !path.contains(['%', ';', '\\'])
        && !path.contains("//")
        && !path.contains("/.")
}

/// Most times that a path is decoded. Backends have decoded it twice (CVE-2001-0333,
/// CVE-2021-42013), and another proxy may stand before them.
const MOST_DECODINGS: usize = 3;

/// A path as the most generous of backends may understand it: decoded (RFC 3986 section 6.2.2.2),
/// and decoded again where that leaves something to decode, in small letters, with `\` and what is
/// decoded to `/` between segments, without their parameters (section 3.3) and without empty ones.
/// `None` if a segment is `.` or `..` then, or if there is no end to the decoding: where such a
/// path leads, only the backend knows.
fn reading(path: &str) -> Option<String> {
    let mut octets = path.as_bytes().to_vec();
    let mut decodings = 0;
    loop {
        let further = decoded(&octets);
        if further == octets {
            break;
        }
        decodings += 1;
        if decodings > MOST_DECODINGS {
            return None;
        }
        octets = further;
    }
    let text = String::from_utf8_lossy(&octets).to_lowercase();
    let mut reading = String::with_capacity(text.len());
    for segment in text.split(['/', '\\']) {
        match segment.split(';').next().unwrap_or_default() {
            "" => {}
            "." | ".." => return None,
            name => {
                reading.push('/');
                reading.push_str(name);
            }
        }
    }
    if reading.is_empty() {
        reading.push('/');
    }
    Some(reading)
}

/// With every `%` and two hexadecimal digits as the octet that they mean.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |octet: &u8| char::from(*octet).to_digit(16);
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let meant = match (first, behind) {
            (b'%', [high, low, ..]) => digit(high).zip(digit(low)),
            _ => None,
        };
        let meant = meant.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        octets.push(meant.unwrap_or(*first));
        rest = if meant.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    octets
}

/// What one configuration put into use consists of. Requests in hand keep the one they began with.
pub(crate) struct Serving {
    pub(crate) routes: Routes,
    pub(crate) limits: GatewayLimits,
    pub(crate) timeouts: Timeouts,
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) dated: Vec<Placed>,
    pub(crate) stores: Arc<Stores>,
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;

    /// A route that passes messages as they are.
    pub(crate) fn route(path: &str, backend: &str) -> Route {
        let config = RouteConfig {
            place: soapstone::config::Place::default(),
            name: path.to_owned(),
            path: path.to_owned(),
            backend: backend.parse().expect("a URL"),
            backend_tls: None,
            inbound: None,
            outbound: None,
            timeouts: Timeouts::default(),
            rate: None,
            warm_up: None,
        };
        Route::new(config, Duration::from_secs(1), &[]).expect("the URL has a host")
    }

    fn target(path: &str, backend: &str, asked: &str) -> String {
        route(path, backend)
            .backend_target(&asked.parse().expect("a URL"))
            .to_string()
    }

    #[test]
    fn the_longest_path_of_whole_segments_wins() {
        let routes = Routes::new(vec![
            route("/books", "http://a/"),
            route("/books/rare", "http://b/"),
            route("/bookshop", "http://c/"),
        ]);
        let found = |path| routes.find(path).map(|route| route.name.as_str());
        assert_eq!(found("/books"), Some("/books"));
        assert_eq!(found("/books/1"), Some("/books"));
        assert_eq!(found("/books/rare/1"), Some("/books/rare"));
        assert_eq!(found("/bookshop"), Some("/bookshop"));
        assert_eq!(found("/bookshelf"), None);
        assert_eq!(found("/books/..rare"), Some("/books"));
    }

    #[test]
    fn a_path_that_climbs_is_not_served_however_it_is_spelled() {
        let routes = Routes::new(vec![route("/books", "http://a/")]);
        for climbing in [
            "/books/../admin",
            "/books/%2e%2E/admin",
            "/books/.%2e",
            "/./books",
            "/books/..;/admin",
            "/books/%2e.;a=b/admin",
            "/books/..%3ba/admin",
            "/books/..%2fadmin",
            "/books/a%2F..%2F..%2Fadmin",
            "/books/%252e%252e/admin",
            "/books/%%32%65%%32%65/admin",
            "/books/..%25252fadmin",
            "/books/%2525252541",
            "/books/..\\admin",
            "/books/..%5cadmin",
        ] {
            let found = routes.find(climbing).map(|route| route.name.as_str());
            assert_eq!(found, None, "{climbing}");
        }
        for staying in ["/books/..a", "/books/...", "/books/a..", "/books/%2e%2e%2e"] {
            assert!(routes.find(staying).is_some(), "{staying}");
        }
    }

    #[test]
    fn a_path_that_may_be_read_as_that_of_another_route_is_not_served() {
        let routes = Routes::new(vec![
            route("/", "http://a/"),
            route("/books", "http://b/"),
            route("/a%20b", "http://c/"),
        ]);
        let found = |path| routes.find(path).map(|route| route.name.as_str());
        for other in [
            "/%62ooks",
            "/books%2f1",
            "//books",
            "/books;v=1",
            "/books;v=1/2",
            "/;v=1/books",
            "\\books",
            "/x/%2e%2e/books",
            "/a b",
            "/BOOKS",
            "/Books/1",
            "/boo\u{212a}s",
            "/%2562ooks",
            "/A%20B",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
        for (path, name) in [
            ("/books/%41", "/books"),
            ("/books/a%2fb;c", "/books"),
            ("/books//1", "/books"),
            ("/shelf;v=1", "/"),
            ("/sh%65lf", "/"),
            ("/SHELF", "/"),
            ("/books/A", "/books"),
            ("/books/%2541", "/books"),
            ("/100%", "/"),
            ("/%zz", "/"),
            ("/a%20b/c", "/a%20b"),
        ] {
            assert_eq!(found(path), Some(name), "{path}");
        }
    }

    #[test]
    fn routes_that_differ_in_capitals_only_are_each_served_as_they_are_spelled() {
        let routes = Routes::new(vec![
            route("/", "http://a/"),
            route("/Books", "http://b/"),
            route("/books", "http://c/"),
        ]);
        let found = |path| routes.find(path).map(|route| route.name.as_str());
        assert_eq!(found("/Books/1"), Some("/Books"));
        assert_eq!(found("/books/1"), Some("/books"));
        assert_eq!(found("/BOOKS/1"), None);
    }

    #[test]
    fn what_follows_the_route_and_the_query_go_to_the_backend() {
        assert_eq!(
            target("/books", "http://a/books", "/books?source=memory"),
            "/books?source=memory"
        );
        assert_eq!(
            target("/books", "http://a/services/Books", "/books"),
            "/services/Books"
        );
        assert_eq!(
            target("/books", "http://a/services/Books/", "/books/1?x=y"),
            "/services/Books/1?x=y"
        );
        assert_eq!(target("/books", "http://a", "/books"), "/");
        assert_eq!(target("/", "http://a/base", "/books"), "/base/books");
        assert_eq!(target("/", "http://a", "https://gateway/books"), "/books");
    }
}
