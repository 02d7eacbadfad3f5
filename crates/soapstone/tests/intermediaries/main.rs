//! Messages on their way over two nodes: what each proves, what it takes out, and what it must
//! leave as it came.
//!
//! Cases `mission/intermediary` and section 4 of the mission: each attack is a test.

mod actors;
mod answers;
mod blocks;
mod conversations;
mod files;
mod keys_of_answers;
mod plaintext;
mod policies;
mod references;
mod way;

#[expect(
    dead_code,
    reason = "contexts are granted here, and not agreed on with a peer"
)]
#[path = "../support/contexts.rs"]
mod contexts;

use soapstone::config::{EndpointConfig, Problems};
use soapstone::crypto::base64;
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Part, Rejected, SecureError};
use soapstone::xml::{Buffers, Document, ParseOptions};
use soapstone::xmlsec::dsig::{NoExtension, Reference, Rules, Scratch};
use soapstone::{ForgetfulReplayCache, Memory, Opener, PassedMessage, ReceiveError, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const NODES: [&str; 4] = ["client", "first", "second", "service"];
const SUITE: &str = "suite = \"Basic256GCM\"";
const SECURITY: &str =
    "{http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd}Security";

struct Nodes(Folder);

/// What the first node and the second read, and what the client does for both and for the service.
fn first() -> String {
    format!(
        "role = \"next\"\nsecurity = {{ mechanism = \"sign-encrypt\", {SUITE}, signed = [\"Timestamp\", \"{{urn:hop}}route\"], \
         encrypted = [\"{{urn:hop}}route\"] }}\n"
    )
}

fn second() -> String {
    format!(
        "role = \"urn:second\"\nsecurity = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"{{urn:hop}}price\"] }}\n"
    )
}

fn service() -> String {
    format!("security = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n")
}

fn client() -> String {
    format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", {SUITE} }}\n\
         [[recipients]]\nactor = \"next\"\npeer = {{ certificate = \"first.cert.pem\" }}\n\
         mechanism = \"sign-encrypt\"\nsigned = [\"Timestamp\", \"{{urn:hop}}route\"]\nencrypted = [\"{{urn:hop}}route\"]\n\
         [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"{{urn:hop}}price\"]\n"
    )
}

impl Nodes {
    fn new() -> Self {
        Self(Folder::with_keys(RSA, &NODES))
    }

    fn config(&self, name: &str, text: &str) -> Result<EndpointConfig, Problems> {
        let keys = format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\n"
        );
        EndpointConfig::from_text(&(keys + text), &self.0.path("endpoint.toml"), &|_| None)
    }

    fn securer(&self, name: &str, text: &str) -> Result<Securer, Problems> {
        self.config(name, text)
            .and_then(|config| Endpoint::from_config(&config))
    }

    fn opener(&self, name: &str, text: &str) -> Result<Opener, Problems> {
        self.config(name, text)
            .and_then(|config| Endpoint::from_config(&config))
    }

    /// A message that the client sends over both nodes.
    fn sent(&self, client: &str, plain: String) -> Result<String, SecureError> {
        let client = self.securer("client", client);
        let client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let secured = client.secure(plain.into_bytes())?;
        Ok(String::from_utf8(secured.bytes).expect("text"))
    }

    fn passed(&self, name: &str, text: &str, message: &str) -> Result<PassedMessage, Rejected> {
        let node = self.opener(name, text);
        let node = node.unwrap_or_else(|problems| panic!("{problems}"));
        passed(&node, message)
    }

    fn opened(&self, text: &str, message: &str) -> Result<String, Rejected> {
        let service = self.opener("service", text);
        let service = service.unwrap_or_else(|problems| panic!("{problems}"));
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = service.open(message.as_bytes().to_vec(), memory);
        let opened = opened.map_err(|rejected| rejected.cause().clone())?;
        Ok(String::from_utf8(opened.bytes).expect("text"))
    }
}

fn passed(node: &Opener, message: &str) -> Result<PassedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    match node.pass_on(message.as_bytes().to_vec(), memory) {
        Ok(passed) => Ok(passed),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected.cause().clone()),
        Err(error) => panic!("{error}"),
    }
}

fn text(passed: &PassedMessage) -> String {
    String::from_utf8(passed.bytes.clone()).expect("text")
}

fn route(attributes: &str) -> String {
    format!("<h:route xmlns:h=\"urn:hop\"{attributes}>north</h:route>")
}

fn price(attributes: &str) -> String {
    format!("<h:price xmlns:h=\"urn:hop\"{attributes}>7</h:price>")
}

/// A message for all of them, with white space, comments and instructions between its parts.
fn plain(soap: &str) -> String {
    let (route, price) = (route(""), price(""));
    let header = format!(
        "\n  <!-- kept -->{route}\t{price}<?kept as-is?>\r\n  <o:other xmlns:o='urn:o' o:b=\"2\"  a='1'/>"
    );
    with_header(soap, &header, &format!("\n\t{HELLO} "))
}

/// The block of the message that has this tag, with what it holds.
fn block<'m>(message: &'m str, start: &str, end: &str) -> &'m str {
    let from = message
        .find(start)
        .unwrap_or_else(|| panic!("{start} in {message}"));
    let to = message[from..].find(end).expect("its end") + end.len();
    &message[from..from + to]
}

/// The Security headers, in their order.
fn headers(message: &str) -> Vec<&str> {
    let starts = message.match_indices("<wsse:Security ").map(|(at, _)| at);
    starts
        .map(|at| block(&message[at..], "<wsse:Security ", "</wsse:Security>"))
        .collect()
}

impl Nodes {
    /// The service, which accepts what one subject signs.
    fn trusting(&self, security: &str, subject: &str) -> Opener {
        let text = format!(
            "identity = {{ key = \"service.key.pem\", certificate = \"service.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"{subject}\"] }}\n{security}"
        );
        let file = self.0.path("endpoint.toml");
        let config = EndpointConfig::from_text(&text, &file, &|_| None);
        let made = config.and_then(|config| Endpoint::from_config(&config));
        made.unwrap_or_else(|problems| panic!("{problems}"))
    }
}

/// The digest of what the one reference with this URI covers.
fn digest_of(message: &str, uri: &str) -> String {
    let document = Document::parse(
        message.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    );
    let document = document.expect("XML");
    let mut all = document.root().descendants();
    let element = all.find(|it| it.attribute("", "URI").as_deref() == Some(uri));
    let element = element.expect("a reference");
    let reference = Reference::parse(element, element.id(), &Rules::default());
    let reference = reference.expect("a reference");
    let target = reference.target(&document).expect("a target");
    let mut scratch = Scratch::default();
    let digested = reference.digested(&document, target, &mut NoExtension, &mut scratch);
    base64::encode(digested.expect("a digest").1.as_ref())
}

/// The id in a start tag.
fn id_of(tag: &str) -> &str {
    let id = tag.split("Id=\"").nth(1).expect("an id");
    id.split('"').next().expect("its end")
}

/// The message without the `EncryptedHeader` around its cipher text, as WSS 1.0 has it.
fn bare(message: &str) -> String {
    let holder = block(
        message,
        "<wsse11:EncryptedHeader",
        "</wsse11:EncryptedHeader>",
    );
    let data = block(holder, "<xenc:EncryptedData", "</xenc:EncryptedData>");
    message.replacen(holder, data, 1)
}
