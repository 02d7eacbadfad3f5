//! The guides say nothing that is not so: their gateway files have keys that are known, and every
//! metric is explained.

use std::fs;
use std::path::Path;

use soapstone_gateway::Config;

#[test]
fn every_gateway_file_of_the_guides_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for guide in [
        "README.md",
        "docs/agreements.md",
        "docs/balance-backends.md",
        "docs/protect-a-service.md",
        "docs/call-a-secured-service.md",
        "docs/configuration.md",
        "docs/configure-from-a-wsdl.md",
        "docs/registry.md",
        "docs/run-an-sts.md",
        "docs/weak-algorithms.md",
    ] {
        let path = root.join(guide);
        let text = fs::read_to_string(&path).expect("a guide");
        for rest in text.split("```toml\n").skip(1) {
            let (block, _) = rest.split_once("\n```").expect("the end of the block");
            if !block.contains("[routes.") && !block.contains("[[routes]]") {
                continue;
            }
            // What is left out of an excerpt.
            let mut file = block.to_owned();
            if !block.contains("[[routes]]") {
                file = format!("[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1/\"\n{file}");
            }
            if !block.contains("listen = ") {
                file = format!("listen = \"127.0.0.1:0\"\n{file}");
            }
            count += 1;
            let environment = |_: &str| Some("secret".to_owned());
            let Err(problems) = Config::from_text(&file, &path, &environment) else {
                continue;
            };
            // The keys and certificates that a guide speaks of are its reader's, and what needs
            // them cannot be compiled.
            for problem in problems.0 {
                assert!(
                    ["cannot be read", "cannot be used", " is needed to "]
                        .iter()
                        .any(|known| problem.message.contains(known)),
                    "{problem}\nin\n{file}"
                );
            }
        }
    }
    assert!(count >= 6, "found {count} gateway files");
}

#[test]
fn every_metric_is_explained_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = fs::read_dir(root.join("src/observe/metrics")).expect("the folder of metrics");
    let source: String = files
        .map(|file| fs::read_to_string(file.expect("an entry").path()).expect("a file"))
        .map(|text| match text.split_once("#[cfg(test)]") {
            Some((source, _)) => source.to_owned(),
            None => text,
        })
        .collect();
    let written: Vec<&str> = source
        .split("\"soapstone_")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let guide = fs::read_to_string(root.join("../../docs/watch-a-gateway.md")).expect("the guide");
    let (_, table) = guide
        .split_once("## Every metric")
        .expect("the table of metrics");
    let mut explained: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `soapstone_")?.split('`').next())
        .collect();
    let mut written = written;
    written.sort_unstable();
    explained.sort_unstable();
    assert_eq!(explained, written);
}
