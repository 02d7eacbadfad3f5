//! Packages that were changed on their way, each refused for its own reason.

use soapstone_wss::{EncryptedPart, FaultCode};

use super::*;

/// SwA Profile 1.1.1, 5.4.3: the digest is over the content.
#[test]
fn a_changed_attachment_is_refused() {
    let mut sent = send(&sign());
    sent.parts[2].set_content(b"\x1f\x8b\x08 other \r\n".to_vec());
    assert_eq!(refused(&sign(), &sent).name(), "digest-mismatch");
}

/// The digest binds the part that the Content-ID names, and not the place in the package.
#[test]
fn attachments_that_change_places_keep_their_digests() {
    let mut sent = send(&sign());
    sent.parts.reverse();
    assert!(receive(&sign(), &sent).is_ok());
    let (first, last) = (sent.parts[0].take_content(), sent.parts[1].take_content());
    sent.parts[0].set_content(last);
    sent.parts[1].set_content(first);
    assert_eq!(refused(&sign(), &sent).name(), "digest-mismatch");
}

#[test]
fn an_attachment_that_was_added_is_refused() {
    for policy in [sign(), sign_and_encrypt()] {
        let mut sent = send(&policy);
        sent.parts.push(part("more@sender", "text/plain", b"more"));
        let expected = problem("more@sender", AttachmentProblem::Unsigned);
        assert_eq!(refused(&policy, &sent), expected);
    }
    let policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let mut sent = send(&policy);
    sent.parts.push(part("more@sender", "text/plain", b"more"));
    let expected = problem("more@sender", AttachmentProblem::Unencrypted);
    assert_eq!(refused(&policy, &sent), expected);
}

/// As with a message whose sender signs no attachments at all.
#[test]
fn attachments_beside_a_signed_message_are_refused() {
    let sent = Sent {
        text: secure(&sign(), PLAIN),
        parts: parts(),
    };
    let expected = problem("invoice@sender", AttachmentProblem::Unsigned);
    assert_eq!(refused(&sign(), &sent), expected);
}

#[test]
fn an_attachment_that_was_taken_out_is_missed() {
    let mut sent = send(&sign());
    sent.parts.remove(1);
    let expected = problem("cid:note@sender", AttachmentProblem::Missing);
    assert_eq!(refused(&sign(), &sent), expected);
    // Without any, the message is no package, and refers to what is outside of it.
    sent.parts.clear();
    assert_eq!(refused(&sign(), &sent).name(), "external-reference");
}

/// RFC 2392: ids are compared byte by byte once they are unescaped.
#[test]
fn an_attachment_under_another_id_is_another_one() {
    for id in ["NOTE@sender", "note@sender.", "note%40sender"] {
        let mut sent = send(&sign());
        let content = sent.parts[1].take_content();
        sent.parts[1] = part(id, "text/plain; charset=utf-8", &content);
        let expected = problem("cid:note@sender", AttachmentProblem::Missing);
        assert_eq!(refused(&sign(), &sent), expected, "{id}");
    }
    // Another spelling of the same id.
    let sent = signed_anew(&send(&sign()), |info| {
        info.replace("cid:note@sender", "CID:%6eote%40sender")
    });
    assert!(receive(&sign(), &sent).is_ok());
}

/// The root has a Content-ID as well, and is no attachment. Its parts are signed as elements.
#[test]
fn a_reference_to_the_root_leads_to_nothing() {
    let sent = signed_anew(&send(&sign()), |info| {
        info.replace("cid:note@sender", "cid:root@sender")
    });
    let expected = problem("cid:root@sender", AttachmentProblem::Missing);
    assert_eq!(refused(&sign(), &sent), expected);
}

/// Of two digests, a receiver could compare the one and hand out what the other one is of.
#[test]
fn two_references_to_one_attachment_are_refused() {
    let sent = send(&sign());
    let once = reference_to(&sent, "cid:note@sender").to_owned();
    let escaped = once.replace("note", "%6Eote");
    for second in [once.clone(), escaped] {
        let sent = signed_anew(&sent, |info| {
            info.replacen(&once, &format!("{once}{second}"), 1)
        });
        let expected = problem("note@sender", AttachmentProblem::Repeated);
        assert_eq!(refused(&sign(), &sent), expected);
    }
}

/// SwA Profile 1.1.1, 5.4.1: with its header an attachment is what it is called.
#[test]
fn a_changed_header_is_refused_where_it_is_signed() {
    let policy = protecting(Mechanism::Sign, Coverage::Complete);
    let sent = send(&policy);
    let mut other = sent.clone();
    other.parts[1]
        .set_content_type("text/html")
        .expect("a type");
    assert_eq!(refused(&policy, &other).name(), "digest-mismatch");
    for (name, value) in [
        ("Content-Location", "http://evil.example/"),
        ("Content-Disposition", "attachment; filename=\"evil.exe\""),
        ("Content-Description", "An older invoice"),
    ] {
        let mut other = sent.clone();
        let injected = other.parts[0].clone().with_field(name, value);
        other.parts[0] = injected.expect("a field");
        assert_eq!(refused(&policy, &other).name(), "digest-mismatch", "{name}");
    }
}

/// Where the content alone is signed, nothing of the header is handed out but its media type.
#[test]
fn an_unsigned_header_is_left_out() {
    let mut sent = send(&sign());
    let injected = sent.parts[2]
        .clone()
        .with_field("Content-Location", "http://evil.example/");
    sent.parts[2] = injected.expect("a field");
    let verified = receive(&sign(), &sent).expect("it is good");
    assert_eq!(verified.attachments()[2].field("Content-Location"), None);
    assert_eq!(verified.attachments()[0].field("Content-Description"), None);
}

/// Anybody can encipher for us: a header that was in cipher text is nobody's word either.
#[test]
fn an_encrypted_header_that_is_not_signed_is_left_out() {
    let mut policy = sign_and_encrypt();
    policy.parts.attachments.encrypted = AttachmentProtection::Of(Coverage::Complete);
    let verified = receive(&policy, &send(&policy)).expect("it is good");
    let proven = &verified.evidence().attachments[0];
    assert_eq!(proven.signed, Some(Coverage::Content));
    assert_eq!(verified.attachments()[0].field("Content-Description"), None);
}

#[test]
fn a_signed_content_is_not_a_signed_attachment() {
    let whole = protecting(Mechanism::Sign, Coverage::Complete);
    let expected = problem("invoice@sender", AttachmentProblem::Unsigned);
    assert_eq!(refused(&whole, &send(&sign())), expected);
    assert!(receive(&sign(), &send(&whole)).is_ok());
}

/// SwA Profile 1.1.1, 5.4.2: what the canonical form leaves out, anybody can change. It is not
/// handed out.
#[test]
fn what_no_digest_covers_is_not_handed_out() {
    let mut sent = send(&sign());
    let other = INVOICE
        .replace("a remark", "pay twice")
        .replace("<?xml", "<?evil x?><?xml");
    let other = other.replace("<?evil x?>", "");
    sent.parts[0].set_content(other.into_bytes());
    sent.parts[1].set_content(b"one\rtwo\n".to_vec());
    let verified = receive(&sign(), &sent).expect("it is good");
    let contents: Vec<&[u8]> = verified
        .attachments()
        .iter()
        .map(Attachment::content)
        .collect();
    assert_eq!(contents[0], CANONICAL_INVOICE.as_bytes());
    assert_eq!(contents[1], b"one\r\ntwo\r\n");
}

/// A DTD could hold entities that are never digested, or that grow (CVE-2003-1564).
#[test]
fn a_dtd_in_an_attachment_is_refused() {
    let dtd = b"<!DOCTYPE i [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;\">]><i>&b;</i>";
    let mut sent = send(&sign());
    sent.parts[0].set_content(dtd.to_vec());
    assert_eq!(refused(&sign(), &sent).name(), "attachment-malformed");
    let own = vec![part("a@x", "text/xml", dtd)];
    let refused = sending(&sign(), PLAIN, own).expect_err("no canonical form");
    assert!(
        matches!(refused, SecureError::AttachmentUnfit { .. }),
        "{refused}"
    );
}

/// XML that grows: each of its empty elements is written with the namespace that it uses.
fn growing() -> Vec<u8> {
    let name = "n".repeat(60);
    let elements = "<p:e/>".repeat(1000);
    format!("<r xmlns:p=\"urn:{name}\">{elements}</r>").into_bytes()
}

/// Bytes of the canonical form of [`growing`].
const GROWN: usize = "<r></r>".len() + 1000 * ("<p:e xmlns:p=\"urn:\"></p:e>".len() + 60);

#[track_caller]
fn too_large(limit: usize, sent: &Sent, id: &str, left: usize) {
    let problem = format!(
        "expected attachments of {limit} bytes at most together, {left} in canonical form, found more"
    );
    let expected = self::problem(id, AttachmentProblem::Malformed { problem });
    match receive_within(limit, &sign(), sent) {
        Err(rejected) => assert_eq!(rejected.cause(), &expected),
        Ok(verified) => panic!("accepted: {:?}", verified.attachments().len()),
    }
}

/// Canonical forms are kept until they are handed out: all of them count, and what came, too.
#[test]
fn canonical_forms_are_bounded_together() {
    let parts = ["a@x", "b@x", "c@x"].map(|id| part(id, "text/xml", &growing()));
    let sent = sending(&sign(), PLAIN, parts.to_vec()).expect("it can be secured");
    let all = 3 * GROWN;
    let verified = receive_within(all, &sign(), &sent).expect("it is good");
    let lengths = verified.attachments().iter().map(|one| one.content().len());
    assert_eq!(lengths.sum::<usize>(), all);
    too_large(all - 1, &sent, "c@x", GROWN - 1);
    too_large(2 * GROWN, &sent, "b@x", GROWN - growing().len());
    // A sender refuses what the receiver would.
    assert!(sending_within(all, &sign(), PLAIN, parts.to_vec()).is_ok());
    let refused = sending_within(all - 1, &sign(), PLAIN, parts.to_vec());
    let refused = refused.expect_err("too large");
    assert!(
        matches!(&refused, SecureError::AttachmentUnfit { id, .. } if id == "c@x"),
        "{refused}"
    );
}

/// The media type is nobody's word where the content alone is signed: on the way, bytes become XML
/// that grows. It is refused before its digest is compared.
#[test]
fn a_part_that_becomes_growing_xml_on_the_way_is_bounded() {
    let mut sent = send(&sign());
    let others: usize = sent.parts[..2].iter().map(|one| one.content().len()).sum();
    sent.parts[2] = part("a+b/c@sender", "text/xml", &growing());
    assert_eq!(refused(&sign(), &sent).name(), "digest-mismatch");
    let limit = 20_000;
    // The others were written in canonical form before: less of XML, more of text.
    let grown = CANONICAL_INVOICE.len() + "one\r\ntwo\r\n".len();
    assert!(others + growing().len() < limit && growing().len() + grown < limit);
    too_large(limit, &sent, "a+b/c@sender", limit - grown);
}

#[test]
fn lines_of_text_that_grow_are_bounded() {
    let lines = || vec![part("a@x", "text/plain", &[b'\n'; 100])];
    let sent = sending(&sign(), PLAIN, lines()).expect("it can be secured");
    assert!(receive_within(200, &sign(), &sent).is_ok());
    too_large(199, &sent, "a@x", 199);
    let refused = sending_within(199, &sign(), PLAIN, lines()).expect_err("too large");
    assert!(
        matches!(refused, SecureError::AttachmentUnfit { .. }),
        "{refused}"
    );
}

/// The transforms of attachments are of `cid:` references alone, and the other way round.
#[test]
fn transforms_and_references_go_together() {
    const CONTENT: &str = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform";
    let sent = send(&sign());
    let once = reference_to(&sent, "cid:note@sender").to_owned();
    let transform = format!("<ds:Transform Algorithm=\"{CONTENT}\"></ds:Transform>");
    let exclusive =
        "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>";
    let refused_with = |what: &str, transforms: &str| {
        let all = format!("<ds:Transforms>{transform}</ds:Transforms>");
        let changed = once.replace(&all, transforms);
        assert_ne!(changed, once, "{what}");
        let sent = signed_anew(&sent, |info| info.replacen(&once, &changed, 1));
        refused(&sign(), &sent).name()
    };
    // Without any it would be inclusive canonical form.
    assert_eq!(refused_with("none", ""), "algorithm-not-allowed");
    let parameter = transform.replace("></ds:Transform>", "><x></x></ds:Transform>");
    for (what, transforms) in [
        ("another", exclusive.to_owned()),
        ("two", format!("{transform}{exclusive}")),
        ("a parameter", parameter),
    ] {
        let transforms = format!("<ds:Transforms>{transforms}</ds:Transforms>");
        assert_eq!(
            refused_with(what, &transforms),
            "transform-not-allowed",
            "{what}"
        );
    }
    let sent = signed_anew(&sent, |info| info.replace(exclusive, &transform));
    assert_eq!(refused(&sign(), &sent).name(), "transform-not-allowed");
}

fn encrypted_data(sent: &Sent, at: usize) -> String {
    let mut all = sent.text.match_indices("<xenc:EncryptedData");
    let (start, _) = all.nth(at).expect("cipher text");
    between(
        &sent.text[start..],
        "<xenc:EncryptedData",
        "</xenc:EncryptedData>",
    )
    .to_owned()
}

fn data_reference(sent: &Sent, data: &str) -> String {
    let id = between(data, "Id=\"", "\" ")
        .trim_start_matches("Id=")
        .trim();
    let reference = format!(
        "<xenc:DataReference URI=\"#{}\"></xenc:DataReference>",
        id.trim_matches('"')
    );
    assert!(sent.text.contains(&reference), "{reference}");
    reference
}

/// Cipher text that no key lists stays what it is: its media type alone says so.
#[test]
fn cipher_text_that_no_key_lists_is_refused() {
    let policy = sign_and_encrypt();
    let sent = send(&policy);
    let data = encrypted_data(&sent, 1);
    let unlisted = Sent {
        text: sent.text.replacen(&data_reference(&sent, &data), "", 1),
        parts: sent.parts.clone(),
    };
    assert_eq!(refused(&policy, &unlisted).name(), "digest-mismatch");
    let policy = self::policy(Mechanism::Encrypt, "Basic128GCM");
    let sent = send(&policy);
    let data = encrypted_data(&sent, 1);
    let unlisted = Sent {
        text: sent.text.replacen(&data_reference(&sent, &data), "", 1),
        parts: sent.parts.clone(),
    };
    let expected = problem("note@sender", AttachmentProblem::Undeciphered);
    assert_eq!(refused(&policy, &unlisted), expected);
    // Without both, it is an attachment that nobody encrypted.
    let plain = Sent {
        text: unlisted.text.replacen(&data, "", 1),
        parts: unlisted.parts,
    };
    let expected = problem("note@sender", AttachmentProblem::Unencrypted);
    assert_eq!(refused(&policy, &plain), expected);
}

/// Wrapping: the `xenc:EncryptedData` of an attachment stands in the header and nowhere else.
#[test]
fn cipher_text_of_attachments_stands_in_the_header() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let sent = send(&policy);
    let data = encrypted_data(&sent, 1);
    let without = sent.text.replacen(&data, "", 1);
    for (place, with) in [
        ("<soap:Body>", format!("<soap:Body>{data}")),
        ("</soap:Header>", format!("{data}</soap:Header>")),
        ("</wsse:Security>", format!("<x>{data}</x></wsse:Security>")),
    ] {
        let moved = Sent {
            text: without.replacen(place, &with, 1),
            parts: sent.parts.clone(),
        };
        assert_ne!(moved.text, without, "{place}");
        assert!(receive(&policy, &moved).is_err(), "{place}");
    }
}

#[test]
fn an_attachment_is_deciphered_once() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let sent = send(&policy);
    let data = encrypted_data(&sent, 1);
    let id = between(&data, "Id=\"", "\" ").to_owned();
    let second = data.replacen(&id, "Id=\"second\" ", 1);
    let twice = Sent {
        text: sent.text.replacen(&data, &format!("{data}{second}"), 1),
        parts: sent.parts.clone(),
    };
    let expected = problem("note@sender", AttachmentProblem::Repeated);
    assert_eq!(refused(&policy, &twice), expected);
    let reference = data_reference(&sent, &data);
    let listed_twice = Sent {
        text: sent.text.replacen(&reference, &reference.repeat(2), 1),
        parts: sent.parts,
    };
    assert_eq!(refused(&policy, &listed_twice), expected);
}

/// Cipher text in the message itself, or elsewhere than in the package.
#[test]
fn the_cipher_text_of_an_attachment_is_in_the_package() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let sent = send(&policy);
    for (from, to, name) in [
        (
            "URI=\"cid:note@sender\"",
            "URI=\"http://127.0.0.1/\"",
            "attachment-missing",
        ),
        (
            "URI=\"cid:note@sender\"",
            "URI=\"#body\"",
            "attachment-missing",
        ),
        (
            "URI=\"cid:note@sender\"",
            "URI=\"cid:root@sender\"",
            "attachment-missing",
        ),
        ("#Attachment-Ciphertext-Transform", "#Another", "malformed"),
    ] {
        let changed = Sent {
            text: sent.text.replace(from, to),
            parts: sent.parts.clone(),
        };
        assert_eq!(refused(&policy, &changed).name(), name, "{to}");
    }
}

/// Jager and Somorovsky, How to Break XML Encryption (2011): a peer is told of no step after the
/// first decryption.
#[test]
fn a_peer_learns_nothing_of_what_an_attachment_holds() {
    let none = "{urn:none}none".parse().expect("a part");
    let none = vec![EncryptedPart::customary(none)];
    for (suite, alone) in [
        ("Basic128GCM", false),
        ("Basic128", false),
        ("Basic128GCM", true),
        ("Basic128", true),
    ] {
        let mut policy = policy(Mechanism::SignEncrypt, suite);
        if alone {
            // No other cipher text is deciphered before.
            policy.parts.encrypted = none.clone();
            policy.parts.attachments.encrypted = AttachmentProtection::Of(Coverage::Content);
        }
        let sent = send(&policy);
        let mut told = Vec::new();
        for at in 0..sent.parts.len() {
            for byte in [0, sent.parts[at].content().len() - 1] {
                let mut changed = sent.clone();
                let mut content = changed.parts[at].take_content();
                content[byte] ^= 1;
                changed.parts[at].set_content(content);
                let rejected = receive_as_peer(&policy, &changed).expect_err("it was changed");
                told.push((rejected.name(), rejected.fault()));
            }
            let mut cut = sent.clone();
            cut.parts[at].set_content(Vec::new());
            let rejected = receive_as_peer(&policy, &cut).expect_err("it was cut");
            told.push((rejected.name(), rejected.fault()));
        }
        // The cipher text of one attachment in the place of another one's.
        let mut exchanged = sent.clone();
        let content = exchanged.parts[1].take_content();
        exchanged.parts[2].set_content(content.clone());
        exchanged.parts[1].set_content(content);
        let rejected = receive_as_peer(&policy, &exchanged).expect_err("it was exchanged");
        told.push((rejected.name(), rejected.fault()));
        told.dedup();
        assert_eq!(
            told,
            [("decryption-failed", FaultCode::FailedCheck)],
            "{suite}"
        );
    }
}

/// An attachment with the header of another one in its cipher text.
#[test]
fn a_deciphered_header_names_its_own_attachment() {
    let policy = protecting(Mechanism::Encrypt, Coverage::Complete);
    let mut sent = send(&policy);
    let (first, second) = (sent.parts[0].take_content(), sent.parts[1].take_content());
    sent.parts[0].set_content(second);
    sent.parts[1].set_content(first);
    assert_eq!(refused(&policy, &sent).name(), "decryption-failed");
}

/// ebMS 3.0 Core, 7.6: a signature over cipher text is of whoever has not read it.
#[test]
fn a_signature_over_the_cipher_text_of_an_attachment_is_refused() {
    let mut policy = sign_and_encrypt();
    // Of what is signed, the attachment alone is encrypted.
    let to = "{http://www.w3.org/2005/08/addressing}To"
        .parse()
        .expect("a part");
    policy.parts.encrypted = vec![EncryptedPart::customary(to)];
    policy.parts.attachments.encrypted = AttachmentProtection::Of(Coverage::Content);
    let note = parts().remove(1);
    let sent = sending(&policy, PLAIN, vec![note]).expect("it can be secured");
    assert!(receive(&policy, &sent).is_ok());
    let once = reference_to(&sent, "cid:note@sender").to_owned();
    let digest = between(&once, "<ds:DigestValue>", "</ds:DigestValue>").to_owned();
    let cipher = sent.parts[0].content();
    let over_cipher = soapstone_crypto::digest(policy.suite.digest[0], cipher);
    let over_cipher = over_cipher.expect("a digest");
    let over_cipher = format!(
        "<ds:DigestValue>{}</ds:DigestValue>",
        base64::encode(over_cipher.as_ref())
    );
    let mut forged = signed_anew(&sent, |info| {
        info.replacen(&once, &once.replace(&digest, &over_cipher), 1)
    });
    // As a receiver reads it that goes through the header in its order.
    let key = between(&forged.text, "<xenc:EncryptedKey", "</xenc:EncryptedKey>").to_owned();
    forged.text = forged.text.replacen(&key, "", 1);
    forged.text = forged
        .text
        .replacen("</wsse:Security>", &format!("{key}</wsse:Security>"), 1);
    let expected = problem("note@sender", AttachmentProblem::SignedAsCipherText);
    assert_eq!(refused(&policy, &forged), expected);
}

/// Under a key that many messages share nothing but their cipher text tells a copy.
#[test]
fn cipher_text_of_attachments_makes_a_message_known() {
    let shared = with_shared_key(policy(Mechanism::Encrypt, "Basic256GCM"));
    let plan = InboundPlan::compile(shared.clone(), service_keys()).expect("a plan");
    let marks = |sent: &Sent| {
        let envelope = envelope(&sent.text).with_attachments(sent.parts.clone(), LIMIT);
        let envelope = envelope.expect("few bytes");
        let mut buffers = Buffers::default();
        let opened = plan.open_unmarked(envelope, &facts(), now(), &mut buffers);
        let opened = opened.expect("it opens");
        let marks: Vec<_> = opened.marks().iter().map(|mark| mark.key).collect();
        marks
    };
    let (one, other) = (send(&shared), send(&shared));
    // The Body's and that of each attachment.
    assert_eq!(marks(&one).len(), 1 + one.parts.len());
    assert_eq!(marks(&one), marks(&one));
    let others = marks(&other);
    assert!(marks(&one).iter().all(|mark| !others.contains(mark)));
}
