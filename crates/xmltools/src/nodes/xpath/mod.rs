//! XPath 1.0, all of it, with `here()` of XML-Signature.
//!
//! It is our own because no maintained XPath 1.0 crate evaluates over a foreign tree and knows both
//! namespace nodes and a function that depends on where the expression stands; the transforms of
//! XML-Signature need both. There are no variables: section 6.6.3 of XML-Signature binds none.
//!
//! `lexer` and `parser` make an [`Expression`] (its parts are in `expression`); `axes`, `evaluate`,
//! `functions` and `value` evaluate it over a [`Tree`]. [`Evaluation`] is what a verifier uses: it
//! selects nodes, filters a set of nodes, and bounds the work of everything it evaluates together.
//!
//! The one rule kept here: an expression comes from whoever wrote the signature. Parsing and
//! evaluating end, with an error if need be, after a bounded number of operations and at a bounded
//! depth of recursion.

mod axes;
mod error;
mod evaluate;
mod expression;
mod functions;
mod lexer;
mod parser;
mod value;

use super::{NodeSet, Tree, TreeNode};
pub use error::XPathError;
use evaluate::{Context, Evaluator, Operations};
pub use value::Value;

/// Most nodes visited and bytes of strings built by one [`Evaluation`], unless told otherwise: at
/// worst some four seconds of work. The common filters of signatures need about ten per node of the
/// document.
pub const OPERATIONS: u64 = 100_000_000;

/// An expression, parsed.
#[derive(Clone, Debug)]
pub struct Expression {
    root: expression::Expr,
    constants: usize,
}

impl Expression {
    /// Parses an expression. `namespaces` resolves prefixes, as the element that holds the
    /// expression declares them; `xml` needs no declaration. A name without prefix is in no
    /// namespace (XPath 1.0 section 2.3).
    ///
    /// # Errors
    ///
    /// An [`XPathError`] for anything but an expression of XPath 1.0, for prefixes, functions and
    /// variables that nobody declares, and for expressions too long or too deep.
    pub fn parse<'u>(
        text: &str,
        namespaces: &dyn Fn(&str) -> Option<&'u str>,
    ) -> Result<Expression, XPathError> {
        let (root, constants) = parser::parse(text, namespaces)?;
        Ok(Expression { root, constants })
    }
}

/// Evaluates expressions over one tree, within one bound for all of them.
#[derive(Debug)]
pub struct Evaluation<'e, 'd> {
    tree: &'e Tree<'d>,
    here: Option<TreeNode>,
    operations: Operations,
}

impl<'e, 'd> Evaluation<'e, 'd> {
    /// Evaluates over `tree`, with at most [`OPERATIONS`] operations.
    pub fn new(tree: &'e Tree<'d>) -> Evaluation<'e, 'd> {
        Evaluation::bounded(tree, OPERATIONS)
    }

    /// Evaluates over `tree`, with at most this many operations.
    pub fn bounded(tree: &'e Tree<'d>, operations: u64) -> Evaluation<'e, 'd> {
        Evaluation {
            tree,
            here: None,
            operations: Operations::new(operations),
        }
    }

    /// Says what `here()` returns from now on: the element (or attribute) that bears the
    /// expression; `None` if that is not in this tree.
    pub fn set_here(&mut self, here: Option<TreeNode>) {
        self.here = here;
    }

    /// The value of an expression for one context node.
    ///
    /// # Errors
    ///
    /// [`XPathError::NotANodeSet`], [`XPathError::NoHere`], [`XPathError::Duplicate`] or
    /// [`XPathError::Limit`].
    pub fn value(&mut self, expression: &Expression, node: TreeNode) -> Result<Value, XPathError> {
        self.evaluator(expression).value(
            &expression.root,
            Context {
                node,
                position: 1,
                size: 1,
            },
        )
    }

    /// The nodes that an expression selects, with the root node as context node.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value); [`XPathError::NotANodeSet`] also if the expression has another
    /// type.
    pub fn select(&mut self, expression: &Expression) -> Result<NodeSet, XPathError> {
        let Value::Nodes(nodes) = self.value(expression, TreeNode::ROOT)? else {
            return Err(XPathError::NotANodeSet);
        };
        let mut set = NodeSet::empty(self.tree.len());
        nodes.iter().for_each(|node| set.insert(*node));
        Ok(set)
    }

    /// The nodes of `input` for which the expression is true: the XPath transform (XML-Signature
    /// section 6.6.3). The expression is evaluated once for each of them, with itself as
    /// context node, at position 1 of 1.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value).
    pub fn filter(
        &mut self,
        expression: &Expression,
        input: &NodeSet,
    ) -> Result<NodeSet, XPathError> {
        let mut kept = NodeSet::empty(self.tree.len());
        let mut evaluator = self.evaluator(expression);
        for node in input.iter() {
            if evaluator.boolean(
                &expression.root,
                Context {
                    node,
                    position: 1,
                    size: 1,
                },
            )? {
                kept.insert(node);
            }
        }
        Ok(kept)
    }

    fn evaluator<'a>(&'a mut self, expression: &Expression) -> Evaluator<'a, 'd> {
        Evaluator {
            tree: self.tree,
            here: self.here,
            operations: &mut self.operations,
            constants: vec![None; expression.constants],
        }
    }

    pub(super) fn tree(&self) -> &'e Tree<'d> {
        self.tree
    }
}
