//! Security headers and ids (WSS 1.1.1, 4 and 5).

use std::collections::HashMap;

use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::SOAP12;

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for (id, second) in message.repeated() {
        let expected = "a wsu:Id that no other element has";
        findings.add("R3204", second, expected, quoted(Some(id)));
    }
    let actor = if message.soap == SOAP12 {
        "role"
    } else {
        "actor"
    };
    let mut known = HashMap::new();
    for security in &message.security {
        let named = security.attribute(message.soap, actor);
        let count = known.entry(named.clone()).or_insert(0_usize);
        *count += 1;
        if *count != 2 {
            continue;
        }
        match named {
            None => findings.add(
                "R3206",
                *security,
                format!("one wsse:Security without {actor}"),
                "a second one",
            ),
            Some(name) => findings.add(
                "R3210",
                *security,
                format!("one wsse:Security of each {actor}"),
                format!("a second one of {}", quoted(Some(&name))),
            ),
        }
    }
}
