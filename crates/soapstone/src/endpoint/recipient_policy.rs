//! What is done for one node on the way: by a preset, or by the policy of that node.
//!
//! The one rule: a node gets what a header alone can have. A policy that wants more of messages, of
//! their connection or of an exchange is refused by name.

use std::sync::Arc;

use soapstone_wss::{KeyBinding, Keys, OutboundPlan, Policy};

use super::compiler::Compiler;
use super::exchange_policy::EndpointPolicies;
use super::role::Role;
use crate::config::{LoadedFile, RecipientConfig, SecuritySource};

/// The messages that nodes are on the way of.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnTheWay {
    pub(super) are_requests: bool,
    /// Whether they have addressing headers.
    pub(super) addressing: bool,
}

impl Compiler<'_> {
    /// The policy and the plan for one node: the file's keys, with whom this node encrypts for, and
    /// the key that it holds as well. That of the last node is none of its own.
    pub(super) fn recipient(
        &mut self,
        recipient: &RecipientConfig,
        messages: OnTheWay,
        keys: &Keys,
    ) -> Option<(Policy, OutboundPlan)> {
        let config = self.config.towards(recipient);
        let place = config.security.source.place;
        self.instead_with(&config, |compiler| {
            let policy = match &recipient.source.value {
                SecuritySource::Mechanism(mechanism) => {
                    let suite = compiler.suite()?;
                    compiler.policy(*mechanism, suite)
                }
                SecuritySource::Policy(file) => compiler.policy_of_node(file, messages)?,
            };
            let peer = compiler.config.peer.as_ref();
            let keys = Keys {
                peer: peer.and_then(|peer| compiler.peer(&peer.certificate)),
                shared: compiler.shared_key().map(Arc::new),
                ..keys.clone()
            };
            let plan = OutboundPlan::compile(policy.clone(), keys);
            Some((policy, compiler.plan(plan, place)?))
        })
    }

    /// What the policy of a node says of the messages that pass it.
    fn policy_of_node(&mut self, file: &LoadedFile, messages: OnTheWay) -> Option<Policy> {
        let EndpointPolicies {
            mut exchanges,
            bootstrap,
            private_transport,
            remarks,
            ..
        } = self.by_policy(file, Role::Secure)?;
        self.remarks.extend(remarks);
        let path = file.path.display();
        let exchange = exchanges.pop()?;
        if !exchanges.is_empty() {
            let message = format!(
                "{path}: the policy protects operations in several ways, and a node on the way has one header for all messages"
            );
            let hint = "name the operation that is meant: policy_subject = { operation = \"…\" }";
            self.report_with_hint(file.place, message, hint);
            return None;
        }
        let policy = match messages.are_requests {
            true => exchange.request,
            false => exchange.response,
        };
        let lacks_addressing = exchange.addressing && !messages.addressing;
        let beyond = match () {
            () if bootstrap.is_some() || policy.uses_context() => "a conversation",
            () if policy.kerberos().is_some() => "a Kerberos ticket",
            () if policy.assertion().is_some() || policy.uses_proof_key() => "an assertion",
            () if policy.username().is_some() || policy.password_keys().is_some() => "a user",
            () if private_transport => "a protected connection",
            () if policy.uses(KeyBinding::RequestKey) => "the key of the request",
            () if policy.header.signature_confirmation => "confirmed signatures",
            () if lacks_addressing => "addressing headers, which messages of this file lack",
            () if !policy.has_security() => "no protection",
            () => return Some(policy),
        };
        let message = format!(
            "{path}: a header for a node on the way signs and encrypts with certificates, found a policy that wants {beyond}"
        );
        let hint = "describe what is signed and encrypted for this node in a policy of its own, or use a mechanism";
        self.report_with_hint(file.place, message, hint);
        None
    }
}
