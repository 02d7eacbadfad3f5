//! `wsse:SecurityTokenReference` and what else stands in a `ds:KeyInfo`, and the tokens that are
//! referred to, written in canonical form.
//!
//! The one rule: `ds` is declared by the `ds:KeyInfo` around; everything else by the piece itself
//! or, where its [`Scope`] says so, by the header.

use soapstone_crypto::{Certificate, base64};
use soapstone_xmlsec::write;

use super::scope::Scope;
use super::text::put;
use crate::binding::KeyReference;
use crate::conversation::{ConversationVersion, SecurityContext};
use crate::names::{
    BASE64_BINARY, ENCRYPTED_KEY_SHA1, ENCRYPTED_KEY_TOKEN, THUMBPRINT_SHA1, X509_SKI, X509_V3,
};
use crate::plan::SharedKey;
use crate::token::AssertionToken;

const REFERENCE_END: &str = "</wsse:SecurityTokenReference>";

/// Appends what stands in a `ds:KeyInfo` that names `certificate`; `token` is the id of its
/// `BinarySecurityToken` for [`KeyReference::Direct`].
pub(super) fn write_certificate(
    reference: KeyReference,
    certificate: &Certificate,
    token: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    if reference == KeyReference::KeyName {
        write::key_name(certificate.subject(), out);
        return;
    }
    open_reference(None, None, scope, out);
    match reference {
        KeyReference::Direct => write_direct(token, Some(X509_V3), out),
        KeyReference::SubjectKeyIdentifier => {
            write_identifier(X509_SKI, certificate.ski(), out);
        }
        KeyReference::Thumbprint => {
            write_identifier(THUMBPRINT_SHA1, &certificate.thumbprint_sha1(), out)
        }
        KeyReference::Embedded => {
            // Its `wsse` is that of the reference around it.
            put(&["<wsse:Embedded><wsse:BinarySecurityToken"], out);
            write_token_rest(certificate, token, scope, out);
            put(&["</wsse:Embedded>"], out);
        }
        KeyReference::IssuerSerial | KeyReference::KeyName | KeyReference::EncryptedKeySha1 => {
            write::x509_issuer_serial(certificate, out);
        }
    }
    put(&[REFERENCE_END], out);
}

/// Appends a reference to an assertion of this message (SAML Token Profile 1.1.1, 3.4): as the key
/// of its holder. A `wsse:Reference` to it has no `ValueType` (BSP 1.1, R6614).
pub(super) fn write_assertion(
    reference: KeyReference,
    assertion: &AssertionToken,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let version = assertion.version();
    open_reference(Some(version.token_type()), None, scope, out);
    match reference {
        KeyReference::Direct => write_direct(assertion.id(), None, out),
        _ => {
            let start = [
                "<wsse:KeyIdentifier ValueType=\"",
                version.identifier_type(),
            ];
            put(&start, out);
            put(&["\">"], out);
            soapstone_xml::escape::text(assertion.id(), out);
            put(&["</wsse:KeyIdentifier>"], out);
        }
    }
    put(&[REFERENCE_END], out);
}

/// Parameters of an implied derived key, on the `SecurityTokenReference` (WS-SecureConversation
/// 1.4, 7.4).
pub(super) struct ImpliedDerivation<'n> {
    pub(super) version: ConversationVersion,
    pub(super) nonce: &'n [u8],
    pub(super) length: usize,
}

/// Appends a reference to the `EncryptedKey` with this id.
pub(super) fn write_encrypted_key(
    id: &str,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    open_reference(Some(ENCRYPTED_KEY_TOKEN), implied, scope, out);
    write_direct(id, None, out);
    put(&[REFERENCE_END], out);
}

/// Appends a reference to a session key by the SHA-1 of its wrapped octets.
pub(super) fn write_encrypted_key_sha1(
    sha1: &[u8; 20],
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    open_reference(Some(ENCRYPTED_KEY_TOKEN), implied, scope, out);
    write_identifier(ENCRYPTED_KEY_SHA1, sha1, out);
    put(&[REFERENCE_END], out);
}

/// Appends a reference to a security context: to its token in the message (`#id`), or by its
/// identifier (WS-SecureConversation 1.4, 8).
pub(super) fn write_context(
    context: &SecurityContext,
    uri: &str,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    open_reference(None, implied, scope, out);
    // A token in the message says it itself, and Metro's services look for it in the reference
    // there as well.
    let instance = context.instance.as_deref();
    put(&["<wsse:Reference"], out);
    let declared = implied.is_some_and(|implied| implied.version == context.version);
    if instance.is_some() && !declared {
        scope.wsc(context.version, out);
    }
    put(&[" URI=\""], out);
    soapstone_xml::escape::attribute(uri, out);
    put(&["\" ValueType=\"", context.version.token_type()], out);
    if let Some(instance) = instance {
        put(&["\" wsc:Instance=\""], out);
        soapstone_xml::escape::attribute(instance, out);
    }
    put(&["\"></wsse:Reference>", REFERENCE_END], out);
}

/// Appends a reference to the `DerivedKeyToken` with this id.
pub(super) fn write_derived_key(
    version: ConversationVersion,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    open_reference(None, None, scope, out);
    write_direct(id, Some(version.derived_key_type()), out);
    put(&[REFERENCE_END], out);
}

fn open_reference(
    token_type: Option<&str>,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    put(&["<wsse:SecurityTokenReference"], out);
    if let Some(implied) = implied {
        scope.wsc(implied.version, out);
    }
    scope.wsse(out);
    if token_type.is_some() {
        scope.wsse11(out);
    }
    let write_token_type = |out: &mut Vec<u8>| {
        if let Some(token_type) = token_type {
            put(&[" wsse11:TokenType=\"", token_type, "\""], out);
        }
    };
    // Canonical order is that of the namespaces: WS-Security 1.1 stands between the two versions of
    // WS-SecureConversation.
    let february =
        implied.is_some_and(|implied| implied.version == ConversationVersion::February2005);
    if february {
        write_token_type(out);
    }
    if let Some(implied) = implied {
        let length = implied.length.to_string();
        put(&[" wsc:Length=\"", &length, "\" wsc:Nonce=\""], out);
        base64::encode_into(implied.nonce, out);
        put(&["\""], out);
    }
    if !february {
        write_token_type(out);
    }
    put(&[">"], out);
}

/// A `wsse:Reference` to the element of this message with this id.
fn write_direct(id: &str, value_type: Option<&str>, out: &mut Vec<u8>) {
    put(&["<wsse:Reference URI=\"#", id], out);
    if let Some(value_type) = value_type {
        put(&["\" ValueType=\"", value_type], out);
    }
    put(&["\"></wsse:Reference>"], out);
}

/// Appends the name of a shared key, or the SHA-1 that stands for it.
pub(super) fn write_shared(
    reference: KeyReference,
    shared: &SharedKey,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    match reference {
        KeyReference::EncryptedKeySha1 => {
            write_encrypted_key_sha1(&shared.sha1(), implied, scope, out)
        }
        _ => write::key_name(&shared.name, out),
    }
}

/// Appends a `wsse:BinarySecurityToken` with `certificate`.
pub(super) fn write_token(
    certificate: &Certificate,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    put(&["<wsse:BinarySecurityToken"], out);
    scope.wsse(out);
    write_token_rest(certificate, id, scope, out);
}

/// A token from its second declaration on.
fn write_token_rest(certificate: &Certificate, id: &str, scope: &mut Scope<'_>, out: &mut Vec<u8>) {
    scope.wsu(out);
    let attributes = [
        " EncodingType=\"",
        BASE64_BINARY,
        "\" ValueType=\"",
        X509_V3,
        "\" wsu:Id=\"",
        id,
        "\">",
    ];
    put(&attributes, out);
    base64::encode_into(certificate.der(), out);
    put(&["</wsse:BinarySecurityToken>"], out);
}

/// Appends a `wsc:SecurityContextToken` (WS-SecureConversation 1.4, 2).
pub(super) fn write_context_token(
    context: &SecurityContext,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    put(&["<wsc:SecurityContextToken"], out);
    scope.wsc(context.version, out);
    scope.wsu(out);
    put(&[" wsu:Id=\"", id, "\"><wsc:Identifier>"], out);
    soapstone_xml::escape::text(&context.identifier, out);
    put(&["</wsc:Identifier>"], out);
    if let Some(instance) = &context.instance {
        put(&["<wsc:Instance>"], out);
        soapstone_xml::escape::text(instance, out);
        put(&["</wsc:Instance>"], out);
    }
    put(&["</wsc:SecurityContextToken>"], out);
}

fn write_identifier(value_type: &str, octets: &[u8], out: &mut Vec<u8>) {
    let attributes = [
        "<wsse:KeyIdentifier EncodingType=\"",
        BASE64_BINARY,
        "\" ValueType=\"",
        value_type,
        "\">",
    ];
    put(&attributes, out);
    base64::encode_into(octets, out);
    put(&["</wsse:KeyIdentifier>"], out);
}
