//! The books from every database: SQLite always, MariaDB and PostgreSQL from servers that the tests start themselves.
//!
//! Where the server of a database is not installed its test is skipped, loudly; with `CI` in the environment it fails.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use http::StatusCode;
use soapstone_services::SoapVersion::Soap11;
use soapstone_services::{
    BOOKS, Config, DatabaseError, DatabaseLocation, Running, Service, Services, SoapVersion,
    StartError, requests, responses,
};
use sqlx::Connection;
use tempfile::TempDir;

use crate::support::Http;

/// How long a database server may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

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
    let Some(mut server) = Server::postgresql() else {
        return;
    };
    let database = format!("postgres://soapstone@127.0.0.1:{}/postgres", server.port);
    server.wait_until_ready().await;
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
    let Some(mut server) = Server::mariadb() else {
        return;
    };
    let database = format!("mariadb://root@127.0.0.1:{}/test", server.port);
    server.wait_until_ready().await;
    let url = database.replace("mariadb:", "mysql:");
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

/// A database server of a test's own: its files in a temporary folder, on a free port of the loopback interface.
struct Server {
    process: Child,
    port: u16,
    /// Ends it at once, but in order.
    signal: &'static str,
    folder: TempDir,
}

impl Server {
    fn postgresql() -> Option<Server> {
        let (Some(initdb), Some(postgres)) = (program("initdb"), program("postgres")) else {
            return missing("PostgreSQL", "postgresql");
        };
        let folder = folder();
        let data = folder.path().join("data");
        let arguments = [
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--username=soapstone",
        ];
        finish(
            Command::new(initdb).args(arguments).arg("-D").arg(&data),
            &folder,
        );
        let port = free_port();
        let process = start(
            Command::new(postgres)
                .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
                .args(["-p", &port.to_string()])
                .arg("-k")
                .arg(folder.path())
                .arg("-D")
                .arg(&data),
            &folder,
        );
        Some(Server {
            process,
            port,
            signal: "-INT",
            folder,
        })
    }

    fn mariadb() -> Option<Server> {
        let (Some(install), Some(mariadbd)) = (program("mariadb-install-db"), program("mariadbd"))
        else {
            return missing("MariaDB", "mariadb-server");
        };
        let folder = folder();
        let data = format!("--datadir={}", folder.path().join("data").display());
        finish(
            Command::new(install)
                .args(["--no-defaults", "--auth-root-authentication-method=normal"])
                .arg(&data),
            &folder,
        );
        let port = free_port();
        let process = start(
            Command::new(mariadbd)
                .args([
                    "--no-defaults",
                    "--bind-address=127.0.0.1",
                    "--innodb-flush-log-at-trx-commit=0",
                ])
                .arg(&data)
                .arg(format!("--port={port}"))
                .arg(format!(
                    "--socket={}",
                    folder.path().join("socket").display()
                ))
                .arg(format!(
                    "--pid-file={}",
                    folder.path().join("pid").display()
                )),
            &folder,
        );
        Some(Server {
            process,
            port,
            signal: "-TERM",
            folder,
        })
    }

    async fn wait_until_ready(&mut self) {
        let begun = Instant::now();
        while tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))
            .await
            .is_err()
        {
            let ended = self.process.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "the database server did not start ({ended:?}):\n{}",
                log(&self.folder)
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // The port is open a moment before the server takes sessions.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }

    fn stop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            let process = self.process.id().to_string();
            Command::new("kill")
                .args([self.signal, &process])
                .status()
                .expect("kill");
            self.process.wait().expect("the database server ends");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn missing(what: &str, package: &str) -> Option<Server> {
    let text = format!(
        "{what} is not installed; to test with it: apt-get install -y --no-install-recommends {package}"
    );
    assert!(std::env::var_os("CI").is_none(), "{text}");
    eprintln!("SKIPPED: {text}");
    None
}

/// A program from the search path or from where Debian keeps servers.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
        .chain(versions.map(|version| version.path().join("bin")))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A folder that belongs to the user who will run the server.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    if let Some(user) = unprivileged() {
        chown(folder.path(), Some(user), Some(user)).unwrap();
    }
    folder
}

/// Database servers refuse to run as root: there they run as Debian's `nobody`.
fn unprivileged() -> Option<u32> {
    const NOBODY: u32 = 65_534;
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    root.then_some(NOBODY)
}

fn prepare<'c>(command: &'c mut Command, folder: &TempDir) -> &'c mut Command {
    if let Some(user) = unprivileged() {
        command.uid(user).gid(user);
    }
    let log = || {
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.path().join("log"))
            .unwrap()
    };
    command
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(log())
        .stderr(log())
}

fn finish(command: &mut Command, folder: &TempDir) {
    let status = prepare(command, folder).status().expect("the program runs");
    assert!(status.success(), "{command:?} failed:\n{}", log(folder));
}

fn start(command: &mut Command, folder: &TempDir) -> Child {
    prepare(command, folder).spawn().expect("the server starts")
}

fn log(folder: &TempDir) -> String {
    let read = |path: &Path| -> io::Result<String> { fs::read_to_string(path) };
    read(&folder.path().join("log")).unwrap_or_else(|error| error.to_string())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}
