//! Where revocation lists are published, as certificates and lists name it (RFC 5280 sections
//! 4.2.1.13 and 5.2.5).
//!
//! Nothing is fetched from there: the names only tell which of several lists of an issuer a
//! certificate would be on.

use crate::der::{self, NotDer, Reader};
use crate::name::DistinguishedName;

/// One name of a distribution point.
#[derive(Clone, Debug)]
pub(crate) enum PointName {
    Directory(DistinguishedName),
    /// Any other `GeneralName`, usually an address: its DER.
    Other(Vec<u8>),
}

/// One distribution point that a certificate names.
#[derive(Debug)]
pub(crate) struct DistributionPoint {
    /// Its names; none where only the issuer of the lists is named.
    pub(crate) names: Vec<PointName>,
    /// Whether its lists tell about some reasons of revocation only.
    pub(crate) by_reason: bool,
    /// Whether its lists are somebody else's than the certificate's issuer.
    pub(crate) indirect: bool,
}

impl PointName {
    /// Reads a `DistributionPointName` without its own tag. `issuer` is the DER of the name that
    /// relative names begin with.
    pub(crate) fn read_all(point: &[u8], issuer: &[u8]) -> Result<Vec<Self>, NotDer> {
        let mut choice = Reader::new(point);
        let chosen = choice.any()?;
        choice.end()?;
        let mut names = Vec::new();
        if chosen.tag == der::context(0) {
            let mut list = Reader::new(chosen.content);
            while !list.is_empty() {
                let name = list.any()?;
                names.push(if name.tag == der::context(4) {
                    Self::Directory(DistinguishedName::from_der(name.content)?)
                } else {
                    Self::Other(name.whole.to_vec())
                });
            }
        } else if chosen.tag == der::context(1) {
            let beginning = Reader::new(issuer).expect(der::SEQUENCE)?;
            let last = der::element(der::SET, &[chosen.content]);
            let name = der::element(der::SEQUENCE, &[beginning, &last]);
            names.push(Self::Directory(DistinguishedName::from_der(&name)?));
        }
        if names.is_empty() {
            return Err(NotDer);
        }
        Ok(names)
    }

    pub(crate) fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory(one), Self::Directory(two)) => one.matches(two),
            (Self::Other(one), Self::Other(two)) => one == two,
            _ => false,
        }
    }
}

impl DistributionPoint {
    /// Reads the DER of `CRLDistributionPoints`.
    pub(super) fn read_all(points: &[u8], issuer: &[u8]) -> Result<Vec<Self>, NotDer> {
        let mut outer = Reader::new(points);
        let mut list = outer.enter(der::SEQUENCE)?;
        outer.end()?;
        let mut found = Vec::new();
        while !list.is_empty() {
            let mut point = list.enter(der::SEQUENCE)?;
            let names = match point.optional(der::context(0))? {
                Some(names) => PointName::read_all(names, issuer)?,
                None => Vec::new(),
            };
            let by_reason = point.optional(der::context_primitive(1))?.is_some();
            let indirect = point.optional(der::context(2))?.is_some();
            point.end()?;
            found.push(Self {
                names,
                by_reason,
                indirect,
            });
        }
        Ok(found)
    }
}
