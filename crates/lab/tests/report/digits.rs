//! An independent program computes the page again from the raw lines: every article, or it fails.

use std::path::Path;
use std::process::{Command, Output};

use super::everything::files_of_everything;
use super::read::between;

/// The program on these files; nothing, where there is no Python and nobody insists.
fn digits(lines: &Path, page: &Path) -> Option<Output> {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/report-digits");
    let files = [lines, page];
    match Command::new("python3").arg(program).args(files).output() {
        Ok(found) => Some(found),
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: no Python 3: {why}");
            None
        }
        Err(why) => panic!("Python 3 is needed: {why}"),
    }
}

/// What it complains about when the page is another one.
fn complaints(name: &str, other: impl Fn(String) -> String) -> Option<String> {
    let [lines, page] = files_of_everything(name);
    let text = std::fs::read_to_string(&page).expect("the page");
    let changed = other(text.clone());
    assert_ne!(text, changed);
    std::fs::write(&page, changed).expect("the page");
    let found = digits(&lines, &page)?;
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    Some(String::from_utf8_lossy(&found.stderr).into_owned())
}

#[test]
fn an_independent_program_finds_every_printed_digit_of_every_article_in_the_raw_lines() {
    let [lines, page] = files_of_everything("every-digit");
    let Some(found) = digits(&lines, &page) else {
        return;
    };
    let told = String::from_utf8_lossy(&found.stdout);
    let wrong = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{told}{wrong}");
    let cells = told.split(' ').next().and_then(|it| it.parse::<u32>().ok());
    assert!(cells.is_some_and(|it| it > 10_000), "{told}");
    let page = std::fs::read_to_string(page).expect("the page");
    let articles = page.matches("<article ").count();
    assert!(
        told.contains(&format!(" cells of {articles} articles ")),
        "{articles} articles: {told}"
    );
}

#[test]
fn an_article_that_the_independent_program_does_not_know_is_a_failure() {
    let known = "<article id=\"mchale2012-5-tokens\">";
    let unknown = "<article id=\"mchale2012-5-novelty\">";
    let Some(told) = complaints("unknown-article", |page| page.replace(known, unknown)) else {
        return;
    };
    assert!(
        told.contains("mchale2012-5-novelty is an article that this program does not know"),
        "{told}"
    );
}

/// In each way in which values come from other figures; the last has its model beside.
#[test]
fn a_digit_more_in_what_is_drawn_from_other_figures_is_a_failure() {
    for article in [
        "novakouski2010-2-table-3-increase",
        "novakouski2010-2-table-3-rates",
        "novakouski2010-4-figures-6-7-crossovers",
        "novakouski2010-5-tables-4-5-first-below-mean",
        "novakouski2010-5-figure-9",
        "novakouski2010-17-chunks-best",
        "rodrigues2011-1-figure-6",
        "rodrigues2011-1-figure-8",
        "vanengelen2008-5-cost-model-even",
        "vanengelen2008-5-cost-model",
    ] {
        let told = complaints("digit-more", |page| {
            let begin = format!("<article id=\"{article}\">");
            let own = between(&page, &begin, "</article>");
            let table = between(own, "<table class=\"values\">", "</table>");
            let number = "<td class=\"number\">";
            let last = table.rfind(number).expect("a number") + number.len();
            let (before, behind) = table.split_at(last);
            page.replace(table, &format!("{before}1{behind}"))
        });
        let Some(told) = told else { return };
        assert!(told.contains(article), "{article}: {told}");
    }
}

/// Where no interval is computed, none may be printed, whatever word stands in front of it.
#[test]
fn small_print_that_nothing_computes_is_a_failure() {
    for small in ["1.00 to 2.00", "paper and more", "paper"] {
        let told = complaints("small-print", |page| {
            let begin = "<article id=\"mchale2012-5-tokens\">";
            let own = between(&page, begin, "</article>");
            let table = between(own, "<table class=\"values\">", "</table>");
            let number = table.find("<td class=\"number\">").expect("a number");
            let end = number + table[number..].find("</td>").expect("its end");
            let cell = &table[number..end];
            let bare = cell.split("<small").next().expect("the number");
            let printed = format!("{bare}<small>{small}</small>");
            page.replace(table, &table.replacen(cell, &printed, 1))
        });
        let Some(told) = told else { return };
        let expected = format!("the interval is printed {small}, recomputed nowhere");
        assert!(told.contains(&expected), "{told}");
    }
}
