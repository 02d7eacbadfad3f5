//! Symmetric keys of assertions (WS-Trust 1.4, 4.4): what a client asks for, what our token service
//! answers, and what the client must not take in its place.

use soapstone_crypto::{DigestAlgorithm, KeyTransport, OaepParameters, base64};
use soapstone_testkit::keys;
use soapstone_trust::addressing::AddressingVersion;
use soapstone_trust::{
    AppliesTo, ComputedKey, Contribution, KeyType, PendingToken, ProofRules, Refusal, TokenKey,
    TokenRules, TrustError, TrustVersion,
};
use soapstone_wss::{AssertionPolicy, IssuedAssertion, Rejected, SamlVersion};

use crate::assertions::{BOOKS, ISSUER, Sts, by_signature, certificate, issue, issuer};
use crate::client::{between, with};
use crate::support::{WST, WST_2005, envelope};

/// Rules of a token with a symmetric key for the service that our token service knows.
fn rules(contribution: Contribution) -> TokenRules {
    let policy = AssertionPolicy {
        audiences: vec!["https://books.example".to_owned()],
        ..AssertionPolicy::default()
    };
    let mut rules = TokenRules::new(policy);
    rules.applies_to = Some(AppliesTo::new(BOOKS, AddressingVersion::V10));
    let mut proof = ProofRules::default();
    proof.contribution = contribution;
    rules.key = TokenKey::Symmetric(proof);
    rules.issuers = [issuer(ISSUER, certificate("CN=sts"))].into();
    rules
}

/// An honest answer to a request, to be changed on its way.
struct Exchange {
    pending: PendingToken,
    sent: String,
    answer: String,
}

fn exchange(rules: &TokenRules, sts: &Sts) -> Exchange {
    let (pending, request) = PendingToken::issue(rules, None, sts.now);
    let sent = String::from_utf8(request.body).expect("text");
    let answer = sts.answer(&sent, &by_signature("CN=client"));
    let answer = answer.expect("an answer").body;
    Exchange {
        pending,
        sent,
        answer: String::from_utf8(answer).expect("text"),
    }
}

fn concluded(
    rules: &TokenRules,
    sts: &Sts,
    change: impl FnOnce(&Exchange) -> String,
) -> Result<IssuedAssertion, TrustError> {
    let exchange = exchange(rules, sts);
    let changed = change(&exchange);
    let envelope = envelope(changed.as_bytes());
    exchange.pending.accept(rules, envelope.body(), sts.now)
}

#[track_caller]
fn refused(
    contribution: Contribution,
    sts: &Sts,
    change: impl FnOnce(&Exchange) -> String,
) -> TrustError {
    concluded(&rules(contribution), sts, change).expect_err("a refusal")
}

/// A token service that lets a requestor choose the key.
fn generous() -> Sts {
    Sts::making_keys(|rules| rules.requestor_key_alone = true)
}

fn secret(kind: &str, octets: usize) -> String {
    let value = base64::encode(&vec![9; octets]);
    format!("<wst:BinarySecret Type=\"{WST}/{kind}\">{value}</wst:BinarySecret>")
}

fn proof(inside: &str) -> String {
    format!("<wst:RequestedProofToken>{inside}</wst:RequestedProofToken>")
}

/// The answer without an element of WS-Trust.
fn without(answer: &str, name: &str) -> String {
    let (start, end) = (format!("<wst:{name}>"), format!("</wst:{name}>"));
    let inside = between(answer, &start, &end);
    answer.replacen(&format!("{start}{inside}{end}"), "", 1)
}

/// The answer with another element before its lifetime.
fn adding(answer: &str, element: &str) -> String {
    answer.replacen("<wst:Lifetime>", &format!("{element}<wst:Lifetime>"), 1)
}

#[test]
fn a_request_says_whose_randomness_the_key_is_made_of() {
    let now = jiff::Timestamp::now();
    let text = |contribution| {
        let (_, request) = PendingToken::issue(&rules(contribution), None, now);
        (
            request.confidential,
            String::from_utf8(request.body).expect("text"),
        )
    };
    let (confidential, both) = text(Contribution::Both);
    assert!(confidential);
    for part in [
        format!("<wst:KeyType>{WST}/SymmetricKey</wst:KeyType>"),
        "<wst:KeySize>256</wst:KeySize>".to_owned(),
        format!("<wst:Entropy><wst:BinarySecret Type=\"{WST}/Nonce\">"),
        format!("<wst:ComputedKeyAlgorithm>{WST}/CK/PSHA1</wst:ComputedKeyAlgorithm>"),
    ] {
        assert!(both.contains(&part), "{part}\n{both}");
    }
    let (confidential, ours) = text(Contribution::Ours);
    assert!(confidential);
    assert!(ours.contains(&format!("<wst:BinarySecret Type=\"{WST}/SymmetricKey\">")));
    assert!(!ours.contains("ComputedKeyAlgorithm"), "{ours}");
    let (confidential, theirs) = text(Contribution::Issuers);
    assert!(!confidential && !theirs.contains("Entropy"), "{theirs}");
    let mut old = rules(Contribution::Both);
    old.version = TrustVersion::February2005;
    let (_, request) = PendingToken::issue(&old, None, now);
    let old = String::from_utf8(request.body).expect("text");
    assert!(old.contains(&format!("{WST_2005}/CK/PSHA1")), "{old}");
}

#[test]
fn each_way_to_a_key_is_one_that_our_token_service_goes() {
    for (contribution, sts) in [
        (Contribution::Both, Sts::new()),
        (Contribution::Issuers, Sts::new()),
        (Contribution::Ours, generous()),
    ] {
        for version in SamlVersion::ALL {
            let mut rules = rules(contribution);
            rules.assertion = version;
            let issued = concluded(&rules, &sts, |it| it.answer.clone()).expect("a token");
            assert!(issued.token.wraps_key(), "{contribution:?}");
            assert_eq!(issued.token.version(), version);
        }
    }
}

/// An answer that was changed by somebody who can, or a token service that does less than it was
/// asked for: the key would be known to others, or shorter.
#[test]
fn a_key_that_is_made_otherwise_than_of_both_parts_is_refused() {
    let sts = Sts::new();
    let both = |change: &dyn Fn(&Exchange) -> String| refused(Contribution::Both, &sts, change);
    let entropy = |secret: &str| {
        let secret = secret.to_owned();
        move |it: &Exchange| with(&it.answer, "<wst:Entropy>", "</wst:Entropy>", &secret)
    };
    let sent = |it: &Exchange| {
        let ours = between(&it.sent, "/Nonce\">", "<").to_owned();
        with(&it.answer, "/Nonce\">", "<", &ours)
    };
    assert_eq!(both(&sent), TrustError::EntropyReflected);
    let short = entropy(&secret("Nonce", 15));
    let (found, minimum) = (15, 16);
    assert_eq!(both(&short), TrustError::EntropyLength { found, minimum });
    assert_eq!(
        both(&|it| without(&it.answer, "Entropy")),
        TrustError::EntropyMissing
    );
    assert_eq!(
        both(&|it| without(&it.answer, "RequestedProofToken")),
        TrustError::ProofMissing
    );
    let issuers = |it: &Exchange| {
        let (start, end) = ("<wst:RequestedProofToken>", "</wst:RequestedProofToken>");
        with(&it.answer, start, end, &secret("SymmetricKey", 32))
    };
    assert_eq!(both(&issuers), TrustError::EntropyIgnored);
    assert_eq!(
        both(&|it| it.answer.replace("CK/PSHA1", "CK/PSHA256")),
        TrustError::ComputedKeyRefused {
            found: ComputedKey::PSha256.uri(TrustVersion::V13)
        }
    );
    for (bits, found) in [("128", 128), ("1024", 1024), ("257", 257)] {
        let minimum = 256;
        assert_eq!(
            both(&|it| with(&it.answer, "<wst:KeySize>", "<", bits)),
            TrustError::KeySize { found, minimum }
        );
    }
}

/// The token would be good for whoever reads it, or for the holder of a certificate: the key that
/// the answer brings would prove nothing.
#[test]
fn a_token_without_a_symmetric_key_is_refused() {
    let sts = Sts::new();
    let client = by_signature("CN=client");
    for (key_type, expected) in [
        ("Bearer", "the method bearer was not asked for"),
        (
            "PublicKey",
            "it has another key than one that is enciphered for its receiver",
        ),
    ] {
        let other = sts.issued(&issue(BOOKS, key_type, ""), &client);
        let refusal = refused(Contribution::Both, &sts, |it| {
            let (start, end) = (
                "<wst:RequestedSecurityToken>",
                "</wst:RequestedSecurityToken>",
            );
            with(&it.answer, start, end, &other)
        });
        let problem = expected.to_owned();
        let unconfirmed = Rejected::AssertionUnconfirmed { problem };
        assert_eq!(refusal, TrustError::AssertionRefused(Box::new(unconfirmed)));
        let found = format!("{WST}/{key_type}");
        assert_eq!(
            refused(Contribution::Both, &sts, |it| {
                with(&it.answer, "<wst:KeyType>", "<", &found)
            }),
            TrustError::KeyTypeRefused {
                found: found.clone()
            }
        );
    }
}

/// Who chose the key alone would be told of another one, which somebody else knows.
#[test]
fn another_key_than_our_own_is_refused_where_ours_was_to_be_the_key() {
    let generous = generous();
    let ours =
        |change: &dyn Fn(&Exchange) -> String| refused(Contribution::Ours, &generous, change);
    for element in [
        proof(&secret("SymmetricKey", 32)),
        proof(&format!(
            "<wst:ComputedKey>{WST}/CK/PSHA1</wst:ComputedKey>"
        )),
        format!("<wst:Entropy>{}</wst:Entropy>", secret("Nonce", 32)),
    ] {
        let refusal = ours(&|it| adding(&it.answer, &element));
        assert_eq!(refusal, TrustError::OwnKeyIgnored, "{element}");
    }
    let (found, minimum) = (512, 256);
    assert_eq!(
        ours(&|it| with(&it.answer, "<wst:KeySize>", "<", "512")),
        TrustError::KeySize { found, minimum }
    );
    // A token service that contributes to every key.
    let strict = Sts::new();
    assert_eq!(
        refused(Contribution::Ours, &strict, |it| it.answer.clone()),
        TrustError::OwnKeyIgnored
    );
}

#[test]
fn a_key_of_the_token_service_that_is_short_or_hidden_from_us_is_refused() {
    let sts = Sts::new();
    let theirs =
        |change: &dyn Fn(&Exchange) -> String| refused(Contribution::Issuers, &sts, change);
    let (start, end) = ("<wst:RequestedProofToken>", "</wst:RequestedProofToken>");
    let (found, minimum) = (128, 256);
    assert_eq!(
        theirs(&|it| with(&it.answer, start, end, &secret("SymmetricKey", 16))),
        TrustError::KeySize { found, minimum }
    );
    assert_eq!(
        theirs(&|it| without(&it.answer, "RequestedProofToken")),
        TrustError::ProofMissing
    );
    let zeros =
        secret("SymmetricKey", 32).replace(&base64::encode(&[9; 32]), &base64::encode(&[0; 32]));
    assert_eq!(
        theirs(&|it| with(&it.answer, start, end, &zeros)),
        TrustError::KeyBlank
    );
    let computed = format!("<wst:ComputedKey>{WST}/CK/PSHA1</wst:ComputedKey>");
    assert_eq!(
        theirs(&|it| with(&it.answer, start, end, &computed)),
        TrustError::EntropyMissing
    );
    // Enciphered for somebody else, or by RSA 1.5, whose padding could be asked about.
    let client = keys::identity("CN=client", keys::RSA);
    let mut held = rules(Contribution::Issuers);
    let mut own = ProofRules::default();
    own.contribution = Contribution::Issuers;
    own.decryption_key = Some(client.key().clone());
    held.key = TokenKey::Symmetric(own);
    let enciphered = |subject: &str, algorithm: KeyTransport| {
        let oaep = OaepParameters::new(DigestAlgorithm::Sha1, DigestAlgorithm::Sha1);
        let key = certificate(subject)
            .public_key()
            .wrap(algorithm, &oaep, &[9; 32]);
        let value = base64::encode(&key.expect("a wrapped key"));
        let xenc = "http://www.w3.org/2001/04/xmlenc#";
        format!(
            "<x:EncryptedKey xmlns:x=\"{xenc}\"><x:EncryptionMethod Algorithm=\"{}\"/><x:CipherData>\
             <x:CipherValue>{value}</x:CipherValue></x:CipherData></x:EncryptedKey>",
            algorithm.uri()
        )
    };
    let oaep = KeyTransport::RsaOaepMgf1p;
    let ours = enciphered("CN=client", oaep);
    concluded(&held, &sts, |it| with(&it.answer, start, end, &ours)).expect("a token");
    for other in [
        enciphered("CN=other", oaep),
        enciphered("CN=client", KeyTransport::Rsa15),
    ] {
        let refusal = concluded(&held, &sts, |it| with(&it.answer, start, end, &other));
        assert_eq!(
            refusal.expect_err("a refusal"),
            TrustError::SecretUnreadable
        );
    }
}

/// WS-Trust 1.4, 3.3 and 4.4.3: a whole key of the requestor's is the key where the rules say so,
/// and there is no need to send it back.
#[test]
fn a_requestor_chooses_the_key_where_the_rules_say_so() {
    let key = |octets: usize| {
        let value = base64::encode(&vec![7; octets]);
        format!(
            "<wst:Entropy><wst:BinarySecret Type='{WST}/SymmetricKey'>{value}</wst:BinarySecret></wst:Entropy>"
        )
    };
    let client = by_signature("CN=client");
    let asked = |octets| issue(BOOKS, "SymmetricKey", &key(octets));
    let answer = generous().answer(&asked(32), &client).expect("an answer");
    assert!(!answer.confidential);
    let body = String::from_utf8(answer.body).expect("text");
    assert!(!body.contains("RequestedProofToken") && !body.contains("<wst:Entropy>"));
    let mut wrapped = Vec::new();
    let value = between(&body, "<xenc:CipherValue>", "<");
    base64::decode(value.as_bytes(), &mut wrapped).expect("base64");
    let oaep = OaepParameters::new(DigestAlgorithm::Sha256, DigestAlgorithm::Sha1);
    let books = keys::identity("CN=books", keys::RSA);
    let algorithm = KeyTransport::RsaOaepMgf1p;
    let opened = books.key().unwrap(algorithm, &oaep, &wrapped, None);
    assert_eq!(opened.expect("a key").expose()[..], [7; 32]);
    let (found, minimum) = (31, 32);
    let refusal = generous().refusal(&asked(31), &client);
    assert_eq!(refusal, Refusal::EntropyLength { found, minimum });
    let refusal = generous().refusal(&asked(64), &client);
    let (found, minimum, maximum) = (512, 256, 256);
    let expected = Refusal::KeySizeNotOffered {
        found,
        minimum,
        maximum,
    };
    assert_eq!(refusal, expected);
    // Everybody knows a key of zeros.
    let zeros = asked(32).replace(&base64::encode(&[7; 32]), &base64::encode(&[0; 32]));
    assert_eq!(generous().refusal(&zeros, &client), Refusal::KeyBlank);
    let mut exposed = client.clone();
    exposed.confidential = false;
    let refusal = generous().refusal(&asked(32), &exposed);
    assert_eq!(refusal, Refusal::NotConfidential);
    let answer = Sts::new().answer(&asked(32), &client).expect("an answer");
    let body = String::from_utf8(answer.body).expect("text");
    assert!(body.contains("<wst:ComputedKey>"), "{body}");
    assert!(body.contains(&KeyType::SymmetricKey.uri(TrustVersion::V13)));
}
