//! Envelopes, as the Basic Profiles have them.

use crate::rule::{Profile, Profiles};

const SOAP11: Profiles = Profiles::of(Profile::Bp11).with(Profile::Bp12);

rules! { ENVELOPE Profiles::BASIC, Envelope;
"R9980" MUST "soap:Envelope" "SOAP 1.1, 4; SOAP 1.2 Part 1, 5"
    "An envelope has a Body, and in front of it a Header at most. Basic Profile 1.1 and 1.2 are about SOAP 1.1, and 2.0 is about SOAP 1.2."
    "Write the envelope of the version that the profile is about.";
"R9981" MUST "soap:Body" "SOAP 1.1, 4.3"
    "A Body has one element inside at most."
    "Wrap the elements in one.";
"R1014" MUST "soap:Body" "SOAP 1.1, 4.3"
    "The element in the Body has a namespace."
    "Qualify the element by the namespace of its schema.";
"R1009" MUST "soap:Envelope" "SOAP 1.1, 3"
    "A message has no processing instruction."
    "Remove the instruction.";
"R1033" SHOULD "@xmlns:xml" "Namespaces in XML, 3"
    "The prefix xml needs no declaration, and some parsers refuse one."
    "Remove the declaration.";
"R1012" MUST "the XML declaration" "XML 1.0, 4.3.3"
    "A message is written in UTF-8 or UTF-16, which every parser reads."
    "Write the message in UTF-8.";
}

rules! { ENVELOPE11 SOAP11, Envelope;
"R1011" MUST "soap:Envelope" "SOAP 1.1, 4"
    "Nothing stands behind the Body."
    "Move the element into the Body or the Header.";
"R1005" MUST "@soap:encodingStyle" "SOAP 1.1, 4.1.1"
    "Elements of SOAP itself name no encoding."
    "Remove the attribute.";
"R1006" MUST "@soap:encodingStyle" "SOAP 1.1, 4.1.1"
    "The element in the Body names no encoding, since messages follow a schema."
    "Remove the attribute.";
"R1013" MUST "@soap:mustUnderstand" "SOAP 1.1, 4.2.3"
    "mustUnderstand is 0 or 1, and no word."
    "Write 1 in place of true, and 0 in place of false.";
"R1032" MUST "soap:Envelope, soap:Header, soap:Body" "SOAP 1.1, 4"
    "Envelope, Header and Body have no attribute of SOAP's own namespace."
    "Remove the attribute.";
"R2113" MUST "@soapenc:arrayType" "SOAP 1.1, 5.4"
    "A message has no arrayType of the SOAP encoding."
    "Remove the attribute; the schema says what repeats.";
"R1000" MUST "soap:Fault" "SOAP 1.1, 4.4"
    "A fault holds faultcode, faultstring, faultactor and detail, and nothing else."
    "Move other elements into detail.";
"R1001" MUST "soap:Fault" "SOAP 1.1, 4.4"
    "The elements of a fault have no namespace."
    "Write faultcode and the others without a prefix and without a default namespace.";
"R1004" SHOULD "faultcode" "SOAP 1.1, 4.4.1"
    "A fault code is one of SOAP's four, or a qualified name of the sender's own namespace."
    "Use soap:Client or soap:Server, and tell more in detail.";
"R1031" SHOULD "faultcode" "SOAP 1.1, 4.4.1"
    "A fault code is not refined with dots."
    "Use a qualified name of your own namespace.";
}

rules! { ENVELOPE12 Profiles::of(Profile::Bp20), Envelope;
"bp20-attributes" MUST "env:Envelope, env:Header, env:Body" "SOAP 1.2 Part 1, 5.1, 5.2, 5.3"
    "Attributes of Envelope, Header and Body have a namespace."
    "Qualify the attribute, or remove it.";
"bp20-encoding-style" MUST "@env:encodingStyle" "SOAP 1.2 Part 1, 5.1.1"
    "Elements of SOAP itself name no encoding."
    "Remove the attribute.";
"bp20-block-attributes" SHOULD "@env:role, @env:mustUnderstand, @env:relay" "SOAP 1.2 Part 1, 5.2.2, 5.2.3, 5.2.4"
    "The attributes of header blocks stand at header blocks alone, since receivers ignore them elsewhere."
    "Move the attribute to the header block.";
"bp20-boolean" MUST "@env:mustUnderstand, @env:relay" "SOAP 1.2 Part 1, 5.2.3, 5.2.4"
    "mustUnderstand and relay are true, false, 1 or 0."
    "Write true or false.";
"bp20-fault" MUST "env:Fault" "SOAP 1.2 Part 1, 5.4"
    "A fault holds Code and Reason, and may hold Node, Role and Detail, in this order."
    "Write the elements of SOAP 1.2; faultcode and faultstring are those of SOAP 1.1.";
"bp20-fault-code" MUST "env:Value" "SOAP 1.2 Part 1, 5.4.1.1, 5.4.6"
    "The code of a fault is one of SOAP's five; a subcode refines it."
    "Write env:Sender or env:Receiver, and your own code in a Subcode.";
"bp20-fault-reason" MUST "env:Text" "SOAP 1.2 Part 1, 5.4.2, 5.4.2.1"
    "A reason has texts, each of which names its language."
    "Add xml:lang to the env:Text.";
"bp20-fault-languages" SHOULD "env:Text/@xml:lang" "SOAP 1.2 Part 1, 5.4.2"
    "The texts of a reason are of different languages."
    "Join the texts of one language.";
}
