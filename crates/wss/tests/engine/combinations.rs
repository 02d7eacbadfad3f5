//! Policies drawn at random, far beyond those that presets and descriptions produce: what the plan
//! of one secures, the other side's opens.
//!
//! A combination that makes no sense is refused when it is compiled, before there are messages.
//! None may make messages that nobody can open.

use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    AsymmetricBinding, Binding, ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, ElementPath,
    EncryptedPart, EncryptionKey, EncryptionToken, EndorsingKey, EndorsingToken, Extent, Facts,
    HeaderPolicy, InboundPlan, InclusivePrefixes, KeyBinding, KeyReference, Keys, Layout,
    Mechanism, OutboundPlan, Outgoing, Part, PasswordKind, PlanProblem, Policy, ProtectionOrder,
    Receipt, Recipient, Rejected, SecureError, SecurityContext, SymmetricBinding, SymmetricToken,
    TimestampPolicy, UsernamePolicy,
};
use soapstone_xml::Buffers;

use crate::conversations::{context, knowing, text};
use crate::securing_events::Sender;
use crate::support::{
    Agreeing, PLAIN, client_keys, envelope, facts, forwarded, header, now, open, open_with, policy,
    secure, service_keys, symmetric_token,
};

/// Policies that are tried.
const POLICIES: u64 = 4_000;

/// The prefixes that the messages of a policy list: every second policy has none.
fn listed(number: u64) -> InclusivePrefixes {
    match number % 4 {
        0 => InclusivePrefixes::InScope,
        1 => InclusivePrefixes::Listed(vec!["a".to_owned(), "wsse".to_owned()]),
        _ => InclusivePrefixes::Nothing,
    }
}

/// A source of choices: xorshift64*, so that a number says which policy it was.
pub(crate) struct Choices(u64);

impl Choices {
    pub(crate) fn of(number: u64) -> Self {
        let mut choices = Self(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        // Numbers that are near to each other are not alike any more after a few.
        for _ in 0..4 {
            choices.next();
        }
        choices
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
    }

    /// One time in so many.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    pub(crate) fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.next() as usize % all.len()].clone()
    }

    /// Each of them one time in two.
    fn some_of<T: Clone>(&mut self, all: &[T]) -> Vec<T> {
        let wanted = all.iter().filter(|_| self.once_in(2));
        wanted.cloned().collect()
    }
}

const SUITES: [&str; 7] = [
    "Basic256GCM",
    "Basic128GCM",
    "Basic256",
    "Basic256Sha256",
    "Basic192Rsa15",
    "Basic128GCMEcdhEs",
    "Basic256GCMX25519",
];

/// The same message, written in ways that stand in the way of what is written into it: another
/// prefix or none, no header, prefixes of ours for something else, and what is not canonical.
pub(crate) const MESSAGES: [&str; 5] = [
    PLAIN,
    concat!(
        r#"<Envelope xmlns="http://www.w3.org/2003/05/soap-envelope"><Header><a:To xmlns:a="http://www.w3.org/2005/08/addressing">urn:service</a:To></Header>"#,
        r#"<Body><e:echo xmlns:e="urn:echo" xmlns=""><e:text>Grüße &amp; mehr</e:text><e:empty/></e:echo></Body></Envelope>"#
    ),
    concat!(
        r#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>"#,
        r#"<e:echo xmlns:e="urn:echo"><e:text>Grüße &amp; mehr</e:text></e:echo></s:Body></s:Envelope>"#
    ),
    concat!(
        r#"<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:wsu="urn:u" xmlns:wsse="urn:s" xmlns:wsse11="urn:s11" "#,
        r#"xmlns:wsc="urn:c" xmlns:ds="urn:d" xmlns:xenc="urn:x"><soap:Header><To xmlns="http://www.w3.org/2005/08/addressing" wsu:a="b">urn:service</To>"#,
        r#"</soap:Header><soap:Body wsse:c="d"><e:echo xmlns:e="urn:echo" ds:e="f"><e:text wsc:g="h">Grüße &amp; mehr</e:text><xenc:e wsse11:i="j"/></e:echo>"#,
        r#"</soap:Body></soap:Envelope>"#
    ),
    concat!(
        "<?xml version='1.0' encoding=\"UTF-8\"?>\n<!-- before -->\n<soap:Envelope\r\n  xmlns:soap='http://schemas.xmlsoap.org/soap/envelope/'>\r\n",
        "<soap:Header><a:Action  xmlns:a='http://www.w3.org/2005/08/addressing' z='1' b=\"&#x32;&#10;\">urn:echo</a:Action><!-- c --></soap:Header>\r\n<soap:Body>",
        "<e:echo xmlns:e='urn:echo' xmlns:unused='urn:n'><!-- c --><e:text><![CDATA[Grüße & mehr]]></e:text><?target data?>\r\n<e:empty ></e:empty ></e:echo>",
        "</soap:Body></soap:Envelope>"
    ),
];
const BINDINGS: [KeyBinding; 4] = [
    KeyBinding::Certificate,
    KeyBinding::SessionKey,
    KeyBinding::Shared,
    KeyBinding::Context,
];
pub(crate) const VERSIONS: [ConversationVersion; 2] = ConversationVersion::ALL;

fn path(path: &str) -> Part {
    let resolve = |prefix: &str| (prefix == "e").then(|| "urn:echo".to_owned());
    Part::Path(ElementPath::parse(path, resolve).unwrap())
}

/// What a message can have signed.
fn signable() -> Vec<Part> {
    vec![
        Part::Body,
        Part::Timestamp,
        Part::UsernameToken,
        Part::Token,
        header("To"),
        header("Action"),
        path("//e:text"),
    ]
}

/// What a message can have encrypted.
fn encryptable() -> Vec<EncryptedPart> {
    let whole = [
        Part::Signature,
        Part::UsernameToken,
        header("To"),
        header("Action"),
        path("//e:empty"),
    ];
    let mut parts = Vec::from(whole.map(EncryptedPart::customary));
    parts.push(EncryptedPart {
        part: path("//e:text"),
        extent: Extent::Content,
    });
    parts
}

fn derived_keys(choices: &mut Choices) -> Option<DerivedKeyPolicy> {
    choices.once_in(2).then(|| DerivedKeyPolicy {
        version: choices.one_of(&VERSIONS),
        form: choices.one_of(&[DerivedKeyForm::Explicit, DerivedKeyForm::Implied]),
        exclusive: choices.once_in(4),
        signature_length: choices.one_of(&[16, 24, 32]),
    })
}

fn endorsing(choices: &mut Choices) -> EndorsingToken {
    let key = match choices.once_in(2) {
        true => EndorsingKey::Certificate(choices.one_of(&KeyReference::ALL)),
        false => EndorsingKey::Context {
            carried: choices.once_in(2),
            derived_keys: derived_keys(choices),
        },
    };
    EndorsingToken {
        key,
        parts: choices.some_of(&[header("To"), path("//e:text")]),
        covers_token: choices.once_in(3),
        signed: choices.once_in(3),
        encrypted: choices.once_in(3),
    }
}

fn binding(choices: &mut Choices) -> Binding {
    let key = choices.one_of(&BINDINGS);
    let reference = choices.one_of(&KeyReference::ALL);
    let order = choices.one_of(&[
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ]);
    if choices.once_in(10) {
        return Binding::Transport;
    }
    if key == KeyBinding::Certificate {
        return Binding::Asymmetric(AsymmetricBinding {
            signature: (!choices.once_in(8)).then_some(reference),
            encryption: (!choices.once_in(4)).then(|| EncryptionToken {
                derived_keys: derived_keys(choices),
                ..EncryptionToken::wrapped(choices.one_of(&KeyReference::ALL))
            }),
            order,
        });
    }
    Binding::Symmetric(SymmetricBinding {
        key: symmetric_token(key, reference),
        derived_keys: derived_keys(choices),
        order,
    })
}

pub(crate) fn drawn(choices: &mut Choices) -> Policy {
    let mut drawn = policy(Mechanism::None, choices.one_of(&SUITES));
    drawn.binding = binding(choices);
    drawn.header = HeaderPolicy {
        ignored: Vec::new(),
        actor: choices.once_in(5).then(|| "urn:actor".to_owned()),
        intermediary: None,
        order: Vec::new(),
        must_understand: choices.once_in(2),
        layout: choices.one_of(&[
            Layout::Strict,
            Layout::Lax,
            Layout::LaxTimestampFirst,
            Layout::LaxTimestampLast,
        ]),
        timestamp: (!choices.once_in(5)).then(TimestampPolicy::default),
        signature_confirmation: false,
    };
    let user = choices.once_in(3).then(|| {
        let kind = choices.one_of(&[PasswordKind::Text, PasswordKind::Digest]);
        UsernamePolicy::with_passwords(vec![kind])
    });
    drawn.set_username(user);
    if drawn.binding.signs() && !choices.once_in(8) {
        drawn.parts.signed = choices.some_of(&signable());
    }
    if drawn.binding.encrypts() && !choices.once_in(3) {
        drawn.parts.encrypted = choices.some_of(&encryptable());
        if drawn.parts.encrypted.is_empty() || !choices.once_in(6) {
            let body = EncryptedPart::customary(Part::Body);
            drawn.parts.encrypted.insert(0, body);
        }
    }
    for _ in 0..choices.one_of(&[0, 0, 1, 1, 2]) {
        drawn.endorse_with(endorsing(choices));
    }
    drawn.same_endorser = true;
    drawn.parts.only_entire_headers_and_body = choices.once_in(8);
    drawn.refuse_own_signatures = choices.once_in(2);
    drawn.parts.tokens_by_reference = choices.once_in(3);
    drawn
}

/// The policy of what answers a request of this policy.
pub(crate) fn answering(request: &Policy, choices: &mut Choices) -> Policy {
    let mut answer = request.clone();
    answer.supporting.clear();
    answer.header.signature_confirmation = choices.once_in(2);
    // A key that does nothing else encrypts no answers, and its certificate is none that the other
    // side knows already.
    let signs_alone = answer.suite.name.ends_with("X25519");
    match &mut answer.binding {
        Binding::Symmetric(binding) if binding.key.kind() == KeyBinding::SessionKey => {
            binding.key = SymmetricToken::Request;
        }
        Binding::Asymmetric(binding) => {
            if signs_alone {
                binding.signature = binding.signature.map(|_| KeyReference::Direct);
            } else if let Some(encryption) = &mut binding.encryption
                && let EncryptionKey::Certificate { recipient, .. } = &mut encryption.key
            {
                *recipient = choices.one_of(&[Recipient::Peer, Recipient::Requester]);
            }
        }
        _ => {}
    }
    if answer.header.signature_confirmation {
        if !answer.parts.signed.is_empty() {
            answer.parts.signed.push(Part::SignatureConfirmation);
        }
        if !answer.parts.encrypted.is_empty() && choices.once_in(2) {
            let part = EncryptedPart::customary(Part::SignatureConfirmation);
            answer.parts.encrypted.push(part);
        }
    }
    answer
}

/// Both sides' plans, if the policy makes sense to both.
pub(crate) fn compiled(
    policy: &Policy,
    [from, to]: [Keys; 2],
) -> Option<(OutboundPlan, InboundPlan)> {
    let outbound = OutboundPlan::compile(policy.clone(), from).ok()?;
    Some((outbound, InboundPlan::compile(policy.clone(), to).ok()?))
}

/// What is particular of a policy, on one line.
fn told(policy: &Policy) -> String {
    let Policy {
        suite,
        header,
        binding,
        supporting,
        parts,
        ..
    } = policy;
    format!(
        "{} {header:?} {binding:?} {supporting:?} {parts:?}",
        suite.name
    )
}

/// What went wrong with a message.
enum Failure {
    /// The message has nothing of what is to be signed, or the request nothing that its key was
    /// for. The sender is told so.
    Nothing,
    Other(String),
}

/// Secures and opens a message; what it leaves behind on both sides.
fn carried(
    policy: &Policy,
    message: &str,
    (plan, keys): (&OutboundPlan, Keys),
    outgoing: Outgoing<'_>,
    facts: &Facts,
) -> Result<[Receipt; 2], Failure> {
    let (mut buffers, mut sender) = (Buffers::default(), Sender::default());
    let secured = plan.secure_observed(
        envelope(message),
        outgoing,
        now(),
        &mut buffers,
        &mut sender,
    );
    let secured = secured.map_err(|error| match error {
        SecureError::NothingToSign | SecureError::RequestKeyMissing => Failure::Nothing,
        error => Failure::Other(format!("it is not secured: {error}")),
    })?;
    let message = text(&secured);
    let opened = open_with(policy, keys.clone(), facts, &message, now());
    let opened = opened
        .map_err(|error| Failure::Other(format!("it is not opened: {error:?}\n{message}")))?;
    if let Some(amiss) = sender.amiss(policy, (keys, facts), &message) {
        return Err(Failure::Other(format!("{amiss}\n{message}")));
    }
    let seen = forwarded(&opened);
    if !seen.contains("Grüße &amp; mehr</e:text>") {
        return Err(Failure::Other(format!("another message is opened: {seen}")));
    }
    let (_, receipt) = opened.finish(&mut Buffers::default());
    Ok([secured.receipt, receipt])
}

/// The keys of client and service for a suite.
pub(crate) fn keys(policy: &Policy) -> [Keys; 2] {
    match Agreeing::of(&policy.suite.name) {
        Some(agreeing) => [agreeing.client_keys(), agreeing.service_keys()],
        None => [client_keys(), service_keys()],
    }
}

/// A message of the policy that this number draws, and the answer to it, as far as they can be:
/// whether there were any.
fn exchange(number: u64) -> Result<[bool; 2], String> {
    let mut choices = Choices::of(number);
    let mut policy = drawn(&mut choices);
    policy.parts.inclusive_prefixes = listed(number);
    let message = choices.one_of(&MESSAGES);
    let Some((plan, _)) = compiled(&policy, keys(&policy)) else {
        return Ok([false; 2]);
    };
    let version = policy
        .derived_keys()
        .map_or(VERSIONS[0], |keys| keys.version);
    // Where no keys are derived from it, the secret is the key.
    let length = policy.suite.data[0].key_length();
    let context = SecurityContext {
        secret: SymmetricKey::new(vec![7; length]).unwrap(),
        ..context(version)
    };
    let [_, service] = keys(&policy);
    let (outgoing, known) = (Outgoing::within(&context), knowing(&[&context]));
    let [request, seen] = match carried(&policy, message, (&plan, service), outgoing, &known) {
        Ok(receipts) => receipts,
        Err(Failure::Nothing) => return Ok([false; 2]),
        Err(Failure::Other(error)) => {
            return Err(format!("request {number}: {error}\n{}", told(&policy)));
        }
    };

    let answer = answering(&policy, &mut choices);
    let [client, service] = keys(&answer);
    let Some((plan, _)) = compiled(&answer, [service, client.clone()]) else {
        return Ok([true, false]);
    };
    let known = Facts {
        request: Some(request),
        ..facts()
    };
    let outgoing = Outgoing::answer(&seen);
    match carried(&answer, message, (&plan, client), outgoing, &known) {
        Ok(_) => Ok([true; 2]),
        Err(Failure::Nothing) => Ok([true, false]),
        Err(Failure::Other(error)) => Err(format!("answer {number}: {error}\n{}", told(&answer))),
    }
}

#[test]
fn what_one_side_of_any_policy_secures_the_other_one_opens() {
    let (mut requests, mut answers) = (0, 0);
    let mut failed = Vec::new();
    for number in 0..POLICIES {
        match exchange(number) {
            Ok([request, answer]) => {
                requests += u64::from(request);
                answers += u64::from(answer);
            }
            Err(failure) => failed.push(failure),
        }
    }
    println!("{requests} requests and {answers} answers of {POLICIES} policies");
    let several = failed.len();
    assert!(
        failed.is_empty(),
        "{several} fail:\n{}",
        failed.join("\n\n")
    );
    assert!(requests > POLICIES / 10 && answers > POLICIES / 20);
}

#[test]
fn demands_that_fit_no_message_are_problems_of_the_plan() {
    let problem = |problems: Vec<PlanProblem>| {
        let [PlanProblem::Combination { problem }] = problems[..] else {
            panic!("{problems:?}");
        };
        problem
    };
    for layout in [Layout::LaxTimestampFirst, Layout::LaxTimestampLast] {
        let mut placed = policy(Mechanism::Encrypt, "Basic256GCM");
        placed.header.layout = layout;
        OutboundPlan::compile(placed.clone(), client_keys()).unwrap();
        placed.header.timestamp = None;
        let outbound = OutboundPlan::compile(placed.clone(), client_keys()).unwrap_err();
        let inbound = InboundPlan::compile(placed, service_keys()).unwrap_err();
        for problems in [outbound, inbound] {
            assert_eq!(
                problem(problems),
                "the layout says where the Timestamp stands, and the policy has none"
            );
        }
    }
}

/// A part that no key of the binding protects would be passed on as it is.
#[test]
fn parts_that_no_key_protects_are_problems_of_the_plan() {
    let signed = vec![Part::Body, Part::Timestamp];
    let asymmetric = |signs: bool, encrypts: bool| {
        Binding::Asymmetric(AsymmetricBinding {
            signature: signs.then_some(KeyReference::Direct),
            encryption: encrypts.then_some(EncryptionToken::wrapped(KeyReference::IssuerSerial)),
            order: ProtectionOrder::SignBeforeEncrypting,
        })
    };
    let all = [signed.clone(), vec![Part::Body]].concat();
    for (binding, unprotected) in [
        (Binding::None, all.clone()),
        (Binding::Transport, all),
        (asymmetric(false, true), signed),
        (asymmetric(true, false), vec![Part::Body]),
        (asymmetric(true, true), Vec::new()),
    ] {
        let mut policy = policy(Mechanism::SignEncrypt, "Basic256GCM");
        policy.binding = binding;
        let outbound = OutboundPlan::compile(policy.clone(), client_keys()).err();
        let inbound = InboundPlan::compile(policy, service_keys()).err();
        let problem = |part: &Part| PlanProblem::Part {
            part: part.clone(),
            problem: "is protected with no key",
        };
        let problems: Vec<_> = unprotected.iter().map(problem).collect();
        for found in [outbound, inbound] {
            assert_eq!(found.unwrap_or_default(), problems);
        }
    }
}

/// XML-Signature 1.1, 4.4: a `SignedInfo` has one reference at least.
#[test]
fn a_message_that_has_nothing_to_sign_is_not_secured() {
    let mut policy = policy(Mechanism::Sign, "Basic256GCM");
    policy.parts.signed = vec![header("From")];
    let plan = OutboundPlan::compile(policy, client_keys()).unwrap();
    let secured = plan.secure(
        envelope(PLAIN),
        Outgoing::default(),
        now(),
        &mut Buffers::default(),
    );
    assert_eq!(secured.unwrap_err(), SecureError::NothingToSign);
}

/// WS-SecurityPolicy 1.3, 6.3: where encryption comes first, the signature is over cipher text:
/// over that in which the element is.
#[test]
fn what_is_enciphered_before_it_is_signed_is_signed_in_its_cipher_text() {
    let mut policy = policy(Mechanism::EncryptSign, "Basic256GCM");
    policy.parts.signed = vec![path("//e:text")];
    let message = |policy: &Policy| secure(policy, PLAIN);
    let [one, other] = [message(&policy), message(&policy)];
    assert!(one.contains("-body\"><ds:Transforms>"), "{one}");
    assert!(forwarded(&open(&policy, &one).unwrap()).contains("Grüße"));
    // The same under the same key, by whoever has the other message and no key.
    let cipher = |message: &str| {
        let body = &message[message.find("<soap:Body").unwrap()..];
        let from = body.find("<xenc:CipherValue>").unwrap();
        body[from..body.find("</xenc:CipherValue>").unwrap()].to_owned()
    };
    let changed = one.replace(&cipher(&one), &cipher(&other));
    assert_ne!(changed, one);
    open(&policy, &changed).unwrap_err();
    // The signature covers nothing of the Body that the policy does not name.
    policy.parts.signed = vec![Part::Body];
    assert_eq!(
        open(&policy, &one).unwrap_err(),
        Rejected::Unsigned { part: Part::Body }
    );
}
