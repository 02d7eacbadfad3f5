//! How cost grows: with the size of a message, and with the number of its signed elements; and what
//! memory the largest takes.
//!
//! The exponent is the slope of log time over log size, by least squares: 1 is linear. Session keys
//! are shared, so that the constant cost of RSA does not flatter it.

use jiff::Timestamp;
use serde::Serialize;
use soapstone::wss::{KeyBinding, Mechanism, Outgoing, Part, Suite, Tuning, names::WSU};
use soapstone::xml::{Buffers, Limits};
use soapstone::{Call, ForgetfulReplayCache, Opener, Securer};
use soapstone_services::{SoapVersion, responses};

use crate::measurement::{Effort, Samples};
use crate::peers::Peers;

/// How one operation grows.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// `secure` or `open`.
    pub op: &'static str,
    /// What grows: `bytes` or `signed-elements`.
    pub over: &'static str,
    /// What it grew to, and the median time in microseconds.
    pub points: Vec<(usize, f64)>,
    /// Slope of log time over log size.
    pub exponent: f64,
}

/// Memory that one message took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// `secure` or `open`.
    pub op: &'static str,
    /// Size of the message that came in, bytes.
    pub bytes: usize,
    /// Largest resident set of the process afterwards, bytes.
    pub peak: usize,
    /// `4 × bytes + 30 MB`.
    pub bound: usize,
}

const SUITE: &str = "Basic128GCM";
/// Sizes of messages, bytes.
const BYTES: [usize; 7] = [
    10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
];
/// Numbers of signed elements.
const ELEMENTS: [usize; 6] = [10, 50, 200, 500, 1_500, 5_000];

/// Measures growth over the size of a message, all of whose Body is signed and encrypted, and over
/// the number of signed elements.
pub fn run(effort: Effort, emit: &mut dyn FnMut(&Growth)) {
    let peers = Peers::new();
    let (mut secure, mut open) = (Vec::new(), Vec::new());
    let ends = self::ends(&peers, Mechanism::SignEncrypt, 0);
    for bytes in BYTES {
        let plain = array(bytes);
        let (secured, opened) = round_trip(&ends, &plain, effort);
        secure.push((plain.len(), secured));
        open.push((plain.len(), opened));
    }
    emit(&growth("secure", "bytes", secure));
    emit(&growth("open", "bytes", open));

    let (mut secure, mut open) = (Vec::new(), Vec::new());
    for elements in ELEMENTS {
        let ends = self::ends(&peers, Mechanism::Sign, elements);
        let (secured, opened) = round_trip(&ends, &elements_with_ids(elements), effort);
        secure.push((elements, secured));
        open.push((elements, opened));
    }
    emit(&growth("secure", "signed-elements", secure));
    emit(&growth("open", "signed-elements", open));
}

/// Secures or opens one message of this size, and looks at the memory of the process. To be run in
/// a process of its own, once: the largest resident set only grows.
pub fn memory(op: &'static str, bytes: usize) -> Option<Memory> {
    let (sender, receiver) = ends(&Peers::new(), Mechanism::SignEncrypt, 0);
    let mut buffers = Buffers::default();
    let plain = array(bytes);
    let secured = sender
        .secure_with(
            plain,
            Outgoing::default(),
            &mut Call::new(Timestamp::now(), &mut buffers),
        )
        .ok()?
        .bytes;
    drop(buffers);
    let mut buffers = Buffers::default();
    // What was needed to make the message is not counted.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let came_in = match op {
        "open" => {
            let bytes = secured.len();
            receiver
                .open_with(
                    secured,
                    None,
                    soapstone::Memory::without_conversations(&ForgetfulReplayCache),
                    &mut Call::new(Timestamp::now(), &mut buffers),
                )
                .ok()?;
            bytes
        }
        _ => {
            drop(secured);
            let plain = array(bytes);
            let bytes = plain.len();
            sender
                .secure_with(
                    plain,
                    Outgoing::default(),
                    &mut Call::new(Timestamp::now(), &mut buffers),
                )
                .ok()?;
            bytes
        }
    };
    Some(Memory {
        op,
        bytes: came_in,
        peak: peak()?,
        bound: 4 * came_in + 30_000_000,
    })
}

/// `VmHWM` of this process.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<usize>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

/// Who secures, and who opens.
fn ends(peers: &Peers, mechanism: Mechanism, elements: usize) -> (Securer, Opener) {
    let suite = Suite::named(SUITE).expect("a suite of the table");
    let (outbound, inbound) = peers.plans_with(
        mechanism,
        &suite,
        KeyBinding::Shared,
        Tuning::default(),
        |policy| {
            policy.limits.references = elements + 8;
            if policy.binding.signs() {
                let ids = (0..elements).map(|number| Part::Id(format!("i{number}")));
                policy.parts.signed.extend(ids);
            }
        },
    );
    let mut limits = Limits::default();
    limits.message = 64 << 20;
    limits.elements = 1 << 22;
    (
        Securer::of_plan(outbound, limits.clone()),
        Opener::of_plan(inbound, limits),
    )
}

/// Median microseconds of securing and of opening.
fn round_trip((sender, receiver): &(Securer, Opener), plain: &[u8], effort: Effort) -> (f64, f64) {
    let buffers = std::cell::RefCell::new(Buffers::default());
    let copy = |of: &[u8]| {
        let mut bytes = buffers.borrow_mut().take(of.len());
        bytes.extend_from_slice(of);
        bytes
    };
    let mut message = Vec::new();
    let secure = Samples::of_prepared(
        effort,
        || copy(plain),
        |bytes| {
            let buffers = &mut buffers.borrow_mut();
            let secured = sender
                .secure_with(
                    bytes,
                    Outgoing::default(),
                    &mut Call::new(Timestamp::now(), buffers),
                )
                .expect("a message that can be secured");
            buffers.give(std::mem::replace(&mut message, secured.bytes));
        },
    );
    let open = Samples::of_prepared(
        effort,
        || copy(&message),
        |bytes| {
            let buffers = &mut buffers.borrow_mut();
            let opened = receiver
                .open_with(
                    bytes,
                    None,
                    soapstone::Memory::without_conversations(&ForgetfulReplayCache),
                    &mut Call::new(Timestamp::now(), buffers),
                )
                .expect("a message that is accepted");
            buffers.give(opened.bytes);
        },
    );
    (secure.figures().median, open.figures().median)
}

/// An answer with as many short strings as make up this size.
fn array(bytes: usize) -> Vec<u8> {
    let item = "a string of the array";
    let one = responses::echo_string_array(SoapVersion::Soap11, &[item]).len();
    let more = responses::echo_string_array(SoapVersion::Soap11, &[item, item]).len();
    let items = vec![item; bytes.saturating_sub(one) / (more - one) + 1];
    responses::echo_string_array(SoapVersion::Soap11, &items)
}

fn elements_with_ids(elements: usize) -> Vec<u8> {
    let items: String = (0..elements)
        .map(|number| format!("<item u:Id=\"i{number}\">string {number}</item>"))
        .collect();
    format!(
        "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body><array xmlns=\"urn:soapstone:lab\" \
         xmlns:u=\"{WSU}\">{items}</array></soap:Body></soap:Envelope>"
    )
    .into_bytes()
}

fn growth(op: &'static str, over: &'static str, points: Vec<(usize, f64)>) -> Growth {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .map(|(size, time)| ((*size as f64).ln(), time.ln()))
        .collect();
    let n = logs.len() as f64;
    let (mean_x, mean_y) = (
        logs.iter().map(|log| log.0).sum::<f64>() / n,
        logs.iter().map(|log| log.1).sum::<f64>() / n,
    );
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    Growth {
        op,
        over,
        points,
        exponent: covariance / variance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_square_is_two() {
        let squares = [10_usize, 100, 1000].map(|size| (size, (size * size) as f64));
        assert!((growth("open", "bytes", squares.to_vec()).exponent - 2.0).abs() < 1e-9);
    }

    #[test]
    fn arrays_have_the_size_that_was_asked_for() {
        for bytes in [10_000, 1_000_000] {
            let found = array(bytes).len();
            assert!(found.abs_diff(bytes) < 200, "{found}");
        }
    }
}
