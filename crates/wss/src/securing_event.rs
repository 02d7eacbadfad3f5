//! What is done while a message is secured: for those who explain it.
//!
//! The one rule: no event has a key, a password by itself, or a plaintext that no signature covers.
//! What only the receiver may read is marked as such. Nobody pays for events that nobody listens
//! to.

use jiff::Timestamp;
use soapstone_crypto::{
    Certificate, DataEncryption, Digest, DigestAlgorithm, PasswordKey, SignatureAlgorithm,
};

use crate::conversation::DerivedKeyForm;
use crate::evidence::KeyEvidence;
use crate::key_locator::KeyLocator;
use crate::part::Part;
use crate::token::{AssertionReference, SamlVersion};

/// One thing that was done to secure a message.
#[derive(Debug)]
#[non_exhaustive]
pub enum SecuringEvent<'e> {
    /// A `wsu:Timestamp` was written.
    Timestamp {
        /// Its `wsu:Id`.
        id: &'e str,
        /// By the clock of the peer, as far as that is known.
        created: Timestamp,
        /// When the peer has to refuse the message.
        expires: Timestamp,
    },
    /// A token was written.
    Token {
        /// Its id; `None` of a reference in its place.
        id: Option<&'e str>,
        /// Whom or what it names.
        token: WrittenToken<'e>,
        /// Why the message has it.
        usage: TokenUse,
        /// Whether only the receiver may read it: cipher text takes its place.
        is_secret: bool,
    },
    /// The signatures of the request were confirmed (SOAP Message Security 1.1.1, 8.5).
    Confirmation {
        /// Their values; none where the request was not signed.
        values: &'e [Vec<u8>],
    },
    /// A key was chosen.
    Key {
        /// What it does.
        usage: KeyUsage,
        /// Where it comes from.
        origin: KeyOrigin<'e>,
        /// What names it.
        named: Option<&'e KeyLocator>,
        /// How it was derived, if it was.
        derived: Option<DerivedKey<'e>>,
        /// Whether only the receiver may read whose key it is: the signature, the token or the
        /// assertion that says it is encrypted.
        is_secret: bool,
    },
    /// A key was wrapped for the holder of a certificate.
    KeyWrapped {
        /// The id of the `xenc:EncryptedKey`.
        id: &'e str,
        /// How the key gets there.
        method: KeyEvidence,
        /// Whose private key unwraps it.
        recipient: &'e Certificate,
        /// What names the recipient.
        named: Option<&'e KeyLocator>,
        /// The SHA-1 of what it carries, by which later messages may name the key.
        sha1: &'e [u8; 20],
    },
    /// Something was digested for a signature. The signature's value follows.
    Reference {
        /// The id of the `ds:Signature`.
        signature: &'e str,
        /// `URI` of the `ds:Reference`.
        uri: &'e str,
        /// The qualified name of the element that is digested; a media type of an attachment.
        element: &'e str,
        /// The part of the plan that it is of, if the plan names one.
        part: Option<&'e Part>,
        /// What is done before the digest is computed.
        transform: Transformation<'e>,
        /// The digest method.
        method: DigestAlgorithm,
        /// The bytes that were digested.
        canonical: &'e [u8],
        /// Their digest.
        digest: &'e Digest,
        /// Whether the bytes hold what only the receiver may read: cipher text takes their place,
        /// or a password is among them.
        is_secret: bool,
    },
    /// The value of a signature was made.
    SignatureValue {
        /// The id of the `ds:Signature`.
        id: &'e str,
        /// The signature method.
        algorithm: SignatureAlgorithm,
        /// What names the key, of which an event has told.
        named: Option<&'e KeyLocator>,
        /// The canonical form of its `ds:SignedInfo`.
        signed_info: &'e [u8],
        /// The value.
        value: &'e [u8],
        /// Whether the signature is encrypted afterwards, with the digests in it.
        is_secret: bool,
    },
    /// Something was encrypted, or is about to be.
    Encryption {
        /// The id of the `xenc:EncryptedData`.
        id: &'e str,
        /// The qualified name of the element; the `cid:` URI of an attachment.
        element: &'e str,
        /// How much of it.
        extent: CipherExtent,
        /// The algorithm.
        algorithm: DataEncryption,
        /// What names the key.
        named: Option<&'e KeyLocator>,
    },
    /// The `wsse:Security` header was put together: the last event of it.
    Header {
        /// Whom it is for; `None` for the last node.
        actor: Option<&'e str>,
        /// Its items, in their order.
        items: &'e [WrittenItem],
    },
}

/// A token as it was written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum WrittenToken<'e> {
    /// A `wsse:UsernameToken` that authenticates, with a password or without.
    Username {
        /// `wsse:Username`.
        user: &'e str,
    },
    /// A `wsse:UsernameToken` that a key is derived by (UsernameToken Profile 1.1.1, 4).
    PasswordKey {
        /// `wsse:Username`.
        user: &'e str,
        /// Salt and iterations.
        key: &'e PasswordKey,
    },
    /// A `wsse:BinarySecurityToken` with a certificate, or with its path to an authority.
    Certificate(&'e Certificate),
    /// A `wsse:BinarySecurityToken` of Kerberos.
    Kerberos,
    /// A `wsc:SecurityContextToken`, by its identifier.
    Context(&'e str),
    /// An assertion.
    Assertion {
        /// Its version.
        version: SamlVersion,
        /// Its issuer's id of it.
        id: &'e str,
    },
    /// A reference to an assertion that its authority has.
    AssertionElsewhere(&'e AssertionReference),
}

/// Why a message has a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenUse {
    /// It says who sends the message.
    Authentication,
    /// The message's signature names it.
    Signature,
    /// An endorsing signature names it.
    Endorsement,
    /// The peer is to know our certificate, to encrypt the answer to it for instance.
    Introduction,
    /// A wrapped key names its recipient by it.
    Recipient,
    /// A symmetric key of the message comes from it.
    Key,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyUsage {
    /// It makes the message's signature.
    Signature,
    /// It makes an endorsing signature.
    Endorsement,
    /// It encrypts.
    Encryption,
}

/// Where a key comes from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum KeyOrigin<'e> {
    /// The private key of a certificate.
    Private(&'e Certificate),
    /// The key that both sides have by configuration, by its name.
    Shared(&'e str),
    /// The session key of the request.
    Request,
    /// A fresh session key.
    Session,
    /// The secret of a security context, by the identifier of that.
    Context(&'e str),
    /// The session key of a Kerberos token.
    Kerberos,
    /// The proof key of an assertion, by the id of that.
    Assertion(&'e str),
    /// A password.
    Password,
}

/// How a key was derived: by P_SHA-1 (WS-SecureConversation 1.4, 7). Its bytes are told nowhere.
#[derive(Clone, Copy, Debug)]
pub struct DerivedKey<'e> {
    /// What names the key that it was derived from.
    pub root: Option<&'e KeyLocator>,
    /// Whether a token says how, or the reference.
    pub form: DerivedKeyForm,
    /// The label.
    pub label: &'e str,
    /// The nonce.
    pub nonce: &'e [u8],
    /// Bytes of the key, from the first one on.
    pub length: usize,
}

/// What is done to an element before it is digested.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Transformation<'e> {
    /// Exclusive canonicalization, with this prefix list.
    Exclusive(&'e [String]),
    /// The STR Dereference Transform (SOAP Message Security 1.1.1, 8.3): the token is digested in
    /// the place of its reference.
    Dereference,
    /// That of attachments (SwA Profile 1.1.1, 5.4), by its URI.
    Attachment(&'e str),
}

/// How much of something was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CipherExtent {
    /// What is between the tags.
    Content,
    /// The whole element.
    Element,
    /// An attachment.
    Attachment,
}

/// An item of the header as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenItem {
    /// Its qualified name.
    pub name: String,
    /// Its id, if it has one.
    pub id: Option<String>,
}
