//! Tokens in the lab: studies that compare them, each with its issuer, and advice.

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use common::Folder;
use serde_json::Value;
use soapstone_testkit::kdc;

/// What a run told of arms at a place: the mean of a quantity, or why it was left out.
fn told(text: &str, place: (&str, &str), quantity: &str) -> BTreeMap<String, Result<f64, String>> {
    let mut told = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        if line["at"][place.0] != place.1 {
            continue;
        }
        let arm = line["arm"].as_str().expect("an arm");
        let arm = arm.split('/').next().unwrap_or(arm).to_owned();
        if let Some(why) = line["left_out"].as_str() {
            told.insert(arm, Err(why.to_owned()));
        } else if line["quantity"] == quantity {
            let mean = line["figures"]["mean"].as_f64().expect("a number");
            told.insert(arm, Ok(mean));
        }
    }
    told
}

/// Kerberos is measured where a KDC can be started, and else left out with the reason.
fn measured_with_a_kdc(told: &BTreeMap<String, Result<f64, String>>, arm: &str) -> Option<f64> {
    match (&told[arm], kdc::is_there()) {
        (Ok(mean), _) => Some(*mean),
        (Err(why), false) => {
            assert!(why.contains("packages krb5-kdc"), "{why}");
            None
        }
        (Err(why), true) => panic!("{arm} was left out: {why}"),
    }
}

#[test]
fn tokens_by_value_by_name_and_from_a_token_service_are_measured_and_what_is_not_has_its_reason() {
    let folder = Folder::new();
    let run = folder
        .run("lab run novakouski2010/19 --quick --filter operation/Echo --json")
        .succeeds();
    let bytes = told(run.text(), ("operation", "Echo"), "secured-request");
    let of = |arm: &str| {
        bytes[arm]
            .clone()
            .unwrap_or_else(|why| panic!("{arm}: {why}"))
    };
    // Assertions travel with each request, also the one that the token service gave before.
    for arm in ["holder", "bearer", "issued"] {
        let carried = of(&format!("sign-encrypt-saml-{arm}"));
        assert!(carried > of("sign-encrypt"), "{arm}: {bytes:?}");
        for named in ["reference", "reference-cold"] {
            let named = of(&format!("sign-encrypt-saml-{named}"));
            assert!(named < carried, "{arm}: {bytes:?}");
        }
    }
    assert!(of("sign-encrypt") > of("none"), "{bytes:?}");
    // A busy machine may hide how long the authority takes.
    let times = told(run.text(), ("operation", "Echo"), "time");
    for arm in ["reference", "reference-cold"] {
        let time = &times[&format!("sign-encrypt-saml-{arm}")];
        assert!(time.is_ok(), "{arm}: {times:?}");
    }
    if let Some(carried) = measured_with_a_kdc(&bytes, "sign-encrypt-kerberos") {
        let named = measured_with_a_kdc(&bytes, "sign-encrypt-kerberos-once");
        assert!(named < Some(carried), "{bytes:?}");
    }
    // The first call of a client that keeps nothing has a quantity of its own.
    let cold = told(run.text(), ("operation", "Echo"), "newcomer");
    assert!(cold["sign-encrypt-saml-issued"].is_ok(), "{cold:?}");

    let parts = [
        "### Experiment 19: What do tokens cost by value, by reference, by name, and from a token service?",
        "sign-encrypt-saml-issued/Basic128GCM",
        "sign-encrypt-saml-reference-cold/Basic128GCM",
    ];
    folder.reports(run.text(), &parts);
}

#[test]
fn kerberos_shared_keys_and_passwords_are_measured_beside_x509() {
    let folder = Folder::new();
    let run = folder
        .run("lab run mchale2012/5 --quick --filter tokens/bytes/60 --json")
        .succeeds();
    let times = told(run.text(), ("bytes", "60"), "time");
    let of = |arm: &str| {
        times[arm]
            .clone()
            .unwrap_or_else(|why| panic!("{arm}: {why}"))
    };
    for arm in [
        "none",
        "sign-encrypt",
        "sign-encrypt-hmac",
        "sign-encrypt-password",
        "secure-conversation",
    ] {
        assert!(of(arm) > 0.0, "{arm}");
    }
    for arm in ["sign-encrypt-kerberos", "sign-encrypt-kerberos-once"] {
        assert_ne!(measured_with_a_kdc(&times, arm), Some(0.0));
    }
    let list = folder.run("lab list").succeeds();
    let point = "\n    mchale2012/5/tokens/bytes/200 (without --quick)\n";
    assert!(list.text().contains(point), "{}", list.text());
}

#[test]
fn kerberos_tokens_are_measured_in_a_process_of_their_realm_and_their_lines_name_them() {
    if !kdc::is_there() {
        return;
    }
    let folder = Folder::new();
    let realm = kdc::Realm::start("");
    let service = "HTTP/localhost@EXAMPLE.COM";
    let keytabs = [service, "client@EXAMPLE.COM"].map(|it| realm.keytab(it, ""));
    let security = "security = { mechanism = \"sign-encrypt\", suite = \"Basic128GCM\" }\nlimits = { message = \"32MiB\" }\n";
    let [accepting, making] = keytabs.map(|it| it.display().to_string());
    folder.write(
        "service.toml",
        format!("kerberos = {{ keytab = \"{accepting}\", principal = \"{service}\" }}\n{security}"),
    );
    folder.write(
        "client.toml",
        format!(
            "kerberos = {{ keytab = \"{making}\", principal = \"client@EXAMPLE.COM\", service = \"{service}\" }}\n{security}"
        ),
    );
    let words = "lab apart kerberos --client client.toml --service service.toml";
    let words: Vec<&str> = words.split(' ').collect();
    let output = folder
        .command_with(&words)
        .envs(realm.environment())
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).expect("text");
    folder.write("engine.jsonl", lines);
    let needs = "--needs integrity,confidentiality,authentication,intermediaries";
    let told = folder
        .run(&format!(
            "lab advise --measured engine.jsonl {needs} --has kdc"
        ))
        .succeeds();
    let choice = "Choose sign-encrypt-kerberos/Basic128GCM because";
    assert!(told.text().contains(choice), "{}", told.text());
}

/// Lines of the engine for messages that are signed and encrypted, as if they took this long.
fn lines(binding: &str, fixed: f64) -> String {
    let mut lines = String::new();
    for (items, bytes) in [(12, 260), (1_000, 1_248), (100_000, 100_248)] {
        for op in ["secure", "open"] {
            let time = fixed + 0.001 * f64::from(bytes);
            let secured = bytes + 4_000;
            lines.push_str(&format!(
                r#"{{"stack":"soapstone","op":"{op}","mechanism":"sign-encrypt","suite":"Basic128GCM","binding":"{binding}","payload":"echo","items":{items},"bytes":{bytes},"secured_bytes":{secured},"clients":1,"n":9,"mean_us":{time},"median_us":{time},"p95_us":{time},"stdev_us":0.0,"per_s":1.0,"tuning":{{"canonical_runs":true}}}}
"#
            ));
        }
    }
    lines
}

#[test]
fn a_token_wins_where_its_source_is_there_and_its_files_load() {
    let folder = Folder::new();
    for command in [
        "keys new ca --ca --subject CN=Example",
        "keys new service --signed-by ca",
        "keys new client --signed-by ca",
        "keys new idp",
        "keys new shared --symmetric 16",
    ] {
        folder.run(command).succeeds();
    }
    let certificates = lines("certificate", 1_000.0);
    for (source, binding, name) in [
        ("shared-key", "shared", "hmac"),
        ("passwords", "password", "password"),
        ("issuer", "saml-holder", "saml-holder"),
        ("issuer", "saml-bearer", "saml-bearer"),
    ] {
        folder.write("engine.jsonl", certificates.clone() + &lines(binding, 10.0));
        let words = "lab advise --measured engine.jsonl --needs integrity,confidentiality,intermediaries --force --file service.toml --client-file client.toml";
        let without = folder.run(words).succeeds();
        let choice = "Choose sign-encrypt/Basic128GCM because";
        assert!(without.text().starts_with(choice), "{}", without.text());
        let told = folder.run(&format!("{words} --has {source}")).succeeds();
        let choice = format!("Choose sign-encrypt-{name}/Basic128GCM because");
        assert!(told.text().starts_with(&choice), "{}", told.text());
        let checked = folder
            .run("gateway --config service.toml --check")
            .succeeds();
        assert!(checked.text().contains("inbound sign-encrypt"));
    }
}

#[test]
fn a_source_that_was_not_measured_and_one_that_is_not_known_are_told() {
    let folder = Folder::new();
    folder.write("engine.jsonl", lines("certificate", 1_000.0));
    let words = "lab advise --measured engine.jsonl --needs integrity,intermediaries";
    let told = folder.run(&format!("{words} --has kdc")).succeeds();
    let left_out = "\nLeft out: kdc, as it was not measured.\n";
    assert!(told.text().contains(left_out), "{}", told.text());
    folder
        .run(&format!("{words} --has ldap"))
        .fails("expected a source of tokens (shared-key, passwords, kdc, issuer), found ldap");
}
