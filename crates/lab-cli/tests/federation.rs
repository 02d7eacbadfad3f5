//! `soapstone demo --federation`: two services in a chain, and a token service, each as it is
//! deployed.

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::Folder;
use serde_json::{Value, json};

const FRONT: &str = "https://front.example/books";
const BOOKS: &str = "https://books.example/books";

#[test]
fn two_services_in_a_chain_learn_the_user_and_nobody_else_gets_through() {
    let folder = Folder::new();
    let run = folder.run("demo --federation --json --count 10").succeeds();
    let lines: Vec<Value> = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    for line in &lines {
        assert_eq!(line["broken"], json!([]), "{line}");
    }
    let step = |name: &str| {
        let found = lines.iter().find(|line| line["step"] == name);
        found.unwrap_or_else(|| panic!("no step {name}: {lines:?}"))
    };
    let front = step("front");
    for (fact, expected) in [
        ("asked_by", "alice"),
        ("shown_by", "user"),
        ("audience", FRONT),
        ("confirmed", "bearer"),
        ("x-subject", "alice"),
        ("x-role", "reader"),
    ] {
        assert_eq!(front[fact], expected, "{front}");
    }
    assert_eq!(front["x-actor"], Value::Null);
    let books = step("books");
    for (fact, expected) in [
        ("asked_by", "CN=front"),
        ("shown_by", "certificate"),
        ("audience", BOOKS),
        ("confirmed", "holder-of-key, the key of CN=front"),
        ("x-subject", "alice"),
        ("x-role", "reader"),
        ("x-actor", "certificate%20CN=front"),
    ] {
        assert_eq!(books[fact], expected, "{books}");
    }
    for (name, reason) in [
        ("wrong-audience", "audience-mismatch"),
        ("stolen", "key-not-found"),
        ("stranger", "untrusted"),
        ("no-rule", "trust-delegation"),
        ("no-role", "not-allowed"),
        ("expired", "assertion-expired"),
    ] {
        assert_eq!(step(name)["reason"], reason, "{}", step(name));
    }
    assert_eq!(step("renewed")["life"], 3);
    let kept = step("kept");
    assert_eq!(
        (&kept["calls"], &kept["questions"]),
        (&json!(11), &json!(2))
    );
    for fact in ["signed_ms", "tokens_ms", "first_ms"] {
        assert!(step("times")[fact].as_f64() > Some(0.0), "{fact}");
    }
}

#[test]
fn each_step_is_told_in_words() {
    let folder = Folder::new();
    let run = folder.run("demo --federation --count 2").succeeds();
    for told in [
        "asked by   alice, shown by password, for https://front.example/books",
        "asked by   CN=front, shown by certificate, for https://books.example/books",
        "the books service saw   X-Subject: alice, X-Issuer: https://sts.example, X-Role: reader, X-Actor: certificate%20CN=front",
        "audit      audience-mismatch",
        "the token service was asked 2 times",
        "All 12 steps hold.",
    ] {
        assert!(run.text().contains(told), "{told}: {}", run.text());
    }
    for words in ["--broker", "--suite Basic256"] {
        folder
            .run(&format!("demo --federation {words}"))
            .fails("cannot be used with");
    }
}
