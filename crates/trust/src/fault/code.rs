//! Fault codes of WS-Trust and WS-SecureConversation, written and read (WS-Trust 1.4, 11;
//! WS-SecureConversation 1.4, 9).
//!
//! The one rule: the namespace tells codes of the same name apart.

use std::fmt;

use soapstone_wss::SoapVersion;
use soapstone_xml::Element;

use crate::message::Writer;
use crate::version::TrustVersion;

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

    /// Appends a `soap:Fault` with this code, in canonical form: as `faultcode` in SOAP 1.1, as
    /// `Subcode` of `Sender` in SOAP 1.2.
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

    /// The code of a `soap:Fault` and its version, if it is one of these. In SOAP 1.2 the first
    /// subcode that is one counts.
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
    pub(super) fn named(value: Element<'_>) -> Option<(Self, TrustVersion)> {
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

    /// WS-Trust 1.4, 11 and WS-SecureConversation 1.4, 9: `RenewNeeded` and `UnableToRenew` are in
    /// both, and are different codes.
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
