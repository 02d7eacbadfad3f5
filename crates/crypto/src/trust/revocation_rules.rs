//! Whom to ask whether certificates are revoked.
//!
//! The one rule: the default demands an answer.

use jiff::SignedDuration;

use crate::certificate::Certificate;

/// Whom to ask whether a certificate is revoked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RevocationRules {
    /// Whether the responders that certificates name are asked.
    pub ocsp: bool,
    /// Whether the lists that certificates name are fetched.
    pub lists: bool,
    /// A responder in the place of those that certificates name.
    pub responder: Option<String>,
    /// Lists that are fetched whatever certificates name.
    pub list_urls: Vec<String>,
    /// Whether a certificate is believed for which there is no answer: soft fail.
    pub accept_unanswered: bool,
    /// Whether an answer counts only if it repeats the nonce of the request.
    pub must_repeat_nonce: bool,
    /// The oldest answer of a responder that counts.
    pub max_age: SignedDuration,
}

impl Default for RevocationRules {
    fn default() -> Self {
        Self {
            ocsp: true,
            lists: true,
            responder: None,
            list_urls: Vec::new(),
            accept_unanswered: false,
            must_repeat_nonce: false,
            // CA/Browser Forum Baseline Requirements, 4.9.10: at most ten days.
            max_age: SignedDuration::from_hours(10 * 24),
        }
    }
}

/// What one store demands of the answer of a responder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct AnswerRules {
    pub(super) max_age: SignedDuration,
    pub(super) must_repeat_nonce: bool,
}

impl AnswerRules {
    /// No demands: an answer that was kept over a restart is judged by the checks that want it.
    pub(super) const NONE: Self = Self {
        max_age: SignedDuration::MAX,
        must_repeat_nonce: false,
    };
}

impl RevocationRules {
    pub(super) fn of_answers(&self) -> AnswerRules {
        AnswerRules {
            max_age: self.max_age,
            must_repeat_nonce: self.must_repeat_nonce,
        }
    }

    pub(super) fn responders_of(&self, certificate: &Certificate) -> Vec<String> {
        match (&self.responder, self.ocsp) {
            (_, false) => Vec::new(),
            (Some(url), true) => vec![url.clone()],
            (None, true) => certificate.responder_urls(),
        }
    }

    pub(super) fn lists_of(&self, certificate: &Certificate) -> Vec<String> {
        let mut urls = self.list_urls.clone();
        if self.lists {
            let named = certificate.revocation_list_urls();
            urls.extend(
                named
                    .into_iter()
                    .filter(|url| !self.list_urls.contains(url)),
            );
        }
        urls
    }
}
