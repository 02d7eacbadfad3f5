//! The spelling of `xmlsec1`'s options, made one that our argument parser reads.
//!
//! `xmlsec1` puts a name between an option and its value: `--privkey-pem:NAME FILE`, `--url-map:URL
//! FILE`. Here the name is moved into the value, before a separator that no one types by accident,
//! and [`Named`] takes it out again.
//!
//! The rule kept here: only what follows `soapstone xml` is touched, and only options that take a
//! name.

use std::ffi::{OsStr, OsString};
use std::str::FromStr;

/// Stands between a name and a value in what the argument parser sees (ASCII unit separator).
const SEPARATOR: char = '\u{1f}';

/// The options that take a name after a colon.
const NAMED: [&str; 27] = [
    "--aeskey",
    "--aes-key",
    "--concatkdf-key",
    "--concatkdfkey",
    "--deskey",
    "--des-key",
    "--hkdf-key",
    "--hmackey",
    "--hmac-key",
    "--id-attr",
    "--pbkdf2-key",
    "--pbkdf2key",
    "--pkcs12",
    "--pkcs8-der",
    "--pkcs8-pem",
    "--privkey",
    "--privkey-der",
    "--privkey-pem",
    "--privkey-p8-der",
    "--privkey-p8-pem",
    "--pubkey",
    "--pubkey-cert",
    "--pubkey-cert-der",
    "--pubkey-cert-pem",
    "--pubkey-der",
    "--pubkey-pem",
    "--url-map",
];

/// The commands and options of `xmlsec1` 1.3 that are not here, each with the reason.
const ABSENT: [(&str, &str); 27] = [
    ("--keys", KEYS_NEW),
    (
        "--sign-tmpl",
        "write the template, and use `soapstone xml sign`",
    ),
    (
        "--encrypt-tmpl",
        "write the template, and use `soapstone xml encrypt`",
    ),
    (
        "--list-key-data",
        "`soapstone xml verify --help` lists them",
    ),
    (
        "--check-key-data",
        "`soapstone xml verify --help` lists them",
    ),
    (
        "--list-transforms",
        "docs/algorithms.md lists the algorithms",
    ),
    (
        "--check-transforms",
        "docs/algorithms.md lists the algorithms",
    ),
    ("--gen-key", KEYS_NEW),
    ("--crypto", ONE_LIBRARY),
    ("--crypto-config", ONE_LIBRARY),
    ("--privkey-openssl-engine", KEY_FILES),
    ("--privkey-openssl-store", KEY_FILES),
    ("--pubkey-openssl-engine", KEY_FILES),
    ("--pubkey-openssl-store", KEY_FILES),
    ("--pkcs12-persist", "no key is stored by the system"),
    (
        "--depth",
        "the validator bounds the length of a certificate path",
    ),
    (
        "--X509-skip-strict-checks",
        "certificates are always checked strictly",
    ),
    ("--xxe", "an external entity needs `--url-map:URL FILE`"),
    ("--dtd-file", "declare ids with `--id-attr:NAME *`"),
    ("--add-id-attr", "declare ids with `--id-attr:NAME *`"),
    (
        "--enable-visa3d-hack",
        "declare ids with `--id-attr:NAME *`",
    ),
    (
        "--store-signatures",
        "`--store-references` shows the digested bytes",
    ),
    (
        "--print-debug",
        "`--store-references` shows the digested bytes",
    ),
    (
        "--print-xml-debug",
        "`--store-references` shows the digested bytes",
    ),
    ("--print-crypto-error-msgs", "every error is printed"),
    ("--disable-error-msgs", "redirect standard error"),
    ("--repeat", "`soapstone lab` measures"),
];

const KEYS_NEW: &str = "make keys with `soapstone keys new`";
const ONE_LIBRARY: &str = "there is one cryptographic library";
const KEY_FILES: &str = "keys are read from files";

/// Why a command line for `xmlsec1` cannot be obeyed: the first of its commands or options that is
/// not here.
#[must_use]
pub fn absent(words: &[OsString]) -> Option<String> {
    let words = &words[operation(words)?..];
    let words = words.iter().take_while(|word| *word != "--");
    words.filter_map(|word| word.to_str()).find_map(|word| {
        let option = word.split([':', '=']).next().unwrap_or(word);
        let (name, reason) = ABSENT.iter().find(|(name, _)| *name == option)?;
        Some(format!("`soapstone xml` has no {name}: {reason}"))
    })
}

/// An option's value with the name that was given to it, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What stood after the colon.
    pub name: Option<String>,
    /// The value.
    pub value: String,
}

impl FromStr for Named {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once(SEPARATOR) {
            Some((name, value)) => Self {
                name: Some(name.to_owned()),
                value: value.to_owned(),
            },
            None => Self {
                name: None,
                value: text.to_owned(),
            },
        })
    }
}

/// Rewrites the words of a command line, the program's name first.
pub fn normalize(words: Vec<OsString>) -> Vec<OsString> {
    let Some(start) = operation(&words) else {
        return words;
    };
    let mut rewritten: Vec<OsString> = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    rewritten.extend(words.by_ref().take(start));
    // `xmlsec1 --verify` is `xmlsec1 verify`.
    rewritten.extend(words.next().map(|word| match word.to_str() {
        Some("--sign" | "--verify" | "--encrypt" | "--decrypt") => {
            OsString::from(&word.to_str().unwrap_or_default()[2..])
        }
        _ => word,
    }));
    while let Some(word) = words.next() {
        if word == "--" {
            rewritten.push(word);
            rewritten.extend(words.by_ref());
            break;
        }
        match named_option(&word) {
            Some((option, name)) => {
                rewritten.push(option.into());
                if let Some(value) = words.next() {
                    let mut joined = OsString::from(name);
                    joined.push(SEPARATOR.to_string());
                    joined.push(value);
                    rewritten.push(joined);
                }
            }
            None => rewritten.push(word),
        }
    }
    rewritten
}

/// Where the word after `xml` stands; `None` if this is another command.
fn operation(words: &[OsString]) -> Option<usize> {
    let mut index = 1;
    loop {
        match words.get(index)?.to_str()? {
            "xml" => return Some(index + 1),
            "--log" | "--log-level" => index += 2,
            word if word.starts_with("--log") => index += 1,
            _ => return None,
        }
    }
}

fn named_option(word: &OsStr) -> Option<(&'static str, &str)> {
    let (option, name) = word.to_str()?.split_once(':')?;
    let option = NAMED.iter().find(|known| **known == option)?;
    Some((option, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(words: &str) -> Vec<String> {
        let words = words.split(' ').map(OsString::from).collect();
        normalize(words)
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_name_after_a_colon_moves_into_the_value() {
        let words = normalized(
            "soapstone xml verify --pubkey-cert-der:key2 a.crt --url-map:http://www.w3.org/ b in.xml",
        );
        assert_eq!(
            words,
            [
                "soapstone",
                "xml",
                "verify",
                "--pubkey-cert-der",
                "key2\u{1f}a.crt",
                "--url-map",
                "http://www.w3.org/\u{1f}b",
                "in.xml"
            ]
        );
        assert_eq!(
            words[4].parse(),
            Ok(Named {
                name: Some("key2".into()),
                value: "a.crt".into()
            })
        );
        assert_eq!(
            "a.crt".parse(),
            Ok(Named {
                name: None,
                value: "a.crt".into()
            })
        );
    }

    #[test]
    fn operations_may_be_spelled_as_options_and_global_options_may_stand_first() {
        assert_eq!(
            normalized("soapstone --log json xml --verify a")[4],
            "verify"
        );
        assert_eq!(normalized("soapstone --log=json xml --sign a")[3], "sign");
    }

    #[test]
    fn an_option_that_is_absent_is_named_with_its_reason() {
        let told = |line: &str| absent(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for option in ["--depth 3", "--depth=3", "--depth:3 x"] {
            assert_eq!(
                told(&format!("soapstone xml --verify {option} in.xml")).as_deref(),
                Some(
                    "`soapstone xml` has no --depth: the validator bounds the length of a certificate path"
                )
            );
        }
        for line in [
            "soapstone xml verify -- --depth",
            "soapstone xml verify depth",
            "soapstone policy --keys",
            "soapstone",
        ] {
            assert_eq!(told(line), None, "{line}");
        }
    }

    #[test]
    fn nothing_else_is_touched() {
        for words in [
            "soapstone open --pkcs12:a b",
            "soapstone xml verify --node-name urn:x:Body in.xml",
            "soapstone xml verify -- --pkcs12:a b",
            "soapstone",
        ] {
            assert_eq!(normalized(words).join(" "), words);
        }
    }
}
