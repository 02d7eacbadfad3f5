//! Runs cases of the vectors through the generic path, each with the options it was recorded with.
//!
//! A case's options are those of `xmlsec1` where the suite has them; suites of other projects say
//! which keys they use and which attributes are ids, and trust what is embedded when they name no
//! key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use soapstone_testkit::Case;
use soapstone_xmltools::generic::{
    EnabledKeyData, EnabledUris, GenericError, IdAttribute, Keys, Options, Resolver, SecretKind,
};

/// How the options of a case are read.
pub(crate) trait Setting {
    /// Keys, options and what URIs stand for.
    fn setting(&self) -> (Keys, Options, Files);
}

impl Setting for Case {
    fn setting(&self) -> (Keys, Options, Files) {
        let mut options = Options::new(jiff::Timestamp::now());
        options.store_references = true;
        let mut keys = Keys::new();
        let mut files = Files::new(self);
        options.id_attributes = self
            .listed("id_attrs")
            .into_iter()
            .map(id_attribute)
            .collect();
        match self.option("xmlsec_args") {
            Some(arguments) => {
                xmlsec_arguments(self, arguments, &mut keys, &mut options, &mut files)
            }
            None => listed_keys(self, &mut keys, &mut options, &mut files),
        }
        (keys, options, files)
    }
}

fn xmlsec_arguments(
    case: &Case,
    arguments: &str,
    keys: &mut Keys,
    options: &mut Options,
    files: &mut Files,
) {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let password = words
        .iter()
        .position(|word| *word == "--pwd")
        .map(|at| words[at + 1]);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (option, name) = match word.split_once(':') {
            Some((option, name)) => (option, Some(name.to_owned())),
            None => (word, None),
        };
        let mut value = || {
            words
                .next()
                .unwrap_or_else(|| panic!("{}: {word} without value", case.id))
        };
        match option {
            "--lax-key-search" => options.lax_key_search = true,
            "--insecure" => options.insecure = true,
            "--verify-keys" => options.verify_keys = true,
            "--X509-skip-time-checks" => options.skip_time_checks = true,
            "--enable-asn1-signatures-hack" => options.asn1_signatures = true,
            "--relationship-legacy" => {}
            "--pwd" => drop(value()),
            "--enabled-key-data" => options.key_data = EnabledKeyData::from_list(value()).unwrap(),
            "--enabled-reference-uris" => {
                options.reference_uris = EnabledUris::from_list(value()).unwrap()
            }
            "--enabled-cipher-reference-uris" => {
                options.cipher_reference_uris = EnabledUris::from_list(value()).unwrap()
            }
            "--enabled-retrieval-method-uris" => {
                options.retrieval_method_uris = EnabledUris::from_list(value()).unwrap()
            }
            "--hmac-min-out-len" => options.hmac_minimum_bits = value().parse().unwrap(),
            "--verification-gmt-time" => {
                let time = value().replace('+', "T") + "Z";
                options.verification_time = time.parse().unwrap();
            }
            "--url-map" => {
                let url = name.expect("a URL");
                files.map.insert(url, case.folder.join(value()));
            }
            "--hmackey" => keys
                .add_secret(name, SecretKind::Hmac, case.read(value()))
                .unwrap(),
            "--aeskey" | "--aes-key" => keys
                .add_secret(name, SecretKind::Aes, case.read(value()))
                .unwrap(),
            "--deskey" | "--des-key" => keys
                .add_secret(name, SecretKind::TripleDes, case.read(value()))
                .unwrap(),
            "--concatkdf-key" => keys
                .add_secret(name, SecretKind::ConcatKdf, case.read(value()))
                .unwrap(),
            "--pbkdf2-key" => keys
                .add_secret(name, SecretKind::Pbkdf2, case.read(value()))
                .unwrap(),
            "--hkdf-key" => keys
                .add_secret(name, SecretKind::Hkdf, case.read(value()))
                .unwrap(),
            "--keys-file" => keys.add_keys_file(&case.read(value()), options).unwrap(),
            "--pkcs12" => {
                // A key of a kind that is not read shows later, as a key that is not found.
                let file = case.read(value());
                if let Err(error) = keys.add_pkcs12(name, &file, password.unwrap_or("")) {
                    files.problems.push(error.to_string());
                }
            }
            "--privkey-pem" => {
                let file = case.read(value());
                if let Err(error) = keys.add_private_key(name, &file, password, &[]) {
                    files.problems.push(error.to_string());
                }
            }
            "--pubkey-cert-der" => keys.add_certificate(name, &case.read(value())).unwrap(),
            "--trusted-der" => keys.add_trusted(&case.read(value())).unwrap(),
            "--untrusted-der" => keys.add_untrusted(&case.read(value())).unwrap(),
            "--crl-der" => keys.add_revocation_list(&case.read(value())),
            other => panic!("{}: unknown option {other}", case.id),
        }
    }
}

fn listed_keys(case: &Case, keys: &mut Keys, options: &mut Options, files: &mut Files) {
    options.reference_uris = EnabledUris::ANY;
    options.retrieval_method_uris = EnabledUris::ANY;
    let listed = case.keys().cloned().collect::<Vec<_>>();
    options.lax_key_search = !listed.is_empty();
    // The suites trust what is embedded in the message when they give no key.
    // Folders of certificates are for looking up, and stand beside trust in what is embedded.
    options.insecure = listed.iter().all(|key| key["use"] == "cert");
    for key in listed {
        let octets = match (key["file"].as_str(), key["text"].as_str()) {
            (Some(file), _) => case.read(file),
            (None, text) => text.unwrap().as_bytes().to_vec(),
        };
        match key["use"].as_str().unwrap() {
            "hmackey" => keys.add_secret(None, SecretKind::Hmac, octets).unwrap(),
            // Folders of certificates hold revocation lists, and files that are no certificate,
            // too; files of certificates hold bare public keys. The key names of the
            // suites are the file names.
            _ => {
                let name = key["file"]
                    .as_str()
                    .and_then(|file| Path::new(file).file_stem())
                    .map(key_name);
                if keys.add_certificate(name.clone(), &octets).is_err()
                    && let Err(error) = keys.add_public_key(name, &octets)
                {
                    files.problems.push(error.to_string());
                }
            }
        }
    }
    if let Some(map) = case.value["options"]["url_map"].as_object() {
        for (url, file) in map {
            files
                .map
                .insert(url.clone(), case.folder.join(file.as_str().unwrap()));
        }
    }
}

/// What the URIs of a case stand for: its URL map, and files beside the input.
pub(crate) struct Files {
    base: PathBuf,
    pub(crate) map: BTreeMap<String, PathBuf>,
    pub(crate) problems: Vec<String>,
}

impl Files {
    fn new(case: &Case) -> Self {
        let input = case.folder.join(&case.file);
        Self {
            base: input.parent().unwrap().to_owned(),
            map: BTreeMap::new(),
            problems: Vec::new(),
        }
    }
}

impl Resolver for Files {
    fn resolve(&mut self, uri: &str) -> Option<Vec<u8>> {
        if let Some(file) = self.map.get(uri) {
            return std::fs::read(file).ok();
        }
        if uri.contains(':') || uri.starts_with('/') {
            return None;
        }
        std::fs::read(self.base.join(uri.split(['#', '?']).next()?)).ok()
    }

    fn is_mapped(&self, uri: &str) -> bool {
        self.map.contains_key(uri)
    }
}

/// `lugh.crt` holds the key that is called `Lugh`.
fn key_name(stem: &std::ffi::OsStr) -> String {
    let stem = stem.to_string_lossy();
    let mut letters = stem.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// `wsu:Id` is the one prefixed name that the suites use.
fn id_attribute(name: &str) -> IdAttribute {
    let attribute = match name.strip_prefix("wsu:") {
        Some(local) => {
            format!(
                "{{http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd}}{local}"
            )
        }
        None => name.to_owned(),
    };
    IdAttribute {
        attribute,
        element: None,
    }
}

/// Compares the error of an invalid document with the beginning that its case expects. Cases of
/// other projects expect none.
pub(crate) fn refused_for(case: &Case, error: &GenericError) -> Result<(), String> {
    let found = error.to_string();
    match case.expected("error") {
        Some(expected) if !found.starts_with(expected) => {
            Err(format!("expected `{expected}`, found `{found}`"))
        }
        None if case.is_own() => Err(format!("no error is expected, found `{found}`")),
        _ => Ok(()),
    }
}

/// Runs every case; what fails must be listed with a reason in `exceptions.json`, and what is
/// listed there must fail.
pub(crate) fn run(kind: &str, check: impl Fn(&Case) -> Result<(), String>) {
    let cases = soapstone_testkit::cases(kind);
    let exceptions: BTreeMap<String, String> =
        serde_json::from_str(include_str!("../exceptions.json")).unwrap();
    let only = std::env::var("SOAPSTONE_CASE").ok();
    let mut unexpected = Vec::new();
    let mut seen = BTreeSet::new();
    for case in &cases {
        if only
            .as_ref()
            .is_some_and(|only| !case.id.contains(only.as_str()))
        {
            continue;
        }
        seen.insert(case.id.as_str());
        match (check(case), exceptions.get(&case.id)) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some(reason)) => {
                unexpected.push(format!("{}: succeeds although listed ({reason})", case.id))
            }
            (Err(problem), None) => unexpected.push(format!("{}: {problem}", case.id)),
        }
    }
    assert!(only.is_some() || !seen.is_empty());
    println!(
        "{kind}: {} cases, {} listed as exceptions",
        seen.len(),
        seen.iter()
            .filter(|id| exceptions.contains_key(**id))
            .count()
    );
    assert!(
        unexpected.is_empty(),
        "{} of {} cases:\n{}",
        unexpected.len(),
        seen.len(),
        unexpected.join("\n")
    );
}
