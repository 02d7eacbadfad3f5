//! What was found: breaches of rules with their places.
//!
//! The rule kept here: a message chooses neither how many findings are kept nor how long one is.

use std::collections::BTreeMap;

use soapstone_xml::{Element as Written, Position};

use crate::element::Element;
use crate::rule::{Profiles, Rule, Severity};
use crate::table;

/// Most findings that are kept of one document; further ones are counted.
pub const MOST_FINDINGS: usize = 1_000;

/// Most characters of a value that a finding repeats.
const MOST_CHARACTERS: usize = 160;

/// An element that a finding is about.
pub(crate) trait Place {
    /// Where it begins.
    fn offset(&self) -> usize;

    /// Its name as it is written.
    fn name(&self) -> &str;
}

impl Place for Written<'_> {
    fn offset(&self) -> usize {
        self.range().start as usize
    }

    fn name(&self) -> &str {
        self.qualified_name()
    }
}

impl Place for Element<'_> {
    fn offset(&self) -> usize {
        self.range().start as usize
    }

    fn name(&self) -> &str {
        self.qualified_name()
    }
}

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Line of the element, from 1.
    pub line: u32,
    /// Column of the element in characters, from 1.
    pub column: u32,
    /// Offset of the element in bytes of the document in UTF-8.
    pub offset: usize,
    /// The element's name as it is written.
    pub element: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// The findings of one document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    profiles: Profiles,
    kept: Vec<Finding>,
    /// Those that are not kept, by severity: warnings and errors.
    further: [usize; 2],
    /// The rules that are broken, those of further findings included.
    broken: BTreeMap<&'static str, &'static Rule>,
}

impl Findings {
    pub(crate) fn new(profiles: Profiles) -> Self {
        Self {
            profiles,
            ..Self::default()
        }
    }

    /// The profiles whose rules are looked for.
    pub(crate) fn profiles(&self) -> Profiles {
        self.profiles
    }

    /// Notes a breach, if a profile that is looked for has the rule.
    ///
    /// # Panics
    /// If the table has no such rule.
    pub(crate) fn add(
        &mut self,
        id: &str,
        element: impl Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        let offset = element.offset();
        self.add_at(
            id,
            Position {
                offset,
                line: 0,
                column: 0,
            },
            element.name(),
            expected,
            found,
        );
    }

    /// Notes a breach at a place whose line is known, or which [`Findings::placed`] computes.
    pub(crate) fn add_at(
        &mut self,
        id: &str,
        place: Position,
        element: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        let rule = table::rule(id).expect("a rule of the table");
        if !rule.profiles.meets(self.profiles) {
            return;
        }
        self.broken.insert(rule.id, rule);
        if self.kept.len() == MOST_FINDINGS {
            self.further[rule.severity as usize] += 1;
            return;
        }
        self.kept.push(Finding {
            rule,
            line: place.line,
            column: place.column,
            offset: place.offset,
            element: shortened(element),
            expected: expected.into(),
            found: shortened(&found.into()),
        });
    }

    /// The rules that are broken, each once, by number.
    pub(crate) fn broken(self) -> Vec<&'static Rule> {
        self.broken.into_values().collect()
    }

    /// How often a rule was found broken, for tests.
    #[cfg(test)]
    pub(crate) fn count(&self, id: &str) -> usize {
        let of_rule = self.kept.iter().filter(|finding| finding.rule.id == id);
        of_rule.count()
    }

    /// The findings in document order with their lines and columns, and the numbers of further
    /// ones.
    pub(crate) fn placed(mut self, source: &[u8]) -> (Vec<Finding>, [usize; 2]) {
        let order = |finding: &Finding| {
            (
                finding.line,
                finding.column,
                finding.offset,
                finding.rule.id,
            )
        };
        self.kept.sort_by_key(|finding| finding.offset);
        let (mut known, mut at) = (
            Position {
                offset: 0,
                line: 1,
                column: 1,
            },
            0,
        );
        for finding in &mut self.kept {
            if finding.line != 0 {
                continue;
            }
            // Each stretch of the source is looked at once.
            let here = Position::of(&source[at..], finding.offset.saturating_sub(at));
            known = Position {
                offset: finding.offset,
                line: known.line + here.line - 1,
                column: match here.line {
                    1 => known.column + here.column - 1,
                    _ => here.column,
                },
            };
            at = finding.offset.min(source.len());
            (finding.line, finding.column) = (known.line, known.column);
        }
        self.kept
            .sort_by(|one, other| order(one).cmp(&order(other)));
        self.kept.dedup();
        (self.kept, self.further)
    }
}

/// The findings of the message of a package, whose places are moved to those of the file, and the
/// findings of its parts. `root` is where the message begins: offset and line.
pub(crate) fn in_package(
    (mut found, mut further): (Vec<Finding>, [usize; 2]),
    (of_parts, of_parts_further): (Vec<Finding>, [usize; 2]),
    (offset, line): (usize, u32),
) -> (Vec<Finding>, [usize; 2]) {
    for finding in &mut found {
        finding.offset += offset;
        finding.line += line - 1;
    }
    found.extend(of_parts);
    found.sort_by(|one, other| {
        let order = |it: &Finding| (it.line, it.column, it.rule.id);
        order(one).cmp(&order(other))
    });
    for (count, more) in further.iter_mut().zip(of_parts_further) {
        *count += more;
    }
    for finding in found.drain(found.len().min(MOST_FINDINGS)..) {
        further[finding.rule.severity as usize] += 1;
    }
    (found, further)
}

impl Finding {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.rule.severity
    }
}

/// A text cut to what a finding repeats.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A value in a finding: quoted, or its absence.
pub(crate) fn quoted(value: Option<&str>) -> String {
    match value {
        // It stays one quotation, in reports in Markdown as well.
        Some(value) => format!("`{}`", shortened(value).replace('`', "'")),
        None => "none".to_owned(),
    }
}
