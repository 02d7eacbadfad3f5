//! The steps of a path, and which elements each selects.

use soapstone_xml::Element;

/// A child or descendant step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Step {
    /// Whether it may skip levels.
    pub(super) descendant: bool,
    /// `None` for any.
    pub(super) namespace: Option<String>,
    /// `None` for any.
    pub(super) local: Option<String>,
    pub(super) predicates: Vec<Condition>,
}

/// A predicate of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Condition {
    LocalName(String),
    NamespaceUri(String),
    Attribute {
        namespace: String,
        local: String,
        /// `None`: it is there, whatever its value.
        value: Option<String>,
    },
    /// XPath 1.0, 3.4: an attribute that is not there is unequal to nothing.
    AttributeDiffers {
        namespace: String,
        local: String,
        value: String,
    },
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
}

impl Step {
    /// Whether nothing but elements of this local name can be selected.
    pub(super) fn is_named(&self, local: &str) -> bool {
        let names = |condition: &Condition| condition.names(local);
        self.local.as_deref() == Some(local) || self.predicates.iter().any(names)
    }

    /// Whether nothing but elements of one name in one namespace can be selected.
    pub(super) fn has_name(&self) -> bool {
        let mut predicates = self.predicates.iter();
        (self.local.is_some() || predicates.clone().any(Condition::has_local))
            && (self.namespace.is_some() || predicates.any(Condition::has_namespace))
    }

    /// Whether the step leads to an element.
    pub(super) fn selects(&self, element: Element<'_>) -> bool {
        self.local
            .as_deref()
            .is_none_or(|local| local == element.local())
            && self
                .namespace
                .as_deref()
                .is_none_or(|namespace| namespace == element.namespace())
            && self
                .predicates
                .iter()
                .all(|condition| condition.holds(element))
    }
}

impl Condition {
    /// Whether it holds for elements of this local name alone.
    fn names(&self, local: &str) -> bool {
        match self {
            Self::LocalName(wanted) => wanted == local,
            Self::And(conditions) => conditions.iter().any(|condition| condition.names(local)),
            _ => false,
        }
    }

    /// Whether it holds for elements of one local name alone.
    fn has_local(&self) -> bool {
        match self {
            Self::LocalName(_) => true,
            Self::And(conditions) => conditions.iter().any(Self::has_local),
            _ => false,
        }
    }

    /// Whether it holds for elements of one namespace alone.
    fn has_namespace(&self) -> bool {
        match self {
            Self::NamespaceUri(_) => true,
            Self::And(conditions) => conditions.iter().any(Self::has_namespace),
            _ => false,
        }
    }

    fn holds(&self, element: Element<'_>) -> bool {
        match self {
            Self::LocalName(wanted) => element.local() == wanted,
            Self::NamespaceUri(wanted) => element.namespace() == wanted,
            Self::Attribute {
                namespace,
                local,
                value,
            } => element
                .attribute(namespace, local)
                .is_some_and(|found| value.as_deref().is_none_or(|value| found == value)),
            Self::AttributeDiffers {
                namespace,
                local,
                value,
            } => element
                .attribute(namespace, local)
                .is_some_and(|found| found != value.as_str()),
            Self::Not(condition) => !condition.holds(element),
            Self::And(conditions) => conditions.iter().all(|condition| condition.holds(element)),
            Self::Or(conditions) => conditions.iter().any(|condition| condition.holds(element)),
        }
    }
}
