//! What van Engelen and Zhang conclude, as questions to the lab's figures: a file for each subject
//! of the paper.
//!
//! The rule kept here: they stand in the order of the paper's sections, and none is left out.

mod canonicalization;
mod combinations;
mod operations;
mod optimizations;

use crate::study::{Conclusion, Estimate, Measure, Quantity};

/// Median processor times.
const PROCESSOR: Measure = Measure::Itself(Quantity::Processor, Estimate::Median);

/// By subject.
const SUBJECTS: [&[Conclusion]; 4] = [
    operations::ALL,
    optimizations::ALL,
    canonicalization::ALL,
    combinations::ALL,
];

/// How many there are.
const COUNT: usize = operations::ALL.len()
    + optimizations::ALL.len()
    + canonicalization::ALL.len()
    + combinations::ALL.len();

pub(super) const ALL: &[Conclusion] = &Conclusion::joined::<COUNT>(&SUBJECTS);
