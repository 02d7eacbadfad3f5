//! A part of a network, in this process or in one of its own.
//!
//! The rule kept here: a part in a process of its own is started and told the same as one in this
//! process.

use std::ffi::OsStr;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use soapstone_gateway::{Config, Gateway};
use soapstone_services::{ControllerLocation, Services};

use super::child::{Child, Order};
use super::{Instance, Realm};
use crate::failure::Failure;

/// Where the parts of a network run.
#[derive(Clone, Copy)]
pub(crate) enum Place<'l> {
    /// In this process.
    Here,
    /// Each in a process of its own, which logs to the file.
    Apart(Option<&'l File>),
    /// The same in a realm of Kerberos.
    InRealm(&'l Realm, Option<&'l File>),
}

impl<'l> Place<'l> {
    /// Makes a process one of the realm, where there is one.
    fn surround(self, command: &mut Command) {
        if let Self::InRealm(realm, _) = self {
            realm.of(command);
        }
    }

    /// The file that processes log to, if there is one.
    pub(super) fn log(self) -> Option<&'l File> {
        self.apart().flatten()
    }

    /// What processes of their own log to; nothing, where there are none.
    const fn apart(self) -> Option<Option<&'l File>> {
        match self {
            Self::Here => None,
            Self::Apart(log) | Self::InRealm(_, log) => Some(log),
        }
    }
}

/// Where the services of `lab apart` find where their books are.
const DATABASE: &str = "SOAPSTONE_DATABASE";

/// An instance of the services.
pub(super) enum ServicesPart {
    Here(soapstone_services::Running),
    Apart(Child),
}

/// A gateway.
pub(crate) enum GatewayPart {
    Here(soapstone_gateway::Running),
    Apart(Child),
}

impl ServicesPart {
    pub(super) async fn start(instance: &Instance, place: Place<'_>) -> Result<Self, Failure> {
        let device = instance.device;
        let Some(log) = place.apart() else {
            let config = soapstone_services::Config {
                database: instance.database.clone(),
                controller: ControllerLocation::Own(device),
                ..soapstone_services::Config::default()
            };
            let running = Services::start(config).await.map_err(Failure::new)?;
            return Ok(Self::Here(running));
        };
        let (delay, loss) = (
            device.delay.as_millis().to_string(),
            device.loss.to_string(),
        );
        let arguments = ["services", "--delay", &delay, "--loss", &loss];
        // Not among the arguments, which everybody on the machine can read: it may hold a password.
        let surround = |command: &mut Command| {
            command.env(DATABASE, instance.database.url());
            place.surround(command);
        };
        let child = Child::apart(&arguments.map(OsStr::new), surround, log);
        child
            .map(Self::Apart)
            .map_err(|why| Failure::new(format_args!("the sample services: {why}")))
    }

    pub(super) fn address(&self) -> SocketAddr {
        match self {
            Self::Here(running) => running.addr(),
            Self::Apart(child) => child.address(),
        }
    }

    pub(super) async fn shutdown(self) {
        if let Self::Here(running) = self {
            running.shutdown().await;
        }
    }
}

impl GatewayPart {
    /// Starts it from a file.
    pub(super) async fn start(file: &Path, place: Place<'_>) -> Result<Self, Failure> {
        let Some(log) = place.apart() else {
            return Ok(Self::Here(gateway(file).await?));
        };
        let arguments = ["gateway".as_ref(), "--config".as_ref(), file.as_os_str()];
        let child = Child::apart(&arguments, |command| place.surround(command), log);
        child
            .map(Self::Apart)
            .map_err(|why| Failure::new(format_args!("the gateway of {}: {why}", file.display())))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Here(running) => running.address(),
            Self::Apart(child) => child.address(),
        }
    }

    /// Closes the connections that calls left open.
    pub(super) fn close_idle(&self) -> Result<(), Failure> {
        match self {
            Self::Here(running) => {
                running.close_idle();
                Ok(())
            }
            Self::Apart(child) => child.tell(Order::CloseIdle),
        }
    }

    /// Ends its conversations with backends.
    pub(super) async fn end_conversations(&self) -> Result<(), Failure> {
        match self {
            Self::Here(running) => {
                running.end_conversations().await;
                Ok(())
            }
            Self::Apart(child) => child.tell(Order::EndConversations),
        }
    }

    /// Ends it.
    pub(crate) async fn shutdown(self) {
        if let Self::Here(running) = self {
            running.shutdown().await;
        }
    }
}

/// Starts a gateway in this process.
pub(crate) async fn gateway(file: &Path) -> Result<soapstone_gateway::Running, Failure> {
    let config = Config::load(file, &|name| std::env::var(name).ok())?;
    Gateway::start(config).await.map_err(Failure::new)
}
