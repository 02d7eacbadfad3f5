//! Stacks that were not there.

use serde_json::{Value, json};
use soapstone_lab::report::Report;

use super::read::{between, table};
use super::{lines, mchale, page, run};

/// Lines of our stack, and of one that is there or not.
fn without_cxf() -> Vec<Value> {
    let mut lines: Vec<Value> = lines(1.0);
    lines.retain(|it| it["stack"] != "cxf");
    lines.push(json!({"stack": "cxf", "absent": "no <Java> & no Maven"}));
    lines.push(json!({"stack": "xmlsec1", "absent": "not installed"}));
    lines
}

#[test]
fn what_was_not_there_stands_in_the_claims_the_figures_and_the_runs() {
    let page = page(&[run("one", &without_cxf())]);
    let claims = between(&page, "<table class=\"claims\">", "</table>");
    assert!(claims.contains("cxf today</th>"), "{claims}");
    assert_eq!(claims.matches(">absent<").count(), 2, "{claims}");
    // It takes no part in what is claimed.
    assert!(!claims.contains("xmlsec1"), "{claims}");
    let figure = between(
        &page,
        "<article id=\"mchale2012-3-figure-11\">",
        "</article>",
    );
    // It is told once, before all of them.
    assert!(!figure.contains("Absent"), "{figure}");
    let header = between(&page, "<header>", "</header>");
    assert!(
        header.contains("Absent in all figures, tables and conclusions that they would have taken part in: cxf. The runs at the end say why."),
        "{header}"
    );
    let runs = between(&page, "<section id=\"machine\">", "</section>");
    assert!(
        runs.contains("Absent: cxf: no &lt;Java&gt; &amp; no Maven"),
        "{runs}"
    );
    assert!(runs.contains("Absent: xmlsec1: not installed"), "{runs}");
}

#[test]
fn what_another_run_measured_is_not_absent() {
    let both = [run("one", &lines(1.0)), run("two", &without_cxf())];
    let page = page(&both);
    let claims = between(&page, "<table class=\"claims\">", "</table>");
    assert!(
        claims.contains("cxf today</th>") && !claims.contains("absent"),
        "{claims}"
    );
    let rows = table(&page, "mchale2012-3-figure-11", "values");
    assert!(rows.iter().flatten().any(|it| it.contains("cxf")));
    // The second run was made without it all the same.
    assert!(page.contains("Absent: cxf: no"));
}

#[test]
fn markdown_says_what_was_not_there() {
    let runs = [run("one", &without_cxf())];
    let markdown = Report::of(&[mchale()], &runs).markdown();
    for part in [
        "cxf today",
        "| absent |",
        "\n### one\n\nAbsent: cxf: no \\<Java> & no Maven\n",
    ] {
        assert!(markdown.contains(part), "{part} is not in\n{markdown}");
    }
}

#[test]
fn a_reason_for_which_a_stack_leaves_out_several_arms_is_told_once() {
    let mut lines = lines(1.0);
    for (stack, arm) in [
        ("metro", "username"),
        ("wcf", "sign/Basic256"),
        ("wcf", "encrypt-sign/Basic256"),
        ("wcf", "sign/Basic256"),
    ] {
        lines.push(json!({
            "study": "mchale2012", "experiment": 1, "shown_in": "figures-5-6", "at": {"books": "1"},
            "stack": stack, "arm": arm, "left_out": "not that",
        }));
    }
    let page = page(&[run("one", &lines)]);
    let told = [
        "Left out: username on metro: not that",
        "Left out: sign/Basic256, encrypt-sign/Basic256 on wcf: not that",
    ];
    for part in told {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    assert_eq!(page.matches(": not that").count(), told.len());
}
