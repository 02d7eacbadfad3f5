//! MIME packages: a SOAP message with its attachments (RFC 2387, SOAP Messages with Attachments).
//!
//! ```text
//! bytes ─ Package::read ─▶ Package ─ into_message ─▶ Message { root, parts }
//! Message ─ Packaging::write ─▶ bytes and their Content-Type
//! ```
//!
//! [`Package`] is what stands in a file, for those who judge it. [`Message`] is what engines work
//! on: an envelope, and attachments whose transfer encoding is undone. Nothing here is verified.
//!
//! ```
//! use soapstone_mime::{Message, Package};
//!
//! let file = b"Content-Type: multipart/related; type=\"text/xml\"; boundary=b\r\n\r\n\
//!     --b\r\nContent-Type: text/xml\r\n\r\n<Envelope/>\r\n\
//!     --b\r\nContent-ID: <a@sender.example>\r\n\r\nhello\r\n--b--\r\n";
//! let package = Package::read(file)?.expect("it begins with a header");
//! let Message { root, parts } = package.into_message()?;
//! assert_eq!(root, b"<Envelope/>");
//! assert_eq!(parts[0].id(), "a@sender.example");
//! # Ok::<(), soapstone_mime::PackageError>(())
//! ```
//!
//! The rule of this crate: a package is read in one way, or not at all. Everything is bounded.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod attachment;
mod canonical;
mod cid;
mod error;
mod header;
mod media_type;
mod package;
mod writing;

pub use attachment::{Attachment, AttachmentError, Message};
pub use canonical::{Form, text_lines, text_lines_size};
pub use cid::{attachment_named, is_cid, uri_of};
pub use error::PackageError;
pub use header::Header;
pub use media_type::MediaType;
pub use package::{LARGEST_PACKAGE, MOST_PARTS, Package, Part};
pub use writing::{Packaged, Packaging, is_multipart};
