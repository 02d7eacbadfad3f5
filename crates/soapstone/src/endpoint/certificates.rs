//! The certificates that an endpoint uses, what for, and whether the clock agrees with them.
//!
//! The rule kept here: an endpoint tells and whoever runs it warns. Nothing is refused, since others decide what they still accept of us.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use soapstone_crypto::Certificate;

/// How long before its end a certificate is told of: a month, as long as some authorities take to issue the next; but not before two thirds of
/// its life are over, as those of few days are replaced by machines.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What a certificate is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CertificateUse {
    /// It says who we are, or stands between that and an authority.
    Identity,
    /// Messages are encrypted to it, where that is not [`Self::Identity`].
    Decryption,
    /// We encrypt to it.
    Peer,
    /// It is believed as it is.
    Pinned,
    /// A path to it is believed.
    Anchor,
    /// It is shown while a connection is made.
    Tls,
}

impl CertificateUse {
    /// The key of the configuration that names such a certificate.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Decryption => "identity.decryption",
            Self::Peer => "peer",
            Self::Pinned => "trust.pinned",
            Self::Anchor => "trust.anchors",
            Self::Tls => "tls",
        }
    }
}

/// A certificate that is used, and the file that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedCertificate {
    usage: CertificateUse,
    file: PathBuf,
    certificate: Certificate,
}

impl UsedCertificate {
    /// A certificate of a file.
    pub fn new(usage: CertificateUse, file: &Path, certificate: Certificate) -> Self {
        Self {
            usage,
            file: file.to_path_buf(),
            certificate,
        }
    }

    /// What it is there for.
    pub fn usage(&self) -> CertificateUse {
        self.usage
    }

    /// Last moment of validity.
    pub fn not_after(&self) -> Timestamp {
        self.certificate.not_after()
    }

    /// What the operator should know at that moment: that it has expired, will soon, or is not valid yet.
    pub fn warning(&self, now: Timestamp) -> Option<String> {
        let (first, last) = (self.certificate.not_before(), self.certificate.not_after());
        let soon = SOON.min(last.duration_since(first) / 3);
        let validity = if last < now {
            format!("expired at {last}")
        } else if now < first {
            format!("is valid only from {first}")
        } else if last.duration_since(now) <= soon {
            format!("expires at {last}")
        } else {
            return None;
        };
        Some(format!(
            "`{}` of `{}` {validity}",
            self.file.display(),
            self.certificate.subject_name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::issue::{self, Template, Validity};
    use soapstone_crypto::{KeyKind, PrivateKey};

    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().expect("a moment")
    }

    fn used(not_before: &str, not_after: &str) -> UsedCertificate {
        let validity = Validity {
            not_before: moment(not_before),
            not_after: moment(not_after),
        };
        let template = Template::new("CN=service,O=Example", validity).expect("a name");
        let key = PrivateKey::generate(KeyKind::Ed25519).expect("a key");
        let identity = issue::self_signed(key, &template).expect("a certificate");
        UsedCertificate::new(
            CertificateUse::Identity,
            Path::new("service.cert.pem"),
            identity.certificate().clone(),
        )
    }

    #[test]
    fn a_certificate_of_few_days_is_told_of_in_the_last_third_of_its_life() {
        let used = used("2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z");
        for (now, expected) in [
            ("2026-01-01T00:00:00Z", false),
            ("2026-01-02T23:59:59Z", false),
            ("2026-01-03T00:00:00Z", true),
            ("2026-01-04T00:00:01Z", true),
        ] {
            assert_eq!(used.warning(moment(now)).is_some(), expected, "{now}");
        }
    }

    #[test]
    fn a_certificate_is_told_of_before_its_time_in_its_last_month_and_afterwards() {
        let used = used("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        let told = |now| used.warning(moment(now));
        for (now, expected) in [
            (
                "2025-12-31T23:59:59Z",
                Some("is valid only from 2026-01-01T00:00:00Z"),
            ),
            ("2026-01-01T00:00:00Z", None),
            ("2026-12-01T23:59:59Z", None),
            (
                "2026-12-02T00:00:00Z",
                Some("expires at 2027-01-01T00:00:00Z"),
            ),
            (
                "2027-01-01T00:00:00Z",
                Some("expires at 2027-01-01T00:00:00Z"),
            ),
            (
                "2027-01-01T00:00:01Z",
                Some("expired at 2027-01-01T00:00:00Z"),
            ),
        ] {
            let expected =
                expected.map(|rest| format!("`service.cert.pem` of `CN=service,O=Example` {rest}"));
            assert_eq!(told(now), expected, "{now}");
        }
    }
}
