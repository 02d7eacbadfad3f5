//! What the tests of several files need.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::hexadecimal;
use crate::key::{KeyKind, PrivateKey};

/// Bytes from hexadecimal digits.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    hexadecimal::decode(text).unwrap()
}

/// A key of this kind, the same one each time: large ones take seconds to make.
pub(crate) fn key(kind: KeyKind) -> PrivateKey {
    static KEYS: Mutex<Option<HashMap<KeyKind, PrivateKey>>> = Mutex::new(None);
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    keys.get_or_insert_default()
        .entry(kind)
        .or_insert_with(|| PrivateKey::generate(kind).unwrap())
        .clone()
}
