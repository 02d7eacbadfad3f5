//! Namespaces and URIs of SOAP, WS-Security and its profiles, each spelled once.

/// SOAP 1.1 envelope.
pub const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// SOAP 1.2 envelope.
pub const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";
/// WS-Security 1.0 extension elements (`wsse`).
pub const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
/// WS-Security 1.1 extension elements (`wsse11`).
pub const WSSE11: &str = "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd";
/// WS-Security utility elements (`wsu`).
pub const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
/// Elements of the draft of WS-Security of July 2002.
pub const WSSE_2002: &str = "http://schemas.xmlsoap.org/ws/2002/07/secext";
/// Utility elements of that draft.
pub const WSU_2002: &str = "http://schemas.xmlsoap.org/ws/2002/07/utility";
/// XML-Signature.
pub const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
/// XML-Encryption.
pub const XENC: &str = "http://www.w3.org/2001/04/xmlenc#";
/// XML-Signature 1.1.
pub const DSIG11: &str = "http://www.w3.org/2009/xmldsig11#";
/// XML-Encryption 1.1.
pub const XENC11: &str = "http://www.w3.org/2009/xmlenc11#";

/// SOAP 1.2 role of the last node of the message path (SOAP 1.2 part 1, 2.2).
pub const ULTIMATE_RECEIVER: &str = "http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver";

/// SOAP 1.1 actor of whichever node a message reaches next (SOAP 1.1, 4.2.2).
pub const NEXT_11: &str = "http://schemas.xmlsoap.org/soap/actor/next";
/// SOAP 1.2 role of whichever node a message reaches next (SOAP 1.2 part 1, 2.2).
pub const NEXT_12: &str = "http://www.w3.org/2003/05/soap-envelope/role/next";
/// How a policy names that actor or role, whatever the version of the message.
pub const NEXT: &str = "next";

/// `EncodingType` of base64 text (SOAP Message Security 1.1.1, 6.3).
pub const BASE64_BINARY: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary";
/// The STR Dereference Transform (SOAP Message Security 1.1.1, 8.3).
pub const STR_TRANSFORM: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform";
/// The transform of a signature over the content of an attachment (SwA Profile 1.1.1, 5.4.3).
pub const ATTACHMENT_CONTENT_SIGNATURE: &str = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform";
/// The transform of a signature over an attachment with its header (SwA Profile 1.1.1, 5.4.4).
pub const ATTACHMENT_COMPLETE_SIGNATURE: &str = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Complete-Signature-Transform";
/// The transform of a reference to the cipher text of an attachment (SwA Profile 1.1.1, 5.5.2).
pub const ATTACHMENT_CIPHERTEXT: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Ciphertext-Transform";
/// `EncryptedData/@Type`: the content of an attachment was encrypted (SwA Profile 1.1.1, 5.5.2).
pub const ATTACHMENT_CONTENT_ONLY: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Only";
/// `EncryptedData/@Type`: an attachment was encrypted with its header (SwA Profile 1.1.1, 5.5.2).
pub const ATTACHMENT_COMPLETE: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Complete";
/// `KeyIdentifier/@ValueType` of the SHA-1 of a certificate (SOAP Message Security 1.1.1, 7.3).
pub const THUMBPRINT_SHA1: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#ThumbprintSHA1";
/// `KeyIdentifier/@ValueType` of the SHA-1 of the bytes that an `EncryptedKey` carries enciphered
/// (SOAP Message Security 1.1.1, 7.7).
pub const ENCRYPTED_KEY_SHA1: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKeySHA1";
/// `TokenType` of an `EncryptedKey` (SOAP Message Security 1.1.1, 7.7).
pub const ENCRYPTED_KEY_TOKEN: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey";
/// What WSS4J 1.5 and 1.6 call an `EncryptedKey` in references to one: a name in the namespace of
/// another profile.
pub(crate) const ENCRYPTED_KEY_TOKEN_OF_WSS4J: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#EncryptedKey";
/// `ValueType` of one X.509 v3 certificate (X.509 Token Profile 1.1.1, 3.1).
pub const X509_V3: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
/// `ValueType` of a certificate whose version nobody names, as IBM's products and clients of EET
/// write it. No profile has it.
pub const X509: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509";
/// `ValueType` of a certificate that is said to be of version 1. WS-SecurityPolicy 1.3, 5.4.3, has
/// a demand for it.
pub const X509_V1: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v1";
/// `ValueType` of a certification path (X.509 Token Profile 1.1.1, 3.1).
pub const X509_PKI_PATH_V1: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509PKIPathv1";
/// `KeyIdentifier/@ValueType` of a subject key identifier (X.509 Token Profile 1.1.1, 3.2.1).
pub const X509_SKI: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509SubjectKeyIdentifier";
/// The same, as DataPower writes it.
pub const X509_V3_SKI: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3SubjectKeyIdentifier";
/// `Reference/@ValueType` of a `UsernameToken` (UsernameToken Profile 1.1.1, 3.2).
pub const USERNAME_TOKEN: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#UsernameToken";
/// `Password/@Type` of a password in the clear (UsernameToken Profile 1.1.1, 3.1).
pub const PASSWORD_TEXT: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText";
/// `Password/@Type` of a digested password (UsernameToken Profile 1.1.1, 3.1).
pub const PASSWORD_DIGEST: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest";
/// Assertions of SAML 1.0 and 1.1.
pub const SAML11: &str = "urn:oasis:names:tc:SAML:1.0:assertion";
/// The protocol of SAML 1.1.
pub const SAML11_PROTOCOL: &str = "urn:oasis:names:tc:SAML:1.0:protocol";
/// Assertions of SAML 2.0.
pub const SAML20: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
/// `TokenType` of an assertion of SAML 1.1 (SAML Token Profile 1.1.1, 3.4).
pub const SAML11_TOKEN: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV1.1";
/// `TokenType` of an assertion of SAML 2.0 (SAML Token Profile 1.1.1, 3.4).
pub const SAML20_TOKEN: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0";
/// `KeyIdentifier/@ValueType` of the id of an assertion of SAML 1.1 (SAML Token Profile 1.1.1,
/// 3.4).
pub const SAML11_ID: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#SAMLAssertionID";
/// `KeyIdentifier/@ValueType` of the id of an assertion of SAML 2.0 (SAML Token Profile 1.1.1,
/// 3.4).
pub const SAML20_ID: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLID";
/// `ValueType` of an AP-REQ of Kerberos (Kerberos Token Profile 1.1, 3.2).
pub const KERBEROS_AP_REQ: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#Kerberosv5_AP_REQ";
/// `ValueType` of an AP-REQ in the frame of GSS (Kerberos Token Profile 1.1, 3.2).
pub const GSS_KERBEROS_AP_REQ: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#GSS_Kerberosv5_AP_REQ";
/// As [`KERBEROS_AP_REQ`], of RFC 1510.
pub const KERBEROS_AP_REQ_1510: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#Kerberosv5_AP_REQ1510";
/// As [`GSS_KERBEROS_AP_REQ`], of RFC 1510.
pub const GSS_KERBEROS_AP_REQ_1510: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#GSS_Kerberosv5_AP_REQ1510";
/// As [`KERBEROS_AP_REQ`], of RFC 4120.
pub const KERBEROS_AP_REQ_4120: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#Kerberosv5_AP_REQ4120";
/// As [`GSS_KERBEROS_AP_REQ`], of RFC 4120.
pub const GSS_KERBEROS_AP_REQ_4120: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#GSS_Kerberosv5_AP_REQ4120";
/// `KeyIdentifier/@ValueType` of the SHA-1 of a Kerberos token (Kerberos Token Profile 1.1, 3.3).
pub const KERBEROS_AP_REQ_SHA1: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#Kerberosv5APREQSHA1";
/// Attributes of XML Schema instances.
pub(crate) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// `EncryptedData/@Type`: a whole element was encrypted (XML-Enc 3.1).
pub const TYPE_ELEMENT: &str = "http://www.w3.org/2001/04/xmlenc#Element";
/// `EncryptedData/@Type`: the content of an element was encrypted (XML-Enc 3.1).
pub const TYPE_CONTENT: &str = "http://www.w3.org/2001/04/xmlenc#Content";
