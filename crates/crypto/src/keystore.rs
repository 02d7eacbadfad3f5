//! Files that keys and certificates are kept in.

pub mod pem;
