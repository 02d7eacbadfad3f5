//! A network of its own (a namespace of Linux) for the service's side, behind a wire that this
//! process holds.
//!
//! Both ends of the wire are devices whose packets `socat` carries from and to it. The rule kept
//! here: nothing of it stays when this value is gone.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use soapstone_lab::study::Link;
use tempfile::TempDir;

use super::limits::there_is;
use super::wire::Wire;

/// A namespace with a device at the far end of a wire.
pub(crate) struct Namespace {
    name: String,
    address: Ipv4Addr,
    carriers: Vec<Child>,
    _wire: Wire,
    _sockets: TempDir,
}

impl Namespace {
    /// Makes one. To be called on a runtime.
    ///
    /// # Errors
    /// Why there cannot be one here.
    pub(crate) fn new(link: Link) -> Result<Self, String> {
        for program in ["ip", "socat"] {
            if !there_is(program) {
                return Err(format!(
                    "networks of their own need {program}, which is not here (packages iproute2 and socat)"
                ));
            }
        }
        static NUMBER: AtomicU8 = AtomicU8::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = format!("soapstone-{process}-{number}");
        let sockets = TempDir::new().map_err(|error| error.to_string())?;
        let wire = Wire::between(sockets.path(), link).map_err(|error| error.to_string())?;
        // Addresses for measuring networks (RFC 2544, appendix C.2.2): four of them for each wire.
        let [_, _, high, low] = process.to_be_bytes();
        let [near, far] =
            [1, 2].map(|end| Ipv4Addr::new(198, 18 + (high & 1), low, (number % 64) * 4 + end));
        run(&["ip", "netns", "add", &name])?;
        // From here on, what was made goes with the value.
        let mut namespace = Self {
            name,
            address: far,
            carriers: Vec::new(),
            _wire: wire,
            _sockets: sockets,
        };
        let inside = namespace.words();
        let inside: Vec<&str> = inside.iter().map(String::as_str).collect();
        run(&[&inside[..], &["ip", "link", "set", "lo", "up"]].concat())?;
        let folder = namespace._sockets.path().to_owned();
        for (before, address, end) in [(&[][..], near, "near"), (&inside, far, "far")] {
            let device = format!("ss{process}{}{number}", &end[..1]);
            let carrier = carry(before, &folder, address, end, &device)?;
            namespace.carriers.push(carrier);
            let there = [before, &["ip", "addr", "show", "up", "dev", &device]].concat();
            let begun = Instant::now();
            while !run(&there).is_ok_and(|shown| shown.contains(&address.to_string())) {
                if begun.elapsed() > Duration::from_secs(5) {
                    return Err(format!(
                        "socat makes no device {device}: is there /dev/net/tun?"
                    ));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(namespace)
    }

    /// What a command begins with to be in it.
    pub(crate) fn words(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name]
            .map(str::to_owned)
            .to_vec()
    }

    /// Its address at the far end of the wire.
    pub(crate) fn address(&self) -> IpAddr {
        self.address.into()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        for carrier in &mut self.carriers {
            // It may have ended already.
            let _ = carrier.kill();
            let _ = carrier.wait();
        }
        let _ = run(&["ip", "netns", "delete", &self.name]);
    }
}

/// Carries packets of a new device from and to the wire.
fn carry(
    before: &[&str],
    folder: &Path,
    address: Ipv4Addr,
    end: &str,
    device: &str,
) -> Result<Child, String> {
    let device = format!("TUN:{address}/30,tun-name={device},iff-no-pi,iff-up");
    let [wire, own] = [format!("{end}-wire"), end.to_owned()].map(|name| folder.join(name));
    let socket = format!("UNIX-SENDTO:{},bind={}", wire.display(), own.display());
    let words = [before, &["socat", &device, &socket]].concat();
    Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("socat: {error}"))
}

/// Runs a command to its end: what it printed, or what it complained about.
fn run(words: &[&str]) -> Result<String, String> {
    let failed = |problem: &str| format!("{} failed: {}", words.join(" "), problem.trim());
    let output = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(failed(&String::from_utf8_lossy(&output.stderr)))
    }
}
