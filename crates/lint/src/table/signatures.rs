//! Signatures.

use crate::rule::{Profile, Profiles};

const BSP: Profiles = Profiles::of(Profile::Bsp);

rules! { SIGNATURES BSP, Signature;
"R3102" MUST "ds:Signature" "WSS 1.1.1, 8"
    "A signature does not hold the data that it signs."
    "Move the data out of ds:Object and sign it where it is.";
"R3104" SHOULD "ds:Signature" "WSS 1.1.1, 8"
    "A signature does not stand inside the data that it signs, since intermediaries add headers."
    "Sign Body and headers by their ids.";
"R3103" SHOULD "ds:Signature" "WSS 1.1.1, 8"
    "A signature stands beside the data that it signs."
    "Sign elements by their ids, none of them around or inside the signature.";
"R3001" SHOULD "ds:Reference/@URI" "WSS 1.1.1, 8.2"
    "A signature refers to elements by # and an id."
    "Give the element a wsu:Id and refer to it.";
"R3003" MUST "ds:Reference/@URI" "WSS 1.1.1, 4.1"
    "Elements of XML-Signature are referred to by their own Id attribute."
    "Use the Id attribute in place of wsu:Id.";
"R3004" MUST "ds:Reference/@URI" "WSS 1.1.1, 4.1"
    "Elements of XML-Encryption are referred to by their own Id attribute."
    "Use the Id attribute in place of wsu:Id.";
"R3005" SHOULD "ds:Reference/@URI" "WSS 1.1.1, 4.2"
    "All other elements are referred to by wsu:Id."
    "Give the element a wsu:Id and refer to that.";
"R3002" MUST "ds:Reference" "WSS 1.1.1, 8.2"
    "An element without an id is selected by the XPath Filter 2.0 transform and by nothing else."
    "Give the element a wsu:Id.";
"R5416" MUST "ds:Reference" "XML-DSig 4.4.3.4"
    "Each signed piece says how it is transformed, so that no default applies."
    "Add ds:Transforms with exclusive canonicalization.";
"R5411" MUST "ds:Transforms" "XML-DSig 4.4.3.4"
    "A list of transforms is not empty."
    "Add a ds:Transform with exclusive canonicalization.";
"R5423" MUST "ds:Transform/@Algorithm" "XML-DSig 6.6"
    "Six transforms are used: exclusive canonicalization, XPath Filter 2.0, STR-Transform, enveloped signature, and two for attachments."
    "Use exclusive canonicalization without comments.";
"R5412" MUST "ds:Transforms" "XML-DSig 6.6"
    "The last transform makes bytes in a defined way: exclusive canonicalization, STR-Transform or a transform of attachments."
    "Put exclusive canonicalization last.";
"R5407" MUST "ds:Transform" "Exclusive C14N 4"
    "InclusiveNamespaces of a transform has a list of prefixes, and is absent where the list is empty."
    "Remove the InclusiveNamespaces element or fill its PrefixList.";
"R5413" MUST "ds:Transform" "Exclusive C14N 4"
    "InclusiveNamespaces of an STR-Transform has a list of prefixes, and is absent where the list is empty."
    "Remove the InclusiveNamespaces element or fill its PrefixList.";
"R3065" MUST "ds:Transform" "WSS 1.1.1, 8.3"
    "An STR-Transform says how the token is canonicalized."
    "Add wsse:TransformationParameters with a ds:CanonicalizationMethod.";
"R5404" MUST "ds:CanonicalizationMethod/@Algorithm" "WSS 1.1.1, 8.1"
    "SignedInfo is canonicalized exclusively and without comments."
    "Use http://www.w3.org/2001/10/xml-exc-c14n#.";
"R5406" MUST "ds:CanonicalizationMethod" "Exclusive C14N 4"
    "InclusiveNamespaces of the canonicalization method has a list of prefixes, and is absent where the list is empty."
    "Remove the InclusiveNamespaces element or fill its PrefixList.";
"R5405" MUST_LIKELY "ec:InclusiveNamespaces/@PrefixList" "Exclusive C14N 2.3"
    "A prefix that only a value uses, as xsi:type does, is listed; otherwise its meaning is not signed."
    "Add the prefix to the PrefixList of the transform.";
"R5408" MUST_LIKELY "ec:InclusiveNamespaces/@PrefixList" "Exclusive C14N 2.3"
    "A default namespace that only a value uses, as xsi:type does, is listed as #default."
    "Add #default to the PrefixList of the transform.";
"R5420" SHOULD "ds:DigestMethod/@Algorithm" "XML-DSig 6.2"
    "The digest is SHA-1 by the letter of 2010. SHA-2 and SHA-3 replaced it since then and are taken, too."
    "Use SHA-256.";
"R5421" SHOULD "ds:SignatureMethod/@Algorithm" "XML-DSig 6.4"
    "The signature is HMAC or RSA with SHA-1 by the letter of 2010. Algorithms with SHA-2 and later are taken, too."
    "Use rsa-sha256, ecdsa-sha256 or hmac-sha256.";
"R5401" MUST "ds:SignatureMethod" "XML-DSig 6.3.1"
    "A message authentication code is not cut, since a short one can be guessed."
    "Remove ds:HMACOutputLength.";
"R5402" MUST "ds:KeyInfo" "WSS 1.1.1, 7.7"
    "The KeyInfo of a signature names one key in one way."
    "Leave one child in the KeyInfo.";
"R5417" MUST "ds:KeyInfo" "WSS 1.1.1, 7.7"
    "The key of a signature is named by a token reference."
    "Put a wsse:SecurityTokenReference into the KeyInfo.";
"R5403" MUST "ds:Manifest" "XML-DSig 5.1"
    "A signature has no Manifest, whose digests verifiers need not check."
    "Move the references into SignedInfo.";
"R5440" MUST "ds:Signature" "WSS 1.1.1, 8"
    "Nothing inside a signature is encrypted on its own; the whole signature may be."
    "Encrypt the ds:Signature element as a whole.";
"R5441" MUST "wsse11:SignatureConfirmation" "WSS 1.1.1, 8.5"
    "A SignatureConfirmation has an id, so that it can be signed."
    "Add a wsu:Id attribute.";
}
