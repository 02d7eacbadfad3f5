//! Where canonical bytes go: a digest, a cipher, a buffer.
//!
//! The rule: a sink cannot fail and never sees the same byte twice.

/// Receives bytes in order.
pub trait Sink {
    /// Takes the next bytes. They are whole runs of the source where possible, so they may be
    /// megabytes long.
    fn write(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        (**self).write(bytes);
    }
}

/// Makes a [`Sink`] of a closure.
///
/// ```
/// use soapstone_xml::{FnSink, Sink};
/// let mut length = 0;
/// FnSink(|bytes: &[u8]| length += bytes.len()).write(b"<a></a>");
/// assert_eq!(length, 7);
/// ```
#[derive(Debug)]
pub struct FnSink<F>(pub F);

impl<F: FnMut(&[u8])> Sink for FnSink<F> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        (self.0)(bytes);
    }
}
