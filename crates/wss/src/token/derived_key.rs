//! `wsc:DerivedKeyToken`, and derivations that a reference describes (WS-SecureConversation 1.4,
//! 7).
//!
//! It gives a key that is derived from another one, which it refers to. The one rule: a derivation
//! is read completely, within its bounds, before a secret is looked for.

use soapstone_crypto::{P_HASH_LIMIT, PHash, SymmetricKey};
use soapstone_xml::Element;

use super::kind::{Claim, Kind, broken};
use crate::conversation::{
    ConversationVersion, DEFAULT_LABEL, LONGEST_KEY, LONGEST_NONCE, SHORTEST_KEY,
};
use crate::derived_key_cache::FoundKey;
use crate::envelope::expanded_name;
use crate::names::WSSE;
use crate::policy::Policy;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::values::{base64_octets, only_base64};

/// The kind.
pub(super) static KIND: Kind = Kind {
    local: "DerivedKeyToken",
    namespaces: &[
        ConversationVersion::V13.namespace(),
        ConversationVersion::February2005.namespace(),
    ],
    has_type: |token, claimed| {
        let version = ConversationVersion::from_namespace(token.namespace());
        version.is_some_and(|version| claimed == version.derived_key_type())
    },
    is_used_by: |policy| {
        let endorsing = policy.endorsing_secret();
        policy.derived_keys().is_some()
            || endorsing.is_some_and(|one| one.key.derived_keys().is_some())
    },
    wrong_demands,
    claims: |token| {
        let derivation = explicit(token)?;
        let label = derivation.label.unwrap_or_else(|| DEFAULT_LABEL.to_owned());
        Ok(vec![
            Claim::new("label", label),
            Claim::new("offset", derivation.offset.to_string()),
            Claim::new("length", derivation.length.to_string()),
        ])
    },
    ..Kind::named("DerivedKeyToken")
};

/// Lengths of keys, for the token of the binding and for each that endorses.
fn wrong_demands(policy: &Policy) -> Vec<&'static str> {
    let endorsing = policy
        .endorsing()
        .filter_map(|token| token.key.derived_keys());
    let mut derived = policy.derived_keys().into_iter().chain(endorsing);
    let fits = |length| (SHORTEST_KEY..=LONGEST_KEY).contains(&length);
    let rules = [(
        !derived.all(|derived| fits(derived.signature_length)),
        "a derived signature key has 16 to 64 bytes",
    )];
    broken(rules).collect()
}

/// Whether an element is such a token.
pub(crate) fn is_derived_key(element: Element<'_>) -> bool {
    element.local() == "DerivedKeyToken"
        && ConversationVersion::from_namespace(element.namespace()).is_some()
}

/// What is said about a derivation (WS-SecureConversation 1.4, 7).
pub(crate) struct Derivation {
    label: Option<String>,
    nonce: Vec<u8>,
    offset: usize,
    length: usize,
}

const ELEMENT: &str = "wsc:DerivedKeyToken";

fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: ELEMENT,
        problem: problem.into(),
    }
}

/// What names the key that another one is derived from.
pub(crate) fn derived_from(token: Element<'_>) -> Result<Element<'_>, Rejected> {
    token
        .child(WSSE, "SecurityTokenReference")
        .ok_or_else(|| malformed("expected a `wsse:SecurityTokenReference`"))
}

/// `wsc:Nonce` and `wsc:Length` of an implied derived key (WS-SecureConversation 1.4, 7.4).
pub(crate) fn implied(reference: Element<'_>) -> Result<Option<Derivation>, Rejected> {
    for version in ConversationVersion::ALL {
        let Some(nonce) = reference.attribute(version.namespace(), "Nonce") else {
            continue;
        };
        let length = match reference.attribute(version.namespace(), "Length") {
            Some(length) => number(&length, "Length")?,
            None => DEFAULT_LENGTH,
        };
        let derivation = Derivation {
            label: None,
            nonce: base64_octets(&nonce, ELEMENT)?,
            offset: 0,
            length,
        };
        return derivation.checked().map(Some);
    }
    Ok(None)
}

/// Length of a derived key that says none (WS-SecureConversation 1.4, 7.1).
const DEFAULT_LENGTH: usize = 32;

/// Longest label, bytes.
const LONGEST_LABEL: usize = 256;

/// Reads a `wsc:DerivedKeyToken` (WS-SecureConversation 1.4, 7.1).
pub(crate) fn explicit(token: Element<'_>) -> Result<Derivation, Rejected> {
    let version = ConversationVersion::from_namespace(token.namespace())
        .ok_or_else(|| malformed("expected a namespace of WS-SecureConversation"))?;
    if let Some(algorithm) = token.attribute("", "Algorithm")
        && algorithm != version.p_sha1()
    {
        return Err(Rejected::AlgorithmNotAllowed {
            purpose: AlgorithmUse::KeyDerivation,
            found: algorithm.into_owned(),
            allowed: version.p_sha1().to_owned(),
        });
    }
    let (mut offset, mut generation, mut length, mut label, mut nonce) =
        (None, None, None, None, None);
    for child in token.children() {
        let text = || {
            child
                .text_strict()
                .ok_or_else(|| malformed(format!("expected text in `{}`", child.local())))
        };
        let twice = match (child.namespace(), child.local()) {
            (WSSE, "SecurityTokenReference") => continue,
            (namespace, _) if namespace != version.namespace() => {
                return Err(Rejected::ElementUnexpected {
                    element: expanded_name(child),
                });
            }
            (_, "Offset") => offset.replace(number(&text()?, "Offset")?).is_some(),
            (_, "Generation") => generation
                .replace(number(&text()?, "Generation")?)
                .is_some(),
            (_, "Length") => length.replace(number(&text()?, "Length")?).is_some(),
            (_, "Label") => label.replace(text()?.into_owned()).is_some(),
            (_, "Nonce") => {
                only_base64(child, "nonce")?;
                nonce
                    .replace(base64_octets(text()?.trim(), ELEMENT)?)
                    .is_some()
            }
            _ => {
                return Err(Rejected::ElementUnexpected {
                    element: expanded_name(child),
                });
            }
        };
        if twice {
            return Err(malformed(format!(
                "expected one `{}`, found more",
                child.local()
            )));
        }
    }
    let length = length.unwrap_or(DEFAULT_LENGTH);
    let offset = match (offset, generation) {
        (Some(_), Some(_)) => {
            return Err(malformed("expected `Offset` or `Generation`, found both"));
        }
        (Some(offset), None) => offset,
        (None, Some(generation)) => generation
            .checked_mul(length)
            .ok_or_else(|| malformed(format!("`Generation` {generation} lies too far")))?,
        (None, None) => 0,
    };
    Derivation {
        label,
        nonce: nonce.ok_or_else(|| malformed("expected a `Nonce`"))?,
        offset,
        length,
    }
    .checked()
}

fn number(text: &str, name: &str) -> Result<usize, Rejected> {
    let digits = text.trim();
    let short = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    short.then(|| digits.parse().ok()).flatten().ok_or_else(|| {
        malformed(format!(
            "expected `{name}` as a small number, found `{}`",
            excerpt(digits)
        ))
    })
}

fn excerpt(text: &str) -> String {
    text.chars().take(20).collect()
}

impl Derivation {
    pub(crate) fn as_found(&self) -> FoundKey<'_> {
        FoundKey {
            label: self.label.as_deref().unwrap_or(DEFAULT_LABEL).as_bytes(),
            nonce: &self.nonce,
            offset: self.offset,
            length: self.length,
        }
    }

    /// The key that is derived from a secret.
    pub(crate) fn execute(&self, secret: &SymmetricKey) -> Result<SymmetricKey, Rejected> {
        let found = self.as_found();
        PHash::SHA1
            .derive(
                secret.expose(),
                &[found.label, found.nonce],
                found.offset,
                found.length,
            )
            .and_then(SymmetricKey::from_secret)
            .map_err(|error| malformed(error.to_string()))
    }

    fn checked(self) -> Result<Self, Rejected> {
        if !(SHORTEST_KEY..=LONGEST_KEY).contains(&self.length) {
            return Err(malformed(format!(
                "expected a `Length` of {SHORTEST_KEY} to {LONGEST_KEY}, found {}",
                self.length
            )));
        }
        if self.offset > P_HASH_LIMIT - self.length {
            return Err(malformed(format!(
                "expected the key within the first {P_HASH_LIMIT} bytes, found offset {}",
                self.offset
            )));
        }
        if self.nonce.is_empty() || self.nonce.len() > LONGEST_NONCE {
            return Err(malformed(format!(
                "expected a `Nonce` of 1 to {LONGEST_NONCE} bytes, found {}",
                self.nonce.len()
            )));
        }
        if self
            .label
            .as_ref()
            .is_some_and(|label| label.len() > LONGEST_LABEL)
        {
            return Err(malformed(format!(
                "expected a `Label` of at most {LONGEST_LABEL} bytes"
            )));
        }
        Ok(self)
    }
}
