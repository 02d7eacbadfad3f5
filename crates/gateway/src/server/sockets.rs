//! The sockets that a gateway listens on: its own, ones that it shares with its successor, and ones
//! that a supervisor opened for it.
//!
//! The rule kept here: a socket that somebody passed is used for the address that it has, or the
//! start says so.

use std::io;
use std::net::{SocketAddr, TcpListener as Passed};

use tokio::net::{TcpListener, TcpSocket};

use super::start_error::StartError;

/// Most connections that wait to be accepted, as far as the system lets it.
const BACKLOG: u32 = 4096;

/// The sockets that systemd passed to this process (sd_listen_fds(3)), where it did.
///
/// # Errors
///
/// When one of them is no TCP socket that listens.
pub(crate) fn passed() -> io::Result<Vec<Passed>> {
    let mut passed = listenfd::ListenFd::from_env();
    let mut sockets = Vec::new();
    for number in 0..passed.len() {
        sockets.extend(passed.take_tcp_listener(number)?);
    }
    Ok(sockets)
}

/// Listens at an address: on a socket that was passed for it, which is taken out of these, or on
/// one of its own.
pub(crate) fn listen(
    address: SocketAddr,
    shares: bool,
    passed: &mut Vec<Passed>,
) -> Result<(SocketAddr, TcpListener), StartError> {
    let failed = |source| StartError::Listen { address, source };
    let is_for_it = |socket: &Passed| {
        let local = socket.local_addr();
        local.is_ok_and(|local| are_same(local, address))
    };
    let socket = match passed.iter().position(is_for_it) {
        Some(position) => adopt(passed.swap_remove(position)),
        None => bind(address, shares),
    };
    let socket = socket.map_err(failed)?;
    Ok((socket.local_addr().map_err(failed)?, socket))
}

/// Whether two addresses are the same to clients: `[::]`, as systemd opens a port, is all of them
/// as `0.0.0.0` is.
fn are_same(one: SocketAddr, other: SocketAddr) -> bool {
    let are_all = one.ip().is_unspecified() && other.ip().is_unspecified();
    one.port() == other.port() && (are_all || one.ip() == other.ip())
}

fn adopt(socket: Passed) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

fn bind(address: SocketAddr, shares: bool) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A port that a predecessor has just closed is free (SO_REUSEADDR), and with SO_REUSEPORT so is
    // one that it still has.
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(shares)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_that_was_passed_serves_its_address_and_no_other() {
        let socket = Passed::bind("127.0.0.1:0").expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        let mut passed = vec![socket];
        let other: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        listen(other, false, &mut passed).expect("a free port");
        assert_eq!(passed.len(), 1);
        let (found, _socket) = listen(address, false, &mut passed).expect("it was passed");
        assert_eq!((found, passed.len()), (address, 0));
        let taken = listen(address, false, &mut passed).map(drop);
        assert!(
            matches!(&taken, Err(StartError::Listen { source, .. }) if source.kind() == io::ErrorKind::AddrInUse),
            "{taken:?}"
        );
    }

    #[tokio::test]
    async fn a_port_is_shared_by_those_who_all_want_it() {
        let any = "127.0.0.1:0".parse().expect("an address");
        let (address, _one) = listen(any, true, &mut Vec::new()).expect("a free port");
        listen(address, true, &mut Vec::new()).expect("both share it");
        let alone = listen(address, false, &mut Vec::new()).map(drop);
        assert!(matches!(alone, Err(StartError::Listen { .. })), "{alone:?}");
    }

    #[test]
    fn every_address_is_every_address_of_either_version() {
        let same = |one: &str, other: &str| {
            let address = |text: &str| text.parse().expect("an address");
            are_same(address(one), address(other))
        };
        assert!(same("[::]:8443", "0.0.0.0:8443"));
        assert!(!same("[::]:8443", "127.0.0.1:8443"));
        assert!(!same("127.0.0.1:8443", "127.0.0.1:8444"));
    }
}
