//! Private keys that are held elsewhere, and what their holder is asked for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::crypto::{
    ExternalKey, ExternalKeyError, Identity, PrivateKey, RsaPadding, SecretBytes,
    SignatureAlgorithm,
};
use soapstone::replay::{ForgetfulReplayCache, ReplayCache, ReplayError};
use soapstone::wss::{
    FirstSeen, InboundPlan, Keys, Mechanism, OutboundPlan, Rejected, ReplayKey, Suite,
};
use soapstone::xml::Limits;
use soapstone::{Memory, Opener, Securer};
use soapstone_testkit::keys;

const PLAIN: &[u8] =
    b"<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><a/></s:Body></s:Envelope>";

/// A holder that counts what it is asked for, and gives no result.
struct Holder {
    asked: AtomicU32,
    answer: ExternalKeyError,
}

impl Holder {
    fn answer<T>(&self) -> Result<T, ExternalKeyError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Err(self.answer.clone())
    }
}

impl ExternalKey for Holder {
    fn sign(&self, _: SignatureAlgorithm, _: &[u8]) -> Result<Vec<u8>, ExternalKeyError> {
        // What a substitute key is made from.
        Ok(vec![1; 256])
    }

    fn decrypt(&self, _: RsaPadding<'_>, _: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
        self.answer()
    }

    fn agree(&self, _: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
        self.answer()
    }
}

/// A service whose key is with a holder that gives this answer.
fn service(answer: ExternalKeyError) -> (Opener, Arc<Holder>) {
    let known = keys::identity("CN=service", keys::RSA);
    let asked = AtomicU32::new(0);
    let holder = Arc::new(Holder { asked, answer });
    let public = known.certificate().public_key().clone();
    let key = PrivateKey::external(public, Arc::clone(&holder) as Arc<dyn ExternalKey>);
    let identity = Identity::new(key, known.certificate().clone(), Vec::new()).expect("its own");
    let keys = Keys {
        identity: Some(Arc::new(identity)),
        trust: Some(keys::trust()),
        ..Keys::default()
    };
    let policy = Mechanism::SignEncrypt.policy(suite());
    let plan = InboundPlan::compile(policy, keys).expect("a plan");
    holder.asked.store(0, Ordering::Relaxed);
    (Opener::of_plan(plan, Limits::default()), holder)
}

fn suite() -> Suite {
    Suite::named("Basic128GCM").expect("a suite")
}

fn secured() -> String {
    let keys = Keys {
        identity: Some(keys::identity("CN=client", keys::RSA)),
        peer: Some(
            keys::identity("CN=service", keys::RSA)
                .certificate()
                .clone(),
        ),
        ..Keys::default()
    };
    let plan = OutboundPlan::compile(Mechanism::SignEncrypt.policy(suite()), keys);
    let securer = Securer::of_plan(plan.expect("a plan"), Limits::default());
    let secured = securer.secure(PLAIN.to_vec());
    String::from_utf8(secured.expect("it can be secured").bytes).expect("text")
}

/// Tells how openings under the keys of messages ended.
#[derive(Default)]
struct Told(Mutex<Vec<Outcome>>);

impl ReplayCache for Told {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        ForgetfulReplayCache.first_seen(marks, now)
    }
}

impl Attempts for Told {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        ForgetfulReplayCache.begin(marks, names, until, now)
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        self.0.lock().expect("no panic").push(outcome);
        ForgetfulReplayCache.end(names, outcome, until, now)
    }
}

fn opened(opener: &Opener, message: &str) -> (Rejected, Vec<Outcome>) {
    let told = Told::default();
    let memory = Memory::without_conversations(&told);
    let refused = opener.open(message.as_bytes().to_vec(), memory);
    let refused = refused.map(|_| ()).expect_err("the holder gives no result");
    (refused, told.0.into_inner().expect("no panic"))
}

#[test]
fn a_key_that_is_away_counts_no_try_of_the_peer() {
    let away = ExternalKeyError::Unavailable {
        reason: "the token is away".to_owned(),
    };
    let (opener, holder) = service(away);
    assert!(opener.waits_for_keys());
    let (refused, told) = opened(&opener, &secured());
    assert_eq!(refused.name(), "key-unavailable");
    assert_eq!(told, [Outcome::Succeeded]);
    assert_eq!(holder.asked.load(Ordering::Relaxed), 1);
    let (opener, _) = service(ExternalKeyError::Refused);
    assert_eq!(opened(&opener, &secured()).1, [Outcome::Failed]);
}

/// No signature covers wrapped keys: anybody can put some beside the sender's, and have them
/// unwrapped only where what comes before them was readable.
#[test]
fn a_wrapped_key_that_nothing_uses_is_not_unwrapped() {
    let message = secured();
    let start = message.find("<xenc:EncryptedKey").expect("a wrapped key");
    let end = message.find("</xenc:EncryptedKey>").expect("its end") + "</xenc:EncryptedKey>".len();
    let key = &message[start..end];
    let list = key.find("<xenc:ReferenceList").expect("what it deciphers");
    let unused = format!("{}</xenc:EncryptedKey>", &key[..list]);
    let id = unused.find(" Id=\"").expect("an id") + " Id=\"".len();
    let (head, rest) = unused.split_at(id);
    let unused = format!("{head}other-{rest}");
    let (opener, holder) = service(ExternalKeyError::Refused);
    opened(
        &opener,
        &format!("{}{unused}{}", &message[..start], &message[start..]),
    );
    assert_eq!(holder.asked.load(Ordering::Relaxed), 1);
}
