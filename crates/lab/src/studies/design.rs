//! The user's own design of factors: which of them the time of calls comes from.
//!
//! The points come from [`Design`](crate::study::Design), the factors from the names of arms and
//! the coordinates of lines. The rule kept here: as in the design of Rodrigues et al., what is
//! allocated is the variation of mean times of repetitions.

use crate::papers::Numbers;
use crate::study::{Experiment, Figure, Quantity, Shows, Study};

/// The study of the user's own factors.
pub const DESIGN: &Study = &Study {
    name: "design",
    paper: None,
    experiments: &[Experiment {
        number: 1,
        question: "Which of the factors does the time of calls come from?",
        figures: &[Figure {
            shown_in: FIGURE,
            caption: "share of the variation of times that each factor, and factors together, explain",
            lines: None,
            x: "factor",
            logarithmic: false,
            shows: Shows::Allocation {
                of: Quantity::Time,
                factors: &[],
            },
            reported: &[],
        }],
        points: |scope| scope.design.points(FIGURE),
    }],
    claims: &[],
    conclusions: &[],
    numbers: &Numbers {
        sources: &[],
        drawn: &[],
    },
    results: &[],
};

const FIGURE: &str = "allocation";
