//! Securing a message: the plan's elements are written into a `wsse:Security` header, in canonical form as they are born.
//!
//! The source is scanned once. Ids are inserted and contents replaced by splicing the source, never by re-serializing it. Only where the
//! cipher text is signed is the message, by then mostly opaque base64, scanned a second time.

mod edits;
mod encrypt;
mod sign;

use std::fmt;
use std::ops::Range;

use jiff::Timestamp;
use soapstone_crypto::{CryptoError, DataEncryption, SymmetricKey, random};
use soapstone_xml::{Buffers, C14nError, Element, NodeId};

use self::edits::Edits;
use crate::envelope::{Envelope, EnvelopeError, SoapVersion};
use crate::facts::Receipt;
use crate::freshness;
use crate::key_reference;
use crate::names::{WSSE, WSU};
use crate::part::Part;
use crate::plan::OutboundPlan;
use crate::policy::{KeyBinding, KeyReference, ProtectionOrder};
use crate::username;

/// Why a message cannot be secured. Always our own side's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecureError {
    /// The bytes are not an acceptable SOAP envelope.
    Envelope(EnvelopeError),
    /// The message has a `wsse:Security` header for this actor already.
    AlreadySecured,
    /// The plan names an element by id, and the message has no such element.
    PartMissing {
        /// The part.
        part: Part,
    },
    /// The plan answers with a key or to a signer of the request, and the request had none.
    RequestKeyMissing,
    /// The plan uses a weak algorithm whose time is over.
    AlgorithmRetired {
        /// Short name.
        algorithm: &'static str,
        /// Since when.
        since: Timestamp,
    },
    /// What is to be signed has no canonical form within the limits.
    Canonicalization(C14nError),
    /// A cryptographic operation failed.
    Crypto(CryptoError),
}

impl fmt::Display for SecureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Envelope(error) => error.fmt(out),
            Self::AlreadySecured => {
                out.write_str("the message has a `wsse:Security` header for this actor already")
            }
            Self::PartMissing { part } => write!(
                out,
                "expected `{part}` in the message, found no such element"
            ),
            Self::RequestKeyMissing => out.write_str(
                "the answer uses a key of its request, and the request left none behind",
            ),
            Self::AlgorithmRetired { algorithm, since } => {
                write!(
                    out,
                    "`{algorithm}` is not to be used with this peer any more, since {since}"
                )
            }
            Self::Canonicalization(error) => error.fmt(out),
            Self::Crypto(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for SecureError {}

impl From<EnvelopeError> for SecureError {
    fn from(error: EnvelopeError) -> Self {
        Self::Envelope(error)
    }
}

impl From<CryptoError> for SecureError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}

/// A secured message, ready to be sent.
#[derive(Debug)]
pub struct Secured {
    /// The envelope, UTF-8.
    pub bytes: Vec<u8>,
    /// What is needed to open the answer.
    pub receipt: Receipt,
}

/// The session key that encrypts, once for the whole message.
struct Session {
    key: SymmetricKey,
    algorithm: DataEncryption,
    /// `ds:KeyInfo` for each `EncryptedData`.
    key_info: Vec<u8>,
}

/// One message being secured.
struct Securing<'p> {
    plan: &'p OutboundPlan,
    request: Option<&'p Receipt>,
    /// Random start of every id in this message, so that a message inside a message has other ids.
    id: String,
    /// Pieces of the header, in the order in which receivers process them.
    timestamp: Vec<u8>,
    username: Vec<u8>,
    tokens: Vec<u8>,
    tokens_of_keys: Vec<u8>,
    encrypted_key: Vec<u8>,
    /// `ReferenceList` of the encrypted signature, where it has one of its own.
    signature_list: Vec<u8>,
    signature: Vec<u8>,
    /// `ReferenceList` of everything else, where the signature has one of its own.
    data_list: Vec<u8>,
    edits: Edits,
    session: Option<Session>,
    data_ids: Vec<String>,
    /// Parts that are gone from the message: each with the id of the `EncryptedData` that took its place.
    hidden: Vec<(Part, String)>,
    receipt: Receipt,
}

impl OutboundPlan {
    /// Secures a plain envelope. Pure but for the randomness of keys, initialization vectors and ids.
    ///
    /// `request` is what the request left behind, where this message is its answer.
    ///
    /// # Errors
    /// The message cannot be secured as the plan wants; see [`SecureError`].
    pub fn secure(
        &self,
        envelope: Envelope,
        request: Option<&Receipt>,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Secured, SecureError> {
        if envelope
            .security_headers(self.policy.actor.as_deref())
            .next()
            .is_some()
        {
            return Err(SecureError::AlreadySecured);
        }
        if !self.policy.has_security() {
            let mut bytes = buffers.take(envelope.document.bytes().len());
            bytes.extend_from_slice(envelope.document.bytes());
            envelope.recycle(buffers);
            return Ok(Secured {
                bytes,
                receipt: Receipt::default(),
            });
        }
        self.check_retirements(now)?;
        Securing::new(self, request, now).run(envelope, buffers)
    }

    fn check_retirements(&self, now: Timestamp) -> Result<(), SecureError> {
        let suite = &self.policy.suite;
        let digest = suite
            .digest
            .first()
            .filter(|_| self.signature.is_some())
            .map(|one| one.short_name());
        let encryption = self.policy.encryption.as_ref();
        let transport = encryption.filter(|encryption| encryption.key == KeyBinding::Certificate);
        let transport = transport
            .and_then(|_| suite.key_transport.first())
            .map(|one| one.algorithm.short_name());
        let data = encryption
            .and_then(|_| suite.data.first())
            .map(|one| one.short_name());
        for algorithm in [
            self.signature.map(|one| one.short_name()),
            digest,
            transport,
            data,
        ]
        .into_iter()
        .flatten()
        {
            if let Some(since) = self.policy.retired(algorithm, now) {
                return Err(SecureError::AlgorithmRetired { algorithm, since });
            }
        }
        Ok(())
    }
}

impl<'p> Securing<'p> {
    fn new(plan: &'p OutboundPlan, request: Option<&'p Receipt>, now: Timestamp) -> Self {
        let id: String = random::bytes::<8>()
            .iter()
            .map(|octet| format!("{octet:02x}"))
            .collect();
        let mut securing = Self {
            plan,
            request,
            // An NCName must not begin with a digit.
            id: format!("s{id}"),
            timestamp: Vec::new(),
            username: Vec::new(),
            tokens: Vec::new(),
            tokens_of_keys: Vec::new(),
            encrypted_key: Vec::new(),
            signature_list: Vec::new(),
            signature: Vec::new(),
            data_list: Vec::new(),
            edits: Edits::default(),
            session: None,
            data_ids: Vec::new(),
            hidden: Vec::new(),
            receipt: Receipt::default(),
        };
        if let Some(policy) = plan.policy.timestamp {
            securing.timestamp = format!(
                "<wsu:Timestamp xmlns:wsu=\"{WSU}\" wsu:Id=\"{}-time\"><wsu:Created>{}</wsu:Created><wsu:Expires>{}</wsu:Expires></wsu:Timestamp>",
                securing.id,
                freshness::write(now),
                freshness::write(freshness::later(now, policy.ttl)),
            )
            .into_bytes();
        }
        if let (Some(kind), Some(user)) = (plan.password_kind(), plan.keys.user.as_deref()) {
            username::write(
                user,
                kind,
                &format!("{}-user", securing.id),
                now,
                &mut securing.username,
            );
        }
        securing
    }

    fn run(mut self, envelope: Envelope, buffers: &mut Buffers) -> Result<Secured, SecureError> {
        let policy = &self.plan.policy;
        let mut envelope = envelope;
        match (&policy.signature, &policy.encryption) {
            (Some(_), Some(_)) if policy.order == ProtectionOrder::EncryptBeforeSigning => {
                self.write_signing_token();
                self.insert_ids(&envelope)?;
                self.encrypt_parts(&envelope, buffers)?;
                self.encrypt_username(buffers)?;
                envelope = self.scan_again(envelope, buffers)?;
                self.sign(&envelope)?;
                self.encrypt_signature(buffers)?;
            }
            (signature, encryption) => {
                if signature.is_some() {
                    self.write_signing_token();
                    self.insert_ids(&envelope)?;
                    self.sign(&envelope)?;
                }
                if encryption.is_some() {
                    self.encrypt_parts(&envelope, buffers)?;
                    self.encrypt_username(buffers)?;
                    self.encrypt_signature(buffers)?;
                }
            }
        }
        self.finish_encryption()?;
        let bytes = self.assemble(&envelope, buffers);
        envelope.recycle(buffers);
        Ok(Secured {
            bytes,
            receipt: self.receipt,
        })
    }

    /// Applies the edits made so far, and reads the result as the message to go on with.
    fn scan_again(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Envelope, SecureError> {
        let edits = std::mem::take(&mut self.edits);
        let source = envelope.document.bytes();
        let mut bytes = buffers.take(source.len().saturating_add_signed(edits.growth()));
        edits.apply(source, 0..source.len(), &mut bytes);
        edits.recycle(buffers);
        let mut limits = envelope.options.limits.clone();
        limits.message = limits.message.saturating_mul(2);
        envelope.recycle(buffers);
        Ok(Envelope::parse(bytes, &limits, buffers)?)
    }

    /// The certificate's token, where signatures refer to one.
    fn write_signing_token(&mut self) {
        let Some(signature) = &self.plan.policy.signature else {
            return;
        };
        if let (KeyBinding::Certificate, KeyReference::Direct, Some(identity)) =
            (signature.key, signature.reference, &self.plan.keys.identity)
        {
            key_reference::write_token(
                identity.certificate(),
                &format!("{}-cert", self.id),
                &mut self.tokens,
            );
        }
    }

    /// The nodes of the message that a part means. Parts of the header that we write are handled where they are written.
    fn nodes_of(&self, envelope: &Envelope, part: &Part) -> Result<Vec<NodeId>, SecureError> {
        match part {
            Part::Body => Ok(vec![envelope.body().id()]),
            Part::Header { namespace, local } => Ok(envelope
                .header()
                .into_iter()
                .flat_map(|header| header.children())
                .filter(|block| block.is(namespace, local))
                .map(|block| block.id())
                .collect()),
            Part::Id(id) => match envelope.document.by_id(id) {
                Ok(Some(node)) => Ok(vec![node]),
                _ => Err(SecureError::PartMissing { part: part.clone() }),
            },
            Part::Timestamp | Part::Signature | Part::UsernameToken | Part::Token => Ok(Vec::new()),
        }
    }

    /// The finished message: the header first in `soap:Header`, then the source with its edits.
    fn assemble(&mut self, envelope: &Envelope, buffers: &mut Buffers) -> Vec<u8> {
        let document = &envelope.document;
        let source = document.bytes();
        let root = document.root();
        let prefix = root.prefix();
        let colon = if prefix.is_empty() { "" } else { ":" };
        let version = envelope.version();
        let mut header = Vec::new();
        // An attribute needs a prefix: `soap` is declared here where the envelope has none.
        let (declaration, attribute_prefix) = if prefix.is_empty() {
            (format!(" xmlns:soap=\"{}\"", version.namespace()), "soap")
        } else {
            (String::new(), prefix)
        };
        header.extend_from_slice(
            format!("<wsse:Security xmlns:wsse=\"{WSSE}\"{declaration}").as_bytes(),
        );
        if self.plan.policy.must_understand {
            let must = if version == SoapVersion::V11 {
                "1"
            } else {
                "true"
            };
            header.extend_from_slice(
                format!(" {attribute_prefix}:mustUnderstand=\"{must}\"").as_bytes(),
            );
        }
        if let Some(actor) = &self.plan.policy.actor {
            header.extend_from_slice(
                format!(" {attribute_prefix}:{}=\"", version.actor_attribute()).as_bytes(),
            );
            soapstone_xml::escape::attribute(actor, &mut header);
            header.push(b'"');
        }
        header.push(b'>');
        for piece in self.pieces() {
            header.extend_from_slice(piece);
        }
        header.extend_from_slice(b"</wsse:Security>");

        match envelope.header() {
            Some(block) if is_self_closing(block, source) => {
                let range = range(block);
                let mut whole = source[range.start..range.end - 2].to_vec();
                whole.push(b'>');
                whole.append(&mut header);
                whole.extend_from_slice(format!("</{}>", qualified_name(block)).as_bytes());
                self.edits.replace(range, whole);
            }
            Some(block) => {
                let at = content(block, source).start;
                self.edits.replace(at..at, header);
            }
            None => {
                let mut whole = format!("<{prefix}{colon}Header>").into_bytes();
                whole.append(&mut header);
                whole.extend_from_slice(format!("</{prefix}{colon}Header>").as_bytes());
                let at = range(envelope.body()).start;
                self.edits.replace(at..at, whole);
            }
        }
        let mut bytes = buffers.take(source.len().saturating_add_signed(self.edits.growth()));
        self.edits.apply(source, 0..source.len(), &mut bytes);
        std::mem::take(&mut self.edits).recycle(buffers);
        bytes
    }
}

impl Securing<'_> {
    /// The pieces of the header in the order in which a receiver must process them: what was done last comes first.
    fn pieces(&self) -> [&[u8]; 8] {
        let open = [
            self.timestamp.as_slice(),
            &self.tokens,
            &self.tokens_of_keys,
        ];
        let sign_first = self.plan.policy.order == ProtectionOrder::SignBeforeEncrypting;
        let rest: [&[u8]; 5] = if sign_first || !self.signature_list.is_empty() {
            [
                &self.encrypted_key,
                &self.signature_list,
                &self.signature,
                &self.data_list,
                &self.username,
            ]
        } else {
            [
                &self.signature,
                &self.encrypted_key,
                &[],
                &[],
                &self.username,
            ]
        };
        [
            open[0], open[1], open[2], rest[0], rest[1], rest[2], rest[3], rest[4],
        ]
    }
}

/// Where an element lies in the source of a message that has no grafts.
fn range(element: Element<'_>) -> Range<usize> {
    let range = element.range();
    range.start as usize..range.end as usize
}

/// Where the content of an element lies in the source; empty, and behind the element, where its tag closes itself.
fn content(element: Element<'_>, source: &[u8]) -> Range<usize> {
    let whole = range(element);
    if is_self_closing(element, source) {
        return whole.end..whole.end;
    }
    let start = element.start_tag_range().end as usize;
    let end = source[..whole.end]
        .iter()
        .rposition(|octet| *octet == b'<')
        .unwrap_or(start);
    start..end
}

fn is_self_closing(element: Element<'_>, source: &[u8]) -> bool {
    source[range(element)].ends_with(b"/>") && element.start_tag_range().end == element.range().end
}

fn qualified_name(element: Element<'_>) -> String {
    let prefix = element.prefix();
    if prefix.is_empty() {
        element.local().to_owned()
    } else {
        format!("{prefix}:{}", element.local())
    }
}
