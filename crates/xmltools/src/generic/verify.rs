//! `soapstone xml verify`: one signature, its references and its manifests.
//!
//! The value over `SignedInfo` is checked first, so that no transform runs that the holder of the
//! key did not sign. The one rule: every reference must match. Manifests are reported, as XML-DSig
//! 2.3 has it: what they mean is the application's.

use soapstone_crypto::digest;
use soapstone_xml::{Apex, NodeId};

use super::error::GenericError;
use super::key::{Key, Material, Need};
use super::key_info::Search;
use super::session::Session;
use super::signature_value::normalized;
use super::source::Reading;
use soapstone_xmlsec::dsig::{
    Reference, Rules, Scratch, Signature, SignatureError, VerificationKey,
};
use soapstone_xmlsec::namespaces::{DSIG, TYPE_MANIFEST};
use soapstone_xmlsec::structure::Children;

/// A verified signature.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Short name of the signature method.
    pub method: &'static str,
    /// The name of the key, if it has one.
    pub key_name: Option<String>,
    /// The subject of its certificate, if it has one.
    pub key_subject: Option<String>,
    /// What was signed, in the order of `SignedInfo`.
    pub references: Vec<ReferenceReport>,
    /// The manifests that the signature covers.
    pub manifests: Vec<ManifestReport>,
    /// The bytes of `SignedInfo` that the value is about, where the options ask for bytes.
    pub signed_info: Option<Vec<u8>>,
}

/// One reference that was looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReferenceReport {
    /// Its `URI`.
    pub uri: Option<String>,
    /// Whether it matches; always so in [`VerifyReport::references`].
    pub result: Result<(), GenericError>,
    /// The bytes that were digested, where the options ask for them.
    pub octets: Option<Vec<u8>>,
}

/// One `ds:Manifest`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ManifestReport {
    /// Its `Id`.
    pub id: Option<String>,
    /// Its references.
    pub references: Vec<ReferenceReport>,
}

/// Verifies the signature at the start node of the options, or the first one of the document.
///
/// # Errors
/// Why the signature is refused or could not be looked at: [`GenericError::is_refusal`] tells the
/// two apart.
pub fn verify(document: &[u8], session: &mut Session<'_>) -> Result<VerifyReport, GenericError> {
    verify_observed(document, session, &mut |_| ())
}

/// The same, with each reference handed to `look` once it was looked at, also the one for which the
/// signature is refused.
///
/// # Errors
/// As those of [`verify`].
pub fn verify_observed(
    document: &[u8],
    session: &mut Session<'_>,
    look: &mut dyn FnMut(&ReferenceReport),
) -> Result<VerifyReport, GenericError> {
    let source = session.load(document)?;
    let reading = Reading::new(&source);
    let node = reading.start(&session.options.start, DSIG, "Signature", "`ds:Signature`")?;
    let rules = rules(session);
    let signature = Signature::parse(&source.document, node, &rules)?;
    for reference in &signature.references {
        session.allow(
            reference.uri.as_deref().unwrap_or(""),
            session.options.reference_uris,
        )?;
    }

    let key =
        Search::new(session).find(&reading, signature.key_info, Need::Verify(signature.method))?;
    verify_value(&reading, &signature, &key, session)?;

    let mut references = Vec::with_capacity(signature.references.len());
    for reference in &signature.references {
        let report = verify_reference(&reading, reference, session);
        look(&report);
        report.result.clone()?;
        references.push(report);
    }
    let manifests = if session.options.ignore_manifests {
        Vec::new()
    } else {
        manifests(&reading, &signature, &rules, session)?
    };
    Ok(VerifyReport {
        method: signature.method.short_name(),
        key_name: key.name.clone(),
        key_subject: key
            .certificates
            .first()
            .map(|certificate| certificate.subject().to_owned()),
        references,
        manifests,
        signed_info: session
            .options
            .store_references
            .then(|| signed_info(&reading, &signature))
            .transpose()?,
    })
}

/// The canonical form of `SignedInfo`.
pub(super) fn signed_info(
    reading: &Reading<'_>,
    signature: &Signature,
) -> Result<Vec<u8>, GenericError> {
    let mut octets = Vec::new();
    let apex = Apex::Element(signature.signed_info);
    Scratch::default().canonicalize(
        reading.document(),
        apex,
        &signature.canonicalization,
        true,
        &[],
        &mut octets,
    )?;
    Ok(octets)
}

pub(super) fn rules(session: &Session<'_>) -> Rules {
    let mut rules = Rules::default().admitting_any_transform();
    rules.references = session.options.references;
    rules.transforms = session.options.transforms;
    rules.signed_info = usize::MAX;
    rules.enveloped = true;
    rules.hmac_minimum_bits = Some(session.options.hmac_minimum_bits);
    rules
}

fn verify_value(
    reading: &Reading<'_>,
    signature: &Signature,
    key: &Key,
    session: &Session<'_>,
) -> Result<(), GenericError> {
    let mut scratch = Scratch::default();
    let verification_key = match &key.material {
        Material::Public(key) => VerificationKey::Public(key),
        Material::Private(key) => VerificationKey::Public(key.public_key()),
        Material::Secret(_, key) => VerificationKey::Secret(key),
    };
    let Err(failure) = signature.verify_value(reading.document(), verification_key, &mut scratch)
    else {
        return Ok(());
    };
    // Old Java signers write the two numbers of ECDSA and DSA longer than they are; some writers
    // use ASN.1.
    if let (SignatureError::ValueMismatch { .. }, Some(public)) = (&failure, key.public_key()) {
        let other_form = normalized(
            signature.method,
            public,
            &signature.value,
            session.options.asn1_signatures,
        );
        if let Some(value) = other_form {
            let mut other = signature.clone();
            other.value = value;
            return Ok(other.verify_value(reading.document(), verification_key, &mut scratch)?);
        }
    }
    Err(failure.into())
}

fn verify_reference(
    reading: &Reading<'_>,
    reference: &Reference,
    session: &mut Session<'_>,
) -> ReferenceReport {
    let octets = octets(reading, reference, session);
    let result = match &octets {
        Ok(octets) => matches(reference, octets),
        Err(error) => Err(error.clone()),
    };
    let keep = session.options.store_references;
    ReferenceReport {
        uri: reference.uri.clone(),
        result,
        octets: octets.ok().filter(|_| keep),
    }
}

/// The bytes of a reference after its transforms.
pub(super) fn octets(
    reading: &Reading<'_>,
    reference: &Reference,
    session: &mut Session<'_>,
) -> Result<Vec<u8>, GenericError> {
    let uri = reference.uri.as_deref().ok_or(SignatureError::NoUri)?;
    session.allow(uri, session.options.reference_uris)?;
    reading.octets(
        uri,
        &reference.transforms,
        Some(reference.signature),
        session,
    )
}

fn matches(reference: &Reference, octets: &[u8]) -> Result<(), GenericError> {
    let found = digest(reference.digest_method, octets)?;
    if found.matches(reference.digest_value.as_ref()) {
        return Ok(());
    }
    Err(SignatureError::DigestMismatch {
        uri: reference.uri.clone().unwrap_or_default(),
        expected: soapstone_crypto::base64::encode(reference.digest_value.as_ref()),
        found: soapstone_crypto::base64::encode(found.as_ref()),
    }
    .into())
}

/// The manifests among the objects of the signature that a reference of type `Manifest` covers.
fn manifests(
    reading: &Reading<'_>,
    signature: &Signature,
    rules: &Rules,
    session: &mut Session<'_>,
) -> Result<Vec<ManifestReport>, GenericError> {
    let mut reports = Vec::new();
    for node in manifest_nodes(reading, signature)? {
        let manifest = reading.document().element(node);
        let mut references = Vec::new();
        let mut children = Children::of(manifest);
        while let Some(child) = children.optional(DSIG, "Reference") {
            if references.len() == rules.references {
                return Err(SignatureError::TooMany {
                    what: "ds:Reference",
                    limit: rules.references,
                }
                .into());
            }
            let reference = Reference::parse(child, signature.node, rules)?;
            references.push(verify_reference(reading, &reference, session));
        }
        reports.push(ManifestReport {
            id: manifest
                .attribute("", "Id")
                .map(std::borrow::Cow::into_owned),
            references,
        });
    }
    Ok(reports)
}

pub(super) fn manifest_nodes(
    reading: &Reading<'_>,
    signature: &Signature,
) -> Result<Vec<NodeId>, GenericError> {
    let mut nodes = Vec::new();
    for reference in signature
        .references
        .iter()
        .filter(|reference| reference.kind.as_deref() == Some(TYPE_MANIFEST))
    {
        let Some(id) = reference
            .uri
            .as_deref()
            .and_then(|uri| uri.strip_prefix('#'))
        else {
            continue;
        };
        let node = reading.source.by_id(id)?;
        if reading.document().element(node).is(DSIG, "Manifest") {
            nodes.push(node);
        }
    }
    Ok(nodes)
}
