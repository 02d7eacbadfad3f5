//! DER, as far as an AP-REQ needs it: one element after another, each of the tag that is expected.
//!
//! The one rule: one encoding for one value. A length in more bytes than it takes, or bytes behind
//! the last element, are refused.

use crate::error::KerberosError;

/// What is left to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'b> {
    rest: &'b [u8],
}

const fn wrong(problem: &'static str) -> KerberosError {
    KerberosError::Malformed { problem }
}

impl<'b> Reader<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The content of the next element, which has this tag.
    pub(crate) fn element(&mut self, tag: u8) -> Result<&'b [u8], KerberosError> {
        match self.optional(tag)? {
            Some(content) => Ok(content),
            None => Err(wrong("expected another element")),
        }
    }

    /// The content of the next element, if it has this tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<&'b [u8]>, KerberosError> {
        let Some((found, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        if *found != tag {
            return Ok(None);
        }
        let (length, rest) = length(rest)?;
        let content = rest.get(..length).ok_or(wrong("expected more bytes"))?;
        self.rest = &rest[length..];
        Ok(Some(content))
    }

    /// The reader of the content of the next element.
    pub(crate) fn inside(&mut self, tag: u8) -> Result<Self, KerberosError> {
        self.element(tag).map(Self::new)
    }

    /// The reader of the one element inside of the next one, and nothing behind it.
    pub(crate) fn wrapped(&mut self, outer: u8, inner: u8) -> Result<&'b [u8], KerberosError> {
        let mut outer = self.inside(outer)?;
        let content = outer.element(inner)?;
        outer.end()?;
        Ok(content)
    }

    /// An INTEGER of at most 32 bits, inside of the next element.
    pub(crate) fn integer(&mut self, outer: u8) -> Result<i32, KerberosError> {
        let content = self.wrapped(outer, 0x02)?;
        let is_short = match content {
            [] => return Err(wrong("expected an integer")),
            [0x00, second, ..] => *second >= 0x80,
            [0xff, second, ..] => *second < 0x80,
            _ => true,
        };
        if !is_short {
            return Err(wrong("expected the shortest form of an integer"));
        }
        let negative = content[0] >= 0x80;
        let bytes = content.iter();
        let value = bytes.fold(if negative { -1i64 } else { 0 }, |value, byte| {
            (value << 8) | i64::from(*byte)
        });
        match content.len() <= 5 {
            true => i32::try_from(value).map_err(|_| wrong("expected an integer of 32 bits")),
            false => Err(wrong("expected an integer of 32 bits")),
        }
    }

    /// Whether everything was read.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses anything that was not read.
    pub(crate) fn end(self) -> Result<(), KerberosError> {
        match self.is_at_end() {
            true => Ok(()),
            false => Err(wrong("expected nothing behind the last element")),
        }
    }
}

/// A length, and what is behind it.
fn length(bytes: &[u8]) -> Result<(usize, &[u8]), KerberosError> {
    let (first, rest) = bytes.split_first().ok_or(wrong("expected a length"))?;
    match *first {
        short @ ..=0x7f => Ok((usize::from(short), rest)),
        long @ 0x81..=0x83 => {
            let count = usize::from(long & 0x7f);
            let written = rest.get(..count).ok_or(wrong("expected a length"))?;
            let length = written
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            let least = match count {
                1 => 0x80,
                2 => 0x100,
                _ => 0x1_0000,
            };
            match length >= least {
                true => Ok((length, &rest[count..])),
                false => Err(wrong("expected the shortest form of a length")),
            }
        }
        _ => Err(wrong("expected a length of at most three bytes")),
    }
}
