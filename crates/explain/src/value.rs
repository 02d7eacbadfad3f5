//! The signature value: which key made it, of which bytes.
//!
//! The rule kept here: with RSA the signature tells its digest, so key and content are told apart.
//! With ECDSA and HMAC only a candidate that fits proves anything.

use soapstone_crypto::{
    KeyKind, PublicKey, SignatureAlgorithm, SignatureFamily, SignedBlock, hexadecimal,
};

use crate::cause::{Cause, Step};
use crate::encoding::{Reading, readings};
use crate::keys::SigningKey;
use crate::search::{Budget, Change, Form, search, search_for_one, weighted_search};
use crate::secrets::{Secrets, variants};

/// What signatures are checked with.
pub(crate) struct Keys<'k> {
    /// What the signature names.
    pub(crate) named: Vec<SigningKey>,
    /// All others at hand.
    pub(crate) others: Vec<SigningKey>,
    /// Whether the signature names a key at all.
    pub(crate) names_one: bool,
    pub(crate) secrets: Secrets<'k>,
}

/// A signature value and the forms of what it may be over.
pub(crate) struct Subject<'s> {
    pub(crate) method: SignatureAlgorithm,
    pub(crate) value_text: &'s str,
    pub(crate) value: Option<&'s [u8]>,
    pub(crate) hmac_bits: Option<u32>,
    /// The announced form first.
    pub(crate) signed: &'s [u8],
}

/// What was found.
#[derive(Default)]
pub(crate) struct Outcome {
    /// `None` where it was not checked.
    pub(crate) matches: Option<bool>,
    /// The key that it was checked with, in words.
    pub(crate) key: String,
    /// What the recovered block says.
    pub(crate) block: Option<String>,
    /// Whether the key is proven to be the signer's, whatever it signed.
    is_signers_key: bool,
    pub(crate) causes: Vec<Cause>,
}

/// A public key with what leads to it, and the value as it may have been meant.
struct Candidate<'k> {
    key: &'k SigningKey,
    step: Option<Step>,
    values: Vec<Reading>,
}

/// Verifications with a public key, which are slow, in one round.
const MOST_VERIFIED: usize = 4_000;

/// What gives the candidates, when they are needed.
pub(crate) type Candidates<'c> = dyn FnMut(&mut Budget) -> (Vec<Form>, Vec<Change>) + 'c;

impl Subject<'_> {
    /// Checks the value, and looks for causes if it differs.
    pub(crate) fn check(
        &self,
        keys: &Keys<'_>,
        budget: &mut Budget,
        candidates: &mut Candidates<'_>,
    ) -> Outcome {
        match self.method.family() {
            SignatureFamily::Hmac => self.hmac(keys, budget, candidates),
            _ => self.public(keys, budget, candidates),
        }
    }

    /// The value as it may have been meant, as it is written first.
    fn values(&self) -> Vec<Reading> {
        let (kind, noun) = ("signature-encoding", "the value");
        let mut values = readings(kind, noun, self.value_text, self.value);
        if let Some(value) = self.value {
            let reversed: Vec<u8> = value.iter().rev().copied().collect();
            let step = Step::new(kind, "the bytes of the value in reverse order");
            values.push((reversed, Some(step)));
        }
        values
    }

    /// The same, with what is possible with a key of this kind.
    fn values_of(&self, readings: &[Reading], key: &PublicKey) -> Vec<Reading> {
        let mut values = readings.to_vec();
        let Some(value) = self.value else {
            return values;
        };
        let step = |says: &str| Some(Step::new("signature-encoding", says));
        let curve = match key.kind() {
            KeyKind::Ec(curve) => curve,
            KeyKind::Rsa { bits } => {
                let length = bits.div_ceil(8) as usize;
                let padded = padded(value, length).filter(|_| value.len() != length);
                let says = match value.len() < length {
                    true => "the value without the zeros in front of it",
                    false => "a zero in front of the value",
                };
                values.extend(padded.map(|padded| (padded, step(says))));
                return values;
            }
            _ => return values,
        };
        let joined = key.joined_signature(value);
        let says = step("the value in DER (SEQUENCE of r and s), not r and s side by side");
        values.extend(joined.map(|joined| (joined, says)));
        if value.len().is_multiple_of(2) {
            let (r, s) = value.split_at(value.len() / 2);
            values.push(([s, r].concat(), step("s before r in the value")));
            let backwards = r.iter().rev().chain(s.iter().rev()).copied().collect();
            let says = step("the bytes of r and those of s in reverse order");
            values.push((backwards, says));
            let length = curve.coordinate_length();
            let padded = padded(r, length).zip(padded(s, length));
            if let Some((r, s)) = padded.filter(|_| r.len() != length) {
                let says = step("r and s without leading zeros in the value");
                values.push(([r, s].concat(), says));
            }
        }
        values
    }

    fn public(
        &self,
        keys: &Keys<'_>,
        budget: &mut Budget,
        candidates: &mut Candidates<'_>,
    ) -> Outcome {
        let mut outcome = self.by_keys_at_hand(keys, budget, candidates);
        let is_named = !keys.named.is_empty() || !keys.names_one;
        let is_proven = outcome.is_signers_key || outcome.causes.iter().any(|one| one.certain);
        if outcome.matches == Some(false) && !is_named && !is_proven {
            // That other keys did not make it says nothing.
            outcome = Outcome {
                key: format!(
                    "it is none of those at hand ({}): none of them made it",
                    keys.others.len()
                ),
                ..Outcome::default()
            };
        }
        outcome
    }

    /// Checks the value with the keys that it names, and with all others.
    fn by_keys_at_hand(
        &self,
        keys: &Keys<'_>,
        budget: &mut Budget,
        candidates: &mut Candidates<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if keys.named.is_empty() && keys.others.is_empty() {
            "no certificate or key is at hand".clone_into(&mut outcome.key);
            return outcome;
        }
        let other = |key: &SigningKey| {
            let says = format!("the key of {}, which the signature does not name", key.name);
            Step::new("other-certificate", says)
        };
        let named = keys.named.iter().map(|key| (key, None));
        let others = keys.others.iter().map(|key| (key, Some(other(key))));
        // Where the signature names no key at all, each is as good as another.
        let readings = self.values();
        let all: Vec<Candidate<'_>> = named
            .chain(others)
            .map(|(key, step)| Candidate {
                key,
                step: step.filter(|_| !keys.named.is_empty()),
                values: self.values_of(&readings, &key.key),
            })
            .collect();
        outcome.key = match keys.named.first() {
            Some(named) => named.name.clone(),
            None => at_hand(&keys.others),
        };
        for Candidate { key, step, values } in &all {
            for (value, encoding) in values {
                if !budget.take(self.signed.len()) {
                    "the work on the message is bounded".clone_into(&mut outcome.key);
                    return outcome;
                }
                if key.key.verify(self.method, self.signed, value).is_err() {
                    continue;
                }
                outcome.key.clone_from(&key.name);
                let steps: Vec<Step> = step.iter().chain(encoding).cloned().collect();
                outcome.matches = Some(steps.is_empty());
                if !steps.is_empty() {
                    outcome.causes = vec![Cause::proven(&steps, "the signature value verifies")];
                }
                return outcome;
            }
        }
        outcome.matches = Some(false);
        let fitting = |key: &SigningKey| self.method.fits(key.key.kind());
        if !keys.named.is_empty() && !keys.named.iter().any(fitting) {
            let kind = keys.named[0].key.kind();
            outcome.causes.push(Cause::likely(
                "key-kind",
                format!(
                    "{} is a key of another kind ({kind}) than {} wants",
                    keys.named[0].name,
                    self.method.short_name()
                ),
            ));
        }
        if self.may_be_rsa(&all) && self.rsa(&all, budget, candidates, &mut outcome) {
            return outcome;
        }
        if !matches!(
            self.method.family(),
            SignatureFamily::RsaPkcs1 | SignatureFamily::RsaPss
        ) {
            self.verified(&all, budget, candidates, &mut outcome);
        }
        outcome
    }

    /// Whether the value is one of RSA: by its method, or by its length under a key at hand.
    fn may_be_rsa(&self, keys: &[Candidate<'_>]) -> bool {
        let announced = matches!(
            self.method.family(),
            SignatureFamily::RsaPkcs1 | SignatureFamily::RsaPss
        );
        let length = self.value.map_or(0, <[u8]>::len);
        keys.iter().any(|one| match one.key.key.kind() {
            KeyKind::Rsa { bits } => announced || bits.div_ceil(8) as usize == length,
            _ => false,
        })
    }

    /// What the recovered block tells. `false` if this is no matter for RSA.
    fn rsa(
        &self,
        keys: &[Candidate<'_>],
        budget: &mut Budget,
        candidates: &mut Candidates<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let mut found = None;
        'keys: for Candidate { key, step, values } in keys {
            for (value, encoding) in values {
                if let Some(block) = key.key.signed_block(value) {
                    let steps: Vec<Step> = step.iter().chain(encoding).cloned().collect();
                    found = Some((*key, block, steps));
                    break 'keys;
                }
            }
        }
        let Some((key, block, mut steps)) = found else {
            self.no_block(keys, outcome);
            return matches!(
                self.method.family(),
                SignatureFamily::RsaPkcs1 | SignatureFamily::RsaPss
            );
        };
        outcome.key.clone_from(&key.name);
        outcome.is_signers_key = true;
        outcome.block = Some(block_in_words(&block));
        steps.extend(self.other_method(&block));
        let proof = format!(
            "the {} digest of ds:SignedInfo is the one that the signature holds (key: {})",
            block.algorithm().short_name(),
            key.name
        );
        if block.holds(self.signed) {
            if steps.is_empty() {
                steps.push(Step::new("padding", "a padding that no verifier accepts"));
            }
            outcome.causes.insert(0, Cause::proven(&steps, &proof));
            return true;
        }
        let (forms, changes) = candidates(budget);
        let mut test = |bytes: &[u8], _: bool| block.holds(bytes).then(Vec::new);
        if let Some(found) = search(&forms, &changes, budget, &mut test) {
            steps.extend(found);
            outcome.causes.insert(0, Cause::proven(&steps, &proof));
            return true;
        }
        if !steps.is_empty() {
            let proof = "the signature opens to a well-formed block";
            outcome.causes.push(Cause::proven(&steps, proof));
        }
        outcome.causes.push(Cause::likely(
            "signed-info-changed",
            format!(
                "the key is right ({}): the signature opens to a well-formed block. ds:SignedInfo is another than the one that was signed",
                key.name
            ),
        ));
        true
    }

    /// The step from the announced method to the one that the block shows.
    fn other_method(&self, block: &SignedBlock) -> Option<Step> {
        let announced = self.method.short_name();
        let algorithm = block.algorithm();
        let is_pkcs1 = matches!(block, SignedBlock::Pkcs1 { .. });
        let announces_pkcs1 = self.method.family() == SignatureFamily::RsaPkcs1;
        if is_pkcs1 != announces_pkcs1 {
            let padding = if is_pkcs1 { "PKCS#1 v1.5" } else { "PSS" };
            let says = format!(
                "the padding {padding} and {}, under the name {announced}",
                algorithm.short_name()
            );
            return Some(Step::new("other-method", says));
        }
        if self.method.digest() != Some(algorithm) {
            let says = format!(
                "{} signed under the name {announced}",
                algorithm.short_name()
            );
            return Some(Step::new("other-hash", says));
        }
        match block {
            SignedBlock::Pkcs1 {
                oddity: Some(oddity),
                ..
            } => Some(Step::new("padding", *oddity)),
            _ => None,
        }
    }

    fn no_block(&self, keys: &[Candidate<'_>], outcome: &mut Outcome) {
        outcome.block = Some(
            "the signature does not open to a well-formed block with any key at hand".to_owned(),
        );
        let length = self.value.map_or(0, <[u8]>::len);
        let fits = keys
            .iter()
            .any(|one| one.key.key.bits().div_ceil(8) as usize == length);
        let says = if self.value.is_none() {
            "ds:SignatureValue is no base64".to_owned()
        } else if fits {
            format!(
                "the signature was made with another key than that of {}, or its value was changed",
                outcome.key
            )
        } else {
            format!(
                "the signature value has {length} bytes, and no key at hand makes one of this length: it was made with another key, or cut"
            )
        };
        outcome.causes.push(Cause::likely("other-key", says));
    }

    /// Candidates one after the other, each verified with the key: first as it is announced, then
    /// with other values and methods, and then two things at once.
    fn verified(
        &self,
        keys: &[Candidate<'_>],
        budget: &mut Budget,
        candidates: &mut Candidates<'_>,
        outcome: &mut Outcome,
    ) {
        let fitting: Vec<_> = keys
            .iter()
            .filter(|one| self.method.fits(one.key.key.kind()))
            .take(4)
            .collect();
        let (forms, changes) = candidates(budget);
        let mut verified = 0;
        let mut otherwise = |bytes: &[u8], _: bool| {
            let mut all = fitting.iter();
            all.find_map(|one| self.verified_otherwise(one, bytes, &mut verified))
        };
        let of_announced = otherwise(self.signed, false);
        let mut plainly = |bytes: &[u8], far: bool| {
            let mut all = fitting.iter().filter(|one| !far || one.step.is_none());
            all.find_map(|one| {
                let (value, _) = one.values.first()?;
                let fits = one.key.key.verify(self.method, bytes, value).is_ok();
                fits.then(|| one.step.clone().into_iter().collect())
            })
        };
        let found = of_announced
            .or_else(|| search_for_one(&forms, &changes, budget, &mut plainly))
            .or_else(|| search_for_one(&forms, &changes, budget, &mut otherwise))
            .or_else(|| {
                let mut left = MOST_VERIFIED;
                let mut bounded = |bytes: &[u8], far: bool| {
                    left = left.saturating_sub(usize::from(far));
                    (left > 0 && far).then(|| plainly(bytes, far)).flatten()
                };
                search(&forms, &changes, budget, &mut bounded)
            });
        match found {
            Some(steps) => outcome
                .causes
                .insert(0, Cause::proven(&steps, "the signature value verifies")),
            None => outcome.causes.push(Cause::likely(
                "other-key",
                "the key is another than the signer's, or ds:SignedInfo or the value was changed: this algorithm does not tell them apart",
            )),
        }
    }

    /// The step from the method that is announced to this one.
    fn other_hash(&self, method: SignatureAlgorithm) -> Option<Step> {
        (method != self.method).then(|| {
            let says = format!(
                "{} under the name {}",
                method.short_name(),
                self.method.short_name()
            );
            Step::new("other-hash", says)
        })
    }

    /// Whether a key verifies the bytes with a value or a method that the message does not
    /// announce, and what leads to these.
    fn verified_otherwise(
        &self,
        candidate: &Candidate<'_>,
        bytes: &[u8],
        verified: &mut usize,
    ) -> Option<Vec<Step>> {
        let Candidate { key, step, values } = candidate;
        let kind = key.key.kind();
        let of_family = SignatureAlgorithm::ALL.iter().copied().filter(|other| {
            *other != self.method && other.family() == self.method.family() && other.fits(kind)
        });
        let methods: Vec<SignatureAlgorithm> =
            std::iter::once(self.method).chain(of_family).collect();
        for (value, encoding) in values {
            for method in &methods {
                *verified += 1;
                if *verified > MOST_VERIFIED {
                    return None;
                }
                if key.key.verify(*method, bytes, value).is_err() {
                    continue;
                }
                let hash = self.other_hash(*method);
                let steps = step.iter().chain(encoding).cloned();
                return Some(steps.chain(hash).collect());
            }
        }
        None
    }

    fn hmac(
        &self,
        keys: &Keys<'_>,
        budget: &mut Budget,
        candidates: &mut Candidates<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(first) = keys.secrets.first() else {
            "a key that both sides hold; none is at hand (--config)".clone_into(&mut outcome.key);
            return outcome;
        };
        first.clone_into(&mut outcome.key);
        let values = self.values();
        let announced = self.hmac_bits.map(|bits| bits as usize / 8);
        // Steps that lead from a code to the value.
        let fits = |code: &[u8], value: &[u8]| {
            let whole = announced.unwrap_or(code.len()).min(code.len());
            if value == &code[..whole] {
                return Some(None);
            }
            (value.len() >= 8 && code.starts_with(value)).then(|| {
                let says = format!(
                    "the code cut to {} bits, which is not announced",
                    value.len() * 8
                );
                Some(Step::new("hmac-truncated", says))
            })
        };
        let variants = variants(&keys.secrets);
        let methods = [
            SignatureAlgorithm::HmacSha1,
            SignatureAlgorithm::HmacSha256,
            SignatureAlgorithm::HmacSha384,
            SignatureAlgorithm::HmacSha512,
        ];
        // Codes that one candidate takes: what is derived is tried under the announced name alone.
        let others_of = |step: &Option<Step>, far: bool| {
            let is_derived = |step: &Step| step.kind == "derived-otherwise";
            !far && !step.as_ref().is_some_and(is_derived)
        };
        let codes = |far: bool| {
            let tried = variants.iter().filter(|(_, step)| !far || step.is_none());
            let codes = tried.map(|(_, step)| match others_of(step, far) {
                true => methods.len(),
                false => 1,
            });
            codes.sum()
        };
        let weights = (codes(false), codes(true));
        let mut test = |bytes: &[u8], far: bool| {
            for (key, step) in &variants {
                if far && step.is_some() {
                    continue;
                }
                let others = methods
                    .iter()
                    .filter(|method| others_of(step, far) && **method != self.method);
                for method in std::iter::once(&self.method).chain(others) {
                    let Ok(code) = key.sign(*method, bytes, None) else {
                        continue;
                    };
                    for (value, encoding) in &values {
                        if let Some(cut) = fits(code.as_ref(), value) {
                            let hash = self.other_hash(*method);
                            let steps = step.clone().into_iter().chain(encoding.clone());
                            return Some(steps.chain(cut).chain(hash).collect::<Vec<Step>>());
                        }
                    }
                }
            }
            None
        };
        let proof = "the signature value is the authentication code of ds:SignedInfo";
        // Without room for all of it, the keys are tried as they are.
        let far = !budget.take(self.signed.len().saturating_mul(weights.0));
        if let Some(steps) = test(self.signed, far) {
            outcome.matches = Some(steps.is_empty());
            if !steps.is_empty() {
                outcome.causes.push(Cause::proven(&steps, proof));
            }
            return outcome;
        }
        outcome.matches = Some(false);
        let (forms, changes) = candidates(budget);
        match weighted_search(&forms, &changes, weights, budget, &mut test) {
            Some(steps) => outcome.causes.push(Cause::proven(&steps, proof)),
            None => outcome.causes.push(Cause::likely(
                "other-key",
                "the key is another than the signer's, or ds:SignedInfo or the value was changed: an HMAC does not tell them apart",
            )),
        }
        outcome
    }
}

/// Keys of which none is named.
fn at_hand(keys: &[SigningKey]) -> String {
    match keys {
        [one] => one.name.clone(),
        all => format!("the {} keys at hand", all.len()),
    }
}

/// What a signature holds, in words.
fn block_in_words(block: &SignedBlock) -> String {
    let (padding, digest) = match block {
        SignedBlock::Pkcs1 { digest, .. } => ("PKCS#1 v1.5", Some(digest)),
        _ => ("PSS", None),
    };
    let name = block.algorithm().short_name();
    let opens = format!("the signature opens to a well-formed block of {padding}");
    match digest {
        Some(digest) => format!(
            "{opens} with the {name} digest {}",
            hexadecimal::encode(digest)
        ),
        None => format!("{opens} with {name}"),
    }
}

/// A number as so many bytes.
fn padded(number: &[u8], length: usize) -> Option<Vec<u8>> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let digits = &number[zeros..];
    let missing = length.checked_sub(digits.len())?;
    Some([vec![0; missing].as_slice(), digits].concat())
}
