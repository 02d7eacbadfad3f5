//! The four types of XPath 1.0 and how they turn into each other (sections 3.4, 3.5 and 4.2 to
//! 4.4).
//!
//! The one rule kept here: conversions follow the specification to the digit; a signature depends
//! on them.

use std::rc::Rc;

use super::lexer::{Operator, is_space};
use crate::nodes::TreeNode;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nodes in document order, each once.
    Nodes(Rc<Vec<TreeNode>>),
    /// A boolean.
    Boolean(bool),
    /// A number: IEEE 754 double, all its special values included.
    Number(f64),
    /// A string.
    String(Rc<str>),
}

impl Value {
    pub(super) fn nodes(nodes: Vec<TreeNode>) -> Value {
        Value::Nodes(Rc::new(nodes))
    }

    pub(super) fn string(string: impl Into<Rc<str>>) -> Value {
        Value::String(string.into())
    }

    /// `boolean()` (section 4.3): of a node-set whether there is a node, of a string whether there
    /// is a character.
    pub fn to_boolean(&self) -> bool {
        match self {
            Value::Nodes(nodes) => !nodes.is_empty(),
            Value::Boolean(boolean) => *boolean,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::String(string) => !string.is_empty(),
        }
    }
}

/// `number()` of a string (section 4.4): an optional sign, digits and a point, white space around;
/// anything else is no number.
pub(super) fn to_number(string: &str) -> f64 {
    let trimmed = string.trim_matches(is_space);
    let unsigned = trimmed.strip_prefix('-').unwrap_or(trimmed);
    let plain = unsigned
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && unsigned.bytes().any(|byte| byte.is_ascii_digit());
    if plain {
        trimmed.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// `string()` of a number (section 4.2): no exponent, no more digits than tell it from its
/// neighbours, no negative zero.
pub(super) fn from_number(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned()
    } else if number == 0.0 {
        "0".to_owned()
    } else {
        number.to_string()
    }
}

/// `round()` (section 4.4): to the nearest integer, halves towards positive infinity, the sign of
/// zero kept.
pub(super) fn round(number: f64) -> f64 {
    let floor = number.floor();
    if number.fract() == 0.0 || !number.is_finite() {
        number
    } else if number - floor >= 0.5 {
        (floor + 1.0).copysign(number)
    } else {
        floor
    }
}

/// `left operator right` for two numbers; the operator is arithmetic or a comparison.
pub(super) fn compare_numbers(operator: Operator, left: f64, right: f64) -> bool {
    match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Less => left < right,
        Operator::LessOrEqual => left <= right,
        Operator::Greater => left > right,
        Operator::GreaterOrEqual => left >= right,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_exponent_and_as_short_as_they_can_be() {
        for (number, written) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e21, "1000000000000000000000"),
            (1e-7, "0.0000001"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(from_number(number), written);
        }
    }

    #[test]
    fn only_the_grammar_of_numbers_makes_a_number() {
        for (string, number) in [
            ("12", 12.0),
            (" \n-1.5\t", -1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("-.5", -0.5),
        ] {
            assert_eq!(to_number(string), number, "{string:?}");
        }
        for string in [
            "", " ", "+1", "1e3", "0x1", "--1", "- 1", "1 2", "1.2.3", ".", "-", "inf", "NaN",
            "\u{a0}1",
        ] {
            assert!(to_number(string).is_nan(), "{string:?}");
        }
    }

    #[test]
    fn halves_round_towards_positive_infinity_and_zero_keeps_its_sign() {
        for (number, rounded) in [
            (2.5, 3.0),
            (-2.5, -2.0),
            (1.4, 1.0),
            (-1.6, -2.0),
            (0.49999999999999994, 0.0),
        ] {
            assert_eq!(round(number), rounded, "{number}");
        }
        assert!(round(-0.2).is_sign_negative() && round(-0.2) == 0.0);
        assert!(round(f64::NAN).is_nan());
        assert_eq!(round(f64::NEG_INFINITY), f64::NEG_INFINITY);
    }
}
