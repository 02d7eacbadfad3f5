//! Kerberos tokens of endpoint files, in both directions, with a live KDC.
//!
//! Each test starts a realm, and runs its body in a process of that realm: the ignored test of the
//! same name in `body`.
#![cfg(feature = "kerberos")]

#[path = "support/contexts.rs"]
#[expect(dead_code, reason = "shared by tests that use parts of it")]
mod contexts;

use std::collections::HashSet;
use std::sync::Mutex;

use contexts::Granted;
use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Call, Handshake, TokenAnswer};
use soapstone::replay::{ForgetfulReplayCache, ReplayCache, ReplayError};
use soapstone::wss::{
    ContextOwner, FirstSeen, Outgoing, Rejected, ReplayKey, SecureError, Secured, SecurityContext,
    Signer, SoapVersion,
};
use soapstone::xml::Buffers;
use soapstone::{Arrived, Client, Memory, OpenedMessage, ReceiveError, Service};
use soapstone_testkit::envelope::ECHO;
use soapstone_testkit::kdc::{self, Realm};

const SERVICE: &str = "HTTP/books.example@EXAMPLE.COM";
const ALICE: &str = "alice@EXAMPLE.COM";
const BOB: &str = "bob@EXAMPLE.COM";

/// Runs a body in a realm; `more` is its environment.
fn run(test: &str, more: &[(&str, &str)]) {
    if !kdc::is_there() {
        return;
    }
    let realm = Realm::start("");
    for name in [SERVICE, ALICE, BOB] {
        realm.keytab(name, "");
    }
    kdc::within(&realm, &format!("body::{test}"), more);
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

#[test]
fn the_session_key_protects_requests_and_answers() {
    run("the_session_key_protects_requests_and_answers", &[]);
}

#[test]
fn a_token_over_tls_endorses_or_authenticates() {
    run("a_token_over_tls_endorses_or_authenticates", &[]);
}

#[test]
fn a_token_is_carried_once_where_both_sides_say_so() {
    run("a_token_is_carried_once_where_both_sides_say_so", &[]);
}

#[test]
fn a_session_ends_when_its_client_is_not_accepted_any_more() {
    run(
        "a_session_ends_when_its_client_is_not_accepted_any_more",
        &[],
    );
}

#[test]
fn a_copy_is_refused_by_the_library_without_our_cache() {
    run("a_copy_is_refused_by_the_library_without_our_cache", &[]);
}

#[test]
fn a_ticket_begins_a_conversation_that_ends_with_it() {
    run("a_ticket_begins_a_conversation_that_ends_with_it", &[]);
}

#[test]
fn a_policy_has_a_ticket_begin_a_conversation() {
    run("a_policy_has_a_ticket_begin_a_conversation", &[]);
}

#[test]
fn a_copy_of_a_bootstrap_begins_no_second_conversation() {
    run("a_copy_of_a_bootstrap_begins_no_second_conversation", &[]);
}

/// By our cache alone.
#[test]
fn a_copy_of_a_bootstrap_is_refused_without_the_librarys_cache() {
    let none = [("KRB5RCACHENAME", "none:")];
    let test = "a_copy_of_a_bootstrap_is_refused_without_the_librarys_cache";
    run(test, &none);
}

#[test]
fn a_ticket_stands_for_no_message_of_the_application() {
    run("a_ticket_stands_for_no_message_of_the_application", &[]);
}

#[test]
fn a_conversation_ends_when_its_client_is_not_accepted_any_more() {
    run(
        "a_conversation_ends_when_its_client_is_not_accepted_any_more",
        &[],
    );
}

#[test]
fn a_ticket_renews_and_cancels_the_conversations_of_its_client_alone() {
    run(
        "a_ticket_renews_and_cancels_the_conversations_of_its_client_alone",
        &[],
    );
}

/// The library's replay cache is one more line of defence, not the only one.
#[test]
fn a_copy_is_refused_by_our_cache_without_the_librarys() {
    let none = [("KRB5RCACHENAME", "none:")];
    run("a_copy_is_refused_by_our_cache_without_the_librarys", &none);
}

#[test]
fn tokens_of_others_and_changed_ones_are_refused() {
    run("tokens_of_others_and_changed_ones_are_refused", &[]);
}

#[test]
fn a_kdc_that_is_away_is_a_temporary_failure_with_its_reason() {
    if !kdc::is_there() {
        return;
    }
    let mut realm = Realm::start("");
    for name in [SERVICE, ALICE] {
        realm.keytab(name, "");
    }
    let hangs = realm.hang_kdc();
    kdc::within(&realm, "body::with_a_kdc_that_hangs", &[]);
    drop(hangs);
}

#[test]
fn a_keytab_that_is_not_there_is_reported_when_the_file_is_read() {
    if !kdc::is_there() {
        return;
    }
    let folder = soapstone_testkit::Folder::new();
    let path = folder.path("gone.keytab");
    let expected = format!(
        "endpoint.toml:1:12: `{}`: No such file or directory (os error 2)",
        path.display()
    );
    let common = format!("keytab = \"{}\"", path.display());
    let config = |keys: &str| {
        let text =
            format!("kerberos = {{ {common}, {keys} }}\nsecurity = {{ mechanism = \"sign\" }}\n");
        let file = std::path::Path::new("endpoint.toml");
        EndpointConfig::from_text(&text, file, &|_| None).expect("well-formed")
    };
    let service = Service::from_config(&config(&format!("principal = \"{SERVICE}\"")));
    let client = format!("principal = \"{ALICE}\", service = \"{SERVICE}\"");
    let client = Client::from_config(&config(&client));
    let problems = [
        service.expect_err("no keys").to_string(),
        client.expect_err("no keys").to_string(),
    ];
    assert_eq!(problems, [expected.clone(), expected]);
}

/// A cache that remembers marks for good.
#[derive(Debug, Default)]
struct Remembering(Mutex<HashSet<[u8; 32]>>);

impl ReplayCache for Remembering {
    fn first_seen(&self, marks: &[ReplayKey], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        let mut seen = self.0.lock().expect("no panic");
        if marks.iter().any(|mark| seen.contains(&mark.key)) {
            return Err(ReplayError::Seen);
        }
        seen.extend(marks.iter().map(|mark| mark.key));
        Ok(FirstSeen::assertion(marks))
    }
}

impl Attempts for Remembering {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        _: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let seen = self.first_seen(marks, now)?;
        Ok((seen, vec![Tally::default(); names.len()]))
    }

    fn end(
        &self,
        names: &[KeyName],
        _: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        Ok(vec![Tally::default(); names.len()])
    }
}

mod body {
    use super::*;

    fn config(kerberos: &str, security: &str) -> EndpointConfig {
        let folder = kdc::inside().expect("the process of a realm");
        let text = format!("kerberos = {{ {kerberos} }}\nsecurity = {{ {security} }}\n");
        let config = EndpointConfig::from_text(&text, &folder.join("endpoint.toml"), &|_| None);
        config.unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    }

    fn client(kerberos: &str, security: &str) -> Client {
        client_of(ALICE, kerberos, security)
    }

    fn client_of(name: &str, kerberos: &str, security: &str) -> Client {
        let keytab = name.replace(['/', '@'], "-");
        let whose = format!(
            "keytab = \"{keytab}.keytab\", principal = \"{name}\", service = \"{SERVICE}\""
        );
        let config = config(&format!("{whose}, timeout = \"60s\"{kerberos}"), security);
        Client::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn service(kerberos: &str, security: &str) -> Service {
        let keytab = SERVICE.replace(['/', '@'], "-");
        let whose = format!("keytab = \"{keytab}.keytab\", principal = \"{SERVICE}\"");
        let config = config(&format!("{whose}{kerberos}"), security);
        Service::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
    }

    const NO_CACHE: Memory<'static> = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &soapstone::conversation::NoContexts,
    };

    fn plain() -> Vec<u8> {
        ECHO.as_bytes().to_vec()
    }

    fn received(
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

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).expect("a text")
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn the_session_key_protects_requests_and_answers() {
        for mechanism in ["sign", "sign-encrypt", "encrypt-sign"] {
            for kerberos in ["", ", derived_keys = false", ", form = \"raw\""] {
                let security = format!("mechanism = \"{mechanism}\", suite = \"Basic256GCM\"");
                let (client, service) = (client(kerberos, &security), service(kerberos, &security));
                let request = client.secure(plain()).expect("a token and its key");
                let arrived = received(&service, request.bytes, NO_CACHE);
                let arrived =
                    arrived.unwrap_or_else(|refused| panic!("{mechanism}{kerberos}: {refused}"));
                let found = arrived.evidence.kerberos.as_ref();
                assert_eq!(found.map(|found| found.client.as_str()), Some(ALICE));
                let signer = &arrived.evidence.signatures[0].signer;
                assert!(
                    matches!(signer, Signer::Kerberos(name) if name == ALICE),
                    "{signer:?}"
                );
                let answer = service.answer(plain(), &arrived.receipt);
                let answer = answer.expect("the session is known");
                let sent = text(&answer.bytes);
                assert!(sent.contains("#Kerberosv5APREQSHA1"), "{sent}");
                assert!(!sent.contains("BinarySecurityToken"), "{sent}");
                let opened = client.open(answer.bytes, request.receipt, NO_CACHE);
                let opened =
                    opened.unwrap_or_else(|refused| panic!("{mechanism}{kerberos}: {refused}"));
                assert!(text(&opened.bytes).contains("hello"));
            }
        }
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_token_over_tls_endorses_or_authenticates() {
        for usage in ["endorse", "authenticate"] {
            let kerberos = format!(", use = \"{usage}\"");
            let security = "mechanism = \"none\"";
            let (client, service) = (client(&kerberos, security), service(&kerberos, security));
            assert!(client.needs_tls() && service.needs_tls());
            let request = client.secure(plain()).expect("a token");
            let signs = text(&request.bytes).contains("SignatureValue");
            assert_eq!(signs, usage == "endorse");
            let arrived = received(&service, request.bytes, NO_CACHE);
            let arrived = arrived.unwrap_or_else(|refused| panic!("{usage}: {refused}"));
            let found = arrived.evidence.kerberos.as_ref();
            assert_eq!(found.map(|found| found.client.as_str()), Some(ALICE));
            let answer = service
                .answer(plain(), &arrived.receipt)
                .expect("an answer");
            let opened = client.open(answer.bytes, request.receipt, NO_CACHE);
            assert!(opened.is_ok(), "{usage}: {:?}", opened.err());
            let without = received(&service, plain(), NO_CACHE).map(drop);
            assert_eq!(without, Err(Rejected::SecurityMissing), "{usage}");
        }
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_token_is_carried_once_where_both_sides_say_so() {
        let security = "mechanism = \"sign\", suite = \"Basic256GCM\"";
        let once = ", include = \"once\"";
        let (client, keeps) = (client(once, security), service(once, security));
        let forgets = service("", security);
        let sessions = Granted::default();
        let memory = Memory {
            contexts: &sessions,
            ..NO_CACHE
        };
        let first = client.secure(plain()).expect("a token");
        assert!(text(&first.bytes).contains("BinarySecurityToken"));
        let first = received(&keeps, first.bytes, memory).map(drop);
        assert_eq!(first, Ok(()));
        let later = client.secure(plain()).expect("a session");
        let sent = text(&later.bytes);
        assert!(!sent.contains("BinarySecurityToken"), "{sent}");
        let refused = received(&forgets, later.bytes.clone(), memory).map(drop);
        assert_eq!(refused, Err(Rejected::KerberosUnknown));
        let empty = received(&keeps, later.bytes.clone(), NO_CACHE).map(drop);
        assert_eq!(empty, Err(Rejected::KerberosUnknown));
        let accepted = received(&keeps, later.bytes, memory).expect("a session that is kept");
        let answer = keeps.answer(plain(), &accepted.receipt).expect("an answer");
        let session = later.receipt.kerberos.clone().expect("a session");
        let opened = client.open(answer.bytes, later.receipt, NO_CACHE);
        assert!(opened.is_ok(), "{:?}", opened.err());
        // A request that names its token has the form of an answer.
        let reflected = client.secure(plain()).expect("a session");
        let reflected = client.open(reflected.bytes, reflected.receipt, NO_CACHE);
        assert_eq!(reflected.map(drop), Err(Rejected::Reflected));
        client.forget_kerberos_session(&session);
        let anew = client.secure(plain()).expect("a token");
        assert!(text(&anew.bytes).contains("BinarySecurityToken"));
        // A late word about the former session leaves the next one alone.
        client.forget_kerberos_session(&session);
        let later = client.secure(plain()).expect("a session");
        assert!(!text(&later.bytes).contains("BinarySecurityToken"));
    }

    /// A session is kept beyond a reload, and the rules are those of today.
    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_session_ends_when_its_client_is_not_accepted_any_more() {
        let security = "mechanism = \"sign\", suite = \"Basic256GCM\"";
        let once = ", include = \"once\"";
        let (client, before) = (client(once, security), service(once, security));
        let sessions = Granted::default();
        let memory = Memory {
            contexts: &sessions,
            ..NO_CACHE
        };
        let first = client.secure(plain()).expect("a token");
        assert_eq!(received(&before, first.bytes, memory).map(drop), Ok(()));
        let later = |rules: &str| {
            let reloaded = service(&format!("{once}{rules}"), security);
            let later = client.secure(plain()).expect("a session").bytes;
            assert!(!text(&later).contains("BinarySecurityToken"));
            received(&reloaded, later, memory).map(drop)
        };
        let unknown = Err(Rejected::KerberosUnknown);
        assert_eq!(later(&format!(", clients = [\"{BOB}\"]")), unknown);
        assert_eq!(later(", realms = [\"ELSEWHERE.COM\"]"), unknown);
        let named = format!(", clients = [\"{ALICE}\", \"{BOB}\"]");
        assert_eq!(later(&named), Ok(()));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_copy_is_refused_by_the_library_without_our_cache() {
        let security = "mechanism = \"sign\", suite = \"Basic256GCM\"";
        let (client, service) = (client("", security), service("", security));
        let request = client.secure(plain()).expect("a token").bytes;
        assert_eq!(
            received(&service, request.clone(), NO_CACHE).map(drop),
            Ok(())
        );
        let copy = received(&service, request, NO_CACHE).map(drop);
        assert_eq!(copy, Err(Rejected::Replayed));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_copy_is_refused_by_our_cache_without_the_librarys() {
        let (kerberos, security) = (", use = \"authenticate\"", "mechanism = \"none\"");
        let (client, service) = (client(kerberos, security), service(kerberos, security));
        let request = client.secure(plain()).expect("a token").bytes;
        // The library accepts it as often as it comes.
        for _ in 0..2 {
            let accepted = received(&service, request.clone(), NO_CACHE).map(drop);
            assert_eq!(accepted, Ok(()));
        }
        let cache = Remembering::default();
        let memory = Memory {
            replay: &cache,
            ..NO_CACHE
        };
        assert_eq!(
            received(&service, request.clone(), memory).map(drop),
            Ok(())
        );
        // The token in another message, which nothing ties it to.
        let other = text(&request).replace("hello", "hallo").into_bytes();
        let copy = received(&service, other, memory).map(drop);
        assert_eq!(copy, Err(Rejected::Replayed));
    }

    /// The token of a message, with its tags.
    fn token_of(message: &str) -> &str {
        let start = message.find("<wsse:BinarySecurityToken").expect("a token");
        let rest = &message[start..];
        let end = "</wsse:BinarySecurityToken>";
        &rest[..rest.find(end).expect("it ends") + end.len()]
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn tokens_of_others_and_changed_ones_are_refused() {
        let security = "mechanism = \"sign\", suite = \"Basic256GCM\"";
        let (alice, service) = (client("", security), service("", security));
        let bob = client_of(BOB, "", security);
        let refused = |message: String| {
            let refused = received(&service, message.into_bytes(), NO_CACHE).map(drop);
            refused.expect_err("it is not as it was sent")
        };
        let secured = |client: &Client| {
            let request = client.secure(plain()).expect("a token").bytes;
            String::from_utf8(request).expect("a text")
        };
        let content = |token: &str| {
            let start = token.find('>').expect("a tag") + 1;
            let end = token.rfind('<').expect("a tag");
            token[start..end].to_owned()
        };
        // Key confusion: the signature of one client under the token of another.
        let (of_alice, of_bob) = (secured(&alice), secured(&bob));
        let stolen = of_alice.replace(&content(token_of(&of_alice)), &content(token_of(&of_bob)));
        assert!(matches!(refused(stolen), Rejected::Signature(_)));
        // Two tokens: the second one finds no session.
        let (of_alice, of_bob) = (secured(&alice), secured(&bob));
        let second = token_of(&of_bob).replace("wsu:Id=\"", "wsu:Id=\"other-");
        let both = of_alice.replace(
            token_of(&of_alice),
            &[token_of(&of_alice), &second].concat(),
        );
        let is_refused = matches!(
            refused(both),
            Rejected::TooMany {
                what: "Kerberos tokens",
                limit: 1
            }
        );
        assert!(is_refused);
        // A token that was changed.
        let of_alice = secured(&alice);
        let token = content(token_of(&of_alice));
        let middle = token.len() / 2;
        let other = if token.as_bytes()[middle] == b'A' {
            "B"
        } else {
            "A"
        };
        let mut changed = token.clone();
        changed.replace_range(middle..=middle, other);
        let changed = refused(of_alice.replace(&token, &changed));
        let name = changed.name();
        assert_eq!(name, "kerberos-refused", "{changed}");
        // A token that says that it is of another form.
        let of_alice = secured(&alice);
        let raw = refused(of_alice.replace("#GSS_Kerberosv5_AP_REQ", "#Kerberosv5_AP_REQ"));
        assert_eq!(raw.name(), "kerberos-refused", "{raw}");
        // Clients who are not named, and realms.
        let bobs = self::service(&format!(", clients = [\"{BOB}\"]"), security);
        let request = secured(&alice).into_bytes();
        let not_named = received(&bobs, request, NO_CACHE).map(drop);
        let problem = format!("the client `{ALICE}` is not accepted");
        assert_eq!(not_named, Err(Rejected::KerberosRefused { problem }));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn with_a_kdc_that_hangs() {
        let alice = "keytab = \"alice-EXAMPLE.COM.keytab\", principal = \"alice@EXAMPLE.COM\"";
        let kerberos = format!("{alice}, service = \"{SERVICE}\", timeout = \"1s\"");
        let config = config(&kerberos, "mechanism = \"sign\", suite = \"Basic256GCM\"");
        let client = Client::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(client.asks_for_tickets());
        let refused = client.secure(plain()).expect_err("nobody gives a ticket");
        assert!(refused.is_temporary());
        let SecureError::KerberosUnavailable { problem, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(problem, "the KDC did not answer in 1000 ms");
    }

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
        let (kept, cache) = (Granted::default(), Remembering::default());
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
