//! The `[tuning]` table: how messages are worked on, for those who have measured.
//!
//! The rule kept here: what is absent is as it is without the table.

use soapstone_wss::{Buffering, CacheBounds, DerivedKeyLimits, Tuning};

use super::table::{FlagOrTable, Table};

/// Reads the table to its end.
pub(super) fn read(mut table: Table<'_>) -> Tuning {
    let usual = Tuning::default();
    let canonical_runs = table.boolean("canonical_runs");
    let on_demand = table.boolean("on_demand");
    let buffering = table.choice(
        "buffering",
        &[
            ("streaming", Buffering::Streaming),
            ("buffered", Buffering::Buffered),
        ],
    );
    let digest_cache = read_bounds(&mut table, "digest_cache");
    let prehash = read_bounds(&mut table, "prehash");
    let derived_keys = read_kept_keys(&mut table, "derived_keys", usual.derived_keys);
    table.finish();
    Tuning {
        canonical_runs: canonical_runs.map_or(usual.canonical_runs, |given| given.value),
        on_demand: on_demand.map_or(usual.on_demand, |given| given.value),
        buffering: buffering.map_or(usual.buffering, |given| given.value),
        digest_cache,
        prehash,
        derived_keys,
    }
}

/// A memory: `true` for the usual bounds, or `{ entries = …, octets = … }`.
fn read_bounds(table: &mut Table<'_>, key: &'static str) -> Option<CacheBounds> {
    let usual = CacheBounds::default();
    let given = table.flag_or_table(key, "{ entries = 10000, octets = \"16MiB\" }")?;
    let mut table = match given.value {
        FlagOrTable::Flag(wanted) => return wanted.then_some(usual),
        FlagOrTable::Table(table) => table,
    };
    let entries = table.integer("entries", 1, u64::from(u32::MAX));
    let octets = table.size("octets");
    table.finish();
    let or = |given: Option<u64>, usual: usize| {
        given.map_or(usual, |given| usize::try_from(given).unwrap_or(usize::MAX))
    };
    Some(CacheBounds {
        entries: or(entries.map(|entries| entries.value), usual.entries),
        octets: or(octets.map(|octets| octets.value), usual.octets),
    })
}

/// Keys that are kept: `false` for a new one each time, or `{ conversations = …, messages = … }`.
fn read_kept_keys(
    table: &mut Table<'_>,
    key: &'static str,
    usual: Option<DerivedKeyLimits>,
) -> Option<DerivedKeyLimits> {
    let example = "{ conversations = 1000, messages = 65536 }";
    let Some(given) = table.flag_or_table(key, example) else {
        return usual;
    };
    let usual = DerivedKeyLimits::default();
    let mut table = match given.value {
        FlagOrTable::Flag(wanted) => return wanted.then_some(usual),
        FlagOrTable::Table(table) => table,
    };
    let conversations = table.integer("conversations", 1, u64::from(u32::MAX));
    let messages = table.integer("messages", 1, u64::from(DerivedKeyLimits::MOST_MESSAGES));
    table.finish();
    Some(DerivedKeyLimits {
        conversations: conversations
            .and_then(|given| usize::try_from(given.value).ok())
            .unwrap_or(usual.conversations),
        messages: messages
            .and_then(|given| u32::try_from(given.value).ok())
            .unwrap_or(usual.messages),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{EndpointConfig, Problems};

    fn read(table: &str) -> Result<Tuning, Problems> {
        let text = format!("[security]\nmechanism = \"none\"\n{table}\n");
        EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
            .map(|config| config.tuning)
    }

    #[test]
    fn without_the_table_and_with_an_empty_one_everything_is_as_usual() {
        assert_eq!(read("").unwrap(), Tuning::default());
        assert_eq!(read("[tuning]").unwrap(), Tuning::default());
    }

    #[test]
    fn every_field_can_be_set() {
        let tuning = read(
            "[tuning]\ncanonical_runs = false\non_demand = true\nbuffering = \"buffered\"\ndigest_cache = { entries = 5, octets = \"1MiB\" }\nprehash = true\nderived_keys = { conversations = 7, messages = 9 }",
        );
        assert_eq!(
            tuning.unwrap(),
            Tuning {
                canonical_runs: false,
                on_demand: true,
                buffering: Buffering::Buffered,
                digest_cache: Some(CacheBounds {
                    entries: 5,
                    octets: 1 << 20
                }),
                prehash: Some(CacheBounds::default()),
                derived_keys: Some(DerivedKeyLimits {
                    conversations: 7,
                    messages: 9
                }),
            }
        );
        assert_eq!(read("[tuning]\nprehash = false").unwrap().prehash, None);
        let derived_keys = |value| {
            let read = read(&format!("[tuning]\nderived_keys = {value}"));
            read.unwrap().derived_keys
        };
        assert_eq!(derived_keys("false"), None);
        assert_eq!(derived_keys("true"), Some(DerivedKeyLimits::default()));
    }

    #[test]
    fn what_is_no_tuning_is_told_with_its_place() {
        let problems = read(
            "[tuning]\nbuffering = \"twice\"\ndigest_cache = 7\nspeed = 11\nderived_keys = { messages = 9999999 }",
        );
        let problems = problems.unwrap_err().to_string();
        for expected in [
            "buffering",
            "digest_cache",
            "speed",
            "endpoint.toml:5",
            "1048576",
        ] {
            assert!(problems.contains(expected), "{expected} in\n{problems}");
        }
    }
}
