//! Endorsing signatures whose token is encrypted, or that cover more than a signature
//! (WS-SecurityPolicy 1.3, 8.3, 8.4, 8.7 and 8.8): what is secured opens, and what is less than the
//! policy wants does not.

use std::sync::Arc;

use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::random::Supply;
use soapstone_crypto::{Certificate, KeyKind, base64, seal_in_place};
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, EndorsingKey, EndorsingToken, FaultCode,
    KeyBinding, KeyReference, Keys, Mechanism, OutboundPlan, Part, PlanProblem, Policy,
    ProtectionOrder, Rejected, Secured, SignatureRole,
};

use soapstone_xmlsec::enc::EncryptionError;

use crate::conversations::{bound, derived, text};
use crate::support::Adjust as _;
use crate::support::*;

const TOKEN: Part = Part::EndorsingToken;
const ORDERS: [ProtectionOrder; 2] = [
    ProtectionOrder::SignBeforeEncrypting,
    ProtectionOrder::EncryptBeforeSigning,
];

fn symmetric(suite: &str) -> Policy {
    bound(
        Mechanism::SignEncrypt,
        suite,
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    )
}

/// `EndorsingEncryptedSupportingTokens`, or `SignedEndorsingEncryptedSupportingTokens`.
fn hidden(mut policy: Policy, signed: bool) -> Policy {
    endorse(&mut policy, KeyReference::Direct, signed, false);
    hide_endorsement(&mut policy);
    policy
}

fn message(policy: &Policy) -> String {
    secure(policy, PLAIN)
}

#[track_caller]
fn refuse(policy: &Policy, message: &str) -> Rejected {
    match open(policy, message) {
        Err(refused) => refused,
        Ok(verified) => panic!("accepted: {}", forwarded(&verified)),
    }
}

/// The element of this name whose start tag contains `mark`.
fn cut<'m>(message: &'m str, name: &str, mark: &str) -> &'m str {
    let end = format!("</{name}>");
    let start = format!("<{name}");
    message
        .match_indices(&start)
        .filter(|(at, _)| message[at + start.len()..].starts_with([' ', '>']))
        .map(|(start, _)| {
            let length = message[start..].find(&end).unwrap() + end.len();
            &message[start..start + length]
        })
        .find(|element| element[..element.find('>').unwrap()].contains(mark))
        .unwrap_or_else(|| panic!("no {name} with {mark} in {message}"))
}

/// The `EncryptedData` that the endorsing token became.
fn hidden_token(message: &str) -> &str {
    cut(message, "xenc:EncryptedData", "-endorse-data-sig\"")
}

fn endorsement(message: &str) -> &str {
    cut(message, "ds:Signature", "-endorsement\"")
}

fn token(certificate: &Certificate, id: &str) -> String {
    use soapstone_wss::names::{BASE64_BINARY, WSSE, WSU, X509_V3};
    let octets = base64::encode(certificate.der());
    format!(
        "<wsse:BinarySecurityToken xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\" EncodingType=\"{BASE64_BINARY}\" ValueType=\"{X509_V3}\" \
         wsu:Id=\"{id}\">{octets}</wsse:BinarySecurityToken>"
    )
}

/// WS-SecurityPolicy 1.3, 8.7 and 8.8, with 6.3 (order), 6.4 (encrypted signatures), 6.5 and 8.9
/// (protected tokens), under symmetric and asymmetric bindings.
#[test]
fn a_token_that_endorses_is_read_by_the_receiver_alone() {
    let asymmetric = policy(Mechanism::SignEncrypt, "Basic256GCM");
    let mut with_derived_keys = symmetric("Basic256");
    with_derived_keys.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    for (binding, order, signed) in [symmetric("Basic256GCM"), asymmetric, with_derived_keys]
        .iter()
        .flat_map(|binding| ORDERS.map(|order| (binding, order)))
        .flat_map(|(binding, order)| [(binding, order, false), (binding, order, true)])
    {
        for (signature_too, protects) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let mut policy = hidden(binding.clone(), signed);
            policy.set_order(order);
            policy.header.layout = soapstone_wss::Layout::Strict;
            policy.token(0).covers_token = protects;
            if signature_too {
                let signature = EncryptedPart::customary(Part::Signature);
                policy.parts.encrypted.push(signature);
            }
            if protects {
                policy.parts.signed.push(Part::Token);
            }
            let message = message(&policy);
            let certificate = base64::encode(PARTIES.client.certificate().der());
            let by_certificate = policy.uses(KeyBinding::Certificate);
            assert_eq!(
                message.matches(&certificate).count(),
                usize::from(by_certificate)
            );
            let opened = open(&policy, &message).unwrap();
            let evidence = opened.evidence();
            assert_eq!(evidence.signer().unwrap().subject(), "CN=client");
            let roles: Vec<_> = evidence.signatures.iter().map(|one| one.role).collect();
            assert_eq!(roles, [SignatureRole::Message, SignatureRole::Endorsing]);
            let is_token = |node| {
                let element = opened.envelope().document().element(node);
                element.local() == "BinarySecurityToken"
            };
            assert!(evidence.encrypted.iter().any(|one| is_token(one.node)));
            assert_eq!(
                evidence.signatures[0].nodes.iter().any(|node| {
                    is_token(*node) && evidence.encrypted.iter().any(|one| one.node == *node)
                }),
                signed
            );
        }
    }
}

/// WS-SecurityPolicy 1.3, 8.7: nothing else need be encrypted.
#[test]
fn the_token_may_be_all_that_is_encrypted() {
    for order in ORDERS {
        for binding in [
            symmetric("Basic256GCM"),
            policy(Mechanism::SignEncrypt, "Basic256GCM"),
        ] {
            let mut policy = hidden(binding, false);
            policy.set_order(order);
            policy.parts.encrypted.clear();
            let message = message(&policy);
            assert_eq!(message.matches("<xenc:DataReference ").count(), 1);
            assert_eq!(message.matches("<xenc:ReferenceList").count(), 1);
            open(&policy, &message).unwrap();
        }
    }
}

/// WS-SecurityPolicy 1.3, 8.7: "when they appear in the wsse:SecurityHeader". A token that is not
/// there cannot be read by anybody.
#[test]
fn a_token_that_is_only_named_is_not_there_to_be_encrypted() {
    for order in ORDERS {
        let mut policy = hidden(symmetric("Basic256GCM"), true);
        policy.set_order(order);
        policy.token(0).key = EndorsingKey::Certificate(KeyReference::Thumbprint);
        let message = message(&policy);
        assert!(!message.contains("-endorse-data-sig"));
        let opened = open(&policy, &message).unwrap();
        assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
    }
}

/// What is demanded of an endorsing token, or what it does; none, where nothing endorses.
type Own = Option<fn(&mut EndorsingToken)>;

const NONE: Own = None;
const PLAIN_TOKEN: Own = Some(|_| ());
const SIGNED: Own = Some(|token| token.signed = true);
const HIDDEN: Own = Some(|token| token.encrypted = true);
const SIGNED_AND_HIDDEN: Own = Some(|token| (token.signed, token.encrypted) = (true, true));
const COVERS_BODY: Own = Some(|token| token.parts = vec![Part::Body, header("To")]);

/// WS-SecurityPolicy 1.3, 8.3, 8.4, 8.7 and 8.8: what one policy demands, of the messages of
/// another.
#[test]
fn an_endorsement_does_all_that_is_demanded_of_it() {
    let missing = || Some(Rejected::EndorsementMissing);
    let unencrypted = || Some(Rejected::Unencrypted { part: TOKEN });
    let unsigned = || Some(Rejected::Unsigned { part: TOKEN });
    let unendorsed = || Some(Rejected::Unendorsed { part: Part::Body });
    let cases = [
        // A token that anybody reads.
        (HIDDEN, PLAIN_TOKEN, unencrypted()),
        (SIGNED_AND_HIDDEN, SIGNED, unencrypted()),
        // The way back is no attack: more was hidden than the plan wants.
        (PLAIN_TOKEN, HIDDEN, None),
        (SIGNED, SIGNED_AND_HIDDEN, None),
        (HIDDEN, NONE, missing()),
        (SIGNED_AND_HIDDEN, NONE, missing()),
        // A hidden token that the message does not sign.
        (SIGNED_AND_HIDDEN, HIDDEN, unsigned()),
        (SIGNED, PLAIN_TOKEN, unsigned()),
        // Parts of its own.
        (COVERS_BODY, PLAIN_TOKEN, unendorsed()),
        (COVERS_BODY, COVERS_BODY, None),
        (COVERS_BODY, NONE, missing()),
    ];
    for binding in [
        symmetric("Basic256GCM"),
        policy(Mechanism::SignEncrypt, "Basic256GCM"),
    ] {
        for order in ORDERS {
            let policy = |own: Own| {
                with(&binding, |policy| {
                    policy.set_order(order);
                    if let Some(own) = own {
                        endorse(policy, KeyReference::Direct, false, false);
                        own(policy.token(0));
                    }
                })
            };
            for (case, (demanded, sent, expected)) in cases.iter().enumerate() {
                let (demanded, message) = (policy(*demanded), message(&policy(*sent)));
                let what = format!("case {case} of {:?}, {order:?}", binding.binding);
                match expected {
                    None => drop(open(&demanded, &message).expect(&what)),
                    Some(expected) => {
                        let refused = refuse(&demanded, &message);
                        assert_eq!(refused, *expected, "{what}");
                        assert_eq!(refused.fault(), FaultCode::InvalidSecurity, "{what}");
                    }
                }
            }
        }
    }
}

/// X.509 Token Profile 1.1.1, 3.2, and SOAP Message Security 1.1.1, 7.4: a certificate inside of
/// the reference to it is in the message as well.
#[test]
fn a_certificate_inside_of_its_reference_is_as_it_is_signed_and_encrypted_with_that() {
    let mut inside = symmetric("Basic256GCM");
    endorse(&mut inside, KeyReference::Embedded, false, false);
    let refused = refuse(&hidden(symmetric("Basic256GCM"), false), &message(&inside));
    assert_eq!(refused, Rejected::Unencrypted { part: TOKEN });

    let mut signed = symmetric("Basic256GCM");
    endorse(&mut signed, KeyReference::Direct, true, false);
    let refused = refuse(&signed, &message(&inside));
    assert_eq!(refused, Rejected::Unsigned { part: TOKEN });

    // Together with the signature it was encrypted.
    let mut wanted = hidden(symmetric("Basic256GCM"), false);
    let signature = EncryptedPart::customary(Part::Signature);
    for policy in [&mut inside, &mut wanted] {
        policy.parts.encrypted.push(signature.clone());
    }
    open(&wanted, &message(&inside)).unwrap();
}

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

#[test]
fn demands_on_a_token_that_nothing_endorses_with_are_problems_of_the_plan() {
    let compiled =
        |policy: &Policy, keys: Keys| OutboundPlan::compile(policy.clone(), keys).unwrap_err();
    let mut listed = symmetric("Basic256GCM");
    endorse(&mut listed, KeyReference::Direct, false, false);
    listed.parts.signed.push(TOKEN);
    listed.parts.encrypted.push(EncryptedPart::customary(TOKEN));
    let problem = PlanProblem::Part {
        part: TOKEN,
        problem: "is signed and encrypted where what is said of the endorsing signature wants it",
    };
    assert_eq!(compiled(&listed, client_keys()), [problem.clone(), problem]);
    let mut unencrypted = hidden(policy(Mechanism::Sign, "Basic256GCM"), false);
    unencrypted.unencrypt();
    assert_eq!(
        compiled(&unencrypted, client_keys()),
        [PlanProblem::Combination {
            problem: "the token of an endorsing signature is to be encrypted, and nothing says with which key"
        }]
    );
    let mut inside = hidden(symmetric("Basic256GCM"), false);
    inside.token(0).key = EndorsingKey::Certificate(KeyReference::Embedded);
    let mut covering = symmetric("Basic256GCM");
    endorse(&mut covering, KeyReference::X509Data, false, true);
    let mut by_certificate = self::policy(Mechanism::Sign, "Basic256GCM");
    by_certificate.name_signing_key(KeyReference::X509Data);
    by_certificate.parts.signed.push(Part::Token);
    for (wrong, named) in [
        (inside, KeyReference::Embedded),
        (covering, KeyReference::X509Data),
        (by_certificate, KeyReference::X509Data),
    ] {
        assert!(matches!(
            compiled(&wrong, client_keys()).as_slice(),
            [PlanProblem::Reference { reference, .. }] if *reference == named
        ));
    }
    let mut own = symmetric("Basic256GCM");
    endorse(&mut own, KeyReference::Direct, false, false);
    own.token(0).parts.push(Part::Timestamp);
    assert!(matches!(
        compiled(&own, client_keys()).as_slice(),
        [PlanProblem::Part {
            part: Part::Timestamp,
            ..
        }]
    ));
}

/// WS-SecurityPolicy 1.3, 8.3: `SignedParts` inside of the assertion.
#[test]
fn an_endorsing_signature_covers_parts_of_its_own() {
    for order in ORDERS {
        for binding in [
            symmetric("Basic256GCM"),
            policy(Mechanism::SignEncrypt, "Basic256GCM"),
        ] {
            let mut without = binding;
            without.set_order(order);
            endorse(&mut without, KeyReference::Direct, false, false);
            let mut policy = without.clone();
            policy.token(0).parts = vec![Part::Body, header("To")];
            let message = message(&policy);
            assert_eq!(endorsement(&message).matches("<ds:Reference ").count(), 3);
            let opened = open(&policy, &message).unwrap();
            // What the endorsing signature alone covers is passed on, too, as it is the sender's.
            let plain = forwarded(&opened);
            assert!(
                plain.contains("urn:service") && !plain.contains("Action"),
                "{plain}"
            );
            policy.token(0).parts.push(header("Action"));
            assert_eq!(
                refuse(&policy, &message),
                Rejected::Unendorsed {
                    part: header("Action")
                }
            );
        }
    }
}

/// WS-SecurityPolicy 1.3, 6.6 and 8.3: where signatures cover nothing less than the Body,
/// `SignedElements` of an endorsement are what they name.
#[test]
fn an_endorsing_signature_covers_elements_that_the_policy_names() {
    let text = path("//*[local-name()='text']");
    let mut unnamed = policy(Mechanism::Sign, "Basic256GCM");
    endorse(&mut unnamed, KeyReference::Direct, false, false);
    unnamed.parts.only_entire_headers_and_body = true;
    let mut policy = unnamed.clone();
    policy.token(0).parts = vec![text];
    let message = message(&policy);
    assert_eq!(endorsement(&message).matches("<ds:Reference ").count(), 2);
    open(&policy, &message).unwrap();
    assert!(matches!(
        refuse(&unnamed, &message),
        Rejected::SignedElsewhere { element } if element.ends_with("text")
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
