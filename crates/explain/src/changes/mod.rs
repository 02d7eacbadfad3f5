//! What senders, proxies and libraries are known to do to the bytes that are digested, as
//! rewritings of a canonical form.
//!
//! The rule kept here: each rewriting is one thing that is done in practice, with a name and words
//! for it. The order is that of likelihood.

mod characters;
mod markup;
mod namespaces;
mod order;
mod soap;
mod space;

use crate::search::Change;

/// What a target may have, which changes are made for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope<'s> {
    /// Prefixes and namespaces in scope at the target.
    pub(crate) namespaces: &'s [(&'s str, &'s str)],
    /// Whether the target is a `ds:SignedInfo`.
    pub(crate) signed_info: bool,
}

/// All changes to this canonical form.
pub(crate) fn all(form: &[u8], scope: Scope<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    space::indentation(&mut changes);
    characters::line_ends(&mut changes);
    characters::escapes(&mut changes);
    namespaces::declarations(form, scope.namespaces, &mut changes);
    soap::versions(form, &mut changes);
    soap::marks(form, scope.namespaces, &mut changes);
    markup::attributes(form, &mut changes);
    markup::tags(&mut changes);
    space::base64(&mut changes);
    space::text(form, &mut changes);
    characters::normalized_values(&mut changes);
    characters::encodings(&mut changes);
    if scope.signed_info {
        markup::algorithms(form, &mut changes);
        order::references(form, &mut changes);
    }
    namespaces::renamed(form, &mut changes);
    characters::digests_of_digests(&mut changes);
    order::instructions(form, &mut changes);
    order::neighbours(form, &mut changes);
    changes
}
