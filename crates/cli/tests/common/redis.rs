//! A `redis-server` of a test.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// It ends with its test.
pub(crate) struct Redis(Child);

impl Redis {
    /// Starts it with these options, and waits until it listens to the port that they name.
    pub(crate) fn start(port: u16, options: &[&str]) -> Self {
        let server = Command::new("redis-server")
            .args(["--save", "", "--bind", "127.0.0.1"])
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server runs (Debian: apt-get install redis-server)");
        let redis = Self(server);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        redis
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
