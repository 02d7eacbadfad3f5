//! What the system says of this process, under the names that every Prometheus client library uses.
//!
//! The rule kept here: what the system does not say has no line.

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use super::text::{COUNTER, Exposition, GAUGE};

/// Writes what is known of this process.
pub(super) fn expose(out: &mut Exposition) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = clock_ticks_per_second() as f64;
    if let Some(used) = Used::parse(&stat) {
        let help = "Processor time of the process, in seconds.";
        out.number(
            ("process_cpu_seconds_total", COUNTER, help),
            used.processor_ticks as f64 / ticks,
        );
        let help = "Memory of the process that is in the machine's.";
        out.number(
            ("process_resident_memory_bytes", GAUGE, help),
            used.resident_pages * page_size() as u64,
        );
        let help = "Addresses that the process has.";
        out.number(
            ("process_virtual_memory_bytes", GAUGE, help),
            used.virtual_bytes,
        );
        let help = "Threads of the process.";
        out.number(("process_threads", GAUGE, help), used.threads);
        if let Some(boot) = boot_time() {
            let help = "When the process began, in seconds since 1970.";
            out.number(
                ("process_start_time_seconds", GAUGE, help),
                boot as f64 + used.begun_ticks as f64 / ticks,
            );
        }
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        let help = "Open file descriptors.";
        // One of them is that of the folder.
        out.number(
            ("process_open_fds", GAUGE, help),
            open.count().saturating_sub(1),
        );
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        let help = "Most open file descriptors.";
        out.number(("process_max_fds", GAUGE, help), most);
    }
}

/// What `/proc/PID/stat` says (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
struct Used {
    processor_ticks: u64,
    threads: u64,
    begun_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Used {
    fn parse(stat: &str) -> Option<Self> {
        // The second field is the name of the program, which may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The first of these is the third of all.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            processor_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            begun_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine started, in seconds since 1970.
fn boot_time() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_the_program_is_called() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 9 0 0 0 120 34 0 0 20 0 5 0 8812 1048576 256 18446744073709551615 1 1";
        let used = Used {
            processor_ticks: 154,
            threads: 5,
            begun_ticks: 8812,
            virtual_bytes: 1_048_576,
            resident_pages: 256,
        };
        assert_eq!(Used::parse(stat), Some(used));
        assert_eq!(Used::parse("7 (a) S 1"), None);
    }
}
