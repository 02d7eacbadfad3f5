//! Drafts of WS-Policy and WS-SecurityPolicy that are still in use.

use soapstone_policy::{CompileOptions, Selection};
use soapstone_wss::{ConversationVersion, Part};

use crate::support::*;

const DRAFT_OF_POLICY: &str = "http://www.w3.org/2006/07/ws-policy";
const DRAFT_OF_SECURITY_POLICY: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200512";

/// A WSDL whose binding has `attached` inside and `attributes`.
fn wsdl(attributes: &str, attached: &str) -> String {
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>
           <portType name='T'><operation name='a'><input/></operation></portType>
           <binding name='B' type='t:T' {attributes}>{attached}<soap:binding/><operation name='a'><input/></operation></binding>
           <service name='S'><port name='P' binding='t:B'/></service>
         </definitions>"
    )
}

#[test]
fn a_policy_of_the_draft_of_july_2006_is_obeyed() {
    let written = policy(&format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256"))));
    let source = wsdl("", &written.replace(WSP, DRAFT_OF_POLICY));
    let agreement = document(&source)
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    assert_eq!(*agreement.request.signature().unwrap().parts, [Part::Body]);
}

/// A port of CXF's, with the draft of WS-Addressing of the same time.
#[test]
fn addressing_is_asked_for_in_the_drafts_as_well() {
    let addressing = "<m:Addressing xmlns:m='http://www.w3.org/2007/02/addressing/metadata'><wsp:Policy/></m:Addressing>";
    let source = wsdl("", &policy(addressing).replace(WSP, DRAFT_OF_POLICY));
    let agreement = document(&source)
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    assert!(agreement.addressing);
}

#[test]
fn an_assertion_is_optional_by_the_word_of_the_draft_as_well() {
    let optional = policy("<x:a xmlns:x='urn:x' wsp:Optional='true'/>");
    let policy = document(&optional.replace(WSP, DRAFT_OF_POLICY));
    assert_eq!(policy.normal_form().unwrap().alternatives.len(), 2);
}

#[test]
fn assertions_and_inclusions_of_the_draft_of_december_2005_are_obeyed() {
    let binding = format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256")));
    let source = policy(&binding).replace(SP, DRAFT_OF_SECURITY_POLICY);
    let agreement = document(&source)
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    assert_eq!(*agreement.request.signature().unwrap().parts, [Part::Body]);
}

/// Its WS-SecureConversation has the namespace of 1.3.
#[test]
fn conversations_of_the_draft_of_december_2005_are_those_of_1_3() {
    let bootstrap = symmetric(&x509("Never", ""), &suite("Basic128"));
    let context = token(
        "SecureConversationToken",
        "AlwaysToRecipient",
        &nest("BootstrapPolicy", &bootstrap),
    );
    let source = policy(&format!(
        "{}{SIGNED_BODY}",
        symmetric(&context, &suite("Basic128"))
    ));
    let agreement = document(&source.replace(SP, DRAFT_OF_SECURITY_POLICY))
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    let conversation = agreement.conversation.unwrap();
    assert_eq!(conversation.version, ConversationVersion::V13);
}
