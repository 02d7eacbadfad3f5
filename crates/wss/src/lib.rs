//! WS-Security 1.1.1 for SOAP envelopes: plans in, proof out.
//!
//! A message moves one way, and each step returns a stronger type:
//!
//! ```text
//! inbound   bytes ─ Envelope::parse ─▶ Envelope ─ InboundPlan::peek ─▶ Lookups (answer: Facts)
//!           Envelope ─ SecurityHeader::all ─▶ what its headers hold: no plan, no key
//!           Envelope + Facts ─ InboundPlan::authenticate ─▶ Authenticated ─ marks ─▶ FirstSeen
//!           Authenticated + FirstSeen ─ open ─▶ Opened ─ late marks ─▶ FirstSeen
//!           Opened + FirstSeen ─ admit ─▶ Verified<Envelope> ─ forward ─▶ bytes
//! outbound  bytes ─ Envelope::parse ─▶ Envelope ─ OutboundPlan::secure ─▶ Secured bytes
//!           an Envelope may have attachments: they go with it, and out of Verified and Secured
//! policy    Mechanism | profile | … ─▶ Policy ─ compile, once ─▶ InboundPlan, OutboundPlan
//! ```
//!
//! No socket, file, clock, thread or global: time is handed in, facts are asked for, and one
//! message is one call. What is not proven has no type to travel in: only [`Verified`] can be
//! forwarded.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod attachments;
mod attributes;
mod binding;
mod canonical_attachment;
mod confirmation;
mod conversation;
mod derived_key_cache;
mod digest;
mod digest_cache;
mod envelope;
mod envelope_error;
mod enveloped;
mod event;
mod evidence;
mod facts;
mod forward;
mod freshness;
mod header;
mod header_order;
mod inclusive_prefixes;
mod inner;
mod kerberos;
mod key_locator;
mod key_reference;
mod keyed_cipher_text;
mod known_certificate;
mod limits;
mod lru_cache;
mod marks;
mod mechanism;
pub mod names;
mod objects;
mod open;
mod operation;
mod part;
mod passage;
mod passed_on;
mod path;
mod peek;
mod plan;
mod policy;
mod proof;
mod recognize;
mod rejected;
mod secure;
mod secure_error;
mod securing_event;
mod short_cipher_text;
mod suite;
mod supporting;
mod token;
mod tuning;
mod username;
mod values;
mod verified;

pub use attachments::{AttachmentPolicy, AttachmentProtection, Coverage};
pub use attributes::only_attributes;
pub use binding::{
    AsymmetricBinding, Binding, EncryptionKey, EncryptionToken, KeyBinding, KeyReference, Layout,
    ProtectionOrder, Recipient, SymmetricBinding, SymmetricToken,
};
pub use canonical_attachment::canonical_attachment;
pub use conversation::{
    AssertedOwner, Attester, ContextName, ContextOwner, ConversationVersion, DEFAULT_LABEL,
    DerivedKeyForm, DerivedKeyPolicy, SecurityContext,
};
pub use envelope::{Envelope, SoapVersion};
pub use envelope_error::EnvelopeError;
pub use event::{Demand, Event};
pub use evidence::{
    AssertionEvidence, AttachmentEvidence, EncryptionEvidence, Evidence, KerberosEvidence,
    KeyEvidence, SignatureEvidence, SignatureRole, Signer,
};
pub use facts::{Facts, HeldAssertion, Lookups, Receipt, Relation};
pub use freshness::{DATE_TIME_FORM, Freshness, Life, PeerClock, TimestampPolicy, parse_date_time};
pub use header::{Content, Finding, HeaderItem, ItemKind, SecurityHeader};
pub use header_order::OrderedItem;
pub use inclusive_prefixes::InclusivePrefixes;
pub use inner::{
    InnerCipherEvidence, InnerDecryption, InnerElement, InnerEncryption, InnerEvidence,
    InnerKeyInfo, InnerSigning, InnerVerification,
};
pub use kerberos::{KerberosForm, KerberosName, KerberosPolicy, KerberosSession};
pub use key_locator::KeyLocator;
pub use known_certificate::KnownCertificate;
pub use limits::SecurityLimits;
pub use marks::{End, ReplayKey};
pub use mechanism::{Mechanism, UnknownMechanism};
pub use objects::{ObjectCache, ObjectError};
pub use open::{Authenticated, DecipheringKey};
pub use operation::{Operation, OperationObserver};
pub use part::{EncryptedPart, Extent, Part, PartSyntax};
pub use passed_on::PassedOn;
pub use path::{ElementPath, PathError};
pub use plan::{
    Assurance, Assured, InboundPlan, KeyField, Keys, OutboundPlan, PlanProblem, SharedKey,
    WrappedKeyUse,
};
pub use policy::{
    HeaderPolicy, Intermediary, MessageEncryption, MessageSignature, PartsPolicy, Policy,
};
pub use proof::ProofKey;
pub use rejected::{AlgorithmUse, AttachmentProblem, FaultCode, Rejected};
pub use secure::{Outgoing, Secured, take_assertion};
pub use secure_error::SecureError;
pub use securing_event::{
    CipherExtent, DerivedKey, KeyOrigin, KeyUsage, SecuringEvent, TokenUse, Transformation,
    WrittenItem, WrittenToken,
};
pub use short_cipher_text::SHORT_CIPHER_TEXT;
pub use soapstone_mime::{Attachment, AttachmentError, Message, Package, PackageError};
pub use suite::{
    KeyAgreementMethod, KeyTransportMethod, NAMES as SUITE_NAMES, Retirement, SHA256_SIGNATURES,
    Suite,
};
pub use supporting::{EndorsingKey, EndorsingToken, SupportingToken};
pub use token::{
    Assertion, AssertionAttribute, AssertionIssuer, AssertionPolicy, AssertionProtection,
    AssertionReference, AssertionToken, Claim, ConfirmationMethod, ConfirmationPart,
    FetchedAssertion, HolderUse, IGNORED_CONFIRMATION, IdDigest, IssuedAssertion, NameIdentifier,
    SamlVersion, TRANSIENT_NAMES, TokenKind, WantedAssertion, WantedHolder, kerberos_sha1,
};
pub use tuning::{Buffering, CacheBounds, DerivedKeyLimits, Tuning};
pub use username::{
    PasswordKeyPolicy, PasswordKind, Presence, User, UsernameDialects, UsernamePolicy,
};
pub use verified::{FirstSeen, Opened, Verified};
