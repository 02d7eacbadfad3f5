//! How often a key may be tried, and until when by a weak algorithm.

use std::collections::HashMap;
use std::sync::Mutex;

use jiff::Timestamp;
use soapstone::wss::{FirstSeen, ReplayKey};
use soapstone::{
    Attempts, ForgetfulReplayCache, KeyName, Memory, Opener, Outcome, ReplayCache, ReplayError,
    Tally,
};
use soapstone_testkit::keys::RSA;

use super::{OF_OFFICE, encryption, pair};
use crate::MECHANISMS;

/// The tallies that are not zero.
#[derive(Default)]
struct Tallies(Mutex<HashMap<KeyName, Tally>>);

impl Tallies {
    /// The tallies of before, which `change` then changes.
    fn changed(&self, names: &[KeyName], change: impl Fn(&mut Tally)) -> Vec<Tally> {
        let mut known = self.0.lock().expect("the lock");
        let before = names
            .iter()
            .map(|name| known.get(name).copied().unwrap_or_default())
            .collect();
        for name in names {
            change(known.entry(*name).or_default());
        }
        known.retain(|_, tally| *tally != Tally::default());
        before
    }
}

impl ReplayCache for Tallies {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        ForgetfulReplayCache.first_seen(marks, now)
    }
}

impl Attempts for Tallies {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        _: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let first_seen = self.first_seen(marks, now)?;
        Ok((first_seen, self.changed(names, |tally| tally.open += 1)))
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        let failed = u32::from(outcome == Outcome::Failed);
        Ok(self.changed(names, |tally| {
            tally.open -= 1;
            tally.failed += failed;
        }))
    }
}

/// Cipher text in CBC that can be tried 258 times gives 16 bytes away (Jager and Somorovsky, 2011).
/// Its key is tried three times a day, in whatever messages it comes.
#[test]
fn failed_openings_are_counted_by_the_inner_key() {
    let pair = pair(RSA);
    for (suite, last) in [
        ("Basic256", "key-tried-too-often"),
        ("Basic256GCM", "decryption-failed"),
    ] {
        let with = format!(", suite = \"{suite}\"");
        let sealed = pair.order(&with);
        let end = sealed.rfind("</xenc:CipherValue>").expect("the data");
        let (before, behind) = sealed.split_at(end - 40);
        let changed = format!("{before}AAAA{}", &behind[4..]);
        let inner = encryption(&format!("{OF_OFFICE}{with}"));
        let opener: Opener = pair.endpoint("service", MECHANISMS[0], &inner);
        let cache = Tallies::default();
        let tried = |message: &str| {
            let memory = Memory::without_conversations(&cache);
            opener.open(message.as_bytes().to_vec(), memory)
        };
        for _ in 0..3 {
            let refused = tried(&changed).expect_err("it was changed");
            assert_eq!(refused.name(), "decryption-failed");
        }
        let refused = tried(&changed).expect_err("it was changed");
        assert_eq!(refused.name(), last, "{suite}");
        assert_eq!(tried(&sealed).is_ok(), suite == "Basic256GCM", "{suite}");
        // Another key is not counted with it.
        assert!(tried(&pair.order(&with)).is_ok(), "{suite}");
    }
}

/// Each message has a fresh key: a good one leaves nothing in the store for a day.
#[test]
fn good_messages_leave_no_openings_of_inner_keys() {
    let pair = pair(RSA);
    let with = ", suite = \"Basic256\"";
    let inner = encryption(&format!("{OF_OFFICE}{with}"));
    let opener: Opener = pair.endpoint("service", MECHANISMS[0], &inner);
    let cache = Tallies::default();
    for _ in 0..3 {
        let memory = Memory::without_conversations(&cache);
        let message = pair.order(with).into_bytes();
        opener.open(message, memory).expect("it is good");
        assert_eq!(cache.0.lock().expect("the lock").len(), 0);
    }
}

/// `allow_weak_until` ends weak algorithms of inner cipher text as well, before a key is used.
#[test]
fn a_retired_algorithm_ends_inner_cipher_text() {
    let pair = pair(RSA);
    let with = ", suite = \"TripleDesRsa15\"";
    let sealed = pair.order(with);
    let inner = encryption(&format!("{OF_OFFICE}{with}"));
    for (algorithm, until, refused) in [
        ("tripledes-cbc", "2020-01-01", true),
        ("rsa-1_5", "2020-01-01", true),
        ("rsa-1_5", "2999-01-01", false),
        ("rsa-sha1", "2020-01-01", false),
    ] {
        let mechanism = format!(
            "{}, allow_weak_until = {{ {algorithm} = \"{until}\" }}",
            MECHANISMS[0]
        );
        let opener: Opener = pair.endpoint("service", &mechanism, &inner);
        let cache = Tallies::default();
        let memory = Memory::without_conversations(&cache);
        let opened = opener.open(sealed.clone().into_bytes(), memory);
        let name = opened.err().map(|rejected| rejected.name());
        let expected = refused.then_some("algorithm-retired");
        assert_eq!(name, expected, "{algorithm} {until}");
    }
}
