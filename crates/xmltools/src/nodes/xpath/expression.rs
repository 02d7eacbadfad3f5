//! Parsed expressions, and which parts of them need to be evaluated only once.
//!
//! The one rule kept here: a [`Expr::Constant`] has the same value for every context of one
//! evaluation.

use super::lexer::Operator;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    /// Operands of equal precedence from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// Unary minus: `odd` tells whether the sign changes.
    Negate {
        odd: bool,
        operand: Box<Expr>,
    },
    Union(Vec<Expr>),
    /// A location path; from the root node if it is `absolute`.
    Path {
        absolute: bool,
        steps: Vec<Step>,
    },
    /// An expression filtered by predicates (in document order), then continued by steps.
    Filter {
        primary: Box<Expr>,
        predicates: Vec<Expr>,
        steps: Vec<Step>,
    },
    Literal(String),
    Number(f64),
    Call(Function, Vec<Expr>),
    /// An expression that has one value per document, kept in this slot once it is known.
    Constant(usize, Box<Expr>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Step {
    pub(super) axis: Axis,
    pub(super) test: NodeTest,
    pub(super) predicates: Vec<Expr>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    ItSelf,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum NodeTest {
    /// `node()`
    Any,
    Text,
    Comment,
    Instruction(Option<String>),
    /// `*`: the principal node type of the axis.
    Principal,
    /// `prefix:*`
    Namespace(String),
    Name {
        namespace: String,
        local: String,
    },
}

/// The core function library (XPath 1.0 section 4) and `here()` (XML-Signature section 6.6.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
    Here,
}

/// Wraps what does not depend on the context node, so that a filter evaluates it once and not once
/// per node.
pub(super) fn keep_constants(expression: &mut Expr, slots: &mut usize) {
    for_each_operand(expression, &mut |operand| keep_constants(operand, slots));
    let worthwhile = matches!(
        expression,
        Expr::Path { .. } | Expr::Filter { .. } | Expr::Union(_) | Expr::Call(..)
    );
    if worthwhile && is_constant(expression) {
        let inner = std::mem::replace(expression, Expr::Number(0.0));
        *expression = Expr::Constant(*slots, Box::new(inner));
        *slots += 1;
    }
}

fn for_each_operand(expression: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match expression {
        Expr::Or(operands)
        | Expr::And(operands)
        | Expr::Union(operands)
        | Expr::Call(_, operands) => {
            operands.iter_mut().for_each(visit);
        }
        Expr::Chain(first, rest) => {
            visit(first);
            rest.iter_mut().for_each(|(_, operand)| visit(operand));
        }
        Expr::Negate { operand, .. } | Expr::Constant(_, operand) => visit(operand),
        Expr::Path { steps, .. } => steps
            .iter_mut()
            .flat_map(|step| &mut step.predicates)
            .for_each(visit),
        Expr::Filter {
            primary,
            predicates,
            steps,
        } => {
            visit(primary);
            predicates.iter_mut().for_each(&mut *visit);
            steps
                .iter_mut()
                .flat_map(|step| &mut step.predicates)
                .for_each(visit);
        }
        Expr::Literal(_) | Expr::Number(_) => {}
    }
}

/// Predicates are evaluated for nodes of their own path: what is in them cannot make it depend on
/// the outer context. Operands have been visited before, so that constant ones are wrapped.
fn is_constant(expression: &Expr) -> bool {
    let all = |operands: &[Expr]| operands.iter().all(is_constant);
    match expression {
        Expr::Literal(_) | Expr::Number(_) | Expr::Constant(..) => true,
        Expr::Path { absolute, .. } => *absolute,
        Expr::Filter { primary, .. } => is_constant(primary),
        Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => all(operands),
        Expr::Chain(first, rest) => {
            is_constant(first) && rest.iter().all(|(_, operand)| is_constant(operand))
        }
        Expr::Negate { operand, .. } => is_constant(operand),
        Expr::Call(function, arguments) => match function {
            Function::Last | Function::Position | Function::Lang => false,
            Function::True | Function::False | Function::Here => true,
            _ => !arguments.is_empty() && all(arguments),
        },
    }
}
