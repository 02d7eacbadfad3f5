//! Assertions that begin conversations (WS-SecureConversation 1.4, 3; WS-SecurityPolicy 1.3,
//! 5.4.7): by endpoint file and by policy, and what a context has of the assertion.

#[path = "support/contexts.rs"]
#[expect(dead_code, reason = "shared by tests that use parts of it")]
mod contexts;
#[path = "support/endpoints.rs"]
mod endpoints;
#[path = "support/kept.rs"]
mod kept;

use contexts::Granted;
use endpoints::{compile, problems};
use std::sync::Arc;

use jiff::Timestamp;
use kept::Kept;
use soapstone::cancellations::cancel;
use soapstone::crypto::base64;
use soapstone::endpoint::{Call, Handshake, HandshakeError, Serving, TokenAnswer};
use soapstone::wss::{
    AssertedOwner, ContextOwner, Outgoing, Rejected, Secured, SecurityContext, SoapVersion,
};
use soapstone::xml::Buffers;
use soapstone::{Arrived, Client, Memory, OpenedMessage, ReceiveError, Service};
use soapstone_testkit::assertion::{Assertion, ID, ISSUER, Made};
use soapstone_testkit::envelope::{SOAP11, SOAP12};
use soapstone_testkit::{Folder, keys};

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

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

    fn client(&self, folder: &Folder, subject: &str, made: &Made<'_>) -> Client {
        folder.write("alice.saml.xml", self.written(subject, made));
        compile(folder, &self.client_text()).unwrap_or_else(|it| panic!("{it}"))
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

    fn service(&self, folder: &Folder, more: &str) -> Service {
        compile(folder, &self.service_text(more)).unwrap_or_else(|it| panic!("{it}"))
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

    fn arrived(
        &self,
        service: &Service,
        bytes: Vec<u8>,
        memory: Memory<'_>,
    ) -> Result<Arrived, ReceiveError> {
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let read = service.read(bytes, &mut call)?;
        let read = match self.method {
            "bearer" => read.over_tls(),
            _ => read,
        };
        service.receive_with(read, memory, &mut call)
    }

    fn answered(&self, service: &Service, bytes: Vec<u8>, memory: Memory<'_>) -> Box<TokenAnswer> {
        match self.arrived(service, bytes, memory) {
            Ok(Arrived::Answered(answer)) => Box::new(answer),
            other => panic!("{other:?}"),
        }
    }

    fn received(
        &self,
        service: &Service,
        bytes: Vec<u8>,
        memory: Memory<'_>,
    ) -> Result<Box<OpenedMessage>, Rejected> {
        match self.arrived(service, bytes, memory) {
            Ok(Arrived::Message(message)) => Ok(message),
            Err(ReceiveError::Rejected(rejected)) => Err(rejected),
            other => panic!("{other:?}"),
        }
    }

    /// A context of the client's assertion, as both sides have it.
    fn begun(
        &self,
        (client, service): (&Client, &Service),
        renewed: Option<&SecurityContext>,
        soap: SoapVersion,
        (cache, granted): (&Kept, &Granted),
    ) -> (SecurityContext, SecurityContext) {
        let memory = Memory {
            replay: cache,
            contexts: granted,
        };
        let mut handshake = self.asked(client, renewed, soap).expect("a request");
        let request = std::mem::take(&mut handshake.bytes);
        let answer = self.answered(service, request, memory);
        assert!(answer.refused.is_none(), "{:?}", answer.refused);
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = client.handshakes().expect("it has conversations");
        let ours = handshakes.conclude(handshake, answer.bytes, memory, &mut call);
        let ours = ours.unwrap_or_else(|error| panic!("{error}"));
        (
            ours,
            granted
                .contexts()
                .pop()
                .unwrap_or_else(|| panic!("a context")),
        )
    }
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

#[test]
fn an_assertion_begins_a_conversation_that_ends_with_it() {
    for case in [HELD, PROVED, VOUCHED, BORNE] {
        for soap in [SoapVersion::V11, SoapVersion::V12] {
            let folder = case.folder();
            let client = case.client(&folder, "alice", &Made::default());
            let service = case.service(&folder, "");
            let memories = (Kept::default(), Granted::default());
            let sides = (&client, &service);
            let (ours, theirs) = case.begun(sides, None, soap, (&memories.0, &memories.1));
            let owner = owner_of(&theirs);
            assert_eq!((owner.issuer.as_str(), owner.id.as_str()), (ISSUER, ID));
            assert_eq!(owner.subject.value, "alice");
            assert_eq!(owner.attributes.len(), 1);
            assert_eq!(owner.attester.is_some(), case.method == "sender-vouches");
            // The file would give it a day, and the assertion has ten minutes.
            assert_eq!(theirs.expires, owner.ends);
            assert!(ours.expires <= owner.ends);
            assert!(theirs.expires < Timestamp::now() + jiff::SignedDuration::from_mins(11));
            let request = within(&client, &ours, soap);
            assert!(!String::from_utf8_lossy(&request.bytes).contains("saml:Assertion"));
            let memory = Memory {
                replay: &memories.0,
                contexts: &memories.1,
            };
            let opened = case.received(&service, request.bytes, memory);
            let opened = opened.unwrap_or_else(|it| panic!("{it}"));
            let found = opened.receipt.context.as_ref().expect("a context");
            assert_eq!(owner_of(found), owner);
            let answer = service.answer(body_of(soap), &opened.receipt);
            let answer = answer.expect("an answer").bytes;
            let answered = client.open(answer, request.receipt, memory);
            assert!(answered.is_ok(), "{:?}", answered.err());
        }
    }
}

/// SAML Core 2.0, 2.4.1.2: the confirmation ends before the assertion does.
#[test]
fn a_conversation_ends_with_the_confirmation_that_began_it() {
    let folder = BORNE.folder();
    let made = Made {
        confirmed: Some(120),
        ..Made::default()
    };
    let client = BORNE.client(&folder, "alice", &made);
    let service = BORNE.service(&folder, "");
    let memories = (Kept::default(), Granted::default());
    let sides = (&client, &service);
    let (_, theirs) = BORNE.begun(sides, None, SoapVersion::V12, (&memories.0, &memories.1));
    assert!(theirs.expires < Timestamp::now() + jiff::SignedDuration::from_mins(3));
}

/// SAML Core 2.0, 2.4.1: each confirmation has a recipient, a key and an end of its own.
#[test]
fn the_end_of_another_confirmation_gives_a_conversation_no_life() {
    let moment = |seconds: i64| {
        let now = Timestamp::now().as_second();
        Timestamp::from_second(now + seconds).expect("a moment")
    };
    let to = |recipient: &str, end: Option<i64>| {
        let end = end.map(|end| format!(" NotOnOrAfter=\"{}\"", moment(end)));
        format!(
            "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\">\
             <saml:SubjectConfirmationData{} Recipient=\"{recipient}\"></saml:SubjectConfirmationData>\
             </saml:SubjectConfirmation>",
            end.unwrap_or_default()
        )
    };
    let by = |name: &str, end: Option<i64>| {
        let certificate = keys::identity(&format!("CN={name}"), keys::RSA);
        let certificate = base64::encode(certificate.certificate().der());
        let end = end.map(|end| format!(" NotOnOrAfter=\"{}\"", moment(end)));
        format!(
            "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\">\
             <saml:SubjectConfirmationData{}>\
             <ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{certificate}\
             </ds:X509Certificate></ds:X509Data></ds:KeyInfo></saml:SubjectConfirmationData></saml:SubjectConfirmation>",
            end.unwrap_or_default()
        )
    };
    let (us, others) = ("https://service.example/", "https://other.example/");
    let ours = [to(us, Some(120)), by("alice", Some(120))];
    let folder = BORNE.folder();
    let alice = keys::identity("CN=alice", keys::RSA);
    for end in [Some(500), None] {
        for (ours, other) in ours.iter().zip([to(others, end), by("gateway", end)]) {
            for both in [[ours, &other], [&other, ours]] {
                let both = both.map(String::as_str).concat();
                let made = Made {
                    confirmations: Some(&both),
                    ..Made::default()
                };
                let client = BORNE.client(&folder, "alice", &made);
                let text = BORNE.service_text(&format!("recipient = [\"{us}\"]\n"));
                let methods = "confirmation = [\"bearer\", \"holder-of-key\"]";
                let text = text.replace("confirmation = [\"bearer\"]", methods);
                let service: Service = compile(&folder, &text).unwrap_or_else(|it| panic!("{it}"));
                let memories = (Kept::default(), Granted::default());
                let memory = Memory {
                    replay: &memories.0,
                    contexts: &memories.1,
                };
                let request = BORNE.asked(&client, None, SoapVersion::V12);
                let request = request.expect("a request").bytes;
                let mut buffers = Buffers::default();
                let mut call = Call::new(Timestamp::now(), &mut buffers);
                let read = service.read(request, &mut call).expect("it reads");
                let read = read.over_tls();
                let read = read.shown(Some(Arc::new(alice.certificate().clone())));
                let answer = service.receive_with(read, memory, &mut call);
                let Ok(Arrived::Answered(answer)) = answer else {
                    panic!("{both}: {answer:?}");
                };
                assert!(answer.refused.is_none(), "{:?}", answer.refused);
                let context = memories.1.contexts().pop().expect("a context");
                let most = Timestamp::now() + jiff::SignedDuration::from_mins(3);
                assert!(context.expires < most, "{both}: {}", context.expires);
            }
        }
    }
}

#[test]
fn a_policy_has_an_assertion_begin_a_conversation() {
    let binding = |token: &str| {
        format!(
            "<sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy>{token}</wsp:Policy>\
             </sp:ProtectionToken><sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy>\
             </sp:AlgorithmSuite><sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>\
             <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>"
        )
    };
    let token = format!(
        "<sp:SamlToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy>\
         <sp:WssSamlV20Token11/></wsp:Policy></sp:SamlToken>"
    );
    let x509 = |inclusion: &str| {
        format!(
            "<sp:X509Token sp:IncludeToken=\"{SP}/IncludeToken/{inclusion}\"><wsp:Policy>\
             <sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
        )
    };
    let begun_by = |initiator: &str| {
        format!(
            "<sp:AsymmetricBinding><wsp:Policy><sp:InitiatorToken><wsp:Policy>{initiator}</wsp:Policy>\
             </sp:InitiatorToken><sp:RecipientToken><wsp:Policy>{}</wsp:Policy></sp:RecipientToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>\
             <sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding>\
             <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>",
            x509("Never")
        )
    };
    let held = begun_by(&token);
    let vouched = format!(
        "{}<sp:SignedSupportingTokens><wsp:Policy>{token}</wsp:Policy></sp:SignedSupportingTokens>",
        begun_by(&x509("AlwaysToRecipient"))
    );
    let proved = binding(&token);
    for (case, bootstrap) in [(HELD, held), (VOUCHED, vouched), (PROVED, proved)] {
        let protected = format!(
            "<sp:SecureConversationToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy>\
             <sp:RequireDerivedKeys/><sp:BootstrapPolicy><wsp:Policy>{bootstrap}</wsp:Policy>\
             </sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>"
        );
        let policy = format!(
            "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\">{}</wsp:Policy>",
            binding(&protected)
        );
        let folder = case.folder();
        folder.write("conversation.xml", policy);
        folder.write("alice.saml.xml", case.written("alice", &Made::default()));
        let by_policy = |text: String| {
            let text = text.replace("holder_key = \"symmetric\"\n", "");
            let (before, _) = text.split_once("[security]").expect("the table");
            format!(
                "{before}[security]\npolicy = \"conversation.xml\"\nsha256_suites = \"sha256\"\n\
                 algorithms = {{ key_transport = [\"rsa-oaep\"] }}\nconversations = {{ lifetime = \"24h\" }}\n"
            )
        };
        let client = compile(&folder, &by_policy(case.client_text()));
        let client: Client = client.unwrap_or_else(|it| panic!("{}: {it}", case.method));
        let service = compile(&folder, &by_policy(case.service_text("")));
        let service: Service = service.unwrap_or_else(|it| panic!("{}: {it}", case.method));
        if case.method == "sender-vouches" {
            // A holder's key would stand beside the certificate that signs.
            let both = "[\"holder-of-key\", \"sender-vouches\"]";
            let both = by_policy(case.service_text("")).replace("[\"sender-vouches\"]", both);
            let told = problems::<Serving>(&folder, &both);
            assert!(told.contains("by a certificate beside it"), "{told}");
        }
        let memories = (Kept::default(), Granted::default());
        let (ours, theirs) = case.begun(
            (&client, &service),
            None,
            SoapVersion::V11,
            (&memories.0, &memories.1),
        );
        assert_eq!(theirs.expires, owner_of(&theirs).ends);
        let request = within(&client, &ours, SoapVersion::V11).bytes;
        let memory = Memory {
            replay: &memories.0,
            contexts: &memories.1,
        };
        assert!(case.received(&service, request, memory).is_ok());
    }
}

/// SAML Core 2.0, 2.5.1.5: the second context would be another use of the assertion.
#[test]
fn an_assertion_for_one_use_begins_one_conversation() {
    for case in [HELD, BORNE, VOUCHED] {
        let folder = case.folder();
        let made = Made {
            once: true,
            ..Made::default()
        };
        let client = case.client(&folder, "alice", &made);
        let service = case.service(&folder, "");
        let memories = (Kept::default(), Granted::default());
        let soap = SoapVersion::V11;
        case.begun((&client, &service), None, soap, (&memories.0, &memories.1));
        let again = case.asked(&client, None, soap).expect("a request").bytes;
        let memory = Memory {
            replay: &memories.0,
            contexts: &memories.1,
        };
        let again = case.received(&service, again, memory).map(drop);
        assert_eq!(again, Err(Rejected::Replayed), "{}", case.method);
        assert_eq!(memories.1.contexts().len(), 1);
    }
}

/// The times of the assertion are over, though by less than clocks may differ: it would begin a
/// context that has ended.
#[test]
fn an_assertion_that_is_over_begins_nothing() {
    for (end, expected) in [(-1, None), (-6000, Some("assertion-expired"))] {
        let folder = BORNE.folder();
        let made = Made {
            begin: -7000,
            end,
            ..Made::default()
        };
        let client = BORNE.client(&folder, "alice", &made);
        let service = BORNE.service(&folder, "skew = \"1m\"\n");
        let memories = (Kept::default(), Granted::default());
        let memory = Memory {
            replay: &memories.0,
            contexts: &memories.1,
        };
        let request = BORNE.asked(&client, None, SoapVersion::V11);
        let request = request.expect("a request").bytes;
        match expected {
            None => {
                let answer = BORNE.answered(&service, request, memory);
                let refused = answer.refused.map(|fault| fault.refusal.name());
                assert_eq!(refused, Some("trust-not-authenticated"));
            }
            Some(name) => {
                let refused = BORNE.received(&service, request, memory).map(drop);
                assert_eq!(refused.map_err(|it| it.name()), Err(name));
            }
        }
        assert!(memories.1.contexts().is_empty());
    }
}

/// The thief has the assertion, and a key of his own.
#[test]
fn a_stolen_assertion_begins_nothing() {
    let folder = HELD.folder();
    let client = HELD.client(&folder, "alice", &Made::default());
    let request = HELD
        .asked(&client, None, SoapVersion::V11)
        .expect("one")
        .bytes;
    // Nor is the request another one's, secured for another service.
    let service = HELD.service(&folder, "");
    let thiefs = HELD
        .client_text()
        .replace("alice.key.pem", "gateway.key.pem")
        .replace("alice.cert.pem", "gateway.cert.pem");
    let thief: Client = compile(&folder, &thiefs).unwrap_or_else(|it| panic!("{it}"));
    let stolen = HELD.asked(&thief, None, SoapVersion::V11);
    assert!(
        matches!(stolen, Err(HandshakeError::Unsecurable(_))),
        "{stolen:?}"
    );
    // A message that another key signs, with the assertion of the first beside it.
    let vouching = VOUCHED.client_text().replace("alice.key", "gateway.key");
    let vouching = vouching.replace("alice.cert", "gateway.cert");
    let thief: Client = compile(&folder, &vouching).unwrap_or_else(|it| panic!("{it}"));
    let forged = VOUCHED
        .asked(&thief, None, SoapVersion::V11)
        .expect("one")
        .bytes;
    let memories = (Kept::default(), Granted::default());
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    let refused = HELD.received(&service, forged, memory).map(drop);
    assert!(refused.is_err(), "{refused:?}");
    assert!(memories.1.contexts().is_empty());
    // And a copy of the request itself begins no second context.
    HELD.answered(&service, request.clone(), memory);
    let copy = HELD.received(&service, request, memory).map(drop);
    assert_eq!(copy, Err(Rejected::Replayed));
    assert_eq!(memories.1.contexts().len(), 1);
}

/// Whoever has another assertion neither renews the context nor learns of it.
#[test]
fn the_subject_alone_renews_its_conversation() {
    let folder = BORNE.folder();
    let alice = BORNE.client(&folder, "alice", &Made::default());
    let service = BORNE.service(&folder, "");
    let memories = (Kept::default(), Granted::default());
    let soap = SoapVersion::V12;
    let kept = (&memories.0, &memories.1);
    let (ours, theirs) = BORNE.begun((&alice, &service), None, soap, kept);
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    for (subject, made) in [
        ("bob", Made::default()),
        (
            "alice",
            Made {
                qualifiers: " NameQualifier=\"https://elsewhere.example\"",
                ..Made::default()
            },
        ),
        (
            "alice",
            Made {
                qualifiers: " Format=\"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress\"",
                ..Made::default()
            },
        ),
    ] {
        let other = BORNE.client(&folder, subject, &made);
        let stolen = BORNE.asked(&other, Some(&ours), soap).expect("a request");
        let answer = BORNE.answered(&service, stolen.bytes, memory);
        let refused = answer.refused.map(|fault| fault.refusal.name());
        assert_eq!(refused, Some("context-not-proven"), "{subject}");
    }
    // Another assertion of the same subject has an end of its own.
    let made = Made {
        id: "_later",
        end: 1200,
        ..Made::default()
    };
    let again = BORNE.client(&folder, "alice", &made);
    let mut handshake = BORNE.asked(&again, Some(&ours), soap).expect("a request");
    let request = std::mem::take(&mut handshake.bytes);
    let answer = BORNE.answered(&service, request, memory);
    assert!(answer.refused.is_none(), "{:?}", answer.refused);
    let mut buffers = Buffers::default();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let handshakes = again.handshakes().expect("it has conversations");
    let renewed = handshakes.conclude(handshake, answer.bytes, memory, &mut call);
    let renewed = renewed.unwrap_or_else(|error| panic!("{error}"));
    assert!(renewed.expires > theirs.expires && renewed.instance != ours.instance);
}

/// WS-SecureConversation 1.4, 3: who could step down to the bootstrap would go on without the
/// context.
#[test]
fn an_assertion_stands_for_no_message_of_the_application() {
    let folder = HELD.folder();
    HELD.client(&folder, "alice", &Made::default());
    let single = HELD.client_text();
    let (before, _) = single.split_once("[security]").expect("the table");
    let single =
        format!("{before}[security]\nmechanism = \"sign-encrypt\"\nsuite = \"Basic256GCM\"\n");
    let client: Client = compile(&folder, &single).unwrap_or_else(|it| panic!("{it}"));
    let request = client.secure(body_of(SoapVersion::V11)).expect("a message");
    let memories = (Kept::default(), Granted::default());
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    let service = HELD.service(&folder, "");
    let refused = HELD.received(&service, request.bytes, memory).map(drop);
    assert_eq!(refused, Err(Rejected::NotInConversation));
}

/// A context is kept beyond a reload, and the rules are those of today.
#[test]
fn a_conversation_ends_when_its_assertion_is_cancelled_or_its_issuer_is_no_more() {
    let folder = HELD.folder();
    let client = HELD.client(&folder, "alice", &Made::default());
    let service = HELD.service(&folder, "refuse_cancelled = true\n");
    let memories = (Kept::default(), Granted::default());
    let soap = SoapVersion::V11;
    let kept = (&memories.0, &memories.1);
    let (ours, theirs) = HELD.begun((&client, &service), None, soap, kept);
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    let said = |service: &Service| {
        let request = within(&client, &ours, soap).bytes;
        HELD.received(service, request, memory).map(drop)
    };
    assert_eq!(said(&service), Ok(()));
    let other = HELD
        .service_text("")
        .replace(ISSUER, "https://other.example");
    let other: Service = compile(&folder, &other).unwrap_or_else(|it| panic!("{it}"));
    assert!(matches!(said(&other), Err(Rejected::ContextUnknown { .. })));
    let now = Timestamp::now();
    let ends = owner_of(&theirs).ends;
    cancel(&memories.0, (ISSUER, "_another"), "alice", ends, now).expect("room");
    assert_eq!(said(&service), Ok(()));
    cancel(&memories.0, (ISSUER, ID), "alice", ends, now).expect("room");
    assert_eq!(said(&service), Err(Rejected::AssertionCancelled));
}

/// Whoever may not vouch any more could have named anybody.
#[test]
fn a_conversation_ends_when_nobody_may_vouch_any_more_who_did() {
    let folder = VOUCHED.folder();
    let client = VOUCHED.client(&folder, "alice", &Made::default());
    let service = VOUCHED.service(&folder, "");
    let memories = (Kept::default(), Granted::default());
    let soap = SoapVersion::V11;
    let kept = (&memories.0, &memories.1);
    let (ours, theirs) = VOUCHED.begun((&client, &service), None, soap, kept);
    let attester = owner_of(&theirs).attester.as_ref().expect("an attester");
    assert_eq!(attester.subject, "CN=alice");
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    let said = |attesters: &str| {
        let text = VOUCHED.service_text("");
        let text = text.replace("[\"CN=alice\", \"CN=gateway\"]", attesters);
        let service: Service = compile(&folder, &text).unwrap_or_else(|it| panic!("{it}"));
        let request = within(&client, &ours, soap).bytes;
        VOUCHED.received(&service, request, memory).map(drop)
    };
    assert_eq!(said("[\"cn = alice\"]"), Ok(()));
    let ended = said("[\"CN=gateway\"]");
    assert!(
        matches!(ended, Err(Rejected::ContextUnknown { .. })),
        "{ended:?}"
    );
}

/// Whom `[trust]` knows no more vouches for nobody, in contexts of before as well.
#[test]
fn a_context_ends_with_the_trust_in_whoever_vouched() {
    let folder = VOUCHED.folder();
    let client = VOUCHED.client(&folder, "alice", &Made::default());
    let service = VOUCHED.service(&folder, "");
    let memories = (Kept::default(), Granted::default());
    let soap = SoapVersion::V11;
    let kept = (&memories.0, &memories.1);
    let (ours, _) = VOUCHED.begun((&client, &service), None, soap, kept);
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    let known = "[trust]\npinned = [\"alice.cert.pem\", \"gateway.cert.pem\"]\n";
    let said = |trust: &str| {
        let text = VOUCHED.service_text("");
        assert!(text.contains(known), "{text}");
        let text = text.replace(known, &format!("[trust]\n{trust}\n"));
        let service: Service = compile(&folder, &text).unwrap_or_else(|it| panic!("{it}"));
        let request = within(&client, &ours, soap).bytes;
        VOUCHED.received(&service, request, memory).map(drop)
    };
    for known in [
        "pinned = [\"alice.cert.pem\"]",
        "anchors = [\"ca.cert.pem\"]",
        "anchors = [\"ca.cert.pem\"]\nsubjects = [\"CN=alice\"]",
    ] {
        assert_eq!(said(known), Ok(()), "{known}");
    }
    for unknown in [
        "anchors = [\"ca.cert.pem\"]\nsubjects = [\"CN=gateway\"]",
        "pinned = [\"gateway.cert.pem\"]",
    ] {
        let ended = said(unknown);
        let is_over = matches!(ended, Err(Rejected::ContextUnknown { .. }));
        assert!(is_over, "{unknown}: {ended:?}");
    }
}

/// A context whose messages are refused is as good as none, for who shows another assertion, too.
#[test]
fn another_assertion_does_not_bring_back_what_a_cancelled_one_began() {
    let folder = BORNE.folder();
    let client = BORNE.client(&folder, "alice", &Made::default());
    let service = BORNE.service(&folder, "refuse_cancelled = true\n");
    let memories = (Kept::default(), Granted::default());
    let soap = SoapVersion::V12;
    let kept = (&memories.0, &memories.1);
    let (ours, theirs) = BORNE.begun((&client, &service), None, soap, kept);
    let memory = Memory {
        replay: &memories.0,
        contexts: &memories.1,
    };
    let (now, ends) = (Timestamp::now(), owner_of(&theirs).ends);
    cancel(&memories.0, (ISSUER, ID), "alice", ends, now).expect("room");
    let made = Made {
        id: "_later",
        ..Made::default()
    };
    let again = BORNE.client(&folder, "alice", &made);
    let renewal = BORNE.asked(&again, Some(&ours), soap).expect("a request");
    let answer = BORNE.answered(&service, renewal.bytes, memory);
    let refused = answer.refused.map(|fault| fault.refusal.name());
    assert_eq!(refused, Some("context-not-proven"));
}

#[test]
fn what_could_begin_no_conversation_is_told() {
    let folder = HELD.folder();
    HELD.client(&folder, "alice", &Made::default());
    for (text, from, to, expected) in [
        (
            BORNE
                .service_text("")
                .replace("\"none\"", "\"sign-encrypt\""),
            "protection = \"tls\"\n",
            "",
            "whoever receives a bearer's assertion could begin conversations with it",
        ),
        (
            VOUCHED.service_text(""),
            "attesters",
            "protection = \"tls\"\nattesters",
            "who vouches for the subject that begins conversations signs the message",
        ),
        (
            HELD.service_text(""),
            "[saml]\n",
            "[saml]\nforward = true\n",
            "`forward` passes on the assertion of each message",
        ),
        (
            BORNE.service_text(""),
            "bootstrap = \"none\"",
            "bootstrap = \"username\"",
            "a user stands beside the assertion that begins conversations",
        ),
        (
            BORNE.service_text("") + "[trust]\npinned = [\"alice.cert.pem\"]\n",
            "bootstrap = \"none\"",
            "bootstrap = \"sign-encrypt\"",
            "a certificate stands beside the bearer's assertion",
        ),
        (
            conversation("none"),
            "",
            "",
            "nothing says who begins a conversation",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let told = problems::<Serving>(&folder, &text.replacen(from, to, 1));
        assert!(told.contains(expected), "expected {expected}, found {told}");
    }
}
