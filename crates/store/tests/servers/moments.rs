//! Moments and marks that tests agree on.

#![allow(unreachable_pub, reason = "each test program uses its part")]

use std::sync::LazyLock;

use jiff::Timestamp;
use soapstone::wss::{End, ReplayKey};

/// When the tests began: servers have the present, and refuse nodes that have another.
static BEGIN: LazyLock<i64> = LazyLock::new(|| Timestamp::now().as_second());

/// A moment so many seconds after the tests began.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(*BEGIN + second).expect("a moment")
}

/// A mark of that number.
pub fn mark(number: u32, until: i64) -> ReplayKey {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key[28..].copy_from_slice(&number.to_be_bytes());
    ReplayKey {
        key,
        until: at(until),
        end: End::Proven,
    }
}
