//! The database behind the Books service: three tables, BOOKS, AUTHORS and PUBLISHERS, in SQLite,
//! MariaDB/MySQL or PostgreSQL.
//!
//! One set of statements serves all three, in the SQL they share: integers and strings only (the
//! price is in cents, as SQLite has no decimals), keys in place of defaults, no dialect's
//! functions. What differs is a line per dialect. The one rule it keeps: rows come back in the
//! order of their ids and unchanged, so that every database gives the same answer, byte for byte.
//! Tables that somebody else filled are never touched.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
#[cfg(feature = "servers")]
use sqlx::mysql::{MySql, MySqlConnectOptions};
use sqlx::pool::PoolOptions;
#[cfg(feature = "servers")]
use sqlx::postgres::{PgConnectOptions, Postgres};
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection};
use sqlx::{
    AssertSqlSafe, ColumnIndex, ConnectOptions, Connection, Decode, Encode, Executor,
    IntoArguments, Pool, QueryBuilder, Row, Type,
};

use crate::catalogue::{AUTHORS, BOOKS, Book, Catalogue, PUBLISHERS};

/// Connections kept to one database. Studies run up to some tens of clients on a few cores; more
/// connections than this only move the queue into the database.
const CONNECTIONS: u32 = 8;
/// How long a request waits for a connection before it is answered with a fault.
const PATIENCE: Duration = Duration::from_secs(5);
/// Rows per INSERT: 7 columns × 2,000 rows stay below SQLite's limit of 32,766 parameters.
const ROWS_PER_INSERT: usize = 2_000;
/// Rows that SQLite's thread reads ahead. With the driver's 50 it waits for the thread that writes
/// the answer most of the time.
const ROWS_AHEAD: usize = 1024;

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

/// What can go wrong with the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The text of a location is none of the forms that are understood.
    Location {
        /// What was given, without a password.
        found: String,
    },
    /// The folder of an SQLite file cannot be made.
    Folder {
        /// Where it was to be.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database refuses, is not there, or does not answer.
    Unavailable {
        /// Which database, without a password.
        location: String,
        /// What it said.
        source: sqlx::Error,
    },
    /// The program was built without the driver of this database.
    #[cfg(not(feature = "servers"))]
    NoDriver {
        /// Which database, without a password.
        location: String,
    },
    /// The tables are there with rows that Soapstone did not write, or without some that it did.
    /// They are left as they are.
    UnexpectedRows {
        /// Which database, without a password.
        location: String,
        /// What was counted.
        found: Counts,
    },
}

/// Numbers of rows in the three tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Rows in BOOKS.
    pub books: i64,
    /// Rows in AUTHORS.
    pub authors: i64,
    /// Rows in PUBLISHERS.
    pub publishers: i64,
}

impl Counts {
    /// Tables that have just been created.
    pub const NONE: Counts = Counts {
        books: 0,
        authors: 0,
        publishers: 0,
    };
    /// Tables that have been filled.
    pub const ALL: Counts = Counts {
        books: BOOKS as i64,
        authors: AUTHORS as i64,
        publishers: PUBLISHERS as i64,
    };
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} rows in BOOKS, {} in AUTHORS and {} in PUBLISHERS",
            self.books, self.authors, self.publishers
        )
    }
}

impl DatabaseError {
    fn location(text: &str) -> Self {
        DatabaseError::Location {
            found: without_password(text),
        }
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseError::Location { found } => write!(
                formatter,
                "expected a database as sqlite:PATH, sqlite::memory:, mysql://USER:PASSWORD@HOST/DATABASE or \
                 postgres://USER:PASSWORD@HOST/DATABASE, found {found:?}"
            ),
            DatabaseError::Folder { folder, source } => write!(
                formatter,
                "cannot make the folder {} for the database: {source}",
                folder.display()
            ),
            DatabaseError::Unavailable { location, source } => {
                write!(
                    formatter,
                    "the database {location} cannot be used: {source}"
                )
            }
            #[cfg(not(feature = "servers"))]
            DatabaseError::NoDriver { location } => write!(
                formatter,
                "expected a database in SQLite, found {location}: this program was built quickly, without the drivers \
                 of MariaDB and PostgreSQL; `make build` builds them"
            ),
            DatabaseError::UnexpectedRows { location, found } => write!(
                formatter,
                "expected no rows or {} in {location}, found {found}: drop these tables there, or choose another \
                 database",
                Counts::ALL
            ),
        }
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DatabaseError::Folder { source, .. } => Some(source),
            DatabaseError::Unavailable { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// An open database with all its rows in place.
pub(crate) struct Database {
    location: String,
    tables: Tables,
    /// Never used and never closed: SQLite forgets a database in memory with its last connection,
    /// and the pool closes those whose request was abandoned.
    _anchor: Option<SqliteConnection>,
}

enum Tables {
    Sqlite(Pool<Sqlite>),
    #[cfg(feature = "servers")]
    MySql(Pool<MySql>),
    #[cfg(feature = "servers")]
    Postgres(Pool<Postgres>),
}

impl Database {
    /// Connects, and creates and fills the tables if they are not there yet.
    pub(crate) async fn open(location: &DatabaseLocation) -> Result<Self, DatabaseError> {
        let name = location.to_string();
        let unavailable = |source| DatabaseError::Unavailable {
            location: name.clone(),
            source,
        };
        let mut anchor = None;
        let (tables, found) = match location {
            DatabaseLocation::SqliteInMemory => {
                // The VFS `memdb` shares a database whose name begins with a slash among the
                // connections of a process; the number keeps two servers in one
                // process apart.
                static OPENED: AtomicU32 = AtomicU32::new(0);
                let number = OPENED.fetch_add(1, Ordering::Relaxed);
                let options = SqliteConnectOptions::new()
                    .filename(format!("/soapstone-books-{number}"))
                    .vfs("memdb")
                    .create_if_missing(true)
                    .row_buffer_size(ROWS_AHEAD);
                anchor = Some(options.connect().await.map_err(unavailable)?);
                let pool = connect::<Sqlite>(options).await.map_err(unavailable)?;
                let found = prepare(&pool, &SQLITE).await.map_err(unavailable)?;
                (Tables::Sqlite(pool), found)
            }
            DatabaseLocation::SqliteFile(path) => {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder).map_err(|source| DatabaseError::Folder {
                        folder: folder.to_owned(),
                        source,
                    })?;
                }
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .create_if_missing(true)
                    .busy_timeout(Duration::from_secs(30))
                    .row_buffer_size(ROWS_AHEAD);
                let pool = connect::<Sqlite>(options).await.map_err(unavailable)?;
                let found = prepare(&pool, &SQLITE).await.map_err(unavailable)?;
                (Tables::Sqlite(pool), found)
            }
            #[cfg(not(feature = "servers"))]
            DatabaseLocation::MySql(_) | DatabaseLocation::Postgres(_) => {
                return Err(DatabaseError::NoDriver { location: name });
            }
            #[cfg(feature = "servers")]
            DatabaseLocation::MySql(url) => {
                let options = MySqlConnectOptions::from_str(url).map_err(unavailable)?;
                let pool = connect::<MySql>(options).await.map_err(unavailable)?;
                let found = prepare(&pool, &MYSQL).await.map_err(unavailable)?;
                (Tables::MySql(pool), found)
            }
            #[cfg(feature = "servers")]
            DatabaseLocation::Postgres(url) => {
                let options = PgConnectOptions::from_str(url).map_err(unavailable)?;
                let pool = connect::<Postgres>(options).await.map_err(unavailable)?;
                let found = prepare(&pool, &POSTGRES).await.map_err(unavailable)?;
                (Tables::Postgres(pool), found)
            }
        };
        if found != Counts::ALL {
            return Err(DatabaseError::UnexpectedRows {
                location: name,
                found,
            });
        }
        Ok(Database {
            location: name,
            tables,
            _anchor: anchor,
        })
    }

    /// Hands the first `count` books by id to `each`, as they arrive.
    pub(crate) async fn books(
        &self,
        count: u32,
        each: impl FnMut(Book<'_>) + Send,
    ) -> Result<(), DatabaseError> {
        match &self.tables {
            Tables::Sqlite(pool) => read(pool, count, each).await,
            #[cfg(feature = "servers")]
            Tables::MySql(pool) => read(pool, count, each).await,
            #[cfg(feature = "servers")]
            Tables::Postgres(pool) => read(pool, count, each).await,
        }
        .map_err(|source| DatabaseError::Unavailable {
            location: self.location.clone(),
            source,
        })
    }

    /// Closes all connections, after those in use have been given back.
    pub(crate) async fn close(&self) {
        match &self.tables {
            Tables::Sqlite(pool) => pool.close().await,
            #[cfg(feature = "servers")]
            Tables::MySql(pool) => pool.close().await,
            #[cfg(feature = "servers")]
            Tables::Postgres(pool) => pool.close().await,
        }
    }
}

/// Where the dialects differ.
struct Dialect {
    /// Makes a second process that starts at the same time wait until the first has filled the
    /// tables.
    lock: Option<&'static str>,
    /// Begins the transaction that fills the tables.
    begin: &'static str,
    /// Gives the lock back.
    unlock: Option<&'static str>,
    /// Follows the closing parenthesis of CREATE TABLE.
    table_options: &'static str,
}

const SQLITE: Dialect = Dialect {
    lock: None,
    // Takes the write lock at once: a second process waits here and then finds the rows.
    begin: "BEGIN IMMEDIATE",
    unlock: None,
    table_options: "",
};

#[cfg(feature = "servers")]
const MYSQL: Dialect = Dialect {
    lock: Some("SELECT GET_LOCK('soapstone-books', 60)"),
    begin: "START TRANSACTION",
    unlock: Some("SELECT RELEASE_LOCK('soapstone-books')"),
    table_options: " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
};

#[cfg(feature = "servers")]
const POSTGRES: Dialect = Dialect {
    // Any number will do that no other program is likely to take.
    lock: Some("SELECT pg_advisory_lock(5009507001)"),
    begin: "BEGIN",
    unlock: Some("SELECT pg_advisory_unlock(5009507001)"),
    table_options: "",
};

const TABLES: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS AUTHORS (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(100) NOT NULL)",
    "CREATE TABLE IF NOT EXISTS PUBLISHERS (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(100) NOT NULL)",
    "CREATE TABLE IF NOT EXISTS BOOKS (ID INTEGER NOT NULL PRIMARY KEY, ISBN VARCHAR(13) NOT NULL, \
     TITLE VARCHAR(200) NOT NULL, PRICE INTEGER NOT NULL, YEAR INTEGER NOT NULL, AUTHOR_ID INTEGER NOT NULL, \
     PUBLISHER_ID INTEGER NOT NULL, FOREIGN KEY (AUTHOR_ID) REFERENCES AUTHORS (ID), \
     FOREIGN KEY (PUBLISHER_ID) REFERENCES PUBLISHERS (ID))",
];

const COUNT: &str = "SELECT (SELECT COUNT(*) FROM BOOKS), (SELECT COUNT(*) FROM AUTHORS), \
     (SELECT COUNT(*) FROM PUBLISHERS)";

/// Each book has an author and a publisher. Outer joins say only where to begin: MariaDB would
/// begin with the publishers, and sort all books to give one.
const SELECT: &str = "SELECT BOOKS.ID, BOOKS.ISBN, BOOKS.TITLE, BOOKS.PRICE, BOOKS.YEAR, BOOKS.AUTHOR_ID, AUTHORS.NAME, \
     BOOKS.PUBLISHER_ID, PUBLISHERS.NAME FROM BOOKS LEFT JOIN AUTHORS ON AUTHORS.ID = BOOKS.AUTHOR_ID \
     LEFT JOIN PUBLISHERS ON PUBLISHERS.ID = BOOKS.PUBLISHER_ID ORDER BY BOOKS.ID LIMIT ";

async fn connect<DB: sqlx::Database>(
    options: <DB::Connection as Connection>::Options,
) -> Result<Pool<DB>, sqlx::Error> {
    let options = options.disable_statement_logging();
    let pool = PoolOptions::<DB>::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .connect_with(options.clone())
        .await;
    // The pool waits for a server that is still starting, and keeps to itself what it waits for.
    if let Err(sqlx::Error::PoolTimedOut) = pool
        && let Ok(Err(why)) = tokio::time::timeout(PATIENCE, options.connect()).await
    {
        return Err(why);
    }
    pool
}

/// Creates the tables if they are missing and fills them if they are empty. Returns the number of
/// rows there are then.
///
/// A failure leaves the lock to the connection, which ends with the pool it belongs to.
async fn prepare<DB>(pool: &Pool<DB>, dialect: &Dialect) -> Result<Counts, sqlx::Error>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> i32: Encode<'q, DB> + Type<DB>,
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
    for<'r> i64: Decode<'r, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let mut connection = pool.acquire().await?;
    if let Some(lock) = dialect.lock {
        connection.execute(lock).await?;
    }
    for table in TABLES {
        let statement = AssertSqlSafe(format!("{table}{}", dialect.table_options));
        connection.execute(statement).await?;
    }
    let mut transaction = connection.begin_with(dialect.begin).await?;
    let row = transaction.fetch_one(COUNT).await?;
    let mut found = Counts {
        books: row.try_get(0)?,
        authors: row.try_get(1)?,
        publishers: row.try_get(2)?,
    };
    if found == Counts::NONE {
        fill(&mut transaction, Catalogue::shared()).await?;
        found = Counts::ALL;
    }
    transaction.commit().await?;
    if let Some(unlock) = dialect.unlock {
        connection.execute(unlock).await?;
    }
    Ok(found)
}

async fn fill<DB>(connection: &mut DB::Connection, catalogue: &Catalogue) -> Result<(), sqlx::Error>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> i32: Encode<'q, DB> + Type<DB>,
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
{
    for (insert, names) in [
        ("INSERT INTO AUTHORS (ID, NAME) ", catalogue.authors()),
        ("INSERT INTO PUBLISHERS (ID, NAME) ", catalogue.publishers()),
    ] {
        let rows: Vec<(i32, &str)> = (1..).zip(names.iter().map(String::as_str)).collect();
        for rows in rows.chunks(ROWS_PER_INSERT) {
            QueryBuilder::<DB>::new(insert)
                .push_values(rows, |mut columns, (id, name)| {
                    columns.push_bind(*id).push_bind(*name);
                })
                .build()
                .execute(&mut *connection)
                .await?;
        }
    }
    let books: Vec<Book<'_>> = catalogue.books(BOOKS).collect();
    for rows in books.chunks(ROWS_PER_INSERT) {
        QueryBuilder::<DB>::new(
            "INSERT INTO BOOKS (ID, ISBN, TITLE, PRICE, YEAR, AUTHOR_ID, PUBLISHER_ID) ",
        )
        .push_values(rows, |mut columns, book| {
            columns
                .push_bind(book.id as i32)
                .push_bind(book.isbn)
                .push_bind(book.title)
                .push_bind(book.price as i32)
                .push_bind(book.year as i32)
                .push_bind(book.author_id as i32)
                .push_bind(book.publisher_id as i32);
        })
        .build()
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

async fn read<DB>(
    pool: &Pool<DB>,
    count: u32,
    mut each: impl FnMut(Book<'_>) + Send,
) -> Result<(), sqlx::Error>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> i64: Encode<'q, DB> + Type<DB>,
    for<'r> i32: Decode<'r, DB> + Type<DB>,
    for<'r> &'r str: Decode<'r, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let mut query = QueryBuilder::<DB>::new(SELECT);
    query.push_bind(i64::from(count));
    let mut rows = query.build().fetch(pool);
    while let Some(row) = rows.try_next().await? {
        each(Book {
            id: number(&row, 0)?,
            isbn: row.try_get(1)?,
            title: row.try_get(2)?,
            price: number(&row, 3)?,
            year: number(&row, 4)?,
            author_id: number(&row, 5)?,
            author: row.try_get(6)?,
            publisher_id: number(&row, 7)?,
            publisher: row.try_get(8)?,
        });
    }
    Ok(())
}

/// A column that no row of ours has below zero; somebody else's edit is an error, not a wrong
/// number.
fn number<R: Row>(row: &R, index: usize) -> Result<u32, sqlx::Error>
where
    for<'r> i32: Decode<'r, R::Database> + Type<R::Database>,
    usize: ColumnIndex<R>,
{
    let value: i32 = row.try_get(index)?;
    u32::try_from(value).map_err(|source| sqlx::Error::ColumnDecode {
        index: index.to_string(),
        source: source.into(),
    })
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

    #[tokio::test]
    async fn sqlite_gives_the_rows_of_the_catalogue() {
        let database = Database::open(&DatabaseLocation::SqliteInMemory)
            .await
            .unwrap();
        let mut expected = Catalogue::shared().books(BOOKS);
        let mut read = 0;
        database
            .books(BOOKS, |book| {
                assert_eq!(Some(book), expected.next());
                read += 1;
            })
            .await
            .unwrap();
        assert_eq!(read, BOOKS);
        database.close().await;
    }
}
