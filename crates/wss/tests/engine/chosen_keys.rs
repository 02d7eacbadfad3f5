//! Session keys that an attacker chooses. Anybody has the certificate of the receiver, and can wrap
//! a key to it. Where a signature is over cipher text in CBC and not over the `EncryptedKey`,
//! another key makes another text of it; for short cipher text such a key can be found. It is
//! refused, and our own signatures cover the key.

use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyTransport, OaepParameters, SignatureAlgorithm,
    SymmetricKey, base64,
};
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, ElementPath, EncryptedPart, EndorsingToken, Extent,
    FaultCode, Intermediary, KeyBinding, KeyReference, Keys, Mechanism, OutboundPlan, Outgoing,
    Part, Policy, Recipient, Rejected, Retirement, SHORT_CIPHER_TEXT, SecureError, names,
};
use soapstone_xml::Buffers;
use soapstone_xmlsec::enc::EncryptionError;

use crate::conversations::{bound, derived, text};
use crate::derivations::{cut, encrypted_key, id};
use crate::support::*;

const BODY: &str = "{http://schemas.xmlsoap.org/soap/envelope/}Body";

/// The message with another session key, which its receiver can unwrap.
fn with_key(message: &str, number: u32) -> String {
    let mut key = vec![7; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    let key = SymmetricKey::new(key).unwrap();
    let receiver = PARTIES.service.certificate().public_key();
    let oaep = OaepParameters::default();
    let wrapped = receiver.wrap(KeyTransport::RsaOaepMgf1p, &oaep, key.expose());
    let former = encrypted_key(message);
    let value = cut(former, "<xenc:CipherValue>", "</xenc:CipherValue>");
    let other = base64::encode(&wrapped.unwrap());
    let other = format!("<xenc:CipherValue>{other}</xenc:CipherValue>");
    message.replacen(value, &other, 1)
}

/// An element that takes so many bytes.
fn element(bytes: usize) -> String {
    format!("<a>{}</a>", "x".repeat(bytes - 7))
}

/// Encrypts first, in CBC.
fn strict(suite: &str) -> Policy {
    policy(Mechanism::EncryptSign, suite)
}

/// The same where the key may be anybody's: its signatures do not cover the key, and need not.
fn lax(policy: &Policy) -> Policy {
    with(policy, |policy| {
        policy.parts.short_cipher_text = true;
        policy.parts.unsigned_session_key = true;
    })
}

fn short(element: &str, least: usize) -> Rejected {
    let element = element.to_owned();
    Rejected::ShortCipherText { element, least }
}

/// What the receiver takes of a message with a small Body, under the first of so many keys that it
/// takes anything under.
fn taken(policy: &Policy, keys: u32) -> Option<String> {
    let message = secure(policy, &saying("<a/>"));
    let right = forwarded(&open(policy, &message).unwrap());
    assert!(right.contains("<a"), "{right}");
    let other = (0..keys).find_map(|number| open(policy, &with_key(&message, number)).ok());
    other.map(|opened| forwarded(&opened))
}

/// The attack: cipher text of one block in CBC, signed as cipher text without its key.
#[test]
fn a_key_can_be_found_under_which_one_block_of_signed_cipher_text_says_something_else() {
    // Of 148 keys, one gives a padding and characters of XML.
    let taken = taken(&lax(&strict("Basic256")), 8192);
    assert!(!taken.expect("a key").contains("<a"));
}

#[test]
fn no_other_key_opens_what_its_tag_covers_or_what_was_signed_in_plain_text() {
    for (mechanism, suite) in [
        (Mechanism::EncryptSign, "Basic256GCM"),
        (Mechanism::SignEncrypt, "Basic256"),
        (Mechanism::SignEncrypt, "Basic256GCM"),
        // Here the signature covers the key as well.
        (Mechanism::EncryptSign, "Basic256"),
    ] {
        assert_eq!(
            taken(&policy(mechanism, suite), 800),
            None,
            "{mechanism} {suite}"
        );
    }
}

/// XML Encryption 1.1, 5.2: the padding is at least one byte, and all of it but its length is
/// anything.
#[test]
fn signed_cipher_text_without_its_key_has_a_length_that_nobody_searches() {
    for (suite, enough, least) in [
        ("Basic256", 64, 96),
        ("Basic192", 64, 96),
        ("Basic128Rsa15", 64, 96),
        ("TripleDes", 56, 72),
    ] {
        let policy = strict(suite);
        let sent = |bytes| secure(&lax(&policy), &saying(&element(bytes)));
        let refused = open(&policy, &sent(enough - 1)).unwrap_err();
        assert_eq!(refused, short(BODY, least), "{suite}");
        let verified = open(&policy, &sent(enough)).unwrap();
        let weak = &verified.evidence().weak;
        assert!(!weak.contains(&SHORT_CIPHER_TEXT), "{suite}");
    }
}

/// Few random texts are one element.
#[test]
fn cipher_text_of_an_element_may_be_shorter() {
    let place = "{urn:echo}echo";
    for (suite, enough, least) in [("Basic128", 32, 64), ("TripleDes", 32, 48)] {
        let mut policy = strict(suite);
        let named = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
        policy.parts.encrypted = vec![EncryptedPart::customary(Part::Path(named))];
        let sent = |bytes: usize| {
            let said = "x".repeat(bytes - "<e:text></e:text>".len());
            let echo = format!("<e:echo xmlns:e=\"urn:echo\"><e:text>{said}</e:text></e:echo>");
            secure(&lax(&policy), &saying(&echo))
        };
        let refused = open(&policy, &sent(enough - 1)).unwrap_err();
        assert_eq!(refused, short(place, least), "{suite}");
        open(&policy, &sent(enough)).unwrap();
    }
}

/// Without one of the conditions, the same short text is taken as it is.
#[test]
fn short_cipher_text_is_refused_where_a_stranger_may_choose_its_key_and_nowhere_else() {
    let plain = saying("<a/>");
    let session = bound(
        Mechanism::EncryptSign,
        "Basic256",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    for policy in [
        strict("Basic256GCM"),
        policy(Mechanism::SignEncrypt, "Basic256"),
        policy(Mechanism::Encrypt, "Basic256"),
        with_shared_key(strict("Basic256")),
        session,
    ] {
        assert!(!policy.lets_choose_keys());
        let message = secure(&lax(&policy), &plain);
        let opened = open(&policy, &message).unwrap();
        assert!(!opened.evidence().weak.contains(&SHORT_CIPHER_TEXT));
    }
    let policy = strict("Basic256");
    let message = secure(&lax(&policy), &plain);
    assert_eq!(open(&policy, &message).unwrap_err(), short(BODY, 96));
    let unsigned = with(&policy, |policy| policy.unsign());
    assert!(!unsigned.lets_choose_keys());
    // A receiver that takes both looks at the cipher text.
    let both = with(&policy, |policy| {
        policy.suite.data.insert(0, DataEncryption::Aes256Gcm);
    });
    assert!(both.lets_choose_keys());
    open(&both, &secure(&lax(&both), &plain)).unwrap();
    assert_eq!(open(&both, &message).unwrap_err(), short(BODY, 96));
}

/// Nothing proves a part that no signature covers, however long it is.
#[test]
fn cipher_text_that_no_signature_covers_may_be_short() {
    let mut policy = strict("Basic256");
    policy.parts.encrypted = vec![EncryptedPart {
        part: header("To"),
        extent: Extent::Content,
    }];
    let message = secure(&lax(&policy), PLAIN);
    let opened = open(&policy, &message).unwrap();
    assert!(!opened.evidence().weak.contains(&SHORT_CIPHER_TEXT));
    policy.parts.signed.push(header("To"));
    let refused = open(&policy, &secure(&lax(&policy), PLAIN)).unwrap_err();
    let place = "{http://www.w3.org/2005/08/addressing}To";
    assert_eq!(refused, short(place, 96));
}

/// No signature that a symmetric key makes is right under another one.
#[test]
fn a_session_key_that_signs_as_well_is_not_replaced() {
    let policy = bound(
        Mechanism::EncryptSign,
        "Basic256",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    let message = secure(&policy, &saying("<a/>"));
    let refused = open(&policy, &with_key(&message, 1)).unwrap_err();
    assert_eq!(refused.name(), "signature-mismatch");
}

/// Everybody sees how long cipher text is, so that the refusal tells him nothing. He is told the
/// same as of a signature that does not verify, and no key has deciphered anything.
#[test]
fn short_cipher_text_is_refused_before_a_key_is_used_and_as_any_other_failure() {
    let policy = strict("Basic256");
    let message = secure(&lax(&policy), &saying("<a/>"));
    let told = told_to_peer(&policy, &message);
    assert_eq!(told, short(BODY, 96));
    assert_eq!(told.fault(), FaultCode::FailedCheck);
    assert!(told.hint().unwrap().contains("allow_short_cipher_text"));
    // One that does not decipher gets the same.
    assert_eq!(told_to_peer(&policy, &with_key(&message, 1)), told);
}

/// The digests of a signature are compared where it stood when the message came: its place in the
/// header changes nothing.
#[test]
fn a_key_in_front_of_the_signature_is_as_anybodys_as_one_behind_it() {
    let policy = strict("Basic256");
    let message = secure(&lax(&policy), &saying("<a/>"));
    let key = encrypted_key(&message).to_owned();
    let moved = message.replace(&key, "");
    let moved = moved.replacen("<ds:Signature ", &format!("{key}<ds:Signature "), 1);
    assert!(moved.find("<xenc:EncryptedKey") < moved.find("<ds:Signature "));
    assert_eq!(told_to_peer(&policy, &moved), short(BODY, 96));
}

/// A digest over a canonical form without comments covers none: one in the cipher text does not
/// make it longer.
#[test]
fn a_comment_makes_no_cipher_text_longer() {
    let policy = strict("Basic256");
    let message = secure(&lax(&policy), &saying("<a/>"));
    let data = cut(&message, "<xenc:EncryptedData", "</xenc:EncryptedData>");
    let long = "A".repeat(200);
    for stuffed in [
        data.replace(
            "<xenc:CipherValue>",
            &format!("<xenc:CipherValue><!--{long}-->"),
        ),
        data.replace(
            "</xenc:CipherValue>",
            &format!("<!--{long}--></xenc:CipherValue>"),
        ),
    ] {
        assert_ne!(stuffed, data);
        let message = message.replace(data, &stuffed);
        assert_eq!(told_to_peer(&policy, &message), short(BODY, 96));
    }
}

/// The signature is encrypted, too: in which order the two lists stand decides when it is known.
#[test]
fn a_hidden_signature_without_the_key_is_refused_in_the_end() {
    let mut policy = strict("Basic256");
    let hidden = EncryptedPart::customary(Part::Signature);
    policy.parts.encrypted.push(hidden);
    let message = secure(&lax(&policy), &saying("<a/>"));
    let refused = Rejected::AfterDecryption(Box::new(short(BODY, 96)));
    assert_eq!(told_to_peer(&policy, &message), refused);
    // The list of the Body first.
    let security = cut(&message, "<wsse:Security ", "</wsse:Security>");
    let list = cut(security, "<xenc:ReferenceList", "</xenc:ReferenceList>");
    let behind = &security[security.find(list).unwrap() + list.len()..];
    let of_body = cut(behind, "<xenc:ReferenceList", "</xenc:ReferenceList>");
    assert!(of_body.contains("-body\"") && !list.contains("-body\""));
    let moved = message.replace(of_body, "");
    let moved = moved.replacen(list, &format!("{of_body}{list}"), 1);
    let told = told_to_peer(&policy, &moved);
    assert!(matches!(told, Rejected::AfterDecryption(_)), "{told}");
    // With the key signed, the message is right as it was sent.
    let bound = secure(&policy, &saying("<a/>"));
    open(&policy, &bound).unwrap();
}

#[test]
fn our_signature_covers_the_key_of_short_cipher_text_and_no_other_one_takes_its_place() {
    let policy = strict("Basic256");
    let message = secure(&policy, &saying("<a/>"));
    let signed = cut(&message, "<ds:SignedInfo", "</ds:SignedInfo>");
    assert!(signed.contains(&format!("URI=\"#{}\"", id(encrypted_key(&message)))));
    let opened = open(&policy, &message).unwrap();
    assert!(!opened.evidence().weak.contains(&SHORT_CIPHER_TEXT));
    let refused = open(&policy, &with_key(&message, 1)).unwrap_err();
    assert_eq!(refused.name(), "digest-mismatch");
    // What is long enough is sent as it ever was.
    let long = secure(&policy, &saying(&element(64)));
    let signed = cut(&long, "<ds:SignedInfo", "</ds:SignedInfo>");
    assert!(!signed.contains(id(encrypted_key(&long))));
}

#[test]
fn a_key_that_was_agreed_on_is_as_anybodys_as_one_that_was_encrypted() {
    let mut policy = policy(Mechanism::EncryptSign, "Basic128GCMEcdhEs");
    policy.suite.data = vec![DataEncryption::Aes128Cbc];
    let plain = saying("<a/>");
    let refused = open(&policy, &secure(&lax(&policy), &plain)).unwrap_err();
    assert_eq!(refused, short(BODY, 96));
    open(&policy, &secure(&policy, &plain)).unwrap();
}

/// A message whose sender does not sign the element with this id, signed anew.
fn signed_without(message: &str, id: &str) -> String {
    let info = cut(message, "<ds:SignedInfo", "</ds:SignedInfo>");
    let changed = info.replace(&reference_to(info, id), "");
    signed_anew(message, &changed)
}

/// The reference of a signature to the element with this id.
fn reference_to(info: &str, id: &str) -> String {
    let mut references = info.split("<ds:Reference ");
    let found = references.find(|one| one.contains(&format!("URI=\"#{id}\"")));
    let found = format!("<ds:Reference {}", found.expect("it is signed"));
    cut(&found, "<ds:Reference ", "</ds:Reference>").to_owned()
}

/// The message with another `SignedInfo`, as its sender signs it.
fn signed_anew(message: &str, changed: &str) -> String {
    let info = cut(message, "<ds:SignedInfo", "</ds:SignedInfo>");
    let content = &changed[changed.find('>').unwrap() + 1..];
    let dsig = "http://www.w3.org/2000/09/xmldsig#";
    let octets = format!("<ds:SignedInfo xmlns:ds=\"{dsig}\">{content}");
    let key = PARTIES.client.key();
    let value = key.sign(SignatureAlgorithm::RsaSha1, octets.as_bytes());
    let value = base64::encode(&value.unwrap());
    let former = cut(message, "<ds:SignatureValue>", "</ds:SignatureValue>");
    let value = format!("<ds:SignatureValue>{value}</ds:SignatureValue>");
    message.replace(info, changed).replace(former, &value)
}

/// WS-SecureConversation 1.4, 7.1: the token says which of many keys it is that comes of one.
#[test]
fn a_derivation_is_signed_as_its_key_is() {
    let plain = saying("<a/>");
    for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
        let mut policy = strict("Basic256");
        policy.set_derived_keys(derived(ConversationVersion::V13, form));
        let refused = open(&policy, &secure(&lax(&policy), &plain)).unwrap_err();
        assert_eq!(refused, short(BODY, 96));
        let message = secure(&policy, &plain);
        open(&policy, &message).unwrap();
        let key = id(encrypted_key(&message));
        let unbound = signed_without(&message, key);
        assert_eq!(told_to_peer(&policy, &unbound), short(BODY, 96));
        if form == DerivedKeyForm::Explicit {
            let token = cut(&message, "<wsc:DerivedKeyToken", "</wsc:DerivedKeyToken>");
            let unbound = signed_without(&message, id(token));
            assert_eq!(told_to_peer(&policy, &unbound), short(BODY, 96));
        }
    }
}

/// Anybody puts a key beside the sender's. It is none of the cipher text's that it does not
/// decipher.
#[test]
fn a_key_that_deciphers_nothing_need_not_be_signed() {
    let plain = saying("<a/>");
    let derived = with(&strict("Basic256"), |policy| {
        policy.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    });
    for policy in [strict("Basic256"), derived] {
        let message = secure(&policy, &plain);
        let other = secure(&strict("Basic256"), &plain);
        let other = encrypted_key(&other);
        let list = cut(other, "<xenc:ReferenceList", "</xenc:ReferenceList>");
        let other = other.replace(list, "");
        let two = message.replacen("<ds:Signature ", &format!("{other}<ds:Signature "), 1);
        let opened = open(&policy, &two).unwrap();
        assert!(forwarded(&opened).contains("<a"));
        assert!(!opened.evidence().weak.contains(&SHORT_CIPHER_TEXT));
    }
}

/// Each of them may be the one that deciphers.
#[test]
fn every_key_that_lists_short_cipher_text_is_signed() {
    let policy = strict("Basic256");
    let message = secure(&policy, &saying("<a/>"));
    let key = encrypted_key(&message);
    let (other, own) = (secure(&policy, &saying("<a/>")), id(key));
    let other = encrypted_key(&other);
    assert!(key.contains(own));
    let list = |key: &str| cut(key, "<xenc:ReferenceList", "</xenc:ReferenceList>").to_owned();
    let listing = other.replace(&list(other), &list(key));
    let (before, behind) = (format!("{listing}{key}"), format!("{key}{listing}"));
    for both in [before, behind] {
        let two = message.replace(key, &both);
        assert_eq!(told_to_peer(&policy, &two), short(BODY, 96));
    }
}

/// The SHA-1 of a wrapped key is a name that anybody can give to another one.
#[test]
fn a_name_that_two_keys_have_is_that_of_either() {
    let mut policy = strict("Basic256");
    policy.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    let message = secure(&policy, &saying("<a/>"));
    let key = encrypted_key(&message);
    let value = cut(key, "<xenc:CipherValue>", "</xenc:CipherValue>");
    let value = &value["<xenc:CipherValue>".len()..value.len() - "</xenc:CipherValue>".len()];
    let sha1 = |octets: &[u8]| {
        let digest = soapstone_crypto::digest(DigestAlgorithm::Sha1, octets);
        base64::encode(digest.unwrap().as_ref())
    };
    let mut wrapped = Vec::new();
    base64::decode(value.as_bytes(), &mut wrapped).unwrap();
    let name = sha1(&wrapped);
    let name = format!(
        "<wsse:KeyIdentifier EncodingType=\"{}\" ValueType=\"{}\">{name}</wsse:KeyIdentifier>",
        names::BASE64_BINARY,
        names::ENCRYPTED_KEY_SHA1
    );
    let token = cut(&message, "<wsc:DerivedKeyToken", "</wsc:DerivedKeyToken>");
    let naming = token.replace(cut(token, "<wsse:Reference", "</wsse:Reference>"), &name);
    let info = cut(&message, "<ds:SignedInfo", "</ds:SignedInfo>");
    let reference = reference_to(info, id(token));
    let changed = reference.replace(&sha1(token.as_bytes()), &sha1(naming.as_bytes()));
    let info = info.replace(&reference, &changed);
    let message = signed_anew(&message, &info).replace(token, &naming);
    open(&policy, &message).unwrap();
    let other = key.replace(id(key), "other");
    for both in [format!("{other}{key}"), format!("{key}{other}")] {
        let two = message.replace(key, &both);
        assert_eq!(told_to_peer(&policy, &two), short(BODY, 96));
    }
}

#[test]
fn answers_and_messages_through_a_node_are_judged_alike() {
    let policy = strict("Basic256");
    let plain = saying("<a/>");
    let request = open(&policy, &secure(&policy, &plain)).unwrap();
    let (_, receipt) = request.finish(&mut Buffers::default());
    let response = with(&policy, |policy| policy.set_recipient(Recipient::Requester));
    let keys = || Keys {
        peer: None,
        ..service_keys()
    };
    let answered = |policy: &Policy| text(&secure_with(policy, keys(), &plain, Some(&receipt)));
    let opened = |answer: &str| open_with(&response, client_keys(), &facts(), answer, now());
    let refused = opened(&answered(&lax(&response))).unwrap_err();
    assert_eq!(refused, short(BODY, 96));
    opened(&answered(&response)).unwrap();

    let addressed = with(&policy, |policy| {
        policy.header.actor = Some("urn:node".to_owned());
    });
    let node = with(&addressed, |policy| {
        policy.header.intermediary = Some(Intermediary { reinserts: true });
    });
    let message = secure(&lax(&addressed), &plain);
    assert_eq!(told_to_peer(&node, &message), short(BODY, 96));
}

/// Under a key that the request carried, which no answer chooses.
#[test]
fn an_answer_under_the_key_of_its_request_may_be_short() {
    let policy = strict("Basic256");
    let plain = saying("<a/>");
    let secured = secure_with(&policy, client_keys(), &plain, None);
    let request = open(&policy, &text(&secured)).unwrap();
    let (_, receipt) = request.finish(&mut Buffers::default());
    let response = with(&policy, |policy| policy.encrypt_under_request());
    assert!(!response.lets_choose_keys());
    let answer = text(&secure_with(
        &response,
        service_keys(),
        &plain,
        Some(&receipt),
    ));
    let facts = soapstone_wss::Facts {
        request: Some(secured.receipt),
        ..facts()
    };
    open_with(&response, client_keys(), &facts, &answer, now()).unwrap();
}

#[test]
fn short_cipher_text_that_is_allowed_is_counted_until_it_ends() {
    let mut policy = lax(&strict("Basic256"));
    let message = secure(&policy, &saying("<a/>"));
    let opened = open(&policy, &message).unwrap();
    assert!(opened.evidence().weak.contains(&SHORT_CIPHER_TEXT));
    let since = now() - std::time::Duration::from_secs(60 * 60);
    policy.retirements.push(Retirement {
        algorithm: SHORT_CIPHER_TEXT.to_owned(),
        from: since,
    });
    let ended = Rejected::AlgorithmRetired {
        algorithm: SHORT_CIPHER_TEXT,
        since,
    };
    assert_eq!(open(&policy, &message).unwrap_err(), ended);
}

/// A receiver is updated first, takes what partners send, and signs the keys of what it sends.
#[test]
fn who_takes_short_cipher_text_signs_the_keys_of_its_own() {
    let strict = strict("Basic256");
    let lenient = with(&strict, |policy| policy.parts.short_cipher_text = true);
    open(&strict, &secure(&lenient, &saying("<a/>"))).unwrap();
    open(&lenient, &secure(&lax(&strict), &saying("<a/>"))).unwrap();
}

#[test]
fn nothing_short_leaves_without_its_key_signed_once_that_has_ended() {
    let since = now() - std::time::Duration::from_secs(60 * 60);
    let ended = |policy: &Policy| {
        with(policy, |policy| {
            policy.retirements.push(Retirement {
                algorithm: SHORT_CIPHER_TEXT.to_owned(),
                from: since,
            });
        })
    };
    let policy = strict("Basic256");
    let unsigned = ended(&lax(&policy));
    let plan = OutboundPlan::compile(unsigned.clone(), client_keys()).unwrap();
    let plain = envelope(&saying("<a/>"));
    let refused = plan.secure(plain, Outgoing::default(), now(), &mut Buffers::default());
    let algorithm = SHORT_CIPHER_TEXT;
    let told = SecureError::AlgorithmRetired { algorithm, since };
    assert_eq!(refused.unwrap_err(), told);
    // What is long enough leaves, and what has its key signed.
    secure(&unsigned, &saying(&element(64)));
    open(&policy, &secure(&ended(&policy), &saying("<a/>"))).unwrap();
}

/// What no signature covers is as good under any key: it has no end.
#[test]
fn what_no_signature_covers_leaves_as_short_as_it_is() {
    let since = now() - std::time::Duration::from_secs(60 * 60);
    let encrypting = |signed: &[Part]| {
        with(&lax(&strict("Basic256")), |policy| {
            policy.parts.encrypted = vec![EncryptedPart {
                part: header("To"),
                extent: Extent::Content,
            }];
            policy.parts.signed.extend(signed.iter().cloned());
            policy.retirements.push(Retirement {
                algorithm: SHORT_CIPHER_TEXT.to_owned(),
                from: since,
            });
        })
    };
    let sent = |policy: &Policy| {
        let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
        plan.secure(
            envelope(PLAIN),
            Outgoing::default(),
            now(),
            &mut Buffers::default(),
        )
    };
    let unsigned = encrypting(&[]);
    open(&unsigned, &text(&sent(&unsigned).unwrap())).unwrap();
    let algorithm = SHORT_CIPHER_TEXT;
    let ended = SecureError::AlgorithmRetired { algorithm, since };
    // It is signed itself, with what is around it, or by an endorsing signature alone.
    let inside = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    let inside = with(&unsigned, |policy| {
        policy.parts.encrypted[0].part = Part::Path(inside);
    });
    let endorsed = with(&unsigned, |policy| {
        policy.endorse_by(vec![EndorsingToken {
            parts: vec![header("To")],
            ..EndorsingToken::by_certificate(KeyReference::Direct)
        }]);
    });
    // In cipher text that is long, and is what the signature covers.
    let nested = with(&inside, |policy| {
        let body = EncryptedPart::customary(Part::Body);
        policy.parts.encrypted.push(body);
    });
    for signed in [encrypting(&[header("To")]), inside, nested, endorsed] {
        assert_eq!(sent(&signed).unwrap_err(), ended);
    }
}

/// Everybody can write lists, and they are read before a signature is known to be right.
#[test]
fn what_all_lists_mean_is_counted_before_any_of_it_is_looked_at() {
    let mut policy = strict("Basic256");
    policy.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Implied));
    let message = secure(&policy, &saying(&element(64)));
    open(&policy, &message).unwrap();
    let list = cut(&message, "<xenc:ReferenceList", "</xenc:ReferenceList>");
    let one = cut(list, "<xenc:DataReference", "</xenc:DataReference>");
    let limit = policy.limits.references;
    let half = list.replace(one, &one.repeat(limit / 2));
    let lists = |count: usize| message.replace(list, &half.repeat(count));
    // No key has deciphered anything.
    let refused = Rejected::TooMany {
        what: "references",
        limit,
    };
    assert_eq!(told_to_peer(&policy, &lists(3)), refused);
    // One that is longer than all may be is refused as it is read, and not in its turn: the list
    // in front of it deciphers.
    let long = list.replace(one, &one.repeat(limit + 1));
    let behind = message.replace(list, &format!("{list}{long}"));
    let what = "xenc:DataReference";
    let refused = Rejected::from(EncryptionError::TooMany { what, limit });
    for over_long in [behind, message.replace(list, &long)] {
        assert_eq!(told_to_peer(&policy, &over_long), refused);
    }
}
