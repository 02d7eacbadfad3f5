//! The policies in effect: of a subject all that apply to it, merged (WS-PolicyAttachment 1.5, 2.2
//! and 4).
//!
//! The one rule: every product is bounded before it is made.

use std::sync::Arc;

use super::{Attached, FaultDemands, MessageKind, PolicySubject, SubjectAlternative};
use crate::alternative::{Alternative, NormalPolicy};
use crate::document::PolicyDocument;
use crate::error::PolicyError;
use crate::limits::Budget;
use crate::names::PolicyVersion;
use crate::node::{Node, Place};
use crate::normal::{Normalizer, exhaustion, multiply};

impl PolicyDocument {
    /// The alternatives of a subject, most preferred first.
    ///
    /// # Errors
    /// A [`PolicyError`] of one of its policies, or if the alternatives of all of them together are
    /// too many.
    pub fn alternatives(
        &self,
        subject: &PolicySubject,
    ) -> Result<Vec<SubjectAlternative>, PolicyError> {
        let endpoint = self.effective(subject.endpoint.iter().chain(&subject.both))?;
        let request = self.effective(&subject.request)?;
        let response = self.effective(&subject.response)?;
        for (_, fault) in &subject.faults {
            self.effective(fault)?;
        }
        let limit = |exhausted| exhaustion(self, exhausted, None);
        let mut budget = Budget::of_document(&self.limits, &self.steps_left);
        let mut alternatives = Vec::new();
        for common in &endpoint {
            let common = std::slice::from_ref(common);
            let requests = multiply(common, &request, &mut budget).map_err(limit)?;
            let responses = multiply(common, &response, &mut budget).map_err(limit)?;
            for request in &requests {
                for response in &responses {
                    budget
                        .spend(request.weight() + response.weight() + 1)
                        .and_then(|()| budget.alternatives(alternatives.len() + 1))
                        .map_err(limit)?;
                    alternatives.push(SubjectAlternative {
                        request: request.clone(),
                        response: response.clone(),
                    });
                }
            }
        }
        Ok(alternatives)
    }

    /// The policy of one message of a subject, in normal form: of what lies around the message, and
    /// of the message itself.
    ///
    /// # Errors
    /// As for [`alternatives`](Self::alternatives).
    pub fn message_policy(
        &self,
        subject: &PolicySubject,
        message: MessageKind,
    ) -> Result<NormalPolicy, PolicyError> {
        let own = match message {
            MessageKind::Request => &subject.request,
            MessageKind::Response => &subject.response,
        };
        let attached = || subject.endpoint.iter().chain(&subject.both).chain(own);
        let mut elements = attached().flat_map(Attached::elements);
        let version = elements.find_map(|node| node.name.policy_version());
        Ok(NormalPolicy {
            version: version.unwrap_or(PolicyVersion::V15),
            alternatives: self.effective(attached())?,
        })
    }

    /// What is demanded of faults in particular. Nothing of it becomes part of an agreement: a
    /// fault is an answer like any other.
    ///
    /// # Errors
    /// As for [`alternatives`](Self::alternatives).
    pub fn fault_assertions(
        &self,
        subject: &PolicySubject,
    ) -> Result<Vec<FaultDemands>, PolicyError> {
        subject
            .faults
            .iter()
            .filter(|(_, attached)| !attached.is_empty())
            .map(|(name, attached)| {
                let first = self.effective(attached)?.into_iter().next();
                Ok(FaultDemands {
                    fault: name.clone(),
                    assertions: first.unwrap_or_default().assertions,
                })
            })
            .collect()
    }

    /// Where the first of a subject's policies stands that allows nothing: an empty
    /// `wsp:ExactlyOne` in it, or else the policy itself. None where each of them
    /// allows something.
    pub(crate) fn forbidding(&self, subject: &PolicySubject) -> Option<Place> {
        let attached = subject.endpoint.iter().chain(&subject.both);
        let attached = attached.chain(&subject.request).chain(&subject.response);
        let mut normalizer = Normalizer::new(self);
        let mut allows_nothing = |policy: &Arc<Node>| {
            let alternatives = normalizer.expression(policy);
            alternatives.is_ok_and(|alternatives| alternatives.is_empty())
        };
        let policy = attached
            .flat_map(|attached| {
                let inside = attached
                    .elements()
                    .map(move |element| self.policy_of(element));
                let named = attached.named();
                let meant =
                    named.map(move |(uri, owner)| self.referenced(uri, owner).unwrap_or(owner));
                inside.chain(meant)
            })
            .find(|policy| allows_nothing(policy))?;
        let mut place = None;
        policy.walk(&mut |node| {
            if node.is_policy_element("ExactlyOne") && node.children.is_empty() {
                place.get_or_insert_with(|| node.place.clone());
            }
        });
        Some(place.unwrap_or_else(|| policy.place.clone()))
    }

    /// The policy that an element is, or refers to.
    fn policy_of<'n>(&'n self, element: &'n Arc<Node>) -> &'n Arc<Node> {
        let uri = element.attribute("", "URI");
        let referenced = uri.and_then(|uri| self.referenced(uri, element).ok());
        referenced.unwrap_or(element)
    }

    /// The merged alternatives of policies that apply together (WS-PolicyAttachment 1.5, 2.2).
    fn effective<'a>(
        &self,
        attached: impl IntoIterator<Item = &'a Attached>,
    ) -> Result<Vec<Alternative>, PolicyError> {
        let mut normalizer = Normalizer::new(self);
        let mut product = vec![Alternative::default()];
        for attached in attached {
            for node in attached.elements() {
                let factor = normalizer.expression(node)?;
                product = normalizer.multiply(&product, &factor)?;
            }
            for (uri, owner) in attached.named() {
                let factor = normalizer.reference(uri, owner)?;
                product = normalizer.multiply(&product, &factor)?;
            }
        }
        Ok(product)
    }
}
