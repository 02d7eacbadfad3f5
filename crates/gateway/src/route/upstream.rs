//! The upstream of a route: a backend with its connections, the endpoint that secures requests for
//! it, and the conversation with it.
//!
//! The rule kept here: everything that a request for the backend needs of it is found in one place,
//! so that choosing a backend is choosing an upstream.

use std::net::SocketAddr;
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};

use crate::config::timeouts::Timeouts;
use crate::config::tls::ClientTls;
use crate::conversation::context::OutboundContext;
use crate::conversation::device_clock::DeviceClock;
use crate::issued::tokens::IssuedTokens;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::wire::backend::{Backend, BackendTimeouts};
use crate::wire::errand::Errand;
use crate::wire::memory::MessageMemory;
use crate::wire::packaged::Packing;

/// Where the requests of a route go.
pub(crate) struct Upstream {
    pub(crate) backend: Arc<Backend>,
    pub(crate) url: Uri,
    /// The same as text.
    address: Arc<str>,
    /// The way of the gateway's own messages.
    pub(crate) errand: Errand,
    /// The endpoint that faces the backend, where messages do not pass it as they are.
    pub(crate) endpoint: Option<Arc<OutboundEndpoint>>,
    /// The conversation with the backend, where the endpoint begins one.
    pub(crate) conversation: Option<Arc<OutboundContext>>,
    /// The assertions that requests show to it, or those that begin conversations with it, where
    /// a token service makes these.
    pub(crate) tokens: Option<Arc<IssuedTokens>>,
    /// What asks it for its clock, where it is a device that is asked.
    pub(crate) device_clock: Option<Arc<DeviceClock>>,
}

/// What a request for the backend is about, for headers that its policy asks for and its client did
/// not write.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// Its `SOAPAction`.
    pub(crate) action: Option<String>,
    /// The URL that it goes to.
    pub(crate) to: Arc<str>,
}

/// What a client says of a request beside the message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// Its `SOAPAction`.
    pub(crate) action: Option<String>,
    /// How its package is written, where it comes in one.
    pub(crate) packing: Option<Packing>,
}

impl Upstream {
    /// A backend that gets messages as they are. `limit` is the largest answer to the gateway's own
    /// messages. `None` when the URL has no host. With an address its host is not looked up.
    pub(super) fn plain(
        (url, located): (&Uri, Option<SocketAddr>),
        tls: Option<ClientTls>,
        timeouts: Timeouts,
        memory: MessageMemory,
        limit: u64,
    ) -> Option<Self> {
        let Timeouts {
            connect,
            response,
            idle,
            ..
        } = timeouts;
        let timeouts = BackendTimeouts {
            connect,
            response,
            idle,
        };
        let backend = Backend::at(located, url, tls, timeouts)?;
        Some(Self {
            errand: Errand {
                backend: Arc::clone(&backend),
                memory,
                limit,
                authorization: None,
            },
            backend,
            url: url.clone(),
            address: url.to_string().into(),
            endpoint: None,
            conversation: None,
            tokens: None,
            device_clock: None,
        })
    }

    /// The assertions that each request shows to it.
    pub(crate) fn tokens_of_requests(&self) -> Option<&Arc<IssuedTokens>> {
        // In conversations, handshakes alone show one.
        self.tokens.as_ref().filter(|_| self.conversation.is_none())
    }

    /// Whether packages pass its endpoint, if it has one.
    pub(crate) fn takes_packages(&self) -> bool {
        let endpoint = self.endpoint.as_ref();
        endpoint.is_none_or(|it| it.endpoint.takes_packages())
    }

    /// What a request of which that is said is about.
    pub(crate) fn label(&self, said: Said) -> Label {
        Label {
            action: said.action,
            to: Arc::clone(&self.address),
        }
    }

    /// The value of `Authorization` that the policy of requests demands, in the place of what
    /// clients send.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        self.errand.authorization.clone()
    }

    /// What to ask the backend for, in origin-form, when a client asks a route at `base` for
    /// `asked`.
    pub(crate) fn target(&self, base: &str, asked: &Uri) -> Uri {
        let rest = asked.path().get(base.len()..).unwrap_or_default();
        let path = self.backend.path();
        if base == path {
            // The same path on both sides: nothing to be put together.
            return match asked.path_and_query() {
                Some(same) => Uri::from(same.clone()),
                None => Uri::from_static("/"),
            };
        }
        let mut target = String::with_capacity(path.len() + asked.path().len() + 16);
        target.push_str(path.trim_end_matches('/'));
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::route;

    fn target(path: &str, backend: &str, asked: &str) -> String {
        route(path, backend)
            .upstream
            .as_ref()
            .expect("a backend")
            .target(path, &asked.parse().expect("a URL"))
            .to_string()
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
