//! What roles and agreements are asked about a request: after the message was verified, before a
//! backend is chosen.
//!
//! The rule kept here: who somebody is comes from the evidence, and the operation from the message
//! that goes on, if its Body is proven.

use std::sync::Arc;

use soapstone::endpoint::TokenAnswer;
use soapstone::trust::RequesterToken;
use soapstone::wss::{ContextOwner, Envelope};
use soapstone::xml::{Buffers, Element, Limits};

use super::open::Opened;
use super::steps::EndpointError;
use crate::route::agreements::{Admitting, Agreements};
use crate::route::roles::{Asked, Proven, Roles};
use crate::route::serving::Serving;

/// The namespaces of WS-Addressing that backends may read.
const ADDRESSING: [&str; 4] = [
    "http://www.w3.org/2005/08/addressing",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing",
    "http://schemas.xmlsoap.org/ws/2004/03/addressing",
    "http://schemas.xmlsoap.org/ws/2003/03/addressing",
];

/// Who decides about the requests of a route.
pub(super) struct Authorities {
    route: String,
    roles: Option<Arc<Roles>>,
    agreements: Option<Arc<Agreements>>,
}

impl Authorities {
    /// Those of a route. `None` where nobody decides.
    pub(super) fn of(serving: &Serving, route: &str) -> Option<Self> {
        let agreements = serving.agreements.as_ref();
        let agreements = agreements.filter(|it| it.are_about(route));
        let roles = serving.roles.as_ref();
        (roles.is_some() || agreements.is_some()).then(|| Self {
            route: route.to_owned(),
            roles: roles.cloned(),
            agreements: agreements.cloned(),
        })
    }

    /// Whether a request may have to wait for a store that gateways share.
    pub(super) fn count_together(&self) -> bool {
        let agreements = self.agreements.as_ref();
        agreements.is_some_and(|agreements| agreements.may_ask(&self.route))
    }
}

/// Whether roles let a request through that was opened, and under which agreement it is. Where
/// gateways count together, it comes back whom to ask for that. `said` are the actions that the
/// client says beside the message, and `limits` are those that it was opened with.
///
/// # Errors
///
/// [`EndpointError::Denied`], [`EndpointError::OverAgreement`].
pub(super) fn authorize(
    authorities: &Authorities,
    opened: &mut Opened,
    said: &[String],
    limits: &Limits,
    buffers: &mut Buffers,
) -> Result<Option<Admitting>, EndpointError> {
    let Authorities {
        route,
        roles,
        agreements,
    } = authorities;
    let (operation, mut actions) = read(&opened.octets, limits, buffers);
    // At a node on the way, the Body may be nobody's word.
    let body = format!("{{{}}}Body", opened.version.namespace());
    let body_is_proven = !opened.unproven.contains(&body);
    let operation = operation.filter(|_| body_is_proven);
    actions.extend_from_slice(said);
    // A header that is not passed on may be told to the backend beside the message.
    actions.extend(opened.action.clone());
    let assertion = opened.assertion.as_deref();
    let asked = Asked {
        route,
        proven: &opened.proven,
        assertion: assertion.map(|evidence| &evidence.assertion),
        operation,
        body_is_proven,
        actions,
        bytes: opened.size() as u64,
    };
    if let Some(roles) = roles {
        let decided = roles.decide(&asked, jiff::Timestamp::now());
        decided.map_err(EndpointError::Denied)?;
    }
    let Some(agreements) = agreements else {
        return Ok(None);
    };
    let asks = agreements.asks(&asked);
    if asks.is_none() {
        let admitted = agreements.admit(&asked);
        opened.agreement = admitted.map_err(EndpointError::OverAgreement)?;
    }
    Ok(asks)
}

/// Whether roles let a request for an assertion through. The token service has answered or refused
/// it, and nothing is done or sent yet. It has compared the action of the request with its content.
///
/// # Errors
///
/// [`EndpointError::Denied`], [`EndpointError::OverAgreement`].
pub(super) fn authorize_token(
    authorities: &Authorities,
    answer: &TokenAnswer,
    bytes: u64,
) -> Result<(), EndpointError> {
    let proven = match (&answer.token, &*answer.requester) {
        (Some(RequesterToken::Kerberos { client, .. }), _) => Proven::Kerberos(client.clone()),
        (Some(RequesterToken::Assertion { .. }), _) => Proven::Nobody,
        (None, ContextOwner::Certificate(certificate)) => Proven::Certificate(certificate.clone()),
        (None, ContextOwner::User(user)) => Proven::User(user.clone()),
        (None, ContextOwner::Kerberos { client, .. }) => Proven::Kerberos(client.clone()),
        (None, ContextOwner::Subject(owner)) => Proven::Subject(Arc::clone(owner)),
        (None, ContextOwner::Anonymous) => Proven::Nobody,
    };
    let assertion = match &answer.token {
        Some(RequesterToken::Assertion { assertion, .. }) => Some(&**assertion),
        _ => None,
    };
    let asked = Asked {
        route: &authorities.route,
        proven: &proven,
        assertion,
        operation: Some(answer.operation.clone()),
        body_is_proven: true,
        actions: Vec::new(),
        bytes,
    };
    if let Some(roles) = &authorities.roles {
        let decided = roles.decide(&asked, jiff::Timestamp::now());
        decided.map_err(EndpointError::Denied)?;
    }
    if let Some(agreements) = &authorities.agreements {
        let admitted = agreements.admit(&asked);
        admitted.map_err(EndpointError::OverAgreement)?;
    }
    Ok(())
}

/// The one child of the Body, as `{namespace}local` and its local name; and the `wsa:Action` blocks
/// of the header.
fn read(
    octets: &[u8],
    limits: &Limits,
    buffers: &mut Buffers,
) -> (Option<(String, String)>, Vec<String>) {
    let parsed = Envelope::parse(octets.to_vec(), limits, buffers);
    let Ok(envelope) = parsed else {
        return (None, Vec::new());
    };
    let mut children = envelope.body().children();
    // One that holds several is of none: it is not known which of them the backend looks at.
    let operation = match (children.next(), children.next()) {
        (Some(only), None) => {
            let (namespace, local) = (only.namespace(), only.local());
            Some((format!("{{{namespace}}}{local}"), local.to_owned()))
        }
        _ => None,
    };
    let is_action =
        |block: &Element<'_>| block.local() == "Action" && ADDRESSING.contains(&block.namespace());
    let blocks = envelope.header().into_iter().flat_map(|it| it.children());
    let actions = blocks.filter(is_action);
    // What is more than text is read in several ways, and is no action of any operation.
    let actions = actions.map(|block| match block.text_strict() {
        Some(text) => text.trim().to_owned(),
        None => "more than text".to_owned(),
    });
    let actions = actions.collect();
    (operation, actions)
}
