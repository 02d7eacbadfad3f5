//! What a configuration says of the choice among several backends, before any of them was called.
//!
//! The rule kept here: it is the broker itself that judges, with what the gateway would tell it.

use std::time::Instant;

use soapstone_broker::{Ask, Dice, Needs, Pool, SecurityIndex, Verdict};

use super::Config;
use super::balance::GroupSpec;
use super::needs::ClassMember;

/// A route with several backends, and what they are worth to a request.
#[derive(Clone, Debug)]
pub struct Considered {
    /// The path of the route.
    pub route: String,
    /// How one of the backends is chosen that the request may go to.
    pub selection: &'static str,
    /// What the request needs, with what the route and the class of its sender add.
    pub needs: Needs,
    /// The backends, in the order of the file.
    pub backends: Vec<ConsideredBackend>,
}

/// One backend.
#[derive(Clone, Debug)]
pub struct ConsideredBackend {
    /// Where it is.
    pub url: String,
    /// What the policy in front of it gives.
    pub security: SecurityIndex,
    /// What it is worth. Nothing was measured yet.
    pub verdict: Verdict,
}

impl Config {
    /// What the backends of each route that has several are worth to a request with those needs.
    /// `route` is a path, where one route alone is meant; `sender` a proven user, or the subject of
    /// a certificate, with its issuer where classes name that.
    pub fn considered(
        &self,
        route: Option<&str>,
        sender: Option<&str>,
        needs: &Needs,
    ) -> Vec<Considered> {
        let routes = self.routes.iter();
        let meant = routes.filter(|spec| route.is_none_or(|path| path == spec.path));
        let several = meant.filter_map(|spec| Some((&spec.path, spec.group.as_ref()?)));
        several
            .map(|(path, group)| considered(path, group, sender, needs))
            .collect()
    }
}

fn considered(path: &str, group: &GroupSpec, sender: Option<&str>, needs: &Needs) -> Considered {
    let is_sender = |member: &ClassMember| sender.is_some_and(|text| member.is_meant_by(text));
    let needs = group.rules.needs_of(is_sender).and(needs);
    let members = group.members.iter();
    let terms = members.map(|member| (member.name.clone(), member.terms.clone()));
    let pool = Pool::new(group.settings, terms, Dice::new(0));
    let ask = Ask {
        needs: Some(&needs),
        ..Ask::default()
    };
    let verdicts = pool.explain(&ask, Instant::now());
    let backends = group.members.iter().zip(verdicts);
    let backends = backends.map(|(member, verdict)| ConsideredBackend {
        url: member.url.to_string(),
        security: member.terms.security.clone(),
        verdict,
    });
    Considered {
        route: path.to_owned(),
        selection: group.settings.selection.name(),
        backends: backends.collect(),
        needs,
    }
}
