//! Why a message was refused: everything for the operator, one coarse code for the peer.
//!
//! The one rule: what the peer is told ([`Rejected::fault`]) never depends on which cryptographic
//! step failed.

mod attachment;
mod display;
mod fault;
mod hint;

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::TrustError;
use soapstone_xml::C14nError;
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

use crate::conversation::ContextName;
use crate::envelope_error::EnvelopeError;
use crate::part::Part;

pub use attachment::AttachmentProblem;
pub use fault::FaultCode;

/// What a refusal says of a key that the message has, where the item that uses it comes first.
pub(crate) const BEHIND_ITS_USER: &str = "which stands behind what uses it";

/// What an algorithm was meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlgorithmUse {
    /// `ds:SignatureMethod`.
    Signature,
    /// `ds:DigestMethod` of a reference.
    Digest,
    /// `ds:CanonicalizationMethod`, or the canonicalization of a reference.
    Canonicalization,
    /// A transform of a reference.
    Transform,
    /// `xenc:EncryptionMethod` of an `EncryptedKey`.
    KeyTransport,
    /// `xenc:EncryptionMethod` of an `EncryptedData`.
    Data,
    /// `xenc:AgreementMethod`.
    KeyAgreement,
    /// `wsc:DerivedKeyToken/@Algorithm`, or the `xenc11:KeyDerivationMethod` of a key that was
    /// agreed on.
    KeyDerivation,
    /// `xenc:EncryptionMethod` of an `EncryptedKey` whose key was agreed on.
    KeyWrap,
}

impl fmt::Display for AlgorithmUse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Signature => "signature",
            Self::Digest => "digest",
            Self::Canonicalization => "canonicalization",
            Self::Transform => "transform",
            Self::KeyTransport => "key transport",
            Self::Data => "data encryption",
            Self::KeyAgreement => "key agreement",
            Self::KeyDerivation => "key derivation",
            Self::KeyWrap => "key wrap",
        })
    }
}

/// Why a message was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// The bytes are not an acceptable SOAP envelope.
    Envelope(EnvelopeError),
    /// The plan wants security and there is no `wsse:Security` header for us.
    SecurityMissing,
    /// The same, and there is one for somebody else.
    SecurityForOthers {
        /// Its actor or role, cut and escaped; `None` for the ultimate receiver.
        actor: Option<String>,
    },
    /// The same, and there is a `Security` header block of a namespace that is not known.
    SecurityOfNamespace {
        /// The namespace, cut and escaped.
        namespace: String,
    },
    /// Two `wsse:Security` headers for the same actor (SOAP Message Security 1.1.1, 5).
    SecurityDuplicated,
    /// A `wsse:Security` header that must be understood, and a plan without security.
    SecurityUnexpected,
    /// No header for this endpoint but one of the draft of WS-Security of July 2002, which the plan
    /// does not accept.
    SecurityOfDraft,
    /// A header block that must be understood is not among the verified ones, so that it cannot be
    /// passed on.
    HeaderNotVerified {
        /// Expanded name of the block.
        header: String,
    },
    /// A header block for this node must be understood, and nothing here understands it (SOAP 1.1,
    /// 4.2.3; SOAP 1.2 part 1, 2.6).
    HeaderNotUnderstood {
        /// Expanded name of the block.
        header: String,
    },
    /// A signature of another node's header covers an element that would be taken out, or changed,
    /// where this node passes the message on.
    SignatureWouldBreak {
        /// Expanded name of what it covers.
        element: String,
    },
    /// An intermediary was to keep a message that it can only pass on, or the other way round.
    NotTheReceiver,
    /// An element in the `wsse:Security` header that the plan has no use for.
    ElementUnexpected {
        /// Expanded name.
        element: String,
    },
    /// An element of a security structure is not as its schema says.
    Malformed {
        /// The element.
        element: &'static str,
        /// What was expected and what was found.
        problem: String,
    },
    /// More of something than the plan allows in one message.
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },

    /// The plan wants a `wsu:Timestamp`.
    TimestampMissing,
    /// Two `wsu:Timestamp` elements (SOAP Message Security 1.1.1, 10).
    TimestampDuplicated,
    /// `Expires`, or the longest age accepted, has passed.
    TimestampExpired {
        /// When it ended.
        expired: Timestamp,
        /// The present.
        now: Timestamp,
        /// Skew forgiven, seconds.
        skew: u64,
    },
    /// The endpoint wants `wsu:Expires` in the `wsu:Timestamp`.
    ExpiresMissing,
    /// `Created` is in the future.
    TimestampInFuture {
        /// What it says.
        created: Timestamp,
        /// The present.
        now: Timestamp,
        /// Skew forgiven, seconds.
        skew: u64,
    },

    /// The plan wants a `wsse:UsernameToken`.
    UsernameMissing,
    /// The password comes in a way that the plan does not accept.
    PasswordKindNotAllowed {
        /// `Password/@Type` as found.
        found: String,
    },
    /// Unknown user or wrong password: on purpose not told apart.
    AuthenticationFailed {
        /// The user as named in the token.
        user: String,
    },

    /// The plan wants an assertion.
    AssertionMissing,
    /// An assertion that its issuer has to sign is not signed.
    AssertionUnsigned,
    /// An assertion of an issuer that this endpoint does not know.
    IssuerUnknown {
        /// The issuer, or the beginning of its name.
        issuer: String,
    },
    /// The assertion, its session or its confirmation has ended.
    AssertionExpired {
        /// When it ended.
        expired: Timestamp,
        /// The present.
        now: Timestamp,
        /// Skew forgiven, seconds.
        skew: u64,
    },
    /// The assertion was cancelled before its end.
    AssertionCancelled,
    /// The assertion does not hold yet, or was made in the future.
    AssertionInFuture {
        /// When it begins.
        begins: Timestamp,
        /// The present.
        now: Timestamp,
        /// Skew forgiven, seconds.
        skew: u64,
    },
    /// The assertion is for others.
    AudienceMismatch {
        /// The audiences of a restriction that names none of ours, or the beginning of them.
        found: String,
    },
    /// A condition of an assertion that is not understood (SAML Core 2.0, 2.5.1.1).
    ConditionUnknown {
        /// Expanded name of the condition.
        found: String,
    },
    /// Nothing confirms that the message is of the subject of its assertion.
    AssertionUnconfirmed {
        /// What is missing for the first confirmation of the assertion.
        problem: String,
    },

    /// The plan wants a signature.
    SignatureMissing,
    /// An algorithm outside the plan's suite.
    AlgorithmNotAllowed {
        /// Its use.
        purpose: AlgorithmUse,
        /// Its URI, as found.
        found: String,
        /// The short names accepted.
        allowed: String,
    },
    /// The signature itself: its structure, its references, its value.
    Signature(SignatureError),
    /// A weak algorithm whose time in this peer's messages is over.
    AlgorithmRetired {
        /// Short name.
        algorithm: &'static str,
        /// Since when.
        since: Timestamp,
    },
    /// No key answers to a `KeyInfo`.
    KeyNotFound {
        /// What it asks for.
        reference: String,
    },
    /// No cipher text answers to a `DataReference`.
    CipherTextNotFound {
        /// Its `URI`.
        reference: String,
    },
    /// A `KeyInfo` names several keys.
    KeyAmbiguous {
        /// The name.
        reference: String,
    },
    /// A kind of key reference or token that is not accepted.
    TokenUnsupported {
        /// What was found.
        found: String,
    },
    /// The plan wants keys derived, and one is used as it is.
    KeyNotDerived,
    /// The message names a security context that this endpoint does not have: never made,
    /// cancelled, long expired, or another endpoint's.
    ContextUnknown {
        /// Which.
        name: ContextName,
    },
    /// The store has a security context of that name, and it does not open: it was changed, or put
    /// there by somebody without the key.
    ContextUnreadable {
        /// Which.
        name: ContextName,
    },
    /// The security context has expired.
    ContextExpired {
        /// Which.
        name: ContextName,
        /// When.
        expired: Timestamp,
    },
    /// The plan wants a Kerberos token.
    KerberosMissing,
    /// The Kerberos token was not accepted.
    KerberosRefused {
        /// Why.
        problem: String,
    },
    /// The message names or carries a Kerberos token that nobody has accepted, or that another
    /// message has.
    KerberosUnknown,
    /// The ticket of the Kerberos token has ended.
    KerberosExpired {
        /// When.
        expired: Timestamp,
    },
    /// Kerberos tokens cannot be accepted now.
    KerberosUnavailable {
        /// Why.
        problem: String,
    },
    /// The assertion that the message names cannot be had from where it stands.
    AssertionUnavailable {
        /// Why.
        problem: String,
    },
    /// The message is secured as a request for a security context is, and asks for something else.
    NotInConversation,
    /// The message is of no operation that its receiver knows.
    OperationUnknown {
        /// Its action, or what its Body holds.
        found: String,
    },
    /// The receiver treats operations in different ways, and cannot tell which of them the message
    /// is of.
    OperationUnclear {
        /// What stands in the way.
        problem: &'static str,
    },
    /// The message speaks of several operations, or was secured as one operation and holds another
    /// one.
    OperationMismatch {
        /// The operations that it was taken for.
        expected: String,
        /// What it says and holds.
        found: String,
    },
    /// `wsa:To` is an address that is none of the endpoint's.
    DestinationMismatch {
        /// What it says, or the beginning of it.
        found: String,
    },
    /// HTTP says another action (`SOAPAction`, or the parameter `action` of the media type) than
    /// `wsa:Action`.
    ActionMismatch {
        /// `wsa:Action`, or the beginning of it.
        expected: String,
        /// What HTTP says, or the beginning of it.
        found: String,
    },
    /// The host judges messages by a published profile, and the message breaks it.
    ProfileBroken {
        /// The profile.
        profile: &'static str,
        /// The numbers of the broken rules.
        rules: String,
    },
    /// A processing instruction in what would be passed on, and the endpoint wants none (SOAP 1.1,
    /// 3; SOAP 1.2 part 1, 5).
    ProcessingInstruction {
        /// Its target, or the beginning of it.
        target: String,
    },
    /// The answer confirms no signature, and the plan wants it to.
    ConfirmationMissing,
    /// The answer confirms other signatures than those of its request.
    ConfirmationMismatch,
    /// The answer is to another request, or does not prove which one it is to, and the plan wants
    /// it to.
    AnotherRequestAnswered {
        /// The message ids of the request.
        expected: String,
        /// What `wsa:RelatesTo` of the answer says; `None` if none is proven.
        found: Option<String>,
        /// A `wsa:RelatesTo` is there that proves nothing: it is of a version of WS-Addressing
        /// whose headers the policy leaves unsigned.
        is_of_other_version: bool,
    },
    /// Not exactly one signature endorses the message's own.
    EndorsementMissing,
    /// Two of the endorsing signatures were made with one key, and the plan wants as many keys as
    /// signatures.
    EndorserRepeated,
    /// A part that must be in the message is not.
    PartMissing {
        /// The part.
        part: Part,
    },
    /// The elements of the `wsse:Security` header are not in the order that the plan wants.
    LayoutViolated {
        /// What is out of order.
        problem: &'static str,
    },
    /// The certificate is not trusted.
    Untrusted(TrustError),
    /// The signature is our own: the message, or a part of it, was sent back to us.
    Reflected,
    /// A key or a token of a kind that cannot do what is asked of it.
    KeyMisused {
        /// What is wrong.
        problem: String,
    },

    /// The encryption itself: its structure, or (as one failure) unwrapping, deciphering, and
    /// reading what was deciphered.
    Encryption(EncryptionError),
    /// An attachment of the message.
    Attachment {
        /// Its Content-ID, or the URI that leads to none.
        id: String,
        /// What is wrong with it.
        problem: AttachmentProblem,
    },
    /// The plan wants `part` signed, and no accepted signature covers it.
    Unsigned {
        /// The part.
        part: Part,
    },
    /// The plan wants the endorsing signature to cover `part`, and it does not.
    Unendorsed {
        /// The part.
        part: Part,
    },
    /// A signature covers an element that is neither in the Body nor a header block nor named by
    /// the plan: moved aside, perhaps.
    SignedElsewhere {
        /// Expanded name of the element.
        element: String,
    },
    /// An element of the Body is to be signed by itself, and is not, or in another form.
    InnerSignature {
        /// Expanded name of the element.
        element: String,
        /// What was expected and what was found.
        problem: String,
    },
    /// An element of the Body is to be encrypted by itself, and is not, or in another form.
    InnerEncryption {
        /// Expanded name of the element.
        element: String,
        /// What was expected and what was found.
        problem: String,
    },
    /// Cipher text is left in what would be passed on, and `part`, which the plan wants encrypted
    /// where it is in the message, may be in it.
    Undeciphered {
        /// The part.
        part: Part,
    },
    /// Cipher text was listed for decryption in the place of which the plan has nothing encrypted.
    CipherTextUnexpected {
        /// Expanded name of the element that holds it.
        element: String,
    },
    /// A signature covers cipher text and not its key, and the cipher text is so short that
    /// somebody on the way can find a key under which it says something else.
    ShortCipherText {
        /// Expanded name of the element that holds it.
        element: String,
        /// Bytes of cipher text that are enough, with the initialization vector.
        least: usize,
    },
    /// The plan wants `part` encrypted, and it was not.
    Unencrypted {
        /// The part.
        part: Part,
    },
    /// `part` is signed and encrypted, but in the other order.
    WrongOrder {
        /// The part.
        part: Part,
    },

    /// Something failed after the first decryption. Peer and metrics are told no more than if
    /// deciphering had failed (Jager and Somorovsky, How to Break XML Encryption, 2011); with
    /// authenticated cipher text, too, since ids and prefixes beside it tell of what it holds.
    AfterDecryption(Box<Rejected>),
    /// What is to be passed on has no canonical form within the limits.
    Canonicalization(C14nError),

    /// The message, or its nonce, was seen before.
    Replayed,
    /// Too many messages that asked to decipher with the same key were refused. This one was not
    /// deciphered.
    KeyTriedTooOften {
        /// Failed openings, and openings that have not ended.
        tries: u32,
    },
    /// Who asks to cancel an assertion has cancelled as many as one may that have not ended.
    CancellationsUsed {
        /// How many that are.
        share: usize,
    },
    /// The replay cache cannot tell.
    ReplayUnknown {
        /// Why.
        problem: String,
    },
    /// The store of security contexts cannot tell.
    ContextsUnavailable {
        /// Why.
        problem: String,
    },
}

impl Rejected {
    /// A reason that was found after the first decryption, or not: another code for what fails
    /// later would tell a stranger that the cipher text has a plaintext that can be read.
    pub fn after(self, deciphered: bool) -> Self {
        if deciphered {
            Self::AfterDecryption(Box::new(self))
        } else {
            self
        }
    }

    /// The reason itself, for the operator.
    pub fn cause(&self) -> &Self {
        match self {
            Self::AfterDecryption(cause) => cause.cause(),
            _ => self,
        }
    }
}

impl Rejected {
    /// Whether the message may be right, and this side cannot tell now: a store or a key is
    /// unavailable. The sender may try again.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::ReplayUnknown { .. }
                | Self::ContextsUnavailable { .. }
                | Self::KerberosUnavailable { .. }
                | Self::Encryption(EncryptionError::KeyUnavailable { .. })
        )
    }
}

impl std::error::Error for Rejected {}

impl From<SignatureError> for Rejected {
    fn from(error: SignatureError) -> Self {
        Self::Signature(error)
    }
}

impl From<EncryptionError> for Rejected {
    fn from(error: EncryptionError) -> Self {
        Self::Encryption(error)
    }
}

impl From<EnvelopeError> for Rejected {
    fn from(error: EnvelopeError) -> Self {
        Self::Envelope(error)
    }
}

impl From<TrustError> for Rejected {
    fn from(error: TrustError) -> Self {
        Self::Untrusted(error)
    }
}
