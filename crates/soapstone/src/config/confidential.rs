//! A value that must not be shown: wiped when dropped, printed as `…`, compared with nothing.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

/// A password, or the contents of a key file.
///
/// It has neither `Display` nor `==`, its `Debug` shows no content, and its memory is wiped when it
/// is dropped.
///
/// ```
/// use soapstone::config::Confidential;
/// let password = Confidential::new("open sesame".to_owned());
/// assert_eq!(format!("{password:?}"), "…");
/// ```
///
/// ```compile_fail,E0277
/// use soapstone::config::Confidential;
/// let password = Confidential::new("open sesame".to_owned());
/// format!("{password}");
/// ```
///
/// ```compile_fail,E0369
/// use soapstone::config::Confidential;
/// let password = Confidential::new("open sesame".to_owned());
/// assert!(password == password.clone());
/// ```
#[derive(Clone)]
pub struct Confidential<T: Zeroize>(Zeroizing<T>);

impl<T: Zeroize> Confidential<T> {
    /// Takes the value over.
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value, for the one who uses it. Do not store or print what this returns.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> fmt::Debug for Confidential<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}
