//! How many conversations each owner holds, so that no one of them takes the room of all the
//! others.
//!
//! The rule kept here: a share is held by a conversation and ends with it, whatever ends that.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use soapstone::wss::ContextOwner;

/// The owners of a store, and what each of them holds.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_owner: HashMap<Holder, Weak<AtomicUsize>>,
    /// How many there may be before those that hold nothing are dropped.
    bound: usize,
}

/// Who holds something. All who do not say who they are hold it together.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Holder {
    Certificate([u8; 32]),
    User(Box<str>),
    Kerberos(Box<str>),
    /// The subject of an issuer, with the format and the domains of the name.
    Subject([Option<Box<str>>; 5]),
    /// All subjects whose names an issuer gives for a login: each login has another one.
    Logins(Box<str>),
    /// All subjects that somebody vouched for: he says whose names they are.
    Vouched([u8; 32]),
    Anonymous,
}

impl Holder {
    fn of(owner: &ContextOwner) -> Self {
        match owner {
            ContextOwner::Certificate(certificate) => {
                Self::Certificate(certificate.thumbprint_sha256())
            }
            ContextOwner::User(name) => Self::User(name.as_str().into()),
            ContextOwner::Kerberos { client, .. } => Self::Kerberos(client.as_str().into()),
            ContextOwner::Subject(owner) => {
                if let Some(attester) = &owner.attester {
                    return Self::Vouched(attester.certificate.thumbprint);
                }
                if !owner.subject.is_lasting() {
                    return Self::Logins(owner.issuer.as_str().into());
                }
                let text = |text: &Option<String>| text.as_deref().map(Into::into);
                let subject = &owner.subject;
                Self::Subject([
                    Some(owner.issuer.as_str().into()),
                    Some(subject.value.as_str().into()),
                    text(&subject.format),
                    text(&subject.qualifier),
                    text(&subject.service_qualifier),
                ])
            }
            ContextOwner::Anonymous => Self::Anonymous,
        }
    }
}

/// The room of one conversation.
#[derive(Debug)]
pub(crate) struct Share(Arc<AtomicUsize>);

impl Drop for Share {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shares {
    /// At most so many conversations for each owner.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            known: Mutex::default(),
        }
    }

    /// How many an owner may hold.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Whether conversations of both are of one share.
    pub(crate) fn is_of_one(one: &ContextOwner, other: &ContextOwner) -> bool {
        Holder::of(one) == Holder::of(other)
    }

    /// Room for one conversation more; `None` where its owner holds as many as he may.
    pub(crate) fn take(&self, owner: &ContextOwner) -> Option<Share> {
        let holder = Holder::of(owner);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let held = match known.by_owner.get(&holder).and_then(Weak::upgrade) {
            Some(held) => held,
            None => {
                if known.by_owner.len() >= known.bound {
                    known.by_owner.retain(|_, held| held.strong_count() > 0);
                    known.bound = 64.max(2 * known.by_owner.len());
                }
                let held = Arc::new(AtomicUsize::new(0));
                known.by_owner.insert(holder, Arc::downgrade(&held));
                held
            }
        };
        let fits = |held: usize| (held < self.most).then_some(held + 1);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()
            .map(|_| Share(held))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use soapstone::wss::{
        AssertedOwner, Attester, KnownCertificate, NameIdentifier, TRANSIENT_NAMES,
    };

    use super::*;

    #[test]
    fn a_share_ends_with_who_holds_it_and_owners_who_hold_nothing_are_forgotten() {
        let shares = Shares::new(2);
        let user = |name: usize| ContextOwner::User(name.to_string());
        let (one, two) = (shares.take(&user(0)), shares.take(&user(0)));
        assert!(one.is_some() && two.is_some() && shares.take(&user(0)).is_none());
        assert!(shares.take(&ContextOwner::Anonymous).is_some());
        drop(one);
        assert!(shares.take(&user(0)).is_some());
        for name in 0..1000 {
            assert!(shares.take(&user(name)).is_some());
        }
        assert!(shares.known.lock().expect("no panic").by_owner.len() <= 64);
    }

    /// An issuer gives another name for each login, and who vouches names whom he wants.
    #[test]
    fn names_that_somebody_makes_up_share_one_room() {
        let shares = Shares::new(2);
        let subject = |issuer: &str, name: &str, change: &dyn Fn(&mut AssertedOwner)| {
            let mut owner = AssertedOwner {
                issuer: issuer.to_owned(),
                signed_by: None,
                subject: NameIdentifier::default(),
                id: format!("_{name}"),
                ends: Timestamp::UNIX_EPOCH,
                attributes: Vec::new(),
                attester: None,
            };
            owner.subject.value = name.to_owned();
            change(&mut owner);
            ContextOwner::Subject(Arc::new(owner))
        };
        let lasting = |_: &mut AssertedOwner| {};
        let transient =
            |owner: &mut AssertedOwner| owner.subject.format = Some(TRANSIENT_NAMES.to_owned());
        let vouched = |owner: &mut AssertedOwner| {
            owner.attester = Some(Attester {
                certificate: KnownCertificate {
                    thumbprint: [1; 32],
                    root: [2; 32],
                    subject: "CN=gateway".to_owned(),
                    issuer: "CN=ca".to_owned(),
                },
                ends: Timestamp::UNIX_EPOCH,
            });
        };
        let fit = |issuers: [&str; 3], change: &dyn Fn(&mut AssertedOwner)| {
            let names = issuers.into_iter().zip(["a", "b", "c"]);
            let taken = names.map(|(issuer, name)| shares.take(&subject(issuer, name, change)));
            taken.collect::<Vec<_>>().iter().flatten().count()
        };
        assert_eq!(fit(["idp"; 3], &lasting), 3);
        assert_eq!(fit(["idp"; 3], &transient), 2);
        assert_eq!(fit(["idp", "other", "other"], &transient), 3);
        assert_eq!(fit(["idp", "other", "third"], &vouched), 2);
    }
}
