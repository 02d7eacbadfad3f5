//! In what a policy that a provider serves is weaker than the one that was agreed on with it.
//!
//! Requests are compared with requests, and answers with answers: parts and how much of each is
//! encrypted, keys and tokens, algorithms, and what tells copies and answers apart.
//!
//! The rule kept here: the strongest of what is described counts against the weakest of what was
//! agreed on. Nobody is guilty who serves the same in other words, or more.

mod assured;
mod proof;

use soapstone::endpoint::{Calling, Endpoint};
use soapstone::policy::{ExchangePolicy, covers};
use soapstone::wss::{Binding, Extent, KeyBinding, KeyTransportMethod, Part, PasswordKind, Policy};

pub(super) use assured::less_than_assured;
use proof::{Counts, Judged, confirmation, judged, name, proven, proven_provider};

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

fn fewer_bits(of: &str, found: Option<u16>, least: Option<u16>) -> Option<String> {
    let (found, least) = (found?, least?);
    (found < least).then(|| format!("{of} of {found} bits, agreed {least}"))
}

#[cfg(test)]
mod tests;
