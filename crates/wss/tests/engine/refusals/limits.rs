//! Messages with as much as the limits allow, and with one more.

use soapstone_wss::names::DS;
use soapstone_wss::{Mechanism, Policy, Rejected};

use super::{cut, refuse, sign};
use crate::support::*;

/// A message with more of an element at the end of its `wsse:Security` header.
fn with_more(message: &str, element: &str, count: usize) -> String {
    let end = "</wsse:Security>";
    message.replacen(end, &(element.repeat(count) + end), 1)
}

#[test]
fn a_header_of_the_largest_size_is_accepted_and_one_with_a_byte_more_is_refused() {
    let message = secure(&sign(), PLAIN);
    let size = cut(&message, "soap:Header").len();
    let limited = |limit: usize| with(&sign(), |policy| policy.limits.header = limit);
    assert!(open(&limited(size), &message).is_ok());
    let limit = size - 1;
    let what = "bytes of `soap:Header`";
    assert_eq!(
        refuse(&limited(limit), &message),
        Rejected::TooMany { what, limit }
    );
}

/// An element without its id, so that it can stand there several times.
fn nameless(element: &str) -> String {
    let (before, id) = element.split_once("Id=\"").unwrap();
    let (_, after) = id.split_once('"').unwrap();
    // With the prefix of the attribute, where it has one.
    format!("{}{after}", &before[..before.rfind(' ').unwrap()])
}

/// Each of them is work: a value to verify, a private key's operation, a certificate to look for.
#[test]
fn signatures_keys_and_tokens_beyond_the_limits_are_refused_before_they_are_used() {
    let signed = secure(&sign(), PLAIN);
    let token = nameless(cut(&signed, "wsse:BinarySecurityToken"));
    let signature = format!("<ds:Signature xmlns:ds=\"{DS}\"/>");
    let encrypting = policy(Mechanism::Encrypt, "Basic128GCM");
    let encrypted = secure(&encrypting, PLAIN);
    let key = cut(&encrypted, "xenc:EncryptedKey");
    let key = nameless(&key.replacen(cut(key, "xenc:ReferenceList"), "", 1));
    let cases: [(Policy, &str, &str, &str, usize); 3] = [
        (sign(), &signed, &signature, "signatures", 4),
        (sign(), &signed, &token, "security tokens", 16),
        (encrypting, &encrypted, &key, "`xenc:EncryptedKey`", 4),
    ];
    for (policy, message, element, what, limit) in cases {
        let too_many = Rejected::TooMany { what, limit };
        // One is there.
        let most = open(&policy, &with_more(message, element, limit - 1));
        assert_ne!(most.err(), Some(too_many.clone()));
        let beyond = refuse(&policy, &with_more(message, element, limit));
        assert_eq!(beyond, too_many);
    }
}
