//! PKCS#12 (RFC 7292): the keystore of Windows, OpenSSL and, since version 9, Java.
//!
//! Files in DER are read here, with every entry and its alias. Some old programs write BER, which
//! goes through OpenSSL: it knows one private key per file, which is all that those programs ever
//! put in. Writing is left to OpenSSL as well.

use aws_lc_rs::constant_time;
use openssl::nid::Nid;
use openssl::pkcs12::Pkcs12;
use openssl::stack::Stack;
use openssl::x509::X509;
use zeroize::Zeroizing;

use super::entries::{KeyEntry, KeyStore, ProtectedKey};
use super::pbe::{self, Purpose};
use crate::algorithms::{DigestAlgorithm, SignatureAlgorithm};
use crate::certificate::Certificate;
use crate::der::{self, NotDer, Reader};
use crate::derive::Pbkdf2;
use crate::error::{CryptoError, OrLibrary};
use crate::identity::Identity;
use crate::key::SymmetricKey;
use crate::secret::SecretBytes;

/// 1.2.840.113549.1
const PKCS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1];

const EXPECTED: &str = "a PKCS#12 file";

/// Iterations that OpenSSL is told to use: what OWASP recommends is for servers; a file is opened
/// once.
const ITERATIONS: u32 = 10_000;

/// Shortest key that a `MacData` may ask for: as long as the shortest hash. Whoever writes the file
/// chooses the length, and finds a short key without the password.
const PBMAC1_KEY_LENGTH: usize = 20;

/// Whether it begins as one of version 3 does (RFC 7292, 4): no key and no certificate has that
/// version there.
pub(super) fn looks_like_pkcs12(file: &[u8]) -> bool {
    const INDEFINITE: [u8; 5] = [0x30, 0x80, 2, 1, 3];
    let version = || Reader::new(file).enter(der::SEQUENCE)?.small();
    file.starts_with(&INDEFINITE) || version() == Ok(3)
}

pub(super) fn read(file: &[u8], password: &str) -> Result<KeyStore, CryptoError> {
    match read_der(file, password) {
        Ok(outcome) => outcome,
        Err(NotDer) => read_with_openssl(file, password),
    }
}

/// Errors about the file's form are outside, so that another reader can be tried; all others are
/// inside.
fn read_der(file: &[u8], password: &str) -> Result<Result<KeyStore, CryptoError>, NotDer> {
    let mut outer = Reader::new(file);
    let mut pfx = outer.enter(der::SEQUENCE)?;
    if pfx.small()? != 3 {
        return Err(NotDer);
    }
    let safe = data_content(&mut pfx)?;
    if let Some(mac) = pfx.optional(der::SEQUENCE)?
        && let Err(error) = check_mac(mac, safe, password)?
    {
        return Ok(Err(error));
    }
    let mut bags = Bags::default();
    let mut contents = Reader::new(safe).enter(der::SEQUENCE)?;
    while !contents.is_empty() {
        let mut content = contents.enter(der::SEQUENCE)?;
        let oid = content.expect(der::OID)?;
        let mut inner = content.enter(der::context(0))?;
        match oid.strip_prefix(PKCS) {
            Some([7, 1]) => bags.read(inner.expect(der::OCTET_STRING)?, 0)?,
            Some([7, 6]) => match open_encrypted(inner, password)? {
                Ok(plain) => bags.read(plain.expose(), 0)?,
                Err(error) => return Ok(Err(error)),
            },
            _ => {
                return Ok(Err(CryptoError::Unsupported {
                    what: format!("a PKCS#12 file with content of type {}", der::dotted(oid)),
                }));
            }
        }
    }
    Ok(bags.into_store())
}

/// The bytes in a `ContentInfo` of type data.
fn data_content<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], NotDer> {
    let mut content = reader.enter(der::SEQUENCE)?;
    if content.expect(der::OID)?.strip_prefix(PKCS) != Some(&[7, 1]) {
        return Err(NotDer);
    }
    content.enter(der::context(0))?.expect(der::OCTET_STRING)
}

/// What is in an `EncryptedData` (PKCS#7).
fn open_encrypted(
    mut reader: Reader<'_>,
    password: &str,
) -> Result<Result<SecretBytes, CryptoError>, NotDer> {
    let mut encrypted = reader.enter(der::SEQUENCE)?;
    encrypted.small()?;
    let mut info = encrypted.enter(der::SEQUENCE)?;
    info.expect(der::OID)?;
    let algorithm = info.expect(der::SEQUENCE)?;
    let octets = info.expect(der::context_primitive(0))?;
    Ok(pbe::open(algorithm, octets, password))
}

/// Checks the `MacData` over the whole file.
fn check_mac(mac: &[u8], safe: &[u8], password: &str) -> Result<Result<(), CryptoError>, NotDer> {
    let mut fields = Reader::new(mac);
    let mut info = fields.enter(der::SEQUENCE)?;
    let mut algorithm = info.enter(der::SEQUENCE)?;
    let oid = algorithm.expect(der::OID)?;
    let expected = info.expect(der::OCTET_STRING)?;
    let salt = fields.expect(der::OCTET_STRING)?;
    let iterations = if fields.is_empty() {
        1
    } else {
        fields.small()?
    };
    let digest = match oid {
        [0x2b, 14, 3, 2, 26] => DigestAlgorithm::Sha1,
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1] => DigestAlgorithm::Sha256,
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2] => DigestAlgorithm::Sha384,
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3] => DigestAlgorithm::Sha512,
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 4] => DigestAlgorithm::Sha224,
        _ if oid.strip_prefix(PKCS) == Some(&[5, 14]) => {
            let parameters = algorithm.enter(der::SEQUENCE).and_then(read_pbmac1);
            let (parameters, length, prf) =
                match parameters.map_err(NotDer::reading("the parameters of PBMAC1")) {
                    Ok(read) => read,
                    Err(error) => return Ok(Err(error)),
                };
            if length < PBMAC1_KEY_LENGTH {
                return Ok(Err(CryptoError::Unsupported {
                    what: format!("a PKCS#12 file whose PBMAC1 key has {length} bytes"),
                }));
            }
            let password = SecretBytes::copy_of(password.as_bytes());
            return Ok(parameters
                .derive(&password, length)
                .and_then(|key| compare_mac(prf, key.expose(), safe, expected)));
        }
        _ => {
            return Ok(Err(CryptoError::Unsupported {
                what: format!("a PKCS#12 file authenticated with {}", der::dotted(oid)),
            }));
        }
    };
    let prf = match digest {
        DigestAlgorithm::Sha1 => SignatureAlgorithm::HmacSha1,
        DigestAlgorithm::Sha224 => SignatureAlgorithm::HmacSha224,
        DigestAlgorithm::Sha256 => SignatureAlgorithm::HmacSha256,
        DigestAlgorithm::Sha384 => SignatureAlgorithm::HmacSha384,
        _ => SignatureAlgorithm::HmacSha512,
    };
    let derive = |password: &[u8]| {
        pbe::pkcs12_derive(
            digest,
            Purpose::Mac,
            password,
            salt,
            iterations,
            digest.output_length(),
        )
    };
    let check =
        |password: &[u8]| derive(password).and_then(|key| compare_mac(prf, &key, safe, expected));
    let outcome = check(&pbe::bmp_password(password));
    // An empty password is written with and without its terminating zero, depending on the program.
    if password.is_empty() && outcome == Err(CryptoError::WrongPassword) {
        return Ok(check(&[]));
    }
    Ok(outcome)
}

/// PBMAC1 (RFC 9579): PBKDF2 parameters, the key's length and the HMAC.
fn read_pbmac1(mut parameters: Reader<'_>) -> Result<(Pbkdf2, usize, SignatureAlgorithm), NotDer> {
    let hmac = |oid: &[u8]| match oid.strip_prefix(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2][..]) {
        Some([7]) => Ok(SignatureAlgorithm::HmacSha1),
        Some([8]) => Ok(SignatureAlgorithm::HmacSha224),
        Some([9]) => Ok(SignatureAlgorithm::HmacSha256),
        Some([10]) => Ok(SignatureAlgorithm::HmacSha384),
        Some([11]) => Ok(SignatureAlgorithm::HmacSha512),
        _ => Err(NotDer),
    };
    let mut derivation = parameters.enter(der::SEQUENCE)?;
    if derivation.expect(der::OID)?.strip_prefix(PKCS) != Some(&[5, 12]) {
        return Err(NotDer);
    }
    let mut pbkdf2 = derivation.enter(der::SEQUENCE)?;
    let salt = pbkdf2.expect(der::OCTET_STRING)?.to_vec();
    let iterations = pbkdf2.small()?;
    let length = pbkdf2.small()? as usize;
    let prf = hmac(pbkdf2.enter(der::SEQUENCE)?.expect(der::OID)?)?;
    let mac = hmac(parameters.enter(der::SEQUENCE)?.expect(der::OID)?)?;
    Ok((
        Pbkdf2 {
            prf,
            salt,
            iterations,
        },
        length,
        mac,
    ))
}

fn compare_mac(
    prf: SignatureAlgorithm,
    key: &[u8],
    safe: &[u8],
    expected: &[u8],
) -> Result<(), CryptoError> {
    let found = SymmetricKey::new(key.to_vec())?.sign(prf, safe, None)?;
    constant_time::verify_slices_are_equal(found.as_ref(), expected)
        .map_err(|_| CryptoError::WrongPassword)
}

/// A key or certificate with its attributes.
struct Bag<T> {
    value: T,
    alias: Option<String>,
    /// What joins a key and its certificate.
    local_id: Option<Vec<u8>>,
    /// Java marks certificates that are trusted by themselves.
    is_trusted: bool,
}

#[derive(Default)]
struct Bags {
    keys: Vec<Bag<ProtectedKey>>,
    certificates: Vec<Bag<Vec<u8>>>,
}

impl Bags {
    /// Reads `SafeContents`. Bags may hold bags: `depth` keeps that within reason.
    fn read(&mut self, contents: &[u8], depth: u8) -> Result<(), NotDer> {
        if depth > 4 {
            return Err(NotDer);
        }
        let mut list = Reader::new(contents).enter(der::SEQUENCE)?;
        while !list.is_empty() {
            let mut bag = list.enter(der::SEQUENCE)?;
            let oid = bag.expect(der::OID)?;
            let mut value = bag.enter(der::context(0))?;
            let attributes = bag.optional(der::SET)?.unwrap_or_default();
            match oid.strip_prefix(PKCS) {
                Some([12, 10, 1, 1]) => {
                    let key = ProtectedKey::Plain(SecretBytes::copy_of(value.any()?.whole));
                    self.keys.push(Bag::new(key, attributes)?);
                }
                Some([12, 10, 1, 2]) => {
                    let key = ProtectedKey::Encrypted(value.any()?.whole.to_vec());
                    self.keys.push(Bag::new(key, attributes)?);
                }
                Some([12, 10, 1, 3]) => {
                    let mut certificate = value.enter(der::SEQUENCE)?;
                    // 1.2.840.113549.1.9.22.1: X.509 as DER.
                    if certificate.expect(der::OID)?.strip_prefix(PKCS) == Some(&[9, 22, 1]) {
                        let octets = certificate
                            .enter(der::context(0))?
                            .expect(der::OCTET_STRING)?;
                        self.certificates
                            .push(Bag::new(octets.to_vec(), attributes)?);
                    }
                }
                Some([12, 10, 1, 6]) => self.read(value.any()?.whole, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn into_store(self) -> Result<KeyStore, CryptoError> {
        let certificates = self
            .certificates
            .into_iter()
            .map(|bag| {
                let value = Certificate::from_der(&bag.value)?;
                Ok(Bag {
                    value,
                    alias: bag.alias,
                    local_id: bag.local_id,
                    is_trusted: bag.is_trusted,
                })
            })
            .collect::<Result<Vec<Bag<Certificate>>, CryptoError>>()?;
        let mut store = KeyStore {
            keys: Vec::new(),
            certificates: Vec::new(),
        };
        let only_key = self.keys.len() == 1;
        for (index, key) in self.keys.into_iter().enumerate() {
            let own = certificates.iter().find(|bag| {
                (bag.local_id.is_some() && bag.local_id == key.local_id)
                    || (only_key && bag.local_id.is_none() && !bag.value.is_authority())
            });
            let chain = own
                .map(|own| chain_of(&own.value, &certificates))
                .unwrap_or_else(|| certificates.iter().map(|bag| bag.value.clone()).collect());
            let alias = key.alias.unwrap_or_else(|| (index + 1).to_string());
            store.keys.push(KeyEntry {
                alias,
                key: key.value,
                chain,
            });
        }
        for (index, bag) in certificates.into_iter().enumerate() {
            if bag.is_trusted || store.keys.is_empty() {
                let alias = bag.alias.unwrap_or_else(|| (index + 1).to_string());
                store.certificates.push((alias, bag.value));
            }
        }
        Ok(store)
    }
}

impl<T> Bag<T> {
    fn new(value: T, attributes: &[u8]) -> Result<Self, NotDer> {
        let mut bag = Self {
            value,
            alias: None,
            local_id: None,
            is_trusted: false,
        };
        let mut list = Reader::new(attributes);
        while !list.is_empty() {
            let mut attribute = list.enter(der::SEQUENCE)?;
            let oid = attribute.expect(der::OID)?;
            let mut values = attribute.enter(der::SET)?;
            match oid.strip_prefix(PKCS) {
                // friendlyName, a BMPString
                Some([9, 20]) => {
                    let octets = values.any()?.content;
                    let units: Vec<u16> = octets
                        .chunks_exact(2)
                        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                        .collect();
                    bag.alias = Some(String::from_utf16_lossy(&units));
                }
                // localKeyId
                Some([9, 21]) => bag.local_id = Some(values.expect(der::OCTET_STRING)?.to_vec()),
                // 2.16.840.1.113894.746875.1.1, Oracle's trustedKeyUsage
                _ if oid
                    == [
                        0x60, 0x86, 0x48, 1, 0x86, 0xf9, 0x66, 0xad, 0xca, 0x7b, 1, 1,
                    ] =>
                {
                    bag.is_trusted = true;
                }
                _ => {}
            }
        }
        Ok(bag)
    }
}

/// The certificate and its issuers, as far as they are there.
fn chain_of(own: &Certificate, all: &[Bag<Certificate>]) -> Vec<Certificate> {
    let mut chain = vec![own.clone()];
    while let Some(last) = chain.last()
        && let Some(next) = all.iter().map(|bag| &bag.value).find(|candidate| {
            candidate.subject_name().matches(last.issuer_name()) && !chain.contains(candidate)
        })
    {
        chain.push(next.clone());
    }
    chain
}

fn read_with_openssl(file: &[u8], password: &str) -> Result<KeyStore, CryptoError> {
    let malformed = || CryptoError::Malformed {
        expected: EXPECTED,
        found: "something else".to_owned(),
    };
    let parsed = Pkcs12::from_der(file).map_err(|_| malformed())?;
    let parsed = parsed
        .parse2(password)
        .map_err(|_| CryptoError::WrongPassword)?;
    let read =
        |certificate: &X509| Certificate::from_der(&certificate.to_der().map_err(|_| malformed())?);
    let others: Vec<Certificate> = parsed
        .ca
        .iter()
        .flatten()
        .map(|one| one.to_der())
        .map(|der| Certificate::from_der(&der.map_err(|_| malformed())?))
        .collect::<Result<_, _>>()?;
    let mut store = KeyStore {
        keys: Vec::new(),
        certificates: Vec::new(),
    };
    let Some(key) = parsed.pkey else {
        let own = parsed.cert.as_ref().map(read).transpose()?;
        let all = own.into_iter().chain(others).enumerate();
        store.certificates = all
            .map(|(index, one)| ((index + 1).to_string(), one))
            .collect();
        return Ok(store);
    };
    let pkcs8 = key
        .private_key_to_pkcs8()
        .map(SecretBytes::new)
        .map_err(|_| malformed())?;
    let alias = parsed.cert.as_ref().and_then(|own| own.alias());
    let alias = alias.map_or_else(
        || "1".to_owned(),
        |alias| String::from_utf8_lossy(alias).into_owned(),
    );
    let own = parsed.cert.as_ref().map(read).transpose()?;
    let chain = own.into_iter().chain(others).collect();
    store.keys.push(KeyEntry {
        alias,
        key: ProtectedKey::Plain(pkcs8),
        chain,
    });
    Ok(store)
}

/// Writes key, certificate and chain with AES-256-CBC, PBKDF2 and HMAC-SHA-256.
pub(crate) fn write(
    identity: &Identity,
    password: &str,
    alias: &str,
) -> Result<Vec<u8>, CryptoError> {
    let failed = "writing a PKCS#12 file";
    let read = |certificate: &Certificate| X509::from_der(certificate.der()).or_library(failed);
    let own = read(identity.certificate())?;
    let mut chain = Stack::new().or_library(failed)?;
    for certificate in identity.chain() {
        chain.push(read(certificate)?).or_library(failed)?;
    }
    let password = Zeroizing::new(password.to_owned());
    let mut builder = Pkcs12::builder();
    builder
        .name(alias)
        .pkey(identity.key().software()?.openssl())
        .cert(&own)
        .ca(chain)
        .key_algorithm(Nid::AES_256_CBC)
        .cert_algorithm(Nid::AES_256_CBC)
        .key_iter(ITERATIONS)
        .mac_iter(ITERATIONS)
        .mac_md(openssl::hash::MessageDigest::sha256());
    builder
        .build2(&password)
        .and_then(|file| file.to_der())
        .or_library(failed)
}
