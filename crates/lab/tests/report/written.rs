//! Markdown has what the page has.

use soapstone_lab::report::Report;
use soapstone_lab::studies;

use super::everything::everything;
use super::page_of;

/// Rows of the tables of these classes, as the page shows them, without small print.
fn tables_of_page(page: &str) -> Vec<Vec<Vec<String>>> {
    let unescaped = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        text.replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    let classes = ["costs", "claims", "conclusions", "values", "held"];
    let tables = page.split("<table class=\"").skip(1);
    let tables = tables.filter(|it| {
        classes
            .iter()
            .any(|class| it.starts_with(&format!("{class}\"")))
    });
    tables
        .map(|table| {
            let table = table.split("</table>").next().unwrap_or_default();
            let rows = table.split("<tr>").skip(1);
            rows.map(|row| {
                let cells = row.split("</td>").flat_map(|it| it.split("</th>"));
                let cells = cells.filter(|it| it.contains("<td") || it.contains("<th"));
                cells
                    .map(|cell| {
                        let text = cell.split("<small>").next().unwrap_or_default();
                        unescaped(&text[text.rfind('>').map_or(0, |it| it + 1)..])
                    })
                    .collect()
            })
            .collect()
        })
        .collect()
}

fn tables_of_markdown(text: &str) -> Vec<Vec<Vec<String>>> {
    let mut tables: Vec<Vec<Vec<String>>> = Vec::new();
    let mut last_is_row = false;
    for line in text.lines() {
        let is_row = line.starts_with("| ");
        if is_row && !last_is_row {
            tables.push(Vec::new());
        }
        if is_row && !line.starts_with("| ---") && !line.starts_with("| --:") {
            let line = line.trim_start_matches("| ").trim_end_matches(" |");
            let cells = line.replace("\\|", "\u{0}");
            let cells = cells
                .split(" | ")
                .map(|it| it.replace('\\', "").replace('\u{0}', "|"));
            tables.last_mut().expect("a table").push(cells.collect());
        }
        last_is_row = is_row;
    }
    tables
}

#[test]
fn markdown_has_every_table_and_sentence_of_the_page() {
    let runs = everything();
    let page = page_of(&runs);
    let markdown = Report::of(studies::ALL, &runs).markdown();
    let (shown, told) = (tables_of_page(&page), tables_of_markdown(&markdown));
    assert_eq!(shown.len(), told.len());
    assert!(shown.len() > 50, "{}", shown.len());
    for (shown, told) in shown.iter().zip(&told) {
        assert_eq!(shown.len(), told.len(), "{shown:?}\n{told:?}");
        for (shown, told) in shown.iter().flatten().zip(told.iter().flatten()) {
            let begins = told == shown || told.starts_with(&format!("{shown} ("));
            assert!(begins, "{shown} is told as {told}");
        }
    }
    for class in ["verdict", "note"] {
        let begin = format!("<p class=\"{class}\">");
        let articles = page.split("<article").skip(1);
        for sentence in articles.flat_map(|it| it.split(&begin).skip(1)) {
            let sentence = sentence.split("</p>").next().unwrap_or_default();
            assert!(
                markdown.contains(&sentence.replace("&#39;", "'")),
                "{sentence}"
            );
        }
    }
}
