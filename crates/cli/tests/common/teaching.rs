//! What every command of each program keeps: it says what it is for, and shows an example.
//!
//! The rule kept here: hidden commands teach, too.

use clap::CommandFactory;

use super::Arguments;

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn every_command_teaches_with_an_example() {
    examine(&Arguments::command());
}

/// Checks a command and all commands below it.
fn examine(command: &clap::Command) {
    for inner in command.get_subcommands() {
        examine(inner);
    }
    if command.get_name() == "help" {
        return;
    }
    let examples = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    assert!(
        examples.contains("soapstone "),
        "{} shows no example",
        command.get_name()
    );
    assert!(
        command.get_about().is_some(),
        "{} says nothing",
        command.get_name()
    );
}
