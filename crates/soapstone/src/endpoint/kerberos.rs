//! Kerberos tokens of an endpoint: a service accepts those of its clients, a client makes its own.
//!
//! The rule kept here: a token is accepted once, by the library's replay cache and by that of the
//! endpoint. A name of a token is worth what the store of sessions says.

use jiff::Timestamp;
use soapstone_wss::{KerberosName, KerberosSession, Rejected, SecureError};

use super::compiler::Compiler;
use super::memory::Memory;
use super::role::Role;
use crate::config::KerberosConfig;

#[cfg(feature = "kerberos")]
pub(super) use self::with_library::Kerberos;
#[cfg(not(feature = "kerberos"))]
pub(super) use self::without_library::Kerberos;

#[cfg(feature = "kerberos")]
mod with_library {
    use std::path::Path;
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, SystemTime};

    use soapstone_crypto::digest::digest;
    use soapstone_crypto::{DigestAlgorithm, SymmetricKey, base64};
    use soapstone_kerberos::{
        Acceptor, AcceptorRules, ClientCredential, Enctype, Framing, Initiator, InitiatorRules,
        KerberosError, Principal,
    };
    use soapstone_wss::{
        ContextName, ContextOwner, ConversationVersion, KerberosForm, SecurityContext,
        kerberos_sha1,
    };

    use super::{
        Compiler, KerberosConfig, KerberosName, KerberosSession, Memory, Rejected, Role,
        SecureError, Timestamp,
    };
    use crate::config::{Located, OTHER_TEXT};

    /// For how long an authenticator is remembered. The library accepts one for twice its skew of
    /// five minutes; here is room for a skew of half an hour.
    const AUTHENTICATOR_REMEMBERED: Duration = Duration::from_secs(60 * 60);

    /// Before the end of a ticket no message is secured with its session any more: it would end on
    /// its way.
    const BEFORE_THE_END: Duration = Duration::from_secs(60);

    /// The tokens of an endpoint.
    #[derive(Debug)]
    pub(in super::super) enum Kerberos {
        /// Of a service.
        Accepts {
            acceptor: Acceptor,
            /// Whether messages may name the token of an earlier one.
            once: bool,
        },
        /// Of a client.
        Initiates {
            initiator: Initiator,
            once: bool,
            /// The session that messages name, once a token began one.
            session: Mutex<Option<KerberosSession>>,
        },
    }

    impl Kerberos {
        /// The session of the token that a message carries or names. It blocks.
        pub(in super::super) fn session(
            &self,
            name: KerberosName,
            memory: Memory<'_>,
            scope: &str,
            now: Timestamp,
        ) -> Result<Option<KerberosSession>, Rejected> {
            let Self::Accepts { acceptor, once } = self else {
                return Ok(None);
            };
            // The sessions of a scope are apart from its conversations: no name of the one is a
            // name of the other.
            let scope = [scope, "#kerberos"].concat();
            match name {
                KerberosName::Token { form, bytes } => {
                    let session = accepted(acceptor, form, &bytes, now)?;
                    if *once {
                        let kept = memory.contexts.insert(&scope, &as_context(&session, now));
                        kept.map_err(|error| Rejected::ContextsUnavailable {
                            problem: error.to_string(),
                        })?;
                    }
                    Ok(Some(session))
                }
                KerberosName::Sha1(sha1) if *once => {
                    let found = memory.contexts.find(&scope, &name_of(&sha1), now);
                    let found = found.map_err(|error| Rejected::ContextsUnavailable {
                        problem: error.to_string(),
                    })?;
                    let found = found.and_then(|context| from_context(sha1, context));
                    // The store may be older than the rules. The client is not proven yet, and
                    // learns no more than anybody. With its next token the log has the reason.
                    Ok(found.filter(|session| acceptor.accepts_client(&session.client)))
                }
                KerberosName::Sha1(_) => Ok(None),
            }
        }

        /// The session of a request that is to be secured. It waits for the KDC.
        pub(in super::super) fn begin(
            &self,
            now: Timestamp,
        ) -> Result<Option<KerberosSession>, SecureError> {
            let Self::Initiates {
                initiator,
                once,
                session,
            } = self
            else {
                return Ok(None);
            };
            if *once {
                let known = session.lock().unwrap_or_else(PoisonError::into_inner);
                let known = known.as_ref();
                let lives = |one: &&KerberosSession| one.expires > now + BEFORE_THE_END;
                if let Some(known) = known.filter(lives) {
                    return Ok(Some(KerberosSession {
                        token: None,
                        ..known.clone()
                    }));
                }
            }
            let begun = begun(initiator, now)?;
            if *once {
                let mut known = session.lock().unwrap_or_else(PoisonError::into_inner);
                *known = Some(begun.clone());
            }
            Ok(Some(begun))
        }

        /// Forgets the session of this token, if messages still name it.
        pub(in super::super) fn forget(&self, sha1: &[u8; 20]) {
            if let Self::Initiates { session, .. } = self {
                let mut known = session.lock().unwrap_or_else(PoisonError::into_inner);
                known.take_if(|known| known.sha1 == *sha1);
            }
        }

        /// Whether the rules accept tokens of this client. A side that makes tokens accepts nobody.
        pub(in super::super) fn accepts_client(&self, client: &str) -> bool {
            match self {
                Self::Accepts { acceptor, .. } => acceptor.accepts_client(client),
                Self::Initiates { .. } => false,
            }
        }

        /// Whether it makes tokens, which may take as long as the KDC does.
        pub(in super::super) const fn initiates(&self) -> bool {
            matches!(self, Self::Initiates { .. })
        }
    }

    /// The end of a ticket, in the time of messages.
    fn end_of_ticket(ends: SystemTime) -> Timestamp {
        // The library's times end in the year 2106.
        Timestamp::try_from(ends).unwrap_or(Timestamp::MIN)
    }

    fn accepted(
        acceptor: &Acceptor,
        form: KerberosForm,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<KerberosSession, Rejected> {
        let accepted = acceptor.accept(bytes, framing(form));
        let accepted = accepted.map_err(|error| match error {
            KerberosError::Replayed => Rejected::Replayed,
            error if error.is_temporary() => Rejected::KerberosUnavailable {
                problem: error.to_string(),
            },
            error => Rejected::KerberosRefused {
                problem: error.to_string(),
            },
        })?;
        let key = SymmetricKey::from_secret(accepted.key);
        let key = key.map_err(|error| Rejected::KerberosRefused {
            problem: error.to_string(),
        })?;
        let digested = digest(DigestAlgorithm::Sha256, &accepted.authenticator);
        let authenticator = digested.map_err(|error| Rejected::KerberosUnavailable {
            problem: error.to_string(),
        })?;
        Ok(KerberosSession {
            sha1: kerberos_sha1(bytes),
            token: None,
            key,
            client: accepted.client.to_string(),
            expires: end_of_ticket(accepted.ends),
            authenticator: authenticator.as_ref().try_into().ok(),
            authenticator_ends: now + AUTHENTICATOR_REMEMBERED,
        })
    }

    fn begun(initiator: &Initiator, now: Timestamp) -> Result<KerberosSession, SecureError> {
        let made = initiator
            .initiate()
            .map_err(|error| SecureError::KerberosUnavailable {
                is_temporary: error.is_temporary(),
                problem: error.to_string(),
            })?;
        let client = match &initiator.rules().credential {
            ClientCredential::Keytab { principal, .. } => principal.to_string(),
            ClientCredential::Cache(_) => String::new(),
        };
        Ok(KerberosSession {
            sha1: kerberos_sha1(&made.token),
            token: Some(made.token),
            key: SymmetricKey::from_secret(made.key)?,
            client,
            expires: end_of_ticket(made.ends),
            authenticator: None,
            authenticator_ends: now,
        })
    }

    const fn framing(form: KerberosForm) -> Framing {
        match form {
            KerberosForm::Gss => Framing::Gss,
            KerberosForm::Raw => Framing::Raw,
        }
    }

    /// The name of a session in the store.
    fn name_of(sha1: &[u8; 20]) -> ContextName {
        ContextName {
            version: ConversationVersion::V13,
            identifier: base64::encode(sha1),
            instance: None,
        }
    }

    /// A session as the store of contexts holds it.
    fn as_context(session: &KerberosSession, now: Timestamp) -> SecurityContext {
        let name = name_of(&session.sha1);
        SecurityContext {
            version: name.version,
            identifier: name.identifier,
            instance: name.instance,
            secret: session.key.clone(),
            created: now,
            expires: session.expires,
            owner: ContextOwner::User(session.client.clone()),
        }
    }

    fn from_context(sha1: [u8; 20], context: SecurityContext) -> Option<KerberosSession> {
        let ContextOwner::User(client) = context.owner else {
            return None;
        };
        Some(KerberosSession {
            sha1,
            token: None,
            key: context.secret,
            client,
            expires: context.expires,
            authenticator: None,
            authenticator_ends: context.created,
        })
    }

    impl Compiler<'_> {
        /// What makes or accepts the tokens of the file. What is wrong is reported.
        pub(in super::super) fn kerberos(
            &mut self,
            config: &KerberosConfig,
            role: Role,
        ) -> Option<Kerberos> {
            if let Err(error) = soapstone_kerberos::is_available() {
                self.report(config.place, error.to_string());
                return None;
            }
            match role {
                Role::Service | Role::Open => self.acceptor(config),
                Role::Client | Role::Secure => self.initiator(config),
            }
        }

        fn acceptor(&mut self, config: &KerberosConfig) -> Option<Kerberos> {
            self.refuse_keys_of_others(
                config,
                &[
                    ("cache", config.cache.is_some()),
                    ("service", config.service.is_some()),
                ],
                "accepts tokens",
            );
            let (Some(keytab), Some(principal)) = (&config.keytab, &config.principal) else {
                self.report_with_hint(
                    config.place,
                    "`keytab` and `principal` are needed to accept tokens",
                    "keytab = \"http.keytab\", principal = \"HTTP/books.example@EXAMPLE.COM\"",
                );
                return None;
            };
            self.readable(keytab, config)?;
            let own = self.principal(principal)?;
            let mut rules = AcceptorRules::new(keytab, own);
            rules.enctypes = self.enctypes(config)?;
            if let Some(realms) = &config.realms {
                rules.realms = realms.iter().map(|realm| realm.value.clone()).collect();
            }
            let clients = config.clients.iter().flatten();
            let clients: Vec<_> = clients.map(|client| self.principal(client)).collect();
            rules.clients = clients.into_iter().collect::<Option<_>>()?;
            match Acceptor::new(rules) {
                Ok(acceptor) => Some(Kerberos::Accepts {
                    acceptor,
                    once: config.once,
                }),
                Err(error) => {
                    self.report(config.place, error.to_string());
                    None
                }
            }
        }

        fn initiator(&mut self, config: &KerberosConfig) -> Option<Kerberos> {
            self.refuse_keys_of_others(
                config,
                &[
                    ("realms", config.realms.is_some()),
                    ("clients", config.clients.is_some()),
                ],
                "makes tokens",
            );
            let Some(service) = &config.service else {
                self.report_with_hint(
                    config.place,
                    "`service` is missing: tokens are made for one",
                    "service = \"HTTP/books.example@EXAMPLE.COM\"",
                );
                return None;
            };
            let service = self.principal(service)?;
            let credential = match (&config.cache, &config.keytab, &config.principal) {
                (Some(cache), None, None) => ClientCredential::Cache(cache.clone()),
                (None, Some(file), Some(principal)) => {
                    self.readable(file, config)?;
                    ClientCredential::Keytab {
                        file: file.clone(),
                        principal: self.principal(principal)?,
                    }
                }
                _ => {
                    self.report_with_hint(
                        config.place,
                        "tokens are made with the tickets of a cache, or with the keys of a client",
                        "keytab = \"alice.keytab\", principal = \"alice@EXAMPLE.COM\"; or cache = \"/run/krb5cc\"",
                    );
                    return None;
                }
            };
            let initiator = Initiator::new(InitiatorRules {
                service,
                credential,
                framing: framing(config.form),
                enctypes: self.enctypes(config)?,
                timeout: config.timeout.unwrap_or(InitiatorRules::TIMEOUT),
            });
            match initiator {
                Ok(initiator) => Some(Kerberos::Initiates {
                    initiator,
                    once: config.once,
                    session: Mutex::default(),
                }),
                Err(error) => {
                    self.report(config.place, error.to_string());
                    None
                }
            }
        }

        /// Reports keys of the table that speak of the other side.
        fn refuse_keys_of_others(
            &mut self,
            config: &KerberosConfig,
            keys: &[(&str, bool)],
            what: &str,
        ) {
            for (key, _) in keys.iter().filter(|(_, given)| *given) {
                let message = format!("`{key}` is given, and this side {what}");
                self.report_with_hint(config.place, message, "leave it out");
            }
        }

        /// Reports a keytab that cannot be read.
        fn readable(&mut self, keytab: &Path, config: &KerberosConfig) -> Option<()> {
            let opened = std::fs::File::open(keytab).map(drop);
            let reported = opened.map_err(|error| {
                let message = format!("`{}`: {error}", keytab.display());
                self.report(config.place, message);
            });
            reported.ok()
        }

        fn principal(&mut self, name: &Located<String>) -> Option<Principal> {
            match Principal::parse(&name.value) {
                Ok(principal) => Some(principal),
                Err(error) => {
                    self.report(name.place, error.to_string());
                    None
                }
            }
        }

        fn enctypes(&mut self, config: &KerberosConfig) -> Option<Vec<Enctype>> {
            let Some(names) = &config.enctypes else {
                return Some(Enctype::STRONG.to_vec());
            };
            let mut found = Vec::with_capacity(names.len());
            for name in names {
                match Enctype::from_name(&name.value) {
                    Some(enctype) => found.push(enctype),
                    None => {
                        let known: Vec<_> = Enctype::names().collect();
                        self.report_with_hint(
                            name.place,
                            format!("expected an encryption type of Kerberos, found {OTHER_TEXT}"),
                            format!("one of {}", known.join(", ")),
                        );
                    }
                }
            }
            (found.len() == names.len()).then_some(found)
        }
    }
}

#[cfg(not(feature = "kerberos"))]
mod without_library {
    use super::{
        Compiler, KerberosConfig, KerberosName, KerberosSession, Memory, Rejected, Role,
        SecureError, Timestamp,
    };

    /// The tokens of an endpoint: this build has none.
    #[derive(Debug)]
    pub(in super::super) enum Kerberos {}

    impl Kerberos {
        pub(in super::super) fn session(
            &self,
            _: KerberosName,
            _: Memory<'_>,
            _: &str,
            _: Timestamp,
        ) -> Result<Option<KerberosSession>, Rejected> {
            match *self {}
        }

        pub(in super::super) fn begin(
            &self,
            _: Timestamp,
        ) -> Result<Option<KerberosSession>, SecureError> {
            match *self {}
        }

        pub(in super::super) fn forget(&self, _: &[u8; 20]) {
            match *self {}
        }

        pub(in super::super) fn accepts_client(&self, _: &str) -> bool {
            match *self {}
        }

        pub(in super::super) const fn initiates(&self) -> bool {
            match *self {}
        }
    }

    impl Compiler<'_> {
        /// Says that there is no Kerberos.
        pub(in super::super) fn kerberos(
            &mut self,
            config: &KerberosConfig,
            _: Role,
        ) -> Option<Kerberos> {
            let message = "this build cannot use Kerberos tokens: it is built without Kerberos";
            let hint = "build it with the feature `kerberos`";
            self.report_with_hint(config.place, message, hint);
            None
        }
    }
}
