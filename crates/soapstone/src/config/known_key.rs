//! The keys of configuration files, as those who read them ask for them.
//!
//! The rule kept here: nothing is listed twice. What a reader asks for is what there is, so that
//! descriptions and tests of all keys can be compared with the code.

/// A key that a reader asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownKey {
    /// The table that it stands in, as it is written between brackets; empty for the outermost.
    pub table: String,
    /// Its name.
    pub key: &'static str,
    /// What it holds.
    pub kind: KeyKind,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KeyKind {
    /// A string.
    Text,
    /// An array of strings.
    Texts,
    /// A string that is a secret.
    Secret,
    /// The name of an environment variable that holds a secret.
    Variable,
    /// True or false.
    Boolean,
    /// One of these strings.
    Choice(Vec<String>),
    /// An array of these strings.
    Choices(Vec<String>),
    /// A whole number.
    Integer {
        /// The smallest one.
        least: u64,
        /// The largest one.
        most: u64,
    },
    /// A duration with a unit.
    Duration,
    /// A number of bytes, with a unit or without.
    Size,
    /// A moment or a date.
    Moment,
    /// The name of a file that need not exist.
    Path,
    /// The name of a file.
    File,
    /// The name of a file with a secret.
    SecretFile,
    /// The name of a file, or an array of them.
    Files,
    /// A table.
    Table,
    /// An array of tables.
    Tables,
    /// A table, or an array of them.
    TableOrTables,
    /// True, false, or a table.
    FlagOrTable,
    /// True, false, or an array of strings.
    FlagOrStrings,
    /// A table of names and moments.
    Moments,
}
