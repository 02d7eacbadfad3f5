//! What an endpoint uses that holds for a time only: certificates and revocation lists, what for,
//! and whether the clock agrees with them.
//!
//! The rule kept here: an endpoint tells and whoever runs it warns. Nothing is refused here: others
//! decide what they still accept of us, and whom we believe is decided message by message.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use soapstone_crypto::Certificate;
use soapstone_crypto::trust::RevocationListFacts;

/// How long before its end a certificate or a list is told of: a month, as long as some authorities
/// take to issue the next; but not before two thirds of its life are over, as those of few days are
/// replaced by machines.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What a certificate or a revocation list is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MaterialUse {
    /// It says who we are, or stands between that and an authority.
    Identity,
    /// Messages are encrypted to it, where that is not [`Self::Identity`].
    Decryption,
    /// It says who endorses, where that is not [`Self::Identity`].
    Endorsing,
    /// It says who signs elements of the Body by themselves, where that is not
    /// [`Self::Identity`].
    Inner,
    /// Elements of the Body are encrypted to it by themselves, where that is not
    /// [`Self::Decryption`].
    InnerDecryption,
    /// It says who issues assertions.
    Issuing,
    /// We encrypt to it.
    Peer,
    /// It is believed as it is.
    Pinned,
    /// A path to it is believed.
    Anchor,
    /// It says which certificates are not believed any more.
    Revocation,
    /// It is shown while a connection is made.
    Tls,
}

impl MaterialUse {
    /// The key of the configuration that names such a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Decryption => "identity.decryption",
            Self::Endorsing => "identity.endorsing",
            Self::Inner => "inner.identity",
            Self::InnerDecryption => "inner.encryption.identity",
            Self::Issuing => "sts.identity",
            Self::Peer => "peer",
            Self::Pinned => "trust.pinned",
            Self::Anchor => "trust.anchors",
            Self::Revocation => "trust.crls",
            Self::Tls => "tls",
        }
    }
}

/// A certificate or a revocation list that is used, and the file that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiringFile {
    usage: MaterialUse,
    file: PathBuf,
    /// The subject of a certificate, the issuer of a list.
    name: String,
    first: Timestamp,
    last: Option<Timestamp>,
    certificate: Option<Certificate>,
}

impl ExpiringFile {
    /// A certificate of a file.
    pub fn certificate(usage: MaterialUse, file: &Path, certificate: &Certificate) -> Self {
        Self {
            usage,
            file: file.to_path_buf(),
            name: certificate.subject_name().to_string(),
            first: certificate.not_before(),
            last: Some(certificate.not_after()),
            certificate: Some(certificate.clone()),
        }
    }

    /// The revocation list of a file.
    pub fn revocation_list(file: &Path, list: RevocationListFacts) -> Self {
        Self {
            usage: MaterialUse::Revocation,
            file: file.to_path_buf(),
            name: list.issuer,
            first: list.this_update,
            last: list.next_update,
            certificate: None,
        }
    }

    /// What it is there for.
    pub fn usage(&self) -> MaterialUse {
        self.usage
    }

    /// The file that it stands in.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The certificate, if it is one.
    pub fn certificate_itself(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Last moment of validity; for a revocation list, when the next one is due, if it says so.
    pub fn last(&self) -> Option<Timestamp> {
        self.last
    }

    /// What the operator should know at that moment: that it has expired, will soon, or is not
    /// valid yet.
    pub fn warning(&self, now: Timestamp) -> Option<String> {
        let validity = self.validity(now)?;
        let (file, name) = (self.file.display(), &self.name);
        Some(match self.usage {
            MaterialUse::Revocation => {
                format!("`{file}`, the revocation list of `{name}`, {validity}")
            }
            _ => format!("`{file}` of `{name}` {validity}"),
        })
    }

    fn validity(&self, now: Timestamp) -> Option<String> {
        let is_list = self.usage == MaterialUse::Revocation;
        if now < self.first {
            return Some(format!("is valid only from {}", self.first));
        }
        let last = self.last?;
        let soon = SOON.min(last.duration_since(self.first) / 3);
        if last < now && is_list {
            let all = "every certificate of that issuer is refused until there is a newer one";
            Some(format!("is out of date since {last}: {all}"))
        } else if last < now {
            Some(format!("expired at {last}"))
        } else if last.duration_since(now) <= soon {
            Some(format!("expires at {last}"))
        } else {
            None
        }
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

    fn used(not_before: &str, not_after: &str) -> ExpiringFile {
        let validity = Validity {
            not_before: moment(not_before),
            not_after: moment(not_after),
        };
        let template = Template::new("CN=service,O=Example", validity).expect("a name");
        let key = PrivateKey::generate(KeyKind::Ed25519).expect("a key");
        let identity = issue::self_signed(key, &template).expect("a certificate");
        ExpiringFile::certificate(
            MaterialUse::Identity,
            Path::new("service.cert.pem"),
            identity.certificate(),
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

    #[test]
    fn a_list_past_its_next_update_is_told_of_with_what_comes_of_it() {
        let list = |next_update: Option<&str>| {
            let facts = RevocationListFacts {
                issuer: "CN=ca".to_owned(),
                this_update: moment("2026-01-01T00:00:00Z"),
                next_update: next_update.map(moment),
            };
            ExpiringFile::revocation_list(Path::new("ca.crl.pem"), facts)
        };
        let weekly = list(Some("2026-01-08T00:00:00Z"));
        for (now, expected) in [
            (
                "2025-12-31T00:00:00Z",
                Some("is valid only from 2026-01-01T00:00:00Z"),
            ),
            ("2026-01-05T00:00:00Z", None),
            (
                "2026-01-06T00:00:00Z",
                Some("expires at 2026-01-08T00:00:00Z"),
            ),
            (
                "2026-01-08T00:00:01Z",
                Some(
                    "is out of date since 2026-01-08T00:00:00Z: every certificate of that issuer is refused until there is a newer one",
                ),
            ),
        ] {
            let expected = expected
                .map(|rest| format!("`ca.crl.pem`, the revocation list of `CN=ca`, {rest}"));
            assert_eq!(weekly.warning(moment(now)), expected, "{now}");
        }
        assert_eq!(list(None).warning(moment("2099-01-01T00:00:00Z")), None);
    }
}
