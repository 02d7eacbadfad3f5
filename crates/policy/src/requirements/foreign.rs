//! Assertions of other languages in security policies: those of other stacks, and of other
//! specifications.
//!
//! The one rule: passed over is only what says nothing about messages. Of what is refused, the
//! better known says why.

use crate::alternative::Assertion;
use crate::names::Name;
use crate::problem::ProblemKind;

/// Namespaces in which other stacks keep their configuration inside policies: key stores,
/// callbacks, cache sizes, and what else than SOAP over HTTP they understand. They say nothing
/// about messages.
const CONFIGURATION: [&str; 16] = [
    "http://ws.apache.org/rampart/policy",
    "http://schemas.sun.com/2006/03/wss/server",
    "http://schemas.sun.com/2006/03/wss/client",
    "http://schemas.sun.com/ws/2006/05/sc/server",
    "http://schemas.sun.com/ws/2006/05/sc/client",
    "http://schemas.sun.com/ws/2006/05/trust/server",
    "http://schemas.sun.com/ws/2006/05/trust/client",
    "http://wss4j.apache.org/policy",
    "http://java.sun.com/xml/ns/wsit/policy",
    "http://java.sun.com/xml/ns/metro/management",
    "http://java.sun.com/xml/ns/wsit/2006/09/policy/encoding/client",
    "http://java.sun.com/xml/ns/wsit/2006/09/policy/fastinfoset/service",
    "http://java.sun.com/xml/ns/wsit/2006/09/policy/soaptcp/service",
    "http://java.sun.com/xml/ns/wsit/2006/09/policy/transport/client",
    // Whether calls wait for the end of their work.
    "http://www.sap.com/NW05/soap/features/blocking/",
    // That messages may be UTF-8 or UTF-16: both are read.
    "http://schemas.xmlsoap.org/ws/2004/09/policy/encoding",
];

/// Assertions of Microsoft's that stand in tokens of WS-SecurityPolicy, and tokens of its own.
pub(super) const MICROSOFT: &str = "http://schemas.microsoft.com/ws/2005/07/securitypolicy";

/// Namespaces whose assertions demand something that is not done here, and what.
const REFUSED: [(&str, &str); 16] = [
    (
        MICROSOFT_HTTP,
        "of the ways in which HTTP authenticates users, only Basic is supported",
    ),
    (
        "http://schemas.microsoft.com/ws/2006/05/framing/policy",
        NOT_HTTP,
    ),
    (
        "http://schemas.microsoft.com/ws/06/2004/mspolicy/msmq",
        NOT_HTTP,
    ),
    (
        "http://schemas.microsoft.com/ws/06/2004/mspolicy/netbinary1",
        "messages are XML as text",
    ),
    (
        "http://schemas.microsoft.com/net/2006/06/duplex",
        "answers go back on the connection of their request",
    ),
    ("http://schemas.xmlsoap.org/ws/2004/03/rm", RELIABLE),
    ("http://schemas.xmlsoap.org/ws/2005/02/rm/policy", RELIABLE),
    ("http://docs.oasis-open.org/ws-rx/wsrmp/200702", RELIABLE),
    (
        "http://schemas.microsoft.com/net/2005/02/rm/policy",
        RELIABLE,
    ),
    ("http://sun.com/2006/03/rm", RELIABLE),
    ("http://schemas.xmlsoap.org/ws/2004/10/wsat", TRANSACTIONS),
    (
        "http://docs.oasis-open.org/ws-tx/wsat/2006/06",
        TRANSACTIONS,
    ),
    (
        "http://www.bea.com/wls90/security/policy",
        "this is the language of WebLogic 9: ask for a policy in WS-SecurityPolicy",
    ),
    ("http://schemas.oracle.com/ws/2006/01/policy", ORACLE),
    (
        "http://schemas.oracle.com/ws/2006/01/securitypolicy",
        ORACLE,
    ),
    (
        MICROSOFT,
        "it is known in tokens of WS-SecurityPolicy alone",
    ),
];

const NOT_HTTP: &str = "messages come over HTTP";
const RELIABLE: &str = "reliable messaging is not supported";
const TRANSACTIONS: &str = "transactions over several services are not supported";
const ORACLE: &str = "this is the language of Oracle's Web Services Manager: ask for the policy that it advertises, in WS-SecurityPolicy";

/// Assertions of Microsoft's on how HTTP authenticates users.
const MICROSOFT_HTTP: &str = "http://schemas.microsoft.com/ws/06/2004/policy/http";

/// Whether an assertion demands MTOM: by the submission of 2004, or by that of 2007.
pub(super) fn demands_mtom(name: &Name) -> bool {
    name.is(
        "http://schemas.xmlsoap.org/ws/2004/09/policy/optimizedmimeserialization",
        "OptimizedMimeSerialization",
    ) || name.is("http://www.w3.org/2007/08/soap12-mtom-policy", "MTOM")
}

/// Whether an assertion demands a user and a password of HTTP, as Microsoft writes it.
pub(super) fn demands_http_basic(name: &Name) -> bool {
    name.is(MICROSOFT_HTTP, "BasicAuthentication")
}

/// Whether an assertion says nothing about messages.
pub(super) fn says_nothing(assertion: &Assertion) -> bool {
    is_configuration(assertion.name()) || is_switched_off(assertion)
}

/// Whether it is the configuration of another stack.
pub(super) fn is_configuration(name: &Name) -> bool {
    CONFIGURATION.contains(&&*name.namespace)
}

/// SAP lists features with whether they are asked for: `enableSession` with `false`. One that is
/// asked for is refused as unknown.
fn is_switched_off(assertion: &Assertion) -> bool {
    let node = assertion.node();
    let is_feature = node.name.namespace.starts_with("http://www.sap.com/")
        && node.name.namespace.contains("/features/");
    let is_off = |text: &str| matches!(text.trim(), "false" | "no");
    let inside = &node.children;
    is_feature
        && if inside.is_empty() {
            is_off(&node.text)
        } else {
            inside.iter().all(|child| is_off(&child.text))
        }
}

/// Why an assertion of another language is refused.
pub(super) fn refusal(name: &Name) -> ProblemKind {
    let known = REFUSED
        .into_iter()
        .find(|(namespace, _)| *namespace == &*name.namespace);
    known.map_or(ProblemKind::Unknown, |(_, reason)| {
        ProblemKind::NotSupported { reason }
    })
}
