//! Tokens of all kinds, and references to each kind.

use crate::rule::{Profile, Profiles};

const BSP: Profiles = Profiles::of(Profile::Bsp);

rules! { BINARY BSP, BinaryToken;
"R3029" MUST "wsse:BinarySecurityToken" "WSS 1.1.1, 6.3"
    "A binary token says how it is encoded."
    "Add an EncodingType attribute with #Base64Binary.";
"R3030" MUST "wsse:BinarySecurityToken/@EncodingType" "WSS 1.1.1, 6.3"
    "Binary tokens are encoded in base64."
    "Encode the token in base64 and say so with #Base64Binary.";
"R3031" MUST "wsse:BinarySecurityToken" "WSS 1.1.1, 6.3"
    "A binary token says what it is."
    "Add a ValueType attribute.";
"R3032" MUST "wsse:BinarySecurityToken/@ValueType" "WSS 1.1.1, 6.3"
    "The type of a binary token is one that a token profile defines."
    "Write the ValueType of the token's profile.";
}

rules! { USERNAME BSP, Username;
"R4222" MUST "wsse:UsernameToken" "UsernameToken Profile 1.1, 3.1"
    "A UsernameToken has one password at most."
    "Leave one wsse:Password.";
"R4201" MUST "wsse:Password" "UsernameToken Profile 1.1, 3.1"
    "A password says whether it is text or a digest."
    "Add a Type attribute with #PasswordText or #PasswordDigest.";
"R4212" MUST "wsse:Password" "UsernameToken Profile 1.1, 3.1"
    "A password digest is the base64 of a SHA-1 over nonce, creation time and password: 20 bytes."
    "Compute the digest anew; write no hexadecimal and no other hash.";
"R4217" MUST "wsse:UsernameToken" "UsernameToken Profile 1.1, 4"
    "A UsernameToken that a key is derived from has a salt."
    "Add a wsse11:Salt.";
"R4218" MUST "wsse:UsernameToken" "UsernameToken Profile 1.1, 4"
    "A UsernameToken that a key is derived from has an iteration count of 1000 at least."
    "Add a wsse11:Iteration of 1000 or more.";
"R4223" MUST "wsse:UsernameToken" "UsernameToken Profile 1.1, 3.1"
    "A UsernameToken has one creation time at most."
    "Leave one wsu:Created.";
"R4225" MUST "wsse:UsernameToken" "UsernameToken Profile 1.1, 3.1"
    "A UsernameToken has one nonce at most."
    "Leave one wsse:Nonce.";
"R4220" MUST "wsse:Nonce" "UsernameToken Profile 1.1, 3.1"
    "A nonce says how it is encoded."
    "Add an EncodingType attribute with #Base64Binary.";
"R4221" MUST "wsse:Nonce/@EncodingType" "UsernameToken Profile 1.1, 3.1"
    "Nonces are encoded in base64."
    "Encode the nonce in base64 and say so with #Base64Binary.";
"R4214" MUST "wsse:Reference/@ValueType" "UsernameToken Profile 1.1, 3.2"
    "A direct reference to a UsernameToken says so in its ValueType."
    "Write the ValueType #UsernameToken of the 1.0 profile.";
"R4215" MUST "wsse:KeyIdentifier" "UsernameToken Profile 1.1, 3.2"
    "A UsernameToken has no key identifier."
    "Refer to the token by a wsse:Reference with its wsu:Id.";
}

rules! { X509 BSP, X509;
"R3033" MUST "wsse:BinarySecurityToken/@ValueType" "X.509 Token Profile 1.1.1, 3.1"
    "A token that holds one certificate has the type #X509v3."
    "Write the ValueType #X509v3.";
"R5201" MUST "wsse:BinarySecurityToken" "X.509 Token Profile 1.1.1, 3.1"
    "A token that holds several certificates is of type #PKCS7 or #X509PKIPathv1."
    "Write the ValueType of what the token holds.";
"R5202" SHOULD "wsse:BinarySecurityToken" "X.509 Token Profile 1.1.1, 3.1"
    "A certificate path is written as a PKIPath, which says its order."
    "Write the path as #X509PKIPathv1.";
"R5211" MUST "wsse:BinarySecurityToken/@ValueType" "X.509 Token Profile 1.1.1, 3.1"
    "A token that holds a PKCS#7 structure has the type #PKCS7."
    "Write the ValueType #PKCS7.";
"R5218" MUST "wsse:Reference/@ValueType" "X.509 Token Profile 1.1.1, 3.2"
    "A direct reference to a certificate has the type #X509v3."
    "Write the ValueType #X509v3.";
"R5212" MUST "@wsse11:TokenType" "X.509 Token Profile 1.1.1, 3.2"
    "A reference to a PKCS#7 token has the TokenType #PKCS7."
    "Add the TokenType #PKCS7 to the wsse:SecurityTokenReference.";
"R5213" MUST "wsse:Reference/@ValueType" "X.509 Token Profile 1.1.1, 3.2"
    "A direct reference to a PKCS#7 token has the type #PKCS7."
    "Write the ValueType #PKCS7.";
"R5214" MUST "wsse:BinarySecurityToken/@ValueType" "X.509 Token Profile 1.1.1, 3.1"
    "A token that holds a PKIPath has the type #X509PKIPathv1."
    "Write the ValueType #X509PKIPathv1.";
"R5215" MUST "@wsse11:TokenType" "X.509 Token Profile 1.1.1, 3.2"
    "A reference to a PKIPath has the TokenType #X509PKIPathv1."
    "Add the TokenType #X509PKIPathv1 to the wsse:SecurityTokenReference.";
"R5216" MUST "wsse:Reference/@ValueType" "X.509 Token Profile 1.1.1, 3.2"
    "A direct reference to a PKIPath has the type #X509PKIPathv1."
    "Write the ValueType #X509PKIPathv1.";
"R5209" MUST "wsse:SecurityTokenReference/ds:X509Data" "X.509 Token Profile 1.1.1, 3.2.3"
    "A certificate outside of the message is named by a key identifier, or by issuer and serial number."
    "Replace the content of ds:X509Data by ds:X509IssuerSerial.";
"R5206" MUST "wsse:KeyIdentifier/@ValueType" "X.509 Token Profile 1.1.1, 3.2.1"
    "A key identifier of a certificate is its subject key identifier or its SHA-1 thumbprint."
    "Use #X509SubjectKeyIdentifier or #ThumbprintSHA1.";
"R5208" MUST "wsse:KeyIdentifier" "X.509 Token Profile 1.1.1, 3.2.1"
    "A subject key identifier is the base64 of the certificate's extension."
    "Copy the bytes of the extension and encode them in base64.";
"R5210" MUST "wsse:KeyIdentifier" "WSS 1.1.1, 7.3"
    "A thumbprint is the base64 of the SHA-1 of the whole certificate: 20 bytes."
    "Hash the DER of the certificate with SHA-1 and encode it in base64.";
"R5409" MUST "ds:X509IssuerName" "XML-DSig 4.5.4"
    "An issuer is written as an LDAP name, such as CN=Books,O=Example."
    "Write the name as RFC 4514 has it.";
}

rules! { REL BSP, Rel;
"R6304" MUST "wsse:Reference/@ValueType" "REL Token Profile 1.1, 3.3"
    "A direct reference to a licence says so in its ValueType."
    "Write the ValueType #license of the REL token profile.";
"R6301" MUST "wsse:Reference/@URI" "REL Token Profile 1.1, 3.3"
    "A licence with a wsu:Id is referred to by it and not by its licenseId."
    "Write URI=\"#ID\" with the wsu:Id of the licence.";
"R6302" MUST "wsse:Security" "REL Token Profile 1.1, 3.4"
    "The signature that proves a licence stands in front of the references to the licence."
    "Move the signature to the front.";
}

rules! { KERBEROS BSP, Kerberos;
"R6902" MUST "wsse:BinarySecurityToken/@ValueType" "Kerberos Token Profile 1.1, 3.2"
    "A Kerberos ticket travels as a GSS AP_REQ."
    "Use the ValueType #GSS_Kerberosv5_AP_REQ.";
"R6907" MUST "@wsse11:TokenType" "Kerberos Token Profile 1.1, 3.4"
    "A reference to a Kerberos ticket has the TokenType #GSS_Kerberosv5_AP_REQ."
    "Add the TokenType to the wsse:SecurityTokenReference.";
"R6906" MUST "wsse:KeyIdentifier/@ValueType" "Kerberos Token Profile 1.1, 3.4"
    "A key identifier of a Kerberos ticket is the SHA-1 of its AP_REQ."
    "Use the ValueType #Kerberosv5APREQSHA1.";
"R6905" MUST "wsse:SecurityTokenReference" "Kerberos Token Profile 1.1, 3.4"
    "A Kerberos ticket outside of the message is named by a key identifier."
    "Replace the reference by a wsse:KeyIdentifier.";
}

rules! { SAML BSP, Saml;
"R6601" MUST "saml:SubjectConfirmation/ds:KeyInfo" "SAML Token Profile 1.1.1, 3.5"
    "The key that an assertion confirms is not named by reference to an assertion."
    "Put the key or the certificate into the KeyInfo.";
"R6611" MUST "@wsse11:TokenType" "SAML Token Profile 1.1.1, 3.4"
    "A reference to a SAML 1.1 assertion has the TokenType #SAMLV1.1."
    "Add the TokenType to the wsse:SecurityTokenReference.";
"R6617" MUST "@wsse11:TokenType" "SAML Token Profile 1.1.1, 3.4"
    "A reference to a SAML 2.0 assertion has the TokenType #SAMLV2.0."
    "Add the TokenType to the wsse:SecurityTokenReference.";
"R6614" MUST "wsse:Reference/@ValueType" "SAML Token Profile 1.1.1, 3.4"
    "A direct reference to a SAML 2.0 assertion of the message has no ValueType."
    "Remove the ValueType attribute.";
"R6602" MUST "wsse:KeyIdentifier" "SAML Token Profile 1.1.1, 3.4"
    "A key identifier of an assertion of the message says its kind."
    "Add a ValueType attribute.";
"R6609" MUST "wsse:KeyIdentifier" "SAML Token Profile 1.1.1, 3.4"
    "A key identifier of an assertion outside of the message says its kind."
    "Add a ValueType attribute.";
"R6603" MUST "wsse:KeyIdentifier/@ValueType" "SAML Token Profile 1.1.1, 3.4"
    "A key identifier of a SAML 1.1 assertion has the type #SAMLAssertionID."
    "Write the ValueType #SAMLAssertionID of the 1.0 profile.";
"R6616" MUST "wsse:KeyIdentifier/@ValueType" "SAML Token Profile 1.1.1, 3.4"
    "A key identifier of a SAML 2.0 assertion has the type #SAMLID."
    "Write the ValueType #SAMLID of the 1.1 profile.";
"R6604" MUST "wsse:KeyIdentifier/@EncodingType" "SAML Token Profile 1.1.1, 3.4"
    "A key identifier of an assertion is text and has no encoding."
    "Remove the EncodingType attribute.";
"R6605" MUST "wsse:KeyIdentifier" "SAML Token Profile 1.1.1, 3.4"
    "A key identifier of an assertion is the id as it stands, not its base64."
    "Write the id of the assertion.";
"R6610" MUST_LIKELY "wsse:SecurityTokenReference" "SAML Token Profile 1.1.1, 3.4"
    "An assertion of the message is referred to directly or embedded."
    "Replace the key identifier by a wsse:Reference to the assertion's id.";
"R6612" MUST "ds:Reference" "SAML Token Profile 1.1.1, 3.4"
    "An embedded SAML 2.0 assertion is signed where it stands, without an STR-Transform."
    "Remove the STR-Transform, or move the assertion out.";
"R6606" MUST "wsse:SecurityTokenReference" "SAML Token Profile 1.1.1, 3.4"
    "A reference to a SAML 1.1 assertion outside of the message says which authority has it."
    "Add a saml:AuthorityBinding.";
"R6607" MUST "saml:AuthorityBinding/@AuthorityKind" "SAML Token Profile 1.1.1, 3.4"
    "The authority answers requests for assertions by their ids."
    "Write saml:AssertionIDReference as AuthorityKind.";
"R6608" MUST "wsse:SecurityTokenReference" "SAML Token Profile 1.1.1, 3.4"
    "A reference to an assertion of the message names no authority."
    "Remove the saml:AuthorityBinding.";
"R6613" MUST "wsse:SecurityTokenReference" "SAML Token Profile 1.1.1, 3.4"
    "A SAML 2.0 assertion outside of the message is referred to by a URI."
    "Replace the key identifier by a wsse:Reference.";
"R3069" MUST "@wsse11:TokenType" "WSS 1.1.1, 7.1"
    "A reference to an EncryptedKey has the TokenType #EncryptedKey."
    "Add the TokenType to the wsse:SecurityTokenReference.";
"R3072" MUST "wsse:KeyIdentifier/@ValueType" "WSS 1.1.1, 7.3"
    "A key identifier of an EncryptedKey is the SHA-1 of the key."
    "Use the ValueType #EncryptedKeySHA1.";
}
