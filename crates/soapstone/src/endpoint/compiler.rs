//! What compiles an endpoint file: the file, and what was found wrong with it.
//!
//! The one rule: everything that is wrong comes out together, in the order of the file.

use std::sync::Arc;

use soapstone_crypto::trust::OnlineRevocation;

use super::expiring_file::ExpiringFile;
use super::remark::Remark;
use crate::config::{EndpointConfig, Place, Problem, Problems};

pub(super) struct Compiler<'c> {
    pub(super) config: &'c EndpointConfig,
    problems: Vec<Problem>,
    /// What keys and trust were made of so far.
    pub(super) dated: Vec<ExpiringFile>,
    /// What of it asks about revocation.
    pub(super) online: Vec<Arc<OnlineRevocation>>,
    /// What an operator must know of the policies of nodes on the way.
    pub(super) remarks: Vec<Remark>,
}

/// What `work` makes of a file, or everything that it found wrong with it.
pub(super) fn compiled<T>(
    config: &EndpointConfig,
    work: impl FnOnce(&mut Compiler<'_>) -> Option<T>,
) -> Result<T, Problems> {
    let mut compiler = Compiler {
        config,
        problems: Vec::new(),
        dated: Vec::new(),
        online: Vec::new(),
        remarks: Vec::new(),
    };
    match work(&mut compiler) {
        Some(made) if compiler.problems.is_empty() => Ok(made),
        _ => {
            compiler
                .problems
                .sort_by_key(|problem| (problem.line, problem.column));
            let mut problems: Vec<Problem> = Vec::new();
            for problem in compiler.problems {
                // Several exchanges may lack the same.
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
            Err(Problems(problems))
        }
    }
}

impl Compiler<'_> {
    /// Compiles with another file in the place of this one: what is wrong with it is wrong with
    /// this one.
    pub(super) fn instead_with<T>(
        &mut self,
        config: &EndpointConfig,
        work: impl FnOnce(&mut Compiler<'_>) -> T,
    ) -> T {
        let mut other = Compiler {
            config,
            problems: std::mem::take(&mut self.problems),
            dated: std::mem::take(&mut self.dated),
            online: std::mem::take(&mut self.online),
            remarks: std::mem::take(&mut self.remarks),
        };
        let made = work(&mut other);
        (self.problems, self.dated) = (other.problems, other.dated);
        (self.online, self.remarks) = (other.online, other.remarks);
        made
    }

    /// What is wrong with an endpoint of its own is wrong with the file that it stands in.
    pub(super) fn take_problems(&mut self, problems: Problems) {
        self.problems.extend(problems.0);
    }

    pub(super) fn report(&mut self, place: Place, message: impl Into<String>) {
        self.problems.push(self.config.problem(place, message));
    }

    pub(super) fn report_with_hint(
        &mut self,
        place: Place,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.problems
            .push(self.config.problem(place, message).with_hint(hint));
    }
}
