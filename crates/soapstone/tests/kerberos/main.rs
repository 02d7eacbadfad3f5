//! Kerberos tokens of endpoint files, in both directions, with a live KDC.
//!
//! Each test starts a realm, and runs its body in a process of that realm: the ignored test of the
//! same name in the `body` of its module.
#![cfg(feature = "kerberos")]

#[path = "../support/contexts.rs"]
#[expect(dead_code, reason = "shared by tests that use parts of it")]
mod contexts;
#[path = "../support/kept.rs"]
mod kept;

use contexts::Granted;
use jiff::Timestamp;
use kept::Kept;
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Call, Handshake, TokenAnswer};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{
    ContextOwner, Outgoing, Rejected, SecureError, Secured, SecurityContext, Signer, SoapVersion,
};
use soapstone::xml::Buffers;
use soapstone::{Arrived, Client, Memory, OpenedMessage, ReceiveError, Service};
use soapstone_testkit::envelope::ECHO;
use soapstone_testkit::kdc::{self, Realm};

const SERVICE: &str = "HTTP/books.example@EXAMPLE.COM";
const ALICE: &str = "alice@EXAMPLE.COM";
const BOB: &str = "bob@EXAMPLE.COM";

/// Runs the ignored test of a path, which begins with the name of this program, in a realm; `more`
/// is its environment.
fn run(path: &str, more: &[(&str, &str)]) {
    if !kdc::is_there() {
        return;
    }
    let realm = Realm::start("");
    for name in [SERVICE, ALICE, BOB] {
        realm.keytab(name, "");
    }
    let (_, test) = path.split_once("::").expect("a path");
    kdc::within(&realm, test, more);
}

/// Tests that run the ignored ones of their names in `body` beside them.
macro_rules! in_a_realm {
    ($($test:ident)*) => {$(
        #[test]
        fn $test() {
            super::run(concat!(module_path!(), "::body::", stringify!($test)), &[]);
        }
    )*};
}

mod conversations;
mod requests;

/// What a process in a realm does on both sides.
mod sides {
    use super::*;

    pub(crate) fn config(kerberos: &str, security: &str) -> EndpointConfig {
        let folder = kdc::inside().expect("the process of a realm");
        let text = format!("kerberos = {{ {kerberos} }}\nsecurity = {{ {security} }}\n");
        let config = EndpointConfig::from_text(&text, &folder.join("endpoint.toml"), &|_| None);
        config.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    }

    pub(crate) fn client(kerberos: &str, security: &str) -> Client {
        client_of(ALICE, kerberos, security)
    }

    pub(crate) fn client_of(name: &str, kerberos: &str, security: &str) -> Client {
        let keytab = name.replace(['/', '@'], "-");
        let whose = format!(
            "keytab = \"{keytab}.keytab\", principal = \"{name}\", service = \"{SERVICE}\""
        );
        let config = config(&format!("{whose}, timeout = \"60s\"{kerberos}"), security);
        Client::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
    }

    pub(crate) fn service(kerberos: &str, security: &str) -> Service {
        let keytab = SERVICE.replace(['/', '@'], "-");
        let whose = format!("keytab = \"{keytab}.keytab\", principal = \"{SERVICE}\"");
        let config = config(&format!("{whose}{kerberos}"), security);
        Service::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
    }

    pub(crate) const NO_CACHE: Memory<'static> = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &soapstone::conversation::NoContexts,
    };

    pub(crate) fn plain() -> Vec<u8> {
        ECHO.as_bytes().to_vec()
    }

    pub(crate) fn received(
        service: &Service,
        bytes: Vec<u8>,
        memory: Memory<'_>,
    ) -> Result<OpenedMessage, Rejected> {
        match service.receive(bytes, memory) {
            Ok(Arrived::Message(message)) => Ok(*message),
            Err(ReceiveError::Rejected(rejected)) => Err(rejected),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).expect("a text")
    }
}
