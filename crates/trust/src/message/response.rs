//! `wst:RequestSecurityTokenResponse` and its collection (WS-Trust 1.4, 3.2, 4.3, 4.4, 6 and 7).
//!
//! The one rule: the order of elements is the one that CXF and WCF write themselves.

use soapstone_xml::Element;

use super::endpoint::AppliesTo;
use super::entropy::Entropy;
use super::lifetime::Lifetime;
use super::read::{MessageError, expanded_name, only_child, set, text, uri};
use super::reference::{ContextReference, SecurityToken};
use super::request::{context, key_size};
use super::write::Writer;
use crate::version::{ComputedKey, KeyType, TrustVersion};

/// Most answers of one collection that are read.
const COLLECTION_LIMIT: usize = super::request::COLLECTION_LIMIT;

/// A `wst:RequestSecurityTokenResponse`.
#[derive(Debug)]
#[non_exhaustive]
pub struct RequestSecurityTokenResponse {
    /// Version by namespace.
    pub version: TrustVersion,
    /// `@Context` of the request.
    pub context: Option<String>,
    /// `wst:TokenType`, a URI.
    pub token_type: Option<String>,
    /// `wst:RequestedSecurityToken`.
    pub token: Option<SecurityToken>,
    /// `wsp:AppliesTo`.
    pub applies_to: Option<AppliesTo>,
    /// `wst:RequestedAttachedReference`: how to refer to the token in a message that carries it.
    pub attached: Option<ContextReference>,
    /// `wst:RequestedUnattachedReference`: how to refer to it in one that does not.
    pub unattached: Option<ContextReference>,
    /// `wst:RequestedProofToken`.
    pub proof: Option<ProofToken>,
    /// `wst:Entropy` of the issuer.
    pub entropy: Option<Entropy>,
    /// `wst:Lifetime`.
    pub lifetime: Option<Lifetime>,
    /// `wst:KeyType`.
    pub key_type: Option<KeyType>,
    /// `wst:KeySize` in bits.
    pub key_size: Option<u32>,
    /// `wst:RequestedTokenCancelled` is there.
    pub cancelled: bool,
    /// `wst:Status`.
    pub status: Option<TokenStatus>,
    /// Expanded names of elements of WS-Trust that are not understood. Those of other namespaces
    /// are extensions that say nothing to us.
    pub not_understood: Vec<String>,
}

/// What is inside `wst:RequestedProofToken` (WS-Trust 1.4, 4.4).
#[derive(Debug)]
#[non_exhaustive]
pub enum ProofToken {
    /// `wst:ComputedKey`: the key comes from both sides' entropy, by this algorithm, or by one that
    /// is not known.
    Computed(Result<ComputedKey, String>),
    /// The key itself.
    Key(Entropy),
}

/// `wst:Status` (WS-Trust 1.4, 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenStatus {
    /// `status/valid`.
    Valid,
    /// `status/invalid`, or any code that is not known.
    Invalid,
}

impl RequestSecurityTokenResponse {
    /// An answer that says nothing yet.
    #[must_use]
    pub fn new(version: TrustVersion) -> Self {
        Self {
            version,
            context: None,
            token_type: None,
            token: None,
            applies_to: None,
            attached: None,
            unattached: None,
            proof: None,
            entropy: None,
            lifetime: None,
            key_type: None,
            key_size: None,
            cancelled: false,
            status: None,
            not_understood: Vec::new(),
        }
    }

    /// Reads the element.
    ///
    /// # Errors
    /// [`MessageError`]: another element, one that occurs twice, a value that is none.
    pub fn read(element: Element<'_>) -> Result<Self, MessageError> {
        let expected = "`wst:RequestSecurityTokenResponse`";
        let version = TrustVersion::from_namespace(element.namespace())
            .filter(|_| element.local() == "RequestSecurityTokenResponse")
            .ok_or_else(|| MessageError::unexpected(expected, element))?;
        let mut read = Self::new(version);
        read.context = context(element)?;
        let mut cancelled = None;
        let mut request_type = None;
        for child in element.children() {
            if AppliesTo::is(child) {
                set(&mut read.applies_to, child, AppliesTo::read(child)?)?;
                continue;
            }
            if child.namespace() != version.namespace() {
                continue;
            }
            match child.local() {
                "TokenType" => set(&mut read.token_type, child, uri(child)?)?,
                "RequestType" => set(&mut request_type, child, uri(child)?)?,
                "RequestedSecurityToken" => {
                    let token = only_child(child, "one token")?;
                    set(&mut read.token, child, SecurityToken::read(token)?)?;
                }
                "RequestedAttachedReference" => {
                    set(&mut read.attached, child, reference(child, version)?)?;
                }
                "RequestedUnattachedReference" => {
                    set(&mut read.unattached, child, reference(child, version)?)?;
                }
                "RequestedProofToken" => {
                    set(&mut read.proof, child, ProofToken::read(child, version)?)?;
                }
                "Entropy" => set(&mut read.entropy, child, Entropy::read(child, version)?)?,
                "Lifetime" => set(&mut read.lifetime, child, Lifetime::read(child)?)?,
                "KeyType" => {
                    let key_type = KeyType::from_uri(version, &uri(child)?);
                    set(&mut read.key_type, child, key_type)?;
                }
                "KeySize" => set(&mut read.key_size, child, key_size(child)?)?,
                "RequestedTokenCancelled" => set(&mut cancelled, child, ())?,
                "Status" => set(&mut read.status, child, TokenStatus::read(child, version)?)?,
                // What the issuer would grant after the end is nothing that we count on.
                "Renewing" | "AllowPostdating" => {}
                _ => {
                    let name = expanded_name(child);
                    if !read.not_understood.contains(&name) {
                        read.not_understood.push(name);
                    }
                }
            }
        }
        read.cancelled = cancelled.is_some();
        Ok(read)
    }

    /// Appends the element, in canonical form.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_in(Some(self.version.namespace()), &mut Writer::new(out));
    }

    fn write_in(&self, namespace: Option<&str>, writer: &mut Writer<'_>) {
        let version = self.version;
        let name = "wst:RequestSecurityTokenResponse";
        writer.message(name, namespace, self.context.as_deref(), |writer| {
            if let Some(token_type) = &self.token_type {
                writer.text("wst:TokenType", token_type);
            }
            if let Some(token) = &self.token {
                writer.element("wst:RequestedSecurityToken", None, &[], |writer| {
                    token.write(writer);
                });
            }
            if let Some(applies_to) = &self.applies_to {
                applies_to.write(writer);
            }
            for (name, reference) in [
                ("wst:RequestedAttachedReference", &self.attached),
                ("wst:RequestedUnattachedReference", &self.unattached),
            ] {
                if let Some(reference) = reference {
                    writer.element(name, None, &[], |writer| reference.write(writer));
                }
            }
            if let Some(proof) = &self.proof {
                writer.element("wst:RequestedProofToken", None, &[], |writer| {
                    proof.write(version, writer);
                });
            }
            if let Some(entropy) = &self.entropy {
                writer.element("wst:Entropy", None, &[], |writer| {
                    entropy.write(version, writer);
                });
            }
            if let Some(lifetime) = self.lifetime {
                lifetime.write(writer);
            }
            if let Some(key_type) = &self.key_type {
                writer.text("wst:KeyType", &key_type.uri(version));
            }
            if let Some(bits) = self.key_size {
                writer.text("wst:KeySize", &bits.to_string());
            }
            if self.cancelled {
                writer.element("wst:RequestedTokenCancelled", None, &[], |_| {});
            }
            if let Some(status) = self.status {
                writer.element("wst:Status", None, &[], |writer| {
                    writer.text("wst:Code", &version.uri(status.path()));
                });
            }
        });
    }
}

fn reference(
    element: Element<'_>,
    version: TrustVersion,
) -> Result<ContextReference, MessageError> {
    let inside = only_child(element, "one reference")?;
    ContextReference::read(inside, version.conversation())
}

impl ProofToken {
    fn read(element: Element<'_>, version: TrustVersion) -> Result<Self, MessageError> {
        let child = only_child(element, "one proof of possession")?;
        if child.is(version.namespace(), "ComputedKey") {
            let uri = uri(child)?;
            return Ok(Self::Computed(
                ComputedKey::from_uri(version, &uri).ok_or(uri),
            ));
        }
        Entropy::read_secret(child, version).map(Self::Key)
    }

    fn write(&self, version: TrustVersion, writer: &mut Writer<'_>) {
        match self {
            Self::Computed(Ok(algorithm)) => {
                writer.text("wst:ComputedKey", &algorithm.uri(version))
            }
            Self::Computed(Err(uri)) => writer.text("wst:ComputedKey", uri),
            Self::Key(key) => key.write(version, writer),
        }
    }
}

impl TokenStatus {
    fn read(element: Element<'_>, version: TrustVersion) -> Result<Self, MessageError> {
        let mut code = None;
        for child in element.children() {
            if child.is(version.namespace(), "Code") {
                set(&mut code, child, uri(child)?)?;
            } else if child.is(version.namespace(), "Reason") {
                text(child)?;
            } else {
                let expected = "`wst:Code` or `wst:Reason`";
                return Err(MessageError::unexpected(expected, child));
            }
        }
        let code = code.ok_or_else(|| MessageError::missing("`wst:Code`", element))?;
        Ok(match version.path_of(&code) {
            Some(path) if path == Self::Valid.path() => Self::Valid,
            _ => Self::Invalid,
        })
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Valid => "status/valid",
            Self::Invalid => "status/invalid",
        }
    }
}

/// What a Body answers with: one answer, or a collection. With 1.3, tokens always come in a
/// collection (WS-Trust 1.4, 4.3).
#[derive(Debug)]
#[non_exhaustive]
pub enum Responses {
    /// `wst:RequestSecurityTokenResponse`.
    One(Box<RequestSecurityTokenResponse>),
    /// `wst:RequestSecurityTokenResponseCollection`.
    Collection(Vec<RequestSecurityTokenResponse>),
}

impl Responses {
    /// Reads an answer or a collection.
    ///
    /// # Errors
    /// As [`RequestSecurityTokenResponse::read`]; [`MessageError::TooMany`] for more than 64.
    pub fn read(element: Element<'_>) -> Result<Self, MessageError> {
        let name = "RequestSecurityTokenResponseCollection";
        if !element.is(TrustVersion::V13.namespace(), name) {
            return RequestSecurityTokenResponse::read(element).map(|one| Self::One(Box::new(one)));
        }
        if element.children().nth(COLLECTION_LIMIT).is_some() {
            return Err(MessageError::TooMany {
                what: "answers in a collection",
                limit: COLLECTION_LIMIT,
            });
        }
        let answers: Vec<_> = element
            .children()
            .map(RequestSecurityTokenResponse::read)
            .collect::<Result<_, _>>()?;
        Ok(Self::Collection(answers))
    }

    /// Appends the element, in canonical form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::One(answer) => answer.write(out),
            Self::Collection(answers) => {
                let name = "wst:RequestSecurityTokenResponseCollection";
                let namespace = Some(TrustVersion::V13.namespace());
                Writer::new(out).message(name, namespace, None, |writer| {
                    for answer in answers {
                        answer.write_in(None, writer);
                    }
                });
            }
        }
    }

    /// All answers.
    #[must_use]
    pub fn into_vec(self) -> Vec<RequestSecurityTokenResponse> {
        match self {
            Self::One(answer) => vec![*answer],
            Self::Collection(answers) => answers,
        }
    }
}
