//! From a document to the exchange policies of a port whose operations demand different things
//! (WS-PolicyAttachment 1.5, 4.1: policies of operations and of their messages).
//!
//! The one rule: two operations that demand different things can be told apart by what their
//! requests are, or there is no table.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{CompileOptions, Conversation, ExchangePolicy, ExchangePolicyError, Selection};
use crate::document::PolicyDocument;
use crate::operation::{BodyContent, OperationMessages};
use crate::wsdl::PolicySubject;

/// What a document demands of the messages that are meant.
#[derive(Clone, Debug)]
pub enum ExchangePolicies {
    /// The same of all of them.
    One(Box<ExchangePolicy>),
    /// Of the messages of each operation what its policies say.
    ByOperation(OperationTable),
}

/// The exchange policies of the operations of a port.
#[derive(Clone, Debug)]
pub struct OperationTable {
    /// Exchange policies that differ, at least two. All of them belong to the same conversations,
    /// or none does.
    pub agreements: Vec<ExchangePolicy>,
    /// The operations.
    pub operations: Vec<OperationExchange>,
}

/// An operation and its exchange policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperationExchange {
    /// Its name.
    pub name: String,
    /// How its messages are known.
    pub messages: OperationMessages,
    /// Place of its exchange policy in [`OperationTable::agreements`].
    pub agreement: usize,
}

impl PolicyDocument {
    /// How the messages of the operations that are meant are known, each once.
    ///
    /// # Errors
    /// An [`ExchangePolicyError`] if nothing is meant, or the WSDL cannot be understood.
    pub fn operation_messages(
        &self,
        selection: &Selection,
    ) -> Result<Vec<OperationMessages>, ExchangePolicyError> {
        let meant = self.meant(selection)?.into_iter();
        let mut known = HashSet::new();
        let messages = meant.filter_map(|subject| subject.messages);
        Ok(messages.filter(|one| known.insert(one.clone())).collect())
    }

    /// The address of the ports that are meant, if it is one (WS-Addressing 1.0 Metadata, 4.1).
    ///
    /// # Errors
    /// As [`operation_messages`](Self::operation_messages).
    pub fn address(&self, selection: &Selection) -> Result<Option<String>, ExchangePolicyError> {
        let meant = self.meant(selection)?.into_iter();
        let mut addresses = meant.filter_map(|subject| subject.address);
        let first = addresses.next();
        let is_one = addresses.all(|other| Some(&other) == first.as_ref());
        Ok(first.filter(|address| is_one && address.contains(':')))
    }

    /// The exchange policy of everything that is meant, if that demands the same, or the exchange
    /// policies of its operations. Several ports share a table if each operation demands the
    /// same at all of them.
    ///
    /// # Errors
    /// An [`ExchangePolicyError`] if nothing is meant, if what is demanded cannot be done, or if
    /// operations that demand different things cannot be told apart.
    pub fn agreements(
        &self,
        selection: &Selection,
        options: &CompileOptions,
    ) -> Result<ExchangePolicies, ExchangePolicyError> {
        let meant = self.meant(selection)?;
        let (mut exchanges, of) = self.distinct(&meant, options)?;
        if exchanges.len() == 1 {
            return Ok(ExchangePolicies::One(Box::new(exchanges.swap_remove(0))));
        }
        let subjects: Vec<Placed<'_>> = meant
            .iter()
            .zip(of)
            .map(|(subject, exchange)| Placed { subject, exchange })
            .collect();
        check_ports(&subjects)?;
        check_conversations(&subjects, &exchanges)?;
        let mut operations = Vec::new();
        let mut known = HashSet::new();
        for Placed { subject, exchange } in &subjects {
            let operation = OperationExchange {
                name: subject.operation.clone().unwrap_or_default(),
                messages: identified(subject)?.clone(),
                agreement: *exchange,
            };
            // Once for all ports.
            if known.insert(operation.clone()) {
                operations.push(operation);
            }
        }
        check_requests(&subjects, &exchanges)?;
        Ok(ExchangePolicies::ByOperation(OperationTable {
            agreements: exchanges,
            operations,
        }))
    }
}

/// A subject and the place of its exchange policy.
struct Placed<'s> {
    subject: &'s PolicySubject,
    exchange: usize,
}

/// Where subjects belong to several ports, each operation demands the same at all of them.
fn check_ports(subjects: &[Placed<'_>]) -> Result<(), ExchangePolicyError> {
    let mut ports: BTreeMap<_, Vec<&Placed<'_>>> = BTreeMap::new();
    for placed in subjects {
        let PolicySubject {
            service,
            port,
            binding,
            ..
        } = placed.subject;
        // A port says which binding it is.
        let place = (service, port, binding.as_ref().filter(|_| port.is_none()));
        ports.entry(place).or_default().push(placed);
    }
    let of_port = |port: &[&Placed<'_>]| -> BTreeMap<Option<String>, Vec<usize>> {
        let mut operations: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for placed in port {
            let name = placed.subject.operation.clone();
            operations.entry(name).or_default().push(placed.exchange);
        }
        operations
    };
    let mut ports = ports.into_values();
    let Some(first) = ports.next() else {
        return Ok(());
    };
    let expected = of_port(&first);
    match ports.find(|port| of_port(port) != expected) {
        Some(other) => Err(ExchangePolicyError::Ambiguous {
            first: first[0].subject.to_string(),
            second: other[0].subject.to_string(),
        }),
        None => Ok(()),
    }
}

/// A security context is made for a port: either all operations use the same ones, or none does.
fn check_conversations(
    subjects: &[Placed<'_>],
    exchanges: &[ExchangePolicy],
) -> Result<(), ExchangePolicyError> {
    let of = |placed: &Placed<'_>| {
        let conversation = exchanges[placed.exchange].conversation.as_ref();
        conversation.map(Conversation::terms)
    };
    let expected = subjects.first().and_then(&of);
    match subjects.iter().find(|placed| of(placed) != expected) {
        Some(other) => Err(ExchangePolicyError::ConversationsDiffer {
            first: subjects[0].subject.to_string(),
            second: other.subject.to_string(),
        }),
        None => Ok(()),
    }
}

/// How the messages of a subject are known.
fn identified(subject: &PolicySubject) -> Result<&OperationMessages, ExchangePolicyError> {
    let unidentified = |problem| ExchangePolicyError::Unidentified {
        subject: subject.to_string(),
        problem,
    };
    let Some(messages) = &subject.messages else {
        return Err(unidentified("it is no operation of a SOAP binding"));
    };
    for content in [Some(&messages.request), messages.response.as_ref()] {
        if let Some(BodyContent::Unknown { problem }) = content {
            return Err(unidentified(*problem));
        }
    }
    Ok(messages)
}

/// Requests that demand different things differ in their Body or in their action.
fn check_requests(
    subjects: &[Placed<'_>],
    exchanges: &[ExchangePolicy],
) -> Result<(), ExchangePolicyError> {
    let mut by_content: HashMap<&BodyContent, Vec<&Placed<'_>>> = HashMap::new();
    for placed in subjects {
        let content = &identified(placed.subject)?.request;
        by_content.entry(content).or_default().push(placed);
    }
    for placed in subjects {
        let content = &identified(placed.subject)?.request;
        // Each group at its first member, so that errors are the same each time.
        if let Some(alike) = by_content.remove(content) {
            check_alike(&alike, content, exchanges)?;
        }
    }
    Ok(())
}

/// Requests that hold the same differ in an action that they are sure to have: `wsa:Action` where
/// all of their exchange policies ask for it, and `soapAction` otherwise.
fn check_alike(
    alike: &[&Placed<'_>],
    content: &BodyContent,
    exchanges: &[ExchangePolicy],
) -> Result<(), ExchangePolicyError> {
    let first = alike[0];
    let Some(other) = alike
        .iter()
        .find(|placed| placed.exchange != first.exchange)
    else {
        return Ok(());
    };
    let indistinguishable = |one: &Placed<'_>, other: &Placed<'_>| {
        Err(ExchangePolicyError::Indistinguishable {
            first: one.subject.to_string(),
            second: other.subject.to_string(),
            content: content.to_string(),
        })
    };
    let addressed = alike
        .iter()
        .all(|placed| exchanges[placed.exchange].addressing);
    let mut known: HashMap<&str, &Placed<'_>> = HashMap::new();
    for placed in alike {
        let messages = identified(placed.subject)?;
        let action = if addressed {
            messages.addressing_actions.first()
        } else {
            messages.soap_action.as_ref()
        };
        let Some(action) = action else {
            let other = if placed.exchange == first.exchange {
                other
            } else {
                &first
            };
            return indistinguishable(placed, other);
        };
        let earlier = *known.entry(action).or_insert(placed);
        if earlier.exchange != placed.exchange {
            return indistinguishable(earlier, placed);
        }
    }
    Ok(())
}
