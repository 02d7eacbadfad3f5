//! The numbers that the five papers print, each with its place, its unit and its meaning.
//!
//! A [`Source`] is a table or a passage as it stands in the paper: rows, columns and cells with the
//! digits that are printed there. Tags on the source, its rows and its columns say what a cell is a
//! value of. [`Drawn`] names what a paper draws without printing a number. The rule kept here: a
//! cell has the paper's own digits; whatever is computed from it is computed elsewhere.

mod laid;
mod mchale2012;
mod novakouski2010;
mod printed;
mod results;
mod rodrigues2011;
mod shopov2007;
mod vanengelen2008;

use std::collections::BTreeMap;

pub(crate) use laid::reported;
pub use laid::{Laid, Made, Reported};
pub use printed::{Bound, Printed};
pub use results::{Results, lines};

pub(crate) use mchale2012::NUMBERS as MCHALE;
pub(crate) use novakouski2010::NUMBERS as NOVAKOUSKI;
pub(crate) use rodrigues2011::NUMBERS as RODRIGUES;
pub(crate) use shopov2007::NUMBERS as SHOPOV;
pub(crate) use vanengelen2008::NUMBERS as VAN_ENGELEN;

/// What values are of: names and values. `arm`, `unit` and `statistic` are ours; other names are
/// coordinates of the lab's figures.
pub type Tags = &'static [(&'static str, &'static str)];

/// All numbers of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Tables and passages with numbers, in the paper's order.
    pub sources: &'static [Source],
    /// Figures whose values are drawn and printed nowhere.
    pub drawn: &'static [Drawn],
}

/// A table, a figure with printed values, or a passage.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its name: `table-2`, `text-4.1`.
    pub name: &'static str,
    /// The section it stands in.
    pub section: &'static str,
    /// What it is there: `table 2`, `figure 9`, `text`.
    pub item: &'static str,
    /// Its page, where the text at hand has page numbers.
    pub page: Option<u16>,
    /// What it is about.
    pub of: &'static str,
    /// Tags of all its cells.
    pub tags: Tags,
    /// Its columns, from left to right.
    pub columns: &'static [Head],
    /// Its rows, from top to bottom.
    pub rows: &'static [Row],
}

/// The head of a row or a column.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Its name in the paper; in a passage, what the sentence is about.
    pub name: &'static str,
    /// Tags of its cells; they replace those of the source, and those of a column replace those of
    /// a row.
    pub tags: Tags,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its head.
    pub head: Head,
    /// Its cells as printed, one for each column; empty where the paper has none.
    pub cells: &'static [&'static str],
}

/// A figure that is only drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Which: `figure 5`.
    pub item: &'static str,
    /// The section it stands in.
    pub section: &'static str,
    /// Its page, where the text at hand has page numbers.
    pub page: Option<u16>,
    /// What it draws.
    pub of: &'static str,
}

/// A number of a paper.
#[derive(Clone, Debug)]
pub struct Value {
    /// Where it stands.
    pub source: &'static Source,
    /// In which row.
    pub row: &'static Head,
    /// In which column.
    pub column: &'static Head,
    /// The number.
    pub printed: Printed,
    /// What it is a value of.
    pub tags: BTreeMap<&'static str, &'static str>,
}

/// A head without tags of its own.
const fn plain(name: &'static str) -> Head {
    Head { name, tags: &[] }
}

/// A head.
const fn head(name: &'static str, tags: Tags) -> Head {
    Head { name, tags }
}

/// A row.
const fn row(name: &'static str, tags: Tags, cells: &'static [&'static str]) -> Row {
    Row {
        head: Head { name, tags },
        cells,
    }
}

/// The only column of a passage.
const SAYS: &[Head] = &[plain("")];

/// A passage: each row is one number in a sentence.
const fn text(
    name: &'static str,
    section: &'static str,
    page: Option<u16>,
    of: &'static str,
    rows: &'static [Row],
) -> Source {
    Source {
        name,
        section,
        item: "text",
        page,
        of,
        tags: &[],
        columns: SAYS,
        rows,
    }
}

impl Numbers {
    /// Every number, in the paper's order.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.sources.iter().flat_map(Source::values)
    }

    /// The source of this name.
    pub fn source(&self, name: &str) -> Option<&'static Source> {
        self.sources.iter().find(|it| it.name == name)
    }

    /// The number in this row and column of a source.
    pub fn value(&self, source: &str, row: &str, column: &str) -> Option<Value> {
        let mut values = self.source(source)?.values();
        values.find(|it| it.row.name == row && it.column.name == column)
    }
}

impl Source {
    /// Its numbers, row by row.
    pub fn values(&'static self) -> impl Iterator<Item = Value> {
        self.rows.iter().flat_map(move |row| {
            let cells = row.cells.iter().zip(self.columns);
            cells.filter_map(move |(cell, column)| {
                let printed = Printed::read(cell)?;
                let tags = [self.tags, row.head.tags, column.tags];
                Some(Value {
                    source: self,
                    row: &row.head,
                    column,
                    printed,
                    tags: tags.into_iter().flatten().copied().collect(),
                })
            })
        })
    }

    /// `section 4.1, table 2, page 9`.
    pub fn place(&self) -> String {
        let mut place = format!("section {}, {}", self.section, self.item);
        if let Some(page) = self.page {
            place.push_str(&format!(", page {page}"));
        }
        place
    }
}

impl Value {
    /// `section 4.1, table 2, page 9, Average, Sign Only`.
    pub fn place(&self) -> String {
        let heads = [self.row.name, self.column.name];
        let heads = heads.into_iter().filter(|name| !name.is_empty());
        let parts: Vec<String> = [self.source.place()]
            .into_iter()
            .chain(heads.map(str::to_owned))
            .collect();
        parts.join(", ")
    }

    /// What its tag of this name is.
    pub fn tag(&self, name: &str) -> Option<&'static str> {
        self.tags.get(name).copied()
    }

    /// Its coordinates in figures of the lab.
    pub fn at(&self) -> Vec<(&'static str, &'static str)> {
        let ours = ["arm", "unit", "statistic"];
        let tags = self.tags.iter().filter(|it| !ours.contains(it.0));
        tags.map(|(axis, value)| (*axis, *value)).collect()
    }

    /// Whether it has all of these tags.
    pub fn has(&self, tags: Tags) -> bool {
        tags.iter()
            .all(|(name, value)| self.tag(name) == Some(value))
    }
}
