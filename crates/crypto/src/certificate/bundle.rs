//! Several certificates in one token: `X509PKIPathv1` and `PKCS7` (WS-Security X.509 Token Profile
//! 1.1.1, section 3.1).

use super::Certificate;
use crate::der::{self, NotDer, Reader};
use crate::error::CryptoError;

/// Most certificates in one bundle. Real paths have two to five.
const MOST: usize = 32;

impl Certificate {
    /// Reads a `PkiPath`: a sequence of certificates, the subject's last (ITU-T X.509). The result
    /// begins with the subject's.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if it is not one, is empty or has more than 32; and as for
    /// [`from_der`](Self::from_der).
    pub fn from_pki_path(path: &[u8]) -> Result<Vec<Self>, CryptoError> {
        let malformed = || NotDer::reading("a PkiPath of certificates");
        let mut outer = Reader::new(path);
        let list = outer.enter(der::SEQUENCE).map_err(malformed())?;
        outer.end().map_err(malformed())?;
        let mut found = read_all(list, malformed())?;
        found.reverse();
        Ok(found)
    }

    /// Writes a `PkiPath` from certificates that begin with the subject's.
    #[must_use]
    pub fn to_pki_path(chain: &[Self]) -> Vec<u8> {
        der::element(
            der::SEQUENCE,
            &chain.iter().rev().map(Self::der).collect::<Vec<_>>(),
        )
    }

    /// Reads the certificates of a PKCS#7 `SignedData` (RFC 2315). Their order says nothing: the
    /// one that is about the signer has to be found among them.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if it is not one, is empty or has more than 32; and as for
    /// [`from_der`](Self::from_der).
    pub fn from_pkcs7(data: &[u8]) -> Result<Vec<Self>, CryptoError> {
        let malformed = || NotDer::reading("PKCS#7 SignedData with certificates");
        let list = certificates_of(data).map_err(malformed())?;
        read_all(list, malformed())
    }
}

/// The `certificates` field of a `SignedData`.
fn certificates_of(data: &[u8]) -> Result<Reader<'_>, NotDer> {
    /// 1.2.840.113549.1.7.2
    const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2];
    let mut content = Reader::new(data).enter(der::SEQUENCE)?;
    if content.expect(der::OID)? != SIGNED_DATA {
        return Err(NotDer);
    }
    let mut signed = content.enter(der::context(0))?.enter(der::SEQUENCE)?;
    signed.expect(der::INTEGER)?;
    signed.expect(der::SET)?;
    signed.expect(der::SEQUENCE)?;
    signed.enter(der::context(0))
}

fn read_all(
    mut list: Reader<'_>,
    malformed: impl FnOnce(NotDer) -> CryptoError,
) -> Result<Vec<Certificate>, CryptoError> {
    let mut found = Vec::new();
    while !list.is_empty() && found.len() < MOST {
        match list.any() {
            Ok(element) => found.push(Certificate::from_der(element.whole)?),
            Err(not_der) => return Err(malformed(not_der)),
        }
    }
    if found.is_empty() || !list.is_empty() {
        return Err(malformed(NotDer));
    }
    Ok(found)
}
