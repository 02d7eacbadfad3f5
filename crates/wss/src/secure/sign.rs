//! The `ds:Signature`: digests of parts streamed from the source, `SignedInfo` written in the form
//! that is signed.

use std::borrow::Cow;

use soapstone_crypto::{DigestAlgorithm, Hasher, Identity, SignatureAlgorithm};
use soapstone_xml::{
    Apex, ApexAttribute, Buffers, C14nOptions, C14nScratch, Canonicalization, FnSink, NodeId,
    canonicalize,
};
use soapstone_xmlsec::write::{self, ReferenceParts, SignedInfo, SignedInfoWriter, TransformParts};

use super::covered::{Covered, LAST, Signed};
use super::events::MadeSignature;
use super::message::numbered;
use super::prefix_lists::PrefixLists;
use super::ready_keys::Use;
use super::references::{self, Holder, Ids};
use super::securing::Securing;
use super::to_sign::{Id, ToSign};
use crate::attachments::Coverage;
use crate::binding::KeyReference;
use crate::digest_cache::NamespaceContext;
use crate::envelope::Envelope;
use crate::marks;
use crate::names::{
    ATTACHMENT_COMPLETE_SIGNATURE, ATTACHMENT_CONTENT_SIGNATURE, STR_TRANSFORM, WSSE, WSU,
};
use crate::operation::Operation;
use crate::part::Part;
use crate::plan::{Endorser, KeySource, Signing};
use crate::secure_error::SecureError;
use crate::securing_event::{KeyOrigin, KeyUsage};
use crate::tuning::Buffering;

/// Who signs with a certificate, and how the signature names it.
struct ByCertificate<'k> {
    usage: KeyUsage,
    identity: &'k Identity,
    algorithm: SignatureAlgorithm,
    reference: KeyReference,
    /// The id of the token, where the message carries it.
    token: String,
    /// Whether the token will be cipher text.
    hides_token: bool,
    /// Whether the signature names the assertion of whose holder the key is.
    by_holder: bool,
    /// The id of the reference, where the signature covers the token through it.
    dereferenced: Option<String>,
    /// Whether the signature stays in the header as it is written.
    stays: bool,
}

/// What digesting one element after the other needs.
struct Digesting {
    scratch: C14nScratch,
    surroundings: NamespaceContext,
    /// Where canonical bytes are collected, if they are.
    collected: Option<Vec<u8>>,
}

impl Securing<'_> {
    /// Writes the signature over everything that the plan wants signed.
    pub(super) fn sign(
        &mut self,
        envelope: &Envelope,
        elements: &[ToSign<'_>],
        buffers: &mut Buffers,
    ) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(signing) = &plan.protection.signature else {
            return Ok(());
        };
        self.refuse_unsigned_keys(envelope, elements)?;
        let mut signed = Vec::with_capacity(signing.parts.len() + elements.len());
        let wanted = &plan.protection.inclusive_prefixes;
        let lists = PrefixLists::of(wanted, &self.pieces.declarations, envelope)?;
        self.lists = lists.map(Box::new);
        self.observer.ended(Operation::Other);
        self.digest_written(signing, &mut signed)?;
        let assertion = self.dereference_assertion(signing, envelope)?;
        self.observer.ended(Operation::Digest);
        let mut digesting = Digesting {
            scratch: buffers.take_scratch(),
            surroundings: NamespaceContext::default(),
            collected: match plan.protection.tuning.buffering {
                Buffering::Streaming => None,
                Buffering::Buffered => Some(buffers.take(0)),
            },
        };
        let mut endorsed = vec![Vec::new(); plan.protection.endorsing.len()];
        for element in elements {
            let part = self.digest_node(envelope, element.node, &element.id, &mut digesting)?;
            for index in &element.by_endorsements {
                endorsed[*index].push(part.clone());
            }
            if element.by_message {
                signed.push(Signed {
                    place: element.place,
                    ..part
                });
            }
        }
        if signing.in_order {
            signed.sort_by_key(|one| one.place);
        }
        self.digest_keys(signing.digest, &mut signed)?;
        buffers.give_scratch(digesting.scratch);
        buffers.give(digesting.collected.unwrap_or_default());
        let attached = self.digest_attachments(signing.digest, &envelope.options)?;
        let dereferences = signing.dereferences || assertion.is_some();
        if signed.is_empty() && !dereferences && attached.is_empty() {
            return Err(SecureError::NothingToSign);
        }

        let around = envelope.header().unwrap_or(envelope.document.root());
        let default = around.namespace_of("").unwrap_or_default();
        let id = self.message.named("signature");
        let covered = Covered {
            elements: &signed,
            attached: &attached,
            dereferenced: assertion.into_iter().collect(),
        };
        let written = if signing.key == KeySource::PrivateKey {
            let by = ByCertificate {
                usage: KeyUsage::Signature,
                identity: signing.signer.as_deref().ok_or(SecureError::KeyMissing)?,
                algorithm: signing.algorithm,
                reference: signing.reference,
                token: self.message.named("cert"),
                hides_token: false,
                by_holder: signing.by_holder,
                dereferenced: signing.dereferences.then(|| self.message.named("str")),
                stays: signing.stays,
            };
            self.sign_by_certificate(&id, covered, &by, default, buffers)?
        } else {
            let ready = self.keys.signing.take().ok_or(SecureError::KeyMissing)?;
            self.sign_by_key(&id, &covered, &ready, signing.algorithm, buffers)?
        };
        self.pieces.signature = written;
        self.endorse(&id, endorsed, default, buffers)
    }

    /// Writes the signatures over the signature with this id, or over the Timestamp, and over the
    /// parts that each of them covers in particular.
    fn endorse(
        &mut self,
        signature: &str,
        parts: Vec<Vec<Signed<'_>>>,
        default: &str,
        buffers: &mut Buffers,
    ) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(signing) = &plan.protection.signature else {
            return Ok(());
        };
        let endorsing = plan.protection.endorsing.iter().zip(parts);
        for (index, (endorsing, parts)) in endorsing.enumerate() {
            let token_id = self.message.named(&numbered("endorse", index));
            let (id, piece) = match plan.protection.endorses_timestamp {
                true => (self.message.named("time"), &self.pieces.timestamp),
                false => (signature.to_owned(), &self.pieces.signature),
            };
            let mut signed = vec![self.digest_piece(signing.digest, id, piece, piece)?];
            let token = &self.pieces.endorsements[index].token;
            if endorsing.covers_token && !endorsing.dereferences && !token.is_empty() {
                signed.push(self.digest_piece(signing.digest, token_id.clone(), token, token)?);
            }
            if endorsing.covers_token && endorsing.by_holder {
                self.digest_assertion(signing.digest, &mut signed)?;
            }
            signed.extend(parts);
            let id = self.message.named(&numbered("endorsement", index));
            let covered = Covered {
                elements: &signed,
                attached: &[],
                dereferenced: Vec::new(),
            };
            let written = match &endorsing.endorser {
                Endorser::Certificate(identity, algorithm) => {
                    let by = ByCertificate {
                        usage: KeyUsage::Endorsement,
                        identity,
                        algorithm: *algorithm,
                        reference: endorsing.reference,
                        token: token_id.clone(),
                        hides_token: endorsing.token_encrypted,
                        by_holder: endorsing.by_holder,
                        dereferenced: endorsing
                            .dereferences
                            .then(|| self.message.named(&numbered("endorse-str", index))),
                        stays: false,
                    };
                    self.sign_by_certificate(&id, covered, &by, default, buffers)?
                }
                Endorser::Context(algorithm)
                | Endorser::Kerberos(algorithm)
                | Endorser::Holder(algorithm)
                | Endorser::User(algorithm) => {
                    let ready = self.keys.endorsing[index].take();
                    let ready = ready.ok_or(SecureError::KeyMissing)?;
                    self.sign_by_key(&id, &covered, &ready, *algorithm, buffers)?
                }
            };
            self.pieces.endorsements[index].signature = written;
        }
        Ok(())
    }

    fn sign_by_key(
        &mut self,
        id: &str,
        covered: &Covered<'_, '_>,
        ready: &Use,
        algorithm: SignatureAlgorithm,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let signed_info = self.signed_info(id, algorithm, covered, buffers);
        self.observer.ended(Operation::Other);
        let value = {
            let octets = self.signed_octets(&signed_info)?;
            ready.key.sign(algorithm, &octets, None)?
        };
        self.observer.ended(Operation::Signature);
        // The receiver holds the key as well, and might send the message back. One of a private key
        // can be of nobody but us.
        self.mark(marks::of_code(value.as_ref()));
        let made = MadeSignature {
            id,
            algorithm,
            signed_info: &signed_info,
            value: value.as_ref(),
            key_info: &ready.key_info,
        };
        self.tell_of_signature(&made, covered)?;
        Ok(self.finish_signature(id, signed_info, value.as_ref(), &ready.key_info))
    }

    fn sign_by_certificate(
        &mut self,
        id: &str,
        mut covered: Covered<'_, '_>,
        by: &ByCertificate<'_>,
        default: &str,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let mut key_info = Vec::new();
        let elsewhere = self.message.assertion_elsewhere()?;
        let holder = Holder::of(by.identity);
        let mut scope = self.pieces.declarations.scope(by.stays);
        let ids = Ids {
            token: &by.token,
            reference: by.dereferenced.as_deref(),
        };
        let assertion = self.message.assertion().filter(|_| by.by_holder);
        match (assertion, &elsewhere) {
            (Some(_), Some(elsewhere)) => {
                references::write_assertion_elsewhere(elsewhere, &mut scope, &mut key_info);
            }
            (Some(assertion), None) => {
                let (version, id) = (assertion.version(), assertion.id());
                let (scope, out) = (&mut scope, &mut key_info);
                references::write_assertion(by.reference, version, id, None, scope, out);
            }
            (None, _) => {
                references::write_certificate(by.reference, holder, ids, &mut scope, &mut key_info);
            }
        }
        if let Some(reference) = &by.dereferenced {
            let token = references::dereferenced(by.reference, holder, &by.token, default);
            let protection = self.message.protection();
            let algorithm = protection.suite.digest[0];
            let hides_tokens = protection.endorsing.iter().any(|one| one.token_encrypted);
            covered.dereferenced.push(Signed {
                id: reference.clone().into(),
                digest: soapstone_crypto::digest(algorithm, &token)?,
                prefixes: Vec::new(),
                place: LAST,
                shown: self.shown_token(&token, hides_tokens),
            });
        }
        let signed_info = self.signed_info(id, by.algorithm, &covered, buffers);
        self.observer.ended(Operation::Other);
        let value = {
            let octets = self.signed_octets(&signed_info)?;
            by.identity.key().sign(by.algorithm, &octets)?
        };
        self.observer.ended(Operation::Signature);
        let origin = KeyOrigin::Private(by.identity.certificate());
        let of_secret = by.hides_token || by.by_holder && self.hides_assertion();
        let is_secret = of_secret || self.hides_signature();
        self.tell_of_plain_key(by.usage, origin, &key_info, is_secret);
        let made = MadeSignature {
            id,
            algorithm: by.algorithm,
            signed_info: &signed_info,
            value: &value,
            key_info: &key_info,
        };
        self.tell_of_signature(&made, &covered)?;
        Ok(self.finish_signature(id, signed_info, &value, &key_info))
    }

    /// The `SignedInfo` of the signature with this id.
    fn signed_info(
        &self,
        id: &str,
        algorithm: SignatureAlgorithm,
        covered: &Covered<'_, '_>,
        buffers: &mut Buffers,
    ) -> SignedInfo {
        let signed = covered.elements;
        let out = buffers.take(512 + 400 * signed.len());
        let listed = self.lists.as_deref().map(PrefixLists::of_signed_info);
        let mut signed_info = match listed.as_deref() {
            None | Some([]) => SignedInfoWriter::within(out, Some(id), algorithm),
            Some(inclusive) => SignedInfoWriter::new(
                out,
                write::Apex::Exclusive { inclusive },
                Canonicalization::Exclusive,
                algorithm,
                None,
            ),
        };
        let digest_method = self.message.protection().suite.digest[0];
        // Without lists all of them have one transform.
        let runs = signed.chunk_by(|one, next| one.prefixes == next.prefixes);
        for run in runs {
            let prefixes: Vec<&str> = run[0].prefixes.iter().map(String::as_str).collect();
            let exclusive = Canonicalization::Exclusive;
            let transforms = [TransformParts::Canonicalization(exclusive, &prefixes)];
            let elements = run.iter().map(|part| (&*part.id, part.digest.as_ref()));
            signed_info.references(&transforms, digest_method, elements);
        }
        for token in &covered.dereferenced {
            let parameters = [
                "<wsse:TransformationParameters xmlns:wsse=\"",
                WSSE,
                "\"><ds:CanonicalizationMethod Algorithm=\"",
                Canonicalization::Exclusive.uri(),
                "\"></ds:CanonicalizationMethod></wsse:TransformationParameters>",
            ];
            let transform = TransformParts::Other {
                uri: STR_TRANSFORM,
                raw_content: &parameters.concat(),
            };
            let element = (&*token.id, token.digest.as_ref());
            signed_info.references(&[transform], digest_method, [element]);
        }
        for one in covered.attached {
            let transform = TransformParts::Other {
                uri: match one.coverage {
                    Coverage::Content => ATTACHMENT_CONTENT_SIGNATURE,
                    Coverage::Complete => ATTACHMENT_COMPLETE_SIGNATURE,
                },
                raw_content: "",
            };
            signed_info.reference(&ReferenceParts {
                id: None,
                uri: Some(&one.uri),
                kind: None,
                transforms: &[transform],
                digest_method,
                digest: one.digest.as_ref(),
            });
        }
        signed_info.finish()
    }

    /// The bytes of a `SignedInfo` that are signed.
    pub(super) fn signed_octets<'i>(
        &self,
        signed_info: &'i SignedInfo,
    ) -> Result<Cow<'i, [u8]>, SecureError> {
        match &self.lists {
            None => Ok(Cow::Borrowed(signed_info.octets())),
            Some(lists) => lists.signed_octets(signed_info).map(Cow::Owned),
        }
    }

    fn finish_signature(
        &mut self,
        id: &str,
        signed_info: SignedInfo,
        value: &[u8],
        key_info: &[u8],
    ) -> Vec<u8> {
        self.receipt.signature_values.push(value.to_vec());
        signed_info.into_signature(Some(id), value, Some(key_info))
    }

    /// Digests the parts that we write ourselves: their bytes are canonical as they are.
    fn digest_written(
        &self,
        signing: &Signing,
        signed: &mut Vec<Signed<'_>>,
    ) -> Result<(), SecureError> {
        let algorithm = signing.digest;
        let mut parts = signing.parts.iter();
        if let Some(place) = parts.position(|part| signing.covers_assertion(part))
            && !signing.dereferences_assertion
        {
            self.digest_assertion(algorithm, signed)?;
            signed.iter_mut().for_each(|one| one.place = place);
        }
        let mut put = |octets: &[u8], name: &str, place: usize| -> Result<(), SecureError> {
            if !octets.is_empty() {
                let id = self.message.named(name);
                let digested = self.digest_piece(algorithm, id, octets, octets)?;
                signed.push(Signed { place, ..digested });
            }
            Ok(())
        };
        for (place, part) in signing.parts.iter().enumerate() {
            match part {
                Part::Timestamp => put(&self.pieces.timestamp, "time", place)?,
                Part::UsernameToken
                    if self
                        .changes
                        .data_ids
                        .iter()
                        .any(|id| id.ends_with("-user-data")) =>
                {
                    put(&self.pieces.username, "user-data", place)?;
                }
                Part::UsernameToken => put(&self.pieces.username, "user", place)?,
                Part::Token => {
                    if !signing.dereferences {
                        put(&self.pieces.tokens, "cert", place)?;
                    }
                    // Beside a certificate's signature, the session key is none of its tokens.
                    if signing.key != KeySource::PrivateKey {
                        put(&self.pieces.session_key, "key", place)?;
                    }
                    put(&self.pieces.context_token, "sct", place)?;
                    put(&self.pieces.password_token, "ut", place)?;
                }
                Part::SignatureConfirmation => {
                    for (index, confirmation) in self.pieces.confirmations.iter().enumerate() {
                        put(confirmation, &format!("confirm-{index}"), place)?;
                    }
                }
                _ => {}
            }
        }
        let endorsing = self
            .message
            .protection()
            .endorsing
            .iter()
            .zip(&self.pieces.endorsements);
        for (index, (demand, endorsement)) in endorsing.enumerate() {
            if demand.token_signed {
                put(&endorsement.token, &numbered("endorse", index), LAST)?;
            }
        }
        Ok(())
    }

    /// Digests the key of short cipher text, and the token that says how it is derived: under
    /// another key the cipher text would say something else.
    fn digest_keys(
        &self,
        algorithm: DigestAlgorithm,
        signed: &mut Vec<Signed<'_>>,
    ) -> Result<(), SecureError> {
        if !self.signs_keys() {
            return Ok(());
        }
        let pieces = &self.pieces;
        let derivation = &pieces.derived[..pieces.derivation_of_data];
        for (piece, name) in [
            (pieces.session_key.as_slice(), "key"),
            (&pieces.encrypted_key, "key"),
            (derivation, "dk-enc"),
        ] {
            if !piece.is_empty() {
                let id = self.message.named(name);
                signed.push(self.digest_piece(algorithm, id, piece, piece)?);
            }
        }
        Ok(())
    }

    /// Writes a reference to the assertion that the message carries, and digests the assertion in
    /// its place, where the signature covers it so.
    fn dereference_assertion(
        &mut self,
        signing: &Signing,
        envelope: &Envelope,
    ) -> Result<Option<Signed<'static>>, SecureError> {
        let mut parts = signing.parts.iter();
        let covers = parts.any(|part| signing.covers_assertion(part));
        let plan = self.message.plan;
        let assertion = self.message.assertion();
        let Some(assertion) = assertion.filter(|_| covers && signing.dereferences_assertion) else {
            return Ok(None);
        };
        let id = self.message.named("assertion-str");
        let (wanted, declared) = (
            &plan.protection.inclusive_prefixes,
            &self.pieces.declarations,
        );
        let octets = PrefixLists::dereferenced(wanted, declared, envelope, &self.pieces.assertion)?;
        let mut reference = Vec::new();
        let (version, name) = (assertion.version(), assertion.id());
        references::write_covered_assertion(version, name, &id, &mut reference);
        let digest = soapstone_crypto::digest(signing.digest, &octets)?;
        let shown = self.shown_token(&octets, self.hides_assertion());
        self.pieces.assertion_reference = reference;
        Ok(Some(Signed {
            id: id.into(),
            digest,
            prefixes: Vec::new(),
            place: LAST,
            shown,
        }))
    }

    /// Digests the assertion that the message carries, or the cipher text that holds it.
    fn digest_assertion(
        &self,
        algorithm: DigestAlgorithm,
        signed: &mut Vec<Signed<'_>>,
    ) -> Result<(), SecureError> {
        let Some(assertion) = self.message.assertion() else {
            return Ok(());
        };
        let mut ids = self.changes.data_ids.iter();
        let (id, bytes, written) = match ids.find(|id| id.ends_with("-assertion-data")) {
            Some(_) => {
                let data = self.pieces.assertion.as_slice();
                (self.message.named("assertion-data"), data, data)
            }
            None => {
                let id = assertion.id().to_owned();
                (id, assertion.digested(), self.pieces.assertion.as_slice())
            }
        };
        if signed.iter().all(|one| one.id != id) {
            signed.push(self.digest_piece(algorithm, id, bytes, written)?);
        }
        Ok(())
    }

    /// Digests a piece of the header, as it is `written` there: `octets` are its exclusive
    /// canonical form without a list.
    fn digest_piece(
        &self,
        algorithm: DigestAlgorithm,
        id: String,
        octets: &[u8],
        written: &[u8],
    ) -> Result<Signed<'static>, SecureError> {
        let (digest, prefixes) = match &self.lists {
            None => (soapstone_crypto::digest(algorithm, octets)?, Vec::new()),
            Some(lists) => lists.digest(algorithm, written)?,
        };
        Ok(Signed {
            id: id.into(),
            digest,
            prefixes,
            place: LAST,
            shown: self.shown_piece(octets, written)?,
        })
    }

    fn digest_node<'e>(
        &mut self,
        envelope: &Envelope,
        node: NodeId,
        id: &'e Id<'_>,
        digesting: &mut Digesting,
    ) -> Result<Signed<'e>, SecureError> {
        let document = &envelope.document;
        let (id, apex_attribute) = match id {
            Id::Present(id) => (&**id, None),
            Id::Inserted { id, prefix } => {
                let attribute = ApexAttribute {
                    prefix,
                    namespace: WSU,
                    local: "Id",
                    value: id,
                };
                (id.as_str(), Some(attribute))
            }
        };
        let prefixes = self.lists.as_deref().map_or_else(Vec::new, |lists| {
            let added = apex_attribute.map(|attribute| attribute.prefix);
            lists.of_element(document.element(node), added)
        });
        let listed: Vec<&str> = prefixes.iter().map(String::as_str).collect();
        let options = C14nOptions {
            inclusive_prefixes: &listed,
            canonical_runs: self.message.protection().tuning.canonical_runs,
            apex_attribute,
            ..C14nOptions::new(Canonicalization::Exclusive)
        };
        let shown = self.shown_node(envelope, node, &options)?;
        // An id that was made for this message is in the canonical form, and never the same again.
        let known = match apex_attribute {
            None => self.message.plan.known.as_ref().zip(document.source(node)),
            Some(_) => None,
        };
        let mut learn = None;
        if let Some((known, source)) = known {
            let surroundings = digesting.surroundings.of(document, node, &prefixes);
            if let Some(digest) = known.find(id.as_bytes(), source, &surroundings) {
                self.observer.ended(Operation::Recognition);
                return Ok(Signed {
                    id: id.into(),
                    digest,
                    prefixes,
                    place: LAST,
                    shown,
                });
            }
            learn = Some((known, source, surroundings));
        }
        let mut hasher = Hasher::new(self.message.protection().suite.digest[0])?;
        let scratch = &mut digesting.scratch;
        let apex = Apex::Element(node);
        match &mut digesting.collected {
            None => {
                let mut sink = FnSink(|octets: &[u8]| hasher.update(octets));
                canonicalize(document, apex, &options, scratch, &mut sink)
            }
            Some(octets) => {
                octets.clear();
                let canonicalized = canonicalize(document, apex, &options, scratch, octets);
                self.observer.ended(Operation::Canonicalization);
                hasher.update(octets);
                canonicalized
            }
        }
        .map_err(SecureError::Canonicalization)?;
        let digest = hasher.finish();
        self.observer.ended(Operation::Digest);
        if let Some((known, source, surroundings)) = learn {
            known.learn(id.as_bytes(), source, &surroundings, digest);
        }
        Ok(Signed {
            id: id.into(),
            digest,
            prefixes,
            place: LAST,
            shown,
        })
    }
}
