//! How much memory this process may have, where its control group says so, and how much it has.
//!
//! The rule kept here: what cannot be read is not guessed.

use std::path::Path;

/// The memory limit of the control group, in bytes; `None` where there is none.
pub(crate) fn limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    limit_below(Path::new("/sys/fs/cgroup"), &groups)
}

/// The least limit of a group and of those that it is in: each of them binds.
fn limit_below(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let (root, file) = if controllers.is_empty() {
            (root.to_path_buf(), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            return None;
        };
        let group = root.join(group.trim_start_matches('/'));
        let groups = group
            .ancestors()
            .take_while(|group| group.starts_with(&root));
        groups.filter_map(|group| bytes_in(&group.join(file))).min()
    });
    limits.min()
}

/// A number in a file; `None` where it says `max`, or, in version 1, what stands for no limit.
fn bytes_in(file: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let bytes = text.trim().parse().ok()?;
    (bytes < 1 << 60).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of(files: &[(&str, &str)], groups: &str) -> Option<u64> {
        let root = std::env::temp_dir().join(format!(
            "soapstone-groups-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        for (file, text) in files {
            let file = root.join(file);
            let folder = file.parent().expect("it is below the root");
            std::fs::create_dir_all(folder).expect("the temporary folder is writable");
            std::fs::write(file, text).expect("the temporary folder is writable");
        }
        let limit = limit_below(&root, groups);
        std::fs::remove_dir_all(&root).expect("it is ours");
        limit
    }

    #[test]
    fn the_least_limit_of_a_group_and_its_parents_binds() {
        let files = [
            ("memory.max", "max\n"),
            ("pod/memory.max", "1073741824\n"),
            ("pod/container/memory.max", "max\n"),
        ];
        assert_eq!(limit_of(&files, "0::/pod/container\n"), Some(1 << 30));
        // Inside of a container its own group is the root.
        assert_eq!(
            limit_of(&[("memory.max", "536870912\n")], "0::/\n"),
            Some(512 << 20)
        );
        assert_eq!(limit_of(&[("memory.max", "max\n")], "0::/\n"), None);
    }

    #[test]
    fn version_1_has_a_hierarchy_for_memory() {
        let files = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/pod/memory.limit_in_bytes", "268435456\n"),
        ];
        let groups = "5:cpu,cpuacct:/pod\n3:memory:/pod\n";
        assert_eq!(limit_of(&files, groups), Some(256 << 20));
    }
}
