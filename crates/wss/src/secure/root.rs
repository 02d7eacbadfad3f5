//! The key from which everything else of one purpose comes, and how messages name it.
//!
//! The one rule: a root is chosen elsewhere. Here is only how its name is written.

use soapstone_crypto::SymmetricKey;

use super::references::{self, ImpliedDerivation};
use super::scope::Scope;
use crate::binding::KeyReference;
use crate::conversation::SecurityContext;
use crate::plan::SharedKey;
use crate::token::SamlVersion;

/// The key from which everything else of one purpose comes.
pub(super) struct Root<'p> {
    pub(super) key: SymmetricKey,
    pub(super) reference: Reference<'p>,
}

/// How the root is named.
pub(super) enum Reference<'p> {
    Shared(KeyReference, &'p SharedKey),
    /// An `EncryptedKey` of this message, by id.
    Here(String),
    EncryptedKeySha1([u8; 20]),
    /// A security context, by the id of its token in this message.
    Token(String, &'p SecurityContext),
    /// A security context whose token is not in this message.
    Context(&'p SecurityContext),
    /// A Kerberos token of this message, by its id and type.
    KerberosToken(String, &'static str),
    /// A Kerberos token of an earlier message, by its SHA-1 and type.
    KerberosSha1([u8; 20], &'static str),
    /// The proof key of an assertion, by the assertion, and by its place in this message or not.
    Assertion(SamlVersion, String, KeyReference),
    /// A key from a password, by the id of its token in this message.
    Password(String),
}

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Signing,
    Endorsing,
    Encrypting,
}

impl Reference<'_> {
    /// Appends it.
    pub(super) fn write(
        &self,
        implied: Option<&ImpliedDerivation<'_>>,
        scope: &mut Scope<'_>,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Shared(reference, shared) => {
                references::write_shared(*reference, shared, implied, scope, out);
            }
            Self::Here(id) => references::write_encrypted_key(id, implied, scope, out),
            Self::EncryptedKeySha1(sha1) => {
                references::write_encrypted_key_sha1(sha1, implied, scope, out);
            }
            Self::Token(id, context) => {
                let uri = ["#", id].concat();
                references::write_context(context, &uri, implied, scope, out);
            }
            Self::Context(context) => {
                references::write_context(context, &context.identifier, implied, scope, out);
            }
            Self::KerberosToken(id, value_type) => {
                references::write_kerberos(id, value_type, implied, scope, out);
            }
            Self::KerberosSha1(sha1, value_type) => {
                references::write_kerberos_sha1(sha1, value_type, implied, scope, out);
            }
            Self::Assertion(version, id, reference) => {
                references::write_assertion(*reference, *version, id, implied, scope, out);
            }
            Self::Password(id) => references::write_password_reference(id, implied, scope, out),
        }
    }
}
