//! Requests of an actor for another subject: `wst:OnBehalfOf` and `wst14:ActAs` (WS-Trust 1.4,
//! 9.1), and the renewal of what they got.
//!
//! The one rule: a right comes first. The token of an actor without a right is not read.

use soapstone_wss::Assertion;
use soapstone_xml::NodeId;

use super::asked::{AssertionRequest, Subject, actors};
use super::rules::{Delegation, DelegationForm, Party, TargetService};
use super::statement::Authentication;
use crate::fault::Refusal;

/// Most actors between a subject and a service. A chain of services has three.
const MOST_ACTORS: usize = 8;

impl AssertionRequest<'_> {
    /// How the requestor acts for another, and the token that says for whom.
    pub(super) fn acts(&self) -> Result<Option<(DelegationForm, NodeId)>, Refusal> {
        match (self.request.on_behalf_of, self.request.act_as) {
            (None, None) => Ok(None),
            (Some(token), None) => Ok(Some((DelegationForm::OnBehalfOf, token))),
            (None, Some(token)) => Ok(Some((DelegationForm::ActAs, token))),
            (Some(_), Some(_)) => Err(Refusal::NotUnderstood {
                element: "`OnBehalfOf` beside `ActAs`".to_owned(),
            }),
        }
    }

    /// The subject for whom `actor` asks.
    pub(super) fn delegated(
        &self,
        form: DelegationForm,
        token: NodeId,
        actor: &Party,
        target: &TargetService,
    ) -> Result<Subject, Refusal> {
        let not_allowed = || Refusal::DelegationNotAllowed {
            actor: actor.as_actor(),
            form: form.name(),
        };
        let may_act = |rule: &&Delegation| {
            rule.forms.contains(&form)
                && rule.actors.include(actor)
                && rule.services.contains(&target.address)
        };
        // A chain has one line of actors, and this would be a second one.
        if self.is_actor() {
            return Err(not_allowed());
        }
        let rules: Vec<_> = self.rules.delegations.iter().filter(may_act).collect();
        if rules.is_empty() {
            return Err(not_allowed());
        }
        let presented = self.verified(self.document.element(token))?;
        if presented.is_for_one_use() {
            return Err(Refusal::TokenRejected {
                problem: "it is for one use, and was used at the service that it is for".to_owned(),
            });
        }
        if presented.limits_proxies() {
            return Err(Refusal::TokenRejected {
                problem: "its issuer restricts the assertions that are made from it".to_owned(),
            });
        }
        let is_own = self.rules.issued(&presented);
        let party = match is_own {
            true => Party::own_subject(&presented.subject),
            false => Party::foreign(&presented),
        };
        let party = party.ok_or_else(not_allowed)?;
        let allows = |rule: &Delegation| rule.is_about(&party) && presented.is_for(&rule.audiences);
        if !rules.into_iter().any(allows) {
            return Err(not_allowed());
        }
        // What we sign of actors is what we have seen. The claim of another issuer is its word.
        let mut actors = match is_own {
            true => actors(&presented),
            false => Vec::new(),
        };
        if form == DelegationForm::ActAs {
            actors.insert(0, actor.as_actor());
        }
        if actors.len() > MOST_ACTORS {
            return Err(not_allowed());
        }
        let proven = presented.expires(&self.rules.policy);
        let ends = self.end_of_owner().map_or(proven, |end| end.min(proven));
        Ok(Subject {
            party,
            authenticated: presented.authenticated.unwrap_or(presented.issued),
            authentication: Authentication::Unspecified,
            ends: Some(ends),
            actors,
        })
    }

    /// Whether an actor renews an assertion of ours: the last one that it names, whose right for
    /// its subject and its service says so today.
    pub(super) fn renews_for(
        &self,
        old: &Assertion,
        subject: &Party,
        actor: &Party,
        target: &TargetService,
    ) -> bool {
        let is_last = actors(old)
            .first()
            .is_some_and(|last| actor.is_named_actor(last));
        let mut rules = self.rules.delegations.iter();
        is_last
            && rules.any(|rule| {
                rule.renews
                    && rule.forms.contains(&DelegationForm::ActAs)
                    && rule.actors.include(actor)
                    && rule.is_about(subject)
                    && rule.services.contains(&target.address)
            })
    }
}
