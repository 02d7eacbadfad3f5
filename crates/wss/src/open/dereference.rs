//! The STR Dereference Transform: a signature covers the token that a `wsse:SecurityTokenReference`
//! refers to (SOAP Message Security 1.1.1, 8.3).
//!
//! The one rule: a signature proves what was digested. A token of the message is a node. A
//! certificate that is only named is no node, and its reference covers nothing that could be moved.

use soapstone_crypto::{Certificate, base64};
use soapstone_xml::{
    Apex, C14nOptions, C14nScratch, Document, Element, NodeId, Sink as _, canonicalize,
};
use soapstone_xmlsec::dsig::{
    CanonicalizationMethod, DigestSink, Extension, Reference, Target, Transform,
};

use super::algorithms::dereferenced_form;
use super::authentic::{Found, Proven};
use super::budget::Budget;
use super::message::Message;
use crate::evidence::Signer;
use crate::key_locator::KeyLocator;
use crate::names::{WSSE, X509_V3};
use crate::rejected::Rejected;

/// What a `SecurityTokenReference` refers to.
pub(super) enum Referred {
    /// A token of this message.
    Token(NodeId),
    /// A certificate that this side knows, by the name that the message has for it.
    Outside(Certificate),
}

/// The key of the signature that covers a token.
#[derive(Clone, Copy)]
pub(super) struct OwnKey<'s> {
    pub(super) signer: &'s Signer,
    /// Its `ds:KeyInfo`.
    pub(super) info: Option<NodeId>,
}

/// The transform of one reference: the token is digested in the place of what refers to it.
pub(super) struct Dereference(Option<Result<Referred, String>>);

impl Dereference {
    /// What was found, where the reference has the transform.
    pub(super) fn referred(&self) -> Option<&Referred> {
        self.0.as_ref().and_then(|found| found.as_ref().ok())
    }
}

impl Message<'_> {
    /// Finds the token of a reference that has the transform. The transform tells why there is
    /// none, when it is executed.
    pub(super) fn dereference(
        &self,
        budget: &mut Budget,
        reference: &Reference,
        target: Target<'_>,
        own: OwnKey<'_>,
    ) -> Result<Dereference, Rejected> {
        let is_other = |transform: &Transform| matches!(transform, Transform::Other { .. });
        if !reference.transforms.iter().any(is_other) {
            return Ok(Dereference(None));
        }
        let found = match self.read_target(target) {
            Ok(Named::Token(token)) => Ok(Referred::Token(token)),
            Ok(Named::Elsewhere(locator)) => {
                // Each is looked for among all certificates.
                budget.token()?;
                self.named_certificate(&locator, target, own)
                    .map(Referred::Outside)
            }
            Err(problem) => Err(problem),
        };
        Ok(Dereference(Some(found)))
    }

    /// Reads the `SecurityTokenReference` that the transform starts from.
    fn read_target(&self, target: Target<'_>) -> Result<Named, String> {
        let document = self.document();
        let Target::Element { node, .. } = target else {
            return Err("expected a reference to a SecurityTokenReference".to_owned());
        };
        let reference = document.element(node);
        if !reference.is(WSSE, "SecurityTokenReference") {
            return Err(format!(
                "expected a reference to a SecurityTokenReference, found `{}`",
                reference.local()
            ));
        }
        let locator = KeyLocator::read_reference(reference).map_err(|error| error.to_string())?;
        let embedded = reference
            .child(WSSE, "Embedded")
            .and_then(|embedded| embedded.first_child());
        match (embedded, locator) {
            (Some(token), _) => Ok(Named::Token(token.id())),
            (None, KeyLocator::Assertion { version, id }) => self
                .assertion_named(version, &id)
                .map(Named::Token)
                .ok_or_else(|| format!("no assertion `{id}`")),
            (None, KeyLocator::Token(id)) => self
                .named(&id)
                .map(Named::Token)
                .ok_or_else(|| format!("no token `#{id}`")),
            (None, locator) => Ok(Named::Elsewhere(locator)),
        }
    }

    /// The one certificate that a reference names: that of a token of the header, one that this
    /// side knows, or the signer's, which is trusted. A certificate inside of the reference has to
    /// be among them, too. The signature's own reference names the signer's.
    fn named_certificate(
        &self,
        locator: &KeyLocator,
        target: Target<'_>,
        own: OwnKey<'_>,
    ) -> Result<Certificate, String> {
        let signer = match own.signer {
            Signer::Certificate(certificate) => Some(certificate),
            _ => None,
        };
        if let (Target::Element { node, .. }, Some(signer)) = (target, signer)
            && self.is_in(node, own.info)
        {
            return Ok(signer.clone());
        }
        let carried = self.tokens_named(locator).map(|chain| chain.certificate);
        let mut named = self
            .known_certificates()
            .chain(signer)
            .filter(|certificate| locator.names(certificate))
            .cloned()
            .chain(carried);
        let found = named
            .next()
            .ok_or_else(|| format!("no known certificate is {locator}"))?;
        let shared = self.plan.keys.shared.as_ref();
        let is_shared = matches!(locator, KeyLocator::Name(name)
            if shared.is_some_and(|shared| shared.name == *name));
        if is_shared || named.any(|other| other.der() != found.der()) {
            return Err(format!("expected one key, found several for {locator}"));
        }
        Ok(found)
    }

    /// Whether a reference through the signature's own `wsse:SecurityTokenReference` proves the
    /// token that its key comes from. A derived key comes from the token that it is derived from:
    /// the token that says how it is derived holds nothing of it.
    pub(super) fn proves_token(
        &self,
        proven: &Proven,
        found: &Found,
        info: Option<NodeId>,
    ) -> bool {
        let is_own = proven
            .dereferenced()
            .is_some_and(|reference| self.is_in(reference, info));
        let is_token = proven.node().is_none_or(|node| {
            let mut around = self.element(node).ancestors();
            Some(node) == found.token
                || found.info.is_some() && around.any(|holder| Some(holder.id()) == found.info)
        });
        is_own && is_token
    }

    /// Whether a reference is the one that a `ds:KeyInfo` has.
    pub(super) fn is_in(&self, reference: NodeId, info: Option<NodeId>) -> bool {
        let holder = self.element(reference).parent();
        info.is_some() && holder.map(|holder| holder.id()) == info
    }
}

/// What a `SecurityTokenReference` says.
enum Named {
    /// A token of this message, by its id or inside of the reference.
    Token(NodeId),
    Elsewhere(KeyLocator),
}

impl Extension for Dereference {
    fn apply(
        &mut self,
        document: &Document,
        transform: &Transform,
        target: Target<'_>,
        sink: &mut DigestSink,
    ) -> Result<(), String> {
        let (Some(found), Target::Element { node, .. }) = (&self.0, target) else {
            return Err("expected a reference to a SecurityTokenReference".to_owned());
        };
        let referred = found.as_ref().map_err(Clone::clone)?;
        let Transform::Other {
            node: parameters, ..
        } = transform
        else {
            return Err("expected the parameters of the transform".to_owned());
        };
        let method = dereferenced_form(document.element(*parameters))?;
        match referred {
            Referred::Token(token) => write_token(document, *token, &method, sink),
            Referred::Outside(certificate) => {
                write_certificate(document.element(node), certificate, sink);
                Ok(())
            }
        }
    }
}

/// Writes a token of the message. The default namespace is always declared on it, if only to say
/// that there is none.
fn write_token(
    document: &Document,
    token: NodeId,
    method: &CanonicalizationMethod,
    sink: &mut DigestSink,
) -> Result<(), String> {
    let mut prefixes: Vec<&str> = method
        .inclusive_prefixes
        .iter()
        .map(String::as_str)
        .collect();
    prefixes.push("#default");
    let options = C14nOptions {
        method: method.method,
        inclusive_prefixes: &prefixes,
        ..C14nOptions::new(method.method)
    };
    let mut octets = Vec::new();
    canonicalize(
        document,
        Apex::Element(token),
        &options,
        &mut C14nScratch::default(),
        &mut octets,
    )
    .map_err(|error| error.to_string())?;
    let tag_end = octets
        .iter()
        .position(|octet| *octet == b'>')
        .unwrap_or_default();
    let name_end = octets
        .iter()
        .position(|octet| *octet == b' ')
        .map_or(tag_end, |space| space.min(tag_end));
    let declared = octets[..tag_end]
        .windows(8)
        .any(|window| window == b" xmlns=\"");
    sink.write(&octets[..name_end]);
    if !declared {
        sink.write(b" xmlns=\"\"");
    }
    sink.write(&octets[name_end..]);
    Ok(())
}

/// Writes the `wsse:BinarySecurityToken` that a certificate would be in the place of `reference`:
/// with its prefix, without `EncodingType`, in one line. It stands alone, so that it has one
/// canonical form by every method.
fn write_certificate(reference: Element<'_>, certificate: &Certificate, sink: &mut DigestSink) {
    let prefix = reference.prefix();
    let (name, namespaces) = match prefix {
        "" => (
            "BinarySecurityToken".to_owned(),
            format!("xmlns=\"{WSSE}\""),
        ),
        _ => (
            format!("{prefix}:BinarySecurityToken"),
            format!("xmlns=\"\" xmlns:{prefix}=\"{WSSE}\""),
        ),
    };
    let content = base64::encode(certificate.der());
    let token = format!("<{name} {namespaces} ValueType=\"{X509_V3}\">{content}</{name}>");
    sink.write(token.as_bytes());
}
