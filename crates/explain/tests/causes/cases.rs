//! The messages that are broken, and how one is added.

use soapstone_explain::Known;

use crate::support::{Digested, Signer, as_it_is, signed, signed_anew};

/// A message, what it is called, and the kinds that are to be told first.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) message: Vec<u8>,
    pub(crate) known: Known,
}

#[derive(Default)]
pub(crate) struct Cases(pub(crate) Vec<Case>);

impl Cases {
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        kind: &'static str,
        message: impl Into<Vec<u8>>,
    ) {
        self.add_known(name, kind, message, Known::default());
    }

    pub(crate) fn add_known(
        &mut self,
        name: &'static str,
        kind: &'static str,
        message: impl Into<Vec<u8>>,
        known: Known,
    ) {
        self.0.push(Case {
            name,
            kinds: kind.split(' ').collect(),
            message: message.into(),
            known,
        });
    }

    /// A part digested otherwise.
    pub(crate) fn digested(
        &mut self,
        name: &'static str,
        kind: &'static str,
        part: &str,
        how: Digested<'_>,
    ) {
        let message = signed_anew(&signed(), &Signer::client(), &[(part, how)], &as_it_is);
        self.add(name, kind, message);
    }

    /// A part whose canonical form has something replaced.
    pub(crate) fn replaced(
        &mut self,
        name: &'static str,
        kind: &'static str,
        what: &str,
        by: &str,
    ) {
        self.digested(name, kind, "Body", &|_, _, form| {
            assert!(form.contains(what), "{name}: {form}");
            form.replace(what, by).into_bytes()
        });
    }
}
