//! An element of the Body that is signed by itself.
//!
//! The rule kept here: one that no file can demand is told with its reason.

use std::fmt::Write as _;

use soapstone::wss::Envelope;
use soapstone::wss::names::DS;
use soapstone::xml::Element;

use crate::algorithms::Algorithms;
use crate::quoted::quoted;

/// The namespaces of SAML assertions, whose signatures are those of their issuers.
const SAML: [&str; 2] = [
    "urn:oasis:names:tc:SAML:2.0:assertion",
    "urn:oasis:names:tc:SAML:1.0:assertion",
];

/// The form of an enveloped signature in the Body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InnerSignature {
    /// The element, as `{namespace}local`.
    pub(crate) element: String,
    id: &'static str,
    key_info: &'static str,
    signatures: Vec<&'static str>,
    digests: Vec<&'static str>,
}

impl InnerSignature {
    /// That of a Body where one element has a signature of itself, or why it has none that a file
    /// can demand.
    pub(crate) fn of(envelope: &Envelope) -> Result<Option<Self>, String> {
        let root = envelope.document().root();
        let Some(body) = root.child(root.namespace(), "Body") else {
            return Ok(None);
        };
        let signatures = body.descendants().filter_map(|below| {
            let element = below.parent().filter(|_| below.is(DS, "Signature"))?;
            (!SAML.contains(&element.namespace())).then_some((below, element))
        });
        let found: Vec<_> = signatures.collect();
        match found[..] {
            [] => Ok(None),
            [(signature, element)] => Self::of_element(body, signature, element).map(Some),
            _ => Err(format!("{} signatures stand in it", found.len())),
        }
    }

    fn of_element(
        body: Element<'_>,
        signature: Element<'_>,
        element: Element<'_>,
    ) -> Result<Self, String> {
        let local = element.local();
        let name = format!("{{{}}}{local}", element.namespace());
        let same = |other: &Element<'_>| other.is(element.namespace(), local);
        if body.descendants().filter(same).count() > 1 {
            return Err(format!("several elements are called `{name}`"));
        }
        let info = signature.child(DS, "SignedInfo");
        let mut references = info
            .into_iter()
            .flat_map(|info| info.children().filter(|child| child.is(DS, "Reference")));
        let uri = references.next().and_then(|it| it.attribute("", "URI"));
        let Some(named) = uri.as_deref().and_then(|uri| uri.strip_prefix('#')) else {
            return Err(format!(
                "it does not name `{name}` by an id (URI=\"{}\")",
                uri.unwrap_or_default()
            ));
        };
        let id = ["Id", "ID", "id"]
            .into_iter()
            .find(|id| element.attribute("", id).is_some_and(|it| it == named))
            .ok_or_else(|| {
                format!("`{name}` does not have the id `{named}` as its `Id`, `ID` or `id`")
            })?;
        let algorithms = Algorithms::of(signature);
        let named = |list: &str| -> Vec<&'static str> {
            let lists = algorithms.lists();
            let names = lists.filter(|(name, _)| *name == list);
            names.flat_map(|(_, names)| names.iter().copied()).collect()
        };
        let key_info = key_info(signature)
            .ok_or("its ds:KeyInfo has no ds:X509Certificate in a ds:X509Data")?;
        Ok(Self {
            element: name,
            id,
            key_info,
            signatures: named("signature"),
            digests: named("digest"),
        })
    }

    /// The table of an endpoint file.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        let names = |names: &[&'static str]| {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            names.join(", ")
        };
        let _ = write!(
            text,
            "\n[inner]\nrequests = {}\nid = {}\nkey_info = {}\nsignature_algorithms = [{}]\ndigest_algorithms = [{}]\n",
            quoted(&self.element),
            quoted(self.id),
            quoted(self.key_info),
            names(&self.signatures),
            names(&self.digests)
        );
        text
    }
}

/// What the `ds:KeyInfo` of a signature holds, as an endpoint file says it.
fn key_info(signature: Element<'_>) -> Option<&'static str> {
    let data = signature.child(DS, "KeyInfo")?.child(DS, "X509Data")?;
    let certificates = data
        .children()
        .filter(|child| child.is(DS, "X509Certificate"));
    match (certificates.count(), data.child(DS, "X509IssuerSerial")) {
        (1, None) => Some("certificate"),
        (1, Some(_)) => Some("certificate-and-issuer"),
        (0, _) => None,
        _ => Some("chain"),
    }
}
