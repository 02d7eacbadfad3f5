//! The log of calls in a database: one table, in SQLite or PostgreSQL.
//!
//! The rule kept here: the log is bounded in calls and in age, and a call is in it once. The oldest
//! calls go first, of the owner who has the most: nobody pushes out what others told.

use jiff::Timestamp;
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};
use soapstone_registry::calls::{Call, CallEntry, CallQuery};
use soapstone_registry::{LoggedCalls, Owner};
use sqlx::{ColumnIndex, Decode, Encode, Executor, IntoArguments, QueryBuilder, Row, Type};

use super::error::StorageError;

/// Calls of one statement: databases bound the values in it.
const AT_ONCE: usize = 100;
/// Calls that are deleted at once: a change waits for it.
const MOST_DELETED: i64 = 20_000;

/// The table, and what it is searched by. `share` is the owner in few bytes.
pub(super) const TABLES: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS soapstone_calls (id BIGINT PRIMARY KEY, received BIGINT NOT NULL, \
     share VARCHAR(64) NOT NULL, owner TEXT NOT NULL, source VARCHAR(64) NOT NULL, number BIGINT NOT NULL, \
     time BIGINT NOT NULL, service TEXT NOT NULL, provider TEXT NOT NULL, operation TEXT NOT NULL, \
     client TEXT NOT NULL, outcome VARCHAR(16) NOT NULL, body TEXT NOT NULL, UNIQUE (share, source, number))",
    "CREATE INDEX IF NOT EXISTS soapstone_calls_received ON soapstone_calls (received)",
    "CREATE INDEX IF NOT EXISTS soapstone_calls_share ON soapstone_calls (share, id)",
];

/// How much stays in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Calls.
    pub(crate) rows: i64,
    /// For how many milliseconds after they were told.
    pub(crate) age: i64,
}

impl Retention {
    /// Since when calls stay that were told.
    pub(super) fn since(self, now: Timestamp) -> i64 {
        now.as_millisecond().saturating_sub(self.age)
    }
}

/// Puts calls into the log that are not there, and deletes the oldest ones beyond its bound.
pub(super) async fn log<DB>(
    connection: &mut DB::Connection,
    logged: &LoggedCalls,
    retention: Retention,
) -> Result<(), StorageError>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> String: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
    for<'q> i64: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let share = share_of(&logged.owner)?;
    let last = "SELECT COALESCE(MAX(id), 0) FROM soapstone_calls";
    let mut id: i64 = connection.fetch_one(last).await?.try_get(0)?;
    let received = logged.received.as_millisecond();
    for calls in logged.calls.chunks(AT_ONCE) {
        let mut query = QueryBuilder::<DB>::new(
            "INSERT INTO soapstone_calls (id, received, share, owner, source, number, time, \
             service, provider, operation, client, outcome, body) ",
        );
        query.push_values(calls, |mut row, call| {
            id += 1;
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            // The registry has bounded it.
            let number = i64::try_from(call.number).unwrap_or(i64::MAX);
            row.push_bind(id)
                .push_bind(received)
                .push_bind(share.clone())
                .push_bind(
                    logged
                        .owner
                        .subject
                        .as_str()
                        .replace(char::is_control, "\u{fffd}"),
                )
                .push_bind(logged.source.clone())
                .push_bind(number)
                .push_bind(call.time)
                .push_bind(text(&call.service))
                .push_bind(text(&call.provider))
                .push_bind(text(&call.operation))
                .push_bind(text(&call.client))
                .push_bind(call.outcome.name())
                // A call is a structure of texts and numbers: it has a JSON form.
                .push_bind(serde_json::to_string(call).unwrap_or_default());
        });
        query.push(" ON CONFLICT (share, source, number) DO NOTHING");
        query.build().execute(&mut *connection).await?;
    }
    shrink::<DB>(connection, retention.rows).await
}

async fn shrink<DB>(connection: &mut DB::Connection, rows: i64) -> Result<(), StorageError>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> String: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    for<'q> i64: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let all = "SELECT COUNT(*) FROM soapstone_calls";
    let all: i64 = connection.fetch_one(all).await?.try_get(0)?;
    let mut excess = (all - rows).min(MOST_DELETED);
    while excess > 0 {
        let largest = "SELECT share, COUNT(*) AS calls FROM soapstone_calls GROUP BY share \
                       ORDER BY calls DESC LIMIT 1";
        let largest = connection.fetch_one(largest).await?;
        let (share, calls): (String, i64) = (largest.try_get(0)?, largest.try_get(1)?);
        let gone = excess.min(calls);
        let mut query = QueryBuilder::<DB>::new("DELETE FROM soapstone_calls WHERE share = ");
        query.push_bind(share.clone());
        query
            .push(" AND id <= (SELECT MAX(id) FROM (SELECT id FROM soapstone_calls WHERE share = ");
        query.push_bind(share);
        query.push(" ORDER BY id LIMIT ").push_bind(gone);
        query.push(") AS oldest)");
        query.build().execute(&mut *connection).await?;
        excess -= gone;
    }
    Ok(())
}

/// Deletes calls that were told before then.
pub(super) async fn expire<DB>(
    connection: &mut DB::Connection,
    since: i64,
) -> Result<(), StorageError>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> i64: Encode<'q, DB> + Type<DB>,
{
    let mut query = QueryBuilder::<DB>::new("DELETE FROM soapstone_calls WHERE received < ");
    query.push_bind(since);
    query.push(" AND id <= (SELECT MIN(id) FROM soapstone_calls) + ");
    query.push_bind(MOST_DELETED);
    query.build().execute(&mut *connection).await?;
    Ok(())
}

/// Calls that were told since then, the last one first.
pub(super) async fn find<DB>(
    connection: &mut DB::Connection,
    query: &CallQuery,
    since: i64,
    most: usize,
) -> Result<Vec<CallEntry>, StorageError>
where
    DB: sqlx::Database,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> String: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    for<'q> i64: Encode<'q, DB> + Decode<'q, DB> + Type<DB>,
    usize: ColumnIndex<DB::Row>,
{
    let mut sql = QueryBuilder::<DB>::new(
        "SELECT id, received, owner, body FROM soapstone_calls WHERE received >= ",
    );
    sql.push_bind(since);
    let outcome = query.outcome.map(|outcome| outcome.name().to_owned());
    for (condition, text) in [
        (" AND service = ", &query.service),
        (" AND provider = ", &query.provider),
        (" AND operation = ", &query.operation),
        (" AND client = ", &query.client),
        (" AND owner = ", &query.owner),
        (" AND outcome = ", &outcome),
    ] {
        if let Some(text) = text {
            sql.push(condition).push_bind(text.clone());
        }
    }
    for (condition, number) in [
        (" AND time >= ", query.since),
        (" AND time < ", query.until),
        (" AND id < ", query.before),
    ] {
        if let Some(number) = number {
            sql.push(condition).push_bind(number);
        }
    }
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    sql.push(" ORDER BY id DESC LIMIT ").push_bind(most);
    let rows = sql.build().fetch_all(&mut *connection).await?;
    let read = |row: &DB::Row| {
        let (id, received): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let (owner, body): (String, String) = (row.try_get(2)?, row.try_get(3)?);
        let call: Result<Call, _> = serde_json::from_str(&body);
        let call = call.map_err(|_| StorageError::Row {
            key: id.to_string(),
        })?;
        Ok(CallEntry {
            id,
            received,
            owner,
            call,
        })
    };
    rows.iter().map(read).collect()
}

/// An owner in few bytes, which an index holds however long its names are.
fn share_of(owner: &Owner) -> Result<String, StorageError> {
    // With its length no subject runs into an issuer.
    let length = owner.subject.as_str().len();
    let named = format!("{length} {}\n{}", owner.subject, owner.issuer);
    let digest = digest(DigestAlgorithm::Sha256, named.as_bytes());
    let digest = digest.map_err(|_| StorageError::Row {
        key: owner.subject.to_string(),
    })?;
    Ok(hexadecimal::encode(digest.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one owner tells takes the place of nothing that another one told.
    #[test]
    fn owners_have_shares_of_their_own() {
        let owners = [
            ("CN=a", "CN=x"),
            ("CN=a", "CN=y"),
            ("CN=b", "CN=x"),
            ("CN=a\nCN=x", "CN=y"),
            ("CN=a", "CN=x\nCN=y"),
        ];
        let shares = owners
            .map(|(subject, issuer)| share_of(&Owner::new(subject, issuer)).expect("a share"));
        let different: std::collections::HashSet<&String> = shares.iter().collect();
        assert_eq!(different.len(), owners.len());
        // As the column is wide.
        assert!(shares.iter().all(|share| share.len() == 64));
    }

    #[test]
    fn calls_stay_as_long_as_they_may() {
        let retention = Retention { rows: 1, age: 500 };
        let now = Timestamp::from_millisecond(2_000).expect("a moment");
        assert_eq!(retention.since(now), 1_500);
        let longest = Retention {
            rows: 1,
            age: i64::MAX,
        };
        assert!(longest.since(now) < 0, "nothing is too old");
    }
}
