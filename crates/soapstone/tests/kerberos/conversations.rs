//! Tickets that begin conversations.

use super::*;

in_a_realm! {
    a_ticket_begins_a_conversation_that_ends_with_it
    a_policy_has_a_ticket_begin_a_conversation
    a_copy_of_a_bootstrap_begins_no_second_conversation
    a_ticket_stands_for_no_message_of_the_application
    a_conversation_ends_when_its_client_is_not_accepted_any_more
    a_ticket_renews_and_cancels_the_conversations_of_its_client_alone
}

/// By our cache alone.
#[test]
fn a_copy_of_a_bootstrap_is_refused_without_the_librarys_cache() {
    let none = [("KRB5RCACHENAME", "none:")];
    let test = concat!(
        module_path!(),
        "::body::a_copy_of_a_bootstrap_is_refused_without_the_librarys_cache"
    );
    run(test, &none);
}

/// The hint names what begins conversations, and no mechanism of single messages.
#[test]
fn a_ticket_that_only_endorses_begins_no_conversation() {
    let folder = soapstone_testkit::Folder::new();
    for (usage, bootstrap) in [
        ("endorse", ""),
        ("authenticate", ""),
        ("protect", ", conversations = { bootstrap = \"username\" }"),
    ] {
        let text = format!(
            "kerberos = {{ keytab = \"http.keytab\", principal = \"{SERVICE}\", use = \"{usage}\" }}\n\
             security = {{ mechanism = \"secure-conversation\", suite = \"Basic256GCM\"{bootstrap} }}\n"
        );
        let read = Service::from_file(&folder.write("endpoint.toml", text), &|_| None);
        let told = read.expect_err("no bootstrap").to_string();
        let hint = "take use = \"protect\", and bootstrap = \"sign\"";
        assert!(told.contains(hint), "{told}");
    }
}

mod body {
    use super::super::sides::*;
    use super::*;

    const CONVERSATION: &str = "mechanism = \"secure-conversation\", suite = \"Basic256GCM\", \
        conversations = { bootstrap = \"sign-encrypt\", lifetime = \"24h\", owner_alone = true }";

    /// A request for a context, and what waits for its answer.
    fn asked(client: &Client, renewed: Option<&SecurityContext>) -> Handshake {
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = client.handshakes().expect("it has conversations");
        let to = "http://books.example/";
        let asked = match renewed {
            Some(context) => handshakes.renew(context, to, SoapVersion::V11, &mut call),
            None => handshakes.begin(to, SoapVersion::V11, &mut call),
        };
        asked.expect("a ticket")
    }

    fn answered(service: &Service, bytes: Vec<u8>, memory: Memory<'_>) -> Box<TokenAnswer> {
        match service.receive(bytes, memory) {
            Ok(Arrived::Answered(answer)) => Box::new(answer),
            other => panic!("{other:?}"),
        }
    }

    fn concluded(client: &Client, handshake: Handshake, answer: Vec<u8>) -> SecurityContext {
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = client.handshakes().expect("it has conversations");
        let concluded = handshakes.conclude(handshake, answer, NO_CACHE, &mut call);
        concluded.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A message of the application, secured within a context.
    fn within(client: &Client, context: &SecurityContext) -> Secured {
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let secured = client.secure_with(plain(), Outgoing::within(context), &mut call);
        secured.expect("the context is known")
    }

    /// Begins a conversation of alice's, and says something in it.
    fn converses(client: &Client, service: &Service) {
        let kept = Granted::default();
        let memory = Memory {
            contexts: &kept,
            ..NO_CACHE
        };
        let mut handshake = asked(client, None);
        let request = std::mem::take(&mut handshake.bytes);
        assert!(text(&request).contains("BinarySecurityToken"));
        let answer = answered(service, request, memory);
        assert!(answer.refused.is_none(), "{:?}", answer.refused);
        let ours = concluded(client, handshake, answer.bytes);
        let [theirs] = &kept.contexts()[..] else {
            panic!("one context");
        };
        let ContextOwner::Kerberos {
            client: owner,
            ends,
        } = &theirs.owner
        else {
            panic!("{:?}", theirs.owner);
        };
        assert_eq!(owner, ALICE);
        // The file would give it a day, the realm gives tickets ten hours.
        assert_eq!(theirs.expires, *ends);
        assert_eq!(ours.expires, *ends);
        let request = within(client, &ours);
        assert!(!text(&request.bytes).contains("BinarySecurityToken"));
        let arrived = received(service, request.bytes, memory).expect("a conversation");
        let receipt = &arrived.receipt;
        let found = receipt.context.as_ref().map(|context| &context.owner);
        let is_alice =
            matches!(found, Some(ContextOwner::Kerberos { client, .. }) if client == ALICE);
        assert!(is_alice, "{found:?}");
        let answer = service.answer(plain(), receipt).expect("an answer");
        let opened = client.open(answer.bytes, request.receipt, memory);
        assert!(opened.is_ok(), "{:?}", opened.err());
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_ticket_begins_a_conversation_that_ends_with_it() {
        for kerberos in ["", ", derived_keys = false", ", form = \"raw\""] {
            let (client, service) = (
                client(kerberos, CONVERSATION),
                service(kerberos, CONVERSATION),
            );
            converses(&client, &service);
        }
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_policy_has_a_ticket_begin_a_conversation() {
        let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
        let binding = |token: &str| {
            format!(
                "<sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy>{token}</wsp:Policy>\
                 </sp:ProtectionToken><sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy>\
                 </sp:AlgorithmSuite><sp:Layout><wsp:Policy><sp:Strict/></wsp:Policy></sp:Layout>\
                 <sp:IncludeTimestamp/><sp:OnlySignEntireHeadersAndBody/></wsp:Policy></sp:SymmetricBinding>\
                 <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>"
            )
        };
        let ticket = format!(
            "<sp:KerberosToken sp:IncludeToken=\"{sp}/IncludeToken/Once\"><wsp:Policy>\
             <sp:WssGssKerberosV5ApReqToken11/></wsp:Policy></sp:KerberosToken>"
        );
        let conversation = format!(
            "<sp:SecureConversationToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\"><wsp:Policy>\
             <sp:RequireDerivedKeys/><sp:BootstrapPolicy><wsp:Policy>{}</wsp:Policy></sp:BootstrapPolicy>\
             </wsp:Policy></sp:SecureConversationToken>",
            binding(&ticket)
        );
        let policy = format!(
            "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\">{}</wsp:Policy>",
            binding(&conversation)
        );
        let folder = kdc::inside().expect("the process of a realm");
        std::fs::write(folder.join("conversation.xml"), policy).expect("a file");
        let security = "policy = \"conversation.xml\", conversations = { lifetime = \"24h\" }";
        let (client, service) = (client("", security), service("", security));
        converses(&client, &service);
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_copy_of_a_bootstrap_begins_no_second_conversation() {
        let (client, service) = (client("", CONVERSATION), service("", CONVERSATION));
        let kept = Granted::default();
        let memory = Memory {
            contexts: &kept,
            ..NO_CACHE
        };
        let request = asked(&client, None).bytes;
        answered(&service, request.clone(), memory);
        let copy = received(&service, request, memory).map(drop);
        assert_eq!(copy, Err(Rejected::Replayed));
        assert_eq!(kept.contexts().len(), 1);
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_copy_of_a_bootstrap_is_refused_without_the_librarys_cache() {
        let (client, service) = (client("", CONVERSATION), service("", CONVERSATION));
        let (kept, cache) = (Granted::default(), Kept::default());
        let memory = Memory {
            replay: &cache,
            contexts: &kept,
        };
        let request = asked(&client, None).bytes;
        answered(&service, request.clone(), memory);
        let copy = received(&service, request, memory).map(drop);
        assert_eq!(copy, Err(Rejected::Replayed));
        assert_eq!(kept.contexts().len(), 1);
    }

    /// WS-SecureConversation 1.4, 3: who could step down from the context to the bootstrap would
    /// go on without the context.
    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_ticket_stands_for_no_message_of_the_application() {
        let security = "mechanism = \"sign-encrypt\", suite = \"Basic256GCM\"";
        let (client, service) = (client("", security), service("", CONVERSATION));
        let request = client.secure(plain()).expect("a token").bytes;
        let refused = received(&service, request, NO_CACHE).map(drop);
        assert_eq!(refused, Err(Rejected::NotInConversation));
    }

    /// A context is kept beyond a reload, and the rules are those of today.
    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_conversation_ends_when_its_client_is_not_accepted_any_more() {
        let (client, before) = (client("", CONVERSATION), service("", CONVERSATION));
        let kept = Granted::default();
        let memory = Memory {
            contexts: &kept,
            ..NO_CACHE
        };
        let mut handshake = asked(&client, None);
        let request = std::mem::take(&mut handshake.bytes);
        let answer = answered(&before, request, memory);
        let context = concluded(&client, handshake, answer.bytes);
        let later = |rules: &str| {
            let reloaded = service(rules, CONVERSATION);
            received(&reloaded, within(&client, &context).bytes, memory).map(drop)
        };
        let unknown =
            |found: Result<(), Rejected>| matches!(found, Err(Rejected::ContextUnknown { .. }));
        assert!(unknown(later(&format!(", clients = [\"{BOB}\"]"))));
        assert!(unknown(later(", realms = [\"ELSEWHERE.COM\"]")));
        assert_eq!(later(""), Ok(()));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_ticket_renews_and_cancels_the_conversations_of_its_client_alone() {
        let (alice, service) = (client("", CONVERSATION), service("", CONVERSATION));
        let bob = client_of(BOB, "", CONVERSATION);
        let kept = Granted::default();
        let memory = Memory {
            contexts: &kept,
            ..NO_CACHE
        };
        let mut handshake = asked(&alice, None);
        let request = std::mem::take(&mut handshake.bytes);
        let answer = answered(&service, request, memory);
        let context = concluded(&alice, handshake, answer.bytes);
        let stolen = answered(&service, asked(&bob, Some(&context)).bytes, memory);
        let refused = stolen.refused.map(|fault| fault.refusal.name());
        assert_eq!(refused, Some("context-not-proven"));
        let mut handshake = asked(&alice, Some(&context));
        let request = std::mem::take(&mut handshake.bytes);
        let answer = answered(&service, request, memory);
        assert!(answer.refused.is_none(), "{:?}", answer.refused);
        let renewed = concluded(&alice, handshake, answer.bytes);
        assert_ne!(renewed.instance, context.instance);
    }
}
