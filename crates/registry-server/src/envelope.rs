//! SOAP envelopes and faults of the registry's answers.
//!
//! The rule kept here: an envelope is in canonical form.

use soapstone::wss::SoapVersion;
use soapstone::xml::escape;
use soapstone_registry::{Refusal, uddi};

/// The envelope around a body.
pub(crate) fn around(version: SoapVersion, body: &str) -> String {
    let soap = version.namespace();
    format!("<soap:Envelope xmlns:soap=\"{soap}\"><soap:Body>{body}</soap:Body></soap:Envelope>")
}

/// The fault of a refusal, with its `dispositionReport` (UDDI 3.0.2, section 4.8).
pub(crate) fn fault(version: SoapVersion, refusal: &Refusal) -> String {
    let reason = escape::text_of(&refusal.to_string());
    let detail = uddi::write_refusal(refusal);
    let is_ours = refusal.is_ours();
    let fault = match version {
        SoapVersion::V11 => {
            let code = if is_ours { "Server" } else { "Client" };
            format!(
                "<soap:Fault><faultcode>soap:{code}</faultcode><faultstring>{reason}</faultstring>\
                 <detail>{detail}</detail></soap:Fault>"
            )
        }
        SoapVersion::V12 => {
            let code = if is_ours { "Receiver" } else { "Sender" };
            format!(
                "<soap:Fault><soap:Code><soap:Value>soap:{code}</soap:Value></soap:Code><soap:Reason>\
                 <soap:Text xml:lang=\"en\">{reason}</soap:Text></soap:Reason><soap:Detail>{detail}</soap:Detail></soap:Fault>"
            )
        }
    };
    around(version, &fault)
}
