//! What a token may be whose user's password gives a key, and what it may not.

use super::*;

#[test]
fn a_salt_is_sixteen_bytes() {
    let policy = signed();
    let message = sent(&policy);
    let bytes = salt_bytes(token(&message));
    for length in [1, 8, 15, 17, 64] {
        let other: Vec<u8> = bytes.iter().copied().cycle().take(length).collect();
        let changed = message.replace(salt(token(&message)), &base64::encode(&other));
        let expected = malformed(&format!("expected a `Salt` of 16 bytes, found {length}"));
        assert_eq!(
            derivations(&policy, &facts(), &changed),
            (0, Some(expected))
        );
    }
    let empty = message.replace(salt(token(&message)), "");
    let expected = malformed("expected a `Salt` of 16 bytes");
    assert_eq!(derivations(&policy, &facts(), &empty), (0, Some(expected)));
}

#[test]
fn a_salt_for_encryption_gives_no_mac_and_one_for_a_mac_enciphers_nothing() {
    let policy = by_password(Mechanism::SignEncrypt, None);
    let message = sent(&policy);
    let first = token(&message);
    let behind = message.find(first).unwrap() + first.len();
    let second = token(&message[behind..]);
    for (token, purpose, expected) in [(first, "a MAC", 1), (second, "encryption", 2)] {
        for found in [0_u8, 3 - expected, 3, 0x81] {
            let mut bytes = salt_bytes(token);
            bytes[0] = found;
            let changed = token.replace(salt(token), &base64::encode(&bytes));
            let problem = format!(
                "the salt of a key for {purpose} begins with {expected:02x}, found {found:02x}"
            );
            let mut policy = policy.clone();
            policy.parts.signed.retain(|part| *part != Part::Token);
            let reason = refused(&policy, &message.replace(token, &changed));
            if expected == 1 {
                assert_eq!(reason, misused(&problem));
            } else {
                // The key that signs is another one, and what it covers is in cipher text.
                assert_eq!(reason.cause(), &misused(&problem));
            }
        }
    }
}

#[test]
fn a_password_beside_the_salt_is_refused() {
    let policy = signed();
    let message = sent(&policy);
    for password in [
        "<wsse:Password>open sesame</wsse:Password>",
        "<wsse:Password></wsse:Password>",
    ] {
        let beside = message.replace("<wsse11:Salt", &format!("{password}<wsse11:Salt"));
        let expected =
            malformed("expected no `Password` in a token that keys are derived from, found one");
        assert_eq!(derivations(&policy, &facts(), &beside), (0, Some(expected)));
    }
    for (more, problem) in [
        (
            "<wsse:Nonce>AAAA</wsse:Nonce>",
            "expected `Username`, `Salt` and `Iteration`, found `Nonce`",
        ),
        (
            "<wsse:Username>bob</wsse:Username>",
            "expected one `Username`, found more",
        ),
    ] {
        let beside = message.replace("<wsse11:Salt", &format!("{more}<wsse11:Salt"));
        let expected = malformed(problem);
        assert_eq!(derivations(&policy, &facts(), &beside), (0, Some(expected)));
    }
}

#[test]
fn a_plain_token_does_not_do_in_the_place_of_a_key() {
    let policy = signed();
    for kind in [
        PasswordKind::Text,
        PasswordKind::Digest,
        PasswordKind::Absent,
    ] {
        let mut plain = self::policy(Mechanism::Username, "Basic128GCM");
        plain.username_mut().unwrap().passwords = vec![kind];
        let downgraded = secure_with(&plain, password_alone(), PLAIN, None);
        let reason = refused(&policy, &text(&downgraded));
        let expected = match kind {
            PasswordKind::Absent => {
                malformed("expected `Username`, `Salt` and `Iteration`, found `Nonce`")
            }
            _ => {
                malformed("expected no `Password` in a token that keys are derived from, found one")
            }
        };
        assert_eq!(reason, expected);
    }
    // The token of a key whose signature was taken away.
    let message = sent(&policy);
    let signature = cut(&message, "<ds:Signature ", "</ds:Signature>");
    assert_eq!(
        refused(&policy, &message.replace(signature, "")),
        Rejected::SignatureMissing
    );
}

#[test]
fn a_key_that_is_not_derived_is_refused_where_others_are_and_the_other_way_round() {
    let forms = [FORMS[0], FORMS[1]];
    for (sent_as, demanded) in [(forms[0], forms[1]), (forms[1], forms[0])] {
        let message = sent(&by_password(Mechanism::Sign, sent_as));
        let mut policy = by_password(Mechanism::Sign, demanded);
        policy.suite = suite("Basic128GCM");
        let reason = refused(&policy, &message);
        let expected = match demanded {
            Some(_) => Rejected::KeyNotDerived,
            None => Rejected::ElementUnexpected {
                element: format!(
                    "{{{}}}DerivedKeyToken",
                    ConversationVersion::V13.namespace()
                ),
            },
        };
        assert_eq!(reason, expected);
    }
}

#[test]
fn a_salt_is_among_the_marks_of_a_message_before_anything_is_deciphered() {
    for mechanism in [Mechanism::Sign, Mechanism::SignEncrypt] {
        // A hidden signature: nothing in the clear tells a copy from what somebody changed.
        for hides in [false, mechanism == Mechanism::SignEncrypt] {
            let mut policy = by_password(mechanism, None);
            if hides {
                let hidden = soapstone_wss::EncryptedPart::customary(Part::Signature);
                policy.parts.encrypted.push(hidden);
            }
            let message = sent(&policy);
            let marks = |message: &str| -> Vec<[u8; 32]> {
                let plan = InboundPlan::compile(policy.clone(), Keys::default()).unwrap();
                let mut buffers = Buffers::default();
                let (envelope, facts, mut nobody) = (envelope(message), facts(), ());
                let authenticated = plan
                    .authenticate(envelope, &facts, now(), &mut buffers, &mut nobody)
                    .unwrap();
                authenticated.marks().iter().map(|mark| mark.key).collect()
            };
            let first = marks(&message);
            let salts = message.matches("<wsse:UsernameToken").count();
            assert_eq!(
                first.len(),
                salts + usize::from(!hides),
                "{mechanism} {hides}"
            );
            if hides {
                // Other cipher text under the same salt, as somebody tries who asks for padding.
                let data = cut(&message, "<xenc:EncryptedData", "</xenc:EncryptedData>");
                let value = cut(data, "<xenc:CipherValue>", "</xenc:CipherValue>");
                let other = value.replacen("<xenc:CipherValue>", "<xenc:CipherValue>AAAA", 1);
                assert_eq!(marks(&message.replace(value, &other)), first);
            }
            assert!(
                marks(&sent(&policy))
                    .iter()
                    .all(|mark| !first.contains(mark))
            );
        }
    }
}

#[test]
fn a_token_of_two_users_and_one_outside_of_the_header_are_refused() {
    let mut policy = by_password(Mechanism::SignEncrypt, None);
    policy.parts.signed.retain(|part| *part != Part::Token);
    let message = sent(&policy);
    let first = token(&message);
    let behind = message.find(first).unwrap() + first.len();
    let second = token(&message[behind..]).to_owned();
    let of_bob = second.replace(">alice<", ">bob<");
    let both = knowing(&[("alice", PASSWORD), ("bob", PASSWORD)]);
    let reason = open_with(
        &policy,
        Keys::default(),
        &both,
        &message.replace(&second, &of_bob),
        now(),
    );
    let expected = misused("one message is secured with the passwords of two users");
    assert_eq!(reason.unwrap_err().cause(), &expected);
    // Somewhere in the Body it would not be marked.
    let policy = by_password(Mechanism::Sign, None);
    let message = declaring(&sent(&policy));
    let first = token(&message).to_owned();
    let moved = first
        .replace("<wsse11:", "<w:")
        .replace("</wsse11:", "</w:")
        .replace(
            "<wsse:UsernameToken",
            &format!(
                "<wsse:UsernameToken xmlns:w=\"{}\"",
                soapstone_wss::names::WSSE11
            ),
        );
    let moved = message
        .replace(&first, "")
        .replace("<e:empty/>", &format!("<e:empty/>{moved}"));
    let element = format!("{{{}}}UsernameToken", soapstone_wss::names::WSSE);
    assert_eq!(
        refused(&policy, &moved),
        Rejected::KeyNotFound {
            reference: format!("the token `{element}`")
        }
    );
}

#[test]
fn a_user_with_the_same_password_does_not_get_a_message_whose_token_is_signed() {
    let policy = signed();
    let message = sent(&policy);
    let both = knowing(&[("alice", PASSWORD), ("bob", PASSWORD)]);
    let renamed = message.replace(">alice<", ">bob<");
    let reason = open_with(&policy, Keys::default(), &both, &renamed, now()).unwrap_err();
    assert!(matches!(reason, Rejected::Signature(_)), "{reason:?}");
}
