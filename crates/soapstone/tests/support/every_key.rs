//! Endpoint files that between them have every table.

use super::canary::{Node, table, tables, value};

/// A key in a token.
pub(crate) fn token() -> Node {
    table([
        ("module", value("\"module.so\"")),
        ("token", value("\"gateway\"")),
        ("key", value("\"sign\"")),
    ])
}

/// The keys of an endpoint.
fn identity() -> Node {
    table([
        ("key", value("\"key.pem\"")),
        ("certificate", value("\"cert.pem\"")),
        ("pkcs11", token()),
        (
            "decryption",
            tables(table([("key", value("\"key.pem\"")), ("pkcs11", token())])),
        ),
        (
            "endorsing",
            table([("keystore", value("\"store.p12\"")), ("pkcs11", token())]),
        ),
    ])
}

/// Whom an endpoint trusts.
fn trust() -> Node {
    table([
        ("anchors", value("[\"ca.pem\"]")),
        ("revocation", table([("ocsp", value("true"))])),
    ])
}

/// What an endpoint does to messages.
fn security() -> Node {
    let store = || {
        table([
            ("store", value("\"redis\"")),
            ("tls", table([("ca", value("[]")), ("pkcs11", token())])),
        ])
    };
    table([
        ("mechanism", value("\"sign-encrypt\"")),
        ("policy_subject", table([("operation", value("\"Pay\""))])),
        ("algorithms", table([("data", value("[\"aes256-gcm\"]"))])),
        ("timestamp", table([("ttl", value("\"5m\""))])),
        ("clock", table([("offset", value("\"-37s\""))])),
        ("username_token", table([("nonce", value("true"))])),
        ("attachments", table([("signed", value("\"content\""))])),
        ("password_keys", table([("most", value("10000"))])),
        (
            "addressing",
            table([
                ("soap_action", value("true")),
                ("version", value("\"2005/08\"")),
            ]),
        ),
        (
            "signature",
            table([
                ("str_transform", value("true")),
                ("inclusive_prefixes", value("[\"soap\"]")),
            ]),
        ),
        ("encryption", table([("derivation_info", value("\"00\""))])),
        ("replay", store()),
        ("conversations", store()),
    ])
}

/// Nodes on the way.
fn recipients() -> Node {
    tables(table([
        ("actor", value("\"urn:hop\"")),
        ("mechanism", value("\"sign\"")),
        ("policy_subject", table([("operation", value("\"Pay\""))])),
        ("peer", table([("certificate", value("\"peer.pem\""))])),
        ("shared_key", table([("name", value("\"both\""))])),
        ("algorithms", table([("data", value("[\"aes256-gcm\"]"))])),
        ("timestamp", table([("ttl", value("\"5m\""))])),
    ]))
}

/// A token service, and the endpoint that faces it.
fn token_service() -> Node {
    table([
        ("applies_to", value("\"https://books.example\"")),
        (
            "tls",
            table([
                ("ca", value("[]")),
                ("pkcs11", token()),
                ("revocation", table([("ocsp", value("true"))])),
            ]),
        ),
        (
            "endpoint",
            table([
                ("identity", identity()),
                ("peer", table([("certificate", value("\"peer.pem\""))])),
                ("kerberos", table([("form", value("\"gss\""))])),
                ("shared_key", table([("name", value("\"both\""))])),
                ("trust", trust()),
                ("users", tables(table([("name", value("\"alice\""))]))),
                ("security", security()),
                ("limits", table([("depth", value("10"))])),
            ]),
        ),
    ])
}

/// Every table of an endpoint file. The files that it names are not there.
pub(crate) fn every_table() -> Node {
    table([
        ("identity", identity()),
        ("peer", table([("certificate", value("\"peer.pem\""))])),
        ("shared_key", table([("name", value("\"both\""))])),
        ("trust", trust()),
        ("users", tables(table([("name", value("\"alice\""))]))),
        ("kerberos", table([("form", value("\"gss\""))])),
        (
            "saml",
            table([
                ("confirmation", value("[\"bearer\"]")),
                ("token_service", token_service()),
                (
                    "by_reference",
                    table([("tls", table([("ca", value("[]")), ("pkcs11", token())]))]),
                ),
                (
                    "send_by_reference",
                    table([("authority", value("\"https://idp.example/assertions\""))]),
                ),
                (
                    "issuers",
                    tables(table([
                        ("name", value("\"https://idp.example\"")),
                        ("revocation", table([("ocsp", value("true"))])),
                    ])),
                ),
            ]),
        ),
        (
            "inner",
            table([
                ("requests", value("\"{urn:tax}Order\"")),
                (
                    "identity",
                    table([("key", value("\"key.pem\"")), ("pkcs11", token())]),
                ),
                (
                    "trust",
                    table([
                        ("anchors", value("[\"ca.pem\"]")),
                        ("revocation", table([("ocsp", value("true"))])),
                    ]),
                ),
                (
                    "encryption",
                    table([
                        ("requests", value("\"{urn:tax}Order\"")),
                        ("algorithms", table([("data", value("[\"aes256-gcm\"]"))])),
                        ("peer", table([("certificate", value("\"peer.pem\""))])),
                        (
                            "identity",
                            table([("key", value("\"key.pem\"")), ("pkcs11", token())]),
                        ),
                    ]),
                ),
            ]),
        ),
        (
            "store",
            table([
                ("nodes", value("[\"127.0.0.1:1\"]")),
                ("tls", table([("ca", value("[]")), ("pkcs11", token())])),
            ]),
        ),
        ("security", security()),
        ("role", value("\"urn:hop\"")),
        ("recipients", recipients()),
        (
            "answers",
            table([
                ("mechanism", value("\"sign\"")),
                (
                    "trust",
                    table([
                        ("anchors", value("[\"ca.pem\"]")),
                        ("revocation", table([("ocsp", value("true"))])),
                    ]),
                ),
                ("algorithms", table([("data", value("[\"aes256-gcm\"]"))])),
                ("timestamp", table([("ttl", value("\"5m\""))])),
                ("shared_key", table([("name", value("\"both\""))])),
                ("recipients", recipients()),
            ]),
        ),
        ("limits", table([("depth", value("10"))])),
        (
            "tuning",
            table([
                ("digest_cache", table([("entries", value("5"))])),
                ("prehash", table([("entries", value("5"))])),
                ("derived_keys", table([("messages", value("9"))])),
            ]),
        ),
    ])
}

/// A file that reads without a mistake, so that what is changed in it is all that is said of it.
pub(crate) fn without_mistakes() -> Node {
    table([
        (
            "users",
            tables(table([
                ("name", value("\"alice\"")),
                ("password", value("\"opens it\"")),
            ])),
        ),
        (
            "security",
            table([
                ("mechanism", value("\"username\"")),
                ("replay", table([("store", value("\"memory\""))])),
                ("conversations", table([("store", value("\"memory\""))])),
            ]),
        ),
    ])
}
