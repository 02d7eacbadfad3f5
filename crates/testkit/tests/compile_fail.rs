//! Examples that must not compile name the error for which they must not: any other error, such as
//! a name that was changed, proves nothing. `.ci/rustdoc` compares the names with what the compiler
//! says.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a folder whose examples rustdoc runs.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "md")
        {
            found.push(path);
        }
    }
}

/// The words behind the fence that begins an example, if a line does so.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line
        .strip_prefix("//!")
        .or_else(|| line.strip_prefix("///"))
        .unwrap_or(line);
    line.trim_start().strip_prefix("```")
}

/// Whether an example that must not compile says why.
fn names_its_error(words: &str) -> bool {
    words.split(',').any(|word| {
        word.strip_prefix('E')
            .is_some_and(|code| code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Every example that must not compile: its place, and the words of its fence.
fn examples() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["crates", "docs"] {
        sources(&root.join(folder), &mut files);
    }
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a source");
        for (number, line) in text.lines().enumerate() {
            let words = fence(line).filter(|words| words.contains("compile_fail"));
            if let Some(words) = words {
                let file = path.strip_prefix(&root).expect("a file of the repository");
                let place = format!("{}:{}", file.display(), number + 1);
                found.push((place, words.to_owned()));
            }
        }
    }
    found
}

#[test]
fn every_example_that_must_not_compile_names_its_error() {
    let examples = examples();
    let bare: Vec<&String> = examples
        .iter()
        .filter(|(_, words)| !names_its_error(words))
        .map(|(place, _)| place)
        .collect();
    assert!(bare.is_empty(), "{bare:#?}");
}

#[test]
fn each_type_that_promises_something_has_an_example_that_must_not_compile() {
    let examples = examples();
    for (file, least) in [
        ("crates/wss/src/verified.rs", 12),
        ("crates/crypto/src/secret.rs", 5),
        ("crates/crypto/src/lib.rs", 4),
        ("crates/soapstone/src/config/confidential.rs", 2),
    ] {
        let found = examples
            .iter()
            .filter(|(place, _)| place.starts_with(file))
            .count();
        assert!(found >= least, "{file}: {found} examples");
    }
}

#[test]
fn a_fence_without_a_code_is_seen() {
    assert!(!names_its_error(
        fence("//! ```compile_fail").expect("a fence")
    ));
    assert!(!names_its_error(
        fence("/// ```compile_fail,edition2024").expect("a fence")
    ));
    assert!(names_its_error(
        fence("    /// ```compile_fail,E0277").expect("a fence")
    ));
    assert_eq!(fence("//! a sentence"), None);
}
