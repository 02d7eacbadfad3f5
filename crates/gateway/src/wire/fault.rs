//! SOAP faults, as the gateway answers with them.
//!
//! Codes are those of WSS SOAP Message Security 1.1 section 12, and `wsu:MessageExpired` of its
//! section 10. In SOAP 1.1 such a code is the `faultcode`; in SOAP 1.2 it is the `Subcode` of
//! `Sender` (SOAP 1.2 part 1 section 5.4.6). The status is 500 for SOAP 1.1 (SOAP 1.1 section 6.2),
//! and for SOAP 1.2 it is 400 when the sender is at fault, else 500 (SOAP 1.2 part 2 section
//! 7.5.2.2), unless HTTP itself has a truer one (413, 429, 502, 503, 504).
//!
//! The rule kept here: the peer learns the coarse code and nothing that tells two failures of the
//! same code apart.

use http::{HeaderValue, Response, StatusCode, header};
use soapstone::wss::names::{WSSE, WSU};
use soapstone::wss::{FaultCode, SoapVersion};
use soapstone::xml::escape;

use crate::wire::media;
use crate::wire::reply::Reply;

/// Why a request failed, for operators.
pub(crate) struct Failure {
    /// A stable name.
    pub(crate) reason: &'static str,
    /// What happened.
    pub(crate) detail: String,
    /// What the operator might look at first.
    pub(crate) hint: Option<&'static str>,
}

impl Failure {
    /// One that says everything by itself.
    pub(crate) fn new(reason: &'static str, detail: String) -> Self {
        Self {
            reason,
            detail,
            hint: None,
        }
    }
}

/// What a fault says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The engine refused the message.
    Refused(FaultCode),
    /// The request's body is larger than allowed.
    TooLarge,
    /// The request's body did not arrive in time.
    RequestTimeout,
    /// The request's body broke off.
    Incomplete,
    /// The request's content is not a SOAP envelope as it stands: another media type.
    MediaType,
    /// The plain request is of no operation that the policy of the backend knows.
    OperationUnknown,
    /// The plain request may be of several operations whose policies differ.
    OperationUnclear,
    /// The policy wants TLS, and the request came without.
    NeedsTls,
    /// The connection was made without the client certificate that the policy wants.
    NeedsClientCertificate,
    /// The backend cannot be reached, or does not answer as it should.
    BadGateway,
    /// The backend is too slow.
    GatewayTimeout,
    /// Too much to do.
    Busy,
    /// What the message says of its needs is not understood.
    NeedsUnclear,
    /// No backend has the security that the message needs.
    NeedsUncovered,
    /// No role lets the sender do it.
    NotAllowed,
    /// More requests than the client, the partner or the route may have.
    TooMany,
    /// A mistake of ours.
    Internal,
}

impl Cause {
    /// Prefix and local name of the code, as they stand in metrics and in SOAP 1.1.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Refused(code) => match code {
                FaultCode::UnsupportedSecurityToken => "wsse:UnsupportedSecurityToken",
                FaultCode::UnsupportedAlgorithm => "wsse:UnsupportedAlgorithm",
                FaultCode::InvalidSecurity => "wsse:InvalidSecurity",
                FaultCode::InvalidSecurityToken => "wsse:InvalidSecurityToken",
                FaultCode::FailedAuthentication => "wsse:FailedAuthentication",
                FaultCode::FailedCheck => "wsse:FailedCheck",
                FaultCode::SecurityTokenUnavailable => "wsse:SecurityTokenUnavailable",
                FaultCode::MessageExpired => "wsu:MessageExpired",
                FaultCode::BadContextToken(_) => "wsc:BadContextToken",
                FaultCode::RenewNeeded(_) => "wsc:RenewNeeded",
                FaultCode::Sender => "soap:Client",
                FaultCode::MustUnderstand => "soap:MustUnderstand",
                FaultCode::VersionMismatch => "soap:VersionMismatch",
            },
            Self::TooLarge
            | Self::RequestTimeout
            | Self::Incomplete
            | Self::MediaType
            | Self::OperationUnknown
            | Self::OperationUnclear
            | Self::NeedsTls
            | Self::NotAllowed
            | Self::NeedsUnclear
            | Self::NeedsClientCertificate => "soap:Client",
            Self::BadGateway
            | Self::GatewayTimeout
            | Self::Busy
            | Self::NeedsUncovered
            | Self::TooMany
            | Self::Internal => "soap:Server",
        }
    }

    /// One sentence for the peer. Those of the security codes are the specification's own (section
    /// 12).
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Refused(code) => code.reason(),
            Self::TooLarge => "The message is larger than this service accepts",
            Self::RequestTimeout => "The message did not arrive in time",
            Self::Incomplete => "The message broke off",
            Self::MediaType => {
                "The content type must be text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2)"
            }
            Self::OperationUnknown => {
                "The Body holds no operation that the policy of the service knows"
            }
            Self::OperationUnclear => {
                "Several operations fit the message, and their policies differ: say by SOAPAction which is meant"
            }
            Self::NeedsTls => "This service is called through TLS only",
            Self::NeedsClientCertificate => "This service wants a client certificate",
            Self::BadGateway => "The service behind this gateway gave no usable answer",
            Self::GatewayTimeout => "The service behind this gateway did not answer in time",
            Self::Busy => "The gateway is busy; try again later",
            Self::NeedsUnclear => "The message says needs that are not understood here",
            Self::NeedsUncovered => {
                "No service behind this gateway has the security that the message needs"
            }
            Self::NotAllowed => "The sender may not do this here",
            Self::TooMany => "Too many requests; try again later",
            Self::Internal => "The gateway failed",
        }
    }

    fn is_senders(self) -> bool {
        !self.code().ends_with(":Server")
    }

    fn status(self, version: SoapVersion) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Incomplete => StatusCode::BAD_REQUEST,
            Self::NeedsTls | Self::NeedsClientCertificate | Self::NotAllowed => {
                StatusCode::FORBIDDEN
            }
            Self::BadGateway => StatusCode::BAD_GATEWAY,
            Self::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::NeedsUncovered | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Refused(FaultCode::MustUnderstand | FaultCode::VersionMismatch) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Refused(_)
            | Self::OperationUnknown
            | Self::OperationUnclear
            | Self::NeedsUnclear => match version {
                SoapVersion::V11 => StatusCode::INTERNAL_SERVER_ERROR,
                SoapVersion::V12 => StatusCode::BAD_REQUEST,
            },
        }
    }
}

/// A response with a fault.
pub(crate) fn response(version: SoapVersion, cause: Cause) -> Response<Reply> {
    let mut response = Response::new(body(version, cause, cause.reason()));
    *response.status_mut() = cause.status(version);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media::plain(version));
    if cause == Cause::Busy {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Status and envelope of the fault for a message that the engine refused: for other servers than
/// the gateway.
pub fn refusal(version: SoapVersion, code: FaultCode) -> (StatusCode, String) {
    let cause = Cause::Refused(code);
    (
        cause.status(version),
        envelope(version, cause, cause.reason()),
    )
}

/// The envelope of a fault that says more, or less, than its cause does.
pub(crate) fn body(version: SoapVersion, cause: Cause, reason: &str) -> Reply {
    Reply::whole(envelope(version, cause, reason))
}

fn envelope(version: SoapVersion, cause: Cause, reason: &str) -> String {
    let code = cause.code();
    let (prefix, local) = code.split_once(':').unwrap_or(("soap", code));
    let namespace = match (prefix, cause) {
        (
            _,
            Cause::Refused(FaultCode::BadContextToken(version) | FaultCode::RenewNeeded(version)),
        ) => Some(version.namespace()),
        ("wsse", _) => Some(WSSE),
        ("wsu", _) => Some(WSU),
        _ => None,
    };
    let declaration = namespace.map_or(String::new(), |uri| format!(" xmlns:{prefix}=\"{uri}\""));
    let (reason, soap) = (escape::text_of(reason), version.namespace());
    match version {
        SoapVersion::V11 => format!(
            "<soap:Envelope xmlns:soap=\"{soap}\"><soap:Body><soap:Fault><faultcode{declaration}>{code}</faultcode>\
             <faultstring>{reason}</faultstring></soap:Fault></soap:Body></soap:Envelope>"
        ),
        SoapVersion::V12 => {
            let value = match local {
                "MustUnderstand" | "VersionMismatch" => local,
                _ if cause.is_senders() => "Sender",
                _ => "Receiver",
            };
            let subcode = namespace.map_or(String::new(), |_| {
                format!("<soap:Subcode><soap:Value{declaration}>{code}</soap:Value></soap:Subcode>")
            });
            format!(
                "<soap:Envelope xmlns:soap=\"{soap}\"><soap:Body><soap:Fault><soap:Code><soap:Value>soap:{value}</soap:Value>\
                 {subcode}</soap:Code><soap:Reason><soap:Text xml:lang=\"en\">{reason}</soap:Text></soap:Reason></soap:Fault>\
                 </soap:Body></soap:Envelope>"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_security_fault_of_soap_11_has_its_code_as_the_faultcode() {
        let text = envelope(
            SoapVersion::V11,
            Cause::Refused(FaultCode::FailedCheck),
            "The signature & all",
        );
        assert_eq!(
            text,
            "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body><soap:Fault>\
             <faultcode xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
             wsse:FailedCheck</faultcode><faultstring>The signature &amp; all</faultstring></soap:Fault></soap:Body></soap:Envelope>"
        );
    }

    #[test]
    fn a_security_fault_of_soap_12_has_its_code_as_the_subcode_of_sender() {
        let cause = Cause::Refused(FaultCode::MessageExpired);
        assert_eq!(
            envelope(SoapVersion::V12, cause, "Late"),
            "<soap:Envelope xmlns:soap=\"http://www.w3.org/2003/05/soap-envelope\"><soap:Body><soap:Fault><soap:Code>\
             <soap:Value>soap:Sender</soap:Value><soap:Subcode><soap:Value xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/\
             oasis-200401-wss-wssecurity-utility-1.0.xsd\">wsu:MessageExpired</soap:Value></soap:Subcode></soap:Code><soap:Reason>\
             <soap:Text xml:lang=\"en\">Late</soap:Text></soap:Reason></soap:Fault></soap:Body></soap:Envelope>"
        );
        assert_eq!(cause.status(SoapVersion::V12), StatusCode::BAD_REQUEST);
        assert_eq!(
            cause.status(SoapVersion::V11),
            StatusCode::INTERNAL_SERVER_ERROR
        );
    }

    #[test]
    fn a_busy_gateway_says_when_to_try_again() {
        let response = response(SoapVersion::V12, Cause::Busy);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "application/soap+xml; charset=utf-8"
        );
    }
}
