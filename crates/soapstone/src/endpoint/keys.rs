//! From the files that an endpoint file names to keys, certificates and trust.

use std::sync::Arc;

use soapstone_crypto::trust::RevocationListFacts;
use soapstone_crypto::{
    Certificate, CryptoError, Identity, KeyPurpose, KeyStore, SecretBytes, SymmetricKey,
    TrustRules, TrustStore,
};
use soapstone_wss::{Keys, SharedKey, User};

use super::compiler::Compiler;
use super::expiring_file::{ExpiringFile, MaterialUse};
use crate::config::{
    IdentityConfig, IdentitySource, LoadedFile, Located, OTHER_TEXT, RevocationConfig, TrustConfig,
    UserConfig,
};

/// The password of a user; of one without, nothing, which no password is equal to.
fn secret_of(user: &UserConfig) -> SecretBytes {
    let password = user.password.as_ref();
    let octets = password.map(|password| password.value.expose().as_bytes());
    SecretBytes::copy_of(octets.unwrap_or_default())
}

impl Compiler<'_> {
    pub(super) fn keys(&mut self) -> Keys {
        let config = self.config.identity.as_ref();
        let decrypting = config.map_or(&[][..], |identity| &identity.decryption);
        let decryption = self.identities(decrypting, MaterialUse::Decryption);
        let endorsing = config.map_or(&[][..], |identity| &identity.endorsing);
        let endorsers = self.identities(endorsing, MaterialUse::Endorsing);
        let is_complete =
            decryption.len() == decrypting.len() && endorsers.len() == endorsing.len();
        let identity = config.and_then(|identity| self.identity(identity, MaterialUse::Identity));
        Keys {
            // In the place of a key that cannot be read none decrypts or endorses, and nothing more
            // is to be said of it.
            identity: identity.filter(|_| is_complete),
            decryption,
            endorsing: endorsers,
            peer: self
                .config
                .peer
                .as_ref()
                .and_then(|peer| self.peer(&peer.certificate)),
            trust: self.trust().map(Arc::new),
            issuers: self.issuers(),
            shared: self.shared_key().map(Arc::new),
            assertion: self.assertion(),
            user: self.config.users.first().map(|user| {
                Arc::new(User {
                    name: user.name.value.clone(),
                    password: secret_of(user),
                })
            }),
        }
    }

    pub(super) fn users(&self) -> Vec<(String, SecretBytes)> {
        self.config
            .users
            .iter()
            .map(|user| (user.name.value.clone(), secret_of(user)))
            .collect()
    }

    fn identities(&mut self, configs: &[IdentityConfig], usage: MaterialUse) -> Vec<Arc<Identity>> {
        let identities = configs.iter();
        identities
            .filter_map(|identity| self.identity(identity, usage))
            .collect()
    }

    pub(super) fn identity(
        &mut self,
        config: &IdentityConfig,
        usage: MaterialUse,
    ) -> Option<Arc<Identity>> {
        let password = config
            .password
            .as_ref()
            .map(|password| password.value.expose().as_str());
        let (certified, identity) = match &config.source {
            IdentitySource::KeyAndCertificate { key, certificate } => (
                certificate,
                Identity::from_file_contents(
                    key.bytes.expose(),
                    certificate.bytes.expose(),
                    password,
                ),
            ),
            IdentitySource::Keystore {
                keystore,
                alias,
                key_password,
            } => {
                let alias = alias.as_ref().map(|alias| alias.value.as_str());
                let password = password.unwrap_or_default();
                let store = KeyStore::from_file_contents(keystore.bytes.expose(), password);
                let key_password = key_password
                    .as_ref()
                    .map_or(password, |password| password.value.expose().as_str());
                let opens_store = store.is_ok();
                let identity = store.and_then(|store| store.identity(alias, key_password));
                if opens_store && identity.as_ref().err() == Some(&CryptoError::WrongPassword) {
                    self.locked_key(keystore);
                    return None;
                }
                (keystore, identity)
            }
            IdentitySource::Token { key, certificate } => {
                (certificate, self.token_identity(key, certificate)?)
            }
        };
        let identity = identity
            .map_err(|error| self.unusable_identity(config, &error))
            .ok()?;
        self.note(usage, certified, [identity.certificate()]);
        self.note(usage, certified, identity.chain());
        Some(Arc::new(identity))
    }

    /// Says that the key of a keystore has another password than the keystore.
    fn locked_key(&mut self, keystore: &LoadedFile) {
        let message = format!(
            "`{}`: the keystore is opened, and its private key is not: the password is another one",
            keystore.path.display()
        );
        let hint =
            "give the key's own as `key_password_env`, `key_password_file` or `key_password`";
        self.report_with_hint(keystore.place, message, hint);
    }

    /// Says what is wrong with our own key, of the file that it is wrong with.
    fn unusable_identity(&mut self, config: &IdentityConfig, error: &CryptoError) {
        const GIVE_PASSWORD: &str = "give `password_env`, `password_file` or `password` beside it";
        const NAME_KEYSTORE: &str =
            "a keystore is named with `keystore`, in the place of `key` and `certificate`";
        let (file, hint) = match &config.source {
            IdentitySource::Token { certificate, .. } => (certificate, None),
            IdentitySource::Keystore { keystore, .. } => {
                // It is tried without a password, since there are keystores that have none.
                if *error == CryptoError::WrongPassword && config.password.is_none() {
                    let file = keystore.path.display();
                    let message =
                        format!("`{file}`: the keystore is encrypted and no password was given");
                    self.report_with_hint(keystore.place, message, GIVE_PASSWORD);
                    return;
                }
                (keystore, None)
            }
            IdentitySource::KeyAndCertificate { key, certificate } => {
                let bytes = certificate.bytes.expose();
                let of_certificate = Certificate::from_file_contents(bytes).as_ref() == Err(error);
                let file = if of_certificate { certificate } else { key };
                let hint = match error {
                    CryptoError::PasswordNeeded => Some(GIVE_PASSWORD),
                    _ if KeyStore::recognizes(file.bytes.expose()) => Some(NAME_KEYSTORE),
                    _ => None,
                };
                (file, hint)
            }
        };
        match hint {
            Some(hint) => {
                let message = format!("`{}`: {error}", file.path.display());
                self.report_with_hint(file.place, message, hint);
            }
            None => self.unreadable(file, error),
        }
    }

    /// The key that both sides hold.
    pub(super) fn shared_key(&mut self) -> Option<SharedKey> {
        let config = self.config.shared_key.as_ref()?;
        match SymmetricKey::new(config.key.expose().clone()) {
            Ok(key) => Some(SharedKey {
                name: config
                    .name
                    .as_ref()
                    .map_or_else(|| "shared".to_owned(), |name| name.value.clone()),
                signing: key.clone(),
                encrypting: key,
            }),
            Err(error) => {
                self.report(config.place, error.to_string());
                None
            }
        }
    }

    fn trust(&mut self) -> Option<TrustStore> {
        let config = self.config.trust.as_ref()?;
        self.trust_store(config)
    }

    /// What a table says of certificates.
    pub(super) fn trust_store(&mut self, config: &TrustConfig) -> Option<TrustStore> {
        let mut rules = TrustRules::default();
        for file in &config.anchors {
            let certificates = self.certificates(file);
            self.note(MaterialUse::Anchor, file, &certificates);
            rules.anchors.extend(certificates);
        }
        for file in &config.pinned {
            let certificates = self.certificates(file);
            self.note(MaterialUse::Pinned, file, &certificates);
            rules.pinned.extend(certificates);
        }
        rules.subjects = config
            .subjects
            .iter()
            .map(|subject| subject.value.clone())
            .collect();
        rules.subject_match = config.subject_match;
        rules.extended_key_usage = self.purposes(&config.extended_key_usage);
        rules.revocation_lists = config
            .crls
            .iter()
            .map(|file| file.bytes.expose().clone())
            .collect();
        rules.revocation = config.revocation.as_ref().map(RevocationConfig::rules);
        if let Some(bits) = &config.min_rsa_bits {
            rules.min_rsa_bits = u32::try_from(bits.value).unwrap_or(u32::MAX);
        }
        if let Some(allow) = &config.allow_sha1_certificates {
            rules.allow_sha1_certificates = allow.value;
        }
        for file in &config.crls {
            // One that cannot be read is told of by the store.
            if let Ok(facts) = RevocationListFacts::of(file.bytes.expose()) {
                self.note_dated(ExpiringFile::revocation_list(&file.path, facts));
            }
        }
        match TrustStore::new(rules) {
            Ok(store) => {
                self.online.extend(store.online_revocation().cloned());
                self.refuse_unaskable(config, &store);
                Some(store)
            }
            Err(error) => {
                self.unusable_trust(config, &error);
                None
            }
        }
    }

    /// Reports certificates that are believed as they are, and about which nobody can be asked.
    fn refuse_unaskable(&mut self, config: &TrustConfig, store: &TrustStore) {
        let place = config.revocation.as_ref().map(|table| table.place);
        for certificate in store.unaskable() {
            self.report_with_hint(
                place.unwrap_or(config.place),
                format!(
                    "nobody can be asked whether `{}` was revoked: its issuer is not among `anchors` and `pinned`",
                    certificate.subject_name()
                ),
                "put the issuer's certificate behind it in the file, or accept it unasked: fail = \"soft\"",
            );
        }
    }

    fn purposes(&mut self, named: &[Located<String>]) -> Vec<KeyPurpose> {
        let mut purposes = Vec::with_capacity(named.len());
        for name in named {
            match KeyPurpose::parse(&name.value) {
                Ok(purpose) => purposes.push(purpose),
                Err(error) => self.report(name.place, error.to_string()),
            }
        }
        purposes
    }

    /// Says which file or subject it is that no trust can be made of.
    fn unusable_trust(&mut self, config: &TrustConfig, error: &CryptoError) {
        let refused = |change: &dyn Fn(&mut TrustRules)| {
            let mut rules = TrustRules::default();
            change(&mut rules);
            TrustStore::new(rules).err()
        };
        let mut found = false;
        for file in config.anchors.iter().chain(&config.crls) {
            let octets = file.bytes.expose();
            let is_anchor = config
                .anchors
                .iter()
                .any(|anchor| std::ptr::eq(anchor, file));
            let error = refused(&|rules| {
                if is_anchor {
                    rules.anchors = Certificate::from_file_contents(octets).unwrap_or_default();
                } else {
                    rules.revocation_lists = vec![octets.clone()];
                }
            });
            if let Some(error) = error {
                self.unreadable(file, &error);
                found = true;
            }
        }
        for subject in &config.subjects {
            let name = &subject.value;
            if refused(&|rules| rules.subjects = vec![name.clone()]).is_some() {
                let message =
                    format!("`subjects` must hold distinguished names, found {OTHER_TEXT}");
                let hint = "for example subjects = [\"CN=client\"]";
                self.report_with_hint(subject.place, message, hint);
                found = true;
            }
        }
        if !found {
            self.report(config.place, error.to_string());
        }
    }

    pub(super) fn peer(&mut self, file: &LoadedFile) -> Option<Certificate> {
        let certificate = self.certificates(file).into_iter().next()?;
        self.note(MaterialUse::Peer, file, [&certificate]);
        Some(certificate)
    }

    /// Keeps what certificates are used for, to be told of it.
    fn note<'c>(
        &mut self,
        usage: MaterialUse,
        file: &LoadedFile,
        certificates: impl IntoIterator<Item = &'c Certificate>,
    ) {
        for certificate in certificates {
            self.note_dated(ExpiringFile::certificate(usage, &file.path, certificate));
        }
    }

    fn note_dated(&mut self, dated: ExpiringFile) {
        if !self.dated.contains(&dated) {
            self.dated.push(dated);
        }
    }

    pub(super) fn certificates(&mut self, file: &LoadedFile) -> Vec<Certificate> {
        match Certificate::from_file_contents(file.bytes.expose()) {
            Ok(certificates) if !certificates.is_empty() => certificates,
            Ok(_) => {
                self.report(
                    file.place,
                    format!("`{}` holds no certificate", file.path.display()),
                );
                Vec::new()
            }
            Err(error) => {
                self.unreadable(file, &error);
                Vec::new()
            }
        }
    }

    fn unreadable(&mut self, file: &LoadedFile, error: &dyn std::fmt::Display) {
        self.report(file.place, format!("`{}`: {error}", file.path.display()));
    }
}
