//! Packages over HTTP (SOAP Messages with Attachments): what a head announces, and what a package
//! that is written says of itself.
//!
//! The rule kept here: what a package is put together of is written anew. Of all else that its
//! sender says beside the message, the action alone is kept.

use http::{HeaderMap, HeaderValue, header};
use soapstone::mime::{
    Attachment, MediaType, Message, Package, PackageError, Packaging, is_multipart,
};
use soapstone::wss::SoapVersion;

use crate::wire::media;

/// What is said of a package that an endpoint has no word for.
pub(crate) const NO_WORD: &str = "found a package, and `security` of the endpoint has no `attachments`: \
    attachments = {} takes packages, except at a node on the way";

/// A package that a head announces.
#[derive(Clone, Debug)]
pub(crate) struct Announced {
    /// The value of `Content-Type`.
    content_type: String,
    /// What its parameter `type` says.
    pub(crate) version: SoapVersion,
}

/// Why a package is not taken, whatever the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Its message has content that stands in other parts (MTOM).
    Xop,
    /// Its head is not as SOAP Messages with Attachments, 3, has it.
    Head(&'static str),
}

/// How a package is written.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    version: SoapVersion,
    /// What the sender says of its action in the `Content-Type` of the package.
    action: Option<String>,
    /// The same in that of its root.
    root_action: Option<String>,
}

/// A package that was taken apart.
pub(crate) struct Unpacked {
    pub(crate) message: Message,
    pub(crate) packing: Packing,
}

/// A package that is ready to leave.
pub(crate) struct Packed {
    pub(crate) content_type: HeaderValue,
    pub(crate) body: Vec<u8>,
}

impl Announced {
    /// What a head announces; `None` if it is no package.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Result<Self, Unfit>> {
        let content_type = headers.get(header::CONTENT_TYPE)?;
        let essence = content_type.as_bytes().split(|byte| *byte == b';').next();
        let essence = essence.unwrap_or_default().trim_ascii();
        if !essence.eq_ignore_ascii_case(b"multipart/related") {
            return None;
        }
        let content_type = content_type.to_str().ok()?;
        if !is_multipart(content_type) {
            return Some(Err(Unfit::Head("parameters as RFC 2045, 5.1, has them")));
        }
        if headers.contains_key(header::CONTENT_ENCODING) {
            return Some(Err(Unfit::Head("a package without content encoding")));
        }
        let related = MediaType::parse(content_type);
        let kind = related.as_ref().and_then(|it| it.parameter("type"));
        let kind = kind.map(str::to_ascii_lowercase);
        let version = match kind.as_deref() {
            Some("text/xml") => SoapVersion::V11,
            Some("application/soap+xml") => SoapVersion::V12,
            Some("application/xop+xml") => return Some(Err(Unfit::Xop)),
            _ => {
                return Some(Err(Unfit::Head(
                    "the parameter `type` with text/xml or application/soap+xml",
                )));
            }
        };
        Some(Ok(Self {
            content_type: content_type.to_owned(),
            version,
        }))
    }

    /// The value of `Content-Type`.
    pub(crate) fn content_type(&self) -> &str {
        &self.content_type
    }

    /// Takes the package apart.
    ///
    /// # Errors
    /// It can be read in several ways, or has no message with attachments.
    pub(crate) fn unpack(&self, body: &[u8]) -> Result<Unpacked, PackageError> {
        let package = Package::of_body(&self.content_type, body)?;
        let action = |of: Option<&MediaType>| {
            let action = of?.parameter("action")?;
            is_sayable(action).then(|| action.to_owned())
        };
        let packing = Packing {
            version: self.version,
            action: action(package.related.as_ref().map(|(related, _)| related)),
            root_action: action(package.root.media_type().as_ref()),
        };
        let message = package.into_message()?;
        Ok(Unpacked { message, packing })
    }
}

/// Whether a text can stand in a parameter, and no reader takes it for more than one.
fn is_sayable(text: &str) -> bool {
    let is_character = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.bytes().all(is_character)
}

impl Packing {
    /// How a package is written of whose sender nothing is passed on but what was proven.
    pub(crate) fn proven(version: SoapVersion) -> Self {
        Self {
            version,
            action: None,
            root_action: None,
        }
    }

    /// The same for a message of that version, whatever its sender announced.
    pub(crate) fn of_version(self, version: SoapVersion) -> Self {
        Self { version, ..self }
    }

    /// The actions that go on: that of the package, and that of its root.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &str> {
        self.action
            .iter()
            .chain(&self.root_action)
            .map(String::as_str)
    }

    /// Writes a message as a package.
    pub(crate) fn write(&self, root: Vec<u8>, parts: Vec<Attachment>) -> Packed {
        let root_type = match &self.root_action {
            Some(action) => media::with_action(self.version, action),
            None => media::plain(self.version),
        };
        let action = self.action.as_deref();
        let parameters: Vec<(&str, &str)> = action.map(|it| ("action", it)).into_iter().collect();
        let packaging = Packaging {
            root_type: root_type.to_str().unwrap_or(self.version.media_type()),
            parameters: &parameters,
        };
        let packed = packaging.write(&Message { root, parts });
        // Nothing stands there that no field can have.
        let content_type = HeaderValue::try_from(packed.content_type);
        Packed {
            content_type: content_type
                .unwrap_or_else(|_| HeaderValue::from_static("multipart/related")),
            body: packed.body,
        }
    }
}

/// The message in a body with that head: the root of a package, or the body itself. `None` where it
/// is a package that is not taken.
pub(crate) fn message_in<'b>(headers: &HeaderMap, body: &'b [u8]) -> Option<&'b [u8]> {
    match Announced::of(headers) {
        None => Some(body),
        Some(Ok(package)) => {
            let package = Package::of_body(package.content_type(), body).ok()?;
            Some(package.root.content)
        }
        Some(Err(_)) => None,
    }
}

/// The version in which a sender with that head is answered.
pub(crate) fn spoken(headers: &HeaderMap) -> SoapVersion {
    let of_package = || Some(Announced::of(headers)?.ok()?.version);
    let version = media::version_of(headers).or_else(of_package);
    version.unwrap_or(SoapVersion::V11)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(content_type: &'static str) -> Option<Result<SoapVersion, Unfit>> {
        let value = HeaderValue::from_static(content_type);
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, value)]);
        Announced::of(&headers).map(|found| found.map(|it| it.version))
    }

    #[test]
    fn a_package_announces_the_version_of_its_message() {
        for (content_type, found) in [
            ("text/xml", None),
            ("multipart/form-data; boundary=b", None),
            (
                "Multipart/Related; boundary=b; type=\"text/xml\"",
                Some(Ok(SoapVersion::V11)),
            ),
            (
                "multipart/related; boundary=b; type=\"Application/SOAP+xml\"",
                Some(Ok(SoapVersion::V12)),
            ),
            (
                "multipart/related; boundary=b; type=\"application/xop+xml\"; start-info=\"text/xml\"",
                Some(Err(Unfit::Xop)),
            ),
        ] {
            assert_eq!(announced(content_type), found, "{content_type}");
        }
        for unfit in [
            "multipart/related; boundary=b",
            "multipart/related; boundary=b; type=\"text/html\"",
            "multipart/related; boundary=b; type=text/xml",
            "multipart/related; boundary=b; type=\"text/xml\"; TYPE=\"application/xop+xml\"",
        ] {
            let found = announced(unfit);
            assert!(matches!(found, Some(Err(Unfit::Head(_)))), "{unfit}");
        }
    }

    /// RFC 2387, 3.1 to 3.3; RFC 3902.
    #[test]
    fn a_package_is_written_with_its_own_parameters_and_the_action() {
        let said = "multipart/related; type=\"application/soap+xml\"; boundary=b; start=\"<r@x>\"; \
            start-info=\"action=urn:other\"; action=\"urn:a\"; x=1";
        let body = b"--b\r\nContent-ID: <r@x>\r\nContent-Type: application/soap+xml; action=\"urn:b\"\r\n\r\n<a/>\r\n--b--";
        let announced = Announced {
            content_type: said.to_owned(),
            version: SoapVersion::V12,
        };
        let unpacked = announced.unpack(body).expect("a package");
        let actions: Vec<&str> = unpacked.packing.actions().collect();
        assert_eq!(actions, ["urn:a", "urn:b"]);
        let packed = unpacked
            .packing
            .write(unpacked.message.root, unpacked.message.parts);
        let written = packed.content_type.to_str().expect("text");
        let related = MediaType::parse(written).expect("a media type");
        assert_eq!(related.parameter("type"), Some("application/soap+xml"));
        assert_eq!(related.parameter("action"), Some("urn:a"));
        for left_out in ["start-info", "x"] {
            assert_eq!(related.parameter(left_out), None);
        }
        let read = Package::of_body(written, &packed.body).expect("a package");
        let (root, _) = read.root.header.field("Content-Type").expect("a field");
        assert_eq!(
            root,
            "application/soap+xml; charset=utf-8; action=\"urn:b\""
        );
        let (id, _) = read.root.header.field("Content-ID").expect("a field");
        assert_eq!(related.parameter("start"), Some(id));
    }
}
