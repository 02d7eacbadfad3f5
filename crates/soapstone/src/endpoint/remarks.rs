//! What an operator must know of a policy file that is obeyed: what was chosen for them, what they
//! had left out, and what has no effect.
//!
//! The one rule: a permission of the file that changes nothing is a problem, so that none outlives
//! the policy that it was given for.

use soapstone_policy::{ExchangePolicy, Name, Notice, NoticeKind, Place as PolicyPlace};
use soapstone_wss::PasswordKind;

use super::compiler::Compiler;
use super::remark::Remark;
use super::role::Role;
use crate::config::{LoadedFile, SecuritySource};

/// A name as the file has it.
pub(super) fn named((namespace, local): &(String, String)) -> Name {
    Name {
        namespace: namespace.as_str().into(),
        local: local.as_str().into(),
    }
}

impl Compiler<'_> {
    /// What is to be known of the policies of an endpoint.
    pub(super) fn remarks(
        &mut self,
        exchanges: &[ExchangePolicy],
        unattached: &[(String, PolicyPlace)],
        file: &LoadedFile,
        role: Role,
    ) -> Vec<Remark> {
        let mut notices: Vec<&Notice> = exchanges.iter().flat_map(|it| &it.notices).collect();
        notices.sort_by(|left, right| {
            (&left.place, &left.assertion).cmp(&(&right.place, &right.assertion))
        });
        notices.dedup();
        self.refuse_needless_ignored(&notices);
        self.refuse_needless_users(exchanges);
        let path = file.path.display();
        let sends = matches!(role, Role::Client | Role::Secure);
        let of_notice = |notice: &Notice| {
            let (name, hint) = match notice.kind {
                NoticeKind::Ignored => (
                    "ignored-assertion",
                    "make sure that nothing of it protects messages",
                ),
                NoticeKind::SuiteChosen { .. } => (
                    "several-suites",
                    "where the peer uses another one, name its algorithms beside `policy`: algorithms = { … }",
                ),
                NoticeKind::Misplaced { .. } => (
                    "misplaced-assertion",
                    "compare with what the peer does: other stacks may leave it out",
                ),
                NoticeKind::WithoutMtom => (
                    "without-mtom",
                    "nothing of its security is lost; ask the peer for messages without attachments",
                ),
                NoticeKind::HttpBasic if sends && self.config.users.is_empty() => (
                    "http-user-of-clients",
                    "clients of this endpoint have to send it, or name it: users = [{ name = \"…\", password_env = \"…\" }]",
                ),
                NoticeKind::Claims if !sends => (
                    "claims-unchecked",
                    "demand them with `[[roles]]` where the service relies on them",
                ),
                _ => return None,
            };
            Some(Remark {
                name,
                place: file.place,
                message: format!("{path}: {notice}"),
                hint,
            })
        };
        let mut remarks: Vec<Remark> = notices.into_iter().filter_map(of_notice).collect();
        remarks.extend(unattached.iter().map(|(name, place)| Remark {
            name: "unattached-policy",
            place: file.place,
            message: format!(
                "{path}: the policy `{name}` is attached to nothing, and no message has it (at {place})"
            ),
            hint: "attach it where it is meant, or take it out of the file",
        }));
        remarks
    }

    /// Whether the file accepts users whom no password proves, under its policy.
    pub(super) fn allows_unproven_users(&self) -> bool {
        let security = &self.config.security;
        let by_policy = matches!(security.source.value, SecuritySource::Policy(_));
        let password = security.password.as_ref().map(|password| password.value);
        by_policy && password == Some(PasswordKind::Absent)
    }

    fn refuse_needless_ignored(&mut self, notices: &[&Notice]) {
        let config = self.config;
        for name in &config.security.policy_choice.ignored {
            let wanted = named(&name.value);
            let is_there = notices
                .iter()
                .any(|it| it.kind == NoticeKind::Ignored && it.assertion == wanted);
            if !is_there {
                self.report_with_hint(
                    name.place,
                    "`ignore_assertions` names an assertion that the policy does not have",
                    "leave it out",
                );
            }
        }
    }

    /// Reports `password = "none"` under a policy that demands no such user.
    fn refuse_needless_users(&mut self, exchanges: &[ExchangePolicy]) {
        let config = self.config;
        let Some(password) = &config.security.password else {
            return;
        };
        if !self.allows_unproven_users() {
            return;
        }
        let bootstraps = exchanges.iter().filter_map(|exchange| {
            let conversation = exchange.conversation.as_ref()?;
            conversation.bootstrap.as_deref()
        });
        let mut users = exchanges
            .iter()
            .chain(bootstraps)
            .filter_map(|exchange| exchange.request.username());
        if !users.any(|user| user.passwords.contains(&PasswordKind::Absent)) {
            self.report_with_hint(
                password.place,
                "`password = \"none\"` accepts users whom nothing proves, and the policy demands none such",
                "leave it out: the policy says how passwords travel",
            );
        }
    }
}
