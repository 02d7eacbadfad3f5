//! Contexts that clients renew and cancel by themselves, not through a gateway of ours: whose they
//! are, and whose they are not.

use http::StatusCode;
use soapstone::trust::{ClientRules, PendingCancel, PendingIssue};
use soapstone::wss::{Envelope, Outgoing, SecurityContext, SoapVersion};
use soapstone::xml::Buffers;
use soapstone::{Call, Client, Memory};
use soapstone_gateway::Running;
use soapstone_store::MemoryReplay;

use crate::conversations::{metric, service, tables};
use crate::support::{Backend, ENVELOPE, Folder, post, send};

/// A context of a client with a service.
async fn established(client: &Client, service: &Running) -> SecurityContext {
    let mut buffers = Buffers::default();
    let mut call = Call::new(jiff::Timestamp::now(), &mut buffers);
    let handshakes = client.handshakes().expect("it has conversations");
    let to = format!("http://{}/echo", service.address());
    let mut handshake = handshakes
        .begin(&to, SoapVersion::V11, &mut call)
        .unwrap_or_else(|error| panic!("{error}"));
    let request = post("/echo", std::mem::take(&mut handshake.bytes));
    let answer = send(service.address(), request).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let replay = MemoryReplay::new(10);
    let memory = Memory::without_conversations(&replay);
    handshakes
        .conclude(handshake, answer.body.into_bytes(), memory, &mut call)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A message within a context, by the plan alone: the endpoint would refuse to ask for tokens in
/// somebody else's words.
fn within(client: &Client, context: &SecurityContext, plain: &str) -> Vec<u8> {
    let (now, mut buffers) = (jiff::Timestamp::now(), Buffers::default());
    let plan = client.outbound().next().expect("it sends requests");
    let bytes = plain.as_bytes().to_vec();
    let envelope = Envelope::parse(bytes, client.limits(), &mut buffers);
    let envelope = envelope.expect("it is an envelope");
    let secured = plan.secure(envelope, Outgoing::within(context), now, &mut buffers);
    secured.expect("it can be secured").bytes
}

#[tokio::test]
async fn a_cancelled_context_is_unknown_and_another_clients_context_is_not_cancelled() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let file = folder.write("client.toml", tables("client", "server", ""));
    let endpoint =
        Client::from_file(&file, &|_| None).unwrap_or_else(|problems| panic!("{problems}"));
    let (ours, theirs) = (
        established(&endpoint, &service).await,
        established(&endpoint, &service).await,
    );
    let within = |context: &SecurityContext, plain: &str| within(&endpoint, context, plain);
    // Our key does not cancel somebody else's context.
    for (name, status, event) in [
        (&theirs, StatusCode::INTERNAL_SERVER_ERROR, "refused"),
        (&ours, StatusCode::OK, "cancelled"),
    ] {
        let (_, request) = PendingCancel::new(name);
        let body = String::from_utf8(request.body).expect("it is XML");
        let plain = ENVELOPE.replace("<e:echo xmlns:e=\"urn:echo\">hello</e:echo>", &body);
        let message = within(&ours, &plain);
        let answer = send(service.address(), post("/echo", message)).await;
        assert_eq!(answer.status, status, "{event}: {}", answer.body);
        let line = format!("soapstone_contexts_total{{route=\"/echo\",event=\"{event}\"}}");
        assert_eq!(metric(&service, &line).await, 1);
    }
    let late = send(service.address(), post("/echo", within(&ours, ENVELOPE))).await;
    assert_eq!(late.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(late.body.contains(":BadContextToken<"), "{}", late.body);
    assert!(backend.seen.try_recv().is_err());
    let other = send(service.address(), post("/echo", within(&theirs, ENVELOPE))).await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.body);
}

/// The bootstrap's policy, endorsed by a context: how clients of Metro and WCF renew.
fn endorsed_bootstrap() -> String {
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let token = |role: &str, inclusion: &str| {
        format!(
            "<sp:{role}><wsp:Policy><sp:X509Token sp:IncludeToken=\"{sp}/IncludeToken/{inclusion}\"><wsp:Policy>\
             <sp:WssX509V3Token10/></wsp:Policy></sp:X509Token></wsp:Policy></sp:{role}>"
        )
    };
    let (ours, theirs) = (
        token("InitiatorToken", "AlwaysToRecipient"),
        token("RecipientToken", "Never"),
    );
    let bootstrap = format!(
        "<sp:AsymmetricBinding><wsp:Policy>{ours}{theirs}\
         <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>\
         <sp:IncludeTimestamp/><sp:OnlySignEntireHeadersAndBody/></wsp:Policy></sp:AsymmetricBinding>\
         <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>"
    );
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\">{bootstrap}\
         <sp:EndorsingSupportingTokens><wsp:Policy>\
         <sp:SecureConversationToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\"><wsp:Policy><sp:RequireDerivedKeys/>\
         <sp:BootstrapPolicy><wsp:Policy>{bootstrap}</wsp:Policy></sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>\
         </wsp:Policy></sp:EndorsingSupportingTokens></wsp:Policy>"
    )
}

/// WS-SecureConversation 1.4, 5: by its owner anew, and by its key.
#[tokio::test]
async fn a_context_is_renewed_by_one_message_that_shows_its_owner_and_its_key() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let loaded = |file: String| {
        let file = folder.write("client.toml", file);
        Client::from_file(&file, &|_| None).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let endpoint = loaded(tables("client", "server", ""));
    folder.write("renewal.xml", endorsed_bootstrap());
    let tables = tables("client", "server", "");
    let (sides, _) = tables.split_once("security").expect("it says how");
    let renewal = loaded(format!(
        "{sides}security = {{ policy = \"renewal.xml\" }}\n"
    ));
    let (ours, other) = (
        established(&endpoint, &service).await,
        established(&endpoint, &service).await,
    );
    let renew = {
        let (_, request) =
            PendingIssue::renew(&ClientRules::default(), &ours, jiff::Timestamp::now());
        let body = String::from_utf8(request.body).expect("it is XML");
        ENVELOPE.replace("<e:echo xmlns:e=\"urn:echo\">hello</e:echo>", &body)
    };
    let secured = |context: &SecurityContext, plain: &str| within(&renewal, context, plain);
    let event =
        |name: &str| format!("soapstone_contexts_total{{route=\"/echo\",event=\"{name}\"}}");
    let counts = async || {
        let renewed = metric(&service, &event("renewed")).await;
        (renewed, metric(&service, &event("refused")).await)
    };
    let sent = async |message: Vec<u8>| send(service.address(), post("/echo", message)).await;

    // By the key of another context of the same owner.
    let answer = sent(secured(&other, &renew)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(counts().await, (0, 1));
    // What is no request for a token.
    let answer = sent(secured(&ours, ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let refusal = "soapstone_refusals_total{route=\"/echo\",direction=\"inbound\",mechanism=\"secure-conversation\",reason=\"not-in-conversation\"}";
    assert_eq!(metric(&service, refusal).await, 1);
    // Without the context's signature, or without that of the owner: the second and the first of
    // the message.
    let message = String::from_utf8(secured(&ours, &renew)).expect("it is UTF-8");
    let end = "</ds:Signature>";
    let starts: Vec<usize> = message
        .match_indices("<ds:Signature ")
        .map(|(place, _)| place)
        .collect();
    assert_eq!(starts.len(), 2, "{message}");
    for start in starts {
        let ends = start + message[start..].find(end).expect("it ends") + end.len();
        let without = format!("{}{}", &message[..start], &message[ends..]);
        let answer = sent(without.into_bytes()).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    assert_eq!(counts().await, (0, 1));

    let answer = sent(message.clone().into_bytes()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(counts().await, (1, 1));
    // Once.
    let answer = sent(message.into_bytes()).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(counts().await, (1, 1));
    assert!(
        backend.seen.try_recv().is_err(),
        "none of it is the backend's"
    );
}
