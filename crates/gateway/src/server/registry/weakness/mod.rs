//! In what a policy that a provider serves is weaker than the one that was agreed on with it.
//!
//! Requests are compared with requests, and answers with answers: parts and how much of each is
//! encrypted, keys and tokens, algorithms, and what tells copies and answers apart.
//!
//! Keys of conversations prove no more than the messages that begin them.
//!
//! The rule kept here: the strongest of what is described counts against the weakest of what was
//! agreed on. Nobody is guilty who serves the same in other words, or more.

use std::ops::Deref;

use soapstone::endpoint::{Calling, Endpoint};
use soapstone::policy::{ExchangePolicy, covers};
use soapstone::wss::{
    Binding, ConfirmationMethod, Extent, KeyBinding, KeyTransportMethod, Part, PasswordKind, Policy,
};
use soapstone_broker::{Level, Property, SecurityIndex};

/// The policy of messages that is compared, with what counts as proven of who began the
/// conversation that they belong to.
#[derive(Clone, Copy)]
struct Judged<'p> {
    policy: &'p Policy,
    begun: u8,
}

impl Deref for Judged<'_> {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        self.policy
    }
}

impl<'p> Judged<'p> {
    /// Of messages outside of conversations, or in one of which nobody knows who began it.
    fn alone(policy: &'p Policy) -> Self {
        Self { policy, begun: 0 }
    }

    /// How much a key proves of its holder.
    fn proof(self, key: KeyBinding) -> u8 {
        proof(key, self.begun)
    }

    fn name(self, key: KeyBinding) -> &'static str {
        match (key, self.begun) {
            (KeyBinding::Context, 0) => "the key of a conversation that anybody begins",
            (KeyBinding::Context, PASSWORD) => "the key of a conversation that a password begins",
            _ => name(key),
        }
    }
}

/// What counts of several ways in which a policy lets somebody be proven.
#[derive(Clone, Copy)]
enum Counts {
    /// Of what is described.
    Strongest,
    /// Of what was agreed on.
    Weakest,
}

/// The policies of one exchange with a provider, each with who began its conversation.
fn judged(one: &ExchangePolicy) -> (Judged<'_>, Judged<'_>) {
    let beginning = one.conversation.as_ref();
    let beginning = beginning.and_then(|it| it.bootstrap.as_deref());
    let by_certificate = |it: &ExchangePolicy| {
        let transport = it.transport.as_ref();
        u8::from(transport.is_some_and(|it| it.client_certificate)) * SHARED
    };
    let of_client = beginning.map(|it| {
        let asked = proven(&it.request, Counts::Strongest);
        asked.max(by_certificate(it))
    });
    let of_provider = beginning.map(|it| proven_provider(&it.response, Counts::Strongest));
    let request = Judged {
        policy: &one.request,
        begun: of_client.unwrap_or(0),
    };
    let answer = Judged {
        policy: &one.response,
        begun: of_provider.unwrap_or(0),
    };
    (request, answer)
}

/// In what some of these policies are weaker than all of the endpoint's.
pub(super) fn weakness(
    endpoint: &Endpoint<Calling>,
    described: &[ExchangePolicy],
) -> Option<String> {
    let begins = endpoint.conversation().map(|it| it.bootstrap());
    let begins = begins.map(|(request, answer)| (request.policy(), answer.policy()));
    let of_client = begins.map_or(0, |(it, _)| proven(it, Counts::Weakest));
    let of_provider = begins.map_or(0, |(_, it)| proven_provider(it, Counts::Weakest));
    let with = |policy, begun| Judged { policy, begun };
    let requests = endpoint.outbound().map(|it| with(it.policy(), of_client));
    let answers = endpoint.inbound().map(|it| with(it.policy(), of_provider));
    let agreed = Agreed {
        requests: requests.collect(),
        answers: answers.collect(),
        begins,
    };
    agreed.weakness(described)
}

/// What was agreed on with a provider.
struct Agreed<'p> {
    requests: Vec<Judged<'p>>,
    answers: Vec<Judged<'p>>,
    /// The messages that begin conversations: requests and answers.
    begins: Option<(&'p Policy, &'p Policy)>,
}

impl Agreed<'_> {
    fn weakness(&self, described: &[ExchangePolicy]) -> Option<String> {
        described.iter().find_map(|one| {
            let why = of_exchange(one, &self.requests, &self.answers);
            why.or_else(|| self.weaker_beginning(one))
        })
    }

    /// In what conversations begin weaker: than agreed, or than messages do without any.
    fn weaker_beginning(&self, one: &ExchangePolicy) -> Option<String> {
        let described = one.conversation.as_ref()?.bootstrap.as_deref()?;
        let why = match self.begins {
            Some((request, answer)) => {
                let (request, answer) = (Judged::alone(request), Judged::alone(answer));
                of_exchange(described, &[request], &[answer])
            }
            None => of_beginning(described, &self.requests, &self.answers),
        };
        why.map(|why| format!("the beginning of conversations: {why}"))
    }
}

fn of_exchange(
    described: &ExchangePolicy,
    requests: &[Judged<'_>],
    answers: &[Judged<'_>],
) -> Option<String> {
    let (request, answer) = judged(described);
    let of_requests = weaker_than_all(request, requests, weaker);
    let of_answers = || weaker_than_all(answer, answers, weaker_answer);
    let of_requests = of_requests.map(|why| format!("requests: {why}"));
    of_requests.or_else(|| of_answers().map(|why| format!("answers: {why}")))
}

/// In what the messages that begin a conversation are weaker than those that were agreed on without
/// one. Headers and tokens of the latter are in messages of the conversation.
fn of_beginning(
    described: &ExchangePolicy,
    requests: &[Judged<'_>],
    answers: &[Judged<'_>],
) -> Option<String> {
    let begins = |described: Judged<'_>, agreed: Judged<'_>| {
        let mut least = agreed.policy.clone();
        let is_body = |part: &Part| *part == Part::Body;
        least.parts.signed.retain(is_body);
        least.parts.encrypted.retain(|it| is_body(&it.part));
        let least = Judged::alone(&least);
        // Who begins it has been compared as the holder of its key.
        let steps = [weaker_connection, weaker_algorithms, weaker_encryption];
        let found = steps.into_iter().find_map(|step| step(described, least));
        let is_protected = agreed.is_by_connection()
            || agreed.signature().is_some()
            || agreed.encryption().is_some();
        let wrapping = || weaker_wrapping(described, least).filter(|_| is_protected);
        found.or_else(wrapping)
    };
    let of_requests = weaker_than_all(Judged::alone(&described.request), requests, begins);
    let of_requests = of_requests.map(|why| format!("requests: {why}"));
    let of_answers = || weaker_than_all(Judged::alone(&described.response), answers, begins);
    of_requests.or_else(|| of_answers().map(|why| format!("answers: {why}")))
}

fn weaker_than_all(
    described: Judged<'_>,
    agreed: &[Judged<'_>],
    weaker: impl Fn(Judged<'_>, Judged<'_>) -> Option<String>,
) -> Option<String> {
    let mut why = None;
    for one in agreed {
        why = Some(weaker(described, *one)?);
    }
    why
}

/// In what the policy of answers is weaker than the one that was agreed on.
fn weaker_answer(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let confirms = |policy: &Policy| policy.header.signature_confirmation;
    let of_answers = || {
        let is_missing = confirms(&agreed) && !confirms(&described);
        is_missing.then(|| "signatures of requests are not confirmed".to_owned())
    };
    weaker(described, agreed).or_else(of_answers)
}

/// In what a policy is weaker than the one that was agreed on.
fn weaker(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let steps = [
        weaker_connection,
        weaker_signature,
        weaker_encryption,
        weaker_tokens,
        weaker_endorsements,
    ];
    let found = steps.into_iter().find_map(|step| step(described, agreed));
    found.or_else(|| {
        let has = |policy: &Policy| policy.header.timestamp.is_some();
        // One that nothing protects is worth nothing.
        let is_protected = agreed.is_by_connection() || agreed.signs(&Part::Timestamp);
        let is_missing = has(&agreed) && is_protected && !has(&described);
        is_missing.then(|| "no Timestamp".to_owned())
    })
}

/// Where the connection protects messages there are no parts to be compared.
fn weaker_connection(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let protects = |policy: &Policy| {
        policy.is_by_connection() || (policy.signs(&Part::Body) && policy.encrypts(&Part::Body))
    };
    let is_weaker = agreed.is_by_connection() && !protects(&described);
    is_weaker.then(|| match described.binding {
        Binding::None => "neither the connection nor a key protects messages".to_owned(),
        _ => "the Body is not signed and encrypted, nor is the connection protected".to_owned(),
    })
}

fn weaker_signature(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let agreed_signature = agreed.signature()?;
    let Some(signature) = described.signature() else {
        return Some("nothing is signed".to_owned());
    };
    let mut parts = agreed_signature.parts.iter();
    let lacks = |part| !signature.parts.iter().any(|it| covers(it, part));
    if let Some(part) = parts.find(|part| lacks(part)) {
        return Some(format!("{part} is not signed"));
    }
    let (key, agreed_key) = (signature.key, agreed_signature.key);
    if described.proof(key) < agreed.proof(agreed_key) {
        return Some(format!(
            "signed by {}, agreed {}",
            described.name(key),
            agreed.name(agreed_key)
        ));
    }
    weaker_algorithms(described, agreed)
}

/// Signatures and digests of fewer bits.
fn weaker_algorithms(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let agreed_key = agreed.signs_with()?;
    let Some(key) = described.signs_with() else {
        return Some("nothing is signed".to_owned());
    };
    let by_certificate = |key| key == KeyBinding::Certificate;
    // What private keys and shared ones sign with is not compared with each other.
    let algorithms = |policy: &Policy, key| match by_certificate(key) {
        true => policy.suite.signature.clone(),
        false => policy.suite.symmetric_signature.clone(),
    };
    if by_certificate(key) == by_certificate(agreed_key) {
        let found = algorithms(&described, key);
        let found = found.iter().map(|it| it.strength()).max();
        let least = algorithms(&agreed, agreed_key);
        let least = least.iter().map(|it| it.strength()).min();
        if let Some(why) = fewer_bits("signatures", found, least) {
            return Some(why);
        }
    }
    let digests = |policy: &Policy| {
        let digests = policy.suite.digest.iter();
        digests
            .map(|it| it.collision_strength())
            .collect::<Vec<_>>()
    };
    let (found, least) = (digests(&described), digests(&agreed));
    fewer_bits("digests", found.into_iter().max(), least.into_iter().min())
}

fn weaker_encryption(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let agreed_encryption = agreed.encryption()?;
    let Some(encryption) = described.encryption() else {
        return Some("nothing is encrypted".to_owned());
    };
    for wanted in agreed_encryption.parts {
        let mut found = encryption
            .parts
            .iter()
            .filter(|it| covers(&it.part, &wanted.part))
            .peekable();
        if found.peek().is_none() {
            return Some(format!("{} is not encrypted", wanted.part));
        }
        let is_whole = |extent| extent == Extent::Element || wanted.extent == Extent::Content;
        if !found.any(|it| is_whole(it.extent)) {
            return Some(format!("the tags of {} are not encrypted", wanted.part));
        }
    }
    let by_password = |key| key == KeyBinding::Password;
    if by_password(encryption.key) && !by_password(agreed_encryption.key) {
        let agreed = name(agreed_encryption.key);
        return Some(format!(
            "encrypted by {}, agreed {agreed}",
            name(encryption.key)
        ));
    }
    if let Some(why) = weaker_wrapping(described, agreed) {
        return Some(why);
    }
    fewer_bits(
        "encryption",
        described.suite.data.iter().map(|it| it.strength()).max(),
        agreed.suite.data.iter().map(|it| it.strength()).min(),
    )
}

/// RFC 8017, 7.2: padding that tells whether it was right.
const OLD_PADDING: &str = "session keys are encrypted by rsa-1_5";

fn weaker_wrapping(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let has_old = agreed
        .suite
        .key_transport
        .contains(&KeyTransportMethod::RSA15);
    (!has_old && wraps_by_old_padding(&described)).then(|| OLD_PADDING.to_owned())
}

/// Whether session keys come by nothing but the old padding.
fn wraps_by_old_padding(policy: &Policy) -> bool {
    let methods = &policy.suite.key_transport;
    let is_old = |it: &KeyTransportMethod| *it == KeyTransportMethod::RSA15;
    !methods.is_empty() && methods.iter().all(is_old) && policy.suite.key_agreement.is_empty()
}

/// Tokens that tell who sends, beside the keys of signatures.
fn weaker_tokens(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    if let Some(user) = agreed.username() {
        // Whoever vouches for a user may be enough.
        let may_prove_nobody = user.passwords.contains(&PasswordKind::Absent);
        let why = weaker_user(&described);
        if let Some(why) = why.filter(|_| !may_prove_nobody || described.username().is_none()) {
            return Some(why.to_owned());
        }
    }
    if let Some(assertion) = agreed.assertion() {
        let Some(found) = described.assertion() else {
            return Some("no assertion".to_owned());
        };
        let strongest = found
            .methods
            .iter()
            .copied()
            .max_by_key(|it| confirmation(*it));
        let weakest = assertion.methods.iter().copied();
        let weakest = weakest.min_by_key(|it| confirmation(*it));
        if let (Some(found), Some(least)) = (strongest, weakest)
            && confirmation(found) < confirmation(least)
        {
            let (found, least) = (found.name(), least.name());
            return Some(format!("assertions confirmed by {found}, agreed {least}"));
        }
    }
    let has_ticket = |policy: &Policy| policy.kerberos().is_some();
    let is_without = agreed.kerberos_beside().is_some() && !has_ticket(&described);
    is_without.then(|| "no Kerberos token".to_owned())
}

/// Signatures beside the message's own. One key meets one demand.
fn weaker_endorsements(described: Judged<'_>, agreed: Judged<'_>) -> Option<String> {
    let keys = |of: Judged<'_>| {
        let tokens = of.endorsing_beside();
        let mut keys: Vec<KeyBinding> = tokens.map(|it| it.key.kind()).collect();
        keys.sort_by_key(|key| std::cmp::Reverse(of.proof(*key)));
        keys
    };
    let (found, wanted) = (keys(described), keys(agreed));
    for (index, wanted) in wanted.iter().enumerate() {
        match found.get(index) {
            None => return Some(format!("not endorsed by {}", agreed.name(*wanted))),
            Some(found) if described.proof(*found) < agreed.proof(*wanted) => {
                return Some(format!(
                    "endorsed by {}, agreed {}",
                    described.name(*found),
                    agreed.name(*wanted)
                ));
            }
            Some(_) => {}
        }
    }
    let mut parts = agreed.endorsing_beside().flat_map(|it| &it.parts);
    let is_endorsed = |part: &&Part| {
        let mut tokens = described.endorsing_beside().flat_map(|it| &it.parts);
        tokens.any(|it| covers(it, part))
    };
    let part = parts.find(|part| !is_endorsed(part))?;
    Some(format!("{part} is not endorsed"))
}

/// In what some of these policies give less than a provider and its clients assure each other, past
/// a gateway that sees nothing of it.
pub(super) fn less_than_assured(
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
    // Header blocks of messages are in none of those that begin a conversation.
    let mut beginning = assured.clone();
    beginning.encrypted.retain(|name| name == "Body");
    described.iter().find_map(|one| {
        let begins = || {
            let described = one.conversation.as_ref()?.bootstrap.as_deref()?;
            // What is read there is the key of the conversation.
            let is_read = [&described.request, &described.response]
                .into_iter()
                .any(comes_by_old_padding);
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
    (matters && comes_by_old_padding(&described)).then(|| OLD_PADDING.to_owned())
}

/// Whether its session keys are wrapped to certificates, by nothing but the old padding. With the
/// key of the request, requests have told.
fn comes_by_old_padding(policy: &Policy) -> bool {
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

/// Why no user is proven by a password.
fn weaker_user(described: &Policy) -> Option<&'static str> {
    match described.username() {
        None => Some("no UsernameToken"),
        Some(user) if user.passwords.iter().all(|it| *it == PasswordKind::Absent) => {
            Some("users without passwords")
        }
        Some(_) => None,
    }
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

fn fewer_bits(of: &str, found: Option<u16>, least: Option<u16>) -> Option<String> {
    let (found, least) = (found?, least?);
    (found < least).then(|| format!("{of} of {found} bits, agreed {least}"))
}

/// How much is proven of somebody: that he knows a password, shares a key, or has a private key, by
/// which he is proven to anybody. Nothing is less.
const PASSWORD: u8 = 1;
const SHARED: u8 = 2;
const PRIVATE: u8 = 3;

/// How much a key proves of its holder, in a conversation whose beginning proves so much of him.
fn proof(key: KeyBinding, begun: u8) -> u8 {
    match key {
        KeyBinding::SessionKey => 0,
        KeyBinding::Password => PASSWORD,
        // In answers, only who could open the request has it.
        KeyBinding::RequestKey
        | KeyBinding::Shared
        | KeyBinding::Kerberos
        | KeyBinding::Assertion => SHARED,
        // Whoever began the conversation has it.
        KeyBinding::Context => begun.min(SHARED),
        KeyBinding::Certificate => PRIVATE,
    }
}

/// How much messages that begin a conversation prove of their sender.
fn proven(beginning: &Policy, counts: Counts) -> u8 {
    let counted = |ways: &mut dyn Iterator<Item = u8>| match counts {
        Counts::Strongest => ways.max(),
        Counts::Weakest => ways.min(),
    };
    let by_user = beginning.username().and_then(|user| {
        let mut ways = user.passwords.iter().map(|it| match it {
            PasswordKind::Absent => 0,
            _ => PASSWORD,
        });
        counted(&mut ways)
    });
    let by_assertion = beginning.assertion().and_then(|assertion| {
        let mut ways = assertion.methods.iter().map(|it| match it {
            ConfirmationMethod::HolderOfKey => SHARED,
            ConfirmationMethod::SenderVouches | ConfirmationMethod::Bearer => PASSWORD,
        });
        counted(&mut ways)
    });
    let by_ticket = beginning.kerberos().map(|_| SHARED);
    let endorsing = beginning.endorsing_beside().map(|it| it.key.kind());
    let keys = endorsing.chain(beginning.signs_with());
    let by_keys = keys.map(|key| proof(key, 0)).max();
    let ways = [by_user, by_assertion, by_ticket, by_keys];
    ways.into_iter().flatten().max().unwrap_or(0)
}

/// As [`proven`], of the provider: TLS proves it.
fn proven_provider(beginning: &Policy, counts: Counts) -> u8 {
    match beginning.is_by_connection() {
        true => SHARED,
        false => proven(beginning, counts),
    }
}

fn name(key: KeyBinding) -> &'static str {
    match key {
        KeyBinding::Certificate => "a certificate",
        KeyBinding::Shared => "a shared key",
        KeyBinding::RequestKey => "the key of the request",
        KeyBinding::SessionKey => "a session key of anybody",
        KeyBinding::Context => "the key of a conversation",
        KeyBinding::Kerberos => "the key of a Kerberos token",
        KeyBinding::Assertion => "the key of an assertion",
        KeyBinding::Password => "a password",
    }
}

fn confirmation(method: ConfirmationMethod) -> u8 {
    match method {
        ConfirmationMethod::Bearer => 0,
        ConfirmationMethod::SenderVouches => 1,
        ConfirmationMethod::HolderOfKey => 2,
    }
}

#[cfg(test)]
mod tests {
    use soapstone::wss::UsernamePolicy;
    use soapstone_testkit::Folder;
    use soapstone_testkit::keys::RSA;

    use super::super::described::policies;
    use super::*;
    use crate::config::Config;
    use crate::config::published::{PublishedPolicy, Subject};

    const NAMESPACES: &str = "xmlns:p=\"http://www.w3.org/ns/ws-policy\" \
         xmlns:s=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"";

    const SIGNED: &str = "<s:SignedParts><s:Body/></s:SignedParts>";
    const ENCRYPTED: &str = "<s:EncryptedParts><s:Body/></s:EncryptedParts>";

    fn token(kind: &str, inner: &str) -> String {
        let always = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient";
        format!("<s:{kind} s:IncludeToken=\"{always}\"><p:Policy>{inner}</p:Policy></s:{kind}>")
    }

    fn certificate() -> String {
        token("X509Token", "<s:WssX509V3Token10/>")
    }

    /// A document with this binding and what stands beside it.
    fn compiled(binding: &str, suite: &str, tokens: &str, beside: &str) -> ExchangePolicy {
        let text = format!(
            "<p:Policy {NAMESPACES}><s:{binding}><p:Policy>{tokens}<s:AlgorithmSuite><p:Policy><s:{suite}/></p:Policy></s:AlgorithmSuite>\
             <s:IncludeTimestamp/></p:Policy></s:{binding}>{beside}</p:Policy>"
        );
        let found = policies(text.into_bytes());
        found.expect("it compiles").swap_remove(0)
    }

    fn by_certificates(suite: &str, beside: &str) -> ExchangePolicy {
        let token = |name: &str| {
            let inner = certificate().replace("AlwaysToRecipient", "Always");
            format!("<s:{name}><p:Policy>{inner}</p:Policy></s:{name}>")
        };
        let tokens = token("InitiatorToken") + &token("RecipientToken");
        compiled("AsymmetricBinding", suite, &tokens, beside)
    }

    fn weaker(described: &Policy, agreed: &Policy) -> Option<String> {
        super::weaker(Judged::alone(described), Judged::alone(agreed))
    }

    fn weaker_answer(described: &Policy, agreed: &Policy) -> Option<String> {
        super::weaker_answer(Judged::alone(described), Judged::alone(agreed))
    }

    fn policy(suite: &str, parts: &str) -> Policy {
        by_certificates(suite, parts).response
    }

    #[test]
    fn a_policy_is_weaker_where_a_part_or_a_bit_is_missing() {
        let both = [SIGNED, ENCRYPTED].concat();
        let header =
            "<s:SignedParts><s:Body/><s:Header Name=\"To\" Namespace=\"urn:a\"/></s:SignedParts>";
        let nothing = policies(b"<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\"/>".to_vec());
        let nothing = nothing.expect("it compiles").swap_remove(0).response;
        let agreed = policy("Basic256", &both);
        assert_eq!(
            weaker(&nothing, &agreed).as_deref(),
            Some("nothing is signed")
        );
        for (suite, parts, expected) in [
            ("Basic256", both.as_str(), None),
            ("Basic256", SIGNED, Some("nothing is encrypted")),
            ("Basic256", ENCRYPTED, Some("Body is not signed")),
            (
                "Basic128",
                both.as_str(),
                Some("encryption of 128 bits, agreed 256"),
            ),
        ] {
            let found = weaker(&policy(suite, parts), &agreed);
            assert_eq!(found.as_deref(), expected, "{suite} {parts}");
        }
        // More than agreed is not weaker, and less is.
        let more = policy("Basic256", header);
        let less = policy("Basic256", SIGNED);
        assert_eq!(weaker(&more, &less), None);
        let found = weaker(&less, &more).expect("it is weaker");
        assert!(
            found.contains("To") && found.ends_with("is not signed"),
            "{found}"
        );
    }

    /// Whoever signs or encrypts all headers does so with each.
    #[test]
    fn a_policy_that_covers_all_headers_is_no_weaker_than_one_that_names_some() {
        let named = "<s:Body/><s:Header Name=\"To\" Namespace=\"urn:a\"/>";
        let of_namespace = "<s:Body/><s:Header Namespace=\"urn:a\"/>";
        let of_another = "<s:Body/><s:Header Namespace=\"urn:b\"/>";
        let both = |parts: &str| {
            let (signed, encrypted) = ("SignedParts", "EncryptedParts");
            let signed = format!("<s:{signed}>{parts}</s:{signed}>");
            policy(
                "Basic256",
                &format!("{signed}<s:{encrypted}>{parts}</s:{encrypted}>"),
            )
        };
        assert_eq!(weaker(&both(of_namespace), &both(named)), None);
        for (described, agreed) in [(of_another, named), (named, of_namespace)] {
            assert!(weaker(&both(described), &both(agreed)).is_some());
        }
        let signed = |parts: &str| {
            policy(
                "Basic256",
                &format!("<s:SignedParts>{parts}</s:SignedParts>"),
            )
        };
        for agreed in [named, of_namespace, of_another, "", "<s:Body/>"] {
            assert_eq!(weaker(&signed(""), &signed(agreed)), None, "{agreed}");
        }
        assert!(weaker(&signed(of_namespace), &signed("")).is_some());
    }

    /// The same parts and the same encryption: what signs them is broken by collisions.
    #[test]
    fn signatures_and_digests_of_sha_1_are_weaker_than_those_of_sha_256() {
        let both = [SIGNED, ENCRYPTED].concat();
        let (strong, weak) = (policy("Basic256Sha256", &both), policy("Basic256", &both));
        let found = weaker(&weak, &strong);
        assert_eq!(found.as_deref(), Some("signatures of 61 bits, agreed 128"));
        assert_eq!(weaker(&strong, &weak), None);
        assert_eq!(weaker(&strong, &strong), None);
        let mut digests = strong.clone();
        digests.suite.digest = weak.suite.digest.clone();
        let found = weaker(&digests, &strong);
        assert_eq!(found.as_deref(), Some("digests of 61 bits, agreed 128"));
        // One of several that are agreed on is enough.
        let mut either = strong.clone();
        either.suite.signature.extend(&weak.suite.signature);
        either.suite.digest.extend(&weak.suite.digest);
        assert_eq!(weaker(&weak, &either), None);
    }

    /// CVE-2012-5575: session keys under the old padding are deciphered by asking.
    #[test]
    fn session_keys_under_the_old_padding_are_weaker() {
        let both = [SIGNED, ENCRYPTED].concat();
        let (strong, weak) = (policy("Basic256", &both), policy("Basic256Rsa15", &both));
        let found = weaker(&weak, &strong);
        assert_eq!(
            found.as_deref(),
            Some("session keys are encrypted by rsa-1_5")
        );
        assert_eq!(weaker(&strong, &weak), None);
        // Nobody wraps a key where nothing is encrypted.
        let signed = |suite| policy(suite, SIGNED);
        assert_eq!(weaker(&signed("Basic256Rsa15"), &signed("Basic256")), None);
    }

    #[test]
    fn the_content_of_an_element_is_less_than_the_element() {
        let element = |name: &str| {
            format!("{SIGNED}<s:{name} xmlns:a=\"urn:a\"><s:XPath>//a:Card</s:XPath></s:{name}>")
        };
        let whole = policy("Basic256", &element("EncryptedElements"));
        let content = policy("Basic256", &element("ContentEncryptedElements"));
        let found = weaker(&content, &whole).expect("it is weaker");
        assert!(
            found.starts_with("the tags of ") && found.ends_with(" are not encrypted"),
            "{found}"
        );
        assert_eq!(weaker(&whole, &content), None);
        assert_eq!(weaker(&content, &content), None);
    }

    /// A session key that anybody can make signs as well, and proves nobody.
    #[test]
    fn a_signature_of_nobody_is_weaker_than_that_of_a_certificate() {
        let (parts, suite) = ([SIGNED, ENCRYPTED].concat(), "Basic256");
        let agreed = by_certificates(suite, &parts).request;
        let tokens = format!(
            "<s:ProtectionToken><p:Policy>{}</p:Policy></s:ProtectionToken>",
            certificate().replace("AlwaysToRecipient", "Never")
        );
        let of_nobody = compiled("SymmetricBinding", suite, &tokens, &parts).request;
        let found = weaker(&of_nobody, &agreed);
        assert_eq!(
            found.as_deref(),
            Some("signed by a session key of anybody, agreed a certificate")
        );
        assert_eq!(weaker(&agreed, &of_nobody), None);
    }

    #[test]
    fn a_token_that_is_missing_or_proves_nobody_is_weaker() {
        use PasswordKind::{Absent, Digest, Text};
        let of = |beside: &str| by_certificates("Basic256", &(SIGNED.to_owned() + beside)).request;
        let alone = of("");
        let user = |passwords: &[PasswordKind]| {
            let mut policy = alone.clone();
            let user = UsernamePolicy::with_passwords(passwords.to_vec());
            policy.set_username((!passwords.is_empty()).then_some(user));
            policy
        };
        for (agreed, described, expected) in [
            (&[Text][..], &[][..], Some("no UsernameToken")),
            (&[Absent], &[], Some("no UsernameToken")),
            (&[Text, Digest], &[Absent], Some("users without passwords")),
            (&[Text], &[Digest], None),
            (&[Text, Absent], &[Absent], None),
            (&[Absent], &[Text], None),
            (&[], &[Absent], None),
        ] {
            let found = weaker(&user(described), &user(agreed));
            assert_eq!(found.as_deref(), expected, "{agreed:?} and {described:?}");
        }
        // Whether it is signed is a matter of parts.
        let token = token("UsernameToken", "<s:NoPassword/>");
        let signed = format!(
            "<s:SignedSupportingTokens><p:Policy>{token}</p:Policy></s:SignedSupportingTokens>"
        );
        let found = weaker(&user(&[Absent]), &of(&signed)).expect("it is weaker");
        assert!(found.contains("UsernameToken") && found.ends_with("is not signed"));
        let endorsed = of(&format!(
            "<s:EndorsingSupportingTokens><p:Policy>{}</p:Policy></s:EndorsingSupportingTokens>",
            certificate()
        ));
        let found = weaker(&alone, &endorsed);
        assert_eq!(found.as_deref(), Some("not endorsed by a certificate"));
        assert_eq!(weaker(&endorsed, &endorsed), None);
        assert_eq!(weaker(&endorsed, &alone), None);
    }

    #[test]
    fn answers_that_confirm_nothing_or_have_no_time_are_weaker() {
        let agreed = policy("Basic256", SIGNED);
        let confirming = |confirms: bool| {
            let mut policy = agreed.clone();
            policy.header.signature_confirmation = confirms;
            policy
        };
        let found = weaker_answer(&confirming(false), &confirming(true));
        assert_eq!(
            found.as_deref(),
            Some("signatures of requests are not confirmed")
        );
        assert_eq!(weaker_answer(&confirming(true), &confirming(false)), None);
        let mut timeless = agreed.clone();
        timeless.header.timestamp = None;
        assert_eq!(weaker(&timeless, &agreed).as_deref(), Some("no Timestamp"));
    }

    #[test]
    fn a_connection_that_nobody_protects_is_weaker() {
        let tokens = "<s:TransportToken><p:Policy><s:HttpsToken><p:Policy/></s:HttpsToken></p:Policy></s:TransportToken>";
        let agreed = compiled("TransportBinding", "Basic256", tokens, "").request;
        let nothing = policies(b"<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\"/>".to_vec());
        let nothing = nothing.expect("it compiles").swap_remove(0).request;
        assert_eq!(
            weaker(&nothing, &agreed).as_deref(),
            Some("neither the connection nor a key protects messages")
        );
        let both = policy("Basic256", &[SIGNED, ENCRYPTED].concat());
        assert_eq!(weaker(&both, &agreed), None);
        assert!(weaker(&policy("Basic256", SIGNED), &agreed).is_some());
        assert_eq!(weaker(&agreed, &agreed), None);
    }

    /// The description of a service behind a gateway, and the endpoint of a client that agreed on
    /// the same mechanism.
    fn published(mechanism: &str, of_service: &str, of_client: &str) -> Option<String> {
        let folder = Folder::with_keys(RSA, &["service", "client"]);
        let side = |own: &str, peer: &str, more: &str| {
            format!(
                "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
                 peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
                 trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
                 security = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256+RsaSha256\"{more} }}\n"
            )
        };
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/service\"\nbackend = \"http://127.0.0.1:1/\"\n\
             publish_policy = true\n[routes.inbound]\n{}[[routes]]\npath = \"/client\"\n\
             backend = \"http://127.0.0.1:2/\"\n[routes.outbound]\n{}",
            side("service", "client", of_service),
            side("client", "service", of_client)
        );
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let inbound = config.routes[0].inbound.as_ref().expect("it faces clients");
        let Some(PublishedPolicy::Policies {
            attached,
            namespace,
        }) = &inbound.published
        else {
            panic!("it has policies");
        };
        let refer = |subject: Subject| {
            let of_subject = attached.iter().filter(|it| it.subject == subject);
            let references = of_subject.map(|it| {
                format!(
                    "<wsp:PolicyReference xmlns:wsp=\"{namespace}\" URI=\"#{}\"/>",
                    it.id
                )
            });
            references.collect::<String>()
        };
        let elements: String = attached.iter().map(|it| it.element.as_str()).collect();
        let (of_binding, of_message) = (refer(Subject::Endpoint), refer(Subject::Message));
        let described = format!(
            "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\" \
             xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\">{elements}<w:binding name=\"b\" type=\"t:T\">{of_binding}\
             <soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/><w:operation name=\"echo\">\
             <w:input>{of_message}</w:input><w:output>{of_message}</w:output></w:operation></w:binding></w:definitions>"
        );
        let described = policies(described.into_bytes()).expect("it compiles");
        let outbound = config.routes[1].outbound.as_ref().expect("it calls");
        weakness(&outbound.endpoint, &described)
    }

    /// Nobody is guilty who serves what was agreed on.
    #[test]
    fn a_mechanism_is_no_weaker_than_itself_as_it_is_published() {
        for mechanism in [
            "sign",
            "encrypt",
            "sign-encrypt",
            "encrypt-sign",
            "secure-conversation",
        ] {
            assert_eq!(published(mechanism, "", ""), None, "{mechanism}");
        }
        let header = ", signed = [\"Body\", \"{urn:a}To\", \"Timestamp\"]";
        assert_eq!(published("sign", header, header), None);
        assert_eq!(published("sign", header, ""), None);
        let found = published("sign", "", header).expect("it is weaker");
        assert!(
            found.starts_with("requests: ") && found.contains("To"),
            "{found}"
        );
    }

    /// Past a gateway on the way nobody here compares answers: what is assured is compared with
    /// what the provider serves.
    #[test]
    fn a_policy_gives_less_than_assured_where_a_property_a_bit_or_an_algorithm_is_missing() {
        let mut assured = SecurityIndex::default();
        for property in [
            Property::Authentication,
            Property::Integrity,
            Property::Confidentiality,
            Property::NonRepudiation,
        ] {
            assured.give(property, Level::Message, 128);
        }
        assured.algorithms = ["rsa-sha256", "sha256", "aes256-cbc"]
            .map(str::to_owned)
            .into();
        assured.encrypted = vec!["Body".to_owned()];
        let both = [SIGNED, ENCRYPTED].concat();
        let none = policies(b"<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\"/>".to_vec());
        let none = none.expect("it compiles").swap_remove(0);
        for (described, expected) in [
            (by_certificates("Basic256Sha256", &both), None),
            (none, Some("requests: no authentication")),
            (
                by_certificates("Basic256Sha256", SIGNED),
                Some("requests: no confidentiality"),
            ),
            (
                by_certificates("Basic256", &both),
                Some("requests: signatures of 61 bits, agreed 128"),
            ),
            (
                by_certificates("Basic128Sha256", &both),
                Some("requests: encryption by aes128-cbc, which is not one of those assured"),
            ),
        ] {
            let found = less_than_assured(&assured, &[described]);
            assert_eq!(found.as_deref(), expected);
        }
    }

    /// Messages of a conversation of Basic256, which begins like this.
    fn conversing(beginning: &str) -> ExchangePolicy {
        let bootstrap =
            format!("<s:BootstrapPolicy><p:Policy>{beginning}</p:Policy></s:BootstrapPolicy>");
        let token = token("SecureConversationToken", &bootstrap);
        let tokens = format!("<s:ProtectionToken><p:Policy>{token}</p:Policy></s:ProtectionToken>");
        let parts = [SIGNED, ENCRYPTED].concat();
        compiled("SymmetricBinding", "Basic256", &tokens, &parts)
    }

    /// The messages that begin it: under a session key, with tokens beside it.
    fn beginning(suite: &str, tokens: &str) -> String {
        let certificate = certificate().replace("AlwaysToRecipient", "Never");
        format!(
            "<s:SymmetricBinding><p:Policy><s:ProtectionToken><p:Policy>{certificate}</p:Policy></s:ProtectionToken>\
             <s:AlgorithmSuite><p:Policy><s:{suite}/></p:Policy></s:AlgorithmSuite><s:IncludeTimestamp/></p:Policy>\
             </s:SymmetricBinding>{SIGNED}{ENCRYPTED}{tokens}"
        )
    }

    fn supporting(kind: &str, token: &str) -> String {
        format!("<s:{kind}><p:Policy>{token}</p:Policy></s:{kind}>")
    }

    /// An exchange that was agreed on, whose messages have this key.
    fn under(protection: &str) -> ExchangePolicy {
        let parts = [SIGNED, ENCRYPTED].concat();
        let tokens = supporting("ProtectionToken", protection);
        compiled("SymmetricBinding", "Basic256", &tokens, &parts)
    }

    fn weaker_than(agreed: &ExchangePolicy, described: ExchangePolicy) -> Option<String> {
        let (request, answer) = judged(agreed);
        let begins = agreed.conversation.as_ref();
        let begins = begins.and_then(|it| it.bootstrap.as_deref());
        let agreed = Agreed {
            requests: vec![request],
            answers: vec![answer],
            begins: begins.map(|it| (&it.request, &it.response)),
        };
        agreed.weakness(&[described])
    }

    /// Whoever may begin a conversation has its key.
    #[test]
    fn a_conversation_proves_no_more_than_what_begins_it() {
        let kerberos = under(&token("KerberosToken", "<s:WssGssKerberosV5ApReqToken11/>"));
        let user = token("UsernameToken", "<s:WssUsernameToken11/>");
        let user = supporting("SignedEncryptedSupportingTokens", &user);
        let endorsed = supporting("EndorsingSupportingTokens", &certificate());
        for (begun_by, expected) in [
            (
                "",
                Some(
                    "requests: signed by the key of a conversation that anybody begins, agreed the key of a Kerberos token",
                ),
            ),
            (
                &*user,
                Some(
                    "requests: signed by the key of a conversation that a password begins, agreed the key of a Kerberos token",
                ),
            ),
            (&*endorsed, None),
        ] {
            let described = conversing(&beginning("Basic256", begun_by));
            let found = weaker_than(&kerberos, described);
            assert_eq!(found.as_deref(), expected, "{begun_by}");
        }
        // One that begins as agreed, or proves more, is no weaker.
        for (agreed, described, is_weaker) in [
            ("", "", false),
            ("", &*user, false),
            (&*user, &*user, false),
            (&*user, "", true),
            (&*endorsed, &*user, true),
        ] {
            let agreed = conversing(&beginning("Basic256", agreed));
            let described = conversing(&beginning("Basic256", described));
            assert_eq!(weaker_than(&agreed, described).is_some(), is_weaker);
        }
        // Nobody knows who has the key of a context that comes from elsewhere.
        let context = under(&token("SecurityContextToken", ""));
        assert!(weaker_than(&kerberos, context).is_some());
    }

    /// Whoever reads the beginning reads the conversation.
    #[test]
    fn a_conversation_is_no_stronger_than_the_messages_that_begin_it() {
        let anonymous = under(&certificate().replace("AlwaysToRecipient", "Never"));
        let begins = "the beginning of conversations: requests: ";
        for (suite, expected) in [
            ("Basic256", None),
            ("Basic128", Some("encryption of 128 bits, agreed 256")),
            (
                "Basic256Rsa15",
                Some("session keys are encrypted by rsa-1_5"),
            ),
            ("Basic256Sha256", None),
        ] {
            let found = weaker_than(&anonymous, conversing(&beginning(suite, "")));
            let expected = expected.map(|why| format!("{begins}{why}"));
            assert_eq!(found, expected, "{suite}");
        }
        // More than nothing is not weaker.
        let none = policies(b"<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\"/>".to_vec());
        let none = none.expect("it compiles").swap_remove(0);
        let found = weaker_than(&none, conversing(&beginning("Basic128Rsa15", "")));
        assert_eq!(found, None);
        // What messages have beside their Body is not in those that begin a conversation.
        let mut more = anonymous.clone();
        more.request.header.timestamp = None;
        assert_eq!(
            weaker_than(&more, conversing(&beginning("Basic256", ""))),
            None
        );
    }

    /// What is assured is that of the whole conversation.
    #[test]
    fn a_conversation_gives_what_is_assured_from_its_beginning_on() {
        let mut assured = SecurityIndex::default();
        let assure = |assured: &mut SecurityIndex, properties: &[Property]| {
            for property in properties {
                assured.give(*property, Level::Message, 61);
            }
        };
        assure(
            &mut assured,
            &[Property::Integrity, Property::Confidentiality],
        );
        assured.algorithms = ["hmac-sha1", "rsa-sha1", "sha1", "aes256-cbc"]
            .map(str::to_owned)
            .into();
        let endorsed = supporting("EndorsingSupportingTokens", &certificate());
        let found = |assured: &SecurityIndex, suite: &str, tokens: &str| {
            less_than_assured(assured, &[conversing(&beginning(suite, tokens))])
        };
        assert_eq!(found(&assured, "Basic256", ""), None);
        let begins = "the beginning of conversations: requests: ";
        for (suite, why) in [
            ("Basic256Rsa15", "session keys are encrypted by rsa-1_5"),
            (
                "Basic128",
                "encryption by aes128-cbc, which is not one of those assured",
            ),
        ] {
            assert_eq!(found(&assured, suite, ""), Some(format!("{begins}{why}")));
        }
        let mut more = assured.clone();
        more.give(Property::Integrity, Level::Message, 112);
        let mut digests = by_certificates("Basic256Sha256", &[SIGNED, ENCRYPTED].concat());
        digests
            .request
            .suite
            .digest
            .clone_from(&policy("Basic256", SIGNED).suite.digest);
        more.algorithms.push("rsa-sha256".to_owned());
        assert_eq!(
            less_than_assured(&more, &[digests]).as_deref(),
            Some("requests: digests of 61 bits, agreed 112")
        );
        assure(&mut assured, &[Property::Authentication]);
        let anonymous = found(&assured, "Basic256", "");
        assert_eq!(anonymous.as_deref(), Some("requests: no authentication"));
        assert_eq!(found(&assured, "Basic256", &endorsed), None);
        let context = under(&token("SecurityContextToken", ""));
        let unknown = less_than_assured(&assured, &[context]);
        assert_eq!(unknown.as_deref(), Some("requests: no authentication"));
    }

    /// Nobody is guilty who encrypts more than what is named.
    #[test]
    fn headers_of_a_namespace_are_encrypted_where_one_of_them_is_assured() {
        let mut assured = SecurityIndex::default();
        assured.give(Property::Confidentiality, Level::Message, 128);
        assured.algorithms = ["rsa-sha256", "sha256", "aes256-cbc"]
            .map(str::to_owned)
            .into();
        assured.encrypted = ["Body", "{urn:a}To"].map(str::to_owned).into();
        for (header, is_encrypted) in [
            ("Name=\"To\" Namespace=\"urn:a\"", true),
            ("Namespace=\"urn:a\"", true),
            ("Namespace=\"urn:b\"", false),
            ("Name=\"From\" Namespace=\"urn:a\"", false),
        ] {
            let parts = format!(
                "{SIGNED}<s:EncryptedParts><s:Body/><s:Header {header}/></s:EncryptedParts>"
            );
            let found = less_than_assured(&assured, &[by_certificates("Basic256Sha256", &parts)]);
            let expected = (!is_encrypted).then_some("requests: {urn:a}To is not encrypted");
            assert_eq!(found.as_deref(), expected, "{header}");
        }
    }
}
