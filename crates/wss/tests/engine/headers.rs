//! The header model: what stands in a `wsse:Security` header, without a plan and without a key.

use soapstone_crypto::KeyKind;
use soapstone_wss::{
    Content, Envelope, ItemKind, KeyReference, Mechanism, Rejected, SecurityHeader, SecurityLimits,
    TokenKind,
};

use crate::derivations::cut;
use crate::support::*;

fn header(envelope: &Envelope) -> SecurityHeader {
    let mut headers = SecurityHeader::all(envelope);
    assert_eq!(headers.len(), 1);
    headers.remove(0)
}

fn kinds(header: &SecurityHeader) -> Vec<ItemKind> {
    header.items().iter().map(|item| item.kind).collect()
}

fn token(name: &str) -> ItemKind {
    let found = TokenKind::all().find(|kind| kind.name() == name);
    ItemKind::Token(found.unwrap())
}

#[test]
fn the_items_stand_in_their_order_with_their_places() {
    let message = secure(&policy(Mechanism::SignEncrypt, "Basic256Sha256"), PLAIN);
    let envelope = envelope(&message);
    let header = header(&envelope);
    let expected = [
        ItemKind::Timestamp,
        token("X.509"),
        ItemKind::EncryptedKey,
        ItemKind::Signature,
    ];
    assert_eq!(kinds(&header), expected);
    let starts = ["<wsu:Timestamp", "<wsse:Binary", "<xenc:Enc", "<ds:Sig"];
    for (item, start) in header.items().iter().zip(starts) {
        let place = item.range.start as usize..item.range.end as usize;
        let text = &message[place];
        assert!(text.starts_with(start), "{text}");
        assert!(text.ends_with('>'), "{text}");
    }
    let limits = SecurityLimits::default();
    assert_eq!(header.findings(&envelope, &limits), []);
}

#[test]
fn reading_goes_on_after_each_oddity_and_finds_all_of_them() {
    let message = secure(&policy(Mechanism::Username, "Basic256Sha256"), PLAIN);
    let timestamp = cut(&message, "<wsu:Timestamp ", "</wsu:Timestamp>");
    let again = timestamp.replace("wsu:Id=\"", "wsu:Id=\"again");
    let undated = again
        .replace("again", "undated")
        .replace("wsu:Created", "wsu:Begun");
    let user = cut(&message, "<wsse:UsernameToken ", "</wsse:UsernameToken>");
    let other = user.replace("wsu:Id=\"", "wsu:Id=\"other");
    let unknown = "<x:odd xmlns:x=\"urn:x\"/>";
    let odd = [unknown, timestamp, &again, &undated, &other].concat();
    let envelope = envelope(&message.replace(timestamp, &odd));
    let header = header(&envelope);
    let findings = header.findings(&envelope, &SecurityLimits::default());
    let reasons: Vec<&Rejected> = findings.iter().map(|one| &one.reason).collect();
    let no_date = Rejected::Malformed {
        element: "wsu:Timestamp",
        problem: "expected `Created`, then `Expires`, found `Begun`".to_owned(),
    };
    let expected = [
        &Rejected::ElementUnexpected {
            element: "{urn:x}odd".to_owned(),
        },
        &Rejected::TimestampDuplicated,
        &Rejected::TimestampDuplicated,
        &no_date,
        &Rejected::TooMany {
            what: "`wsse:UsernameToken`",
            limit: 1,
        },
    ];
    assert_eq!(reasons, expected);
    let nodes: Vec<_> = header.items().iter().map(|item| item.node).collect();
    let found: Vec<_> = findings.iter().map(|one| one.node).collect();
    assert_eq!(found, [nodes[0], nodes[2], nodes[3], nodes[3], nodes[5]]);
}

#[test]
fn what_opening_refuses_first_is_among_the_findings() {
    let policy = policy(Mechanism::Username, "Basic256Sha256");
    let message = secure(&policy, PLAIN);
    let timestamp = cut(&message, "<wsu:Timestamp ", "</wsu:Timestamp>");
    let again = timestamp.replace("wsu:Id=\"", "wsu:Id=\"again");
    let nonce = cut(&message, "<wsse:Nonce ", "</wsse:Nonce>");
    let unreadable = nonce.replace("</wsse:Nonce>", "!</wsse:Nonce>");
    for changed in [
        message.replace(timestamp, &[timestamp, &again].concat()),
        message.replace("<wsu:Created>", "<wsu:Created x=\"\">"),
        message.replace(nonce, &unreadable),
        message.replace("<wsse:Username>", "<wsse:Username/><wsse:Username>"),
    ] {
        let refused = open(&policy, &changed).unwrap_err();
        let envelope = envelope(&changed);
        let findings = header(&envelope).findings(&envelope, &SecurityLimits::default());
        let is_found = findings.iter().any(|one| one.reason == refused);
        assert!(is_found, "{refused}: {findings:?}");
    }
}

#[test]
fn a_token_says_what_it_claims_and_proves_nothing() {
    let stranger = identity("CN=nobody", KeyKind::Rsa { bits: 2048 });
    let policy = with(&policy(Mechanism::Sign, "Basic256Sha256"), |policy| {
        policy.name_signing_key(KeyReference::Direct);
    });
    let keys = soapstone_wss::Keys {
        identity: Some(stranger),
        ..client_keys()
    };
    let message = String::from_utf8(secure_with(&policy, keys, PLAIN, None).bytes).unwrap();
    let envelope = envelope(&message);
    let header = header(&envelope);
    let mut items = header.items().iter();
    let item = items.find(|item| item.kind == token("X.509")).unwrap();
    let content = item.content(&envelope, &SecurityLimits::default()).unwrap();
    let Content::Token(claims) = content else {
        panic!("expected a token, found {content:?}");
    };
    let subject = claims.iter().find(|claim| claim.name == "subject").unwrap();
    assert_eq!(subject.value, "CN=nobody");
}

#[test]
fn a_reference_to_nothing_is_a_finding() {
    let message = secure(&policy(Mechanism::Sign, "Basic256Sha256"), PLAIN);
    let start = "<ds:Reference URI=\"#";
    let lost = message.replacen(start, &format!("{start}nothing"), 1);
    let envelope = envelope(&lost);
    let findings = header(&envelope).findings(&envelope, &SecurityLimits::default());
    let reasons: Vec<&str> = findings.iter().map(|one| one.reason.name()).collect();
    assert_eq!(reasons, ["reference-not-found"]);
}
