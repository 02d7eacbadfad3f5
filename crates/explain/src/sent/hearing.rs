//! What the engine tells while it secures a message, written down.
//!
//! The rule kept here: nothing is judged, and what only the receiver may read is left out.

use soapstone_crypto::base64;
use soapstone_wss::names::STR_TRANSFORM;
use soapstone_wss::{
    CipherExtent, DerivedKey, DerivedKeyForm, KeyEvidence, KeyLocator, KeyOrigin, KeyUsage,
    Operation, OperationObserver, SecuringEvent, TokenUse, Transformation, WrittenToken,
};
use soapstone_xml::Canonicalization;

use super::{
    Sent, SentCipherText, SentDerivation, SentHeader, SentItem, SentKey, SentReference,
    SentSignature, SentTimestamp, SentToken, SentWrapping,
};
use crate::reference::ends;

/// Told in the place of what is left out.
const HIDDEN: &str = "not shown, as the message has it encrypted";

impl OperationObserver for Sent {
    fn ended(&mut self, _: Operation) {}

    fn listens(&self) -> bool {
        true
    }

    fn made(&mut self, event: SecuringEvent<'_>) {
        if !self.is_open {
            self.headers.push(SentHeader::default());
            self.is_open = true;
        }
        let is_onward = self.headers.len() > 1;
        let Some(header) = self.headers.last_mut() else {
            return;
        };
        match event {
            SecuringEvent::Header { actor, items } => {
                header.actor = actor.map(str::to_owned);
                let item = |item: &soapstone_wss::WrittenItem| SentItem {
                    name: item.name.clone(),
                    id: item.id.clone(),
                };
                header.items = items.iter().map(item).collect();
                self.is_open = false;
                self.number();
            }
            SecuringEvent::Encryption {
                id,
                element,
                extent,
                algorithm,
                named,
            } => {
                header.encryption.push(SentCipherText {
                    id: id.to_owned(),
                    element: element.to_owned(),
                    extent: match extent {
                        CipherExtent::Content => "content",
                        CipherExtent::Attachment => "attachment",
                        _ => "element",
                    },
                    algorithm: algorithm.short_name().to_owned(),
                    named_by: words(named),
                });
                if is_onward {
                    self.hide_earlier();
                }
            }
            event => header.hear(event),
        }
    }
}

impl Sent {
    /// Numbers the signatures in document order: the header that was made last comes first.
    fn number(&mut self) {
        let headers = self.headers.iter_mut().rev();
        let signatures = headers.flat_map(|header| &mut header.signatures);
        for (at, signature) in signatures.enumerate() {
            signature.number = at + 1;
        }
    }

    /// Something is encrypted for a node on the way, after others have signed. What it was is not
    /// compared: nothing of their plaintext is shown.
    fn hide_earlier(&mut self) {
        let Some((_, earlier)) = self.headers.split_last_mut() else {
            return;
        };
        for signature in earlier.iter_mut().flat_map(|one| &mut one.signatures) {
            signature
                .references
                .iter_mut()
                .for_each(SentReference::hide);
            signature.hide_digests();
        }
    }
}

impl SentSignature {
    /// A digest tells a guess of the plaintext from others, and the id of a token or of an
    /// assertion is that which others gave it. A signature that is encrypted hides both.
    fn hide_digests(&mut self) {
        if self.secret {
            for one in self.references.iter_mut().filter(|one| one.secret) {
                one.digest.clear();
                one.uri.clear();
            }
        }
    }
}

impl SentReference {
    fn hide(&mut self) {
        self.secret = true;
        self.first.clear();
        self.last.clear();
    }
}

impl SentHeader {
    fn hear(&mut self, event: SecuringEvent<'_>) {
        match event {
            SecuringEvent::Timestamp {
                id,
                created,
                expires,
            } => {
                self.timestamp = Some(SentTimestamp {
                    id: id.to_owned(),
                    // As the message has them: in milliseconds.
                    created: format!("{created:.3}"),
                    expires: format!("{expires:.3}"),
                });
            }
            SecuringEvent::Confirmation { values } => self.confirmed = Some(values.len()),
            SecuringEvent::Token {
                id,
                token,
                usage,
                is_secret,
            } => {
                let (element, says) = told(token);
                self.tokens.push(SentToken {
                    element,
                    id: id.filter(|_| !is_secret).map(str::to_owned),
                    says: match is_secret {
                        true => HIDDEN.to_owned(),
                        false => says,
                    },
                    why: reason(usage),
                });
            }
            SecuringEvent::Key {
                usage,
                origin,
                named,
                derived,
                is_secret,
            } => {
                let shown = |words: String| match is_secret {
                    true => HIDDEN.to_owned(),
                    false => words,
                };
                self.keys.push(SentKey {
                    usage: match usage {
                        KeyUsage::Signature => "signature",
                        KeyUsage::Endorsement => "endorsement",
                        _ => "encryption",
                    },
                    secret: is_secret,
                    origin: shown(holder(origin)),
                    named_by: shown(words(named)),
                    derived: derived.filter(|_| !is_secret).map(derivation),
                    name: words(named),
                });
            }
            SecuringEvent::KeyWrapped {
                id,
                method,
                recipient,
                named,
                sha1,
            } => self.wrapped.push(SentWrapping {
                id: id.to_owned(),
                recipient: recipient.subject().to_owned(),
                named_by: words(named),
                algorithm: wrapping(method),
                sha1: base64::encode(sha1),
            }),
            event => self.hear_of_signature(event),
        }
    }

    fn hear_of_signature(&mut self, event: SecuringEvent<'_>) {
        match event {
            SecuringEvent::Reference {
                uri,
                element,
                part,
                transform,
                method,
                canonical,
                digest,
                is_secret,
                ..
            } => {
                let (first, last) = ends(canonical);
                let mut reference = SentReference {
                    uri: uri.to_owned(),
                    element: element.to_owned(),
                    part: part.map(ToString::to_string),
                    transforms: vec![transforms(transform)],
                    algorithm: method.short_name().to_owned(),
                    secret: false,
                    digest: base64::encode(digest.as_ref()),
                    bytes: canonical.len(),
                    first,
                    last,
                    canonical: canonical.to_vec(),
                };
                if is_secret {
                    reference.hide();
                }
                self.pending.push(reference);
            }
            SecuringEvent::SignatureValue {
                id,
                algorithm,
                named,
                signed_info,
                value,
                is_secret,
            } => {
                let name = words(named);
                let mut signing = self.keys.iter().rev();
                let key = signing.find(|key| key.usage != "encryption" && key.name == name);
                let (key, named_by) = match key {
                    _ if is_secret => (HIDDEN.to_owned(), HIDDEN.to_owned()),
                    Some(key) => (key.origin.clone(), key.named_by.clone()),
                    None => (String::new(), name),
                };
                let mut signature = SentSignature {
                    number: self.signatures.len() + 1,
                    id: id.to_owned(),
                    algorithm: algorithm.short_name().to_owned(),
                    key,
                    named_by,
                    secret: is_secret,
                    value: match is_secret {
                        true => String::new(),
                        false => base64::encode(value),
                    },
                    bytes: signed_info.len(),
                    references: std::mem::take(&mut self.pending),
                    signed_info: signed_info.to_vec(),
                };
                signature.hide_digests();
                self.signatures.push(signature);
            }
            _ => {}
        }
    }
}

/// What names something, in words.
fn words(named: Option<&KeyLocator>) -> String {
    named.map(ToString::to_string).unwrap_or_default()
}

/// The element of a token, and whom or what it names.
fn told(token: WrittenToken<'_>) -> (&'static str, String) {
    match token {
        WrittenToken::Username { user } => ("wsse:UsernameToken", format!("the user `{user}`")),
        WrittenToken::PasswordKey { user, key } => {
            let salt = base64::encode(&key.salt);
            let iterations = key.iterations;
            let says = format!(
                "a key from the password of the user `{user}`: salt {salt}, {iterations} iterations"
            );
            ("wsse:UsernameToken", says)
        }
        WrittenToken::Certificate(certificate) => {
            let (subject, issuer) = (certificate.subject(), certificate.issuer());
            let serial = certificate.serial_decimal();
            let says = format!("the certificate of {subject}, issuer {issuer}, serial {serial}");
            ("wsse:BinarySecurityToken", says)
        }
        WrittenToken::Kerberos => ("wsse:BinarySecurityToken", "a Kerberos token".to_owned()),
        WrittenToken::Context(identifier) => (
            "wsc:SecurityContextToken",
            format!("the security context `{identifier}`"),
        ),
        WrittenToken::Assertion { version, id } => (
            "saml:Assertion",
            format!("the assertion `{id}` of SAML {}", version.name()),
        ),
        WrittenToken::AssertionElsewhere(reference) => {
            ("wsse:SecurityTokenReference", reference.to_string())
        }
        other => ("token", format!("{other:?}")),
    }
}

fn reason(usage: TokenUse) -> &'static str {
    match usage {
        TokenUse::Authentication => "it says who sends the message",
        TokenUse::Signature => "the signature names it as its key",
        TokenUse::Endorsement => "an endorsing signature names it as its key",
        TokenUse::Introduction => "the peer is to know our certificate",
        TokenUse::Recipient => "a wrapped key names its recipient by it",
        _ => "a key of the message comes from it",
    }
}

fn holder(origin: KeyOrigin<'_>) -> String {
    match origin {
        KeyOrigin::Private(certificate) => format!("the private key of {}", certificate.subject()),
        KeyOrigin::Shared(name) => format!("the shared key `{name}`"),
        KeyOrigin::Request => "the session key of the request".to_owned(),
        KeyOrigin::Session => "a fresh session key".to_owned(),
        KeyOrigin::Context(identifier) => {
            format!("the secret of the security context `{identifier}`")
        }
        KeyOrigin::Kerberos => "the session key of the Kerberos token".to_owned(),
        KeyOrigin::Assertion(id) => format!("the proof key of the assertion `{id}`"),
        KeyOrigin::Password => "a key from the password".to_owned(),
        other => format!("{other:?}"),
    }
}

fn derivation(derived: DerivedKey<'_>) -> SentDerivation {
    SentDerivation {
        from: words(derived.root),
        said_by: match derived.form {
            DerivedKeyForm::Explicit => "token",
            DerivedKeyForm::Implied => "reference",
        },
        label: derived.label.to_owned(),
        nonce: base64::encode(derived.nonce),
        length: derived.length,
    }
}

fn wrapping(method: KeyEvidence) -> String {
    match method {
        KeyEvidence::Transport(method) => {
            let (digest, mask) = (method.digest.short_name(), method.mask.short_name());
            match method.algorithm.short_name() {
                name @ "rsa-1_5" => name.to_owned(),
                name => format!("{name} (digest {digest}, mask {mask})"),
            }
        }
        KeyEvidence::Agreement(method) => format!(
            "{} by {}, {} with {}",
            method.wrap.short_name(),
            method.algorithm.short_name(),
            method.derivation.short_name(),
            method.digest.short_name()
        ),
    }
}

/// As those of a message that arrived are told.
fn transforms(transform: Transformation<'_>) -> String {
    let exclusive = Canonicalization::Exclusive.short_name();
    match transform {
        Transformation::Exclusive([]) => exclusive.to_owned(),
        Transformation::Exclusive(prefixes) => {
            format!("{exclusive} (prefix list: {})", prefixes.join(" "))
        }
        Transformation::Dereference => STR_TRANSFORM.to_owned(),
        Transformation::Attachment(uri) => uri.to_owned(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::{DataEncryption, DigestAlgorithm, SignatureAlgorithm, digest};

    use super::*;

    /// Has a header made whose signature covers something, and is secret or not.
    fn sign(sent: &mut Sent, is_secret: bool) -> String {
        let method = DigestAlgorithm::Sha256;
        let canonical = b"<e:order>one of few</e:order>";
        let digested = digest(method, canonical).unwrap();
        let named = KeyLocator::Token("cert".to_owned());
        sent.made(SecuringEvent::Key {
            usage: KeyUsage::Signature,
            origin: KeyOrigin::Shared("hub-42"),
            named: Some(&named),
            derived: None,
            is_secret,
        });
        sent.made(SecuringEvent::Reference {
            signature: "signature",
            uri: "#order",
            element: "e:order",
            part: None,
            transform: Transformation::Exclusive(&[]),
            method,
            canonical,
            digest: &digested,
            is_secret: false,
        });
        sent.made(SecuringEvent::SignatureValue {
            id: "signature",
            algorithm: SignatureAlgorithm::HmacSha256,
            named: Some(&named),
            signed_info: b"<ds:SignedInfo/>",
            value: b"value",
            is_secret,
        });
        sent.made(SecuringEvent::Header {
            actor: None,
            items: &[],
        });
        base64::encode(digested.as_ref())
    }

    fn encrypt(sent: &mut Sent) {
        sent.made(SecuringEvent::Encryption {
            id: "data",
            element: "e:order",
            extent: CipherExtent::Element,
            algorithm: DataEncryption::Aes128Gcm,
            named: None,
        });
    }

    /// What a node on the way is to decipher was signed by a signature that is encrypted as well.
    #[test]
    fn what_is_encrypted_later_has_no_digest_where_its_signature_is_encrypted() {
        for is_secret in [false, true] {
            let mut sent = Sent::default();
            let digest = sign(&mut sent, is_secret);
            let told = |sent: &Sent| serde_json::to_string(sent).unwrap();
            assert!(told(&sent).contains("one of few"));
            encrypt(&mut sent);
            assert!(!told(&sent).contains("one of few"));
            assert_eq!(told(&sent).contains(&digest), !is_secret);
            let text = super::super::sent_text("a.xml", &sent);
            assert_eq!(text.contains(&digest), !is_secret, "{text}");
        }
    }

    #[test]
    fn whose_the_key_of_an_encrypted_signature_is_is_told_nowhere() {
        for is_secret in [false, true] {
            let mut sent = Sent::default();
            sign(&mut sent, is_secret);
            let json = serde_json::to_string(&sent).unwrap();
            let text = super::super::sent_text("a.xml", &sent);
            for words in ["hub-42", "#cert"] {
                assert_eq!(json.contains(words), !is_secret, "{words}: {json}");
                assert_eq!(text.contains(words), !is_secret, "{words}: {text}");
            }
        }
    }
}
