//! Messages in files: an envelope as it is, or a MIME package with its header.
//!
//! The rule kept here: what came in a package goes out in one, with the same media type.

use std::path::Path;

use soapstone::mime::{Attachment, MediaType, Message, Package, PackageError, Packaging};

use crate::failure::Failure;
use crate::files;

/// A message that was given to a command.
pub(crate) struct Given {
    pub(crate) message: Message,
    /// How it was packaged, if it was.
    packaged: Option<Packaged>,
}

/// The package of a message.
struct Packaged {
    /// The `Content-Type` of the envelope.
    root_type: String,
    /// Parameters of the package that say more than how it is put together.
    parameters: Vec<(&'static str, String)>,
}

/// Parameters of packages that are kept (RFC 2387, 3; RFC 3902).
const KEPT: [&str; 2] = ["start-info", "action"];

/// Reads a file or standard input, up to one byte more than a message may have, or a package.
///
/// # Errors
/// It cannot be read.
pub(crate) fn source(
    path: Option<&Path>,
    message: usize,
    package: usize,
) -> Result<Vec<u8>, Failure> {
    files::read_by_beginning(path, message, |source| match Package::begins(source) {
        true => package,
        false => message,
    })
}

impl Given {
    /// Takes what was read for a message.
    ///
    /// # Errors
    /// It begins as a package, and is none that is read in one way.
    pub(crate) fn of(source: Vec<u8>) -> Result<Self, PackageError> {
        let Some(package) = Package::read(&source)? else {
            return Ok(Self {
                message: source.into(),
                packaged: None,
            });
        };
        let root = package.root.media_type();
        let related = package.related.as_ref().map(|(related, _)| related);
        let packaged = related.map(|related| Packaged {
            root_type: root_type(root.as_ref()),
            parameters: KEPT
                .iter()
                .filter_map(|name| Some((*name, related.parameter(name)?.to_owned())))
                .collect(),
        });
        Ok(Self {
            message: package.into_message()?,
            packaged,
        })
    }

    /// What the command makes of the message, as a file.
    pub(crate) fn file(&self, root: Vec<u8>, parts: Vec<Attachment>) -> Vec<u8> {
        let Some(packaged) = &self.packaged else {
            return root;
        };
        let parameters = packaged.parameters.iter();
        let parameters: Vec<(&str, &str)> = parameters
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let packaging = Packaging {
            root_type: &packaged.root_type,
            parameters: &parameters,
        };
        packaging.write(&Message { root, parts }).into_file()
    }
}

/// The `Content-Type` of an envelope that is written: that of the one that was read, in UTF-8.
fn root_type(read: Option<&MediaType>) -> String {
    let essence = read.map_or("text/xml", MediaType::essence);
    let action = read.and_then(|read| read.parameter("action"));
    let is_sayable = |action: &&str| !action.contains(['"', '\\']);
    match action.filter(is_sayable) {
        Some(action) => format!("{essence}; charset=utf-8; action=\"{action}\""),
        None => format!("{essence}; charset=utf-8"),
    }
}
