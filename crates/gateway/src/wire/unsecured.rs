//! Faults that arrive without the security that was asked for.
//!
//! Most peers answer a message that they refuse with a plain fault. It proves nothing, so it is not
//! passed on; but its code is the best hint that the client of an outbound route can get.
//!
//! The rule kept here: of an unproven message nothing is repeated but a name, and it is said to be
//! unproven.

use soapstone::wss::{Envelope, SoapVersion};
use soapstone::xml::{Buffers, Limits};

/// The code of a fault, by its local name: the `faultcode` of SOAP 1.1, the innermost `Subcode` of
/// SOAP 1.2, or its `Code`. `None` when the octets are no fault, or the code is no name.
pub(crate) fn fault_code(octets: Vec<u8>, buffers: &mut Buffers) -> Option<String> {
    let envelope = Envelope::parse(octets, &Limits::default(), buffers).ok()?;
    let soap = envelope.version().namespace();
    let code = {
        let fault = envelope.body().child(soap, "Fault")?;
        let value = match envelope.version() {
            SoapVersion::V11 => fault.child("", "faultcode")?.text().into_owned(),
            SoapVersion::V12 => {
                let code = fault.child(soap, "Code")?;
                let innermost = code
                    .descendants()
                    .filter(|element| element.is(soap, "Value"))
                    .last()?;
                innermost.text().into_owned()
            }
        };
        value.trim().rsplit(':').next()?.to_owned()
    };
    envelope.recycle(buffers);
    let is_name = !code.is_empty()
        && code.len() <= 64
        && code
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || octet == b'.');
    is_name.then_some(code)
}

/// What the client is told.
pub(crate) fn explanation(code: &str) -> String {
    format!("The service behind this gateway refused the message with an unsecured fault: {code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<String> {
        fault_code(text.as_bytes().to_vec(), &mut Buffers::default())
    }

    #[test]
    fn the_code_of_a_soap_11_fault_is_found() {
        let text = "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body><s:Fault>\
                    <faultcode xmlns:wsse='urn:w'>wsse:FailedCheck</faultcode><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";
        assert_eq!(code(text).as_deref(), Some("FailedCheck"));
    }

    #[test]
    fn the_subcode_of_a_soap_12_fault_is_found() {
        let text = "<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value>\
                    <s:Subcode><s:Value xmlns:w='urn:w'>w:InvalidSecurity</s:Value></s:Subcode></s:Code></s:Fault></s:Body></s:Envelope>";
        assert_eq!(code(text).as_deref(), Some("InvalidSecurity"));
    }

    #[test]
    fn what_is_no_name_is_not_repeated() {
        let text = "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body><s:Fault>\
                    <faultcode>call 555-0100 now</faultcode></s:Fault></s:Body></s:Envelope>";
        assert_eq!(code(text), None);
    }
}
