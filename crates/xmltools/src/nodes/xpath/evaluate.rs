//! Evaluates expressions over a tree.
//!
//! A step takes its context nodes in document order and returns nodes in document order, each once;
//! in between, positions count in axis order. What is only asked whether it selects anything stops
//! at the first node.
//!
//! The one rule kept here: every node visited and every byte of a string built is charged, so that
//! the work of one evaluation is bounded whatever the expression.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;

use super::axes;
use super::error::XPathError;
use super::expression::{Expr, Step};
use super::lexer::Operator;
use super::value::{Value, compare_numbers, from_number, to_number};
use crate::nodes::{Tree, TreeNode};

/// Where an expression is evaluated (XPath 1.0 section 1).
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) node: TreeNode,
    pub(super) position: usize,
    pub(super) size: usize,
}

/// What may still be done.
#[derive(Debug)]
pub(super) struct Operations {
    left: u64,
    maximum: u64,
}

impl Operations {
    pub(super) fn new(maximum: u64) -> Operations {
        Operations {
            left: maximum,
            maximum,
        }
    }

    /// Charges nodes visited or bytes built.
    fn charge(&mut self, operations: usize) -> Result<(), XPathError> {
        let left = self.left.checked_sub(operations as u64);
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(XPathError::Limit {
            limit: "operations",
            maximum: self.maximum,
        })
    }
}

/// The evaluation of one expression, for one context node or for many after each other.
pub(super) struct Evaluator<'e, 't> {
    pub(super) tree: &'e Tree<'t>,
    pub(super) here: Option<TreeNode>,
    pub(super) operations: &'e mut Operations,
    /// Values of the constants that are known.
    pub(super) constants: Vec<Option<Value>>,
}

impl<'e> Evaluator<'e, '_> {
    pub(super) fn value(
        &mut self,
        expression: &Expr,
        context: Context,
    ) -> Result<Value, XPathError> {
        self.charge(1)?;
        Ok(match expression {
            Expr::Or(_) | Expr::And(_) => Value::Boolean(self.boolean(expression, context)?),
            Expr::Chain(first, rest) => {
                let mut left = self.value(first, context)?;
                for (operator, operand) in rest {
                    let right = self.value(operand, context)?;
                    left = self.operate(*operator, &left, &right)?;
                }
                left
            }
            Expr::Negate { odd, operand } => {
                let number = self.number(operand, context)?;
                Value::Number(if *odd { -number } else { number })
            }
            Expr::Union(operands) => {
                let mut all = Vec::new();
                for operand in operands {
                    let nodes = self.nodes(operand, context)?;
                    self.charge(nodes.len())?;
                    all.extend_from_slice(&nodes);
                }
                in_document_order(&mut all);
                Value::nodes(all)
            }
            Expr::Path { absolute, steps } => {
                let start = if *absolute {
                    TreeNode::ROOT
                } else {
                    context.node
                };
                Value::nodes(self.steps(vec![start], steps)?)
            }
            Expr::Filter {
                primary,
                predicates,
                steps,
            } => {
                let nodes = self.nodes(primary, context)?;
                let filtered = self.filter(nodes.to_vec(), predicates)?;
                Value::nodes(self.steps(filtered, steps)?)
            }
            Expr::Literal(literal) => Value::string(literal.as_str()),
            Expr::Number(number) => Value::Number(*number),
            Expr::Call(function, arguments) => self.call(*function, arguments, context)?,
            Expr::Constant(slot, inner) => match &self.constants[*slot] {
                Some(known) => known.clone(),
                None => {
                    let value = self.value(inner, context)?;
                    self.constants[*slot] = Some(value.clone());
                    value
                }
            },
        })
    }

    /// The value as a boolean. A location path stops at the first node that it selects.
    pub(super) fn boolean(
        &mut self,
        expression: &Expr,
        context: Context,
    ) -> Result<bool, XPathError> {
        match expression {
            Expr::Or(operands) => {
                for operand in operands {
                    if self.boolean(operand, context)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::And(operands) => {
                for operand in operands {
                    if !self.boolean(operand, context)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Path { absolute, steps } => {
                let start = if *absolute {
                    TreeNode::ROOT
                } else {
                    context.node
                };
                match steps.split_last() {
                    Some((last, before)) if last.predicates.is_empty() => {
                        let nodes = self.steps(vec![start], before)?;
                        self.selects(&nodes, last)
                    }
                    _ => Ok(!self.steps(vec![start], steps)?.is_empty()),
                }
            }
            _ => Ok(self.value(expression, context)?.to_boolean()),
        }
    }

    pub(super) fn nodes(
        &mut self,
        expression: &Expr,
        context: Context,
    ) -> Result<Rc<Vec<TreeNode>>, XPathError> {
        match self.value(expression, context)? {
            Value::Nodes(nodes) => Ok(nodes),
            _ => Err(XPathError::NotANodeSet),
        }
    }

    pub(super) fn number(
        &mut self,
        expression: &Expr,
        context: Context,
    ) -> Result<f64, XPathError> {
        let value = self.value(expression, context)?;
        self.number_of(&value)
    }

    pub(super) fn string(
        &mut self,
        expression: &Expr,
        context: Context,
    ) -> Result<Rc<str>, XPathError> {
        let value = self.value(expression, context)?;
        self.string_of(&value)
    }

    pub(super) fn number_of(&mut self, value: &Value) -> Result<f64, XPathError> {
        Ok(match value {
            Value::Number(number) => *number,
            Value::Boolean(boolean) => f64::from(u8::from(*boolean)),
            Value::String(string) => to_number(string),
            Value::Nodes(_) => to_number(&self.string_of(value)?),
        })
    }

    pub(super) fn string_of(&mut self, value: &Value) -> Result<Rc<str>, XPathError> {
        Ok(match value {
            Value::String(string) => string.clone(),
            Value::Number(number) => Rc::from(from_number(*number)),
            Value::Boolean(boolean) => Rc::from(if *boolean { "true" } else { "false" }),
            Value::Nodes(nodes) => match nodes.first() {
                Some(first) => Rc::from(&*self.string_value(*first)?),
                None => Rc::from(""),
            },
        })
    }

    /// The string-value of a node, charged by its length and by the nodes it is gathered from.
    pub(super) fn string_value(&mut self, node: TreeNode) -> Result<Cow<'e, str>, XPathError> {
        self.charge(self.tree.end(node).index() - node.index())?;
        let value = self.tree.string_value(node);
        self.operations.charge(value.len())?;
        Ok(value)
    }

    pub(super) fn charge(&mut self, operations: usize) -> Result<(), XPathError> {
        self.operations.charge(operations)
    }

    /// Takes the steps one after another.
    fn steps(
        &mut self,
        mut nodes: Vec<TreeNode>,
        steps: &[Step],
    ) -> Result<Vec<TreeNode>, XPathError> {
        for step in steps {
            nodes = self.step(nodes, step)?;
        }
        Ok(nodes)
    }

    fn step(&mut self, nodes: Vec<TreeNode>, step: &Step) -> Result<Vec<TreeNode>, XPathError> {
        let context = if step.predicates.is_empty() {
            axes::needed(self.tree, step.axis, &nodes)
        } else {
            nodes
        };
        let mut selected = Vec::new();
        for node in context {
            let from = selected.len();
            let (tree, operations) = (self.tree, &mut *self.operations);
            axes::walk(tree, step.axis, node, &mut |node| {
                operations.charge(1)?;
                if axes::passes(tree, step, node) {
                    selected.push(node);
                }
                Ok(true)
            })?;
            if !step.predicates.is_empty() {
                let filtered = self.filter(selected.split_off(from), &step.predicates)?;
                selected.extend(filtered);
            }
        }
        in_document_order(&mut selected);
        Ok(selected)
    }

    /// Whether a step without predicates selects anything.
    fn selects(&mut self, nodes: &[TreeNode], step: &Step) -> Result<bool, XPathError> {
        let (tree, operations) = (self.tree, &mut *self.operations);
        let mut found = false;
        for node in axes::needed(tree, step.axis, nodes) {
            axes::walk(tree, step.axis, node, &mut |node| {
                operations.charge(1)?;
                found = axes::passes(tree, step, node);
                Ok(!found)
            })?;
            if found {
                break;
            }
        }
        Ok(found)
    }

    /// Applies predicates to nodes that stand in the order in which their positions count.
    fn filter(
        &mut self,
        mut nodes: Vec<TreeNode>,
        predicates: &[Expr],
    ) -> Result<Vec<TreeNode>, XPathError> {
        for predicate in predicates {
            let size = nodes.len();
            let mut kept = Vec::with_capacity(size);
            for (index, node) in nodes.into_iter().enumerate() {
                let position = index + 1;
                let context = Context {
                    node,
                    position,
                    size,
                };
                let keep = match predicate {
                    Expr::Or(_) | Expr::And(_) | Expr::Path { .. } => {
                        self.boolean(predicate, context)?
                    }
                    _ => match self.value(predicate, context)? {
                        Value::Number(number) => number == position as f64,
                        value => value.to_boolean(),
                    },
                };
                if keep {
                    kept.push(node);
                }
            }
            nodes = kept;
        }
        Ok(nodes)
    }

    fn operate(
        &mut self,
        operator: Operator,
        left: &Value,
        right: &Value,
    ) -> Result<Value, XPathError> {
        let arithmetic: fn(f64, f64) -> f64 = match operator {
            Operator::Plus => |left, right| left + right,
            Operator::Minus => |left, right| left - right,
            Operator::Multiply => |left, right| left * right,
            Operator::Divide => |left, right| left / right,
            // Truncating, like `%` of Java and ECMAScript (section 3.5), and of Rust.
            Operator::Modulo => |left, right| left % right,
            _ => return Ok(Value::Boolean(self.compare(operator, left, right)?)),
        };
        Ok(Value::Number(arithmetic(
            self.number_of(left)?,
            self.number_of(right)?,
        )))
    }

    /// Comparisons (section 3.4).
    fn compare(
        &mut self,
        operator: Operator,
        left: &Value,
        right: &Value,
    ) -> Result<bool, XPathError> {
        let equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        match (left, right) {
            (Value::Nodes(left), Value::Nodes(right)) if equality => {
                self.node_sets_equal(left, right, operator == Operator::NotEqual)
            }
            (Value::Nodes(left), Value::Nodes(right)) => {
                // Some pair is in order if the extremes are.
                let (least_left, most_left) = self.extremes(left)?;
                let (least_right, most_right) = self.extremes(right)?;
                Ok(match operator {
                    Operator::Less | Operator::LessOrEqual => {
                        compare_numbers(operator, least_left, most_right)
                    }
                    _ => compare_numbers(operator, most_left, least_right),
                })
            }
            (Value::Nodes(_), Value::Boolean(_)) | (Value::Boolean(_), Value::Nodes(_)) => self
                .compare(
                    operator,
                    &Value::Boolean(left.to_boolean()),
                    &Value::Boolean(right.to_boolean()),
                ),
            (Value::Nodes(nodes), other) => self.any_node(nodes, |evaluator, node| {
                let string = Value::string(&*evaluator.string_value(node)?);
                evaluator.compare(operator, &string, other)
            }),
            (other, Value::Nodes(nodes)) => self.any_node(nodes, |evaluator, node| {
                let string = Value::string(&*evaluator.string_value(node)?);
                evaluator.compare(operator, other, &string)
            }),
            (Value::Boolean(_), _) | (_, Value::Boolean(_)) if equality => {
                Ok((left.to_boolean() == right.to_boolean()) == (operator == Operator::Equal))
            }
            (Value::String(left), Value::String(right)) if equality => {
                Ok((left == right) == (operator == Operator::Equal))
            }
            _ => Ok(compare_numbers(
                operator,
                self.number_of(left)?,
                self.number_of(right)?,
            )),
        }
    }

    fn any_node(
        &mut self,
        nodes: &[TreeNode],
        test: impl Fn(&mut Self, TreeNode) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        for node in nodes {
            if test(self, *node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether some node of one and some node of the other have equal (or `different`)
    /// string-values.
    fn node_sets_equal(
        &mut self,
        left: &[TreeNode],
        right: &[TreeNode],
        different: bool,
    ) -> Result<bool, XPathError> {
        if left.is_empty() || right.is_empty() {
            return Ok(false);
        }
        let mut known = HashSet::new();
        for node in left {
            known.insert(self.string_value(*node)?.into_owned());
        }
        for node in right {
            let value = self.string_value(*node)?;
            let equal = known.contains(&*value);
            if if different {
                !equal || known.len() > 1
            } else {
                equal
            } {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The least and the most number of the string-values; not-a-number if none is a number.
    fn extremes(&mut self, nodes: &[TreeNode]) -> Result<(f64, f64), XPathError> {
        let mut extremes = (f64::NAN, f64::NAN);
        for node in nodes {
            let number = to_number(&self.string_value(*node)?);
            extremes = (extremes.0.min(number), extremes.1.max(number));
        }
        Ok(extremes)
    }
}

fn in_document_order(nodes: &mut Vec<TreeNode>) {
    if !nodes.is_sorted() {
        nodes.sort_unstable();
    }
    nodes.dedup();
}
