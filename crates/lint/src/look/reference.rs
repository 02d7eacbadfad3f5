//! References to tokens (WSS 1.1.1, 7).

use std::collections::HashMap;

use soapstone_crypto::{DigestAlgorithm, base64, digest};
use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::message::{Message, Target, Token, TokenReference, pointed_id, token_named, token_of};
use crate::names::{
    BASE64, DS, ENCRYPTED_KEY, ENCRYPTED_KEY_SHA1, KERBEROS_PROFILE, PKCS7, PKI_PATH, REL_LICENSE,
    SAML_PROFILE, SAML11, THUMBPRINT, USERNAME_TOKEN, WSC, WSSE, WSU, X509_PROFILE, XENC,
};

/// Local names of tokens, by which one in a wrong namespace is known.
const TOKENS: [&str; 6] = [
    "BinarySecurityToken",
    "UsernameToken",
    "Assertion",
    "license",
    "SecurityContextToken",
    "EncryptedKey",
];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    // How many references lead to each element.
    let mut uses: HashMap<NodeId, usize> = HashMap::new();
    for reference in &message.references {
        if let Some(inside) = reference.inside() {
            *uses.entry(inside.id()).or_default() += 1;
        }
    }
    let listing = listing_headers(message);
    let thumbprints = thumbprints(message);
    for reference in &message.references {
        look_at(reference, findings);
        if let Some(direct) = reference.direct {
            look_at_direct(message, reference, direct, findings);
            look_at_headers(message, reference, direct, &listing, findings);
        }
        if let Some(identifier) = reference.key_identifier {
            look_at_identifier(reference, identifier, &thumbprints, findings);
        }
        if let Some(embedded) = reference.embedded {
            look_at_embedded(embedded, &uses, findings);
        }
    }
}

fn look_at(reference: &TokenReference<'_>, findings: &mut Findings) {
    let element = reference.element;
    let ways = element
        .children()
        .filter(|child| !child.is(SAML11, "AuthorityBinding"));
    let count = ways.count();
    if count != 1 {
        findings.add("R3061", element, "one reference inside", count.to_string());
    }
    if let Some(name) = element.child(DS, "KeyName") {
        findings.add(
            "R3027",
            name,
            "another way to refer to the token",
            "ds:KeyName",
        );
    }
    if let Some(token_type) = &reference.token_type {
        let named = token_named(token_type);
        let fits = match (named, reference.token) {
            (Some(named), Some(token)) => named == token || token == Token::Binary,
            (Some(_), None) => true,
            (None, _) => token_type.starts_with(SAML_PROFILE),
        };
        if !fits {
            let expected = "the TokenType of the token's profile";
            findings.add("R3074", element, expected, quoted(Some(token_type)));
        }
    }
}

fn look_at_direct(
    message: &Message<'_>,
    reference: &TokenReference<'_>,
    direct: Element<'_>,
    findings: &mut Findings,
) {
    let uri = direct.attribute("", "URI");
    if uri.is_none() {
        findings.add("R3062", direct, "a URI", "none");
    }
    let value_type = direct.attribute("", "ValueType");
    let without_type = [Token::Saml20, Token::Kerberos, Token::EncryptedKey];
    match value_type.as_deref() {
        None => {
            let exempt = reference
                .token
                .is_some_and(|token| without_type.contains(&token));
            if !exempt {
                findings.add("R3059", direct, "a ValueType", "none");
            }
        }
        Some(value) if !is_type_of(value, reference.token) => {
            let expected = "the ValueType of the token that is referred to";
            findings.add("R3058", direct, expected, quoted(Some(value)));
        }
        Some(_) => {}
    }
    let Some(inside) = reference.inside() else {
        return;
    };
    if let Some(fragment) = uri.as_deref().and_then(|uri| uri.strip_prefix('#'))
        && pointed_id(fragment).is_some()
    {
        findings.add("R5204", direct, "# and the id", quoted(uri.as_deref()));
    }
    if inside.is(WSSE, "SecurityTokenReference") {
        findings.add(
            "R3057",
            direct,
            "a reference to a token",
            "one to a token reference",
        );
    } else if inside.is(WSSE, "Embedded") {
        findings.add(
            "R3064",
            direct,
            "a reference to the token inside",
            "one to wsse:Embedded",
        );
    } else if inside.is(DS, "KeyInfo") {
        findings.add(
            "R3211",
            direct,
            "a reference to a token",
            "one to ds:KeyInfo",
        );
    }
    let is_embedded = inside
        .parent()
        .is_some_and(|parent| parent.is(WSSE, "Embedded"));
    if token_of(inside).is_some()
        && !is_embedded
        && inside.range().start > reference.element.range().start
        && message.header_of(inside).is_some()
    {
        let expected = "the token in front of the reference";
        findings.add("R5205", reference.element, expected, "the token behind it");
    }
}

/// Whether a `ValueType` is one of a kind of token.
fn is_type_of(value: &str, token: Option<Token>) -> bool {
    let Some(token) = token else {
        return token_named(value).is_some() || value.starts_with(SAML_PROFILE);
    };
    match token {
        Token::X509 => value.starts_with(X509_PROFILE) && value != PKCS7 && value != PKI_PATH,
        Token::Pkcs7 => value == PKCS7,
        Token::PkiPath => value == PKI_PATH,
        Token::Username => value == USERNAME_TOKEN,
        Token::Saml11 | Token::Saml20 => value.starts_with(SAML_PROFILE),
        Token::Kerberos => KERBEROS_PROFILE
            .iter()
            .any(|profile| value.starts_with(profile)),
        Token::Rel => value == REL_LICENSE,
        Token::EncryptedKey => value == ENCRYPTED_KEY,
        Token::Conversation => WSC.iter().any(|profile| value.starts_with(profile)),
        Token::Binary => true,
    }
}

/// By encrypted data, the security header whose lists name it.
fn listing_headers<'d>(message: &Message<'d>) -> HashMap<NodeId, Element<'d>> {
    let mut headers = HashMap::new();
    for security in &message.security {
        let lists = security.children().flat_map(|child| {
            let own = child.is(XENC, "ReferenceList").then_some(child);
            own.or_else(|| child.child(XENC, "ReferenceList"))
        });
        for reference in lists.flat_map(|list| list.children()) {
            let uri = reference.attribute("", "URI");
            if let Target::Inside(data) = message.target(uri.as_deref()) {
                headers.insert(data.id(), *security);
            }
        }
    }
    headers
}

/// Rules of references that leave their header.
fn look_at_headers(
    message: &Message<'_>,
    reference: &TokenReference<'_>,
    direct: Element<'_>,
    listing: &HashMap<NodeId, Element<'_>>,
    findings: &mut Findings,
) {
    let inside = reference
        .inside()
        .filter(|inside| token_of(*inside).is_some());
    let Some(of_token) = inside.and_then(|inside| message.header_of(inside)) else {
        return;
    };
    if let Some(own) = message.header_of(direct)
        && own != of_token
    {
        let expected = "a token of the same wsse:Security";
        findings.add("R3066", direct, expected, "one of another header");
    }
    let data = direct
        .ancestors()
        .find(|ancestor| ancestor.is(XENC, "EncryptedData"));
    let lists = data.and_then(|data| {
        let around = data.parent().and_then(|parent| listing.get(&parent.id()));
        listing.get(&data.id()).or(around)
    });
    if lists.is_some_and(|lists| *lists != of_token) {
        let expected = "a token of the header that lists the xenc:EncryptedData";
        findings.add("R3067", direct, expected, "one of another header");
    }
}

/// Thumbprints of the certificates that have an id.
fn thumbprints(message: &Message<'_>) -> Vec<String> {
    let tokens = message.binary_tokens.iter().take(MOST_CERTIFICATES);
    let with_id = tokens.filter(|token| {
        token.attribute(WSU, "Id").is_some() && token_of(**token) == Some(Token::X509)
    });
    with_id
        .filter_map(|token| {
            let bytes = base64::decode_xml_to_vec(token.text().as_bytes()).ok()?;
            let hash = digest(DigestAlgorithm::Sha1, &bytes).ok()?;
            Some(base64::encode(hash.as_ref()))
        })
        .collect()
}

/// Certificates of one message that are compared with key identifiers.
const MOST_CERTIFICATES: usize = 16;

fn look_at_identifier(
    reference: &TokenReference<'_>,
    identifier: Element<'_>,
    thumbprints: &[String],
    findings: &mut Findings,
) {
    let is_saml = matches!(reference.token, Some(Token::Saml11 | Token::Saml20));
    let value_type = identifier.attribute("", "ValueType");
    match value_type.as_deref() {
        None => findings.add("R3054", identifier, "a ValueType", "none"),
        Some(value) => {
            let is_known = value == THUMBPRINT
                || value == ENCRYPTED_KEY_SHA1
                || value.starts_with(X509_PROFILE)
                || value.starts_with(SAML_PROFILE)
                || KERBEROS_PROFILE
                    .iter()
                    .any(|profile| value.starts_with(profile));
            if !is_known {
                let expected = "a ValueType of a token profile";
                findings.add("R3063", identifier, expected, quoted(Some(value)));
            }
        }
    }
    match identifier.attribute("", "EncodingType") {
        None if !is_saml => findings.add("R3070", identifier, "an EncodingType", "none"),
        Some(encoding) if encoding != BASE64 => {
            findings.add(
                "R3071",
                identifier,
                quoted(Some(BASE64)),
                quoted(Some(&encoding)),
            );
        }
        _ => {}
    }
    let text = identifier.text();
    let is_inside = value_type.as_deref() == Some(THUMBPRINT)
        && thumbprints.iter().any(|known| known == text.trim());
    if is_inside {
        let expected = "a wsse:Reference to the token's wsu:Id";
        findings.add("R3022", reference.element, expected, "a thumbprint");
    }
}

fn look_at_embedded(embedded: Element<'_>, uses: &HashMap<NodeId, usize>, findings: &mut Findings) {
    let count = embedded.children().count();
    let Some(token) = embedded.first_child().filter(|_| count == 1) else {
        findings.add("R3060", embedded, "one token inside", count.to_string());
        return;
    };
    let name = quoted(Some(token.qualified_name()));
    if token.is(WSSE, "SecurityTokenReference") {
        findings.add("R3056", embedded, "a token inside", name);
    } else if token_of(token).is_none() {
        let rule = if TOKENS.contains(&token.local()) {
            "R3025"
        } else {
            "R3060"
        };
        findings.add(rule, embedded, "a token of a token profile inside", name);
    }
    // The embedding reference itself is one use.
    if uses.get(&token.id()).is_some_and(|uses| *uses > 1) {
        let expected = "a token in the header for several references";
        findings.add("R3023", embedded, expected, "an embedded one");
    }
}
