//! Numbers as people read them, and the units of quantities.
//!
//! The rule kept here: a number is shown with three digits or more, and never in another unit than
//! the one beside it.

use crate::study::{Finding, Quantity, Shows};

/// A unit: what values are divided by, and how it is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    /// What a value of a line is divided by.
    pub(super) divisor: f64,
    /// `ms`.
    pub(super) name: &'static str,
    /// What it counts comes in whole numbers.
    pub(super) whole: bool,
}

const PERCENT: Unit = Unit::new(1.0, "%");
const TIMES: Unit = Unit::new(1.0, "×");
const MESSAGES: Unit = Unit {
    whole: true,
    ..Unit::new(1.0, "messages")
};

const CHARACTERS: Unit = Unit {
    whole: true,
    ..Unit::new(1.0, "characters")
};

impl Unit {
    const fn new(divisor: f64, name: &'static str) -> Self {
        Self {
            divisor,
            name,
            whole: false,
        }
    }

    /// The unit for values of what a figure shows, none of which is above `most`.
    pub(super) fn of(shows: &Shows, most: f64) -> Self {
        match shows {
            Shows::Itself(quantity, _)
            | Shows::Parts { of: quantity, .. }
            | Shows::Added { of: quantity, .. } => Self::of_quantity(*quantity, most),
            Shows::Factor { .. } => TIMES,
            Shows::Drawn { finding, .. } => match finding {
                Finding::Crossovers {
                    of: Quantity::Total,
                }
                | Finding::Convergence { .. }
                | Finding::FirstBelowMean => MESSAGES,
                Finding::Crossovers { .. } | Finding::Least { .. } => CHARACTERS,
                Finding::Remainder { .. } => Self::of_quantity(Quantity::Time, most),
                Finding::Increase | Finding::Change { .. } | Finding::Even { .. } => PERCENT,
                Finding::Rates if most >= 500.0 => Self::new(1e3, "ms/kB"),
                Finding::Rates => Self::new(1.0, "µs/kB"),
                Finding::Spread => Self::of_quantity(Quantity::Later, most),
            },
            _ => PERCENT,
        }
    }

    /// The unit for values of a quantity, none of which is above `most`.
    pub(super) fn of_quantity(quantity: Quantity, most: f64) -> Self {
        let unit = Self::new;
        match quantity {
            Quantity::Time
            | Quantity::First
            | Quantity::Later
            | Quantity::Newcomer
            | Quantity::Total
            | Quantity::Exchange
            | Quantity::Opened
            | Quantity::Processor
            | Quantity::Tail
            | Quantity::Ended
            | Quantity::Floor
            | Quantity::FloorTogether => {
                if most >= 5e6 {
                    unit(1e6, "s")
                } else if most >= 500.0 {
                    unit(1e3, "ms")
                } else {
                    unit(1.0, "µs")
                }
            }
            Quantity::Rate => unit(1.0, "calls/s"),
            Quantity::Lost | Quantity::Below => unit(1.0, "calls"),
            Quantity::Violations | Quantity::Unrecorded => unit(1.0, "violations"),
            Quantity::Met => PERCENT,
            _ => {
                if most >= 2e6 {
                    unit(1e6, "MB")
                } else if most >= 2e4 {
                    unit(1e3, "kB")
                } else {
                    unit(1.0, "bytes")
                }
            }
        }
    }

    /// `12.3 ms`.
    pub(super) fn with(&self, value: f64) -> String {
        format!("{} {}", self.bare(value), self.name)
    }

    /// `12.3`, without the unit.
    pub(super) fn bare(&self, value: f64) -> String {
        let value = value / self.divisor;
        if self.whole {
            tick(value)
        } else {
            number(value)
        }
    }

    /// `12.3 ms`, or `12.3 to 15 ms`.
    pub(super) fn range(&self, [least, most]: [f64; 2]) -> String {
        let (least, most) = (self.bare(least), self.bare(most));
        if least == most {
            format!("{least} {}", self.name)
        } else {
            format!("{least} to {most} {}", self.name)
        }
    }
}

/// With three significant digits at least, and thousands set apart.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        let text = match value {
            f64::INFINITY => "∞",
            f64::NEG_INFINITY => "−∞",
            _ => "–",
        };
        return text.to_owned();
    }
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 || size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.09995 => 3,
        _ if size >= 0.009_995 => 4,
        _ => 5,
    };
    let plain = format!("{size:.decimals$}");
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut text = String::new();
    if value < 0.0 && plain.contains(|digit: char| digit.is_ascii_digit() && digit != '0') {
        text.push('−');
    }
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// A number along an axis: as short as it can be.
pub(super) fn tick(value: f64) -> String {
    let text = number(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_at_least_and_thousands_set_apart() {
        let told = [
            1_234_567.4,
            999.96,
            123.4,
            99.97,
            12.345,
            9.996,
            1.0,
            0.5,
            0.012_34,
            0.001_23,
            0.0,
            -5.5,
            -0.000_000_1,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ]
        .map(number);
        assert_eq!(
            told,
            [
                "1,234,567",
                "1,000",
                "123",
                "100",
                "12.3",
                "10.0",
                "1.00",
                "0.500",
                "0.0123",
                "0.00123",
                "0",
                "−5.50",
                "0.00000",
                "–",
                "∞",
                "−∞"
            ]
        );
        assert_eq!(
            [0.5, 20.0, 2_500.0, 1.25].map(tick),
            ["0.5", "20", "2,500", "1.25"]
        );
    }

    #[test]
    fn times_are_told_in_the_unit_of_the_largest() {
        let unit = |most| Unit::of_quantity(Quantity::Time, most).name;
        assert_eq!([80.0, 700.0, 9e6].map(unit), ["µs", "ms", "s"]);
        let unit = Unit::of_quantity(Quantity::Time, 700.0);
        assert_eq!(
            (unit.with(12_345.0), unit.range([1e3, 1e3])),
            ("12.3 ms".to_owned(), "1.00 ms".to_owned())
        );
    }
}
