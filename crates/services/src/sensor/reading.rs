//! Reading the sensor: a request, and again if no answer comes, until patience ends.
//!
//! Each reading has a socket of its own, connected to the controller, and a sequence number of its
//! own: what another address sends does not arrive, and what belongs to another reading is not
//! taken. An answer that comes after its request was repeated is right all the same. The rule kept
//! here: a reading ends within its patience, whatever comes.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use super::SENSOR;
use super::datagram::{Content, Datagram, LENGTH};

/// For how long a controller that does not answer is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long an answer may take before the request is repeated. Default: 250 ms.
    pub answer: Duration,
    /// How often it is asked in all. Default: 6.
    pub requests: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            answer: Duration::from_millis(250),
            requests: 6,
        }
    }
}

impl Patience {
    /// How long a reading takes at most.
    pub fn whole(self) -> Duration {
        self.answer * self.requests
    }
}

/// Why there is no value.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// No answer came.
    Away { requests: u32, waited: Duration },
    /// The controller has no such sensor.
    NoSensor { sensor: u16 },
    /// The system gives no socket to ask with.
    Socket(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away { requests, waited } => write!(
                formatter,
                "the controller answered none of {requests} requests within {waited:?}"
            ),
            Self::NoSensor { sensor } => {
                write!(formatter, "the controller has no sensor {sensor}")
            }
            Self::Socket(error) => write!(formatter, "there is no socket to ask with: {error}"),
        }
    }
}

/// The sensor, by way of its controller.
#[derive(Debug)]
pub(crate) struct Sensor {
    controller: SocketAddr,
    patience: Patience,
    sequence: AtomicU32,
}

impl Sensor {
    pub(crate) fn new(controller: SocketAddr, patience: Patience) -> Self {
        Self {
            controller,
            patience,
            // Not where it was before a restart: late answers to the requests of then are not for
            // us.
            sequence: AtomicU32::new(RandomState::new().hash_one(controller) as u32),
        }
    }

    /// Its value, in hundredths of a degree Celsius.
    pub(crate) async fn read(&self) -> Result<i16, ReadError> {
        let request = Datagram {
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            content: Content::Read { sensor: SENSOR },
        };
        let socket = self.socket().await.map_err(ReadError::Socket)?;
        let begun = Instant::now();
        for number in 1..=self.patience.requests {
            if let Err(error) = socket.send(&request.write()).await {
                // The refusal of the request before it, or a network that is down: the next one may
                // arrive.
                tracing::debug!(%error, "a request to the controller cannot be sent");
            }
            let until = begun + self.patience.answer * number;
            // Ends with an answer or with the time.
            if let Ok(answer) = timeout_at(until, answer_to(request, &socket)).await {
                return answer;
            }
            tracing::debug!(number, controller = %self.controller, "no answer in time");
        }
        Err(ReadError::Away {
            requests: self.patience.requests,
            waited: begun.elapsed(),
        })
    }

    async fn socket(&self) -> io::Result<UdpSocket> {
        let any = match self.controller {
            SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(self.controller).await?;
        Ok(socket)
    }
}

/// Waits for the answer to this request; other datagrams, and refusals, are passed over.
async fn answer_to(request: Datagram, socket: &UdpSocket) -> Result<i16, ReadError> {
    // One byte more than a datagram has, so that a longer one is not taken for it.
    let mut octets = [0; LENGTH + 1];
    loop {
        let Ok(length) = socket.recv(&mut octets).await else {
            // Nobody listens there now. Asking again is for the caller, when it is time.
            tokio::task::yield_now().await;
            continue;
        };
        match Datagram::parse(&octets[..length]) {
            Some(Datagram { sequence, .. }) if sequence != request.sequence => {}
            Some(Datagram {
                content: Content::Value { hundredths },
                ..
            }) => return Ok(hundredths),
            Some(Datagram {
                content: Content::NoSensor { sensor },
                ..
            }) => return Err(ReadError::NoSensor { sensor }),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensor::{Controller, Device};

    const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

    fn impatient(controller: SocketAddr) -> Sensor {
        Sensor::new(
            controller,
            Patience {
                answer: Duration::from_millis(50),
                requests: 3,
            },
        )
    }

    #[tokio::test]
    async fn a_lost_request_is_repeated() {
        let device = Device {
            temperature: -4,
            loss: 0.5,
            ..Device::default()
        };
        let controller = Controller::start(LOOPBACK.into(), device).await.unwrap();
        let patience = Patience {
            answer: Duration::from_millis(20),
            requests: 50,
        };
        let sensor = Sensor::new(controller.address(), patience);
        for _ in 0..20 {
            assert_eq!(sensor.read().await.unwrap(), -4);
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_slower_than_a_repetition_is_taken() {
        let device = Device {
            delay: Duration::from_millis(80),
            ..Device::default()
        };
        let controller = Controller::start(LOOPBACK.into(), device).await.unwrap();
        assert_eq!(impatient(controller.address()).read().await.unwrap(), 2_150);
    }

    #[tokio::test]
    async fn a_controller_that_stays_away_is_given_up_within_the_patience() {
        let silent = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
        let gone = {
            let closed = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
            closed.local_addr().unwrap()
        };
        for controller in [silent.local_addr().unwrap(), gone] {
            let begun = Instant::now();
            let error = impatient(controller).read().await.unwrap_err();
            assert!(
                matches!(error, ReadError::Away { requests: 3, .. }),
                "{error:?}"
            );
            let waited = begun.elapsed();
            assert!(waited >= Duration::from_millis(150), "{waited:?}");
            assert!(waited < Duration::from_secs(2), "{waited:?}");
        }
    }

    #[tokio::test]
    async fn answers_to_other_requests_and_from_other_addresses_are_not_taken() {
        let device = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
        let stranger = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
        let sensor = impatient(device.local_addr().unwrap());
        let playing = async {
            let mut octets = [0; 64];
            let (length, from) = device.recv_from(&mut octets).await.unwrap();
            let asked = Datagram::parse(&octets[..length]).unwrap();
            let value = |sequence, hundredths| {
                Datagram {
                    sequence,
                    content: Content::Value { hundredths },
                }
                .write()
            };
            stranger
                .send_to(&value(asked.sequence, 666), from)
                .await
                .unwrap();
            for wrong in [
                &value(asked.sequence.wrapping_add(1), 1)[..],
                &value(asked.sequence.wrapping_sub(1), 2),
                &octets[..length],
                b"\x02\x11",
                &[value(asked.sequence, 3), value(asked.sequence, 3)].concat(),
            ] {
                device.send_to(wrong, from).await.unwrap();
            }
            device
                .send_to(&value(asked.sequence, 1_999), from)
                .await
                .unwrap();
        };
        let (read, ()) = tokio::join!(sensor.read(), playing);
        assert_eq!(read.unwrap(), 1_999);
    }
}
