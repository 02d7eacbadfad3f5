//! Encrypted keys, encrypted data and the lists of both.

use crate::rule::{Profile, Profiles};

const BSP: Profiles = Profiles::of(Profile::Bsp);

rules! { ENCRYPTION BSP, Encryption;
"R3228" MUST "soap:Header" "WSS 1.1.1, 9.3"
    "A header block is not replaced by a bare EncryptedData, which SOAP cannot address."
    "Put the EncryptedData into a wsse11:EncryptedHeader.";
"R3230" MUST "wsse11:EncryptedHeader" "WSS 1.1.1, 9.3"
    "An EncryptedHeader holds one EncryptedData and nothing else."
    "Leave the EncryptedData alone inside.";
"R3205" MUST "xenc:ReferenceList" "WSS 1.1.1, 9.1"
    "All data of one reference list is encrypted with one key."
    "Write one list for each key.";
"R3231" MUST "xenc:ReferenceList" "WSS 1.1.1, 9.1"
    "A reference list names everything that its key encrypted."
    "Add an xenc:DataReference for the EncryptedData.";
"R3214" MUST "xenc:EncryptedKey/xenc:ReferenceList" "WSS 1.1.1, 9.2"
    "The list of an EncryptedKey names everything that the key encrypted."
    "Add an xenc:DataReference for the EncryptedData.";
"R3208" MUST "xenc:EncryptedKey" "WSS 1.1.1, 9.2"
    "An EncryptedKey stands in front of the EncryptedData of its header that it lists."
    "Move the EncryptedKey to the front.";
"R3209" MUST "xenc:EncryptedKey" "XML-Enc 3.5.1"
    "An EncryptedKey holds a key, so that no attribute says what it holds."
    "Remove the Type attribute.";
"R5622" MUST "xenc:EncryptedKey" "XML-Enc 3.5.1"
    "An EncryptedKey has no MimeType."
    "Remove the MimeType attribute.";
"R5623" MUST "xenc:EncryptedKey" "XML-Enc 3.5.1"
    "An EncryptedKey has no Encoding."
    "Remove the Encoding attribute.";
"R5602" MUST "xenc:EncryptedKey" "XML-Enc 3.5.1"
    "The receiver of an EncryptedKey is named by its KeyInfo and by nothing else."
    "Remove the Recipient attribute.";
"R5603" MUST "xenc:EncryptedKey" "XML-Enc 3.2"
    "An EncryptedKey says how the key is encrypted."
    "Add an xenc:EncryptionMethod.";
"R5629" MUST "xenc:EncryptedData" "WSS 1.1.1, 9"
    "An EncryptedData that no EncryptedKey lists says itself which key opens it."
    "Add a ds:KeyInfo to the EncryptedData, or list it in the EncryptedKey.";
"R5624" MUST "wsse11:EncryptedHeader" "WSS 1.1.1, 9.3"
    "The EncryptedData of an EncryptedHeader without an id has one, so that it can be listed."
    "Add an Id attribute to the EncryptedData.";
"R5627" MUST "wsse11:EncryptedHeader" "WSS 1.1.1, 9.3"
    "An EncryptedHeader whose EncryptedData has no id has one, so that it can be listed."
    "Add a wsu:Id attribute to the EncryptedHeader.";
"R5601" MUST "xenc:EncryptedData" "XML-Enc 3.2"
    "An EncryptedData says how it is encrypted."
    "Add an xenc:EncryptionMethod.";
"R5424" MUST "ds:KeyInfo" "WSS 1.1.1, 7.7"
    "The KeyInfo of encryption names one key in one way."
    "Leave one child in the KeyInfo.";
"R5426" MUST "ds:KeyInfo" "WSS 1.1.1, 7.7"
    "The key of encryption is named by a token reference."
    "Put a wsse:SecurityTokenReference into the KeyInfo.";
"R5608" MUST "xenc:ReferenceList/xenc:DataReference" "WSS 1.1.1, 9.1"
    "An entry of a list in the header is # and the Id of an EncryptedData, or the wsu:Id of an EncryptedHeader."
    "Correct the URI, or give the EncryptedData an Id.";
"R3006" MUST "xenc:EncryptedKey/xenc:ReferenceList/xenc:DataReference" "WSS 1.1.1, 9.2"
    "An entry of an EncryptedKey's list is # and the Id of an EncryptedData, or the wsu:Id of an EncryptedHeader."
    "Correct the URI, or give the EncryptedData an Id.";
"R5613" MUST "xenc:ReferenceList/xenc:KeyReference" "XML-Enc 3.6"
    "A key reference of a list in the header is # and the Id of an EncryptedKey."
    "Correct the URI, or give the EncryptedKey an Id.";
"R3007" MUST "xenc:EncryptedKey/xenc:ReferenceList/xenc:KeyReference" "XML-Enc 3.6"
    "A key reference of an EncryptedKey's list is # and the Id of an EncryptedKey."
    "Correct the URI, or give the EncryptedKey an Id.";
"R5620" MUST "xenc:EncryptedData/xenc:EncryptionMethod" "XML-Enc 5.2"
    "Data is encrypted with Triple DES or AES of 128 or 256 bits in CBC by the letter of 2010. AES-GCM of both lengths is taken, too."
    "Use aes128-gcm or aes256-gcm.";
"R5621" MUST "xenc:EncryptedKey/xenc:EncryptionMethod" "XML-Enc 5.5"
    "Keys travel under RSA 1.5 or RSA-OAEP. The OAEP of XML-Encryption 1.1 is taken, too."
    "Use RSA-OAEP.";
"R5625" MUST "xenc:EncryptedKey/xenc:EncryptionMethod" "XML-Enc 5.7"
    "Keys are wrapped with Triple DES or AES of 128 or 256 bits."
    "Use kw-aes128 or kw-aes256.";
"R5626" MUST "xenc:EncryptedKey/xenc:EncryptionMethod" "XML-Enc 5.1"
    "A key is encrypted by one of five algorithms: two of RSA and three key wraps. The OAEP of XML-Encryption 1.1 is taken, too."
    "Use RSA-OAEP, kw-aes128 or kw-aes256.";
"R5614" MUST "soap:Header" "WSS 1.1.1, 9.3"
    "An encrypted header block is replaced by an EncryptedHeader, which keeps its actor."
    "Put the EncryptedData into a wsse11:EncryptedHeader.";
"R5606" MUST "xenc:DataReference" "WSS 1.1.1, 9"
    "What a list names as encrypted is an EncryptedData or an EncryptedHeader."
    "Encrypt the element, or take it off the list.";
"R5607" MUST "soap:Envelope" "WSS 1.1.1, 9"
    "An encrypted message is still a SOAP envelope: neither Envelope nor Header nor Body is encrypted as an element."
    "Encrypt the content of the Body.";
}
