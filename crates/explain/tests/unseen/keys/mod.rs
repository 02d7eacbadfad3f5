//! One mistake each in what signs: values, shared and derived keys, assertions, session keys,
//! password digests.

mod encrypted;
mod passwords;
mod secrets;
mod tokens;
mod values;

use soapstone::crypto::base64;
use soapstone_explain::Known;

use crate::cases::Cases;
use crate::support::value;

fn decoded(message: &str) -> Vec<u8> {
    base64::decode_xml_to_vec(value(message).as_bytes()).expect("base64")
}

pub(crate) fn all(cases: &mut Cases) {
    values::values(cases);
    secrets::shared(cases);
    secrets::derived(cases);
    passwords::passwords(cases);
    tokens::tokens(cases);
    encrypted::encrypted(cases);
    passwords::users(cases);
}

/// Good messages of this folder, each with what the reader's side knows.
pub(crate) fn good() -> Vec<(&'static str, String, Known)> {
    [secrets::good(), passwords::good(), tokens::good()]
        .into_iter()
        .flatten()
        .collect()
}
