//! The `[answers]` table: what an answer must prove, or gets, where that differs from requests.
//!
//! The rule kept here: without the table, answers are protected as requests are.

use soapstone_wss::{EncryptedPart, KeyReference, Mechanism, Part};

use super::key_naming::{EncryptionNaming, SignatureNaming, key_reference};
use super::nodes::{RecipientConfig, actor, read_recipients};
use super::parts::{read_encrypted, read_signed};
use super::problem::{Located, Place};
use super::security::{
    AlgorithmsConfig, SecurityConfig, SecuritySource, TimestampConfig, read_suite, read_timestamp,
};
use super::shared_key::{self, SharedKeyConfig};
use super::table::Table;
use super::trust::{TrustConfig, read_trust};

/// `mechanism` of `[answers]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerProtection {
    /// Nothing protects answers.
    Plain,
    /// Answers have a `wsu:Timestamp` that nothing signs. One that arrives may have none, or no
    /// Security header.
    Timestamp,
    /// A preset.
    Mechanism(Mechanism),
}

impl AnswerProtection {
    /// Every choice, by its name. A user's password and the key of a conversation prove the sender
    /// of requests, so `username` and `secure-conversation` protect no answers alone.
    const CHOICES: [(&'static str, Self); 6] = [
        ("plain", Self::Plain),
        ("timestamp", Self::Timestamp),
        (Mechanism::Sign.name(), Self::Mechanism(Mechanism::Sign)),
        (
            Mechanism::Encrypt.name(),
            Self::Mechanism(Mechanism::Encrypt),
        ),
        (
            Mechanism::SignEncrypt.name(),
            Self::Mechanism(Mechanism::SignEncrypt),
        ),
        (
            Mechanism::EncryptSign.name(),
            Self::Mechanism(Mechanism::EncryptSign),
        ),
    ];
}

/// How much of a fault that its sender did not secure the client is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnsecuredFaults {
    /// The local name of its code.
    #[default]
    Code,
    /// The code, and the text of its reason.
    Reason,
    /// The fault, as it came.
    All,
}

/// The `[answers]` table.
#[derive(Clone, Debug)]
pub struct AnswersConfig {
    /// Where the table begins.
    pub place: Place,
    /// What protects answers; `None` for the mechanism of requests.
    pub protection: Option<Located<AnswerProtection>>,
    /// Name of an algorithm suite.
    pub suite: Option<Located<String>>,
    /// Algorithms listed one by one.
    pub algorithms: Option<AlgorithmsConfig>,
    /// Signed parts.
    pub signed: Option<Vec<Located<Part>>>,
    /// Encrypted parts.
    pub encrypted: Option<Vec<Located<EncryptedPart>>>,
    /// How keys are pointed to.
    pub key_reference: Option<Located<KeyReference>>,
    /// Timestamp settings.
    pub timestamp: Option<Located<TimestampConfig>>,
    /// How much of unsecured faults is passed on.
    pub unsecured_faults: Option<Located<UnsecuredFaults>>,
    /// Whether answers that prove less than requests may come and go without TLS.
    pub without_tls: Option<Located<bool>>,
    /// The nodes on the way of answers, in the order in which an answer reaches them.
    pub recipients: Vec<RecipientConfig>,
    /// Whom a node on the way believes of answers, where it is not whom it believes of requests.
    pub trust: Option<TrustConfig>,
    /// The key that a node on the way and the service hold, in the place of certificates. That of
    /// requests is of the node and the client.
    pub shared_key: Option<SharedKeyConfig>,
    /// The actor or role of the header that a node on the way reads in answers, where it is not
    /// that of requests.
    pub role: Option<Located<String>>,
}

impl AnswersConfig {
    /// Reads the table to its end.
    pub(super) fn read(mut table: Table<'_>) -> Self {
        let place = table.place();
        let protection = table.choice("mechanism", &AnswerProtection::CHOICES);
        let (suite, algorithms) = read_suite(&mut table);
        let signed = read_signed(&mut table);
        let encrypted = read_encrypted(&mut table);
        let key_reference = key_reference(&mut table);
        let timestamp = read_timestamp(&mut table);
        let unsecured_faults = table.choice(
            "unsecured_faults",
            &[
                ("code", UnsecuredFaults::Code),
                ("reason", UnsecuredFaults::Reason),
                ("all", UnsecuredFaults::All),
            ],
        );
        let without_tls = table.boolean("without_tls");
        let recipients = read_recipients(&mut table);
        let trust = table.table("trust").map(read_trust);
        let shared_key = table.table("shared_key").and_then(shared_key::read);
        let role = table.string("role");
        let role = role.and_then(|role| actor(&table, "role", role));
        let answers = Self {
            place,
            protection,
            suite,
            algorithms,
            signed,
            encrypted,
            key_reference,
            timestamp,
            unsecured_faults,
            without_tls,
            recipients,
            trust,
            shared_key,
            role,
        };
        answers.refuse_what_nothing_uses(&table);
        table.finish();
        answers
    }

    /// Reports what is said of answers that a node on the way does not read, or of keys that it
    /// alone has.
    pub(super) fn check_readers(&self, table: &Table<'_>, is_intermediary: bool) {
        if !is_intermediary {
            let trust = self.trust.as_ref().map(|it| it.place);
            let role = self.role.as_ref().map(|it| it.place);
            let shared_key = self.shared_key.as_ref().map(|it| it.place);
            for (key, place) in [("trust", trust), ("role", role), ("shared_key", shared_key)] {
                if let Some(place) = place {
                    table.report_with_hint(
                        place,
                        format!("`{key}` of `answers` is for a node on the way, which reads messages of both sides"),
                        "leave it out",
                    );
                }
            }
            return;
        }
        let said = self.protection.as_ref();
        if !matches!(
            said.map(|it| it.value),
            Some(AnswerProtection::Mechanism(_))
        ) {
            table.report_with_hint(
                said.map_or(self.place, |it| it.place),
                "`answers` of a node on the way says what is for this node, and nothing is signed or encrypted for it",
                "say what answers have for it, mechanism = \"sign\" for example; or leave `answers` out, and they pass as they come",
            );
        }
        if let (Some(trust), Some(key)) = (&self.trust, &self.shared_key) {
            let message = "both `trust` and `shared_key` of `answers` are given";
            let hint = "keep `trust` where certificates sign answers, and `shared_key` where a key does that the service holds, too";
            table.report_with_hint(trust.place.max(key.place), message, hint);
        }
        let first = self.recipients.first().map(|it| it.place);
        let reference = self.key_reference.as_ref().map(|it| it.place);
        let faults = self.unsecured_faults.as_ref().map(|it| it.place);
        let without_tls = self.without_tls.as_ref().map(|it| it.place);
        for (key, place) in [
            ("recipients", first),
            ("key_reference", reference),
            ("unsecured_faults", faults),
            ("without_tls", without_tls),
        ] {
            if let Some(place) = place {
                table.report_with_hint(
                    place,
                    format!("`{key}` is of answers that leave a service or reach a client, and a node on the way only reads them"),
                    "leave it out",
                );
            }
        }
    }

    /// Reports keys that say how answers are signed or encrypted, where they are neither.
    fn refuse_what_nothing_uses(&self, table: &Table<'_>) {
        let unprotected = match self.protection.as_ref().map(|given| given.value) {
            Some(AnswerProtection::Plain) => "plain",
            Some(AnswerProtection::Timestamp) => "timestamp",
            _ => return,
        };
        for (key, place) in self.of_keys() {
            if let Some(place) = place {
                let message = format!(
                    "`{key}` is given, and mechanism = \"{unprotected}\" signs and encrypts nothing"
                );
                table.report_with_hint(
                    place,
                    message,
                    "leave it out, or name a mechanism that does",
                );
            }
        }
        if let (Some(timestamp), "plain") = (&self.timestamp, unprotected) {
            table.report_with_hint(
                timestamp.place,
                "`timestamp` is given, and plain answers have none",
                "say mechanism = \"timestamp\" for answers with nothing but a Timestamp",
            );
        }
    }

    /// The keys that say how answers are signed and encrypted, with the places of those that are
    /// given.
    pub(crate) fn of_keys(&self) -> [(&'static str, Option<Place>); 5] {
        let suite = self.suite.as_ref().map(|suite| suite.place);
        let algorithms = self.algorithms.as_ref().map(|table| table.place);
        let reference = self.key_reference.as_ref().map(|reference| reference.place);
        fn of_list<T>(
            key: &'static str,
            list: Option<&Vec<Located<T>>>,
        ) -> (&'static str, Option<Place>) {
            let first = list.and_then(|parts| parts.first());
            (key, first.map(|part| part.place))
        }
        [
            ("suite", suite),
            ("algorithms", algorithms),
            of_list("signed", self.signed.as_ref()),
            of_list("encrypted", self.encrypted.as_ref()),
            ("key_reference", reference),
        ]
    }

    /// Whether answers are protected in another way than requests.
    pub(crate) fn changes_protection(&self) -> bool {
        self.protection.is_some()
            || self.timestamp.is_some()
            || self.of_keys().iter().any(|(_, place)| place.is_some())
    }

    /// The `[security]` table with what this one says in the place of it. A mechanism of its own
    /// has parts of its own.
    pub(crate) fn instead_of(
        &self,
        security: &SecurityConfig,
        mechanism: Mechanism,
    ) -> SecurityConfig {
        let mut changed = security.clone();
        if let Some(protection) = &self.protection {
            let source = SecuritySource::Mechanism(mechanism);
            changed.source = Located {
                value: source,
                place: protection.place,
            };
            changed.signed = None;
            changed.encrypted = None;
            changed.header_order = None;
            // What is said of a key of requests is nothing to answers without such a key.
            if !mechanism.signs() {
                changed.signature = SignatureNaming::default();
                changed.several_signatures = None;
            }
            if !mechanism.encrypts() {
                changed.encryption = EncryptionNaming::default();
            }
        }
        if self.suite.is_some() || self.algorithms.is_some() {
            changed.suite.clone_from(&self.suite);
            changed.algorithms.clone_from(&self.algorithms);
        }
        if let Some(signed) = &self.signed {
            changed.signed = Some(signed.clone());
        }
        if let Some(encrypted) = &self.encrypted {
            changed.encrypted = Some(encrypted.clone());
        }
        if let Some(reference) = &self.key_reference {
            changed.key_reference = Some(reference.clone());
        }
        if let Some(timestamp) = &self.timestamp {
            changed.timestamp = Some(timestamp.clone());
        }
        changed
    }
}
