//! Prefix lists of signatures: what they name, and that the receiver computes the same bytes
//! (Exclusive XML Canonicalization 1.0, 3; BSP 1.1, R5405 to R5408).

use soapstone_wss::{
    ElementPath, EncryptedPart, Facts, InclusivePrefixes, KeyBinding, KeyReference, Mechanism,
    Part, PasswordKind, Policy, ProtectionOrder, SamlVersion, UsernamePolicy,
};
use soapstone_xml::{Buffers, Document, Element, ParseOptions};

use crate::saml::accepted::{by_holder, carrying, covering};
use crate::saml::issuing::{Draft, by_signature, client, open_as};
use crate::support::{Adjust as _, PLAIN, endorse, forwarded, header, open, policy, secure, with};
use InclusivePrefixes::{InScope, Listed};

const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
const WSSE: &str = soapstone_wss::names::WSSE;
const WSU: &str = soapstone_wss::names::WSU;
const DS: &str = soapstone_wss::names::DS;
const EC: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

fn listing(policy: &Policy, prefixes: InclusivePrefixes) -> Policy {
    with(policy, |policy| policy.parts.inclusive_prefixes = prefixes)
}

/// Envelopes whose namespaces meet those of the Security header in every way: no prefix, another
/// meaning of a prefix, the same meaning, a declaration on the Header, no Header, an empty one.
fn envelopes() -> Vec<String> {
    let body = "<e:echo xmlns:e=\"urn:echo\"><e:text>Grüße &amp; mehr</e:text></e:echo>";
    let to = "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:service</a:To>";
    let with_prefix = |declared: &str, header: &str| {
        format!(
            "<s:Envelope xmlns:s=\"{SOAP}\"{declared}>{header}<s:Body>{body}</s:Body></s:Envelope>"
        )
    };
    let without = |declared: &str, header: &str| {
        format!("<Envelope xmlns=\"{SOAP}\"{declared}>{header}<Body>{body}</Body></Envelope>")
    };
    let mut all = vec![PLAIN.to_owned()];
    let same = format!(
        " xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\" xmlns:ds=\"{DS}\" xmlns:ec=\"{EC}\" xmlns:xsi=\"{XSI}\""
    );
    let other = " xmlns:wsse=\"urn:1\" xmlns:wsu=\"urn:2\" xmlns:ds=\"urn:3\" xmlns:ec=\"urn:4\" xmlns:soap=\"urn:5\" xmlns:wsse11=\"urn:6\" xmlns:xenc=\"urn:7\" xmlns=\"urn:d&amp;\"";
    for declared in [
        "",
        same.as_str(),
        other,
        " xmlns:z=\"urn:z\" xmlns:b=\"urn:b\"",
    ] {
        let on_header = "<s:Header xmlns:z=\"urn:other\" xmlns:wsse=\"urn:header\">";
        for header in [
            String::new(),
            "<s:Header/>".to_owned(),
            format!("<s:Header>{to}</s:Header>"),
            format!("{on_header}{to}</s:Header>"),
        ] {
            all.push(with_prefix(declared, &header));
        }
    }
    for declared in ["", " xmlns:soap=\"urn:5\" xmlns:x=\"urn:x\""] {
        for header in [
            String::new(),
            format!("<Header xmlns:y=\"urn:y\">{to}</Header>"),
        ] {
            all.push(without(declared, &header));
        }
    }
    all
}

/// Policies that sign each kind of element that there is.
fn policies() -> Vec<Policy> {
    let everything = |mechanism| {
        with(&policy(mechanism, "Basic256GCM"), |policy| {
            policy.set_username(Some(UsernamePolicy::with_passwords(vec![
                PasswordKind::Digest,
            ])));
            policy.parts.signed = vec![
                Part::Body,
                Part::Timestamp,
                Part::UsernameToken,
                Part::Token,
                header("To"),
            ];
        })
    };
    let mut all = vec![policy(Mechanism::Sign, "Basic128GCM")];
    for mechanism in [
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        let whole = everything(mechanism);
        let endorsed = with(&whole, |policy| {
            endorse(policy, KeyReference::Direct, true, true);
        });
        let by_reference = with(&whole, |policy| {
            policy.name_signing_key(KeyReference::Thumbprint);
        });
        all.extend([whole, endorsed, by_reference]);
    }
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        let hidden = with(&everything(Mechanism::SignEncrypt), |policy| {
            policy.set_order(order);
            let parts = [Part::Signature, Part::UsernameToken, header("To")];
            policy
                .parts
                .encrypted
                .extend(parts.map(EncryptedPart::customary));
            endorse(policy, KeyReference::Direct, true, false);
        });
        let session = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
            policy.bind(KeyBinding::SessionKey, KeyReference::Thumbprint);
            policy.set_order(order);
            policy.parts.signed.push(Part::Token);
        });
        all.extend([hidden, session]);
    }
    all
}

#[test]
fn every_signed_element_of_every_envelope_is_opened_with_the_lists_that_it_was_signed_with() {
    let listed = ["soap", "#default", "z", "wsu", "nowhere"];
    let listed = listed.map(str::to_owned).to_vec();
    let mut opened = 0;
    for policy in policies() {
        for prefixes in [InScope, Listed(listed.clone())] {
            let policy = listing(&policy, prefixes);
            for plain in envelopes() {
                let message = secure(&policy, &plain);
                let verified = open(&policy, &message)
                    .unwrap_or_else(|rejected| panic!("{rejected:?}\n{policy:?}\n{message}"));
                assert!(forwarded(&verified).contains("Grüße"));
                opened += 1;
            }
        }
    }
    assert_eq!(opened, 14 * 2 * 21);
}

/// The assertion is written with every namespace that was in scope at its issuer.
#[test]
fn an_assertion_is_signed_with_its_list() {
    for version in SamlVersion::ALL {
        let holder = Draft::holder(version, client().certificate());
        for (policy, draft) in [(by_holder(), holder), (covering(), Draft::bearer(version))] {
            let message = carrying(&listing(&policy, InScope), &draft.signed());
            open_as(&by_signature(), &message, &Facts::default())
                .unwrap_or_else(|rejected| panic!("{rejected:?}\n{message}"));
            assert!(message.contains("PrefixList=\""), "{message}");
        }
    }
}

fn read(message: &str) -> Document {
    let options = ParseOptions::default();
    let document = Document::parse(message.into(), &options, &mut Buffers::default());
    document.expect("a message")
}

fn list(method: Element<'_>) -> Option<String> {
    let list = method.child(EC, "InclusiveNamespaces")?;
    list.attribute("", "PrefixList")
        .map(|list| list.into_owned())
}

/// The lists of `SignedInfo` and of the references of a message.
fn lists(message: &str) -> (Option<String>, Vec<Option<String>>) {
    let document = read(message);
    let mut all = document.root().descendants();
    let info = all.find(|it| it.is(DS, "SignedInfo")).expect("a signature");
    let method = info.child(DS, "CanonicalizationMethod").expect("a method");
    let references = info.children().filter(|it| it.is(DS, "Reference"));
    let transforms = references.map(|reference| {
        let transforms = reference.child(DS, "Transforms").expect("transforms");
        list(transforms.first_child().expect("a transform"))
    });
    (list(method), transforms.collect())
}

#[test]
fn prefixes_in_scope_are_listed_as_wss4j_lists_them() {
    let signing = with(&policy(Mechanism::Sign, "Basic128GCM"), |policy| {
        policy.parts.signed = vec![Part::Timestamp, Part::Body, header("To")];
    });
    let message = secure(&listing(&signing, InScope), PLAIN);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        lists(&message),
        (
            some("a soap"),
            vec![some("wsse a soap"), some("a"), some("soap")]
        )
    );
    // Without prefix lists there is no element for one, and none is empty (BSP 1.1, R5406).
    assert_eq!(
        lists(&secure(&signing, PLAIN)),
        (None, vec![None, None, None])
    );
    let alone =
        "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body/></s:Envelope>";
    let message = secure(&listing(&signing, InScope), alone);
    assert_eq!(lists(&message), (some("s"), vec![some("wsse s"), None]));
    let message = secure(&listing(&signing, Listed(vec!["a".to_owned()])), PLAIN);
    assert_eq!(
        lists(&message),
        (None, vec![some("a"), some("a"), some("a")])
    );
}

/// A value that uses a prefix of the Envelope, and what an attacker on the way makes of it.
fn typed() -> (String, impl Fn(&str) -> String) {
    let plain = format!(
        "<s:Envelope xmlns:s=\"{SOAP}\" xmlns:t=\"urn:types\" xmlns:xsi=\"{XSI}\"><s:Body><echo xmlns=\"urn:echo\" xsi:type=\"t:Harmless\"/></s:Body></s:Envelope>"
    );
    let changed = |message: &str| {
        let changed = message.replacen("xmlns:t=\"urn:types\"", "xmlns:t=\"urn:others\"", 1);
        assert_ne!(changed, message);
        changed
    };
    (plain, changed)
}

/// Whether a message is refused as one that is not as it was signed.
fn is_altered(policy: &Policy, message: &str) -> bool {
    let refused = open(policy, message).map(drop);
    let name = refused.map_err(|rejected| rejected.name());
    matches!(name, Err("digest-mismatch" | "signature-mismatch"))
}

/// BSP 1.1, R5405: the exclusive form leaves out a namespace that only a value uses, and whoever is
/// on the way changes what the value means.
#[test]
fn what_a_listed_prefix_means_cannot_be_changed_on_the_way() {
    let (plain, changed) = typed();
    let signing = policy(Mechanism::Sign, "Basic128GCM");
    let unlisted = changed(&secure(&signing, &plain));
    assert!(open(&signing, &unlisted).is_ok());
    for prefixes in [InScope, Listed(vec!["t".to_owned()])] {
        let policy = listing(&signing, prefixes);
        let message = secure(&policy, &plain);
        assert!(open(&policy, &message).is_ok());
        // The list is what protects it, and the receiver needs no policy for that.
        for reader in [&policy, &signing] {
            assert!(is_altered(reader, &changed(&message)), "{message}");
        }
    }
}

/// Exclusive XML Canonicalization 1.0, 3: where an element inside of a signed one declares the
/// prefix, only a list that names it has the meaning signed.
#[test]
fn a_prefix_that_is_declared_inside_must_be_named() {
    let plain = format!(
        "<s:Envelope xmlns:s=\"{SOAP}\" xmlns:xsi=\"{XSI}\"><s:Body><echo xmlns=\"urn:echo\" xmlns:t=\"urn:types\" xsi:type=\"t:Harmless\"/></s:Body></s:Envelope>"
    );
    let (_, changed) = typed();
    let signing = policy(Mechanism::Sign, "Basic128GCM");
    let message = secure(&listing(&signing, InScope), &plain);
    assert!(open(&signing, &changed(&message)).is_ok());
    let message = secure(&listing(&signing, Listed(vec!["t".to_owned()])), &plain);
    assert!(open(&signing, &message).is_ok());
    assert!(is_altered(&signing, &changed(&message)), "{message}");
}

/// What is inserted around a signed element declares none of the prefixes that are listed: its
/// canonical form would have it then, and had it not when it was signed.
#[test]
fn what_is_inserted_declares_no_prefix_that_is_listed() {
    let envelope = |attribute: &str, body: &str| {
        format!(
            "<s:Envelope xmlns:s=\"{SOAP}\"><s:Header>\
             <a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\"{attribute}>urn:service</a:To>\
             </s:Header><s:Body>{body}</s:Body></s:Envelope>"
        )
    };
    let hiding = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.parts.signed.push(header("To"));
        let to = EncryptedPart::customary(header("To"));
        policy.parts.encrypted.push(to);
    });
    let inner = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    let inside = with(&policy(Mechanism::Sign, "Basic256GCM"), |policy| {
        policy.parts.signed.push(Part::Path(inner));
    });
    let understood = envelope(" s:mustUnderstand=\"1\"", "");
    // It has an id in the source, under another prefix than that which the Body gets.
    let with_id = format!(
        "<e:text xmlns:e=\"urn:echo\" xmlns:u=\"{WSU}\" u:Id=\"inner\"><wsu:x xmlns:wsu=\"urn:x\"/></e:text>"
    );
    let with_id = envelope("", &with_id);
    for (policy, plain, listed) in [
        (&hiding, &understood, "soap"),
        (&hiding, &understood, "wsse11"),
        (&hiding, &envelope("", ""), "wsse11"),
        (&hiding, &understood, "wsu"),
        (&inside, &with_id, "wsu"),
    ] {
        let policy = listing(policy, Listed(vec![listed.to_owned()]));
        let message = secure(&policy, plain);
        let opened = open(&policy, &message);
        opened.unwrap_or_else(|it| panic!("{listed}: {it:?}\n{message}"));
    }
}

/// The list itself is signed: of `SignedInfo`, and of a reference.
#[test]
fn a_list_cannot_be_taken_out_on_the_way() {
    let (plain, changed) = typed();
    let policy = listing(&policy(Mechanism::Sign, "Basic128GCM"), InScope);
    let message = secure(&policy, &plain);
    let start = format!("<ec:InclusiveNamespaces xmlns:ec=\"{EC}\" PrefixList=\"");
    let places: Vec<usize> = message.match_indices(&start).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 3);
    for at in places {
        let end = "</ec:InclusiveNamespaces>";
        let length = message[at..].find(end).unwrap() + end.len();
        let without = [&message[..at], &message[at + length..]].concat();
        for message in [changed(&without), without] {
            assert!(is_altered(&policy, &message), "{message}");
        }
    }
}

/// Cipher text of header blocks in the form of WS-Security 1.0.
#[test]
fn cipher_text_of_a_header_block_may_stand_without_an_element_around_it() {
    for mechanism in [
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        let hiding = with(&policy(mechanism, "Basic256GCM"), |policy| {
            policy
                .parts
                .encrypted
                .push(EncryptedPart::customary(header("To")));
            if policy.binding.signs() {
                policy.parts.signed.push(header("To"));
            }
        });
        let bare = with(&hiding, |policy| policy.parts.bare_header_blocks = true);
        for (policy, is_bare) in [(&hiding, false), (&bare, true)] {
            let message = secure(policy, PLAIN);
            assert_eq!(!message.contains("EncryptedHeader"), is_bare, "{message}");
            // Either is read, whatever the reader writes.
            for reader in [&hiding, &bare] {
                let opened = open(reader, &message).unwrap_or_else(|it| panic!("{it:?}"));
                assert!(forwarded(&opened).contains("urn:service"), "{message}");
            }
        }
    }
}

/// SOAP Message Security 1.1.1, 9.3: the block is deciphered inside of the
/// `wsse11:EncryptedHeader`.
#[test]
fn the_element_around_cipher_text_gives_no_prefix_of_the_block_another_meaning() {
    let plain = format!(
        "<s:Envelope xmlns:s=\"{SOAP}\" xmlns:soap=\"urn:5\" xmlns:wsse11=\"urn:6\"><s:Header>\
         <a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\" s:mustUnderstand=\"0\"><soap:x/><wsse11:y/></a:To>\
         </s:Header><s:Body/></s:Envelope>"
    );
    let hiding = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.parts.signed.push(header("To"));
        let to = EncryptedPart::customary(header("To"));
        policy.parts.encrypted.push(to);
    });
    let message = secure(&hiding, &plain);
    assert!(message.contains(":EncryptedHeader "), "{message}");
    let verified = open(&hiding, &message).unwrap_or_else(|it| panic!("{it:?}\n{message}"));
    let seen = read(&forwarded(&verified));
    for (namespace, local) in [("urn:5", "x"), ("urn:6", "y")] {
        let mut all = seen.root().descendants();
        assert!(all.any(|it| it.is(namespace, local)), "{local}");
    }
}

#[test]
fn the_default_digest_of_oaep_may_be_left_out_and_no_other() {
    let of = |suite: &str| {
        with(&policy(Mechanism::SignEncrypt, suite), |policy| {
            policy.suite.implied_oaep_digest = true;
        })
    };
    for (suite, is_left_out) in [("Basic256", true), ("Basic256GCM", false)] {
        let message = secure(&of(suite), PLAIN);
        let document = read(&message);
        let mut all = document.root().descendants();
        let key = all.find(|it| it.local() == "EncryptedKey").expect("a key");
        let method = key.first_child().expect("a method");
        assert_eq!(method.child(DS, "DigestMethod").is_none(), is_left_out);
        open(&of(suite), &message).unwrap_or_else(|it| panic!("{it:?}"));
        open(&policy(Mechanism::SignEncrypt, suite), &message).unwrap();
    }
}

#[test]
fn the_type_of_a_password_may_be_left_out_where_it_is_text() {
    for (kind, written) in [(PasswordKind::Text, false), (PasswordKind::Digest, true)] {
        let policy = with(&policy(Mechanism::Username, "Basic256GCM"), |policy| {
            policy.set_username(Some(UsernamePolicy {
                implied_text: true,
                ..UsernamePolicy::with_passwords(vec![kind])
            }));
        });
        let message = secure(&policy, PLAIN);
        assert_eq!(
            message.contains("<wsse:Password Type="),
            written,
            "{message}"
        );
        open(&policy, &message).unwrap_or_else(|it| panic!("{it:?}"));
    }
}

/// An element in another one that is signed, too: its id is inserted before either is digested.
#[test]
fn an_element_inside_of_a_signed_one_has_a_list_of_its_own() {
    let inner = ElementPath::parse("//e:text", |_| Some("urn:echo".to_owned())).unwrap();
    let policy = with(&policy(Mechanism::Sign, "Basic128GCM"), |policy| {
        policy.parts.signed.push(Part::Path(inner));
    });
    let policy = listing(&policy, InScope);
    let message = secure(&policy, PLAIN);
    open(&policy, &message).unwrap_or_else(|it| panic!("{it:?}"));
    let (_, lists) = lists(&message);
    // Its own start tag uses that of the application and of WS-Addressing, and declares that of
    // ids.
    assert_eq!(lists[2].as_deref(), Some("soap"));
}
