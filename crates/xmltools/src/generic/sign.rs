//! `soapstone xml sign`: fills in a signature template.
//!
//! First `ds:KeyInfo`, then digests, then the value, each on the document as it is after the step
//! before, so that a signature may cover its own key information and manifests.
//! The one rule: what is signed is what is written; digests are computed again until none of them
//! changes.

use soapstone_crypto::{SignatureFamily, digest};
use soapstone_xml::NodeId;

use super::edit::Edits;
use super::error::GenericError;
use super::key::{Key, Material, Need};
use super::key_info::Search;
use super::session::Session;
use super::signature_value::to_asn1;
use super::source::{Reading, Source};
use super::template::{base64_lines, fill_key_info};
use super::verify::{manifest_nodes, octets, rules, signed_info};
use soapstone_xmlsec::dsig::{Reference, Signature};
use soapstone_xmlsec::namespaces::DSIG;

/// How often digests are computed until they are stable: one round per level of references to
/// references, and one more.
const ROUNDS: usize = 8;

/// Signs the template at the start node of the options, or the first one of the document, and
/// returns the signed document.
///
/// # Errors
/// [`GenericError::Signature`] for templates that are no signatures, [`GenericError::KeyNotFound`],
/// and whatever is wrong with what the references name.
pub fn sign(template: &[u8], session: &mut Session<'_>) -> Result<Vec<u8>, GenericError> {
    let mut source = session.load(template)?;
    let place = place(&source, session)?;
    let key = {
        let reading = Reading::new(&source);
        let signature = parse(&source, place, session)?;
        Search::new(session).find_for_template(
            &reading,
            signature.key_info,
            Need::Sign(signature.method),
        )?
    };
    source = fill(source, session, |source, session, edits| {
        match parse(source, place, session)?.key_info {
            Some(key_info) => fill_key_info(
                &source.document,
                key_info,
                &key,
                session.options.base64_line,
                edits,
            ),
            None => Ok(()),
        }
    })?;

    let mut round = 0;
    loop {
        let mut changed = false;
        source = fill(source, session, |source, session, edits| {
            changed = digest_references(source, place, session, edits)?;
            Ok(())
        })?;
        if !changed {
            break;
        }
        round += 1;
        if round == ROUNDS {
            return Err(GenericError::Template {
                reason: "references that depend on their own digests",
            });
        }
    }

    let signed = fill(source, session, |source, session, edits| {
        let signature = parse(source, place, session)?;
        let octets = signed_info(&Reading::new(source), &signature)?;
        let value = value(&signature, &key, &octets, session)?;
        edits.replace_content(
            &source.document,
            signature.value_node,
            &base64_lines(&value, session.options.base64_line),
        );
        Ok(())
    })?;
    let text = signed.document.bytes().to_vec();
    Ok(signed.written(text))
}

/// The place of the signature among the elements of the document, which no step changes.
fn place(source: &Source, session: &Session<'_>) -> Result<usize, GenericError> {
    let node =
        Reading::new(source).start(&session.options.start, DSIG, "Signature", "`ds:Signature`")?;
    source
        .document
        .root()
        .descendants()
        .position(|element| element.id() == node)
        .ok_or(GenericError::NoStartNode {
            expected: "`ds:Signature`",
        })
}

fn parse(source: &Source, place: usize, session: &Session<'_>) -> Result<Signature, GenericError> {
    let node = source.document.root().descendants().nth(place);
    let node = node
        .ok_or(GenericError::NoStartNode {
            expected: "`ds:Signature`",
        })?
        .id();
    Ok(Signature::parse_template(
        &source.document,
        node,
        &rules(session),
    )?)
}

/// Lets `step` edit the document, and reads it again.
fn fill(
    source: Source,
    session: &mut Session<'_>,
    step: impl FnOnce(&Source, &mut Session<'_>, &mut Edits) -> Result<(), GenericError>,
) -> Result<Source, GenericError> {
    let mut edits = Edits::default();
    step(&source, session, &mut edits)?;
    if edits.is_empty() {
        return Ok(source);
    }
    // The declaration goes in front again, so that what it declares as ids stays ids.
    let text = source.written(edits.apply(&source.document));
    session.load(&text)
}

/// Writes the digests of all references, those of manifests included; says whether one of them was
/// another before.
fn digest_references(
    source: &Source,
    place: usize,
    session: &mut Session<'_>,
    edits: &mut Edits,
) -> Result<bool, GenericError> {
    let reading = Reading::new(source);
    let signature = parse(source, place, session)?;
    let mut changed = false;
    let mut digest_one = |reference: &Reference,
                          session: &mut Session<'_>|
     -> Result<(), GenericError> {
        let octets = octets(&reading, reference, session)?;
        let found =
            soapstone_crypto::base64::encode(digest(reference.digest_method, &octets)?.as_ref());
        let written = source.document.element(reference.node);
        if let Some(value) = written.child(DSIG, "DigestValue")
            && value.text().trim() != found
        {
            changed = true;
            edits.replace_content(&source.document, value.id(), found.as_bytes());
        }
        Ok(())
    };
    if !session.options.ignore_manifests {
        for manifest in manifest_nodes(&reading, &signature)? {
            for reference in manifest_references(source, manifest, signature.node, session)? {
                digest_one(&reference, session)?;
            }
        }
    }
    for reference in &signature.references {
        digest_one(reference, session)?;
    }
    Ok(changed)
}

fn manifest_references(
    source: &Source,
    manifest: NodeId,
    signature: NodeId,
    session: &Session<'_>,
) -> Result<Vec<Reference>, GenericError> {
    let rules = rules(session);
    let references = source
        .document
        .element(manifest)
        .children()
        .filter(|child| child.is(DSIG, "Reference"));
    references
        .take(rules.references)
        .map(|reference| Ok(Reference::parse_template(reference, signature, &rules)?))
        .collect()
}

fn value(
    signature: &Signature,
    key: &Key,
    octets: &[u8],
    session: &Session<'_>,
) -> Result<Vec<u8>, GenericError> {
    match &key.material {
        Material::Secret(_, secret) => Ok(secret
            .sign(signature.method, octets, signature.truncation)?
            .as_ref()
            .to_vec()),
        Material::Private(private) => {
            let value = private.sign(signature.method, octets)?;
            let pairs = matches!(
                signature.method.family(),
                SignatureFamily::Ecdsa | SignatureFamily::Dsa
            );
            Ok(if pairs && session.options.asn1_signatures {
                to_asn1(&value)
            } else {
                value
            })
        }
        Material::Public(_) => Err(GenericError::KeyNotFound),
    }
}
