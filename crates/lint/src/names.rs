//! Namespaces and identifiers that the rules name.
//!
//! The rule kept here: a URI of a specification stands in this file alone.

pub(crate) const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
pub(crate) const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";
pub(crate) const SOAP_ENCODING: &str = "http://schemas.xmlsoap.org/soap/encoding/";
pub(crate) const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
pub(crate) const WSDL_SOAP11: &str = "http://schemas.xmlsoap.org/wsdl/soap/";
pub(crate) const WSDL_SOAP12: &str = "http://schemas.xmlsoap.org/wsdl/soap12/";
pub(crate) const SOAP_HTTP: &str = "http://schemas.xmlsoap.org/soap/http";
pub(crate) const XSD: &str = "http://www.w3.org/2001/XMLSchema";
pub(crate) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
pub(crate) const XML: &str = "http://www.w3.org/XML/1998/namespace";
pub(crate) const ADDRESSING: &str = "http://www.w3.org/2005/08/addressing";
pub(crate) const ADDRESSING_2004: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
/// Namespaces of WS-Addressing before the Recommendation.
pub(crate) const ADDRESSING_DRAFTS: [&str; 3] = [
    ADDRESSING_2004,
    "http://schemas.xmlsoap.org/ws/2004/03/addressing",
    "http://schemas.xmlsoap.org/ws/2003/03/addressing",
];
/// The action of faults about addressing.
pub(crate) const ADDRESSING_FAULT: &str = "http://www.w3.org/2005/08/addressing/fault";
pub(crate) const ADDRESSING_REPLY: &str = "http://www.w3.org/2005/08/addressing/reply";
/// What the reply to a request without an id relates to.
pub(crate) const ADDRESSING_UNSPECIFIED: &str = "http://www.w3.org/2005/08/addressing/unspecified";
pub(crate) const ADDRESSING_NONE: &str = "http://www.w3.org/2005/08/addressing/none";
pub(crate) const ADDRESSING_METADATA: &str = "http://www.w3.org/2007/05/addressing/metadata";
pub(crate) const ADDRESSING_WSDL_DRAFT: &str = "http://www.w3.org/2006/05/addressing/wsdl";

pub(crate) const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
pub(crate) const WSSE11: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd";
pub(crate) const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
pub(crate) const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
pub(crate) const XENC: &str = "http://www.w3.org/2001/04/xmlenc#";
pub(crate) const EXC_C14N: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
pub(crate) const SAML11: &str = "urn:oasis:names:tc:SAML:1.0:assertion";
pub(crate) const SAML20: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
pub(crate) const REL: &str = "urn:mpeg:mpeg21:2003:01-REL-R-NS";
pub(crate) const WSC: [&str; 2] = [
    "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512",
    "http://schemas.xmlsoap.org/ws/2005/02/sc",
];

pub(crate) const BASE64: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary";
pub(crate) const STR_TRANSFORM: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform";
pub(crate) const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
pub(crate) const FILTER2: &str = "http://www.w3.org/2002/06/xmldsig-filter2";
pub(crate) const ATTACHMENT_CONTENT: &str = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform";
pub(crate) const ATTACHMENT_COMPLETE: &str = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Complete-Signature-Transform";

pub(crate) const ATTACHMENT_CIPHERTEXT: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Ciphertext-Transform";
pub(crate) const ATTACHMENT_CONTENT_ONLY: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Only";

pub(crate) const EBMS: &str = "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/";
pub(crate) const EBBP_SIGNALS: &str = "http://docs.oasis-open.org/ebxml-bp/ebbp-signals-2.0";
/// The action and the service of messages that try a connection out.
pub(crate) const EBMS_TEST_ACTION: &str =
    "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/test";
pub(crate) const EBMS_TEST_SERVICE: &str =
    "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/service";

pub(crate) const SHA256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";
pub(crate) const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
pub(crate) const AES128_GCM: &str = "http://www.w3.org/2009/xmlenc11#aes128-gcm";
pub(crate) const RSA_OAEP_11: &str = "http://www.w3.org/2009/xmlenc11#rsa-oaep";
pub(crate) const MGF1_SHA256: &str = "http://www.w3.org/2009/xmlenc11#mgf1sha256";
pub(crate) const XOP: &str = "http://www.w3.org/2004/08/xop/include";
pub(crate) const XENC11: &str = "http://www.w3.org/2009/xmlenc11#";

pub(crate) const X509_PROFILE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#";
pub(crate) const X509V3: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
pub(crate) const PKCS7: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#PKCS7";
pub(crate) const PKI_PATH: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509PKIPathv1";
pub(crate) const SUBJECT_KEY_IDENTIFIER: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509SubjectKeyIdentifier";
pub(crate) const THUMBPRINT: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#ThumbprintSHA1";
pub(crate) const ENCRYPTED_KEY: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey";
pub(crate) const ENCRYPTED_KEY_SHA1: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKeySHA1";
pub(crate) const USERNAME_TOKEN: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#UsernameToken";
pub(crate) const PASSWORD_DIGEST: &str = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest";
pub(crate) const SAML11_TOKEN: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV1.1";
pub(crate) const SAML20_TOKEN: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0";
pub(crate) const SAML11_ID: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#SAMLAssertionID";
pub(crate) const SAML20_ID: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLID";
/// What identifiers of both SAML token profiles begin with.
pub(crate) const SAML_PROFILE: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-";
/// What identifiers of the Kerberos token profile begin with; the profile itself writes one of
/// them without the second hyphen.
pub(crate) const KERBEROS_PROFILE: [&str; 2] = [
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#",
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-tokenprofile-1.1#",
];
pub(crate) const KERBEROS: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#GSS_Kerberosv5_AP_REQ";
pub(crate) const KERBEROS_SHA1: [&str; 2] = [
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#Kerberosv5APREQSHA1",
    "http://docs.oasis-open.org/wss/oasis-wss-kerberos-tokenprofile-1.1#Kerberosv5APREQSHA1",
];
pub(crate) const REL_LICENSE: &str =
    "http://docs.oasis-open.org/wss/oasis-wss-rel-token-profile-1.0.pdf#license";
