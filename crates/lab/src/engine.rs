//! The engine, bytes to bytes: `secure` from the plain envelope to the secured one, `open` the
//! reverse, for each mechanism, suite and payload; and beside them, in the same run, the work that
//! no implementation can avoid.

use std::cell::RefCell;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::crypto::{Curve, KeyKind, SecretBytes, SymmetricKey};
use soapstone::endpoint::{Call, Memory, Opener, Securer};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{
    ContextName, ContextOwner, ConversationVersion, Facts, KeyBinding, Mechanism, Outgoing,
    SecurityContext, Suite, Tuning,
};
use soapstone::xml::Buffers;

use crate::loopback::Loopback;
use crate::measurement::{
    self, Effort, Figures, HOLDER_OF_KEY, KERBEROS_KEY, Measurement, PARTS, PRIVATE_KEY, Samples,
    UNAVOIDABLE,
};
use crate::parts::{self, Parts};
use crate::payload::Payload;
use crate::peers::{PASSWORD, Peers, USER};
use crate::segments;
use crate::tokens;

/// What to run.
#[derive(Debug)]
pub struct Options {
    /// Only cases whose [name](Case::name) has every one of these in it, in whole segments:
    /// `sign-encrypt`, `echo/1000`.
    pub filter: Vec<String>,
    /// How long to repeat each.
    pub effort: Effort,
    /// Optimisations in force.
    pub tuning: Tuning,
    /// Before each operation of a case a small message goes there and comes back, as between the
    /// calls of a gateway.
    pub between_calls: Option<Loopback>,
}

impl Default for Options {
    /// Everything, as it is used.
    fn default() -> Self {
        Self {
            filter: Vec::new(),
            effort: Effort::FULL,
            tuning: Tuning::default(),
            between_calls: None,
        }
    }
}

impl Options {
    /// Whether a case of this name is run.
    pub fn lets_through(&self, name: &str) -> bool {
        self.filter.iter().all(|wanted| segments::has(name, wanted))
    }

    /// The first filter that is in none of the [`names`], and what is nearest to it there, the
    /// nearest first.
    pub fn in_no_name(&self) -> Option<(&str, Vec<String>)> {
        let names = names();
        let mut filters = self.filter.iter();
        let unknown = filters.find(|wanted| !names.iter().any(|it| segments::has(it, wanted)))?;
        Some((unknown, segments::near(&names, unknown)))
    }
}

/// What is measured as messages in turns with work that they cannot avoid.
const IN_TURNS: [&str; 2] = [UNAVOIDABLE, PRIVATE_KEY];

/// What is measured as messages under tokens, in turns with the messages that they are compared
/// with.
const UNDER_TOKENS: [&str; 2] = [HOLDER_OF_KEY, KERBEROS_KEY];

/// Names of everything that can be run, in the order of running: the unavoidable parts by payload,
/// messages in turns with them, messages under tokens, then the cases.
pub fn names() -> Vec<String> {
    std::iter::once(PARTS)
        .chain(IN_TURNS)
        .flat_map(|name| Payload::ALL.map(|payload| name_beside(name, payload)))
        .chain(
            UNDER_TOKENS
                .into_iter()
                .flat_map(|name| tokens::PAYLOADS.map(|payload| name_beside(name, payload))),
        )
        .chain(Case::all().iter().map(Case::name))
        .collect()
}

fn name_beside(name: &str, payload: Payload) -> String {
    format!("{name}/{}/{}", payload.kind(), payload.items())
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    mechanism: Mechanism,
    suite: &'static str,
    binding: KeyBinding,
    payload: Payload,
}

/// Suites with certificates: authenticated encryption, the classic default, what partners without
/// GCM speak today, and the slowest that is still asked for.
const SUITES: [&str; 5] = [
    "Basic128GCM",
    "Basic256GCM",
    "Basic256",
    "Basic256Sha256+RsaSha256",
    "TripleDes",
];
/// Without an RSA key, on P-256; for the mechanism that has to do with all of a suite.
const AGREEING_SUITE: &str = "Basic128GCMEcdhEs";
/// Suites with a shared key, whose signatures are HMAC-SHA256 in both.
const SHARED_SUITES: [&str; 2] = ["Basic128GCM", "Basic256Sha256+RsaSha256"];
/// Suites that conversations are measured with.
pub const CONVERSATION_SUITES: [&str; 3] = ["Basic128GCM", "Basic256", "Basic256Sha256"];

impl Case {
    /// `sign-encrypt/Basic128GCM/certificate/books/100`.
    pub fn name(&self) -> String {
        format!(
            "{}/{}/{}/{}/{}",
            self.mechanism,
            self.suite,
            binding_name(self.binding),
            self.payload.kind(),
            self.payload.items()
        )
    }

    /// Every case, the cheap mechanisms first.
    pub fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for mechanism in Mechanism::SINGLE {
            let certificate = SUITES.iter().map(|suite| (*suite, KeyBinding::Certificate));
            let shared = SHARED_SUITES
                .iter()
                .map(|suite| (*suite, KeyBinding::Shared));
            // A suite makes no difference to what neither signs nor encrypts.
            let keyed = mechanism.signs() || mechanism.encrypts();
            let agreeing = (mechanism == Mechanism::SignEncrypt)
                .then_some((AGREEING_SUITE, KeyBinding::Certificate));
            let variants: Vec<_> = if keyed {
                certificate.chain(agreeing).chain(shared).collect()
            } else {
                certificate.take(1).collect()
            };
            for (suite, binding) in variants {
                cases.extend(Payload::ALL.into_iter().map(|payload| Self {
                    mechanism,
                    suite,
                    binding,
                    payload,
                }));
            }
        }
        for suite in CONVERSATION_SUITES {
            cases.extend(Payload::ALL.into_iter().map(|payload| Self {
                mechanism: Mechanism::SecureConversation,
                suite,
                binding: KeyBinding::Context,
                payload,
            }));
        }
        cases
    }
}

fn binding_name(binding: KeyBinding) -> &'static str {
    match binding {
        KeyBinding::Shared => "shared",
        KeyBinding::Context => "context",
        KeyBinding::Password => "password",
        _ => "certificate",
    }
}

/// Runs the cases that the filter lets through, and hands each measurement to `emit` as it is made.
pub fn run(options: &Options, emit: &mut dyn FnMut(&Measurement)) {
    let peers = Peers::new();
    let agreeing = Peers::with_keys(KeyKind::Ec(Curve::P256));
    for payload in Payload::ALL {
        if options.lets_through(&name_beside(PARTS, payload)) {
            parts::run(payload, options.effort, emit);
        }
    }
    for mechanism in IN_TURNS {
        for payload in Payload::ALL {
            if options.lets_through(&name_beside(mechanism, payload)) {
                run_beside(mechanism, payload, &peers, options, emit);
            }
        }
    }
    for mechanism in UNDER_TOKENS {
        for payload in tokens::PAYLOADS {
            if options.lets_through(&name_beside(mechanism, payload)) {
                let run = match mechanism {
                    HOLDER_OF_KEY => tokens::run_holder_of_key,
                    _ => tokens::run_kerberos,
                };
                run(payload, &peers, options.tuning, options.effort, emit);
            }
        }
    }
    for case in Case::all() {
        if options.lets_through(&case.name()) {
            let peers = match case.suite {
                AGREEING_SUITE => &agreeing,
                _ => &peers,
            };
            run_case(&case, peers, options, emit);
        }
    }
}

/// A conversation that was begun before measuring: the steady state.
#[derive(Debug)]
pub(crate) struct Established(SecurityContext);

impl Established {
    pub(crate) fn new() -> Self {
        let now = Timestamp::now();
        Self(SecurityContext {
            version: ConversationVersion::V13,
            identifier: "urn:uuid:00000000-0000-4000-8000-000000000000".to_owned(),
            instance: None,
            secret: SymmetricKey::generate(32).expect("a key"),
            created: now,
            expires: now + SignedDuration::from_hours(12),
            owner: ContextOwner::Anonymous,
        })
    }
}

impl Established {
    /// What secures messages within it.
    pub(crate) fn outgoing(&self) -> Outgoing<'_> {
        Outgoing::within(&self.0)
    }

    /// What opens messages within it.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            contexts: vec![self.0.clone()],
            ..Facts::default()
        }
    }
}

impl ContextStore for Established {
    fn find(
        &self,
        _: &str,
        name: &ContextName,
        _: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        Ok((name.identifier == self.0.identifier).then(|| self.0.clone()))
    }

    fn insert(&self, _: &str, _: &SecurityContext) -> Result<(), StoreUnavailable> {
        Err(StoreUnavailable::Full { capacity: Some(1) })
    }

    fn renew(
        &self,
        _: &str,
        _: &SecurityContext,
        _: Duration,
        _: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn amend(
        &self,
        _: &str,
        _: &SecurityContext,
        _: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn cancel(&self, _: &str, _: &str) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }
}

fn run_case(case: &Case, peers: &Peers, options: &Options, emit: &mut dyn FnMut(&Measurement)) {
    let parties = Parties::of(case, peers, options);
    let mut measure = |op: &'static str, samples: Samples| {
        emit(&Measurement {
            between_calls: options.between_calls.is_some(),
            ..parties.measurement(op, case.mechanism.name(), samples.figures())
        });
    };
    let prepared = |message: &[u8]| {
        let copy = parties.copy(message);
        if let Some(loopback) = &options.between_calls {
            loopback.round_trip();
        }
        copy
    };
    let copy = || prepared(&parties.plain);
    let samples = Samples::of_prepared(options.effort, copy, |bytes| parties.secure(bytes));
    measure("secure", samples);
    let copy = || prepared(&parties.secured);
    let samples = Samples::of_prepared(options.effort, copy, |bytes| parties.open(bytes));
    measure("open", samples);
}

/// Both operations of a message, each in turns with work that it cannot avoid: all of it, or what
/// its private key does. What slows the machine down slows both, so that their ratio is that of the
/// work.
fn run_beside(
    mechanism: &'static str,
    payload: Payload,
    peers: &Peers,
    options: &Options,
    emit: &mut dyn FnMut(&Measurement),
) {
    let case = Case {
        mechanism: Mechanism::SignEncrypt,
        suite: parts::SUITE,
        binding: KeyBinding::Certificate,
        payload,
    };
    let parties = Parties::of(&case, peers, options);
    let parts = Parts::new(payload.envelope());
    let mut measure = |ops: [&'static str; 2], (message, beside): (Samples, Samples)| {
        for (op, samples) in ops.into_iter().zip([message, beside]) {
            emit(&parties.measurement(op, mechanism, samples.figures()));
        }
    };
    let to_secure = || parties.copy(&parties.plain);
    let to_open = || parties.copy(&parties.secured);
    let secure = |bytes| parties.secure(bytes);
    let open = |bytes| parties.open(bytes);
    let effort = options.effort;
    if mechanism == PRIVATE_KEY {
        let rsa = &parts.rsa;
        let samples = Samples::in_turns(effort, || (to_secure(), ()), secure, |()| rsa.sign());
        measure(["secure", "part-rsa-sign"], samples);
        let samples = Samples::in_turns(effort, || (to_open(), ()), open, |()| rsa.unwrap());
        measure(["open", "part-rsa-unwrap"], samples);
    } else {
        let samples = Samples::in_turns(
            effort,
            || (to_secure(), (parts.message(), parts.to_seal())),
            secure,
            |(message, to_seal)| parts.secure(message, to_seal),
        );
        measure(["secure", "secure-parts"], samples);
        let samples = Samples::in_turns(
            effort,
            || (to_open(), (parts.message(), parts.to_open())),
            open,
            |(message, sealed)| parts.open_secured(message, sealed),
        );
        measure(["open", "open-parts"], samples);
    }
}

/// Both sides of a case, and its message.
struct Parties<'a> {
    case: &'a Case,
    tuning: Tuning,
    sender: Securer,
    receiver: Opener,
    established: Established,
    plain: Vec<u8>,
    secured: Vec<u8>,
    buffers: RefCell<Buffers>,
}

impl<'a> Parties<'a> {
    fn of(case: &'a Case, peers: &Peers, options: &Options) -> Self {
        let suite = Suite::called(case.suite).expect("a suite of the table");
        let (outbound, inbound) = peers.plans(case.mechanism, &suite, case.binding, options.tuning);
        let limits = Payload::limits();
        let mut parties = Self {
            case,
            tuning: options.tuning,
            sender: Securer::of_plan(outbound, limits.clone()),
            receiver: Opener::of_plan(inbound, limits)
                .with_user(USER, SecretBytes::copy_of(PASSWORD)),
            established: Established::new(),
            plain: case.payload.envelope(),
            secured: Vec::new(),
            buffers: RefCell::default(),
        };
        let mut buffers = Buffers::default();
        parties.secured = parties.secured(parties.plain.clone(), &mut buffers);
        parties
    }

    fn copy(&self, of: &[u8]) -> Vec<u8> {
        let mut bytes = self.buffers.borrow_mut().take(of.len());
        bytes.extend_from_slice(of);
        bytes
    }

    fn secured(&self, bytes: Vec<u8>, buffers: &mut Buffers) -> Vec<u8> {
        let outgoing = if self.case.binding == KeyBinding::Context {
            self.established.outgoing()
        } else {
            Outgoing::default()
        };
        self.sender
            .secure_with(bytes, outgoing, &mut Call::new(Timestamp::now(), buffers))
            .expect("a message that can be secured")
            .bytes
    }

    fn secure(&self, bytes: Vec<u8>) {
        let buffers = &mut self.buffers.borrow_mut();
        let secured = self.secured(bytes, buffers);
        buffers.give(secured);
    }

    fn open(&self, bytes: Vec<u8>) {
        let memory = Memory {
            replay: &ForgetfulReplayCache,
            contexts: &self.established,
        };
        let buffers = &mut self.buffers.borrow_mut();
        let opened = self
            .receiver
            .open_with(
                bytes,
                None,
                memory,
                &mut Call::new(Timestamp::now(), buffers),
            )
            .expect("a message that is accepted");
        buffers.give(opened.bytes);
    }

    fn measurement(
        &self,
        op: &'static str,
        mechanism: &'static str,
        figures: Figures,
    ) -> Measurement {
        Measurement {
            suite: self.case.suite.to_owned(),
            binding: binding_name(self.case.binding).into(),
            bytes: self.plain.len(),
            secured_bytes: self.secured.len(),
            tuning: measurement::Tuning {
                canonical_runs: self.tuning.canonical_runs,
                derived_keys: self.tuning.derived_keys.is_some(),
            },
            ..Measurement::ours(op, mechanism, self.case.payload, &figures)
        }
    }
}
