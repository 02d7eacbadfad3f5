//! The subject of an assertion as the owner of a sealed context.
//!
//! The rule kept here: no two owners are written alike.

use jiff::Timestamp;
use soapstone::wss::{
    AssertedOwner, AssertionAttribute, Attester, KnownCertificate, NameIdentifier,
};

/// Bytes of a moment.
const MOMENT: usize = 16;

/// Writes an owner.
pub(crate) fn write(owner: &AssertedOwner) -> Vec<u8> {
    let mut out = owner.ends.as_nanosecond().to_be_bytes().to_vec();
    match &owner.attester {
        None => out.push(0),
        Some(attester) => {
            out.push(1);
            out.extend_from_slice(&attester.ends.as_nanosecond().to_be_bytes());
            put_certificate(&mut out, &attester.certificate);
        }
    }
    match &owner.signed_by {
        None => out.push(0),
        Some(certificate) => {
            out.push(1);
            put_certificate(&mut out, certificate);
        }
    }
    let subject = &owner.subject;
    put(&mut out, Some(&owner.issuer));
    put(&mut out, Some(&owner.id));
    put(&mut out, Some(&subject.value));
    put(&mut out, subject.format.as_deref());
    put(&mut out, subject.qualifier.as_deref());
    put(&mut out, subject.service_qualifier.as_deref());
    count(&mut out, owner.attributes.len());
    for attribute in &owner.attributes {
        put(&mut out, Some(&attribute.name));
        put(&mut out, attribute.format.as_deref());
        count(&mut out, attribute.values.len());
        for value in &attribute.values {
            put(&mut out, Some(value));
        }
    }
    out
}

fn put_certificate(out: &mut Vec<u8>, certificate: &KnownCertificate) {
    out.extend_from_slice(&certificate.thumbprint);
    out.extend_from_slice(&certificate.root);
    put(out, Some(&certificate.subject));
    put(out, Some(&certificate.issuer));
}

fn count(out: &mut Vec<u8>, many: usize) {
    out.extend_from_slice(&(many as u64).to_be_bytes());
}

/// Writes a text, or that there is none, so that no two rows of texts are written alike.
pub(crate) fn put(out: &mut Vec<u8>, text: Option<&str>) {
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
    let mut reader = Reader(bytes);
    let ends = reader.moment()?;
    let attester = match reader.array()? {
        [0] => None,
        [1] => Some(Attester {
            ends: reader.moment()?,
            certificate: reader.certificate()?,
        }),
        _ => return None,
    };
    let signed_by = match reader.array()? {
        [0] => None,
        [1] => Some(reader.certificate()?),
        _ => return None,
    };
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
        signed_by,
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
    fn array<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.array()?))
    }

    fn moment(&mut self) -> Option<Timestamp> {
        let moment: [u8; MOMENT] = self.array()?;
        Timestamp::from_nanosecond(i128::from_be_bytes(moment)).ok()
    }

    fn certificate(&mut self) -> Option<KnownCertificate> {
        Some(KnownCertificate {
            thumbprint: self.array()?,
            root: self.array()?,
            subject: self.text()??,
            issuer: self.text()??,
        })
    }

    /// A text, or that there is none.
    fn text(&mut self) -> Option<Option<String>> {
        match self.array()? {
            [0] => Some(None),
            [1] => {
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

    fn known(digest: u8, subject: &str) -> KnownCertificate {
        KnownCertificate {
            thumbprint: [digest; 32],
            root: [digest + 1; 32],
            subject: subject.to_owned(),
            issuer: "CN=ca".to_owned(),
        }
    }

    fn owner() -> AssertedOwner {
        let mut subject = NameIdentifier::default();
        subject.value = "alice".to_owned();
        subject.qualifier = Some("https://domain.example".to_owned());
        AssertedOwner {
            issuer: "https://idp.example".to_owned(),
            signed_by: Some(known(3, "CN=idp")),
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
            attester: Some(Attester {
                certificate: known(7, "CN=gateway"),
                ends: Timestamp::from_second(3_000).expect("a time"),
            }),
        }
    }

    #[test]
    fn the_subject_of_an_assertion_comes_back_with_its_attributes_and_its_end() {
        let attested = owner();
        let alone = AssertedOwner {
            attester: None,
            signed_by: None,
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
