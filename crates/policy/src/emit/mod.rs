//! ExchangePolicies written as WS-SecurityPolicy, for clients that configure themselves.
//!
//! Written are WS-Policy 1.5 and the namespace of WS-SecurityPolicy 1.2, which 1.3 goes on using
//! and which CXF, WCF and Metro read; the drafts of 2005 where a conversation is of February 2005,
//! since the later assertions do not know its tokens. What a policy cannot say and both sides
//! decide alone is not written: freshness, trust, limits, `mustUnderstand`.
//!
//! The one rule: what is written, compiled again, demands the same of every message. Whatever
//! cannot be said is a reason, never a policy that says something else.

mod assertions;
mod equivalence;
mod reason;
mod suites;
mod version;

use soapstone_wss::ConversationVersion;
use soapstone_xml::escape;

pub use reason::Unwritable;

use crate::compile::{CompileOptions, ExchangePolicy, Selection, SignatureReading};
use crate::document::PolicyDocument;
use crate::limits::PolicyLimits;
use crate::names::{PolicyVersion, WSU};
use assertions::Assertions;
use version::Version;

/// An exchange policy, written as WS-Policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPolicy {
    /// What is demanded of endpoints: binding, tokens, options.
    endpoint: String,
    /// What is demanded of each message: its signed and encrypted parts.
    messages: String,
    version: Version,
    signatures: SignatureReading,
}

impl WrittenPolicy {
    /// How its `…Sha256` suites must be read. By the letter if it names none.
    pub fn signatures(&self) -> SignatureReading {
        self.signatures
    }

    /// The version of WS-Policy.
    pub fn version(&self) -> PolicyVersion {
        self.version.policy
    }

    /// Everything in one `wsp:Policy`.
    pub fn to_xml(&self) -> String {
        self.policy("", &format!("{}{}", self.endpoint, self.messages))
    }

    /// A `wsp:Policy` for bindings (WS-PolicyAttachment 1.5, 4.1: the endpoint policy subject),
    /// with an id.
    pub fn endpoint_xml(&self, id: &str) -> String {
        self.policy(&identified(id), &self.endpoint)
    }

    /// A `wsp:Policy` for inputs and outputs of bindings (the message policy subject), with an id.
    /// `None` if no part is named.
    pub fn messages_xml(&self, id: &str) -> Option<String> {
        (!self.messages.is_empty()).then(|| self.policy(&identified(id), &self.messages))
    }

    fn policy(&self, attributes: &str, assertions: &str) -> String {
        let Version { policy, security } = self.version;
        format!(
            "<wsp:Policy xmlns:wsp=\"{}\" xmlns:sp=\"{}\"{attributes}><wsp:ExactlyOne><wsp:All>{assertions}</wsp:All></wsp:ExactlyOne>\
             </wsp:Policy>",
            policy.namespace(),
            security.namespace()
        )
    }
}

fn identified(id: &str) -> String {
    let mut value = Vec::new();
    escape::attribute(id, &mut value);
    format!(
        " xmlns:wsu=\"{WSU}\" wsu:Id=\"{}\"",
        String::from_utf8_lossy(&value)
    )
}

impl ExchangePolicy {
    /// The exchange policy as a policy. One that demands nothing is a policy without assertions.
    ///
    /// # Errors
    /// Everything of it that WS-SecurityPolicy cannot say, or says in a way that would be read as
    /// something else.
    ///
    /// # Examples
    ///
    /// ```
    /// use soapstone_policy::{CompileOptions, PolicyDocument, PolicyLimits, Selection};
    ///
    /// let wsdl = include_bytes!("../../examples/books.wsdl").to_vec();
    /// let selection = Selection::default();
    /// let options = CompileOptions::default();
    /// let limits = PolicyLimits::default();
    /// let agreement = PolicyDocument::parse(wsdl, &limits)?.agreement(&selection, &options)?;
    /// let written = agreement.write().expect("it can be said");
    /// let again = PolicyDocument::parse(written.to_xml().into_bytes(), &limits)?
    ///     .agreement(&selection, &options)?;
    /// assert_eq!(again.request.suite, agreement.request.suite);
    /// # Ok::<(), soapstone_policy::ExchangePolicyError>(())
    /// ```
    pub fn write(&self) -> Result<WrittenPolicy, Vec<Unwritable>> {
        let version = match &self.conversation {
            Some(conversation) if conversation.version == ConversationVersion::February2005 => {
                Version::OF_2005
            }
            _ => Version::CURRENT,
        };
        let readings = [SignatureReading::Letter, SignatureReading::Sha256];
        let signatures = readings
            .into_iter()
            .find(|reading| suites::all_named(self, *reading))
            .unwrap_or_default();
        let mut problems = Vec::new();
        let mut assertions = Assertions {
            version,
            signatures,
            problems: &mut problems,
        };
        let (endpoint, messages) = assertions.of(self);
        if !problems.is_empty() {
            return Err(problems);
        }
        let written = WrittenPolicy {
            endpoint,
            messages,
            version,
            signatures,
        };
        match written.read_back() {
            Some(read) => match equivalence::first_difference(self, &read) {
                None => Ok(written),
                Some(what) => Err(vec![Unwritable::Unsaid { what }]),
            },
            None => Err(vec![Unwritable::Unsaid { what: "the whole" }]),
        }
    }
}

impl WrittenPolicy {
    /// What others would understand.
    fn read_back(&self) -> Option<ExchangePolicy> {
        let options = CompileOptions {
            signatures: self.signatures,
            ..CompileOptions::default()
        };
        PolicyDocument::parse(self.to_xml().into_bytes(), &PolicyLimits::default())
            .ok()?
            .agreement(&Selection::default(), &options)
            .ok()
    }
}
