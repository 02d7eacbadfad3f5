//! The subject of an assertion as the owner of a sealed context.
//!
//! The rule kept here: no two owners are written alike.

use jiff::Timestamp;
use soapstone::wss::{AssertedOwner, AssertionAttribute, NameIdentifier};

/// Bytes of a moment.
const MOMENT: usize = 16;

/// Writes an owner.
pub(crate) fn write(owner: &AssertedOwner) -> Vec<u8> {
    let mut out = owner.ends.as_nanosecond().to_be_bytes().to_vec();
    match &owner.attester {
        None => out.push(0),
        Some(attester) => {
            out.push(1);
            out.extend_from_slice(attester);
        }
    }
    let subject = &owner.subject;
    put(&mut out, Some(&owner.issuer));
    put(&mut out, Some(&owner.id));
    put(&mut out, Some(&subject.value));
    put(&mut out, subject.format.as_ref());
    put(&mut out, subject.qualifier.as_ref());
    put(&mut out, subject.service_qualifier.as_ref());
    count(&mut out, owner.attributes.len());
    for attribute in &owner.attributes {
        put(&mut out, Some(&attribute.name));
        put(&mut out, attribute.format.as_ref());
        count(&mut out, attribute.values.len());
        for value in &attribute.values {
            put(&mut out, Some(value));
        }
    }
    out
}

fn count(out: &mut Vec<u8>, many: usize) {
    out.extend_from_slice(&(many as u64).to_be_bytes());
}

fn put(out: &mut Vec<u8>, text: Option<&String>) {
    match text {
        None => out.push(0),
        Some(text) => {
            out.push(1);
            count(out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Reads an owner. `None` for what no writer wrote.
pub(crate) fn read(bytes: &[u8]) -> Option<AssertedOwner> {
    let (ends, rest) = bytes.split_first_chunk::<MOMENT>()?;
    let ends = Timestamp::from_nanosecond(i128::from_be_bytes(*ends)).ok()?;
    let (attester, rest) = match rest.split_first()? {
        (0, rest) => (None, rest),
        (1, rest) => {
            let (attester, rest) = rest.split_first_chunk()?;
            (Some(*attester), rest)
        }
        _ => return None,
    };
    let mut reader = Reader(rest);
    let (issuer, id) = (reader.text()??, reader.text()??);
    let mut subject = NameIdentifier::default();
    subject.value = reader.text()??;
    subject.format = reader.text()?;
    subject.qualifier = reader.text()?;
    subject.service_qualifier = reader.text()?;
    let mut attributes = Vec::new();
    for _ in 0..reader.number()? {
        let (name, format) = (reader.text()??, reader.text()?);
        let mut values = Vec::new();
        for _ in 0..reader.number()? {
            values.push(reader.text()??);
        }
        attributes.push(AssertionAttribute::new(name, format, values));
    }
    let owner = AssertedOwner {
        issuer,
        subject,
        id,
        ends,
        attributes,
        attester,
    };
    reader.0.is_empty().then_some(owner)
}

/// What is still to be read.
struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*number))
    }

    /// A text, or that there is none.
    fn text(&mut self) -> Option<Option<String>> {
        let (is_there, rest) = self.0.split_first()?;
        self.0 = rest;
        match is_there {
            0 => Some(None),
            1 => {
                let length = usize::try_from(self.number()?).ok()?;
                let (text, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Some(Some(String::from_utf8(text.to_vec()).ok()?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> AssertedOwner {
        let mut subject = NameIdentifier::default();
        subject.value = "alice".to_owned();
        subject.qualifier = Some("https://domain.example".to_owned());
        AssertedOwner {
            issuer: "https://idp.example".to_owned(),
            subject,
            id: "_a1".to_owned(),
            ends: Timestamp::from_second(2_000).expect("a time"),
            attributes: vec![
                AssertionAttribute::new(
                    "role".to_owned(),
                    None,
                    vec!["a".to_owned(), String::new()],
                ),
                AssertionAttribute::new("none".to_owned(), Some("f".to_owned()), Vec::new()),
            ],
            attester: Some([7; 32]),
        }
    }

    #[test]
    fn the_subject_of_an_assertion_comes_back_with_its_attributes_and_its_end() {
        let attested = owner();
        let alone = AssertedOwner {
            attester: None,
            attributes: Vec::new(),
            ..owner()
        };
        for owner in [attested, alone] {
            assert_eq!(read(&write(&owner)), Some(owner));
        }
    }

    #[test]
    fn what_was_cut_or_has_more_is_no_owner() {
        let written = write(&owner());
        for length in 0..written.len() {
            assert_eq!(read(&written[..length]), None, "{length}");
        }
        assert_eq!(read(&[written, vec![0]].concat()), None);
    }
}
