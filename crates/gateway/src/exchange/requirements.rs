//! `qos:Requirements`: the header block by which a message says what it needs of the backend that
//! serves it.
//!
//! What is read has been opened before. On a route with `inbound` that is what a signature covers
//! and nothing else, so that nobody on the way takes needs away or weakens them. The block is for
//! the gateway, and does not go on.
//!
//! A gateway on the way reads the blocks that are addressed to it and signed for it. Those of
//! other nodes say nothing here, and the message goes on as it came.
//!
//! The rule kept here: what is not understood is refused. A need that was passed over would be one
//! that nobody meets.

use std::ops::Range;
use std::time::Duration;

use soapstone::wss::{Envelope, SoapVersion};
use soapstone::xml::{Buffers, Element, Limits};
use soapstone_broker::{Needs, Property};

use crate::config::needs::{NAMESPACE, REQUIREMENTS as NAME};
use crate::config::security_index::assured_algorithm;

/// Most needs that one message says: more than there are to be said.
const MOST: usize = 64;

/// Takes the needs out of a message.
///
/// # Errors
///
/// What is not understood of them.
pub(super) fn take(octets: &mut Vec<u8>, limits: &Limits) -> Result<Needs, &'static str> {
    let (needs, ranges) = found(octets, limits)?;
    // From the end, so that the others stay where they are.
    for range in ranges.into_iter().rev() {
        octets.drain(range.start as usize..range.end as usize);
    }
    Ok(needs)
}

/// The needs that header blocks for this node say, which stand one behind the other.
///
/// # Errors
///
/// What is not understood of them.
pub(super) fn of_blocks(
    blocks: &[u8],
    version: SoapVersion,
    limits: &Limits,
) -> Result<Needs, &'static str> {
    let namespace = version.namespace();
    let before = format!("<Envelope xmlns=\"{namespace}\"><Header>");
    let behind = "</Header><Body/></Envelope>";
    let message = [before.as_bytes(), blocks, behind.as_bytes()].concat();
    // Each block repeats the namespaces around it.
    let mut limits = limits.clone();
    limits.message = limits
        .message
        .saturating_mul(usize::from(limits.canonical.max(1)));
    found(&message, &limits).map(|(needs, _)| needs)
}

/// The needs in the header of a message, and where they stand.
fn found(octets: &[u8], limits: &Limits) -> Result<(Needs, Vec<Range<u32>>), &'static str> {
    let mut needs = Needs::nothing();
    let mut ranges = Vec::new();
    if !holds(octets, NAMESPACE.as_bytes()) {
        return Ok((needs, ranges));
    }
    let parsed = Envelope::parse(octets.to_vec(), limits, &mut Buffers::default());
    // It may hold needs: a backend that is chosen without them would be a weaker one.
    let envelope = parsed.map_err(|_| "its message cannot be read")?;
    let blocks = envelope.header().into_iter().flat_map(|it| it.children());
    for block in blocks.filter(|block| block.is(NAMESPACE, NAME)) {
        needs = needs.and(&read(block)?);
        ranges.push(block.range());
    }
    Ok((needs, ranges))
}

fn holds(octets: &[u8], part: &[u8]) -> bool {
    octets.windows(part.len()).any(|window| window == part)
}

fn read(block: Element<'_>) -> Result<Needs, &'static str> {
    let mut needs = Needs::nothing();
    // Attributes of SOAP and of signatures have a namespace.
    if block.attributes().any(|it| it.namespace().is_empty()) {
        return Err("an attribute of it is not known");
    }
    if !block.text().trim().is_empty() {
        return Err("it has text of its own");
    }
    for (count, child) in block.children().enumerate() {
        if count == MOST {
            return Err("it has more than 64 elements");
        }
        if child.namespace() != NAMESPACE || child.children().next().is_some() {
            return Err("an element of it is not known");
        }
        if child.attributes().next().is_some() {
            return Err("an attribute of it is not known");
        }
        let text = child.text();
        let text = text.trim();
        let number = || text.parse::<u32>().map_err(|_| "a number of it is none");
        let one = match child.local() {
            "Property" => Needs {
                properties: vec![Property::named(text).ok_or("a property of it is not known")?],
                ..Needs::nothing()
            },
            "Bits" => Needs {
                bits: u16::try_from(number()?).map_err(|_| "a number of it is none")?,
                ..Needs::nothing()
            },
            "RefusedAlgorithm" => Needs {
                // Another name would be compared with nothing.
                refused_algorithms: vec![
                    assured_algorithm(text)
                        .ok_or("an algorithm of it is not known")?
                        .to_owned(),
                ],
                ..Needs::nothing()
            },
            "Encrypted" => Needs {
                encrypted: vec![text.to_owned()],
                ..Needs::nothing()
            },
            "Milliseconds" => Needs {
                time: Some(Duration::from_millis(u64::from(number()?))),
                ..Needs::nothing()
            },
            "Availability" => Needs {
                availability: u8::try_from(number()?)
                    .ok()
                    .filter(|share| *share <= 100)
                    .ok_or("its availability is more than 100")?,
                ..Needs::nothing()
            },
            _ => return Err("an element of it is not known"),
        };
        needs = needs.and(&one);
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(blocks: &str) -> Vec<u8> {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:q=\"urn:soapstone:qos:1\">\
             <s:Header><a xmlns=\"urn:a\"/>{blocks}</s:Header><s:Body/></s:Envelope>"
        )
        .into_bytes()
    }

    #[test]
    fn needs_are_read_joined_and_taken_out() {
        let mut octets = message(
            "<q:Requirements><q:Property>integrity</q:Property><q:Property>authentication</q:Property>\
             <q:Bits> 112 </q:Bits><q:RefusedAlgorithm>RSA-SHA1</q:RefusedAlgorithm>\
             <q:RefusedAlgorithm>http://www.w3.org/2001/04/xmlenc#rsa-1_5</q:RefusedAlgorithm>\
             <q:Encrypted>Body</q:Encrypted><q:Milliseconds>500</q:Milliseconds><q:Availability>99</q:Availability></q:Requirements>\
             <b xmlns=\"urn:b\"/><q:Requirements><q:Bits>80</q:Bits><q:Milliseconds>300</q:Milliseconds></q:Requirements>",
        );
        let needs = take(&mut octets, &Limits::default()).expect("it is understood");
        let expected = Needs {
            properties: vec![Property::Authentication, Property::Integrity],
            bits: 112,
            refused_algorithms: vec!["rsa-1_5".to_owned(), "rsa-sha1".to_owned()],
            encrypted: vec!["Body".to_owned()],
            time: Some(Duration::from_millis(300)),
            availability: 99,
        };
        assert_eq!(needs, expected);
        assert_eq!(octets, message("<b xmlns=\"urn:b\"/>"));
    }

    #[test]
    fn blocks_for_a_node_on_the_way_are_joined_and_other_blocks_say_nothing() {
        let of_blocks =
            |blocks: &str| of_blocks(blocks.as_bytes(), SoapVersion::V12, &Limits::default());
        let bits = |bits| Needs {
            bits,
            ..Needs::nothing()
        };
        let block = |needs: &str| {
            format!("<q:Requirements xmlns:q=\"urn:soapstone:qos:1\">{needs}</q:Requirements>")
        };
        let (weak, strong) = (block("<q:Bits>80</q:Bits>"), block("<q:Bits>112</q:Bits>"));
        assert_eq!(of_blocks(""), Ok(Needs::nothing()));
        assert_eq!(of_blocks("<a xmlns=\"urn:a\"/>"), Ok(Needs::nothing()));
        assert_eq!(of_blocks(&format!("{strong}{weak}")), Ok(bits(112)));
        let expected = Err("an element of it is not known");
        assert_eq!(of_blocks(&block("<q:Cost/>")), expected);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (block, expected) in [
            (
                "<q:Property>Integrity</q:Property>",
                "a property of it is not known",
            ),
            (
                "<q:RefusedAlgorithm>rsa-sha-1</q:RefusedAlgorithm>",
                "an algorithm of it is not known",
            ),
            // No index tells of it.
            (
                "<q:RefusedAlgorithm>rsa-oaep</q:RefusedAlgorithm>",
                "an algorithm of it is not known",
            ),
            ("<q:Bits>-1</q:Bits>", "a number of it is none"),
            ("<q:Bits>many</q:Bits>", "a number of it is none"),
            ("<q:Bits>65536</q:Bits>", "a number of it is none"),
            ("integrity", "it has text of its own"),
            (
                "<q:Property optional=\"true\">integrity</q:Property>",
                "an attribute of it is not known",
            ),
            (
                "<q:Availability>101</q:Availability>",
                "its availability is more than 100",
            ),
            ("<q:Cost>1</q:Cost>", "an element of it is not known"),
            (
                "<Bits xmlns=\"urn:other\">1</Bits>",
                "an element of it is not known",
            ),
            (
                "<q:Bits>1<q:Bits/></q:Bits>",
                "an element of it is not known",
            ),
        ] {
            let block = format!("<q:Requirements>{block}</q:Requirements>");
            assert_eq!(
                take(&mut message(&block), &Limits::default()),
                Err(expected),
                "{block}"
            );
        }
        let optional = "<q:Requirements optional=\"true\"><q:Bits>1</q:Bits></q:Requirements>";
        assert_eq!(
            take(&mut message(optional), &Limits::default()),
            Err("an attribute of it is not known")
        );
        let many = "<q:Bits>1</q:Bits>".repeat(MOST + 1);
        let block = format!("<q:Requirements>{many}</q:Requirements>");
        assert_eq!(
            take(&mut message(&block), &Limits::default()),
            Err("it has more than 64 elements")
        );
    }

    #[test]
    fn a_block_elsewhere_than_in_the_header_is_no_need() {
        let text = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header/><s:Body>\
                    <q:Requirements xmlns:q=\"urn:soapstone:qos:1\"><q:Cost/></q:Requirements></s:Body></s:Envelope>";
        let mut octets = text.as_bytes().to_vec();
        assert_eq!(take(&mut octets, &Limits::default()), Ok(Needs::nothing()));
        assert_eq!(octets, text.as_bytes());
    }
}
