//! The three tables: made, filled and read, in the SQL that all databases share.
//!
//! The rule kept here: what differs between them is a line of a dialect.

use std::fmt;

use futures_util::TryStreamExt;
use sqlx::{
    AssertSqlSafe, ColumnIndex, Connection, Decode, Encode, Executor, IntoArguments, Pool,
    QueryBuilder, Row, Type,
};

use crate::catalogue::{AUTHORS, BOOKS, Book, Catalogue, PUBLISHERS};

/// Rows per INSERT: 7 columns × 2,000 rows stay below SQLite's limit of 32,766 parameters.
const ROWS_PER_INSERT: usize = 2_000;

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

/// Where the dialects differ.
pub(super) struct Dialect {
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

pub(super) const SQLITE: Dialect = Dialect {
    lock: None,
    // Takes the write lock at once: a second process waits here and then finds the rows.
    begin: "BEGIN IMMEDIATE",
    unlock: None,
    table_options: "",
};

#[cfg(feature = "servers")]
pub(super) const MYSQL: Dialect = Dialect {
    lock: Some("SELECT GET_LOCK('soapstone-books', 60)"),
    begin: "START TRANSACTION",
    unlock: Some("SELECT RELEASE_LOCK('soapstone-books')"),
    table_options: " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
};

#[cfg(feature = "servers")]
pub(super) const POSTGRES: Dialect = Dialect {
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

/// Creates the tables if they are missing and fills them if they are empty. Returns the number of
/// rows there are then.
///
/// A failure leaves the lock to the connection, which ends with the pool it belongs to.
pub(super) async fn prepare<DB>(pool: &Pool<DB>, dialect: &Dialect) -> Result<Counts, sqlx::Error>
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

pub(super) async fn read<DB>(
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
