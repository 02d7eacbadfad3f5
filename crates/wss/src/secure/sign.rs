//! The `ds:Signature`: digests of parts streamed from the source, `SignedInfo` written in the form that is signed.

use std::collections::HashSet;

use soapstone_crypto::{Digest, Hasher, SignatureAlgorithm};
use soapstone_xml::{
    Apex, ApexAttribute, C14nOptions, C14nScratch, Canonicalization, Element, FnSink, NodeId,
    canonicalize,
};
use soapstone_xmlsec::write::{self, ReferenceParts, SignedInfo, SignedInfoWriter, TransformParts};

use super::{SecureError, Securing, range};
use crate::envelope::Envelope;
use crate::key_reference;
use crate::names::WSU;
use crate::part::Part;
use crate::policy::{KeyBinding, KeyReference, SignaturePolicy};

/// One `ds:Reference` to be written.
struct Signed {
    id: String,
    digest: Digest,
}

/// The `wsu:Id` of an element as the message will have it.
enum Id {
    /// In the source.
    Present(String),
    /// To be inserted, with a prefix that is free or bound to the namespace already.
    Inserted { id: String, prefix: String },
}

impl Securing<'_> {
    /// Inserts a `wsu:Id` into every element of the message that is to be signed and has none.
    pub(super) fn insert_ids(&mut self, envelope: &Envelope) -> Result<(), SecureError> {
        for node in self.signed_nodes(envelope)? {
            let element = envelope.document.element(node);
            if let Id::Inserted { id, prefix } = self.id_of(envelope, element) {
                let name = if element.prefix().is_empty() {
                    0
                } else {
                    element.prefix().len() + 1
                } + element.local().len();
                let at = range(element).start + 1 + name;
                let declared = element
                    .declarations()
                    .any(|(declared, _)| declared == prefix);
                let declaration = if declared {
                    String::new()
                } else {
                    format!(" xmlns:{prefix}=\"{WSU}\"")
                };
                self.edits.replace(
                    at..at,
                    format!("{declaration} {prefix}:Id=\"{id}\"").into_bytes(),
                );
            }
        }
        Ok(())
    }

    /// Writes the signature over everything that the plan wants signed.
    pub(super) fn sign(&mut self, envelope: &Envelope) -> Result<(), SecureError> {
        let plan = self.plan;
        let (Some(policy), Some(algorithm)) = (&plan.policy.signature, plan.signature) else {
            return Ok(());
        };
        let mut signed = Vec::with_capacity(policy.parts.len());
        self.digest_written(policy, &mut signed)?;
        let mut scratch = C14nScratch::default();
        for node in self.signed_nodes(envelope)? {
            signed.push(self.digest_node(envelope, node, &mut scratch)?);
        }

        let id = format!("{}-signature", self.id);
        let written = if policy.key == KeyBinding::Certificate {
            let token = format!("{}-cert", self.id);
            self.sign_by_certificate(&id, algorithm, &signed, policy.reference, &token)?
        } else {
            let ready = self.signing.take().ok_or(SecureError::KeyMissing)?;
            let signed_info = self.signed_info(algorithm, &signed);
            let value = ready.key.sign(algorithm, signed_info.octets(), None)?;
            self.write_signature(&id, &signed_info, value.as_ref(), &ready.key_info)
        };
        self.signature = written;
        self.endorse(&id)
    }

    /// Writes the signature over the signature.
    fn endorse(&mut self, endorsed: &str) -> Result<(), SecureError> {
        let plan = self.plan;
        let (Some(policy), Some(algorithm)) = (&plan.policy.endorsing, plan.endorsing) else {
            return Ok(());
        };
        let signed = [Signed {
            id: endorsed.to_owned(),
            digest: soapstone_crypto::digest(plan.policy.suite.digest[0], &self.signature)?,
        }];
        let token = format!("{}-endorse", self.id);
        let id = format!("{}-endorsement", self.id);
        self.endorsing_signature =
            self.sign_by_certificate(&id, algorithm, &signed, policy.reference, &token)?;
        Ok(())
    }

    fn sign_by_certificate(
        &mut self,
        id: &str,
        algorithm: SignatureAlgorithm,
        signed: &[Signed],
        reference: KeyReference,
        token: &str,
    ) -> Result<Vec<u8>, SecureError> {
        let identity = self
            .plan
            .keys
            .identity
            .as_deref()
            .ok_or(SecureError::KeyMissing)?;
        let mut key_info = Vec::new();
        key_reference::write_certificate(reference, identity.certificate(), token, &mut key_info);
        let signed_info = self.signed_info(algorithm, signed);
        let value = identity.key().sign(algorithm, signed_info.octets())?;
        Ok(self.write_signature(id, &signed_info, &value, &key_info))
    }

    fn signed_info(&self, algorithm: SignatureAlgorithm, signed: &[Signed]) -> SignedInfo {
        let mut signed_info = SignedInfoWriter::new(
            Vec::with_capacity(512 + 400 * signed.len()),
            write::Apex::PLAIN,
            Canonicalization::Exclusive,
            algorithm,
            None,
        );
        let transforms = [TransformParts::Canonicalization(
            Canonicalization::Exclusive,
            &[],
        )];
        let mut uri = String::with_capacity(64);
        for part in signed {
            uri.clear();
            uri.push('#');
            uri.push_str(&part.id);
            signed_info.reference(&ReferenceParts {
                id: None,
                uri: Some(&uri),
                kind: None,
                transforms: &transforms,
                digest_method: self.plan.policy.suite.digest[0],
                digest: part.digest.as_ref(),
            });
        }
        signed_info.finish()
    }

    fn write_signature(
        &mut self,
        id: &str,
        signed_info: &SignedInfo,
        value: &[u8],
        key_info: &[u8],
    ) -> Vec<u8> {
        let mut written = Vec::with_capacity(signed_info.octets().len() + key_info.len() + 1024);
        write::signature(Some(id), signed_info, value, Some(key_info), &mut written);
        self.receipt.signature_values.push(value.to_vec());
        written
    }

    /// Digests the parts that we write ourselves: their octets are canonical as they are.
    fn digest_written(
        &self,
        policy: &SignaturePolicy,
        signed: &mut Vec<Signed>,
    ) -> Result<(), SecureError> {
        let algorithm = self.plan.policy.suite.digest[0];
        let endorsing = self.plan.policy.endorsing;
        let mut put = |octets: &[u8], name: &str| -> Result<(), SecureError> {
            if !octets.is_empty() {
                signed.push(Signed {
                    id: format!("{}-{name}", self.id),
                    digest: soapstone_crypto::digest(algorithm, octets)?,
                });
            }
            Ok(())
        };
        for part in &policy.parts {
            match part {
                Part::Timestamp => put(&self.timestamp, "time")?,
                Part::UsernameToken
                    if self.data_ids.iter().any(|id| id.ends_with("-user-data")) =>
                {
                    put(&self.username, "user-data")?;
                }
                Part::UsernameToken => put(&self.username, "user")?,
                Part::Token => {
                    put(&self.tokens, "cert")?;
                    put(&self.session_key, "key")?;
                    put(&self.context_token, "sct")?;
                }
                Part::SignatureConfirmation => {
                    for (index, confirmation) in self.confirmations.iter().enumerate() {
                        put(confirmation, &format!("confirm-{index}"))?;
                    }
                }
                _ => {}
            }
        }
        if endorsing.is_some_and(|endorsing| endorsing.token_signed) {
            put(&self.endorsing_token, "endorse")?;
        }
        Ok(())
    }

    fn digest_node(
        &self,
        envelope: &Envelope,
        node: NodeId,
        scratch: &mut C14nScratch,
    ) -> Result<Signed, SecureError> {
        let document = &envelope.document;
        let id = self.id_of(envelope, document.element(node));
        let added;
        let (id, apex_attribute) = match id {
            Id::Present(id) => (id, None),
            Id::Inserted { id, prefix } => {
                added = (prefix, id);
                let attribute = ApexAttribute {
                    prefix: &added.0,
                    namespace: WSU,
                    local: "Id",
                    value: &added.1,
                };
                (added.1.clone(), Some(attribute))
            }
        };
        let options = C14nOptions {
            canonical_runs: self.plan.policy.tuning.canonical_runs,
            apex_attribute,
            ..C14nOptions::new(Canonicalization::Exclusive)
        };
        let mut hasher = Hasher::new(self.plan.policy.suite.digest[0])?;
        let mut sink = FnSink(|octets: &[u8]| hasher.update(octets));
        canonicalize(document, Apex::Element(node), &options, scratch, &mut sink)
            .map_err(SecureError::Canonicalization)?;
        Ok(Signed {
            id,
            digest: hasher.finish(),
        })
    }

    /// The nodes to sign; of a part that was encrypted whole, the `EncryptedData` in its place.
    fn signed_nodes(&self, envelope: &Envelope) -> Result<Vec<NodeId>, SecureError> {
        let mut nodes = Vec::new();
        let mut known = HashSet::new();
        let parts = self
            .plan
            .policy
            .signature
            .iter()
            .flat_map(|signature| &signature.parts);
        for part in parts {
            let hidden = self.hidden.iter().filter(|(hidden, _)| hidden == part);
            let mut found: Vec<NodeId> = hidden
                .filter_map(|(_, id)| envelope.document.by_id(id).ok().flatten())
                .collect();
            if found.is_empty() {
                found = self.nodes_of(envelope, part)?;
            }
            nodes.extend(found.into_iter().filter(|node| known.insert(*node)));
        }
        Ok(nodes)
    }

    /// The id by which a reference can find `element`.
    fn id_of(&self, envelope: &Envelope, element: Element<'_>) -> Id {
        let document = &envelope.document;
        let present = |namespace: &str, local: &str| {
            let id = element.attribute(namespace, local)?;
            (document.by_id(&id) == Ok(Some(element.id()))).then(|| id.into_owned())
        };
        if let Some(id) = present(WSU, "Id")
            .or_else(|| present("", "Id"))
            .or_else(|| present("", "ID"))
        {
            return Id::Present(id);
        }
        // The usual prefix, unless it means something else here.
        let free = |prefix: &&str| {
            element
                .namespace_of(prefix)
                .is_none_or(|bound| bound == WSU)
        };
        let prefix = ["wsu", "wsu1", "wsu2"]
            .into_iter()
            .find(free)
            .unwrap_or("soapstone-wsu");
        let id = format!("{}-{}", self.id, element.range().start);
        Id::Inserted {
            id,
            prefix: prefix.to_owned(),
        }
    }
}
