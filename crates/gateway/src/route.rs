//! Routes: which path leads to which backend, through which endpoints.
//!
//! The rule kept here: the longest path wins, a path matches whole segments only (`/books` serves `/books/1`, not `/bookshop`), and
//! none that climbs (`/books/../admin`) is served, since a backend would resolve it outside the route.

use std::sync::Arc;

use http::Uri;
use http::uri::PathAndQuery;
use soapstone_store::Stores;
use tokio_rustls::TlsAcceptor;

use crate::backend::{Backend, BackendTimeouts};
use crate::config::{GatewayLimits, RouteConfig, Timeouts};
use crate::metrics::RouteMetrics;
use crate::side::Side;

/// One route in use.
pub(crate) struct Route {
    pub(crate) name: String,
    path: String,
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
}

impl Route {
    /// Puts a configured route into use. Numbers of a route of the same name and mechanisms in `former` go on counting.
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
            path: config.path,
            backend,
            backend_address: config.backend.to_string().into(),
            backend_url: config.backend,
            inbound: config.inbound.filter(secures).map(Arc::new),
            outbound: config.outbound.filter(secures).map(Arc::new),
            needs_tls,
            needs_client_certificate,
            metrics,
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
        match path.strip_prefix(self.path.as_str()) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || self.path == "/",
            None => false,
        }
    }
}

/// All routes of one configuration.
pub(crate) struct Routes {
    longest_first: Vec<Route>,
}

impl Routes {
    pub(crate) fn new(mut routes: Vec<Route>) -> Self {
        routes.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
        Self {
            longest_first: routes,
        }
    }

    /// The route that serves a path.
    pub(crate) fn find(&self, path: &str) -> Option<&Route> {
        if path.split('/').any(is_dot_segment) {
            return None;
        }
        self.longest_first.iter().find(|route| route.serves(path))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.longest_first.iter()
    }
}

/// `.` and `..` (RFC 3986 section 3.3), however spelled.
fn is_dot_segment(segment: &str) -> bool {
    if !segment.starts_with(['.', '%']) || segment.len() > "%2e%2e".len() {
        return false;
    }
    let plain = segment.replace("%2e", ".").replace("%2E", ".");
    plain == "." || plain == ".."
}

/// What one configuration put into use consists of. Requests in hand keep the one they began with.
pub(crate) struct Serving {
    pub(crate) routes: Routes,
    pub(crate) limits: GatewayLimits,
    pub(crate) timeouts: Timeouts,
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) stores: Arc<Stores>,
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;

    /// A route that passes messages as they are.
    pub(crate) fn route(path: &str, backend: &str) -> Route {
        let config = RouteConfig {
            name: path.to_owned(),
            path: path.to_owned(),
            backend: backend.parse().expect("a URL"),
            backend_tls: None,
            inbound: None,
            outbound: None,
            timeouts: Timeouts::default(),
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
        for climbing in [
            "/books/../admin",
            "/books/%2e%2E/admin",
            "/books/.%2e",
            "/./books",
        ] {
            assert_eq!(found(climbing), None, "{climbing}");
        }
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
