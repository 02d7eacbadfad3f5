//! Bounds on policies: who sends a WSDL chooses how much work its policies are.
//!
//! The one rule: whatever multiplies (alternatives, references) is bounded where it multiplies.

use std::sync::atomic::{AtomicU64, Ordering};

/// All bounds of reading and comparing policies.
///
/// The struct may grow; change single fields of a default value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyLimits {
    /// Largest document in bytes. Default 16 MiB: WSDLs with all their schemas reach some.
    pub document: usize,
    /// Most elements in one document, schemas not counted twice. Default 262,144.
    pub elements: u32,
    /// Deepest nesting of elements. Default 100; the deepest policy known to the project has 31.
    pub depth: u16,
    /// Most documents read for one: imports of WSDL and external references. Default 32.
    pub documents: usize,
    /// Most operations of ports in all documents together: each port has all operations of its
    /// binding. Default 16,384.
    pub subjects: usize,
    /// Most agreements that differ among the operations of one port: each is kept compiled.
    /// Default 256.
    pub agreements: usize,
    /// References that lead to references: deepest nesting. Default 16.
    pub references: usize,
    /// Most alternatives of one policy, of nested policies too. Default 4,096; each optional
    /// assertion doubles them.
    pub alternatives: usize,
    /// Steps of normalizing, merging or intersecting, such as one assertion that goes into one
    /// alternative. Default 1,000,000, some 100 ms.
    pub steps: u64,
    /// Steps of everything that is asked of one document: a WSDL may attach a large policy to each
    /// of many operations. Default 32,000,000, some seconds.
    pub all_steps: u64,
}

impl Default for PolicyLimits {
    fn default() -> Self {
        Self {
            document: 16 << 20,
            elements: 1 << 18,
            depth: 100,
            documents: 32,
            subjects: 16_384,
            agreements: 256,
            references: 16,
            alternatives: 4096,
            steps: 1_000_000,
            all_steps: 32_000_000,
        }
    }
}

impl PolicyLimits {
    pub(crate) fn xml(&self) -> soapstone_xml::Limits {
        let mut limits = soapstone_xml::Limits::default();
        limits.message = self.document;
        limits.elements = self.elements;
        limits.depth = self.depth;
        limits
    }
}

/// What is left of [`PolicyLimits::steps`] and the other bounds, while something is computed.
#[derive(Debug)]
pub(crate) struct Budget<'s> {
    steps: u64,
    alternatives: usize,
    /// Steps that the document has left for everything.
    shared: Option<&'s AtomicU64>,
}

/// The computation asks for more than its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Alternatives,
    Steps,
}

impl<'s> Budget<'s> {
    pub(crate) fn new(limits: &PolicyLimits) -> Self {
        Self {
            steps: limits.steps,
            alternatives: limits.alternatives,
            shared: None,
        }
    }

    /// A budget that also takes from what a document has left.
    pub(crate) fn of_document(limits: &PolicyLimits, left: &'s AtomicU64) -> Self {
        Self {
            shared: Some(left),
            ..Self::new(limits)
        }
    }

    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.steps = self.steps.checked_sub(steps).ok_or(Exhausted::Steps)?;
        if let Some(shared) = self.shared {
            let take = |left: u64| left.checked_sub(steps);
            shared
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .map_err(|_| Exhausted::Steps)?;
        }
        Ok(())
    }

    /// Checks a number of alternatives before they are made.
    pub(crate) fn alternatives(&self, count: usize) -> Result<(), Exhausted> {
        if count > self.alternatives {
            return Err(Exhausted::Alternatives);
        }
        Ok(())
    }
}
