//! Which faults blame a token of the message that they answer (SOAP Message Security 1.1.1, 12;
//! WS-Trust 1.4, 11).
//!
//! A code counts whose meaning is a token, or a check that a token can fail. So do the general
//! codes by which WS-Trust, WSS4J and WCF name no cause. All other codes name the form of the
//! message, its Timestamp, its algorithms, a context, or what the message asks for. Another token
//! changes none of these.
//!
//! The one rule: a fault that blames another party than the sender blames no token.

use soapstone_wss::FaultCode;
use soapstone_wss::names::{SOAP11, SOAP12, WSSE};
use soapstone_xml::Element;

use super::TrustFaultCode;

/// Those of WS-Security. `InvalidSecurity` means the header, and WCF answers so whatever is wrong
/// in it. `UnsupportedAlgorithm` means its algorithms, and `MessageExpired` its Timestamp.
const OF_SECURITY: [FaultCode; 6] = [
    FaultCode::InvalidSecurity,
    FaultCode::UnsupportedSecurityToken,
    FaultCode::InvalidSecurityToken,
    FaultCode::FailedAuthentication,
    FaultCode::FailedCheck,
    FaultCode::SecurityTokenUnavailable,
];

/// The namespace of the one code, `SecurityError`, by which WSS4J answers whatever is wrong.
const WSS4J: &str = "http://ws.apache.org/wss4j";

/// Those of WS-Trust. `InvalidRequest` and `BadRequest` mean the form of the request. The request's
/// data that `ExpiredData` means are its tokens: its Timestamp has a code of WS-Security.
const OF_TRUST: [TrustFaultCode; 5] = [
    TrustFaultCode::FailedAuthentication,
    TrustFaultCode::RequestFailed,
    TrustFaultCode::InvalidSecurityToken,
    TrustFaultCode::ExpiredData,
    TrustFaultCode::RenewNeeded,
];

/// Whether a `soap:Fault` blames a token of the message that it answers.
///
/// Such a code is the `faultcode` of SOAP 1.1, and a subcode of `Sender` in SOAP 1.2. A fault that
/// is not verified says what a stranger on the way likes to say.
#[must_use]
pub fn blames_token(fault: Element<'_>) -> bool {
    if fault.is(SOAP11, "Fault") {
        return fault.child("", "faultcode").is_some_and(names_token);
    }
    if !fault.is(SOAP12, "Fault") {
        return false;
    }
    let code = fault.child(SOAP12, "Code").filter(|code| {
        let value = code.child(SOAP12, "Value");
        value.is_some_and(|value| is_named(value, SOAP12, "Sender"))
    });
    // Subcodes nest as deep as a document may.
    let mut subcodes = std::iter::successors(code, |code| code.child(SOAP12, "Subcode")).skip(1);
    subcodes.any(|subcode| subcode.child(SOAP12, "Value").is_some_and(names_token))
}

/// Whether the code in `value` is one of these.
fn names_token(value: Element<'_>) -> bool {
    match TrustFaultCode::named(value) {
        Some((code, _)) => OF_TRUST.contains(&code),
        None => {
            OF_SECURITY
                .iter()
                .any(|code| is_named(value, WSSE, code.local()))
                || is_named(value, WSS4J, "SecurityError")
        }
    }
}

/// Whether the text of an element is this qualified name.
fn is_named(element: Element<'_>, namespace: &str, local: &str) -> bool {
    let Some(text) = element.text_strict() else {
        return false;
    };
    let (prefix, name) = text.trim().split_once(':').unwrap_or(("", text.trim()));
    name == local && element.namespace_of(prefix) == Some(namespace)
}

#[cfg(test)]
mod tests {
    use soapstone_wss::SoapVersion;
    use soapstone_wss::names::WSU;

    use super::*;
    use crate::testing::document;
    use crate::version::TrustVersion;

    fn blames(fault: &str) -> bool {
        blames_token(document(fault.as_bytes()).root())
    }

    fn fault_11(code: &str) -> String {
        format!(
            "<s:Fault xmlns:s='{SOAP11}' xmlns:w='{WSSE}' xmlns:u='{WSU}' xmlns:j='{WSS4J}' xmlns:o='urn:o'>\
             <faultcode>{code}</faultcode><faultstring>no</faultstring></s:Fault>"
        )
    }

    /// With these codes, from the outermost to the innermost.
    fn fault_12(codes: &[&str]) -> String {
        let inner = codes.iter().rev().fold(String::new(), |inner, code| {
            let nested = match inner.is_empty() {
                true => inner,
                false => format!("<s:Subcode>{inner}</s:Subcode>"),
            };
            format!("<s:Value>{code}</s:Value>{nested}")
        });
        format!(
            "<s:Fault xmlns:s='{SOAP12}' xmlns:w='{WSSE}' xmlns:u='{WSU}' xmlns:j='{WSS4J}' xmlns:o='urn:o'>\
             <s:Code>{inner}</s:Code></s:Fault>"
        )
    }

    #[test]
    fn codes_of_ws_security_about_tokens_blame_the_token() {
        let expected = [
            ("w:UnsupportedSecurityToken", true),
            ("w:UnsupportedAlgorithm", false),
            ("w:InvalidSecurity", true),
            ("w:InvalidSecurityToken", true),
            ("w:FailedAuthentication", true),
            ("w:FailedCheck", true),
            ("w:SecurityTokenUnavailable", true),
            ("u:MessageExpired", false),
            ("j:SecurityError", true),
            ("o:SecurityError", false),
        ];
        for (code, blamed) in expected {
            assert_eq!(blames(&fault_11(code)), blamed, "{code}");
            assert_eq!(blames(&fault_12(&["s:Sender", code])), blamed, "{code}");
        }
    }

    #[test]
    fn codes_of_ws_trust_about_tokens_blame_the_token() {
        let expected = [
            "wst:FailedAuthentication",
            "wst:RequestFailed",
            "wst:InvalidSecurityToken",
            "wst:ExpiredData",
            "wst:RenewNeeded",
        ];
        for version in TrustVersion::ALL {
            for soap in [SoapVersion::V11, SoapVersion::V12] {
                let blamed = TrustFaultCode::ALL.into_iter().filter(|code| {
                    let mut text = Vec::new();
                    code.write(version, soap, &mut text);
                    blames_token(document(&text).root())
                });
                let blamed: Vec<String> = blamed.map(|code| code.to_string()).collect();
                assert_eq!(blamed, expected);
            }
        }
    }

    #[test]
    fn a_fault_of_another_party_blames_no_token() {
        for codes in [
            &["s:Receiver", "w:FailedAuthentication"][..],
            &["s:VersionMismatch", "w:FailedAuthentication"],
            &["o:Sender", "w:FailedAuthentication"],
            &["w:FailedAuthentication"],
            &["s:Sender"],
            &["s:Sender", "o:FailedAuthentication"],
            &["s:Sender", "FailedAuthentication"],
        ] {
            assert!(!blames(&fault_12(codes)), "{codes:?}");
        }
        for code in ["s:Server", "s:Client", "s:VersionMismatch", "FailedCheck"] {
            assert!(!blames(&fault_11(code)), "{code}");
        }
        assert!(!blames(
            "<Fault><faultcode>w:FailedCheck</faultcode></Fault>"
        ));
    }

    #[test]
    fn a_code_below_another_one_counts() {
        let codes = ["s:Sender", "w:UnsupportedAlgorithm", "w:FailedCheck"];
        assert!(blames(&fault_12(&codes)));
    }
}
