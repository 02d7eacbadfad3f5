//! Text tables for people: columns as wide as their widest cell, numbers to the right.
//!
//! The rule kept here: a table is written the same to a terminal and to a file; only its heading is
//! emphasized on a terminal. A row is one line, whatever its cells hold.

use std::fmt;

use soapstone_gateway::OneLine;

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table with a heading.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    emphasis: bool,
}

impl Table {
    /// A table without rows.
    pub fn new<'c>(columns: impl IntoIterator<Item = (&'c str, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(name, align)| (name.to_owned(), align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
            emphasis: false,
        }
    }

    /// The same table with its heading in bold.
    #[must_use]
    pub fn emphasized(mut self, emphasis: bool) -> Self {
        // https://no-color.org: whatever it is set to, unless to nothing.
        let is_colourless = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.emphasis = emphasis && !is_colourless;
        self
    }

    /// Adds a row; cells beyond the columns are left out. What a stranger chose (the subject of a
    /// certificate) stays in its cell.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| OneLine(cell).to_string());
        self.rows.push(cells.collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: &str| text.chars().count();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, (name, _))| {
                let cells = self
                    .rows
                    .iter()
                    .filter_map(|row| row.get(index))
                    .map(|cell| width(cell));
                cells.chain([width(name)]).max().unwrap_or(0)
            })
            .collect();
        let mut line = |cells: &mut dyn Iterator<Item = &str>, emphasis: bool| {
            let mut text = String::new();
            for ((cell, (_, align)), &wide) in cells.zip(&self.columns).zip(&widths) {
                if !text.is_empty() {
                    text.push_str("  ");
                }
                let padding = " ".repeat(wide.saturating_sub(width(cell)));
                match align {
                    Align::Left => text.extend([cell, &padding]),
                    Align::Right => text.extend([padding.as_str(), cell]),
                }
            }
            let text = text.trim_end();
            if emphasis {
                writeln!(out, "\x1b[1m{text}\x1b[0m")
            } else {
                writeln!(out, "{text}")
            }
        };
        line(
            &mut self.columns.iter().map(|(name, _)| name.as_str()),
            self.emphasis,
        )?;
        for row in &self.rows {
            line(&mut row.iter().map(String::as_str), false)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_begin_another_row_or_steer_the_terminal() {
        let mut table = Table::new([("subject", Align::Left), ("bits", Align::Right)]);
        table.row(["CN=a\nCN=b\u{1b}[2J".to_owned(), "1".to_owned()]);
        let text = "subject              bits\nCN=a\\nCN=b\\u{1b}[2J     1\n";
        assert_eq!(table.to_string(), text);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([
            ("name", Align::Left),
            ("bits", Align::Right),
            ("note", Align::Left),
        ]);
        table.row(["příliš".to_owned(), "2048".to_owned(), String::new()]);
        table.row(["b".to_owned(), "256".to_owned(), "x".to_owned()]);
        assert_eq!(
            table.to_string(),
            "name    bits  note\npříliš  2048\nb        256  x\n"
        );
    }
}
