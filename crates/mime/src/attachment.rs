//! A message as engines work on it: an envelope, and attachments whose transfer encoding is undone.
//!
//! The rule kept here: an attachment has one Content-ID, and no other part of its message has the
//! same.

use std::collections::HashSet;
use std::fmt;

use crate::error::PackageError;
use crate::header::{Header, is_text, shortened};
use crate::media_type::MediaType;
use crate::package::{Package, Part};

/// The fields that are about the content of an attachment, in the order of their canonical form
/// (SwA Profile 1.1.1, 5.4.1). Others are not carried on.
pub(crate) const FIELDS: [&str; 5] = [
    "Content-Description",
    "Content-Disposition",
    "Content-ID",
    "Content-Location",
    "Content-Type",
];

/// A message: an envelope and its attachments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The envelope.
    pub root: Vec<u8>,
    /// The attachments, in their order; none of a message that is no package.
    pub parts: Vec<Attachment>,
}

impl Message {
    /// Bytes of the envelope and of the contents of all attachments together.
    pub fn size(&self) -> usize {
        let attached = self.parts.iter().map(|part| part.content().len());
        self.root.len() + attached.sum::<usize>()
    }
}

impl From<Vec<u8>> for Message {
    fn from(root: Vec<u8>) -> Self {
        Self {
            root,
            parts: Vec::new(),
        }
    }
}

impl From<&str> for Message {
    fn from(root: &str) -> Self {
        root.as_bytes().to_vec().into()
    }
}

/// An attachment: a part of a package beside its message.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    id: String,
    header: Header,
    content: Vec<u8>,
}

impl fmt::Debug for Attachment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What it holds may be secret.
        let mut shown = out.debug_struct("Attachment");
        shown.field("id", &self.id).finish_non_exhaustive()
    }
}

impl Attachment {
    /// An attachment with this Content-ID (without angle brackets), `Content-Type` and content.
    ///
    /// # Errors
    /// The Content-ID or the `Content-Type` does not follow its grammar.
    pub fn new(
        id: impl Into<String>,
        content_type: &str,
        content: Vec<u8>,
    ) -> Result<Self, AttachmentError> {
        let id = id.into();
        if !is_id(&id) {
            let found = shortened(&id);
            return Err(AttachmentError::Id { found });
        }
        if MediaType::parse(content_type).is_none() || !is_text(content_type) {
            let found = shortened(content_type);
            return Err(AttachmentError::ContentType { found });
        }
        let mut header = Header::default();
        header.set("Content-Type", content_type);
        header.set("Content-ID", &format!("<{id}>"));
        Ok(Self {
            id,
            header,
            content,
        })
    }

    /// The same attachment with a field: `Content-Description`, `Content-Disposition` or
    /// `Content-Location`.
    ///
    /// # Errors
    /// Its value goes over a line, or it is another field.
    pub fn with_field(mut self, name: &str, value: &str) -> Result<Self, AttachmentError> {
        let known = FIELDS.iter().find(|known| known.eq_ignore_ascii_case(name));
        let known = known.filter(|known| !matches!(**known, "Content-ID" | "Content-Type"));
        match known.filter(|_| is_text(value)) {
            Some(known) => {
                self.header.set(known, value.trim());
                Ok(self)
            }
            None => Err(AttachmentError::Field {
                name: shortened(name),
            }),
        }
    }

    /// The Content-ID without angle brackets.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The content, as it was before the transfer.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Takes the content.
    pub fn into_content(self) -> Vec<u8> {
        self.content
    }

    /// The value of a field: `Content-Type`, `Content-Description`, `Content-Disposition`,
    /// `Content-Location`. Others are not kept.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.header.field(name).map(|(value, _)| value)
    }

    /// What it says that it is; text/plain, if it says nothing (RFC 2045, 5.2). `None` where what
    /// it says does not follow the grammar.
    pub fn media_type(&self) -> Option<MediaType> {
        MediaType::parse(self.field("Content-Type").unwrap_or("text/plain"))
    }

    /// Puts a content in the place of its own.
    pub fn set_content(&mut self, content: Vec<u8>) {
        self.content = content;
    }

    /// Takes the content out for a change of it, which [`set_content`](Self::set_content) ends.
    pub fn take_content(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.content)
    }

    /// Puts a `Content-Type` in the place of its own.
    ///
    /// # Errors
    /// It does not follow the grammar.
    pub fn set_content_type(&mut self, value: &str) -> Result<(), AttachmentError> {
        if MediaType::parse(value).is_none() || !is_text(value) {
            let found = shortened(value);
            return Err(AttachmentError::ContentType { found });
        }
        self.header.set("Content-Type", value);
        Ok(())
    }

    /// Takes out all fields but `Content-ID` and `Content-Type`.
    pub fn drop_other_fields(&mut self) {
        self.header.keep(&["Content-ID", "Content-Type"]);
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Puts other fields in the place of its own. They may name its own Content-ID, or none.
    pub(crate) fn replace_header(&mut self, mut header: Header) -> Result<(), AttachmentError> {
        let own = format!("<{}>", self.id);
        match header.field("Content-ID") {
            Some((id, _)) if id != own => {
                let found = shortened(id);
                return Err(AttachmentError::Id { found });
            }
            _ => {}
        }
        header.keep(&FIELDS);
        header.set("Content-ID", &own);
        self.header = header;
        Ok(())
    }

    /// Reads a part of a package.
    fn of(part: Part<'_>) -> Result<Self, PackageError> {
        let line = part.header.line_of("Content-ID");
        let id = part.id().filter(|id| is_id(id));
        let id = id.ok_or(PackageError::ContentId { line })?.to_owned();
        let content = part.decoded().ok_or_else(|| PackageError::PartEncoded {
            line: part.header.line_of("Content-Transfer-Encoding"),
            found: shortened(&part.encoding()),
        })?;
        let content = content.into_owned();
        let mut header = part.header;
        header.keep(&FIELDS);
        Ok(Self {
            id,
            header,
            content,
        })
    }
}

/// Whether a text can be the inside of a `Content-ID` between its angle brackets, and be named by a
/// URI: characters that can be seen, and no brackets.
pub(crate) fn is_id(text: &str) -> bool {
    let is_character = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
    !text.is_empty() && text.bytes().all(is_character)
}

impl Package<'_> {
    /// The message of the package: its envelope, and its attachments decoded.
    ///
    /// # Errors
    /// A [`PackageError`]: the root is no envelope of SOAP, or one whose content stands elsewhere
    /// (XOP); a part has no Content-ID, or that of another part, or an encoding that is not undone.
    pub fn into_message(self) -> Result<Message, PackageError> {
        let line = self.root.header.line_of("Content-Type");
        let media_type = self.root.media_type();
        let essence = media_type.as_ref().map_or("", MediaType::essence);
        match essence {
            "text/xml" | "application/soap+xml" => {}
            "application/xop+xml" => return Err(PackageError::Xop { line }),
            other => {
                let found = shortened(other);
                return Err(PackageError::RootType { line, found });
            }
        }
        if let Some((related, line)) = &self.related
            && let Some(announced) = related.parameter("type")
            && !announced.eq_ignore_ascii_case(essence)
        {
            let found = shortened(announced);
            return Err(PackageError::RootType { line: *line, found });
        }
        let mut ids = HashSet::new();
        ids.extend(self.root.id().map(str::to_owned));
        let mut parts = Vec::with_capacity(self.attachments.len());
        for part in self.attachments {
            let line = part.header.line_of("Content-ID");
            let attachment = Attachment::of(part)?;
            if !ids.insert(attachment.id.clone()) {
                let id = shortened(&attachment.id);
                return Err(PackageError::ContentIdRepeated { line, id });
            }
            parts.push(attachment);
        }
        Ok(Message {
            root: self.root.content.to_vec(),
            parts,
        })
    }
}

/// Why an attachment cannot be made, or has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachmentError {
    /// The Content-ID is none, or another one than that of the attachment.
    Id {
        /// What was found.
        found: String,
    },
    /// The `Content-Type` does not follow the grammar.
    ContentType {
        /// What was found.
        found: String,
    },
    /// A field that attachments do not carry, or whose value is not of one line.
    Field {
        /// Its name.
        name: String,
    },
    /// A field whose canonical form readers differ about.
    NotCanonical {
        /// Its name.
        name: &'static str,
        /// What stands in the way.
        problem: &'static str,
    },
    /// It is to begin with a header, and does not.
    NoHeader,
}

impl fmt::Display for AttachmentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id { found } => write!(
                out,
                "expected a Content-ID such as `part@sender.example` of this part alone, found `{found}`"
            ),
            Self::ContentType { found } => write!(
                out,
                "expected a media type as RFC 2045, 5.1, has it, found `{found}`"
            ),
            Self::Field { name } => write!(
                out,
                "expected Content-Description, Content-Disposition or Content-Location with a value of one line, found `{name}`"
            ),
            Self::NotCanonical { name, problem } => write!(
                out,
                "expected a `{name}` with one canonical form, found one with {problem}"
            ),
            Self::NoHeader => {
                out.write_str("expected the header of a part at its beginning, found none")
            }
        }
    }
}

impl std::error::Error for AttachmentError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> Result<Message, PackageError> {
        let file = file.replace('\n', "\r\n");
        let package = Package::read(file.as_bytes())?.expect("a header");
        package.into_message()
    }

    fn package(root: &str, parts: &str) -> String {
        format!(
            "Content-Type: multipart/related; boundary=b; type=\"text/xml\"\n\n--b\n{root}\n\n<a/>\n{parts}--b--\n"
        )
    }

    const ROOT: &str = "Content-Type: text/xml\nContent-ID: <root@x>";

    #[test]
    fn a_package_is_read_into_its_message() {
        let parts = "--b\nContent-ID: <one@x>\nContent-Type: image/png\nX-Other: 1\n\nPNG\n\
            --b\nContent-ID: <two@x>\nContent-Transfer-Encoding: base64\n\naGVs\nbG8=\n";
        let message = read(&package(ROOT, parts)).expect("a message");
        assert_eq!(message.root, b"<a/>");
        let [one, two] = &message.parts[..] else {
            panic!("two attachments");
        };
        assert_eq!((one.id(), one.content()), ("one@x", &b"PNG"[..]));
        assert_eq!(one.field("content-type"), Some("image/png"));
        assert_eq!(one.field("X-Other"), None);
        assert_eq!((two.id(), two.content()), ("two@x", &b"hello"[..]));
        assert!(two.media_type().expect("the default").is("text/plain"));
    }

    /// RFC 2392, 2: a Content-ID is of one part in the world. That of the message counts, too.
    #[test]
    fn a_content_id_of_two_parts_is_refused() {
        let part = |id: &str| format!("--b\nContent-ID: <{id}>\n\nx\n");
        for (parts, line) in [(part("one@x") + &part("one@x"), 13), (part("root@x"), 9)] {
            let refused = read(&package(ROOT, &parts)).expect_err("a Content-ID twice");
            let id = if line == 13 { "one@x" } else { "root@x" };
            let id = id.to_owned();
            assert_eq!(refused, PackageError::ContentIdRepeated { line, id });
        }
    }

    #[test]
    fn a_part_that_no_uri_can_name_is_refused() {
        for field in [
            "X-None: 1",
            "Content-ID: one@x",
            "Content-ID: <>",
            "Content-ID: <a b@x>",
        ] {
            let parts = format!("--b\n{field}\n\nx\n");
            let refused = read(&package(ROOT, &parts)).expect_err(field);
            assert_eq!(refused, PackageError::ContentId { line: 9 }, "{field}");
        }
    }

    #[test]
    fn an_encoding_that_is_not_undone_is_refused() {
        for (encoding, content) in [("quoted-printable", "=41"), ("base64", "a"), ("x-zip", "a")] {
            let parts = format!(
                "--b\nContent-ID: <one@x>\nContent-Transfer-Encoding: {encoding}\n\n{content}\n"
            );
            let refused = read(&package(ROOT, &parts)).expect_err(encoding);
            let found = encoding.to_owned();
            assert_eq!(refused, PackageError::PartEncoded { line: 10, found });
        }
    }

    #[test]
    fn a_root_that_is_no_envelope_is_refused() {
        let xop = "Content-Type: application/xop+xml; type=\"text/xml\"";
        let refused = read(&package(xop, "")).expect_err("XOP");
        assert_eq!(refused, PackageError::Xop { line: 4 });
        for (root, line, found) in [
            ("Content-Type: application/xml", 4, "application/xml"),
            ("Content-Type: application/soap+xml", 1, "text/xml"),
            ("X-None: 1", 4, "text/plain"),
        ] {
            let refused = read(&package(root, "")).expect_err(root);
            let found = found.to_owned();
            assert_eq!(refused, PackageError::RootType { line, found }, "{root}");
        }
    }
}
