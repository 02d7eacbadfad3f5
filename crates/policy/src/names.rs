//! Namespaces of policies, each spelled once, and the versions they stand for.

use std::fmt;
use std::sync::Arc;

/// WSDL 1.1.
pub(crate) const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
/// XML Schema 1.0.
pub(crate) const XSD: &str = "http://www.w3.org/2001/XMLSchema";
/// The SOAP 1.1 binding of WSDL 1.1.
pub(crate) const WSDL_SOAP11: &str = "http://schemas.xmlsoap.org/wsdl/soap/";
/// The SOAP 1.2 binding of WSDL 1.1.
pub(crate) const WSDL_SOAP12: &str = "http://schemas.xmlsoap.org/wsdl/soap12/";
/// WS-Security utility elements: `wsu:Id`.
pub(crate) const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
/// WS-Security elements: `wsse:Security`.
pub(crate) const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
/// The namespace of `xml:id`.
pub(crate) const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// WS-Addressing 1.0 Metadata.
pub(crate) const ADDRESSING_METADATA: &str = "http://www.w3.org/2007/05/addressing/metadata";
/// Its draft of February 2007.
pub(crate) const ADDRESSING_METADATA_DRAFT: &str = "http://www.w3.org/2007/02/addressing/metadata";
/// WS-Addressing 1.0 WSDL Binding, candidate recommendation, which is still in use.
pub(crate) const ADDRESSING_WSDL: &str = "http://www.w3.org/2006/05/addressing/wsdl";
/// WS-Addressing of August 2004, whose `Action` stands in descriptions as well.
pub(crate) const ADDRESSING_2004: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
/// WS-Addressing of August 2004 as a policy assertion.
pub(crate) const ADDRESSING_2004_POLICY: &str =
    "http://schemas.xmlsoap.org/ws/2004/08/addressing/policy";
/// The algorithm suites that Apache CXF adds to those of the specification.
pub(crate) const CXF_SUITES: &str = "http://cxf.apache.org/custom/security-policy";

/// A version of WS-Policy, by its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyVersion {
    /// 1.2 (September 2004).
    V12,
    /// The draft of 1.5 of July 2006, which says the same in another namespace and is still in use.
    V15Draft,
    /// 1.5.
    V15,
}

impl PolicyVersion {
    /// All of them, the newest first.
    pub(crate) const ALL: [Self; 3] = [Self::V15, Self::V15Draft, Self::V12];

    /// Its namespace.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::V12 => "http://schemas.xmlsoap.org/ws/2004/09/policy",
            Self::V15Draft => "http://www.w3.org/2006/07/ws-policy",
            Self::V15 => "http://www.w3.org/ns/ws-policy",
        }
    }

    /// The version with this namespace.
    pub fn from_namespace(namespace: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.namespace() == namespace)
    }
}

/// A version of WS-SecurityPolicy, by its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecurityPolicyVersion {
    /// 1.1 (July 2005).
    V11,
    /// The draft of 1.2 of December 2005, which WebSphere writes.
    V12Draft,
    /// 1.2.
    V12,
    /// What 1.3 adds to 1.2; the rest of 1.3 is in the namespace of 1.2.
    V13,
}

impl SecurityPolicyVersion {
    /// All of them, the oldest first.
    pub(crate) const ALL: [Self; 4] = [Self::V11, Self::V12Draft, Self::V12, Self::V13];

    /// Its namespace.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::V11 => "http://schemas.xmlsoap.org/ws/2005/07/securitypolicy",
            Self::V12Draft => "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200512",
            Self::V12 => "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702",
            Self::V13 => "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200802",
        }
    }

    /// The version with this namespace.
    pub fn from_namespace(namespace: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.namespace() == namespace)
    }
}

/// An expanded name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// Namespace name; empty for none.
    pub namespace: Arc<str>,
    /// Local name.
    pub local: Arc<str>,
}

impl Name {
    /// Whether this is it.
    pub fn is(&self, namespace: &str, local: &str) -> bool {
        &*self.local == local && &*self.namespace == namespace
    }

    /// The version of WS-Policy whose element this is.
    pub fn policy_version(&self) -> Option<PolicyVersion> {
        PolicyVersion::from_namespace(&self.namespace)
    }

    /// Whether this is a word of a version of WS-Policy that is not known: it would be taken for
    /// somebody else's, and what it says for nothing.
    pub(crate) fn is_of_other_policy_version(&self) -> bool {
        let namespace = &*self.namespace;
        let of_policy = |start, end| namespace.starts_with(start) && namespace.ends_with(end);
        self.policy_version().is_none()
            && matches!(&*self.local, "Policy" | "PolicyReference" | "PolicyURIs")
            && (of_policy("http://schemas.xmlsoap.org/ws/", "/policy")
                || of_policy("http://www.w3.org/", "ws-policy"))
    }

    /// The version of WS-SecurityPolicy whose assertion this is.
    pub fn security_version(&self) -> Option<SecurityPolicyVersion> {
        SecurityPolicyVersion::from_namespace(&self.namespace)
    }
}

impl fmt::Display for Name {
    /// `sp:Name` for assertions of WS-SecurityPolicy, `wsp:Name` for WS-Policy, `{namespace}name`
    /// for everything else.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.security_version().is_some() {
            return write!(out, "sp:{}", self.local);
        }
        if self.policy_version().is_some() {
            return write!(out, "wsp:{}", self.local);
        }
        match &*self.namespace {
            "" => out.write_str(&self.local),
            namespace => write!(out, "{{{namespace}}}{}", self.local),
        }
    }
}
