//! Moments and marks that tests agree on.

#![allow(unreachable_pub, reason = "each test program uses its part")]

use jiff::Timestamp;
use soapstone::wss::Mark;

/// A moment so many seconds after one that the tests agree on.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a moment")
}

/// A mark of that number.
pub fn mark(number: u32, until: i64) -> Mark {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key[28..].copy_from_slice(&number.to_be_bytes());
    Mark {
        key,
        until: at(until),
    }
}
