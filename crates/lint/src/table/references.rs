//! References to tokens.

use crate::rule::{Profile, Profiles};

const BSP: Profiles = Profiles::of(Profile::Bsp);

rules! { REFERENCES BSP, Reference;
"R3061" MUST "wsse:SecurityTokenReference" "WSS 1.1.1, 7"
    "A token reference refers in exactly one way."
    "Leave one of Reference, KeyIdentifier, Embedded and X509Data inside.";
"R3074" MUST "@wsse11:TokenType" "WSS 1.1.1, 7.1"
    "TokenType is a value that a token profile has for the token that is referred to."
    "Write the TokenType of the token's profile, or leave the attribute out.";
"R3057" MUST "wsse:Reference" "WSS 1.1.1, 7.2"
    "A direct reference leads to a token and not to another reference."
    "Refer to the token itself.";
"R3064" MUST "wsse:Reference" "WSS 1.1.1, 7.2"
    "A direct reference leads to a token and not to the Embedded element around it."
    "Refer to the id of the embedded token.";
"R3059" MUST "wsse:Reference" "WSS 1.1.1, 7.2"
    "A direct reference says the type of its token, except for SAML 2.0, Kerberos and EncryptedKey."
    "Add a ValueType attribute.";
"R3058" MUST "wsse:Reference/@ValueType" "WSS 1.1.1, 7.2"
    "The type in a direct reference is the type of the token that it leads to."
    "Copy the ValueType that the token's profile gives.";
"R3062" MUST "wsse:Reference" "WSS 1.1.1, 7.2"
    "A direct reference has a URI."
    "Add a URI attribute with # and the token's id.";
"R3027" MUST "ds:KeyName" "WSS 1.1.1, 7.6"
    "A token is not referred to by the name of its key, which the profile finds ambiguous."
    "Use a key identifier, a direct reference, or issuer and serial number.";
"R3054" MUST "wsse:KeyIdentifier" "WSS 1.1.1, 7.3"
    "A key identifier says what kind of identifier it is."
    "Add a ValueType attribute.";
"R3063" MUST "wsse:KeyIdentifier/@ValueType" "WSS 1.1.1, 7.3"
    "The kind of a key identifier is one that a token profile defines for the token."
    "Write the ValueType of the token's profile.";
"R3070" MUST "wsse:KeyIdentifier" "WSS 1.1.1, 7.3"
    "A key identifier says how it is encoded, unless it names a SAML assertion."
    "Add an EncodingType attribute with #Base64Binary.";
"R3071" MUST "wsse:KeyIdentifier/@EncodingType" "WSS 1.1.1, 7.3"
    "Key identifiers are encoded in base64."
    "Encode the identifier in base64 and say so with #Base64Binary.";
"R3060" MUST "wsse:Embedded" "WSS 1.1.1, 7.4"
    "An Embedded element holds one token and nothing else."
    "Leave one token inside.";
"R3025" MUST "wsse:Embedded" "WSS 1.1.1, 7.4"
    "An embedded token looks as it would as a child of the security header."
    "Write the token in the form and namespace of its profile.";
"R3056" MUST "wsse:Embedded" "WSS 1.1.1, 7.4"
    "An Embedded element holds a token and not a reference to one."
    "Embed the token itself, or use the inner reference alone.";
"R3022" MUST "wsse:SecurityTokenReference" "WSS 1.1.1, 7.2"
    "A token of the message that has an id is referred to by it, or embedded."
    "Replace the key identifier by a wsse:Reference to the token's wsu:Id.";
"R3023" SHOULD "wsse:Embedded" "WSS 1.1.1, 7.4"
    "A token that is used several times stands in the header and is referred to."
    "Move the token into the security header and refer to it.";
"R5204" MUST "wsse:Reference/@URI" "WSS 1.1.1, 7.2"
    "A direct reference to an element with an id is # and the id, with no XPointer scheme."
    "Write URI=\"#ID\".";
"R5205" MUST "wsse:SecurityTokenReference" "WSS 1.1.1, 5"
    "A token stands in front of the references to it, so that a receiver reads the message once."
    "Move the token in front of its first use.";
"R3066" MUST "wsse:Reference" "WSS 1.1.1, 5"
    "A reference in a security header leads to tokens of the same header, since others may be removed."
    "Copy the token into the header that uses it.";
"R3067" MUST "wsse:Reference" "WSS 1.1.1, 9"
    "A reference in an EncryptedData leads to tokens of the header that lists the EncryptedData."
    "Put the token into the header that has the reference list.";
"R3211" MUST "wsse:SecurityTokenReference" "WSS 1.1.1, 7.7"
    "A token reference does not lead to a ds:KeyInfo."
    "Refer to the token that the KeyInfo names.";
}
