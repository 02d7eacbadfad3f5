//! Elements whose every step is counted, so that the work on a message is bounded.
//!
//! The rule kept here: nothing of a message is walked without a step that is counted. Behind the
//! last step no element has children, ancestors or values, so that each walk ends.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use soapstone_xml::{Attribute, Content, Element as Written, NodeId};

/// Steps for each byte of a message.
const STEPS_PER_BYTE: u64 = 16;

/// Steps that any message may take.
const FEWEST_STEPS: u64 = 1 << 20;

/// Bytes that are read in one step.
const BYTES_PER_STEP: u64 = 16;

/// Elements and declarations around an element that are passed in one step.
const SCOPE_PER_STEP: u64 = 4;

/// What an element with declarations counts as, beside these.
const OF_DECLARING: u64 = 4;

/// Attributes of one element whose prefixes are counted: there are no more.
const MOST_PREFIXES: usize = 256;

/// The steps that one message may take.
#[derive(Debug)]
pub(crate) struct Work {
    left: Cell<u64>,
    is_done: Cell<bool>,
    /// The last element around which the scope was counted, and its size.
    scope: Cell<Option<(NodeId, u64)>>,
}

impl Work {
    /// For a message of so many bytes.
    pub(crate) fn on(bytes: usize) -> Self {
        let steps = STEPS_PER_BYTE.saturating_mul(bytes as u64);
        Self::of(steps.saturating_add(FEWEST_STEPS))
    }

    /// So many steps.
    pub(crate) fn of(steps: u64) -> Self {
        Self {
            left: Cell::new(steps),
            is_done: Cell::new(true),
            scope: Cell::new(None),
        }
    }

    /// Whether the steps were enough so far.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.get()
    }

    /// The steps that are left.
    #[cfg(test)]
    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    /// Takes so many steps. False when they are not left, from then on for each.
    pub(crate) fn take(&self, steps: u64) -> bool {
        match self.left.get().checked_sub(steps) {
            Some(left) if self.is_done.get() => {
                self.left.set(left);
                true
            }
            _ => {
                self.is_done.set(false);
                false
            }
        }
    }
}

/// An element of a message that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Element<'d> {
    written: Written<'d>,
    work: &'d Work,
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Element<'_> {}

impl std::fmt::Debug for Element<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.written.fmt(out)
    }
}

impl<'d> Element<'d> {
    pub(crate) fn new(written: Written<'d>, work: &'d Work) -> Self {
        Self { written, work }
    }

    fn step(self, to: impl FnOnce(Written<'d>) -> Option<Written<'d>>) -> Option<Self> {
        let work = self.work;
        let written = work.take(1).then(|| to(self.written)).flatten()?;
        Some(Self { written, work })
    }

    pub(crate) fn id(self) -> NodeId {
        self.written.id()
    }

    pub(crate) fn namespace(self) -> &'d str {
        self.written.namespace()
    }

    pub(crate) fn local(self) -> &'d str {
        self.written.local()
    }

    pub(crate) fn prefix(self) -> &'d str {
        self.written.prefix()
    }

    pub(crate) fn qualified_name(&self) -> &'d str {
        self.written.qualified_name()
    }

    pub(crate) fn is(self, namespace: &str, local: &str) -> bool {
        self.written.is(namespace, local)
    }

    pub(crate) fn range(self) -> Range<u32> {
        self.written.range()
    }

    pub(crate) fn parent(self) -> Option<Self> {
        self.step(|it| it.parent())
    }

    pub(crate) fn ancestors(self) -> impl Iterator<Item = Self> + use<'d> {
        std::iter::successors(self.parent(), |it| it.parent())
    }

    pub(crate) fn first_child(self) -> Option<Self> {
        self.step(|it| it.first_child())
    }

    pub(crate) fn children(self) -> impl Iterator<Item = Self> + use<'d> {
        let next = |it: &Self| it.step(|it| it.next_sibling());
        std::iter::successors(self.first_child(), next)
    }

    pub(crate) fn child(self, namespace: &str, local: &str) -> Option<Self> {
        self.children().find(|child| child.is(namespace, local))
    }

    /// It and the elements inside of it, in document order.
    pub(crate) fn descendants(self) -> impl Iterator<Item = Self> + use<'d> {
        let work = self.work;
        let written = self.written.descendants();
        written.map_while(move |written| work.take(1).then_some(Self { written, work }))
    }

    /// Whether `other` is this element or lies inside of it.
    pub(crate) fn contains(self, other: Element<'_>) -> bool {
        other == self || other.ancestors().any(|around| around == self)
    }

    /// What stands directly inside.
    pub(crate) fn contents(self) -> impl Iterator<Item = Content<'d>> + use<'d> {
        let work = self.work;
        let contents = self.written.contents();
        contents.take_while(move |content| {
            let bytes = match content {
                Content::Text(text) => text.len(),
                _ => 0,
            };
            work.take(1 + bytes as u64 / BYTES_PER_STEP)
        })
    }

    pub(crate) fn text(self) -> Cow<'d, str> {
        match self.work.take(steps_over(&self.written.range())) {
            true => self.written.text(),
            false => Cow::Borrowed(""),
        }
    }

    pub(crate) fn attribute(self, namespace: &str, local: &str) -> Option<Cow<'d, str>> {
        self.reads_attributes()
            .then(|| self.written.attribute(namespace, local))
            .flatten()
    }

    pub(crate) fn attributes(self) -> impl Iterator<Item = Attribute<'d>> + use<'d> {
        let (work, written) = (self.work, self.written);
        let read = self.reads_attributes().then(|| written.attributes());
        let read = read.into_iter().flatten();
        read.take_while(move |_| work.take(1))
    }

    /// Takes the steps of reading the attributes; false without attributes, too.
    fn reads_attributes(self) -> bool {
        let tag = self.written.start_tag_range();
        let has_any = tag.len() > "</>".len() + self.written.qualified_name().len();
        if !has_any || !self.work.take(steps_over(&tag)) {
            return false;
        }
        // Each prefix of an attribute may be looked for in all elements around.
        let from = tag.start as usize + 1 + self.written.qualified_name().len();
        let bytes = self.written.document().bytes();
        let behind_name = bytes.get(from..tag.end as usize).unwrap_or_default();
        let mut quote = None;
        let is_prefix = |byte: &&u8| {
            match (quote, **byte) {
                (None, b'"' | b'\'') => quote = Some(**byte),
                (Some(begun), byte) if begun == byte => quote = None,
                _ => {}
            }
            quote.is_none() && **byte == b':'
        };
        let prefixes = behind_name.iter().filter(is_prefix).count();
        prefixes == 0 || self.takes_scope(prefixes.min(MOST_PREFIXES) as u64)
    }

    pub(crate) fn declarations(self) -> impl Iterator<Item = (&'d str, &'d str)> + use<'d> {
        let work = self.work;
        let declared = self.written.declarations();
        declared.take_while(move |_| work.take(1))
    }

    pub(crate) fn namespace_of(self, prefix: &str) -> Option<&'d str> {
        self.takes_scope(1)
            .then(|| self.written.namespace_of(prefix))
            .flatten()
    }

    /// Takes the steps of looking for so many prefixes in all elements around.
    fn takes_scope(self, prefixes: u64) -> bool {
        let own = |it: Written<'_>| match it.declarations().size_hint().0 as u64 {
            0 => 1,
            declared => OF_DECLARING + declared,
        };
        let Some(parent) = self.written.parent() else {
            let steps = prefixes * own(self.written) / SCOPE_PER_STEP;
            return self.work.take(1 + steps);
        };
        let around = match self.work.scope.get() {
            Some((known, size)) if known == parent.id() => size,
            _ => {
                let all = std::iter::once(parent).chain(parent.ancestors());
                let (depth, size) =
                    all.fold((0, 0), |(depth, size), it| (depth + 1, size + own(it)));
                if !self.work.take(depth) {
                    return false;
                }
                self.work.scope.set(Some((parent.id(), size)));
                size
            }
        };
        let steps = prefixes * (own(self.written) + around) / SCOPE_PER_STEP;
        self.work.take(1 + steps)
    }
}

/// The steps of reading a place.
fn steps_over(place: &Range<u32>) -> u64 {
    1 + u64::from(place.end - place.start) / BYTES_PER_STEP
}
