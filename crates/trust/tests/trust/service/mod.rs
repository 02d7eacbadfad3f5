//! What a security token service must not grant, each by its clause or its attack.

mod authority;
mod keys;
mod messages;
mod subjects;

use soapstone_trust::Refusal;
use soapstone_wss::SecurityContext;

use crate::support::{Host, WST, request};

/// A reference to a context, as `RenewTarget` or `CancelTarget` of a request.
pub(super) fn about(operation: &str, identifier: &str, more: &str) -> String {
    let token = format!(
        "<wsc:SecurityContextToken><wsc:Identifier>{identifier}</wsc:Identifier></wsc:SecurityContextToken>"
    );
    let target = format!("<wst:{operation}Target>{token}</wst:{operation}Target>{more}");
    request(operation, &target)
}

/// A host that has these contexts.
pub(super) fn host_of(contexts: &[SecurityContext]) -> Host {
    let host = Host::default();
    host.contexts.borrow_mut().extend_from_slice(contexts);
    host
}

pub(super) fn not_understood(local: &str) -> Refusal {
    Refusal::NotUnderstood {
        element: format!("{{{WST}}}{local}"),
    }
}

pub(super) fn not_proven(context: &SecurityContext) -> Refusal {
    Refusal::ContextNotProven {
        name: Some(context.name()),
    }
}
