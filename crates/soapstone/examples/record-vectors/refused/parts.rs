//! Alterations of messages that are encrypted, that name a user, or that are signed with a key of
//! both sides.

use super::Alteration;
use crate::alter::{attribute, before, element, replaced, tampered, without};

/// Of a message whose Body is encrypted.
pub(super) const ENCRYPTED: &[Alteration] = &[
    (
        "altered-cipher-text",
        |m| {
            let body = element(m, "soap:Body");
            let altered = tampered(body, "xenc:CipherValue");
            replaced(m, body, &altered)
        },
        "decryption-failed",
    ),
    (
        "altered-key",
        |m| tampered(m, "xenc:CipherValue"),
        "decryption-failed",
    ),
    (
        "body-in-clear",
        |m| {
            let body = element(m, "xenc:EncryptedData");
            replaced(m, body, "<b:order xmlns:b=\"urn:books\"/>")
        },
        "reference-not-found",
    ),
    (
        "no-security",
        |m| without(m, "wsse:Security"),
        "security-missing",
    ),
    (
        "key-removed",
        |m| without(m, "xenc:EncryptedKey"),
        "unencrypted",
    ),
    (
        "data-method-unknown",
        |m| {
            replaced(
                m,
                "http://www.w3.org/2009/xmlenc11#aes256-gcm",
                "urn:unknown",
            )
        },
        "algorithm-not-allowed",
    ),
    (
        "data-method-outside-suite",
        |m| {
            replaced(
                m,
                "http://www.w3.org/2009/xmlenc11#aes256-gcm",
                "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
            )
        },
        "algorithm-not-allowed",
    ),
    (
        "transport-outside-suite",
        |m| {
            let method = element(m, "xenc:EncryptionMethod");
            let other =
                "<xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#rsa-1_5\"/>";
            replaced(m, method, other)
        },
        "algorithm-not-allowed",
    ),
    (
        "cipher-reference",
        |m| {
            let value = element(element(m, "xenc:EncryptedKey"), "xenc:CipherValue");
            replaced(
                m,
                value,
                "<xenc:CipherReference URI=\"http://example.org/\"/>",
            )
        },
        "external-reference",
    ),
    (
        "second-cipher-text-in-clear-body",
        |m| before(m, "</soap:Body>", "<x/>"),
        "unencrypted",
    ),
    (
        "data-reference-to-nothing",
        |m| replaced(m, "DataReference URI=\"#", "DataReference URI=\"#x"),
        "reference-not-found",
    ),
];

/// Of a message with a user and a password digest.
pub(super) const WITH_USER: &[Alteration] = &[
    (
        "altered-password",
        |m| tampered(m, "wsse:Password"),
        "authentication-failed",
    ),
    (
        "altered-nonce",
        |m| tampered(m, "wsse:Nonce"),
        "authentication-failed",
    ),
    (
        "another-user",
        |m| replaced(m, ">alice<", ">mallory<"),
        "authentication-failed",
    ),
    (
        "token-removed",
        |m| without(m, "wsse:UsernameToken"),
        "username-missing",
    ),
    ("nonce-removed", |m| without(m, "wsse:Nonce"), "malformed"),
    (
        "created-removed",
        |m| {
            let token = element(m, "wsse:UsernameToken");
            replaced(m, token, &without(token, "wsu:Created"))
        },
        "malformed",
    ),
    (
        "password-removed",
        |m| without(m, "wsse:Password"),
        "malformed",
    ),
    ("name-removed", |m| without(m, "wsse:Username"), "malformed"),
    (
        "password-in-clear",
        |m| {
            let kind = attribute(m, "wsse:Password", "Type").to_owned();
            let text = kind.replace("PasswordDigest", "PasswordText");
            replaced(m, &kind, &text)
        },
        "password-kind-not-allowed",
    ),
];

/// Of a message signed with a key of both sides.
pub(super) const WITH_SHARED_KEY: &[Alteration] = &[
    (
        "altered-body",
        |m| replaced(m, ">100<", ">001<"),
        "digest-mismatch",
    ),
    (
        "altered-signature-value",
        |m| tampered(m, "ds:SignatureValue"),
        "signature-mismatch",
    ),
    (
        "truncated-to-8-bits",
        |m| {
            before(
                m,
                "</ds:SignatureMethod>",
                "<ds:HMACOutputLength>8</ds:HMACOutputLength>",
            )
        },
        "hmac-truncated",
    ),
    (
        "truncated-to-128-bits",
        |m| {
            before(
                m,
                "</ds:SignatureMethod>",
                "<ds:HMACOutputLength>128</ds:HMACOutputLength>",
            )
        },
        "signature-mismatch",
    ),
    (
        "unknown-key",
        |m| replaced(m, ">both<", ">neither<"),
        "key-not-found",
    ),
    (
        "signature-removed",
        |m| without(m, "ds:Signature"),
        "signature-missing",
    ),
];
