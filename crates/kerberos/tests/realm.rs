//! Tokens made and accepted with a live KDC of MIT Kerberos: what is accepted, and every refusal
//! with its reason.
//!
//! Each test starts a realm, and runs its body in a process of that realm: the ignored test of the
//! same name in `body`.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use soapstone_kerberos::{
    Accepted, Acceptor, AcceptorRules, ApRequest, ClientCredential, Enctype, Framing, Initiated,
    Initiator, InitiatorRules, KerberosError, Principal,
};
use soapstone_testkit::kdc::{self, Realm};

const SERVICE: &str = "HTTP/books.example@EXAMPLE.COM";
const OTHER: &str = "HTTP/other.example@EXAMPLE.COM";
const ALICE: &str = "alice@EXAMPLE.COM";

fn principal(name: &str) -> Principal {
    Principal::parse(name).expect("a name")
}

/// A realm with a service, another one, and a client; or none where there are no programs.
fn realm(settings: &str, options: &str) -> Option<Realm> {
    if !kdc::is_there() {
        return None;
    }
    let realm = Realm::start(settings);
    realm.keytab(SERVICE, options);
    realm.keytab(OTHER, "");
    realm.keytab(ALICE, "");
    Some(realm)
}

fn run(realm: Option<Realm>, test: &str) {
    if let Some(realm) = realm {
        kdc::within(&realm, &format!("body::{test}"), &[]);
    }
}

#[test]
fn both_sides_have_one_key_in_either_framing() {
    run(realm("", ""), "both_sides_have_one_key_in_either_framing");
}

#[test]
fn a_token_is_accepted_once_and_by_nobody_else() {
    run(realm("", ""), "a_token_is_accepted_once_and_by_nobody_else");
}

#[test]
fn what_was_changed_is_refused() {
    run(realm("", ""), "what_was_changed_is_refused");
}

#[test]
fn weak_encryption_types_are_refused_on_both_sides() {
    let weak = "allow_weak_crypto = true\n allow_rc4 = true";
    let realm = realm(weak, "-e arcfour-hmac:normal");
    run(realm, "weak_encryption_types_are_refused_on_both_sides");
}

#[test]
fn a_ticket_ends() {
    let Some(realm) = realm("clockskew = 1", "") else {
        return;
    };
    let keytab = realm.folder().path("alice-EXAMPLE.COM.keytab");
    realm.cache(ALICE, &keytab, &["-l", "2s"]);
    kdc::within(&realm, "body::a_ticket_ends", &[]);
}

#[test]
fn a_ticket_that_is_accepted_beyond_its_end_has_ended() {
    let Some(realm) = realm("", "") else {
        return;
    };
    let keytab = realm.folder().path("alice-EXAMPLE.COM.keytab");
    realm.cache(ALICE, &keytab, &["-l", "2s"]);
    let test = "body::a_ticket_that_is_accepted_beyond_its_end_has_ended";
    kdc::within(&realm, test, &[]);
}

#[test]
fn clients_of_other_realms_and_other_clients_are_refused() {
    run(
        realm("", ""),
        "clients_of_other_realms_and_other_clients_are_refused",
    );
}

#[test]
fn a_service_without_its_files_blames_itself() {
    let Some(realm) = realm("", "") else {
        return;
    };
    let nowhere = realm.folder().path("nowhere/replays");
    let cache = format!("file2:{}", nowhere.display());
    let cache = [("KRB5RCACHENAME", cache.as_str())];
    kdc::within(&realm, "body::without_a_replay_cache", &cache);
    kdc::within(&realm, "body::without_a_keytab", &[]);
}

#[test]
fn tickets_of_a_keytab_outlive_their_initiator() {
    run(realm("", ""), "tickets_of_a_keytab_outlive_their_initiator");
}

#[test]
fn a_kdc_that_is_away_has_its_reason_and_tickets_that_are_there_go_on() {
    let Some(mut realm) = realm("", "") else {
        return;
    };
    let keytab = realm.folder().path("alice-EXAMPLE.COM.keytab");
    let cache = realm.cache(ALICE, &keytab, &[]);
    // With a ticket for the service in the cache, nobody has to be asked.
    let mut kvno = realm.command("/usr/bin/kvno");
    let got = kvno.arg("-c").arg(&cache).arg(SERVICE).output();
    assert!(got.expect("kvno starts").status.success());
    realm.stop_kdc();
    kdc::within(&realm, "body::with_the_kdc_away", &[]);
    let hangs: TcpListener = realm.hang_kdc();
    kdc::within(&realm, "body::with_a_kdc_that_hangs", &[]);
    drop(hangs);
}

mod body {
    use super::*;

    fn file(name: &str) -> PathBuf {
        kdc::inside().expect("the process of a realm").join(name)
    }

    fn keytab_of(name: &str) -> PathBuf {
        file(&format!("{}.keytab", name.replace(['/', '@'], "-")))
    }

    fn rules() -> AcceptorRules {
        AcceptorRules::new(keytab_of(SERVICE), principal(SERVICE))
    }

    fn acceptor(rules: AcceptorRules) -> Acceptor {
        Acceptor::new(rules).expect("a path of text")
    }

    fn initiator_rules() -> InitiatorRules {
        InitiatorRules {
            service: principal(SERVICE),
            credential: ClientCredential::Keytab {
                file: keytab_of(ALICE),
                principal: principal(ALICE),
            },
            framing: Framing::Gss,
            enctypes: Enctype::STRONG.to_vec(),
            timeout: Duration::from_secs(60),
        }
    }

    fn initiator(rules: InitiatorRules) -> Initiator {
        Initiator::new(rules).expect("the library is there")
    }

    fn token() -> Initiated {
        initiator(initiator_rules()).initiate().expect("a token")
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn both_sides_have_one_key_in_either_framing() {
        for framing in [Framing::Gss, Framing::Raw] {
            let client = initiator(InitiatorRules {
                framing,
                ..initiator_rules()
            });
            let made = client.initiate().expect("a token");
            let accepted = acceptor(rules()).accept(&made.token, framing);
            let Accepted {
                client,
                key,
                enctype,
                ends,
                authenticator,
            } = accepted.expect("a good token");
            assert_eq!(client, principal(ALICE));
            assert!(key.expose() == made.key.expose(), "the keys differ");
            assert_eq!(key.expose().len(), 32);
            assert_eq!((enctype, made.enctype), (Enctype(18), Enctype(18)));
            // Ten hours, without the five minutes by which clocks may differ.
            assert_eq!(ends, made.ends);
            let rest = ends.duration_since(SystemTime::now()).expect("it lives");
            assert!(rest > Duration::from_secs(3600), "{rest:?}");
            assert!(rest <= Duration::from_secs(36_000), "{rest:?}");
            let read = ApRequest::parse(&made.token, framing).expect("an AP-REQ");
            assert_eq!(read.authenticator_cipher, authenticator);
        }
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_token_is_accepted_once_and_by_nobody_else() {
        let made = token();
        let accept = |rules| acceptor(rules).accept(&made.token, Framing::Gss).map(drop);
        let other = AcceptorRules::new(keytab_of(OTHER), principal(OTHER));
        let expected = KerberosError::WrongService {
            expected: "HTTP/other.example".to_owned(),
            found: "HTTP/books.example".to_owned(),
        };
        assert_eq!(accept(other), Err(expected));
        let elsewhere = "HTTP/books.example@ELSEWHERE.COM";
        let elsewhere = AcceptorRules::new(keytab_of(SERVICE), principal(elsewhere));
        let expected = KerberosError::WrongRealm {
            expected: "ELSEWHERE.COM".to_owned(),
            found: "EXAMPLE.COM".to_owned(),
        };
        assert_eq!(accept(elsewhere), Err(expected));
        assert_eq!(accept(rules()), Ok(()));
        assert_eq!(accept(rules()), Err(KerberosError::Replayed));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn what_was_changed_is_refused() {
        let made = token();
        let read = ApRequest::parse(&made.token, Framing::Gss).expect("an AP-REQ");
        let authenticator = read.authenticator_cipher.as_ptr() as usize;
        let authenticator = authenticator - made.token.as_ptr() as usize;
        let accept = |at: usize| {
            let mut changed = made.token.clone();
            changed[at] ^= 1;
            let accepted = acceptor(rules()).accept(&changed, Framing::Gss);
            accepted.map(drop)
        };
        // The ticket's cipher text ends in front of the authenticator's header.
        assert_eq!(accept(authenticator - 40), Err(KerberosError::Integrity));
        assert_eq!(accept(authenticator + 20), Err(KerberosError::Integrity));
        let last = made.token.len() - 1;
        assert_eq!(accept(last), Err(KerberosError::Integrity));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn weak_encryption_types_are_refused_on_both_sides() {
        let weak = Enctype(23);
        let expected = |what| KerberosError::Enctype { what, found: weak };
        let strict = initiator(initiator_rules()).initiate().map(drop);
        assert_eq!(strict, Err(expected("the ticket")));
        let lenient = initiator(InitiatorRules {
            enctypes: vec![weak, Enctype(18)],
            ..initiator_rules()
        });
        let made = lenient.initiate().expect("a token");
        let accepted = acceptor(rules()).accept(&made.token, Framing::Gss);
        assert_eq!(accepted.map(drop), Err(expected("the ticket")));
        let allowed = AcceptorRules {
            enctypes: vec![weak, Enctype(18)],
            ..rules()
        };
        let accepted = acceptor(allowed).accept(&made.token, Framing::Gss);
        assert_eq!(accepted.map(drop), Ok(()));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_ticket_ends() {
        let client = initiator(InitiatorRules {
            credential: ClientCredential::Cache(file("alice-EXAMPLE.COM")),
            ..initiator_rules()
        });
        let made = client.initiate().expect("a token");
        // Two seconds, and one of skew.
        std::thread::sleep(Duration::from_secs(5));
        let accepted = acceptor(rules()).accept(&made.token, Framing::Gss);
        assert_eq!(accepted.map(drop), Err(KerberosError::Expired));
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn a_ticket_that_is_accepted_beyond_its_end_has_ended() {
        let client = initiator(InitiatorRules {
            credential: ClientCredential::Cache(file("alice-EXAMPLE.COM")),
            ..initiator_rules()
        });
        let made = client.initiate().expect("a token");
        std::thread::sleep(Duration::from_secs(3));
        let accepted = acceptor(rules()).accept(&made.token, Framing::Gss);
        let ends = accepted.expect("the clocks may differ").ends;
        assert_eq!(ends, made.ends);
        assert!(ends <= SystemTime::now());
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn clients_of_other_realms_and_other_clients_are_refused() {
        let accept = |rules| {
            let accepted = acceptor(rules).accept(&token().token, Framing::Gss);
            accepted.map(drop)
        };
        let client = ALICE.to_owned();
        let realms = AcceptorRules {
            realms: vec!["ELSEWHERE.COM".to_owned()],
            ..rules()
        };
        let expected = KerberosError::ClientRealm {
            client: client.clone(),
        };
        assert_eq!(accept(realms), Err(expected));
        let clients = AcceptorRules {
            clients: vec![principal("bob@EXAMPLE.COM")],
            ..rules()
        };
        assert_eq!(accept(clients), Err(KerberosError::Client { client }));
        let clients = AcceptorRules {
            clients: vec![principal(ALICE)],
            ..rules()
        };
        assert_eq!(accept(clients), Ok(()));
    }

    /// The refusal of a good token, for a reason that the client has no part in.
    fn own_failure(rules: AcceptorRules) -> String {
        let accepted = acceptor(rules).accept(&token().token, Framing::Gss);
        let refused = accepted.map(drop).expect_err("a file is missing");
        assert!(refused.is_temporary(), "{refused:?}");
        let KerberosError::Machine { problem, .. } = refused else {
            panic!("{refused:?}");
        };
        problem
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn without_a_replay_cache() {
        let problem = own_failure(rules());
        assert!(problem.contains("No such file"), "{problem}");
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn without_a_keytab() {
        let gone = AcceptorRules::new(file("gone.keytab"), principal(SERVICE));
        let problem = own_failure(gone);
        assert!(problem.contains("gone.keytab"), "{problem}");
        // The right name, and the keys of another service.
        let keys_of_other = AcceptorRules::new(keytab_of(OTHER), principal(SERVICE));
        let problem = own_failure(keys_of_other);
        assert!(problem.contains("books.example"), "{problem}");
    }

    /// A gateway makes its initiators anew when it reads its files again.
    #[test]
    #[ignore = "runs in the process of a realm"]
    fn tickets_of_a_keytab_outlive_their_initiator() {
        // The ticket of the client, and that for the service.
        let issued = || {
            let log = std::fs::read_to_string(file("kdc.log"));
            log.expect("the KDC writes one")
                .matches(": ISSUE: ")
                .count()
        };
        let before = issued();
        for _ in 0..3 {
            token();
        }
        assert_eq!(issued(), before + 2);
        // Another service has tickets of its own: no service waits for the KDC of another.
        let other = initiator(InitiatorRules {
            service: principal(OTHER),
            ..initiator_rules()
        });
        assert!(other.initiate().is_ok());
        assert_eq!(issued(), before + 4);
    }

    /// A client with a ticket for the service, and one without.
    fn with_and_without() -> [Initiator; 2] {
        let timeout = Duration::from_secs(1);
        let cached = InitiatorRules {
            credential: ClientCredential::Cache(file("alice-EXAMPLE.COM")),
            timeout: Duration::from_secs(60),
            ..initiator_rules()
        };
        let asking = InitiatorRules {
            timeout,
            ..initiator_rules()
        };
        [initiator(cached), initiator(asking)]
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn with_the_kdc_away() {
        let [cached, _] = with_and_without();
        let asking = initiator(initiator_rules());
        assert!(cached.initiate().is_ok(), "a ticket that is there goes on");
        let Err(refused) = asking.initiate() else {
            panic!("nobody gives a ticket");
        };
        assert!(refused.is_temporary(), "{refused:?}");
        let KerberosError::Unreachable { problem } = &refused else {
            panic!("{refused:?}");
        };
        assert!(problem.contains("KDC"), "{problem}");
    }

    #[test]
    #[ignore = "runs in the process of a realm"]
    fn with_a_kdc_that_hangs() {
        let [cached, asking] = with_and_without();
        let after = Duration::from_secs(1);
        for _ in 0..3 {
            let refused = asking.initiate().map(drop);
            assert_eq!(refused, Err(KerberosError::TimedOut { after }));
            assert!(cached.initiate().is_ok(), "a ticket that is there goes on");
        }
        // One that the library has, 256 that wait for it, and others.
        let refused: Vec<_> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..300)
                .map(|_| scope.spawn(|| asking.initiate().map(drop)))
                .collect();
            let refused = callers.into_iter().map(|caller| caller.join());
            refused.map(|refused| refused.expect("no panic")).collect()
        });
        let busy = Err(KerberosError::Busy { waiting: 256 });
        assert!(refused.contains(&busy), "{refused:?}");
        let late = Err(KerberosError::TimedOut { after });
        assert!(refused.iter().all(|one| *one == busy || *one == late));
    }
}
