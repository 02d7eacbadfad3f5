//! The account of cases that were not run.
//!
//! Cargo swallows what passing tests print, and runs each crate's tests as a process of its own. So
//! each test leaves its counts as files in one folder, and the Makefile adds them up at the end of
//! the run (`.ci/not-run`). A test that is run by hand prints its count at once.
//!
//! The rule kept here: a case is counted once, however many tests would have run it.

use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

use crate::table::Row;

/// The variable that names the folder of the counts.
const VARIABLE: &str = "SOAPSTONE_VECTORS_NOT_RUN";

/// Notes that these cases were not run, because there is no vectors directory.
pub(crate) fn record(rows: &[Row]) {
    if let Some(folder) = env::var_os(VARIABLE) {
        let folder = Path::new(&folder);
        write(rows, folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    } else if !rows.is_empty() {
        // The test harness captures what macros print, not what is written here.
        let _ = writeln!(io::stderr(), "{}", line(rows));
    }
}

/// One file for the cases of one kind of a suite: tests that share them write the same file.
fn write(rows: &[Row], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for Row { suite, kind, cases } in rows {
        fs::write(
            folder.join(format!("{suite}.{kind}")),
            format!("{suite} {kind} {cases}\n"),
        )?;
    }
    Ok(())
}

fn line(rows: &[Row]) -> String {
    let cases: usize = rows.iter().map(|row| row.cases).sum();
    let mut suites: Vec<&str> = rows.iter().map(|row| row.suite.as_str()).collect();
    suites.dedup();
    format!(
        "*** {cases} cases of {} suites were not run: the vectors directory is not there; set SOAPSTONE_VECTORS ***",
        suites.len()
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn row(suite: &str, kind: &str, cases: usize) -> Row {
        Row {
            suite: suite.to_owned(),
            kind: kind.to_owned(),
            cases,
        }
    }

    #[test]
    fn cases_that_several_tests_leave_out_are_counted_once_in_the_line_at_the_end() {
        let folder = crate::Folder::new();
        let rows = [
            row("one", "c14n", 44),
            row("one", "dsig-verify", 3),
            row("two", "c14n", 5),
        ];
        write(&rows[..2], folder.root()).expect("the counts are written");
        write(&rows, folder.root()).expect("the counts are written");
        let script = crate::directory::repository().join(".ci/not-run");
        let said = Command::new(&script).arg(folder.root()).output();
        let said = said.expect("the script runs");
        assert!(said.status.success());
        let expected = format!("{}\n", line(&rows));
        assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
        assert!(expected.contains("*** 52 cases of 2 suites were not run: "));
    }

    #[test]
    fn nothing_is_said_where_every_case_was_run() {
        let script = crate::directory::repository().join(".ci/not-run");
        let said = Command::new(script).arg("no/such/folder").output();
        let said = said.expect("the script runs");
        assert!(said.status.success());
        assert_eq!(said.stdout, b"");
    }
}
