//! What an endpoint file would say of the messages.
//!
//! The rule kept here: a choice that no message shows is noted, and is the strict one.

mod file;

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::algorithms::Algorithms;
use crate::answer::Answer;
use crate::covered::Covered;
use crate::error::LearnError;
use crate::inner::InnerSignature;
use crate::order::Order;
use crate::outline::{Outline, Reference};
use crate::quoted::quoted;
use crate::user::{Password, TokenForm};
use crate::written::Written;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Receiver,
    Sender,
}

/// What an endpoint file would say of the messages.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) signs: bool,
    pub(crate) encrypts: bool,
    /// Whether the sender signs before it encrypts.
    pub(crate) signs_first: bool,
    pub(crate) password: Option<Password>,
    pub(crate) token: Option<TokenForm>,
    pub(crate) algorithms: Algorithms,
    pub(crate) signed: Vec<String>,
    pub(crate) encrypted: Vec<String>,
    pub(crate) signature_reference: Option<Reference>,
    pub(crate) encryption_reference: Option<Reference>,
    pub(crate) order: Order,
    pub(crate) written: Written,
    has_timestamp: bool,
    life: Option<SignedDuration>,
    has_expires: bool,
    actor: Option<String>,
    must_understand: bool,
    has_encrypted_key: bool,
    ids: BTreeSet<&'static str>,
    demanding: Vec<String>,
    several_signatures: bool,
    /// The element of the Body that is signed by itself, where the message has one and the
    /// signature verified.
    pub(crate) inner: Option<InnerSignature>,
    /// The address that `wsa:To` must be, where messages and a description agree on it.
    pub(crate) to: Option<String>,
    /// What answers have, where there are any.
    pub(crate) answer: Option<Answer>,
    /// What an endpoint file cannot say, or what was seen and has no place in it.
    unsaid: BTreeSet<String>,
}

impl Draft {
    pub(crate) fn of(outline: &Outline) -> Self {
        let mut draft = Self {
            // A signature may hide behind cipher text of the header: the keys show it.
            signs: outline.has_signature,
            encrypts: outline.has_cipher_text,
            signs_first: outline.deciphered_first || outline.hides_items,
            password: outline.password,
            token: outline.token,
            algorithms: outline.algorithms.clone(),
            signed: Vec::new(),
            encrypted: Vec::new(),
            signature_reference: outline.signature_reference,
            encryption_reference: outline.encryption_reference,
            order: outline.order.clone(),
            written: outline.written.clone(),
            has_timestamp: outline.has_timestamp,
            life: life(outline),
            has_expires: outline.expires.is_some(),
            actor: outline.actor.clone(),
            must_understand: outline.must_understand,
            has_encrypted_key: outline.has_encrypted_key,
            ids: outline.ids.clone(),
            demanding: outline.demanding.clone(),
            several_signatures: outline.signatures > 1,
            inner: None,
            to: None,
            answer: None,
            unsaid: BTreeSet::new(),
        };
        draft.note_strange(outline);
        for covered in &outline.signed {
            draft.also_signed(covered);
        }
        for covered in &outline.encrypted {
            draft.also_encrypted(covered);
        }
        draft
    }

    fn note_strange(&mut self, outline: &Outline) {
        for item in &outline.strange {
            self.unsaid(format!(
                "`{item}` in the Security header is of no kind that is known"
            ));
        }
        if let Err(why) = &outline.inner {
            self.unsaid(format!(
                "the Body has a signature of its own, and that is not demanded ([inner]): {why}"
            ));
        }
        for uri in &outline.algorithms.unknown {
            self.unsaid(format!("the algorithm `{uri}` is not known"));
        }
        if outline.signatures > 1 {
            self.unsaid(format!(
                "{} signatures stand in the header, each over some of the parts; endorsing signatures take a policy (configure-from-a-wsdl.md)",
                outline.signatures
            ));
        }
        if outline.has_derived_keys {
            self.unsaid("keys are derived: that takes a policy (sp:RequireDerivedKeys)".to_owned());
        }
        if outline.has_confirmation {
            self.unsaid(
                "signatures of the request are confirmed: that takes a policy (sp:RequireSignatureConfirmation)"
                    .to_owned(),
            );
        }
        for reference in [outline.signature_reference, outline.encryption_reference] {
            match reference {
                Some(Reference::SessionKey) => self.unsaid(
                    "a session key of the message signs or encrypts by reference: that takes a policy (sp:SymmetricBinding)"
                        .to_owned(),
                ),
                Some(Reference::Other(what)) => {
                    self.unsaid(format!("a key is named by {what}, which is read and not written"));
                }
                _ => {}
            }
        }
    }

    /// Notes something that the file cannot say.
    pub(crate) fn unsaid(&mut self, what: String) {
        self.unsaid.insert(what);
    }

    /// Learns from a further message of the same kind.
    pub(crate) fn also(&mut self, outline: &Outline, sample: usize) -> Result<(), LearnError> {
        let other = Self::of(outline);
        let differs = |what: &'static str, first: String, found: String| {
            Err(LearnError::Different {
                sample,
                what,
                first,
                found,
            })
        };
        let words = |draft: &Self| draft.words();
        if words(self) != words(&other) {
            return differs("protection", words(self), words(&other));
        }
        if self.actor != other.actor {
            let name = |actor: &Option<String>| actor.clone().unwrap_or_else(|| "none".to_owned());
            return differs("the actor", name(&self.actor), name(&other.actor));
        }
        // What is not in all of them is not demanded.
        self.signed.retain(|part| other.signed.contains(part));
        self.encrypted.retain(|part| other.encrypted.contains(part));
        if self.order != other.order && self.order != Order::default() {
            self.order = Order::default();
            self.unsaid("the items of the Security header stand in several orders".to_owned());
        }
        if self.forms(false) != other.forms(false) {
            self.unsaid(
                "the messages differ in prefix lists, in the digest of OAEP or in encrypted header blocks: those of the first are written"
                    .to_owned(),
            );
        }
        if self.token.is_some() && other.token.is_some() && self.token != other.token {
            self.unsaid(
                "the messages differ in Nonce, Created or Type of the password: the form of the first is written"
                    .to_owned(),
            );
        }
        let common = other
            .signed
            .iter()
            .filter(|part| self.signed.contains(part));
        if !common.eq(&self.signed) {
            self.unsaid(
                "the messages sign their parts in several orders: that of the first is written"
                    .to_owned(),
            );
        }
        self.algorithms.join(&other.algorithms);
        self.has_timestamp &= other.has_timestamp;
        self.has_expires &= other.has_expires;
        self.must_understand &= other.must_understand;
        self.life = self.life.max(other.life);
        self.ids.extend(other.ids);
        self.demanding.extend(other.demanding);
        self.several_signatures |= other.several_signatures;
        self.unsaid.extend(other.unsaid);
        Ok(())
    }

    fn words(&self) -> String {
        let password = match self.password {
            Some(Password::Digest) => ", a user with a digest",
            Some(Password::Text) => ", a user with a password as text",
            Some(Password::None) => ", a user without a password",
            None => "",
        };
        format!("{}{password}", self.mechanism())
    }

    pub(crate) fn also_signed(&mut self, covered: &Covered) {
        match covered {
            Covered::Part(part) if !self.signed.contains(part) => self.signed.push(part.clone()),
            Covered::Part(_) => {}
            Covered::Unnamed(what) => self.unsaid(format!(
                "{what} is signed, and no part names it: a policy can, by an XPath (sp:SignedElements)"
            )),
        }
    }

    /// Puts the signed parts into the order in which a signature names them.
    pub(crate) fn order_signed(&mut self, order: &[&Covered]) {
        let place = |part: &String| {
            let is_it = |covered: &&Covered| matches!(covered, Covered::Part(name) if name == part);
            order.iter().position(is_it).unwrap_or(usize::MAX)
        };
        self.signed.sort_by_key(place);
    }

    pub(crate) fn also_encrypted(&mut self, covered: &Covered) {
        match covered {
            Covered::Part(part) if !self.encrypted.contains(part) => {
                self.encrypted.push(part.clone());
            }
            Covered::Part(_) => {}
            Covered::Unnamed(what) => self.unsaid(format!(
                "{what} is encrypted, and no part names it: a policy can, by an XPath (sp:EncryptedElements)"
            )),
        }
    }

    pub(crate) fn mechanism(&self) -> &'static str {
        match (self.signs, self.encrypts) {
            (true, true) if self.signs_first => "sign-encrypt",
            (true, true) => "encrypt-sign",
            (true, false) => "sign",
            (false, true) => "encrypt",
            (false, false) if self.password.is_some() => "username",
            (false, false) => "none",
        }
    }

    /// What was guessed, and what is not known.
    pub(crate) fn notes(&self, has_keys: bool) -> Vec<String> {
        let mut notes: Vec<String> = self.unsaid.iter().cloned().collect();
        if self.encrypts && !has_keys {
            notes.push(
                "what the cipher text holds is not known without the receiver's keys: give them with --keys"
                    .to_owned(),
            );
        }
        if self.has_timestamp && !self.has_expires {
            notes.push("the Timestamp has no Expires: ttl is the default of 5 minutes".to_owned());
        }
        if !self.has_timestamp && self.mechanism() != "none" {
            notes.push(
                "without a Timestamp a copy is known by what is signed alone, for as long as ttl says"
                    .to_owned(),
            );
        }
        for block in self.unsigned() {
            notes.push(format!(
                "the header block `{block}` must be understood, and no signature covers it: `unsigned` has it passed on, and anybody on the way can write it; take the line out if the service does without"
            ));
        }
        if self.signs && self.written.lists_otherwise() {
            notes.push(
                "the prefix lists of the signature are not those of inclusive_prefixes = true, which the file of the sender says: our messages list others"
                    .to_owned(),
            );
        }
        if self.password == Some(Password::None) {
            notes.push("a user without a password proves nobody".to_owned());
        }
        notes
    }

    /// What a file of requests leaves to its reader.
    pub(crate) fn left_to_say(&self) -> Option<String> {
        let open = match self.to {
            Some(_) => "which signers (trust.subjects) are right is yours to say",
            None => {
                "which addresses (addressing.to) and which signers (trust.subjects) are right is yours to say"
            }
        };
        (self.mechanism() != "none").then(|| open.to_owned())
    }

    /// The keys that say how messages are protected, without the mechanism.
    pub(crate) fn protection(&self) -> impl Iterator<Item = (&'static str, String)> {
        let algorithms = (self.signs || self.encrypts).then(|| {
            let lists = self.algorithms.lists().map(|(list, names)| {
                let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                format!("{list} = [{}]", names.join(", "))
            });
            let lists = lists.collect::<Vec<_>>().join(", ");
            ("algorithms", format!("{{ {lists} }}"))
        });
        let has_signed = self.signs && !self.signed.is_empty();
        let signed = has_signed.then(|| ("signed", list(&self.signed)));
        let has_encrypted = self.encrypts && !self.encrypted.is_empty();
        let encrypted = has_encrypted.then(|| ("encrypted", list(&self.encrypted)));
        algorithms.into_iter().chain(signed).chain(encrypted)
    }

    /// The value of `timestamp`.
    pub(crate) fn timestamp(&self) -> String {
        match (self.has_timestamp, self.life) {
            (false, _) => "false".to_owned(),
            (true, Some(life)) => format!("{{ ttl = \"{}s\" }}", life.as_secs().max(1)),
            (true, None) => "true".to_owned(),
        }
    }

    /// Whether nothing but a Timestamp stands in the Security header.
    pub(crate) fn is_timestamp_alone(&self) -> bool {
        self.has_timestamp && self.password.is_none() && self.mechanism() == "none"
    }

    /// Whether messages are signed and encrypted, to be compared.
    pub(crate) fn strength(&self) -> (bool, bool) {
        (self.signs, self.encrypts)
    }

    /// Header blocks that must be understood and that no signature covers. Only signatures say what
    /// is passed on.
    fn unsigned(&self) -> impl Iterator<Item = &String> {
        let demanding = self.demanding.iter().enumerate();
        let unsigned = demanding.filter(|(place, block)| {
            let is_first = !self.demanding[..*place].contains(block);
            self.signs && is_first && !self.signed.contains(block)
        });
        unsigned.map(|(_, block)| block)
    }

    /// Whether an endpoint file cannot say how the keys of the messages are named.
    pub(crate) fn takes_a_policy(&self) -> bool {
        let references = [self.signature_reference, self.encryption_reference];
        references.contains(&Some(Reference::SessionKey))
    }

    /// How keys are named, where it is not as by default: the table that says it, and the name. A
    /// key that both sides hold has one name for both.
    pub(crate) fn key_references(&self) -> Vec<(&'static str, &'static str)> {
        let known = |reference: Option<Reference>| match reference {
            Some(Reference::Known(name)) => Some(name),
            _ => None,
        };
        let signature = known(self.signature_reference).filter(|_| self.signs);
        let encryption = known(self.encryption_reference).filter(|_| self.encrypts);
        if self.has_shared_key() {
            return signature
                .or(encryption)
                .map(|name| ("", name))
                .into_iter()
                .collect();
        }
        let signature = signature.filter(|name| *name != "direct");
        let encryption = encryption.filter(|name| *name != "issuer-serial");
        let signature = signature.map(|name| ("signature", name));
        signature
            .into_iter()
            .chain(encryption.map(|name| ("encryption", name)))
            .collect()
    }

    fn has_shared_key(&self) -> bool {
        self.algorithms.has_mac() || (self.encrypts && !self.has_encrypted_key)
    }
}

fn life(outline: &Outline) -> Option<SignedDuration> {
    let life = outline.expires?.duration_since(outline.created?);
    life.is_positive().then_some(life)
}

fn list(parts: &[String]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| quoted(part)).collect();
    format!("[{}]", parts.join(", "))
}
