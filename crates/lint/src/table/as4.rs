//! Signatures and encryption of AS4 messages, and the algorithms of eDelivery.

use crate::rule::{Profile, Profiles};

const EDELIVERY_ALONE: Profiles = Profiles::of(Profile::EDelivery);

rules! { SECURITY Profiles::AS4, As4Security;
"eb-security-target" MUST "wsse:Security" "ebMS 3.0 Core, 7.10"
    "The header for the role ebms authorizes a message by a UsernameToken; signatures and encryption stand in the other one."
    "Move the element into the wsse:Security without a role.";
"as4-x509-token" MUST "ds:Signature/ds:KeyInfo" "AS4 1.0, 5.1"
    "The key of a signature is named by a reference to an X.509 token."
    "Refer to the certificate by a wsse:SecurityTokenReference.";
"as4-x509-encryption" MUST "xenc:EncryptedKey/ds:KeyInfo" "eDelivery AS4 2.0, 3.2.6.2"
    "The key that a session key is encrypted to is named by a reference to an X.509 token."
    "Refer to the receiver's certificate by a wsse:SecurityTokenReference.";
"as4-detached-signature" MUST "ds:Reference" "AS4 1.0, 5.1.4"
    "A signature is detached: it does not sign an element that it stands in."
    "Refer to eb:Messaging and to the Body by their ids.";
"as4-signed-messaging" MUST "ds:SignedInfo" "AS4 1.0, 5.1.4"
    "A signature covers the whole eb:Messaging."
    "Add a ds:Reference to the eb:Messaging.";
"as4-signed-body" MUST "ds:SignedInfo" "AS4 1.0, 5.1.4"
    "A signature covers the Body, also an empty one."
    "Add a ds:Reference to the Body.";
"as4-messaging-id" SHOULD "eb:Messaging/@id" "AS4 1.0, 5.1.4"
    "A signature refers to eb:Messaging by its attribute id."
    "Write id in place of wsu:Id.";
"as4-signed-parts" MUST "ds:SignedInfo" "AS4 1.0, 5.1.5"
    "A signature covers every attachment that a user message lists."
    "Add a ds:Reference with the cid: of the attachment.";
"as4-content-transform" MUST "ds:Transform/@Algorithm" "AS4 1.0, 5.1.5"
    "The content of an attachment is signed without its MIME headers."
    "Use the Attachment-Content-Signature-Transform alone.";
"as4-signed-part-listed" MUST_LIKELY "ds:Reference" "ebMS 3.0 Core, 5.2.2.12"
    "Each attachment of a message is listed in its PayloadInfo."
    "Add an eb:PartInfo, or remove the reference.";
"as4-encrypted-messaging" MUST "eb:Messaging" "eDelivery AS4 2.0, 3.2.6.2"
    "eb:Messaging is not encrypted, neither in whole nor in part."
    "Protect the header by TLS.";
"as4-encrypted-body" MUST "soap:Body" "AS4 1.0, 5.1"
    "Where payloads are encrypted, so is a payload in the Body."
    "Encrypt the Body, too.";
"as4-encrypted-empty-body" MUST_LIKELY "soap:Body" "eDelivery AS4 2.0, 3.2.6.2"
    "Payloads alone are encrypted, and no Body that is none."
    "Leave the Body as it is.";
"as4-encrypted-parts" MUST "xenc:EncryptedData" "eDelivery AS4 2.0, 3.2.6.2.3"
    "Where payloads are encrypted, all attachments of the user message are."
    "Add an xenc:EncryptedData for the attachment.";
"as4-sign-first" MUST "wsse:Security" "ebMS 3.0 Core, 7.6"
    "A message is signed first and encrypted afterwards."
    "Put the xenc:EncryptedKey in front of the ds:Signature.";
"as4-encrypted-data-place" MUST "xenc:EncryptedData" "SwA Profile 1.1.1"
    "The xenc:EncryptedData of an attachment is a child of wsse:Security."
    "Move the element into the wsse:Security.";
"as4-encrypted-content-only" MUST "xenc:EncryptedData/@Type" "SwA Profile 1.1.1"
    "The content of an attachment is encrypted without its MIME headers."
    "Use the type Attachment-Content-Only.";
"as4-encrypted-mime-type" SHOULD "xenc:EncryptedData/@MimeType" "SwA Profile 1.1.1"
    "The xenc:EncryptedData of an attachment says its type before encryption."
    "Add a MimeType attribute.";
"as4-ciphertext-transform" MUST "xenc:CipherReference" "SwA Profile 1.1.1"
    "A reference to an encrypted attachment has the Attachment-Ciphertext-Transform."
    "Add the transform to the xenc:CipherReference.";
}

rules! { EDELIVERY EDELIVERY_ALONE, EDelivery;
"edelivery-username-token" MUST "wsse:UsernameToken" "eDelivery AS4 2.0, 3.2.6.2"
    "Certificates alone prove who sends a message, and no user."
    "Leave the wsse:UsernameToken out, and sign the message.";
"edelivery-soap-version" MUST "soap:Envelope" "eDelivery AS4, features"
    "A message is one of SOAP 1.2, with attachments."
    "Write an envelope of SOAP 1.2.";
"edelivery-signature-method" MUST "ds:SignatureMethod/@Algorithm" "eDelivery AS4 1.15, 1.4.2.6"
    "Signatures are RSA with SHA-256."
    "Use rsa-sha256.";
"edelivery-digest" MUST "ds:Reference/ds:DigestMethod/@Algorithm" "eDelivery AS4 1.15, 1.4.2.6"
    "Digests are SHA-256."
    "Use SHA-256.";
"edelivery-cipher" MUST "xenc:EncryptedData/xenc:EncryptionMethod" "eDelivery AS4 1.15, 1.4.2.6"
    "Payloads are encrypted with AES of 128 bits in GCM."
    "Use aes128-gcm.";
"edelivery-key-transport" MUST "xenc:EncryptedKey/xenc:EncryptionMethod" "eDelivery AS4 1.15, 1.4.2.6"
    "Keys are transported with the RSA-OAEP of XML Encryption 1.1."
    "Use rsa-oaep of xmlenc11.";
"edelivery-oaep-digest" MUST "xenc:EncryptionMethod/ds:DigestMethod" "eDelivery AS4 1.15, 1.4.2.6"
    "The digest of RSA-OAEP is SHA-256."
    "Add a ds:DigestMethod with SHA-256.";
"edelivery-oaep-mask" MUST "xenc:EncryptionMethod/xenc11:MGF" "eDelivery AS4 1.15, 1.4.2.6"
    "The mask of RSA-OAEP is made with SHA-256."
    "Add an xenc11:MGF with mgf1sha256.";
}
