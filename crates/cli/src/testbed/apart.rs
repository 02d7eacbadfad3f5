//! Both sides apart: the gateway before the services in a process of its own, under a condition, and the gateway for clients in this one.
//!
//! The rule kept here: only the service's side is under the condition.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use soapstone_lab::study::{Condition, NoCall};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::child::Child;
use super::limits::{Limit, Limited};
use super::namespace::Namespace;
use super::network::gateway;
use super::scratch::Ports;
use super::{Layout, Scratch};
use crate::failure::Failure;

/// Both sides. Fields are dropped in their order: processes before what they are in.
pub(crate) struct Apart {
    near: soapstone_gateway::Running,
    far: Child,
    _services: Option<Child>,
    _limited: Option<Limited>,
    _way: Option<Forward>,
    _namespace: Option<Namespace>,
}

impl Apart {
    /// Starts everything for the only route of the layout, before services that run at this address already; on a network of their own,
    /// before others. To be called on a runtime.
    ///
    /// # Errors
    /// The condition is left out, if the system cannot make it, or the gateway does not start under it.
    pub(crate) async fn start(
        scratch: &Scratch,
        layout: &Layout,
        condition: Condition,
        services: SocketAddr,
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
                let services = Child::start(&words, &arguments).map_err(Failure::new)?;
                (words, namespace.address(), Some(services))
            }
            (Some(limited), None) => (limited.words().to_vec(), LOOPBACK, None),
            (None, None) => (Vec::new(), LOOPBACK, None),
        };
        let services = own.as_ref().map_or(services, Child::address);
        scratch.make_keys(layout)?;
        let tls = layout.routes.iter().any(|route| route.tls);
        let file = scratch.write_inbound(layout, listen, &[services], tls)?;
        let arguments = ["gateway".as_ref(), "--config".as_ref(), file.as_os_str()];
        let far = Child::start(&words, &arguments)
            .map_err(|why| NoCall::LeftOut(format!("the gateway before the services: {why}")))?;
        let way = match &namespace {
            Some(_) => Some(Forward::start(far.address()).await?),
            None => None,
        };
        let port = way.as_ref().map_or(far.address().port(), |way| way.port);
        let ports = Ports {
            inbound: port,
            inbound_tls: tls.then_some(port),
            tap: port,
        };
        let near = gateway(&scratch.write_outbound(layout, ports)?).await?;
        Ok(Self {
            near,
            far,
            _services: own,
            _limited: limited,
            _way: way,
            _namespace: namespace,
        })
    }

    /// Where clients call.
    pub(crate) fn address(&self) -> SocketAddr {
        self.near.address()
    }

    /// The most memory that the gateway before the services has held, octets; nothing, where the system does not tell.
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

/// A port of localhost that leads elsewhere, so that names in certificates stay right. It is closed when it is dropped.
struct Forward {
    port: u16,
    task: JoinHandle<()>,
}

impl Forward {
    async fn start(target: SocketAddr) -> Result<Self, Failure> {
        let listener = TcpListener::bind((LOOPBACK, 0)).await;
        let listener = listener.map_err(Failure::new)?;
        let port = listener.local_addr().map_err(Failure::new)?.port();
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass(near, target));
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

/// Passes octets both ways until one side ends; a connection that cannot be made ends the other, as if it had broken.
async fn pass(mut near: TcpStream, target: SocketAddr) -> std::io::Result<()> {
    let mut far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut near, &mut far).await?;
    Ok(())
}
