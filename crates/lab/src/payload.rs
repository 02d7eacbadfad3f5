//! The messages that are measured: answers of the sample services, in SOAP 1.1.

use soapstone::xml::Limits;
use soapstone_services::{SoapVersion, requests, responses};

/// A payload of a kind and a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// An echo of this many characters.
    Echo(usize),
    /// This many books.
    Books(u32),
}

impl Payload {
    /// What the engine is measured with. 1 kB, 100 kB and 1 MB are there twice: an echo of so many
    /// characters is a single run of text, and 4, 400 and 4,000 books are short strings in 12
    /// elements each.
    pub const ALL: [Self; 11] = [
        Self::Echo(12),
        Self::Echo(1_000),
        Self::Echo(100_000),
        Self::Echo(1_000_000),
        Self::Books(1),
        Self::Books(4),
        Self::Books(100),
        Self::Books(400),
        Self::Books(2_500),
        Self::Books(4_000),
        Self::Books(20_000),
    ];

    /// Kind, as in measurements.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Echo(_) => "echo",
            Self::Books(_) => "books",
        }
    }

    /// Size, as in measurements.
    pub const fn items(self) -> usize {
        match self {
            Self::Echo(characters) => characters,
            Self::Books(books) => books as usize,
        }
    }

    /// Elements of the envelope.
    pub const fn elements(self) -> usize {
        match self {
            // Envelope, Body, the response and its text.
            Self::Echo(_) => 4,
            // Envelope, Body, the response; a book has eight elements, and its author and publisher
            // two each.
            Self::Books(books) => 3 + 12 * books as usize,
        }
    }

    /// Elements of a request for it: Envelope, Body, the request and what it asks for.
    pub const ELEMENTS_OF_REQUESTS: usize = 4;

    /// The envelope of a request for it.
    pub fn request(self) -> Vec<u8> {
        let version = SoapVersion::Soap11;
        let request = match self {
            Self::Echo(characters) => {
                requests::echo(version, &responses::text_of_length(characters))
            }
            Self::Books(books) => requests::get_books(version, books),
        };
        request.into_bytes()
    }

    /// Limits that every payload is within: 64 MiB, and some four million elements.
    pub(crate) fn limits() -> Limits {
        let mut limits = Limits::default();
        limits.message = 64 << 20;
        limits.elements = 1 << 22;
        limits
    }

    /// The envelope.
    pub fn envelope(self) -> Vec<u8> {
        match self {
            Self::Echo(characters) => responses::echo_of_length(SoapVersion::Soap11, characters),
            Self::Books(books) => responses::books(SoapVersion::Soap11, books),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted_as_the_envelope_has_them() {
        for payload in [
            Payload::Echo(12),
            Payload::Books(0),
            Payload::Books(1),
            Payload::Books(7),
        ] {
            for (envelope, elements) in [
                (payload.envelope(), payload.elements()),
                (payload.request(), Payload::ELEMENTS_OF_REQUESTS),
            ] {
                let starts = envelope
                    .windows(2)
                    .filter(|pair| pair[0] == b'<' && pair[1].is_ascii_alphabetic());
                assert_eq!(starts.count(), elements, "{payload:?}");
            }
        }
    }
}
