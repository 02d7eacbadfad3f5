//! What the fuzz targets share: reading a document and a keystore in every way there is, and
//! parties whose messages can be opened.
//!
//! A target is one file below `targets/`; its seeds are in `seeds/NAME/`. The one rule: a target
//! asserts a property, it does not only wait for a crash.
#![forbid(unsafe_code)]

pub mod keystores;
pub mod parties;
pub mod reading;
