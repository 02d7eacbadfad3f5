//! Exchanges: what an answer owes its request.
//!
//! No profile has these rules, and no single message can break one: `soapstone conform` looks for
//! them in the messages that it pairs. Rules that no clause demands are remarks: policies that sign
//! requests alone are common.

use crate::rule::Profiles;

rules! { EXCHANGES Profiles::NONE, Exchange;
"exchange-relates" MUST "wsa:RelatesTo" "WS-Addressing Core, 3.1, 3.4"
    "An answer relates to the id of its request, and to the unspecified message if the request has none; faults may have no addressing headers."
    "Copy the wsa:MessageID of the request into a wsa:RelatesTo.";
"exchange-action" MUST "wsa:Action" "WS-Addressing Core, 3.2"
    "An answer to a request with an action has an action; faults may have no addressing headers."
    "Add the wsa:Action of the output, or that of the fault.";
"exchange-action-own" REMARK "wsa:Action" "no clause: a rule of this report"
    "The action of an answer is its own, and not that of its request."
    "Write the action of the output.";
"exchange-confirmed" MUST "wsse11:SignatureConfirmation" "SOAP Message Security 1.1.1, 8.5"
    "An answer that confirms signatures confirms each signature of its request, and says so where there is none."
    "Add a wsse11:SignatureConfirmation for each signature, or one without a Value.";
"exchange-confirms-others" MUST "wsse11:SignatureConfirmation/@Value" "SOAP Message Security 1.1.1, 8.5"
    "An answer confirms signatures of its own request alone."
    "Send the answer to the request whose signature it confirms.";
"exchange-confirmation-signed" MUST "wsse11:SignatureConfirmation" "SOAP Message Security 1.1.1, 8.5"
    "A confirmation is signed, as anybody could have written it otherwise."
    "Sign the confirmation together with the Body.";
"exchange-signed" REMARK "ds:Signature" "no clause: a rule of this report"
    "The Body of an answer is signed if that of its request is; faults may be plain."
    "Sign the Body of the answer.";
"exchange-encrypted" REMARK "xenc:EncryptedData" "no clause: a rule of this report"
    "The Body of an answer is encrypted if that of its request is; faults may be plain."
    "Encrypt the Body of the answer.";
"exchange-algorithms" REMARK "@Algorithm" "no clause: a rule of this report"
    "An answer to a request that is signed or encrypted uses SHA-1, MD5, CBC, Triple DES and RSA 1.5 only where its request uses weak algorithms of that kind."
    "Use the algorithms of the request.";
}
