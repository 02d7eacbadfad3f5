//! Cipher text that nobody asked to have deciphered: quoted by the sender, or put somewhere by
//! somebody else. No signature covers the list of what is deciphered (SOAP Message Security 1.1.1,
//! 9.1), so that anybody can add to it.

use std::fmt;

use soapstone_wss::{ElementPath, EncryptedPart, Extent, Mechanism, Part, Policy, Rejected, names};

use crate::support::*;

/// The first `EncryptedData` of a message, with the namespaces that it needs, and its id.
fn cipher_text(message: &str) -> (&str, &str) {
    let (_, rest) = message.split_once("<xenc:EncryptedData").unwrap();
    let start = message.len() - rest.len() - "<xenc:EncryptedData".len();
    let (inside, _) = rest.split_once("</xenc:EncryptedData>").unwrap();
    let end = message.len() - rest.len() + inside.len() + "</xenc:EncryptedData>".len();
    let (_, id) = inside.split_once(" Id=\"").unwrap();
    (&message[start..end], id.split_once('"').unwrap().0)
}

/// The message with one more reference in its list: first, and last.
fn listed(message: &str, id: &str) -> [String; 2] {
    let reference = format!("<xenc:DataReference URI=\"#{id}\"/>");
    let first = "<xenc:DataReference";
    let end = "</xenc:ReferenceList>";
    [
        message.replacen(first, &[&reference, first].concat(), 1),
        message.replacen(end, &[&reference, end].concat(), 1),
    ]
}

/// Each of these messages is refused as expected.
#[track_caller]
fn all_refused(
    policy: &Policy,
    messages: [String; 2],
    expected: &Rejected,
    context: impl fmt::Display,
) {
    for message in messages {
        let refused = open(policy, &message).unwrap_err();
        assert_eq!(refused, *expected, "{context}");
    }
}

fn unexpected(namespace: &str, local: &str) -> Rejected {
    Rejected::CipherTextUnexpected {
        element: format!("{{{namespace}}}{local}"),
    }
}

/// The cipher text of another message stands where the application wrote it, and its key is one
/// that the receiver has.
#[test]
fn cipher_text_that_a_sender_quotes_is_not_deciphered_by_a_list_that_nobody_signed() {
    let encrypted = [
        (Part::Body, Mechanism::EncryptSign),
        (header("To"), Mechanism::EncryptSign),
        (Part::Signature, Mechanism::EncryptSign),
        (Part::Body, Mechanism::SignEncrypt),
        (header("To"), Mechanism::SignEncrypt),
    ];
    for suite in ["Basic256", "Basic256GCM"] {
        for (part, mechanism) in &encrypted {
            let mut policy = with_shared_key(policy(*mechanism, suite));
            let before = secure(&policy, PLAIN);
            policy.parts.encrypted = vec![EncryptedPart::customary(part.clone())];
            let (data, id) = cipher_text(&before);
            for quote in [
                "<e:empty/>",
                "<e:text kind='x' a:b=\"1\">Grüße &amp; mehr</e:text>",
            ] {
                let message = secure(&policy, &PLAIN.replace(quote, data));
                let opened = open(&policy, &message).unwrap();
                assert!(
                    forwarded(&opened).contains(id),
                    "{part} {mechanism} {suite}"
                );
                for listed in listed(&message, id) {
                    let refused = open(&policy, &listed).unwrap_err();
                    // Where the list comes before the signature, another text was signed.
                    let is_changed = match refused.name() {
                        "digest-mismatch" => {
                            *mechanism == Mechanism::SignEncrypt || *part == Part::Signature
                        }
                        _ => refused == unexpected("urn:echo", "echo"),
                    };
                    assert!(is_changed, "{part} {mechanism} {suite}: {refused:?}");
                }
            }
        }
    }
}

/// The whole Body of the application is cipher text: that which the plan has encrypted is around
/// it.
#[test]
fn the_cipher_text_around_a_quoted_one_is_the_one_that_is_awaited() {
    let policy = with_shared_key(policy(Mechanism::EncryptSign, "Basic256"));
    let before = secure(&policy, PLAIN);
    let (data, id) = cipher_text(&before);
    let message = secure(&policy, &saying(data));
    open(&policy, &message).unwrap();
    let expected = unexpected(names::SOAP11, "Body");
    all_refused(&policy, listed(&message, id), &expected, "");
}

/// Partners encrypt the Body unasked, and sign it as cipher text. What stands beside something else
/// in the Body is no whole Body.
#[test]
fn a_body_that_nobody_demands_encrypted_is_cipher_text_as_a_whole_or_not_at_all() {
    for suite in ["Basic256", "Basic256GCM"] {
        let sender = with_shared_key(policy(Mechanism::EncryptSign, suite));
        let mut receiver = sender.clone();
        receiver.parts.encrypted = vec![EncryptedPart::customary(header("To"))];
        let mut both = sender.clone();
        both.parts
            .encrypted
            .extend(receiver.parts.encrypted.clone());
        let message = secure(&both, PLAIN);
        let opened = open(&receiver, &message).unwrap();
        assert!(forwarded(&opened).contains("<e:empty"), "{suite}");
        let captured = secure(&sender, PLAIN);
        let (data, id) = cipher_text(&captured);
        for beside in ["</soap:Body>", "<e:echo"] {
            let quoting = PLAIN.replacen(beside, &[data, beside].concat(), 1);
            let message = secure(&receiver, &quoting);
            open(&receiver, &message).unwrap();
            let expected = unexpected(names::SOAP11, "Body");
            all_refused(&receiver, listed(&message, id), &expected, suite);
        }
    }
}

/// No signature covers the Body, and somebody put captured cipher text into it.
#[test]
fn captured_cipher_text_is_no_body_where_no_signature_covers_the_body() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let whole = with_shared_key(policy(mechanism, "Basic256"));
        let captured = secure(&whole, PLAIN);
        let (data, id) = cipher_text(&captured);
        let policy = with(&whole, |policy| {
            policy.parts.signed = vec![Part::Timestamp, header("To")];
            policy.parts.encrypted = vec![EncryptedPart::customary(header("To"))];
        });
        let message = secure(&policy, PLAIN);
        let (start, rest) = message.split_once("<e:echo").unwrap();
        let (_, end) = rest.split_once("</e:echo>").unwrap();
        let message = [start, data, end].concat();
        let expected = unexpected(names::SOAP11, "Body");
        all_refused(&policy, listed(&message, id), &expected, mechanism);
    }
}

/// A header block that is passed on although nothing proves it, and that the backend may repeat to
/// everybody, such as a `MessageID`; and the header of another node, which is passed on as well.
#[test]
fn captured_cipher_text_is_not_deciphered_where_no_signature_covers_it() {
    let hiding = |mechanism, suite| {
        let mut policy = with_shared_key(policy(mechanism, suite));
        policy.parts.unsigned = vec![header("MessageID")];
        policy
    };
    let text = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    let other = format!(
        "<wsse:Security xmlns:wsse=\"{}\" soap:actor=\"urn:other\" xmlns:e=\"urn:echo\">",
        names::WSSE
    );
    let places = [
        (
            "<a:MessageID xmlns:e=\"urn:echo\">",
            "</a:MessageID>",
            unexpected("http://www.w3.org/2005/08/addressing", "MessageID"),
        ),
        (
            &*other,
            "</wsse:Security>",
            unexpected(names::WSSE, "Security"),
        ),
    ];
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        for suite in ["Basic256", "Basic256GCM"] {
            let whole = hiding(mechanism, suite);
            // A path looks into header blocks as well.
            let by_path = with(&whole, |policy| {
                let part = Part::Path(text.clone());
                policy.parts.encrypted = vec![EncryptedPart::customary(part)];
            });
            for policy in [whole, by_path] {
                let captured = secure(&policy, PLAIN);
                let (data, id) = cipher_text(&captured);
                for (start, end, expected) in &places {
                    let block = [start, data, end, "</soap:Header>"].concat();
                    let message = secure(&policy, PLAIN).replace("</soap:Header>", &block);
                    // A part that a path selects may be in any cipher text that was signed as such.
                    match open(&policy, &message) {
                        Ok(_) => {}
                        Err(refused) => assert_eq!(refused.name(), "undeciphered"),
                    }
                    all_refused(
                        &policy,
                        listed(&message, id),
                        expected,
                        format_args!("{mechanism} {suite}"),
                    );
                }
            }
        }
    }
}

const ADDRESSING: &str = "http://www.w3.org/2005/08/addressing";

/// What a path with prefixes selects.
fn path(text: &str) -> Part {
    let namespace = |prefix: &str| match prefix {
        "s" => Some(names::SOAP11.to_owned()),
        "a" => Some(ADDRESSING.to_owned()),
        "e" => Some("urn:echo".to_owned()),
        _ => None,
    };
    Part::Path(ElementPath::parse(text, namespace).unwrap())
}

/// A plan may want a header block encrypted that it has nobody sign: by its name, and by a path
/// that gives its name.
#[test]
fn an_unsigned_header_block_that_the_plan_names_is_deciphered() {
    let named = [
        header("To"),
        path("/s:Envelope/s:Header/a:To"),
        path("/s:Envelope/*[local-name()='Header']/a:*[local-name()='To' and not(@a:x)]"),
        path(&format!(
            "/*/s:Header/*[namespace-uri()='{ADDRESSING}'][local-name()='To']"
        )),
    ];
    let unnamed = [
        "//a:To",
        "/s:Envelope//a:To",
        "/s:Envelope/s:Header/a:*",
        "/s:Envelope/s:Header/*[local-name()='To']",
        "/s:Envelope/s:Header/*[local-name()='To' and (namespace-uri()='urn:e' or not(@x))]",
    ]
    .map(path);
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let wanting = |part: &Part| {
            let policy = with_shared_key(policy(mechanism, "Basic256"));
            with(&policy, |policy| {
                let (part, extent) = (part.clone(), Extent::Content);
                policy.parts.encrypted = vec![EncryptedPart { part, extent }];
            })
        };
        for part in &named {
            let policy = wanting(part);
            let opened = open(&policy, &secure(&policy, PLAIN));
            assert!(opened.is_ok(), "{mechanism} {part}: {opened:?}");
        }
        for part in &unnamed {
            let policy = wanting(part);
            let refused = open(&policy, &secure(&policy, PLAIN)).unwrap_err();
            assert_eq!(
                refused.name(),
                "cipher-text-unexpected",
                "{mechanism} {part}"
            );
        }
    }
}

/// More is encrypted than the plan wants, and signed before: what is deciphered is proven.
#[test]
fn what_is_signed_in_plain_text_may_be_cipher_text_unasked() {
    let wanted = with_shared_key(policy(Mechanism::SignEncrypt, "Basic256GCM"));
    let more = |part: Part| {
        with(&wanted, |policy: &mut Policy| {
            policy.parts.signed.push(header("To"));
            policy.parts.encrypted.push(EncryptedPart::customary(part));
        })
    };
    let asked = with(&wanted, |policy| policy.parts.signed.push(header("To")));
    let message = secure(&more(header("To")), PLAIN);
    assert!(forwarded(&open(&asked, &message).unwrap()).contains("urn:service"));
    // A header block that no signature covers is judged by itself, and is not passed on.
    let message = secure(&more(header("Action")), PLAIN);
    assert!(!forwarded(&open(&asked, &message).unwrap()).contains("Action"));
    // A signature covers its cipher text.
    let encrypts_first = |policy: &Policy| {
        with(policy, |policy| {
            policy.set_order(soapstone_wss::ProtectionOrder::EncryptBeforeSigning);
        })
    };
    let message = secure(&encrypts_first(&more(header("To"))), PLAIN);
    let holder = unexpected(names::WSSE11, "EncryptedHeader");
    assert_eq!(open(&encrypts_first(&asked), &message).unwrap_err(), holder);
}

/// The message with a list of its own for this cipher text, behind everything else in the header.
fn listed_apart(message: &str, id: &str) -> String {
    let list = format!(
        "<xenc:ReferenceList xmlns:xenc=\"{}\"><xenc:DataReference URI=\"#{id}\"/></xenc:ReferenceList></wsse:Security>",
        names::XENC
    );
    message.replacen("</wsse:Security>", &list, 1)
}

/// The signature is over the cipher text, and is verified before it is deciphered.
#[test]
fn what_a_signed_block_quotes_is_not_deciphered_behind_the_signature() {
    for suite in ["Basic256", "Basic256GCM"] {
        let receiver = with_shared_key(policy(Mechanism::SignEncrypt, suite));
        let sender = with(&receiver, |policy| {
            policy.parts.signed.push(header("Action"));
        });
        let captured = secure(&receiver, PLAIN);
        let (data, id) = cipher_text(&captured);
        let quoting = PLAIN.replace(">urn:echo<", &format!(">{data}<"));
        let message = secure(&sender, &quoting);
        open(&receiver, &message).unwrap();
        let refused = open(&receiver, &listed_apart(&message, id)).unwrap_err();
        let expected = unexpected("http://www.w3.org/2005/08/addressing", "Action");
        assert_eq!(refused, expected, "{suite}");
    }
}

/// Ids look everywhere, as paths do.
#[test]
fn captured_cipher_text_of_an_id_is_not_deciphered_in_an_unsigned_block() {
    let plain = PLAIN.replace(
        "<e:text ",
        &format!("<e:text xmlns:u=\"{}\" u:Id=\"text\" ", names::WSU),
    );
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let encrypting = |parts: &[Part]| {
            with(&with_shared_key(policy(mechanism, "Basic256")), |policy| {
                let parts = parts.iter().cloned().map(EncryptedPart::customary);
                policy.parts.encrypted = parts.collect();
                policy.parts.unsigned = vec![header("MessageID")];
            })
        };
        let by_id = Part::Id("text".to_owned());
        let captured = secure(&encrypting(std::slice::from_ref(&by_id)), &plain);
        let (data, id) = cipher_text(&captured);
        let receiver = encrypting(&[by_id, header("To")]);
        open(&receiver, &secure(&receiver, &plain)).unwrap();
        let block = format!("<a:MessageID xmlns:e=\"urn:echo\">{data}</a:MessageID></soap:Header>");
        let sender = encrypting(&[header("To")]);
        let message = secure(&sender, PLAIN).replace("</soap:Header>", &block);
        let expected = unexpected("http://www.w3.org/2005/08/addressing", "MessageID");
        all_refused(&receiver, listed(&message, id), &expected, mechanism);
    }
}

/// Nothing is signed, so that more may be encrypted than is demanded. The header of another node is
/// his affair all the same, however deep in it.
#[test]
fn without_signatures_all_is_deciphered_but_in_the_header_of_another_node() {
    let body = with_shared_key(policy(Mechanism::Encrypt, "Basic256GCM"));
    let text = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    let by_path = with(&body, |policy| {
        policy.parts.encrypted = vec![EncryptedPart::customary(Part::Path(text))];
    });
    let more = with(&body, |policy| {
        policy.parts.encrypted.push(EncryptedPart {
            part: header("To"),
            extent: Extent::Content,
        });
    });
    let opened = open(&body, &secure(&more, PLAIN)).unwrap();
    assert!(forwarded(&opened).contains("urn:service"));
    let other = |inside: &str| {
        format!(
            "<wsse:Security xmlns:wsse=\"{}\" soap:actor=\"urn:other\" xmlns:e=\"urn:echo\">{inside}</wsse:Security></soap:Header>",
            names::WSSE
        )
    };
    for policy in [body, by_path] {
        let captured = secure(&policy, PLAIN);
        let (data, id) = cipher_text(&captured);
        for (inside, holder) in [
            (data.to_owned(), unexpected(names::WSSE, "Security")),
            (
                format!("<e:deep>{data}</e:deep>"),
                unexpected("urn:echo", "deep"),
            ),
        ] {
            let message = secure(&policy, PLAIN).replace("</soap:Header>", &other(&inside));
            all_refused(&policy, listed(&message, id), &holder, "");
        }
    }
}

/// A path selects something in the Body, which the plan has nobody sign.
#[test]
fn a_part_of_an_unsigned_body_that_a_path_selects_is_deciphered() {
    let text = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let policy = with(&with_shared_key(policy(mechanism, "Basic256")), |policy| {
            policy.parts.signed = vec![Part::Timestamp, header("To")];
            policy.parts.encrypted = vec![EncryptedPart::customary(Part::Path(text.clone()))];
        });
        let opened = open(&policy, &secure(&policy, PLAIN));
        assert!(opened.is_ok(), "{mechanism}: {opened:?}");
    }
}

/// A path selects something in a header block that is signed, in either order.
#[test]
fn a_part_of_a_signed_block_that_a_path_selects_is_deciphered() {
    let address = ElementPath::parse("//e:address", |_| Some("urn:echo".to_owned())).unwrap();
    let plain = PLAIN.replace(
        "urn:service",
        "<e:address xmlns:e=\"urn:echo\">a</e:address>",
    );
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        for extent in [Extent::Element, Extent::Content] {
            let policy = with(&with_shared_key(policy(mechanism, "Basic256")), |policy| {
                let part = Part::Path(address.clone());
                policy.parts.signed.push(header("To"));
                policy.parts.encrypted = vec![EncryptedPart { part, extent }];
            });
            let opened = open(&policy, &secure(&policy, &plain));
            assert!(opened.is_ok(), "{mechanism} {extent:?}: {opened:?}");
        }
    }
}

/// The application's Body is cipher text, and so is the Body around it, which nobody demands.
#[test]
fn cipher_text_in_a_body_that_nobody_demands_encrypted_is_none_that_is_awaited() {
    let sender = with_shared_key(policy(Mechanism::EncryptSign, "Basic256"));
    let mut receiver = sender.clone();
    receiver.parts.encrypted = vec![EncryptedPart::customary(header("To"))];
    let mut both = sender.clone();
    both.parts
        .encrypted
        .extend(receiver.parts.encrypted.clone());
    let captured = secure(&sender, PLAIN);
    let (data, id) = cipher_text(&captured);
    let message = secure(&both, &saying(data));
    open(&receiver, &message).unwrap();
    let expected = unexpected(names::SOAP11, "Body");
    all_refused(&receiver, listed(&message, id), &expected, "");
}

/// A Body without elements has none that is not in cipher text elsewhere.
#[test]
fn cipher_text_elsewhere_is_no_whole_body_where_the_body_is_empty() {
    let empty = saying("");
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let whole = with_shared_key(policy(mechanism, "Basic256"));
        let captured = secure(&whole, PLAIN);
        let (data, id) = cipher_text(&captured);
        let receiver = with(&whole, |policy| {
            policy.parts.encrypted = vec![EncryptedPart::customary(header("To"))];
            policy.parts.unsigned = vec![header("MessageID")];
        });
        let block = format!("<a:MessageID>{data}</a:MessageID></soap:Header>");
        let message = secure(&receiver, &empty).replace("</soap:Header>", &block);
        open(&receiver, &message).unwrap();
        let expected = unexpected("http://www.w3.org/2005/08/addressing", "MessageID");
        all_refused(&receiver, listed(&message, id), &expected, mechanism);
    }
}

/// Cipher text is awaited in the Body, and all of the Body is cipher text around it.
#[test]
fn a_body_is_not_cipher_text_as_a_whole_where_a_part_of_it_is_awaited() {
    let text = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    let wanted = with(
        &with_shared_key(policy(Mechanism::EncryptSign, "Basic256")),
        |policy| {
            policy.parts.encrypted = vec![EncryptedPart::customary(Part::Path(text))];
        },
    );
    let more = with(&wanted, |policy| {
        let body = EncryptedPart::customary(Part::Body);
        policy.parts.encrypted.push(body);
    });
    open(&wanted, &secure(&wanted, PLAIN)).unwrap();
    let refused = open(&wanted, &secure(&more, PLAIN)).unwrap_err();
    assert_eq!(refused, unexpected(names::SOAP11, "Body"));
}

/// Where plain text is signed, a header block may be cipher text without an element around it, and
/// the content of a signed block may be, be it text alone. A block of which a signature covers a
/// part may not.
#[test]
fn the_content_of_a_block_may_be_cipher_text_where_all_of_it_is_signed() {
    let wanted = with_shared_key(policy(Mechanism::SignEncrypt, "Basic256GCM"));
    let content = |local: &str| EncryptedPart {
        part: header(local),
        extent: Extent::Content,
    };
    let bare = with(&wanted, |policy| {
        policy.parts.bare_header_blocks = true;
        policy
            .parts
            .encrypted
            .push(EncryptedPart::customary(header("Action")));
    });
    let opened = open(&wanted, &secure(&bare, PLAIN)).unwrap();
    assert!(!forwarded(&opened).contains("Action"));

    let to_signed = with(&wanted, |policy| policy.parts.signed.push(header("To")));
    let to_hidden = with(&to_signed, |policy| {
        policy.parts.encrypted.push(content("To"))
    });
    let opened = open(&to_signed, &secure(&to_hidden, PLAIN)).unwrap();
    assert!(forwarded(&opened).contains("urn:service"));

    let held = "<e:one xmlns:e=\"urn:echo\">1</e:one><e:two xmlns:e=\"urn:echo\">2</e:two>";
    let plain = PLAIN.replace(">urn:echo<", &format!(">{held}<"));
    let path =
        |text: &str| Part::Path(ElementPath::parse(text, |_| Some("urn:echo".to_owned())).unwrap());
    let signing = |parts: &[&str]| {
        with(&wanted, |policy| {
            policy
                .parts
                .signed
                .extend(parts.iter().map(|one| path(one)));
        })
    };
    for (parts, is_accepted) in [
        (&["//e:one", "//e:two"][..], true),
        (&["//e:one"], false),
        (&["//e:two"], false),
        (&[], false),
    ] {
        let signed = signing(parts);
        let hidden = with(&signed, |policy| {
            policy.parts.encrypted.push(content("Action"))
        });
        let opened = open(&signed, &secure(&hidden, &plain)).map(drop);
        let expected = match is_accepted {
            true => Ok(()),
            false => Err(unexpected("http://www.w3.org/2005/08/addressing", "Action")),
        };
        assert_eq!(opened, expected, "{parts:?}");
    }
}

/// An `EncryptedHeader` is a header block, and none inside of another one.
#[test]
fn captured_cipher_text_in_an_encrypted_header_inside_of_a_block_is_not_deciphered() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let policy = with(&with_shared_key(policy(mechanism, "Basic256")), |policy| {
            policy.parts.unsigned = vec![header("MessageID")];
        });
        let captured = secure(&policy, PLAIN);
        let (data, id) = cipher_text(&captured);
        let block = format!(
            "<a:MessageID xmlns:h=\"{}\"><h:EncryptedHeader>{data}</h:EncryptedHeader></a:MessageID></soap:Header>",
            names::WSSE11
        );
        let message = secure(&policy, PLAIN).replace("</soap:Header>", &block);
        let expected = unexpected(names::WSSE11, "EncryptedHeader");
        all_refused(&policy, listed(&message, id), &expected, "");
    }
}

/// What is encrypted in an unsigned header block that is passed on.
fn unsigned_to(mechanism: Mechanism, part: Part, extent: Extent) -> Policy {
    with(&with_shared_key(policy(mechanism, "Basic256")), |policy| {
        policy.parts.encrypted = vec![EncryptedPart { part, extent }];
        policy.parts.unsigned = vec![header("To")];
    })
}

/// A path to something in an unsigned block has a name for each step: `*` would be whatever
/// captured cipher text turns out to be.
#[test]
fn in_an_unsigned_block_a_path_of_names_selects_what_has_them() {
    let plain = PLAIN.replace(
        "urn:service",
        "<e:address xmlns:e=\"urn:echo\">urn:service</e:address>",
    );
    let is_whole = |text: &str| text.contains("a:To/e:address");
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let hidden = path("//e:echo");
        let hiding = with(&with_shared_key(policy(mechanism, "Basic256")), |policy| {
            policy.parts.encrypted = vec![EncryptedPart::customary(hidden.clone())];
        });
        let captured = secure(&hiding, PLAIN);
        let (data, id) = cipher_text(&captured);
        for text in [
            "/s:Envelope/s:Header/a:To/e:address",
            "/s:Envelope/s:Header/a:To/*",
            "/s:Envelope/s:Header/a:To/e:*",
            "/s:Envelope/s:Header/a:To//*",
            "/s:Envelope/s:Header/a:To//e:address",
            "/s:Envelope/s:Header/a:To/*[local-name()='address']",
        ] {
            let policy = unsigned_to(mechanism, path(text), Extent::Element);
            let message = secure(&policy, &plain);
            let refused = open(&policy, &message).map(drop).map_err(|one| one.name());
            let expected = match is_whole(text) {
                true => Ok(()),
                false => Err("cipher-text-unexpected"),
            };
            assert_eq!(refused, expected, "{mechanism} {text}");
            let block = format!("<a:To xmlns:e=\"urn:echo\">{data}</a:To></soap:Header>");
            let attacked = message.replace("</soap:Header>", &block);
            let expected = unexpected(ADDRESSING, "To");
            all_refused(
                &policy,
                listed(&attacked, id),
                &expected,
                format_args!("{mechanism} {text}"),
            );
        }
    }
}

/// By a path that names it, a block is what it is by its name: one that an `EncryptedHeader` holds
/// in the clear is none.
#[test]
fn captured_cipher_text_in_a_named_block_is_judged_alike_by_path_and_by_name() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let captured = secure(&with_shared_key(policy(mechanism, "Basic256")), PLAIN);
        let (data, id) = cipher_text(&captured);
        let block = format!("<a:To xmlns:e=\"urn:echo\">{data}</a:To>");
        let clear = format!(
            "<h:EncryptedHeader xmlns:h=\"{}\">{block}</h:EncryptedHeader>",
            names::WSSE11
        );
        // Nobody but its own node judges what it holds.
        let others = clear.replacen(" xmlns", " soap:actor=\"urn:other\" xmlns", 1);
        let deeper = format!(
            "<h:EncryptedHeader xmlns:h=\"{}\">{clear}</h:EncryptedHeader>",
            names::WSSE11
        );
        let evil = block
            .replace("a:To", "e:To")
            .replace("<e:To", "<e:To xmlns:a=\"urn:a\"");
        for block in [&block, &clear, &others, &deeper, &evil] {
            let told = |part: Part| {
                let mut policy = unsigned_to(mechanism, part, Extent::Content);
                policy.parts.unsigned.push(Part::Header {
                    namespace: names::WSSE11.to_owned(),
                    local: "EncryptedHeader".to_owned(),
                });
                let message = secure(&policy, PLAIN);
                open(&policy, &message).unwrap();
                let block = format!("{block}</soap:Header>");
                let message = message.replace("</soap:Header>", &block);
                listed(&message, id).map(|listed| {
                    let opened = open(&policy, &listed);
                    let opened = opened.map(|opened| forwarded(&opened).contains("<e:empty"));
                    opened.map_err(|refused| refused.name())
                })
            };
            let by_name = told(header("To"));
            assert_eq!(told(path("/s:Envelope/s:Header/a:To")), by_name, "{block}");
        }
    }
}

/// A path leads through an `EncryptedHeader`. One inside of a block is none, and holds nothing of
/// that block.
#[test]
fn captured_cipher_text_beyond_an_encrypted_header_is_not_what_a_path_means() {
    let address = |inside: &str| format!("<e:address xmlns:e=\"urn:echo\">{inside}</e:address>");
    let plain = PLAIN.replace("urn:service", &address("urn:service"));
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let captured = secure(&with_shared_key(policy(mechanism, "Basic256")), PLAIN);
        let (data, id) = cipher_text(&captured);
        let part = path("/s:Envelope/s:Header/a:To/e:address");
        let policy = unsigned_to(mechanism, part, Extent::Content);
        let message = secure(&policy, &plain);
        open(&policy, &message).unwrap();
        let block = format!(
            "<a:To><h:EncryptedHeader xmlns:h=\"{}\">{}</h:EncryptedHeader></a:To></soap:Header>",
            names::WSSE11,
            address(data)
        );
        let message = message.replace("</soap:Header>", &block);
        let expected = unexpected("urn:echo", "address");
        all_refused(&policy, listed(&message, id), &expected, mechanism);
    }
}
