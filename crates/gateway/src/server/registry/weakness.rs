//! In what a policy that a provider serves is weaker than the one that was agreed on with it.
//!
//! Requests are compared with requests, and answers with answers: parts and how much of each is
//! encrypted, keys and tokens, algorithms, and what tells copies and answers apart.
//!
//! The rule kept here: the strongest of what is described counts against the weakest of what was
//! agreed on. Nobody is guilty who serves the same in other words, or more.

use soapstone::endpoint::{Calling, Endpoint};
use soapstone::policy::{ExchangePolicy, covers};
use soapstone::wss::{
    Binding, ConfirmationMethod, Extent, KeyBinding, KeyTransportMethod, Part, PasswordKind, Policy,
};
use soapstone_broker::{Level, Property, SecurityIndex};

/// In what some of these policies are weaker than all of the endpoint's.
pub(super) fn weakness(
    endpoint: &Endpoint<Calling>,
    described: &[ExchangePolicy],
) -> Option<String> {
    let requests: Vec<&Policy> = endpoint.outbound().map(|it| it.policy()).collect();
    let answers: Vec<&Policy> = endpoint.inbound().map(|it| it.policy()).collect();
    let begins = endpoint.conversation().map(|it| it.bootstrap());
    let of_beginning = |one: &ExchangePolicy| {
        let (request, answer) = begins?;
        let described = one.conversation.as_ref()?.bootstrap.as_deref()?;
        let why = of_exchange(described, &[request.policy()], &[answer.policy()])?;
        Some(format!("the beginning of conversations: {why}"))
    };
    described
        .iter()
        .find_map(|one| of_exchange(one, &requests, &answers).or_else(|| of_beginning(one)))
}

fn of_exchange(
    described: &ExchangePolicy,
    requests: &[&Policy],
    answers: &[&Policy],
) -> Option<String> {
    let of_requests = weaker_than_all(&described.request, requests, weaker);
    let of_answers = || weaker_than_all(&described.response, answers, weaker_answer);
    let of_requests = of_requests.map(|why| format!("requests: {why}"));
    of_requests.or_else(|| of_answers().map(|why| format!("answers: {why}")))
}

fn weaker_than_all(
    described: &Policy,
    agreed: &[&Policy],
    weaker: fn(&Policy, &Policy) -> Option<String>,
) -> Option<String> {
    let mut why = None;
    for one in agreed {
        why = Some(weaker(described, one)?);
    }
    why
}

/// In what the policy of answers is weaker than the one that was agreed on.
fn weaker_answer(described: &Policy, agreed: &Policy) -> Option<String> {
    let confirms = |policy: &Policy| policy.header.signature_confirmation;
    let of_answers = || {
        let is_missing = confirms(agreed) && !confirms(described);
        is_missing.then(|| "signatures of requests are not confirmed".to_owned())
    };
    weaker(described, agreed).or_else(of_answers)
}

/// In what a policy is weaker than the one that was agreed on.
fn weaker(described: &Policy, agreed: &Policy) -> Option<String> {
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
        let is_missing = has(agreed) && is_protected && !has(described);
        is_missing.then(|| "no Timestamp".to_owned())
    })
}

/// Where the connection protects messages there are no parts to be compared.
fn weaker_connection(described: &Policy, agreed: &Policy) -> Option<String> {
    let protects = |policy: &Policy| {
        policy.is_by_connection() || (policy.signs(&Part::Body) && policy.encrypts(&Part::Body))
    };
    let is_weaker = agreed.is_by_connection() && !protects(described);
    is_weaker.then(|| match described.binding {
        Binding::None => "neither the connection nor a key protects messages".to_owned(),
        _ => "the Body is not signed and encrypted, nor is the connection protected".to_owned(),
    })
}

fn weaker_signature(described: &Policy, agreed: &Policy) -> Option<String> {
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
    if proof(key) < proof(agreed_key) {
        return Some(format!(
            "signed by {}, agreed {}",
            name(key),
            name(agreed_key)
        ));
    }
    let by_certificate = |key| key == KeyBinding::Certificate;
    // What private keys and shared ones sign with is not compared with each other.
    let algorithms = |policy: &Policy, key| match by_certificate(key) {
        true => policy.suite.signature.clone(),
        false => policy.suite.symmetric_signature.clone(),
    };
    if by_certificate(key) == by_certificate(agreed_key) {
        let found = algorithms(described, key);
        let found = found.iter().map(|it| it.strength()).max();
        let least = algorithms(agreed, agreed_key);
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
    let (found, least) = (digests(described), digests(agreed));
    fewer_bits("digests", found.into_iter().max(), least.into_iter().min())
}

fn weaker_encryption(described: &Policy, agreed: &Policy) -> Option<String> {
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
    let wraps = |policy: &Policy| {
        let mut methods = policy.suite.key_transport.iter();
        let has_old = methods.clone().any(|it| *it == KeyTransportMethod::RSA15);
        let only_old = methods.all(|it| *it == KeyTransportMethod::RSA15);
        let has_another = !policy.suite.key_agreement.is_empty();
        (has_old, has_old && only_old && !has_another)
    };
    if let ((_, true), (false, _)) = (wraps(described), wraps(agreed)) {
        // RFC 8017, 7.2: padding that tells whether it was right.
        return Some("session keys are encrypted by rsa-1_5".to_owned());
    }
    fewer_bits(
        "encryption",
        described.suite.data.iter().map(|it| it.strength()).max(),
        agreed.suite.data.iter().map(|it| it.strength()).min(),
    )
}

/// Tokens that tell who sends, beside the keys of signatures.
fn weaker_tokens(described: &Policy, agreed: &Policy) -> Option<String> {
    if let Some(user) = agreed.username() {
        // Whoever vouches for a user may be enough.
        let may_prove_nobody = user.passwords.contains(&PasswordKind::Absent);
        let why = weaker_user(described);
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
    let is_without = agreed.kerberos_beside().is_some() && !has_ticket(described);
    is_without.then(|| "no Kerberos token".to_owned())
}

/// Signatures beside the message's own. One key meets one demand.
fn weaker_endorsements(described: &Policy, agreed: &Policy) -> Option<String> {
    let keys = |policy: &Policy| {
        let tokens = policy.endorsing_beside();
        let mut keys: Vec<KeyBinding> = tokens.map(|it| it.key.kind()).collect();
        keys.sort_by_key(|key| std::cmp::Reverse(proof(*key)));
        keys
    };
    let (found, wanted) = (keys(described), keys(agreed));
    for (index, wanted) in wanted.iter().enumerate() {
        match found.get(index) {
            None => return Some(format!("not endorsed by {}", name(*wanted))),
            Some(found) if proof(*found) < proof(*wanted) => {
                return Some(format!(
                    "endorsed by {}, agreed {}",
                    name(*found),
                    name(*wanted)
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
    described.iter().find_map(|one| {
        let of_requests = gives_less(&one.request, assured);
        let of_requests = of_requests.map(|why| format!("requests: {why}"));
        let of_answers = || gives_less(&one.response, assured);
        of_requests.or_else(|| of_answers().map(|why| format!("answers: {why}")))
    })
}

fn gives_less(described: &Policy, assured: &SecurityIndex) -> Option<String> {
    let signs = |part: &Part| {
        described
            .signature()
            .is_some_and(|it| it.parts.contains(part))
    };
    let key = described.signs_with();
    let proves = |least: KeyBinding| key.is_some_and(|key| proof(key) >= proof(least));
    let proves_user = || weaker_user(described).is_none();
    let endorses = || described.endorsing_beside().next().is_some();
    let is_given = |property| match property {
        Property::Integrity => signs(&Part::Body),
        Property::Confidentiality => described.encrypts(&Part::Body),
        Property::Freshness => signs(&Part::Timestamp) && described.header.timestamp.is_some(),
        Property::NonRepudiation => proves(KeyBinding::Certificate) && signs(&Part::Body),
        Property::Authentication => proves(KeyBinding::Password) || endorses() || proves_user(),
        Property::EndToEnd => !described.is_by_connection() && described.binding != Binding::None,
    };
    let wanted = Property::ALL.into_iter();
    let mut wanted = wanted.filter(|it| assured.of(*it).level > Level::None);
    if let Some(property) = wanted.find(|it| !is_given(*it)) {
        return Some(format!("no {property}"));
    }
    let names_part = |name: &String, part: &Part| match part {
        Part::Body => name == "Body",
        Part::Header { namespace, local } => *name == format!("{{{namespace}}}{local}"),
        _ => false,
    };
    let encrypts = |name: &&String| {
        let mut parts = described.encrypted_parts().iter();
        parts.any(|it| names_part(name, &it.part))
    };
    if let Some(part) = assured.encrypted.iter().find(|it| !encrypts(it)) {
        return Some(format!("{part} is not encrypted"));
    }
    weaker_than_assured(described, assured)
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
    None
}

fn fewer_bits(of: &str, found: Option<u16>, least: Option<u16>) -> Option<String> {
    let (found, least) = (found?, least?);
    (found < least).then(|| format!("{of} of {found} bits, agreed {least}"))
}

/// How much a key proves of its holder: nobody, somebody who knows a password, somebody who shares
/// a key, or the holder of a certificate to anybody.
fn proof(key: KeyBinding) -> u8 {
    match key {
        KeyBinding::SessionKey => 0,
        KeyBinding::Password => 1,
        // In answers, only who could open the request has it.
        KeyBinding::RequestKey
        | KeyBinding::Shared
        | KeyBinding::Context
        | KeyBinding::Kerberos
        | KeyBinding::Assertion => 2,
        KeyBinding::Certificate => 3,
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
        for mechanism in ["sign", "encrypt", "sign-encrypt", "encrypt-sign"] {
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
}
