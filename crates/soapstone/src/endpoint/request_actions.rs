//! The actions of requests whose clients write no addressing headers (WS-Addressing 1.0 Metadata,
//! 4.4).
//!
//! The one rule: an action that nothing says is not written, and never an empty one.

use soapstone_policy::OperationMessages;
use soapstone_wss::Envelope;

use super::operations::{Content, content_of};

/// The actions of the requests of a WSDL's operations, by what tells them apart.
#[derive(Debug, Default)]
pub(super) struct RequestActions(Vec<Described>);

/// An operation whose action a WSDL says.
#[derive(Debug)]
struct Described {
    /// What the Body holds; `None` where the WSDL does not say it.
    content: Option<Content>,
    /// The `soapAction`, and what `wsa:Action` may be.
    said: Vec<String>,
    /// The `wsa:Action` to write.
    written: Option<String>,
}

impl Described {
    fn holds(&self, content: &Content) -> bool {
        self.content.as_ref() == Some(content)
    }
}

impl RequestActions {
    pub(super) fn of(operations: &[OperationMessages]) -> Self {
        let described = operations.iter().map(|messages| Described {
            content: content_of(&messages.request),
            said: messages
                .soap_action
                .iter()
                .chain(&messages.addressing_actions)
                .cloned()
                .collect(),
            written: messages.addressing_actions.first().cloned(),
        });
        Self(described.collect())
    }

    /// The action of a plain request, whose `SOAPAction` is `said`: that of its operation, or else
    /// the `SOAPAction`, or else the name of what the Body holds. `None` if there is none of these.
    pub(super) fn to(&self, said: Option<&str>, request: &Envelope) -> Option<String> {
        let said = said.filter(|action| !action.is_empty());
        let described = match said {
            Some(said) => self.of_said(said, &request.operation()),
            None => self.of_content(&request.operation()),
        };
        described
            .or(said)
            .map(str::to_owned)
            .or_else(|| named(request))
    }

    /// That of the operation which has such a `SOAPAction` and such a Body.
    fn of_said(&self, said: &str, content: &Content) -> Option<&str> {
        only(self.0.iter().filter(|operation| {
            operation.holds(content) && operation.said.iter().any(|action| action == said)
        }))
    }

    /// That of the operation which has such a Body. An empty Body is of a sole operation, whatever
    /// the WSDL says of its Body.
    fn of_content(&self, content: &Content) -> Option<&str> {
        let is_open = |operation: &Described| operation.content.is_none() || content.is_none();
        match self.0.as_slice() {
            [sole] if is_open(sole) => sole.written.as_deref(),
            all => only(all.iter().filter(|operation| operation.holds(content))),
        }
    }
}

/// The action that all of these operations have.
fn only<'o>(operations: impl Iterator<Item = &'o Described>) -> Option<&'o str> {
    let mut actions = operations.map(|operation| operation.written.as_deref());
    let first = actions.next()?;
    first.filter(|_| actions.all(|other| other == first))
}

/// The name of what the Body holds.
fn named(request: &Envelope) -> Option<String> {
    let content = request.body().first_child()?;
    let namespace = content.namespace().trim_end_matches('/');
    Some(format!("{namespace}/{}", content.local()))
}
