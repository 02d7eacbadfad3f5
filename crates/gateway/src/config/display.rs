//! A configuration, for people: what `soapstone gateway --check` prints.
//!
//! The rule kept here: a route that does not protect what it looks as if it protects says so.

use std::fmt;

use super::direction::Direction;
use super::endpoint::NO_DEMANDS;
use super::{BYPASSES, Config};

/// What would be run, for people: a line for each address, and one for each route with what is done
/// on either side of it.
impl fmt::Display for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.tls.is_some() { " (TLS)" } else { "" };
        writeln!(formatter, "listen {}{tls}", self.listen)?;
        if let Some(admin) = &self.admin {
            writeln!(formatter, "admin {}", admin.listen)?;
        }
        for route in &self.routes {
            let backends: Vec<String> = route.backends().map(ToString::to_string).collect();
            write!(
                formatter,
                "route {} -> {}",
                route.path,
                backends.join(" | ")
            )?;
            if let Some(group) = &route.group {
                write!(formatter, " ({})", group.settings.selection.name())?;
            }
            for (which, side) in route.endpoints() {
                let (name, mechanism, suite) = (which.name(), side.mechanism(), side.suite());
                let separator = if suite.is_empty() { "" } else { " " };
                write!(formatter, ", {name} {mechanism}{separator}{suite}")?;
                if let (Direction::Inbound, Some(inbound)) = (which, &route.inbound)
                    && let Some((why, _)) = self.refuses_everybody(inbound)
                {
                    write!(formatter, " (serves nobody: {why})")?;
                }
                if side.is_without_demands() {
                    write!(formatter, " (without protection: {NO_DEMANDS})")?;
                }
                let open = side.unprotected_operations();
                if !open.is_empty() {
                    write!(formatter, " (without protection: {})", open.join(", "))?;
                }
            }
            if let Some(other) = route.bypassed_route(&self.routes) {
                write!(
                    formatter,
                    " (without protection: {BYPASSES} {})",
                    other.path
                )?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}
