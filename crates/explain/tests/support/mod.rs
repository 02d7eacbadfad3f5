//! Messages that Soapstone secures, broken in known ways and signed anew.
//!
//! The rule kept here: what breaks a message is written here without the code that looks for it.

#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};

use soapstone::config::EndpointConfig;
use soapstone::crypto::{
    Certificate, PrivateKey, SignatureAlgorithm, SymmetricKey, base64, digest,
};
use soapstone::endpoint::Securer;
use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, NodeId, ParseOptions,
    canonicalize,
};
use soapstone::xmlsec::dsig::{Rules, Signature};
use soapstone_explain::{Cause, Explanation, Known, Options, Severity, explain};

/// The moment at which everything is secured and judged.
pub(crate) const NOW: &str = "2026-11-21T16:02:29Z";

/// A message with something in it for every mistake.
pub(crate) const PLAIN: &str = "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:x=\"urn:unused\" xmlns:y=\"urn:other\">\
<soap:Header><q:trace xmlns:q=\"urn:example:shop\" q:zone=\"z\" other=\"1\" soap:mustUnderstand=\"1\">7</q:trace></soap:Header>\
<soap:Body><q:order xmlns:q=\"urn:example:shop\" q:kind=\"a&quot;b\" number=\"1\" b=\"2\"><q:item>7 &gt; 5 &amp; \"so\" 'on'</q:item>\
<q:note>first\nsecond\tthird</q:note><q:empty></q:empty><q:city>Zürich</q:city>\
<q:data>QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkhQUJDREVGR0hJSktMTU5PUFFSU1RV</q:data>\
<!-- a remark --><inner xmlns=\"urn:inner\">deep</inner></q:order></soap:Body></soap:Envelope>";

pub(crate) fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../interop/recorded")
        .join(name)
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(recorded(&format!("keys/{name}"))).expect("a key or a certificate")
}

pub(crate) fn private_key(name: &str) -> PrivateKey {
    PrivateKey::from_pem(&file(&format!("{name}.key.pem")), None).expect("a private key")
}

pub(crate) fn certificate(name: &str) -> Certificate {
    Certificate::from_pem(&file(&format!("{name}.cert.pem"))).expect("a certificate")
}

/// What secures a message: the identity, and further lines of the endpoint file.
pub(crate) fn secured(identity: &str, lines: &str, plain: &str) -> String {
    let identity = match identity {
        "" => String::new(),
        name => format!(
            "identity = {{ key = \"keys/{name}.key.pem\", certificate = \"keys/{name}.cert.pem\" }}\n"
        ),
    };
    let text = format!(
        "{identity}peer = {{ certificate = \"keys/server.cert.pem\" }}\n{lines}\ntime = \"{NOW}\"\n"
    );
    let config = EndpointConfig::from_text(&text, &recorded("test.toml"), &|_| None);
    let securer = config
        .and_then(|config| Securer::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let secured = securer.secure(plain.as_bytes().to_vec());
    let bytes = secured.unwrap_or_else(|error| panic!("{error}")).bytes;
    String::from_utf8(bytes).expect("UTF-8")
}

/// Lines of an endpoint file that signs with RSA and SHA-256.
pub(crate) const RSA: &str = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n\
    signed = [\"Body\", \"Timestamp\", \"{urn:example:shop}trace\"]";

/// The message signed by the client.
pub(crate) fn signed() -> String {
    secured("client", RSA, PLAIN)
}

/// Who signs, and how.
pub(crate) enum Signer {
    Private(PrivateKey, SignatureAlgorithm),
    Secret(SymmetricKey, SignatureAlgorithm),
}

impl Signer {
    pub(crate) fn client() -> Self {
        Self::Private(private_key("client"), SignatureAlgorithm::RsaSha256)
    }

    pub(crate) fn sign(&self, octets: &[u8]) -> Vec<u8> {
        match self {
            Self::Private(key, method) => key.sign(*method, octets).expect("a signature"),
            Self::Secret(key, method) => {
                let code = key.sign(*method, octets, None).expect("a code");
                code.as_ref().to_vec()
            }
        }
    }
}

/// What a sender digests of a target, instead of its canonical form.
pub(crate) type Digested<'d> = &'d dyn Fn(&Document, NodeId, &str) -> Vec<u8>;

/// Gives the canonical form as it is.
pub(crate) fn as_it_is(_: &Document, _: NodeId, form: &str) -> Vec<u8> {
    form.as_bytes().to_vec()
}

/// The canonical form of an element by another method.
pub(crate) fn form(
    document: &Document,
    node: NodeId,
    method: Canonicalization,
    prefixes: &[&str],
    omit: &[NodeId],
) -> Vec<u8> {
    let options = C14nOptions {
        inclusive_prefixes: prefixes,
        omit,
        ..C14nOptions::new(method)
    };
    let mut octets = Vec::new();
    let apex = Apex::Element(node);
    canonicalize(
        document,
        apex,
        &options,
        &mut C14nScratch::default(),
        &mut octets,
    )
    .expect("a form");
    octets
}

pub(crate) fn document(message: &str) -> Document {
    let source = message.as_bytes().to_vec();
    Document::parse(source, &ParseOptions::default(), &mut Buffers::new()).expect("a document")
}

fn signature(document: &Document) -> Signature {
    let node = document
        .elements_named("http://www.w3.org/2000/09/xmldsig#", "Signature")
        .next()
        .expect("a signature")
        .id();
    Signature::parse(document, node, &Rules::default().admitting_any_transform())
        .expect("a signature")
}

/// The message with the digest of the part `local` made of other bytes, and signed anew over other
/// bytes of `ds:SignedInfo`.
pub(crate) fn signed_anew(
    message: &str,
    signer: &Signer,
    parts: &[(&str, Digested<'_>)],
    info: Digested<'_>,
) -> String {
    let read = document(message);
    let parsed = signature(&read);
    let mut out = message.to_owned();
    for reference in &parsed.references {
        let id = reference
            .uri
            .as_deref()
            .and_then(|uri| uri.strip_prefix('#'))
            .expect("an id");
        let node = read.by_id(id).expect("one id").expect("a target");
        let local = read.element(node).local();
        let Some((_, digested)) = parts.iter().find(|(part, _)| *part == local) else {
            continue;
        };
        let canonical = form(&read, node, Canonicalization::Exclusive, &[], &[]);
        let octets = digested(&read, node, std::str::from_utf8(&canonical).expect("UTF-8"));
        let value = digest(reference.digest_method, &octets).expect("a digest");
        let old = base64::encode(reference.digest_value.as_ref());
        out = out.replace(&old, &base64::encode(value.as_ref()));
    }
    with_value(&out, |octets| signer.sign(octets), info)
}

/// The message with another signature value, made of bytes of `ds:SignedInfo`.
pub(crate) fn with_value(
    message: &str,
    sign: impl Fn(&[u8]) -> Vec<u8>,
    info: Digested<'_>,
) -> String {
    let read = document(message);
    let element = read
        .elements_named("http://www.w3.org/2000/09/xmldsig#", "SignedInfo")
        .next()
        .expect("a SignedInfo");
    let canonical = form(&read, element.id(), Canonicalization::Exclusive, &[], &[]);
    let octets = info(
        &read,
        element.id(),
        std::str::from_utf8(&canonical).expect("UTF-8"),
    );
    let value = sign(&octets);
    replaced_value(message, &base64::encode(&value))
}

/// The message with another text in `ds:SignatureValue`.
pub(crate) fn replaced_value(message: &str, text: &str) -> String {
    let start = message.find("<ds:SignatureValue>").expect("a value") + "<ds:SignatureValue>".len();
    let end = message.find("</ds:SignatureValue>").expect("a value");
    format!("{}{text}{}", &message[..start], &message[end..])
}

/// The text of `ds:SignatureValue`.
pub(crate) fn value(message: &str) -> &str {
    let start = message.find("<ds:SignatureValue>").expect("a value") + "<ds:SignatureValue>".len();
    &message[start..message.find("</ds:SignatureValue>").expect("a value")]
}

/// What the reader's side of the recorded messages knows.
pub(crate) fn known() -> Known {
    Known {
        private_keys: vec![("our key".to_owned(), private_key("server"))],
        ..Known::default()
    }
}

pub(crate) fn told_with(message: &[u8], known: Known) -> Explanation {
    let options = Options {
        now: Some(NOW.parse().expect("a moment")),
        known,
        ..Options::default()
    };
    explain(message.to_vec(), &options).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn told(message: &str) -> Explanation {
    told_with(message.as_bytes(), Known::default())
}

/// The first causes of all findings that are errors or warnings.
pub(crate) fn first_causes(told: &Explanation) -> Vec<&Cause> {
    let weighty = told
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note);
    weighty
        .filter_map(|finding| finding.causes.first())
        .collect()
}
