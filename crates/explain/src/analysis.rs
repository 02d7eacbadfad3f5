//! The way through a message: header, keys, signatures, references.
//!
//! The rule kept here: every part is looked at, whatever was found in the others.

use std::ops::Range;

use soapstone_crypto::{DigestAlgorithm, SymmetricKey, base64, digest, hexadecimal};
use soapstone_wss::names::WSU;
use soapstone_xml::{Document, Element};

use crate::cause::{Cause, Step};
use crate::changes::{self, Scope};
use crate::forms::{Edit, forms};
use crate::keys::{self, Certified, SigningKey};
use crate::model::{Explanation, Finding, ReferenceFound, Severity, SignatureFound, State};
use crate::opened::{self, Derivation};
use crate::options::Options;
use crate::read::{ReferenceRead, SignatureRead};
use crate::recipe::{NoBytes, Recipe};
use crate::search::{Budget, search};
use crate::value::{Keys, Subject};

/// Forms that are tried of what is still encrypted.
const FEW: usize = 300;

/// Characters of canonical bytes that are shown at both ends.
const SHOWN: usize = 160;

pub(crate) fn analyze(document: &Document, options: &Options<'_>) -> Explanation {
    let mut told = Explanation {
        bytes: document.bytes().len(),
        ..Explanation::default()
    };
    crate::header::tell(document, options, &mut told);
    let of_request = opened::secrets_of(options.request, &options.known, "the request");
    let foreign = opened::secrets_of(options.against, &options.known, "the good message");
    let opened = opened::open(document.bytes(), &options.known, &of_request);
    tell_of_encryption(&opened.found, &mut told);
    told.encrypted = opened::encrypted_names(document);
    let plain = opened.document.as_ref();
    let read = plain.unwrap_or(document);
    let mut certificates = keys::certificates(read, &options.known);
    certificates.extend(crate::against::certificates(options));
    let analysis = Analysis {
        layers: plain.into_iter().chain([document]).collect(),
        certificates,
        secrets: &opened.secrets,
        foreign: &foreign,
        derivations: opened::derivations(read),
    };
    let signatures = SignatureRead::all(read);
    let mut budget = Budget::new(options.work);
    for (place, signature) in signatures.iter().enumerate() {
        let name = match signatures.len() {
            1 => "the signature".to_owned(),
            _ => format!("signature {}", place + 1),
        };
        let mut share = budget.share(signatures.len() - place);
        let found = analysis.signature(signature, &name, place, &mut share, &mut told);
        told.signatures.push(found);
        budget.merge(share);
    }
    told.tried = budget.tried;
    told.stopped = budget.spent;
    crate::username::tell(read, options, &mut told);
    crate::request::tell(read, options, &mut told);
    if signatures.is_empty() && told.encryption.is_empty() && told.header.is_empty() {
        told.findings.push(Finding::new(
            Severity::Error,
            "not-secured",
            "the message",
            "nothing in it is signed, encrypted or authenticated: there is no wsse:Security header",
        ));
    }
    told.differences = crate::against::differences(document, options);
    told.sketch = crate::sketch::sketch(read, document, &signatures);
    told
}

fn tell_of_encryption(found: &[opened::EncryptionFound], told: &mut Explanation) {
    for one in found {
        if !one.causes.is_empty() {
            told.findings.push(
                Finding::new(
                    Severity::Error,
                    "key-transport",
                    format!("xenc:{} in line {}", one.kind, one.line),
                    "the session key is encrypted in another way than the message announces",
                )
                .because(one.causes.clone()),
            );
        }
    }
    told.encryption = found.to_vec();
}

struct Analysis<'a> {
    /// The message with everything deciphered, if anything was, and the message as it came.
    layers: Vec<&'a Document>,
    certificates: Vec<Certified>,
    secrets: &'a [(String, SymmetricKey)],
    /// Session keys of the good message.
    foreign: &'a [(String, SymmetricKey)],
    derivations: Vec<Derivation>,
}

/// A reference whose digest was computed.
struct Computed {
    found: ReferenceFound,
    /// The layers in which it can be computed, and how; the one that is told first.
    recipes: Vec<(usize, Recipe)>,
    digest: Vec<u8>,
}

impl Analysis<'_> {
    fn signature(
        &self,
        signature: &SignatureRead<'_>,
        name: &str,
        place: usize,
        budget: &mut Budget,
        told: &mut Explanation,
    ) -> SignatureFound {
        let mut computed = Vec::new();
        for (number, reference) in signature.references.iter().enumerate() {
            let where_ = format!(
                "{name}, reference `{}`",
                reference.uri.as_deref().unwrap_or_default()
            );
            computed.push(self.computed(signature, reference, &where_, told));
            if let Some(one) = computed.last()
                && one.found.state == State::Matches
                && let Some((layer, recipe)) = one.recipes.first()
            {
                let element = recipe.element(self.layers[*layer]);
                told.signed
                    .push((element.namespace().to_owned(), element.local().to_owned()));
            }
            if let Some((layer, recipe)) = computed.last().and_then(|one| one.recipes.first())
                && let Some(bytes) = recipe.bytes(self.layers[*layer])
            {
                let file = format!("signature-{}-reference-{}.c14n", place + 1, number + 1);
                told.dumps.push((file, bytes));
            }
        }
        let differs = |one: &&Computed| one.found.state == State::Differs;
        // `ds:SignedInfo` is one more.
        let mut left = computed.iter().filter(differs).count() + 1;
        for (number, reference) in signature.references.iter().enumerate() {
            if computed[number].found.state != State::Differs {
                continue;
            }
            let mut share = budget.share(left);
            left -= 1;
            self.explain_digest(
                signature, &computed, number, reference, name, &mut share, told,
            );
            budget.merge(share);
        }
        self.value(signature, &computed, name, place, budget, told)
    }

    fn computed(
        &self,
        signature: &SignatureRead<'_>,
        reference: &ReferenceRead<'_>,
        place: &str,
        told: &mut Explanation,
    ) -> Computed {
        let transforms = reference.transforms.iter().map(|transform| {
            let name = soapstone_xml::Canonicalization::from_uri(&transform.uri)
                .map_or(transform.uri.as_str(), |method| method.short_name());
            match transform.prefixes() {
                Some(prefixes) => format!("{name} (prefix list: {prefixes})"),
                None => name.to_owned(),
            }
        });
        let mut computed = Computed {
            found: ReferenceFound {
                uri: reference.uri.clone().unwrap_or_default(),
                element: String::new(),
                transforms: transforms.collect(),
                algorithm: short_digest(reference),
                expected: reference.value_text.trim().to_owned(),
                computed: String::new(),
                state: State::NotChecked,
                bytes: 0,
                first: String::new(),
                last: String::new(),
            },
            recipes: Vec::new(),
            digest: Vec::new(),
        };
        let mut problem: Option<NoBytes> = None;
        for (layer, document) in self.layers.iter().enumerate() {
            let node = self.signature_in(signature, layer);
            let recipe = match Recipe::of(document, node, reference, &self.certificates) {
                Ok(recipe) => recipe,
                Err(no_bytes) => {
                    problem.get_or_insert(no_bytes);
                    continue;
                }
            };
            let (Some(bytes), Some(method)) = (recipe.bytes(document), reference.digest_method)
            else {
                continue;
            };
            let Ok(digest) = digest(method, &bytes) else {
                continue;
            };
            let matches = reference.value.as_deref() == Some(digest.as_ref());
            // The plain form is the usual one; the one as it came counts where it fits.
            if !computed.recipes.is_empty() && !matches {
                computed.recipes.push((layer, recipe));
                continue;
            }
            computed.found.element = recipe.element(document).qualified_name().to_owned();
            computed.found.computed = base64::encode(digest.as_ref());
            computed.found.state = if matches {
                State::Matches
            } else {
                State::Differs
            };
            computed.found.bytes = bytes.len();
            (computed.found.first, computed.found.last) = ends(&bytes);
            computed.digest = digest.as_ref().to_vec();
            computed.recipes.insert(0, (layer, recipe));
            if matches {
                break;
            }
        }
        if reference.digest_method.is_none() {
            told.findings.push(Finding::new(
                Severity::Error,
                "algorithm-unknown",
                place,
                format!("the digest method `{}` is not known", reference.digest_uri),
            ));
        } else if let Some(problem) = problem.filter(|_| computed.recipes.is_empty()) {
            // What it leads to may be in the cipher text.
            let hidden = problem.kind == "reference-not-found"
                && opened::is_encrypted(self.layers[0].root());
            let severity = if hidden {
                Severity::Note
            } else {
                Severity::Error
            };
            told.findings
                .push(Finding::new(severity, problem.kind, place, problem.says));
        }
        computed
    }

    /// The same signature in another layer: it is found by its value.
    fn signature_in(&self, signature: &SignatureRead<'_>, layer: usize) -> soapstone_xml::NodeId {
        if layer == 0 {
            return signature.element.id();
        }
        let all = SignatureRead::all(self.layers[layer]);
        let same = all
            .iter()
            .find(|one| one.value_text == signature.value_text);
        same.map_or(signature.element.id(), |one| one.element.id())
    }

    #[allow(clippy::too_many_arguments, reason = "one call, and each is one thing")]
    fn explain_digest(
        &self,
        signature: &SignatureRead<'_>,
        computed: &[Computed],
        number: usize,
        reference: &ReferenceRead<'_>,
        name: &str,
        budget: &mut Budget,
        told: &mut Explanation,
    ) {
        let one = &computed[number];
        let (State::Differs, Some((layer, recipe))) = (one.found.state, one.recipes.first()) else {
            return;
        };
        let hidden = opened::is_encrypted(recipe.element(self.layers[*layer]));
        let place = format!(
            "{name}, reference `{}` (`{}`)",
            one.found.uri, one.found.element
        );
        let says = format!(
            "the digest in the message is {}, that of what the reference leads to is {}",
            one.found.expected, one.found.computed
        );
        let mut finding = Finding::new(Severity::Error, "digest-mismatch", place.as_str(), says);
        let wanted = wanted(reference);
        // A digest that is that of another reference.
        let other = computed
            .iter()
            .zip(&signature.references)
            .find(|(other, _)| {
                other.found.uri != one.found.uri
                    && wanted.iter().any(|(digest, _)| *digest == other.digest)
            });
        if let Some((other, _)) = other {
            let step = Step::new(
                "digest-swapped",
                format!("what `{}` leads to", other.found.uri),
            );
            finding.causes.push(Cause::proven(
                &[step],
                "the digest is the one in the message",
            ));
        } else if let Some((steps, algorithm)) =
            self.steps_in_layers(one, &wanted, reference, hidden, budget)
        {
            let proof = format!("the {algorithm} digest is the one in the message");
            finding.causes.push(Cause::proven(&steps, &proof));
        } else if hidden {
            let says = "part of it is still encrypted: if it was signed before that, its digest can be compared once it is deciphered (--config)";
            finding = Finding::new(Severity::Note, "still-encrypted", place, says);
        } else {
            finding.causes.push(unproven(reference));
        }
        told.findings.push(finding);
    }

    /// What was done, in the first layer where something fits. What is still encrypted was mostly
    /// signed before that, so few things are tried on it.
    fn steps_in_layers(
        &self,
        one: &Computed,
        wanted: &[(Vec<u8>, Option<Step>)],
        reference: &ReferenceRead<'_>,
        hidden: bool,
        budget: &mut Budget,
    ) -> Option<(Vec<Step>, &'static str)> {
        let bytes = match hidden {
            true => FEW * one.found.bytes.max(1024),
            false => usize::MAX,
        };
        let mut share = budget.at_most(bytes);
        let found = one.recipes.iter().find_map(|(layer, recipe)| {
            self.steps(self.layers[*layer], recipe, wanted, reference, &mut share)
        });
        share.spent &= !hidden;
        budget.merge(share);
        found
    }

    /// What was done to the bytes of a reference, and the digest that proves it.
    fn steps(
        &self,
        document: &Document,
        recipe: &Recipe,
        wanted: &[(Vec<u8>, Option<Step>)],
        reference: &ReferenceRead<'_>,
        budget: &mut Budget,
    ) -> Option<(Vec<Step>, &'static str)> {
        let mut proven = "";
        let mut test = |bytes: &[u8], far: bool| {
            let announced = reference.digest_method;
            for (value, encoding) in wanted {
                if far && encoding.is_some() {
                    continue;
                }
                for algorithm in algorithms(value.len(), announced, !far) {
                    let fits =
                        digest(algorithm, bytes).is_ok_and(|digest| digest.as_ref() == value);
                    if !fits {
                        continue;
                    }
                    proven = algorithm.short_name();
                    let other = (announced != Some(algorithm)).then(|| {
                        let says = format!(
                            "the digest {} under the name {}",
                            algorithm.short_name(),
                            short_digest(reference)
                        );
                        Step::new("other-hash", says)
                    });
                    return Some(encoding.iter().cloned().chain(other).collect());
                }
            }
            None
        };
        let candidates = forms(document, recipe, &[], budget);
        let announced = candidates.first()?.bytes.clone();
        let scope = recipe.element(document).namespaces_in_scope();
        let scope = Scope {
            namespaces: &scope,
            signed_info: false,
        };
        let found = search(
            &candidates,
            &changes::all(&announced, scope),
            budget,
            &mut test,
        );
        let found = found.or_else(|| {
            let element = recipe.element(document);
            element
                .is(WSU, "Timestamp")
                .then(|| crate::clock::rewritten(&announced, budget, &mut test))
                .flatten()
        })?;
        Some((found, proven))
    }

    fn value(
        &self,
        signature: &SignatureRead<'_>,
        computed: &[Computed],
        name: &str,
        place: usize,
        budget: &mut Budget,
        told: &mut Explanation,
    ) -> SignatureFound {
        let canonicalization = signature.canonicalization.as_ref();
        let method_name = |uri: &str| {
            soapstone_xml::Canonicalization::from_uri(uri)
                .map_or(uri.to_owned(), |method| method.short_name().to_owned())
        };
        let mut found = SignatureFound {
            line: signature.element.line_column().0,
            algorithm: signature
                .method
                .map_or(signature.method_uri.clone(), |method| {
                    method.short_name().to_owned()
                }),
            canonicalization: canonicalization
                .map(|method| match method.prefixes() {
                    Some(prefixes) => {
                        format!("{} (prefix list: {prefixes})", method_name(&method.uri))
                    }
                    None => method_name(&method.uri),
                })
                .unwrap_or_default(),
            key_reference: signature
                .key_info
                .map_or("no ds:KeyInfo".to_owned(), keys::how_named),
            key: String::new(),
            value: State::NotChecked,
            block: None,
            references: computed.iter().map(|one| one.found.clone()).collect(),
        };
        let mut problem = |kind, says: String| {
            told.findings
                .push(Finding::new(Severity::Error, kind, name, says));
        };
        let Some(info) = signature.signed_info else {
            problem("malformed", "there is no ds:SignedInfo".to_owned());
            return found;
        };
        let Some(method) = signature.method else {
            problem(
                "algorithm-unknown",
                format!(
                    "the signature method `{}` is not known",
                    signature.method_uri
                ),
            );
            return found;
        };
        let c14n = canonicalization.and_then(|method| method.canonicalization.as_ref());
        if c14n.is_none() {
            problem(
                "algorithm-unknown",
                format!(
                    "the canonicalization `{}` of ds:SignedInfo is not known",
                    found.canonicalization
                ),
            );
        }
        let document = self.layers[0];
        let recipe = Recipe::signed_info(info, c14n);
        let Some(signed) = recipe.bytes(document) else {
            return found;
        };
        told.dumps.push((
            format!("signature-{}-signed-info.c14n", place + 1),
            signed.clone(),
        ));
        let keys = self.keys(signature);
        let subject = Subject {
            method,
            value_text: &signature.value_text,
            value: signature.value.as_deref(),
            hmac_bits: signature.hmac_bits,
            signed: &signed,
        };
        let edits = digest_edits(signature, computed);
        let scope = info.namespaces_in_scope();
        let mut candidates = |budget: &mut Budget| {
            let scope = Scope {
                namespaces: &scope,
                signed_info: true,
            };
            (
                forms(document, &recipe, &edits, budget),
                changes::all(&signed, scope),
            )
        };
        let outcome = subject.check(&keys, budget, &mut candidates);
        found.key = outcome.key;
        found.value = match outcome.matches {
            Some(true) => State::Matches,
            Some(false) => State::Differs,
            None => State::NotChecked,
        };
        match outcome.matches {
            Some(false) => {
                found.block.clone_from(&outcome.block);
                let says = format!(
                    "the signature value is not that of ds:SignedInfo (key: {})",
                    found.key
                );
                let finding = Finding::new(Severity::Error, "signature-mismatch", name, says);
                told.findings.push(finding.because(outcome.causes));
            }
            None => told.findings.push(Finding::new(
                Severity::Note,
                "key-not-found",
                name,
                format!(
                    "the value was not checked: the key is named by {}, and {}",
                    found.key_reference, found.key
                ),
            )),
            Some(true) => {}
        }
        found
    }

    fn keys(&self, signature: &SignatureRead<'_>) -> Keys<'_> {
        let key = |one: &Certified| SigningKey {
            name: one.name(),
            key: one.certificate.public_key().clone(),
        };
        let mut named: Vec<SigningKey> = Vec::new();
        if let Some(key_info) = signature.key_info {
            named.extend(
                keys::named_by(key_info, &self.certificates)
                    .into_iter()
                    .map(key),
            );
            named.extend(keys::bare_keys(key_info));
        }
        let others = self.certificates.iter().map(key);
        let others = others.filter(|other| !named.iter().any(|one| one.key == other.key));
        Keys {
            others: others.collect(),
            named,
            secrets: self.secrets,
            foreign: self.foreign,
            derivations: &self.derivations,
        }
    }
}

/// `ds:SignedInfo` with the digests that the message now has, where another one stands in it.
fn digest_edits(signature: &SignatureRead<'_>, computed: &[Computed]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (one, reference) in computed.iter().zip(&signature.references) {
        if one.found.state != State::Differs {
            continue;
        }
        let Some(range) = reference.value_element.and_then(content_range) else {
            continue;
        };
        edits.push(Edit {
            step: Step::new(
                "digest-value-changed",
                format!("the digest of `{}` as the message is now: its ds:DigestValue was changed after signing", one.found.uri),
            ),
            replaced: vec![(range, one.found.computed.clone().into_bytes())],
        });
    }
    edits
}

fn content_range(element: Element<'_>) -> Option<Range<usize>> {
    let inside = element.document().content_source(element.id())?.len();
    let start = element.start_tag_range().end as usize;
    Some(start..start + inside)
}

fn short_digest(reference: &ReferenceRead<'_>) -> String {
    reference
        .digest_method
        .map_or(reference.digest_uri.clone(), |method| {
            method.short_name().to_owned()
        })
}

/// The digest in the message as it may have been meant.
fn wanted(reference: &ReferenceRead<'_>) -> Vec<(Vec<u8>, Option<Step>)> {
    let step = |says: &str| Some(Step::new("digest-encoding", says));
    let mut wanted: Vec<(Vec<u8>, Option<Step>)> = Vec::new();
    if let Some(value) = &reference.value {
        wanted.push((value.clone(), None));
        if let Ok(text) = std::str::from_utf8(value) {
            wanted.extend(
                hexadecimal::decode(text)
                    .map(|inner| (inner, step("the base64 of the hexadecimal digest"))),
            );
            let inner = base64::decode_xml_to_vec(text.as_bytes()).ok();
            wanted.extend(inner.map(|inner| (inner, step("the digest in base64 twice"))));
        }
    }
    let text: String = reference.value_text.split_ascii_whitespace().collect();
    if let Some(bytes) = hexadecimal::decode(&text) {
        wanted.push((bytes, step("the digest in hexadecimal, not in base64")));
    }
    if text.contains(['-', '_']) || !text.len().is_multiple_of(4) {
        let mut usual = text.replace('-', "+").replace('_', "/");
        while !usual.len().is_multiple_of(4) {
            usual.push('=');
        }
        let bytes = base64::decode_xml_to_vec(usual.as_bytes()).ok();
        wanted.extend(bytes.map(|bytes| (bytes, step("the digest in base64url, not in base64"))));
    }
    wanted
}

/// Digests of this length, the announced one first; rare ones only if `near`.
fn algorithms(
    length: usize,
    announced: Option<DigestAlgorithm>,
    near: bool,
) -> impl Iterator<Item = DigestAlgorithm> {
    let fits = move |one: &DigestAlgorithm| one.output_length() == length;
    let usual = |one: &DigestAlgorithm| {
        use DigestAlgorithm::{Sha1, Sha256, Sha384, Sha512};
        matches!(one, Sha1 | Sha256 | Sha384 | Sha512)
    };
    let all = DigestAlgorithm::ALL.iter().copied();
    let others = all.filter(move |one| announced != Some(*one) && (near || usual(one)));
    announced.into_iter().chain(others).filter(fits)
}

/// What may be said where nothing fits.
fn unproven(reference: &ReferenceRead<'_>) -> Cause {
    match (&reference.value, reference.digest_method) {
        (Some(value), Some(method)) if value.len() != method.output_length() => Cause::likely(
            "digest-length",
            format!(
                "the digest in the message has {} bytes, and {} makes {}",
                value.len(),
                method.short_name(),
                method.output_length()
            ),
        ),
        (None, _) => Cause::likely("digest-encoding", "the digest in the message is no base64"),
        _ => Cause::likely(
            "content-changed",
            "none of the known mistakes fits: it was changed after it was signed, or the digest was",
        ),
    }
}

/// The first and the last of the canonical bytes, as text.
fn ends(bytes: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(bytes);
    let first: String = text.chars().take(SHOWN).collect();
    let mut last: Vec<char> = text.chars().rev().take(SHOWN).collect();
    last.reverse();
    (first, last.into_iter().collect())
}
