//! Both sides apart: the gateway before the services in a process of its own, under a condition,
//! and the gateway for clients in this one.
//!
//! The rule kept here: only the service's side is under the condition.

use std::ffi::OsStr;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use soapstone_lab::study::{Condition, NoCall};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use super::child::Child;
use super::limits::{Limit, Limited};
use super::namespace::Namespace;
use super::part::gateway;
use super::scratch::{Behind, Ports};
use super::{Layout, Scratch, authority};
use crate::failure::Failure;

/// Both sides. Fields are dropped in their order: processes before what they are in.
pub(crate) struct Apart {
    near: soapstone_gateway::Running,
    far: Child,
    _services: Option<Child>,
    _authority: Option<Child>,
    _limited: Option<Limited>,
    _way: Option<Forward>,
    _namespace: Option<Namespace>,
}

impl Apart {
    /// Starts everything for the only route of the layout, before services that run at this address
    /// already; on a network of their own, before others. What the processes log goes to `log`.
    /// To be called on a runtime.
    ///
    /// # Errors
    /// The condition is left out, if the system cannot make it, or the gateway does not start under
    /// it.
    pub(crate) async fn start(
        scratch: &Scratch,
        layout: &Layout,
        condition: Condition,
        services: SocketAddr,
        log: Option<File>,
    ) -> Result<Self, NoCall<Failure>> {
        let limit = match condition {
            Condition::Memory { mebibytes } => Some(Limit::Memory(u64::from(mebibytes) << 20)),
            Condition::Processor { percent } => Some(Limit::Processor(percent)),
            Condition::Network(_) => None,
        };
        let limited = limit.map(Limited::new).transpose();
        let limited = limited.map_err(NoCall::LeftOut)?;
        let namespace = match condition {
            Condition::Network(link) => Some(Namespace::new(link).map_err(NoCall::LeftOut)?),
            Condition::Memory { .. } | Condition::Processor { .. } => None,
        };
        let (words, listen, own) = match (&limited, &namespace) {
            (_, Some(namespace)) => {
                let words = namespace.words();
                let arguments = ["services", "--listen", "127.0.0.1:0"].map(OsStr::new);
                let services =
                    Child::start(&words, &arguments, log.as_ref()).map_err(Failure::new)?;
                (words, namespace.address(), Some(services))
            }
            (Some(limited), None) => (limited.words().to_vec(), LOOPBACK, None),
            (None, None) => (Vec::new(), LOOPBACK, None),
        };
        let services = own.as_ref().map_or(services, Child::address);
        scratch.make_keys(layout)?;
        // Only the gateway is limited; what it asks is where it is.
        let around = namespace.as_ref().map_or(Vec::new(), Namespace::words);
        let authority = authority::start(scratch, layout, &around, log.as_ref())?;
        let behind = Behind {
            services: &[services],
            authority: authority.as_ref().map(|child| child.address().port()),
        };
        let tls = layout.routes.iter().any(|route| route.tls);
        let file = scratch.write_inbound(layout, listen, behind, tls)?;
        let arguments = ["gateway".as_ref(), "--config".as_ref(), file.as_os_str()];
        let far = Child::start(&words, &arguments, log.as_ref())
            .map_err(|why| NoCall::LeftOut(format!("the gateway before the services: {why}")))?;
        let way = match condition {
            Condition::Network(link) => Some(Forward::start(far.address(), link.resets).await?),
            Condition::Memory { .. } | Condition::Processor { .. } => None,
        };
        let port = way.as_ref().map_or(far.address().port(), |way| way.port);
        let ports = Ports {
            inbound: port,
            inbound_tls: tls.then_some(port),
            tap: port,
            authority: behind.authority,
        };
        let near = gateway(&scratch.write_outbound(layout, ports)?).await?;
        Ok(Self {
            near,
            far,
            _services: own,
            _authority: authority,
            _limited: limited,
            _way: way,
            _namespace: namespace,
        })
    }

    /// Where clients call.
    pub(crate) fn address(&self) -> SocketAddr {
        self.near.address()
    }

    /// The most memory that the gateway before the services has held, bytes; nothing, where the
    /// system does not tell.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.far.memory()
    }

    /// How the gateway before the services ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.far.ended()
    }

    /// Stops everything.
    pub(crate) async fn shutdown(self) {
        self.near.shutdown().await;
    }
}

pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A port of localhost that leads elsewhere, so that names in certificates stay right, and whose
/// connections are reset now and then. It is closed when it is dropped.
struct Forward {
    port: u16,
    task: JoinHandle<()>,
}

impl Forward {
    async fn start(target: SocketAddr, resets: Option<Duration>) -> Result<Self, Failure> {
        let listener = TcpListener::bind((LOOPBACK, 0)).await;
        let listener = listener.map_err(Failure::new)?;
        let port = listener.local_addr().map_err(Failure::new)?.port();
        let task = tokio::spawn(async move {
            let (reset, _) = broadcast::channel(1);
            loop {
                let due = async {
                    match resets {
                        Some(every) => tokio::time::sleep(every).await,
                        None => std::future::pending().await,
                    }
                };
                let accepting = accept(&listener, target, &reset);
                tokio::select! {
                    () = accepting => return,
                    // There may be no connection.
                    () = due => drop(reset.send(())),
                }
            }
        });
        Ok(Self { port, task })
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts connections until there can be none any more.
async fn accept(listener: &TcpListener, target: SocketAddr, reset: &broadcast::Sender<()>) {
    while let Ok((near, _)) = listener.accept().await {
        tokio::spawn(pass(near, target, reset.subscribe()));
    }
}

/// Passes bytes both ways until one side ends, or until both are reset; a connection that cannot
/// be made ends the other, as if it had broken.
async fn pass(
    mut near: TcpStream,
    target: SocketAddr,
    mut reset: broadcast::Receiver<()>,
) -> std::io::Result<()> {
    let mut far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    tokio::select! {
        passed = tokio::io::copy_bidirectional(&mut near, &mut far) => {
            passed?;
        }
        _ = reset.recv() => {
            near.set_zero_linger()?;
            far.set_zero_linger()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn connections_are_reset_again_and_again_and_new_ones_can_be_made() {
        let runtime = crate::runtime::multi_threaded().expect("a runtime");
        runtime.block_on(async {
            let target = TcpListener::bind((LOOPBACK, 0)).await.expect("a port");
            let address = target.local_addr().expect("its address");
            tokio::spawn(async move {
                while let Ok((mut stream, _)) = target.accept().await {
                    tokio::spawn(async move {
                        let (mut from, mut to) = stream.split();
                        tokio::io::copy(&mut from, &mut to).await
                    });
                }
            });
            let every = Duration::from_millis(300);
            let forward = Forward::start(address, Some(every)).await.expect("a port");
            for _ in 0..2 {
                let mut near = TcpStream::connect((LOOPBACK, forward.port))
                    .await
                    .expect("a connection");
                near.write_all(b"x").await.expect("it is sent");
                let mut octet = [0];
                near.read_exact(&mut octet).await.expect("it comes back");
                let error = near.read(&mut octet).await.expect_err("no end in order");
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
            }
        });
    }
}
