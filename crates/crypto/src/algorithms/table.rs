//! How a kind of algorithm is written down: one enum, with the table of its names.

use std::fmt;

/// Writes one enum of algorithms together with its table of names.
macro_rules! algorithms {
    (
        $(#[$about:meta])*
        $name:ident, unknown = $what:literal {
            $( $(#[$note:meta])* $variant:ident = $short:literal, $uri:literal $(or $alias:literal)*; )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $( $(#[$note])* #[doc = concat!("\n\n`", $uri, "`")] $variant, )* }

        impl $name {
            /// Every algorithm of this kind, in the order of the specification's tables.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )*];

            /// The algorithm that `uri` identifies, or `None` when this crate has no such
            /// algorithm.
            ///
            /// Comparison is byte by byte, as XML Signature and XML Encryption demand of
            /// identifiers.
            #[must_use]
            pub fn from_uri(uri: &str) -> Option<Self> {
                match uri { $( $uri $(| $alias)* => Some($name::$variant), )* _ => None }
            }

            /// The identifier written into messages.
            #[must_use]
            pub const fn uri(self) -> &'static str {
                match self { $( $name::$variant => $uri, )* }
            }

            /// The name used in configuration files, on the command line and in logs.
            #[must_use]
            pub const fn short_name(self) -> &'static str {
                match self { $( $name::$variant => $short, )* }
            }

            /// The algorithm with this short name (in any case) or this URI.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::from_uri(name)
                    .or_else(|| Self::ALL.iter().copied().find(|known| known.short_name().eq_ignore_ascii_case(name)))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.short_name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownAlgorithm;

            fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
                Self::from_name(name).ok_or_else(|| UnknownAlgorithm { expected: $what, found: name.to_owned() })
            }
        }
    };
}

pub(super) use algorithms;

/// A name or URI that is not an algorithm of the kind that was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    /// The kind of algorithm, for example `digest algorithm`.
    pub expected: &'static str,
    /// The name or URI as it was given.
    pub found: String,
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "expected a {}, found `{}`",
            self.expected, self.found
        )
    }
}

impl std::error::Error for UnknownAlgorithm {}
