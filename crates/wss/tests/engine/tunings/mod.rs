//! Tunings change what a message costs, and nothing else: each is attacked with a memory that is
//! warm.

mod derived_keys;
mod digest_cache;
mod objects;
mod on_demand;
mod outbound;

use jiff::Timestamp;
use soapstone_crypto::{SignatureAlgorithm, base64};
use soapstone_wss::{
    Buffering, CacheBounds, Envelope, Facts, FirstSeen, InboundPlan, KeyBinding, Keys, Mechanism,
    Operation, OperationObserver, OutboundPlan, Outgoing, Part, Policy, Rejected, Tuning, Verified,
    names::{DS, WSU},
};
use soapstone_xml::{Buffers, Limits};

use crate::support::*;

/// Counts operations.
#[derive(Debug, Default)]
struct Counted(Vec<Operation>);

impl OperationObserver for Counted {
    fn ended(&mut self, operation: Operation) {
        self.0.push(operation);
    }
}

impl Counted {
    fn of(&self, operation: Operation) -> usize {
        self.0.iter().filter(|one| **one == operation).count()
    }
}

/// A plan that opens one message after the other.
struct Receiver {
    plan: InboundPlan,
    buffers: Buffers,
    counted: Counted,
}

impl Receiver {
    fn new(policy: &Policy, tuning: Tuning, keys: Keys) -> Self {
        let mut policy = policy.clone();
        policy.tuning = tuning;
        Self {
            plan: InboundPlan::compile(policy, keys).unwrap(),
            buffers: Buffers::default(),
            counted: Counted::default(),
        }
    }

    fn service(policy: &Policy, tuning: Tuning) -> Self {
        Self::new(policy, tuning, service_keys())
    }

    fn open_at(
        &mut self,
        message: &str,
        facts: &Facts,
        now: Timestamp,
    ) -> Result<Verified<Envelope>, Rejected> {
        let octets = message.as_bytes().to_vec();
        let envelope = Envelope::parse(octets, &Limits::default(), &mut self.buffers)?;
        self.counted.0.clear();
        let (buffers, counted) = (&mut self.buffers, &mut self.counted);
        let authenticated = self
            .plan
            .authenticate(envelope, facts, now, buffers, counted)?;
        let first_seen = FirstSeen::assertion(authenticated.marks());
        let opened = authenticated.open(&first_seen, buffers)?;
        let first_seen = FirstSeen::assertion(opened.late_marks());
        opened.admit(first_seen)
    }

    fn open(&mut self, message: &str) -> Result<Verified<Envelope>, Rejected> {
        self.open_at(message, &facts(), now())
    }

    #[track_caller]
    fn refuse(&mut self, message: &str) -> Rejected {
        match self.open(message) {
            Err(refused) => refused,
            Ok(verified) => panic!("accepted: {}", forwarded(&verified)),
        }
    }
}

fn bounds() -> Option<CacheBounds> {
    Some(CacheBounds::default())
}

/// Every tuning that matters to opening.
fn tunings() -> Vec<Tuning> {
    let mut tunings = Vec::new();
    for canonical_runs in [true, false] {
        for on_demand in [false, true] {
            for buffering in [Buffering::Streaming, Buffering::Buffered] {
                for digest_cache in [None, bounds()] {
                    tunings.push(Tuning {
                        canonical_runs,
                        on_demand,
                        buffering,
                        digest_cache,
                        prehash: bounds(),
                        ..Tuning::default()
                    });
                }
            }
        }
    }
    tunings
}

/// Signed by HMAC under the shared key, so that a test can sign anew what it has changed.
fn shared(parts: &[Part]) -> Policy {
    let mut policy = with_shared_key(policy(Mechanism::Sign, "Basic256Sha256"));
    assert_eq!(policy.signature().unwrap().key, KeyBinding::Shared);
    policy.parts.signed = parts.to_vec();
    policy
}

/// An envelope with three items, which have ids of their own, in a Body that declares the prefix of
/// their names.
fn items(texts: [&str; 3]) -> String {
    let mut items = String::new();
    for (id, text) in ["a", "b", "c"].into_iter().zip(texts) {
        items += &format!("<p:item u:Id=\"{id}\">{text}</p:item>");
    }
    format!(
        "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:u=\"{WSU}\"><soap:Body xmlns:p=\"urn:items\"><p:items>{items}</p:items></soap:Body></soap:Envelope>"
    )
}

/// The policy that signs the items one by one, and not the Body around them.
fn items_policy() -> Policy {
    let ids = ["a", "b", "c"].map(|id| Part::Id(id.to_owned()));
    shared(&ids)
}

/// Signs a message anew with the shared key, after its `SignedInfo` was changed: what the partner
/// himself could send.
fn signed_anew(message: &str) -> String {
    let start = message.find("<ds:SignedInfo>").unwrap();
    let end = message.find("</ds:SignedInfo>").unwrap() + "</ds:SignedInfo>".len();
    let signed_info = message[start..end].replacen(
        "<ds:SignedInfo>",
        &format!("<ds:SignedInfo xmlns:ds=\"{DS}\">"),
        1,
    );
    let method = SignatureAlgorithm::HmacSha1;
    assert!(signed_info.contains(method.uri()), "{signed_info}");
    let key = &PARTIES.shared.signing;
    let value = key.sign(method, signed_info.as_bytes(), None).unwrap();
    let open = "<ds:SignatureValue>";
    let from = message.find(open).unwrap() + open.len();
    let to = message.find("</ds:SignatureValue>").unwrap();
    format!(
        "{}{}{}",
        &message[..from],
        base64::encode(value.as_ref()),
        &message[to..]
    )
}

fn sender(policy: &Policy, tuning: Tuning) -> OutboundPlan {
    let mut policy = policy.clone();
    policy.tuning = tuning;
    OutboundPlan::compile(policy, client_keys()).unwrap()
}

/// Secures without assembling; returns the message and what was done.
fn handed_over(plan: &OutboundPlan, plain: &str) -> (String, Counted) {
    let (mut message, mut counted) = (Vec::new(), Counted::default());
    plan.secure_into(
        envelope(plain),
        Outgoing::default(),
        now(),
        &mut Buffers::default(),
        &mut message,
        &mut counted,
    )
    .unwrap();
    (String::from_utf8(message).unwrap(), counted)
}

#[test]
fn a_message_that_is_signed_anew_is_as_good_as_before() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    assert_eq!(signed_anew(&message), message);
}

#[test]
fn every_tuning_hands_on_the_same_octets_marks_and_evidence() {
    for mechanism in Mechanism::SINGLE {
        for suite in ["Basic128GCM", "Basic256"] {
            let policy = policy(mechanism, suite);
            let message = secure(&policy, PLAIN);
            let expected = open(&policy, &message).unwrap();
            for tuning in tunings() {
                let mut receiver = Receiver::service(&policy, tuning);
                for _ in 0..2 {
                    let verified = receiver
                        .open(&message)
                        .unwrap_or_else(|error| panic!("{mechanism} {tuning:?}: {error}"));
                    assert_eq!(
                        forwarded(&verified),
                        forwarded(&expected),
                        "{mechanism} {tuning:?}"
                    );
                    let nodes = |verified: &Verified<Envelope>| {
                        let signatures = &verified.evidence().signatures;
                        let nodes: Vec<_> = signatures
                            .iter()
                            .map(|signature| signature.nodes.clone())
                            .collect();
                        nodes
                    };
                    assert_eq!(nodes(&verified), nodes(&expected));
                    assert_eq!(verified.evidence().weak, expected.evidence().weak);
                }
            }
        }
    }
}

/// Byte by byte: whatever somebody on the way changes, a memory that knows the original refuses
/// what one without memory refuses.
#[test]
fn a_warm_memory_refuses_every_change_that_a_cold_one_refuses_and_for_the_same_reason() {
    let policy = shared(&[Part::Body, Part::Timestamp, Part::Id("a".to_owned())]);
    let message = secure(&policy, &items(["1 &gt; 0", "2", "3"]));
    let mut without = Receiver::service(&policy, Tuning::default());
    let mut tuned: Vec<Receiver> = tunings()
        .into_iter()
        .map(|tuning| Receiver::service(&policy, tuning))
        .collect();
    let at = now();
    for receiver in &mut tuned {
        receiver.open_at(&message, &facts(), at).unwrap();
    }
    let mut refused = 0;
    for place in (0..message.len()).step_by(7) {
        for other in ["", " ", "x", "<!--x-->", "<x></x>"] {
            let changed = format!("{}{other}{}", &message[..place], &message[place + 1..]);
            let expected = without.open_at(&changed, &facts(), at);
            refused += usize::from(expected.is_err());
            let expected = expected
                .map(|verified| forwarded(&verified))
                .map_err(|rejected| rejected.name());
            // One after the other, and not all each time: the memories stay warm in any case.
            let which = (place + other.len()) % tuned.len();
            let found = tuned[which]
                .open_at(&changed, &facts(), at)
                .map(|verified| forwarded(&verified))
                .map_err(|rejected| rejected.name());
            assert_eq!(found, expected, "{which} {changed}");
        }
    }
    assert!(refused > 500, "{refused}");
}
