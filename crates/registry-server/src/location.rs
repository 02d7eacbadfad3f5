//! Where entries are kept.
//!
//! The rule kept here: what is shown of a location holds no password.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where entries are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// SQLite in a file, created when missing: `sqlite:path`.
    Sqlite(PathBuf),
    /// PostgreSQL: `postgres://user:password@host:port/database`.
    Postgres(String),
}

impl Location {
    /// Reads a location. Relative paths begin at `folder`.
    pub fn parse(text: &str, folder: &Path) -> Option<Self> {
        match text.split_once(':')? {
            ("sqlite", path) if !path.is_empty() && path != ":memory:" => {
                Some(Self::Sqlite(folder.join(path)))
            }
            ("postgres" | "postgresql", rest) if rest.starts_with("//") => {
                Some(Self::Postgres(format!("postgres:{rest}")))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(out, "sqlite:{}", path.display()),
            Self::Postgres(url) => {
                let place = url.rsplit_once('@').map_or("", |(_, place)| place);
                let place = place.split('?').next().unwrap_or_default();
                write!(out, "postgres://{place}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_sqlite_in_a_file_or_postgresql() {
        let read = |text| Location::parse(text, Path::new("/etc/registry"));
        let file = |path: &str| Some(Location::Sqlite(path.into()));
        assert_eq!(read("sqlite:r.db"), file("/etc/registry/r.db"));
        assert_eq!(read("sqlite:/var/r.db"), file("/var/r.db"));
        let url = "postgres://ada:l@ve@db/registry?x=y";
        let postgres = read(url).expect("a location");
        assert_eq!(postgres, Location::Postgres(url.to_owned()));
        assert_eq!(postgres.to_string(), "postgres://db/registry");
        for text in ["sqlite:", "sqlite::memory:", "mysql://db/r", "r.db"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
