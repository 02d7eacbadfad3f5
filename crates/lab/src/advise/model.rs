//! What an operation costs: a fixed part, one per byte and one per element.
//!
//! No part of a cost is below zero, and so the fit is one of the best with non-negative parts: of
//! the seven choices of parts that may be above zero, the best that is feasible. Errors are
//! relative, as messages of 10 MB must not outvote those of 1 kB: shares of the cost, or of a whole
//! that it is a part of. The rule kept here: how good a fit is, is said by measurements that it has
//! not seen.

/// One operation that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Bytes of the plain message.
    pub bytes: f64,
    /// Its elements.
    pub elements: f64,
    /// What it took: microseconds, or bytes.
    pub cost: f64,
    /// What errors are a share of: the cost itself, or a whole of which it is a part.
    pub whole: f64,
}

/// Parts of a cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Whatever the message is.
    pub fixed: f64,
    /// For each byte of the plain message.
    pub per_byte: f64,
    /// For each element.
    pub per_element: f64,
}

/// A cost, and how far predictions are off.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The cost.
    pub cost: Cost,
    /// For each observation, how far off the prediction is of a fit without it, as a share of its
    /// whole.
    pub held_back: Vec<f64>,
}

impl Cost {
    /// Of a message.
    pub fn of(&self, bytes: f64, elements: f64) -> f64 {
        self.fixed + self.per_byte * bytes + self.per_element * elements
    }

    /// The best for these observations; `None`, if there are none.
    fn fitted(observations: &[Observation]) -> Option<Self> {
        let rows: Vec<[f64; 3]> = observations
            .iter()
            .map(|it| [1.0, it.bytes, it.elements].map(|part| part / it.whole))
            .collect();
        let costs: Vec<f64> = observations.iter().map(|it| it.cost / it.whole).collect();
        let mut best: Option<(f64, [f64; 3])> = None;
        for parts in CHOICES {
            let chosen: Vec<usize> = (0..3).filter(|part| parts & (1 << part) != 0).collect();
            let Some(solved) = least_squares(&rows, &costs, &chosen) else {
                continue;
            };
            if solved.iter().any(|part| *part < 0.0) {
                continue;
            }
            let errors = rows.iter().zip(&costs).map(|(row, cost)| {
                let predicted: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
                (predicted - cost).powi(2)
            });
            let error: f64 = errors.sum();
            if best.is_none_or(|(least, _)| error < least - 1e-9) {
                best = Some((error, solved));
            }
        }
        best.map(|(_, [fixed, per_byte, per_element])| Self {
            fixed,
            per_byte,
            per_element,
        })
    }
}

/// Which parts may be above zero: the first bit is the fixed one's. What explains as much with a
/// fixed part comes first, so that elements explain nothing where all messages had as many.
const CHOICES: [usize; 7] = [1, 3, 5, 7, 2, 6, 4];

impl Fit {
    /// Of these observations; `None` for fewer than two, or for one whose whole is nothing.
    pub fn of(observations: &[Observation]) -> Option<Self> {
        let all_cost = observations
            .iter()
            .all(|it| it.whole > 0.0 && it.whole.is_finite() && it.cost.is_finite());
        if observations.len() < 2 || !all_cost {
            return None;
        }
        let held_back = (0..observations.len()).filter_map(|place| {
            let mut others = observations.to_vec();
            let one = others.remove(place);
            let predicted = Cost::fitted(&others)?.of(one.bytes, one.elements);
            Some((predicted - one.cost).abs() / one.whole)
        });
        Some(Self {
            held_back: held_back.collect(),
            cost: Cost::fitted(observations)?,
        })
    }

    /// How far off predictions are, as a share: the root of the mean square of those held back.
    pub fn error(&self) -> f64 {
        let squares: f64 = self.held_back.iter().map(|it| it * it).sum();
        (squares / self.held_back.len().max(1) as f64).sqrt()
    }
}

/// The parts, of which only those chosen may differ from 0, whose products with the rows come
/// nearest to the costs; `None`, if the rows do not tell them apart.
fn least_squares(rows: &[[f64; 3]], costs: &[f64], chosen: &[usize]) -> Option<[f64; 3]> {
    let n = chosen.len();
    // Columns differ by many orders of magnitude: each is scaled to a length of 1.
    let lengths: Vec<f64> = chosen
        .iter()
        .map(|part| {
            rows.iter()
                .map(|row| row[*part].powi(2))
                .sum::<f64>()
                .sqrt()
        })
        .collect();
    if lengths.iter().any(|it| *it <= 0.0 || !it.is_finite()) {
        return None;
    }
    let mut equations = vec![[0.0; 4]; n];
    for (row, cost) in rows.iter().zip(costs) {
        for (i, equation) in equations.iter_mut().enumerate() {
            let scaled = row[chosen[i]] / lengths[i];
            for (j, part) in chosen.iter().enumerate() {
                equation[j] += scaled * row[*part] / lengths[j];
            }
            equation[3] += scaled * cost;
        }
    }
    // Gauß and Jordan, with the largest pivot.
    for column in 0..n {
        let pivot = (column..n).max_by(|one, other| {
            f64::total_cmp(
                &equations[*one][column].abs(),
                &equations[*other][column].abs(),
            )
        })?;
        equations.swap(column, pivot);
        let head = equations[column];
        if head[column].abs() < 1e-9 {
            return None;
        }
        for (place, equation) in equations.iter_mut().enumerate() {
            if place != column {
                let factor = equation[column] / head[column];
                for (value, of_head) in equation.iter_mut().zip(head) {
                    *value -= factor * of_head;
                }
            }
        }
    }
    let mut solved = [0.0; 3];
    for (i, part) in chosen.iter().enumerate() {
        solved[*part] = equations[i][3] / equations[i][i] / lengths[i];
    }
    Some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [(f64, f64); 8] = [
        (300.0, 4.0),
        (1_300.0, 4.0),
        (100_300.0, 4.0),
        (1_000_300.0, 4.0),
        (700.0, 15.0),
        (25_000.0, 1_203.0),
        (600_000.0, 30_003.0),
        (1_000_000.0, 48_003.0),
    ];

    fn observed(cost: impl Fn(f64, f64) -> f64) -> Vec<Observation> {
        let one = |(bytes, elements)| Observation {
            bytes,
            elements,
            cost: cost(bytes, elements),
            whole: cost(bytes, elements),
        };
        SIZES.map(one).to_vec()
    }

    #[test]
    fn parts_that_made_the_costs_are_found_again() {
        let made = Cost {
            fixed: 900.0,
            per_byte: 0.002,
            per_element: 0.05,
        };
        let fit = Fit::of(&observed(|bytes, elements| made.of(bytes, elements))).expect("a fit");
        assert!((fit.cost.fixed - 900.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.cost.per_byte - 0.002).abs() < 1e-12, "{fit:?}");
        assert!((fit.cost.per_element - 0.05).abs() < 1e-9, "{fit:?}");
        assert!(fit.error() < 1e-9, "{fit:?}");
    }

    #[test]
    fn no_part_is_below_zero_even_where_that_would_fit_better() {
        let fit = Fit::of(&observed(|bytes, elements| {
            50.0 + 0.01 * bytes - 0.02 * elements
        }))
        .expect("a fit");
        assert!(
            fit.cost.per_element >= 0.0 && fit.cost.per_byte > 0.0 && fit.cost.fixed > 0.0,
            "{fit:?}"
        );
    }

    #[test]
    fn elements_explain_nothing_where_all_messages_had_as_many() {
        let mut observations = observed(|bytes, _| 400.0 + 0.001 * bytes);
        observations.truncate(4);
        let cost = Fit::of(&observations).expect("a fit").cost;
        assert!(
            (cost.fixed - 400.0).abs() < 1e-3 && cost.per_element == 0.0,
            "{cost:?}"
        );
    }

    #[test]
    fn what_is_held_back_tells_how_far_predictions_are_off() {
        let mut observations = observed(|bytes, _| 100.0 + 0.001 * bytes);
        for (place, it) in observations.iter_mut().enumerate() {
            it.cost *= if place % 2 == 0 { 1.1 } else { 0.9 };
        }
        let fit = Fit::of(&observations).expect("a fit");
        assert!((0.05..0.4).contains(&fit.error()), "{fit:?}");
        assert_eq!(fit.held_back.len(), observations.len());
    }

    #[test]
    fn errors_of_a_part_are_shares_of_its_whole() {
        let mut observations = observed(|bytes, _| 20.0 + 0.001 * bytes);
        for (place, it) in observations.iter_mut().enumerate() {
            it.whole = 100.0 * it.cost;
            it.cost *= if place % 2 == 0 { 1.1 } else { 0.9 };
        }
        let fit = Fit::of(&observations).expect("a fit");
        assert!((0.0005..0.004).contains(&fit.error()), "{fit:?}");
        // What took no time, or less than none by an error of measurement, is a part like any
        // other.
        observations[0].cost = -1.0;
        assert!(Fit::of(&observations).is_some_and(|fit| fit.cost.fixed >= 0.0));
    }

    #[test]
    fn one_observation_or_none_makes_no_fit() {
        let observations = observed(|_, _| 1.0);
        assert_eq!(Fit::of(&observations[..1]), None);
        assert_eq!(Fit::of(&[]), None);
        assert_eq!(Fit::of(&observed(|_, _| 0.0)), None);
    }
}
