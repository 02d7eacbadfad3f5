//! Normal form: a policy as the list of alternatives it offers (WS-Policy 1.5, 4.1 and 4.3).
//!
//! Optional assertions become two alternatives, operators are distributed, references are replaced
//! by what they mean, and nested policies are normalized with their assertions: an assertion whose
//! nested policy has several alternatives becomes several. The one rule: every product is bounded
//! before it is made.

use std::sync::Arc;

use crate::alternative::{Alternative, Assertion, NormalPolicy};
use crate::document::PolicyDocument;
use crate::error::PolicyError;
use crate::limits::{Budget, Exhausted};
use crate::names::PolicyVersion;
use crate::node::{Node, Place};

impl PolicyDocument {
    /// The normal form of one of the document's policies, or of a `wsp:PolicyReference`.
    ///
    /// # Errors
    /// A [`PolicyError`] if it is no policy, refers to none or to itself, or has more alternatives
    /// than its limits allow.
    pub fn normalize(&self, policy: &Arc<Node>) -> Result<NormalPolicy, PolicyError> {
        Ok(NormalPolicy {
            version: policy.name.policy_version().unwrap_or(PolicyVersion::V15),
            alternatives: Normalizer::new(self).expression(policy)?,
        })
    }

    /// The normal form of the first policy of the document.
    ///
    /// # Errors
    /// As for [`normalize`](Self::normalize); a WSDL without any policy allows everything.
    pub fn normal_form(&self) -> Result<NormalPolicy, PolicyError> {
        match self.policies().first() {
            Some(policy) => self.normalize(policy),
            None => Ok(NormalPolicy {
                version: PolicyVersion::V15,
                alternatives: vec![Alternative::default()],
            }),
        }
    }
}

/// Computes normal forms within one budget.
pub(crate) struct Normalizer<'d> {
    document: &'d PolicyDocument,
    budget: Budget<'d>,
    /// Policies being normalized, outermost first: a reference to one of them is a loop.
    open: Vec<*const Node>,
    /// References being followed.
    references: usize,
    /// Expressions being normalized, each inside the one before.
    depth: usize,
}

/// Deepest nesting of expressions, references followed: twice what one document may nest by
/// default.
const DEEPEST: usize = 200;

impl<'d> Normalizer<'d> {
    pub(crate) fn new(document: &'d PolicyDocument) -> Self {
        Self {
            document,
            budget: Budget::of_document(&document.limits, &document.steps_left),
            open: Vec::new(),
            references: 0,
            depth: 0,
        }
    }

    /// A policy, an operator, a reference or an assertion.
    pub(crate) fn expression(&mut self, node: &Arc<Node>) -> Result<Vec<Alternative>, PolicyError> {
        self.budget
            .spend(1)
            .map_err(|exhausted| self.exhausted(exhausted, node))?;
        if self.depth == DEEPEST {
            return Err(self.too_deep(node));
        }
        self.depth += 1;
        let alternatives = self.operator(node);
        self.depth -= 1;
        alternatives
    }

    fn operator(&mut self, node: &Arc<Node>) -> Result<Vec<Alternative>, PolicyError> {
        if node.name.policy_version().is_none() {
            return self.assertion(node);
        }
        match &*node.name.local {
            "Policy" => {
                self.open.push(Arc::as_ptr(node));
                let all = self.all(node);
                self.open.pop();
                all
            }
            "All" => self.all(node),
            "ExactlyOne" => {
                let mut alternatives = Vec::new();
                for child in &node.children {
                    alternatives.extend(self.expression(child)?);
                    self.budget
                        .alternatives(alternatives.len())
                        .map_err(|exhausted| self.exhausted(exhausted, child))?;
                }
                Ok(alternatives)
            }
            "PolicyReference" => {
                if node.attribute("", "Digest").is_some() {
                    return Err(PolicyError::Digest {
                        place: node.place.clone(),
                    });
                }
                let uri = node.attribute("", "URI").unwrap_or_default();
                self.reference(uri, node)
            }
            _ => Err(PolicyError::Unexpected {
                found: node.name.clone(),
                place: node.place.clone(),
            }),
        }
    }

    /// The policy that a reference on `from` means.
    pub(crate) fn reference(
        &mut self,
        uri: &str,
        from: &Arc<Node>,
    ) -> Result<Vec<Alternative>, PolicyError> {
        let document = self.document;
        let policy = document.referenced(uri, from)?;
        if self.open.contains(&Arc::as_ptr(policy)) {
            return Err(PolicyError::ReferenceLoop {
                uri: uri.to_owned(),
                place: from.place.clone(),
            });
        }
        if self.references == document.limits.references {
            return Err(self.too_deep(from));
        }
        self.references += 1;
        let alternatives = self.expression(policy);
        self.references -= 1;
        alternatives
    }

    fn too_deep(&self, node: &Node) -> PolicyError {
        PolicyError::ReferencesTooDeep {
            allowed: self.document.limits.references,
            place: node.place.clone(),
        }
    }

    /// Both policies together.
    pub(crate) fn multiply(
        &mut self,
        left: &[Alternative],
        right: &[Alternative],
    ) -> Result<Vec<Alternative>, PolicyError> {
        multiply(left, right, &mut self.budget)
            .map_err(|exhausted| exhaustion(self.document, exhausted, None))
    }

    fn all(&mut self, node: &Arc<Node>) -> Result<Vec<Alternative>, PolicyError> {
        let mut product = vec![Alternative::default()];
        for child in &node.children {
            let factor = self.expression(child)?;
            product = multiply(&product, &factor, &mut self.budget)
                .map_err(|exhausted| self.exhausted(exhausted, child))?;
        }
        Ok(product)
    }

    fn assertion(&mut self, node: &Arc<Node>) -> Result<Vec<Alternative>, PolicyError> {
        let optional = truth(node, "Optional")?;
        truth(node, "Ignorable")?;
        let mut nested = node
            .children
            .iter()
            .filter(|child| child.is_policy_element("Policy"));
        let own = elements(node);
        self.budget
            .spend(own)
            .map_err(|exhausted| self.exhausted(exhausted, node))?;
        let alone = |nested: Option<Alternative>| Alternative {
            assertions: vec![Arc::new(Assertion::new(node.clone(), nested, own))],
        };
        let mut alternatives: Vec<Alternative> = match nested.next() {
            None => vec![alone(None)],
            Some(policy) => self
                .expression(policy)?
                .into_iter()
                .map(|alternative| alone(Some(alternative)))
                .collect(),
        };
        if let Some(second) = nested.next() {
            return Err(PolicyError::SecondPolicy {
                assertion: node.name.clone(),
                place: second.place.clone(),
            });
        }
        if optional {
            alternatives.push(Alternative::default());
        }
        Ok(alternatives)
    }

    fn exhausted(&self, exhausted: Exhausted, node: &Node) -> PolicyError {
        exhaustion(self.document, exhausted, Some(node.place.clone()))
    }
}

pub(crate) fn exhaustion(
    document: &PolicyDocument,
    exhausted: Exhausted,
    place: Option<Place>,
) -> PolicyError {
    match exhausted {
        Exhausted::Alternatives => PolicyError::TooManyAlternatives {
            allowed: document.limits.alternatives,
            place,
        },
        Exhausted::Steps => PolicyError::TooMuchWork {
            allowed: document.limits.steps,
            place,
        },
    }
}

/// Each alternative of one with each of the other (WS-Policy 1.5, 4.3.2: `wsp:All` distributes over
/// `wsp:ExactlyOne`).
pub(crate) fn multiply(
    left: &[Alternative],
    right: &[Alternative],
    budget: &mut Budget<'_>,
) -> Result<Vec<Alternative>, Exhausted> {
    budget.alternatives(left.len().saturating_mul(right.len()))?;
    let mut product = Vec::with_capacity(left.len() * right.len());
    for first in left {
        for second in right {
            budget.spend(first.weight() + second.weight() + 1)?;
            let assertions = first.assertions.iter().chain(&second.assertions);
            product.push(Alternative {
                assertions: assertions.cloned().collect(),
            });
        }
    }
    Ok(product)
}

/// A truth value of WS-Policy on an assertion; false if it is not there.
fn truth(node: &Node, attribute: &'static str) -> Result<bool, PolicyError> {
    match node.policy_attribute(attribute).map(str::trim) {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(found) => Err(PolicyError::Value {
            attribute,
            expected: "`true` or `false`",
            found: found.to_owned(),
            place: node.place.clone(),
        }),
    }
}

/// An element and the parameters in it.
fn elements(node: &Node) -> usize {
    let parameters = node
        .children
        .iter()
        .filter(|child| !child.is_policy_element("Policy"));
    1 + parameters.map(|child| elements(child)).sum::<usize>()
}
