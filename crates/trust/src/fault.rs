//! Why a service refuses a request: everything for the operator, one code for the peer (WS-Trust 1.4, 11; WS-SecureConversation 1.4, 9).
//!
//! The one rule: what the peer is told never says whether a context exists that it has not proven to hold.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_wss::{ContextName, SoapVersion};
use soapstone_xml::Element;

use crate::message::{Lifetime, MessageError, Writer};
use crate::version::{Operation, TrustVersion};

/// A fault code of WS-Trust or WS-SecureConversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrustFaultCode {
    /// `wst:InvalidRequest`.
    InvalidRequest,
    /// `wst:FailedAuthentication`.
    FailedAuthentication,
    /// `wst:RequestFailed`.
    RequestFailed,
    /// `wst:InvalidSecurityToken`.
    InvalidSecurityToken,
    /// `wst:AuthenticationBadElements`.
    AuthenticationBadElements,
    /// `wst:BadRequest`.
    BadRequest,
    /// `wst:ExpiredData`.
    ExpiredData,
    /// `wst:InvalidTimeRange`.
    InvalidTimeRange,
    /// `wst:InvalidScope`.
    InvalidScope,
    /// `wst:RenewNeeded`.
    RenewNeeded,
    /// `wst:UnableToRenew`.
    UnableToRenew,
    /// `wsc:BadContextToken`.
    BadContextToken,
    /// `wsc:UnsupportedContextToken`.
    UnsupportedContextToken,
    /// `wsc:UnknownDerivationSource`.
    UnknownDerivationSource,
    /// `wsc:RenewNeeded`.
    ContextRenewNeeded,
    /// `wsc:UnableToRenew`.
    ContextUnableToRenew,
}

impl TrustFaultCode {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::InvalidRequest,
        Self::FailedAuthentication,
        Self::RequestFailed,
        Self::InvalidSecurityToken,
        Self::AuthenticationBadElements,
        Self::BadRequest,
        Self::ExpiredData,
        Self::InvalidTimeRange,
        Self::InvalidScope,
        Self::RenewNeeded,
        Self::UnableToRenew,
        Self::BadContextToken,
        Self::UnsupportedContextToken,
        Self::UnknownDerivationSource,
        Self::ContextRenewNeeded,
        Self::ContextUnableToRenew,
    ];

    /// The usual prefix of its namespace: `wst` or `wsc`.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::BadContextToken
            | Self::UnsupportedContextToken
            | Self::UnknownDerivationSource
            | Self::ContextRenewNeeded
            | Self::ContextUnableToRenew => "wsc",
            _ => "wst",
        }
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(self, version: TrustVersion) -> &'static str {
        match self.prefix() {
            "wsc" => version.conversation().namespace(),
            _ => version.namespace(),
        }
    }

    /// Its local name.
    #[must_use]
    pub const fn local(self) -> &'static str {
        match self {
            Self::InvalidRequest => "InvalidRequest",
            Self::FailedAuthentication => "FailedAuthentication",
            Self::RequestFailed => "RequestFailed",
            Self::InvalidSecurityToken => "InvalidSecurityToken",
            Self::AuthenticationBadElements => "AuthenticationBadElements",
            Self::BadRequest => "BadRequest",
            Self::ExpiredData => "ExpiredData",
            Self::InvalidTimeRange => "InvalidTimeRange",
            Self::InvalidScope => "InvalidScope",
            Self::RenewNeeded | Self::ContextRenewNeeded => "RenewNeeded",
            Self::UnableToRenew | Self::ContextUnableToRenew => "UnableToRenew",
            Self::BadContextToken => "BadContextToken",
            Self::UnsupportedContextToken => "UnsupportedContextToken",
            Self::UnknownDerivationSource => "UnknownDerivationSource",
        }
    }

    /// The sentence that the specification gives for it.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::InvalidRequest => "The request was invalid or malformed",
            Self::FailedAuthentication => "Authentication failed",
            Self::RequestFailed => "The specified request failed",
            Self::InvalidSecurityToken => "Security token has been revoked",
            Self::AuthenticationBadElements => "Insufficient Digest Elements",
            Self::BadRequest => "The specified RequestSecurityToken is not understood.",
            Self::ExpiredData => "The request data is out-of-date",
            Self::InvalidTimeRange => "The requested time range is invalid or unsupported",
            Self::InvalidScope => "The request scope is invalid or unsupported",
            Self::RenewNeeded => "A renewable security token has expired",
            Self::UnableToRenew => "The requested renewal failed",
            Self::BadContextToken => {
                "The requested context elements are insufficient or unsupported."
            }
            Self::UnsupportedContextToken => {
                "Not all of the values associated with the SCT are supported."
            }
            Self::UnknownDerivationSource => "The specified source for the derivation is unknown.",
            Self::ContextRenewNeeded => "The provided context token has expired",
            Self::ContextUnableToRenew => "The specified context token could not be renewed.",
        }
    }

    /// Appends a `soap:Fault` with this code, in canonical form: as `faultcode` in SOAP 1.1, as `Subcode` of `Sender` in SOAP 1.2.
    pub fn write(self, version: TrustVersion, soap: SoapVersion, out: &mut Vec<u8>) {
        let code = format!("{}:{}", self.prefix(), self.local());
        let declaration = format!("xmlns:{}", self.prefix());
        let declared = [(declaration.as_str(), self.namespace(version))];
        let mut writer = Writer::new(out);
        writer.element(
            "soap:Fault",
            Some(soap.namespace()),
            &[],
            |writer| match soap {
                SoapVersion::V11 => {
                    writer.element("faultcode", None, &declared, |writer| writer.escaped(&code));
                    writer.text("faultstring", self.reason());
                }
                SoapVersion::V12 => {
                    writer.element("soap:Code", None, &[], |writer| {
                        writer.text("soap:Value", "soap:Sender");
                        writer.element("soap:Subcode", None, &[], |writer| {
                            writer.element("soap:Value", None, &declared, |writer| {
                                writer.escaped(&code);
                            });
                        });
                    });
                    writer.element("soap:Reason", None, &[], |writer| {
                        let language = [("xml:lang", "en")];
                        writer.element("soap:Text", None, &language, |writer| {
                            writer.escaped(self.reason());
                        });
                    });
                }
            },
        );
    }

    /// The code of a `soap:Fault` and its version, if it is one of these. In SOAP 1.2 the first subcode that is one counts.
    ///
    /// A fault that is not verified says what a stranger on the way likes to say.
    #[must_use]
    pub fn read(fault: Element<'_>) -> Option<(Self, TrustVersion)> {
        let soap11 = SoapVersion::V11.namespace();
        let soap12 = SoapVersion::V12.namespace();
        if fault.is(soap11, "Fault") {
            return Self::named(fault.child("", "faultcode")?);
        }
        let fault = fault.is(soap12, "Fault").then_some(fault)?;
        let mut code = fault.child(soap12, "Code")?;
        // Subcodes nest as deep as a document may.
        loop {
            if let Some(found) = code.child(soap12, "Value").and_then(Self::named) {
                return Some(found);
            }
            code = code.child(soap12, "Subcode")?;
        }
    }

    /// The code that is named by the qualified name in `value`.
    fn named(value: Element<'_>) -> Option<(Self, TrustVersion)> {
        let text = value.text_strict()?;
        let (prefix, local) = text.trim().split_once(':').unwrap_or(("", text.trim()));
        let namespace = value.namespace_of(prefix)?;
        TrustVersion::ALL.into_iter().find_map(|version| {
            let code = Self::ALL
                .into_iter()
                .find(|code| code.local() == local && code.namespace(version) == namespace)?;
            Some((code, version))
        })
    }
}

impl fmt::Display for TrustFaultCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.prefix(), self.local())
    }
}

/// A request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustFault {
    /// The version in which the peer is told; 1.3 where the request has none.
    pub version: TrustVersion,
    /// Why, for the operator.
    pub refusal: Refusal,
}

impl TrustFault {
    /// The code for the peer.
    #[must_use]
    pub fn code(&self) -> TrustFaultCode {
        self.refusal.code()
    }
}

impl fmt::Display for TrustFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(out)
    }
}

impl std::error::Error for TrustFault {}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The Body does not hold one well-formed request.
    Malformed(MessageError),
    /// A version that is not offered.
    VersionNotOffered {
        /// Of the request.
        version: TrustVersion,
    },
    /// `wsa:Action` and `wst:RequestType` ask for different things. The one chose the policy, the other would be done.
    ActionMismatch {
        /// The action.
        action: String,
        /// URI of the request type.
        request_type: String,
    },
    /// A request type that is not offered here.
    RequestTypeNotOffered {
        /// Its URI.
        found: String,
    },
    /// An element that is not understood, or nothing is done about (WS-Trust 1.4, 3.1).
    NotUnderstood {
        /// Expanded name.
        element: String,
    },
    /// A kind of token that is not issued here.
    TokenTypeNotOffered {
        /// Its URI.
        found: String,
    },
    /// A kind of key that the token cannot have.
    KeyTypeNotOffered {
        /// Its URI.
        found: String,
    },
    /// A key that is too short, too long, or no whole number of octets.
    KeySizeNotOffered {
        /// Bits asked for.
        found: u32,
        /// Fewest bits.
        minimum: u32,
        /// Most bits.
        maximum: u32,
    },
    /// An algorithm that computes keys and is unknown or not offered.
    ComputedKeyNotOffered {
        /// Its URI.
        found: String,
    },
    /// The requestor must contribute to the key.
    EntropyMissing,
    /// The requestor's entropy has the wrong length.
    EntropyLength {
        /// Octets found.
        found: usize,
        /// Fewest octets.
        minimum: usize,
    },
    /// The requestor's entropy cannot be decrypted: one failure, whatever its cause.
    EntropyUnreadable,
    /// Key material would travel, or has travelled, readable by everybody on the way.
    NotConfidential,
    /// Nobody was shown to have sent the request, or not the one who has to.
    NotAuthenticated,
    /// The wanted life of a token is none.
    TimeRange {
        /// What was asked for.
        lifetime: Lifetime,
        /// The present.
        now: Timestamp,
    },
    /// `wsp:AppliesTo` names a service for which no tokens are issued here.
    ScopeNotOffered {
        /// Its address.
        address: String,
    },
    /// What is to be renewed, cancelled or validated is missing, or names no security context.
    TargetMissing {
        /// What was to be done.
        operation: Operation,
    },
    /// The requestor did not prove to hold the key of the context (WS-SecureConversation 1.4, 4 to 6). Perhaps it does not even exist.
    ContextNotProven {
        /// What it named; `None` for the one it should have signed with.
        name: Option<ContextName>,
    },
    /// The requestor holds the key of the context, but is somebody else than the one who established it.
    ContextNotYours {
        /// The context.
        name: ContextName,
    },
    /// The context has expired.
    ContextExpired {
        /// The context.
        name: ContextName,
        /// When it ended.
        expired: Timestamp,
    },
    /// The context was renewed by its key alone as long as that is allowed.
    RenewalsExhausted {
        /// The context.
        name: ContextName,
        /// How long that is.
        limit: Duration,
    },
    /// A collection with fewer requests than two, more than the service takes, or of different types (WS-Trust 1.4, 4.2.1).
    Batch {
        /// What is wrong.
        problem: BatchProblem,
    },
    /// Contexts cannot be looked up at the moment.
    ContextsUnavailable {
        /// Why.
        problem: String,
    },
    /// The library failed.
    Library {
        /// At what.
        problem: String,
    },
}

/// What is wrong with a collection of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchProblem {
    /// Too few or too many.
    Size {
        /// How many.
        found: usize,
        /// Most that are taken.
        limit: usize,
    },
    /// A request type other than the first one's, or one for single requests (or, in a single request, one for collections).
    RequestType {
        /// Its URI.
        found: String,
    },
}

impl Refusal {
    /// The code for the peer.
    #[must_use]
    pub const fn code(&self) -> TrustFaultCode {
        match self {
            Self::Malformed(_)
            | Self::ActionMismatch { .. }
            | Self::EntropyMissing
            | Self::EntropyLength { .. }
            | Self::Batch { .. } => TrustFaultCode::InvalidRequest,
            Self::VersionNotOffered { .. }
            | Self::RequestTypeNotOffered { .. }
            | Self::NotUnderstood { .. }
            | Self::TokenTypeNotOffered { .. }
            | Self::KeyTypeNotOffered { .. }
            | Self::KeySizeNotOffered { .. }
            | Self::ComputedKeyNotOffered { .. } => TrustFaultCode::BadRequest,
            Self::EntropyUnreadable
            | Self::NotConfidential
            | Self::ContextsUnavailable { .. }
            | Self::Library { .. } => TrustFaultCode::RequestFailed,
            Self::NotAuthenticated => TrustFaultCode::FailedAuthentication,
            Self::TimeRange { .. } => TrustFaultCode::InvalidTimeRange,
            Self::ScopeNotOffered { .. } => TrustFaultCode::InvalidScope,
            Self::TargetMissing { .. }
            | Self::ContextNotProven { .. }
            | Self::ContextNotYours { .. } => TrustFaultCode::BadContextToken,
            Self::ContextExpired { .. } => TrustFaultCode::ContextRenewNeeded,
            Self::RenewalsExhausted { .. } => TrustFaultCode::ContextUnableToRenew,
        }
    }

    /// Stable name of the reason, for logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "trust-malformed",
            Self::VersionNotOffered { .. } => "trust-version",
            Self::ActionMismatch { .. } => "trust-action",
            Self::RequestTypeNotOffered { .. } => "trust-request-type",
            Self::NotUnderstood { .. } => "trust-not-understood",
            Self::TokenTypeNotOffered { .. } => "trust-token-type",
            Self::KeyTypeNotOffered { .. } => "trust-key-type",
            Self::KeySizeNotOffered { .. } => "trust-key-size",
            Self::ComputedKeyNotOffered { .. } => "trust-computed-key",
            Self::EntropyMissing | Self::EntropyLength { .. } | Self::EntropyUnreadable => {
                "trust-entropy"
            }
            Self::NotConfidential => "trust-not-confidential",
            Self::NotAuthenticated => "trust-not-authenticated",
            Self::TimeRange { .. } => "trust-time-range",
            Self::ScopeNotOffered { .. } => "trust-scope",
            Self::TargetMissing { .. } => "trust-target",
            Self::ContextNotProven { .. } => "context-not-proven",
            Self::ContextNotYours { .. } => "context-not-yours",
            Self::ContextExpired { .. } => "context-expired",
            Self::RenewalsExhausted { .. } => "context-renewals-exhausted",
            Self::Batch { .. } => "trust-batch",
            Self::ContextsUnavailable { .. } => "contexts-unavailable",
            Self::Library { .. } => "trust-library",
        }
    }
}

impl From<MessageError> for Refusal {
    fn from(error: MessageError) -> Self {
        Self::Malformed(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(out),
            Self::VersionNotOffered { version } => {
                write!(out, "requests of {version} are not answered here")
            }
            Self::ActionMismatch {
                action,
                request_type,
            } => write!(
                out,
                "the action `{action}` does not go with the request type `{request_type}`"
            ),
            Self::RequestTypeNotOffered { found } => {
                write!(out, "the request type `{found}` is not offered here")
            }
            Self::NotUnderstood { element } => {
                write!(out, "`{element}` in the request is not understood")
            }
            Self::TokenTypeNotOffered { found } => {
                write!(out, "tokens of type `{found}` are not issued here")
            }
            Self::KeyTypeNotOffered { found } => {
                write!(
                    out,
                    "expected a symmetric key to be asked for, found `{found}`"
                )
            }
            Self::KeySizeNotOffered {
                found,
                minimum,
                maximum,
            } => write!(
                out,
                "expected a key of {minimum} to {maximum} bits in whole octets to be asked for, found {found}"
            ),
            Self::ComputedKeyNotOffered { found } => {
                write!(out, "keys are not computed by `{found}` here")
            }
            Self::EntropyMissing => out.write_str("expected entropy in the request, found none"),
            Self::EntropyLength { found, minimum } => write!(
                out,
                "expected at least {minimum} octets of entropy, found {found}"
            ),
            Self::EntropyUnreadable => {
                out.write_str("the entropy of the request cannot be decrypted")
            }
            Self::NotConfidential => out.write_str(
                "key material must be encrypted in request and answer, or travel over TLS",
            ),
            Self::NotAuthenticated => {
                out.write_str("nobody was shown to have sent the request who may ask for this")
            }
            Self::TimeRange { lifetime, now } => {
                write!(out, "no token can live from {lifetime}: it is {now}")
            }
            Self::ScopeNotOffered { address } => {
                write!(out, "no tokens are issued here for `{address}`")
            }
            Self::TargetMissing { operation } => write!(
                out,
                "expected a security context to be named for {operation}, found none"
            ),
            Self::ContextNotProven { name: Some(name) } => write!(
                out,
                "the request is not signed with the key of {name}, if that exists"
            ),
            Self::ContextNotProven { name: None } => {
                out.write_str("the request is not signed with the key of a security context")
            }
            Self::ContextNotYours { name } => {
                write!(out, "somebody else than the sender established {name}")
            }
            Self::ContextExpired { name, expired } => write!(out, "{name} expired at {expired}"),
            Self::RenewalsExhausted { name, limit } => write!(
                out,
                "{name} was renewed without authentication for {} s, no longer allowed",
                limit.as_secs()
            ),
            Self::Batch { problem } => match problem {
                BatchProblem::Size { found, limit } => write!(
                    out,
                    "expected a collection of 2 to {limit} requests, found {found}"
                ),
                BatchProblem::RequestType { found } => write!(
                    out,
                    "expected requests of one type in a collection, and of a batch type there only, found `{found}`"
                ),
            },
            Self::ContextsUnavailable { problem } => {
                write!(out, "security contexts cannot be looked up: {problem}")
            }
            Self::Library { problem } => out.write_str(problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::document;

    #[test]
    fn faults_are_read_as_they_are_written() {
        for version in TrustVersion::ALL {
            for soap in [SoapVersion::V11, SoapVersion::V12] {
                for code in TrustFaultCode::ALL {
                    let mut text = Vec::new();
                    code.write(version, soap, &mut text);
                    let read = TrustFaultCode::read(document(&text).root());
                    assert_eq!(read, Some((code, version)));
                }
            }
        }
    }

    /// WS-Trust 1.4, 11 and WS-SecureConversation 1.4, 9: `RenewNeeded` and `UnableToRenew` are in both, and are different codes.
    #[test]
    fn the_namespace_tells_codes_of_the_same_name_apart() {
        assert_eq!(
            TrustFaultCode::ContextRenewNeeded.to_string(),
            "wsc:RenewNeeded"
        );
        assert_eq!(TrustFaultCode::RenewNeeded.to_string(), "wst:RenewNeeded");
        assert_eq!(
            TrustFaultCode::ContextRenewNeeded.namespace(TrustVersion::February2005),
            "http://schemas.xmlsoap.org/ws/2005/02/sc"
        );
    }

    #[test]
    fn other_faults_have_no_code_of_ours() {
        for fault in [
            "<s:Fault xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><faultcode>s:Client</faultcode></s:Fault>",
            "<s:Fault xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><faultcode>wsc:BadContextToken</faultcode></s:Fault>",
            "<s:Fault xmlns:s='http://www.w3.org/2003/05/soap-envelope'><s:Code><s:Value>s:Sender</s:Value></s:Code></s:Fault>",
            "<Fault/>",
        ] {
            assert_eq!(
                TrustFaultCode::read(document(fault.as_bytes()).root()),
                None
            );
        }
    }
}
