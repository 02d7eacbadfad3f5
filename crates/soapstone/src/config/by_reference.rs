//! `[saml.by_reference]`: the authorities that are asked for assertions which messages only name.
//! `[saml.send_by_reference]`: the authority that has the assertion which requests name.
//!
//! The rule kept here: an authority is written down with all of its address. No message leads to
//! another one.

use std::time::Duration;

use super::problem::{Located, Place};
use super::table::Table;
use super::tls_files::TlsFiles;

/// `[saml.by_reference]`.
#[derive(Clone, Debug)]
pub struct ByReferenceConfig {
    /// Where the table begins.
    pub place: Place,
    /// Addresses of assertions; one that ends with a slash is the beginning of addresses.
    pub authorities: Vec<Located<String>>,
    /// Whether the name of a bearer's assertion is enough to be its subject.
    pub allow_bearer: bool,
    /// How long an authority may take for an answer.
    pub timeout: Option<Duration>,
    /// Most bytes of an answer.
    pub size: Option<u64>,
    /// Most questions at once.
    pub at_once: Option<u64>,
    /// Most questions in a second.
    pub per_second: Option<u64>,
    /// Most assertions that are kept. With none, each message has its authority asked.
    pub capacity: Option<u64>,
    /// TLS towards the authorities.
    pub tls: Option<TlsFiles>,
}

/// `[saml.send_by_reference]`.
#[derive(Clone, Debug)]
pub struct SendByReferenceConfig {
    /// Where the table begins.
    pub place: Place,
    /// The address of the authority that has the assertion, without a query.
    pub authority: Located<String>,
    /// Whether a bearer's assertion is named, although its name is enough to be its subject.
    pub allow_bearer: bool,
}

/// Largest answer unless the file says otherwise, bytes: the largest assertion that a token service
/// may give us.
pub(crate) const USUAL_SIZE: u64 = 128 << 10;

/// Most assertions that are kept unless the file says otherwise: with the largest answers 128 MiB.
pub(crate) const USUAL_CAPACITY: u64 = 1024;

/// Reads the table to its end.
pub(super) fn read(mut table: Table<'_>) -> ByReferenceConfig {
    const EXAMPLE: &str = "authorities = [\"https://idp.example/assertions\"]";
    if !table.has("authorities") || table.is_empty_list("authorities") {
        table.missing("authorities", EXAMPLE);
    }
    let authorities = table.strings("authorities").unwrap_or_default();
    for authority in &authorities {
        if !is_authority(&authority.value) {
            table.report_with_hint(
                authority.place,
                "`authorities` must hold addresses with https, a host in lower case and a path, without user, query and fragment",
                EXAMPLE,
            );
        }
    }
    let size = table.size("size");
    if let Some(size) = size.as_ref().filter(|size| size.value > LARGEST) {
        table.report(
            size.place,
            format!("`size` must be at most {} KiB", LARGEST >> 10),
        );
    }
    let timeout = table.duration("timeout");
    if let Some(timeout) = timeout.as_ref().filter(|found| found.value > LONGEST) {
        table.report(
            timeout.place,
            format!("`timeout` must be at most {} s", LONGEST.as_secs()),
        );
    }
    let number = |found: Option<Located<u64>>| found.map(|found| found.value);
    let capacity = table.integer("capacity", 0, 100_000);
    let kept = |size: u64, capacity: u64| size.saturating_mul(capacity);
    let usual = (size.as_ref(), capacity.as_ref());
    let most = kept(
        usual.0.map_or(USUAL_SIZE, |size| size.value),
        usual.1.map_or(USUAL_CAPACITY, |capacity| capacity.value),
    );
    if most > MOST_KEPT {
        table.report(
            table.place(),
            format!(
                "`size` times `capacity` must be at most {} MiB, found {} MiB",
                MOST_KEPT >> 20,
                most >> 20
            ),
        );
    }
    let config = ByReferenceConfig {
        place: table.place(),
        authorities,
        allow_bearer: table
            .boolean("allow_bearer")
            .is_some_and(|allow| allow.value),
        timeout: timeout.map(|timeout| timeout.value),
        size: number(size),
        at_once: number(table.integer("at_once", 1, 16)),
        per_second: number(table.integer("per_second", 1, 10_000)),
        capacity: number(capacity),
        tls: table
            .table("tls")
            .and_then(TlsFiles::read_without_revocation),
    };
    table.finish();
    config
}

/// Reads the table of a sender to its end. `None` without an authority, which is reported.
pub(super) fn read_sent(mut table: Table<'_>) -> Option<SendByReferenceConfig> {
    const EXAMPLE: &str = "authority = \"https://idp.example/assertions\"";
    let authority = table.required_string("authority", EXAMPLE);
    if let Some(authority) = authority.as_ref().filter(|it| !is_authority(&it.value)) {
        table.report_with_hint(
            authority.place,
            "`authority` must be an address with https, a host in lower case and a path, without user, query and fragment",
            EXAMPLE,
        );
    }
    let place = table.place();
    let allow_bearer = table.boolean("allow_bearer");
    table.finish();
    Some(SendByReferenceConfig {
        place,
        authority: authority?,
        allow_bearer: allow_bearer.is_some_and(|allow| allow.value),
    })
}

/// Longest time that an authority may take: a message that waits for it has a thread.
const LONGEST: Duration = Duration::from_secs(30);

/// Most bytes of all answers that may be kept.
const MOST_KEPT: u64 = 1 << 30;

/// Largest answer that may be asked for, bytes.
const LARGEST: u64 = 1 << 20;

/// Whether a text is the address of an authority, as it is compared with those in messages.
fn is_authority(text: &str) -> bool {
    let Some((host, path)) = text
        .strip_prefix("https://")
        .and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let is_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]".contains(&byte);
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.~".contains(&byte);
    let has_steps = || path.split('/').any(|step| [".", ".."].contains(&step));
    !host.is_empty() && host.bytes().all(is_host) && path.bytes().all(is_path) && !has_steps()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_has_a_whole_address() {
        for (text, expected) in [
            ("https://idp.example/assertions", true),
            ("https://idp.example/", true),
            ("https://[::1]:8443/a/", true),
            ("https://idp.example", false),
            ("http://idp.example/", false),
            ("https://user@idp.example/", false),
            ("https://IDP.example/", false),
            ("https:///a", false),
            ("https://idp.example/a?b", false),
            ("https://idp.example/../a", false),
        ] {
            assert_eq!(is_authority(text), expected, "{text}");
        }
    }
}
