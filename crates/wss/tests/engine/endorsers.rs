//! Several endorsing signatures (WS-SecurityPolicy 1.3, 8: every supporting token that a policy
//! names): each demand is met by a signature of its own, made with a key of its own.

use std::sync::{Arc, LazyLock};

use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::{DigestAlgorithm, Identity, KeyKind, SignatureAlgorithm, base64};
use soapstone_wss::names::DS;
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, EndorsingKey, EndorsingToken, KeyBinding,
    KeyReference, Keys, Mechanism, OutboundPlan, Part, PlanProblem, Policy, ProtectionOrder,
    Rejected, SignatureRole,
};

use crate::conversations::{bound, derived, refused, text};
use crate::support::{
    Adjust as _, PARTIES, PLAIN, aside, client_keys, declaring, facts, forwarded, identity, merged,
    now, open, open_with, path, policy, secure_with, service_keys,
};

/// Who endorses beside the client.
pub(crate) static NOTARY: LazyLock<Arc<Identity>> = LazyLock::new(|| other("CN=notary"));

pub(crate) fn other(subject: &str) -> Arc<Identity> {
    let rsa = KeyKind::Rsa { bits: 2048 };
    identity(subject, rsa)
}

fn symmetric() -> Policy {
    bound(
        Mechanism::SignEncrypt,
        "Basic256GCM",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    )
}

pub(crate) fn demand() -> EndorsingToken {
    EndorsingToken::by_certificate(KeyReference::Direct)
}

/// Two endorsing signatures that a policy says nothing else of.
fn twice(mut policy: Policy) -> Policy {
    policy.endorse_by(vec![demand(), demand()]);
    policy
}

pub(crate) fn endorsed_by(endorsing: &[&Arc<Identity>]) -> Keys {
    Keys {
        endorsing: endorsing.iter().map(|one| Arc::clone(one)).collect(),
        ..client_keys()
    }
}

fn both() -> Keys {
    endorsed_by(&[&PARTIES.client, &NOTARY])
}

fn message(policy: &Policy, keys: Keys) -> String {
    text(&secure_with(policy, keys, PLAIN, None))
}

/// Elements of a name, in their order.
pub(crate) fn elements<'m>(message: &'m str, name: &str) -> Vec<&'m str> {
    let (begin, end) = (format!("<{name} "), format!("</{name}>"));
    message
        .match_indices(&begin)
        .map(|(start, _)| {
            let length = message[start..].find(&end).unwrap() + end.len();
            &message[start..start + length]
        })
        .collect()
}

/// The two endorsing signatures.
fn endorsements(message: &str) -> [&str; 2] {
    match elements(message, "ds:Signature").as_slice() {
        [_, first, second] => [first, second],
        other => panic!("{} signatures in {message}", other.len()),
    }
}

/// The two tokens of the endorsing signatures, where no other one is there.
fn tokens(message: &str) -> [&str; 2] {
    match elements(message, "wsse:BinarySecurityToken").as_slice() {
        [first, second] => [first, second],
        other => panic!("{} tokens in {message}", other.len()),
    }
}

#[test]
fn every_endorsement_is_made_with_a_key_of_its_own() {
    let mut with_derived_keys = symmetric();
    with_derived_keys.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    for binding in [
        symmetric(),
        with_derived_keys,
        policy(Mechanism::SignEncrypt, "Basic256GCM"),
    ] {
        for order in [
            ProtectionOrder::SignBeforeEncrypting,
            ProtectionOrder::EncryptBeforeSigning,
        ] {
            for (hides_signature, protects) in [(false, false), (true, false), (false, true)] {
                let mut policy = twice(binding.clone());
                policy.set_order(order);
                policy.header.layout = soapstone_wss::Layout::Strict;
                // `EndorsingSupportingTokens` beside `SignedEndorsingEncryptedSupportingTokens`,
                // with a part of its own.
                let second = policy.token(1);
                (second.signed, second.encrypted) = (true, true);
                second.parts = vec![Part::Body];
                for endorsing in policy.endorsing_mut() {
                    endorsing.covers_token = protects;
                }
                if hides_signature {
                    let signature = EncryptedPart::customary(Part::Signature);
                    policy.parts.encrypted.push(signature);
                }
                let message = message(&policy, both());
                let opened = open(&policy, &message).unwrap();
                let evidence = opened.evidence();
                let who: Vec<_> = evidence
                    .signatures
                    .iter()
                    .filter(|one| one.role == SignatureRole::Endorsing)
                    .map(|one| one.certificate().unwrap().subject())
                    .collect();
                assert_eq!(who, ["CN=client", "CN=notary"]);
                assert_eq!(evidence.signer().unwrap().subject(), "CN=client");
                assert!(forwarded(&opened).contains("Grüße"));
            }
        }
    }
}

/// The demand that is first in the policy says who sends, not the order in the header, which nobody
/// signs.
#[test]
fn the_order_in_the_header_does_not_say_who_sends() {
    let mut policy = twice(symmetric());
    policy.token(1).parts = vec![Part::Body];
    let keys = endorsed_by(&[&NOTARY, &PARTIES.client]);
    let message = message(&policy, keys);
    let [first, second] = endorsements(&message);
    let exchanged = message
        .replace(first, "held")
        .replace(second, first)
        .replace("held", second);
    for message in [&message, &exchanged] {
        let opened = open(&policy, message).unwrap();
        assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=notary");
    }
    // Nor where either signature would do for either demand.
    let policy = twice(symmetric());
    let of = |keys| {
        let opened = open(&policy, &self::message(&policy, keys)).unwrap();
        opened.evidence().signer().unwrap().subject().to_owned()
    };
    assert_eq!(of(both()), of(endorsed_by(&[&NOTARY, &PARTIES.client])));
}

#[test]
fn an_endorsement_that_is_missing_is_missed_whichever_it_is() {
    let policy = twice(symmetric());
    let message = message(&policy, both());
    for endorsement in endorsements(&message) {
        let stripped = message.replace(endorsement, "");
        assert_eq!(
            refused(&policy, &facts(), &stripped),
            Rejected::EndorsementMissing
        );
    }
    let mut once = policy.clone();
    once.supporting.pop();
    let by_client = self::message(&once, client_keys());
    assert_eq!(
        refused(&policy, &facts(), &by_client),
        Rejected::EndorsementMissing
    );
    // And where one is enough, two are one too many: the second one would be a stranger's.
    assert_eq!(
        refused(&once, &facts(), &message),
        Rejected::EndorsementMissing
    );
}

/// One endorsement, twice in the header.
#[test]
fn a_copy_of_an_endorsement_is_not_another_one() {
    let policy = twice(symmetric());
    let message = message(&policy, both());
    let [first, second] = endorsements(&message);
    let copy = first.replacen("-endorsement\"", "-copy\"", 1);
    let copied = message.replace(second, &copy);
    assert_ne!(copied, message);
    assert_eq!(
        refused(&policy, &facts(), &copied),
        Rejected::EndorserRepeated
    );
}

/// A certificate of somebody else for the client's key, from an authority that does not ask for a
/// proof of possession (RFC 4211, 4), or simply renewed.
fn another_certificate() -> Arc<Identity> {
    let template = Template::new("CN=another name", Validity::days(now(), 30)).unwrap();
    let key = PARTIES.client.certificate().public_key();
    let certificate = issue::issued(&PARTIES.authority, key, &template).unwrap();
    let key = PARTIES.client.key_to_pem(None).unwrap();
    let made = Identity::from_file_contents(key.expose(), certificate.der(), None);
    Arc::new(made.unwrap())
}

/// Messages that one key signs twice are refused and not made, unless somebody wrote that this is
/// enough.
pub(crate) fn one_key_does_not_sign_for_two(policy: &Policy) {
    let mut lenient = policy.clone();
    lenient.same_endorser = true;
    let renewed = another_certificate();
    for keys in [
        client_keys(),
        endorsed_by(&[&PARTIES.client, &PARTIES.client]),
        endorsed_by(&[&PARTIES.client, &renewed]),
    ] {
        let message = message(&lenient, keys.clone());
        assert_eq!(
            refused(policy, &facts(), &message),
            Rejected::EndorserRepeated
        );
        open(&lenient, &message).unwrap();
        let problem = PlanProblem::Endorsers {
            wanted: 2,
            found: 1,
        };
        let problems = OutboundPlan::compile(policy.clone(), keys).unwrap_err();
        assert_eq!(problems, [problem]);
    }
}

#[test]
fn one_key_does_not_endorse_twice_whatever_its_certificates() {
    let policy = twice(symmetric());
    one_key_does_not_sign_for_two(&policy);
    // One signature is not two where the policy has one key sign for all, though.
    let mut lenient = policy;
    lenient.same_endorser = true;
    let mut once = lenient.clone();
    once.supporting.pop();
    let message = message(&once, client_keys());
    assert_eq!(
        refused(&lenient, &facts(), &message),
        Rejected::EndorsementMissing
    );
}

/// Two of one kind, where the policy wants one of each: neither stands in for the other.
#[test]
fn an_endorsement_does_not_meet_the_demand_of_another_kind() {
    let endorsing = |first: &dyn Fn(&mut EndorsingToken)| {
        let mut policy = twice(symmetric());
        first(policy.token(0));
        policy
    };
    let token = Part::EndorsingToken;
    for (change, expected) in [
        (
            &(|one: &mut EndorsingToken| one.signed = true) as &dyn Fn(&mut _),
            Rejected::Unsigned {
                part: token.clone(),
            },
        ),
        (
            &|one: &mut EndorsingToken| one.encrypted = true,
            Rejected::Unencrypted {
                part: token.clone(),
            },
        ),
        (
            &|one: &mut EndorsingToken| one.covers_token = true,
            Rejected::Unsigned { part: token },
        ),
        (
            &|one: &mut EndorsingToken| one.parts = vec![Part::Body],
            Rejected::Unendorsed { part: Part::Body },
        ),
    ] {
        let wanted = endorsing(change);
        let without = twice(symmetric());
        assert_eq!(
            refused(&wanted, &facts(), &message(&without, both())),
            expected
        );
        // Of two demands of that kind one is met, which is not enough.
        let mut two = wanted.clone();
        change(two.token(1));
        let one = message(&wanted, both());
        assert_eq!(refused(&two, &facts(), &one), expected);
        // Which of the demands is met by whom is the sender's matter.
        let exchanged = endorsed_by(&[&NOTARY, &PARTIES.client]);
        open(&wanted, &message(&wanted, exchanged)).unwrap();
    }
}

/// Of the second endorsement, the token is taken out of the message's signature with the signature
/// itself, and somebody else's put there.
#[test]
fn a_signed_token_of_one_endorsement_does_not_vouch_for_another_one() {
    let mut policy = twice(symmetric());
    for endorsing in policy.endorsing_mut() {
        endorsing.signed = true;
    }
    let message = message(&policy, both());
    let [first, _] = tokens(&message);
    let [_, second] = endorsements(&message);
    // A partner's signature over the message's, whose token nothing signs.
    let over = path("/*/*[local-name()='Header']/*/*[local-name()='Signature']");
    let his = aside(self::policy(Mechanism::Sign, "Basic256GCM"), vec![over]);
    let stripped = elements(&message, "ds:Signature")[1..]
        .iter()
        .fold(message.clone(), |message, one| message.replace(one, ""));
    let keys = Keys {
        identity: Some(other("CN=mallory")),
        ..client_keys()
    };
    let made = text(&secure_with(&his, keys, &stripped, None));
    let own = elements(&made, "wsse:BinarySecurityToken")
        .into_iter()
        .find(|token| !message.contains(token))
        .unwrap();
    let signature = elements(&made, "ds:Signature")
        .into_iter()
        .find(|signature| !message.contains(signature))
        .unwrap();
    let replaced = message.replace(second, signature);
    let replaced = declaring(&replaced.replace(first, &format!("{own}{first}")));
    assert_eq!(
        refused(&policy, &facts(), &replaced),
        Rejected::Unsigned {
            part: Part::EndorsingToken
        }
    );
    // Where no token is signed, nothing says whose endorsement belongs to the message.
    let mut unsigned = policy.clone();
    for endorsing in unsigned.endorsing_mut() {
        endorsing.signed = false;
    }
    open(&unsigned, &replaced).unwrap();
}

/// A signature over another endorsement vouches for that one, not for the message.
#[test]
fn an_endorsement_of_an_endorsement_is_none_of_the_message() {
    let mut first_alone = symmetric();
    first_alone.endorse_by(vec![demand()]);
    let endorsed = message(&first_alone, client_keys());
    let [_, endorsement] = elements(&endorsed, "ds:Signature").try_into().unwrap();
    let id = &endorsement[endorsement.find("Id=\"").unwrap() + 4..];
    let over = Part::Id(id[..id.find('"').unwrap()].to_owned());
    let his = aside(policy(Mechanism::Sign, "Basic256GCM"), vec![over]);
    let keys = Keys {
        identity: Some(Arc::clone(&NOTARY)),
        ..client_keys()
    };
    let moved = merged(&text(&secure_with(&his, keys, &endorsed, None)));
    assert_eq!(
        refused(&twice(symmetric()), &facts(), &declaring(&moved)),
        Rejected::EndorsementMissing
    );
}

/// What both sides know by its name need not be sent.
#[test]
fn endorsements_may_name_their_certificates() {
    let mut policy = twice(symmetric());
    policy.token(1).key = EndorsingKey::Certificate(KeyReference::Thumbprint);
    let message = message(&policy, both());
    assert_eq!(elements(&message, "wsse:BinarySecurityToken").len(), 1);
    let known = soapstone_wss::Facts {
        certificates: vec![NOTARY.certificate().clone()],
        ..facts()
    };
    let opened = open_with(&policy, service_keys(), &known, &message, now()).unwrap();
    assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
    assert_eq!(refused(&policy, &facts(), &message).name(), "key-not-found");
}

#[test]
fn more_endorsements_than_a_message_may_have_are_a_problem_of_the_plan() {
    let mut policy = symmetric();
    let most = policy.limits.signatures;
    policy.endorse_by(vec![demand(); most]);
    policy.same_endorser = true;
    assert_eq!(
        OutboundPlan::compile(policy, client_keys()).unwrap_err(),
        [PlanProblem::Combination {
            problem: "more endorsing signatures are demanded than a message may have"
        }]
    );
}

/// A signature with another `SignedInfo`, and with the value that `sign` makes of it.
pub(crate) fn signed_anew(
    signature: &str,
    change: impl FnOnce(&str) -> String,
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
) -> String {
    let (begin, end) = ("<ds:SignedInfo>", "</ds:SignedInfo>");
    let info = &signature[signature.find(begin).unwrap()..signature.find(end).unwrap()];
    let changed = change(info);
    // In the canonical form of its own it declares the prefix.
    let declared = format!("<ds:SignedInfo xmlns:ds=\"{DS}\">");
    let canonical = changed.replacen(begin, &declared, 1) + end;
    let start = signature.find("<ds:SignatureValue>").unwrap();
    let end = signature.find("</ds:SignatureValue>").unwrap();
    let value = base64::encode(&sign(canonical.as_bytes()));
    format!(
        "{}<ds:SignatureValue>{value}{}",
        &signature[..start],
        &signature[end..]
    )
    .replace(info, &changed)
}

/// A `ds:Reference` like another one, to something else.
pub(crate) fn referring(reference: &str, id: &str, octets: &str) -> String {
    let digest = soapstone_crypto::digest(DigestAlgorithm::Sha256, octets.as_bytes()).unwrap();
    let digest = base64::encode(digest.as_ref());
    let uri = &reference[reference.find("URI=\"").unwrap() + 5..];
    let uri = &uri[..uri.find('"').unwrap()];
    let value = reference.find("<ds:DigestValue>").unwrap() + "<ds:DigestValue>".len();
    let end = reference.find("</ds:DigestValue>").unwrap();
    format!("{}{digest}{}", &reference[..value], &reference[end..]).replace(uri, &format!("#{id}"))
}

/// Whoever makes the session key can sign with it the cipher text of a token that he does not know.
/// What is to be signed is the token.
#[test]
fn a_signature_over_the_cipher_text_of_a_token_does_not_sign_the_token() {
    let mut policy = symmetric();
    policy.endorse_by(vec![EndorsingToken {
        encrypted: true,
        ..demand()
    }]);
    let secured = secure_with(&policy, client_keys(), PLAIN, None);
    let message = text(&secured);
    let hidden = elements(&message, "xenc:EncryptedData")
        .into_iter()
        .find(|data| data[..data.find('>').unwrap()].contains("-endorse-data-sig\""))
        .unwrap();
    let id = &hidden[hidden.find("Id=\"").unwrap() + 4..];
    let id = &id[..id.find('"').unwrap()];
    let [signature, endorsement] = elements(&message, "ds:Signature").try_into().unwrap();
    let first = |info: &str| elements(info, "ds:Reference")[0].to_owned();
    let over_cipher = signed_anew(
        signature,
        |info| {
            let one = first(info);
            let more = referring(&one, id, hidden);
            info.replacen(&one, &format!("{one}{more}"), 1)
        },
        |octets| {
            let key = &secured.receipt.session_keys[0].1;
            let value = key.sign(SignatureAlgorithm::HmacSha256, octets, None);
            value.unwrap().as_ref().to_vec()
        },
    );
    let of_signature = &signature[signature.find("Id=\"").unwrap() + 4..];
    let of_signature = &of_signature[..of_signature.find('"').unwrap()];
    let endorsing = signed_anew(
        endorsement,
        |info| {
            let one = first(info);
            info.replace(&one, &referring(&one, of_signature, &over_cipher))
        },
        |octets| {
            let key = PARTIES.client.key();
            key.sign(SignatureAlgorithm::RsaSha256, octets).unwrap()
        },
    );
    let changed = message
        .replace(signature, &over_cipher)
        .replace(endorsement, &endorsing);
    open(&policy, &changed).unwrap();
    for token_encrypted in [false, true] {
        let mut wanted = policy.clone();
        wanted.token(0).signed = true;
        wanted.token(0).encrypted = token_encrypted;
        assert_eq!(
            refused(&wanted, &facts(), &changed),
            Rejected::WrongOrder {
                part: Part::EndorsingToken
            }
        );
    }
}
