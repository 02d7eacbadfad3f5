//! What happens between the calls of a gateway: bytes go out over a socket, another thread wakes,
//! bytes come back.
//!
//! The kernel's code for it lies in the same caches, and its branches are predicted by the same
//! tables, as those of the engine.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// Bytes that go out and come back: a small message.
const LENGTH: usize = 1_200;

/// A connection over loopback to a thread that sends back what it receives, and ends with the
/// connection.
#[derive(Debug)]
pub struct Loopback(TcpStream);

impl Loopback {
    /// # Errors
    /// The system gives no socket or no thread.
    pub fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let here = TcpStream::connect(listener.local_addr()?)?;
        here.set_nodelay(true)?;
        let (there, _) = listener.accept()?;
        there.set_nodelay(true)?;
        thread::Builder::new()
            .name("loopback".to_owned())
            .spawn(move || send_back(there))?;
        Ok(Self(here))
    }

    /// Sends a small message to the other thread, and waits until it is back.
    pub(crate) fn round_trip(&self) {
        let mut message = [0; LENGTH];
        let mut stream = &self.0;
        let sent = stream.write_all(&message);
        sent.and_then(|()| stream.read_exact(&mut message))
            .expect("a connection of this process with itself");
    }
}

fn send_back(mut stream: TcpStream) -> io::Result<()> {
    let mut message = [0; LENGTH];
    loop {
        let length = stream.read(&mut message)?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&message[..length])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_thread_ends_with_the_connection() {
        let loopback = Loopback::open().expect("sockets");
        for _ in 0..3 {
            loopback.round_trip();
        }
        let mut watching = loopback.0.try_clone().expect("one more handle");
        watching
            .shutdown(std::net::Shutdown::Write)
            .expect("no more bytes");
        let mut rest = Vec::new();
        watching.read_to_end(&mut rest).expect("an orderly end");
        assert!(rest.is_empty(), "each message came back once");
    }
}
