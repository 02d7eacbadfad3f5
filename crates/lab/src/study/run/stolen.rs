//! Time that the hypervisor took from the processors of this machine: what is measured meanwhile is
//! slower for no reason of its own.
//!
//! The rule kept here: what the system does not tell is not known, and never zero.

/// Where the kernel tells what processors did since it began.
const STATISTICS: &str = "/proc/stat";

/// What all processors did since the kernel began, in its ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProcessorTime {
    all: f64,
    stolen: f64,
}

impl ProcessorTime {
    /// Until now; `None`, where the system does not tell.
    pub(super) fn now() -> Option<Self> {
        Self::of(&std::fs::read_to_string(STATISTICS).ok()?)
    }

    /// Of the first line, `cpu user nice system idle iowait irq softirq steal …` (proc_stat(5));
    /// what comes after is part of what stands before.
    fn of(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split_whitespace();
        if words.next()? != "cpu" {
            return None;
        }
        let ticks: Vec<f64> = words.take(8).map_while(|it| it.parse().ok()).collect();
        Some(Self {
            all: ticks.iter().sum(),
            stolen: *ticks.get(7)?,
        })
    }

    /// The share that was stolen since then.
    pub(super) fn stolen_since(self) -> Option<f64> {
        self.share_until(Self::now()?)
    }

    fn share_until(self, later: Self) -> Option<f64> {
        let all = later.all - self.all;
        (all > 0.0).then(|| (later.stolen - self.stolen) / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stolen_share_is_that_of_the_ticks_between_two_moments() {
        let before = ProcessorTime::of("cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1 2").expect("ticks");
        let after = ProcessorTime::of("cpu 150 0 75 900 10 0 5 60 9 0").expect("ticks");
        // 200 ticks, of which 25 were stolen.
        assert_eq!(before.share_until(after), Some(0.125));
        assert_eq!(before.share_until(before), None);
        assert_eq!(ProcessorTime::of("cpu 1 2 3 4 5 6 7"), None);
        assert_eq!(ProcessorTime::of("intr 1"), None);
    }
}
