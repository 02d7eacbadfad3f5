//! Security contexts of recorded conversations: those that are granted in a test, and those that
//! peers agreed on.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::crypto::{PHash, SymmetricKey, base64};
use soapstone::wss::{ContextName, ContextOwner, ConversationVersion, SecurityContext};

/// The contexts that are known, in the order in which they were granted. None of them is replaced
/// or forgotten.
#[derive(Debug, Default)]
pub(crate) struct Granted(Mutex<Vec<SecurityContext>>);

impl Granted {
    /// Knows this one already.
    pub(crate) fn knowing(context: SecurityContext) -> Self {
        Self(Mutex::new(vec![context]))
    }

    /// All of them.
    pub(crate) fn contexts(&self) -> Vec<SecurityContext> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ContextStore for Granted {
    fn find(
        &self,
        _: &str,
        name: &ContextName,
        _: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        let mut contexts = self.contexts().into_iter();
        Ok(contexts.find(|context| context.name() == *name))
    }

    fn insert(&self, _: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        let mut contexts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        contexts.push(context.clone());
        Ok(())
    }

    fn renew(
        &self,
        _: &str,
        _: &SecurityContext,
        _: Duration,
        _: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        Ok(true)
    }

    fn amend(
        &self,
        _: &str,
        _: &SecurityContext,
        _: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        Ok(true)
    }

    fn cancel(&self, _: &str, _: &str) -> Result<bool, StoreUnavailable> {
        Ok(true)
    }
}

/// The context that a service has made of what both sides contributed to its key, as they told each
/// other in clear text (WS-Trust 1.4, 4.4.4).
pub(crate) fn agreed(
    version: ConversationVersion,
    request: &str,
    response: &str,
    owner: ContextOwner,
    now: Timestamp,
) -> SecurityContext {
    let entropy = |message| base64::decode_xml_to_vec(content(message, "BinarySecret").as_bytes());
    let entropy = |message| entropy(message).expect("it is base64");
    let secret = PHash::SHA1.derive(&entropy(request), &[&entropy(response)], 0, 32);
    SecurityContext {
        version,
        identifier: content(response, "Identifier").to_owned(),
        instance: response
            .contains(":Instance>")
            .then(|| content(response, "Instance").to_owned()),
        secret: secret
            .and_then(SymmetricKey::from_secret)
            .expect("it is as long as it has to be"),
        created: now,
        expires: now + SignedDuration::from_hours(1),
        owner,
    }
}

/// What stands in the first element of a name, whatever its prefix.
fn content<'m>(message: &'m str, local: &str) -> &'m str {
    let start = message.find(&format!(":{local}")).expect("it is there");
    let (_, after) = message[start..].split_once('>').expect("its tag ends");
    after.split_once('<').expect("it ends").0
}
