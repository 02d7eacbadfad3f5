//! Where revocation lists are published and responders answer, as certificates and lists name it
//! (RFC 5280 sections 4.2.1.13, 4.2.2.1 and 5.2.5).
//!
//! Nothing is fetched here. The names tell which of several lists of an issuer a certificate would
//! be on, and which URLs whoever fetches may ask for.

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

    /// The URL, if the name is one of HTTP.
    fn url(&self) -> Option<String> {
        let Self::Other(name) = self else {
            return None;
        };
        http_url(name)
    }

    pub(crate) fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory(one), Self::Directory(two)) => one.matches(two),
            (Self::Other(one), Self::Other(two)) => one == two,
            _ => false,
        }
    }
}

/// Most URLs of one kind that are read of a certificate. Real ones have one or two.
const MOST_URLS: usize = 4;

/// Longest URL that is read, in bytes.
const LONGEST_URL: usize = 2048;

/// The tag of `uniformResourceIdentifier` in a `GeneralName`.
const URI: u8 = der::context_primitive(6);

/// The URL of a `GeneralName`, if it is one of HTTP in printable ASCII.
fn http_url(name: &[u8]) -> Option<String> {
    let text = Reader::new(name).expect(URI).ok()?;
    let text = std::str::from_utf8(text).ok()?;
    let is_plain = text.len() <= LONGEST_URL && text.bytes().all(|byte| byte.is_ascii_graphic());
    let scheme = text.split_once("://")?.0;
    let is_http = ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    (is_plain && is_http).then(|| text.to_owned())
}

/// The URLs of responders in the DER of `AuthorityInfoAccessSyntax`.
pub(super) fn responders(access: &[u8]) -> Result<Vec<String>, NotDer> {
    const OCSP: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 48, 1];
    let mut outer = Reader::new(access);
    let mut list = outer.enter(der::SEQUENCE)?;
    outer.end()?;
    let mut found = Vec::new();
    while !list.is_empty() {
        let mut description = list.enter(der::SEQUENCE)?;
        let method = description.expect(der::OID)?;
        let location = description.any()?;
        description.end()?;
        if method == OCSP
            && found.len() < MOST_URLS
            && let Some(url) = http_url(location.whole)
        {
            found.push(url);
        }
    }
    Ok(found)
}

/// The URLs of lists among distribution points, but of those of other issuers.
pub(super) fn list_urls(points: &[DistributionPoint]) -> Vec<String> {
    let direct = points.iter().filter(|point| !point.indirect);
    let names = direct.flat_map(|point| &point.names);
    names.filter_map(PointName::url).take(MOST_URLS).collect()
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
