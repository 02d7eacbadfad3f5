//! What is in a file of keys and certificates, whatever its format.
//!
//! The format is told by the contents, never by the name. The rule kept here: everything in a file
//! is reported; what cannot be read is a failure that says so, not an entry that is missing.

use std::path::{Path, PathBuf};

use soapstone::crypto::keystore::KeyStore;
use soapstone::crypto::{Certificate, CryptoError, PrivateKey, PublicKey};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::files;

/// One key or certificate of a file.
pub(super) struct Entry {
    /// The file.
    pub(super) file: PathBuf,
    /// Its name in a keystore.
    pub(super) alias: Option<String>,
    /// What it is.
    pub(super) item: Item,
}

/// What an entry is.
pub(super) enum Item {
    Certificate(Certificate),
    PrivateKey(PrivateKey),
    /// A private key that only a password opens, and none was given.
    LockedKey,
    PublicKey(PublicKey),
}

/// What opens files and the keys in them.
#[derive(Clone, Copy)]
pub(super) struct Passwords<'p> {
    /// Opens a keystore, or a key that stands alone.
    pub(super) file: Option<&'p str>,
    /// Opens the keys of a keystore, where they have another one than the keystore.
    pub(super) key: Option<&'p str>,
}

/// Reads everything in a file.
pub(super) fn read(path: &Path, passwords: Passwords<'_>) -> Result<Vec<Entry>, Failure> {
    let password = passwords.file;
    let octets = Zeroizing::new(files::read(Some(path))?);
    let items = if let Some(blocks) = pem_blocks(&octets) {
        blocks
            .into_iter()
            .filter_map(|block| pem_item(block, password).transpose())
            .map(named(None))
            .collect()
    } else if let Some(item) = der_item(&octets) {
        Ok(vec![(None, item)])
    } else if may_be_keystore(&octets) {
        keystore_items(&octets, passwords)
    } else {
        Ok(Items::new())
    };
    let items = items.map_err(|error| unreadable(path, &error))?;
    if items.is_empty() {
        let expected = "expected a key or a certificate in PEM, DER, PKCS#12 or JKS, found none";
        return Err(Failure::file(path, expected));
    }
    Ok(items
        .into_iter()
        .map(|(alias, item)| Entry {
            file: path.to_owned(),
            alias,
            item,
        })
        .collect())
}

type Items = Vec<(Option<String>, Item)>;

fn named(
    alias: Option<String>,
) -> impl Fn(Result<Item, CryptoError>) -> Result<(Option<String>, Item), CryptoError> {
    move |item| item.map(|item| (alias.clone(), item))
}

fn unreadable(path: &Path, error: &CryptoError) -> Failure {
    let failure = Failure::file(path, error);
    match error {
        CryptoError::PasswordNeeded | CryptoError::WrongPassword => {
            failure.with_hint("give the password with --password-env or --password-file")
        }
        CryptoError::Malformed { .. } => {
            failure.with_hint("PEM, DER, PKCS#12 and JKS are read, whatever the file is called")
        }
        _ => failure,
    }
}

/// The blocks of a PEM file, their first and last lines included; `None` if the file is none.
fn pem_blocks(octets: &[u8]) -> Option<Vec<&str>> {
    const BEGIN: &str = "-----BEGIN ";
    let text = std::str::from_utf8(octets).ok()?;
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let block = &rest[start..];
        let label = block[BEGIN.len()..]
            .split("-----")
            .next()
            .unwrap_or_default();
        let end = format!("-----END {label}-----");
        // A block that does not end is left to its parser to complain about.
        let length = block.find(&end).map_or(block.len(), |at| at + end.len());
        blocks.push(&block[..length]);
        rest = &block[length..];
    }
    // Text without a block is still text: a keystore never is.
    (!blocks.is_empty()
        || octets
            .iter()
            .all(|octet| octet.is_ascii_graphic() || octet.is_ascii_whitespace()))
    .then_some(blocks)
}

fn pem_item(block: &str, password: Option<&str>) -> Result<Option<Item>, CryptoError> {
    let label = block
        .trim_start_matches('-')
        .trim_start_matches("BEGIN ")
        .split('-')
        .next()
        .unwrap_or_default();
    let octets = block.as_bytes();
    Ok(Some(match label {
        "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE" => {
            Item::Certificate(Certificate::from_pem(octets)?)
        }
        "PUBLIC KEY" | "RSA PUBLIC KEY" => Item::PublicKey(PublicKey::from_pem(octets)?),
        label if label.ends_with("PRIVATE KEY") => match PrivateKey::from_pem(octets, password) {
            Ok(key) => Item::PrivateKey(key),
            Err(CryptoError::PasswordNeeded) => Item::LockedKey,
            Err(error) => return Err(error),
        },
        // Parameters, requests, revocation lists: neither keys nor certificates.
        _ => return Ok(None),
    }))
}

fn der_item(octets: &[u8]) -> Option<Item> {
    let certificate = || Certificate::from_der(octets).ok().map(Item::Certificate);
    let private = || PrivateKey::from_der(octets).ok().map(Item::PrivateKey);
    let public = || PublicKey::from_spki_der(octets).ok().map(Item::PublicKey);
    certificate().or_else(private).or_else(public)
}

/// Whether it begins as PKCS#12 (a DER sequence), JKS or JCEKS does. What does not is called none
/// of them, not a broken one.
fn may_be_keystore(octets: &[u8]) -> bool {
    matches!(octets, [0x30, ..] | [0xfe, 0xed, ..] | [0xce, 0xce, ..])
}

fn keystore_items(octets: &[u8], passwords: Passwords<'_>) -> Result<Items, CryptoError> {
    let without = passwords.file.is_none();
    let password = passwords.file.unwrap_or_default();
    let key_password = passwords.key.unwrap_or(password);
    let needed = |error| match error {
        CryptoError::WrongPassword if without => CryptoError::PasswordNeeded,
        other => other,
    };
    let store = KeyStore::from_file_contents(octets, password).map_err(needed)?;
    let mut items = Vec::new();
    for alias in store.key_aliases() {
        let key = match store.identity(Some(alias), key_password) {
            Ok(identity) => Item::PrivateKey(identity.key().clone()),
            // Each key may have a password of its own.
            Err(CryptoError::WrongPassword) => Item::LockedKey,
            Err(error) => return Err(error),
        };
        items.push((Some(alias.to_owned()), key));
        let chain = store.chain(alias).unwrap_or_default();
        items.extend(
            chain
                .iter()
                .map(|one| (Some(alias.to_owned()), Item::Certificate(one.clone()))),
        );
    }
    items.extend(
        store
            .certificates()
            .map(|(alias, one)| (Some(alias.to_owned()), Item::Certificate(one.clone()))),
    );
    Ok(items)
}
