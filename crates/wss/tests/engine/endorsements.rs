//! Endorsing signatures whose token is encrypted, or that cover more than a signature
//! (WS-SecurityPolicy 1.3, 8.3, 8.4, 8.7 and 8.8): what is secured opens, and what is less than the
//! policy wants does not.

mod attacks;

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
