//! The description of a service, fetched from the backend and served with the gateway's addresses.
//!
//! Rewritten are the addresses of ports (`soap:address`, `endpoint` of WSDL 2.0, and
//! WS-Addressing's `EndpointReference`) and the locations of imported and included documents, where
//! they lie on a backend of a route. On a route with endpoints, security policies are those of the
//! route: see [`policy`]. Everything else stays as it is, octet by octet.
//!
//! The rule kept here: a client that configures itself from the description never learns of the
//! backend.

mod policy;

use std::ops::Range;

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header, response};
use hyper::body::Incoming;
use soapstone::wss::SoapVersion;
use soapstone::xml::{Buffers, Document, Element, Limits, ParseOptions, escape};
use tokio::time::Instant;

use crate::exchange::proxy::{Exchange, backend_failure, fail};
use crate::observe::metrics::Flow;
use crate::route::{Route, Routes};
use crate::wire::answer_head;
use crate::wire::body::{CollectError, Upload, collect};
use crate::wire::buffers::Place;
use crate::wire::fault::{Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::reply::Reply;

pub(crate) use policy::{PublishedPolicy, Telling};

const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
const WSDL20: &str = "http://www.w3.org/ns/wsdl";
const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema";
/// Root elements of descriptions, in WSDL 1.1 and 2.0, and of what they refer to.
const DESCRIPTIONS: [(&str, &str); 5] = [
    (WSDL, "definitions"),
    (WSDL20, "description"),
    (SCHEMA, "schema"),
    ("http://www.w3.org/ns/ws-policy", "Policy"),
    ("http://schemas.xmlsoap.org/ws/2004/09/policy", "Policy"),
];
/// Namespaces whose `address` element says where a port is: the bindings to SOAP 1.1, SOAP 1.2 and
/// HTTP.
const BINDINGS: [&str; 3] = [
    "http://schemas.xmlsoap.org/wsdl/soap/",
    "http://schemas.xmlsoap.org/wsdl/soap12/",
    "http://schemas.xmlsoap.org/wsdl/http/",
];
const ADDRESSING: [&str; 2] = [
    "http://www.w3.org/2005/08/addressing",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing",
];

/// Answers a request for a description.
pub(crate) async fn serve(exchange: &Exchange<'_>, request: Request<Incoming>) -> Response<Reply> {
    let (mut head, _) = request.into_parts();
    let gateway = public_base(exchange, &head.headers, &head.uri);
    let given_id = head.headers.get(X_REQUEST_ID).cloned();
    let failed = |cause, reason, detail: String| {
        fail(
            exchange,
            SoapVersion::V11,
            cause,
            given_id.as_ref(),
            &Failure { reason, detail },
        )
    };
    let no_room = || {
        failed(
            Cause::Busy,
            "no-room",
            "too many messages are in hand".to_owned(),
        )
    };
    let shared = exchange.shared();
    let mut place = exchange.connection.place(&exchange.serving.limits);
    let only_head = std::mem::replace(&mut head.method, Method::GET) == Method::HEAD;
    let published = exchange
        .route
        .inbound
        .as_ref()
        .and_then(|side| side.published.as_deref());
    let mut rewriting = Rewriting {
        routes: &exchange.serving.routes,
        route: exchange.route,
        gateway: &gateway,
        origin: Origin::Backend(published),
    };
    if let Some(PublishedPolicy::Description(octets)) = published
        && is_whole_description(&head.uri)
    {
        rewriting.origin = Origin::File;
        if !place.grow(octets.len() as u64) {
            return no_room();
        }
        return match rewriting.apply(octets.clone()) {
            Ok(octets) => {
                let mut response = Response::new(Reply::empty());
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, XML_MEDIA_TYPE);
                let (head, _) = response.into_parts();
                described(exchange, head, octets, only_head, place)
            }
            Err(detail) => failed(Cause::Internal, "policy-description", detail),
        };
    }
    for name in [
        header::CONTENT_LENGTH,
        header::ACCEPT_ENCODING,
        header::IF_NONE_MATCH,
        header::IF_MODIFIED_SINCE,
        header::RANGE,
    ] {
        head.headers.remove(name);
    }
    exchange.head_for_backend(&mut head);
    let metrics = &exchange.route.metrics;
    let sent = Instant::now();
    let (mut head, body) = match exchange
        .route
        .backend
        .send(Request::from_parts(head, Upload::empty()), sent)
        .await
    {
        Ok(response) => response.into_parts(),
        Err(error) => {
            return backend_failure(exchange, SoapVersion::V11, &error, given_id.as_ref());
        }
    };
    metrics.backend(sent.elapsed());
    let is_trusted = exchange.route.outbound.is_none();
    if !is_trusted && head.status != StatusCode::OK {
        let failure =
            answer_head::unfit(head.status).unwrap_or_else(|| no_description(head.status));
        return failed(Cause::BadGateway, failure.reason, failure.detail);
    }
    let limit = exchange.serving.limits.body;
    let collecting = collect(body, limit, &mut place, &shared.buffers);
    let patience = exchange.route.backend.timeouts().response;
    let collected = match tokio::time::timeout_at(sent + patience, collecting).await {
        Ok(Ok(octets)) => Ok(octets),
        Ok(Err(CollectError::TooLarge { limit })) => {
            Err(format!("the description has more than {limit} octets"))
        }
        Ok(Err(CollectError::Broken(error))) => Err(format!("the description broke off: {error}")),
        Ok(Err(CollectError::NoRoom)) => return no_room(),
        Err(_) => {
            let detail = format!("the description was not complete within {patience:?}");
            return failed(Cause::GatewayTimeout, "backend-response-timeout", detail);
        }
    };
    let mut octets = match collected {
        Ok(octets) => octets,
        Err(detail) => return failed(Cause::BadGateway, "backend-broken", detail),
    };
    metrics.octets(Flow::FromBackend, octets.len() as u64);
    rewriting.relocate(&mut head.headers);
    if head.status == StatusCode::OK && is_xml(&head.headers) {
        octets = match rewriting.apply(octets) {
            Ok(rewritten) => rewritten,
            Err(detail) => return failed(Cause::BadGateway, "backend-description", detail),
        };
        if !is_trusted {
            head = Response::new(()).into_parts().0;
        }
        head.headers.insert(header::CONTENT_TYPE, XML_MEDIA_TYPE);
        head.headers.remove(header::ETAG);
    } else if !exchange.route.is_plain() {
        if head.status == StatusCode::OK {
            let detail = "the backend answered with something else than XML".to_owned();
            return failed(Cause::BadGateway, "backend-description", detail);
        }
        // What else a backend says, nobody was asked to prove who he is for.
        octets.clear();
        head.headers.remove(header::CONTENT_TYPE);
    }
    described(exchange, head, octets, only_head, place)
}

fn no_description(status: StatusCode) -> Failure {
    Failure {
        reason: "backend-status",
        detail: format!("the backend answered {status}, which comes with no description"),
    }
}

const XML_MEDIA_TYPE: HeaderValue = HeaderValue::from_static("text/xml; charset=utf-8");

/// The response with a description.
fn described(
    exchange: &Exchange<'_>,
    mut head: response::Parts,
    octets: Vec<u8>,
    only_head: bool,
    mut place: Place,
) -> Response<Reply> {
    head.headers.remove(header::CONTENT_LENGTH);
    let metrics = &exchange.route.metrics;
    metrics.octets(Flow::ToClient, octets.len() as u64);
    if only_head {
        head.headers
            .insert(header::CONTENT_LENGTH, HeaderValue::from(octets.len()));
        return Response::from_parts(head, Reply::empty());
    }
    place.settle(octets.len() as u64);
    let octets = exchange.shared().buffers.lend_in(octets, Some(place));
    Response::from_parts(head, Reply::whole(octets))
}

/// Whether the description itself is asked for, not a part of it that it names.
fn is_whole_description(asked: &Uri) -> bool {
    let query = asked.query().unwrap_or_default();
    ["wsdl", "singlewsdl"]
        .iter()
        .any(|known| query.eq_ignore_ascii_case(known))
}

/// Scheme and authority under which clients see the gateway: as configured, or as this client asked
/// for it.
fn public_base(exchange: &Exchange<'_>, headers: &HeaderMap, asked: &Uri) -> String {
    if let Some(url) = &exchange.serving.public_url {
        return url.clone();
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host
        .or_else(|| asked.authority().map(|authority| authority.as_str()))
        .unwrap_or("localhost");
    format!("{}://{host}", exchange.connection.forwarded.scheme())
}

fn is_xml(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence.ends_with("/xml") || essence.ends_with("+xml")
}

struct Rewriting<'r> {
    routes: &'r Routes,
    /// The route by which the description was asked for.
    route: &'r Route,
    /// Scheme and authority of the gateway.
    gateway: &'r str,
    origin: Origin<'r>,
}

/// Where a description comes from.
enum Origin<'r> {
    /// From the backend; the route may have a policy to publish.
    Backend(Option<&'r PublishedPolicy>),
    /// From the policy file of the route: its ports are the route's, and its policies stay.
    File,
}

/// Whether a document is a description or a part of one. On a route with endpoints nothing else is
/// told to whoever asks, whatever the backend serves under the same path to those who do not call
/// it by SOAP.
fn is_description(root: Element<'_>) -> bool {
    DESCRIPTIONS
        .iter()
        .any(|(namespace, local)| root.is(namespace, local))
}

/// What takes the place of a range of a document. Ranges do not overlap.
type Edit = (Range<usize>, String);

impl Rewriting<'_> {
    /// The description with the gateway's addresses.
    ///
    /// # Errors
    ///
    /// What keeps it from being read as XML.
    fn apply(&self, octets: Vec<u8>) -> Result<Vec<u8>, String> {
        let mut limits = Limits::default();
        limits.message = limits.message.max(octets.len());
        let options = ParseOptions {
            limits,
            ..ParseOptions::default()
        };
        let document = Document::parse(octets, &options, &mut Buffers::default())
            .map_err(|error| format!("the description cannot be read: {error}"))?;
        if !self.route.is_plain() && !is_description(document.root()) {
            return Err("the backend answered with something else than a description".to_owned());
        }
        if self.route.outbound.is_some()
            && let Some(location) = self.description_elsewhere(document.root())
        {
            return Err(format!(
                "the description takes another one in from {location}, which would tell clients where ports are"
            ));
        }
        let source = document.bytes();
        let mut edits = self.policy_edits(document.root());
        let mut removed: Vec<Range<usize>> = edits.iter().map(|(range, _)| range.clone()).collect();
        removed.retain(|range| !range.is_empty());
        let is_removed = |start: usize| {
            let place = removed.partition_point(|range| range.end <= start);
            removed
                .get(place)
                .is_some_and(|range| range.contains(&start))
        };
        for element in document.root().descendants() {
            let range = element.range();
            let (start, end) = (range.start as usize, range.end as usize);
            if is_removed(start) {
                continue;
            }
            let edit = match self.attribute_edit(element) {
                Some((name, to)) => attribute_value(source, start, name).map(|value| (value, to)),
                None => self.content_edit(element).and_then(|to| {
                    let open = element.start_tag_range().end as usize;
                    Some((text_content(source, open, end)?, to))
                }),
            };
            edits.extend(edit.map(|(range, to)| (range, escape::value_of(&to))));
        }
        // What is put in stands before what is taken out at the same place.
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut rewritten = Vec::with_capacity(source.len() + 64 * edits.len());
        let mut done = 0;
        for (range, to) in edits {
            rewritten.extend_from_slice(&source[done..range.start]);
            rewritten.extend_from_slice(to.as_bytes());
            done = range.end;
        }
        rewritten.extend_from_slice(&source[done..]);
        Ok(rewritten)
    }

    /// Where a description lies that this one imports or includes, if not on a backend of ours. On
    /// a route that secures requests nothing proves who says so, and the addresses in it would
    /// not become the gateway's: clients would send plain requests there.
    fn description_elsewhere(&self, root: Element<'_>) -> Option<String> {
        root.descendants().find_map(|element| {
            let location = match (element.namespace(), element.local()) {
                (WSDL, "import") | (WSDL20, "import" | "include") => "location",
                _ => return None,
            };
            let location = element.attribute("", location)?;
            let is_here = self.document_location(&location).is_some();
            (!is_here).then(|| location.into_owned())
        })
    }

    /// Takes out security policies that are not the route's, and puts in the one that is.
    fn policy_edits(&self, root: Element<'_>) -> Vec<Edit> {
        let Origin::Backend(published) = self.origin else {
            return Vec::new();
        };
        if self.route.is_plain() {
            return Vec::new();
        }
        let mut edits = policy::removal(root);
        if let Some(published) = published.filter(|_| root.is(WSDL, "definitions")) {
            edits.extend(published.attachment(root));
        }
        edits
    }

    /// The attribute of an element that holds a location, and what it is to be.
    fn attribute_edit(&self, element: Element<'_>) -> Option<(&'static str, String)> {
        let (namespace, local) = (element.namespace(), element.local());
        let port = match (namespace, local) {
            (WSDL20, "endpoint") => Some("address"),
            (binding, "address") if BINDINGS.contains(&binding) => Some("location"),
            _ => None,
        };
        if let Some(name) = port {
            let location = element.attribute("", name)?;
            return Some((name, self.port_address(&location)));
        }
        let name = match (namespace, local) {
            (WSDL, "import") | (WSDL20, "import" | "include") => "location",
            (SCHEMA, "import" | "include" | "redefine" | "override") => "schemaLocation",
            _ => return None,
        };
        let location = element.attribute("", name)?;
        Some((name, self.document_location(&location)?))
    }

    fn content_edit(&self, element: Element<'_>) -> Option<String> {
        let is_address = ADDRESSING.contains(&element.namespace())
            && element.local() == "Address"
            && element.first_child().is_none()
            && element
                .parent()
                .is_some_and(|parent| parent.local() == "EndpointReference");
        is_address.then(|| self.port_address(element.text().trim()))
    }

    /// Where the backend says that the description is, for clients; what is elsewhere would not be
    /// the one that is served here.
    fn relocate(&self, headers: &mut HeaderMap) {
        headers.remove(header::CONTENT_LOCATION);
        let Some(said) = headers.remove(header::LOCATION) else {
            return;
        };
        let told = said
            .to_str()
            .ok()
            .and_then(|said| self.document_location(said));
        if let Some(told) = told.and_then(|told| HeaderValue::try_from(told).ok()) {
            headers.insert(header::LOCATION, told);
        }
    }

    /// Where a port is, for clients: a port that is on no backend of ours is taken to be this
    /// route's.
    fn port_address(&self, location: &str) -> String {
        let absolute = match self.origin {
            Origin::Backend(_) => resolve(&self.route.backend_url, location),
            Origin::File => None,
        };
        absolute
            .and_then(|location| self.on_gateway(&location))
            .unwrap_or_else(|| format!("{}{}", self.gateway, self.route.path()))
    }

    /// Where an imported document is, for clients; `None` when it is on no backend of ours.
    fn document_location(&self, location: &str) -> Option<String> {
        self.on_gateway(&resolve(&self.route.backend_url, location)?)
    }

    /// The gateway's URL for a URL on a backend. This route is tried first, whatever host the URL
    /// has, since services seldom know the name that they are reached by; then the other
    /// routes, whose host must be theirs.
    fn on_gateway(&self, location: &Uri) -> Option<String> {
        let same_host = |route: &Route| route.backend_url.authority() == location.authority();
        let rest = |route: &Route| -> Option<String> {
            let base = route.backend.path().trim_end_matches('/');
            let rest = location.path().strip_prefix(base)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
        let (route, rest) = match rest(self.route) {
            Some(found) => (self.route, found),
            None => self
                .routes
                .iter()
                .filter(|route| same_host(route))
                .find_map(|route| Some((route, rest(route)?)))?,
        };
        let path = match (route.path(), rest.as_str()) {
            ("/", "") => "/".to_owned(),
            ("/", rest) => rest.to_owned(),
            (path, rest) => format!("{path}{rest}"),
        };
        let query = location
            .query()
            .map_or(String::new(), |query| format!("?{query}"));
        Some(format!("{}{path}{query}", self.gateway))
    }
}

/// A reference made absolute, as RFC 3986 section 5.2 has it for the forms that descriptions use.
fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    let base_path = base.path();
    let absolute = if reference.starts_with("http://") || reference.starts_with("https://") {
        reference.to_owned()
    } else if let Some(rest) = reference.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if reference.contains("://") || reference.starts_with("urn:") {
        return None;
    } else if reference.starts_with('/') {
        format!("{scheme}://{authority}{reference}")
    } else if reference.is_empty() || reference.starts_with('?') {
        format!("{scheme}://{authority}{base_path}{reference}")
    } else {
        let folder = base_path
            .rfind('/')
            .map_or("/", |slash| &base_path[..=slash]);
        format!("{scheme}://{authority}{folder}{reference}")
    };
    absolute.parse().ok()
}

/// Where the value of an attribute without prefix stands, in a start tag that is known to be
/// well-formed.
fn attribute_value(source: &[u8], start: usize, name: &str) -> Option<Range<usize>> {
    let find = |from: usize, wanted: &dyn Fn(u8) -> bool| {
        source[from..]
            .iter()
            .position(|octet| wanted(*octet))
            .map(|position| from + position)
    };
    let is_space = |octet: u8| matches!(octet, b' ' | b'\t' | b'\r' | b'\n');
    let mut at = find(start, &|octet| is_space(octet) || octet == b'>')?;
    loop {
        at = find(at, &|octet| !is_space(octet))?;
        if matches!(source[at], b'>' | b'/') {
            return None;
        }
        let name_end = find(at, &|octet| is_space(octet) || octet == b'=')?;
        let quote = find(name_end, &|octet| matches!(octet, b'"' | b'\''))?;
        let value_end = find(quote + 1, &|octet| octet == source[quote])?;
        if &source[at..name_end] == name.as_bytes() {
            return Some(quote + 1..value_end);
        }
        at = value_end + 1;
    }
}

/// Where the content of an element stands, between its start tag and its end.
fn text_content(source: &[u8], open: usize, end: usize) -> Option<Range<usize>> {
    let close = source
        .get(open..end)?
        .windows(2)
        .rposition(|pair| pair == b"</")?;
    Some(open..open + close)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::tests::route;

    fn rewrite(text: &str) -> String {
        let routes = Routes::new(vec![
            route("/books", "http://127.0.0.1:9000/svc/books"),
            route("/echo", "http://127.0.0.1:9000/svc/echo"),
        ]);
        let route = routes.find("/books").expect("it is there");
        let rewriting = Rewriting {
            routes: &routes,
            route,
            gateway: "https://gateway.example",
            origin: Origin::Backend(None),
        };
        String::from_utf8(
            rewriting
                .apply(text.as_bytes().to_vec())
                .expect("it is XML"),
        )
        .expect("it is UTF-8")
    }

    #[test]
    fn addresses_and_imports_on_backends_become_the_gateways_and_nothing_else_changes() {
        let text = r#"<?xml version="1.0"?>
<w:definitions xmlns:w="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" targetNamespace="http://127.0.0.1:9000/svc/books">
  <!-- http://127.0.0.1:9000/svc/books -->
  <w:import location='http://127.0.0.1:9000/svc/books?wsdl=1' namespace="urn:x"/>
  <w:import namespace="urn:y" location="http://elsewhere.example/y.wsdl"/>
  <w:types><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:import namespace="urn:s" schemaLocation="?xsd=1&amp;v=2"/></xs:schema></w:types>
  <w:service name="S"><w:port name="P"><soap:address   location = "http://internal:8080/svc/books" /></w:port>
  <w:port name="E"><soap:address location="http://127.0.0.1:9000/svc/echo"/></w:port>
  <w:port name="A"><a:EndpointReference xmlns:a="http://www.w3.org/2005/08/addressing"><a:Address>http://other/</a:Address></a:EndpointReference></w:port></w:service>
</w:definitions>"#;
        let expected = text
            .replace(
                "location='http://127.0.0.1:9000/svc/books?wsdl=1'",
                "location='https://gateway.example/books?wsdl=1'",
            )
            .replace(
                "\"?xsd=1&amp;v=2\"",
                "\"https://gateway.example/books?xsd=1&amp;v=2\"",
            )
            .replace(
                "\"http://internal:8080/svc/books\"",
                "\"https://gateway.example/books\"",
            )
            .replace(
                "\"http://127.0.0.1:9000/svc/echo\"",
                "\"https://gateway.example/echo\"",
            )
            .replace(">http://other/<", ">https://gateway.example/books<");
        assert_eq!(rewrite(text), expected);
    }

    #[test]
    fn endpoints_of_wsdl_20_and_what_overrides_schemas_lead_to_the_gateway() {
        let text = r#"<w:description xmlns:w="http://www.w3.org/ns/wsdl" xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <w:include location="?wsdl=2"/><w:import namespace="urn:x" location="http://127.0.0.1:9000/svc/books?wsdl=3"/>
  <w:types><xs:schema><xs:override schemaLocation="?xsd=1"/></xs:schema></w:types>
  <w:service name="S"><w:endpoint name="P" binding="b" address="http://internal:8080/svc/books"/></w:service></w:description>"#;
        let expected = text
            .replace("\"?", "\"https://gateway.example/books?")
            .replace(
                "http://127.0.0.1:9000/svc/books",
                "https://gateway.example/books",
            )
            .replace(
                "http://internal:8080/svc/books",
                "https://gateway.example/books",
            );
        assert_eq!(rewrite(text), expected);
    }

    /// What is put into an element must not lie in what is put into one around it.
    #[test]
    fn an_address_that_holds_elements_is_none() {
        let reference = |inner: &str| {
            format!(
                r#"<a:EndpointReference xmlns:a="http://www.w3.org/2005/08/addressing"><a:Address>{inner}</a:Address></a:EndpointReference>"#
            )
        };
        let text = reference(&reference("http://other/"));
        let expected = text.replace("http://other/", "https://gateway.example/books");
        assert_eq!(rewrite(&text), expected);
    }

    #[test]
    fn the_content_of_an_address_is_found_behind_attributes_that_look_like_its_tag() {
        let text = r#"<x><a:EndpointReference xmlns:a="http://www.w3.org/2005/08/addressing"><a:Address a=">">http://other/</a:Address></a:EndpointReference></x>"#;
        let expected = text.replace("http://other/", "https://gateway.example/books");
        assert_eq!(rewrite(text), expected);
    }

    #[test]
    fn references_are_resolved_against_the_backends_url() {
        let base: Uri = "http://b:1/svc/books".parse().expect("a URL");
        let resolved = |reference| resolve(&base, reference).map(|uri| uri.to_string());
        assert_eq!(
            resolved("?xsd=1").as_deref(),
            Some("http://b:1/svc/books?xsd=1")
        );
        assert_eq!(
            resolved("types.xsd").as_deref(),
            Some("http://b:1/svc/types.xsd")
        );
        assert_eq!(
            resolved("/types.xsd").as_deref(),
            Some("http://b:1/types.xsd")
        );
        assert_eq!(
            resolved("//c/types.xsd").as_deref(),
            Some("http://c/types.xsd")
        );
        assert_eq!(resolved("urn:types"), None);
    }
}
