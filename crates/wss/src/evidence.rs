//! What was proven about a message: who signed which nodes, what was encrypted, and which tokens
//! were accepted.
//!
//! Opening writes it down. [`Verified`](crate::Verified) hands it out.

use jiff::Timestamp;
use soapstone_crypto::{
    Certificate, DataEncryption, Digest, DigestAlgorithm, SignatureAlgorithm, SignatureFamily,
};
use soapstone_xml::{Canonicalization, NodeId};

use crate::attachments::Coverage;
use crate::conversation::{ContextName, ContextOwner};
use crate::facts::HeldAssertion;
use crate::freshness::Freshness;
use crate::inner::{InnerCipherEvidence, InnerEvidence};
use crate::known_certificate::KnownCertificate;
use crate::part::Extent;
use crate::suite::{KeyAgreementMethod, KeyTransportMethod};
use crate::token::{Assertion, AssertionReference, ConfirmationMethod};

/// Whose key made a signature.
#[derive(Clone, Debug)]
pub enum Signer {
    /// The holder of the private key of this certificate, which is trusted.
    Certificate(Certificate),
    /// A holder of the shared key of this name.
    SharedKey(String),
    /// Whoever received the request's session key. By the SHA-1 of the wrapped key.
    RequestKey([u8; 20]),
    /// Whoever made the session key of this message: anybody who has our certificate. By the SHA-1
    /// of the wrapped key.
    SessionKey([u8; 20]),
    /// The subject of an assertion, whose key its issuer vouches for.
    Holder {
        /// The issuer of the assertion.
        issuer: String,
        /// Its subject.
        subject: String,
        /// The certificate of the key, where the assertion has it. No trust store knows it.
        certificate: Option<Certificate>,
    },
    /// The client of a Kerberos token, or the service that it is for. By the client's principal.
    Kerberos(String),
    /// The user whose password the key is derived from.
    User(String),
    /// The other party of a security context.
    Context {
        /// Which.
        name: ContextName,
        /// Who made it.
        owner: ContextOwner,
    },
}

/// What a signature is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureRole {
    /// It proves the parts of the message.
    Message,
    /// It endorses the message's signature.
    Endorsing,
}

/// The digest of one node, as a signature has it.
#[derive(Clone, Debug)]
pub(crate) struct PartDigest {
    pub(crate) node: NodeId,
    pub(crate) algorithm: DigestAlgorithm,
    pub(crate) canonicalization: Canonicalization,
    pub(crate) inclusive_prefixes: Vec<String>,
    pub(crate) digest: Digest,
}

/// A signature that verified.
#[derive(Clone, Debug)]
pub struct SignatureEvidence {
    /// Whose.
    pub signer: Signer,
    /// How it was made.
    pub algorithm: SignatureAlgorithm,
    /// What it is there for.
    pub role: SignatureRole,
    /// The `ds:Signature`.
    pub node: NodeId,
    /// The nodes that it covers, each with all its content; ascending.
    pub nodes: Vec<NodeId>,
    /// The attachments that it covers, by their places.
    pub(crate) attachments: Vec<(usize, Coverage)>,
    /// Whether it covers the certificate that its own reference names (SOAP Message Security
    /// 1.1.1, 8.3).
    pub(crate) covers_certificate: bool,
    /// Its value, until the receipt of the message takes it.
    pub(crate) value: Vec<u8>,
    /// The token of this message that its key comes from, or the `ds:KeyInfo` that holds the
    /// certificate itself.
    pub(crate) token: Option<NodeId>,
    /// SHA-256 of the certificate of the trust rules that vouches for the signer's, where it was
    /// made with one ([`KnownCertificate::root`]).
    pub root: Option<[u8; 32]>,
    /// Place in the order of signatures and decryptions.
    pub(crate) step: u32,
    /// Stands for the signer in memories of elements; `None` where it cannot be told who it is, or
    /// nothing is remembered.
    pub(crate) partner: Option<[u8; 32]>,
    /// The digests of nodes, ascending by node, where the plan keeps them.
    pub(crate) digests: Vec<PartDigest>,
}

impl SignatureEvidence {
    /// Whether the signature covers `node` itself.
    pub fn covers(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// The certificate that it was made with, if it was made with one.
    pub fn certificate(&self) -> Option<&Certificate> {
        match &self.signer {
            Signer::Certificate(certificate) => Some(certificate),
            _ => None,
        }
    }

    /// Whether it was made with a symmetric key.
    pub(crate) fn is_by_secret(&self) -> bool {
        self.algorithm.family() == SignatureFamily::Hmac
    }

    /// The digest of `node`, where the plan keeps digests.
    pub(crate) fn digest_of(&self, node: NodeId) -> Option<&PartDigest> {
        let found = self.digests.binary_search_by_key(&node, |part| part.node);
        found.ok().map(|at| &self.digests[at])
    }
}

/// Where the key of something that was encrypted comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CipherKey {
    /// This `EncryptedKey` of the message.
    Session(NodeId),
    /// The key of the assertion's own cipher text.
    Assertion,
    /// The one security context, Kerberos session or proof key of the message.
    Context,
    /// Both sides had it before: a shared key, or that of the request.
    Known,
}

/// Something that was encrypted.
#[derive(Clone, Debug)]
pub struct EncryptionEvidence {
    /// The element: itself, or the one whose content it was.
    pub node: NodeId,
    /// With or without its tags.
    pub extent: Extent,
    /// How.
    pub algorithm: DataEncryption,
    pub(crate) encrypted_data: NodeId,
    pub(crate) key: CipherKey,
    pub(crate) step: u32,
}

/// What was proven of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentEvidence {
    /// Its Content-ID.
    pub id: String,
    /// How much of it the message's signature covers.
    pub signed: Option<Coverage>,
    /// How much of it was encrypted, and how.
    pub encrypted: Option<(Coverage, DataEncryption)>,
    /// Its `xenc:EncryptedData`.
    pub(crate) data: Option<NodeId>,
}

/// How a session key came with the message: an `EncryptedKey` that was accepted. It proves nothing
/// about who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEvidence {
    /// Encrypted to our RSA key.
    Transport(KeyTransportMethod),
    /// Wrapped with a key that was agreed on with our key.
    Agreement(KeyAgreementMethod),
}

/// An assertion that was accepted.
#[derive(Clone, Debug)]
pub struct AssertionEvidence {
    /// What it says.
    pub assertion: Assertion,
    /// How it was confirmed that the message is of its subject.
    pub confirmed: Option<ConfirmationMethod>,
    /// Whether the client certificate of the connection has a key of the confirmation that
    /// confirmed it.
    pub held_by_connection: bool,
    /// When it ends, as it says or by its age, or the confirmation that confirmed it, if that is
    /// earlier.
    pub ends: Timestamp,
    /// The element.
    pub(crate) node: NodeId,
    /// The reference that it was fetched by, where it stands elsewhere. Then the element is that
    /// of the reference.
    pub(crate) elsewhere: Option<AssertionReference>,
    /// The certificate by which its issuer signed it, where the issuer did.
    pub signed_by: Option<KnownCertificate>,
}

/// A Kerberos token that was accepted.
#[derive(Clone, Debug)]
pub struct KerberosEvidence {
    /// The principal of the client.
    pub client: String,
}

/// All that was proven about a message.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// Signatures, in the order of verification.
    pub signatures: Vec<SignatureEvidence>,
    /// Encrypted elements and contents, in the order of decryption.
    pub encrypted: Vec<EncryptionEvidence>,
    /// Whether the Body was encrypted, or something in it.
    pub hides_body: bool,
    /// The attachments, in their order.
    pub attachments: Vec<AttachmentEvidence>,
    /// The session keys, in the order of the header.
    pub keys: Vec<KeyEvidence>,
    /// The user who authenticated with a password.
    pub user: Option<String>,
    /// The user whom a token without a password names. Nobody proved to be that user: whoever
    /// signed the token, or made the connection, says so.
    pub named_user: Option<String>,
    /// The Kerberos token of the message.
    pub kerberos: Option<KerberosEvidence>,
    /// The end of the ticket of the session that protects the message, or whose token it has.
    pub kerberos_end: Option<Timestamp>,
    /// The assertion about the sender.
    pub assertion: Option<AssertionEvidence>,
    /// The signature of an element of the Body by itself.
    pub inner: Option<InnerEvidence>,
    /// The encryption of an element of the Body by itself.
    pub inner_encryption: Option<InnerCipherEvidence>,
    /// The `wsse:UsernameToken` that says so.
    pub(crate) user_token: Option<NodeId>,
    /// The tokens of the header that keys are derived from.
    pub(crate) password_tokens: Vec<NodeId>,
    /// The `wsu:Timestamp`.
    pub(crate) timestamp: Option<NodeId>,
    /// The life of the message.
    pub freshness: Option<Freshness>,
    /// Short names of weak algorithms that the message used and the plan allows.
    pub weak: Vec<&'static str>,
    /// The endorsing signature that meets the first of the plan's demands.
    pub(crate) first_endorsement: Option<NodeId>,
    /// Header blocks that nothing proves and that are passed on because the plan names them, by
    /// expanded name, each once.
    pub unproven: Vec<String>,
    /// Header blocks that no signature covers, and items of the Security header that the plan
    /// ignores, by expanded name: they are not passed on. Of many the first ones, and of long
    /// names the beginning.
    pub dropped: Vec<String>,
    /// Header blocks that an intermediary takes out since they are for it, by expanded name. Of
    /// many the first ones, and of long names the beginning.
    pub taken_out: Vec<String>,
    /// The items of the Security header that were not read: `UsernameToken`, or `other`.
    pub ignored: Vec<&'static str>,
    pub(crate) confirmations: Vec<Confirmation>,
    step: u32,
}

/// Most header blocks that are dropped whose names are told. Anybody can add some to a message,
/// each with a namespace that takes megabytes to tell and is said once for all of them.
pub(crate) const MOST_DROPPED: usize = 64;

/// Bytes of each name.
const LONGEST_DROPPED: usize = 1024;

fn shortened(mut name: String) -> String {
    if name.len() > LONGEST_DROPPED {
        name.truncate(name.floor_char_boundary(LONGEST_DROPPED));
        name.push('…');
        name.shrink_to_fit();
    }
    name
}

/// A confirmed signature value.
#[derive(Clone, Debug)]
pub(crate) struct Confirmation {
    pub(crate) node: NodeId,
    /// `None` where the request had no signature.
    pub(crate) value: Option<Vec<u8>>,
}

impl Evidence {
    /// The signatures that prove parts of the message.
    pub(crate) fn message_signatures(&self) -> impl Iterator<Item = &SignatureEvidence> {
        let signatures = self.signatures.iter();
        signatures.filter(|signature| signature.role == SignatureRole::Message)
    }

    /// The signatures that endorse.
    pub(crate) fn endorsements(&self) -> impl Iterator<Item = &SignatureEvidence> {
        let signatures = self.signatures.iter();
        signatures.filter(|signature| signature.role == SignatureRole::Endorsing)
    }

    /// The tokens of the message's signature.
    pub(crate) fn signing_tokens(&self) -> impl Iterator<Item = NodeId> {
        self.message_signatures().filter_map(|one| one.token)
    }

    /// Whether a signature covers an attachment already.
    pub(crate) fn covers_attachment(&self, at: usize) -> bool {
        let mut covered = self.signatures.iter().flat_map(|one| &one.attachments);
        covered.any(|(found, _)| *found == at)
    }

    /// How much of an attachment the message's signatures cover.
    pub(crate) fn attachment_signed(&self, at: usize) -> Option<Coverage> {
        let covered = self.message_signatures().flat_map(|one| &one.attachments);
        let of_it = covered.filter(|(found, _)| *found == at);
        of_it.map(|(_, coverage)| *coverage).max()
    }

    /// Notes the name of something that is not passed on.
    pub(crate) fn note_dropped(&mut self, name: String) {
        if self.dropped.len() < MOST_DROPPED {
            self.dropped.push(shortened(name));
        }
    }

    /// Notes the name of a header block that is taken out.
    pub(crate) fn note_taken_out(&mut self, name: String) {
        if self.taken_out.len() < MOST_DROPPED {
            self.taken_out.push(shortened(name));
        }
    }

    /// Counts signatures and decryptions, so that their order can be compared with the plan's.
    pub(crate) fn next_step(&mut self) -> u32 {
        self.step += 1;
        self.step
    }

    /// The principal of a Kerberos client who signed the message, or whose token it carries over a
    /// connection that protects both.
    pub fn kerberos_client(&self) -> Option<&str> {
        let signed = self.signatures.iter().find_map(|it| match &it.signer {
            Signer::Kerberos(client) => Some(client.as_str()),
            _ => None,
        });
        signed.or_else(|| self.kerberos.as_ref().map(|it| it.client.as_str()))
    }

    /// Whether whoever sent the message is the user, and not somebody who has moved his token into
    /// it, as it is or as cipher text. One of these shows it:
    ///
    /// - the token is signed together with the message by a key that others do not have: everybody
    ///   makes a session key, and who has a context of his own has its key;
    /// - it is signed together with the message by a context, and was encrypted with the same one;
    /// - it was encrypted with the session key that also signs the message, and that no other
    ///   message has;
    /// - it holds no password, and the key that signs the message, or endorses it, is derived from
    ///   that of the user.
    ///
    /// Where it is signed as cipher text (`sp:EncryptBeforeSigning`), what signs has to be what
    /// encrypted it: who signs it need not know what it holds.
    ///
    /// That it was encrypted does not show it alone: cipher text under a key of many messages is at
    /// home in each of them, and what is under a key of its own can be moved with that. Nor
    /// does a signature over it by another key: the digest that is to be signed stands in the
    /// message it was taken from.
    pub fn user_is_sender(&self) -> bool {
        let Some(token) = self.user_token else {
            return false;
        };
        let mut encrypted = self.encrypted.iter();
        let hidden = encrypted.find(|it| it.node == token && it.extent == Extent::Element);
        let hidden_with = |key| hidden.is_some_and(|it| it.key == key);
        let covers_cipher_text = |signature: &SignatureEvidence, key| {
            hidden.is_some_and(|it| it.key == key && signature.covers(it.encrypted_data))
        };
        let shows = |it: &SignatureEvidence| match &it.signer {
            Signer::Certificate(_) | Signer::Holder { .. } | Signer::Kerberos(_) => {
                it.covers(token)
            }
            Signer::SharedKey(_) => it.covers(token) || covers_cipher_text(it, CipherKey::Known),
            Signer::Context { owner, .. } => {
                let is_his =
                    matches!(owner, ContextOwner::User(owner) if Some(owner) == self.user.as_ref());
                it.covers(token) && (is_his || hidden_with(CipherKey::Context))
                    || covers_cipher_text(it, CipherKey::Context)
            }
            Signer::SessionKey(_) => it
                .token
                .is_some_and(|key| hidden_with(CipherKey::Session(key))),
            Signer::RequestKey(_) | Signer::User(_) => false,
        };
        let mut signatures = self.signatures.iter();
        signatures.any(|it| match it.signer {
            Signer::User(_) => true,
            _ => it.role == SignatureRole::Message && shows(it),
        })
    }

    /// Whether the token of a user stands beside the signature of a certificate that does not cover
    /// it. Either can have been taken from another message then.
    pub fn mixes_senders(&self) -> bool {
        let covers_user =
            |one: &SignatureEvidence| self.user_token.is_some_and(|token| one.covers(token));
        let mut signatures = self.signatures.iter();
        self.user.is_some()
            && signatures.any(|one| one.certificate().is_some() && !covers_user(one))
    }

    /// The certificate that made the message's signature, or else the one that endorsed it: of
    /// several, the first that the plan speaks of.
    pub fn signer(&self) -> Option<&Certificate> {
        let mut signatures = self.signatures.iter();
        let by_message = signatures
            .clone()
            .filter(|signature| signature.role == SignatureRole::Message)
            .find_map(SignatureEvidence::certificate);
        by_message.or_else(|| {
            signatures
                .find(|signature| Some(signature.node) == self.first_endorsement)
                .and_then(SignatureEvidence::certificate)
        })
    }
}

impl Evidence {
    /// The certificate of the assertion's holder, who has signed the message.
    pub(crate) fn holder(&self) -> Option<&Certificate> {
        let mut signatures = self.signatures.iter();
        signatures.find_map(|one| match &one.signer {
            Signer::Holder { certificate, .. } => certificate.as_ref(),
            _ => None,
        })
    }

    /// The assertion whose holder has signed the message, where it names a certificate.
    pub(crate) fn held(&self) -> Option<HeldAssertion> {
        let certificate = self.holder()?.clone();
        let assertion = &self.assertion.as_ref()?.assertion;
        Some(HeldAssertion {
            version: assertion.version,
            id: assertion.id.clone(),
            certificate,
        })
    }
}
