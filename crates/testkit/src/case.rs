//! One case of a manifest, and the files that it names.
//!
//! `vectors/README.md` describes the manifests. The rule kept here: a file that a case names is
//! there, or the test fails.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A case of a suite.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique among all suites.
    pub id: String,
    /// What is to be done with its file.
    pub kind: String,
    /// The name of its suite, which is that of the folder.
    pub suite: String,
    /// The folder of its suite; all its paths are relative to it.
    pub folder: PathBuf,
    /// The file that it is about.
    pub file: String,
    /// All that the manifest says of it.
    pub value: Value,
}

/// The cases of every suite in a folder.
///
/// # Panics
/// If the folder or a manifest cannot be read.
pub(crate) fn all(folder: &Path) -> Vec<Case> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut suites: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|suite| suite.join("manifest.json").is_file())
        .collect();
    suites.sort();
    suites.iter().flat_map(|suite| of_suite(suite)).collect()
}

fn of_suite(folder: &Path) -> Vec<Case> {
    let path = folder.join("manifest.json");
    let manifest: Value =
        serde_json::from_slice(&read(&path)).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let suite = folder.file_name().expect("a suite is a folder");
    let suite = suite.to_string_lossy().into_owned();
    let cases = manifest["cases"].as_array();
    let cases = cases.unwrap_or_else(|| panic!("{path:?} lists no cases"));
    let text = |case: &Value, field: &str| {
        let text = case[field].as_str();
        text.unwrap_or_else(|| panic!("{path:?}: {case} has no `{field}`"))
            .to_owned()
    };
    cases
        .iter()
        .map(|case| Case {
            id: text(case, "id"),
            kind: text(case, "kind"),
            suite: suite.clone(),
            folder: folder.to_owned(),
            file: text(case, "file"),
            value: case.clone(),
        })
        .collect()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Case {
    /// The bytes of a file of the suite.
    ///
    /// # Panics
    /// If it is not there.
    pub fn read(&self, file: &str) -> Vec<u8> {
        read(&self.folder.join(file))
    }

    /// The file that the case is about, white space between tags removed where the case says so.
    ///
    /// # Panics
    /// If it is not there.
    pub fn input(&self) -> Vec<u8> {
        let bytes = self.read(&self.file);
        if self.value["options"]["drop_blank_text_nodes"] == true {
            without_blank_text(&bytes)
        } else {
            bytes
        }
    }

    /// `expected.outcome`.
    ///
    /// # Panics
    /// If the case has none.
    pub fn outcome(&self) -> &str {
        self.expected("outcome").expect("an expected outcome")
    }

    /// A text that the case expects.
    pub fn expected(&self, field: &str) -> Option<&str> {
        self.value["expected"][field].as_str()
    }

    /// A text among the options.
    pub fn option(&self, option: &str) -> Option<&str> {
        self.value["options"][option].as_str()
    }

    /// The texts listed by an option.
    pub fn listed(&self, option: &str) -> Vec<&str> {
        let list = self.value["options"][option].as_array();
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The keys of the case.
    pub fn keys(&self) -> impl Iterator<Item = &Value> {
        self.value["keys"].as_array().into_iter().flatten()
    }

    /// The first key of a use, read.
    ///
    /// # Panics
    /// If the case has no file for it.
    pub fn key(&self, usage: &str) -> Vec<u8> {
        let key = self.keys().find(|key| key["use"] == usage);
        let file = key.and_then(|key| key["file"].as_str());
        self.read(file.unwrap_or_else(|| panic!("{}: no file for `{usage}`", self.id)))
    }

    /// Whether the case is one of the project's own.
    pub fn is_own(&self) -> bool {
        self.folder.starts_with(crate::directory::own())
    }
}

fn without_blank_text(bytes: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).expect("the document is UTF-8");
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('>') {
        let (tag, after) = rest.split_at(at + 1);
        kept.push_str(tag);
        let trimmed = after.trim_start();
        rest = if trimmed.starts_with('<') {
            trimmed
        } else {
            after
        };
    }
    kept.push_str(rest);
    kept.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_between_tags_is_dropped_and_text_is_kept() {
        let document = b"<a>\n  <b> text </b>\n\t<c/>\n</a>";
        let kept = without_blank_text(document);
        assert_eq!(String::from_utf8_lossy(&kept), "<a><b> text </b><c/></a>");
    }

    #[test]
    #[should_panic(expected = "nowhere.xml: No such file")]
    fn a_file_that_is_not_there_fails_the_test_that_reads_it() {
        let case = Case {
            id: "a".to_owned(),
            kind: "c14n".to_owned(),
            suite: "suite".to_owned(),
            folder: PathBuf::from("."),
            file: "nowhere.xml".to_owned(),
            value: Value::Null,
        };
        case.input();
    }
}
