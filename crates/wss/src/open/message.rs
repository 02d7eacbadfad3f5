//! The message that is being opened, and what it is opened with.
//!
//! The one rule: nothing of it changes but the document, which plaintext is grafted onto.

use std::collections::HashSet;

use jiff::Timestamp;
use soapstone_crypto::Certificate;
use soapstone_xml::{Document, Element, NodeId};

use crate::envelope::{Envelope, expanded_name};
use crate::evidence::Evidence;
use crate::facts::Facts;
use crate::names::{NEXT, WSSE, WSSE_2002};
use crate::plan::{Demands, InboundPlan};
use crate::rejected::Rejected;

/// A message, with the plan, the facts and the time that it is opened with.
pub(super) struct Message<'p> {
    pub(super) plan: &'p InboundPlan,
    pub(super) facts: &'p Facts,
    pub(super) now: Timestamp,
    pub(super) envelope: Envelope,
    /// The `wsse:Security` header to process.
    pub(super) security: Option<NodeId>,
}

impl<'p> Message<'p> {
    /// Finds the header to process.
    pub(super) fn new(
        plan: &'p InboundPlan,
        facts: &'p Facts,
        now: Timestamp,
        envelope: Envelope,
    ) -> Result<Self, Rejected> {
        let mut message = Self {
            plan,
            facts,
            now,
            envelope,
            security: None,
        };
        message.security = message.security_header()?.map(|header| header.id());
        Ok(message)
    }

    pub(super) fn demands(&self) -> &'p Demands {
        &self.plan.demands
    }

    pub(super) fn document(&self) -> &Document {
        &self.envelope.document
    }

    pub(super) fn element(&self, node: NodeId) -> Element<'_> {
        self.envelope.document.element(node)
    }

    fn security_header(&self) -> Result<Option<Element<'_>>, Rejected> {
        let demands = self.demands();
        let envelope = &self.envelope;
        let blocks = envelope.header().into_iter().flat_map(|it| it.children());
        // Of every node and of both namespaces: the blocks are gone through once.
        let all: Vec<Element<'_>> = blocks.filter(|it| it.is_local("Security")).collect();
        let actor = demands.actor.as_deref();
        let own = |namespace: &'static str| {
            let named = all.iter().filter(move |it| it.namespace() == namespace);
            named.filter(move |it| envelope.is_for(**it, actor))
        };
        let mut of_draft = own(WSSE_2002);
        let drafts = demands.accepts_draft().then(|| of_draft.by_ref());
        let mut headers = own(WSSE).chain(drafts.into_iter().flatten());
        let first = headers.next().copied();
        if headers.next().is_some() {
            return Err(Rejected::SecurityDuplicated);
        }
        drop(headers);
        self.check_other_headers(&all)?;
        match first {
            None if self.demands_header() && of_draft.next().is_some() => {
                Err(Rejected::SecurityOfDraft)
            }
            None if self.demands_header() => Err(self.security_missing(&all)),
            None => Ok(None),
            Some(header) if !demands.has_security => {
                if envelope.must_understand(header) {
                    return Err(Rejected::SecurityUnexpected);
                }
                Ok(None)
            }
            Some(header) => Ok(Some(header)),
        }
    }

    /// Tells a missing header from one that is for others, or of another namespace. `all` are the
    /// header blocks that are called `Security`.
    fn security_missing(&self, all: &[Element<'_>]) -> Rejected {
        let for_others = all.iter().filter(|it| it.namespace() == WSSE);
        let actors = for_others.map(|it| self.envelope.actor_of(*it));
        if let Some(actor) = actors.reduce(Option::or) {
            let actor = actor.map(|actor| quoted(&actor));
            return Rejected::SecurityForOthers { actor };
        }
        match all.first() {
            Some(other) => Rejected::SecurityOfNamespace {
                namespace: quoted(other.namespace()),
            },
            None => Rejected::SecurityMissing,
        }
    }

    /// Refuses `wsse:Security` headers for this node beside its own: every node is the next one for
    /// whoever sends to it (SOAP 1.1, 4.2.2). An intermediary refuses two headers for one actor,
    /// whoever that is (SOAP Message Security 1.1.1, 5): of these, later nodes might read different
    /// ones.
    fn check_other_headers(&self, all: &[Element<'_>]) -> Result<(), Rejected> {
        let (demands, envelope) = (self.demands(), &self.envelope);
        let is_intermediary = demands.intermediary.is_some();
        let own = demands.actor.as_deref();
        let mut actors = HashSet::new();
        for header in all.iter().copied().filter(|it| it.namespace() == WSSE) {
            let is_for_next = envelope.is_for(header, Some(NEXT)) && !envelope.is_for(header, own);
            if is_for_next && !is_intermediary && envelope.must_understand(header) {
                return Err(Rejected::HeaderNotUnderstood {
                    header: expanded_name(header),
                });
            }
            let is_again = is_intermediary && !actors.insert(envelope.actor_of(header));
            if is_again || is_intermediary && is_for_next {
                return Err(Rejected::SecurityDuplicated);
            }
        }
        Ok(())
    }

    fn demands_header(&self) -> bool {
        let demands = self.demands();
        demands.requires_header || demands.confirms && self.facts.request.is_some()
    }

    /// The one element with an id.
    pub(super) fn named(&self, id: &str) -> Option<NodeId> {
        self.document().by_id(id).ok().flatten()
    }

    /// The token of this message with this id.
    pub(super) fn token_by_id(&self, id: &str) -> Result<NodeId, Rejected> {
        self.named(id).ok_or_else(|| Rejected::KeyNotFound {
            reference: format!("the token `#{id}`"),
        })
    }

    /// Certificates that a message may name without carrying them.
    pub(super) fn known_certificates(&self) -> impl Iterator<Item = &Certificate> {
        let keys = &self.plan.keys;
        let identity = keys.own().map(|identity| identity.certificate());
        let pinned = keys
            .trust
            .iter()
            .flat_map(|trust| trust.rules().pinned.iter().chain(&trust.rules().anchors));
        keys.peer
            .iter()
            .chain(pinned)
            .chain(&self.facts.certificates)
            .chain(identity)
    }

    /// Notes the use of a weak algorithm, and refuses it if its time is over.
    pub(super) fn note_weak(
        &self,
        evidence: &mut Evidence,
        weak: bool,
        name: &'static str,
    ) -> Result<(), Rejected> {
        if weak {
            if let Some(since) = self.demands().retired(name, self.now) {
                return Err(Rejected::AlgorithmRetired {
                    algorithm: name,
                    since,
                });
            }
            if !evidence.weak.contains(&name) {
                evidence.weak.push(name);
            }
        }
        Ok(())
    }
}

/// Text of a message for one line of a log: no longer than a line, and escaped.
fn quoted(text: &str) -> String {
    /// Characters of it.
    const MOST: usize = 120;
    let mut characters = text.chars();
    let first = characters.by_ref().take(MOST);
    let mut quoted: String = first.flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        quoted.push('…');
    }
    quoted
}
