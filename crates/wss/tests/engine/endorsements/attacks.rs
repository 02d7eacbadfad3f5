//! Messages whose endorsement somebody changed on the way: the token, its certificate, its cipher
//! text, or what it covers is another.

use super::*;

/// McIntosh and Austel (2005), with a `KeyInfo`, which no signature covers: the hidden token stays
/// where it is, and the endorsing signature is made to refer to a copy that anybody reads.
#[test]
fn a_copy_in_the_clear_does_not_stand_in_for_the_hidden_token() {
    let policy = hidden(symmetric("Basic256GCM"), true);
    let message = message(&policy);
    let copy = token(PARTIES.client.certificate(), "copy");
    let hidden = hidden_token(&message);
    let signature = endorsement(&message);
    let uri = signature.rfind("URI=\"#").unwrap() + 6;
    let end = uri + signature[uri..].find('"').unwrap();
    let misled = format!("{}copy{}", &signature[..uri], &signature[end..]);
    for moved in [
        message
            .replace(signature, &misled)
            .replace(hidden, &format!("{hidden}{copy}")),
        // In another header block, which is not passed on.
        message.replace(signature, &misled).replace(
            "<a:To>",
            &format!("<x:Aside xmlns:x=\"urn:x\">{copy}</x:Aside><a:To>"),
        ),
    ] {
        // The message's signature covers the token that is hidden, not this one.
        assert_eq!(refuse(&policy, &moved), Rejected::Unsigned { part: TOKEN });
        let mut unsigned = policy.clone();
        unsigned.token(0).signed = false;
        assert_eq!(
            refuse(&unsigned, &moved),
            Rejected::Unencrypted { part: TOKEN }
        );
    }
    // Under an asymmetric binding the sender's certificate is there already, in the clear.
    let policy = self::hidden(self::policy(Mechanism::SignEncrypt, "Basic256GCM"), false);
    let message = self::message(&policy);
    let signature = endorsement(&message);
    let misled = signature.replace("-endorse\" ValueType", "-cert\" ValueType");
    assert_ne!(signature, misled);
    assert_eq!(
        refuse(&policy, &message.replace(signature, &misled)),
        Rejected::Unencrypted { part: TOKEN }
    );
}

/// McIntosh and Austel (2005): the hidden token is moved out of the `wsse:Security` header.
#[test]
fn a_signed_token_that_was_moved_aside_is_refused() {
    let policy = hidden(symmetric("Basic256GCM"), true);
    let message = message(&policy);
    let hidden = hidden_token(&message);
    let moved = message.replace(hidden, "").replace(
        "<a:To>",
        &format!("<x:Aside xmlns:x=\"urn:x\">{hidden}</x:Aside><a:To>"),
    );
    // The signature that the token belongs to is not verified after a decryption unless the header
    // itself has something enciphered.
    assert_eq!(told_to_peer(&policy, &moved).name(), "key-not-found");
}

/// A message whose hidden token is another one under the message's own key: what only its sender
/// could do, or who has opened it.
fn substituted(policy: &Policy, certificate: &Certificate) -> String {
    let Secured { bytes, receipt, .. } = secure_with(policy, client_keys(), PLAIN, None);
    let message = String::from_utf8(bytes).unwrap();
    let algorithm = policy.suite.data[0];
    let id = cut(&message, "ds:Signature", "-endorsement\"");
    let id = &id[id.rfind("URI=\"#").unwrap() + 6..];
    let token = token(certificate, &id[..id.find('"').unwrap()]);
    let mut cipher = vec![0; algorithm.iv_length()];
    cipher.extend_from_slice(token.as_bytes());
    seal_in_place(
        algorithm,
        &receipt.session_keys[0].1,
        &mut cipher,
        0,
        &mut Supply::default(),
    )
    .unwrap();
    with_cipher(&message, &base64::encode(&cipher))
}

/// The message with other cipher text in the place of the hidden token's.
fn with_cipher(message: &str, cipher: &str) -> String {
    let hidden = hidden_token(message);
    let start = hidden.find("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
    let end = hidden.find("</xenc:CipherValue>").unwrap();
    message.replace(
        hidden,
        &format!("{}{cipher}{}", &hidden[..start], &hidden[end..]),
    )
}

/// SOAP Message Security 1.1.1, 13.2.3 (token substitution).
#[test]
fn a_token_that_deciphers_to_another_certificate_is_not_the_senders() {
    let rsa = KeyKind::Rsa { bits: 2048 };
    let partner = identity("CN=mallory", rsa);
    let strangers = PARTIES.stranger.certificate();
    for signed in [false, true] {
        let policy = hidden(symmetric("Basic256GCM"), signed);
        let refused = refuse(&policy, &substituted(&policy, partner.certificate()));
        let expected = if signed {
            "digest-mismatch"
        } else {
            "signature-mismatch"
        };
        assert_eq!(refused.name(), expected, "{refused}");
        // The same certificate again, in another cipher text, is the same token.
        open(&policy, &substituted(&policy, PARTIES.client.certificate())).unwrap();
    }
    let policy = hidden(symmetric("Basic256GCM"), false);
    let refused = refuse(&policy, &substituted(&policy, strangers));
    assert_eq!(refused.name(), "untrusted");

    // Vaudenay (2002), Jager and Somorovsky (CVE-2011-1096): where cipher text can be changed, none
    // of this is told apart.
    let policy = hidden(symmetric("Basic256"), true);
    for certificate in [partner.certificate(), strangers] {
        let refused = told_to_peer(&policy, &substituted(&policy, certificate));
        assert!(matches!(refused, Rejected::AfterDecryption(_)), "{refused}");
        assert_eq!(refused.fault(), FaultCode::FailedCheck);
    }
}

/// Jager and Somorovsky (CVE-2011-1096): a token under a key that the message does not have fails
/// as any other cipher text does.
#[test]
fn a_token_under_a_foreign_key_is_the_one_failure_of_decryption() {
    for suite in ["Basic256GCM", "Basic256"] {
        for order in ORDERS {
            let mut policy = hidden(symmetric(suite), true);
            policy.set_order(order);
            let (ours, foreign) = (message(&policy), message(&policy));
            let cipher = |message: &str| {
                let hidden = hidden_token(message);
                let start = hidden.find("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
                hidden[start..hidden.find("</xenc:CipherValue>").unwrap()].to_owned()
            };
            let of_body = |message: &str| {
                let body = cut(message, "xenc:EncryptedData", "-body\"");
                let start = body.find("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
                body[start..body.find("</xenc:CipherValue>").unwrap()].to_owned()
            };
            let told = |message: &str| {
                let refused = told_to_peer(&policy, message);
                (refused.fault(), refused.fault().reason())
            };
            let token = with_cipher(&ours, &cipher(&foreign));
            let failure = Rejected::Encryption(EncryptionError::Failed);
            let refused = refuse(&policy, &token);
            assert_eq!(refused, failure);
            let body = ours.replace(&of_body(&ours), &of_body(&foreign));
            assert_eq!(told(&token), told(&body));
            assert_eq!(told(&token).0, FaultCode::FailedCheck);
        }
    }
}

/// SOAP Message Security 1.1.1, 9.2: what is encrypted is processed when the list that names it is.
/// A token in front of that is one that cannot be read yet (WS-SecurityPolicy 1.3, 6.7.1); CXF 4.2
/// writes such messages under an asymmetric binding and refuses them itself.
#[test]
fn a_hidden_token_in_front_of_the_key_that_opens_it_is_refused() {
    let policy = hidden(policy(Mechanism::SignEncrypt, "Basic256GCM"), false);
    let message = message(&policy);
    let hidden = hidden_token(&message);
    let time = cut(&message, "wsu:Timestamp", "");
    let moved = message
        .replace(hidden, "")
        .replace(time, &format!("{hidden}{time}"));
    assert!(matches!(
        refuse(&policy, &moved),
        Rejected::ElementUnexpected { element } if element.ends_with("EncryptedData")
    ));
}

/// WS-SecurityPolicy 1.3, 8.3: an element that is covered and was moved is not the one that is
/// there.
#[test]
fn a_header_that_took_the_place_of_an_endorsed_one_is_refused() {
    let mut policy = symmetric("Basic256GCM");
    endorse(&mut policy, KeyReference::Direct, false, false);
    policy.token(0).parts.push(header("To"));
    let message = message(&policy);
    let to = cut(&message, "a:To", "wsu:Id");
    let moved = message.replace(
        to,
        &format!("<a:To>urn:elsewhere</a:To><x:Aside xmlns:x=\"urn:x\">{to}</x:Aside>"),
    );
    assert_eq!(
        refuse(&policy, &moved),
        Rejected::Unendorsed { part: header("To") }
    );
    let dropped = message.replace(to, &format!("<x:Aside xmlns:x=\"urn:x\">{to}</x:Aside>"));
    assert!(matches!(
        refuse(&policy, &dropped),
        Rejected::SignedElsewhere { .. }
    ));
}

/// A partner endorses what another one signed, with a header block of his own: that block is not
/// what the sender says.
#[test]
fn what_somebody_else_endorses_is_not_passed_on_as_the_senders() {
    let signed = policy(Mechanism::Sign, "Basic256GCM");
    let captured = message(&signed).replace("<a:To>urn:service</a:To>", "<a:To>urn:mallory</a:To>");
    let mut keys = client_keys();
    let rsa = KeyKind::Rsa { bits: 2048 };
    keys.identity = Some(identity("CN=mallory", rsa));
    // A header for somebody else is a place to make a signature over the first one's.
    let over = path("/*/*[local-name()='Header']/*/*[local-name()='Signature']");
    let his = policy(Mechanism::Sign, "Basic256GCM");
    let his = aside(his, vec![over, header("To")]);
    let one_header = merged(&text(&secure_with(&his, keys, &captured, None)));
    let mut wanted = signed;
    endorse(&mut wanted, KeyReference::Direct, false, false);
    wanted.token(0).parts.push(header("To"));
    let opened = open(&wanted, &one_header).unwrap();
    assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
    assert!(!forwarded(&opened).contains("urn:mallory"));
    assert!(
        opened
            .evidence()
            .dropped
            .iter()
            .any(|name| name.ends_with("To"))
    );
}

/// A certificate of somebody else for the client's key: from an authority that does not ask for a
/// proof of possession (RFC 4211, 4).
fn usurper() -> Certificate {
    let template = Template::new("CN=mallory", Validity::days(now(), 30)).unwrap();
    let key = PARTIES.client.certificate().public_key();
    issue::issued(&PARTIES.authority, key, &template).unwrap()
}

/// SOAP Message Security 1.1.1, 13.2.3 (token substitution): nothing signs the `ds:KeyInfo` of a
/// signature, so that somebody can have it hold another certificate for the same key. Where tokens
/// are protected (WS-SecurityPolicy 1.3, 6.5 and 8.9), that one is the token which is to be
/// covered.
#[test]
fn a_certificate_inside_of_the_reference_does_not_take_the_place_of_a_protected_token() {
    let mut endorsed = symmetric("Basic256GCM");
    endorse(&mut endorsed, KeyReference::Direct, false, true);
    let mut signed = policy(Mechanism::Sign, "Basic256GCM");
    signed.parts.signed.push(Part::Token);
    for (policy, part) in [(endorsed, TOKEN), (signed, Part::Token)] {
        let message = message(&policy);
        let reference = cut(&message, "wsse:SecurityTokenReference", "");
        let reference = match part {
            TOKEN => cut(endorsement(&message), "wsse:SecurityTokenReference", ""),
            _ => reference,
        };
        let token = token(&usurper(), "usurper");
        let start = &reference[..reference.find("<wsse:Reference").unwrap()];
        let inside =
            format!("{start}<wsse:Embedded>{token}</wsse:Embedded></wsse:SecurityTokenReference>");
        open(&policy, &message).unwrap();
        assert_eq!(
            refuse(&policy, &message.replace(reference, &inside)),
            Rejected::Unsigned { part }
        );
    }
}

/// WS-SecurityPolicy 1.3, 8.4: the message's signature covers the token so that nobody takes the
/// endorsement away and puts his own there. A partner whom we know need not send his certificate to
/// be found by its name.
#[test]
fn an_endorsement_that_names_another_certificate_does_not_replace_that_of_a_signed_token() {
    let mut policy = symmetric("Basic256GCM");
    endorse(&mut policy, KeyReference::Direct, true, false);
    let message = message(&policy);
    let rsa = KeyKind::Rsa { bits: 2048 };
    let mallory = identity("CN=mallory", rsa);
    let over = path("/*/*[local-name()='Header']/*/*[local-name()='Signature']");
    let mut his = aside(self::policy(Mechanism::Sign, "Basic256GCM"), vec![over]);
    his.name_signing_key(KeyReference::Thumbprint);
    let keys = Keys {
        identity: Some(Arc::clone(&mallory)),
        ..client_keys()
    };
    let stripped = message.replace(endorsement(&message), "");
    let made = text(&secure_with(&his, keys, &stripped, None));
    let own = &made[made.find("<ds:Signature ").unwrap()..];
    let own = &own[..own.find("</ds:Signature>").unwrap() + "</ds:Signature>".len()];
    let replaced = message.replace(endorsement(&message), own);
    let known = soapstone_wss::Facts {
        certificates: vec![mallory.certificate().clone()],
        ..facts()
    };
    let refused = open_with(&policy, service_keys(), &known, &replaced, now());
    match refused {
        Err(refused) => assert_eq!(refused, Rejected::Unsigned { part: TOKEN }),
        Ok(opened) => panic!("accepted as {:?}", opened.evidence().signer()),
    }
}
