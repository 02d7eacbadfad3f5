//! An AP-REQ (RFC 4120, 5.5.1), raw or in the frame of GSS (RFC 1964, 1.1), read strictly.
//!
//! The one rule: what is outside of cipher text proves nothing. It is compared with what is
//! expected, so that a wrong token has a clear reason, and nothing else is done with it.

use crate::der::Reader;
use crate::enctype::Enctype;
use crate::error::KerberosError;

/// How an AP-REQ stands in a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// As it is.
    Raw,
    /// With the mechanism's OID in front.
    Gss,
}

/// What of an AP-REQ can be read without a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApRequest<'b> {
    /// The realm of the service that the ticket is for.
    pub realm: String,
    /// The service, its components with `/` between them.
    pub service: String,
    /// How the ticket is enciphered.
    pub ticket: Enctype,
    /// How the authenticator is enciphered: as its key, the ticket's session key, says.
    pub authenticator: Enctype,
    /// The cipher text of the authenticator, which nobody can write in another way.
    pub authenticator_cipher: &'b [u8],
    /// Whether it asks for an AP-REP.
    pub mutual: bool,
    /// The AP-REQ without a frame.
    pub raw: &'b [u8],
}

/// Longest token, bytes: authorization data of a large domain has some 64 KiB at most.
const LONGEST: usize = 96 * 1024;

/// The OID of Kerberos 5 as a mechanism, and the id of an AP-REQ (RFC 1964, 1.1).
const FRAME: [u8; 13] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x01, 0x00,
];

const APPLICATION_0: u8 = 0x60;
const TICKET: u8 = 0x61;
const AP_REQUEST: u8 = 0x6e;
const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
const BIT_STRING: u8 = 0x03;
const GENERAL_STRING: u8 = 0x1b;

/// The tag of a member of a sequence.
const fn member(number: u8) -> u8 {
    0xa0 | number
}

const fn wrong(problem: &'static str) -> KerberosError {
    KerberosError::Malformed { problem }
}

impl<'b> ApRequest<'b> {
    /// Reads a token of a framing.
    ///
    /// # Errors
    /// [`KerberosError::Malformed`]
    pub fn parse(token: &'b [u8], framing: Framing) -> Result<Self, KerberosError> {
        if token.len() > LONGEST {
            return Err(wrong("expected at most 96 KiB"));
        }
        let raw = match framing {
            Framing::Raw => token,
            Framing::Gss => {
                let mut outer = Reader::new(token);
                let framed = outer.element(APPLICATION_0)?;
                outer.end()?;
                framed
                    .strip_prefix(&FRAME)
                    .ok_or(wrong("expected the frame of Kerberos 5 and an AP-REQ"))?
            }
        };
        let mut outer = Reader::new(raw);
        let mut request = outer.inside(AP_REQUEST)?;
        outer.end()?;
        let mut body = request.inside(SEQUENCE)?;
        request.end()?;
        if body.integer(member(0))? != 5 || body.integer(member(1))? != 14 {
            return Err(wrong("expected version 5 and message type 14"));
        }
        let options = body.wrapped(member(2), BIT_STRING)?;
        let [0, first, _, _, _] = options else {
            return Err(wrong("expected 32 bits of options"));
        };
        let (realm, service, ticket) = read_ticket(body.inside(member(3))?)?;
        let mut authenticator = body.inside(member(4))?;
        body.end()?;
        let (enctype, cipher) = read_cipher(authenticator.inside(SEQUENCE)?)?;
        authenticator.end()?;
        Ok(Self {
            realm,
            service,
            ticket,
            authenticator: enctype,
            authenticator_cipher: cipher,
            mutual: first & 0x20 != 0,
            raw,
        })
    }
}

fn read_ticket(mut holder: Reader<'_>) -> Result<(String, String, Enctype), KerberosError> {
    let mut ticket = holder.inside(TICKET)?;
    holder.end()?;
    let mut body = ticket.inside(SEQUENCE)?;
    ticket.end()?;
    if body.integer(member(0))? != 5 {
        return Err(wrong("expected a ticket of version 5"));
    }
    let realm = text(body.wrapped(member(1), GENERAL_STRING)?)?;
    let mut name = Reader::new(body.wrapped(member(2), SEQUENCE)?);
    name.integer(member(0))?;
    let mut components = Reader::new(name.wrapped(member(1), SEQUENCE)?);
    name.end()?;
    let mut service = Vec::new();
    while !components.is_at_end() {
        let component = text(components.element(GENERAL_STRING)?)?;
        if component.contains('/') {
            return Err(wrong("expected no `/` in a component of a name"));
        }
        service.push(component);
    }
    let (enctype, _) = {
        let mut cipher = body.inside(member(3))?;
        body.end()?;
        let read = read_cipher(cipher.inside(SEQUENCE)?)?;
        cipher.end()?;
        read
    };
    Ok((realm, service.join("/"), enctype))
}

fn read_cipher(mut data: Reader<'_>) -> Result<(Enctype, &[u8]), KerberosError> {
    let enctype = data.integer(member(0))?;
    if let Some(version) = data.optional(member(1))? {
        // The number of the key, which the library looks for.
        Reader::new(version).element(0x02)?;
    }
    let cipher = data.wrapped(member(2), OCTET_STRING)?;
    data.end()?;
    Ok((Enctype(enctype), cipher))
}

fn text(bytes: &[u8]) -> Result<String, KerberosError> {
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("expected a name in UTF-8"))?;
    match text.is_empty() || text.contains('\0') {
        true => Err(wrong("expected a name")),
        false => Ok(text.to_owned()),
    }
}

/// An AP-REQ in the frame of GSS, put around it or taken from it as `framing` says.
///
/// # Errors
/// [`KerberosError::Malformed`]: it is none.
pub fn in_framing(gss: &[u8], framing: Framing) -> Result<Vec<u8>, KerberosError> {
    let request = ApRequest::parse(gss, Framing::Gss)?;
    Ok(match framing {
        Framing::Gss => gss.to_vec(),
        Framing::Raw => request.raw.to_vec(),
    })
}

/// Puts the frame of GSS around an AP-REQ.
pub(crate) fn framed(raw: &[u8]) -> Vec<u8> {
    let length = FRAME.len() + raw.len();
    let mut token = vec![APPLICATION_0];
    let bytes = length.to_be_bytes();
    match length {
        0..0x80 => {}
        0x80..0x100 => token.push(0x81),
        0x100..0x1_0000 => token.push(0x82),
        _ => token.push(0x83),
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    token.extend_from_slice(&bytes[zeros..]);
    token.extend_from_slice(&FRAME);
    token.extend_from_slice(raw);
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![tag];
        match content.len() {
            short @ ..=0x7f => out.push(short as u8),
            long => out.extend_from_slice(&[0x82, (long >> 8) as u8, long as u8]),
        }
        out.extend_from_slice(content);
        out
    }

    fn integer(number: u8, value: &[u8]) -> Vec<u8> {
        element(member(number), &element(0x02, value))
    }

    fn cipher(enctype: &[u8]) -> Vec<u8> {
        let data = [
            integer(0, enctype),
            element(member(2), &element(OCTET_STRING, &[7; 300])),
        ];
        element(SEQUENCE, &data.concat())
    }

    fn request(options: &[u8], enctype: &[u8]) -> Vec<u8> {
        let name = [
            integer(0, &[1]),
            element(
                member(1),
                &element(
                    SEQUENCE,
                    &[
                        element(GENERAL_STRING, b"HTTP"),
                        element(GENERAL_STRING, b"h"),
                    ]
                    .concat(),
                ),
            ),
        ];
        let ticket = [
            integer(0, &[5]),
            element(member(1), &element(GENERAL_STRING, b"R")),
            element(member(2), &element(SEQUENCE, &name.concat())),
            element(member(3), &cipher(enctype)),
        ];
        let ticket = element(TICKET, &element(SEQUENCE, &ticket.concat()));
        let body = [
            integer(0, &[5]),
            integer(1, &[14]),
            element(member(2), &element(BIT_STRING, options)),
            element(member(3), &ticket),
            element(member(4), &cipher(&[18])),
        ];
        element(AP_REQUEST, &element(SEQUENCE, &body.concat()))
    }

    const NO_OPTIONS: [u8; 5] = [0; 5];

    #[test]
    fn what_stands_in_the_clear_is_read_in_both_framings() {
        let raw = request(&[0, 0x20, 0, 0, 0], &[23]);
        let found = ApRequest::parse(&raw, Framing::Raw).expect("an AP-REQ");
        assert_eq!((&*found.realm, &*found.service), ("R", "HTTP/h"));
        assert_eq!(
            (found.ticket, found.authenticator),
            (Enctype(23), Enctype(18))
        );
        assert!(found.mutual);
        let gss = framed(&raw);
        assert_eq!(ApRequest::parse(&gss, Framing::Gss), Ok(found));
        assert_eq!(in_framing(&gss, Framing::Raw), Ok(raw.clone()));
        let expected = Err(wrong("expected another element"));
        assert_eq!(ApRequest::parse(&gss, Framing::Raw), expected);
        assert_eq!(ApRequest::parse(&raw, Framing::Gss), expected);
    }

    #[test]
    fn one_value_has_one_encoding() {
        let refused = |bytes: &[u8]| ApRequest::parse(bytes, Framing::Raw).err();
        let good = request(&NO_OPTIONS, &[18]);
        assert_eq!(refused(&good), None);
        let behind = [good.as_slice(), &[0]].concat();
        let nothing_behind = wrong("expected nothing behind the last element");
        assert_eq!(refused(&behind), Some(nothing_behind));
        let long = request(&NO_OPTIONS, &[0, 18]);
        let shortest = wrong("expected the shortest form of an integer");
        assert_eq!(refused(&long), Some(shortest));
        let options = request(&[0, 0, 0, 0], &[18]);
        assert_eq!(
            refused(&options),
            Some(wrong("expected 32 bits of options"))
        );
        let mut length = good.clone();
        // One byte more for the length of the whole.
        length.splice(1..2, [0x83, 0]);
        let shortest = wrong("expected the shortest form of a length");
        assert_eq!(refused(&length), Some(shortest));
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        let good = framed(&request(&NO_OPTIONS, &[18]));
        for end in 0..good.len() {
            let cut = ApRequest::parse(&good[..end], Framing::Gss);
            assert!(matches!(cut, Err(KerberosError::Malformed { .. })), "{end}");
        }
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 0x81;
            // It may be read all the same; what matters is that it comes back.
            drop(ApRequest::parse(&changed, Framing::Gss));
        }
    }
}
