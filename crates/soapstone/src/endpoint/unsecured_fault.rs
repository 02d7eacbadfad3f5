//! Faults that arrive without the security that was asked for.
//!
//! Most services answer a message that they refuse with a plain fault. Such a fault proves nothing,
//! and its text is the best hint that an operator gets.
//!
//! The rule kept here: a fault that claims any security is no unsecured fault, so that a signature
//! which does not verify is never passed over.

use soapstone_trust::blames_token;
use soapstone_wss::names::{WSSE, WSU};
use soapstone_wss::{Envelope, SoapVersion};
use soapstone_xml::{Apex, Buffers, C14nOptions, Canonicalization, Element, Limits, canonicalize};

use super::fault::{Blame, blame};

/// Most characters of reason and detail that are kept, of each.
const LONGEST_TEXT: usize = 2_000;

/// A fault that nobody secured.
#[derive(Clone, Debug)]
pub struct UnsecuredFault {
    /// The local name of its code: the `faultcode` of SOAP 1.1, the innermost `Subcode` of SOAP
    /// 1.2, or its `Code`. `None` where that is no name.
    pub code: Option<String>,
    /// `faultstring`, or the first `Text` of `Reason`: the beginning.
    pub reason: String,
    /// What the elements of `detail` say, each behind its name: the beginning.
    pub detail: String,
    /// The version of the message.
    pub version: SoapVersion,
    /// Whom it blames.
    pub blame: Blame,
    /// Whether it blames a token of the message that it answers, as [`blames_token`] says.
    pub blames_token: bool,
    /// An envelope with the fault and nothing else; `None` where the message claims some security.
    pub plain: Option<Vec<u8>>,
}

impl UnsecuredFault {
    /// Reads a message that was refused; `None` if it is no fault.
    pub fn read(bytes: Vec<u8>, buffers: &mut Buffers) -> Option<Self> {
        let envelope = Envelope::parse(bytes, &Limits::default(), buffers).ok()?;
        let fault = Self::of(&envelope);
        envelope.recycle(buffers);
        fault
    }

    fn of(envelope: &Envelope) -> Option<Self> {
        let version = envelope.version();
        let soap = version.namespace();
        let blame = blame(envelope)?;
        let fault = envelope.body().child(soap, "Fault")?;
        let (code, reason, detail) = match version {
            SoapVersion::V11 => (
                fault.child("", "faultcode"),
                fault.child("", "faultstring"),
                fault.child("", "detail"),
            ),
            SoapVersion::V12 => {
                let code = fault.child(soap, "Code");
                let values = code.into_iter().flat_map(|code| code.descendants());
                let reason = fault.child(soap, "Reason");
                (
                    values.filter(|element| element.is(soap, "Value")).last(),
                    reason.and_then(|reason| reason.child(soap, "Text")),
                    fault.child(soap, "Detail"),
                )
            }
        };
        let plain = match is_secured(envelope) {
            true => None,
            false => rebuilt(envelope, fault),
        };
        Some(Self {
            code: code.and_then(name_of),
            reason: reason.map_or_else(String::new, |reason| beginning(&reason.text())),
            detail: detail.map_or_else(String::new, told),
            version,
            blame,
            blames_token: blames_token(fault),
            plain,
        })
    }

    /// Code, reason and detail, for operators.
    pub fn text(&self) -> String {
        let mut text = self
            .code
            .clone()
            .unwrap_or_else(|| "without a code".to_owned());
        for (before, more) in [(": ", &self.reason), ("; detail: ", &self.detail)] {
            if !more.is_empty() {
                text.push_str(before);
                text.push_str(more);
            }
        }
        text
    }
}

/// Whether a message claims some security: a `wsse:Security` header has anything but a Timestamp.
fn is_secured(envelope: &Envelope) -> bool {
    let blocks = envelope.header().into_iter();
    let headers = blocks.flat_map(|header| header.children());
    let mut items = headers
        .filter(|block| block.is(WSSE, "Security"))
        .flat_map(|security| security.children());
    items.any(|item| !item.is(WSU, "Timestamp"))
}

/// An envelope around a fault.
fn rebuilt(envelope: &Envelope, fault: Element<'_>) -> Option<Vec<u8>> {
    let soap = envelope.version().namespace();
    let mut out = format!("<soap:Envelope xmlns:soap=\"{soap}\"><soap:Body>").into_bytes();
    let options = C14nOptions {
        inherited_attributes: false,
        ..C14nOptions::new(Canonicalization::Inclusive10)
    };
    let mut buffers = Buffers::default();
    let scratch = &mut buffers.take_scratch();
    let apex = Apex::Element(fault.id());
    canonicalize(envelope.document(), apex, &options, scratch, &mut out).ok()?;
    out.extend_from_slice(b"</soap:Body></soap:Envelope>");
    Some(out)
}

/// The local name of a code.
fn name_of(code: Element<'_>) -> Option<String> {
    let text = code.text();
    let name = text.trim().rsplit(':').next()?;
    let is_name = !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    is_name.then(|| name.to_owned())
}

/// What the elements of a detail say that hold text alone.
fn told(detail: Element<'_>) -> String {
    let mut told = String::new();
    for element in detail.descendants() {
        if element.first_child().is_some() || told.len() > LONGEST_TEXT {
            continue;
        }
        let text = beginning(&element.text());
        if !text.is_empty() {
            let separator = if told.is_empty() { "" } else { ", " };
            told.push_str(&format!("{separator}{}: {text}", element.local()));
        }
    }
    told
}

/// The beginning of a text, on one line.
fn beginning(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: SoapVersion, header: &str, fault: &str) -> Option<UnsecuredFault> {
        let soap = version.namespace();
        let text = format!(
            "<s:Envelope xmlns:s='{soap}' xmlns:w='{WSSE}' xmlns:u='{WSU}' xml:lang='de'>{header}<s:Body>{fault}</s:Body></s:Envelope>"
        );
        UnsecuredFault::read(text.into_bytes(), &mut Buffers::default())
    }

    const OF_SOAP_11: &str = "<s:Fault><faultcode>w:FailedCheck</faultcode><faultstring>sold\n out</faultstring>\
        <detail><e:error xmlns:e='urn:e'><e:code>E42</e:code><e:text>none left</e:text></e:error></detail></s:Fault>";

    #[test]
    fn code_reason_and_detail_of_soap_11_are_read() {
        let fault = read(SoapVersion::V11, "", OF_SOAP_11).expect("a fault");
        assert_eq!(
            fault.text(),
            "FailedCheck: sold out; detail: code: E42, text: none left"
        );
        assert!(fault.blames_token);
    }

    #[test]
    fn the_subcode_and_the_reason_of_soap_12_are_read() {
        let text = "<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>w:UnsupportedAlgorithm</s:Value>\
            </s:Subcode></s:Code><s:Reason><s:Text xml:lang='en'>no</s:Text></s:Reason></s:Fault>";
        let fault = read(SoapVersion::V12, "", text).expect("a fault");
        assert_eq!(fault.text(), "UnsupportedAlgorithm: no");
        assert_eq!(fault.blame, Blame::Sender);
        assert!(!fault.blames_token);
    }

    #[test]
    fn what_is_no_name_is_no_code() {
        let text = "<s:Fault><faultcode>call 555-0100 now</faultcode></s:Fault>";
        let fault = read(SoapVersion::V11, "", text).expect("a fault");
        assert_eq!(fault.code, None);
        assert_eq!(fault.text(), "without a code");
        assert!(read(SoapVersion::V11, "", "<w:Fault/>").is_none());
    }

    #[test]
    fn a_fault_is_passed_on_alone() {
        let fault = read(SoapVersion::V11, "", OF_SOAP_11).expect("a fault");
        let plain = String::from_utf8(fault.plain.expect("nothing secures it")).expect("text");
        let soap = SoapVersion::V11.namespace();
        assert!(
            plain.starts_with(&format!(
                "<soap:Envelope xmlns:soap=\"{soap}\"><soap:Body><s:Fault xmlns:s=\"{soap}\""
            )),
            "{plain}"
        );
        assert!(!plain.contains("xml:lang"), "{plain}");
        let again = UnsecuredFault::read(plain.into_bytes(), &mut Buffers::default());
        assert_eq!(again.expect("a fault").text(), fault_text());
    }

    fn fault_text() -> String {
        read(SoapVersion::V11, "", OF_SOAP_11)
            .expect("a fault")
            .text()
    }

    #[test]
    fn a_fault_that_claims_security_is_not_passed_on() {
        for (items, is_plain) in [
            ("", true),
            ("<u:Timestamp/>", true),
            ("<w:BinarySecurityToken/>", false),
            ("<d:Signature xmlns:d='urn:d'/>", false),
            ("<u:Timestamp/><d:Signature xmlns:d='urn:d'/>", false),
        ] {
            for actor in ["", " s:actor='urn:other'"] {
                let header =
                    format!("<s:Header><w:Security{actor}>{items}</w:Security></s:Header>");
                let fault = read(SoapVersion::V11, &header, OF_SOAP_11).expect("a fault");
                assert_eq!(fault.plain.is_some(), is_plain, "{header}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let text = format!(
            "<s:Fault><faultcode>s:Server</faultcode><faultstring>{0}</faultstring><detail><a>{0}</a><b>{0}</b><c>{0}</c></detail></s:Fault>",
            "x".repeat(100_000)
        );
        let fault = read(SoapVersion::V11, "", &text).expect("a fault");
        assert!(
            fault.text().len() < 4 * LONGEST_TEXT,
            "{}",
            fault.text().len()
        );
    }
}
