//! A number as a paper prints it, and what its digits leave open.
//!
//! The rule kept here: a number with so many digits says no more than half of its last digit.

/// A number, or a range of numbers, with the digits of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// As it is printed.
    pub text: &'static str,
    /// What stands before the number.
    pub bound: Bound,
    /// The number; of a range, its lower end.
    pub least: f64,
    /// The number; of a range, its upper end.
    pub most: f64,
    /// Half of the last digit of either end.
    pub halves: [f64; 2],
}

/// How a number is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The number itself.
    Exactly,
    /// Roughly the number.
    About,
    /// No more than the number.
    Most,
    /// No less than the number.
    Least,
}

/// Words before a number.
const WORDS: [(&str, Bound); 7] = [
    ("about ", Bound::About),
    ("almost ", Bound::About),
    ("up to ", Bound::Most),
    ("below ", Bound::Most),
    ("at least ", Bound::Least),
    ("more than ", Bound::Least),
    ("over ", Bound::Least),
];

impl Printed {
    /// Reads `1,109`, `10 to 15`, `about 7`, `up to 28`; `None`, if it is no such number.
    pub fn read(text: &'static str) -> Option<Self> {
        let word = WORDS.iter().find(|it| text.starts_with(it.0));
        let (bound, rest) = word.map_or((Bound::Exactly, text), |it| (it.1, &text[it.0.len()..]));
        let (least, most) = rest.split_once(" to ").unwrap_or((rest, rest));
        let ((least, half), (most, half_of_most)) = (number(least)?, number(most)?);
        Some(Self {
            text,
            bound,
            least,
            most,
            halves: [half, half_of_most],
        })
    }

    /// From where to where the number may lie that was rounded to this one.
    pub fn range(&self) -> [f64; 2] {
        let (least, most) = (self.least - self.halves[0], self.most + self.halves[1]);
        match self.bound {
            Bound::Exactly | Bound::About => [least, most],
            Bound::Most => [f64::NEG_INFINITY, most],
            Bound::Least => [least, f64::INFINITY],
        }
    }

    /// Whether this value is printed so.
    pub fn is(&self, value: f64) -> bool {
        let [least, most] = self.range();
        // A value in the middle between two digits is printed as either.
        let slack = value.abs() * 1e-12;
        least - slack <= value && value <= most + slack
    }
}

/// A number with commas between thousands, and half of its last digit.
fn number(text: &str) -> Option<(f64, f64)> {
    let digits = text.replace(',', "");
    let value = digits.parse().ok().filter(|it: &f64| it.is_finite())?;
    let exponent = digits
        .split_once('e')
        .map_or(0, |it| it.1.parse().unwrap_or(0));
    let mantissa = digits.split('e').next().unwrap_or_default();
    let decimals = mantissa.split_once('.').map_or(0, |it| it.1.len());
    Some((value, 0.5 * 10_f64.powi(exponent - decimals as i32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_half_of_their_last_digit() {
        let read = |text| Printed::read(text).map(|it| (it.least, it.most, it.halves));
        assert_eq!(read("1,109"), Some((1_109.0, 1_109.0, [0.5, 0.5])));
        assert_eq!(read("0.2"), Some((0.2, 0.2, [0.05, 0.05])));
        assert_eq!(read("10 to 15.5"), Some((10.0, 15.5, [0.5, 0.05])));
        assert_eq!(read("1e-9"), Some((1e-9, 1e-9, [0.5e-9, 0.5e-9])));
        assert_eq!(read(""), None);
        assert_eq!(read("-"), None);
    }

    #[test]
    fn a_bound_leaves_one_side_open() {
        let range = |text| Printed::read(text).map(|it| it.range());
        assert_eq!(range("up to 28"), Some([f64::NEG_INFINITY, 28.5]));
        assert_eq!(range("at least 0.88"), Some([0.875, f64::INFINITY]));
        assert_eq!(range("about 7"), Some([6.5, 7.5]));
    }

    #[test]
    fn a_value_is_printed_so_within_half_of_the_last_digit() {
        let percent = Printed::read("908.64").expect("a number");
        assert!(percent.is(908.640_016) && percent.is(908.644_9));
        assert!(!percent.is(908.645_1) && !percent.is(908.63));
    }
}
