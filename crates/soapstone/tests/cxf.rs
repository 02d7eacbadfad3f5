//! What CXF's clients and services said to each other under many policies, recorded in
//! `interop/recorded/cxf`: an endpoint that is configured from the same WSDL accepts the request as
//! a service and the response as a client, and a request for a security context is granted.

#[path = "support/arrived.rs"]
mod arrived;
#[path = "support/contexts.rs"]
mod contexts;

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::wss::{ContextOwner, ConversationVersion, Receipt, Rejected, SecurityContext};
use soapstone::xml::Buffers;
use soapstone::{
    Arrived, Call, Client, ForgetfulReplayCache, Memory, OpenedMessage, ReceiveError, Service,
};
use soapstone_policy::{CompileOptions, PolicyDocument, PolicyLimits, Selection};

use contexts::{Granted, agreed};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded/cxf")
}

fn cells() -> Vec<String> {
    let mut cells: Vec<String> = std::fs::read_dir(folder())
        .expect("the recorded messages")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().join("service.wsdl").exists())
        .map(|entry| entry.file_name().into_string().expect("a name in ASCII"))
        .collect();
    cells.sort();
    cells
}

fn moment() -> Timestamp {
    let text = std::fs::read_to_string(folder().join("moment")).expect("the moment of recording");
    text.trim().parse().expect("a moment")
}

fn client(cell: &str) -> Result<Client, String> {
    endpoint(cell, ["client", "server"])
}

fn service(cell: &str) -> Result<Service, String> {
    endpoint(cell, ["server", "client"])
}

fn endpoint<P: Fixed>(cell: &str, [own, peer]: [&str; 2]) -> Result<Endpoint<P>, String> {
    let reading = if cell.ends_with("rsa-sha256") {
        "sha256"
    } else {
        "letter"
    };
    let anonymous = if cell.starts_with("secure-conversation") {
        "conversations = { anonymous = true }"
    } else {
        ""
    };
    // What its name says.
    let empty = match cell {
        "plain" => "policy_may_be_empty = true\n",
        _ => "",
    };
    // CXF's client has one key for all of its endorsing tokens.
    let text = format!(
        "[identity]\nkey = \"keys/{own}.key.pem\"\ncertificate = \"keys/{own}.cert.pem\"\n\
         [peer]\ncertificate = \"keys/{peer}.cert.pem\"\n[trust]\nanchors = [\"keys/ca.pem\"]\n\
         [[users]]\nname = \"alice\"\npassword = \"correct horse battery staple\"\n\
         [security]\npolicy = \"{cell}/service.wsdl\"\nsha256_suites = \"{reading}\"\nsame_endorser = true\n{empty}timestamp = {{ ttl = \"10m\" }}\n{anonymous}\n"
    );
    EndpointConfig::from_text(&text, &folder().join("endpoint.toml"), &|_| None)
        .and_then(|config| Endpoint::from_config(&config))
        .map_err(|problems| problems.to_string())
}

fn recorded(cell: &str, name: &str) -> Vec<u8> {
    std::fs::read(folder().join(cell).join(name)).expect("a recorded message")
}

fn receive(service: &Service, message: Vec<u8>, granted: &Granted) -> Result<Arrived, String> {
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts: granted,
    };
    let arrived = receive_at(service, message, memory, moment());
    arrived.map_err(|error| format!("{error:?}"))
}

fn receive_at(
    service: &Service,
    message: Vec<u8>,
    memory: Memory<'_>,
    now: Timestamp,
) -> Result<Arrived, ReceiveError> {
    let mut buffers = Buffers::default();
    let mut call = Call::new(now, &mut buffers);
    let request = service.read(message, &mut call)?.over_tls();
    service.receive_with(request, memory, &mut call)
}

/// What a service opens of a message in no conversation.
fn open(service: &Service, message: Vec<u8>, now: Timestamp) -> Result<OpenedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    arrived::message(receive_at(service, message, memory, now))
}

/// Opens the exchange of one cell; what went wrong, if anything did.
fn exchange(cell: &str) -> Result<(), String> {
    let granted = Granted::default();
    let service = service(cell)?;
    match receive(&service, recorded(cell, "1.request.xml"), &granted)? {
        Arrived::Answered(answer) => match answer.refused {
            None if granted.contexts().len() == 1 => Ok(()),
            None => Err("no context was stored".to_owned()),
            Some(fault) => Err(format!("no context was granted: {fault}")),
        },
        Arrived::Message(request) => {
            let answer = open_answer(cell, request.receipt)?;
            if answer.windows(4).any(|octets| octets == b"Echo") {
                Ok(())
            } else {
                Err(format!(
                    "not an answer: {}",
                    String::from_utf8_lossy(&answer)
                ))
            }
        }
    }
}

fn open_answer(cell: &str, receipt: Receipt) -> Result<Vec<u8>, String> {
    let client = client(cell)?;
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let answer = recorded(cell, "1.response.xml");
    let mut buffers = Buffers::default();
    let mut call = Call::new(moment(), &mut buffers);
    let opened = client.open_with(answer, receipt, memory, &mut call);
    opened
        .map(|opened| opened.bytes)
        .map_err(|error| format!("answer: {error}"))
}

#[test]
fn every_exchange_of_cxf_is_accepted_under_its_own_policy() {
    let cells = cells();
    assert!(cells.len() >= 100, "{} cells are recorded", cells.len());
    let failed: Vec<String> = cells
        .iter()
        .filter_map(|cell| {
            exchange(cell)
                .err()
                .map(|problem| format!("{cell}: {problem}"))
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        cells.len(),
        failed.join("\n")
    );
}

/// The context that CXF's service has made of what both sides contributed to its key, which TLS
/// alone hid.
fn made(cell: &str, owner: ContextOwner) -> SecurityContext {
    let text = |name| String::from_utf8(recorded(cell, name)).expect("it is UTF-8");
    let version = match cell.ends_with("of-2005") {
        true => ConversationVersion::February2005,
        false => ConversationVersion::V13,
    };
    agreed(
        version,
        &text("1.request.xml"),
        &text("1.response.xml"),
        owner,
        moment(),
    )
}

/// Conversations that TLS protects: the owner of what our service grants is who began it, and what
/// CXF's client sends in the one that it began is endorsed by that one's key, by no other one's,
/// and not at all without it.
#[test]
fn contexts_of_cxf_endorse_what_tls_protects() {
    let cells = cells();
    let on_tls: Vec<&String> = cells
        .iter()
        .filter(|cell| cell.contains("-on-TLS"))
        .collect();
    assert!(on_tls.len() >= 11, "{on_tls:?}");
    for cell in on_tls {
        let service = service(cell).unwrap_or_else(|problem| panic!("{problem}"));
        let granted = Granted::default();
        let asked = receive(&service, recorded(cell, "1.request.xml"), &granted);
        assert!(
            matches!(asked, Ok(Arrived::Answered(_))),
            "{cell}: {asked:?}"
        );
        let ours = granted.contexts().remove(0);
        let owner = if cell.contains("certificates") {
            "CN=client,O=Soapstone"
        } else {
            "alice"
        };
        assert_eq!(ours.owner.to_string(), owner, "{cell}");

        let theirs = made(cell, ours.owner.clone());
        let request = recorded(cell, "2.request.xml");
        let heard = |context: SecurityContext, request: &[u8]| {
            let known = Granted::knowing(context);
            let arrived = receive(&service, request.to_vec(), &known)?;
            let Arrived::Message(message) = arrived else {
                return Err("it asks for a token".to_owned());
            };
            Ok(message.receipt.context.map(|context| context.identifier))
        };
        let context = heard(theirs.clone(), &request).unwrap_or_else(|why| panic!("{cell}: {why}"));
        assert_eq!(context, Some(theirs.identifier.clone()), "{cell}");
        let namesake = SecurityContext {
            secret: ours.secret.clone(),
            ..theirs.clone()
        };
        let refused = heard(namesake, &request).expect_err("another key");
        assert!(refused.contains("ValueMismatch"), "{cell}: {refused}");
        let text = String::from_utf8(request).expect("it is UTF-8");
        let (before, signature) = text.split_once("<ds:Signature ").expect("a signature");
        let (_, after) = signature.split_once("</ds:Signature>").expect("its end");
        let bare = format!("{before}{after}");
        let refused = heard(theirs, bare.as_bytes()).expect_err("no signature");
        // Where a certificate endorses, too, it may be the other signature that is left.
        let missing = ["SignatureMissing", "EndorsementMissing"];
        assert!(
            missing.iter().any(|reason| refused.contains(reason)),
            "{cell}: {refused}"
        );
    }
}

/// A bootstrap that encrypts nothing shows both halves of the key to everybody.
#[test]
fn a_policy_whose_contexts_anybody_can_read_is_refused() {
    let wsdl = folder().join("secure-conversation-Basic256-symmetric-bootstrap/service.wsdl");
    let wsdl = std::fs::read_to_string(wsdl).expect("a recorded policy");
    let (before, bootstrap) = wsdl
        .split_once("<sp:BootstrapPolicy>")
        .expect("a bootstrap");
    let (bootstrap, after) = bootstrap
        .split_once("</sp:BootstrapPolicy>")
        .expect("its end");
    let start = bootstrap
        .find("<sp:EncryptedParts")
        .expect("encrypted parts");
    let end = start
        + bootstrap[start..]
            .find("</sp:EncryptedParts>")
            .expect("their end")
        + "</sp:EncryptedParts>".len();
    let bare = format!("{}{}", &bootstrap[..start], &bootstrap[end..]);
    let changed = format!("{before}<sp:BootstrapPolicy>{bare}</sp:BootstrapPolicy>{after}");
    let document =
        PolicyDocument::parse(changed.into_bytes(), &PolicyLimits::default()).expect("a policy");
    let refused = document
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("EncryptedParts with sp:Body, for a bootstrap"),
        "{refused}"
    );
}

#[test]
fn an_exchange_of_cxf_is_stale_an_hour_later() {
    let service = service("sign-encrypt-Basic256").expect("a policy that compiles");
    let later = moment() + SignedDuration::from_hours(1);
    let message = recorded("sign-encrypt-Basic256", "1.request.xml");
    let refused = open(&service, message, later).unwrap_err();
    assert_eq!(refused.cause().name(), "timestamp-expired");
}

/// WSDL 1.1, 2.1.1: a description may be in several files, and what is attached in any of them
/// applies.
#[test]
fn a_description_in_several_files_is_read_with_those_that_it_imports() {
    let wsdl = folder().join("sign-encrypt-Basic256/service.wsdl");
    let wsdl = std::fs::read_to_string(wsdl).expect("a recorded policy");
    let start = wsdl.find("<wsdl:service").expect("a service");
    let end = wsdl.find("</wsdl:service>").expect("its end") + "</wsdl:service>".len();
    let root = &wsdl[wsdl.find("<wsdl:definitions").expect("a root")..];
    let root = &root[..=root.find('>').expect("its end")];
    let import = "<wsdl:import namespace=\"urn:any\" location=\"parts/binding.wsdl\"/>";
    let service = format!("{root}{import}{}</wsdl:definitions>", &wsdl[start..end]);
    let binding = format!("{}{}", &wsdl[..start], &wsdl[end..]);
    let place = soapstone_testkit::Folder::new();
    place.write("service.wsdl", service);
    place.write("parts/binding.wsdl", binding);
    let keys = folder().join("keys");
    let text = format!(
        "identity = {{ key = \"{0}/server.key.pem\", certificate = \"{0}/server.cert.pem\" }}\n\
         peer = {{ certificate = \"{0}/client.cert.pem\" }}\ntrust = {{ anchors = [\"{0}/ca.pem\"] }}\n\
         security = {{ policy = \"service.wsdl\", timestamp = {{ ttl = \"10m\" }} }}\n",
        keys.display()
    );
    let endpoint = EndpointConfig::from_text(&text, &place.path("endpoint.toml"), &|_| None)
        .and_then(|config| Service::from_config(&config));
    let endpoint = endpoint.unwrap_or_else(|problems| panic!("{problems}"));
    let message = recorded("sign-encrypt-Basic256", "1.request.xml");
    open(&endpoint, message, moment()).expect("it obeys the policy");
    let plain =
        b"<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/></s:Envelope>";
    let refused = open(&endpoint, plain.to_vec(), moment()).unwrap_err();
    assert_eq!(refused.cause().name(), "security-missing");
}
