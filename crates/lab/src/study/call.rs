//! A call: which stack, which way, which operation.
//!
//! The rule kept here: calls that are equal are answered alike, so that they are warmed up once.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::setup::Setup;

/// What answers: one of ours, or a peer that runs as a program of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Two gateways before the sample services; for experiments in memory, the engine.
    Soapstone,
    /// Apache CXF 4.2 with WSS4J 4: a client and a server.
    Cxf,
    /// Apache CXF 3.5 with WSS4J 2.4: a client and a server.
    #[serde(rename = "cxf-3.5")]
    Cxf35,
    /// WSS4J in memory.
    Wss4j,
    /// libxmlsec1 in memory.
    Xmlsec1,
    /// gSOAP with its wsse plugin.
    Gsoap,
    /// Metro (WSIT): a client and a server.
    Metro,
    /// WCF as Mono has it: a client and a server.
    Wcf,
    /// No message security: the sample services behind TLS.
    Tls,
}

impl Stack {
    /// All of them; ours first.
    pub const ALL: [Self; 9] = [
        Self::Soapstone,
        Self::Cxf,
        Self::Cxf35,
        Self::Wss4j,
        Self::Xmlsec1,
        Self::Gsoap,
        Self::Metro,
        Self::Wcf,
        Self::Tls,
    ];

    /// Its name on the command line and in lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Soapstone => "soapstone",
            Self::Cxf => "cxf",
            Self::Cxf35 => "cxf-3.5",
            Self::Wss4j => "wss4j",
            Self::Xmlsec1 => "xmlsec1",
            Self::Gsoap => "gsoap",
            Self::Metro => "metro",
            Self::Wcf => "wcf",
            Self::Tls => "tls",
        }
    }

    /// Whether it is another stack whose client and server speak over a network.
    pub const fn is_foreign_pair(self) -> bool {
        matches!(
            self,
            Self::Cxf | Self::Cxf35 | Self::Gsoap | Self::Metro | Self::Wcf
        )
    }

    /// Whether a virtual machine compiles it while it runs.
    pub const fn is_compiled_late(self) -> bool {
        matches!(self, Self::Cxf | Self::Cxf35 | Self::Wss4j | Self::Metro)
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Stack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|stack| stack.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected a stack ({names}), found {text}")
        })
    }
}

/// Where the service takes books from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Its memory.
    Memory,
    /// A database: its place in [`Scope::databases`](super::Scope::databases).
    Database(usize),
}

/// What is asked of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `getBooks(books)`.
    Books {
        /// Where they come from.
        source: Source,
        /// How many.
        books: u32,
    },
    /// `Echo` of a text of so many characters.
    Echo {
        /// How many.
        characters: u32,
    },
    /// `EchoStringArray` of so many strings.
    Strings {
        /// How many.
        elements: u32,
    },
    /// `Sum(a, b)`.
    Sum,
    /// `EmployeeDetails()`.
    Employees,
    /// `EmployeeDetails()` with the one record of CMU/SEI-2010-TR-023: eight strings, each "Hello
    /// World".
    OneEmployee,
    /// What `EmployeeDetails` gives, as JSON and by GET: how it is without SOAP.
    Resource,
    /// `getTemperature()`, which the service reads from a sensor's controller.
    Temperature(Sensor),
    /// A call of a service of the user's, whose request is a captured message: a place in
    /// [`OwnCalls::operations`](super::OwnCalls::operations).
    Own(usize),
}

/// What the controller of a sensor is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sensor {
    /// How long it takes to answer, ms.
    pub delay: u32,
    /// Requests that it does not answer, percent.
    pub lost: u32,
}

impl Sensor {
    /// One that answers every request at once.
    pub const PROMPT: Self = Self { delay: 0, lost: 0 };
}

/// What is done to a message in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From the plain message to the secured one.
    Secure,
    /// From the secured message to the plain one.
    Open,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Who answers.
    pub stack: Stack,
    /// Which way it takes.
    pub setup: Setup,
    /// What is asked.
    pub operation: Operation,
}
