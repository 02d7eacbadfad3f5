//! The `URI` attribute of a reference (XML-DSig 4.4.3.1 and 4.4.3.2): which node of this document
//! it names.
//!
//! The one rule: only the four same-document forms of the specification are understood here.
//! Whatever else a URI may be, this module never dereferences it.

/// What a same-document reference selects, and whether comments belong to the selection (XML-DSig
/// 4.4.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SameDocument<'u> {
    /// `""` (without comments) or `#xpointer(/)` (with comments): the document that holds the
    /// signature.
    Document {
        /// Whether comment nodes are part of the selection.
        comments: bool,
    },
    /// `#id` (without comments) or `#xpointer(id('id'))` (with comments): the element with that id.
    Element {
        /// The value of the id attribute.
        id: &'u str,
        /// Whether comment nodes are part of the selection.
        comments: bool,
    },
}

impl<'u> SameDocument<'u> {
    /// Reads the `URI` attribute; `None` when it is not one of the four same-document forms.
    ///
    /// ```
    /// use soapstone_xmlsec::dsig::SameDocument;
    /// let body = SameDocument::Element { id: "body", comments: false };
    /// assert_eq!(SameDocument::parse("#body"), Some(body));
    /// assert_eq!(SameDocument::parse("http://example.org/"), None);
    /// ```
    #[must_use]
    pub fn parse(uri: &'u str) -> Option<Self> {
        if uri.is_empty() {
            return Some(Self::Document { comments: false });
        }
        let fragment = uri.strip_prefix('#')?;
        if fragment == "xpointer(/)" {
            return Some(Self::Document { comments: true });
        }
        if let Some(argument) = fragment
            .strip_prefix("xpointer(id(")
            .and_then(|rest| rest.strip_suffix("))"))
        {
            let id = unquote(argument.trim())?;
            return is_name(id).then_some(Self::Element { id, comments: true });
        }
        is_name(fragment).then_some(Self::Element {
            id: fragment,
            comments: false,
        })
    }

    /// Whether comment nodes are part of the selection.
    #[must_use]
    pub const fn comments(self) -> bool {
        match self {
            Self::Document { comments } | Self::Element { comments, .. } => comments,
        }
    }
}

fn unquote(argument: &str) -> Option<&str> {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| argument.strip_prefix(quote)?.strip_suffix(quote))
}

/// Ids in the wild are not always NCNames (UUIDs that begin with a digit are common), so only what
/// would make the fragment something else than a bare id is excluded: empty, parentheses, quotes
/// and white space.
fn is_name(id: &str) -> bool {
    // Nearly all ids are made of these alone.
    let is_plain =
        |octet: &u8| matches!(octet, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    !id.is_empty()
        && (id.as_bytes().iter().all(is_plain)
            || !id.contains(|character: char| {
                matches!(character, '(' | ')' | '\'' | '"' | '#') || character.is_whitespace()
            }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_forms_select_the_document_or_an_element_with_or_without_comments() {
        assert_eq!(
            SameDocument::parse(""),
            Some(SameDocument::Document { comments: false })
        );
        assert_eq!(
            SameDocument::parse("#xpointer(/)"),
            Some(SameDocument::Document { comments: true })
        );
        assert_eq!(
            SameDocument::parse("#a-1"),
            Some(SameDocument::Element {
                id: "a-1",
                comments: false
            })
        );
        assert_eq!(
            SameDocument::parse("#xpointer(id('a'))"),
            Some(SameDocument::Element {
                id: "a",
                comments: true
            })
        );
        assert_eq!(
            SameDocument::parse("#xpointer(id(\"a\"))"),
            Some(SameDocument::Element {
                id: "a",
                comments: true
            })
        );
    }

    #[test]
    fn anything_else_is_not_a_same_document_reference() {
        for uri in [
            "#",
            "a",
            "file:///etc/passwd",
            "#xpointer(//x)",
            "#xpointer(id('a')/b)",
            "#xpointer(id('a' 'b'))",
            "a#b",
            "#a b",
        ] {
            assert_eq!(SameDocument::parse(uri), None, "{uri}");
        }
    }
}
