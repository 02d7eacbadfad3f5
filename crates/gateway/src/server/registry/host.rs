//! Figures of the machine, from Linux' `/proc`.
//!
//! The rule kept here: what the system does not say is unknown.

use std::time::Instant;

use soapstone_registry::Host;

/// What was read last, for figures that are differences.
pub(super) struct HostFigures {
    at: Instant,
    processor: Option<(u64, u64)>,
    network: Option<(u64, u64)>,
}

impl HostFigures {
    pub(super) fn begin() -> Self {
        Self {
            at: Instant::now(),
            processor: processor(&read("/proc/stat")),
            network: network(&read("/proc/net/dev")),
        }
    }

    /// The figures since the last time.
    pub(super) fn next(&mut self) -> Host {
        let now = Self::begin();
        let seconds = now.at.duration_since(self.at).as_secs_f64();
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds.max(0.001);
        let idle = now.processor.zip(self.processor);
        let idle = idle.and_then(|((idle, all), (idle_then, all_then))| {
            let all = all.checked_sub(all_then).filter(|all| *all > 0)?;
            let idle = idle.saturating_sub(idle_then).min(all);
            Some(100.0 * idle as f64 / all as f64)
        });
        let network = now.network.zip(self.network);
        let host = Host {
            load_one: load(&read("/proc/loadavg")),
            cpu_idle: idle,
            cpu_num: std::thread::available_parallelism()
                .ok()
                .map(|count| count.get() as f64),
            mem_free: free_memory(&read("/proc/meminfo")),
            bytes_in: network.map(|((now, _), (then, _))| rate(now, then)),
            bytes_out: network.map(|((_, now), (_, then))| rate(now, then)),
        };
        *self = now;
        host
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The first figure of `/proc/loadavg` (proc_loadavg(5)).
fn load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Idle and all time of all processors, in ticks (proc_stat(5)): waiting for disks is idle.
fn processor(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times = line.split_whitespace().map(|time| time.parse::<u64>().ok());
    // What guests take is counted as user time, too.
    let times: Option<Vec<u64>> = times.take(8).collect();
    let times = times?;
    let idle = times.get(3)? + times.get(4)?;
    Some((idle, times.iter().sum()))
}

/// Kilobytes that nothing uses (proc_meminfo(5)).
fn free_memory(text: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemFree:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes that arrived and left, by all interfaces (proc_pid_net(5)).
fn network(text: &str) -> Option<(u64, u64)> {
    let of_interface = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some((
            fields.first()?.parse::<u64>().ok()?,
            fields.get(8)?.parse::<u64>().ok()?,
        ))
    };
    let mut interfaces = text.lines().filter_map(of_interface).peekable();
    interfaces.peek()?;
    Some(interfaces.fold((0, 0), |(read, sent), (more, also)| {
        (read + more, sent + also)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_linux_are_understood() {
        assert_eq!(load("0.25 0.10 0.05 1/200 1234\n"), Some(0.25));
        let stat = "cpu  10 0 20 60 10 0 0 0 5 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        assert_eq!(processor(stat), Some((70, 100)));
        let memory = "MemTotal:  2048 kB\nMemFree:   1024 kB\n";
        assert_eq!(free_memory(memory), Some(1024.0));
        let net = "Inter-|   Receive  |  Transmit\n face |bytes packets\n  lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\neth0: 50 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
        assert_eq!(network(net), Some((150, 107)));
        for wrong in ["", "x", "cpu 1 2\n"] {
            assert_eq!((load(wrong), processor(wrong)), (None, None), "{wrong}");
            assert_eq!(
                (free_memory(wrong), network(wrong)),
                (None, None),
                "{wrong}"
            );
        }
    }
}
