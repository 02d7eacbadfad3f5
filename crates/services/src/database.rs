//! The database behind the Books service: three tables, BOOKS, AUTHORS and PUBLISHERS, in SQLite,
//! MariaDB/MySQL or PostgreSQL.
//!
//! One set of statements serves all three, in the SQL they share: integers and strings only (the
//! price is in cents, as SQLite has no decimals), keys in place of defaults, no dialect's
//! functions. What differs is a line per dialect. The one rule it keeps: rows come back in the
//! order of their ids and unchanged, so that every database gives the same answer, byte for byte.
//! Tables that somebody else filled are never touched.

mod error;
mod location;
mod tables;

#[cfg(feature = "servers")]
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[cfg(feature = "servers")]
use sqlx::mysql::{MySql, MySqlConnectOptions};
use sqlx::pool::PoolOptions;
#[cfg(feature = "servers")]
use sqlx::postgres::{PgConnectOptions, Postgres};
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Pool};

pub use self::error::DatabaseError;
pub use self::location::DatabaseLocation;
pub use self::tables::Counts;
#[cfg(feature = "servers")]
use self::tables::{MYSQL, POSTGRES};
use self::tables::{SQLITE, prepare, read};
use crate::catalogue::Book;

/// Connections kept to one database. Studies run up to some tens of clients on a few cores; more
/// connections than this only move the queue into the database.
const CONNECTIONS: u32 = 8;
/// How long a request waits for a connection before it is answered with a fault.
const PATIENCE: Duration = Duration::from_secs(5);
/// Rows that SQLite's thread reads ahead. With the driver's 50 it waits for the thread that writes
/// the answer most of the time.
const ROWS_AHEAD: usize = 1024;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{BOOKS, Catalogue};

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
