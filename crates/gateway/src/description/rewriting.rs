//! A description with the gateway's addresses and the policy of the route.
//!
//! Rewritten are the addresses of ports (`soap:address`, `endpoint` of WSDL 2.0, and
//! WS-Addressing's `EndpointReference`) and the locations of imported and included documents, where
//! they lie on a backend of a route.
//!
//! The rule kept here: on a route with endpoints nothing passes but a description.

use std::ops::Range;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Uri, header};
use soapstone::xml::{Buffers, Document, Element, Limits, ParseOptions, escape};

use super::edit::{Edit, attribute_value, text_content};
use super::policy;
use crate::config::published::{PublishedPolicy, WSDL};
use crate::route::Route;
use crate::route::routes::Routes;
use crate::route::upstream::Upstream;

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

/// The addresses and policies of one description.
pub(super) struct Rewriting<'r> {
    pub(super) routes: &'r Routes,
    /// The route by which the description was asked for.
    pub(super) route: &'r Route,
    /// Scheme and authority of the gateway.
    pub(super) gateway: &'r str,
    pub(super) origin: Origin<'r>,
}

/// Where a description comes from.
pub(super) enum Origin<'r> {
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

impl Rewriting<'_> {
    /// The description with the gateway's addresses.
    ///
    /// # Errors
    ///
    /// What keeps it from being read as XML.
    pub(super) fn apply(&self, octets: Vec<u8>) -> Result<Vec<u8>, String> {
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
        if self.route.outbound().is_some()
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
            edits.extend(policy::attachment(published, root));
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
    pub(super) fn relocate(&self, headers: &mut HeaderMap) {
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

    /// A location as the backend of the route means it.
    fn resolved(&self, location: &str) -> Option<Uri> {
        let upstream = self.route.upstream.as_ref()?;
        resolve(&upstream.url, location)
    }

    /// Where a port is, for clients: a port that is on no backend of ours is taken to be this
    /// route's.
    fn port_address(&self, location: &str) -> String {
        let absolute = match self.origin {
            Origin::Backend(_) => self.resolved(location),
            Origin::File => None,
        };
        absolute
            .and_then(|location| self.on_gateway(&location))
            .unwrap_or_else(|| format!("{}{}", self.gateway, self.route.path()))
    }

    /// Where an imported document is, for clients; `None` when it is on no backend of ours.
    fn document_location(&self, location: &str) -> Option<String> {
        self.on_gateway(&self.resolved(location)?)
    }

    /// The gateway's URL for a URL on a backend. This route is tried first, whatever host the URL
    /// has, since services seldom know the name that they are reached by; then the other
    /// routes, whose host must be theirs.
    fn on_gateway(&self, location: &Uri) -> Option<String> {
        let rest = |upstream: &Upstream| -> Option<String> {
            let base = upstream.backend.path().trim_end_matches('/');
            let rest = location.path().strip_prefix(base)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
        let same_host =
            |upstream: &&Arc<Upstream>| upstream.url.authority() == location.authority();
        let of_this = self.route.upstreams().find_map(|upstream| rest(upstream));
        let (route, rest) = match of_this {
            Some(found) => (self.route, found),
            None => self.routes.iter().find_map(|route| {
                let mut theirs = route.upstreams().filter(same_host);
                Some((route, theirs.find_map(|upstream| rest(upstream))?))
            })?,
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
