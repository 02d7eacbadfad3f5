//! Assertions for the tests of this crate.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use soapstone::wss::{
    AssertionPolicy, ConfirmationMethod, IssuedAssertion, SamlVersion, WantedAssertion,
    WantedHolder,
};
use soapstone::xml::{Buffers, Document, ParseOptions};
use soapstone_testkit::assertion::{Assertion, Made};
use soapstone_testkit::keys;

use super::entries::Granted;

/// A bearer's assertion that ends in that many seconds.
pub(super) fn text(end: i64) -> Vec<u8> {
    let assertion = Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some("https://books.example"),
        attributes: &[],
    };
    let made = Made {
        end,
        ..Made::default()
    };
    let idp = keys::identity("CN=idp", keys::RSA);
    assertion.made("alice", &idp, &made).into_bytes()
}

/// The same, as a token service granted it.
pub(super) fn issued(end: i64) -> IssuedAssertion {
    let options = ParseOptions::default();
    let document = Document::parse(text(end), &options, &mut Buffers::default());
    let document = document.expect("a document");
    let policy = AssertionPolicy {
        methods: vec![ConfirmationMethod::Bearer],
        audiences: vec!["https://books.example".to_owned()],
        ..AssertionPolicy::default()
    };
    let wanted = WantedAssertion {
        version: SamlVersion::V20,
        holder: WantedHolder::Bearer,
        issuers: &[],
        policy: &policy,
    };
    IssuedAssertion::judge(document.root(), wanted, Timestamp::now()).expect("what was wanted")
}

/// One that ends then.
pub(crate) fn granted(ends: Timestamp) -> Arc<Granted> {
    let mut assertion = issued(600);
    assertion.ends = ends;
    Arc::new(Granted {
        assertion,
        is_taken: AtomicBool::new(false),
        is_renewed_no_more: AtomicBool::new(false),
    })
}
