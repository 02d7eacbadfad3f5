//! The policy of an endpoint file: a preset's with the changes that the file makes, and what the
//! file says about every policy, wherever that comes from.

use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyTransport, KeyWrap, SignatureAlgorithm,
};
use soapstone_wss::{
    AsymmetricBinding, AttachmentPolicy, AttachmentProtection, Binding, ConversationVersion,
    DerivedKeyForm, DerivedKeyPolicy, EncryptionToken, IGNORED_CONFIRMATION, Intermediary,
    KeyBinding, KeyReference, Mechanism, Part, PasswordKind, Policy, Presence, ProtectionOrder,
    Retirement, SHORT_CIPHER_TEXT, Suite, SymmetricBinding, SymmetricToken,
};

use super::compiler::Compiler;
use super::freshness::freshness_alone;
use super::suites::NAMES_OF_ALGORITHMS;
use crate::config::{Located, SecurityConfig, SecuritySource, WeakUse};

/// The ends of algorithms that a file gives, of those that there are.
pub(super) fn retirements(security: &SecurityConfig) -> Vec<Retirement> {
    let given = security.allow_weak_until.iter();
    given.filter_map(retirement).collect()
}

fn retirement(weak: &WeakUse) -> Option<Retirement> {
    let name = &weak.algorithm.value;
    let known = SignatureAlgorithm::from_name(name)
        .map(SignatureAlgorithm::short_name)
        .or_else(|| DigestAlgorithm::from_name(name).map(DigestAlgorithm::short_name))
        .or_else(|| DataEncryption::from_name(name).map(DataEncryption::short_name))
        .or_else(|| KeyTransport::from_name(name).map(KeyTransport::short_name))
        .or_else(|| KeyWrap::from_name(name).map(KeyWrap::short_name))
        .or_else(|| {
            let mut others = [SHORT_CIPHER_TEXT, IGNORED_CONFIRMATION].into_iter();
            others.find(|other| name == other)
        })?;
    Some(Retirement {
        algorithm: known.to_owned(),
        from: weak.until.value,
    })
}

impl Compiler<'_> {
    /// The preset's policy with the changes that the file makes.
    pub(super) fn policy(&mut self, mechanism: Mechanism, suite: Suite) -> Policy {
        let config = self.config;
        let security = &config.security;
        let mut policy = mechanism.policy(suite);
        let reference = security
            .key_reference
            .as_ref()
            .map(|reference| reference.value);
        let shared = config.shared_key.is_some();
        if let Some(parts) = &security.signed {
            policy.parts.signed = parts.iter().map(|named| named.value.clone()).collect();
            policy.parts.in_order = true;
            let keys = certificates(&mut policy.binding);
            keys.map(|keys| keys.signature.get_or_insert(KeyReference::Direct));
        }
        if let Some(parts) = &security.encrypted {
            policy.parts.encrypted = parts.iter().map(|named| named.value.clone()).collect();
            let keys = certificates(&mut policy.binding);
            let wrapped = EncryptionToken::wrapped(KeyReference::IssuerSerial);
            keys.map(|keys| keys.encryption.get_or_insert(wrapped));
        }
        if shared && (policy.binding.signs() || policy.binding.encrypts()) {
            policy.protect_with(SymmetricToken::Shared(KeyReference::KeyName));
        }
        self.protect_with_passwords(&mut policy);
        if let Some(reference) = reference {
            policy.binding.name_keys(reference);
        }
        self.name_keys_apart(&mut policy.binding);
        self.check_names_of_shared_key(&policy.binding);
        if let Some(timestamp) = &security.timestamp {
            if timestamp.value.wanted {
                let mut wanted = policy.header.timestamp.unwrap_or_default();
                wanted.required = true;
                wanted.ttl = timestamp.value.ttl.unwrap_or(wanted.ttl);
                wanted.skew = timestamp.value.skew.unwrap_or(wanted.skew);
                policy.header.timestamp = Some(wanted);
                policy.set_freshness(wanted.ttl, wanted.skew);
            } else {
                policy.header.timestamp = freshness_alone(&timestamp.value);
                if let Some(alone) = policy.header.timestamp {
                    policy.set_freshness(alone.ttl, alone.skew);
                }
                if security.signed.is_none() {
                    let timestamp = |part: &Part| *part == Part::Timestamp;
                    policy.parts.signed.retain(|part| !timestamp(part));
                }
            }
        }
        if let (Some(username), Some(password)) = (policy.username_mut(), &security.password) {
            username.passwords = vec![password.value];
        }
        self.settle_token_items(&mut policy);
        self.refuse_keyless_attachments(&policy);
        self.refuse_parts_that_are_nowhere(&policy);
        self.settle(&mut policy);
        policy
    }

    /// Protects messages with keys from passwords, where the file says so. Their signature covers
    /// the token, unless the file says what it covers: two users may have one password.
    fn protect_with_passwords(&mut self, policy: &mut Policy) {
        let config = self.config;
        let Some(given) = &config.security.password_keys else {
            return;
        };
        let signs = policy.binding.signs();
        if policy.uses_context() {
            self.report_with_hint(
                given.place,
                "`password_keys` is given, and no key of a password begins conversations with this mechanism",
                "leave it out, or take mechanism = \"sign\", \"sign-encrypt\" or \"encrypt-sign\"",
            );
            return;
        }
        if !signs {
            self.report_with_hint(
                given.place,
                "`password_keys` is given, and no key signs messages",
                "leave it out, or take mechanism = \"sign\", \"sign-encrypt\" or \"encrypt-sign\"",
            );
            return;
        }
        for (place, message) in [
            (
                config.shared_key.as_ref().map(|key| key.place),
                "`shared_key` is given beside `password_keys`: one key signs and encrypts",
            ),
            (
                config.security.key_reference.as_ref().map(|one| one.place),
                "`key_reference` is given beside `password_keys`: messages carry the token of such a key",
            ),
        ] {
            if let Some(place) = place {
                self.report_with_hint(place, message, "leave one of them out");
            }
        }
        let signature_length = policy.suite.derived_signature_length();
        policy.protect_with(SymmetricToken::Password(given.iterations));
        let form = match &given.derived {
            Some(form) => form.value,
            None => Some(DerivedKeyForm::Explicit),
        };
        if let Binding::Symmetric(binding) = &mut policy.binding {
            binding.derived_keys = form.map(|form| DerivedKeyPolicy {
                version: ConversationVersion::V13,
                form,
                exclusive: false,
                signature_length,
            });
        }
        if config.security.signed.is_none() {
            policy.parts.signed.push(Part::Token);
        }
    }

    /// Applies what the file says of the nonce and the time of our tokens.
    fn settle_token_items(&mut self, policy: &mut Policy) {
        let config = self.config;
        let Some(given) = &config.security.username_token else {
            return;
        };
        let Some(username) = policy.username_mut() else {
            self.report_with_hint(
                given.place,
                "`username_token` is given, and messages have no user",
                "leave it out, or take mechanism = \"username\"",
            );
            return;
        };
        let digests = username.passwords.contains(&PasswordKind::Digest);
        let implied = given.implied_text.as_ref().filter(|it| it.value && digests);
        if let Some(implied) = implied {
            self.report_with_hint(
                implied.place,
                "`implied_text` is given, and passwords are digests, whose type is always said",
                "leave it out, or say password = \"text\"",
            );
        }
        for (item, presence) in [
            (&given.nonce, &mut username.nonce),
            (&given.created, &mut username.created),
        ] {
            let Some(wanted) = item else { continue };
            *presence = match wanted.value {
                true => Presence::Sent,
                false => Presence::Absent,
            };
            if digests && !wanted.value {
                self.report_with_hint(
                    wanted.place,
                    "a password digest has a nonce and the time of its making: without them it can be repeated",
                    "leave it out, or say password = \"text\"",
                );
            }
        }
    }

    /// Names the key that signs and the one that encrypts each in its own way, where the file says
    /// so.
    fn name_keys_apart(&mut self, binding: &mut Binding) {
        // In a conversation they are the names of its first messages.
        if let Binding::Symmetric(keys) = binding
            && keys.key.kind() == KeyBinding::Context
        {
            return;
        }
        let security = &self.config.security;
        let mut without = Vec::new();
        if let Some(reference) = &security.signature.key_reference
            && !binding.name_signing_key(reference.value)
        {
            without.push((reference.place, "signs", "signature"));
        }
        if let Some(reference) = &security.encryption.key_reference
            && !binding.name_encrypting_key(reference.value)
        {
            without.push((reference.place, "encrypts", "encryption"));
        }
        for (place, does, table) in without {
            let message =
                format!("`{table}.key_reference` names a key that {does}, and there is none");
            let hint = "leave it out, or take a mechanism that has such a key";
            self.report_with_hint(place, message, hint);
        }
    }

    /// Reports forms of signatures and of cipher text that none of the messages have.
    pub(super) fn refuse_forms_of_nothing(&mut self, policies: &[&Policy]) {
        let config = self.config;
        let (signature, encryption) = (&config.security.signature, &config.security.encryption);
        let endorses = |policy: &Policy| policy.endorsing().next().is_some();
        let signs = |policy: &&Policy| policy.signature().is_some() || endorses(policy);
        let encrypts = |policy: &&Policy| policy.encryption().is_some();
        let seals_inside = config
            .inner
            .as_ref()
            .is_some_and(|it| it.encryption.is_some());
        let flag = |flag: &Option<Located<bool>>| flag.as_ref().map(|flag| flag.place);
        let prefixes = signature.inclusive_prefixes.as_ref();
        let info = encryption.derivation_info.as_ref();
        let unsigned = !policies.iter().any(signs);
        // An assertion in cipher text of its own has a wrapped key, too, and is no header block.
        let hides_assertion = policies.iter().any(|policy| policy.hides_assertion());
        let unsealed = !policies.iter().any(encrypts);
        let unwrapped = unsealed && !hides_assertion && !seals_inside;
        for (key, place, is_of_nothing, does) in [
            (
                "signature.str_transform",
                flag(&signature.str_transform),
                unsigned,
                "signs",
            ),
            (
                "signature.inclusive_prefixes",
                prefixes.map(|prefixes| prefixes.place),
                unsigned,
                "signs",
            ),
            (
                "encryption.derivation_info",
                info.map(|info| info.place),
                unwrapped,
                "encrypts",
            ),
            (
                "encryption.implied_digest",
                flag(&encryption.implied_digest),
                unwrapped,
                "encrypts",
            ),
            (
                "encryption.encrypted_header",
                flag(&encryption.encrypted_header),
                unsealed,
                "encrypts",
            ),
        ] {
            if let Some(place) = place.filter(|_| is_of_nothing) {
                let message = format!("`{key}` is given, and nothing {does} messages");
                let hint = match &config.security.source.value {
                    SecuritySource::Mechanism(_) => {
                        "leave it out, or take a mechanism that has such a key"
                    }
                    SecuritySource::Policy(_) => {
                        "leave it out, or change the policy to have such a key"
                    }
                };
                self.report_with_hint(place, message, hint);
            }
        }
    }

    /// Reports that short cipher text is allowed where its key is no stranger's.
    pub(super) fn refuse_needless_risks(&mut self, policies: &[&Policy]) {
        if policies.iter().any(|policy| policy.lets_choose_keys()) {
            return;
        }
        let security = &self.config.security;
        let allow = security.allow_short_cipher_text.as_ref();
        let signs = security.encryption.sign_session_key.as_ref();
        for (key, given) in [
            ("allow_short_cipher_text", allow.filter(|allow| allow.value)),
            (
                "encryption.sign_session_key",
                signs.filter(|signs| !signs.value),
            ),
        ] {
            if let Some(given) = given {
                self.report_with_hint(
                    given.place,
                    format!(
                        "`{key}` is for cipher text in CBC that certificates sign after it was encrypted, and there is none"
                    ),
                    "leave it out: what is encrypted is not changed unnoticed here, or is refused in any case",
                );
            }
        }
    }

    /// Reports names that a key that both sides hold cannot have, and two names for it.
    fn check_names_of_shared_key(&mut self, binding: &Binding) {
        let Binding::Symmetric(SymmetricBinding {
            key: SymmetricToken::Shared(_),
            ..
        }) = binding
        else {
            return;
        };
        let config = self.config;
        let security = &config.security;
        let signature = &security.signature.key_reference;
        let encryption = &security.encryption.key_reference;
        for (key, named) in [
            ("key_reference", &security.key_reference),
            ("signature.key_reference", signature),
            ("encryption.key_reference", encryption),
        ] {
            let Some(named) = named.as_ref().filter(|it| !it.value.names_shared_keys()) else {
                continue;
            };
            let message = format!(
                "`{key}` must name the key that both sides hold, found `{}`, which names a certificate",
                named.value.name()
            );
            let hint = "say key_reference = \"key-name\" or \"encrypted-key-sha1\"; left out, it is \"key-name\"";
            self.report_with_hint(named.place, message, hint);
        }
        if let (Some(signature), Some(encryption)) = (signature, encryption)
            && signature.value != encryption.value
        {
            let message = format!(
                "`encryption.key_reference` must be that of the signature, `{}`, found `{}`: one key signs and encrypts",
                signature.value.name(),
                encryption.value.name()
            );
            let hint = "give the key one name: key_reference = \"key-name\"";
            self.report_with_hint(encryption.place, message, hint);
        }
    }

    /// Reports a signature or an encryption that protects nothing of any message, so that nothing
    /// is left of what the mechanism demands.
    fn refuse_parts_that_are_nowhere(&mut self, policy: &Policy) {
        let config = self.config;
        let security = &config.security;
        let can_be_there = |part: &Part| match part {
            Part::Timestamp => policy
                .header
                .timestamp
                .is_some_and(|timestamp| timestamp.sent),
            Part::UsernameToken => policy.username().is_some(),
            Part::Assertion => policy.assertion().is_some(),
            Part::SignatureConfirmation => policy.header.signature_confirmation,
            Part::EndorsingToken => policy.endorsing_beside().next().is_some(),
            Part::Signature | Part::Token => policy.signature().is_some(),
            _ => true,
        };
        let signs = policy.parts.signed.iter().any(can_be_there);
        let mut encrypted = policy.parts.encrypted.iter();
        let encrypts = encrypted.any(|wanted| can_be_there(&wanted.part));
        let named = security.signed.as_ref().and_then(|parts| parts.first());
        if let (false, Some(first)) = (signs, named) {
            self.report_with_hint(
                first.place,
                "`signed` names only parts that no message has: a signature would prove nothing of a message",
                "name the Body, or leave it out for Body and Timestamp",
            );
        }
        let encrypting = policy.binding.encrypts() && !encrypts;
        if encrypting && policy.signature().is_none() && policy.username().is_none() {
            let named = security.encrypted.as_ref().and_then(|parts| parts.first());
            self.report_with_hint(
                named.map_or(security.source.place, |first| first.place),
                "`encrypted` names no part that a message has: nothing would be demanded of messages",
                "leave it out for the Body, or say mechanism = \"none\"",
            );
        }
    }

    /// Applies what a file says about every policy, wherever that comes from.
    pub(super) fn settle(&mut self, policy: &mut Policy) {
        let config = self.config;
        let security = &config.security;
        if let Some(must_understand) = &security.must_understand {
            policy.header.must_understand = must_understand.value;
        }
        if let Some(order) = &security.header_order {
            policy.header.order.clone_from(&order.value);
        }
        if let (Some(username), Some(given)) = (policy.username_mut(), &security.username_token) {
            username.dialects = given.dialects;
            username.implied_text = given.implied_text.as_ref().is_some_and(|it| it.value);
        }
        if policy.proves_parts() {
            let unsigned = security.unsigned.iter();
            policy.parts.unsigned = unsigned.map(|part| part.value.clone()).collect();
        }
        if let Some(keys) = &security.password_keys {
            policy.bound_password_keys(keys.iterations);
        }
        policy.header.actor = security.actor.as_ref().map(|actor| actor.value.clone());
        if let Some(config) = &config.intermediary {
            policy.header.actor = Some(config.role.value.clone());
            policy.header.intermediary = Some(Intermediary {
                reinserts: config.reinserts,
            });
        }
        if let Some(references) = &config.limits.references {
            policy.limits.references = usize::try_from(references.value).unwrap_or(usize::MAX);
        }
        if let Some(header) = &config.limits.header {
            policy.limits.header = usize::try_from(header.value).unwrap_or(usize::MAX);
        }
        self.ignore_items(policy);
        self.protect_attachments(policy);
        if let Some(several) = &security.several_signatures {
            policy.parts.several_signatures = several.value;
            let by_certificate = policy.signs_with() == Some(KeyBinding::Certificate);
            if several.value && !(by_certificate && policy.header.timestamp.is_some()) {
                self.report_with_hint(
                    several.place,
                    "`several_signatures` wants certificates that sign, and a Timestamp that each of them covers",
                    "leave it out, or take a mechanism that signs",
                );
            }
        }
        if let Some(allow) = &security.allow_short_cipher_text {
            policy.parts.short_cipher_text = allow.value;
        }
        if let Some(signs) = &security.encryption.sign_session_key {
            policy.parts.unsigned_session_key = !signs.value;
        }
        if let Some(by_reference) = &security.signature.str_transform {
            policy.parts.tokens_by_reference = by_reference.value;
        }
        if let Some(prefixes) = &security.signature.inclusive_prefixes {
            policy.parts.inclusive_prefixes.clone_from(&prefixes.value);
        }
        if let Some(info) = &security.encryption.derivation_info {
            policy.suite.derivation_info = Some(info.value.clone());
        }
        if let Some(implied) = &security.encryption.implied_digest {
            policy.suite.implied_oaep_digest = implied.value;
        }
        if let Some(around) = &security.encryption.encrypted_header {
            policy.parts.bare_header_blocks = !around.value;
        }
        policy.tuning = config.tuning;
        for weak in &security.allow_weak_until {
            let name = &weak.algorithm.value;
            match retirement(weak) {
                Some(retirement) => policy.retirements.push(retirement),
                None => self.report_with_hint(
                    weak.algorithm.place,
                    format!("no algorithm is called \"{name}\""),
                    NAMES_OF_ALGORITHMS,
                ),
            }
        }
    }

    /// Applies what the file says of attachments, as far as the policy has keys for it: answers may
    /// be without them.
    fn protect_attachments(&self, policy: &mut Policy) {
        let Some(given) = &self.config.security.attachments else {
            return;
        };
        let fitting = |given: &Option<Located<AttachmentProtection>>, has_key: bool| {
            let given = given.as_ref().map(|given| given.value);
            let fits =
                |given: &AttachmentProtection| has_key || *given == AttachmentProtection::Absent;
            given.filter(fits).unwrap_or_default()
        };
        let signs = policy.signature().is_some() && !policy.is_by_connection();
        policy.parts.attachments = AttachmentPolicy {
            signed: fitting(&given.signed, signs),
            encrypted: fitting(&given.encrypted, policy.encryption().is_some()),
        };
    }

    /// Reports protection of attachments that no key of the mechanism gives.
    fn refuse_keyless_attachments(&mut self, policy: &Policy) {
        let config = self.config;
        let Some(given) = &config.security.attachments else {
            return;
        };
        for (said, has_key, key, does) in [
            (&given.signed, policy.binding.signs(), "signed", "signs"),
            (
                &given.encrypted,
                policy.binding.encrypts(),
                "encrypted",
                "encrypts",
            ),
        ] {
            if let Some(said) = said.as_ref().filter(|_| !has_key) {
                self.report_with_hint(
                    said.place,
                    format!("`attachments.{key}` is given, and no key {does} messages"),
                    "leave it out, or take a mechanism that has such a key",
                );
            }
        }
    }

    /// Has items of the header ignored that the policy has no use for.
    fn ignore_items(&mut self, policy: &mut Policy) {
        for item in &self.config.security.ignore {
            if item.value.1 == "UsernameToken" && policy.username().is_some() {
                self.report_with_hint(
                    item.place,
                    "`ignore` names the UsernameToken, and the policy demands one",
                    "leave it out",
                );
                continue;
            }
            policy.header.ignored.push(item.value.clone());
        }
    }
}

/// The certificates that protect messages: those of the mechanism, or new ones that do nothing yet.
fn certificates(binding: &mut Binding) -> Option<&mut AsymmetricBinding> {
    if *binding == Binding::None {
        *binding = Binding::Asymmetric(AsymmetricBinding {
            signature: None,
            encryption: None,
            order: ProtectionOrder::SignBeforeEncrypting,
        });
    }
    match binding {
        Binding::Asymmetric(keys) => Some(keys),
        _ => None,
    }
}
