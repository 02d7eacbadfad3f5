//! Requests and answers with a ticket each, and with the session key of one.

use super::*;

in_a_realm! {
    the_session_key_protects_requests_and_answers
    a_token_over_tls_endorses_or_authenticates
    a_token_is_carried_once_where_both_sides_say_so
    a_session_ends_when_its_client_is_not_accepted_any_more
    a_copy_is_refused_by_the_library_without_our_cache
    tokens_of_others_and_changed_ones_are_refused
}

/// The library's replay cache is one more line of defence, not the only one.
#[test]
fn a_copy_is_refused_by_our_cache_without_the_librarys() {
    let none = [("KRB5RCACHENAME", "none:")];
    run(
        concat!(
            module_path!(),
            "::body::a_copy_is_refused_by_our_cache_without_the_librarys"
        ),
        &none,
    );
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
    kdc::within(&realm, "requests::body::with_a_kdc_that_hangs", &[]);
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

mod body {
    use super::super::sides::*;
    use super::*;

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
        let cache = Kept::default();
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
}
