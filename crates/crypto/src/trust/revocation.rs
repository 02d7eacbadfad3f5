//! Certificate revocation lists (RFC 5280 section 5), given by the operator or fetched.
//!
//! Lists are read once and kept as a set of serial numbers. A list counts for a certificate when
//! both name the same issuer and, for a list in parts, the same distribution point. Its signature
//! is checked with the key of that issuer on the validated path, the first time it counts.

use std::collections::HashSet;
use std::sync::OnceLock;

use jiff::{SignedDuration, Timestamp};

use super::window::Window;
use crate::certificate::{self, Certificate, DistributionPoint, PointName};
use crate::der::{self, NotDer, Reader};
use crate::error::CryptoError;
use crate::key::PublicKey;
use crate::keystore::pem;
use crate::name::DistinguishedName;
use crate::signature::SignedWith;

const EXPECTED: &str = "a certificate revocation list";

/// What a revocation list says of itself (RFC 5280 section 5.1.2); nobody has verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationListFacts {
    /// Whose certificates it tells about, as RFC 4514 writes names.
    pub issuer: String,
    /// When it was made.
    pub this_update: Timestamp,
    /// When the next one is due, if it says so.
    pub next_update: Option<Timestamp>,
}

impl RevocationListFacts {
    /// Reads them in a list (PEM or DER).
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] and [`CryptoError::Unsupported`] as in
    /// [`TrustStore::new`](super::TrustStore::new).
    pub fn of(list: &[u8]) -> Result<Self, CryptoError> {
        RevocationList::from_file_contents(list).map(|list| list.facts())
    }
}

pub(super) struct RevocationList {
    pub(super) issuer_name: DistinguishedName,
    pub(super) this_update: Timestamp,
    pub(super) next_update: Option<Timestamp>,
    pub(super) revoked: HashSet<Vec<u8>>,
    scope: Scope,
    signed: Vec<u8>,
    pub(super) signed_with: SignedWith,
    signature: Vec<u8>,
    /// The key its signature was found good with.
    verified_with: OnceLock<PublicKey>,
}

/// Which certificates of its issuer a list tells about.
struct Scope {
    kind: Kind,
    /// The part of the issuer's certificates that the list is about, by the names of its
    /// distribution point.
    part: Option<Vec<PointName>>,
}

#[derive(Clone, Copy)]
enum Kind {
    All,
    EndEntities,
    Authorities,
}

/// What a list tells about a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Coverage {
    Nothing,
    /// That it was revoked for some reasons, and nothing of others.
    SomeReasons,
    Everything,
}

/// How long a fetched list holds that does not say when the next one comes, which RFC 5280 section
/// 5.1.2.5 demands.
const WITHOUT_NEXT_UPDATE: SignedDuration = SignedDuration::from_hours(24);

/// Most extensions of a list or of one of its entries. RFC 5280 defines seven and three.
const MOST_EXTENSIONS: usize = 32;

const ISSUING_DISTRIBUTION_POINT: [u8; 3] = [0x55, 0x1d, 28];
/// What makes a list one that is complete only with another one, or with entries about others'
/// certificates. All are critical where authorities keep to RFC 5280 (sections 5.2.4 and 5.3.3);
/// where they do not, the list is the same.
const DELTA_INDICATOR: [u8; 3] = [0x55, 0x1d, 27];
const CERTIFICATE_ISSUER: [u8; 3] = [0x55, 0x1d, 29];

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
                    && let Some(oid) = first_refused(extensions, |oid, _| {
                        Ok((oid == CERTIFICATE_ISSUER).then_some(false))
                    })?
                {
                    return Ok(Err(unsupported(oid)));
                }
            }
        }
        let mut scope = Scope {
            kind: Kind::All,
            part: None,
        };
        if let Some(extensions) = body.optional(der::context(0))? {
            let mut reader = Reader::new(extensions);
            let extensions = reader.expect(der::SEQUENCE)?;
            reader.end()?;
            let refused = first_refused(extensions, |oid, value| {
                if oid == ISSUING_DISTRIBUTION_POINT {
                    let found = Scope::read(value, issuer)?;
                    return Ok(Some(found.map(|found| scope = found).is_some()));
                }
                Ok((oid == DELTA_INDICATOR).then_some(false))
            })?;
            if let Some(oid) = refused {
                return Ok(Err(unsupported(oid)));
            }
        }
        body.end()?;
        Ok(Ok(Self {
            issuer_name: DistinguishedName::from_der(issuer)?,
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

    /// When it holds.
    pub(super) fn window(&self) -> Window {
        Window {
            from: self.this_update,
            to: self.next_update.unwrap_or(Timestamp::MAX),
        }
    }

    /// When it holds if it was fetched. Whoever is on the way there can send an old list again:
    /// none holds for ever.
    pub(super) fn window_if_fetched(&self) -> Window {
        let at_most = self.this_update.checked_add(WITHOUT_NEXT_UPDATE);
        Window {
            from: self.this_update,
            to: self
                .next_update
                .unwrap_or(at_most.unwrap_or(Timestamp::MAX)),
        }
    }

    pub(super) fn facts(&self) -> RevocationListFacts {
        RevocationListFacts {
            issuer: self.issuer_name.to_string(),
            this_update: self.this_update,
            next_update: self.next_update,
        }
    }

    /// Names are compared by what they mean: an issuer may write its own in another string type
    /// than its certificates do.
    pub(super) fn coverage(&self, certificate: &Certificate) -> Coverage {
        let of_its_kind = match self.scope.kind {
            Kind::All => true,
            Kind::EndEntities => !certificate.is_authority(),
            Kind::Authorities => certificate.is_authority(),
        };
        if !of_its_kind || !self.issuer_name.matches(certificate.issuer_name()) {
            return Coverage::Nothing;
        }
        match &self.scope.part {
            None => Coverage::Everything,
            Some(part) => coverage_of_part(part, certificate),
        }
    }

    pub(super) fn is_signed_by(&self, issuer: &PublicKey) -> bool {
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

/// What a list in parts tells: only of certificates that name a distribution point of its own (RFC
/// 5280 section 6.3.3, (b)(2)(i)). A certificate that names none has one by the name of its issuer
/// (the last step there).
fn coverage_of_part(part: &[PointName], certificate: &Certificate) -> Coverage {
    let names_it = |names: &[PointName]| {
        names
            .iter()
            .any(|name| part.iter().any(|own| own.matches(name)))
    };
    if names_it(&[PointName::Directory(certificate.issuer_name().clone())]) {
        return Coverage::Everything;
    }
    let points: Vec<DistributionPoint> = certificate.distribution_points().unwrap_or_default();
    let matching = |point: &&DistributionPoint| !point.indirect && names_it(&point.names);
    let mut matching = points.iter().filter(matching).peekable();
    if matching.peek().is_none() {
        Coverage::Nothing
    } else if matching.any(|point| !point.by_reason) {
        Coverage::Everything
    } else {
        Coverage::SomeReasons
    }
}

/// The first extension that cannot be taken: `understood` says which it takes (`true`) and which
/// make a list unusable (`false`); of the others, it is the first critical one. An extension occurs
/// once (RFC 5280 section 4.2).
pub(super) fn first_refused<'a>(
    extensions: &'a [u8],
    mut understood: impl FnMut(&[u8], &'a [u8]) -> Result<Option<bool>, NotDer>,
) -> Result<Option<&'a [u8]>, NotDer> {
    let mut list = Reader::new(extensions);
    let mut seen: Vec<&[u8]> = Vec::new();
    while !list.is_empty() {
        let mut extension = list.enter(der::SEQUENCE)?;
        let oid = extension.expect(der::OID)?;
        let critical = extension
            .optional(der::BOOLEAN)?
            .is_some_and(|value| value != [0]);
        let value = extension.expect(der::OCTET_STRING)?;
        extension.end()?;
        if seen.contains(&oid) || seen.len() == MOST_EXTENSIONS {
            return Err(NotDer);
        }
        seen.push(oid);
        if !understood(oid, value)?.unwrap_or(!critical) {
            return Ok(Some(oid));
        }
    }
    Ok(None)
}

impl Scope {
    /// An issuing distribution point (RFC 5280 section 5.2.5), if the list is complete for what it
    /// is about; `None` for lists by reason, of attribute certificates, or of other issuers.
    fn read(value: &[u8], issuer: &[u8]) -> Result<Option<Self>, NotDer> {
        let mut outer = Reader::new(value);
        let mut fields = outer.enter(der::SEQUENCE)?;
        outer.end()?;
        let part = match fields.optional(der::context(0))? {
            Some(point) => Some(PointName::read_all(point, issuer)?),
            None => None,
        };
        let mut flag = |number| {
            let value = fields.optional(der::context_primitive(number))?;
            Ok(value.is_some_and(|value| value != [0]))
        };
        let (end_entities, authorities) = (flag(1)?, flag(2)?);
        let kind = match (fields.is_empty(), end_entities, authorities) {
            (true, false, false) => Kind::All,
            (true, true, false) => Kind::EndEntities,
            (true, false, true) => Kind::Authorities,
            _ => return Ok(None),
        };
        Ok(Some(Self { kind, part }))
    }
}
