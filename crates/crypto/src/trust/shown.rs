//! Revocation of certificates that are believed by themselves, and of those that peers of TLS show.
//!
//! The one rule: whoever is asked about a certificate that has no path is asked in the name of an
//! issuer that is configured. Who shows a certificate could bring an issuer of his own making: for
//! a signature that is there, keys can be made that verify it.

use jiff::Timestamp;

use super::error::TrustError;
use super::store::TrustStore;
use crate::certificate::Certificate;

/// Who issued a certificate that is believed by itself.
enum Issuer<'s> {
    /// It itself: there is nobody else to revoke it.
    Itself,
    Known(&'s Certificate),
    Unknown,
}

impl TrustStore {
    fn issuer_of(&self, certificate: &Certificate) -> Issuer<'_> {
        if certificate.is_self_signed() {
            return Issuer::Itself;
        }
        let rules = &self.rules;
        let configured = rules.anchors.iter().chain(&rules.intermediates);
        let mut configured = configured.chain(&rules.pinned);
        let issued = |issuer: &&Certificate| {
            issuer.subject_der() == certificate.issuer_der()
                && certificate.is_signed_by(issuer.public_key())
        };
        configured
            .find(issued)
            .map_or(Issuer::Unknown, Issuer::Known)
    }

    /// The certificates that are believed by themselves and about which nobody can be asked, though
    /// the rules demand an answer.
    pub fn unaskable(&self) -> impl Iterator<Item = &Certificate> {
        let demands = self.online.as_ref();
        let demands = demands.is_some_and(|online| !online.rules().accept_unanswered);
        let anchors = self.rules.anchors.iter().filter(|it| !it.is_authority());
        let known = self.rules.pinned.iter().chain(anchors);
        known.filter(move |it| demands && matches!(self.issuer_of(it), Issuer::Unknown))
    }

    /// The path by which is asked about a certificate that is believed by itself: it and its
    /// issuer. Empty where there is nobody to ask about it, or nobody is asked at all.
    ///
    /// # Errors
    ///
    /// Its issuer is not known, and the rules demand an answer.
    pub(super) fn path_of_known(
        &self,
        certificate: &Certificate,
    ) -> Result<Vec<Certificate>, TrustError> {
        let Some(online) = &self.online else {
            return Ok(Vec::new());
        };
        match self.issuer_of(certificate) {
            Issuer::Itself => Ok(Vec::new()),
            Issuer::Known(issuer) => Ok(vec![certificate.clone(), issuer.clone()]),
            // An authority that is trusted for its key (RFC 5280 section 6.1.1).
            Issuer::Unknown
                if certificate.is_authority() && self.rules.anchors.contains(certificate) =>
            {
                Ok(Vec::new())
            }
            Issuer::Unknown => online.without_issuer(certificate).map(|()| Vec::new()),
        }
    }

    /// Whether the certificate that a peer of TLS shows was revoked, or that of an authority on its
    /// path. Everything else about it has been decided by whoever asks. `stapled` is the answer of
    /// a responder that came with it, empty where none did. Returns the moment up to which the
    /// answers hold that this goes by: a connection may stay open for longer.
    ///
    /// # Errors
    ///
    /// It was revoked; nobody has answered and the rules demand an answer; the answer that came
    /// does not count; or there is no path to an anchor.
    pub fn check_revoked(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        stapled: &[u8],
        now: Timestamp,
    ) -> Result<Timestamp, TrustError> {
        let rules = &self.rules;
        let is_known = rules.pinned.contains(certificate) || rules.anchors.contains(certificate);
        let path = match is_known {
            true => self.path_of_known(certificate)?,
            false => self.path(certificate, intermediates, now)?,
        };
        if let ([shown, issuer, ..], Some(online)) = (path.as_slice(), &self.online)
            && !stapled.is_empty()
        {
            let taken = online.take_stapled(shown, issuer, stapled, now);
            taken.map_err(|why| TrustError::StapledAnswer {
                subject: shown.subject_name().to_string(),
                why,
            })?;
        }
        Ok(self.check_revocation(&path, now)?.to)
    }
}
