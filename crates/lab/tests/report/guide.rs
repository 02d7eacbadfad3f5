//! What the guide says of the papers' figures is what the report says.

use serde_json::json;
use soapstone_lab::studies;
use soapstone_lab::study::Study;

use super::read::between;
use super::{line, lines, run, samples};

/// Figures of the papers of which they print no value, as the guide is to list them.
fn not_printed(study: &Study) -> Vec<&'static str> {
    let figures = study.experiments.iter().flat_map(|it| it.figures);
    let of_it = figures.filter(|it| it.is_of_the_paper() && it.reported.is_empty());
    of_it.map(|it| it.shown_in).collect()
}

#[test]
fn the_guide_lists_the_figures_without_printed_values_and_the_report_says_so() {
    let guide = include_str!("../../../../docs/reproduce-the-studies.md");
    for study in studies::ALL {
        let begin = format!("| `{}` | `", study.name);
        let listed = guide.lines().filter_map(|it| it.strip_prefix(&begin));
        let listed: Vec<&str> = listed
            .flat_map(|it| it.trim_end_matches("` |").split("`, `"))
            .collect();
        assert_eq!(listed, not_printed(study), "{}", study.name);
    }
    let page = super::page(&[run("one", &lines(1.0))]);
    let says = "The paper prints no value of this figure";
    for article in ["4-table-1-figure-14", "1-figures-5-6"] {
        let begin = format!("<article id=\"mchale2012-{article}\">");
        assert!(!between(&page, &begin, "</article>").contains(says));
    }
    let lines = [line(
        3,
        "figures-12-13",
        &json!({"books": "50"}),
        "soapstone",
        "none",
        "time",
        &samples(100.0),
    )];
    let page = super::page(&[run("one", &lines)]);
    let begin = "<article id=\"mchale2012-3-figures-12-13\">";
    assert!(between(&page, begin, "</article>").contains(says));
}
