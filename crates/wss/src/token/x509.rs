//! `wsse:BinarySecurityToken` with a certificate or a certification path (X.509 Token Profile
//! 1.1.1).
//!
//! It gives the key of a certificate. The one rule: a certificate in a message is worth nothing
//! until the trust store says so.

use soapstone_crypto::{Certificate, CryptoError};
use soapstone_xml::Element;

use super::kind::{Claim, GivenKey, Kind};
use crate::attributes::only_attributes;
use crate::key_locator::KeyLocator;
use crate::names::{
    THUMBPRINT_SHA1, WSSE, X509, X509_PKI_PATH_V1, X509_SKI, X509_V1, X509_V3, X509_V3_SKI,
};
use crate::rejected::Rejected;
use crate::values::{octets, only_base64};

/// The kind. Every header may have certificates, for others to refer to.
pub(super) static KIND: Kind = Kind {
    local: "BinarySecurityToken",
    namespaces: &[WSSE],
    has_type: |token, claimed| {
        let own = token.attribute("", "ValueType");
        own.is_some_and(|own| own == claimed || is_one(&own) && is_one(claimed))
    },
    identifiers: &[
        (X509_SKI, KeyLocator::SubjectKeyIdentifier),
        (X509_V3_SKI, KeyLocator::SubjectKeyIdentifier),
        (THUMBPRINT_SHA1, KeyLocator::Thumbprint),
        (X509_V3, KeyLocator::Certificate),
    ],
    key: GivenKey::Certificate(read),
    is_used_by: |_| true,
    claims,
    ..Kind::named("X.509")
};

/// The types of a token with one certificate. They differ in the version that they claim, and DER
/// says that itself: all of them are read from the same bytes in the same way (X.509 Token Profile
/// 1.1.1, 3.1). That BSP 1.1 has one of them alone (R3033, R5218) is for its judgement to say.
const ONE: [&str; 3] = [X509_V3, X509_V1, X509];

fn is_one(value_type: &str) -> bool {
    ONE.contains(&value_type)
}

/// Reads the token (X.509 Token Profile 1.1.1, 3.1).
fn read(token: Element<'_>) -> Result<KeyLocator, Rejected> {
    only_attributes(token, &["EncodingType", "ValueType"]).map_err(|problem| {
        Rejected::Malformed {
            element: "ds:KeyInfo",
            problem,
        }
    })?;
    only_base64(token, "token")?;
    match token.attribute("", "ValueType").as_deref() {
        Some(one) if is_one(one) => octets(token).map(KeyLocator::Certificate),
        Some(X509_PKI_PATH_V1) => octets(token).map(KeyLocator::Path),
        other => Err(Rejected::TokenUnsupported {
            found: format!("token type `{}`", other.unwrap_or("without ValueType")),
        }),
    }
}

/// Certificates that are no certificates.
pub(crate) fn unreadable(error: &CryptoError) -> Rejected {
    Rejected::Malformed {
        element: "wsse:BinarySecurityToken",
        problem: error.to_string(),
    }
}

fn claims(token: Element<'_>) -> Result<Vec<Claim>, Rejected> {
    let path = match read(token)? {
        KeyLocator::Path(der) => Certificate::from_pki_path(&der),
        KeyLocator::Certificate(der) => Certificate::from_der(&der).map(|one| vec![one]),
        _ => Ok(Vec::new()),
    };
    let path = path.map_err(|error| unreadable(&error))?;
    let about = |one: &Certificate| {
        [
            Claim::new("subject", one.subject()),
            Claim::new("issuer", one.issuer()),
            Claim::new("serial number", one.serial_decimal()),
            Claim::new("not before", one.not_before().to_string()),
            Claim::new("not after", one.not_after().to_string()),
        ]
    };
    Ok(path.iter().flat_map(about).collect())
}
