//! Paths that lead into the `wsse:Security` header: to the Timestamp, to a user, to the signature,
//! as WebSphere names them.
//!
//! A sender makes that header itself, when the parts of the message were found already. The one
//! rule: what such a path selects is one of the parts that the header is made with, or refused; a
//! sender that looks for it in the plain message would find nothing, and protect nothing.

use soapstone_wss::{ElementPath, EncryptedPart, Extent, KeyBinding, Part, Policy};
use soapstone_xml::{Buffers, Document, Element, ParseOptions};

use super::message::Message;
use super::parts::add;
use crate::names::WSSE;
use crate::problem::{PolicyProblem, ProblemKind};
use crate::requirements::{ElementsDemand, HeaderDemand, PathDemand};

/// Namespaces of SOAP 1.1 and 1.2: a path names one of them.
const SOAP: [&str; 2] = [
    "http://schemas.xmlsoap.org/soap/envelope/",
    "http://www.w3.org/2003/05/soap-envelope",
];

/// A message with everything in its Security header that we write there.
const MESSAGE: &str = "<s:Envelope xmlns:s='SOAP'><s:Header>\
    <w:Security xmlns:w='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd' \
    xmlns:u='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd' \
    xmlns:v='http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd' \
    xmlns:d='http://www.w3.org/2000/09/xmldsig#' xmlns:x='http://www.w3.org/2001/04/xmlenc#' s:mustUnderstand='1'>\
    <u:Timestamp><u:Created/><u:Expires/></u:Timestamp><w:BinarySecurityToken/>\
    <x:EncryptedKey><x:EncryptionMethod/><d:KeyInfo><w:SecurityTokenReference/></d:KeyInfo><x:CipherData><x:CipherValue/></x:CipherData><x:ReferenceList/>\
    </x:EncryptedKey><x:ReferenceList/><w:UsernameToken><w:Username/><w:Password/><w:Nonce/><u:Created/></w:UsernameToken><v:SignatureConfirmation/>\
    <d:Signature><d:SignedInfo/><d:SignatureValue/><d:KeyInfo><w:SecurityTokenReference/></d:KeyInfo></d:Signature></w:Security></s:Header><s:Body/></s:Envelope>";

/// What a path selects in the header, or around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selected {
    Timestamp,
    UsernameToken,
    Signature,
    SignatureConfirmation,
    Token,
    /// A key, a list of references, something inside of one of the others.
    Other,
    /// The header itself, or what it is in.
    Around,
}

impl Selected {
    fn of(element: Element<'_>) -> Option<Self> {
        let is_header = |element: Element<'_>| element.is(WSSE, "Security");
        if element.descendants().any(is_header) {
            return Some(Self::Around);
        }
        let parent = element.parent()?;
        if !is_header(parent) {
            let mut above = std::iter::successors(Some(parent), |element| element.parent());
            return above.any(is_header).then_some(Self::Other);
        }
        Some(match element.local() {
            "Timestamp" => Self::Timestamp,
            "UsernameToken" => Self::UsernameToken,
            "Signature" => Self::Signature,
            "SignatureConfirmation" => Self::SignatureConfirmation,
            "BinarySecurityToken" => Self::Token,
            _ => Self::Other,
        })
    }
}

/// The messages in which paths are followed, one of each version of SOAP.
struct Messages(Vec<Document>);

impl Messages {
    /// None where there is no path to follow.
    fn for_paths_of(lists: &[&[ElementsDemand]]) -> Self {
        let mut demands = lists.iter().copied().flatten();
        if demands.all(|demand| demand.paths.is_empty()) {
            return Self(Vec::new());
        }
        let of_version = |soap| {
            let source = MESSAGE.replace("SOAP", soap).into_bytes();
            Document::parse(source, &ParseOptions::default(), &mut Buffers::new()).ok()
        };
        Self(SOAP.into_iter().filter_map(of_version).collect())
    }

    /// What a path selects in the header, each once.
    fn selected(&self, path: &ElementPath) -> Vec<Selected> {
        let mut found = Vec::new();
        for message in &self.0 {
            for node in path.select(message) {
                if let Some(one) = Selected::of(message.element(node))
                    && !found.contains(&one)
                {
                    found.push(one);
                }
            }
        }
        found
    }
}

const NOT_BY_PATH: &str =
    "what it selects in the Security header is neither signed nor encrypted by itself";
const BY_ITSELF: &str = "the Security header as a whole is neither signed nor encrypted";

fn refused(path: &PathDemand) -> PolicyProblem {
    let reason = NOT_BY_PATH;
    PolicyProblem::at(
        &path.name,
        &path.place,
        ProblemKind::NotSupported { reason },
    )
}

/// Refuses paths of a token that signs parts in particular. Where the connection protects messages,
/// it signs the Timestamp anyway.
pub(super) fn refuse_endorsed(
    demands: &[ElementsDemand],
    signs_timestamp: bool,
    problems: &mut Vec<PolicyProblem>,
) {
    let messages = Messages::for_paths_of(&[demands]);
    for path in demands.iter().flat_map(|demand| &demand.paths) {
        let is_signed = |one: &Selected| signs_timestamp && *one == Selected::Timestamp;
        if !messages.selected(&path.path).iter().all(is_signed) {
            problems.push(refused(path));
        }
    }
}

impl Message<'_> {
    /// Adds the parts of the Security header that paths select to those that are signed and
    /// encrypted.
    pub(super) fn parts_of_header(&self, policy: &mut Policy, problems: &mut Vec<PolicyProblem>) {
        if !self.protects_messages() {
            return;
        }
        let requirements = self.requirements;
        let parts = requirements.signed_parts.iter();
        for demand in parts.chain(&requirements.encrypted_parts) {
            let is_security = |header: &HeaderDemand| {
                let local = header.local.as_deref();
                header.namespace == WSSE && local.is_none_or(|local| local == "Security")
            };
            if demand.headers.iter().any(is_security) {
                let kind = ProblemKind::NotSupported { reason: BY_ITSELF };
                problems.push(PolicyProblem::at(&demand.name, &demand.place, kind));
            }
        }
        let [signed, encrypted, content] = [
            &requirements.signed_elements,
            &requirements.encrypted_elements,
            &requirements.content_encrypted_elements,
        ];
        let messages = Messages::for_paths_of(&[signed, encrypted, content]);
        let mut follow = |demands: &[ElementsDemand], obey: fn(Selected, &mut Policy) -> bool| {
            for path in demands.iter().flat_map(|demand| &demand.paths) {
                for one in messages.selected(&path.path) {
                    if !obey(one, policy) {
                        problems.push(refused(path));
                    }
                }
            }
        };
        follow(signed, sign);
        follow(encrypted, encrypt);
        follow(content, |_, _| false);
    }
}

/// Has the message's signature cover a part of the header, if it can and the header has one.
fn sign(selected: Selected, policy: &mut Policy) -> bool {
    let has_user = policy.username().is_some();
    let endorsed = policy.endorsing().next().is_some();
    let Some(signature) = policy.signature() else {
        return true;
    };
    let by_token = signature.key == KeyBinding::Certificate;
    match selected {
        // They are signed wherever there are any.
        Selected::Timestamp | Selected::SignatureConfirmation => {}
        Selected::UsernameToken if has_user => {
            add(Part::UsernameToken, &mut policy.parts.signed);
        }
        Selected::UsernameToken => {}
        Selected::Token if by_token && !endorsed => {
            add(Part::Token, &mut policy.parts.signed);
        }
        _ => return false,
    }
    true
}

/// Has a part of the header encrypted, if it can be and the header has one.
fn encrypt(selected: Selected, policy: &mut Policy) -> bool {
    let (part, is_there) = match selected {
        Selected::UsernameToken => (Part::UsernameToken, policy.username().is_some()),
        Selected::Signature => (Part::Signature, policy.signature().is_some()),
        Selected::SignatureConfirmation => (
            Part::SignatureConfirmation,
            policy.header.signature_confirmation,
        ),
        _ => return false,
    };
    let encrypted = EncryptedPart {
        part,
        extent: Extent::Element,
    };
    let encrypts = is_there && policy.encryption().is_some();
    if encrypts && !policy.parts.encrypted.contains(&encrypted) {
        policy.parts.encrypted.push(encrypted);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Name;
    use crate::node::Place;

    #[test]
    fn the_messages_are_messages() {
        let path = ElementPath::parse("//*[local-name()='Timestamp']", |_| None).expect("a path");
        let demand = ElementsDemand {
            paths: vec![PathDemand {
                path: path.clone(),
                name: Name {
                    namespace: "".into(),
                    local: "XPath".into(),
                },
                place: place(),
            }],
            name: Name {
                namespace: "".into(),
                local: "SignedElements".into(),
            },
            place: place(),
        };
        let messages = Messages::for_paths_of(&[&[demand]]);
        assert_eq!(messages.0.len(), SOAP.len());
        assert_eq!(messages.selected(&path), [Selected::Timestamp]);
    }

    fn place() -> Place {
        Place {
            document: None,
            line: 1,
            column: 1,
        }
    }
}
