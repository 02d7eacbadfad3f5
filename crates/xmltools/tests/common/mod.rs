//! Runs cases of the vectors directory through the generic path, each with the options it was recorded with.
//!
//! A case's options are those of `xmlsec1` where the suite has them; suites of other projects say which keys they use and which
//! attributes are ids, and trust what is embedded when they name no key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use soapstone_xmltools::generic::{
    EnabledKeyData, EnabledUris, IdAttribute, Keys, Options, Resolver, SecretKind,
};

/// One case of a manifest.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) folder: PathBuf,
    pub(crate) value: Value,
}

impl Case {
    /// The octets of a file of the suite.
    pub(crate) fn read(&self, file: &str) -> Vec<u8> {
        let path = self.folder.join(file);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The document that the case is about, white space between tags removed where the case says so.
    pub(crate) fn input(&self) -> Vec<u8> {
        let octets = self.read(self.text("file").unwrap());
        if self.value["options"]["drop_blank_text_nodes"].as_bool() == Some(true) {
            without_blank_text(&octets)
        } else {
            octets
        }
    }

    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.value[field].as_str()
    }

    pub(crate) fn outcome(&self) -> &str {
        self.value["expected"]["outcome"].as_str().unwrap()
    }

    /// File names listed under an option.
    pub(crate) fn listed(&self, option: &str) -> Vec<&str> {
        self.value["options"][option]
            .as_array()
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }

    /// Keys, options and what URIs stand for.
    pub(crate) fn setting(&self) -> (Keys, Options, Files) {
        let mut options = Options::new(jiff::Timestamp::now());
        options.store_references = true;
        let mut keys = Keys::new();
        let mut files = Files::new(self);
        options.id_attributes = self
            .listed("id_attrs")
            .into_iter()
            .map(id_attribute)
            .collect();
        match self.value["options"]["xmlsec_args"].as_str() {
            Some(arguments) => {
                self.xmlsec_arguments(arguments, &mut keys, &mut options, &mut files)
            }
            None => self.listed_keys(&mut keys, &mut options, &mut files),
        }
        (keys, options, files)
    }

    fn xmlsec_arguments(
        &self,
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
                    .unwrap_or_else(|| panic!("{}: {word} without value", self.id))
            };
            match option {
                "--lax-key-search" => options.lax_key_search = true,
                "--insecure" => options.insecure = true,
                "--verify-keys" => options.verify_keys = true,
                "--X509-skip-time-checks" => options.skip_time_checks = true,
                "--enable-asn1-signatures-hack" => options.asn1_signatures = true,
                "--relationship-legacy" => {}
                "--pwd" => drop(value()),
                "--enabled-key-data" => {
                    options.key_data = EnabledKeyData::from_list(value()).unwrap()
                }
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
                    files.map.insert(url, self.folder.join(value()));
                }
                "--hmackey" => keys
                    .add_secret(name, SecretKind::Hmac, self.read(value()))
                    .unwrap(),
                "--aeskey" | "--aes-key" => keys
                    .add_secret(name, SecretKind::Aes, self.read(value()))
                    .unwrap(),
                "--deskey" | "--des-key" => keys
                    .add_secret(name, SecretKind::TripleDes, self.read(value()))
                    .unwrap(),
                "--concatkdf-key" => keys
                    .add_secret(name, SecretKind::ConcatKdf, self.read(value()))
                    .unwrap(),
                "--pbkdf2-key" => keys
                    .add_secret(name, SecretKind::Pbkdf2, self.read(value()))
                    .unwrap(),
                "--hkdf-key" => keys
                    .add_secret(name, SecretKind::Hkdf, self.read(value()))
                    .unwrap(),
                "--keys-file" => keys.add_keys_file(&self.read(value()), options).unwrap(),
                "--pkcs12" => {
                    // A key of a kind that is not read shows later, as a key that is not found.
                    let file = self.read(value());
                    if let Err(error) = keys.add_pkcs12(name, &file, password.unwrap_or("")) {
                        files.problems.push(error.to_string());
                    }
                }
                "--privkey-pem" => {
                    let file = self.read(value());
                    if let Err(error) = keys.add_private_key(name, &file, password, &[]) {
                        files.problems.push(error.to_string());
                    }
                }
                "--pubkey-cert-der" => keys.add_certificate(name, &self.read(value())).unwrap(),
                "--trusted-der" => keys.add_trusted(&self.read(value())).unwrap(),
                "--untrusted-der" => keys.add_untrusted(&self.read(value())).unwrap(),
                "--crl-der" => keys.add_revocation_list(&self.read(value())),
                other => panic!("{}: unknown option {other}", self.id),
            }
        }
    }

    fn listed_keys(&self, keys: &mut Keys, options: &mut Options, files: &mut Files) {
        options.reference_uris = EnabledUris::ANY;
        options.retrieval_method_uris = EnabledUris::ANY;
        let listed = self.value["keys"].as_array().cloned().unwrap_or_default();
        options.lax_key_search = !listed.is_empty();
        // The suites trust what is embedded in the message when they give no key.
        // Folders of certificates are for looking up, and stand beside trust in what is embedded.
        options.insecure = listed.iter().all(|key| key["use"] == "cert");
        for key in listed {
            let octets = match (key["file"].as_str(), key["text"].as_str()) {
                (Some(file), _) => self.read(file),
                (None, text) => text.unwrap().as_bytes().to_vec(),
            };
            match key["use"].as_str().unwrap() {
                "hmackey" => keys.add_secret(None, SecretKind::Hmac, octets).unwrap(),
                // Folders of certificates hold revocation lists, and files that are no certificate, too; files of certificates
                // hold bare public keys. The key names of the suites are the file names.
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
        if let Some(map) = self.value["options"]["url_map"].as_object() {
            for (url, file) in map {
                files
                    .map
                    .insert(url.clone(), self.folder.join(file.as_str().unwrap()));
            }
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
        let input = case.folder.join(case.text("file").unwrap());
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

fn without_blank_text(octets: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(octets.to_vec()).unwrap();
    let mut kept = String::new();
    let mut rest = text.as_str();
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

/// Every case of `kind`, or `None` (said loudly) when the vectors directory is not there.
pub(crate) fn cases(kind: &str) -> Option<Vec<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let vectors = std::env::var_os("SOAPSTONE_VECTORS")
        .map_or_else(|| root.join("../shared/vectors"), PathBuf::from);
    if !vectors.is_dir() {
        eprintln!(
            "\n*** NO VECTORS at {}: nothing was tested here. Set SOAPSTONE_VECTORS. ***\n",
            vectors.display()
        );
        return None;
    }
    let mut cases = Vec::new();
    let mut suites: Vec<PathBuf> = std::fs::read_dir(&vectors)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    suites.sort();
    for folder in suites
        .into_iter()
        .filter(|folder| folder.join("manifest.json").is_file())
    {
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
        for value in manifest["cases"].as_array().unwrap() {
            if value["kind"].as_str() == Some(kind) {
                let id = value["id"].as_str().unwrap().to_owned();
                cases.push(Case {
                    id,
                    folder: folder.clone(),
                    value: value.clone(),
                });
            }
        }
    }
    Some(cases)
}

/// Runs every case; what fails must be listed with a reason in `exceptions.json`, and what is listed there must fail.
pub(crate) fn run(kind: &str, expected_count: usize, check: impl Fn(&Case) -> Result<(), String>) {
    let Some(cases) = cases(kind) else { return };
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
    if only.is_none() {
        assert!(
            cases.len() >= expected_count,
            "expected at least {expected_count} cases of {kind}, found {}",
            cases.len()
        );
    }
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
