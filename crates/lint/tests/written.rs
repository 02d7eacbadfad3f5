//! Messages that this project writes keep the rules, and so do those of other stacks, each with the
//! breaches that are listed here and why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use soapstone_lint::{Choice, Profile, Profiles, lint};

fn main_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn probe() {
    let mut by_rule: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for (name, source) in everything() {
        let Ok(report) = lint(source, &Choice::Fitting, &|_| None) else { println!("cannot {name}"); continue };
        count += 1;
        let ids: BTreeSet<_> = report.findings.iter().map(|f| f.rule.id).collect();
        for id in ids { by_rule.entry(id.into()).or_default().push(name.clone()); }
    }
    println!("{count} messages");
    for (rule, names) in by_rule { println!("{rule} {} e.g. {:?}", names.len(), &names[..names.len().min(3)]); }
}

fn everything() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut stack = vec![main_folder().join("vectors/messages/accepted"), main_folder().join("interop/recorded"), main_folder().join("crates/services/contract")];
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { stack.push(path); }
            else if path.extension().is_some_and(|e| e == "xml" || e == "wsdl") {
                all.push((path.strip_prefix(main_folder()).unwrap().display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    let _ = Profiles::of(Profile::Bsp);
    all
}
