//! Where the books are kept, as `--database` says it.
//!
//! The rule kept here: what is shown of a location has no password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::DatabaseError;

/// Where the books are kept. Read from the text that `--database` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseLocation {
    /// SQLite, in memory: gone when the services stop. `sqlite::memory:`.
    #[default]
    SqliteInMemory,
    /// SQLite in a file, created with its folder when missing. `sqlite:path`.
    SqliteFile(PathBuf),
    /// MariaDB or MySQL: `mysql://user:password@host:port/database` (`mariadb://` is the same).
    MySql(String),
    /// PostgreSQL: `postgres://user:password@host:port/database` (`postgresql://` is the same).
    Postgres(String),
}

impl DatabaseLocation {
    /// The whole URL, with its password: what it was read from, or the same in other words.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            DatabaseLocation::MySql(url) | DatabaseLocation::Postgres(url) => url.clone(),
            location => location.to_string(),
        }
    }
}

impl FromStr for DatabaseLocation {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Self, DatabaseError> {
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        match scheme.to_ascii_lowercase().as_str() {
            "sqlite" => match rest.strip_prefix("//").unwrap_or(rest) {
                ":memory:" => Ok(DatabaseLocation::SqliteInMemory),
                "" => Err(DatabaseError::location(text)),
                path => Ok(DatabaseLocation::SqliteFile(path.into())),
            },
            "mysql" | "mariadb" if rest.starts_with("//") => {
                Ok(DatabaseLocation::MySql(format!("mysql:{rest}")))
            }
            "postgres" | "postgresql" if rest.starts_with("//") => {
                Ok(DatabaseLocation::Postgres(format!("postgres:{rest}")))
            }
            _ => Err(DatabaseError::location(text)),
        }
    }
}

/// Shows where, never the password.
impl fmt::Display for DatabaseLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseLocation::SqliteInMemory => formatter.write_str("sqlite::memory:"),
            DatabaseLocation::SqliteFile(path) => write!(formatter, "sqlite:{}", path.display()),
            DatabaseLocation::MySql(url) | DatabaseLocation::Postgres(url) => {
                formatter.write_str(&without_password(url))
            }
        }
    }
}

/// Cuts everything that may hold a password, even from a URL that is none: what stands between the
/// first colon and the last `@`, and the query.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let user = user.split(':').next().unwrap_or_default();
    let place = place.split('?').next().unwrap_or_default();
    let mut shown = String::with_capacity(url.len());
    for (part, separator) in [(scheme, "://"), (user, "@"), (place, "")] {
        if !part.is_empty() {
            shown.push_str(part);
            shown.push_str(separator);
        }
    }
    shown
}

impl DatabaseError {
    fn location(text: &str) -> Self {
        DatabaseError::Location {
            found: without_password(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_read_from_what_the_command_line_takes() {
        let read = |text: &str| text.parse::<DatabaseLocation>().unwrap();
        assert_eq!(read("sqlite::memory:"), DatabaseLocation::SqliteInMemory);
        assert_eq!(
            read("sqlite:data/books.db"),
            DatabaseLocation::SqliteFile("data/books.db".into())
        );
        assert_eq!(
            read("sqlite:///var/lib/books.db"),
            DatabaseLocation::SqliteFile("/var/lib/books.db".into())
        );
        assert_eq!(
            read("mariadb://root@127.0.0.1/books"),
            DatabaseLocation::MySql("mysql://root@127.0.0.1/books".into())
        );
        assert_eq!(
            read("postgresql://127.0.0.1/books"),
            DatabaseLocation::Postgres("postgres://127.0.0.1/books".into())
        );
    }

    #[test]
    fn an_unknown_location_is_refused_with_the_forms_that_are_understood() {
        let refused = "oracle://scott:tiger@db/books"
            .parse::<DatabaseLocation>()
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "expected a database as sqlite:PATH, sqlite::memory:, mysql://USER:PASSWORD@HOST/DATABASE or \
             postgres://USER:PASSWORD@HOST/DATABASE, found \"oracle://scott@db/books\""
        );
    }

    #[test]
    fn a_shown_location_holds_no_password() {
        let location: DatabaseLocation = "mysql://ada:l@ve/lace@127.0.0.1:3306/books?ssl-mode=x"
            .parse()
            .unwrap();
        assert_eq!(location.to_string(), "mysql://ada@127.0.0.1:3306/books");
        let location: DatabaseLocation = "postgres://127.0.0.1/books?user=ada&password=secret"
            .parse()
            .unwrap();
        assert_eq!(location.to_string(), "postgres://127.0.0.1/books");
    }
}
