//! Certificate revocation lists (RFC 5280 section 5), given by the operator.
//!
//! Lists are read once and kept as a set of serial numbers. A list counts for a certificate when both name the same issuer; its
//! signature is checked with the key of that issuer on the validated path, the first time it counts.

use std::collections::HashSet;
use std::sync::OnceLock;

use jiff::Timestamp;

use super::{RevocationListFacts, TrustError, TrustStore, Window};
use crate::certificate::{self, Certificate};
use crate::der::{self, NotDer, Reader};
use crate::error::CryptoError;
use crate::key::PublicKey;
use crate::keystore::pem;
use crate::name::DistinguishedName;
use crate::signature::SignedWith;

const EXPECTED: &str = "a certificate revocation list";

pub(super) struct RevocationList {
    issuer: Vec<u8>,
    issuer_name: DistinguishedName,
    this_update: Timestamp,
    next_update: Option<Timestamp>,
    revoked: HashSet<Vec<u8>>,
    scope: Scope,
    signed: Vec<u8>,
    signed_with: SignedWith,
    signature: Vec<u8>,
    /// The key its signature was found good with.
    verified_with: OnceLock<PublicKey>,
}

/// Which certificates of its issuer a list tells about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    EndEntities,
    Authorities,
}

impl RevocationList {
    /// Reads a PEM or DER list.
    pub(super) fn from_file_contents(contents: &[u8]) -> Result<Self, CryptoError> {
        if !pem::looks_like_pem(contents) {
            return Self::from_der(contents);
        }
        match pem::blocks(contents)?
            .iter()
            .find(|block| block.label == "X509 CRL")
        {
            Some(block) => Self::from_der(block.octets.expose()),
            None => Err(CryptoError::Malformed {
                expected: "a PEM block `X509 CRL`",
                found: "none".to_owned(),
            }),
        }
    }

    fn from_der(list: &[u8]) -> Result<Self, CryptoError> {
        Self::read(list).map_err(NotDer::reading(EXPECTED))?
    }

    /// The inner error is for what is well-formed and not supported.
    fn read(list: &[u8]) -> Result<Result<Self, CryptoError>, NotDer> {
        let mut outer = Reader::new(list);
        let mut parts = outer.enter(der::SEQUENCE)?;
        outer.end()?;
        let signed = parts.any()?;
        let algorithm = parts.expect(der::SEQUENCE)?;
        let signature = parts.bit_string()?.to_vec();
        parts.end()?;
        if signed.tag != der::SEQUENCE {
            return Err(NotDer);
        }
        let mut body = Reader::new(signed.content);
        body.optional(der::INTEGER)?;
        if body.expect(der::SEQUENCE)? != algorithm {
            return Err(NotDer);
        }
        let issuer = body.any()?.whole;
        let this_update = certificate::time(&mut body)?;
        let next_update = match body.peek() {
            Some(der::UTC_TIME | der::GENERALIZED_TIME) => Some(certificate::time(&mut body)?),
            _ => None,
        };
        let mut revoked = HashSet::new();
        if let Some(entries) = body.optional(der::SEQUENCE)? {
            let mut entries = Reader::new(entries);
            while !entries.is_empty() {
                let mut entry = entries.enter(der::SEQUENCE)?;
                revoked.insert(entry.expect(der::INTEGER)?.to_vec());
                certificate::time(&mut entry)?;
                if let Some(extensions) = entry.optional(der::SEQUENCE)?
                    && let Some(oid) = first_critical(extensions, |_, _| Ok(false))?
                {
                    return Ok(Err(unsupported(oid)));
                }
            }
        }
        let mut scope = Scope::All;
        if let Some(extensions) = body.optional(der::context(0))? {
            let mut reader = Reader::new(extensions);
            let extensions = reader.expect(der::SEQUENCE)?;
            reader.end()?;
            let refused = first_critical(extensions, |oid, value| match oid {
                [0x55, 0x1d, 28] => Ok(read_scope(value)?.map(|found| scope = found).is_some()),
                _ => Ok(false),
            })?;
            if let Some(oid) = refused {
                return Ok(Err(unsupported(oid)));
            }
        }
        body.end()?;
        Ok(Ok(Self {
            issuer_name: DistinguishedName::from_der(issuer)?,
            issuer: issuer.to_vec(),
            this_update,
            next_update,
            revoked,
            scope,
            signed: signed.whole.to_vec(),
            signed_with: SignedWith::read(algorithm),
            signature,
            verified_with: OnceLock::new(),
        }))
    }

    pub(super) fn facts(&self) -> RevocationListFacts {
        RevocationListFacts {
            issuer: self.issuer_name.to_string(),
            this_update: self.this_update,
            next_update: self.next_update,
        }
    }

    fn tells_about(&self, certificate: &Certificate) -> bool {
        self.issuer == certificate.issuer_der()
            && match self.scope {
                Scope::All => true,
                Scope::EndEntities => !certificate.is_authority(),
                Scope::Authorities => certificate.is_authority(),
            }
    }

    fn is_signed_by(&self, issuer: &PublicKey) -> bool {
        if self.verified_with.get() == Some(issuer) {
            return true;
        }
        let good = self
            .signed_with
            .verify(issuer, &self.signed, &self.signature)
            .is_ok();
        if good {
            // Somebody else may have been first: one key is enough to remember.
            let _ = self.verified_with.set(issuer.clone());
        }
        good
    }
}

fn unsupported(oid: &[u8]) -> CryptoError {
    CryptoError::Unsupported {
        what: format!(
            "a revocation list with the critical extension {}",
            der::dotted(oid)
        ),
    }
}

/// The first critical extension that `understood` does not take.
fn first_critical<'a>(
    extensions: &'a [u8],
    mut understood: impl FnMut(&[u8], &'a [u8]) -> Result<bool, NotDer>,
) -> Result<Option<&'a [u8]>, NotDer> {
    let mut list = Reader::new(extensions);
    while !list.is_empty() {
        let mut extension = list.enter(der::SEQUENCE)?;
        let oid = extension.expect(der::OID)?;
        let critical = extension
            .optional(der::BOOLEAN)?
            .is_some_and(|value| value != [0]);
        let value = extension.expect(der::OCTET_STRING)?;
        extension.end()?;
        if !understood(oid, value)? && critical {
            return Ok(Some(oid));
        }
    }
    Ok(None)
}

/// An issuing distribution point (RFC 5280 section 5.2.5), if the list is complete for what it is about; `None` for lists by
/// reason, of attribute certificates, or of other issuers.
fn read_scope(value: &[u8]) -> Result<Option<Scope>, NotDer> {
    let mut fields = Reader::new(value).enter(der::SEQUENCE)?;
    fields.optional(der::context(0))?;
    let mut flag = |number| {
        let value = fields.optional(der::context_primitive(number))?;
        Ok(value.is_some_and(|value| value != [0]))
    };
    let (end_entities, authorities) = (flag(1)?, flag(2)?);
    Ok(match (fields.is_empty(), end_entities, authorities) {
        (true, false, false) => Some(Scope::All),
        (true, true, false) => Some(Scope::EndEntities),
        (true, false, true) => Some(Scope::Authorities),
        _ => None,
    })
}

impl TrustStore {
    /// Whether a list may be signed with this algorithm: the rules for certificates apply.
    fn takes(&self, signed_with: &SignedWith) -> bool {
        let weak = signed_with
            .algorithm()
            .is_none_or(|algorithm| algorithm.is_weak());
        !weak || self.rules.allow_sha1_certificates || self.rules.allow_legacy_certificates
    }

    /// Checks every certificate of the path but the anchor; says until when the lists hold.
    pub(super) fn check_revocation(
        &self,
        path: &[Certificate],
        now: Timestamp,
    ) -> Result<Window, TrustError> {
        let mut window = Window {
            from: Timestamp::MIN,
            to: Timestamp::MAX,
        };
        if self.revocation_lists.is_empty() {
            return Ok(window);
        }
        for (index, pair) in path.windows(2).enumerate() {
            let [certificate, issuer] = pair else {
                continue;
            };
            let may_sign = issuer
                .key_usage()
                .is_none_or(|usage| usage.may_sign_revocation_lists());
            let mut lists = self
                .revocation_lists
                .iter()
                .filter(|list| list.tells_about(certificate))
                .filter(|list| may_sign && self.takes(&list.signed_with))
                .filter(|list| list.is_signed_by(issuer.public_key()))
                .peekable();
            // Of authorities in between, only what lists there are is asked: their issuers publish rarely.
            if index == 0 && lists.peek().is_none() {
                let issuer = issuer.subject_name().to_string();
                return Err(TrustError::RevocationUnknown { issuer });
            }
            let mut newest: Option<&RevocationList> = None;
            for list in lists {
                if list.revoked.contains(certificate.serial()) {
                    let subject = certificate.subject_name().to_string();
                    return Err(TrustError::Revoked { subject });
                }
                if newest.is_none_or(|newest| newest.this_update < list.this_update) {
                    newest = Some(list);
                }
            }
            if let Some(list) = newest
                && !self.rules.ignore_validity
            {
                let holds = Window {
                    from: list.this_update,
                    to: list.next_update.unwrap_or(Timestamp::MAX),
                };
                if !holds.contains(now) {
                    let issuer = list.issuer_name.to_string();
                    let since = if now > holds.to { holds.to } else { holds.from };
                    return Err(TrustError::RevocationListExpired { issuer, since });
                }
                window = window.narrowed(holds);
            }
        }
        Ok(window)
    }
}
