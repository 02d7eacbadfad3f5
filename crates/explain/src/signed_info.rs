//! `ds:SignedInfo` and the signature value over it.
//!
//! The rule kept here: a value that cannot be checked is told as such, and is no mismatch.

use std::borrow::Cow;
use std::ops::Range;

use soapstone_xml::{Canonicalization, Element};

use crate::cause::Step;
use crate::changes::{self, Scope};
use crate::forms::{Edit, forms};
use crate::keys::{self, Certified, SigningKey};
use crate::material::Material;
use crate::model::{Explanation, Finding, Severity, SignatureFound, State};
use crate::read::SignatureRead;
use crate::recipe::Recipe;
use crate::reference::{Computed, Named};
use crate::search::Budget;
use crate::secrets::Secrets;
use crate::sent::signed_info_file;
use crate::value::{Keys, Subject};

impl Material<'_> {
    /// Checks the value of a signature, and explains why it differs.
    pub(crate) fn value(
        &self,
        named: &Named<'_, '_>,
        computed: &[Computed],
        budget: &mut Budget,
        told: &mut Explanation,
    ) -> SignatureFound {
        let signature = named.signature;
        let mut found = not_checked(signature, computed);
        let mut problem = |severity, kind, says: String| {
            told.findings
                .push(Finding::new(severity, kind, named.name, says));
        };
        let Some(info) = signature.signed_info else {
            let says = "there is no ds:SignedInfo".to_owned();
            problem(Severity::Error, "malformed", says);
            return found;
        };
        let Some(method) = signature.method else {
            let says = format!(
                "the signature method `{}` is not known",
                signature.method_uri
            );
            problem(Severity::Error, "algorithm-unknown", says);
            return found;
        };
        let c14n = signature.canonicalization.as_ref();
        let c14n = c14n.and_then(|method| method.canonicalization.as_ref());
        if c14n.is_none() {
            let says = format!(
                "the canonicalization `{}` of ds:SignedInfo is not known",
                found.canonicalization
            );
            problem(Severity::Error, "algorithm-unknown", says);
        }
        let document = self.layers[0].document;
        let recipe = Recipe::signed_info(info, c14n);
        let Some(signed) = recipe.bytes_within(document, budget) else {
            let says = "the value was not checked: the work on the message is bounded".to_owned();
            problem(Severity::Note, "work-bound", says);
            return found;
        };
        let file = signed_info_file(named.place + 1);
        self.keep(file, &signed, told);
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
        let mut outcome = subject.check(&keys, budget, &mut candidates);
        // A key that stays elsewhere was used by the engine alone.
        if outcome.matches != Some(true)
            && let Some(value) = &signature.value
            && self.verified.contains(&(value.clone(), true))
        {
            outcome.matches = Some(true);
            outcome.causes.clear();
            outcome.block = None;
            "a key of the endpoint file".clone_into(&mut outcome.key);
        }
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
                let finding = Finding::new(Severity::Error, "signature-mismatch", named.name, says);
                told.findings.push(finding.because(outcome.causes));
            }
            None => {
                let says = format!(
                    "the value was not checked: the key is named by {}, and {}",
                    found.key_reference, found.key
                );
                let (severity, says) = match signature.key_info.and_then(keys::missing_token) {
                    Some(uri) => {
                        let says = format!("{says}; no element of the message is `{uri}`");
                        (Severity::Error, says)
                    }
                    None => (Severity::Note, says),
                };
                let finding = Finding::new(severity, "key-not-found", named.name, says);
                told.findings.push(finding);
            }
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
        let of_holder = signature.key_info.and_then(keys::of_holder);
        for key_info in signature.key_info.into_iter().chain(of_holder) {
            let certified = keys::named_by(key_info, &self.certificates);
            named.extend(certified.into_iter().map(key));
            named.extend(keys::bare_keys(key_info));
        }
        let named_secrets = signature
            .key_info
            .map(|key_info| keys::secrets_named_by(key_info, self.holders));
        // What the reader's side knows is likelier than what the message brings along.
        let (of_message, configured): (Vec<&Certified>, Vec<&Certified>) =
            self.certificates.iter().partition(|one| one.node.is_some());
        let others = configured.into_iter().chain(of_message).map(key);
        let others = others.filter(|other| !named.iter().any(|one| one.key == other.key));
        Keys {
            others: others.collect(),
            named,
            names_one: signature.key_info.is_some(),
            secrets: Secrets {
                all: self.secrets,
                named: named_secrets.unwrap_or_default(),
                foreign: self.foreign,
                derivations: &self.derivations,
                of_passwords: &self.of_passwords,
            },
        }
    }
}

/// What a signature says of itself.
fn not_checked(signature: &SignatureRead<'_>, computed: &[Computed]) -> SignatureFound {
    let canonicalization = signature.canonicalization.as_ref().map(|method| {
        let name = Canonicalization::from_uri(&method.uri)
            .map_or(method.uri.as_str(), |method| method.short_name());
        match method.prefixes() {
            Some(prefixes) => format!("{name} (prefix list: {prefixes})"),
            None => name.to_owned(),
        }
    });
    SignatureFound {
        line: signature.element.line_column().0,
        id: signature.element.attribute("", "Id").map(Cow::into_owned),
        algorithm: signature
            .method
            .map_or(signature.method_uri.clone(), |method| {
                method.short_name().to_owned()
            }),
        canonicalization: canonicalization.unwrap_or_default(),
        key_reference: signature
            .key_info
            .map_or("no ds:KeyInfo".to_owned(), keys::how_named),
        key: String::new(),
        value: State::NotChecked,
        block: None,
        references: computed.iter().map(|one| one.found.clone()).collect(),
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
