//! The measurements that advice is drawn from: the engine's cases, and TLS between two parties in
//! memory.
//!
//! The rule kept here: they are lines like those of `lab run engine`, so that kept ones serve as
//! well.

use soapstone::crypto::KeyKind;

use crate::engine::{self, Options};
use crate::measurement::{Effort, Measurement, Samples};
use crate::payload::Payload;
use crate::statistics::Figures;
use crate::tls::{Connection, Parties};

/// The mechanism of lines that measure TLS.
pub(super) const HTTPS: &str = "https";
/// The operation of such a line that is a handshake.
pub(super) const HANDSHAKE: &str = "handshake";
/// The operation that carries a message.
pub(super) const CARRY: &str = "carry";

/// The suite of lines that measure TLS.
pub(super) const TLS: &str = "TLS 1.3";

/// Measures everything that can be advised, but for how conversations begin and end.
pub fn measure(effort: Effort, emit: &mut dyn FnMut(&Measurement)) {
    let options = Options {
        effort,
        ..Options::default()
    };
    engine::run(&options, &mut |measurement| {
        if !measurement.is_beside_the_cases() {
            emit(measurement);
        }
    });
    let parties = Parties::new(KeyKind::Rsa { bits: 2048 });
    let mut travelled = 0;
    let samples = Samples::of(effort, || {
        travelled = Connection::between(&parties).handshake();
    });
    emit(&line(
        HANDSHAKE,
        Payload::Echo(0),
        0,
        travelled,
        &samples.figures(),
    ));
    for payload in Payload::ALL {
        let message = payload.envelope();
        let mut connection = Connection::between(&parties);
        let mut travelled = 0;
        let samples = Samples::of(effort, || travelled = connection.carry(&message));
        emit(&line(
            CARRY,
            payload,
            message.len(),
            travelled,
            &samples.figures(),
        ));
    }
}

fn line(
    op: &'static str,
    payload: Payload,
    bytes: usize,
    travelled: usize,
    figures: &Figures,
) -> Measurement {
    Measurement {
        suite: TLS.to_owned(),
        bytes,
        secured_bytes: travelled,
        ..Measurement::ours(op, HTTPS, payload, figures)
    }
}
