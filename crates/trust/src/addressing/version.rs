//! The versions of WS-Addressing, and what each has in the place of the other's names.
//!
//! The one rule: a version is known by its namespace.

/// A version of WS-Addressing, by its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressingVersion {
    /// August 2004, the member submission.
    August2004,
    /// 1.0, the recommendation (2005/08).
    V10,
}

impl AddressingVersion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V10, Self::August2004];

    /// Namespace of its elements (`wsa`).
    #[must_use]
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::August2004 => "http://schemas.xmlsoap.org/ws/2004/08/addressing",
            Self::V10 => "http://www.w3.org/2005/08/addressing",
        }
    }

    /// The version with this namespace.
    #[must_use]
    pub fn from_namespace(namespace: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.namespace() == namespace)
    }

    /// The address of whoever is at the other end of the connection (1.0 Core, 2.1).
    #[must_use]
    pub const fn anonymous(self) -> &'static str {
        match self {
            Self::August2004 => "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous",
            Self::V10 => "http://www.w3.org/2005/08/addressing/anonymous",
        }
    }

    /// The action of an answer that is a fault of SOAP or of an application (1.0 SOAP Binding, 6).
    #[must_use]
    pub const fn fault_action(self) -> &'static str {
        match self {
            Self::August2004 => "http://schemas.xmlsoap.org/ws/2004/08/addressing/fault",
            Self::V10 => "http://www.w3.org/2005/08/addressing/soap/fault",
        }
    }
}
