//! Who is let in at the listener of health, metrics and the console.
//!
//! The rule kept here: a browser is no door. What another page has it ask is refused, and so is a
//! request under another name of this host where nobody has to prove who he is.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};

use crate::config::admin::{AdminConfig, Admitted, NotAdmitted};
use crate::exchange::connection::Connection;
use crate::wire::reply::{Reply, text};

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The token is missing, or it is another one.
    Token,
    /// The certificate is of nobody who may ask.
    Subject,
    /// The certificate was revoked since it was shown.
    Revoked,
    /// The connection was made under a former configuration.
    Former,
    /// A page of another site has a browser ask.
    OtherSite,
    /// The request names a host by which strangers may have a browser find us.
    OtherName,
}

/// Somebody whose answer takes time: with what he asked, which is judged again meanwhile.
pub(super) struct Asker {
    head: Request<()>,
    connection: Arc<Connection>,
}

impl Asker {
    /// Who made a request.
    pub(super) fn of<B>(request: &Request<B>, connection: &Arc<Connection>) -> Self {
        let mut head = Request::new(());
        *head.uri_mut() = request.uri().clone();
        *head.headers_mut() = request.headers().clone();
        Self {
            head,
            connection: Arc::clone(connection),
        }
    }

    /// Where he is.
    pub(super) fn address(&self) -> IpAddr {
        self.connection.peer.ip()
    }

    /// Whether he would be let in to the console now.
    pub(super) fn is_let_in(&self, admin: Option<&AdminConfig>) -> bool {
        admin.is_some_and(|admin| {
            admin.access.console && let_in(admin, &self.head, &self.connection).is_ok()
        })
    }
}

/// Lets in whoever may ask.
///
/// # Errors
/// Why he may not.
pub(super) fn let_in<B>(
    admin: &AdminConfig,
    request: &Request<B>,
    connection: &Connection,
) -> Result<(), Refused> {
    if let Some(tls) = &admin.tls {
        // Its certificate was judged by the authorities of that time, or it has no TLS.
        let began_with = connection.admin.as_ref();
        if !began_with.is_some_and(|former| admin.judges_as(former)) {
            return Err(Refused::Former);
        }
        if connection.check_revoked(tls.revocation.as_deref()).is_err() {
            return Err(Refused::Revoked);
        }
    }
    let (headers, path) = (request.headers(), request.uri().path());
    let certificate = connection.client_certificate.as_deref();
    let admitted = admin.admit(certificate, headers.get(header::AUTHORIZATION));
    let admitted = admitted.map_err(|why| match why {
        NotAdmitted::Token => Refused::Token,
        NotAdmitted::Subject => Refused::Subject,
    })?;
    // A link to the page is followed; the page holds nothing.
    if !matches!(path, "/" | "/console") && is_of_another_site(headers) {
        return Err(Refused::OtherSite);
    }
    // Prometheus asks by name; health is let in before.
    let tells = path != "/metrics";
    if tells && admitted == Admitted::Anybody && !is_own_name(request) {
        return Err(Refused::OtherName);
    }
    Ok(())
}

/// Whether a browser says that a page of another origin asks (Fetch Metadata Request Headers, 2.1).
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
}

/// Whether the host that the request names is an address or `localhost`. Any other name may be one
/// that a stranger has pointed here, whose pages a browser takes for ours (DNS rebinding).
fn is_own_name<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(header::HOST);
    let named = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let named = named.or_else(|| host.and_then(|host| host.to_str().ok()));
    // Without a name the asker is no browser.
    let Some(named) = named else {
        return true;
    };
    let without_port = match named.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => named,
    };
    let bare = without_port.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok() || bare.eq_ignore_ascii_case("localhost")
}

impl Refused {
    /// What the asker is told.
    pub(super) fn response(self) -> Response<Reply> {
        let (status, why) = match self {
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "the token of `admin` is needed: Authorization: Bearer …, or as a password\n",
            ),
            Self::Subject => (
                StatusCode::FORBIDDEN,
                "the client certificate is of nobody whom `admin.subjects` names\n",
            ),
            Self::Revoked => (
                StatusCode::FORBIDDEN,
                "the client certificate was revoked\n",
            ),
            // RFC 9110, 15.5.20: another connection may be good.
            Self::Former => (
                StatusCode::MISDIRECTED_REQUEST,
                "`admin` has changed since this connection was made: connect again\n",
            ),
            Self::OtherSite => (
                StatusCode::FORBIDDEN,
                "a page of another site asks: `admin` answers its own alone\n",
            ),
            Self::OtherName => (
                StatusCode::FORBIDDEN,
                "without a token or client certificates, all but health and metrics answer at an address or localhost alone\n",
            ),
        };
        let mut response = text(status, "text/plain", why.to_owned());
        let headers = response.headers_mut();
        match self {
            Self::Token => {
                let challenge =
                    HeaderValue::from_static("Basic realm=\"soapstone\", charset=\"UTF-8\"");
                headers.insert(header::WWW_AUTHENTICATE, challenge);
            }
            Self::Former => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_localhost_are_own_names_and_no_others_are() {
        let is_own = |host: &str| {
            let request = Request::get("/console").header("host", host).body(());
            is_own_name(&request.expect("a request"))
        };
        for own in [
            "127.0.0.1:9901",
            "[::1]:9901",
            "[::1]",
            "localhost",
            "LOCALHOST:80",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "rebound.example:9901",
            "127.0.0.1.example",
            "localhost.example:1",
            "",
            "a:b",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
