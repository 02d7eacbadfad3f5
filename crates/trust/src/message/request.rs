//! `wst:RequestSecurityToken` and its collection (WS-Trust 1.4, 3.1, 4.1, 4.2, 5, 6, 7 and 9).
//!
//! The one rule: an element that is not understood is remembered by name, so that whoever answers
//! can refuse it (WS-Trust 1.4, 3.1).

use soapstone_crypto::PublicKey;
use soapstone_xml::{Element, NodeId};

use super::claims::RequestedClaims;
use super::endpoint::{AppliesTo, endpoint_address};
use super::entropy::Entropy;
use super::lifetime::Lifetime;
use super::read::{MessageError, expanded_name, flag, only_child, set, text, uri};
use super::reference::ContextReference;
use super::use_key;
use super::write::Writer;
use crate::addressing::AddressingVersion;
use crate::version::{ComputedKey, KeyType, RequestType, TrustVersion};

/// Most requests of one collection that are read.
pub(crate) const COLLECTION_LIMIT: usize = 64;

/// Most elements of one request that are not understood and remembered.
const UNKNOWN_LIMIT: usize = 16;

/// A `wst:RequestSecurityToken`.
#[derive(Debug)]
#[non_exhaustive]
pub struct RequestSecurityToken {
    /// Version by namespace.
    pub version: TrustVersion,
    /// `@Context`: given back with the answer.
    pub context: Option<String>,
    /// `wst:RequestType`.
    pub request_type: RequestType,
    /// `wst:TokenType`, a URI.
    pub token_type: Option<String>,
    /// `wsp:AppliesTo`.
    pub applies_to: Option<AppliesTo>,
    /// `wst:Entropy` of the requestor.
    pub entropy: Option<Entropy>,
    /// `wst:Lifetime`.
    pub lifetime: Option<Lifetime>,
    /// `wst:KeyType`.
    pub key_type: Option<KeyType>,
    /// `wst:KeySize` in bits.
    pub key_size: Option<u32>,
    /// `wst:ComputedKeyAlgorithm`: one that is known, or its URI.
    pub computed_key: Option<Result<ComputedKey, String>>,
    /// What is to be renewed, cancelled or validated: `wst:RenewTarget`, `wst:CancelTarget`,
    /// `wst:ValidateTarget`.
    pub target: Option<ContextReference>,
    /// The element inside of that, in the document that the request was read from.
    pub target_node: Option<NodeId>,
    /// `wst:Claims`: what the token is to say of its subject (9.3).
    pub claims: Option<RequestedClaims>,
    /// `wst:UseKey`: the public key that the token is to name (9.2). Who has its private key is
    /// for others to prove.
    pub use_key: Option<PublicKey>,
    /// The token in `wst:OnBehalfOf` (9.1), in the document that the request was read from.
    pub on_behalf_of: Option<NodeId>,
    /// The token in `wst14:ActAs` (9.1), in the document that the request was read from.
    pub act_as: Option<NodeId>,
    /// `wst:Renewing/@OK`: a token that can be renewed after its end is wished for.
    pub renewable_after_expiry: bool,
    /// `wst:Participants` (9.5).
    pub participants: Option<Participants>,
    /// Expanded names of elements that are not understood.
    pub not_understood: Vec<String>,
}

/// `wst:Participants`: addresses of the parties that may use a token (WS-Trust 1.4, 9.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Participants {
    /// `wst:Primary`.
    pub primary: Option<String>,
    /// Each `wst:Participant`.
    pub others: Vec<String>,
}

/// What `wst:RequestSecurityToken` and `wst:SecondaryParameters` may both hold.
#[derive(Default)]
struct Parameters {
    request_type: Option<String>,
    token_type: Option<String>,
    applies_to: Option<AppliesTo>,
    entropy: Option<Entropy>,
    lifetime: Option<Lifetime>,
    key_type: Option<String>,
    key_size: Option<u32>,
    computed_key: Option<String>,
    target: Option<(&'static str, ContextReference, NodeId)>,
    claims: Option<RequestedClaims>,
    use_key: Option<PublicKey>,
    on_behalf_of: Option<NodeId>,
    act_as: Option<NodeId>,
    renewing: Option<bool>,
    participants: Option<Participants>,
    secondary: Option<Box<Parameters>>,
    not_understood: Vec<String>,
}

impl RequestSecurityToken {
    /// A request with nothing but its type.
    #[must_use]
    pub fn new(version: TrustVersion, request_type: RequestType) -> Self {
        Self {
            version,
            context: None,
            request_type,
            token_type: None,
            applies_to: None,
            entropy: None,
            lifetime: None,
            key_type: None,
            key_size: None,
            computed_key: None,
            target: None,
            target_node: None,
            claims: None,
            use_key: None,
            on_behalf_of: None,
            act_as: None,
            renewable_after_expiry: false,
            participants: None,
            not_understood: Vec::new(),
        }
    }

    /// Reads the element.
    ///
    /// # Errors
    /// [`MessageError`]: another element, one that occurs twice, a value that is none, a request
    /// type that is unknown.
    pub fn read(element: Element<'_>) -> Result<Self, MessageError> {
        let expected = "`wst:RequestSecurityToken`";
        let version = TrustVersion::from_namespace(element.namespace())
            .filter(|_| element.local() == "RequestSecurityToken")
            .ok_or_else(|| MessageError::unexpected(expected, element))?;
        let mut parameters = Parameters::read(element, version)?;
        let written = parameters
            .request_type
            .take()
            .ok_or_else(|| MessageError::missing("`wst:RequestType`", element))?;
        let request_type = RequestType::from_uri(version, &written).ok_or_else(|| {
            MessageError::value(element, "a known `wst:RequestType`", Some(written))
        })?;
        let mut not_understood = parameters.not_understood;
        if let Some(secondary) = parameters.secondary {
            // What the requestor says itself takes precedence (WS-Trust 1.4, 3.1).
            let Parameters {
                token_type,
                key_type,
                key_size,
                computed_key,
                lifetime,
                applies_to,
                claims,
                ..
            } = *secondary;
            parameters.claims = parameters.claims.or(claims);
            parameters.token_type = parameters.token_type.or(token_type);
            parameters.key_type = parameters.key_type.or(key_type);
            parameters.key_size = parameters.key_size.or(key_size);
            parameters.computed_key = parameters.computed_key.or(computed_key);
            parameters.lifetime = parameters.lifetime.or(lifetime);
            parameters.applies_to = parameters.applies_to.or(applies_to);
            not_understood.extend(secondary.not_understood);
            not_understood.truncate(UNKNOWN_LIMIT);
        }
        let (target, target_node) = match parameters.target {
            None => (None, None),
            Some((name, target, node)) => {
                let fits = name == target_name(request_type).unwrap_or_default();
                if !fits {
                    not_understood.push(format!("{{{}}}{name}", version.namespace()));
                }
                (fits.then_some(target), fits.then_some(node))
            }
        };
        Ok(Self {
            version,
            context: context(element)?,
            request_type,
            token_type: parameters.token_type,
            applies_to: parameters.applies_to,
            entropy: parameters.entropy,
            lifetime: parameters.lifetime,
            key_type: parameters
                .key_type
                .map(|uri| KeyType::from_uri(version, &uri)),
            key_size: parameters.key_size,
            computed_key: parameters
                .computed_key
                .map(|uri| ComputedKey::from_uri(version, &uri).ok_or(uri)),
            target,
            target_node,
            claims: parameters.claims,
            use_key: parameters.use_key,
            on_behalf_of: parameters.on_behalf_of,
            act_as: parameters.act_as,
            renewable_after_expiry: parameters.renewing.unwrap_or(false),
            participants: parameters.participants,
            not_understood,
        })
    }

    /// Appends the element, in canonical form.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_in(Some(self.version.namespace()), &mut Writer::new(out));
    }

    fn write_in(&self, namespace: Option<&str>, writer: &mut Writer<'_>) {
        let version = self.version;
        let name = "wst:RequestSecurityToken";
        writer.message(name, namespace, self.context.as_deref(), |writer| {
            if let Some(token_type) = &self.token_type {
                writer.text("wst:TokenType", token_type);
            }
            writer.text("wst:RequestType", &self.request_type.uri(version));
            if let Some(applies_to) = &self.applies_to {
                applies_to.write(writer);
            }
            if let Some(entropy) = &self.entropy {
                writer.element("wst:Entropy", None, &[], |writer| {
                    entropy.write(version, writer);
                });
            }
            if let Some(lifetime) = self.lifetime {
                lifetime.write(writer);
            }
            if let (Some(target), Some(name)) = (&self.target, target_name(self.request_type)) {
                writer.element(&format!("wst:{name}"), None, &[], |writer| {
                    target.write(writer);
                });
            }
            if self.renewable_after_expiry {
                writer.element("wst:Renewing", None, &[("OK", "true")], |_| {});
            }
            if let Some(key_type) = &self.key_type {
                writer.text("wst:KeyType", &key_type.uri(version));
            }
            if let Some(bits) = self.key_size {
                writer.text("wst:KeySize", &bits.to_string());
            }
            if let Some(computed_key) = &self.computed_key {
                let uri = match computed_key {
                    Ok(algorithm) => algorithm.uri(version),
                    Err(uri) => uri.clone(),
                };
                writer.text("wst:ComputedKeyAlgorithm", &uri);
            }
            if let Some(participants) = &self.participants {
                participants.write(writer);
            }
        });
    }
}

impl RequestSecurityToken {
    /// Expanded name of the first element that says something of assertions and nothing of
    /// security contexts.
    pub(crate) fn about_assertions(&self) -> Option<String> {
        let own = |local: &str| format!("{{{}}}{local}", self.version.namespace());
        let given = [
            (self.claims.is_some(), own("Claims")),
            (self.use_key.is_some(), own("UseKey")),
            (self.on_behalf_of.is_some(), own("OnBehalfOf")),
            (self.act_as.is_some(), format!("{{{ACT_AS}}}ActAs")),
        ];
        let mut given = given.into_iter();
        given.find_map(|(is_there, name)| is_there.then_some(name))
    }
}

/// Name of the element that says what is renewed, cancelled or validated.
fn target_name(request_type: RequestType) -> Option<&'static str> {
    use crate::version::Operation::{Amend, Cancel, Issue, Renew, Validate};
    match request_type.operation {
        Issue | Amend => None,
        Renew => Some("RenewTarget"),
        Cancel => Some("CancelTarget"),
        Validate => Some("ValidateTarget"),
    }
}

/// `@Context` of a request or an answer: a URI, short.
pub(super) fn context(element: Element<'_>) -> Result<Option<String>, MessageError> {
    match element.attribute("", "Context") {
        Some(context) if context.len() > super::read::TEXT_LIMIT => {
            let expected = "at most 2048 bytes in `Context`";
            Err(MessageError::value(element, expected, None))
        }
        context => Ok(context.map(|context| context.into_owned())),
    }
}

/// `wst:KeySize`: bits.
pub(super) fn key_size(element: Element<'_>) -> Result<u32, MessageError> {
    let text = text(element)?;
    text.parse()
        .map_err(|_| MessageError::value(element, "a number of bits", Some(text)))
}

impl Parameters {
    fn read(parent: Element<'_>, version: TrustVersion) -> Result<Self, MessageError> {
        let mut read = Self::default();
        for child in parent.children() {
            if AppliesTo::is(child) {
                set(&mut read.applies_to, child, AppliesTo::read(child)?)?;
                continue;
            }
            if child.is(ACT_AS, "ActAs") {
                let token = only_child(child, "one token")?;
                set(&mut read.act_as, child, token.id())?;
                continue;
            }
            if child.namespace() != version.namespace() || !read.take(child, version)? {
                let name = expanded_name(child);
                if read.not_understood.len() < UNKNOWN_LIMIT && !read.not_understood.contains(&name)
                {
                    read.not_understood.push(name);
                }
            }
        }
        Ok(read)
    }

    /// Takes an element of WS-Trust's own; `false` if it is none that is understood.
    fn take(&mut self, child: Element<'_>, version: TrustVersion) -> Result<bool, MessageError> {
        match child.local() {
            "RequestType" => set(&mut self.request_type, child, uri(child)?)?,
            "TokenType" => set(&mut self.token_type, child, uri(child)?)?,
            "Entropy" => set(&mut self.entropy, child, Entropy::read(child, version)?)?,
            "Lifetime" => set(&mut self.lifetime, child, Lifetime::read(child)?)?,
            "KeyType" => set(&mut self.key_type, child, uri(child)?)?,
            "KeySize" => set(&mut self.key_size, child, key_size(child)?)?,
            "ComputedKeyAlgorithm" => set(&mut self.computed_key, child, uri(child)?)?,
            "RenewTarget" => self.take_target("RenewTarget", child, version)?,
            "CancelTarget" => self.take_target("CancelTarget", child, version)?,
            "ValidateTarget" => self.take_target("ValidateTarget", child, version)?,
            "Claims" => set(&mut self.claims, child, RequestedClaims::read(child)?)?,
            "UseKey" => set(&mut self.use_key, child, use_key::read(child)?)?,
            "OnBehalfOf" => {
                let token = only_child(child, "one token")?;
                set(&mut self.on_behalf_of, child, token.id())?;
            }
            "Renewing" => {
                // Whether a token may be renewed at all is a wish too; who asks for no renewal does
                // not renew.
                flag(child, "Allow", true)?;
                set(&mut self.renewing, child, flag(child, "OK", false)?)?;
            }
            "Participants" => set(
                &mut self.participants,
                child,
                Participants::read(child, version)?,
            )?,
            "SecondaryParameters" if version == TrustVersion::V13 => {
                let secondary = Self::read(child, version)?;
                if secondary.acts() {
                    let expected =
                        "the requestor's own elements outside of `wst:SecondaryParameters`";
                    return Err(MessageError::value(child, expected, None));
                }
                set(&mut self.secondary, child, Box::new(secondary))?;
            }
            _ if ALGORITHMS.contains(&child.local()) => {
                uri(child)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether there is more than wishes: what only the requestor itself can say.
    fn acts(&self) -> bool {
        self.request_type.is_some()
            || self.entropy.is_some()
            || self.target.is_some()
            || self.use_key.is_some()
            || self.on_behalf_of.is_some()
            || self.act_as.is_some()
            || self.participants.is_some()
            || self.secondary.is_some()
    }

    fn take_target(
        &mut self,
        name: &'static str,
        target: Element<'_>,
        version: TrustVersion,
    ) -> Result<(), MessageError> {
        let inside = only_child(target, "one token or reference")?;
        let reference = ContextReference::read(inside, version.conversation())?;
        let reference = match reference.resolve(inside) {
            Some(name) => ContextReference::Context(name),
            None => reference,
        };
        set(&mut self.target, target, (name, reference, inside.id()))
    }
}

/// Namespace of `ActAs`, which came with WS-Trust 1.4.
const ACT_AS: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";

/// Wishes for algorithms inside or around a token (WS-Trust 1.4, 9.2). A security context token has
/// nothing signed or encrypted in it, so that there is nothing to grant or to refuse. An assertion
/// is signed as the service is configured.
const ALGORITHMS: [&str; 6] = [
    "SignatureAlgorithm",
    "EncryptionAlgorithm",
    "CanonicalizationAlgorithm",
    "KeyWrapAlgorithm",
    "SignWith",
    "EncryptWith",
];

impl Participants {
    fn read(element: Element<'_>, version: TrustVersion) -> Result<Self, MessageError> {
        let mut read = Self::default();
        for child in element.children() {
            let expected = "an endpoint reference";
            let address = || {
                let reference = only_child(child, expected)?;
                let addressing = AddressingVersion::from_namespace(reference.namespace())
                    .filter(|_| reference.local() == "EndpointReference")
                    .ok_or_else(|| MessageError::unexpected(expected, reference))?;
                endpoint_address(reference, addressing)
            };
            if child.is(version.namespace(), "Primary") {
                set(&mut read.primary, child, address()?)?;
            } else if child.is(version.namespace(), "Participant") {
                if read.others.len() == UNKNOWN_LIMIT {
                    return Err(MessageError::TooMany {
                        what: "participants",
                        limit: UNKNOWN_LIMIT,
                    });
                }
                read.others.push(address()?);
            } else {
                let expected = "`wst:Primary` or `wst:Participant`";
                return Err(MessageError::unexpected(expected, child));
            }
        }
        Ok(read)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let party = |writer: &mut Writer<'_>, name: &str, address: &str| {
            writer.element(name, None, &[], |writer| {
                let namespace = Some(AddressingVersion::V10.namespace());
                writer.element("wsa:EndpointReference", namespace, &[], |writer| {
                    writer.text("wsa:Address", address);
                });
            });
        };
        writer.element("wst:Participants", None, &[], |writer| {
            if let Some(primary) = &self.primary {
                party(writer, "wst:Primary", primary);
            }
            for other in &self.others {
                party(writer, "wst:Participant", other);
            }
        });
    }
}

/// What a Body asks for: one token, or several at once.
#[derive(Debug)]
#[non_exhaustive]
pub enum Requests {
    /// `wst:RequestSecurityToken`.
    One(Box<RequestSecurityToken>),
    /// `wst:RequestSecurityTokenCollection` (WS-Trust 1.4, 4.2): two or more, all of one batch
    /// type.
    Collection(Vec<RequestSecurityToken>),
}

impl Requests {
    /// Reads a request or a collection.
    ///
    /// # Errors
    /// As [`RequestSecurityToken::read`]; [`MessageError::TooMany`] for more than 64.
    pub fn read(element: Element<'_>) -> Result<Self, MessageError> {
        if !element.is(
            TrustVersion::V13.namespace(),
            "RequestSecurityTokenCollection",
        ) {
            return RequestSecurityToken::read(element).map(|one| Self::One(Box::new(one)));
        }
        if element.children().nth(COLLECTION_LIMIT).is_some() {
            return Err(MessageError::TooMany {
                what: "requests in a collection",
                limit: COLLECTION_LIMIT,
            });
        }
        let requests: Vec<_> = element
            .children()
            .map(RequestSecurityToken::read)
            .collect::<Result<_, _>>()?;
        Ok(Self::Collection(requests))
    }

    /// Appends the element, in canonical form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::One(request) => request.write(out),
            Self::Collection(requests) => Writer::new(out).message(
                "wst:RequestSecurityTokenCollection",
                Some(TrustVersion::V13.namespace()),
                None,
                |writer| {
                    for request in requests {
                        request.write_in(None, writer);
                    }
                },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::SecurityToken;
    use crate::testing::document;
    use crate::version::Operation;

    fn again(request: &RequestSecurityToken) -> RequestSecurityToken {
        let mut text = Vec::new();
        request.write(&mut text);
        RequestSecurityToken::read(document(&text).root()).unwrap()
    }

    #[test]
    fn everything_that_is_written_is_read_again() {
        for version in TrustVersion::ALL {
            for operation in Operation::ALL {
                for batch in [false, version == TrustVersion::V13] {
                    let request_type = RequestType { operation, batch };
                    let mut request = RequestSecurityToken::new(version, request_type);
                    let name = soapstone_wss::ContextName {
                        version: version.conversation(),
                        identifier: "urn:uuid:one".to_owned(),
                        instance: Some("two & three".replace(' ', "")),
                    };
                    request.context = Some("urn:a\"b<c".to_owned());
                    request.token_type = Some("urn:type".to_owned());
                    request.applies_to = Some(AppliesTo::new("urn:to", AddressingVersion::V10));
                    request.entropy = Some(Entropy::nonce(32));
                    request.lifetime = Some(Lifetime::default());
                    request.key_type = Some(KeyType::Other("urn:key".to_owned()));
                    request.key_size = Some(192);
                    request.computed_key = Some(Err("urn:computed".to_owned()));
                    request.target =
                        target_name(request_type).map(|_| ContextReference::Context(name));
                    request.renewable_after_expiry = true;
                    request.participants = Some(Participants {
                        primary: Some("urn:primary".to_owned()),
                        others: vec!["urn:other".to_owned()],
                    });
                    let read = again(&request);
                    // Amending is issuing with another action.
                    let read_type = RequestType::from_uri(version, &request_type.uri(version));
                    assert_eq!(Some(read.request_type), read_type);
                    request.request_type = read.request_type;
                    // A place in the document, which is not written.
                    request.target_node = read.target_node;
                    assert_eq!(format!("{read:?}"), format!("{request:?}"));
                }
            }
        }
    }

    /// What the requestor says itself takes precedence over what a template says for it (WS-Trust
    /// 1.4, 3.1).
    #[test]
    fn secondary_parameters_fill_what_is_missing() {
        let text = "<t:RequestSecurityToken xmlns:t='http://docs.oasis-open.org/ws-sx/ws-trust/200512'>\
            <t:RequestType>http://docs.oasis-open.org/ws-sx/ws-trust/200512/Issue</t:RequestType><t:KeySize>128</t:KeySize>\
            <t:SecondaryParameters><t:KeySize>256</t:KeySize><t:TokenType>urn:type</t:TokenType></t:SecondaryParameters>\
            </t:RequestSecurityToken>";
        let document = document(text.as_bytes());
        let read = RequestSecurityToken::read(document.root()).unwrap();
        assert_eq!(read.key_size, Some(128));
        assert_eq!(read.token_type.as_deref(), Some("urn:type"));
    }

    #[test]
    fn a_foreign_token_keeps_its_canonical_form() {
        let document = document(b"<a xmlns='urn:a' xmlns:b='urn:b'><b:c  d='1'/></a>");
        let token = document.root().first_child().unwrap();
        let SecurityToken::Other(other) = SecurityToken::read(token).unwrap() else {
            panic!("another token");
        };
        assert_eq!(other.name, "{urn:b}c");
        assert_eq!(
            String::from_utf8(other.canonical).unwrap(),
            "<b:c xmlns:b=\"urn:b\" d=\"1\"></b:c>"
        );
    }
}
