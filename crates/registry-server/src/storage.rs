//! Entries in a database: one table, in SQLite or PostgreSQL. The log of calls is another one.
//!
//! One process owns a database. It has all entries in memory and writes changes through, so that a
//! second process would not see them: SQLite's file is locked, and PostgreSQL has an advisory lock.
//!
//! The rule kept here: the changes of a request are kept together or not at all.

mod calls;
mod error;

use std::time::Duration;

use jiff::Timestamp;
use soapstone_registry::calls::{CallEntry, CallQuery};
use soapstone_registry::{Change, Entry, Owner, Record};
#[cfg(feature = "servers")]
use sqlx::postgres::{PgConnectOptions, PgConnection, Postgres};
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection, SqliteLockingMode};
use sqlx::{
    ColumnIndex, ConnectOptions, Connection, Decode, Encode, Executor, IntoArguments, QueryBuilder,
    Row, Type,
};
use tokio::sync::Mutex;

use crate::location::Location;

pub(crate) use calls::Retention;
pub use error::StorageError;

/// How long a database may take for a change, or to be connected to.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long calls may be read or expire: a change that waits for it has time left.
const READING: Duration = Duration::from_secs(2);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS soapstone_registry (kind VARCHAR(16) NOT NULL, \
     entry_key VARCHAR(1024) NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, entry_key))";

/// A database with entries, and with calls where these are logged.
pub(crate) struct Storage {
    database: Database,
    retention: Option<Retention>,
    /// Held by who reads calls: a change waits for one reader at most.
    reading: Mutex<()>,
}

enum Database {
    Sqlite(Mutex<SqliteConnection>),
    #[cfg(feature = "servers")]
    Postgres(Mutex<PgConnection>),
}

impl Storage {
    /// Connects, makes tables that are missing, and reads all entries. Without `retention` there is
    /// no log of calls.
    pub(crate) async fn open(
        location: &Location,
        retention: Option<Retention>,
    ) -> Result<(Self, Vec<Record>), StorageError> {
        let (database, records) = in_time(Self::connect(location, retention.is_some())).await?;
        let storage = Self {
            database,
            retention,
            reading: Mutex::new(()),
        };
        Ok((storage, records))
    }

    async fn connect(
        location: &Location,
        logs_calls: bool,
    ) -> Result<(Database, Vec<Record>), StorageError> {
        let tables = [TABLE].into_iter();
        let tables = tables.chain(calls::TABLES.into_iter().filter(|_| logs_calls));
        match location {
            Location::Sqlite(path) => {
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .create_if_missing(true)
                    .busy_timeout(Duration::ZERO)
                    .locking_mode(SqliteLockingMode::Exclusive)
                    .disable_statement_logging();
                let mut connection = options.connect().await?;
                // The lock comes with the first write, and stays.
                connection.execute("BEGIN EXCLUSIVE").await?;
                for table in tables {
                    connection.execute(table).await?;
                }
                connection.execute("COMMIT").await?;
                let records = load::<Sqlite>(&mut connection).await?;
                Ok((Database::Sqlite(Mutex::new(connection)), records))
            }
            #[cfg(not(feature = "servers"))]
            Location::Postgres(_) => Err(StorageError::NoDriver),
            #[cfg(feature = "servers")]
            Location::Postgres(url) => {
                let options: PgConnectOptions = url.parse()?;
                let mut connection = options.disable_statement_logging().connect().await?;
                // Any number will do that no other program is likely to take.
                let lock = "SELECT pg_try_advisory_lock(5009507002)";
                let row = connection.fetch_one(lock).await?;
                if !row.try_get::<bool, _>(0)? {
                    return Err(StorageError::InUse);
                }
                for table in tables {
                    connection.execute(table).await?;
                }
                let records = load::<Postgres>(&mut connection).await?;
                Ok((Database::Postgres(Mutex::new(connection)), records))
            }
        }
    }

    /// Disconnects.
    pub(crate) async fn close(self) {
        let closed = in_time(async {
            match self.database {
                Database::Sqlite(connection) => connection.into_inner().close().await?,
                #[cfg(feature = "servers")]
                Database::Postgres(connection) => connection.into_inner().close().await?,
            }
            Ok(())
        });
        if let Err(error) = closed.await {
            tracing::debug!(%error, "the database was left without a word");
        }
    }

    /// Keeps changes.
    pub(crate) async fn keep(&self, changes: &[Change]) -> Result<(), StorageError> {
        if changes.is_empty() {
            return Ok(());
        }
        in_time(async {
            let retention = self.retention;
            match &self.database {
                Database::Sqlite(connection) => {
                    keep::<Sqlite>(&mut *connection.lock().await, changes, retention).await
                }
                #[cfg(feature = "servers")]
                Database::Postgres(connection) => {
                    keep::<Postgres>(&mut *connection.lock().await, changes, retention).await
                }
            }
        })
        .await
    }

    /// Calls of the log, the last one first, and as many as that.
    pub(crate) async fn calls(
        &self,
        query: &CallQuery,
        most: usize,
    ) -> Result<Vec<CallEntry>, StorageError> {
        let Some(retention) = self.retention else {
            return Ok(Vec::new());
        };
        let _turn = self.reading.lock().await;
        let since = retention.since(Timestamp::now());
        within(READING, async {
            match &self.database {
                Database::Sqlite(connection) => {
                    calls::find::<Sqlite>(&mut *connection.lock().await, query, since, most).await
                }
                #[cfg(feature = "servers")]
                Database::Postgres(connection) => {
                    calls::find::<Postgres>(&mut *connection.lock().await, query, since, most).await
                }
            }
        })
        .await
    }

    /// Deletes calls that are too old.
    pub(crate) async fn expire(&self) -> Result<(), StorageError> {
        let Some(retention) = self.retention else {
            return Ok(());
        };
        let since = retention.since(Timestamp::now());
        within(READING, async {
            match &self.database {
                Database::Sqlite(connection) => {
                    calls::expire::<Sqlite>(&mut *connection.lock().await, since).await
                }
                #[cfg(feature = "servers")]
                Database::Postgres(connection) => {
                    calls::expire::<Postgres>(&mut *connection.lock().await, since).await
                }
            }
        })
        .await
    }
}

async fn in_time<T>(
    work: impl Future<Output = Result<T, StorageError>>,
) -> Result<T, StorageError> {
    within(PATIENCE, work).await
}

async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, StorageError>>,
) -> Result<T, StorageError> {
    let done = tokio::time::timeout(patience, work).await;
    done.unwrap_or(Err(StorageError::Slow(patience)))
}

async fn load<DB>(connection: &mut DB::Connection) -> Result<Vec<Record>, StorageError>
where
    DB: sqlx::Database,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'r> String: Decode<'r, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let rows = "SELECT entry_key, owner, body FROM soapstone_registry";
    let rows = connection.fetch_all(rows).await?;
    let read = |row: &DB::Row| {
        let (key, owner, body): (String, String, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let owner: Result<Owner, _> = serde_json::from_str(&owner);
        let entry: Result<Entry, _> = serde_json::from_str(&body);
        match (owner, entry) {
            (Ok(owner), Ok(entry)) if entry.key() == key => Ok(Record { owner, entry }),
            _ => Err(StorageError::Row { key }),
        }
    };
    rows.iter().map(read).collect()
}

async fn keep<DB>(
    connection: &mut DB::Connection,
    changes: &[Change],
    retention: Option<Retention>,
) -> Result<(), StorageError>
where
    for<'q> i64: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    for<'q> String: Decode<'q, DB>,
    usize: ColumnIndex<DB::Row>,
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> String: Encode<'q, DB> + Type<DB>,
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
{
    let mut transaction = connection.begin().await?;
    for change in changes {
        let mut query = match change {
            Change::Put(record) => {
                let (kind, key) = (record.entry.kind().name(), record.entry.key());
                // Records are structures of texts and finite numbers: each has a JSON form.
                let owner = serde_json::to_string(&record.owner).unwrap_or_default();
                let body = serde_json::to_string(&record.entry).unwrap_or_default();
                let mut query = QueryBuilder::<DB>::new(
                    "INSERT INTO soapstone_registry (kind, entry_key, owner, body) VALUES (",
                );
                let mut values = query.separated(", ");
                values
                    .push_bind(kind)
                    .push_bind(key)
                    .push_bind(owner)
                    .push_bind(body);
                query.push(
                    ") ON CONFLICT (kind, entry_key) DO UPDATE SET owner = excluded.owner, body = excluded.body",
                );
                query
            }
            Change::Delete(kind, key) => {
                let mut query =
                    QueryBuilder::<DB>::new("DELETE FROM soapstone_registry WHERE kind = ");
                query.push_bind(kind.name());
                query.push(" AND entry_key = ").push_bind(key.as_str());
                query
            }
            Change::Log(logged) => {
                if let Some(retention) = retention {
                    calls::log::<DB>(&mut *transaction, logged, retention).await?;
                }
                continue;
            }
        };
        query.build().execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}
