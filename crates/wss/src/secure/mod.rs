//! Securing a message: the plan's elements are written into a `wsse:Security` header, in canonical
//! form as they are born.
//!
//! The source is scanned once. Ids are inserted and contents replaced by splicing the source, never
//! by re-serializing it; what is encrypted is enciphered in the source itself, last of all, since
//! nothing needs the plaintext any more then. Only where the cipher text is signed is the message,
//! by then mostly opaque base64, scanned a second time.

mod edits;
mod encrypt;
mod header;
mod keys;
mod references;
mod scope;
mod sign;
mod wrap;

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use jiff::Timestamp;
use soapstone_crypto::random::Supply;
use soapstone_crypto::{DataEncryption, NONCE_OCTETS, SymmetricKey};
use soapstone_xml::{Buffers, NodeId, Sink};

use self::edits::Edits;
use self::encrypt::Postponed;
use self::header::timestamp;
use self::keys::Use;
use self::scope::{Declarations, Scope};
use crate::binding::{KeyReference, ProtectionOrder};
use crate::confirmation;
use crate::conversation::SecurityContext;
use crate::envelope::{Envelope, content, is_self_closing, range};
use crate::facts::Receipt;
use crate::freshness;
use crate::marks::{self, End};
use crate::operation::{Operation, OperationObserver};
use crate::part::Part;
use crate::plan::{Endorser, OutboundPlan};
use crate::secure_error::SecureError;
use crate::token;

/// Random octets in the ids of a message.
const ID_OCTETS: usize = 8;
/// What a message mostly has of randomness that everybody sees: in its ids, in the nonces of two
/// derived keys or of a UsernameToken, and in the vectors of two parts.
const PUBLIC_RANDOMNESS: usize = ID_OCTETS + 2 * 16 + 2 * NONCE_OCTETS;

/// A secured message, ready to be sent.
#[derive(Debug)]
pub struct Secured {
    /// The envelope, UTF-8.
    pub bytes: Vec<u8>,
    /// What is needed to open the answer, and to tell the message itself from one, if it is sent
    /// back.
    pub receipt: Receipt,
}

/// What securing a message needs from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing<'a> {
    /// What the request left behind, where the message is its answer.
    pub answers: Option<&'a Receipt>,
    /// The security context that the message is to be secured with, where it is no answer.
    pub context: Option<&'a SecurityContext>,
    /// What the message is about, as far as its sender says so beside it (`SOAPAction`), where it
    /// is no answer. Not for the plan, but for a host that chooses among the plans of
    /// operations.
    pub action: Option<&'a str>,
}

impl<'a> Outgoing<'a> {
    /// An answer to a request that left `receipt` behind.
    pub fn answer(receipt: &'a Receipt) -> Self {
        Self {
            answers: Some(receipt),
            ..Self::default()
        }
    }

    /// A request in a conversation.
    pub fn within(context: &'a SecurityContext) -> Self {
        Self {
            context: Some(context),
            ..Self::default()
        }
    }
}

/// The key that encrypts, once for the whole message.
struct Session {
    key: SymmetricKey,
    algorithm: DataEncryption,
    /// `ds:KeyInfo` for each `EncryptedData`.
    key_info: Vec<u8>,
}

/// An endorsing signature with its token, where the message carries it.
#[derive(Default)]
struct Endorsement {
    /// Of a security context; the private key of a certificate is the plan's.
    key: Option<Use>,
    token: Vec<u8>,
    signature: Vec<u8>,
}

/// One message being secured.
struct Securing<'p> {
    plan: &'p OutboundPlan,
    outgoing: Outgoing<'p>,
    now: Timestamp,
    /// Random start of every id in this message, so that a message inside a message has other ids.
    id: String,
    supply: Supply,
    /// What the header declares for its pieces.
    declarations: Declarations,
    /// Pieces of the header, in the order in which receivers process them.
    timestamp: Vec<u8>,
    confirmations: Vec<Vec<u8>>,
    username: Vec<u8>,
    tokens: Vec<u8>,
    tokens_of_keys: Vec<u8>,
    context_token: Vec<u8>,
    /// The `EncryptedKey` of a session key that signs as well.
    session_key: Vec<u8>,
    derived: Vec<u8>,
    /// The `EncryptedKey` of a session key that only encrypts, or the `ReferenceList` of another
    /// key.
    encrypted_key: Vec<u8>,
    /// `ReferenceList` of the encrypted signature, where it has one of its own.
    signature_list: Vec<u8>,
    signature: Vec<u8>,
    endorsements: Vec<Endorsement>,
    /// `ReferenceList` of everything else, where the signature has one of its own.
    data_list: Vec<u8>,
    edits: Edits,
    postponed: Vec<Postponed>,
    signing: Option<Use>,
    encrypting: Option<Use>,
    session: Option<Session>,
    data_ids: Vec<String>,
    /// What of the source is enciphered, each with the id of its `EncryptedData`.
    enciphered: Vec<(Range<usize>, String)>,
    /// Parts of which something can no more be seen, with the ids of the `EncryptedData` that it
    /// is in.
    hidden: HashMap<Part, Vec<String>, RandomState>,
    receipt: Receipt,
    observer: &'p mut dyn OperationObserver,
}

impl OutboundPlan {
    /// Secures a plain envelope. Pure but for the randomness of keys, initialization vectors and
    /// ids.
    ///
    /// # Errors
    /// The message cannot be secured as the plan wants; see [`SecureError`].
    pub fn secure(
        &self,
        envelope: Envelope,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Secured, SecureError> {
        self.begin(&envelope, now)?;
        if !self.protection.has_security {
            let mut bytes = buffers.take(envelope.document.bytes().len());
            bytes.extend_from_slice(envelope.document.bytes());
            envelope.recycle(buffers);
            return Ok(Secured {
                bytes,
                receipt: Receipt::default(),
            });
        }
        let mut nobody = ();
        let mut securing = Securing::new(self, outgoing, now, &mut nobody);
        let envelope = securing.run(envelope, buffers)?;
        let bytes = securing.assemble(envelope, buffers)?;
        Ok(Secured {
            bytes,
            receipt: securing.finish(buffers),
        })
    }

    /// Secures a plain envelope without assembling it: the header and the source go to `sink` piece
    /// by piece, whole runs of the source as they lie. Nothing is written before everything has
    /// succeeded. `observer` is told of the operations that it takes.
    ///
    /// # Errors
    /// As [`secure`](Self::secure).
    pub fn secure_into(
        &self,
        envelope: Envelope,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        sink: &mut dyn Sink,
        observer: &mut dyn OperationObserver,
    ) -> Result<Receipt, SecureError> {
        self.begin(&envelope, now)?;
        if !self.protection.has_security {
            sink.write(envelope.document.bytes());
            envelope.recycle(buffers);
            observer.ended(Operation::Other);
            return Ok(Receipt::default());
        }
        let mut securing = Securing::new(self, outgoing, now, observer);
        let envelope = securing.run(envelope, buffers)?;
        securing.hand_over(envelope, buffers, sink)?;
        Ok(securing.finish(buffers))
    }

    /// Whether the message can be secured at all.
    fn begin(&self, envelope: &Envelope, now: Timestamp) -> Result<(), SecureError> {
        let actor = self.protection.actor.as_deref();
        if envelope.security_headers(actor).next().is_some() {
            return Err(SecureError::AlreadySecured);
        }
        if self.protection.has_security {
            self.check_retirements(now)?;
        }
        Ok(())
    }

    fn check_retirements(&self, now: Timestamp) -> Result<(), SecureError> {
        for algorithm in &self.protection.algorithms {
            self.check_retirement(algorithm, now)?;
        }
        Ok(())
    }

    fn check_retirement(&self, algorithm: &'static str, now: Timestamp) -> Result<(), SecureError> {
        match self.protection.retired(algorithm, now) {
            Some(since) => Err(SecureError::AlgorithmRetired { algorithm, since }),
            None => Ok(()),
        }
    }
}

impl<'p> Securing<'p> {
    fn new(
        plan: &'p OutboundPlan,
        outgoing: Outgoing<'p>,
        now: Timestamp,
        observer: &'p mut dyn OperationObserver,
    ) -> Self {
        let mut supply = Supply::of(PUBLIC_RANDOMNESS);
        let mut securing = Self {
            plan,
            outgoing,
            now,
            id: message_id(&mut supply),
            supply,
            declarations: Declarations::default(),
            timestamp: Vec::new(),
            confirmations: Vec::new(),
            username: Vec::new(),
            tokens: Vec::new(),
            tokens_of_keys: Vec::new(),
            context_token: Vec::new(),
            session_key: Vec::new(),
            derived: Vec::new(),
            encrypted_key: Vec::new(),
            signature_list: Vec::new(),
            signature: Vec::new(),
            endorsements: Vec::new(),
            data_list: Vec::new(),
            edits: Edits::default(),
            postponed: Vec::new(),
            signing: None,
            encrypting: None,
            session: None,
            data_ids: Vec::new(),
            enciphered: Vec::new(),
            hidden: HashMap::default(),
            receipt: Receipt::default(),
            observer,
        };
        if let Some(life) = plan.protection.timestamp {
            securing.timestamp = timestamp(&securing.id, now, freshness::later(now, life.ttl));
        }
        if let (true, Some(request)) = (plan.protection.confirms, outgoing.answers) {
            securing.confirmations = confirmation::write(&securing.id, &request.signature_values);
        }
        if let (Some(kind), Some(user)) = (plan.protection.password, plan.keys.user.as_deref()) {
            securing.observer.ended(Operation::Other);
            token::write_username(
                user,
                kind,
                &securing.named("user"),
                now,
                &mut securing.supply,
                &mut securing.username,
            );
            securing.observer.ended(Operation::Username);
        }
        securing
    }

    /// Makes everything that is to be written; what is left to do is to write it into the envelope
    /// that is returned.
    fn run(&mut self, envelope: Envelope, buffers: &mut Buffers) -> Result<Envelope, SecureError> {
        let protection = &self.plan.protection;
        let mut envelope = envelope;
        self.observer.ended(Operation::Other);
        self.prepare_keys(buffers)?;
        self.write_certificate_tokens();
        self.observer.ended(Operation::Key);
        match (&protection.signature, &protection.encryption) {
            (Some(_), Some(_)) if protection.order == ProtectionOrder::EncryptBeforeSigning => {
                let _ = self.insert_ids(&envelope)?;
                self.encrypt_parts(&envelope, buffers)?;
                self.note_hidden(&envelope)?;
                self.encrypt_username(buffers)?;
                self.observer.ended(Operation::Encryption);
                envelope = self.scan_again(envelope, buffers)?;
                // Another scan, other nodes: what was hidden is signed where it stands now.
                let signed = self.signed_elements(&envelope)?;
                self.sign(&envelope, &signed, buffers)?;
                self.encrypt_signature(buffers)?;
            }
            (signature, encryption) => {
                if signature.is_some() {
                    let mut signed = self.insert_ids(&envelope)?;
                    if sign::changes_signed(&envelope, &signed) {
                        envelope = self.scan_again(envelope, buffers)?;
                        signed = self.signed_elements(&envelope)?;
                    }
                    self.sign(&envelope, &signed, buffers)?;
                }
                if encryption.is_some() {
                    self.encrypt_parts(&envelope, buffers)?;
                    self.encrypt_username(buffers)?;
                    self.encrypt_signature(buffers)?;
                }
            }
        }
        self.finish_encryption()?;
        if protection.encryption.is_some() {
            self.observer.ended(Operation::Encryption);
        }
        Ok(envelope)
    }

    /// Remembers something that the receiver will know this message by.
    fn mark(&mut self, key: [u8; 32]) {
        let timestamp = self.plan.protection.timestamp;
        let until = marks::until(timestamp, None, self.now);
        let end = match timestamp {
            Some(_) => End::Proven,
            None => End::Counted,
        };
        self.receipt
            .marks
            .extend(marks::ending((until, end), [key]));
    }

    /// What the answer needs; the memory goes back.
    fn finish(self, buffers: &mut Buffers) -> Receipt {
        self.edits.recycle(buffers);
        self.observer.ended(Operation::Other);
        self.receipt
    }

    /// Applies the edits made so far, and reads the result as the message to go on with.
    fn scan_again(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Envelope, SecureError> {
        let mut limits = envelope.options.limits.clone();
        limits.message = limits.message.saturating_mul(2);
        let bytes = self.apply_edits(envelope, buffers)?;
        std::mem::take(&mut self.edits).recycle(buffers);
        Ok(Envelope::parse(bytes, &limits, buffers)?)
    }

    /// The source with the edits made so far.
    fn apply_edits(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let mut source = envelope.document.into_bytes(buffers);
        self.encipher(&mut source)?;
        let mut bytes = buffers.take(source.len().saturating_add_signed(self.edits.growth()));
        self.edits.apply(&source, 0..source.len(), &mut bytes);
        buffers.give(source);
        Ok(bytes)
    }

    /// The id of something in this message.
    fn named(&self, name: &str) -> String {
        let mut id = String::with_capacity(self.id.len() + 1 + name.len());
        id.push_str(&self.id);
        id.push('-');
        id.push_str(name);
        id
    }

    /// The tokens with our certificate: where signatures refer to one, and where the plan wants it
    /// sent along.
    fn write_certificate_tokens(&mut self) {
        let protection = &self.plan.protection;
        for (index, endorsing) in protection.endorsing.iter().enumerate() {
            if let (Endorser::Certificate(identity, _), KeyReference::Direct) =
                (&endorsing.endorser, endorsing.reference)
            {
                let id = self.named(&numbered("endorse", index));
                let token = &mut self.endorsements[index].token;
                references::write_token(identity.certificate(), &id, &mut Scope::alone(), token);
            }
        }
        if let Some(identity) = &protection.introduced {
            // Of two tokens with it, the other is inside of the signature's reference.
            let name = match protection.introduces_apart {
                true => "own",
                false => "cert",
            };
            let (id, stays) = (self.named(name), !protection.signs_tokens());
            let mut scope = self.declarations.scope(stays);
            references::write_token(identity.certificate(), &id, &mut scope, &mut self.tokens);
        }
    }

    /// The nodes of the message that a part means. Parts of the header that we write are handled
    /// where they are written.
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
            Part::Path(path) => Ok(path.select(&envelope.document)),
            Part::Timestamp
            | Part::Signature
            | Part::UsernameToken
            | Part::Token
            | Part::EndorsingToken
            | Part::SignatureConfirmation => Ok(Vec::new()),
        }
    }

    /// The finished message in one buffer.
    fn assemble(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        self.write_header(&envelope, buffers);
        self.apply_edits(envelope, buffers)
    }

    /// The finished message, piece by piece.
    fn hand_over(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
        sink: &mut dyn Sink,
    ) -> Result<(), SecureError> {
        self.write_header(&envelope, buffers);
        let mut source = envelope.document.into_bytes(buffers);
        self.observer.ended(Operation::Other);
        self.encipher(&mut source)?;
        if self.plan.protection.encryption.is_some() {
            self.observer.ended(Operation::Encryption);
        }
        self.edits.hand_over(&source, buffers, sink);
        buffers.give(source);
        Ok(())
    }
}

/// The name of something of which there may be several; the first one has none of the numbers.
fn numbered(name: &str, index: usize) -> String {
    match index {
        0 => name.to_owned(),
        _ => format!("{name}-{index}"),
    }
}

/// The random start of the ids of one message.
fn message_id(supply: &mut Supply) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // An NCName must not begin with a digit.
    let mut id = String::with_capacity(1 + 2 * ID_OCTETS);
    id.push('s');
    for octet in supply.bytes::<ID_OCTETS>() {
        for digit in [octet >> 4, octet & 15] {
            id.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    id
}
