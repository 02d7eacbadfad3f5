//! Whether a certificate of a path was revoked (RFC 5280 section 6.3).
//!
//! The one rule: where lists are configured, a certificate that none of them tells about is
//! refused.

use jiff::Timestamp;

use super::error::TrustError;
use super::revocation::{Coverage, RevocationList};
use super::store::TrustStore;
use super::window::Window;
use crate::certificate::Certificate;
use crate::signature::SignedWith;

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
        if self.revocation_lists.is_empty() && self.online.is_none() {
            return Ok(window);
        }
        for (index, pair) in path.windows(2).enumerate() {
            let [certificate, issuer] = pair else {
                continue;
            };
            let may_sign = issuer
                .key_usage()
                .is_none_or(|usage| usage.may_sign_revocation_lists());
            let lists: Vec<(&RevocationList, Coverage)> = self
                .revocation_lists
                .iter()
                .map(|list| (list, list.coverage(certificate)))
                .filter(|(_, coverage)| *coverage != Coverage::Nothing)
                .filter(|(list, _)| may_sign && self.takes(&list.signed_with))
                .filter(|(list, _)| list.is_signed_by(issuer.public_key()))
                .collect();
            if lists
                .iter()
                .any(|(list, _)| list.revoked.contains(certificate.serial()))
            {
                let subject = certificate.subject_name().to_string();
                return Err(TrustError::Revoked { subject });
            }
            let newest = lists
                .iter()
                .filter(|(_, coverage)| *coverage == Coverage::Everything)
                .map(|(list, _)| *list)
                .max_by_key(|list| list.this_update);
            let by_list = self.by_list(newest, issuer, index, now);
            let Some(online) = &self.online else {
                window = window.narrowed(by_list?);
                continue;
            };
            // Either answer is enough, and what was revoked by either is revoked.
            let is_answered = newest.is_some() && by_list.is_ok();
            let is_signer = index == 0;
            let told = online.check(certificate, issuer, is_signer, is_answered, now)?;
            window = window.narrowed(told);
            if is_answered {
                window = window.narrowed(by_list?);
            }
        }
        Ok(window)
    }

    /// Until when the newest list that tells about a certificate holds.
    fn by_list(
        &self,
        newest: Option<&RevocationList>,
        issuer: &Certificate,
        index: usize,
        now: Timestamp,
    ) -> Result<Window, TrustError> {
        let always = Window {
            from: Timestamp::MIN,
            to: Timestamp::MAX,
        };
        match newest {
            // Of authorities in between, only what lists there are is asked: their issuers publish
            // rarely.
            None if index == 0 => Err(TrustError::RevocationUnknown {
                issuer: issuer.subject_name().to_string(),
            }),
            Some(list) if !self.rules.ignore_validity => {
                let holds = list.window();
                if !holds.contains(now) {
                    let issuer = list.issuer_name.to_string();
                    let since = if now > holds.to { holds.to } else { holds.from };
                    return Err(TrustError::RevocationListExpired { issuer, since });
                }
                Ok(holds)
            }
            _ => Ok(always),
        }
    }
}
