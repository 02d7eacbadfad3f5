//! The `[identity]` table: our own keys, what each is for, and where it comes from.
//!
//! The rule kept here: where one of several keys cannot be read, there is none at all, so that no
//! other one takes its place.

use super::confidential::Confidential;
use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::table::Table;
use super::token_key::{self, TokenKeyConfig};

/// Where our own key comes from.
#[derive(Clone, Debug)]
pub enum IdentitySource {
    /// `key` and `certificate`: PEM (or DER) files.
    KeyAndCertificate {
        /// The private key.
        key: LoadedFile,
        /// The certificate, its chain behind it when the file has more.
        certificate: LoadedFile,
    },
    /// `keystore`: PKCS#12 or JKS.
    Keystore {
        /// The store.
        keystore: LoadedFile,
        /// Which entry, when there are several.
        alias: Option<Located<String>>,
        /// What opens the key, where that is not what opens the store.
        key_password: Option<Located<Confidential<String>>>,
    },
    /// `pkcs11` and `certificate`: a key in a token.
    Token {
        /// The key.
        key: TokenKeyConfig,
        /// The certificate, its chain behind it when the file has more.
        certificate: LoadedFile,
    },
}

/// `[identity]`.
#[derive(Clone, Debug)]
pub struct IdentityConfig {
    /// Where the table begins.
    pub place: Place,
    /// Key and certificate, or a keystore.
    pub source: IdentitySource,
    /// What opens the key or the keystore.
    pub password: Option<Located<Confidential<String>>>,
    /// `decryption = { … }` or `[{ … }, …]`: the keys that messages are encrypted to, where that
    /// is not the one that signs.
    pub decryption: Vec<IdentityConfig>,
    /// `endorsing = { … }` or `[{ … }, …]`: the keys that endorse, in the order of the policy's
    /// endorsing tokens, where that is not the one that signs.
    pub endorsing: Vec<IdentityConfig>,
}

/// The key that signs, and those that decrypt and endorse where others do.
pub(super) fn read(mut table: Table<'_>) -> Option<IdentityConfig> {
    let decryption = read_other_keys(
        &mut table,
        "decryption",
        "leave it out where the key that signs decrypts as well",
    );
    let endorsing = read_other_keys(
        &mut table,
        "endorsing",
        "leave it out where the key that signs endorses as well",
    );
    let identity = read_identity(table)?;
    // Without one of them, what is encrypted to it would be refused, or to the key that signs
    // accepted; or another one would endorse.
    Some(IdentityConfig {
        decryption: decryption?,
        endorsing: endorsing?,
        ..identity
    })
}

/// Keys for something else than signing; `None` if one of them cannot be read.
fn read_other_keys(
    table: &mut Table<'_>,
    purpose: &'static str,
    hint: &str,
) -> Option<Vec<IdentityConfig>> {
    if table.is_empty_list(purpose) {
        let place = table.place_of(purpose).unwrap_or_default();
        table.report_with_hint(place, format!("`{purpose}` names no key"), hint);
    }
    let tables = table.table_or_tables(purpose);
    let wanted = tables.len();
    let keys: Vec<_> = tables.into_iter().filter_map(read_identity).collect();
    (keys.len() == wanted).then_some(keys)
}

const PASSWORD: [&str; 3] = ["password", "password_env", "password_file"];
const KEY_PASSWORD: [&str; 3] = ["key_password", "key_password_env", "key_password_file"];

fn has_any(table: &Table<'_>, keys: [&str; 3]) -> bool {
    keys.iter().any(|key| table.has(key))
}

pub(super) fn read_identity(mut table: Table<'_>) -> Option<IdentityConfig> {
    let place_of_table = table.place();
    if let (Some(place), true) = (
        table.place_of("keystore"),
        table.has("key") || table.has("certificate"),
    ) {
        let hint = "keep either key and certificate, or keystore";
        table.report_with_hint(
            place,
            "both `keystore` and `key` or `certificate` are given",
            hint,
        );
    }
    let with_keystore = table.has("keystore");
    let with_token = table.has("pkcs11");
    if let (Some(place), true) = (
        table.place_of("pkcs11"),
        with_keystore || table.has("key") || has_any(&table, PASSWORD),
    ) {
        let hint = "keep pkcs11 and certificate; the PIN belongs into the table pkcs11";
        table.report_with_hint(
            place,
            "both `pkcs11` and `key`, `keystore` or `password` are given",
            hint,
        );
    }
    if !with_keystore && !with_token && !table.has("key") {
        table.missing(
            "key",
            "name a PEM file with the private key, or a keystore = \"….p12\"",
        );
    }
    if !with_keystore && !table.has("certificate") {
        table.missing(
            "certificate",
            "name a PEM file with the certificate, or a keystore = \"….p12\"",
        );
    }
    let key = table.secret_file("key");
    let certificate = table.file("certificate");
    let keystore = table.secret_file("keystore");
    let token_key = table.table("pkcs11").and_then(token_key::read);
    let alias = table.string("alias");
    let has_password = has_any(&table, PASSWORD);
    let password = table.secret("password", "password_env", "password_file");
    let has_key_password = has_any(&table, KEY_PASSWORD);
    let key_password = table.secret("key_password", "key_password_env", "key_password_file");
    if has_key_password && !with_keystore {
        let place = KEY_PASSWORD.iter().find_map(|key| table.place_of(key));
        table.report_with_hint(
            place.unwrap_or(place_of_table),
            "a password of the key's own is for the key of a `keystore`",
            "name what opens `key` as `password_env`, `password_file` or `password`",
        );
    }
    table.finish();
    if has_password && password.is_none() || has_key_password && key_password.is_none() {
        // Without it nothing opens the key, which says nothing of the key.
        return None;
    }
    let source = match (keystore, key, certificate) {
        (_, _, certificate) if with_token => IdentitySource::Token {
            key: token_key?,
            certificate: certificate?,
        },
        (Some(keystore), _, _) => IdentitySource::Keystore {
            keystore,
            alias,
            key_password,
        },
        (None, Some(key), Some(certificate)) => {
            IdentitySource::KeyAndCertificate { key, certificate }
        }
        _ => return None,
    };
    Some(IdentityConfig {
        place: place_of_table,
        source,
        password,
        decryption: Vec::new(),
        endorsing: Vec::new(),
    })
}
