//! Which parts of messages are signed, encrypted or required (WS-SecurityPolicy 1.3, 4).

use std::sync::Arc;

use soapstone_wss::ElementPath;

use crate::alternative::Assertion;
use crate::names::Name;
use crate::node::{Node, Place};
use crate::problem::{PolicyProblem, ProblemKind};

/// XPath 1.0 by its URI, and as people abbreviate it.
const XPATH_10: [&str; 2] = ["http://www.w3.org/TR/1999/REC-xpath-19991116", "1.0"];

/// `sp:SignedParts`, `sp:EncryptedParts` or `sp:RequiredParts`.
#[derive(Clone, Debug)]
pub struct PartsDemand {
    /// The Body.
    pub body: bool,
    /// Header blocks.
    pub headers: Vec<HeaderDemand>,
    /// The assertion.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
    /// Nothing is named: for `sp:SignedParts`, the Body and all header blocks (4.1.1).
    pub everything: bool,
}

/// Header blocks by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderDemand {
    /// Local name; `None`: all of the namespace.
    pub local: Option<String>,
    /// Namespace name.
    pub namespace: String,
}

impl PartsDemand {
    pub(super) fn read(assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) -> Self {
        let mut read = Self {
            body: false,
            headers: Vec::new(),
            name: assertion.name().clone(),
            place: assertion.place().clone(),
            everything: true,
        };
        for part in assertion.parameters() {
            read.everything = false;
            if part.name.security_version().is_none() {
                problems.push(PolicyProblem::at(
                    &part.name,
                    &part.place,
                    ProblemKind::Unknown,
                ));
                continue;
            }
            match &*part.name.local {
                "Body" => read.body = true,
                "Header" => match part.attribute("", "Namespace") {
                    Some(namespace) => read.headers.push(HeaderDemand {
                        local: part
                            .attribute("", "Name")
                            .map(str::trim)
                            .filter(|name| !name.is_empty())
                            .map(str::to_owned),
                        namespace: namespace.trim().to_owned(),
                    }),
                    None => problems.push(PolicyProblem::at(
                        &part.name,
                        &part.place,
                        ProblemKind::Missing {
                            what: "the attribute Namespace",
                        },
                    )),
                },
                "Attachments" => problems.push(PolicyProblem::at(
                    &part.name,
                    &part.place,
                    ProblemKind::NotSupported {
                        reason: "attachments are not protected",
                    },
                )),
                _ => problems.push(PolicyProblem::at(
                    &part.name,
                    &part.place,
                    ProblemKind::Unknown,
                )),
            }
        }
        refuse_nested(assertion, problems);
        read
    }
}

/// Parts and elements stand in their assertion itself (4.1 to 4.3): in a nested policy nobody would
/// look for them.
fn refuse_nested(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) {
    if assertion.nested().is_some() {
        problems.push(PolicyProblem::new(
            assertion,
            ProblemKind::NotSupported {
                reason: "a nested policy says nothing here",
            },
        ));
    }
}

/// `sp:SignedElements`, `sp:EncryptedElements`, `sp:ContentEncryptedElements` or
/// `sp:RequiredElements`.
#[derive(Clone, Debug)]
pub struct ElementsDemand {
    /// The paths.
    pub paths: Vec<PathDemand>,
    /// The assertion.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
}

/// One `sp:XPath`.
#[derive(Clone, Debug)]
pub struct PathDemand {
    /// The path.
    pub path: ElementPath,
    /// The element that it is written in.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
}

impl ElementsDemand {
    pub(super) fn read(assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) -> Self {
        let before = problems.len();
        let node = assertion.node();
        // Rampart writes it with the prefix of the assertion.
        let version = node
            .attribute("", "XPathVersion")
            .or_else(|| node.attribute(&node.name.namespace, "XPathVersion"));
        if let Some(found) = version.filter(|found| !XPATH_10.contains(&found.trim())) {
            problems.push(PolicyProblem::new(
                assertion,
                ProblemKind::Value {
                    attribute: "XPathVersion",
                    expected: "XPath 1.0",
                    found: found.to_owned(),
                },
            ));
        }
        let context = match &*assertion.name().local {
            "RequiredElements" => HEADER,
            _ => ENVELOPE,
        };
        let mut paths = Vec::new();
        for expression in assertion.parameters() {
            let kind = match &*expression.name.local {
                _ if expression.name.security_version().is_none() => ProblemKind::Unknown,
                "XPath" => match read_path(expression, context) {
                    Ok(path) => {
                        paths.push(path);
                        continue;
                    }
                    Err(kind) => kind,
                },
                "XPath2" => ProblemKind::NotSupported {
                    reason: "elements are selected by XPath 1.0",
                },
                _ => ProblemKind::Unknown,
            };
            problems.push(PolicyProblem::at(&expression.name, &expression.place, kind));
        }
        refuse_nested(assertion, problems);
        if paths.is_empty() && problems.len() == before {
            let what = "sp:XPath";
            problems.push(PolicyProblem::new(assertion, ProblemKind::Missing { what }));
        }
        Self {
            paths,
            name: assertion.name().clone(),
            place: assertion.place().clone(),
        }
    }
}

/// Where relative paths begin (WS-SecurityPolicy 1.3, 4.1.2, 4.2.2 and 4.2.3).
const ENVELOPE: &str = "/*[local-name()='Envelope']";

/// Where relative paths of `sp:RequiredElements` begin (4.3.1).
const HEADER: &str = "/*[local-name()='Envelope']/*[local-name()='Header']";

/// Reads an `sp:XPath`; `context` is the path of the element where relative ones begin.
fn read_path(expression: &Node, context: &str) -> Result<PathDemand, ProblemKind> {
    let namespace = |prefix: &str| expression.namespace_of(prefix).map(str::to_owned);
    let text = expression.text.trim();
    let parsed = if text.is_empty() || text.starts_with('/') {
        ElementPath::parse(text, namespace)
    } else {
        let steps = match text.strip_prefix("./") {
            Some(steps) => format!("/{steps}"),
            None => format!("/{text}"),
        };
        ElementPath::parse(&format!("{context}{steps}"), namespace)
    };
    match parsed {
        Ok(path) => Ok(PathDemand {
            path,
            name: expression.name.clone(),
            place: expression.place.clone(),
        }),
        Err(error) => Err(ProblemKind::Path {
            expression: text.to_owned(),
            error,
        }),
    }
}
