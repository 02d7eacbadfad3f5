//! From the `[saml]` table to what plans accept of assertions, and to the one that they send.
//!
//! The rule kept here: requests have assertions, answers have none. What is said of them for one
//! direction changes nothing in the other.

use std::sync::Arc;
use std::time::Duration;

use soapstone_crypto::{DigestAlgorithm, HolderName, SignatureAlgorithm, SymmetricKey, base64};
use soapstone_wss::{
    AssertionIssuer, AssertionPolicy, AssertionProtection, AssertionReference, AssertionToken,
    Binding, ConfirmationMethod, ConfirmationPart, KeyBinding, KeyReference, Part, Policy,
    SamlVersion, SupportingToken, SymmetricBinding, SymmetricToken,
};

use super::compiler::Compiler;
use super::kerberos_policy::derivation;
use super::role::Role;
use crate::config::{Located, OTHER_TEXT, Place, SamlConfig, TrustConfig};

impl Compiler<'_> {
    /// Adds the assertion of requests to their policy, as the file has it; of a conversation, to
    /// that of its bootstrap.
    pub(super) fn add_assertion(&mut self, policy: &mut Policy, role: Role) {
        let Some(config) = &self.config.saml else {
            return;
        };
        self.protect_with_proof_key(config, policy);
        self.check_source_of_proof_key(config, policy, role);
        let accepted = self.accepted(config, policy, role);
        let is_tied = accepted.protection == AssertionProtection::Signature
            && !accepted.accepts(ConfirmationMethod::HolderOfKey);
        let covers = policy.parts.signed.contains(&Part::Assertion);
        if is_tied && !covers && policy.binding.signs() {
            policy.parts.signed.push(Part::Assertion);
        }
        policy.supporting.push(SupportingToken::Assertion(accepted));
    }

    /// Compares what the file says of the holder's key with what a policy file has.
    fn check_proof_key(&mut self, config: &SamlConfig, policy: &Policy, role: Role) {
        let is_symmetric = policy.uses_proof_key();
        let said = config
            .symmetric
            .as_ref()
            .filter(|it| it.value != is_symmetric);
        if let Some(said) = said {
            self.report_with_hint(
                said.place,
                "`holder_key` is given, and the policy has a holder's key of the other kind",
                "leave it out",
            );
        }
        if let Some(derived) = &config.derived_keys {
            self.report_with_hint(
                derived.place,
                "`derived_keys` is given beside a policy, which says how keys are derived",
                "leave it out",
            );
        }
        let sends = matches!(role, Role::Client | Role::Secure);
        if is_symmetric && sends && config.assertion.is_some() && config.proof_key.is_none() {
            self.report_with_hint(config.place, PROOF_KEY_MISSING, PROOF_KEY_HINT);
        }
    }

    /// Refuses a symmetric key that this side would not know: nobody tells it the key beside an
    /// assertion of a request.
    fn check_source_of_proof_key(&mut self, config: &SamlConfig, policy: &Policy, role: Role) {
        let sends = matches!(role, Role::Client | Role::Secure);
        if policy.uses_proof_key() && sends && config.from_request {
            self.report_with_hint(
                config.place,
                "messages are under the symmetric key of an assertion, and the assertion comes without that key",
                "name files, assertion = \"assertion.xml\" and proof_key_file = \"proof.key\", or a token_service",
            );
        }
    }

    /// Protects messages with the symmetric key of the assertion's holder, where the file says so.
    fn protect_with_proof_key(&mut self, config: &SamlConfig, policy: &mut Policy) {
        let symmetric = config.symmetric.as_ref().filter(|it| it.value);
        if let (Some(derived), None) = (&config.derived_keys, symmetric) {
            self.report_with_hint(
                derived.place,
                "`derived_keys` is given, and keys are derived from a symmetric key alone",
                "leave it out, or say holder_key = \"symmetric\"",
            );
        }
        let Some(symmetric) = symmetric else {
            if let Some(key) = &config.proof_key {
                self.report_with_hint(
                    key.place,
                    "`proof_key` is given, and the holder's key is a public one",
                    "say holder_key = \"symmetric\", or leave it out",
                );
            }
            return;
        };
        let by_certificate = policy.signs_with() == Some(KeyBinding::Certificate);
        if !by_certificate || policy.endorsing().next().is_some() {
            self.report_with_hint(
                symmetric.place,
                "the symmetric key of an assertion's holder signs messages, and this mechanism has another key or none",
                "take mechanism = \"sign\", \"sign-encrypt\" or \"encrypt-sign\", without shared_key and password_keys",
            );
            return;
        }
        if config.confirmation != [ConfirmationMethod::HolderOfKey] {
            self.report_with_hint(
                symmetric.place,
                "the key of an assertion's holder is the key of messages, and other confirmations are accepted",
                "confirmation = [\"holder-of-key\"]",
            );
        }
        let signature = policy.signature();
        let by_place = signature.is_some_and(|it| it.reference == KeyReference::Direct);
        let derives = config.derived_keys.as_ref().is_none_or(|it| it.value);
        let derived_keys = derives.then(|| derivation(policy));
        policy.binding = Binding::Symmetric(SymmetricBinding {
            key: SymmetricToken::Assertion { by_place },
            derived_keys,
            order: policy.order(),
        });
    }

    /// Fills in the assertion that a policy file wants: whose it may be, and for whom. Where the
    /// policy has its holder sign, no other confirmation will do.
    pub(super) fn fill_assertion(&mut self, policy: &mut Policy, role: Role) {
        let Some(wanted) = policy.assertion().cloned() else {
            return;
        };
        let Some(config) = &self.config.saml else {
            let place = self.config.security.source.place;
            self.report_with_hint(
                place,
                "the policy wants an assertion, and nothing is said of one",
                "say which are accepted, or which is sent: saml = { … }",
            );
            return;
        };
        let accepted = self.accepted(config, policy, role);
        let holder_of_key = ConfirmationMethod::HolderOfKey;
        // Beside a certificate of the client, a bearer's assertion would be anybody's.
        let is_held = wanted.methods == [holder_of_key];
        if is_held && !accepted.accepts(holder_of_key) {
            self.report_with_hint(
                config.place,
                "the policy has the holder of the assertion sign, or show its key by the connection, and `confirmation` does not name it",
                "confirmation = [\"holder-of-key\"]",
            );
        }
        self.check_proof_key(config, policy, role);
        self.check_source_of_proof_key(config, policy, role);
        let mut versions = wanted.versions;
        if let Some(named) = &config.versions {
            versions.retain(|version| named.contains(version));
        }
        if versions.is_empty() {
            self.report_with_hint(
                config.place,
                "the policy wants an assertion of a version that `versions` does not name",
                "leave `versions` out",
            );
        }
        let filled = AssertionPolicy {
            versions,
            methods: match is_held {
                true => vec![holder_of_key],
                false => accepted.methods,
            },
            holder: wanted.holder,
            protection: match config.protection {
                Some(_) => accepted.protection,
                None => wanted.protection,
            },
            ..accepted
        };
        let mut tokens = policy.supporting.iter_mut();
        if let Some(token) = tokens.find(|one| one.assertion().is_some()) {
            *token = SupportingToken::Assertion(filled);
        }
    }

    /// Whether messages are refused whose assertion a token service cancelled.
    pub(super) fn refuses_cancelled(&mut self, role: Role) -> bool {
        let Some(config) = &self.config.saml else {
            return false;
        };
        let Some(refused) = config.refuse_cancelled.as_ref().filter(|it| it.value) else {
            return false;
        };
        if !matches!(role, Role::Service | Role::Open) {
            self.report_with_hint(
                refused.place,
                "`refuse_cancelled` is for those who accept assertions, and none is accepted here",
                "leave it out",
            );
        }
        if config.skew.is_some_and(|skew| skew > REMEMBERED) {
            self.report_with_hint(
                refused.place,
                "a cancelled assertion is remembered for five minutes after its end, and `skew` accepts it for longer",
                "make `skew` five minutes at most",
            );
        }
        true
    }

    /// Reports a table of assertions that no policy asks for.
    pub(super) fn refuse_needless_assertion(&mut self, place: Place) {
        self.report_with_hint(
            place,
            "`saml` is given, and the policy wants no assertion",
            "leave it out, or put an `sp:SamlToken` into the policy",
        );
    }

    /// What the file accepts of assertions.
    fn accepted(&mut self, config: &SamlConfig, policy: &Policy, role: Role) -> AssertionPolicy {
        let usual = AssertionPolicy::default();
        let signs = policy.signature().is_some();
        let protection = match &config.protection {
            Some(protection) => protection.value,
            None if signs => AssertionProtection::Signature,
            None => AssertionProtection::Connection,
        };
        let receives = matches!(role, Role::Service | Role::Open);
        if receives && config.issuers.is_empty() {
            self.report_with_hint(
                config.place,
                "`issuers` is missing: no assertion could be accepted",
                "say whose are: issuers = [{ name = \"https://…\", pinned = [\"….cert.pem\"] }]",
            );
        }
        if receives && config.audience.is_none() {
            self.report_with_hint(
                config.place,
                "`audience` is missing: an assertion for another service would do",
                "name this service as issuers do: audience = [\"https://…\"]; [] accepts assertions for everybody alone",
            );
        }
        let texts = |texts: &[Located<String>]| texts.iter().map(|it| it.value.clone()).collect();
        let audience = config.audience.as_deref().unwrap_or_default();
        AssertionPolicy {
            holder: usual.holder,
            versions: config.versions.clone().unwrap_or(usual.versions),
            methods: config.confirmation.clone(),
            protection,
            audiences: texts(audience),
            recipients: texts(&config.recipient),
            ignored_confirmation: self.ignored_confirmation(config, role),
            attesters: self.attesters(config, role),
            skew: config.skew.unwrap_or(usual.skew),
            most_age: config.max_age.unwrap_or(usual.most_age),
            once: config.once,
            id_cards: self.id_cards(config, policy),
            encrypted: config.encrypted,
            by_reference: config.by_reference.is_some() && role == Role::Service,
            authority: self.authority(config, role),
            forwarded: config.forward,
            from_message: config.from_request,
            signature: self
                .algorithms(
                    &config.signature_algorithms,
                    SignatureAlgorithm::from_name,
                    "signature",
                )
                .unwrap_or(usual.signature),
            digest: self
                .algorithms(
                    &config.digest_algorithms,
                    DigestAlgorithm::from_name,
                    "digest",
                )
                .unwrap_or(usual.digest),
        }
    }

    /// What confirmations may say that nothing is compared with.
    fn ignored_confirmation(&mut self, config: &SamlConfig, role: Role) -> Vec<ConfirmationPart> {
        let Some(ignored) = &config.ignore_confirmation else {
            return Vec::new();
        };
        let versions = config.versions.as_ref();
        if !matches!(role, Role::Service | Role::Open) {
            self.report_with_hint(
                ignored.place,
                "`ignore_confirmation` is for those who accept assertions, and none is accepted here",
                "leave it out",
            );
        } else if versions.is_some_and(|named| !named.contains(&SamlVersion::V20)) {
            self.report_with_hint(
                ignored.place,
                "`ignore_confirmation` names what SAML 2.0 has, and `versions` does not name 2.0",
                "leave it out",
            );
        }
        ignored.value.clone()
    }

    /// The authority that has the assertion of requests, where they only name it.
    fn authority(&mut self, config: &SamlConfig, role: Role) -> Option<String> {
        let wanted = config.send_by_reference.as_ref()?;
        let by_bearer = config.confirmation.contains(&ConfirmationMethod::Bearer);
        let problems = [
            (
                matches!(role, Role::Service | Role::Open),
                "`send_by_reference` is for requests that are sent, and none is sent here",
                "name the authorities that are asked: saml = { by_reference = { authorities = [\"https://…\"] } }",
            ),
            (
                by_bearer && !wanted.allow_bearer,
                "whoever knows the id of a bearer's assertion would be its subject, and ids are no secrets: `send_by_reference` wants holder-of-key, or `allow_bearer = true`",
                "confirmation = [\"holder-of-key\"], where this side has a key",
            ),
            (
                wanted.allow_bearer && !by_bearer,
                "`allow_bearer` is for bearers, and `confirmation` does not name them",
                "leave it out",
            ),
        ];
        for (is_wrong, problem, hint) in problems {
            if is_wrong {
                self.report_with_hint(wanted.place, problem, hint);
            }
        }
        Some(wanted.authority.value.clone())
    }

    /// Those who may vouch.
    fn attesters(&mut self, config: &SamlConfig, role: Role) -> Vec<String> {
        let vouches = config
            .confirmation
            .contains(&ConfirmationMethod::SenderVouches);
        let receives = matches!(role, Role::Service | Role::Open);
        let trust = self.config.trust.as_ref().filter(|_| receives);
        let certifiers = trust.map(TrustConfig::certifiers).unwrap_or_default();
        let mut named = Vec::with_capacity(config.attesters.len());
        for text in &config.attesters {
            let Ok(name) = HolderName::parse(&text.value) else {
                let message =
                    format!("`attesters` must hold distinguished names, found {OTHER_TEXT}");
                let hint = "for example attesters = [\"CN=gateway\"]";
                self.report_with_hint(text.place, message, hint);
                continue;
            };
            if let Some(of_several) = certifiers.ambiguity(&name) {
                let message = format!("`attesters` has {of_several}");
                let hint = "say whose it is: attesters = [\"CN=gateway of CN=authority\"]";
                self.report_with_hint(text.place, message, hint);
            }
            named.push(text.value.clone());
        }
        if receives && vouches && config.attesters.is_empty() {
            self.report_with_hint(
                config.place,
                "`attesters` is missing: whoever may sign could vouch for anybody",
                "name the subjects of those who may: attesters = [\"CN=gateway\"]",
            );
        }
        named
    }

    /// The algorithms of a list; `None` of an empty one.
    pub(super) fn algorithms<T>(
        &mut self,
        named: &[Located<String>],
        known: fn(&str) -> Option<T>,
        purpose: &str,
    ) -> Option<Vec<T>> {
        let mut found = Vec::with_capacity(named.len());
        for name in named {
            match known(&name.value) {
                Some(algorithm) => found.push(algorithm),
                None => self.report(
                    name.place,
                    format!("expected a {purpose} algorithm, found {OTHER_TEXT}"),
                ),
            }
        }
        (!named.is_empty()).then_some(found)
    }

    /// The issuers that are known.
    pub(super) fn issuers(&mut self) -> Arc<[AssertionIssuer]> {
        let Some(config) = &self.config.saml else {
            return Arc::default();
        };
        self.assertion_issuers(&config.issuers).into()
    }

    /// The assertion that requests carry.
    pub(super) fn assertion(&mut self) -> Option<Arc<AssertionToken>> {
        let config = self.config.saml.as_ref()?;
        let file = config.assertion.as_ref()?;
        let parsed = AssertionToken::parse(file.bytes.expose().clone()).and_then(|token| {
            if let Some(wanted) = &config.send_by_reference {
                AssertionReference::at(&wanted.authority.value, token.version(), token.id())?;
            }
            Ok(token)
        });
        if let (Some(_), Ok(token)) = (&config.send_by_reference, &parsed)
            && let Err(problem) = token.check_named(&config.confirmation)
        {
            self.report_with_hint(
                file.place,
                format!("`{}`: {problem}", file.path.display()),
                "take an assertion with a key of its holder, or leave `send_by_reference` out",
            );
            return None;
        }
        if let Ok(token) = &parsed {
            self.check_form_of(token, config, file);
        }
        match parsed {
            Ok(token) => self.with_proof_key(token, file.place).map(Arc::new),
            Err(error) => {
                self.report(file.place, format!("`{}`: {error}", file.path.display()));
                None
            }
        }
    }
}

impl Compiler<'_> {
    /// The assertion with the symmetric key of its holder, where the file has it.
    fn with_proof_key(&mut self, token: AssertionToken, place: Place) -> Option<AssertionToken> {
        let config = self.config.saml.as_ref()?;
        let Some(given) = &config.proof_key else {
            if config.symmetric.as_ref().is_some_and(|it| it.value) {
                self.report_with_hint(place, PROOF_KEY_MISSING, PROOF_KEY_HINT);
            }
            return Some(token);
        };
        if !token.wraps_key() {
            self.report_with_hint(
                given.place,
                "`proof_key` is given, and the assertion has no symmetric key of its holder",
                "leave it out, or take the assertion that the key was issued with",
            );
            return None;
        }
        let mut bytes = Vec::new();
        let text = given.value.expose().trim().as_bytes();
        let decoded = base64::decode_xml(text, &mut bytes);
        let key = decoded.ok().map(|_| SymmetricKey::new(bytes));
        match key {
            Some(Ok(key)) if PROOF_KEY_BYTES.contains(&key.len()) => {
                Some(token.with_proof_key(key))
            }
            _ => {
                self.report(
                    given.place,
                    "`proof_key` must be 16 to 64 bytes in base64, found something else",
                );
                None
            }
        }
    }
}

/// How long after its end an assertion is remembered that was cancelled: the clocks that the rules
/// of token services forgive.
const REMEMBERED: Duration = Duration::from_secs(300);

const PROOF_KEY_MISSING: &str =
    "`proof_key` is missing: the symmetric key of the assertion's holder is the key of messages";

const PROOF_KEY_HINT: &str =
    "name the variable or the file that has it in base64: proof_key_env, proof_key_file";

/// Bytes of a proof key.
const PROOF_KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// A policy of answers, which have no assertion.
pub(super) fn without_assertion(policy: &mut Policy) {
    policy
        .supporting
        .retain(|token| token.assertion().is_none());
    policy.parts.signed.retain(|part| *part != Part::Assertion);
    policy
        .parts
        .encrypted
        .retain(|wanted| wanted.part != Part::Assertion);
}

/// Whether the connection has to protect messages, for the sake of their assertions.
pub(super) fn needs_connection(policy: &Policy) -> bool {
    let by_connection = AssertionProtection::Connection;
    let assertion = policy.assertion();
    assertion.is_some_and(|assertion| assertion.protection == by_connection)
}
