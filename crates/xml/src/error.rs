//! Why a document was not accepted.
//!
//! The rule: every refusal has a reason of its own and the place in the input where it was found.

use crate::limits::{Limits, OFFSET_SPACE};
use std::fmt;

/// A place in a document. Lines end with LF, CR or CRLF; columns count characters. Both start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Position {
    /// Offset in bytes. In the input as received if the input could not be decoded, else in its
    /// UTF-8 form.
    pub offset: usize,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl Position {
    /// The position of `offset` in `bytes`.
    pub fn of(bytes: &[u8], offset: usize) -> Position {
        let before = &bytes[..offset.min(bytes.len())];
        let (mut line, mut line_start) = (1, 0);
        for (at, &byte) in before.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                line += 1;
                line_start = at + 1;
            }
        }
        let characters = before[line_start..]
            .iter()
            .filter(|&&byte| byte & 0xC0 != 0x80);
        Position {
            offset,
            line,
            column: characters.count() as u32 + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// A document, or a plaintext to be grafted into one, that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where, in the message or in the plaintext.
    pub position: Position,
    /// Why.
    pub problem: Problem,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {})", self.problem, self.position)
    }
}

impl std::error::Error for ParseError {}

/// The quantity of [`Limits`](crate::Limits) that a document exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Nesting of elements.
    Depth,
    /// Attributes of one element.
    Attributes,
    /// Bytes of the message.
    Message,
    /// Elements of the document.
    Elements,
    /// Id attributes of the document.
    Ids,
    /// Bytes of one name.
    Name,
    /// Different names of the document.
    Names,
    /// Different prefixes or namespace names of the document.
    Namespaces,
}

impl Limit {
    /// The name of the field of [`Limits`](crate::Limits).
    pub fn name(self) -> &'static str {
        match self {
            Limit::Depth => "depth",
            Limit::Attributes => "attributes",
            Limit::Message => "message",
            Limit::Elements => "elements",
            Limit::Ids => "ids",
            Limit::Name => "name",
            Limit::Names => "names",
            Limit::Namespaces => "namespaces",
        }
    }
}

/// What is wrong with a document. Clauses are those of XML 1.0 (5th edition) and Namespaces in XML
/// 1.0 (3rd edition).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A bound of [`Limits`](crate::Limits) is exceeded.
    TooMany {
        /// Which one.
        limit: Limit,
        /// Its value.
        allowed: usize,
    },
    /// A document type declaration. It is refused at its first byte.
    Doctype,
    /// Not UTF-8, or not UTF-16, or not what the declared encoding allows.
    MalformedEncoding {
        /// The encoding in which the input was read.
        encoding: &'static str,
    },
    /// An encoding this parser does not read.
    UnsupportedEncoding {
        /// Its name as declared.
        encoding: String,
    },
    /// The declared encoding is not that of the bytes.
    WrongEncoding {
        /// The encoding as declared.
        declared: String,
        /// The encoding of the bytes.
        actual: &'static str,
    },
    /// A version that is not 1.x (XML 2.8).
    UnsupportedVersion {
        /// The version as declared.
        version: String,
    },
    /// The input ends inside something.
    UnexpectedEnd {
        /// What was not finished.
        inside: &'static str,
    },
    /// Something else than the grammar allows here.
    Expected {
        /// What the grammar wants.
        expected: &'static str,
    },
    /// A character that XML does not allow (XML 2.2).
    IllegalCharacter {
        /// The character.
        character: char,
    },
    /// A name that is no NCName or QName where one is wanted.
    IllegalName,
    /// `]]>` in character data (XML 2.4).
    CdataEndInText,
    /// `--` in a comment (XML 2.5).
    DoubleHyphenInComment,
    /// A processing instruction with a target that is reserved: `xml` in any letter case (XML 2.6).
    ReservedTarget,
    /// A reference to an entity other than the five predefined ones.
    UnknownEntity {
        /// The entity's name.
        name: String,
    },
    /// A reference that is not well-formed, or to a character that XML does not allow (XML 4.1).
    MalformedReference,
    /// `<` in an attribute value (XML 3.1).
    LessThanInAttribute,
    /// An end tag that does not match the start tag (XML 3).
    MismatchedEndTag {
        /// The name of the open element.
        expected: String,
        /// The name in the end tag.
        found: String,
    },
    /// An end tag where no element is open. In a plaintext: text that tries to leave its element.
    UnexpectedEndTag,
    /// Two attributes with the same expanded name (Namespaces 6.3) or the same name (XML 3.1).
    DuplicateAttribute {
        /// The name as in the second one.
        name: String,
    },
    /// A prefix without declaration (Namespaces 5).
    UndeclaredPrefix {
        /// The prefix.
        prefix: String,
    },
    /// A declaration that Namespaces 3 forbids: of `xmlns`, of `xml` with another name, of another
    /// prefix with one of their names.
    ReservedNamespace {
        /// The prefix being declared; empty for the default namespace.
        prefix: String,
    },
    /// `xmlns:p=""` (Namespaces 5: a prefix cannot be undeclared).
    UndeclaringPrefix {
        /// The prefix.
        prefix: String,
    },
    /// Character data outside the root element, or around the element of a
    /// [`Graft::Element`](crate::Graft::Element).
    TextOutsideElement,
    /// A second root element, or more than one element for a
    /// [`Graft::Element`](crate::Graft::Element).
    SecondElement,
    /// No element at all.
    NoElement,
    /// A graft onto an element that is the root, was replaced before, or lies in something
    /// replaced.
    NotGraftable,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::TooMany {
                limit: Limit::Message,
                allowed,
            } => write!(
                f,
                "the document is larger than {allowed} bytes (limit `message`)"
            ),
            Problem::TooMany {
                limit: Limit::Depth,
                allowed,
            } => write!(f, "elements nest deeper than {allowed} (limit `depth`)"),
            Problem::TooMany {
                limit: Limit::Attributes,
                allowed,
            } => write!(
                f,
                "more than {allowed} attributes on one element (limit `attributes`)"
            ),
            Problem::TooMany {
                limit: Limit::Name,
                allowed,
            } => write!(f, "a name is longer than {allowed} bytes (limit `name`)"),
            Problem::TooMany { limit, allowed } => {
                write!(f, "more than {allowed} {0} (limit `{0}`)", limit.name())
            }
            Problem::Doctype => write!(f, "document type declarations are refused"),
            Problem::MalformedEncoding { encoding } => write!(f, "malformed {encoding}"),
            Problem::UnsupportedEncoding { encoding } => write!(
                f,
                "expected UTF-8, UTF-16, ISO-8859-1 or US-ASCII, found encoding `{encoding}`"
            ),
            Problem::WrongEncoding { declared, actual } => write!(
                f,
                "the declared encoding is `{declared}` but the bytes are {actual}"
            ),
            Problem::UnsupportedVersion { version } => {
                write!(f, "expected XML version 1.0, found `{version}`")
            }
            Problem::UnexpectedEnd { inside } => write!(f, "the input ends inside {inside}"),
            Problem::Expected { expected } => write!(f, "expected {expected}"),
            Problem::IllegalCharacter { character } => write!(
                f,
                "character U+{:04X} is not allowed in XML",
                *character as u32
            ),
            Problem::IllegalName => write!(f, "expected a name"),
            Problem::CdataEndInText => write!(f, "`]]>` is not allowed in text"),
            Problem::DoubleHyphenInComment => write!(f, "`--` is not allowed in a comment"),
            Problem::ReservedTarget => {
                write!(f, "a processing instruction must not be named `xml`")
            }
            Problem::UnknownEntity { name } => {
                write!(f, "entity `{name}` is not one of the five predefined ones")
            }
            Problem::MalformedReference => write!(
                f,
                "expected a reference to a legal character or a predefined entity"
            ),
            Problem::LessThanInAttribute => write!(f, "`<` is not allowed in an attribute value"),
            Problem::MismatchedEndTag { expected, found } => {
                write!(f, "expected end tag `{expected}`, found `{found}`")
            }
            Problem::UnexpectedEndTag => write!(f, "an end tag where no element is open"),
            Problem::DuplicateAttribute { name } => write!(f, "attribute `{name}` occurs twice"),
            Problem::UndeclaredPrefix { prefix } => {
                write!(f, "namespace prefix `{prefix}` is not declared")
            }
            Problem::ReservedNamespace { prefix } => write!(
                f,
                "the declaration of namespace prefix `{prefix}` is reserved"
            ),
            Problem::UndeclaringPrefix { prefix } => {
                write!(f, "namespace prefix `{prefix}` cannot be undeclared")
            }
            Problem::TextOutsideElement => write!(f, "character data outside the element"),
            Problem::SecondElement => write!(f, "expected one element, found a second one"),
            Problem::NoElement => write!(f, "expected an element, found none"),
            Problem::NotGraftable => write!(
                f,
                "the element cannot be replaced: it is the root or was replaced before"
            ),
        }
    }
}

/// An id that two elements carry, so that a reference to it is ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateId {
    /// The id.
    pub id: String,
    /// The element that carries it first in the order of scanning.
    pub first: crate::NodeId,
    /// The next one.
    pub second: crate::NodeId,
}

impl fmt::Display for DuplicateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two elements carry the id `{}`", self.id)
    }
}

impl std::error::Error for DuplicateId {}

/// Why and where a scan ended. The offset is one of the text being scanned.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) offset: usize,
    pub(crate) problem: Problem,
}

impl Failure {
    #[cold]
    pub(crate) fn at(offset: usize, problem: Problem) -> Box<Failure> {
        Box::new(Failure { offset, problem })
    }
}

pub(crate) type Scan<T> = Result<T, Box<Failure>>;

/// The problem of having passed a limit.
pub(crate) fn too_many(limit: Limit, limits: &Limits) -> Problem {
    let allowed = match limit {
        Limit::Depth => limits.depth as usize,
        Limit::Attributes => limits.attributes as usize,
        Limit::Message => limits.message.min(OFFSET_SPACE),
        Limit::Elements => limits.elements as usize,
        Limit::Ids => limits.ids as usize,
        Limit::Name => limits.name as usize,
        Limit::Names => limits.names as usize,
        Limit::Namespaces => limits.namespaces as usize,
    };
    Problem::TooMany { limit, allowed }
}
