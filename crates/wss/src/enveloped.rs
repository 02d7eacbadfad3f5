//! Enveloped signatures: those of assertions, and of elements of the Body.
//!
//! The rule kept here: a certificate in the message signs nothing unless it is trusted, and the key
//! of the one that is trusted made the value.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, TrustStore};
use soapstone_xml::{Document, NodeId};
use soapstone_xmlsec::dsig::{Rules, Scratch, Signature, VerificationKey};
use soapstone_xmlsec::keyinfo::{KeySource, X509Data, sources};

use crate::rejected::Rejected;

/// Most certificates of a signature that are tried.
const MOST_CERTIFICATES: usize = 8;

/// Bytes of the `ds:SignedInfo` of such a signature: it has one reference.
const LONGEST_SIGNED_INFO: usize = 16 * 1024;

/// One reference, with the transforms of an enveloped signature.
pub(crate) fn rules() -> Rules {
    let mut rules = Rules::default();
    rules.references = 1;
    rules.transforms = 2;
    rules.signed_info = LONGEST_SIGNED_INFO;
    rules.enveloped = true;
    rules
}

/// The trusted certificate that a signature was made with, and the SHA-256 of the certificate of
/// the rules that vouches for it. `unreadable` says what is wrong with its
/// `ds:KeyInfo`.
pub(crate) fn check_signer(
    document: &Document,
    signature: &Signature,
    trust: &TrustStore,
    now: Timestamp,
    scratch: &mut Scratch,
    unreadable: impl Fn(&str) -> Rejected,
) -> Result<(Certificate, [u8; 32]), Rejected> {
    let certificates = certificates(document, signature.key_info, unreadable)?;
    let mut refused = None;
    let mut verify = |certificate: &Certificate, others: &[Certificate]| {
        let trusted = trust.root_of(certificate, others, now);
        let verified = trusted.map_err(Rejected::from).and_then(|root| {
            let key = VerificationKey::Public(certificate.public_key());
            let verified = signature.verify_value(document, key, scratch);
            verified.map_err(Rejected::from)?;
            Ok((certificate.clone(), root))
        });
        match verified {
            Ok(found) => Some(found),
            Err(rejected) => {
                refused.get_or_insert(rejected);
                None
            }
        }
    };
    let found = match certificates.is_empty() {
        // The reader knows the key (XML-DSig 4.5).
        true => {
            let mut pinned = trust.rules().pinned.iter().take(MOST_CERTIFICATES);
            pinned.find_map(|certificate| verify(certificate, &[]))
        }
        false => certificates
            .iter()
            .find_map(|certificate| verify(certificate, &certificates)),
    };
    found.ok_or_else(|| {
        refused.unwrap_or_else(|| Rejected::KeyNotFound {
            reference: "an enveloped signature without a certificate".to_owned(),
        })
    })
}

/// The certificates in a `ds:KeyInfo`. What else stands there is a hint.
fn certificates(
    document: &Document,
    key_info: Option<NodeId>,
    unreadable: impl Fn(&str) -> Rejected,
) -> Result<Vec<Certificate>, Rejected> {
    let Some(info) = key_info.map(|info| document.element(info)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let all = sources(info, MOST_CERTIFICATES).map_err(|error| unreadable(&error.to_string()))?;
    for source in all {
        if let KeySource::X509Data(node) = source {
            let data = X509Data::parse(document.element(node), MOST_CERTIFICATES);
            let data = data.map_err(|error| unreadable(&error.to_string()))?;
            found.extend(data.certificates);
        }
    }
    found.truncate(MOST_CERTIFICATES);
    Ok(found)
}
