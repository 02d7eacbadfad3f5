//! The senders, the messages that they break, and how one is added.
//!
//! The rule kept here: mistakes go round the senders, so that each kind of key and both versions of
//! SOAP meet many of them.

use std::cell::Cell;

use soapstone::crypto::{SignatureAlgorithm, SymmetricKey, hexadecimal};
use soapstone::xml::{Canonicalization, Document, NodeId};
use soapstone_explain::Known;

use crate::support::{
    Digested, PLAIN, Signer, as_it_is, form, private_key, secured, signed_anew, with_value,
};

pub(crate) const SECRET: &[u8] = b"fedcba9876543210fedcba9876543210";

/// The plain message of the other tests with more in it, of SOAP 1.1.
pub(crate) fn rich() -> String {
    PLAIN.replace(
        "<!-- a remark -->",
        "<!-- a remark --><q:price mark=\"it's\">5 €</q:price><q:blank> </q:blank>",
    )
}

/// The same in SOAP 1.2.
pub(crate) fn of_soap12(plain: &str) -> String {
    plain.replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    )
}

/// Lines of an endpoint file that signs by this algorithm.
pub(crate) fn lines(signature: &str) -> String {
    format!(
        "[security]\nmechanism = \"sign\"\nalgorithms = {{ signature = [\"{signature}\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }}\n\
         signed = [\"Body\", \"Timestamp\", \"{{urn:example:shop}}trace\"]"
    )
}

/// Who signs a message, and the message as it should be.
pub(crate) struct Sender {
    pub(crate) message: String,
    pub(crate) signer: Signer,
    shares: bool,
}

impl Sender {
    /// The sender of this number with this plain message of SOAP 1.1.
    pub(crate) fn new(number: usize, plain: &str) -> Self {
        let of_key = |identity: &str, plain: &str, method: SignatureAlgorithm| Self {
            message: secured(identity, &lines(method.short_name()), plain),
            signer: Signer::Private(private_key(identity), method),
            shares: false,
        };
        let modern = of_soap12(plain);
        match number % 6 {
            0 => of_key("client", plain, SignatureAlgorithm::RsaSha256),
            1 => of_key("p256", &modern, SignatureAlgorithm::EcdsaSha256),
            2 => Self::sharing(plain),
            3 => of_key("client", &modern, SignatureAlgorithm::RsaPssSha256),
            4 => of_key("p384", plain, SignatureAlgorithm::EcdsaSha384),
            _ => Self::sharing(&modern),
        }
    }

    /// The sender with a key that both sides hold.
    pub(crate) fn sharing(plain: &str) -> Self {
        let text = format!(
            "shared_key = {{ hex = \"{}\" }}\n{}\nkey_reference = \"key-name\"",
            hexadecimal::encode(SECRET),
            lines("hmac-sha256")
        );
        let key = SymmetricKey::new(SECRET.to_vec()).expect("a key");
        Self {
            message: secured("", &text, plain),
            signer: Signer::Secret(key, SignatureAlgorithm::HmacSha256),
            shares: true,
        }
    }

    pub(crate) fn known(&self) -> Known {
        let key = SymmetricKey::new(SECRET.to_vec()).expect("a key");
        Known {
            secrets: match self.shares {
                true => vec![("the shared key".to_owned(), key)],
                false => Vec::new(),
            },
            ..Known::default()
        }
    }
}

/// A message, and the kinds that are told first: one cause for each part that ` | ` separates, and
/// any of those that `/` separates.
pub(crate) struct Broken {
    pub(crate) name: String,
    pub(crate) kinds: &'static str,
    pub(crate) message: String,
    pub(crate) known: Known,
}

#[derive(Default)]
pub(crate) struct Cases {
    pub(crate) all: Vec<Broken>,
    next: Cell<usize>,
}

impl Cases {
    pub(crate) fn add(&mut self, name: &str, kinds: &'static str, message: String, known: Known) {
        self.all.push(Broken {
            name: name.to_owned(),
            kinds,
            message,
            known,
        });
    }

    /// The next sender.
    pub(crate) fn sender(&self, plain: &str) -> Sender {
        let number = self.next.get();
        self.next.set(number + 1);
        Sender::new(number, plain)
    }

    /// Parts that the next sender digests otherwise.
    pub(crate) fn parts(
        &mut self,
        name: &str,
        kinds: &'static str,
        plain: &str,
        parts: &[(&str, Digested<'_>)],
    ) {
        let sender = self.sender(plain);
        let message = signed_anew(&sender.message, &sender.signer, parts, &as_it_is);
        assert_ne!(message, sender.message, "{name}: nothing is broken");
        let known = sender.known();
        self.add(name, kinds, message, known);
    }

    /// A Body whose canonical form is digested otherwise.
    pub(crate) fn body(
        &mut self,
        name: &str,
        kinds: &'static str,
        plain: &str,
        how: impl Fn(&str) -> Vec<u8>,
    ) {
        let digested = |_: &Document, _: NodeId, form: &str| how(form);
        self.parts(name, kinds, plain, &[("Body", &digested)]);
    }

    /// The same with something in the canonical form replaced.
    pub(crate) fn replaced(&mut self, name: &str, kinds: &'static str, what: &str, by: &str) {
        self.body(name, kinds, &rich(), |form| {
            assert!(form.contains(what), "{name}: {form}");
            form.replace(what, by).into_bytes()
        });
    }

    /// A `ds:SignedInfo` that the next sender signs otherwise.
    pub(crate) fn info(&mut self, name: &str, kinds: &'static str, how: impl Fn(&str) -> String) {
        let sender = self.sender(&rich());
        let message = with_value(
            &sender.message,
            |bytes| sender.signer.sign(bytes),
            &|_, _, form| {
                let changed = how(form);
                assert_ne!(changed, form, "{name}");
                changed.into_bytes()
            },
        );
        let known = sender.known();
        self.add(name, kinds, message, known);
    }
}

/// The inclusive form of an element.
pub(crate) fn inclusive(document: &Document, node: NodeId) -> String {
    let bytes = form(document, node, Canonicalization::Inclusive10, &[], &[]);
    String::from_utf8(bytes).expect("UTF-8")
}

/// A form without the attributes that begin so.
pub(crate) fn without(form: &str, starts: &[&str]) -> String {
    let mut form = form.to_owned();
    for start in starts {
        let from = form
            .find(start)
            .unwrap_or_else(|| panic!("{start}: {form}"));
        let inside = from + start.len();
        let end = inside + form[inside..].find('"').expect("its end") + 1;
        form.replace_range(from..end, "");
    }
    form
}

/// Tags on lines of their own, as serializers indent: elements with text stay on one line.
pub(crate) fn indented(form: &str, indent: &str, end: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut rest, mut last) = (0_usize, form, ' ');
    while !rest.is_empty() {
        let length = match rest.starts_with('<') {
            true => rest.find('>').expect("a tag") + 1,
            false => rest.find('<').expect("a tag"),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        let kind = match token {
            token if token.starts_with("</") => 'e',
            token if token.starts_with('<') => 's',
            _ => 't',
        };
        if kind == 'e' {
            depth -= 1;
        }
        let breaks = matches!((last, kind), ('s' | 'e', 's') | ('e', 'e'));
        if breaks {
            out.push_str(end);
            out.push_str(&indent.repeat(depth));
        }
        out.push_str(token);
        if kind == 's' {
            depth += 1;
        }
        last = kind;
    }
    out
}
