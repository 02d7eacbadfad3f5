//! What the command line may set: `xmlsec1`'s options as values.
//!
//! The one rule: the default of every field is the safe one; an option that weakens something is
//! named after what it weakens.

use std::collections::BTreeSet;

use jiff::Timestamp;
use soapstone_xml::Limits;

/// Which kinds of URI a reference may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnabledUris {
    /// `URI=""`.
    pub empty: bool,
    /// `URI="#…"`.
    pub same_document: bool,
    /// `file:`, and relative references.
    pub local: bool,
    /// Everything else, and relative references.
    pub remote: bool,
}

impl EnabledUris {
    /// Every kind. Even then nothing is read that the caller's [`Resolver`](super::Resolver) does
    /// not hand out.
    pub const ANY: Self = Self {
        empty: true,
        same_document: true,
        local: true,
        remote: true,
    };
    /// The whole document and parts of it.
    pub const SAME_DOCUMENT: Self = Self {
        empty: true,
        same_document: true,
        local: false,
        remote: false,
    };
    /// No URI at all.
    pub const NONE: Self = Self {
        empty: false,
        same_document: false,
        local: false,
        remote: false,
    };

    /// Reads a comma-separated list of `empty`, `same-doc`, `local`, `remote`, `any` (as
    /// `--enabled-reference-uris`).
    ///
    /// # Errors
    /// The word that is none of them.
    pub fn from_list(list: &str) -> Result<Self, String> {
        let mut enabled = Self::NONE;
        for word in list.split(',').map(str::trim) {
            match word {
                "empty" => enabled.empty = true,
                "same-doc" => enabled.same_document = true,
                "local" => enabled.local = true,
                "remote" => enabled.remote = true,
                "any" => enabled = Self::ANY,
                other => return Err(other.to_owned()),
            }
        }
        Ok(enabled)
    }

    /// Whether `uri` is of an enabled kind.
    #[must_use]
    pub fn allow(&self, uri: &str) -> bool {
        if uri.is_empty() {
            self.empty
        } else if uri.starts_with('#') {
            self.same_document
        } else if uri.starts_with("file:") {
            self.local
        } else if has_scheme(uri) {
            self.remote
        } else {
            // What a relative reference is depends on where the document came from; `xmlsec1`
            // counts it as remote.
            self.local || self.remote
        }
    }
}

fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|character| {
                character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')
            })
    })
}

/// The kinds of key information that may be read from a message (`--enabled-key-data`).
///
/// Without a list, keys that are written out in the message (`key-value`, `der-encoded-key-value`)
/// are not read, as `xmlsec1` has it since 1.3.10: whoever made the message chose them. With a
/// list, only what is on it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnabledKeyData(Option<BTreeSet<String>>);

impl EnabledKeyData {
    /// Reads a comma-separated list of `xmlsec1`'s names.
    ///
    /// # Errors
    /// The name that is not known.
    pub fn from_list(list: &str) -> Result<Self, String> {
        let mut names = BTreeSet::new();
        for name in list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            if !KEY_DATA.contains(&name) {
                return Err(name.to_owned());
            }
            names.insert(name.to_owned());
        }
        Ok(Self(Some(names)))
    }

    pub(crate) fn allows(&self, name: &str, insecure: bool) -> bool {
        match &self.0 {
            Some(names) => names.contains(name),
            None => insecure || !matches!(name, "key-value" | "der-encoded-key-value"),
        }
    }

    /// Kinds of keys (`rsa`, `ec` …) restrict what `key-value` may hold; without any of them on the
    /// list, all may.
    pub(crate) fn allows_kind(&self, kind: &str) -> bool {
        self.0.as_ref().is_none_or(|names| {
            names.contains(kind) || !names.iter().any(|name| KEY_KINDS.contains(&name.as_str()))
        })
    }
}

/// Names of kinds of keys on the list of `--enabled-key-data`.
const KEY_KINDS: [&str; 7] = ["rsa", "dsa", "ec", "ecdsa", "eddsa", "dh", "xdh"];

/// Names that the list of `--enabled-key-data` may hold.
const KEY_DATA: [&str; 25] = [
    "key-name",
    "key-value",
    "der-encoded-key-value",
    "retrieval-method",
    "key-info-reference",
    "enc-key",
    "derived-key",
    "agreement-method",
    "x509",
    "raw-x509-cert",
    "rsa",
    "dsa",
    "ec",
    "ecdsa",
    "eddsa",
    "dh",
    "xdh",
    "hmac",
    "aes",
    "des",
    "camellia",
    "chacha20",
    "concatkdf",
    "pbkdf2",
    "hkdf",
];

/// Where the operation begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartNode {
    /// The first signature, or the first encrypted element, of the document.
    #[default]
    First,
    /// `--node-id`: the element with this id, or the first one of the right kind inside it.
    Id(String),
    /// `--node-name [namespace:]name`: the first element of this name.
    Name {
        /// Namespace; `None` is no namespace.
        namespace: Option<String>,
        /// Local name.
        local: String,
    },
    /// `--node-xpath`: the first node that the expression selects. Prefixes are those in scope at
    /// the root element.
    XPath(String),
}

/// An attribute that is an id (`--id-attr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdAttribute {
    /// The attribute: `name`, or `{namespace}name`.
    pub attribute: String,
    /// Namespace and local name of the only element on which it is one; `None` is every element.
    pub element: Option<(String, String)>,
}

/// Everything that an operation may be told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Bounds for every document that is read.
    pub limits: Limits,
    /// Further id attributes.
    pub id_attributes: Vec<IdAttribute>,
    /// Where the operation begins.
    pub start: StartNode,
    /// URIs of references in signatures. The default is the document itself; what a `--url-map`
    /// names is allowed besides.
    pub reference_uris: EnabledUris,
    /// URIs of `ds:RetrievalMethod`.
    pub retrieval_method_uris: EnabledUris,
    /// URIs of `dsig11:KeyInfoReference`.
    pub key_info_reference_uris: EnabledUris,
    /// URIs of `xenc:CipherReference`.
    pub cipher_reference_uris: EnabledUris,
    /// Which key information is read from the message.
    pub key_data: EnabledKeyData,
    /// Use any suitable key that the caller gave when the message leads to none of them. Keys that
    /// were given without a name are used then anyway.
    pub lax_key_search: bool,
    /// Do not verify certificates. Whoever made the message may then choose its key.
    pub insecure: bool,
    /// The time at which certificates must be valid.
    pub verification_time: Timestamp,
    /// Do not look at the validity period of certificates.
    pub skip_time_checks: bool,
    /// Verify the certificates of the caller's own keys, too (`--verify-keys`).
    pub verify_keys: bool,
    /// Whether a revocation list of the caller's must hold for each certificate of its issuer: be
    /// signed by that issuer, and be up to date. A list that does not hold is passed over
    /// otherwise.
    pub verify_revocation_lists: bool,
    /// Shortest truncated HMAC in bits (`--hmac-min-out-len`). The default is `xmlsec1`'s, 80,
    /// which is the floor of XML-DSig 4.4.2 without its second condition, half of the hash.
    pub hmac_minimum_bits: u32,
    /// Accept and write ECDSA and DSA signature values in ASN.1 (`--enable-asn1-signatures-hack`).
    pub asn1_signatures: bool,
    /// Leave `ds:Manifest` alone (`--ignore-manifests`).
    pub ignore_manifests: bool,
    /// Keep the bytes that were digested for each reference in the report (`--store-references`).
    pub store_references: bool,
    /// Most references in a signature or manifest. 64 is the bound for messages; files on disk
    /// sign more.
    pub references: usize,
    /// Most transforms in a reference.
    pub transforms: usize,
    /// Characters per line of the base64 that is written; 0 is one line.
    pub base64_line: usize,
}

impl Options {
    /// The safe defaults, at the time `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            limits: Limits::default(),
            id_attributes: Vec::new(),
            start: StartNode::First,
            reference_uris: EnabledUris::SAME_DOCUMENT,
            retrieval_method_uris: EnabledUris::SAME_DOCUMENT,
            key_info_reference_uris: EnabledUris::SAME_DOCUMENT,
            cipher_reference_uris: EnabledUris::SAME_DOCUMENT,
            key_data: EnabledKeyData::default(),
            lax_key_search: false,
            insecure: false,
            verification_time: now,
            skip_time_checks: false,
            verify_keys: false,
            verify_revocation_lists: false,
            hmac_minimum_bits: 80,
            asn1_signatures: false,
            ignore_manifests: false,
            store_references: false,
            references: 10_000,
            transforms: 16,
            base64_line: 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_allowed_by_their_kind() {
        let enabled = EnabledUris::from_list("empty,local").unwrap();
        assert!(enabled.allow("") && enabled.allow("a/b.xml") && enabled.allow("file:///a"));
        assert!(!enabled.allow("#a") && !enabled.allow("http://example.org/"));
        assert_eq!(EnabledUris::from_list("any"), Ok(EnabledUris::ANY));
        assert_eq!(EnabledUris::from_list("every"), Err("every".to_owned()));
    }

    #[test]
    fn keys_written_out_in_the_message_need_to_be_enabled() {
        let default = EnabledKeyData::default();
        assert!(default.allows("x509", false) && default.allows("key-name", false));
        assert!(
            !default.allows("key-value", false) && !default.allows("der-encoded-key-value", false)
        );
        assert!(default.allows("key-value", true));
        let list = EnabledKeyData::from_list("key-value, rsa").unwrap();
        assert!(list.allows("key-value", false) && list.allows_kind("rsa"));
        assert!(!list.allows("x509", true) && !list.allows_kind("dsa"));
        assert_eq!(EnabledKeyData::from_list("x510"), Err("x510".to_owned()));
    }
}
