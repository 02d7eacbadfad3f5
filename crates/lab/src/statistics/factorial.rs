//! Designs with k factors of two levels each and r replications (2^k r): which factor the variation
//! comes from.
//!
//! After Jain, *The Art of Computer Systems Performance Analysis*, chapters 17 and 18. The rule
//! kept here: the shares of all effects and of the errors add up to the whole.

use std::fmt;

use super::{CONFIDENCE, student_t};

/// The most factors of a design: 4,096 combinations.
const MOST_FACTORS: usize = 12;

/// A design, computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorial {
    /// Mean of all responses: q₀.
    pub mean: f64,
    /// Main effects and interactions, in the order A, B, AB, C, AC, BC, ABC …
    pub effects: Vec<Effect>,
    /// Variation of all responses about their mean: SST.
    pub total: f64,
    /// Variation within combinations: SSE; 0 without replications.
    pub errors: f64,
    /// Responses for each combination.
    pub replications: usize,
}

/// What a factor changes, or several together beyond what each does alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Names of the factors.
    pub factors: Vec<String>,
    /// Half of what the responses differ between the factor's levels: q.
    pub estimate: f64,
    /// The variation it explains: 2^k r q².
    pub variation: f64,
    /// 95 % confidence interval of the estimate; `None` without replications.
    pub interval: Option<[f64; 2]>,
}

/// Why responses are no design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DesignError {
    /// There are no factors, or too many.
    Factors {
        /// How many.
        found: usize,
    },
    /// There is not one list of responses for each combination of levels.
    Combinations {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A combination has no responses, or not as many as the first.
    Replications {
        /// Which combination, from 0.
        combination: usize,
        /// As many as the first has, and at least one.
        expected: usize,
        /// How many it has.
        found: usize,
    },
}

impl fmt::Display for DesignError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factors { found } => {
                write!(out, "expected 1 to {MOST_FACTORS} factors, found {found}")
            }
            Self::Combinations { expected, found } => {
                write!(
                    out,
                    "expected responses of {expected} combinations of levels, found {found}"
                )
            }
            Self::Replications {
                combination,
                expected,
                found,
            } => write!(
                out,
                "combination {combination}: expected {expected} responses, found {found}"
            ),
        }
    }
}

impl std::error::Error for DesignError {}

impl Factorial {
    /// The design with these factors. `responses` are those of each combination of levels, in the
    /// customary order: the first factor changes with each combination, the second with every
    /// other, and so on; all are low in the first combination.
    ///
    /// # Errors
    /// There are no factors or too many of them, or not as many responses as there must be.
    pub fn of(factors: &[&str], responses: &[Vec<f64>]) -> Result<Self, DesignError> {
        if factors.is_empty() || factors.len() > MOST_FACTORS {
            return Err(DesignError::Factors {
                found: factors.len(),
            });
        }
        let combinations = 1 << factors.len();
        if responses.len() != combinations {
            return Err(DesignError::Combinations {
                expected: combinations,
                found: responses.len(),
            });
        }
        let replications = responses[0].len();
        for (combination, of) in responses.iter().enumerate() {
            if of.len() != replications || of.is_empty() {
                return Err(DesignError::Replications {
                    combination,
                    expected: replications.max(1),
                    found: of.len(),
                });
            }
        }
        Ok(Self::computed(factors, responses, replications))
    }

    fn computed(factors: &[&str], responses: &[Vec<f64>], replications: usize) -> Self {
        let combinations = responses.len();
        let means: Vec<f64> = responses
            .iter()
            .map(|of| of.iter().sum::<f64>() / replications as f64)
            .collect();
        let errors: f64 = responses
            .iter()
            .zip(&means)
            .map(|(of, mean)| of.iter().map(|it| (it - mean).powi(2)).sum::<f64>())
            .sum();
        let count = (combinations * replications) as f64;
        // The column of the sign table for a set of factors is the product of theirs: −1 for each
        // that is low (Jain 17.3).
        let estimate = |set: usize| -> f64 {
            let signed = means.iter().enumerate().map(|(combination, mean)| {
                let low = (set & !combination).count_ones();
                if low.is_multiple_of(2) { *mean } else { -mean }
            });
            signed.sum::<f64>() / combinations as f64
        };
        // Errors have 2^k (r − 1) degrees of freedom, and each estimate a deviation of s_e / √(2^k
        // r) (Jain 18.5).
        let degrees = combinations * (replications - 1);
        let half = (degrees > 0).then(|| {
            let deviation = (errors / degrees as f64).sqrt() / count.sqrt();
            student_t(degrees, CONFIDENCE) * deviation
        });
        let effects: Vec<Effect> = (1..combinations)
            .map(|set| {
                let estimate = estimate(set);
                Effect {
                    factors: factors
                        .iter()
                        .enumerate()
                        .filter(|(place, _)| set & (1 << place) != 0)
                        .map(|(_, name)| (*name).to_owned())
                        .collect(),
                    estimate,
                    variation: count * estimate * estimate,
                    interval: half.map(|half| [estimate - half, estimate + half]),
                }
            })
            .collect();
        let total = effects.iter().map(|it| it.variation).sum::<f64>() + errors;
        Self {
            mean: estimate(0),
            effects,
            total,
            errors,
            replications,
        }
    }

    /// The variation that an effect with this estimate explains: 2^k r q².
    pub fn variation(&self, estimate: f64) -> f64 {
        ((self.effects.len() + 1) * self.replications) as f64 * estimate * estimate
    }

    /// The share of all variation that so much of it is, in percent; 0 where nothing varies.
    pub fn percent(&self, variation: f64) -> f64 {
        if self.total > 0.0 {
            variation / self.total * 100.0
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(design: &Factorial) -> Vec<(String, f64, f64)> {
        let rounded = |effect: &Effect| {
            (
                effect.factors.join(""),
                effect.estimate,
                design.percent(effect.variation).round(),
            )
        };
        design.effects.iter().map(rounded).collect()
    }

    fn told(expected: &[(&str, f64, f64)]) -> Vec<(String, f64, f64)> {
        expected
            .iter()
            .map(|(name, estimate, percent)| ((*name).to_owned(), *estimate, *percent))
            .collect()
    }

    #[test]
    fn jain_s_workstation_with_two_factors() {
        // Section 17.2, example 17.1: memory A and cache B, responses in MIPS.
        let responses = [15.0, 45.0, 25.0, 75.0].map(|it| vec![it]);
        let design = Factorial::of(&["A", "B"], &responses).expect("a design");
        assert_eq!(
            (design.mean, design.total, design.errors),
            (40.0, 2_100.0, 0.0)
        );
        assert_eq!(
            shares(&design),
            told(&[("A", 20.0, 76.0), ("B", 10.0, 19.0), ("AB", 5.0, 5.0)])
        );
        assert_eq!(design.effects[0].interval, None);
    }

    #[test]
    fn jain_s_workstation_with_three_factors() {
        // Section 17.5, example 17.3: memory A, cache B, processors C.
        let responses = [14.0, 22.0, 10.0, 34.0, 46.0, 58.0, 50.0, 86.0].map(|it| vec![it]);
        let design = Factorial::of(&["A", "B", "C"], &responses).expect("a design");
        assert_eq!((design.mean, design.total), (40.0, 4_512.0));
        assert_eq!(
            shares(&design),
            told(&[
                ("A", 10.0, 18.0),
                ("B", 5.0, 4.0),
                ("AB", 5.0, 4.0),
                ("C", 20.0, 71.0),
                ("AC", 2.0, 1.0),
                ("BC", 3.0, 2.0),
                ("ABC", 1.0, 0.0),
            ])
        );
    }

    #[test]
    fn jain_s_workstation_with_three_replications() {
        // Section 18.2 to 18.5, examples 18.1 to 18.4.
        let responses = [
            vec![15.0, 18.0, 12.0],
            vec![45.0, 48.0, 51.0],
            vec![25.0, 28.0, 19.0],
            vec![75.0, 75.0, 81.0],
        ];
        let design = Factorial::of(&["A", "B"], &responses).expect("a design");
        assert_eq!(
            (design.mean, design.errors, design.total),
            (41.0, 102.0, 7_032.0)
        );
        let variations: Vec<f64> = design.effects.iter().map(|it| it.variation).collect();
        assert_eq!(variations, [5_547.0, 1_083.0, 300.0]);
        let estimates: Vec<f64> = design.effects.iter().map(|it| it.estimate).collect();
        assert_eq!(estimates, [21.5, 9.5, 5.0]);
        let percent = |variation| (design.percent(variation) * 100.0).round() / 100.0;
        assert_eq!(
            [5_547.0, 1_083.0, 300.0, 102.0].map(percent),
            [78.88, 15.40, 4.27, 1.45]
        );
        // The book takes 90 % (39.08 to 42.91 about the mean, ± 1.92); the deviation of an effect
        // is 1.03.
        let [least, most] = design.effects[0].interval.expect("an interval");
        assert!(((most - least) / 2.0 - 2.306 * 1.031).abs() < 0.01);
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let responses: Vec<Vec<f64>> = (0..16)
            .map(|it| {
                (0..5)
                    .map(|at| f64::from((it * 37 + at * 11) % 23))
                    .collect()
            })
            .collect();
        let design = Factorial::of(&["A", "B", "C", "D"], &responses).expect("a design");
        let effects: f64 = design.effects.iter().map(|it| it.variation).sum();
        assert!((design.percent(effects) + design.percent(design.errors) - 100.0).abs() < 1e-9);
        let all: Vec<f64> = responses.concat();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let about: f64 = all.iter().map(|it| (it - mean).powi(2)).sum();
        assert!((about - design.total).abs() < 1e-6 * about);
    }

    #[test]
    fn what_is_no_design_is_told() {
        assert_eq!(
            Factorial::of(&["A", "B"], &[vec![1.0]]),
            Err(DesignError::Combinations {
                expected: 4,
                found: 1
            })
        );
        assert_eq!(
            Factorial::of(&["A"], &[vec![1.0, 2.0], vec![1.0]]),
            Err(DesignError::Replications {
                combination: 1,
                expected: 2,
                found: 1
            })
        );
        assert_eq!(
            Factorial::of(&[], &[]),
            Err(DesignError::Factors { found: 0 })
        );
        assert_eq!(
            DesignError::Replications {
                combination: 1,
                expected: 2,
                found: 1
            }
            .to_string(),
            "combination 1: expected 2 responses, found 1"
        );
    }
}
