//! The forms that a signed element may have had: other methods, other prefix lists, before
//! attributes were added, another element.
//!
//! The rule kept here: the message is changed in its source and read anew, so that each form is
//! what a canonicalizer would have made of it. What is held at once is bounded, whatever the
//! budget.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, NodeId,
    ParseOptions, canonicalize_each,
};

use crate::cause::Step;
use crate::recipe::Recipe;
use crate::search::{Budget, Form};
use crate::tokens::{attributes, declared, prefix, uses};

/// A change of the source: what lies in each range is replaced.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) step: Step,
    pub(crate) replaced: Vec<(Range<usize>, Vec<u8>)>,
}

/// Most attributes by name that are left out in turn.
const MOST_ATTRIBUTES: usize = 10;
/// Most elements that are tried in the place of the one that was referred to.
const MOST_ELEMENTS: usize = 40;

/// Most bytes of forms that are held at once, beside the announced one: 48 forms of a message of
/// 1 MiB.
const MOST_HELD: usize = 48 << 20;

/// An attribute: its element, its place, and the declaration that nothing else needs.
type Written = (NodeId, Range<usize>, Vec<Range<usize>>);

struct Maker<'m> {
    document: &'m Document,
    recipe: &'m Recipe,
    budget: &'m mut Budget,
    forms: Vec<Form>,
    /// Hashes of the forms: the same bytes under another name would be tried twice.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// Bytes of the forms behind the announced one, and the most of them.
    held: usize,
    most_held: usize,
}

/// All forms, the announced one first. `edits` are changes of the source beside those that are
/// tried always.
pub(crate) fn forms(
    document: &Document,
    recipe: &Recipe,
    edits: &[Edit],
    budget: &mut Budget,
) -> Vec<Form> {
    forms_within(MOST_HELD, document, recipe, edits, budget)
}

fn forms_within(
    most_held: usize,
    document: &Document,
    recipe: &Recipe,
    edits: &[Edit],
    budget: &mut Budget,
) -> Vec<Form> {
    // What is left is for changes of these forms.
    let mut share = budget.share(3);
    let mut maker = Maker {
        document,
        recipe,
        budget: &mut share,
        forms: Vec::new(),
        seen: HashSet::new(),
        hasher: RandomState::new(),
        held: 0,
        most_held,
    };
    maker.add(recipe, &[]);
    maker.token_reference();
    if recipe.fixed.is_none() {
        maker.all(edits);
    }
    let forms = maker.forms;
    budget.merge(share);
    forms
}

impl Maker<'_> {
    fn add(&mut self, recipe: &Recipe, steps: &[Step]) {
        self.add_of(self.document, recipe, steps);
    }

    fn add_of(&mut self, document: &Document, recipe: &Recipe, steps: &[Step]) {
        if let Some(bytes) = recipe.bytes_within(document, self.budget) {
            self.keep(bytes, steps);
        }
    }

    /// Keeps a form, if there is room and no earlier one has its bytes.
    fn keep(&mut self, bytes: Vec<u8>, steps: &[Step]) {
        if !self.seen.insert(self.hasher.hash_one(&bytes)) {
            return;
        }
        if !self.forms.is_empty() {
            if self.held + bytes.len() > self.most_held {
                self.budget.spent = true;
                return;
            }
            self.held += bytes.len();
        }
        self.forms.push(Form {
            bytes,
            steps: steps.to_vec(),
        });
    }

    fn all(&mut self, edits: &[Edit]) {
        let variants = self.variants();
        for (step, recipe) in &variants {
            self.add(recipe, std::slice::from_ref(step));
        }
        for edit in edits {
            self.edited(&[edit], &[]);
        }
        let attributes = self.attribute_edits();
        for edit in &attributes {
            self.edited(&[edit], &[]);
        }
        self.sources();
        self.contents();
        self.other_elements();
        // Two things.
        for edit in edits.iter().chain(&attributes) {
            self.edited(&[edit], &variants);
        }
        let all: Vec<&Edit> = edits.iter().chain(&attributes).collect();
        for (place, first) in all.iter().enumerate() {
            for second in &all[place + 1..] {
                self.edited(&[*first, *second], &[]);
            }
        }
    }

    /// The reference itself, where the STR transform means the token that it leads to, and the
    /// token without the default namespace that the transform declares.
    fn token_reference(&mut self) {
        let Some(reference) = self.recipe.reference else {
            return;
        };
        if self.recipe.token {
            let mut recipe = self.recipe.clone();
            recipe.token = false;
            let says = "the default namespace not declared at the token (`xmlns=\"\"`), as the STR transform has it";
            self.add(&recipe, &[Step::new("prefix-declaration", says)]);
        }
        let mut recipe = self.recipe.clone();
        recipe.apex = Apex::Element(reference);
        recipe.token = false;
        recipe.fixed = None;
        let says =
            "the wsse:SecurityTokenReference itself, the STR transform announced and not executed";
        self.add(&recipe, &[Step::new("str-transform", says)]);
    }

    /// Other methods, prefix lists and selections.
    fn variants(&self) -> Vec<(Step, Recipe)> {
        let announced = &self.recipe.method;
        let mut found = Vec::new();
        for method in Canonicalization::ALL {
            let mut recipe = self.recipe.clone();
            recipe.method.method = method;
            recipe.comments = method.with_comments();
            let other_method = method.is_exclusive() != announced.method.is_exclusive();
            if method.with_comments() && !other_method {
                let says = format!("the comments kept ({})", method.short_name());
                found.push((Step::new("comments", says), recipe));
            } else if method != announced.selecting(self.recipe.comments) {
                let comments_only =
                    announced.method.with_comments() && announced.selecting(false) == method;
                let step = if comments_only {
                    Step::new("comments", "the comments left out")
                } else {
                    Step::new(
                        "canonicalization",
                        format!(
                            "the canonicalization {} in the place of {}, which is announced",
                            method.short_name(),
                            announced.method.short_name()
                        ),
                    )
                };
                found.push((step, recipe));
            }
        }
        // The likely ones first.
        found.sort_by_key(|(_, recipe): &(Step, Recipe)| recipe.comments);
        if announced.method.is_exclusive() {
            let with = |prefixes: Vec<String>| {
                let mut recipe = self.recipe.clone();
                recipe.method.inclusive_prefixes = prefixes;
                recipe
            };
            if !announced.inclusive_prefixes.is_empty() {
                let step = Step::new("prefix-list", "the prefix list announced and not used");
                found.push((step, with(Vec::new())));
            }
            let scope = self.recipe.element(self.document).namespaces_in_scope();
            let name = |prefix: &str| match prefix {
                "" => "#default".to_owned(),
                prefix => prefix.to_owned(),
            };
            for (prefix, _) in scope.iter().filter(|(prefix, _)| *prefix != "xml").take(8) {
                let mut list = announced.inclusive_prefixes.clone();
                let listed = name(prefix);
                let says = match list.contains(&listed) {
                    true => {
                        list.retain(|one| *one != listed);
                        format!("the prefix `{listed}` of the prefix list not used")
                    }
                    false => {
                        list.push(listed.clone());
                        format!("the prefix `{listed}` in the prefix list, which is not announced")
                    }
                };
                found.push((Step::new("prefix-list", says), with(list)));
            }
            let all = scope.iter().map(|(prefix, _)| name(prefix)).collect();
            let step = Step::new(
                "prefix-list",
                "all prefixes in scope in the prefix list, which is not announced",
            );
            found.push((step, with(all)));
        } else if !announced.inclusive_prefixes.is_empty() {
            let mut recipe = self.recipe.clone();
            recipe.method.method = Canonicalization::Exclusive;
            found.push((
                Step::new("canonicalization", "the canonicalization exc-c14n with the prefix list, which the announced method has not"),
                recipe,
            ));
        }
        if self.recipe.omit.is_empty() {
            let element = self.recipe.element(self.document);
            let inside: Vec<NodeId> = element
                .descendants()
                .filter(|inside| inside.local() == "Signature" && *inside != element)
                .map(|inside| inside.id())
                .take(4)
                .collect();
            if !inside.is_empty() {
                let mut recipe = self.recipe.clone();
                recipe.omit = inside;
                let step = Step::new(
                    "transform-order",
                    "the signature inside of it left out (enveloped-signature not announced)",
                );
                found.push((step, recipe));
            }
        } else {
            let mut recipe = self.recipe.clone();
            recipe.omit.clear();
            let step = Step::new(
                "transform-order",
                "the signature digested with it (canonicalized before enveloped-signature)",
            );
            found.push((step, recipe));
        }
        found
    }

    /// Attributes that may have been added after the digest, by name: ids, `mustUnderstand`,
    /// others.
    fn attribute_edits(&self) -> Vec<Edit> {
        let apex = self.recipe.element(self.document);
        let source = self.document.bytes();
        let mut by_name: BTreeMap<&[u8], Vec<Written>> = BTreeMap::new();
        for element in apex.descendants() {
            let range = element.start_tag_range();
            let (start, end) = (range.start as usize, range.end as usize);
            let Some(tag) = source.get(start..end) else {
                continue;
            };
            let written = attributes(tag);
            for attribute in &written {
                let name = &tag[attribute.name.clone()];
                if declared(name).is_some()
                    || by_name.len() >= MOST_ATTRIBUTES && !by_name.contains_key(name)
                {
                    continue;
                }
                let shift = |range: &Range<usize>| start + range.start..start + range.end;
                // The declaration that came with it, if nothing else on the element needs it.
                let mut without = tag.to_vec();
                without.drain(attribute.range.clone());
                let declaration = written
                    .iter()
                    .find(|other| {
                        let prefix = prefix(name);
                        !prefix.is_empty()
                            && declared(&tag[other.name.clone()]) == Some(prefix)
                            && !uses(&without, prefix)
                    })
                    .map(|other| shift(&other.range));
                by_name.entry(name).or_default().push((
                    element.id(),
                    shift(&attribute.range),
                    declaration.into_iter().collect(),
                ));
            }
        }
        let mut edits = Vec::new();
        for (name, places) in by_name {
            let shown = String::from_utf8_lossy(name).into_owned();
            let kind = kind_of(&shown);
            let removed = |places: &[&Written], declarations: bool| {
                let ranges = places.iter().flat_map(|(_, range, others)| {
                    let others = others.iter().filter(|_| declarations);
                    std::iter::once(range).chain(others)
                });
                ranges
                    .map(|range| (range.clone(), Vec::new()))
                    .collect::<Vec<_>>()
            };
            let at_apex: Vec<_> = places
                .iter()
                .filter(|(node, ..)| *node == apex.id())
                .collect();
            let all: Vec<_> = places.iter().collect();
            let mut add = |says: String, replaced: Vec<(Range<usize>, Vec<u8>)>| {
                edits.push(Edit {
                    step: Step::new(kind, says),
                    replaced,
                });
            };
            if !at_apex.is_empty() {
                add(
                    format!("the attribute `{shown}` not there yet"),
                    removed(&at_apex, false),
                );
                add(
                    format!(
                        "the attribute `{shown}` and the declaration of its prefix not there yet"
                    ),
                    removed(&at_apex, true),
                );
            }
            // Libraries that know no wsu:Id write an id without a namespace.
            if kind == "before-id" && shown.contains(':') && !at_apex.is_empty() {
                let bare = |range: &Range<usize>| {
                    let written = &source[range.clone()];
                    let equals = written.iter().position(|byte| *byte == b'=');
                    [b" Id", &written[equals.unwrap_or_default()..]].concat()
                };
                let named = at_apex.iter();
                let named = named.map(|(_, range, _)| (range.clone(), bare(range)));
                add(
                    format!("the id written as `Id`, not as `{shown}`"),
                    named.collect(),
                );
            }
            if all.len() > at_apex.len() {
                add(
                    format!("no attribute `{shown}` in it"),
                    removed(&all, false),
                );
                add(
                    format!("no attribute `{shown}` in it, nor the declaration of its prefix"),
                    removed(&all, true),
                );
            }
        }
        // Ids and mustUnderstand are what libraries add late.
        edits.sort_by_key(|edit| edit.step.kind == "before-attribute");
        edits
    }

    /// Forms of the message with these edits.
    fn edited(&mut self, edits: &[&Edit], variants: &[(Step, Recipe)]) {
        let source = self.document.bytes();
        let mut replaced: Vec<&(Range<usize>, Vec<u8>)> =
            edits.iter().flat_map(|edit| &edit.replaced).collect();
        replaced.sort_by_key(|(range, _)| range.start);
        let overlap = replaced.windows(2).any(|two| two[0].0.end > two[1].0.start);
        if overlap || !self.budget.take(source.len()) {
            return;
        }
        let mut out = Vec::with_capacity(source.len() + 64);
        let mut copied = 0;
        for (range, by) in replaced {
            out.extend_from_slice(&source[copied..range.start]);
            out.extend_from_slice(by);
            copied = range.end;
        }
        out.extend_from_slice(&source[copied..]);
        let Ok(document) = Document::parse(out, &ParseOptions::default(), &mut Buffers::new())
        else {
            return;
        };
        if document.element_count() != self.document.element_count() {
            return;
        }
        let steps: Vec<Step> = edits.iter().map(|edit| edit.step.clone()).collect();
        if variants.is_empty() {
            let recipe = self.recipe.clone();
            self.add_of(&document, &recipe, &steps);
        }
        for (step, recipe) in variants {
            let steps = [steps.as_slice(), std::slice::from_ref(step)].concat();
            self.add_of(&document, recipe, &steps);
        }
    }

    /// The source as it is written.
    fn sources(&mut self) {
        let element = self.recipe.element(self.document);
        let step = Step::new(
            "not-canonicalized",
            "the bytes as they are written, not canonicalized",
        );
        let document = self.document;
        let whole = (self.recipe.apex == Apex::Document).then(|| document.bytes());
        let sources = [
            document.source(element.id()),
            document.content_source(element.id()),
            whole,
        ];
        for bytes in sources.into_iter().flatten() {
            if self.budget.take(bytes.len()) {
                self.keep(bytes.to_vec(), std::slice::from_ref(&step));
            }
        }
    }

    /// What is inside of the element instead of the element.
    fn contents(&mut self) {
        let element = self.recipe.element(self.document);
        let step = Step::new(
            "content-only",
            "what is inside of the element, without the element itself",
        );
        let children: Vec<NodeId> = element.children().map(|child| child.id()).collect();
        let prefixes: Vec<&str> = self
            .recipe
            .method
            .inclusive_prefixes
            .iter()
            .map(String::as_str)
            .collect();
        let options = C14nOptions {
            inclusive_prefixes: &prefixes,
            ..C14nOptions::new(self.recipe.method.selecting(self.recipe.comments))
        };
        let source = self.document.content_source(element.id());
        let source = source.map_or(0, <[u8]>::len);
        let mut bytes = Vec::new();
        let written = self.budget.take(source)
            && canonicalize_each(
                self.document,
                &children,
                &options,
                &mut C14nScratch::default(),
                &mut bytes,
            )
            .is_ok();
        if written && self.budget.take_rest(source, bytes.len()) {
            self.keep(bytes, std::slice::from_ref(&step));
        }
        // As it stands within the canonical form.
        let inner = self.forms.first().and_then(|announced| {
            let bytes = &announced.bytes;
            let start = crate::tokens::tag_length(bytes);
            let end = bytes.iter().rposition(|byte| *byte == b'<');
            bytes.get(start..end.unwrap_or(start)).map(<[u8]>::to_vec)
        });
        if let Some(inner) = inner
            && self.budget.take(inner.len())
        {
            self.keep(inner, std::slice::from_ref(&step));
        }
    }

    /// Other elements that may have been signed in its place.
    fn other_elements(&mut self) {
        let apex = self.recipe.element(self.document);
        let root = self.document.root();
        let near = apex.parent().into_iter().chain(apex.children().take(8));
        let upper = root
            .children()
            .flat_map(|child| std::iter::once(child).chain(child.children().take(16)));
        let lower = root
            .children()
            .flat_map(|child| child.children().take(4))
            .flat_map(|child| child.children().take(8));
        let mut tried = vec![apex.id()];
        let all: Vec<Element<'_>> = near
            .chain([root])
            .chain(upper)
            .chain(lower)
            .take(MOST_ELEMENTS)
            .collect();
        for element in all {
            if tried.contains(&element.id()) {
                continue;
            }
            tried.push(element.id());
            let mut recipe = self.recipe.clone();
            recipe.apex = Apex::Element(element.id());
            let says = format!("the element `{}` in its place", element.qualified_name());
            self.add(&recipe, &[Step::new("other-element", says)]);
        }
        if self.recipe.apex != Apex::Document {
            let mut recipe = self.recipe.clone();
            recipe.apex = Apex::Document;
            self.add(
                &recipe,
                &[Step::new(
                    "other-element",
                    "the whole document in its place",
                )],
            );
        }
    }
}

/// The kind of an attribute that was added late.
fn kind_of(name: &str) -> &'static str {
    let local = name.rsplit(':').next().unwrap_or(name);
    match local {
        "Id" | "ID" | "id" | "AssertionID" => "before-id",
        "mustUnderstand" | "actor" | "role" | "relay" => "before-must-understand",
        _ => "before-attribute",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use soapstone_xml::{Apex, Buffers, Document, ParseOptions};
    use soapstone_xmlsec::dsig::CanonicalizationMethod;

    use super::{Form, MOST_HELD, forms_within};
    use crate::recipe::Recipe;
    use crate::search::Budget;

    /// The forms of the root of a document with the items, so many bytes of them.
    fn forms_of(items: usize, most_held: usize, budget: &mut Budget) -> Vec<Form> {
        let item = "<i:item one='1' two='2' i:three='3' Id='4'> text <!-- remark --></i:item>";
        let source = format!("<i:all xmlns:i='urn:i'>{}</i:all>", item.repeat(items));
        let source = source.into_bytes();
        let document = Document::parse(source, &ParseOptions::default(), &mut Buffers::new());
        let document = document.expect("a document");
        let recipe = Recipe {
            apex: Apex::Element(document.root().id()),
            comments: false,
            method: CanonicalizationMethod::DEFAULT,
            omit: Vec::new(),
            token: false,
            reference: None,
            fixed: None,
        };
        forms_within(most_held, &document, &recipe, &[], budget)
    }

    #[test]
    fn forms_are_held_within_their_bound() {
        let mut budget = Budget::new(64 << 20);
        let most = 40_000;
        let forms = forms_of(100, most, &mut budget);
        let announced = forms[0].bytes.len();
        let held = forms[1..].iter().map(|form| form.bytes.len());
        let held: usize = held.sum();
        assert!(
            held <= most && held + announced > most,
            "{held} bytes in {} forms",
            forms.len()
        );
        assert!(budget.spent, "what is left out is told");
        // The announced form is there, however large it is.
        let mut budget = Budget::new(64 << 20);
        assert_eq!(forms_of(100, 1, &mut budget).len(), 1);
    }

    #[test]
    fn each_form_has_bytes_of_its_own() {
        let mut budget = Budget::new(64 << 20);
        let forms = forms_of(2, MOST_HELD, &mut budget);
        let different: HashSet<&[u8]> = forms.iter().map(|form| form.bytes.as_slice()).collect();
        assert_eq!(different.len(), forms.len());
        assert!(forms.len() > 10 && !budget.spent, "{} forms", forms.len());
    }
}
