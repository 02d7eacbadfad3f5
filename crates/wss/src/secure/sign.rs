//! The `ds:Signature`: digests of parts streamed from the source, `SignedInfo` written in the form that is signed.

use std::collections::HashSet;

use soapstone_crypto::{Digest, Hasher};
use soapstone_xml::{
    Apex, ApexAttribute, C14nOptions, C14nScratch, Canonicalization, Element, FnSink, NodeId,
    canonicalize,
};
use soapstone_xmlsec::write::{self, ReferenceParts, SignedInfoWriter, TransformParts};

use super::{SecureError, Securing, range};
use crate::envelope::Envelope;
use crate::key_reference;
use crate::names::WSU;
use crate::part::Part;
use crate::policy::{KeyBinding, SignaturePolicy};

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

        let suite = &plan.policy.suite;
        let mut signed_info = SignedInfoWriter::new(
            Vec::new(),
            write::Apex::PLAIN,
            Canonicalization::Exclusive,
            algorithm,
            None,
        );
        let transforms = [TransformParts::Canonicalization(
            Canonicalization::Exclusive,
            &[],
        )];
        for part in &signed {
            signed_info.reference(&ReferenceParts {
                id: None,
                uri: Some(&format!("#{}", part.id)),
                kind: None,
                transforms: &transforms,
                digest_method: suite.digest[0],
                digest: part.digest.as_ref(),
            });
        }
        let signed_info = signed_info.finish();
        let mut key_info = Vec::new();
        let value = match policy.key {
            KeyBinding::Certificate => {
                let identity = plan
                    .keys
                    .identity
                    .as_deref()
                    .ok_or(SecureError::RequestKeyMissing)?;
                key_reference::write_certificate(
                    policy.reference,
                    identity.certificate(),
                    &format!("{}-cert", self.id),
                    &mut key_info,
                );
                identity.key().sign(algorithm, signed_info.octets())?
            }
            KeyBinding::Shared => {
                let shared = plan
                    .keys
                    .shared
                    .as_deref()
                    .ok_or(SecureError::RequestKeyMissing)?;
                key_reference::write_shared(policy.reference, shared, &mut key_info);
                shared
                    .signing
                    .sign(algorithm, signed_info.octets(), None)?
                    .as_ref()
                    .to_vec()
            }
            KeyBinding::RequestKey => {
                let (sha1, key) = self
                    .request
                    .and_then(|request| request.session_keys.first())
                    .ok_or(SecureError::RequestKeyMissing)?;
                key_reference::write_encrypted_key_sha1(sha1, &mut key_info);
                key.sign(algorithm, signed_info.octets(), None)?
                    .as_ref()
                    .to_vec()
            }
        };
        let id = format!("{}-signature", self.id);
        write::signature(
            Some(&id),
            &signed_info,
            &value,
            Some(&key_info),
            &mut self.signature,
        );
        Ok(())
    }

    /// Digests the parts that we write ourselves: their octets are canonical as they are.
    fn digest_written(
        &self,
        policy: &SignaturePolicy,
        signed: &mut Vec<Signed>,
    ) -> Result<(), SecureError> {
        let algorithm = self.plan.policy.suite.digest[0];
        for part in &policy.parts {
            let (octets, id) = match part {
                Part::Timestamp => (&self.timestamp, "time"),
                Part::UsernameToken
                    if self.data_ids.iter().any(|id| id.ends_with("-user-data")) =>
                {
                    (&self.username, "user-data")
                }
                Part::UsernameToken => (&self.username, "user"),
                Part::Token => (&self.tokens, "cert"),
                _ => continue,
            };
            if !octets.is_empty() {
                signed.push(Signed {
                    id: format!("{}-{id}", self.id),
                    digest: soapstone_crypto::digest(algorithm, octets)?,
                });
            }
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
