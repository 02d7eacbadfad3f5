//! Headers of ebMS 3.0, as AS4 uses them.

use crate::rule::Profiles;

rules! { MESSAGING Profiles::AS4, Messaging;
"eb-messaging" MUST "soap:Header" "ebMS 3.0 Core, 5.2"
    "A message has one eb:Messaging header block."
    "Write one eb:Messaging into the Header.";
"eb-messaging-content" MUST "eb:Messaging" "ebMS 3.0 Core, header schema"
    "eb:Messaging holds message units: signal messages first, and then the user message."
    "Move the element, or add the eb:UserMessage or eb:SignalMessage that is missing.";
"eb-one-user-message" MUST "eb:Messaging" "ebMS 3.0 Core, header schema"
    "A message carries one user message at most."
    "Send the second eb:UserMessage in a message of its own.";
"eb-must-understand" MUST "@soap:mustUnderstand" "ebMS 3.0 Core, header schema"
    "A receiver that does not know ebMS refuses the message, because eb:Messaging must be understood."
    "Write mustUnderstand=\"true\" in SOAP 1.2, and mustUnderstand=\"1\" in SOAP 1.1.";
"eb-message-info" MUST "eb:MessageInfo" "ebMS 3.0 Core, header schema"
    "eb:MessageInfo holds a Timestamp, a MessageId and a RefToMessageId at most, in this order."
    "Add what is expected, or move or remove what is found.";
"eb-timestamp" MUST "eb:Timestamp" "ebMS 3.0 Core, 5.2.2.1"
    "The time of a message is an xsd:dateTime in UTC; Z may be left out."
    "Write the time in UTC, such as 2026-01-31T12:00:00Z.";
"eb-message-id" MUST "eb:MessageId" "ebMS 3.0 Core, 5.2.2.1"
    "The id of a message has the form of RFC 2822: two parts with an @ between them."
    "Add a domain to the id, such as 6f1a@sender.example.";
"eb-message-id-brackets" MUST "eb:MessageId, eb:RefToMessageId" "ebMS 3.0 Core, 5.2.2.1"
    "Ids of messages stand without the angle brackets of MIME headers."
    "Remove < and >.";
"eb-ref-to-message-id" MUST "eb:RefToMessageId" "ebMS 3.0 Core, 5.2.2.1"
    "A reference to a message is the id of that message, and never empty."
    "Copy the eb:MessageId of the other message, or leave the element out.";
"eb-message-id-unique" MUST "eb:MessageId" "ebMS 3.0 Core, 5.2.2.1"
    "Each message unit has an id of its own, also of several units in one message."
    "Make a new id for each unit.";
"eb-mpc" MUST_LIKELY "@mpc" "ebMS 3.0 Core, 3.4; header schema"
    "A message partition channel is named by a URI."
    "Write the whole URI of the channel, or leave the attribute out for the default channel.";
}

rules! { USER_MESSAGE Profiles::AS4, UserMessage;
"eb-user-message" MUST "eb:UserMessage" "ebMS 3.0 Core, header schema"
    "A user message holds MessageInfo, PartyInfo and CollaborationInfo, and MessageProperties and PayloadInfo at most, in this order."
    "Add what is expected, or move or remove what is found.";
"eb-party-info" MUST "eb:PartyInfo" "ebMS 3.0 Core, header schema"
    "A user message names its sender in From, and its receiver in To."
    "Add the eb:From or the eb:To.";
"eb-party" MUST "eb:From, eb:To" "ebMS 3.0 Core, header schema"
    "A party has one PartyId at least, and one Role."
    "Add the eb:PartyId or the eb:Role.";
"eb-party-id-uri" MUST "eb:PartyId" "ebMS 3.0 Core, 5.2.2.4"
    "A party id without a type is a URI."
    "Add a type attribute, or write the id as a URI.";
"eb-party-id-type" MUST "eb:PartyId/@type" "ebMS 3.0 Core, 5.2.2.4"
    "Several ids of one party have different types."
    "Leave one id of each type.";
"eb-collaboration-info" MUST "eb:CollaborationInfo" "ebMS 3.0 Core, header schema"
    "CollaborationInfo holds an AgreementRef at most, a Service, an Action and a ConversationId, in this order."
    "Add what is expected, or move or remove what is found.";
"eb-agreement-uri" MUST "eb:AgreementRef" "ebMS 3.0 Core, 5.2.2.7"
    "An agreement without a type is named by a URI."
    "Add a type attribute, or write a URI.";
"eb-service-uri" MUST "eb:Service" "ebMS 3.0 Core, 5.2.2.8"
    "A service without a type is named by a URI."
    "Add a type attribute, or write a URI.";
"eb-test-service" MUST "eb:Service" "ebMS 3.0 Core, 5.2.2.9"
    "The action that tries a connection out belongs to the service for tests."
    "Name the test service of ebMS, or another action.";
"eb-property" MUST "eb:MessageProperties, eb:PartProperties" "ebMS 3.0 Core, header schema"
    "A list of properties holds properties, one at least."
    "Add an eb:Property, or leave the list out.";
"eb-property-name" MUST "eb:Property/@name" "ebMS 3.0 Core, header schema"
    "A property has a name."
    "Add a name attribute.";
"eb-empty-value" MUST "eb:PartyId, eb:Role, eb:Service, eb:AgreementRef, eb:Property" "ebMS 3.0 Core, header schema"
    "Ids, roles, services, agreements and properties have a value."
    "Write the value, or leave the element out where it may be missing.";
"eb-payload-info" MUST "eb:PayloadInfo, eb:PartInfo" "ebMS 3.0 Core, header schema"
    "PayloadInfo lists one part at least, each with a Schema, a Description and PartProperties at most, in this order."
    "Add what is expected, or move or remove what is found.";
"eb-part-href" MUST "eb:PartInfo/@href" "ebMS 3.0 Core, 5.2.2.13"
    "A part is named by the Content-ID of an attachment, by the id of an element, or by a URL."
    "Write cid: and the Content-ID without angle brackets, or # and the id.";
"eb-part-target" MUST "eb:PartInfo/@href" "ebMS 3.0 Core, 5.2.2.13"
    "A part that is named by an id is the Body, or an element in the Body."
    "Correct the id, or leave href out for the whole Body.";
"eb-schema-location" MUST "eb:Schema/@location" "ebMS 3.0 Core, header schema"
    "A schema of a part says where it is."
    "Add a location attribute.";
"eb-description-language" MUST "eb:Description/@xml:lang" "ebMS 3.0 Core, header schema"
    "A description says its language."
    "Add an xml:lang attribute.";
"as4-compression-type" MUST "eb:PartProperties" "AS4 1.0, 3.1"
    "A compressed part has the CompressionType application/gzip."
    "Compress with gzip, and write application/gzip.";
"as4-compression-mime-type" MUST "eb:PartProperties" "AS4 1.0, 3.1"
    "The properties of a compressed part say its type before compression."
    "Add an eb:Property with the name MimeType.";
"as4-compression-part" MUST "eb:PartInfo" "AS4 1.0, 3.1"
    "Attachments alone are compressed, and no payload in the Body."
    "Send the payload as an attachment, or without compression.";
}

rules! { SIGNAL_MESSAGE Profiles::AS4, SignalMessage;
"eb-signal-message" MUST "eb:SignalMessage" "ebMS 3.0 Core, header schema"
    "A signal message holds MessageInfo and a signal: a PullRequest and a Receipt at most, and errors, in this order."
    "Add what is expected, or move or remove what is found.";
"eb-receipt-reference" MUST "eb:RefToMessageId" "ebMS 3.0 Core, 5.2.3.3"
    "A receipt says which message it acknowledges."
    "Add an eb:RefToMessageId with the id of the message.";
"as4-receipt-content" MUST "eb:Receipt" "AS4 1.0, 5.1.8"
    "A receipt holds the evidence of what was received, or a copy of the eb:UserMessage."
    "Add an ebbp:NonRepudiationInformation, or copy the eb:UserMessage.";
"as4-receipt-evidence" MUST "ebbp:NonRepudiationInformation" "AS4 1.0, 5.1.8"
    "The evidence copies the ds:Reference of each part that was received, with its digest."
    "Copy the references from the SignedInfo of the message.";
"as4-receipt-signed" MUST "eb:Receipt" "AS4 1.0, 5.1.8"
    "A receipt that proves what was received is signed."
    "Sign the message of the receipt.";
"eb-error" MUST "eb:Error" "ebMS 3.0 Core, header schema"
    "An error holds a Description and an ErrorDetail at most, in this order."
    "Add what is expected, or move or remove what is found.";
"eb-error-code" MUST "eb:Error/@errorCode" "ebMS 3.0 Core, header schema"
    "An error has a code."
    "Add an errorCode attribute, such as EBMS:0004.";
"eb-error-severity" MUST "eb:Error/@severity" "ebMS 3.0 Core, 6.2"
    "An error is a warning or a failure."
    "Write severity=\"failure\" or severity=\"warning\".";
"eb-error-reference" MUST "eb:Error/@refToMessageInError" "ebMS 3.0 Core, 6.3"
    "Errors are about the message that the RefToMessageId of their signal names, and about none if it names none."
    "Write the same id in eb:RefToMessageId and in refToMessageInError.";
}
