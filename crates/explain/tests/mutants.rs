//! Arbitrary changes: no cause is stated as certain that is not true.

mod support;

use soapstone_explain::{Known, Options, explain};
use support::{NOW, PLAIN, RSA, known, secured, told_with};

/// Numbers that look random and are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }
}

/// Another letter or digit in the place of one.
fn mutant(message: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = message.to_vec();
    loop {
        let place = numbers.below(bytes.len());
        let old = bytes[place];
        let letters: &[u8] = match old {
            b'0'..=b'9' => b"0123456789",
            b'a'..=b'z' => b"abcdefghijklmnopqrstuvwxyz",
            b'A'..=b'Z' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            _ => continue,
        };
        let new = letters[numbers.below(letters.len())];
        if new != old {
            bytes[place] = new;
            return bytes;
        }
    }
}

/// What is true of a change of one character, wherever it is: a moment or a digest was changed
/// after signing, or a name of an algorithm.
const TRUE: [&str; 3] = [
    "timestamp-changed",
    "digest-value-changed",
    "algorithm-renamed",
];

#[test]
fn no_cause_is_certain_where_the_change_is_arbitrary() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let encrypted =
        "[security]\nmechanism = \"encrypt-sign\"\nsuite = \"Basic256Sha256+RsaSha256\"";
    let messages = [
        secured("client", RSA, PLAIN),
        secured("client", encrypted, PLAIN),
    ];
    let (mut looked, mut refused) = (0, 0);
    // Many a character is in what nobody signs.
    while refused < 30 {
        let message = &messages[looked % 2];
        let bytes = mutant(message.as_bytes(), &mut numbers);
        let options = Options {
            now: Some(NOW.parse().expect("a moment")),
            known: if looked % 4 < 2 {
                Known::default()
            } else {
                known()
            },
            ..Options::default()
        };
        // What is no XML any more has no causes.
        let Ok(told) = explain(bytes, &options) else {
            continue;
        };
        looked += 1;
        refused += usize::from(told.is_refused());
        assert!(looked < 200, "{refused} of {looked}");
        for cause in told.causes().filter(|cause| cause.certain) {
            let is_true = cause.kinds.len() == 1 && TRUE.contains(&cause.kinds[0]);
            assert!(is_true, "mutant {looked}: {cause:?}");
        }
    }
}

/// The files of a folder and the folders in it that are XML.
fn messages(folder: std::path::PathBuf) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == "xml") {
                let bytes = std::fs::read(&path).expect("a file");
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    found
}

#[test]
fn no_error_is_found_in_messages_that_are_accepted() {
    let folder = soapstone_testkit::own().join("messages/accepted");
    let all = messages(folder);
    assert!(all.len() >= 600, "{} messages", all.len());
    for (name, bytes) in all {
        let told =
            explain(bytes, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let weighty = told
            .findings
            .iter()
            .filter(|finding| finding.severity == soapstone_explain::Severity::Error);
        assert_eq!(weighty.count(), 0, "{name}: {:#?}", told.findings);
    }
}

#[test]
fn messages_of_other_stacks_are_opened_and_match() {
    let mut checked = 0;
    for (name, bytes) in messages(support::recorded("")) {
        if !name.contains("wss4j_") || name.contains(".plain.") {
            continue;
        }
        let told = told_with(&bytes, known());
        for signature in &told.signatures {
            checked += 1;
            let differs = soapstone_explain::State::Differs;
            assert_ne!(signature.value, differs, "{name}: {:#?}", told.findings);
            for reference in &signature.references {
                assert_ne!(reference.state, differs, "{name}: {:#?}", told.findings);
            }
        }
    }
    assert!(checked >= 20, "{checked} signatures");
}

#[test]
fn the_work_on_a_large_message_is_bounded() {
    let entry = "<q:item b=\"2\">7 &gt; 5 &amp; \"so\"\nZürich</q:item>";
    let body = format!(
        "<q:order xmlns:q=\"urn:example:shop\">{}</q:order>",
        entry.repeat((1 << 20) / entry.len())
    );
    let start = PLAIN.find("<q:order").expect("an order");
    let end = PLAIN.find("</soap:Body>").expect("an end");
    let plain = format!("{}{body}{}", &PLAIN[..start], &PLAIN[end..]);
    let message = secured("client", RSA, &plain);
    let changed = message.replacen("Zürich", "Zurich", 1);
    // A tenth of the work, and so a tenth of the candidates: debug builds are slow.
    let bounded = |work| {
        let options = Options {
            work,
            ..Options::default()
        };
        explain(changed.clone().into_bytes(), &options).expect("an explanation")
    };
    let told = bounded(52 << 20);
    assert!(told.stopped, "{} tried", told.tried);
    // Most candidates are as large as the Body; headers among them cost little.
    assert!((10..200).contains(&told.tried), "{} tried", told.tried);
    assert_eq!(told.causes().filter(|cause| cause.certain).count(), 0);
}
