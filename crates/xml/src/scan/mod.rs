//! The scanner: bytes to tape in one pass.
//!
//! It checks well-formedness (XML 1.0, 5th edition) and namespaces, binds prefixes, indexes ids and
//! finds out which elements are written as C14N would write them. A tag that was seen before,
//! without attributes and with its prefix bound as before, costs one look into a cache. The rule:
//! whatever passes the scanner is well-formed, so that nobody behind it has to ask again.

mod fast_path;
pub(crate) mod find;
mod known;
mod places;
pub(crate) mod reference;
mod scanner;
mod slow_path;
mod start_tag;
mod structure;
mod tags;
mod workspace;

use crate::ParseOptions;
use crate::error::Scan;
use crate::numbers::NONE;
use crate::parts::Parts;
use scanner::Scanner;
pub(crate) use scanner::{Scanned, Whole};
pub(crate) use tags::TagCache;
use workspace::Open;
pub(crate) use workspace::Workspace;

/// Scans `text`, which lies at `base` in the offset space, in the namespace and tree context of the
/// children of `parent`.
pub(crate) fn scan(
    text: &str,
    base: u32,
    whole: Whole,
    parent: u32,
    parts: &mut Parts,
    options: &ParseOptions,
) -> Scan<Scanned> {
    let mut work = parts.work.take().unwrap_or_default();
    let depth_above = parts.bind_context(parent, &mut work.bindings);
    let limits = &options.limits;
    let mut scanner = Scanner {
        text,
        source: text.as_bytes(),
        base,
        whole,
        deepest: (limits.depth as usize).saturating_sub(depth_above),
        roots: 0,
        limits,
        ids: &options.ids,
        names_allowed: parts.names.name_count() + limits.names as usize,
        prefixes_allowed: parts.names.prefix_count() + limits.namespaces as usize,
        uris_allowed: parts.names.uri_count() + limits.namespaces as usize,
        tape: std::mem::take(&mut parts.tape),
        top: Open {
            index: parent,
            undo: 0,
            name: NONE,
            prefix: NONE,
            flags: 0,
        },
        parts,
        work,
    };
    let scanned = scanner.run();
    let Scanner { tape, work, .. } = scanner;
    parts.tape = tape;
    parts.work = Some(work);
    scanned
}
