//! Messages of drawn policies, changed on the way by somebody who has no key but a message of
//! somebody else, or who wrote that one himself, with pieces of the first inside. What is accepted
//! all the same says what its sender said, is taken for his, and is known again as a copy of it.

mod changes;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use soapstone_crypto::{Curve, Identity, KeyKind, SecretBytes, SymmetricKey};
use soapstone_wss::{
    ContextOwner, ElementPath, EncryptedPart, Envelope, Facts, FirstSeen, InboundPlan, Keys,
    Mechanism, OutboundPlan, Outgoing, Part, Policy, ProtectionOrder, Receipt, Rejected,
    SecurityContext, Signer, Verified,
};
use soapstone_xml::{Buffers, Limits};

use crate::combinations::{Choices, MESSAGES, VERSIONS, answering, compiled, drawn, keys};
use crate::conversations::{context, text};
use crate::support::{
    Adjust as _, PASSWORD, PLAIN, envelope, facts, forwarded, identity, now, open, policy, secure,
    user,
};
use changes::{changed, pieces, rooted};

/// Policies that sign the Body, of each of the seeds, and changes of a message of each and of an
/// answer to it.
const POLICIES: u64 = 60;
const SEEDS: [u64; 3] = [0, 1_000_000, 2_000_000];
const CHANGES: u64 = 40;

/// Without namespace declarations: those that nothing visibly uses are not signed in exclusive
/// form.
fn without_declarations(text: &str) -> String {
    let mut pieces = text.split(" xmlns");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |text, piece| {
        let value = piece
            .split_once('"')
            .and_then(|(_, rest)| rest.split_once('"'));
        text + value.unwrap().1
    })
}

/// What a receiver is told: what is passed on, whose it is, and what a copy is known by.
#[derive(Debug)]
struct Said {
    /// What is in the Body, and the header blocks.
    body: String,
    blocks: Vec<String>,
    /// Who is told to have sent it.
    signer: Option<String>,
    user: Option<String>,
    context: Option<String>,
    marks: Vec<[u8; 32]>,
}

impl Said {
    fn of(verified: &Verified<Envelope>, marks: Vec<[u8; 32]>) -> Self {
        let message = forwarded(verified);
        let parsed = envelope(&message);
        let source = |range: Range<u32>| {
            without_declarations(&message[range.start as usize..range.end as usize])
        };
        let blocks = parsed
            .header()
            .into_iter()
            .flat_map(|header| header.children());
        let blocks = blocks.map(|block| source(block.range())).collect();
        let body = parsed.body();
        let children = body.children().map(|child| source(child.range()));
        let evidence = verified.evidence();
        let context = evidence.signatures.iter().find_map(|it| match &it.signer {
            Signer::Context { owner, .. } => Some(format!("{owner:?}")),
            _ => None,
        });
        Self {
            body: children.collect(),
            blocks,
            signer: evidence.signer().map(|it| it.subject().to_owned()),
            user: evidence.user.clone().filter(|_| evidence.user_is_sender()),
            context,
            marks,
        }
    }

    /// Whether this is what `original` said, perhaps without some of its header blocks, and a
    /// replay cache that saw the one refuses the other.
    fn is(&self, original: &Self) -> bool {
        let blocks = &mut self.blocks.iter();
        let known = self.marks.iter().any(|it| original.marks.contains(it));
        self.body == original.body
            && blocks.all(|block| original.blocks.contains(block))
            && self.signer == original.signer
            && (self.user == original.user || self.user.is_none())
            && self.context == original.context
            && (known || original.marks.is_empty())
    }
}

/// Who receives messages of a policy, and what he knows.
struct Receiver<'p> {
    policy: &'p Policy,
    plan: InboundPlan,
    facts: Facts,
}

impl Receiver<'_> {
    fn open(&self, message: &str) -> Result<(Verified<Envelope>, Vec<[u8; 32]>), Rejected> {
        let mut buffers = Buffers::default();
        let limits = Limits::default();
        let envelope = Envelope::parse(message.as_bytes().to_vec(), &limits, &mut buffers)?;
        let opened = self
            .plan
            .open_unmarked(envelope, &self.facts, now(), &mut buffers)?;
        let marks = opened.marks().iter().map(|mark| mark.key).collect();
        let first_seen = FirstSeen::assertion(opened.late_marks());
        Ok((opened.admit(first_seen)?, marks))
    }

    fn said(&self, message: &str) -> Option<Said> {
        let (verified, marks) = self.open(message).ok()?;
        Some(Said::of(&verified, marks))
    }

    /// Changes the first of the messages `CHANGES` times: how many changed ones are accepted. What
    /// is accepted says what one of `possible` said.
    fn attacked(&self, messages: [&str; 2], choices: &mut Choices, possible: &[&Said]) -> u64 {
        let [message, other] = messages;
        let mut accepted = 0;
        for _ in 0..CHANGES {
            let mut mutant = message.to_owned();
            for _ in 0..choices.one_of(&[1, 1, 1, 2, 3]) {
                mutant = changed(&mutant, other, choices);
            }
            let Some(seen) = self.said(&mutant) else {
                continue;
            };
            accepted += 1;
            assert!(
                possible.iter().any(|original| seen.is(original)),
                "{seen:?}\nand not {possible:?}\n{:?}\n{message}\n{other}\n{mutant}",
                self.policy
            );
        }
        accepted
    }
}

/// Somebody else whom the service trusts as well, with a name, a password and a context of his own.
fn somebody_else(policy: &Policy) -> Keys {
    static RSA: LazyLock<Arc<Identity>> = LazyLock::new(|| made(KeyKind::Rsa { bits: 2048 }));
    static EC: LazyLock<Arc<Identity>> = LazyLock::new(|| made(KeyKind::Ec(Curve::P256)));
    static ED: LazyLock<Arc<Identity>> = LazyLock::new(|| made(KeyKind::Ed25519));
    let made = match () {
        () if policy.suite.name.ends_with("EcdhEs") => &EC,
        () if policy.suite.name.ends_with("X25519") => &ED,
        () => &RSA,
    };
    let [keys, _] = keys(policy);
    Keys {
        identity: Some(Arc::clone(made)),
        user: Some(user("bob")),
        ..keys
    }
}

fn made(kind: KeyKind) -> Arc<Identity> {
    identity("CN=somebody else", kind)
}

/// What became of the changes.
#[derive(Default)]
struct Tally {
    policies: u64,
    accepted: u64,
    tried: u64,
}

/// Attacks a request of the policy that this number draws, and the answer to it.
fn attack(number: u64, requests: &mut Tally, answers: &mut Tally) {
    let mut choices = Choices::of(number);
    let policy = drawn(&mut choices);
    let signs_body = |policy: &Policy| {
        let signature = policy.signature();
        signature.is_some_and(|it| it.parts.contains(&Part::Body))
    };
    if !signs_body(&policy) || policy.is_by_connection() {
        return;
    }
    let [client, service] = keys(&policy);
    let Some((plan, inbound)) = compiled(&policy, [client, service]) else {
        return;
    };
    let others_plan = OutboundPlan::compile(policy.clone(), somebody_else(&policy)).unwrap();
    let version = policy
        .derived_keys()
        .map_or(VERSIONS[0], |keys| keys.version);
    let length = policy.suite.data[0].key_length();
    let context = |owner: &str, secret: u8| SecurityContext {
        identifier: format!("urn:uuid:{owner}"),
        owner: ContextOwner::User(owner.to_owned()),
        secret: SymmetricKey::new(vec![secret; length]).unwrap(),
        ..context(version)
    };
    let (own, others) = (context("alice", 7), context("bob", 8));
    let plain = choices.one_of(&MESSAGES);
    let secured = |plan: &OutboundPlan, plain: &str, outgoing: Outgoing<'_>| {
        plan.secure(envelope(plain), outgoing, now(), &mut Buffers::default())
    };
    let message = secured(&plan, plain, Outgoing::within(&own)).unwrap();
    let other = plain
        .replace("Grüße", "Servus")
        .replace(">urn:", ">urn:other:");
    // Somebody else may have read the message before he writes his own.
    let mut pieces = pieces(&text(&message));
    let is_cipher_text = |piece: &String| piece.starts_with("<xenc:EncryptedData ");
    if choices.once_in(2) && pieces.iter().any(is_cipher_text) {
        pieces.retain(is_cipher_text);
    }
    let piece = choices.one_of(&pieces);
    let with_piece =
        |before: &str| rooted(&other, version).replace(before, &[&piece, before].concat());
    let written = match choices.next() % 4 {
        0 => with_piece("Servus"),
        1 => with_piece("</soap:Header>"),
        _ => other.clone(),
    };
    let by_them = |plain: &str| {
        let mut buffers = Buffers::default();
        let parsed = Envelope::parse(plain.as_bytes().to_vec(), &Limits::default(), &mut buffers);
        let outgoing = Outgoing::within(&others);
        others_plan
            .secure(parsed.ok()?, outgoing, now(), &mut buffers)
            .ok()
    };
    let password = |user: &str| (user.to_owned(), SecretBytes::copy_of(PASSWORD));
    let receiver = Receiver {
        policy: &policy,
        plan: inbound,
        facts: Facts {
            passwords: vec![password("alice"), password("bob")],
            contexts: vec![own.clone(), others.clone()],
            ..Facts::default()
        },
    };
    // What is refused as he wrote it is not what is asked here.
    let written = by_them(&written).filter(|it| receiver.said(&text(it)).is_some());
    let theirs = written.or_else(|| by_them(&other)).unwrap();
    let texts = [text(&message), text(&theirs)].map(|text| rooted(&text, version));
    let messages = texts.each_ref().map(String::as_str);
    let (opened, marks) = receiver.open(messages[0]).unwrap();
    let said = Said::of(&opened, marks);
    let others_said = receiver.said(messages[1]);
    let possible: Vec<&Said> = [&said].into_iter().chain(&others_said).collect();
    requests.policies += 1;
    for messages in [messages, [messages[1], messages[0]]] {
        requests.tried += CHANGES;
        requests.accepted += receiver.attacked(messages, &mut choices, &possible);
    }

    let answer = answering(&policy, &mut choices);
    let [client, service] = keys(&answer);
    let Some((plan, inbound)) = compiled(&answer, [service, client]) else {
        return;
    };
    let (_, receipt) = opened.finish(&mut Buffers::default());
    let Ok(to_them) = receiver.open(messages[1]) else {
        return;
    };
    let (_, to_them) = to_them.0.finish(&mut Buffers::default());
    let answered = |plain: &str, to: &Receipt| secured(&plan, plain, Outgoing::answer(to));
    let (Ok(to_us), Ok(to_them)) = (answered(plain, &receipt), answered(&other, &to_them)) else {
        return;
    };
    let texts = [text(&to_us), text(&to_them)].map(|text| rooted(&text, version));
    let messages = texts.each_ref().map(String::as_str);
    let receiver = Receiver {
        policy: &answer,
        plan: inbound,
        facts: Facts {
            request: Some(message.receipt),
            ..facts()
        },
    };
    let said = receiver.said(messages[0]).unwrap();
    let others_said = receiver.said(messages[1]);
    let possible: Vec<&Said> = [&said].into_iter().chain(&others_said).collect();
    answers.policies += 1;
    answers.tried += CHANGES;
    answers.accepted += receiver.attacked(messages, &mut choices, &possible);
}

#[test]
fn whatever_is_accepted_of_a_changed_message_was_said_by_its_sender() {
    let [mut requests, mut answers] = [Tally::default(), Tally::default()];
    for (before, seed) in (0..).zip(SEEDS) {
        let mut number = seed;
        while requests.policies < (before + 1) * POLICIES {
            number += 1;
            attack(number, &mut requests, &mut answers);
        }
    }
    for (name, tally) in [("requests", requests), ("answers", answers)] {
        let Tally {
            policies,
            accepted,
            tried,
        } = tally;
        println!("{accepted} of {tried} changed {name} of {policies} policies are accepted");
        assert!(accepted > 0 && accepted < tried / 2 && policies > POLICIES);
    }
}

/// What is to be encrypted if it is there is not there for who does not decipher it, and the list
/// of what is to be deciphered is not signed.
#[test]
fn what_is_taken_out_of_the_list_of_what_is_deciphered_is_missed() {
    let element = |path: &str| {
        let resolve = |prefix: &str| (prefix == "e").then(|| "urn:echo".to_owned());
        Part::Path(ElementPath::parse(path, resolve).unwrap())
    };
    let mut policy = policy(Mechanism::EncryptSign, "Basic256GCM");
    let parts = &mut policy.parts.encrypted;
    parts.clear();
    let hidden = ["//e:empty", "/*/*/e:echo/e:text"].map(element);
    parts.extend(hidden.clone().map(EncryptedPart::customary));
    let message = secure(&policy, PLAIN);
    open(&policy, &message).unwrap();
    let lists: Vec<&str> = message
        .split_inclusive("</xenc:DataReference>")
        .filter_map(|text| text.rfind("<xenc:DataReference").map(|at| &text[at..]))
        .collect();
    assert_eq!(lists.len(), 2, "{message}");
    for reference in lists {
        assert_eq!(
            open(&policy, &message.replace(reference, "")).unwrap_err(),
            Rejected::Undeciphered {
                part: hidden[0].clone()
            }
        );
    }
    // So it is where a header block holds it.
    let resolve = |prefix: &str| (prefix == "h").then(|| "urn:header".to_owned());
    let secret = Part::Path(ElementPath::parse("//h:secret", resolve).unwrap());
    let block = "<h:block xmlns:h=\"urn:header\"><h:secret/></h:block></soap:Header>";
    let with_block = PLAIN.replace("</soap:Header>", block);
    let mut hiding = policy.clone();
    hiding.parts.signed.push(Part::Header {
        namespace: "urn:header".to_owned(),
        local: "block".to_owned(),
    });
    hiding.parts.encrypted = vec![EncryptedPart::customary(secret.clone())];
    let message = secure(&hiding, &with_block);
    open(&hiding, &message).unwrap();
    let list = message.find("<xenc:ReferenceList").unwrap();
    let end = list + message[list..].find("</xenc:ReferenceList>").unwrap();
    let unlisted = message.replace(&message[list..end + "</xenc:ReferenceList>".len()], "");
    let part = secret;
    assert_eq!(
        open(&hiding, &unlisted).unwrap_err(),
        Rejected::Undeciphered { part }
    );
    // One of two that a path means is moved to where the path does not lead: it is signed, and
    // would be missed by nobody.
    let resolve = |prefix: &str| match prefix {
        "s" => Some("http://schemas.xmlsoap.org/soap/envelope/".to_owned()),
        "h" => Some("urn:header".to_owned()),
        _ => None,
    };
    let secret = ElementPath::parse("/s:Envelope/s:Header/h:block/h:secret", resolve);
    let secret = Part::Path(secret.unwrap());
    hiding.parts.signed = vec![Part::Body, Part::Timestamp, secret.clone()];
    hiding.parts.encrypted = vec![EncryptedPart::customary(secret)];
    let other = block
        .replace("h:block", "h:other")
        .replace("</soap:Header>", "");
    let two = with_block.replace(
        "<h:block",
        &format!("{}<h:block", other.replace("h:other", "h:block")),
    );
    let message = secure(&hiding, &two);
    open(&hiding, &message).unwrap();
    let aside = message
        .replacen("<h:block", "<h:other", 1)
        .replacen("</h:block>", "</h:other>", 1);
    let element = "{http://www.w3.org/2001/04/xmlenc#}EncryptedData".to_owned();
    assert_eq!(
        open(&hiding, &aside).unwrap_err(),
        Rejected::SignedElsewhere { element }
    );
    // Cipher text of the application is none of ours where all of ours is told: in plain text that
    // is signed, and in a Body that is enciphered whole.
    let own = "<x:EncryptedData xmlns:x=\"http://www.w3.org/2001/04/xmlenc#\"/>";
    let with_own = PLAIN.replace("<e:empty/>", own);
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let policy = self::policy(mechanism, "Basic256GCM");
        let opened = open(&policy, &secure(&policy, &with_own)).unwrap();
        assert!(forwarded(&opened).contains("EncryptedData"));
    }
    policy.set_order(ProtectionOrder::SignBeforeEncrypting);
    open(&policy, &secure(&policy, &with_own)).unwrap();
}
