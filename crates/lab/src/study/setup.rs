//! What lies between a client and a service: gateways or none, what carries messages, and how they
//! are secured.
//!
//! The rule kept here: the name of an arm says all that its baselines and conclusions ask for.

use serde::{Deserialize, Serialize};
use soapstone::wss::{Mechanism, SUITE_NAMES, Suite};

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Plain HTTP/1.1.
    Http,
    /// HTTP/1.1 over TLS, between the gateways where there are some.
    Https,
    /// The same with a connection of its own for each call, whose handshake resumes no earlier one.
    #[serde(rename = "https-new-connection")]
    HttpsAnew,
}

impl Transport {
    /// Its name in arms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::HttpsAnew => "https-new-connection",
        }
    }

    /// Whether it is TLS.
    pub const fn is_tls(self) -> bool {
        !matches!(self, Self::Http)
    }
}

/// What a mechanism proves with, where there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// Signatures with RSA keys of certificates, and digests of passwords.
    Usual,
    /// Signatures by HMAC with a key that both sides hold.
    SharedKey,
    /// Signatures by DSA-SHA-1 with keys of 1024 bits.
    Dsa,
    /// Signatures by ECDSA-SHA-256 with keys on P-256.
    Ecdsa,
    /// Passwords as text.
    PasswordText,
    /// Passwords as text in a token that is signed by HMAC-SHA-1 with a key that both sides hold.
    SignedPasswordText,
    /// Keys that are derived from a user's password.
    PasswordKey,
    /// The session key of a Kerberos token that each request carries.
    Kerberos,
    /// The session key of a Kerberos token that the first request carries, and later ones name.
    KerberosOnce,
    /// The key of a certificate that a SAML assertion names, which each request carries.
    SamlHolder,
    /// The key of a certificate, which signs the SAML assertion of a bearer, too.
    SamlBearer,
    /// As [`Proof::SamlHolder`], with an assertion that the gateway for clients has from a token
    /// service, and keeps.
    SamlIssued,
    /// As [`Proof::SamlHolder`], with an assertion that requests name, and that the receiver
    /// fetches from its authority, and keeps.
    SamlReference,
    /// The same, with a receiver that keeps none: each request has the authority asked.
    SamlReferenceCold,
}

impl Proof {
    /// Whether it takes a KDC.
    pub const fn is_kerberos(self) -> bool {
        matches!(self, Self::Kerberos | Self::KerberosOnce)
    }
}

/// How a mechanism's messages are made, where a study does not make them as the preset does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// As the preset says.
    #[default]
    Preset,
    /// As Rampart's samples of Rodrigues et al.: a message that is only encrypted has no Timestamp,
    /// the receiver's key is named by the thumbprint of its certificate, and so is the key that
    /// signs an encrypted answer. Other signatures have their certificate in the message.
    Thumbprints,
}

/// What lies between the client and the service of a call, and how its messages are secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Past the gateways, straight to the service (over TLS, to one that ends it before the
    /// service); other stacks have no gateways and take both the same way.
    pub direct: bool,
    /// What carries messages.
    pub transport: Transport,
    /// How messages are secured.
    pub mechanism: Mechanism,
    /// With what kind of key or password.
    pub proof: Proof,
    /// With which algorithms; empty, where nothing is signed or encrypted.
    pub suite: &'static str,
    /// Bits of the RSA keys of both sides.
    pub rsa_bits: u32,
    /// How messages are made.
    pub form: Form,
    /// A gateway that is deployed for it sends a request of its own before anybody calls.
    pub warmed_up: bool,
    /// Through gateways that are beside issuers of tokens, a KDC and a token service, each in a
    /// process of its own.
    pub beside_issuers: bool,
}

impl Setup {
    /// To the service, without gateways.
    pub const DIRECT: Self = Self {
        direct: true,
        ..Self::PLAIN
    };

    /// Through both gateways without security: what secured calls are compared with.
    pub const PLAIN: Self = Self {
        direct: false,
        transport: Transport::Http,
        mechanism: Mechanism::None,
        proof: Proof::Usual,
        suite: "",
        rsa_bits: 2048,
        form: Form::Preset,
        warmed_up: false,
        beside_issuers: false,
    };

    /// Secured by a mechanism.
    pub const fn secured(mechanism: Mechanism, suite: &'static str) -> Self {
        Self {
            mechanism,
            suite,
            ..Self::PLAIN
        }
    }

    /// The same, proven otherwise.
    pub const fn by(self, proof: Proof) -> Self {
        Self { proof, ..self }
    }

    /// The same over TLS.
    pub const fn over_tls(self) -> Self {
        Self {
            transport: Transport::Https,
            ..self
        }
    }

    /// The same over TLS with a handshake in each call.
    pub const fn over_new_tls(self) -> Self {
        Self {
            transport: Transport::HttpsAnew,
            ..self
        }
    }

    /// The same in messages of another form. Its name as an arm stays what it is.
    pub const fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// The same through gateways that were warmed up.
    pub const fn warmed_up(self) -> Self {
        Self {
            warmed_up: true,
            ..self
        }
    }

    /// The same beside issuers of tokens. Its name as an arm stays what it is.
    pub const fn beside_issuers(self) -> Self {
        Self {
            beside_issuers: true,
            ..self
        }
    }

    /// The same with RSA keys of so many bits.
    pub const fn with_rsa(self, rsa_bits: u32) -> Self {
        Self { rsa_bits, ..self }
    }

    /// The setup of this name as [`Setup::arm`] gives it, of those that a file can ask for: `none`,
    /// `https`, or a mechanism with a suite such as `sign-encrypt/Basic128GCM`, alone or behind
    /// `https+`.
    ///
    /// # Errors
    /// What is expected.
    pub fn named(text: &str) -> Result<Self, String> {
        if text == "https" {
            return Ok(Self::PLAIN.over_tls());
        }
        let (message, over_tls) = match text.strip_prefix("https+") {
            Some(message) => (message, true),
            None => (text, false),
        };
        let (mechanism, suite) = match message.split_once('/') {
            Some((mechanism, suite)) => (mechanism, Some(suite)),
            None => (message, None),
        };
        let mechanism: Mechanism = mechanism.parse().map_err(|_| {
            let names = Mechanism::ALL.map(Mechanism::name).join(", ");
            format!("expected https or a mechanism ({names}), alone or behind https+")
        })?;
        let suite = match (suite, mechanism.signs() || mechanism.encrypts()) {
            (None, false) => "",
            (Some(_), false) => return Err(format!("{mechanism} has no suite")),
            (None, true) => {
                return Err(format!(
                    "expected a suite behind {mechanism}, such as {mechanism}/Basic128GCM"
                ));
            }
            (Some(suite), true) => *SUITE_NAMES
                .iter()
                .find(|name| **name == suite)
                .ok_or_else(|| format!("expected a suite ({})", SUITE_NAMES.join(", ")))?,
        };
        let setup = Self::secured(mechanism, suite);
        Ok(if over_tls { setup.over_tls() } else { setup })
    }

    /// Whether the suite's session keys are agreed on, with certificates on P-256 that sign as
    /// well.
    pub fn agrees(&self) -> bool {
        Suite::named(self.suite).is_some_and(|suite| suite.only_agrees())
    }

    /// Whether each message is protected with keys of certificates on P-256, by which session keys
    /// are agreed on, too.
    pub fn has_elliptic_keys(&self) -> bool {
        self.has_usual_keys() && self.agrees()
    }

    /// Whether each message is protected with RSA keys of certificates.
    pub fn has_rsa_keys(&self) -> bool {
        self.has_usual_keys() && !self.agrees()
    }

    fn has_usual_keys(&self) -> bool {
        let certificates = matches!(
            self.proof,
            Proof::Usual
                | Proof::SamlHolder
                | Proof::SamlBearer
                | Proof::SamlIssued
                | Proof::SamlReference
                | Proof::SamlReferenceCold
        );
        certificates
            && self.mechanism != Mechanism::SecureConversation
            && (self.mechanism.signs() || self.mechanism.encrypts())
    }

    /// The mechanism and what it proves with: `sign`, `sign-hmac`, `sign-dsa`, `sign-ecdsa`,
    /// `username`, `username-text`, `username-hmac`, `username-text-hmac`, `sign-encrypt-kerberos`,
    /// `sign-encrypt-saml-holder`. Programs of other stacks are told it.
    pub fn mechanism_name(&self) -> String {
        let mechanism = self.mechanism.name();
        match self.proof {
            Proof::Usual => mechanism.to_owned(),
            Proof::SharedKey => format!("{mechanism}-hmac"),
            Proof::Dsa => format!("{mechanism}-dsa"),
            Proof::Ecdsa => format!("{mechanism}-ecdsa"),
            Proof::PasswordText => format!("{mechanism}-text"),
            Proof::SignedPasswordText => format!("{mechanism}-text-hmac"),
            Proof::PasswordKey => format!("{mechanism}-password"),
            Proof::Kerberos => format!("{mechanism}-kerberos"),
            Proof::KerberosOnce => format!("{mechanism}-kerberos-once"),
            Proof::SamlHolder => format!("{mechanism}-saml-holder"),
            Proof::SamlBearer => format!("{mechanism}-saml-bearer"),
            Proof::SamlIssued => format!("{mechanism}-saml-issued"),
            Proof::SamlReference => format!("{mechanism}-saml-reference"),
            Proof::SamlReferenceCold => format!("{mechanism}-saml-reference-cold"),
        }
    }

    /// Its name as an arm: `direct`, `none`, `https`, `username`, `https+username`,
    /// `sign-encrypt/Basic256`, `sign/Basic256/rsa1024`, `sign-encrypt+warm-up/Basic256`.
    pub fn arm(&self) -> String {
        if self.direct {
            return match self.transport {
                Transport::Http => "direct".to_owned(),
                over => format!("direct+{}", over.name()),
            };
        }
        let mechanism = self.mechanism_name();
        let mut name = match (self.transport, self.mechanism) {
            (Transport::Http, _) => mechanism,
            (over, Mechanism::None) => over.name().to_owned(),
            (over, _) => format!("{}+{mechanism}", over.name()),
        };
        if self.warmed_up {
            name.push_str("+warm-up");
        }
        if !self.suite.is_empty() {
            name = format!("{name}/{}", self.suite);
        }
        if self.rsa_bits != Self::PLAIN.rsa_bits {
            name = format!("{name}/rsa{}", self.rsa_bits);
        }
        name
    }
}
