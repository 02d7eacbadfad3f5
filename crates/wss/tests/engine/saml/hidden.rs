//! Assertions in cipher text of their own (SAML Core 2.0, 2.3.4): accepted in the standard's
//! shapes, and what else may be deciphered refused as strictly as in the clear.

use soapstone_crypto::random::Supply;
use soapstone_crypto::{
    DataEncryption, Identity, KeyTransport, OaepParameters, SymmetricKey, base64, seal_in_place,
};
use soapstone_wss::{
    AssertionPolicy, ConfirmationMethod, EncryptedPart, Envelope, Facts, FaultCode, InboundPlan,
    KeyReference, Mechanism, Part, PlanProblem, Policy, Rejected, SamlVersion, Verified, names,
};

use soapstone_xmlsec::enc::KeyEncryption;
use soapstone_xmlsec::write::{self, EncryptedKeyParts};

use super::accepted::{by_holder, carrying, covering};
use super::issuing::*;
use super::{Case, refuse_all};
use crate::derivations::cut;
use crate::support::*;

/// The policy, with assertions in cipher text of their own.
pub(crate) fn hiding(policy: &Policy) -> Policy {
    adjusted(policy, |accepted| accepted.encrypted = true)
}

/// An assertion, or what is sent in the place of one, as an issuer enciphers it for the service.
pub(crate) struct Sealed {
    cipher_value: String,
    method: DataEncryption,
    /// The `EncryptedKey`.
    key: String,
}

impl Sealed {
    pub(crate) fn of(plain: &str) -> Self {
        Self::by_suite(plain, "Basic256GCM")
    }

    /// With the algorithms of a suite.
    pub(crate) fn by_suite(plain: &str, name: &str) -> Self {
        let suite = suite(name);
        let transport = suite.key_transport[0];
        let oaep = OaepParameters::new(transport.digest, transport.mask);
        Self::with(plain, suite.data[0], transport.algorithm, oaep)
    }

    fn with(
        plain: &str,
        method: DataEncryption,
        algorithm: KeyTransport,
        oaep: OaepParameters,
    ) -> Self {
        let key = SymmetricKey::generate(method.key_length()).unwrap();
        let mut cipher = vec![0; method.iv_length()];
        cipher.extend_from_slice(plain.as_bytes());
        seal_in_place(method, &key, &mut cipher, 0, &mut Supply::default()).unwrap();
        Self {
            cipher_value: base64::encode(&cipher),
            method,
            key: wrapped(&key, algorithm, oaep),
        }
    }

    /// The `EncryptedKey`, with these attributes, and this behind its cipher text.
    fn key(&self, attributes: &str, behind: &str) -> String {
        let key = self.key.replacen(
            "<xenc:EncryptedKey",
            &format!("<xenc:EncryptedKey{attributes}"),
            1,
        );
        let end = "</xenc:EncryptedKey>";
        key.replace(end, &format!("{behind}{end}"))
    }

    /// The `EncryptedData`, with this in its `KeyInfo`.
    fn data(&self, info: &str) -> String {
        let info = match info {
            "" => String::new(),
            info => format!("<ds:KeyInfo xmlns:ds=\"{}\">{info}</ds:KeyInfo>", names::DS),
        };
        format!(
            "<xenc:EncryptedData xmlns:xenc=\"{0}\" Id=\"data\" Type=\"{0}Element\"><xenc:EncryptionMethod Algorithm=\"{1}\"/>{info}<xenc:CipherData><xenc:CipherValue>{2}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>",
            names::XENC,
            self.method.uri(),
            self.cipher_value
        )
    }

    /// With its key inside, as OpenSAML writes it.
    pub(crate) fn inline(&self) -> String {
        held(&self.data(&self.key("", "")))
    }
}

/// A key for the service in an `EncryptedKey`.
fn wrapped(key: &SymmetricKey, algorithm: KeyTransport, oaep: OaepParameters) -> String {
    wrapped_for(&PARTIES.service, key, algorithm, oaep)
}

/// A key for this receiver in an `EncryptedKey`.
pub(crate) fn wrapped_for(
    receiver: &Identity,
    key: &SymmetricKey,
    algorithm: KeyTransport,
    oaep: OaepParameters,
) -> String {
    let receiver = receiver.certificate().public_key();
    let cipher_value = receiver.wrap(algorithm, &oaep, key.expose()).unwrap();
    let mut out = Vec::new();
    write::encrypted_key(
        &EncryptedKeyParts {
            id: None,
            recipient: None,
            method: &KeyEncryption::Transport { algorithm, oaep },
            implied_oaep_digest: false,
            raw_key_info: None,
            cipher_value: &cipher_value,
            data_references: &[],
            carried_key_name: None,
        },
        &mut out,
    );
    String::from_utf8(out).unwrap()
}

/// A `saml:EncryptedAssertion` with this inside.
fn held(content: &str) -> String {
    format!(
        "<saml:EncryptedAssertion xmlns:saml=\"{}\">{content}</saml:EncryptedAssertion>",
        names::SAML20
    )
}

fn open_hidden(message: &str) -> Result<Verified<Envelope>, Rejected> {
    open_as(&hiding(&by_connection()), message, &Facts::default())
}

fn bearer() -> String {
    Draft::bearer(SamlVersion::V20).signed()
}

fn confirmed(verified: &Verified<Envelope>) -> ConfirmationMethod {
    let found = verified.evidence().assertion.as_ref().unwrap();
    assert_eq!(found.assertion.subject.value, "alice");
    found.confirmed.unwrap()
}

#[test]
fn an_assertion_in_cipher_text_of_its_own_is_accepted_in_the_standards_shapes() {
    let sealed = Sealed::of(&bearer());
    let retrieval = |kind: &str| format!("<ds:RetrievalMethod URI=\"#key\"{kind}/>");
    let typed = format!(" Type=\"{}EncryptedKey\"", names::XENC);
    let (id, name) = (
        " Id=\"key\"",
        "<xenc:CarriedKeyName>k</xenc:CarriedKeyName>",
    );
    let list = "<xenc:ReferenceList><xenc:DataReference URI=\"#data\"/></xenc:ReferenceList>";
    let beside = |info: &str, key: String| held(&(sealed.data(info) + &key));
    for item in [
        sealed.inline(),
        held(&sealed.data(&sealed.key(" Recipient=\"https://service.example\"", list))),
        beside(&retrieval(&typed), sealed.key(id, "")),
        beside(&retrieval(""), sealed.key(id, list)),
        beside("<ds:KeyName>k</ds:KeyName>", sealed.key("", name)),
        beside("", sealed.key("", list)),
        // Without the element of SAML 2.0.
        sealed.data(&sealed.key("", "")),
    ] {
        let verified = open_hidden(&message(&item)).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::Bearer);
    }
    // The key of the cipher text of another assertion.
    let other = Sealed::of(&bearer());
    let swapped = message(&held(&sealed.data(&other.key("", ""))));
    assert_eq!(
        open_hidden(&swapped).unwrap_err().name(),
        "decryption-failed"
    );
    let old = Sealed::of(&Draft::bearer(SamlVersion::V11).signed());
    let item = message(&old.data(&old.key("", "")));
    // An issuer's cipher text comes in many messages.
    for _ in 0..2 {
        assert_eq!(
            confirmed(&open_hidden(&item).unwrap()),
            ConfirmationMethod::Bearer
        );
    }
}

#[test]
fn an_assertion_is_sent_in_cipher_text_of_its_own() {
    for version in SamlVersion::ALL {
        let (bearer, vouched) = (Draft::bearer(version), Draft::vouched(version));
        let holder = Draft::holder(version, client().certificate());
        let vouching = adjusted(&covering(), |accepted| {
            accepted.methods = vec![ConfirmationMethod::SenderVouches];
        });
        for (policy, draft, method) in [
            (by_connection(), &bearer, ConfirmationMethod::Bearer),
            (covering(), &bearer, ConfirmationMethod::Bearer),
            (vouching, &vouched, ConfirmationMethod::SenderVouches),
            (by_holder(), &holder, ConfirmationMethod::HolderOfKey),
        ] {
            let policy = hiding(&policy);
            let message = carrying(&policy, &draft.signed());
            assert!(!message.contains("alice") && !message.contains("<saml:Assertion"));
            let is_element = message.contains("<saml:EncryptedAssertion ");
            assert_eq!(is_element, version == SamlVersion::V20);
            let verified = open_as(&policy, &message, &Facts::default()).unwrap();
            assert_eq!(confirmed(&verified), method);
        }
    }
}

/// The Body has cipher text under another key.
#[test]
fn an_assertion_and_a_message_have_each_a_key_of_their_own() {
    let encrypting = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.parts.signed.push(Part::Assertion);
    });
    let bearing = AssertionPolicy {
        methods: vec![ConfirmationMethod::Bearer],
        encrypted: true,
        ..accepting()
    };
    let policy = with_assertion(encrypting, bearing);
    for version in SamlVersion::ALL {
        let message = carrying(&policy, &Draft::bearer(version).signed());
        let verified = open_as(&policy, &message, &Facts::default()).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::Bearer);
        // The key of the assertion is nobody's to answer under.
        let (_, receipt) = verified.finish(&mut soapstone_xml::Buffers::default());
        assert_eq!(receipt.session_keys.len(), 1);
    }
}

#[test]
fn the_file_says_whether_an_assertion_is_in_cipher_text() {
    let plain = message(&bearer());
    let refused = open_hidden(&plain).unwrap_err();
    let part = Part::Assertion;
    assert_eq!(refused, Rejected::Unencrypted { part });
    let hidden = message(&Sealed::of(&bearer()).inline());
    let refused = open_over_tls(&hidden).unwrap_err();
    let element = "{urn:oasis:names:tc:SAML:2.0:assertion}EncryptedAssertion".to_owned();
    assert_eq!(refused, Rejected::ElementUnexpected { element });
    // With the message's own key it is in no cipher text of its own.
    let encrypting = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        let assertion = EncryptedPart::customary(Part::Assertion);
        policy.parts.encrypted.push(assertion);
    });
    let by_message = hiding(&with_assertion(encrypting, accepting()));
    let problems = InboundPlan::compile(by_message, knowing_issuers()).unwrap_err();
    let problem =
        "an assertion has one cipher text: its own, for the last node, or that of the message";
    assert_eq!(problems, [PlanProblem::Combination { problem }]);
}

const ENCRYPTED: &str = "malformed: `saml:EncryptedAssertion`: ";
const ONE_KEY: &str = "expected one `EncryptedKey`";
const NAMES: &str = "expected its key and its cipher text to name each other";

/// What can be seen of the cipher text is judged before anything is deciphered.
#[test]
fn the_shape_of_the_cipher_text_is_strict() {
    let sealed = Sealed::of(&bearer());
    let (inline, key) = (sealed.inline(), sealed.key("", ""));
    let with =
        |method, transport| Sealed::with(&bearer(), method, transport, OaepParameters::default());
    let cbc = with(DataEncryption::Aes256Cbc, KeyTransport::RsaOaepMgf1p);
    let rsa15 = with(DataEncryption::Aes256Gcm, KeyTransport::Rsa15);
    let forged = Draft {
        id: "_forged".to_owned(),
        subject: "admin".to_owned(),
        ..Draft::bearer(SamlVersion::V20)
    };
    let forged = forged.unsigned();
    let of = |problem: &str| [ENCRYPTED, problem].concat();
    let child = "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Assertion` in this place";
    let cases: Vec<(&str, String, String)> = vec![
        ("two of them", inline.clone() + &inline.replace(" Id=\"data\"", ""), "too-many: more than 1 `saml:EncryptedAssertion` in one message".into()),
        ("a plain one in front", format!("{forged}{inline}"), "unencrypted: expected `Assertion` to be encrypted; it was not".into()),
        ("a plain one behind", format!("{inline}{forged}"), "unencrypted: expected `Assertion` to be encrypted; it was not".into()),
        ("a plain one inside", held(&(sealed.data(&key) + &forged)), child.into()),
        ("no key", held(&sealed.data("")), of(ONE_KEY)),
        ("two keys", held(&(sealed.data(&key) + &key)), of(ONE_KEY)),
        ("two keys inside", held(&sealed.data(&(key.clone() + &key))), of(ONE_KEY)),
        ("another key named", held(&(sealed.data("<ds:KeyName>other</ds:KeyName>") + &sealed.key("", "<xenc:CarriedKeyName>k</xenc:CarriedKeyName>"))), of(NAMES)),
        ("another key retrieved", held(&(sealed.data("<ds:RetrievalMethod URI=\"#other\"/>") + &sealed.key(" Id=\"key\"", ""))), of(NAMES)),
        ("a key for other cipher text", held(&(sealed.data(&sealed.key("", "<xenc:ReferenceList><xenc:DataReference URI=\"#other\"/></xenc:ReferenceList>")))), of(NAMES)),
        ("content", inline.replace("#Element\"", "#Content\""), of("expected `Type` to say that it is an element")),
        ("a cipher that is not named", cbc.inline(), "algorithm-not-allowed: data encryption algorithm `http://www.w3.org/2001/04/xmlenc#aes256-cbc` is not allowed (allowed: aes256-gcm)".into()),
        ("a transport that is not named", rsa15.inline(), "algorithm-not-allowed: key transport algorithm `http://www.w3.org/2001/04/xmlenc#rsa-1_5 with digest sha1 and mask sha1` is not allowed (allowed: rsa-oaep)".into()),
    ];
    let cases: Vec<_> = cases
        .iter()
        .map(|(name, items, told)| (*name, message(items), told.as_str()))
        .collect();
    let mut wrong = Vec::new();
    for (name, message, expected) in cases {
        let found = open_hidden(&message)
            .err()
            .map(|refused| format!("{}: {refused}", refused.name()));
        if found.as_deref() != Some(expected) {
            wrong.push(format!("{name}: expected `{expected}`, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Anybody enciphers for the service. What comes to light is believed no more than what could be
/// read, and its sender is told one thing.
#[test]
fn what_comes_to_light_is_read_as_strictly_as_any_assertion() {
    let right = bearer();
    let draft = Draft::bearer(SamlVersion::V20);
    let admin = Draft {
        subject: "admin".to_owned(),
        ..draft.clone()
    };
    let stranger = Draft {
        issuer: "https://nobody.example".to_owned(),
        ..draft.clone()
    };
    let in_other_name = Draft {
        issuer: OTHER_ISSUER.to_owned(),
        ..draft.clone()
    };
    let commented = Draft {
        subject: "admin<!---->.example".to_owned(),
        ..draft.clone()
    };
    let nested = Draft {
        statements: Sealed::of(&right).inline().replace(" Id=\"data\"", ""),
        ..draft.clone()
    };
    let inner = Sealed::of(&right);
    let start = right.find("<ds:Signature ").unwrap();
    let end = right.find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
    let around = admin.unsigned().replace("_assertion", "_forged").replacen(
        "</saml:Assertion>",
        &format!("{right}</saml:Assertion>"),
        1,
    );
    let one = format!("{ENCRYPTED}expected one assertion in its plaintext");
    let malformed = "malformed: `saml:Assertion`: ";
    let plaintexts: Vec<(&str, String, String)> = vec![
        ("nobody's", admin.unsigned(), "assertion-unsigned: expected the issuer's signature in the assertion, found none".into()),
        ("changed", right.replace(">alice<", ">admin<"), "digest-mismatch".into()),
        ("of an issuer that is not known", stranger.signed(), "issuer-unknown: expected an assertion of a known issuer, found one of `https://nobody.example`".into()),
        ("in another issuer's name", in_other_name.signed(), "untrusted".into()),
        ("the signature of another one", insert_signature(&admin.unsigned(), &right[start..end]), "digest-mismatch".into()),
        ("the right one inside of a forged one", around, format!("{malformed}expected no assertion inside of another one")),
        ("cut by a comment", sign(&commented.unsigned(), &SignatureForm::of(ID), &IDP), format!("{malformed}expected no comments and no processing instructions")),
        ("cipher text inside", nested.unsigned(), format!("{malformed}expected no cipher text inside of an assertion")),
        ("cipher text again", inner.data(&inner.key("", "")).replace(" Id=\"data\"", ""), one.clone()),
        ("one in cipher text", inner.inline().replace(" Id=\"data\"", ""), one.clone()),
        ("no assertion", "<e:element xmlns:e=\"urn:e\"/>".to_owned(), one.clone()),
        ("SAML 1.1 in an element of 2.0", Draft::bearer(SamlVersion::V11).signed(), one.clone()),
    ];
    let refused = |item: &str, wrong: &mut Vec<String>| {
        let policy = hiding(&by_connection());
        let (keys, facts) = (knowing_issuers(), Facts::default());
        let refused = open_as_peer_with(&policy, keys, &facts, &message(item), moment());
        let refused = refused.unwrap_err();
        // Whoever enciphered it is told what he is told of cipher text that cannot be read.
        if refused.fault() != FaultCode::FailedCheck {
            wrong.push(format!("told {:?}: {refused}", refused.fault()));
        }
        refused.cause().clone()
    };
    let mut wrong = Vec::new();
    for (name, plain, expected) in plaintexts {
        let refused = refused(&Sealed::of(&plain).inline(), &mut wrong);
        let found = format!("{}: {refused}", refused.name());
        if !found.starts_with(&expected) {
            wrong.push(format!("{name}: expected `{expected}`, found `{found}`"));
        }
    }
    // Two of them are no element.
    for (name, plain) in [
        (
            "two",
            format!("{right}{}", right.replace("_assertion", "_second")),
        ),
        ("nothing", String::new()),
        ("no XML", "<saml:Assertion".to_owned()),
    ] {
        let refused = refused(&Sealed::of(&plain).inline(), &mut wrong);
        if refused.name() != "decryption-failed" {
            wrong.push(format!("{name}: {refused}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// XSW with cipher text: the right assertion is beside the forged one that is deciphered, or the
/// other way round.
#[test]
fn an_assertion_beside_the_cipher_text_counts_for_nothing() {
    let right = bearer();
    let admin = Draft {
        subject: "admin".to_owned(),
        ..Draft::bearer(SamlVersion::V20)
    };
    let start = right.find("<ds:Signature ").unwrap();
    let end = right.find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
    let bare = right.replace(&right[start..end], "");
    let forged = insert_signature(
        &admin.unsigned().replace("_assertion", "_forged"),
        &right[start..end],
    );
    let other_id = "malformed: `saml:Assertion`: expected its signature to refer to its id";
    let cases: Vec<Case> = vec![
        (
            "the right one in the Body",
            message_with(&Sealed::of(&forged).inline(), "", &bare),
            other_id,
        ),
        (
            "the right one in another block",
            message_with(
                &Sealed::of(&forged).inline(),
                &format!("<x:block xmlns:x=\"urn:x\">{bare}</x:block>"),
                "",
            ),
            other_id,
        ),
        (
            "its id in the Body",
            message_with(&Sealed::of(&right).inline(), "", &bare),
            "duplicate-id: two elements carry the id `_assertion`",
        ),
        (
            "in another place",
            message_with("", "", &Sealed::of(&right).inline()),
            "assertion-missing: expected a `saml:Assertion`, found none",
        ),
    ];
    refuse_all(cases, open_hidden);
    // In the Body alone it is the Body's.
    let message = message_with(
        &Sealed::of(&right).inline(),
        "",
        &admin.unsigned().replace("_assertion", "_forged"),
    );
    assert_eq!(
        confirmed(&open_hidden(&message).unwrap()),
        ConfirmationMethod::Bearer
    );
}

/// Keys of a message and of its assertion do not stand for each other.
#[test]
fn the_key_of_an_assertion_deciphers_nothing_else() {
    let encrypting = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.parts.signed.push(Part::Assertion);
    });
    let bearing = AssertionPolicy {
        methods: vec![ConfirmationMethod::Bearer],
        encrypted: true,
        ..accepting()
    };
    let policy = with_assertion(encrypting, bearing);
    let message = carrying(&policy, &bearer());
    // The list of the message's key names the assertion's cipher text, too.
    let start = message.find("<xenc:DataReference").unwrap();
    let id = {
        let at = message.find("-saml\"").unwrap();
        let begin = message[..at].rfind('"').unwrap() + 1;
        message[begin..at + "-saml".len()].to_owned()
    };
    let mut listing = message.clone();
    listing.insert_str(
        start,
        &format!("<xenc:DataReference URI=\"#{id}\"></xenc:DataReference>"),
    );
    let refused = open_as(&policy, &listing, &Facts::default()).unwrap_err();
    assert_eq!(refused.name(), "reference-not-found");
    // The Body names the key of the assertion, in a list apart from its own.
    let list = cut(&message, "<xenc:ReferenceList>", "</xenc:ReferenceList>");
    let declared = format!("<xenc:ReferenceList xmlns:xenc=\"{}\"", names::XENC);
    let moved = list.replacen("<xenc:ReferenceList", &declared, 1);
    let behind = format!("{moved}<ds:Signature ");
    let apart = message
        .replace(list, "")
        .replacen("<ds:Signature ", &behind, 1);
    let key = |name: &str| format!("URI=\"#{}\"", id.replace("-saml", name));
    open_as(&policy, &apart, &Facts::default()).unwrap();
    let swapped = apart.replace(&key("-key"), &key("-saml-key"));
    assert_ne!(swapped, apart);
    let refused = open_as(&policy, &swapped, &Facts::default()).unwrap_err();
    assert_eq!(refused.cause().name(), "key-not-found");
}

/// Whoever sees an issuer's cipher text may sign it, and does not know what it holds (SAML Token
/// Profile 1.1.1, 3.5.2).
#[test]
fn nobody_bears_an_assertion_that_he_signed_as_cipher_text() {
    let encrypting = policy(Mechanism::EncryptSign, "Basic256GCM");
    let accepted = AssertionPolicy {
        methods: vec![ConfirmationMethod::HolderOfKey, ConfirmationMethod::Bearer],
        encrypted: true,
        ..accepting()
    };
    let policy = with_assertion(encrypting.clone(), accepted);
    // Mallory has a certificate that is trusted, and the cipher text of another one's message.
    let sealed = Sealed::of(&bearer());
    let data = sealed.data(&sealed.key("", ""));
    let signing = with(&encrypting, |policy| {
        policy.parts.signed.push(Part::Header {
            namespace: names::XENC.to_owned(),
            local: "EncryptedData".to_owned(),
        });
    });
    let plain = soapstone_testkit::envelope::with_header(names::SOAP11, &data, "<a/>");
    let message = secure_at(&signing, client_keys(), &plain, None, moment());
    let message = String::from_utf8(message.bytes).unwrap();
    let start = message.find("<xenc:EncryptedData xmlns:xenc").unwrap();
    let end =
        message[start..].find("</xenc:EncryptedData>").unwrap() + "</xenc:EncryptedData>".len();
    let block = &message[start..start + end];
    let moved = message.replacen(block, "", 1).replacen(
        "<ds:Signature ",
        &format!("{}<ds:Signature ", held(block)),
        1,
    );
    let refused = open_as(&policy, &moved, &Facts::default()).unwrap_err();
    assert_eq!(refused.cause().name(), "assertion-unconfirmed");
}

/// Where no key of a holder is accepted, none is looked for in cipher text: a stranger has nothing
/// deciphered.
#[test]
fn a_signature_by_an_unknown_key_has_no_assertion_deciphered() {
    let policy = with(&hiding(&covering()), |policy| {
        policy.binding.name_keys(KeyReference::Thumbprint);
    });
    let message = carrying(&policy, &bearer());
    open_as(&policy, &message, &Facts::default()).unwrap();
    let at = message.find("#ThumbprintSHA1\"").unwrap();
    let at = at + message[at..].find('>').unwrap() + 1;
    let other = if &message[at..=at] == "A" { "B" } else { "A" };
    let strange = format!("{}{other}{}", &message[..at], &message[at + 1..]);
    let refused = open_as(&policy, &strange, &Facts::default()).unwrap_err();
    // No refusal behind a decryption has its own name.
    assert_eq!(refused.name(), "key-not-found");
}

/// Under CBC one key deciphers all that a message has: a second one would be an oracle's.
#[test]
fn beside_an_assertion_with_its_own_key_messages_are_enciphered_with_authentication() {
    for (name, is_plan) in [("Basic256", false), ("Basic256GCM", true)] {
        let encrypting = policy(Mechanism::SignEncrypt, name);
        let policy = hiding(&with_assertion(encrypting, accepting()));
        let problem = "without authentication one key deciphers a message: beside an assertion with cipher text of its own the message needs AES-GCM";
        let problems = match InboundPlan::compile(policy, knowing_issuers()) {
            Ok(_) => Vec::new(),
            Err(problems) => problems,
        };
        let told = problems.contains(&PlanProblem::Combination { problem });
        assert_eq!(told, !is_plan, "{name}: {problems:?}");
    }
}
