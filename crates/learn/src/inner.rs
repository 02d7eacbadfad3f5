//! An element of the Body that is signed by itself.
//!
//! The rule kept here: an inner signature is demanded only where it verified with the reader's own
//! keys.

use std::fmt::Write as _;

use soapstone::wss::Envelope;
use soapstone::wss::names::DS;
use soapstone::xml::Element;

use crate::draft::{Draft, quoted};
use crate::outline::{Algorithms, Outline};
use crate::tables::KeyTables;
use crate::{LearnError, tried};

/// The namespaces of SAML assertions, whose signatures are those of their issuers.
const SAML: [&str; 2] = [
    "urn:oasis:names:tc:SAML:2.0:assertion",
    "urn:oasis:names:tc:SAML:1.0:assertion",
];

/// The form of an enveloped signature in the Body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InnerSignature {
    /// The element, as `{namespace}local`.
    element: String,
    id: &'static str,
    key_info: &'static str,
    signatures: Vec<&'static str>,
    digests: Vec<&'static str>,
}

impl InnerSignature {
    /// That of a Body where one element has a signature of itself.
    pub(crate) fn of(envelope: &Envelope) -> Option<Self> {
        let root = envelope.document().root();
        let body = root.child(root.namespace(), "Body")?;
        let mut signatures = body.descendants().filter(|below| below.is(DS, "Signature"));
        let signature = signatures.next()?;
        let element = signature.parent()?;
        let local = element.local();
        let others = body
            .descendants()
            .filter(|other| other.is(element.namespace(), local));
        if signatures.next().is_some() || others.count() > 1 || SAML.contains(&element.namespace())
        {
            return None;
        }
        let info = signature.child(DS, "SignedInfo")?;
        let mut references = info.children().filter(|child| child.is(DS, "Reference"));
        let uri = references.next()?.attribute("", "URI")?.into_owned();
        let named = uri.strip_prefix('#')?;
        let id = ["Id", "ID", "id"]
            .into_iter()
            .find(|id| element.attribute("", id).is_some_and(|it| it == named))?;
        let algorithms = Algorithms::of(signature);
        let named = |list: &str| -> Vec<&'static str> {
            let lists = algorithms.lists();
            let names = lists.filter(|(name, _)| *name == list);
            names.flat_map(|(_, names)| names.iter().copied()).collect()
        };
        Some(Self {
            element: format!("{{{}}}{local}", element.namespace()),
            id,
            key_info: key_info(signature)?,
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

/// Learns an element that is signed by itself, if all messages have it.
pub(crate) fn learn(
    draft: &mut Draft,
    samples: &[Vec<u8>],
    outlines: &[Outline],
    keys: Option<&KeyTables>,
) -> Result<(), LearnError> {
    let Some(inner) = &outlines[0].inner else {
        return Ok(());
    };
    if outlines
        .iter()
        .any(|other| other.inner.as_ref() != Some(inner))
    {
        draft.unsaid(format!(
            "`{}` of the Body is signed by itself in some of the messages alone: nothing is demanded of it",
            inner.element
        ));
        return Ok(());
    }
    let mut with = draft.clone();
    with.inner = Some(inner.clone());
    let refused = match keys {
        Some(keys) => match tried(&mut with, samples, outlines, keys) {
            Ok(refused) => refused,
            Err(LearnError::Keys(problems)) => Some(problems.to_string()),
            Err(other) => return Err(other),
        },
        None => Some("there are no keys to verify it".to_owned()),
    };
    match refused {
        None => *draft = with,
        Some(why) => draft.unsaid(format!(
            "`{}` of the Body is signed by itself, and that is not demanded ([inner]): {why}",
            inner.element
        )),
    }
    Ok(())
}
