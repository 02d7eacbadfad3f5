//! Messages held beside the WSDL that describes their service.
//!
//! The rule kept here: a description is a claim like a message. Only an address on which both
//! agree, and that is signed, is demanded.

use std::path::Path;

use jiff::Timestamp;
use soapstone::config::EndpointConfig;
use soapstone::policy::{BodyContent, PolicyDocument, PolicySubject};
use soapstone::wss::SoapVersion;
use soapstone::wss::names::{SOAP11, SOAP12};
use soapstone::{ForgetfulReplayCache, Memory, Opener};

use crate::Learned;
use crate::outline::{ADDRESSING, Call};
use crate::quoted::quoted;
use crate::tables::KeyTables;

/// What a description and the messages say alike, and what they do not: each a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// What agrees.
    pub agrees: Vec<String>,
    /// What differs.
    pub differs: Vec<String>,
    /// What cannot be compared, and why.
    pub unknown: Vec<String>,
}

impl Learned {
    /// Holds the messages beside a description, which was read from `file`: operation, version of
    /// SOAP, address, action, and whether its policy opens the messages. An address on which all
    /// agree is demanded of requests from here on, where `wsa:To` is signed.
    ///
    /// `samples` are those that were learned from, and `keys` the receiver's.
    pub fn beside(
        &mut self,
        file: &Path,
        document: &PolicyDocument,
        samples: &[Vec<u8>],
        keys: Option<&KeyTables>,
    ) -> Described {
        let mut told = Described::default();
        let subjects = match document.subjects() {
            Ok(subjects) => subjects,
            Err(error) => {
                told.unknown
                    .push(format!("the description cannot be read: {error}"));
                return told;
            }
        };
        let mut subject = None;
        for (number, call) in self.calls.iter().enumerate() {
            subject = operation(number, call, &subjects, &mut told).or(subject);
        }
        let Some(subject) = subject else {
            return told;
        };
        if let Some(to) = address(&self.calls, subject, &mut told) {
            let is_signed = ADDRESSING
                .iter()
                .any(|version| self.draft.signed.contains(&format!("{{{version}}}To")));
            match is_signed {
                true => {
                    let open = self.draft.left_to_say();
                    self.notes.retain(|note| Some(note) != open.as_ref());
                    self.draft.to = Some(to);
                    self.notes.extend(self.draft.left_to_say());
                }
                false => told.unknown.push(
                    "wsa:To is not signed, so that `addressing.to` cannot demand the address"
                        .to_owned(),
                ),
            }
        }
        let version = self.calls.first().map(|call| call.soap.as_str());
        soap(version.unwrap_or_default(), subject, &mut told);
        if subject.has_policy() {
            let moments = [keys.and_then(KeyTables::moment), self.at];
            let at = moments.into_iter().flatten().next();
            policy(file, subject, samples, keys, at, &mut told);
        } else {
            told.differs.push(format!(
                "the messages have a Security header, and the description has no policy for {subject}"
            ));
        }
        told.agrees.dedup();
        told.differs.dedup();
        told
    }
}

/// The operation that a message calls.
fn operation<'s>(
    number: usize,
    call: &Call,
    subjects: &'s [PolicySubject],
    told: &mut Described,
) -> Option<&'s PolicySubject> {
    let number = number + 1;
    let Some((namespace, local)) = &call.body else {
        told.unknown.push(format!(
            "message {number} hides its Body: which operation it calls is not known"
        ));
        return subjects.iter().find(|subject| subject.port.is_some());
    };
    let calls = |subject: &&PolicySubject| match subject.messages.as_ref().map(|it| &it.request) {
        Some(BodyContent::Element(name)) => name.is(namespace, local),
        _ => false,
    };
    let mut fitting: Vec<&PolicySubject> = subjects.iter().filter(calls).collect();
    // Of several ports, that of the address and the version of SOAP.
    fitting.sort_by_key(|subject| {
        let is_address = subject.address.is_some() && subject.address == call.to;
        (!is_address, !is_soap(&call.soap, subject))
    });
    let Some(subject) = fitting.first() else {
        told.differs.push(format!(
            "message {number} holds `{{{namespace}}}{local}`, and no operation of the description has that element"
        ));
        return None;
    };
    told.agrees
        .push(format!("message {number} calls {subject}"));
    let messages = subject.messages.as_ref();
    let actions = messages.map_or(&[][..], |messages| &messages.addressing_actions);
    match &call.action {
        None => {}
        Some(action) if actions.contains(action) => {
            told.agrees.push(format!("wsa:Action is `{action}`"));
        }
        Some(action) => told.differs.push(format!(
            "wsa:Action of message {number} is `{action}`, of the description {}",
            match actions {
                [] => "none".to_owned(),
                actions => format!("`{}`", actions.join("` or `")),
            }
        )),
    }
    Some(subject)
}

/// The address on which messages and description agree.
fn address(calls: &[Call], subject: &PolicySubject, told: &mut Described) -> Option<String> {
    let Some(address) = &subject.address else {
        told.unknown
            .push("the description has no address".to_owned());
        return None;
    };
    let mut agrees = !calls.is_empty();
    for (number, call) in calls.iter().enumerate() {
        match &call.to {
            Some(to) if to == address => {}
            Some(to) => {
                agrees = false;
                told.differs.push(format!(
                    "wsa:To of message {} is `{to}`, the address of the description `{address}`",
                    number + 1
                ));
            }
            None => {
                agrees = false;
                told.unknown
                    .push(format!("message {} has no wsa:To", number + 1));
            }
        }
    }
    agrees.then(|| {
        told.agrees
            .push(format!("wsa:To is the address `{address}`"));
        address.clone()
    })
}

fn is_soap(namespace: &str, subject: &PolicySubject) -> bool {
    match subject.soap {
        Some(SoapVersion::V11) => namespace == SOAP11,
        Some(SoapVersion::V12) => namespace == SOAP12,
        None => false,
    }
}

fn soap(namespace: &str, subject: &PolicySubject, told: &mut Described) {
    if subject.soap.is_some() && !is_soap(namespace, subject) {
        told.differs.push(format!(
            "the messages are in the SOAP of `{namespace}`, and {subject} is in the other version"
        ));
    }
}

/// Whether the policy of the description opens the messages.
fn policy(
    file: &Path,
    subject: &PolicySubject,
    samples: &[Vec<u8>],
    keys: Option<&KeyTables>,
    at: Option<Timestamp>,
    told: &mut Described,
) {
    let Some(keys) = keys else {
        told.unknown
            .push("whether its policy opens the messages takes keys to say: --keys".to_owned());
        return;
    };
    let Ok(file) = std::path::absolute(file) else {
        return;
    };
    let mut text = keys.text().to_owned();
    text.push_str("\n[security]\n");
    text.push_str(&format!(
        "policy = {}\n",
        quoted(&file.display().to_string())
    ));
    let names = [("service", &subject.service), ("port", &subject.port)];
    let names = names
        .into_iter()
        .filter_map(|(key, name)| Some(format!("{key} = {}", quoted(name.as_ref()?))));
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        text.push_str(&format!("policy_subject = {{ {} }}\n", names.join(", ")));
    }
    if let Some(at) = at {
        text.push_str(&format!("time = {}\n", quoted(&at.to_string())));
    }
    let opener = EndpointConfig::from_text(&text, keys.file(), &|name| std::env::var(name).ok())
        .and_then(|config| Opener::from_config(&config));
    let opener = match opener {
        Ok(opener) => opener,
        Err(problems) => {
            told.unknown.push(format!(
                "the policy of the description cannot be tried with these keys: {problems}"
            ));
            return;
        }
    };
    for (number, sample) in samples.iter().enumerate() {
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let now = at.unwrap_or_else(Timestamp::now);
        let explained = opener.explain(sample.clone(), None, memory, now, &mut ());
        if let Err(rejected) = explained.verdict {
            told.differs.push(format!(
                "the policy of the description refuses message {}: {}: {rejected}",
                number + 1,
                rejected.cause().name()
            ));
            return;
        }
    }
    told.agrees.push(
        "the policy of the description opens the messages: `security.policy` can name it in the place of what was learned"
            .to_owned(),
    );
}
