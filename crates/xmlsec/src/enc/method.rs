//! `xenc:EncryptionMethod` with its parameters (XML-Enc 3.2, 5.5 and 5.6).
//!
//! The one rule: parameters are read in full or refused; a digest or a mask function that is not
//! understood is never replaced by a default.

use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyTransport, KeyWrap, OaepParameters, base64,
};
use soapstone_xml::Element;

use super::error::EncryptionError;
use crate::namespaces::{DSIG, XENC, XENC11};
use crate::structure::{Children, StructureError, required_attribute, simple_content};

/// How a key is encrypted in an `xenc:EncryptedKey`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyEncryption {
    /// With an RSA public key (XML-Enc 5.5).
    Transport {
        /// The algorithm.
        algorithm: KeyTransport,
        /// OAEP parameters; the defaults for [`KeyTransport::Rsa15`], which has none.
        oaep: OaepParameters,
    },
    /// With a shared key (XML-Enc 5.7).
    Wrap(KeyWrap),
    /// With a shared key, by an algorithm for data. The schema allows it; nothing of WS-Security
    /// names it.
    Data(DataEncryption),
}

impl KeyEncryption {
    /// Short name of the algorithm.
    #[must_use]
    pub const fn short_name(&self) -> &'static str {
        match self {
            Self::Transport { algorithm, .. } => algorithm.short_name(),
            Self::Wrap(algorithm) => algorithm.short_name(),
            Self::Data(algorithm) => algorithm.short_name(),
        }
    }

    /// URI of the algorithm.
    #[must_use]
    pub const fn uri(&self) -> &'static str {
        match self {
            Self::Transport { algorithm, .. } => algorithm.uri(),
            Self::Wrap(algorithm) => algorithm.uri(),
            Self::Data(algorithm) => algorithm.uri(),
        }
    }

    /// Reads the `xenc:EncryptionMethod` of an `xenc:EncryptedKey`.
    ///
    /// An `xenc11:MGF` beside `rsa-oaep-mgf1p`, which fixes it to SHA-1, is taken at its word, as
    /// other implementations do.
    ///
    /// # Errors
    /// [`EncryptionError::UnknownAlgorithm`] naming the URI, [`EncryptionError::Structure`] and
    /// [`EncryptionError::Malformed`] for its parameters.
    pub fn parse(method: Element<'_>) -> Result<Self, EncryptionError> {
        let uri = required_attribute(method, "Algorithm", "an `Algorithm` attribute")?;
        if let Some(algorithm) = KeyWrap::from_uri(&uri) {
            Parameters::parse(
                method,
                Allowed {
                    key_bits: Some(algorithm.key_length() * 8),
                    ..Allowed::NOTHING
                },
            )?;
            return Ok(Self::Wrap(algorithm));
        }
        if DataEncryption::from_uri(&uri).is_some() {
            return parse_data_encryption(method).map(Self::Data);
        }
        let Some(algorithm) = KeyTransport::from_uri(&uri) else {
            return Err(EncryptionError::UnknownAlgorithm {
                element: "xenc:EncryptionMethod",
                uri: uri.into_owned(),
            });
        };
        let oaep = algorithm != KeyTransport::Rsa15;
        let parameters = Parameters::parse(
            method,
            Allowed {
                key_bits: None,
                any_key_size: true,
                oaep,
            },
        )?;
        // The defaults of both are SHA-1 (XML-Enc 5.5.2).
        let oaep = OaepParameters {
            digest: parameters.digest.unwrap_or(DigestAlgorithm::Sha1),
            mgf: parameters.mask.unwrap_or(DigestAlgorithm::Sha1),
            label: parameters.label,
        };
        Ok(Self::Transport { algorithm, oaep })
    }
}

/// Reads the `xenc:EncryptionMethod` of an `xenc:EncryptedData`.
pub(super) fn parse_data_encryption(
    method: Element<'_>,
) -> Result<DataEncryption, EncryptionError> {
    let uri = required_attribute(method, "Algorithm", "an `Algorithm` attribute")?;
    let Some(algorithm) = DataEncryption::from_uri(&uri) else {
        return Err(EncryptionError::UnknownAlgorithm {
            element: "xenc:EncryptionMethod",
            uri: uri.into_owned(),
        });
    };
    Parameters::parse(
        method,
        Allowed {
            key_bits: Some(algorithm.key_length() * 8),
            ..Allowed::NOTHING
        },
    )?;
    Ok(algorithm)
}

/// Which parameters the algorithm takes.
#[derive(Clone, Copy)]
struct Allowed {
    key_bits: Option<usize>,
    any_key_size: bool,
    oaep: bool,
}

impl Allowed {
    const NOTHING: Self = Self {
        key_bits: None,
        any_key_size: false,
        oaep: false,
    };
}

#[derive(Default)]
struct Parameters {
    digest: Option<DigestAlgorithm>,
    mask: Option<DigestAlgorithm>,
    label: Vec<u8>,
}

impl Parameters {
    fn parse(method: Element<'_>, allowed: Allowed) -> Result<Self, EncryptionError> {
        let mut parameters = Self::default();
        let mut children = Children::of(method);
        if let Some(size) = children.optional(XENC, "KeySize") {
            let bits = simple_content(size)?.trim().parse::<usize>().ok();
            // Key sizes that contradict the algorithm are an error (XML-Enc 3.2).
            if bits.is_none() || (!allowed.any_key_size && bits != allowed.key_bits) {
                return Err(EncryptionError::Malformed {
                    element: "xenc:KeySize",
                    reason: "contradicts the algorithm",
                });
            }
        }
        let mut label = None;
        while let Some(child) = children.any() {
            if allowed.oaep && child.is(XENC, "OAEPparams") && label.is_none() {
                let mut octets = Vec::new();
                base64::decode_xml(simple_content(child)?.as_bytes(), &mut octets).map_err(
                    |_| EncryptionError::Malformed {
                        element: "xenc:OAEPparams",
                        reason: "not base64",
                    },
                )?;
                label = Some(octets);
            } else if allowed.oaep && child.is(DSIG, "DigestMethod") && parameters.digest.is_none()
            {
                let uri = required_attribute(child, "Algorithm", "an `Algorithm` attribute")?;
                let digest = DigestAlgorithm::from_uri(&uri);
                parameters.digest =
                    Some(digest.ok_or_else(|| EncryptionError::UnknownAlgorithm {
                        element: "ds:DigestMethod",
                        uri: uri.into_owned(),
                    })?);
                Children::of(child).end("no content")?;
            } else if allowed.oaep && child.is(XENC11, "MGF") && parameters.mask.is_none() {
                let uri = required_attribute(child, "Algorithm", "an `Algorithm` attribute")?;
                let mask = DigestAlgorithm::from_mgf1_uri(&uri);
                parameters.mask = Some(mask.ok_or_else(|| EncryptionError::UnknownAlgorithm {
                    element: "xenc11:MGF",
                    uri: uri.into_owned(),
                })?);
                Children::of(child).end("no content")?;
            } else {
                let found = Some(child.qualified_name().to_owned());
                return Err(StructureError::new(
                    method,
                    "each parameter of the algorithm once and nothing else",
                    found,
                )
                .into());
            }
        }
        parameters.label = label.unwrap_or_default();
        Ok(parameters)
    }
}
