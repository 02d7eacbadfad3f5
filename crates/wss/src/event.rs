//! What is found out while a message is opened: for those who explain it.
//!
//! The one rule: an event is about what was done anyway, or is made for a listener alone. Nobody
//! pays for events that nobody listens to, and no verdict hangs on one.

use soapstone_crypto::{Certificate, DataEncryption, Digest, TrustError};
use soapstone_xml::NodeId;
use soapstone_xmlsec::dsig::{Reference, Signature, SignatureError};

use crate::evidence::{KeyEvidence, Signer};
use crate::key_locator::KeyLocator;
use crate::part::{EncryptedPart, Part};
use crate::rejected::Rejected;

/// One thing that was found out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A key of the plan's kind was found.
    KeyFound {
        /// The element that uses the key: an item of the header, or the token of a derived key.
        user: NodeId,
        /// What names the key; `None` where nothing does.
        named: Option<&'e KeyLocator>,
        /// Who holds the key.
        holder: &'e Signer,
        /// The token of this message that the key comes from.
        token: Option<NodeId>,
    },
    /// A signer's certificate was judged by the trust store.
    Trust {
        /// The certificate.
        certificate: &'e Certificate,
        /// Why it is not trusted.
        refused: Option<&'e TrustError>,
    },
    /// The value of a signature was compared.
    SignatureValue {
        /// The signature.
        signature: &'e Signature,
        /// The canonical form of its `ds:SignedInfo`.
        signed_info: &'e [u8],
        /// Why the value does not verify.
        refused: Option<&'e SignatureError>,
    },
    /// A reference of a signature was followed.
    Reference {
        /// The reference, with its transforms and the digest that is expected.
        reference: &'e Reference,
        /// The element; `None` where the reference leads to none.
        target: Option<NodeId>,
        /// The bytes that are digested; `None` where the transforms cannot be executed.
        canonical: Option<&'e [u8]>,
        /// Their digest.
        computed: Option<&'e Digest>,
        /// Why the reference proves nothing.
        refused: Option<&'e Rejected>,
    },
    /// A wrapped key was read. Whether it could be unwrapped shows nowhere.
    WrappedKey {
        /// The `xenc:EncryptedKey`.
        node: NodeId,
        /// How the key came.
        method: KeyEvidence,
        /// The certificate whose private key unwraps it.
        recipient: &'e Certificate,
    },
    /// Cipher text was deciphered, or was to be.
    Decryption {
        /// The `xenc:EncryptedData`.
        node: NodeId,
        /// The algorithm.
        algorithm: DataEncryption,
        /// The elements that took its place.
        plaintext: &'e [NodeId],
        /// Why there are none.
        refused: Option<&'e Rejected>,
    },
    /// A demand of the plan was compared with what was proven.
    Demand {
        /// The demand.
        demand: Demand<'e>,
        /// Why the demand is not met.
        refused: Option<&'e Rejected>,
        /// An item of the header that was refused before, where the demand rests on it: then the
        /// demand is neither met nor unmet.
        unjudged_for: Option<NodeId>,
    },
}

/// What a plan demands of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Demand<'e> {
    /// Each `wsse11:EncryptedHeader` holds one header block.
    EncryptedHeaders,
    /// The message has a `wsu:Timestamp`.
    Timestamp,
    /// The message has a `wsse:UsernameToken`.
    Username,
    /// The Kerberos token.
    Kerberos,
    /// The message has an assertion that confirms its sender.
    Assertion,
    /// An answer confirms the signatures of its request.
    Confirmation,
    /// A part is in the message.
    Required(&'e Part),
    /// One signature proves the parts of the message.
    Signature,
    /// Every endorsing signature is there, and none beside them.
    Endorsements,
    /// A part is signed.
    Signed(&'e Part),
    /// A part is encrypted.
    Encrypted(&'e EncryptedPart),
    /// Every attachment is signed and encrypted.
    Attachments,
    /// All cipher text that may hold a part is deciphered.
    Deciphered(&'e Part),
    /// Signing and encrypting come in the order of the plan.
    Order,
    /// The items of the header stand in the order of the plan.
    Layout,
    /// Signed elements stand where a receiver looks for them, and cipher text was deciphered where
    /// the plan has it.
    Places,
    /// Header blocks that must be understood are proven.
    HeaderBlocks,
}
