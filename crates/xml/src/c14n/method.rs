//! Canonicalization methods and their names.

/// A canonicalization method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Canonicalization {
    /// Canonical XML 1.0.
    Inclusive10,
    /// Canonical XML 1.0 with comments.
    Inclusive10WithComments,
    /// Canonical XML 1.1.
    Inclusive11,
    /// Canonical XML 1.1 with comments.
    Inclusive11WithComments,
    /// Exclusive XML Canonicalization 1.0.
    Exclusive,
    /// Exclusive XML Canonicalization 1.0 with comments.
    ExclusiveWithComments,
}

impl Canonicalization {
    /// All methods.
    pub const ALL: [Canonicalization; 6] = [
        Canonicalization::Inclusive10,
        Canonicalization::Inclusive10WithComments,
        Canonicalization::Inclusive11,
        Canonicalization::Inclusive11WithComments,
        Canonicalization::Exclusive,
        Canonicalization::ExclusiveWithComments,
    ];

    /// The method that an algorithm URI names.
    pub fn from_uri(uri: &str) -> Option<Canonicalization> {
        Canonicalization::ALL
            .into_iter()
            .find(|method| method.uri() == uri)
    }

    /// Its algorithm URI.
    pub fn uri(self) -> &'static str {
        match self {
            Canonicalization::Inclusive10 => "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
            Canonicalization::Inclusive10WithComments => {
                "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments"
            }
            Canonicalization::Inclusive11 => "http://www.w3.org/2006/12/xml-c14n11",
            Canonicalization::Inclusive11WithComments => {
                "http://www.w3.org/2006/12/xml-c14n11#WithComments"
            }
            Canonicalization::Exclusive => "http://www.w3.org/2001/10/xml-exc-c14n#",
            Canonicalization::ExclusiveWithComments => {
                "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"
            }
        }
    }

    /// The method of this short name (`exc-c14n`, `c14n`, `c14n11`, each also with
    /// `-with-comments`) or URI.
    pub fn from_name(name: &str) -> Option<Canonicalization> {
        Canonicalization::ALL
            .into_iter()
            .find(|method| method.short_name() == name || method.uri() == name)
    }

    /// The name used in configuration.
    pub fn short_name(self) -> &'static str {
        match self {
            Canonicalization::Inclusive10 => "c14n",
            Canonicalization::Inclusive10WithComments => "c14n-with-comments",
            Canonicalization::Inclusive11 => "c14n11",
            Canonicalization::Inclusive11WithComments => "c14n11-with-comments",
            Canonicalization::Exclusive => "exc-c14n",
            Canonicalization::ExclusiveWithComments => "exc-c14n-with-comments",
        }
    }

    /// Whether comments are kept.
    pub fn with_comments(self) -> bool {
        matches!(
            self,
            Canonicalization::Inclusive10WithComments
                | Canonicalization::Inclusive11WithComments
                | Canonicalization::ExclusiveWithComments
        )
    }

    /// Whether it is exclusive canonicalization.
    pub fn is_exclusive(self) -> bool {
        matches!(
            self,
            Canonicalization::Exclusive | Canonicalization::ExclusiveWithComments
        )
    }
}
