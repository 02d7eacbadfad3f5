//! In what a policy gives less than a provider and its clients assure each other.

use soapstone::crypto::KeyTransport;
use soapstone::policy::{ExchangePolicy, covers};
use soapstone::wss::{Binding, KeyBinding, Part, Policy};
use soapstone_broker::{Level, Property, SecurityIndex};

use super::proof::{Judged, PASSWORD, PRIVATE, judged};
use super::{OLD_PADDING, fewer_bits, weaker_user, wraps_by_old_padding};

/// In what some of these policies give less than a provider and its clients assure each other, past
/// a gateway that sees nothing of it.
pub(in crate::server::registry) fn less_than_assured(
    assured: &SecurityIndex,
    described: &[ExchangePolicy],
) -> Option<String> {
    let of = |one: &ExchangePolicy, assured: &SecurityIndex| {
        let (request, answer) = judged(one);
        let of_requests = gives_less(request, assured);
        let of_requests = of_requests.map(|why| format!("requests: {why}"));
        let of_answers = || gives_less(answer, assured);
        of_requests.or_else(|| of_answers().map(|why| format!("answers: {why}")))
    };
    // Header blocks of messages are in none of those that begin a conversation. Whom a beginning
    // proves has counted for its messages, and these may prove their sender themselves.
    let mut beginning = assured.clone();
    beginning.give(Property::Authentication, Level::None, 0);
    beginning.encrypted.retain(|name| name == "Body");
    described.iter().find_map(|one| {
        let begins = || {
            let described = one.conversation.as_ref()?.bootstrap.as_deref()?;
            // What is read there is the key of the conversation.
            let is_read = [&described.request, &described.response]
                .into_iter()
                .any(|it| comes_by_old_padding(it, assured));
            let assures = Property::ALL
                .into_iter()
                .any(|it| assured.of(it).level > Level::None);
            let why = of(described, &beginning);
            let why = why.or_else(|| (is_read && assures).then(|| OLD_PADDING.to_owned()))?;
            Some(format!("the beginning of conversations: {why}"))
        };
        of(one, assured).or_else(begins)
    })
}

fn gives_less(described: Judged<'_>, assured: &SecurityIndex) -> Option<String> {
    let signs = |part: &Part| {
        described
            .signature()
            .is_some_and(|it| it.parts.contains(part))
    };
    let key = described.signs_with();
    let proves = |least: u8| key.is_some_and(|key| described.proof(key) >= least);
    let proves_user = || weaker_user(&described).is_none();
    let endorses = || {
        let mut tokens = described.endorsing_beside();
        tokens.any(|it| described.proof(it.key.kind()) > 0)
    };
    let is_given = |property| match property {
        Property::Integrity => signs(&Part::Body),
        Property::Confidentiality => described.encrypts(&Part::Body),
        Property::Freshness => signs(&Part::Timestamp) && described.header.timestamp.is_some(),
        Property::NonRepudiation => proves(PRIVATE) && signs(&Part::Body),
        Property::Authentication => proves(PASSWORD) || endorses() || proves_user(),
        Property::EndToEnd => !described.is_by_connection() && described.binding != Binding::None,
    };
    let wanted = Property::ALL.into_iter();
    let mut wanted = wanted.filter(|it| assured.of(*it).level > Level::None);
    if let Some(property) = wanted.find(|it| !is_given(*it)) {
        return Some(format!("no {property}"));
    }
    let encrypts = |name: &&String| {
        let mut parts = described.encrypted_parts().iter();
        part_named(name).is_some_and(|part| parts.any(|it| covers(&it.part, &part)))
    };
    if let Some(part) = assured.encrypted.iter().find(|it| !encrypts(it)) {
        return Some(format!("{part} is not encrypted"));
    }
    if let Some(why) = weaker_than_assured(&described, assured) {
        return Some(why);
    }
    let is_assured = |property| assured.of(property).level > Level::None;
    let matters = match described.encryption().map(|it| it.key) {
        Some(KeyBinding::Certificate) => is_assured(Property::Confidentiality),
        // What signs as well.
        _ => Property::ALL.into_iter().any(is_assured),
    };
    (matters && comes_by_old_padding(&described, assured)).then(|| OLD_PADDING.to_owned())
}

/// Whether its session keys are wrapped to certificates, by nothing but the old padding, which
/// nobody permits. With the key of the request, requests have told.
fn comes_by_old_padding(policy: &Policy, assured: &SecurityIndex) -> bool {
    let old = KeyTransport::Rsa15.short_name();
    if assured.algorithms.iter().any(|name| name == old) {
        return false;
    }
    let encrypts = policy.encryption().map(|it| it.key);
    let wraps = matches!(
        encrypts.or(policy.signs_with()),
        Some(KeyBinding::SessionKey)
    ) || encrypts == Some(KeyBinding::Certificate);
    wraps && wraps_by_old_padding(policy)
}

/// The part that `Body` or `{namespace}name` names.
fn part_named(name: &str) -> Option<Part> {
    if name == "Body" {
        return Some(Part::Body);
    }
    let (namespace, local) = name.strip_prefix('{')?.rsplit_once('}')?;
    Some(Part::Header {
        namespace: namespace.to_owned(),
        local: local.to_owned(),
    })
}

/// Algorithms that are weaker than assured, or none of those that are named.
fn weaker_than_assured(described: &Policy, assured: &SecurityIndex) -> Option<String> {
    let suite = &described.suite;
    let signatures = match described.signs_with() {
        None => &[][..],
        Some(KeyBinding::Certificate) => &suite.signature,
        Some(_) => &suite.symmetric_signature,
    };
    let signatures: Vec<(&str, u16)> = signatures
        .iter()
        .map(|it| (it.short_name(), it.strength()))
        .collect();
    let data: Vec<(&str, u16)> = match described.encryption() {
        None => Vec::new(),
        Some(_) => suite
            .data
            .iter()
            .map(|it| (it.short_name(), it.strength()))
            .collect(),
    };
    let bits = |property| {
        let given = assured.of(property);
        (given.level > Level::None).then_some(given.bits)
    };
    let named = |name: &str| assured.algorithms.iter().any(|it| it == name);
    for (of, property, found) in [
        ("signatures", Property::Integrity, signatures),
        ("encryption", Property::Confidentiality, data),
    ] {
        let strongest = found.iter().map(|(_, bits)| *bits).max();
        if let Some(why) = fewer_bits(of, strongest, bits(property)) {
            return Some(why);
        }
        if let Some((first, _)) = found.first()
            && !found.iter().any(|(name, _)| named(name))
        {
            return Some(format!(
                "{of} by {first}, which is not one of those assured"
            ));
        }
    }
    let digests = suite.digest.iter().map(|it| it.collision_strength());
    // Whoever names signatures may leave out their digests.
    let digests = described.signs_with().and_then(|_| digests.max());
    fewer_bits("digests", digests, bits(Property::Integrity))
}
