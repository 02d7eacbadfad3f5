//! Which namespaces the `wsse:Security` header declares for the pieces in it.
//!
//! What is signed or enciphered declares all that it uses, and so is its own canonical form
//! wherever it stands. Everything else leaves that to the header, which says it once. The one rule:
//! the header declares whatever a piece has left to it.

use std::iter;

use soapstone_xml::Element;

use super::text::put;
use crate::conversation::ConversationVersion;
use crate::inclusive_prefixes::InclusivePrefixes;
use crate::names::{WSSE, WSSE11, WSU};

/// What the header declares.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    /// The one version whose namespace is `wsc`.
    wsc: Option<ConversationVersion>,
    wsse11: bool,
    wsu: bool,
    /// Whether nothing is left to the header any more.
    is_settled: bool,
}

/// What a piece that is being written need not declare, because of where it will stand.
#[derive(Debug)]
pub(super) struct Scope<'h>(Option<&'h mut Declarations>);

impl Declarations {
    /// Those of a header that declares `wsse` and `wsu`, and nothing that pieces use beside: what a
    /// prefix list means in it is known before anything is written.
    pub(super) fn settled() -> Self {
        Self {
            wsu: true,
            is_settled: true,
            ..Self::default()
        }
    }

    /// The scope of a piece; `stays`, if it will stand right in the header, as it is written.
    pub(super) fn scope(&mut self, stays: bool) -> Scope<'_> {
        Scope((stays && !self.is_settled).then_some(self))
    }

    /// Writes them, in canonical order.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(version) = self.wsc {
            put(&[" xmlns:wsc=\"", version.namespace(), "\""], out);
        }
        put(&[" xmlns:wsse=\"", WSSE, "\""], out);
        if self.wsse11 {
            put(&[" xmlns:wsse11=\"", WSSE11, "\""], out);
        }
        if self.wsu {
            put(&[" xmlns:wsu=\"", WSU, "\""], out);
        }
    }
}

/// A prefix for a namespace that may be declared on an element or around it, and changes the
/// meaning of none: the usual one, unless it means something else here. Nor is it one that
/// signatures list: what is signed inside would have it in its canonical form, too.
pub(super) fn free_prefix(
    element: Element<'_>,
    namespace: &str,
    usual: &str,
    lists: &InclusivePrefixes,
) -> String {
    let is_free = |prefix: &String| match element.namespace_of(prefix) {
        Some(bound) => bound == namespace,
        None => !lists.names(prefix),
    };
    let more = (1_u32..).map(|more| format!("{usual}{more}"));
    let mut all = iter::once(usual.to_owned()).chain(more);
    // An element has fewer prefixes around it than there are numbers.
    all.find(is_free).unwrap_or_default()
}

impl Scope<'_> {
    /// Of a piece that has to declare everything itself.
    pub(super) const fn alone() -> Self {
        Self(None)
    }

    /// Has `wsc` declared for a start tag that is being written: there, or by the header. The order
    /// of such calls is that of canonical attributes.
    pub(super) fn wsc(&mut self, version: ConversationVersion, out: &mut Vec<u8>) {
        let declared = match &mut self.0 {
            Some(header) => *header.wsc.get_or_insert(version) == version,
            None => false,
        };
        if !declared {
            put(&[" xmlns:wsc=\"", version.namespace(), "\""], out);
        }
    }

    /// As [`wsc`](Self::wsc). The header has its own name from this namespace.
    pub(super) fn wsse(&mut self, out: &mut Vec<u8>) {
        if self.0.is_none() {
            put(&[" xmlns:wsse=\"", WSSE, "\""], out);
        }
    }

    /// As [`wsc`](Self::wsc).
    pub(super) fn wsse11(&mut self, out: &mut Vec<u8>) {
        match &mut self.0 {
            Some(header) => header.wsse11 = true,
            None => put(&[" xmlns:wsse11=\"", WSSE11, "\""], out),
        }
    }

    /// As [`wsc`](Self::wsc).
    pub(super) fn wsu(&mut self, out: &mut Vec<u8>) {
        match &mut self.0 {
            Some(header) => header.wsu = true,
            None => put(&[" xmlns:wsu=\"", WSU, "\""], out),
        }
    }
}
