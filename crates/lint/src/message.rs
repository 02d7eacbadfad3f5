//! An envelope as the rules see it: its security headers, tokens, references and signatures, each
//! found once.
//!
//! The rule kept here: the message is walked once, and ids are looked up in an index. Rules that
//! follow references may walk a part of it again, and its steps are counted.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::element::Element;

use crate::names::{
    DS, ENCRYPTED_KEY, ENCRYPTED_KEY_SHA1, KERBEROS_PROFILE, KERBEROS_SHA1, PKCS7, PKI_PATH, REL,
    REL_LICENSE, SAML_PROFILE, SAML11, SAML11_ID, SAML11_TOKEN, SAML20, SAML20_ID, SAML20_TOKEN,
    SOAP11, SOAP12, SUBJECT_KEY_IDENTIFIER, THUMBPRINT, USERNAME_TOKEN, WSC, WSSE, WSSE11, WSU,
    X509_PROFILE, X509V3, XENC, XML,
};

/// An id attribute of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// `wsu:Id`.
    Wsu,
    /// `Id` of XML-Signature or XML-Encryption.
    Own,
    /// `AssertionID` or `ID` of SAML.
    Saml,
    /// `xml:id`, or an attribute that is called like an id.
    Other,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    X509,
    Pkcs7,
    PkiPath,
    Username,
    Saml11,
    Saml20,
    Kerberos,
    Rel,
    EncryptedKey,
    /// Contexts and derived keys of WS-SecureConversation.
    Conversation,
    /// A binary token of a type that no profile known here defines.
    Binary,
}

/// Where what a reference leads to is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'d> {
    /// In the message.
    Inside(Element<'d>),
    /// Outside of it.
    Outside,
    /// Nowhere: an id that no element has, or no reference at all.
    Nowhere,
}

/// A `wsse:SecurityTokenReference`.
#[derive(Clone, Debug)]
pub(crate) struct TokenReference<'d> {
    pub(crate) element: Element<'d>,
    pub(crate) direct: Option<Element<'d>>,
    pub(crate) key_identifier: Option<Element<'d>>,
    pub(crate) embedded: Option<Element<'d>>,
    pub(crate) token_type: Option<Cow<'d, str>>,
    pub(crate) target: Target<'d>,
    /// What it refers to, as far as that can be told.
    pub(crate) token: Option<Token>,
}

/// The elements with one id, in document order.
#[derive(Clone, Debug)]
struct Named<'d> {
    /// The first one whose id is an id by the specifications; the first lookalike if there is
    /// none.
    meant: (Element<'d>, IdKind),
    /// The first assertion.
    assertion: Option<Element<'d>>,
    /// The second one with a `wsu:Id`.
    second: Option<Element<'d>>,
    /// How many have a `wsu:Id`.
    of_wsu: usize,
}

/// An envelope.
pub(crate) struct Message<'d> {
    pub(crate) envelope: Element<'d>,
    pub(crate) header: Option<Element<'d>>,
    pub(crate) body: Option<Element<'d>>,
    /// Namespace of the envelope.
    pub(crate) soap: &'d str,
    pub(crate) security: Vec<Element<'d>>,
    pub(crate) timestamps: Vec<Element<'d>>,
    pub(crate) binary_tokens: Vec<Element<'d>>,
    pub(crate) usernames: Vec<Element<'d>>,
    pub(crate) references: Vec<TokenReference<'d>>,
    /// Signatures that are children of a security header.
    pub(crate) signatures: Vec<Element<'d>>,
    pub(crate) confirmations: Vec<Element<'d>>,
    /// Those outside of assertions.
    pub(crate) encrypted_data: Vec<Element<'d>>,
    pub(crate) encrypted_keys: Vec<Element<'d>>,
    pub(crate) encrypted_headers: Vec<Element<'d>>,
    /// Reference lists that are children of a security header.
    pub(crate) lists: Vec<Element<'d>>,
    pub(crate) assertions: Vec<Element<'d>>,
    ids: HashMap<Cow<'d, str>, Named<'d>>,
    licences: HashMap<Cow<'d, str>, Element<'d>>,
}

impl<'d> Message<'d> {
    /// Collects what the rules ask for.
    pub(crate) fn read(envelope: Element<'d>) -> Self {
        let soap = envelope.namespace();
        let header = envelope.child(soap, "Header");
        let mut message = Self {
            envelope,
            header,
            body: envelope.child(soap, "Body"),
            soap,
            security: Vec::new(),
            timestamps: Vec::new(),
            binary_tokens: Vec::new(),
            usernames: Vec::new(),
            references: Vec::new(),
            signatures: Vec::new(),
            confirmations: Vec::new(),
            encrypted_data: Vec::new(),
            encrypted_keys: Vec::new(),
            encrypted_headers: Vec::new(),
            lists: Vec::new(),
            assertions: Vec::new(),
            ids: HashMap::new(),
            licences: HashMap::new(),
        };
        let mut references = Vec::new();
        // Where the assertion ends that the walk is in.
        let mut assertion_end = 0;
        for element in envelope.descendants() {
            message.index(element);
            let range = element.range();
            let within_assertion = range.start < assertion_end;
            let of_header = |wanted: Option<Element<'d>>| wanted.is_some_and(is_security);
            match (element.namespace(), element.local()) {
                (WSSE, "Security") if element.parent() == header => message.security.push(element),
                (WSU, "Timestamp") => message.timestamps.push(element),
                (WSSE, "BinarySecurityToken") => message.binary_tokens.push(element),
                (WSSE, "UsernameToken") => message.usernames.push(element),
                (WSSE, "SecurityTokenReference") => references.push(element),
                (WSSE11, "SignatureConfirmation") => message.confirmations.push(element),
                (WSSE11, "EncryptedHeader") => message.encrypted_headers.push(element),
                (DS, "Signature") if of_header(element.parent()) => {
                    message.signatures.push(element);
                }
                (XENC, "EncryptedData") if !within_assertion => {
                    message.encrypted_data.push(element);
                }
                (XENC, "EncryptedKey") if !within_assertion => message.encrypted_keys.push(element),
                (XENC, "ReferenceList") if of_header(element.parent()) => {
                    message.lists.push(element);
                }
                (SAML11 | SAML20, "Assertion") => {
                    message.assertions.push(element);
                    assertion_end = assertion_end.max(range.end);
                }
                (SAML20, "EncryptedAssertion") => assertion_end = assertion_end.max(range.end),
                (REL, "license") => {
                    if let Some(id) = element.attribute("", "licenseId") {
                        message.licences.entry(id).or_insert(element);
                    }
                }
                _ => {}
            }
        }
        message.references = references
            .into_iter()
            .map(|element| message.reference(element))
            .collect();
        message
    }

    fn index(&mut self, element: Element<'d>) {
        for attribute in element.attributes() {
            let kind = match (attribute.namespace(), attribute.local()) {
                (WSU, "Id") => IdKind::Wsu,
                ("", "Id") if matches!(element.namespace(), DS | XENC) => IdKind::Own,
                ("", "AssertionID") if element.namespace() == SAML11 => IdKind::Saml,
                ("", "ID") if element.namespace() == SAML20 => IdKind::Saml,
                (XML, "id") | ("", "Id" | "ID" | "id") => IdKind::Other,
                _ => continue,
            };
            let named = self.ids.entry(attribute.value()).or_insert(Named {
                meant: (element, kind),
                assertion: None,
                second: None,
                of_wsu: 0,
            });
            if named.meant.1 == IdKind::Other && kind != IdKind::Other {
                named.meant = (element, kind);
            }
            match kind {
                IdKind::Saml if named.assertion.is_none() => named.assertion = Some(element),
                IdKind::Wsu => {
                    named.of_wsu += 1;
                    if named.of_wsu == 2 {
                        named.second = Some(element);
                    }
                }
                _ => {}
            }
        }
    }

    /// The element that an id means, and the attribute that gives it the id. Other attributes that
    /// are called like an id count where no element has it as an id.
    pub(crate) fn with_id(&self, id: &str) -> Option<(Element<'d>, IdKind)> {
        self.ids.get(id).map(|named| named.meant)
    }

    /// The first assertion with an id.
    pub(crate) fn assertion(&self, id: &str) -> Option<Element<'d>> {
        self.ids.get(id)?.assertion
    }

    /// The ids that several elements have as `wsu:Id`, with the second of these.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = (&str, Element<'d>)> {
        let ids = self.ids.iter();
        ids.filter_map(|(id, named)| Some((&**id, named.second?)))
    }

    /// The licence with this `licenseId`.
    pub(crate) fn licence(&self, id: &str) -> Option<Element<'d>> {
        self.licences.get(id).copied()
    }

    /// What a URI leads to.
    pub(crate) fn target(&self, uri: Option<&str>) -> Target<'d> {
        match uri {
            None | Some("") => Target::Nowhere,
            Some(uri) => match uri.strip_prefix('#') {
                None => Target::Outside,
                Some(fragment) => {
                    let id = pointed_id(fragment).unwrap_or(fragment);
                    let named = self.with_id(id);
                    named.map_or(Target::Nowhere, |(element, _)| Target::Inside(element))
                }
            },
        }
    }

    fn reference(&self, element: Element<'d>) -> TokenReference<'d> {
        let direct = element.child(WSSE, "Reference");
        let key_identifier = element.child(WSSE, "KeyIdentifier");
        let embedded = element.child(WSSE, "Embedded");
        let token_type = element.attribute(WSSE11, "TokenType");
        let named = token_type.as_deref().and_then(token_named);
        let x509_data = element.child(DS, "X509Data");
        let (target, token) = if let Some(direct) = direct {
            let uri = direct.attribute("", "URI");
            let target = self.target(uri.as_deref());
            let value_type = direct.attribute("", "ValueType");
            match target {
                Target::Inside(inside) => (target, token_of(inside)),
                Target::Outside
                    if uri
                        .as_deref()
                        .is_some_and(|uri| self.licence(uri).is_some()) =>
                {
                    (target, Some(Token::Rel))
                }
                _ => (
                    target,
                    named.or_else(|| token_named(value_type.as_deref()?)),
                ),
            }
        } else if let Some(identifier) = key_identifier {
            let value = identifier.text();
            match self.assertion(value.trim()) {
                Some(assertion) => (Target::Inside(assertion), token_of(assertion)),
                None => {
                    let value_type = identifier.attribute("", "ValueType");
                    let identified = value_type.as_deref().and_then(token_identified);
                    (Target::Outside, named.or(identified))
                }
            }
        } else if let Some(embedded) = embedded {
            let inside = embedded.first_child();
            let target = inside.map_or(Target::Nowhere, Target::Inside);
            (target, inside.and_then(token_of))
        } else if x509_data.is_some() {
            (Target::Outside, Some(Token::X509))
        } else {
            (Target::Nowhere, named)
        };
        TokenReference {
            element,
            direct,
            key_identifier,
            embedded,
            token_type,
            target,
            token,
        }
    }

    /// The security header that an element is in.
    pub(crate) fn header_of(&self, element: Element<'d>) -> Option<Element<'d>> {
        element.ancestors().find(|ancestor| is_security(*ancestor))
    }
}

impl<'d> TokenReference<'d> {
    /// The token in the message that it leads to.
    pub(crate) fn inside(&self) -> Option<Element<'d>> {
        match self.target {
            Target::Inside(element) => Some(element),
            _ => None,
        }
    }
}

/// Whether an element is a security header.
pub(crate) fn is_security(element: Element<'_>) -> bool {
    element.is(WSSE, "Security")
        && element
            .parent()
            .is_some_and(|parent| matches!(parent.namespace(), SOAP11 | SOAP12))
}

/// The id of `xpointer(id('ID'))`.
pub(crate) fn pointed_id(fragment: &str) -> Option<&str> {
    let inside = fragment.strip_prefix("xpointer(id(")?.strip_suffix("))")?;
    let quote = inside
        .chars()
        .next()
        .filter(|first| matches!(first, '\'' | '"'))?;
    inside.strip_prefix(quote)?.strip_suffix(quote)
}

/// What an element is as a token.
pub(crate) fn token_of(element: Element<'_>) -> Option<Token> {
    match (element.namespace(), element.local()) {
        (WSSE, "BinarySecurityToken") => Some(
            element
                .attribute("", "ValueType")
                .and_then(|value| token_named(&value))
                .unwrap_or(Token::Binary),
        ),
        (WSSE, "UsernameToken") => Some(Token::Username),
        (SAML11, "Assertion") => Some(Token::Saml11),
        (SAML20, "Assertion" | "EncryptedAssertion") => Some(Token::Saml20),
        (REL, "license") => Some(Token::Rel),
        (XENC, "EncryptedKey") => Some(Token::EncryptedKey),
        (namespace, "SecurityContextToken" | "DerivedKeyToken") if WSC.contains(&namespace) => {
            Some(Token::Conversation)
        }
        _ => None,
    }
}

/// The token that a `ValueType` or `TokenType` means.
pub(crate) fn token_named(value: &str) -> Option<Token> {
    match value {
        PKCS7 => Some(Token::Pkcs7),
        PKI_PATH => Some(Token::PkiPath),
        X509V3 => Some(Token::X509),
        USERNAME_TOKEN => Some(Token::Username),
        SAML11_TOKEN => Some(Token::Saml11),
        SAML20_TOKEN => Some(Token::Saml20),
        REL_LICENSE => Some(Token::Rel),
        ENCRYPTED_KEY => Some(Token::EncryptedKey),
        _ if value.starts_with(X509_PROFILE) => Some(Token::X509),
        _ if KERBEROS_PROFILE
            .iter()
            .any(|profile| value.starts_with(profile)) =>
        {
            Some(Token::Kerberos)
        }
        _ if WSC.iter().any(|profile| value.starts_with(profile)) => Some(Token::Conversation),
        _ => None,
    }
}

/// The token that the `ValueType` of a key identifier means.
fn token_identified(value: &str) -> Option<Token> {
    match value {
        SUBJECT_KEY_IDENTIFIER | THUMBPRINT => Some(Token::X509),
        ENCRYPTED_KEY_SHA1 => Some(Token::EncryptedKey),
        SAML11_ID => Some(Token::Saml11),
        SAML20_ID => Some(Token::Saml20),
        _ if KERBEROS_SHA1.contains(&value) => Some(Token::Kerberos),
        _ if value.starts_with(SAML_PROFILE) => None,
        _ => token_named(value),
    }
}
