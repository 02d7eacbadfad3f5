//! The caller's keys and certificates: what `xmlsec1` calls a keys manager.
//!
//! Everything is given as bytes; files are the command line's business.
//! The one rule: keys come in only through these methods. What a message holds never becomes one of
//! them.

use soapstone_crypto::{
    Certificate, CryptoError, KeyStore, PrivateKey, PublicKey, SymmetricKey, base64,
};
use soapstone_xml::Element;

use super::error::GenericError;
use super::key::{Key, Material, SecretKind};
use super::options::Options;
use super::source::Source;
use soapstone_xmlsec::keyinfo::{KeyValue, X509Data};
use soapstone_xmlsec::namespaces::{DSIG, XMLSEC_KEYS};
use soapstone_xmlsec::structure::simple_content;

/// The caller's keys, certificates and revocation lists.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Keys {
    /// Keys, in the order in which they were given: lax searches take the first that fits.
    pub keys: Vec<Key>,
    /// Trust anchors (`--trusted-*`).
    pub trusted: Vec<Certificate>,
    /// Certificates that may stand between a certificate and an anchor, or be named by a message
    /// (`--untrusted-*`).
    pub untrusted: Vec<Certificate>,
    /// Revocation lists, DER or PEM (`--crl-*`).
    pub revocation_lists: Vec<Vec<u8>>,
}

impl Keys {
    /// No keys.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a private key, PEM or DER, with the certificates of its path (`--privkey-pem
    /// KEY[,CERT…]`).
    ///
    /// # Errors
    /// [`GenericError::Crypto`] when one of them cannot be read, the password is wrong, or the
    /// first certificate is for another key.
    pub fn add_private_key(
        &mut self,
        name: Option<String>,
        key: &[u8],
        password: Option<&str>,
        certificates: &[&[u8]],
    ) -> Result<(), GenericError> {
        let key = if is_pem(key) {
            PrivateKey::from_pem(key, password)?
        } else {
            PrivateKey::from_der(key)?
        };
        let mut path = Vec::new();
        for certificate in certificates {
            path.extend(Certificate::from_file_contents(certificate)?);
        }
        if let Some(own) = path.first()
            && own.public_key() != key.public_key()
        {
            return Err(CryptoError::KeyCertificateMismatch {
                subject: own.subject().to_owned(),
            }
            .into());
        }
        self.keys.push(Key {
            name,
            material: Material::Private(key),
            certificates: path,
        });
        Ok(())
    }

    /// Adds a key pair with its certificates from a PKCS#12 file (`--pkcs12`). Without a name it
    /// has that of the file's entry.
    ///
    /// # Errors
    /// [`GenericError::Crypto`].
    pub fn add_pkcs12(
        &mut self,
        name: Option<String>,
        file: &[u8],
        password: &str,
    ) -> Result<(), GenericError> {
        let store = KeyStore::from_pkcs12(file, password)?;
        let identity = store.identity(None, password)?;
        let alias = store.key_aliases().next().filter(|alias| !alias.is_empty());
        let mut certificates = vec![identity.certificate().clone()];
        certificates.extend_from_slice(identity.chain());
        let material = Material::Private(identity.key().clone());
        self.keys.push(Key {
            name: name.or(alias.map(str::to_owned)),
            material,
            certificates,
        });
        Ok(())
    }

    /// Adds a public key, PEM or DER (`--pubkey-pem`, `--pubkey-der`).
    ///
    /// # Errors
    /// [`GenericError::Crypto`].
    pub fn add_public_key(&mut self, name: Option<String>, key: &[u8]) -> Result<(), GenericError> {
        let key = if is_pem(key) {
            PublicKey::from_pem(key)?
        } else {
            PublicKey::from_spki_der(key)?
        };
        self.keys.push(Key::new(name, Material::Public(key)));
        Ok(())
    }

    /// Adds the public key of a certificate, PEM or DER (`--pubkey-cert-pem`, `--pubkey-cert-der`).
    ///
    /// # Errors
    /// [`GenericError::Crypto`].
    pub fn add_certificate(
        &mut self,
        name: Option<String>,
        certificate: &[u8],
    ) -> Result<(), GenericError> {
        let mut certificates = Certificate::from_file_contents(certificate)?;
        if certificates.is_empty() {
            return Err(CryptoError::Malformed {
                expected: "a certificate",
                found: "none".to_owned(),
            }
            .into());
        }
        let own = certificates.remove(0);
        let mut key = Key::from_certificate(name, own);
        key.certificates.extend(certificates);
        self.keys.push(key);
        Ok(())
    }

    /// Adds a secret (`--hmackey`, `--aeskey`, `--deskey` …).
    ///
    /// # Errors
    /// [`GenericError::Crypto`] when it is empty.
    pub fn add_secret(
        &mut self,
        name: Option<String>,
        kind: SecretKind,
        octets: Vec<u8>,
    ) -> Result<(), GenericError> {
        self.keys.push(Key::new(
            name,
            Material::Secret(kind, SymmetricKey::new(octets)?),
        ));
        Ok(())
    }

    /// Adds trust anchors, PEM or DER.
    ///
    /// # Errors
    /// [`GenericError::Crypto`].
    pub fn add_trusted(&mut self, certificates: &[u8]) -> Result<(), GenericError> {
        self.trusted
            .extend(Certificate::from_file_contents(certificates)?);
        Ok(())
    }

    /// Adds certificates that are not anchors, PEM or DER.
    ///
    /// # Errors
    /// [`GenericError::Crypto`].
    pub fn add_untrusted(&mut self, certificates: &[u8]) -> Result<(), GenericError> {
        self.untrusted
            .extend(Certificate::from_file_contents(certificates)?);
        Ok(())
    }

    /// Adds a revocation list, DER or PEM.
    pub fn add_revocation_list(&mut self, list: &[u8]) {
        self.revocation_lists.push(list.to_vec());
    }

    /// Adds the keys of an XML key file (`--keys-file`): `Keys` of
    /// `http://www.aleksey.com/xmlsec/2002` with one `ds:KeyInfo` per key.
    ///
    /// Kinds of keys that are not known are left out. Key values are public keys and secrets;
    /// private values beside them are not read (private keys come from PEM or PKCS#12).
    ///
    /// # Errors
    /// [`GenericError::KeysFile`] when it is no such file; otherwise why a value in it cannot be
    /// read.
    pub fn add_keys_file(&mut self, file: &[u8], options: &Options) -> Result<(), GenericError> {
        let source = Source::load(file, options, &mut |_| None)?;
        let root = source.document.root();
        if !root.is(XMLSEC_KEYS, "Keys") {
            return Err(GenericError::KeysFile {
                reason: "the root element is not `Keys` of the xmlsec namespace",
            });
        }
        for key_info in root.children() {
            if !key_info.is(DSIG, "KeyInfo") {
                return Err(GenericError::KeysFile {
                    reason: "something else than `ds:KeyInfo` in `Keys`",
                });
            }
            if let Some(key) = read_key(key_info)? {
                self.keys.push(key);
            }
        }
        Ok(())
    }
}

/// One `ds:KeyInfo` of a keys file; `None` when it has no key of a known kind.
fn read_key(key_info: Element<'_>) -> Result<Option<Key>, GenericError> {
    let mut name = None;
    let mut material = None;
    let mut certificates = Vec::new();
    for child in key_info.children() {
        match (child.namespace(), child.local()) {
            (DSIG, "KeyName") => {
                name = Some(
                    simple_content(child)
                        .map_err(soapstone_xmlsec::keyinfo::KeyInfoError::from)?
                        .trim()
                        .to_owned(),
                )
            }
            (DSIG, "KeyValue") => material = read_key_value(child)?,
            (DSIG, "X509Data") => certificates = X509Data::parse(child, 32)?.certificates,
            _ => {}
        }
    }
    if material.is_none() {
        material = certificates
            .first()
            .map(|own| Material::Public(own.public_key().clone()));
    }
    Ok(material.map(|material| Key {
        name,
        material,
        certificates,
    }))
}

fn read_key_value(key_value: Element<'_>) -> Result<Option<Material>, GenericError> {
    let Some(value) = key_value.first_child() else {
        return Ok(None);
    };
    if value.namespace() != XMLSEC_KEYS {
        return Ok(
            KeyValue::parse(key_value)?.map(|value| Material::Public(value.into_public_key()))
        );
    }
    let kind = match value.local() {
        "HMACKeyValue" => SecretKind::Hmac,
        "AESKeyValue" => SecretKind::Aes,
        "DESKeyValue" => SecretKind::TripleDes,
        "ConcatKDFKeyValue" => SecretKind::ConcatKdf,
        "PBKDF2KeyValue" => SecretKind::Pbkdf2,
        "HKDFKeyValue" => SecretKind::Hkdf,
        _ => return Ok(None),
    };
    let octets =
        base64::decode_xml_to_vec(value.text().as_bytes()).map_err(|_| GenericError::KeysFile {
            reason: "a key value is not base64",
        })?;
    Ok(Some(Material::Secret(kind, SymmetricKey::new(octets)?)))
}

fn is_pem(octets: &[u8]) -> bool {
    octets.windows(11).any(|window| window == b"-----BEGIN ")
}
