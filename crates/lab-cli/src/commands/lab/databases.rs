//! The databases that books are taken from: those that were named, or SQLite in a scratch folder
//! beside MariaDB and PostgreSQL, which are started where they are installed.
//!
//! The rule kept here: a database that is not there takes only its own arms out of a run, and why
//! is told.

use std::path::Path;

use soapstone_lab::study::{Call, NoCall, Operation, Source, Task};
use soapstone_services::{DatabaseLocation, DatabaseServer, NoServer};

use super::bench::is_ours;
use crate::failure::Failure;

/// The databases, in the order of their places in a scope.
pub(super) struct Databases {
    all: Vec<Database>,
    /// They end with this value.
    servers: Vec<DatabaseServer>,
}

struct Database {
    name: &'static str,
    /// Where it is, or why it is not there.
    place: Result<DatabaseLocation, String>,
    /// What makes it be there.
    start: Option<fn() -> Result<DatabaseServer, NoServer>>,
}

impl Databases {
    /// The names of those that there are where none is named.
    pub(super) const OWN: [&str; 3] = ["sqlite", "mysql", "postgres"];

    /// Those that were named.
    ///
    /// # Errors
    /// More than one are of a kind.
    pub(super) fn named(locations: &[DatabaseLocation]) -> Result<Self, Failure> {
        let mut all: Vec<Database> = Vec::new();
        for location in locations {
            let name = kind(location);
            if all.iter().any(|it| it.name == name) {
                return Err(Failure::new(format_args!(
                    "expected one database of a kind, found more of {name}"
                )));
            }
            all.push(Database {
                name,
                place: Ok(location.clone()),
                start: None,
            });
        }
        let servers = Vec::new();
        Ok(Self { all, servers })
    }

    /// SQLite in a file of the folder, and servers that are not started yet.
    pub(super) fn of_our_own(folder: &Path) -> Self {
        let [sqlite, mysql, postgres] = Self::OWN;
        let server = |name, start| Database {
            name,
            place: Err("it was not started".to_owned()),
            start: Some(start),
        };
        Self {
            all: vec![
                Database {
                    name: sqlite,
                    place: Ok(DatabaseLocation::SqliteFile(folder.join("books.db"))),
                    start: None,
                },
                server(mysql, DatabaseServer::mariadb),
                server(postgres, DatabaseServer::postgresql),
            ],
            servers: Vec::new(),
        }
    }

    /// Starts the servers that the tasks need; tells which, before each, and which are not there.
    pub(super) fn start(
        &mut self,
        tasks: &[Task],
        starting: &mut dyn FnMut(&str),
        absent: &mut dyn FnMut(&str, &str),
    ) {
        let calls = tasks.iter().flat_map(|task| &task.point.arms);
        let calls: Vec<Call> = calls.map(|arm| arm.call).collect();
        for (index, database) in self.all.iter_mut().enumerate() {
            let needed = |call: &Call| is_ours(call.stack) && place(call) == Some(index);
            let Some(start) = database.start.filter(|_| calls.iter().any(needed)) else {
                continue;
            };
            starting(database.name);
            match start() {
                Ok(server) => {
                    database.place = Ok(server.location().clone());
                    self.servers.push(server);
                }
                Err(why) => {
                    let why = why.to_string();
                    absent(database.name, &why);
                    database.place = Err(why);
                }
            }
        }
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.all.iter().map(|it| it.name.to_owned()).collect()
    }

    /// The names of those that are there.
    pub(super) fn there(&self) -> Vec<String> {
        let there = self.all.iter().filter(|it| it.place.is_ok());
        there.map(|it| it.name.to_owned()).collect()
    }

    /// Where they are, each in its place.
    pub(super) fn locations(&self) -> Vec<Option<DatabaseLocation>> {
        let places = self.all.iter().map(|it| it.place.as_ref().ok().cloned());
        places.collect()
    }

    /// Whether what the call needs is there.
    ///
    /// # Errors
    /// Why it is left out.
    pub(super) fn answers(&self, call: &Call) -> Result<(), NoCall<Failure>> {
        let database = place(call).and_then(|index| self.all.get(index));
        match database.map(|it| &it.place) {
            Some(Err(why)) => Err(NoCall::LeftOut(why.clone())),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

/// Which database the call's books come from.
fn place(call: &Call) -> Option<usize> {
    match call.operation {
        Operation::Books {
            source: Source::Database(index),
            ..
        } => Some(index),
        _ => None,
    }
}

fn kind(database: &DatabaseLocation) -> &'static str {
    match database {
        DatabaseLocation::MySql(_) => "mysql",
        DatabaseLocation::Postgres(_) => "postgres",
        _ => "sqlite",
    }
}
