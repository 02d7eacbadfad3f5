//! Any text as the name of somebody: what is read is written in every style, and each of them reads
//! as the same name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::{DistinguishedName, NameStyle};

fuzz_target!(|text: &str| {
    let Ok(name) = DistinguishedName::parse(text) else {
        return;
    };
    assert!(name.matches(&name));
    for style in [NameStyle::Rfc2253, NameStyle::OpenSsl, NameStyle::Microsoft] {
        let written = name.to_text(style);
        // Windows escapes nothing inside quotes, and RFC 1779 does: with a backslash there the
        // styles cannot be told apart.
        if matches!(style, NameStyle::Microsoft) && written.contains('\\') {
            continue;
        }
        let again = DistinguishedName::parse(&written)
            .unwrap_or_else(|error| panic!("{style:?} gives `{written}`: {error}"));
        assert!(again.matches(&name), "{style:?} gives `{written}`");
    }
});
