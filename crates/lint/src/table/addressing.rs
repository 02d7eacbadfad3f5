//! WS-Addressing in messages and descriptions, as Basic Profile 1.2 and 2.0 take it in.
//!
//! The text of the two profiles was not at hand, so these rules have names in place of numbers. The
//! column of clauses names the specification that the profiles make stricter.

use crate::rule::{Profile, Profiles};

const OWN: Profiles = Profiles::of(Profile::Bp12).with(Profile::Bp20);

rules! { ADDRESSING OWN, Addressing;
"bp-action" MUST "wsa:Action" "WS-Addressing Core, 3.2"
    "A message with addressing headers has an action."
    "Add a wsa:Action; the description says which one.";
"bp-addressing-once" MUST "wsa:To, wsa:ReplyTo, wsa:FaultTo, wsa:Action, wsa:MessageID" "WS-Addressing SOAP Binding, 3.2.2"
    "A receiver is given each addressing header once at most."
    "Remove the second header, or address it to another role.";
"bp-addressing-iri" MUST "wsa:To, wsa:Action, wsa:MessageID, wsa:RelatesTo" "WS-Addressing SOAP Binding, 3.4"
    "The value of an addressing header is an absolute IRI."
    "Write a scheme in front, such as urn:uuid: of an id.";
"bp-endpoint-address" MUST "wsa:From, wsa:ReplyTo, wsa:FaultTo" "WS-Addressing Core, 2.2"
    "An endpoint reference has one address, which is an absolute IRI."
    "Add a wsa:Address.";
"bp-addressing-version" SHOULD "addressing headers" "WS-Addressing Core, 1.2"
    "Addressing headers are of WS-Addressing 1.0, and not of a draft."
    "Write the namespace http://www.w3.org/2005/08/addressing.";
"bp-message-id" SHOULD "wsa:MessageID" "WS-Addressing Core, 3.4; WS-Addressing Metadata, 5.1"
    "A message that says where replies go has an id, which the reply relates to. One-way messages may do without."
    "Add a wsa:MessageID, if the operation has an output.";
"bp-fault-action" MUST "wsa:Action" "WS-Addressing SOAP Binding, 6"
    "A fault about addressing has the action of addressing faults."
    "Write http://www.w3.org/2005/08/addressing/fault.";
}

rules! { ADDRESSING11 Profiles::of(Profile::Bp12), Addressing;
"bp12-fault-detail" MUST "detail" "WS-Addressing SOAP Binding, 6.2; SOAP 1.1, 4.4"
    "A fault of SOAP 1.1 about addressing has its details in the Header, since detail is about the Body."
    "Move the details into a wsa:FaultDetail of the Header.";
}

rules! { DESCRIPTION OWN, Description;
"bp-wsdl-action-iri" MUST "@wsam:Action" "WS-Addressing Metadata, 4.4.1"
    "The action of a message is an absolute IRI."
    "Write the whole IRI.";
"bp-wsdl-action-soap" MUST "@wsam:Action, @soapAction" "WS-Addressing Metadata, 4.4.1"
    "The action of an input and a soapAction that is not empty are the same."
    "Write the same value in both, or leave soapAction empty.";
"bp-wsdl-action-draft" SHOULD "@wsaw:Action, wsaw:UsingAddressing" "WS-Addressing Metadata, 3.1, 4.4.1"
    "Actions and the use of addressing are described in the namespace of the Recommendation, and not in that of its draft."
    "Write http://www.w3.org/2007/05/addressing/metadata and a policy with wsam:Addressing.";
"bp-wsdl-addressing-attached" MUST "wsam:Addressing" "WS-Addressing Metadata, 3.1"
    "A policy with wsam:Addressing is attached to no port type."
    "Attach the policy to the binding or the port.";
"bp-wsdl-responses" MUST "wsam:AnonymousResponses, wsam:NonAnonymousResponses" "WS-Addressing Metadata, 3.1"
    "One alternative demands anonymous responses or others, and not both."
    "Remove one of the assertions, or write two alternatives.";
"bp-one-way-fault" MUST "wsdl:fault" "WSDL 1.1, 2.4.1"
    "An operation without an output has no fault, as nothing would carry it."
    "Add an output, or remove the fault.";
"bp-binding-version" MUST "wsdl:binding" "WSDL 1.1, 3; WSDL 1.1 Binding Extension for SOAP 1.2"
    "Basic Profile 1.2 is about bindings of SOAP 1.1, and 2.0 is about those of SOAP 1.2: a description has one of these. It may have others, too."
    "Bind a port type in the SOAP version of the profile.";
}

rules! { DESCRIPTION12 Profiles::of(Profile::Bp20), Description;
"bp20-soap-action" MUST "soap12:operation" "WSDL 1.1 Binding Extension for SOAP 1.2, 3.2"
    "An operation that demands its soapAction names it, as an absolute IRI."
    "Add a soapAction, or remove soapActionRequired.";
}
