//! What an endpoint does that its file allows and that is a risk: weak algorithms, passwords that
//! can be read, trust in everybody.
//!
//! The one rule: a risk is one of what messages do under these plans, not of what a name suggests.

use jiff::Timestamp;
use soapstone_wss::{
    AttachmentProtection, IGNORED_CONFIRMATION, InboundPlan, KeyBinding, OutboundPlan, Part,
    PasswordKind, Policy, ProtectionOrder, SHORT_CIPHER_TEXT, Suite,
};

use super::compiled::Endpoint;
use super::plans::Directions;
use crate::config::{
    EndpointConfig, OF_PROFILE, Place, ReplayScope, SecurityConfig, SecuritySource,
    UnsecuredFaults, Warning,
};

impl<P: Directions> Endpoint<P> {
    /// The risks that this endpoint takes. `through_tls` says whether its messages come and go over
    /// TLS.
    #[expect(clippy::too_many_lines, reason = "one block for each risk")]
    pub fn risks(&self, config: &EndpointConfig, through_tls: bool) -> Vec<Warning> {
        let security = &config.security;
        let source = security.source.place;
        let suite = security.suite.as_ref().map(|suite| suite.place);
        let algorithms = security.algorithms.as_ref().map(|table| table.place);
        let algorithms = suite.or(algorithms).unwrap_or(source);
        let remedies = Remedies::of(security);
        let mut risks = Vec::new();
        let mut warn = |name: &'static str, place: Place, message: String, hint: &str| {
            let problem = config.problem(place, message).with_hint(hint);
            risks.push(Warning { name, problem });
        };
        let bootstrap = self.conversation.iter();
        let opening = bootstrap.clone().map(|one| one.bootstrap_inbound.policy());
        let securing = bootstrap.map(|one| one.bootstrap_outbound.policy());
        let reader = self.reader_of_answers().into_iter();
        let of_answers = reader.flat_map(Endpoint::inbound).map(InboundPlan::policy);
        let inbound: Vec<&Policy> = self
            .inbound()
            .map(InboundPlan::policy)
            .chain(opening)
            .chain(of_answers)
            .collect();
        let outbound = self.outbound().map(OutboundPlan::policy).chain(securing);
        let all: Vec<&Policy> = inbound.iter().copied().chain(outbound).collect();

        let mut weak: Vec<&'static str> =
            all.iter().flat_map(|policy| weak_in_use(policy)).collect();
        weak.sort_unstable();
        weak.dedup();
        let by_letter = all.iter().any(|policy| {
            let signs_by_sha1 = weak_in_use(policy)
                .iter()
                .any(|name| name.ends_with("-sha1"));
            policy.suite.name.contains("Sha256") && signs_by_sha1
        });
        if by_letter {
            let hint = match security.source.value {
                SecuritySource::Policy(_) => {
                    "where the peer signs with SHA-256, as WCF and many others do, say sha256_suites = \"sha256\""
                }
                SecuritySource::Mechanism(_) => {
                    "where the peer signs with SHA-256, say so: suite = \"Basic256Sha256+RsaSha256\""
                }
            };
            let message = "the `…Sha256` suite is read by the letter: signatures are SHA-1";
            warn("sha1-by-letter", algorithms, message.to_owned(), hint);
        } else if !weak.is_empty() {
            warn(
                "weak-algorithm",
                algorithms,
                format!("weak algorithms are used or accepted: {}", weak.join(", ")),
                &remedies.of_weak_algorithms(),
            );
        }
        if all.iter().any(|policy| has_malleable_cipher_text(policy)) {
            warn(
                "cbc",
                algorithms,
                "cipher text in CBC comes without an authentication around it: who can send messages may learn what captured ones hold"
                    .to_owned(),
                &remedies.of_cbc(),
            );
        }
        let allow = security.allow_short_cipher_text.as_ref();
        let signs = security.encryption.sign_session_key.as_ref();
        let time = security.time.as_ref();
        let now = time.map_or_else(Timestamp::now, |time| time.value);
        for (given, is_used, hint) in [
            (
                allow,
                all.iter().any(|policy| policy.risks_chosen_keys()),
                remedies.of_short_cipher_text("have the peer sign the `xenc:EncryptedKey`"),
            ),
            (
                signs,
                all.iter().any(|policy| policy.leaves_keys_unsigned()),
                remedies.of_short_cipher_text("leave `sign_session_key` out"),
            ),
        ] {
            if let Some(given) = given.filter(|_| is_used) {
                match end_of(security, SHORT_CIPHER_TEXT) {
                    None => warn(
                        SHORT_CIPHER_TEXT,
                        given.place,
                        "short cipher text is signed without its key: an attacker on the way can put another key there, and make it say something else"
                            .to_owned(),
                        &hint,
                    ),
                    Some(end) if end <= now => warn(
                        SHORT_CIPHER_TEXT,
                        given.place,
                        "`short-cipher-text` has ended: where its key is not signed, short cipher text is neither taken nor sent"
                            .to_owned(),
                        "leave this key out, and its end",
                    ),
                    Some(_) => {}
                }
            }
        }
        let encryption = config
            .inner
            .as_ref()
            .and_then(|inner| inner.encryption.as_ref());
        if let Some(encryption) = encryption {
            let weak = weak_in_cipher_text(self.inner.suites());
            if !weak.is_empty() {
                warn(
                    "weak-algorithm",
                    encryption.place,
                    format!(
                        "weak algorithms are used or accepted in `inner.encryption`: {}",
                        weak.join(", ")
                    ),
                    "take suite = \"Basic256GCM\" in `inner.encryption`",
                );
            }
            let mut data = self.inner.suites().flat_map(|suite| &suite.data);
            if data.any(|one| !one.is_authenticated()) {
                warn(
                    "cbc",
                    encryption.place,
                    "inner cipher text in CBC has no authentication of its own: a message of anybody who may send one can hold a changed copy"
                        .to_owned(),
                    "take a suite with GCM in `inner.encryption`",
                );
            }
        }
        let is_private = through_tls || self.private_transport;
        if !is_private && all.iter().any(|policy| shows_passwords(policy)) {
            let password = security.password.as_ref().map(|password| password.place);
            warn(
                "password-in-the-clear",
                password.unwrap_or(source),
                "passwords travel as text, and neither TLS nor encryption hides them".to_owned(),
                &remedies.of_passwords("use TLS, encrypt the UsernameToken"),
            );
        }
        if !is_private && all.iter().any(|policy| policy.password_keys().is_some()) {
            let keys = security.password_keys.as_ref().map(|keys| keys.place);
            warn(
                "keys-from-passwords",
                keys.unwrap_or(source),
                "anybody who sees a message can try passwords on it: keys are derived from them, and TLS does not hide it"
                    .to_owned(),
                "use TLS, and passwords that a program has drawn",
            );
        }
        let names_alone = |policy: &&Policy| {
            let username = policy.username();
            username.is_some_and(|it| it.passwords.contains(&PasswordKind::Absent))
        };
        if inbound.iter().copied().any(|policy| names_alone(&policy)) {
            let password = security.password.as_ref().map(|password| password.place);
            warn(
                "user-without-password",
                password.unwrap_or(source),
                "messages name a user without a password: nothing proves who it is but what signs the token"
                    .to_owned(),
                &remedies.of_passwords("sign the UsernameToken"),
            );
        }
        let attachments = security.attachments.as_ref();
        let absent = AttachmentProtection::Absent;
        if all.iter().any(|policy| policy.signature().is_some())
            && let Some(signed) = attachments.and_then(|given| given.signed.as_ref())
            && signed.value == absent
        {
            warn(
                "unsigned-attachments",
                signed.place,
                "attachments come and go without a signature: everybody on the way can write them"
                    .to_owned(),
                "say signed = \"content\", and have the peer sign all parts of its packages",
            );
        }
        if all.iter().any(|policy| policy.encrypts_of_body())
            && let Some(encrypted) = attachments.and_then(|given| given.encrypted.as_ref())
            && encrypted.value == absent
        {
            warn(
                "readable-attachments",
                encrypted.place,
                "the Body or some of it is encrypted, and attachments come and go as they are"
                    .to_owned(),
                "say encrypted = \"content\", and have the peer encrypt all parts of its packages",
            );
        }
        let uncovered = attachments.and_then(|given| given.uncovered.as_ref());
        if let Some(uncovered) = uncovered.filter(|uncovered| uncovered.value) {
            warn(
                "uncovered-attachments",
                uncovered.place,
                "parts of packages are passed on that nothing covers: anybody on the way can have put them there"
                    .to_owned(),
                "leave `uncovered` out, and have the peer sign all parts of its packages",
            );
        }
        let everybody = config
            .trust
            .as_ref()
            .filter(|trust| !trust.anchors.is_empty() && trust.subjects.is_empty());
        if let Some(trust) = everybody
            && inbound.iter().any(|policy| proves_certificates(policy))
        {
            warn(
                "no-subjects",
                trust.place,
                "whoever has a certificate of these authorities may sign: `subjects` names nobody in particular".to_owned(),
                "name the partners, subjects = [\"CN=…\"], or pin their certificates",
            );
        }
        let names = inbound.iter().any(|policy| policy.names_certificates());
        if matches!(security.source.value, SecuritySource::Policy(_))
            && names
            && !self.knows_certificates(config)
        {
            let trust = config.trust.as_ref().map(|trust| trust.place);
            warn(
                "named-certificate",
                trust.unwrap_or(source),
                "the policy has the peer's certificate named, and not sent: no name leads to a certificate here (`key-not-found`)"
                    .to_owned(),
                "give the peer's certificate: peer = { certificate = \"….pem\" }, or `pinned` in `trust`",
            );
        }
        if let Some(answers) = &config.answers {
            let by_tls = match is_private {
                true => "TLS alone protects them",
                false => "everybody on the way can write them",
            };
            let protection = answers.protection.as_ref().map(|given| given.place);
            if self.answers_prove_less() {
                warn(
                    "weaker-answers",
                    protection.unwrap_or(answers.place),
                    format!("answers prove less than requests: {by_tls}"),
                    "where the peer signs its answers, leave it out of `answers`",
                );
            }
            if let Some(faults) = &answers.unsecured_faults
                && faults.value != UnsecuredFaults::Code
            {
                warn(
                    "unsecured-faults",
                    faults.place,
                    format!("what unsecured faults say reaches clients: {by_tls}"),
                    "where the log is enough, which has their text always, leave it out",
                );
            }
        }
        let saml = config.saml.as_ref();
        let accepted = saml.and_then(|saml| saml.by_reference.as_ref());
        let accepted = accepted.filter(|wanted| wanted.allow_bearer);
        let sent = saml.and_then(|saml| saml.send_by_reference.as_ref());
        let sent = sent.filter(|wanted| wanted.allow_bearer);
        let places = accepted.map(|it| it.place).into_iter();
        for place in places.chain(sent.map(|it| it.place)) {
            warn(
                "bearer-by-reference",
                place,
                "whoever knows the id of a bearer's assertion is its subject: the id is a password"
                    .to_owned(),
                "take confirmation = [\"holder-of-key\"], where the peer has a key",
            );
        }
        let ignored = saml.and_then(|saml| saml.ignore_confirmation.as_ref());
        if let Some(ignored) = ignored.filter(|it| !it.value.is_empty()) {
            match end_of(security, IGNORED_CONFIRMATION) {
                None => warn(
                    IGNORED_CONFIRMATION,
                    ignored.place,
                    "what an issuer says of the way of its subject is not compared: whoever has a captured assertion may show it from elsewhere"
                        .to_owned(),
                    "have the issuer leave it out for this service; or say with `allow_weak_until` when it ends",
                ),
                Some(end) if end <= now => warn(
                    IGNORED_CONFIRMATION,
                    ignored.place,
                    "`ignored-confirmation` has ended: assertions whose confirmation says such things are refused"
                        .to_owned(),
                    "leave this key out, and its end",
                ),
                Some(_) => {}
            }
        }
        for remark in &self.remarks {
            warn(
                remark.name,
                remark.place,
                remark.message.clone(),
                remark.hint,
            );
        }
        let replay = security.replay.as_ref();
        let says_to = security
            .addressing
            .as_ref()
            .is_some_and(|addressing| !addressing.to.is_empty());
        if let Some(replay) = replay
            && replay.scope == ReplayScope::Route
            && !says_to
        {
            warn(
                "replay-by-route",
                replay.place,
                "a message that another route accepted is accepted here as well: nothing tells whom it was for"
                    .to_owned(),
                "demand who it is for, addressing = { to = [\"…\"] }, and that it is signed; or leave `scope` out",
            );
        }
        risks
    }
}

impl<P: Directions> Endpoint<P> {
    /// Whether the file has a certificate of a peer, which messages may name.
    fn knows_certificates(&self, config: &EndpointConfig) -> bool {
        let mut inbound = self.inbound();
        config.peer.is_some() || inbound.any(InboundPlan::knows_certificates)
    }
}

/// What an operator can change: the keys of the endpoint file, or where a policy file decides,
/// that.
enum Remedies {
    /// A policy file, by its path.
    Policy(String),
    /// The policy of a profile, which is no file of the operator's.
    Profile(String),
    /// `algorithms` in the place of a suite.
    Algorithms,
    /// A mechanism, with a suite.
    Suite,
}

impl Remedies {
    fn of(security: &SecurityConfig) -> Self {
        match &security.source.value {
            SecuritySource::Policy(file) => match file.path.display().to_string() {
                name if name.starts_with(OF_PROFILE) => Self::Profile(name),
                path => Self::Policy(path),
            },
            SecuritySource::Mechanism(_) if security.algorithms.is_some() => Self::Algorithms,
            SecuritySource::Mechanism(_) => Self::Suite,
        }
    }

    fn of_weak_algorithms(&self) -> String {
        let stronger = match self {
            Self::Policy(file) => format!("change `sp:AlgorithmSuite` in {file}"),
            Self::Profile(name) => format!("write a policy of your own in the place of {name}"),
            Self::Algorithms => "name others in `algorithms`".to_owned(),
            Self::Suite => "take suite = \"Basic256GCM\"".to_owned(),
        };
        format!("{stronger}, or say with `allow_weak_until` when they end")
    }

    /// A suite with GCM.
    fn with_gcm(&self) -> String {
        match self {
            Self::Policy(file) => {
                format!("change `sp:AlgorithmSuite` in {file} to a suite with GCM")
            }
            Self::Profile(name) => {
                format!("write a policy with a suite with GCM in the place of {name}")
            }
            Self::Algorithms => "take `data` with GCM in `algorithms`".to_owned(),
            Self::Suite => "take a suite with GCM".to_owned(),
        }
    }

    fn of_cbc(&self) -> String {
        let order = match self {
            Self::Policy(_) | Self::Profile(_) => "`sp:EncryptBeforeSigning` there",
            Self::Algorithms | Self::Suite => "mechanism = \"encrypt-sign\"",
        };
        format!(
            "{}; else {order}, where the peer has to sign the `xenc:EncryptedKey` of short texts as well",
            self.with_gcm()
        )
    }

    fn of_short_cipher_text(&self, otherwise: &str) -> String {
        let order = match self {
            Self::Policy(_) | Self::Profile(_) => "leave `sp:EncryptBeforeSigning` out there",
            Self::Algorithms | Self::Suite => "take \"sign-encrypt\"",
        };
        format!(
            "{}, {order}, or {otherwise}; or say with `allow_weak_until` when it ends",
            self.with_gcm()
        )
    }

    fn of_passwords(&self, protection: &str) -> String {
        match self {
            Self::Policy(file) => format!("{protection}, or say `sp:HashPassword` in {file}"),
            Self::Profile(_) => protection.to_owned(),
            Self::Algorithms | Self::Suite => {
                format!("{protection}, or say password = \"digest\"")
            }
        }
    }
}

/// Weak algorithms that such messages use or may use, without those that have an end.
fn weak_in_use(policy: &Policy) -> Vec<&'static str> {
    let suite = &policy.suite;
    let mut weak = Vec::new();
    let by_certificate = policy.uses(KeyBinding::Certificate)
        || policy.endorsing_beside().any(|one| !one.key.is_secret());
    let signs = policy.signature().is_some() || policy.endorsing_beside().next().is_some();
    if signs {
        let signatures = match by_certificate {
            true => suite.signature.as_slice(),
            false => suite.symmetric_signature.as_slice(),
        };
        let found = signatures.iter().filter(|one| one.is_weak());
        weak.extend(found.map(|one| one.short_name()));
        let found = suite.digest.iter().filter(|one| one.is_weak());
        weak.extend(found.map(|one| one.short_name()));
    }
    if let Some(encryption) = policy.encryption() {
        let found = suite.data.iter().filter(|one| one.is_weak());
        weak.extend(found.map(|one| one.short_name()));
        if matches!(
            encryption.key,
            KeyBinding::Certificate | KeyBinding::SessionKey
        ) {
            let transports = suite.key_transport.iter().map(|method| method.algorithm);
            let found = transports.filter(|one| one.is_weak());
            weak.extend(found.map(|one| one.short_name()));
        }
    }
    let ends = |name: &&str| policy.retirements.iter().any(|end| end.algorithm == *name);
    weak.retain(|name| !ends(name));
    weak
}

/// Weak algorithms that cipher text with a key of its own uses or may use.
fn weak_in_cipher_text<'s>(suites: impl Iterator<Item = &'s Suite>) -> Vec<&'static str> {
    let mut weak = Vec::new();
    for suite in suites {
        let data = suite.data.iter().filter(|one| one.is_weak());
        weak.extend(data.map(|one| one.short_name()));
        let transports = suite.key_transport.iter().map(|method| method.algorithm);
        let transports = transports.filter(|one| one.is_weak());
        weak.extend(transports.map(|one| one.short_name()));
    }
    weak.sort_unstable();
    weak.dedup();
    weak
}

/// Whether cipher text that a stranger can change unnoticed is deciphered: under CBC, where no
/// signature is over the cipher text.
fn has_malleable_cipher_text(policy: &Policy) -> bool {
    let parts = policy.encrypted_parts();
    let signed = policy.signed_parts();
    let is_signed = |part: &Part| signed.contains(part);
    let is_around = policy.order() == ProtectionOrder::EncryptBeforeSigning
        && parts.iter().all(|wanted| is_signed(&wanted.part));
    !parts.is_empty() && !is_around && policy.suite.data.iter().any(|one| !one.is_authenticated())
}

/// From when on a weak choice with this name is made no more.
fn end_of(security: &SecurityConfig, name: &str) -> Option<Timestamp> {
    let mut ends = security.allow_weak_until.iter();
    let end = ends.find(|end| end.algorithm.value == name)?;
    Some(end.until.value)
}

fn shows_passwords(policy: &Policy) -> bool {
    let as_text = policy
        .username()
        .is_some_and(|username| username.passwords.contains(&PasswordKind::Text));
    as_text && !policy.encrypts(&Part::UsernameToken)
}

fn proves_certificates(policy: &Policy) -> bool {
    let signature = policy.signature().map(|signature| signature.key);
    let mut endorsing = policy.endorsing_beside().map(|one| one.key.kind());
    signature == Some(KeyBinding::Certificate)
        || endorsing.any(|key| key == KeyBinding::Certificate)
}
