//! What the rules of AS4 mind, and what they leave alone.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles};

use super::{as4, broken, compare};

#[test]
fn each_rule_of_as4_is_found_where_it_is_broken() {
    for (base, samples) in [
        (as4::with_attachment(), as4::OF_USER_MESSAGES),
        (as4::with_body(), as4::OF_BODIES),
        (as4::pull_request(), as4::OF_PULL_REQUESTS),
        (as4::receipt(), as4::OF_RECEIPTS),
        (as4::error(), as4::OF_ERRORS),
    ] {
        compare(&base, samples, Profiles::AS4);
    }
}

/// Security is an agreement of partners, and so are the algorithms.
#[test]
fn a_message_of_as4_needs_no_signature_and_may_use_other_algorithms() {
    let message = as4::with_attachment();
    let start = message.find("<wsse:Security ").expect("a header");
    let end = message.find("</s:Header>").expect("its end");
    let plain = format!("{}{}", &message[..start], &message[end..]);
    assert_eq!(broken(&plain, Choice::Of(Profiles::AS4)), BTreeSet::new());
    let other = message.replace("#aes128-gcm", "#aes256-gcm");
    let of_as4 = Choice::Of(Profiles::of(Profile::As4));
    assert_eq!(broken(&other, of_as4), BTreeSet::new());
}

/// What the rules of AS4 leave alone, beside what they mind.
#[test]
fn rules_of_as4_mind_what_they_are_about_alone() {
    let message = as4::with_attachment();
    let of_as4 = Choice::Of(Profiles::AS4);
    // The header that authorizes may hold a UsernameToken, and that of eDelivery may not.
    let user = "<wsse:Security s:role=\"ebms\"><wsse:UsernameToken/></wsse:Security><wsse:Security s:mustUnderstand";
    let authorized = message.replacen("<wsse:Security s:mustUnderstand", user, 1);
    let alone = Choice::Of(Profiles::of(Profile::As4));
    assert_eq!(broken(&authorized, alone), BTreeSet::new());
    let expected = BTreeSet::from(["edelivery-username-token"]);
    assert_eq!(broken(&authorized, of_as4), expected);
    // A key that is agreed on names its receiver inside of the agreement.
    let agreed = message.replacen(
        "<ds:KeyInfo><wsse:SecurityTokenReference><ds:X509Data>",
        "<ds:KeyInfo><xenc:AgreementMethod/><wsse:SecurityTokenReference><ds:X509Data>",
        1,
    );
    let agreed = agreed.replacen(
        "<ds:X509Data>",
        "<ds:KeyName>k</ds:KeyName><ds:X509Data>",
        1,
    );
    assert!(!broken(&agreed, of_as4).contains("as4-x509-encryption"));
    // A receipt that is a copy proves nothing, and needs no signature.
    let start = as4::receipt();
    let from = start.find("<ebbp:NonRepudiation").expect("evidence");
    let to = start.find("</eb:Receipt>").expect("its end");
    let copy = format!("{}<eb:UserMessage/>{}", &start[..from], &start[to..]);
    let copy = copy.replace("http://www.w3.org/2000/09/xmldsig#", "urn:other");
    assert_eq!(broken(&copy, of_as4), BTreeSet::new());
    // Another header block may be encrypted.
    let hidden = "<wsse11:EncryptedHeader xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\"/><wsse:Security s:mustUnderstand";
    let hidden = message.replacen("<wsse:Security s:mustUnderstand", hidden, 1);
    assert_eq!(broken(&hidden, of_as4), BTreeSet::new());
    // A signature around itself is not detached, whatever names what it signs.
    let around = message
        .replacen("<wsse:Security s:", "<wsse:Security wsu:Id=\"S\" s:", 1)
        .replacen("<ds:Reference URI=\"#B\">", "<ds:Reference URI=\"#S\">", 1);
    let expected = BTreeSet::from(["as4-detached-signature", "as4-signed-body"]);
    assert_eq!(broken(&around, of_as4), expected);
    // Elements of other namespaces may stand behind those of a header, and in evidence.
    let receipt = as4::receipt();
    for end in [
        "</eb:Messaging>",
        "</eb:SignalMessage>",
        "</ebbp:NonRepudiationInformation>",
    ] {
        let extended = receipt.replacen(end, &format!("<b:Receipt/>{end}"), 1);
        assert_eq!(broken(&extended, of_as4), BTreeSet::new(), "{end}");
    }
    // Digest and mask are those of OAEP.
    let start = message.find("<ds:DigestMethod").expect("a digest");
    let end = message.find("</xenc:EncryptionMethod>").expect("its end");
    let other = format!("{}{}", &message[..start], &message[end..]);
    let other = other.replace("xmlenc11#rsa-oaep", "xmlenc11#rsa-1_5");
    let expected = BTreeSet::from(["edelivery-key-transport"]);
    assert_eq!(broken(&other, of_as4), expected);
}

#[test]
fn an_encrypted_header_hides_what_as4_leaves_in_clear() {
    let message = as4::with_attachment();
    let start = message.find("<eb:Messaging ").expect("a header block");
    let end = message.find("<wsse:Security ").expect("its end");
    let hidden = "<wsse11:EncryptedHeader xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\"><xenc:EncryptedData/></wsse11:EncryptedHeader>";
    let message = format!("{}{hidden}{}", &message[..start], &message[end..]);
    let found = broken(&message, Choice::Of(Profiles::of(Profile::As4)));
    let expected = [
        "as4-encrypted-messaging",
        "as4-signed-part-listed",
        "eb-messaging",
    ];
    assert_eq!(found, BTreeSet::from(expected));
}

/// A payload in an encrypted Body is not seen, and its id is not called wrong.
#[test]
fn the_target_of_a_part_is_not_looked_for_in_an_encrypted_body() {
    let message = as4::with_body().replace("<b:order wsu:Id=\"P\"/>", "<xenc:EncryptedData/>");
    let found = broken(&message, Choice::Of(Profiles::of(Profile::As4)));
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn an_envelope_with_an_ebms_header_is_held_against_as4_where_none_is_chosen() {
    let message = as4::pull_request().replace("m1@sender.example", "m1");
    let found = broken(&message, Choice::Fitting);
    assert!(found.contains("eb-message-id"), "{found:?}");
}

/// A receipt may copy the user message, which is no message unit.
#[test]
fn a_copy_of_a_user_message_in_a_receipt_is_evidence_alone() {
    let receipt = as4::receipt();
    let start = receipt
        .find("<ebbp:NonRepudiationInformation>")
        .expect("evidence");
    let end = receipt.find("</eb:Receipt>").expect("its end");
    let copied = format!("{}<eb:UserMessage/>{}", &receipt[..start], &receipt[end..]);
    let found = broken(&copied, Choice::Of(Profiles::AS4));
    assert_eq!(found, BTreeSet::new());
}
