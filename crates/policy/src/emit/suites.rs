//! Names for algorithm suites.
//!
//! The one rule: a suite is called what its algorithms are, never what its own name resembles:
//! CXF's `Basic256GCM` signs with SHA-1, and an endpoint file's does not. Algorithms that no
//! message uses do not count.

use soapstone_crypto::{DataEncryption, DigestAlgorithm, SignatureAlgorithm};
use soapstone_wss::{
    KeyAgreementMethod, KeyBinding, KeyTransportMethod, Policy, SHA256_SIGNATURES, SUITE_NAMES,
    Suite,
};
use soapstone_xml::Canonicalization;

use crate::compile::{ExchangePolicy, SignatureReading};
use crate::names::CXF_SUITES;
use crate::requirements::{CXF_SUITE_NAMES, suite_in_namespace_of_cxf};

/// What a suite is called that nothing uses, and the first that is tried.
const CUSTOMARY: &str = "Basic256Sha256";

/// The algorithms of a suite that messages under a policy use.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Algorithms<'s> {
    signature: &'s [SignatureAlgorithm],
    symmetric_signature: &'s [SignatureAlgorithm],
    digest: &'s [DigestAlgorithm],
    canonicalization: &'s [Canonicalization],
    key_transport: &'s [KeyTransportMethod],
    key_agreement: &'s [KeyAgreementMethod],
    data: &'s [DataEncryption],
}

impl<'s> Algorithms<'s> {
    /// Those of `suite` that a policy has used.
    pub(super) fn of(suite: &'s Suite, policy: &Policy) -> Self {
        fn only<T>(list: &[T], used: bool) -> &[T] {
            if used { list } else { &[] }
        }
        let signs = policy.signature().map(|signature| signature.key);
        let encrypts = policy.encryption().map(|encryption| encryption.key);
        let endorses =
            |with: KeyBinding| policy.endorsing_beside().any(|one| one.key.kind() == with);
        let by_certificate =
            signs == Some(KeyBinding::Certificate) || endorses(KeyBinding::Certificate);
        let by_symmetric_key = signs.is_some_and(|key| key != KeyBinding::Certificate)
            || policy.endorsing_beside().any(|one| one.key.is_secret());
        let wraps =
            encrypts == Some(KeyBinding::Certificate) || policy.uses(KeyBinding::SessionKey);
        Self {
            signature: only(&suite.signature, by_certificate),
            symmetric_signature: only(&suite.symmetric_signature, by_symmetric_key),
            digest: only(&suite.digest, signs.is_some()),
            canonicalization: only(&suite.canonicalization, signs.is_some()),
            key_transport: only(&suite.key_transport, wraps),
            key_agreement: only(&suite.key_agreement, wraps),
            data: only(&suite.data, encrypts.is_some()),
        }
    }
}

/// Whether every suite of an exchange policy has a name, if `…Sha256` suites are read like this.
pub(super) fn all_named(exchange: &ExchangePolicy, reading: SignatureReading) -> bool {
    let bootstrap = exchange
        .conversation
        .as_ref()
        .and_then(|conversation| conversation.bootstrap.as_ref());
    assertion(exchange, reading).is_some()
        && bootstrap.is_none_or(|bootstrap| all_named(bootstrap, reading))
}

/// The assertion that names the algorithms of an exchange policy's messages.
pub(super) fn assertion(exchange: &ExchangePolicy, reading: SignatureReading) -> Option<String> {
    let fits = |suite: Suite| {
        let suite = match reading {
            SignatureReading::Sha256 if suite.name.contains("Sha256") => {
                suite.with_sha256_signatures()
            }
            _ => suite,
        };
        [&exchange.request, &exchange.response]
            .into_iter()
            .all(|policy| Algorithms::of(&suite, policy) == Algorithms::of(&policy.suite, policy))
    };
    let own = letter(&exchange.request.suite.name);
    let classic = [own, CUSTOMARY]
        .into_iter()
        .chain(SUITE_NAMES)
        .filter(|name| !name.contains("GCM"))
        .find(|name| Suite::named(name).is_some_and(&fits));
    if let Some(name) = classic {
        return Some(format!("<sp:{name}/>"));
    }
    let cxf = CXF_SUITE_NAMES
        .into_iter()
        .find(|name| suite_in_namespace_of_cxf(name).is_some_and(&fits))?;
    Some(format!("<cxf:{cxf} xmlns:cxf=\"{CXF_SUITES}\"/>"))
}

/// Suites as strong as the one of a policy that have names, as endpoint files call them: the best
/// first.
pub(super) fn instead_of(suite: &Suite) -> Vec<String> {
    let base = match suite.data.first() {
        Some(DataEncryption::TripleDesCbc) => "TripleDes",
        Some(data) if data.key_length() == 16 => "Basic128",
        Some(data) if data.key_length() == 24 => "Basic192",
        _ => "Basic256",
    };
    ["Sha256+RsaSha256", "Sha256", ""]
        .into_iter()
        .map(|end| format!("{base}{end}"))
        .collect()
}

/// The name of the specification in the name that an endpoint file has for the second reading.
fn letter(name: &str) -> &str {
    name.strip_suffix(SHA256_SIGNATURES).unwrap_or(name)
}
