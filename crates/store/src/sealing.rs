//! Security contexts as bytes, and sealed for the place where they rest.
//!
//! What rests in a shared store is a form, the id of a key, and the context sealed under that key
//! (AES-256-GCM). Scope, identifier and instance are not in it: they are authenticated, so that a
//! value put under another name does not open. Two keys may open: the one that seals, and one that
//! is coming or going.
//!
//! The rule kept here: what does not open is an error, except under a key that is no longer there,
//! whose contexts are gone with it.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone::config::StoreConfig;
use soapstone::crypto::{
    Certificate, CryptoError, DigestAlgorithm, SecretBytes, SymmetricKey, digest, sealed_storage,
};
use soapstone::wss::{ContextName, ContextOwner, ConversationVersion, SecurityContext};

use crate::sealed_owner;

/// The form of sealed values; one with another form was written by another version.
const FORM: u8 = 1;

/// The kind of an owner who is the subject of an assertion. 5 was that of a former layout.
const SUBJECT: u8 = 6;

const KEY_ID_LENGTH: usize = 4;

/// The keys that seal and open.
#[derive(Debug)]
pub(crate) struct SealKeys {
    current: SealKey,
    other: Option<SealKey>,
}

#[derive(Debug)]
struct SealKey {
    id: [u8; KEY_ID_LENGTH],
    key: SymmetricKey,
}

/// The key that opens a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    /// The key that seals.
    Current,
    /// The one that is coming or going.
    Other,
    /// Neither: it was sealed with a key that is not here.
    Neither,
}

/// A sealed value that cannot be used: it was changed, belongs to another name, or was sealed by
/// somebody without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl SealKeys {
    /// The keys of a configuration; `None` when there is none to seal with.
    pub(crate) fn from_config(config: &StoreConfig) -> Result<Option<Self>, CryptoError> {
        let key = |octets: Option<&soapstone::config::Confidential<Vec<u8>>>| {
            octets
                .map(|octets| SealKey::new(octets.expose().clone()))
                .transpose()
        };
        let other = key(config.other_seal_key.as_ref())?;
        let current = key(config.seal_key.as_ref())?;
        Ok(current.map(|current| Self { current, other }))
    }

    /// Seals a context for its name in `scope`.
    pub(crate) fn seal(
        &self,
        scope: &str,
        context: &SecurityContext,
    ) -> Result<Vec<u8>, CryptoError> {
        let place = place(scope, &context.identifier, context.instance.as_deref());
        let sealed = sealed_storage::seal(&self.current.key, &place, write(context).expose())?;
        let mut value = Vec::with_capacity(1 + KEY_ID_LENGTH + sealed.len());
        value.push(FORM);
        value.extend_from_slice(&self.current.id);
        value.extend_from_slice(&sealed);
        Ok(value)
    }

    /// Opens a context under a name. `None` when its key is no longer there, or it is of another
    /// version than the name says.
    pub(crate) fn open(
        &self,
        scope: &str,
        name: &ContextName,
        value: &[u8],
    ) -> Result<Option<SecurityContext>, Unreadable> {
        let (head, sealed) = value
            .split_at_checked(1 + KEY_ID_LENGTH)
            .ok_or(Unreadable)?;
        if head[0] != FORM {
            return Err(Unreadable);
        }
        let known = [Some(&self.current), self.other.as_ref()];
        let Some(key) = known.into_iter().flatten().find(|key| key.id == head[1..]) else {
            return Ok(None);
        };
        let place = place(scope, &name.identifier, name.instance.as_deref());
        let opened = sealed_storage::open(&key.key, &place, sealed).map_err(|_| Unreadable)?;
        let context = read(name, opened.expose()).ok_or(Unreadable)?;
        Ok(Some(context).filter(|context| context.version == name.version))
    }
}

impl SealKeys {
    /// Seals nothing, for all who have the key to see.
    pub(crate) fn seal_canary(&self, prefix: &str) -> Result<Vec<u8>, CryptoError> {
        sealed_storage::seal(&self.current.key, &canary_place(prefix), &[])
    }

    /// The key that opens a canary.
    pub(crate) fn open_canary(&self, prefix: &str, value: &[u8]) -> Opener {
        let place = canary_place(prefix);
        let opens = |key: &SealKey| sealed_storage::open(&key.key, &place, value).is_ok();
        match &self.other {
            _ if opens(&self.current) => Opener::Current,
            Some(other) if opens(other) => Opener::Other,
            _ => Opener::Neither,
        }
    }
}

/// What a canary belongs to: written as no place of a context is.
fn canary_place(prefix: &str) -> Vec<u8> {
    [b"soapstone canary\0".as_slice(), prefix.as_bytes()].concat()
}

impl SealKey {
    fn new(octets: Vec<u8>) -> Result<Self, CryptoError> {
        let mut named = SecretBytes::copy_of(b"soapstone seal key\0");
        named.expose_mut().extend_from_slice(&octets);
        let digest = digest::digest(DigestAlgorithm::Sha256, named.expose())?;
        let mut id = [0; KEY_ID_LENGTH];
        id.copy_from_slice(&digest.as_ref()[..KEY_ID_LENGTH]);
        Ok(Self {
            id,
            key: SymmetricKey::new(octets)?,
        })
    }
}

/// What a sealed context belongs to, written so that no two places are written alike.
fn place(scope: &str, identifier: &str, instance: Option<&str>) -> Vec<u8> {
    let mut place = b"soapstone security context\0".to_vec();
    for text in [Some(scope), Some(identifier), instance] {
        sealed_owner::put(&mut place, text);
    }
    place
}

fn write(context: &SecurityContext) -> SecretBytes {
    let (ticket, subject);
    let (kind, owner): (u8, &[u8]) = match &context.owner {
        ContextOwner::Certificate(certificate) => (1, certificate.der()),
        ContextOwner::User(name) => (2, name.as_bytes()),
        ContextOwner::Anonymous => (3, &[]),
        ContextOwner::Kerberos { client, ends } => {
            let ends = ends.as_nanosecond().to_be_bytes();
            ticket = [ends.as_slice(), client.as_bytes()].concat();
            (4, &ticket)
        }
        ContextOwner::Subject(owner) => {
            subject = sealed_owner::write(owner);
            (SUBJECT, &subject)
        }
    };
    let secret = context.secret.expose();
    // Reserved beforehand, so that no copy of the secret is left behind by growing.
    let mut written = SecretBytes::new(Vec::with_capacity(42 + secret.len() + owner.len()));
    let octets = written.expose_mut();
    octets.push(match context.version {
        ConversationVersion::February2005 => 1,
        ConversationVersion::V13 => 2,
    });
    for moment in [context.created, context.expires] {
        octets.extend_from_slice(&moment.as_nanosecond().to_be_bytes());
    }
    octets.extend_from_slice(&(secret.len() as u64).to_be_bytes());
    octets.extend_from_slice(secret);
    octets.push(kind);
    octets.extend_from_slice(owner);
    written
}

fn read(name: &ContextName, octets: &[u8]) -> Option<SecurityContext> {
    let (version, rest) = octets.split_first()?;
    let version = match version {
        1 => ConversationVersion::February2005,
        2 => ConversationVersion::V13,
        _ => return None,
    };
    let moment = |octets: &[u8; 16]| Timestamp::from_nanosecond(i128::from_be_bytes(*octets)).ok();
    let (created, rest) = rest.split_first_chunk()?;
    let (expires, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let (secret, rest) = rest.split_at_checked(length)?;
    let (kind, owner) = rest.split_first()?;
    Some(SecurityContext {
        version,
        identifier: name.identifier.clone(),
        instance: name.instance.clone(),
        secret: SymmetricKey::new(secret.to_vec()).ok()?,
        created: moment(created)?,
        expires: moment(expires)?,
        owner: match *kind {
            1 => ContextOwner::Certificate(Certificate::from_der(owner).ok()?),
            2 => ContextOwner::User(String::from_utf8(owner.to_vec()).ok()?),
            3 if owner.is_empty() => ContextOwner::Anonymous,
            4 => {
                let (ends, client) = owner.split_first_chunk()?;
                ContextOwner::Kerberos {
                    client: String::from_utf8(client.to_vec()).ok()?,
                    ends: moment(ends)?,
                }
            }
            SUBJECT => ContextOwner::Subject(Arc::new(sealed_owner::read(owner)?)),
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a moment.
    const MOMENT: usize = 16;

    #[test]
    fn the_client_of_a_ticket_comes_back_with_the_end_of_the_ticket() {
        let ends = Timestamp::from_second(2_000).expect("a time");
        let client = "alice@EXAMPLE.COM".to_owned();
        let sealed = context(ContextOwner::Kerberos { client, ends });
        let written = write(&sealed);
        let read = read(&sealed.name(), written.expose()).expect("what was written");
        let found = matches!(&read.owner, ContextOwner::Kerberos { client, ends: end }
            if client == "alice@EXAMPLE.COM" && *end == ends);
        assert!(found, "{:?}", read.owner);
    }

    fn key(octet: u8) -> SealKey {
        SealKey::new(vec![octet; 32]).expect("octets")
    }

    fn keys(current: u8, other: Option<u8>) -> SealKeys {
        SealKeys {
            current: key(current),
            other: other.map(key),
        }
    }

    fn context(owner: ContextOwner) -> SecurityContext {
        SecurityContext {
            version: ConversationVersion::V13,
            identifier: "urn:uuid:1".to_owned(),
            instance: Some("urn:uuid:2".to_owned()),
            secret: SymmetricKey::new((1..=32).collect()).expect("octets"),
            created: "2026-11-20T12:00:00.123456789Z".parse().expect("a moment"),
            expires: "2026-11-20T22:00:00Z".parse().expect("a moment"),
            owner,
        }
    }

    fn opened(
        keys: &SealKeys,
        scope: &str,
        name: &ContextName,
        value: &[u8],
    ) -> Result<Option<String>, Unreadable> {
        let opened = keys.open(scope, name, value)?;
        Ok(opened.map(|context| context.owner.to_string()))
    }

    /// It would be read as another owner, or as none.
    #[test]
    fn an_owner_in_the_former_layout_is_of_another_version() {
        let mut subject = soapstone::wss::NameIdentifier::default();
        subject.value = "alice".to_owned();
        let owner = soapstone::wss::AssertedOwner {
            issuer: "https://idp.example".to_owned(),
            signed_by: None,
            subject,
            id: "_a1".to_owned(),
            ends: Timestamp::from_second(2_000).expect("a time"),
            attributes: Vec::new(),
            attester: None,
        };
        let written = sealed_owner::write(&owner);
        let sealed = context(ContextOwner::Subject(Arc::new(owner)));
        let whole = write(&sealed);
        let (head, _) = whole
            .expose()
            .split_at(whole.expose().len() - written.len() - 1);
        let of = |kind: u8, owner: &[u8]| {
            let bytes = [head, &[kind], owner].concat();
            read(&sealed.name(), &bytes).map(|context| context.owner.to_string())
        };
        let is_subject = |owner: Option<String>| owner.is_some_and(|it| it.contains("alice"));
        assert!(is_subject(of(SUBJECT, &written)));
        // Who signed was not in it.
        let former = [&written[..MOMENT + 1], &written[MOMENT + 2..]].concat();
        for owner in [&former, &written] {
            assert_eq!(of(5, owner), None);
        }
        let whole = [head, &[5], &former].concat();
        let place = place("/", &sealed.identifier, sealed.instance.as_deref());
        let under = keys(1, None);
        let value = sealed_storage::seal(&under.current.key, &place, &whole).expect("it seals");
        let value = [&[FORM][..], &under.current.id, &value].concat();
        assert_eq!(opened(&under, "/", &sealed.name(), &value), Err(Unreadable));
    }

    #[test]
    fn a_context_opens_as_it_was_sealed() {
        let sealed = context(ContextOwner::User("alice".to_owned()));
        let value = keys(1, None).seal("/books", &sealed).expect("it seals");
        let opened = keys(1, None)
            .open("/books", &sealed.name(), &value)
            .expect("it opens")
            .expect("it is there");
        assert_eq!(opened.name(), sealed.name());
        assert_eq!(opened.secret.expose(), sealed.secret.expose());
        assert_eq!(
            (opened.created, opened.expires),
            (sealed.created, sealed.expires)
        );
        assert!(matches!(opened.owner, ContextOwner::User(name) if name == "alice"));
    }

    #[test]
    fn a_context_opens_under_no_other_scope_identifier_or_instance() {
        let sealed = context(ContextOwner::Anonymous);
        let name = sealed.name();
        let value = keys(1, None).seal("/books", &sealed).expect("it seals");
        let others = [
            ("/book", name.clone()),
            (
                "/books",
                ContextName {
                    identifier: "urn:uuid:3".to_owned(),
                    ..name.clone()
                },
            ),
            (
                "/books",
                ContextName {
                    instance: None,
                    ..name.clone()
                },
            ),
            (
                "/books",
                ContextName {
                    instance: Some(String::new()),
                    ..name.clone()
                },
            ),
            // The same letters, divided otherwise.
            (
                "/booksurn:",
                ContextName {
                    identifier: "uuid:1".to_owned(),
                    ..name.clone()
                },
            ),
        ];
        for (scope, name) in others {
            assert_eq!(
                opened(&keys(1, None), scope, &name, &value),
                Err(Unreadable),
                "{scope} {name}"
            );
        }
        let earlier = ContextName {
            version: ConversationVersion::February2005,
            ..name
        };
        assert_eq!(opened(&keys(1, None), "/books", &earlier, &value), Ok(None));
    }

    #[test]
    fn keys_are_changed_without_losing_a_context() {
        let sealed = context(ContextOwner::Anonymous);
        let name = sealed.name();
        let seal = |keys: SealKeys| keys.seal("/", &sealed).expect("it seals");
        let anonymous = Ok(Some("anonymous".to_owned()));
        // First every node can open what the new key seals, then they seal with it, then the old
        // key goes.
        let (first, second, third) = (keys(1, Some(2)), keys(2, Some(1)), keys(2, None));
        for value in [seal(keys(1, Some(2))), seal(keys(2, Some(1)))] {
            assert_eq!(opened(&first, "/", &name, &value), anonymous);
            assert_eq!(opened(&second, "/", &name, &value), anonymous);
        }
        assert_eq!(opened(&third, "/", &name, &seal(second)), anonymous);
        assert_eq!(opened(&third, "/", &name, &seal(first)), Ok(None));
    }

    #[test]
    fn a_value_that_was_changed_or_cut_does_not_open() {
        let sealed = context(ContextOwner::Anonymous);
        let value = keys(1, None).seal("/", &sealed).expect("it seals");
        for position in (0..value.len()).filter(|position| !(1..=KEY_ID_LENGTH).contains(position))
        {
            let mut changed = value.clone();
            changed[position] ^= 1;
            let found = opened(&keys(1, None), "/", &sealed.name(), &changed);
            assert_eq!(found, Err(Unreadable), "byte {position}");
        }
        for length in 0..value.len() {
            let found = opened(&keys(1, None), "/", &sealed.name(), &value[..length]);
            assert_eq!(found, Err(Unreadable), "{length} bytes");
        }
    }
}
