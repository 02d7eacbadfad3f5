//! The search: forms and changes are tried alone and in twos, until one gives the bytes that were
//! signed.
//!
//! The rule kept here: the work is bounded by a number of bytes, whatever the message holds. The
//! likely comes before the unlikely and one thing before two, so what is found first is told first.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use crate::cause::Step;

/// Bytes that may still be written and digested.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: usize,
    /// Forms that were tried.
    pub(crate) tried: usize,
    /// Whether something was left out for want of it.
    pub(crate) spent: bool,
}

/// How much less reading a form costs than writing and digesting one.
const READING: usize = 4;

/// What every candidate costs at least, however short.
const SMALLEST: usize = 512;

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            left: bytes,
            tried: 0,
            spent: false,
        }
    }

    /// Takes the cost of a form of so many bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let cost = bytes.max(SMALLEST);
        if self.left < cost {
            self.spent = true;
            return false;
        }
        self.left -= cost;
        true
    }

    /// Takes the cost of bytes beyond those that were taken before.
    pub(crate) fn take_rest(&mut self, before: usize, bytes: usize) -> bool {
        match bytes.checked_sub(before.max(SMALLEST)) {
            None | Some(0) => true,
            Some(rest) => self.take(rest),
        }
    }

    /// A share of it for one target, so that one does not take what the others need.
    pub(crate) fn share(&mut self, parts: usize) -> Self {
        let left = self.left / parts.max(1);
        self.left -= left;
        Self {
            left,
            tried: 0,
            spent: false,
        }
    }

    /// A share of no more than so many bytes.
    pub(crate) fn at_most(&mut self, bytes: usize) -> Self {
        let left = self.left.min(bytes);
        self.left -= left;
        Self {
            left,
            tried: 0,
            spent: false,
        }
    }

    /// Gives back what a share did not need.
    pub(crate) fn merge(&mut self, share: Self) {
        self.left += share.left;
        self.tried += share.tried;
        self.spent |= share.spent;
    }
}

/// Bytes that may have been signed, and how they came about.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) bytes: Vec<u8>,
    /// Nothing for the form that the message announces.
    pub(crate) steps: Vec<Step>,
}

/// A rewriting of a canonical form; `None` where it changes nothing.
type Rewriting = Box<dyn Fn(&[u8]) -> Option<Vec<u8>>>;

/// Something that may have been done to a canonical form.
pub(crate) struct Change {
    pub(crate) step: Step,
    pub(crate) apply: Rewriting,
    company: Company,
}

/// Which others a change is tried together with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    Any,
    /// Those of any company, and those that are tried among their like.
    Wide,
    /// Those of the same kind.
    Like,
    None,
}

impl Change {
    pub(crate) fn new(
        kind: &'static str,
        says: impl Into<String>,
        apply: impl Fn(&[u8]) -> Option<Vec<u8>> + 'static,
    ) -> Self {
        Self {
            step: Step::new(kind, says),
            apply: Box::new(apply),
            company: Company::Any,
        }
    }

    /// The same, tried alone only.
    pub(crate) fn alone(mut self) -> Self {
        self.company = Company::None;
        self
    }

    /// The same, tried alone and with others of its kind.
    pub(crate) fn among_its_like(mut self) -> Self {
        self.company = Company::Like;
        self
    }

    /// The same, tried with others whatever their company, as it is what proxies do most.
    pub(crate) fn in_any_company(mut self) -> Self {
        self.company = Company::Wide;
        self
    }

    fn meets(&self, other: &Self) -> bool {
        match (self.company, other.company) {
            (Company::None, _) | (_, Company::None) => false,
            (Company::Wide, _) | (_, Company::Wide) | (Company::Any, Company::Any) => true,
            (Company::Like, Company::Like) => self.step.kind == other.step.kind,
            _ => false,
        }
    }
}

/// What says whether bytes were signed. It may add a step, such as another digest. `far` tells that
/// two things were done already.
pub(crate) type Test<'t> = dyn FnMut(&[u8], bool) -> Option<Vec<Step>> + 't;

/// Looks for what was done.
pub(crate) fn search(
    forms: &[Form],
    changes: &[Change],
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    weighted_search(forms, changes, (1, 1), budget, test)
}

/// Looks for one thing that was done.
pub(crate) fn search_for_one(
    forms: &[Form],
    changes: &[Change],
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    Search::new((1, 1), budget, test).one(forms, changes)
}

/// Looks for what was done with a test that reads the bytes several times: `weights` says how often
/// after one thing, and after two.
pub(crate) fn weighted_search(
    forms: &[Form],
    changes: &[Change],
    weights: (usize, usize),
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    let mut search = Search::new(weights, budget, test);
    if let Some(found) = search.one(forms, changes) {
        return Some(found);
    }
    let announced = forms.first()?;
    // Two things.
    for form in forms.iter().filter(|form| form.steps.len() == 2) {
        if let Some(found) = search.form(form) {
            return Some(found);
        }
    }
    for form in forms.iter().filter(|form| form.steps.len() == 1) {
        if let Some(found) = search.changed(form, changes, true) {
            return Some(found);
        }
    }
    for (at, first) in changes.iter().enumerate() {
        if first.company == Company::None {
            continue;
        }
        if !search.budget.take(announced.bytes.len()) {
            return None;
        }
        let Some(bytes) = (first.apply)(&announced.bytes) else {
            continue;
        };
        let form = Form {
            bytes,
            steps: vec![first.step.clone()],
        };
        let others = changes.iter().enumerate();
        for (other, second) in others {
            if other == at || !first.meets(second) {
                continue;
            }
            if let Some(found) = search.change(&form, second) {
                return Some(found);
            }
        }
    }
    None
}

struct Search<'s, 't> {
    seen: HashSet<u64>,
    hasher: RandomState,
    weights: (usize, usize),
    budget: &'s mut Budget,
    test: &'s mut Test<'t>,
}

impl<'s, 't> Search<'s, 't> {
    fn new(weights: (usize, usize), budget: &'s mut Budget, test: &'s mut Test<'t>) -> Self {
        Self {
            seen: HashSet::new(),
            hasher: RandomState::new(),
            weights,
            budget,
            test,
        }
    }

    /// The forms by themselves, and the announced one with one change.
    fn one(&mut self, forms: &[Form], changes: &[Change]) -> Option<Vec<Step>> {
        for form in forms.iter().filter(|form| form.steps.len() < 2) {
            if let Some(found) = self.form(form) {
                return Some(found);
            }
        }
        self.changed(forms.first()?, changes, false)
    }

    fn form(&mut self, form: &Form) -> Option<Vec<Step>> {
        self.bytes(&form.bytes, form.steps.clone())
    }

    fn changed(&mut self, form: &Form, changes: &[Change], only: bool) -> Option<Vec<Step>> {
        let mut changes = changes.iter();
        changes.find_map(|change| {
            let applies = matches!(change.company, Company::Any | Company::Wide) || !only;
            applies.then(|| self.change(form, change)).flatten()
        })
    }

    fn change(&mut self, form: &Form, change: &Change) -> Option<Vec<Step>> {
        // Most changes find nothing to change, and only read.
        if !self.budget.take(form.bytes.len() / READING) {
            return None;
        }
        let bytes = (change.apply)(&form.bytes)?;
        let mut steps = form.steps.clone();
        steps.push(change.step.clone());
        self.bytes(&bytes, steps)
    }

    fn bytes(&mut self, bytes: &[u8], mut steps: Vec<Step>) -> Option<Vec<Step>> {
        let weight = match steps.len() {
            0 | 1 => self.weights.0,
            _ => self.weights.1,
        };
        let cost = bytes.len().saturating_mul(weight);
        if !self.seen.insert(self.hasher.hash_one(bytes)) || !self.budget.take(cost) {
            return None;
        }
        self.budget.tried += 1;
        steps.extend((self.test)(bytes, steps.len() > 1)?);
        Some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_reads_often_takes_more_of_the_budget() {
        let form = Form {
            bytes: vec![b'x'; 1000],
            steps: Vec::new(),
        };
        let change = |number: u8| {
            let apply = move |form: &[u8]| Some([form, &[number]].concat());
            Change::new("white-space", "a byte behind it", apply)
        };
        let changes: Vec<Change> = (0..100).map(change).collect();
        let tried = |weights| {
            let mut budget = Budget::new(100_000);
            let forms = std::slice::from_ref(&form);
            let found = weighted_search(forms, &changes, weights, &mut budget, &mut |_, _| None);
            assert_eq!(found, None);
            (budget.tried, budget.spent)
        };
        assert_eq!(tried((50, 1)).0, 1);
        assert!(tried((1, 1)).0 > 50);
    }
}
