//! Grafting: a decrypted plaintext takes the place of its `EncryptedData`.
//!
//! The plaintext is scanned in the namespace context of the element that it replaces (XML-Enc 4.4:
//! the parent's, since the replaced element and its declarations are gone) and linked in; nothing
//! is serialized. The rule: a plaintext is balanced by itself, so that no end tag in it can close
//! an element around it.

use crate::document::{Document, error};
use crate::error::{Failure, Limit, ParseError, Position, Problem, too_many};
use crate::limits::OFFSET_SPACE;
use crate::options::ParseOptions;
use crate::parts::Segment;
use crate::scan::{self, Whole};
use crate::tape::{GraftSpan, NO_PARENT, NodeId, flags};

/// What a plaintext is (the `Type` of XML-Enc 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Graft {
    /// One element. White space, comments and processing instructions around it are kept.
    Element,
    /// Anything that may stand inside an element.
    Content,
}

/// The elements that a graft brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grafted {
    first: u32,
    last: u32,
}

impl Grafted {
    /// All new elements, in document order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (self.first..self.last).map(NodeId::new)
    }

    /// The first element; `None` if the plaintext has none.
    pub fn first(&self) -> Option<NodeId> {
        (self.first < self.last).then(|| NodeId::new(self.first))
    }

    /// Whether an element came with this graft.
    pub fn contains(&self, node: NodeId) -> bool {
        (self.first..self.last).contains(&(node.index() as u32))
    }
}

impl Document {
    /// Scans `plaintext` and links it in place of the element `at`. Ids in it join the index.
    ///
    /// # Errors
    ///
    /// What [`Document::parse`] refuses, in the plaintext; its encoding is UTF-8.
    /// [`Problem::NotGraftable`] if `at` was replaced before, lies in something replaced, or is
    /// the root and `content` not [`Graft::Element`]. The document is then unchanged.
    pub fn graft(
        &mut self,
        at: NodeId,
        plaintext: Vec<u8>,
        content: Graft,
        options: &ParseOptions,
    ) -> Result<Grafted, ParseError> {
        let plain_error = |problem| ParseError {
            position: Position {
                offset: 0,
                line: 1,
                column: 1,
            },
            problem,
        };
        if !self.is_graftable(at, content) {
            return Err(plain_error(Problem::NotGraftable));
        }
        let base = self
            .parts
            .segments
            .last()
            .map_or(0, |last| last.base as usize + last.text.len() + 1);
        let allowed = options
            .limits
            .message
            .min(OFFSET_SPACE.saturating_sub(base));
        if plaintext.len() > allowed {
            return Err(plain_error(too_many(Limit::Message, &options.limits)));
        }
        let text = String::from_utf8(plaintext).map_err(|not_utf8| {
            let offset = not_utf8.utf8_error().valid_up_to();
            let problem = Problem::MalformedEncoding { encoding: "UTF-8" };
            error(not_utf8.as_bytes(), Failure { offset, problem })
        })?;

        let base = base as u32;
        let first = self.parts.tape.len() as u32;
        let parent = self.entry(at.index() as u32).parent;
        let whole = match content {
            Graft::Element => Whole::Element,
            Graft::Content => Whole::Content,
        };
        let declarations = self.parts.declarations.len();
        let qualified = self.parts.qualified.len();
        let (listed, unlisted) = (self.parts.listed.len(), self.parts.unlisted);
        let long_tags = self.parts.long_tags.len();
        let ids = self.parts.ids.mark();
        let scanned = match scan::scan(&text, base, whole, parent, &mut self.parts, options) {
            Ok(scanned) => scanned,
            Err(failure) => {
                self.parts.tape.truncate(first as usize);
                self.parts.declarations.truncate(declarations);
                self.parts.qualified.truncate(qualified);
                self.parts.listed.truncate(listed);
                self.parts.unlisted = unlisted;
                self.parts.long_tags.truncate(long_tags);
                self.parts.ids.take_back(ids, NodeId::new(first));
                return Err(error(text.as_bytes(), *failure));
            }
        };

        let last = self.parts.tape.len() as u32;
        let index = at.index() as u32;
        let place = self
            .parts
            .replaced
            .partition_point(|&(replaced, _)| replaced < index);
        self.parts
            .replaced
            .insert(place, (index, self.parts.grafts.len() as u32));
        self.parts.grafts.push(GraftSpan {
            at: at.index() as u32,
            first,
            last,
            start: base,
            end: base + text.len() as u32,
            content: scanned.content,
        });
        self.parts.segments.push(Segment { base, text });
        self.parts.tape[at.index()].flags |= flags::REPLACED;
        let mut ancestor = parent;
        while ancestor != NO_PARENT {
            let entry = &mut self.parts.tape[ancestor as usize];
            entry.flags |= flags::HOLDS_GRAFT | flags::MIXED;
            ancestor = entry.parent;
        }
        Ok(Grafted { first, last })
    }

    fn is_graftable(&self, at: NodeId, content: Graft) -> bool {
        if at.index() >= self.parts.tape.len() {
            return false;
        }
        if self.parts.tape[at.index()].parent == NO_PARENT && content != Graft::Element {
            return false;
        }
        self.element(at).is_live()
    }
}
