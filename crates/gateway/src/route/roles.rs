//! Whether a role lets a request through: who may call what, how large, how often and when.
//!
//! The rule kept here: a decision is made of what was proven and of what goes on. What is only said
//! beside the message may refuse it, and never lets it through.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone::crypto::Certificate;
use soapstone::wss::{AssertedOwner, Assertion, AssertionAttribute};
use soapstone_broker::Bucket;
use tokio::time::Instant;

use crate::config::roles::{GrantedOperation, RoleSpec};

/// The roles of a configuration, and what they have let through lately.
pub(crate) struct Roles(Vec<Role>);

struct Role {
    spec: RoleSpec,
    bucket: Arc<Bucket>,
}

/// Why no role lets a request through: the nearest miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denial {
    /// The sender has no role, or is not proven.
    NoRole,
    /// No role of the sender allows the operation.
    Operation,
    /// The action that is said beside the message is that of another operation.
    Action,
    /// The request is larger than the role allows.
    Size,
    /// The role allows it at other times.
    Hours,
    /// The members of the role have sent as many as they may.
    Rate,
}

impl Denial {
    /// Stable name, for metrics and logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NoRole => "no-role",
            Self::Operation => "operation",
            Self::Action => "action",
            Self::Size => "size",
            Self::Hours => "hours",
            Self::Rate => "rate",
        }
    }
}

/// A request that no role lets through, for operators.
#[derive(Debug)]
pub(crate) struct Denied {
    pub(crate) denial: Denial,
    pub(crate) detail: String,
}

/// Who sent a request.
#[derive(Clone, Debug, Default)]
pub(crate) enum Proven {
    User(String),
    Certificate(Certificate),
    /// A principal, which is no user: `users` names other people.
    Kerberos(String),
    /// The subject of the assertion that began a conversation, which is no user either.
    Subject(Arc<AssertedOwner>),
    /// An assertion alone, or nobody.
    #[default]
    Nobody,
}

impl Proven {
    /// The attributes that an issuer gave whoever began the conversation.
    fn attributes(&self) -> Option<(&str, &[AssertionAttribute])> {
        match self {
            Self::Subject(owner) => Some((&owner.issuer, &owner.attributes)),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::User(name) => name,
            Self::Certificate(certificate) => certificate.subject(),
            Self::Kerberos(principal) => principal,
            Self::Subject(owner) => &owner.subject.value,
            Self::Nobody => "nobody",
        }
    }
}

/// What a request asks for, and who proved to ask.
pub(crate) struct Asked<'a> {
    pub(crate) route: &'a str,
    pub(crate) proven: &'a Proven,
    /// The assertion about the sender.
    pub(crate) assertion: Option<&'a Assertion>,
    /// `{namespace}local` of the one child of the Body, and its local name.
    pub(crate) operation: Option<(String, String)>,
    /// Whether somebody proved to have said what the Body holds. Where not, there is no operation.
    pub(crate) body_is_proven: bool,
    /// What the client says, in the message or beside it, that the request is about.
    pub(crate) actions: Vec<String>,
    /// How long the request is, in plain.
    pub(crate) bytes: u64,
}

/// Whether every reader takes an action for the same text: one that reads it to a quotation mark,
/// or to the next separator, would see the beginning of another operation's.
fn is_plain(action: &str) -> bool {
    !action.contains(['"', '\'', '\\', ',', ';', '=']) && !action.contains(char::is_whitespace)
}

/// Whether an action is that of the operation: it ends with its name, as a whole word, perhaps with
/// `Request` behind it (WS-Addressing 1.0 Metadata, 4.4.4).
fn is_of(action: &str, local: &str) -> bool {
    let ends = |action: &str| {
        let before = action.strip_suffix(local);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '#', ':', '.']))
    };
    ends(action) || action.strip_suffix("Request").is_some_and(ends)
}

/// Whether an action that is said beside a message or in it may be that of an operation with this
/// local name.
pub(crate) fn fit(action: &str, local: &str) -> bool {
    action.is_empty() || is_plain(action) && is_of(action, local)
}

impl Role {
    fn has(&self, asked: &Asked<'_>) -> bool {
        let members = &self.spec.members;
        let by_itself = match asked.proven {
            Proven::User(name) => members.users.iter().any(|user| user == name),
            Proven::Certificate(certificate) => members
                .subjects
                .iter()
                .any(|holder| holder.value.has(certificate)),
            Proven::Kerberos(principal) => members.principals.contains(principal),
            Proven::Subject(_) | Proven::Nobody => false,
        };
        let is_proven = !matches!(asked.proven, Proven::Nobody) || asked.assertion.is_some();
        let said = match asked.assertion {
            Some(assertion) => Some((assertion.issuer.as_str(), &assertion.attributes[..])),
            None => asked.proven.attributes(),
        };
        let by_attribute = said.is_some_and(|(issuer, attributes)| {
            members.attributes.iter().any(|member| {
                member.issuer == issuer
                    && attributes.iter().any(|attribute| {
                        attribute.name == member.name && attribute.values.contains(&member.value)
                    })
            })
        });
        by_itself || by_attribute || members.anybody && is_proven
    }

    /// Whether it lets a request of one of its members through.
    fn allows(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Denial> {
        let mut by_name = None;
        let mut every = false;
        for grant in self
            .spec
            .allow
            .iter()
            .filter(|grant| grant.is_for(asked.route))
        {
            match (&grant.operation, &asked.operation) {
                (GrantedOperation::Every, _) => every = true,
                (GrantedOperation::Named(name), Some((_, local))) if name == local => {
                    by_name = Some(local);
                }
                (GrantedOperation::Qualified(name), Some((whole, local))) if name == whole => {
                    by_name = Some(local);
                }
                _ => {}
            }
        }
        match (every, by_name) {
            (true, _) => {}
            (false, None) => return Err(Denial::Operation),
            // A backend may go by the action: it must not be that of another operation.
            (false, Some(local)) => {
                let fits =
                    |action: &String| self.spec.actions.contains(action) || fit(action, local);
                if !asked.actions.iter().all(fits) {
                    return Err(Denial::Action);
                }
            }
        }
        if self.spec.bytes.is_some_and(|most| asked.bytes > most) {
            return Err(Denial::Size);
        }
        let local = now.to_zoned_datetime(self.spec.zone.clone()).datetime();
        let (day, hour, minute) = (local.weekday(), local.hour(), local.minute());
        let hours = &self.spec.hours;
        if !hours.is_empty() && !hours.iter().any(|span| span.hold(day, hour, minute)) {
            return Err(Denial::Hours);
        }
        match self.spec.rate {
            // Last, so that what is refused for another reason costs the members nothing.
            Some(rate) => self
                .bucket
                .take(rate, Instant::now().into_std())
                .map_err(|_| Denial::Rate),
            None => Ok(()),
        }
    }
}

impl Roles {
    /// The roles of a configuration. A role of the former one with the same name and rate goes on
    /// with what its members have sent.
    pub(crate) fn new(specs: Vec<RoleSpec>, former: Option<&Self>) -> Self {
        let former = former.map_or(&[][..], |former| &former.0);
        let role = |spec: RoleSpec| {
            let same = |old: &&Role| old.spec.name == spec.name && old.spec.rate == spec.rate;
            let bucket = former.iter().find(same).map(|old| Arc::clone(&old.bucket));
            let bucket = bucket.unwrap_or_default();
            Role { spec, bucket }
        };
        Self(specs.into_iter().map(role).collect())
    }

    /// Whether a role of the sender lets a request through.
    ///
    /// # Errors
    ///
    /// The nearest miss.
    pub(crate) fn decide(&self, asked: &Asked<'_>, now: Timestamp) -> Result<(), Denied> {
        let mut nearest = (Denial::NoRole, None);
        for role in &self.0 {
            if !role.has(asked) {
                continue;
            }
            match role.allows(asked, now) {
                Ok(()) => return Ok(()),
                Err(denial) if denial > nearest.0 => {
                    nearest = (denial, Some(role.spec.name.as_str()));
                }
                Err(_) => {}
            }
        }
        let (denial, role) = nearest;
        let operation = asked.operation.as_ref().map(|(whole, _)| whole.as_str());
        let operation = operation.unwrap_or("no single operation");
        let detail = match role {
            None => format!(
                "`{}` has no role, and calls {operation}",
                asked.proven.name()
            ),
            Some(role) => format!(
                "role {role} refuses {operation} of `{}`: {}",
                asked.proven.name(),
                match denial {
                    Denial::NoRole | Denial::Operation =>
                        "it does not allow the operation".to_owned(),
                    Denial::Action => {
                        let said = asked.actions.join(", ");
                        format!("the action is that of another one: {said}")
                    }
                    Denial::Size => format!("it has {} bytes", asked.bytes),
                    Denial::Hours => "it is not the time".to_owned(),
                    Denial::Rate => "its members have sent as many as they may".to_owned(),
                }
            ),
        };
        Err(Denied { denial, detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::roles::{AttributeMember, Members};

    fn has(proven: &Proven, members: Members) -> bool {
        let spec = RoleSpec {
            name: "readers".to_owned(),
            members,
            allow: Vec::new(),
            actions: Vec::new(),
            bytes: None,
            rate: None,
            hours: Vec::new(),
            zone: jiff::tz::TimeZone::UTC,
        };
        let asked = Asked {
            route: "books",
            proven,
            assertion: None,
            operation: None,
            body_is_proven: true,
            actions: Vec::new(),
            bytes: 0,
        };
        let bucket = Arc::default();
        Role { spec, bucket }.has(&asked)
    }

    /// The client of a Kerberos session is proven, and is no user of the same name.
    #[test]
    fn a_principal_has_the_roles_that_name_it() {
        let proven = Proven::Kerberos("alice@EXAMPLE.COM".to_owned());
        let has = |members: Members| has(&proven, members);
        let named = || vec!["alice@EXAMPLE.COM".to_owned()];
        assert!(has(Members {
            principals: named(),
            ..Members::default()
        }));
        assert!(has(Members {
            anybody: true,
            ..Members::default()
        }));
        assert!(!has(Members {
            users: named(),
            ..Members::default()
        }));
    }

    /// The subject of the assertion that began a conversation has the roles of its attributes, as
    /// its issuer gave them, and is no user of the same name.
    #[test]
    fn the_subject_of_a_conversation_has_the_roles_of_its_attributes() {
        let role = |name: &str, value: &str| {
            let (name, values) = (name.to_owned(), vec![value.to_owned()]);
            AssertionAttribute::new(name, None, values)
        };
        let mut subject = soapstone::wss::NameIdentifier::default();
        subject.value = "alice".to_owned();
        let proven = Proven::Subject(Arc::new(AssertedOwner {
            issuer: "https://idp.example".to_owned(),
            signed_by: None,
            subject,
            id: "_a1".to_owned(),
            ends: Timestamp::UNIX_EPOCH,
            attributes: vec![role("role", "reader")],
            attester: None,
        }));
        let by_attribute = |issuer: &str, value: &str| Members {
            attributes: vec![AttributeMember {
                issuer: issuer.to_owned(),
                name: "role".to_owned(),
                value: value.to_owned(),
            }],
            ..Members::default()
        };
        assert!(has(&proven, by_attribute("https://idp.example", "reader")));
        assert!(!has(&proven, by_attribute("https://idp.example", "admin")));
        assert!(!has(
            &proven,
            by_attribute("https://other.example", "reader")
        ));
        assert!(!has(
            &proven,
            Members {
                users: vec!["alice".to_owned()],
                principals: vec!["alice".to_owned()],
                ..Members::default()
            }
        ));
        let anybody = Members {
            anybody: true,
            ..Members::default()
        };
        assert!(has(&proven, anybody));
    }

    #[test]
    fn an_action_is_of_an_operation_if_it_ends_with_its_name() {
        for (action, expected) in [
            ("Get", true),
            ("urn:books/Get", true),
            ("urn:books#Get", true),
            ("urn:books:Get", true),
            ("http://example.com/Books/GetRequest", true),
            ("urn:books/Delete", false),
            ("urn:books/ForGet", false),
            ("urn:books/Get/Delete", false),
            ("GetRequestRequest", false),
        ] {
            assert_eq!(is_of(action, "Get"), expected, "{action}");
        }
    }
}
