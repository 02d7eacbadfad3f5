//! Descriptions in WSDL 1.1, as the Basic Profiles have them.

use crate::rule::Profiles;

rules! { DESCRIPTION Profiles::BASIC, Description;
"R2001" MUST "wsdl:import" "WSDL 1.1, 2.1.1"
    "wsdl:import imports descriptions and nothing else."
    "Import schemas with xsd:import inside of wsdl:types.";
"R2005" MUST "wsdl:import" "WSDL 1.1, 2.1.1"
    "The namespace of an import is the target namespace of what is imported."
    "Copy the targetNamespace of the imported description.";
"R2007" MUST "wsdl:import" "WSDL 1.1, 2.1.1"
    "An import says where the other description is."
    "Add a location attribute.";
"R2803" MUST "wsdl:import/@namespace" "WSDL 1.1, 2.1.1"
    "The namespace of an import is an absolute URI."
    "Write the whole namespace name.";
"R2022" MUST "wsdl:import" "WSDL 1.1, 2.1"
    "Imports stand in front of everything but documentation."
    "Move the import to the front.";
"R2023" MUST "wsdl:types" "WSDL 1.1, 2.1"
    "Types stand in front of everything but documentation and imports."
    "Move wsdl:types in front of the first message.";
"R4003" MUST "the XML declaration" "XML 1.0, 4.3.3"
    "A description is written in UTF-8 or UTF-16."
    "Write the description in UTF-8.";
"R4005" SHOULD "@xmlns:xml" "Namespaces in XML, 3"
    "The prefix xml needs no declaration, and some parsers refuse one."
    "Remove the declaration.";
"R2026" SHOULD "@wsdl:required" "WSDL 1.1, 2.1.3"
    "No extension is required, since not every consumer knows it."
    "Remove wsdl:required, or tell consumers that they need the extension.";
"R2101" MUST "QNames of the description" "WSDL 1.1, 2.1"
    "A name is of the description's own namespace, or of one that it defines or imports."
    "Import the namespace, or correct the prefix.";
"R2102" MUST "QNames of a schema" "XML Schema Part 1, 4.2.3"
    "A name in a schema is of the schema's own namespace, or of one that the schema imports."
    "Add an xsd:import of the namespace to the schema.";
"R2105" MUST "xsd:schema" "XML Schema Part 1, 3.15"
    "A schema that declares something has a target namespace."
    "Add a targetNamespace attribute.";
"R2110" MUST "@base" "WSDL 1.1, 2.2"
    "Arrays do not derive from the array of the SOAP encoding."
    "Declare an element with maxOccurs=\"unbounded\".";
"R2111" MUST "@wsdl:arrayType" "WSDL 1.1, 2.2"
    "Arrays are declared without wsdl:arrayType."
    "Declare an element with maxOccurs=\"unbounded\".";
"R2112" SHOULD "xsd:element/@name" "WSDL 1.1, 2.2"
    "Elements are not called ArrayOf…, which names a convention and no thing."
    "Name the element by what it is.";
"R2201" MUST "soap:body/@parts" "WSDL 1.1, 3.5"
    "The Body of a document-literal operation is one part at most."
    "List one part.";
"R2209" SHOULD "wsdl:binding" "WSDL 1.1, 3"
    "Every part of a message is bound to Body, header or fault."
    "Bind the part, or remove it from the message.";
"R2210" MUST "soap:body" "WSDL 1.1, 3.5"
    "Without a list of parts, the message of a document-literal Body has one part at most."
    "Say in the parts attribute which part is the Body.";
"R2203" MUST "wsdl:part" "WSDL 1.1, 3.5"
    "A part in the Body of an rpc-literal operation has a type and no element."
    "Use the type attribute.";
"R2204" MUST "wsdl:part" "WSDL 1.1, 3.5"
    "A part in the Body of a document-literal operation has an element and no type."
    "Use the element attribute.";
"R2205" MUST "wsdl:part" "WSDL 1.1, 3.6"
    "A part in a header or fault has an element and no type."
    "Use the element attribute.";
"R2206" MUST "wsdl:part/@element" "WSDL 1.1, 2.3"
    "The element of a part is declared at the top of a schema."
    "Declare the element, or correct the name.";
"R2303" MUST "wsdl:operation" "WSDL 1.1, 2.4"
    "Operations begin with the consumer: one-way, or request and response."
    "Put wsdl:input first.";
"R2304" MUST "wsdl:portType" "WSDL 1.1, 2.4.5"
    "Operations of a port type have different names."
    "Rename one of the operations.";
"R2305" MUST "wsdl:operation/@parameterOrder" "WSDL 1.1, 2.4.6"
    "parameterOrder leaves out one part of the output at most, which is the return value."
    "List the other parts of the output.";
"R2306" MUST "wsdl:part" "WSDL 1.1, 2.3"
    "A part has an element or a type, and not both."
    "Remove one of the attributes.";
"R2401" MUST "wsdl:binding" "WSDL 1.1, 3"
    "A binding is one of SOAP."
    "Add a soap:binding, or describe the other binding elsewhere.";
"R2701" MUST "soap:binding" "WSDL 1.1, 3.3"
    "A SOAP binding names its transport."
    "Add transport=\"http://schemas.xmlsoap.org/soap/http\".";
"R2702" MUST "soap:binding/@transport" "WSDL 1.1, 3.3"
    "The transport is HTTP."
    "Write transport=\"http://schemas.xmlsoap.org/soap/http\".";
"R2705" MUST "wsdl:binding" "WSDL 1.1, 3.4"
    "All operations of a binding are of one style: document or rpc."
    "Split the binding in two.";
"R2706" MUST "@use" "WSDL 1.1, 3.5"
    "Messages are literal: the schema says how they look."
    "Write use=\"literal\".";
"R2710" MUST "wsdl:binding" "WSDL 1.1, 3"
    "Operations of a binding are told apart by the element in the Body."
    "Give each operation an element of its own.";
"R2711" SHOULD "soap:address/@location" "WSDL 1.1, 3.8"
    "Ports of one SOAP version have different addresses."
    "Give each port an address, or leave one port.";
"R2716" MUST "@namespace" "WSDL 1.1, 3.5"
    "A document-literal binding names no namespace, since its elements have their own."
    "Remove the namespace attribute.";
"R2717" MUST "soap:body/@namespace" "WSDL 1.1, 3.5"
    "An rpc-literal Body has a namespace, which is an absolute URI."
    "Add the namespace attribute.";
"R2718" MUST "wsdl:binding" "WSDL 1.1, 2.5"
    "A binding has the operations of its port type, all of them and no others."
    "Bind the missing operation, or remove the one that is too many.";
"R2720" MUST "soap:header/@part" "WSDL 1.1, 3.7"
    "A header names its part."
    "Add a part attribute.";
"R2721" MUST "soap:fault" "WSDL 1.1, 3.6"
    "A bound fault has a name."
    "Add a name attribute.";
"R2723" MUST "soap:fault/@use" "WSDL 1.1, 3.6"
    "Faults are literal."
    "Write use=\"literal\" or leave the attribute out.";
"R2726" MUST "@namespace" "WSDL 1.1, 3.7"
    "Headers and faults of an rpc-literal binding name no namespace."
    "Remove the namespace attribute.";
"R2740" SHOULD "wsdl:binding" "WSDL 1.1, 3.6"
    "Each fault of the port type is bound."
    "Add a wsdl:fault with a soap:fault to the operation of the binding.";
"R2749" MUST "soap:header/@parts" "WSDL 1.1, 3.7"
    "A header is one part, and has no list of parts."
    "Write part in place of parts.";
"R2754" MUST "soap:fault/@name" "WSDL 1.1, 3.6"
    "The name of a bound fault is that of the wsdl:fault around it."
    "Write the same name in both.";
"wsdl-not-looked-at" REMARK "wsdl:binding" "no clause: a bound of this program"
    "Of bound messages and their parts the first 65,536 are looked at."
    "Split the description: the rules about bound messages were not looked for in the rest.";
}
