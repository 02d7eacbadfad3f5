//! Messages that are refused, each with the stable name of the reason: altered copies of accepted
//! ones, and messages that another endpoint made.

mod others;
mod parts;
mod signed;

use crate::endpoints::{Endpoint, Side};
use crate::suite::{SOAP, Suite};
use parts::{ENCRYPTED, WITH_SHARED_KEY, WITH_USER};
use signed::SIGNED;

/// A name, what is done to the message, and the reason for which it is refused.
type Alteration = (&'static str, fn(&str) -> String, &'static str);

/// Records all of them.
pub(crate) fn record(suite: &mut Suite) {
    let basic = |side, mechanism| Endpoint::new(side, mechanism, "Basic256GCM", "");
    for (mechanism, alterations) in [
        ("sign", SIGNED),
        ("encrypt", ENCRYPTED),
        ("username", WITH_USER),
    ] {
        let side = |side| basic(side, mechanism);
        altered(suite, mechanism, &side, alterations);
    }
    let side = |side| {
        Endpoint::new(
            side,
            "sign",
            "Basic256GCM",
            ", key_reference = \"key-name\"",
        )
        .shared(32)
    };
    altered(suite, "shared-key", &side, WITH_SHARED_KEY);
    others::record(suite);
    bytes(suite);
}

fn altered(
    suite: &mut Suite,
    name: &str,
    side: &dyn Fn(Side) -> Endpoint,
    alterations: &[Alteration],
) {
    for (version, _) in SOAP {
        let message = suite.secure(&side(Side::Client), version);
        for (alteration, change, reason) in alterations {
            suite.refuse(
                &format!("{name}/{alteration}_{version}"),
                &side(Side::Service),
                change(&message).as_bytes(),
                reason,
            );
        }
    }
}

/// Messages that are no text.
fn bytes(suite: &mut Suite) {
    let side = |side| Endpoint::new(side, "sign", "Basic256GCM", "");
    let service = side(Side::Service);
    let message = suite.secure(&side(Side::Client), "soap11");
    // The second byte of `ü` alone is missing: its first one begins two bytes.
    let half: Vec<u8> = message.bytes().filter(|byte| *byte != 0xbc).collect();
    suite.refuse(
        "bytes/half-a-character",
        &service,
        &half,
        "malformed-encoding",
    );
    let wide: Vec<u8> = message.encode_utf16().flat_map(u16::to_le_bytes).collect();
    suite.refuse(
        "bytes/utf-16-without-mark",
        &service,
        &wide,
        "not-an-envelope",
    );
    suite.refuse(
        "bytes/nothing-but-a-mark",
        &service,
        b"\xef\xbb\xbf",
        "not-well-formed",
    );
    suite.refuse("bytes/zeros", &service, &[0; 64], "not-well-formed");
}
