//! The table of headline claims.

use serde_json::json;
use soapstone_lab::report::Report;
use soapstone_lab::studies;

use super::read::between;
use super::{line, lines, page, run, samples};

#[test]
fn headlines_have_the_paper_every_stack_the_goal_and_the_floor() {
    let page = page(&[run("one", &lines(1.0))]);
    let claims = between(&page, "<table class=\"claims\">", "</table>");
    for part in [
        "the paper</th>",
        "cxf today</th>",
        "soapstone</th>",
        "goal</th>",
        "floor</th>",
        "1,000 to 1,500 %",
        "at most 200 %",
    ] {
        assert!(claims.contains(part), "{part} is not in {claims}");
    }
    // 25,000 books: 12,800 µs plain, 17,500 more secured: 237 %; with 2,400 µs as floor 119 %.
    assert!(
        claims.contains("237 %") && claims.contains("119 %") && claims.contains(">no<"),
        "{claims}"
    );
}

#[test]
fn the_floor_of_clients_at_once_is_that_of_their_keys_together_where_it_is_higher() {
    let headline = |together: f64| {
        let at = json!({"clients": "10"});
        let arm = "sign-encrypt/Basic128GCM";
        let all = [
            ("none", "time", samples(1_000.0)),
            (arm, "time", samples(9_000.0)),
            (arm, "floor", vec![500.0]),
            (arm, "floor-together", vec![together]),
        ];
        let lines = all.map(|(arm, quantity, samples)| {
            let mut line = line(
                3,
                "beyond-clients",
                &at,
                "soapstone",
                arm,
                quantity,
                &samples,
            );
            line["study"] = json!("rodrigues2011");
            line
        });
        let study = studies::named("rodrigues2011").expect("the study");
        let page = Report::of(&[study], &[run("one", &lines)]).html("report-files");
        between(&page, "<table class=\"claims\">", "</table>").to_owned()
    };
    // 1,041 µs plain in the mean: 500 more are 48 %, and 3,122 in all are 200 %.
    let lower = headline(1_500.0);
    assert!(
        lower.contains(">48.0 %") && lower.contains(">no<"),
        "{lower}"
    );
    assert!(!lower.contains("floor alone"), "{lower}");
    let higher = headline(3_122.0);
    assert!(higher.contains(">200 %"), "{higher}");
    assert!(higher.contains("the floor alone is above it"), "{higher}");
}
