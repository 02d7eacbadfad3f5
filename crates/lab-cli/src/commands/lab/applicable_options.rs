//! Options of `soapstone lab run` that have nothing to do with what is to be run: refused, so that
//! nobody believes that they did something.
//!
//! The rule kept here: the heading under which help tells an option says whose it is.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::{Arguments, Subject};

/// The heading of options that only the engine's cases have.
pub(super) const OF_ENGINE: &str = "Options of engine";
/// Of those that only the load on a cluster has.
pub(super) const OF_CONVERSATIONS: &str = "Options of conversations";
/// Of those that only studies have.
pub(super) const OF_STUDIES: &str = "Options of studies";

/// [`Arguments`] all of which are for what is to be run.
#[derive(Debug)]
pub struct ApplicableOptions(pub(super) Arguments);

impl Args for ApplicableOptions {
    fn augment_args(command: Command) -> Command {
        Arguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args_for_update(command)
    }
}

impl FromArgMatches for ApplicableOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let arguments = Arguments::from_arg_matches(matches)?;
        let command = Arguments::augment_args(Command::new("run"));
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let given = command.get_arguments();
        for option in given.filter(|option| is_given(option.get_id().as_str())) {
            let name = option.get_long().unwrap_or_default();
            let owner = owner(option.get_help_heading(), name);
            if let Some(owner) = owner.filter(|owner| !owner.has(&arguments.subject)) {
                let problem = format!(
                    "--{name} is an option of {}, not of {}",
                    owner.name(),
                    arguments.subject.name()
                );
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem));
            }
        }
        Ok(Self(arguments))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whose an option is.
#[derive(Clone, Copy)]
enum Owner {
    Engine,
    Conversations,
    Studies,
    /// What has cases or points with names.
    Named,
    /// What can be done at a glance.
    Repeated,
}

/// Whose the option of this heading and name is, unless it is everybody's.
fn owner(heading: Option<&str>, name: &str) -> Option<Owner> {
    match (heading, name) {
        (Some(OF_ENGINE), _) => Some(Owner::Engine),
        (Some(OF_CONVERSATIONS), _) => Some(Owner::Conversations),
        (Some(OF_STUDIES), _) => Some(Owner::Studies),
        (_, "filter") => Some(Owner::Named),
        (_, "quick") => Some(Owner::Repeated),
        _ => None,
    }
}

impl Owner {
    fn has(self, subject: &Subject) -> bool {
        match (self, subject) {
            (Self::Engine, Subject::Engine)
            | (Self::Conversations, Subject::Conversations)
            | (Self::Studies, Subject::Studies(_))
            | (Self::Named, Subject::Engine | Subject::Studies(_)) => true,
            (Self::Repeated, subject) => !matches!(subject, Subject::Conversations),
            _ => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Conversations => "conversations",
            Self::Studies => "studies",
            Self::Named => "engine and of studies",
            Self::Repeated => "engine, growth and studies",
        }
    }
}

impl Subject {
    fn name(&self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Growth => "growth",
            Self::Conversations => "conversations",
            Self::Studies(_) => "studies",
        }
    }
}
