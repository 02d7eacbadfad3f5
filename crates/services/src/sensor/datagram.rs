//! The datagrams: requests and answers, of one length.
//!
//! ```text
//! byte  0      1      2 3 4 5       6 7              8
//!        start  code   sequence      operand          end
//!        02     …      big-endian    big-endian       03
//! ```
//!
//! Whatever else comes is no datagram, and nobody answers it. The rule kept here: an answer is as
//! long as its request, so that a controller cannot be used to send somebody more than was sent to
//! it.

/// Bytes of each datagram.
pub(super) const LENGTH: usize = 9;

const START: u8 = 0x02;
const END: u8 = 0x03;

const READ: u8 = 0x10;
const VALUE: u8 = 0x11;
const NO_SENSOR: u8 = 0x1F;

/// A datagram, without its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Asks for the value of a sensor.
    Read { sensor: u16 },
    /// The value: hundredths of a degree Celsius.
    Value { hundredths: i16 },
    /// There is no sensor of this number.
    NoSensor { sensor: u16 },
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    /// An answer has that of its request.
    pub(super) sequence: u32,
    pub(super) content: Content,
}

impl Datagram {
    pub(super) fn write(self) -> [u8; LENGTH] {
        let (code, operand) = match self.content {
            Content::Read { sensor } => (READ, sensor.to_be_bytes()),
            Content::Value { hundredths } => (VALUE, hundredths.to_be_bytes()),
            Content::NoSensor { sensor } => (NO_SENSOR, sensor.to_be_bytes()),
        };
        let [s0, s1, s2, s3] = self.sequence.to_be_bytes();
        let [o0, o1] = operand;
        [START, code, s0, s1, s2, s3, o0, o1, END]
    }

    /// None, if these bytes are no datagram.
    pub(super) fn parse(octets: &[u8]) -> Option<Self> {
        let &[START, code, s0, s1, s2, s3, o0, o1, END] = octets else {
            return None;
        };
        let operand = [o0, o1];
        let content = match code {
            READ => Content::Read {
                sensor: u16::from_be_bytes(operand),
            },
            VALUE => Content::Value {
                hundredths: i16::from_be_bytes(operand),
            },
            NO_SENSOR => Content::NoSensor {
                sensor: u16::from_be_bytes(operand),
            },
            _ => return None,
        };
        Some(Self {
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            content,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_has_one_length() {
        for content in [
            Content::Read { sensor: 1 },
            Content::Value { hundredths: -1_275 },
            Content::NoSensor { sensor: u16::MAX },
        ] {
            let datagram = Datagram {
                sequence: 0xA1B2_C3D4,
                content,
            };
            assert_eq!(Datagram::parse(&datagram.write()), Some(datagram));
        }
    }

    #[test]
    fn a_request_has_its_octets_in_the_documented_order() {
        let request = Datagram {
            sequence: 0x0102_0304,
            content: Content::Read { sensor: 0x0506 },
        };
        assert_eq!(request.write(), [2, 0x10, 1, 2, 3, 4, 5, 6, 3]);
    }

    #[test]
    fn what_is_cut_longer_undelimited_or_of_another_code_is_no_datagram() {
        let right = Datagram {
            sequence: 7,
            content: Content::Read { sensor: 1 },
        }
        .write();
        let with = |index: usize, octet: u8| {
            let mut octets = right;
            octets[index] = octet;
            octets.to_vec()
        };
        let longer = [&right[..], &[3]].concat();
        for octets in [
            Vec::new(),
            right[..8].to_vec(),
            longer,
            with(0, 1),
            with(8, 2),
            with(1, 0x12),
        ] {
            assert_eq!(Datagram::parse(&octets), None, "{octets:?}");
        }
    }
}
