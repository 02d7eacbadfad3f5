//! A client, a service and the contexts that the service's host remembers.

use std::cell::RefCell;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_crypto::SymmetricKey;
use soapstone_testkit::moment;
use soapstone_trust::{
    Answer, Effect, Records, Refusal, Requester, SecurityTokenService, ServiceRules, TrustFault,
};
use soapstone_wss::{
    ContextName, ContextOwner, ConversationVersion, Envelope, SecurityContext, SoapVersion,
};
use soapstone_xml::{Buffers, Limits};

pub(crate) const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
pub(crate) const WST_2005: &str = "http://schemas.xmlsoap.org/ws/2005/02/trust";
pub(crate) const WSC: &str = "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512";
pub(crate) const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
pub(crate) const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";

pub(crate) fn now() -> Timestamp {
    moment("2026-11-20T12:00:00Z")
}

pub(crate) fn after(seconds: i64) -> Timestamp {
    now()
        .checked_add(SignedDuration::from_secs(seconds))
        .unwrap()
}

/// An envelope with this in its Body.
pub(crate) fn envelope(body: &[u8]) -> Envelope {
    let soap = SoapVersion::V12.namespace();
    let start = format!("<s:Envelope xmlns:s=\"{soap}\"><s:Body>");
    let text = [start.as_bytes(), body, b"</s:Body></s:Envelope>"].concat();
    Envelope::parse(text, &Limits::default(), &mut Buffers::default()).unwrap()
}

pub(crate) fn alice() -> Requester {
    requester(user("alice"))
}

pub(crate) fn user(name: &str) -> ContextOwner {
    ContextOwner::User(name.to_owned())
}

/// Somebody whose message nobody else can read.
pub(crate) fn requester(owner: ContextOwner) -> Requester {
    Requester {
        owner,
        token: None,
        context: None,
        confidential: true,
        signers: Vec::new(),
        mixed: false,
        idle: false,
    }
}

/// Somebody whose message is signed with the key of a context too.
pub(crate) fn holder(owner: ContextOwner, context: &SecurityContext) -> Requester {
    Requester {
        context: Some(context.clone()),
        ..requester(owner)
    }
}

/// A context of alice's.
pub(crate) fn context(identifier: &str) -> SecurityContext {
    SecurityContext {
        version: ConversationVersion::V13,
        identifier: identifier.to_owned(),
        instance: None,
        secret: SymmetricKey::generate(32).unwrap(),
        created: now(),
        expires: after(600),
        owner: user("alice"),
    }
}

/// A service with its host.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) service: SecurityTokenService,
    pub(crate) contexts: RefCell<Vec<SecurityContext>>,
}

impl Host {
    pub(crate) fn new(change: impl FnOnce(&mut ServiceRules)) -> Self {
        let mut rules = ServiceRules::default();
        change(&mut rules);
        Self {
            service: SecurityTokenService::new(rules),
            contexts: RefCell::default(),
        }
    }

    pub(crate) fn find(&self, name: &ContextName) -> Option<SecurityContext> {
        self.contexts
            .borrow()
            .iter()
            .find(|context| {
                context.identifier == name.identifier
                    && (name.instance.is_none() || name.instance == context.instance)
            })
            .cloned()
    }

    /// Answers, and remembers what is to be remembered.
    pub(crate) fn answer(
        &self,
        body: &[u8],
        action: Option<&str>,
        requester: &Requester,
        now: Timestamp,
    ) -> Result<Answer, TrustFault> {
        self.answer_at(&envelope(body), action, requester, now)
    }

    /// Answers a message that came over the wire.
    pub(crate) fn answer_to(
        &self,
        envelope: &Envelope,
        action: &str,
        requester: &Requester,
    ) -> Result<Answer, TrustFault> {
        self.answer_at(envelope, Some(action), requester, now())
    }

    fn answer_at(
        &self,
        envelope: &Envelope,
        action: Option<&str>,
        requester: &Requester,
        now: Timestamp,
    ) -> Result<Answer, TrustFault> {
        let find = |name: &ContextName| Ok(self.find(name));
        let answer = self.service.answer(
            envelope.body(),
            action,
            requester,
            Records::of_contexts(&find),
            now,
        )?;
        let mut contexts = self.contexts.borrow_mut();
        for effect in &answer.effects {
            match effect {
                Effect::Store(context) => contexts.push(context.clone()),
                Effect::Replace { context, grace } => {
                    assert!(*grace <= Duration::from_secs(60));
                    contexts.retain(|old| old.identifier != context.identifier);
                    contexts.push(context.clone());
                }
                Effect::Amend { before, after } => {
                    assert_eq!(before.name(), after.name());
                    contexts.retain(|old| old.name() != before.name());
                    contexts.push(after.clone());
                }
                Effect::Cancel { identifier } => {
                    contexts.retain(|old| old.identifier != *identifier)
                }
                other => panic!("{other:?}"),
            }
        }
        Ok(answer)
    }

    /// Why the service refuses.
    pub(crate) fn refusal(&self, body: &str, requester: &Requester) -> Refusal {
        let before = self.contexts.borrow().len();
        let refused = self.answer(body.as_bytes(), None, requester, now());
        let fault = refused.expect_err("a refusal");
        assert_eq!(self.contexts.borrow().len(), before);
        fault.refusal
    }
}

/// A request of 1.3 with these elements (prefixes wst, wsc, wsu, wsse).
pub(crate) fn request(kind: &str, elements: &str) -> String {
    format!(
        "<wst:RequestSecurityToken xmlns:wst='{WST}' xmlns:wsc='{WSC}' xmlns:wsu='{WSU}' xmlns:wsse='{WSSE}'>\
         <wst:RequestType>{WST}/{kind}</wst:RequestType>{elements}</wst:RequestSecurityToken>"
    )
}

/// `wst:Entropy` with that many bytes.
pub(crate) fn entropy(octets: usize) -> String {
    let secret = soapstone_crypto::base64::encode(&vec![7; octets]);
    format!(
        "<wst:Entropy><wst:BinarySecret Type='{WST}/Nonce'>{secret}</wst:BinarySecret></wst:Entropy>"
    )
}

/// `wst:Lifetime` in seconds from now.
pub(crate) fn lifetime(created: i64, expires: i64) -> String {
    format!(
        "<wst:Lifetime><wsu:Created>{}</wsu:Created><wsu:Expires>{}</wsu:Expires></wst:Lifetime>",
        after(created),
        after(expires)
    )
}
