//! What elements of the header schema hold: children in order, and how often each stands there.

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::names::EBMS;

/// A child in the namespace of ebMS.
pub(super) struct Child {
    local: &'static str,
    is_needed: bool,
    repeats: bool,
}

impl Child {
    /// It stands there once.
    pub(super) const fn one(local: &'static str) -> Self {
        Self {
            local,
            is_needed: true,
            repeats: false,
        }
    }

    /// It stands there once or not at all.
    pub(super) const fn at_most_one(local: &'static str) -> Self {
        Self {
            local,
            is_needed: false,
            repeats: false,
        }
    }

    /// It stands there once or more often.
    pub(super) const fn some(local: &'static str) -> Self {
        Self {
            local,
            is_needed: true,
            repeats: true,
        }
    }

    /// It stands there as often as it likes.
    pub(super) const fn any(local: &'static str) -> Self {
        Self {
            local,
            is_needed: false,
            repeats: true,
        }
    }
}

/// Children of other namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// There are none.
    None,
    /// They stand behind those of ebMS.
    Behind,
}

/// What an element holds, and the rule that says so.
pub(super) struct Content {
    pub(super) rule: &'static str,
    pub(super) children: &'static [Child],
    pub(super) others: Others,
}

impl Content {
    /// Tells of children that are missing, too many, out of order or unknown.
    pub(super) fn look(&self, parent: Element<'_>, findings: &mut Findings) {
        let mut counts = vec![0_usize; self.children.len()];
        // The place in the order that the children have come to.
        let mut reached = 0;
        for child in parent.children() {
            let named = || quoted(Some(child.qualified_name()));
            let known = self
                .children
                .iter()
                .position(|one| child.is(EBMS, one.local));
            let Some(place) = known else {
                if child.namespace() != EBMS && self.others == Others::Behind {
                    reached = self.children.len();
                } else {
                    findings.add(self.rule, child, self.names(), named());
                }
                continue;
            };
            if place < reached {
                let expected = format!("eb:{} further in front", child.local());
                let found = format!("{} behind others", named());
                findings.add(self.rule, child, expected, found);
            }
            reached = reached.max(place);
            counts[place] += 1;
            if counts[place] == 2 && !self.children[place].repeats {
                let expected = format!("one eb:{}", child.local());
                findings.add(self.rule, child, expected, "another one");
            }
        }
        for (child, count) in self.children.iter().zip(counts) {
            if child.is_needed && count == 0 {
                findings.add(self.rule, parent, format!("an eb:{}", child.local), "none");
            }
        }
    }

    /// The children, for a finding.
    fn names(&self) -> String {
        let names: Vec<String> = self
            .children
            .iter()
            .map(|child| format!("eb:{}", child.local))
            .collect();
        names.join(", ")
    }
}
