//! Why a message cannot be taken apart.
//!
//! The rule kept here: each reason says what was expected, what was found, and where.

use std::fmt;

/// Most bytes of one header.
pub(crate) const LONGEST_HEADER: usize = 64 << 10;
/// Most characters of a boundary (RFC 2046, 5.1.1).
pub(crate) const LONGEST_BOUNDARY: usize = 70;

/// A message that cannot be taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageError {
    /// A line of a header is no field.
    NoField {
        /// The line, from 1.
        line: u32,
        /// What stands there.
        found: String,
    },
    /// A header has another line end than the first line.
    LineEnd {
        /// The line, from 1.
        line: u32,
    },
    /// A header has no end, or is too long.
    HeaderEnd {
        /// The first line of the header.
        line: u32,
    },
    /// A field stands twice in one header.
    Repeated {
        /// The line of the second one.
        line: u32,
        /// Its name.
        name: &'static str,
    },
    /// The header has no `Content-Type`.
    NoContentType,
    /// A `Content-Type` that cannot be read, or of something else than messages.
    ContentType {
        /// Its line.
        line: u32,
        /// Its value.
        found: String,
    },
    /// The `Content-Type` names no boundary that a package may have.
    Boundary {
        /// Its line.
        line: u32,
    },
    /// The last line of a package is missing.
    Unclosed {
        /// The boundary.
        boundary: String,
    },
    /// A line begins with the boundary, and is more or less than a line of it.
    Delimiter {
        /// The line, from 1.
        line: u32,
        /// The boundary.
        boundary: String,
    },
    /// A package without parts.
    NoParts,
    /// No part is the one that `start` names, or several are.
    Start {
        /// What it names.
        named: String,
        /// How many parts have that Content-ID.
        parts: usize,
    },
    /// The message is encoded for transfer.
    RootEncoded {
        /// Its line.
        line: u32,
        /// The encoding.
        found: String,
    },
    /// The root is no envelope of SOAP, or the package announces another one.
    RootType {
        /// The line of the field.
        line: u32,
        /// What it says.
        found: String,
    },
    /// The envelope has content that stands in other parts (XOP).
    Xop {
        /// The line of its `Content-Type`.
        line: u32,
    },
    /// A part without a Content-ID that can be named.
    ContentId {
        /// The line of the field, or of the header without it.
        line: u32,
    },
    /// Two parts have one Content-ID.
    ContentIdRepeated {
        /// The line of the second one.
        line: u32,
        /// The Content-ID.
        id: String,
    },
    /// A part is encoded for transfer in a way that is not undone, or not as it says.
    PartEncoded {
        /// The line of the field.
        line: u32,
        /// The encoding.
        found: String,
    },
    /// The body of HTTP has another length than its header says.
    Length {
        /// What the header says.
        said: String,
        /// Bytes behind the header.
        found: usize,
    },
    /// The body of HTTP is encoded.
    HttpEncoded {
        /// The field.
        name: &'static str,
        /// Its value.
        found: String,
    },
    /// A limit is passed.
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for PackageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoField { line, found } => write!(
                out,
                "expected a header field such as `Content-ID: <a@b>` in line {line}, found `{found}`"
            ),
            Self::LineEnd { line } => write!(
                out,
                "expected the line end of the first line in line {line}, found another: CR LF and LF are mixed"
            ),
            Self::HeaderEnd { line } => write!(
                out,
                "expected an empty line behind the header in line {line}, within {LONGEST_HEADER} bytes"
            ),
            Self::Repeated { line, name } => {
                write!(out, "expected one `{name}`, found another in line {line}")
            }
            Self::NoContentType => {
                out.write_str("expected a `Content-Type` in the header, found none")
            }
            Self::ContentType { line, found } => write!(
                out,
                "expected multipart/related or the media type of a message in line {line}, with values in quotes where RFC 2045 wants them, found `{found}`"
            ),
            Self::Boundary { line } => write!(
                out,
                "expected a boundary of 1 to {LONGEST_BOUNDARY} characters in line {line} (RFC 2046, 5.1.1)"
            ),
            Self::Unclosed { boundary } => {
                write!(
                    out,
                    "expected `--{boundary}--` as the last line, found none: the package is cut"
                )
            }
            Self::Delimiter { line, boundary } => write!(
                out,
                "expected `--{boundary}` or `--{boundary}--` alone in line {line}, with the line ends of the header around it and nothing of the kind \
                 behind the last one, found another line that begins so: it ends a part for some readers, and not for others"
            ),
            Self::NoParts => out.write_str("expected a part in the package, found none"),
            Self::Start { named, parts } => write!(
                out,
                "expected one part with the Content-ID `{named}`, which `start` names, found {parts}"
            ),
            Self::RootEncoded { line, found } => write!(
                out,
                "expected the message as 7bit, 8bit or binary in line {line}, found `{found}`"
            ),
            Self::RootType { line, found } => write!(
                out,
                "expected text/xml or application/soap+xml for the message, and the same in the parameter `type`, found `{found}` in line {line}"
            ),
            Self::Xop { line } => write!(
                out,
                "expected a message whose content is its own, found one of XOP (MTOM) in line {line}"
            ),
            Self::ContentId { line } => write!(
                out,
                "expected a Content-ID such as `<part@sender.example>` in line {line}, found none"
            ),
            Self::ContentIdRepeated { line, id } => write!(
                out,
                "expected a Content-ID of this part alone in line {line}, found `<{id}>` again"
            ),
            Self::PartEncoded { line, found } => write!(
                out,
                "expected a part as 7bit, 8bit, binary or base64 in line {line}, found `{found}`, or something else than it says"
            ),
            Self::Length { said, found } => write!(
                out,
                "expected the {said} bytes that Content-Length says, found {found} behind the header"
            ),
            Self::HttpEncoded { name, found } => write!(
                out,
                "expected a body as it is, found `{name}: {found}`: record it decoded, and without the field"
            ),
            Self::TooMany { what, limit } => {
                write!(out, "expected {limit} {what} at most, found more")
            }
        }
    }
}

impl std::error::Error for PackageError {}
