//! `wsse:SecurityTokenReference` and what else stands in a `ds:KeyInfo`, and the tokens that are
//! referred to, written in canonical form.
//!
//! The one rule: `ds` is declared by the `ds:KeyInfo` around; everything else by the piece itself
//! or, where its [`Scope`] says so, by the header.

use std::borrow::Cow;

use soapstone_crypto::{Certificate, Identity, NameStyle, PasswordKey, PublicKey, base64};
use soapstone_xmlsec::write;

use super::scope::Scope;
use super::text::put;
use crate::binding::KeyReference;
use crate::conversation::{ConversationVersion, SecurityContext};
use crate::names::{
    BASE64_BINARY, ENCRYPTED_KEY_SHA1, ENCRYPTED_KEY_TOKEN, KERBEROS_AP_REQ_SHA1, THUMBPRINT_SHA1,
    USERNAME_TOKEN, WSSE, X509_PKI_PATH_V1, X509_SKI, X509_V3,
};
use crate::plan::SharedKey;
use crate::token::{AssertionReference, SOAP_BINDING, SamlVersion};

/// What a token with one certificate takes, as a rule.
const TOKEN_BYTES: usize = 2048;

const REFERENCE_END: &str = "</wsse:SecurityTokenReference>";

/// A certificate that is named, and what comes between it and an authority.
#[derive(Clone, Copy)]
pub(super) struct Holder<'c> {
    pub(super) certificate: &'c Certificate,
    pub(super) chain: &'c [Certificate],
}

impl<'c> Holder<'c> {
    /// The holder of a private key of ours.
    pub(super) fn of(identity: &'c Identity) -> Self {
        Self {
            certificate: identity.certificate(),
            chain: identity.chain(),
        }
    }

    /// Of whom nothing but the certificate is known.
    pub(super) const fn alone(certificate: &'c Certificate) -> Self {
        Self {
            certificate,
            chain: &[],
        }
    }

    /// The type and the bytes of the token by which a reference names the certificate.
    fn token(self, reference: KeyReference) -> (&'static str, Cow<'c, [u8]>) {
        match reference {
            KeyReference::PkiPath => {
                let mut path = Vec::with_capacity(1 + self.chain.len());
                path.push(self.certificate.clone());
                path.extend_from_slice(self.chain);
                let path = Certificate::to_pki_path(&path);
                (X509_PKI_PATH_V1, Cow::Owned(path))
            }
            _ => (X509_V3, Cow::Borrowed(self.certificate.der())),
        }
    }
}

/// The ids that a reference to a certificate has or uses.
#[derive(Clone, Copy)]
pub(super) struct Ids<'i> {
    /// Of the `BinarySecurityToken`, where there is one.
    pub(super) token: &'i str,
    /// Of the `SecurityTokenReference`, where a signature covers the token through it.
    pub(super) reference: Option<&'i str>,
}

/// Appends what stands in a `ds:KeyInfo` that names a certificate.
pub(super) fn write_certificate(
    reference: KeyReference,
    holder: Holder<'_>,
    ids: Ids<'_>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let certificate = holder.certificate;
    match reference {
        // In a reference of its own it is what a signature covers the certificate through.
        KeyReference::KeyName if ids.reference.is_none() => {
            return write::key_name(certificate.subject(), out);
        }
        KeyReference::X509Data => {
            return write::x509_certificates(std::slice::from_ref(certificate), out);
        }
        KeyReference::X509Ski => return write::x509_ski(certificate, out),
        KeyReference::X509IssuerSerial => return write::x509_issuer_serial(certificate, out),
        KeyReference::X509IssuerSerialAndCertificate => {
            return write::x509_issuer_serial_and_certificate(certificate, out);
        }
        KeyReference::KeyValue | KeyReference::RsaKeyValue => {
            return write_key_value(certificate.public_key(), out);
        }
        _ => {}
    }
    let path = reference == KeyReference::PkiPath;
    let attributes = ReferenceAttributes {
        id: ids.reference,
        token_type: path.then_some(X509_PKI_PATH_V1),
        implied: None,
    };
    open_reference(attributes, scope, out);
    match reference {
        KeyReference::Direct => write_direct(ids.token, Some(X509_V3), out),
        KeyReference::PkiPath => write_direct(ids.token, Some(X509_PKI_PATH_V1), out),
        KeyReference::SubjectKeyIdentifier => {
            write_identifier(X509_SKI, certificate.ski(), out);
        }
        KeyReference::Thumbprint => {
            write_identifier(THUMBPRINT_SHA1, &certificate.thumbprint_sha1(), out)
        }
        KeyReference::Embedded => {
            // Its `wsse` is that of the reference around it.
            put(&["<wsse:Embedded><wsse:BinarySecurityToken"], out);
            // And its `wsu`, where that has an id.
            if ids.reference.is_none() {
                scope.wsu(out);
            }
            write_token_rest(reference, holder, ids.token, out);
            put(&["</wsse:Embedded>"], out);
        }
        KeyReference::KeyName => write::key_name(certificate.subject(), out),
        KeyReference::IssuerSerialQuoted => {
            write::x509_issuer_serial_styled(certificate, NameStyle::Microsoft, out);
        }
        KeyReference::IssuerSerialAndCertificate => {
            write::x509_issuer_serial_and_certificate(certificate, out);
        }
        KeyReference::IssuerSerial
        | KeyReference::X509Data
        | KeyReference::X509Ski
        | KeyReference::X509IssuerSerial
        | KeyReference::X509IssuerSerialAndCertificate
        | KeyReference::KeyValue
        | KeyReference::RsaKeyValue
        | KeyReference::EncryptedKeySha1 => write::x509_issuer_serial(certificate, out),
    }
    put(&[REFERENCE_END], out);
}

/// Appends a reference to an assertion of this message (SAML Token Profile 1.1.1, 3.4): as the key
/// of its holder. A `wsse:Reference` to it has no `ValueType` (BSP 1.1, R6614).
pub(super) fn write_assertion(
    reference: KeyReference,
    version: SamlVersion,
    id: &str,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let attributes = ReferenceAttributes {
        id: None,
        token_type: Some(version.token_type()),
        implied,
    };
    open_reference(attributes, scope, out);
    match reference {
        KeyReference::Direct => write_direct(id, None, out),
        _ => write_assertion_id(version, id, out),
    }
    put(&[REFERENCE_END], out);
}

/// Appends a reference to an assertion that another message has, by its id.
pub(super) fn write_assertion_name(
    version: SamlVersion,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    write_assertion(KeyReference::KeyName, version, id, None, scope, out);
}

/// Appends a reference to an assertion through which a signature covers it, with this id of its
/// own.
pub(super) fn write_covered_assertion(
    version: SamlVersion,
    assertion: &str,
    id: &str,
    out: &mut Vec<u8>,
) {
    let attributes = ReferenceAttributes {
        id: Some(id),
        token_type: Some(version.token_type()),
        implied: None,
    };
    open_reference(attributes, &mut Scope::alone(), out);
    write_assertion_id(version, assertion, out);
    put(&[REFERENCE_END], out);
}

/// Appends a reference to an assertion that its authority has (SAML Token Profile 1.1.1, 3.3): in
/// SAML 2.0 by the URI that it is fetched from, in SAML 1.1 by its id and how its authority is
/// asked (Basic Security Profile 1.1, R6606, R6607).
pub(super) fn write_assertion_elsewhere(
    elsewhere: &AssertionReference,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let version = elsewhere.version;
    let attributes = ReferenceAttributes {
        token_type: Some(version.token_type()),
        ..ReferenceAttributes::default()
    };
    open_reference(attributes, scope, out);
    match version {
        SamlVersion::V20 => {
            put(&["<wsse:Reference URI=\""], out);
            soapstone_xml::escape::attribute(&elsewhere.location, out);
            put(&["\"></wsse:Reference>"], out);
        }
        SamlVersion::V11 => {
            let binding = [
                "<saml:AuthorityBinding xmlns:saml=\"",
                version.namespace(),
                "\" AuthorityKind=\"saml:AssertionIDReference\" Binding=\"",
                SOAP_BINDING,
                "\" Location=\"",
            ];
            put(&binding, out);
            soapstone_xml::escape::attribute(&elsewhere.location, out);
            put(&["\"></saml:AuthorityBinding>"], out);
            write_assertion_id(version, &elsewhere.id, out);
        }
    }
    put(&[REFERENCE_END], out);
}

/// The `wsse:KeyIdentifier` that has the id of an assertion.
fn write_assertion_id(version: SamlVersion, id: &str, out: &mut Vec<u8>) {
    let start = [
        "<wsse:KeyIdentifier ValueType=\"",
        version.identifier_type(),
        "\">",
    ];
    put(&start, out);
    soapstone_xml::escape::text(id, out);
    put(&["</wsse:KeyIdentifier>"], out);
}

/// The `ds:KeyValue` of a key, or the DER form of one whose kind has none.
fn write_key_value(key: &PublicKey, out: &mut Vec<u8>) {
    let start = out.len();
    write::key_value(key, out);
    if out.len() == start {
        write::der_encoded_key_value(key, out);
    }
}

/// The bytes that the STR Dereference Transform gives of the token by which a reference names a
/// certificate (SOAP Message Security 1.1.1, 8.3): the token in the message in canonical form, or
/// the one that a named certificate would be. The default namespace is always declared on it;
/// `default` is the one around a token in the message.
pub(super) fn dereferenced(
    reference: KeyReference,
    holder: Holder<'_>,
    token: &str,
    default: &str,
) -> Vec<u8> {
    let in_message = reference.has_token() || reference == KeyReference::Embedded;
    let mut out = Vec::with_capacity(TOKEN_BYTES);
    put(&["<wsse:BinarySecurityToken xmlns=\""], &mut out);
    if in_message {
        soapstone_xml::escape::attribute(default, &mut out);
        put(&["\" xmlns:wsse=\"", WSSE, "\""], &mut out);
        Scope::alone().wsu(&mut out);
        write_token_rest(reference, holder, token, &mut out);
    } else {
        let rest = ["\" xmlns:wsse=\"", WSSE, "\" ValueType=\"", X509_V3, "\">"];
        put(&rest, &mut out);
        base64::encode_into(holder.certificate.der(), &mut out);
        put(&["</wsse:BinarySecurityToken>"], &mut out);
    }
    out
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
    let attributes = ReferenceAttributes {
        token_type: Some(ENCRYPTED_KEY_TOKEN),
        implied,
        ..ReferenceAttributes::default()
    };
    open_reference(attributes, scope, out);
    write_direct(id, None, out);
    put(&[REFERENCE_END], out);
}

/// Appends a reference to a session key by the SHA-1 of its wrapped bytes.
pub(super) fn write_encrypted_key_sha1(
    sha1: &[u8; 20],
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let attributes = ReferenceAttributes {
        token_type: Some(ENCRYPTED_KEY_TOKEN),
        implied,
        ..ReferenceAttributes::default()
    };
    open_reference(attributes, scope, out);
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
    let attributes = ReferenceAttributes {
        implied,
        ..ReferenceAttributes::default()
    };
    open_reference(attributes, scope, out);
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

/// Appends a reference to the Kerberos token with this id (Kerberos Token Profile 1.1, 3.3).
pub(super) fn write_kerberos(
    id: &str,
    value_type: &'static str,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let attributes = ReferenceAttributes {
        token_type: Some(value_type),
        implied,
        ..ReferenceAttributes::default()
    };
    open_reference(attributes, scope, out);
    write_direct(id, Some(value_type), out);
    put(&[REFERENCE_END], out);
}

/// Appends a reference to the Kerberos token of an earlier message, by its SHA-1.
pub(super) fn write_kerberos_sha1(
    sha1: &[u8; 20],
    value_type: &'static str,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let attributes = ReferenceAttributes {
        token_type: Some(value_type),
        implied,
        ..ReferenceAttributes::default()
    };
    open_reference(attributes, scope, out);
    write_identifier(KERBEROS_AP_REQ_SHA1, sha1, out);
    put(&[REFERENCE_END], out);
}

/// Appends a reference to the `DerivedKeyToken` with this id.
pub(super) fn write_derived_key(
    version: ConversationVersion,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    open_reference(ReferenceAttributes::default(), scope, out);
    write_direct(id, Some(version.derived_key_type()), out);
    put(&[REFERENCE_END], out);
}

/// The attributes of a `wsse:SecurityTokenReference`.
#[derive(Default)]
struct ReferenceAttributes<'a, 'n> {
    id: Option<&'a str>,
    token_type: Option<&'a str>,
    implied: Option<&'a ImpliedDerivation<'n>>,
}

fn open_reference(
    attributes: ReferenceAttributes<'_, '_>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let ReferenceAttributes {
        id,
        token_type,
        implied,
    } = attributes;
    put(&["<wsse:SecurityTokenReference"], out);
    if let Some(implied) = implied {
        scope.wsc(implied.version, out);
    }
    scope.wsse(out);
    if token_type.is_some() {
        scope.wsse11(out);
    }
    if id.is_some() {
        scope.wsu(out);
    }
    let write_token_type = |out: &mut Vec<u8>| {
        if let Some(token_type) = token_type {
            put(&[" wsse11:TokenType=\"", token_type, "\""], out);
        }
    };
    // Canonical order is that of the namespaces: WS-Security 1.1 stands between the two versions of
    // WS-SecureConversation, behind the utility namespace.
    if let Some(id) = id {
        put(&[" wsu:Id=\"", id, "\""], out);
    }
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

/// Appends the `wsse:BinarySecurityToken` by which a reference names a certificate.
pub(super) fn write_token(
    reference: KeyReference,
    holder: Holder<'_>,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    put(&["<wsse:BinarySecurityToken"], out);
    scope.wsse(out);
    scope.wsu(out);
    write_token_rest(reference, holder, id, out);
}

/// Appends a `wsse:BinarySecurityToken` with these bytes.
pub(super) fn write_binary_token(
    value_type: &str,
    bytes: &[u8],
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    put(&["<wsse:BinarySecurityToken"], out);
    scope.wsse(out);
    scope.wsu(out);
    write_binary_rest(value_type, bytes, id, out);
}

/// A token from its declarations on.
fn write_token_rest(reference: KeyReference, holder: Holder<'_>, id: &str, out: &mut Vec<u8>) {
    let (value_type, content) = holder.token(reference);
    write_binary_rest(value_type, &content, id, out);
}

fn write_binary_rest(value_type: &str, content: &[u8], id: &str, out: &mut Vec<u8>) {
    let attributes = [
        " EncodingType=\"",
        BASE64_BINARY,
        "\" ValueType=\"",
        value_type,
        "\" wsu:Id=\"",
        id,
        "\">",
    ];
    put(&attributes, out);
    base64::encode_into(content, out);
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

/// Appends a `wsse:UsernameToken` that says how a key is derived from the password of a user
/// (UsernameToken Profile 1.1.1, 4).
pub(super) fn write_password_token(
    user: &str,
    key: &PasswordKey,
    id: &str,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    put(&["<wsse:UsernameToken"], out);
    scope.wsse(out);
    scope.wsu(out);
    put(&[" wsu:Id=\"", id, "\"><wsse:Username>"], out);
    soapstone_xml::escape::text(user, out);
    put(&["</wsse:Username><wsse11:Salt"], out);
    scope.wsse11(out);
    put(&[">"], out);
    base64::encode_into(&key.salt, out);
    put(&["</wsse11:Salt><wsse11:Iteration"], out);
    scope.wsse11(out);
    put(&[">", &key.iterations.to_string()], out);
    put(&["</wsse11:Iteration></wsse:UsernameToken>"], out);
}

/// Appends a reference to such a token of this message.
pub(super) fn write_password_reference(
    id: &str,
    implied: Option<&ImpliedDerivation<'_>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) {
    let attributes = ReferenceAttributes {
        id: None,
        token_type: None,
        implied,
    };
    open_reference(attributes, scope, out);
    write_direct(id, Some(USERNAME_TOKEN), out);
    put(&[REFERENCE_END], out);
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
