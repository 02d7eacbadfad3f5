//! References: what each leads to, its digest, and why the digest differs.
//!
//! The rule kept here: canonical bytes are made within the budget, and kept only where they are
//! wanted.

use soapstone_crypto::{DigestAlgorithm, base64, digest};
use soapstone_wss::names::{WSU, XENC};
use soapstone_xml::{Canonicalization, Document, NodeId};

use crate::cause::{Cause, Step};
use crate::changes::{self, Scope};
use crate::encoding::{Reading, readings};
use crate::forms::forms;
use crate::material::Material;
use crate::model::{Explanation, Finding, ReferenceFound, Severity, State};
use crate::opened;
use crate::read::{MOST, ReferenceRead, SignatureRead};
use crate::recipe::{NoBytes, Recipe};
use crate::search::{Budget, search};
use crate::sent::reference_file;

/// Forms that are tried of what is still encrypted.
const FEW: usize = 300;

/// Characters of canonical bytes that are shown at both ends.
const SHOWN: usize = 160;

/// A reference whose digest was computed.
pub(crate) struct Computed {
    pub(crate) found: ReferenceFound,
    /// The layers in which it can be computed, and how; the one that is told first.
    recipes: Vec<(usize, Recipe)>,
    digest: Vec<u8>,
    /// What was digested, where it is not what stands there in the order of the header.
    order: Option<Step>,
}

/// A signature whose references are looked at, and what it is called.
pub(crate) struct Named<'s, 'd> {
    pub(crate) signature: &'s SignatureRead<'d>,
    pub(crate) name: &'s str,
    /// Its number in the message, from 0.
    pub(crate) place: usize,
}

impl Material<'_> {
    /// Computes the digests of all references, and explains those that differ.
    pub(crate) fn references(
        &self,
        named: &Named<'_, '_>,
        budget: &mut Budget,
        told: &mut Explanation,
    ) -> Vec<Computed> {
        let references = &named.signature.references;
        let mut computed = Vec::new();
        for (number, reference) in references.iter().enumerate() {
            if let Some(attachment) = self.attachment_of(reference) {
                let found = self.attached(named, number, reference, attachment, budget, told);
                computed.push(Computed {
                    found,
                    recipes: Vec::new(),
                    digest: Vec::new(),
                    order: None,
                });
                continue;
            }
            computed.push(self.computed(named, number, reference, budget, told));
        }
        let differs = |one: &&Computed| one.found.state == State::Differs;
        // `ds:SignedInfo` is one more.
        let mut left = computed.iter().filter(differs).count() + 1;
        for number in 0..references.len() {
            if computed[number].found.state != State::Differs {
                continue;
            }
            let mut share = budget.share(left);
            left -= 1;
            let finding = self.explained(named, &computed, number, &mut share);
            told.findings.extend(finding);
            budget.merge(share);
        }
        computed
    }

    fn computed(
        &self,
        named: &Named<'_, '_>,
        number: usize,
        reference: &ReferenceRead<'_>,
        budget: &mut Budget,
        told: &mut Explanation,
    ) -> Computed {
        let mut computed = Computed {
            found: not_computed(reference),
            recipes: Vec::new(),
            digest: Vec::new(),
            order: None,
        };
        let mut problem: Option<NoBytes> = None;
        let mut kept = None;
        for (layer, read) in self.layers.iter().enumerate() {
            let document = read.document;
            let node = match layer {
                0 => named.signature.element.id(),
                _ => read
                    .signature(&named.signature.value_text)
                    .unwrap_or(named.signature.element.id()),
            };
            let recipe = match Recipe::of(document, node, reference, &self.certificates) {
                Ok(recipe) => recipe,
                Err(no_bytes) => {
                    problem.get_or_insert(no_bytes);
                    continue;
                }
            };
            let Some(method) = reference.digest_method else {
                break;
            };
            let Some(bytes) = recipe.bytes_within(document, budget) else {
                if budget.spent {
                    let says = "its digest was not computed: the work on the message is bounded";
                    problem.get_or_insert(NoBytes::new("work-bound", says));
                }
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
            let found = &mut computed.found;
            recipe
                .element(document)
                .qualified_name()
                .clone_into(&mut found.element);
            found.computed = base64::encode(digest.as_ref());
            found.state = match matches {
                true => State::Matches,
                false => State::Differs,
            };
            found.bytes = bytes.len();
            (found.first, found.last) = ends(&bytes);
            computed.digest = digest.as_ref().to_vec();
            computed.recipes.insert(0, (layer, recipe));
            kept = Some(bytes);
            if matches {
                break;
            }
        }
        if let (State::Matches, Some(&(layer, _))) =
            (computed.found.state, computed.recipes.first())
            && self.layers.len() == 2
        {
            self.hold_to_order(named, reference, layer, &mut computed, budget);
        }
        if let Some(bytes) = kept {
            let file = reference_file(named.place + 1, number + 1);
            self.keep(file, &bytes, told);
        }
        let finding = self.without_digest(named, reference, problem, &computed);
        told.findings.extend(finding);
        computed
    }

    /// The header says whether a part is digested before or after it is deciphered: what is undone
    /// first stands first (SOAP Message Security 1.1.1, 5). The digest of the other state is right
    /// for nobody who keeps to that order.
    fn hold_to_order(
        &self,
        named: &Named<'_, '_>,
        reference: &ReferenceRead<'_>,
        layer: usize,
        computed: &mut Computed,
        budget: &mut Budget,
    ) {
        // The message with everything deciphered is the first layer, the message as it came the
        // last.
        let as_it_came = self.layers[1].document;
        let signature = self.layers[1].signature(&named.signature.value_text);
        let deciphered_first = signature
            .zip(reference.uri.as_deref())
            .and_then(|(signature, uri)| deciphered_first(as_it_came, signature, uri));
        let Some(deciphered_first) = deciphered_first else {
            return;
        };
        let expected = usize::from(!deciphered_first);
        if expected == layer {
            return;
        }
        let node = match expected {
            0 => named.signature.element.id(),
            _ => signature.unwrap_or(named.signature.element.id()),
        };
        let document = self.layers[expected].document;
        // Of a part of the plaintext there is nothing in the message as it came.
        let bytes = Recipe::of(document, node, reference, &self.certificates)
            .ok()
            .and_then(|recipe| recipe.bytes_within(document, budget));
        let (Some(bytes), Some(method)) = (bytes, reference.digest_method) else {
            return;
        };
        let Ok(other) = digest(method, &bytes) else {
            return;
        };
        if other.as_ref() == computed.digest {
            return;
        }
        let says = match deciphered_first {
            true => {
                "the cipher text, though the header has it deciphered first (encrypt-sign in the order of sign-encrypt)"
            }
            false => {
                "what stood there before it was encrypted, though the header has the signature checked first (sign-encrypt in the order of encrypt-sign)"
            }
        };
        computed.order = Some(Step::new("other-order", says));
        computed.found.state = State::Differs;
        computed.found.computed = base64::encode(other.as_ref());
    }

    /// Why a digest was not computed.
    fn without_digest(
        &self,
        named: &Named<'_, '_>,
        reference: &ReferenceRead<'_>,
        problem: Option<NoBytes>,
        computed: &Computed,
    ) -> Option<Finding> {
        let place = format!("{}, reference `{}`", named.name, computed.found.uri);
        if reference.digest_method.is_none() {
            let says = format!("the digest method `{}` is not known", reference.digest_uri);
            let kind = "algorithm-unknown";
            return Some(Finding::new(Severity::Error, kind, place, says));
        }
        let problem = problem.filter(|_| computed.recipes.is_empty())?;
        // What it leads to may be in the cipher text.
        let hidden = problem.kind == "reference-not-found"
            && opened::is_encrypted(self.layers[0].document.root());
        let severity = match hidden || problem.kind == "work-bound" {
            true => Severity::Note,
            false => Severity::Error,
        };
        Some(Finding::new(severity, problem.kind, place, problem.says))
    }

    /// Why the digest of a reference differs.
    fn explained(
        &self,
        named: &Named<'_, '_>,
        computed: &[Computed],
        number: usize,
        budget: &mut Budget,
    ) -> Option<Finding> {
        let one = &computed[number];
        let reference = &named.signature.references[number];
        let (layer, recipe) = one.recipes.first()?;
        let hidden = opened::is_encrypted(recipe.element(self.layers[*layer].document));
        let place = format!(
            "{}, reference `{}` (`{}`)",
            named.name, one.found.uri, one.found.element
        );
        let says = format!(
            "the digest in the message is {}, that of what the reference leads to is {}",
            one.found.expected, one.found.computed
        );
        let finding = Finding::new(Severity::Error, "digest-mismatch", place.as_str(), says);
        let wanted = readings(
            "digest-encoding",
            "the digest",
            &reference.value_text,
            reference.value.as_deref(),
        );
        if let Some(step) = &one.order {
            let proof = "the digest is the one in the message";
            return Some(finding.because([Cause::proven(std::slice::from_ref(step), proof)]));
        }
        // A digest that is that of another reference.
        let other = computed.iter().find(|other| {
            other.found.uri != one.found.uri
                && wanted.iter().any(|(digest, _)| *digest == other.digest)
        });
        if let Some(other) = other {
            let says = format!("what `{}` leads to", other.found.uri);
            let step = Step::new("digest-swapped", says);
            let proof = "the digest is the one in the message";
            return Some(finding.because([Cause::proven(&[step], proof)]));
        }
        if let Some(step) = self.digested_with_includes(named, reference, budget) {
            let proof = "the digest is the one in the message";
            return Some(finding.because([Cause::proven(&[step], proof)]));
        }
        if let Some((steps, algorithm)) =
            self.steps_in_layers(one, &wanted, reference, hidden, budget)
        {
            let proof = format!("the {algorithm} digest is the one in the message");
            return Some(finding.because([Cause::proven(&steps, &proof)]));
        }
        if hidden {
            let says = "part of it is still encrypted: if it was signed before that, its digest can be compared once it is deciphered (--config)";
            return Some(Finding::new(Severity::Note, "still-encrypted", place, says));
        }
        Some(finding.because([unproven(reference)]))
    }

    /// Whether the `xop:Include` elements themselves were digested, where the message has any.
    fn digested_with_includes(
        &self,
        named: &Named<'_, '_>,
        reference: &ReferenceRead<'_>,
        budget: &mut Budget,
    ) -> Option<Step> {
        let layer = self.with_includes.as_ref()?;
        let signature = layer.signature(&named.signature.value_text)?;
        let recipe = Recipe::of(layer.document, signature, reference, &self.certificates).ok()?;
        let bytes = recipe.bytes_within(layer.document, budget)?;
        budget.tried += 1;
        let digest = digest(reference.digest_method?, &bytes).ok()?;
        let fits = reference.value.as_deref() == Some(digest.as_ref());
        let says = "`xop:Include` digested as it stands, not the bytes that it leads to, which nothing covers then";
        fits.then(|| Step::new("xop-include", says))
    }

    /// What was done, in the first layer where something fits. What is still encrypted was mostly
    /// signed before that, so few things are tried on it.
    fn steps_in_layers(
        &self,
        one: &Computed,
        wanted: &[Reading],
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
            self.steps(
                self.layers[*layer].document,
                recipe,
                wanted,
                reference,
                &mut share,
            )
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
        wanted: &[Reading],
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
}

/// Whether the cipher text in what `uri` leads to is deciphered before the signature is checked.
/// `None` where there is none, and where its parts differ.
fn deciphered_first(document: &Document, signature: NodeId, uri: &str) -> Option<bool> {
    let target = document.by_id(uri.strip_prefix('#')?).ok().flatten()?;
    let inside = document.element(target).descendants();
    let cipher = inside.filter(|element| element.is(XENC, "EncryptedData"));
    let ids: Vec<String> = cipher
        .take(MOST)
        .filter_map(|data| Some(data.attribute("", "Id")?.into_owned()))
        .collect();
    let signed = document.element(signature);
    let header = signed.parent()?;
    let mut found = None;
    for item in header.children() {
        let lists = item.is(XENC, "EncryptedKey") || item.is(XENC, "ReferenceList");
        let references = item
            .descendants()
            .filter(|inside| lists && inside.is(XENC, "DataReference"));
        let names = |reference: soapstone_xml::Element<'_>| {
            let uri = reference.attribute("", "URI").unwrap_or_default();
            uri.strip_prefix('#')
                .is_some_and(|id| ids.iter().any(|one| one == id))
        };
        if references.take(MOST).any(names) {
            let is_first = item.range().start < signed.range().start;
            match found {
                Some(other) if other != is_first => return None,
                _ => found = Some(is_first),
            }
        }
    }
    found
}

/// What a reference says of itself.
pub(crate) fn not_computed(reference: &ReferenceRead<'_>) -> ReferenceFound {
    let transforms = reference.transforms.iter().map(|transform| {
        let name = Canonicalization::from_uri(&transform.uri)
            .map_or(transform.uri.as_str(), |method| method.short_name());
        match transform.prefixes() {
            Some(prefixes) => format!("{name} (prefix list: {prefixes})"),
            None => name.to_owned(),
        }
    });
    ReferenceFound {
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
    }
}

pub(crate) fn short_digest(reference: &ReferenceRead<'_>) -> String {
    reference
        .digest_method
        .map_or(reference.digest_uri.clone(), |method| {
            method.short_name().to_owned()
        })
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
pub(crate) fn ends(bytes: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(bytes);
    let first: String = text.chars().take(SHOWN).collect();
    let mut last: Vec<char> = text.chars().rev().take(SHOWN).collect();
    last.reverse();
    (first, last.into_iter().collect())
}
