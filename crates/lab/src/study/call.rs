//! A call, and the bench that answers it: which stack, which way, which operation.
//!
//! The rule kept here: a bench checks every answer, and a wrong one is a failure, never a figure.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use soapstone::wss::{Mechanism, SUITE_NAMES, Suite};

use super::condition::{Condition, Round};
use super::providers::{ProvidersRound, Trial};

/// What answers: one of ours, or a peer that runs as a program of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Two gateways before the sample services; for experiments in memory, the engine.
    Soapstone,
    /// Apache CXF 4.2 with WSS4J 4: a client and a server.
    Cxf,
    /// Apache CXF 3.5 with WSS4J 2.4: a client and a server.
    #[serde(rename = "cxf-3.5")]
    Cxf35,
    /// WSS4J in memory.
    Wss4j,
    /// libxmlsec1 in memory.
    Xmlsec1,
    /// gSOAP with its wsse plugin.
    Gsoap,
    /// Metro (WSIT): a client and a server.
    Metro,
    /// WCF as Mono has it: a client and a server.
    Wcf,
    /// No message security: the sample services behind TLS.
    Tls,
}

impl Stack {
    /// All of them; ours first.
    pub const ALL: [Self; 9] = [
        Self::Soapstone,
        Self::Cxf,
        Self::Cxf35,
        Self::Wss4j,
        Self::Xmlsec1,
        Self::Gsoap,
        Self::Metro,
        Self::Wcf,
        Self::Tls,
    ];

    /// Its name on the command line and in lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Soapstone => "soapstone",
            Self::Cxf => "cxf",
            Self::Cxf35 => "cxf-3.5",
            Self::Wss4j => "wss4j",
            Self::Xmlsec1 => "xmlsec1",
            Self::Gsoap => "gsoap",
            Self::Metro => "metro",
            Self::Wcf => "wcf",
            Self::Tls => "tls",
        }
    }

    /// Whether it is another stack whose client and server speak over a network.
    pub const fn is_foreign_pair(self) -> bool {
        matches!(
            self,
            Self::Cxf | Self::Cxf35 | Self::Gsoap | Self::Metro | Self::Wcf
        )
    }

    /// Whether a virtual machine compiles it while it runs.
    pub const fn is_compiled_late(self) -> bool {
        matches!(self, Self::Cxf | Self::Cxf35 | Self::Wss4j | Self::Metro)
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Stack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|stack| stack.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected a stack ({names}), found {text}")
        })
    }
}

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
    /// A SAML assertion that requests name, and the receiver has to fetch.
    SamlReference,
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

/// Which way a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
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

impl Way {
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

    /// The way of this name as [`Way::arm`] gives it, of those that a file can ask for: `none`,
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
        let way = Self::secured(mechanism, suite);
        Ok(if over_tls { way.over_tls() } else { way })
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
            Proof::Usual | Proof::SamlHolder | Proof::SamlBearer | Proof::SamlIssued
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

/// Where the service takes books from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Its memory.
    Memory,
    /// A database: its place in [`Scope::databases`](super::Scope::databases).
    Database(usize),
}

/// What is asked of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `getBooks(books)`.
    Books {
        /// Where they come from.
        source: Source,
        /// How many.
        books: u32,
    },
    /// `Echo` of a text of so many characters.
    Echo {
        /// How many.
        characters: u32,
    },
    /// `EchoStringArray` of so many strings.
    Strings {
        /// How many.
        elements: u32,
    },
    /// `Sum(a, b)`.
    Sum,
    /// `EmployeeDetails()`.
    Employees,
    /// `EmployeeDetails()` with the one record of CMU/SEI-2010-TR-023: eight strings, each "Hello
    /// World".
    OneEmployee,
    /// What `EmployeeDetails` gives, as JSON and by GET: how it is without SOAP.
    Resource,
    /// `getTemperature()`, which the service reads from a sensor's controller.
    Temperature(Sensor),
    /// A call of a service of the user's, whose request is a captured message: a place in
    /// [`OwnCalls::operations`](super::OwnCalls::operations).
    Own(usize),
}

/// What the controller of a sensor is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sensor {
    /// How long it takes to answer, ms.
    pub delay: u32,
    /// Requests that it does not answer, percent.
    pub lost: u32,
}

impl Sensor {
    /// One that answers every request at once.
    pub const PROMPT: Self = Self { delay: 0, lost: 0 };
}

/// What is done to a message in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From the plain message to the secured one.
    Secure,
    /// From the secured message to the plain one.
    Open,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Who answers.
    pub stack: Stack,
    /// Which way it takes.
    pub way: Way,
    /// What is asked.
    pub operation: Operation,
}

/// Bytes of request and response together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// As the client sends and gets them.
    pub plain: usize,
    /// As they travel secured; the same as plain, where nothing is.
    pub secured: usize,
    /// Request and response as they travel, each; nothing, where a stack tells their sum only.
    pub apart: Option<[usize; 2]>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCall<F> {
    /// The stack cannot do it: its arm is left out, and why is told.
    LeftOut(String),
    /// The run cannot go on.
    Failed(F),
}

impl<F> From<F> for NoCall<F> {
    fn from(failure: F) -> Self {
        Self::Failed(failure)
    }
}

/// Answers calls. Whoever runs studies puts it up, with all that [`needs`](super::needs) names.
pub trait Bench {
    /// Why a run cannot go on: a call failed, or its answer was wrong.
    type Failure;

    /// Whether to go on; asked before each point.
    ///
    /// # Errors
    /// Somebody wants the run to stop.
    fn go_on(&mut self) -> Result<(), Self::Failure> {
        Ok(())
    }

    /// Makes a call and checks the answer: the time from sending the request until the whole answer
    /// was there.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn call(&mut self, call: &Call) -> Result<Duration, NoCall<Self::Failure>>;

    /// Ends the conversation that the call is made in, so that the next one begins another; where
    /// it is made in none, there is nothing to end.
    ///
    /// # Errors
    /// The stack cannot do it.
    fn end_conversation(&mut self, _call: &Call) -> Result<(), NoCall<Self::Failure>> {
        Ok(())
    }

    /// Makes a call that nobody measures, to weigh its messages.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn weigh(&mut self, call: &Call) -> Result<Sizes, NoCall<Self::Failure>>;

    /// So many clients at once, each `requests` calls one after another: the time of each call.
    ///
    /// # Errors
    /// The stack cannot do it, a call failed, or its answer was wrong.
    fn together(
        &mut self,
        call: &Call,
        clients: u32,
        requests: u32,
    ) -> Result<Vec<Duration>, NoCall<Self::Failure>>;

    /// Calls that begin at a steady rate for a while, whether or not earlier ones have ended: the
    /// time of each from when it was to begin.
    ///
    /// # Errors
    /// The stack cannot do it, a call failed, or its answer was wrong.
    fn paced(
        &mut self,
        call: &Call,
        per_second: f64,
        lasting: Duration,
    ) -> Result<Vec<Duration>, NoCall<Self::Failure>>;

    /// Deploys everything that the call needs anew, and then makes so many calls with a new client:
    /// the time of each.
    ///
    /// # Errors
    /// The stack cannot do it, it cannot be deployed, a call failed, or its answer was wrong.
    fn fresh(&mut self, call: &Call, calls: u32) -> Result<Vec<Duration>, NoCall<Self::Failure>>;

    /// A new client, on what runs already: the time of its first call.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn newcomer(&mut self, _call: &Call) -> Result<Duration, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(
            "this stack has no clients that come later".to_owned(),
        ))
    }

    /// Makes a call whose client secures its request and opens the answer itself: the time from
    /// sending the request until the whole answer was there, and until it was opened.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn by_the_client(&mut self, _call: &Call) -> Result<[Duration; 2], NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(
            "its clients do not tell how long they open an answer".to_owned(),
        ))
    }

    /// Deploys the service's side in processes of its own, under a condition, and makes so many
    /// rounds of calls: in each, clients at once with `requests` calls one after another.
    ///
    /// # Errors
    /// The stack or the system cannot do it, a call failed, or its answer was wrong.
    fn under(
        &mut self,
        _call: &Call,
        condition: &Condition,
        _clients: u32,
        _requests: u32,
        _rounds: u32,
    ) -> Result<Vec<Round>, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(format!(
            "this stack cannot be put under a condition ({condition})"
        )))
    }

    /// A round of calls of clients at once to what is in front of providers, while something
    /// happens to these: `requests` calls of each, one after another.
    ///
    /// # Errors
    /// The front is not there, the system cannot make the trial, or nothing can be started.
    fn providers(
        &mut self,
        _call: &Call,
        _front: &str,
        trial: Trial,
        _clients: u32,
        _requests: u32,
    ) -> Result<ProvidersRound, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(format!(
            "this stack has no providers to choose among ({trial})"
        )))
    }

    /// Secures or opens the answer to the call in memory, bytes to bytes, so many times: the time
    /// of each.
    ///
    /// # Errors
    /// The stack cannot do it, or what came of it was wrong.
    fn process(
        &mut self,
        _call: &Call,
        _step: Step,
        _repetitions: u32,
    ) -> Result<Vec<Duration>, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(
            "this stack processes no messages in memory".to_owned(),
        ))
    }
}
