//! The namespaces and identifiers of XML-Signature, XML-Encryption and their extensions.
//!
//! Every URI that this crate reads or writes and that is not an algorithm of `soapstone-crypto` or
//! a canonicalization method of `soapstone-xml` is named here, once.

/// XML-Signature 1.0 and 1.1 (`ds`).
pub const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
/// Additions of XML-Signature 1.1 (`dsig11`): `ECKeyValue`, `DEREncodedKeyValue`,
/// `KeyInfoReference`, `X509Digest`.
pub const DSIG11: &str = "http://www.w3.org/2009/xmldsig11#";
/// Algorithm parameters of RFC 4051 and RFC 4050 (`ECDSAKeyValue`).
pub const DSIG_MORE_2001: &str = "http://www.w3.org/2001/04/xmldsig-more#";
/// Algorithm parameters of RFC 9231 (HKDF, EdDSA contexts, ChaCha20).
pub const DSIG_MORE_2021: &str = "http://www.w3.org/2021/04/xmldsig-more#";
/// XML-Encryption 1.0 and 1.1 (`xenc`).
pub const XENC: &str = "http://www.w3.org/2001/04/xmlenc#";
/// Additions of XML-Encryption 1.1 (`xenc11`): `MGF`, `DerivedKey`, `KeyDerivationMethod`.
pub const XENC11: &str = "http://www.w3.org/2009/xmlenc11#";
/// Exclusive canonicalization, whose `InclusiveNamespaces` element carries a prefix list (`ec`).
pub const EXCLUSIVE_C14N: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
/// XPath Filter 2.0.
pub const XPATH_FILTER2: &str = "http://www.w3.org/2002/06/xmldsig-filter2";
/// The key store format of the `xmlsec1` command line, and its symmetric `KeyValue` children.
pub const XMLSEC_KEYS: &str = "http://www.aleksey.com/xmlsec/2002";

/// Transform: the signature that contains the reference is left out (XML-DSig 6.6.4).
pub const ENVELOPED_SIGNATURE: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
/// Transform and `Object` encoding: base64 (XML-DSig 6.6.2).
pub const BASE64: &str = "http://www.w3.org/2000/09/xmldsig#base64";
/// Transform: XPath filtering (XML-DSig 6.6.3).
pub const XPATH: &str = "http://www.w3.org/TR/1999/REC-xpath-19991116";
/// Transform: XPointer (RFC 9231 2.5.1), and the namespace of its parameter.
pub const XPOINTER: &str = "http://www.w3.org/2001/04/xmldsig-more/xptr";
/// Transform: XSLT (XML-DSig 6.6.5). Known so that it can be refused by name; never executed.
pub const XSLT: &str = "http://www.w3.org/TR/1999/REC-xslt-19991116";
/// Reference type: a `ds:Manifest` (XML-DSig 5.1).
pub const TYPE_MANIFEST: &str = "http://www.w3.org/2000/09/xmldsig#Manifest";
/// Retrieval type: one DER certificate, not wrapped in XML (XML-DSig 4.5.4).
pub const TYPE_RAW_X509: &str = "http://www.w3.org/2000/09/xmldsig#rawX509Certificate";
/// Retrieval type: an `xenc:EncryptedKey` (XML-Enc 3.5.3).
pub const TYPE_ENCRYPTED_KEY: &str = "http://www.w3.org/2001/04/xmlenc#EncryptedKey";
/// Retrieval type: an `xenc11:DerivedKey` (XML-Enc 5.8.1).
pub const TYPE_DERIVED_KEY: &str = "http://www.w3.org/2009/xmlenc11#DerivedKey";
/// `EncryptedData` type: one element was replaced (XML-Enc 3.1).
pub const TYPE_ELEMENT: &str = "http://www.w3.org/2001/04/xmlenc#Element";
/// `EncryptedData` type: the content of an element was replaced (XML-Enc 3.1).
pub const TYPE_CONTENT: &str = "http://www.w3.org/2001/04/xmlenc#Content";
