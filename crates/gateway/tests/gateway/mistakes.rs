//! Thirty and some mistakes that a newcomer makes in a gateway's file: each message says what was
//! expected, what was found, where, and what to do.

use std::path::Path;

use soapstone_gateway::Config;

const LISTEN: &str = "listen = \"127.0.0.1:8443\"\n";
const ROUTE: &str = "[[routes]]\npath = \"/b\"\nbackend = \"http://127.0.0.1:9/b\"\n";
const INBOUND: &str = "listen = \"127.0.0.1:8443\"\n[[routes]]\npath = \"/b\"\nbackend = \"http://127.0.0.1:9/b\"\n[routes.inbound]\n";
const USERS: &str = "users = [{ name = \"alice\", password = \"s\" }]\n";
const USERNAME: &str = "security = { mechanism = \"username\" }\n";

fn told(text: &str) -> String {
    Config::from_text(text, Path::new("g.toml"), &|_| None)
        .map(|_| ())
        .expect_err("the text has a mistake")
        .to_string()
}

#[test]
fn a_file_in_another_language_is_told_by_its_name() {
    for (text, expected) in [
        (
            "listen: 127.0.0.1:8443\nroutes:\n  - path: /b\n",
            "g.toml:1:9: not valid TOML: key with no value, expected `=`\n    \
             hint: this looks like YAML: a configuration file is TOML, as in listen = \"127.0.0.1:8443\"",
        ),
        (
            "{\"listen\": \"127.0.0.1:8443\"}",
            "g.toml:1:1: not valid TOML: invalid key-value pair, expected key\n    \
             hint: this looks like JSON: a configuration file is TOML, as in listen = \"127.0.0.1:8443\"",
        ),
    ] {
        assert_eq!(told(text), expected);
    }
    let text = format!("{LISTEN}[[routes]\n");
    let expected = "g.toml:2:10: not valid TOML: unclosed array table, expected `]`";
    assert_eq!(told(&text), expected);
}

/// What is written, piece by piece, and all that is said of it.
type Mistake = (&'static [&'static str], &'static str);

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    (
        &["listen = 127.0.0.1:8443\n", ROUTE],
        "g.toml:1:10: `listen` must be a string, found a number\n\
         g.toml:1:15: not valid TOML: invalid float, expected nothing",
    ),
    (
        &["listen = 8443\n", ROUTE],
        "g.toml:1:10: `listen` must be a string, found a whole number",
    ),
    (
        &["listen = \"gateway.example:8443\"\n", ROUTE],
        "g.toml:1:10: `listen` must be an address and a port, found another host than an address or localhost\n\
         \x20   hint: for example \"127.0.0.1:8443\", \"localhost:8443\", or \":8443\" for every address of this host",
    ),
    (
        &["listen = \"127.0.0.1:84430\"\n", ROUTE],
        "g.toml:1:10: `listen` must be an address and a port, found a text whose port is no number up to 65535\n\
         \x20   hint: for example \"127.0.0.1:8443\", \"localhost:8443\", or \":8443\" for every address of this host",
    ),
    (
        &["listen = \"http://127.0.0.1:8443\"\n", ROUTE],
        "g.toml:1:10: `listen` must be an address and a port, found another host than an address or localhost\n\
         \x20   hint: for example \"127.0.0.1:8443\", \"localhost:8443\", or \":8443\" for every address of this host",
    ),
    (
        &[LISTEN, "[routes]\npath = \"/b\"\nbackend = \"http://127.0.0.1:9\"\n"],
        "g.toml:2:1: `routes` must be an array of tables, written [[routes]], found a table",
    ),
    (
        &[LISTEN, "[[route]]\npath = \"/b\"\nbackend = \"http://127.0.0.1:9\"\n"],
        "g.toml:1:1: `routes` is missing\n\
         \x20   hint: say what is served: [[routes]] with path = \"/…\" and backend = \"http://…\"\n\
         g.toml:2:3: unknown key `route`\n\
         \x20   hint: did you mean `routes`?",
    ),
    (
        &[LISTEN, "[[routes]]\npath = \"/b\"\nbackend = \"127.0.0.1:9\"\n"],
        "g.toml:4:11: `backend` must be an http or https URL without a query and without a user, found a text without http:// or https://\n\
         \x20   hint: for example \"http://127.0.0.1:9000/books\"",
    ),
    (
        &[LISTEN, "[[routes]]\npath = \"/b\"\nbackend = \"ftp://h/b\"\n"],
        "g.toml:4:11: `backend` must be an http or https URL without a query and without a user, found a URL of another scheme\n\
         \x20   hint: for example \"http://127.0.0.1:9000/books\"",
    ),
    (
        &[LISTEN, "[[routes]]\npath = \"/b\"\nbackend = \"http://u:p@h/b\"\n"],
        "g.toml:4:11: `backend` must be an http or https URL without a query and without a user, found a URL with a user\n\
         \x20   hint: for example \"http://127.0.0.1:9000/books\"",
    ),
    (
        &[LISTEN, "[[routes]]\npath = \"/b\"\nbackend = \"http://h/b?wsdl\"\n"],
        "g.toml:4:11: `backend` must be an http or https URL without a query and without a user, found a URL with a query\n\
         \x20   hint: for example \"http://127.0.0.1:9000/books\"",
    ),
    (
        &[LISTEN, "[[routes]]\npath = \"/b\"\n"],
        "g.toml:2:1: `backend` is missing in [routes]\n\
         \x20   hint: for example backend = \"http://127.0.0.1:9000/books\"",
    ),
    (
        &[LISTEN, "[[routes]]\npath = \"http://h/b\"\nbackend = \"http://h/b\"\n"],
        "g.toml:3:8: `path` must begin with / and hold no query, found one that begins otherwise\n\
         \x20   hint: the path alone, as clients ask for it: path = \"/books\"",
    ),
    (
        &[LISTEN, "listen = \"127.0.0.1:8443\"\n", ROUTE],
        "g.toml:2:1: not valid TOML: duplicate key `listen`",
    ),
    (
        &[LISTEN, ROUTE, "[security]\nmechanism = \"sign\"\n"],
        "g.toml:5:2: unknown key `security`\n\
         \x20   hint: the tables of an endpoint stand below a route: [routes.inbound] or [routes.outbound]",
    ),
    (
        &[LISTEN, ROUTE, "[inbound]\nsecurity = { mechanism = \"sign\" }\n"],
        "g.toml:5:2: unknown key `inbound`\n\
         \x20   hint: the tables of an endpoint stand below a route: [routes.inbound] or [routes.outbound]",
    ),
    (
        &[INBOUND, "security = \"sign\"\n"],
        "g.toml:6:12: `security` must be a table, found a string\n\
         \x20   hint: write security = { … } with its keys, or [routes.inbound.security] before them",
    ),
    (
        &[INBOUND, USERS, "security = { }\n"],
        "g.toml:7:12: `mechanism` is missing in [routes.inbound.security]\n\
         \x20   hint: say mechanism = \"sign-encrypt\", for example; \"none\" is plain SOAP",
    ),
    (
        &[INBOUND, USERS],
        "g.toml:5:1: `security` is missing in [routes.inbound]\n\
         \x20   hint: say what is done to messages: security = { mechanism = \"sign-encrypt\", … }",
    ),
    (
        &[INBOUND, "security = { mechanism = \"Sign-Encrypt\" }\n"],
        "g.toml:6:26: `mechanism` must be one of none, username, sign, encrypt, sign-encrypt, encrypt-sign, secure-conversation, found \"Sign-Encrypt\"\n\
         \x20   hint: did you mean \"sign-encrypt\"?",
    ),
    (
        &[INBOUND, USERS, "security = { mechanism = \"sign\", suite = \"AES256\" }\n"],
        "g.toml:7:42: `suite` must name an algorithm suite, found another text\n\
         \x20   hint: the suites are Basic256, Basic192, Basic128, TripleDes, Basic256Rsa15, Basic192Rsa15, Basic128Rsa15, TripleDesRsa15, Basic256Sha256, Basic192Sha256, Basic128Sha256, TripleDesSha256, Basic256Sha256Rsa15, Basic192Sha256Rsa15, Basic128Sha256Rsa15, TripleDesSha256Rsa15, Basic128GCM, Basic256GCM, Basic128GCMEcdhEs, Basic256GCMEcdhEs, Basic128GCMX25519, Basic256GCMX25519; `+RsaSha256` behind one makes its signatures SHA-256",
    ),
    (
        &[INBOUND, "security = { mechanism = \"sign\" }\n"],
        "g.toml:6:26: a trust anchor or a pinned certificate is needed to verify signatures\n\
         \x20   hint: say whom to trust: trust = { anchors = [\"ca.cert.pem\"] }, or pinned = [\"….cert.pem\"]\n\
         g.toml:6:26: our private key with its certificate is needed to sign\n\
         \x20   hint: say who we are: identity = { key = \"….key.pem\", certificate = \"….cert.pem\" }",
    ),
    (
        &[INBOUND, USERNAME],
        "g.toml:6:26: a user with a password is needed to check a `UsernameToken`\n\
         \x20   hint: say whom we know: users = [{ name = \"…\", password_env = \"…\" }]",
    ),
    (
        &[INBOUND, "users = { alice = \"s\" }\n", USERNAME],
        "g.toml:6:9: `users` must be an array of tables, written [[users]], found a table",
    ),
    (
        &[INBOUND, "users = [{ name = \"alice\", password_env = \"NOPE\" }]\n", USERNAME],
        "g.toml:6:43: the environment variable that `password_env` names is not set\n\
         \x20   hint: set it, or use `password` or `password_file`",
    ),
    (
        &[LISTEN, "timeouts = { response = 60 }\n", ROUTE],
        "g.toml:2:25: `response` must be a duration such as \"500ms\", \"60s\", \"5m\" or \"1h30m\", found a number without a unit",
    ),
    (
        &[LISTEN, "timeouts = { response = \"60 seconds\" }\n", ROUTE],
        "g.toml:2:25: `response` must be a duration such as \"500ms\", \"60s\", \"5m\" or \"1h30m\", found \"60 seconds\"",
    ),
    (
        &[LISTEN, "limits = { body = \"8M\" }\n", ROUTE],
        "g.toml:2:19: `body` must be a size such as \"64KiB\", \"8MiB\" or \"1GB\", found \"8M\"",
    ),
    (
        &[LISTEN, "limits = { workers = -1 }\n", ROUTE],
        "g.toml:2:22: `workers` must be a whole number from 1 to 1024, found a smaller number",
    ),
    (
        &[LISTEN, "reuse_port = \"yes\"\n", ROUTE],
        "g.toml:2:14: `reuse_port` must be true or false, found a string",
    ),
    (
        &[INBOUND, "identity = { key = \"k.pem\", certificate = \"c.pem\" }\ntrust = { anchors = [\"ca.cert.pem\"] }\nsecurity = { mechanism = \"sign\" }\n"],
        "g.toml:6:20: `key` names a file that cannot be read: No such file or directory (os error 2)\n\
         \x20   hint: relative paths start at the folder of this file\n\
         g.toml:6:43: `certificate` names c.pem, which cannot be read: No such file or directory (os error 2)\n\
         \x20   hint: relative paths start at the folder of this file\n\
         g.toml:7:22: `anchors` names ca.cert.pem, which cannot be read: No such file or directory (os error 2)\n\
         \x20   hint: relative paths start at the folder of this file",
    ),
    (
        &[LISTEN, "tls = { certificate = \"c.pem\" }\n", ROUTE],
        "g.toml:2:7: `key` is missing in [tls]\n\
         \x20   hint: name a PEM file with the certificate's private key\n\
         g.toml:2:23: `certificate` names c.pem, which cannot be read: No such file or directory (os error 2)\n\
         \x20   hint: relative paths start at the folder of this file",
    ),
    (
        &[INBOUND, USERS, "trust = \"ca.cert.pem\"\n", USERNAME],
        "g.toml:7:9: `trust` must be a table, found a string\n\
         \x20   hint: write trust = { … } with its keys, or [routes.inbound.trust] before them",
    ),
    (
        &[LISTEN, "admin = \"127.0.0.1:8443\"\n", ROUTE],
        "g.toml:2:9: `admin` must be another address than `listen`, found 127.0.0.1:8443 and 127.0.0.1:8443\n\
         \x20   hint: without `admin`, health and metrics are served beside the routes",
    ),
    (
        &[LISTEN, ROUTE, "rate = \"100\"\n"],
        "g.toml:5:8: `rate` must be a number in a second, a minute or an hour, found another text\n\
         \x20   hint: for example \"100/s\", \"30/m\" or \"500/h\"",
    ),
    (
        &[INBOUND, USERS, "security = { mechanism = \"username\", replay = { store = \"redis\" } }\n"],
        "g.toml:7:47: `url` is missing in [routes.inbound.security.replay]\n\
         \x20   hint: for example url = \"redis://127.0.0.1:6379\"; or sentinels and master, or the nodes of a cluster; or a [store] table with them",
    ),
    (
        &[INBOUND, USERS, "replay = { store = \"redis\" }\n", USERNAME],
        "g.toml:7:1: unknown key `replay` in [routes.inbound]\n\
         \x20   hint: this is a key of `security`: security = { mechanism = \"…\", … }",
    ),
    (
        &[LISTEN, "log = \"json\"\n", ROUTE],
        "g.toml:2:7: `log` must be a table, found a string\n\
         \x20   hint: write log = { … } with its keys, or [log] before them",
    ),
    (
        &[LISTEN, "audit = \"audit.jsonl\"\n", ROUTE],
        "g.toml:2:9: `audit` must be a table, found a string\n\
         \x20   hint: write audit = { … } with its keys, or [audit] before them",
    ),
    (
        &[INBOUND, USERS, "suite = \"Basic256\"\n", USERNAME],
        "g.toml:7:1: unknown key `suite` in [routes.inbound]\n\
         \x20   hint: this is a key of `security`: security = { mechanism = \"…\", … }",
    ),
    (
        &[INBOUND, USERS, "security = { mechanism = \"username\", ttl = \"5\" }\n"],
        "g.toml:7:38: unknown key `ttl` in [routes.inbound.security]\n\
         \x20   hint: known here: actor, addressing, algorithms, allow_short_cipher_text, allow_weak_until, attachments, clock, conversations, encrypted, encryption, header_order, ids, ignore, ignore_assertions, key_reference, mechanism, must_understand, password, password_keys, policy, policy_may_be_empty, policy_subject, processing_instructions, profile, replay, same_endorser, several_signatures, sha256_suites, signature, signed, suite, time, timestamp, unsigned, username_token",
    ),
];

#[test]
fn each_mistake_is_told_with_what_was_expected_and_found_and_with_its_place() {
    assert!(MISTAKES.len() > 30, "{} mistakes", MISTAKES.len());
    for (text, expected) in MISTAKES {
        assert_eq!(told(&text.concat()), *expected);
    }
}
