//! Paths of requests, as whoever reads them may understand them.
//!
//! The rule kept here: a path that a backend may read otherwise has the reading of the most
//! generous of backends, or none.

/// Whether a path begins with all segments of another.
pub(crate) fn is_below(path: &str, base: &str) -> bool {
    match path.strip_prefix(base) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || base == "/",
        None => false,
    }
}

/// Whether everybody reads a path alike: nothing of it is encoded, a capital, a parameter, empty,
/// or a dot.
pub(crate) fn has_one_reading(path: &str) -> bool {
    let is_small = |octet: u8| octet.is_ascii() && !octet.is_ascii_uppercase();
    path.bytes().all(is_small)
        && !path.contains(['%', ';', '\\'])
        && !path.contains("//")
        && !path.contains("/.")
}

/// Most times that a path is decoded. Backends have decoded it twice (CVE-2001-0333,
/// CVE-2021-42013), and another proxy may stand before them.
const MOST_DECODINGS: usize = 3;

/// A path as the most generous of backends may understand it: decoded (RFC 3986 section 6.2.2.2),
/// and decoded again where that leaves something to decode, in small letters, with `\` and what is
/// decoded to `/` between segments, without their parameters (section 3.3) and without empty ones.
/// `None` if a segment is `.` or `..` then, or if there is no end to the decoding: where such a
/// path leads, only the backend knows.
pub(crate) fn reading(path: &str) -> Option<String> {
    let mut octets = path.as_bytes().to_vec();
    let mut decodings = 0;
    loop {
        let further = decoded(&octets);
        if further == octets {
            break;
        }
        decodings += 1;
        if decodings > MOST_DECODINGS {
            return None;
        }
        octets = further;
    }
    let text = String::from_utf8_lossy(&octets).to_lowercase();
    let mut reading = String::with_capacity(text.len());
    for segment in text.split(['/', '\\']) {
        match segment.split(';').next().unwrap_or_default() {
            "" => {}
            "." | ".." => return None,
            name => {
                reading.push('/');
                reading.push_str(name);
            }
        }
    }
    if reading.is_empty() {
        reading.push('/');
    }
    Some(reading)
}

/// With every `%` and two hexadecimal digits as the byte that they mean.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |octet: &u8| char::from(*octet).to_digit(16);
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let meant = match (first, behind) {
            (b'%', [high, low, ..]) => digit(high).zip(digit(low)),
            _ => None,
        };
        let meant = meant.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        octets.push(meant.unwrap_or(*first));
        rest = if meant.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    octets
}
