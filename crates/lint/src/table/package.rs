//! MIME packages: SOAP Messages with Attachments, MTOM, and packages of AS4.

use crate::rule::{Profile, Profiles};

/// What holds of every package holds of those of AS4, too.
const ALL: Profiles = Profiles::AS4.with(Profile::Swa);

rules! { PACKAGES ALL, Package;
"swa-root-type" MUST "Content-Type" "RFC 2387, 3.1; RFC 3902"
    "The message of a package has the media type of its SOAP version, or that of XOP."
    "Write text/xml for SOAP 1.1, application/soap+xml for SOAP 1.2, and application/xop+xml for MTOM.";
"swa-type-parameter" MUST "Content-Type" "RFC 2387, 3.1"
    "The parameter type of multipart/related is the media type of the message."
    "Write the media type of the first part, in quotes.";
"swa-content-id" MUST "Content-ID" "RFC 2045, 7"
    "A Content-ID is an id in angle brackets: two sides with an @ between them."
    "Write an id such as <part@sender.example>.";
"swa-content-id-missing" SHOULD "Content-ID" "RFC 2387, 3.2"
    "Each part has a Content-ID, by which the message names it."
    "Add a Content-ID to the part.";
"swa-content-id-unique" MUST "Content-ID" "RFC 2045, 7"
    "A Content-ID names one part."
    "Make a new id for each part.";
"swa-transfer-encoding" MUST "Content-Transfer-Encoding" "RFC 2045, 6"
    "The content of a part follows the encoding that its header names."
    "Name the encoding in which the content is written, such as binary.";
"swa-outside-parts" MUST_LIKELY "multipart/related" "RFC 2046, 5.1.1"
    "Nothing stands outside of the parts: readers leave it out, and nothing protects it."
    "Remove what stands before the first boundary and behind the last one.";
"swa-reference" MUST "ds:Reference, xenc:CipherReference" "RFC 2392; SwA Profile 1.1.1"
    "A cid: in a signature or in encrypted data leads to a part of the package."
    "Correct the cid:, or add the part that was lost.";
"xop-root-type" MUST "Content-Type" "XOP 1.0, 5"
    "The message of an MTOM package says by the parameter type which SOAP version it is of."
    "Add the parameter type, such as type=\"application/soap+xml\".";
"xop-include" MUST "xop:Include" "XOP 1.0, 2.1"
    "An xop:Include leads to a part of the package."
    "Correct the href, or add the part that was lost.";
}

rules! { AS4_PACKAGES Profiles::AS4, Package;
"as4-part-attached" MUST "eb:PartInfo/@href" "ebMS 3.0 Core, 5.2.2.13"
    "Each attachment that a user message lists is a part of the package."
    "Correct the cid:, or add the part that was lost.";
"as4-part-listed" MUST "Content-ID" "ebMS 3.0 Core, 5.2.2.12"
    "Each part of the package beside the message is listed in its PayloadInfo."
    "Add an eb:PartInfo for the part, or remove the part.";
"as4-part-signed" MUST "Content-ID" "AS4 1.0, 5.1.5"
    "Where a message is signed, a signature covers every part of the package."
    "Add a ds:Reference with the cid: of the part, or remove the part.";
"as4-encrypted-part-type" MUST_LIKELY "Content-Type" "SwA Profile 1.1.1"
    "An encrypted part has the media type `application/octet-stream`."
    "Write `application/octet-stream`, and the type before encryption into the xenc:EncryptedData.";
"as4-compressed-type" MUST "Content-Type, xenc:EncryptedData/@MimeType" "AS4 1.0, 3.1"
    "A compressed part has the media type application/gzip; an encrypted one had it before."
    "Write application/gzip, and the type before compression into the property MimeType.";
"as4-compressed-bytes" MUST "Content-ID" "RFC 1952, 2.3.1"
    "The bytes of a part that is called compressed are those of gzip."
    "Compress the part with gzip, or remove the property CompressionType.";
}
