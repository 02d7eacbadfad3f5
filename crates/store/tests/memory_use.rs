//! What an idle conversation costs in memory: measured on processes of their own, C libraries
//! included.

mod servers;

use std::process::Command;

use jiff::Timestamp;
use servers::{at, context};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::random::Supply;
use soapstone::crypto::{
    Certificate, DataEncryption, KeyUse, NONCE_OCTETS, SignatureAlgorithm, SymmetricKey,
    seal_in_place,
};
use soapstone::wss::{ContextOwner, SecurityContext};
use soapstone_store::MemoryContexts;
use soapstone_testkit::keys;

/// The bar: no more than so many bytes for each idle conversation.
const MOST: usize = 2_000;

/// Bytes of memory that this process has in use.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("this is Linux");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number of pages") * 4096
}

/// Prints what each of so many conversations takes, whose owners are made as a gateway makes them:
/// read from a message of their own.
fn measure(conversations: u32, owner: impl Fn(u32) -> ContextOwner) {
    let store = MemoryContexts::new(conversations as usize);
    let before = resident();
    for number in 0..conversations {
        let context = SecurityContext {
            secret: SymmetricKey::generate(32).expect("octets"),
            owner: owner(number),
            ..context(number, 0)
        };
        store.insert("/books", &context).expect("there is room");
    }
    let after = resident();
    assert_eq!(store.len(), conversations as usize);
    let each = after.saturating_sub(before) / conversations as usize;
    println!("{conversations} conversations, bytes each: {each}");
}

/// Runs one of the measurements below in a process that nothing else has used.
fn measured(name: &str) -> usize {
    let output = Command::new(std::env::current_exe().expect("a test program"))
        .args(["--exact", name, "--ignored", "--nocapture"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let each = text
        .lines()
        .find_map(|line| line.split_once("bytes each: ")?.1.parse().ok());
    let each = each.unwrap_or_else(|| panic!("{name}: {text}"));
    println!("{name}: {each} bytes each");
    each
}

fn certificates(count: usize) -> Vec<Vec<u8>> {
    let key = keys::key(keys::RSA);
    (0..count)
        .map(|number| {
            let subject = format!("CN=client {number},OU=Retail,O=Example Books,C=DE");
            let template =
                Template::new(&subject, Validity::days(Timestamp::now(), 365)).expect("a template");
            let identity = issue::self_signed(key.clone(), &template).expect("a certificate");
            identity.certificate().der().to_vec()
        })
        .collect()
}

fn read(der: &[u8]) -> ContextOwner {
    let certificate = Certificate::from_der(der).expect("a certificate");
    // What verification looks at on the way.
    assert!(!certificate.subject().is_empty());
    ContextOwner::Certificate(certificate)
}

#[test]
#[ignore = "a measurement, run by the test that judges it"]
fn conversations_of_few_clients_with_certificates() {
    let clients = certificates(200);
    measure(20_000, |number| {
        read(&clients[number as usize % clients.len()])
    });
}

#[test]
#[ignore = "a measurement, run by the test that judges it"]
fn conversations_of_as_many_clients_with_certificates() {
    let clients = certificates(3_000);
    measure(3_000, |number| read(&clients[number as usize]));
}

#[test]
#[ignore = "a measurement, run by the test that judges it"]
fn conversations_of_as_many_users() {
    measure(20_000, |number| {
        ContextOwner::User(format!("user {number}"))
    });
}

/// What a context in use has kept with it at most: the keys of three nodes at the other end, and as
/// many that are used here.
#[test]
#[ignore = "a measurement, run by the test that judges it"]
fn derived_keys_of_conversations_in_use() {
    const CONVERSATIONS: u32 = 1_000;
    let used = |length: usize| {
        let key = SymmetricKey::generate(length).expect("octets");
        let (mut sealed, algorithm) = (vec![0; 64], DataEncryption::Aes256Gcm);
        if length == algorithm.key_length() {
            let mut supply = Supply::default();
            seal_in_place(algorithm, &key, &mut sealed, 0, &mut supply).expect("it enciphers");
        } else {
            let hmac = SignatureAlgorithm::HmacSha256;
            key.sign(hmac, &sealed, None).expect("it signs");
        }
        key
    };
    let before = resident();
    let secrets: Vec<SymmetricKey> = (0..CONVERSATIONS)
        .map(|_| {
            let secret = SymmetricKey::generate(32).expect("octets");
            for length in [24, 32] {
                for number in 0..3 {
                    let nonce = [number; NONCE_OCTETS];
                    let seed = [b"WS-SecureConversation".repeat(2), nonce.to_vec()].concat();
                    secret.derived().keep(&[&seed], 0, &used(length));
                    let usage = KeyUse {
                        purpose: number,
                        algorithm: "one of them",
                        length,
                    };
                    secret.derived().choose(usage, nonce, &used(length));
                }
            }
            secret
        })
        .collect();
    let each = resident().saturating_sub(before) / secrets.len();
    println!("{CONVERSATIONS} conversations, bytes each: {each}");
}

/// The bar of what is kept with each of the contexts used last.
const MOST_IN_USE: usize = 18_000;

#[test]
fn a_conversation_in_use_has_no_more_keys_kept_with_it_than_are_said() {
    let each = measured("derived_keys_of_conversations_in_use");
    assert!(each <= MOST_IN_USE, "{each}");
}

#[test]
fn an_idle_conversation_takes_at_most_two_kilobytes() {
    for name in [
        "conversations_of_few_clients_with_certificates",
        "conversations_of_as_many_clients_with_certificates",
        "conversations_of_as_many_users",
    ] {
        let each = measured(name);
        assert!(each <= MOST, "{name}: {each}");
    }
}

#[test]
fn a_full_store_refuses_until_conversations_end() {
    let store = MemoryContexts::new(2);
    store.insert("/", &context(1, 0)).expect("there is room");
    store.insert("/", &context(2, 0)).expect("there is room");
    let full = StoreUnavailable::Full { capacity: Some(2) };
    assert_eq!(store.insert("/", &context(3, 1)), Err(full.clone()));
    assert_eq!(store.cancel("/", &context(1, 0).identifier), Ok(true));
    store
        .insert("/", &context(3, 2))
        .expect("one was cancelled");
    assert_eq!(store.insert("/", &context(4, 3)), Err(full));
    store
        .insert("/", &context(4, 3600))
        .expect("one has expired");
    let found = store.find("/", &context(3, 2).name(), at(3600));
    assert!(
        found.expect("it answers").is_some(),
        "it lives for two more seconds"
    );
    assert_eq!(store.len(), 2);
}
