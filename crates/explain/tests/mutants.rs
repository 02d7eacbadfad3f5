//! Arbitrary changes: no cause is stated as certain that is not true.

mod support;

use soapstone::crypto::{SecretBytes, SymmetricKey};
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

/// What may happen to one letter or digit.
const WAYS: usize = 4;

/// A letter or digit that is another one, twice there, gone, or behind its neighbour.
fn mutant(message: &[u8], way: usize, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = message.to_vec();
    loop {
        let place = numbers.below(bytes.len() - 1);
        let (old, next) = (bytes[place], bytes[place + 1]);
        let letters: &[u8] = match old {
            b'0'..=b'9' => b"0123456789",
            b'a'..=b'z' => b"abcdefghijklmnopqrstuvwxyz",
            b'A'..=b'Z' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            _ => continue,
        };
        let new = letters[numbers.below(letters.len())];
        match way {
            0 if new != old => bytes[place] = new,
            1 => bytes.insert(place, new),
            2 if next.is_ascii_alphanumeric() => drop(bytes.remove(place)),
            3 if next.is_ascii_alphanumeric() && next != old => bytes.swap(place, place + 1),
            _ => continue,
        }
        return bytes;
    }
}

/// What is true of a change of one character, wherever it is: a moment or a digest was changed
/// after signing, or a name of an algorithm, or the number in `mustUnderstand`; a moment has
/// another number of digits; the type of a password is none.
const TRUE: [&str; 6] = [
    "timestamp-changed",
    "timestamp-format",
    "digest-value-changed",
    "algorithm-renamed",
    "attribute-value",
    "password-kind",
];

/// What is true of two things that are told together: `mustUnderstand` has another name.
const RENAMED: [&str; 2] = ["before-attribute", "attribute-removed"];

/// Bytes of work for one mutant: enough for every single cause, and many in twos.
const WORK: usize = 12 << 20;

/// Messages under every kind of key, each with what the reader's side knows.
fn kinds() -> Vec<(String, fn() -> Known)> {
    let of = |mechanism: &str, more: &str| {
        format!(
            "[security]\nmechanism = \"{mechanism}\"\nalgorithms = {{ digest = [\"sha256\"], canonicalization = [\"exc-c14n\"], {more} }}\n"
        )
    };
    let cipher = "key_transport = [\"rsa-oaep-mgf1p\"], data = [\"aes128-gcm\"]";
    let rsa = format!("signature = [\"rsa-sha256\"], {cipher}");
    let secret = "shared_key = { hex = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\" }\n";
    let shared = of("sign", "signature = [\"hmac-sha256\"]");
    let user = "users = [{ name = \"alice\", password = \"secret\" }]\n[security]\nmechanism = \"username\"\n";
    let knows_secret = || Known {
        secrets: vec![(
            "the shared key".to_owned(),
            SymmetricKey::new((0..32).collect()).expect("a key"),
        )],
        ..Known::default()
    };
    let knows_user = || Known {
        passwords: vec![("alice".to_owned(), SecretBytes::new(b"secret".to_vec()))],
        ..Known::default()
    };
    let modern = PLAIN.replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    );
    let row = |message: String, known: fn() -> Known| (message, known);
    let ecdsa = of("sign", "signature = [\"ecdsa-sha256\"]");
    let shared = format!("{secret}{shared}key_reference = \"key-name\"");
    vec![
        row(secured("client", RSA, PLAIN), Known::default),
        row(secured("client", &of("encrypt-sign", &rsa), PLAIN), known),
        row(secured("client", &of("sign-encrypt", &rsa), &modern), known),
        row(secured("p256", &ecdsa, &modern), Known::default),
        row(secured("", &shared, PLAIN), knows_secret),
        row(secured("", user, &modern), knows_user),
    ]
}

#[test]
fn no_cause_is_certain_where_the_change_is_arbitrary() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let messages = kinds();
    let (mut looked, mut refused) = (0, 0);
    let mut claimed = Vec::new();
    // Many a character is in what nobody signs.
    while refused < 300 {
        let (message, known) = &messages[looked % messages.len()];
        let way = looked / messages.len() % WAYS;
        let bytes = mutant(message.as_bytes(), way, &mut numbers);
        let options = Options {
            now: Some(NOW.parse().expect("a moment")),
            known: known(),
            work: WORK,
            ..Options::default()
        };
        looked += 1;
        assert!(looked < 3000, "{refused} of {looked}");
        // What is no XML any more has no causes.
        let Ok(told) = explain(bytes, &options) else {
            continue;
        };
        refused += usize::from(told.is_refused());
        for cause in told.causes().filter(|cause| cause.certain) {
            let is_true = match cause.kinds.as_slice() {
                [kind] => TRUE.contains(kind),
                kinds => kinds == RENAMED,
            };
            if !is_true {
                claimed.push(format!("mutant {looked}: {cause:?}"));
            }
        }
    }
    println!("{refused} of {looked} mutants are refused");
    assert!(claimed.is_empty(), "{}", claimed.join("\n"));
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
