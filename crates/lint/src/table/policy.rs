//! The use of WS-Policy and WS-SecurityPolicy, and Digikoppeling.

use crate::rule::{Profile, Profiles};

const POLICIES: Profiles = Profiles::of(Profile::Policy);
const WUS: Profiles = Profiles::of(Profile::Digikoppeling);

rules! { POLICY POLICIES, Policy;
"policy-unattached" MUST_LIKELY "wsp:Policy" "WS-PolicyAttachment 1.5, 4"
    "A policy that nothing refers to protects nothing."
    "Add a wsp:PolicyReference to the binding, or remove the policy.";
"policy-misplaced" MUST "wsp:Policy, wsp:PolicyReference" "WS-PolicyAttachment 1.5, 4"
    "A policy stands at a service, port, binding, port type, operation or message; elsewhere nobody looks."
    "Move the policy to the wsdl:binding.";
"policy-reference" MUST "wsp:PolicyReference/@URI" "WS-Policy 1.5, 4.3.5"
    "A reference leads to one policy."
    "Correct the URI, or add the policy with this id.";
"policy-impossible" MUST "wsp:ExactlyOne" "WS-Policy 1.5, 4.1"
    "A policy has an alternative; an empty choice lets no message through."
    "Add a wsp:All with the assertions.";
"policy-optional" MUST_LIKELY "@wsp:Optional" "WS-Policy 1.5, 4.3.1"
    "Protection that is optional is left out by an attacker."
    "Remove wsp:Optional from the binding assertion.";
"policy-invalid" MUST "wsp:Policy" "WS-Policy 1.5, 4"
    "A policy is built as WS-Policy says: operators, assertions, and one nested policy at most."
    "Add what is expected, or move or remove what is found.";
"assertion-conflict" MUST "an assertion" "WS-SecurityPolicy 1.3, 6"
    "Assertions of one alternative go together."
    "Remove one of both, or put them into different alternatives.";
"assertion-repeated" MUST "an assertion" "WS-SecurityPolicy 1.3, 6"
    "An assertion that is allowed once does not stand there twice and say different things."
    "Leave one of them.";
"assertion-incomplete" MUST "an assertion" "WS-SecurityPolicy 1.3, 7"
    "An assertion has the other assertion that it needs."
    "Add the assertion that the message names.";
"assertion-unknown" MUST_LIKELY "an assertion" "WS-SecurityPolicy 1.3"
    "An assertion is of a known specification; a receiver that does not know it cannot obey."
    "Correct the name or namespace, or mark the assertion wsp:Ignorable.";
"assertion-value" MUST "an assertion" "WS-SecurityPolicy 1.3"
    "An attribute of an assertion has a value that the specification defines."
    "Correct the value.";
"suite-weak" MUST_LIKELY "sp:AlgorithmSuite" "WS-SecurityPolicy 1.3, 6.1"
    "A suite has no RSA 1.5, no Triple DES and no SHA-1 digest."
    "Use Basic256Sha256, or a suite with GCM.";
"password-in-clear" MUST_LIKELY "sp:UsernameToken" "WS-SecurityPolicy 1.3, 5.4.1"
    "A password travels over TLS, or encrypted, or as a digest."
    "Use sp:EncryptedSupportingTokens or sp:TransportBinding.";
"encrypt-before-sign" MUST_LIKELY "sp:EncryptBeforeSigning" "WS-SecurityPolicy 1.3, 6.3"
    "A signature over cipher text says nothing of what its signer saw."
    "Remove sp:EncryptBeforeSigning.";
"timestamp-missing" MUST_LIKELY "a binding assertion" "WS-SecurityPolicy 1.3, 6.2"
    "A binding that signs demands a Timestamp; without one a copy is as good as the message."
    "Add sp:IncludeTimestamp.";
"headers-in-part" MUST_LIKELY "a binding assertion" "WS-SecurityPolicy 1.3, 6.6"
    "Signatures cover whole headers and the whole Body; pieces can be moved."
    "Add sp:OnlySignEntireHeadersAndBody.";
"nothing-signed" MUST_LIKELY "a binding assertion" "WS-SecurityPolicy 1.3, 4.1"
    "A binding with keys in messages says which parts are signed or encrypted."
    "Attach sp:SignedParts with sp:Body to the messages or the binding.";
"transport-unprotected" MUST "soap:address/@location" "WS-SecurityPolicy 1.3, 7.3"
    "A port whose policy demands HTTPS has an https address."
    "Correct the address, or use a binding that protects messages.";
}

rules! { DIGIKOPPELING WUS, Digikoppeling;
"WS002" MUST_LIKELY "wsa:Action" "Digikoppeling WUS, WS002"
    "A request names its action in wsa:Action; the SOAPAction of HTTP is empty or the same."
    "Add a wsa:Action header.";
"WS007" MUST "soap:Header" "Digikoppeling WUS, WS007"
    "Header blocks are those of WS-Addressing and WS-Security."
    "Move other data into the Body.";
"WA001" MUST "soap:Header" "Digikoppeling WUS, WA001"
    "Addressing headers are of WS-Addressing 1.0 (2005/08)."
    "Use the namespace http://www.w3.org/2005/08/addressing.";
"WB002" MUST "wsu:Timestamp" "Digikoppeling WUS, WB002"
    "The security header has a Timestamp with a creation time."
    "Add a wsu:Timestamp with a wsu:Created in UTC.";
"WB004" MUST "ds:SignedInfo" "Digikoppeling WUS, WB004"
    "Body, addressing headers and Timestamp are signed, each by a reference of its own."
    "Add a ds:Reference for the element.";
"WB006" MUST "wsse:Security" "Digikoppeling WUS, WB006"
    "A message is signed first and encrypted afterwards."
    "Put the xenc:EncryptedKey in front of the ds:Signature.";
"WB007" MUST "@Algorithm" "Digikoppeling WUS, WB007"
    "Canonicalization is exclusive."
    "Use http://www.w3.org/2001/10/xml-exc-c14n#.";
"WB010" MUST "ds:Signature/ds:KeyInfo" "Digikoppeling WUS, WB010"
    "The signer's certificate is in the message and referred to directly."
    "Add a wsse:BinarySecurityToken and a wsse:Reference to it.";
"SIGN001" MUST "@Algorithm" "Digikoppeling Beveiliging, SIGN001"
    "Signatures and digests use SHA-2."
    "Use rsa-sha256 and SHA-256.";
"SIGN003" MUST "@Algorithm" "Digikoppeling Beveiliging, SIGN003"
    "The hash is SHA-256, SHA-384 or SHA-512."
    "Use SHA-256.";
"ENC003" MUST "xenc:EncryptedData/xenc:EncryptionMethod" "Digikoppeling Beveiliging, ENC003"
    "Data is encrypted with AES in GCM."
    "Use aes256-gcm.";
"ENC004" MUST "xenc:EncryptedKey/xenc:EncryptionMethod" "Digikoppeling Beveiliging, ENC004"
    "Keys are transported with RSA-OAEP."
    "Use RSA-OAEP.";
}
