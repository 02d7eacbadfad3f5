//! Elements of the Body that are signed or encrypted by themselves: `inner` of an endpoint file.

mod conversations;
mod encryption;
mod signatures;

#[expect(
    dead_code,
    reason = "contexts are granted here, and not agreed on with a peer"
)]
#[path = "../support/contexts.rs"]
mod contexts;

use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Evidence, InnerEvidence, Rejected, SecureError};
use soapstone::{
    Arrived, ForgetfulReplayCache, Memory, OpenedMessage, Opener, ReceiveError, Securer, Service,
};
use soapstone_testkit::Folder;
use soapstone_testkit::keys::RSA;

const ORDER: &str = "<t:Order xmlns:t=\"urn:tax\" xmlns:unused=\"urn:u\"><t:total>12</t:total><!-- paid --></t:Order>";
const REQUESTS: &str = "requests = \"{urn:tax}Order\"";
const BY_CLERK: &str = "identity = { key = \"clerk.key.pem\", certificate = \"clerk.cert.pem\" }";
const TRUST_CLERK: &str = "trust = { pinned = [\"clerk.cert.pem\"] }";

const MECHANISMS: [&str; 5] = [
    "mechanism = \"none\"",
    "mechanism = \"sign\"",
    "mechanism = \"encrypt\"",
    "mechanism = \"sign-encrypt\"",
    "mechanism = \"encrypt-sign\"",
];

/// A client, a service, and a clerk who signs.
struct Pair(Folder);

impl Pair {
    fn new() -> Self {
        Self(Folder::with_keys(RSA, &["client", "service", "clerk"]))
    }

    fn config(&self, name: &str, security: &str, inner: &str) -> Result<EndpointConfig, Problems> {
        let peer = match name {
            "client" => "service",
            _ => "client",
        };
        let text = format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
             security = {{ {security} }}\ninner = {{ {inner} }}\n"
        );
        EndpointConfig::from_text(&text, &self.0.path("endpoint.toml"), &|_| None)
    }

    fn endpoint<P: soapstone::endpoint::Fixed>(
        &self,
        name: &str,
        security: &str,
        inner: &str,
    ) -> Endpoint<P> {
        let made = self.config(name, security, inner);
        let made = made.and_then(|config| Endpoint::from_config(&config));
        made.unwrap_or_else(|problems| panic!("{security} {inner}: {problems}"))
    }

    /// A plain message with the clerk's signature in it.
    fn signed(&self, plain: &str, inner: &str) -> Result<String, SecureError> {
        let inner = format!("{inner}, {BY_CLERK}");
        let securer: Securer = self.endpoint("client", MECHANISMS[0], &inner);
        let secured = securer.secure(plain.as_bytes().to_vec())?;
        Ok(String::from_utf8(secured.bytes).expect("text"))
    }

    /// What a receiver proves of a plain message.
    fn evidence(&self, message: &str, inner: &str) -> Result<Evidence, Rejected> {
        let opener: Opener = self.endpoint("service", MECHANISMS[0], inner);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = opener.open(message.as_bytes().to_vec(), memory)?;
        Ok(opened.evidence)
    }

    /// What a receiver says that believes the clerk alone of such signatures.
    fn opened(&self, message: &str, inner: &str) -> Result<Option<InnerEvidence>, Rejected> {
        let inner = format!("{inner}, {TRUST_CLERK}");
        let evidence = self.evidence(message, &inner)?;
        Ok(evidence.inner)
    }

    fn refused(&self, message: &str, inner: &str) -> String {
        match self.opened(message, inner) {
            Ok(evidence) => panic!("{message}: {evidence:?}"),
            Err(rejected) => format!("{}: {rejected}", rejected.name()),
        }
    }
}

fn received(service: &Service, message: Vec<u8>) -> Result<OpenedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    match service.receive(message, memory) {
        Ok(Arrived::Message(opened)) => Ok(*opened),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected),
        other => panic!("{other:?}"),
    }
}
