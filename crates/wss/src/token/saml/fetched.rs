//! An assertion that a message names, and that came from its authority.
//!
//! The one rule: what came is believed as if the message had carried it, and only if it has the
//! version and the id that the reference names, and its issuer's signature.

use jiff::Timestamp;
use soapstone_xml::{Buffers, Document, Element, NodeId, ParseOptions};

use super::assertion::Assertion;
use super::issuer::AssertionIssuer;
use super::policy::AssertionPolicy;
use super::reading::malformed;
use super::reference::AssertionReference;
use super::version::SamlVersion;
use crate::freshness::later;
use crate::names::{SAML11, SAML11_PROTOCOL, SOAP11};
use crate::rejected::Rejected;

/// An assertion from an authority, verified when it came. A message that names it has it verified
/// again, as one that it carries.
#[derive(Debug)]
pub struct FetchedAssertion {
    reference: AssertionReference,
    document: Document,
    node: NodeId,
    ends: Timestamp,
    once: bool,
}

/// Deepest nesting of elements in what came.
const DEEPEST: u16 = 64;

impl FetchedAssertion {
    /// Reads what an authority answered: the assertion itself (SAML Bindings 2.0, 3.7), or the
    /// answer to the request with `request_id` (SAML Bindings 1.1, 3.1).
    ///
    /// # Errors
    /// It is not the one assertion that the reference names, or one that no message would be
    /// accepted with.
    pub fn read(
        reference: &AssertionReference,
        answer: Vec<u8>,
        request_id: &str,
        issuers: &[AssertionIssuer],
        policy: &AssertionPolicy,
        now: Timestamp,
    ) -> Result<Self, Rejected> {
        let mut options = ParseOptions::default();
        options.limits.depth = DEEPEST;
        let document = Document::parse(answer, &options, &mut Buffers::default());
        let document = document.map_err(|error| malformed(error.to_string()))?;
        let element = match reference.version {
            SamlVersion::V20 => document.root(),
            SamlVersion::V11 => answered(document.root(), request_id)?,
        };
        let assertion = Assertion::verify(element, issuers, policy, now)?;
        if assertion.version != reference.version || assertion.id != reference.id {
            return Err(malformed("expected the assertion that the reference names"));
        }
        Ok(Self {
            reference: reference.clone(),
            node: element.id(),
            // As long as it may be accepted.
            ends: later(assertion.expires(policy), policy.skew),
            once: assertion.is_for_one_use() || policy.once,
            document,
        })
    }

    /// The request for an assertion of SAML 1.1 (SAML Core 1.1, 3.2.1), as a message of SOAP 1.1;
    /// none for SAML 2.0, where the address alone is asked.
    pub fn request(
        reference: &AssertionReference,
        request_id: &str,
        now: Timestamp,
    ) -> Option<Vec<u8>> {
        if reference.version == SamlVersion::V20 {
            return None;
        }
        let id = &reference.id;
        let request = format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body><samlp:Request xmlns:samlp=\"{SAML11_PROTOCOL}\" IssueInstant=\"{now:.0}\" MajorVersion=\"1\" MinorVersion=\"1\" RequestID=\"{request_id}\"><saml:AssertionIDReference xmlns:saml=\"{SAML11}\">{id}</saml:AssertionIDReference></samlp:Request></s:Body></s:Envelope>"
        );
        Some(request.into_bytes())
    }

    /// The reference that it was fetched by.
    pub fn reference(&self) -> &AssertionReference {
        &self.reference
    }

    /// When it ends, whatever the clock of its issuer says.
    pub fn ends(&self) -> Timestamp {
        self.ends
    }

    /// Whether it is for one message, so that nobody keeps it.
    pub fn is_for_one_use(&self) -> bool {
        self.once
    }

    /// The assertion.
    pub(crate) fn element(&self) -> Element<'_> {
        self.document.element(self.node)
    }
}

/// The one assertion of an answer that says success (SAML Core 1.1, 3.4).
fn answered<'d>(root: Element<'d>, request_id: &str) -> Result<Element<'d>, Rejected> {
    let answer = |problem: &str| malformed(format!("the answer of the authority: {problem}"));
    let body = root
        .child(SOAP11, "Body")
        .filter(|_| root.is(SOAP11, "Envelope"));
    let response = body
        .and_then(|body| body.child(SAML11_PROTOCOL, "Response"))
        .ok_or_else(|| answer("expected a `samlp:Response`"))?;
    if response.attribute("", "InResponseTo").as_deref() != Some(request_id) {
        return Err(answer("expected `InResponseTo` with the id of the request"));
    }
    let code = response
        .child(SAML11_PROTOCOL, "Status")
        .and_then(|status| status.child(SAML11_PROTOCOL, "StatusCode"))
        .ok_or_else(|| answer("expected a status"))?;
    let value = code.attribute("", "Value").unwrap_or_default();
    let succeeds = value.split_once(':').is_some_and(|(prefix, local)| {
        local == "Success" && code.namespace_of(prefix) == Some(SAML11_PROTOCOL)
    });
    if !succeeds {
        return Err(answer("expected success"));
    }
    let mut assertions = response
        .children()
        .filter(|child| child.is(SAML11, "Assertion"));
    match (assertions.next(), assertions.next()) {
        (Some(assertion), None) => Ok(assertion),
        _ => Err(answer("expected one assertion")),
    }
}
