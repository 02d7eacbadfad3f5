//! Words for what lines and figures name in code.
//!
//! The rule kept here: words only, no measured numbers.

use super::values::shows;
use crate::papers::Reported;
use crate::studies::{DESIGN, WSARCH};
use crate::study::{Estimate, Finding, Quantity, Shows, Study};

/// The command that measures what headline claims are told of, and nothing else.
pub(super) const REPEAT_CLAIMS: &str = "soapstone lab run all --claims";

/// What a floor is.
pub(super) const FLOOR: &str = "the value if only the cryptographic operations took time: private keys, digests and ciphers, as measured alone in the same \
    run. With more clients than processors, the operations of all clients are served in turns. No sequential implementation with the same keys \
    and algorithms can be faster.";

/// What was measured.
pub(super) fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Time => "time of a call",
        Quantity::First => "time of the first call",
        Quantity::Later => "time of a later call",
        Quantity::Newcomer => "time of the first call of a later client",
        Quantity::Total => "time of all calls",
        Quantity::Exchange => "time from the secured request to the answer",
        Quantity::Opened => "time from the secured request to the opened answer",
        Quantity::Processor => "processor time",
        Quantity::Size => "bytes of plain messages",
        Quantity::Secured => "bytes as they travel",
        Quantity::SecuredRequest => "bytes of the request as it travels",
        Quantity::SecuredResponse => "bytes of the response as it travels",
        Quantity::Header => "bytes of Security headers",
        Quantity::Rate => "rate",
        Quantity::Memory => "memory",
        Quantity::Tail => "time that 95 of 100 calls of a round do not exceed",
        Quantity::Lost => "calls that were lost",
        Quantity::Ended => "time until the last call to a dead provider",
        Quantity::Below => "calls that were served below their needs",
        Quantity::Met => "share of calls in the time that they need",
        Quantity::Violations => "violations that were made",
        Quantity::Unrecorded => "violations that records lack or have too many",
        Quantity::Floor => "time of private keys, digests and ciphers alone",
        Quantity::FloorTogether => {
            "time of private keys, digests and ciphers of all clients, served in turns"
        }
    }
}

/// Which figure of the samples.
pub(super) fn estimate(estimate: Estimate) -> &'static str {
    match estimate {
        Estimate::Best => "best",
        Estimate::Median => "median",
        Estimate::Mean => "mean",
        Estimate::Deviation => "deviation of",
    }
}

/// What follows from lines.
pub(super) fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Crossovers {
            of: Quantity::Total,
        } => "after how many the second costs less in all".to_owned(),
        Finding::Crossovers { of } => {
            format!("from which size on the second has less {}", quantity(*of))
        }
        Finding::Least { of } => format!("where the mean {} is least", quantity(*of)),
        Finding::Even { of, beside, .. } => {
            format!("where the {} is that of {beside}", quantity(*of))
        }
        Finding::Remainder { .. } => "mean time of some less that of others".to_owned(),
        Finding::Change { from, to, .. } => format!("how much more at {to} than at {from}"),
        Finding::Rates => "mean time of each thousand bytes more".to_owned(),
        Finding::Increase => {
            "mean of the last ten of the largest size above the least of all".to_owned()
        }
        Finding::FirstBelowMean => {
            "the first whose time is no more than the mean of all".to_owned()
        }
        Finding::Convergence { percent } => {
            format!("after how many their mean is within {percent} % of the steady state")
        }
        Finding::Spread => format!(
            "{} {}",
            estimate(Estimate::Deviation),
            quantity(Quantity::Later)
        ),
    }
}

/// How values come about that are not those of lines, as far as their names do not say it.
pub(super) const fn explained(shows: &Shows) -> Option<&'static str> {
    Some(match shows {
        Shows::Drawn { finding, .. } => match finding {
            Finding::Crossovers { .. } => {
                "A pair has a number where the 95 % intervals of both values are apart on both sides of it: where straight lines between \
                 neighbouring values meet, and from where to where their intervals overlap. Pairs that change places nowhere have no row."
            }
            Finding::Even { .. } => {
                "Where straight lines between neighbouring means meet, and from where to where the 95 % intervals of the means overlap. \
                 There is a number only where they are apart on both sides of it."
            }
            Finding::Least { .. } => {
                "The place with the least mean, and from where to where the 95 % intervals of means overlap with its own."
            }
            Finding::Remainder { .. } => {
                "Sums and differences of means; their 95 % intervals are added as squares."
            }
            Finding::Change { .. } => {
                "A ratio of two means, less what it is of; its 95 % interval is that of the ratio on the logarithmic scale."
            }
            Finding::Rates => {
                "Slopes of straight lines by least squares through all sizes; the intervals are of 95 %, by how far the sizes lie from the \
                 line."
            }
            Finding::Convergence { .. } => {
                "The steady state is the mean of all but the first message at the largest number, about which nothing is said therefore. \
                 The number is where straight lines between neighbouring totals meet what is allowed, beside it from where to where \
                 intervals overlap. The paper has another rule, which the next figure keeps."
            }
            Finding::FirstBelowMean => {
                "The paper's rule, over as many messages after each deployment as are kept one by one; the paper has 10,000 after one \
                 deployment, so that its mean is that of a longer steady state. The value is the mean of all deployments."
            }
            Finding::Increase => {
                "The paper's formula: (mean of the last ten − minimum) / minimum. The minimum is the least time of any size, as in the paper, \
                 which makes one call at each size."
            }
            Finding::Spread => return None,
        },
        Shows::Allocation { .. } => {
            "The intervals are those of the effects' estimates by Student's t with the errors' degrees of freedom, squared into shares."
        }
        Shows::Modelled { .. } => {
            "The model is the paper's: α(1 − c) + (1 − α)(2 − c), where α is the share of canonical messages, and c that of \
             canonicalization in a message, as it was measured in the same run. It holds where its interval and that of the measurement \
             overlap."
        }
        _ => return None,
    })
}

/// What the interval beside a value is.
pub(super) fn spread(of: &Shows) -> &'static str {
    match (of, shows(of).1) {
        (
            Shows::Drawn {
                finding:
                    Finding::Crossovers { .. }
                    | Finding::Convergence { .. }
                    | Finding::Even { .. }
                    | Finding::Least { .. },
                ..
            },
            _,
        ) => "where intervals overlap",
        (_, Estimate::Best) => "best to median",
        _ => "95 % interval",
    }
}

/// Of which arm the paper says something.
pub(super) fn arm(reported: &Reported) -> &'static str {
    match reported.arm {
        "*" => "any",
        arm => arm,
    }
}

/// With a capital.
pub(super) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).collect()
}

/// The places in the paper that a figure's name says: `figures 5, 6` for `figures-5-6`, `table 1,
/// figure 14` for `table-1-figure-14`; `beyond the paper` for what it has not.
pub(super) fn places(shown_in: &str) -> String {
    if shown_in.starts_with("cost-model") {
        return "the paper's cost model".to_owned();
    }
    if !shown_in.starts_with("figure") && !shown_in.starts_with("table") {
        return "beyond the paper".to_owned();
    }
    let mut text = String::new();
    let mut last_is_number = false;
    for word in shown_in.split('-') {
        let is_number = word.starts_with(|it: char| it.is_ascii_digit());
        match (text.is_empty(), last_is_number) {
            (true, _) => {}
            (false, true) => text.push_str(", "),
            (false, false) => text.push(' '),
        }
        text.push_str(word);
        last_is_number = is_number;
    }
    text
}

/// Title and description of a study that no paper published.
pub(super) fn own(study: &Study) -> [&'static str; 2] {
    if study.name == WSARCH.name {
        [
            "The architecture of Rodrigues 2011",
            "Section 5 of the paper describes a broker that chooses providers by quality and security, and has no figures of it. \
             The bars are goals of ours. nginx and HAProxy were in front of the same providers.",
        ]
    } else if study.name == DESIGN.name {
        [
            "Your own factors",
            "All combinations of factors with two levels each, as of Rodrigues, Estrella and Branco, and which of them times come from.",
        ]
    } else {
        [
            "Your own services",
            "The experiments of the papers on calls of your own. Each call went through two gateways on this machine to your service, and back.",
        ]
    }
}

/// The first author and the year; `your services` for the user's own calls.
pub(super) fn short_title(study: &Study) -> String {
    match &study.paper {
        Some(paper) => format!("{} {}", first_author(paper.authors), paper.year),
        None => own(study)[0].to_lowercase().replace("your own", "your"),
    }
}

/// The first author, for a short name.
pub(super) fn first_author(authors: &str) -> &str {
    let first = authors.split(',').next().unwrap_or(authors);
    let name = first.trim_start_matches(|it: char| it.is_uppercase() || it == '.' || it == ' ');
    // The initials end where the name begins, with a capital of its own.
    let begin = first.len() - name.len();
    let capital = first[..begin].char_indices().next_back();
    capital.map_or(first, |(place, _)| first[place..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_named_after_its_first_author() {
        let named = [
            "G. McHale, J. O'Raw",
            "R. A. van Engelen, W. Zhang",
            "M. Novakouski",
            "Shopov",
        ]
        .map(first_author);
        assert_eq!(named, ["McHale", "van Engelen", "Novakouski", "Shopov"]);
    }

    #[test]
    fn names_of_figures_are_read_as_places() {
        let told = ["figures-5-6", "table-1-figure-14", "networks", "cost-model"].map(places);
        assert_eq!(
            told,
            [
                "figures 5, 6",
                "table 1, figure 14",
                "beyond the paper",
                "the paper's cost model"
            ]
        );
        assert_eq!(sentence("impact of all"), "Impact of all");
    }
}
