//! The controller: a device with one sensor that answers requests for its value, late or never if
//! it is told so.
//!
//! The rule kept here: what it loses depends on the seed and on the order of requests alone, and it
//! never answers anything but a request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use super::SENSOR;
use super::datagram::{Content, Datagram, LENGTH};
use crate::words::Random;

/// Answers that may be under way at once; further requests are lost, as in any small device that is
/// asked too much.
const UNDER_WAY: usize = 256;

/// What the device is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// What the sensor measures, in hundredths of a degree Celsius. Default: 2150.
    pub temperature: i16,
    /// How long it takes to answer. Default: no time.
    pub delay: Duration,
    /// The share of requests that it does not answer, from 0 to 1. Default: 0.
    pub loss: f64,
    /// What decides which those are. Default: 1.
    pub seed: u64,
}

impl Default for Device {
    fn default() -> Self {
        Self {
            temperature: 2_150,
            delay: Duration::ZERO,
            loss: 0.0,
            seed: 1,
        }
    }
}

/// A controller that runs. It stops when it is dropped.
#[derive(Debug)]
pub struct Controller {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Controller {
    /// Listens, and answers in the background of the current Tokio runtime.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn start(listen: SocketAddr, device: Device) -> io::Result<Self> {
        let socket = UdpSocket::bind(listen).await?;
        let address = socket.local_addr()?;
        tracing::info!(
            %address,
            degrees = f64::from(device.temperature) / 100.0,
            delay = ?device.delay,
            loss = device.loss,
            seed = device.seed,
            "the controller of the sensor listens"
        );
        Ok(Self {
            address,
            task: tokio::spawn(answer(Arc::new(socket), device)),
        })
    }

    /// The address it listens on, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(socket: Arc<UdpSocket>, device: Device) {
    let mut random = Random::seeded(device.seed);
    let places = Arc::new(Semaphore::new(UNDER_WAY));
    let mut under_way = JoinSet::new();
    // One byte more than a datagram has, so that a longer one is not taken for it.
    let mut octets = [0; LENGTH + 1];
    loop {
        while under_way.try_join_next().is_some() {}
        let (length, from) = match socket.recv_from(&mut octets).await {
            Ok(received) => received,
            Err(error) => {
                // Most often an earlier answer that found nobody.
                tracing::debug!(%error, "cannot receive");
                tokio::task::yield_now().await;
                continue;
            }
        };
        let Some(answer) = Datagram::parse(&octets[..length]).and_then(|it| reply(it, device))
        else {
            tracing::debug!(%from, length, "what came is no request");
            continue;
        };
        if random.share() < device.loss {
            tracing::debug!(%from, "a request is lost");
            continue;
        }
        if device.delay.is_zero() {
            send(&socket, answer, from).await;
        } else if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let socket = Arc::clone(&socket);
            under_way.spawn(async move {
                tokio::time::sleep(device.delay).await;
                send(&socket, answer, from).await;
                drop(place);
            });
        }
    }
}

/// The answer; none to what is no request.
fn reply(request: Datagram, device: Device) -> Option<Datagram> {
    let content = match request.content {
        Content::Read { sensor: SENSOR } => Content::Value {
            hundredths: device.temperature,
        },
        Content::Read { sensor } => Content::NoSensor { sensor },
        Content::Value { .. } | Content::NoSensor { .. } => return None,
    };
    Some(Datagram { content, ..request })
}

async fn send(socket: &UdpSocket, answer: Datagram, to: SocketAddr) {
    if let Err(error) = socket.send_to(&answer.write(), to).await {
        tracing::debug!(%error, %to, "an answer cannot be sent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

    async fn asking(controller: &Controller) -> UdpSocket {
        let socket = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
        socket.connect(controller.address()).await.unwrap();
        socket
    }

    /// What comes within 200 ms.
    async fn next(socket: &UdpSocket) -> Option<Datagram> {
        let mut octets = [0; 64];
        let received =
            tokio::time::timeout(Duration::from_millis(200), socket.recv(&mut octets)).await;
        let length = received.ok()?.unwrap();
        assert_eq!(length, LENGTH);
        Datagram::parse(&octets[..length])
    }

    fn read(sequence: u32, sensor: u16) -> Datagram {
        Datagram {
            sequence,
            content: Content::Read { sensor },
        }
    }

    #[tokio::test]
    async fn requests_are_answered_under_their_number_and_anything_else_is_not() {
        let controller = Controller::start(LOOPBACK.into(), Device::default())
            .await
            .unwrap();
        let socket = asking(&controller).await;
        let value = Datagram {
            sequence: 5,
            content: Content::Value { hundredths: 2_150 },
        };
        // An answer that is sent to it must not make it answer: two controllers would talk for
        // ever.
        for ignored in [
            &value.write()[..],
            b"",
            b"x",
            &[2; 9],
            &[read(3, SENSOR).write(), read(4, SENSOR).write()].concat(),
        ] {
            socket.send(ignored).await.unwrap();
        }
        socket.send(&read(5, SENSOR).write()).await.unwrap();
        assert_eq!(next(&socket).await, Some(value));
        socket.send(&read(6, 9).write()).await.unwrap();
        let unknown = Datagram {
            sequence: 6,
            content: Content::NoSensor { sensor: 9 },
        };
        assert_eq!(next(&socket).await, Some(unknown));
        assert_eq!(next(&socket).await, None);
    }

    #[tokio::test]
    async fn what_is_lost_is_the_same_for_a_seed_and_about_the_share_that_was_asked_for() {
        let mut runs = Vec::new();
        for seed in [7, 7, 8] {
            let device = Device {
                loss: 0.25,
                seed,
                ..Device::default()
            };
            let controller = Controller::start(LOOPBACK.into(), device).await.unwrap();
            let socket = asking(&controller).await;
            for sequence in 0..100 {
                socket.send(&read(sequence, SENSOR).write()).await.unwrap();
            }
            let mut answered = Vec::new();
            while let Some(answer) = next(&socket).await {
                answered.push(answer.sequence);
            }
            assert!((60..90).contains(&answered.len()), "{}", answered.len());
            runs.push(answered);
        }
        assert_eq!(runs[0], runs[1]);
        assert_ne!(runs[0], runs[2]);
    }
}
