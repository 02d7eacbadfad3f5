//! From a document to the agreements of a port whose operations demand different things
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

/// The agreements of the operations of a port.
#[derive(Clone, Debug)]
pub struct OperationTable {
    /// Exchange policies that differ, at least two. All of them belong to the same conversations,
    /// or none does.
    pub agreements: Vec<ExchangePolicy>,
    /// The operations.
    pub operations: Vec<OperationExchange>,
}

/// An operation and its agreement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperationExchange {
    /// Its name.
    pub name: String,
    /// How its messages are known.
    pub messages: OperationMessages,
    /// Place of its agreement in [`OperationTable::agreements`].
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

    /// The agreement of everything that is meant, if that demands the same, or the agreements of
    /// its operations. Several ports share a table if each operation demands the same at all of
    /// them.
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
        let (mut agreements, of) = self.distinct(&meant, options)?;
        if agreements.len() == 1 {
            return Ok(ExchangePolicies::One(Box::new(agreements.swap_remove(0))));
        }
        let subjects: Vec<Agreed<'_>> = meant
            .iter()
            .zip(of)
            .map(|(subject, agreement)| Agreed { subject, agreement })
            .collect();
        check_ports(&subjects)?;
        check_conversations(&subjects, &agreements)?;
        let mut operations = Vec::new();
        let mut known = HashSet::new();
        for Agreed { subject, agreement } in &subjects {
            let operation = OperationExchange {
                name: subject.operation.clone().unwrap_or_default(),
                messages: identified(subject)?.clone(),
                agreement: *agreement,
            };
            // Once for all ports.
            if known.insert(operation.clone()) {
                operations.push(operation);
            }
        }
        check_requests(&subjects, &agreements)?;
        Ok(ExchangePolicies::ByOperation(OperationTable {
            agreements,
            operations,
        }))
    }
}

/// A subject and the place of its agreement.
struct Agreed<'s> {
    subject: &'s PolicySubject,
    agreement: usize,
}

/// Where subjects belong to several ports, each operation demands the same at all of them.
fn check_ports(subjects: &[Agreed<'_>]) -> Result<(), ExchangePolicyError> {
    let mut ports: BTreeMap<_, Vec<&Agreed<'_>>> = BTreeMap::new();
    for agreed in subjects {
        let PolicySubject {
            service,
            port,
            binding,
            ..
        } = agreed.subject;
        // A port says which binding it is.
        let place = (service, port, binding.as_ref().filter(|_| port.is_none()));
        ports.entry(place).or_default().push(agreed);
    }
    let of_port = |port: &[&Agreed<'_>]| -> BTreeMap<Option<String>, Vec<usize>> {
        let mut operations: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for agreed in port {
            let name = agreed.subject.operation.clone();
            operations.entry(name).or_default().push(agreed.agreement);
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
    subjects: &[Agreed<'_>],
    agreements: &[ExchangePolicy],
) -> Result<(), ExchangePolicyError> {
    let of = |agreed: &Agreed<'_>| {
        let conversation = agreements[agreed.agreement].conversation.as_ref();
        conversation.map(Conversation::terms)
    };
    let expected = subjects.first().and_then(&of);
    match subjects.iter().find(|agreed| of(agreed) != expected) {
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
    subjects: &[Agreed<'_>],
    agreements: &[ExchangePolicy],
) -> Result<(), ExchangePolicyError> {
    let mut by_content: HashMap<&BodyContent, Vec<&Agreed<'_>>> = HashMap::new();
    for agreed in subjects {
        let content = &identified(agreed.subject)?.request;
        by_content.entry(content).or_default().push(agreed);
    }
    for agreed in subjects {
        let content = &identified(agreed.subject)?.request;
        // Each group at its first member, so that errors are the same each time.
        if let Some(alike) = by_content.remove(content) {
            check_alike(&alike, content, agreements)?;
        }
    }
    Ok(())
}

/// Requests that hold the same differ in an action that they are sure to have: `wsa:Action` where
/// all of their agreements ask for it, and `soapAction` otherwise.
fn check_alike(
    alike: &[&Agreed<'_>],
    content: &BodyContent,
    agreements: &[ExchangePolicy],
) -> Result<(), ExchangePolicyError> {
    let first = alike[0];
    let Some(other) = alike
        .iter()
        .find(|agreed| agreed.agreement != first.agreement)
    else {
        return Ok(());
    };
    let indistinguishable = |one: &Agreed<'_>, other: &Agreed<'_>| {
        Err(ExchangePolicyError::Indistinguishable {
            first: one.subject.to_string(),
            second: other.subject.to_string(),
            content: content.to_string(),
        })
    };
    let addressed = alike
        .iter()
        .all(|agreed| agreements[agreed.agreement].addressing);
    let mut known: HashMap<&str, &Agreed<'_>> = HashMap::new();
    for agreed in alike {
        let messages = identified(agreed.subject)?;
        let action = if addressed {
            messages.addressing_actions.first()
        } else {
            messages.soap_action.as_ref()
        };
        let Some(action) = action else {
            let other = if agreed.agreement == first.agreement {
                other
            } else {
                &first
            };
            return indistinguishable(agreed, other);
        };
        let earlier = *known.entry(action).or_insert(agreed);
        if earlier.agreement != agreed.agreement {
            return indistinguishable(earlier, agreed);
        }
    }
    Ok(())
}
