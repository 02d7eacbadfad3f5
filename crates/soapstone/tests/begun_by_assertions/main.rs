//! Assertions that begin conversations (WS-SecureConversation 1.4, 3; WS-SecurityPolicy 1.3,
//! 5.4.7): by endpoint file and by policy, and what a context has of the assertion.

mod beginnings;
mod ends;
mod refused;
mod renewals;

#[path = "../support/contexts.rs"]
#[expect(dead_code, reason = "shared by tests that use parts of it")]
mod contexts;
#[path = "../support/endpoints.rs"]
mod endpoints;
#[path = "../support/kept.rs"]
mod kept;

use contexts::Granted;
use endpoints::compile;
use jiff::Timestamp;
use kept::Kept;
use soapstone::crypto::base64;
use soapstone::endpoint::{Call, Endpoint, Fixed, Handshake, HandshakeError, TokenAnswer};
use soapstone::wss::{
    AssertedOwner, ContextOwner, Outgoing, Rejected, Secured, SecurityContext, SoapVersion,
};
use soapstone::xml::Buffers;
use soapstone::{Arrived, Client, Memory, OpenedMessage, ReceiveError, Service};
use soapstone_testkit::assertion::{Assertion, ISSUER, Made};
use soapstone_testkit::envelope::{SOAP11, SOAP12};
use soapstone_testkit::{Folder, keys};

/// A client's file behind its `[saml]`, with its own keys.
const KEYS: &str = "[identity]\nkey = \"alice.key.pem\"\ncertificate = \"alice.cert.pem\"\n\
     [peer]\ncertificate = \"service.cert.pem\"\n[trust]\npinned = [\"service.cert.pem\"]\n";

/// A conversation that lives longer than any assertion here.
fn conversation(bootstrap: &str) -> String {
    format!(
        "[security]\nmechanism = \"secure-conversation\"\nsuite = \"Basic256GCM\"\n\
         conversations = {{ bootstrap = \"{bootstrap}\", lifetime = \"24h\", owner_alone = true }}\n"
    )
}

/// How assertions are confirmed, and what the files say for that.
#[derive(Clone, Copy)]
struct Case {
    method: &'static str,
    /// Whether the holder's key is symmetric.
    proves: bool,
    client: &'static str,
    keys: &'static str,
    service: &'static str,
    bootstrap: &'static str,
}

const HELD: Case = Case {
    method: "holder-of-key",
    proves: false,
    client: "",
    keys: KEYS,
    service: "",
    bootstrap: "sign-encrypt",
};

const PROVED: Case = Case {
    proves: true,
    client: "holder_key = \"symmetric\"\nproof_key_file = \"alice.key.txt\"\n",
    keys: "",
    service: "holder_key = \"symmetric\"\n",
    ..HELD
};

const VOUCHED: Case = Case {
    method: "sender-vouches",
    service: "attesters = [\"CN=alice\", \"CN=gateway\"]\n",
    ..HELD
};

const BORNE: Case = Case {
    method: "bearer",
    client: "protection = \"tls\"\n",
    keys: "",
    service: "protection = \"tls\"\n",
    bootstrap: "none",
    ..HELD
};

impl Case {
    /// The keys of all parties.
    fn folder(&self) -> Folder {
        let folder = Folder::with_keys(keys::RSA, &["service", "alice", "gateway"]);
        folder.write_identity("idp", &keys::identity("CN=idp", keys::RSA));
        folder.write("alice.key.txt", base64::encode(&[7; 32]));
        folder
    }

    /// Alice's assertion.
    fn written(&self, subject: &str, made: &Made<'_>) -> String {
        let idp = keys::identity("CN=idp", keys::RSA);
        let alice = keys::identity("CN=alice", keys::RSA);
        let assertion = Assertion {
            is_20: true,
            method: self.method,
            holder: (self.method == "holder-of-key" && !self.proves).then_some(alice.certificate()),
            audience: Some("https://service.example"),
            attributes: &[("role", "reader")],
        };
        if self.proves {
            let service = keys::identity("CN=service", keys::RSA);
            return assertion.proving(subject, &idp, service.certificate(), &[7; 32]);
        }
        assertion.made(subject, &idp, made)
    }

    fn client_text(&self) -> String {
        format!(
            "[saml]\nassertion = \"alice.saml.xml\"\nconfirmation = [\"{}\"]\n{}{}{}",
            self.method,
            self.client,
            self.keys,
            conversation(self.bootstrap)
        )
    }

    /// The client's endpoint, with this assertion in its folder.
    fn client(&self, folder: &Folder, subject: &str, made: &Made<'_>) -> Client {
        folder.write("alice.saml.xml", self.written(subject, made));
        endpoint(folder, &self.client_text())
    }

    fn service_text(&self, more: &str) -> String {
        let trust = match self.method {
            "sender-vouches" => "[trust]\npinned = [\"alice.cert.pem\", \"gateway.cert.pem\"]\n",
            _ => "",
        };
        format!(
            "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"{}\"]\n{}{more}\
             issuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n{trust}\
             [identity]\nkey = \"service.key.pem\"\ncertificate = \"service.cert.pem\"\n{}",
            self.method,
            self.service,
            conversation(self.bootstrap)
        )
    }

    /// Alice with this assertion, and a service with `more` in its `[saml]`.
    fn sides(self, folder: &Folder, made: &Made<'_>, more: &str) -> Sides {
        let client = self.client(folder, "alice", made);
        self.between(client, endpoint(folder, &self.service_text(more)))
    }

    /// These two, who remember nothing yet.
    fn between(self, client: Client, service: Service) -> Sides {
        Sides {
            case: self,
            client,
            service,
            replay: Kept::default(),
            contexts: Granted::default(),
        }
    }

    fn to(&self) -> &'static str {
        match self.method {
            "bearer" => "https://books.example/",
            _ => "http://books.example/",
        }
    }

    /// A request for a context, and what waits for its answer.
    fn asked(
        &self,
        client: &Client,
        renewed: Option<&SecurityContext>,
        soap: SoapVersion,
    ) -> Result<Handshake, HandshakeError> {
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = client.handshakes().expect("it has conversations");
        match renewed {
            Some(context) => handshakes.renew(context, self.to(), soap, &mut call),
            None => handshakes.begin(self.to(), soap, &mut call),
        }
    }
}

/// A client whose assertion begins conversations, its service, and what both remember.
struct Sides {
    case: Case,
    client: Client,
    service: Service,
    replay: Kept,
    contexts: Granted,
}

impl Sides {
    fn memory(&self) -> Memory<'_> {
        Memory {
            replay: &self.replay,
            contexts: &self.contexts,
        }
    }

    /// A request of the client for a context.
    fn asked(&self, soap: SoapVersion) -> Vec<u8> {
        let handshake = self.case.asked(&self.client, None, soap);
        handshake.expect("a request").bytes
    }

    fn arrived(&self, service: &Service, bytes: Vec<u8>) -> Result<Arrived, ReceiveError> {
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let read = service.read(bytes, &mut call)?;
        let read = match self.case.method {
            "bearer" => read.over_tls(),
            _ => read,
        };
        service.receive_with(read, self.memory(), &mut call)
    }

    /// What the service answers to a request for a context.
    fn answered(&self, bytes: Vec<u8>) -> Box<TokenAnswer> {
        match self.arrived(&self.service, bytes) {
            Ok(Arrived::Answered(answer)) => Box::new(answer),
            other => panic!("{other:?}"),
        }
    }

    /// Why the service issues no context for a request, in its answer.
    fn refusal(&self, bytes: Vec<u8>) -> Option<&'static str> {
        let answer = self.answered(bytes);
        answer.refused.map(|fault| fault.refusal.name())
    }

    fn received(&self, bytes: Vec<u8>) -> Result<Box<OpenedMessage>, Rejected> {
        self.received_by(&self.service, bytes)
    }

    /// As [`Sides::received`], by a service whose file says something else by now.
    fn received_by(
        &self,
        service: &Service,
        bytes: Vec<u8>,
    ) -> Result<Box<OpenedMessage>, Rejected> {
        match self.arrived(service, bytes) {
            Ok(Arrived::Message(message)) => Ok(message),
            Err(ReceiveError::Rejected(rejected)) => Err(rejected),
            other => panic!("{other:?}"),
        }
    }

    /// What such a service says of a message in the client's context.
    fn said_by(
        &self,
        service: &Service,
        context: &SecurityContext,
        soap: SoapVersion,
    ) -> Result<(), Rejected> {
        let request = within(&self.client, context, soap).bytes;
        self.received_by(service, request).map(drop)
    }

    /// The context that a client asked for, which the service issues.
    fn concluded(&self, client: &Client, mut handshake: Handshake) -> SecurityContext {
        let request = std::mem::take(&mut handshake.bytes);
        let answer = self.answered(request);
        assert!(answer.refused.is_none(), "{:?}", answer.refused);
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = client.handshakes().expect("it has conversations");
        let context = handshakes.conclude(handshake, answer.bytes, self.memory(), &mut call);
        context.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A context of the client's assertion, as both sides have it.
    fn begun(&self, soap: SoapVersion) -> (SecurityContext, SecurityContext) {
        let handshake = self.case.asked(&self.client, None, soap);
        let ours = self.concluded(&self.client, handshake.expect("a request"));
        let theirs = self.contexts.contexts().pop();
        (ours, theirs.unwrap_or_else(|| panic!("a context")))
    }
}

/// The endpoint of a file with this text in the folder.
#[track_caller]
fn endpoint<P: Fixed>(folder: &Folder, text: &str) -> Endpoint<P> {
    compile(folder, text).unwrap_or_else(|it| panic!("{it}"))
}

fn body_of(soap: SoapVersion) -> Vec<u8> {
    let namespace = match soap {
        SoapVersion::V11 => SOAP11,
        SoapVersion::V12 => SOAP12,
    };
    format!(
        "<s:Envelope xmlns:s=\"{namespace}\"><s:Body><a xmlns=\"urn:a\"/></s:Body></s:Envelope>"
    )
    .into_bytes()
}

/// A message of the application, secured within a context.
fn within(client: &Client, context: &SecurityContext, soap: SoapVersion) -> Secured {
    let mut buffers = Buffers::default();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let secured = client.secure_with(body_of(soap), Outgoing::within(context), &mut call);
    secured.expect("the context is known")
}

#[track_caller]
fn owner_of(context: &SecurityContext) -> &AssertedOwner {
    match &context.owner {
        ContextOwner::Subject(owner) => owner,
        other => panic!("{other:?}"),
    }
}
