//! The books from every database: SQLite always, MariaDB and PostgreSQL from servers that the tests
//! start themselves.
//!
//! Where the server of a database is not installed its test is skipped, loudly; with `CI` in the
//! environment it fails.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use http::StatusCode;
use soapstone_services::SoapVersion::Soap11;
use soapstone_services::{
    BOOKS, Config, DatabaseError, DatabaseLocation, DatabaseServer, NoServer, Running, Service,
    Services, SoapVersion, StartError, requests, responses,
};
use sqlx::Connection;
use tempfile::TempDir;

use crate::support::Http;

const DROP: &str = "DROP TABLE BOOKS; DROP TABLE AUTHORS; DROP TABLE PUBLISHERS";

async fn started(database: &str) -> Running {
    Services::start(config(database)).await.unwrap()
}

fn config(database: &str) -> Config {
    Config {
        database: database.parse().unwrap(),
        ..Config::default()
    }
}

/// What every database has to do. `alter` runs a statement in it behind the services' back.
async fn keeps_the_promises(database: &str, alter: impl AsyncFn(&'static str)) {
    // Two that start at the same time on an empty database fill it once.
    let (services, other) = tokio::join!(started(database), started(database));
    other.shutdown().await;
    let http = Http::one();
    let url = services.url(Service::Books);
    for version in SoapVersion::ALL {
        for count in [0, 1, 2, 1_000, BOOKS] {
            let request = requests::get_books(version, count);
            let answer = http.call(version, &url, request).await;
            assert_eq!(answer.status, StatusCode::OK);
            assert!(
                answer.body == responses::books(version, count),
                "{database} and memory differ at n = {count}"
            );
        }
    }
    // A server that starts later finds the rows. What it answers really comes from the tables.
    services.shutdown().await;
    alter("UPDATE BOOKS SET TITLE = 'Altered <&>' WHERE ID = 1").await;
    let services = started(database).await;
    let url = services.url(Service::Books);
    let answer = http
        .call(Soap11, &url, requests::get_books(Soap11, 1))
        .await;
    assert!(
        answer
            .text()
            .contains("<title>Altered &lt;&amp;&gt;</title>"),
        "{}",
        answer.text()
    );
    services.shutdown().await;
    // Tables with other contents are left alone.
    alter("DELETE FROM BOOKS WHERE ID = 25000").await;
    let error = Services::start(config(database)).await.unwrap_err();
    assert!(
        matches!(
            &error,
            StartError::Database(DatabaseError::UnexpectedRows { found, .. }) if found.books == 24_999
        ),
        "{error}"
    );
}

/// That a database which is gone is told with a fault, in time.
async fn is_missed(services: &Running) {
    let begun = Instant::now();
    let url = services.url(Service::Books);
    let http = Http::one();
    let answer = http
        .call(Soap11, &url, requests::get_books(Soap11, 1))
        .await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.text().contains(
            "<faultcode>soap:Server</faultcode><faultstring xml:lang=\"en\">the database of the books does not \
             answer; try again later</faultstring>"
        ),
        "{}",
        answer.text()
    );
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    let memory = http
        .call(
            Soap11,
            &format!("{url}?source=memory"),
            requests::get_books(Soap11, 1),
        )
        .await;
    assert_eq!(memory.status, StatusCode::OK);
}

#[tokio::test]
async fn sqlite_keeps_the_promises_of_a_database() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("made/on the way/books.db");
    let database = format!("sqlite:{}", file.display());
    keeps_the_promises(&database, async |statement| {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
        let mut connection = sqlx::SqliteConnection::connect_with(&options)
            .await
            .unwrap();
        sqlx::raw_sql(statement)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_lost_sqlite_table_is_told_with_a_fault() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("books.db");
    let services = started(&format!("sqlite:{}", file.display())).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
    let mut connection = sqlx::SqliteConnection::connect_with(&options)
        .await
        .unwrap();
    sqlx::raw_sql("DROP TABLE BOOKS")
        .execute(&mut connection)
        .await
        .unwrap();
    is_missed(&services).await;
    services.shutdown().await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_with_its_name() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("books.txt");
    fs::write(
        &file,
        "not a database, and long enough to be looked at".repeat(100),
    )
    .unwrap();
    let location = DatabaseLocation::SqliteFile(file.clone());
    let error = Services::start(Config {
        database: location.clone(),
        ..Config::default()
    })
    .await
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("the database {location} cannot be used: ")),
        "{error}"
    );
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_without_its_password() {
    let port = free_port();
    for scheme in ["mysql", "postgres"] {
        let database = format!("{scheme}://ada:secret@127.0.0.1:{port}/books");
        let error = Services::start(config(&database))
            .await
            .unwrap_err()
            .to_string();
        let expected =
            format!("the database {scheme}://ada@127.0.0.1:{port}/books cannot be used: ");
        assert!(error.starts_with(&expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn postgresql_keeps_the_promises_of_a_database() {
    let Some(mut server) = installed(DatabaseServer::postgresql()) else {
        return;
    };
    let database = url(&server);
    keeps_the_promises(&database, async |statement| {
        let mut connection = sqlx::PgConnection::connect(&database).await.unwrap();
        sqlx::raw_sql(statement)
            .execute(&mut connection)
            .await
            .unwrap();
    })
    .await;
    let mut connection = sqlx::PgConnection::connect(&database).await.unwrap();
    sqlx::raw_sql(DROP).execute(&mut connection).await.unwrap();
    let services = started(&database).await;
    server.stop();
    is_missed(&services).await;
    services.shutdown().await;
}

#[tokio::test]
async fn mariadb_keeps_the_promises_of_a_database() {
    let Some(mut server) = installed(DatabaseServer::mariadb()) else {
        return;
    };
    let url = url(&server);
    let database = url.replace("mysql:", "mariadb:");
    keeps_the_promises(&database, async |statement| {
        let mut connection = sqlx::MySqlConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(statement)
            .execute(&mut connection)
            .await
            .unwrap();
    })
    .await;
    let mut connection = sqlx::MySqlConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(DROP).execute(&mut connection).await.unwrap();
    let services = started(&database).await;
    server.stop();
    is_missed(&services).await;
    services.shutdown().await;
}

/// The server; nothing, where it is not installed.
fn installed(server: Result<DatabaseServer, NoServer>) -> Option<DatabaseServer> {
    match server {
        Ok(server) => Some(server),
        Err(missing @ NoServer::NotInstalled { .. }) => {
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            eprintln!("SKIPPED: {missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn url(server: &DatabaseServer) -> String {
    match server.location() {
        DatabaseLocation::MySql(url) | DatabaseLocation::Postgres(url) => url.clone(),
        other => panic!("{other} is no server"),
    }
}
