//! `sp:IssuedToken` (WS-SecurityPolicy 1.3, 5.4.2): the issuer, and what to ask it for.
//!
//! The template goes into the request for a token. What messages must have is the assertion that
//! comes of it.
//!
//! The one rule: a template says of what kind the token is, and which claims it has. For whom, for
//! which service and how long is not for a policy to say: a stranger may have written it, and the
//! request has our rights.

use std::fmt::Write as _;
use std::sync::Arc;

use soapstone_wss::{ConversationVersion, SamlVersion};
use soapstone_xml::escape;

use crate::names::Name;
use crate::node::Node;
use crate::problem::{PolicyProblem, ProblemKind};

/// What an `sp:IssuedToken` says of a token and of who makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuedToken {
    /// The address of `sp:Issuer`.
    pub issuer: Option<String>,
    /// The version of WS-Trust in whose words the template is; the version of
    /// WS-SecureConversation that goes with it.
    pub trust: Option<ConversationVersion>,
    /// The version of SAML of the `wst:TokenType`, or that URI where it is of something else.
    pub token_type: Option<Result<SamlVersion, String>>,
    /// The `wst:KeyType`.
    pub key_type: Option<IssuedKey>,
    /// The `wst:KeySize` of a symmetric key, bits.
    pub key_size: Option<u32>,
    /// The other elements of the template, written out, each with its namespaces.
    pub other: String,
}

/// `wst:KeyType` of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuedKey {
    /// None.
    Bearer,
    /// That of the one who asks.
    PublicKey,
    /// A new one, which the service gets in the token.
    SymmetricKey,
    /// One that is not known.
    Other,
}

/// What a template may say (WS-Trust 1.4, 4.1, 9.2 and 9.3), beside claims: names with a text.
const SAID: [&str; 11] = [
    "TokenType",
    "RequestType",
    "KeyType",
    "KeySize",
    "CanonicalizationAlgorithm",
    "EncryptionAlgorithm",
    "EncryptWith",
    "SignWith",
    "SignatureAlgorithm",
    "KeyWrapAlgorithm",
    "ComputedKeyAlgorithm",
];

/// The namespace of `xml:lang`, which has one prefix and is declared by nobody.
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// `KeyType` of a bearer's token in February 2005 (Identity Selector Interoperability Profile 1.0,
/// 3.3.4.5).
const NO_PROOF_KEY: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity/NoProofKey";

impl IssuedToken {
    /// Takes the parameter of a token assertion; `false` if it is none of this kind.
    pub(super) fn take(
        &mut self,
        parameter: &Arc<Node>,
        problems: &mut Vec<PolicyProblem>,
    ) -> bool {
        match &*parameter.name.local {
            "Issuer" => {
                let mut addresses = parameter.children.iter();
                let address = addresses.find(|child| &*child.name.local == "Address");
                self.issuer = address.map(|address| address.text.trim().to_owned());
            }
            "RequestSecurityTokenTemplate" => {
                let symmetric = parameter.children.iter().any(is_symmetric);
                for child in &parameter.children {
                    self.template(child, symmetric, problems);
                }
            }
            // Beside the template it says the same as in it (5.4.2).
            "Claims" if trust_of(parameter).is_some() => self.template(parameter, false, problems),
            _ => return false,
        }
        true
    }

    /// Whether it names claims.
    pub(crate) fn asks_for_claims(&self) -> bool {
        self.other.contains("<Claims ")
    }

    fn template(&mut self, child: &Arc<Node>, symmetric: bool, problems: &mut Vec<PolicyProblem>) {
        let version = trust_of(child);
        if let Some(version) = version
            && self
                .trust
                .replace(version)
                .is_some_and(|other| other != version)
        {
            let with = "the other version of WS-Trust in the template";
            let kind = ProblemKind::Conflict { with };
            problems.push(PolicyProblem::at(&child.name, &child.place, kind));
        }
        let local = &*child.name.local;
        let is_said = match version {
            Some(_) if local == "Claims" => true,
            Some(_) => SAID.contains(&local) && child.children.is_empty(),
            None => false,
        };
        if !is_said {
            let reason = "a template says of what kind a token is and which claims it has, and nothing else of the request";
            let kind = ProblemKind::NotSupported { reason };
            problems.push(PolicyProblem::at(&child.name, &child.place, kind));
            return;
        }
        let is_there = match local {
            "Claims" => self.asks_for_claims(),
            "TokenType" => self.token_type.is_some(),
            "KeyType" => self.key_type.is_some(),
            "KeySize" => self.key_size.is_some(),
            _ => false,
        };
        if is_there {
            let kind = ProblemKind::Repeated;
            problems.push(PolicyProblem::at(&child.name, &child.place, kind));
            return;
        }
        let text = child.text.trim();
        match (version, local) {
            (Some(_), "TokenType") => {
                let mut versions = SamlVersion::ALL.into_iter();
                let of_saml = |version: &SamlVersion| {
                    [version.token_type(), version.namespace()].contains(&text)
                };
                self.token_type = Some(versions.find(of_saml).ok_or_else(|| text.to_owned()));
            }
            (Some(version), "KeyType") => {
                let path = text.strip_prefix(version.trust_namespace());
                self.key_type = Some(match path {
                    Some("/Bearer") => IssuedKey::Bearer,
                    Some("/PublicKey") => IssuedKey::PublicKey,
                    Some("/SymmetricKey") => IssuedKey::SymmetricKey,
                    _ if text == NO_PROOF_KEY => IssuedKey::Bearer,
                    _ => IssuedKey::Other,
                });
            }
            // The request says itself what it is.
            (Some(_), "RequestType") => {}
            // And how a symmetric key is to be made.
            (Some(_), "KeySize") if symmetric && key_size(text).is_some() => {
                self.key_size = key_size(text);
            }
            (Some(_), "ComputedKeyAlgorithm") if symmetric && text.ends_with("/CK/PSHA1") => {}
            (Some(_), "KeySize" | "ComputedKeyAlgorithm") if symmetric => {
                let reason =
                    "a symmetric key has 128 to 512 bits in whole bytes, and is computed by P_SHA1";
                let kind = ProblemKind::NotSupported { reason };
                problems.push(PolicyProblem::at(&child.name, &child.place, kind));
            }
            _ => write(child, &mut self.other),
        }
    }
}

/// The version of WS-Trust in whose namespace an element is.
fn trust_of(node: &Node) -> Option<ConversationVersion> {
    let mut versions = ConversationVersion::ALL.into_iter();
    versions.find(|version| version.trust_namespace() == &*node.name.namespace)
}

/// The bits of a symmetric key: 128 to 512 in whole bytes, as a key is asked for.
fn key_size(text: &str) -> Option<u32> {
    let bits: u32 = text.parse().ok()?;
    ((128..=512).contains(&bits) && bits.is_multiple_of(8)).then_some(bits)
}

/// Whether an element of a template asks for a symmetric key.
fn is_symmetric(child: &Arc<Node>) -> bool {
    let trust = ConversationVersion::ALL.map(ConversationVersion::trust_namespace);
    let path = child.text.trim().strip_suffix("/SymmetricKey");
    &*child.name.local == "KeyType" && path.is_some_and(|path| trust.contains(&path))
}

/// Writes an element with its namespaces declared on it.
fn write(node: &Node, out: &mut String) {
    let Name { namespace, local } = &node.name;
    let escaped = |text: &str| {
        let mut bytes = Vec::new();
        escape::attribute(text, &mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    };
    // Writing into a string does not fail.
    let _ = write!(out, "<{local} xmlns=\"{}\"", escaped(namespace));
    for (number, attribute) in node.attributes.iter().enumerate() {
        let value = escaped(&attribute.value);
        let Name { namespace, local } = &attribute.name;
        let _ = match &**namespace {
            "" => write!(out, " {local}=\"{value}\""),
            XML => write!(out, " xml:{local}=\"{value}\""),
            namespace => {
                let namespace = escaped(namespace);
                write!(
                    out,
                    " xmlns:a{number}=\"{namespace}\" a{number}:{local}=\"{value}\""
                )
            }
        };
    }
    out.push('>');
    let mut text = Vec::new();
    escape::text(node.text.trim(), &mut text);
    out.push_str(&String::from_utf8(text).unwrap_or_default());
    for child in &node.children {
        write(child, out);
    }
    let _ = write!(out, "</{local}>");
}
