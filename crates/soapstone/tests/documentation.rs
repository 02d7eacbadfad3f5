//! The guides say nothing that is not so: their endpoint files have keys that are known, and every
//! reason for a refusal is explained.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use soapstone::config::{Document, EndpointConfig, Surroundings};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn guides() -> Vec<(PathBuf, String)> {
    let folder = fs::read_dir(root().join("docs")).expect("the guides");
    let mut files: Vec<PathBuf> = folder
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a guide");
            (path, text)
        })
        .collect()
}

/// The blocks of TOML in a guide.
fn blocks(guide: &str) -> impl Iterator<Item = &str> {
    guide
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block))
}

#[test]
fn every_endpoint_file_of_the_guides_is_read() {
    let mut count = 0;
    for (path, guide) in guides() {
        for block in blocks(&guide) {
            let is_endpoint = block.contains("[security]") && !block.contains("[routes");
            if !is_endpoint {
                continue;
            }
            count += 1;
            // A password, or a key in hexadecimal digits.
            let environment = |_: &str| Some("5a".repeat(32));
            let Err(problems) = EndpointConfig::from_text(block, &path, &environment) else {
                continue;
            };
            // The keys and certificates that a guide speaks of are its reader's.
            for problem in problems.0 {
                assert!(
                    problem.message.contains("cannot be read"),
                    "{problem}\nin\n{block}"
                );
            }
        }
    }
    assert!(count >= 4, "found {count} endpoint files");
}

#[test]
fn the_files_of_a_cluster_fit_together() {
    let file = root().join("deploy/gateway.toml");
    let text = fs::read_to_string(&file).expect("the nodes' file");
    let environment = |_: &str| None;
    let surroundings = Surroundings {
        file,
        environment: &environment,
    };
    let document = Document::parse(&text, surroundings);
    let routes = document.root().tables("routes");
    assert_eq!(routes.len(), 1);
    for mut route in routes {
        let inbound = route.table("inbound").expect("what clients send");
        EndpointConfig::read(inbound);
    }
    // The secrets that it names are the cluster's.
    let problems = document.finish::<()>(None).unwrap_err();
    for problem in &problems.0 {
        assert!(problem.message.contains("cannot be read"), "{problem}");
    }
    assert_eq!(problems.0.len(), 5, "{problems}");
    for name in ["compose.yaml", "kubernetes.yaml"] {
        let manifest = fs::read_to_string(root().join("deploy").join(name)).expect("a manifest");
        for number in 0..3 {
            let sentinel = format!("sentinel-{number}.sentinel");
            assert!(
                text.contains(&format!("\"{sentinel}\"")),
                "{sentinel} in the nodes' file"
            );
            assert!(
                manifest.contains(&format!("{sentinel}:26379")),
                "{sentinel} in {name}"
            );
        }
        for script in ["redis-start", "sentinel-start", "users.acl"] {
            assert!(manifest.contains(script), "{script} in {name}");
        }
    }
}

#[test]
fn every_reason_for_a_refusal_is_explained() {
    let guide = fs::read_to_string(root().join("docs/debug-a-signature.md")).expect("a guide");
    let between = |file: &str, from: &str, to: &str| {
        let source = fs::read_to_string(root().join("crates").join(file)).expect("source");
        let (_, rest) = source.split_once(from).expect("the functions that name");
        let (code, _) = rest.split_once(to).expect("what follows them");
        code.to_owned()
    };
    let naming = [
        between(
            "wss/src/rejected/display.rs",
            "pub fn name(",
            "impl fmt::Display",
        ),
        between(
            "crypto/src/trust/error.rs",
            "const fn name(",
            "impl fmt::Display",
        ),
    ];
    let names: Vec<&str> = naming
        .iter()
        .flat_map(|code| code.split('"').skip(1).step_by(2))
        .collect();
    assert!(names.len() > 40, "found {names:?}");
    for name in names {
        assert!(
            guide.contains(&format!("`{name}`")),
            "`{name}` is not explained"
        );
    }
}

#[test]
fn hints_name_keys_that_there_are() {
    let file = root().join("crates/wss/src/rejected/hint.rs");
    let source = fs::read_to_string(file).expect("source");
    let guide = root().join("docs/configuration.md");
    let guide = fs::read_to_string(guide).expect("a guide");
    let hints = source
        .lines()
        .filter(|line| line.contains('"') && !line.trim_start().starts_with("//"));
    let mut count = 0;
    for named in hints.flat_map(|line| line.split('`').skip(1).step_by(2)) {
        // Elements and attributes of messages begin with a prefix or a capital.
        let is_of_message = named.contains(':') || named.starts_with(char::is_uppercase);
        if is_of_message || named.starts_with("soapstone ") {
            continue;
        }
        let key = named.split([' ', '.']).next_back().unwrap_or(named);
        let key = named.split_once(" = ").map_or(key, |(key, _)| key);
        assert!(
            guide.contains(&format!("`{key}`")) || guide.contains(&format!("`{named}`")),
            "{named}"
        );
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let model = fs::read_to_string(root().join("THREAT-MODEL.md")).expect("the threat model");
    let mut sources = String::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&fs::read_to_string(path).expect("source"));
            }
        }
    }
    let quoted: Vec<&str> = model.split('`').skip(1).step_by(2).collect();
    let mut count = 0;
    for name in &quoted {
        if name.starts_with("crates/") {
            assert!(root().join(name).exists(), "no file {name}");
        } else if name.matches('_').count() >= 2 {
            // The names of tests are sentences.
            count += 1;
            assert!(sources.contains(&format!("fn {name}()")), "no test {name}");
        }
    }
    assert!(count > 70, "found {count} tests");
}

/// Tests that are named behind a file are in that file.
#[test]
fn each_test_is_in_the_file_that_the_threat_model_names() {
    let model = fs::read_to_string(root().join("THREAT-MODEL.md")).expect("the threat model");
    let mut count = 0;
    for named in model.split("`crates/").skip(1) {
        let (file, rest) = named.split_once('`').expect("an end");
        let Some(mut rest) = rest.strip_prefix(':').filter(|_| file.ends_with(".rs")) else {
            continue;
        };
        let file = root().join("crates").join(file);
        let source = fs::read_to_string(&file).expect("the file");
        while let Some(quoted) = rest.trim_start().strip_prefix('`') {
            let (test, after) = quoted.split_once('`').expect("an end");
            let file = file.display();
            assert!(
                source.contains(&format!("fn {test}()")),
                "no {test} in {file}"
            );
            count += 1;
            rest = after.strip_prefix(',').unwrap_or_default();
        }
    }
    assert!(count > 250, "found {count} tests");
}

#[test]
fn every_file_that_the_architecture_names_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the architecture");
    let quoted = page.split('`').skip(1).step_by(2);
    let files: Vec<&str> = quoted.filter(|name| name.starts_with("crates/")).collect();
    for name in &files {
        assert!(root().join(name).exists(), "no file {name}");
    }
    assert!(files.len() > 100, "{} files", files.len());
}

#[test]
fn twelve_questions_of_the_architecture_have_one_file_each() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the architecture");
    let (_, table) = page
        .split_once("| where is decided … | file |\n|---|---|\n")
        .expect("the table of questions");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let answers = rows.map(|row| {
        let quoted: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [file] = quoted[..] else {
            panic!("expected one file, found `{row}`");
        };
        assert!(root().join(file).is_file(), "no file {file}");
        file
    });
    assert_eq!(answers.collect::<BTreeSet<_>>().len(), 12);
}

/// The tests of the index of refused tokens, each with its file.
#[test]
fn the_index_of_refused_tokens_names_a_test_for_each_of_sixty_cases_and_more() {
    let model = fs::read_to_string(root().join("THREAT-MODEL.md")).expect("the threat model");
    let (_, index) = model
        .split_once("## Refused tokens, by kind\n")
        .expect("the index");
    let (index, _) = index.split_once("\n## ").expect("its end");
    let mut found = BTreeSet::new();
    let lines = index
        .lines()
        .filter(|line| line.starts_with('|') && line.contains("`crates/"));
    let mut kinds = 0;
    for line in lines {
        kinds += 1;
        let (_, tests) = line[1..].split_once('|').expect("tests of a kind");
        for of_file in tests.split("; ") {
            let mut quoted = of_file.split('`').skip(1).step_by(2);
            let file = quoted.next().expect("a file");
            let source = fs::read_to_string(root().join(file)).expect("source");
            for name in quoted {
                assert!(
                    source.contains(&format!("fn {name}()")),
                    "no {name} in {file}"
                );
                assert!(
                    found.insert((file.to_owned(), name.to_owned())),
                    "{name} twice"
                );
            }
        }
    }
    assert!(kinds >= 18, "{kinds} kinds");
    assert!(found.len() >= 60, "{} tests", found.len());
}

/// What the manifests name: each dependency, and the folder of the crate that has it.
fn dependencies() -> Vec<(String, String)> {
    let crates = fs::read_dir(root().join("crates")).expect("the crates");
    let folders = crates
        .map(|entry| entry.expect("an entry").path())
        .chain([root().join("fuzz")]);
    let mut found = Vec::new();
    for folder in folders {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let user = folder.file_name().expect("a name").to_string_lossy();
        let mut listed = false;
        for line in text.lines() {
            if line.starts_with('[') {
                listed = line.ends_with("dependencies]");
                continue;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_ours = name.starts_with("soapstone");
            if listed && !is_ours && !name.is_empty() && !name.starts_with(['#', '"']) {
                found.push((name.to_owned(), user.clone().into_owned()));
            }
        }
    }
    found
}

#[test]
fn every_dependency_has_its_reason_and_nothing_else_has() {
    let guide = fs::read_to_string(root().join("docs/dependencies.md")).expect("a guide");
    let dependencies = dependencies();
    let (of_rust, _) = guide
        .split_once("## Not Rust")
        .expect("the end of the crates");
    // The crates of each line, and the rest of it.
    let lines: Vec<(Vec<&str>, &str)> = of_rust
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
        .map(|(crates, rest)| (crates.split('`').skip(1).step_by(2).collect(), rest))
        .collect();
    for (name, user) in &dependencies {
        let line = lines
            .iter()
            .find(|(crates, _)| crates.contains(&name.as_str()));
        let (_, rest) = line.unwrap_or_else(|| panic!("no reason for {name} of {user}"));
        // Fuzz targets and tests take what is there anyway.
        let users = rest.split(" | ").nth(1).unwrap_or_default();
        assert!(
            user == "fuzz" || users.contains(user.as_str()) || users.ends_with("tests"),
            "{name} is used by {user}, too, not only by {users}"
        );
    }
    for name in lines.iter().flat_map(|(crates, _)| crates) {
        assert!(
            dependencies
                .iter()
                .any(|(dependency, _)| dependency == name),
            "{name} is no dependency any more"
        );
    }
}
