//! A policy file or a WSDL, with everything it refers to.
//!
//! External documents are asked for once, while reading; afterwards nothing is looked up outside.
//! The one rule: a reference leads to exactly one policy or to an error, never to one of several.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::error::PolicyError;
use crate::limits::PolicyLimits;
use crate::misplaced;
use crate::names::{Name, WSDL, WSU, XML};
use crate::node::{self, Node};
use crate::problem::PolicyProblem;
use crate::wsdl::elements::policy_uris;

/// Gives the bytes of another document, by its URI; `None` if it cannot. Relative references are
/// resolved against the document that holds them, and are relative to the first document otherwise.
pub type Resolver<'r> = &'r dyn Fn(&str) -> Option<Vec<u8>>;

/// A document that holds policies.
#[derive(Debug)]
pub struct PolicyDocument {
    pub(crate) limits: PolicyLimits,
    /// What is left of [`PolicyLimits::all_steps`].
    pub(crate) steps_left: AtomicU64,
    /// Its policies that are not applied to anything: nobody knows what they were meant for.
    pub(crate) overlooked: Vec<PolicyProblem>,
    main: Part,
    others: HashMap<Arc<str>, Part>,
}

/// One XML document.
#[derive(Debug)]
struct Part {
    root: Arc<Node>,
    /// Policies by id.
    ids: HashMap<String, Vec<Arc<Node>>>,
    /// Policies by `Name`, which is an absolute URI.
    names: HashMap<String, Vec<Arc<Node>>>,
}

impl PolicyDocument {
    /// Reads a document that stands alone: references to other documents lead nowhere.
    ///
    /// # Errors
    /// A [`PolicyError`] if it is not XML within the limits, or holds neither a policy nor a WSDL.
    pub fn parse(source: Vec<u8>, limits: &PolicyLimits) -> Result<Self, PolicyError> {
        Self::parse_with(source, limits, &|_| None)
    }

    /// Reads a document and those that it imports or refers to.
    ///
    /// # Errors
    /// A [`PolicyError`] if one of them is not XML within the limits, or if the first holds neither
    /// a policy nor a WSDL. Documents that the resolver does not give are missed only where
    /// they are needed.
    pub fn parse_with(
        source: Vec<u8>,
        limits: &PolicyLimits,
        resolver: Resolver<'_>,
    ) -> Result<Self, PolicyError> {
        let main = Part::read(source, None, limits)?;
        let mut document = Self {
            limits: limits.clone(),
            steps_left: AtomicU64::new(limits.all_steps),
            overlooked: Vec::new(),
            main,
            others: HashMap::new(),
        };
        let mut wanted = document.main.external(None);
        while let Some(uri) = wanted.pop() {
            if document.others.contains_key(&*uri) {
                continue;
            }
            if document.others.len() == limits.documents {
                return Err(PolicyError::TooManyDocuments {
                    allowed: limits.documents,
                });
            }
            if let Some(source) = resolver(&uri) {
                let part = Part::read(source, Some(uri.clone()), limits)?;
                wanted.extend(part.external(Some(&uri)));
                document.others.insert(uri, part);
            }
        }
        if document.policies().is_empty() && document.definitions().is_empty() {
            return Err(PolicyError::NoPolicy {
                root: document.main.root.name.clone(),
            });
        }
        let overlooked = document.parts().map(|part| misplaced::policies(&part.root));
        document.overlooked = overlooked.flatten().collect();
        Ok(document)
    }

    /// The policies of the first document that lie in no other policy, in document order, attached
    /// or not.
    pub fn policies(&self) -> Vec<&Arc<Node>> {
        outermost(&self.main.root, |node| node.is_policy_element("Policy"))
    }

    /// All `wsdl:definitions`, imported ones behind those of the first document.
    pub(crate) fn definitions(&self) -> Vec<&Arc<Node>> {
        self.parts()
            .flat_map(|part| outermost(&part.root, |node| node.name.is(WSDL, "definitions")))
            .collect()
    }

    /// The root elements of all documents.
    pub(crate) fn roots(&self) -> Vec<&Arc<Node>> {
        self.parts().map(|part| &part.root).collect()
    }

    /// The first document and the others, in the same order each time.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        let mut labels: Vec<_> = self.others.keys().collect();
        labels.sort_unstable();
        let others = labels.into_iter().map(|label| &self.others[label]);
        std::iter::once(&self.main).chain(others)
    }

    /// The `wsp:PolicyAttachment` elements of the first document.
    pub(crate) fn attachments(&self) -> Vec<&Arc<Node>> {
        outermost(&self.main.root, |node| {
            node.is_policy_element("PolicyAttachment")
        })
    }

    /// The policy that a reference on `from` means: of the same document by its id, of any document
    /// by its name, or of another document.
    pub(crate) fn referenced(&self, uri: &str, from: &Node) -> Result<&Arc<Node>, PolicyError> {
        let found: Vec<&Arc<Node>> = match uri.strip_prefix('#') {
            Some(id) => {
                let part = self.part(from);
                part.map(|part| part.with_id(id)).unwrap_or_default()
            }
            None => {
                let mut named = self
                    .parts()
                    .filter_map(|part| part.names.get(uri))
                    .flatten();
                match named.next() {
                    None => self.elsewhere(uri, from),
                    Some(first) => {
                        // Documents that import each other read the first one twice.
                        let other = named.find(|other| !first.says_the_same(other));
                        std::iter::once(first).chain(other).collect()
                    }
                }
            }
        };
        match found.as_slice() {
            [only] => Ok(only),
            [first, second, ..] => Err(PolicyError::AmbiguousReference {
                uri: uri.to_owned(),
                first: first.place.clone(),
                second: second.place.clone(),
            }),
            [] => Err(PolicyError::UnknownReference {
                uri: uri.to_owned(),
                place: from.place.clone(),
            }),
        }
    }

    /// The policies that a reference on `from` means in another document.
    fn elsewhere(&self, uri: &str, from: &Node) -> Vec<&Arc<Node>> {
        let (location, fragment) = split(uri);
        let location = resolve(from.place.document.as_deref(), location);
        match (self.others.get(&*location), fragment) {
            (Some(part), Some(id)) => part.with_id(id),
            (Some(part), None) if part.root.is_policy_element("Policy") => vec![&part.root],
            _ => Vec::new(),
        }
    }

    fn part(&self, node: &Node) -> Option<&Part> {
        match &node.place.document {
            None => Some(&self.main),
            Some(label) => self.others.get(label),
        }
    }

    /// The root element of the first document.
    pub fn root(&self) -> &Name {
        &self.main.root.name
    }
}

impl Part {
    fn read(
        source: Vec<u8>,
        label: Option<Arc<str>>,
        limits: &PolicyLimits,
    ) -> Result<Self, PolicyError> {
        let root =
            node::read(source, label.clone(), limits).map_err(|error| PolicyError::NotXml {
                document: label,
                error,
            })?;
        let mut ids: HashMap<String, Vec<Arc<Node>>> = HashMap::new();
        let mut names: HashMap<String, Vec<Arc<Node>>> = HashMap::new();
        root.walk(&mut |node| {
            if !node.is_policy_element("Policy") {
                return;
            }
            let mut known: Vec<&str> = [(WSU, "Id"), (XML, "id"), ("", "Id"), ("", "ID")]
                .into_iter()
                .filter_map(|(namespace, local)| node.attribute(namespace, local))
                .collect();
            known.sort_unstable();
            known.dedup();
            for id in known {
                ids.entry(id.to_owned()).or_default().push(node.clone());
            }
            if let Some(name) = node.attribute("", "Name") {
                names.entry(name.to_owned()).or_default().push(node.clone());
            }
        });
        Ok(Self { root, ids, names })
    }

    /// Its policies with this id.
    fn with_id(&self, id: &str) -> Vec<&Arc<Node>> {
        self.ids.get(id).into_iter().flatten().collect()
    }

    /// What it imports and refers to outside itself, resolved against its own place.
    fn external(&self, base: Option<&str>) -> Vec<Arc<str>> {
        let mut found = Vec::new();
        self.root.walk(&mut |node| {
            let uri = if node.is_policy_element("PolicyReference") {
                node.attribute("", "URI")
            } else if node.name.is(WSDL, "import") {
                node.attribute("", "location")
            } else {
                None
            };
            for uri in uri
                .into_iter()
                .chain(policy_uris(node))
                .filter(|uri| !uri.starts_with('#') && !self.names.contains_key(*uri))
            {
                found.push(resolve(base, split(uri).0));
            }
        });
        found
    }
}

/// A URI and its fragment.
fn split(uri: &str) -> (&str, Option<&str>) {
    match uri.split_once('#') {
        Some((location, fragment)) => (location, Some(fragment)),
        None => (uri, None),
    }
}

/// A reference in the document `base`, as the resolver is asked for it.
fn resolve(base: Option<&str>, uri: &str) -> Arc<str> {
    let absolute = uri.starts_with('/')
        || uri.split_once(':').is_some_and(|(scheme, _)| {
            scheme.len() > 1
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        });
    match base.and_then(|base| base.rsplit_once('/')) {
        Some((folder, _)) if !absolute => format!("{folder}/{uri}").into(),
        _ => uri.into(),
    }
}

/// The elements for which `wanted` holds and that lie in no other such element, in document order.
fn outermost(root: &Arc<Node>, wanted: impl Fn(&Node) -> bool) -> Vec<&Arc<Node>> {
    fn collect<'n>(
        node: &'n Arc<Node>,
        wanted: &dyn Fn(&Node) -> bool,
        found: &mut Vec<&'n Arc<Node>>,
    ) {
        if wanted(node) {
            found.push(node);
        } else {
            for child in &node.children {
                collect(child, wanted, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(root, &wanted, &mut found);
    found
}
