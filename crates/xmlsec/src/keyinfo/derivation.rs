//! Derived and agreed keys: `xenc11:DerivedKey`, `xenc11:KeyDerivationMethod` and
//! `xenc:AgreementMethod` (XML-Enc 5.4, 5.6 and 5.8; RFC 9231 for HKDF).
//!
//! The one rule: the cost of a derivation is bounded before it begins, and so is what it is
//! computed from.

use soapstone_crypto::derive::PBKDF2_MAXIMUM_ITERATIONS;
use soapstone_crypto::{
    ConcatKdf, DigestAlgorithm, Hkdf, KeyAgreement, KeyDerivation, Pbkdf2, PublicKey, SecretBytes,
    SignatureAlgorithm, base64, hexadecimal,
};
use soapstone_xml::{Element, NodeId};

use super::error::KeyInfoError;
use super::key_value::{KeyValue, der_encoded_key_value};
use crate::namespaces::{DSIG, DSIG_MORE_2021, DSIG11, XENC, XENC11};
use crate::structure::{Children, StructureError, required_attribute, simple_content};

/// Longest salt, and longest of what else a key is derived for, in bytes: the names of two
/// parties, with room.
const LONGEST_PARAMETER: usize = 1024;

/// Longest derived key in bytes: no algorithm takes a longer one than 64.
const LONGEST_KEY: usize = 64;

/// A parsed `xenc11:KeyDerivationMethod`.
#[derive(Clone, Debug)]
pub enum KeyDerivationMethod {
    /// ConcatKDF (NIST SP 800-56A). It has no key length of its own.
    ConcatKdf(ConcatKdf),
    /// PBKDF2, with its key length in bytes.
    Pbkdf2(Pbkdf2, usize),
    /// HKDF, with its key length in bytes where one is written.
    Hkdf(Hkdf, Option<usize>),
}

/// A parsed `xenc11:DerivedKey`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DerivedKey {
    /// How the key is derived.
    pub method: KeyDerivationMethod,
    /// `xenc11:DerivedKeyName`: what the derived key is called.
    pub name: Option<String>,
    /// `xenc11:MasterKeyName`: what it is derived from.
    pub master_key_name: Option<String>,
}

/// A parsed `xenc:AgreementMethod`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgreementMethod {
    /// The algorithm.
    pub algorithm: KeyAgreement,
    /// How the agreed secret becomes a key.
    pub derivation: KeyDerivationMethod,
    /// `xenc:OriginatorKeyInfo`: the sender's public key.
    pub originator: Option<NodeId>,
    /// `xenc:RecipientKeyInfo`: which key of ours.
    pub recipient: Option<NodeId>,
}

impl KeyDerivationMethod {
    /// Reads a `xenc11:KeyDerivationMethod`.
    ///
    /// # Errors
    /// [`KeyInfoError::UnknownAlgorithm`], [`Structure`](KeyInfoError::Structure),
    /// [`Malformed`](KeyInfoError::Malformed) and [`TooMany`](KeyInfoError::TooMany)
    /// iterations.
    pub fn parse(method: Element<'_>) -> Result<Self, KeyInfoError> {
        let uri = required_attribute(method, "Algorithm", "an `Algorithm` attribute")?;
        let mut children = Children::of(method);
        let parsed = match KeyDerivation::from_uri(&uri) {
            Some(KeyDerivation::ConcatKdf) => concat_kdf(children.required(
                XENC11,
                "ConcatKDFParams",
                "`xenc11:ConcatKDFParams`",
            )?)?,
            Some(KeyDerivation::Pbkdf2) => {
                pbkdf2(children.required(XENC11, "PBKDF2-params", "`xenc11:PBKDF2-params`")?)?
            }
            Some(KeyDerivation::Hkdf) => {
                hkdf(children.required(DSIG_MORE_2021, "HKDFParams", "`HKDFParams`")?)?
            }
            None => {
                return Err(KeyInfoError::UnknownAlgorithm {
                    element: "xenc11:KeyDerivationMethod",
                    uri: uri.into_owned(),
                });
            }
        };
        children.end("the parameters of the algorithm and nothing else")?;
        Ok(parsed)
    }

    /// Which function it is.
    #[must_use]
    pub const fn algorithm(&self) -> KeyDerivation {
        match self {
            Self::ConcatKdf(_) => KeyDerivation::ConcatKdf,
            Self::Pbkdf2(..) => KeyDerivation::Pbkdf2,
            Self::Hkdf(..) => KeyDerivation::Hkdf,
        }
    }

    /// The key length that the method itself says, in bytes.
    #[must_use]
    pub const fn length(&self) -> Option<usize> {
        match self {
            Self::ConcatKdf(_) => None,
            Self::Pbkdf2(_, length) => Some(*length),
            Self::Hkdf(_, length) => *length,
        }
    }

    /// Derives a key of `length` bytes from `secret`.
    ///
    /// # Errors
    /// [`KeyInfoError::Malformed`] when the method says another length, [`KeyInfoError::Crypto`].
    pub fn derive(&self, secret: &SecretBytes, length: usize) -> Result<SecretBytes, KeyInfoError> {
        if self.length().is_some_and(|written| written != length) {
            return Err(KeyInfoError::Malformed {
                element: "KeyLength",
                reason: "not what the algorithm needs",
            });
        }
        Ok(match self {
            Self::ConcatKdf(parameters) => parameters.derive(secret, length)?,
            Self::Pbkdf2(parameters, _) => parameters.derive(secret, length)?,
            Self::Hkdf(parameters, _) => parameters.derive(secret, length)?,
        })
    }
}

impl DerivedKey {
    /// Reads a `xenc11:DerivedKey`.
    ///
    /// # Errors
    /// As [`KeyDerivationMethod::parse`].
    pub fn parse(element: Element<'_>) -> Result<Self, KeyInfoError> {
        let mut children = Children::of(element);
        let method = children.required(
            XENC11,
            "KeyDerivationMethod",
            "`xenc11:KeyDerivationMethod`",
        )?;
        children.optional(XENC, "ReferenceList");
        let mut text = |local| {
            children
                .optional(XENC11, local)
                .map(simple_content)
                .transpose()
        };
        let name = text("DerivedKeyName")?.map(|name| name.trim().to_owned());
        let master_key_name = text("MasterKeyName")?.map(|name| name.trim().to_owned());
        children.end("nothing after `xenc11:MasterKeyName`")?;
        Ok(Self {
            method: KeyDerivationMethod::parse(method)?,
            name,
            master_key_name,
        })
    }
}

impl AgreementMethod {
    /// Reads a `xenc:AgreementMethod`.
    ///
    /// # Errors
    /// As [`KeyDerivationMethod::parse`].
    pub fn parse(element: Element<'_>) -> Result<Self, KeyInfoError> {
        let uri = required_attribute(element, "Algorithm", "an `Algorithm` attribute")?;
        let algorithm =
            KeyAgreement::from_uri(&uri).ok_or_else(|| KeyInfoError::UnknownAlgorithm {
                element: "xenc:AgreementMethod",
                uri: uri.clone().into_owned(),
            })?;
        let mut children = Children::of(element);
        let method = children.required(
            XENC11,
            "KeyDerivationMethod",
            "`xenc11:KeyDerivationMethod`",
        )?;
        let originator = children
            .optional(XENC, "OriginatorKeyInfo")
            .map(|info| info.id());
        let recipient = children
            .optional(XENC, "RecipientKeyInfo")
            .map(|info| info.id());
        children.end("nothing after `xenc:RecipientKeyInfo`")?;
        Ok(Self {
            algorithm,
            derivation: KeyDerivationMethod::parse(method)?,
            originator,
            recipient,
        })
    }

    /// The public key that the sender made for this message, where it is written out as XML-Enc 1.1
    /// section 5.6.4 wants it: one `ds:KeyValue` or one `dsig11:DEREncodedKeyValue`, alone.
    /// `None` where what stands there is no key: a point that is not on its curve, for instance.
    ///
    /// # Errors
    /// [`KeyInfoError::Structure`] when there is no `xenc:OriginatorKeyInfo`, or something else in
    /// it.
    pub fn originator_key(
        &self,
        agreement: Element<'_>,
    ) -> Result<Option<PublicKey>, KeyInfoError> {
        let wanted =
            "one `ds:KeyValue` or `dsig11:DEREncodedKeyValue` in an `xenc:OriginatorKeyInfo`";
        let originator = agreement
            .child(XENC, "OriginatorKeyInfo")
            .ok_or_else(|| StructureError::new(agreement, wanted, None))?;
        let mut children = Children::of(originator);
        let read = if let Some(value) = children.optional(DSIG, "KeyValue") {
            KeyValue::parse(value).map(|value| value.map(KeyValue::into_public_key))
        } else {
            let value = children.required(DSIG11, "DEREncodedKeyValue", wanted)?;
            der_encoded_key_value(value).map(Some)
        };
        children.end(wanted)?;
        match read {
            Err(KeyInfoError::Crypto(_) | KeyInfoError::UnknownCurve { .. }) => Ok(None),
            other => other,
        }
    }
}

/// XML-Enc 5.4.1: bit strings in hexadecimal, their first byte being the number of unused bits of
/// the last one.
fn concat_kdf(parameters: Element<'_>) -> Result<KeyDerivationMethod, KeyInfoError> {
    let digest = Children::of(parameters).required(DSIG, "DigestMethod", "`ds:DigestMethod`")?;
    let digest = digest_method(digest)?;
    let mut other_info = Vec::new();
    for name in [
        "AlgorithmID",
        "PartyUInfo",
        "PartyVInfo",
        "SuppPubInfo",
        "SuppPrivInfo",
    ] {
        let Some(text) = parameters.attribute("", name) else {
            continue;
        };
        let malformed = |reason| KeyInfoError::Malformed {
            element: "xenc11:ConcatKDFParams",
            reason,
        };
        if text.len() > 2 * (LONGEST_PARAMETER + 1) {
            return Err(malformed("an attribute has more than 1024 bytes"));
        }
        let octets = hexadecimal::decode(text.trim())
            .ok_or_else(|| malformed("an attribute is not hexadecimal"))?;
        match octets.split_first() {
            None => {}
            Some((0, bits)) => other_info.extend_from_slice(bits),
            Some(_) => {
                return Err(malformed(
                    "bit strings that are not whole bytes are not supported",
                ));
            }
        }
    }
    Ok(KeyDerivationMethod::ConcatKdf(ConcatKdf {
        digest,
        other_info,
    }))
}

fn pbkdf2(parameters: Element<'_>) -> Result<KeyDerivationMethod, KeyInfoError> {
    let mut children = Children::of(parameters);
    let salt = children.required(XENC11, "Salt", "`xenc11:Salt`")?;
    let iterations = children.required(XENC11, "IterationCount", "`xenc11:IterationCount`")?;
    let length = children.required(XENC11, "KeyLength", "`xenc11:KeyLength`")?;
    let prf = children.required(XENC11, "PRF", "`xenc11:PRF`")?;
    children.end("nothing after `xenc11:PRF`")?;
    let specified = Children::of(salt).required(XENC11, "Specified", "`xenc11:Specified`")?;
    let iterations: u32 = integer(iterations, "xenc11:IterationCount")?;
    if iterations > PBKDF2_MAXIMUM_ITERATIONS {
        return Err(KeyInfoError::TooMany {
            what: "iteration",
            limit: PBKDF2_MAXIMUM_ITERATIONS as usize,
        });
    }
    if iterations == 0 {
        return Err(KeyInfoError::Malformed {
            element: "xenc11:IterationCount",
            reason: "zero",
        });
    }
    let parameters = Pbkdf2 {
        prf: pseudo_random_function(prf)?,
        salt: octets(specified, "xenc11:Specified")?,
        iterations,
    };
    Ok(KeyDerivationMethod::Pbkdf2(parameters, key_length(length)?))
}

fn hkdf(parameters: Element<'_>) -> Result<KeyDerivationMethod, KeyInfoError> {
    let mut children = Children::of(parameters);
    let prf = children.required(DSIG_MORE_2021, "PRF", "`PRF`")?;
    let salt = children
        .optional(DSIG_MORE_2021, "Salt")
        .map(|salt| octets(salt, "Salt"))
        .transpose()?;
    let info = children
        .optional(DSIG_MORE_2021, "Info")
        .map(|info| octets(info, "Info"))
        .transpose()?;
    let length = children
        .optional(DSIG_MORE_2021, "KeyLength")
        .map(key_length)
        .transpose()?;
    children.end("nothing after `KeyLength`")?;
    let parameters = Hkdf {
        prf: pseudo_random_function(prf)?,
        salt: salt.unwrap_or_default(),
        info: info.unwrap_or_default(),
    };
    Ok(KeyDerivationMethod::Hkdf(parameters, length))
}

/// The HMAC that a `PRF` element names.
fn pseudo_random_function(prf: Element<'_>) -> Result<SignatureAlgorithm, KeyInfoError> {
    let uri = required_attribute(prf, "Algorithm", "an `Algorithm` attribute")?;
    SignatureAlgorithm::from_uri(&uri)
        .filter(|algorithm| algorithm.is_mac())
        .ok_or_else(|| KeyInfoError::UnknownAlgorithm {
            element: "PRF",
            uri: uri.clone().into_owned(),
        })
}

fn digest_method(method: Element<'_>) -> Result<DigestAlgorithm, KeyInfoError> {
    let uri = required_attribute(method, "Algorithm", "an `Algorithm` attribute")?;
    DigestAlgorithm::from_uri(&uri).ok_or_else(|| KeyInfoError::UnknownAlgorithm {
        element: "ds:DigestMethod",
        uri: uri.clone().into_owned(),
    })
}

fn key_length(element: Element<'_>) -> Result<usize, KeyInfoError> {
    match integer(element, "KeyLength")? {
        length @ 1..=LONGEST_KEY => Ok(length),
        _ => Err(KeyInfoError::Malformed {
            element: "KeyLength",
            reason: "not between 1 and 64 bytes",
        }),
    }
}

fn integer<T: std::str::FromStr>(
    element: Element<'_>,
    name: &'static str,
) -> Result<T, KeyInfoError> {
    simple_content(element)?
        .trim()
        .parse()
        .map_err(|_| KeyInfoError::Malformed {
            element: name,
            reason: "not a number",
        })
}

fn octets(element: Element<'_>, name: &'static str) -> Result<Vec<u8>, KeyInfoError> {
    let coded = simple_content(element)?;
    let malformed = |reason| KeyInfoError::Malformed {
        element: name,
        reason,
    };
    // With line breaks, base64 takes less than twice what it stands for.
    if coded.len() > 2 * LONGEST_PARAMETER {
        return Err(malformed("more than 1024 bytes"));
    }
    base64::decode_xml_to_vec(coded.as_bytes()).map_err(|_| malformed("not base64"))
}
