//! Elements of the Body that are encrypted by themselves, for whoever stands behind the service or
//! for the service itself: alone, and with a signature over plaintext or over cipher text.

mod mistakes;
mod opened;
mod refused;
mod tries;

use soapstone::Securer;
use soapstone::crypto::KeyKind;
use soapstone::wss::{Evidence, Rejected, SecureError};
use soapstone_testkit::envelope::with_body;
use soapstone_testkit::keys::identity;

use crate::{MECHANISMS, ORDER, Pair, REQUESTS};

const TO_OFFICE: &str = "peer = { certificate = \"office.cert.pem\" }";
const OF_OFFICE: &str =
    "identity = { key = \"office.key.pem\", certificate = \"office.cert.pem\" }";

/// A client, a service, a clerk who signs and an office that decrypts with a key of this kind.
fn pair(office: KeyKind) -> Pair {
    let pair = Pair::new();
    let office = identity("CN=office", office);
    pair.0.write_identity("office", &office);
    pair
}

/// `inner` with an encryption of the order and nothing else.
fn encryption(rest: &str) -> String {
    format!("encryption = {{ {REQUESTS}, {rest} }}")
}

impl Pair {
    /// A plain message with cipher text for the office.
    fn sealed(&self, plain: &str, inner: &str) -> Result<String, SecureError> {
        let securer: Securer = self.endpoint("client", MECHANISMS[0], inner);
        let secured = securer.secure(plain.as_bytes().to_vec())?;
        Ok(String::from_utf8(secured.bytes).expect("text"))
    }

    /// A message whose order, or its content, is enciphered.
    fn order(&self, rest: &str) -> String {
        let inner = encryption(&format!("{TO_OFFICE}{rest}"));
        let sealed = self.sealed(&with_body(ORDER), &inner);
        sealed.expect("it is encrypted")
    }

    /// What the office makes of a plain message.
    fn read(&self, message: &str, rest: &str) -> Result<Evidence, Rejected> {
        self.evidence(message, &encryption(&format!("{OF_OFFICE}{rest}")))
    }

    fn told(&self, message: &str, rest: &str) -> String {
        match self.read(message, rest) {
            Ok(evidence) => panic!("{message}: {:?}", evidence.inner_encryption),
            Err(rejected) => format!("{}: {rejected}", rejected.name()),
        }
    }
}

/// What stands in the Body of a message.
fn body_of(message: &str) -> &str {
    let (_, rest) = message.split_once("<s:Body>").expect("a body");
    rest.split_once("</s:Body>").expect("its end").0
}
